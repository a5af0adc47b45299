"""Masking logits on the CPU: one pass over memory, whole words of the bitmask at a time."""

from __future__ import annotations

from typing import Any

from .jit import njit


@njit
def apply_rows(logits: Any, bitmask: Any, rows: Any, value: float) -> None:
    """Set the logits of tokens whose bit is 0 to `value`, in place.

    `logits` is float32 or float64 (n, width); `bitmask` int32 (m, words); `rows` int64 (n,) names the bitmask row of
    each row of logits, negative for "leave alone". Tokens beyond the bitmask's words are not allowed.
    """
    count, width = logits.shape
    words = bitmask.shape[1]
    for i in range(count):
        row = rows[i]
        if row < 0:
            continue
        for w in range((width + 31) // 32):
            bits = bitmask[row, w] if w < words else 0
            if bits == -1:
                continue
            base = 32 * w
            stop = min(32, width - base)
            if bits == 0:
                for b in range(stop):
                    logits[i, base + b] = value
                continue
            for b in range(stop):
                if (bits >> b) & 1 == 0:
                    logits[i, base + b] = value
