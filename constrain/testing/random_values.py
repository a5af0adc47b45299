"""Random JSON values out of small pools, so that names, strings and numbers meet again in a schema and its values."""

from __future__ import annotations

from typing import Any

from constrain.testing.choices import Choices
from constrain.testing.format_samples import SAMPLES

NAMES = ("a", "b", "ab", "abc", "x-1", "x-2", "", "é", 'q"', "c\\d", "名", "😀", "a/b~")
STRINGS = (
    "",
    "a",
    "b",
    "ab",
    "aab",
    "ba",
    "abab",
    "é",
    "😀",
    "a\n",
    '"',
    "\\",
    "zzzzz",
    "0",
    "12",
    "a b",
    "/",
    "\x7f\x00",
)
NUMBERS = (0, 1, -1, 2, 3, 5, 10, 12, 100, -7, 0.5, -0.5, 1.5, 2.25, 0.1, 12.75, 1000, 1e3, -0.0, 3.0, 0.07, 1e-3)
UNUSUAL_NUMBERS = (9007199254740993, 12345678901234567890, 1e21, 1.5e-9, 1e300, -1e-300, 123456.789, 10**30)
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")


def random_number(choices: Choices) -> Any:
    """A number, mostly small."""
    kind = choices.integer(0, 9)
    if kind < 5:
        return choices.integer(-12, 12) if choices.chance(0.5) else choices.integer(0, 5)
    return choices.pick(NUMBERS if kind < 9 else UNUSUAL_NUMBERS)


def random_string(choices: Choices) -> str:
    """A string: from the pool, of a format, or made of a few characters."""
    kind = choices.integer(0, 9)
    if kind < 6:
        return choices.pick(STRINGS)
    if kind < 8:
        return choices.pick(choices.pick(tuple(SAMPLES.values())))
    return "".join(choices.pick('abc01 -_/"\\é名😀\n\t\x01') for _ in range(choices.integer(0, 6)))


def random_scalar(choices: Choices) -> Any:
    """Null, a boolean, a number or a string."""
    kind = choices.integer(0, 9)
    if kind < 4:
        return random_string(choices)
    if kind < 8:
        return random_number(choices)
    return choices.pick((None, True, False))


def random_value(choices: Choices, depth: int = 2) -> Any:
    """Any JSON value of at most `depth` levels of containers."""
    if depth <= 0 or choices.chance(0.4):
        return random_scalar(choices)
    if choices.chance(0.6):
        names = {choices.pick(NAMES) for _ in range(choices.integer(0, 4))}
        return {name: random_value(choices, depth - 1) for name in sorted(names)}
    items = [random_value(choices, depth - 1) for _ in range(choices.integer(0, 3))]
    if items and choices.chance(0.3):
        items.append(items[choices.integer(0, len(items) - 1)])
    return items
