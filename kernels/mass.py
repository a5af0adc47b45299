"""How much of a model's probability a mask kept: log Z = log sum over allowed of exp(score) - log sum over all.

One pass over the scores as they came and over the packed mask. The two sums come from one evaluation of the exponential
per score, whatever the density of the mask. The exponential is 2^n times a polynomial of degree 5 in the rest (relative
error below 1e-6 for scores within 30 nats of the reference), in float32 and without a branch, so that the loop becomes
vector instructions; a library's `expf`, or numba's without SVML, is called once per element and costs tens of times as
much. Blocks are summed in float32 and joined in float64.

The reference that is subtracted first is the maximum of the row's first block, not of the row: that saves a pass. Where
it proves too low, or where the allowed scores are so far below it that the float32 sum says nothing about them, the row
is summed again in float64, slowly. That is rare: more than 55 nats between them.

A sum over the whole row is unavoidable, since scores are not normalised, and no other pass of a decoding step can be
shared: what `generate` sums are the masked scores, after warpers. So it is kept out of the step's own time instead:
`constrain.mass_recorder` runs it on another thread while the model computes (`constrain bench apply --record-mass`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from .jit import njit
from .memory import _pointer

_SUMS = frozenset({"contract", "reassoc", "nsz"})  # NaN and infinity keep their meaning
_BLOCK = 2048  # a multiple of 32, so that a block begins with a word of the mask
_FLOAT = np.float32
_LOG2_E = _FLOAT(1.4426950408889634)
_ROUNDING = _FLOAT(12582912.0)  # 1.5 * 2^23: what is added to it is rounded to a whole number, in its lowest bits
_FARTHEST = _FLOAT(87.3)  # exp of it, and of minus it, is a normal number
_NOTHING = _FLOAT(0.0)
# Least maximum of the relative error of 2^f on [-1/2, 1/2]: 8e-8.
_C0, _C1, _C2 = _FLOAT(1.00000007), _FLOAT(0.69314697), _FLOAT(0.2402212)
_C3, _C4, _C5 = _FLOAT(0.05550713), _FLOAT(0.00967554), _FLOAT(0.00132765)

TRUSTED_LEAST = 1e-24
"""Allowed sums, relative to exp(reference), below which what the lower clamp of the exponential adds would show."""
TRUSTED_MOST = 1e30


_pointer_half = _pointer(types.uint16)


@intrinsic
def _power_of_two(typingctx: Any, rounded: Any) -> Any:  # noqa: ARG001
    """2^n as float32, for n from -126 to 127 and `rounded` the sum of n and `_ROUNDING`, which holds it in its bits."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        word = ir.IntType(32)
        biased = builder.add(builder.bitcast(args[0], word), ir.Constant(word, 127))
        return builder.bitcast(builder.shl(biased, ir.Constant(word, 23)), ir.FloatType())

    return types.float32(types.float32), codegen


@intrinsic
def _multiply_add(typingctx: Any, a: Any, b: Any, c: Any) -> Any:  # noqa: ARG001
    """a * b + c, rounded once where the processor can."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        real = ir.FloatType()
        signature = ir.FunctionType(real, [real] * 3)
        return builder.call(builder.module.declare_intrinsic("llvm.fmuladd", [real], signature), args)

    return types.float32(types.float32, types.float32, types.float32), codegen


@njit(fastmath=frozenset({"contract"}))
def _exponential(d: Any) -> Any:
    """e^d in float32, for d within the farthest; clamped to it beyond. NaN stays NaN."""
    d = -_FARTHEST if d < -_FARTHEST else d
    d = _FARTHEST if d > _FARTHEST else d
    rounded = _multiply_add(d, _LOG2_E, _ROUNDING)
    f = _multiply_add(d, _LOG2_E, _ROUNDING - rounded)
    p = ((((_C5 * f + _C4) * f + _C3) * f + _C2) * f + _C1) * f + _C0
    return p * _power_of_two(rounded)


@njit(fastmath=_SUMS)
def _block_sums(x: Any, mask: Any, reference: Any) -> tuple[Any, Any]:
    """Sums of exp(x - reference) over all elements, and over those whose bit in the block's words is 1; float32."""
    everything, allowed = _NOTHING, _NOTHING
    for i in range(x.size):
        e = _exponential(_FLOAT(x[i] - reference))
        everything += e
        allowed += e if (np.uint32(mask[i >> 5]) >> np.uint32(i & 31)) & np.uint32(1) else _NOTHING
    return everything, allowed


@njit(fastmath=_SUMS)
def _sum(x: Any, reference: Any) -> Any:
    everything = _NOTHING
    for i in range(x.size):
        everything += _exponential(_FLOAT(x[i] - reference))
    return everything


@njit
def _slowly(x: Any, mask: Any, masked: int) -> float:
    """The same difference of logarithms in float64, each sum relative to its own maximum."""
    top, top_allowed = -np.inf, -np.inf
    for i in range(x.size):
        v = np.float64(x[i])
        if v != v:
            return np.nan
        top = max(top, v)
        if i < masked and (mask[i >> 5] >> (i & 31)) & 1:
            top_allowed = max(top_allowed, v)
    if top == np.inf or top == -np.inf:
        return np.nan  # no distribution
    if top_allowed == -np.inf:
        return -np.inf
    everything, allowed = 0.0, 0.0
    for i in range(x.size):
        v = np.float64(x[i])
        everything += math.exp(v - top)
        if i < masked and (mask[i >> 5] >> (i & 31)) & 1:
            allowed += math.exp(v - top_allowed)
    return min(top_allowed - top + math.log(allowed) - math.log(everything), 0.0)


@njit
def _row(x: Any, mask: Any) -> float:
    reference = x[0]
    for i in range(1, min(_BLOCK, x.size)):
        reference = x[i] if x[i] > reference else reference
    masked = min(x.size, 32 * mask.size)  # elements that have a bit
    if not (reference > -np.inf and reference < np.inf):
        return _slowly(x, mask, masked)
    everything, allowed = 0.0, 0.0
    for k in range(0, masked, _BLOCK):
        stop = min(k + _BLOCK, masked)
        a, b = _block_sums(x[k:stop], mask[k >> 5 : (stop + 31) >> 5], reference)
        everything += np.float64(a)
        allowed += np.float64(b)
    for k in range(masked, x.size, _BLOCK):
        everything += np.float64(_sum(x[k : min(k + _BLOCK, x.size)], reference))
    if not (everything >= 0.5 and everything <= TRUSTED_MOST and allowed >= TRUSTED_LEAST):
        return _slowly(x, mask, masked)
    return min(math.log(allowed) - math.log(everything), 0.0)


@njit
def log_masses(scores: Any, bitmask: Any, skip: Any, first: int, stop: int, out: Any) -> None:
    """The log of the mass kept of each of the rows `first` to `stop`.

    Args:
        scores: before masking, float32 or float64, shape (rows, width), the elements of a row next to each other.
        bitmask: int32 (rows, words), bit i % 32 of word i // 32 is 1 where token i is allowed; tokens beyond its words
            are not.
        skip: bool (rows,), rows to leave alone.
        first, stop: which rows.
        out: float64 (rows,), gets log Z, at most 0, in nats, to about 1e-6 (5e-6 where allowed scores are more than 30
            nats below the largest: differences of float32). Minus infinity where all allowed scores are; NaN where the
            scores are no distribution (a NaN, plus infinity, or nothing above minus infinity) and in rows left alone.
    """
    for i in range(first, stop):
        out[i] = np.nan if skip[i] else _row(scores[i], bitmask[i])


@njit
def samples_digest(scores: int, row_bytes: int, step_bytes: int, itemsize: int, rows: int, width: int) -> Any:
    """A digest of up to 64 scores of each row, spread over it; that of other scores is another, all but certainly.

    `scores` is their address, `row_bytes` and `step_bytes` the distances from row to row and from element to element.
    Of each score the two bytes are read that hold sign and exponent: in scores that were widened from 16 bits the
    others are 0.
    """
    digest = np.uint64(14695981039346656037)
    apart = max(width // 64, 1)
    for i in range(rows):
        at = scores + i * row_bytes + itemsize - 2
        for k in range(0, width, apart):
            digest = (digest ^ np.uint64(_pointer_half(at + k * step_bytes)[0])) * np.uint64(1099511628211)
    return np.int64(digest)
