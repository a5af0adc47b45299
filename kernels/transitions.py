"""What every transition is made of: the next state, what is missing, what is remembered; and whitespace.

Lists, the newest first: of the free names of an object; and of places in a set of alternatives or in the entries of a
string's state, sixteen in an entry: which sixteen they are, and a bit for each. FREE entries are stored in the memo
twice, by content and as the pair (previous list, entry) under the list's number.
"""

from __future__ import annotations

from typing import Any

from .intern import F_DEPTH, FRAME_WIDTH, M_FREE, M_ROW, memo_get, memo_key, memo_set
from .jit import njit
from .layout import BOUNDED_BLANKS, FULL, LOW_32, MISS, OBJECT_NEXT, OK, SPACED, VALUE
from .memory import DFA, FRAMES, MISS_A, MISS_B, MISS_KIND, N_FREE, OUT, WHITESPACE, view, view32


@njit
def emit(C: Any, stack: int, mode: int, q: int, x: int, n: int) -> int:
    C[OUT] = stack
    C[OUT + 1] = mode
    C[OUT + 2] = q
    C[OUT + 3] = x
    C[OUT + 4] = n
    return OK


@njit
def miss(C: Any, kind: int, a: int, b: int) -> int:
    C[MISS_KIND] = kind
    C[MISS_A] = a
    C[MISS_B] = b
    return MISS


@njit
def lookup(C: Any, kind: int, a: int, b: int) -> int:
    """A memo entry that Python supplies: its value, or MISS."""
    value = memo_get(C, memo_key(kind, a, b))
    if value < 0:
        return miss(C, kind, a, b)
    return value


@njit
def successor(C: Any, q: int, byte: int) -> int:
    """The next state of a table automaton, 0 for dead, or MISS."""
    to = view32(C, DFA)[q * 256 + byte]
    if to < 0:
        return miss(C, M_ROW, q, 0)
    return to


@njit
def whitespace(C: Any, stack: int, mode: int, x: int, byte: int) -> int:
    """Register x after one more byte of whitespace, or -1: nothing, one blank, or a line break and an indentation."""
    if C[WHITESPACE] != BOUNDED_BLANKS:
        return 1 if needs_blank(C, mode, x) and byte == 0x20 else -1
    if byte == 0x0A:
        return 3 if x <= 2 else -1
    if byte == 0x0D:
        return 2 if x <= 1 else -1
    if x == 0:
        return 1
    if x >= 3 and x - 3 < 8 * (view(C, FRAMES)[stack * FRAME_WIDTH + F_DEPTH] + 1):
        return x + 1
    return -1


@njit
def needs_blank(C: Any, mode: int, x: int) -> bool:
    """Whether the blank after a comma or colon is yet to come, where there has to be one."""
    return C[WHITESPACE] == SPACED and x == 0 and (mode == VALUE or mode == OBJECT_NEXT)


@njit
def is_whitespace(byte: int) -> bool:
    return byte == 0x20 or byte == 0x0A or byte == 0x0D or byte == 0x09


@njit
def free_contains(C: Any, free: int, name: int) -> bool:
    while free != 0:
        pair = memo_get(C, memo_key(M_FREE, free, LOW_32))
        if pair & LOW_32 == name:
            return True
        free = pair >> 32
    return False


@njit
def free_add(C: Any, free: int, name: int) -> int:
    key = memo_key(M_FREE, free, name)
    found = memo_get(C, key)
    if found >= 0:
        return found
    number = C[N_FREE]
    if not memo_set(C, memo_key(M_FREE, number, LOW_32), (free << 32) | name):
        return FULL
    if not memo_set(C, key, number):
        return FULL
    C[N_FREE] = number + 1
    return number
