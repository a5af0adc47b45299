"""Certified intervals hold the truth after every expansion, shrink to it, and survive the disk."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest

from constrain.distortion import Trie, load_trie, save_trie
from constrain.distortion.bounds import certify
from tests.constrain.distortion.cases import enumerate_all, random_case, t1, t2, t4

FULL = os.environ.get("CONSTRAIN_FULL") == "1"
NAMES = ("z", "finished", "kl_masked_to_exact", "kl_exact_to_masked", "tv", "chi2", "tax")


@pytest.mark.parametrize("seed", range(500 if FULL else 120))
def test_the_truth_is_inside_after_every_expansion(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kind = seed % 4  # finite; finite with dead ends; cut; cut with dead ends
    model, language = random_case(rng, dead_ends=kind in (1, 3), layers=5 if kind < 2 else None)
    limit = 6 if kind == 0 else (None if kind == 1 else 5)
    truth = enumerate_all(model, language, limit)
    lossless = truth.dead == 0.0 and truth.truncated == 0.0
    floor = truth.floor * 0.999 if seed % 8 < 4 and limit is not None else None
    trie = Trie(model, language, max_tokens=limit, lossless=lossless, floor=floor)
    before = trie.certified()
    while True:
        found = certify(trie.explored())
        nested = trie.certified()
        for name in NAMES:
            low, high = getattr(found, name)
            assert low <= high
            inside = getattr(nested, name)
            assert getattr(before, name)[0] <= inside[0] <= inside[1] <= getattr(before, name)[1]
            if truth.sequences or name == "z":
                assert low <= getattr(truth, name) + 1e-15 <= high + 3e-15, (name, len(trie), found)
        before = nested
        if not trie.expand(1):
            break
    assert trie.is_exhausted
    if truth.sequences:
        for name in NAMES:
            low, high = getattr(trie.certified(), name)
            assert high - low < 1e-9 * max(1.0, abs(high)), name
    assert trie.dead_q == pytest.approx(truth.dead, abs=1e-12)
    assert trie.truncated_q == pytest.approx(truth.truncated, abs=1e-12)


@pytest.mark.parametrize("lossless", [True, False])
def test_intervals_shrink(lossless: bool) -> None:
    model, language = t4(0.7)
    trie = Trie(model, language, lossless=lossless)
    widths: dict[str, list[float]] = {"z": [], "kl_exact_to_masked": [], "tv": [], "chi2": []}
    lows = []
    for _ in range(40):
        trie.expand(1)
        found = trie.certified()
        for name, values in widths.items():
            low, high = getattr(found, name)
            values.append(high - low)
        lows.append(found.kl_masked_to_exact[0])
        assert found.kl_masked_to_exact[1] == math.inf
    assert all(values[-1] < 0.02 for values in widths.values())
    truth = 0.7 / 0.3 * math.log(1 / 0.7) - math.log(1.7)
    assert lows[-1] <= truth
    assert lows[-1] > truth - 0.05


def test_a_floor_and_a_limit_bound_the_distortion() -> None:
    model, language = t2()
    trie = Trie(model, language, max_tokens=6, lossless=True, floor=0.5, batch_size=1)
    trie.run(12)
    low, high = trie.certified().kl_masked_to_exact
    assert low <= 0.753772 <= high < 4.0
    assert Trie(model, language, max_tokens=6, lossless=True).run(12).certified().kl_masked_to_exact[1] == math.inf


def test_children_set_aside_stay_in_the_frontier() -> None:
    model, language = t1()
    trie = Trie(model, language, max_children=1).run(100)
    assert not trie.is_exhausted
    assert trie.certified().z[0] == pytest.approx(0.009, abs=1e-9)
    assert trie.certified().z[1] == pytest.approx(0.109, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_search_goes_on_from_the_disk(seed: int, tmp_path: Path) -> None:
    model, language = random_case(np.random.default_rng(seed + 100), layers=5)
    straight = Trie(model, language, batch_size=3).run(60)
    first = Trie(model, language, batch_size=3).run(9)
    save_trie(first, tmp_path / "search.npz")
    again = load_trie(tmp_path / "search.npz", model, language)
    assert again.certified() == first.certified()
    assert again.forward_passes == first.forward_passes
    again.run(60 - first.forward_passes)
    assert again.certified().z == pytest.approx(straight.certified().z, abs=1e-12)
    assert sorted(again.sequence(i) for i in range(len(again.end_nodes))) == sorted(
        straight.sequence(i) for i in range(len(straight.end_nodes))
    )


def test_a_search_before_its_first_step_can_be_saved(tmp_path: Path) -> None:
    model, language = t2()
    save_trie(Trie(model, language), tmp_path / "search.npz")
    assert load_trie(tmp_path / "search.npz", model, language).run(100).is_exhausted


def test_another_model_or_language_is_refused(tmp_path: Path) -> None:
    model, language = t1()
    save_trie(Trie(model, language).run(2), tmp_path / "search.npz")
    with pytest.raises(ValueError, match="another model"):
        load_trie(tmp_path / "search.npz", t2()[0], t2()[1])


def test_batches_find_the_same() -> None:
    model, language = t2()
    one, many = Trie(model, language, batch_size=1).run(1000), Trie(model, language, batch_size=16).run(1000)
    assert one.is_exhausted
    assert many.is_exhausted
    assert one.certified().tv == pytest.approx(many.certified().tv, abs=1e-12)


def test_progress_can_stop_a_search() -> None:
    model, language = t4()
    trie = Trie(model, language, batch_size=1).run(1000, progress=lambda t: t.forward_passes >= 5)
    assert trie.forward_passes == 5
