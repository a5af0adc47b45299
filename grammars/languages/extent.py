"""How many texts follow a state of a language: few, which can be listed, or so many that nobody uses them up.

Languages are trimmed, so different beginnings of one length are beginnings of different texts: counting beginnings, one
character longer at a time, soon tells that there are many. Beginnings that get longer than there are states go in a
circle.
"""

from __future__ import annotations

from ..regex.utf8 import CodePointLanguage
from .base import DEAD

MANY = 1 << 40
"""Texts that are as good as infinitely many."""


def has_many(language: CodePointLanguage, state: int, many: int = MANY) -> bool:
    """Whether `many` texts or more follow `state`, or infinitely many."""
    if state == DEAD:
        return False
    if language.boundary(state):
        if language.least_texts(state) >= many:
            return True
        lengths, exact = language.quick_lengths(state)
        if exact and lengths.bits >> lengths.preperiod:
            return True
    # Mostly a few of the ways to go on suffice to tell.
    return _has_many(language, state, many, _WAYS) or _has_many(language, state, many, None)


_WAYS = 2


def _has_many(language: CodePointLanguage, state: int, many: int, ways: int | None) -> bool:
    """`has_many`, or True only if that is so: only so many ways are followed at a time, the widest."""
    layer = {state: 1}
    seen = {state}
    depth = total = 0
    while layer:
        if depth >= len(seen) or total + sum(layer.values()) >= many:
            return True
        if ways is not None and len(layer) > ways:
            layer = dict(sorted(layer.items(), key=_count)[-ways:])
        onward: dict[int, int] = {}
        for at, count in layer.items():
            if language.boundary(at):
                if language.accepting(at):
                    total += count
                for first, last, to in language.segments(at):
                    if to == at:
                        return True
                    onward[to] = onward.get(to, 0) + count * (last - first + 1)
            else:
                for to in language.row(at).tolist():
                    if to:
                        onward[to] = onward.get(to, 0) + count
        layer = onward
        seen.update(layer)
        depth += 1
    return False


def _count(item: tuple[int, int]) -> int:
    return item[1]


def few_texts(language: CodePointLanguage, limit: int) -> tuple[str, ...] | None:
    """All texts of the language; None when there are more than `limit`."""
    layer: dict[int, list[str]] = {language.start: [""]} if language.start != DEAD else {}
    seen = set(layer)
    depth = 0
    found: list[str] = []
    while layer:
        if depth >= len(seen):
            return None
        onward: dict[int, list[str]] = {}
        room = limit - len(found)
        for at, texts in layer.items():
            if language.accepting(at):
                room -= len(texts)
                found += texts
        for at, texts in layer.items():
            for first, last, to in language.segments(at):
                if (last - first + 1) * len(texts) > max(limit, 0):
                    return None
                after = onward.setdefault(to, [])
                after += [text + chr(c) for c in range(first, last + 1) if not 0xD800 <= c <= 0xDFFF for text in texts]
        if room < 0 or sum(map(len, onward.values())) > limit:
            return None
        layer = onward
        seen.update(layer)
        depth += 1
    return tuple(found)


def shortest_text(language: CodePointLanguage, state: int) -> bytes:
    """A shortest continuation of a live state, with bytes that JSON writes as they are where there are such."""
    out = bytearray()
    while not language.accepting(state):
        if language.boundary(state):
            code, state = language.nearest_step(state)
            out += chr(code).encode()
        else:
            row = language.row(state).tolist()
            byte = min((b for b in range(256) if row[b]), key=lambda b: language.shortest(row[b]))
            out.append(byte)
            state = row[byte]
    return bytes(out)
