"""Feeding an automaton many short texts from one position: what each byte of a notation means as JSON."""

from __future__ import annotations

from typing import Any

from .jit import njit
from .layout import OK
from .mask import REFUSED, accept_byte

UNKNOWN = -9
"""In place of a position: the text has not been fed yet."""


@njit
def feed_each(address: int, position: int, texts: Any, offsets: Any, out: Any) -> int:
    """Write to `out` (int64) the position after each text, REFUSED for those that cannot follow; or MISS, FULL.

    Text i is `texts[offsets[i]:offsets[i + 1]]` (uint8). Only where `out` is UNKNOWN a text is fed, so that a call goes
    on where the last one missed something.
    """
    for i in range(out.size):
        if out[i] != UNKNOWN:
            continue
        at = position
        for k in range(offsets[i], offsets[i + 1]):
            at = accept_byte(address, at, texts[k])
            if at < 0:
                break
        if at < 0 and at != REFUSED:
            return at
        out[i] = at
    return OK
