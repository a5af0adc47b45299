"""Mask walks inside strings: straight through the table of the string's automaton, a few nanoseconds a node.

From a position inside a string the whole vocabulary has to be told apart. Most of it is settled without a walk: the
tokens that consist of characters of the state's loop are a ready row (see `loops.py`), which depends on the loop alone
and so is shared by all grammars. What is walked is where some other character occurs, and the small trie of the
*special* tokens, which end the string or hold an escape.
"""

from __future__ import annotations

from typing import Any

from .call import step
from .classes import CONTINUES, NO_CLASS
from .intern import M_LIMITED, M_LOOP, M_ROW
from .jit import njit
from .layout import (
    BOUNDARY,
    COUNTED,
    EXACT,
    FULL,
    MISS,
    OK,
    Q_DEAD,
    Q_ENDED,
    Q_FAR,
    Q_FLAGS,
    Q_LIMIT,
    Q_LOOP,
    Q_LOOP_ROW,
    Q_READY,
    STATE_WIDTH,
    STRING,
)
from .loops import SHORT, UNLIMITED
from .marks import (
    ENTER,
    STEP_IN,
    STEP_IN_SPECIAL,
    TEXT_BESIDE,
    TEXT_WITHIN,
    add_plain,
    add_row,
    postpone,
    push,
    set_below,
    set_bit,
    walk_children,
    walk_special,
)
from .memory import (
    DFA,
    LOOP_SIZES,
    ROOT_WIDTH,
    ROWS,
    STATE,
    T_CLASSES,
    T_HEIGHT,
    T_NODE,
    T_OWN,
    T_ROOT,
    T_TID,
    WALK,
    WALK_DEAD,
    WALK_ENDED,
    WALK_FAR,
    WALK_LOOP,
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
from .strings import string_outcome, string_viable
from .transitions import lookup, miss
from .values import complete

_FEW = 48  # subtrees up to this size are walked without looking for a shortcut
_MANY = 4000  # in subtrees from this size on it is worth finding a loop that is not known yet
_MANY_TOGETHER = 16_000  # or in several of one state, which its field for the loop counts: -1 less their sizes
_SOME = 200  # smaller ones are walked in any case
_UNCLASSED = 1 << NO_CLASS
NO_ROW = -2  # in place of the number of a row


@njit
def _content_walk(
    C: Any, start: int, stop: int, base: int, stack: int, loop: int, dead: int, far: int, ended: int, special: bool
) -> int:
    """Mark the tokens at the nodes `start` .. `stop` - 1 that a string can take, the state of their parent being on the
    walk's stack.

    `loop` holds the classes whose tokens are marked already, as far as they are no deeper than `far`, and `dead` those
    that cannot follow while only characters of the loop are read; `ended` those that cannot follow so many of them.
    Special tokens only where `special` is set. OK or FULL.
    """
    walk, rows, states, dfa = view(C, WALK), view32(C, ROWS), view(C, STATE), view32(C, DFA)
    nodes, tokens, own = view32(C, T_NODE), view32(C, T_TID), view8(C, T_OWN)
    classes, height = view(C, T_CLASSES), view32(C, T_HEIGHT)
    settled, ended = loop | dead | _UNCLASSED, ended | _UNCLASSED
    i = start
    while i < stop:
        b = node_byte(nodes, i)
        at = node_depth(nodes, i) * 5
        from_q, count = walk[at - 3], walk[at - 1]
        if b == 0x22 or b == 0x5C:
            if special:
                code = step(C, stack, STRING, from_q, 0, count, b)
                if code == OK:
                    push(C, walk, at)
                    for t in range(node_first(nodes, i), node_stop(nodes, i)):
                        set_bit(rows, base, tokens[t])
                    code = walk_children(C, i, base, False)
                elif code == MISS:
                    code = postpone(C, STEP_IN, i, stack, STRING, from_q, 0, count)
                if code == FULL:
                    return FULL
            i = node_end(nodes, i)
            continue
        within = walk[at - 5] != 0 and (own[i] == CONTINUES or (loop >> own[i]) & 1 != 0)
        if within and classes[i] & ~settled == 0:
            depth = node_depth(nodes, i)
            if depth + height[i] <= far or (classes[i] & ~ended == 0 and depth <= far):
                i = node_end(nodes, i)  # marked already, or it cannot follow
                continue
        to = dfa[from_q * 256 + b]
        if to <= 0 or b < 0x20:
            if to < 0:
                miss(C, M_ROW, from_q, 0)
                kind = STEP_IN if special else TEXT_WITHIN if walk[at - 5] != 0 else TEXT_BESIDE
                if postpone(C, kind, i, stack, STRING, from_q, 0, count) == FULL:
                    return FULL
            i = node_end(nodes, i)
            continue
        record = to * STATE_WIDTH
        flags = states[record + Q_FLAGS]
        if flags & COUNTED:
            if b & 0xC0 != 0x80:
                count += 1
            if (states[record + Q_LOOP] < 0 or count > states[record + Q_LIMIT]) and not string_viable(C, to, count, 0):
                i = node_end(nodes, i)
                continue
        else:
            count = 0
        for t in range(node_first(nodes, i), node_stop(nodes, i)):
            set_bit(rows, base, tokens[t])
        size = node_end(nodes, i) - i
        if size > _FEW:
            own_loop, asks = states[record + Q_LOOP], False
            if own_loop < 0 and flags & BOUNDARY and not within:
                walked = -1 - own_loop
                if size > _MANY:
                    walked = _MANY_TOGETHER + 1  # those that follow wait, too
                states[record + Q_LOOP] = -1 - walked - size
                asks = size > _SOME and walked > _MANY_TOGETHER
            if asks:
                miss(C, M_LOOP, to, 0)
                if special:
                    code = postpone(C, ENTER, i, stack, STRING, to, 0, count)
                else:
                    kind = TEXT_WITHIN if walk[at - 5] != 0 else TEXT_BESIDE
                    code = postpone(C, kind, i, stack, STRING, from_q, 0, walk[at - 1])
                if code == FULL:
                    return FULL
                i = node_end(nodes, i)
                continue
            if (
                own_loop >= 0
                and classes[i] & ~own_loop == 0
                and count + height[i] <= states[record + Q_LIMIT]
                and height[i] <= states[record + Q_FAR]
            ):
                set_below(C, i, base)
                i = node_end(nodes, i)
                continue
        walk[at] = 1 if within else 0
        walk[at + 2], walk[at + 4] = to, count
        i += 1
    return OK


@njit
def _content_below(
    C: Any, node: int, base: int, stack: int, q: int, n: int, loop: int, dead: int, far: int, ended: int, special: bool
) -> int:
    """As `_content_walk`, of what is below a node where the string is at state `q` with `n` code points."""
    walk, nodes = view(C, WALK), view32(C, T_NODE)
    at = node_depth(nodes, node) * 5
    walk[at], walk[at + 2], walk[at + 4] = 1 if loop != 0 else 0, q, n
    if node != 0:
        return _content_walk(C, node + 1, node_end(nodes, node), base, stack, loop, dead, far, ended, special)
    root, dfa, height, below = view(C, T_ROOT), view32(C, DFA), view32(C, T_HEIGHT), view(C, T_CLASSES)
    settled = loop | dead | _UNCLASSED
    for byte in range(256):
        i = root[byte * ROOT_WIDTH]
        if i == 0 or dfa[q * 256 + byte] == 0:
            continue
        if root[byte * ROOT_WIDTH + 1] & ~settled == 0 and loop != 0:
            if 1 + height[i] <= far or (below[i] & ~(ended | _UNCLASSED) == 0 and far >= 1):
                continue
        if _content_walk(C, i, node_end(nodes, i), base, stack, loop, dead, far, ended, special) == FULL:
            return FULL
    return OK


@njit
def resume_text(C: Any, kind: int, node: int, base: int, stack: int, q: int, n: int) -> int:
    """Walk a node that was postponed inside a string with which the token begins; `q` and `n` are those before it.

    OK (some may be postponed again) or FULL.
    """
    walk, nodes = view(C, WALK), view32(C, T_NODE)
    at = (node_depth(nodes, node) - 1) * 5
    walk[at], walk[at + 2], walk[at + 4] = 1 if kind == TEXT_WITHIN else 0, q, n
    stop = node_end(nodes, node)
    return _content_walk(C, node, stop, base, stack, C[WALK_LOOP], C[WALK_DEAD], C[WALK_FAR], C[WALK_ENDED], False)


@njit
def _special_walk(C: Any, base: int, stack: int, q: int, n: int) -> int:
    """Mark the special tokens that a string at state `q` with `n` code points can take; OK or FULL."""
    walk, rows, states, dfa = view(C, WALK), view32(C, ROWS), view(C, STATE), view32(C, DFA)
    nodes, tokens = view32(C, X_NODE), view32(C, X_TID)
    walk[2], walk[4] = q, n
    stop = node_end(nodes, 0)
    i = 1
    while i < stop:
        b = node_byte(nodes, i)
        at = node_depth(nodes, i) * 5
        from_q, count = walk[at - 3], walk[at - 1]
        if b == 0x22 or b == 0x5C:
            if b == 0x22:
                code = complete(C, stack, string_outcome(C, from_q, count))
            else:
                code = step(C, stack, STRING, from_q, 0, count, b)
            if code == OK:
                push(C, walk, at)
                for t in range(node_first(nodes, i), node_stop(nodes, i)):
                    set_bit(rows, base, tokens[t])
                code = walk_special(C, i, base)
            elif code == MISS:
                code = postpone(C, STEP_IN_SPECIAL, i, stack, STRING, from_q, 0, count)
            if code == FULL:
                return FULL
            i = node_end(nodes, i)
            continue
        to = dfa[from_q * 256 + b]
        if to <= 0 or b < 0x20:
            if to < 0:
                miss(C, M_ROW, from_q, 0)
                if postpone(C, STEP_IN_SPECIAL, i, stack, STRING, from_q, 0, count) == FULL:
                    return FULL
            i = node_end(nodes, i)
            continue
        if states[to * STATE_WIDTH + Q_FLAGS] & COUNTED:
            if b & 0xC0 != 0x80:
                count += 1
            if not string_viable(C, to, count, 0):
                i = node_end(nodes, i)
                continue
        else:
            count = 0
        walk[at + 2], walk[at + 4] = to, count
        i += 1
    return OK


@njit
def limited_row(C: Any, row: int, limit: int) -> int:
    """The row of the tokens of a loop's row that have at most so many code points: its number, MISS, or NO_ROW."""
    if row < 0 or limit >= view(C, LOOP_SIZES)[row]:
        return row
    found = lookup(C, M_LIMITED, row, max(limit, 0))
    return MISS if found < 0 else found - 1 if found > 0 else NO_ROW


@njit
def string_walk(C: Any, node: int, base: int, stack: int, q: int, n: int) -> int:
    """Mark the tokens below `node` that a string at state `q` with `n` code points can take; OK or FULL."""
    states = view(C, STATE)
    at = q * STATE_WIDTH
    if node != 0 or states[at + Q_FLAGS] & BOUNDARY == 0:
        return _content_below(C, node, base, stack, q, n, 0, 0, UNLIMITED, 0, True)
    ready = states[at + Q_READY]
    if ready != 0:
        if ready > 0:
            add_row(C, ready - 1, base)
        else:
            add_plain(C, -ready - 1, base)
        return _special_walk(C, base, stack, q, n)
    loop = states[at + Q_LOOP]
    if loop < 0 or (loop > 0 and states[at + Q_LOOP_ROW] == -1):
        miss(C, M_LOOP, q, 1)
        return postpone(C, ENTER, node, stack, STRING, q, 0, n)
    row, far, ended = NO_ROW, UNLIMITED, 0
    if loop > 0:
        row = states[at + Q_LOOP_ROW]
        left, reach = states[at + Q_LIMIT] - n, states[at + Q_FAR]
        room = min(left, reach)
        exact = states[at + Q_FLAGS] & EXACT != 0 and left <= reach
        if row >= 0 and room < view(C, LOOP_SIZES)[row]:
            if not exact:
                far = room
                if room == reach:
                    ended = states[at + Q_ENDED]
            row = limited_row(C, row, room) if exact or ended != 0 or room >= SHORT else NO_ROW
        if row == MISS:
            return postpone(C, ENTER, node, stack, STRING, q, 0, n)
    dead = 0
    if row >= 0:
        add_row(C, row, base)
        dead = states[at + Q_DEAD]
    else:
        loop = ended = 0
    C[WALK_LOOP], C[WALK_DEAD], C[WALK_FAR], C[WALK_ENDED] = loop, dead, far, ended
    if _content_below(C, node, base, stack, q, n, loop, dead, far, ended, False) == FULL:
        return FULL
    return _special_walk(C, base, stack, q, n)
