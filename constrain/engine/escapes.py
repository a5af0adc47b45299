"""How escapes of a JSON string can end, as ranges of code points."""

from __future__ import annotations

from collections.abc import Iterable

from constrain.kernels import layout as s

Ranges = list[tuple[int, int]]
Ends = list[tuple[int, Ranges]]
"""The bytes that an escape still takes, and what it then has spelled."""
_SHORT = [(c, c) for c in (0x22, 0x5C, 8, 9, 10, 12, 13)]
_SLASH = (0x2F, 0x2F)


def long_escapes(plain: int) -> Ranges:
    """What is written as \\u and digits where only what has to be escaped is; `plain` is what the context says."""
    planes = [(lead << 18, min((lead + 1 << 18) - 1, 0x10FFFF)) for lead in range(1, 5) if plain >> lead & 1]
    return [(0, 7), (11, 11), (14, 31), *planes]


def intersection(ranges: Iterable[tuple[int, int]], others: Ranges) -> Ranges:
    """The code points that both have."""
    return [(max(a, c), min(b, d)) for a, b in ranges for c, d in others if a <= d and c <= b]


def escape_ends(x: int, plain: int = 0) -> Ends:
    """How the escape that register x holds can end; empty where it holds none.

    With `plain`, which is what the context says of it, only what has to be escaped is.
    """
    kind = x & 15
    if kind == s.X_NONE:
        return []
    if kind == s.X_BACKSLASH:
        ends: Ends = [(5, [(0, 0xFFFF)]), (11, [(0x10000, 0x10FFFF)])]
    else:
        ends = _digit_ends(x)
    if plain:
        known = long_escapes(plain)
        ends = [(cost, found) for cost, ranges in ends if (found := intersection(ranges, known))]
    if kind == s.X_BACKSLASH:
        ends.insert(0, (1, _SHORT if plain else [*_SHORT, _SLASH]))
    return ends


def _digit_ends(x: int) -> Ends:
    kind, high, digits, value = x & 15, x >> 8 & 1023, x >> 20 & 7, x >> 24 & 0xFFFF
    left = 4 - digits
    first, last = value << 4 * left, (value << 4 * left) + (1 << 4 * left) - 1
    if kind == s.X_HEX:
        out = [(left, [(first, last)])]
        if first <= 0xDBFF and last >= 0xD800:
            a, b = max(first, 0xD800) & 1023, min(last, 0xDBFF) & 1023
            out.append((left + 6, [(0x10000 + (a << 10), 0x10000 + (b << 10) + 1023)]))
        return out
    base = 0x10000 + (high << 10)
    if kind == s.X_LOW:
        a, b = (max(first, 0xDC00) & 1023, min(last, 0xDFFF) & 1023) if digits else (0, 1023)
        return [(left, [(base + a, base + b)])]
    return [(6 if kind == s.X_HIGH else 5, [(base, base + 1023)])]
