"""Hash-consing inside the kernels: equal records get equal numbers.

Three open-addressing tables with linear probing. *Frames* (one level of the stack) and *positions* (a stack plus the
state inside the current terminal) are records that are stored once; a *memo* maps a small key to a number. Memo
entries come from two sides: names and sets of names are numbered here, while transitions between sets of alternatives
are supplied by Python when a kernel misses them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .jit import njit
from .memory import (
    FRAME_HASH,
    FRAMES,
    FULL_TABLE,
    LENGTHS,
    MEMO_KEY,
    MEMO_VAL,
    N_FRAMES,
    N_MEMO,
    N_POS,
    POS,
    POS_HASH,
    context,
    view,
    view32,
)

# Fields of a frame. `F_STATE` is a slot while the value of a member or item is being read, a set of alternatives else.
F_PARENT, F_STATE, F_COUNT, F_SEEN, F_FREE, F_DEPTH = range(6)
FRAME_WIDTH = 6
FRAME_SEED, POS_SEED = 17, 29
# Fields of a position.
P_STACK, P_MODE, P_Q, P_X, P_N, P_ROW = range(6)  # P_ROW: number of its mask row, which may be packed, or NO_MASK
NO_MASK = -1
POS_WIDTH = 6

# Kinds of memo entries.
M_SLOT, M_NEXT, M_DROP, M_OUT, M_HEX, M_NAME, M_FREE, M_SEEN = range(1, 9)
M_TABLE, M_TABLE_ROW = 9, 10  # a terminal's table for a node of the trie; its row of tokens of limited length
# Kinds of misses that are not memo entries: a row of the automaton, the start of a value's type, the row of the tokens
# that consist of a state's loop.
M_ROW, M_SHAPE, M_LOOP = 11, 12, 13
# More memo entries: whether an alternative admits a class of names, whether a name can still become one that it admits,
# whether one is left that is not in use, what an array that counts may do.
M_CLASS, M_REACH, M_FRESH, M_VIEW = 14, 15, 16, 17
M_KEY_LOOP = 18  # for free names: a record of the characters that can always follow
M_LIMITED = 19  # the row of the tokens that consist of a state's loop and of few code points
# Of text around JSON values: where a value begins that a state calls for; the state after a value of an outcome, and
# after a member of arguments that are not written as JSON; the tokens that may complete a text that strings must not
# hold.
M_CALL, M_RETURN, M_AFTER, M_MARKED = 20, 21, 22, 23
M_COLLECTED = 24  # 1 + the position that a word leads to which was read as a whole, 0 for none


_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


@njit
def mix(h: int, v: int) -> Any:
    # Without a sign: a product of signed numbers must not overflow, and the compiler counts on it.
    u = np.uint64(h ^ v) * _FACTOR
    return np.int64(u ^ (u >> _SHIFT))


@njit
def intern_frame(C: Any, parent: int, state: int, count: int, seen: int, free: int, depth: int) -> int:
    """The number of a frame; -1 when the table is full."""
    frames = view(C, FRAMES)
    table = view32(C, FRAME_HASH)
    mask = C[LENGTHS + FRAME_HASH] - 1
    h = mix(mix(mix(mix(mix(FRAME_SEED, parent), state), count), seen), free) & mask
    while True:
        at = table[h]
        if at == 0:
            break
        base = (at - 1) * FRAME_WIDTH
        if (
            frames[base] == parent
            and frames[base + 1] == state
            and frames[base + 2] == count
            and frames[base + 3] == seen
            and frames[base + 4] == free
        ):
            return at - 1
        h = (h + 1) & mask
    n = C[N_FRAMES]
    if (n + 1) * FRAME_WIDTH > C[LENGTHS + FRAMES] or 2 * n > mask:
        C[FULL_TABLE] = FRAMES
        return -1
    base = n * FRAME_WIDTH
    frames[base] = parent
    frames[base + 1] = state
    frames[base + 2] = count
    frames[base + 3] = seen
    frames[base + 4] = free
    frames[base + 5] = depth
    table[h] = n + 1
    C[N_FRAMES] = n + 1
    return n


@njit
def intern_position(C: Any, stack: int, mode: int, q: int, x: int, n: int) -> int:
    """The number of a position; -1 when the table is full."""
    records = view(C, POS)
    table = view32(C, POS_HASH)
    mask = C[LENGTHS + POS_HASH] - 1
    h = mix(mix(mix(mix(mix(POS_SEED, stack), mode), q), x), n) & mask
    while True:
        at = table[h]
        if at == 0:
            break
        base = (at - 1) * POS_WIDTH
        if (
            records[base] == stack
            and records[base + 1] == mode
            and records[base + 2] == q
            and records[base + 3] == x
            and records[base + 4] == n
        ):
            return at - 1
        h = (h + 1) & mask
    count = C[N_POS]
    if (count + 1) * POS_WIDTH > C[LENGTHS + POS] or 2 * count > mask:
        C[FULL_TABLE] = POS
        return -1
    base = count * POS_WIDTH
    records[base] = stack
    records[base + 1] = mode
    records[base + 2] = q
    records[base + 3] = x
    records[base + 4] = n
    records[base + P_ROW] = NO_MASK
    table[h] = count + 1
    C[N_POS] = count + 1
    return count


@njit
def memo_key(kind: int, a: int, b: int) -> int:
    """Packs a key: `kind` below 32, `a` below 2**26, `b` below 2**32."""
    return (kind << 58) | (a << 32) | b


def packed_key(kind: int, a: int, b: int) -> int:
    """`memo_key` for callers in Python, without the call of a kernel."""
    return kind << 58 | a << 32 | b


@njit
def memo_get(C: Any, key: int) -> int:
    """The value stored for `key`, or -1."""
    keys = view(C, MEMO_KEY)
    mask = C[LENGTHS + MEMO_KEY] - 1
    h = mix(3, key) & mask
    while True:
        k = keys[h]
        if k == key:
            return view(C, MEMO_VAL)[h]
        if k == 0:
            return -1
        h = (h + 1) & mask


@njit
def memo_set(C: Any, key: int, value: int) -> int:
    """Store a value; 0 when the table is full and nothing was stored, else 1."""
    keys = view(C, MEMO_KEY)
    mask = C[LENGTHS + MEMO_KEY] - 1
    if 2 * C[N_MEMO] > mask:
        C[FULL_TABLE] = MEMO_KEY
        return 0
    h = mix(3, key) & mask
    while keys[h] != 0 and keys[h] != key:
        h = (h + 1) & mask
    if keys[h] == 0:
        C[N_MEMO] += 1
    keys[h] = key
    view(C, MEMO_VAL)[h] = value
    return 1


@njit
def rehash_records(records: Any, width: int, seed: int, count: int, table: Any) -> None:
    """Fill an empty hash table with the records 0 .. count-1, keyed by their first five fields."""
    mask = table.size - 1
    for i in range(count):
        h = seed
        for field in range(5):
            h = mix(h, records[i * width + field])
        h &= mask
        while table[h] != 0:
            h = (h + 1) & mask
        table[h] = i + 1


@njit
def rehash_memo(old_keys: Any, old_values: Any, keys: Any, values: Any) -> None:
    """Move all entries into a larger, empty memo."""
    mask = keys.size - 1
    for i in range(old_keys.size):
        key = old_keys[i]
        if key != 0:
            h = mix(3, key) & mask
            while keys[h] != 0:
                h = (h + 1) & mask
            keys[h] = key
            values[h] = old_values[i]


@njit
def new_frame(address: int, parent: int, state: int, count: int, seen: int, free: int, depth: int) -> int:
    """`intern_frame`, for callers outside the kernels."""
    return intern_frame(context(address), parent, state, count, seen, free, depth)


@njit
def new_position(address: int, stack: int, mode: int, q: int, x: int, n: int) -> int:
    """`intern_position`, for callers outside the kernels."""
    return intern_position(context(address), stack, mode, q, x, n)


@njit
def new_memo(address: int, key: int, value: int) -> int:
    """`memo_set`, for callers outside the kernels."""
    return memo_set(context(address), key, value)


@njit
def new_memos(address: int, kind: int, a: int, b: int, values: Any) -> int:
    """`memo_set` for `b` and the numbers after it, where a value (int64, one for each) is not 0; 0 if it gets full."""
    C = context(address)
    for i in range(values.size):
        if values[i] != 0 and not memo_set(C, memo_key(kind, a, b + i), values[i]):
            return 0
    return 1


@njit
def memo_value(address: int, key: int) -> int:
    """`memo_get`, for callers outside the kernels."""
    return memo_get(context(address), key)
