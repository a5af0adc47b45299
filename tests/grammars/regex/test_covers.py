"""What is evident of the characters that can, and that must, come after a state of a pattern."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.grammars.regex import search_language
from constrain.grammars.regex.classes import DIGIT, NONE, WORD, CodePoints
from constrain.grammars.regex.utf8 import CodePointLanguage

from . import oracles

_SETS = [NONE, DIGIT, WORD, CodePoints(((0x2D, 0x2D),)), CodePoints(((0x61, 0x62),)), CodePoints(((0x61, 0x10FFFF),))]
_TEXTS = ["".join(t) for n in range(5) for t in itertools.product("ab-0é", repeat=n)]


def _language(pattern: str, begun: str) -> tuple[CodePointLanguage, int]:
    language = search_language(pattern)
    assert isinstance(language, CodePointLanguage)
    return language, language.run(begun.encode()) if language.start else 0


@settings(max_examples=150, deadline=None)
@given(oracles.patterns(conditions=True), st.sampled_from(_TEXTS[:31]), st.sampled_from(_SETS), st.booleans())
def test_what_must_and_what_can_come(pair: oracles.Pair, begun: str, members: CodePoints, anchored: bool) -> None:
    language, state = _language(f"^(?:{pair[0]})$" if anchored else pair[0], begun)
    if not state:
        return
    most, needed = language.most_leading(state, members), language.needs(state, members)
    for text in _TEXTS:
        after = language.run(text.encode(), state)
        if most is not None and after and all(ord(c) in members for c in text):
            assert len(text) <= most
        if needed and after and language.accepting(after):
            assert any(ord(c) in members for c in text)


@pytest.mark.parametrize(
    ("pattern", "begun", "members", "most"),
    [
        ("^[a-z0-9]([-a-z0-9]{0,48}[a-z0-9])?$", "a", CodePoints.of(((0x2D, 0x2D), (0x30, 0x39), (0x61, 0x7A))), 49),
        ("^[a-z0-9]([-a-z0-9]{0,48}[a-z0-9])?$", "aa", CodePoints(((0x2D, 0x2D),)), 47),
        ("^(\\w{3}-){2,5}0$", "", WORD, 3),
        ("^(\\w{3}-?){2,5}0$", "", WORD, 16),
        ("^\\d*$", "", DIGIT, None),
        ("^a{2,9}(?:b|cc)?$", "a", CodePoints(((0x61, 0x63),)), 10),
        ("\\d{3}", "", DIGIT, None),
        ("^-\\d{3}$", "", DIGIT, 0),
    ],
)
def test_how_many_can_come_first(pattern: str, begun: str, members: CodePoints, most: int | None) -> None:
    language, state = _language(pattern, begun)
    assert language.most_leading(state, members) == most


@pytest.mark.parametrize(
    ("pattern", "begun", "needed"),
    [("a-b", "", True), ("a-b", "a-", False), ("a(-|b)", "", False), ("(a-?){2}", "", False), ("(a-){2,}", "a-", True)],
)
def test_what_must_come(pattern: str, begun: str, needed: bool) -> None:
    language, state = _language(pattern, begun)
    assert language.needs(state, CodePoints(((0x2D, 0x2D),))) == needed
