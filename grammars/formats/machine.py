"""Languages given by a machine: states are values, steps are ranges of code points.

A pattern is a poor way to say "at most 253 characters in labels of at most 63" or "second 60 only where the offset
makes it 23:59:60 UTC". A machine says it directly: its state is a small tuple of what has to be remembered. States
are numbered, and rows built, when they are visited. A machine only names states from which a word can still be
reached; that, and its two distances, is what it has to know about itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..languages.base import ALL_LENGTHS, DEAD, Block, LengthSet, TextLanguage
from ..regex import lengths as length_sets
from ..regex.classes import LAST, CodePoints
from ..regex.utf8 import LEAD_COLUMN, CodePointLanguage, Segments

State = TypeVar("State", bound=Hashable)

Move = tuple[int, int, State]
"""Code points `first` to `last`, and the state that they lead to."""


class Layout:
    """Which code points go together: what states with other targets share, so that it is worked out once.

    Args:
        ranges: disjoint ranges of code points, each with the number of its target, from 0 on.
    """

    def __init__(self, ranges: Iterable[tuple[int, int, int]]) -> None:
        self.ranges: list[tuple[int, int, int]] = []
        for first, last, index in sorted(ranges):
            if self.ranges and self.ranges[-1][1:] == (first - 1, index):
                self.ranges[-1] = (self.ranges[-1][0], last, index)
            else:
                self.ranges.append((first, last, index))
        self.wide: int | None = None
        """The number of the target of all code points beyond ASCII, if they have one."""
        ascii_ranges = self.ranges
        if self.ranges and self.ranges[-1][0] <= 0x80 and self.ranges[-1][1] == LAST:
            first, _, self.wide = self.ranges[-1]
            ascii_ranges = [*self.ranges[:-1], (first, 0x7F, self.wide)]
        self.column: NDArray[np.int64] | None = None
        """By byte the number of the target, counted from 1 (of `wide`, the ASCII part of it); None where code points
        beyond ASCII lead to several."""
        if all(last < 0x80 for _, last, _ in ascii_ranges):
            self.column = np.zeros(256, dtype=np.int64)
            for first, last, index in ascii_ranges:
                self.column[first : last + 1] = index + 1
            self.column.setflags(write=False)


Arranged = tuple[Layout, list[State]]
"""A layout, and the targets."""


class Machine(ABC, Generic[State]):
    """A deterministic automaton over code points, trimmed by construction."""

    start: State

    @abstractmethod
    def moves(self, state: State) -> list[Move[State]]:
        """Steps from `state`, disjoint, in any order, to live states only."""

    def arranged(self, state: State) -> Arranged[State] | None:  # noqa: ARG002
        """The same as `moves`, where the machine has a layout for `state`; None elsewhere."""
        return None

    def variant(self, state: State) -> tuple[State, list[tuple[str, State]]] | None:  # noqa: ARG002
        """Another state from which the same moves lead, but under some ASCII characters: these, with the states that
        they lead to from `state`. None where there is none. That other state is no variant itself."""
        return None

    def alike(self, state: State) -> Sequence[State]:  # noqa: ARG002
        """Other states, not too many, whose moves are likely to be asked for where those of `state` are: of the same
        layout, or variants of the same state."""
        return ()

    def endless(self, state: State) -> CodePoints | None:  # noqa: ARG002
        """A class of which any number of members can follow `state`, where each leads to a state of its own; it has no
        members where there is none to be found among many states. None where that is not evident."""
        return None

    @abstractmethod
    def accepts(self, state: State) -> bool:
        """Whether a word ends in `state`."""

    @abstractmethod
    def shortest(self, state: State) -> int:
        """Fewest further UTF-8 bytes to the end of a word."""

    @abstractmethod
    def lengths(self, state: State) -> LengthSet:
        """The numbers of further code points after which a word can end."""


class LanguageMachine(Machine[int]):
    """A language over code points as a part of a larger machine. Its states are those between characters."""

    def __init__(self, language: TextLanguage) -> None:
        assert isinstance(language, CodePointLanguage)
        self.language = language
        self.start = language.start

    def moves(self, state: int) -> list[Move[int]]:
        return self.language.segments(state)

    def accepts(self, state: int) -> bool:
        return self.language.accepting(state)

    def shortest(self, state: int) -> int:
        return self.language.shortest(state)

    def lengths(self, state: int) -> LengthSet:
        return self.language.lengths(state)


class MachineLanguage(CodePointLanguage, Generic[State]):
    """The language of a machine.

    Args:
        machine: what decides. Only called under the lock of this object.
        source: a function and arguments that give an equal language: how it is pickled.
        outline: a language of few states that has all texts of the machine's.
    """

    def __init__(
        self,
        machine: Machine[State],
        source: tuple[Callable[..., object], tuple[object, ...]],
        outline: CodePointLanguage | None = None,
    ) -> None:
        super().__init__()
        self._machine, self._source, self._outline = machine, source, outline
        self._numbers: dict[State, int] = {}
        self._values: dict[int, State] = {}
        self._by_identity: dict[int, int] = {}  # of the very objects in `_values`, as hashing one takes time
        self._columns: dict[Layout, NDArray[np.int64]] = {}
        self.start = self._number(machine.start)

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self._source

    def __repr__(self) -> str:
        function, arguments = self._source
        return f"{function.__name__}({', '.join(map(repr, arguments))})"

    def _number(self, value: State) -> int:
        new = len(self._rows)
        number = self._numbers.setdefault(value, new)  # hashes it once
        if number == new:
            self._new_state()
            self._values[number] = value
            self._by_identity[id(value)] = number
        return number

    def branches(self, state: int) -> tuple[list[int], NDArray[np.int64]] | None:
        value = self._values.get(state)
        if value is None:
            return super().branches(state)
        with self._lock:
            arranged = self._machine.arranged(value)
            if arranged is None:
                return None
            layout, targets = arranged
            ascii_column = layout.column
            if ascii_column is None:
                return None
            numbers = [DEAD, *self._numbered(targets)]
            if layout.wide is None:
                return numbers, ascii_column
            # Bytes from 0x80 on lead inside a character: to as many states, whatever comes after it.
            column = self._columns.get(layout)
            if column is None:
                column = ascii_column.copy()
                column[0x80:] = np.where(LEAD_COLUMN > 0, LEAD_COLUMN + (len(numbers) - 1), 0)
                column.setflags(write=False)
                self._columns[layout] = column
            return numbers + self._leads_to(numbers[layout.wide + 1]), column

    def variant(self, state: int) -> tuple[int, list[tuple[int, int]]] | None:
        value = self._values.get(state)
        if value is None:
            return None
        with self._lock:
            found = self._machine.variant(value)
            if found is None:
                return None
            return self._number(found[0]), [(ord(character), self._number(after)) for character, after in found[1]]

    def block(self, state: int) -> Block | None:
        value = self._values.get(state)
        if value is None:
            return super().block(state)
        with self._lock:
            values = [value, *self._machine.alike(value)]
            if len(values) == 1:
                return None
            variant = self._machine.variant(value)
            return self._block_of_layout(values) if variant is None else self._block_of_variants(values, *variant)

    def _block_of_layout(self, values: list[State]) -> Block | None:
        """The rows of those of some states that have the layout of the first."""
        states: list[int] = []
        targets: list[list[int]] = []
        layout = None
        for value in values:
            arranged = self._machine.arranged(value)
            layout = arranged[0] if arranged and layout is None else layout
            if arranged is None or layout is None or layout.column is None or layout.wide is not None:
                return None
            if arranged[0] is layout:
                states.append(self._number(value))
                targets.append([DEAD, *self._numbered(arranged[1])])
        assert layout is not None
        assert layout.column is not None
        after = list(dict.fromkeys(to for each in targets for to in each))
        return Block(states, np.array(targets, dtype=np.int32), layout.column, after)

    def _block_of_variants(self, values: list[State], base: State, changes: list[tuple[str, State]]) -> Block | None:
        """The rows of those of some states that are variants of `base` at the same characters as the first."""
        found = self.branches(self._number(base))
        if found is None:
            return None
        characters = [character for character, _ in changes]
        after, column = found
        column = column.copy()
        for i, character in enumerate(characters, start=len(after)):
            column[ord(character)] = i
        states: list[int] = []
        changed: list[list[int]] = []
        for value in values:
            variant = self._machine.variant(value)
            if variant is not None and variant[0] == base and [c for c, _ in variant[1]] == characters:
                states.append(self._number(value))
                changed.append(self._numbered([to for _, to in variant[1]]))
        same = np.array(after, dtype=np.int32)
        targets = np.empty((len(states), len(after) + len(changes)), dtype=np.int32)
        targets[:, : len(after)] = same
        targets[:, len(after) :] = changed
        return Block(states, targets, column, list(dict.fromkeys([*after, *(to for each in changed for to in each)])))

    def _numbered(self, values: list[State]) -> list[int]:
        known = self._by_identity
        return [known.get(id(value)) or self._number(value) for value in values]

    def _segments(self, state: int) -> Segments:
        arranged = self._machine.arranged(self._values[state])
        if arranged is not None:
            numbers = self._numbered(arranged[1])
            return [(first, last, numbers[index]) for first, last, index in arranged[0].ranges]
        segments: Segments = []
        moves = sorted(self._machine.moves(self._values[state]), key=_first)
        known = self._by_identity
        targets: dict[int, int] = {}  # many moves share a target
        for first, last, value in moves:
            target = known.get(id(value)) or targets.get(id(value))
            if target is None:
                target = targets[id(value)] = self._number(value)
            if segments and segments[-1][2] == target and segments[-1][1] == first - 1:
                segments[-1] = (segments[-1][0], last, target)
            else:
                segments.append((first, last, target))
        return segments

    def accepting(self, state: int) -> bool:
        if state == DEAD or state not in self._values:
            return False
        with self._lock:
            return self._machine.accepts(self._values[state])

    def universal(self, state: int) -> bool:  # noqa: ARG002
        return False

    def endless(self, state: int) -> CodePoints | None:
        value = self._values.get(state)
        if value is None:
            return None
        with self._lock:
            return self._machine.endless(value)

    @property
    def outline(self) -> CodePointLanguage | None:
        return self._outline

    def quick_lengths(self, state: int) -> tuple[LengthSet, bool]:
        return self.lengths(state), True

    def _shortest_between(self, state: int) -> int:
        return self._machine.shortest(self._values[state]) if state != DEAD else 0

    def _lengths_between(self, state: int) -> LengthSet:
        return self._machine.lengths(self._values[state]) if state != DEAD else length_sets.NO_LENGTHS


def _first(move: tuple[int, int, object]) -> int:
    return move[0]


# Numbers of code points


def between(low: int, high: int) -> LengthSet:
    """The numbers `low` to `high`; none when `high` is smaller."""
    return length_sets.interval(max(low, 0), high)


def at_least(low: int) -> LengthSet:
    """The numbers from `low` on."""
    return length_sets.shift(ALL_LENGTHS, low)


# Sets of ASCII characters

Ranges = tuple[tuple[int, int], ...]
"""Sorted disjoint ranges of code points."""


@lru_cache(maxsize=1024)
def ranges_of(characters: str) -> Ranges:
    """The ranges that the characters of a text make up."""
    out: list[tuple[int, int]] = []
    for code in sorted(set(map(ord, characters))):
        if out and out[-1][1] == code - 1:
            out[-1] = (out[-1][0], code)
        else:
            out.append((code, code))
    return tuple(out)


def on(characters: str, state: State) -> list[Move[State]]:
    """Steps to one state under each of `characters`."""
    return [(first, last, state) for first, last in ranges_of(characters)]


def digits(first: int, last: int, state: State) -> Move[State]:
    """A step under the ASCII digits `first` to `last`."""
    return 0x30 + first, 0x30 + last, state
