"""Generation that writes forced tokens without asking the model: a decoding loop for transformers' `custom_generate`.

    model.generate(**inputs, logits_processor=[processor], custom_generate=constrain.jump_generate)

The loop is that of plain `generate` for greedy search and sampling, but after each token the grammar is asked for the
tokens that must follow (`Matcher.forced_tokens`), and these go through the model together with it, in one forward pass.

Each row of a batch is a text of its own: it has its own length, and processors and stopping criteria see it alone, as
in a batch of one. The model sees all rows at once. Rows that go forward by fewer tokens than others are padded on the
left of the step: the attention mask hides the padding and positions do not count it, so it only costs room in the
cache. Where a model cannot leave out such columns (sliding windows, caches of fixed size, positions that are not handed
over), rows go forward in lockstep, by as many tokens as the slowest has ready.

What no model was asked has no scores. Forced tokens also do not ask other logits processors: there the grammar wins, as
it does everywhere.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import torch

from constrain.errors import VocabularyError
from constrain.logits_processor import ConstrainedLogitsProcessor, local_of_generate
from constrain.prefixes import TOKEN_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from transformers.generation import GenerateDecoderOnlyOutput


def jump_generate(
    model: Any,
    input_ids: torch.Tensor,
    logits_processor: Any,
    stopping_criteria: Any,
    generation_config: Any,
    synced_gpus: bool = False,
    streamer: Any = None,
    **model_kwargs: Any,
) -> torch.Tensor | GenerateDecoderOnlyOutput:
    """Generate under a constraint, forced tokens without a forward pass of their own.

    To be given to `generate` as `custom_generate`, together with a `ConstrainedLogitsProcessor` whose vocabulary knows
    its tokenizer (`Vocabulary.from_tokenizer`). For decoder-only models, greedy search and sampling, and batches.

    `generate` hands a custom loop no tokenizer, so it refuses `stop_strings`; give it
    `stopping_criteria=[StopStringCriteria(tokenizer, strings)]` instead.

    The text is what plain constrained generation writes wherever its tokens are the tokenizer's own cut of the text; a
    model that cuts forced text in another way may go on differently after it. Characters are never written as escapes
    where there is no other choice.

    Returns:
        What `generate` returns for the same arguments: ids of shape (rows, length), padded on the right, or a
        `GenerateDecoderOnlyOutput` with `return_dict_in_generate`.

    Raises:
        ValueError: no constraint among the processors, or a mode, a model or an output that cannot be had this way.
        VocabularyError: the vocabulary does not know its tokenizer, or has ids that the model has not.
        LogitsWidthError: the vocabulary is that of another model.
    """
    if streamer is None:  # a custom loop is handed neither streamers nor draft models: they would go without a word
        streamer = local_of_generate("streamer")
    processor = _constraint(logits_processor)
    _check(model, generation_config, logits_processor, len(input_ids), synced_gpus, streamer, model_kwargs)
    loop = _Loop(model, input_ids, logits_processor, processor, stopping_criteria, generation_config, streamer)
    with torch.no_grad():
        cache = loop.run(model_kwargs)
    if streamer is not None:
        streamer.end()
    sequences = loop.sequences()
    if not generation_config.return_dict_in_generate:
        return sequences
    from transformers.generation import GenerateDecoderOnlyOutput

    output = GenerateDecoderOnlyOutput(sequences=sequences)
    name = "cache" if "cache" in GenerateDecoderOnlyOutput.__dataclass_fields__ else "past_key_values"
    if cache is not None:
        output[name] = cache
    return output


class _Row:
    """One row: its text, and the tokens of it that the model has not seen."""

    def __init__(self, ids: torch.Tensor, output: bytes) -> None:
        self.ids = ids  # (1, length)
        self.output = output  # the ids after the prompt again, as the constraint wants them
        self.waiting: list[int] = []
        self.finished = False


class _Loop:
    def __init__(
        self,
        model: Any,
        input_ids: torch.Tensor,
        logits_processor: Any,
        processor: ConstrainedLogitsProcessor,
        stopping_criteria: Any,
        generation_config: Any,
        streamer: Any,
    ) -> None:
        self.model, self.config, self.streamer = model, generation_config, streamer
        self.logits_processor, self.processor, self.stopping_criteria = logits_processor, processor, stopping_criteria
        self.seen = input_ids  # (rows, columns): what went through the model, paddings of steps included
        begun = processor.begin(input_ids)
        self.rows = [_Row(input_ids[i : i + 1], output) for i, output in enumerate(begun)]
        self.width = int(model.config.get_text_config().vocab_size)
        pad = generation_config.pad_token_id
        if pad is None:
            pad = processor.vocabulary.eos_token_ids[0]
        self.pad = int(pad[0] if isinstance(pad, list) else pad)
        self.together = True  # lockstep, until the model is known to allow otherwise

    def run(self, model_kwargs: dict[str, Any]) -> Any:
        """Write all rows to their ends. Returns the model's cache."""
        for index in range(len(self.rows)):
            self._jump(index)
        if self._over():
            return None
        model, rows = self.model, self.rows
        if len(rows) > 1 and model_kwargs.get("attention_mask") is None:
            model_kwargs["attention_mask"] = torch.ones_like(self.seen)
        if len(rows) == 1 and rows[0].waiting and model_kwargs.get("inputs_embeds") is None:
            # The beginning of the output goes through the model with the prompt.
            model_kwargs = self._grow({}, model_kwargs, len(rows[0].waiting))
            if hasattr(self.config, "_mask_length"):
                self.config._mask_length += len(rows[0].waiting)
            self._take([len(rows[0].waiting)], len(rows[0].waiting))
        outputs = model._prefill(self.seen, self.config, model_kwargs, is_first_iteration=True)
        self.together = len(rows) == 1 or not _can_be_ragged(model, _cache(outputs), model_kwargs)
        while True:
            self._choose(outputs.logits[:, -1].to(copy=True, dtype=torch.float32, device=self.seen.device))
            if self._over():
                return _cache(outputs)
            ready = [len(row.waiting) for row in rows if not row.finished]
            width = min(ready) if self.together else max(ready)
            model_kwargs = self._grow(outputs, model_kwargs, width)
            self._place(model_kwargs, width)
            inputs = model.prepare_inputs_for_generation(
                self.seen, next_sequence_length=width if model_kwargs.get("use_cache", True) else None, **model_kwargs
            )
            outputs = model(**inputs, return_dict=True)

    def sequences(self) -> torch.Tensor:
        """All rows, shape (rows, longest), padded on the right."""
        length = max(row.ids.shape[1] for row in self.rows)
        return torch.cat(
            [torch.nn.functional.pad(row.ids, (0, length - row.ids.shape[1]), value=self.pad) for row in self.rows]
        )

    def _over(self) -> bool:
        return all(row.finished for row in self.rows)

    # ---- what comes next ---------------------------------------------------------------------------------------------

    def _choose(self, logits: torch.Tensor) -> None:
        """One token for every row that has none waiting, and what must follow it. `logits` has shape (rows, width)."""
        asked = [i for i, row in enumerate(self.rows) if not row.finished and not row.waiting]
        if not asked:
            return
        scores = torch.cat([self._scores(i, logits[i : i + 1]) for i in asked])
        if self.config.do_sample:
            chosen = torch.multinomial(torch.nn.functional.softmax(scores, dim=-1), num_samples=1).squeeze(1)
        else:
            chosen = torch.argmax(scores, dim=-1)
        for index, token in zip(asked, chosen.tolist(), strict=True):
            self._write(self.rows[index], [token])
            self._jump(index)

    def _scores(self, index: int, scores: torch.Tensor) -> torch.Tensor:
        """What all processors make of the scores of one row, shape (1, width)."""
        row = self.rows[index]
        for step in self.logits_processor:
            ours = step is self.processor
            scores = step.mask_row(row.output, index, len(self.rows), scores) if ours else step(row.ids, scores)
        return scores

    def _jump(self, index: int) -> None:
        """Write the tokens that must come next in a row."""
        row = self.rows[index]
        if row.finished:
            return
        self._write(row, self.processor.forced_after(row.output, index, len(self.rows)))

    def _write(self, row: _Row, tokens: Iterable[int]) -> None:
        """Append tokens to a row as long as it is not finished."""
        for token in tokens:
            if row.finished:
                return
            if token >= self.width:
                raise VocabularyError(
                    "model", f"token {token} must come next, and the model has {self.width}: not its own tokenizer?"
                )
            new = torch.tensor([token], dtype=row.ids.dtype, device=row.ids.device)
            row.ids = torch.cat([row.ids, new[None]], dim=1)
            row.output += token.to_bytes(TOKEN_BYTES, sys.byteorder)
            row.waiting.append(token)
            if self.streamer is not None:
                self.streamer.put(new.cpu())
            row.finished = bool(self.stopping_criteria(row.ids, None).all())

    # ---- what the model sees -----------------------------------------------------------------------------------------

    def _grow(self, outputs: Any, model_kwargs: dict[str, Any], width: int) -> dict[str, Any]:
        grown: dict[str, Any] = self.model._update_model_kwargs_for_generation(
            outputs, model_kwargs, is_encoder_decoder=False, num_new_tokens=width
        )
        return grown

    def _place(self, model_kwargs: dict[str, Any], width: int) -> None:
        """Hand the waiting tokens over, at most `width` of each row, on the right of a step of that width."""
        counts = [width if row.finished else min(width, len(row.waiting)) for row in self.rows]
        if min(counts) < width:
            device = self.seen.device
            behind = torch.arange(width, device=device)[None] - (width - torch.tensor(counts, device=device)[:, None])
            model_kwargs["attention_mask"][:, -width:] = (behind >= 0).to(model_kwargs["attention_mask"].dtype)
            positions = model_kwargs["position_ids"]  # (…, rows, columns)
            last = positions[..., -width - 1 : -width]
            positions[..., -width:] = last + (behind + 1).clamp(min=0).to(positions.dtype)
        self._take(counts, width)

    def _take(self, counts: list[int], width: int) -> None:
        step = torch.full((len(self.rows), width), self.pad, dtype=self.seen.dtype)
        for i, (row, count) in enumerate(zip(self.rows, counts, strict=True)):
            if not row.finished:
                step[i, width - count :] = torch.tensor(row.waiting[:count], dtype=self.seen.dtype)
                del row.waiting[:count]
        self.seen = torch.cat([self.seen, step.to(self.seen.device)], dim=1)


def _cache(outputs: Any) -> Any:
    found = outputs.get("cache")
    return outputs.get("past_key_values") if found is None else found


def _can_be_ragged(model: Any, cache: Any, model_kwargs: dict[str, Any]) -> bool:
    """Whether columns in the midst of a row can be hidden from the model without a trace."""
    if model_kwargs.get("position_ids") is None or model_kwargs["attention_mask"].dim() != 2:
        return False
    if getattr(model.config, "_attn_implementation", None) not in ("eager", "sdpa"):
        return False
    config = model.config.get_text_config()
    kinds = getattr(config, "layer_types", None)
    if any(kind != "full_attention" for kind in kinds) if kinds else getattr(config, "sliding_window", None):
        return False
    if cache is None:
        return not model_kwargs.get("use_cache", True)
    return not (cache.is_compileable or any(getattr(cache, "is_sliding", ())) or any(getattr(cache, "is_linear", ())))


def _constraint(logits_processor: Any) -> ConstrainedLogitsProcessor:
    found = [p for p in logits_processor if isinstance(p, ConstrainedLogitsProcessor)]
    if len(found) != 1:
        raise ValueError(
            "jump_generate needs one ConstrainedLogitsProcessor, given to generate as logits_processor=[processor]; "
            f"got {len(found)}"
        )
    if found[0].vocabulary.encode is None:
        raise VocabularyError(
            "encode", "jump_generate needs a vocabulary that knows its tokenizer: use Vocabulary.from_tokenizer(...)"
        )
    return found[0]


def _check(
    model: Any,
    config: Any,
    processors: Any,
    rows: int,
    synced_gpus: bool,
    streamer: Any,
    model_kwargs: dict[str, Any],
) -> None:
    """Refuse what would silently go another way."""
    from transformers.generation import GenerationMode
    from transformers.generation.logits_process import (
        PrefixConstrainedLogitsProcessor,
        UnbatchedClassifierFreeGuidanceLogitsProcessor,
    )

    mode = config.get_generation_mode(local_of_generate("assistant_model"))
    if mode not in (GenerationMode.GREEDY_SEARCH, GenerationMode.SAMPLE):
        raise ValueError(f"jump_generate does greedy search and sampling, not {mode.value.replace('_', ' ')}")
    if model.config.is_encoder_decoder:
        raise ValueError("jump_generate is for decoder-only models")
    if getattr(model, "_is_stateful", False):
        raise ValueError("jump_generate needs a key-value cache; this model keeps a state that takes one token a time")
    if synced_gpus:
        raise ValueError("jump_generate cannot keep several processes in step (synced_gpus)")
    if config.return_dict_in_generate:
        asked = [
            name
            for name in ("output_scores", "output_logits", "output_attentions", "output_hidden_states")
            if getattr(config, name, None)
        ]
        if asked:
            raise ValueError(f"jump_generate has no {', '.join(asked)}: forced tokens are not asked of the model")
    if any(isinstance(p, UnbatchedClassifierFreeGuidanceLogitsProcessor) for p in processors):
        raise ValueError("jump_generate does not work with guidance_scale, which runs the model on its own")
    if rows == 1:
        return
    if any(isinstance(p, PrefixConstrainedLogitsProcessor) for p in processors):
        raise ValueError("jump_generate hands rows over one by one; prefix_allowed_tokens_fn would take each for row 0")
    if streamer is not None:
        raise ValueError("a streamer takes one row; jump_generate has several")
    if model_kwargs.get("inputs_embeds") is not None or _filled(model_kwargs):
        raise ValueError("with several rows jump_generate starts from input_ids, and from an empty cache")


def _filled(model_kwargs: dict[str, Any]) -> bool:
    cache = model_kwargs.get("cache", model_kwargs.get("past_key_values"))
    return cache is not None and bool(cache.get_seq_length())
