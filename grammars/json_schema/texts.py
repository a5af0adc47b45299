"""The language of a string alternative."""

from __future__ import annotations

import functools

from constrain.grammars.formats import format_language, format_superset
from constrain.grammars.json_schema.normal import StringAlternative
from constrain.grammars.languages.base import TextLanguage
from constrain.grammars.languages.text import FREE_TEXT, difference, intersection, literal_set
from constrain.grammars.regex import search_language


@functools.lru_cache(maxsize=2048)
def text_language(alternative: StringAlternative) -> TextLanguage:
    """The texts of a string alternative, its bounds on the number of code points left aside."""
    if alternative.values is not None:
        return literal_set(alternative.values)
    wanted = [search_language(p) for p in alternative.patterns]
    wanted += [language for language in map(format_language, alternative.formats) if language is not None]
    language = intersection(*wanted) if wanted else FREE_TEXT
    excluded = [search_language(p) for p in alternative.not_patterns]
    excluded += [language for language in map(format_superset, alternative.not_formats) if language is not None]
    if alternative.not_values:
        excluded.append(literal_set(alternative.not_values))
    return difference(language, *excluded) if excluded else language
