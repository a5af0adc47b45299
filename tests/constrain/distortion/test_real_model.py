"""A small real network: a finite tool call measured exactly, against plain forward passes and by sampling."""

from __future__ import annotations

import itertools
import json
import math
import os
from typing import Any

import pytest

import constrain
from constrain.distortion import HFModel, Trie, compare
from constrain.distortion.counts import count_figures
from constrain.distortion.laws import frozen
from constrain.distortion.samplers import CARS, Masking
from constrain.distortion.texts import canonical_language, texts
from tests.constrain.demo_model import needs_demo_model

pytestmark = needs_demo_model
FULL = pytest.mark.skipif(os.environ.get("CONSTRAIN_FULL") != "1", reason="CONSTRAIN_FULL=1 runs it: minutes")

CALL = r'\{"name": "set_light", "arguments": \{"room": "(kitchen|office)", "level": "(off|high)"\}\}'


@pytest.fixture(scope="module")
def real() -> Any:
    pytest.importorskip("transformers")
    import torch

    from constrain.bench.distortion import Real

    threads = torch.get_num_threads()
    yield Real()
    torch.set_num_threads(threads)


def test_a_tool_call_exactly(real: Any) -> None:
    import torch

    grammar = constrain.regex(CALL)
    calls = [
        json.dumps({"name": "set_light", "arguments": {"room": room, "level": level}})
        for room, level in itertools.product(("kitchen", "office"), ("off", "high"))
    ]
    assert sorted(t.decode() for t in texts(grammar)) == sorted(calls)
    eos = real.vocabulary.eos_token_ids[0]
    language = canonical_language(grammar, real.encode, eos_token_ids=eos, token_bytes=real.vocabulary.token_bytes)
    model = real.light("spaced")
    assert model.shares_prefixes
    trie = Trie(model, language, batch_size=16)
    report = compare(model, language, "exact", budget=1000, trie=trie)
    known = trie.certified()
    assert all(high - low < 1e-9 for low, high in (known.z, known.tv, known.kl_masked_to_exact, known.tax))

    # By definition, from one plain pass a text, its tokens' rows all at once.
    sequences = [(*real.encode(call), eos) for call in calls]
    prompt = model._prompt
    rows = {}
    for y in sequences:
        with torch.inference_mode():
            logits = real.network(torch.tensor([[*prompt, *y[:-1]]])).logits[0, len(prompt) - 1 :]
        log_probs = torch.log_softmax(logits.float(), -1).double().numpy()
        rows |= {y[:i]: log_probs[i] for i in range(len(y))}
    p, q = {}, {}
    for y in sequences:
        p[y] = math.exp(sum(rows[y[:i]][y[i]] for i in range(len(y))))
        kept = 1.0
        for i in range(len(y)):
            kept *= sum(math.exp(rows[y[:i]][t]) for t in {z[i] for z in sequences if z[:i] == y[:i]})
        q[y] = p[y] / kept
    z = sum(p.values())
    assert sum(q.values()) == pytest.approx(1.0)
    assert report.log_z.value == pytest.approx(math.log(z), abs=2e-3)
    assert report.kl_masked_to_exact.value == pytest.approx(
        sum(x * math.log(x * z / p[y]) for y, x in q.items()), abs=1e-3
    )
    assert report.tv.value == pytest.approx(0.5 * sum(abs(q[y] - p[y] / z) for y in p), abs=1e-3)

    # Draws alone know less, and say so rightly; the samplers have the laws they claim.
    sampled = compare(model, language, "sampling", budget=0, samples=500, batch_size=16)
    assert sampled.log_z.contains(report.log_z.value)
    assert sampled.log_z.width > 0.0
    table, small, exact, masked = frozen(trie)
    assert not count_figures([s.tokens for s in Masking(table, small, 1).draw_many(1000)], masked).tv_differs
    assert not count_figures([s.tokens for s in CARS(table, small, 1).draw_many(500)], exact).tv_differs


def test_trees_and_plain_passes_agree_on_a_real_network(real: Any) -> None:
    tree = real.light("spaced")
    plain = HFModel(real.network, tree._prompt, share_prefixes=False)
    y = real.encode('{"name": "set_light"}')
    prefixes = [(), tuple(y[:3]), tuple(y[:1]), (y[0], 7), tuple(y)]
    assert tree.log_probs(prefixes) == pytest.approx(plain.log_probs(prefixes), abs=2e-3)
    assert tree.shares_prefixes
    assert not plain.shares_prefixes


@FULL
def test_every_tokenisation_of_a_small_schema(real: Any) -> None:
    """Thousands of prefixes; width zero up to float error, and draws alone around it."""
    from constrain.bench.distortion import switch

    exact, sampled = switch(real, samples=1000)
    passes, known = exact.history[-1]
    assert passes == exact.report.forward_passes > 1000
    for low, high in (known.z, known.tv, known.kl_masked_to_exact, known.kl_exact_to_masked):
        assert high - low < 1e-8
    for (_, earlier), (_, later) in itertools.pairwise(exact.history):
        assert earlier.z[0] <= later.z[0] <= later.z[1] <= earlier.z[1]
    assert set(exact.values) == {'{"on": true}', '{"on": false}'}
    assert sampled.log_z.contains(exact.report.log_z.value)
    spellings = exact.report.spellings
    assert spellings is not None
    assert spellings.kl_tokens == pytest.approx(spellings.kl_texts + spellings.kl_within, abs=1e-9)


@FULL
def test_grammar_choices_on_one_prompt(real: Any) -> None:
    from constrain.bench.distortion import choices

    found = choices(real)
    for example in ("spaced", "none"):
        for whitespace in ("spaced", "none"):
            free = found[example, whitespace, "any"].report.log_z.value
            declared = found[example, whitespace, "declared"].report.log_z.value
            assert free >= declared - 1e-4  # a larger language is no less likely
        same, other = ("spaced", "none") if example == "spaced" else ("none", "spaced")
        assert (
            found[example, same, "declared"].report.log_z.value > found[example, other, "declared"].report.log_z.value
        )  # the model writes as the prompt does
    for m in found.values():
        assert abs(m.report.identity_error) < 1e-9
