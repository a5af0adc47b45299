"""One answer of a model under a grammar of tool calls, through Hugging Face `generate`."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from constrain.engine import CompiledGrammar
from constrain.errors import GenerationError
from constrain.generation.prompts import Prompt
from constrain.generation.result import FinishReason, GenerationStatistics, Turn
from constrain.jump import jump_generate
from constrain.logits_processor import ConstrainedLogitsProcessor
from constrain.tools import Event, ToolCallParser
from constrain.wire.grammar import ToolCallGrammar

REFUSED = {
    "custom_generate": "it is chosen by jump=",
    "input_ids": "the prompt is made from the messages",
    "inputs": "the prompt is made from the messages",
    "num_return_sequences": "there is one answer to go on with",
    "return_dict_in_generate": "the result has what was generated",
}
_JUMPS_WITH = frozenset(
    (
        *("do_sample", "min_p", "temperature", "top_k", "top_p", "typical_p", "repetition_penalty"),
        *("max_new_tokens", "max_time", "stopping_criteria", "eos_token_id", "pad_token_id"),
        *("generation_config", "logits_processor", "past_key_values", "cache", "streamer", "use_cache"),
    )
)


class _Measured(ConstrainedLogitsProcessor):
    """Notes how many masks were made, and the time that took."""

    masks = 0
    seconds = 0.0

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        begin = time.perf_counter()
        out = super().__call__(input_ids, scores)
        self._note(begin)
        return out

    def mask_row(self, output: bytes, row: int, rows: int, scores: torch.Tensor) -> torch.Tensor:
        begin = time.perf_counter()
        out = super().mask_row(output, row, rows, scores)
        self._note(begin)
        return out

    def _note(self, begin: float) -> None:
        self.masks += 1
        self.seconds += time.perf_counter() - begin


class _Events:
    """A streamer of transformers that reads what is written."""

    def __init__(self, parser: ToolCallParser, tell: Callable[[Event], None]) -> None:
        self._parser, self._tell, self._begun = parser, tell, False

    def put(self, value: torch.Tensor) -> None:
        if self._begun:  # the prompt comes first
            for event in self._parser.feed(value.flatten().tolist()):
                self._tell(event)
        self._begun = True

    def end(self) -> None:
        """Nothing more comes."""


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse arguments of `generate` under which a turn is no turn, or not constrained.

    Raises:
        ValueError: it names the argument.
    """
    for name, reason in REFUSED.items():
        if options.get(name) is not None:
            raise ValueError(f"generate_tool_calls takes no {name}: {reason}")
    if options.get("cache_implementation") == "paged":
        raise ValueError('cache_implementation="paged" ignores logits processors, so it cannot be constrained')
    if any(isinstance(p, ConstrainedLogitsProcessor) for p in options.get("logits_processor") or ()):
        raise ValueError("there is a constraint among logits_processor already; the tools make their own")


def run_turns(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[Prompt],
    compiled: Sequence[CompiledGrammar],
    conversations: Sequence[Sequence[Mapping[str, Any]]],
    max_new_tokens: int,
    options: Mapping[str, Any],
    *,
    jump: bool | None,
    close_in_time: bool = False,
    on_event: Callable[[Event], None] | None = None,
) -> list[Turn]:
    """Have the model answer each prompt, all in one batch; the arguments are those of `generate_tool_calls`.

    Raises:
        GenerationError: what was generated is not what the grammar allows, so it was not heard.
        ValueError: tokens cannot be forced in a batch.
    """
    rows = len(prompts)
    if on_event is not None and (rows > 1 or options.get("streamer") is not None):
        raise ValueError("on_event is for one conversation, and in place of a streamer")
    if rows > 1 and jump:
        raise ValueError("jump=True is for one conversation; a batch asks the model for every token")
    ends = sorted({token for one in compiled for token in (*one.end_token_ids, *one.stop_token_ids)})
    processor = _Measured(
        compiled[0] if rows == 1 else list(compiled), max_new_tokens=max_new_tokens if close_in_time else None
    )
    settings: dict[str, Any] = {
        "pad_token_id": ends[0] if tokenizer.pad_token_id is None else tokenizer.pad_token_id,
        **options,
        "max_new_tokens": max_new_tokens,
        "eos_token_id": ends,
        "logits_processor": [*(options.get("logits_processor") or ()), processor],
    }
    if "stop_strings" in settings:
        settings.setdefault("tokenizer", tokenizer)
    jumps = rows == 1 and (may_jump(model, compiled[0], settings) if jump is None else jump)
    if jumps:
        settings["custom_generate"] = jump_generate
    if on_event is not None:
        grammar = compiled[0].grammar
        assert isinstance(grammar, ToolCallGrammar)
        parser = grammar.parser(compiled[0].vocabulary, messages=conversations[0])
        settings["streamer"] = _Events(parser, on_event)
    inputs = _padded([prompt.inputs for prompt in prompts], settings["pad_token_id"])
    inputs = {key: value.to(model.device) for key, value in inputs.items()}
    length = inputs["input_ids"].shape[1]
    begin = time.perf_counter()
    with torch.no_grad():
        output = model.generate(**inputs, **settings)
    seconds = time.perf_counter() - begin
    processor.completed(output)  # raises where the constraint was never heard
    turns = []
    for row, (prompt, one, messages) in enumerate(zip(prompts, compiled, conversations, strict=True)):
        tokens, ended = _own(output[row, length:].tolist(), ends)
        masks = processor.masks if rows == 1 else len(tokens)
        statistics = GenerationStatistics(
            prompt.inputs["input_ids"].shape[1],
            len(tokens),
            len(tokens) - masks if jumps else 0,
            masks,
            seconds / rows,
            processor.seconds / rows,
        )
        turns.append(_turn(tokenizer, prompt, one, messages, tokens, statistics, ended, max_new_tokens))
    return turns


def _turn(
    tokenizer: Any,
    prompt: Prompt,
    compiled: CompiledGrammar,
    messages: Sequence[Mapping[str, Any]],
    tokens: list[int],
    statistics: GenerationStatistics,
    ended: bool,
    max_new_tokens: int,
) -> Turn:
    """What the tokens of an answer say."""
    grammar = compiled.grammar
    assert isinstance(grammar, ToolCallGrammar)
    matcher = compiled.matcher()
    for number, token in enumerate(tokens):
        if not matcher.accept_token(token):
            raise GenerationError(f"token {number} of the answer, {token}, is not one that the grammar allows")
    message = grammar.parse(tokens, compiled.vocabulary, messages=messages, errors="collect")
    reason: FinishReason = "tool_calls" if message.calls else "stop"
    if not ended and (len(tokens) >= max_new_tokens or message.problems):
        reason = "length"
    return Turn(message, reason, tokenizer.decode(tokens, skip_special_tokens=False), prompt.text, statistics)


def _padded(inputs: Sequence[Mapping[str, torch.Tensor]], pad: Any) -> dict[str, torch.Tensor]:
    """Inputs of one row each as rows of one batch, padded on the left."""
    if len(inputs) == 1:
        return dict(inputs[0])
    longest = max(one["input_ids"].shape[1] for one in inputs)
    fill = int(pad[0] if isinstance(pad, list | tuple) else pad)
    ids = torch.full((len(inputs), longest), fill, dtype=inputs[0]["input_ids"].dtype)
    mask = torch.zeros_like(ids)
    for row, one in enumerate(inputs):
        size = one["input_ids"].shape[1]
        ids[row, longest - size :] = one["input_ids"][0]
        mask[row, longest - size :] = one.get("attention_mask", torch.ones_like(one["input_ids"]))[0]
    return {"input_ids": ids, "attention_mask": mask}


def _own(tokens: list[int], ends: Sequence[int]) -> tuple[list[int], bool]:
    """The tokens up to the one that ends the answer, and whether one does; padding follows it."""
    for number, token in enumerate(tokens):
        if token in ends:
            return tokens[: number + 1], True
    return tokens, False


def may_jump(model: Any, compiled: CompiledGrammar, settings: Mapping[str, Any]) -> bool:
    """Whether forced tokens can be written without asking the model, and nothing else changes."""
    from transformers.generation import GenerationMode

    if compiled.vocabulary.encode is None or not set(settings) <= _JUMPS_WITH or not hasattr(model, "_prefill"):
        return False
    if model.config.is_encoder_decoder or getattr(model, "_is_stateful", False):
        return False
    config = copy.deepcopy(settings.get("generation_config") or model.generation_config)
    config.update(**{key: settings[key] for key in ("do_sample",) if key in settings})
    if config.get_generation_mode() not in (GenerationMode.GREEDY_SEARCH, GenerationMode.SAMPLE):
        return False
    quiet = ("output_scores", "output_logits", "output_attentions", "output_hidden_states", "return_dict_in_generate")
    return not (getattr(config, "guidance_scale", None) or any(getattr(config, name, None) for name in quiet))
