"""The language of a pattern, found anywhere in a text or matched as a whole.

The states of most patterns are sets of terms (`lazy_dfa`); with lookarounds they are sets of clauses (`alternating`),
which cost a few times as much. A search that only looks ahead at the very end of a match needs none.
"""

from __future__ import annotations

import threading
from functools import lru_cache

from ..languages.base import TextLanguage
from .alternating import AlternatingLanguage
from .lazy_dfa import Origin, RegexLanguage
from .parser import parse
from .terms import AT, Terms

CACHED_LANGUAGES = 512
"""How many languages of each kind the process keeps."""

_building = threading.Lock()


def search_language(pattern: str) -> TextLanguage:
    """The texts in which `pattern` is found anywhere, as JSON Schema's `pattern` means it.

    Languages are shared: the same pattern gives the same object while it is cached.

    Raises:
        PatternError: the pattern is not ECMA-262, or not supported.
        ResourceLimitError: groups nested too deep, or lookarounds that take too many states to decide, here; too many
            states, when they are visited.
    """
    with _building:
        return _search_language(pattern)


def full_language(pattern: str) -> TextLanguage:
    """The texts that `pattern` matches as a whole. Otherwise as `search_language`."""
    with _building:
        return _full_language(pattern)


@lru_cache(maxsize=CACHED_LANGUAGES)
def _search_language(pattern: str) -> TextLanguage:
    terms = Terms()
    term = terms.searched(terms.of(parse(pattern)))
    kind = AlternatingLanguage if term.looks else RegexLanguage
    return kind(Origin(search_language, pattern), terms, term)


@lru_cache(maxsize=CACHED_LANGUAGES)
def _full_language(pattern: str) -> TextLanguage:
    terms = Terms()
    term = terms.resolve(terms.of(parse(pattern)), AT, AT)
    kind = AlternatingLanguage if term.looks else RegexLanguage
    return kind(Origin(full_language, pattern), terms, term)
