"""Languages of texts that are not patterns: free text, finite sets, and what languages have in common or do not."""

from __future__ import annotations

import functools
import re
from bisect import bisect_left
from collections.abc import Iterable

from ..regex import lengths as length_sets
from ..regex.classes import LAST, CodePoints
from ..regex.utf8 import CodePointLanguage, Segments
from .base import ALL_LENGTHS, DEAD, LengthSet, TextLanguage
from .product import Product


class _FreeText(CodePointLanguage):
    """All texts. State 1 is between characters, the others inside one."""

    def __init__(self) -> None:
        super().__init__()
        self.start = self._new_state()
        built = DEAD
        while built < len(self._rows) - 1:
            built += 1
            self.row(built)

    def __reduce__(self) -> str:
        return "FREE_TEXT"

    def __repr__(self) -> str:
        return "FREE_TEXT"

    def accepting(self, state: int) -> bool:
        return state == self.start

    def universal(self, state: int) -> bool:
        return state == self.start

    def _segments(self, state: int) -> Segments:
        return [(0, LAST, state)]

    def quick_lengths(self, state: int) -> tuple[LengthSet, bool]:  # noqa: ARG002
        return ALL_LENGTHS, True

    def _shortest_between(self, state: int) -> int:  # noqa: ARG002
        return 0

    def _lengths_between(self, state: int) -> LengthSet:  # noqa: ARG002
        return ALL_LENGTHS


FREE_TEXT: TextLanguage = _FreeText()
"""The language of all texts: well-formed UTF-8, no surrogates, nothing beyond U+10FFFF."""


def literal_set(texts: Iterable[str]) -> TextLanguage:
    """The finite language of `texts`. A text with a lone surrogate has no UTF-8 form and is left out."""
    return _LiteralSet(texts)


class _LiteralSet(CodePointLanguage):
    """A trie over the sorted members. A state is the range of members that begin with the characters read."""

    def __init__(self, texts: Iterable[str]) -> None:
        super().__init__()
        self.texts = sorted(text for text in set(texts) if not _SURROGATE.search(text))
        self._ranges: dict[int, tuple[int, int, int]] = {DEAD: (0, 0, 0)}
        self._numbers: dict[tuple[int, int, int], int] = {}
        self.start = self._state((0, len(self.texts), 0)) if self.texts else DEAD

    @property
    def members(self) -> list[bytes]:
        """The texts in UTF-8, sorted."""
        return [text.encode() for text in self.texts]

    def __reduce__(self) -> tuple[object, tuple[list[str]]]:
        return literal_set, (self.texts,)

    def _state(self, at: tuple[int, int, int]) -> int:
        state = self._numbers.get(at)
        if state is None:
            state = self._numbers[at] = self._new_state()
            self._ranges[state] = at
        return state

    def _segments(self, state: int) -> Segments:
        texts = self.texts
        at, stop, depth = self._ranges[state]
        out: Segments = []
        if len(texts[at]) == depth:
            at += 1
        while at < stop:
            char = texts[at][depth]
            end = at + 1
            if end < stop and texts[end][depth] == char:
                # All that begin as this member does up to `char` sort before that prefix with a larger last one.
                beyond = texts[at][:depth] + chr(ord(char) + 1) if ord(char) < LAST else ""
                end = bisect_left(texts, beyond, end, stop) if beyond else stop
            out.append((ord(char), ord(char), self._state((at, end, depth + 1))))
            at = end
        return out

    def accepting(self, state: int) -> bool:
        first, stop, depth = self._ranges.get(state, (0, 0, 0))
        return first < stop and len(self.texts[first]) == depth

    def universal(self, state: int) -> bool:  # noqa: ARG002
        return False

    def alphabet(self, state: int) -> CodePoints:  # noqa: ARG002
        return self._alphabet

    @functools.cached_property
    def _alphabet(self) -> CodePoints:
        return CodePoints.of((ord(c), ord(c)) for c in set("".join(self.texts)))

    def quick_lengths(self, state: int) -> tuple[LengthSet, bool]:
        return self.lengths(state), True

    def _shortest_between(self, state: int) -> int:
        first, stop, depth = self._ranges[state]
        return min((len(text[depth:].encode()) for text in self.texts[first:stop]), default=0)

    def _lengths_between(self, state: int) -> LengthSet:
        first, stop, depth = self._ranges[state]
        return length_sets.finite(len(text) - depth for text in self.texts[first:stop])


_SURROGATE = re.compile("[\ud800-\udfff]")


def intersection(*languages: TextLanguage) -> TextLanguage:
    """The texts in all of `languages`; all texts when there are none.

    A finite set is filtered by the others at once. Anything else is a product, built as it is visited.

    Raises:
        ResourceLimitError: whether any text is in all of them takes more than `nearest.MAX_SEARCH` states to decide.
    """
    parts: dict[TextLanguage, None] = {}
    for language in languages:
        for part in language.components if type(language) is Product and language.required is None else (language,):
            parts[part] = None
    kept = [p for p in parts if not (p.start != DEAD and p.universal(p.start))]
    if len(kept) <= 1:
        return kept[0] if kept else FREE_TEXT
    for part in kept:
        if part.start == DEAD:
            return part
    kept = _without_redundant(kept)
    if len(kept) == 1:
        return kept[0]
    finite = [p for p in kept if isinstance(p, _LiteralSet)]
    if finite:
        smallest = min(finite, key=lambda p: len(p.texts))
        others = [p for p in kept if p is not smallest]
        return _LiteralSet(t for t in smallest.texts if all(p.matches(t.encode()) for p in others))
    return Product(_by_characters(kept), None)


def _without_redundant(parts: list[TextLanguage]) -> list[TextLanguage]:
    """Without those that admit all texts over a class to which another one keeps anyway."""
    kept = list(parts)
    for part in parts:
        shape = part.class_repeat(part.start) if isinstance(part, CodePointLanguage) else None
        if shape is not None and shape[1:] == (0, None):
            others = [other for other in kept if other is not part and isinstance(other, CodePointLanguage)]
            if any(other.alphabet(other.start) <= shape[0] for other in others):
                kept.remove(part)
    return kept


def difference(language: TextLanguage, *excluded: TextLanguage) -> TextLanguage:
    """The texts in `language` and in none of `excluded`; with `FREE_TEXT` first, the complement of the others.

    Raises:
        ResourceLimitError: as for `intersection`.
    """
    parts = [p for p in dict.fromkeys(excluded) if p.start != DEAD]
    if not parts or language.start == DEAD:
        return language
    wanted = language.components if type(language) is Product and language.required is None else (language,)
    if any(p in wanted or p.universal(p.start) for p in parts):
        return literal_set(())
    if isinstance(language, _LiteralSet):
        return _LiteralSet(t for t in language.texts if not any(p.matches(t.encode()) for p in parts))
    return Product(_by_characters([*wanted, *parts]), len(wanted))


def _by_characters(languages: Iterable[TextLanguage]) -> tuple[CodePointLanguage, ...]:
    parts = tuple(languages)
    assert all(isinstance(part, CodePointLanguage) for part in parts)
    return parts  # type: ignore[return-value]
