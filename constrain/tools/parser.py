"""From what a model wrote to text, reasoning and calls: the inverse of the grammar of a format.

Nothing is repaired. What the grammar of the format can write is read, in any layout that it leaves open, and nothing
else passes for a call; what is wrong is told apart, with a text for the model: cut off, malformed, a tool that is not
there, arguments that the tool does not take.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from constrain.grammars.errors import ToolCallParseError
from constrain.grammars.tool_formats import Format, GenerationStart, StartState, get_format
from constrain.tools.argument_check import ArgumentChecker
from constrain.tools.message_reader import MessageReader
from constrain.tools.parsed import Event, ParsedMessage
from constrain.tools.read_choice import read_tool_choice
from constrain.tools.token_text import TokenText
from constrain.tools.tool import Tool

if TYPE_CHECKING:
    from constrain.vocabulary import Vocabulary

Start = GenerationStart | StartState | None


class ToolCallParser:
    """Parses one message as it comes.

    Args:
        format: the wire format, or its name.
        tools: the tools there are, with distinct names; or a checker for them, to share what it has compiled.
        choice: which of them may be called and how often, in any spelling of `read_tool_choice`.
        vocabulary: needed to feed token ids.
        start: where in its message the model begins, from `start_state`. Without it at the beginning.
        messages: the conversation: no id is given or taken twice, and counted ids go on from it.
        end_texts: texts of further tokens that end a message, for text that still has them, such as "</s>".

    Raises:
        ToolFormatError: there is no such format.
        ToolChoiceError: the choice is not understood, or names a tool that is not there.
        ValueError: `start` is within reasoning, which the format does not have.

    Example:
        >>> parser = ToolCallParser("qwen3", [Tool("now")])
        >>> parser.feed("It is <tool_call>")
        [TextDelta(text='It is ')]
        >>> [event.name for event in parser.feed('{"name": "now", "argu')]
        ['now']
    """

    def __init__(
        self,
        format: str | Format,
        tools: Sequence[Tool] | ArgumentChecker,
        choice: Any = None,
        *,
        vocabulary: Vocabulary | None = None,
        start: Start = None,
        messages: Sequence[Mapping[str, Any]] = (),
        end_texts: Sequence[str] = (),
    ) -> None:
        self.format = get_format(format)
        checker = tools if isinstance(tools, ArgumentChecker) else ArgumentChecker(tools)
        if isinstance(start, StartState):
            start = GenerationStart(start)
        if start is not None and start.state is StartState.IN_REASONING and self.format.reasoning is None:
            raise ValueError(f"the format {self.format.name!r} has no reasoning for the message to begin in")
        listed = tuple(checker.tools.values())
        self._reader = MessageReader(
            self.format,
            checker,
            read_tool_choice(choice, listed).resolve(listed),
            start=start or GenerationStart(),
            messages=messages,
            end_texts=end_texts,
        )
        self._tokens = TokenText(vocabulary) if vocabulary is not None else None
        self._running = self._reader.run()
        self._stopped = False
        self._message: ParsedMessage | None = None
        self._go_on()

    def feed(self, piece: str | int | Iterable[int]) -> list[Event]:
        """Take in more text, a token id, or token ids; what they bring to light.

        Raises:
            ValueError: the message was finished; or ids come without a vocabulary, or one has no text in it.
        """
        if self._message is not None:
            raise ValueError("the message is finished; use another parser for the next")
        if not isinstance(piece, str):
            if self._tokens is None:
                raise ValueError("token ids need a vocabulary: ToolCallParser(..., vocabulary=...)")
            piece = self._tokens.feed(piece if isinstance(piece, Iterable) else [piece])
        self._reader.source.add(piece)
        self._go_on()
        return self._reader.take_events()

    def finish(self) -> ParsedMessage:
        """The message, now that no more text comes. Its `problems` say what is wrong with it."""
        if self._message is None:
            if self._tokens is not None:
                rest, self._reader.source.cut = self._tokens.finish()
                self._reader.source.add(rest)
            self._reader.source.closed = True
            self._go_on()
            self._message = self._reader.message()
        return self._message

    def _go_on(self) -> None:
        if self._stopped:
            return
        try:
            next(self._running)
        except StopIteration:
            self._stopped = True
        except ToolCallParseError as error:
            self._stopped = True
            self._reader.stop(error)


def parse_message(
    message: str | Sequence[int],
    format: str | Format,
    tools: Sequence[Tool] | ArgumentChecker,
    choice: Any = None,
    *,
    vocabulary: Vocabulary | None = None,
    start: Start = None,
    messages: Sequence[Mapping[str, Any]] = (),
    end_texts: Sequence[str] = (),
    errors: Literal["raise", "collect"] = "raise",
) -> ParsedMessage:
    """Parse a whole message, text or token ids.

    Args:
        message: the text, special tokens included (decode with skip_special_tokens=False), or the ids.
        errors: "raise" raises the first problem; "collect" leaves all of them in `problems`.

    The others are those of `ToolCallParser`.

    Raises:
        ToolCallParseError: the message is truncated or malformed.
        UnknownToolError, WrongArgumentsError: a call is wrong.
    """
    parser = ToolCallParser(
        format, tools, choice, vocabulary=vocabulary, start=start, messages=messages, end_texts=end_texts
    )
    parser.feed(message)
    parsed = parser.finish()
    return parsed.check() if errors == "raise" else parsed
