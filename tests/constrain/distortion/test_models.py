"""Models give the probabilities they say they give."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import pytest

import constrain
from constrain.cli import models
from constrain.distortion import (
    CallableModel,
    HFModel,
    MatcherLanguage,
    NGramModel,
    TableModel,
    compare,
    finite_language,
    summarize,
)
from constrain.distortion.model import CountingModel, as_model
from tests.constrain.demo_model import needs_demo_model


def test_a_table_keeps_what_rows_leave_out_apart() -> None:
    model = TableModel({"": {"a": 0.5, "b": 0.25}, "a": {"$": 1.0}}, ["a", "b", "$"])
    assert model.width == 4
    assert np.exp(model.log_probs([()])[0]).tolist() == [0.5, 0.25, 0.0, 0.25]
    with pytest.raises(ValueError, match="no row"):
        model.log_probs([(1,)])
    assert model.context(()) == ()
    assert model.context((0,)) == (0,)
    assert model.context((1,)) == model.context((1, 1))


@pytest.mark.parametrize(
    ("row", "what"), [({"a": 0.7, "b": 0.7}, "sums to"), ({"a": -0.1}, "is -0.1"), ({"z": 0.1}, "not among")]
)
def test_a_table_refuses_bad_rows(row: dict[str, float], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        TableModel({"": row}, ["a", "b"])


def test_ngram_counts_by_hand() -> None:
    # "ab", "aab" over a 0, b 1, end 2. Unigram: a 3, b 2, end 2 of 7. After a: a 1, b 2. Prior 1 towards unigrams.
    model = NGramModel(["ab", "aab"], 3, order=2, eos_token_id=2, encode=lambda t: ["ab".index(c) for c in t])
    unigram = (np.array([3, 2, 2]) + 1 / 3) / 8
    assert np.exp(model.log_probs([()])[0]) == pytest.approx(unigram)
    after_a = (np.array([1, 2, 0]) + unigram) / 4
    assert np.exp(model.log_probs([(1, 0)])[0]) == pytest.approx(after_a)
    assert model.context((0, 1)) == (1,)
    assert np.exp(model.log_probs([(0,), (1,)])).sum(axis=1) == pytest.approx([1.0, 1.0])


def test_ngram_orders_prompts_and_errors() -> None:
    data = [[0, 1, 0, 1], [1, 1, 0]]
    trigram = NGramModel(data, 4, order=3, eos_token_id=3, prompt=[0])
    assert trigram.context(()) == (0,)
    assert trigram.context((1, 1)) == (1, 1)
    assert (trigram.log_probs([()]) == NGramModel(data, 4, order=3, eos_token_id=3).log_probs([(0,)])).all()
    assert NGramModel(data, 4, order=1, eos_token_id=3).context((1, 0)) == ()
    with pytest.raises(ValueError, match="outside"):
        NGramModel([[9]], 4, eos_token_id=3)
    with pytest.raises(ValueError, match="encode"):
        NGramModel(["text"], 4, eos_token_id=3)
    with pytest.raises(ValueError, match="order"):
        NGramModel(data, 4, order=0, eos_token_id=3)


def test_ngram_with_a_grammar_is_exact_for_an_infinite_language() -> None:
    from constrain.distortion import DFALanguage

    model = NGramModel([[0, 1] * 3, [0, 0, 1]], 3, order=2, eos_token_id=2)
    language = DFALanguage({(0, 0): 1, (1, 1): 0}, 0, [0], 2)
    report = compare(model, language, "exact", budget=400)
    # By hand: after b or at the start choose a or the end; after a only b.
    row = {p: np.exp(model.log_probs([p])[0]) for p in [(), (0,), (1,)]}
    h_b = row[1,][2] / (1 - row[1,][0] * row[0,][1])
    z = row[()][2] + row[()][0] * row[0,][1] * h_b
    assert report.log_z.value == pytest.approx(math.log(z), abs=1e-12)


def test_functions_as_models() -> None:
    model = as_model(lambda _: np.log([0.5, 0.5]), 2)
    assert model.context((1,)) is None
    assert CallableModel(lambda _: np.log([1.0]), 1, memory=0).context((1, 1)) == ()
    assert CallableModel(lambda _: np.log([1.0]), 1, memory=2).context((1, 2, 3)) == (2, 3)
    with pytest.raises(ValueError, match="shape"):
        CallableModel(lambda _: np.zeros(3), 2).log_probs([()])
    with pytest.raises(TypeError):
        as_model(3)
    counting = CountingModel(model)
    counting.log_probs([(), (0,)])
    assert (counting.forward_passes, counting.batches) == (2, 1)


def tiny_llama() -> Any:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=40, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=64, initializer_range=0.5,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).eval()


@pytest.mark.parametrize("prompt", [[5], [5, 6, 7]])
def test_hugging_face_rows_are_those_of_a_plain_forward_pass(prompt: list[int]) -> None:
    network = tiny_llama()
    import torch

    model = HFModel(network, prompt, batch_size=2)
    prefixes: list[tuple[int, ...]] = [(), (1,), (2,), (3,), (1, 2), ()]
    rows = model.log_probs(prefixes)
    assert rows.shape == (6, 40)
    assert rows.dtype == np.float64
    for prefix, row in zip(prefixes, rows, strict=True):
        with torch.no_grad():
            want = torch.log_softmax(network(torch.tensor([[*prompt, *prefix]])).logits[0, -1].float(), -1)
        assert row == pytest.approx(want.numpy(), abs=2e-5)
    assert model.forward_passes == 5
    model.log_probs(prefixes)
    assert model.forward_passes == 5
    assert "before any warper" in model.description


def test_hugging_face_after_warpers() -> None:
    network = tiny_llama()
    import transformers

    warpers = [transformers.TemperatureLogitsWarper(0.5), transformers.TopKLogitsWarper(5)]
    model = HFModel(network, [1, 2], warpers=warpers)
    row = model.log_probs([()])[0]
    assert (row > -np.inf).sum() == 5
    plain = HFModel(network, [1, 2]).log_probs([()])[0]
    top = np.argsort(-plain)[:5]
    want = 2 * plain[top] - np.log(np.exp(2 * plain[top]).sum())
    assert row[top] == pytest.approx(want, abs=1e-4)
    assert "after TemperatureLogitsWarper, TopKLogitsWarper" in model.description
    with pytest.raises(ValueError, match="prompt"):
        HFModel(network, [])


def test_the_spread_of_rescoring() -> None:
    model = HFModel(tiny_llama(), [1, 2], batch_size=4)
    assert model.rescoring_spread([]) == 0.0
    assert 0.0 <= model.rescoring_spread([(1, 2, 3), (1, 4), (5, 6, 7)]) < 1e-4
    network = model._model

    class Noisy:
        """Rows that depend on the batch's size."""

        get_output_embeddings, get_input_embeddings = network.get_output_embeddings, network.get_input_embeddings
        forward = network.forward

        def __call__(self, input_ids: Any, **keywords: Any) -> Any:
            output = network(input_ids=input_ids, **keywords)
            output.logits[..., 0] += 0.5 * (input_ids.shape[0] > 1)
            return output

    assert HFModel(Noisy(), [1, 2], batch_size=4).rescoring_spread([(1, 0), (2, 0)]) > 0.01


def test_hugging_face_cache_is_bounded() -> None:
    model = HFModel(tiny_llama(), [1], batch_size=4, cache_bytes=1)
    model.log_probs([(i,) for i in range(12)])
    assert len(model._rows) == 4
    assert model.log_probs([(0,)]).shape == (1, 40)


def test_a_real_network_is_measured_exactly() -> None:
    model = HFModel(tiny_llama(), [3, 4])
    language = finite_language([[1, 2, 3], [1, 5], [6], [7, 8]], 0)
    exact = compare(model, language)
    assert exact.method == "exact"
    # By definition, from rows of the model.
    p = {}
    for y in ([1, 2, 3, 0], [1, 5, 0], [6, 0], [7, 8, 0]):
        p[tuple(y)] = sum(float(model.log_probs([tuple(y[:i])])[0][y[i]]) for i in range(len(y)))
    assert exact.log_z.value == pytest.approx(float(np.logaddexp.reduce(list(p.values()))), abs=1e-9)
    sampled = compare(model, language, "sampling", budget=0, samples=2000)
    assert exact.log_z.value is not None
    assert sampled.log_z.contains(exact.log_z.value)
    assert sampled.forward_passes <= 8  # the language has eight prefixes


@pytest.mark.skipif(os.environ.get("CONSTRAIN_FULL") != "1", reason="CONSTRAIN_FULL=1 runs it: half a minute")
@needs_demo_model
def test_a_real_model_is_certified_and_sampled() -> None:
    """The certified interval is narrow, and the sampling interval around it holds it."""
    network, tokenizer = models.load("smollm2")
    compiled = constrain.regex(r'\{"unit": "(celsius|kelvin)", "days": (1|10)\}').compile(
        constrain.Vocabulary.from_tokenizer(tokenizer)
    )
    question = "The unit of temperature in Paris, as JSON with unit (celsius or kelvin) and days (1 or 10)."
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": question}], add_generation_prompt=True, return_dict=False
    )
    model = HFModel(network, prompt, batch_size=8)
    certified = compare(model, compiled, "trie", budget=300, batch_size=8)
    assert certified.log_z.width < 0.1
    assert certified.tv.width < 0.1
    sampled = compare(model, compiled, "sampling", budget=0, samples=300, batch_size=8)
    assert sampled.log_z.low <= certified.log_z.high
    assert certified.log_z.low <= sampled.log_z.high
    assert model.rescoring_spread([(1, 2, 3), (4, 5)]) < 1e-2


@pytest.mark.skipif(os.environ.get("CONSTRAIN_FULL") != "1", reason="CONSTRAIN_FULL=1 runs it: a minute")
@needs_demo_model
def test_the_log_of_a_real_model_agrees_with_its_certified_interval() -> None:
    """Masses kept while `generate` samples, against the trie that was computed on its own."""
    torch = pytest.importorskip("torch")
    network, tokenizer = models.load("smollm2")
    compiled = constrain.regex(r'\{"unit": "(celsius|kelvin)", "days": (1|10)\}').compile(
        constrain.Vocabulary.from_tokenizer(tokenizer)
    )
    question = "The unit of temperature in Paris, as JSON with unit (celsius or kelvin) and days (1 or 10)."
    inputs = tokenizer.apply_chat_template(
        [{"role": "user", "content": question}], add_generation_prompt=True, return_tensors="pt", return_dict=True
    )
    torch.manual_seed(0)
    processor = constrain.ConstrainedLogitsProcessor(compiled, record_mass=True)
    output = network.generate(
        **inputs,
        logits_processor=[processor],
        do_sample=True,
        top_k=0,
        top_p=1.0,
        temperature=1.0,
        repetition_penalty=1.0,
        num_return_sequences=60,
        max_new_tokens=40,
    )
    report = summarize(processor.records(output))
    model = HFModel(network, inputs["input_ids"][0].tolist(), batch_size=8)
    certified = compare(model, compiled, "trie", budget=100, batch_size=8)
    assert report.records == 60
    assert certified.log_z.low <= report.log_z.high
    assert report.log_z.low <= certified.log_z.high
    assert {"/unit", "/days"} <= {p.location for p in report.places}
    if report.kl_masked_to_exact.value is not None:
        assert report.kl_masked_to_exact.high >= certified.kl_masked_to_exact.low - 0.05
    # Each record's weight again, from rows computed on their own.
    for record in processor.records(output)[:2]:
        total, language = 0.0, MatcherLanguage.of(compiled)
        state = language.start()
        for i, token in enumerate(record.tokens):
            row = model.log_probs([record.tokens[:i]])[0]
            total += float(np.logaddexp.reduce(row[language.allowed(state)]))
            if token not in language.eos_token_ids:
                state = language.advance(state, token)
        assert record.log_weight == pytest.approx(total, abs=2e-3)
