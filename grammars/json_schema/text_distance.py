"""How many bytes a string still needs: the shortest JSON spelling of a completion within bounds on its code points."""

from __future__ import annotations

import functools
import heapq
import math

from constrain.grammars.languages.base import TextLanguage
from constrain.grammars.languages.text import FREE_TEXT

_SEARCH = 4_000  # states expanded before settling for a bound
_WORST = 12  # bytes of the longest spelling of one code point, an escaped surrogate pair


def _spelling(byte: int) -> int:
    """Bytes that one byte of decoded text takes in JSON."""
    if byte >= 0x20:
        return 2 if byte in (0x22, 0x5C) else 1
    return 2 if byte in (8, 9, 10, 12, 13) else 6


@functools.lru_cache(maxsize=4096)
def text_distance(language: TextLanguage, state: int | None, low: int, high: int | None) -> float:
    """Bytes, without the closing quote, of a short completion from `state` (None: the start) by low .. high code points.

    The fewest possible where a search of bounded size finds them, an achievable number above that otherwise; infinite
    when no completion exists.
    """
    low = max(low, 0)
    at = language.start if state is None else state
    if at == 0 or (high is not None and high < low):
        return math.inf
    if language is FREE_TEXT and language.boundary(at):
        return low
    first = language.lengths(at).first_in(low, high)
    if first is None:
        return math.inf
    # Dijkstra over (state, code points so far).
    heap = [(0, at, 0)]
    settled: set[tuple[int, int]] = set()
    while heap and len(settled) < _SEARCH:
        cost, q, n = heapq.heappop(heap)
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
            price = _spelling(byte)
            if price < targets.get(key, 99):
                targets[key] = price
        for (q2, m), price in targets.items():
            if (q2, m) not in settled:
                heapq.heappush(heap, (cost + price, q2, m))
    return 3 + _WORST * first
