"""Many sequences in one call: the masks that are soon made are written, the tokens that need no help are accepted.

Sequences of several automata may come together, each with the address of its context. What needs help from outside is
left, and told by its code.

`write_rows` and `follow_all` keep the interpreter's lock and look at each automaton's own, as the kernels for a single
step do; see `sequence.py`. `copy_rows` is for several threads at once and for a caller who holds all locks.
"""

from __future__ import annotations

from typing import Any

from .intern import NO_MASK, P_ROW, POS_WIDTH
from .jit import njit
from .layout import MISS, OK
from .memory import POS, context, view
from .packed import copy_mask
from .sequence import follow, write_row

TRACKED = 1 << 40
"""Positions from here on are not the automaton's own."""
ENDED = -1
"""In place of a position: the end of the sequence was accepted."""


@njit(nogil=False)
def write_rows(addresses: Any, positions: Any, indices: Any, out: Any, codes: Any) -> None:
    """Write the masks of all sequences into their rows of `out` (int32, rows x words, contiguous).

    `addresses`, `positions` and `indices` (rows of `out`) are int64; `codes` (int8) gets OK, or MISS for a mask that
    takes a while or help. Words beyond the vocabulary are cleared; after the end nothing is allowed.
    """
    for i in range(positions.size):
        if positions[i] == ENDED:
            out[indices[i]] = 0
            codes[i] = OK
        else:
            codes[i] = write_row(addresses[i], positions[i], out, indices[i])


@njit
def copy_rows(addresses: Any, positions: Any, indices: Any, out: Any, start: int, stop: int, codes: Any) -> None:
    """As `write_rows`, of the masks of sequences `start` .. `stop` - 1 that are there; `out` need not be contiguous.

    Nothing but `out` and `codes` is written, so that parts of one batch may run at the same time.
    """
    for i in range(start, stop):
        position = positions[i]
        codes[i] = MISS
        if position == ENDED:
            out[indices[i]] = 0
            codes[i] = OK
        if position < 0 or position >= TRACKED:
            continue
        C = context(addresses[i])
        row = view(C, POS)[position * POS_WIDTH + P_ROW]
        if row != NO_MASK:
            copy_mask(C, row, out.ctypes.data + indices[i] * out.strides[0], out.shape[1])
            codes[i] = OK


@njit(nogil=False)
def follow_all(addresses: Any, positions: Any, tokens: Any, results: Any) -> None:
    """The position of each sequence after its token, or REFUSED, MISS or FULL; all arrays are int64.

    MISS for a sequence whose address is given as 0.
    """
    for i in range(positions.size):
        results[i] = follow(addresses[i], positions[i], tokens[i]) if addresses[i] != 0 else MISS
