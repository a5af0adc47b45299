"""What came of a generation with tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from constrain.tools import ParsedMessage, ToolCall, ToolResult

FinishReason = Literal["tool_calls", "stop", "length"]


@dataclass(frozen=True, slots=True)
class GenerationStatistics:
    """What a generation took.

    Attributes:
        prompt_tokens: tokens of the prompt.
        tokens: tokens that were written, the end included.
        forced: those of them that the grammar left no choice about and the model was not asked for.
        masks: masks that were made.
        seconds: the generation, from the encoded prompt to the last token.
        mask_seconds: the part of it in which scores were masked.
    """

    prompt_tokens: int = 0
    tokens: int = 0
    forced: int = 0
    masks: int = 0
    seconds: float = 0.0
    mask_seconds: float = 0.0

    def __add__(self, other: GenerationStatistics) -> GenerationStatistics:
        return GenerationStatistics(
            self.prompt_tokens + other.prompt_tokens,
            self.tokens + other.tokens,
            self.forced + other.forced,
            self.masks + other.masks,
            self.seconds + other.seconds,
            self.mask_seconds + other.mask_seconds,
        )


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of the model.

    Attributes:
        message: what it says: text, reasoning, and calls with ids.
        finish_reason: "tool_calls" where it calls, "stop" where it does not, "length" where it was cut off.
        text: what was written, with special tokens.
        prompt: what it was written after.
        results: of its calls, in their order; () where they were not run.
        statistics: what it took.
    """

    message: ParsedMessage
    finish_reason: FinishReason
    text: str
    prompt: str
    statistics: GenerationStatistics
    results: tuple[ToolResult, ...] = ()


@dataclass(frozen=True)
class ToolCallResult:
    """The answers of the model, mostly one, and the conversation with them.

    Attributes:
        turns: the answers. Without an executor there is one.
        messages: the conversation with all answers and results, to be handed on to the next call.
        format: name of the wire format.
    """

    turns: Sequence[Turn]
    messages: list[dict[str, Any]]
    format: str

    @property
    def message(self) -> ParsedMessage:
        """The last answer: text, reasoning, and calls with ids."""
        return self.turns[-1].message

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of the last answer."""
        return self.message.calls

    @property
    def finish_reason(self) -> FinishReason:
        """How the last answer ended: with "tool_calls", "stop" or "length"."""
        return self.turns[-1].finish_reason

    @property
    def truncated(self) -> bool:
        """Whether the last answer was cut off."""
        return self.finish_reason == "length"

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The results of all calls that were run."""
        return tuple(result for turn in self.turns for result in turn.results)

    @property
    def statistics(self) -> GenerationStatistics:
        """What all answers took together."""
        return sum((turn.statistics for turn in self.turns), GenerationStatistics())
