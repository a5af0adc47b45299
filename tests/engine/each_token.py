"""Brute force over a whole vocabulary: every token is stepped through alone, byte by byte, in one compiled loop.

No part of the mask kernels takes part; only the transition function does.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from constrain.kernels.intern import P_MODE, P_N, P_Q, P_STACK, P_X, POS_WIDTH
from constrain.kernels.key_walk import run_token
from constrain.kernels.layout import FULL, MISS, OK
from constrain.kernels.memory import FULL_TABLE, POS, TOKEN_OFF, context, view, view32

DEAD_TOKEN = 0
FULL_SHIFT = 1 << 40


@numba.njit
def _try_each(address: int, position: int, at: int, verdicts: Any) -> int:
    """Fill `verdicts` from token `at` on; the token that needs help from outside, or their number at the end."""
    C = context(address)
    records = view(C, POS)
    record = position * POS_WIDTH
    stack, mode, q = records[record + P_STACK], records[record + P_MODE], records[record + P_Q]
    x, n = records[record + P_X], records[record + P_N]
    offsets = view32(C, TOKEN_OFF)
    for token in range(at, verdicts.size):
        code = DEAD_TOKEN
        if offsets[token] != offsets[token + 1]:
            code = run_token(C, token, 0, stack, mode, q, x, n)
        if code in (MISS, FULL):
            return -token - 1 if code == MISS else -token - 1 - FULL_SHIFT
        verdicts[token] = code == OK
    return verdicts.size


def each_token(matcher: Any, size: int) -> NDArray[np.bool_]:
    """Whether each token id may come next; shape (size,). An end id may where the text is complete.

    Not for a matcher inside an array whose items must differ, which the automaton alone does not tell.
    """
    automaton = matcher._automaton
    position = matcher._position()
    verdicts = np.zeros(size, dtype=np.bool_)
    at = 0
    while True:
        at = int(_try_each(automaton.address, position, at, verdicts))
        if at >= 0:
            break
        full = at < -FULL_SHIFT
        at = -at - 1 - (FULL_SHIFT if full else 0)
        if full:
            automaton.store.grow(int(automaton.C[FULL_TABLE]))
        else:
            automaton.supply_missing()
    for token in matcher.compiled.vocabulary.eos_token_ids:
        verdicts[token] = matcher.is_accepting
    matcher.compiled._trim()
    return verdicts
