"""Products of text languages: texts in several languages and in none of several others.

Components run side by side; a state is the tuple of theirs, between two characters. Components are trimmed, but a
tuple of live states need not be live (`^a` and `b$` meet, `^a` and `^b` do not), so each new tuple is searched for a
way to acceptance, nearest first. Every answer is kept: a way found settles all tuples along it, a search that ends
without one settles all it met.

Formats count (octets of a label, of a name) and remember (the minutes of a day), so their products are large. Searches
in them are guided: components that have an *outline*, a superset with few states, get the product of the outlines as
one more component. It is small, so what it excludes is found at once, and it knows how far it is to acceptance.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from ..errors import ResourceLimitError
from ..regex import classes
from ..regex import lengths as length_sets
from ..regex.classes import EVERY, FIRST_SURROGATE, LAST, LAST_SURROGATE, CodePoints
from ..regex.graph_lengths import GraphLengths
from ..regex.nearest import MAX_LATER_SEARCH, Nearest
from ..regex.shapes import texts_over
from ..regex.utf8 import ClassRepeat, CodePointLanguage, Segments, cheapest_of, is_plain
from .base import ALL_LENGTHS, DEAD, LengthSet

MAX_LENGTH_NODES = 2_000
"""Most tuples that are looked at for the lengths of a product."""
FEW_LENGTH_NODES = 64
"""So many take little time."""

Tuple = tuple[int, ...]
Steps = list[tuple[int, int, Tuple]]
"""Sorted disjoint ranges of code points, and the tuple after each."""


class Product(CodePointLanguage):
    """The texts in the first `required` of `components` and in none of the others; with None in all of them.

    One that is only ever `entered` at other states has no start, and nothing guides its searches.

    Raises:
        ResourceLimitError: whether there is any text takes more than `nearest.MAX_SEARCH` states to decide.
    """

    def __init__(
        self, components: tuple[CodePointLanguage, ...], required: int | None, *, entered: bool = False
    ) -> None:
        super().__init__()
        self.components = components
        self.required = required
        needed = len(components) if required is None else required
        guide = None if entered else _guide(components, needed)
        self._parts = components if guide is None else (*components[:needed], guide, *components[needed:])
        self._own = needed
        self._needed = needed if guide is None else needed + 1
        self._same = [
            (i, j)
            for i in range(needed)
            for j in range(self._needed, len(self._parts))
            if self._parts[i] is self._parts[j]
        ]
        lengths = [part.quick_lengths(part.start)[0] for part in self._parts[: self._needed]]
        # Whether some component's texts end at some length, so that others' can be too long for it.
        self._finite = len(lengths) > 1 and any(not each.bits >> each.preperiod for each in lengths)
        self._tuples: dict[int, Tuple] = {DEAD: (DEAD,) * len(self._parts)}
        self._states: dict[Tuple, int] = {}
        self._onward: dict[Tuple, Steps] = {}
        self._nearer: dict[Tuple, list[tuple[Tuple, int]]] = {}
        self._without_counts: dict[tuple[int, CodePoints], Product] = {}
        self._nearest = Nearest(
            self._edges, self._accepts, self._bound, "a text meets all its conditions", rank=self._rank
        )
        self._graph = GraphLengths(self._live_steps, self._ends)
        self._graph.limit = MAX_LENGTH_NODES
        self.start = DEAD if entered else self._state(tuple(part.start for part in self._parts))
        self._nearest.limit = MAX_LATER_SEARCH
        self._entered = entered

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return functools.partial(Product, entered=self._entered), (self.components, self.required)

    def entered(self, at: Tuple) -> int:
        """The state where the components are in these states, each between two characters.

        Raises:
            ResourceLimitError: whether any text follows takes too many states to decide.
        """
        with self._lock:
            return self._state(at)

    # Tuples of components' states

    def padding(self, state: int) -> int | None:
        at = self._tuples.get(state)
        if at is None or state == DEAD:
            return None
        needed, parts = self._needed, self._parts
        narrow = [(part, s) for part, s in zip(parts[:needed], at[:needed], strict=True) if not part.universal(s)]
        own = 0 if not narrow else None if len(narrow) > 1 else narrow[0][0].padding(narrow[0][1])
        if own is None:
            return None
        # With a code point behind it that none of the others knows, no text is in any of them, however it goes on.
        barred = [(part, s) for part, s in zip(parts[needed:], at[needed:], strict=True) if s != DEAD]
        return 1 + own if leave_out(barred) else None

    def _viable(self, at: Tuple) -> bool:
        """False when the tuple is evidently dead."""
        needed, parts = self._needed, self._parts
        for index in range(needed, len(parts)):
            if at[index] and parts[index].universal(at[index]):
                return False
        return not any(at[i] == at[j] for i, j in self._same)

    def _accepts(self, at: Tuple) -> bool:
        needed = self._needed
        for index, (part, state) in enumerate(zip(self._parts, at, strict=True)):
            if (state != DEAD and part.accepting(state)) != (index < needed):
                return False
        return True

    def _steps_from(self, at: Tuple) -> Steps:
        """Where code points lead: tuples that are not evidently dead."""
        found = self._onward.get(at)
        if found is None:
            found = self._onward[at] = self._merged(at)
        return found

    def _merged(self, at: Tuple) -> Steps:
        needed, parts = self._needed, self._parts
        steps: Steps = [(a, b, (to,)) for a, b, to in parts[0].segments(at[0])]
        for index in range(1, len(parts)):
            state = at[index]
            if not state:
                steps = [(a, b, (*to, DEAD)) for a, b, to in steps]
            else:
                steps = joined(steps, parts[index].segments(state), index < needed)
        viable: dict[Tuple, bool] = {}
        out: Steps = []
        for a, b, to in steps:
            ok = viable.get(to)
            if ok is None:
                ok = viable[to] = self._viable(to)
            if ok:
                if out and out[-1][2] == to and out[-1][1] == a - 1:
                    out[-1] = (out[-1][0], b, to)
                else:
                    out.append((a, b, to))
        return out

    def _edges(self, at: Tuple) -> Iterable[tuple[Tuple, int]]:
        found = self._nearer.get(at)
        if found is None:
            found = self._nearer[at] = list(self._new_edges(at))
        return found

    def _new_edges(self, at: Tuple) -> Iterable[tuple[Tuple, int]]:
        if self._finite and not self.quick_lengths_of(at)[0].bits:
            return ()
        cheapest: dict[Tuple, int] = {}
        for first, last, to in self._steps_from(at):
            cost = classes.least_bytes(((first, last),))
            if cost < cheapest.get(to, 5):
                cheapest[to] = cost
        return cheapest.items()

    def _bound(self, at: Tuple) -> int:
        """No fewer bytes than this lead to acceptance."""
        return max(part.shortest(state) for part, state in zip(self._parts, at[: self._needed], strict=False))

    def _rank(self, at: Tuple) -> int:
        return sum(part.shortest(state) for part, state in zip(self._parts, at[: self._needed], strict=False))

    def _distance(self, at: Tuple) -> int | None:
        """Fewest bytes to acceptance; None when the tuple is dead."""
        if DEAD in at[: self._needed] or not self._viable(at):
            return None
        alone = self._alone(at)
        return self._nearest.distance(at) if alone is None else self._parts[alone].shortest(at[alone])

    def _alone(self, at: Tuple) -> int | None:
        """The component that alone decides from here on, the others being settled; None when there are several."""
        if any(at[self._needed :]):
            return None
        open_ones = [i for i in range(self._own) if not self._parts[i].universal(at[i])]
        return None if len(open_ones) > 1 else open_ones[0] if open_ones else 0

    # States

    def _live(self, at: Tuple) -> bool:
        """Whether the tuple is live: mostly plain without a search."""
        if DEAD in at[: self._needed] or not self._viable(at):
            return False
        if self._alone(at) is not None or self._accepts(at):
            return True
        if all(part.universal(state) for part, state in zip(self._parts, at[: self._needed], strict=False)):
            # A length that nothing excluded has will do, or a code point that it does not go on with.
            unsettled = [(self._parts[i], at[i]) for i in range(self._needed, len(at)) if at[i]]
            excluded = length_sets.NO_LENGTHS
            for part, state in unsettled:
                excluded = length_sets.union(excluded, part.quick_lengths(state)[0])
            if excluded != ALL_LENGTHS:
                return True
            if len(unsettled) == 1:
                part, state = unsettled[0]
                if sum(last - first + 1 for first, last, _ in part.segments(state)) < _CODE_POINTS:
                    return True
        return self._nearest.lives(at)

    def _state(self, at: Tuple) -> int:
        state = self._states.get(at)
        if state is None:
            if not self._live(at):
                state = DEAD
            else:
                state = self._new_state()
                self._tuples[state] = at
            self._states[at] = state
        return state

    def _segments(self, state: int) -> Segments:
        out: Segments = []
        for first, last, at in self._steps_from(self._tuples[state]):
            to = self._state(at)
            if not to:
                continue
            if out and out[-1][2] == to and out[-1][1] == first - 1:
                out[-1] = (out[-1][0], last, to)
            else:
                out.append((first, last, to))
        return out

    # The contract

    def accepting(self, state: int) -> bool:
        at = self._tuples.get(state)
        return state != DEAD and at is not None and self._accepts(at)

    def universal(self, state: int) -> bool:
        at = self._tuples.get(state)
        if state == DEAD or at is None or any(at[self._needed :]):
            return False
        return all(part.universal(s) for part, s in zip(self._parts, at[: self._own], strict=False))

    def alphabet(self, state: int) -> CodePoints:
        sets = [part.alphabet(s) for part, s in zip(self._parts, self._tuples[state][: self._own], strict=False)]
        found = sets[0]
        for each in sets[1:]:
            found = found & each
        return found

    def _shortest_between(self, state: int) -> int:
        return self._distance(self._tuples[state]) or 0

    def nearest_step(self, state: int) -> tuple[int, int]:
        at = self._tuples[state]
        steps = self._steps_from(at)
        alone = self._alone(at)
        if alone is not None:
            code, _ = self._parts[alone].nearest_step(at[alone])
            return code, next(self._state(to) for first, last, to in steps if first <= code <= last)
        code, after = known_step(self._nearest, at, self._distance(at), steps)
        return code, self._state(after)

    def quick_lengths(self, state: int) -> tuple[LengthSet, bool]:
        return self.quick_lengths_of(self._tuples[state])

    def quick_lengths_of(self, at: Tuple) -> tuple[LengthSet, bool]:
        """As `quick_lengths`, for the components' states."""
        alone = self._alone(at)
        if alone is not None:
            return self._parts[alone].quick_lengths(at[alone])
        found = ALL_LENGTHS
        for part, state in zip(self._parts, at[: self._needed], strict=False):
            more = part.quick_lengths(state)[0]
            if max(more.period, found.period) <= _MAX_PERIOD:
                found = length_sets.intersection(found, more)
        return found, False

    def _lengths_between(self, state: int) -> LengthSet:
        """See the contract. Found by stepping, but counted repeats of one class are taken apart.

        Raises:
            ResourceLimitError: more than `MAX_LENGTH_NODES` tuples.
        """
        return length_sets.NO_LENGTHS if state == DEAD else self._graph.lengths(self._tuples[state])

    def knows_lengths(self) -> bool:
        """Whether the lengths of all states are found in little time."""
        self._graph.limit = FEW_LENGTH_NODES
        try:
            self.lengths(self.start)
        except ResourceLimitError:
            return False
        finally:
            self._graph.limit = MAX_LENGTH_NODES
        return True

    def _live_steps(self, at: Tuple) -> list[Tuple]:
        if self._alone(at) is not None or self._counted(at) is not None:
            return []
        return [to for to in dict.fromkeys(to for _, _, to in self._steps_from(at)) if self._live(to)]

    def _ends(self, at: Tuple) -> LengthSet:
        if DEAD in at[: self._needed]:
            return length_sets.NO_LENGTHS
        alone = self._alone(at)
        if alone is not None:
            return self._parts[alone].lengths(at[alone])
        counted = self._counted(at)
        if counted is None:
            return length_sets.ZERO_ONLY if self._accepts(at) else length_sets.NO_LENGTHS
        # C{n,m} is C* of n to m characters.
        index, (members, low, high) = counted
        if index < self._needed and self._among(members, at, index):
            members = EVERY
        product = self._uncounted(index, members)
        found = product.lengths_from((*at[:index], product._parts[index].start, *at[index + 1 :]))
        window = length_sets.interval(low, high)
        if index < self._needed:
            return length_sets.intersection(found, window)
        without = self.lengths_from((*at[:index], DEAD, *at[index + 1 :]))
        return length_sets.union(found, length_sets.intersection(without, length_sets.complement(window)))

    def lengths_from(self, at: Tuple) -> LengthSet:
        """As `lengths`, for the components' states, each between two characters."""
        with self._lock:
            return self._graph.lengths(at) if self._live(at) else length_sets.NO_LENGTHS

    def _counted(self, at: Tuple) -> tuple[int, ClassRepeat] | None:
        """A component from which on so many characters of one class follow, unless any number of them does."""
        if self._own != self._needed:
            return None  # with a guide, another product would have another one
        for index, (part, state) in enumerate(zip(self._parts, at, strict=True)):
            if state != DEAD:
                shape = part.class_repeat(state)
                if shape is not None and shape[1:] != (0, None):
                    return index, shape
        return None

    def _among(self, members: CodePoints, at: Tuple, index: int) -> bool:
        """Whether a required component other than that at `index` sees to it that only `members` come."""
        return any(
            i != index and part.alphabet(state) <= members
            for i, (part, state) in enumerate(zip(self._parts, at[: self._needed], strict=False))
        )

    def _uncounted(self, index: int, members: CodePoints) -> Product:
        """This product with the texts over `members` in place of one component."""
        key = (index, members)
        found = self._without_counts.get(key)
        if found is None:
            other = texts_over(members)
            assert isinstance(other, CodePointLanguage)
            components = (*self.components[:index], other, *self.components[index + 1 :])
            found = self._without_counts[key] = Product(components, self.required)
        return found


def leave_out(languages: Iterable[tuple[CodePointLanguage, int]]) -> bool:
    """Whether there is a code point that none of these languages knows from their states, between characters, on."""
    known = CodePoints(())
    for language, state in languages:
        known |= language.alphabet(state)
        if known == EVERY:
            return False
    return True


_CODE_POINTS = LAST - (LAST_SURROGATE - FIRST_SURROGATE)
_MAX_PERIOD = 64  # beyond that, intersecting sets of lengths costs more than it tells


def _guide(components: tuple[CodePointLanguage, ...], needed: int) -> CodePointLanguage | None:
    """The product of the components' outlines; None where there are none, or where it says no more than they do."""
    if not any(part.outline is not None for part in components[:needed]):
        return None
    wanted = tuple(dict.fromkeys(part if part.outline is None else part.outline for part in components[:needed]))
    unwanted = tuple(part for part in components[needed:] if part.outline is None)
    if len(wanted) + len(unwanted) < 2 or any(type(part) is Product for part in unwanted):
        return None
    try:
        return Product((*wanted, *unwanted), len(wanted))
    except ResourceLimitError:
        return None


def known_step(
    nearest: Nearest[Tuple], at: Tuple, distance: int | None, steps: Iterable[tuple[int, int, Tuple]]
) -> tuple[int, Tuple]:
    """The first code point of a shortest way from `at`, along what the search for its distance found."""
    best = -1, at
    for first, last, to in steps:
        code = cheapest_of(first, last)
        rest = nearest.known(to)
        if rest is not None and rest + classes.least_bytes(((code, code),)) == distance:
            best = code, to
            if is_plain(code):
                break
    return best


def joined(steps: Steps, segments: Segments, required: bool) -> Steps:
    """Ranges cut where either changes, `segments` adding to the tuples: DEAD where it has none, unless `required`."""
    out: Steps = []
    count, at = len(segments), 0
    for first, last, to in steps:
        while at < count and segments[at][1] < first:
            at += 1
        index = at
        while first <= last:
            if index == count or segments[index][0] > last:
                if not required:
                    out.append((first, last, (*to, DEAD)))
                break
            start, stop, target = segments[index]
            if start > first:
                if not required:
                    out.append((first, start - 1, (*to, DEAD)))
                first = start
            end = min(stop, last)
            out.append((first, end, (*to, target)))
            first = end + 1
            index += 1
    return out
