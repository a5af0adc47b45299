"""Arguments as text, in the dialect of a format and in the spelling of its chat template.

Every writer refuses what its reader would not read back as the same value: there is no escape in most dialects.
"""

from __future__ import annotations

import json
import keyword
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

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
from constrain.grammars.tool_formats.parts import Literal, Marker
from constrain.tools.problems import RenderError

Path = tuple[str | int, ...]

KEY_DELIMITERS = '<>"\n'
"""Characters that no key between tags holds."""

_HALVES = re.compile("[\ud800-\udfff]")


def write_arguments(format: Format, tool: str, arguments: Mapping[str, Any], parameters: Any) -> str:
    """The text of arguments.

    Args:
        format: the wire format.
        tool: name of the tool, for errors.
        arguments: the arguments.
        parameters: their schema; where strings stand bare it says how a text is read.

    Raises:
        RenderError: a value has no JSON, or the dialect cannot write it.
    """
    writer = _Writer(format, tool)
    dialect = format.arguments
    if isinstance(dialect, JsonArguments):
        return writer.json(dict(arguments), ())
    if isinstance(dialect, PythonArguments):
        return writer.keywords(arguments)
    if isinstance(dialect, BareArguments):
        return writer.bare(dict(arguments), (), dialect.quote)
    return writer.tagged(arguments, parameters, dialect)


class _Writer:
    def __init__(self, format: Format, tool: str) -> None:
        self.format, self.tool = format, tool
        # The tag that ends a bare string must not occur in JSON between such tags either.
        tags = (format.arguments.end_tag,) if isinstance(format.arguments, TaggedArguments) else ()
        self.forbidden = (*format.forbidden, *tags)

    def refuse(self, path: Path, reason: str) -> RenderError:
        return RenderError(self.format.name, self.tool, path, reason)

    def json(self, value: Any, path: Path) -> str:
        if isinstance(value, Mapping):
            members = (
                f"{self.string(self.key(key, path))}: {self.json(item, (*path, key))}" for key, item in value.items()
            )
            return "{" + ", ".join(members) + "}"
        if isinstance(value, list | tuple):
            return "[" + ", ".join(self.json(item, (*path, i)) for i, item in enumerate(value)) + "]"
        return self.string(value) if isinstance(value, str) else self.scalar(value, path)

    def key(self, key: Any, path: Path) -> str:
        if not isinstance(key, str):
            raise self.refuse(path, f"the name {key!r} of a member is no text")
        return key

    def string(self, text: str) -> str:
        """A JSON string in which forbidden texts are broken by an escape; half surrogate pairs are escaped too."""
        return f'"{escaped(text, self.forbidden)}"'

    def scalar(self, value: Any, path: Path) -> str:
        if value is None or isinstance(value, bool):
            return {None: "null", True: "true", False: "false"}[value]
        if isinstance(value, int):
            return str(int(value))
        if isinstance(value, float) and math.isfinite(value):
            return json.dumps(value)
        raise self.refuse(path, f"{value!r} has no JSON text")

    def raw(self, text: str, path: Path, end: str, tag: str) -> str:
        """A bare string, of which nothing is taken for something else."""
        for forbidden in self.format.forbidden:
            if forbidden in text:
                raise self.refuse(path, f"a string cannot hold {forbidden!r}, and this format has no escapes")
        if (text + end).find(tag) != len(text) + end.find(tag):
            raise self.refuse(path, f"a string cannot hold {tag!r}, which ends it; this format has no escapes")
        self.encodable(text, path)
        return text

    def encodable(self, text: str, path: Path) -> None:
        if any("\ud800" <= c <= "\udfff" for c in text):
            raise self.refuse(path, "half of a surrogate pair has no UTF-8, and this format has no escape for it")

    def tagged(self, arguments: Mapping[str, Any], parameters: Any, dialect: TaggedArguments) -> str:
        out = []
        for key, value in arguments.items():
            path = (self.key(key, ()),)
            if not key or any(c in KEY_DELIMITERS for c in key):
                shown = " ".join(map(repr, KEY_DELIMITERS))
                raise self.refuse(path, f"the name of an argument cannot be empty, nor hold one of {shown}")
            self.raw(key, path, dialect.value_end, dialect.end_tag)
            is_string = isinstance(value, str)
            text = self.raw(value, path, dialect.value_end, dialect.end_tag) if is_string else self.json(value, path)
            if not dialect.flagged and reading(text, argument_types(key, parameters)) != (
                "string" if is_string else "json"
            ):
                read = "JSON" if is_string else "a string"
                raise self.refuse(path, f"{text!r} is read as {read} there, and no other spelling says what was meant")
            for part in self.format.member_parts:
                if isinstance(part, Literal | Marker):
                    out.append(part.text)
                elif isinstance(part, Key):
                    out.append(key)
                elif isinstance(part, StringFlag):
                    out.append("true" if is_string else "false")
                elif isinstance(part, Value):
                    out.append(text)
        return "".join(out)

    def keywords(self, arguments: Mapping[str, Any]) -> str:
        for key in arguments:
            if not isinstance(key, str) or not key.isidentifier() or keyword.iskeyword(key) or not key.isascii():
                raise self.refuse((str(key),), "the name of an argument must be a Python name of ASCII letters")
        return ", ".join(f"{key}={self.python(value, (key,))}" for key, value in arguments.items())

    def python(self, value: Any, path: Path) -> str:
        if isinstance(value, Mapping):
            members = (
                f"{self.python(self.key(key, path), (*path, key))}: {self.python(item, (*path, key))}"
                for key, item in value.items()
            )
            return "{" + ", ".join(members) + "}"
        if isinstance(value, list | tuple):
            return "[" + ", ".join(self.python(item, (*path, i)) for i, item in enumerate(value)) + "]"
        if isinstance(value, str):
            self.encodable(value, path)
            return self.string(value)  # what escapes json.dumps writes Python has too
        text = self.scalar(value, path)
        return {"null": "None", "true": "True", "false": "False"}.get(text, text)

    def bare(self, value: Any, path: Path, quote: str) -> str:
        if isinstance(value, Mapping):
            # The templates sort the names, whatever their case.
            keys = sorted((self.key(key, path) for key in value), key=lambda key: (key.lower(), key))
            for key in keys:
                if not BARE_NAME.fullmatch(key) or any(text in key for text in self.forbidden):
                    raise self.refuse((*path, key), "the name cannot stand without quotes")
            return "{" + ",".join(f"{key}:{self.bare(value[key], (*path, key), quote)}" for key in keys) + "}"
        if isinstance(value, list | tuple):
            return "[" + ",".join(self.bare(item, (*path, i), quote) for i, item in enumerate(value)) + "]"
        if isinstance(value, str):
            return quote + self.raw(value, path, quote, quote) + quote
        return self.scalar(value, path)


def escaped(text: str, forbidden: Sequence[str] = ()) -> str:
    """A text as the inside of a JSON string, in which no forbidden text occurs."""
    out = _HALVES.sub(lambda found: _code(found.group()), json.dumps(text, ensure_ascii=False)[1:-1])
    if not any(banned in out for banned in forbidden):
        return out
    pieces = [_code(c) if _HALVES.match(c) else json.dumps(c, ensure_ascii=False)[1:-1] for c in text]
    for banned in forbidden:
        while (at := "".join(pieces).find(banned)) >= 0:
            for index, piece in enumerate(pieces):
                at -= len(piece)
                if at < 0:
                    pieces[index] = _code(text[index])
                    break
    return "".join(pieces)


def _code(c: str) -> str:
    units = c.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i] << 8 | units[i + 1]:04x}" for i in range(0, len(units), 2))
