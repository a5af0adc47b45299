"""The oracles themselves, on a matcher small enough to be right by inspection: planted faults must be caught."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tests.oracles import (
    Tokens,
    Walker,
    allowed,
    brute_force,
    byte_tokens,
    has_narrowable_number,
    mixed_tokens,
    plain_numbers,
    resolve_pointer,
    tokenise,
    verdict,
)


class FiniteMatcher:
    """Accepts one of a few texts. `fault` plants a mistake."""

    def __init__(self, texts: list[bytes], tokens: Tokens, fault: str = "", written: bytes = b"") -> None:
        self.texts, self.tokens, self.fault, self.written = texts, tokens, fault, written

    def _live(self, prefix: bytes) -> bool:
        return any(t.startswith(prefix) for t in self.texts)

    def fork(self) -> FiniteMatcher:
        return FiniteMatcher(self.texts, self.tokens, self.fault, self.written)

    def matcher(self) -> FiniteMatcher:
        return self.fork()

    def accept_bytes(self, data: bytes) -> bool:
        if not self._live(self.written + data):
            return False
        self.written += data
        return True

    def accept_token(self, token: int) -> bool:
        return self.accept_bytes(self.tokens.bytes_of[token] or b"")

    @property
    def is_accepting(self) -> bool:
        return self.written in self.texts

    @property
    def min_tokens_to_end(self) -> int:
        if self.fault == "distance" and len(self.written) == 2:
            return 1
        return min(len(t) - len(self.written) for t in self.texts if t.startswith(self.written))

    def fill_next_token_bitmask(self, rows: Any, index: int = 0) -> None:
        bits = np.zeros(rows.shape[1] * 32, dtype=bool)
        for i, t in enumerate(self.tokens.bytes_of):
            bits[i] = self.is_accepting if i in self.tokens.eos else bool(t) and self._live(self.written + (t or b""))
        if self.fault == "bit":
            bits[ord("q")] ^= True
        if self.fault == "stray":
            bits[-1] = True
        packed = np.packbits(bits, bitorder="little").view(np.int32)
        if self.fault == "half":
            rows[index, :-1] = packed[:-1]
        else:
            rows[index] = packed
        if self.fault == "spill":
            rows[index - 1, 0] = 0


TEXTS = [b"true", b'"tr"', b"[tr]", b"tru"]


@pytest.mark.parametrize("tokens", [byte_tokens(), mixed_tokens()], ids=lambda t: t.name)
def test_a_right_matcher_passes(tokens: Tokens) -> None:
    every = np.arange(len(tokens.bytes_of))
    walker = Walker(tokens, random.Random(0))
    for matcher in walker.positions(FiniteMatcher(TEXTS, tokens), 30):
        assert (allowed(matcher, len(every)) == brute_force(matcher, tokens, every)).all()
        assert matcher.written + walker.finish(matcher) in TEXTS


def test_one_wrong_bit_is_seen() -> None:
    tokens = byte_tokens()
    matcher = FiniteMatcher(TEXTS, tokens, "bit")
    wrong = np.flatnonzero(allowed(matcher, 257) != brute_force(matcher, tokens, range(257)))
    assert wrong.tolist() == [ord("q")]


@pytest.mark.parametrize("fault", ["stray", "half", "spill"])
def test_rows_written_wrongly_are_seen(fault: str) -> None:
    with pytest.raises(AssertionError):
        allowed(FiniteMatcher(TEXTS, byte_tokens(), fault), 257)


def test_a_distance_that_cannot_be_walked_down_is_seen() -> None:
    with pytest.raises(AssertionError, match="no byte lowers"):
        Walker(byte_tokens(), random.Random(0)).finish(FiniteMatcher([b"true"], byte_tokens(), "distance"))


def test_random_cuts_are_cuts() -> None:
    tokens, rng = mixed_tokens(), random.Random(1)
    text = '{"name":"é😀","names":[true,null,1.5e10]}'.encode()
    cuts = {tuple(tokenise(text, tokens, rng)) for _ in range(30)}
    assert len(cuts) > 10
    assert all(b"".join(tokens.bytes_of[i] or b"" for i in cut) == text for cut in cuts)


def test_number_spellings() -> None:
    assert plain_numbers([1e22, 0.5, -1.0, 1e-7, {"a": 100}]) == '[10000000000000000000000,0.5,-1,0.0000001,{"a":100}]'
    for text in ("1e5", "1.50", "[1.0]", "12345678901234567890"):
        assert has_narrowable_number(text)
    for text in ("15", "1.5", "[10, 0.05]", "-100"):
        assert not has_narrowable_number(text)


def test_verdict_needs_agreement() -> None:
    assert verdict({"type": "integer"}, 1) is True
    assert verdict({"type": "integer"}, "x") is False
    assert verdict({"multipleOf": 0.01}, 4.35) is None


def test_pointers() -> None:
    document = {"a/b": [{"c~d": 5}], "": {"x": 1}}
    assert resolve_pointer(document, "") is document
    assert resolve_pointer(document, "/a~1b/0/c~0d") == 5
    assert resolve_pointer(document, "//x") == 1
    with pytest.raises(KeyError):
        resolve_pointer(document, "/nothing")
