"""How much of a model's probability a mask kept: log Z = log sum over allowed of exp(score) - log sum over all.

One pass over the scores before and after masking, read just after they were written, so out of the cache. The two sums
come from one evaluation of the exponential per score, whatever the density of the mask. The exponential is 2^n times a
polynomial of degree 5 in the rest (relative error below 3e-7), in float32 and without a branch, so that the loop
becomes vector instructions; a library's `expf`, or numba's without SVML, is called once per element and costs tens of
times as much. Blocks are summed in float32 and joined in float64.

The reference that is subtracted first is the maximum of the row's first block, not of the row: that saves a pass. Where
it proves too low, or where the allowed scores are so far below it that the float32 sum says nothing about them, the row
is summed again in float64, slowly. That is rare: more than 55 nats between them.

A sum over the whole row is unavoidable, since scores are not normalised, and no other pass of a decoding step can be
shared: what `generate` sums are the masked scores, after warpers. Merely adding up the scores of a row that lies in the
cache takes two fifths of the time that masking it takes, so no way to do this on a CPU is negligible beside the mask;
it is beside the forward pass, and beside the softmax and the draw that follow (`constrain bench apply --record-mass`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from .jit import njit

_SUMS = frozenset({"contract", "reassoc", "nsz"})  # NaN and infinity keep their meaning
_BLOCK = 2048
_FLOAT = np.float32
_LOG2_E = _FLOAT(1.4426950408889634)
# ln 2 in two parts, the first with zeros at its end, so that its products with small whole numbers are exact.
_LN2_HIGH, _LN2_LOW = _FLOAT(0.693359375), _FLOAT(-2.12194440e-4)
_FARTHEST = _FLOAT(87.3)  # exp of it, and of minus it, is a normal number
_HALF, _NOTHING = _FLOAT(0.5), _FLOAT(0.0)
_MINUS_INFINITY = _FLOAT(-np.inf)
# Least maximum of the relative error of e^f on [-ln 2 / 2, ln 2 / 2].
_C0, _C1, _C2 = _FLOAT(1.00000007), _FLOAT(0.999999692), _FLOAT(0.499988944)
_C3, _C4, _C5 = _FLOAT(0.166675751), _FLOAT(0.0419154314), _FLOAT(0.0082976476)

TRUSTED_LEAST = 1e-24
"""Allowed sums, relative to exp(reference), below which what the lower clamp of the exponential adds would show."""
TRUSTED_MOST = 1e30


@intrinsic
def _power_of_two(typingctx: Any, exponent: Any) -> Any:  # noqa: ARG001
    """2^exponent as float32, for an int32 exponent from -126 to 127: it is written where a float keeps it."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        biased = builder.add(args[0], ir.Constant(ir.IntType(32), 127))
        return builder.bitcast(builder.shl(biased, ir.Constant(ir.IntType(32), 23)), ir.FloatType())

    return types.float32(types.int32), codegen


@njit(fastmath=frozenset({"contract"}))
def _exponential(d: Any) -> Any:
    """e^d in float32, to 3e-7 of itself, for d within the farthest; clamped to it beyond. NaN stays NaN."""
    d = -_FARTHEST if d < -_FARTHEST else d
    d = _FARTHEST if d > _FARTHEST else d
    n = np.floor(d * _LOG2_E + _HALF)
    f = (d - n * _LN2_HIGH) - n * _LN2_LOW
    p = ((((_C5 * f + _C4) * f + _C3) * f + _C2) * f + _C1) * f + _C0
    return p * _power_of_two(np.int32(n))


@njit(fastmath=_SUMS)
def _block_sums(x: Any, y: Any, reference: Any) -> tuple[Any, Any]:
    """Sums of exp(x - reference) over all elements, and over those where `y` is above minus infinity; float32."""
    everything, allowed = _NOTHING, _NOTHING
    for i in range(x.size):
        e = _exponential(_FLOAT(x[i] - reference))
        everything += e
        allowed += e if y[i] != _MINUS_INFINITY else _NOTHING
    return everything, allowed


@njit
def _slowly(x: Any, y: Any) -> float:
    """The same difference of logarithms in float64, each sum relative to its own maximum."""
    top, top_allowed = -np.inf, -np.inf
    for i in range(x.size):
        v = np.float64(x[i])
        if v != v:
            return np.nan
        top = max(top, v)
        if y[i] != _MINUS_INFINITY:
            top_allowed = max(top_allowed, v)
    if top == np.inf or top == -np.inf:
        return np.nan  # no distribution
    if top_allowed == -np.inf:
        return -np.inf
    everything, allowed = 0.0, 0.0
    for i in range(x.size):
        v = np.float64(x[i])
        everything += math.exp(v - top)
        if y[i] != _MINUS_INFINITY:
            allowed += math.exp(v - top_allowed)
    return min(top_allowed - top + math.log(allowed) - math.log(everything), 0.0)


@njit
def _row(x: Any, y: Any) -> float:
    reference = x[0]
    for i in range(1, min(_BLOCK, x.size)):
        reference = x[i] if x[i] > reference else reference
    if not (reference > -np.inf and reference < np.inf):
        return _slowly(x, y)
    everything, allowed = 0.0, 0.0
    for k in range(0, x.size, _BLOCK):
        stop = min(k + _BLOCK, x.size)
        a, b = _block_sums(x[k:stop], y[k:stop], reference)
        everything += np.float64(a)
        allowed += np.float64(b)
    if not (everything >= 0.5 and everything <= TRUSTED_MOST and allowed >= TRUSTED_LEAST):
        return _slowly(x, y)
    return min(math.log(allowed) - math.log(everything), 0.0)


@njit
def log_masses(scores: Any, masked: Any, skip: Any, first: int, stop: int, out: Any) -> None:
    """The log of the mass kept of each of the rows `first` to `stop`.

    Args:
        scores: before masking, float32 or float64, shape (rows, width), the elements of a row next to each other.
        masked: after it, same shape and dtype: minus infinity where a token is not allowed, anything else where it is.
        skip: bool (rows,), rows to leave alone.
        first, stop: which rows.
        out: float64 (rows,), gets log Z, at most 0, in nats, to about 1e-6 (5e-6 where allowed scores are more than 30
            nats below the largest: differences of float32). Minus infinity where all allowed scores are; NaN where the
            scores are no distribution (a NaN, plus infinity, or nothing above minus infinity) and in rows left alone.
    """
    for i in range(first, stop):
        out[i] = np.nan if skip[i] else _row(scores[i], masked[i])
