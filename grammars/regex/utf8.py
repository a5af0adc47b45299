"""From code points to bytes: automata whose steps are ranges of code points, refined to UTF-8.

A subclass says, for a state between two characters, which ranges of code points lead where. This class fills the row
of 256 bytes: ASCII directly, longer encodings through states *inside* a character. An inside state is known by what
it still leads to (bytes outstanding, and ranges of the code points' low bits with their targets), so equal ones are
one. All of U+0080..U+10FFFF leading to one target is by far the usual case; the upper half of such a row is kept per
target.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ResourceLimitError
from ..languages.base import DEAD, Block, LengthSet, TextLanguage
from . import lengths as length_sets
from .classes import EVERY, FIRST_SURROGATE, LAST, LAST_SURROGATE, NONE, CodePoints, least_bytes

MAX_ROWS = 20_000
"""Most rows kept per language; a row is 1 KiB. Beyond that all are dropped, and built again when asked for."""
MAX_STATES = 1_000_000
"""Most states per language."""

Segments = list[tuple[int, int, int]]
"""Sorted disjoint ranges of code points with their targets: (first, last, state)."""

ClassRepeat = tuple[CodePoints, int, int | None]
"""A class, and from how many to how many of its members; no upper limit when the last is None."""


class Separation(NamedTuple):
    """What ends a text's way through a language.

    A code point that is not in `known` leads, from every state that does not admit everything (and, where what accepts
    is `lasting`: accepts from then on, however it goes on, does not accept either), to where nothing is accepted as
    long as it is repeated.
    """

    known: CodePoints
    lasting: bool


_Inside = tuple[int, tuple[tuple[int, int, int], ...]]
"""Bytes outstanding, and ranges of the bits they carry with their targets."""

_NO_ROW = np.zeros(256, dtype=np.int32)
_NO_ROW.setflags(write=False)

# Bytes after the first, first code point, last code point, first byte less the bits it carries.
_FORMS = ((1, 0x80, 0x7FF, 0xC0), (2, 0x800, 0xFFFF, 0xE0), (3, 0x10000, LAST, 0xF0))

# All code points beyond ASCII: first bytes, then what is outstanding after them, and the first and last bits of that.
_WIDE = (
    (0xC2, 0xDF, 1, 0, 0x3F),
    (0xE0, 0xE0, 2, 0x800, 0xFFF),
    (0xE1, 0xEC, 2, 0, 0xFFF),
    (0xED, 0xED, 2, 0, 0x7FF),
    (0xEE, 0xEF, 2, 0, 0xFFF),
    (0xF0, 0xF0, 3, 0x10000, 0x3FFFF),
    (0xF1, 0xF3, 3, 0, 0x3FFFF),
    (0xF4, 0xF4, 3, 0, 0xFFFF),
)
_WIDE_INSIDES = tuple(dict.fromkeys(form[2:] for form in _WIDE))
LEADS = len(_WIDE_INSIDES)
"""So many states are inside a character where all code points beyond ASCII lead to one state."""
LEAD_COLUMN = np.zeros(128, dtype=np.int64)
"""By byte from 0x80 on the number of the one it leads to, counted from 1; 0 where it leads to none."""
for _first, _last, *_form in _WIDE:
    LEAD_COLUMN[_first - 0x80 : _last - 0x7F] = _WIDE_INSIDES.index(tuple(_form)) + 1
LEAD_COLUMN.setflags(write=False)


def _column_inside(outstanding: int, first: int, last: int) -> NDArray[np.int64]:
    """By byte 1 where it leads on inside a character of which these bits are outstanding, else 0."""
    column = np.zeros(256, dtype=np.int64)
    width = 6 * (outstanding - 1)
    column[0x80 + (first >> width) : 0x81 + (last >> width)] = 1
    column.setflags(write=False)
    return column


_INSIDE_COLUMNS = {form: _column_inside(*form) for form in _WIDE_INSIDES}

# The rows of these states, for all of them at once: by byte which sort of continuation it is, and by state and sort
# what it leads to, 0 for none, 1 + the number of one of the states, or `LEADS` + 1 for the state after the character.
_CONTINUATIONS = np.zeros(256, dtype=np.int64)
_CONTINUATIONS[0x80:0x90], _CONTINUATIONS[0x90:0xA0], _CONTINUATIONS[0xA0:0xC0] = 1, 2, 3
_CONTINUATIONS.setflags(write=False)
_CONTINUED = np.array(
    [
        [
            _INSIDE_COLUMNS[form][byte]
            * (LEADS + 1 if form[0] == 1 else 1 + _WIDE_INSIDES.index((form[0] - 1, 0, (1 << 6 * (form[0] - 1)) - 1)))
            for byte in (0, 0x80, 0x90, 0xA0)
        ]
        for form in _WIDE_INSIDES
    ]
)
_AFTER = np.unique(_CONTINUED).tolist()


def cheapest_of(first: int, last: int) -> int:
    """A code point of a range that takes the fewest bytes, in JSON too."""
    for low, high in _PLAIN:
        if first <= high and low <= last:
            return max(first, low)
    return first


def is_plain(code: int) -> bool:
    """Whether JSON writes the code point as one byte."""
    return any(low <= code <= high for low, high in _PLAIN)


_PLAIN = ((0x61, 0x7A), (0x30, 0x39), (0x41, 0x5A), (0x20, 0x21), (0x23, 0x5B), (0x5D, 0x7F))


class CodePointLanguage(TextLanguage):
    """A text language given by steps over code points.

    States are made by `_new_state`; rows are built when asked for. Everything that changes the object happens under
    `_lock`; reads of finished rows take no lock.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._rows: list[NDArray[np.int32] | None] = [_NO_ROW]
        self._insides: list[_Inside | None] = [None]
        self._inside_ids: dict[_Inside, int] = {}
        self._upper_halves: dict[int, NDArray[np.int32]] = {}
        self._built = 0
        self._shortest: dict[int, int] = {}
        self._lengths: dict[int, LengthSet] = {}
        self._steps: dict[int, Segments] = {}

    @abstractmethod
    def _segments(self, state: int) -> Segments:
        """Where code points lead from a state between characters: live targets, neighbours of one target merged."""

    @abstractmethod
    def _shortest_between(self, state: int) -> int:
        """`shortest` for a state between characters."""

    @abstractmethod
    def _lengths_between(self, state: int) -> LengthSet:
        """`lengths` for a state between characters."""

    def class_repeat(self, state: int) -> ClassRepeat | None:  # noqa: ARG002
        """What follows `state`, when that is evidently so many characters of one class; None otherwise."""
        return None

    def leading_repeat(self, state: int) -> tuple[CodePoints, int | None] | None:  # noqa: ARG002
        """A class of which evidently so many members (None: any number) can follow `state`, and then some end."""
        return None

    def endless(self, state: int) -> CodePoints | None:  # noqa: ARG002
        """A class of which any number of members can follow `state`, perhaps without members, where a search for one
        would look at many states; None otherwise."""
        return None

    def alphabet(self, state: int) -> CodePoints:  # noqa: ARG002
        """A set that has every code point that can still come after `state`, which is between characters."""
        return EVERY

    def most_leading(self, state: int, members: CodePoints) -> int | None:  # noqa: ARG002
        """No more than so many of these code points can come next after `state`, which is between characters; None
        where any number may, or it is not evident."""
        return None

    def needs(self, state: int, members: CodePoints) -> bool:  # noqa: ARG002
        """Whether every text that follows `state`, between characters, has one of these; False where that is not
        evident."""
        return False

    def least_texts(self, state: int) -> int:  # noqa: ARG002
        """No more than the texts that follow a state between two characters, counted without a search."""
        return 0

    @property
    def separation(self) -> Separation:
        """See `Separation`."""
        return Separation(self.alphabet(self.start) if self.start else NONE, False)

    def quick_lengths(self, state: int) -> tuple[LengthSet, bool]:  # noqa: ARG002
        """A set that has all `lengths` of a state between characters, found without a search; whether it is exact."""
        return length_sets.ALL_LENGTHS, False

    @property
    def outline(self) -> CodePointLanguage | None:
        """A language of few states that has all texts of this one, where this one has many; to guide searches."""
        return None

    def segments(self, state: int) -> Segments:
        """Where code points lead from a state between characters; kept."""
        found = self._steps.get(state)
        if found is None:
            with self._lock:
                found = self._steps[state] = self._segments(state)
        return found

    def nearest_step(self, state: int) -> tuple[int, int]:
        """The first code point of a shortest way to acceptance, and the state after it.

        `state` is live, between characters, and does not accept.
        """
        left = self.shortest(state)
        best = -1, DEAD
        for first, last, to in self.segments(state):
            code = cheapest_of(first, last)
            if self.shortest(to) + least_bytes(((code, code),)) == left:
                best = code, to
                if is_plain(code):
                    break
        return best

    def _new_state(self) -> int:
        self._rows.append(None)
        self._insides.append(None)
        return len(self._rows) - 1

    def row(self, state: int) -> NDArray[np.int32]:
        """Successors of `state`: int32, shape (256,), read-only.

        Raises:
            ResourceLimitError: there are more than `MAX_STATES` states.
        """
        row = self._rows[state]
        return self._build(state) if row is None else row

    def boundary(self, state: int) -> bool:
        return state != DEAD and self._insides[state] is None

    def shortest(self, state: int) -> int:
        found = self._shortest.get(state)
        if found is None:
            with self._lock:
                inside = self._insides[state]
                if inside is None:
                    found = self._shortest_between(state)
                else:
                    found = inside[0] + min(self.shortest(target) for target in {piece[2] for piece in inside[1]})
                self._shortest[state] = found
        return found

    def lengths(self, state: int) -> LengthSet:
        """See the contract.

        Raises:
            ResourceLimitError: the set needs more numbers or more states than `lengths` of this package allows.
        """
        found = self._lengths.get(state)
        if found is None:
            with self._lock:
                inside = self._insides[state]
                if inside is None:
                    found = self._lengths_between(state)
                else:
                    found = length_sets.NO_LENGTHS
                    for target in sorted({piece[2] for piece in inside[1]}):
                        found = length_sets.union(found, self.lengths(target))
                self._lengths[state] = found
        return found

    def _build(self, state: int) -> NDArray[np.int32]:
        with self._lock:
            row = self._rows[state]
            if row is not None:
                return row
            if len(self._rows) > MAX_STATES:
                reason = f"more than {MAX_STATES} states of its automaton were visited"
                raise ResourceLimitError("", "pattern", reason, f"states {MAX_STATES}")
            if self._built >= MAX_ROWS:
                self._rows = [_NO_ROW, *[None] * (len(self._rows) - 1)]
                self._built = 0
            row = np.zeros(256, dtype=np.int32)
            inside = self._insides[state]
            if inside is None:
                known = self._steps.get(state)
                self._fill(row, self._segments(state) if known is None else known)
            else:
                outstanding, pieces = inside
                if outstanding == 1:
                    for first, last, target in pieces:
                        row[0x80 + first : 0x81 + last] = target
                else:
                    self._spread(row, pieces, 0x80, outstanding - 1)
            row.setflags(write=False)
            self._rows[state] = row
            self._built += 1
            return row

    def _fill(self, row: NDArray[np.int32], segments: Segments) -> None:
        for index, (first, last, target) in enumerate(segments):
            if last < 0x80:
                row[first : last + 1] = target
                continue
            if first < 0x80:
                row[first:0x80] = target
            if first <= 0x80 and last == LAST:
                row[0x80:] = self._upper_half(target)
            else:
                self._fill_upper(row, segments[index:])
            return

    def branches(self, state: int) -> tuple[list[int], NDArray[np.int64]] | None:
        """See the contract. Here of states inside a character, where all that it can be lead to one state."""
        inside = self._insides[state]
        if inside is None or len(inside[1]) > 1:
            return None
        outstanding, ((first, last, target),) = inside
        column = _INSIDE_COLUMNS.get((outstanding, first, last))
        if column is None:
            return None
        if outstanding > 1:
            with self._lock:
                target = self._inside(outstanding - 1, ((0, (1 << 6 * (outstanding - 1)) - 1, target),))
        return [DEAD, target], column

    def block(self, state: int) -> Block | None:
        """See the contract. Here of states inside a character, where all beyond ASCII lead to one state."""
        inside = self._insides[state]
        if inside is None or len(inside[1]) > 1:
            return None
        outstanding, ((first, last, target),) = inside
        if (outstanding, first, last) not in _INSIDE_COLUMNS:
            return None
        with self._lock:
            leads = self._leads_to(target)
        every = [DEAD, *leads, target]
        return Block(leads, np.array(every, dtype=np.int32)[_CONTINUED], _CONTINUATIONS, [every[i] for i in _AFTER])

    def _leads_to(self, target: int) -> list[int]:
        """The states inside a character where every code point beyond ASCII leads to `target`: see `LEAD_COLUMN`."""
        return [self._inside(outstanding, ((first, last, target),)) for outstanding, first, last in _WIDE_INSIDES]

    def _upper_half(self, target: int) -> NDArray[np.int32]:
        """The part from byte 0x80 on of a row where every code point from U+0080 on leads to `target`."""
        half = self._upper_halves.get(target)
        if half is None:
            half = np.array([DEAD, *self._leads_to(target)], dtype=np.int32).take(LEAD_COLUMN)
            self._upper_halves[target] = half
        return half

    def _fill_upper(self, row: NDArray[np.int32], segments: Segments) -> None:
        for outstanding, lowest, highest, lead in _FORMS:
            pieces = []
            for first, last, target in segments:
                first, last = max(first, lowest), min(last, highest)
                if first <= last:
                    if first < FIRST_SURROGATE <= last:
                        pieces.append((first, FIRST_SURROGATE - 1, target))
                        first = LAST_SURROGATE + 1
                    if first <= last:
                        pieces.append((first, last, target))
            if pieces:
                self._spread(row, pieces, lead, outstanding)

    def _spread(
        self, row: NDArray[np.int32], pieces: Segments | tuple[tuple[int, int, int], ...], base: int, left: int
    ) -> None:
        """Fill the successors under a byte that leaves `left` more: `base` plus the bits above those they carry."""
        width = 6 * left
        mask = (1 << width) - 1
        split: dict[int, list[tuple[int, int, int]]] = {}
        for first, last, target in pieces:
            low, high = first >> width, last >> width
            first &= mask
            last &= mask
            if low == high:
                split.setdefault(low, []).append((first, last, target))
                continue
            if first:
                split.setdefault(low, []).append((first, mask, target))
                low += 1
            if last != mask:
                split.setdefault(high, []).append((0, last, target))
                high -= 1
            if low <= high:
                row[base + low : base + high + 1] = self._inside(left, ((0, mask, target),))
        for block, parts in split.items():
            row[base + block] = self._inside(left, tuple(parts))

    def _inside(self, outstanding: int, pieces: tuple[tuple[int, int, int], ...]) -> int:
        key = (outstanding, pieces)
        state = self._inside_ids.get(key)
        if state is None:
            state = self._inside_ids[key] = self._new_state()
            self._insides[state] = key
        return state
