"""Rows of a vocabulary that are derived from others: what they hold is what their definition says."""

from __future__ import annotations

import random

import numpy as np
import pytest

import constrain
from constrain.engine.compiled import terminals_of
from constrain.kernels.classes import ASCII_CLASSES, CLASS_BY_FIRST, FIRST_BYTES, NO_CLASS
from constrain.kernels.mask import TABLE_WIDTH
from tests.oracles import vocabulary


@pytest.mark.parametrize("vocabulary_name", ["smollm2", "bytes"])
def test_rows_of_limited_content(vocabulary_name: str) -> None:
    """In whatever order the limits come, a row has the tokens of so many code points and no others."""
    vocab = vocabulary(vocabulary_name)
    compiled = constrain.json_schema({"type": "string", "maxLength": 5}).compile(vocab)
    store, terminals = compiled._automaton.store, terminals_of(vocab)
    limits = [*range(70)]
    random.Random(3).shuffle(limits)
    for table in range(2):
        at, count, whole = terminals._table[table * TABLE_WIDTH : table * TABLE_WIDTH + 3].tolist()
        pairs = terminals._cross[at : at + 2 * count].reshape(-1, 2)
        for limit in limits:
            number = terminals.limited_row(store, table, limit)
            wanted = set(pairs[pairs[:, 1] <= limit, 0].tolist())
            assert _tokens(terminals._rows[number * terminals.words :][: terminals.words]) == wanted, (table, limit)
        if whole >= 0:
            assert _tokens(terminals._rows[whole * terminals.words :][: terminals.words]) == set(pairs[:, 0].tolist())


def test_rows_of_loops() -> None:
    """The tokens whose characters are all of some classes of ASCII, and the length of the longest."""
    vocab = vocabulary("smollm2")
    compiled = constrain.json_schema({"type": "string"}).compile(vocab)
    store, terminals = compiled._automaton.store, terminals_of(vocab)
    rng = random.Random(5)
    for _ in range(12):
        classes = rng.sample(range(ASCII_CLASSES), rng.randint(1, ASCII_CLASSES))
        members = {b for c in classes for b in FIRST_BYTES[c]}
        assert all(CLASS_BY_FIRST[b] < NO_CLASS for b in members)
        number = terminals.loop_row(store, sum(1 << c for c in classes))
        found = _tokens(terminals._rows[number * terminals.words :][: terminals.words])
        wanted = {i for i, text in enumerate(vocab.token_bytes) if text and set(text) <= members}
        assert {i for i in found if vocab.token_bytes[i]} == wanted
        assert terminals._sizes[number] >= max((len(vocab.token_bytes[i] or b"") for i in wanted), default=0)


def _tokens(row: np.ndarray) -> set[int]:  # type: ignore[type-arg]
    return set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist())
