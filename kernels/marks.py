"""What all mask walks share: setting bits of a row, the walk's stack, and what is put off until Python has helped.

A walk that misses a piece of the automaton notes what it misses, puts the subtree off and goes on. When Python has
supplied the pieces, only the subtrees put off are walked, into the same row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import call
from .call import step
from .intern import F_STATE, FRAME_WIDTH
from .jit import njit
from .layout import (
    ATOM,
    FST_WIDTH,
    FULL,
    KEY,
    LITERAL,
    LOW_20,
    MISS,
    OK,
    RAW,
    S_NAMES,
    STRING,
    X_BACKSLASH,
    X_HEX,
    X_LOW,
)
from .memory import (
    FRAMES,
    FST,
    FULL_TABLE,
    LENGTHS,
    LONGEST,
    MAX_MISSES,
    MISS_A,
    MISS_B,
    MISS_KIND,
    MISSES,
    N_MISSES,
    N_POSTPONED,
    OUT,
    PLAIN_ROW,
    POSTPONED,
    ROW_WORDS,
    ROWS,
    T_KID_BYTE,
    T_KID_NODE,
    T_KIDS,
    T_NODE,
    T_TID,
    TABLE_ROWS,
    WALK,
    WIRE,
    X_NODE,
    X_TID,
    node_byte,
    node_depth,
    node_end,
    node_first,
    node_stop,
    view,
    view8,
    view32,
)
from .names import name_bytes_at

ENTER, STEP_IN, STEP_IN_SPECIAL, KEY_IN, KEY_IN_SPECIAL = range(5)
"""Kinds of postponed walks: of what is below a node in the given state; of a node from the state before its byte; of a
node of the trie of special tokens; of a node inside a key, in the one and the other trie, see `key_walk.py`."""
TEXT_WITHIN, TEXT_BESIDE, KEY_WITHIN, KEY_BESIDE = range(5, 9)
"""More kinds: of a node inside a string or key with which the token begins, special tokens left out, where what comes
before the node consists of characters of the loop (see `WALK_LOOP`), or does not."""
POSTPONED_WIDTH = 8  # kind, node, the five numbers of a state, and one more of the kind's own
FEW = 24  # subtrees up to this size are walked: a shortcut would cost more than it saves


@njit
def set_bit(rows: Any, base: int, token: int) -> None:
    rows[base + (token >> 5)] |= 1 << (token & 31)


@njit
def clear_bit(rows: Any, base: int, token: int) -> None:
    rows[base + (token >> 5)] &= ~(1 << (token & 31))


@njit
def set_below(C: Any, node: int, base: int) -> None:
    """Mark all tokens below `node`."""
    nodes, tokens, rows = view32(C, T_NODE), view32(C, T_TID), view32(C, ROWS)
    for t in range(node_stop(nodes, node), node_first(nodes, node_end(nodes, node))):
        set_bit(rows, base, tokens[t])


@njit
def clear_below(C: Any, node: int, base: int) -> None:
    """Unmark the tokens at and below `node`."""
    nodes, tokens, rows = view32(C, T_NODE), view32(C, T_TID), view32(C, ROWS)
    for t in range(node_first(nodes, node), node_first(nodes, node_end(nodes, node))):
        clear_bit(rows, base, tokens[t])


@njit
def add_row(C: Any, row: int, base: int) -> None:
    """Mark all tokens of a row of TABLE_ROWS."""
    from_row, rows = view32(C, TABLE_ROWS), view32(C, ROWS)
    words = C[ROW_WORDS]
    at = row * words
    for i in range(words):
        rows[base + i] |= from_row[at + i]


@njit
def add_plain(C: Any, row: int, base: int) -> None:
    """Mark the tokens of a mask row that hold neither a quote nor a backslash."""
    plain, rows = view32(C, TABLE_ROWS), view32(C, ROWS)
    words = C[ROW_WORDS]
    at, of = row * words, C[PLAIN_ROW] * words
    for i in range(words):
        rows[base + i] |= rows[at + i] & plain[of + i]


@njit
def note_miss(C: Any) -> None:
    """Remember what the last step missed, once."""
    count = C[N_MISSES]
    for i in range(count):
        at = MISSES + 3 * i
        if C[at] == C[MISS_KIND] and C[at + 1] == C[MISS_A] and C[at + 2] == C[MISS_B]:
            return
    if count < MAX_MISSES:
        at = MISSES + 3 * count
        C[at] = C[MISS_KIND]
        C[at + 1] = C[MISS_A]
        C[at + 2] = C[MISS_B]
        C[N_MISSES] = count + 1


@njit
def postpone(C: Any, kind: int, node: int, stack: int, mode: int, q: int, x: int, n: int) -> int:
    """Note what was missed and put the walk of a subtree off; MISS, or FULL where there is no room."""
    return postpone_with(C, kind, node, stack, mode, q, x, n, 0)


@njit
def postpone_with(C: Any, kind: int, node: int, stack: int, mode: int, q: int, x: int, n: int, more: int) -> int:
    """As `postpone`, with the number that the kind adds to a state's five."""
    note_miss(C)
    count = C[N_POSTPONED]
    at = count * POSTPONED_WIDTH
    if at + POSTPONED_WIDTH > C[LENGTHS + POSTPONED]:
        C[FULL_TABLE] = POSTPONED
        return FULL
    entry = view(C, POSTPONED)
    entry[at] = kind
    entry[at + 1] = node
    entry[at + 2] = stack
    entry[at + 3] = mode
    entry[at + 4] = q
    entry[at + 5] = x
    entry[at + 6] = n
    entry[at + 7] = more
    C[N_POSTPONED] = count + 1
    return MISS


@njit
def put(walk: Any, at: int, stack: int, mode: int, q: int, x: int, n: int) -> None:
    """Write a state to the walk's stack."""
    walk[at] = stack
    walk[at + 1] = mode
    walk[at + 2] = q
    walk[at + 3] = x
    walk[at + 4] = n


@njit
def push(C: Any, walk: Any, at: int) -> None:
    """Write the state in the result registers to the walk's stack."""
    for k in range(5):
        walk[at + k] = C[OUT + k]


def walk_size(longest: int) -> int:
    """Numbers that walks keep, for a vocabulary with tokens of up to `longest` bytes: see `WALK`.

    A stack of states by depth, as much again for what follows a token's quote, and by depth which children are left.
    """
    return 5 * (2 * longest + 8) + 2 * (longest + 2)


_OUTSIDE = np.zeros(256, dtype=np.bool_)  # bytes that can come outside strings
_OUTSIDE[list(b' \t\n\r"{}[]:,-+.eE0123456789truefalsn')] = True
_ESCAPED = np.zeros(256, dtype=np.bool_)  # bytes that can come after a backslash
_ESCAPED[list(b'"\\/bfnrtu')] = True
_HEXADECIMAL = np.zeros(256, dtype=np.bool_)
_HEXADECIMAL[list(b"0123456789abcdefABCDEF")] = True


@njit
def is_hopeless(C: Any, walk: Any, at: int, byte: int) -> bool:
    """Whether a byte evidently cannot follow a state on the walk's stack. Much cheaper than a step."""
    mode = walk[at + 1]
    if mode == STRING or mode == RAW:
        return False
    if mode != KEY and mode != LITERAL:
        return not _OUTSIDE[byte] and (C[WIRE] == 0 or (mode != ATOM and C[WIRE] < 2))
    if byte == 0x22 or byte == 0x5C or walk[at + 3] != 0:
        return False
    q, first = walk[at + 2], walk[at + 4]
    if mode == KEY:
        if first >> 60:  # a free name
            return False
        first = view(C, FST)[view(C, FRAMES)[walk[at] * FRAME_WIDTH + F_STATE] * FST_WIDTH + S_NAMES]
    # Names are sorted, so their next bytes lie between those of the first and the last one.
    low, high, depth = q & LOW_20, (q >> 20) & LOW_20, q >> 40
    return low >= high or byte < name_bytes_at(C, first, low, depth) or byte > name_bytes_at(C, first, high - 1, depth)


@njit
def _admitted(C: Any, walk: Any, at: int) -> int:
    """Which bytes can follow a state on the walk's stack, so far as is evident: see `_is_admitted`."""
    mode = walk[at + 1]
    if mode == RAW:
        return 0
    if mode != KEY and mode != LITERAL and mode != STRING:
        return 1 if C[WIRE] == 0 or (mode != ATOM and C[WIRE] < 2) else 0
    q, first = walk[at + 2], walk[at + 4]
    escape = walk[at + 3] & 15
    if C[WIRE] == 0 and (escape == X_BACKSLASH or escape == X_HEX or escape == X_LOW):
        return 3 if escape == X_BACKSLASH else 4
    if mode == STRING or walk[at + 3] != 0 or (mode == KEY and first >> 60):  # within an escape, or a free name
        return 0
    if mode == KEY:
        first = view(C, FST)[view(C, FRAMES)[walk[at] * FRAME_WIDTH + F_STATE] * FST_WIDTH + S_NAMES]
    low, high, depth = q & LOW_20, (q >> 20) & LOW_20, q >> 40
    if low >= high:
        return 2 | 1 << 8
    # Names are sorted, so their next bytes lie between those of the first and the last one.
    return 2 | max(name_bytes_at(C, first, low, depth), 0) << 8 | max(name_bytes_at(C, first, high - 1, depth), 0) << 16


@njit
def _is_admitted(admitted: int, byte: int) -> bool:
    """Whether `_admitted` lets a byte pass: 0 all, 1 those that occur outside strings, 2 a range and what ends names
    or begins an escape, 3 what comes after a backslash, 4 hexadecimal digits.
    """
    kind = admitted & 0xFF
    if kind == 2:
        return admitted >> 8 & 0xFF <= byte <= admitted >> 16 or byte == 0x22 or byte == 0x5C
    if kind >= 3:
        return _ESCAPED[byte] if kind == 3 else _HEXADECIMAL[byte]
    return kind == 0 or _OUTSIDE[byte]


@njit
def walk_children(C: Any, node: int, base: int, shortcuts: bool) -> int:
    """Mark the tokens below `node`, whose state is on the walk's stack; OK (some may be postponed) or FULL.

    One step a node; with `shortcuts` the quickest way there is for what lies inside a string or key, or outside JSON.
    """
    walk, rows = view(C, WALK), view32(C, ROWS)
    nodes, tokens = view32(C, T_NODE), view32(C, T_TID)
    kids, kid_byte, kid_node = view32(C, T_KIDS), view8(C, T_KID_BYTE), view32(C, T_KID_NODE)
    left = 5 * (2 * C[LONGEST] + 8)
    top = node_depth(nodes, node)
    depth = top
    at = 5 * depth
    admitted = _admitted(C, walk, at)
    k, stop = kids[node], kids[node + 1]
    while True:
        while k < stop and not _is_admitted(admitted, kid_byte[k]):
            k += 1
        if k == stop:
            if depth == top:
                return OK
            depth -= 1
            at = 5 * depth
            k, stop = walk[left + 2 * depth], walk[left + 2 * depth + 1]
            admitted = _admitted(C, walk, at)
            continue
        i = kid_node[k]
        code = step(C, walk[at], walk[at + 1], walk[at + 2], walk[at + 3], walk[at + 4], kid_byte[k])
        k += 1
        if code == MISS:
            code = postpone(C, STEP_IN, i, walk[at], walk[at + 1], walk[at + 2], walk[at + 3], walk[at + 4])
        elif code == OK:
            to = at + 5
            push(C, walk, to)
            for t in range(node_first(nodes, i), node_stop(nodes, i)):
                set_bit(rows, base, tokens[t])
            size = node_end(nodes, i) - i
            mode = walk[to + 1]
            if shortcuts and size > FEW and (mode == STRING or mode == KEY or mode == RAW):
                code = call.enter_text(C, i, base, walk[to], mode, walk[to + 2], walk[to + 3], walk[to + 4])
                if code == OK:
                    continue
            if size > 1 and code != FULL:
                walk[left + 2 * depth], walk[left + 2 * depth + 1] = k, stop
                depth += 1
                at = to
                k, stop = kids[i], kids[i + 1]
                admitted = _admitted(C, walk, at)
        if code == FULL:
            return FULL


@njit
def walk_special(C: Any, node: int, base: int) -> int:
    """As `walk_children` without shortcuts, below a node of the trie of special tokens."""
    walk, rows = view(C, WALK), view32(C, ROWS)
    nodes, tokens = view32(C, X_NODE), view32(C, X_TID)
    stop = node_end(nodes, node)
    i = node + 1
    while i < stop:
        at = (node_depth(nodes, i) - 1) * 5
        if is_hopeless(C, walk, at, node_byte(nodes, i)):
            i = node_end(nodes, i)
            continue
        code = step(C, walk[at], walk[at + 1], walk[at + 2], walk[at + 3], walk[at + 4], node_byte(nodes, i))
        if code == OK:
            push(C, walk, at + 5)
            for t in range(node_first(nodes, i), node_stop(nodes, i)):
                set_bit(rows, base, tokens[t])
            i += 1
            continue
        if code == MISS:
            code = postpone(C, STEP_IN_SPECIAL, i, walk[at], walk[at + 1], walk[at + 2], walk[at + 3], walk[at + 4])
        if code == FULL:
            return FULL
        i = node_end(nodes, i)
    return OK
