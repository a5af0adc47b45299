"""Mask walks inside a key of an object whose free names fall into classes, told apart by patterns.

As inside a string, the tokens that consist of characters of a loop are a ready row; the walk follows the other ones,
and the declared names still possible, each of which may go where no free name does. The special tokens end the name
or hold an escape. What follows the name is read as if the name were not in use from then on, which only matters where
a token holds another whole key, or where few names are left: there tokens are tried one by one.
"""

from __future__ import annotations

from typing import Any

from .call import step
from .classes import CONTINUES, NO_CLASS
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
    M_REACH,
    M_ROW,
    M_SLOT,
    intern_frame,
    memo_get,
    memo_key,
)
from .jit import njit
from .layout import (
    A_OPEN,
    AFTER,
    ALT_WIDTH,
    BOUNDARY,
    CLOSED,
    COLON,
    DEAD,
    FREE_BIT,
    FST_WIDTH,
    FULL,
    KEY,
    LOW_20,
    LOW_24,
    LOW_30,
    LOW_32,
    MISS,
    OBJECT_KIND,
    OK,
    Q_FLAGS,
    Q_KEY,
    Q_OUTCOME,
    S_ALT,
    S_ALTS,
    S_KEYS,
    S_KIND,
    S_NAMES,
    S_SATURATE,
    S_WORDS,
    STATE_WIDTH,
)
from .loops import UNLIMITED
from .marks import (
    ENTER,
    KEY_BESIDE,
    KEY_IN,
    KEY_IN_SPECIAL,
    KEY_WITHIN,
    STEP_IN_SPECIAL,
    add_row,
    clear_bit,
    is_hopeless,
    note_miss,
    postpone,
    postpone_with,
    push,
    set_below,
    set_bit,
    walk_special,
)
from .members import drop_for_key, free_name_opens, has_room, key_opens
from .memory import (
    ALT,
    DFA,
    FRAMES,
    FST,
    KEY_LOOPS,
    LOOP_SIZES,
    NAMES,
    OUT,
    ROWS,
    STATE,
    T_CLASSES,
    T_HEIGHT,
    T_NODE,
    T_OWN,
    T_TID,
    TOKEN_BYTES,
    TOKEN_OFF,
    WALK,
    WALK_DEAD,
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
from .names import add_byte, key_end, name_bytes_at, narrow
from .text_walk import NO_ROW, limited_row
from .transitions import emit, lookup, miss, successor

_FEW = 48
_MANY = 400
_SOME = 4
_UNCLASSED = 1 << NO_CLASS
_BY_TOKEN = 2  # a subtree whose tokens have to be tried one by one
KEY_LOOP_WIDTH = 6
# of KEY_LOOPS: the classes of the loop, those that cannot follow, the row of the loop or NO_ROW, how far this holds and
# how far where no long name is in use, and whether then no longer token of the row can follow


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
def _try_below(C: Any, special: bool, node: int, skip: int, base: int, stack: int, q: int, n: int) -> int:
    """Mark those of a trie's tokens at and below `node` that a key admits, each tried on its own; OK, MISS or FULL.

    The key stands `skip` bytes into the tokens.
    """
    nodes = view32(C, X_NODE if special else T_NODE)
    tokens, rows = view32(C, X_TID if special else T_TID), view32(C, ROWS)
    missed = False
    for t in range(node_first(nodes, node), node_first(nodes, node_end(nodes, node))):
        code = run_token(C, tokens[t], skip, stack, KEY, q, 0, n)
        if code == OK:
            set_bit(rows, base, tokens[t])
            continue
        clear_bit(rows, base, tokens[t])
        if code == FULL:
            return FULL
        if code == MISS:
            missed = True
            note_miss(C)
    return MISS if missed else OK


@njit
def _goes_on(C: Any, frame: int, state: int) -> bool:
    """Whether infinitely many free names can follow a scanner's state, whichever are in use."""
    sets = view(C, FST)
    fst = view(C, FRAMES)[frame * FRAME_WIDTH + F_STATE] * FST_WIDTH
    for i in range(sets[fst + S_ALTS]):
        if memo_get(C, memo_key(M_REACH, sets[fst + S_ALT] // ALT_WIDTH + i, state)) == 1:
            return True
    return False


@njit
def _plenty(C: Any, stack: int) -> int:
    """Whether all alternatives that are open have room and infinitely many free names: 1, 0 or MISS."""
    frames, sets, alts = view(C, FRAMES), view(C, FST), view(C, ALT)
    frame = stack * FRAME_WIDTH
    fst = frames[frame + F_STATE] * FST_WIDTH
    at = sets[fst + S_ALT]
    for _ in range(sets[fst + S_ALTS]):
        if alts[at + A_OPEN] != CLOSED:
            if not has_room(C, at, sets[fst + S_WORDS], frames[frame + F_COUNT], frames[frame + F_SEEN]):
                return 0
            reach = lookup(C, M_REACH, at // ALT_WIDTH, sets[fst + S_KEYS])
            if reach != 1:
                return MISS if reach == MISS else 0
        at += ALT_WIDTH
    return 1


@njit
def _some_name_opens(C: Any, stack: int, names: int) -> bool:
    for name in range(names & LOW_20, (names >> 20) & LOW_20):
        if key_opens(C, stack, name):
            return True
    return False


@njit
def _is_empty(names: int) -> bool:
    return names & LOW_20 >= (names >> 20) & LOW_20


@njit
def content_walk(
    C: Any, start: int, stop: int, base: int, stack: int, skip: int, names: int, state: int, q: int, n: int,
    loop: int, dead: int, far: int, special: bool,
) -> int:  # fmt: skip
    """Mark the tokens at the nodes `start` .. `stop` - 1, whose parent has the names and the scanner's state given.

    `q` and `n` are the registers of the key where it stands `skip` bytes into the tokens. `loop`, `dead` and `far` are
    as for strings. Special tokens only where `special` is set. OK or FULL.
    """
    walk, rows = view(C, WALK), view32(C, ROWS)
    nodes, tokens, own = view32(C, T_NODE), view32(C, T_TID), view8(C, T_OWN)
    classes, height = view(C, T_CLASSES), view32(C, T_HEIGHT)
    frames = view(C, FRAMES)
    settled = loop | dead | _UNCLASSED
    used = frames[stack * FRAME_WIDTH + F_FREE]
    fst = frames[stack * FRAME_WIDTH + F_STATE]
    first_name = view(C, FST)[fst * FST_WIDTH + S_NAMES]
    if start >= stop:
        return OK
    at = (node_depth(nodes, start) - 1) * 5
    walk[at], walk[at + 1], walk[at + 2], walk[at + 4] = 1 if loop != 0 else 0, -1, names, state
    plenty = _plenty(C, stack) == 1
    i = start
    while i < stop:
        b = node_byte(nodes, i)
        at = node_depth(nodes, i) * 5
        names, state = walk[at - 3], walk[at - 1]
        # Within the loop, what is below is marked already or cannot follow; then no step is needed to know.
        settles = classes[i] & ~settled == 0 and node_depth(nodes, i) + height[i] <= far
        goes_on = walk[at - 5] != 0 and (own[i] == CONTINUES or (loop >> own[i]) & 1 != 0)
        if _is_empty(names) and walk[at - 5] != 0 and own[i] != CONTINUES and (dead >> own[i]) & 1 != 0:
            i = node_end(nodes, i)
            continue
        if _is_empty(names) and goes_on and settles:
            i = node_end(nodes, i)
            continue
        if goes_on and classes[i] & ~loop == 0 and height[i] < walk[at - 4]:  # within reach of the node before
            for t in range(node_first(nodes, i), node_first(nodes, node_end(nodes, i))):
                set_bit(rows, base, tokens[t])
            i = node_end(nodes, i)
            continue
        code = OK
        if b == 0x22 or b == 0x5C:
            if special:
                code = _try_below(C, False, i, skip, base, stack, q, n)
        elif b >= 0x20:
            code = _content_step(C, stack, first_name, names, state, b, used)
        if code == FULL:
            return FULL
        later = KEY_IN if special else KEY_WITHIN if walk[at - 5] != 0 else KEY_BESIDE
        if code == MISS:
            if postpone_with(C, later, i, stack, skip, names, state, n, q) == FULL:
                return FULL
        if b == 0x22 or b == 0x5C or b < 0x20 or code == MISS:
            i = node_end(nodes, i)
            continue
        names, state = C[OUT], C[OUT + 1]
        if code == _BY_TOKEN and _is_empty(C[OUT]) and not _is_begun(C, False, used, n & LOW_24, i, skip):
            code = OK
        if code == _BY_TOKEN:
            code = _try_below(C, False, i, skip, base, stack, q, n)
            if code == FULL:
                return FULL
            if code == MISS and postpone_with(C, later, i, stack, skip, walk[at - 3], walk[at - 1], n, q) == FULL:
                return FULL
            i = node_end(nodes, i)
            continue
        if code == DEAD:
            i = node_end(nodes, i)
            continue
        within = state > 0 and goes_on
        if within and settles and _is_empty(names):
            i = node_end(nodes, i)
            continue
        for t in range(node_first(nodes, i), node_stop(nodes, i)):
            set_bit(rows, base, tokens[t])
        size = node_end(nodes, i) - i
        walk[at + 1] = -1
        between = state > 0 and view(C, STATE)[state * STATE_WIDTH + Q_FLAGS] & BOUNDARY != 0
        if plenty and between and size > (_SOME if within else _MANY):
            # Within a loop that does not hold for all that is below, another one may that is at hand.
            key = memo_key(M_KEY_LOOP, fst, state)
            record = memo_get(C, key) if within else lookup(C, M_KEY_LOOP, fst, state)
            if record == MISS and not within:
                if postpone_with(C, later, i, stack, skip, walk[at - 3], walk[at - 1], n, q) == FULL:
                    return FULL
                i = node_end(nodes, i)
                continue
            loops = view(C, KEY_LOOPS)
            known = max(0, record) * KEY_LOOP_WIDTH
            if record >= 0 and classes[i] & ~loops[known] == 0 and height[i] <= loops[known + 3]:
                set_below(C, i, base)
                i = node_end(nodes, i)
                continue
            if record >= 0 and loops[known] == loop:
                walk[at + 1] = loops[known + 3]
        walk[at] = 1 if within else 0
        walk[at + 2], walk[at + 4] = names, state
        i += 1
    return OK


@njit
def _content_step(C: Any, stack: int, first_name: int, names: int, state: int, byte: int, used: int) -> int:
    """The names and the scanner's state after one more byte of a name, in the first two result registers.

    OK, DEAD, MISS, or _BY_TOKEN where few names are left, and some may be in use.
    """
    if not _is_empty(names):
        names = narrow(C, first_name, names, byte)
    if state > 0:
        state = successor(C, state, byte)
        if state < 0:
            return MISS
    C[OUT] = names
    if state > 0:
        states = view(C, STATE)
        known = states[state * STATE_WIDTH + Q_KEY]
        if known >> 2 != stack + 1:  # else it was asked before for the same object
            code = free_name_opens(C, stack, state, 0, False)
            if code == MISS:
                return MISS
            known = (stack + 1) << 2
            if code == 1:
                known |= 1 if _goes_on(C, stack, state) else 2
            states[state * STATE_WIDTH + Q_KEY] = known
        if known & 3 != 0:
            C[OUT + 1] = state
            return _BY_TOKEN if known & 3 == 2 and (used != 0 or not _is_empty(names)) else OK
    C[OUT + 1] = 0
    return OK if _some_name_opens(C, stack, names) else DEAD


@njit
def _is_used(C: Any, free: int, name: int, token: int, skip: int, stop: int) -> bool:
    """Whether the free names in use include `name` with a token's bytes `skip` .. `stop` - 1 behind it."""
    names = view(C, NAMES)
    data = view8(C, TOKEN_BYTES)
    begin = view32(C, TOKEN_OFF)[token]
    while free != 0:
        pair = memo_get(C, memo_key(M_FREE, free, LOW_32))
        at = pair & LOW_32
        k = stop - 1
        while k >= skip and at != 0 and names[at] & 0xFF == data[begin + k]:
            at = names[at] >> 8
            k -= 1
        if k < skip and at == name:
            return True
        free = pair >> 32
    return False


@njit
def _is_begun(C: Any, special: bool, free: int, name: int, node: int, skip: int) -> bool:
    """Whether a free name in use begins with `name` and the bytes of a trie's node after its first `skip`."""
    names, data = view(C, NAMES), view8(C, TOKEN_BYTES)
    nodes, tokens = view32(C, X_NODE if special else T_NODE), view32(C, X_TID if special else T_TID)
    begin = view32(C, TOKEN_OFF)[tokens[node_first(nodes, node)]]
    size = node_depth(nodes, node) - skip
    while free != 0:
        pair = memo_get(C, memo_key(M_FREE, free, LOW_32))
        length = 0
        at = pair & LOW_32
        while at != name and at != 0:
            at = names[at] >> 8
            length += 1
        if at == name and length >= size:
            at = pair & LOW_32
            for _ in range(length - size):
                at = names[at] >> 8
            k = size - 1
            while k >= 0 and names[at] & 0xFF == data[begin + skip + k]:
                at = names[at] >> 8
                k -= 1
            if k < 0:
                return True
        free = pair >> 32
    return False


@njit
def after_free_name(C: Any, stack: int, outcome: int) -> int:
    """The state after a free name of an outcome, which is not counted among those in use; OK, DEAD, MISS or FULL."""
    frames, sets = view(C, FRAMES), view(C, FST)
    frame = stack * FRAME_WIDTH
    count = frames[frame + F_COUNT]
    fst = drop_for_key(C, frames[frame + F_STATE], count, frames[frame + F_SEEN], -1, outcome)
    if fst <= 0:
        return fst
    is_object = sets[fst * FST_WIDTH + S_KIND] == OBJECT_KIND
    state = lookup(C, M_SLOT, fst, FREE_BIT | outcome) if is_object else fst
    if state <= 0:
        return state
    if count < sets[fst * FST_WIDTH + S_SATURATE]:
        count += 1
    after = intern_frame(
        C, frames[frame + F_PARENT], state, count, frames[frame + F_SEEN], frames[frame + F_FREE],
        frames[frame + F_DEPTH],
    )  # fmt: skip
    if after < 0:
        return FULL
    return emit(C, after, COLON if is_object else AFTER, 0, 0, 0)


@njit
def _rest_walk(C: Any, node: int, base: int) -> int:
    """Mark the special tokens below a node that ends a key, its state on the walk's stack.

    OK, FULL, or _BY_TOKEN when one of them holds another whole key.
    """
    walk, rows = view(C, WALK), view32(C, ROWS)
    nodes, tokens = view32(C, X_NODE), view32(C, X_TID)
    stop = node_end(nodes, node)
    i = node + 1
    while i < stop:
        at = (node_depth(nodes, i) - 1) * 5
        mode = walk[at + 1]
        if is_hopeless(C, walk, at, node_byte(nodes, i)):
            i = node_end(nodes, i)
            continue
        code = step(C, walk[at], mode, walk[at + 2], walk[at + 3], walk[at + 4], node_byte(nodes, i))
        if code == OK:
            if mode == KEY and C[OUT + 1] != KEY:
                return _BY_TOKEN
            push(C, walk, at + 5)
            for t in range(node_first(nodes, i), node_stop(nodes, i)):
                set_bit(rows, base, tokens[t])
            i += 1
            continue
        if code == MISS:
            code = postpone(C, STEP_IN_SPECIAL, i, walk[at], mode, walk[at + 2], walk[at + 3], walk[at + 4])
        if code == FULL:
            return FULL
        i = node_end(nodes, i)
    return OK


@njit
def _end_name(
    C: Any, i: int, base: int, stack: int, skip: int, names: int, state: int, q: int, n: int, plenty: bool
) -> int:
    """Mark the special tokens at and below a node that is the closing quote of a key; OK, MISS or FULL."""
    frames, rows, walk = view(C, FRAMES), view32(C, ROWS), view(C, WALK)
    nodes, tokens = view32(C, X_NODE), view32(C, X_TID)
    first_name = view(C, FST)[frames[stack * FRAME_WIDTH + F_STATE] * FST_WIDTH + S_NAMES]
    declared = not _is_empty(names) and name_bytes_at(C, first_name, names & LOW_20, names >> 40) < 0
    if declared:
        code = key_end(C, stack, names, n)
    elif state == 0:
        return DEAD
    elif not plenty:
        return _try_below(C, True, i, skip, base, stack, q, n)
    else:
        outcome = view(C, STATE)[state * STATE_WIDTH + Q_OUTCOME]
        used = frames[stack * FRAME_WIDTH + F_FREE]
        if outcome == 0:
            return DEAD
        token = tokens[node_first(nodes, i)]
        if used != 0 and _is_used(C, used, n & LOW_24, token, skip, node_depth(nodes, i) - 1):
            return DEAD
        code = after_free_name(C, stack, outcome)
    if code != OK:
        return code
    push(C, walk, node_depth(nodes, i) * 5)
    for t in range(node_first(nodes, i), node_stop(nodes, i)):
        set_bit(rows, base, tokens[t])
    if declared:
        return walk_special(C, i, base)
    code = _rest_walk(C, i, base)
    return _try_below(C, True, i, skip, base, stack, q, n) if code == _BY_TOKEN else code


@njit
def _escape(C: Any, i: int, base: int, stack: int, skip: int, names: int, state: int, n: int) -> int:
    """Mark the special tokens at and below a node that is a backslash inside a key; OK, MISS or FULL."""
    rows, walk = view32(C, ROWS), view(C, WALK)
    nodes, tokens = view32(C, X_NODE), view32(C, X_TID)
    if state > 0:  # the name is written down
        data = view8(C, TOKEN_BYTES)
        begin = view32(C, TOKEN_OFF)[tokens[node_first(nodes, i)]]
        name = n & LOW_24
        for k in range(skip, node_depth(nodes, i) - 1):
            name = add_byte(C, name, data[begin + k])
            if name < 0:
                return FULL
        n = name | (state << 24) | (1 << 60)
    else:
        n = 0
    code = step(C, stack, KEY, names, 0, n, 0x5C)
    if code != OK:
        return code
    push(C, walk, node_depth(nodes, i) * 5)
    for t in range(node_first(nodes, i), node_stop(nodes, i)):
        set_bit(rows, base, tokens[t])
    return walk_special(C, i, base)


@njit
def special_walk(
    C: Any, start: int, stop: int, base: int, stack: int, skip: int, names: int, state: int, q: int, n: int
) -> int:
    """As `content_walk`, for the trie of special tokens."""
    walk = view(C, WALK)
    nodes = view32(C, X_NODE)
    frames = view(C, FRAMES)
    used = frames[stack * FRAME_WIDTH + F_FREE]
    first_name = view(C, FST)[frames[stack * FRAME_WIDTH + F_STATE] * FST_WIDTH + S_NAMES]
    plenty = _plenty(C, stack)
    if plenty == MISS:
        note_miss(C)
    if start >= stop:
        return OK
    at = (node_depth(nodes, start) - 1) * 5
    walk[at + 2], walk[at + 4] = names, state
    i = start
    while i < stop:
        b = node_byte(nodes, i)
        at = node_depth(nodes, i) * 5
        names, state = walk[at - 3], walk[at - 1]
        if b < 0x20:
            code = DEAD
        elif plenty == MISS:
            code = MISS
        elif b == 0x22:
            code = _end_name(C, i, base, stack, skip, names, state, q, n, plenty == 1)
        elif b == 0x5C:
            code = _escape(C, i, base, stack, skip, names, state, n)
        else:
            code = _content_step(C, stack, first_name, names, state, b, used)
        if code == _BY_TOKEN and _is_empty(C[OUT]) and not _is_begun(C, True, used, n & LOW_24, i, skip):
            code = OK
        if code == _BY_TOKEN:
            code = _try_below(C, True, i, skip, base, stack, q, n)
            if code == OK:
                code = DEAD  # done
        if code == MISS:
            code = postpone_with(C, KEY_IN_SPECIAL, i, stack, skip, names, state, n, q)
        if code == FULL:
            return FULL
        if code != OK or b == 0x22 or b == 0x5C:
            i = node_end(nodes, i)
            continue
        walk[at + 2], walk[at + 4] = C[OUT], C[OUT + 1]
        i += 1
    return OK


@njit
def _name_length(C: Any, name: int) -> int:
    """The bytes of an interned name."""
    names = view(C, NAMES)
    length = 0
    while name != 0:
        name = names[name] >> 8
        length += 1
    return length


@njit
def _is_longer_used(C: Any, free: int, length: int) -> bool:
    """Whether a free name in use has more bytes than that."""
    while free != 0:
        pair = memo_get(C, memo_key(M_FREE, free, LOW_32))
        if _name_length(C, pair & LOW_32) > length:
            return True
        free = pair >> 32
    return False


@njit
def key_walk(C: Any, node: int, base: int, stack: int, q: int, n: int) -> int:
    """Mark what follows below `node` inside a key, not inside an escape; OK or MISS (some is postponed), or FULL."""
    frames = view(C, FRAMES)
    skip = node_depth(view32(C, T_NODE), node)
    stop = node_end(view32(C, T_NODE), node)
    state = (n >> 24) & LOW_30 if n >> 60 else 0
    if node != 0 or (state > 0 and view(C, STATE)[state * STATE_WIDTH + Q_FLAGS] & BOUNDARY == 0):
        return content_walk(C, node + 1, stop, base, stack, skip, q, state, q, n, 0, 0, UNLIMITED, True)
    loop, dead, far = 0, 0, UNLIMITED
    if state > 0:
        plenty = _plenty(C, stack)
        record = NO_ROW
        if plenty == 1:
            record = lookup(C, M_KEY_LOOP, frames[stack * FRAME_WIDTH + F_STATE], state)
        if plenty == MISS or record == MISS:
            return postpone(C, ENTER, node, stack, KEY, q, 0, n)
        if record >= 0:
            loops = view(C, KEY_LOOPS)
            row = loops[record * KEY_LOOP_WIDTH + 2]
            if row >= 0 and view32(C, DFA)[state * 256] < 0:  # else all that is below would be put off
                miss(C, M_ROW, state, 0)
                return postpone(C, ENTER, node, stack, KEY, q, 0, n)
            # Tokens longer than that are no beginning of a name in use.
            long = _name_length(C, n & LOW_24) + loops[record * KEY_LOOP_WIDTH + 3]
            alone = not _is_longer_used(C, frames[stack * FRAME_WIDTH + F_FREE], long)
            reach = loops[record * KEY_LOOP_WIDTH + (4 if alone else 3)]
            if row >= 0 and reach < view(C, LOOP_SIZES)[row]:
                if not alone or loops[record * KEY_LOOP_WIDTH + 5] == 0:
                    far = reach
                row = limited_row(C, row, reach)
                if row == MISS:
                    return postpone(C, ENTER, node, stack, KEY, q, 0, n)
            if row >= 0:
                add_row(C, row, base)
                loop, dead = loops[record * KEY_LOOP_WIDTH], loops[record * KEY_LOOP_WIDTH + 1]
    C[WALK_LOOP], C[WALK_DEAD], C[WALK_FAR] = loop, dead, far
    if content_walk(C, 1, stop, base, stack, 0, q, state, q, n, loop, dead, far, False) == FULL:
        return FULL
    return special_walk(C, 1, node_end(view32(C, X_NODE), 0), base, stack, 0, q, state, q, n)


@njit
def resume_key(
    C: Any, kind: int, node: int, base: int, stack: int, skip: int, names: int, state: int, n: int, q: int
) -> int:
    """Walk a node of one of the tries that was postponed inside a key; OK (some may be postponed again) or FULL."""
    if kind == KEY_IN or kind == KEY_BESIDE:
        stop = node_end(view32(C, T_NODE), node)
        special = kind == KEY_IN
        return content_walk(C, node, stop, base, stack, skip, names, state, q, n, 0, 0, UNLIMITED, special)
    if kind == KEY_WITHIN:
        stop = node_end(view32(C, T_NODE), node)
        loop, dead, far = C[WALK_LOOP], C[WALK_DEAD], C[WALK_FAR]
        return content_walk(C, node, stop, base, stack, skip, names, state, q, n, loop, dead, far, False)
    return special_walk(C, node, node_end(view32(C, X_NODE), node), base, stack, skip, names, state, q, n)
