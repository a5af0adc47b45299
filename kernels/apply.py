"""Masking logits on the CPU: one pass over memory, whole words of the bitmask at a time.

Scores are moved as the unsigned integers that their bits are. So one kernel serves float16, bfloat16, float32 and
float64, no score that stays is touched by arithmetic (a NaN keeps its payload), and the 32 choices of a word become
a few vector instructions without a branch. Only a few words at once that allow everything are told apart, and skipped,
for masks that allow nearly all; a branch for words that allow nothing costs more than it saves, since storing to a line
of memory fetches it anyway.

Tensors of numpy and torch come as addresses and strides, which spares the kernel a version for each layout. Rows whose
elements are not next to each other take a plain loop.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import carray
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from .jit import entry_point, njit
from .memory import _pointer

LEAVE = -1
"""In the place of a row of the bitmask: the scores stay as they are."""

# Constants in the place of shifts: the choice of a lane becomes one test of a vector register.
_LANES = np.uint32(1) << np.arange(32, dtype=np.uint32)

_GROUP = 4
"""Words that are skipped together. A branch for each word is mispredicted at every other one where some 98 % of the
tokens are allowed, which costs more than to go over all of them; long runs of allowed tokens are skipped either way."""

_pointer_row = _pointer(types.int32)
_pointer_flag = _pointer(types.uint8)

KINDS = {2: np.zeros(0, np.uint16), 4: np.zeros(0, np.uint32), 8: np.zeros(0, np.uint64)}
"""What tells `apply_rows` the integers that the scores are, by their bytes. Each is compiled when first used."""


@intrinsic
def _pointer_to(typingctx: Any, kind: Any, address: Any) -> Any:  # noqa: ARG001
    """A pointer to elements of the dtype of `kind`."""
    target = types.CPointer(kind.dtype)

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[1], context.get_value_type(target))

    return target(kind, types.int64), codegen


def over(row: Any) -> Any:
    """In the place of row `row` (a number, or an array) of the bitmask: no score stays, the row tells which it gets."""
    return -2 - row


@njit(inline="always")
def _cut_word(x: Any, bits: Any, base: int, v: Any) -> None:
    for b in range(32):
        x[base + b] = x[base + b] if bits & _LANES[b] else v


@njit(lanes=True)
def _cut(x: Any, mask: Any, words: int, value: int) -> None:
    """Set the elements of `x` whose bit is 0."""
    v = x.dtype.type(value)
    width = x.size
    whole = min(words, width // 32)
    grouped = whole - whole % _GROUP
    for first in range(0, grouped, _GROUP):
        allowed = np.uint32(0xFFFFFFFF)
        for k in range(_GROUP):
            allowed &= np.uint32(mask[first + k])
        if allowed != np.uint32(0xFFFFFFFF):
            for w in range(first, first + _GROUP):
                _cut_word(x, np.uint32(mask[w]), 32 * w, v)
    for w in range(grouped, whole):
        _cut_word(x, np.uint32(mask[w]), 32 * w, v)
    if whole < words:
        for i in range(32 * whole, width):
            if (mask[whole] >> (i & 31)) & 1 == 0:
                x[i] = v
    else:
        for i in range(32 * whole, width):
            x[i] = v


@njit(lanes=True)
def _cut_copy(x: Any, y: Any, mask: Any, words: int, value: int) -> None:
    """Set `y` to the elements of `x` whose bit is 1, and to `value` elsewhere."""
    v = y.dtype.type(value)
    width = y.size
    whole = min(words, width // 32)
    for w in range(whole):
        bits = np.uint32(mask[w])
        base = 32 * w
        for b in range(32):
            y[base + b] = x[base + b] if bits & _LANES[b] else v
    if whole < words:
        for i in range(32 * whole, width):
            y[i] = x[i] if (mask[whole] >> (i & 31)) & 1 else v
    else:
        for i in range(32 * whole, width):
            y[i] = v


@njit(lanes=True)
def _spread(y: Any, mask: Any, words: int, set_value: int, clear_value: int) -> None:
    """Set `y` to one value where the bit is 1, to the other elsewhere."""
    s, c = y.dtype.type(set_value), y.dtype.type(clear_value)
    width = y.size
    whole = min(words, width // 32)
    for w in range(whole):
        bits = np.uint32(mask[w])
        base = 32 * w
        for b in range(32):
            y[base + b] = s if bits & _LANES[b] else c
    for i in range(32 * whole, width):
        y[i] = s if i < 32 * words and (mask[i >> 5] >> (i & 31)) & 1 else c


@njit
def _has_score(y: Any, mask: Any, words: int, value: int) -> bool:
    """Whether any element whose bit is 1 differs from `value`."""
    v = y.dtype.type(value)
    for w in range(min(words, (y.size + 31) // 32)):
        bits = mask[w]
        if bits != 0:
            base = 32 * w
            for b in range(min(32, y.size - base)):
                if (bits >> b) & 1 and y[base + b] != v:
                    return True
    return False


@njit
def _dense_row(x: Any, y: Any, same: int, mask: Any, words: int, code: int, look: int, v: int, s: int, c: int) -> bool:
    """One row whose elements are next to each other; whether it is left with a score, if `look` is 1."""
    if code < LEAVE:
        _spread(y, mask, words, s, c)
        return True
    if code == LEAVE:
        if not same:
            for i in range(y.size):  # a slice would cost seconds to compile
                y[i] = x[i]
        return True
    if same:
        _cut(y, mask, words, v)
    else:
        _cut_copy(x, y, mask, words, v)
    return _has_score(y, mask, words, v) if look else True


@njit
def _loose_row(
    kind: Any,
    x: int,
    y: int,
    x_step: int,
    y_step: int,
    width: int,
    mask: Any,
    words: int,
    code: int,
    v: int,
    s: int,
    c: int,
) -> bool:
    """One row with any distance between its elements; whether it is left with a score."""
    found = code < 0
    cut, over_set, over_clear = kind.dtype.type(v), kind.dtype.type(s), kind.dtype.type(c)
    for i in range(width):
        bit = i < 32 * words and code != LEAVE and (mask[i >> 5] >> (i & 31)) & 1
        if code < LEAVE:
            value = over_set if bit else over_clear
        elif bit or code == LEAVE:
            value = _pointer_to(kind, x + i * x_step)[0]
            found |= value != cut
        else:
            value = cut
        _pointer_to(kind, y + i * y_step)[0] = value
    return found


@njit
def apply_rows(
    kind: Any,
    x: int,
    x_row: int,
    x_step: int,
    y: int,
    y_row: int,
    y_step: int,
    count: int,
    width: int,
    masks: int,
    mask_row: int,
    words: int,
    rows: int,
    found: int,
    cut: int,
    over_set: int,
    over_clear: int,
) -> None:
    """Write masked rows of logits, in place or elsewhere.

    `kind` is one of `KINDS`. `x` and `y` are the addresses of the logits and of what is written; the same in place,
    else memory that does not overlap. `_row` and `_step` are the distances in bytes from row to row and from element to
    element; there are `count` rows of `width` elements. `masks` is the address of a bitmask with `words` words in a
    row, `mask_row` bytes apart; tokens beyond its words are not allowed. `rows` is 0, for row i of the bitmask for row
    i, or the address of int32 (count,):

    - a row of the bitmask: scores stay where its bit is 1, and become `cut` elsewhere;
    - `LEAVE`: all scores stay;
    - `over(row)`: the element becomes `over_set` where the row's bit is 1, `over_clear` elsewhere.

    `found`, where not 0, is the address of uint8 (count,), which gets 0 where nothing but `cut` is left of a row, else
    1. Values are bit patterns of the logits' dtype, as unsigned integers.
    """
    codes = _pointer_row(rows)
    flags = _pointer_flag(found)
    dense = x_step == kind.itemsize and y_step == kind.itemsize
    same, look = int(x == y), int(found != 0)
    for i in range(count):
        code = codes[i] if rows != 0 else i
        row = code if code >= 0 else max(0, -2 - code)
        mask = _pointer_row(masks + row * mask_row)
        a, b = x + i * x_row, y + i * y_row
        left = True
        if code == LEAVE and same:
            pass
        elif dense:
            row_x, row_y = carray(_pointer_to(kind, a), (width,)), carray(_pointer_to(kind, b), (width,))
            left = _dense_row(row_x, row_y, same, mask, words, code, look, cut, over_set, over_clear)
        else:
            left = _loose_row(kind, a, b, x_step, y_step, width, mask, words, code, cut, over_set, over_clear)
        if look:
            flags[i] = left


@njit
def _cut_rows(logits: Any, bitmask: Any, cut: int) -> int:
    """Mask all rows in place: 1, or 0 where there is no row of `bitmask` for each, nor one for all."""
    count, width = logits.shape
    masks, words = bitmask.shape
    if masks != count and masks != 1:
        return 0
    step = 4 * words if masks > 1 else 0
    for i in range(count):
        row = carray(_pointer_to(logits, logits.ctypes.data + logits.itemsize * width * i), (width,))
        _cut(row, _pointer_row(bitmask.ctypes.data + step * i), words, cut)
    return 1


@functools.lru_cache(maxsize=1)
def cut_rows() -> Callable[[NDArray[np.float32], NDArray[np.int32], int], int]:
    """`apply_rows` for what is usual: float32, contiguous, all rows in place; without a look at the arguments' types.

    Takes logits, float32 (rows, width), bitmask, int32 or uint32 (rows or 1, words), both contiguous, and the bits of
    the value for tokens that are not allowed. Returns 1; or 0, and does nothing, where the rows do not fit.
    """
    return entry_point(_cut_rows, (types.Array(types.uint32, 2, "C"), types.Array(types.int32, 2, "C"), types.int64))


@njit
def any_allowed(bitmask: Any, width: int, found: Any) -> None:
    """Which rows of a bitmask allow a token below `width`: int32 (rows, words), bool (rows,)."""
    words = bitmask.shape[1]
    whole = min(words, width // 32)
    for i in range(bitmask.shape[0]):
        found[i] = False
        for w in range(whole):
            if bitmask[i, w] != 0:
                found[i] = True
                break
        if not found[i] and whole < words and width % 32:
            found[i] = bitmask[i, whole] & ((1 << (width % 32)) - 1) != 0
