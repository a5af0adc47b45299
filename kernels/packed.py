"""Masks of few tokens, packed: the words that are not 0, with their places.

Outside of strings most masks allow a few dozen tokens of a hundred thousand. A row of all words is 16 KiB then, memory
that has to be fetched, cleared and copied, which takes longer than to find the tokens. So such a row is made where
every next one is made, too, in memory that the processor has at hand, and what is kept of it are a few words.

The table PACKS has the records one after the other: how many words, and for each its place in the row and the word. A
position refers to one by a number from `PACKED` on downwards; a row has a number from 0 on, and -1 stands for none.
"""

from __future__ import annotations

from typing import Any

from .jit import njit
from .memory import CLEAR_ROW, FULL_TABLE, LENGTHS, N_PACKS, PACKS, ROW_WORDS, ROWS, context, pointer32, view32

PACKED = -16
_LONG, _SHORT = 512, 32


@njit
def is_code(number: int) -> bool:
    """Whether what stands for a row is none, but a code like MISS."""
    return PACKED < number < 0


@njit
def most_words(C: Any) -> int:
    """Rows with up to so many words that are not 0 are packed."""
    return C[ROW_WORDS] // 16 + 2


@njit
def has_room(C: Any) -> bool:
    """Whether the table has room for one more record; else it is the full one."""
    if C[N_PACKS] + 2 * most_words(C) + 1 <= C[LENGTHS + PACKS]:
        return True
    C[FULL_TABLE] = PACKS
    return False


@njit(inline="always")
def _has_bits(pairs: Any, start: int, count: int) -> bool:
    bits = 0
    for i in range(count):
        bits |= pairs[start + i]
    return bits != 0


@njit
def _add(C: Any, base: int, start: int, stop: int, count: int) -> int:
    """Add words `start` .. `stop` - 1 of a row to the record under way; how many it has then, -1 for too many."""
    rows, packs, most = view32(C, ROWS), view32(C, PACKS), most_words(C)
    at = C[N_PACKS] + 1 + 2 * count
    for i in range(start, stop):
        if rows[base + i] != 0:
            if count == most:
                return -1
            packs[at], packs[at + 1] = i, rows[base + i]
            at += 2
            count += 1
    return count


@njit
def pack(C: Any, row: int) -> int:
    """The number of a packed row with the content of row `row`, which is all 0 after it; 0 where it has too many words.

    There is room (see `has_room`), and `row` is the row behind the last one in use.
    """
    rows, packs, words = view32(C, ROWS), view32(C, PACKS), C[ROW_WORDS]
    base = row * words
    pairs = context(C[ROWS] + 4 * base)
    count = start = 0
    while start + _LONG <= words:
        if _has_bits(pairs, start // 2, _LONG // 2):
            for at in range(start, start + _LONG, _SHORT):
                if _has_bits(pairs, at // 2, _SHORT // 2):
                    count = _add(C, base, at, at + _SHORT, count)
                    if count < 0:
                        return 0
        start += _LONG
    count = _add(C, base, start, words, count)
    if count < 0:
        return 0
    at = C[N_PACKS]
    packs[at] = count
    for k in range(count):
        rows[base + packs[at + 1 + 2 * k]] = 0
    C[N_PACKS] = at + 1 + 2 * count
    C[CLEAR_ROW] = row + 1
    return PACKED - at


@njit
def begin_row(C: Any, row: int) -> None:
    """Clear a row."""
    if C[CLEAR_ROW] != row + 1:
        rows, words = view32(C, ROWS), C[ROW_WORDS]
        for i in range(words):
            rows[row * words + i] = 0
    C[CLEAR_ROW] = 0


@njit
def copy_mask(C: Any, number: int, address: int, size: int) -> None:
    """Write a row or packed row to `size` words (int32) from an address on, as far as they go; others are cleared."""
    words, out = C[ROW_WORDS], pointer32(address)
    if number >= 0:
        rows = view32(C, ROWS)
        base = number * words
        shared = min(words, size)
        for i in range(shared):
            out[i] = rows[base + i]
        for i in range(shared, size):
            out[i] = 0
        return
    for i in range(size):
        out[i] = 0
    packs = view32(C, PACKS)
    at = PACKED - number
    for k in range(packs[at]):
        place = packs[at + 1 + 2 * k]
        if place < size:
            out[place] = packs[at + 2 + 2 * k]
