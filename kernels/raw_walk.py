"""Mask walks in text outside JSON: straight through the table of its automaton, a few nanoseconds a node.

Where a format leaves text free, a whole vocabulary has to be told apart, and almost every token of it is read by the
table alone. Where a node leads elsewhere, into a JSON value or a word that is kept, the general walk takes over.
"""

from __future__ import annotations

from typing import Any

from . import call
from .intern import M_ROW
from .jit import njit
from .layout import CALL, COLLECT, COLLECTED, FULL, MISS, OK, Q_FLAGS, RAW, STATE_WIDTH
from .marks import STEP_IN, postpone, set_bit
from .memory import (
    DFA,
    OUT,
    ROOT_WIDTH,
    ROWS,
    STATE,
    T_NODE,
    T_ROOT,
    T_TID,
    WALK,
    node_byte,
    node_depth,
    node_end,
    node_first,
    node_stop,
    view,
    view32,
)
from .transitions import miss

_ELSEWHERE = CALL | COLLECT | COLLECTED


@njit
def _walk(C: Any, start: int, stop: int, base: int, stack: int) -> int:
    """Mark the tokens at the nodes `start` .. `stop` - 1, the state of their parent being on the walk's stack."""
    walk, rows, states, dfa = view(C, WALK), view32(C, ROWS), view(C, STATE), view32(C, DFA)
    nodes, tokens = view32(C, T_NODE), view32(C, T_TID)
    i = start
    while i < stop:
        byte = node_byte(nodes, i)
        at = node_depth(nodes, i) * 5
        q = walk[at - 3]
        to = dfa[q * 256 + byte]
        if to > 0 and states[to * STATE_WIDTH + Q_FLAGS] & _ELSEWHERE == 0:
            for t in range(node_first(nodes, i), node_stop(nodes, i)):
                set_bit(rows, base, tokens[t])
            walk[at + 2] = to
            i += 1
            continue
        if to < 0:
            miss(C, M_ROW, q, 0)
            if postpone(C, STEP_IN, i, stack, RAW, q, 0, 0) == FULL:
                return FULL
        elif to > 0:
            code = call.step(C, stack, RAW, q, 0, 0, byte)
            if code == OK:
                for t in range(node_first(nodes, i), node_stop(nodes, i)):
                    set_bit(rows, base, tokens[t])
                code = call.walk_below(C, i, base, C[OUT], C[OUT + 1], C[OUT + 2], C[OUT + 3], C[OUT + 4])
            elif code == MISS:
                code = postpone(C, STEP_IN, i, stack, RAW, q, 0, 0)
            if code == FULL:
                return FULL
        i = node_end(nodes, i)
    return OK


@njit
def raw_walk(C: Any, node: int, base: int, stack: int, q: int) -> int:
    """Mark the tokens below `node` that text outside JSON at state `q`, in no word, can take; OK or FULL."""
    nodes, dfa = view32(C, T_NODE), view32(C, DFA)
    view(C, WALK)[node_depth(nodes, node) * 5 + 2] = q
    if node != 0:
        return _walk(C, node + 1, node_end(nodes, node), base, stack)
    root = view(C, T_ROOT)
    for byte in range(256):
        i = root[byte * ROOT_WIDTH]
        if i > 0 and dfa[q * 256 + byte] != 0 and _walk(C, i, node_end(nodes, i), base, stack) == FULL:
            return FULL
    return OK
