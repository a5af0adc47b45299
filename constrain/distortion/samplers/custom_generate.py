"""Any sampler as a decoding loop of `generate`, so that exact draws take one argument.

    exact = SamplerGenerate(CARS)
    model.generate(**inputs, do_sample=True, logits_processor=[processor], custom_generate=exact, max_new_tokens=200)

p is the model after all other logits processors of that call (temperature, top-k, penalties, ...), the language is the
processor's, and the target is p given validity within the limit of tokens. Rows of one prompt share a sampler, so
what one draw learns about invalid mass (CARS, ASAp) serves the next, in later calls too. The batch does not: draws come
one after another; within a draw, particles of SMC and AWRS go through the network together.

Outputs are always complete. What that costs depends on the sampler, and is told by `forward_passes`.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from constrain.distortion.hf_model import HFModel
from constrain.distortion.matcher_language import MatcherLanguage
from constrain.distortion.samplers.sampler import Sample, Sampler
from constrain.errors import GenerationError

if TYPE_CHECKING:
    import torch

_CACHE_BYTES = 1 << 26


class SamplerGenerate:
    """To be given to `generate` as `custom_generate`.

    Works with decoder-only models, batches of left-padded prompts and `num_return_sequences`, with one
    `ConstrainedLogitsProcessor` among the processors. `processor.completed` may be asked afterwards.

    Args:
        sampler: a class of `constrain.distortion.samplers`.
        batch_size: rows of one forward pass; the number of particles at least makes SMC and AWRS one pass a token.
        kept: samplers kept for later calls, one per prompt, grammar and settings.
        options: the sampler's own arguments, such as `particles=64` or `max_attempts=1000`.

    Attributes:
        converges_to: the law of the outputs, in words.
        samples: those of the last call, row by row.
        forward_passes: rows that the network computed in the last call.
        attempts: sequences begun in the last call.
    """

    def __init__(self, sampler: type[Sampler], *, batch_size: int = 32, kept: int = 4, **options: Any) -> None:
        self._kind, self._batch_size, self._kept, self._options = sampler, batch_size, max(kept, 1), options
        self._samplers: OrderedDict[Any, tuple[Sampler, HFModel]] = OrderedDict()
        self.converges_to = sampler.converges_to
        self.samples: list[Sample] = []
        self.forward_passes = self.attempts = 0

    def __call__(
        self,
        model: Any,
        input_ids: torch.Tensor,
        logits_processor: Any,
        stopping_criteria: Any,
        generation_config: Any,
        synced_gpus: bool = False,
        streamer: Any = None,
        **model_kwargs: Any,
    ) -> Any:
        """Write one sample per row: ids of shape (rows, longest), prompts first, padded on the right.

        Raises:
            ValueError: a mode, model or argument that cannot be had this way.
            LogitsWidthError: the vocabulary is that of another model.
            GenerationError: the sampler gave up.
        """
        import torch

        processor, others = _checked(
            model, logits_processor, stopping_criteria, generation_config, synced_gpus, streamer, model_kwargs
        )
        processor.begin(input_ids, int(model.get_output_embeddings().weight.shape[0]))
        rows, columns = input_ids.shape
        limit = int(generation_config.max_length) - columns
        if limit < 1:
            raise ValueError(f"max_length leaves no token to write: the prompt has {columns} already")
        mask = model_kwargs.get("attention_mask")
        self.samples, self.forward_passes, self.attempts = [], 0, 0
        for row in range(rows):
            ids = input_ids[row] if mask is None else input_ids[row][mask[row].bool()]
            grammar = processor.grammar_of_row(row, rows)
            sampler, network = self._sampler(model, tuple(ids.tolist()), grammar, others, limit)
            before, attempts = network.forward_passes, sampler.attempts
            try:
                self.samples.append(sampler.draw())
            except RuntimeError as error:
                raise GenerationError(
                    f"row {row}: {self._kind.__name__} gave up after {sampler.attempts - attempts:,} attempts: "
                    f"{error}; "
                    "raise max_attempts or max_new_tokens, or allow more tokens than top_k and top_p do"
                ) from error
            self.forward_passes += network.forward_passes - before
            self.attempts += sampler.attempts - attempts
        pad = generation_config.pad_token_id
        pad = processor.vocabulary.eos_token_ids[0] if pad is None else pad[0] if isinstance(pad, list) else pad
        longest = max(len(s.tokens) for s in self.samples)
        written = torch.full((rows, longest), int(pad), dtype=input_ids.dtype, device=input_ids.device)
        for row, sample in enumerate(self.samples):
            written[row, : len(sample.tokens)] = torch.tensor(sample.tokens, dtype=input_ids.dtype)
        sequences = torch.cat([input_ids, written], dim=1)
        if not generation_config.return_dict_in_generate:
            return sequences
        from transformers.generation import GenerateDecoderOnlyOutput

        return GenerateDecoderOnlyOutput(sequences=sequences)

    def _sampler(
        self, model: Any, prompt: tuple[int, ...], grammar: Any, others: list[Any], limit: int
    ) -> tuple[Sampler, HFModel]:
        settings = tuple((type(p).__name__, repr(sorted(vars(p).items(), key=lambda item: item[0]))) for p in others)
        key = (id(model), prompt, id(grammar), settings, limit)
        known = self._samplers.pop(key, None)
        if known is None:
            import torch

            network = HFModel(model, prompt, warpers=others, batch_size=self._batch_size, cache_bytes=_CACHE_BYTES)
            seed = int(torch.randint(2**62, ()))  # so that torch.manual_seed rules
            known = self._kind(network, MatcherLanguage.of(grammar), seed, max_tokens=limit, **self._options), network
        self._samplers[key] = known
        while len(self._samplers) > self._kept:
            self._samplers.popitem(last=False)
        return known


def _checked(
    model: Any,
    logits_processor: Any,
    stopping_criteria: Any,
    config: Any,
    synced_gpus: bool,
    streamer: Any,
    model_kwargs: dict[str, Any],
) -> tuple[Any, list[Any]]:
    """The constraint and the other processors; what would silently go another way is refused."""
    from transformers.generation import EosTokenCriteria, GenerationMode, MaxLengthCriteria

    from constrain.logits_processor import ConstrainedLogitsProcessor

    found = [p for p in logits_processor if isinstance(p, ConstrainedLogitsProcessor)]
    if len(found) != 1:
        raise ValueError(
            "a sampler needs one ConstrainedLogitsProcessor, given to generate as logits_processor=[processor]; "
            f"got {len(found)}"
        )
    mode = config.get_generation_mode(None)
    if mode != GenerationMode.SAMPLE:
        raise ValueError(f"samplers draw: pass do_sample=True, not {mode.value.replace('_', ' ')}")
    if model.config.is_encoder_decoder:
        raise ValueError("samplers are for decoder-only models")
    if synced_gpus or streamer is not None:
        raise ValueError("samplers go back and forth: they serve neither streamers nor synced_gpus")
    if model_kwargs.get("inputs_embeds") is not None:
        raise ValueError("samplers start from input_ids")
    cache = model_kwargs.get("cache", model_kwargs.get("past_key_values"))
    if cache is not None and cache.get_seq_length():
        raise ValueError("samplers start from an empty cache")
    strange = [type(c).__name__ for c in stopping_criteria if not isinstance(c, MaxLengthCriteria | EosTokenCriteria)]
    if strange:
        raise ValueError(f"samplers write whole outputs: {', '.join(strange)} cannot cut them")
    asked = [
        n
        for n in ("output_scores", "output_logits", "output_attentions", "output_hidden_states")
        if getattr(config, n, None)
    ]
    if config.return_dict_in_generate and asked:
        raise ValueError(f"samplers have no {', '.join(asked)}")
    return found[0], [p for p in logits_processor if p is not found[0]]
