"""A schema in Python may hold the same object in several places; it means what its JSON text means."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import constrain
from tests.engine.test_random_schemas import matching, near_misses
from tests.oracles import FULL, accepts, attempt, validators

SETTINGS = settings(
    max_examples=600 if FULL else 60, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)

_PARTS: list[Any] = [
    {"enum": [None, True]},
    {"enum": ["a", 1, None, True, {"a": 1}, [1]]},
    {"const": "a"},
    {"type": "string"},
    {"type": ["string", "null"], "minLength": 1},
    {"minimum": 1},
    {"pattern": "^a"},
    {"required": ["a"]},
    {"type": "object", "properties": {"a": {"const": "a"}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"enum": ["b", "c"]}}, "required": ["a"]},
    {"properties": {"b": {"type": "null"}}},
    {"items": {"type": "null"}},
    True,
    False,
]


@st.composite
def _sharing(draw: st.DrawFn) -> Any:
    """A schema put together from few objects, most of which it holds several times."""
    pool = draw(st.lists(st.sampled_from(_PARTS), min_size=1, max_size=3))
    for _ in range(draw(st.integers(1, 4))):
        parts = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=4))
        keyword = draw(st.sampled_from(["oneOf", "oneOf", "oneOf", "anyOf", "allOf", "not", "if", "properties"]))
        if keyword == "not":
            made: Any = {"not": parts[0]}
        elif keyword == "if":
            made = {"if": parts[0], "then": parts[-1], "else": parts[len(parts) // 2]}
        elif keyword == "properties":
            made = {"type": "object", "properties": dict(zip("abc", parts, strict=False))}
        else:
            made = {keyword: parts}
        pool.append(made)
    return pool[-1]


@SETTINGS
@given(schema=_sharing(), seed=st.integers(0, 2**20))
def test_shared_objects_mean_what_their_text_means(schema: Any, seed: int) -> None:
    rng = random.Random(seed)
    parts = [schema, *_PARTS]
    made_up = [matching(part, rng) for part in (*parts, schema)]
    instances = [None, True, "a", *made_up, *(v for value in made_up for v in near_misses(value, rng))]
    _, is_valid = validators(schema)
    wanted = [bool(is_valid(value)) for value in instances]
    for form in (schema, json.dumps(schema)):
        made = attempt(form)
        assume(not isinstance(made.error, constrain.ResourceLimitError))  # many branches that mean the same multiply
        verdicts = made.error is None and [accepts(made.compiled, json.dumps(value)) for value in instances]
        assert (verdicts or [False] * len(instances)) == wanted, made.error


@pytest.mark.parametrize("part", [{"enum": [None, True]}, {"enum": [{"a": 1}, [1], "a"]}, {"type": "string"}])
def test_a_branch_that_stands_twice_in_one_of_never_holds_alone(part: Any) -> None:
    grammar = attempt({"oneOf": [part, part, {"type": "integer"}]}).compiled
    values = [None, True, "a", [1], {"a": 1}, 1]
    assert [value for value in values if accepts(grammar, json.dumps(value))] == [1]
    inner = attempt({"properties": {"a": {"oneOf": [part, part]}}}).compiled
    assert not any(accepts(inner, json.dumps({"a": value})) for value in values)
