"""Closed forms, and linear systems against an enumeration that shares no code with them."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest

from constrain.distortion import Trie, compare, grouped, json_location
from constrain.distortion.localisation import Contribution
from constrain.distortion.product import Product
from tests.constrain.distortion.cases import enumerate_all, random_case, t1, t2, t3, t4, t5, t6, trap_chain

FULL = os.environ.get("CONSTRAIN_FULL") == "1"
NAMES = ("kl_masked_to_exact", "kl_exact_to_masked", "tv", "chi2", "tax")


def value(estimate: object) -> float:
    assert getattr(estimate, "kind") == "exact"  # noqa: B009
    return getattr(estimate, "value")  # noqa: B009


def test_the_trap() -> None:
    report = compare(*t1())
    assert math.exp(value(report.log_z)) == pytest.approx(0.109, abs=1e-12)
    assert value(report.kl_masked_to_exact) == pytest.approx(1.928246, abs=5e-7)
    assert value(report.kl_exact_to_masked) == pytest.approx(1.836164, abs=5e-7)
    assert value(report.tv) == pytest.approx(0.817431, abs=5e-7)
    assert value(report.ess_fraction) == pytest.approx(0.118703, abs=5e-7)
    assert value(report.tax) == pytest.approx(4.144653, abs=5e-7)
    assert value(report.unavoidable) == pytest.approx(2.216407, abs=5e-7)
    first, *others = report.contributions
    assert first.prefix == ()
    assert first.distortion == pytest.approx(value(report.kl_masked_to_exact), abs=1e-12)
    assert all(c.distortion < 1e-12 for c in others)


@pytest.mark.parametrize("copies", [1, 3])
def test_independent_traps_add_up(copies: int) -> None:
    report = compare(*trap_chain(copies))
    assert value(report.kl_masked_to_exact) == pytest.approx(copies * 0.553456, abs=copies * 5e-7)
    assert value(report.kl_exact_to_masked) == pytest.approx(copies * 0.388511, abs=copies * 5e-7)
    assert value(report.ess_fraction) == pytest.approx(0.599010**copies, abs=2e-6)


def test_skewed_binary() -> None:
    report = compare(*t2())
    assert math.exp(value(report.log_z)) == pytest.approx(17 / 32, abs=1e-12)
    assert value(report.kl_masked_to_exact) == pytest.approx(0.753772, abs=5e-7)
    assert value(report.kl_exact_to_masked) == pytest.approx(0.469429, abs=5e-7)
    assert value(report.tv) == pytest.approx(15 / 34, abs=1e-12)
    assert value(report.ess_fraction) == pytest.approx(0.562257, abs=5e-7)


def test_a_constraint_that_distorts_nothing_still_costs() -> None:
    report = compare(*t3())
    assert value(report.kl_masked_to_exact) == pytest.approx(0.0, abs=1e-12)
    assert value(report.tv) == pytest.approx(0.0, abs=1e-12)
    assert value(report.ess_fraction) == pytest.approx(1.0, abs=1e-12)
    assert math.exp(value(report.log_z)) == pytest.approx(8 / 27)
    assert value(report.tax) == pytest.approx(1.216395, abs=5e-7)


def test_an_infinite_regular_language() -> None:
    report = compare(*t4(), budget=50)
    assert value(report.kl_masked_to_exact) == pytest.approx(math.log(4 / 3), abs=1e-12)
    assert value(report.ess_fraction) == pytest.approx(7 / 9, abs=1e-12)
    assert math.exp(value(report.log_z)) == pytest.approx(2 / 3, abs=1e-12)
    # p* has mass 3/4 4^-k on 2k a's, q has 1/2 2^-k: they cross between k = 0 and k = 1.
    assert report.tv.kind == "certified"
    assert report.tv.contains(0.25, 1e-12)
    assert report.tv.width < 1e-6


@pytest.mark.parametrize("r", [0.2, 0.9])
def test_the_closed_form_of_the_infinite_language(r: float) -> None:
    report = compare(*t4(r), budget=20)
    assert value(report.log_z) == pytest.approx(-math.log(1 + r), abs=1e-12)
    assert value(report.kl_masked_to_exact) == pytest.approx(r / (1 - r) * math.log(1 / r) - math.log(1 + r), abs=1e-10)


def test_a_limit_of_tokens_is_part_of_the_target() -> None:
    model, language = t4()
    truth = enumerate_all(model, language, 6)
    report = compare(model, language, max_tokens=6)
    # Lengths 0, 2, 4 with the end: p = 1/2, 1/8, 1/32 and q = 1/2, 1/4, 1/8; the last eighth of q is cut.
    assert value(report.truncated_mass) == pytest.approx(1 / 8, abs=1e-12)
    assert math.exp(value(report.log_z)) == pytest.approx(21 / 32, abs=1e-12)
    assert value(report.kl_masked_to_exact) == pytest.approx(truth.kl_masked_to_exact, abs=1e-12)
    assert "within 6 tokens" in report.target
    assert any("cut" in w for w in report.warnings)


def test_tokens_and_texts() -> None:
    report = compare(*t5(), canonical=lambda text: {b"ab": [0], b"c": [3]}[text])
    assert math.exp(value(report.log_z)) == pytest.approx(0.801, abs=1e-12)
    assert report.spellings is not None
    assert report.spellings.kl_tokens == pytest.approx(0.395152, abs=5e-7)
    assert report.spellings.kl_texts == pytest.approx(0.002066, abs=5e-7)
    assert report.spellings.kl_within == pytest.approx(
        report.spellings.kl_tokens - report.spellings.kl_texts, abs=1e-10
    )
    assert report.spellings.canonical_q == pytest.approx(8 / 9, abs=1e-12)
    assert report.spellings.canonical_p == pytest.approx(0.8 / 0.801, abs=1e-12)
    assert report.spellings.kl_canonical == pytest.approx(0.0, abs=1e-12)


def test_brackets_without_end() -> None:
    a, b, e = 0.2, 0.4, 0.4
    report = compare(*t6(a, b, e), "exact", max_states=150, budget=200)
    z = e * (1 - math.sqrt(1 - 4 * a * b)) / (2 * a * b)
    assert report.log_z.kind == "certified"
    assert report.log_z.contains(math.log(z), 1e-9)
    assert report.log_z.width < 1e-9
    assert report.ess_fraction.contains(0.777209, 5e-7)
    assert report.ess_fraction.width < 1e-6
    assert report.kl_masked_to_exact.value is None
    assert report.kl_masked_to_exact.is_unbounded_above
    assert report.kl_masked_to_exact.low == pytest.approx(0.707961, abs=1e-6)


def test_a_heavy_tail_is_reported_as_unbounded() -> None:
    lows = []
    for states in (50, 200, 800):
        report = compare(*t6(0.3, 0.3, 0.4), "exact", max_states=states, budget=100)
        assert report.log_z.contains(math.log(4 / 9), 1e-9)
        assert report.ess_fraction.contains(0.678, 5e-4)
        assert report.kl_masked_to_exact.is_unbounded_above
        assert "unbounded above" in str(report.kl_masked_to_exact)
        lows.append(report.kl_masked_to_exact.low)
    assert lows[1] > 2 * lows[0]
    assert lows[2] > 2 * lows[1]
    trie = compare(*t6(0.3, 0.3, 0.4), "trie", budget=300)
    assert trie.kl_masked_to_exact.is_unbounded_above
    assert trie.log_z.contains(math.log(4 / 9))


@pytest.mark.parametrize("seed", range(500 if FULL else 60))
def test_linear_systems_agree_with_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    layers = [None, 5][seed % 2]
    model, language = random_case(rng, dead_ends=seed % 3 == 0, layers=layers)
    limit = None if layers else 5
    truth = enumerate_all(model, language, limit)
    product = Product(model, language, max_tokens=limit)
    assert product.is_closed
    sums = product.sums.low
    assert sums.z == pytest.approx(truth.z, abs=1e-10)
    assert product.dead_q == pytest.approx(truth.dead, abs=1e-10)
    assert product.truncated_q == pytest.approx(truth.truncated, abs=1e-10)
    if not truth.sequences:
        return
    assert sums.finished == pytest.approx(truth.finished, abs=1e-10)
    for name in ("kl_masked_to_exact", "kl_exact_to_masked", "chi2", "tax"):
        assert getattr(sums, name) == pytest.approx(getattr(truth, name), rel=1e-9, abs=1e-10)
    report = compare(model, language, max_tokens=limit)
    assert report.method == "exact"
    for name in NAMES:
        assert value(getattr(report, name)) == pytest.approx(getattr(truth, name), rel=1e-9, abs=1e-10)
    assert report.identity_error == pytest.approx(0.0, abs=1e-10)
    for contributions in (report.contributions, product.contributions()):
        assert sum(c.distortion for c in contributions) == pytest.approx(truth.kl_masked_to_exact, abs=1e-10)
        if truth.finished > 1 - 1e-12:
            assert sum(c.tax for c in contributions) == pytest.approx(truth.tax, abs=1e-10)


def test_exact_draws_follow_the_exact_law() -> None:
    rng = np.random.default_rng(7)
    model, language = random_case(rng, layers=4)
    truth = enumerate_all(model, language)
    n = 100_000 if FULL else 8_000
    draws = Product(model, language).draw_exact(n, rng)
    assert set(draws) <= set(truth.sequences)
    counts = np.array([draws.count(s) if not FULL else 0 for s in truth.sequences], dtype=float)
    if FULL:
        index = {s: i for i, s in enumerate(truth.sequences)}
        np.add.at(counts, [index[s] for s in draws], 1)
    expected = np.array([n * p / truth.z for p, _ in truth.sequences.values()])
    big = expected >= 5
    chi2 = ((counts - expected) ** 2 / expected)[big].sum()
    freedom = max(int(big.sum()) - 1, 1)
    assert chi2 < freedom + 4 * math.sqrt(2 * freedom) + 8


def test_steps_and_places() -> None:
    model, language = trap_chain(3)
    report = compare(model, language)
    by_step = grouped(report.contributions, lambda c: len(c.prefix))
    assert sum(d for d, _ in by_step.values()) == pytest.approx(3 * 0.553456, abs=2e-6)
    assert {step for step, (d, _) in by_step.items() if d > 1e-9} == {0, 2, 4}
    assert all(by_step[step][0] == pytest.approx(0.553456, abs=5e-7) for step in (0, 2, 4))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", ""),
        ("{", "/~key"),
        ('{"na', "/~key"),
        ('{"name"', "/name"),
        ('{"name": "x", ', "/~key"),
        ('{"a": [1, {"b": tr', "/a/*/b"),
        ('{"a": {"q": 1}, "c": "}{', "/c"),
        ('["\\"", ', "/*"),
        ('{"n\\u0061me": ', "/name"),
        ('{"q\\"": {"\\\\": 1, "é": ', '/q"/é'),
    ],
)
def test_places_in_json(text: str, place: str) -> None:
    assert json_location(Contribution((), text.encode(), 1.0, 0.0, 0.0)) == place


def test_impossible_probabilities_are_an_error() -> None:
    model, language = t1()

    class Loud:
        width, description = model.width, "too much"

        def log_probs(self, prefixes: list[tuple[int, ...]]) -> np.ndarray:
            return model.log_probs(prefixes) + 0.1

        def context(self, _: tuple[int, ...]) -> None:
            return None

    with pytest.raises(ValueError, match="no probability"):
        compare(Loud(), language)


def test_a_model_without_memory_in_an_infinite_language_has_no_exact_answer() -> None:
    model, language = t4()

    class Forgets:
        width, description = model.width, model.description
        log_probs = staticmethod(model.log_probs)

        def context(self, _: tuple[int, ...]) -> None:
            return None

    with pytest.raises(ValueError, match="finite memory"):
        compare(Forgets(), language, "exact", budget=20)
    assert compare(Forgets(), language, budget=20).method == "sampling"


def test_nothing_is_valid() -> None:
    model, _ = t1()
    from constrain.distortion import DFALanguage

    report = compare(model, DFALanguage({(0, 0): 1}, 0, [], 2, trim=False))
    assert report.dead_mass.value == 1.0
    assert report.kl_masked_to_exact.refused
    assert Trie(model, t1()[1]).certified().z == pytest.approx((0.0, 1.0), abs=1e-9)


def test_a_wide_interval_has_no_middle() -> None:
    wide = compare(*t4(), "trie", budget=2)
    assert wide.tv.value is None
    assert wide.tv.high - wide.tv.low > 0.1
    assert str(wide.tv).startswith("[")
    narrow = compare(*t4(), "trie", budget=20)
    assert narrow.tv.value == pytest.approx(0.25, abs=0.01)
