"""Lists of words in patterns, those that begin alike brought together: `ab|ac|d|e` is `a(b|c)|d|e`.

Patterns list hundreds of words at times. Taken one by one, each is a term that every step of the automaton looks at;
brought together, a step looks at the few that differ in their next character.
"""

from __future__ import annotations

import re
from collections.abc import Sequence as Items
from functools import lru_cache
from itertools import groupby
from operator import itemgetter

from .ast import EMPTY_TEXT, Alternatives, Characters, Node, Sequence
from .classes import CodePoints

MAX_DEPTH = 32
"""Branchings within branchings, after which words are left as they are: later passes recurse."""

_KEPT = 1024
"""Ends of words whose trees are kept."""
_WORD = r"[\w \-/:;,@#%&=<>!~'\"`]+"
LITERALS = re.compile(_WORD)
"""Characters that stand for themselves."""
WORDS = re.compile(rf"{_WORD}(?:\|{_WORD}){{3,}}(?=[|)]|\Z)")
"""Options of which each is such a word."""

_ASCII = tuple(Characters(CodePoints.single(c)) for c in range(128))


def character(char: str) -> Characters:
    """A character that stands for itself."""
    code = ord(char)
    return _ASCII[code] if code < 128 else Characters(CodePoints.single(code))


def any_word(words: Items[str]) -> Node:
    """Any one of these words."""
    return _either(sorted({*words}), 0, MAX_DEPTH)


def _either(words: list[str], at: int, depth: int) -> Node:
    """What is left from `at` on of words in order that are equal up to there."""
    options: list[Node] = []
    if len(words[0]) == at:
        options.append(EMPTY_TEXT)
        words = words[1:]
    for _, alike in groupby(words, itemgetter(at)):
        options += _alike(list(alike), at, depth)
    return options[0] if len(options) == 1 else Alternatives(tuple(options))


def _alike(words: list[str], at: int, depth: int) -> list[Node]:
    """The options that words in order come to which go on alike at `at`."""
    if len(words) == 1 or depth == 0:
        return [_sequence(word[at:]) for word in words]
    first, last = words[0], words[-1]
    end = at + 1
    while end < len(first) and first[end] == last[end]:
        end += 1
    rest = _either(words, end, depth - 1)
    parts = rest.parts if isinstance(rest, Sequence) else (rest,)
    return [Sequence((*map(character, first[at:end]), *parts))]


@lru_cache(maxsize=_KEPT)
def _sequence(text: str) -> Node:
    return character(text) if len(text) == 1 else Sequence(tuple(map(character, text)))
