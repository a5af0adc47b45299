"""Dates and times against the calendar of `datetime` and the arithmetic of offsets."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone

from hypothesis import example, given
from hypothesis import strategies as st

from constrain.grammars.formats import format_language

from .texts import has

DATE, TIME, DATE_TIME, DURATION = map(format_language, ("date", "time", "date-time", "duration"))
assert DATE is not None
assert TIME is not None
assert DATE_TIME is not None
assert DURATION is not None


def is_date(year: int, month: int, day: int) -> bool:
    try:
        date(year or 400, month, day)  # year 0 is a leap year of the same calendar, which Python leaves out
    except ValueError:
        return False
    return True


def test_every_day() -> None:
    for year in (0, 1, 4, 100, 400, 1582, 1899, 1900, 1999, 2000, 2019, 2020, 2100, 2400, 9999):
        for month in range(14):
            for day in range(33):
                text = f"{year:04}-{month:02}-{day:02}"
                assert has(DATE, text) == is_date(year, month, day), text
                assert has(DATE_TIME, f"{text}T00:00:00Z") == is_date(year, month, day), text


def test_leap_years() -> None:
    for year in range(10_000):
        assert has(DATE, f"{year:04}-02-29") == is_date(year, 2, 29)


@given(st.datetimes(), st.integers(-1439, 1439), st.booleans())
def test_what_datetime_writes(moment: datetime, offset: int, fraction: bool) -> None:
    zoned = moment.replace(tzinfo=timezone(timedelta(minutes=offset)))
    text = zoned.isoformat(timespec="microseconds" if fraction else "seconds")
    assert has(DATE_TIME, text)
    assert has(DATE_TIME, text.replace("T", "t"))
    day, _, clock = text.partition("T")
    assert has(DATE, day)
    assert has(TIME, clock)
    assert not has(DATE_TIME, day)
    assert not has(DATE, text)


clocks = st.tuples(st.integers(0, 25), st.integers(0, 61), st.integers(0, 62))
offsets = st.one_of(st.none(), st.tuples(st.sampled_from("+-"), st.integers(0, 25), st.integers(0, 61)))


@st.composite
def leap_seconds(draw: st.DrawFn) -> tuple[tuple[int, int, int], tuple[str, int, int]]:
    """A clock at second 60 with the offset that makes it 23:59:60 UTC, or one off by a minute."""
    local = draw(st.integers(0, 1439))
    sign = draw(st.sampled_from("+-"))
    away = (local - 1439 if sign == "+" else 1439 - local) + draw(st.sampled_from((0, 0, 1, -1)))
    return (local // 60, local % 60, 60), (sign, away % 1440 // 60, away % 60)


@given(st.one_of(st.tuples(clocks, offsets), leap_seconds()))
@example(((23, 59, 60), None))
@example(((22, 59, 60), None))
@example(((23, 29, 60), ("+", 23, 30)))
def test_clocks(parts: tuple[tuple[int, int, int], tuple[str, int, int] | None]) -> None:
    (hour, minute, second), offset = parts
    valid = hour <= 23 and minute <= 59 and second <= 60
    shift = 0
    text = f"{hour:02}:{minute:02}:{second:02}"
    if offset is not None:
        sign, hours, minutes = offset
        valid &= hours <= 23 and minutes <= 59
        shift = (60 * hours + minutes) * (1 if sign == "+" else -1)
    zone = "Z" if offset is None else f"{offset[0]}{offset[1]:02}:{offset[2]:02}"
    if second == 60:
        valid &= (60 * hour + minute - shift) % 1440 == 1439
    for fraction in ("", ".0", ".123456789012345678901234567890"):
        assert has(TIME, text + fraction + zone) == valid
        assert has(DATE_TIME, f"2016-12-31T{text}{fraction}{zone}") == valid
    assert not has(TIME, text)
    assert not has(TIME, text + "." + zone)


@given(st.lists(st.sampled_from(["1", "20", "Y", "M", "W", "D", "T", "H", "S"]), max_size=12))
def test_durations(parts: list[str]) -> None:
    text = "P" + "".join(parts)
    # Independent of the pattern under test: the units in order, then the gaps that the grammar forbids.
    found = re.fullmatch(r"P(\d+Y)?(\d+M)?(\d+D)?(?:T(\d+H)?(\d+M)?(\d+S)?)?", text)
    valid = re.fullmatch(r"P\d+W", text) is not None
    if found is not None:
        year, month, day, hour, minute, second = (part is not None for part in found.groups())
        valid = any((year, month, day, hour, minute, second)) and not text.endswith("T")
        valid &= not (year and day and not month) and not (hour and second and not minute)
    assert has(DURATION, text) == valid
