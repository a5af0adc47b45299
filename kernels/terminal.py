"""Terminal tables of a vocabulary: how the tokens below a trie node relate to free text.

One scan sorts them into those that stay inside the text, those that leave it through a closing quote, and the rest.
"""

from __future__ import annotations

from typing import Any

from .call import step
from .jit import njit
from .layout import BOUNDARY, OK, Q_FLAGS, STATE_WIDTH, STRING
from .memory import (
    OUT,
    STATE,
    T_NODE,
    T_TID,
    context,
    node_byte,
    node_depth,
    node_end,
    node_first,
    node_stop,
    view,
    view32,
)


@njit
def scan(address: int, node: int, q: int, x: int, content: Any, leaving: Any, scratch: Any) -> Any:
    """Sort the tokens below `node`, where the text is at automaton state `q` with escape `x`.

    Fills `content` (int32, rows of token and code points needed) and `leaving` (int32, rows of token, code points
    before the quote, bytes up to and with the quote, and whether an escape came before it); `scratch` is int64 with
    four columns and more rows than the longest token has bytes. Returns the two numbers of rows.
    """
    C = context(address)
    nodes, tokens = view32(C, T_NODE), view32(C, T_TID)
    states = view(C, STATE)
    inside = 0
    crossing = 0
    root = node_depth(nodes, node)
    scratch[root, 0], scratch[root, 1], scratch[root, 2], scratch[root, 3] = q, x, 0, 0
    i = node + 1
    stop = node_end(nodes, node)
    while i < stop:
        d = node_depth(nodes, i)
        at_q, at_x = scratch[d - 1, 0], scratch[d - 1, 1]
        points, escaped = scratch[d - 1, 2], scratch[d - 1, 3]
        b = node_byte(nodes, i)
        if b == 0x22 and at_x == 0:
            if states[at_q * STATE_WIDTH + Q_FLAGS] & BOUNDARY:
                for t in range(node_first(nodes, i), node_first(nodes, node_end(nodes, i))):
                    leaving[crossing, 0] = tokens[t]
                    leaving[crossing, 1] = points
                    leaving[crossing, 2] = d
                    leaving[crossing, 3] = escaped
                    crossing += 1
            i = node_end(nodes, i)
            continue
        if step(C, 0, STRING, at_q, at_x, 0, b) != OK:
            i = node_end(nodes, i)
            continue
        to_x = C[OUT + 3]
        if at_x != 0:
            if to_x == 0:
                points += 1
        elif to_x == 0 and b & 0xC0 != 0x80:
            points += 1
        scratch[d, 0], scratch[d, 1], scratch[d, 2] = C[OUT + 2], to_x, points
        scratch[d, 3] = 1 if to_x != 0 else escaped
        for t in range(node_first(nodes, i), node_stop(nodes, i)):
            content[inside, 0] = tokens[t]
            content[inside, 1] = points + (1 if to_x != 0 else 0)
            inside += 1
        i += 1
    return inside, crossing


@njit
def content_row(pairs: Any, limit: int, fewer: int, row_of_fewer: Any, more: int, row_of_more: Any, row: Any) -> None:
    """Mark in `row` (int32) the tokens of `pairs` (flat: token, code points; fewest first) within `limit`.

    It is made out of the nearer one of two rows: of the tokens within `fewer` code points, and of those within `more`,
    of which there is none where that is less than `limit`.
    """
    low, at, high = _within(pairs, fewer), _within(pairs, limit), _within(pairs, more)
    if high < at or at - low <= high - at:
        row[:] = row_of_fewer
        for i in range(low, at):
            token = pairs[2 * i]
            row[token >> 5] |= 1 << (token & 31)
    else:
        row[:] = row_of_more
        for i in range(at, high):
            token = pairs[2 * i]
            row[token >> 5] &= ~(1 << (token & 31))


@njit
def _within(pairs: Any, limit: int) -> int:
    """How many pairs, from the first on, have at most `limit` code points."""
    low, high = 0, pairs.size // 2
    while low < high:
        middle = (low + high) // 2
        if pairs[2 * middle + 1] <= limit:
            low = middle + 1
        else:
            high = middle
    return low
