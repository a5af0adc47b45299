"""Arithmetic of length sets, against sets of small numbers."""

from __future__ import annotations

import itertools

import pytest
from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.languages.base import LengthSet
from constrain.grammars.regex import full_language, lengths
from hypothesis import given, settings
from hypothesis import strategies as st

BOUND = 150
sets = st.builds(
    lambda bits, preperiod, period: LengthSet(bits & (1 << preperiod + period) - 1, preperiod, period),
    st.integers(0, (1 << 16) - 1),
    st.integers(0, 9),
    st.integers(1, 7),
)
small = st.one_of(sets, st.lists(st.integers(0, 12), max_size=4).map(lengths.finite))


def members(of: LengthSet, bound: int = BOUND) -> set[int]:
    return {n for n in range(bound) if n in of}


def sums(a: set[int], b: set[int]) -> set[int]:
    return {x + y for x in a for y in b if x + y < BOUND}


@settings(max_examples=200, deadline=None)
@given(small, small)
def test_union_and_sum(a: LengthSet, b: LengthSet) -> None:
    assert members(lengths.union(a, b)) == members(a) | members(b)
    assert members(lengths.add(a, b)) == sums(members(a), members(b))


@settings(max_examples=150, deadline=None)
@given(small, st.integers(0, 4), st.one_of(st.none(), st.integers(0, 4)))
def test_repetition(a: LengthSet, low: int, extra: int | None) -> None:
    one = members(a)
    power = {0}
    for _ in range(low):
        power = sums(power, one)
    expected = set(power)
    for _ in range(BOUND if extra is None else extra):
        more = expected | sums(expected, one)
        if more == expected:
            break
        expected = more
    if extra is not None:  # exactly low .. low + extra rounds
        expected, rounds = set(power), power
        for _ in range(extra):
            rounds = sums(rounds, one)
            expected |= rounds
    assert members(lengths.times(a, low, None if extra is None else low + extra)) == expected


@given(sets)
def test_results_have_one_form(a: LengthSet) -> None:
    """Equal sets, however they came about, compare equal."""
    once = lengths.union(a, lengths.add(a, lengths.ZERO_ONLY))
    again = lengths.union(lengths.add(lengths.NO_LENGTHS, a), lengths.union(lengths.shift(a, 0), a))
    assert members(once) == members(again) == members(a)
    doubled = lengths.union(a, LengthSet(0, a.preperiod + 3, a.period * 2))
    assert members(doubled) == members(a)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.integers(0, 5), st.lists(st.integers(0, 5), max_size=3)), st.sets(st.integers(0, 5)))
def test_layers(graph: dict[int, list[int]], ends: set[int]) -> None:
    found = lengths.layered(
        [0], lambda n: graph.get(n, []), lambda n: lengths.ZERO_ONLY if n in ends else lengths.NO_LENGTHS
    )
    layer, expected = {0}, set()
    for k in range(BOUND):
        if layer & ends:
            expected.add(k)
        layer = {m for n in layer for m in graph.get(n, [])}
    assert members(found) == expected


def test_intervals_cost_nothing() -> None:
    for pattern, first, last in [
        ("^.{1,65535}$", 1, 65535),
        ("^([a-z]{1,63}\\.){1,127}$", 2, 64 * 127),
        ("^((a{1,30}){1,30}){1,3}$", 1, 2700),
        ("^(a{2,65535}b{3,65535}){1,10}$", 5, 1310700),
    ]:
        language = full_language(pattern)
        found = language.lengths(language.start)
        ends = (found.first_in(0, None), found.first_in(last, None), found.first_in(last + 1, None))
        assert ends == (first, last, None), pattern


def test_periods() -> None:
    language = full_language("(?:aaa|aaaaa)*")
    found = language.lengths(language.start)
    reachable = {3 * i + 5 * j for i, j in itertools.product(range(60), repeat=2)}
    assert members(found) == {n for n in range(BOUND) if n in reachable}
    assert found == LengthSet(found.bits, 8, 1)
    even = full_language("(?:😀.)*")
    assert even.lengths(even.start) == LengthSet(1, 0, 2)
    # Inside a character it counts as read.
    inside = even.run("😀".encode()[:2])
    assert members(even.lengths(inside)) == set(range(1, BOUND, 2))


def test_too_many_lengths_are_refused() -> None:
    with pytest.raises(ResourceLimitError, match="lengths"):
        lengths.times(lengths.finite([1, 2]), 0, lengths.MAX_LENGTH)
