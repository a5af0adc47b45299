"""Classes of characters by trie node and by token, known of a vocabulary before any grammar.

Under a pattern such as `[^/]+` almost any character can follow at any time, so a walk need not enter a part of the trie
that consists of such characters only. Characters fall into some sixty classes, one bit each; a trie node carries the
classes of all characters below it, a token those that it consists of, an automaton state those that can follow it in
any number and order (see `loops.py`). A character outside ASCII is classed by its first byte, and under first bytes
that lead to spaces and the like by its second as well. Quotes, backslashes, control characters and bytes that are not
UTF-8 are in no class; what comes after them is not looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .jit import njit

FIRST_BYTES: tuple[bytes, ...] = (
    b"0123456789", b"abcdef", bytes(range(ord("g"), ord("z") + 1)), b"ABCDEF", bytes(range(ord("G"), ord("Z") + 1)),
    *(bytes([c]) for c in b" !#$%&'()*+,-./:;=?@[]_"), b"<>", b"{}", b"^`|~\x7f",
    b"\xc2", b"\xc3", bytes(range(0xC4, 0xE0)), b"\xe0", b"\xe1", b"\xe2", b"\xe3", bytes(range(0xE4, 0xEA)),
    bytes(range(0xEA, 0xED)), b"\xed", b"\xee", b"\xef", b"\xf0", bytes(range(0xF1, 0xF4)), b"\xf4",
)  # fmt: skip
"""The classes by first byte. No class holds quotes, backslashes, control characters, or bytes that are not UTF-8."""
SECOND_BYTES: tuple[tuple[int, bytes], ...] = (
    (0xC2, bytes(range(0x80, 0xA0))), (0xC2, b"\xa0"), (0xC2, bytes(range(0xA1, 0xC0))),
    (0xE1, b"\x9a"), (0xE1, bytes({*range(0x80, 0xC0)} - {0x9A})),
    (0xE2, b"\x80"), (0xE2, b"\x81"), (0xE2, bytes(range(0x82, 0xC0))),
    (0xE3, b"\x80"), (0xE3, bytes(range(0x81, 0xC0))),
    (0xEF, b"\xbb"), (0xEF, bytes({*range(0x80, 0xC0)} - {0xBB})),
)  # fmt: skip
"""Further classes by the second byte after some first bytes; numbered after those by first byte."""
ASCII_CLASSES = sum(group[0] < 0x80 for group in FIRST_BYTES)  # the first so many are those of ASCII characters
NO_CLASS = len(FIRST_BYTES) + len(SECOND_BYTES)  # the bit of what is never skipped
assert NO_CLASS < 63


def _class_tables() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    first = np.full(256, NO_CLASS, dtype=np.int64)
    for number, group in enumerate(FIRST_BYTES):
        first[list(group)] = number
    second = np.full((256, 256), -1, dtype=np.int64)
    for number, (lead, group) in enumerate(SECOND_BYTES, start=len(FIRST_BYTES)):
        second[lead, list(group)] = number
    return first, second


CLASS_BY_FIRST, CLASS_BY_SECOND = _class_tables()
"""Class by first byte, int64, shape (256,); further class by first and second byte, -1 for none, shape (256, 256)."""


CONTINUES = 255
"""In place of a class: a byte that goes on with a character."""


@njit
def _is_special(byte: int) -> bool:
    return byte == 0x22 or byte == 0x5C or byte < 0x20


@njit
def classify(
    byte: Any, end: Any, by_first: Any, by_second: Any, utf8: Any, scratch: Any, below: Any, own: Any, height: Any
) -> None:
    """The classes of a trie's nodes.

    Fills `below` (int64, nodes: bits of the classes of what is below each node; bit NO_CLASS for what is in no class),
    `own` (uint8, nodes: the class of the byte itself, CONTINUES, or NO_CLASS) and `height` (int32, nodes: bytes to the
    deepest node below). `utf8` (int32, states x 256) is the automaton of well-formed text, 0 dead and 1 between
    characters; `scratch` is int64, zeroed, nodes x states.
    """
    states = utf8.shape[0]
    nodes = byte.size
    for i in range(nodes - 1, -1, -1):
        stop = end[i]
        child = i + 1
        top = 0
        while child < stop:
            b = byte[child]
            top = max(top, height[child] + 1)
            for s in range(1, states):
                to = utf8[s, b]
                if to == 0 or _is_special(b):
                    scratch[i, s] |= 1 << NO_CLASS
                    continue
                if s == 1:
                    scratch[i, s] |= 1 << by_first[b]
                elif by_second[byte[i], b] >= 0:  # then `i` is the first byte, whatever came before it
                    scratch[i, s] |= 1 << by_second[byte[i], b]
                scratch[i, s] |= scratch[child, to]
            child = end[child]
        height[i] = top
    _settle(byte, end, by_first, by_second, utf8, scratch, below, own)


@njit
def _settle(byte: Any, end: Any, by_first: Any, by_second: Any, utf8: Any, scratch: Any, below: Any, own: Any) -> None:
    """Choose for each node what holds where the text before the token ends between two characters."""
    at = np.zeros(byte.size, dtype=np.int8)
    at[0] = 1
    own[0] = CONTINUES
    for i in range(byte.size):
        state = at[i]
        below[i] = scratch[i, state] if state else 1 << NO_CLASS
        child = i + 1
        while child < end[i]:
            b = byte[child]
            at[child] = utf8[state, b] if state else 0
            if at[child] == 0 or _is_special(b):
                own[child] = NO_CLASS
            elif state == 1:
                own[child] = by_first[b]
            else:
                own[child] = by_second[byte[i], b] if by_second[byte[i], b] >= 0 else CONTINUES
            child = end[child]


@njit
def token_classes(
    byte: Any, depth: Any, own: Any, first: Any, tokens: Any, longest: int, bits: Any, points: Any
) -> None:
    """Fill `bits` (int64, by token: the classes it consists of, bit NO_CLASS for anything in none) and `points` (int32:
    the code points that begin in it), for the tokens of a trie.
    """
    so_far = np.zeros(longest + 1, dtype=np.int64)
    count = np.zeros(longest + 1, dtype=np.int32)
    for i in range(1, byte.size):
        d = depth[i]
        so_far[d], count[d] = so_far[d - 1], count[d - 1]
        if own[i] != CONTINUES:
            so_far[d] |= 1 << own[i]
        if byte[i] & 0xC0 != 0x80:
            count[d] += 1
        for t in range(first[i], first[i + 1]):
            bits[tokens[t]] = so_far[d]
            points[tokens[t]] = count[d]


@njit
def class_rows(bits: Any, rows: Any) -> None:
    """Mark by class the tokens that hold it: `bits` from `token_classes`, and `rows` (int32, classes x words, zeroed)
    with one class more than there are, for tokens with anything in none.
    """
    for token in range(bits.size):
        left = bits[token]
        for c in range(rows.shape[0]):
            if left >> c & 1:
                rows[c, token >> 5] |= 1 << (token & 31)


@njit
def loop_row(with_class: Any, others: Any, longest_first: Any, points: Any, row: Any) -> int:
    """Fill a row (int32) with the tokens that hold none of some classes; the most code points of one, 0 for no token.

    `with_class` (int32, classes x words) has the tokens that hold each class, `others` (int64) the numbers of those
    classes, and `longest_first` (int32) sorts tokens by points.
    """
    row[:] = 0
    for k in range(others.size):
        held = with_class[others[k]]
        for w in range(row.size):
            row[w] |= held[w]
    for w in range(row.size):
        row[w] = ~row[w]
    for i in range(longest_first.size):
        token = longest_first[i]
        if row[token >> 5] >> (token & 31) & 1:
            return points[token]
    return 0
