"""The closed forms to nine digits, derived here by hand, and what ties the parts of the comparator together.

What each case is, is in `cases`. The expressions below are written out from the two or three outcomes that a case has,
not taken from the library or from a table; the tables' rounded figures are checked beside them.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import pytest

from constrain.distortion import HFModel, Report, Trie, compare, exact_law, grouped, summarize
from constrain.distortion.importance import importance
from constrain.mass import MassRecord
from tests.constrain.distortion.cases import t1, t2, t3, t4, t5, t6, trap_chain

FULL = os.environ.get("CONSTRAIN_FULL") == "1"
log = math.log


def figures(q: list[float], p: list[float]) -> dict[str, float]:
    """From the probabilities of a few outcomes under q, and under the model, by definition."""
    z = sum(p)
    pairs = [(a, b / z) for a, b in zip(q, p, strict=True)]
    return {
        "log_z": log(z),
        "kl_masked_to_exact": sum(a * log(a / b) for a, b in pairs),
        "kl_exact_to_masked": sum(b * log(b / a) for a, b in pairs),
        "tv": 0.5 * sum(abs(a - b) for a, b in pairs),
        "ess_fraction": 1.0 / sum(b * b / a for a, b in pairs),
        "tax": sum(a * log(a / (b * z)) for a, b in pairs),
    }


CLOSED: dict[str, tuple[Any, dict[str, float], dict[str, float]]] = {
    "t1": (
        t1,
        figures([0.9, 0.1], [0.009, 0.1]),
        {
            "kl_masked_to_exact": 1.928246,
            "kl_exact_to_masked": 1.836164,
            "tv": 0.817431,
            "ess_fraction": 0.118703,
            "tax": 4.144653,
        },
    ),
    "t1 as a trap": (
        lambda: trap_chain(1),
        figures([0.5, 0.5], [0.05, 0.5]),
        {
            "kl_masked_to_exact": 0.553456,
            "kl_exact_to_masked": 0.388511,
            "tv": 0.409091,
            "ess_fraction": 0.599010,
        },
    ),
    "t2": (
        t2,
        figures([1 / 2] + [1 / 32] * 16, [1 / 32] * 17),
        {"kl_masked_to_exact": 0.753772, "kl_exact_to_masked": 0.469429, "tv": 15 / 34, "ess_fraction": 0.562257},
    ),
    "t3": (t3, figures([1 / 8] * 8, [1 / 27] * 8), {"kl_masked_to_exact": 0.0, "tax": 1.216395}),
    "t5": (
        t5,
        figures([0.6 / 0.9, 0.1 / 0.9, 0.2 / 0.9], [0.6, 0.001, 0.2]),
        {"kl_masked_to_exact": 0.395152},
    ),
}


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms_to_nine_digits(name: str) -> None:
    case, exact, rounded = CLOSED[name]
    report = compare(*case())
    assert report.method == "exact"
    for figure, value in exact.items():
        found = getattr(report, figure)
        assert found.kind == "exact"
        assert found.value == pytest.approx(value, abs=1e-9), figure
    for figure, value in rounded.items():
        assert getattr(report, figure).value == pytest.approx(value, abs=1e-6), figure
    assert report.identity_error == pytest.approx(0.0, abs=1e-10)


def test_the_infinite_cases_to_nine_digits() -> None:
    report = compare(*t4(), budget=50)
    assert report.log_z.value == pytest.approx(-log(1.5), abs=1e-9)
    assert report.kl_masked_to_exact.value == pytest.approx(log(4 / 3), abs=1e-9)
    assert report.ess_fraction.value == pytest.approx(7 / 9, abs=1e-9)
    for a, b, e in ((0.2, 0.4, 0.4), (0.3, 0.3, 0.4)):
        dyck = compare(*t6(a, b, e), "exact", max_states=200, budget=100)
        z = e * (1 - math.sqrt(1 - 4 * a * b)) / (2 * a * b)
        assert dyck.log_z.contains(log(z), 1e-9)
        assert dyck.kl_masked_to_exact.value is None
        assert dyck.kl_masked_to_exact.high == math.inf
        assert dyck.to_dict()["figures"]["kl_masked_to_exact"]["high"] is None
        assert "unbounded above" in str(dyck)


def test_tokens_and_texts_to_ten_digits() -> None:
    report = compare(*t5())
    assert report.spellings is not None
    string_q, string_p = [0.7 / 0.9, 0.2 / 0.9], [0.601 / 0.801, 0.2 / 0.801]
    strings = sum(a * log(a / b) for a, b in zip(string_q, string_p, strict=True))
    within = 0.7 / 0.9 * sum(a * log(a / b) for a, b in ((6 / 7, 0.6 / 0.601), (1 / 7, 0.001 / 0.601)))
    assert strings == pytest.approx(0.002066, abs=1e-6)
    assert report.spellings.kl_texts == pytest.approx(strings, abs=1e-10)
    assert report.spellings.kl_within == pytest.approx(within, abs=1e-10)
    assert report.spellings.kl_tokens == pytest.approx(strings + within, abs=1e-10)


def test_everything_arises_at_the_first_token_of_the_trap() -> None:
    report = compare(*t1())
    shares = grouped(report.contributions, lambda c: len(c.prefix))
    assert shares[0][0] == pytest.approx(report.kl_masked_to_exact.value, abs=1e-12)
    assert sum(d for d, _ in shares.values()) == pytest.approx(report.kl_masked_to_exact.value, abs=1e-10)
    assert sum(t for _, t in shares.values()) == pytest.approx(report.tax.value, abs=1e-10)


@pytest.mark.parametrize("case", ["t2", "t4"])
def test_both_sides_meet_the_certified_interval(case: str) -> None:
    model, language = {"t2": t2, "t4": t4}[case]()
    trie = Trie(model, language).run(30)
    low, high = trie.certified().z
    for seed in range(10):
        found = compare(model, language, "two_sided", samples=200, seed=seed)
        assert found.log_z.low <= log(high)
        assert found.log_z.high >= log(low)
        reached = found.extra["log of the probability of what the mask reaches"]
        assert reached.contains(found.log_z.value, 0.5)


def test_the_need_of_twenty_traps_is_what_the_refusal_says() -> None:
    """About exp(KL(p* || q)) = 2,369 draws are needed; 2,000 are refused, and so is the same log of records."""
    need = math.exp(20 * figures([0.5, 0.5], [0.05, 0.5])["kl_exact_to_masked"])
    assert need == pytest.approx(2369, abs=1)
    model, language = trap_chain(20)
    found = importance(Trie(model, language), 2000, np.random.default_rng(1), replicates=1)
    assert found.refused
    per_copy = (0.0, log(0.1))
    records = []
    for i in found.draws.index:
        tokens = found.draws.sequences[i]
        masses = [per_copy[1] if k % 2 and tokens[k - 1] == 0 else 0.0 for k in range(len(tokens))]
        records.append(MassRecord(tokens, tuple(masses), True, False))
    assert [r.log_weight for r in records[:50]] == pytest.approx(found.draws.log_w[found.draws.index[:50]].tolist())
    report: Report = summarize(records)
    assert report.kl_masked_to_exact.value is None
    assert report.log_z.refused
    assert report.log_z.contains(20 * log(0.55))


@pytest.mark.skipif(not FULL, reason="CONSTRAIN_FULL=1 runs it: a minute")
def test_a_hundred_thousand_exact_draws() -> None:
    from constrain.distortion.product import Product
    from tests.constrain.distortion.test_samplers import chi_square_fits

    for case in (t1, t2, t3, t5):
        model, language = case()
        drawn = Product(model, language).draw_exact(100_000, np.random.default_rng(0))
        counts: dict[Any, int] = {}
        for y in drawn:
            counts[y] = counts.get(y, 0) + 1
        assert chi_square_fits(counts, exact_law(model, language))


def test_the_rescoring_spread_stands_in_the_report() -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from constrain.distortion import finite_language

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=12, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, initializer_range=0.5, bos_token_id=None, eos_token_id=0,
    )  # fmt: skip
    network = transformers.LlamaForCausalLM(config).to(torch.bfloat16).eval()
    language = finite_language([[3, 4], [5], [3, 6, 7]], 0)
    for method, budget in (("exact", 100), ("sampling", 0), ("trie", 2)):
        report = compare(HFModel(network, [1, 2]), language, method, budget=budget, samples=60, rescore=3)
        spread = report.extra["rescoring spread of a sequence, nats"]
        assert spread.value is not None
        assert 0.0 <= spread.value < 0.5
        assert "rescoring spread" in str(report)
        assert "3 sequences" in spread.assumptions[0]
    with pytest.raises(ValueError, match="cannot be rescored"):
        compare(*t1(), rescore=3)
