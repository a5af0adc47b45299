"""Subschemas that plainly ask the same: what is written alike is found to be, and nothing else."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import constrain
from constrain.grammars.json_schema.load import load
from constrain.grammars.json_schema.normal import NormalForm
from constrain.grammars.json_schema.sameness import Sameness

OBJECT: Any = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["a", 1, None]},
        "size": {"type": "integer", "minimum": 3},
        "items": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}}}},
    },
    "required": ["kind"],
    "patternProperties": {"^x-": {"oneOf": [{"type": "string"}, {"type": "object", "required": ["y"]}]}},
    "additionalProperties": {"not": {"type": "array", "contains": {"const": 1}}},
}


def are_same(first: Any, second: Any) -> bool:
    document = load({"$defs": {"a": first, "b": second}, "properties": {"a": first, "b": second}})
    members = document.subschemas[document.root].properties
    return Sameness(document.subschemas).same(members["a"], members["b"])


def test_a_copy_is_the_same() -> None:
    assert are_same(OBJECT, copy.deepcopy(OBJECT))


def test_what_says_nothing_does_not_matter() -> None:
    other = copy.deepcopy(OBJECT)
    other["title"] = other["properties"]["size"]["description"] = "x"
    assert are_same(OBJECT, other)


def changed(path: list[Any], value: Any) -> Any:
    out = copy.deepcopy(OBJECT)
    at = out
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return out


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["required"], []),
        (["minProperties"], 1),
        (["properties", "kind", "enum"], ["a", True, None]),
        (["properties", "size", "minimum"], 4),
        (["properties", "size", "type"], "number"),
        (["properties", "items", "items", "properties", "id"], {"type": "null"}),
        (["properties", "items", "items", "required"], ["id"]),
        (["properties", "more"], True),
        (["patternProperties"], {"^y-": OBJECT["patternProperties"]["^x-"]}),
        (["patternProperties", "^x-"], {"anyOf": OBJECT["patternProperties"]["^x-"]["oneOf"]}),
        (["patternProperties", "^x-", "oneOf", 1, "required"], ["z"]),
        (["additionalProperties", "not", "contains"], {"const": True}),
        (["additionalProperties"], False),
    ],
)
def test_a_difference_anywhere_tells_them_apart(path: list[Any], value: Any) -> None:
    assert not are_same(OBJECT, changed(path, value))


def test_recursive_subschemas_are_compared_to_an_end() -> None:
    def tree(name: str) -> Any:
        return {"type": "object", "properties": {"below": {"type": "array", "items": {"$ref": f"#/$defs/{name}"}}}}

    schema = {
        "$defs": {"a": tree("a"), "b": tree("b"), "c": tree("a")},
        "properties": {name: {"$ref": f"#/$defs/{name}"} for name in "abc"},
    }
    document = load(schema)
    members = document.subschemas[document.root].properties
    sameness = Sameness(document.subschemas)
    assert sameness.same(members["a"], members["c"])  # both lead to the first one
    assert sameness.same(members["a"], members["a"])
    assert not sameness.same(members["a"], members["b"])  # which is not plain


def test_of_two_copies_no_value_is_valid_under_just_one() -> None:
    with pytest.raises(constrain.UnsatisfiableSchemaError):
        constrain.json_schema({"oneOf": [OBJECT, copy.deepcopy(OBJECT)]})


def test_versions_of_an_object_are_told_apart_by_what_differs() -> None:
    # Each may fail in as many ways as it has members; all but one of them come to nothing.
    members = {f"m{i}": {"type": "object", "properties": {"x": {"type": "integer"}}} for i in range(20)}
    first, second = ({"properties": {**copy.deepcopy(members), "version": {"type": t}}} for t in ("string", "null"))
    document = load({"type": "object", "oneOf": [first, second]})
    forms = NormalForm(document)
    alternatives = forms.objects(forms.root)
    assert len(alternatives) == 2
    assert all({demand.name for demand in clause} <= {"version"} for a in alternatives for clause in a.clauses)  # type: ignore[union-attr]
