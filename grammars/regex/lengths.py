"""Arithmetic of ultimately periodic sets of lengths.

The lengths of a regular language form such a set, and union, sum and repetition of languages act on it alone: the
lengths of `X{lo,hi}Y` follow from those of X and Y without looking at a single state. Members are bits of one
integer, so an interval of 65,535 lengths is 8 KB and a sum of two intervals a few shifts.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable
from math import gcd
from typing import TypeVar

from ..errors import ResourceLimitError
from ..languages.base import ALL_LENGTHS, LengthSet

MAX_LENGTH = 1 << 21
"""Largest preperiod plus period. A set that needs more is refused rather than approximated."""

MAX_LAYER_STATES = 200_000
"""Most states, summed over layers, that `layered` visits."""

NO_LENGTHS = LengthSet(0, 0, 1)
ZERO_ONLY = LengthSet(1, 1, 1)
ONE_ONLY = LengthSet(2, 2, 1)

__all__ = [
    "ALL_LENGTHS",
    "NO_LENGTHS",
    "ONE_ONLY",
    "ZERO_ONLY",
    "add",
    "complement",
    "finite",
    "intersection",
    "interval",
    "layered",
    "shift",
    "times",
    "union",
]


def _limited(size: int) -> int:
    if size > MAX_LENGTH:
        raise ResourceLimitError(
            "", "pattern", f"its lengths need more than {MAX_LENGTH} numbers to describe", f"lengths {MAX_LENGTH}"
        )
    return size


def finite(lengths: Iterable[int]) -> LengthSet:
    """The set of the given numbers."""
    bits = 0
    for n in set(lengths):
        bits |= 1 << n
    return _of_bits(bits)


def _of_bits(bits: int) -> LengthSet:
    return LengthSet(bits, _limited(bits.bit_length()), 1)


def _normal(bits: int, preperiod: int, period: int) -> LengthSet:
    """The least period, then the least preperiod."""
    cycle = bits >> preperiod & (1 << period) - 1
    if cycle == 0 or cycle == (1 << period) - 1:
        divisors: Iterable[int] = (1,)
    else:
        divisors = (d for d in range(2, period // 2 + 1) if period % d == 0)
    for divisor in divisors:
        if divisor < period and (cycle ^ cycle >> divisor) & (1 << period - divisor) - 1 == 0:
            period = divisor
            break
    bits &= (1 << preperiod + period) - 1
    preperiod = ((bits ^ bits >> period) & (1 << preperiod) - 1).bit_length()
    return LengthSet(bits & (1 << preperiod + period) - 1, preperiod, period)


def _tail(lengths: LengthSet) -> int:
    return lengths.bits >> lengths.preperiod


def _unrolled(lengths: LengthSet, size: int) -> int:
    """Membership of 0 .. size-1 as bits."""
    bits, have = lengths.bits, lengths.preperiod + lengths.period
    tail = _tail(lengths)
    if size > have and tail:
        width = lengths.period
        while width < size - lengths.preperiod:
            tail |= tail << width
            width *= 2
        bits = bits & (1 << lengths.preperiod) - 1 | tail << lengths.preperiod
    return bits & (1 << size) - 1


def _smeared(bits: int, count: int) -> int:
    """The union of `bits` shifted by 0 .. count-1."""
    done = 1
    while done < count:
        step = min(done, count - done)
        bits |= bits << step
        done += step
    return bits


def _runs(bits: int) -> list[tuple[int, int]]:
    """The runs of ones as (first, count)."""
    out, at = [], 0
    while bits:
        skip = (bits & -bits).bit_length() - 1
        bits >>= skip
        at += skip
        count = (~bits & bits + 1).bit_length() - 1
        out.append((at, count))
        bits >>= count
        at += count
    return out


def _sums(a: int, b: int, size: int) -> int:
    """Membership of 0 .. size-1 in the sums of a member of each."""
    if (a & ~(a << 1)).bit_count() > (b & ~(b << 1)).bit_count():
        a, b = b, a
    out = 0
    for first, count in _runs(a):
        out |= _smeared(b, count) << first
    return out & (1 << size) - 1


def union(a: LengthSet, b: LengthSet) -> LengthSet:
    """The numbers in either."""
    if a == b or not b.bits:
        return a
    if not a.bits:
        return b
    if not (_tail(a) or _tail(b)):
        return _of_bits(a.bits | b.bits)
    period = a.period * b.period // gcd(a.period, b.period)
    preperiod = max(a.preperiod, b.preperiod)
    size = _limited(preperiod + period)
    return _normal(_unrolled(a, size) | _unrolled(b, size), preperiod, period)


def intersection(a: LengthSet, b: LengthSet) -> LengthSet:
    """The numbers in both."""
    if a == b or b == ALL_LENGTHS or not a.bits:
        return a
    if a == ALL_LENGTHS or not b.bits:
        return b
    period = 1
    for one in (a, b):
        if not _tail(one):  # finite: what the other has beyond does not matter
            size = one.bits.bit_length()
            return _of_bits(_unrolled(a, size) & _unrolled(b, size))
        period = period * one.period // gcd(period, one.period)
    preperiod = max(a.preperiod, b.preperiod)
    size = _limited(preperiod + period)
    return _normal(_unrolled(a, size) & _unrolled(b, size), preperiod, period)


def complement(a: LengthSet) -> LengthSet:
    """The numbers that are no members."""
    return _normal(a.bits ^ (1 << a.preperiod + a.period) - 1, a.preperiod, a.period)


def interval(low: int, high: int | None) -> LengthSet:
    """The numbers from `low` to `high`; no upper limit when `high` is None."""
    if high is None:
        return LengthSet(1 << _limited(low), low, 1)
    return _of_bits((1 << _limited(high + 1)) - (1 << low)) if low <= high else NO_LENGTHS


def shift(a: LengthSet, by: int) -> LengthSet:
    """Every member plus `by`."""
    if not a.bits:
        return a
    return LengthSet(a.bits << by, _limited(a.preperiod + a.period + by) - a.period, a.period)


def add(a: LengthSet, b: LengthSet) -> LengthSet:
    """The sums of a member of each."""
    if not a.bits or not b.bits:
        return NO_LENGTHS
    for one, other in ((a, b), (b, a)):
        if one.bits & one.bits - 1 == 0 and not _tail(one):
            return shift(other, one.bits.bit_length() - 1)
    if _tail(a) and _tail(b):
        # Beyond both preperiods, sums of two cycles fill every multiple of the gcd after at most a product of periods.
        period = a.period * b.period // gcd(a.period, b.period)
        preperiod = a.preperiod + a.period + b.preperiod + b.period + a.period * b.period
    else:
        if _tail(a):
            a, b = b, a
        period = b.period
        preperiod = a.bits.bit_length() + b.preperiod
    size = _limited(preperiod + period)
    return _normal(_sums(_unrolled(a, size), _unrolled(b, size), size), preperiod, period)


def times(a: LengthSet, low: int, high: int | None) -> LengthSet:
    """The sums of `low` to `high` members, repeats allowed; no upper limit when `high` is None."""
    if a.bits & a.bits - 1 == 0 and not _tail(a):  # at most one member
        if not a.bits:
            return ZERO_ONLY if low == 0 else NO_LENGTHS
        member = a.bits.bit_length() - 1
        if member == 0:
            return ZERO_ONLY
        _limited(member * (low + 1 if high is None else high))
        if high is None:
            return _normal(1 << member * low, member * low, member)
        return _of_bits(_progression(member, high - low + 1) << member * low)
    if high is None:
        return add(_power(a, low), _star(a))
    return add(_power(a, low), _power(union(a, ZERO_ONLY), high - low))


def _progression(step: int, count: int) -> int:
    """Ones at 0, step, … (count of them)."""
    bits, done = 1, 1
    while done < count:
        more = min(done, count - done)
        bits |= bits << step * more
        done += more
    return bits


def _power(a: LengthSet, exponent: int) -> LengthSet:
    result = ZERO_ONLY
    if exponent and not _tail(a):
        _limited((a.bits.bit_length() - 1) * exponent)
    while exponent:
        if exponent & 1:
            result = add(result, a)
        exponent >>= 1
        if exponent:
            square = add(a, a)
            if square == a:
                return add(result, a)
            a = square
    return result


def _star(a: LengthSet) -> LengthSet:
    """All sums of any number of members.

    With the least positive member m as the period, what matters is the least sum in each residue class modulo m: a
    shortest path over the residues.
    """
    positive = a.bits & ~1
    if not positive and not _tail(a):
        return ZERO_ONLY
    first = a.first_in(1, None)
    assert first is not None
    steps: dict[int, int] = {}
    unrolled = _unrolled(a, _limited(a.preperiod + a.period * first + 1))
    for start, count in _runs(unrolled >> 1):
        for n in range(start + 1, start + 1 + min(count, first)):
            steps[n % first] = min(n, steps.get(n % first, n))
    steps.pop(0, None)
    _limited(first * len(steps))
    least = {0: 0}
    queue = [0]
    while queue:
        at = heapq.heappop(queue)
        if least[at % first] < at:
            continue
        for step in steps.values():
            onward = at + step
            if onward < least.get(onward % first, onward + 1):
                least[onward % first] = onward
                heapq.heappush(queue, onward)
    preperiod = max(least.values())
    size = _limited(preperiod + first)
    bits = 0
    for start in least.values():
        bits |= _progression(first, (size - 1 - start) // first + 1) << start
    return _normal(bits & (1 << size) - 1, preperiod, first)


Node = TypeVar("Node", bound=Hashable)


def layered(
    start: Iterable[Node],
    onward: Callable[[Node], Iterable[Node]],
    inside: Callable[[Node], LengthSet],
) -> LengthSet:
    """Lengths by layers: the sets of nodes exactly k steps from `start`, until one recurs.

    Args:
        start: nodes of layer 0.
        onward: the nodes one step further.
        inside: lengths contributed at a node itself: `ZERO_ONLY` where a word ends, or those of whatever is not
            followed by `onward`.

    Raises:
        ResourceLimitError: more than `MAX_LAYER_STATES` states over all layers.
    """
    layer = frozenset(start)
    seen: dict[frozenset[Node], int] = {}
    gained: list[LengthSet] = []
    visited = 0
    while layer not in seen:
        visited += len(layer) + 1
        if visited > MAX_LAYER_STATES:
            raise ResourceLimitError(
                "",
                "pattern",
                f"its lengths take more than {MAX_LAYER_STATES} states to find",
                f"layer states {MAX_LAYER_STATES}",
            )
        seen[layer] = len(gained)
        found = NO_LENGTHS
        for node in layer:
            found = union(found, inside(node))
        gained.append(found)
        layer = frozenset(after for node in layer for after in onward(node))
    loop, period = seen[layer], len(gained) - seen[layer]
    ends = 0
    total = NO_LENGTHS
    cycle = _normal(1, 0, period)
    for k, found in enumerate(gained):
        if not found.bits:
            continue
        if found == ZERO_ONLY:
            ends |= 1 << k
        else:
            total = union(total, add(shift(found, k), cycle) if k >= loop else shift(found, k))
    return union(total, _normal(ends, loop, period))
