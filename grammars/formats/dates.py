"""`date`, `time`, `date-time` and `duration`, as RFC 3339 defines them.

Days are those of the Gregorian calendar in the years 0000 to 9999; of a year the machine remembers what decides
whether it is a leap year. A second numbered 60 is one that UTC inserts at 23:59:60, so each local time allows it under
exactly one positive and one negative offset: the machine carries the local time until it knows whether the second is
60. `duration` is a pattern (RFC 3339, appendix A): units contiguous, weeks alone, no fraction, and capital
designators as in ISO 8601.
"""

from __future__ import annotations

from ..languages.base import LengthSet
from ..regex import lengths as length_sets
from .machine import Machine, Move, at_least, digits, on

DURATION = ("P(?:[0-9]+W|(?:[0-9]+D|[0-9]+M(?:[0-9]+D)?|[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?)(?:T{time})?|T{time})").replace(
    "{time}", "(?:[0-9]+S|[0-9]+M(?:[0-9]+S)?|[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?)"
)
"""Pattern of a whole duration."""

_Key = tuple[int | str | bool | None, ...]
"""The name of a stage, then what has to be remembered there."""

_DAY = 24 * 60
_LAST_MINUTE = _DAY - 1

# Characters up to the stage after the one named: the rest of a date, and of a time up to its seconds.
_TO_END_OF_DATE = {
    "year 1": 10,
    "year 2": 9,
    "year 3": 8,
    "year 4": 7,
    "year end": 6,
    "month 1": 5,
    "month 2": 4,
    "month end": 3,
    "day 1": 2,
    "day 2": 1,
    "day end": 0,
}
_TO_END_OF_SECONDS = {
    "hour 1": 8,
    "hour 2": 7,
    "hour end": 6,
    "minute 1": 5,
    "minute 2": 4,
    "minute end": 3,
    "second 1": 2,
    "second 2": 1,
    "second 60": 1,
    "second end": 0,
}
_TO_END_OF_OFFSET = {
    "offset hour 1": 5,
    "offset hour 2": 4,
    "offset hour end": 3,
    "offset minute 1": 2,
    "offset minute 2": 1,
    "end": 0,
}


class DateTime(Machine[_Key]):
    """A date, a time, or both with a T between them."""

    def __init__(self, date: bool, time: bool) -> None:
        assert date or time
        self.time = time
        self.start = ("year 1",) if date else ("hour 1",)

    def moves(self, state: _Key) -> list[Move[_Key]]:
        stage = state[0]
        if stage in _TO_END_OF_DATE:
            return self._date_moves(state)
        if stage in _TO_END_OF_SECONDS or stage in ("fraction 1", "fraction"):
            return _time_moves(state)
        return _offset_moves(state)

    def _date_moves(self, state: _Key) -> list[Move[_Key]]:
        stage = state[0]
        if stage == "year 1":
            return [digits(d, d, ("year 2", d % 2)) for d in range(10)]
        if stage == "year 2":
            # Whether the year is a multiple of 400 if it ends in 00.
            odd = int(state[1] or 0)
            return [digits(d, d, ("year 3", (2 * odd + d) % 4 == 0)) for d in range(10)]
        if stage == "year 3":
            return [digits(d, d, ("year 4", d % 2, d > 0 or state[1])) for d in range(10)]
        if stage == "year 4":
            odd, zero_leaps = int(state[1] or 0), state[2]
            leaps = [(2 * odd + d) % 4 == 0 and (d > 0 or bool(zero_leaps)) for d in range(10)]
            return [digits(d, d, ("year end", leaps[d])) for d in range(10)]
        if stage == "year end":
            return on("-", ("month 1", state[1]))
        if stage == "month 1":
            return [digits(tens, tens, ("month 2", tens, state[1])) for tens in (0, 1)]
        if stage == "month 2":
            tens, leap = state[1], state[2]
            months = range(10, 13) if tens else range(1, 10)
            return [digits(m % 10, m % 10, ("month end", _last_day(m, bool(leap)))) for m in months]
        if stage == "month end":
            return on("-", ("day 1", state[1]))
        if stage == "day 1":
            last = int(state[1] or 0)
            return [digits(tens, tens, ("day 2", tens, last)) for tens in range(last // 10 + 1)]
        if stage == "day 2":
            tens, last = int(state[1] or 0), int(state[2] or 0)
            return [digits(tens == 0, min(9, last - 10 * tens), ("day end",))]
        return on("Tt", ("hour 1",)) if self.time else []

    def accepts(self, state: _Key) -> bool:
        return state[0] == "end" or (state[0] == "day end" and not self.time) or state == ("offset", "")

    def shortest(self, state: _Key) -> int:
        first = self.lengths(state).first_in(0, None)
        assert first is not None
        return first

    def lengths(self, state: _Key) -> LengthSet:
        stage = state[0]
        before = _TO_END_OF_DATE.get(str(stage))
        if before is not None:
            if not self.time:
                return length_sets.finite((before,))
            return length_sets.shift(self.lengths(("hour 1",)), before + 1)
        local = state[1] if stage in ("second 60", "second end", "fraction 1", "fraction") else None
        offset = length_sets.finite((6,) if local is not None and local != _LAST_MINUTE else (1, 6))
        before = _TO_END_OF_SECONDS.get(str(stage))
        if before is not None:
            fraction = length_sets.union(length_sets.ZERO_ONLY, at_least(2))
            return length_sets.shift(length_sets.add(fraction, offset), before)
        if stage == "fraction 1" or stage == "fraction":
            return length_sets.add(at_least(1 if stage == "fraction 1" else 0), offset)
        left = len(str(state[1])) if stage == "offset" else _TO_END_OF_OFFSET[str(stage)]
        return length_sets.finite((left,))


def _time_moves(state: _Key) -> list[Move[_Key]]:
    stage = state[0]
    if stage == "hour 1":
        return [digits(tens, tens, ("hour 2", tens)) for tens in range(3)]
    if stage == "hour 2":
        tens = int(state[1] or 0)
        return [digits(d, d, ("hour end", 10 * tens + d)) for d in range(4 if tens == 2 else 10)]
    if stage == "hour end":
        return on(":", ("minute 1", state[1]))
    if stage == "minute 1":
        return [digits(tens, tens, ("minute 2", state[1], tens)) for tens in range(6)]
    if stage == "minute 2":
        hour, tens = int(state[1] or 0), int(state[2] or 0)
        return [digits(d, d, ("minute end", 60 * hour + 10 * tens + d)) for d in range(10)]
    if stage == "minute end":
        return on(":", ("second 1", state[1]))
    if stage == "second 1":
        return [digits(0, 5, ("second 2",)), digits(6, 6, ("second 60", state[1]))]
    if stage == "second 2":
        return [digits(0, 9, ("second end", None))]
    if stage == "second 60":
        return [digits(0, 0, ("second end", state[1]))]
    local = state[1]
    moves: list[Move[_Key]] = []
    if stage == "second end":
        moves += on(".", ("fraction 1", local))
    else:
        moves.append(digits(0, 9, ("fraction", local)))
    end: _Key = ("end",)
    if stage != "fraction 1":
        if local is None:
            moves += on("Zz", end) + on("+-", ("offset hour 1",))
        else:
            # Local time less offset is 23:59.
            minute = int(local)
            moves += on("Zz", end) if minute == _LAST_MINUTE else []
            moves += on("+", ("offset", _clock((minute + 1) % _DAY)))
            moves += on("-", ("offset", _clock(_LAST_MINUTE - minute)))
    return moves


def _offset_moves(state: _Key) -> list[Move[_Key]]:
    stage = state[0]
    if stage == "offset":
        rest = str(state[1])
        return on(rest[0], ("offset", rest[1:])) if rest else []
    if stage == "offset hour 1":
        return [digits(0, 1, ("offset hour 2", 9)), digits(2, 2, ("offset hour 2", 3))]
    if stage == "offset hour 2":
        return [digits(0, int(state[1] or 0), ("offset hour end",))]
    if stage == "offset hour end":
        return on(":", ("offset minute 1",))
    if stage == "offset minute 1":
        return [digits(0, 5, ("offset minute 2",))]
    if stage == "offset minute 2":
        return [digits(0, 9, ("end",))]
    return []


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


def _last_day(month: int, leap: bool) -> int:
    if month == 2:
        return 29 if leap else 28
    return 30 if month in (4, 6, 9, 11) else 31
