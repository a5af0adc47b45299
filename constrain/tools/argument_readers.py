"""Readers of arguments, one for each dialect, that inverts its writer.

They read from a text that comes in pieces. Nothing is repaired, and nothing is read that a writer of the dialect would
not write, but for whitespace within JSON and Python.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from constrain.grammars.errors import ToolCallParseError
from constrain.grammars.tool_formats import (
    BARE_NAME,
    BareArguments,
    Format,
    JsonArguments,
    Key,
    PythonArguments,
    StringFlag,
    TaggedArguments,
    Value,
    argument_types,
    reading,
)
from constrain.grammars.tool_formats.parts import Literal, Marker, leading_text
from constrain.tools.argument_writers import KEY_DELIMITERS
from constrain.tools.json_text import read_object
from constrain.tools.python_literals import Extent, read_keywords
from constrain.tools.source import Reading, Source, Stops

_JSON_SIGNS = re.compile(r'["{}\[\]]')
_IN_JSON_STRING = re.compile(r'["\\]')
_JSON_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"?', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_SCALAR = re.compile(r"[-+.\w]*")
_BARE_KEY_RUN = re.compile(BARE_NAME.pattern.replace("+", "*"))
_DEEPEST, _SHOWN = 100, 40


class ArgumentReader:
    """Reads the arguments of one format's calls."""

    def __init__(self, format: Format) -> None:
        self.format = format
        dialect = format.arguments
        tags = (dialect.end_tag,) if isinstance(dialect, TaggedArguments) else ()
        self._in_json = tuple(dict.fromkeys((*format.forbidden, *tags)))
        quotes = (dialect.quote,) if isinstance(dialect, BareArguments) else ()
        self._in_string = Stops((*format.forbidden, *tags, *quotes))

    def read(self, source: Source, parameters: Any) -> Reading[dict[str, Any]]:
        """The arguments that follow. `parameters` is their schema, or true where it is not known.

        Raises:
            ToolCallParseError: of the kind "truncated" or "malformed".
        """
        dialect = self.format.arguments
        if isinstance(dialect, JsonArguments):
            return (yield from self._json(source))
        if isinstance(dialect, PythonArguments):
            return (yield from self._python(source))
        if isinstance(dialect, BareArguments):
            return (yield from _BareReader(source, dialect.quote, self._in_string).arguments())
        return (yield from self._tagged(source, dialect, parameters))

    def json_string(self, source: Source) -> Reading[str]:
        """The inside of a JSON string, whose opening quote is read, up to its closing quote, which is not."""
        start = source.at
        end = yield from _end_of_string(source, start)
        inside = source.text[start : len(source.text) if end is None else end]
        self.check_json(f'"{inside}"', source.position_of(start - 1))
        read = f'{{"":"{inside}"' + ("}" if end is not None else "")
        # Read as the value of a member, so that what is cut and what is wrong are told apart as in arguments.
        if end is None:
            read = read[:-1]
        value = read_object(read, source.position_of(start - 5))[""]
        source.at = source.at if end is None else end
        return str(value)

    def check_json(self, text: str, offset: int) -> None:
        """Check that no string in a JSON text holds what must be written with an escape."""
        for banned in self._in_json:
            if banned in text:
                for found in _JSON_STRING.finditer(text):
                    at = found.group(1).find(banned)
                    if at >= 0:
                        reason = f"a string must not hold {banned!r}; write its first character as "
                        escape = f"\\u{ord(banned[0]):04x}"
                        raise ToolCallParseError("malformed", offset + found.start(1) + at, reason + escape)
        _check_encoding(text, offset)

    def _json(self, source: Source) -> Reading[dict[str, Any]]:
        start = source.at
        if not (yield from source.need(1)):
            source.truncated("the text ends where the arguments should follow")
        end = start
        if source.text[start] == "{":
            found = yield from _end_of_brackets(source, start)
            end = len(source.text) if found is None else found
        else:
            end = start + 1
        text, offset = source.text[start:end], source.position_of(start)
        value = read_object(text, offset)
        self.check_json(text, offset)
        source.at = end
        return value

    def _python(self, source: Source) -> Reading[dict[str, Any]]:
        start = source.at
        extent = Extent(start)
        while (end := extent.end(source.text)) is None and not source.closed:
            yield
        text = source.text[start:end]
        value = read_keywords(text, source.position_of(start), cut=end is None)
        for banned in self.format.forbidden:
            if banned in text:
                escape = f"\\u{ord(banned[0]):04x}"
                at = start + text.index(banned)
                source.malformed(f"a string must not hold {banned!r}; write its first character as {escape}", at)
        _check_encoding(text, source.position_of(start))
        source.at = start if end is None else end
        return value

    def _tagged(self, source: Source, dialect: TaggedArguments, parameters: Any) -> Reading[dict[str, Any]]:
        out: dict[str, Any] = {}
        opener = leading_text(self.format.member_parts)
        while (yield from source.ahead((opener,)))[0]:
            start = source.at
            key, value = yield from self._member(source, dialect, parameters)
            if key in out:
                source.malformed(f"the argument {key!r} is given twice; expected every argument once", start)
            out[key] = value
        if source.cuts(opener):
            source.truncated("the text ends within the arguments")
        return out

    def _member(self, source: Source, dialect: TaggedArguments, parameters: Any) -> Reading[tuple[str, Any]]:
        parts = self.format.member_parts
        key, value, flag = "", None, ""
        after_value = False
        for part in parts:
            if isinstance(part, Literal | Marker) and not after_value:
                yield from source.literal(part.text)
            elif isinstance(part, Key):
                start = source.at
                key = yield from source.run(_NOT_KEY_DELIMITER)
                if source.at_end:
                    source.truncated("the text ends within the name of an argument")
                if not key:
                    source.malformed("expected the name of an argument", start)
                _check_encoding(key, source.position_of(start))
            elif isinstance(part, StringFlag):
                found, _ = yield from source.ahead(("true", "false"))
                if found is None:
                    if source.cuts("true") or source.cuts("false"):
                        source.truncated("the text ends where true or false should follow")
                    source.malformed("expected true or false")
                flag = found
                source.at += len(found)
            elif isinstance(part, Value):
                value = yield from self._value(source, dialect, key, flag, parameters)
                after_value = True
        return key, value

    def _value(self, source: Source, dialect: TaggedArguments, key: str, flag: str, parameters: Any) -> Reading[Any]:
        start = source.at
        text = yield from _bare_text(source, self._in_string, dialect.end_tag)
        before_tag = dialect.value_end[: dialect.value_end.index(dialect.end_tag)]
        if not text.endswith(before_tag):
            source.malformed(f"expected {before_tag!r} before {dialect.end_tag!r}")
        text = text[: len(text) - len(before_tag)]
        source.at -= len(before_tag)
        yield from source.literal(dialect.value_end)
        types = frozenset({"string"}) if flag == "true" else frozenset()
        if not flag:
            types = argument_types(key, parameters)
        _check_encoding(text, source.position_of(start))
        if reading(text, types) == "string":
            return text
        try:
            return self._json_value(text, source.position_of(start), key)
        except ToolCallParseError:
            # No string is admitted there, so the text as a string is refused as an argument, with what is expected.
            if flag or "string" in types or text.startswith(("{", "[", '"')):
                raise
            return text

    def _json_value(self, text: str, offset: int, key: str) -> Any:
        """The JSON value between two tags. It ends where its tag is, so a text that is cut off is malformed."""
        self.check_json(text, offset)
        try:
            members = read_object(f'{{"":{text}}}', offset - 4)
            if len(members) > 1:
                raise ToolCallParseError("malformed", offset, "expected one value")
            return members[""]
        except ToolCallParseError as error:
            at = min(max(error.position, offset), offset + len(text))
            got = repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
            raise ToolCallParseError("malformed", at, f"the value of {key!r} must be JSON there, got {got}") from None


class _BareReader:
    """Reads `BareArguments`."""

    def __init__(self, source: Source, quote: str, stops: Stops) -> None:
        self.source, self.quote, self.stops, self.depth = source, quote, stops, 0

    def arguments(self) -> Reading[dict[str, Any]]:
        yield from self.source.literal("{")
        return (yield from self.members())

    def value(self) -> Reading[Any]:
        source = self.source
        found, _ = yield from source.ahead((self.quote, "{", "["))
        if found == self.quote:
            source.at += len(found)
            text = yield from _bare_text(source, self.stops, self.quote)
            _check_encoding(text, source.position_of(source.at - len(text)))
            source.at += len(self.quote)
            return text
        if found is not None:
            if self.depth >= _DEEPEST:
                source.malformed("the arguments are too deeply nested")
            source.at += 1
            self.depth += 1
            value: Any = (yield from self.members()) if found == "{" else (yield from self.items())
            self.depth -= 1
            return value
        if source.cuts(self.quote):
            source.truncated("the text ends where a value should follow")
        start = source.at
        text = yield from source.run(_SCALAR)
        if source.at_end and text:
            source.truncated("the text ends within a value")
        try:
            return read_object(f'{{"":{text}}}')[""]
        except ToolCallParseError:
            self.malformed(start, f"expected a value; a string stands between two {self.quote!r}")

    def members(self) -> Reading[dict[str, Any]]:
        source = self.source
        out: dict[str, Any] = {}
        if (yield from source.optional("}")):
            return out
        while True:
            start = source.at
            key = yield from source.run(_BARE_KEY_RUN)
            if not key and not source.at_end:
                self.malformed(start, "expected the name of an argument, without quotes")
            yield from source.literal(":")
            if key in out:
                source.malformed(f"the name {key!r} is given twice in one object; expected every name once", start)
            _check_encoding(key, source.position_of(start))
            out[key] = yield from self.value()
            if (yield from self.comma("}")):
                return out

    def items(self) -> Reading[list[Any]]:
        out: list[Any] = []
        if (yield from self.source.optional("]")):
            return out
        while True:
            out.append((yield from self.value()))
            if (yield from self.comma("]")):
                return out

    def comma(self, closer: str) -> Reading[bool]:
        """Read a comma, or what closes the list; whether it was closed."""
        source = self.source
        found, _ = yield from source.ahead((",", closer))
        if found is None:
            if source.at_end:
                source.truncated(f"the text ends where a comma or {closer} should follow")
            self.malformed(source.at, f"expected a comma or {closer}")
        source.at += 1
        return found == closer

    def malformed(self, at: int, reason: str) -> NoReturn:
        got = repr(self.source.text[at]) if at < len(self.source.text) else "nothing"
        self.source.malformed(f"{reason}; got {got}", at)


_NOT_KEY_DELIMITER = re.compile(f"[^{KEY_DELIMITERS}]*")


def _bare_text(source: Source, stops: Stops, end: str) -> Reading[str]:
    """A string as it stands, up to the text that ends it, which is not read."""
    start = source.at
    scanned = start
    while True:
        found, scanned = stops.search(source.text, scanned, closed=source.closed)
        if found == end:
            source.at = scanned
            return source.text[start:scanned]
        if found is not None:
            source.malformed(f"a string must not hold {found!r}, and there is no escape for it", scanned)
        if source.closed:
            source.truncated(f"the text ends before {end!r}")
        yield


def _end_of_brackets(source: Source, start: int) -> Reading[int | None]:
    """The end of a JSON object or array by its brackets; None if the text ends before."""
    at, depth = start, 0
    while True:
        found = _JSON_SIGNS.search(source.text, at)
        if found is None:
            at = len(source.text)
            if source.closed:
                return None
            yield
            continue
        sign, at = found.group(), found.end()
        if sign == '"':
            end = yield from _end_of_string(source, at)
            if end is None:
                return None
            at = end + 1
            continue
        depth += 1 if sign in "{[" else -1
        if depth == 0:
            return at


def _end_of_string(source: Source, at: int) -> Reading[int | None]:
    """Where the closing quote of a JSON string is, of which `at` is within; None if the text ends before."""
    while True:
        found = _IN_JSON_STRING.search(source.text, at)
        if found is not None and found.group() == '"':
            return found.start()
        if found is not None and found.end() < len(source.text):
            at = found.end() + 1
            continue
        at = len(source.text) if found is None else found.start()
        if source.closed:
            return None
        yield


def _check_encoding(text: str, offset: int) -> None:
    found = _SURROGATE.search(text)
    if found:
        raise ToolCallParseError("malformed", offset + found.start(), "there are bytes that are no UTF-8")
