"""References to documents that the caller supplies: the official suite's remotes, other validators, every refusal."""

from __future__ import annotations

import json
import pickle
import socket
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import constrain
from constrain.grammars.errors import InvalidSchemaError, UnsatisfiableSchemaError, UnsupportedSchemaError
from constrain.grammars.json_schema.dialect import DIALECTS, LATEST, find_dialect
from constrain.grammars.json_schema.load import load
from constrain.grammars.json_schema.references import References
from constrain.grammars.json_schema.resources import Resources
from tests.grammars.json_schema.ir_validator import is_valid

SUITE = Path(__file__).resolve().parents[3] / ".." / "shared" / "data" / "json-schema-test-suite"
DRAFTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
HOST = "http://localhost:1234/"
BYTES = constrain.Vocabulary.from_tokens([bytes([byte]) for byte in range(256)] + [None], eos_token_ids=256)
PREFIX = "https://json-schema.org/draft/2020-12/vocab/"


def remotes() -> dict[str, str]:
    """The suite's documents for other servers to serve, as text."""
    folder = SUITE / "remotes"
    if not folder.is_dir():
        pytest.skip("the JSON Schema test suite is not beside this checkout")
    return {HOST + path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*.json"))}


def groups(draft: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The suite's groups whose schemas lead to other documents."""
    for path in sorted([*(SUITE / draft).glob("*.json"), *(SUITE / draft / "optional").glob("*.json")]):
        for group in json.loads(path.read_text()):
            schema = group["schema"]
            if HOST in json.dumps(schema):
                group["schema"] = {"$schema": DRAFTS[draft], **schema}
                yield f"{path.name}: {group['description']}", group


def exact(value: object) -> Any:
    return json.loads(json.dumps(value), parse_float=Fraction)


def engine_accepts(compiled: Any, value: object) -> bool:
    matcher = compiled.matcher()
    return bool(matcher.accept_bytes(json.dumps(value).encode()) and matcher.is_accepting)


@pytest.mark.parametrize("draft", DRAFTS)
def test_official_suite(draft: str) -> None:
    documents = remotes()
    checked = 0
    for name, group in groups(draft):
        document = load(group["schema"], resources=documents)
        try:
            compiled = constrain.json_schema(group["schema"], resources=documents).compile(BYTES)
        except UnsatisfiableSchemaError:
            compiled = None
        for test in group["tests"]:
            checked += 1
            place = (name, test["description"])
            assert is_valid(document, exact(test["data"])) == test["valid"], place
            assert (compiled is not None and engine_accepts(compiled, test["data"])) == test["valid"], place
    assert checked >= 20


@pytest.mark.parametrize("draft", DRAFTS)
def test_targets_agree_with_the_referencing_library(draft: str) -> None:
    referencing = pytest.importorskip("referencing")
    specifications = pytest.importorskip("referencing.jsonschema")
    dialect = find_dialect(DRAFTS[draft])
    assert dialect is not None
    specification = getattr(specifications, dialect.specification)
    # A document without $schema is of the draft at hand.
    documents = {
        uri: contents
        for uri, contents in ((uri, json.loads(text)) for uri, text in remotes().items())
        if find_dialect(contents.get("$schema", DRAFTS[draft])) is dialect
    }
    resolved = 0
    for _, group in groups(draft):
        schema = group["schema"]
        if not isinstance(schema.get("$ref"), str):
            continue
        everything = {"urn:the:root": schema, **documents}
        resources = [(uri, referencing.Resource(contents, specification)) for uri, contents in everything.items()]
        resource = resources[0][1]
        resolver = referencing.Registry().with_resources(resources).resolver("urn:the:root").in_subresource(resource)
        references = References(schema, LATEST, Resources(documents))
        try:
            expected = resolver.lookup(schema["$ref"]).contents
        except referencing.exceptions.Unresolvable:
            continue
        assert references.resolve(schema["$ref"], references.root).schema is expected, schema
        resolved += 1
    assert resolved >= 3


# --- how documents are supplied


@pytest.mark.parametrize(
    "document", [{"type": "string"}, '{"type": "string"}', b'{"type": "string"}'], ids=["dict", "str", "bytes"]
)
@pytest.mark.parametrize("key", ["http://x.test/a.json", "http://x.test/a.json#", "urn:example:a", "a.json"])
def test_forms(document: object, key: str) -> None:
    schema = {"properties": {"p": {"$ref": key}, "q": {"$ref": key.rstrip("#") + "#"}}}
    loaded = load(schema, resources={key: document})
    assert [node.pointer for node in loaded.subschemas[3:]] == [key.rstrip("#") + "#"]
    assert is_valid(loaded, {"p": "", "q": ""})
    assert not is_valid(loaded, {"q": 1})


def test_boolean_documents() -> None:
    documents = {"http://x/never": False, "http://x/always": "true"}
    loaded = load(
        {"properties": {"a": {"$ref": "http://x/never"}, "b": {"$ref": "http://x/always"}}}, resources=documents
    )
    assert is_valid(loaded, {"b": 1})
    assert not is_valid(loaded, {"a": 1})
    with pytest.raises(InvalidSchemaError, match="boolean, which is no schema in draft 04"):
        load({"$schema": DRAFTS["draft4"], "$ref": "http://x/never"}, resources=documents)


def test_models_as_documents() -> None:
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Point", x=(int, ...))
    loaded = load({"items": {"$ref": "urn:point"}}, resources={"urn:point": model})
    assert is_valid(loaded, [{"x": 1}])
    assert not is_valid(loaded, [{"x": "1"}])


@pytest.mark.parametrize(
    ("resources", "error"),
    [
        ([], TypeError),
        ({1: {}}, TypeError),
        ({"http://x/a#/b": {}}, ValueError),
        ({"http://x/a": {}, "http://x/a#": {}}, ValueError),
    ],
)
def test_misuse(resources: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        load({}, resources=resources)


@pytest.mark.parametrize("document", ["{", "[]", 5, None, b"\xff"])
def test_what_is_no_document(document: object) -> None:
    with pytest.raises(InvalidSchemaError) as caught:
        load(True, resources={"http://x/a": document})
    assert caught.value.pointer == "http://x/a#"


def test_a_document_that_holds_itself() -> None:
    document: dict[str, object] = {}
    document["items"] = document
    with pytest.raises(InvalidSchemaError, match="holds itself") as caught:
        load(True, resources={"http://x/a": document})
    assert caught.value.pointer == "http://x/a#"


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for schema in ({"$ref": "http://x.test/b.json"}, {"$schema": "http://x.test/b.json"}):
        with pytest.raises(UnsupportedSchemaError, match="resources="):
            load(schema, resources={"http://x.test/a.json": {}})


def test_near_misses_are_named() -> None:
    with pytest.raises(UnsupportedSchemaError, match=r"did you mean 'http://x\.test/address\.json'"):
        load({"$ref": "http://x.test/adress.json"}, resources={"http://x.test/address.json": {}})


# --- what references in and between documents mean

TREE: dict[str, Any] = {
    "http://x.test/tree.json": {
        "type": "object",
        "properties": {"value": {"$ref": "parts/leaf.json#text"}, "children": {"items": {"$ref": "#"}}},
        "required": ["value"],
    },
    "http://x.test/parts/leaf.json": {"$defs": {"t": {"$anchor": "text", "$ref": "../text.json#/$defs/short"}}},
    "http://x.test/text.json": {"$defs": {"short": {"type": "string", "maxLength": 2}}},
}


def test_relative_references_between_documents() -> None:
    loaded = load({"$ref": "http://x.test/tree.json"}, resources=TREE)
    assert is_valid(loaded, {"value": "a", "children": [{"value": "b"}]})
    assert not is_valid(loaded, {"value": "a", "children": [{"value": "bcd"}]})
    assert {node.pointer for node in loaded.subschemas} == {
        "",
        "http://x.test/tree.json#",
        "http://x.test/tree.json#/properties/value",
        "http://x.test/tree.json#/properties/children",
        "http://x.test/tree.json#/properties/children/items",
        "http://x.test/parts/leaf.json#/$defs/t",
        "http://x.test/text.json#/$defs/short",
    }


def test_own_identifiers_win_over_the_uri_supplied_under() -> None:
    documents = {
        "http://x.test/file.json": {
            "$id": "http://y.test/dir/name.json",
            "$ref": "other.json",
            "$defs": {"e": {"$id": "embedded.json", "type": "boolean"}},
        },
        "http://y.test/dir/other.json": {"type": "integer"},
    }
    for uri in ("http://x.test/file.json", "http://y.test/dir/name.json"):
        assert is_valid(load({"$ref": uri}, resources=documents), 1)
        assert not is_valid(load({"$ref": uri}, resources=documents), "")
    assert is_valid(load({"$ref": "http://y.test/dir/embedded.json"}, resources=documents), True)
    with pytest.raises(UnsupportedSchemaError):
        load({"$ref": "http://x.test/embedded.json"}, resources=documents)


def test_the_schema_itself_wins_over_what_is_supplied() -> None:
    schema = {"$id": "http://x/", "$ref": "a", "$defs": {"a": {"$id": "a", "type": "string"}}}
    loaded = load(schema, resources={"http://x/a": {"type": "integer"}, "http://x/": False})
    assert is_valid(loaded, "")
    assert not is_valid(loaded, 1)


def test_documents_refer_back_to_the_schema() -> None:
    schema = {"$id": "http://x/root", "$defs": {"s": {"type": "string"}}, "items": {"$ref": "http://x/a"}}
    loaded = load(schema, resources={"http://x/a": {"$ref": "root#/$defs/s"}})
    assert is_valid(loaded, [""])
    assert not is_valid(loaded, [1])


def test_documents_that_nothing_leads_to_are_not_looked_at() -> None:
    documents = {"http://x/a": {"type": "strnig"}, "http://x/b": {"$id": 5}, "http://x/c": {"$schema": "urn:unknown"}}
    assert load({"type": "string"}, resources=documents) == load({"type": "string"})
    with pytest.raises(UnsupportedSchemaError):
        load({"$ref": "http://x/d"}, resources=documents)


def test_a_document_without_a_dialect_has_that_of_what_refers_to_it() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    referencing = pytest.importorskip("referencing")
    specifications = pytest.importorskip("referencing.jsonschema")
    old = {"$schema": DRAFTS["draft2019-09"], "$ref": "http://x/pair"}
    documents: dict[str, Any] = {"http://x/pair": {"prefixItems": [{"type": "string"}]}, "http://x/old": old}
    schema = {"properties": {"new": {"$ref": "http://x/pair"}, "old": {"$ref": "http://x/old"}}}
    registry = referencing.Registry().with_resources(
        (uri, referencing.Resource.from_contents(contents, default_specification=specifications.DRAFT202012))
        for uri, contents in documents.items()
    )
    validator = jsonschema.Draft202012Validator(schema, registry=registry)
    loaded = load(schema, resources=documents)
    for value, verdict in [({"new": [1]}, False), ({"new": [""]}, True), ({"old": [1]}, True)]:
        assert is_valid(loaded, value) == validator.is_valid(value) == verdict


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_schemas_in_many_documents(data: st.DataObject) -> None:
    """Parts of a schema, spread over documents and folders, give the verdicts that jsonschema gives them."""
    jsonschema = pytest.importorskip("jsonschema")
    referencing = pytest.importorskip("referencing")
    specifications = pytest.importorskip("referencing.jsonschema")
    draft = data.draw(st.sampled_from(["draft7", "draft2019-09", "draft2020-12"]))
    places = [
        "http://x.test/a.json",
        "http://x.test/a.json#/definitions/p",
        "/dir/b.json",
        "/dir/b.json#/definitions/q",
        "/dir/embedded.json",
        "#",
    ]
    leaf = st.sampled_from([{"type": "integer"}, {"type": "string"}, {"maxItems": 1}, {"minLength": 1}, {}])

    def part(*relative: str) -> st.SearchStrategy[dict[str, Any]]:
        reference = st.builds(lambda name: {"$ref": name}, st.sampled_from([*places, *relative]))
        members = st.dictionaries(st.sampled_from("ab"), reference, min_size=1)
        return st.one_of(
            leaf, st.builds(lambda of: {"items": of}, reference), st.builds(lambda of: {"properties": of}, members)
        )

    in_a = part("a.json", "dir/b.json", "#/definitions/p", "dir/embedded.json")
    in_b = part("../a.json", "b.json", "#/definitions/q", "embedded.json")
    in_embedded = part("../a.json#/definitions/p", "b.json#/definitions/q", "embedded.json")
    documents: dict[str, Any] = {
        "http://x.test/a.json": {**data.draw(in_a), "definitions": {"p": data.draw(in_a)}},
        "http://x.test/dir/b.json": {
            **data.draw(in_b),
            "definitions": {"q": data.draw(in_b), "e": {"$id": "embedded.json", **data.draw(in_embedded)}},
        },
    }
    start = "http://x.test/" + data.draw(st.sampled_from(["a.json", "a.json#/definitions/p", "dir/embedded.json"]))
    schema = {"$schema": DRAFTS[draft], "items": {"$ref": start}}
    dialect = find_dialect(DRAFTS[draft])
    assert dialect is not None
    specification = getattr(specifications, dialect.specification)
    registry = referencing.Registry().with_resources(
        (uri, referencing.Resource(contents, specification)) for uri, contents in documents.items()
    )
    validator = jsonschema.validators.validator_for(schema)(schema, registry=registry)
    loaded = load(schema, resources=documents)
    value = st.recursive(
        st.sampled_from([1, "", "a", None]),
        lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.sampled_from("ab"), inner)),
        max_leaves=6,
    )
    for instance in data.draw(st.lists(st.lists(value, max_size=2), min_size=4, max_size=4)):
        assert is_valid(loaded, instance) == validator.is_valid(instance)


def test_errors_name_the_document() -> None:
    for document, error, pointer, keyword in [
        ({"items": {"type": "strnig"}}, InvalidSchemaError, "http://x/a#/items", "type"),
        ({"items": {"$ref": "#/nowhere"}}, InvalidSchemaError, "http://x/a#/items", "$ref"),
        ({"items": {"$ref": "b"}}, UnsupportedSchemaError, "http://x/a#/items", "$ref"),
        ({"$id": 5}, InvalidSchemaError, "http://x/a#", "$id"),
        ({"$schema": 5}, InvalidSchemaError, "http://x/a#", "$schema"),
        ({"$schema": "urn:unknown"}, UnsupportedSchemaError, "http://x/a#", "$schema"),
        ({"$ref": "#"}, InvalidSchemaError, "http://x/a#", "$ref"),
    ]:
        with pytest.raises(error) as caught:
            load({"items": {"$ref": "http://x/a"}}, resources={"http://x/a": document})
        assert (caught.value.pointer, caught.value.keyword) == (pointer, keyword)  # type: ignore[attr-defined]


def test_warnings_name_the_document() -> None:
    documents = {"http://x/a": {"$schema": "urn:unknown", "items": {"$ref": "b"}, "type": "array"}}
    loaded = load({"$ref": "http://x/a"}, resources=documents, on_unsupported="warn")
    assert [(entry.pointer, entry.keyword) for entry in loaded.unenforced] == [
        ("http://x/a#", "$schema"),
        ("http://x/a#/items", "$ref"),
    ]
    assert not is_valid(loaded, "")


def test_grammars_with_documents_are_values() -> None:
    """They equal the grammar of the same schema in one document, and survive pickling."""
    document: dict[str, Any] = {"type": "array", "items": {"type": "boolean"}}
    schema = {"properties": {"p": {"$ref": "http://x/a"}}}
    one = constrain.json_schema({**schema, "$defs": {"a": {"$id": "http://x/a", **document}}})
    many = constrain.json_schema(schema, resources={"http://x/a": document})
    assert one == many
    assert hash(one) == hash(many)
    document["items"] = False  # what the caller does later does not matter
    restored = pickle.loads(pickle.dumps(many))
    assert restored == many
    assert engine_accepts(restored.compile(BYTES), {"p": [True]})
    assert not engine_accepts(restored.compile(BYTES), {"p": [1]})


# --- meta-schemas


def meta(vocabularies: dict[str, object] | None, draft: str = "draft2020-12", **more: object) -> dict[str, object]:
    listed = {} if vocabularies is None else {"$vocabulary": {PREFIX + "core": True, **vocabularies}}
    return {"$schema": DRAFTS[draft], "$id": "http://x/meta", **listed, **more}


def under(metaschema: dict[str, object], keywords: dict[str, object], **options: Any) -> Any:
    return load({"$schema": "http://x/meta", **keywords}, resources={"http://x/meta": metaschema}, **options)


@pytest.mark.parametrize("draft", DRAFTS)
def test_a_meta_schema_without_vocabularies_has_those_of_its_draft(draft: str) -> None:
    keywords: dict[str, object] = {"type": "array", "minimum": 1, "items": {"const": 1}, "prefixItems": [False]}
    expected = load({"$schema": DRAFTS[draft], **keywords})
    assert under(meta(None, draft), keywords) == expected
    # $vocabulary is a keyword of the later drafts.
    if draft in ("draft4", "draft6", "draft7"):
        assert under(meta({"urn:x": True}, draft), keywords) == expected


ASSERTIONS: list[tuple[str, dict[str, object], object]] = [
    ("validation", {"type": "string"}, 1),
    ("validation", {"enum": ["a"]}, 1),
    ("validation", {"const": "a"}, 1),
    ("validation", {"minimum": 2}, 1),
    ("validation", {"pattern": "a"}, "b"),
    ("validation", {"maxItems": 0}, [1]),
    ("validation", {"required": ["a"]}, {}),
    ("validation", {"dependentRequired": {"a": ["b"]}}, {"a": 1}),
    ("applicator", {"properties": {"a": False}}, {"a": 1}),
    ("applicator", {"additionalProperties": False}, {"a": 1}),
    ("applicator", {"items": False}, [1]),
    ("applicator", {"prefixItems": [False]}, [1]),
    ("applicator", {"contains": False}, [1]),
    ("applicator", {"not": {}}, 1),
    ("applicator", {"if": True, "then": False}, 1),
    ("applicator", {"dependentSchemas": {"a": False}}, {"a": 1}),
    ("unevaluated", {"unevaluatedItems": False}, [1]),
    ("unevaluated", {"unevaluatedProperties": False}, {"a": 1}),
    ("core", {"$ref": "#/$defs/n", "$defs": {"n": False}}, 1),
]


@pytest.mark.parametrize("needed", [True, False])
@pytest.mark.parametrize(("vocabulary", "keywords", "value"), ASSERTIONS)
def test_keywords_of_absent_vocabularies_are_annotations(
    vocabulary: str, keywords: dict[str, object], value: object, needed: bool
) -> None:
    others = [name for name in ("applicator", "unevaluated", "validation") if name != vocabulary]
    absent = meta({PREFIX + name: needed for name in others})
    present = meta({PREFIX + name: needed for name in (*others, vocabulary)})
    assert is_valid(under(absent, keywords), value) == (vocabulary != "core")
    assert not is_valid(under(present, keywords), value)


def test_absent_keywords_do_not_modify_present_ones() -> None:
    applicator = meta({PREFIX + "applicator": True})
    assert not is_valid(under(applicator, {"contains": {}, "minContains": 0}), [])
    unevaluated = meta({PREFIX + "unevaluated": True})
    keywords: dict[str, object] = {"properties": {"a": {}}, "unevaluatedProperties": False}
    assert not is_valid(under(unevaluated, keywords), {"a": 1})


def test_absent_keywords_may_be_malformed() -> None:
    keywords: dict[str, object] = {"type": "strnig", "minimum": "low"}
    assert is_valid(under(meta({PREFIX + "applicator": True}), keywords), 1)
    with pytest.raises(InvalidSchemaError):
        under(meta({PREFIX + "validation": True}), keywords)


def test_the_2019_applicator_has_the_unevaluated_keywords() -> None:
    prefix = "https://json-schema.org/draft/2019-09/vocab/"
    metaschema: dict[str, object] = {
        "$schema": DRAFTS["draft2019-09"],
        "$vocabulary": {prefix + "core": True, prefix + "applicator": True},
    }
    assert not is_valid(under(metaschema, {"unevaluatedItems": False}), [1])
    assert is_valid(under(metaschema, {"type": "string"}), [1])


@pytest.mark.parametrize("name", ["format-assertion", "format-annotation"])
def test_formats_are_asserted_whatever_the_vocabularies(name: str) -> None:
    pytest.importorskip("jsonschema_rs")
    loaded = under(meta({PREFIX + name: True}), {"format": "ipv4"})
    assert is_valid(loaded, "127.0.0.1")
    assert not is_valid(loaded, "localhost")


def test_unknown_vocabularies() -> None:
    keywords: dict[str, object] = {"type": "string", "twice": True}
    optional = meta({PREFIX + "validation": True, "http://x/vocab": False})
    assert not is_valid(under(optional, keywords), 1)
    required = meta({PREFIX + "validation": True, "http://x/vocab": True})
    with pytest.raises(UnsupportedSchemaError, match="requires the vocabulary 'http://x/vocab'") as caught:
        under(required, keywords)
    assert (caught.value.pointer, caught.value.keyword) == ("", "$schema")
    loaded = under(required, keywords, on_unsupported="warn")
    assert [(entry.pointer, entry.keyword) for entry in loaded.unenforced] == [("", "$schema")]
    assert not is_valid(loaded, 1)


def test_dialects_of_documents_and_embedded_resources() -> None:
    documents = {
        "http://x/meta": meta({PREFIX + "applicator": True}),
        "http://x/demanding": meta({"http://x/vocab": True}, **{"$id": "http://x/demanding"}),
        "http://x/a": {"$schema": "http://x/meta", "properties": {"a": {"type": "string"}}},
        "http://x/b": {"$schema": "http://x/demanding", "$defs": {"c": {"type": "string"}}},
    }
    embedded = {"$id": "http://x/e", "$schema": "http://x/meta#", "items": {"type": "string"}}
    schema = {"properties": {"a": {"$ref": "http://x/a"}, "b": embedded, "c": {"type": "string"}}}
    loaded = load(schema, resources=documents)
    assert is_valid(loaded, {"a": {"a": 1}, "b": [1], "c": ""})
    assert not is_valid(loaded, {"c": 1})
    for reference in ("http://x/b", "http://x/b#/$defs/c"):
        with pytest.raises(UnsupportedSchemaError) as caught:
            load({"items": {"$ref": reference}}, resources=documents)
        assert (caught.value.pointer, caught.value.keyword) == ("http://x/b#", "$schema")


def test_meta_schemas_of_meta_schemas() -> None:
    second = meta({PREFIX + "validation": True}, **{"$schema": "http://x/third", "$id": "http://x/second"})
    third = meta({PREFIX + "applicator": True}, **{"$id": "http://x/third"})
    documents = {"http://x/first": second, "http://x/third": third}
    for uri in ("http://x/first", "http://x/second"):
        loaded = load({"$schema": uri, "type": "string", "items": False}, resources=documents)
        assert not is_valid(loaded, 1)
        assert is_valid(load({"$schema": uri, "items": False}, resources=documents), [1])


def test_meta_schemas_that_describe_themselves() -> None:
    itself = meta({PREFIX + "applicator": True}, **{"$schema": "http://x/meta"})
    assert is_valid(under(itself, {"type": "string"}), 1)
    assert not is_valid(under(itself, {"prefixItems": [False]}), [1])
    with pytest.raises(UnsupportedSchemaError, match="unknown"):
        under({"$schema": "http://x/meta"}, {})
    count = 3000  # a circle of them
    documents = {f"http://x/{n}": {"$schema": f"http://x/{(n + 1) % count}"} for n in range(count)}
    with pytest.raises(UnsupportedSchemaError, match="unknown"):
        load({"$schema": "http://x/0"}, resources=documents)


@pytest.mark.parametrize("vocabularies", [[], "core", {PREFIX + "core": 1}, 5])
def test_malformed_vocabularies(vocabularies: object) -> None:
    with pytest.raises(InvalidSchemaError) as caught:
        under({**meta(None), "$vocabulary": vocabularies}, {})
    assert (caught.value.pointer, caught.value.keyword) == ("http://x/meta#", "$vocabulary")


def test_official_meta_schemas_need_not_be_supplied() -> None:
    for dialect, uri in zip(DIALECTS, DRAFTS.values(), strict=True):
        assert find_dialect(uri) is dialect
        assert load({"$schema": uri}, resources={uri: False}) == load({"$schema": uri})
