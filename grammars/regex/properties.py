"""Unicode properties, `\\p{…}`, as far as Python's own Unicode data tells them exactly.

General categories, a few properties that `str` methods decide, and the trivial ones. Scripts, Alphabetic, Emoji and
the like are not in `unicodedata`; they come from sources that others add, and without one are refused by name. What is
assigned follows the Unicode version of the interpreter, or of the source.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache

from .classes import EVERY, CodePoints

# Short name, then the other names of ECMA-262's table of general categories.
_CATEGORY_NAMES = """
C Other|Cc Control cntrl|Cf Format|Cn Unassigned|Co Private_Use|Cs Surrogate
L Letter|LC Cased_Letter|Ll Lowercase_Letter|Lm Modifier_Letter|Lo Other_Letter|Lt Titlecase_Letter|Lu Uppercase_Letter
M Mark Combining_Mark|Mc Spacing_Mark|Me Enclosing_Mark|Mn Nonspacing_Mark
N Number|Nd Decimal_Number digit|Nl Letter_Number|No Other_Number
P Punctuation punct|Pc Connector_Punctuation|Pd Dash_Punctuation|Pe Close_Punctuation|Pf Final_Punctuation
Pi Initial_Punctuation|Po Other_Punctuation|Ps Open_Punctuation
S Symbol|Sc Currency_Symbol|Sk Modifier_Symbol|Sm Math_Symbol|So Other_Symbol
Z Separator|Zl Line_Separator|Zp Paragraph_Separator|Zs Space_Separator
"""
_CATEGORIES = {
    name: names[0]
    for entry in _CATEGORY_NAMES.replace("\n", "|").split("|")
    if (names := entry.split())
    for name in names
}

_BY_TEST: dict[str, Callable[[str], bool]] = {
    "Lowercase": str.islower,
    "Uppercase": str.isupper,
    "XID_Start": lambda c: c.isidentifier() and c != "_",
    "XID_Continue": lambda c: ("a" + c).isidentifier(),
}
_BY_RANGES = {
    "ASCII": [(0, 0x7F)],
    "ASCII_Hex_Digit": [(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)],
    "White_Space": [
        (0x09, 0x0D),
        (0x20, 0x20),
        (0x85, 0x85),
        (0xA0, 0xA0),
        (0x1680, 0x1680),
        (0x2000, 0x200A),
        (0x2028, 0x2029),
        (0x202F, 0x202F),
        (0x205F, 0x205F),
        (0x3000, 0x3000),
    ],
}
_SYNONYMS = {
    "Lower": "Lowercase",
    "Upper": "Uppercase",
    "XIDS": "XID_Start",
    "XIDC": "XID_Continue",
    "AHex": "ASCII_Hex_Digit",
    "space": "White_Space",
}


Source = Callable[[str], Iterable[tuple[int, int]] | None]
"""What tells the ranges of `\\p{expression}`, or None where it does not know them."""

_sources: list[Source] = []


def add_source(source: Source) -> None:
    """Ask this source for what Python's own data does not tell."""
    _sources.append(source)


def property_members(expression: str) -> CodePoints | None:
    """The code points of `\\p{expression}`; None when nobody can tell. Names are case-sensitive."""
    found = _own_members(expression)
    for source in _sources if found is None else ():
        ranges = source(expression)
        if ranges is not None:
            return CodePoints.of(ranges)
    return found


def _own_members(expression: str) -> CodePoints | None:
    name, equals, value = expression.partition("=")
    if equals:
        if name not in ("General_Category", "gc") or value not in _CATEGORIES:
            return None
        return _category(_CATEGORIES[value])
    if name in _CATEGORIES:
        return _category(_CATEGORIES[name])
    name = _SYNONYMS.get(name, name)
    if name == "Any":
        return EVERY
    if name == "Assigned":
        return ~_category("Cn")
    if name in _BY_RANGES:
        return CodePoints.of(_BY_RANGES[name])
    return _tested(name) if name in _BY_TEST else None


@lru_cache(maxsize=1)
def _category_ranges() -> dict[str, list[tuple[int, int]]]:
    """The ranges of each two-letter category. One pass over all code points, about 0.1 s, once per process."""
    ranges: dict[str, list[tuple[int, int]]] = {}
    current, first = unicodedata.category("\0"), 0
    category = unicodedata.category
    for code_point in range(1, sys.maxunicode + 1):
        found = category(chr(code_point))
        if found != current:
            ranges.setdefault(current, []).append((first, code_point - 1))
            current, first = found, code_point
    ranges.setdefault(current, []).append((first, sys.maxunicode))
    return ranges


@lru_cache(maxsize=64)
def _category(short: str) -> CodePoints:
    wanted = ("Ll", "Lt", "Lu") if short == "LC" else (short,)
    return CodePoints.of(r for name, ranges in _category_ranges().items() if name.startswith(wanted) for r in ranges)


@lru_cache(maxsize=8)
def _tested(name: str) -> CodePoints:
    test = _BY_TEST[name]
    return CodePoints.of((c, c) for c in range(sys.maxunicode + 1) if test(chr(c)))
