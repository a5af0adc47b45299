"""Escapes, in strings and in names: each digit is taken only where a character that may follow can begin so."""

from __future__ import annotations

from typing import Any

from .intern import F_STATE, FRAME_WIDTH, M_HEX
from .jit import njit
from .layout import (
    DEAD,
    FST_WIDTH,
    LITERAL,
    LOW_20,
    LOW_24,
    LOW_30,
    S_KEYS,
    S_NAMES,
    STRING,
    X_BACKSLASH,
    X_HEX,
    X_HIGH,
    X_HIGH_BACKSLASH,
    X_LOW,
)
from .members import free_name_opens
from .memory import FRAMES, FREE_TEXT_STATE, FST, PLAIN_ESCAPES, WORDS, view
from .names import name_can_continue, name_code_point
from .spelling import has_long_escape, has_long_escape_from, hex_digits_allowed, hex_value, pack_escape, simple_escape
from .strings import string_can_continue, string_code_point
from .transitions import emit, lookup


@njit
def plain_escape_opens(C: Any, stack: int, mode: int, q: int, n: int) -> int:
    """Whether a character that has to be escaped can come next: 1, 0 or a negative code."""
    code = can_continue(C, stack, mode, q, n, 0, 0, -1)
    for cp in (0x22, 0x5C, 8, 9, 10, 12, 13):
        if code == DEAD:
            code = code_point(C, stack, mode, q, n, cp)
    return code


@njit
def escape_step(C: Any, stack: int, mode: int, q: int, x: int, n: int, byte: int) -> int:
    """One byte inside an escape of a string or a key."""
    kind = x & 15
    plain = C[PLAIN_ESCAPES] != 0
    if kind == X_BACKSLASH:
        if byte == 0x75:
            x = pack_escape(X_HEX, 0, 0, 0)
            code = can_continue(C, stack, mode, q, n, 0, 0, -1)
            return emit(C, stack, mode, q, x, n) if code == 1 else code
        cp = simple_escape(byte)
        if cp < 0 or (plain and cp == 0x2F):
            return DEAD
        return code_point(C, stack, mode, q, n, cp)
    if kind == X_HEX or kind == X_LOW:
        digit = hex_value(byte)
        if digit < 0 or (plain and 0x41 <= byte <= 0x46):
            return DEAD
        digits = ((x >> 20) & 7) + 1
        value = (((x >> 24) & 0xFFFF) << 4) | digit
        low = kind == X_LOW
        if not hex_digits_allowed(digits, value, low):
            return DEAD
        high = (x >> 8) & 1023 if low else -1
        if digits < 4:
            code = can_continue(C, stack, mode, q, n, digits, value, high)
            if code != 1:
                return code
            return emit(C, stack, mode, q, pack_escape(kind, max(high, 0), digits, value), n)
        if low:
            return code_point(C, stack, mode, q, n, 0x10000 + (high << 10) + (value & 1023))
        if 0xD800 <= value <= 0xDBFF:
            code = can_continue(C, stack, mode, q, n, 0, 0, value & 1023)
            if code != 1:
                return code
            return emit(C, stack, mode, q, pack_escape(X_HIGH, value & 1023, 0, 0), n)
        if plain and not has_long_escape(C, value):
            return DEAD
        return code_point(C, stack, mode, q, n, value)
    if kind == X_HIGH:
        if byte != 0x5C:
            return DEAD
        return emit(C, stack, mode, q, pack_escape(X_HIGH_BACKSLASH, (x >> 8) & 1023, 0, 0), n)
    if byte != 0x75:
        return DEAD
    return emit(C, stack, mode, q, pack_escape(X_LOW, (x >> 8) & 1023, 0, 0), n)


@njit
def can_continue(C: Any, stack: int, mode: int, q: int, n: int, digits: int, value: int, high: int) -> int:
    if C[PLAIN_ESCAPES] and not has_long_escape_from(C, digits, value, high):
        return 0
    if mode == STRING:
        return string_can_continue(C, q, n, digits, value, high)
    if mode == LITERAL:
        return name_can_continue(C, n, q, -1, digits, value, high)
    fst = view(C, FRAMES)[stack * FRAME_WIDTH + F_STATE] * FST_WIDTH
    if n >> 60:
        state = (n >> 24) & LOW_30
        if view(C, FST)[fst + S_KEYS] == C[FREE_TEXT_STATE]:
            return 1
        found = lookup(C, M_HEX, state, digits | (value << 3) | ((high + 1) << 19))
        if found < 0:
            return found
        words = view(C, WORDS)
        for i in range(words[found] if found else 0):
            # Where only few names are left, some of them in use, the escape is not offered: there is a plain spelling.
            code = free_name_opens(C, stack, words[found + 1 + i], n & LOW_24, (q & LOW_20) < ((q >> 20) & LOW_20))
            if code != 0:
                return code
    return name_can_continue(C, view(C, FST)[fst + S_NAMES], q, stack, digits, value, high)


@njit
def code_point(C: Any, stack: int, mode: int, q: int, n: int, cp: int) -> int:
    if mode == STRING:
        return string_code_point(C, stack, q, n, cp)
    return name_code_point(C, stack, mode, q, n, cp)
