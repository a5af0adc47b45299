"""The steps of a pattern by the atoms of its classes are those by its classes."""

from __future__ import annotations

import numpy as np
import pytest

from constrain.grammars.regex import full_language, search_language
from constrain.grammars.regex.alphabets import alphabet_of
from constrain.grammars.regex.classes import LAST
from constrain.grammars.regex.lazy_dfa import Origin, RegexLanguage
from constrain.grammars.regex.parser import parse
from constrain.grammars.regex.terms import AT, Terms

_PATTERNS = [
    "^(list|date|time)$",
    "list|date|time|number$",
    "[^a]b*\\s",
    "^(https?://)?([\\da-z.-]+)\\.([a-z.]{2,6})([/\\w .-]*)*/?$",
    "\\bab\\b|c",
    "[\\u00e9-\\u0200\\u{1F600}-\\u{1F610}]+x|[f-\\u00f0]",
    "^.{3,20}$",
    "[\\uD7FF-\\uE000]a|[^b]",
    "\\p{L}+x",
    "(ab|a[bc]{2,5}){2,}",
]


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("pattern", _PATTERNS)
def test_steps_by_atoms(pattern: str, whole: bool) -> None:
    terms = Terms()
    term = terms.of(parse(pattern))
    term = terms.resolve(term, AT, AT) if whole else terms.searched(term)
    origin = Origin(full_language if whole else search_language, pattern)
    by_atoms, by_classes = RegexLanguage(origin, terms, term), RegexLanguage(origin, terms, term)
    by_classes.__dict__["_alphabet"] = None
    pairs = {(by_atoms.start, by_classes.start)}
    todo = [*pairs]
    while todo and len(pairs) < 400:
        one, other = todo.pop()
        branches = by_atoms.branches(one)
        row = by_atoms.row(one)
        if branches is not None:
            targets, column = branches
            assert targets[0] == 0
            assert len(set(targets)) == len(targets)
            assert np.array_equal(np.array(targets).take(column), row)
        assert by_atoms.accepting(one) == by_classes.accepting(other)
        for pair in {*zip(row.tolist(), by_classes.row(other).tolist(), strict=True)} - pairs - {(0, 0)}:
            assert all(pair)
            pairs.add(pair)
            todo.append(pair)
    assert len({one for one, _ in pairs}) == len({other for _, other in pairs}) == len(pairs)


def test_atoms() -> None:
    terms = Terms()
    alphabet = alphabet_of(terms.of(parse("[a-f]x[^d]|.*\\u{1F600}")))
    assert alphabet is not None
    first = 0
    for start, last, _ in alphabet.ranges:
        assert start == first
        first = last + 1
    assert first == LAST + 1
    for chars, atoms in alphabet.atoms.items():
        for start, last, atom in alphabet.ranges:
            for code in (start, last):
                if not 0xD800 <= code <= 0xDFFF:
                    assert (code in chars.members) == (atoms is None or atom in atoms)
    assert alphabet_of(terms.of(parse("\\p{L}"))) is None
