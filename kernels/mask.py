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

from . import call
from .call import step
from .intern import (
    F_FREE,
    F_STATE,
    FRAME_WIDTH,
    M_FREE,
    M_TABLE,
    M_TABLE_ROW,
    NO_MASK,
    P_MODE,
    P_N,
    P_Q,
    P_ROW,
    P_STACK,
    P_X,
    POS_WIDTH,
    intern_position,
    memo_get,
    memo_key,
)
from .jit import njit
from .key_walk import after_free_name, key_walk, run_token
from .layout import (
    COUNTED,
    DEAD,
    E_MAX,
    E_MIN,
    FST_WIDTH,
    FULL,
    KEY,
    LITERAL,
    LOW_20,
    LOW_24,
    LOW_30,
    LOW_32,
    MARK_SHIFT,
    MISS,
    OK,
    Q_ENTRY,
    Q_FLAGS,
    Q_FREE,
    Q_FREE_OUTCOME,
    Q_LOOP,
    Q_READY,
    RAW,
    S_KEYS,
    S_NAMES,
    SIMPLE,
    STATE_WIDTH,
    STRING,
    X_BACKSLASH,
    X_HEX,
    X_LOW,
    X_NONE,
)
from .marked import clear_completing
from .marks import (
    ENTER,
    FEW,
    POSTPONED_WIDTH,
    STEP_IN,
    STEP_IN_SPECIAL,
    TEXT_BESIDE,
    TEXT_WITHIN,
    add_row,
    clear_below,
    clear_bit,
    is_hopeless,
    note_miss,
    postpone,
    push,
    put,
    set_bit,
    walk_children,
    walk_special,
)
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
    N_MISSES,
    N_POSTPONED,
    N_ROWS,
    NAME_OFF,
    NAMES,
    OUT,
    PLAIN_ESCAPES,
    POS,
    POSTPONED,
    RESUME,
    ROW_WORDS,
    ROWS,
    STATE,
    T_KID_BYTE,
    T_KID_NODE,
    T_KIDS,
    T_NODE,
    T_TID,
    TABLE,
    TOKEN_OFF,
    WALK,
    WIRE,
    X_NODE,
    X_TID,
    context,
    node_byte,
    node_depth,
    node_end,
    node_first,
    node_stop,
    view,
    view8,
    view32,
)
from .names import key_end, name_bytes_at
from .packed import begin_row, copy_mask, has_room, is_code, pack
from .raw_walk import raw_walk
from .step import may_end
from .text_walk import resume_text, string_walk
from .transitions import lookup
from .values import complete

# Fields of a terminal table.
#   content: pairs (token, code points), fewest code points first; a ready row, or -1 where the list is short
#   ends: pairs of the tokens that end with the quote
#   rest: nodes (byte, end, first pair, pairs) of the trie of remainders in preorder, its pairs
#   escaped: tokens that leave the text after an escape
B_CONTENT, B_CONTENTS, B_ROW, B_ENDS, B_END_COUNT, B_NODES, B_NODE_COUNT, B_PAIRS, B_ESCAPED, B_ESCAPED_COUNT = range(
    10
)
TABLE_WIDTH = 10
_NO_LIMIT = 1 << 40
REFUSED, REDO = -3, -4


@njit
def walk_rest(C: Any, table: int, base: int, low: int, high: int) -> int:
    """Mark the tokens that leave free text, from the state after the quote (in the result registers).

    Only tokens with low .. high code points before the quote count. Returns OK, MISS, FULL, or REDO when a remainder
    holds a whole key, which this shortcut does not cover.
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
    missed = False
    i = 0
    while i < count:
        node = nodes + 5 * i
        up = bottom + (cross[node + 4] - 1) * 5
        mode = walk[up + 1]
        if is_hopeless(C, walk, up, cross[node]):
            i = cross[node + 1]
            continue
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
            missed = True
        elif code == FULL:
            return FULL
        i = cross[node + 1]
    return MISS if missed else OK


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
    add_row(C, row, base)
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
    kids, kid_byte = view32(C, T_KIDS), view8(C, T_KID_BYTE)
    low, high = kids[node], kids[node + 1]
    while low < high:
        middle = (low + high) >> 1
        if kid_byte[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return view32(C, T_KID_NODE)[low] if low < kids[node + 1] and kid_byte[low] == wanted else -1


@njit
def string_in_free_text(C: Any, node: int, base: int, stack: int, q: int, x: int, n: int) -> int:
    """Mark what follows inside an unconstrained string.

    OK, MISS, FULL, DEAD where the shortcut does not apply, REDO where it failed.
    """
    states = view(C, STATE)
    at = q * STATE_WIDTH
    free = states[at + Q_FREE]
    flags = states[at + Q_FLAGS]
    if free == 0 or (flags & COUNTED and flags & SIMPLE == 0) or (x != 0 and C[PLAIN_ESCAPES]):
        return DEAD
    table = lookup(C, M_TABLE, node, (free << 16) | escape_class(x))
    if table < 0:
        note_miss(C)
        return MISS
    low, high = 0, _NO_LIMIT
    if flags & COUNTED:
        entry = states[at + Q_ENTRY]
        low = view(C, ENTRY)[entry + E_MIN] - n
        high = view(C, ENTRY)[entry + E_MAX] - n
    marked = mark_content(C, table, base, high)
    if marked != OK:
        note_miss(C)
    # The outcome at any quote is that of a boundary state within the bounds, the same wherever the quote is.
    code = complete(C, stack, states[at + Q_FREE_OUTCOME])
    if code == OK:
        code = walk_rest(C, table, base, low, high)
    elif code == MISS:
        note_miss(C)
    elif code == DEAD:
        code = OK
    return MISS if code == OK and marked != OK else code


@njit
def correct_name(C: Any, node: int, base: int, stack: int, n: int, name: int, start: int, length: int) -> int:
    """Redo the tokens that complete a declared name of an open object; OK, MISS or FULL."""
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
    if code == OK:
        return mark_below(C, quote, base)
    return OK if code == DEAD else code


@njit
def mark_below(C: Any, node: int, base: int) -> int:
    """Mark the tokens at and below `node`, whose state is in the result registers; OK or FULL."""
    nodes, tokens, rows = view32(C, T_NODE), view32(C, T_TID), view32(C, ROWS)
    push(C, view(C, WALK), node_depth(view32(C, T_NODE), node) * 5)
    for t in range(node_first(nodes, node), node_stop(nodes, node)):
        set_bit(rows, base, tokens[t])
    return walk_children(C, node, base, False)


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

    OK, MISS, FULL, DEAD where the shortcut does not apply, REDO where it failed.
    """
    if n >> 60 == 0:
        return DEAD
    frames, sets = view(C, FRAMES), view(C, FST)
    frame = stack * FRAME_WIDTH
    low, high, depth = q & LOW_20, (q >> 20) & LOW_20, q >> 40
    used = frames[frame + F_FREE]
    utf8 = (n >> 24) & LOW_30
    if sets[frames[frame + F_STATE] * FST_WIDTH + S_KEYS] != C[FREE_TEXT_STATE]:
        if x != 0:
            return DEAD
        return FULL if key_walk(C, node, base, stack, q, n) == FULL else OK
    if (x != 0 or utf8 != C[FREE_TEXT_STATE]) and (low < high or used != 0):
        return DEAD
    if x != 0 and C[PLAIN_ESCAPES]:  # few tokens go on with an escape then
        return DEAD
    free = utf8 - C[FREE_TEXT_STATE] + 1
    table = lookup(C, M_TABLE, node, (free << 16) | escape_class(x))
    if table < 0:
        note_miss(C)
        return MISS
    missed = mark_content(C, table, base, _NO_LIMIT) != OK
    if missed:
        note_miss(C)
    code = after_free_name(C, stack, 1)
    if code == OK:
        code = walk_rest(C, table, base, 0, _NO_LIMIT)
        if code == FULL or code == REDO:
            return code
        missed = missed or code == MISS
    elif code == MISS:
        note_miss(C)
        missed = True
    elif code == FULL:
        return FULL
    if low >= high and used == 0:
        return MISS if missed else OK
    # Tokens that complete a name after an escape are tried one by one.
    tables, cross, rows = view(C, TABLE), view32(C, CROSS), view32(C, ROWS)
    at = tables[table * TABLE_WIDTH + B_ESCAPED]
    for i in range(tables[table * TABLE_WIDTH + B_ESCAPED_COUNT]):
        token = cross[at + i]
        code = run_token(C, token, node_depth(view32(C, T_NODE), node), stack, KEY, q, x, n)
        if code == OK:
            set_bit(rows, base, token)
        elif code == FULL:
            return FULL
        else:
            clear_bit(rows, base, token)
            if code == MISS:
                note_miss(C)
                missed = True
    first = sets[frames[frame + F_STATE] * FST_WIDTH + S_NAMES]
    offsets = view32(C, NAME_OFF)
    for name in range(low, high):
        length = offsets[first + name + 1] - offsets[first + name]
        code = correct_name(C, node, base, stack, n, name, depth, length)
        if code == FULL:
            return FULL
        missed = missed or code == MISS
    while used != 0:
        pair = memo_get(C, memo_key(M_FREE, used, LOW_32))
        correct_free_name(C, node, base, n & LOW_24, pair & LOW_32)
        used = pair >> 32
    return MISS if missed else OK


# ---- whole rows ------------------------------------------------------------------------------------------------------


@njit
def enter_text(C: Any, node: int, base: int, stack: int, mode: int, q: int, x: int, n: int) -> int:
    """Mark the tokens below a node inside a string or key, in the quickest way there is.

    OK (some of it may be postponed), FULL, or DEAD where the walk has to go step by step.
    """
    code = DEAD
    size = node_end(view32(C, T_NODE), node) - node
    if size > FEW or node == 0:
        if mode == STRING:
            code = string_in_free_text(C, node, base, stack, q, x, n)
        elif mode == KEY:
            code = key_in_free_text(C, node, base, stack, q, x, n)
    if code == MISS:
        return OK if postpone(C, ENTER, node, stack, mode, q, x, n) == MISS else FULL
    if code == REDO:
        nodes, tokens, rows = view32(C, T_NODE), view32(C, T_TID), view32(C, ROWS)
        for t in range(node_stop(nodes, node), node_first(nodes, node_end(nodes, node))):
            clear_bit(rows, base, tokens[t])
        return DEAD
    if code == DEAD and mode == STRING and x == 0:
        code = string_walk(C, node, base, stack, q, n)
        return FULL if code == FULL else OK
    if mode == RAW and n == 0:
        return raw_walk(C, node, base, stack, q)
    return code


@njit
def walk_below(C: Any, node: int, base: int, stack: int, mode: int, q: int, x: int, n: int) -> int:
    """Mark the tokens below a node, in the given state there; OK (some of it may be postponed) or FULL."""
    walk, nodes = view(C, WALK), view32(C, T_NODE)
    code = call.enter_text(C, node, base, stack, mode, q, x, n)
    if code != DEAD:
        return code
    put(walk, node_depth(nodes, node) * 5, stack, mode, q, x, n)
    return walk_children(C, node, base, True)


@njit
def resume(C: Any, base: int) -> int:
    """Walk what was postponed. OK, MISS when some is put off again, or FULL; then what is left is still noted."""
    entries = view(C, POSTPONED)
    count = C[N_POSTPONED]
    C[N_MISSES] = 0
    done = 0
    code = OK
    while done < count and code != FULL:
        at = done * POSTPONED_WIDTH
        kind, node = entries[at], entries[at + 1]
        stack, mode, q, x, n, more = (
            entries[at + 2],
            entries[at + 3],
            entries[at + 4],
            entries[at + 5],
            entries[at + 6],
            entries[at + 7],
        )
        if kind == ENTER:
            code = call.walk_below(C, node, base, stack, mode, q, x, n)
        elif kind == STEP_IN or kind == STEP_IN_SPECIAL:
            code = resume_step(C, kind, node, base, stack, mode, q, x, n)
        elif kind == TEXT_WITHIN or kind == TEXT_BESIDE:
            code = resume_text(C, kind, node, base, stack, q, n)
        else:
            code = call.resume_key(C, kind, node, base, stack, mode, q, x, n, more)
        if code != FULL:
            done += 1
    left = C[N_POSTPONED] - done
    for i in range(left * POSTPONED_WIDTH):
        entries[i] = entries[done * POSTPONED_WIDTH + i]
    C[N_POSTPONED] = left
    if code == FULL:
        return FULL
    return MISS if left else OK


@njit
def resume_step(C: Any, kind: int, node: int, base: int, stack: int, mode: int, q: int, x: int, n: int) -> int:
    """Step into a node of one of the tries and walk what is below; OK (some of it may be postponed) or FULL."""
    special = kind == STEP_IN_SPECIAL
    nodes = view32(C, X_NODE if special else T_NODE)
    byte = node_byte(nodes, node)
    code = step(C, stack, mode, q, x, n, byte)
    if code == MISS:
        return OK if postpone(C, kind, node, stack, mode, q, x, n) == MISS else FULL
    if code != OK:
        return FULL if code == FULL else OK
    tokens = view32(C, X_TID if special else T_TID)
    rows = view32(C, ROWS)
    for t in range(node_first(nodes, node), node_stop(nodes, node)):
        set_bit(rows, base, tokens[t])
    if special:
        push(C, view(C, WALK), node_depth(view32(C, X_NODE), node) * 5)
        return walk_special(C, node, base)
    return call.walk_below(C, node, base, C[OUT], C[OUT + 1], C[OUT + 2], C[OUT + 3], C[OUT + 4])


@njit
def row_of(C: Any, position: int) -> int:
    """The number of the mask row of a position, which may be a packed one (see `packed.py`).

    MISS or FULL when Python has to help first.
    """
    row = view(C, POS)[position * POS_WIDTH + P_ROW]
    return row if row != NO_MASK else call.new_row(C, position)


@njit
def new_row(C: Any, position: int) -> int:
    """As `row_of`, of a position that has no row yet."""
    records = view(C, POS)
    at = position * POS_WIDTH
    words = C[ROW_WORDS]
    row = C[N_ROWS]
    base = row * words
    stack, mode, q, x = records[at + P_STACK], records[at + P_MODE], records[at + P_Q], records[at + P_X]
    mark = x >> MARK_SHIFT if C[WIRE] and (mode == STRING or mode == KEY or mode == LITERAL) else 0
    if C[RESUME] == position + 1:
        code = resume(C, base)
    else:
        if (row + 1) * words > C[LENGTHS + ROWS]:
            C[FULL_TABLE] = ROWS
            return FULL
        if not has_room(C):
            return FULL
        begin_row(C, row)
        C[N_MISSES] = 0
        C[N_POSTPONED] = 0
        C[RESUME] = 0
        code = call.walk_below(C, 0, base, stack, mode, q, x - (mark << MARK_SHIFT), records[at + P_N])
        if code == OK and C[N_POSTPONED]:
            code = MISS
            C[RESUME] = position + 1
    if code != OK:
        return code
    C[RESUME] = 0
    if C[WIRE]:
        C[N_MISSES] = 0
        code = clear_completing(C, base, mark, stack, mode, q, x, records[at + P_N])
        if code != OK:
            return code
    if may_end(C, mode, q, stack):
        eos = view32(C, EOS)
        for i in range(C[LENGTHS + EOS]):
            set_bit(view32(C, ROWS), base, eos[i])
    if mode != STRING:
        packed = pack(C, row)
        if packed != 0:
            records[at + P_ROW] = packed
            return packed
    records[at + P_ROW] = row
    C[N_ROWS] = row + 1
    if mode == STRING and x == 0 and not C[WIRE]:  # what stays within the string is the same wherever it stands
        states = view(C, STATE)
        state = q * STATE_WIDTH
        if states[state + Q_LOOP] > 0 and states[state + Q_READY] == 0 and states[state + Q_FLAGS] & COUNTED == 0:
            states[state + Q_READY] = -row - 1
    return row


@njit
def copy_row(address: int, position: int, out: Any) -> int:
    """Write the mask of a position into `out` (int32, contiguous; extra words are cleared); OK, MISS or FULL."""
    C = context(address)
    row = row_of(C, position)
    if is_code(row):
        return row
    copy_mask(C, row, out.ctypes.data, out.size)
    return OK


# ---- driving the automaton -------------------------------------------------------------------------------------------


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
