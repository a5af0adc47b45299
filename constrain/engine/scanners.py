"""Table automata for strings, atoms and raw text: products of lazy languages, one row at a time.

A scanner state is a tuple of components `(language, state, entries)`; equal tuples get equal numbers, across all
strings of the grammar. What a completed text means is its *outcome*, the set of variables for which it is valid.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.engine.class_loops import kinds_within
from constrain.engine.free_names import FreeNames
from constrain.engine.store import Store
from constrain.engine.text_entries import ANY_NAME, UNBOUNDED_LENGTH, Entry, TextPart
from constrain.engine.usual_atoms import FALSE, NULL, TRUE, USUAL, USUAL_TOGETHER, beginning, beginnings
from constrain.grammars.json_schema.normal import AtomAlternatives, StringAlternative
from constrain.grammars.json_schema.texts import texts_of
from constrain.grammars.languages.base import ALL_LENGTHS, DEAD, Block, Language, LengthSet, Role, TextLanguage
from constrain.grammars.languages.number import number_language
from constrain.grammars.languages.product import Steps, joined
from constrain.grammars.languages.text import FREE_TEXT
from constrain.grammars.regex.classes import FIRST_SURROGATE, LAST_SURROGATE
from constrain.grammars.regex.utf8 import CodePointLanguage
from constrain.kernels import memory as m
from constrain.kernels.distinct import distinct
from constrain.kernels.layout import (
    BOUNDARY,
    CALL,
    COLLECT,
    COLLECTED,
    COUNTED,
    DIFFER,
    ENTRY_WIDTH,
    EXACT,
    HAS_NEXT,
    LITERAL_BIT,
    LITERALS_WIDTH,
    Q_DEAD,
    Q_FAR,
    Q_FLAGS,
    Q_LIMIT,
    Q_LOOP,
    Q_OUTCOME,
    Q_PAD,
    SIMPLE,
    STATE_WIDTH,
    UNIVERSAL,
)
from constrain.kernels.loops import UNLIMITED, WIDE
from constrain.kernels.memory import MAX_REACHED

_ROLE_FLAGS = {
    Role.PLAIN: 0,
    Role.CALL: CALL,
    Role.COLLECT: COLLECT,
    Role.DIFFER: COLLECT | DIFFER,
    Role.COLLECTED: COLLECTED,
}


_MANY_NAMES = 1000
"""From so many on, arrays are made quicker of arrays than of lists."""

AtomPart = tuple[Language, int, tuple[int, ...]]


class Literals(NamedTuple):
    """A set of texts in order, and of each the variables for which it is valid, as bits."""

    texts: list[bytes]
    variables: list[int]


@dataclass(frozen=True, slots=True)
class _Beginning:
    """What every automaton begins with: the dead state, those of free text, and those of usual atoms."""

    states: np.ndarray  # type: ignore[type-arg]
    rows: np.ndarray  # type: ignore[type-arg]
    known: dict[tuple[Language, object], dict[int, int]]
    numbers: dict[tuple[object, ...], int]
    texts: dict[int, tuple[TextPart, ...]]
    atoms: dict[int, tuple[AtomPart, ...]]
    begun: set[tuple[object, ...]]
    free: dict[int, int]
    distance: list[int]


_beginning: list[_Beginning] = []  # kept from the first automaton


class Scanners:
    """All table states of one automaton.

    `outcome` numbers a set of variables, given as a bit mask.
    """

    def __init__(self, store: Store, outcome: Callable[[int], int]) -> None:
        self.words = NULL, TRUE, FALSE
        self._store = store
        self._outcome = outcome
        self._numbers: dict[tuple[object, ...], int] = {}
        self._texts: dict[int, tuple[TextPart, ...]] = {}
        self._atoms: dict[int, tuple[AtomPart, ...]] = {}
        self._lengths: dict[LengthSet, int] = {}
        self._known: dict[tuple[Language, object], dict[int, int]] = {}  # a language on its own: its states' numbers
        # Several languages together: the numbers of their states.
        self._tuples: dict[tuple[tuple[Language, object], ...], dict[tuple[int, ...], int]] = {}
        self.literals: dict[int, Literals] = {}  # by the number of the first text
        self.free_names = FreeNames(self)
        self._begun: set[tuple[object, ...]] = set()  # languages of atoms, with variables, of which states were added
        self._add_state(0, 0)  # dead
        self._free: dict[int, int] = {}  # state of free text -> its number here, counted from FREE_TEXT_STATE
        if _beginning:
            self._begin_like(_beginning[0])
        else:
            self._add_free_text()
            self._add_usual_atoms()
            _beginning.append(self._kept())

    # ---- states ------------------------------------------------------------------------------------------------------

    @property
    def state_count(self) -> int:
        """One more than the number of the last state."""
        return self._store.used(m.STATE) // STATE_WIDTH

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
            m.STATE, (flags, outcome, entry, entries, shortest, free, after, -1, 0, 0, -1, pad, 0, 0, 0, 0)
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

    def _add_free_text(self) -> None:
        """The states of free text come first, complete, so that terminal tables are the same for every grammar."""
        states = [FREE_TEXT.start]
        for state in states:
            states.extend(s for s in np.unique(FREE_TEXT.row(state)).tolist() if s and s not in states)
        self.freetext_states = len(states)
        self.free_text_start = self._store.used(m.STATE) // STATE_WIDTH
        one = self._outcome(1)
        entry = (ANY_NAME,)
        for state in states:
            boundary = FREE_TEXT.boundary(state)
            flags = (BOUNDARY if boundary else 0) | (UNIVERSAL if FREE_TEXT.universal(state) else 0)
            number = self._add_state(
                flags, one if boundary else 0, free=len(self._free) + 1, after=one, pad=0 if boundary else -1
            )
            self._free[state] = number
            part = (FREE_TEXT, state, entry)
            self._known_of(FREE_TEXT, entry)[state] = number
            self._texts[number] = (part,)
        self.free_text_distance = [FREE_TEXT.shortest(state) for state in states]
        first = self._free[FREE_TEXT.start]
        self._store.array[m.FREE_TEXT_STATE] = first
        for state in states:
            self.build_row(self._free[state])

    def _add_usual_atoms(self) -> None:
        """The states where values begin that are numbers, booleans or null, and nothing more is asked of them."""
        for languages in USUAL_TOGETHER:
            self.row(self._atom_state([(language, language.start, (0,)) for language in languages]))

    def _kept(self) -> _Beginning:
        store = self._store
        used = store.used(m.STATE)
        return _Beginning(
            store.tables[m.STATE][:used].copy(),
            store.tables[m.DFA][: used // STATE_WIDTH * 256].copy(),
            {key: known.copy() for key, known in self._known.items()},
            dict(self._numbers),
            dict(self._texts),
            dict(self._atoms),
            set(self._begun),
            dict(self._free),
            self.free_text_distance,
        )

    def _begin_like(self, kept: _Beginning) -> None:
        """Copy the states of free text and of usual atoms, which are the same in every automaton."""
        self._store.append(m.STATE, kept.states[self._store.used(m.STATE) :])
        self._room_for_rows(0, kept.rows.size // 256)[:] = kept.rows
        self._known = {key: known.copy() for key, known in kept.known.items()}
        self._numbers, self._texts, self._free = dict(kept.numbers), dict(kept.texts), dict(kept.free)
        self._atoms, self._begun = dict(kept.atoms), set(kept.begun)
        self.free_text_distance = kept.distance
        self.freetext_states = len(kept.free)
        self.free_text_start = 1
        self._outcome(1)
        self._store.array[m.FREE_TEXT_STATE] = kept.free[FREE_TEXT.start]

    def build_row(self, number: int) -> set[int]:
        """Fill the row of a state; returns the states after it."""
        count = self.state_count
        parts = self._texts.get(number)
        after: list[int] = []
        row: NDArray[np.int32]
        if parts is not None:
            row, after = self._product_row(parts, self.text_state, self._add_texts)
            if self.state_count > count and self.free_names.are_told_apart(number):
                self.free_names.note_inside(number, row, count)
        elif number in self._atoms:
            atoms = self._atoms[number]
            begun = self._begin_together(atoms) if len(atoms) > 1 else None
            if begun is None:
                row, after = self._product_row(atoms, self._atom_state, self._add_atoms)
            else:
                row, after = begun, np.unique(begun).tolist()
        else:
            row = np.zeros(256, dtype=np.int32)
        live = {to for to in after if to}
        tables = self._store.tables
        tables[m.DFA][number * 256 : number * 256 + 256] = row
        if live:
            tables[m.STATE][number * STATE_WIDTH + Q_FLAGS] |= HAS_NEXT
        return live

    def _product_row(
        self, parts: Any, number_of: Callable[..., int], add: Callable[..., None]
    ) -> tuple[NDArray[np.int32], list[int]]:
        """The row of a state of these parts (int32, shape (256,)), and the states in it."""
        if len(parts) == 1:
            language, state, what = parts[0]
            known = self._known_of(language, what)
            variant = language.variant(state)
            if variant is not None:
                return self._row_of_variant(language, what, variant, known, add)
            targets, column = moves(language, state)
            numbers = [known.get(t, -1) for t in targets]
            if -1 in numbers:
                add(language, [t for t in targets if t not in known], what, known)
                numbers = [known[t] for t in targets]
            return np.array(numbers, dtype=np.int32).take(column), numbers
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
        digits = [own[some].tolist() for _, own in every]
        after = [[targets[d] for d in own] for (targets, _), own in zip(every, digits, strict=True)]
        shape = tuple([(language, what) for language, _, what in parts])
        of_tuple = self._tuples.get(shape)
        if of_tuple is None:
            of_tuple = self._tuples[shape] = {(0,) * len(parts): 0}
        numbers = []
        for states in zip(*after, strict=True):
            number = of_tuple.get(states)
            if number is None:
                live = [(language, t, what) for (language, what), t in zip(shape, states, strict=True) if t]
                number = of_tuple[states] = (
                    self._number_alone(*live[0], number_of) if len(live) == 1 else number_of(live)
                )
            numbers.append(number)
        return np.array(numbers, dtype=np.int32).take(column), numbers

    def _row_of_variant(
        self,
        language: Language,
        what: Any,
        variant: tuple[int, list[tuple[int, int]]],
        known: dict[int, int],
        add: Callable[..., None],
    ) -> tuple[NDArray[np.int32], list[int]]:
        """The row of another state of a language on its own, with some changes."""
        other, changes = variant
        new = [t for t in (other, *(to for _, to in changes)) if t not in known]
        if new:
            add(language, new, what, known)
        row = self.row(known[other]).copy()
        for byte, to in changes:
            row[byte] = known[to]
        return row, [*(known[to] for _, to in changes), int(row.max())]

    def _build_block(self, number: int) -> bool:
        """Fill the row of a state, and of others that are likely to be asked for with it; whether there are such."""
        parts = self._texts.get(number, ())
        if len(parts) != 1 or self.free_names.are_told_apart(number):
            return False
        language, state, entries = parts[0]
        block = block_of(language, state)
        if block is None:
            return False
        known = self._known_of(language, entries)
        states, targets, column, after = block
        self._add_texts(language, [t for t in dict.fromkeys([*states, *after]) if t not in known], entries, known)
        numbers = np.zeros(max(after) + 1, dtype=np.int32)
        numbers[after] = [known[to] for to in after]
        tables = self._store.tables
        at = np.array([known[each] for each in states])
        tables[m.DFA].reshape(-1, 256)[at] = numbers[targets].take(column, axis=1)
        tables[m.STATE][at * STATE_WIDTH + Q_FLAGS] |= HAS_NEXT
        return True

    def _known_of(self, language: Language, what: object) -> dict[int, int]:
        """The numbers of the states of a language on its own."""
        known = self._known.get((language, what))
        if known is None:
            known = self._known[language, what] = {0: 0}
        return known

    def _number_alone(self, language: Language, state: int, what: Any, number_of: Callable[..., int]) -> int:
        known = self._known_of(language, what)
        number = known.get(state)
        if number is None:
            number = known[state] = number_of([(language, state, what)])
        return number

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
            high = UNBOUNDED_LENGTH if texts.high is None else min(texts.high, UNBOUNDED_LENGTH)
            if not texts.empty:
                by_language.setdefault(texts.language, []).append(
                    Entry(min(texts.low, UNBOUNDED_LENGTH - 1), high, variable)
                )
        parts = [(language, language.start, tuple(dict.fromkeys(es))) for language, es in by_language.items()]
        return self.text_state(parts) if parts else 0

    def _literals(self, alternatives: list[tuple[int, StringAlternative]]) -> int:
        if len(alternatives) == 1:
            ((variable, only),) = alternatives
            texts = [*dict.fromkeys(sorted(map(str.encode, only.values or ())))]
            outcomes = [self._outcome(1 << variable)] * len(texts)
            return self._store_literals(texts, outcomes, [1 << variable] * len(texts))
        bits: dict[bytes, int] = {}
        for variable, a in alternatives:
            for text in a.values or ():
                data = text.encode()
                bits[data] = bits.get(data, 0) | 1 << variable
        texts = sorted(bits)
        variables = [bits[text] for text in texts]
        return self._store_literals(texts, [*map(self._outcome, variables)], variables)

    def _store_literals(self, texts: list[bytes], outcomes: Sequence[int], variables: list[int]) -> int:
        if not texts:
            return 0
        first = add_names(self._store, texts, outcomes)
        at = self._store.append(m.LITERALS, (first, len(texts)))
        self.literals[first] = Literals(texts, variables)
        return LITERAL_BIT | at // LITERALS_WIDTH

    def telling_literals(self, values: list[bytes], first_outcome: int) -> int:
        """Where a string begins that is one of these texts, in order, each of which has an outcome of its own."""
        outcomes = range(first_outcome, first_outcome + len(values))
        return self._store_literals(values, outcomes, [1] * len(values))

    def text_state(self, parts: list[TextPart]) -> int:
        merged: dict[tuple[TextLanguage, int], tuple[Entry, ...]] = {}
        for language, state, entries in parts:
            at = (language, state)
            if language is not FREE_TEXT and language.universal(state):
                at = (FREE_TEXT, FREE_TEXT.start)
            known_entries = merged.get(at)
            merged[at] = entries if known_entries is None else known_entries + entries
        live = tuple([(language, state, entries) for (language, state), entries in merged.items()])
        if len(live) == 1:
            language, state, entries = live[0]
            known = self._known_of(language, entries)
            if state not in known:
                if language is FREE_TEXT:
                    self._add_free_states(entries)
                else:
                    number = known[state] = self._new_text_state(live)
                    self._texts[number] = live
            return known[state]
        key = ("text", live)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = self._new_text_state(live)
            self._texts[found] = live
        return found

    def _add_free_states(self, entries: tuple[Entry, ...]) -> None:
        """Add all states of free text with these entries at once, with their rows."""
        store, start, count = self._store, self.free_text_start, self.freetext_states
        first = store.used(m.STATE) // STATE_WIDTH
        outcome = self._outcome(sum({1 << e.variable for e in entries}))
        flags, listed, records = HAS_NEXT, 0, 0
        if any(e.low > 0 or e.high < UNBOUNDED_LENGTH for e in entries):
            flags |= COUNTED | (SIMPLE if len(entries) == 1 else 0)
            listed = len(entries)
            each = [(e.low, e.high, -1, self._outcome(1 << e.variable)) for e in entries]
            records = store.append(
                m.ENTRY,
                [x for state in self._free for e in each for x in (int(FREE_TEXT.accepting(state)), *e)],
            )
        states: list[int] = []
        for i, state in enumerate(self._free):
            own = flags | (BOUNDARY | UNIVERSAL if FREE_TEXT.boundary(state) else 0)
            entry = records + i * listed * ENTRY_WIDTH
            pad = 0 if FREE_TEXT.boundary(state) else -1
            accepted = outcome if FREE_TEXT.accepting(state) else 0
            states += (own, accepted, entry, listed, 0, i + 1, outcome, -1, 0, 0, -1, pad, 0, 0, 0, 0)
            self._texts[first + i] = ((FREE_TEXT, state, entries),)
        store.append(m.STATE, states)
        rows = self._room_for_rows(first, count)
        free = store.tables[m.DFA][start * 256 : (start + count) * 256]
        np.copyto(rows, np.where(free > 0, free + (first - start), 0))
        known = self._known_of(FREE_TEXT, entries)
        known.update((state, first + i) for i, state in enumerate(self._free))
        if self.free_names.are_told_apart(first):
            for i in range(count):
                self.free_names.note_inside(first + i, rows[i * 256 : (i + 1) * 256], first)

    def _add_texts(
        self, language: TextLanguage, states: list[int], entries: tuple[Entry, ...], known: dict[int, int]
    ) -> None:
        """Add the string states of a language's states that are not known, all at once where they are no free text."""
        outcome = 0 if language is FREE_TEXT else self._outcome(sum({1 << e.variable for e in entries}))
        new: list[int] = []
        for state in states:
            if not outcome or language.universal(state):
                known[state] = self.text_state([(language, state, entries)])
            else:
                new.append(state)
        if not new:
            return
        store, first = self._store, self.state_count
        counted = any(e.low > 0 or e.high < UNBOUNDED_LENGTH for e in entries)
        bounds = [(e.low, e.high, self._outcome(1 << e.variable)) for e in entries] if counted else []
        lengths = [self._length_set(language.lengths(state)) for state in new] if counted else []
        each, entry = len(bounds), store.used(m.ENTRY) if counted else 0
        listed: list[int] = []
        records: list[int] = []
        texts, boundary, accepting = self._texts, language.boundary, language.accepting
        for number, state in enumerate(new, start=first):
            flags = BOUNDARY if boundary(state) else 0
            accepts = accepting(state)
            if counted:
                length = lengths[number - first]
                for low, high, one in bounds:
                    listed += (int(accepts), low, high, length, one)
                flags |= COUNTED | (SIMPLE if each == 1 and length == -1 else 0)
            accepted = outcome if accepts else 0
            records += (flags, accepted, entry, each, 0, 0, outcome, -1, 0, 0, -1, -1, 0, 0, 0, 0)
            entry += each * ENTRY_WIDTH
            texts[number] = ((language, state, entries),)
            known[state] = number
        if counted:
            store.append(m.ENTRY, listed)
        store.append(m.STATE, records)
        self._room_for_rows(first, len(new))

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
                counted = counted or e.low > 0 or e.high < UNBOUNDED_LENGTH
                everything |= 1 << e.variable
                if accepts:
                    accepted |= 1 << e.variable
        records: list[int] = []
        if counted:
            for language, state, entries in parts:
                accepts = language.accepting(state)
                # Where no bound asks for them, lengths need not be at hand.
                bounded = any(e.low > 0 or e.high < UNBOUNDED_LENGTH for e in entries)
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

    def set_endless_loop(self, number: int) -> bool:
        """Store the loop of a string state where its language has one at hand; whether it has."""
        alone = self.alone(number)
        language, state = alone or (FREE_TEXT, DEAD)
        members = language.endless(state) if isinstance(language, CodePointLanguage) else None
        if members is None:
            return False
        record = self._store.tables[m.STATE][number * STATE_WIDTH :]
        record[Q_LOOP], _ = kinds_within(members)
        record[Q_DEAD] = 0
        record[Q_FAR] = record[Q_LIMIT] = UNLIMITED
        record[Q_FLAGS] |= EXACT
        return True

    def find_padding(self, number: int) -> None:
        """Store how many code points suffice to complete a string, whatever comes before them, if that is evident."""
        record = self._store.tables[m.STATE][number * STATE_WIDTH :]
        parts = self._texts[number]
        if not record[Q_FLAGS] & COUNTED or len(parts) == 1:
            # Where every continuation is accepted, none is needed.
            found = [0 if language.universal(state) else language.padding(state) for language, state, _ in parts]
            record[Q_PAD] = min((n for n in found if n is not None), default=-1)

    def text_parts(self, number: int) -> tuple[TextPart, ...]:
        """The components of a string state."""
        return self._texts[number]

    def worth_looking_at(self, number: int) -> int:
        """So many states may be looked at to find the loop of one: their rows take the longer the more parts it has,
        and what names can go on to is mostly evident."""
        few = _FEW_PARTS_OF_NAMES if self.free_names.are_told_apart(number) else _FEW_PARTS
        return MAX_REACHED if len(self._texts[number]) <= few else MAX_REACHED // 3

    def alone(self, number: int) -> tuple[TextLanguage, int] | None:
        """The language and state that a string state stands for, if it is one and lengths are not counted."""
        parts = self._texts[number]
        if len(parts) > 1 or self._store.tables[m.STATE][number * STATE_WIDTH + Q_FLAGS] & COUNTED:
            return None
        return parts[0][:2]

    def successors(self, number: int, ranges: Iterable[tuple[int, int]]) -> list[int]:
        """The states after one code point out of the given inclusive ranges, from a state between two of them."""
        steps: Steps = []
        for low, high in ranges:
            if low < FIRST_SURROGATE:
                steps.append((low, min(high, FIRST_SURROGATE - 1), ()))
            if high > LAST_SURROGATE:
                steps.append((max(low, LAST_SURROGATE + 1), high, ()))
        parts = self._texts[number]
        for language, state, _ in parts:
            assert isinstance(language, CodePointLanguage)
            steps = joined(steps, language.segments(state), required=False)
        found: list[int] = []
        for targets in dict.fromkeys(to for _, _, to in steps):
            live = [(part[0], to, part[2]) for part, to in zip(parts, targets, strict=True) if to]
            if live:
                found.append(self.text_state(live))
        return list(dict.fromkeys(found))

    def row(self, number: int) -> np.ndarray:  # type: ignore[type-arg]
        """The row of a state, built if need be."""
        if self._store.tables[m.DFA][number * 256] < 0:
            self.build_row(number)
        return self._store.tables[m.DFA][number * 256 : number * 256 + 256]

    def is_narrow(self, number: int) -> bool:
        """Whether so few characters of ASCII can follow a state that a walk needs no loop; its row is built."""
        if self._store.tables[m.DFA][number * 256] < 0:
            self.supply_row(number)
        return int(np.count_nonzero(self._store.tables[m.DFA][number * 256 + 0x20 : number * 256 + 0x7F])) < WIDE

    def supply_row(self, number: int) -> None:
        """Build the row of a state, and of those after it so long as there is one way to go on."""
        if self._store.tables[m.DFA][number * 256] >= 0:  # it was built with one that was asked for before
            return
        if self._build_block(number):
            return
        for _ in range(_CHAIN):
            after = self.build_row(number)
            if len(after) != 1:
                break
            (number,) = after
            if self._store.tables[m.DFA][number * 256] >= 0:
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
        if found is None and len(parts) == 1 and parts[0][0] in USUAL and parts[0][::2] not in self._begun:
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

    def _add_atoms(
        self, language: Language, states: list[int], variables: tuple[int, ...], known: dict[int, int]
    ) -> None:
        """Add the states of a language's states that are not known, all at once."""
        if language in USUAL and (language, variables) not in self._begun:
            self._add_beginning((language,), variables)
        new: list[int] = []
        for state in states:
            found = self._numbers.get(("atom", ((language, state, variables),)))
            if found is None:
                new.append(state)
            else:
                known[state] = found
        if not new:
            return
        outcome = 0
        first = self.state_count
        records: list[int] = []
        for number, state in enumerate(new, start=first):
            if language.accepting(state):
                outcome = outcome or self._outcome(sum({1 << v for v in variables}))
                accepted = outcome
            else:
                accepted = 0
            shortest = 0 if language.around_values else language.shortest(state)
            records += (_ROLE_FLAGS[language.role(state)], accepted, 0, 0, shortest, 0, 0, -1, 0, 0, -1, -1, 0, 0, 0, 0)
            parts = ((language, state, variables),)
            self._atoms[number] = parts
            known[state] = self._numbers["atom", parts] = number
        self._store.append(m.STATE, records)
        self._room_for_rows(first, len(new))

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
            if state != language.start or own != variables or language not in USUAL or (language, own) in self._begun:
                return None
        languages = tuple(language for language, _, _ in parts)
        row = beginnings(languages)
        return None if row is None else np.where(row > 0, row + (self._add_beginning(languages, variables) - 1), 0)

    def atom_parts(self, number: int) -> tuple[AtomPart, ...]:
        """The components of an atom or raw state."""
        return self._atoms[number]


_FEW_PARTS, _FEW_PARTS_OF_NAMES = 4, 2
_MORE_ROWS = 512  # rows there is room for once the first are not enough
_MOST_JOINT = 1 << 62
_CHAIN = 3  # rows built at once where there is one way to go on

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
        found = known[state] = language.branches(state) or distinct(language.row(state))
    return found


_blocks: weakref.WeakKeyDictionary[Language, dict[int, Block]] = weakref.WeakKeyDictionary()
_MAX_IN_BLOCKS = 2_000  # states of one language in blocks that are kept


def block_of(language: TextLanguage, state: int) -> Block | None:
    """The rows of a state and of others that come with it; None where it comes alone. Kept like `moves`."""
    known = _blocks.get(language)
    if known is None:
        known = _blocks[language] = {}
    found = known.get(state) or language.block(state)
    if found is not None and state not in known:
        if len(known) >= _MAX_IN_BLOCKS:
            known.clear()
        known.update(dict.fromkeys(found.states, found))
    return found


def make_ahead(language: TextLanguage, most: int) -> None:
    """Find the moves of a language's states, of up to `most` in the order of their distance from the start, and the
    rows that come together."""
    states = dict.fromkeys((DEAD, language.start))
    todo = [language.start]
    for state in todo:  # which grows
        block_of(language, state)
        for to in moves(language, state)[0]:
            if to not in states and len(states) <= most:
                states[to] = None
                todo.append(to)


def add_names(store: Store, names: list[bytes], outcomes: Sequence[int] | None = None) -> int:
    """Store sorted names and their outcomes (absent: 0); the number of the first. One more offset bounds the last."""
    at = store.append_bytes(m.NAME_BYTES, b"".join(names))
    offsets = accumulate(map(len, names), initial=at)
    if len(names) < _MANY_NAMES:
        store.append(m.NAME_OUT, (0,) * (len(names) + 1) if outcomes is None else [*outcomes, 0])
        return store.append(m.NAME_OFF, [*offsets])
    of_names = np.zeros(len(names) + 1, dtype=np.int32)
    if outcomes is not None:
        of_names[:-1] = np.arange(outcomes.start, outcomes.stop) if isinstance(outcomes, range) else outcomes
    store.append(m.NAME_OUT, of_names)
    return store.append(m.NAME_OFF, np.fromiter(offsets, np.int64, len(names) + 1))
