"""Telling packed rows apart by what is in them.

Many sequences, and many steps of one, have the same mask. A hash finds rows that may be equal; they are then compared
word by word, so a collision costs time and never gives a wrong row. The hash is the sum of words times random keys: one
multiplication a word, no dependency between them, so the compiler makes vector instructions of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .jit import njit

_BLOCK = 128  # words compared without a branch


@njit
def hash_rows(bitmask: Any, keys: Any, hashes: Any) -> None:
    """Hashes of the rows of a bitmask: int32 (rows, words), random odd uint64 (words,), uint64 (rows,)."""
    for i in range(bitmask.shape[0]):
        total = np.uint64(0)
        for w in range(bitmask.shape[1]):
            total += np.uint64(np.uint32(bitmask[i, w])) * keys[w]
        hashes[i] = total


@njit
def equal_rows(a: Any, of_a: Any, b: Any, of_b: Any, equal: Any) -> None:
    """Whether row `of_a[k]` of `a` equals row `of_b[k]` of `b`: int32 (rows, words), int64 (k,), and bool (k,)."""
    words = a.shape[1]
    for k in range(of_a.size):
        x, y = a[of_a[k]], b[of_b[k]]
        start, same = 0, True
        while same and start + _BLOCK <= words:
            differ = np.uint32(0)
            for w in range(_BLOCK):
                differ |= np.uint32(x[start + w]) ^ np.uint32(y[start + w])
            same = differ == 0
            start += _BLOCK
        for w in range(start, words):
            same = same and x[w] == y[w]
        equal[k] = same
