"""Sets of code points against Python's own sets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from constrain.grammars.regex.classes import EVERY, NONE, CodePoints

_SETS = st.frozensets(st.integers(0, 20), max_size=14)


@given(_SETS, _SETS)
def test_operations(a: frozenset[int], b: frozenset[int]) -> None:
    one, other = (CodePoints.of((c, c) for c in s) for s in (a, b))
    assert (one <= other) == (a <= b)
    assert one & other == CodePoints.of((c, c) for c in a & b)
    assert one | other == CodePoints.of((c, c) for c in a | b)
    assert {c for c in range(22) if c in ~one} == set(range(22)) - a
    assert bool(one) == bool(a)


def test_the_whole_and_nothing() -> None:
    assert NONE <= NONE <= EVERY <= EVERY
    assert not EVERY <= NONE
    assert ~EVERY == NONE
