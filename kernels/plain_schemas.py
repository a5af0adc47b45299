"""Which of many schemas plainly describe objects, seen from their copies.

A copy is what Python's `marshal` makes of a schema, version 4: of each value a byte that tells its type, then its
content; a dict is pairs up to a closing byte. The highest bit of the first byte says that the value is numbered, as
each is that may come again; where it does, only its number is written. So a copy is read from left to right, and where
one object stands in several places, from its first place again.

What is taken for plain here is plain by the rules of `constrain.grammars.json_schema.frozen`. What is not may be plain
all the same: deep nesting is passed over, and what no JSON text holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .jit import njit
from .memory import int64_at, uint8_at

ANNOTATION, TYPE, PROPERTIES, REQUIRED, ADDITIONAL, ITEMS, ENUM, CONST = 1, 2, 4, 8, 16, 32, 64, 128
"""Keywords, as codes in the table of words."""
SCALAR, TEXT, ARRAY, OBJECT = 1, 2, 3, 4
"""Types, as codes in the table of their names."""
WORD_WIDTH = 24
"""Of a row in a table: length and code of a word, and its bytes."""

MAX_NESTING = 32
"""How deep schemas may nest; no deeper than by the rules."""
MAX_OPEN = 64
"""How deep values may nest that have no meaning."""
MAX_NAMES = 1 << 12
"""How many names of members may be known at a time."""

# The memory of a reading: start and length of the text read last; how many values are numbered; how many numbers were
# followed to get here; how many names are known; steps taken.
_START, _LENGTH, _NUMBERED, _AWAY, _NAMES, _STEPS = range(6)
# Then frames, each of a schema that is being read: its keywords; its type; where its list of required names is; how
# many names were known before; where to go on after it, and after its properties, -1 if just there; whether these are
# being read.
_FRAMES = 6
_WORDS, _TYPE, _REQUIRED, _BASE, _BACK, _INSIDE_BACK, _INSIDE = range(7)
_FRAME_WIDTH = 7
# Then how many items are to come in each list that is open, -1 for a dict; start and length of each name, and whether
# it was required; and where each numbered value is.
_STILL = _FRAMES + MAX_NESTING * _FRAME_WIDTH
_KNOWN = _STILL + MAX_OPEN
NUMBERED = _KNOWN + 3 * MAX_NAMES

_AGAIN, _CLOSE, _DICT, _LIST = b"r0{["
_NONE, _TRUE, _FALSE, _INT, _FLOAT, _LONG = b"NTFigl"
_SHORT, _SHORT_INTERNED, _ASCII, _ASCII_INTERNED, _UNICODE, _INTERNED = b"zZaAut"

# D are the bytes and M the memory. What reads a value takes where it begins, and returns where the next one does: -1
# where it is not what it should be.


@njit
def _number(D: Any, at: int) -> Any:
    return np.int64(D[at]) | np.int64(D[at + 1]) << 8 | np.int64(D[at + 2]) << 16 | np.int64(D[at + 3]) << 24


@njit
def _kind(D: Any, M: Any, end: int, at: int) -> Any:
    """The type of the value at `at`, which gets its number; 0 at the end."""
    if at >= end:
        return 0
    code = np.int64(D[at])
    if code & 128 and M[_AWAY] == 0:
        M[NUMBERED + M[_NUMBERED]] = at
        M[_NUMBERED] += 1
    return code & 127


@njit
def _first_place(D: Any, M: Any, at: int) -> int:
    """Where the value is whose number is at `at`."""
    number = _number(D, at + 1)
    return M[NUMBERED + number] if number < M[_NUMBERED] else -1


@njit
def _pass_text(D: Any, M: Any, end: int, at: int, kind: Any) -> Any:
    """Pass over the content of a text without surrogates and note its place."""
    if kind in (_SHORT, _SHORT_INTERNED):
        start, length = at + 1, np.int64(D[at])
    elif kind in (_ASCII, _ASCII_INTERNED, _UNICODE, _INTERNED):
        start, length = at + 4, _number(D, at)
    else:
        return -1
    if start + length > end:
        return -1
    if kind in (_UNICODE, _INTERNED):
        for i in range(start, start + length - 1):
            if D[i] == 0xED and D[i + 1] >= 0xA0:
                return -1
    M[_START], M[_LENGTH] = start, length
    return start + length


@njit
def _read_text(D: Any, M: Any, end: int, at: int) -> Any:
    """Read a text and note its place."""
    kind = _kind(D, M, end, at)
    if kind != _AGAIN:
        return _pass_text(D, M, end, at + 1, kind)
    place = _first_place(D, M, at)
    if place < 0 or _pass_text(D, M, end, place + 1, np.int64(D[place]) & 127) < 0:
        return -1
    return at + 5


@njit
def _read_texts(D: Any, M: Any, end: int, at: int, base: int) -> int:
    """Read a list of texts. If `base` is not negative, each must be one of the names known from there on, and another.

    It was read before then.
    """
    back = -1
    if at < end and D[at] == _AGAIN:
        back, at = at + 5, _first_place(D, M, at)
        if at < 0:
            return -1
    away = 1 if back >= 0 or base >= 0 else 0
    M[_AWAY] += away
    if _kind(D, M, end, at) != _LIST:
        return -1
    count = _number(D, at + 1)
    at += 5
    last = base - 1
    for _ in range(count):
        at = _read_text(D, M, end, at)
        if at < 0:
            return -1
        if base >= 0:
            last = _find_name(D, M, base, last)
            if last < 0:
                return -1
    M[_AWAY] -= away
    return back if back >= 0 else at


@njit
def _enter_dict(D: Any, M: Any, end: int, at: int) -> Any:
    """Where the first pair of a dict is, -1 where there is none; and where to go on after it, -1 if just there."""
    back = -1
    if at < end and D[at] == _AGAIN:
        back, at = at + 5, _first_place(D, M, at)
        if at < 0:
            return -1, -1
        M[_AWAY] += 1
    if _kind(D, M, end, at) != _DICT:
        return -1, -1
    return at + 1, back


@njit
def _find_name(D: Any, M: Any, base: int, last: int) -> int:
    """The number of the text read last among the names from `base` on, which is marked; -1 if it was, or is not there.

    The search begins after `last`, as names are mostly required in the order in which they are declared.
    """
    start, length = M[_START], M[_LENGTH]
    stop = M[_NAMES]
    i = last
    for _ in range(base, stop):
        i = i + 1 if i + 1 < stop else base
        name = _KNOWN + 3 * i
        if M[name + 1] == length and _same(D, M[name], start, length):
            if M[name + 2]:
                return -1
            M[name + 2] = 1
            return i
        M[_STEPS] += not i & 7
    return -1


@njit
def _same(D: Any, a: int, b: int, length: int) -> bool:
    if a != b:
        for i in range(length):
            if D[a + i] != D[b + i]:
                return False
    return True


@njit
def _pass(D: Any, M: Any, end: int, at: int) -> int:
    """Pass over a value of JSON."""
    opened = 0
    while True:
        kind = _kind(D, M, end, at)
        at += 1
        if kind in (_LIST, _DICT):
            if opened == MAX_OPEN:
                return -1
            still = -1
            if kind == _LIST:
                still = _number(D, at)
                at += 4
            if still:
                M[_STILL + opened] = still
                opened += 1
                continue
        elif kind == _CLOSE:
            opened -= 1
        elif kind in (_INT, _AGAIN):
            at += 4
        elif kind == _FLOAT:
            at += 8
        elif kind == _LONG:
            digits = _number(D, at)
            at += 4 + 2 * (digits if digits < 1 << 31 else (1 << 32) - digits)
        elif kind not in (_NONE, _TRUE, _FALSE):
            at = _pass_text(D, M, end, at, kind)
            if at < 0:
                return -1
        while opened and M[_STILL + opened - 1] > 0:  # an item of a list is read
            M[_STILL + opened - 1] -= 1
            if M[_STILL + opened - 1]:
                break
            opened -= 1
        if not opened:
            return at


@njit
def _code(D: Any, M: Any, row: int) -> Any:
    """The code of the text read last in the table of words at `row`; 0 where it is not there."""
    start, length = M[_START], M[_LENGTH]
    while D[row]:
        if D[row] == length:
            i = 0
            while i < length and D[row + 2 + i] == D[start + i]:
                i += 1
            if i == length:
                return np.int64(D[row + 1])
        row += WORD_WIDTH
    return 0


@njit
def _is_sound(words: int, kind: int, nested: bool) -> bool:
    """Whether these keywords make a plain schema of a type; only one of objects if it is not nested."""
    words &= ~(ANNOTATION | TYPE)
    if kind == OBJECT:
        return not words & ~(PROPERTIES | REQUIRED | ADDITIONAL)
    if not nested:
        return False
    if kind == ARRAY:
        return not words & ~ITEMS
    if kind == SCALAR:
        return not words
    if kind == TEXT:
        return words in (0, ENUM, CONST)
    return words in (ENUM, CONST)


@njit
def _look(D: Any, M: Any, begin: int, end: int, keywords: int, types: int) -> bool:
    """Whether the copy from `begin` to `end` is of a schema that plainly describes objects."""
    M[_NUMBERED] = M[_AWAY] = M[_NAMES] = M[_STEPS] = 0
    at = begin
    frame = _FRAMES - _FRAME_WIDTH
    enters = True
    while at >= 0:
        M[_STEPS] += 1
        if M[_STEPS] > end - begin:  # objects stand in many places each, so that reading might not end soon
            return False
        if enters:
            enters = False
            frame += _FRAME_WIDTH
            if frame == _STILL:
                return False
            at, back = _enter_dict(D, M, end, at)
            if at < 0:
                return False
            M[frame + _WORDS] = M[frame + _TYPE] = M[frame + _INSIDE] = 0
            M[frame + _REQUIRED] = -1
            M[frame + _BASE] = M[_NAMES]
            M[frame + _BACK] = back
        if at >= end:
            return False
        if D[at] == _CLOSE:
            at += 1
            if M[frame + _INSIDE]:
                M[frame + _INSIDE] = 0
                back = M[frame + _INSIDE_BACK]
            else:
                nested = frame > _FRAMES
                if not _is_sound(M[frame + _WORDS], M[frame + _TYPE], nested):
                    return False
                wanted = M[frame + _REQUIRED]
                if wanted >= 0 and _read_texts(D, M, end, wanted, M[frame + _BASE]) < 0:
                    return False
                M[_NAMES] = M[frame + _BASE]
                back = M[frame + _BACK]
                if not nested:
                    return at == end
                frame -= _FRAME_WIDTH
            if back >= 0:
                at = back
                M[_AWAY] -= 1
            continue
        at = _read_text(D, M, end, at)
        if at < 0:
            return False
        if M[frame + _INSIDE]:
            if M[_NAMES] == MAX_NAMES:
                return False
            name = _KNOWN + 3 * M[_NAMES]
            M[name], M[name + 1], M[name + 2] = M[_START], M[_LENGTH], 0
            M[_NAMES] += 1
            enters = True
            continue
        word = _code(D, M, keywords)
        M[frame + _WORDS] |= word
        if word == TYPE:
            at = _read_text(D, M, end, at)
            M[frame + _TYPE] = _code(D, M, types)
            if not M[frame + _TYPE]:
                return False
        elif word == ANNOTATION:
            begun = at
            at = _pass(D, M, end, at)
            M[_STEPS] += (at - begun) >> 6
        elif word == PROPERTIES:
            at, back = _enter_dict(D, M, end, at)
            if at < 0:
                return False
            M[frame + _INSIDE] = 1
            M[frame + _INSIDE_BACK] = back
        elif word == REQUIRED:
            M[frame + _REQUIRED] = at
            at = _read_texts(D, M, end, at, -1)
        elif word == ADDITIONAL:
            if D[at] not in (_TRUE, _FALSE):
                return False
            at += 1
        elif word == ITEMS:
            enters = True
        elif word == ENUM:
            at = _read_some_texts(D, M, end, at)
        elif word == CONST:
            at = _read_text(D, M, end, at)
        else:
            return False
    return False


@njit
def _read_some_texts(D: Any, M: Any, end: int, at: int) -> int:
    """Read a list of texts that is not empty."""
    M[_LENGTH] = -1
    at = _read_texts(D, M, end, at, -1)
    return at if M[_LENGTH] >= 0 else -1


@njit
def look_at_all(data: int, size: int, memory: int, length: int, begin: int, types: int, ends: int, count: int) -> int:
    """Say of each of many copies whether it is of a schema that plainly describes objects.

    Args:
        data, size: address and length of bytes: a table of keywords, a table of types, the copies, eight bytes more. A
            table has rows of WORD_WIDTH bytes and a row of zeros at its end.
        memory, length: address and length of int64 scratch: NUMBERED, and as many as the longest copy is long.
        begin, types: where the first copy begins, and the table of types.
        ends, count: address and number of int64 numbers: where each copy ends. What is found takes their place.
    """
    D, M, E = uint8_at(data, size), int64_at(memory, length), int64_at(ends, count)
    for i in range(count):
        end = E[i]
        E[i] = end > begin and _look(D, M, begin, end, 0, types)
        begin = end
    return count
