"""Texts that the strings of a JSON value must not hold as they are.

Around a JSON value stand markers, and a reader that looks for the closing one would be misled by a string that holds
it. JSON can always say it otherwise, with an escape. How much of such a text has been read is part of a position: the
state of an automaton over the bytes as they are written, in the high bits of register x.

Mask rows are made as if nothing was forbidden, from what belongs to the vocabulary; then the few tokens that can
complete such a text are tried one by one.
"""

from __future__ import annotations

from typing import Any

from .intern import M_MARKED
from .jit import njit
from .key_walk import run_token
from .layout import DEAD, FORBIDDEN, FULL, MISS, OK
from .marks import clear_bit
from .memory import MARKS, ROWS, TOKEN_BYTES, TOKEN_OFF, WORDS, context, view, view8, view32
from .transitions import lookup


@njit
def completing_tokens(address: int, mark: int, count: int, found: Any) -> int:
    """List in `found` (int32) those of `count` tokens that complete a forbidden text from a state; their number."""
    C = context(address)
    offsets, data, marks = view32(C, TOKEN_OFF), view8(C, TOKEN_BYTES), view32(C, MARKS)
    total = 0
    for token in range(count):
        at = mark
        for i in range(offsets[token], offsets[token + 1]):
            at = marks[at * 256 + data[i]]
            if at == FORBIDDEN:
                found[total] = token
                total += 1
                break
    return total


@njit
def clear_completing(C: Any, base: int, mark: int, stack: int, mode: int, q: int, x: int, n: int) -> int:
    """Unmark the tokens that would complete a forbidden text inside a string; OK, MISS or FULL."""
    at = lookup(C, M_MARKED, mark, 0)
    if at < 0:
        return MISS
    words, rows = view(C, WORDS), view32(C, ROWS)
    for i in range(words[at] if at else 0):
        token = words[at + 1 + i]
        code = run_token(C, token, 0, stack, mode, q, x, n)
        if code == DEAD:
            clear_bit(rows, base, token)
        elif code != OK:
            return FULL if code == FULL else MISS
    return OK
