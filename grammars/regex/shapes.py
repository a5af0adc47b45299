"""Patterns that only count characters of one class, such as `^[a-z]{1,63}$`.

A count is better kept in a register than in the states of an automaton. So such a pattern is taken apart into the
texts over its class, which are one state, and bounds on their length, which go where `minLength` and `maxLength` go.
"""

from __future__ import annotations

from ..languages.base import TextLanguage
from .classes import EVERY, CodePoints
from .languages import full_language, search_language, uncounted
from .utf8 import ClassRepeat, CodePointLanguage


def as_class_repeat(pattern: str) -> ClassRepeat | None:
    """(C, n, m) when a search for `pattern` finds just the texts of n to m members of the class C; None otherwise.

    m is None when there is no upper limit.

    Raises:
        PatternError, ResourceLimitError: as `search_language`.
    """
    language = search_language(pattern)
    return language.class_repeat(language.start) if isinstance(language, CodePointLanguage) else None


def split_length(pattern: str) -> tuple[TextLanguage, int, int | None]:
    """A language and bounds on the number of code points that together mean what a search for `pattern` means.

    The bounds are (0, None), no bounds, unless the pattern only counts characters of one class, in one place.

    Raises:
        PatternError, ResourceLimitError: as `search_language`.
    """
    shape = as_class_repeat(pattern)
    if shape is None:
        return uncounted(pattern) or (search_language(pattern), 0, None)
    members, low, high = shape
    return texts_over(members), low, high


def texts_over(members: CodePoints) -> TextLanguage:
    """The texts that consist of the given code points. Shared as the languages of patterns are."""
    if members == EVERY:
        return search_language("")
    ranges = "".join(f"\\u{{{first:x}}}-\\u{{{last:x}}}" for first, last in members.ranges)
    return full_language(f"[{ranges}]*")
