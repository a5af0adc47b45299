"""Values as wholes: where one begins, what is open after it, and what it is an alternative of."""

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
    M_NEXT,
    M_RETURN,
    M_SHAPE,
    M_SLOT,
    M_VIEW,
    intern_frame,
)
from .jit import njit
from .layout import (
    A_MAX,
    A_MIN,
    A_OPEN,
    AFTER,
    ALT_WIDTH,
    ARRAY_FIRST,
    ARRAY_KIND,
    ATOM,
    DEAD,
    END,
    FST_WIDTH,
    FULL,
    L_FST,
    L_NEXT,
    L_VSET,
    LITERAL,
    LITERAL_BIT,
    LITERALS_WIDTH,
    LOW_20,
    OBJECT_FIRST,
    OBJECT_KIND,
    OBJECT_NEXT,
    RAW,
    ROOT_KIND,
    S_ALT,
    S_ALTS,
    S_KIND,
    S_OUTCOME,
    S_PREFIX,
    S_SATURATE,
    S_WORDS,
    SLOT_WIDTH,
    STRING,
    V_ARRAY,
    V_ATOM,
    V_OBJECT,
    V_STRING,
    VALUE,
    VIEWED,
    VSET_WIDTH,
)
from .members import drop_for_key, pending, without_dropped
from .memory import ALT, ARGUMENT_DEPTH, FRAMES, FST, LITERALS, NAME_OUT, SLOT, VSET, WIRE, view, view32
from .names import name_bytes_at, pack_key
from .transitions import emit, free_add, lookup, miss, successor


@njit
def literal_end(C: Any, stack: int, q: int, n: int) -> int:
    """The closing quote of one of a set of strings."""
    low = q & LOW_20
    if name_bytes_at(C, n, low, q >> 40) >= 0:
        return DEAD
    return complete(C, stack, view32(C, NAME_OUT)[n + low])


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
def with_words(C: Any, frame: int, words: int) -> int:
    """An outermost frame that holds other words; -1 when the table is full."""
    frames = view(C, FRAMES)
    base = frame * FRAME_WIDTH
    return intern_frame(C, -1, frames[base + F_STATE], frames[base + F_COUNT], 0, words, 0)
