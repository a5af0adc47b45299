"""Masks within runs of so many characters of a class, where all that is longer is left out of the walk at once."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.each_token import each_token
from tests.oracles import FULL, VOCABULARIES, allowed, compiled

_PATTERNS = [
    "^[0-9A-Za-z]{8}-[0-9A-Za-z]{4}-[0-9A-Za-z]{12}$",
    "^[a-z]{3}[0-9]{2}$",  # what follows the run is no part of it, and comes at once
    "^[a-z]{5}[a-f-]{2}$",  # part of the run's characters can follow it
    "^([a-z]{4}-)*[a-z]{2}$",  # the run is come to again
    "^([a-z]{2}|[a-z]{5})!$",  # two ends of a run
    "^[a-z]{4,6}-[a-z]*$",  # no one length
    "^[^-]{5}-[^ ]{1,3}$",  # characters beyond ASCII
    "^[a-zé]{6}-$",
    "^[A-Z]([a-z]{6}[0-9]{3})+$",
    "^[a-z]+-[a-z]{5}$",  # a state of the run is come to in any number of steps
]


def _check(pattern: str, vocabulary_name: str, positions: int, seed: int, **bounds: int) -> int:
    """Compare masks within the string, going on by short tokens; the number of positions where many tokens may come."""
    tokens, rng = VOCABULARIES[vocabulary_name](), random.Random(seed)
    size = len(tokens.bytes_of)
    short = np.array([t is not None and 1 <= len(t) <= 2 and t != b'"' for t in tokens.bytes_of])
    grammar = compiled({"type": "string", "pattern": pattern, **bounds}, vocabulary_name)
    matcher = grammar.matcher()
    wide = 0
    for _ in range(positions):
        if not matcher.num_accepted:
            assert matcher.accept_bytes(b'"')
        mask = allowed(matcher, size)
        wrong = np.flatnonzero(mask != each_token(matcher, size)[:size])
        assert not wrong.size, (pattern, bounds, [tokens.bytes_of[i] for i in wrong[:9].tolist()])
        wide += int(mask.sum() > 100)
        candidates = np.flatnonzero(mask & short)
        if not candidates.size or rng.random() < 0.05:
            matcher = grammar.matcher()
        else:
            assert matcher.accept_token(rng.choice(candidates.tolist()))
    return wide


@pytest.mark.parametrize("vocabulary_name", ["smollm2", "tekken"])
@pytest.mark.parametrize("pattern", _PATTERNS)
def test_masks_in_runs(pattern: str, vocabulary_name: str) -> None:
    assert _check(pattern, vocabulary_name, 200 if FULL else 24, seed=1)


@pytest.mark.parametrize(
    ("pattern", "most"),
    [("[a-z]{8}-", 9), ("[a-z]{8}-", 12), ("^[a-z]{4}-[0-9a-z]{5,}$", 10), ("^[a-z]{4,9}-?$", 6), ("^[a-z]{6}$", 6)],
)
def test_masks_in_runs_of_bounded_texts(pattern: str, most: int) -> None:
    _check(pattern, "smollm2", 24, seed=2, maxLength=most)


_CLASSES = st.sampled_from(["[a-z]", "[0-9a-f]", "[A-Za-z0-9_]", "[^-/]", ".", "-", "/", "x", r"\d", r"\w"])
_RUNS = st.tuples(_CLASSES, st.integers(1, 7), st.integers(0, 2)).map(lambda r: f"{r[0]}{{{r[1]},{r[1] + r[2]}}}")
_GROUPS = st.tuples(st.lists(_RUNS, min_size=1, max_size=3).map("".join), st.sampled_from(["", "?", "*", "{2}"])).map(
    lambda g: f"({g[0]}){g[1]}"
)


@settings(deadline=None, max_examples=200 if FULL else 25)
@given(st.lists(st.one_of(_RUNS, _GROUPS), min_size=1, max_size=4).map("".join), st.integers(0, 1 << 16))
def test_masks_in_random_runs(pattern: str, seed: int) -> None:
    _check(f"^{pattern}$", "smollm2", 12, seed)
