"""How many texts a string can still become: countless, or a list of few.

Where items must differ it matters whether a string has values left. Sets of at least `MANY` texts count as
inexhaustible: no array that long is ever written.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterator

import numpy as np

from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.languages.base import TextLanguage
from constrain.grammars.regex.finite import has_infinitely_many

MANY = 1 << 20
"""Values of a set that no array of different items uses up."""
_LAYERS = 4_096  # bytes of the longest text looked at


@functools.lru_cache(maxsize=8192)
def _targets(language: TextLanguage, state: int) -> tuple[tuple[int, bool, int], ...]:
    """Successors of a state, whether by a byte that begins a code point, and by how many bytes."""
    row = language.row(state)
    out = []
    for first in (True, False):
        part = np.concatenate((row[:0x80], row[0xC0:])) if first else row[0x80:0xC0]
        states, counts = np.unique(part[part != 0], return_counts=True)
        out += [(q, first, c) for q, c in zip(states.tolist(), counts.tolist(), strict=True)]
    return tuple(out)


@functools.lru_cache(maxsize=8192)
def has_many_texts(language: TextLanguage, state: int, low: int, high: int | None) -> bool:
    """Whether at least `MANY` texts of low..high further code points lead from a state to acceptance."""
    if not state or (high is not None and high < low):
        return False
    if high is None:
        try:
            if has_infinitely_many(language, state):
                return True
        except ResourceLimitError:
            pass
    total = 0
    layer: dict[tuple[int, int], int] = {(state, 0): 1}
    for _ in range(_LAYERS):
        following: dict[tuple[int, int], int] = {}
        for (q, n), count in layer.items():
            if low <= n and language.accepting(q):
                total += count
            for to, first, ways in _targets(language, q):
                m = n + first
                if high is None:
                    m = min(m, low)
                elif m > high:
                    continue
                following[to, m] = min(MANY, following.get((to, m), 0) + count * ways)
        if total >= MANY:
            return True
        if not following:
            return False
        layer = following
    return True


def listed_texts(language: TextLanguage, low: int, high: int | None) -> Iterator[str]:
    """The texts of low..high code points, by their number of bytes."""
    queue = deque([(language.start, 0, b"")] if language.start else [])
    while queue:
        q, n, text = queue.popleft()
        if low <= n and language.accepting(q):
            yield text.decode()
        row = language.row(q)
        for byte in row.nonzero()[0].tolist():
            m = n + (byte & 0xC0 != 0x80)
            if high is None or m <= high:
                queue.append((int(row[byte]), m, text + bytes((byte,))))
