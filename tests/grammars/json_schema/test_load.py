"""Loading: what each keyword becomes in each draft, and how malformed and unsupported schemas are refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from constrain.grammars.errors import InvalidSchemaError, ResourceLimitError, UnsupportedSchemaError
from constrain.grammars.json_schema.ir import (
    ANY_TYPE,
    ARRAY,
    BOOLEAN,
    INTEGER,
    NULL,
    NUMBER,
    OBJECT,
    STRING,
    SchemaDocument,
    Subschema,
)
from constrain.grammars.json_schema.load import load
from tests.grammars.json_schema.ir_validator import is_valid

DRAFT_04 = "http://json-schema.org/draft-04/schema#"
DRAFT_06 = "http://json-schema.org/draft-06/schema#"
DRAFT_07 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019_09 = "https://json-schema.org/draft/2019-09/schema"
DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema"
DRAFTS = (DRAFT_04, DRAFT_06, DRAFT_07, DRAFT_2019_09, DRAFT_2020_12)


def load_all(schema: object, **options: Any) -> SchemaDocument:
    """The schema loaded, no keyword refused because later stages could not enforce it."""
    return load(schema, not_yet=frozenset(), **options)


def root_of(schema: object, **options: Any) -> Subschema:
    document = load_all(schema, **options)
    return document.subschemas[document.root]


def accepts(schema: object, *values: object) -> list[bool]:
    document = load_all(schema)
    return [is_valid(document, value) for value in values]


def at(document: SchemaDocument, pointer: str) -> Subschema:
    return next(subschema for subschema in document.subschemas if subschema.pointer == pointer)


# --- shapes of the result


def test_the_empty_schema_constrains_nothing() -> None:
    assert root_of({}) == root_of(True) == Subschema("")
    assert root_of(False) == Subschema("", types=0)


def test_every_scalar_field() -> None:
    node = root_of(
        {
            "type": ["string", "number"],
            "minimum": 1,
            "maximum": 2.5,
            "exclusiveMinimum": -1,
            "exclusiveMaximum": 1e3,
            "multipleOf": 0.01,
            "minLength": 2.0,
            "maxLength": 10**12,
            "pattern": "^a",
            "minItems": 1,
            "maxItems": 2,
            "minProperties": 3,
            "maxProperties": 4,
        }
    )
    assert node == Subschema(
        "",
        types=STRING | NUMBER,
        minimum=Fraction(1),
        maximum=Fraction(5, 2),
        exclusive_minimum=Fraction(-1),
        exclusive_maximum=Fraction(1000),
        multiple_of=Fraction(1, 100),
        min_length=2,
        max_length=10**12,
        pattern="^a",
        min_items=1,
        max_items=2,
        min_properties=3,
        max_properties=4,
    )
    assert type(node.min_length) is int
    assert type(node.minimum) is Fraction


def test_children_are_named_by_pointer_and_index() -> None:
    document = load(
        {
            "type": "object",
            "properties": {"a/b~c": {"type": "null"}, "": True},
            "required": ["z", "a/b~c"],
            "additionalProperties": {
                "type": "array",
                "items": {"type": "integer"},
                "prefixItems": [{"const": 1}, False],
            },
        }
    )
    root = document.subschemas[document.root]
    assert root.required == ("z", "a/b~c")
    assert {name: document.subschemas[number].pointer for name, number in root.properties.items()} == {
        "a/b~c": "/properties/a~1b~0c",
        "": "/properties/",
    }
    assert root.additional is not None
    array = document.subschemas[root.additional]
    assert [document.subschemas[number].pointer for number in array.prefix_items] == [
        "/additionalProperties/prefixItems/0",
        "/additionalProperties/prefixItems/1",
    ]
    assert document.subschemas[array.prefix_items[1]].types == 0
    assert array.items is not None
    assert document.subschemas[array.items].types == INTEGER


@pytest.mark.parametrize("anything", [True, {}])
def test_what_asks_nothing_of_the_rest_is_none(anything: object) -> None:
    node = root_of({"additionalProperties": anything, "items": anything})
    assert node.additional is None
    assert node.items is None


def test_combinators_keep_their_groups() -> None:
    document = load({"allOf": [{"minLength": 1}, {"maxLength": 2}], "anyOf": [{"type": "null"}, {"type": "string"}]})
    root = document.subschemas[document.root]
    assert [document.subschemas[number].pointer for number in root.all_of] == ["/allOf/0", "/allOf/1"]
    assert [[document.subschemas[number].pointer for number in group] for group in root.any_of] == [
        ["/anyOf/0", "/anyOf/1"]
    ]


def test_a_schema_is_not_changed_and_loads_again_to_the_same() -> None:
    schema = {"properties": {"a": {"$ref": "#"}, "b": {"enum": [1.5, [2.0]]}}, "items": {"minimum": 0.1}}
    before = repr(schema)
    assert load(schema) == load(schema)
    assert repr(schema) == before


# --- types and values


def test_integers_by_value_or_by_spelling() -> None:
    assert root_of({"type": "integer"}).integral_fraction
    assert not root_of({"$schema": DRAFT_04, "type": "integer"}).integral_fraction
    one = Fraction(1)
    assert accepts({"type": "integer"}, 1, one) == [True, True]
    assert accepts({"$schema": DRAFT_04, "type": "integer"}, 1, one) == [True, False]


def test_enum_and_const_compare_as_json() -> None:
    node = root_of({"enum": [1, 1.0, True, "1", None, {"a": [2.0]}, {"a": [2]}, [False], [0]]})
    assert node.values == [1, True, "1", None, {"a": [2]}, [False], [0]]
    assert [type(value) for value in node.values][:2] == [int, bool]
    assert root_of({"enum": [1, 2, True], "const": 1.0}).values == [1]
    assert root_of({"enum": [0, "a"], "const": False}).values == []
    assert root_of({"const": None}).values == [None]
    assert root_of({"enum": []}).values == []


def test_const_is_unknown_in_draft_04() -> None:
    assert root_of({"$schema": DRAFT_04, "const": 1}).values is None
    assert root_of({"$schema": DRAFT_06, "const": 1}).values == [1]


def test_floats_mean_their_shortest_decimal() -> None:
    assert root_of({"multipleOf": 0.1}).multiple_of == Fraction(1, 10)
    assert root_of({"const": 0.1}).values == [Fraction(1, 10)]
    assert root_of({"minimum": 1e300}).minimum == 10**300
    assert root_of({"minimum": 9007199254740993}).minimum == 9007199254740993


def test_nullable_adds_null_beside_a_type_only() -> None:
    assert root_of({"type": "string", "nullable": True}).types == STRING | NULL
    assert root_of({"type": "string", "nullable": False}).types == STRING
    assert root_of({"nullable": True}) == Subschema("")
    assert accepts({"type": "string", "enum": ["a"], "nullable": True}, "a", None) == [True, False]
    assert accepts({"type": "string", "enum": ["a", None], "nullable": True}, "a", None) == [True, True]


def test_nullable_beside_any_of_is_one_more_branch() -> None:
    schema = {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "integer"}], "nullable": True}
    assert accepts(schema, None, ["a"], 1, "x", [1]) == [True, True, True, False, False]
    assert accepts({**schema, "type": "array"}, None, ["a"], 1) == [False, True, False]


# --- keywords that drafts treat differently


def test_draft_04_bounds_are_made_exclusive_by_booleans() -> None:
    node = root_of(
        {"$schema": DRAFT_04, "minimum": 1, "exclusiveMinimum": True, "maximum": 3, "exclusiveMaximum": False}
    )
    assert (node.minimum, node.exclusive_minimum, node.maximum, node.exclusive_maximum) == (None, 1, 3, None)
    assert root_of({"$schema": DRAFT_04, "exclusiveMinimum": True}) == Subschema("", integral_fraction=False)


@pytest.mark.parametrize("draft", DRAFTS)
def test_a_list_of_items_is_a_tuple_until_2020(draft: str) -> None:
    schema = {"$schema": draft, "items": [{"type": "string"}], "additionalItems": {"type": "integer"}}
    if draft == DRAFT_2020_12:
        with pytest.raises(InvalidSchemaError, match="prefixItems") as caught:
            load(schema)
        assert (caught.value.pointer, caught.value.keyword) == ("", "items")
    else:
        assert accepts(schema, ["a"], ["a", 1], ["a", "b"], [1]) == [True, True, False, False]


def test_additional_items_needs_a_list_of_items() -> None:
    assert root_of({"$schema": DRAFT_07, "additionalItems": False}).items is None
    assert accepts({"$schema": DRAFT_07, "items": {"type": "integer"}, "additionalItems": False}, [1, 2]) == [True]
    assert accepts({"prefixItems": [True], "additionalItems": False}, [1, 2]) == [True]
    assert accepts({"$schema": DRAFT_04, "items": [{}], "additionalItems": False}, [1], [1, 2]) == [True, False]


def test_prefix_items_is_unknown_before_2020() -> None:
    assert root_of({"$schema": DRAFT_2019_09, "prefixItems": [False]}).prefix_items == []


def test_booleans_are_schemas_in_few_places_of_draft_04() -> None:
    assert accepts({"$schema": DRAFT_04, "additionalProperties": False}, {}, {"a": 1}) == [True, False]
    for pointer, schema in {
        "/properties/a": {"properties": {"a": True}},
        "/items": {"items": True},
        "/allOf/0": {"allOf": [False]},
        "/not": {"not": False},
        "/patternProperties/x": {"patternProperties": {"x": True}},
    }.items():
        with pytest.raises(InvalidSchemaError) as caught:
            load({"$schema": DRAFT_04, **schema})
        assert (caught.value.pointer, caught.value.keyword) == (pointer, pointer.split("/")[1])
    with pytest.raises(InvalidSchemaError):
        load({"$schema": DRAFT_04, "definitions": {"a": True}, "properties": {"x": {"$ref": "#/definitions/a"}}})


@pytest.mark.parametrize(
    ("draft", "schema"),
    [
        (DRAFT_04, {"if": {"minLength": 1}, "then": False}),
        (DRAFT_06, {"if": {"minLength": 1}, "then": False}),
        (DRAFT_04, {"contains": {}}),
        (DRAFT_04, {"propertyNames": {"maxLength": 1}}),
        (DRAFT_07, {"dependentRequired": {"a": ["b"]}}),
        (DRAFT_07, {"unevaluatedProperties": False}),
        (DRAFT_07, {"$dynamicRef": "#x"}),
        (DRAFT_2020_12, {"$recursiveRef": "#x"}),
        (DRAFT_2020_12, {"_format": "date", "_uniqueItems": True, "additonalProperties": False, "id": 5}),
    ],
)
def test_keywords_of_other_drafts_and_unknown_ones_are_ignored(draft: str, schema: dict[str, object]) -> None:
    node = root_of({"$schema": draft, **schema})
    assert node == Subschema("", integral_fraction=draft != DRAFT_04)


@pytest.mark.parametrize("draft", DRAFTS)
def test_siblings_of_a_reference(draft: str) -> None:
    schema = {
        "$schema": draft,
        "definitions": {"s": {"type": "string"}},
        "properties": {"a": {"$ref": "#/definitions/s", "maxLength": 1, "minLength": "malformed"}},
    }
    if draft in (DRAFT_2019_09, DRAFT_2020_12):
        with pytest.raises(InvalidSchemaError):
            load(schema)
        del schema["properties"]["a"]["minLength"]  # type: ignore[attr-defined]
        assert accepts(schema, {"a": "long"}, {"a": "x"}) == [False, True]
    else:
        assert accepts(schema, {"a": "long"}, {"a": 1}) == [True, False]


def test_annotations_leave_no_trace() -> None:
    annotated = {
        "title": "t",
        "description": "d",
        "default": {"$ref": "nowhere"},
        "examples": [float("nan")],
        "example": {1: 2},
        "$comment": "c",
        "deprecated": True,
        "readOnly": True,
        "writeOnly": False,
        "discriminator": {"propertyName": "x"},
        "xml": {},
        "externalDocs": {},
        "contentEncoding": "base64",
        "contentMediaType": "application/json",
        "x-vendor": object(),
        "$defs": {"unused": {"type": "nonsense", "$ref": "#/nowhere"}},
        "definitions": {"unused": {"minLength": -1}},
    }
    assert load({"type": "string", **annotated}) == load({"type": "string"})


# --- applicators and the keywords that count


def pointers(document: SchemaDocument, numbers: Any) -> list[str | None]:
    return [None if number is None else document.subschemas[number].pointer for number in numbers]


def test_conditions_and_negation() -> None:
    document = load_all(
        {
            "oneOf": [{"type": "string"}, {"minLength": 2}, True],
            "not": {"const": 1},
            "if": {"type": "null"},
            "then": {},
            "else": {"maxLength": 3},
        }
    )
    root = document.subschemas[document.root]
    assert [pointers(document, group) for group in root.one_of] == [["/oneOf/0", "/oneOf/1", "/oneOf/2"]]
    assert pointers(document, root.none_of) == ["/not"]
    assert [pointers(document, condition) for condition in root.conditions] == [["/if", None, "/else"]]
    assert root_of({"oneOf": [{"type": "string"}]}).one_of == []
    assert accepts({"not": {}}, 1) == accepts({"not": True}, 1) == [False]
    assert root_of({"not": False}).none_of == []
    assert root_of({"if": {"minLength": 1}, "then": True, "else": {}}) == Subschema("")


def test_members_by_pattern_and_name() -> None:
    document = load_all(
        {
            "patternProperties": {"^a/b~": {"type": "null"}, "": True},
            "propertyNames": {"maxLength": 3},
            "additionalProperties": False,
        }
    )
    root = document.subschemas[document.root]
    assert [pattern for pattern, _ in root.pattern_properties] == ["^a/b~", ""]
    assert pointers(document, [number for _, number in root.pattern_properties]) == [
        "/patternProperties/^a~1b~0",
        "/patternProperties/",
    ]
    assert pointers(document, [root.property_names, root.additional]) == ["/propertyNames", "/additionalProperties"]
    assert root_of({"propertyNames": True}).property_names is None
    assert root_of({"$schema": DRAFT_04, "propertyNames": False}).property_names is None


@pytest.mark.parametrize("draft", DRAFTS)
def test_dependencies_of_every_draft(draft: str) -> None:
    document = load_all({"$schema": draft, "dependencies": {"a": ["b", "c"], "d": {"minProperties": 2}, "vacuous": {}}})
    root = document.subschemas[document.root]
    assert root.dependent_required == {"a": ("b", "c")}
    assert list(root.dependent_schemas) == ["d"]
    assert pointers(document, root.dependent_schemas.values()) == ["/dependencies/d"]
    later = root_of({"$schema": draft, "dependentRequired": {"a": ["b"], "z": []}, "dependentSchemas": {"d": False}})
    known = draft in (DRAFT_2019_09, DRAFT_2020_12)
    assert later.dependent_required == ({"a": ("b",)} if known else {})
    assert bool(later.dependent_schemas) == known


def test_old_and_new_dependencies_apply_together() -> None:
    schema = {
        "dependencies": {"a": ["b"], "c": {"minProperties": 2}},
        "dependentRequired": {"a": ["b", "x"]},
        "dependentSchemas": {"c": {"maxProperties": 2}},
    }
    assert root_of(schema).dependent_required == {"a": ("b", "x")}
    assert accepts(schema, {"c": 1}, {"c": 1, "d": 1}, {"c": 1, "d": 1, "e": 1}) == [False, True, False]


def test_contains_and_its_counts() -> None:
    node = root_of({"contains": {"type": "string"}, "minContains": 2, "maxContains": 3})
    assert (node.contains, node.min_contains, node.max_contains) == (1, 2, 3)
    old = root_of({"$schema": DRAFT_07, "contains": {"type": "string"}, "minContains": 2, "maxContains": 3})
    assert (old.contains, old.min_contains, old.max_contains) == (1, 1, None)
    assert root_of({"contains": False, "minContains": 0}).contains is None
    assert root_of({"contains": True, "minContains": 0, "maxContains": 0}).max_contains == 0
    assert root_of({"minContains": 2, "maxContains": 0}) == Subschema("")
    assert root_of({"type": "array", "uniqueItems": True}).unique_items
    assert not root_of({"type": "object", "uniqueItems": True}).unique_items


@pytest.mark.parametrize("draft", DRAFTS)
def test_formats_are_assertions_in_every_draft(draft: str) -> None:
    assert root_of({"$schema": draft, "format": "date-time"}).format == "date-time"
    assert root_of({"$schema": draft, "type": ["null", "string"], "format": "uuid"}).format == "uuid"
    assert root_of({"$schema": draft, "type": "integer", "format": "uuid"}).format is None
    for name in ("ip-address", "host-name", "color", "int32", "Date-Time"):
        document = load_all({"$schema": draft, "format": name})
        assert document.subschemas[document.root].format is None
        assert name in document.unenforced[0].reason


# --- what is evaluated


@pytest.mark.parametrize("anything", [True, {}])
def test_true_is_kept_where_an_unevaluated_keyword_sees_it(anything: object) -> None:
    for part in ({"additionalProperties": anything}, {"unevaluatedProperties": anything}):
        schema = {"allOf": [part], "unevaluatedProperties": False}
        assert accepts(schema, {"a": 1}) == [True]
        assert at(load_all(schema), "/allOf/0").additional is not None
        assert at(load_all({"allOf": [part]}), "/allOf/0").additional is None
    for part in ({"items": anything}, {"unevaluatedItems": anything}):
        schema = {"allOf": [part], "unevaluatedItems": False}
        assert accepts(schema, [1]) == [True]
        assert at(load_all(schema), "/allOf/0").items is not None
        assert at(load_all({"allOf": [part]}), "/allOf/0").items is None


def test_only_what_is_in_place_is_seen() -> None:
    schema = {
        "$defs": {"open": {"additionalProperties": True}},
        "properties": {"deep": {"$ref": "#/$defs/open"}},
        "anyOf": [{"$ref": "#/$defs/open"}, {"not": {"additionalProperties": True}}],
        "unevaluatedProperties": False,
    }
    document = load_all(schema)
    opens = [node for node in document.subschemas if node.pointer == "/$defs/open"]
    assert sorted(node.additional is None for node in opens) == [False, True]
    assert at(document, "/anyOf/1/not").additional is None


def test_conditions_without_branches_mark() -> None:
    schema = {"if": {"properties": {"a": {"const": 1}}}, "unevaluatedProperties": False}
    assert accepts(schema, {"a": 1}, {"a": 2}, {"b": 1}) == [True, False, False]
    assert accepts({"anyOf": [{"if": schema["if"]}], "unevaluatedProperties": False}, {"a": 1}, {"a": 2}) == [
        True,
        False,
    ]


@pytest.mark.parametrize("draft", [DRAFT_2019_09, DRAFT_2020_12])
def test_contains_marks_even_where_it_asks_nothing(draft: str) -> None:
    schema = {"$schema": draft, "contains": {"const": 1}, "minContains": 0, "unevaluatedItems": {"const": 2}}
    assert accepts(schema, [], [1], [2, 1], [3], [1, 3]) == [True, True, True, False, False]


def test_unevaluated_keywords_see_through_what_succeeded() -> None:
    schema = {
        "properties": {"k": {}},
        "oneOf": [
            {"properties": {"k": {"const": 1}, "x": {}}, "required": ["k"]},
            {"patternProperties": {"^y": {}}, "properties": {"k": {"const": 2}}, "required": ["k"]},
        ],
        "dependentSchemas": {"z": {"properties": {"z": {}}}},
        "unevaluatedProperties": False,
    }
    values = [{"k": 1, "x": 1}, {"k": 1, "y": 1}, {"k": 2, "y1": 1, "z": 1}, {"k": 2, "x": 1}, {"k": 1, "w": 1}]
    assert accepts(schema, *values) == [True, False, True, False, False]


# --- what is refused


REFUSED = {
    "oneOf": [{"type": "string"}, {"minLength": 2}],
    "not": {"type": "string"},
    "if": {"type": "string"},
    "dependentRequired": {"a": ["b"]},
    "dependentSchemas": {"a": False},
    "dependencies": {"a": ["b"]},
    "patternProperties": {"^a": False},
    "propertyNames": {"maxLength": 3},
    "contains": {"type": "string"},
    "uniqueItems": True,
    "format": "date-time",
    "unevaluatedProperties": False,
    "unevaluatedItems": False,
}


def refusing(keyword: str) -> dict[str, object]:
    schema: dict[str, object] = {keyword: REFUSED[keyword]}
    if keyword == "if":
        schema["then"] = {"minLength": 1}
    if keyword.startswith("unevaluated"):
        schema["anyOf"] = [{"properties": {"a": {}}, "prefixItems": [{}]}, {"type": "null"}]
    return schema


@pytest.mark.parametrize("keyword", REFUSED)
def test_unsupported_keywords_are_refused_by_name_and_place(keyword: str) -> None:
    with pytest.raises(UnsupportedSchemaError) as caught:
        load({"properties": {"p": refusing(keyword)}}, not_yet=frozenset((keyword,)))
    assert (caught.value.pointer, caught.value.keyword) == ("/properties/p", keyword)
    load({"properties": {"p": refusing(keyword)}}, not_yet=frozenset(REFUSED) - {keyword})


@pytest.mark.parametrize("keyword", REFUSED)
def test_unsupported_keywords_are_left_out_and_listed_on_request(keyword: str) -> None:
    document = load({"properties": {"p": refusing(keyword)}}, on_unsupported="warn", not_yet=frozenset((keyword,)))
    assert [(left_out.pointer, left_out.keyword) for left_out in document.unenforced] == [("/properties/p", keyword)]
    assert at(document, "/properties/p").types == ANY_TYPE


@pytest.mark.parametrize(
    "schema",
    [
        {"oneOf": [{"type": "string"}]},
        {"not": False},
        {"if": {"type": "string"}},
        {"then": False, "else": False},
        {"if": False, "then": {}, "else": True},
        {"dependentRequired": {"a": []}},
        {"dependentSchemas": {"a": True}},
        {"dependencies": {"a": [], "b": {}}},
        {"patternProperties": {}},
        {"propertyNames": {}},
        {"uniqueItems": False},
        {"contains": {"type": "string"}, "minContains": 0},
        {"minContains": 3, "maxContains": 1},
        {"unevaluatedProperties": True, "unevaluatedItems": {}},
        {"unevaluatedProperties": False, "additionalProperties": {"type": "string"}, "anyOf": [{}]},
        {"unevaluatedItems": False, "items": {"type": "string"}, "anyOf": [{}]},
        {"type": "string", "uniqueItems": True, "contains": {}, "patternProperties": {"a": {}}, "propertyNames": False},
        {"type": "integer", "format": "date-time"},
        {"enum": [1, [2]], "format": "date-time"},
        {"type": "array", "dependentRequired": {"a": ["b"]}, "dependentSchemas": {"a": False}},
        {"type": "object", "unevaluatedItems": False, "anyOf": [{}]},
    ],
)
def test_vacuous_keywords_are_not_refused(schema: dict[str, object]) -> None:
    assert load(schema, not_yet=frozenset(REFUSED)).unenforced == []


def test_subschemas_about_excluded_types_are_not_loaded() -> None:
    schema = {"type": "string", "properties": {"a": {"$ref": "#/nowhere"}}, "items": {"type": 5}, "prefixItems": [{}]}
    assert len(load(schema).subschemas) == 1


BACKREFERENCE = r"^(a|b)\1$"


@pytest.mark.parametrize(
    ("schema", "pointer", "keyword"),
    [
        ({"properties": {"p": {"pattern": BACKREFERENCE}}}, "/properties/p", "pattern"),
        ({"patternProperties": {"^c": {}, BACKREFERENCE: {}}}, "", "patternProperties"),
        ({"type": ["integer", "string"], "pattern": BACKREFERENCE}, "", "pattern"),
    ],
)
def test_patterns_that_no_automaton_matches_are_refused(schema: object, pointer: str, keyword: str) -> None:
    with pytest.raises(UnsupportedSchemaError, match="backreference") as caught:
        load(schema)
    assert (caught.value.pointer, caught.value.keyword) == (pointer, keyword)


@pytest.mark.parametrize(
    "schema", [{"pattern": "("}, {"type": "null", "pattern": "("}, {"patternProperties": {"(": {}}}]
)
def test_patterns_that_are_malformed_are_refused(schema: dict[str, object]) -> None:
    policy: Any
    for policy in ("error", "warn"):
        with pytest.raises(InvalidSchemaError, match="unterminated group"):
            load({"additionalProperties": False, **schema}, on_unsupported=policy)


def test_patterns_with_groups_nested_too_deeply_are_refused_at_their_place() -> None:
    pattern = "(" * 1_000 + ")" * 1_000
    for keyword, schema in (
        ("pattern", {"pattern": pattern}),
        ("patternProperties", {"patternProperties": {pattern: {}}}),
    ):
        with pytest.raises(ResourceLimitError) as caught:
            load({"items": schema})
        assert (caught.value.pointer, caught.value.keyword) == ("/items", keyword)


def test_a_pattern_about_an_excluded_type_is_not_refused() -> None:
    for schema in ({"type": "integer"}, {"enum": [1, None]}):
        assert load({**schema, "pattern": BACKREFERENCE}).unenforced == []


@pytest.mark.parametrize(
    ("schema", "keywords", "valid", "invalid"),
    [
        (
            {"properties": {"a": {"pattern": BACKREFERENCE, "maxLength": 3}, "b": {"pattern": "^x"}}},
            ["pattern"],
            [{"a": "aa"}, {"a": "ab"}, {"b": "xy"}],
            [{"a": "long"}, {"b": "y"}],
        ),
        (
            {"patternProperties": {BACKREFERENCE: {"type": "null"}, "^c": {"type": "null"}}},
            ["patternProperties"],
            [{"aa": 1}, {"c": None}],
            [{"c": 1}],
        ),
        (
            {"patternProperties": {BACKREFERENCE: {}, "^c": {"type": "null"}}, "additionalProperties": False},
            ["patternProperties", "additionalProperties"],
            [{"aa": 1}, {"c": None}],
            [{"c": 1}],
        ),
        (
            {"additionalProperties": False, "patternProperties": {BACKREFERENCE: {}}},
            ["additionalProperties", "patternProperties"],
            [{"aa": 1}],
            [],
        ),
        ({"not": {"pattern": BACKREFERENCE}}, ["pattern", "not"], ["ab", 1], []),
        ({"not": {"type": "integer", "pattern": BACKREFERENCE}}, [], ["aa"], [1]),
        ({"not": {"patternProperties": {BACKREFERENCE: False}}}, ["patternProperties", "not"], [{"aa": 1}], []),
        ({"oneOf": [{"pattern": BACKREFERENCE}, {"maxLength": 2}]}, ["pattern", "oneOf"], ["ab", "abc"], []),
        (
            {"if": {"pattern": BACKREFERENCE}, "then": {"maxLength": 1}, "maxLength": 9},
            ["pattern", "if"],
            ["ab", "abc"],
            ["0123456789"],
        ),
        (
            {"allOf": [{"patternProperties": {BACKREFERENCE: {}}}], "unevaluatedProperties": False},
            ["patternProperties", "unevaluatedProperties"],
            [{"aa": 1}],
            [],
        ),
        (
            {"patternProperties": {BACKREFERENCE: {}}, "unevaluatedProperties": False},
            ["patternProperties", "unevaluatedProperties"],
            [{"aa": 1}],
            [],
        ),
    ],
)
def test_only_patterns_that_no_automaton_matches_are_left_out(
    schema: object, keywords: list[str], valid: list[object], invalid: list[object]
) -> None:
    document = load(schema, on_unsupported="warn")
    assert [entry.keyword for entry in document.unenforced] == keywords
    for value in valid:
        assert is_valid(document, value), value
    for value in invalid:
        assert not is_valid(document, value), value


def test_objects_with_a_pattern_that_is_left_out_are_not_closed() -> None:
    schema = {"properties": {"k": {}}, "patternProperties": {BACKREFERENCE: {}, "^c": {}}}
    assert is_valid(load(schema, on_unsupported="warn", closed_objects=True), {"k": 1, "aa": 1})


def test_unknown_formats_are_listed_and_not_refused() -> None:
    document = load({"type": "integer", "format": "int32"})
    assert [(entry.pointer, entry.keyword) for entry in document.unenforced] == [("", "format")]
    assert "int32" in document.unenforced[0].reason


def test_unevaluated_without_applicators_is_additional() -> None:
    schema = {"properties": {"a": {}}, "unevaluatedProperties": {"type": "string"}}
    assert accepts(schema, {"a": 1, "b": "x"}, {"b": 1}) == [True, False]
    assert accepts({"prefixItems": [{}], "unevaluatedItems": False}, [1], [1, 2]) == [True, False]
    old = {"$schema": DRAFT_2019_09, "items": [{}], "unevaluatedItems": False}
    assert accepts(old, [1], [1, 2]) == [True, False]


MALFORMED: list[tuple[str, dict[str, object]]] = [
    ("type", {"type": 5}),
    ("type", {"type": []}),
    ("type", {"type": "strnig"}),
    ("type", {"type": ["string", "string"]}),
    ("type", {"type": ["string", {"type": "null"}]}),
    ("type", {"type": None}),
    ("enum", {"enum": "a"}),
    ("enum", {"enum": {"a": 1}}),
    ("enum", {"enum": [{1: 2}]}),
    ("enum", {"enum": [{1, 2}]}),
    ("enum", {"enum": [float("inf")]}),
    ("enum", {"enum": ["\ud800"]}),
    ("const", {"const": float("nan")}),
    ("minLength", {"minLength": -1}),
    ("minLength", {"minLength": 1.5}),
    ("minLength", {"minLength": True}),
    ("maxLength", {"maxLength": "3"}),
    ("maxItems", {"maxItems": None}),
    ("minProperties", {"minProperties": [1]}),
    ("minimum", {"minimum": "0"}),
    ("minimum", {"minimum": True}),
    ("maximum", {"maximum": float("nan")}),
    ("exclusiveMinimum", {"exclusiveMinimum": True}),
    ("exclusiveMaximum", {"$schema": DRAFT_04, "exclusiveMaximum": 3}),
    ("multipleOf", {"multipleOf": 0}),
    ("multipleOf", {"multipleOf": -0.5}),
    ("pattern", {"pattern": ["a"]}),
    ("format", {"format": 1}),
    ("items", {"items": 1}),
    ("prefixItems", {"prefixItems": {}}),
    ("prefixItems", {"prefixItems": []}),
    ("uniqueItems", {"uniqueItems": 1}),
    ("contains", {"contains": []}),
    ("minContains", {"contains": {}, "minContains": -1}),
    ("properties", {"properties": []}),
    ("properties", {"properties": {"a": 1}}),
    ("properties", {"properties": {1: {}}}),
    ("additionalProperties", {"additionalProperties": "no"}),
    ("required", {"required": "a"}),
    ("required", {"required": [1]}),
    ("required", {"required": ["a", "a"]}),
    ("required", {"required": True}),
    ("required", {"$schema": DRAFT_04, "required": []}),
    ("patternProperties", {"patternProperties": {"a": 1}}),
    ("propertyNames", {"propertyNames": "a"}),
    ("dependentRequired", {"dependentRequired": {"a": "b"}}),
    ("dependentSchemas", {"dependentSchemas": {"a": []}}),
    ("dependencies", {"dependencies": {"a": 1}}),
    ("allOf", {"allOf": []}),
    ("anyOf", {"anyOf": {}}),
    ("anyOf", {"anyOf": ["string"]}),
    ("oneOf", {"oneOf": []}),
    ("not", {"not": []}),
    ("if", {"if": 1}),
    ("then", {"then": 1}),
    ("$ref", {"$ref": 1}),
    ("$ref", {"$ref": {}}),
    ("$id", {"$id": 5}),
    ("$id", {"$id": "#name"}),
    ("$recursiveRef", {"$schema": DRAFT_2019_09, "$recursiveRef": "#a"}),
]


@pytest.mark.parametrize(("keyword", "schema"), MALFORMED)
@pytest.mark.parametrize("mode", ["error", "warn"])
def test_malformed_keywords_are_refused_by_name_and_place(keyword: str, schema: dict[str, object], mode: str) -> None:
    dialect = {"$schema": schema["$schema"]} if "$schema" in schema else {}
    inner = {key: value for key, value in schema.items() if key != "$schema"}
    nested = {**dialect, "type": "object", "properties": {"p~/": inner}}
    with pytest.raises(InvalidSchemaError) as caught:
        load(nested, on_unsupported=mode)  # type: ignore[arg-type]
    assert caught.value.pointer.startswith("/properties/p~0~1")
    assert caught.value.keyword == keyword
    assert caught.value.reason


@pytest.mark.parametrize("name", ["image", "audio"])
def test_types_that_transformers_writes_for_media_are_named(name: str) -> None:
    with pytest.raises(InvalidSchemaError, match=name):
        load({"type": "object", "properties": {"x": {"type": name}}})


def test_required_as_a_boolean_says_where_it_belongs() -> None:
    with pytest.raises(InvalidSchemaError, match="required of the object"):
        load({"properties": {"a": {"type": "string", "required": True}}})


def test_repeated_enum_members_are_one() -> None:
    for draft in DRAFTS:
        assert root_of({"$schema": draft, "enum": ["a", "b", "a"]}).values == ["a", "b"]


# --- dialects


@pytest.mark.parametrize(
    "uri", [DRAFT_07, "http://json-schema.org/draft-07/schema", "https://json-schema.org/draft-07/schema#"]
)
def test_spellings_of_a_dialect(uri: str) -> None:
    assert root_of({"$schema": uri, "prefixItems": [{}]}).prefix_items == []


def test_the_uri_without_a_draft_means_the_latest() -> None:
    assert len(root_of({"$schema": "http://json-schema.org/schema#", "prefixItems": [{}]}).prefix_items) == 1


@pytest.mark.parametrize(
    "uri", ["http://json-schema.org/draft-03/schema#", "https://example.com/my-dialect", "draft-07", ""]
)
def test_unknown_dialects(uri: str) -> None:
    with pytest.raises(UnsupportedSchemaError) as caught:
        load({"$schema": uri})
    assert (caught.value.pointer, caught.value.keyword) == ("", "$schema")
    assert repr(uri) in caught.value.reason
    assert [entry.keyword for entry in load({"$schema": uri}, on_unsupported="warn").unenforced] == ["$schema"]


def test_a_dialect_must_be_a_string() -> None:
    with pytest.raises(InvalidSchemaError):
        load({"$schema": 7})


def test_a_subschema_may_have_its_own_dialect() -> None:
    schema = {
        "properties": {
            "old": {
                "$schema": DRAFT_04,
                "minimum": 3,
                "exclusiveMinimum": True,
                "properties": {"deep": {"type": "integer"}},
            },
            "new": {"type": "integer"},
        }
    }
    assert accepts(schema, {"old": 3}, {"old": {"deep": Fraction(1)}}, {"new": Fraction(1)}) == [False, False, True]


# --- closed objects


def test_closed_objects_close_where_an_object_stands_alone() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "object", "properties": {"x": {}}},
            "free": {"type": "object"},
            "open": {"properties": {"x": {}}, "additionalProperties": True},
            "list": {"type": "array", "items": {"$ref": "#/$defs/point"}},
            "either": {"anyOf": [{"$ref": "#/$defs/point"}, {"properties": {"y": {}}}]},
        },
        "$defs": {"point": {"properties": {"x": {}}}},
    }
    document = load(schema, closed_objects=True)
    for value, verdict in [
        ({}, True),
        ({"b": 1}, False),
        ({"a": {"x": 1}}, True),
        ({"a": {"y": 1}}, False),
        ({"free": {"y": 1}}, True),
        ({"open": {"y": 1}}, True),
        ({"list": [{"x": 1}]}, True),
        ({"list": [{"x": 1, "y": 1}]}, False),
        ({"either": {"x": 1}}, True),
        ({"either": {"y": 1}}, True),
        ({"either": {"x": 1, "y": 1}}, False),
    ]:
        assert is_valid(document, value) == verdict, value
    assert is_valid(load(schema), {"b": 1, "a": {"y": 1}})


def test_closed_objects_close_joined_parts_as_a_whole() -> None:
    schema = {
        "$defs": {"base": {"properties": {"id": {"type": "integer"}}, "required": ["id"]}},
        "properties": {
            "alone": {"$ref": "#/$defs/base"},
            "all": {"allOf": [{"$ref": "#/$defs/base"}, {"properties": {"name": {"type": "string"}}}]},
            "beside": {"$ref": "#/$defs/base", "properties": {"name": {}}},
            "open": {"allOf": [{"$ref": "#/$defs/base"}, {"properties": {"n": {}}, "additionalProperties": True}]},
        },
    }
    document = load(schema, closed_objects=True)
    for value, verdict in [
        ({"alone": {"id": 1}}, True),
        ({"alone": {"id": 1, "name": "x"}}, False),
        ({"all": {"id": 1, "name": "x"}}, True),
        ({"all": {"id": 1, "name": 2}}, False),
        ({"all": {"id": 1, "other": 2}}, False),
        ({"beside": {"id": 1, "name": 2}}, True),
        ({"beside": {"id": 1, "other": 2}}, False),
        ({"open": {"id": 1, "other": 2}}, True),
    ]:
        assert is_valid(document, value) == verdict, value


def test_closed_objects_close_every_branch_of_a_lone_one_of() -> None:
    branches = [{"properties": {"k": {"const": name}, name: {}}, "required": ["k"]} for name in "ab"]
    document = load_all({"oneOf": branches}, closed_objects=True)
    for value, verdict in [
        ({"k": "a", "a": 1}, True),
        ({"k": "a", "b": 1}, False),
        ({"k": "b", "b": 1}, True),
        ({"k": "b", "c": 1}, False),
        ({"k": "c"}, False),
    ]:
        assert is_valid(document, value) == verdict, value


def test_closed_objects_close_around_conditions_and_patterns() -> None:
    schema = {
        "properties": {"k": {}},
        "if": {"properties": {"k": {"properties": {"t": {"const": 1}}}}, "required": ["k"]},
        "then": {"properties": {"x": {"properties": {"deep": {}}}}},
        "dependentSchemas": {"k": {"properties": {"y": {}}}},
        "patternProperties": {"^p": {}},
        "not": {"properties": {"q": {"properties": {"t": {"const": 1}}}}, "required": ["q"]},
    }
    document = load_all(schema, closed_objects=True)
    for value, verdict in [
        ({}, True),
        ({"k": {"t": 1}, "x": {"deep": 1}, "y": 1, "p1": 1}, True),
        ({"k": {"t": 1}, "x": {"other": 1}}, False),
        ({"z": 1}, False),
        ({"q": {"t": 2}}, False),
    ]:
        assert is_valid(document, value) == verdict, value
    # A condition means what it says: closed, it would not hold, and what it forbids would pass.
    open_document = load_all({**schema, "additionalProperties": True}, closed_objects=True)
    assert not is_valid(open_document, {"q": {"t": 1, "more": 2}})
    assert is_valid(open_document, {"q": {"t": 2, "more": 2}})
    assert not is_valid(open_document, {"k": {"t": 1}, "x": {"other": 1}})


def test_closed_objects_leave_items_that_are_counted_open() -> None:
    item = {"properties": {"a": {}}, "required": ["a"]}
    value = [{"a": 1, "b": 2}, {"a": 1, "b": 2}]
    assert not is_valid(load_all({"contains": item, "maxContains": 1}, closed_objects=True), value)
    assert not is_valid(load_all({"contains": item}, closed_objects=True), value)


# --- leaving out


def test_leaving_out_never_narrows() -> None:
    options: Any = {"on_unsupported": "warn", "not_yet": frozenset(REFUSED)}
    schema = {"properties": {"a": {}}, "patternProperties": {"^x": {}}, "additionalProperties": False}
    document = load(schema, **options)
    assert [entry.keyword for entry in document.unenforced] == ["patternProperties", "additionalProperties"]
    assert is_valid(document, {"x1": 1})
    parts = [{"properties": {"a": {}}}, {"properties": {"b": {}}, "required": ["b"]}]
    whole = {"properties": {"k": {}}, "oneOf": parts}
    for open_schema in (
        {"properties": {"a": {}}, "patternProperties": {"^x": {}}},
        {"properties": {"a": {}}, "dependentSchemas": {"a": {"properties": {"x1": {}}, "minProperties": 2}}},
        {"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}, "patternProperties": {"^x": {}}}]},
        whole,
        {"allOf": [{"properties": {"a": {}}}, whole]},
    ):
        assert is_valid(load(open_schema, closed_objects=True, **options), {"a": 1, "x1": 1})


REMOTE = {"$ref": "http://example.com/unknown"}


@pytest.mark.parametrize(
    ("schema", "value", "keywords"),
    [
        ({"not": REMOTE}, 1, ["$ref", "not"]),
        ({"not": {"properties": {"a": REMOTE}, "required": ["a"]}}, {"a": 1}, ["$ref", "not"]),
        ({"not": {"not": REMOTE}}, 1, ["$ref", "not", "not"]),
        ({"oneOf": [REMOTE, {"type": "integer"}]}, 1, ["$ref", "oneOf"]),
        ({"if": REMOTE, "then": False, "else": {"type": "string"}}, "x", ["$ref", "if"]),
        ({"contains": REMOTE, "maxContains": 0}, [1], ["$ref", "maxContains"]),
        ({"unevaluatedProperties": False, **REMOTE}, {"a": 1}, ["$ref", "unevaluatedProperties"]),
        ({"unevaluatedItems": False, "anyOf": [{"allOf": [REMOTE]}]}, [1], ["$ref", "unevaluatedItems"]),
        ({"$ref": "#/$defs/d", "$defs": {"d": {"not": {"items": REMOTE, "minItems": 1}}}}, [1], ["$ref", "not"]),
    ],
)
def test_what_depends_on_what_is_left_out_is_left_out(schema: object, value: object, keywords: list[str]) -> None:
    document = load_all(schema, on_unsupported="warn")
    assert [entry.keyword for entry in document.unenforced] == keywords
    assert is_valid(document, value)


def test_leaving_out_spares_what_does_not_depend_on_it() -> None:
    schema = {
        "properties": {"a": REMOTE},
        "not": {"type": "string"},
        "oneOf": [{"minimum": 1}, {"type": "object"}],
        "unevaluatedProperties": False,
    }
    document = load_all(schema, on_unsupported="warn")
    assert [entry.keyword for entry in document.unenforced] == ["$ref"]
    for value, verdict in [({"a": 1}, False), (0, False), (1, True), ("x", False)]:
        assert is_valid(document, value) == verdict


# --- limits


def test_deep_nesting_does_not_recurse() -> None:
    schema: dict[str, object] = {"type": "integer"}
    for level in range(2_000):
        schema = {"properties": {"a": schema}} if level % 2 else {"items": schema}
    assert len(load(schema).subschemas) == 2_001
    chain = {"$defs": {str(i): {"$ref": f"#/$defs/{i + 1}"} for i in range(2_000)} | {"2000": {}}, "$ref": "#/$defs/0"}
    assert len(load(chain).subschemas) == 2_002


def test_nesting_has_a_limit() -> None:
    schema: dict[str, object] = {}
    for _ in range(10_000):
        schema = {"items": schema}
    schema = {"additionalProperties": schema}
    with pytest.raises(ResourceLimitError, match="nests too deeply") as caught:
        load(schema)
    assert "MAX_POINTER_CHARACTERS" in caught.value.limit
    value: list[object] = []
    for _ in range(5_000):
        value = [value]
    with pytest.raises(ResourceLimitError):
        load({"const": value})


def test_huge_numbers_have_a_limit() -> None:
    for text in ('{"minimum": 1e9999999}', '{"enum": [1e-9999999]}', '{"minimum": ' + "9" * 20_000 + "}"):
        with pytest.raises(ResourceLimitError):
            load(text)
    assert root_of('{"minimum": 1e400}').minimum == 10**400


def test_python_containers_that_hold_themselves() -> None:
    schema: dict[str, object] = {"type": "object"}
    schema["properties"] = {"a": {"items": schema}}
    with pytest.raises(InvalidSchemaError, match="holds itself"):
        load(schema)
    crossed: dict[str, object] = {}
    left: dict[str, object] = {"items": crossed}
    crossed["items"] = left
    with pytest.raises(InvalidSchemaError, match="holds itself"):
        load({"properties": {"a": left, "b": crossed}})
    value: list[object] = []
    value.append(value)
    with pytest.raises(ResourceLimitError):
        load({"const": value})


def test_python_dicts_in_two_places_are_one_subschema() -> None:
    shared: dict[str, object] = {"type": "string"}
    for _ in range(60):  # written out, this has 2**60 subschemas
        shared = {"properties": {"a": shared, "b": shared}}
    assert len(load(shared).subschemas) == 61


def test_draft_names_in_on_unsupported_are_checked() -> None:
    with pytest.raises(ValueError, match="on_unsupported"):
        load({}, on_unsupported="ignore")  # type: ignore[arg-type]


def test_types_of_the_constants() -> None:
    masks = [NULL, BOOLEAN, INTEGER, NUMBER & ~INTEGER, STRING, ARRAY, OBJECT]
    assert sum(masks) == ANY_TYPE
    assert all(
        root_of({"type": name}).types == mask
        for name, mask in zip(
            ["null", "boolean", "integer", "number", "string", "array", "object"],
            [NULL, BOOLEAN, INTEGER, NUMBER, STRING, ARRAY, OBJECT],
            strict=True,
        )
    )
