"""JSON values within other text: what the kernels ask for where one begins and ends.

The text around is a language whose states may call for a value. There the kernels push a frame for it, without a
parent, that says which call it belongs to; after the value they go on in the state that the call and the value's
outcome lead to. So tokens may lie across both borders, and masks need no special care.

Arguments that are not written as JSON are *typed*: as their text is read, the JSON text of the same value is fed to the
automaton, byte by byte, and where that stands is part of a state of the text around. So everything that a schema says
holds for every notation. Values within such arguments that are JSON are left to the kernels; after one, at the depth of
the arguments' members, they come back to the text around.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from constrain.grammars.json_schema.normal import Variable
from constrain.grammars.languages.base import Language, Role
from constrain.kernels import intern
from constrain.kernels import memory as m
from constrain.kernels.batch import TRACKED
from constrain.kernels.intern import FRAME_WIDTH, POS_WIDTH, new_frame, new_position
from constrain.kernels.layout import AFTER, ATOM, RAW, SPACED, UNIQUE_KIND, VALUE
from constrain.kernels.marked import completing_tokens
from constrain.kernels.settle import settle_atom
from constrain.kernels.typed import UNKNOWN, feed_each
from constrain.wire.feeding import Texts
from constrain.wire.texts import search_table

if TYPE_CHECKING:
    from constrain.engine.automaton import Automaton

NOWHERE = -1
"""In place of a position: what was fed is refused."""


class Calling(Protocol):
    """A language that calls for values; see `constrain.wire.wire.Wire`."""

    def calls_for(self, state: int) -> Sequence[int]: ...
    def position(self, state: int) -> int: ...
    def after_value(self, state: int, valid: Sequence[bool]) -> int: ...
    def after_value_for(self, state: int, place: int) -> int: ...
    def after_member(self, owner: Any, position: int) -> int: ...
    def after_word(self, state: int, word: bytes) -> int: ...
    def rest_of_word(self, state: int, word: bytes) -> float: ...
    def most_rest_of_word(self, state: int) -> float | None: ...
    def way_out(self, state: int) -> int | None: ...
    def rest_after(self, owner: Any) -> float: ...
    def shortest(self, state: int) -> int: ...


class Around:
    """What one automaton keeps of the text around its values.

    Args:
        language: the text, a `Language` that is `Calling`.
        variable: the variable of a tool's arguments, by its number, in the automaton's normal form.
        marks: the automaton of the texts that no string of a value may hold as they are, see `search_table`.
        members: whether arguments are typed, and come back after each member.
        stretch: by how much the text of typed arguments may be longer than its JSON: a factor, and bytes besides.
    """

    def __init__(
        self,
        language: Language,
        variable: Callable[[int], Variable],
        marks: np.ndarray[Any, np.dtype[np.int32]] | None = None,
        *,
        members: bool = False,
        stretch: tuple[int, int] = (1, 0),
    ) -> None:
        self._language = language
        self._variable = variable
        self._marks = search_table(()) if marks is None else marks
        self._members = members
        self.stretch = stretch
        self._calls: list[Any] = [None]  # number of a call, from 1 on -> state of the language, or owner of typed ones
        self._automaton: Automaton | None = None
        self._open: dict[int, bool] = {}
        self._ways_out: dict[int, int] = {}
        self._rests: dict[int, list[float]] = {}  # by number of a call
        self._names: dict[int, tuple[list[bytes], frozenset[bytes]]] = {}

    @property
    def _calling(self) -> Calling:
        return self._language  # type: ignore[return-value]

    @property
    def automaton(self) -> Automaton:
        """The automaton that this belongs to."""
        assert self._automaton is not None
        return self._automaton

    def begin(self, automaton: Automaton, *, python_words: bool = False) -> int:
        """Prepare a new automaton; its first position."""
        self._automaton = weakref.proxy(automaton)  # which owns this
        automaton.C[m.WIRE] = 2 if python_words else 1
        automaton.C[m.ARGUMENT_DEPTH] = 1 if self._members else -1
        automaton.store.bind(m.MARKS, self._marks.reshape(-1))
        return self._raw(self._language.start)

    # ---- what kernels miss -------------------------------------------------------------------------------------------

    def supply(self, kind: int, a: int, b: int) -> int:
        """The value of a memo entry that a kernel misses."""
        if kind == intern.M_CALL:
            return self._call(self._state_of(a))
        if kind == intern.M_RETURN:
            return self._return(a, b)
        if kind == intern.M_AFTER:
            return self._number(self._calling.after_member(self._owner_of(a), self._position(a, AFTER)))
        if kind == intern.M_COLLECTED:
            after = self._calling.after_word(self._state_of(a), self.automaton.name(b))
            if not after:
                return 0
            return 1 + (self._call(after) if self._language.role(after) is Role.CALL else self._raw(after))
        assert kind == intern.M_MARKED
        return self._completing(a)

    def _state_of(self, number: int) -> int:
        ((_, state, _),) = self.automaton.shapes.scanners.atom_parts(number)
        return state

    def _number(self, state: int) -> int:
        return self.automaton.shapes.scanners.raw_state(self._language, state) if state else 0

    def _raw(self, state: int) -> int:
        return self._new(m.POS, new_position, 0, RAW, self._number(state), 0, 0)

    def _call(self, state: int) -> int:
        """The position in which the value that a state calls for begins."""
        position = self._calling.position(state)
        if position != NOWHERE:
            return position
        return self._begin(state, tuple(self._variable(tool) for tool in self._calling.calls_for(state)))

    def _begin(self, call: Any, variables: tuple[Variable, ...]) -> int:
        shapes = self.automaton.shapes
        shapes.note_added_documents()
        self._calls.append(call)
        frame = self._new(m.FRAMES, new_frame, -1, shapes.outermost_slot(variables), len(self._calls) - 1, 0, 0, 0)
        return self._new(m.POS, new_position, frame, VALUE, 0, int(self.automaton.C[m.WHITESPACE] == SPACED), 0)

    def _return(self, call: int, outcome: int) -> int:
        state = self._calls[call]
        if not isinstance(state, int):
            return self._number(self._language.start)  # typed: whoever feeds asks only whether there is a state
        bits = self.automaton.shapes.outcomes[outcome]
        tools = self._calling.calls_for(state)
        return self._number(self._calling.after_value(state, [bool(bits >> i & 1) for i in range(len(tools))]))

    def _completing(self, mark: int) -> int:
        """The tokens that complete a forbidden text: offset in WORDS of their number and ids; 0 for none."""
        store = self.automaton.store
        count = store.tables[m.TOKEN_OFF].size - 1
        found = np.empty(count, dtype=np.int32)
        total = int(completing_tokens(self.automaton.address, mark, count, found))
        return store.append(m.WORDS, [total, *found[:total].tolist()]) if total else 0

    def rests(self, call: int, count: int) -> list[float]:
        """Bytes from after a value to the end, for each of the `count` variables it is read for."""
        state = self._calls[call]
        if not isinstance(state, int):
            return [self._calling.rest_after(state)] * count
        found = self._rests.get(call)
        if found is None:
            afters = (self._calling.after_value_for(state, i) for i in range(count))
            found = self._rests[call] = [float(self._calling.shortest(a)) if a else math.inf for a in afters]
        return found

    # ---- reasoning ---------------------------------------------------------------------------------------------------

    def closing(self, position: int) -> int:
        """The position from which a block of reasoning can only be ended, in place of one within it.

        The same position within a character; NOWHERE where no reasoning is open.
        """
        found = self._ways_out.get(position)
        if found is None:
            found = NOWHERE
            if position < TRACKED and (record := self._record(position))[1] == RAW and record[2]:
                state = self._state_of(record[2])
                way_out = self._calling.way_out(state)
                if way_out is not None:
                    found = position if way_out == state else self._raw(way_out)
            self._ways_out[position] = found
        return found

    # ---- typing ------------------------------------------------------------------------------------------------------

    def open(self, owner: Any, tool: int) -> int:
        """A position before the arguments of a tool, which `owner` types."""
        return self._begin(owner, (self._variable(tool),))

    def feed(self, position: int, data: bytes, *, marked: bool = True) -> int:
        """The position after some bytes of JSON; NOWHERE where they are refused.

        Not `marked`, strings may hold what they must not hold as JSON.
        """
        C = self.automaton.C
        kept = int(C[m.ARGUMENT_DEPTH]), int(C[m.WIRE])
        C[m.ARGUMENT_DEPTH] = -1
        if not marked:
            C[m.WIRE] = 0
        try:
            for byte in data:
                position = self.automaton.accept_byte(position, byte)
                if position < 0:
                    return NOWHERE
            return position
        finally:
            C[m.ARGUMENT_DEPTH], C[m.WIRE] = kept

    def feed_each(self, position: int, texts: Texts, *, marked: bool = True) -> NDArray[np.int64]:
        """As `feed`: the position after each of some texts as if it came alone, NOWHERE for those that are refused."""
        automaton, data = self.automaton, texts.data
        if not automaton.shapes.tracks and self.is_own(position):
            C = automaton.C
            kept = int(C[m.ARGUMENT_DEPTH]), int(C[m.WIRE])
            C[m.ARGUMENT_DEPTH] = -1
            if not marked:
                C[m.WIRE] = 0
            out = np.full(len(data), UNKNOWN, dtype=np.int64)
            try:
                automaton.call(feed_each, position, texts.joined, texts.offsets, out)
            finally:
                C[m.ARGUMENT_DEPTH], C[m.WIRE] = kept
            if not automaton.shapes.tracks:
                return np.maximum(out, NOWHERE, out=out)
        return np.array([self.feed(position, text, marked=marked) for text in data], dtype=np.int64)

    def settle(self, position: int) -> int:
        """The position after a number or word that ends where the position is; NOWHERE if it cannot."""
        if position >= TRACKED or self.mode(position) != ATOM:
            return NOWHERE
        C = self.automaton.C
        kept = int(C[m.ARGUMENT_DEPTH])
        C[m.ARGUMENT_DEPTH] = -1
        try:
            to = self.automaton.call(settle_atom, position)
        finally:
            C[m.ARGUMENT_DEPTH] = kept
        return to if to >= 0 else NOWHERE

    def mode(self, position: int) -> int:
        """The mode of a position."""
        return self._record(position)[1]

    def distance(self, position: int) -> float:
        """Bytes of a short way from a position to the end of the message."""
        _, mode, state, _, word = self._record(position)
        if mode == RAW:
            number = self._state_of(state)
            if word and self._language.role(number) is Role.COLLECT:
                return self._calling.rest_of_word(number, self.automaton.name(word))
            return self._calling.shortest(number)
        factor, more = self.stretch
        return factor * self.automaton.distance(position, stretched=False) + more

    def word_bound(self, position: int) -> float | None:
        """What `distance` is at most in a position that is within a word, whatever the word; None in others."""
        _, _, state, _, _ = self._record(position)
        number = self._state_of(state)
        return self._calling.most_rest_of_word(number) if self._language.role(number) is Role.COLLECT else None

    def is_own(self, position: int) -> bool:
        """Whether the kernels can go on from a position by themselves."""
        return position < TRACKED

    def is_open(self, position: int) -> bool:
        """Whether a name that begins at a position may be any at all, less those that are in use."""
        found = self._open.get(position)
        if found is None:
            shape, live, _ = self._object(position)
            restricted = shape.members is not None and shape.members.components
            found = not restricted and any(getattr(shape.branches[i], "free", None) for i in live)
            if found:
                new, (_, taken) = b"x", self.names_of(position)
                while new in taken:
                    new += b"x"
                found = self.feed(position, new + b'":') != NOWHERE
            self._open[position] = found
        return found

    def is_list(self, position: int) -> bool:
        """Whether what a position is in is a list of strings that differ, which is read as an object's names are."""
        return bool(self._object(position)[0].kind == UNIQUE_KIND)

    def names_of(self, position: int) -> tuple[list[bytes], frozenset[bytes]]:
        """The declared names of the object that a position is in, and all that no other member can have."""
        found = self._names.get(position)
        if found is None:
            shape, _, free = self._object(position)
            declared = [name.encode() for name in shape.names]
            found = self._names[position] = declared, frozenset((*declared, *self.automaton.free_names(free)))
        return found

    def _object(self, position: int) -> tuple[Any, Any, int]:
        """The shape of the object that a position is in, its live branches, and the list of its free names."""
        a = self.automaton
        frame = a.store.tables[m.FRAMES][self._record(position)[0] * FRAME_WIDTH :][:FRAME_WIDTH].tolist()
        return (*a.shapes.sets[frame[1]], frame[4])

    def _record(self, position: int) -> list[int]:
        if position >= TRACKED:
            assert self.automaton.unique is not None
            position = self.automaton.unique.twin(position)
        at = position * POS_WIDTH
        return self.automaton.store.tables[m.POS][at : at + 5].tolist()  # type: ignore[no-any-return]

    def _owner_of(self, frame: int) -> Any:
        frames = self.automaton.store.tables[m.FRAMES]
        while (parent := int(frames[frame * FRAME_WIDTH])) >= 0:
            frame = parent
        return self._calls[int(frames[frame * FRAME_WIDTH + 2])]

    def _position(self, frame: int, mode: int) -> int:
        return self._new(m.POS, new_position, frame, mode, 0, 0, 0)

    def _new(self, table: int, kernel: Callable[..., int], *fields: int) -> int:
        while (number := int(kernel(self.automaton.address, *fields))) < 0:
            self.automaton.store.grow(table)
        return number
