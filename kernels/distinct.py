"""The different numbers of a row, and where they are."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types
from numpy.typing import NDArray

from .jit import entry_point, njit

SIZE = 256


@njit
def _distinct(row: Any, values: Any, column: Any) -> int:
    """Fill `values` and `column` as `distinct` returns them; returns how many values there are."""
    values[0] = 0
    count = 1
    last = 0
    for i in range(SIZE):
        if row[i] != values[last]:  # neighbours are often equal
            last = 0
            while last < count and values[last] != row[i]:
                last += 1
            if last == count:
                values[count] = row[i]
                count += 1
        column[i] = last
    return count


@functools.lru_cache(maxsize=1)
def _entries() -> dict[Any, Callable[..., int]]:
    out = types.Array(types.int64, 1, "C")
    return {
        np.dtype(kind): entry_point(_distinct, (types.Array(number, 1, "C", readonly=True), out, out))
        for kind, number in ((np.int32, types.int32), (np.int64, types.int64))
    }


def distinct(row: NDArray[Any]) -> tuple[list[int], NDArray[np.int64]]:
    """The values of a row (int32 or int64, contiguous, shape (256,)), 0 first and else in the order of their first
    places; and by place the index of its value, int64, shape (256,).
    """
    kernel = _entries().get(row.dtype)
    if kernel is None or row.shape != (SIZE,) or row.strides != (row.itemsize,):
        raise ValueError(f"a row has {SIZE} numbers of 32 or 64 bits, not {row.shape} of {row.dtype}")
    values, column = np.empty(SIZE + 1, dtype=np.int64), np.empty(SIZE, dtype=np.int64)
    count = kernel(row, values, column)
    return values[:count].tolist(), column
