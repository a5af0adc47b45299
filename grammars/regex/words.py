"""Lists of words in patterns, those that begin alike brought together: `ab|ac|d|e` is `a(b|c)|d|e`.

Patterns list hundreds of words at times. Taken one by one, each is a term that every step of the automaton looks at;
brought together, a step looks at the few that differ in their next character.
"""

from __future__ import annotations

import re
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .terms import Term, Terms

MAX_DEPTH = 32
"""Branchings within branchings, after which words are left as they are: what is made of them is walked by recursion."""

_WORD = r"[\w \-/:;,@#%&=<>!~'\"`]+"
LITERALS = re.compile(_WORD)
"""Characters that stand for themselves."""
WORDS = re.compile(rf"{_WORD}(?:\|{_WORD}){{3,}}(?=[|)]|\Z)")
"""Options of which each is such a word."""


def term_of_words(terms: Terms, words: tuple[str, ...]) -> Term:
    """The term of any one of these words."""
    return _either(terms, sorted({*words}), 0, MAX_DEPTH)


def _either(terms: Terms, words: list[str], at: int, depth: int) -> Term:
    """What is left from `at` on of words in order that are equal up to there."""
    options: list[Term] = []
    if len(words[0]) == at:
        options.append(terms.EPSILON)
        words = words[1:]
    for _, group in groupby(words, itemgetter(at)):
        alike = list(group)
        first, last = alike[0], alike[-1]
        if first is last or depth == 0:
            options += [terms.literal(word[at:], terms.EPSILON) for word in alike]
            continue
        end = at + 1
        while end < len(first) and first[end] == last[end]:
            end += 1
        options.append(terms.literal(first[at:end], _either(terms, alike, end, depth - 1)))
    return terms.union(options)
