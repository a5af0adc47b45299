"""A text language cut down to texts of so many code points, the count kept in the state."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from constrain.grammars.languages.base import DEAD, LengthSet, TextLanguage


class BoundedText(TextLanguage):
    """The texts of `language` with low .. high code points. For names of members; values count in a register."""

    def __init__(self, language: TextLanguage, low: int, high: int | None) -> None:
        self._language, self._low, self._high = language, low, high
        self._cap = low if high is None else high + 1  # counts from here on are alike
        self._numbers: dict[tuple[int, int], int] = {}
        self._states: list[tuple[int, int]] = [(DEAD, 0)]
        self._rows: dict[int, NDArray[np.int32]] = {}
        self._lock = threading.RLock()
        self.start = self._number(language.start, 0)

    def _number(self, state: int, count: int) -> int:
        count = min(count, self._cap)
        if state == DEAD or self._rest(state, count) is None:
            return DEAD
        key = (state, count)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self._states)
            self._states.append(key)
        return found

    def _rest(self, state: int, count: int) -> int | None:
        high = None if self._high is None else self._high - count
        return (
            None if high is not None and high < 0 else self._language.lengths(state).first_in(self._low - count, high)
        )

    def row(self, state: int) -> NDArray[np.int32]:
        """See the base class."""
        with self._lock:
            found = self._rows.get(state)
            if found is None:
                inner, count = self._states[state]
                source = self._language.row(inner).tolist()
                found = np.zeros(256, dtype=np.int32)
                for byte, to in enumerate(source):
                    if to:
                        found[byte] = self._number(to, count + (byte & 0xC0 != 0x80))
                found.setflags(write=False)
                self._rows[state] = found
            return found

    def accepting(self, state: int) -> bool:
        """See the base class."""
        inner, count = self._states[state]
        return self._low <= count and (self._high is None or count <= self._high) and self._language.accepting(inner)

    def shortest(self, state: int) -> int:
        """See the base class."""
        distance, layer, seen = 0, {state}, {state}
        while not any(map(self.accepting, layer)):
            layer = {t for s in layer for t in self.row(s).tolist() if t} - seen
            seen |= layer
            distance += 1
        return distance

    def boundary(self, state: int) -> bool:
        """See the base class."""
        return self._language.boundary(self._states[state][0])

    def universal(self, state: int) -> bool:
        """See the base class."""
        inner, count = self._states[state]
        return self._high is None and count >= self._low and self._language.universal(inner)

    def lengths(self, state: int) -> LengthSet:
        """See the base class."""
        inner, count = self._states[state]
        lengths = self._language.lengths(inner)
        low = max(0, self._low - count)
        top = max(lengths.preperiod, low) if self._high is None else max(0, self._high - count) + 1
        bits = sum(1 << n for n in range(low, top + (lengths.period if self._high is None else 0)) if n in lengths)
        return LengthSet(bits, top, lengths.period if self._high is None else 1)
