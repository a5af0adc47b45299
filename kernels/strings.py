"""Strings while they are read: which lengths and outcomes are still possible, and the next character."""

from __future__ import annotations

from typing import Any

from .intern import M_HEX, M_OUT, M_ROW
from .jit import njit
from .layout import (
    COUNTED,
    DEAD,
    E_ACCEPT,
    E_LENGTHS,
    E_MAX,
    E_MIN,
    E_OUTCOME,
    ENTRY_WIDTH,
    FULL,
    HAS_NEXT,
    OK,
    Q_ENTRIES,
    Q_ENTRY,
    Q_FLAGS,
    Q_OUTCOME,
    SIMPLE,
    STATE_WIDTH,
    STRING,
    UNIVERSAL,
)
from .memory import DFA, ENTRY, LENSET, OUT, PLAIN_ESCAPES, STATE, WORDS, view, view32
from .transitions import emit, free_add, lookup, miss, successor


@njit
def length_within(C: Any, lengths: int, low: int, high: int) -> bool:
    """Whether a set of lengths has a member between `low` and `high`; -1 is the set of all lengths."""
    if low < 0:
        low = 0
    if low > high:
        return False
    if lengths < 0:
        return True
    table = view(C, LENSET)
    preperiod = table[lengths]
    period = table[lengths + 1]
    top = max(low, preperiod) + period - 1
    if high > top:
        high = top
    for n in range(low, high + 1):
        i = n
        if i >= preperiod:
            i = preperiod + (i - preperiod) % period
        if (table[lengths + 2 + (i >> 5)] >> (i & 31)) & 1:
            return True
    return False


@njit
def string_viable(C: Any, q: int, n: int, least: int) -> bool:
    """Whether a string at automaton state q with n code points can be completed by `least` more of them or more."""
    base = q * STATE_WIDTH
    states = view(C, STATE)
    if states[base + Q_FLAGS] & COUNTED == 0:
        return True
    entries = view(C, ENTRY)
    at = states[base + Q_ENTRY]
    for _ in range(states[base + Q_ENTRIES]):
        if length_within(C, entries[at + E_LENGTHS], max(entries[at + E_MIN] - n, least), entries[at + E_MAX] - n):
            return True
        at += ENTRY_WIDTH
    return False


@njit
def string_outcome(C: Any, q: int, n: int) -> int:
    """The outcome when the string ends here; 0 where it cannot; or a negative code."""
    base = q * STATE_WIDTH
    states = view(C, STATE)
    if states[base + Q_FLAGS] & COUNTED == 0:
        return states[base + Q_OUTCOME]
    entries = view(C, ENTRY)
    at = states[base + Q_ENTRY]
    count = states[base + Q_ENTRIES]
    if count == 1:
        if entries[at + E_ACCEPT] and entries[at + E_MIN] <= n <= entries[at + E_MAX]:
            return entries[at + E_OUTCOME]
        return 0
    satisfied = bits = 0
    for i in range(count):
        if entries[at + E_ACCEPT] and entries[at + E_MIN] <= n <= entries[at + E_MAX]:
            bits |= 1 << (i & 15)
        if bits and (i & 15 == 15 or i + 1 == count):
            satisfied = free_add(C, satisfied, ((i >> 4) << 16) | bits)
            if satisfied < 0:
                return FULL
            bits = 0
        at += ENTRY_WIDTH
    if satisfied == 0:
        return 0
    return lookup(C, M_OUT, q, satisfied)


@njit
def string_byte(C: Any, stack: int, q: int, n: int, byte: int) -> int:
    """One byte of decoded content."""
    to = successor(C, q, byte)
    if to <= 0:
        return to
    if view(C, STATE)[to * STATE_WIDTH + Q_FLAGS] & COUNTED:
        if byte & 0xC0 != 0x80:
            n += 1
        if not string_viable(C, to, n, 0):
            return DEAD
    else:
        n = 0
    return emit(C, stack, STRING, to, 0, n)


@njit
def string_code_point(C: Any, stack: int, q: int, n: int, cp: int) -> int:
    """One decoded code point, as an escape has spelled it."""
    if cp < 0x80:
        return string_byte(C, stack, q, n, cp)
    if cp < 0x800:
        first, rest = 0xC0 | (cp >> 6), 1
    elif cp < 0x10000:
        first, rest = 0xE0 | (cp >> 12), 2
    else:
        first, rest = 0xF0 | (cp >> 18), 3
    code = string_byte(C, stack, q, n, first)
    while code == OK and rest > 0:
        rest -= 1
        code = string_byte(C, stack, C[OUT + 2], C[OUT + 4], 0x80 | ((cp >> (6 * rest)) & 0x3F))
    return code


@njit
def string_can_continue(C: Any, q: int, n: int, digits: int, value: int, high: int) -> int:
    """Whether some code point whose \\u spelling starts so can come next: 1, 0 or MISS.

    `digits` hexadecimal digits with this value have been read, of the low surrogate where `high` is not -1.
    """
    base = q * STATE_WIDTH
    states = view(C, STATE)
    if view32(C, DFA)[q * 256] < 0:
        return miss(C, M_ROW, q, 0)
    flags = states[base + Q_FLAGS]
    if flags & HAS_NEXT == 0:
        return 0
    if flags & UNIVERSAL or (digits == 0 and high < 0 and not C[PLAIN_ESCAPES]):
        if flags & COUNTED == 0:
            return 1
        if flags & SIMPLE:
            return 1 if n + 1 <= view(C, ENTRY)[states[base + Q_ENTRY] + E_MAX] else 0
        if digits == 0 and high < 0:
            return 1 if string_viable(C, q, n, 1) else 0
    found = lookup(C, M_HEX, q, digits | (value << 3) | ((high + 1) << 19))
    if found <= 0:
        return found
    words = view(C, WORDS)
    for i in range(words[found]):
        if string_viable(C, words[found + 1 + i], n + 1, 0):
            return 1
    return 0
