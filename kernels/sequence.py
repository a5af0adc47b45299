"""One step of one sequence: the two calls that a sampling loop makes for each token.

They do the usual case without a lock (see `automaton_lock.py` of the engine), and give a code back for every other one:
a mask that is not there yet, a piece that has to be supplied, a sequence that has ended (its position is negative), an
automaton that is locked or has a layer above it.

Of what is left most is Python's own: numba's dispatcher looks at the types of all arguments, which takes as long as
the step of a short token. `entry_points` leaves it out, so its callers answer for the types.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from numba.core import types

from .intern import P_ROW, POS_WIDTH
from .jit import entry_point, njit
from .mask import REFUSED, accept_token, row_of
from .memory import LAYERED, LENGTHS, LOCKED, POS, ROW_WORDS, ROWS, TOKEN_OFF, context, view, view32
from .step import MISS, OK


@njit(nogil=False)
def follow(address: int, position: int, token: int) -> int:
    """The position after a token; REFUSED, also for ids without bytes or outside the vocabulary; or MISS, FULL."""
    C = context(address)
    if position < 0 or C[LOCKED] != 0 or C[LAYERED] != 0:
        return MISS
    if token < 0 or token + 1 >= C[LENGTHS + TOKEN_OFF]:
        return REFUSED
    return accept_token(address, position, token)


@njit(nogil=False)
def write_row(address: int, position: int, out: Any, index: int) -> int:
    """Write the mask of a position into row `index` of `out` (int32, rows x words, extra words are cleared).

    OK; or MISS where the mask is not there yet or has no such place, and then nothing is written.
    """
    C = context(address)
    words = C[ROW_WORDS]
    if position < 0 or C[LOCKED] != 0 or C[LAYERED] != 0:
        return MISS
    row = view(C, POS)[position * POS_WIDTH + P_ROW]
    if row < 0 or index < 0 or index >= out.shape[0] or out.shape[1] < words:
        return MISS
    _copy(C, row, out, index)
    return OK


@njit
def fill_row(address: int, position: int, out: Any, index: int) -> int:
    """As `write_row`, for a caller who holds the lock; a mask that is not there yet is computed. OK, MISS or FULL."""
    C = context(address)
    if position < 0 or C[LAYERED] != 0 or index < 0 or index >= out.shape[0] or out.shape[1] < C[ROW_WORDS]:
        return MISS
    row = row_of(C, position)
    if row < 0:
        return row
    _copy(C, row, out, index)
    return OK


@njit
def _copy(C: Any, row: int, out: Any, index: int) -> None:
    rows, words = view32(C, ROWS), C[ROW_WORDS]
    base = row * words
    for i in range(words):
        out[index, i] = rows[base + i]
    for i in range(words, out.shape[1]):
        out[index, i] = 0


_Fill = Callable[[int, int, Any, int], int]


@functools.lru_cache(maxsize=1)
def entry_points() -> tuple[Callable[[int, int, int], int], _Fill, _Fill]:
    """`follow`, `write_row` and `fill_row` without a dispatcher, compiled on first use in a process.

    Integers must be int, and `out` a writable, aligned and contiguous array of int32 with two dimensions.
    """
    number = types.int64
    out = types.Array(types.int32, 2, "C")
    filling = (number, number, out, number)
    return entry_point(follow, (number,) * 3), entry_point(write_row, filling), entry_point(fill_row, filling)
