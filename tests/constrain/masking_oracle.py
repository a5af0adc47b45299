"""Masked logits by brute force: one bit, one score at a time, on integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

DTYPES = ("float16", "bfloat16", "float32", "float64")
UNSIGNED = {"float16": np.uint16, "bfloat16": np.uint16, "float32": np.uint32, "float64": np.uint64}
MINUS_INFINITY = {"float16": 0xFC00, "bfloat16": 0xFF80, "float32": 0xFF80_0000, "float64": 0xFFF0_0000_0000_0000}
# Written down by hand from the formats: -1e29 and -1e30; in float16, half of the lowest number and the lowest.
OVER = {
    "float16": (0xF7FF, 0xFBFF),
    "bfloat16": (0xEFA2, 0xF14A),
    "float32": (0xEFA1_8F08, 0xF149_F2CA),
    "float64": (0xC5F4_31E0_FAE6_D721, 0xC629_3E59_39A0_8CEA),
}
# Zeros, infinities, quiet and signalling NaN with payloads, subnormals: what arithmetic would change.
SPECIAL = {
    "float16": (0, 0x8000, 0x7C00, 0xFC00, 0x7E01, 0x7D01, 0xFE77, 1),
    "bfloat16": (0, 0x8000, 0x7F80, 0xFF80, 0x7FC1, 0x7F81, 0xFFC7, 1),
    "float32": (0, 1 << 31, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0001, 0x7F80_0001, 0xFFC0_0777, 1),
    "float64": (0, 1 << 63, 0x7FF << 52, 0xFFF << 52, (0x7FF8 << 48) + 1, (0x7FF << 52) + 1, (0xFFF8 << 48) + 7, 1),
}


def is_allowed(words: Any, token: int) -> bool:
    return token < 32 * len(words) and (int(words[token // 32]) >> (token % 32)) & 1 == 1


def masked(bits: Any, bitmask: Any, codes: Sequence[int], dtype: str, *, repair: bool = False) -> tuple[Any, bool]:
    """What becomes of logits, given as the integers of their bits, and whether a row was repaired.

    A code is a row of the bitmask, -1 for a row that stays, or -2 - row for one that is over.
    """
    result, repaired = bits.copy(), False
    for i, code in enumerate(codes):
        if code == -1:
            continue
        words = bitmask[code if code >= 0 else -2 - code]
        allowed = [t for t in range(bits.shape[1]) if is_allowed(words, t)]
        if code < -1:
            result[i] = OVER[dtype][1]
            result[i, allowed] = OVER[dtype][0]
            continue
        result[i] = MINUS_INFINITY[dtype]
        result[i, allowed] = bits[i, allowed]
        if repair and allowed and all(result[i, t] == MINUS_INFINITY[dtype] for t in allowed):
            result[i, allowed] = 0
            repaired = True
    return result, repaired


@dataclass(frozen=True)
class Case:
    """Logits as bits, a bitmask, which of its rows belongs to which row, and how the logits lie in memory."""

    dtype: str
    bits: Any
    bitmask: Any
    codes: list[int]
    column_step: int
    row_gap: int
    transposed: bool

    def lay_out(self, bits: Any) -> Any:
        """The bits as a view of a larger array, with guards around them that must not change."""
        rows, width = bits.shape
        step = self.column_step
        if self.transposed:
            base = np.full((width * abs(step) + 1, rows + self.row_gap), 0x5A, dtype=bits.dtype)
            view = base[1::step, :rows].T if step > 0 else base[:0:step, :rows].T
        else:
            base = np.full((rows, width * abs(step) + 1 + self.row_gap), 0x5A, dtype=bits.dtype)
            view = base[:, 1 : 1 + width * abs(step)][:, ::step]
        assert view.shape == bits.shape
        view[:] = bits
        return view


@st.composite
def cases(draw: st.DrawFn, *, most_rows: int = 4, most_columns: int = 230, negative_steps: bool = True) -> Case:
    dtype = draw(st.sampled_from(DTYPES))
    rows = draw(st.integers(1, most_rows))
    width = draw(st.one_of(st.integers(1, most_columns), st.sampled_from([31, 32, 33, 64, 96, 127, 128, 160])))
    words = max(1, draw(st.integers(-2, 2)) + -(-width // 32))
    masks = draw(st.integers(1, rows + 1))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = np.dtype(UNSIGNED[dtype]).itemsize
    bits = np.frombuffer(rng.bytes(rows * width * size), dtype=UNSIGNED[dtype]).reshape(rows, width).copy()
    special = rng.random(bits.shape) < draw(st.sampled_from([0.0, 0.3, 1.0]))
    bits[special] = rng.choice(np.array(SPECIAL[dtype], dtype=UNSIGNED[dtype]), bits.shape)[special]
    bitmask = np.frombuffer(rng.bytes(masks * words * 4), dtype=np.int32).reshape(masks, words).copy()
    kinds = rng.random(bitmask.shape)
    bitmask[kinds < 0.3] = 0
    bitmask[kinds > 0.7] = -1
    for row in bits[rng.random(rows) < 0.25]:
        row[:] = MINUS_INFINITY[dtype]
    codes = [draw(st.integers(-1 - masks, masks - 1)) for _ in range(rows)]
    return Case(
        dtype,
        bits,
        bitmask,
        codes,
        draw(st.sampled_from([1, 1, 1, 2, 3, -1, -2] if negative_steps else [1, 1, 2, 3])),
        draw(st.integers(0, 3)),
        draw(st.booleans()),
    )
