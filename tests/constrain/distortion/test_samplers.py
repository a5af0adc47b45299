"""Each sampler against the law that it says it has, by enumeration and chi-square tests with fixed seeds."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from constrain.distortion import DFALanguage, TableModel, finite_language
from constrain.distortion.samplers import (
    AWRS,
    CARS,
    SMC,
    ASAp,
    ImportanceResampling,
    IndependenceMH,
    InvalidMass,
    Masking,
    Rejection,
    weighted_rejection,
)
from tests.constrain.distortion.cases import enumerate_all, random_case, t1, t2, t4

ALL = [AWRS, CARS, SMC, ASAp, ImportanceResampling, IndependenceMH, Masking, Rejection]


def chi_square_fits(counts: dict[Any, int], law: dict[Any, float]) -> bool:
    """Whether counts fit a law, at about one in 10,000 (Wilson-Hilferty); rare outcomes are pooled."""
    assert set(counts) <= set(law), "an outcome that the law excludes"
    n = sum(counts.values())
    cells, pooled = [], [0.0, 0.0]
    for outcome, p in law.items():
        if n * p < 5:
            pooled[0] += counts.get(outcome, 0)
            pooled[1] += n * p
        else:
            cells.append((counts.get(outcome, 0), n * p))
    if pooled[1] > 1:
        cells.append((pooled[0], pooled[1]))
    freedom = len(cells) - 1
    if not freedom:
        return True
    statistic = sum((seen - want) ** 2 / want for seen, want in cells)
    z = ((statistic / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / math.sqrt(2 / (9 * freedom))
    return z < 3.72


def counted(samples: list[Any]) -> dict[Any, int]:
    out: dict[Any, int] = {}
    for s in samples:
        out[s.tokens] = out.get(s.tokens, 0) + 1
    return out


def laws(model: Any, language: Any, max_tokens: int | None = None) -> tuple[dict[Any, float], dict[Any, float]]:
    """q and p* by enumeration."""
    truth = enumerate_all(model, language, max_tokens)
    q = {y: q / truth.finished for y, (_, q) in truth.sequences.items()}
    return q, {y: p / truth.z for y, (p, _) in truth.sequences.items()}


def test_the_test_itself_can_fail() -> None:
    q, exact = laws(*t2())
    samples = counted(Masking(*t2(), 1).draw_many(3000))
    assert chi_square_fits(samples, q)
    assert not chi_square_fits(samples, exact)


@pytest.mark.parametrize("case", ["t1", "t2", "t4", "random"])
@pytest.mark.parametrize("sampler", [Rejection, CARS])
def test_rejection_is_exact(sampler: Any, case: str) -> None:
    limit = 8 if case == "t4" else None
    model, language = {"t1": t1, "t2": t2, "t4": t4, "random": lambda: random_case(np.random.default_rng(3), layers=4)}[
        case
    ]()
    _, exact = laws(model, language, limit)
    drawn = sampler(model, language, 5, max_tokens=limit).draw_many(2000)
    assert chi_square_fits(counted(drawn), exact)


def test_masking_has_its_own_law() -> None:
    q, exact = laws(*t1())
    counts = counted(Masking(*t1(), 2).draw_many(2000))
    assert chi_square_fits(counts, q)
    assert not chi_square_fits(counts, exact)


def test_masking_starts_again_after_a_dead_end() -> None:
    model = TableModel({}, ["a", "b", "$"], default={"a": 0.4, "b": 0.4, "$": 0.2})
    language = DFALanguage({(0, 0): 1, (0, 1): 2}, 0, [2], 2, trim=False)
    sampler = Masking(model, language, 3)
    assert {s.tokens for s in sampler.draw_many(100)} == {(1, 2)}
    assert 150 < sampler.attempts < 260


def test_the_first_draw_of_cars_is_exact() -> None:
    _, exact = laws(*t2())
    first = [CARS(*t2(), seed).draw() for seed in range(1500)]
    assert chi_square_fits(counted(first), exact)


def test_the_acceptance_of_cars_never_falls() -> None:
    sampler = CARS(*t2(), 4)
    bounds = []
    for _ in range(300):
        sampler.draw()
        bounds.append(sampler.z_upper)
    assert all(a >= b for a, b in itertools.pairwise(bounds))
    assert bounds[-1] == pytest.approx(17 / 32, abs=1e-12)
    before = sampler.attempts
    sampler.draw_many(200)
    assert sampler.attempts - before == 200
    assert sampler.forward_passes <= 63


def test_asap_begins_with_masking_and_ends_exact() -> None:
    q, exact = laws(*t2())
    first = [ASAp(*t2(), seed).draw() for seed in range(1500)]
    assert chi_square_fits(counted(first), q)
    sampler = ASAp(*t2(), 4)
    bounds = []
    for _ in range(400):
        sampler.draw()
        bounds.append(sampler.z_upper)
    assert all(a >= b >= 17 / 32 - 1e-12 for a, b in itertools.pairwise(bounds))
    assert bounds[-1] == pytest.approx(17 / 32, abs=1e-9)
    assert chi_square_fits(counted(sampler.draw_many(2000)), exact)


def test_what_is_known_to_be_invalid_can_be_kept(tmp_path: Path) -> None:
    sampler = CARS(*t2(), 4)
    sampler.draw_many(300)
    sampler.invalid.save(tmp_path / "invalid.json")
    loaded = InvalidMass.load(tmp_path / "invalid.json")
    again = CARS(*t2(), 5, invalid=loaded)
    assert again.z_upper == sampler.z_upper
    drawn = again.draw_many(1000)
    assert again.attempts == 1000
    assert chi_square_fits(counted(drawn), laws(*t2())[1])


def test_resampling_has_the_law_that_counting_gives() -> None:
    # Two outcomes, weights 0.01 (for a) and 1 (for b), b drawn with probability 0.1 by the mask.
    m = 6
    law_b = sum(
        math.comb(m, k) * 0.1**k * 0.9 ** (m - k) * (k * 1.0 / (k * 1.0 + (m - k) * 0.01)) for k in range(m + 1)
    )
    counts = counted(ImportanceResampling(*t1(), 6, candidates=m).draw_many(3000))
    assert chi_square_fits(counts, {(0, 2): 1 - law_b, (1, 2): law_b})


def test_the_chain_has_the_law_that_its_matrix_gives() -> None:
    steps = 4
    matrix = np.array([[0.9, 0.1], [0.9 * 0.01, 1 - 0.9 * 0.01]])
    law = np.array([0.9, 0.1]) @ np.linalg.matrix_power(matrix, steps)
    counts = counted(IndependenceMH(*t1(), 6, steps=steps).draw_many(3000))
    assert chi_square_fits(counts, {(0, 2): law[0], (1, 2): law[1]})


@pytest.mark.parametrize("make", [ImportanceResampling, IndependenceMH, SMC, AWRS])
def test_enough_work_comes_near_the_exact_law(make: Any) -> None:
    model, language = t2()
    _, exact = laws(model, language)
    size = {ImportanceResampling: "candidates", IndependenceMH: "steps"}.get(make, "particles")
    counts = counted(make(model, language, 8, **{size: 200}).draw_many(150))
    assert counts.get((0, 0, 0, 0, 0, 2), 0) / 150 < 0.2  # p* 1/17, q 1/2
    assert chi_square_fits(counts, exact)


@pytest.mark.parametrize("make", [SMC, AWRS])
@pytest.mark.parametrize("threshold", [0.0, 0.5, 1.0])
def test_weighted_particles_are_unbiased(make: Any, threshold: float) -> None:
    """For every sequence, the expected weight of the particles that hold it is its probability under the model."""
    model, language = random_case(np.random.default_rng(21), layers=4)
    truth = enumerate_all(model, language)
    sampler = make(model, language, 9, particles=4, ess_threshold=threshold)
    runs = 1500
    sums = {y: np.zeros(runs) for y in truth.sequences}
    ml = np.zeros(runs)
    for i in range(runs):
        for particle in sampler.run():
            if particle.log_weight > -math.inf:
                sums[particle.tokens][i] += math.exp(particle.log_weight) / 4
        ml[i] = math.exp(sampler.log_ml)
    assert ml.mean() == pytest.approx(truth.z, abs=4.5 * ml.std() / math.sqrt(runs) + 1e-12)
    for y, (p, _) in truth.sequences.items():
        if p > 1e-3:
            error = sums[y].std() / math.sqrt(runs)
            assert sums[y].mean() == pytest.approx(p, abs=4.5 * error + 1e-12), y


def test_a_particle_that_is_cut_counts_for_nothing() -> None:
    model, language = t4()
    truth = enumerate_all(model, language, 6)
    sampler = SMC(model, language, 3, particles=8, max_tokens=6)
    ml = []
    for _ in range(1500):
        sampler.run()
        ml.append(math.exp(sampler.log_ml))
    assert np.mean(ml) == pytest.approx(truth.z, abs=4.5 * np.std(ml) / math.sqrt(len(ml)))
    assert all(len(s.tokens) <= 6 for s in sampler.draw_many(50))
    assert 1 <= sampler.ancestors <= 8


@pytest.mark.parametrize("seed", range(6))
def test_weighted_rejection_is_unbiased(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(6, 0.7))
    allowed = set(np.flatnonzero(rng.random(6) < 0.5).tolist()) or {0}
    weights = np.zeros((6000, 6))
    for i in range(len(weights)):
        token, log_estimate, checks = weighted_rejection(np.log(p), allowed.__contains__, rng)
        assert token in allowed
        assert 1 <= checks <= 7
        weights[i, token] = math.exp(log_estimate)
    for token in range(6):
        want = p[token] if token in allowed else 0.0
        error = weights[:, token].std() / math.sqrt(len(weights))
        assert weights[:, token].mean() == pytest.approx(want, abs=4.5 * error + 1e-12)


@pytest.mark.parametrize("mass", [2e-5, 5e-6, 1e-12])
def test_weighted_rejection_has_no_cut_off(mass: float) -> None:
    rng = np.random.default_rng(0)
    log_p = np.log([0.5, 0.5 - mass, mass])
    found = [weighted_rejection(log_p, {2}.__contains__, rng) for _ in range(200)]
    assert all(token == 2 for token, _, _ in found)
    assert np.mean([math.exp(x) for _, x, _ in found]) == pytest.approx(mass, rel=1e-3)


def test_weighted_rejection_where_nothing_is_allowed() -> None:
    assert weighted_rejection(np.log([0.5, 0.5]), set().__contains__, np.random.default_rng(0))[:2] == (None, -math.inf)


@pytest.mark.parametrize("make", ALL)
def test_the_interface(make: Any) -> None:
    model, language = t1()
    truth = enumerate_all(model, language)
    sampler = make(model, language, 1)
    assert sampler.converges_to
    samples = sampler.draw_many(20)
    for s in samples:
        p, q = truth.sequences[s.tokens]
        assert s.log_p == pytest.approx(math.log(p), abs=1e-9)
        assert math.isnan(s.log_w) or s.log_w == pytest.approx(math.log(p / q), abs=1e-9)
    assert sampler.attempts >= 20
    assert 1 <= sampler.forward_passes <= 3  # there are three prefixes, and none is computed twice
    assert [s.tokens for s in make(model, language, 1).draw_many(20)] == [s.tokens for s in samples]


@pytest.mark.parametrize("make", ALL)
def test_hopeless_cases_end(make: Any) -> None:
    model = TableModel({}, ["a", "$"], default={"a": 1.0})  # never ends
    sampler = make(model, finite_language([[0]], 1), 1, max_tokens=5, max_attempts=50)
    with pytest.raises(RuntimeError):
        sampler.draw()
