"""Where in its message a model begins to write: the prompt may hold the beginning already.

Chat templates end a prompt with `<think>`, with `</think>`, with an empty block, or with none of these, depending on
the model and on what was asked for. Only the rendered prompt tells which, so it is read, not guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from constrain.grammars.errors import ToolFormatError
from constrain.grammars.tool_formats.format import Format
from constrain.grammars.tool_formats.parts import BLANKS


class StartState(Enum):
    """Where generation begins.

    BEGIN: at the beginning; the model may open a reasoning block.
    IN_REASONING: within a reasoning block that the prompt opened.
    AFTER_REASONING: behind a block that the prompt closed; no other may be opened, unless the format has many.
    IN_ANSWER: within an answer without calls that the prompt opened.
    """

    BEGIN = "begin"
    IN_REASONING = "in_reasoning"
    AFTER_REASONING = "after_reasoning"
    IN_ANSWER = "in_answer"


@dataclass(frozen=True, slots=True)
class GenerationStart:
    """A state, and the text of the message that the prompt holds beyond it: an automaton is led over that first."""

    state: StartState = StartState.BEGIN
    prefix: str = ""


def start_state(format: Format, prompt: str) -> GenerationStart:
    """Where generation begins after a prompt.

    Args:
        format: the wire format.
        prompt: the rendered prompt, special tokens as text; its last few hundred characters will do.

    Raises:
        ToolFormatError: a header is part of the format, and the prompt does not end within a message that has one.
    """
    if format.header:
        return _after_header(format, prompt)
    end = prompt.rstrip(BLANKS)
    block = format.reasoning
    if block is not None and end.endswith(block.close.rstrip(BLANKS)):
        return GenerationStart(StartState.AFTER_REASONING)
    if block is not None and end.endswith(block.open.rstrip(BLANKS)):
        return GenerationStart(StartState.IN_REASONING)
    if format.answer_open and end.endswith(format.answer_open):
        return GenerationStart(StartState.IN_ANSWER)
    return GenerationStart()


def _after_header(format: Format, prompt: str) -> GenerationStart:
    _, header, prefix = prompt.rpartition(format.header)
    ended = any(stop in prefix for stop in (*format.call_stops, *format.text_stops))
    block = format.reasoning
    if not header or ended or (block is not None and prefix.endswith(block.close)):
        reason = f"the prompt does not end in a message begun by {format.header!r}; render it with a generation prompt"
        raise ToolFormatError(format.name, "header", reason)
    return GenerationStart(StartState.BEGIN, prefix)
