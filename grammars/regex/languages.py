"""The language of a pattern, found anywhere in a text or matched as a whole.

The states of most patterns are sets of terms (`lazy_dfa`); with lookarounds they are sets of clauses (`alternating`),
which cost a few times as much. A search that only looks ahead at the very end of a match needs none.
"""

from __future__ import annotations

import threading
from functools import lru_cache

from ..languages.base import TextLanguage
from .alternating import AlternatingLanguage
from .ast import Alternatives, Node
from .lazy_dfa import Origin, RegexLanguage
from .parser import parse
from .terms import AT, Terms
from .uncounted import without_count

CACHED_LANGUAGES = 512
"""How many languages of each kind the process keeps."""

_CACHED_ANSWERS = 4096
"""Of how many names and other texts of schemas the process knows whether a pattern is found in them."""

SMALL_COUNT = 8
"""Counts up to this one may stay in the states of an automaton."""

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


def search_any(patterns: tuple[str, ...]) -> TextLanguage:
    """The texts in which any of these patterns is found. Otherwise as `search_language`."""
    with _building:
        return _search_any(patterns) if len(patterns) > 1 else _search_language(*patterns)


@lru_cache(maxsize=_CACHED_ANSWERS)
def is_found(pattern: str, text: str) -> bool:
    """Whether `pattern` is found anywhere in a text. Otherwise as `search_language`."""
    return search_language(pattern).matches(text.encode("utf-8", "surrogatepass"))


def full_language(pattern: str) -> TextLanguage:
    """The texts that `pattern` matches as a whole. Otherwise as `search_language`."""
    with _building:
        return _full_language(pattern)


def uncounted_language(pattern: str) -> TextLanguage:
    """The texts in which `pattern` is found, with any number of characters in the place of a counted class.

    For patterns that `uncounted` takes apart.
    """
    with _building:
        found = _uncounted(pattern)
    assert found is not None
    return found[0]


def uncounted(pattern: str) -> tuple[TextLanguage, int, int | None] | None:
    """`uncounted_language` and bounds on the length that together mean what a search for `pattern` means.

    For patterns whose length tells how many characters of one class there are, such as `^[a-z][a-z0-9]{0,62}$`. None
    for others, and for small counts.
    """
    with _building:
        return _uncounted(pattern)


@lru_cache(maxsize=CACHED_LANGUAGES)
def _uncounted(pattern: str) -> tuple[TextLanguage, int, int | None] | None:
    terms = Terms()
    term = terms.searched(terms.of(parse(pattern)))
    found = None if term.conditional else without_count(terms, term, SMALL_COUNT)
    if found is None or found.term is term:
        return None
    return RegexLanguage(Origin(uncounted_language, pattern), terms, found.term), found.low, found.high


@lru_cache(maxsize=CACHED_LANGUAGES)
def _search_language(pattern: str) -> TextLanguage:
    return _searched(Origin(search_language, pattern), parse(pattern))


@lru_cache(maxsize=CACHED_LANGUAGES)
def _search_any(patterns: tuple[str, ...]) -> TextLanguage:
    return _searched(Origin(search_any, patterns), Alternatives(tuple(map(parse, patterns))))


def _searched(origin: Origin, node: Node) -> TextLanguage:
    terms = Terms()
    term = terms.searched(terms.of(node))
    kind = AlternatingLanguage if term.looks else RegexLanguage
    return kind(origin, terms, term)


@lru_cache(maxsize=CACHED_LANGUAGES)
def _full_language(pattern: str) -> TextLanguage:
    terms = Terms()
    term = terms.resolve(terms.of(parse(pattern)), AT, AT)
    kind = AlternatingLanguage if term.looks else RegexLanguage
    return kind(Origin(full_language, pattern), terms, term)
