"""Equal groups of choices are worked out once, and each place is still named by its own pointer."""

from __future__ import annotations

from typing import Any

import pytest

import constrain
from constrain.grammars.json_schema.load import load
from constrain.grammars.json_schema.normal import NormalForm

DEFS = {
    "a": {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}},
    "b": {"type": "object", "required": ["b"], "properties": {"b": {"$ref": "#/$defs/a"}}},
}
A, B = {"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}


def forms_of(*schemas: Any) -> tuple[NormalForm, list[frozenset[int]]]:
    document = load({"$defs": DEFS, "properties": {str(k): s for k, s in enumerate(schemas)}})
    forms = NormalForm(document)
    properties = document.subschemas[document.root].properties
    return forms, [forms.variable((properties[str(k)],)) for k in range(len(schemas))]


def are_worked_out_once(first: Any, second: Any) -> bool:
    forms, (one, other) = forms_of(first, second)
    assert one != other
    found = forms.objects(one) is forms.objects(other)
    if found:  # and what is said is the same
        alone, (variable,) = forms_of(second)
        assert len(alone.objects(variable)) == len(forms.objects(other))
        assert alone.types(variable) == forms.types(other)
    return found


def test_equal_groups_are_worked_out_once() -> None:
    one_of = {"oneOf": [A, B]}
    assert are_worked_out_once(one_of, {"oneOf": [A, B], "description": "elsewhere"})
    assert are_worked_out_once({"anyOf": [A, B, {"type": "null"}]}, {"anyOf": [A, B, {"type": "null"}]})


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"oneOf": [A, B]}, {"anyOf": [A, B]}),
        ({"oneOf": [A, B]}, {"oneOf": [A, B], "required": ["c"]}),
        ({"oneOf": [A, B]}, {"oneOf": [A]}),
        ({"anyOf": [A, B]}, {"anyOf": [A, {"required": ["a"]}]}),
        ({"anyOf": [A, B]}, {"anyOf": [A, B], "type": ["array", "string"]}),
        ({"anyOf": [A, B]}, {"anyOf": [A, B], "unevaluatedProperties": False}),
    ],
)
def test_other_groups_are_not(first: Any, second: Any) -> None:
    assert not are_worked_out_once(first, second)


def test_what_does_not_hold_is_apart_from_what_does() -> None:
    forms, (holding, failing) = forms_of({"oneOf": [A, B]}, {"not": {"oneOf": [A, B]}})
    assert forms.objects(holding) != forms.objects(failing)


def test_a_place_without_a_value_is_named_by_its_own_pointer() -> None:
    empty = {
        "oneOf": [
            {"type": "string", "minLength": 2, "maxLength": 1},
            {"type": "object", "required": ["a"], "maxProperties": 0},
        ]
    }
    with pytest.raises(constrain.UnsatisfiableSchemaError) as error:
        constrain.json_schema({"properties": {"a": {**empty}, "b": {**empty}}, "required": ["b"], "type": "object"})
    assert error.value.pointer == "/properties/b"
