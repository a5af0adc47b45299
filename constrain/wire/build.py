"""From the description of a format to the automaton of its messages.

A message is, left to right: reasoning, text, calls, text; which of them there may be is up to the format and to how
many calls there must and may be. Markers that the vocabulary has as tokens are symbols; all are banned from free text
as bytes, so there is no other way to write them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import dropwhile

from constrain.grammars.tool_formats.dialects import (
    BARE_NAME,
    BareArguments,
    JsonArguments,
    PythonArguments,
    TaggedArguments,
)
from constrain.grammars.tool_formats.format import Format
from constrain.grammars.tool_formats.ids import CountedCallIds, RandomCallIds
from constrain.grammars.tool_formats.parts import Arguments, Blank, CallId, Literal, Marker, Name, Part
from constrain.tools.argument_writers import escaped
from constrain.wire.nodes import (
    ArgumentsOf,
    Characters,
    Computed,
    End,
    Exactly,
    FreeText,
    NameOf,
    Node,
    Numbers,
    OneOf,
    Progress,
    Values,
    Whitespace,
)
from constrain.wire.symbols import symbol
from constrain.wire.tagged_nodes import Tagged
from constrain.wire.typing_nodes import Bare, PythonKeywords
from constrain.wire.wire import Wire

_IN_BARE_NAMES = bytes(b for b in range(256) if b > 0x7F or BARE_NAME.fullmatch(chr(b)))
_ALPHANUMERIC = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


@dataclass(frozen=True)
class Message:
    """What a message must be.

    Attributes:
        format: how it is written.
        names: of the tools that may be called.
        least, most: the least and the most calls; None for any number.
        counted: calls of the conversation so far, where ids go on counting.
        symbols: the markers that are tokens of the vocabulary.
        ends: those of them that end a sequence whatever it holds.
        blank_before: whether the blank that stands before JSON arguments is exactly the one that the format has there,
            and not read with the value.
    """

    format: Format
    names: Sequence[str]
    least: int
    most: int | None
    counted: int
    symbols: Collection[str]
    ends: Sequence[str] = ()
    blank_before: bool = False

    @property
    def tools(self) -> Numbers:
        return range(len(self.names))


def build(message: Message, values: Values, *, reasoning: str) -> Wire:
    """The automaton of a message.

    Args:
        message: what it must be.
        values: what is known of the tools' arguments.
        reasoning: whether the reasoning has "ended" before the message begins, is "open", or "may begin".
    """
    builder = _Builder(message, values)
    start = builder.start(reasoning)
    return Wire(start, Progress(), builder.reasoning, builder.end_of_reasoning)


class _Builder:
    def __init__(self, message: Message, values: Values) -> None:
        self._m, self._f, self._values = message, message.format, values
        f = self._f
        self._banned = tuple(t.encode() for t in dict.fromkeys((*f.forbidden, *f.call_stops, *f.text_stops)))
        most = f.most_calls
        if message.most is not None:
            most = message.most if most is None else min(most, message.most)
        self._most = most if message.names else 0
        self._counts = any(isinstance(p, CallId) and p.count for parts in f.call_parts for p in parts)
        self._calls = self._run_of_calls()
        self.reasoning: Node | None = None
        self.end_of_reasoning: Node | None = None

    # ---- texts -------------------------------------------------------------------------------------------------------

    def _marker(self, text: str, following: Node) -> Node:
        return Exactly(symbol(text) if text in self._m.symbols else text.encode(), following)

    def _text(self, text: str, following: Node) -> Node:
        """A fixed text, in which markers may stand."""
        return self._sequence(self._f.cut(text), following) if text else following

    def _sequence(self, parts: Sequence[Part], following: Node) -> Node:
        json_arguments = isinstance(self._f.arguments, JsonArguments)
        after: Part | None = None
        for part in reversed(parts):
            # Whitespace before a JSON value is read with the value.
            if not (isinstance(part, Blank) and isinstance(after, Arguments) and json_arguments):
                following = self._part(part, following)
            elif self._m.blank_before:
                following = Exactly(part.canonical.encode(), following)
            after = part
        return following

    def _part(self, part: Part, following: Node) -> Node:
        if isinstance(part, Literal):
            return Exactly(part.text.encode(), following)
        if isinstance(part, Marker):
            marker = self._marker(part.text, following)
            return _any_of(marker, following) if part.optional else marker
        if isinstance(part, Blank):
            return Whitespace(following)
        if isinstance(part, Name):
            names = [escaped(n, self._f.forbidden) if part.json else n for n in self._m.names]
            return NameOf([n.encode() for n in names], following)
        if isinstance(part, CallId):
            return self._id(following)
        assert isinstance(part, Arguments)
        return self._arguments(following)

    def _arguments(self, following: Node) -> Node:
        dialect, values = self._f.arguments, self._values
        if isinstance(dialect, JsonArguments):
            return ArgumentsOf(values, following)
        if isinstance(dialect, PythonArguments):
            return PythonKeywords(lambda: values.typist, following)
        if isinstance(dialect, BareArguments):
            return Bare(lambda: values.typist, following, self._spelled(dialect.quote), _IN_BARE_NAMES)
        return self._tagged(dialect, following)

    def _spelled(self, text: str) -> bytes:
        """The bytes of a fixed text, its markers as symbols."""
        return b"".join(
            symbol(p.text) if isinstance(p, Marker) and p.text in self._m.symbols else p.text.encode()
            for p in self._f.cut(text)
            if isinstance(p, Literal | Marker)
        )

    def _tagged(self, dialect: TaggedArguments, following: Node) -> Node:
        lead, _, rest = dialect.member.partition("⟨key⟩")
        middle, _, tail = rest.partition("⟨value⟩")
        middle, flagged, flag_end = middle.partition("⟨string⟩")
        tag = self._spelled(tail[: tail.index(dialect.end_tag) + len(dialect.end_tag)])
        return Tagged(
            lambda: self._values.typist,
            following,
            self._values.parameters,
            lead=self._spelled(lead),
            middle=self._spelled(middle),
            flag_end=self._spelled(flag_end) if flagged else None,
            tail=self._spelled(tail),
            tag=len(tag),
        )

    def _id(self, following: Node) -> Node:
        ids = self._f.ids
        if isinstance(ids, RandomCallIds):
            return Exactly(ids.prefix.encode(), Characters(_ALPHANUMERIC, ids.length, following))
        assert isinstance(ids, CountedCallIds)
        first = self._m.counted

        def count(progress: Progress) -> bytes:
            return str(first + progress.calls).encode()

        return Computed(count, following)

    # ---- calls -------------------------------------------------------------------------------------------------------

    def _run_of_calls(self) -> Node:
        """The calls, from the first text that belongs to them to the end of the message."""
        f = self._f
        after = self._stop(f.call_stops)
        if f.text == "around":
            after = FreeText(self._banned_in_text, after)
        last = self._sequence(f.last_parts, after)
        counted = None if self._counts else max(self._m.least, self._most or 0)

        def next_call(progress: Progress) -> list[tuple[Node, Progress]]:
            calls = progress.calls + 1 if counted is None else min(progress.calls + 1, counted)
            options: list[tuple[Node, Progress]] = []
            if self._most is None or calls < self._most:
                options.append((again, Progress(calls, self._m.tools)))
            if calls >= self._m.least:
                options.append((last, Progress(calls)))
            return options

        call = _any_of(*(self._sequence(parts, OneOf(next_call, loops=True)) for parts in f.call_parts))
        again = self._sequence(f.between_parts, call)
        first = f.first_parts
        if f.text in ("before", "around") and not f.answer_open:
            # Blanks before the first marker are text like any other; else they could complete what text must not hold.
            first = tuple(dropwhile(lambda part: isinstance(part, Blank), first))
        begun = self._sequence(first, call)
        empty = self._sequence((*first, *f.last_parts), after)

        def first_call(progress: Progress) -> list[tuple[Node, Progress]]:
            options: list[tuple[Node, Progress]] = []
            if self._most != 0:
                options.append((begun, Progress(progress.calls, self._m.tools)))
            if f.may_be_empty and self._m.least == 0:
                options.append((empty, progress))
            return options

        return OneOf(first_call)

    @property
    def _banned_in_text(self) -> tuple[bytes, ...]:
        return tuple(dict.fromkeys((*self._banned, *(t.encode() for t in self._f.triggers))))

    def _stop(self, stops: Sequence[str]) -> Node:
        """The end of the message: a token of the branch's own where there is one, else any end of sequence."""
        known = [stop for stop in stops if stop in self._m.symbols]
        ends = [self._marker(stop, End()) for stop in known or self._m.ends]
        return _any_of(*ends) if known else _any_of(End(), *ends)

    # ---- what comes before -------------------------------------------------------------------------------------------

    def start(self, reasoning: str) -> Node:
        answer = self._answer()
        block = self._f.reasoning
        if block is None or reasoning == "ended":
            return answer
        after: Node
        exact = block.after.strip() != ""
        thought: list[tuple[Node, Progress]] = []
        rest = OneOf(lambda progress: [*(thought if block.many else ()), (answer, progress)], loops=True)
        after = self._text(block.after, rest) if exact else Whitespace(rest)
        inside = FreeText(self._banned, self._text(block.close, after))
        self.reasoning = inside
        last = self._text(block.after, answer) if exact else Whitespace(answer)
        self.end_of_reasoning = self._text(block.close, last)
        opened = Whitespace(self._text(block.open, inside))
        thought.append((opened, Progress()))
        return inside if reasoning == "open" else _any_of(answer, opened)

    def _answer(self) -> Node:
        """Text and calls, as the format arranges them."""
        f, least = self._f, self._m.least
        stop = self._stop(f.text_stops)
        if f.answer_open:
            options: list[Node] = [self._calls]
            if f.preamble_open and self._most != 0:
                calls = self._text(f.preamble_close, Whitespace(self._calls))
                options.append(self._text(f.preamble_open, FreeText(self._banned, calls)))
            if least == 0:
                end = self._text(f.answer_close, stop)
                options.append(self._text(f.answer_open, FreeText(self._banned, end)))
            return _any_of(*options)
        if f.text == "never":
            return self._calls if least or f.may_be_empty else _any_of(self._calls, stop)
        if f.text == "instead":
            openers = tuple(t.encode() for t in f.triggers)
            calls = Whitespace(self._calls)
            return calls if least else _any_of(calls, FreeText(self._banned, stop, openers))
        return FreeText(self._banned_in_text, self._calls if least else _any_of(self._calls, stop))


def _any_of(*nodes: Node) -> Node:
    return nodes[0] if len(nodes) == 1 else OneOf(lambda progress: [(node, progress) for node in nodes])
