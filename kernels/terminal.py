"""What is known of a vocabulary before any grammar: terminal tables, and classes of characters by trie node.

*Terminal tables* say how the tokens below a trie node relate to free text: one scan sorts them into those that stay
inside the text, those that leave it through a closing quote, and the rest.

*Classes.* Under a pattern such as `[^/]+` almost any character can follow at any time, so a walk need not enter a part
of the trie that consists of such characters only. Characters fall into some sixty classes, one bit each; a trie node
carries the classes of all characters below it, an automaton state those that can follow it in any number and order.
Where the first is a subset of the second, every token below the node is fine. A character outside ASCII is classed by
its first byte, and under first bytes that lead to spaces and the like by its second as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .call import step
from .jit import njit
from .memory import OUT, STATE, T_BYTE, T_DEPTH, T_END, T_TID, T_TOFF, context, view, view8, view32
from .step import BOUNDARY, OK, Q_FLAGS, STATE_WIDTH, STRING


@njit
def scan(address: int, node: int, q: int, x: int, content: Any, leaving: Any, scratch: Any) -> Any:
    """Sort the tokens below `node`, where the text is at automaton state `q` with escape `x`.

    Fills `content` (int32, rows of token and code points needed) and `leaving` (int32, rows of token, code points
    before the quote, bytes up to and with the quote, and whether an escape came before it); `scratch` is int64 with
    four columns and more rows than the longest token has bytes. Returns the two numbers of rows.
    """
    C = context(address)
    byte, end, depth = view8(C, T_BYTE), view32(C, T_END), view32(C, T_DEPTH)
    first, tokens = view32(C, T_TOFF), view32(C, T_TID)
    states = view(C, STATE)
    inside = 0
    crossing = 0
    root = depth[node]
    scratch[root, 0], scratch[root, 1], scratch[root, 2], scratch[root, 3] = q, x, 0, 0
    i = node + 1
    stop = end[node]
    while i < stop:
        d = depth[i]
        at_q, at_x = scratch[d - 1, 0], scratch[d - 1, 1]
        points, escaped = scratch[d - 1, 2], scratch[d - 1, 3]
        b = byte[i]
        if b == 0x22 and at_x == 0:
            if states[at_q * STATE_WIDTH + Q_FLAGS] & BOUNDARY:
                for t in range(first[i], first[end[i]]):
                    leaving[crossing, 0] = tokens[t]
                    leaving[crossing, 1] = points
                    leaving[crossing, 2] = d
                    leaving[crossing, 3] = escaped
                    crossing += 1
            i = end[i]
            continue
        if step(C, 0, STRING, at_q, at_x, 0, b) != OK:
            i = end[i]
            continue
        to_x = C[OUT + 3]
        if at_x != 0:
            if to_x == 0:
                points += 1
        elif to_x == 0 and b & 0xC0 != 0x80:
            points += 1
        scratch[d, 0], scratch[d, 1], scratch[d, 2] = C[OUT + 2], to_x, points
        scratch[d, 3] = 1 if to_x != 0 else escaped
        for t in range(first[i], first[i + 1]):
            content[inside, 0] = tokens[t]
            content[inside, 1] = points + (1 if to_x != 0 else 0)
            inside += 1
        i += 1
    return inside, crossing


@njit
def content_row(pairs: Any, limit: int, row: Any) -> None:
    """Mark in `row` (int32) the tokens of `pairs` (flat: token, code points; fewest first) within `limit`."""
    for i in range(0, pairs.size, 2):
        if pairs[i + 1] > limit:
            return
        token = pairs[i]
        row[token >> 5] |= 1 << (token & 31)


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


@njit
def classify(
    byte: Any, end: Any, by_first: Any, by_second: Any, utf8: Any, scratch: Any, result: Any, height: Any
) -> None:
    """Fill `result` (int64: bits of the classes below each trie node) and `height` (int32: bytes to the deepest one).

    What is below a node is read as text that begins between two characters. `utf8` (int32, states x 256) is the
    automaton of well-formed text, 0 dead and 1 between characters; `scratch` is int64, zeroed, nodes x states.
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
                if to == 0:
                    scratch[i, s] |= 1 << NO_CLASS
                    continue
                if s == 1:
                    scratch[i, s] |= 1 << by_first[b]
                elif by_second[byte[i], b] >= 0:  # then `i` is the first byte, whatever came before it
                    scratch[i, s] |= 1 << by_second[byte[i], b]
                scratch[i, s] |= scratch[child, to]
            child = end[child]
        height[i] = top
        result[i] = scratch[i, 1]
