"""The code points that a pattern tells apart.

All classes of a pattern together cut the code points into *atoms*: those of one atom are in the same classes. There
are few, and the steps of every state are told by one target for each.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from .classes import EVERY, LAST
from .terms import Chars, Concat, Repeat, Term, Union
from .utf8 import LEAD_COLUMN

_MOST_RANGES = 100
"""With more ranges in the classes of a pattern, working out the atoms is not worth while for few states."""


class Alphabet:
    """The atoms of some classes.

    Attributes:
        atoms: by class the numbers of its atoms; None for that of all code points.
        count: how many atoms there are.
        ranges: sorted ranges of code points, and the atom of each; together they are all code points.
        column: by byte the number of its atom; from 0x80 on `count`, and what `LEAD_COLUMN` says. int64, shape (256,).
        beyond: the atoms with code points from 0x80 on.
    """

    def __init__(self, classes: Collection[Chars]) -> None:
        flips: dict[int, int] = {0: 0}
        some = [chars for chars in classes if chars.members.ranges != EVERY.ranges]
        for index, chars in enumerate(some):
            bit = 1 << index
            for first, last in chars.members.ranges:
                flips[first] = flips.get(first, 0) ^ bit
                flips[last + 1] = flips.get(last + 1, 0) ^ bit
        flips.pop(LAST + 1, None)
        numbers: dict[int, int] = {}
        self.ranges: list[tuple[int, int, int]] = []
        mask, points = 0, sorted(flips)
        for first, after in zip(points, [*points[1:], LAST + 1], strict=True):
            mask ^= flips[first]
            self.ranges.append((first, after - 1, numbers.setdefault(mask, len(numbers))))
        self.count = len(numbers)
        members: list[list[int]] = [[] for _ in some]
        for mask, atom in numbers.items():
            while mask:
                low = mask & -mask
                members[low.bit_length() - 1].append(atom)
                mask ^= low
        self.atoms: dict[Chars, list[int] | None] = dict.fromkeys(classes)
        self.atoms.update(zip(some, members, strict=True))
        self.column: NDArray[np.int64] = np.concatenate((np.zeros(0x80, dtype=np.int64), LEAD_COLUMN + self.count))
        for first, last, atom in self.ranges:
            if first < 0x80:
                self.column[first : min(last, 0x7F) + 1] = atom
        self.beyond = list(dict.fromkeys(atom for _, last, atom in self.ranges if last >= 0x80))


def alphabet_of(term: Term) -> Alphabet | None:
    """The alphabet of the classes in a term without lookarounds; None where they have too many ranges."""
    classes: dict[Chars, None] = {}
    met: set[Term] = {term}
    todo = [term]
    while todo:
        at = todo.pop()
        parts: tuple[Term, ...] = ()
        if type(at) is Chars:
            classes[at] = None
        elif type(at) is Concat:
            parts = (at.head, at.tail)
        elif type(at) is Union:
            parts = at.options
        elif type(at) is Repeat:
            parts = (at.body,)
        for part in parts:
            if part not in met:
                met.add(part)
                todo.append(part)
    if sum(len(chars.members.ranges) for chars in classes) > _MOST_RANGES:
        return None
    return Alphabet(classes)
