"""The mass that masks keep: the kernel against float64, records against forward passes made one by one."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.errors import GenerationError
from constrain.kernels.mass import log_masses
from constrain.mass import MassRecord, read_records, write_records
from tests.constrain.token_grammar import TokenGrammar

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from constrain.kernels.device_mass import log_masses_on_device  # noqa: E402
from constrain.logits_processor import ConstrainedLogitsProcessor  # noqa: E402
from tests.constrain.test_logits_processor import (  # noqa: E402
    EOS,
    PAD,
    TWO_PROMPTS,
    WIDTH,
    loop_grammar,
    prompt,
    tiny_model,
    word_grammar,
)


def reference(scores: Any, allowed: Any) -> float:
    """log of the share of softmax(scores) on `allowed`, in extended precision."""
    x = np.asarray(scores, dtype=np.longdouble)
    x = x - x.max()
    with np.errstate(divide="ignore"):
        return float(np.log(np.exp(x[allowed]).sum()) - np.log(np.exp(x).sum()))


def packed(allowed: Any) -> Any:
    bits = np.zeros(-(-len(allowed) // 32) * 32, dtype=np.uint8)
    bits[: len(allowed)] = allowed
    return np.packbits(bits, bitorder="little").view(np.int32)


def by_kernel(scores: Any, allowed: Any) -> float:
    out = np.zeros(1)
    log_masses(scores[None], packed(allowed)[None], np.zeros(1, dtype=np.bool_), 0, 1, out)
    return float(out[0])


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from([1, 2, 31, 33, 2047, 2048, 2049, 4100, 9000]),
    st.sampled_from([0.1, 3.0, 12.0]),
    st.sampled_from([0.0, 0.001, 0.5, 1.0]),
    st.sampled_from([0.0, 40.0, 90.0, 200.0]),
    st.sampled_from([np.float32, np.float64]),
    st.integers(0, 2**32 - 1),
)
def test_the_kernel_is_a_log_softmax(
    width: int, spread: float, share: float, peak: float, dtype: Any, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    scores = (rng.standard_normal(width) * spread + rng.normal() * 50).astype(dtype)
    scores[rng.integers(width)] += dtype(peak)  # in the first block or after it, allowed or not
    scores[rng.random(width) < 0.1] = -np.inf
    if not np.isfinite(scores).any():
        scores[0] = 0.0
    allowed = rng.random(width) < share
    allowed[rng.integers(width)] = True
    masked = np.where(allowed, scores, dtype(-np.inf))
    want = reference(scores, allowed)
    got = by_kernel(scores, allowed)
    if want == -math.inf:
        assert got == -math.inf
        return
    assert got <= 0.0
    assert got == pytest.approx(want, abs=2e-5 if want < -30 or peak else 2e-6)
    on_device = float(log_masses_on_device(torch.from_numpy(scores)[None], torch.from_numpy(masked)[None])[0])
    assert on_device == pytest.approx(want, abs=1e-4, rel=1e-6)


def test_the_error_of_the_exponential_is_bounded() -> None:
    """Two scores: the kernel's figure is log of exp(-d) / (1 + exp(-d)), for d across all binades of the exponent."""
    for far, bound in ((16.0, 1e-6), (45.0, 5e-6), (300.0, 1e-5)):  # what d and d log2 e lose in float32 is most of it
        worst = 0.0
        for d in np.linspace(0.0, far, 4001).astype(np.float32):
            scores = np.array([0.0, -d], dtype=np.float32)
            got = by_kernel(scores, np.array([False, True]))
            want = -float(d) - math.log1p(math.exp(-float(d)))
            worst = max(worst, abs(got - want))
        assert worst < bound


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_no_distribution_is_told(dtype: Any) -> None:
    for width in (40, 5000):
        everything = np.ones(width, dtype=np.bool_)
        for bad in (math.nan, math.inf):
            scores = np.zeros(width, dtype=dtype)
            scores[width - 3] = bad
            assert math.isnan(by_kernel(scores, everything))
        nothing = np.full(width, -np.inf, dtype=dtype)
        assert math.isnan(by_kernel(nothing, everything))
        late = nothing.copy()
        late[-1] = 1.0  # the first block has no maximum
        assert by_kernel(late, everything) == 0.0
        assert by_kernel(late, np.arange(width) < 4) == -math.inf  # others had forbidden all allowed tokens


def test_payloads_of_nan_stay_nan() -> None:
    for bits in (0x7FC00001, 0x7F800001, 0xFFFFFFFF, 0x7FC001FF):
        scores = np.zeros(4096, dtype=np.float32)
        scores.view(np.uint32)[3000] = bits
        assert math.isnan(by_kernel(scores, np.ones(4096, dtype=np.bool_)))


@pytest.mark.parametrize("words", [1, 64, 70, 200])
def test_tokens_beyond_the_mask_are_not_allowed(words: int) -> None:
    rng = np.random.default_rng(words)
    for width in (32 * words, 32 * words + 7, 32 * words - 5, 32 * words + 5000):
        scores = rng.standard_normal(width).astype(np.float32)
        allowed = rng.random(32 * words) < 0.5
        allowed[0] = True
        out = np.zeros(1)
        log_masses(scores[None], packed(allowed)[None], np.zeros(1, dtype=np.bool_), 0, 1, out)
        within = np.zeros(width, dtype=np.bool_)
        within[: min(width, 32 * words)] = allowed[:width]
        assert out[0] == pytest.approx(reference(scores, within), abs=2e-6)


# Records of generate, mode by mode. What is allowed is read off the grammar's table, probabilities off forward passes
# of the whole prefix, one by one, without padding.


def expected(model: Any, grammar: TokenGrammar, ids: list[int], tokens: tuple[int, ...]) -> list[float]:
    found = []
    for i in range(len(tokens)):
        with torch.no_grad():
            logits = model(torch.tensor([[*ids, *tokens[:i]]])).logits[0, -1].double().numpy()
        found.append(reference(logits, sorted(grammar.allowed(tokens[:i]))))
    return found


def check(record: MassRecord, model: Any, grammar: TokenGrammar, ids: list[int], tokens: Any) -> None:
    output = [t for t in tokens if t != PAD]
    output = output[: output.index(EOS) + 1] if EOS in output else output  # beam search pads with ends
    assert list(record.tokens) == output
    want = expected(model, grammar, ids, record.tokens)
    assert record.log_z == pytest.approx(want, abs=2e-5)
    assert record.log_weight == pytest.approx(sum(want), abs=1e-4)
    assert record.truncated == (EOS not in output)
    assert MassRecord.from_json(record.to_json()) == record


MODES: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sample": {"do_sample": True, "top_k": 0, "num_return_sequences": 3},
    "beams": {"num_beams": 4, "num_return_sequences": 2},
    "all beams": {"num_beams": 3, "num_return_sequences": 3},
    "sampled beams": {"num_beams": 3, "do_sample": True, "num_return_sequences": 2},
}


@pytest.fixture(scope="module")
def model() -> Any:
    return tiny_model()


def bare_prompts() -> list[list[int]]:
    return [
        [t for t, m in zip(row, mask, strict=True) if m]
        for row, mask in zip(TWO_PROMPTS["input_ids"].tolist(), TWO_PROMPTS["attention_mask"].tolist(), strict=True)
    ]


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("mode", MODES)
def test_padded_batches(model: Any, mode: str, on_device: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if on_device:
        monkeypatch.setattr("constrain.logits_processor._on_host", lambda _: False)
        monkeypatch.setattr("constrain.mass_recorder._MOST_UNREAD", 4)
    torch.manual_seed(3)
    grammars = [loop_grammar(), word_grammar((40, 50, 51), (41, 50), (42, 43), (44, 45))]
    processor = ConstrainedLogitsProcessor(grammars, record_mass=True)
    output = model.generate(**TWO_PROMPTS, logits_processor=[processor], max_new_tokens=9, **MODES[mode])
    records = processor.records(output)
    length = TWO_PROMPTS["input_ids"].shape[1]
    assert len(records) == len(output)
    assert [r.completed for r in records] == processor.completed(output)
    for i, (record, row) in enumerate(zip(records, output.tolist(), strict=True)):
        which = i * 2 // len(records)
        check(record, model, grammars[which], bare_prompts()[which], row[length:])
    assert len({r.prompt for r in records}) == 2
    assert [r.prompt for r in processor.records(output, labels=["x", "y"])] == ["x"] * (len(records) // 2) + ["y"] * (
        len(records) // 2
    )


def test_one_grammar_for_two_prompts_keeps_their_masses_apart(model: Any) -> None:
    grammar = loop_grammar()
    processor = ConstrainedLogitsProcessor(grammar, record_mass=True)
    output = model.generate(**TWO_PROMPTS, logits_processor=[processor], max_new_tokens=6)
    records = processor.records(output)
    assert records[0].log_z[0] != pytest.approx(records[1].log_z[0], abs=1e-3)
    for record, ids, row in zip(records, bare_prompts(), output.tolist(), strict=True):
        check(record, model, grammar, ids, row[TWO_PROMPTS["input_ids"].shape[1] :])


@pytest.mark.parametrize("drafts", ["assistant", "lookup"])
@pytest.mark.parametrize("do_sample", [False, True])
def test_masses_are_the_models_own_not_the_drafts(model: Any, drafts: str, do_sample: bool) -> None:
    grammar = loop_grammar()
    processor = ConstrainedLogitsProcessor(grammar, record_mass=True)
    how = {"assistant_model": tiny_model(9)} if drafts == "assistant" else {"prompt_lookup_num_tokens": 3}
    torch.manual_seed(1)
    begin = prompt()
    output = model.generate(
        **begin, logits_processor=[processor], max_new_tokens=12, do_sample=do_sample, top_k=0, **how
    )
    (record,) = processor.records(output)
    check(record, model, grammar, begin["input_ids"][0].tolist(), output[0, begin["input_ids"].shape[1] :].tolist())


def test_an_encoder_s_inputs_are_not_mixed_up() -> None:
    """Both rows begin with the same decoder token; only their own row knows which mass is whose."""
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=WIDTH, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, decoder_start_token_id=PAD,
        eos_token_id=EOS, pad_token_id=PAD, initializer_factor=3.0,
    )  # fmt: skip
    network = transformers.T5ForConditionalGeneration(config).eval()
    grammar = loop_grammar()
    processor = ConstrainedLogitsProcessor(grammar, record_mass=True)
    inputs = torch.tensor([[5, 9, 11], [33, 8, 21]])
    output = network.generate(inputs, logits_processor=[processor], max_new_tokens=5)
    for record, source in zip(processor.records(output), inputs, strict=True):
        for i in range(len(record.tokens)):
            with torch.no_grad():
                ids = torch.tensor([[PAD, *record.tokens[:i]]])
                logits = network(input_ids=source[None], decoder_input_ids=ids).logits[0, -1].double().numpy()
            assert record.log_z[i] == pytest.approx(
                reference(logits, sorted(grammar.allowed(record.tokens[:i]))), abs=2e-5
            )


def test_embeddings_without_ids(model: Any) -> None:
    grammar = loop_grammar()
    ids = torch.tensor([[1, 5, 9], [1, 7, 8]])
    processor = ConstrainedLogitsProcessor(grammar, record_mass=True)
    output = model.generate(
        inputs_embeds=model.get_input_embeddings()(ids), logits_processor=[processor], max_new_tokens=6
    )
    for record, row, tokens in zip(processor.records(output), ids.tolist(), output.tolist(), strict=True):
        check(record, model, grammar, row, tokens)


def test_tokens_that_other_processors_forbid_have_no_probability(model: Any) -> None:
    grammar = loop_grammar()
    gone = [10, 25, 26, 55]
    processor = ConstrainedLogitsProcessor(grammar, record_mass=True)
    begin = prompt()
    output = model.generate(**begin, logits_processor=[processor], max_new_tokens=6, suppress_tokens=gone)
    (record,) = processor.records(output)
    ids = begin["input_ids"][0].tolist()
    for i in range(len(record.tokens)):
        with torch.no_grad():
            logits = model(torch.tensor([[*ids, *record.tokens[:i]]])).logits[0, -1].double().numpy()
        logits[gone] = -np.inf
        assert record.log_z[i] == pytest.approx(reference(logits, sorted(grammar.allowed(record.tokens[:i]))), abs=2e-5)


@pytest.mark.filterwarnings("ignore:other logits processors")
def test_a_step_without_any_allowed_score_has_weight_zero(model: Any) -> None:
    processor = ConstrainedLogitsProcessor(word_grammar((10, 20), (11, 20)), record_mass=True)
    begin = prompt()
    output = model.generate(**begin, logits_processor=[processor], max_new_tokens=6, suppress_tokens=[10, 11])
    (record,) = processor.records(output)
    assert record.log_z[0] == -math.inf
    assert record.log_weight == -math.inf
    assert json.loads(record.to_json())["log_z"][0] == "-inf"
    assert MassRecord.from_json(record.to_json()) == record


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_floats_and_strides(dtype: Any) -> None:
    grammar = word_grammar((10, 20), (11, 20))
    generator = torch.Generator().manual_seed(0)
    wide = (torch.randn(2, 2 * WIDTH, generator=generator) * 4).to(dtype)
    scores = wide[:, ::2]
    processor = ConstrainedLogitsProcessor(grammar, record_mass=True)
    processor(torch.tensor([[1], [3]]), scores)
    found = processor.records(torch.tensor([[1, 10], [3, 11]]))
    for record, row in zip(found, scores.double().numpy(), strict=True):
        assert record.log_z == (pytest.approx(reference(row, [10, 11]), abs=1e-6),)
        assert record.truncated
        assert not record.completed


def test_a_beginning_given_in_advance_was_not_drawn(model: Any) -> None:
    grammar = loop_grammar()
    processor = ConstrainedLogitsProcessor(grammar, prompt_length=2, record_mass=True)
    output = model.generate(torch.tensor([[1, 5, 10, 21]]), logits_processor=[processor], max_new_tokens=6)
    (record,) = processor.records(output)
    assert record.tokens[:2] == (10, 21)
    assert record.log_z[:2] == (0.0, 0.0)
    assert record.log_z[2:] == pytest.approx(expected(model, grammar, [1, 5], record.tokens)[2:], abs=2e-5)


def test_masks_are_the_same_with_and_without_recording(model: Any) -> None:
    outputs = []
    for record_mass in (False, True):
        torch.manual_seed(5)
        processor = ConstrainedLogitsProcessor(loop_grammar(), record_mass=record_mass)
        outputs.append(
            model.generate(**TWO_PROMPTS, logits_processor=[processor], max_new_tokens=9, do_sample=True, num_beams=2)
        )
    assert torch.equal(*outputs)


def test_many_rows_are_spread_over_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    from constrain.mass_recorder import log_masses_on_host

    monkeypatch.setenv("CONSTRAIN_THREADS", "3")
    rng = np.random.default_rng(0)
    scores = torch.from_numpy(rng.standard_normal((40, 1 << 15), dtype=np.float32))
    allowed = rng.random((40, 1 << 15)) < 0.1
    skip = np.arange(40) % 7 == 0
    found = log_masses_on_host(scores, np.stack([packed(row) for row in allowed]), skip)
    for i in range(40):
        if skip[i]:
            assert math.isnan(found[i])
        else:
            assert found[i] == pytest.approx(reference(scores[i].numpy(), allowed[i]), abs=2e-6)


def test_a_generation_s_log_gives_the_distortion_of_its_model(model: Any) -> None:
    """From `generate` to the figures, against the exact ones of the same model by enumeration."""
    from constrain.distortion import HFModel, compare, finite_language, summarize

    words = [(10, 20, 21), (10, 22), (11, 20), (12, 23, 24)]
    exact = compare(HFModel(model, [1, 5]), finite_language(words, EOS))
    assert exact.method == "exact"
    torch.manual_seed(0)
    records = []
    for _ in range(3):
        processor = ConstrainedLogitsProcessor(word_grammar(*words), record_mass=True)
        how = {"do_sample": True, "top_k": 0, "num_return_sequences": 500}
        output = model.generate(torch.tensor([[1, 5]]), logits_processor=[processor], max_new_tokens=6, **how)
        records += processor.records(output)
    found = summarize(records)
    assert found.records == 1500
    assert found.prompts == 1
    assert exact.kl_masked_to_exact.value > 0.1
    assert found.log_z.contains(exact.log_z.value)
    for name in ("kl_masked_to_exact", "kl_exact_to_masked", "tv", "tax"):
        assert getattr(found, name).value == pytest.approx(getattr(exact, name).value, rel=0.15, abs=0.05), name


def test_errors_say_what_to_do(model: Any) -> None:
    processor = ConstrainedLogitsProcessor(loop_grammar())
    with pytest.raises(GenerationError, match="not called"):
        processor.records(torch.tensor([[1, 10]]))
    output = model.generate(**prompt(), logits_processor=[processor], max_new_tokens=6)
    with pytest.raises(GenerationError, match="record_mass=True"):
        processor.records(output)
    processor = ConstrainedLogitsProcessor(loop_grammar(), record_mass=True)
    output = model.generate(**prompt(), logits_processor=[processor], max_new_tokens=6)
    with pytest.raises(ValueError, match="do not begin with"):
        processor.records(output + 1)
    with pytest.raises(ValueError, match="shared out"):
        processor.records(output, labels=["a", "b"])


def test_records_survive_the_disk(tmp_path: Path) -> None:
    records = [
        MassRecord((3, 4), (-0.5, -1.25e-7), True, False, "p", ("", "/a/*")),
        MassRecord((), (), False, True),
        MassRecord((3,), (None,), False, True, "é"),
    ]
    path = tmp_path / "log.jsonl"
    write_records(path, records[:2])
    write_records(path, records[2:])
    assert list(read_records(path)) == records
    assert [r.log_weight for r in records] == [-0.5 - 1.25e-7, 0.0, None]
    for bad in ('{"tokens": [1]}', "[]", "x", '{"tokens":[1],"log_z":[0.5],"completed":true,"truncated":false}'):
        path.write_text(records[0].to_json() + "\n" + bad + "\n")
        with pytest.raises(ValueError, match="line 2"):
            list(read_records(path))


def test_places_are_those_of_the_text() -> None:
    import constrain

    vocabulary = constrain.Vocabulary.from_tokens([bytes([b]) for b in range(32, 127)] + [None], eos_token_ids=95)
    compiled = constrain.regex(r'\{"u":\[1,2\]\}').compile(vocabulary)
    processor = ConstrainedLogitsProcessor(compiled, record_mass=True)
    ids, text = torch.tensor([[0]]), '{"u":[1,2]}'
    for i in range(len(text) + 1):
        processor(ids, torch.zeros(1, 96))
        ids = torch.cat([ids, torch.tensor([[ord(text[i]) - 32 if i < len(text) else 95]])], dim=1)
    (record,) = processor.records(ids)
    assert record.completed
    assert not record.truncated
    assert record.log_z == pytest.approx([-math.log(96)] * 12, abs=1e-6)
    assert record.locations == ("", "/~key", "/~key", "/~key", "/u", "/u", "/u/*", "/u/*", "/u/*", "/u/*", "/u", "")
