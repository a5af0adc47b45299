"""Members of an object: which may come next, given those that are there."""

from __future__ import annotations

from typing import Any

from .intern import (
    F_COUNT,
    F_FREE,
    F_SEEN,
    F_STATE,
    FRAME_WIDTH,
    M_CLASS,
    M_DROP,
    M_FREE,
    M_FRESH,
    M_REACH,
    M_SEEN,
    memo_get,
    memo_key,
    memo_set,
)
from .jit import njit
from .layout import (
    A_ALLOWED,
    A_MAX,
    A_OPEN,
    A_REQUIRED,
    A_REQUIRED_COUNT,
    ALT_WIDTH,
    CLOSED,
    FST_WIDTH,
    FULL,
    LOW_32,
    MISS,
    OPEN_ALL,
    OPEN_SOME,
    S_ALT,
    S_ALTS,
    S_NAME_COUNT,
    S_WORDS,
)
from .memory import ALT, FRAMES, FST, FULL_TABLE, LENGTHS, N_SEEN, NAMES, SEEN, WORDS, view
from .transitions import free_add, lookup


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
        pair = memo_get(C, memo_key(M_FREE, free, LOW_32))
        at = pair & LOW_32
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
