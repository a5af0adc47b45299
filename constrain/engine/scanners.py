"""Table automata for strings, atoms and raw text: products of lazy languages, one row at a time.

A scanner state is a tuple of components `(language, state, entries)`; equal tuples get equal numbers, across all
strings of the grammar. What a completed text means is its *outcome*, the set of variables for which it is valid.
"""

from __future__ import annotations

import functools
import weakref
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from constrain.engine.store import Store
from constrain.grammars.json_schema.keys import KeyClass
from constrain.grammars.json_schema.normal import AtomAlternatives, StringAlternative
from constrain.grammars.json_schema.texts import texts_of
from constrain.grammars.languages.base import ALL_LENGTHS, Language, LengthSet, Role, TextLanguage
from constrain.grammars.languages.extent import has_many, shortest_text
from constrain.grammars.languages.number import INTEGER, NUMBER, number_language
from constrain.grammars.languages.text import FREE_TEXT
from constrain.grammars.regex.classes import CodePoints
from constrain.grammars.regex.utf8 import CodePointLanguage
from constrain.kernels import memory as m
from constrain.kernels.distinct import distinct
from constrain.kernels.memory import MAX_REACHED
from constrain.kernels.step import (
    BOUNDARY,
    CALL,
    COLLECT,
    COLLECTED,
    COUNTED,
    DIFFER,
    ENTRY_WIDTH,
    HAS_NEXT,
    LITERAL_BIT,
    LITERALS_WIDTH,
    Q_FLAGS,
    Q_LOOP,
    Q_LOOP_ROW,
    Q_OUTCOME,
    Q_PAD,
    Q_SHORTEST,
    SIMPLE,
    STATE_WIDTH,
    UNIVERSAL,
)

_UNBOUNDED = 1 << 60
_ROLE_FLAGS = {
    Role.PLAIN: 0,
    Role.CALL: CALL,
    Role.COLLECT: COLLECT,
    Role.DIFFER: COLLECT | DIFFER,
    Role.COLLECTED: COLLECTED,
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One string alternative of a scanner: bounds on the code points, and the variable that it makes valid."""

    low: int
    high: int
    variable: int


_ANY_NAME = Entry(0, _UNBOUNDED, 0)
_CHEAP_FIRST = sorted(range(256), key=lambda b: (b < 0x20 or b in (0x22, 0x5C), b))  # bytes that need no escape first

TextPart = tuple[TextLanguage, int, tuple[Entry, ...]]
AtomPart = tuple[Language, int, tuple[int, ...]]


class _Word(Language):
    """The language of one literal."""

    def __init__(self, word: bytes) -> None:
        self.word = word
        self.start = 1
        self._rows = []
        for i in range(len(word) + 1):
            row = np.zeros(256, dtype=np.int32)
            if i < len(word):
                row[word[i]] = i + 2
            self._rows.append(row)

    def row(self, state: int) -> np.ndarray:  # type: ignore[type-arg]
        return self._rows[state - 1]

    def accepting(self, state: int) -> bool:
        return state == len(self.word) + 1

    def shortest(self, state: int) -> int:
        return len(self.word) + 1 - state


_NULL, _TRUE, _FALSE = _Word(b"null"), _Word(b"true"), _Word(b"false")
PYTHON_WORDS = _Word(b"None"), _Word(b"True"), _Word(b"False")


@dataclass(frozen=True, slots=True)
class _Beginning:
    """What every automaton begins with: the dead state and those of free text."""

    states: np.ndarray  # type: ignore[type-arg]
    rows: np.ndarray  # type: ignore[type-arg]
    known: dict[tuple[Language, object], dict[int, int]]
    numbers: dict[tuple[object, ...], int]
    texts: dict[int, tuple[TextPart, ...]]
    free: dict[int, int]
    distance: list[int]


_beginning: list[_Beginning] = []  # kept from the first automaton


class Scanners:
    """All table states of one automaton.

    `outcome` numbers a set of variables, given as a bit mask.
    """

    def __init__(self, store: Store, outcome: Callable[[int], int]) -> None:
        self.words = _NULL, _TRUE, _FALSE
        self._store = store
        self._outcome = outcome
        self._numbers: dict[tuple[object, ...], int] = {}
        self._texts: dict[int, tuple[TextPart, ...]] = {}
        self._atoms: dict[int, tuple[AtomPart, ...]] = {}
        self._lengths: dict[LengthSet, int] = {}
        self._known: dict[tuple[Language, object], dict[int, int]] = {}  # a language on its own: its states' numbers
        self.literals: dict[int, list[tuple[bytes, int]]] = {}  # by number of the first: member, variables as bits
        self._many: dict[tuple[TextLanguage, int], bool] = {}
        self._begun: set[tuple[object, ...]] = set()  # languages of atoms, with variables, of which states were added
        self._add_state(0, 0)  # dead
        self._free: dict[int, int] = {}  # state of free text -> its number here, counted from FREE_TEXT_STATE
        if _beginning:
            self._begin_like(_beginning[0])
        else:
            self._add_free_text()
            _beginning.append(self._kept())

    # ---- states ------------------------------------------------------------------------------------------------------

    def _add_state(
        self,
        flags: int,
        outcome: int,
        entry: int = 0,
        entries: int = 0,
        shortest: int = 0,
        free: int = 0,
        after: int = 0,
        pad: int = -1,
    ) -> int:
        at = self._store.append(
            m.STATE, (flags, outcome, entry, entries, shortest, free, after, -1, 0, 0, -1, pad, 0, 0, 0)
        )
        number = at // STATE_WIDTH
        self._room_for_rows(number, 1)
        return number

    def _room_for_rows(self, first: int, count: int) -> NDArray[np.int32]:
        """The rows of new states, one after the other, none of them built: all -1."""
        end = (first + count) * 256
        dfa = self._store.tables[m.DFA]
        if dfa.size < end:
            dfa = self._store.reserve(m.DFA, max(end, _MORE_ROWS * 256), None)
        rows: NDArray[np.int32] = dfa[first * 256 : end]
        rows.fill(-1)
        return rows

    def _set_row(self, number: int, row: np.ndarray) -> None:  # type: ignore[type-arg]
        self._store.tables[m.DFA][number * 256 : number * 256 + 256] = row
        if np.count_nonzero(row):
            self._store.tables[m.STATE][number * STATE_WIDTH + Q_FLAGS] |= HAS_NEXT

    def _add_free_text(self) -> None:
        """The states of free text come first, complete, so that terminal tables are the same for every grammar."""
        states = [FREE_TEXT.start]
        for state in states:
            states.extend(s for s in np.unique(FREE_TEXT.row(state)).tolist() if s and s not in states)
        self.free_text_states = len(states)
        self.free_text_start = self._store.used(m.STATE) // STATE_WIDTH
        one = self._outcome(1)
        entry = (_ANY_NAME,)
        for state in states:
            boundary = FREE_TEXT.boundary(state)
            flags = (BOUNDARY if boundary else 0) | (UNIVERSAL if FREE_TEXT.universal(state) else 0)
            number = self._add_state(
                flags, one if boundary else 0, free=len(self._free) + 1, after=one, pad=0 if boundary else -1
            )
            self._free[state] = number
            part = (FREE_TEXT, state, entry)
            self._numbers[("text", (part,))] = number
            self._texts[number] = (part,)
        self.free_text_distance = [FREE_TEXT.shortest(state) for state in states]
        first = self._free[FREE_TEXT.start]
        self._store.array[m.FREE_TEXT_STATE] = first
        for state in states:
            self.build_row(self._free[state])

    def _kept(self) -> _Beginning:
        store = self._store
        used = store.used(m.STATE)
        return _Beginning(
            store.tables[m.STATE][:used].copy(),
            store.tables[m.DFA][: used // STATE_WIDTH * 256].copy(),
            {key: known.copy() for key, known in self._known.items()},
            dict(self._numbers),
            dict(self._texts),
            dict(self._free),
            self.free_text_distance,
        )

    def _begin_like(self, kept: _Beginning) -> None:
        """Copy the states of free text, which are the same in every automaton."""
        self._store.append(m.STATE, kept.states[self._store.used(m.STATE) :])
        self._room_for_rows(0, kept.rows.size // 256)[:] = kept.rows
        self._known = {key: known.copy() for key, known in kept.known.items()}
        self._numbers, self._texts, self._free = dict(kept.numbers), dict(kept.texts), dict(kept.free)
        self.free_text_distance = kept.distance
        self.free_text_states = len(kept.free)
        self.free_text_start = 1
        self._outcome(1)
        self._store.array[m.FREE_TEXT_STATE] = kept.free[FREE_TEXT.start]

    def build_row(self, number: int) -> None:
        """Fill the row of a state."""
        if number in self._texts:
            row = self._product_row(self._texts[number], self._text_state)
        elif number in self._atoms:
            parts = self._atoms[number]
            begun = self._begin_together(parts) if len(parts) > 1 else None
            row = self._product_row(parts, self._atom_state) if begun is None else begun
        else:
            row = np.zeros(256, dtype=np.int32)
        self._set_row(number, row)

    def _product_row(self, parts, number_of) -> np.ndarray:  # type: ignore[type-arg,no-untyped-def]
        if len(parts) == 1:
            language, state, what = parts[0]
            known = self._known.get((language, what))
            if known is None:
                known = self._known[language, what] = {0: 0}
            targets, column = moves(language, state)
            numbers = []
            for t in targets:
                number = known.get(t)
                if number is None:
                    number = known[t] = number_of([(language, t, what)])
                numbers.append(number)
            return np.array(numbers, dtype=np.int32).take(column)
        # Bytes that no part tells apart lead to one state: a number with a digit for each part stands for it.
        every = [moves(language, state) for language, state, _ in parts]
        joint, size = every[0][1], len(every[0][0])
        for targets, column in every[1:]:
            if size * len(targets) >= _MOST_JOINT:
                joint = distinct(joint)[1]
                size = 257
            joint = joint * len(targets) + column
            size *= len(targets)
        kinds, column = distinct(joint)
        some = np.zeros(len(kinds), dtype=np.int64)  # a byte of each kind; any for the first, which may have none
        some[column] = np.arange(256)
        digits = np.array([own[some] for _, own in every]).T.tolist()
        numbers = []
        for of_kind in digits:
            live = [
                (part[0], targets[digit], part[2])
                for part, (targets, _), digit in zip(parts, every, of_kind, strict=True)
                if digit
            ]
            numbers.append(number_of(live) if live else 0)
        return np.array(numbers, dtype=np.int32).take(column)

    # ---- strings -----------------------------------------------------------------------------------------------------

    def text_start(self, alternatives: Iterable[tuple[int, StringAlternative]]) -> int:
        """Where a string begins that is read for these (variable, alternative) pairs.

        A state, or the number of a set of literals with `LITERAL_BIT`; 0 if there is no such string.
        """
        alternatives = list(alternatives)
        if alternatives and all(a.values is not None for _, a in alternatives):
            return self._literals(alternatives)
        by_language: dict[TextLanguage, list[Entry]] = {}
        for variable, a in alternatives:
            texts = texts_of(a)
            high = _UNBOUNDED if texts.high is None else min(texts.high, _UNBOUNDED)
            if not texts.empty:
                by_language.setdefault(texts.language, []).append(Entry(min(texts.low, _UNBOUNDED - 1), high, variable))
        parts = [(language, language.start, tuple(dict.fromkeys(es))) for language, es in by_language.items()]
        return self._text_state(parts) if parts else 0

    def key_start(self, classes: Iterable[KeyClass]) -> int:
        """The state in which a free name begins that belongs to one of these classes, or to any where there are none.

        The outcome at its end is 1 for the first bit, and bit 1 + i for each i among the members of its class.
        """
        parts: list[TextPart] = [(FREE_TEXT, FREE_TEXT.start, (_ANY_NAME,))]
        for c in classes:
            entries = tuple(Entry(0, _UNBOUNDED, i + 1) for i in sorted(c.members))
            parts.append((c.language, c.language.start, entries or (_ANY_NAME,)))
        return self._text_state(parts)

    def _classes_at(self, number: int) -> list[tuple[frozenset[int], TextLanguage, int]]:
        """The classes of names that can still be completed from a state: members, and where their language stands."""
        parts = self._texts[number]
        if len(parts) == 1 and parts[0][2] == (_ANY_NAME,):
            return [(frozenset(), *parts[0][:2])]
        return [
            (frozenset(e.variable - 1 for e in entries if e.variable), language, state)
            for language, state, entries in parts
            if language is not FREE_TEXT or entries != (_ANY_NAME,)
        ]

    def reach(self, number: int, wanted: Container[frozenset[int]]) -> int:
        """How a name can go on to one of the wanted classes: 0 not, 1 without end, 2 in ways that may be few."""
        found = 0
        for members, language, state in self._classes_at(number):
            if members in wanted:
                key = (language, state)
                many = self._many.get(key)
                if many is None:
                    assert isinstance(language, CodePointLanguage)
                    many = self._many[key] = has_many(language, state)
                if many:
                    return 1
                found = 2
        return found

    def has_name(self, number: int, wanted: Container[frozenset[int]], prefix: bytes, taken: Container[bytes]) -> bool:
        """Whether there is a name of the wanted classes that is not taken, with `prefix` read to get to the state.

        Of each class there are finitely many names, so going deep first ends, and soon finds one that is not taken.
        """
        todo = [(language, state, prefix) for members, language, state in self._classes_at(number) if members in wanted]
        while todo:
            language, at, text = todo.pop()
            if language.accepting(at) and text not in taken:
                return True
            row = language.row(at)
            todo += [(language, int(row[b]), text + bytes((b,))) for b in np.flatnonzero(row).tolist()]
        return False

    def takes_any(self, number: int, wanted: Container[frozenset[int]]) -> bool:
        """Whether whatever text comes next, a name of one of the wanted classes can follow, so far as is evident."""
        return any(
            members in wanted and language.padding(state) is not None
            for members, language, state in self._classes_at(number)
        )

    def repeated(self, number: int, wanted: Container[frozenset[int]]) -> tuple[CodePoints, int | None] | None:
        """A class, and how many of its members can follow at most, where these are all names of the wanted classes."""
        found = [(language, state) for members, language, state in self._classes_at(number) if members in wanted]
        if len(found) != 1:
            return None
        ((language, state),) = found
        repeat = language.class_repeat(state) if isinstance(language, CodePointLanguage) else None
        return None if repeat is None else (repeat[0], repeat[2])

    def shortest_name(self, number: int, wanted: frozenset[int]) -> bytes | None:
        """A shortest continuation from a state to a name of a class; None where there is none."""
        for members, language, state in self._classes_at(number):
            if members == wanted:
                assert isinstance(language, CodePointLanguage)
                return shortest_text(language, state)
        return None

    def names(
        self, number: int, wanted: Container[frozenset[int]], prefix: bytes, steps: int | None = None
    ) -> Iterator[bytes]:
        """The names of the wanted classes, shortest first, with `prefix` read to get to the state.

        With `steps`, only so many beginnings are looked at.
        """
        queue = deque(
            (language, state, prefix) for members, language, state in self._classes_at(number) if members in wanted
        )
        while queue and steps != 0:
            steps = None if steps is None else steps - 1
            language, at, text = queue.popleft()
            if language.accepting(at):
                yield text
            row = language.row(at).tolist()
            queue.extend((language, row[b], text + bytes((b,))) for b in _CHEAP_FIRST if row[b])

    def _literals(self, alternatives: list[tuple[int, StringAlternative]]) -> int:
        bits: dict[bytes, int] = {}
        if len(alternatives) == 1:
            ((variable, only),) = alternatives
            bits = dict.fromkeys(sorted(map(str.encode, only.values or ())), 1 << variable)
            outcomes = [self._outcome(1 << variable)] * len(bits)
            return self._store_literals([*bits], outcomes, [*bits.items()])
        for variable, a in alternatives:
            for text in a.values or ():
                data = text.encode()
                bits[data] = bits.get(data, 0) | 1 << variable
        pairs = sorted(bits.items())
        return self._store_literals([n for n, _ in pairs], [self._outcome(b) for _, b in pairs], pairs)

    def _store_literals(self, names: list[bytes], outcomes: list[int], literals: list[tuple[bytes, int]]) -> int:
        if not names:
            return 0
        first = add_names(self._store, names, outcomes)
        at = self._store.append(m.LITERALS, (first, len(names)))
        self.literals[first] = literals
        return LITERAL_BIT | at // LITERALS_WIDTH

    def telling_literals(self, values: list[bytes], first_outcome: int) -> int:
        """Where a string begins that is one of these texts, in order, each of which has an outcome of its own."""
        count = len(values)
        outcomes = [*range(first_outcome, first_outcome + count)]
        return self._store_literals(values, outcomes, [(value, 1) for value in values])

    def _text_state(self, parts: list[TextPart]) -> int:
        live = tuple(
            (FREE_TEXT, FREE_TEXT.start, entries)
            if language is not FREE_TEXT and language.universal(state)
            else (language, state, entries)
            for language, state, entries in parts
        )
        if len(live) > 1:
            merged: dict[tuple[TextLanguage, int], tuple[Entry, ...]] = {}
            for language, state, entries in live:
                merged[language, state] = merged.get((language, state), ()) + entries
            live = tuple((language, state, entries) for (language, state), entries in merged.items())
        key = ("text", live)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = self._new_text_state(live)
            self._texts[found] = live
        return found

    def _new_text_state(self, parts: tuple[TextPart, ...]) -> int:
        store = self._store
        flags = 0
        counted = False
        accepted = 0
        everything = 0
        for language, state, entries in parts:
            if language.boundary(state):
                flags = BOUNDARY
            accepts = language.accepting(state)
            for e in entries:
                counted = counted or e.low > 0 or e.high < _UNBOUNDED
                everything |= 1 << e.variable
                if accepts:
                    accepted |= 1 << e.variable
        records: list[int] = []
        if counted:
            for language, state, entries in parts:
                accepts = language.accepting(state)
                # Where no bound asks for them, lengths need not be at hand.
                bounded = any(e.low > 0 or e.high < _UNBOUNDED for e in entries)
                lengths = self._length_set(language.lengths(state)) if bounded else -1
                for e in entries:
                    records += [int(accepts), e.low, e.high, lengths, self._outcome(1 << e.variable)]
        free = 0
        if len(parts) == 1:
            language, state, entries = parts[0]
            if language.universal(state):
                flags |= UNIVERSAL
            if language is FREE_TEXT:
                free = self._free[state] - self.free_text_start + 1
            if counted and len(entries) == 1 and records[3] == -1:
                flags |= SIMPLE
        entry = 0
        if counted:
            flags |= COUNTED
            entry = store.append(m.ENTRY, records)
        outcome = self._outcome(accepted) if accepted else 0
        count = len(records) // ENTRY_WIDTH
        return self._add_state(flags, outcome, entry, count, 0, free, self._outcome(everything))

    def _length_set(self, lengths: LengthSet) -> int:
        if lengths == ALL_LENGTHS:
            return -1
        found = self._lengths.get(lengths)
        if found is None:
            size = lengths.preperiod + lengths.period
            words = [(lengths.bits >> at) & 0xFFFFFFFF for at in range(0, size, 32)]
            found = self._store.append(m.LENSET, [lengths.preperiod, lengths.period, *words])
            self._lengths[lengths] = found
        return found

    def outcome_of(self, number: int, satisfied: Iterable[int]) -> int:
        """The outcome when the entries at these places are satisfied."""
        entries = [e for _, _, es in self._texts[number] for e in es]
        bits = 0
        for place in satisfied:
            bits |= 1 << entries[place].variable
        return self._outcome(bits)

    def find_padding(self, number: int) -> None:
        """Store how many code points suffice to complete a string, whatever comes before them, if that is evident."""
        record = self._store.tables[m.STATE][number * STATE_WIDTH :]
        parts = self._texts[number]
        if not record[Q_FLAGS] & COUNTED or len(parts) == 1:
            found = [n for language, state, _ in parts if (n := language.padding(state)) is not None]
            record[Q_PAD] = min(found, default=-1)

    def text_parts(self, number: int) -> tuple[TextPart, ...]:
        """The components of a string state."""
        return self._texts[number]

    def worth_looking_at(self, number: int) -> int:
        """So many states may be looked at to find the loop of one: their rows take the longer the more parts it has."""
        return MAX_REACHED if len(self._texts[number]) <= _FEW_PARTS else MAX_REACHED // 3

    def alone(self, number: int) -> tuple[TextLanguage, int] | None:
        """The language and state that a string state stands for, if it is one and lengths are not counted."""
        parts = self._texts[number]
        if len(parts) > 1 or self._store.tables[m.STATE][number * STATE_WIDTH + Q_FLAGS] & COUNTED:
            return None
        return parts[0][:2]

    def successors(self, number: int, ranges: Iterable[tuple[int, int]]) -> list[int]:
        """The states after one code point out of the given inclusive ranges."""
        found: dict[int, None] = {}
        for low, high in ranges:
            for sequence in utf8_sequences(low, high):
                states = {number}
                for first, last in sequence:
                    following: set[int] = set()
                    for state in states:
                        following.update(self.row(state)[first : last + 1].tolist())
                    states = following - {0}
                found.update(dict.fromkeys(states))
        return list(found)

    def row(self, number: int) -> np.ndarray:  # type: ignore[type-arg]
        """The row of a state, built if need be."""
        if self._store.tables[m.DFA][number * 256] < 0:
            self.build_row(number)
        return self._store.tables[m.DFA][number * 256 : number * 256 + 256]

    def supply_row(self, number: int) -> None:
        """Build the row of a state, and of those after it so long as there is one way to go on."""
        dfa = self._store.tables[m.DFA]
        for _ in range(_CHAIN):
            self.build_row(number)
            dfa = self._store.tables[m.DFA]
            row = dfa[number * 256 : number * 256 + 256]
            number = int(row.max())
            if not number or dfa[number * 256] >= 0 or ((row != number) & (row != 0)).any():
                break

    # ---- atoms and raw text ------------------------------------------------------------------------------------------

    def atom_start(self, alternatives: Iterable[tuple[int, AtomAlternatives]]) -> int:
        """The state before the first byte of a number, boolean or null; 0 when none is admitted."""
        users: dict[Language, list[int]] = {}
        for variable, a in alternatives:
            languages: list[Language] = [number_language(c) for c in a.numbers]
            null, true, false = self.words
            languages += [true if b else false for b in a.booleans]
            if a.null:
                languages.append(null)
            for language in languages:
                if language.start:
                    users.setdefault(language, []).append(variable)
        parts = [(language, language.start, tuple(dict.fromkeys(vs))) for language, vs in users.items()]
        return self._atom_state(parts) if parts else 0

    def raw_start(self, language: Language) -> int:
        """The first state of a language at the top, outside JSON."""
        return self.raw_state(language, language.start)

    def raw_state(self, language: Language, state: int) -> int:
        """The number of a state of a language outside JSON."""
        return self._atom_state([(language, state, (0,))])

    def _atom_state(self, parts: list[AtomPart]) -> int:
        key = ("atom", tuple(parts))
        found = self._numbers.get(key)
        if found is None and len(parts) == 1 and parts[0][0] in _USUAL and parts[0][::2] not in self._begun:
            self._add_beginning((parts[0][0],), parts[0][2])
            found = self._numbers.get(key)
        if found is None:
            bits = 0
            for language, state, variables in parts:
                if language.accepting(state):
                    for v in variables:
                        bits |= 1 << v
            flags = _ROLE_FLAGS[parts[0][0].role(parts[0][1])]
            # Only numbers are brought to their end by what is shortest.
            shortest = min(0 if language.around_values else language.shortest(state) for language, state, _ in parts)
            found = self._numbers[key] = self._add_state(flags, self._outcome(bits) if bits else 0, shortest=shortest)
            self._atoms[found] = tuple(parts)
        return found

    def _add_beginning(self, languages: tuple[Language, ...], variables: tuple[int, ...]) -> int:
        """Add the first states of some languages at once, with their rows; the number of the first."""
        states, rows, live, records = beginning(languages)
        new = records.copy()
        new[:, Q_OUTCOME] *= self._outcome(sum(1 << v for v in variables))
        first = self._store.append(m.STATE, new.reshape(-1)) // STATE_WIDTH
        np.add(rows, live * np.int32(first - 1), out=self._room_for_rows(first, len(states)))
        for number, (language, state) in enumerate(states, start=first):
            part = ((language, state, variables),)
            self._numbers["atom", part] = number
            self._atoms[number] = part
        self._begun.update((language, variables) for language in languages)
        return first

    def _begin_together(self, parts: tuple[AtomPart, ...]) -> NDArray[np.int32] | None:
        """The row of a state where some usual languages begin that are told apart by their first byte; else None."""
        variables = parts[0][2]
        for language, state, own in parts:
            if state != language.start or own != variables or language not in _USUAL or (language, own) in self._begun:
                return None
        languages = tuple(language for language, _, _ in parts)
        row = beginnings(languages)
        return None if row is None else np.where(row > 0, row + (self._add_beginning(languages, variables) - 1), 0)

    def atom_parts(self, number: int) -> tuple[AtomPart, ...]:
        """The components of an atom or raw state."""
        return self._atoms[number]


_FEW_PARTS = 4
_MORE_ROWS = 512  # rows there is room for once the first are not enough
_USUAL = frozenset((NUMBER, INTEGER, _NULL, _TRUE, _FALSE))
"""Languages that are in most grammars."""
_BEGINNING = 24  # states of such a language whose rows are added at once


@functools.cache
def beginning(
    languages: tuple[Language, ...],
) -> tuple[list[tuple[Language, int]], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """The first states of some languages of `_USUAL`, of each in the order of their distance, and those after them.

    With their rows, one after the other, of 1 + the index of a state or 0, or -1 throughout for those after the first;
    with 1 wherever a row has a state, else 0; and the records of all, with 1 for the outcome of those that accept.
    """
    if len(languages) > 1:
        found = [beginning((language,)) for language in languages]
        offsets = [*accumulate((len(states) for states, *_ in found), initial=0)]
        return (
            [state for states, *_ in found for state in states],
            np.concatenate(
                [np.where(rows > 0, rows + at, rows) for (_, rows, *_), at in zip(found, offsets, strict=False)]
            ),
            np.concatenate([live for _, _, live, _ in found]),
            np.concatenate([records for *_, records in found]),
        )
    (language,) = languages
    states = [language.start]
    done = 0
    while done < min(len(states), _BEGINNING):
        after = language.row(states[done]).tolist()
        states.extend(t for t in dict.fromkeys(after) if t and t not in states)
        done += 1
    number = {0: 0} | {s: i + 1 for i, s in enumerate(states)}
    rows = np.full((len(states), 256), -1, dtype=np.int32)
    rows[:done] = [[number[t] for t in language.row(s).tolist()] for s in states[:done]]
    records = np.zeros((len(states), STATE_WIDTH), dtype=np.int64)
    records[:, Q_OUTCOME] = [language.accepting(s) for s in states]
    records[:, Q_SHORTEST] = [language.shortest(s) for s in states]
    records[:, [Q_LOOP, Q_LOOP_ROW, Q_PAD]] = -1
    records[:, Q_FLAGS] = np.where((rows > 0).any(axis=1), HAS_NEXT, 0)
    live = (rows > 0).astype(np.int32)
    return [(language, state) for state in states], rows.reshape(-1), live.reshape(-1), records


def prepare() -> None:
    """Have what atoms usually begin with at hand."""
    words = (_FALSE, _TRUE)
    for languages in ((NUMBER,), (INTEGER,), words, (NUMBER, *words, _NULL), (INTEGER, _NULL), (NUMBER, _NULL)):
        beginnings(languages)


@functools.cache
def beginnings(languages: tuple[Language, ...]) -> NDArray[np.int32] | None:
    """By byte, 1 + the index in `beginning` of the state after it; None where a byte begins texts of two of them."""
    _, rows, *_ = beginning(languages)
    first = [*accumulate((len(beginning((language,))[0]) for language in languages[:-1]), initial=0)]
    starts = rows.reshape(-1, 256)[first]
    return None if ((starts > 0).sum(axis=0) > 1).any() else starts.sum(axis=0, dtype=np.int32)


_MOST_JOINT = 1 << 62
_CHAIN = 16  # rows built at once where there is one way to go on

Moves = tuple[list[int], NDArray[np.int64]]
_moves: weakref.WeakKeyDictionary[Language, dict[int, Moves]] = weakref.WeakKeyDictionary()
_MAX_MOVES = 20_000  # states of one language that are kept


def moves(language: Language, state: int) -> Moves:
    """The states after a state, the dead one first, and by byte the index of one (int64, shape (256,)).

    Kept for as long as the language: equal patterns, formats and numbers share one, whatever the grammar.
    """
    known = _moves.get(language)
    if known is None:
        known = _moves[language] = {}
    found = known.get(state)
    if found is None:
        if len(known) >= _MAX_MOVES:
            known.clear()
        found = known[state] = distinct(language.row(state))
    return found


def add_names(store: Store, names: list[bytes], outcomes: list[int] | None = None) -> int:
    """Store sorted names and their outcomes (absent: 0); the number of the first. One more offset bounds the last."""
    at = store.append_bytes(m.NAME_BYTES, b"".join(names))
    store.append(m.NAME_OUT, (0,) * (len(names) + 1) if outcomes is None else [*outcomes, 0])
    return store.append(m.NAME_OFF, [*accumulate(map(len, names), initial=at)])


def utf8_sequences(low: int, high: int) -> Iterable[list[tuple[int, int]]]:
    """The UTF-8 encodings of the code points low .. high as sequences of byte ranges, surrogates left out."""
    todo = [(low, high)]
    while todo:
        a, b = todo.pop()
        if a > b:
            continue
        for last in (0x7F, 0x7FF, 0xD7FF, 0xDFFF, 0xFFFF):
            if a <= last < b:
                todo += [(a, last), (last + 1, b)]
                break
        else:
            if 0xD800 <= a <= 0xDFFF:
                continue
            first, final = chr(a).encode(), chr(b).encode()
            for i in range(1, len(first)):
                # Split where the tails do not cover whole blocks.
                block = 1 << (6 * i)
                if a & ~(block - 1) != b & ~(block - 1):
                    if a & (block - 1):
                        todo += [(a, a | (block - 1)), ((a | (block - 1)) + 1, b)]
                        break
                    if b & (block - 1) != block - 1:
                        todo += [(a, (b & ~(block - 1)) - 1), (b & ~(block - 1), b)]
                        break
            else:
                yield list(zip(first, final, strict=True))
