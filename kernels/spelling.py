"""How JSON escapes spell characters."""

from __future__ import annotations

from typing import Any

from .jit import njit
from .memory import PLAIN_ESCAPES


@njit
def hex_value(byte: int) -> int:
    if 0x30 <= byte <= 0x39:
        return byte - 0x30
    if 0x61 <= byte <= 0x66:
        return byte - 0x57
    if 0x41 <= byte <= 0x46:
        return byte - 0x37
    return -1


@njit
def simple_escape(byte: int) -> int:
    """The code point of a two-character escape, or -1."""
    if byte == 0x22 or byte == 0x5C or byte == 0x2F:
        return byte
    if byte == 0x6E:
        return 10
    if byte == 0x74:
        return 9
    if byte == 0x72:
        return 13
    if byte == 0x62:
        return 8
    if byte == 0x66:
        return 12
    return -1


@njit
def pack_escape(kind: int, high: int, digits: int, value: int) -> int:
    return kind | (high << 8) | (digits << 20) | (value << 24)


@njit
def hex_digits_allowed(digits: int, value: int, low: bool) -> bool:
    """Whether the digits of a \\u escape can still name a code point, of a low surrogate where `low` is set."""
    if low:
        return (digits < 1 or (value >> (4 * (digits - 1))) == 0xD) and (
            digits < 2 or (value >> (4 * (digits - 2))) >= 0xDC
        )
    return not (digits >= 2 and 0xDC <= (value >> (4 * (digits - 2))) <= 0xDF)


@njit
def has_long_escape(C: Any, cp: int) -> bool:
    """Whether, where only what has to be escaped is, a code point is written as \\u and digits."""
    if cp < 0x20:
        return cp < 8 or cp > 13 or cp == 11
    return cp >= 0x40000 and (C[PLAIN_ESCAPES] >> (cp >> 18)) & 1 != 0


@njit
def has_long_escape_from(C: Any, digits: int, value: int, high: int) -> bool:
    """Whether there is such a code point with these first digits; the registers are those of `string_can_continue`."""
    if high >= 0:
        return has_long_escape(C, 0x10000 + (high << 10))
    first = value << (4 * (4 - digits))
    last = first | ((1 << (4 * (4 - digits))) - 1)
    if first < 0x20:
        return True
    for lead in range(1, 5):  # first bytes 0xF1 and on: a quarter of the high surrogates each
        low = 0xD7C0 + (lead << 8)
        if (C[PLAIN_ESCAPES] >> lead) & 1 and first <= min(low + 0xFF, 0xDBFF) and last >= low:
            return True
    return False
