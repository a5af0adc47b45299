"""Names that no rule lists, while they are read: where they begin, and how they can go on to which classes.

Names fall into classes by the languages (patterns, demands on names) that they belong to. Each language is read by
itself, as one part of a scanner's state; how a name can go on to a class is then the residual of those languages,
looked at where somebody asks for it, and mostly evident without it (see `name_reach`). Only where a language has an
outline, which guides searches in products, every class is a part, as a language.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Collection, Container, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from constrain.engine.class_loops import Repeated
from constrain.engine.name_reach import ENDLESS, NameReach, name_reach
from constrain.engine.text_entries import ANY_NAME, UNBOUNDED_LENGTH, Entry, TextPart
from constrain.grammars.json_schema.members import Members
from constrain.grammars.languages.base import TextLanguage
from constrain.grammars.languages.extent import has_many, shortest_text
from constrain.grammars.languages.residual import ANYTHING, Standing, residual
from constrain.grammars.languages.text import FREE_TEXT
from constrain.grammars.regex.utf8 import CodePointLanguage

if TYPE_CHECKING:
    from constrain.engine.scanners import Scanners

_CHEAP_FIRST = sorted(range(256), key=lambda b: (b < 0x20 or b in (0x22, 0x5C), b))  # bytes that need no escape first


@dataclass(frozen=True, slots=True)
class _Name(Entry):
    """Any name, of which languages are told apart that have entries of their own, the first at variable 1."""

    among: NameReach


class FreeNames:
    """The free names of one automaton. Classes are sets of numbers of an object's languages; see `Members`."""

    def __init__(self, scanners: Scanners) -> None:
        self._scanners: Scanners = weakref.proxy(scanners)  # which own this
        self._many: dict[tuple[TextLanguage, int], bool] = {}
        self._inside: dict[int, tuple[int, int]] = {}  # how states inside a character were come to: state and byte
        self._residuals: dict[tuple[int, frozenset[int]], Standing | None] = {}
        # Of languages with few names: whether one ends in a state, and the states after it with the bytes before them.
        self._onward: dict[tuple[TextLanguage, int], tuple[bool, list[tuple[int, bytes]]]] = {}
        self._steps: dict[tuple[int, tuple[frozenset[int], ...]], int] = {}

    def start(self, members: Members | None = None) -> int:
        """The state in which a free name begins of an object with these members, or with any.

        The outcome at its end is 1 for the first bit, and bit 1 + i for each i among the members of its class.
        """
        languages = () if members is None else members.languages
        among = tuple(language for language in languages if isinstance(language, CodePointLanguage))
        if members is None or not among:
            return self._scanners.text_state([(FREE_TEXT, FREE_TEXT.start, (ANY_NAME,))])
        if any(language.outline is not None for language in among):
            parts: list[TextPart] = [(FREE_TEXT, FREE_TEXT.start, (ANY_NAME,))]
            for c in members.classes:
                entries = tuple(Entry(0, UNBOUNDED_LENGTH, i + 1) for i in sorted(c.members))
                parts.append((c.language, c.language.start, entries or (ANY_NAME,)))
            return self._scanners.text_state(parts)
        told_apart = name_reach(among, tuple(c.members for c in members.classes))
        parts = [(FREE_TEXT, FREE_TEXT.start, (_Name(0, UNBOUNDED_LENGTH, 0, told_apart),))]
        parts += [(language, language.start, (Entry(0, UNBOUNDED_LENGTH, i + 1),)) for i, language in enumerate(among)]
        return self._scanners.text_state([part for part in parts if part[1]])

    def _told_apart(self, number: int) -> NameReach | None:
        """Where a free name's languages are read side by side: these; None where its classes are."""
        entry = self._scanners.text_parts(number)[0][2][0]
        return entry.among if type(entry) is _Name else None

    def are_told_apart(self, number: int) -> bool:
        """Whether a state of a scanner is one of a free name whose languages are read side by side."""
        return self._told_apart(number) is not None

    def note_inside(self, number: int, row: NDArray[np.int32], first: int) -> None:
        """Note how states of free names inside a character, new ones from `first` on, were come to."""
        for to in range(first, self._scanners.state_count):
            if to not in self._inside and not FREE_TEXT.boundary(self._scanners.text_parts(to)[0][1]):
                byte = int(np.argmax(row == to))
                if row[byte] == to:
                    self._inside[to] = number, byte

    def _states_of(self, number: int, count: int) -> list[int]:
        """Of a free name's state between two characters: where each language stands; 0 for nowhere, -1 where it admits
        everything."""
        out = [0] * count
        for language, state, entries in self._scanners.text_parts(number):
            for e in entries:
                if e.variable:
                    out[e.variable - 1] = -1 if language is FREE_TEXT else state
        return out

    def _residual(self, number: int, names: NameReach, members: frozenset[int]) -> Standing | None:
        """What can follow a free name's state between two characters to a name of a class."""
        key = number, members
        if key not in self._residuals:
            inside: list[Standing] = []
            outside: list[Standing] = []
            states = self._states_of(number, len(names.among))
            for i, (language, state) in enumerate(zip(names.among, states, strict=True)):
                (inside if i in members else outside).append(ANYTHING if state < 0 else (language, state))
            self._residuals[key] = residual(inside, outside)
        return self._residuals[key]

    def _classes_at(
        self, number: int, wanted: Collection[frozenset[int]]
    ) -> Iterator[tuple[frozenset[int], TextLanguage, int]]:
        """The wanted classes of names that can still be completed from a state: members, and what can follow as the
        state of a language."""
        parts = self._scanners.text_parts(number)
        names = self._told_apart(number)
        if names is None:
            if len(parts) == 1 and parts[0][2] == (ANY_NAME,):
                if frozenset() in wanted:
                    yield frozenset(), *parts[0][:2]
                return
            for language, state, entries in parts:
                members = frozenset(e.variable - 1 for e in entries if e.variable)
                if members in wanted and (language is not FREE_TEXT or entries != (ANY_NAME,)):
                    yield members, language, state
        elif number in self._inside:
            before, byte = self._inside[number]
            for members, language, state in self._classes_at(before, wanted):
                if to := language.next(state, byte):
                    yield members, language, to
        else:
            for members in wanted:
                found = self._residual(number, names, members)
                if found is not None:
                    yield members, *found

    def steps_within_reach(self, number: int, wanted: Collection[frozenset[int]]) -> int:
        """After so many characters, whatever they are, endlessly many names of wanted classes can still follow; -1
        where that is not evident, `ENDLESS` for any number."""
        names = self._told_apart(number)
        if names is None:
            found = self._classes_at(number, wanted)
            return ENDLESS if any(language.padding(state) is not None for _, language, state in found) else -1
        key = (number, tuple(wanted))
        steps = self._steps.get(key)
        if steps is None:
            if number in self._inside:
                steps = max(-1, self.steps_within_reach(self._inside[number][0], wanted) - 1)
            else:
                steps = names.steps(self._states_of(number, len(names.among)), wanted)
            self._steps[key] = steps
        return steps

    def marks(self, number: int, wanted: Collection[frozenset[int]]) -> int | None:
        """Classes of the vocabulary, as bits, without whose characters endlessly many names of wanted classes can
        follow, whatever comes; None where that is not evident. There are `steps_within_reach`."""
        names = self._told_apart(number)
        if names is None or number in self._inside:
            return None
        return names.marks(self._states_of(number, len(names.among)), wanted)

    def reach(self, number: int, wanted: Collection[frozenset[int]]) -> int:
        """How a name can go on to one of the wanted classes: 0 not, 1 without end, 2 in ways that may be few."""
        if self._told_apart(number) is not None and self.steps_within_reach(number, wanted) >= 0:
            return 1
        found = 0
        for _, language, state in self._classes_at(number, wanted):
            key = (language, state)
            many = self._many.get(key)
            if many is None:
                assert isinstance(language, CodePointLanguage)
                many = self._many[key] = has_many(language, state)
            if many:
                return 1
            found = 2
        return found

    def has_name(self, number: int, wanted: Collection[frozenset[int]], prefix: bytes, taken: Container[bytes]) -> bool:
        """Whether there is a name of the wanted classes that is not taken, with `prefix` read to get to the state.

        Of each class there are finitely many names, so going deep first ends, and soon finds one that is not taken.
        """
        for _, language, state in self._classes_at(number, wanted):
            todo = [(state, prefix)]
            while todo:
                at, text = todo.pop()
                step = self._onward.get((language, at))
                if step is None:
                    row = language.row(at).tolist()
                    ways = [(to, bytes((byte,))) for byte, to in enumerate(row) if to]
                    step = self._onward[language, at] = language.accepting(at), ways
                ends, ways = step
                if ends and text not in taken:
                    return True
                todo += [(to, text + byte) for to, byte in ways]
        return False

    def repeated(self, number: int, wanted: Collection[frozenset[int]]) -> Repeated | None:
        """What follows where names of only one of the wanted classes can."""
        found = [*islice(self._classes_at(number, wanted), 2)]
        if len(found) != 1:
            return None
        ((_, language, state),) = found
        if not isinstance(language, CodePointLanguage) or not language.boundary(state):
            return None
        repeat = language.leading_repeat(state)
        if repeat is None:
            return None
        members, most = repeat
        end = None if most is None else language.most_leading(state, members)
        return Repeated(members, most, end, language.alphabet(state))

    def shortest_name(self, number: int, wanted: frozenset[int]) -> bytes | None:
        """A shortest continuation from a state to a name of a class; None where there is none."""
        for _, language, state in self._classes_at(number, (wanted,)):
            assert isinstance(language, CodePointLanguage)
            return shortest_text(language, state)
        return None

    def names(
        self, number: int, wanted: Collection[frozenset[int]], prefix: bytes, steps: int | None = None
    ) -> Iterator[bytes]:
        """The names of the wanted classes, shortest first, with `prefix` read to get to the state.

        With `steps`, only so many beginnings are looked at.
        """
        queue = deque((language, state, prefix) for _, language, state in self._classes_at(number, wanted))
        while queue and steps != 0:
            steps = None if steps is None else steps - 1
            language, at, text = queue.popleft()
            if language.accepting(at):
                yield text
            row = language.row(at).tolist()
            queue.extend((language, row[b], text + bytes((b,))) for b in _CHEAP_FIRST if row[b])
