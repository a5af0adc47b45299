"""The types of an argument, against a validator; and how bare texts are read."""

import json

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.grammars.tool_formats import admitted_types, argument_types, reading
from constrain.grammars.tool_formats.readings import TYPES

VALUES = st.sampled_from([None, True, False, 0, -3, 7, 1.5, 2.0, "", "a", "7", [], [1], {}, {"a": 1}])
NAMES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])


def schemas(*, references=True):
    leaf = st.one_of(
        st.booleans(),
        st.builds(lambda t: {"type": t}, NAMES),
        st.builds(lambda t: {"type": t}, st.lists(NAMES, min_size=1, max_size=3, unique=True)),
        st.builds(lambda v: {"const": v}, VALUES),
        st.builds(lambda v: {"enum": v}, st.lists(VALUES, min_size=1, max_size=3)),
        st.just({"minLength": 1}),
        st.sampled_from([{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}] if references else [{"type": "null"}]),
        st.just({"not": {"type": "string"}}),
    )
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.builds(
                lambda key, parts, type_: {key: parts, **type_},
                st.sampled_from(["allOf", "anyOf", "oneOf"]),
                st.lists(inner, min_size=1, max_size=3),
                st.sampled_from([{}, {"type": "string"}, {"type": ["number", "null"]}]),
            ),
            st.builds(lambda a, b: {"if": a, "then": b}, inner, inner),
        ),
        max_leaves=5,
    )


def type_of(value):
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, float):
        return "number"
    return {int: "integer", str: "string", list: "array", dict: "object", type(None): "null"}[type(value)]


@settings(max_examples=300, deadline=None)
@given(
    schemas(),
    schemas(references=False),
    schemas(references=False),
    VALUES,
    st.sampled_from(["draft/2020-12/", "draft-07/"]),
)
def test_no_type_is_left_out_that_a_schema_admits(schema, a, b, value, draft):
    dialect = f"http{'s' if '2020' in draft else ''}://json-schema.org/{draft}schema"
    parameters = {"$schema": dialect, "properties": {"x": schema}, "$defs": {"a": a, "b": b}}
    validator = jsonschema.validators.validator_for(parameters)(parameters)
    if validator.is_valid({"x": value}):
        wanted = {type_of(value)} if not (isinstance(value, float) and value.is_integer()) else {"integer", "number"}
        assert wanted & argument_types("x", parameters)


@pytest.mark.parametrize(
    ("schema", "types"),
    [
        ({"type": "string"}, {"string"}),
        ({"type": "number"}, {"integer", "number"}),
        ({"type": "integer"}, {"integer"}),
        ({"type": ["string", "null"]}, {"string", "null"}),
        ({"anyOf": [{"type": "string"}, {"const": 5}]}, {"string", "integer"}),
        ({"allOf": [{"type": ["string", "null"]}, {"type": ["null", "array"]}]}, {"null"}),
        ({"enum": ["a", None]}, {"string", "null"}),
        ({"$ref": "#/$defs/n"}, {"integer"}),
        ({"$ref": "#/$defs/nowhere"}, set(TYPES)),
        ({"$ref": "https://example.org/x"}, set(TYPES)),
        ({"minimum": 3}, set(TYPES)),
        (False, set()),
    ],
)
def test_admitted_types(schema, types):
    assert admitted_types(schema, {"$defs": {"n": {"type": "integer"}}}) == types


def test_references_that_lead_in_circles_end():
    schema = {"anyOf": [{"$ref": "#"}, {"$ref": "#"}, {"type": "null"}]}
    assert "null" in admitted_types(schema, schema)
    chain = {"$defs": {str(i): {"allOf": [{"$ref": f"#/$defs/{i + 1}"}] * 4} for i in range(60)}}
    assert admitted_types({"$ref": "#/$defs/0"}, chain) == TYPES


def test_in_old_drafts_nothing_is_seen_beside_a_reference():
    definitions = {"definitions": {"n": {"type": "integer"}}}
    schema = {"$ref": "#/definitions/n", "type": "string"}
    assert admitted_types(schema, {"$schema": "http://json-schema.org/draft-07/schema#", **definitions}) == {"integer"}
    assert admitted_types(schema, definitions) == set()


def test_an_argument_that_is_not_declared():
    assert argument_types("x", {"additionalProperties": {"type": "string"}}) == {"string"}
    assert argument_types("x", {"additionalProperties": {"type": "string"}, "patternProperties": {"x": {}}}) == TYPES
    assert argument_types("x", {"properties": {"y": {"type": "string"}}}) == TYPES
    assert argument_types("x", True) == TYPES


def test_how_a_bare_text_is_read():
    def read(text, *types):
        return reading(text, frozenset(types))

    assert read("anything", "integer") == "json"
    assert read("5", "string") == read(" 5", "string", "integer") == read("05", "string", "integer") == "string"
    assert read("-5", "string", "integer") == read("-5", "string", "number") == "json"
    assert read("5.0", "string", "integer") == "string"
    assert read("5.0", "string", "number") == read("1e3", "string", "integer", "number") == "json"
    assert read("null", "string", "null") == read("true", "string", "boolean") == "json"
    assert read("null", "string", "boolean") == read("None", "string", "null") == read("True", *TYPES) == "string"
    assert read("{", "string", "object") == read("[x", "string", "array") == "json"
    assert read("{", "string", "array") == read(" {}", *TYPES) == read("", *TYPES) == read('"a"', *TYPES) == "string"


@given(st.text(max_size=8), st.sets(NAMES, min_size=1))
def test_what_is_read_as_a_scalar_is_json_of_an_admitted_type(text, names):
    types = frozenset(names | {"string"} | ({"integer"} if "number" in names else set()))
    if reading(text, types) == "json" and not text.startswith(("{", "[")):
        assert type_of(json.loads(text)) in types
