"""Regular expressions of ECMA-262 as text languages.

`parser` reads a pattern into a tree (`ast`, `classes`, `properties`); `terms` takes derivatives of it, with
`conditions` for what anchors and word boundaries leave undecided; `lazy_dfa` makes sets of terms the states of an
automaton, and `utf8` its rows of bytes; `lengths` is the arithmetic of the numbers of code points.
"""

from .ast import PatternError
from .lazy_dfa import full_language, search_language
from .parser import parse

__all__ = ["PatternError", "full_language", "parse", "search_language"]
