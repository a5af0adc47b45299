"""Patterns with lookarounds as text languages: an alternating automaton, determinised on demand.

A lookahead is a question about the rest of the text, and so is what remains to be matched. So what remains is a
*clause*: a term, and *duties*, other states of the same automaton which must, or must not, accept the rest too. A
state is a set of clauses, one of which has to come true. A lookahead at a place adds a duty: the state of its body
followed by any text. Duties move on with every code point; one that accepts whatever comes is dropped, one that
accepts nothing takes its clause along. Each is deterministic by itself, so "must not" is as simple as "must".

A lookbehind is a question about what was read. A *tracker* runs "any text, then the body" from the start of the text
on, and travels with the states that may ask for it. What its clauses still ask of the rest where the body ends (a
lookahead or an anchor inside) is once more a duty.

Live terms do not make a live clause: `a+` and the duty to contain no `a` do not go together. So each new clause is
searched for a way to acceptance (see `nearest`), as a product of languages would be.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from ..languages.base import DEAD, LengthSet
from . import classes
from . import lengths as length_sets
from .classes import CodePoints
from .covers import Covers
from .graph_lengths import GraphLengths
from .guards import Guards
from .lazy_dfa import Origin, merged_segments
from .nearest import MAX_LATER_SEARCH, Nearest
from .terms import (
    AFTER_OTHER,
    AFTER_WORD,
    ANYTHING_NEXT,
    AT,
    END_NEXT,
    NOT_AT,
    OTHER,
    OTHER_NEXT,
    START,
    UNKNOWN,
    WORD_NEXT,
    Look,
    Term,
    Terms,
    Union,
    class_repeat,
    padding,
)
from .utf8 import ClassRepeat, CodePointLanguage, Segments

Duties = frozenset[int]
"""States, doubled, plus one for those that must not accept."""

Trackers = tuple[tuple[Look, int], ...]


class Context(NamedTuple):
    """What stands before a place: the kind of neighbour (see `terms`), and the trackers of lookbehinds."""

    before: int
    trackers: Trackers


class Clause(NamedTuple):
    """What remains of one way to match: a term, and what else must hold for the rest of the text."""

    term: Term
    duties: Duties


class Place(NamedTuple):
    """A clause after a context, as far as it asks for one."""

    clause: Clause
    context: Context


class Tracker(NamedTuple):
    """What is under way of a lookbehind."""

    clauses: frozenset[Clause]
    context: Context


Ranges = list[tuple[int, int]]
Step = tuple[Ranges, frozenset[Clause], Context]
"""After a code point in the ranges, these clauses remain, in this context."""

_NO_DUTIES: Duties = frozenset()
_NOWHERE = Context(OTHER, ())
_UNKNOWN: Final = LengthSet(0, 0, 0)


class AlternatingLanguage(CodePointLanguage):
    """The language of a pattern with lookarounds. Pickled by way of its origin: the numbers of states are not kept."""

    def __init__(self, origin: Origin, terms: Terms, term: Term) -> None:
        super().__init__()
        self._origin = origin
        self._terms, self._guards = terms, Guards(terms)
        self._clauses: dict[int, tuple[Clause, ...]] = {DEAD: ()}
        self._contexts: dict[int, Context] = {DEAD: _NOWHERE}
        self._accepting: set[int] = set()
        self._states: dict[tuple[Context, frozenset[Clause]], int] = {}
        self._asked: dict[tuple[Context, frozenset[Clause]], int] = {}
        self._duties: dict[tuple[Look, Context], int] = {}
        self._tracked = [Tracker(frozenset(), _NOWHERE)]
        self._tracker_ids: dict[Tracker, int] = {}
        self._tracker_steps: dict[int, Segments] = {}
        self._partitions: dict[tuple[object, ...], dict[tuple[int, ...], Ranges]] = {}
        self._covers = Covers(terms)
        self._plain: dict[Clause, LengthSet | None] = {}
        self._onward: dict[Place, list[tuple[Place, int]]] = {}
        self._nearest = Nearest(self._edges, self._accepts, self._bound, "its lookarounds can all be met")
        self._graph = GraphLengths(self._live_edges, self._ends)
        self._all = self._state(frozenset((Clause(terms.ANY_STAR, _NO_DUTIES),)), _NOWHERE)
        trackers: dict[Look, int] = {}
        for look in sorted(term.looks, key=_serial):  # those inside come before those around them
            if not look.ahead:
                trackers[look] = self._tracker(
                    frozenset((Clause(look.body, _NO_DUTIES),)), Context(START, tuple(trackers.items()))
                )
        self.start = self._state(frozenset((Clause(term, _NO_DUTIES),)), Context(START, tuple(trackers.items())))
        self._nearest.limit = MAX_LATER_SEARCH

    def __reduce__(self) -> tuple[object, tuple[str | tuple[str, ...]]]:
        return self._origin.make, (self._origin.pattern,)

    def __repr__(self) -> str:
        return repr(self._origin)

    # Contexts

    @staticmethod
    def _narrow(context: Context, terms: Iterable[Term]) -> Context:
        """The part of `context` that `terms` ask for."""
        conditional = bounded = False
        looks: frozenset[Look] = frozenset()
        for term in terms:
            if term.conditional:
                conditional = True
                bounded |= term.bounded
                looks |= term.looks
        before = context.before
        if before != OTHER and not bounded and not (conditional and before == START):
            before = OTHER
        trackers = context.trackers
        if trackers and not all(look in looks for look, _ in trackers):
            trackers = tuple(pair for pair in trackers if pair[0] in looks)
        return Context(before, trackers)

    # Duties

    def _added(self, duties: set[int], state: int, negated: bool) -> bool:
        """Add a duty unless it is settled; False when it cannot be met."""
        if state == DEAD or state == self._all:
            return (state == DEAD) == negated
        duty = state << 1 | negated
        duties.add(duty)
        return duty ^ 1 not in duties

    def _with_looks(self, duties: Duties, looks: frozenset[Look], context: Context) -> Duties | None:
        """The duties with those of lookarounds at a place; None when they cannot all be met."""
        if not looks:
            return duties
        found = set(duties)
        for look in sorted(looks, key=_serial):
            if not self._added(found, self._asked_by(look, context), look.negated):
                return None
        return frozenset(found)

    def _asked_by(self, look: Look, context: Context) -> int:
        """The state, at a place, of the texts for which the lookaround holds there, were it not negated."""
        context = self._narrow(context, (look,))
        key = (look, context)
        state = self._duties.get(key)
        if state is None:
            if look.ahead:
                state = self._state(frozenset((Clause(look.body, _NO_DUTIES),)), context)
            else:
                tracker = self._tracked[dict(context.trackers)[look]]
                clauses = set()
                for term, duties in _ordered(tracker.clauses):
                    for bits, looks in self._guards.gaps(term, tracker.context.before):
                        all_duties = self._with_looks(duties, looks, tracker.context)
                        if all_duties is not None:
                            clauses.add(Clause(self._any_text(bits), all_duties))
                state = self._state(frozenset(clauses), _NOWHERE)
            self._duties[key] = state
        return state

    def _any_text(self, following: int) -> Term:
        """Any text that begins as `following` says."""
        terms = self._terms
        if following == ANYTHING_NEXT:
            return terms.ANY_STAR
        options = [terms.EPSILON] if following & END_NEXT else []
        for bit, members in ((WORD_NEXT, classes.WORD), (OTHER_NEXT, classes.NOT_WORD)):
            if following & bit:
                options.append(terms.concat(terms.chars(members), terms.ANY_STAR))
        return terms.union(options)

    # Steps

    def _advance(self, clauses: Iterable[Clause], context: Context) -> list[Step]:
        """What remains after each code point, clauses that are evidently dead left out."""
        parts: dict[object, int] = {}
        pieces: list[Segments] = []

        def part(key: object, segments: Segments) -> int:
            index = parts.get(key)
            if index is None:
                index = parts[key] = len(pieces)
                pieces.append(segments)
            return index

        entries: list[tuple[int, Term, list[tuple[int, bool]]]] = []
        bounded = False
        for term, duties in clauses:
            bounded |= term.bounded
            for chars, after, looks in self._guards.linear(term, context.before):
                all_duties = self._with_looks(duties, looks, context)
                if all_duties is None:
                    continue
                onward = [(part(d >> 1, self.segments(d >> 1)), bool(d & 1)) for d in all_duties]
                entries.append((part(chars, [(a, b, 1) for a, b in chars.members.ranges]), after, onward))
        words = part(bool, [(a, b, 1) for a, b in classes.WORD.ranges]) if bounded else -1
        trackers = [
            (look, part((look, tracker), self._tracker_segments(tracker))) for look, tracker in context.trackers
        ]
        steps = []
        key = tuple(parts)
        cells = self._partitions.get(key)
        if cells is None:
            cells = self._partitions[key] = _cells(pieces)
        for values, ranges in cells.items():
            remaining = set()
            for chosen, after, onward in entries:
                if values[chosen]:
                    duties_after: set[int] = set()
                    if all(self._added(duties_after, values[at], negated) for at, negated in onward):
                        remaining.add(Clause(after, frozenset(duties_after)))
            before = OTHER if words < 0 else AFTER_WORD if values[words] else AFTER_OTHER
            steps.append(
                (ranges, frozenset(remaining), Context(before, tuple((look, values[at]) for look, at in trackers)))
            )
        return steps

    # Trackers

    def _tracker(self, clauses: frozenset[Clause], context: Context) -> int:
        remaining: set[Clause] = set()
        for term, duties in _ordered(clauses):
            resolved = self._terms.resolve(term, AT if context.before == START else NOT_AT, UNKNOWN)
            for option in _options(resolved):
                if option is not self._terms.EMPTY:
                    remaining.add(Clause(option, duties))
        remaining = self._weakest(remaining)
        tracker = Tracker(frozenset(remaining), self._narrow(context, (c.term for c in remaining)))
        found = self._tracker_ids.get(tracker)
        if found is None:
            found = self._tracker_ids[tracker] = len(self._tracked)
            self._tracked.append(tracker)
        return found

    def _tracker_segments(self, tracker: int) -> Segments:
        found = self._tracker_steps.get(tracker)
        if found is None:
            clauses, context = self._tracked[tracker]
            steps = self._advance(_ordered(clauses), context)
            targets = [(ranges, self._tracker(after, beyond)) for ranges, after, beyond in steps]
            found = self._tracker_steps[tracker] = merged_segments(targets)
        return found

    # States

    def _state(self, clauses: frozenset[Clause], context: Context) -> int:
        """The state of a set of clauses in a context; DEAD when none of them can come true."""
        asked = (context, clauses)
        state = self._asked.get(asked)
        if state is None:
            state = self._asked[asked] = self._new_state_of(self._live(clauses, context), context)
        return state

    def _new_state_of(self, clauses: set[Clause], context: Context) -> int:
        if not clauses:
            return DEAD
        context = self._narrow(context, (clause.term for clause in clauses))
        key = (context, frozenset(clauses))
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = self._new_state()
            ordered = _ordered(clauses)
            self._clauses[state], self._contexts[state] = tuple(ordered), context
            if any(self._accepts(Place(clause, context)) for clause in ordered):
                self._accepting.add(state)
        return state

    def _live(self, clauses: frozenset[Clause], context: Context) -> set[Clause]:
        """Options taken apart, conditions resolved as far as the place allows, dead clauses left out."""
        whole = Clause(self._terms.ANY_STAR, _NO_DUTIES)
        if whole in clauses:
            return {whole}
        out: set[Clause] = set()
        for clause in self._split(clauses, context):
            if self._nearest.distance(self._place(clause, context)) is not None:
                out.add(clause)
        by_duties: dict[Duties, set[Term]] = {}
        for term, duties in out:
            by_duties.setdefault(duties, set()).add(term)
        for duties, terms in by_duties.items():
            if len(terms) > 1:
                merged = self._terms.merged(terms)
                if merged is not terms:
                    out.difference_update([Clause(term, duties) for term in terms])
                    out.update(Clause(term, duties) for term in merged)
        return self._weakest(out)

    def _split(self, clauses: frozenset[Clause], context: Context) -> list[Clause]:
        """The options of clauses, with the anchors resolved that the place decides."""
        left = AT if context.before == START else NOT_AT
        empty = self._terms.EMPTY
        return [
            Clause(option, duties)
            for term, duties in _ordered(clauses)
            for option in _options(self._terms.resolve(term, left, AT))
            if option is not empty
        ]

    def _place(self, clause: Clause, context: Context) -> Place:
        return Place(clause, self._narrow(context, (clause.term,)))

    def _weakest(self, clauses: set[Clause]) -> set[Clause]:
        """Without clauses that ask for more than another one does."""
        any_star = self._terms.ANY_STAR
        by_term: dict[Term, list[Duties]] = {}
        for term, duties in clauses:
            by_term.setdefault(term, []).append(duties)
        if len(by_term) == len(clauses) and any_star not in by_term:
            return clauses
        any_text = by_term.get(any_star, [])
        out = set()
        for term, options in by_term.items():
            for duties in options:
                if any(fewer < duties for fewer in options):
                    continue
                if term is any_star or not any(fewer <= duties for fewer in any_text):
                    out.add(Clause(term, duties))
        return out

    def _segments(self, state: int) -> Segments:
        steps = self._advance(self._clauses[state], self._contexts[state])
        return merged_segments(
            [(ranges, self._state(clauses, context)) for ranges, clauses, context in steps if clauses]
        )

    # Places: the search for acceptance

    def _edges(self, place: Place) -> list[tuple[Place, int]]:
        found = self._onward.get(place)
        if found is None:
            cheapest: dict[Place, int] = {}
            for ranges, clauses, context in self._advance((place.clause,), place.context):
                cost = classes.least_bytes(ranges)
                for clause in self._split(clauses, context):
                    target = self._place(clause, context)
                    cheapest[target] = min(cost, cheapest.get(target, cost))
            found = self._onward[place] = list(cheapest.items())
            for target in cheapest:
                if not target.clause.duties and not target.clause.term.conditional:
                    self._nearest.settle(target, target.clause.term.least_bytes)
        return found

    def _accepts(self, place: Place) -> bool:
        """Whether the text may end at the place."""
        (term, duties), context = place
        if not all((duty >> 1 in self._accepting) != duty & 1 for duty in duties):
            return False
        return any(
            bits & END_NEXT
            and all((self._asked_by(look, context) in self._accepting) != look.negated for look in looks)
            for bits, looks in self._guards.gaps(term, context.before)
        )

    def _bound(self, place: Place) -> int:
        term, duties = place.clause
        return max([term.least_bytes, *(self.shortest(duty >> 1) for duty in duties if not duty & 1)])

    # The contract

    def accepting(self, state: int) -> bool:
        return state in self._accepting

    def universal(self, state: int) -> bool:
        return state == self._all

    def padding(self, state: int) -> int | None:
        clauses = self._clauses.get(state, ())
        found = [n for n in (padding(self._terms, c.term) for c in clauses if not c.duties) if n is not None]
        return min(found) if found else None

    def class_repeat(self, state: int) -> ClassRepeat | None:
        clauses = self._clauses.get(state, ())
        return class_repeat(clauses[0].term) if len(clauses) == 1 and not clauses[0].duties else None

    def alphabet(self, state: int) -> CodePoints:
        with self._lock:
            return self._covers.alphabet_of(clause.term for clause in self._clauses[state])

    def _places(self, state: int) -> list[Place]:
        return [self._place(clause, self._contexts[state]) for clause in self._clauses[state]]

    def _shortest_between(self, state: int) -> int:
        return min((n for n in map(self._nearest.distance, self._places(state)) if n is not None), default=0)

    def _lengths_between(self, state: int) -> LengthSet:
        found = length_sets.NO_LENGTHS
        for place in self._places(state):
            found = length_sets.union(found, self._graph.lengths(place))
        return found

    def _ends(self, place: Place) -> LengthSet:
        """Lengths by ending at the place, or all of them where they are plain."""
        plain = self._plain_lengths(place.clause)
        if plain is not None:
            return plain
        return length_sets.ZERO_ONLY if self._accepts(place) else length_sets.NO_LENGTHS

    def _live_edges(self, place: Place) -> list[Place]:
        if self._plain_lengths(place.clause) is not None:
            return []
        return [target for target, _ in self._edges(place) if self._nearest.distance(target) is not None]

    def _plain_lengths(self, clause: Clause) -> LengthSet | None:
        """The lengths of a clause whose duties only ask for lengths of what its term can match; None for others."""
        found = self._plain.get(clause, _UNKNOWN)
        if found is _UNKNOWN:
            found = self._plain[clause] = self._find_plain_lengths(clause)
        return found

    def _find_plain_lengths(self, clause: Clause) -> LengthSet | None:
        term, duties = clause
        if term.conditional:
            return None
        found = self._terms.lengths(term)
        for duty in sorted(duties):
            allowed = length_sets.NO_LENGTHS
            for other, more in self._clauses[duty >> 1]:
                part = None if more else self._covers.lengths(other, self._covers.alphabet(term))
                if part is None:
                    return None
                allowed = length_sets.union(allowed, part)
            found = length_sets.intersection(found, length_sets.complement(allowed) if duty & 1 else allowed)
        return found


def _options(term: Term) -> tuple[Term, ...]:
    return term.options if type(term) is Union else (term,)


def _ordered(clauses: Collection[Clause]) -> list[Clause]:
    """In an order that does not depend on addresses in memory, so that runs number their states alike."""
    if len(clauses) < 2:
        return list(clauses)
    return sorted(clauses, key=lambda clause: (clause.term.serial, sorted(clause.duties)))


def _serial(term: Term) -> int:
    return term.serial


def _cells(parts: list[Segments]) -> dict[tuple[int, ...], Ranges]:
    """The ranges of code points on which every one of `parts` has one value; 0 where it has none."""
    stops: dict[int, list[int]] = {}
    starts: dict[int, list[tuple[int, int]]] = {}
    for index, segments in enumerate(parts):
        for first, last, value in segments:
            starts.setdefault(first, []).append((index, value))
            stops.setdefault(last + 1, []).append(index)
    values = [0] * len(parts)
    cells: dict[tuple[int, ...], Ranges] = {}
    at, ranges = 0, None
    for point in sorted(starts.keys() | stops.keys()):
        if ranges is not None:
            ranges.append((at, point - 1))
        for index in stops.get(point, ()):
            values[index] = 0
        for index, value in starts.get(point, ()):
            values[index] = value
        at, ranges = point, cells.setdefault(tuple(values), []) if any(values) else None
    return cells
