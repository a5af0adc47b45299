"""Terms whose conditions could not be resolved: what remains possible is found by search.

Without conditions a term tells its shortest text and its lengths by itself. With a word boundary, or an anchor under
a repeat, it may be dead without looking so, and the search goes over pairs (term, what stands before) until it meets
terms without conditions, which know the rest.
"""

from __future__ import annotations

import heapq

from ..errors import ResourceLimitError
from ..languages.base import LengthSet
from . import classes
from . import lengths as length_sets
from .terms import AFTER_OTHER, AFTER_WORD, AT, END_NEXT, NOT_AT, OTHER, Chars, Term, Terms, Union

MAX_SEARCH = 100_000
"""Most pairs one search looks at."""

Place = tuple[Term, int]
"""A term and what stands before it."""


class Conditions:
    """Search over the conditional terms of one pattern. Not thread-safe."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._onward: dict[Place, dict[Place, int]] = {}
        self._shortest: dict[Place, int | None] = {}
        self._free: dict[Place, list[Term]] = {}

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
        self._onward[place] = found
        return found

    def shortest(self, place: Place) -> int | None:
        """Fewest bytes to acceptance; None when there is no way.

        Raises:
            ResourceLimitError: the search met more than `MAX_SEARCH` places.
        """
        if not place[0].conditional:
            return None if place[0] is self._terms.EMPTY else place[0].least_bytes
        if place in self._shortest:
            return self._shortest[place]
        # Dijkstra; `distance` from `place`. A known remainder is an edge to the goal, which is None.
        distance: dict[Place | None, int] = {place: 0}
        came_from: dict[Place | None, Place] = {}
        queue: list[tuple[int, int, Place | None]] = [(0, 0, place)]
        done: set[Place] = set()
        ticket = 0
        while queue:
            so_far, _, at = heapq.heappop(queue)
            if at is None:
                node: Place | None = None
                while node != place:
                    node = came_from[node]
                    self._shortest[node] = so_far - distance[node]
                return so_far
            if at in done:
                continue
            done.add(at)
            if len(done) > MAX_SEARCH:
                raise ResourceLimitError(
                    "",
                    "pattern",
                    f"whether its conditions can be met takes more than {MAX_SEARCH} states to decide",
                    f"search {MAX_SEARCH}",
                )
            edges: list[tuple[Place | None, int]] = list(self._steps(at).items())
            if self.accepts(at):
                edges.append((None, 0))
            for target, cost in edges:
                if target is not None and (not target[0].conditional or target in self._shortest):
                    known = self.shortest(target)
                    if known is None:
                        continue
                    target, cost = None, cost + known
                if so_far + cost < distance.get(target, so_far + cost + 1):
                    distance[target] = so_far + cost
                    came_from[target] = at
                    ticket += 1
                    heapq.heappush(queue, (so_far + cost, ticket, target))
        for dead in done:
            self._shortest[dead] = None
        return None

    def lengths(self, place: Place) -> LengthSet:
        """The numbers of code points to acceptance."""
        return length_sets.layered([place], self._conditional_steps, self._inside)

    def _conditional_steps(self, place: Place) -> list[Place]:
        return [p for p in self._steps(place) if p[0].conditional and self.shortest(p) is not None]

    def _inside(self, place: Place) -> LengthSet:
        """Lengths by ending here, or by leaving for terms without conditions."""
        found = length_sets.ZERO_ONLY if self.accepts(place) else length_sets.NO_LENGTHS
        for term, _ in self._steps(place):
            if not term.conditional:
                found = length_sets.union(found, length_sets.shift(self._terms.lengths(term), 1))
        return found
