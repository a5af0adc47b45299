"""Masks of few tokens are kept as the words that are not 0, and read as what they were."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import constrain
from constrain.engine.store import Store
from constrain.kernels import memory as m
from constrain.kernels.intern import NO_MASK, P_ROW, POS_WIDTH
from constrain.kernels.packed import PACKED, begin_row, copy_mask, has_room, is_code, most_words, pack
from tests.oracles import VOCABULARIES, compiled


class _Piece:
    """Memory for rows that is in use already."""

    def __init__(self, words: int) -> None:
        self.data = np.full(words, 0x5A5A5A5A, dtype=np.int32)
        self.limit = words


@settings(deadline=None)
@given(st.data())
def test_packed_rows_are_read_as_they_were(data: st.DataObject) -> None:
    words = data.draw(st.sampled_from((1, 2, 31, 32, 33, 511, 512, 513, 1024, 1700, 4096)))
    store = Store()
    store.array[m.ROW_WORDS] = words
    store.bind_rows(_Piece(3 * words))  # type: ignore[arg-type]
    C = store.array
    row = data.draw(st.integers(0, 2))
    kept: list[tuple[int, np.ndarray[Any, Any]]] = []
    for _ in range(data.draw(st.integers(1, 6))):
        count = data.draw(st.integers(0, min(words, most_words(C) + 2)))
        places = data.draw(st.lists(st.integers(0, words - 1), min_size=count, max_size=count, unique=True))
        wanted = np.zeros(words, dtype=np.int32)
        wanted[places] = data.draw(
            st.lists(st.integers(-(1 << 31), (1 << 31) - 1).filter(bool), min_size=count, max_size=count)
        )
        while not has_room(C):
            store.grow(int(C[m.FULL_TABLE]))
        begin_row(C, row)
        content = store.tables[m.ROWS][row * words :][:words]
        assert not content.any()
        content[:] = wanted
        number = pack(C, row)
        assert (number != 0) == (count <= most_words(C))
        if number == 0:
            _compare(C, row, wanted)
        else:
            assert number <= PACKED
            assert not is_code(number)
            kept.append((number, wanted))
        for known, expected in kept:
            _compare(C, known, expected)


def _compare(C: np.ndarray[Any, Any], number: int, expected: np.ndarray[Any, Any]) -> None:
    for size in (len(expected), len(expected) + 3, len(expected) - 1):
        out = np.full(size, 0x33333333, dtype=np.int32)
        copy_mask(C, number, out.ctypes.data, size)
        assert (out[: len(expected)] == expected[:size]).all()
        assert not out[len(expected) :].any()


def _masks(matcher: Any, tokens: list[int]) -> list[np.ndarray[Any, Any]]:
    """The masks on the way, each read in every way there is."""
    words = matcher.compiled.bitmask_words
    found = []
    for token in tokens:
        first = np.full((1, words), -1, dtype=np.int32)
        again = np.full((3, words + 2), -1, dtype=np.int32)
        batch = np.full((2, words), -1, dtype=np.int32)
        matcher.fill_next_token_bitmask(first)
        for _ in range(2):
            matcher.fill_next_token_bitmask(again, 1)
        constrain.fill_next_token_bitmasks([matcher, matcher], batch)
        assert (again[1, :words] == first[0]).all()
        assert not again[1, words:].any()
        assert (again[[0, 2]] == -1).all()
        assert (batch == first[0]).all()
        found.append(first[0])
        assert matcher.accept_token(token)
    return found


@pytest.mark.parametrize("name", ["mixed", "smollm2"])
def test_a_mask_is_the_same_whenever_it_is_read(name: str) -> None:
    tokens = VOCABULARIES[name]()
    single = {data[0]: i for i, data in enumerate(tokens.bytes_of) if data and len(data) == 1}
    schema = {
        "type": "object",
        "properties": {"kind": {"enum": ["one", "two"]}, "count": {"type": "integer"}, "rest": True},
        "required": ["kind", "count", "rest"],
        "additionalProperties": False,
    }
    text = json.dumps({"kind": "two", "count": 17, "rest": [None, {"a": "b"}]})
    grammar = compiled(schema, name)
    matcher = grammar.matcher()
    before = _masks(matcher, [single[b] for b in text.encode()])
    automaton = grammar._automaton
    rows = automaton.store.tables[m.POS][P_ROW::POS_WIDTH]
    assert (rows <= PACKED).any()
    automaton.store.forget_rows()
    assert ((rows <= PACKED) | (rows == NO_MASK)).all()
    matcher.reset()
    after = _masks(matcher, [single[b] for b in text.encode()])
    assert all((a == b).all() for a, b in zip(before, after, strict=True))
