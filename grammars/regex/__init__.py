"""Regular expressions of ECMA-262 as text languages.

`parser` reads a pattern into a tree (`ast`, `classes`, `properties`); `terms` takes derivatives of it, with
`conditions` for what anchors and word boundaries leave undecided; `lazy_dfa` makes sets of terms the states of an
automaton, and `utf8` its rows of bytes. For lookarounds, `guards` and `alternating` do what `terms` and `lazy_dfa` do.
`nearest` is the search for the nearest acceptance; `lengths`, `graph_lengths` and `covers` find the numbers of code
points. `languages` is the way in; `shapes` and `finite` answer questions about single languages.
"""

from .ast import PatternError
from .finite import has_infinitely_many, is_finite
from .languages import full_language, is_found, search_any, search_language
from .parser import parse
from .shapes import as_class_repeat, split_length

__all__ = [
    "PatternError",
    "as_class_repeat",
    "full_language",
    "has_infinitely_many",
    "is_finite",
    "is_found",
    "parse",
    "search_any",
    "search_language",
    "split_length",
]
