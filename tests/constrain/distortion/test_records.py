"""Summaries of recorded masses, against closed forms and laws known by enumeration."""

from __future__ import annotations

import json
import math
import os
from typing import Any

import numpy as np
import pytest

from constrain.distortion import by_prompt, compare, summarize
from constrain.distortion.draws import draw_masked
from constrain.distortion.model import CountingModel
from constrain.distortion.process import MaskedProcess
from constrain.mass import MassRecord
from tests.constrain.distortion.cases import enumerate_all, random_case, t1, t2, t3, t4, trap_chain

FULL = os.environ.get("CONSTRAIN_FULL") == "1"


def recorded(model: Any, language: Any, n: int, seed: int, *, limit: int | None = None, prompt: str = "p") -> Any:
    """Records as a processor would make them: plain masked sampling, step by step."""
    rng, process, out = np.random.default_rng(seed), MaskedProcess(CountingModel(model), language), []
    for _ in range(n):
        tokens: tuple[int, ...] = ()
        masses: list[float] = []
        while not tokens or (tokens[-1] not in process.eos and (limit is None or len(tokens) < limit)):
            step = process.steps([tokens])[0]
            masses.append(step.log_z)
            p = np.exp(step.log_probs - step.log_z)
            tokens = (*tokens, int(rng.choice(step.ids, p=p / p.sum())))
        done = tokens[-1] in process.eos
        places = tuple(f"/{i}" for i in range(len(tokens)))
        out.append(MassRecord(tokens, tuple(masses), done, not done, prompt, places))
    return out


def test_the_trap() -> None:
    records = recorded(*t1(), 3000, 1)
    report = summarize(records)
    assert (report.method, report.records, report.prompts, report.forward_passes) == ("records", 3000, 1, 0)
    assert report.log_z.contains(math.log(0.109))
    assert math.exp(report.log_z.value or 0.0) == pytest.approx(0.109, abs=0.015)
    assert report.kl_masked_to_exact.contains(1.928246, 0.0)
    assert report.kl_exact_to_masked.contains(1.836164)
    assert report.tv.contains(0.817431)
    assert report.ess_fraction.contains(0.118703)
    assert report.tax.value == pytest.approx(4.144653, abs=0.05)
    # Every draw pays log .01 at the second step with probability .9, and nothing anywhere else.
    first, second = sorted(report.places, key=lambda p: p.location)
    assert first.tax == pytest.approx(0.0, abs=1e-12)
    assert second.tax == pytest.approx(report.tax.value, abs=1e-9)
    assert second.variance_share == pytest.approx(1.0, abs=1e-9)
    assert sum(report.step_tax) == pytest.approx(report.tax.value, abs=1e-9)
    shown = json.loads(json.dumps(report.to_dict()))
    assert shown["records"] == 3000
    assert {p["location"] for p in shown["places"]} == {"/0", "/1"}
    assert "of the variance" in str(report)


def test_no_distortion_with_a_tax() -> None:
    report = summarize(recorded(*t3(), 200, 2))
    assert report.kl_masked_to_exact.value == pytest.approx(0.0, abs=1e-12)
    assert report.tax.value == pytest.approx(1.216395, abs=5e-7)
    assert report.log_z.value == pytest.approx(math.log(8 / 27), abs=1e-9)
    assert report.ess_fraction.value == pytest.approx(1.0, abs=1e-12)
    assert [p.tax for p in report.places[:3]] == pytest.approx([math.log(1.5)] * 3, abs=1e-12)
    assert all(math.isnan(p.variance_share) for p in report.places)
    assert json.loads(json.dumps(report.to_dict()))["places"][0]["variance_share"] is None


def test_the_same_figures_as_sampling_gives() -> None:
    """The estimators are those of `compare`: same draws, same numbers, whatever brought the weights."""
    model, language = random_case(np.random.default_rng(5), layers=6)
    truth = enumerate_all(model, language)
    report = summarize(recorded(model, language, 3000, 3))
    for name in ("kl_masked_to_exact", "kl_exact_to_masked", "tv", "chi2", "tax"):
        estimate = getattr(report, name)
        assert estimate.value == pytest.approx(getattr(truth, name), rel=0.15, abs=0.03)
        assert estimate.kind == "heuristic"
    assert report.log_z.contains(math.log(truth.z))
    assert report.identity_error == pytest.approx(0.0, abs=1e-2)


def test_intervals_cover() -> None:
    covered, runs = 0, 1000 if FULL else 40
    for seed in range(runs):
        covered += summarize(recorded(*t2(), 150, seed)).log_z.contains(math.log(17 / 32))
    assert covered >= 0.94 * runs


def test_cut_outputs_are_counted_apart() -> None:
    model, language = t4()
    report = summarize(recorded(model, language, 3000, 4, limit=6))
    truth = enumerate_all(model, language, 6)
    assert report.truncated_mass.contains(truth.truncated)
    assert report.log_z.contains(math.log(truth.z))
    assert report.kl_masked_to_exact.value == pytest.approx(truth.kl_masked_to_exact, abs=0.02)
    assert "before the limit" in report.target
    assert any("are cut" in w for w in report.warnings)


def test_a_tidy_number_is_refused_where_the_weights_cannot_carry_it() -> None:
    report = summarize(recorded(*trap_chain(20), 300, 0))
    for estimate in (report.log_z, report.kl_masked_to_exact, report.tv, report.ess_fraction):
        assert estimate.value is None
        assert estimate.refused
    assert report.log_z.contains(20 * math.log(0.55))
    assert report.tax.value is None
    few = summarize(recorded(*t1(), 10, 0))
    assert "fewer than" in few.log_z.refused


def test_prompts_together_bound_the_mean_of_each() -> None:
    """The chain rule: joint distortion = mean distortion + how uneven Z is among prompts."""
    (m2, l2), (m3, l3) = t2(), t3()
    records = recorded(m2, l2, 2500, 1, prompt="bits") + recorded(m3, l3, 2500, 2, prompt="ternary")
    report = summarize(records)
    z = [17 / 32, 8 / 27]
    mean = sum(z) / 2
    uneven = math.log(mean) - sum(map(math.log, z)) / 2
    assert report.log_z.contains(math.log(mean))
    assert report.kl_masked_to_exact.value == pytest.approx((0.753772 + 0.0) / 2 + uneven, abs=0.03)
    assert report.prompts == 2
    assert any("upper bound" in w for w in report.warnings)
    each = by_prompt(records)
    assert set(each) == {"bits", "ternary"}
    assert each["bits"].kl_masked_to_exact.contains(0.753772)
    assert each["ternary"].kl_masked_to_exact.value == pytest.approx(0.0, abs=1e-12)


def test_what_is_no_draw_is_told() -> None:
    good = recorded(*t1(), 60, 1)
    with pytest.raises(ValueError, match="no records"):
        summarize([])
    with pytest.raises(ValueError, match="record 60 lacks the mass of step 1"):
        summarize([*good, MassRecord((0, 1), (-0.1, None), True, False, "p")])
    impossible = MassRecord((0, 2), (-math.inf, -1.0), True, False, "p")
    report = summarize([*good, impossible])
    assert report.dead_mass.value == pytest.approx(1 / 61)
    assert any("left no allowed token" in w for w in report.warnings)
    assert any("greedy" in w for w in summarize(good[:1] * 60).warnings)


def test_draws_of_a_comparison_and_records_agree() -> None:
    """A log of the very draws that `compare` makes gives its numbers to rounding."""
    model, language = t1()
    process = MaskedProcess(CountingModel(model), language)
    draws = draw_masked(process, 1000, np.random.default_rng(0))
    masses = {(0, 2): (0.0, math.log(0.01)), (1, 2): (0.0, 0.0)}
    records = [MassRecord(y, masses[y], True, False) for y in (draws.sequences[i] for i in draws.index)]
    ours, theirs = summarize(records), compare(model, language, "sampling", budget=0, samples=1000, seed=0)
    for name in ("kl_masked_to_exact", "tv", "chi2", "tax"):
        assert getattr(ours, name).value == pytest.approx(getattr(theirs, name).value, abs=1e-9)
    assert ours.log_z.value == pytest.approx(theirs.log_z.value, abs=1e-9)
