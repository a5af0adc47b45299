"""Many sequences in one call: the masks that are ready are copied, the tokens that need no help are accepted.

Sequences of several automata may come together, each with the address of its context. What needs help from outside is
left, and told by its code.
"""

from __future__ import annotations

from typing import Any

from .intern import NO_MASK, P_ROW, POS_WIDTH
from .jit import njit
from .layout import MISS, OK
from .mask import accept_token
from .memory import POS, context, view
from .packed import copy_mask

TRACKED = 1 << 40
"""Positions from here on are not the automaton's own."""


@njit
def copy_rows(addresses: Any, positions: Any, indices: Any, out: Any, start: int, stop: int, codes: Any) -> None:
    """Write the masks of sequences `start` .. `stop` - 1 into their rows of `out` (int32, rows x words, in rows).

    `addresses`, `positions` and `indices` (rows of `out`) are int64; `codes` (int8) gets OK, or MISS for a mask that
    has to be computed. Words beyond the vocabulary are cleared. Nothing but `out` and `codes` is written, so that
    parts of one batch may run at the same time.
    """
    for i in range(start, stop):
        position = positions[i]
        codes[i] = MISS
        if position >= TRACKED:
            continue
        C = context(addresses[i])
        row = view(C, POS)[position * POS_WIDTH + P_ROW]
        if row != NO_MASK:
            copy_mask(C, row, out.ctypes.data + indices[i] * out.strides[0], out.shape[1])
            codes[i] = OK


@njit
def accept_tokens(addresses: Any, positions: Any, tokens: Any, results: Any) -> None:
    """The position of each sequence after its token, or REFUSED, MISS or FULL; all arrays are int64."""
    for i in range(positions.size):
        results[i] = MISS
        if positions[i] < TRACKED:
            results[i] = accept_token(addresses[i], positions[i], tokens[i])
