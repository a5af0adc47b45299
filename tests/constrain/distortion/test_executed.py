"""Engines as they are run, against their procedures spelled out and simulated (acceptance of capability 7)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from constrain.distortion import compare
from constrain.distortion.executed import (
    MaskThenWarp,
    SampleThenMask,
    Warpers,
    WarpThenMask,
    as_executed,
    executed_law,
)
from tests.constrain.distortion.cases import enumerate_all, random_case, t1, t2, t4, t5
from tests.constrain.distortion.test_samplers import chi_square_fits

WARPERS = [Warpers(), Warpers(0.7), Warpers(top_k=2), Warpers(top_p=0.6), Warpers(1.3, 3, 0.8)]


def warped(p: dict[int, float], w: Warpers) -> dict[int, float]:
    """Temperature, top-k, top-p, on a dictionary, by definition."""
    p = {t: x ** (1 / w.temperature) for t, x in p.items() if x > 0}
    if w.top_k:
        least = sorted(p.values(), reverse=True)[: w.top_k][-1]
        p = {t: x for t, x in p.items() if x >= least}
    total = sum(p.values())
    p = {t: x / total for t, x in p.items()}
    if w.top_p < 1:
        kept, mass = {}, 0.0
        for t, x in sorted(p.items(), key=lambda item: (-item[1], item[0])):
            if mass >= w.top_p:
                break
            kept[t] = x
            mass += x
        p = {t: x / mass for t, x in kept.items()}
    return p


def restricted(p: dict[int, float], allowed: list[int]) -> dict[int, float]:
    some = {t: p[t] for t in allowed if p.get(t, 0) > 0}
    total = sum(some.values())
    return {t: x / total for t, x in some.items()}


def by_hand(model: Any, language: Any, way: str, w: Warpers, limit: int | None) -> tuple[dict[Any, float], float]:
    """Every output with its probability, and what gets stuck, from the procedure itself."""
    found: dict[Any, float] = {}
    stuck = 0.0

    def visit(prefix: tuple[int, ...], state: Any, q: float) -> None:
        nonlocal stuck
        row = np.exp(model.log_probs([prefix])[0])
        p = {t: float(x) for t, x in enumerate(row)}
        allowed = [int(t) for t in language.allowed(state) if p[int(t)] > 0]
        if not allowed:
            stuck += q
            return
        if way == "mask first":
            law = warped(restricted(p, allowed), w)
        elif way == "mask last":
            left = {t: x for t, x in warped(p, w).items() if t in allowed}
            if not left:
                stuck += q
                return
            law = restricted(left, allowed)
        else:
            first, again = warped(p, w), warped(restricted(p, allowed), w)
            refused = sum(x for t, x in first.items() if t not in allowed)
            law = {t: first.get(t, 0.0) + refused * again.get(t, 0.0) for t in allowed}
        for t, x in law.items():
            if x <= 0:
                continue
            if t in language.eos_token_ids:
                found[(*prefix, t)] = q * x
            elif limit is None or len(prefix) + 1 < limit:
                visit((*prefix, t), language.advance(state, t), q * x)

    visit((), language.start(), 1.0)
    return found, stuck


EXECUTIONS = {"mask first": MaskThenWarp, "mask last": WarpThenMask, "draw first": SampleThenMask}


@pytest.mark.parametrize("way", EXECUTIONS)
@pytest.mark.parametrize("warpers", WARPERS, ids=str)
def test_the_law_is_that_of_the_procedure(way: str, warpers: Warpers) -> None:
    cases = [(*t1(), None), (*t2(), None), (*t5(), None), (*t4(), 7)]
    cases += [(*random_case(np.random.default_rng(seed), dead_ends=seed % 2 == 1, layers=5), None) for seed in range(6)]
    for model, language, limit in cases:
        wanted, stuck = by_hand(model, language, way, warpers, limit)
        found, dead, _, _ = executed_law(model, language, EXECUTIONS[way](warpers), max_tokens=limit)
        assert {y: math.exp(x) for y, x in found.items()} == pytest.approx(wanted, abs=1e-12)
        assert dead == pytest.approx(stuck, abs=1e-12)


@pytest.mark.parametrize("execution", [MaskThenWarp(), WarpThenMask(), SampleThenMask()])
def test_without_warpers_all_are_masking(execution: Any) -> None:
    for case in (t1, t2, t5):
        model, language = case()
        report = as_executed(model, language, execution).report
        plain = compare(model, language)
        for name in ("log_z", "kl_masked_to_exact", "kl_exact_to_masked", "tv", "chi2", "tax"):
            assert getattr(report, name).value == pytest.approx(getattr(plain, name).value, abs=1e-12), name


def test_drawing_first_with_top_p_is_a_third_law() -> None:
    """T1 with top-p .85: p' has `a` alone; the law that draws first differs from both orders of mask and warper only
    where the first draw is refused."""
    model, language = t1()
    w = Warpers(top_p=0.85)
    laws = {way: executed_law(model, language, make(w))[0] for way, make in EXECUTIONS.items()}
    assert {way: set(law) for way, law in laws.items()} == {
        "mask first": {(0, 2)},
        "mask last": set(),  # after `a`, top-p leaves what is illegal, and nothing can be written
        "draw first": {(0, 2)},
    }
    report = as_executed(model, language, SampleThenMask(w)).report
    assert report.kl_exact_to_masked.value == math.inf
    assert report.extra["share of p* that the engine never writes"].value == pytest.approx(0.1 / 0.109)
    assert report.kl_masked_to_exact.value == pytest.approx(-math.log(0.009 / 0.109))


def test_the_procedure_simulated() -> None:
    """llama.cpp's way, token by token, with a random generator."""
    model, language = random_case(np.random.default_rng(12), layers=4)
    w, rng = Warpers(top_p=0.7), np.random.default_rng(0)
    counts: dict[Any, int] = {}
    for _ in range(3000):
        prefix: tuple[int, ...] = ()
        state = language.start()
        while True:
            p = {t: float(x) for t, x in enumerate(np.exp(model.log_probs([prefix])[0]))}
            allowed = [int(t) for t in language.allowed(state)]
            law = warped(p, w)
            token = int(rng.choice(list(law), p=list(law.values())))
            if token not in allowed:
                law = warped(restricted(p, allowed), w)
                token = int(rng.choice(list(law), p=list(law.values())))
            prefix = (*prefix, token)
            if token in language.eos_token_ids:
                break
            state = language.advance(state, token)
        counts[prefix] = counts.get(prefix, 0) + 1
    law = {y: math.exp(x) for y, x in as_executed(model, language, SampleThenMask(w)).log_q.items()}
    assert chi_square_fits(counts, law)


def test_free_and_forced_splits_against_one_target() -> None:
    """T5: 0.395152 with every split allowed, log(.801 / .8) where only the tokenizer's own is; and what that loses."""
    model, free = t5()
    _, forced = t5(((0,), (3,)))
    loose, strict = (as_executed(model, mask, MaskThenWarp(), target=free).report for mask in (free, forced))
    assert loose.kl_masked_to_exact.value == pytest.approx(0.395152, abs=5e-7)
    assert strict.kl_masked_to_exact.value == pytest.approx(math.log(0.801 / 0.8), abs=1e-12)
    assert math.exp(strict.log_z.value) == pytest.approx(0.801, abs=1e-12)
    assert strict.extra["share of p* that the engine never writes"].value == pytest.approx(0.001 / 0.801, abs=1e-12)
    assert strict.kl_exact_to_masked.value == math.inf
    assert any("never writes" in w for w in strict.warnings)
    # E_q[w] of the forced engine is .8: support is lost, and no figure from its own draws shows it.
    truth = enumerate_all(model, forced)
    assert sum(q * p / q for p, q in truth.sequences.values()) == pytest.approx(0.8, abs=1e-12)
    too_much = as_executed(model, free, MaskThenWarp(), target=forced).report
    assert too_much.extra["share of q outside the target"].value == pytest.approx(0.1 / 0.9, abs=1e-12)
    assert too_much.kl_masked_to_exact.value == math.inf


def test_what_cannot_be_enumerated_is_refused() -> None:
    with pytest.raises(ValueError, match="more than"):
        as_executed(*t4(), MaskThenWarp(), budget=50)
    with pytest.raises(ValueError, match="no such warpers"):
        Warpers(temperature=0.0)
    with pytest.raises(ValueError, match="finishes nothing"):
        as_executed(*t1(), WarpThenMask(Warpers(top_p=0.85)))
    wins = as_executed(*t1(), WarpThenMask(Warpers(top_p=0.85), grammar_wins=True))
    assert set(wins.log_q) == {(0, 2)}
