"""How much faster a model writes with forced tokens: the same generation with a forward pass for every token, and with
jumps, timed side by side.

Times are those of whole `generate` calls, prompt included. Where the two texts differ (a model may cut forced text in
its own way and go on differently after it) the figures are of two different texts, and `same_text` says so.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from constrain.jump import jump_generate
from constrain.logits_processor import ConstrainedLogitsProcessor

if TYPE_CHECKING:
    from constrain.engine import CompiledGrammar


@dataclass(frozen=True)
class Run:
    """One generation.

    Attributes:
        tokens: tokens written, the end-of-sequence token included, in all rows together.
        forward_passes: calls of the model, the prompt's included.
        seconds: wall-clock time of the fastest repetition.
        cpu_seconds: processor time of the same repetition, all threads together.
        texts: the bytes written, per row.
        completed: per row, whether the output is complete.
    """

    tokens: int
    forward_passes: int
    seconds: float
    cpu_seconds: float
    texts: tuple[bytes, ...]
    completed: tuple[bool, ...]

    @property
    def tokens_per_second(self) -> float:
        """Tokens of all rows per second of wall-clock time."""
        return self.tokens / self.seconds


@dataclass(frozen=True)
class JumpSpeed:
    """Plain constrained generation beside the same with jumps."""

    plain: Run
    jumping: Run

    @property
    def ratio(self) -> float:
        """Tokens per second with jumps, as a multiple of those without."""
        return self.jumping.tokens_per_second / self.plain.tokens_per_second

    @property
    def same_text(self) -> bool:
        """Whether both wrote the same bytes."""
        return self.plain.texts == self.jumping.texts


def measure_jumps(
    model: Any, compiled: CompiledGrammar, inputs: Any, *, max_new_tokens: int = 256, repeats: int = 3, **options: Any
) -> JumpSpeed:
    """Time greedy generation without and with jumps, by turns; the fastest of each counts.

    Args:
        model: a causal language model of transformers.
        compiled: the grammar; its vocabulary knows its tokenizer.
        inputs: `input_ids` and `attention_mask`, as a tokenizer returns them.
        options: more arguments for both `generate` calls.
    """
    settings = {"do_sample": False, "max_new_tokens": max_new_tokens} | options
    plain, jumping = [], []
    for _ in range(max(1, repeats)):
        plain.append(_run(model, compiled, inputs, settings))
        jumping.append(_run(model, compiled, inputs, settings | {"custom_generate": jump_generate}))
    return JumpSpeed(min(plain, key=lambda run: run.seconds), min(jumping, key=lambda run: run.seconds))


def _run(model: Any, compiled: CompiledGrammar, inputs: Any, settings: dict[str, Any]) -> Run:
    passes = 0

    def count(*_: Any) -> None:
        nonlocal passes
        passes += 1

    processor = ConstrainedLogitsProcessor(compiled)
    hook = model.register_forward_hook(count)
    try:
        start, cpu_start = time.perf_counter(), time.process_time()
        output = model.generate(**inputs, logits_processor=[processor], **settings)
        if output.is_cuda:
            output = output.cpu()  # waits for the device
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    finally:
        hook.remove()
    vocabulary = compiled.vocabulary
    tokens, texts = 0, []
    for row in output[:, inputs["input_ids"].shape[1] :].tolist():
        ends = [k for k, token in enumerate(row) if token in vocabulary.eos_token_ids]
        row = row[: ends[0] + 1] if ends else row
        tokens += len(row)
        texts.append(b"".join(vocabulary.token_bytes[token] or b"" for token in row))
    return Run(tokens, passes, seconds, cpu_seconds, tuple(texts), tuple(processor.completed(output)))
