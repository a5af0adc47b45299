"""Mask rows: which tokens may come next at a position.

The plain algorithm walks the vocabulary's trie with the automaton, once, and marks the tokens at every node it reaches.
It costs what it visits: a few dozen nodes inside a literal, a quarter of a million inside a free string. So wherever
the walk enters free text (the inside of an unconstrained string, or a key of an open object), at the root or further
down, it stops walking and uses the *terminal table* of that trie node instead, which belongs to the vocabulary and not
to any grammar: the tokens that stay inside the text, as a ready row, and the few that leave it through a closing quote,
as a small trie of what they bring after the quote. Only that small trie is walked with the automaton. Declared names of
an open object are exceptions to free text; the walk follows each of them through the trie and corrects its tokens.
"""

from __future__ import annotations

from typing import Any

from .call import step
from .intern import (
    F_COUNT,
    F_DEPTH,
    F_FREE,
    F_PARENT,
    F_SEEN,
    F_STATE,
    FRAME_WIDTH,
    M_FREE,
    M_KEY_LOOP,
    M_LOOP,
    M_REACH,
    M_SLOT,
    M_TABLE,
    M_TABLE_ROW,
    P_MODE,
    P_N,
    P_Q,
    P_ROW,
    P_STACK,
    P_X,
    POS_WIDTH,
    intern_frame,
    intern_position,
    memo_get,
    memo_key,
)
from .jit import njit
from .memory import (
    CROSS,
    ENTRY,
    EOS,
    FRAMES,
    FREE_TEXT_STATE,
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
    N_ROWS,
    NAME_OFF,
    NAMES,
    OUT,
    POS,
    ROW_WORDS,
    ROWS,
    STATE,
    T_BYTE,
    T_CLASSES,
    T_DEPTH,
    T_END,
    T_HEIGHT,
    T_TID,
    T_TOFF,
    TABLE,
    TABLE_ROWS,
    TOKEN_BYTES,
    TOKEN_OFF,
    WALK,
    context,
    view,
    view8,
    view32,
)
from .step import (
    AFTER,
    ALT_WIDTH,
    COLON,
    COUNTED,
    DEAD,
    E_MAX,
    E_MIN,
    FREE_BIT,
    FST_WIDTH,
    FULL,
    KEY,
    MISS,
    OBJECT_KIND,
    OK,
    Q_ENTRY,
    Q_FLAGS,
    Q_FREE,
    Q_FREE_OUTCOME,
    Q_LOOP,
    S_ALT,
    S_ALTS,
    S_KEYS,
    S_KIND,
    S_NAMES,
    S_SATURATE,
    SIMPLE,
    STATE_WIDTH,
    STRING,
    X_BACKSLASH,
    X_HEX,
    X_LOW,
    X_NONE,
    complete,
    drop_for_key,
    emit,
    free_name_opens,
    key_end,
    key_opens,
    lookup,
    may_end,
    miss,
    name_bytes_at,
    narrow,
    successor,
)

# Fields of a terminal table.
#   content: pairs (token, code points), fewest code points first; a ready row, or -1 where the list is short
#   ends: pairs of the tokens that end with the quote
#   rest: nodes (byte, end, first pair, pairs) of the trie of remainders in preorder, its pairs
#   escaped: tokens that leave the text after an escape
B_CONTENT, B_CONTENTS, B_ROW, B_ENDS, B_END_COUNT, B_NODES, B_NODE_COUNT, B_PAIRS, B_ESCAPED, B_ESCAPED_COUNT = range(
    10
)
TABLE_WIDTH = 10
_SMALL = 24  # subtrees below this size are walked: their table would cost more than it saves
_FEW = 48  # subtrees up to this size are walked without looking for a shortcut
_NO_LIMIT = 1 << 40
REFUSED, REDO = -3, -4
_20 = (1 << 20) - 1
_24 = (1 << 24) - 1
_30 = (1 << 30) - 1
_32 = (1 << 32) - 1


@njit
def set_bit(rows: Any, base: int, token: int) -> None:
    rows[base + (token >> 5)] |= 1 << (token & 31)


@njit
def clear_bit(rows: Any, base: int, token: int) -> None:
    rows[base + (token >> 5)] &= ~(1 << (token & 31))


@njit
def note_miss(C: Any) -> None:
    """Remember what the last step missed, once; the walk goes on without it and is repeated later."""
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
def push(C: Any, walk: Any, at: int) -> None:
    for k in range(5):
        walk[at + k] = C[OUT + k]


@njit
def stays(C: Any, node: int, q: int, n: int) -> int:
    """Whether a string at automaton state q can take everything below a trie node: 1, 0 or MISS.

    See `terminal.py` on classes of characters.
    """
    states = view(C, STATE)
    at = q * STATE_WIDTH
    loop = states[at + Q_LOOP]
    if loop < 0:
        return miss(C, M_LOOP, q, 0)
    if view(C, T_CLASSES)[node] & ~loop != 0:
        return 0
    flags = states[at + Q_FLAGS]
    if flags & COUNTED == 0:
        return 1
    if flags & SIMPLE == 0:
        return 0
    return 1 if n + view32(C, T_HEIGHT)[node] <= view(C, ENTRY)[states[at + Q_ENTRY] + E_MAX] else 0


@njit
def set_below(C: Any, node: int, base: int) -> None:
    """Mark all tokens below `node`."""
    first, tokens, rows = view32(C, T_TOFF), view32(C, T_TID), view32(C, ROWS)
    for t in range(first[node + 1], first[view32(C, T_END)[node]]):
        set_bit(rows, base, tokens[t])


@njit
def walk_plain(C: Any, node: int, base: int) -> int:
    """Mark the tokens below `node`, whose state is on the walk's stack; returns OK or FULL."""
    walk = view(C, WALK)
    byte, end, depth = view8(C, T_BYTE), view32(C, T_END), view32(C, T_DEPTH)
    first, tokens, rows = view32(C, T_TOFF), view32(C, T_TID), view32(C, ROWS)
    stop = end[node]
    i = node + 1
    while i < stop:
        at = (depth[i] - 1) * 5
        code = step(C, walk[at], walk[at + 1], walk[at + 2], walk[at + 3], walk[at + 4], byte[i])
        if code == OK:
            push(C, walk, at + 5)
            for t in range(first[i], first[i + 1]):
                set_bit(rows, base, tokens[t])
            at += 5
            if walk[at + 1] == STRING and end[i] - i > _FEW and walk[at + 3] == 0:
                code = stays(C, i, walk[at + 2], walk[at + 4])
                if code != 0:
                    if code == MISS:  # the walk is repeated, and then need not go there
                        note_miss(C)
                    else:
                        set_below(C, i, base)
                    i = end[i]
                    continue
            i += 1
            continue
        if code == MISS:
            note_miss(C)
        elif code == FULL:
            return FULL
        i = end[i]
    return OK


@njit
def walk_rest(C: Any, table: int, base: int, low: int, high: int) -> int:
    """Mark the tokens that leave free text, from the state after the quote (in the result registers).

    Only tokens with low .. high code points before the quote count. Returns OK, FULL, or DEAD when a remainder holds
    a whole key, which this shortcut does not cover.
    """
    tables, cross = view(C, TABLE), view32(C, CROSS)
    rows, walk = view32(C, ROWS), view(C, WALK)
    bottom = (C[LONGEST] + 2) * 5  # the walk's stack beyond what the trie itself can use
    push(C, walk, bottom)
    record = table * TABLE_WIDTH
    at = tables[record + B_ENDS]
    for _ in range(tables[record + B_END_COUNT]):
        if low <= cross[at + 1] <= high:
            set_bit(rows, base, cross[at])
        at += 2
    nodes = tables[record + B_NODES]
    pairs = tables[record + B_PAIRS]
    count = tables[record + B_NODE_COUNT]
    i = 0
    while i < count:
        node = nodes + 5 * i
        up = bottom + (cross[node + 4] - 1) * 5
        mode = walk[up + 1]
        code = step(C, walk[up], mode, walk[up + 2], walk[up + 3], walk[up + 4], cross[node])
        if code == OK:
            if mode == KEY and C[OUT + 1] != KEY:
                return REDO
            push(C, walk, up + 5)
            pair = pairs + 2 * cross[node + 2]
            for _ in range(cross[node + 3]):
                if low <= cross[pair + 1] <= high:
                    set_bit(rows, base, cross[pair])
                pair += 2
            i += 1
            continue
        if code == MISS:
            note_miss(C)
        elif code == FULL:
            return FULL
        i = cross[node + 1]
    return OK


@njit
def mark_content(C: Any, table: int, base: int, limit: int) -> int:
    """Mark the tokens that stay inside free text with at most `limit` code points; returns OK or MISS."""
    tables, cross, rows = view(C, TABLE), view32(C, CROSS), view32(C, ROWS)
    record = table * TABLE_WIDTH
    at = tables[record + B_CONTENT]
    count = tables[record + B_CONTENTS]
    row = tables[record + B_ROW]
    if row < 0:
        for _ in range(count):
            if cross[at + 1] > limit:
                break
            set_bit(rows, base, cross[at])
            at += 2
        return OK
    if limit < cross[at + 2 * count - 1]:
        row = lookup(C, M_TABLE_ROW, table, max(limit, 0))
        if row < 0:
            return MISS
    ready = view32(C, TABLE_ROWS)
    words = C[ROW_WORDS]
    for i in range(words):
        rows[base + i] |= ready[row * words + i]
    return OK


@njit
def escape_class(x: int) -> int:
    """Register x up to what matters in free text: kind, number of digits, and which surrogates are still open."""
    kind = x & 15
    digits = (x >> 20) & 7
    if kind == X_NONE or kind == X_BACKSLASH:
        return kind
    if kind == X_HEX:
        value = (x >> 24) & 0xFFFF
        group = 0
        if digits == 1 and value == 0xD:
            group = 1
        elif digits >= 2 and 0xD8 <= value >> (4 * (digits - 2)) <= 0xDB:
            group = 2
        return kind | (digits << 4) | (group << 8)
    if kind == X_LOW:
        return kind | (digits << 4)
    return kind


@njit
def find_child(C: Any, node: int, wanted: int) -> int:
    """The child of a trie node under a byte, or -1."""
    byte, end = view8(C, T_BYTE), view32(C, T_END)
    i = node + 1
    stop = end[node]
    while i < stop:
        if byte[i] == wanted:
            return i
        if byte[i] > wanted:
            return -1
        i = end[i]
    return -1


@njit
def string_in_free_text(C: Any, node: int, base: int, stack: int, q: int, x: int, n: int) -> int:
    """Mark what follows inside an unconstrained string.

    OK, FULL, DEAD where the shortcut does not apply, REDO where it failed.
    """
    states = view(C, STATE)
    at = q * STATE_WIDTH
    free = states[at + Q_FREE]
    flags = states[at + Q_FLAGS]
    if free == 0 or (flags & COUNTED and flags & SIMPLE == 0):
        return DEAD
    table = lookup(C, M_TABLE, node, (free << 16) | escape_class(x))
    if table < 0:
        note_miss(C)
        return OK
    low, high = 0, _NO_LIMIT
    if flags & COUNTED:
        entry = states[at + Q_ENTRY]
        low = view(C, ENTRY)[entry + E_MIN] - n
        high = view(C, ENTRY)[entry + E_MAX] - n
    if mark_content(C, table, base, high) != OK:
        note_miss(C)
    # The outcome at any quote is that of a boundary state within the bounds, the same wherever the quote is.
    outcome = states[at + Q_FREE_OUTCOME]
    code = complete(C, stack, outcome)
    if code == OK:
        return walk_rest(C, table, base, low, high)
    if code == MISS:
        note_miss(C)
        return OK
    return FULL if code == FULL else OK


@njit
def correct_name(C: Any, node: int, base: int, stack: int, n: int, name: int, start: int, length: int) -> int:
    """Redo the tokens that complete a declared name of an open object; OK or FULL."""
    first = view(C, FST)[view(C, FRAMES)[stack * FRAME_WIDTH + F_STATE] * FST_WIDTH + S_NAMES]
    for i in range(start, length):
        byte = name_bytes_at(C, first, name, i)
        if byte < 0x20 or byte == 0x22 or byte == 0x5C:
            return OK  # written as an escape only
        node = find_child(C, node, byte)
        if node < 0:
            return OK
    quote = find_child(C, node, 0x22)
    if quote < 0:
        return OK
    clear_below(C, quote, base)
    code = key_end(C, stack, name | ((name + 1) << 20) | (length << 40), n)
    if code == MISS:
        note_miss(C)
        return OK
    if code == OK:
        return mark_below(C, quote, base)
    return code


@njit
def clear_below(C: Any, node: int, base: int) -> None:
    first, tokens, rows = view32(C, T_TOFF), view32(C, T_TID), view32(C, ROWS)
    for t in range(first[node], first[view32(C, T_END)[node]]):
        clear_bit(rows, base, tokens[t])


@njit
def mark_below(C: Any, node: int, base: int) -> int:
    """Mark the tokens at and below `node`, whose state is in the result registers; OK or FULL."""
    first, tokens, rows = view32(C, T_TOFF), view32(C, T_TID), view32(C, ROWS)
    push(C, view(C, WALK), view32(C, T_DEPTH)[node] * 5)
    for t in range(first[node], first[node + 1]):
        set_bit(rows, base, tokens[t])
    return walk_plain(C, node, base)


@njit
def correct_free_name(C: Any, node: int, base: int, key: int, name: int) -> None:
    """Unmark the tokens that complete a free name already in use; `key` is the part read so far."""
    names = view(C, NAMES)
    length = 0
    at = name
    while at != key and at != 0:
        at = names[at] >> 8
        length += 1
    if at != key:
        return
    for i in range(length):
        at = name
        for _ in range(length - 1 - i):
            at = names[at] >> 8
        byte = names[at] & 0xFF
        if byte < 0x20 or byte == 0x22 or byte == 0x5C:
            return
        node = find_child(C, node, byte)
        if node < 0:
            return
    quote = find_child(C, node, 0x22)
    if quote >= 0:
        clear_below(C, quote, base)


@njit
def key_in_free_text(C: Any, node: int, base: int, stack: int, q: int, x: int, n: int) -> int:
    """Mark what follows inside a key of an open object.

    OK, FULL, DEAD where the shortcut does not apply, REDO where it failed.
    """
    if n >> 60 == 0:
        return DEAD
    frames, sets = view(C, FRAMES), view(C, FST)
    frame = stack * FRAME_WIDTH
    low, high, depth = q & _20, (q >> 20) & _20, q >> 40
    used = frames[frame + F_FREE]
    utf8 = (n >> 24) & _30
    if sets[frames[frame + F_STATE] * FST_WIDTH + S_KEYS] != C[FREE_TEXT_STATE]:
        return key_among_classes(C, node, base, stack, q, n) if x == 0 else DEAD
    if (x != 0 or utf8 != C[FREE_TEXT_STATE]) and (low < high or used != 0):
        return DEAD
    free = utf8 - C[FREE_TEXT_STATE] + 1
    table = lookup(C, M_TABLE, node, (free << 16) | escape_class(x))
    if table < 0:
        note_miss(C)
        return OK
    if mark_content(C, table, base, _NO_LIMIT) != OK:
        note_miss(C)
    fst = drop_for_key(C, frames[frame + F_STATE], frames[frame + F_COUNT], frames[frame + F_SEEN], -1, 1)
    is_object = fst > 0 and sets[fst * FST_WIDTH + S_KIND] == OBJECT_KIND
    slot = lookup(C, M_SLOT, fst, FREE_BIT | 1) if is_object else fst
    if slot == MISS:
        note_miss(C)
    if slot > 0:
        count = frames[frame + F_COUNT]
        if count < sets[fst * FST_WIDTH + S_SATURATE]:
            count += 1
        after = intern_frame(
            C, frames[frame + F_PARENT], slot, count, frames[frame + F_SEEN], used, frames[frame + F_DEPTH]
        )
        if after < 0:
            return FULL
        emit(C, after, COLON if is_object else AFTER, 0, 0, 0)
        code = walk_rest(C, table, base, 0, _NO_LIMIT)
        if code != OK:
            return code
    if low >= high and used == 0:
        return OK
    # Tokens that complete a name after an escape are tried one by one.
    tables, cross, rows = view(C, TABLE), view32(C, CROSS), view32(C, ROWS)
    at = tables[table * TABLE_WIDTH + B_ESCAPED]
    for i in range(tables[table * TABLE_WIDTH + B_ESCAPED_COUNT]):
        token = cross[at + i]
        code = run_token(C, token, view32(C, T_DEPTH)[node], stack, KEY, q, x, n)
        if code == OK:
            set_bit(rows, base, token)
        elif code == FULL:
            return FULL
        else:
            clear_bit(rows, base, token)
            if code == MISS:
                note_miss(C)
    first = sets[frames[frame + F_STATE] * FST_WIDTH + S_NAMES]
    offsets = view32(C, NAME_OFF)
    for name in range(low, high):
        length = offsets[first + name + 1] - offsets[first + name]
        if correct_name(C, node, base, stack, n, name, depth, length) == FULL:
            return FULL
    while used != 0:
        pair = free_pair(C, used)
        correct_free_name(C, node, base, n & _24, pair & _32)
        used = pair >> 32
    return OK


@njit
def try_below(C: Any, node: int, skip: int, base: int, stack: int, q: int, x: int, n: int) -> int:
    """Mark those tokens at and below `node` that a key admits, each tried on its own; OK or FULL.

    The key stands `skip` bytes into the tokens.
    """
    first, tokens, rows = view32(C, T_TOFF), view32(C, T_TID), view32(C, ROWS)
    for t in range(first[node], first[view32(C, T_END)[node]]):
        code = run_token(C, tokens[t], skip, stack, KEY, q, x, n)
        if code == OK:
            set_bit(rows, base, tokens[t])
        elif code == MISS:
            note_miss(C)
        elif code == FULL:
            return FULL
    return OK


@njit
def key_among_classes(C: Any, node: int, base: int, stack: int, q: int, n: int) -> int:
    """Mark what follows inside a key of an object that tells classes of free names apart; OK or FULL.

    The walk follows the declared names still possible and the scanner's state. Tokens that leave the name, or have an
    escape in it, are tried one by one.
    """
    walk = view(C, WALK)
    byte, end, depth = view8(C, T_BYTE), view32(C, T_END), view32(C, T_DEPTH)
    first, tokens, rows = view32(C, T_TOFF), view32(C, T_TID), view32(C, ROWS)
    frames = view(C, FRAMES)
    used = frames[stack * FRAME_WIDTH + F_FREE]
    fst = frames[stack * FRAME_WIDTH + F_STATE]
    first_name = view(C, FST)[fst * FST_WIDTH + S_NAMES]
    skip = depth[node]
    walk[skip * 5 + 2] = q
    walk[skip * 5 + 4] = (n >> 24) & _30 if n >> 60 else 0
    stop = end[node]
    i = node + 1
    while i < stop:
        b = byte[i]
        if b < 0x20:
            i = end[i]
            continue
        if b == 0x22 or b == 0x5C:
            if try_below(C, i, skip, base, stack, q, 0, n) == FULL:
                return FULL
            i = end[i]
            continue
        at = depth[i] * 5
        names = narrow(C, first_name, walk[at - 3], b)
        state = walk[at - 1]
        fine = False
        if state > 0:
            state = successor(C, state, b)
            if state < 0:
                note_miss(C)
                i = end[i]
                continue
        if state > 0:
            code = free_name_opens(C, stack, state, 0)
            if code == MISS:
                note_miss(C)
                i = end[i]
                continue
            fine = code == 1
            if not fine:
                state = 0
        if fine and used != 0 and not goes_on(C, stack, state):
            # Few names are left from here, and some may be in use.
            if try_below(C, i, skip, base, stack, q, 0, n) == FULL:
                return FULL
            i = end[i]
            continue
        if not fine:
            for name in range(names & _20, (names >> 20) & _20):
                if key_opens(C, stack, name):
                    fine = True
                    break
        if not fine:
            i = end[i]
            continue
        walk[at + 2] = names
        walk[at + 4] = state
        for t in range(first[i], first[i + 1]):
            set_bit(rows, base, tokens[t])
        if state > 0 and end[i] - i > _FEW:
            loop = lookup(C, M_KEY_LOOP, fst, state)
            if loop == MISS:
                note_miss(C)
                i = end[i]
                continue
            if view(C, T_CLASSES)[i] & ~loop == 0:
                set_below(C, i, base)
                i = end[i]
                continue
        i += 1
    return OK


@njit
def goes_on(C: Any, frame: int, state: int) -> bool:
    """Whether infinitely many free names can follow a scanner's state, whichever are in use."""
    sets = view(C, FST)
    fst = view(C, FRAMES)[frame * FRAME_WIDTH + F_STATE] * FST_WIDTH
    for i in range(sets[fst + S_ALTS]):
        if memo_get(C, memo_key(M_REACH, sets[fst + S_ALT] // ALT_WIDTH + i, state)) == 1:
            return True
    return False


@njit
def free_pair(C: Any, free: int) -> int:
    return memo_get(C, memo_key(M_FREE, free, _32))


@njit
def in_free_text(C: Any, node: int, base: int, stack: int, mode: int, q: int, x: int, n: int) -> int:
    if mode == STRING:
        return string_in_free_text(C, node, base, stack, q, x, n)
    if mode == KEY:
        return key_in_free_text(C, node, base, stack, q, x, n)
    return DEAD


@njit
def fill_row(C: Any, stack: int, mode: int, q: int, x: int, n: int, base: int) -> int:
    """Mark all tokens that may come next into a zeroed row; OK or FULL. What was missed is in the context."""
    walk = view(C, WALK)
    byte, end, depth = view8(C, T_BYTE), view32(C, T_END), view32(C, T_DEPTH)
    first, tokens, rows = view32(C, T_TOFF), view32(C, T_TID), view32(C, ROWS)
    code = in_free_text(C, 0, base, stack, mode, q, x, n)
    if code == OK or code == FULL:
        return code
    if code == REDO:
        clear_below(C, 0, base)
    emit(C, stack, mode, q, x, n)
    push(C, walk, 0)
    stop = end[0]
    i = 1
    while i < stop:
        at = (depth[i] - 1) * 5
        code = step(C, walk[at], walk[at + 1], walk[at + 2], walk[at + 3], walk[at + 4], byte[i])
        if code == OK:
            at += 5
            push(C, walk, at)
            for t in range(first[i], first[i + 1]):
                set_bit(rows, base, tokens[t])
            if end[i] - i > _FEW and (walk[at + 1] == STRING or walk[at + 1] == KEY) and walk[at + 3] == 0:
                code = DEAD
                if end[i] - i > _SMALL:
                    code = in_free_text(C, i, base, walk[at], walk[at + 1], walk[at + 2], walk[at + 3], walk[at + 4])
                if code == FULL:
                    return FULL
                if code == OK:
                    i = end[i]
                    continue
                if code == REDO:
                    for t in range(first[i + 1], first[end[i]]):
                        clear_bit(rows, base, tokens[t])
                elif walk[at + 1] == STRING:
                    code = stays(C, i, walk[at + 2], walk[at + 4])
                    if code != 0:
                        if code == MISS:
                            note_miss(C)
                        else:
                            set_below(C, i, base)
                        i = end[i]
                        continue
            i += 1
            continue
        if code == MISS:
            note_miss(C)
        elif code == FULL:
            return FULL
        i = end[i]
    return OK


@njit
def row_of(C: Any, position: int) -> int:
    """The number of the mask row of a position; MISS or FULL when Python has to help first."""
    records = view(C, POS)
    at = position * POS_WIDTH
    if records[at + P_ROW] >= 0:
        return records[at + P_ROW]
    words = C[ROW_WORDS]
    row = C[N_ROWS]
    if (row + 1) * words > C[LENGTHS + ROWS]:
        C[FULL_TABLE] = ROWS
        return FULL
    rows = view32(C, ROWS)
    base = row * words
    for i in range(words):
        rows[base + i] = 0
    C[N_MISSES] = 0
    stack, mode, q = records[at + P_STACK], records[at + P_MODE], records[at + P_Q]
    if fill_row(C, stack, mode, q, records[at + P_X], records[at + P_N], base) == FULL:
        return FULL
    if C[N_MISSES]:
        return MISS
    if may_end(C, mode, q, stack):
        eos = view32(C, EOS)
        for i in range(C[LENGTHS + EOS]):
            set_bit(rows, base, eos[i])
    records[at + P_ROW] = row
    C[N_ROWS] = row + 1
    return row


@njit
def copy_row(address: int, position: int, out: Any) -> int:
    """Write the mask of a position into `out` (int32; extra words are cleared); OK, MISS or FULL."""
    C = context(address)
    row = row_of(C, position)
    if row < 0:
        return row
    rows = view32(C, ROWS)
    words = C[ROW_WORDS]
    base = row * words
    shared = min(words, out.size)
    for i in range(shared):
        out[i] = rows[base + i]
    for i in range(shared, out.size):
        out[i] = 0
    return OK


# ---- driving the automaton -------------------------------------------------------------------------------------------


@njit
def run_token(C: Any, token: int, skip: int, stack: int, mode: int, q: int, x: int, n: int) -> int:
    """Step through a token's bytes after the first `skip`."""
    offsets = view32(C, TOKEN_OFF)
    data = view8(C, TOKEN_BYTES)
    for i in range(offsets[token] + skip, offsets[token + 1]):
        code = step(C, stack, mode, q, x, n, data[i])
        if code != OK:
            return code
        stack, mode, q, x, n = C[OUT], C[OUT + 1], C[OUT + 2], C[OUT + 3], C[OUT + 4]
    return OK


@njit
def accept_token(address: int, position: int, token: int) -> int:
    """The position after a token, or REFUSED, MISS or FULL."""
    C = context(address)
    offsets = view32(C, TOKEN_OFF)
    if offsets[token] == offsets[token + 1]:
        return REFUSED
    records = view(C, POS)
    at = position * POS_WIDTH
    code = run_token(C, token, 0, records[at], records[at + 1], records[at + 2], records[at + 3], records[at + 4])
    if code == DEAD:
        return REFUSED
    if code != OK:
        return code
    to = intern_position(C, C[OUT], C[OUT + 1], C[OUT + 2], C[OUT + 3], C[OUT + 4])
    return to if to >= 0 else FULL


@njit
def accept_byte(address: int, position: int, byte: int) -> int:
    """The position after a byte, or REFUSED, MISS or FULL."""
    C = context(address)
    records = view(C, POS)
    at = position * POS_WIDTH
    code = step(C, records[at], records[at + 1], records[at + 2], records[at + 3], records[at + 4], byte)
    if code == DEAD:
        return REFUSED
    if code != OK:
        return code
    to = intern_position(C, C[OUT], C[OUT + 1], C[OUT + 2], C[OUT + 3], C[OUT + 4])
    return to if to >= 0 else FULL
