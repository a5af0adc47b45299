"""The automaton's transition function: one state, one byte, the next state.

A state is five integers: the stack (a frame number), the mode, and three registers whose meaning the mode gives:

| mode | q | x | n |
|---|---|---|---|
| VALUE, ARRAY_FIRST, OBJECT_FIRST, OBJECT_NEXT, COLON, AFTER | - | whitespace read so far | - |
| KEY | range of declared names still possible, and depth | escape | name read, UTF-8 state, open flag |
| STRING | state of the string's automaton | escape | code points so far, where they are bounded |
| LITERAL (one of a set of strings) | range of members still possible, and depth | escape | number of the first member |
| ATOM (number, true, false, null) | state of the atom's automaton | - | characters so far |
| RAW (text outside JSON: a language at the top, or what stands around JSON values) | its state | - | word being read |
| END | - | - | - |

In STRING, KEY and LITERAL the bits of register x from MARK_SHIFT on say how much of a text that strings must not hold
has been read (see `marked`). In RAW a state may call for a JSON value; its frame, which has no parent, holds in F_COUNT
what to return to.

`step` writes the next state to the context's five result registers and returns 1, or returns 0 when no completion
exists, or a negative code: `MISS` when a piece of the automaton has not been built, `FULL` when a table is full. Python
then supplies the piece or the room, and the step is repeated; nothing is lost, since everything stored is hash-consed.
Every state that `step` reaches can be completed.
"""

from __future__ import annotations

from typing import Any

from .escapes import can_continue, escape_step, plain_escape_opens
from .intern import (
    F_COUNT,
    F_FREE,
    F_STATE,
    FRAME_WIDTH,
    M_CALL,
    M_COLLECTED,
    P_MODE,
    P_N,
    P_Q,
    P_STACK,
    P_X,
    POS_WIDTH,
)
from .jit import njit
from .layout import (
    AFTER,
    ARRAY_KIND,
    ATOM,
    BOUNDARY,
    CALL,
    COLLECT,
    COLLECTED,
    COLON,
    DEAD,
    DIFFER,
    END,
    FORBIDDEN,
    FST_WIDTH,
    FULL,
    KEY,
    L_FST,
    LITERAL,
    LOW_30,
    LOW_40,
    MARK_SHIFT,
    MISS,
    OBJECT_FIRST,
    OBJECT_NEXT,
    OK,
    Q_FLAGS,
    Q_OUTCOME,
    Q_SHORTEST,
    RAW,
    ROOT_KIND,
    S_KIND,
    SLOT_WIDTH,
    STATE_WIDTH,
    STRING,
    VALUE,
    X_BACKSLASH,
)
from .memory import DIGIT_LIMIT, FRAMES, FST, MARKS, OUT, PLAIN_ESCAPES, POS, SLOT, STATE, WIRE, view, view32
from .names import add_byte, key_end, key_start, name_byte
from .strings import string_byte, string_outcome
from .transitions import emit, free_add, free_contains, is_whitespace, lookup, needs_blank, successor, whitespace
from .values import after_value, close, complete, literal_end, open_item, open_value, with_words


@njit
def text_byte(C: Any, stack: int, mode: int, q: int, x: int, n: int, byte: int) -> int:
    """A byte inside a string or a key."""
    if x != 0:
        return escape_step(C, stack, mode, q, x, n, byte)
    if byte == 0x22:
        if mode == STRING:
            return complete(C, stack, string_outcome(C, q, n))
        return key_end(C, stack, q, n) if mode == KEY else literal_end(C, stack, q, n)
    if byte == 0x5C:
        if mode == STRING:
            inside = view(C, STATE)[q * STATE_WIDTH + Q_FLAGS] & BOUNDARY == 0
        else:
            inside = (
                mode == KEY and n >> 60 and view(C, STATE)[((n >> 24) & LOW_30) * STATE_WIDTH + Q_FLAGS] & BOUNDARY == 0
            )
        if inside:
            return DEAD
        if C[PLAIN_ESCAPES]:
            code = plain_escape_opens(C, stack, mode, q, n)
        else:
            code = can_continue(C, stack, mode, q, n, 0, 0, -1)
        return emit(C, stack, mode, q, X_BACKSLASH, n) if code == 1 else code
    if byte < 0x20:
        return DEAD
    return string_byte(C, stack, q, n, byte) if mode == STRING else name_byte(C, stack, mode, q, n, byte)


@njit
def marked_byte(C: Any, stack: int, mode: int, q: int, x: int, n: int, byte: int) -> int:
    """As `text_byte`, where some texts must not be held as they are; each of their characters can be escaped."""
    mark = view32(C, MARKS)[(x >> MARK_SHIFT) * 256 + byte]
    if mark == FORBIDDEN:
        return DEAD
    code = text_byte(C, stack, mode, q, x & LOW_40, n, byte)
    if code == OK and mark != 0 and (C[OUT + 1] == STRING or C[OUT + 1] == KEY or C[OUT + 1] == LITERAL):
        C[OUT + 3] |= mark << MARK_SHIFT
    return code


@njit
def raw_byte(C: Any, stack: int, q: int, n: int, byte: int) -> int:
    """A byte of text outside JSON. The frame holds the words that must differ, as an object's does its free names."""
    to = successor(C, q, byte)
    if to <= 0:
        return to
    flags = view(C, STATE)[to * STATE_WIDTH + Q_FLAGS]
    if flags & (CALL | COLLECT | COLLECTED) == 0:
        return emit(C, stack, RAW, to, 0, 0)
    frames = view(C, FRAMES)
    words = frames[stack * FRAME_WIDTH + F_FREE]
    if flags & COLLECT:
        word = add_byte(C, n, byte)
        if word < 0:
            return FULL
        if flags & DIFFER == 0:
            return emit(C, stack, RAW, to, 0, word)
        if free_contains(C, words, word):
            return DEAD
        words = free_add(C, words, word)
        if words < 0:
            return FULL
        stack = with_words(C, stack, words)
        return emit(C, stack, RAW, to, 0, 0) if stack >= 0 else FULL
    if flags & COLLECTED:
        position = lookup(C, M_COLLECTED, to, n) - 1
        if position < 0:
            return DEAD if position == -1 else MISS
    else:
        position = lookup(C, M_CALL, to, 0)
        if position < 0:
            return position
    records = view(C, POS)
    at = position * POS_WIDTH
    frame = records[at + P_STACK]
    if words != 0:
        frame = with_words(C, frame, words)
        if frame < 0:
            return FULL
    return emit(C, frame, records[at + P_MODE], records[at + P_Q], records[at + P_X], records[at + P_N])


@njit
def step(C: Any, stack: int, mode: int, q: int, x: int, n: int, byte: int) -> int:
    """The transition; see the module's text for states and codes."""
    if mode == STRING or mode == KEY or mode == LITERAL:
        if C[WIRE] == 0:
            return text_byte(C, stack, mode, q, x, n, byte)
        return marked_byte(C, stack, mode, q, x, n, byte)
    if mode == ATOM:
        to = successor(C, q, byte)
        if to < 0:
            return to
        states = view(C, STATE)
        if to > 0:
            if n < C[DIGIT_LIMIT] or states[to * STATE_WIDTH + Q_SHORTEST] < states[q * STATE_WIDTH + Q_SHORTEST]:
                return emit(C, stack, ATOM, to, 0, n + 1)
            return DEAD
        code = complete(C, stack, states[q * STATE_WIDTH + Q_OUTCOME])
        if code != OK or C[OUT + 1] == END:
            return min(code, DEAD)
        stack = C[OUT]
        mode = C[OUT + 1]
        q = C[OUT + 2]
        x = 0
        n = 0
    if mode == END:
        return DEAD
    if mode == RAW:
        return raw_byte(C, stack, q, n, byte)
    if is_whitespace(byte):
        to = whitespace(C, stack, mode, x, byte)
        return emit(C, stack, mode, q, to, n) if to >= 0 else DEAD
    if needs_blank(C, mode, x):
        return DEAD
    if mode == AFTER:
        return after_value(C, stack, byte)
    if mode == VALUE:
        return open_value(C, stack, byte)
    if mode == COLON:
        return emit(C, stack, VALUE, 0, 0, 0) if byte == 0x3A else DEAD
    if mode == OBJECT_FIRST:
        if byte == 0x22:
            return key_start(C, stack)
        return after_value(C, stack, byte) if byte != 0x2C else DEAD
    if mode == OBJECT_NEXT:
        return key_start(C, stack) if byte == 0x22 else DEAD
    if byte == 0x5D:
        return close(C, stack, ARRAY_KIND)
    code = open_item(C, stack, 0)
    if code != OK:
        return code
    return open_value(C, C[OUT], byte)


@njit
def may_end(C: Any, mode: int, q: int, stack: int) -> bool:
    """Whether the document is complete here."""
    if mode == END:
        return True
    if mode == RAW:
        return view(C, STATE)[q * STATE_WIDTH + Q_OUTCOME] > 0
    if mode == ATOM and view(C, STATE)[q * STATE_WIDTH + Q_OUTCOME] > 0:
        slot = view(C, FRAMES)[stack * FRAME_WIDTH + F_STATE]
        fst = view(C, SLOT)[slot * SLOT_WIDTH + L_FST]
        tag = view(C, FRAMES)[stack * FRAME_WIDTH + F_COUNT]
        return view(C, FST)[fst * FST_WIDTH + S_KIND] == ROOT_KIND and tag == 0
    return False
