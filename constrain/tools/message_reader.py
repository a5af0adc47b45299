"""The reader of one message: reasoning, text, calls, text, in the order that its format has them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from constrain.grammars.errors import ToolCallParseError
from constrain.grammars.tool_formats import Format, GenerationStart, StartState
from constrain.grammars.tool_formats.parts import leading_text
from constrain.tools.argument_check import ArgumentChecker
from constrain.tools.call import ToolCall
from constrain.tools.call_ids import call_ids_of, calls_of
from constrain.tools.call_reader import CallReader, read_parts
from constrain.tools.choice import ResolvedChoice
from constrain.tools.parsed import (
    CallFinished,
    CallProblem,
    CallStarted,
    Event,
    ParsedMessage,
    ReasoningDelta,
    TextDelta,
)
from constrain.tools.problems import UnknownToolError, WrongArgumentsError
from constrain.tools.source import Reading, Source, Stops

_SURROGATE = re.compile("[\ud800-\udfff]")
Place = Literal["text", "reasoning", "after"]


class MessageReader:
    """Reads one message, and keeps what it has read.

    `run` is the reader; whoever runs it adds text to `source` when it yields.
    """

    def __init__(
        self,
        format: Format,
        checker: ArgumentChecker,
        choice: ResolvedChoice,
        *,
        start: GenerationStart,
        messages: Sequence[Mapping[str, Any]],
        end_texts: Sequence[str],
    ) -> None:
        self.format = format
        self.source = Source(start.prefix)
        self._checker, self._choice, self._start = checker, choice, start.state
        self._messages = messages
        limits = [limit for limit in (choice.most, format.most_calls) if limit is not None]
        self._most = min(limits, default=None)
        self._calls = CallReader(format, tuple(tool.name for tool in choice.tools), checker.tools)
        self._ids = call_ids_of(format)
        self._call_ends = (*format.call_stops, *end_texts)
        self._text_ends = (*format.text_stops, *end_texts)
        self._pieces: dict[Place, list[str]] = {"text": [], "reasoning": [], "after": []}
        self._events: list[Event] = []
        self._attempts: list[ToolCall] = []
        self._right: list[ToolCall] = []
        self._problems: list[CallProblem] = []
        self._reasoned = False
        self._begun = False

    def take_events(self) -> list[Event]:
        """What was read since the last time."""
        events, self._events = self._events, []
        return events

    def stop(self, error: ToolCallParseError) -> None:
        """Note a problem after which nothing can be read."""
        index = len(self._attempts) if self._begun else None
        self._problem(CallProblem(error, index))

    def message(self) -> ParsedMessage:
        """What was read. `run` has ended."""
        told = {place: "".join(pieces) for place, pieces in self._pieces.items()}
        return ParsedMessage(
            text=told["text"],
            reasoning=told["reasoning"] if self._reasoned else None,
            calls=tuple(self._right),
            problems=tuple(self._problems),
            text_after=told["after"],
        )

    def run(self) -> Reading[None]:
        """Read the message.

        Raises:
            ToolCallParseError: it is truncated or malformed.
        """
        if (yield from self._before_calls()):
            yield from self._run_of_calls()
            yield from self._after_calls()
        least = self._choice.least
        if len(self._attempts) < least:
            self.source.truncated(f"the message ends, and a call is demanded: at least {least}")

    def _before_calls(self) -> Reading[bool]:
        """Read reasoning and text; whether calls follow."""
        format, source = self.format, self.source
        block = format.reasoning
        may_reason = block is not None and self._start is not StartState.AFTER_REASONING
        after_block = self._start is StartState.AFTER_REASONING
        if self._start is StartState.IN_REASONING and block is not None:
            yield from self._reasoning(first=True)
            may_reason, after_block = block.many, True
        if self._start is StartState.IN_ANSWER:
            return (yield from self._answer())
        may_preface = bool(format.preamble_open)
        while True:
            kinds: dict[str, str] = {}
            if may_reason and block is not None:
                kinds[block.open] = "reasoning"
            if format.answer_open:
                kinds.update({opener.lstrip(): "calls" for opener in format.openers})
                kinds[format.answer_open] = "answer"
                if may_preface:
                    kinds[format.preamble_open] = "preamble"
            found, at = yield from source.ahead(tuple(kinds), blanks=True)
            kind = kinds.get(found or "")
            if kind is None and self._is_begun(tuple(kinds), at):
                source.truncated("the text ends within what opens a part of the message")
            if kind == "calls":
                self._skip_layout(at)
                return True
            if kind is not None and found is not None:
                source.at = at + len(found)
            if kind == "answer":
                return (yield from self._answer())
            if kind == "reasoning" and block is not None:
                yield from self._reasoning(first=not self._reasoned)
                may_reason, after_block = block.many, True
            elif kind == "preamble":
                yield from self._closed_text("text", format.preamble_close)
                may_preface = False
            elif format.answer_open:
                return (yield from self._nothing(tuple(kinds)))
            else:
                return (yield from self._plain(after_block))

    def _is_begun(self, openers: Sequence[str], at: int) -> bool:
        """Whether the text is over, and what is left of it begins one of some openers with a marker: it is no text."""
        source = self.source
        return source.text.startswith(self.format.forbidden, at) and any(source.cuts(text, at) for text in openers)

    def _plain(self, after_block: bool) -> Reading[bool]:
        """Read text that nothing opens; whether calls follow."""
        format, source = self.format, self.source
        if format.text in ("before", "around"):
            stops = Stops((*format.triggers, *format.forbidden, *self._text_ends))
            found = yield from self._free("text", stops, drop_first=after_block, drop_last=format.triggers)
            if found in format.triggers:
                return True
            yield from self._end_of_text(found)
            return False
        found, at = yield from source.ahead(format.triggers, blanks=True)
        if found is not None:
            source.at = at
            return True
        if format.text == "never":
            return (yield from self._nothing(format.triggers))
        stops = Stops((*format.forbidden, *self._text_ends))
        yield from self._end_of_text((yield from self._free("text", stops, drop_first=after_block)))
        return False

    def _skip_layout(self, at: int) -> None:
        """Go past whitespace up to `at`, but for what is part of how calls begin."""
        source = self.source
        for opener in self.format.openers:
            start = at - (len(opener) - len(opener.lstrip()))
            if start >= source.at and source.text.startswith(opener, start):
                source.at = start
                return
        source.at = at

    def _nothing(self, expected: Sequence[str]) -> Reading[bool]:
        """Where calls or an opened text must follow, and do not: the message must end here."""
        source = self.source
        found, at = yield from source.ahead((*self._text_ends, *self._call_ends), blanks=True)
        if found is None and at < len(source.text):
            source.unexpected(expected, at)
        yield from self._ended((*self._text_ends, *self._call_ends))
        return False

    def _reasoning(self, *, first: bool) -> Reading[None]:
        block = self.format.reasoning
        if block is None:
            return
        if not first:
            self._say("reasoning", "\n")
        self._reasoned = True
        yield from self._closed_text("reasoning", block.close)
        if block.after.strip():
            yield from self.source.literal(block.after)

    def _answer(self) -> Reading[bool]:
        close = self.format.answer_close
        if close:
            yield from self._closed_text("text", close)
            yield from self._ended(self._text_ends)
        else:
            stops = Stops((*self.format.forbidden, *self._text_ends))
            yield from self._end_of_text((yield from self._free("text", stops)))
        return False

    def _closed_text(self, place: Place, close: str) -> Reading[None]:
        """Read text up to what closes it, and that. Within reasoning other markers are text."""
        source = self.source
        layout = place == "reasoning"
        # A close of several markers is found by its first: the others must follow.
        forbidden = () if layout else tuple(text for text in self.format.forbidden if not close.startswith(text))
        stops = Stops((close, *forbidden))
        found = yield from self._free(place, stops, drop_first=layout, drop_last=(close,) if layout else ())
        if found is None:
            what = "reasoning" if place == "reasoning" else "text"
            source.truncated(f"the {what} is not ended: {close!r} should follow")
        if found != close:
            source.malformed(f"{found!r} is out of place in text")
        source.at += len(close)

    def _free(
        self, place: Place, stops: Stops, *, drop_first: bool = False, drop_last: Sequence[str] = ()
    ) -> Reading[str | None]:
        """Read text up to one of some stops, which is not read.

        Args:
            place: where it goes.
            stops: what ends it.
            drop_first: whether line breaks at the beginning are layout.
            drop_last: the stops before which line breaks are layout.
        """
        source = self.source
        held, said = "", False
        while True:
            found, end = stops.search(source.text, source.at, closed=source.closed)
            piece = held + source.text[source.at : end]
            source.at = end
            source.forget()
            if drop_first and not said:
                piece = piece.lstrip("\n")
            kept = piece.rstrip("\n")
            held = piece[len(kept) :]
            said = said or bool(kept)
            self._say(place, kept)
            if found is not None or source.closed:
                self._say(place, "" if found in drop_last else held)
                if found is None and source.cut:
                    source.truncated("the text ends within a character")
                return found
            yield

    def _say(self, place: Place, text: str) -> None:
        if text:
            text = _SURROGATE.sub("\ufffd", text)
            self._pieces[place].append(text)
            self._events.append(ReasoningDelta(text) if place == "reasoning" else TextDelta(text))

    def _end_of_text(self, found: str | None) -> Reading[None]:
        """What ended a free text: an end token, or nothing more, or a marker that is out of place."""
        if found is not None and found not in self._text_ends:
            self.source.malformed(f"{found!r} is out of place in text")
        yield from self._ended(self._text_ends)

    def _ended(self, ends: Sequence[str], more: Sequence[str] = ()) -> Reading[None]:
        """Check that nothing follows but whitespace and end tokens; `more` are texts that could have followed."""
        source = self.source
        while True:
            yield from source.blanks()
            found, _ = yield from source.ahead(ends)
            if found is not None:
                source.at += len(found)
            elif source.at_end:
                if source.cut:
                    source.malformed("expected the end of the message, got the beginning of a character")
                return
            else:
                if any(source.cuts(text) for text in (*ends, *more)):
                    source.truncated("the text ends within a marker")
                token = yield from source.spelled_token()
                hint = f"if that token ends a turn, say end_texts=[{token!r}], or parse token ids with their vocabulary"
                source.malformed(
                    f"expected the end of the message, got {token or source.text[source.at]!r}",
                    hint=hint if token and token not in self.format.forbidden else "",
                )

    def _run_of_calls(self) -> Reading[None]:
        format, source = self.format, self.source
        yield from read_parts(source, format.first_parts)
        last = leading_text(format.last_parts)
        more = tuple(leading_text((*format.between_parts, *call)) for call in format.call_parts)
        if format.may_be_empty:
            found, at = yield from source.ahead((last,), blanks=True)
            if found is not None:
                yield from read_parts(source, format.last_parts)
                return
            if source.cuts(last, at):
                source.unexpected((last,), at)
        while True:
            yield from self._call()
            found, at = yield from source.ahead((*more, last) if last else more, blanks=True)
            if found is None or found == last:
                break
            yield from read_parts(source, format.between_parts)
        if last and found is None:
            source.unexpected((*more, last), at)
        yield from read_parts(source, format.last_parts)

    def _call(self) -> Reading[None]:
        index, begin = len(self._attempts), self.source.position
        if self._most is not None and index >= self._most:
            limit = f"{self._most} calls at most" if self._most > 1 else "one call" if self._most else "no call"
            self.source.malformed(f"the message may hold {limit}, and another begins")
        self._begun = True
        read = yield from self._calls.read(self.source, lambda name: self._events.append(CallStarted(index, name)))
        self._begun = False
        call = ToolCall(read.id, read.name, read.arguments)
        if call.id is not None and call.id in self._taken():
            reason = f"the id {call.id!r} is that of another call"
            raise ToolCallParseError("malformed", begin, reason)
        call = self._ids.assign((*self._attempts, call), self._messages)[-1]
        self._attempts.append(call)
        try:
            if read.name not in self._calls.allowed:
                raise UnknownToolError(read.name, self._calls.allowed, read.name_position)
            self._checker.check(call, position=read.arguments_position)
        except (UnknownToolError, WrongArgumentsError) as error:
            self._problem(CallProblem(error, index, call))
            return
        self._right.append(call)
        self._events.append(CallFinished(index, call))

    def _after_calls(self) -> Reading[None]:
        if self.format.text != "around":
            # Where nothing closes the run, another call could have followed.
            more = () if self.format.last_parts else self.format.openers
            yield from self._ended(self._call_ends, more)
            return
        stops = Stops((*self.format.triggers, *self.format.forbidden, *self._call_ends))
        found = yield from self._free("after", stops, drop_first=True)
        if found is not None and found not in self._call_ends:
            self.source.malformed(f"{found!r} is out of place in text after calls")
        yield from self._ended(self._call_ends)

    def _taken(self) -> set[str]:
        taken = {call.id for call in self._attempts} | {call_id for call_id, _ in calls_of(self._messages)}
        return {call_id for call_id in taken if call_id is not None}

    def _problem(self, problem: CallProblem) -> None:
        self._problems.append(problem)
        self._events.append(problem)
