"""Hidden Markov models against enumeration by paths of hidden states, which shares no code with the library."""

from __future__ import annotations

import itertools
import math
import os
from typing import Any

import numpy as np
import pytest

import constrain
from constrain.distortion import DFALanguage, HMMModel, HMMProduct, compare, finite_language
from tests.constrain.distortion.cases import Dyck, enumerate_all, random_case
from tests.constrain.distortion.test_samplers import chi_square_fits

FULL = os.environ.get("CONSTRAIN_FULL") == "1"


def random_hmm(rng: np.random.Generator, width: int, hidden: int) -> HMMModel:
    return HMMModel(
        rng.dirichlet(np.ones(hidden)),
        rng.dirichlet(np.full(hidden, 0.5), size=hidden),
        rng.dirichlet(np.full(width, 0.7), size=hidden),
    )


def by_paths(model: HMMModel, tokens: tuple[int, ...]) -> float:
    """The probability of a text: the sum over all paths of hidden states."""
    total = 0.0
    for path in itertools.product(range(model.initial.size), repeat=len(tokens)):
        p = model.initial[path[0]]
        for i, (z, token) in enumerate(zip(path, tokens, strict=True)):
            p *= model.emission[z, token]
            if i + 1 < len(path):
                p *= model.transition[z, path[i + 1]]
        total += float(p)
    return total


@pytest.mark.parametrize("seed", range(500 if FULL else 60))
def test_survival_is_that_of_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    _, language = random_case(rng, layers=4, dead_ends=seed % 3 == 0)
    eos = language.eos_token_ids[0]
    model = random_hmm(rng, eos + 2, int(rng.integers(1, 4)))
    truth = enumerate_all(model, language)
    product = HMMProduct(model, language)
    assert math.exp(product.log_z) == pytest.approx(truth.z, abs=1e-12)
    if not truth.sequences:
        return
    for y, (p, _) in itertools.islice(truth.sequences.items(), 12):
        assert p == pytest.approx(by_paths(model, y), rel=1e-10)
        exact = 1.0
        for i, token in enumerate(y):
            ids, law = product.exact_step(y[:i])
            exact *= float(law[ids == token][0])
            after = sum(q for w, (q, _) in truth.sequences.items() if w[:i] == y[:i])
            before = sum(by_paths(model, (*y[:i], t)) for t in range(model.width)) if i else 1.0
            assert product.survival(y[:i]) == pytest.approx(after / before, rel=1e-9)
        assert exact == pytest.approx(p / truth.z, rel=1e-9)
    report = compare(model, language)
    assert report.method == "exact"
    assert report.log_z.value == pytest.approx(product.log_z, abs=1e-10)
    assert report.kl_masked_to_exact.value == pytest.approx(truth.kl_masked_to_exact, abs=1e-10)


def test_exact_draws() -> None:
    rng = np.random.default_rng(4)
    model, language = random_hmm(rng, 4, 3), finite_language([[0, 1], [1], [2, 2, 1], [0, 0], [1, 1]], 3)
    truth = enumerate_all(model, language)
    law = {y: p / truth.z for y, (p, _) in truth.sequences.items()}
    counts: dict[Any, int] = {}
    for y in HMMProduct(model, language).draw_exact(20_000 if FULL else 3000, rng):
        counts[y] = counts.get(y, 0) + 1
    assert chi_square_fits(counts, law)


def test_an_infinite_language() -> None:
    """One hidden state is the memoryless model of T4: Z = 1 / (1 + r)."""
    even = DFALanguage({(0, 0): 1, (1, 0): 0}, 0, [0], 1)
    for r in (0.2, 0.5, 0.9):
        product = HMMProduct(HMMModel([1.0], [[1.0]], [[r, 1 - r]]), even)
        assert product.log_z == pytest.approx(-math.log(1 + r), abs=1e-12)
    rng = np.random.default_rng(9)
    model = random_hmm(rng, 2, 3)
    product = HMMProduct(model, even)
    bounded = compare(model, even, "trie", budget=200)
    assert bounded.log_z.contains(product.log_z, 1e-12)
    assert bounded.log_z.width < 1e-3
    drawn = product.draw_exact(200, rng)
    assert all(len(y) % 2 == 1 and y[-1] == 1 for y in drawn)


def test_with_a_compiled_grammar() -> None:
    vocabulary = constrain.Vocabulary.from_tokens([b"a", b"b", b"ab", None], eos_token_ids=3)
    compiled = constrain.regex("(ab)*").compile(vocabulary)
    model = random_hmm(np.random.default_rng(2), 4, 2)
    by_hand = DFALanguage({(0, 0): 1, (1, 1): 0, (0, 2): 0}, 0, [0], 3)
    assert HMMProduct(model, compiled).log_z == pytest.approx(HMMProduct(model, by_hand).log_z, abs=1e-12)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="add up to 1"):
        HMMModel([1.0], [[1.0]], [[0.5, 0.6]])
    with pytest.raises(ValueError, match="do not fit"):
        HMMModel([0.5, 0.5], [[1.0]], [[0.5, 0.5]])
    endless = HMMModel([1.0], [[1.0]], [[1.0, 0.0]])
    even = DFALanguage({(0, 0): 1, (1, 0): 0}, 0, [0], 1)
    product = HMMProduct(endless, even)
    assert product.log_z == -math.inf
    with pytest.raises(ValueError, match="probability 0"):
        product.draw_exact(1, np.random.default_rng(0))

    with pytest.raises(ValueError, match="more than 50"):
        HMMProduct(HMMModel([1.0], [[1.0]], [[0.3, 0.3, 0.4]]), Dyck(), max_states=50)
