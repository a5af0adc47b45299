"""References: every spelling that leads somewhere, and every way of leading nowhere."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constrain.grammars.errors import InvalidSchemaError, ResourceLimitError, UnsupportedSchemaError
from constrain.grammars.json_schema.ir import Subschema
from constrain.grammars.json_schema.load import load
from constrain.grammars.json_schema.references import escape
from tests.grammars.json_schema.ir_validator import is_valid

DRAFT_04 = "http://json-schema.org/draft-04/schema#"
DRAFT_06 = "http://json-schema.org/draft-06/schema#"
DRAFT_07 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019_09 = "https://json-schema.org/draft/2019-09/schema"
DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema"


def target_of(schema: dict[str, object], pointer: str = "") -> Subschema:
    """The one subschema that the subschema at `pointer` refers to."""
    document = load(schema)
    source = next(node for node in document.subschemas if node.pointer == pointer)
    (number,) = source.all_of
    return document.subschemas[number]


@pytest.mark.parametrize(
    ("reference", "pointer"),
    [
        ("#/$defs/a", "/$defs/a"),
        ("#/$defs/x~1y~0z", "/$defs/x~1y~0z"),
        ("#/$defs/x%7E1y~0z", "/$defs/x~1y~0z"),
        ("#/$defs/p%25q", "/$defs/p%q"),
        ("#/$defs/%22", '/$defs/"'),
        ("#/$defs/~01", "/$defs/~01"),
        ("#/%24defs/a", "/$defs/a"),
        ("#/$defs/list/anyOf/1", "/$defs/list/anyOf/1"),
        ("#/$defs/", "/$defs/"),
        ("#/x-more/deep/0/a", "/x-more/deep/0/a"),
        ("#named", "/$defs/anchored"),
        ("http://x.test/root.json#/$defs/a", "/$defs/a"),
        ("root.json#named", "/$defs/anchored"),
        ("/inner.json", "/$defs/inner"),
        ("inner.json#/$defs/deep", "/$defs/inner/$defs/deep"),
        ("inner.json#named", "/$defs/inner/$defs/named"),
        ("#/$defs/inner/$defs/deep", "/$defs/inner/$defs/deep"),
    ],
)
def test_spellings(reference: str, pointer: str) -> None:
    schema: dict[str, object] = {
        "$id": "http://x.test/root.json",
        "properties": {"p": {"$ref": reference}},
        "$defs": {
            "a": {"type": "string"},
            "x/y~z": {},
            "p%q": {},
            '"': {},
            "~1": {},
            "": {},
            "list": {"anyOf": [{}, {"type": "null"}]},
            "anchored": {"$anchor": "named"},
            "inner": {"$id": "inner.json", "$defs": {"deep": {}, "named": {"$anchor": "named"}}},
        },
        "x-more": {"deep": [{"a": {}}]},
    }
    assert target_of(schema, "/properties/p").pointer == pointer


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=4))
def test_any_names_can_be_walked(names: list[str]) -> None:
    schema: dict[str, object] = {"type": "boolean"}
    for name in reversed(names):
        schema = {name: schema}
    schema = {"$defs": schema}
    pointer = "/$defs/" + "/".join(map(escape, names))
    schema["$ref"] = "#" + quote(pointer)
    assert target_of(schema).pointer == pointer


def test_references_to_the_same_place_are_one_subschema() -> None:
    document = load({"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#/properties/a"}, "c": {"$ref": ""}}})
    assert [node.pointer for node in document.subschemas] == ["", "/properties/a", "/properties/b", "/properties/c"]
    assert [node.all_of for node in document.subschemas[1:]] == [[0], [1], [0]]


def test_inner_identifiers_move_the_base() -> None:
    schema: dict[str, object] = {
        "$id": "http://x/a.json",
        "properties": {"p": {"$id": "b.json", "$defs": {"s": {"type": "string"}}, "$ref": "#/$defs/s"}},
        "$defs": {"s": {"type": "integer"}},
    }
    assert target_of(schema, "/properties/p").pointer == "/properties/p/$defs/s"


def test_relative_identifiers_apply_once() -> None:
    schema: dict[str, object] = {
        "$id": "http://x/a.json",
        "properties": {"p": {"$ref": "http://x/sub/b.json"}, "q": {"$ref": "#/$defs/b"}},
        "$defs": {"b": {"$id": "sub/b.json", "$ref": "c.json"}, "c": {"$id": "http://x/sub/c.json"}},
    }
    document = load(schema)
    assert sorted(node.pointer for node in document.subschemas) == [
        "",
        "/$defs/b",
        "/$defs/c",
        "/properties/p",
        "/properties/q",
    ]


@pytest.mark.parametrize("draft", [DRAFT_06, DRAFT_07])
def test_an_identifier_beside_a_reference_is_ignored_in_old_drafts(draft: str) -> None:
    schema: dict[str, object] = {
        "$schema": draft,
        "$id": "http://x/",
        "definitions": {"a": {"$id": "http://y/a.json", "type": "string"}, "b": {"$id": "a.json", "type": "integer"}},
        "properties": {"p": {"$id": "http://y/", "$ref": "a.json"}},
    }
    assert target_of(schema, "/properties/p").pointer == "/definitions/b"


def test_identifiers_in_values_are_none() -> None:
    schema: dict[str, object] = {
        "enum": [{"$id": "http://x/target", "type": "null"}],
        "default": {"$anchor": "a"},
        "$defs": {"real": {"$id": "http://x/target", "type": "string"}, "a": {"$anchor": "a"}},
        "properties": {"p": {"$ref": "http://x/target"}, "q": {"$ref": "#a"}},
    }
    assert target_of(schema, "/properties/p").pointer == "/$defs/real"
    assert target_of(schema, "/properties/q").pointer == "/$defs/a"


@pytest.mark.parametrize(("draft", "keyword"), [(DRAFT_04, "id"), (DRAFT_06, "$id"), (DRAFT_07, "$id")])
def test_fragment_identifiers_are_anchors_in_old_drafts(draft: str, keyword: str) -> None:
    schema: dict[str, object] = {
        "$schema": draft,
        "definitions": {"a": {keyword: "#name", "properties": {"x": {"$ref": "#/definitions/b"}}}, "b": {}},
        "properties": {"p": {"$ref": "#name"}},
    }
    assert target_of(schema, "/properties/p").pointer == "/definitions/a"
    assert target_of(schema, "/definitions/a/properties/x").pointer == "/definitions/b"


def test_the_old_identifier_means_nothing_to_newer_drafts() -> None:
    inner = {"id": "http://y/", "properties": {"x": {"$ref": "#/definitions/s"}}}
    schema: dict[str, object] = {"definitions": {"s": {}}, "properties": {"p": inner}}
    assert target_of(schema, "/properties/p/properties/x").pointer == "/definitions/s"
    # Even where the subschema says to be of the old draft: what surrounds it decides.
    schema["properties"] = {"p": {"$schema": DRAFT_04, **inner}}
    assert target_of(schema, "/properties/p/properties/x").pointer == "/definitions/s"
    with pytest.raises(InvalidSchemaError, match="identifier at /properties/p"):
        load({"$schema": DRAFT_04, **schema})


def test_a_misplaced_property_named_id_is_no_identifier() -> None:
    document = load({"$schema": DRAFT_04, "properties": {"a": {"id": {"type": "integer"}}}})
    assert is_valid(document, {"a": {"id": "x"}})


KEYWORDS_THAT_TELL_DRAFTS: list[tuple[dict[str, Any], Any]] = [
    ({"type": "integer"}, 1.0),
    ({"const": 1}, 2),
    ({"prefixItems": [{"type": "string"}]}, [1]),
    ({"dependentRequired": {"a": ["b"]}}, {"a": 1}),
]
BETWEEN_DRAFTS = [
    (DRAFT_2020_12, DRAFT_04),
    (DRAFT_2020_12, DRAFT_07),
    (DRAFT_2020_12, DRAFT_2019_09),
    (DRAFT_2019_09, DRAFT_2020_12),
    (DRAFT_07, DRAFT_2020_12),
    (DRAFT_07, DRAFT_04),
    (DRAFT_04, DRAFT_2020_12),
]


@pytest.mark.parametrize(("outer", "inner"), BETWEEN_DRAFTS)
@pytest.mark.parametrize("place", ["in place", "a member", "a pointer through it"])
def test_a_dialect_without_an_identifier_does_what_validators_agree_on(outer: str, inner: str, place: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema_rs = pytest.importorskip("jsonschema_rs")
    for keywords, value in KEYWORDS_THAT_TELL_DRAFTS:
        schema: dict[str, Any] = {"$schema": outer}
        if place == "in place":
            schema["allOf"] = [{"$schema": inner, **keywords}]
        elif place == "a member":
            schema["properties"] = {"p": {"$schema": inner, "properties": {"q": keywords}}}
            value = {"p": {"q": value}}
        else:
            schema["properties"] = {"p": {"$ref": "#/definitions/d/properties/q"}}
            schema["definitions"] = {"d": {"$schema": inner, "properties": {"q": keywords}}}
            value = {"p": value}
        expected = jsonschema_rs.is_valid(schema, value)
        assert jsonschema.validators.validator_for(schema)(schema).is_valid(value) == expected
        assert is_valid(load(schema), json.loads(json.dumps(value), parse_float=Fraction)) == expected, keywords


def test_a_dialect_with_an_identifier_holds_below_it() -> None:
    inner = {"$id": "http://x/i", "$schema": DRAFT_2019_09, "properties": {"q": {"prefixItems": [False]}}}
    document = load({"$ref": "#/$defs/i/properties/q", "$defs": {"i": inner}})
    assert is_valid(document, [1])


def test_pointers_cross_inner_identifiers() -> None:
    schema: dict[str, object] = {
        "$id": "http://x/root.json",
        "$defs": {
            "s": {"type": "integer"},
            "inner": {"$id": "inner.json", "$defs": {"s": {"type": "string"}, "r": {"$ref": "#/$defs/s"}}},
        },
        "properties": {"p": {"$ref": "#/$defs/inner/$defs/r"}},
    }
    assert target_of(schema, "/$defs/inner/$defs/r").pointer == "/$defs/inner/$defs/s"


def test_a_resource_in_unknown_places_is_not_entered() -> None:
    with pytest.raises(UnsupportedSchemaError):
        load({"x-unknown": {"$id": "http://x/a"}, "$ref": "http://x/a"})


def test_recursion_is_by_index() -> None:
    document = load({"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}})
    assert is_valid(document, {"next": {"next": None}})
    assert not is_valid(document, {"next": {"next": 1}})


@pytest.mark.parametrize(
    ("reference", "keyword", "message"),
    [
        ("#/$defs/b", "$ref", "no 'b' at /\\$defs"),
        ("#/$defs/Abc", "$ref", "did you mean 'abc'"),
        ("#/definitions/abc", "$ref", "no 'definitions' at the root"),
        ("#/$defs/abc/anyOf/2", "$ref", "no '2'"),
        ("#/$defs/abc/anyOf/01", "$ref", "no '01'"),
        ("#/$defs/abc/anyOf/-1", "$ref", "no '-1'"),
        ("#/$defs/abc/anyOf", "$ref", "list, not a schema"),
        ("#/$defs/abc/title", "$ref", "str, not a schema"),
        ("#/$defs/abc/title/x", "$ref", "no 'x'"),
        ("#abd", "$ref", "did you mean 'abe'"),
        ("#/$defs/abc~", "$ref", "no 'abc~'"),
    ],
)
def test_references_that_lead_nowhere(reference: str, keyword: str, message: str) -> None:
    schema = {
        "$defs": {"abc": {"anyOf": [{}, {}], "title": "t", "$anchor": "abe"}},
        "properties": {"p": {"$ref": reference}},
    }
    for mode in ("error", "warn"):
        with pytest.raises(InvalidSchemaError, match=message) as caught:
            load(schema, on_unsupported=mode)  # type: ignore[arg-type]
        assert (caught.value.pointer, caught.value.keyword) == ("/properties/p", keyword)
        assert repr(reference) in caught.value.reason


@pytest.mark.parametrize(
    "reference", ["http://example.com/a.json", "other.json#/a", "definitions/a", "urn:x:y", "file:///etc/passwd"]
)
def test_remote_references_are_unsupported(reference: str) -> None:
    schema = {"properties": {"p": {"$ref": reference}}}
    with pytest.raises(UnsupportedSchemaError, match="nothing is fetched") as caught:
        load(schema)
    assert "resources=" in caught.value.reason
    assert (caught.value.pointer, caught.value.keyword) == ("/properties/p", "$ref")
    document = load(schema, on_unsupported="warn")
    assert [(entry.pointer, entry.keyword) for entry in document.unenforced] == [("/properties/p", "$ref")]


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        ({"$ref": "#"}, ["(root)", "(root)"]),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#"}}}, ["(root)", "/$defs/a", "(root)"]),
        (
            {
                "properties": {"x": {"$ref": "#/$defs/a"}},
                "$defs": {"a": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/a"}]}},
            },
            ["/$defs/a", "/$defs/a/anyOf/1", "/$defs/a"],
        ),
        (
            {"items": {"allOf": [{"minItems": 1}, {"oneOf": [{"$ref": "#/items"}]}]}},
            ["/items", "/items/allOf/1", "/items/allOf/1/oneOf/0", "/items"],
        ),
        ({"not": {"$ref": "#"}}, ["(root)", "/not", "(root)"]),
        ({"oneOf": [True, {"$ref": "#"}]}, ["(root)", "/oneOf/1", "(root)"]),
        ({"if": True, "then": {"$ref": "#"}}, ["(root)", "/then", "(root)"]),
        ({"dependentSchemas": {"a": {"$ref": "#"}}}, ["(root)", "/dependentSchemas/a", "(root)"]),
    ],
)
def test_circles_in_place_are_refused_and_named(schema: dict[str, object], names: list[str]) -> None:
    with pytest.raises(InvalidSchemaError, match="cycle without content") as caught:
        load(schema, not_yet=frozenset())
    circle = caught.value.reason.split(": ")[1].split(";")[0].split(" -> ")
    assert circle[0] == circle[-1]
    start = names.index(circle[0])
    assert circle[:-1] == names[start:-1] + names[:start]


def test_shared_targets_are_no_circle() -> None:
    schema = {
        "$defs": {"a": {"minLength": 1}},
        "allOf": [{"$ref": "#/$defs/a"}, {"anyOf": [{"$ref": "#/$defs/a"}] * 2}],
    }
    document = load(schema)
    assert is_valid(document, "x")
    assert not is_valid(document, "")


@pytest.mark.parametrize("uri", [DRAFT_04, DRAFT_06, DRAFT_07])
def test_meta_schemas_can_be_referred_to(uri: str) -> None:
    pytest.importorskip("jsonschema_specifications")
    document = load({"properties": {"s": {"$ref": uri}}}, on_unsupported="warn")
    prefix = uri.rstrip("#") + "#"
    assert any(node.pointer == prefix + "/properties/properties" for node in document.subschemas)
    assert is_valid(document, {"s": {"minLength": 1, "properties": {"a": {"type": "string"}}}})
    assert not is_valid(document, {"s": {"minLength": -1}})
    assert not is_valid(document, {"s": {"properties": {"a": {"type": "strnig"}}}})


def test_meta_schemas_without_their_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_specifications", None)
    with pytest.raises(UnsupportedSchemaError, match="install jsonschema-specifications"):
        load({"properties": {"s": {"$ref": DRAFT_07}}})


def test_unknown_meta_schemas() -> None:
    for uri in ("http://json-schema.org/draft-03/schema#", "http://json-schema.org/draft-99/schema#"):
        with pytest.raises(UnsupportedSchemaError):
            load({"$ref": uri})


# --- dynamic references


def test_a_recursive_reference_without_anchors_is_a_reference() -> None:
    schema: dict[str, object] = {"$schema": DRAFT_2019_09, "properties": {"p": {"$recursiveRef": "#"}}}
    assert target_of(schema, "/properties/p").pointer == ""
    assert target_of({**schema, "$recursiveAnchor": True}, "/properties/p").pointer == ""


def test_recursive_references_of_inner_resources() -> None:
    inner: dict[str, object] = {"$id": "http://x/inner", "$recursiveAnchor": True, "items": {"$recursiveRef": "#"}}
    schema: dict[str, object] = {"$schema": DRAFT_2019_09, "$id": "http://x/", "properties": {"p": inner}}
    assert target_of(schema, "/properties/p/items").pointer == "/properties/p"
    assert target_of({**schema, "$recursiveAnchor": True}, "/properties/p/items").pointer == ""
    del inner["$recursiveAnchor"]
    assert target_of({**schema, "$recursiveAnchor": True}, "/properties/p/items").pointer == "/properties/p"


def test_dynamic_references() -> None:
    inner = {"$id": "http://x/inner", "$defs": {"a": {"$dynamicAnchor": "T"}}, "items": {"$dynamicRef": "#T"}}
    schema: dict[str, object] = {"$id": "http://x/", "properties": {"p": inner}}
    assert target_of(schema, "/properties/p/items").pointer == "/properties/p/$defs/a"
    bound: dict[str, object] = {**schema, "$defs": {"b": {"$dynamicAnchor": "T"}}}
    assert target_of(bound, "/properties/p/items").pointer == "/$defs/b"
    static: dict[str, object] = {**schema, "$defs": {"b": {"$anchor": "T"}}}
    assert target_of(static, "/properties/p/items").pointer == "/properties/p/$defs/a"
    alone: dict[str, object] = {"$defs": {"a": {"$dynamicAnchor": "T"}}, "items": {"$dynamicRef": "#T"}}
    assert target_of(alone, "/items").pointer == "/$defs/a"
    pointer: dict[str, object] = {
        "$id": "http://x/",
        "properties": {"p": {**inner, "items": {"$dynamicRef": "#/$defs/a"}}},
    }
    assert target_of(pointer, "/properties/p/items").pointer == "/properties/p/$defs/a"


def test_a_dynamic_reference_means_what_the_way_to_it_says() -> None:
    """A generic list, used for strings and for integers: its place is read once for each use."""
    schema = {
        "$id": "http://x/",
        "properties": {"strings": {"$ref": "strings"}, "integers": {"$ref": "integers"}, "any": {"$ref": "list"}},
        "$defs": {
            "list": {
                "$id": "list",
                "type": "array",
                "items": {"$dynamicRef": "#item"},
                "$defs": {"default": {"$dynamicAnchor": "item"}},
            },
            **{
                f"{name}s": {
                    "$id": f"{name}s",
                    "$ref": "list",
                    "$defs": {"bound": {"$dynamicAnchor": "item", "type": name}},
                }
                for name in ("string", "integer")
            },
        },
    }
    document = load(schema)
    lists = [node for node in document.subschemas if node.pointer == "/$defs/list"]
    assert len(lists) == 3
    for value, verdict in [
        ({"strings": ["a"], "integers": [1], "any": [None]}, True),
        ({"strings": [1]}, False),
        ({"integers": ["a"]}, False),
        ({"any": 1}, False),
    ]:
        assert is_valid(document, value) == verdict, value


def test_recursion_through_an_extended_resource() -> None:
    tree = {
        "$id": "http://x/tree",
        "$dynamicAnchor": "node",
        "properties": {"children": {"items": {"$dynamicRef": "#node"}}},
    }
    strict = {
        "$id": "http://x/strict",
        "$dynamicAnchor": "node",
        "$ref": "tree",
        "unevaluatedProperties": False,
        "$defs": {"tree": tree},
    }
    document = load(strict, not_yet=frozenset())
    assert is_valid(document, {"children": [{"children": []}]})
    assert not is_valid(document, {"children": [{"daat": 1}]})
    loose = load({"properties": {"loose": {"$ref": "http://x/tree"}, "strict": strict}}, not_yet=frozenset())
    assert is_valid(loose, {"loose": {"children": [{"daat": 1}]}, "strict": {"children": [{}]}})
    assert not is_valid(loose, {"strict": {"children": [{"daat": 1}]}})


def test_the_meanings_of_dynamic_references_have_a_limit() -> None:
    """Each resource refers to all others, so that every subset of them can be entered first."""
    names = [f"r{number}" for number in range(9)]
    schema = {
        "$id": "http://x/",
        "$ref": "r0",
        "$defs": {
            name: {
                "$id": name,
                "properties": {other: {"$ref": other} for other in names},
                "$defs": {"own": {"$dynamicAnchor": name}},
            }
            for name in names
        },
    }
    with pytest.raises(ResourceLimitError) as caught:
        load(schema)
    assert "MAX_DYNAMIC_SCOPES" in caught.value.limit


@pytest.mark.parametrize("uri", [DRAFT_2019_09, DRAFT_2020_12])
def test_meta_schemas_with_vocabularies(uri: str) -> None:
    pytest.importorskip("jsonschema_specifications")
    document = load({"$ref": uri}, not_yet=frozenset())
    assert is_valid(document, {"properties": {"a": {"not": {"minLength": 1}}}, "unevaluatedItems": True})
    assert not is_valid(document, {"properties": {"a": {"not": {"minLength": -1}}}})
    assert not is_valid(document, {"unevaluatedItems": {"type": "strnig"}})


def test_malformed_parts_do_not_disturb_the_search_for_anchors() -> None:
    schema: dict[str, object] = {
        "$defs": {
            "bad": {"properties": [], "allOf": 5, "$anchor": 7},
            "worse": {"dependentSchemas": "x", "$id": 9, "$schema": 4},
            "good": {"$anchor": "here"},
        },
        "$ref": "#here",
    }
    assert target_of(schema).pointer == "/$defs/good"
