"""Arithmetic of length sets, against sets of small numbers."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.languages.base import LengthSet
from constrain.grammars.regex import full_language, graph_lengths, lengths, nearest, parse
from constrain.grammars.regex.classes import CodePoints
from constrain.grammars.regex.covers import Covers
from constrain.grammars.regex.terms import Terms
from constrain.grammars.regex.utf8 import CodePointLanguage

from . import oracles

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


@settings(max_examples=200, deadline=None)
@given(small, small, st.integers(0, 20), st.one_of(st.none(), st.integers(0, 20)))
def test_intersection_and_complement(a: LengthSet, b: LengthSet, low: int, high: int | None) -> None:
    assert members(lengths.intersection(a, b)) == members(a) & members(b)
    assert members(lengths.complement(a)) == set(range(BOUND)) - members(a)
    assert members(lengths.interval(low, high)) == set(range(low, BOUND if high is None else high + 1))


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


graphs = st.integers(1, 9).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=3), min_size=n, max_size=n)
)


@settings(max_examples=80, deadline=None)
@given(graphs, st.sets(st.integers(0, 8)), st.dictionaries(st.integers(0, 8), small, max_size=2))
def test_lengths_of_paths(graph: list[list[int]], ends: set[int], extra: dict[int, LengthSet]) -> None:
    """Every node of a graph, asked in any order, against its layers."""

    def contributed(node: int) -> LengthSet:
        here = lengths.ZERO_ONLY if node in ends else lengths.NO_LENGTHS
        return lengths.union(here, extra.get(node, lengths.NO_LENGTHS))

    found = graph_lengths.GraphLengths(lambda node: graph[node], contributed)
    for start in (len(graph) // 2, *range(len(graph))):
        layer, expected = {start}, set()
        for k in range(BOUND):
            expected |= {k + n for node in layer for n in members(contributed(node), BOUND - k)}
            layer = {after for node in layer for after in graph[node]}
        assert members(found.lengths(start)) == expected


def test_a_long_path_is_walked_once() -> None:
    steps = 0

    def onward(node: int) -> list[int]:
        nonlocal steps
        steps += 1
        return [node - 1] if node else []

    found = graph_lengths.GraphLengths(onward, lambda node: lengths.finite([0] if node % 100 == 0 else []))
    for start in (5000, 4999, 2500):
        assert members(found.lengths(start), start + 1) == {start - end for end in range(0, start + 1, 100)}
    assert steps == 5001
    with pytest.raises(ResourceLimitError, match="states"):
        found.lengths(5000 + graph_lengths.MAX_NODES + 1)


@settings(max_examples=200, deadline=None)
@given(graphs, st.sets(st.integers(0, 8)), st.lists(st.integers(1, 4), min_size=9, max_size=9))
def test_distances(graph: list[list[int]], ends: set[int], costs: list[int]) -> None:
    """Every node's distance to an end, with an edge costing what its target does, against relaxation."""
    expected = {node: 0 for node in range(len(graph)) if node in ends}
    for _ in graph:
        for node, targets in enumerate(graph):
            ways = [costs[t] + expected[t] for t in targets if t in expected] + [0] * (node in ends)
            if ways:
                expected[node] = min(ways)
    found = nearest.Nearest(lambda n: [(t, costs[t]) for t in graph[n]], ends.__contains__, lambda _: 0, "")
    for node in range(len(graph)):
        assert found.distance(node) == expected.get(node)


@settings(max_examples=200, deadline=None)
@given(oracles.patterns(conditions=False), st.sampled_from(["ab", "a", "-_", "ab-_0", "é", "😀 "]))
def test_lengths_over_an_alphabet(pair: oracles.Pair, alphabet: str) -> None:
    """Where lengths are told, all texts of such a length match and no others; brute force."""
    terms = Terms()
    term = terms.of(parse(pair[0]))
    found = Covers(terms).lengths(term, CodePoints.of((ord(c), ord(c)) for c in alphabet))
    if found is not None:
        for n in range(4):
            for text in itertools.product(alphabet, repeat=n):
                assert oracles.python_finds(pair[1], "".join(text), whole=True) == (n in found)


@settings(max_examples=100, deadline=None)
@given(oracles.patterns(conditions=True, looks=True), st.integers(0, 99))
def test_alphabets_have_all_that_can_come(pair: oracles.Pair, seed: int) -> None:
    language = full_language(pair[0])
    assert isinstance(language, CodePointLanguage)
    alphabet = language.alphabet(language.start)
    for text in oracles.texts_near(language, random.Random(seed), 4):
        if language.matches(text.encode()):
            assert all(ord(c) in alphabet for c in text)


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
