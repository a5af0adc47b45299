"""Loops that need no search: where so many characters of one class may follow.

Names are often bounded so, as by `^[a-z0-9_-]{1,64}$`. See `constrain.kernels.loops` for what a loop is.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from constrain.grammars.languages.extent import MANY
from constrain.grammars.regex.classes import LAST, CodePoints
from constrain.kernels.classes import ASCII_CLASSES, FIRST_BYTES, NO_CLASS, SECOND_BYTES
from constrain.kernels.loops import UNLIMITED

_BEYOND_ASCII = CodePoints.of(((0x80, LAST),))
_ASCII_GROUPS = [sum(1 << code for code in group) for group in FIRST_BYTES[:ASCII_CLASSES]]


@functools.cache
def mark_classes() -> list[tuple[int, CodePoints]]:
    """The classes of single characters, and that of digits, with their numbers: those that few tokens have."""
    groups = enumerate(FIRST_BYTES[:ASCII_CLASSES])
    return [(n, CodePoints.of((c, c) for c in group)) for n, group in groups if len(group) == 1 or group[:1] == b"0"]


def _led_by(lead: int) -> tuple[int, int]:
    """The first and the last code point whose first byte in UTF-8 is `lead`, surrogates included."""
    bits, low = (6, 0x80) if lead < 0xE0 else (12, 0x800) if lead < 0xF0 else (18, 0x10000)
    first = (lead & (0x3F >> bits // 6)) << bits
    return max(first, low), min(first + (1 << bits) - 1, LAST)


@functools.cache
def class_members() -> list[tuple[CodePoints, bool]]:
    """The characters of each class beyond ASCII; and whether it is one of first bytes alone, what comes after them
    having classes of its own."""
    split = {lead for lead, _ in SECOND_BYTES}
    found = [
        (CodePoints.of(_led_by(lead) for lead in group), group[0] in split) for group in FIRST_BYTES[ASCII_CLASSES:]
    ]
    for lead, group in SECOND_BYTES:
        first, last = _led_by(lead)
        step = (last - first + 1) // 64
        found.append((CodePoints.of((first + (b - 0x80) * step, first + (b - 0x7F) * step - 1) for b in group), False))
    return found


@functools.lru_cache(maxsize=1024)
def kinds_within(members: CodePoints) -> tuple[int, int]:
    """The classes of the vocabulary, as bits, all of whose characters are among the members, and those with none.

    Of a class of first bytes alone it only matters whether one of its characters is.
    """
    inside = outside = 0
    characters = sum({(1 << last + 1) - (1 << first) for first, last in _within_ascii(members)})
    for number, group in enumerate(_ASCII_GROUPS):
        inside |= (group & ~characters == 0) << number
        outside |= (group & characters == 0) << number
    others = members & _BEYOND_ASCII
    if not others or others == _BEYOND_ASCII:
        beyond = (1 << NO_CLASS) - (1 << ASCII_CLASSES)
        return (inside | beyond, outside) if others else (inside, outside | beyond)
    for number, (everything, alone) in enumerate(class_members(), start=ASCII_CLASSES):
        common = everything & others
        inside |= (bool(common) if alone else common == everything) << number
        outside |= (not common) << number
    return inside, outside


def _within_ascii(members: CodePoints) -> list[tuple[int, int]]:
    return [(first, min(last, 0x7F)) for first, last in members.ranges if first < 0x80]


class Repeated(NamedTuple):
    """What follows in a name where members of one class can: so many of them, whichever they are (None: any number),
    no more than `end` (None: not known), and no character that is not in `every`."""

    members: CodePoints
    most: int | None
    end: int | None
    every: CodePoints


class NameLoop(NamedTuple):
    """The loop of a name: its classes, those that cannot follow, and how far it holds: while names are in use, as there
    have to be more names left than those, and else. After `end` characters of the loop none can follow."""

    loop: int
    dead: int
    far: int
    far_alone: int
    end: int | None


def names_of_class(repeated: Repeated) -> NameLoop:
    """The loop where members of one class follow."""
    members, most, end, every = repeated
    inside, _ = kinds_within(members)
    _, outside = kinds_within(every)
    if most is None:
        return NameLoop(inside, outside, UNLIMITED, UNLIMITED, None)
    size = sum(last - first + 1 for first, last in members.ranges)
    far = most - -(-MANY.bit_length() // max(1, size.bit_length() - 1))
    return NameLoop(inside, outside, far, most, end)
