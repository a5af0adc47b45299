"""`min_tokens_to_end`: how many tokens end the text from here at the latest, if each is a single byte.

Assumed: 0 or 1 at a complete text (the second counts the end token); the same amount is included everywhere; each
position that is not complete has some byte that lowers it; and the amount is never less than the fewest bytes. On small
schemas it is compared with a breadth-first search.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.engine.schemas import CASES
from tests.oracles import FULL, VOCABULARIES, Walker, compiled

EXACT: dict[str, tuple[Any, int]] = {
    "null": ({"type": "null"}, 4),
    "boolean": ({"type": "boolean"}, 4),
    "string": ({"type": "string"}, 2),
    "three characters": ({"type": "string", "minLength": 3}, 5),
    "pattern": ({"type": "string", "pattern": "^(abc|de)f$"}, 5),
    "pattern and length": ({"type": "string", "pattern": "^(ab)*$", "minLength": 3}, 6),
    "integer": ({"type": "integer"}, 1),
    "integer bounds": ({"type": "integer", "minimum": 250, "maximum": 900}, 3),
    "negative": ({"type": "integer", "maximum": -10}, 3),
    "enum": ({"enum": ["abcd", "xyz", 1234567]}, 5),
    "object": ({"type": "object"}, 2),
    "required": ({"type": "object", "properties": {"ab": {"type": "integer"}}, "required": ["ab"]}, 8),
    "any required": ({"type": "object", "required": ["ab", "c"]}, 14),
    "members": ({"type": "object", "minProperties": 1}, 6),
    "two members": ({"type": "object", "minProperties": 2}, 12),
    "array": ({"type": "array", "items": {"type": "null"}, "minItems": 2}, 11),
    "many items": ({"type": "array", "items": {"type": "integer"}, "minItems": 1000}, 2001),
    "tuple": ({"type": "array", "prefixItems": [{"type": "null"}, {"type": "string"}], "minItems": 3}, 11),
    "anyOf": ({"anyOf": [{"type": "null"}, {"type": "array", "minItems": 1, "items": {"type": "integer"}}]}, 3),
    "recursion": (CASES["recursive list"].schema, len('{"head":true,"tail":null}')),
    "const": ({"const": {"a": [1, "é"]}}, len('{"a":[1,"é"]}'.encode())),
}


@pytest.mark.parametrize("name", EXACT)
def test_distance_from_the_start(name: str) -> None:
    """The shortest valid text, known by hand; an upper bound may not be looser than the end token."""
    schema, shortest = EXACT[name]
    matcher = compiled(schema).matcher()
    distance = matcher.min_tokens_to_end
    assert shortest <= distance <= shortest + 1
    rest = Walker(VOCABULARIES["bytes"](), random.Random(0)).finish(matcher)
    assert len(rest) == shortest
    assert matcher.min_tokens_to_end == distance - shortest


def test_distance_is_zero_or_one_at_the_end_and_always_the_same() -> None:
    seen = set()
    for name in CASES:
        matcher = compiled(CASES[name].schema).matcher()
        Walker(VOCABULARIES["bytes"](), random.Random(0)).finish(matcher)
        seen.add(matcher.min_tokens_to_end)
    assert seen in ({0}, {1})


@pytest.mark.parametrize("name", list(CASES) if FULL else list(CASES)[1::2])
def test_distance_can_be_walked_down_from_anywhere(name: str) -> None:
    walker = Walker(VOCABULARIES["bytes"](), random.Random(8))
    for matcher in walker.positions(compiled(CASES[name].schema), 30 if FULL else 6):
        distance = matcher.min_tokens_to_end
        assert distance >= 0
        assert len(walker.finish(matcher)) <= distance


def _fewest_bytes(matcher: Any, limit: int) -> int | None:
    """The fewest bytes to a complete text, by breadth-first search over all 256 bytes; None beyond `limit`."""
    if matcher.is_accepting:
        return 0
    level = [matcher]
    for depth in range(1, limit + 1):
        following = []
        for state in level:
            probe = state.fork()
            for byte in range(256):
                if probe.accept_bytes(bytes([byte])):
                    if probe.is_accepting:
                        return depth
                    following.append(probe)
                    probe = state.fork()
        level = following[:3000]
        if len(following) > 3000:
            return None
    return None


@pytest.mark.parametrize(
    "name", ["integer bounds", "closed tuple", "enum of strings", "property counts", "recursive list"]
)
def test_distance_is_never_below_a_breadth_first_search(name: str) -> None:
    walker = Walker(VOCABULARIES["bytes"](), random.Random(9))
    at_end = compiled({"type": "null"}).matcher()
    assert at_end.accept_bytes(b"null")
    for matcher in walker.positions(compiled(CASES[name].schema), 20):
        fewest = _fewest_bytes(matcher, 3)
        if fewest is not None:
            assert matcher.min_tokens_to_end - at_end.min_tokens_to_end >= fewest
