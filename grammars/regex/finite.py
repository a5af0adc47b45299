"""Finite languages: whether a language is one, and its words."""

from __future__ import annotations

import numpy as np

from ..languages.base import DEAD, TextLanguage

MAX_BYTES = 1 << 14
"""Most bytes, over all words and the prefixes looked at, that `is_finite` goes through."""


def is_finite(language: TextLanguage, limit: int) -> list[str] | None:
    """The words of a finite language, sorted by their bytes; None when there are more than `limit` of them.

    None too when they are so long that going through them takes more than `MAX_BYTES` bytes.

    Raises:
        ResourceLimitError: the language's automaton is larger than it allows.
    """
    words: list[str] = []
    text = bytearray()
    # A state met again on the way to itself can be repeated for ever: the automaton is trimmed.
    on_path = {DEAD}
    pending = [(language.start, 0, False)] if language.start != DEAD else []
    budget = MAX_BYTES
    while pending:
        state, byte, left = pending.pop()
        if left:
            on_path.discard(state)
            del text[-1:]
            continue
        if state in on_path or budget == 0:
            return None
        budget -= 1
        on_path.add(state)
        text.append(byte)
        if language.accepting(state):
            if len(words) == limit:
                return None
            words.append(text[1:].decode())
        row = language.row(state)
        pending.append((state, byte, True))
        pending += [(int(row[b]), int(b), False) for b in np.flatnonzero(row)[::-1]]
    return words


def has_infinitely_many(language: TextLanguage, state: int) -> bool:
    """Whether infinitely many texts lead from `state` to acceptance: whether arbitrarily long ones do.

    Raises:
        ResourceLimitError: as `lengths` of the language.
    """
    if state == DEAD:
        return False
    lengths = language.lengths(state)
    return lengths.bits >> lengths.preperiod != 0
