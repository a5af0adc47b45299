"""The reader of one call, by the parts of its template."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from constrain.grammars.tool_formats import Arguments, Blank, CallId, Format, Literal, Marker, Name, Part
from constrain.grammars.tool_formats.names import NAME_DELIMITERS
from constrain.grammars.tool_formats.parts import leading_text
from constrain.tools.argument_readers import ArgumentReader
from constrain.tools.call_ids import CountedIds, RandomIds, call_ids_of
from constrain.tools.source import Reading, Source
from constrain.tools.tool import Tool

_NAME = re.compile(f"[^{re.escape(NAME_DELIMITERS)}]*")
_NAME_START = re.compile(f"[^{re.escape(NAME_DELIMITERS)}]+")
_DIGITS = re.compile("[0-9]*")


@dataclass(slots=True)
class ReadCall:
    """A call as it was written. Positions are those of the name and of the arguments in the whole text."""

    name: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    id: str | None = None
    name_position: int = 0
    arguments_position: int = 0


class CallReader:
    """Reads the calls of one format.

    Attributes:
        allowed: the names that may be called.
    """

    def __init__(self, format: Format, allowed: Sequence[str], tools: Mapping[str, Tool]) -> None:
        self.format, self.allowed, self._tools = format, tuple(allowed), tools
        self._ids = call_ids_of(format)
        self._arguments = ArgumentReader(format)

    def read(self, source: Source, named: Callable[[str], None]) -> Reading[ReadCall]:
        """The call that follows. `named` is told its name as soon as that is known.

        Raises:
            ToolCallParseError: it is truncated or malformed.
        """
        parts = yield from self._template(source)
        call, count = ReadCall(), None
        for at, part in enumerate(parts):
            if isinstance(part, Name):
                call.name_position = source.position
                if part.json:
                    call.name = yield from self._arguments.json_string(source)
                else:
                    call.name = yield from _bare_name(source, parts[at + 1])
                named(call.name)
            elif isinstance(part, Arguments):
                call.arguments_position = source.position
                tool = self._tools.get(call.name)
                call.arguments = yield from self._arguments.read(source, True if tool is None else tool.argument_schema)
            elif isinstance(part, CallId) and part.count:
                count = yield from _count(source)
            elif isinstance(part, CallId):
                call.id = yield from self._id(source)
            else:
                yield from read_parts(source, (part,))
        if count is not None and isinstance(self._ids, CountedIds):
            call.id = self._ids.expected(call.name, count)
        return call

    def _template(self, source: Source) -> Reading[Sequence[Part]]:
        """Which of the templates the call follows."""
        templates = self.format.call_parts
        if len(templates) > 1:
            openers = [leading_text(parts) for parts in templates]
            found, _ = yield from source.ahead(openers)
            if found is not None:
                return templates[openers.index(found)]
        return templates[0]

    def _id(self, source: Source) -> Reading[str]:
        style = self._ids
        length = len(style.prefix) + style.length if isinstance(style, RandomIds) else 0
        if not (yield from source.need(length)):
            source.truncated("the text ends within the id of a call")
        text = source.text[source.at : source.at + length]
        if re.fullmatch(style.pattern, text) is None:
            source.malformed(f"expected an id that matches {style.pattern}, got {text!r}")
        source.at += length
        return text


def read_parts(source: Source, parts: Sequence[Part]) -> Reading[None]:
    """Read the fixed parts of a template."""
    for part in parts:
        if isinstance(part, Blank):
            yield from source.blanks()
        elif isinstance(part, Marker) and part.optional:
            yield from source.optional(part.text)
        elif isinstance(part, Literal | Marker):
            yield from source.literal(part.text)


def _bare_name(source: Source, follows: Part) -> Reading[str]:
    start = source.at
    name = yield from source.run(_NAME)
    if source.at_end:
        source.truncated("the text ends within the name of a tool")
    # What follows may begin with characters that a name can have too: ".call(".
    head = _NAME_START.match(follows.text) if isinstance(follows, Literal | Marker) else None
    if head is not None and name.endswith(head.group()):
        name = name[: -len(head.group())]
        source.at -= len(head.group())
    if not name:
        got = source.text[source.at]
        source.malformed(f"expected the name of a tool, got {got!r}", start)
    return name


def _count(source: Source) -> Reading[int]:
    start = source.at
    digits = yield from source.run(_DIGITS)
    if source.at_end:
        source.truncated("the text ends within the id of a call")
    if not re.fullmatch("0|[1-9][0-9]*", digits):
        source.malformed(f"expected a count in decimal digits, got {digits or source.text[source.at]!r}", start)
    return int(digits)
