"""One step of one sequence: the two calls that a sampling loop makes for each token.

They do the usual case without a lock (see `automaton_lock.py` of the engine), and give a code back for every other one:
a mask that takes long to compute, a piece that has to be supplied, a sequence that has ended (its position is
negative), an automaton that is locked or has a layer above it.

Of what is left most is Python's own: numba's dispatcher looks at the types of all arguments, which takes as long as
the step of a short token. `entry_points` leaves it out, so its callers answer for the types.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from numba.core import types

from .intern import F_STATE, FRAME_WIDTH, NO_MASK, P_MODE, P_N, P_Q, P_ROW, P_STACK, POS_WIDTH
from .jit import entry_point, njit
from .layout import COUNTED, FST_WIDTH, KEY, MISS, OK, Q_FLAGS, Q_FREE, Q_READY, RAW, S_KEYS, STATE_WIDTH, STRING
from .mask import REFUSED, accept_token, row_of
from .memory import (
    FRAMES,
    FREE_TEXT_STATE,
    FST,
    LAYERED,
    LENGTHS,
    LOCKED,
    POS,
    RESUME,
    ROW_WORDS,
    STATE,
    TOKEN_OFF,
    WIRE,
    context,
    view,
)
from .packed import copy_mask, is_code


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

    OK; or MISS where the mask is not there yet, and takes a while or help, or has no such place; then nothing is
    written.
    """
    C = context(address)
    words = C[ROW_WORDS]
    if position < 0 or C[LOCKED] != 0 or C[LAYERED] != 0:
        return MISS
    if index < 0 or index >= out.shape[0] or out.shape[1] < words:
        return MISS
    row = view(C, POS)[position * POS_WIDTH + P_ROW]
    if row == NO_MASK:
        if not _is_narrow(C, position):
            return MISS
        row = row_of(C, position)
        if is_code(row):
            return MISS
    copy_mask(C, row, out.ctypes.data + 4 * index * out.shape[1], out.shape[1])
    return OK


@njit
def _is_narrow(C: Any, position: int) -> bool:
    """Whether few nodes of the vocabulary's trie are looked at to compute a mask that is not begun yet."""
    records = view(C, POS)
    at = position * POS_WIDTH
    mode = records[at + P_MODE]
    if mode == RAW or C[WIRE] != 0 or C[RESUME] != 0:
        return False
    if mode == STRING:
        state = view(C, STATE)
        q = records[at + P_Q] * STATE_WIDTH
        return (state[q + Q_FREE] != 0 and state[q + Q_FLAGS] & COUNTED == 0) or state[q + Q_READY] != 0
    if mode == KEY and records[at + P_N] >> 60 != 0:
        frame = view(C, FRAMES)[records[at + P_STACK] * FRAME_WIDTH + F_STATE]
        return view(C, FST)[frame * FST_WIDTH + S_KEYS] == C[FREE_TEXT_STATE]
    return True


@njit
def fill_row(address: int, position: int, out: Any, index: int) -> int:
    """As `write_row`, for a caller who holds the lock; any mask that is not there yet is computed.

    OK, MISS or FULL; or REFUSED where there is no such place, or the automaton has a layer above it.
    """
    C = context(address)
    if position < 0 or C[LAYERED] != 0 or index < 0 or index >= out.shape[0] or out.shape[1] < C[ROW_WORDS]:
        return REFUSED
    row = row_of(C, position)
    if is_code(row):
        return row
    copy_mask(C, row, out.ctypes.data + 4 * index * out.shape[1], out.shape[1])
    return OK


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
