"""A JSON value as text, with what stands where, so that an offset in the text leads back to a place in the value.

The spelling is one that every grammar takes for a value it takes at all: no whitespace, ASCII, numbers without
exponents.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of the text.

    Attributes:
        start, end: offsets.
        kind: "value" for a scalar, "key" for a name and its colon, "open" and "close" for brackets, "comma".
        path: of the value; for a key that of the member; for brackets and commas that of the object or array.
    """

    start: int
    end: int
    kind: Literal["value", "key", "open", "close", "comma"]
    path: Path


def spell(value: Any) -> tuple[str, list[Span]]:
    """The text, and its pieces in order.

    Raises:
        ValueError: the value has no JSON text: a float that is not finite, or a type that JSON lacks.
    """
    writer = _Writer()
    writer.write(value, ())
    return "".join(writer.out), writer.spans


def scalar_text(value: Any) -> str:
    """The text of a string, number, boolean or null."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float | Decimal):
        decimal = Decimal(repr(value)) if isinstance(value, float) else value
        if not decimal.is_finite():
            raise ValueError(f"{value!r} has no JSON text")
        return format(decimal, "f")
    raise ValueError(f"{type(value).__name__} is no JSON type")


class _Writer:
    def __init__(self) -> None:
        self.out: list[str] = []
        self.spans: list[Span] = []
        self.length = 0

    def write(self, value: Any, path: Path) -> None:
        if isinstance(value, dict):
            self.put("{", "open", path)
            for position, (name, member) in enumerate(value.items()):
                if not isinstance(name, str):
                    raise ValueError(f"the name {name!r} of a member is no text")
                if position:
                    self.put(",", "comma", path)
                self.put(json.dumps(name) + ":", "key", (*path, name))
                self.write(member, (*path, name))
            self.put("}", "close", path)
        elif isinstance(value, list | tuple):
            self.put("[", "open", path)
            for position, item in enumerate(value):
                if position:
                    self.put(",", "comma", path)
                self.write(item, (*path, position))
            self.put("]", "close", path)
        else:
            self.put(scalar_text(value), "value", path)

    def put(self, text: str, kind: Literal["value", "key", "open", "close", "comma"], path: Path) -> None:
        self.spans.append(Span(self.length, self.length + len(text), kind, path))
        self.out.append(text)
        self.length += len(text)
