"""Bounds on normal forms: what they call fair is brought to normal form, all of it, and is as small as they say."""

from __future__ import annotations

import random
from typing import Any

import pytest

import constrain
from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.expansion import MAX_ALTERNATIVES
from constrain.grammars.json_schema.load import load
from constrain.grammars.json_schema.members import Members
from constrain.grammars.json_schema.normal import NormalForm, Variable
from constrain.grammars.json_schema.outlook import Outlook

SCALARS: list[Any] = [
    {"type": "string"},
    {"type": "integer", "minimum": 3},
    {"const": "a"},
    {"enum": ["b", 2, None]},
    {"type": ["string", "null"], "maxLength": 4},
    {"pattern": "^x"},
    True,
    {"$ref": "#/$defs/other"},
    {"$ref": "#/$defs/self"},
]


def schema_of(source: random.Random, depth: int) -> Any:
    if depth == 0 or source.random() < 0.2:
        return source.choice(SCALARS)

    def some(low: int = 1, high: int = 3) -> list[Any]:
        return [schema_of(source, depth - 1) for _ in range(source.randint(low, high))]

    kind = source.randrange(9)
    if kind <= 3:
        names = source.sample("abcd", source.randint(1, 3))
        members = {name: schema_of(source, depth - 1) for name in names}
        out = {"type": "object", "properties": members, "required": source.sample(names, source.randrange(len(names)))}
        if source.random() < 0.3:
            out["additionalProperties"] = schema_of(source, depth - 1)
        if source.random() < 0.2:
            out["patternProperties"] = {source.choice(("^c", "d$")): schema_of(source, depth - 1)}
        return out
    if kind == 4:
        return {"type": "array", "items": schema_of(source, depth - 1), "minItems": source.randrange(2)}
    keyword = ("anyOf", "oneOf", "allOf", "oneOf")[kind - 5]
    return {keyword: some()} if source.random() < 0.8 else {"not": schema_of(source, depth - 1)}


def parts(forms: NormalForm, variable: Variable) -> set[Variable]:
    """What members and items are made of, the variable brought to normal form for every type."""
    forms.strings(variable)
    forms.atoms(variable)
    out: set[Variable] = set()
    for kind in (ir.NULL, ir.NUMBER, ir.STRING, ir.ARRAY, ir.OBJECT):
        assert len(forms._conjunctions(variable, kind)) <= MAX_ALTERNATIVES
    for array in forms.arrays(variable):
        out.update((*array.prefix, *(() if array.items is None else (array.items,))))
    objects = forms.objects(variable)
    members = Members(forms, objects)
    for alternative in objects:
        out.update(part for n in members.names if (part := forms.member(alternative, n)) is not None)
        out.update(part for c in members.free if (part := members.free_value(alternative, c.members)) is not None)
    return out


@pytest.mark.parametrize("seed", range(60))
def test_what_is_called_fair_has_few_alternatives_all_the_way_down(seed: int) -> None:
    source = random.Random(seed)
    definitions = {"other": schema_of(source, 2), "self": schema_of(source, 2)}
    try:
        document = load({"$defs": definitions, "allOf": [schema_of(source, 3)]})
    except constrain.ConstrainError:
        return  # a circle of references
    forms = NormalForm(document)
    everything = range(len(document.subschemas))
    outlook = Outlook(forms, document, everything, everything)
    for index in everything:
        variable = forms.variable((index,))
        if not outlook.is_fair(variable):
            continue
        todo, seen = [variable], {variable}
        while todo and len(seen) < 200:
            for part in parts(forms, todo.pop()) - seen:
                seen.add(part)
                todo.append(part)


def choices(count: int) -> list[Any]:
    """Conditions on different members, each of which may hold or not."""
    return [
        {"if": {"properties": {f"t{i}": {"const": i}}, "required": [f"t{i}"]}, "then": {"minProperties": i + 2}}
        for i in range(count)
    ]


@pytest.mark.parametrize("depth", [0, 1, 4])
def test_choices_that_come_to_too_much_are_refused_wherever_they_are(depth: int) -> None:
    schema: Any = {"type": "object", "allOf": choices(16)}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"below": schema}}
    with pytest.raises(constrain.ResourceLimitError) as caught:
        constrain.json_schema(schema)
    assert caught.value.pointer.startswith("/properties/below" * depth)


def test_choices_that_come_together_in_a_member_are_refused() -> None:
    # Neither of the two is too much by itself.
    first, second = choices(14)[:7], choices(14)[7:]
    parts_of_it = [{"properties": {"m": {"type": "object", "allOf": conditions}}} for conditions in (first, second)]
    for part in parts_of_it:
        constrain.json_schema({"type": "object", **part})
    with pytest.raises(constrain.ResourceLimitError):
        constrain.json_schema({"type": "object", "allOf": parts_of_it})


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf", "then", "else", "dependentSchemas", "$ref"])
def test_whatever_joins_two_of_them_in_a_member_is_looked_at(keyword: str) -> None:
    first, second = choices(14)[:7], choices(14)[7:]
    other: Any = {"properties": {"m": {"type": "object", "allOf": second}}}
    join: Any = {
        "oneOf": {"oneOf": [{"required": ["k"], **other}, {"properties": {"k": False}}]},
        "anyOf": {"anyOf": [other, {"required": ["k"]}]},
        "then": {"if": {"required": ["k"]}, "then": other},
        "else": {"if": {"required": ["k"]}, "else": other},
        "dependentSchemas": {"dependentSchemas": {"k": other}},
        "$ref": {"$ref": "#/$defs/other"},
    }[keyword]
    own: Any = {"type": "object", "properties": {"m": {"type": "object", "allOf": first}}}
    constrain.json_schema({"properties": {"below": own}})
    with pytest.raises(constrain.ResourceLimitError):
        constrain.json_schema({"$defs": {"other": other}, "properties": {"below": {**own, **join}}})


def test_few_alternatives_are_as_few_as_that() -> None:
    document = load({"properties": {f"p{n}": {"type": "object", "allOf": choices(n)} for n in (2, 9, 12, 13)}})
    forms = NormalForm(document)
    everything = range(len(document.subschemas))
    outlook = Outlook(forms, document, everything, everything)
    for name, index in document.subschemas[document.root].properties.items():
        variable = forms.variable((index,))
        assert outlook.has_few(variable) == (name != "p13")
        if name != "p13":
            assert len(forms.objects(variable)) <= MAX_ALTERNATIVES


def test_first_alternatives_are_some_of_all() -> None:
    document = load({"type": "object", "allOf": choices(8), "oneOf": [{"required": ["a"]}, {"required": ["b"]}]})
    forms = NormalForm(document)
    assert not [*forms.first_objects(forms.root)]  # it is not known that there are few
    forms.has_few = lambda _: True
    first = [*forms.first_objects(forms.root)]
    assert 0 < len(first) < len(forms.objects(forms.root))
    assert all(alternative in forms.objects(forms.root) for alternative in first)
    assert not [*forms.first_objects(forms.root)]  # all are at hand
