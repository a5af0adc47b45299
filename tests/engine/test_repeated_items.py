"""`uniqueItems` under a negation, where the places run out: against validators on all arrays of a finite set, byte by
byte, and by walks whose masks are what tokens are accepted one by one."""

from __future__ import annotations

import itertools
import json
import random
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import constrain
from tests.engine.test_unique_items import TOKENS, finish, mask_of, small_vocabulary
from tests.oracles import FULL, finite, validators, vocabulary

REPEATED = {"not": {"uniqueItems": True}}
VALUES: list[Any] = [1, 2, "a", "ab", True, None, [1], [1, 1], {}, {"a": 1}]


def _subset(rng: random.Random, most: int = 4) -> dict[str, Any]:
    return {"enum": rng.sample(VALUES, rng.randint(1, most))}


def _array(rng: random.Random) -> dict[str, Any]:
    """Keywords about items, of which there are at most four, out of `VALUES`."""
    schema: dict[str, Any] = {"type": "array", "items": _subset(rng, 5)}
    if rng.random() < 0.5:
        schema["prefixItems"] = [_subset(rng) for _ in range(rng.randint(1, 3))]
        if rng.random() < 0.4:
            schema["items"] = False
    schema["maxItems"] = rng.randint(1, 4)
    if rng.random() < 0.3:
        schema["minItems"] = rng.randint(0, 3)
    if rng.random() < 0.4:
        schema["contains"] = _subset(rng)
        if rng.random() < 0.5:
            schema["minContains"] = rng.randint(0, 2)
        if rng.random() < 0.5:
            schema["maxContains"] = rng.randint(schema.get("minContains", 1), 3)
    return schema


def random_schema(rng: random.Random) -> dict[str, Any]:
    """An array that a negation asks two equal items of, in some way of saying so."""
    array = _array(rng)
    unique = {"uniqueItems": True}
    other = rng.choice([{"contains": _subset(rng)}, {"minItems": 3}, {"items": _subset(rng, 6)}, {"maxItems": 2}])
    how = rng.randrange(8)
    if how <= 2:
        return array | {"not": unique}
    if how == 3:
        return array | {"oneOf": [unique, other]}
    if how == 4:
        return array | {"not": {"anyOf": [unique, other]}}
    if how == 5:
        return array | {"not": {"allOf": [unique, other]}}
    if how == 6:
        return array | {"if": unique, "then": other, "else": rng.choice([{"maxItems": 3}, {"minItems": 3}])}
    inner = array | {"not": unique}
    outer = rng.choice([unique, {"not": unique}, {"contains": {"minItems": 3}}])
    return {"type": "array", "items": inner | {"maxItems": 2}, "maxItems": 2} | outer


def written(schema: Any) -> set[str]:
    """All texts without whitespace, escapes and fractions that bytes lead to; fails where none can follow."""
    try:
        grammar = constrain.json_schema(schema, whitespace="none")
    except constrain.UnsatisfiableSchemaError:
        return set()
    out: set[str] = set()
    todo = [(grammar.compile(vocabulary("bytes")).matcher(), b"")]
    while todo:
        matcher, text = todo.pop()
        if matcher.is_accepting:
            out.add(json.dumps(json.loads(text), sort_keys=True))
            continue
        before = len(todo)
        for byte in range(256):
            probe = matcher.fork()
            if not (byte in b"\\." or (byte in b"eE" and text[-1:].isdigit())) and probe.accept_bytes(bytes((byte,))):
                todo.append((probe, text + bytes((byte,))))
        assert len(todo) > before, f"nothing can follow {text!r}"
    return out


def shortest(text: str) -> Decimal:
    """What is left of a number's text where validators read a double."""
    number = float(text)
    return Decimal(repr(number)) if abs(number) < 1e300 else Decimal("inf")


def test_exactly_the_valid_arrays_are_written() -> None:
    rng = random.Random(5)
    some = 0
    for _ in range(1500 if FULL else 120):
        schema = random_schema(rng)
        _, judge = validators(schema)
        nested = "enum" not in schema["items"] if isinstance(schema["items"], dict) else False
        inner = schema["items"] if nested else schema
        parts = [inner["items"], *inner.get("prefixItems", [])]
        values = [v for v in VALUES if any(p and any(v is w for w in p["enum"]) for p in parts)]
        arrays = [list(a) for n in range(inner["maxItems"] + 1) for a in itertools.product(values, repeat=n)]
        if nested:
            inside = [a for a in arrays if validators(inner)[1](a)]
            if len(inside) > 40:
                continue
            arrays = [list(a) for n in range(3) for a in itertools.product(inside, repeat=n)]
        wanted = {json.dumps(a, sort_keys=True) for a in arrays if judge(a)}
        if len(wanted) > 600:
            continue
        some += bool(wanted)
        assert written(schema) == wanted, schema
    assert some > 30


WALKED: dict[str, Any] = {
    "two places": {"type": "array", "maxItems": 2, **REPEATED},
    "three places": {"type": "array", "items": {"type": ["integer", "string", "object"]}, "maxItems": 3, **REPEATED},
    "few share": {
        "type": "array",
        "prefixItems": [{"type": "integer", "minimum": 10}, {"type": "string"}, {"type": "number", "maximum": 12}],
        "items": False,
        **REPEATED,
    },
    "counted": {
        "type": "array",
        "items": {"type": ["integer", "array"]},
        "contains": {"type": "array"},
        "maxContains": 1,
        **REPEATED,
    },
    "counted and few": {
        "type": "array",
        "items": {"type": ["integer", "array"]},
        "contains": {"multipleOf": 5},
        "minContains": 2,
        "maxContains": 3,
        "maxItems": 4,
        **REPEATED,
    },
    "few values": {"type": "array", "items": {"type": "boolean"}, "minItems": 3, "maxItems": 5, **REPEATED},
    "objects": {
        "type": "array",
        "items": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        "maxItems": 2,
        **REPEATED,
    },
    "a place without a value ahead": {"type": "array", "prefixItems": [{}, {}, False], **REPEATED},
    "either differ or few": {
        "type": "array",
        "oneOf": [{"uniqueItems": True}, {"maxItems": 2}, {"contains": {"const": 1}}],
    },
    "members": {
        "type": "object",
        "additionalProperties": {"type": "array", "items": {"type": "number"}, "maxItems": 3, **REPEATED},
    },
    "inside each other": {
        "type": "array",
        "maxItems": 2,
        "items": {"type": "array", "items": {"type": "integer"}, "maxItems": 3, **REPEATED},
        **REPEATED,
    },
    "differing arrays of equal items": {
        "type": "array",
        "items": {"type": "array", "items": {"type": "integer"}, "maxItems": 2, **REPEATED},
        "uniqueItems": True,
    },
    "neither counted nor differing": {
        "type": "array",
        "not": {"anyOf": [{"uniqueItems": True}, {"contains": {"type": "string"}}, {"minItems": 4}]},
    },
}  # fmt: skip


@pytest.mark.parametrize("name", WALKED)
def test_masks_walks_and_endings(name: str) -> None:
    schema = WALKED[name]
    rng = random.Random(name)
    compiled = constrain.json_schema(schema).compile(small_vocabulary())
    judges = validators(schema)
    for _ in range(60 if FULL else 6):
        matcher, text = compiled.matcher(), b""
        for _ in range(rng.choice([3, 8, 16])):
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
        exact = json.loads(text + rest, parse_float=Decimal) == json.loads(text + rest, parse_float=shortest)
        assert not exact or not finite(value) or all(judge(value) for judge in judges), (text, rest)


def test_the_last_place_takes_only_what_was_written() -> None:
    """Exactly the tokens that go on to a value that is there, in any spelling of its strings, and then the end."""
    matcher = constrain.json_schema({"maxItems": 2, **REPEATED}).compile(small_vocabulary()).matcher()
    assert matcher.accept_bytes(b'[{"a":["\\u0061",true],"b":null}')
    for text in (b"]", b',"', b",1", b",[", b',{"a":["b"', b',{"a":["a",true]}', b',{"b":nul', b',{"c"'):
        probe = matcher.fork()
        assert probe.accept_bytes(text) == (text == b',{"b":nul'), text
    assert matcher.min_tokens_to_end == len(b',{"a":["a",true],"b":null}]')
    assert matcher.accept_bytes(b',{"b":null,"a":["a",\ntrue]}')
    assert not matcher.fork().accept_bytes(b",")
    assert matcher.accept_bytes(b"]")
    assert matcher.is_accepting


def test_a_deep_value_is_written_again() -> None:
    deep = b"[" * 150 + b"]" * 150
    matcher = constrain.json_schema({"type": "array", "maxItems": 2, **REPEATED}).compile(small_vocabulary()).matcher()
    assert matcher.accept_bytes(b"[" + deep + b"," + deep[:-1])
    assert matcher.accept_bytes(b"]]")
    assert matcher.is_accepting


def test_values_that_were_written_do_not_pile_up() -> None:
    """What the normal form learned from texts goes with the cache, and nothing changes by that."""
    compiled = constrain.json_schema({"maxItems": 3, **REPEATED}).compile(small_vocabulary(), cache_bytes=1)
    for k in range(700):
        matcher = compiled.matcher()
        assert mask_of(matcher)[ord("[")]
        assert matcher.accept_bytes(b'[%d,"%d",' % (k, k))
        assert matcher.fork().accept_bytes(b'"%d"]' % k)
        assert not matcher.accept_bytes(b'"%d"' % (k + 1))
    assert compiled._forms.lists < 1100


def test_what_is_left_out_and_what_is_too_much_is_named() -> None:
    grammar = constrain.json_schema({"maxItems": 2, **REPEATED})
    assert [n.pointer for n in grammar.narrowings if n.keyword == "uniqueItems"] == ["/not"]
    many = {"prefixItems": [{"const": k} for k in range(300)], "items": False, **REPEATED}
    with pytest.raises(constrain.ResourceLimitError) as caught:
        constrain.json_schema({"type": "array", **many})
    assert caught.value.keyword == "uniqueItems"
    with pytest.raises(constrain.UnsatisfiableSchemaError):
        constrain.json_schema(
            {"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "items": False, **REPEATED}
        )
