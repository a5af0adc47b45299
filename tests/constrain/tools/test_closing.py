"""Closing objects: `jsonschema` judges what the rewritten schema accepts, and the compiler, which closes by itself."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import constrain
from constrain.grammars.errors import ConstrainError, InvalidSchemaError, UnsupportedSchemaError
from constrain.testing import default_vocabulary
from constrain.tools import close_objects
from constrain.tools.spelled import spell
from tests.oracles import FULL

INT = {"type": "integer"}
A = {"type": "object", "properties": {"a": INT}}
B = {"type": "object", "properties": {"b": INT}, "required": ["b"]}


def accepts(schema: Any, value: Any) -> bool:
    closed = close_objects(schema)
    return bool(jsonschema.validators.validator_for(closed, jsonschema.Draft202012Validator)(closed).is_valid(value))


def compiler_accepts(schema: Any, values: list[Any]) -> list[bool]:
    compiled = constrain.json_schema(schema, closed_objects=True).compile(default_vocabulary())
    verdicts = []
    for value in values:
        matcher = compiled.matcher()
        verdicts.append(matcher.accept_bytes(spell(value)[0].encode()) and matcher.is_accepting)
    return verdicts


CASES: list[tuple[str, Any, list[Any], list[Any]]] = [
    ("alone", A, [{}, {"a": 1}], [{"x": 1}, {"a": "1"}]),
    ("open by word", {**A, "additionalProperties": True}, [{"x": 1}], [{"a": "1"}]),
    ("a map", {"type": "object", "additionalProperties": INT}, [{"x": 1}], [{"x": "1"}]),
    ("anything", {"type": "object"}, [{"x": 1}], []),
    ("patterns", {**A, "patternProperties": {"^x": INT}}, [{"x1": 1}], [{"y": 1}, {"x1": "1"}]),
    (
        "nested",
        {"properties": {"o": A, "l": {"items": A}}},
        [{"o": {"a": 1}, "l": [{}]}],
        [{"o": {"x": 1}}, {"l": [{"x": 1}]}],
    ),
    ("allOf of two", {"allOf": [A, B]}, [{"b": 1}, {"a": 1, "b": 1}], [{"b": 1, "x": 1}, {"a": 1}]),
    ("allOf of one", {"allOf": [B]}, [{"b": 1}], [{"b": 1, "x": 1}]),
    ("allOf beside members", {**A, "allOf": [B]}, [{"b": 1}, {"a": 1, "b": 1}], [{"b": 1, "x": 1}]),
    (
        "allOf with an open part",
        {"allOf": [A, {**B, "additionalProperties": {"type": "string"}}]},
        [{"b": 1, "x": "1"}],
        [{"b": 1, "x": 1}],
    ),
    ("oneOf alone", {"oneOf": [A, B]}, [{"a": 1}, {"b": 1}, {}], [{"a": 1, "b": 1}, {"b": 1, "x": 1}]),
    (
        "anyOf beside members",
        {**A, "anyOf": [B, {"properties": {"c": INT}}]},
        [{"a": 1, "c": 1}, {"b": 1, "c": 1}],
        [{"x": 1}],
    ),
    (
        "conditions",
        {**A, "if": {"properties": {"a": {"const": 1}}}, "then": B},
        [{"a": 2}, {"a": 1, "b": 1}],
        [{"a": 1}, {"x": 1, "b": 1}],
    ),
    (
        "negation",
        {**A, "not": {"properties": {"a": {"const": 1}}, "required": ["a"]}},
        [{"a": 2}],
        [{"a": 1}, {"x": 1}],
    ),
    ("unevaluated", {**A, "unevaluatedProperties": INT}, [{"x": 1}], [{"x": "1"}]),
    (
        "a reference as part and as whole",
        {"properties": {"p": {"$ref": "#/$defs/A"}, "q": {"allOf": [{"$ref": "#/$defs/A"}, B]}}, "$defs": {"A": A}},
        [{"p": {"a": 1}, "q": {"a": 1, "b": 1}}],
        [{"p": {"a": 1, "b": 1}}, {"q": {"a": 1, "b": 1, "x": 1}}],
    ),
    (
        "recursion",
        {"properties": {"v": INT, "next": {"$ref": "#"}}},
        [{"v": 1, "next": {"next": {"v": 2}}}],
        [{"next": {"next": {"x": 2}}}],
    ),
    (
        "recursion through a part",
        {"$ref": "#/$defs/N", "$defs": {"N": {"allOf": [A, {"properties": {"n": {"$ref": "#/$defs/N"}}}]}}},
        [{"a": 1, "n": {"a": 2, "n": {}}}],
        [{"n": {"n": {"x": 1}}}],
    ),
    (
        "a reference in a condition",
        {**A, "not": {"$ref": "#/$defs/C"}, "$defs": {"C": {"properties": {"a": {"const": 1}}, "required": ["a"]}}},
        [{"a": 2}],
        [{"a": 1}, {"x": 1}],
    ),
    (
        "draft 07",
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "properties": {"p": {"$ref": "#/definitions/A"}},
            "definitions": {"A": A},
        },
        [{"p": {"a": 1}}],
        [{"p": {"x": 1}}, {"x": 1}],
    ),
    (
        "a member called $ref",
        {"properties": {"$ref": INT, "not": A}},
        [{"$ref": 1, "not": {"a": 1}}],
        [{"x": 1}, {"not": {"x": 1}}],
    ),
]


@pytest.mark.parametrize(("schema", "valid", "invalid"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_rule(schema: Any, valid: list[Any], invalid: list[Any]) -> None:
    before = repr(schema)
    for value in valid:
        assert accepts(schema, value), value
    for value in invalid:
        assert not accepts(schema, value), value
    assert repr(schema) == before
    assert compiler_accepts(schema, valid + invalid) == [True] * len(valid) + [False] * len(invalid)
    # Closed once is closed: nothing is left to close.
    for value in valid + invalid:
        assert accepts(close_objects(schema), value) == accepts(schema, value)


def test_what_cannot_be_rewritten_is_refused() -> None:
    with pytest.raises(UnsupportedSchemaError, match="'#node'"):
        close_objects({"$ref": "#node", "$defs": {"n": {"$anchor": "node"}}})
    with pytest.raises(UnsupportedSchemaError, match="dynamicRef"):
        close_objects({"properties": {"a": {"$dynamicRef": "#node"}}})
    with pytest.raises(UnsupportedSchemaError, match="identifiers"):
        close_objects({"properties": {"a": {"$id": "x", "properties": {}}}})
    with pytest.raises(InvalidSchemaError, match="leads nowhere"):
        close_objects({"$ref": "#/$defs/none"})
    assert close_objects(True) is True


_LEAVES = st.sampled_from([{}, INT, {"const": 1}, {"type": "string"}, {"$ref": "#/$defs/D"}, {"$ref": "#"}])


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    members = st.dictionaries(st.sampled_from("abc"), inner, max_size=2)
    parts = st.lists(inner, min_size=1, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            "properties": members,
            "required": st.lists(st.sampled_from("ab"), max_size=1),
            "additionalProperties": st.sampled_from([True, False, INT]),
            "allOf": parts,
            "anyOf": parts,
            "oneOf": parts,
            "items": inner,
            "not": st.sampled_from([{"required": ["a"]}, {"type": "string"}, {"properties": {"a": INT}}]),
            "$ref": st.just("#/$defs/D"),
        },
    )


SCHEMAS = st.recursive(_LEAVES, _objects, max_leaves=5).flatmap(
    lambda schema: _objects(_LEAVES).map(
        lambda d: {**schema, "$defs": {"D": {k: v for k, v in d.items() if k != "$ref"}}}
    )
)
VALUES = st.recursive(
    st.sampled_from([1, "s", {}, {"a": 1}, {"x": 1}, {"a": 1, "b": 1}]),
    lambda inner: st.dictionaries(st.sampled_from("abcx"), inner, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=6,
)


@settings(max_examples=1500 if FULL else 120, deadline=None, suppress_health_check=list(HealthCheck))
@given(SCHEMAS, st.lists(VALUES, min_size=3, max_size=8))
def test_the_rewriting_means_what_the_compiler_does(schema: Any, values: list[Any]) -> None:
    try:
        verdicts = compiler_accepts(schema, values)
    except ConstrainError:
        return  # circular, or nothing is valid
    for value, verdict in zip(values, verdicts, strict=True):
        assert accepts(schema, value) == verdict, value
