"""Loops that need no search: where so many characters of one class may follow.

Names are often bounded so, as by `^[a-z0-9_-]{1,64}$`. See `constrain.kernels.loops` for what a loop is.
"""

from __future__ import annotations

import functools

from constrain.grammars.languages.extent import MANY
from constrain.grammars.regex.classes import LAST, CodePoints
from constrain.kernels.classes import ASCII_CLASSES, FIRST_BYTES, SECOND_BYTES
from constrain.kernels.loops import UNLIMITED

_BEYOND_ASCII = CodePoints.of(((0x80, LAST),))


def _led_by(lead: int) -> tuple[int, int]:
    """The first and the last code point whose first byte in UTF-8 is `lead`, surrogates included."""
    if lead < 0x80:
        return lead, lead
    bits, low = (6, 0x80) if lead < 0xE0 else (12, 0x800) if lead < 0xF0 else (18, 0x10000)
    first = (lead & (0x3F >> bits // 6)) << bits
    return max(first, low), min(first + (1 << bits) - 1, LAST)


@functools.cache
def _class_members() -> tuple[list[CodePoints], list[bool]]:
    """By class of the vocabulary its characters; and whether it is one of first bytes alone, what comes after them
    having classes of its own."""
    split = {lead for lead, _ in SECOND_BYTES}
    members = [CodePoints.of(_led_by(lead) for lead in group) for group in FIRST_BYTES]
    for lead, group in SECOND_BYTES:
        first, last = _led_by(lead)
        step = (last - first + 1) // 64
        members.append(CodePoints.of((first + (b - 0x80) * step, first + (b - 0x7F) * step - 1) for b in group))
    return members, [group[0] in split for group in FIRST_BYTES] + [False] * len(SECOND_BYTES)


@functools.lru_cache(maxsize=1024)
def kinds_within(members: CodePoints) -> tuple[int, int]:
    """The classes of the vocabulary, as bits, all of whose characters are among the members, and those with none.

    Of a class of first bytes alone it only matters whether one of its characters is.
    """
    inside = outside = 0
    others = members & _BEYOND_ASCII
    for number, (group, alone) in enumerate(zip(*_class_members(), strict=True)):
        if number >= ASCII_CLASSES and (not others or others == _BEYOND_ASCII):
            all_in, none_in = bool(others), not others
        else:
            common = group & members
            none_in = not common
            all_in = bool(common) if alone else common == group
        inside |= all_in << number
        outside |= none_in << number
    return inside, outside


def names_of_class(members: CodePoints, most: int | None, every: CodePoints) -> tuple[int, int, int]:
    """The loop where up to `most` of the members can follow, and nothing that is not in `every`: its classes, those
    that cannot follow, and how far it holds.

    It holds as long as there are more names left than can be in use.
    """
    inside, _ = kinds_within(members)
    _, outside = kinds_within(every)
    if most is None:
        return inside, outside, UNLIMITED
    size = sum(last - first + 1 for first, last in members.ranges)
    return inside, outside, most - -(-MANY.bit_length() // max(1, size.bit_length() - 1))
