"""Figures from counts: their floor, and the comparison of two samplers (acceptance of capability 10)."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest

from constrain.distortion import compare_samples, count_figures, exact_law
from constrain.distortion.samplers import CARS, Masking, score, score_all
from tests.constrain.distortion.cases import enumerate_all, t1, t2, t4

FULL = os.environ.get("CONSTRAIN_FULL") == "1"
RUNS = 1000 if FULL else 100


def drawn(law: dict[tuple[int, ...], float], n: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    outcomes = list(law)
    return [outcomes[i] for i in rng.choice(len(outcomes), size=n, p=list(law.values()))]


def test_the_law_is_that_of_enumeration() -> None:
    for case in (t1, t2):
        truth = enumerate_all(*case())
        assert exact_law(*case()) == pytest.approx({y: p / truth.z for y, (p, _) in truth.sequences.items()})
    with pytest.raises(ValueError, match="no table"):
        exact_law(*t4(), budget=50)
    assert sum(exact_law(*t4(), max_tokens=6).values()) == pytest.approx(1.0)


def test_exact_samples_stand_at_the_floor() -> None:
    law, rng = exact_law(*t2()), np.random.default_rng(1)
    above = 0
    for seed in range(RUNS):
        figures = count_figures(drawn(law, 300, rng), law, seed=seed, simulations=300)
        above += not figures.is_at_floor
        assert figures.kl > 0.0  # never 0: the floor is about (17 - 1) / 600
        assert figures.kl_floor == pytest.approx(16 / 600, rel=0.3)
    assert above <= 0.06 * RUNS + 3


def test_masking_stands_above_the_floor_by_its_divergence() -> None:
    law = exact_law(*t2())
    figures = score(Masking(*t2(), 3), 4000, law=law).figures
    assert not figures.is_at_floor
    assert figures.kl_above_floor == pytest.approx(0.753772, abs=0.05)
    assert figures.tv == pytest.approx(15 / 34, abs=0.03)
    exact = score(CARS(*t2(), 3), 4000, law=law).figures
    assert exact.is_at_floor
    assert exact.kl_above_floor < 0.005


def test_exact_against_exact_is_no_difference() -> None:
    law, rng = exact_law(*t2()), np.random.default_rng(2)
    same = 0
    for seed in range(RUNS):
        found = compare_samples(drawn(law, 300, rng), drawn(law, 300, rng), law, seed=seed, replicates=300)
        same += found.verdict == "no difference"
    assert same >= 0.94 * RUNS


def test_masking_is_declared_worse() -> None:
    model, language = t2()
    law, rng = exact_law(model, language), np.random.default_rng(3)
    truth = enumerate_all(model, language)
    q = {y: q for y, (_, q) in truth.sequences.items()}
    worse = inside = 0
    for seed in range(RUNS):
        found = compare_samples(drawn(q, 300, rng), drawn(law, 300, rng), law, seed=seed, replicates=300)
        worse += found.verdict == "the first is worse"
        inside += found.difference.contains(0.753772)
    assert worse >= 0.99 * RUNS
    assert inside >= 0.8 * RUNS  # a bootstrap, and called one
    turned = compare_samples(drawn(law, 300, rng), drawn(q, 300, rng), law)
    assert turned.verdict == "the second is worse"
    assert turned.difference.value < 0


def test_samples_outside_the_law() -> None:
    law = exact_law(*t1())
    good, bad = drawn(law, 100, np.random.default_rng(0)), [(0, 0, 2)] * 100
    figures = count_figures(bad, law)
    assert figures.kl == math.inf
    assert figures.outside == 1.0
    found = compare_samples(bad, good, law)
    assert found.verdict == "the first is worse"
    assert found.difference.refused
    with pytest.raises(ValueError, match="one size"):
        compare_samples(good, good[:-1], law)
    with pytest.raises(ValueError, match="no samples"):
        count_figures([], law)
    with pytest.raises(ValueError, match="add up to"):
        count_figures(good, {(1, 2): 0.5})


def test_all_samplers_on_one_bench() -> None:
    scores = {s.name: s for s in score_all(*t2(), n=150, seed=1)}
    assert set(scores) == {
        "AWRS", "ASAp", "CARS", "IndependenceMH", "ImportanceResampling", "Masking", "Rejection", "SMC",
    }  # fmt: skip
    assert not scores["Masking"].figures.is_at_floor
    assert scores["Rejection"].figures.is_at_floor
    assert scores["CARS"].figures.is_at_floor
    assert scores["CARS"].attempts < scores["Rejection"].attempts
    assert scores["SMC"].figures.kl < scores["Masking"].figures.kl
    for s in scores.values():
        assert s.attempts >= 150
        assert 1 <= s.batches <= s.forward_passes <= 63  # t2 has 1 + 2 + ... + 32 prefixes of bits
        assert s.converges_to in str(s)
