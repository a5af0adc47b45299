"""A text language cut down to texts of so many code points, the count kept in the state.

For names of members, which have no register to count in, and for products whose lengths are not found by arithmetic:
there, whether a text can still get a length within the bounds is a question to be searched, one state and count at a
time.
"""

from __future__ import annotations

from collections.abc import Iterable

from constrain.grammars.languages.base import DEAD, LengthSet
from constrain.grammars.languages.product import known_step
from constrain.grammars.regex import classes
from constrain.grammars.regex import lengths as length_sets
from constrain.grammars.regex.nearest import MAX_LATER_SEARCH, Nearest
from constrain.grammars.regex.utf8 import CodePointLanguage, Segments

_Counted = tuple[int, ...]
"""A state of the language, between two characters, and the code points read so far."""


class BoundedText(CodePointLanguage):
    """The texts of `language` with low .. high code points.

    Raises:
        ResourceLimitError: whether there is any takes more than `nearest.MAX_SEARCH` states to decide.
    """

    def __init__(self, language: CodePointLanguage, low: int, high: int | None) -> None:
        super().__init__()
        self._language, self._low, self._high = language, low, high
        self._numbers: dict[_Counted, int] = {}
        self._values: dict[int, _Counted] = {DEAD: (DEAD, 0)}
        self._nearest = Nearest(self._edges, self._accepts, self._bound, "a text has a length within its bounds")
        self.start = self._number((language.start, 0))
        self._nearest.limit = MAX_LATER_SEARCH

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return BoundedText, (self._language, self._low, self._high)

    def _window(self, count: int) -> tuple[int, int | None]:
        return max(0, self._low - count), None if self._high is None else self._high - count

    def _live(self, at: _Counted) -> bool:
        state, count = at
        if state == DEAD or (self._high is not None and count > self._high):
            return False
        lengths, exact = self._language.quick_lengths(state)
        if lengths.first_in(*self._window(count)) is None:
            return False
        return exact or self._nearest.lives(at)

    def _after(self, at: _Counted) -> Iterable[tuple[int, int, _Counted]]:
        """Steps; counts beyond a lower bound are alike where there is no upper one."""
        count = at[1] + 1 if self._high is not None else min(at[1] + 1, self._low)
        return [(first, last, (to, count)) for first, last, to in self._language.segments(at[0])]

    def _edges(self, at: _Counted) -> list[tuple[_Counted, int]]:
        if self._language.quick_lengths(at[0])[0].first_in(*self._window(at[1])) is None:
            return []
        cheapest: dict[_Counted, int] = {}
        for first, last, to in self._after(at):
            cost = classes.least_bytes(((first, last),))
            if cost < cheapest.get(to, 5):
                cheapest[to] = cost
        return list(cheapest.items())

    def _accepts(self, at: _Counted) -> bool:
        low, high = self._window(at[1])
        return low == 0 and (high is None or high >= 0) and self._language.accepting(at[0])

    def _bound(self, at: _Counted) -> int:
        return max(self._language.shortest(at[0]), self._low - at[1])

    def _number(self, at: _Counted) -> int:
        found = self._numbers.get(at)
        if found is None:
            found = self._numbers[at] = self._new_state() if self._live(at) else DEAD
            if found:
                self._values[found] = at
        return found

    def _segments(self, state: int) -> Segments:
        out: Segments = []
        for first, last, at in self._after(self._values[state]):
            to = self._number(at)
            if to and out and out[-1][2] == to and out[-1][1] == first - 1:
                out[-1] = (out[-1][0], last, to)
            elif to:
                out.append((first, last, to))
        return out

    def accepting(self, state: int) -> bool:
        """See the base class."""
        at = self._values.get(state)
        return state != DEAD and at is not None and self._accepts(at)

    def universal(self, state: int) -> bool:
        """See the base class."""
        inner, count = self._values.get(state, (DEAD, 0))
        return inner != DEAD and self._high is None and count >= self._low and self._language.universal(inner)

    def quick_lengths(self, state: int) -> tuple[LengthSet, bool]:
        """See the base class."""
        inner, count = self._values[state]
        lengths, exact = self._language.quick_lengths(inner)
        return length_sets.intersection(lengths, length_sets.interval(*self._window(count))), exact

    def nearest_step(self, state: int) -> tuple[int, int]:
        """See the base class."""
        at = self._values[state]
        code, after = known_step(self._nearest, at, self._nearest.distance(at), self._after(at))
        return code, self._number(after)

    def _shortest_between(self, state: int) -> int:
        return self._nearest.distance(self._values[state]) or 0

    def _lengths_between(self, state: int) -> LengthSet:
        inner, count = self._values[state]
        return length_sets.intersection(self._language.lengths(inner), length_sets.interval(*self._window(count)))
