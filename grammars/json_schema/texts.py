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
    wanted += [search_language(_any_of(found)) for found, not_found in alternative.either if not not_found]
    wanted += [language for language in map(format_language, alternative.formats) if language is not None]
    language = intersection(*wanted) if wanted else FREE_TEXT
    excluded = [search_language(p) for p in alternative.not_patterns]
    excluded += [language for language in map(format_superset, alternative.not_formats) if language is not None]
    for found, not_found in alternative.either:
        if not not_found:
            continue
        # What has none of the first and all of the others is out.
        rest = intersection(*map(search_language, not_found))
        excluded.append(difference(rest, *([search_language(_any_of(found))] if found else [])))
    if alternative.not_values:
        excluded.append(literal_set(alternative.not_values))
    return difference(language, *excluded) if excluded else language


def _any_of(patterns: tuple[str, ...]) -> str:
    """The pattern that is found where one of these is."""
    return patterns[0] if len(patterns) == 1 else "|".join(f"(?:{p})" for p in patterns)
