"""Where each token leads: the tokens of a mask, grouped by the state after them.

The trie is walked with the automaton, one step a node, and the states at its tokens are told apart by a small hash
table. Wide masks have many tokens and few states: everything that stays inside a string leads back to it. Only the text
of a new member's name makes as many states as tokens, so there the walk goes on with one stand-in for all names.
"""

from __future__ import annotations

from typing import Any

from .call import step
from .intern import POS_WIDTH, mix
from .jit import njit
from .layout import FULL, KEY, MISS, OK
from .marks import is_hopeless, note_miss, push
from .memory import (
    N_MISSES,
    OUT,
    POS,
    T_NODE,
    T_TID,
    WALK,
    context,
    node_byte,
    node_depth,
    node_end,
    node_first,
    node_stop,
    view,
    view32,
)
from .names import add_byte

TOO_MANY = -6
"""There are more groups than there is room for."""
GROUP_WIDTH = 6
"""Stack, mode, q, x and n of a state, and whether it has a stand-in for a name."""
NAME_BITS = (1 << 24) - 1


@njit
def _group(C: Any, groups: Any, table: Any, count: int, stands_in: int) -> int:
    """The number of the group of the state in the result registers; `count` for a new one, which is stored."""
    stack, mode, q, x, n = C[OUT], C[OUT + 1], C[OUT + 2], C[OUT + 3], C[OUT + 4]
    mask = table.size - 1
    h = mix(mix(mix(mix(mix(mix(17, stack), mode), q), x), n), stands_in) & mask
    while table[h] != 0:
        g = table[h] - 1
        if (
            groups[g, 0] == stack
            and groups[g, 1] == mode
            and groups[g, 2] == q
            and groups[g, 3] == x
            and groups[g, 4] == n
            and groups[g, 5] == stands_in
        ):
            return g
        h = (h + 1) & mask
    if count < groups.shape[0]:
        table[h] = count + 1
        groups[count, 0] = stack
        groups[count, 1] = mode
        groups[count, 2] = q
        groups[count, 3] = x
        groups[count, 4] = n
        groups[count, 5] = stands_in
    return count


@njit
def token_ends(address: int, position: int, group_of: Any, groups: Any, table: Any, stands_in: Any) -> int:
    """Group the tokens that may follow a position by where they lead.

    `group_of` (int32, by token, filled with -1) gets the number of a token's group, `groups` (int64, shape
    (most, GROUP_WIDTH)) the state. `table` (int32) holds zeros; its size is a power of two, twice `most` or more.
    `stands_in` (uint8) is scratch, as long as the longest token and one. Returns the number of groups, or MISS, FULL or
    TOO_MANY.
    """
    C = context(address)
    records, walk = view(C, POS), view(C, WALK)
    nodes, tokens = view32(C, T_NODE), view32(C, T_TID)
    name = add_byte(C, 0, 0)
    if name < 0:
        return FULL
    at = position * POS_WIDTH
    for k in range(5):
        walk[k] = records[at + k]
    stands_in[0] = 0
    C[N_MISSES] = 0
    count = 0
    missed = False
    i, stop = 1, node_end(nodes, 0)
    while i < stop:
        depth = node_depth(nodes, i)
        at = (depth - 1) * 5
        byte = node_byte(nodes, i)
        if is_hopeless(C, walk, at, byte):
            i = node_end(nodes, i)
            continue
        code = step(C, walk[at], walk[at + 1], walk[at + 2], walk[at + 3], walk[at + 4], byte)
        if code == OK:
            stands_in[depth] = stands_in[depth - 1]
            n = C[OUT + 4]
            if C[OUT + 1] == KEY and n & NAME_BITS and n >> 60:
                C[OUT + 4] = (n & ~NAME_BITS) | name
                stands_in[depth] = 1
            push(C, walk, at + 5)
            first, last = node_first(nodes, i), node_stop(nodes, i)
            if first < last:
                g = _group(C, groups, table, count, stands_in[depth])
                if g == count:
                    if count >= groups.shape[0]:
                        return TOO_MANY
                    count += 1
                for t in range(first, last):
                    group_of[tokens[t]] = g
            i += 1
            continue
        if code == MISS:
            note_miss(C)
            missed = True
        elif code == FULL:
            return FULL
        i = node_end(nodes, i)
    return MISS if missed else count
