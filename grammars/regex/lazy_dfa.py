"""Patterns as text languages, determinised on demand.

A state is a set of terms (see `terms`), what remains to be matched, plus what stands before when a condition asks for
it. Its row is built when first looked at: the terms' linear forms are cut into ranges of code points, and each
range's terms are the next state. A pattern that would need a million states costs nothing until they are visited, and
one that visits more than `utf8.MAX_STATES` is refused there and then.

A search, as JSON Schema's `pattern` asks for, is the pattern between two free texts, once per pattern; anchors are
resolved for the four ways a match can lie in the text (at its start or not, at its end or not). As soon as a match is
found that no `$` can take back, everything else is dropped from the state, so all such states are one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ResourceLimitError
from ..languages.base import DEAD, Block, LengthSet, TextLanguage
from . import classes
from . import lengths as length_sets
from .alphabets import Alphabet, alphabet_of
from .classes import CodePoints
from .conditions import Conditions
from .covers import Covers
from .terms import (
    AFTER_OTHER,
    AFTER_WORD,
    AT,
    END_NEXT,
    NOT_AT,
    OTHER,
    START,
    Chars,
    Concat,
    Repeat,
    Term,
    Terms,
    Union,
    chain,
    class_repeat,
    leading_repeat,
    longest_lead,
    padding,
)
from .utf8 import LEADS, MAX_STATES, ClassRepeat, CodePointLanguage, Segments, Separation

_RUN, _LONGEST_RUN = 3, 16  # characters of one class in a row whose rows are made together


@functools.lru_cache(maxsize=256)
def _column(members: CodePoints) -> NDArray[np.int64]:
    """By byte 1 for the members, which are of ASCII, 0 for the others."""
    column = np.zeros(256, dtype=np.int64)
    for first, last in members.ranges:
        column[first : last + 1] = 1
    column.setflags(write=False)
    return column


class Origin(NamedTuple):
    """Where a language comes from: it is pickled as the call `make(pattern)`."""

    make: Callable[[str], TextLanguage] | Callable[[tuple[str, ...]], TextLanguage]
    pattern: str | tuple[str, ...]

    def __repr__(self) -> str:
        return f"{self.make.__name__}({self.pattern!r})"


class RegexLanguage(CodePointLanguage):
    """The language of a term without lookarounds, which is the pattern's way through the whole text.

    Pickled by way of its origin: the numbers of states are not kept.
    """

    def __init__(self, origin: Origin, terms: Terms, term: Term) -> None:
        super().__init__()
        self._origin = origin
        self._terms = terms
        self._conditions, self._covers = Conditions(terms), Covers(terms)
        self._remaining: list[tuple[Term, ...]] = [()]
        self._before: list[int] = [OTHER]
        self._states: dict[tuple[int, tuple[Term, ...]], int] = {}
        # Sets of terms, or the only one, as they were found after a character: their states.
        self._known_sets: dict[Term | frozenset[Term], int] = {}
        self._term = term
        self._accepting: dict[int, bool] = {}
        self.start = self._state({term}, START)
        self._conditions.use()

    def __reduce__(self) -> tuple[object, tuple[str | tuple[str, ...]]]:
        return self._origin.make, (self._origin.pattern,)

    def __repr__(self) -> str:
        return repr(self._origin)

    # States

    def _state(self, remaining: set[Term], before: int) -> int:
        """The state of a set of terms after `before`; DEAD when none of them can be completed."""
        terms = self._terms
        if terms.ANY_STAR in remaining:
            remaining = {terms.ANY_STAR}
        else:
            if any(term.conditional or type(term) is Union for term in remaining):
                remaining = self._live(remaining, before)
            if len(remaining) > 1:
                remaining = terms.merged(remaining)
            remaining.discard(terms.EMPTY)
            if not remaining:
                return DEAD
            if terms.ANY_STAR in remaining:
                remaining = {terms.ANY_STAR}
        asking = [term for term in remaining if term.conditional]
        if not asking or (before != START and not any(term.bounded for term in asking)):
            before = OTHER
        ordered = tuple(sorted(remaining, key=_serial)) if len(remaining) > 1 else tuple(remaining)
        key = (before, ordered)
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = self._new_state()
            self._remaining.append(ordered)
            self._before.append(before)
        return state

    def _live(self, remaining: set[Term], before: int) -> set[Term]:
        """Options taken apart, conditions resolved as far as the place allows, dead terms left out."""
        out: set[Term] = set()
        for each in sorted(remaining, key=_serial):
            term = self._terms.resolve(each, AT if before == START else NOT_AT, AT)
            for option in term.options if type(term) is Union else (term,):
                if (
                    not option.conditional
                    or self._conditions.shortest((option, self._kind(option, before))) is not None
                ):
                    out.add(option)
        return out

    @staticmethod
    def _kind(term: Term, before: int) -> int:
        """`before` as far as `term` asks for it."""
        return before if term.bounded or before == START else OTHER

    def _new_state(self) -> int:
        state = super()._new_state()
        while len(self._remaining) < state:  # states inside a character hold no terms
            self._remaining.append(())
            self._before.append(OTHER)
        return state

    def _segments(self, state: int) -> Segments:
        by_chars, bounded = self._linear(state)
        if bounded:
            return self._cut(by_chars, words=True)
        if len(by_chars) == 1:
            ((chars, remaining),) = by_chars.items()
            target = self._after(remaining)
            return [(first, last, target) for first, last in chars.members.ranges] if target else []
        by_atom = self._targets(by_chars)
        return self._cut(by_chars, words=False) if by_atom is None else self._segments_of(by_atom)

    def _segments_of(self, by_atom: list[int]) -> Segments:
        assert self._alphabet is not None
        segments: Segments = []
        at, target = 0, DEAD  # the range before
        for first, _, atom in self._alphabet.ranges:
            to = by_atom[atom]
            if to != target:
                if target:
                    segments.append((at, first - 1, target))
                at, target = first, to
        if target:
            segments.append((at, classes.LAST, target))
        return segments

    def _linear(self, state: int) -> tuple[dict[Chars, list[Term]], bool]:
        """What remains after a code point of each of some classes; whether a word boundary has a say."""
        terms, before = self._terms, self._before[state]
        by_chars: dict[Chars, list[Term]] = {}
        bounded = False
        for term in self._remaining[state]:
            bounded |= term.bounded
            for chars, after in term.form or terms.linear(term, before):
                found = by_chars.get(chars)
                if found is None:
                    by_chars[chars] = [after]
                else:
                    found.append(after)
        return by_chars, bounded

    def _after(self, remaining: list[Term]) -> int:
        """The state of some terms after a character."""
        key = remaining[0] if len(remaining) == 1 else frozenset(remaining)
        state = self._known_sets.get(key)
        if state is None:
            state = self._known_sets[key] = self._state(set(remaining), OTHER)
        return state

    @functools.cached_property
    def _alphabet(self) -> Alphabet | None:
        return alphabet_of(self._term)

    def _targets(self, by_chars: dict[Chars, list[Term]]) -> list[int] | None:
        """The states after each atom of the alphabet; None where there is none, or a class is not of it."""
        alphabet = self._alphabet
        if alphabet is None:
            return None
        groups = list(by_chars.values())
        always, bit = 0, 1
        of_atom: dict[int, int] = {}  # the groups that an atom leads to, as bits
        for chars in by_chars:
            atoms = alphabet.atoms.get(chars, ())
            if atoms is None:
                always |= bit
            elif atoms:
                for atom in atoms:
                    of_atom[atom] = of_atom.get(atom, 0) | bit
            else:
                return None
            bit <<= 1
        targets: dict[int, int] = {0: DEAD}
        out = [self._target(always, groups, targets)] * alphabet.count
        for atom, bits in of_atom.items():
            bits |= always
            found = targets.get(bits)
            out[atom] = self._target(bits, groups, targets) if found is None else found
        return out

    def _target(self, bits: int, groups: list[list[Term]], targets: dict[int, int]) -> int:
        """The state of the terms of some groups, kept in `targets`."""
        remaining: list[Term] = []
        left = bits
        while left:
            low = left & -left
            remaining += groups[low.bit_length() - 1]
            left ^= low
        found = targets[bits] = self._after(remaining) if remaining else DEAD
        return found

    def branches(self, state: int) -> tuple[list[int], NDArray[np.int64]] | None:
        if state >= len(self._remaining) or not self._remaining[state]:
            return super().branches(state)
        if self._rows[state] is not None or len(self._rows) > MAX_STATES:
            return None
        with self._lock:
            by_chars, bounded = self._linear(state)
            if bounded or (len(by_chars) == 1 and "_alphabet" not in self.__dict__):
                return None
            by_atom = self._targets(by_chars)
            if by_atom is None:
                return None
            alphabet = self._alphabet
            assert alphabet is not None
            wide = by_atom[alphabet.beyond[0]]
            if len(alphabet.beyond) > 1 and any(by_atom[atom] != wide for atom in alphabet.beyond):
                self._steps[state] = self._segments_of(by_atom)  # for the row
                return None
            numbers = {DEAD: 0}
            index = [numbers.setdefault(to, len(numbers)) for to in by_atom]
            found = list(numbers)
            index.append(0)
            if wide:
                index += range(len(found), len(found) + LEADS)
                found += self._leads_to(wide)
            else:
                index += [0] * LEADS
            return found, np.array(index).take(alphabet.column)

    def block(self, state: int) -> Block | None:
        """See the contract. Here also of the states of a run of so many characters of one class of ASCII, as in
        `[0-9a-f]{8}`: their rows differ in where they lead to alone."""
        remaining = self._remaining[state] if state < len(self._remaining) else ()
        if not remaining:
            return super().block(state)
        term = remaining[0]
        head = term.head if type(term) is Concat else term
        if len(remaining) > 1 or term.conditional or type(head) is not Repeat or type(head.body) is not Chars:
            return None
        chars = head.body
        if head.low != head.high or head.low < _RUN or not chars.members or chars.members.ranges[-1][1] >= 0x80:
            return None
        states: list[int] = []
        targets: list[tuple[int, int]] = []
        with self._lock:
            for _ in range(min(head.low, _LONGEST_RUN)):
                by_chars, _ = self._linear(state)
                if by_chars.keys() != {chars}:
                    break
                to = self._after(by_chars[chars])
                states.append(state)
                targets.append((DEAD, to))
                state = to
        if len(states) < _RUN or DEAD in states:
            return None
        return Block(
            states, np.array(targets, dtype=np.int32), _column(chars.members), [DEAD, *(t for _, t in targets)]
        )

    def _cut(self, by_chars: dict[Chars, list[Term]], words: bool) -> Segments:
        """Ranges of code points that are in the same sets, with their targets; word characters apart when `words`."""
        flips: dict[int, int] = {}
        groups = list(by_chars.items())
        members = [chars.members for chars, _ in groups]
        if words:
            members.append(classes.WORD)
        for index, each in enumerate(members):
            bit = 1 << index
            for first, last in each.ranges:
                flips[first] = flips.get(first, 0) ^ bit
                flips[last + 1] = flips.get(last + 1, 0) ^ bit
        targets: dict[int, int] = {0: DEAD}
        word_bit = 1 << len(groups) if words else 0
        segments: Segments = []
        at = target = mask = 0
        for point in sorted(flips):
            if target and point > at:
                if segments and segments[-1][2] == target and segments[-1][1] == at - 1:
                    segments[-1] = (segments[-1][0], point - 1, target)
                else:
                    segments.append((at, point - 1, target))
            at = point
            mask ^= flips[point]
            known = targets.get(mask)
            if known is None:
                remaining: set[Term] = set()
                bits = mask & ~word_bit
                while bits:
                    low = bits & -bits
                    remaining.update(groups[low.bit_length() - 1][1])
                    bits ^= low
                kind = OTHER if not words else AFTER_WORD if mask & word_bit else AFTER_OTHER
                known = targets[mask] = self._state(remaining, kind) if remaining else DEAD
            target = known
        return segments

    # The contract

    def accepting(self, state: int) -> bool:
        found = self._accepting.get(state)
        if found is None:
            before = self._before
            if state >= len(before):
                return False
            found = self._accepting[state] = any(
                term.nullable or (term.conditional and self._terms.gaps(term, before[state]) & END_NEXT)
                for term in self._remaining[state]
            )
        return found

    def universal(self, state: int) -> bool:
        return state < len(self._remaining) and self._remaining[state] == (self._terms.ANY_STAR,)

    def padding(self, state: int) -> int | None:
        remaining = self._remaining[state] if state < len(self._remaining) else ()
        found = [n for n in (padding(self._terms, term) for term in remaining) if n is not None]
        return min(found) if found else None

    def class_repeat(self, state: int) -> ClassRepeat | None:
        remaining = self._remaining[state] if state < len(self._remaining) else ()
        return class_repeat(remaining[0]) if len(remaining) == 1 else None

    def leading_repeat(self, state: int) -> tuple[CodePoints, int | None] | None:
        remaining = self._remaining[state] if state < len(self._remaining) else ()
        return longest_lead(leading_repeat(term) for term in remaining)

    def alphabet(self, state: int) -> CodePoints:
        with self._lock:
            return self._covers.alphabet_of(self._remaining[state])

    def most_leading(self, state: int, members: CodePoints) -> int | None:
        with self._lock:
            each = [self._covers.most_leading(term, members) for term in self._remaining[state]]
        return None if None in each else max((n for n in each if n is not None), default=0)

    def needs(self, state: int, members: CodePoints) -> bool:
        with self._lock:
            remaining = self._remaining[state]
            return bool(remaining) and all(self._covers.needs(term, members) for term in remaining)

    def least_texts(self, state: int) -> int:
        with self._lock:
            return max(map(self._covers.texts, self._remaining[state]), default=0)

    @functools.cached_property
    def separation(self) -> Separation:
        """What the pattern knows beside the free text around it."""
        with self._lock:
            return self._separation()

    def _separation(self) -> Separation:
        unknown = Separation(classes.EVERY, False)
        known = classes.NONE
        lasting = set()
        for term in self._remaining[self.start]:
            for option in term.options if type(term) is Union else (term,):
                parts = chain(option)
                if parts[0] is self._terms.ANY_STAR:
                    parts = parts[1:]
                lasting.add(bool(parts) and parts[-1] is self._terms.ANY_STAR)
                if parts and parts[-1] is self._terms.ANY_STAR:
                    parts = parts[:-1]
                if option.conditional or all(part.nullable for part in parts):
                    return unknown
                known |= self._covers.alphabet_of(parts)
        return Separation(known, lasting.pop()) if len(lasting) == 1 else unknown

    def quick_lengths(self, state: int) -> tuple[LengthSet, bool]:
        if self._term.conditional and any(term.conditional for term in self._remaining[state]):
            return length_sets.ALL_LENGTHS, False
        try:
            return self.lengths(state), True
        except ResourceLimitError:
            return length_sets.ALL_LENGTHS, False

    def _shortest_between(self, state: int) -> int:
        places = [(term, self._kind(term, self._before[state])) for term in self._remaining[state]]
        return min((n for n in map(self._conditions.shortest, places) if n is not None), default=0)

    def _lengths_between(self, state: int) -> LengthSet:
        found = length_sets.NO_LENGTHS
        for term in self._remaining[state]:
            if term.conditional:
                more = self._conditions.lengths((term, self._kind(term, self._before[state])))
            else:
                more = self._terms.lengths(term)
            found = length_sets.union(found, more)
        return found


def _serial(term: Term) -> int:
    return term.serial


def merged_segments(steps: Iterable[tuple[Iterable[tuple[int, int]], int]]) -> Segments:
    """Sorted segments of disjoint ranges with their targets, neighbours of one target made one; without target 0."""
    out: Segments = []
    for first, last, target in sorted((a, b, target) for ranges, target in steps if target for a, b in ranges):
        if out and out[-1][2] == target and out[-1][1] == first - 1:
            out[-1] = (out[-1][0], last, target)
        else:
            out.append((first, last, target))
    return out
