"""Which choices of spelling a wire format can honour in its arguments, and which tools can be written so.

A choice means in arguments what it means to `json_schema`. Three things set it limits here: notations that are not JSON
have spacing of their own; where the arguments come before the name, what is written cannot depend on the tool; and a
marker in a JSON string is written with an escape, which plain escapes do not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from constrain.engine.text_style import TextStyle
from constrain.grammars.errors import ToolFormatError, UnsupportedSchemaError
from constrain.grammars.regex.languages import search_language
from constrain.grammars.tool_formats.dialects import JsonArguments
from constrain.grammars.tool_formats.format import Format
from constrain.grammars.tool_formats.parts import Arguments, Name
from constrain.wire.texts import FOUND, search_table

_MAPS = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"))
_ANNOTATIONS = frozenset(("title", "description", "default", "examples", "$comment"))
_NAMES = frozenset(("required", "dependentRequired"))
_MOST_STATES = 5_000


def check_style(style: TextStyle, format: Format, tools: int) -> None:
    """Refuse a choice that the arguments of a format cannot be written by.

    Raises:
        ToolFormatError: it names the format and the option.
    """
    if style.whitespace == "spaced" and not isinstance(format.arguments, JsonArguments):
        raise ToolFormatError(
            format.name, 'whitespace="spaced"', "its arguments are not JSON and have spacing of their own; use "
            '"bounded" or "none"'
        )  # fmt: skip
    if style.property_order == "declared" and tools > 1 and arguments_come_first(format):
        raise ToolFormatError(
            format.name, 'property_order="declared"', "its arguments come before the name, so no tool has declared "
            'an order yet; use "any", or offer one tool'
        )  # fmt: skip


def arguments_come_first(format: Format) -> bool:
    """Whether a call is written with its arguments before the name."""
    kinds = [[type(part) for part in parts if isinstance(part, Name | Arguments)] for parts in format.call_parts]
    return any(found[:1] == [Arguments] for found in kinds)


def check_plain(parameters: Mapping[str, Any], forbidden: tuple[str, ...]) -> None:
    """Refuse arguments that may have to hold a text that no string can hold without an escape.

    Raises:
        UnsupportedSchemaError: it names the keyword.
    """
    for keyword, text in _texts(parameters):
        for marker in forbidden:
            if marker in text if keyword != "pattern" else _can_hold(text, marker):
                raise UnsupportedSchemaError(
                    "", keyword, f"{text!r} may hold {marker!r}, which the format writes with an escape; use "
                    'escapes="any"'
                )  # fmt: skip


def _texts(schema: Any) -> Iterator[tuple[str, str]]:
    """The texts that a schema demands of strings and names, each with its keyword."""
    if isinstance(schema, list):
        for part in schema:
            yield from _texts(part)
    if not isinstance(schema, Mapping):
        return
    for keyword, value in schema.items():
        if keyword in _ANNOTATIONS:
            continue
        if keyword in ("enum", "const", *_NAMES):
            yield from ((keyword, text) for text in _strings(value))
        elif keyword == "pattern" and isinstance(value, str):
            yield keyword, value
        elif keyword in _MAPS and isinstance(value, Mapping):
            for name, part in value.items():
                yield "pattern" if keyword == "patternProperties" else keyword, str(name)
                yield from _texts(part)
                yield from (("required", text) for text in _strings(part) if isinstance(part, list))
        else:
            yield from _texts(value)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield name
            yield from _strings(part)


def _can_hold(pattern: str, text: str) -> bool:
    """Whether some text of a pattern holds this one; True, too, where that is not soon seen."""
    language, search = search_language(pattern), search_table([text.encode()])
    seen = {(language.start, 0)}
    todo = list(seen)
    while todo:
        state, at = todo.pop()
        row = language.row(state)
        for byte in np.flatnonzero(row).tolist():
            if search[at][byte] == FOUND:
                return True
            pair = (int(row[byte]), int(search[at][byte]))
            if pair not in seen:
                if len(seen) >= _MOST_STATES:
                    return True
                seen.add(pair)
                todo.append(pair)
    return False
