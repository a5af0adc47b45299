"""Law 2: no dead end. Walks that follow the masks never meet an empty mask, can always be brought to an end, and what
they wrote is JSON that two independent validators call valid."""

from __future__ import annotations

import json
import random
import zlib
from decimal import Decimal
from typing import Any

import pytest

import constrain
from constrain.grammars.errors import ConstrainError
from tests.engine.schemas import CASES
from tests.oracles import FULL, VOCABULARIES, Walker, allowed, compiled, finite, judged_by_both, validators, vocabulary

WALKS = 10_000 if FULL else 300
VOCABULARY_OF_WALK = ["mixed", "mixed", "bytes", "tekken", "sentencepiece", "smollm2"]


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    assert len(value) == len(pairs), f"a key twice: {[k for k, _ in pairs]}"
    return value


class _Inexact(Exception):
    """A number whose fraction is lost in a float, so that no validator can judge it."""


def _number(text: str) -> float | int:
    """Large whole numbers exactly, however they are written: the nearest float is a multiple of other numbers."""
    value = float(text)
    if 2.0**53 < abs(value) < 1e300:
        exact = Decimal(text)
        if exact != exact.to_integral_value():
            raise _Inexact
        return int(exact)
    return value


def check_text(schema: Any, text: bytes) -> None:
    """The text must parse as JSON without duplicate keys, hold no lone surrogate, and be valid.

    Formats and exact decimals are judged by jsonschema-rs only.
    """
    try:
        value = json.loads(text.decode(), object_pairs_hook=_no_duplicates, parse_float=_number)
    except _Inexact:
        return
    if not finite(value):
        raise AssertionError(f"not interchangeable: {text!r}")
    pure, rust = validators(schema)
    assert rust(value), f"jsonschema-rs calls it invalid: {text!r}"
    if judged_by_both(schema):
        assert pure(value), f"jsonschema calls it invalid: {text!r}"


@pytest.mark.parametrize("name", CASES)
def test_walks_end_and_are_valid(name: str) -> None:
    rng = random.Random(zlib.crc32(name.encode()))
    for walk in range(max(1, WALKS // len(CASES))):
        vocabulary_name = VOCABULARY_OF_WALK[(walk + len(name)) % len(VOCABULARY_OF_WALK)]
        tokens = VOCABULARIES[vocabulary_name]()
        walker = Walker(tokens, rng)
        matcher = compiled(CASES[name].schema, vocabulary_name).matcher()
        text = bytearray()
        for _ in range(rng.choice([3, 10, 30, 60])):
            mask = allowed(matcher, walker.size)
            assert mask.any(), f"empty mask after {bytes(text)!r}"
            chosen = walker.choose(mask)
            if chosen is None:
                break
            assert matcher.accept_token(chosen), (bytes(text), tokens.bytes_of[chosen])
            text += tokens.bytes_of[chosen] or b""
        budget = matcher.min_tokens_to_end
        rest = walker.finish(matcher)
        assert len(rest) <= budget, f"{len(rest)} bytes for a distance of {budget} after {bytes(text)!r}"
        assert matcher.accept_token(tokens.eos[0])
        assert matcher.is_terminated
        check_text(CASES[name].schema, bytes(text) + rest)


UNSATISFIABLE: dict[str, Any] = {
    "false": False,
    "empty enum": {"enum": []},
    "required of a closed object": {
        "type": "object",
        "properties": {"a": {}},
        "required": ["b"],
        "additionalProperties": False,
    },
    "required, impossible value": {"type": "object", "properties": {"a": {"enum": []}}, "required": ["a"]},
    "infinite only": {"type": "array", "items": {"$ref": "#"}, "minItems": 1},
    "infinite object": {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
    "parity": {"type": "string", "pattern": "^(ab)*$", "minLength": 3, "maxLength": 3},
    "no multiple": {"type": "integer", "minimum": 4, "maximum": 5, "multipleOf": 3},
    "no integer": {"type": "integer", "exclusiveMinimum": 4, "exclusiveMaximum": 5},
    "lengths": {"type": "string", "minLength": 3, "maxLength": 2},
    "members": {"type": "object", "minProperties": 3, "maxProperties": 2},
    "too many required": {"type": "object", "required": ["a", "b", "c"], "maxProperties": 2},
    "too few names": {
        "type": "object",
        "properties": {"a": {}, "b": {}},
        "additionalProperties": False,
        "minProperties": 3,
    },
    "tuple too short": {"type": "array", "prefixItems": [{}, False], "minItems": 2},
    "const against type": {"type": "string", "const": 3},
    "enum against bounds": {"type": "integer", "enum": [1, 2, "x"], "minimum": 3},
    "no branch": {"type": "integer", "anyOf": [{"type": "string"}, {"maximum": 3}], "minimum": 5},
    "deep": {
        "type": "object",
        "properties": {
            "a": {"type": "array", "items": {"type": "object", "required": ["x"], "maxProperties": 0}, "minItems": 1}
        },
        "required": ["a"],
    },
}


@pytest.mark.parametrize("name", UNSATISFIABLE)
def test_unsatisfiable_schemas_are_refused_when_compiled(name: str) -> None:
    """Found at compile time; the error is about satisfiability (or says that the schema is too hard), never a mask."""
    with pytest.raises(ConstrainError) as caught:
        constrain.json_schema(UNSATISFIABLE[name]).compile(vocabulary("bytes"))
    assert isinstance(caught.value, constrain.UnsatisfiableSchemaError), repr(caught.value)


def test_unsatisfiable_optional_parts_are_never_offered() -> None:
    schema = {
        "type": "object",
        "properties": {
            "good": {"type": "integer"},
            "goodbye": {"type": "array", "items": {"$ref": "#/$defs/forever"}, "minItems": 1},
            "gone": {"$ref": "#/$defs/forever"},
        },
        "additionalProperties": False,
        "$defs": {
            "forever": {"type": "object", "properties": {"next": {"$ref": "#/$defs/forever"}}, "required": ["next"]}
        },
    }
    matcher = compiled(schema).matcher()
    assert matcher.accept_bytes(b'{"go')
    assert matcher.accept_bytes(b"od")
    assert not matcher.accept_bytes(b"b")
    assert matcher.accept_bytes(b'":1')
    assert not matcher.accept_bytes(b","), "no other member exists, so a comma would be a dead end"
    assert not compiled(schema).matcher().accept_bytes(b'{"gon')


def test_a_vocabulary_that_cannot_write_the_answer_is_refused() -> None:
    """Without a token for `}` no object can ever end; that must be an error, not an empty mask."""
    rows = [bytes([b]) for b in range(256) if b != ord("}")]
    vocab = constrain.Vocabulary.from_tokens([*rows, None], eos_token_ids=[255])
    with pytest.raises(ConstrainError):
        constrain.json_schema({"type": "object"}).compile(vocab)


def test_missing_bytes_are_avoided_where_another_spelling_exists() -> None:
    """SmolLM2 has no token for byte 0xF1, so U+50000 can only be written as an escape, if at all."""
    tokens = VOCABULARIES["smollm2"]()
    assert 0xF1 not in tokens.single
    try:
        grammar = constrain.json_schema({"const": "x\U00050000y"}).compile(vocabulary("smollm2"))
    except ConstrainError:
        return
    matcher = grammar.matcher()
    rest = Walker(tokens, random.Random(0)).finish(matcher)
    assert json.loads(rest) == "x\U00050000y"
