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

from .intern import (
    F_COUNT,
    F_DEPTH,
    F_FREE,
    F_PARENT,
    F_SEEN,
    F_STATE,
    FRAME_WIDTH,
    M_AFTER,
    M_CALL,
    M_CLASS,
    M_COLLECTED,
    M_DROP,
    M_FREE,
    M_FRESH,
    M_HEX,
    M_NAME,
    M_NEXT,
    M_OUT,
    M_REACH,
    M_RETURN,
    M_ROW,
    M_SEEN,
    M_SHAPE,
    M_SLOT,
    M_VIEW,
    P_MODE,
    P_N,
    P_Q,
    P_STACK,
    P_X,
    POS_WIDTH,
    intern_frame,
    memo_get,
    memo_key,
    memo_set,
)
from .jit import njit
from .memory import (
    ALT,
    ARGUMENT_DEPTH,
    DFA,
    DIGIT_LIMIT,
    ENTRY,
    FRAMES,
    FREE_TEXT_STATE,
    FST,
    FULL_TABLE,
    LENGTHS,
    LENSET,
    LITERALS,
    MARKS,
    MISS_A,
    MISS_B,
    MISS_KIND,
    N_FREE,
    N_NAMES,
    N_SEEN,
    NAME_BYTES,
    NAME_OFF,
    NAME_OUT,
    NAMES,
    OUT,
    PLAIN_ESCAPES,
    POS,
    SEEN,
    SLOT,
    STATE,
    VSET,
    WHITESPACE,
    WIRE,
    WORDS,
    view,
    view8,
    view32,
)

NO_BLANKS, BOUNDED_BLANKS, SPACED = range(3)  # WHITESPACE of the context
VALUE, ARRAY_FIRST, OBJECT_FIRST, OBJECT_NEXT, KEY, COLON, STRING, ATOM, AFTER, END, RAW, LITERAL = range(1, 13)
OK, DEAD, MISS, FULL = 1, 0, -1, -2

# Fields of a set of alternatives (FST).
S_KIND, S_ALT, S_ALTS, S_OUTCOME, S_NAMES, S_NAME_COUNT, S_WORDS, S_SATURATE, S_PREFIX, S_KEYS = range(10)
FST_WIDTH = 10
OBJECT_KIND, ARRAY_KIND, ROOT_KIND = 1, 2, 3
UNIQUE_KIND = 4  # an array of strings that differ: its items are read as an object's names are
# Fields of an alternative (ALT).
A_MIN, A_MAX, A_OPEN, A_ALLOWED, A_REQUIRED, A_REQUIRED_COUNT = range(6)
ALT_WIDTH = 6
CLOSED, OPEN_ALL, OPEN_SOME = range(3)  # A_OPEN: no free names, all, those of some classes
VIEWED = 3  # A_OPEN of an array that counts: what it may do is looked up
# Fields of a slot: the set of alternatives it belongs to, the set of variables its value is read for.
L_FST, L_VSET, L_NEXT = range(3)
SLOT_WIDTH = 3
# Fields of an automaton state (STATE).
#   Q_FREE: 1 + the state of free text that it stands for, or 0; Q_FREE_OUTCOME: the outcome of ending there
#   Q_LOOP, Q_DEAD, Q_LIMIT, Q_LOOP_ROW: see `loops.py`
#   Q_PAD: so many code points suffice to complete the text after any others; -1 where that is not known
#   Q_FAR: see `loops.py`
#   Q_KEY: what free names can go on from here, see `key_walk.py`
#   Q_READY: 1 + the row of the tokens that stay within the string, where it is kept from before; minus 1 + the mask
#     row of a position in the state, which has the same ones; 0 for none
Q_FLAGS, Q_OUTCOME, Q_ENTRY, Q_ENTRIES, Q_SHORTEST, Q_FREE, Q_FREE_OUTCOME = range(7)
Q_LOOP, Q_DEAD, Q_LIMIT, Q_LOOP_ROW, Q_PAD, Q_FAR, Q_KEY, Q_READY = range(7, 15)
STATE_WIDTH = 15
BOUNDARY, UNIVERSAL, COUNTED, HAS_NEXT, SIMPLE = 1, 2, 4, 8, 16
EXACT = 32  # up to Q_LIMIT code points, and no further, the characters of the loop can follow
CALL = 64  # a JSON value begins here
COLLECT, DIFFER, COLLECTED = 128, 256, 512  # the byte belongs to a word; ends one that must differ; follows a word
# Fields of an entry: one string alternative at one state.
E_ACCEPT, E_MIN, E_MAX, E_LENGTHS, E_OUTCOME = range(5)
ENTRY_WIDTH = 5
# Starts of a vset by type (VSET).
V_OBJECT, V_ARRAY, V_STRING, V_ATOM = range(4)
VSET_WIDTH = 4
LITERAL_BIT = 1 << 30  # a string's start that names a set of literals instead of an automaton state
LITERALS_WIDTH = 2  # fields of a set of literals: its first member, number of members

# Escapes, in register x: kind | high surrogate << 8 | digits << 20 | value << 24.
X_NONE, X_BACKSLASH, X_HEX, X_HIGH, X_HIGH_BACKSLASH, X_LOW = range(6)

MARK_SHIFT = 40
_40 = (1 << MARK_SHIFT) - 1
FORBIDDEN = -1  # in MARKS: the byte completes a text that strings must not hold

# Register q of a key: low | high << 20 | depth << 40. Register n: name | state of its scanner << 24 | open << 60.
_20 = (1 << 20) - 1
_24 = (1 << 24) - 1
_30 = (1 << 30) - 1
_32 = (1 << 32) - 1
FREE_BIT = 1 << 30  # marks a free name's outcome among the ways to open a member


@njit
def emit(C: Any, stack: int, mode: int, q: int, x: int, n: int) -> int:
    C[OUT] = stack
    C[OUT + 1] = mode
    C[OUT + 2] = q
    C[OUT + 3] = x
    C[OUT + 4] = n
    return OK


@njit
def miss(C: Any, kind: int, a: int, b: int) -> int:
    C[MISS_KIND] = kind
    C[MISS_A] = a
    C[MISS_B] = b
    return MISS


@njit
def lookup(C: Any, kind: int, a: int, b: int) -> int:
    """A memo entry that Python supplies: its value, or MISS."""
    value = memo_get(C, memo_key(kind, a, b))
    if value < 0:
        return miss(C, kind, a, b)
    return value


@njit
def successor(C: Any, q: int, byte: int) -> int:
    """The next state of a table automaton, 0 for dead, or MISS."""
    to = view32(C, DFA)[q * 256 + byte]
    if to < 0:
        return miss(C, M_ROW, q, 0)
    return to


# ---- whitespace ------------------------------------------------------------------------------------------------------


@njit
def whitespace(C: Any, stack: int, mode: int, x: int, byte: int) -> int:
    """Register x after one more byte of whitespace, or -1: nothing, one blank, or a line break and an indentation."""
    if C[WHITESPACE] != BOUNDED_BLANKS:
        return 1 if needs_blank(C, mode, x) and byte == 0x20 else -1
    if byte == 0x0A:
        return 3 if x <= 2 else -1
    if byte == 0x0D:
        return 2 if x <= 1 else -1
    if x == 0:
        return 1
    if x >= 3 and x - 3 < 8 * (view(C, FRAMES)[stack * FRAME_WIDTH + F_DEPTH] + 1):
        return x + 1
    return -1


@njit
def needs_blank(C: Any, mode: int, x: int) -> bool:
    """Whether the blank after a comma or colon is yet to come, where there has to be one."""
    return C[WHITESPACE] == SPACED and x == 0 and (mode == VALUE or mode == OBJECT_NEXT)


@njit
def is_whitespace(byte: int) -> bool:
    return byte == 0x20 or byte == 0x0A or byte == 0x0D or byte == 0x09


# ---- strings ---------------------------------------------------------------------------------------------------------


@njit
def length_within(C: Any, lengths: int, low: int, high: int) -> bool:
    """Whether a set of lengths has a member between `low` and `high`; -1 is the set of all lengths."""
    if low < 0:
        low = 0
    if low > high:
        return False
    if lengths < 0:
        return True
    table = view(C, LENSET)
    preperiod = table[lengths]
    period = table[lengths + 1]
    top = max(low, preperiod) + period - 1
    if high > top:
        high = top
    for n in range(low, high + 1):
        i = n
        if i >= preperiod:
            i = preperiod + (i - preperiod) % period
        if (table[lengths + 2 + (i >> 5)] >> (i & 31)) & 1:
            return True
    return False


@njit
def string_viable(C: Any, q: int, n: int, least: int) -> bool:
    """Whether a string at automaton state q with n code points can be completed by `least` more of them or more."""
    base = q * STATE_WIDTH
    states = view(C, STATE)
    if states[base + Q_FLAGS] & COUNTED == 0:
        return True
    entries = view(C, ENTRY)
    at = states[base + Q_ENTRY]
    for _ in range(states[base + Q_ENTRIES]):
        if length_within(C, entries[at + E_LENGTHS], max(entries[at + E_MIN] - n, least), entries[at + E_MAX] - n):
            return True
        at += ENTRY_WIDTH
    return False


@njit
def string_outcome(C: Any, q: int, n: int) -> int:
    """The outcome when the string ends here; 0 where it cannot; or a negative code."""
    base = q * STATE_WIDTH
    states = view(C, STATE)
    if states[base + Q_FLAGS] & COUNTED == 0:
        return states[base + Q_OUTCOME]
    entries = view(C, ENTRY)
    at = states[base + Q_ENTRY]
    count = states[base + Q_ENTRIES]
    if count == 1:
        if entries[at + E_ACCEPT] and entries[at + E_MIN] <= n <= entries[at + E_MAX]:
            return entries[at + E_OUTCOME]
        return 0
    satisfied = bits = 0
    for i in range(count):
        if entries[at + E_ACCEPT] and entries[at + E_MIN] <= n <= entries[at + E_MAX]:
            bits |= 1 << (i & 15)
        if bits and (i & 15 == 15 or i + 1 == count):
            satisfied = free_add(C, satisfied, ((i >> 4) << 16) | bits)
            if satisfied < 0:
                return FULL
            bits = 0
        at += ENTRY_WIDTH
    if satisfied == 0:
        return 0
    return lookup(C, M_OUT, q, satisfied)


@njit
def string_byte(C: Any, stack: int, q: int, n: int, byte: int) -> int:
    """One byte of decoded content."""
    to = successor(C, q, byte)
    if to <= 0:
        return to
    if view(C, STATE)[to * STATE_WIDTH + Q_FLAGS] & COUNTED:
        if byte & 0xC0 != 0x80:
            n += 1
        if not string_viable(C, to, n, 0):
            return DEAD
    else:
        n = 0
    return emit(C, stack, STRING, to, 0, n)


@njit
def string_code_point(C: Any, stack: int, q: int, n: int, cp: int) -> int:
    """One decoded code point, as an escape has spelled it."""
    if cp < 0x80:
        return string_byte(C, stack, q, n, cp)
    if cp < 0x800:
        first, rest = 0xC0 | (cp >> 6), 1
    elif cp < 0x10000:
        first, rest = 0xE0 | (cp >> 12), 2
    else:
        first, rest = 0xF0 | (cp >> 18), 3
    code = string_byte(C, stack, q, n, first)
    while code == OK and rest > 0:
        rest -= 1
        code = string_byte(C, stack, C[OUT + 2], C[OUT + 4], 0x80 | ((cp >> (6 * rest)) & 0x3F))
    return code


@njit
def string_can_continue(C: Any, q: int, n: int, digits: int, value: int, high: int) -> int:
    """Whether some code point whose \\u spelling starts so can come next: 1, 0 or MISS.

    `digits` hexadecimal digits with this value have been read, of the low surrogate where `high` is not -1.
    """
    base = q * STATE_WIDTH
    states = view(C, STATE)
    if view32(C, DFA)[q * 256] < 0:
        return miss(C, M_ROW, q, 0)
    flags = states[base + Q_FLAGS]
    if flags & HAS_NEXT == 0:
        return 0
    if flags & UNIVERSAL or (digits == 0 and high < 0 and not C[PLAIN_ESCAPES]):
        if flags & COUNTED == 0:
            return 1
        if flags & SIMPLE:
            return 1 if n + 1 <= view(C, ENTRY)[states[base + Q_ENTRY] + E_MAX] else 0
        if digits == 0 and high < 0:
            return 1 if string_viable(C, q, n, 1) else 0
    found = lookup(C, M_HEX, q, digits | (value << 3) | ((high + 1) << 19))
    if found <= 0:
        return found
    words = view(C, WORDS)
    for i in range(words[found]):
        if string_viable(C, words[found + 1 + i], n + 1, 0):
            return 1
    return 0


@njit
def hex_value(byte: int) -> int:
    if 0x30 <= byte <= 0x39:
        return byte - 0x30
    if 0x61 <= byte <= 0x66:
        return byte - 0x57
    if 0x41 <= byte <= 0x46:
        return byte - 0x37
    return -1


@njit
def simple_escape(byte: int) -> int:
    """The code point of a two-character escape, or -1."""
    if byte == 0x22 or byte == 0x5C or byte == 0x2F:
        return byte
    if byte == 0x6E:
        return 10
    if byte == 0x74:
        return 9
    if byte == 0x72:
        return 13
    if byte == 0x62:
        return 8
    if byte == 0x66:
        return 12
    return -1


@njit
def pack_escape(kind: int, high: int, digits: int, value: int) -> int:
    return kind | (high << 8) | (digits << 20) | (value << 24)


@njit
def hex_digits_allowed(digits: int, value: int, low: bool) -> bool:
    """Whether the digits of a \\u escape can still name a code point, of a low surrogate where `low` is set."""
    if low:
        return (digits < 1 or (value >> (4 * (digits - 1))) == 0xD) and (
            digits < 2 or (value >> (4 * (digits - 2))) >= 0xDC
        )
    return not (digits >= 2 and 0xDC <= (value >> (4 * (digits - 2))) <= 0xDF)


@njit
def has_long_escape(C: Any, cp: int) -> bool:
    """Whether, where only what has to be escaped is, a code point is written as \\u and digits."""
    if cp < 0x20:
        return cp < 8 or cp > 13 or cp == 11
    return cp >= 0x40000 and (C[PLAIN_ESCAPES] >> (cp >> 18)) & 1 != 0


@njit
def has_long_escape_from(C: Any, digits: int, value: int, high: int) -> bool:
    """Whether there is such a code point with these first digits; the registers are those of `string_can_continue`."""
    if high >= 0:
        return has_long_escape(C, 0x10000 + (high << 10))
    first = value << (4 * (4 - digits))
    last = first | ((1 << (4 * (4 - digits))) - 1)
    if first < 0x20:
        return True
    for lead in range(1, 5):  # first bytes 0xF1 and on: a quarter of the high surrogates each
        low = 0xD7C0 + (lead << 8)
        if (C[PLAIN_ESCAPES] >> lead) & 1 and first <= min(low + 0xFF, 0xDBFF) and last >= low:
            return True
    return False


@njit
def plain_escape_opens(C: Any, stack: int, mode: int, q: int, n: int) -> int:
    """Whether a character that has to be escaped can come next: 1, 0 or a negative code."""
    code = can_continue(C, stack, mode, q, n, 0, 0, -1)
    for cp in (0x22, 0x5C, 8, 9, 10, 12, 13):
        if code == DEAD:
            code = code_point(C, stack, mode, q, n, cp)
    return code


@njit
def escape_step(C: Any, stack: int, mode: int, q: int, x: int, n: int, byte: int) -> int:
    """One byte inside an escape of a string or a key."""
    kind = x & 15
    plain = C[PLAIN_ESCAPES] != 0
    if kind == X_BACKSLASH:
        if byte == 0x75:
            x = pack_escape(X_HEX, 0, 0, 0)
            code = can_continue(C, stack, mode, q, n, 0, 0, -1)
            return emit(C, stack, mode, q, x, n) if code == 1 else code
        cp = simple_escape(byte)
        if cp < 0 or (plain and cp == 0x2F):
            return DEAD
        return code_point(C, stack, mode, q, n, cp)
    if kind == X_HEX or kind == X_LOW:
        digit = hex_value(byte)
        if digit < 0 or (plain and 0x41 <= byte <= 0x46):
            return DEAD
        digits = ((x >> 20) & 7) + 1
        value = (((x >> 24) & 0xFFFF) << 4) | digit
        low = kind == X_LOW
        if not hex_digits_allowed(digits, value, low):
            return DEAD
        high = (x >> 8) & 1023 if low else -1
        if digits < 4:
            code = can_continue(C, stack, mode, q, n, digits, value, high)
            if code != 1:
                return code
            return emit(C, stack, mode, q, pack_escape(kind, max(high, 0), digits, value), n)
        if low:
            return code_point(C, stack, mode, q, n, 0x10000 + (high << 10) + (value & 1023))
        if 0xD800 <= value <= 0xDBFF:
            code = can_continue(C, stack, mode, q, n, 0, 0, value & 1023)
            if code != 1:
                return code
            return emit(C, stack, mode, q, pack_escape(X_HIGH, value & 1023, 0, 0), n)
        if plain and not has_long_escape(C, value):
            return DEAD
        return code_point(C, stack, mode, q, n, value)
    if kind == X_HIGH:
        if byte != 0x5C:
            return DEAD
        return emit(C, stack, mode, q, pack_escape(X_HIGH_BACKSLASH, (x >> 8) & 1023, 0, 0), n)
    if byte != 0x75:
        return DEAD
    return emit(C, stack, mode, q, pack_escape(X_LOW, (x >> 8) & 1023, 0, 0), n)


@njit
def can_continue(C: Any, stack: int, mode: int, q: int, n: int, digits: int, value: int, high: int) -> int:
    if C[PLAIN_ESCAPES] and not has_long_escape_from(C, digits, value, high):
        return 0
    if mode == STRING:
        return string_can_continue(C, q, n, digits, value, high)
    if mode == LITERAL:
        return name_can_continue(C, n, q, -1, digits, value, high)
    fst = view(C, FRAMES)[stack * FRAME_WIDTH + F_STATE] * FST_WIDTH
    if n >> 60:
        state = (n >> 24) & _30
        if view(C, FST)[fst + S_KEYS] == C[FREE_TEXT_STATE]:
            return 1
        found = lookup(C, M_HEX, state, digits | (value << 3) | ((high + 1) << 19))
        if found < 0:
            return found
        words = view(C, WORDS)
        for i in range(words[found] if found else 0):
            # Where only few names are left, some of them in use, the escape is not offered: there is a plain spelling.
            code = free_name_opens(C, stack, words[found + 1 + i], n & _24, (q & _20) < ((q >> 20) & _20))
            if code != 0:
                return code
    return name_can_continue(C, view(C, FST)[fst + S_NAMES], q, stack, digits, value, high)


@njit
def code_point(C: Any, stack: int, mode: int, q: int, n: int, cp: int) -> int:
    if mode == STRING:
        return string_code_point(C, stack, q, n, cp)
    return name_code_point(C, stack, mode, q, n, cp)


# ---- objects ---------------------------------------------------------------------------------------------------------


@njit
def has_bit(C: Any, table: int, at: int, bit: int) -> bool:
    return (view(C, table)[at + (bit >> 6)] >> (bit & 63)) & 1 != 0


@njit
def is_seen(C: Any, seen: int, words: int, bit: int) -> bool:
    """Whether a declared name is among those seen: a bit set itself up to 62 names, else a record of SEEN."""
    if words == 1:
        return (seen >> bit) & 1 != 0
    return seen != 0 and has_bit(C, SEEN, seen, bit)


@njit
def add_seen(C: Any, seen: int, words: int, bit: int) -> int:
    """The set with one more name; FULL when there is no room."""
    if words == 1:
        return seen | (1 << bit)
    key = memo_key(M_SEEN, seen, bit)
    found = memo_get(C, key)
    if found >= 0:
        return found
    at = C[N_SEEN]
    if at + words > C[LENGTHS + SEEN]:
        C[FULL_TABLE] = SEEN
        return FULL
    if not memo_set(C, key, at):
        return FULL
    table = view(C, SEEN)
    for i in range(words):
        table[at + i] = table[seen + i] if seen else 0
    table[at + (bit >> 6)] |= 1 << (bit & 63)
    C[N_SEEN] = at + words
    return at


@njit
def pending(C: Any, alternative: int, words: int, seen: int) -> int:
    """How many required names of an object alternative are still missing."""
    alts = view(C, ALT)
    count = alts[alternative + A_REQUIRED_COUNT]
    if count == 0:
        return 0
    required = view(C, WORDS)
    at = alts[alternative + A_REQUIRED]
    missing = 0
    for i in range(words):
        have = seen if words == 1 else (view(C, SEEN)[seen + i] if seen else 0)
        left = required[at + i] & ~have
        while left != 0:
            left &= left - 1
            missing += 1
    return missing


@njit
def has_room(C: Any, alternative: int, words: int, count: int, seen: int) -> bool:
    """Whether the object alternative has room for a member beyond those that are required."""
    maximum = view(C, ALT)[alternative + A_MAX]
    return maximum >= 1 << 60 or count + 1 + pending(C, alternative, words, seen) <= maximum


@njit
def alternative_opens(C: Any, alternative: int, words: int, count: int, seen: int, name: int, outcome: int) -> int:
    """Whether the object alternative admits a further member: 1, 0 or MISS.

    Of declared name `name`, or, for -1, of a free name whose scanner ends with `outcome` (0: of any).
    """
    alts = view(C, ALT)
    if count + 1 > alts[alternative + A_MAX]:
        return 0
    if name < 0:
        if alts[alternative + A_OPEN] == CLOSED:
            return 0
        if alts[alternative + A_OPEN] == OPEN_SOME and outcome > 0:
            admitted = lookup(C, M_CLASS, alternative // ALT_WIDTH, outcome)
            if admitted != 1:
                return admitted
    else:
        if not has_bit(C, WORDS, alts[alternative + A_ALLOWED], name):
            return 0
        if alts[alternative + A_REQUIRED_COUNT] and has_bit(C, WORDS, alts[alternative + A_REQUIRED], name):
            return 1
    return 1 if has_room(C, alternative, words, count, seen) else 0


@njit
def alternative_continues(C: Any, alternative: int, names: int, words: int, count: int, seen: int) -> bool:
    """Whether the object alternative admits any further member."""
    alts = view(C, ALT)
    if count + 1 > alts[alternative + A_MAX]:
        return False
    if pending(C, alternative, words, seen) > 0 or alts[alternative + A_OPEN] != 0:
        return True
    at = alts[alternative + A_ALLOWED]
    for i in range(names):
        if has_bit(C, WORDS, at, i) and not is_seen(C, seen, words, i):
            return True
    return False


@njit
def key_opens(C: Any, frame: int, name: int) -> bool:
    """Whether some alternative of the object frame admits a member of this declared name (-1: of a free name)."""
    frames = view(C, FRAMES)
    base = frame * FRAME_WIDTH
    fst = frames[base + F_STATE] * FST_WIDTH
    sets = view(C, FST)
    words = sets[fst + S_WORDS]
    seen = frames[base + F_SEEN]
    if name >= 0 and is_seen(C, seen, words, name):
        return False
    at = sets[fst + S_ALT]
    for _ in range(sets[fst + S_ALTS]):
        if alternative_opens(C, at, words, frames[base + F_COUNT], seen, name, 0) == 1:
            return True
        at += ALT_WIDTH
    return False


@njit
def free_name_opens(C: Any, frame: int, state: int, name: int, declared: bool) -> int:
    """Whether a free name of the object frame can be completed: 1, 0 or MISS.

    `state` is where its scanner stands and `name` what has been read of it; `declared` says whether a declared name
    begins with it, too.
    """
    frames = view(C, FRAMES)
    base = frame * FRAME_WIDTH
    fst = frames[base + F_STATE] * FST_WIDTH
    sets = view(C, FST)
    alts = view(C, ALT)
    at = sets[fst + S_ALT]
    for _ in range(sets[fst + S_ALTS]):
        if alts[at + A_OPEN] != CLOSED and has_room(
            C, at, sets[fst + S_WORDS], frames[base + F_COUNT], frames[base + F_SEEN]
        ):
            if alts[at + A_OPEN] == OPEN_ALL:
                return 1
            reach = lookup(C, M_REACH, at // ALT_WIDTH, state)
            if reach == 2 and (declared or is_used_prefix(C, frames[base + F_FREE], name)):
                reach = lookup(C, M_FRESH, frame, name)
            if reach != 0:
                return MISS if reach < 0 else 1
        at += ALT_WIDTH
    return 0


@njit
def is_used_prefix(C: Any, free: int, name: int) -> bool:
    """Whether some free name in use begins with `name`."""
    names = view(C, NAMES)
    while free != 0:
        pair = memo_get(C, memo_key(M_FREE, free, _32))
        at = pair & _32
        while at > name:  # a name has a greater number than what it begins with
            at = names[at] >> 8
        if at == name:
            return True
        free = pair >> 32
    return False


@njit
def drop_for_key(C: Any, fst: int, count: int, seen: int, name: int, outcome: int) -> int:
    """The alternatives that admit a further member; 0 for none, or a negative code.

    `name` is a declared name, -1 for a free one whose scanner ends with `outcome`, -2 for any name.
    """
    sets = view(C, FST)
    base = fst * FST_WIDTH
    words = sets[base + S_WORDS]
    at = sets[base + S_ALT]
    total = sets[base + S_ALTS]
    left = total
    dropped = bits = 0
    for i in range(total):
        if name == -2:
            fine = 1 if alternative_continues(C, at, sets[base + S_NAME_COUNT], words, count, seen) else 0
        else:
            fine = alternative_opens(C, at, words, count, seen, name, outcome)
        if fine < 0:
            return fine
        if fine == 0:
            left -= 1
            bits |= 1 << (i & 15)
        if bits and (i & 15 == 15 or i + 1 == total):
            dropped = free_add(C, dropped, ((i >> 4) << 16) | bits)
            if dropped < 0:
                return FULL
            bits = 0
        at += ALT_WIDTH
    return without_dropped(C, fst, dropped, left)


@njit
def without_dropped(C: Any, fst: int, dropped: int, left: int) -> int:
    """The set of alternatives without those that were dropped, of which `left` are left; 0 for none, or MISS.

    `dropped` is a list of places, so that of a thousand all that go are left out of one set at once.
    """
    if dropped == 0 or left == 0:
        return fst if left else 0
    return lookup(C, M_DROP, fst, dropped)


@njit
def name_bytes_at(C: Any, first: int, name: int, depth: int) -> int:
    """Byte `depth` of declared name number `name`, or -1 past its end."""
    offsets = view32(C, NAME_OFF)
    at = offsets[first + name] + depth
    return view8(C, NAME_BYTES)[at] if at < offsets[first + name + 1] else -1


@njit
def pack_key(low: int, high: int, depth: int) -> int:
    return low | (high << 20) | (depth << 40)


@njit
def key_start(C: Any, frame: int) -> int:
    """The state after the opening quote of a key, or DEAD."""
    frames = view(C, FRAMES)
    fst = frames[frame * FRAME_WIDTH + F_STATE] * FST_WIDTH
    count = view(C, FST)[fst + S_NAME_COUNT]
    n = 0
    if key_opens(C, frame, -1):
        n = (1 << 60) | (view(C, FST)[fst + S_KEYS] << 24)
    else:
        found = False
        for i in range(count):
            if key_opens(C, frame, i):
                found = True
                break
        if not found:
            return DEAD
    return emit(C, frame, KEY, pack_key(0, count, 0), 0, n)


@njit
def add_byte(C: Any, name: int, byte: int) -> int:
    """The number of a free name with one more byte, or FULL. Numbers grow along a name."""
    key = memo_key(M_NAME, 0, (name << 8) | byte)
    found = memo_get(C, key)
    if found >= 0:
        return found
    found = C[N_NAMES]
    if found >= C[LENGTHS + NAMES]:
        C[FULL_TABLE] = NAMES
        return FULL
    if not memo_set(C, key, found):
        return FULL
    view(C, NAMES)[found] = (name << 8) | byte
    C[N_NAMES] = found + 1
    return found


@njit
def narrow(C: Any, first: int, q: int, byte: int) -> int:
    """The range of names that go on with `byte`, one byte deeper; it may be empty."""
    low = q & _20
    high = (q >> 20) & _20
    depth = q >> 40
    # Names are sorted: those that go on with `byte` are a range of the range. Halve while it is wide.
    a, b = low, high
    while b - a > 8:
        mid = (a + b) >> 1
        if name_bytes_at(C, first, mid, depth) < byte:
            a = mid + 1
        else:
            b = mid
    while a < high and name_bytes_at(C, first, a, depth) < byte:
        a += 1
    low = a
    b = high
    while b - a > 8:
        mid = (a + b) >> 1
        if name_bytes_at(C, first, mid, depth) <= byte:
            a = mid + 1
        else:
            b = mid
    while a < high and name_bytes_at(C, first, a, depth) <= byte:
        a += 1
    return pack_key(low, a, depth + 1)


@njit
def literal_byte(C: Any, stack: int, q: int, n: int, byte: int) -> int:
    """One byte of decoded content of one of a set of strings."""
    q = narrow(C, n, q, byte)
    if q & _20 >= (q >> 20) & _20:
        return DEAD
    return emit(C, stack, LITERAL, q, 0, n)


@njit
def literal_end(C: Any, stack: int, q: int, n: int) -> int:
    """The closing quote of one of a set of strings."""
    low = q & _20
    if name_bytes_at(C, n, low, q >> 40) >= 0:
        return DEAD
    return complete(C, stack, view32(C, NAME_OUT)[n + low])


@njit
def key_byte(C: Any, stack: int, q: int, n: int, byte: int) -> int:
    """One byte of a key's decoded name."""
    fst = view(C, FRAMES)[stack * FRAME_WIDTH + F_STATE] * FST_WIDTH
    first = view(C, FST)[fst + S_NAMES]
    q = narrow(C, first, q, byte)
    if n >> 60:
        state = successor(C, (n >> 24) & _30, byte)
        if state < 0:
            return state
        if state > 0:
            name = add_byte(C, n & _24, byte)
            if name < 0:
                return FULL
            code = 1
            if view(C, FST)[fst + S_KEYS] != C[FREE_TEXT_STATE]:
                code = free_name_opens(C, stack, state, name, (q & _20) < ((q >> 20) & _20))
            if code == 1:
                return emit(C, stack, KEY, q, 0, name | (state << 24) | (1 << 60))
            if code < 0:
                return code
    for i in range(q & _20, (q >> 20) & _20):
        if key_opens(C, stack, i):
            return emit(C, stack, KEY, q, 0, 0)
    return DEAD


@njit
def name_byte(C: Any, stack: int, mode: int, q: int, n: int, byte: int) -> int:
    if mode == LITERAL:
        return literal_byte(C, stack, q, n, byte)
    return key_byte(C, stack, q, n, byte)


@njit
def name_code_point(C: Any, stack: int, mode: int, q: int, n: int, cp: int) -> int:
    """One decoded code point of a key or literal, as an escape has spelled it."""
    if cp < 0x80:
        return name_byte(C, stack, mode, q, n, cp)
    if cp < 0x800:
        first, rest = 0xC0 | (cp >> 6), 1
    elif cp < 0x10000:
        first, rest = 0xE0 | (cp >> 12), 2
    else:
        first, rest = 0xF0 | (cp >> 18), 3
    code = name_byte(C, stack, mode, q, n, first)
    while code == OK and rest > 0:
        rest -= 1
        code = name_byte(C, stack, mode, C[OUT + 2], C[OUT + 4], 0x80 | ((cp >> (6 * rest)) & 0x3F))
    return code


@njit
def name_can_continue(C: Any, first: int, q: int, frame: int, digits: int, value: int, high: int) -> int:
    """As `string_can_continue`, for one of the names from number `first` on.

    In a key, `frame` is its object, which has to admit the name; it is -1 elsewhere.
    """
    depth = q >> 40
    for i in range(q & _20, (q >> 20) & _20):
        lead = name_bytes_at(C, first, i, depth)
        if lead < 0 or 0x80 <= lead < 0xC0:  # at its end, or inside a code point
            continue
        if lead < 0x80:
            cp, rest = lead, 0
        elif lead < 0xE0:
            cp, rest = lead & 0x1F, 1
        elif lead < 0xF0:
            cp, rest = lead & 0x0F, 2
        else:
            cp, rest = lead & 0x07, 3
        for j in range(rest):
            cp = (cp << 6) | (name_bytes_at(C, first, i, depth + 1 + j) & 0x3F)
        if C[PLAIN_ESCAPES] and not has_long_escape(C, cp):
            continue
        unit = cp
        if cp >= 0x10000:
            unit = 0xD800 + ((cp - 0x10000) >> 10)
            if high >= 0:
                if unit & 1023 != high:
                    continue
                unit = 0xDC00 + (cp & 1023)
        elif high >= 0:
            continue
        if unit >> (4 * (4 - digits)) == value and (frame < 0 or key_opens(C, frame, i)):
            return 1
    return 0


@njit
def key_end(C: Any, stack: int, q: int, n: int) -> int:
    """The closing quote of a key."""
    frames = view(C, FRAMES)
    base = stack * FRAME_WIDTH
    fst = frames[base + F_STATE]
    sets = view(C, FST)
    first = sets[fst * FST_WIDTH + S_NAMES]
    low = q & _20
    high = (q >> 20) & _20
    name = -1
    if low < high and name_bytes_at(C, first, low, q >> 40) < 0:
        name = low
    seen = frames[base + F_SEEN]
    free = frames[base + F_FREE]
    words = sets[fst * FST_WIDTH + S_WORDS]
    count = frames[base + F_COUNT]
    outcome = 0
    if name >= 0:
        if is_seen(C, seen, words, name):
            return DEAD
    else:
        if n >> 60 == 0:
            return DEAD
        outcome = view(C, STATE)[((n >> 24) & _30) * STATE_WIDTH + Q_OUTCOME]
        if outcome == 0 or free_contains(C, free, n & _24):
            return DEAD
    fst = drop_for_key(C, fst, count, seen, name, outcome)
    if fst <= 0:
        return fst
    state = fst
    mode = AFTER
    if sets[fst * FST_WIDTH + S_KIND] == OBJECT_KIND:
        mode = COLON
        state = lookup(C, M_SLOT, fst, name + 1 if name >= 0 else FREE_BIT | outcome)
        if state <= 0:
            return state
    if name >= 0:
        seen = add_seen(C, seen, words, name)
        if seen < 0 and words > 1:
            return FULL
    else:
        free = free_add(C, free, n & _24)
        if free < 0:
            return FULL
    if count < sets[fst * FST_WIDTH + S_SATURATE]:
        count += 1
    frame = intern_frame(C, frames[base + F_PARENT], state, count, seen, free, frames[base + F_DEPTH])
    if frame < 0:
        return FULL
    return emit(C, frame, mode, 0, 0, 0)


# Lists, the newest first: of the free names of an object; and of places in a set of alternatives or in the entries of
# a string's state, sixteen in an entry: which sixteen they are, and a bit for each. FREE entries are stored in the memo
# twice, by content and as the pair (previous list, entry) under the list's number.


@njit
def free_contains(C: Any, free: int, name: int) -> bool:
    while free != 0:
        pair = memo_get(C, memo_key(M_FREE, free, _32))
        if pair & _32 == name:
            return True
        free = pair >> 32
    return False


@njit
def free_add(C: Any, free: int, name: int) -> int:
    key = memo_key(M_FREE, free, name)
    found = memo_get(C, key)
    if found >= 0:
        return found
    number = C[N_FREE]
    if not memo_set(C, memo_key(M_FREE, number, _32), (free << 32) | name):
        return FULL
    if not memo_set(C, key, number):
        return FULL
    C[N_FREE] = number + 1
    return number


# ---- arrays ----------------------------------------------------------------------------------------------------------


@njit
def open_item(C: Any, stack: int, x: int) -> int:
    """The state in which the next item of an array frame is read, register x as given, or DEAD."""
    frames = view(C, FRAMES)
    base = stack * FRAME_WIDTH
    fst = frames[base + F_STATE]
    count = frames[base + F_COUNT]
    sets = view(C, FST)
    alts = view(C, ALT)
    at = sets[fst * FST_WIDTH + S_ALT]
    total = sets[fst * FST_WIDTH + S_ALTS]
    left = total
    dropped = bits = 0
    for i in range(total):
        if alts[at + A_OPEN] == VIEWED:
            can = lookup(C, M_VIEW, at // ALT_WIDTH, count)
            if can < 0:
                return can
            fine = can & 2 != 0
        else:
            fine = count < alts[at + A_MAX]
        if not fine:
            left -= 1
            bits |= 1 << (i & 15)
        if bits and (i & 15 == 15 or i + 1 == total):
            dropped = free_add(C, dropped, ((i >> 4) << 16) | bits)
            if dropped < 0:
                return FULL
            bits = 0
        at += ALT_WIDTH
    fst = without_dropped(C, fst, dropped, left)
    if fst <= 0:
        return fst
    slot = lookup(C, M_SLOT, fst, min(count, sets[fst * FST_WIDTH + S_PREFIX]))
    if slot <= 0:
        return slot
    if count < sets[fst * FST_WIDTH + S_SATURATE]:
        count += 1
    frame = intern_frame(C, frames[base + F_PARENT], slot, count, 0, 0, frames[base + F_DEPTH])
    if frame < 0:
        return FULL
    return emit(C, frame, VALUE, 0, x, 0)


# ---- values ----------------------------------------------------------------------------------------------------------


@njit
def complete(C: Any, stack: int, outcome: int) -> int:
    """The value of the top frame's slot is complete with this outcome (or MISS, or 0)."""
    if outcome <= 0:
        return outcome
    frames = view(C, FRAMES)
    base = stack * FRAME_WIDTH
    slot = frames[base + F_STATE]
    fst = view(C, SLOT)[slot * SLOT_WIDTH + L_FST]
    if view(C, FST)[fst * FST_WIDTH + S_KIND] == ROOT_KIND:
        if frames[base + F_COUNT] == 0:
            return emit(C, stack, END, 0, 0, 0)
        q = lookup(C, M_RETURN, frames[base + F_COUNT], outcome)
        if q <= 0:
            return q
        words = frames[base + F_FREE]
        outside = with_words(C, 0, words) if words != 0 else 0
        return emit(C, outside, RAW, q, 0, 0) if outside >= 0 else FULL
    to = view(C, SLOT)[slot * SLOT_WIDTH + L_NEXT] if outcome == 1 else -1
    if to < 0:
        to = lookup(C, M_NEXT, slot, outcome)
        if to <= 0:
            return to
    frame = intern_frame(
        C,
        frames[base + F_PARENT],
        to,
        frames[base + F_COUNT],
        frames[base + F_SEEN],
        frames[base + F_FREE],
        frames[base + F_DEPTH],
    )
    if frame < 0:
        return FULL
    if C[WIRE] and frames[base + F_DEPTH] == C[ARGUMENT_DEPTH]:
        q = lookup(C, M_AFTER, frame, 0)
        return emit(C, 0, RAW, q, 0, 0) if q > 0 else q
    return emit(C, frame, AFTER, 0, 0, 0)


@njit
def close(C: Any, stack: int, kind: int) -> int:
    """The closing bracket of the top frame."""
    frames = view(C, FRAMES)
    base = stack * FRAME_WIDTH
    fst = frames[base + F_STATE]
    sets = view(C, FST)
    alts = view(C, ALT)
    if sets[fst * FST_WIDTH + S_KIND] != kind:
        return DEAD
    count = frames[base + F_COUNT]
    at = sets[fst * FST_WIDTH + S_ALT]
    total = sets[fst * FST_WIDTH + S_ALTS]
    left = total
    dropped = bits = 0
    for i in range(total):
        fine = alts[at + A_MIN] <= count <= alts[at + A_MAX]
        if kind == ARRAY_KIND and alts[at + A_OPEN] == VIEWED:
            can = lookup(C, M_VIEW, at // ALT_WIDTH, count)
            if can < 0:
                return can
            fine = can & 1 != 0
        if fine and kind != ARRAY_KIND:
            fine = pending(C, at, sets[fst * FST_WIDTH + S_WORDS], frames[base + F_SEEN]) == 0
        if not fine:
            left -= 1
            bits |= 1 << (i & 15)
        if bits and (i & 15 == 15 or i + 1 == total):
            dropped = free_add(C, dropped, ((i >> 4) << 16) | bits)
            if dropped < 0:
                return FULL
            bits = 0
        at += ALT_WIDTH
    fst = without_dropped(C, fst, dropped, left)
    if fst <= 0:
        return fst
    return complete(C, frames[base + F_PARENT], sets[fst * FST_WIDTH + S_OUTCOME])


@njit
def start_of(C: Any, stack: int, kind: int) -> int:
    """Where the value that the top frame waits for starts, for one type: a number, 0 for not admitted, or MISS."""
    slot = view(C, FRAMES)[stack * FRAME_WIDTH + F_STATE]
    vset = view(C, SLOT)[slot * SLOT_WIDTH + L_VSET]
    start = view32(C, VSET)[vset * VSET_WIDTH + kind]
    if start < 0:
        return miss(C, M_SHAPE, vset, kind)
    return start


@njit
def open_value(C: Any, stack: int, byte: int) -> int:
    """The first byte of a value."""
    if byte == 0x22:
        start = start_of(C, stack, V_STRING)
        if start <= 0:
            return start
        if start & LITERAL_BIT:
            at = (start ^ LITERAL_BIT) * LITERALS_WIDTH
            sets = view(C, LITERALS)
            return emit(C, stack, LITERAL, pack_key(0, sets[at + 1], 0), 0, sets[at])
        return emit(C, stack, STRING, start, 0, 0)
    if byte == 0x7B or byte == 0x5B:
        start = start_of(C, stack, V_OBJECT if byte == 0x7B else V_ARRAY)
        if start <= 0:
            return start
        depth = view(C, FRAMES)[stack * FRAME_WIDTH + F_DEPTH] + 1
        frame = intern_frame(C, stack, start, 0, 0, 0, depth)
        if frame < 0:
            return FULL
        first = ARRAY_FIRST if view(C, FST)[start * FST_WIDTH + S_KIND] == ARRAY_KIND else OBJECT_FIRST
        return emit(C, frame, first, 0, 0, 0)
    if byte != 0x2D and not (0x30 <= byte <= 0x39) and byte != 0x74 and byte != 0x66 and byte != 0x6E and C[WIRE] < 2:
        return DEAD
    start = start_of(C, stack, V_ATOM)
    if start <= 0:
        return start
    to = successor(C, start, byte)
    if to <= 0:
        return to
    return emit(C, stack, ATOM, to, 0, 1)


@njit
def after_value(C: Any, stack: int, byte: int) -> int:
    """A byte after a complete member or item that is not whitespace."""
    frames = view(C, FRAMES)
    base = stack * FRAME_WIDTH
    fst = frames[base + F_STATE]
    kind = view(C, FST)[fst * FST_WIDTH + S_KIND]
    if byte == 0x7D or byte == 0x5D:
        return close(C, stack, kind) if (byte == 0x7D) == (kind == OBJECT_KIND) else DEAD
    if byte != 0x2C:
        return DEAD
    if kind == ARRAY_KIND:
        return open_item(C, stack, 0)
    to = drop_for_key(C, fst, frames[base + F_COUNT], frames[base + F_SEEN], -2, 0)
    if to <= 0:
        return to
    if to != fst:
        stack = intern_frame(
            C,
            frames[base + F_PARENT],
            to,
            frames[base + F_COUNT],
            frames[base + F_SEEN],
            frames[base + F_FREE],
            frames[base + F_DEPTH],
        )
        if stack < 0:
            return FULL
    return emit(C, stack, OBJECT_NEXT, 0, 0, 0)


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
                mode == KEY and n >> 60 and view(C, STATE)[((n >> 24) & _30) * STATE_WIDTH + Q_FLAGS] & BOUNDARY == 0
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
    code = text_byte(C, stack, mode, q, x & _40, n, byte)
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
def with_words(C: Any, frame: int, words: int) -> int:
    """An outermost frame that holds other words; -1 when the table is full."""
    frames = view(C, FRAMES)
    base = frame * FRAME_WIDTH
    return intern_frame(C, -1, frames[base + F_STATE], frames[base + F_COUNT], 0, words, 0)


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
