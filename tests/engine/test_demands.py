"""Demands on members: schemas whose branches say the opposite of each other, against a validator on all small objects.

Every object with some of five names and two values is tried, so that whatever a branch, its negation or a bound on the
number of members says is met and violated. Walks must end, and the distance must be that of the shortest object.
"""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import jsonschema_rs
import pytest

from constrain.grammars.errors import UnsatisfiableSchemaError
from tests.oracles import FULL, VOCABULARIES, Walker, accepts, compiled

NAMES = ("a", "b", "c", "ax", "")
VALUES = (1, "x")
OBJECTS = [
    dict(zip(names, values, strict=True))
    for size in range(len(NAMES) + 1)
    for names in itertools.combinations(NAMES, size)
    for values in itertools.product(VALUES, repeat=size)
]


def _value(rng: random.Random) -> Any:
    return rng.choice([{"type": "string"}, {"type": "integer"}, {"const": 1}, {"enum": ["x", 2]}, True, False, {}])


def _object(rng: random.Random) -> dict[str, Any]:
    """Keywords about members."""
    schema: dict[str, Any] = {}
    if rng.random() < 0.7:
        schema["properties"] = {n: _value(rng) for n in rng.sample(NAMES, rng.randint(1, 3))}
    if rng.random() < 0.5:
        schema["required"] = rng.sample(NAMES, rng.randint(1, 2))
    if rng.random() < 0.35:
        schema["additionalProperties"] = rng.choice([False, False, _value(rng)])
    if rng.random() < 0.15:
        schema["patternProperties"] = {rng.choice(["^a", "x$", "^b?$"]): _value(rng)}
    if rng.random() < 0.15:
        schema["propertyNames"] = rng.choice([{"maxLength": 1}, {"minLength": 1}, {"enum": ["a", "b"]}])
    if rng.random() < 0.25:
        schema["maxProperties"] = rng.randint(0, 3)
    if rng.random() < 0.2:
        schema["minProperties"] = rng.randint(1, 3)
    if rng.random() < 0.15:
        schema["dependentRequired"] = {rng.choice(NAMES): [rng.choice(NAMES)]}
    return schema


def _schema(rng: random.Random, depth: int = 2) -> dict[str, Any]:
    schema = _object(rng) if depth == 0 or rng.random() < 0.6 else {}
    if depth == 0:
        return schema
    kind = rng.random()
    if kind < 0.35:
        schema["oneOf"] = [_schema(rng, depth - 1) for _ in range(rng.randint(2, 4))]
    elif kind < 0.6:
        schema["not"] = _schema(rng, depth - 1)
    elif kind < 0.75:
        schema["anyOf"] = [_schema(rng, depth - 1) for _ in range(rng.randint(2, 3))]
    elif kind < 0.9:
        schema |= {"if": _schema(rng, depth - 1), "then": _schema(rng, 0), "else": _schema(rng, depth - 1)}
    else:
        schema["dependentSchemas"] = {rng.choice(NAMES): _schema(rng, depth - 1)}
    return schema


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def check(schema: dict[str, Any], rng: random.Random, walks: int = 4) -> None:
    """Accepted are the valid objects in any order of their members, and no walk among them is lost."""
    valid = jsonschema_rs.Draft202012Validator(schema).is_valid
    try:
        grammar = compiled(schema)
    except UnsatisfiableSchemaError:
        assert not any(map(valid, OBJECTS)), schema
        return
    shortest = None
    for value in OBJECTS:
        items = list(value.items())
        rng.shuffle(items)
        text = _text(dict(items))
        assert accepts(grammar, text) == valid(value), (schema, text)
        if valid(value):
            shortest = min(len(text), shortest or len(text))
    matcher = grammar.matcher()
    at_end = compiled({"type": "null"}).matcher()
    assert at_end.accept_bytes(b"null")
    distance = matcher.min_tokens_to_end - at_end.min_tokens_to_end
    if shortest is not None:
        assert distance <= shortest, (schema, distance, shortest)
    walker = Walker(VOCABULARIES["bytes"](), rng)
    for _ in range(walks):
        for state in walker.positions(grammar, 2):
            left = state.min_tokens_to_end
            assert len(walker.finish(state.fork())) <= left, schema


@pytest.mark.parametrize("seed", range(2_000 if FULL else 100))
def test_random_schemas_agree_on_all_small_objects(seed: int) -> None:
    rng = random.Random(seed)
    check({"type": "object"} | _schema(rng), rng)
