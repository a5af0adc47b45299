"""One block of memory through which kernels reach every table.

A jitted call pays for each array argument it unpacks, and code that hands arrays around is slow to compile, so kernels
take a single *context*: the address of an int64 array that holds the address and the length of every table, and the
counters of those that grow. Python owns the tables (numpy arrays), replaces one by a larger copy when a kernel reports
that it is full, and writes the new address here.

Inside a kernel the context is a pointer, `C = context(address)`, and so is a table, `view(C, NAME)`; both are indexed
like arrays. With `NUMBA_BOUNDSCHECK=1` tables are arrays over the same memory, and every access is checked.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic

from .jit import config, njit


def _pointer(scalar: Any) -> Any:
    """An intrinsic that turns an address into a pointer to `scalar`."""

    @intrinsic
    def cast(typingctx: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], context.get_value_type(types.CPointer(scalar)))

        return types.CPointer(scalar)(types.int64), codegen

    return cast


context = _pointer(types.int64)
pointer32 = _pointer(types.int32)
_pointer_u8 = _pointer(types.uint8)


# ---- the tables ------------------------------------------------------------------------------------------------------
FRAMES, MEMO_KEY, MEMO_VAL, POS, FST, ALT, SLOT, STATE, ENTRY, WORDS, SEEN, LENSET, NAMES = range(13)  # int64
# int64 as well: the walk's stack, terminal tables, sets of literals, what a walk has put off, loops of free
# names, the code points of the longest token of a row
WALK, TABLE, LITERALS, T_CLASSES, T_ROOT, POSTPONED, KEY_LOOPS, LOOP_SIZES = range(13, 21)
DFA, VSET, NAME_OFF, NAME_OUT, ROWS, FRAME_HASH, POS_HASH = range(21, 28)  # int32
# int32, the vocabulary's: the nodes and token ids of a trie, T_ of all tokens, X_ of those that leave plain text, ...
T_NODE, T_TID, X_NODE, X_TID, T_HEIGHT, TOKEN_OFF, EOS, CROSS, TABLE_ROWS = range(28, 37)
T_KIDS, T_KID_NODE = 37, 38  # by node: its first child in the list of children, which is ordered by parent and byte
MARKS = 39  # int32: the automaton of the texts that strings must not hold, see `marked.py`
PACKS = 40  # int32: masks of few tokens, see `packed.py`
NAME_BYTES, T_OWN, TOKEN_BYTES, T_KID_BYTE = range(41, 45)  # uint8
N_TABLES = 45
INT32_TABLES = range(DFA, NAME_BYTES)
UINT8_TABLES = range(NAME_BYTES, N_TABLES)

LENGTHS = N_TABLES  # LENGTHS + table: its number of elements
COUNTERS = 2 * N_TABLES
N_FRAMES, N_POS, N_MEMO, N_NAMES, N_FREE, N_SEEN, N_ROWS = range(COUNTERS, COUNTERS + 7)
N_PACKS = COUNTERS + 7  # elements of PACKS in use
CLEAR_ROW = COUNTERS + 8  # 1 + the number of a row not in use that is all 0, or 0
MISS_KIND, MISS_A, MISS_B, FULL_TABLE = range(COUNTERS + 9, COUNTERS + 13)  # what a kernel waits for
STEP, ROW_WORDS, DIGIT_LIMIT, WHITESPACE, LONGEST, FREE_TEXT_STATE = range(COUNTERS + 13, COUNTERS + 19)
ENTER_TEXT, WALK_BELOW, RESUME_KEY, NEW_ROW = range(COUNTERS + 19, COUNTERS + 23)  # addresses of kernels, as STEP is
OUT = COUNTERS + 23  # result registers: stack, mode, q, x, n
N_MISSES = OUT + 5
MISSES = N_MISSES + 1  # pending misses of a walk: triples (kind, a, b)
MAX_MISSES = 64
N_POSTPONED = MISSES + 3 * MAX_MISSES  # entries of POSTPONED
RESUME = N_POSTPONED + 1  # 1 + the position whose row the postponed walks belong to, or 0
MAX_REACHED = 32  # states looked at to find a loop, at most
# Not 0 while the lock is held, and where positions may be more than the automaton's own; see `sequence.py`.
LOCKED, LAYERED = RESUME + 1, RESUME + 2
LOOP_ALIVE, LOOP_DEAD, LOOP_OWN, LOOP_FAR = range(RESUME + 3, RESUME + 7)
# The search for a loop: its state and set of alternatives, classes, states looked at, their distance and where those
# of this distance end.
LOOP_STATE, LOOP_SET, LOOP_ALLOWED, LOOP_NEVER, LOOP_DONE, LOOP_DEPTH, LOOP_EDGE = range(RESUME + 7, RESUME + 14)
# LOOP_MOST: states to look at; LOOP_FIRST: the first of this distance; LOOP_STRICT: 0 where a state was reached at two.
LOOP_CLASS, LOOP_MOST, LOOP_FIRST, LOOP_STRICT, LOOP_ENDED, N_REACHED, REACHED = range(RESUME + 14, RESUME + 21)
REACHED_BY = REACHED + 2 * MAX_REACHED  # by state reached: the classes that lead to it
WIRE = REACHED_BY + 2 * MAX_REACHED  # see `wire.py`
ARGUMENT_DEPTH = WIRE + 1  # depth of the objects whose members are not written as JSON; -1 for none
# Whether only what has to be escaped is, and in one way: bit 0. Bits 1 to 4 for the first bytes 0xF1 to 0xF4 that no
# token has alone: the characters behind them have to be escaped too.
PLAIN_ESCAPES = ARGUMENT_DEPTH + 1
PLAIN_ROW = PLAIN_ESCAPES + 1  # the row of TABLE_ROWS with the tokens that hold neither a quote nor a backslash
# Of the row that is written, of a position inside a string or key: the loop there, and what goes with it; see
# `loops.py` and `text_walk.py`.
WALK_LOOP, WALK_DEAD, WALK_FAR, WALK_ENDED = range(PLAIN_ROW + 1, PLAIN_ROW + 5)
CONTEXT_SIZE = PLAIN_ROW + 5


if config.BOUNDSCHECK:

    @njit
    def int64_at(address: int, length: int) -> Any:
        """So many int64 at an address."""
        return numba.carray(context(address), (length,))

    @njit
    def uint8_at(address: int, length: int) -> Any:
        """So many bytes at an address."""
        return numba.carray(_pointer_u8(address), (length,))

    @njit
    def view(C: Any, table: int) -> Any:
        """An int64 table."""
        return numba.carray(context(C[table]), (C[LENGTHS + table],))

    @njit
    def view32(C: Any, table: int) -> Any:
        """An int32 table."""
        return numba.carray(pointer32(C[table]), (C[LENGTHS + table],))

    @njit
    def view8(C: Any, table: int) -> Any:
        """A uint8 table."""
        return numba.carray(_pointer_u8(C[table]), (C[LENGTHS + table],))

else:

    @njit
    def int64_at(address: int, length: int) -> Any:
        """So many int64 at an address."""
        return context(address)

    @njit
    def uint8_at(address: int, length: int) -> Any:
        """So many bytes at an address."""
        return _pointer_u8(address)

    @njit
    def view(C: Any, table: int) -> Any:
        """An int64 table."""
        return context(C[table])

    @njit
    def view32(C: Any, table: int) -> Any:
        """An int32 table."""
        return pointer32(C[table])

    @njit
    def view8(C: Any, table: int) -> Any:
        """A uint8 table."""
        return _pointer_u8(C[table])


ROOT_WIDTH = 2
"""Fields of T_ROOT for each byte: the child of the trie's root, 0 for none, and the classes at and below it."""
NODE_WIDTH = 4
"""Fields of a trie's node, together so that a visit costs one line of the processor's cache: the byte with the depth
above it, the end of the subtree, the first of the node's tokens and the one after the last."""


@njit
def node_byte(nodes: Any, i: int) -> int:
    return nodes[NODE_WIDTH * i] & 0xFF


@njit
def node_depth(nodes: Any, i: int) -> int:
    return nodes[NODE_WIDTH * i] >> 8


@njit
def node_end(nodes: Any, i: int) -> int:
    return nodes[NODE_WIDTH * i + 1]


@njit
def node_first(nodes: Any, i: int) -> int:
    return nodes[NODE_WIDTH * i + 2]


@njit
def node_stop(nodes: Any, i: int) -> int:
    return nodes[NODE_WIDTH * i + 3]


_INT64, _INT32, _UINT8 = (np.dtype(t) for t in (np.int64, np.int32, np.uint8))


def _dtype(table: int) -> np.dtype[Any]:
    return _INT32 if table in INT32_TABLES else _UINT8 if table in UINT8_TABLES else _INT64


def addresses_of(tables: dict[int, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Numbers, addresses and lengths of tables that are bound together again and again: int64, (3, tables)."""
    return np.array([(t, data.ctypes.data, data.size) for t, data in tables.items()], dtype=np.int64).T.copy()


class Context:
    """The context array, the address that kernels take for it, and the tables it points to, which it keeps alive."""

    def __init__(self) -> None:
        self.array = np.zeros(CONTEXT_SIZE, dtype=np.int64)
        self.address: int = self.array.ctypes.data
        self.tables: dict[int, np.ndarray[Any, Any]] = {}
        self.allocated = 0  # bytes of the tables made here, and not bound from elsewhere

    def bind_all(self, tables: dict[int, np.ndarray[Any, Any]], addresses: np.ndarray[Any, Any]) -> None:
        """As `bind` for each of `tables`, with what `addresses_of` gives for them."""
        self.tables.update(tables)
        self.array[addresses[0]] = addresses[1]
        self.array[addresses[0] + LENGTHS] = addresses[2]

    def allocate_zeroed(self, sizes: dict[int, int]) -> None:
        """Bind new tables of so many elements, all zero, in one piece of memory."""
        widths = {table: size * _dtype(table).itemsize + 7 & ~7 for table, size in sizes.items()}
        piece = np.zeros(sum(widths.values()), dtype=np.uint8)
        self.allocated += piece.nbytes
        start: int = piece.ctypes.data
        at = 0
        for table, size in sizes.items():
            self.tables[table] = np.ndarray(size, dtype=_dtype(table), buffer=piece, offset=at)
            self.array[table] = start + at
            self.array[LENGTHS + table] = size
            at += widths[table]

    def bind(self, table: int, data: np.ndarray[Any, Any]) -> None:
        """Make `data` (contiguous, of the table's dtype) the memory of `table`."""
        self.tables[table] = data
        self.array[table] = data.ctypes.data
        self.array[LENGTHS + table] = data.size

    def allocate(self, table: int, size: int, fill: int = 0) -> None:
        """Bind a new table of `size` elements."""
        dtype = _dtype(table)
        data = np.full(size, fill, dtype=dtype) if fill else np.zeros(size, dtype=dtype)
        self.allocated += data.nbytes - (self.tables[table].nbytes if table in self.tables else 0)
        self.bind(table, data)

    def reserve(self, table: int, size: int, fill: int | None = 0) -> np.ndarray[Any, Any]:
        """Grow `table` to at least `size` elements, keeping what it holds; returns it. None: the rest is open."""
        data = self.tables[table]
        if data.size < size:
            grown = np.empty(max(size, 2 * data.size), dtype=data.dtype)
            grown[: data.size] = data
            if fill is not None:
                grown[data.size :] = fill
            self.allocated += grown.nbytes - data.nbytes
            self.bind(table, grown)
            return grown
        return data
