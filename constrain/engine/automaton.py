"""A running automaton: tables, what the kernels have interned so far, and the pieces they ask for.

Kernels work on the tables alone. When one lacks a piece it says so and `supply` builds it: a row of a string automaton,
the alternatives of an object, a slot, a larger table. So a part of a schema that no text and no mask ever touches costs
nothing beyond loading it.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from constrain.engine.branches import ObjectBranch
from constrain.engine.budget import Budget
from constrain.engine.class_loops import NameLoop, names_of_class
from constrain.engine.distance import Measure, distance
from constrain.engine.escapes import intersection, long_escapes
from constrain.engine.shapes import Shapes
from constrain.engine.store import Store
from constrain.engine.terminals import Terminals
from constrain.engine.text_style import TextStyle
from constrain.engine.uniqueness import Uniqueness
from constrain.engine.usual_atoms import PYTHON_WORDS
from constrain.grammars.json_schema.inhabit import Inhabitation
from constrain.grammars.json_schema.normal import NormalForm
from constrain.grammars.languages.base import Language
from constrain.kernels import intern
from constrain.kernels import memory as m
from constrain.kernels.batch import TRACKED
from constrain.kernels.entries import entries
from constrain.kernels.intern import (
    FRAME_WIDTH,
    P_MODE,
    P_Q,
    P_ROW,
    P_X,
    POS_WIDTH,
    memo_value,
    new_frame,
    new_position,
    packed_key,
)
from constrain.kernels.key_walk import KEY_LOOP_WIDTH
from constrain.kernels.layout import (
    BOUNDED_BLANKS,
    FULL,
    MISS,
    NO_BLANKS,
    OK,
    Q_LOOP,
    Q_LOOP_ROW,
    Q_READY,
    RAW,
    SPACED,
    STATE_WIDTH,
    STRING,
    VALUE,
)
from constrain.kernels.loops import EVERY_CLASS, FAR, UNLIMITED, find_key_loop, find_loop
from constrain.kernels.mask import accept_byte, accept_token, copy_row
from constrain.kernels.query import only_byte, position_may_end
from constrain.kernels.text_walk import NO_ROW

if TYPE_CHECKING:
    from constrain.engine.around import Around

_DEFAULT_STYLE = TextStyle()
_WHITESPACE = {"none": NO_BLANKS, "bounded": BOUNDED_BLANKS, "spaced": SPACED}
_FAR_ENOUGH = 4
"""Characters of a free name for which a loop holds that is at hand; else one is looked for."""
DIGIT_LIMIT = 400
"""Characters of one number after which it may only be brought to its end."""


@functools.cache
def _entry_addresses() -> dict[int, int]:
    return {field: kernel.address for field, kernel in entries().items()}


class Automaton:
    """The automaton of one grammar over one vocabulary. Not safe for concurrent use; its owner holds a lock."""

    def __init__(
        self,
        terminals: Terminals,
        forms: NormalForm,
        inhabitation: Inhabitation,
        *,
        raw: Language | None = None,
        around: Around | None = None,
        python_words: bool = False,
        style: TextStyle = _DEFAULT_STYLE,
        row_bytes: int = 64 << 20,
    ) -> None:
        """`raw` is a language in place of JSON, `around` what stands around JSON values; `python_words` says that
        these have None, True and False for null, true and false."""
        self.terminals = terminals
        self.store = Store()
        self.C = self.store.array
        self.address = self.store.address
        for field, address in _entry_addresses().items():
            self.C[field] = address
        self.C[m.DIGIT_LIMIT] = DIGIT_LIMIT
        self.C[m.WHITESPACE] = _WHITESPACE[style.whitespace]
        self.C[m.PLAIN_ESCAPES] = _plain_escapes(terminals) if style.escapes == "plain" else 0
        terminals.bind_fixed(self.store)
        rows = terminals.rows.take(max(16, row_bytes // (4 * terminals.words)) * terminals.words, terminals.words)
        weakref.finalize(self, terminals.rows.give_back, rows)
        self.store.bind_rows(rows)
        for node, key, number in terminals.built_tables(self.store):
            self.store.memo(packed_key(intern.M_TABLE, node, key), number)
        self.shapes = Shapes(self.store, forms, inhabitation)
        self._unique: Uniqueness | None = None
        self._budget: Budget | None = None
        self._to_keep: set[int] = set()  # string states whose rows may serve other grammars once they are written
        self.start_mode = VALUE if raw is None else RAW
        root = new_frame(self.address, -1, self.shapes.root_slot, 0, 0, 0, 0)
        self.C[m.ARGUMENT_DEPTH] = -1
        self.around = around
        if around is not None:
            if python_words:
                self.shapes.scanners.words = PYTHON_WORDS
            self.start = around.begin(self, python_words=python_words)
        elif raw is None:
            begun = int(style.whitespace == "spaced")  # no blank comes before the value
            self.start = new_position(self.address, root, VALUE, 0, begun, 0)
        else:
            self.start = new_position(self.address, root, RAW, self.shapes.scanners.raw_start(raw), 0, 0)

    @property
    def nbytes(self) -> int:
        """Bytes in use by this automaton alone, the vocabulary's tables not counted."""
        layer = 0 if self._unique is None else self._unique.nbytes
        layer += 0 if self._budget is None else self._budget.nbytes
        return self.store.allocated + 4 * int(self.C[m.N_ROWS]) * self.terminals.words + layer

    def call(self, kernel: Callable[..., int], *args: Any) -> int:
        """Run a kernel, supplying what it misses, until it answers."""
        while True:
            code = int(kernel(self.address, *args))
            if code == MISS:
                self.supply_missing()
            elif code == FULL:
                self.store.grow(int(self.C[m.FULL_TABLE]))
            else:
                return code

    # ---- moving ------------------------------------------------------------------------------------------------------

    @property
    def unique(self) -> Uniqueness | None:
        """The layer for items that must differ, from when such an array has been met."""
        if self._unique is None and self.shapes.tracks:
            self._unique = Uniqueness(self)
        return self._unique

    @property
    def budget(self) -> Budget:
        """What the positions need to get to the end; made at first use."""
        if self._budget is None:
            self._budget = Budget(self)
        return self._budget

    def accept_token(self, position: int, token: int) -> int:
        """The position after a token; negative where it is refused."""
        if not self.shapes.tracks:
            to = self.call(accept_token, position, token)
            if not self.shapes.tracks:
                return to
        assert self.unique is not None
        return self.unique.accept_token(position, token)

    def accept_byte(self, position: int, byte: int) -> int:
        """The position after a byte; negative where it is refused."""
        if not self.shapes.tracks:
            to = self.call(accept_byte, position, byte)
            if not self.shapes.tracks:
                return to
        assert self.unique is not None
        return self.unique.accept_byte(position, byte)

    def copy_row(self, position: int, out: NDArray[np.int32]) -> None:
        """Write the mask of a position into `out`; extra words are cleared."""
        if not self.shapes.tracks:
            self.call(copy_row, position, out)
            if self._to_keep:
                self._keep_content(position)
            if not self.shapes.tracks:
                return
        assert self.unique is not None
        self.unique.copy_row(position, out)

    def fill(self, kernel: Callable[[int, int, Any, int], int], position: int, out: Any, index: int) -> bool:
        """Write the mask of a position to row `index` of `out` by `fill_row`; False where it takes another way."""
        C = self.C
        if C[m.RESUME] == position + 1 and C[m.N_MISSES]:  # it was begun a moment ago
            self.supply_missing()
        while True:
            code = kernel(self.address, position, out, index)
            if code == MISS:
                self.supply_missing()
            elif code == FULL:
                self.store.grow(int(C[m.FULL_TABLE]))
            else:
                break
        if self._to_keep:
            self._keep_content(position)
        return code == OK

    def only_byte(self, position: int) -> int:
        """The one byte that can follow; 256 where there are several or the document may end."""
        if not self.shapes.tracks:
            byte = self.call(only_byte, position)
            if not self.shapes.tracks:
                return byte
        assert self.unique is not None
        return self.unique.only_byte(position)

    def may_end(self, position: int) -> bool:
        """Whether the document is complete at a position."""
        return position < TRACKED and bool(position_may_end(self.address, position))

    def distance(self, position: int, measure: Measure | None = None, *, stretched: bool = True) -> int:
        """Bytes of a short completion from a position that is not complete; `measure` as for the function."""
        if stretched and self.around is not None:
            return int(self.around.distance(position))
        if not self.shapes.tracks and not self.shapes.demands_several:
            return distance(self, position, measure)
        return self._layer.distance(position)

    def next_to_end(self, position: int) -> int | None:
        """The position after the next byte of the completion that `distance` measures, where one is singled out."""
        if not self.shapes.tracks and not self.shapes.demands_several:
            return None
        return self._layer.next_to_end(position)

    @property
    def _layer(self) -> Uniqueness:
        if self._unique is None:
            self._unique = Uniqueness(self)
        return self._unique

    # ---- pieces ------------------------------------------------------------------------------------------------------

    def supply_missing(self) -> None:
        """Build all pieces that the last kernel waits for."""
        C = self.C
        count = int(C[m.N_MISSES])
        if count:
            wanted = C[m.MISSES : m.MISSES + 3 * count].reshape(-1, 3).tolist()
            C[m.N_MISSES] = 0
        else:
            wanted = [C[m.MISS_KIND : m.MISS_KIND + 3].tolist()]
        for kind, a, b in wanted:
            self._supply(kind, a, b)

    def _supply(self, kind: int, a: int, b: int) -> None:
        shapes, store = self.shapes, self.store
        if kind == intern.M_ROW:
            shapes.scanners.supply_row(a)
            return
        if kind == intern.M_LOOP:
            self._find_loop(a, with_row=bool(b))
            return
        if kind == intern.M_SHAPE:
            shapes.supply_starts(a)
            return
        if kind == intern.M_SLOT:
            value = shapes.slot(a, b)
            shapes.supply_starts(shapes.slots[value][1])
            shapes.ahead.supply(a, b, value)
        elif kind == intern.M_NEXT:
            value = shapes.after(a, b)
        elif kind == intern.M_DROP:
            value = shapes.drop(a, self._places(b))
        elif kind == intern.M_OUT:
            value = shapes.scanners.outcome_of(a, self._places(b))
        elif kind == intern.M_HEX:
            value = self._escape_successors(a, b)
        elif kind == intern.M_CLASS:
            value = shapes.admits_class(a, b)
        elif kind == intern.M_REACH:
            value = shapes.reach(a, b)
            if value and store.tables[m.DFA][b * 256] < 0:  # which is asked for next
                shapes.scanners.supply_row(b)
        elif kind == intern.M_KEY_LOOP:
            value = self._key_loop(a, b)
        elif kind == intern.M_FRESH:
            value = self._has_fresh_name(a, b)
        elif kind == intern.M_VIEW:
            value = shapes.view(a, b)
        elif kind == intern.M_TABLE:
            value = self.terminals.table(store, a, b)
        elif kind in (intern.M_CALL, intern.M_RETURN, intern.M_AFTER, intern.M_MARKED, intern.M_COLLECTED):
            assert self.around is not None
            value = self.around.supply(kind, a, b)
        elif kind == intern.M_LIMITED:
            value = max(0, self.terminals.limited_loop_row(store, a, b) + 1)
        else:
            assert kind == intern.M_TABLE_ROW
            value = self.terminals.limited_row(store, a, b)
        store.memo(packed_key(kind, a, b), value)

    def supply_loop(self, state: int, *, goes_on: Callable[[], bool]) -> None:
        """Store the loop of a string state with its row, as the first mask in it would ask for, if that is soon done.

        The search is left, to be taken up again, when `goes_on` says no.
        """
        self._find_loop(state, with_row=True, goes_on=goes_on)

    def _find_loop(self, state: int, *, with_row: bool, goes_on: Callable[[], bool] | None = None) -> None:
        """Store the loop of a string state, and the row of the tokens that it admits where that is wanted.

        Then a row of another grammar, of all tokens that stay within the string, does as well.
        """
        store, scanners = self.store, self.shapes.scanners
        if store.tables[m.STATE][state * STATE_WIDTH + Q_LOOP] < 0 and scanners.is_narrow(state):
            store.tables[m.STATE][state * STATE_WIDTH + Q_LOOP] = 0  # as the kernel would find
            return
        language = scanners.alone(state) if with_row and self.around is None else None
        if language is not None:
            row = self.terminals.kept_content(store, *language)
            if row is not None:
                store.tables[m.STATE][state * STATE_WIDTH + Q_READY] = row + 1
                return
            self._to_keep.add(state)
        if store.tables[m.STATE][state * STATE_WIDTH + Q_LOOP] < 0 and not scanners.set_endless_loop(state):
            scanners.find_padding(state)
            self.C[m.LOOP_MOST] = scanners.worth_looking_at(state)
            while find_loop(self.address, state) == MISS:
                if goes_on is not None and not goes_on():
                    return
                self._supply(*self.C[m.MISS_KIND : m.MISS_KIND + 3].tolist())
        if with_row:
            loop = int(store.tables[m.STATE][state * STATE_WIDTH + Q_LOOP])
            row = self.terminals.loop_row(store, loop) if loop else NO_ROW
            store.tables[m.STATE][state * STATE_WIDTH + Q_LOOP_ROW] = row

    def _keep_content(self, position: int) -> None:
        """Keep the row of a string that was just written for other grammars, but for the tokens that end the string."""
        if position >= TRACKED:  # of the layer above
            return
        records = self.store.tables[m.POS]
        at = position * POS_WIDTH
        if records[at + P_MODE] != STRING:
            return
        q, x, row = records[at + np.array((P_Q, P_X, P_ROW))].tolist()
        if q not in self._to_keep or x or row < 0:
            return
        self._to_keep.remove(q)
        language = self.shapes.scanners.alone(q)
        if language is not None:
            words = self.terminals.words
            self.terminals.keep_content(self.store, *language, self.store.tables[m.ROWS][row * words :][:words])

    def _key_loop(self, number: int, state: int) -> int:
        """The number of the record of the loop of a free name's state, in an object's set of alternatives."""
        shape, live = self.shapes.sets[number]
        branches = [b for i in live if isinstance(b := shape.branches[i], ObjectBranch)]
        wanted = {members for b in branches for members in b.free}
        scanners = self.shapes.scanners
        far = scanners.free_names.steps_within_reach(state, wanted)
        found = NameLoop(EVERY_CLASS, 0, far, far, None)
        if 0 <= far < FAR:
            marks = scanners.free_names.marks(state, wanted)
            if marks is not None:
                found = NameLoop(EVERY_CLASS & ~marks, 0, UNLIMITED, UNLIMITED, None)
        if found.far < _FAR_ENOUGH:
            repeated = scanners.free_names.repeated(state, wanted)
            if repeated is not None:
                found = names_of_class(repeated)
        if found.far < _FAR_ENOUGH:
            self.C[m.LOOP_MOST] = scanners.worth_looking_at(state)
            while find_key_loop(self.address, number, state) == MISS:
                self._supply(*self.C[m.MISS_KIND : m.MISS_KIND + 3].tolist())
            loop, dead, far = self.C[[m.LOOP_ALIVE, m.LOOP_DEAD, m.LOOP_FAR]].tolist()
            found = NameLoop(loop, dead, far, far, None)
        loop, dead, far, far_alone, end = found
        row = self.terminals.loop_row(self.store, loop) if loop else NO_ROW
        ends = end is not None and row >= 0 and not self.terminals.has_between(row, far_alone, end)
        return self.store.append(m.KEY_LOOPS, (loop, dead, row, far, far_alone, int(ends))) // KEY_LOOP_WIDTH

    def name(self, number: int) -> bytes:
        """The bytes of an interned name."""
        names = self.store.tables[m.NAMES]
        out = bytearray()
        while number:
            entry = int(names[number])
            out.append(entry & 0xFF)
            number = entry >> 8
        return bytes(reversed(out))

    def _places(self, number: int) -> Iterator[int]:
        """The places in a list of them."""
        for entry in self._listed(number):
            yield from ((entry >> 16) * 16 + i for i in range(16) if entry >> i & 1)

    def free_names(self, free: int) -> list[bytes]:
        """The free names of a list of them."""
        return [self.name(number) for number in self._listed(free)]

    def _listed(self, number: int) -> Iterator[int]:
        """What the kernels have put in a list, the newest first."""
        while number:
            pair = int(memo_value(self.address, packed_key(intern.M_FREE, number, (1 << 32) - 1)))
            yield pair & 0xFFFFFFFF
            number = pair >> 32

    def _has_fresh_name(self, frame: int, name: int) -> int:
        """Whether an object has a free name left that begins with `name` and is not in use."""
        _, state, _, _, free, _ = self.store.tables[m.FRAMES][frame * FRAME_WIDTH :][:FRAME_WIDTH].tolist()
        shape, live = self.shapes.sets[state]
        used = set(self.free_names(free))
        prefix = self.name(name)
        at = shape.keys
        for byte in prefix:
            at = int(self.shapes.scanners.row(at)[byte])

        wanted: set[frozenset[int]] = set()
        for i in live:
            branch = shape.branches[i]
            if isinstance(branch, ObjectBranch):
                wanted.update(branch.free)
        taken = used | {n.encode() for n in shape.names}
        return int(self.shapes.scanners.free_names.has_name(at, wanted, prefix, taken))

    def _escape_successors(self, state: int, packed: int) -> int:
        """The states after a code point whose \\u spelling begins as packed; an offset in WORDS, 0 for none."""
        digits, value, high = packed & 7, packed >> 3 & 0xFFFF, (packed >> 19) - 1
        open_bits = 4 * (4 - digits)
        first, last = value << open_bits, (value << open_bits) | ((1 << open_bits) - 1)
        if high >= 0:
            low = max(first, 0xDC00) & 1023 if digits else 0
            top = min(last, 0xDFFF) & 1023 if digits else 1023
            ranges = [(0x10000 + (high << 10) + low, 0x10000 + (high << 10) + top)]
        elif digits == 0:
            ranges = [(0, 0x10FFFF)]
        else:
            ranges = [(first, last)]
            if first <= 0xDBFF and last >= 0xD800:
                highest = (max(first, 0xD800) & 1023, min(last, 0xDBFF) & 1023)
                ranges.append((0x10000 + (highest[0] << 10), 0x10000 + (highest[1] << 10) + 1023))
        if self.C[m.PLAIN_ESCAPES]:
            ranges = intersection(ranges, long_escapes(int(self.C[m.PLAIN_ESCAPES])))
        found = self.shapes.scanners.successors(state, ranges)
        return self.store.append(m.WORDS, [len(found), *found]) if found else 0


def _plain_escapes(terminals: Terminals) -> int:
    """What the context says of plain escapes over a vocabulary."""
    return 1 | sum(1 << lead for lead in range(1, 5) if 0xF0 + lead not in terminals.single_bytes)
