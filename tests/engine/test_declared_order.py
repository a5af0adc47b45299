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
import numpy as np
import pytest
from hypothesis import settings

import constrain
from constrain.grammars.errors import ResourceLimitError, UnsatisfiableSchemaError
from tests.engine.declared_order import declared, in_order
from tests.engine.schemas import CASES
from tests.engine.test_demands import OBJECTS, _schema, _text, _with_unevaluated
from tests.engine.test_state_machine import MatcherMachine
from tests.oracles import FULL, VOCABULARIES, Walker, accepts, allowed, brute_force, vocabulary


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
    if shortest is not None:
        assert distance <= shortest, (schema, distance, shortest)
    walker = Walker(VOCABULARIES["bytes"](), rng)
    for _ in range(walks):
        for state in walker.positions(grammar, 2):
            left = state.min_tokens_to_end
            assert len(walker.finish(state.fork())) <= left, schema


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
