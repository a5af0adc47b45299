"""Loops that need no search: where so many characters of one class may follow.

Names are often bounded so, as by `^[a-z0-9_-]{1,64}$`. See `constrain.kernels.loops` for what a loop is.
"""

from __future__ import annotations

import functools

from constrain.grammars.languages.extent import MANY
from constrain.grammars.regex.classes import LAST, CodePoints
from constrain.kernels.classes import FIRST_BYTES, NO_CLASS
from constrain.kernels.loops import UNLIMITED

_BEYOND_ASCII = CodePoints.of(((0x80, LAST),))


@functools.lru_cache(maxsize=1024)
def kinds_within(members: CodePoints) -> tuple[int, int]:
    """The classes of the vocabulary, as bits, all of whose characters are among the members, and those with none."""
    inside = outside = 0
    others = members & _BEYOND_ASCII
    for number in range(NO_CLASS):
        group = FIRST_BYTES[number] if number < len(FIRST_BYTES) else b"\xff"
        if group[0] < 0x80:
            ours = sum(c in members for c in group)
            inside |= (ours == len(group)) << number
            outside |= (ours == 0) << number
        else:
            inside |= (others == _BEYOND_ASCII) << number
            outside |= (not others) << number
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
