"""`hostname`: labels of letters, digits and inner hyphens, 1 to 63 long, 253 characters in all.

From draft 07 on the format speaks of internationalised names too (RFC 5890): a label with hyphens in its third and
fourth place must be a valid A-label, `xn--` and the Punycode of a valid Unicode label. No automaton of a size to be
thought of decides that, as Punycode is arithmetic over the whole label; such labels are left out.
"""

from __future__ import annotations

import functools

from ..languages.base import LengthSet
from .machine import Arranged, Layout, Machine, Move, at_least, between

MAX_LABEL = 63
MAX_NAME = 253
_TOGETHER = 16  # characters of a label whose steps are found at once: there are tokens of so many

HostKey = tuple[int, bool, int]
"""Length of the label so far, whether its last character is a hyphen, length of the name so far if it is counted."""


_RANGES = {"a": ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)), "-": ((0x2D, 0x2D),), ".": ((0x2E, 0x2E),)}


@functools.cache
def _layout(what: str) -> Layout:
    """Letters and digits (`a`), hyphens and dots, as far as they can come."""
    return Layout((first, last, index) for index, kind in enumerate(what) for first, last in _RANGES[kind])


class HostName(Machine[HostKey]):
    """Host names; with `any_hyphens`, `--` may stand anywhere inside a label, as in drafts 04 and 06.

    Unless `counted`, they may be of any length.
    """

    start = (0, False, 0)

    def __init__(self, any_hyphens: bool, *, counted: bool = True) -> None:
        self.any_hyphens = any_hyphens
        self._counts = int(counted)

    def moves(self, state: HostKey) -> list[Move[HostKey]]:
        layout, targets = self.arranged(state)
        return [(first, last, targets[index]) for first, last, index in layout.ranges]

    def arranged(self, state: HostKey) -> Arranged[HostKey]:
        label, hyphen, name = state
        longer = name + self._counts
        targets: list[HostKey] = []
        what = ""
        if name < MAX_NAME:
            if label < MAX_LABEL:
                what += "a"
                targets.append((label + 1, False, longer))
            if label and name + 2 <= MAX_NAME:
                # Neither a hyphen nor a dot can be last.
                if label + 2 <= MAX_LABEL and (self.any_hyphens or not (hyphen and label == 3)):
                    what += "-"
                    targets.append((label + 1, True, longer))
                if not hyphen:
                    what += "."
                    targets.append((0, False, longer))
        return _layout(what), targets

    def alike(self, state: HostKey) -> list[HostKey]:
        label, hyphen, name = state
        if not label:
            return []
        return [(label + i, hyphen, name + i * self._counts) for i in range(1, min(_TOGETHER, MAX_LABEL + 1 - label))]

    def accepts(self, state: HostKey) -> bool:
        return state[0] > 0 and not state[1]

    def shortest(self, state: HostKey) -> int:
        return 0 if self.accepts(state) else 1

    def lengths(self, state: HostKey) -> LengthSet:
        label, hyphen, name = state
        left = MAX_NAME - name
        low = 0 if self.accepts(state) else 1
        # At the end of a full label only a dot can follow, which takes a further character after it.
        room = MAX_LABEL - label
        gap = 1 if room == 0 else 2 if hyphen and room == 1 else None
        if not self._counts:
            return at_least(low) if gap is None else LengthSet(1 << gap - 1 | 1 << gap + 1, gap + 1, 1)
        if gap is None:
            return between(low, left)
        return LengthSet(between(low, left).bits & ~(1 << gap), left + 1, 1)
