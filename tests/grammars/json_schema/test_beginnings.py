"""How patterns begin: what is read off a pattern is true of all texts in which it is found."""

from __future__ import annotations

import itertools

import pytest

from constrain.grammars.json_schema.beginnings import begin_apart, beginnings
from constrain.grammars.regex import search_language

PATTERNS = (
    "^ab", "^ab$", "^a?b", "^ab?", "^ab*", "^ab+", "^ab+?$", "^a??b", "^a{2}b", "^a|b", "^(a|b)", "^a(b|a)$", "^a[|]b",
    r"^a\|b", r"^a(\(|b)c", "ab", "^", "", "^[ab]", "^b(a(b|a)|b)|c", r"^\x61b", "^b-a", "^a?b?a?b?",
)  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_text_begins_in_one_of_the_ways(pattern: str) -> None:
    language = search_language(pattern)
    for text in map("".join, itertools.product("ab|-(", repeat=4)):
        for length in range(5):
            if language.matches(text[:length].encode()):
                assert text[:length].startswith(beginnings(pattern)), text[:length]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("^bool(8|16)?$", {"bool"}),
        ("^u?int(8|16)$", {"uint", "int"}),
        ("^bytes(\\[[0-9]*\\])*$", {"bytes"}),
        ("^ab*", {"a"}),
        ("^ab|cd", {""}),
        ("ab", {""}),
    ],
)
def test_beginnings_are_as_long_as_is_plain(pattern: str, expected: set[str]) -> None:
    assert set(beginnings(pattern)) == expected


@pytest.mark.parametrize(("first", "second"), [*itertools.combinations(PATTERNS, 2)])
def test_patterns_that_begin_apart_have_no_text_in_common(first: str, second: str) -> None:
    assert begin_apart(first, second) == begin_apart(second, first)
    if begin_apart(first, second):
        texts = ["".join(t) for n in range(5) for t in itertools.product("ab|-", repeat=n)]
        both = [search_language(first), search_language(second)]
        assert not any(all(language.matches(text.encode()) for language in both) for text in texts)
