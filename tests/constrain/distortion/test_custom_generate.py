"""Samplers inside `generate`, and particles that share forward passes, on a tiny network."""

from __future__ import annotations

import inspect
import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import constrain  # noqa: E402
from constrain.distortion import HFModel, finite_language  # noqa: E402
from constrain.distortion.samplers import (  # noqa: E402
    AWRS,
    CARS,
    SMC,
    ASAp,
    ImportanceResampling,
    IndependenceMH,
    Masking,
    Rejection,
    SamplerGenerate,
)
from constrain.errors import GenerationError, LogitsWidthError  # noqa: E402
from tests.constrain.distortion.cases import enumerate_all  # noqa: E402
from tests.constrain.distortion.test_samplers import chi_square_fits  # noqa: E402

EOS, PAD, WIDTH = 0, 0, 32
TEXTS = {"abc": (3, 4, 5), "ad": (3, 6), "bd": (4, 6), "cab": (5, 3, 4)}


@pytest.fixture(scope="module")
def model() -> Any:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=WIDTH, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, initializer_range=0.4, bos_token_id=1, eos_token_id=EOS, pad_token_id=PAD,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).eval()


@pytest.fixture(scope="module")
def compiled() -> Any:
    letters = [bytes([b]) for b in b"abcdefghijklmnopqrstuvwxyz"]
    tokens = [None, None, None, *letters, b"ab", b"bd", b"ca"]
    return constrain.regex("|".join(TEXTS)).compile(constrain.Vocabulary.from_tokens(tokens, eos_token_ids=EOS))


def network(model: Any, prompt: list[int], **more: Any) -> HFModel:
    return HFModel(model, prompt, **more)


@pytest.mark.parametrize("kind", [SMC, AWRS])
def test_particles_go_through_the_network_together(model: Any, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    language = finite_language([[3, 4, 5, 6, 7, 8], [4, 4, 5, 6, 7, 8], [3, 5, 5, 6, 7, 9]], EOS)
    rows = network(model, [1, 9], batch_size=64)
    sampler = kind(rows, language, 1, particles=64)
    calls = []
    forward = type(model).forward

    def counted(self: Any, *args: Any, **more: Any) -> Any:
        calls.append(1)
        return forward(self, *args, **more)

    counted.__signature__ = inspect.signature(forward)  # type: ignore[attr-defined]
    monkeypatch.setattr(type(model), "forward", counted)
    sampler.run()
    assert sampler.batches == 7  # one for each token of the longest, whatever the number of particles
    assert sampler.forward_passes <= 1 + 3 * 6  # each distinct prefix once
    assert 7 <= len(calls) <= 10  # and the prompt, and a check or two of the network


@pytest.mark.parametrize("kind", [CARS, Rejection])
def test_exact_samplers_in_generate(model: Any, compiled: Any, kind: Any) -> None:
    """Left padding, two prompts, return sequences, temperature: p is the warped model, from the first draw on."""
    torch.manual_seed(1)
    each = 600 if kind is CARS else 60
    prompts = [[1, 9], [1, 12, 7, 20]]
    batch = torch.tensor([[PAD, PAD, *prompts[0]], prompts[1]])
    mask = torch.tensor([[0, 0, 1, 1], [1, 1, 1, 1]])
    processor = constrain.ConstrainedLogitsProcessor(compiled)
    exact = SamplerGenerate(kind, max_attempts=10**6)
    output = model.generate(
        batch, attention_mask=mask, logits_processor=[processor], custom_generate=exact, do_sample=True, top_k=0,
        temperature=2.0, num_return_sequences=each, max_new_tokens=6,
    )  # fmt: skip
    assert processor.completed(output) == [True] * 2 * each
    assert exact.attempts >= 2 * each
    assert exact.forward_passes >= 2
    for half, prompt in zip(output.split(each), prompts, strict=True):
        warm = network(model, prompt, warpers=[transformers.TemperatureLogitsWarper(2.0)])
        truth = enumerate_all(warm, compiled_language(compiled), 6)
        law = {y: p / truth.z for y, (p, _) in truth.sequences.items()}
        counts: dict[Any, int] = {}
        for row in half[:, 4:].tolist():
            y = tuple(row[: row.index(EOS) + 1])
            counts[y] = counts.get(y, 0) + 1
        assert chi_square_fits(counts, law)


def test_a_vocabulary_with_text_beyond_the_logits_is_refused(model: Any) -> None:
    """Samplers read the network themselves: no scores of theirs reach the processor."""
    letters = [bytes([b]) for b in b"abcdefghijklmnopqrstuvwxyz0123456789"]
    vocabulary = constrain.Vocabulary.from_tokens([None, *letters], eos_token_ids=EOS)
    processor = constrain.ConstrainedLogitsProcessor(constrain.regex("[a-f]{2}").compile(vocabulary))
    with pytest.raises(LogitsWidthError, match="37 ids and the model 32 logits"):
        model.generate(
            torch.tensor([[1, 9]]), logits_processor=[processor], custom_generate=SamplerGenerate(CARS), do_sample=True,
            max_new_tokens=6,
        )  # fmt: skip


def compiled_language(compiled: Any) -> Any:
    from constrain.distortion import MatcherLanguage

    return MatcherLanguage.of(compiled)


@pytest.mark.parametrize("kind", [Masking, ASAp, ImportanceResampling, IndependenceMH, SMC, AWRS])
def test_every_sampler_in_generate(model: Any, compiled: Any, kind: Any) -> None:
    sampler = SamplerGenerate(kind)
    outputs = []
    for _ in range(2):
        torch.manual_seed(4)
        fresh = SamplerGenerate(kind)
        processor = constrain.ConstrainedLogitsProcessor(compiled)
        for custom in (fresh, sampler):
            output = model.generate(
                torch.tensor([[1, 9, 14]]), logits_processor=[processor], custom_generate=custom, do_sample=True,
                top_k=0, num_return_sequences=5, max_new_tokens=6, return_dict_in_generate=True,
            ).sequences  # fmt: skip
            assert all(processor.completed(output))
            if custom is fresh:
                outputs.append(output)
    assert torch.equal(*outputs)  # torch.manual_seed rules
    assert sampler.converges_to == kind.converges_to
    assert len(sampler.samples) == 5
    assert all(math.isfinite(s.log_p) for s in sampler.samples)
    assert sampler.forward_passes <= 14  # prefixes that the language has: no kept sampler computes one twice


@pytest.mark.filterwarnings("ignore:a ConstrainedLogitsProcessor was dropped")
def test_what_cannot_be_had_is_refused(model: Any, compiled: Any) -> None:
    def generate(**more: Any) -> Any:
        how = {"do_sample": True, "max_new_tokens": 6} | more
        processors = how.pop("processors", [constrain.ConstrainedLogitsProcessor(compiled)])
        ids = torch.tensor([[1, 9]])
        return model.generate(ids, logits_processor=processors, custom_generate=SamplerGenerate(CARS), **how)

    with pytest.raises(ValueError, match="do_sample=True"):
        generate(do_sample=False)
    with pytest.raises(ValueError, match="do_sample=True"):
        generate(num_beams=2)
    with pytest.raises(ValueError, match="one ConstrainedLogitsProcessor"):
        generate(processors=[])
    with pytest.raises(ValueError, match="cannot cut"):
        generate(max_time=5.0)
    with pytest.raises(ValueError, match="output_scores"):
        generate(return_dict_in_generate=True, output_scores=True)
    with pytest.raises(GenerationError, match="gave up"):
        generate(max_new_tokens=1)
