"""The language of a string alternative, and bounds on the number of code points.

Bounds are best kept in a register. So a pattern that only counts characters of one class is its class and bounds, and
bounds that no text of the language exceeds are dropped. A register needs to know the lengths that can still follow a
state; where a product of languages does not tell them, the bounds become part of the language.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.formats import format_language, format_superset, split_format
from constrain.grammars.json_schema.bounded_text import BoundedText
from constrain.grammars.json_schema.normal import StringAlternative
from constrain.grammars.languages.base import TextLanguage
from constrain.grammars.languages.product import Product
from constrain.grammars.languages.text import FREE_TEXT, difference, intersection, literal_set
from constrain.grammars.regex import search_any, search_language, split_length
from constrain.grammars.regex.utf8 import CodePointLanguage


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of `language` with `low` to `high` code points; where there are bounds, its lengths are at hand."""

    language: TextLanguage
    low: int
    high: int | None

    @property
    def bounded(self) -> bool:
        """Whether there are bounds."""
        return self.low > 0 or self.high is not None

    @property
    def empty(self) -> bool:
        """Whether there is no such text."""
        start = self.language.start
        if not start or (self.high is not None and self.high < self.low):
            return True
        return self.bounded and self.language.lengths(start).first_in(self.low, self.high) is None


def is_combined(alternative: StringAlternative) -> bool:
    """Whether texts have to meet more than one condition, bounds on the length among them."""
    conditions = len(alternative.patterns) + len(alternative.formats) + len(alternative.not_patterns)
    conditions += len(alternative.either)
    bounded = alternative.minimum > 0 or alternative.maximum is not None
    return conditions + len(alternative.not_formats) + bool(alternative.not_values) + bounded > 1


@functools.lru_cache(maxsize=2048)
def texts_of(alternative: StringAlternative) -> Texts:
    """The texts of a string alternative.

    Raises:
        ResourceLimitError: whether there is any takes too long to decide; without a pointer.
    """
    try:
        return _texts_of(alternative, split=True)
    except ResourceLimitError as error:
        keyword = "pattern" if alternative.patterns or alternative.not_patterns or alternative.either else "format"
        raise ResourceLimitError(error.pointer, keyword, error.reason, error.limit) from None


def _texts_of(alternative: StringAlternative, *, split: bool) -> Texts:
    """`texts_of`; with `split`, a format that is all that is asked beside a length may become a bound in part."""
    low, high = alternative.minimum, alternative.maximum
    if alternative.values is not None:
        return Texts(literal_set(alternative.values), low, high)
    wanted = []
    for pattern in alternative.patterns:
        language, least, most = split_length(pattern) if "{" in pattern else (search_language(pattern), 0, None)
        wanted.append(language)
        low = max(low, least)
        high = most if high is None else high if most is None else min(high, most)
    wanted += [search_any(found) for found, not_found in alternative.either if not not_found]
    if split and alternative == StringAlternative(formats=alternative.formats[:1], minimum=low, maximum=high):
        apart = split_format(alternative.formats[0]) if alternative.formats else None
        if apart is not None:
            language, most = apart
            return _settled(language, low, most if high is None else high if most is None else min(high, most))
    wanted += [language for language in map(format_language, alternative.formats) if language is not None]
    language = intersection(*wanted) if wanted else FREE_TEXT
    excluded = [search_language(p) for p in alternative.not_patterns]
    excluded += [language for language in map(format_superset, alternative.not_formats) if language is not None]
    for found, not_found in alternative.either:
        if not not_found:
            continue
        # What has none of the first and all of the others is out.
        rest = intersection(*map(search_language, not_found))
        excluded.append(difference(rest, *([search_any(found)] if found else [])))
    if alternative.not_values:
        excluded.append(literal_set(alternative.not_values))
    if excluded:
        language = difference(language, *excluded)
    return _settled(language, low, high)


def _settled(language: TextLanguage, low: int, high: int | None) -> Texts:
    assert isinstance(language, CodePointLanguage)
    if not language.start or (high is not None and high < low):
        return Texts(literal_set(()), 0, None)
    if low or high is not None:
        lengths, _ = language.quick_lengths(language.start)
        if low and lengths.first_in(0, low - 1) is None:
            low = 0
        if high is not None and lengths.first_in(high + 1, None) is None:
            high = None
    if (low or high is not None) and not _knows_lengths(language):
        return Texts(BoundedText(language, low, high), 0, None)
    return Texts(language, low, high)


def _knows_lengths(language: CodePointLanguage) -> bool:
    if isinstance(language, Product):
        return language.knows_lengths()
    try:
        language.lengths(language.start)
    except ResourceLimitError:
        return False
    return True


def name_language(alternative: StringAlternative) -> TextLanguage:
    """The texts of a string alternative as one language, which counts by itself."""
    texts = texts_of(alternative)
    if texts.bounded and alternative.formats:
        texts = _texts_of(alternative, split=False)
    if not texts.bounded:
        return texts.language
    assert isinstance(texts.language, CodePointLanguage)
    return BoundedText(texts.language, texts.low, texts.high)
