"""The law of token budgets: with `tokens_to_end` tokens or more at the start, the text is complete in time, whatever is
chosen among the tokens that the masks leave; and a mask that needs no restriction has none.

Adversaries choose: at random, the token that leads farthest from the end, the one that opens most. Where small schemas
allow a breadth-first search over all texts, a restricted mask is compared with it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import constrain
from tests.engine.schemas import CASES
from tests.engine.test_random_schemas import SETTINGS, schemas
from tests.oracles import FULL, VOCABULARIES, Tokens, attempt, compiled, has_narrowable_number, verdict, vocabulary

Adversary = Callable[[Any, list[int], Tokens, random.Random], int]


def _any(_matcher: Any, ids: list[int], _tokens: Tokens, rng: random.Random) -> int:
    return rng.choice(ids)


def _opening(_matcher: Any, ids: list[int], tokens: Tokens, rng: random.Random) -> int:
    """What opens most or goes on longest: brackets, commas, quotes; whatever ends something comes last."""

    def rank(token: int) -> tuple[int, float]:
        text = tokens.bytes_of[token] or b""
        return sum(text.count(c) for c in b"{[,") - sum(text.count(c) for c in b"}]"), rng.random()

    return max(ids, key=rank)


def _farthest(matcher: Any, ids: list[int], _tokens: Tokens, rng: random.Random) -> int:
    """The token, of some, after which most bytes are needed."""
    far, chosen = -1, ids[0]
    for token in rng.sample(ids, min(len(ids), 12)):
        probe = matcher.fork()
        assert probe.accept_token(token)
        if probe.min_tokens_to_end > far:
            far, chosen = probe.min_tokens_to_end, token
    return chosen


ADVERSARIES: dict[str, Adversary] = {"any": _any, "opening": _opening, "farthest": _farthest}


def masked(matcher: Any, left: int | None, size: int) -> list[int]:
    """The ids that a mask allows."""
    row = np.full(-(-size // 32), 0x5A5A5A5A, dtype=np.int32)
    matcher.fill_next_token_bitmask(row, max_tokens=left)
    bits = np.unpackbits(row.view(np.uint8), bitorder="little")
    assert not bits[size:].any()
    return np.flatnonzero(bits).tolist()  # type: ignore[no-any-return]


def spend(compiled_grammar: Any, tokens: Tokens, more: int, adversary: Adversary, rng: random.Random) -> bytes:
    """Generate against an adversary that ends the text only when nothing else is allowed; fails where it is not
    complete in time."""
    matcher = compiled_grammar.matcher()
    needed = matcher.tokens_to_end
    assert needed is not None
    assert needed <= matcher.min_tokens_to_end
    left = needed + more
    text = b""
    while True:
        ids = masked(matcher, left, len(tokens.bytes_of))
        assert set(ids) <= set(masked(matcher, None, len(tokens.bytes_of)))
        assert matcher.is_accepting == bool(set(tokens.eos) & set(ids)), "the end is allowed where the text is complete"
        ids = [i for i in ids if i not in tokens.eos]
        if not ids:
            assert matcher.is_accepting, f"nothing is allowed after {text!r} with {left} tokens left"
            return text
        assert left > 0
        token = adversary(matcher, ids, tokens, rng)
        assert matcher.accept_token(token)
        text += tokens.bytes_of[token] or b""
        left -= 1


def check_valid(schema: Any, text: bytes) -> None:
    """The text is no value that the validators refuse; they read long numbers inexactly."""
    assert has_narrowable_number(text.decode()) or verdict(schema, json.loads(text)) is not False, text


CHOSEN = sorted(CASES) if FULL else sorted(CASES)[::6]


@pytest.mark.parametrize("name", CHOSEN)
def test_the_text_is_complete_in_time(name: str) -> None:
    rng = random.Random(name)
    for vocabulary_name in ("bytes", "mixed"):
        tokens = VOCABULARIES[vocabulary_name]()
        grammar = compiled(CASES[name].schema, vocabulary_name)
        for adversary in ADVERSARIES.values():
            for more in (0, 1, rng.randint(2, 9), 25) if FULL else (rng.randint(0, 6),):
                text = spend(grammar, tokens, more, adversary, rng)
                check_valid(CASES[name].schema, text)


@settings(SETTINGS, max_examples=2000 if FULL else 60)
@given(schemas)
def test_the_text_is_complete_in_time_for_random_schemas(schema: Any) -> None:
    rng = random.Random(json.dumps(schema, sort_keys=True))
    found = attempt(schema, "mixed")
    if found.error is None:
        adversary = rng.choice(list(ADVERSARIES.values()))
        text = spend(found.compiled, VOCABULARIES["mixed"](), rng.choice([0, 0, 1, 3, 8, 20]), adversary, rng)
        check_valid(schema, text)


HARD: dict[str, Any] = {
    "an optional member that needs much": {
        "properties": {"big": {"type": "array", "minItems": 25, "items": {"type": "integer"}}},
        "additionalProperties": False,
    },
    "a branch that needs much": {
        "anyOf": [{"type": "null"}, {"type": "string", "minLength": 60}, {"type": "array", "minItems": 30}]
    },
    "many names": {"type": "object", "minProperties": 4, "maxProperties": 5},
    "classes of names": {
        "patternProperties": {"^x-(a|b{30})$": {"type": "boolean"}},
        "additionalProperties": False,
        "minProperties": 2,
    },
    "recursion": {
        "$defs": {
            "t": {
                "properties": {
                    "left": {"$ref": "#/$defs/t"},
                    "right": {"$ref": "#/$defs/t"},
                    "label": {"const": "tree"},
                },
                "required": ["label"],
                "additionalProperties": False,
            }
        },
        "$ref": "#/$defs/t",
    },
    "items that differ": {"type": "array", "minItems": 3, "uniqueItems": True, "items": {"enum": [1, 22, 333, "four"]}},
    "objects that differ": {
        "type": "array",
        "minItems": 2,
        "uniqueItems": True,
        "items": {
            "type": "object",
            "properties": {"a": {"enum": [1, 2]}},
            "required": ["a"],
            "additionalProperties": False,
        },
    },
    "text beyond ASCII": {"enum": ["éééé", "😀😀"]},
    "anything": True,
}


@pytest.mark.parametrize("name", HARD)
def test_hard_schemas_are_complete_in_time(name: str) -> None:
    rng = random.Random(name)
    for vocabulary_name in ("bytes", "mixed", "smollm2"):
        tokens = VOCABULARIES[vocabulary_name]()
        grammar = compiled(HARD[name], vocabulary_name)
        chosen = [*ADVERSARIES.values()]
        for adversary in chosen if FULL or vocabulary_name != "smollm2" else rng.sample(chosen, 1):
            for more in (0, 1, 2, 5, 9, 30, 70) if FULL else (rng.choice([0, 1, 4, 9, 30]),):
                text = spend(grammar, tokens, more, adversary, rng)
                check_valid(HARD[name], text)


def test_a_real_vocabulary_is_complete_in_time() -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "note": {}},
        "required": ["city", "days"],
    }
    tokens, rng = VOCABULARIES["tekken"](), random.Random(3)
    grammar = compiled(schema, "tekken")
    for adversary in ADVERSARIES.values():
        for more in (0, 3, 12) if FULL else (3,):
            assert verdict(schema, json.loads(spend(grammar, tokens, more, adversary, rng)))


NEEDED = [
    ({"type": "null"}, "mixed", 1),  # null
    ({"enum": ["celsius"]}, "mixed", 3),  # " celsius "
    ({"enum": [1, 10, 100]}, "mixed", 1),
    ({"enum": [10, 100]}, "mixed", 1),
    ({"type": "array", "minItems": 1, "items": {"type": "array", "maxItems": 0}}, "mixed", 2),  # [[ ]]
    ({"type": "array"}, "bytes", 2),
]


@pytest.mark.parametrize(("schema", "vocabulary_name", "tokens"), NEEDED)
def test_tokens_to_end_by_hand(schema: Any, vocabulary_name: str, tokens: int) -> None:
    assert compiled(schema, vocabulary_name).matcher().tokens_to_end == tokens


def _fewest(matcher: Any, tokens: Tokens, limit: int) -> int:
    """The fewest tokens to a complete text, by breadth-first search over the vocabulary; at most `limit` + 1."""
    level = [matcher]
    for depth in range(limit + 1):
        if any(state.is_accepting for state in level):
            return depth
        following: dict[bytes, Any] = {}
        for state in level:
            for token in masked(state, None, len(tokens.bytes_of)):
                after = state.fork()
                if token not in tokens.eos and after.accept_token(token):
                    following[repr(after._position()).encode()] = after
        level = list(following.values())
    return limit + 1


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"enum": [0, 1]}, "minItems": 1, "maxItems": 3},
        {"type": "integer", "minimum": 0, "maximum": 500},
        {"enum": ["a", "abc", "abcdef", 7]},
        {"type": "object", "properties": {"a": {"type": "null"}, "bb": {"const": 1}}, "additionalProperties": False},
    ],
)
def test_what_is_taken_out_is_out_of_reach(schema: Any) -> None:
    """With single bytes as tokens a short completion in bytes is one in tokens, so masks must be exact."""
    tokens, rng = VOCABULARIES["bytes"](), random.Random(4)
    grammar = constrain.json_schema(schema, whitespace="none").compile(vocabulary("bytes"))
    for left in range(1, 9):
        matcher = grammar.matcher()
        if matcher.tokens_to_end > left:
            continue
        while left >= 0 and not matcher.is_terminated:
            kept = masked(matcher, left, 257)
            for token in masked(matcher, None, 257):
                after = matcher.fork()
                assert after.accept_token(token)
                reachable = token in tokens.eos or _fewest(after, tokens, left) <= left - 1
                assert (token in kept) == reachable, (tokens.bytes_of[token], left)
            if not kept:
                break
            assert matcher.accept_token(rng.choice(kept))
            left -= 1


def test_a_mask_with_room_enough_is_the_one_without_a_limit() -> None:
    rng = random.Random(6)
    for name in sorted(CASES)[::9]:
        matcher = compiled(CASES[name].schema, "mixed").matcher()
        for _ in range(6):
            ids = masked(matcher, None, 903)
            assert masked(matcher, 100_000, 903) == ids
            if not ids or not matcher.accept_token(rng.choice(ids)):
                break


def test_out_of_reach_the_nearest_tokens_are_left() -> None:
    matcher = compiled({"enum": ["a", "abcdef"]}, "bytes").matcher()
    assert masked(matcher, 1, 257) == [ord('"')]
    assert matcher.accept_bytes(b'"a')
    assert masked(matcher, 1, 257) == [ord('"')]
    assert matcher.accept_bytes(b"b")
    assert masked(matcher, 2, 257) == [ord("c")]
    assert masked(matcher, 0, 257) == []


def test_after_the_end_and_at_it() -> None:
    matcher = compiled({"type": "null"}, "bytes").matcher()
    assert matcher.accept_bytes(b"null")
    assert matcher.tokens_to_end == 0
    assert masked(matcher, 0, 257) == [256]
    assert matcher.accept_token(256)
    assert matcher.tokens_to_end == 0
    assert masked(matcher, 0, 257) == masked(matcher, 9, 257) == []


def test_a_batch_gives_each_row_its_own_limit() -> None:
    grammar = compiled({"type": "array", "items": {"enum": [1, 22, 333]}, "minItems": 1}, "mixed")
    matchers = [grammar.matcher() for _ in range(5)]
    for matcher, text in zip(matchers, (b"", b"[", b"[22,", b"[1", b"[1]"), strict=True):
        assert matcher.accept_bytes(text)
    assert matchers[4].accept_token(0)
    limits = [3, 2, None, 1, 0]
    words = -(-903 // 32)
    together = np.zeros((6, words), dtype=np.int32)
    constrain.fill_next_token_bitmasks(matchers, together, [5, 0, 1, 2, 3], max_tokens=limits)
    for matcher, limit, place in zip(matchers, limits, (5, 0, 1, 2, 3), strict=True):
        alone = np.zeros(words, dtype=np.int32)
        matcher.fill_next_token_bitmask(alone, max_tokens=limit)
        assert (together[place] == alone).all()
    with pytest.raises(ValueError, match="as many limits"):
        constrain.fill_next_token_bitmasks(matchers, together, max_tokens=[1])


def test_forks_rollback_and_a_dropped_cache_change_nothing() -> None:
    grammar = constrain.json_schema(HARD["recursion"]).compile(vocabulary("mixed"))
    matcher = grammar.matcher()
    assert matcher.accept_bytes(b'{"left":{')
    before = masked(matcher, 9, 903), matcher.tokens_to_end
    other = matcher.fork()
    assert matcher.accept_bytes(b'"left":')
    matcher.rollback()
    assert (masked(matcher, 9, 903), matcher.tokens_to_end) == before
    grammar.clear_cache()
    assert (masked(other, 9, 903), other.tokens_to_end) == before


def test_a_regular_expression_that_its_vocabulary_cannot_spell() -> None:
    vocab = constrain.Vocabulary.from_tokens([b"ab", b"b", b"<end>"], eos_token_ids=2)
    assert constrain.regex("c").compile(vocab).matcher().tokens_to_end is None
    matcher = constrain.regex("bc|bbb").compile(vocab).matcher()
    assert matcher.accept_bytes(b"b")
    assert matcher.tokens_to_end is None  # the shortest ends with c
    assert masked(matcher, 1, 3) == [1]
    assert matcher.accept_bytes(b"b")
    assert matcher.tokens_to_end == 1
    assert masked(matcher, 1, 3) == [1]
