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

# The memory of a reading: where it is; the text read last; how many values are numbered; how many numbers were followed
# to get here; how many names are known; steps taken.
_AT, _START, _LENGTH, _NUMBERED, _AWAY, _NAMES, _STEPS = range(7)
# Then frames, each of a schema that is being read: its keywords; its type; where its list of required names is; how
# many names were known before; where to go on after it, -1 if just there; whether its properties are being read; where
# to go on after those.
_FRAMES = 7
_WORDS, _TYPE, _REQUIRED, _BASE, _BACK, _INSIDE, _INSIDE_BACK = range(7)
_FRAME_WIDTH = 7
# Then how many items are to come in each list that is open, -1 for a dict; start and length of each name, and whether
# it is required; and where each numbered value is.
_STILL = _FRAMES + MAX_NESTING * _FRAME_WIDTH
_KNOWN = _STILL + MAX_OPEN
NUMBERED = _KNOWN + 3 * MAX_NAMES

_AGAIN, _CLOSE, _DICT, _LIST = b"r0{["
_NONE, _TRUE, _FALSE, _INT, _FLOAT, _LONG = b"NTFigl"
_SHORT, _SHORT_INTERNED, _ASCII, _ASCII_INTERNED, _UNICODE, _INTERNED = b"zZaAut"


@njit
def _number(D: Any, at: int) -> int:
    return int(D[at]) | int(D[at + 1]) << 8 | int(D[at + 2]) << 16 | int(D[at + 3]) << 24


@njit
def _take(D: Any, M: Any, end: int) -> int:
    """The type of the next value, of which the content comes next; -1 at the end."""
    at = M[_AT]
    if at >= end:
        return -1
    code = int(D[at])
    if code & 128 and M[_AWAY] == 0:
        M[NUMBERED + M[_NUMBERED]] = at
        M[_NUMBERED] += 1
    M[_AT] = at + 1
    return code & 127


@njit
def _follow(D: Any, M: Any, end: int) -> int:
    """Go to the next value if only its number is here; where to go on after it, -1 if just there, -2 if nowhere."""
    at = M[_AT]
    if at >= end or D[at] != _AGAIN:
        return -1
    number = _number(D, at + 1)
    if number >= M[_NUMBERED]:
        return -2
    M[_AT] = M[NUMBERED + number]
    M[_AWAY] += 1
    return at + 5


@njit
def _return(M: Any, back: int) -> None:
    if back >= 0:
        M[_AT] = back
        M[_AWAY] -= 1


@njit
def _pass_text(D: Any, M: Any, end: int, kind: int) -> bool:
    """Whether what comes next is the content of a text, without surrogates; passes over it and notes its place."""
    at = M[_AT]
    if kind in (_SHORT, _SHORT_INTERNED):
        start, length = at + 1, int(D[at])
    elif kind in (_ASCII, _ASCII_INTERNED, _UNICODE, _INTERNED):
        start, length = at + 4, _number(D, at)
    else:
        return False
    if start + length > end:
        return False
    if kind in (_UNICODE, _INTERNED):
        for i in range(start, start + length - 1):
            if D[i] == 0xED and D[i + 1] >= 0xA0:
                return False
    M[_START], M[_LENGTH] = start, length
    M[_AT] = start + length
    return True


@njit
def _read_text(D: Any, M: Any, end: int) -> bool:
    back = _follow(D, M, end)
    if back == -2:
        return False
    fits = _pass_text(D, M, end, _take(D, M, end))
    _return(M, back)
    return fits


@njit
def _read_texts(D: Any, M: Any, end: int) -> int:
    """The length of the next value if it is a list of texts; else -1."""
    back = _follow(D, M, end)
    if back == -2 or _take(D, M, end) != _LIST:
        return -1
    count = _number(D, M[_AT])
    M[_AT] += 4
    for _ in range(count):
        if not _read_text(D, M, end):
            return -1
    _return(M, back)
    return count


@njit
def _pass(D: Any, M: Any, end: int) -> bool:
    """Whether the next value is one of JSON; passes over it."""
    opened = 0
    while True:
        kind = _take(D, M, end)
        if kind in (_LIST, _DICT):
            if opened == MAX_OPEN:
                return False
            M[_STILL + opened] = -1
            if kind == _LIST:
                M[_STILL + opened] = _number(D, M[_AT])
                M[_AT] += 4
            opened += 1
            if M[_STILL + opened - 1]:
                continue
            opened -= 1
        elif kind == _CLOSE:
            opened -= 1
        elif kind in (_INT, _AGAIN):
            M[_AT] += 4
        elif kind == _FLOAT:
            M[_AT] += 8
        elif kind == _LONG:
            digits = _number(D, M[_AT])
            M[_AT] += 4 + 2 * (digits if digits < 1 << 31 else (1 << 32) - digits)
        elif kind not in (_NONE, _TRUE, _FALSE) and not _pass_text(D, M, end, kind):
            return False
        while opened and M[_STILL + opened - 1] > 0:  # one item of a list is read
            M[_STILL + opened - 1] -= 1
            if M[_STILL + opened - 1]:
                break
            opened -= 1
        if not opened:
            return True


@njit
def _code(D: Any, M: Any, row: int) -> int:
    """The code of the text read last in the table of words at `row`; 0 where it is not there."""
    start, length = M[_START], M[_LENGTH]
    while D[row]:
        if D[row] == length:
            i = 0
            while i < length and D[row + 2 + i] == D[start + i]:
                i += 1
            if i == length:
                return int(D[row + 1])
        row += WORD_WIDTH
    return 0


@njit
def _same(D: Any, a: int, b: int, length: int) -> bool:
    if a != b:
        for i in range(length):
            if D[a + i] != D[b + i]:
                return False
    return True


@njit
def _has_names(D: Any, M: Any, end: int, base: int) -> bool:
    """Whether the next value, a list of texts, holds some of the names that are known from `base` on, each once."""
    back = _follow(D, M, end)
    M[_AWAY] += 1  # what is numbered here was so when it was first read
    _take(D, M, end)
    count = _number(D, M[_AT])
    M[_AT] += 4
    known = M[_NAMES] - base
    for i in range(base, M[_NAMES]):
        M[_KNOWN + 3 * i + 2] = 0
    fits = count <= known
    next = 0  # they mostly come in the same order
    for _ in range(count if fits else 0):
        _read_text(D, M, end)
        tried = 0
        while tried < known:
            i = base + next
            next = next + 1 if next + 1 < known else 0
            if M[_KNOWN + 3 * i + 1] == M[_LENGTH] and _same(D, M[_KNOWN + 3 * i + 0], M[_START], M[_LENGTH]):
                fits = M[_KNOWN + 3 * i + 2] == 0
                M[_KNOWN + 3 * i + 2] = 1
                break
            tried += 1
        M[_STEPS] += tried >> 3
        if tried == known:
            fits = False
        if not fits:
            break
    M[_AWAY] -= 1
    _return(M, back)
    return fits


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
    M[_AT] = begin
    M[_NUMBERED] = M[_AWAY] = M[_NAMES] = M[_STEPS] = 0
    depth = -1
    enters = True
    while True:
        M[_STEPS] += 1
        if M[_STEPS] > end - begin:  # objects stand in many places each, so that reading might not end soon
            return False
        if enters:
            enters = False
            depth += 1
            if depth == MAX_NESTING:
                return False
            frame = _FRAMES + depth * _FRAME_WIDTH
            M[frame + _WORDS] = M[frame + _TYPE] = M[frame + _INSIDE] = 0
            M[frame + _BACK] = _follow(D, M, end)
            M[frame + _REQUIRED] = -1
            M[frame + _BASE] = M[_NAMES]
            if M[frame + _BACK] == -2 or _take(D, M, end) != _DICT:
                return False
        frame = _FRAMES + depth * _FRAME_WIDTH
        if M[_AT] >= end:
            return False
        closes = D[M[_AT]] == _CLOSE
        if M[frame + _INSIDE]:
            if closes:
                M[_AT] += 1
                M[frame + _INSIDE] = 0
                _return(M, M[frame + _INSIDE_BACK])
            else:
                if M[_NAMES] == MAX_NAMES or not _read_text(D, M, end):
                    return False
                M[_KNOWN + 3 * M[_NAMES] + 0] = M[_START]
                M[_KNOWN + 3 * M[_NAMES] + 1] = M[_LENGTH]
                M[_NAMES] += 1
                enters = True
            continue
        if closes:
            M[_AT] += 1
            if not _is_sound(M[frame + _WORDS], M[frame + _TYPE], depth > 0):
                return False
            if M[frame + _REQUIRED] >= 0:
                at = M[_AT]
                M[_AT] = M[frame + _REQUIRED]
                if not _has_names(D, M, end, M[frame + _BASE]):
                    return False
                M[_AT] = at
            M[_NAMES] = M[frame + _BASE]
            _return(M, M[frame + _BACK])
            if depth == 0:
                return bool(M[_AT] == end)
            depth -= 1
            continue
        if not _read_text(D, M, end):
            return False
        word = _code(D, M, keywords)
        M[frame + _WORDS] |= word
        if word == ANNOTATION:
            at = M[_AT]
            if not _pass(D, M, end):
                return False
            M[_STEPS] += (M[_AT] - at) >> 6
        elif word == TYPE:
            if not _read_text(D, M, end):
                return False
            M[frame + _TYPE] = _code(D, M, types)
            if not M[frame + _TYPE]:
                return False
        elif word == PROPERTIES:
            M[frame + _INSIDE_BACK] = _follow(D, M, end)
            if M[frame + _INSIDE_BACK] == -2 or _take(D, M, end) != _DICT:
                return False
            M[frame + _INSIDE] = 1
        elif word == REQUIRED:
            M[frame + _REQUIRED] = M[_AT]
            if _read_texts(D, M, end) < 0:
                return False
        elif word == ADDITIONAL:
            if _take(D, M, end) not in (_TRUE, _FALSE):
                return False
        elif word == ITEMS:
            enters = True
        elif word == ENUM:
            if _read_texts(D, M, end) < 1:
                return False
        elif word == CONST:
            if not _read_text(D, M, end):
                return False
        else:
            return False


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
