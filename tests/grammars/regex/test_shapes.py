"""Counted classes and finite languages, against brute force and Python's `re`."""

from __future__ import annotations

import itertools
import pickle
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.grammars.languages.text import FREE_TEXT, difference, intersection, literal_set
from constrain.grammars.regex import (
    as_class_repeat,
    full_language,
    has_infinitely_many,
    is_finite,
    languages,
    search_language,
    split_length,
)
from constrain.grammars.regex.classes import DOT, EVERY, SPACE, WORD, CodePoints

from . import oracles
from .test_languages import SHORT_TEXTS

LOWER = CodePoints(((0x61, 0x7A),))


@pytest.mark.parametrize(
    ("pattern", "members", "low", "high"),
    [
        ("^.{1,65535}$", DOT, 1, 65535),
        ("^[a-z]*$", LOWER, 0, None),
        ("^[a-z]$", LOWER, 1, 1),
        ("^(?:[a-z])(([a-z]){1,3})?[a-z]+$", LOWER, 2, None),
        ("^(\\w{2}){3}$", WORD, 6, 6),
        ("^(?:\\s|[\\n ]){4,}$", SPACE, 4, None),
        ("[^]{3,}", EVERY, 3, None),
        ("[^]{3,9}", EVERY, 3, None),
        ("", EVERY, 0, None),
        ("^$", EVERY, 0, 0),
        ("^(?!)|^[a-z]{0,9}$", LOWER, 0, 9),
    ],
)
def test_counted_classes(pattern: str, members: CodePoints, low: int, high: int | None) -> None:
    assert as_class_repeat(pattern) == (members, low, high)
    language, *bounds = split_length(pattern)
    assert bounds == [low, high]
    assert split_length(f"^(?:{pattern}|[])$")[0] is language or high is None or pattern == "^$"
    assert not len(language._rows) > 20  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "pattern", ["[a-z]{1,3}", "^[a-z]{1,3}", "^[a-z][0-9]$", "^([a-z]{2}){3,4}$", "^[a-z]+\\b$", "^(?!a)[a-z]+$", "[]"]
)
def test_what_is_no_counted_class(pattern: str) -> None:
    assert as_class_repeat(pattern) is None
    assert split_length(pattern) == (search_language(pattern), 0, None)


@settings(max_examples=200, deadline=None)
@given(oracles.patterns(conditions=True, looks=True))
def test_splitting_changes_nothing(pair: oracles.Pair) -> None:
    for pattern in (pair[0], f"^(?:{pair[0]}){{1,2}}$", f"^{pair[0]}$"):
        language, low, high = split_length(pattern)
        whole = search_language(pattern)
        for text in [*SHORT_TEXTS, "é", "a😀", "\n\r"]:
            inside = language.matches(text.encode()) and low <= len(text) and (high is None or len(text) <= high)
            assert inside == whole.matches(text.encode()), (pattern, text)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(oracles.patterns(conditions=False), min_size=2, max_size=2),
    st.sampled_from(["a", "[ab]", ".", "[^]", "[^a]"]),
    st.integers(0, 2),
    st.one_of(st.none(), st.integers(0, 2)),
    st.sampled_from(["^P#$", "^P#", "^#P$", "^P#Q$", "^P(#Q)?$", "^(P|#)$", "^(P#|#Q)$", "^(a#|b#c)$", "^(|a#|b#)$"]),
)
def test_counts_that_the_length_tells(
    pairs: list[oracles.Pair], counted: str, low: int, more: int | None, form: str
) -> None:
    """Taken apart, a pattern means what it meant."""
    count = f"{counted}{{{low},{'' if more is None else low + more}}}"
    pattern = form.replace("#", count).replace("P", f"(?:{pairs[0][0]})").replace("Q", f"(?:{pairs[1][0]})")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(languages, "SMALL_COUNT", 0)
        found = languages._uncounted.__wrapped__(pattern)
    if found is not None:
        language, least, most = found
        whole = search_language(pattern)
        for text in [*SHORT_TEXTS, "é", "a😀", "\n\r"]:
            inside = language.matches(text.encode()) and least <= len(text) and (most is None or len(text) <= most)
            assert inside == whole.matches(text.encode()), (pattern, text)


@pytest.mark.parametrize(
    ("pattern", "low", "high"),
    [
        ("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", 1, 63),
        ("^[a-z]{1,60}-[0-9]{4}$", 6, 65),
        ("^(ab|cd)[^]{20,}", 22, None),
        ("^(x[a-z]{0,40}|y[0-9]{0,40})$", 1, 41),
        # The length does not tell the count, the options do not agree, or the count is small.
        ("^x?[a-z]{2,63}$", 0, None),
        ("^[a-z]{1,60}-[0-9]{1,60}$", 0, None),
        ("^(x[a-z]{0,40}|y[0-9]{0,50})$", 0, None),
        ("^(x{30}y*|z)$", 0, None),
        ("^x[a-z]{2,5}$", 0, None),
        ("[a-z]{40}", 0, None),
    ],
)
def test_which_counts_the_length_tells(pattern: str, low: int, high: int | None) -> None:
    assert split_length(pattern)[1:] == (low, high)


def test_identifiers_are_two_states() -> None:
    language, low, high = split_length("^[a-z][a-z0-9_]{0,62}$")
    assert (low, high) == (1, 63)
    states = {language.run(b"a" * n) for n in range(1, 80)}
    assert len(states) == 1
    assert pickle.loads(pickle.dumps(language)).matches(b"a" * 99)
    assert not language.matches(b"0a")


def test_languages_of_classes_are_shared_and_pickle() -> None:
    first, second = split_length("^[a-z]{1,9}$")[0], split_length("^[a-m\\x6e-z]{2,}$")[0]
    assert first is second
    assert pickle.loads(pickle.dumps(first)) is first
    assert [first.matches(t) for t in (b"", b"az", b"a0")] == [True, True, False]


def test_products_of_big_counts_tell_their_lengths() -> None:
    any_line = search_language("^.{1,65535}$")
    for pattern, least, most in [
        ("^[a-z]*$", 1, 65535),
        ("^[a-z]{3,300}$", 3, 300),
        ("^(a[ab]){3,400}$", 6, 800),
        ("^([a-z]{1,63}\\.){1,127}$", 2, 64 * 127),
        ("^[^a]*x.{0,300}$", 1, 65535),
        ("^[a\\n]{9,65540}$", 9, 65535),
    ]:
        product = intersection(any_line, search_language(pattern))
        lengths = product.lengths(product.start)
        ends = (lengths.first_in(0, None), lengths.first_in(most, None), lengths.first_in(most + 1, None))
        assert ends == (least, most, None), pattern
        after = product.run(b"ax")
        if after and least > 2:
            assert product.lengths(after).first_in(0, None) == least - 2, pattern
    few = difference(search_language("^[a-z]*$"), search_language("^[a-y]{2,60000}$"), search_language("^z{0,5}$"))
    lengths = few.lengths(few.start)
    assert [n for n in range(8) if n in lengths] == [1, 2, 3, 4, 5, 6, 7]
    assert 10**9 in lengths
    many = difference(search_language("^[a-z]*$"), search_language("^[a-z]{2,60000}$"))
    lengths = many.lengths(many.start)
    assert [n for n in (*range(4), 59_999, 60_000, 60_001, 10**9) if n in lengths] == [0, 1, 60_001, 10**9]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "[ab]", "[^b]", "[a-]", ".", "[^]"]),
            st.integers(0, 3),
            st.integers(0, 2),
            st.booleans(),
        ),
        min_size=2,
        max_size=4,
    ),
    oracles.patterns(conditions=False),
)
def test_lengths_of_products_of_counts(counts: list[tuple[str, int, int, bool]], pair: oracles.Pair) -> None:
    """Required and excluded counted classes beside one other pattern, against every short text."""
    parts = [(f"^{c}{{{low},{low + more}}}$", keep) for c, low, more, keep in counts] + [(f"^(?:{pair[0]})$", True)]
    wanted = [search_language(p) for p, keep in parts if keep]
    unwanted = [search_language(p) for p, keep in parts if not keep]
    language = difference(intersection(*wanted), *unwanted)
    alphabet = "abc-_ \né0😀\r\u2028"
    lengths = language.lengths(language.start)
    for n in range(4):
        found = any(
            all(p.matches(raw) for p in wanted) and not any(p.matches(raw) for p in unwanted)
            for raw in ("".join(t).encode() for t in itertools.product(alphabet, repeat=n))
        )
        assert found == (n in lengths), n


WORDS: list[tuple[str, list[str]]] = [
    ("^(a|bc|d{2,3})?$", ["", "a", "bc", "dd", "ddd"]),
    ("^[a-c]\\b$", ["a", "b", "c"]),
    ("^(?!b)[a-c]{1,2}(?<!c)$", ["a", "aa", "ab", "ca", "cb"]),
    ("^[é😀-😂]$", ["é", "😀", "😁", "😂"]),
    ("[]", []),
    ("^$", [""]),
]


@pytest.mark.parametrize(("pattern", "words"), WORDS)
def test_words_of_finite_languages(pattern: str, words: list[str]) -> None:
    language = search_language(pattern)
    assert is_finite(language, 10) == words
    assert is_finite(language, len(words)) == words
    assert len(words) == 0 or is_finite(language, len(words) - 1) is None
    assert not has_infinitely_many(language, language.start)


def test_what_is_not_finite_or_too_long() -> None:
    for pattern in ("^a*b$", "a", "^(?:ab)+$", "^[^]?$", "^(?!a).*z$", "^a{70000}$"):
        assert is_finite(search_language(pattern), 10_000) is None, pattern
    assert is_finite(FREE_TEXT, 5) is None
    assert is_finite(literal_set(["é", "", "zz"]), 5) == ["", "zz", "é"]
    assert is_finite(intersection(search_language("^a*$"), search_language("^.{2,4}$")), 5) == ["aa", "aaa", "aaaa"]


@pytest.mark.parametrize(
    ("pattern", "prefix", "expected"),
    [
        ("^(?:xa*|y{1,9})$", "", True),
        ("^(?:xa*|y{1,9})$", "x", True),
        ("^(?:xa*|y{1,9})$", "y", False),
        ("^(?:xa*|y{1,9})$", "xb", False),
        ("^(?=a*$).{0,9}$", "a", False),
        ("^(?!b*$)(?:b*|c?)$", "", False),
        ("^(?!b*$)(?:b*c?)$", "", True),
        ("^.{1,65535}$", "a", False),
        ("^(?:(?:ab){3})*$", "a", True),
    ],
)
def test_infinitely_many(pattern: str, prefix: str, expected: bool) -> None:
    language = search_language(pattern)
    assert has_infinitely_many(language, language.run(prefix.encode())) is expected


@settings(max_examples=150, deadline=None)
@given(oracles.patterns(conditions=True, looks=True))
def test_finite_and_infinite_exclude_each_other(pair: oracles.Pair) -> None:
    pattern, python = pair
    language = full_language(pattern)
    words = is_finite(language, 200)
    infinite = language.start != 0 and has_infinitely_many(language, language.start)
    assert words is None or not infinite
    if words is not None:
        assert words == sorted(set(words), key=str.encode)
        assert all(text in words for text in SHORT_TEXTS if language.matches(text.encode()))
        try:
            re.compile(python)
        except re.error:
            return
        assert all(oracles.python_finds(python, w, whole=True) for w in words if w or "\\B" not in python)
