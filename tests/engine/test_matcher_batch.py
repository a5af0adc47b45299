"""Sequences kept in a batch are where each of them would be by itself, whatever befalls them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import constrain
from constrain.engine import batch
from tests.engine.schemas import CASES
from tests.oracles import VOCABULARIES, compiled

NAMES = ["anything", "open object", "pattern and length", "recursive tree", "unique items of a tuple", "unique strings"]


def _new(number: int) -> Any:
    return compiled(CASES[NAMES[number % len(NAMES)]].schema, "mixed").matcher()


def _same(one: Any, other: Any) -> None:
    assert one._accepted == other._accepted
    assert one.num_accepted == len(one._positions) - 1
    assert (one.is_terminated, one.is_accepting) == (other.is_terminated, other.is_accepting)


@pytest.mark.parametrize("rows", [1, 7, 150])
def test_a_batch_does_what_its_sequences_do(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(rows)
    size = len(VOCABULARIES["mixed"]().bytes_of)
    words = (size + 31) // 32
    alone = [_new(i) for i in range(rows)]
    together = constrain.MatcherBatch(_new(i) for i in range(rows))
    assert len(together) == rows
    for step in range(200 if rows < 100 else 80):
        if step == 40:  # from then on several threads
            monkeypatch.setattr(batch, "_BYTES_PER_THREAD", 64)
            monkeypatch.setattr(batch, "thread_count", lambda: 3)
        masks = np.full((rows + 2, words + 1), 0x5A5A5A5A, dtype=np.int32 if step % 2 else np.uint32)
        together.fill_next_token_bitmasks(masks)
        assert (masks[rows:] == 0x5A5A5A5A).all()
        expected = np.zeros((rows, words + 1), dtype=np.int32)
        for row, matcher in enumerate(alone):
            matcher.fill_next_token_bitmask(expected, row)
        assert (masks[:rows].view(np.int32) == expected).all(), step
        bits = np.unpackbits(expected.view(np.uint8), axis=1, bitorder="little")
        tokens = []
        for row in range(rows):
            allowed = np.flatnonzero(bits[row])
            # Now and then a token that is refused, does not exist or comes after the end.
            usual = allowed.size and rng.random() < 0.9
            tokens.append(int(rng.choice(allowed)) if usual else rng.randrange(-1, size + 5))
        taken = together.accept_tokens(tokens if step % 3 else np.array(tokens))
        assert taken.tolist() == [m.accept_token(t) for m, t in zip(alone, tokens, strict=True)]
        row = rng.randrange(rows)
        befalls = rng.random()
        if befalls < 0.2:
            _same(together.matcher(row), alone[row])
        elif befalls < 0.4:
            number = rng.randrange(len(NAMES))
            together.replace(row, _new(number))
            alone[row] = _new(number)
        elif befalls < 0.6:
            moved = together.matcher(row)
            count = min(3, moved.num_accepted)
            moved.rollback(count)
            alone[row].rollback(count)
            together.replace(row, moved)
        elif befalls < 0.65:
            alone[row].compiled.clear_cache()
    for row in range(rows):
        _same(together.matcher(row), alone[row])


def test_bad_input() -> None:
    together = constrain.MatcherBatch([_new(0), _new(1)])
    words = together.matcher(0).compiled.bitmask_words
    with pytest.raises(ValueError, match="2 sequences need as many tokens"):
        together.accept_tokens([1])
    for shape in ((1, words), (2, words - 1)):
        with pytest.raises(ValueError, match="do not fit"):
            together.fill_next_token_bitmasks(np.zeros(shape, dtype=np.int32))
    with pytest.raises(TypeError, match="int32"):
        together.fill_next_token_bitmasks(np.zeros((2, words), dtype=np.int64))
    assert together.matcher(0).num_accepted == 0
    empty = constrain.MatcherBatch([])
    empty.fill_next_token_bitmasks(np.zeros((0, 3), dtype=np.int32))
    assert empty.accept_tokens([]).tolist() == []


def test_torch_rows() -> None:
    torch = pytest.importorskip("torch")
    together = constrain.MatcherBatch(_new(i) for i in range(3))
    words = together.matcher(0).compiled.bitmask_words
    rows, expected = torch.zeros((3, words), dtype=torch.int32), np.zeros((3, words), dtype=np.int32)
    together.fill_next_token_bitmasks(rows)
    for i in range(3):
        _new(i).fill_next_token_bitmask(expected, i)
    assert (rows.numpy() == expected).all()


def test_an_error_in_one_row_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit that one sequence meets leaves the others, before and behind it, where they are or one token on."""
    tokens = VOCABULARIES["mixed"]()
    brace = tokens.bytes_of.index(b"{")
    taken = constrain.Matcher.accept_token

    def limited(self: Any, token: int) -> bool:
        if self is broken:
            raise constrain.ResourceLimitError("", "pattern", "too much", "states 1")
        return taken(self, token)

    matchers = [_new(i) for i in range(4)]
    assert matchers[1].accept_bytes(b"{")
    assert matchers[3].accept_bytes(b"{")  # a brace is refused there, too
    broken = matchers[1]
    together = constrain.MatcherBatch(m.fork() for m in matchers)
    before = [m.num_accepted for m in matchers]
    monkeypatch.setattr(constrain.Matcher, "accept_token", limited)
    with pytest.raises(constrain.ResourceLimitError):
        constrain.accept_tokens(matchers, [brace] * 4)
    assert broken.num_accepted == before[1]
    assert matchers[3].num_accepted == before[3]
    assert all(len(m._positions) == m.num_accepted + 1 and m._positions[-1] >= 0 for m in matchers)
    broken = together.matcher(1)
    for _ in range(3):
        with pytest.raises(constrain.ResourceLimitError):
            together.accept_tokens([brace] * 4)
    for row in range(4):
        m = together.matcher(row)
        assert len(m._positions) == m.num_accepted + 1
        assert m._positions[-1] >= 0
    assert together.matcher(3).num_accepted == before[3]
