"""Terms whose conditions could not be resolved: what remains possible is found by search.

Without conditions a term tells its shortest text and its lengths by itself. With a word boundary, or an anchor under
a repeat, it may be dead without looking so, and the search goes over pairs (term, what stands before) until it meets
terms without conditions, which know the rest.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..languages.base import LengthSet
from . import classes
from . import lengths as length_sets
from .graph_lengths import GraphLengths
from .nearest import MAX_LATER_SEARCH, Nearest
from .terms import AFTER_OTHER, AFTER_WORD, AT, END_NEXT, NOT_AT, OTHER, Chars, Term, Terms, Union

Place = tuple[Term, int]
"""A term and what stands before it."""


class Conditions:
    """Search over the conditional terms of one pattern. Not thread-safe."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._onward: dict[Place, dict[Place, int]] = {}
        self._nearest = Nearest(
            self._edges, self.accepts, lambda place: place[0].least_bytes, "its conditions can be met"
        )
        self._graph = GraphLengths(self._live_steps, self._ends)

    def use(self) -> None:
        """From now on, searches are for a language in use."""
        self._nearest.limit = MAX_LATER_SEARCH

    def after(self, remaining: Term) -> list[Term]:
        """`remaining` at a place that is not the start, as alternatives."""
        term = self._terms.resolve(remaining, NOT_AT, AT)
        return list(term.options) if type(term) is Union else [term]

    def accepts(self, place: Place) -> bool:
        """Whether the text may end at the place."""
        return bool(self._terms.gaps(*place) & END_NEXT)

    def _steps(self, place: Place) -> dict[Place, int]:
        """The places one code point further, with the bytes it takes."""
        found = self._onward.get(place)
        if found is not None:
            return found
        found = {}
        for chars, remaining in self._terms.linear(*place):
            for term in self.after(remaining):
                if term is self._terms.EMPTY:
                    continue
                if term.bounded:
                    kinds = [(AFTER_WORD, classes.WORD), (AFTER_OTHER, classes.NOT_WORD)]
                    onward = [((term, kind), self._terms.chars(chars.members & part)) for kind, part in kinds]
                else:
                    onward = [((term, OTHER), chars)]
                for target, part in onward:
                    if type(part) is Chars:
                        found[target] = min(part.least_bytes, found.get(target, 4))
                        if not term.conditional:
                            self._nearest.settle(target, term.least_bytes)
        self._onward[place] = found
        return found

    def _edges(self, place: Place) -> Iterable[tuple[Place, int]]:
        return self._steps(place).items()

    def shortest(self, place: Place) -> int | None:
        """Fewest bytes to acceptance; None when there is no way.

        Raises:
            ResourceLimitError: the search met more than `nearest.MAX_SEARCH` places.
        """
        if not place[0].conditional:
            return None if place[0] is self._terms.EMPTY else place[0].least_bytes
        return self._nearest.distance(place)

    def lengths(self, place: Place) -> LengthSet:
        """The numbers of code points to acceptance."""
        return self._graph.lengths(place)

    def _live_steps(self, place: Place) -> list[Place]:
        if not place[0].conditional:
            return []
        return [p for p in self._steps(place) if self.shortest(p) is not None]

    def _ends(self, place: Place) -> LengthSet:
        """Lengths by ending here, or all of them without conditions."""
        if not place[0].conditional:
            return self._terms.lengths(place[0])
        return length_sets.ZERO_ONLY if self.accepts(place) else length_sets.NO_LENGTHS
