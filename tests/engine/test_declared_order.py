"""`property_order="declared"`: of the orders of a valid object's members just the declared ones are accepted.

The order is read from the schema by an oracle of its own, validity is a validator's, and every object with some of five
names and two values is tried in all orders.
"""

from __future__ import annotations

import itertools
import json
import pickle
import random
from typing import Any

import jsonschema_rs
import pytest

import constrain
from constrain.grammars.errors import ResourceLimitError, UnsatisfiableSchemaError
from tests.engine.declared_order import declared, in_order
from tests.engine.test_demands import OBJECTS, _schema, _text, _with_unevaluated
from tests.oracles import FULL, VOCABULARIES, Walker, accepts, compiled, vocabulary


def ordered(schema: Any, name: str = "bytes", **options: Any) -> Any:
    return constrain.json_schema(schema, property_order="declared", **options).compile(vocabulary(name))


def orders(value: dict[str, Any], rng: random.Random, most: int = 24) -> list[dict[str, Any]]:
    """The value with its members in different orders: all where they are few."""
    found = list(itertools.permutations(value.items()))
    return [dict(items) for items in (found if len(found) <= most else rng.sample(found, most))]


def check(schema: dict[str, Any], rng: random.Random, walks: int = 3) -> None:
    """Of the valid objects, and of no others, just the spellings in declared order are accepted; no walk is lost."""
    valid = jsonschema_rs.Draft202012Validator(schema).is_valid
    order = declared(schema)
    try:
        grammar = ordered(schema)
    except UnsatisfiableSchemaError:
        assert not any(map(valid, OBJECTS)), schema
        return
    shortest = None
    for value in OBJECTS:
        right = valid(value)
        first = dict(sorted(value.items(), key=lambda m: order.index(m[0]) if m[0] in order else len(order)))
        assert accepts(grammar, _text(first)) == right, (schema, first)
        for other in orders(value, rng, 6):
            expected = right and in_order(list(other), order)
            assert accepts(grammar, _text(other)) == expected, (schema, order, other)
        if right:
            shortest = min(len(_text(value)), shortest or len(_text(value)))
    matcher = grammar.matcher()
    at_end = ordered({"type": "null"}).matcher()
    assert at_end.accept_bytes(b"null")
    distance = matcher.min_tokens_to_end - at_end.min_tokens_to_end
    if shortest is not None:  # it takes no longer than in any order, where names of a class may be counted generously
        in_any_order = compiled(schema).matcher().min_tokens_to_end - at_end.min_tokens_to_end
        assert distance <= max(shortest, in_any_order), (schema, distance, shortest)
    walker = Walker(VOCABULARIES["bytes"](), rng)
    for _ in range(walks):
        for state in walker.positions(grammar, 2):
            left = state.min_tokens_to_end
            assert len(walker.finish(state.fork())) <= left, schema


KIND_A = {"properties": {"kind": {"const": "a"}, "x": {"type": "integer"}, "y": {}}, "required": ["kind", "x"]}
KIND_B = {
    "properties": {"y": {"type": "string"}, "x": {"type": "string"}, "kind": {"const": "b"}},
    "required": ["kind"],
}
DEFS = {"base": {"properties": {"id": {"type": "integer"}, "name": {}}, "required": ["id"]}}
ORDERED: dict[str, tuple[Any, list[str]]] = {
    "as written": ({"properties": {"x": {}, "id": {}, "name": {}}, "required": ["id"]}, ["x", "id", "name"]),
    "a reference before and after": (
        {"$defs": DEFS, "properties": {"x": {}}, "allOf": [{"$ref": "#/$defs/base"}, {"properties": {"y": {}}}]},
        ["x", "id", "name", "y"],
    ),
    "a reference first": ({"$defs": DEFS, "$ref": "#/$defs/base", "properties": {"x": {}}}, ["id", "name", "x"]),
    "branches that disagree": ({"oneOf": [KIND_A, KIND_B]}, ["kind", "x", "y"]),
    "branches that disagree, the other way": ({"anyOf": [KIND_B, KIND_A]}, ["y", "x", "kind"]),
    "conditions last": (
        {"if": {"properties": {"kind": {"const": 1}}}, "then": {"required": ["id"]}, "properties": {"id": {}, "x": {}}},
        ["id", "x", "kind"],
    ),
    "a name that only a negation has": (
        {"not": {"required": ["id"], "properties": {"id": {}}}, "minProperties": 1},
        ["id"],
    ),
    "an object given as a whole": ({"const": {"y": 1, "id": 2, "name": 3}}, ["y", "id", "name"]),
    "at least two of three": (
        {"properties": {"id": {}, "x": {}, "y": {}}, "additionalProperties": False, "minProperties": 2},
        ["id", "x", "y"],
    ),
    "exactly two of three": (
        {
            "properties": {"y": {}, "x": {}, "id": {}},
            "additionalProperties": False,
            "required": ["x"],
            "minProperties": 2,
            "maxProperties": 2,
        },
        ["y", "x", "id"],
    ),
    "one needs another": (
        {"properties": {"x": {}, "id": {}, "y": {}}, "dependentRequired": {"id": ["x"], "x": ["y"]}},
        ["x", "id", "y"],
    ),
    "required without a declaration": ({"properties": {"x": {}}, "required": ["name", "id"]}, ["x"]),
}
MEMBERS = ("kind", "id", "name", "x", "y", "other")


@pytest.mark.parametrize("name", ORDERED)
def test_just_the_declared_order_is_accepted(name: str) -> None:
    schema, order = ORDERED[name]
    schema = {"type": "object", **schema}
    grammar = ordered(schema)
    assert declared(schema) == order  # so much for the oracle
    valid = jsonschema_rs.Draft202012Validator(schema).is_valid
    seen = 0
    for size in range(5):
        for names in itertools.permutations(MEMBERS, size):
            for values in itertools.product(*(VALUES_OF.get(n, (1,)) for n in names)):
                value = dict(zip(names, values, strict=True))
                expected = valid(value) and in_order(list(names), order)
                seen += expected
                assert accepts(grammar, _text(value)) == expected, value
    assert seen


VALUES_OF: dict[str, tuple[Any, ...]] = {
    "kind": ("a", "b", 1),
    "x": (1, "1"),
    "y": (1, "1"),
    "id": (1, 2),
    "name": (1, 3),
}


def test_objects_within_keep_their_own_order() -> None:
    schema = {
        "type": "array",
        "items": {
            "properties": {
                "b": {"properties": {"z": {}, "a": {"enum": [{"q": 1, "p": 2}, 5]}}},
                "a": {"items": {"$ref": "#/items/properties/b"}},
            }
        },
    }
    grammar = ordered(schema)
    assert accepts(grammar, '[{"b":{"z":1,"a":{"q":1,"p":2}},"a":[{"z":2,"a":5,"other":1}]}]')
    for text in (
        '[{"a":[],"b":{}}]',
        '[{"b":{"a":5,"z":1}}]',
        '[{"b":{"a":{"p":2,"q":1}}}]',
        '[{"b":{},"a":[{"a":5,"z":2}]}]',
        '[{"b":{"other":1,"z":1}}]',
    ):
        assert accepts(compiled(schema), text)
        assert not accepts(grammar, text)


def test_more_names_than_a_word_has_bits() -> None:
    names = [f"n{i * 37 % 101}" for i in range(101)]
    schema = {
        "type": "object",
        "properties": {n: {"type": "integer"} for n in names},
        "required": [names[50], names[90]],
    }
    grammar = ordered(schema)
    rng = random.Random(1)
    for _ in range(40):
        chosen = [n for n in names if n in (names[50], names[90]) or rng.random() < 0.2]
        text = json.dumps(dict.fromkeys([*chosen, "other"], 1))
        assert accepts(grammar, text)
        a, b = sorted(rng.sample(range(len(chosen)), 2))
        chosen[a], chosen[b] = chosen[b], chosen[a]
        assert not accepts(grammar, json.dumps(dict.fromkeys(chosen, 1)))
        assert not accepts(grammar, json.dumps(dict.fromkeys(["other", *sorted(chosen, key=names.index)], 1)))
    matcher = grammar.matcher()
    shortest = json.dumps(dict.fromkeys([names[50], names[90]], 1), separators=(",", ":"))
    assert matcher.min_tokens_to_end == len(shortest)


def test_it_is_listed_and_part_of_what_a_grammar_is() -> None:
    schema = {"properties": {"b": {}, "a": {}}}
    free, strict = constrain.json_schema(schema), constrain.json_schema(schema, property_order="declared")
    assert free != strict
    assert pickle.loads(pickle.dumps(strict)) == strict
    assert any("order" in n.reason for n in strict.narrowings)
    assert not any("order" in n.reason for n in free.narrowings)
    with pytest.raises(ValueError, match='property_order must be "any" or "declared"'):
        constrain.json_schema(schema, property_order="sorted")  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(2_000 if FULL else 40))
def test_random_schemas_agree_on_all_small_objects(seed: int) -> None:
    rng = random.Random(seed)
    check({"type": "object"} | _schema(rng), rng)


@pytest.mark.parametrize("seed", range(1_000 if FULL else 16))
def test_random_schemas_with_unevaluated_members(seed: int) -> None:
    rng = random.Random(seed)
    try:
        check(_with_unevaluated({"type": "object"} | _schema(rng), rng), rng, 1)
    except ResourceLimitError:
        pytest.skip("combines to too many alternatives")
