"""Laws of samplers from counts, and tries as tables."""

from __future__ import annotations

import math

import numpy as np
import pytest

from constrain.distortion import Trie, compare
from constrain.distortion.counts import count_figures
from constrain.distortion.laws import frozen
from constrain.distortion.samplers import CARS, Masking
from tests.constrain.distortion.cases import enumerate_all, random_case, t2


def test_distances_and_their_floor() -> None:
    exact = {(0,): 0.5, (1,): 0.5}
    law = count_figures([(0,)] * 60 + [(1,)] * 40, exact, simulations=20_000)
    assert law.tv == pytest.approx(0.1)
    # |Binomial(100, 1/2) / 100 - 1/2| has mean C(100, 50) / 2^101; it is above 0.1 in 3.5% of cases, at least in 5.7%.
    assert law.tv_floor == pytest.approx(math.comb(100, 50) / 2**101, rel=0.03)
    assert law.tv_floor_high == pytest.approx(0.1)
    assert not law.tv_differs
    assert count_figures([(0,)] * 100, exact).tv_differs
    strange = count_figures([(0,)] * 50 + [(7,)] * 50, exact)
    assert (strange.tv, strange.outside) == (pytest.approx(0.5), pytest.approx(0.5))


def test_exact_samples_are_told_apart_about_one_time_in_twenty() -> None:
    rng = np.random.default_rng(1)
    p = np.array([0.4, 0.3, 0.2, 0.1])
    exact = {(i,): float(x) for i, x in enumerate(p)}
    hits = [
        count_figures([(int(i),) for i in rng.choice(4, size=200, p=p)], exact, seed=seed, simulations=300).tv_differs
        for seed in range(300)
    ]
    assert 0.01 < np.mean(hits) < 0.10


def test_a_frozen_trie_has_the_laws_of_the_model() -> None:
    rng = np.random.default_rng(3)
    tried = 0
    while tried < 20:
        model, language = random_case(rng, layers=4)
        truth = enumerate_all(model, language)
        if truth.z < 1e-3 or truth.finished < 1 - 1e-12:
            continue
        tried += 1
        trie = Trie(model, language).run(10_000)
        table, small, p, q = frozen(trie)
        again = enumerate_all(table, small)
        for name in ("z", "kl_masked_to_exact", "kl_exact_to_masked", "tv", "tax"):
            assert getattr(again, name) == pytest.approx(getattr(truth, name), abs=1e-9)
        assert sorted(p.values()) == pytest.approx(sorted(x / truth.z for x, _ in truth.sequences.values()))
        assert sorted(q.values()) == pytest.approx(sorted(x for _, x in truth.sequences.values()))
    with pytest.raises(ValueError, match="exhausted"):
        frozen(Trie(*t2()).run(3))


def test_samplers_on_a_frozen_trie() -> None:
    model, language = t2()
    table, small, p, q = frozen(Trie(model, language).run(1000))
    assert not count_figures([s.tokens for s in CARS(table, small, 5).draw_many(2000)], p).tv_differs
    masked = [s.tokens for s in Masking(table, small, 6).draw_many(2000)]
    assert count_figures(masked, p).tv_differs
    assert not count_figures(masked, q).tv_differs
    assert count_figures(masked, p).tv == pytest.approx(compare(model, language).tv.value, abs=0.04)
