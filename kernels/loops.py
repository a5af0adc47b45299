"""Loops: the classes of characters that can follow an automaton state in any number and order.

Where a token consists of such characters only, no walk is needed to know that it may come; see `classes.py`.
They are found by closure: all states that the characters under consideration lead to are looked at, and a class that
some of them does not wholly admit is given up. Beside the loop stand the classes of which no character can follow any
of those states, so a part of the trie that holds nothing but classes of the two kinds is settled, too.

Six fields of a state hold the result: Q_LOOP and Q_DEAD, bits by class; Q_FAR, up to how many code points from the
state on this holds; Q_ENDED, the classes of which no character can follow so many, where that is known; Q_LIMIT, how
many code points the text may have had in all when such characters are the last (with the flag EXACT: that many, and no
more); Q_LOOP_ROW, the row of the tokens that the loop admits, which Python supplies.
For free names, which depend on what their object admits, the result is a record of KEY_LOOPS.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .classes import FIRST_BYTES, NO_CLASS, SECOND_BYTES
from .intern import M_REACH, M_ROW
from .jit import njit
from .layout import (
    ALT_WIDTH,
    COUNTED,
    E_LENGTHS,
    E_MAX,
    E_MIN,
    ENTRY_WIDTH,
    EXACT,
    FST_WIDTH,
    MISS,
    OK,
    Q_DEAD,
    Q_ENDED,
    Q_ENTRIES,
    Q_ENTRY,
    Q_FAR,
    Q_FLAGS,
    Q_LIMIT,
    Q_LOOP,
    Q_PAD,
    S_ALT,
    S_ALTS,
    SIMPLE,
    STATE_WIDTH,
)
from .memory import (
    DFA,
    ENTRY,
    FREE_TEXT_STATE,
    FST,
    LENSET,
    LOOP_ALIVE,
    LOOP_ALLOWED,
    LOOP_CLASS,
    LOOP_DEAD,
    LOOP_DEPTH,
    LOOP_DONE,
    LOOP_EDGE,
    LOOP_ENDED,
    LOOP_FAR,
    LOOP_FIRST,
    LOOP_MOST,
    LOOP_NEVER,
    LOOP_OWN,
    LOOP_SET,
    LOOP_STATE,
    LOOP_STRICT,
    MAX_REACHED,
    N_REACHED,
    REACHED,
    REACHED_BY,
    STATE,
    context,
    view,
    view32,
)
from .transitions import lookup, miss

UNLIMITED = 1 << 60
WIDE = 8  # with fewer ASCII characters to follow, a walk is narrow anyway
EVERY_CLASS = (1 << NO_CLASS) - 1
# How much of a vocabulary a class is in, roughly: digits, letters (a-f, g-z, A-F, G-Z), ASCII, other characters.
_WEIGHTS = np.array([2, 8, 8, 4, 4] + [1] * 26 + [2] * (NO_CLASS - 31), dtype=np.int64)
SHORT = 4  # tokens up to so many code points are too few to be worth a loop of their own
FAR = 16  # few tokens have more
# The classes by first byte, then those by second byte: where their bytes begin, the bytes, and the first bytes before.
_STARTS = np.cumsum([0, *(len(g) for g in FIRST_BYTES), *(len(g) for _, g in SECOND_BYTES)]).astype(np.int64)
_BYTES = np.frombuffer(b"".join([*FIRST_BYTES, *(g for _, g in SECOND_BYTES)]), dtype=np.uint8).astype(np.int64)
_LEADS = np.array([0] * len(FIRST_BYTES) + [lead for lead, _ in SECOND_BYTES], dtype=np.int64)
_SPLIT = np.array([g[0] in {lead for lead, _ in SECOND_BYTES} for g in FIRST_BYTES] + [False] * len(SECOND_BYTES))
_SOME_DEAD, _SOME_ALIVE = 1, 2


@njit
def _meet(C: Any, to: int, fst: int) -> int:
    """What a state that a character leads to says of it, or MISS; a live one is added to those reached."""
    if to == 0:
        return _SOME_DEAD
    if fst > 0:
        sets = view(C, FST)
        first = sets[fst * FST_WIDTH + S_ALT] // ALT_WIDTH
        best = 0
        for i in range(sets[fst * FST_WIDTH + S_ALTS]):
            reach = lookup(C, M_REACH, first + i, to)
            if reach < 0:
                return MISS
            if reach == 1:
                best = 1
            elif reach == 2 and best == 0:
                best = 2
        if best == 0:
            return _SOME_DEAD
        if best == 2:  # a few names, which may be in use
            return _SOME_DEAD | _SOME_ALIVE
    count = C[N_REACHED]
    for i in range(count):
        if C[REACHED + i] == to:
            C[REACHED_BY + i] |= 1 << C[LOOP_CLASS]
            if i < C[LOOP_EDGE] and (C[LOOP_ALLOWED] >> C[LOOP_CLASS]) & 1:
                C[LOOP_STRICT] = 0
            return _SOME_ALIVE
    if count < 2 * MAX_REACHED:
        C[REACHED + count], C[REACHED_BY + count] = to, 1 << C[LOOP_CLASS]
    C[N_REACHED] = min(count + 1, 2 * MAX_REACHED)
    return _SOME_ALIVE


@njit
def _row(C: Any, state: int) -> int:
    """OK where the row of a state is built, else MISS."""
    return miss(C, M_ROW, state, 0) if view32(C, DFA)[state * 256] < 0 else OK


@njit
def _inside(C: Any, inner: int, free: int, fst: int) -> int:
    """As `_meet`, for all ways to end a character from inside it; `free` is where free text would stand."""
    dfa = view32(C, DFA)
    ends = C[FREE_TEXT_STATE]
    if _row(C, inner) != OK:
        return MISS
    found = 0
    last1, free1 = -1, -1
    for b1 in range(0x80, 0xC0):
        at1, text1 = dfa[inner * 256 + b1], dfa[free * 256 + b1]
        if text1 == 0 or (at1 == last1 and text1 == free1):
            continue
        last1, free1 = at1, text1
        if at1 == 0 or text1 == ends:
            code = _meet(C, at1, fst)
            if code < 0:
                return MISS
            found |= code
            continue
        if _row(C, at1) != OK:
            return MISS
        last2, free2 = -1, -1
        for b2 in range(0x80, 0xC0):
            at2, text2 = dfa[at1 * 256 + b2], dfa[text1 * 256 + b2]
            if text2 == 0 or (at2 == last2 and text2 == free2):
                continue
            last2, free2 = at2, text2
            if at2 == 0 or text2 == ends:
                code = _meet(C, at2, fst)
                if code < 0:
                    return MISS
                found |= code
                continue
            if _row(C, at2) != OK:
                return MISS
            last3 = -1
            for b3 in range(0x80, 0xC0):
                at3 = dfa[at2 * 256 + b3]
                if at3 == last3:
                    continue
                last3 = at3
                code = _meet(C, at3, fst)
                if code < 0:
                    return MISS
                found |= code
    return found


@njit
def _visit(C: Any, q: int, allowed: int, fst: int) -> int:
    """What is said of each class at a state: LOOP_ALIVE, wholly admitted; LOOP_DEAD, not at all; LOOP_OWN, admitted
    without a state that was not reached before. The states that `allowed` classes lead to are added. OK or MISS.
    """
    dfa = view32(C, DFA)
    free = C[FREE_TEXT_STATE]
    if _row(C, q) != OK:
        return MISS
    alive, dead, own = 0, 0, 0
    for c in range(NO_CLASS):
        before = C[N_REACHED]
        C[LOOP_CLASS] = c
        found = 0
        state, text = q, free
        if _LEADS[c] != 0:
            state, text = dfa[q * 256 + _LEADS[c]], dfa[free * 256 + _LEADS[c]]
            if state == 0:
                dead |= 1 << c
                continue
            if _row(C, state) != OK:
                return MISS
        last, last_text = -1, -1
        for i in range(_STARTS[c], _STARTS[c + 1]):
            to, then = dfa[state * 256 + _BYTES[i]], dfa[text * 256 + _BYTES[i]]
            if then == 0 or (to == last and then == last_text):
                continue
            last, last_text = to, then
            whole = _SPLIT[c] or to == 0 or then == free
            code = _meet(C, to, fst) if whole else _inside(C, to, then, fst)
            if code < 0:
                return MISS
            found |= code
        if _SPLIT[c]:  # of its first byte it only matters that it can come; what follows has classes of its own
            C[N_REACHED] = before
        if found == _SOME_ALIVE:
            alive |= 1 << c
            if C[N_REACHED] == before:
                own |= 1 << c
        elif found & _SOME_ALIVE == 0:
            dead |= 1 << c
        if found != _SOME_ALIVE or (allowed >> c) & 1 == 0:
            C[N_REACHED] = before
    C[LOOP_ALIVE] = alive
    C[LOOP_DEAD] = dead
    C[LOOP_OWN] = own
    return OK


@njit
def _weight(classes: int) -> int:
    found = 0
    for c in range(NO_CLASS):
        if classes >> c & 1:
            found += _WEIGHTS[c]
    return found


@njit
def _begin(C: Any, q: int, fst: int, allowed: int) -> None:
    """Begin to look for a loop among the classes `allowed`."""
    C[LOOP_STATE], C[LOOP_SET], C[LOOP_ALLOWED], C[LOOP_NEVER] = q, fst, allowed, EVERY_CLASS
    C[LOOP_DONE], C[LOOP_DEPTH], C[LOOP_FIRST], C[LOOP_EDGE], C[LOOP_STRICT] = 0, 0, 0, 1, 1
    C[REACHED], C[N_REACHED] = q, 1


@njit
def _close(C: Any, q: int, fst: int) -> int:
    """The loop of a state, and what can never follow: LOOP_ALIVE, LOOP_DEAD; the states met are in REACHED.

    States are looked at in the order of their distance in characters, and LOOP_FAR says up to how many characters the
    result holds: where too many states are met, or where most of the loop comes to its end, the first few steps are
    good for most tokens. Where it comes to its end as a whole, in one state that is that far and no nearer (as in a
    pattern for so many digits and a hyphen), LOOP_ENDED has the classes of which no character can follow there. OK or
    MISS; what was looked at before a miss is not looked at again when the same is asked next.
    """
    C[LOOP_ENDED] = 0
    if C[LOOP_STATE] != q or C[LOOP_SET] != fst:
        _begin(C, q, fst, EVERY_CLASS)
    while C[LOOP_DONE] < C[N_REACHED]:
        i = C[LOOP_DONE]
        if i == C[LOOP_EDGE]:
            C[LOOP_DEPTH] += 1
            C[LOOP_FIRST], C[LOOP_EDGE] = i, C[N_REACHED]
        depth, allowed, reached = C[LOOP_DEPTH], C[LOOP_ALLOWED], C[N_REACHED]
        far = -1
        if i >= C[LOOP_MOST] or depth >= FAR:
            far = depth
        elif _visit(C, C[REACHED + i], allowed, fst) != OK:
            C[N_REACHED] = reached
            return MISS
        else:
            lost = allowed & ~C[LOOP_ALIVE]
            strict = fst <= 0 and C[LOOP_STRICT] != 0 and i > 0 and i == C[LOOP_FIRST] and i + 1 == C[LOOP_EDGE]
            if strict and allowed & ~C[LOOP_DEAD] == 0:
                C[LOOP_ENDED] = C[LOOP_DEAD]
                far = depth
            elif lost != 0:
                leading = allowed & C[REACHED_BY + i]
                if i > 0 and _weight(leading) < _weight(lost):  # as that of % before two hex digits
                    lost = leading
                if depth < SHORT or 2 * _weight(lost) < _weight(allowed):
                    _begin(C, q, fst, allowed & ~lost)
                    continue
                far = depth
        if far >= 0:
            C[N_REACHED] = C[LOOP_EDGE]
            if C[LOOP_EDGE] >= 2 * MAX_REACHED:  # some of these were not noted
                far -= 1
                C[LOOP_ENDED] = 0
            C[LOOP_STATE] = -1
            if far >= SHORT or C[LOOP_ENDED] != 0:
                C[LOOP_ALIVE], C[LOOP_DEAD], C[LOOP_FAR] = allowed, C[LOOP_NEVER], far
                return OK
            return _keep(C, q, fst)
        C[LOOP_NEVER] &= C[LOOP_DEAD]
        C[LOOP_DONE] = i + 1
    C[LOOP_STATE] = -1
    C[LOOP_ALIVE], C[LOOP_DEAD], C[LOOP_FAR] = C[LOOP_ALLOWED], C[LOOP_NEVER], UNLIMITED
    return OK


@njit
def _keep(C: Any, q: int, fst: int) -> int:
    """As the loop, the classes that keep the state itself."""
    C[REACHED], C[N_REACHED] = q, 1
    if _visit(C, q, 0, fst) != OK:
        return MISS
    C[LOOP_ALIVE], C[LOOP_FAR] = C[LOOP_OWN], UNLIMITED
    return OK


@njit
def _periodic(C: Any, lengths: int) -> bool:
    """Whether a set of lengths has members without end."""
    table = view(C, LENSET)
    for i in range(table[lengths], table[lengths] + table[lengths + 1]):
        if (table[lengths + 2 + (i >> 5)] >> (i & 31)) & 1:
            return True
    return False


@njit
def _limit(C: Any, q: int) -> int:
    """So many code points a text may have had when it gets to a state: it can be completed then; -1 for none."""
    states, entries, table = view(C, STATE), view(C, ENTRY), view(C, LENSET)
    at = q * STATE_WIDTH
    if states[at + Q_FLAGS] & COUNTED == 0:
        return UNLIMITED
    entry = states[at + Q_ENTRY]
    best = -1
    for _ in range(states[at + Q_ENTRIES]):
        lengths, most = entries[entry + E_LENGTHS], entries[entry + E_MAX]
        if lengths < 0:
            best = max(best, most)
        elif most - entries[entry + E_MIN] >= table[lengths + 1] - 1 and _periodic(C, lengths):
            best = max(best, most - table[lengths] - table[lengths + 1] + 1)
        entry += ENTRY_WIDTH
    return best


@njit
def find_loop(address: int, q: int) -> int:
    """Store the loop of a string state; OK or MISS."""
    C = context(address)
    states, dfa = view(C, STATE), view32(C, DFA)
    at = q * STATE_WIDTH
    flags = states[at + Q_FLAGS]
    if states[at + Q_PAD] >= 0:  # whatever comes, so many further characters complete it
        states[at + Q_LOOP] = EVERY_CLASS
        states[at + Q_LIMIT] = states[at + Q_FAR] = UNLIMITED
        if flags & COUNTED:
            entry = states[at + Q_ENTRY]
            most = -1
            for _ in range(states[at + Q_ENTRIES]):
                most = max(most, view(C, ENTRY)[entry + E_MAX])
                entry += ENTRY_WIDTH
            states[at + Q_LIMIT] = most - states[at + Q_PAD]
        if flags & COUNTED == 0 or (flags & SIMPLE and states[at + Q_PAD] == 0):
            states[at + Q_FLAGS] |= EXACT
        return OK
    if _row(C, q) != OK:
        return MISS
    wide = 0
    for b in range(0x20, 0x7F):
        if dfa[q * 256 + b] != 0:
            wide += 1
    if wide < WIDE:
        states[at + Q_LOOP] = 0
        return OK
    if _close(C, q, 0) != OK:
        return MISS
    limit, exact = _limit(C, q), True
    for i in range(C[N_REACHED]):
        other = _limit(C, C[REACHED + i])
        one = states[C[REACHED + i] * STATE_WIDTH + Q_FLAGS]
        exact = exact and other == limit and (one & COUNTED == 0 or one & SIMPLE != 0)
        limit = min(limit, other)
    states[at + Q_LOOP] = C[LOOP_ALIVE]
    states[at + Q_DEAD] = C[LOOP_DEAD]
    states[at + Q_FAR] = C[LOOP_FAR]
    states[at + Q_ENDED] = C[LOOP_ENDED]
    states[at + Q_LIMIT] = limit
    if exact:
        states[at + Q_FLAGS] |= EXACT
    return OK


@njit
def find_key_loop(address: int, fst: int, q: int) -> int:
    """The loop of a state of a free name's scanner, in LOOP_ALIVE, LOOP_DEAD and LOOP_FAR; OK or MISS."""
    return _close(context(address), q, fst)
