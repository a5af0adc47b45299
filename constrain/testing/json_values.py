"""JSON values as JSON Schema sees them: equality, types, exact numbers, plain texts.

Python confuses what JSON tells apart (`True == 1`) and tells apart what JSON does not (`1.0`, `Decimal("1")`), and a
float is read here as the decimal that its `repr` writes, because that is what a schema file holds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any


class NotJson(ValueError):
    """A text that is not JSON, or that writes a member name twice, which leaves its meaning undefined."""


def is_number(value: Any) -> bool:
    """Whether a value is a JSON number."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


@lru_cache(maxsize=4096)
def _of_float(value: float) -> Fraction:
    return Fraction(repr(value))


def exact(value: Any) -> Fraction:
    """The number that a JSON number denotes."""
    return _of_float(value) if isinstance(value, float) else Fraction(value)


def identity(value: Any) -> Hashable:
    """A key that two values share exactly when JSON Schema calls them equal."""
    if value is None or isinstance(value, bool):
        return (0, value)
    if is_number(value):
        return (1, value if isinstance(value, int) else exact(value))
    if isinstance(value, str):
        return (2, value)
    if isinstance(value, list | tuple):
        return (3, tuple(map(identity, value)))
    return (4, frozenset((name, identity(member)) for name, member in value.items()))


def type_of(value: Any, *, draft_4: bool = False) -> str:
    """The narrowest type of a value: "integer" for 1.0 too, except in draft 04."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if is_number(value):
        return "integer" if not draft_4 and exact(value).denominator == 1 else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list | tuple) else "object"


def spellable(value: Any) -> bool:
    """Whether a value has a JSON text in UTF-8: no infinities, no lone surrogates."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, str):
        return not any("\ud800" <= c <= "\udfff" for c in value)
    if isinstance(value, list):
        return all(map(spellable, value))
    if isinstance(value, dict):
        return all(spellable(name) and spellable(member) for name, member in value.items())
    return True


def plain_number(value: Any) -> str:
    """The shortest spelling of a number without an exponent."""
    if isinstance(value, int):
        return str(value)
    text = format(Decimal(repr(value)) if isinstance(value, float) else value, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def plain_text(value: Any) -> str:
    """A compact JSON text with every number spelled plainly. Every grammar promises to take it."""
    if is_number(value):
        return plain_number(value)
    if isinstance(value, list):
        return "[" + ",".join(map(plain_text, value)) + "]"
    if isinstance(value, dict):
        members = (json.dumps(k, ensure_ascii=False) + ":" + plain_text(v) for k, v in value.items())
        return "{" + ",".join(members) + "}"
    return json.dumps(value, ensure_ascii=False)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise NotJson("a member name is written twice")
    return members


def _no_constant(name: str) -> Any:
    raise NotJson(f"{name} is no JSON")


def read_exactly(text: str | bytes) -> Any:
    """The value of a JSON text, numbers with a fraction or exponent as `Decimal`. Raises `NotJson`."""
    try:
        decoded = text.decode() if isinstance(text, bytes) else text
        return json.loads(decoded, parse_float=Decimal, object_pairs_hook=_members, parse_constant=_no_constant)
    except NotJson:
        raise
    except ValueError as error:
        raise NotJson(str(error)) from None


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """All parts of a value with their paths (names and positions), outermost first."""
    yield path, value
    if isinstance(value, list):
        for position, item in enumerate(value):
            yield from paths(item, (*path, position))
    elif isinstance(value, dict):
        for name, member in value.items():
            yield from paths(member, (*path, name))


def replaced(value: Any, path: tuple[Any, ...], part: Any) -> Any:
    """A copy of `value` with the part at `path` exchanged."""
    if not path:
        return part
    first, rest = path[0], path[1:]
    copy = list(value) if isinstance(value, list) else dict(value)
    copy[first] = replaced(copy[first], rest, part)
    return copy
