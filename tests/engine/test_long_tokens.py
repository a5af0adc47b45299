"""Masks of strings and names whose automaton is a long chain of states, over a vocabulary with long tokens.

Tokens of one kind of characters are marked without a walk as far as a chain is known to last. Here tokens are shorter
than that, as long, and longer, and every mask is compared with every token tried alone. A second grammar takes rows
over from a first one, which must make no difference.
"""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

import constrain
from constrain.engine import terminals
from tests.engine.each_token import each_token
from tests.oracles import allowed

_KINDS = ["a", "g", "F", "Z", "7", "-", ".", "_", "é", "ż", "日", " ", "%41", "ab", "a1", "x-", "a.", "q@", ":", "/"]
_LENGTHS = [*range(1, 6), 7, 8, 9, 12, 15, 16, 17, 18, 23, 31, 32, 33, 47, 63, 64, 65, 80]


def _tokens() -> list[bytes]:
    runs = {(kind * length)[: max(length, len(kind))] for kind in _KINDS for length in _LENGTHS}
    ends = {run + end for run in sorted(runs) for end in ('"', '", "', '": "', '"}') if len(run) in (1, 4, 8, 16, 20)}
    words = {
        "john",
        "example",
        ".com",
        "@example",
        "http",
        "https",
        "://",
        "www.",
        "\\",
        "\\u0041",
        '"',
        '{"',
        '":',
        "{",
    }
    letters = "abcdefghijklmnopqrstuvwxyz"
    bushes = {f"{a}{b}{c}" for a in ("g", "q", "-g") for b in letters for c in letters}
    bushes |= {f"{a}g{'xy' * 12}" for a in ("g", "q", "-g")}
    single = [bytes([b]) for b in range(256)]
    return [*single, *sorted({t.encode() for t in runs | ends | words | bushes} - set(single))]


TOKENS = _tokens()
_EOS = len(TOKENS)


def _vocabulary(distinction: str = "") -> Any:
    """A vocabulary; those of one content share what is kept."""
    return constrain.Vocabulary.from_tokens(
        [*TOKENS, b"</s>", f"not to be written {distinction}".encode()], eos_token_ids=[_EOS]
    )


STRINGS: list[dict[str, Any]] = [
    {"format": "email"},
    {"format": "hostname"},
    {"format": "uri"},
    {"format": "uuid"},
    {"pattern": "^[a-z0-9]{8}-[a-z0-9]{4}-[a-z0-9]{12}$"},
    {"pattern": "^[a-z]{3,20}[0-9]{2}$"},
    {"pattern": "^[a-z0-9_]{1,40}$", "minLength": 18, "maxLength": 34},
    {"pattern": "^(?:%[0-9A-F]{2}|[a-z])*$"},
    {"pattern": "^(?:a{0,15}g|[^a]{0,70})$"},
    {"pattern": "^[^/]{17}/", "maxLength": 40},
    {"pattern": "^[a-z]{1,17}(?:-[0-9a-z]{1,20})?$"},
    {"pattern": "(?:abc|g1|F-)[a-z]{5}"},
]


def _walk(compiled: Any, prefix: bytes, rng: random.Random, steps: int) -> tuple[list[Any], list[Any]]:
    """The masks along a random walk, each compared with every token tried alone, and what was written."""
    matcher = compiled.matcher()
    assert matcher.accept_bytes(prefix)
    masks: list[Any] = []
    written: list[Any] = [prefix]
    for _ in range(steps):
        mask = allowed(matcher, _EOS + 2)[:-1]
        assert np.array_equal(mask, each_token(matcher, _EOS + 1))
        masks.append(mask)
        found = np.flatnonzero(mask[:_EOS]).tolist()
        if not found:
            break
        token = rng.choice([t for t in found if 2 < len(TOKENS[t]) < 24] or found)
        assert matcher.accept_token(token)
        written.append(token)
    return masks, written


@pytest.mark.parametrize("schema", STRINGS, ids=json.dumps)
def test_strings(schema: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminals, "_WIDE", 1)  # the words of a row here are few
    vocabulary = _vocabulary(f"{schema}")
    text = constrain.json_schema({"type": "string", **schema})
    member = constrain.json_schema(
        {"type": "object", "properties": {"a": {"type": "string", **schema}}, "required": ["a"]}
    )
    for seed in range(3):
        masks, written = _walk(text.compile(vocabulary), b'"', random.Random(seed), 6)
        # The same text elsewhere, in grammars of a vocabulary that keeps rows of the first, and of one that does not.
        other = _vocabulary(f"{schema} {seed}")
        _compare(member.compile(vocabulary), b'{"a": "', masks, written[1:])
        _compare(member.compile(other), b'{"a": "', masks, written[1:])
        _compare(text.compile(other), b'"', masks, written[1:])


def _compare(compiled: Any, prefix: bytes, masks: list[Any], written: list[int]) -> None:
    matcher = compiled.matcher()
    assert matcher.accept_bytes(prefix)
    inside = [t for t in range(_EOS) if b'"' not in TOKENS[t] and b"\\" not in TOKENS[t]]
    for mask, token in zip(masks, [*written, None], strict=False):
        found = allowed(matcher, _EOS + 2)[:-1]
        assert np.array_equal(found, each_token(matcher, _EOS + 1))
        assert np.array_equal(found[inside], mask[inside])
        if token is None or b'"' in TOKENS[token]:
            break
        assert matcher.accept_token(token)


@pytest.mark.parametrize("cache_bytes", [1, 1 << 26])
@pytest.mark.parametrize("schema", [*STRINGS[:4], *STRINGS[7:9], {"anyOf": STRINGS[2:6]}], ids=json.dumps)
def test_a_string_in_several_places(schema: dict[str, Any], cache_bytes: int) -> None:
    """What stays within it is taken over from one place to the next, and what follows it is not."""
    text = {"type": "string", **schema}
    places = {"a": text, "b": {"type": "array", "items": text, "maxItems": 2}, "c": {"anyOf": [text, {"const": "a7a"}]}}
    grammar = constrain.json_schema({"type": "object", "properties": places, "additionalProperties": False})
    compiled = grammar.compile(_vocabulary(), cache_bytes=cache_bytes)
    rng = random.Random(5)
    for _ in range(3):
        masks, written = _walk(compiled, b'{"a": "', rng, 4)
        for prefix in (b'{"b": ["', b'{"c": "', b'{"a": "'):
            _compare(compiled, prefix, masks, written[1:])
            compiled._automaton.store.forget_rows()


NAMES: list[dict[str, Any]] = [
    {"patternProperties": {"^[0-9a-zA-Z_-]{1,255}$": {"type": "null"}}, "additionalProperties": False},
    {"patternProperties": {"^[a-z]{2,20}$": {"type": "null"}, "^a": {"type": ["null", "string"]}}},
    {
        "propertyNames": {"pattern": "^[a-z]{1,17}(?:-[0-9a-z]{1,20})?$"},
        "properties": {"aaaaaaaaaaaaaaaaaa": {}, "gg": {}},
    },
    {"propertyNames": {"format": "hostname"}, "additionalProperties": {"type": "null"}},
    {"propertyNames": {"maxLength": 18}, "additionalProperties": {"type": "null"}},
    {
        "patternProperties": {"^[a-z0-9]([-a-z0-9]{0,31}[a-z0-9])?$": {"type": "null"}},
        "properties": {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": False, "7": {}},
        "additionalProperties": False,
    },
    {"patternProperties": {"^.*$": {"type": "null"}}, "additionalProperties": False},
    {
        "patternProperties": {"^(?:ab_){2}x|é": {"enum": [1]}, "_y|ż-": {"enum": [2]}},
        "additionalProperties": {"enum": [3, None]},
    },
]


@pytest.mark.parametrize("schema", NAMES, ids=json.dumps)
def test_names(schema: dict[str, Any]) -> None:
    compiled = constrain.json_schema({"type": "object", **schema}).compile(_vocabulary())
    for seed in range(4):
        for prefix in (b'{"', b'{"gg": null, "', b'{"aaaa": null, "aa'):
            _walk(compiled, prefix, random.Random(seed), 5)


@pytest.mark.parametrize("names", ["^[-_]{1,64}$", "^[-_]{60,64}$", "^[-_]{1,63}[-]?$", "^[-_.]{1,16}$"])
def test_long_names_in_use(names: str) -> None:
    """A name that is in use, and as long as names can be, is not a beginning of any other."""
    schema = {"type": "object", "patternProperties": {names: {"type": "null"}}, "additionalProperties": False}
    compiled = constrain.json_schema(schema).compile(_vocabulary())
    for length in (15, 16, 62, 63, 64):
        for used in ("-" * length, "_" * length, "-" * (length - 1) + "_"):
            matcher = compiled.matcher()
            if not matcher.accept_bytes(f'{{"{used}": null, "'.encode()):
                continue
            for _ in range(3):
                assert np.array_equal(allowed(matcher, _EOS + 2)[:-1], each_token(matcher, _EOS + 1))
                assert matcher.accept_bytes(used[:1].encode())


_TWO = {"patternProperties": {"ab": {"type": "null"}, "x-?g": {"type": "string"}}}
APART: list[dict[str, Any]] = [
    _TWO,
    {**_TWO, "additionalProperties": False},
    {**_TWO, "properties": {"xabx-": {}, "gabg": {}, "ab": {}}},
    {**_TWO, "maxProperties": 2, "minProperties": 2},
    {"patternProperties": {"^ab": {"type": "null"}, "g$": {"type": "string"}, "7+x": {"type": "null"}}},
    {"patternProperties": {"^[a-z]+$": False, "a{9}": {"type": "null"}, "g": {"type": "string"}}},
    {"patternProperties": {"a[^b]g": {"type": "null"}, "z": {"type": "string"}}},
    {"propertyNames": {"pattern": "abc|x-"}, "patternProperties": {"bc": {"type": "null"}, "g": {"type": "string"}}},
    {"patternProperties": {"ab": False, "日": {"type": "null"}, "é1": False}, "additionalProperties": {"type": "null"}},
    {"propertyNames": {"format": "hostname"}, "patternProperties": {"a": {"type": "null"}, "g": {"type": "string"}}},
    {"anyOf": [_TWO, {"patternProperties": {"ab": False}, "additionalProperties": {"type": "null"}}]},
]


@pytest.fixture(scope="module")
def names_vocabulary() -> Any:
    """Tokens with what patterns look for at their beginning, inside and at their end, and longer ones."""
    rng = random.Random(11)
    parts = ["ab", "abc", "x-g", "xg", "g", "7x", "77", "a", "é1", "日", "z", "-", "aaaaaaaaa", "q", "~"]
    found = set(parts)
    for length in (2, 3, 4, 6, 9):
        found |= {"".join(rng.choices(parts, k=length)) for _ in range(150)}
    found |= {name + end for name in rng.sample(sorted(found), 60) for end in ('"', '": null', '":"')}
    single = [bytes([b]) for b in range(256)]
    tokens = [*single, *sorted({t.encode() for t in found} - set(single))]
    return constrain.Vocabulary.from_tokens([*tokens, b"</s>"], eos_token_ids=[len(tokens)])


@pytest.mark.parametrize("schema", APART, ids=json.dumps)
def test_names_that_several_patterns_tell_apart(schema: dict[str, Any], names_vocabulary: Any) -> None:
    compiled = constrain.json_schema({"type": "object", **schema}).compile(names_vocabulary)
    size = names_vocabulary.size
    for prefix in (b'{"', b'{"q', b'{"ab', b'{"x-', b'{"gab', '{"日é'.encode(), b'{"ab": null, "', b'{"xg": "", "a'):
        matcher = compiled.matcher()
        if not matcher.accept_bytes(prefix):
            continue
        rng = random.Random(3)
        for _ in range(5):
            mask = allowed(matcher, size)
            assert np.array_equal(mask, each_token(matcher, size))
            found = np.flatnonzero(mask[:-1])
            if not found.size:
                break
            assert matcher.accept_token(int(rng.choice(found)))


@pytest.mark.parametrize("read", [0, 1, 30, 44, 55, 64, 69])
def test_names_of_one_class(read: int) -> None:
    schema = {"patternProperties": {"^[a-g7]{1,70}$": {"type": "null"}}, "additionalProperties": False}
    compiled = constrain.json_schema({"type": "object", **schema}).compile(_vocabulary())
    for used in ("a" * 70, "a" * 69 + "g", "a" * read):
        prefix = '{"' + (f'{used}": null, "' if used else "") + "a" * read
        _walk(compiled, prefix.encode(), random.Random(read), 3)


def test_what_names_admit_is_of_their_own_object() -> None:
    some = {"type": "object", "patternProperties": {"^a": {"type": "null"}}, "additionalProperties": False}
    others = {"type": "object", "patternProperties": {"^a": False}, "additionalProperties": {"type": "null"}}
    compiled = constrain.json_schema({"type": "object", "properties": {"p": some, "q": others}}).compile(_vocabulary())
    for prefix in (b'{"p": {"', b'{"p": {"a": null}, "q": {"', b'{"q": {"b": null}, "p": {"', b'{"p": {"a7": null, "'):
        _walk(compiled, prefix, random.Random(1), 3)
