"""Two engines on the same draws: noise, laws, intervals of the difference, against enumeration."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import pytest

from constrain.distortion import DFALanguage, TableModel, compare_paired, finite_language
from constrain.distortion.paired import gumbel_noise
from tests.constrain.distortion.cases import enumerate_all, random_case, t1, t2, t4, t5
from tests.constrain.distortion.test_samplers import chi_square_fits

FULL = os.environ.get("CONSTRAIN_FULL") == "1"


def taxes(model: Any, language: Any, limit: int | None = None) -> float:
    return enumerate_all(model, language, limit).tax


def test_the_noise_is_gumbel_and_belongs_to_its_token() -> None:
    ids = np.arange(200_000)
    noise = gumbel_noise(1, 2, 3, ids)
    assert noise.mean() == pytest.approx(0.57722, abs=0.01)
    assert noise.std() == pytest.approx(math.pi / math.sqrt(6), abs=0.01)
    some = ids[::7]
    assert (gumbel_noise(1, 2, 3, some) == noise[::7]).all()
    for other in ((2, 2, 3), (1, 3, 3), (1, 2, 4)):
        assert abs(np.corrcoef(gumbel_noise(*other, ids), noise)[0, 1]) < 0.01
    assert gumbel_noise(1, 2, 3, ids[:1]) != gumbel_noise(2, 1, 3, ids[:1])  # no stream is another one, shifted
    neighbours = np.corrcoef(noise[:-1], noise[1:])[0, 1]
    assert abs(neighbours) < 0.01


@pytest.mark.parametrize("seed", range(3))
def test_each_side_follows_its_own_masked_law(seed: int) -> None:
    model, language = random_case(np.random.default_rng(seed + 40), layers=4)
    words = list(enumerate_all(model, language).sequences)
    fewer = finite_language([w[:-1] for w in words[:: 2 if len(words) > 2 else 1]], language.eos_token_ids)
    found = compare_paired(model, language, fewer, n=2000, seed=seed)
    for draws, mask in ((found.first, language), (found.second, fewer)):
        law = {y: q for y, (_, q) in enumerate_all(model, mask).sequences.items()}
        counts: dict[Any, int] = {}
        for y in draws.sequences:
            counts[y] = counts.get(y, 0) + 1
        assert chi_square_fits(counts, law)
        known = enumerate_all(model, mask).sequences
        for y, log_w in list(zip(draws.sequences, draws.log_w, strict=True))[:50]:
            p, q = known[y]
            assert log_w == pytest.approx(math.log(p / q), abs=1e-9)


def test_an_engine_against_itself_differs_by_exactly_nothing() -> None:
    model, language = t2()
    found = compare_paired(model, language, language, n=300)
    assert found.same == 1.0
    assert (found.kl.low, found.kl.value, found.kl.high) == (0.0, 0.0, 0.0)
    assert found.z.value == 0.0
    assert found.divergence is None
    assert found.verdict == "no difference was found"
    assert found.forward_passes <= 63  # both engines read the same rows


def test_free_and_forced_splits_of_one_text() -> None:
    """T5: token-level divergences from p* of the whole language are 0.395152 and log(.801 / .8)."""
    model, free = t5()
    _, forced = t5(((0,), (3,)))
    truth = 0.395152 - math.log(0.801 / 0.8)
    found = compare_paired(model, free, forced, n=3000, seed=1)
    assert found.kl.contains(truth, 1e-6)
    assert found.kl.value == pytest.approx(truth, abs=0.06)
    assert found.z.contains(0.801 - 0.8)
    assert found.verdict == "the first is further from the model"
    assert found.divergence is not None
    assert (found.divergence.prefix, found.divergence.only_first) == ((), (1,))
    assert 0.8 < found.same < 1.0
    assert "the masks differ after" in str(found)
    turned = compare_paired(model, forced, free, n=3000, seed=1)
    assert turned.kl.value == pytest.approx(-found.kl.value, abs=1e-12)
    assert turned.verdict == "the second is further from the model"


def test_pairing_saves_variance_and_intervals_cover() -> None:
    """Two masks of one law that differ in a rare branch only."""
    table: dict[str | tuple[str, ...], dict[str, float]] = {
        (): {"a": 0.5, "b": 0.47, "c": 0.03},
        ("a",): {"$": 0.2},
        ("b",): {"$": 0.9},
        ("c",): {"$": 0.01},
    }
    model = TableModel(table, ["a", "b", "c", "$"])
    wide, narrow = finite_language([[0], [1], [2]], 3), finite_language([[0], [1]], 3)
    truth = taxes(model, wide) - taxes(model, narrow)
    covered, runs, widths = 0, 400 if FULL else 40, []
    for seed in range(runs):
        found = compare_paired(model, wide, narrow, n=500, seed=seed, replicates=200, budget=0)
        covered += found.kl.contains(truth)
        widths.append(found.kl.width)
        assert found.variance_saved > 0.2
    assert covered >= 0.88 * runs  # a bootstrap
    assert np.mean(widths) < 0.3


def test_what_dies_and_what_is_cut() -> None:
    model, even = t4()
    every = DFALanguage({(0, 0): 0}, 0, [0], 1)
    found = compare_paired(model, even, every, n=2000, max_tokens=6, seed=3)
    truths = [enumerate_all(model, language, 6) for language in (even, every)]
    assert found.kl.contains(truths[0].tax - truths[1].tax)
    assert (found.first.status == 2).mean() == pytest.approx(1 / 8, abs=0.03)
    assert found.z.contains(truths[0].z - truths[1].z)
    assert math.isnan(compare_paired(*t1(), t1()[1], n=20).variance_saved)
    few = compare_paired(*t1(), t1()[1], n=20)
    assert few.kl.value is None
    assert "only 20 pairs" in few.verdict
