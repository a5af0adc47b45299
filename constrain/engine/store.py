"""The tables of one automaton: append-only records for the kernels, and room for what the kernels intern."""

from __future__ import annotations

import functools
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.engine.row_memory import RowPiece
from constrain.grammars.errors import ResourceLimitError
from constrain.kernels import memory as m
from constrain.kernels.intern import (
    FRAME_SEED,
    FRAME_WIDTH,
    NO_MASK,
    P_ROW,
    POS_SEED,
    POS_WIDTH,
    new_memo,
    new_memos,
    rehash_memo,
    rehash_records,
)
from constrain.kernels.layout import Q_READY, STATE_WIDTH

_FIRST_STATES = 120  # rows of them are given by the system in one piece that was in use before
_FIRST_SIZES = {
    m.FRAMES: 256 * FRAME_WIDTH,
    m.POS: 256 * POS_WIDTH,
    m.FRAME_HASH: 1024,
    m.POS_HASH: 1024,
    m.MEMO_KEY: 2048,
    m.MEMO_VAL: 2048,
    m.FST: 160,
    m.ALT: 192,
    m.SLOT: 96,
    m.STATE: STATE_WIDTH * _FIRST_STATES,
    m.KEY_LOOPS: 36,
    m.ENTRY: 64,
    m.WORDS: 128,
    m.SEEN: 64,
    m.LENSET: 32,
    m.NAMES: 4096,
    m.NAME_OFF: 128,
    m.NAME_OUT: 128,
    m.LITERALS: 16,
    m.NAME_BYTES: 1024,
    m.PACKS: 16384,
    m.EOS: 0,
}


_POSTPONED = 1 << 15


_MAX_NAMES = 1 << 24  # beginnings of free names; registers hold their numbers in so many bits


_FEW = 48  # values up to this number are packed, which is quicker than to make an array of them


@functools.cache
def _packers(kind: str) -> list[struct.Struct]:
    """What writes 0, 1, 2 … numbers of a numpy type, in the sizes of this machine."""
    return [struct.Struct(f"@{count}{kind}") for count in range(_FEW + 1)]


@dataclass(slots=True)
class _Room:
    """Where records of one table are written."""

    memory: memoryview
    size: int  # in elements
    width: int  # of an element, in bytes
    packers: list[struct.Struct]


class Store(m.Context):
    """A context whose tables grow."""

    def __init__(self) -> None:
        super().__init__()
        self._rooms: dict[int, _Room] = {}  # of tables that are appended to
        self.allocate_zeroed(_FIRST_SIZES)
        self.bind(m.POSTPONED, np.empty(_POSTPONED, dtype=np.int64))  # read where it was written to, and only there
        self.bind(m.DFA, np.empty(_FIRST_STATES * 256, dtype=np.int32))  # a row is filled when it is begun
        self.allocated += self.tables[m.DFA].nbytes
        self.allocate(m.VSET, 128, -1)
        self._used: dict[int, int] = {}
        # Number 0 means "none" or "empty" for all of these.
        for counter in (m.N_NAMES, m.N_FREE, m.N_SEEN):
            self.array[counter] = 1
        for table in (m.WORDS, m.ENTRY, m.LENSET):
            self._used[table] = 1

    def used(self, table: int) -> int:
        """Elements of an append-only table in use."""
        return self._used.get(table, 0)

    def bind(self, table: int, data: np.ndarray[Any, Any]) -> None:
        super().bind(table, data)
        self._rooms.pop(table, None)

    def _room(self, table: int, size: int, fill: int = 0) -> _Room:
        """The room of a table, with `size` elements at least."""
        memory = memoryview(self.reserve(table, size, fill))  # type: ignore[arg-type]
        found = self._rooms[table] = _Room(memory, len(memory), memory.itemsize, _packers(memory.format))
        return found

    def append(self, table: int, values: Sequence[int] | NDArray[np.integer], fill: int = 0) -> int:
        """Add a record; returns the offset of its first element."""
        at = self._used.get(table, 0)
        count = len(values)
        end = self._used[table] = at + count
        room = self._rooms.get(table)
        if room is None or room.size < end:
            room = self._room(table, end, fill)
        if count <= _FEW:
            room.packers[count].pack_into(room.memory, at * room.width, *values)
        else:
            self.tables[table][at:end] = values
        return at

    def append_bytes(self, table: int, data: bytes) -> int:
        """`append` for a table of bytes."""
        at = self._used.get(table, 0)
        end = self._used[table] = at + len(data)
        room = self._rooms.get(table)
        if room is None or room.size < end:
            room = self._room(table, end)
        room.memory[at:end] = data
        return at

    def append_blank(self, table: int, count: int, fill: int) -> int:
        """Add a record that is all `fill`, with which the table is filled where nothing is written."""
        at = self._used.get(table, 0)
        end = self._used[table] = at + count
        room = self._rooms.get(table)
        if room is None or room.size < end:
            self._room(table, end, fill)
        return at

    def write(self, table: int, at: int, values: tuple[int, ...]) -> None:
        """Write a few numbers over what a table holds from `at` on."""
        room = self._rooms.get(table) or self._room(table, 0)
        room.packers[len(values)].pack_into(room.memory, at * room.width, *values)

    def memo(self, key: int, value: int) -> None:
        """Store a memo entry."""
        while not new_memo(self.address, key, value):
            self.grow(m.MEMO_KEY)

    def memos(self, kind: int, a: int, b: int, values: list[int]) -> None:
        """Store memo entries for `b` and the numbers after it; none where a value is 0."""
        data = np.array(values, dtype=np.int64)
        while not new_memos(self.address, kind, a, b, data):
            self.grow(m.MEMO_KEY)

    def grow(self, table: int) -> None:
        """Double the table that a kernel found full, with all that belongs to it."""
        tables, counters = self.tables, self.array
        if table == m.MEMO_KEY:
            keys, values = tables[m.MEMO_KEY], tables[m.MEMO_VAL]
            self.allocate(m.MEMO_KEY, 4 * keys.size)
            self.allocate(m.MEMO_VAL, 4 * keys.size)
            rehash_memo(keys, values, tables[m.MEMO_KEY], tables[m.MEMO_VAL])
        elif table in (m.FRAMES, m.POS):
            width, seed, hashes, count = (
                (FRAME_WIDTH, FRAME_SEED, m.FRAME_HASH, m.N_FRAMES)
                if table == m.FRAMES
                else (POS_WIDTH, POS_SEED, m.POS_HASH, m.N_POS)
            )
            records = self.reserve(table, 2 * tables[table].size)
            self.allocate(hashes, 2 * tables[hashes].size)
            rehash_records(records, width, seed, int(counters[count]), tables[hashes])
        elif table == m.ROWS:
            self._more_rows()
        elif table == m.NAMES and tables[table].size >= _MAX_NAMES:
            raise ResourceLimitError("", "properties", "too many names are kept", f"names {_MAX_NAMES}")
        else:
            self.reserve(table, 2 * tables[table].size)

    def bind_rows(self, piece: RowPiece) -> None:
        """Keep mask rows in a piece of memory, as far as it may be used."""
        self._rows = piece
        self.bind(m.ROWS, piece.data)
        self.array[m.LENGTHS + m.ROWS] = piece.limit

    def _more_rows(self) -> None:
        if self._rows.extend():
            self.array[m.LENGTHS + m.ROWS] = self._rows.limit
        else:
            self.forget_rows()

    def forget_rows(self) -> None:
        """Make all mask rows free again."""
        self.array[m.N_ROWS] = self.array[m.RESUME] = 0
        rows = self.tables[m.POS][P_ROW::POS_WIDTH]
        rows[rows >= 0] = NO_MASK
        ready = self.tables[m.STATE][Q_READY::STATE_WIDTH]
        ready[ready < 0] = 0
