"""What a message with calls is read as: whole, and piece by piece."""

from __future__ import annotations

from dataclasses import dataclass

from constrain.grammars.errors import ToolCallParseError
from constrain.tools.call import ToolCall


@dataclass(frozen=True, slots=True)
class CallProblem:
    """Something that is wrong with a message.

    Attributes:
        error: what. Its `feedback` is a text for the model.
        index: number of the call concerned among all that the message begins, right or wrong; None if it is about none.
        call: the call as it was written, where it could be read: its name or its arguments are wrong.
    """

    error: ToolCallParseError
    index: int | None = None
    call: ToolCall | None = None


@dataclass(frozen=True, slots=True)
class ParsedMessage:
    """A message of the assistant.

    Attributes:
        text: what it says, before the calls if there are any.
        reasoning: what it thought; None if it has no block for that.
        calls: the calls that are right, in order, each with an id.
        problems: what is wrong. After a text that is malformed or truncated nothing more is read.
        text_after: what it says after the calls.
    """

    text: str = ""
    reasoning: str | None = None
    calls: tuple[ToolCall, ...] = ()
    problems: tuple[CallProblem, ...] = ()
    text_after: str = ""

    @property
    def truncated(self) -> bool:
        """Whether the message was cut off."""
        return any(problem.error.kind == "truncated" for problem in self.problems)

    def check(self) -> ParsedMessage:
        """The message itself.

        Raises:
            ToolCallParseError: there are problems; the first of them.
        """
        for problem in self.problems:
            raise problem.error
        return self


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of the reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A call has begun, and its name is known. Whether there is such a tool, or its arguments are right, is not yet."""

    index: int
    name: str


@dataclass(frozen=True, slots=True)
class CallFinished:
    """A call is complete and right."""

    index: int
    call: ToolCall


Event = TextDelta | ReasoningDelta | CallStarted | CallFinished | CallProblem
