"""Law 3, first half: whether a byte string is accepted does not depend on how it is cut, into tokens or otherwise."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.engine.case import Case
from tests.engine.schemas import CASES
from tests.oracles import FULL, VOCABULARIES, accepts, allowed, compiled, tokenise

ROUNDS = 20 if FULL else 2


def _texts(case: Case, rng: random.Random) -> Iterator[bytes]:
    """Texts of the case's values in several styles, and each with one byte changed, dropped, doubled or cut."""
    for value in case.valid + case.invalid:
        text = json.dumps(value, ensure_ascii=rng.random() < 0.3, indent=rng.choice([None, None, 2]))[:200].encode()
        yield text
        at = rng.randrange(len(text))
        yield text[:at] + rng.choice([b'"', b"}", b"0", b"a", b"\\", b"\xc3", b" ", b",", b"\x00"]) + text[at + 1 :]
        yield text[:at] + text[at + 1 :]
        yield text[:at] + text[at : at + 1] + text[at:]
        yield text[:at]


def _accepted_prefix(grammar: Any, text: bytes) -> int:
    """How many bytes are accepted one at a time."""
    matcher = grammar.matcher()
    for n, byte in enumerate(text):
        if not matcher.accept_bytes(bytes([byte])):
            return n
    return len(text)


@pytest.mark.parametrize("vocabulary_name", ["mixed", "smollm2", "tekken"])
def test_verdict_does_not_depend_on_the_cut(vocabulary_name: str) -> None:
    tokens = VOCABULARIES[vocabulary_name]()
    names = list(CASES) if FULL or vocabulary_name == "mixed" else list(CASES)[5::6]
    for name in names:
        grammar = compiled(CASES[name].schema, vocabulary_name)
        rng = random.Random(zlib.crc32(name.encode()))
        for text in _texts(CASES[name], rng):
            good = _accepted_prefix(grammar, text)
            whole = grammar.matcher()
            assert whole.accept_bytes(text) == (good == len(text)), (name, text, good)
            if any(b not in tokens.single for b in text):
                continue
            for round_ in range(ROUNDS + 1):
                ids = [tokens.single[b] for b in text] if round_ == 0 else tokenise(text, tokens, rng)
                matcher, at = grammar.matcher(), 0
                for i in ids:
                    piece = tokens.bytes_of[i] or b""
                    expected = at + len(piece) <= good
                    if round_ == 1:
                        assert bool(allowed(matcher, len(tokens.bytes_of))[i]) == expected, (name, text[:at], piece)
                    assert matcher.accept_token(i) == expected, (name, text[:at], piece, good)
                    if not expected:
                        # Refused whole: the state is that before the token, so its good bytes may still come alone.
                        assert matcher.accept_bytes(text[at:good]), (name, text[:at], piece)
                        break
                    at += len(piece)
                else:
                    assert matcher.is_accepting == whole.is_accepting, (name, text)


def test_every_two_way_cut_of_multi_byte_text() -> None:
    """Cuts inside UTF-8 sequences and inside escapes."""
    text = '{"ключ":2,"":-10,"\\u043Aлюх":"\\ud83d\\ude00é😀","y":[1.25e3,"\\\\"]}'.encode()
    schema = {
        "type": "object",
        "properties": {
            "": {"type": "integer"},
            "ключ": {"type": "integer"},
            "y": {"prefixItems": [{"type": "number"}]},
        },
        "required": ["ключ"],
    }
    grammar = compiled(schema)
    assert accepts(grammar, text)
    for cut in range(len(text) + 1):
        matcher = grammar.matcher()
        assert matcher.accept_bytes(text[:cut]), cut
        middle = matcher.fork()
        assert matcher.accept_bytes(text[cut:]), cut
        assert matcher.is_accepting
        assert not middle.accept_bytes(b"\xc0"), "0xC0 is never part of UTF-8"
        assert middle.accept_bytes(text[cut:])


@pytest.mark.parametrize(
    "text",
    [
        b'"\xff"',
        b'"\xc3"',
        b'"\xc3\x28"',
        b'"\xed\xa0\x80"',
        b'"\xf4\x90\x80\x80"',
        b'"\xc0\x80"',
        b'"\xe0\x80\x80"',
        b'"\xf0\x80\x80\x80"',
    ],
)
def test_malformed_utf8_is_refused(text: bytes) -> None:
    for schema in (
        True,
        {"type": "string"},
        {"type": "string", "minLength": 1, "maxLength": 4},
        {"type": "string", "pattern": "^."},
    ):
        assert not accepts(compiled(schema), text)
        assert not accepts(compiled({"type": ["object", "string"]}), b"{" + text + b":1}")


def test_empty_bytes_change_nothing() -> None:
    matcher = compiled(CASES["closed address"].schema).matcher()
    assert matcher.accept_bytes(b"")
    assert matcher.accept_bytes(b'{"zip"')
    assert matcher.accept_bytes(b"")
    assert not matcher.accept_bytes(b": 1")
    assert matcher.accept_bytes(b': "12345", "street": "x"}')
    assert matcher.is_accepting
