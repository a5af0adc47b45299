"""Number texts under bounds, multiples and exclusions, as an automaton whose states are found by arithmetic.

The texts of one sign form a *side*: an interval of magnitudes. A prefix of a plain decimal denotes an interval of
magnitudes too (for each number of integer digits still to come), so whether it can be completed is the question whether
two intervals share an admitted value; no search through the automaton is needed, and states exist only when asked for.

Every state keeps one prefix that leads to it. Two prefixes share a state when their keys are equal; a key holds what
the rest of the text can still depend on: how many integer digits may follow, what is left of a bound whose digits have
been followed so far, the offset of the next multiple, what is left of an excluded value. Beside the plain reading, a
prefix may be the mantissa of a text with an exponent. As the set of such texts under bounds is not regular, they are
admitted where the exponent decides alone (see `number.spelling_narrowings`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import lcm

import numpy as np
from numpy.typing import NDArray

from constrain.grammars.languages.base import DEAD, Language
from constrain.grammars.languages.number_constraint import NumberConstraint, common_multiple, decimal_places
from constrain.grammars.languages.number_exponent import (
    EXPONENT_LIMIT,
    Residual,
    after_digit,
    before_digits,
    digits_needed,
    exponent_range,
)

LONG_MANTISSA_EXPONENT_LIMIT = 199
"""Largest exponent after an integer part of two or more digits: finite in every parser up to 109 such digits."""

INTEGER_FRACTION_LIMIT = 17
"""Most fraction digits before the exponent of an integer; the shortest form of a double never has more than 16."""

_ZERO, _POINT, _MINUS, _PLUS = 48, 46, 45, 43
_INTEGER_PART = -1
"""The place of a state before the decimal point."""

_NO_MANTISSA, _SHORT, _LONG = 0, 1, 2
"""Readings as a mantissa: none, at most one integer digit, any number of them."""


@lru_cache(maxsize=4096)
def _ten(k: int) -> int:
    return int(10**k)


def _digit_count(n: int) -> int:
    """Decimal digits of n >= 0; 1 for 0. Not `len(str(n))`, which Python refuses for very long numbers."""
    if n < 10**15:
        return len(str(n))
    k = (n.bit_length() - 1) * 30103 // 100000
    while _ten(k) <= n:
        k += 1
    return k


@dataclass(frozen=True, slots=True)
class _Side:
    """The magnitudes admitted after one sign. All numbers are integers in units of 10**-scale."""

    low: int
    low_open: bool
    high: int | None
    high_open: bool
    excluded: frozenset[int]
    exponents: tuple[tuple[int, int], ...]
    """For each reading as a mantissa, the admitted exponents as bit sets: (non-negative, negated negative)."""
    whole: bool
    """Whether every magnitude above zero is admitted, so that the mantissa is free."""
    zero: bool
    low_digits: int
    high_digits: int


@dataclass(frozen=True, slots=True)
class _Mantissa:
    """A prefix that ends in an integer digit, in the point or in a fraction digit.

    `number` is the integer that the digits so far form. `plain` and `reading` say whether the prefix can go on as a
    plain decimal and as a mantissa; for the latter, `written` counts fraction digits (kept only for integers) and
    `needs_nonzero` holds while all digits are zero and zero is not admitted.
    """

    side: _Side
    number: int
    length: int
    place: int
    plain: bool
    more_low: int
    more_high: int | None
    reading: int
    written: int
    needs_nonzero: bool


@dataclass(frozen=True, slots=True)
class _Exponent:
    """A prefix that ends in `e`, in the sign of the exponent or in one of its digits."""

    plus: Residual
    minus: Residual
    at_sign: bool


@dataclass(frozen=True, slots=True)
class _Begin:
    """Nothing read (both sides), or a minus sign (`positive` is None)."""

    positive: _Side | None
    negative: _Side | None
    after_minus: bool


_ZEROS = "zeros"
"""Key of the states that determine the value: only further zeros may follow."""

_State = _Mantissa | _Exponent | _Begin
_Key = tuple[object, ...]


class IntervalLanguage(Language):
    """The texts of the numbers that satisfy a constraint without `values`. Safe to share between threads."""

    def __init__(self, constraint: NumberConstraint) -> None:
        c = constraint
        literals = c.integer_literals_only
        multiple = common_multiple(c)
        avoided = [*c.not_multiples, Fraction(1)] if c.non_integer else list(c.not_multiples)
        if any(m <= 0 for m in avoided):
            raise ValueError("a multiple must be greater than 0")
        exact = [v for v in (c.minimum, c.maximum, multiple, *avoided, *c.not_values) if v is not None]
        self._scale = scale = max(map(decimal_places, exact), default=0)
        self._one = one = _ten(scale)

        def scaled(value: Fraction) -> int:
            return value.numerator * (one // value.denominator)

        self._step = 0 if multiple is None else scaled(multiple)
        self._avoided = tuple(sorted(set(map(scaled, avoided))))
        self._integral = self._step == one
        self._literals = literals
        excluded = set(map(scaled, c.not_values))
        # Bounds alone (and integrality): a digit matters only by comparison, and a unit interval is never empty.
        self._uniform = not avoided and not excluded and self._step in (0, one)
        minimum = None if c.minimum is None else scaled(c.minimum)
        maximum = None if c.maximum is None else scaled(c.maximum)
        if self._step and any(self._step % b == 0 for b in self._avoided):
            positive = negative = None
        else:
            positive = self._side(minimum, c.exclusive_minimum, maximum, c.exclusive_maximum, excluded)
            negative = self._side(
                None if maximum is None else -maximum,
                c.exclusive_maximum,
                None if minimum is None else -minimum,
                c.exclusive_minimum,
                {-v for v in excluded},
            )
        self._lock = threading.RLock()
        self._ids: dict[_Key, int] = {}
        dead = np.zeros(256, dtype=np.int32)
        dead.setflags(write=False)
        self._states: list[_State | None] = [None]
        self._accepting = [False]
        self._rows: list[NDArray[np.int32] | None] = [dead]
        self._shortest: list[int | None] = [None]
        self._minus = DEAD
        self.start = DEAD
        if positive is not None or negative is not None:
            self.start = self._intern(("start",), _Begin(positive, negative, False), False)
        if negative is not None:
            self._minus = self._intern(("minus",), _Begin(None, negative, True), False)

    # ---- the contract

    def row(self, state: int) -> NDArray[np.int32]:
        row = self._rows[state]
        if row is None:
            with self._lock:
                row = self._rows[state]
                if row is None:
                    row = self._rows[state] = self._make_row(state)
        return row

    def accepting(self, state: int) -> bool:
        return self._accepting[state]

    def shortest(self, state: int) -> int:
        if state == DEAD:
            raise ValueError("the dead state has no completion")
        known = self._shortest[state]
        if known is None:
            known = self._shortest[state] = 0 if self._accepting[state] else self._find_shortest(state)
        return known

    # ---- sides

    def _side(
        self, minimum: int | None, min_open: bool, maximum: int | None, max_open: bool, excluded: Iterable[int]
    ) -> _Side | None:
        """The magnitudes in reach of one sign, or None when there are none."""
        one, step = self._one, self._step
        low, low_open = (minimum, min_open) if minimum is not None and minimum >= 0 else (0, False)
        high, high_open = maximum, max_open and maximum is not None
        if high is not None and high < low:
            return None
        excluded = set(excluded)
        if low == 0 and (self._avoided or 0 in excluded):
            low_open = True
        if step:
            # Bounds that are themselves admitted multiples make states merge whose bounds round alike.
            low += step - low % step if low_open and low % step == 0 else -low % step
            low_open = False
            if high is not None:
                high -= step if high_open and high % step == 0 else high % step
                high_open = False
        inside = frozenset(
            v for v in excluded if v >= low and v > 0 and (high is None or v <= high) and (step == 0 or v % step == 0)
        )
        if not self._exists(inside, low, low_open, high, high_open):
            return None
        whole = (
            high is None
            and not inside
            and not self._avoided
            and (low == 0 or (self._integral and low == one))
            and (step == 0 or self._integral)
        )
        return _Side(
            low,
            low_open,
            high,
            high_open,
            inside,
            self._exponents(low, low_open, high, inside, whole),
            whole,
            low == 0 and not low_open,
            _digit_count(low // one),
            0 if high is None else _digit_count(high // one),
        )

    def _exponents(
        self, low: int, low_open: bool, high: int | None, excluded: frozenset[int], whole: bool
    ) -> tuple[tuple[int, int], ...]:
        """The admitted exponents for each reading as a mantissa; see `_Side.exponents`."""
        if self._literals or (self._step and not self._integral):
            return ((0, 0),) * 3
        if whole:
            least, most = -EXPONENT_LIMIT, EXPONENT_LIMIT
        else:
            # All that a decade [10**e, 10**(e+1)) holds must lie inside the bounds, and below what is to be avoided.
            least = -EXPONENT_LIMIT
            if low:
                least = _digit_count(low) - 1 - self._scale
                if _ten(least + self._scale) < low or low_open:
                    least += 1
            beyond = None if high is None else high + self._step
            ceiling = min((v for v in (beyond, *self._avoided[:1]) if v is not None), default=None)
            most = EXPONENT_LIMIT
            if ceiling is not None:
                # Zero admits no decade at all.
                most = _digit_count(ceiling) - 2 - self._scale if ceiling else -EXPONENT_LIMIT - 1
        plus = exponent_range(least, most)
        minus = 0 if self._integral else exponent_range(-most, -least)
        for value in excluded:
            decade = _digit_count(value) - 1 - self._scale
            if decade >= 0:
                plus &= ~(1 << decade)
            if decade <= 0:
                minus &= ~(1 << -decade)
        long = (plus & exponent_range(0, LONG_MANTISSA_EXPONENT_LIMIT), minus) if whole else (0, 0)
        return ((0, 0), (plus, minus), long)

    # ---- admitted values in an interval

    def _exists(
        self,
        excluded: frozenset[int],
        low: int,
        low_open: bool,
        high: int | None,
        high_open: bool,
        places: int | None = None,
        scale: int | None = None,
    ) -> bool:
        """Whether an admitted value lies in an interval already cut to the bounds.

        With `places`, only values of at most so many fraction digits count. The interval is given in units of
        10**-scale, by default those of the language.
        """
        step, avoided = self._step, self._avoided
        lift = 1
        if scale is not None and scale > self._scale:
            lift = _ten(scale - self._scale)
        else:
            scale = self._scale
        if high is not None and (high < low or (high == low and (low_open or high_open))):
            return False
        if places is None and not step:
            # A proper interval holds more decimals than can be avoided or excluded.
            return high is None or low < high or self._admits(excluded, low, lift)
        if places is not None:
            if places > scale:
                up = _ten(places - scale)
                lift, low, scale = lift * up, low * up, places
                high = None if high is None else high * up
            grid = _ten(scale - places)
            step = lcm(step * lift, grid) if step else grid
        else:
            step *= lift
        if any(step % (b * lift) == 0 for b in avoided):
            return False
        at = -(-low // step) * step
        if low_open and at == low:
            at += step
        if not avoided and not excluded:
            return high is None or at < high or (at == high and not high_open)
        # Terminates soon: no avoided multiple covers the lattice, and exclusions are finitely many.
        while high is None or at < high or (at == high and not high_open):
            if self._admits(excluded, at, lift):
                return True
            at += step
        return False

    def _admits(self, excluded: frozenset[int], value: int, lift: int) -> bool:
        """Whether `value` (in units of 10**-scale / lift) is neither avoided nor excluded."""
        if any(value % (b * lift) == 0 for b in self._avoided):
            return False
        return value % lift != 0 or value // lift not in excluded

    def _within(self, side: _Side, base: int, unit: int, scale: int, places: int | None) -> bool:
        """Whether an admitted value lies in [base, base + unit), in units of 10**-scale; `places` as in `_exists`."""
        lift = _ten(scale - self._scale)
        low, low_open, high, high_open = base, False, base + unit, True
        side_low = side.low * lift
        if side_low >= low:
            low, low_open = side_low, side.low_open
        if side.high is not None and side.high * lift < high:
            high, high_open = side.high * lift, side.high_open
        return self._exists(side.excluded, low, low_open, high, high_open, places, scale)

    # ---- plain decimals: keys of prefixes

    def _integer_key(self, side: _Side, number: int, length: int) -> tuple[_Key, int, int | None] | None:
        """Key of an integer part, with the fewest and most further integer digits; None when it has no completion."""
        scale, step, one = self._scale, self._step, self._one
        low_rest: tuple[int, bool] | None = None
        high_rest: tuple[int, bool] | None = None
        more_low, more_high = 0, None
        ahead = side.low_digits - length
        if ahead >= 0:
            bound = side.low // _ten(ahead + scale)
            more_low = ahead + (number < bound)
            if number == bound:
                rest = side.low - number * _ten(ahead + scale)
                if rest >= step and (step or rest or side.low_open):
                    low_rest = (rest, side.low_open)
        if side.high is not None:
            ahead = side.high_digits - length
            if ahead < 0:
                return None
            bound = side.high // _ten(ahead + scale)
            more_high = ahead - (number > bound)
            if number == bound:
                rest = side.high - number * _ten(ahead + scale)
                # With a step, a bound short of the end by less than one step excludes nothing.
                if not step or rest + step < _ten(ahead + scale):
                    high_rest = (rest, side.high_open)
        if number == 0:
            if more_low:
                return None
            if more_high != 0:
                more_high, high_rest = 0, None
        if more_high is not None and more_low > more_high:
            return None
        # Under bounds alone, only a prefix that must end at the upper bound can turn out to be empty.
        certain = self._uniform and (high_rest is None or more_low != more_high)
        if not certain and not self._completes(side, number, more_low, more_high):
            return None
        # From the number of digits on at which a step fits into the interval, one offset determines the later ones.
        offsets: _Key = ()
        if step and not self._integral:
            offsets = (self._offsets(step, number, more_low, more_high),)
        if self._avoided:
            offsets += tuple(self._offsets(b, number, more_low, more_high) for b in self._avoided)
        near: list[tuple[int, int]] = []
        for value in sorted(side.excluded):
            ahead = _digit_count(value // one) - length
            if ahead >= 0:
                rest = value - number * _ten(ahead + scale)
                if 0 <= rest < _ten(ahead + scale):
                    near.append((ahead, rest))
        return (more_low, low_rest, more_high, high_rest, offsets, tuple(near)), more_low, more_high

    def _offsets(self, step: int, number: int, more_low: int, more_high: int | None) -> tuple[int, ...]:
        """For each number of further integer digits, the distance to the next multiple, -1 when out of reach."""
        offsets = []
        more = more_low
        while more_high is None or more <= more_high:
            width = _ten(more + self._scale)
            offset = -number * width % step
            offsets.append(offset if offset < width else -1)
            if width >= step:
                break
            more += 1
        return tuple(offsets)

    def _completes(self, side: _Side, number: int, more_low: int, more_high: int | None) -> bool:
        """Whether an admitted value continues the integer part with more_low .. more_high further digits."""
        more = more_low
        while more_high is None or more <= more_high:
            unit = _ten(more + self._scale)
            if self._within(side, number * unit, unit, self._scale, None):
                return True
            more += 1
        return False

    def _fraction_key(self, side: _Side, number: int, place: int) -> tuple[_Key, bool] | None:
        """Key of a prefix with `place` fraction digits and whether its value is admitted; None without a completion."""
        scale = max(self._scale, place)
        lift = _ten(scale - self._scale)
        ahead = scale - place
        unit = _ten(ahead)
        base = number * unit
        low, high = side.low * lift, None if side.high is None else side.high * lift
        step = self._step * lift
        admitted = True
        low_rest: _Key | None = None
        high_rest: _Key | None = None
        if low > base or (low == base and side.low_open):
            if low >= base + unit:
                return None
            admitted = False
            if low - base >= step:
                low_rest = (*_reduced(low - base, ahead), side.low_open)
        if high is not None and high < base + unit:
            if high < base or (high == base and side.high_open):
                return None
            if not step or high - base + step < unit:
                high_rest = (*_reduced(high - base, ahead), side.high_open)
        admitted = admitted and base % step == 0 if step else admitted
        admitted = admitted and self._admits(side.excluded, base, lift)
        single = base + step >= base + unit or (high is not None and base + step > high) if step else high == base
        if single and admitted:
            return (_ZEROS,), True
        if not (self._uniform and not step and low_rest is None and high_rest is None) and not self._within(
            side, base, unit, scale, None
        ):
            return None
        offsets: list[object] = []
        for multiple in (self._step, *self._avoided) if self._step else self._avoided:
            offset = -base % (multiple * lift)
            offsets.append(_reduced(offset, ahead) if offset < unit else -1)
        # A multiple beyond the unit interval's first is found from the first, once the digits ahead are known.
        near = tuple(_reduced(v * lift - base, ahead) for v in sorted(side.excluded) if base <= v * lift < base + unit)
        where = ahead if self._step or self._avoided else 0
        return (low_rest, high_rest, where, tuple(offsets), near), admitted

    # ---- states

    def _intern(self, key: _Key, state: _State, accepting: bool) -> int:
        known = self._ids.get(key)
        if known is None:
            known = len(self._states)
            self._states.append(state)
            self._accepting.append(accepting)
            self._rows.append(None)
            self._shortest.append(None)
            self._ids[key] = known
        return known

    def _reading_lives(self, side: _Side, reading: int, written: int, pending: bool) -> bool:
        """Whether an exponent can follow, after one more fraction digit when `pending`."""
        plus, minus = side.exponents[reading]
        if self._integral:
            written += pending
            return written <= INTEGER_FRACTION_LIMIT and plus >> written != 0
        return bool(plus or minus)

    def _enter_integer(self, side: _Side, number: int, length: int, reading: int) -> int:
        """The state after the last of `length` integer digits."""
        plain = self._integer_key(side, number, length)
        needs_nonzero = number == 0 and not side.zero
        if reading and not self._reading_lives(side, reading, 0, needs_nonzero):
            reading = _NO_MANTISSA
        if plain is None and not reading:
            return DEAD
        mantissa = (side.exponents[reading], side.exponents[_LONG], needs_nonzero) if reading else None
        if plain is None:
            key: _Key = ("integer", None, mantissa)
            state = _Mantissa(side, number, length, _INTEGER_PART, False, 0, 0, reading, 0, needs_nonzero)
            return self._intern(key, state, False)
        plain_key, more_low, more_high = plain
        state = _Mantissa(side, number, length, _INTEGER_PART, True, more_low, more_high, reading, 0, needs_nonzero)
        key = ("integer", plain_key, mantissa)
        known = self._ids.get(key)
        return self._intern(key, state, self._point(side, number * self._one)) if known is None else known

    def _point(self, side: _Side, value: int) -> bool:
        """Whether the single `value` is admitted."""
        if value < side.low or (value == side.low and side.low_open):
            return False
        if side.high is not None and (value > side.high or (value == side.high and side.high_open)):
            return False
        return (not self._step or value % self._step == 0) and self._admits(side.excluded, value, 1)

    def _enter_fraction(
        self, side: _Side, number: int, place: int, plain: bool, reading: int, written: int, needs_nonzero: bool
    ) -> int:
        """The state after the point (`place` 0) or a fraction digit."""
        found = self._fraction_key(side, number, place) if plain else None
        at_point = place == 0
        if not self._integral:
            written = 0
        if reading and not self._reading_lives(side, reading, written, at_point or needs_nonzero):
            reading = _NO_MANTISSA
        if found is None and not reading:
            return DEAD
        mantissa = (side.exponents[reading], written, needs_nonzero) if reading else None
        plain_key, admitted = (None, False) if found is None else found
        state = _Mantissa(
            side, number if found else 0, 0, place, found is not None, 0, 0, reading, written, needs_nonzero
        )
        return self._intern(
            ("point" if at_point else "fraction", plain_key, mantissa), state, admitted and not at_point
        )

    def _enter_exponent(self, plus: Residual, minus: Residual, at_sign: bool) -> int:
        if not any(plus) and not any(minus):
            return DEAD
        return self._intern(("exponent", plus, minus, at_sign), _Exponent(plus, minus, at_sign), bool(plus[0]))

    # ---- rows

    def _make_row(self, at: int) -> NDArray[np.int32]:
        row = np.zeros(256, dtype=np.int32)
        state = self._states[at]
        if isinstance(state, _Mantissa):
            self._fill_mantissa(row, state)
        elif isinstance(state, _Exponent):
            self._fill_exponent(row, state)
        elif isinstance(state, _Begin):
            side = state.negative if state.after_minus else state.positive
            if side is not None:
                # An integer that cannot be zero does not begin with "0": only an exponent could follow.
                self._fill_digits(row, side, 0, 0, side.whole and (side.zero or not self._integral))
            if not state.after_minus:
                row[_MINUS] = self._minus
        row.setflags(write=False)
        return row

    def _fill_digits(
        self, row: NDArray[np.int32], side: _Side, number: int, length: int, zero_is_mantissa: bool
    ) -> None:
        """The successors by a further integer digit."""
        number *= 10
        if length:
            reading = _LONG if side.whole else _NO_MANTISSA
            cuts = [0, 10]
        else:
            reading = _SHORT
            row[_ZERO] = self._enter_integer(side, 0, 1, _SHORT if zero_is_mantissa else _NO_MANTISSA)
            cuts = [1, 10]
        if self._uniform:
            for bound, digits in ((side.low, side.low_digits), (side.high, side.high_digits)):
                ahead = digits - length - 1
                if bound is not None and ahead >= 0:
                    digit = bound // _ten(ahead + self._scale) - number
                    cuts += (digit, digit + 1)
        else:
            cuts += range(1, 10)
        first = 0 if length else 1
        cuts = sorted({c for c in cuts if first <= c <= 10})
        for begin, end in pairwise(cuts):
            row[_ZERO + begin : _ZERO + end] = self._enter_integer(side, number + begin, length + 1, reading)

    def _fill_fraction_digits(self, row: NDArray[np.int32], state: _Mantissa) -> None:
        """The successors by a further fraction digit."""
        side, place = state.side, state.place + 1
        number = state.number * 10
        cuts = {0, 1, 10}
        if state.plain:
            if self._uniform:
                for bound in (side.low, side.high):
                    if bound is not None:
                        ahead = self._scale - place
                        digit = (bound // _ten(ahead) if ahead >= 0 else bound * _ten(-ahead)) - number
                        cuts.update(c for c in (digit, digit + 1) if 0 < c < 10)
            else:
                cuts.update(range(10))
        ordered = sorted(cuts)
        for begin, end in pairwise(ordered):
            row[_ZERO + begin : _ZERO + end] = self._enter_fraction(
                side,
                number + begin,
                place,
                state.plain,
                state.reading,
                state.written + 1,
                state.needs_nonzero and begin == 0,
            )

    def _fill_mantissa(self, row: NDArray[np.int32], state: _Mantissa) -> None:
        side = state.side
        if state.place == _INTEGER_PART:
            if state.number and (state.plain or side.whole):
                self._fill_digits(row, side, state.number, state.length, False)
            if not self._literals:
                row[_POINT] = self._enter_fraction(
                    side, state.number, 0, state.plain, state.reading, 0, state.needs_nonzero
                )
        else:
            self._fill_fraction_digits(row, state)
        if state.reading and state.place != 0 and not state.needs_nonzero:
            plus, minus = side.exponents[state.reading]
            plus = plus >> state.written << state.written
            row[101] = row[69] = self._enter_exponent(before_digits(plus), before_digits(minus), True)

    def _fill_exponent(self, row: NDArray[np.int32], state: _Exponent) -> None:
        none = before_digits(0)
        if state.at_sign:
            row[_PLUS] = self._enter_exponent(state.plus, none, False)
            row[_MINUS] = self._enter_exponent(state.minus, none, False)
        for digit in range(10):
            row[_ZERO + digit] = self._enter_exponent(after_digit(state.plus, digit), none, False)

    # ---- distance to acceptance

    def _find_shortest(self, at: int) -> int:
        state = self._states[at]
        if isinstance(state, _Mantissa):
            return self._shortest_of(state)
        if isinstance(state, _Exponent):
            options = [digits_needed(state.plus)]
            if state.at_sign and (signed := digits_needed(state.minus)) is not None:
                options.append(signed + 1)
            return min(n for n in options if n is not None)
        return 1 + min(self.shortest(n) for n in set(self.row(at).tolist()) if n)

    def _shortest_of(self, state: _Mantissa) -> int:
        best: int | None = None
        if state.reading:
            # With a pending digit at the point, or "." and a digit at an integer part of zero.
            digits = 1 if state.place == 0 or state.needs_nonzero else 0
            extra = digits + (1 if digits and state.place == _INTEGER_PART else 0)
            plus, minus = state.side.exponents[state.reading]
            if self._integral:
                written = state.written + digits
                plus = plus >> written << written
            options = [digits_needed(before_digits(plus)), digits_needed(before_digits(minus))]
            lengths = [n + signed for signed, n in enumerate(options) if n is not None]
            best = extra + 1 + min(lengths)
        if not state.plain:
            assert best is not None
            return best
        if state.place == _INTEGER_PART:
            more = state.more_low
            while (state.more_high is None or more <= state.more_high) and (best is None or more < best):
                unit = _ten(more + self._scale)
                base = state.number * unit
                if self._within(state.side, base, unit, self._scale, None):
                    places = 0
                    while best is None or more + places + (places > 0) < best:
                        if self._within(state.side, base, unit, self._scale, places):
                            best = more + places + (places > 0)
                            break
                        places += 1
                more += 1
            assert best is not None
            return best
        scale = max(self._scale, state.place)
        unit = _ten(scale - state.place)
        base = state.number * unit
        extra = 1
        while best is None or extra < best:
            if self._within(state.side, base, unit, scale, state.place + extra):
                return extra
            extra += 1
        return best


def _reduced(rest: int, places: int) -> tuple[int, int]:
    """The fraction rest / 10**places with the fewest places."""
    while places > 0 and rest % 10 == 0:
        rest //= 10
        places -= 1
    return rest, places
