"""How many bytes a string still needs: the shortest JSON spelling of a completion within bounds on its code points."""

from __future__ import annotations

import functools
import heapq
import math
from collections.abc import Collection

from constrain.grammars.languages.base import TextLanguage
from constrain.grammars.languages.extent import shortest_text
from constrain.grammars.languages.text import FREE_TEXT
from constrain.grammars.regex.utf8 import CodePointLanguage

_SEARCH = 4_000  # states expanded before settling for a bound
_WORST = 12  # bytes of the longest spelling of one code point, an escaped surrogate pair


Spelling = tuple[int, ...]
"""For each byte of decoded text, the bytes that spell it in JSON."""


def spelling_with(available: Collection[int]) -> Spelling:
    """The cheapest spelling of each byte where only the given bytes can be written as they are.

    A byte outside ASCII that cannot be written makes its character an escape, which is counted with that byte alone.
    """
    out = []
    for byte in range(256):
        if byte >= 0x20 and byte in available and byte not in (0x22, 0x5C):
            out.append(1)
        elif byte in (0x22, 0x5C, 8, 9, 10, 12, 13):
            out.append(2)
        else:
            out.append(6 if byte < 0x80 else _WORST)
    return tuple(out)


def plain_characters(spelling: Spelling) -> int:
    """How many printable characters of ASCII are written as they are."""
    return spelling[0x20:0x7F].count(1)


PLAIN_SPELLING = spelling_with(range(256))


@functools.lru_cache(maxsize=4096)
def text_distance(
    language: TextLanguage, state: int | None, low: int, high: int | None, spelling: Spelling = PLAIN_SPELLING
) -> float:
    """Bytes, without the closing quote, of a short completion from `state` (None: the start) by low..high code points.

    The fewest possible where a search of bounded size finds them, an achievable number above that otherwise; infinite
    when no completion exists.
    """
    low = max(low, 0)
    at = language.start if state is None else state
    if at == 0 or (high is not None and high < low):
        return math.inf
    if language is FREE_TEXT and language.boundary(at):
        return low
    if low == 0 and high is None and isinstance(language, CodePointLanguage):
        text = shortest_text(language, at)
        if sum(spelling[byte] for byte in text) == len(text):
            return len(text)
    first = language.shortest(at) if low == 0 and high is None else language.lengths(at).first_in(low, high)
    if first is None:
        return math.inf
    # A* over (state, code points so far): every byte left takes a byte at least. The latest first among equals.
    heap = [(0, 0, 0, at, 0)]
    settled: set[tuple[int, int]] = set()
    ticket = 0
    while heap and len(settled) < _SEARCH:
        _, _, cost, q, n = heapq.heappop(heap)
        if (q, n) in settled:
            continue
        settled.add((q, n))
        if n >= low and language.accepting(q):
            return cost
        row = language.row(q)
        targets: dict[tuple[int, int], int] = {}
        for byte in row.nonzero()[0].tolist():
            m = n if byte & 0xC0 == 0x80 else n + 1
            if high is not None and m > high:
                continue
            if high is None:
                m = min(m, low)
            key = (int(row[byte]), m)
            price = spelling[byte]
            if price < targets.get(key, 99):
                targets[key] = price
        for (q2, m), price in targets.items():
            if (q2, m) not in settled:
                ticket -= 1
                rest = max(language.shortest(q2), low - m)
                heapq.heappush(heap, (cost + price + rest, ticket, cost + price, q2, m))
    return 3 + _WORST * first
