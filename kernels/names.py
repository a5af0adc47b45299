"""Names of members, and texts of a list, while they are read."""

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
    M_NAME,
    M_SLOT,
    intern_frame,
    memo_get,
    memo_key,
    memo_set,
)
from .jit import njit
from .layout import (
    AFTER,
    COLON,
    DEAD,
    FREE_BIT,
    FST_WIDTH,
    FULL,
    KEY,
    LITERAL,
    LOW_20,
    LOW_24,
    LOW_30,
    OBJECT_KIND,
    OK,
    Q_OUTCOME,
    S_KEYS,
    S_KIND,
    S_NAME_COUNT,
    S_NAMES,
    S_SATURATE,
    S_WORDS,
    STATE_WIDTH,
)
from .members import add_seen, drop_for_key, free_name_opens, is_seen, key_opens
from .memory import (
    FRAMES,
    FREE_TEXT_STATE,
    FST,
    FULL_TABLE,
    LENGTHS,
    N_NAMES,
    NAME_BYTES,
    NAME_OFF,
    NAMES,
    OUT,
    PLAIN_ESCAPES,
    STATE,
    view,
    view8,
    view32,
)
from .spelling import has_long_escape
from .transitions import emit, free_add, free_contains, lookup, successor


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
    low = q & LOW_20
    high = (q >> 20) & LOW_20
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
    if q & LOW_20 >= (q >> 20) & LOW_20:
        return DEAD
    return emit(C, stack, LITERAL, q, 0, n)


@njit
def key_byte(C: Any, stack: int, q: int, n: int, byte: int) -> int:
    """One byte of a key's decoded name."""
    fst = view(C, FRAMES)[stack * FRAME_WIDTH + F_STATE] * FST_WIDTH
    first = view(C, FST)[fst + S_NAMES]
    q = narrow(C, first, q, byte)
    if n >> 60:
        state = successor(C, (n >> 24) & LOW_30, byte)
        if state < 0:
            return state
        if state > 0:
            name = add_byte(C, n & LOW_24, byte)
            if name < 0:
                return FULL
            code = 1
            if view(C, FST)[fst + S_KEYS] != C[FREE_TEXT_STATE]:
                code = free_name_opens(C, stack, state, name, (q & LOW_20) < ((q >> 20) & LOW_20))
            if code == 1:
                return emit(C, stack, KEY, q, 0, name | (state << 24) | (1 << 60))
            if code < 0:
                return code
    for i in range(q & LOW_20, (q >> 20) & LOW_20):
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
    for i in range(q & LOW_20, (q >> 20) & LOW_20):
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
    low = q & LOW_20
    high = (q >> 20) & LOW_20
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
        outcome = view(C, STATE)[((n >> 24) & LOW_30) * STATE_WIDTH + Q_OUTCOME]
        if outcome == 0 or free_contains(C, free, n & LOW_24):
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
        free = free_add(C, free, n & LOW_24)
        if free < 0:
            return FULL
    if count < sets[fst * FST_WIDTH + S_SATURATE]:
        count += 1
    frame = intern_frame(C, frames[base + F_PARENT], state, count, seen, free, frames[base + F_DEPTH])
    if frame < 0:
        return FULL
    return emit(C, frame, mode, 0, 0, 0)
