"""`uniqueItems` for items of any kind: against validators, and against all arrays of a finite set, byte by byte."""

from __future__ import annotations

import functools
import itertools
import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import constrain
from tests.oracles import FULL, engine_agrees, finite, validators, vocabulary

BOOLEAN = {"type": "boolean"}
CLOSED = {"type": "object", "properties": {"a": BOOLEAN, "b": BOOLEAN}, "additionalProperties": False}
LETTERS = {"type": "string", "pattern": "^[ab]{1,2}$"}

TOKENS = [bytes((b,)) for b in range(256)] + [
    b"1,1", b"1,2", b'"a"', b'","', b"[1,", b"true,", b",true", b"1,", b"2]", b"},{", b'{"a":', b'"a":true', b"},",
    b"}]", b"[]", b"[],[", b"[1,1]", b"[[1", b"1],[", b"],", b',"a"', b'"a","a"', b'a","a', b'"]', b"0,", b",0", b".0",
    b"1.0,", b"e0", b"true}", b"alse", b"null,", b", ", b", 1", b'"b":', b'{"', b'":', b"{}", b"{},{}", b"{},", b'a"',
    b'b",', b"true,true", b"[true,", b"\\u0061", b"aa", b"ab", b" ", b"10", b"100", b"12", b"-1", b"-0", b"[[],",
    b'["a"', b'["a",', b"[0,0]", b",[]", b'{"a":[1,1]', b'{"a":[1,', b'["[1,1]"',
    b'["a","a"]', b'"],["b","b"', b'\\u0061"', b'a\\u0062"', b'b","', b' "a",', b'",1,"a","a"', b"\\ud83d\\ude00\"",
    b'\xf0\x9f\x98\x80"', b'\x80",',
]  # fmt: skip

WALKED: dict[str, Any] = {
    "anything": {"uniqueItems": True},
    "strings and integers": {
        "items": {"type": ["string", "integer"]},
        "uniqueItems": True,
        "minItems": 2,
        "type": "array",
    },
    "all nine objects": {"type": "array", "items": CLOSED, "uniqueItems": True, "minItems": 8},
    "all twelve integers": {
        "type": "array",
        "items": {"type": "integer", "minimum": 0, "maximum": 11},
        "uniqueItems": True,
        "minItems": 12,
    },
    "unique of unique": {
        "type": "array",
        "items": {"type": "array", "items": {"enum": [1, 2, [1]]}, "maxItems": 2, "uniqueItems": True},
        "uniqueItems": True,
        "minItems": 9,
    },
    "beside others": {
        "anyOf": [
            {"type": "array", "uniqueItems": True, "items": CLOSED},
            {"type": "array", "items": {"type": "object", "properties": {"a": BOOLEAN}, "required": ["a"]}},
        ]
    },
    "texts beside others": {
        "anyOf": [
            {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
            {"type": "array", "items": {"type": ["string", "integer", "array"], "maxLength": 2}, "maxItems": 3},
        ]
    },
    "texts in texts": {
        "anyOf": [
            {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "maxItems": 3},
            {"items": {"anyOf": [{"type": "array", "items": {"type": "string"}, "uniqueItems": True}, {"enum": [1]}]}},
        ]
    },
    "the last place": {
        "type": "array",
        "prefixItems": [{"type": ["integer", "array"]}, {"type": "integer"}, {"const": 1}],
        "items": False,
        "uniqueItems": True,
    },
    "counted": {
        "type": "array",
        "items": {"type": ["integer", "array"]},
        "contains": {"enum": [1, 2, []]},
        "minContains": 3,
        "uniqueItems": True,
        "maxItems": 4,
    },
    "members of items": {
        "type": "array",
        "items": {"type": "object", "required": ["a"], "properties": {"a": {"uniqueItems": True}}},
        "uniqueItems": True,
    },
    "recursive": {
        "$ref": "#/$defs/t",
        "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}, "uniqueItems": True, "maxItems": 2}},
    },
    "two items are equal": {
        "type": "array",
        "items": {"type": ["integer", "string", "object"]},
        "not": {"uniqueItems": True},
    },
    "either unique or of one type": {
        "oneOf": [{"type": "array", "uniqueItems": True}, {"type": "array", "items": {"type": "integer"}}]
    },
    "differing arrays of equal items": {
        "type": "array",
        "items": {"type": "array", "items": {"type": "boolean"}, "not": {"uniqueItems": True}},
        "uniqueItems": True,
    },
    "spellings of few numbers": {
        "type": "array",
        "items": {"type": "number", "minimum": 0, "maximum": 3, "multipleOf": 0.25},
        "uniqueItems": True,
    },
}


@functools.lru_cache(maxsize=1)
def small_vocabulary() -> constrain.Vocabulary:
    return constrain.Vocabulary.from_tokens([*TOKENS, None], eos_token_ids=[len(TOKENS)])


def mask_of(matcher: Any) -> Any:
    row = np.zeros(matcher.compiled.bitmask_words, dtype=np.int32)
    matcher.fill_next_token_bitmask(row)
    return np.unpackbits(row.view(np.uint8), bitorder="little")[: len(TOKENS) + 1].astype(bool)


def finish(matcher: Any) -> bytes:
    """The rest of a text, by bytes that lower the distance."""
    rest = bytearray()
    left = matcher.min_tokens_to_end
    while not matcher.is_accepting:
        for byte in range(256):
            probe = matcher.fork()
            if probe.accept_token(byte) and probe.min_tokens_to_end < left:
                break
        else:
            raise AssertionError(f"no byte leads nearer to the end after {bytes(rest)!r}")
        assert matcher.accept_token(byte)
        left = matcher.min_tokens_to_end
        rest.append(byte)
    return bytes(rest)


@pytest.mark.parametrize("name", WALKED)
def test_masks_walks_and_endings(name: str) -> None:
    """At each step of random walks the mask is what tokens are accepted one by one, and how a token is cut means
    nothing; from wherever a walk stops the text can be ended, within the distance, and is valid."""
    schema = WALKED[name]
    rng = random.Random(name)
    compiled = constrain.json_schema(schema).compile(small_vocabulary())
    judges = validators(schema)
    for _ in range(40 if FULL else 6):
        matcher, text = compiled.matcher(), b""
        for _ in range(rng.choice([2, 6, 16])):
            mask = mask_of(matcher)
            assert mask.any(), text
            for token, data in enumerate(TOKENS):
                probe = matcher.fork()
                assert probe.accept_token(token) == mask[token], (text, data)
                if mask[token] and len(data) > 1:
                    other = matcher.fork()
                    assert other.accept_bytes(data), (text, data)
                    assert (mask_of(other) == mask_of(probe)).all(), (text, data)
            options = np.flatnonzero(mask)
            preferred = [t for t in options if t >= 256 or chr(t) in '[]{},:"0123456789tfnab.'] or list(options)
            token = int(rng.choice(preferred))
            if token == len(TOKENS) or not matcher.accept_token(token):
                break
            text += TOKENS[token]
        distance = matcher.min_tokens_to_end
        rest = finish(matcher)
        assert len(rest) <= distance
        value = json.loads(text + rest)
        assert not finite(value) or all(judge(value) for judge in judges), (text, rest)


FINITE: dict[str, tuple[Any, list[Any]]] = {
    "objects": (
        {"type": "array", "items": CLOSED | {"maxProperties": 1}, "uniqueItems": True, "minItems": 2, "maxItems": 3},
        [{}, {"a": True}, {"a": False}, {"b": True}, {"b": False}],
    ),
    "tuple": (
        {
            "type": "array",
            "prefixItems": [{"enum": [1, 2, []]}, {"enum": [1, [], {}]}, {"enum": [1, 2]}],
            "items": False,
            "minItems": 3,
            "uniqueItems": True,
        },
        [1, 2, [], {}],
    ),
    "strings at two places": (
        {"type": "array", "prefixItems": [LETTERS, {"enum": ["a", "bb", 1]}], "items": False, "uniqueItems": True},
        ["a", "b", "aa", "ab", "ba", "bb", 1],
    ),
    "counted": (
        {
            "type": "array",
            "items": {"enum": [1, 2, 3, [1], [2]]},
            "contains": {"enum": [1, [1]]},
            "minContains": 2,
            "maxItems": 3,
            "uniqueItems": True,
        },
        [1, 2, 3, [1], [2]],
    ),
    "arrays beside strings": (
        {
            "anyOf": [
                {"type": "array", "items": {"enum": [True, "a", [True]]}, "uniqueItems": True, "maxItems": 3},
                {"type": "array", "items": {"enum": ["a", ["a"]]}, "maxItems": 2},
            ]
        },
        [True, "a", [True], ["a"]],
    ),
}


@pytest.mark.parametrize("name", FINITE)
def test_exactly_the_valid_arrays_are_written(name: str) -> None:
    """All texts without whitespace, escapes and fractions that bytes lead to are the valid arrays, no more, no less."""
    schema, values = FINITE[name]
    compiled = constrain.json_schema(schema, whitespace="none").compile(vocabulary("bytes"))
    written: set[str] = set()
    todo = [compiled.matcher()]
    texts = [b""]
    while todo:
        matcher, text = todo.pop(), texts.pop()
        if matcher.is_accepting:
            written.add(json.dumps(json.loads(text), sort_keys=True))
            continue
        found = False
        for byte in range(256):
            if byte in b"\\." or (byte in b"eE" and text[-1:].isdigit()):
                continue
            probe = matcher.fork()
            if probe.accept_bytes(bytes((byte,))):
                found = True
                todo.append(probe)
                texts.append(text + bytes((byte,)))
        assert found, f"nothing can follow {text!r}"
    _, judge = validators(schema)
    wanted = {
        json.dumps(list(items), sort_keys=True)
        for n in range(5)
        for items in itertools.product(values, repeat=n)
        if judge(list(items))
    }
    assert written == wanted


items = st.recursive(
    st.sampled_from([0, 1, 1.0, 2, 10, True, False, None, "", "a", "b", "1"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
    max_leaves=3,
)
item_schemas = st.sampled_from(
    [
        {},
        CLOSED,
        {"type": ["integer", "object"]},
        {"type": "array", "uniqueItems": True},
        {"type": "array", "items": {"type": ["boolean", "null"]}, "uniqueItems": True, "maxItems": 2},
        {"enum": [0, 1, [1], {"a": 1}, "a"]},
        {"type": "string"},
        {"anyOf": [{"type": "integer"}, {"type": "object", "properties": {"a": {"type": "integer"}}}]},
    ]
)


@settings(max_examples=2000 if FULL else 150, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(
    st.lists(item_schemas, max_size=2),
    item_schemas,
    st.integers(0, 3),
    st.none() | item_schemas,
    st.sampled_from(["alone", "beside others", "or others", "negated"]),
    st.lists(st.lists(items, max_size=4), min_size=3, max_size=10),
)
def test_verdicts_are_those_of_validators(
    prefix: list[Any], rest: Any, minimum: int, contains: Any, combination: str, arrays: list[list[Any]]
) -> None:
    schema: dict[str, Any] = {"type": "array", "items": rest, "uniqueItems": True, "minItems": minimum}
    if prefix:
        schema["prefixItems"] = prefix
    if contains is not None:
        schema["contains"] = contains
    others = {"type": "array", "items": {"type": "integer"}}
    if combination == "beside others":
        schema = {"anyOf": [schema, others]}
    elif combination == "or others":
        schema = {"oneOf": [schema, others]}
    elif combination == "negated":
        schema = {"type": "array", "not": schema}
    judges = validators(schema)
    try:
        grammar = constrain.json_schema(schema)
    except constrain.UnsatisfiableSchemaError:
        assert not any(judge(a) for a in arrays for judge in judges)
        return
    except (constrain.ResourceLimitError, constrain.UnsupportedSchemaError):
        return
    engine = grammar.compile(vocabulary("bytes"))
    for array in arrays:
        verdicts = {bool(judge(array)) for judge in judges}
        if len(verdicts) == 1:
            assert engine_agrees(grammar, engine, array, verdicts.pop()), (schema, array)


def test_texts_are_refused_in_every_spelling_by_tokens_of_every_length() -> None:
    """The mask within an array of texts, and the one where the array goes on as another without them."""
    texts = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    for schema in ({"anyOf": [texts, {"type": "array", "items": {"type": "boolean"}}]}, WALKED["texts beside others"]):
        compiled = constrain.json_schema(schema).compile(small_vocabulary())
        for begun in (
            b'["a","', b'["ab",', b'["ab","a', b'["ab","\\u0061', b'["a\\n","a', b'["\xf0\x9f\x98\x80","',
            b'["\xf0\x9f\x98\x80","\xf0\x9f\x98', b'["a","b"', b'["a","b",', b'["","', b'["", ', b'["a","\\',
        ):  # fmt: skip
            matcher = compiled.matcher()
            if not matcher.accept_bytes(begun):
                continue
            mask = mask_of(matcher)
            for token in range(len(TOKENS)):
                assert matcher.fork().accept_token(token) == mask[token], (schema, begun, TOKENS[token])


def test_positions_survive_rollback_fork_and_a_cleared_cache() -> None:
    compiled = constrain.json_schema({"type": "array", "items": CLOSED, "uniqueItems": True}).compile(
        small_vocabulary()
    )
    matcher = compiled.matcher()
    masks = []
    text = b'[{"a":true},{},{"b":false,"a":true},'
    for byte in text:
        masks.append(mask_of(matcher))
        assert matcher.accept_token(byte)
    fork = matcher.fork()
    assert fork.accept_bytes(b'{"a":f')
    assert not matcher.fork().accept_bytes(b"{}")
    compiled.clear_cache()
    assert not matcher.fork().accept_bytes(b"{}")
    assert not fork.fork().accept_bytes(b"alse}]]")
    assert fork.accept_bytes(b"alse}]")
    for mask in reversed(masks):
        matcher.rollback()
        assert (mask_of(matcher) == mask).all()


def test_a_cache_too_small_for_two_rows_changes_nothing() -> None:
    schema = {"type": "array", "items": {"type": "object"}, "uniqueItems": True}
    small = constrain.json_schema(schema).compile(small_vocabulary(), cache_bytes=1)
    large = constrain.json_schema(schema).compile(small_vocabulary())
    a, b = small.matcher(), large.matcher()
    for byte in b'[{"x":1},{"x":1.5},{"x":1':
        assert (mask_of(a) == mask_of(b)).all()
        assert a.accept_token(byte)
        assert b.accept_token(byte)
    assert not a.accept_bytes(b"}")
    assert a.accept_bytes(b"2}]")


def test_limits_are_named_when_compiled() -> None:
    with pytest.raises(constrain.ResourceLimitError) as caught:
        constrain.json_schema({"type": "array", "uniqueItems": True, "minItems": 10**9})
    assert caught.value.keyword == "uniqueItems"


@pytest.mark.parametrize(
    "items", [{"pattern": "^\\.[^/]+$"}, {"type": "string", "pattern": "^\\.[^/]*$"}, {"minLength": 2}]
)
def test_masks_of_items_that_differ_one_after_the_other(items: dict[str, Any]) -> None:
    """Into one bitmask, as a sampling loop does: rows of the automaton and of the layer above it take turns."""
    array = {"type": "array", "uniqueItems": True, "items": items}
    text = b'{"a": [".min.js", ".min.css"], "b": {"c": [".js", ".min"]}}'
    for piece in (1, 2, 5):
        tokens = {text[i : i + piece] for i in range(0, len(text), piece)} - {bytes([b]) for b in range(256)}
        every = [*(bytes([b]) for b in range(256)), *sorted(tokens), b"</s>"]
        vocabulary = constrain.Vocabulary.from_tokens(every, eos_token_ids=[len(every) - 1])
        schema = {"properties": {"a": array, "b": {"additionalProperties": array}}}
        compiled = constrain.json_schema(schema).compile(vocabulary)
        for _ in range(2):
            matcher = compiled.matcher()
            mask = np.zeros((1, compiled.bitmask_words), dtype=np.int32)

            def admits(token: int, mask: Any = mask) -> bool:
                return bool(mask[0, token >> 5] >> (token & 31) & 1)

            for i in range(0, len(text), piece):
                token = every.index(text[i : i + piece])
                matcher.fill_next_token_bitmask(mask)
                assert admits(token), text[:i]
                assert matcher.accept_token(token)
                if text[: i + piece].endswith(b'[".js", ".m'):
                    twin = matcher.fork()
                    assert twin.accept_bytes(b'in", ".j')
                    twin.fill_next_token_bitmask(mask)
                    assert admits(ord("s"))
                    assert twin.accept_token(ord("s"))
                    twin.fill_next_token_bitmask(mask)
                    assert admits(ord("x"))
                    assert not admits(ord('"'))
