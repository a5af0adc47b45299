"""A batch in one call does what its sequences do one by one."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import constrain
from constrain.engine import batch
from tests.engine.schemas import CASES
from tests.oracles import VOCABULARIES, Walker, compiled

NAMES = ["anything", "open object", "pattern and length", "recursive tree", "unique items of a tuple"]


def _matchers(vocabulary: str, count: int, rng: random.Random) -> list[Any]:
    """Matchers of several grammars, some steps into a text; a few have ended."""
    walker = Walker(VOCABULARIES[vocabulary](), rng)
    out = []
    for i in range(count):
        matcher = compiled(CASES[NAMES[i % len(NAMES)]].schema, vocabulary).matcher()
        for _ in range(rng.randrange(12)):
            chosen = walker.choose(_single(matcher, walker.size))
            if chosen is None:
                break
            assert matcher.accept_token(chosen)
        out.append(matcher)
    return out


def _single(matcher: Any, size: int) -> np.ndarray[Any, Any]:
    row = np.zeros((size + 31) // 32, dtype=np.int32)
    matcher.fill_next_token_bitmask(row)
    return np.unpackbits(row.view(np.uint8), bitorder="little")[:size].astype(bool)


@pytest.mark.parametrize("cores", [1, 3])
def test_masks_and_steps_are_those_of_each_sequence(cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(cores)
    monkeypatch.setattr(batch, "_BYTES_PER_THREAD", 400)
    monkeypatch.setattr(batch, "thread_count", lambda: cores)
    tokens = VOCABULARIES["mixed"]()
    size = len(tokens.bytes_of)
    words = (size + 31) // 32
    matchers = _matchers("mixed", 30, rng)
    alone = [m.fork() for m in matchers]
    for step in range(15):
        rows = np.full((40, words + 1), 0x5A5A5A5A, dtype=np.int32 if step % 2 else np.uint32)
        places = rng.sample(range(40), len(matchers))
        constrain.fill_next_token_bitmasks(matchers, rows, places)
        chosen = []
        for matcher, place in zip(alone, places, strict=True):
            expected = np.zeros(words + 1, dtype=np.int32)
            matcher.fill_next_token_bitmask(expected)
            assert (rows[place].view(np.int32) == expected).all()
            bits = np.flatnonzero(np.unpackbits(expected.view(np.uint8), bitorder="little"))
            # Now and then a token that is refused, does not exist or comes after the end.
            chosen.append(int(rng.choice(bits)) if bits.size and rng.random() < 0.8 else rng.randrange(size + 5))
        untouched = set(range(40)) - set(places)
        assert (rows[sorted(untouched)] == 0x5A5A5A5A).all()
        assert constrain.accept_tokens(matchers, chosen) == [
            m.accept_token(t) for m, t in zip(alone, chosen, strict=True)
        ]
        assert [m.num_accepted for m in matchers] == [m.num_accepted for m in alone]
        if step == 7:
            matchers[0].compiled.clear_cache()
            matchers[3].rollback(min(2, matchers[3].num_accepted))
            alone[3].rollback(min(2, alone[3].num_accepted))


def test_torch_rows() -> None:
    torch = pytest.importorskip("torch")
    matchers = _matchers("mixed", 6, random.Random(5))
    words = matchers[0].compiled.bitmask_words
    rows, expected = torch.zeros((6, words), dtype=torch.int32), np.zeros((6, words), dtype=np.int32)
    constrain.fill_next_token_bitmasks(matchers, rows)
    for i, matcher in enumerate(matchers):
        matcher.fill_next_token_bitmask(expected, i)
    assert (rows.numpy() == expected).all()
    assert constrain.accept_tokens([], np.zeros(0, dtype=np.int64)) == []


def test_misuse_is_an_error() -> None:
    matchers = _matchers("mixed", 3, random.Random(6))
    words = matchers[0].compiled.bitmask_words
    with pytest.raises(ValueError, match="3 sequences do not fit"):
        constrain.fill_next_token_bitmasks(matchers, np.zeros((2, words), dtype=np.int32))
    with pytest.raises(ValueError, match="3 sequences do not fit"):
        constrain.fill_next_token_bitmasks(matchers, np.zeros((3, words), dtype=np.int32), [0, 1, -1])
    with pytest.raises(ValueError, match="words"):
        constrain.fill_next_token_bitmasks(matchers, np.zeros((3, words - 1), dtype=np.int32))
    with pytest.raises(TypeError, match="int32"):
        constrain.fill_next_token_bitmasks(matchers, np.zeros((3, words), dtype=np.int64))
    with pytest.raises(ValueError, match="as many tokens"):
        constrain.accept_tokens(matchers, [1, 2])


def test_bitmasks_of_other_layouts() -> None:
    """Rows with gaps between their words are filled as well, and memory that must not be written to is not."""
    tokens = VOCABULARIES["mixed"]()
    words = (len(tokens.bytes_of) + 31) // 32
    matchers = _matchers("mixed", 5, random.Random(1))
    expected = np.zeros((5, words), dtype=np.int32)
    for matcher, row in zip(matchers, expected, strict=True):
        matcher.fill_next_token_bitmask(row)
    for layout in (np.s_[:, ::2], np.s_[:, words:], np.s_[::2, :words], np.s_[::-2, 3 : 3 + words]):
        whole = np.full((10, 2 * words), 0x5A5A5A5A, dtype=np.int32)
        part = whole[layout]
        other = np.ones(whole.shape, dtype=bool)
        other[layout][:5] = False
        for _ in range(2):
            constrain.fill_next_token_bitmasks(matchers, part, range(5))
        assert (part[:5] == expected).all()
        assert (whole[other] == 0x5A5A5A5A).all()
    for locked in (expected.copy(), np.broadcast_to(np.zeros(words, dtype=np.int32), (5, words))):
        locked.flags.writeable = False
        before = locked.copy()
        with pytest.raises(ValueError, match="read-only"):
            constrain.fill_next_token_bitmasks(matchers, locked)
        assert (locked == before).all()
