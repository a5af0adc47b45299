"""What can follow the beginning of a name, against the languages of whole classes of names."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.engine.name_reach import ENDLESS, NameReach
from constrain.grammars.json_schema.keys import key_classes
from constrain.grammars.languages.extent import few_texts, has_many
from constrain.grammars.languages.residual import ANYTHING, Standing, has_many_evidently, residual
from constrain.grammars.languages.text import FREE_TEXT, literal_set
from constrain.grammars.regex import full_language, search_language
from constrain.grammars.regex.utf8 import CodePointLanguage
from constrain.kernels.classes import CLASS_BY_FIRST

from ..regex import oracles

_WORDS = ["".join(t) for n in range(4) for t in itertools.product("ab-é", repeat=n)]
_LONG = ["xab", "abxab", "ab-ba", "bbbbbb", "~~", "aab~", "éa~b", "b\n"]
_CHARACTERS = "ab-é~\n日0"


def _languages(patterns: list[str]) -> tuple[CodePointLanguage, ...]:
    found = dict.fromkeys(map(search_language, patterns))
    return tuple(language for language in found if isinstance(language, CodePointLanguage))


def _standing(
    languages: tuple[CodePointLanguage, ...], members: frozenset[int], begun: str
) -> tuple[list[Standing], list[Standing]]:
    inside: list[Standing] = []
    outside: list[Standing] = []
    for i, language in enumerate(languages):
        (inside if i in members else outside).append((language, language.run(begun.encode())))
    return inside, outside


_PATTERNS = st.lists(
    st.one_of(
        oracles.patterns(conditions=True).map(lambda pair: pair[0]),
        st.sampled_from(
            ["a", "ab", "^a", "b$", "^a[b-]*$", "a.b", "^.{1,3}$", "", "a{2,3}", "^ab", "é+", "a|^b", "b?"]
        ),
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=60, deadline=None)
@given(_PATTERNS, st.sampled_from(_WORDS + _LONG))
def test_a_residual_has_the_ends_of_a_class(patterns: list[str], begun: str) -> None:
    languages = _languages(patterns)
    for c in key_classes(languages):
        inside, outside = _standing(languages, c.members, begun)
        found = residual(inside, outside)
        state = c.language.run(begun.encode())
        assert (found is not None) == bool(state)
        if found is None:
            assert not has_many_evidently(inside, outside)
            continue
        language, at = found
        for end in _WORDS:
            after = language.run(end.encode(), at)
            assert (bool(after) and language.accepting(after)) == c.language.matches((begun + end).encode())
        assert isinstance(c.language, CodePointLanguage)
        assert not has_many_evidently(inside, outside) or has_many(c.language, state)


@settings(max_examples=80, deadline=None)
@given(_PATTERNS, st.sampled_from(_WORDS + _LONG), st.data())
def test_classes_are_within_reach_for_as_many_characters(patterns: list[str], begun: str, data: st.DataObject) -> None:
    languages = _languages(patterns)
    classes = key_classes(languages)
    numbers = st.sets(st.sampled_from(range(len(classes))), min_size=1)
    wanted = [c for i, c in enumerate(classes) if i in data.draw(numbers)]
    names = NameReach(languages, tuple(c.members for c in classes))
    states = [language.run(begun.encode()) for language in languages]
    states = [
        -1 if state and language.universal(state) else state for language, state in zip(languages, states, strict=True)
    ]
    steps = names.steps(states, [c.members for c in wanted])
    for length in range(min(steps, 3) + 1):
        for more in itertools.product(_CHARACTERS, repeat=length):
            assert _within_reach(wanted, begun + "".join(more))
    marks = names.marks(states, [c.members for c in wanted]) if steps >= 0 else None
    if marks is not None:
        others = [c for c in _CHARACTERS if not marks >> int(CLASS_BY_FIRST[c.encode()[0]]) & 1]
        for length in range(4):
            for more in itertools.product(others, repeat=length):
                assert _within_reach(wanted, begun + "".join(more))
        for _ in range(20):
            more = data.draw(st.lists(st.sampled_from([*others, *(w for w in _WORDS if {*w} <= {*others})])))
            assert _within_reach(wanted, begun + "".join(more))


def _within_reach(wanted: list[Any], text: str) -> bool:
    """Whether endlessly many names of a wanted class begin so."""
    return any(
        isinstance(c.language, CodePointLanguage) and has_many(c.language, c.language.run(text.encode()))
        for c in wanted
    )


@pytest.mark.parametrize(
    ("patterns", "begun", "wanted", "marks"),
    [
        (["ab_c", "a_b"], "", [(), (0,), (1,)], "_"),
        (["ab_c", "a_b"], "xab_", [(), (0,), (1,)], "_"),
        (["ab_c", "a.b"], "xab_", [(), (0,), (1,)], None),
        (["ab_c", "a-b", "x.y"], "", [(), (0,), (2,), (0, 1)], "_-"),
        (["_b", "-b", "cd0"], "", [(), (2,), (0, 1)], "0"),
        (["_b", "-b", "c=d"], "", [(), (0,), (1,), (2,), (0, 1), (0, 2)], "-"),
        (["(a|_)b"], "", [()], None),
        (["(a_?)*b-"], "", [()], "-"),
        (["^ab"], "b", [()], ""),
    ],
)
def test_marks(patterns: list[str], begun: str, wanted: list[tuple[int, ...]], marks: str | None) -> None:
    languages = _languages(patterns)
    names = NameReach(languages, tuple(c.members for c in key_classes(languages)))
    states = [language.run(begun.encode()) for language in languages]
    states = [
        -1 if state and language.universal(state) else state for language, state in zip(languages, states, strict=True)
    ]
    expected = None if marks is None else sum(1 << int(CLASS_BY_FIRST[ord(mark)]) for mark in marks)
    classes = [frozenset(members) for members in wanted]
    assert (names.marks(states, classes) if names.steps(states, classes) >= 0 else None) == expected


@pytest.mark.parametrize(
    ("patterns", "begun", "wanted", "steps"),
    [
        (["ab", "cde"], "", [()], 1),
        (["ab", "cde"], "", [(), (0,), (1,)], 2),
        (["ab", "cde"], "xab", [(), (0,), (1,)], 2),
        (["ab", "cde"], "abcd", [(), (0,), (1,)], 0),
        (["ab", "cde"], "abcde", [(), (0,), (1,)], -1),
        (["ab", "cde"], "", [(0,)], 2),
        (["ab"], "", [(0,)], ENDLESS),
        (["^ab"], "b", [()], ENDLESS),
        (["^ab"], "a", [()], 0),
        (["^[a-f]+$"], "ab", [()], ENDLESS),
        (["a.b"], "", [()], 2),
        (["a[^b]b"], "", [()], -1),
    ],
)
def test_steps_within_reach(patterns: list[str], begun: str, wanted: list[tuple[int, ...]], steps: int) -> None:
    languages = _languages(patterns)
    names = NameReach(languages, tuple(c.members for c in key_classes(languages)))
    states = [language.run(begun.encode()) for language in languages]
    states = [
        -1 if state and language.universal(state) else state for language, state in zip(languages, states, strict=True)
    ]
    assert names.steps(states, [frozenset(members) for members in wanted]) == steps


@settings(max_examples=100, deadline=None)
@given(_PATTERNS, st.sampled_from(_WORDS + _LONG))
def test_a_separator_ends_what_was_begun(patterns: list[str], begun: str) -> None:
    for language in _languages(patterns):
        state = language.run(begun.encode())
        if not language.start or not state:
            continue
        known, lasting = language.separation
        accepts = language.accepting(state)
        for separator in "~xb\n日":
            if ord(separator) in known:
                continue
            for count in range(1, 5):
                after = language.run((separator * count).encode(), state)
                found = bool(after) and language.accepting(after)
                assert found == (language.universal(state) or (lasting and accepts))
        if lasting and accepts:
            assert all(language.accepting(language.run(end.encode(), state)) for end in _WORDS)


@pytest.mark.parametrize(
    "pattern", ["[ab]{2}c?", "(?:ab|[cd])(?:e|ee)?", "a{0,3}a{0,3}", "(?:a|aa){2}", "[a-c]{1,2}-[0-9]", "x(?:|y)", "é?"]
)
def test_texts_are_not_counted_higher_than_they_are(pattern: str) -> None:
    language = full_language(pattern)
    assert isinstance(language, CodePointLanguage)
    texts = few_texts(language, 10_000)
    assert texts is not None
    for begun in {"", *(text[:1] for text in texts)}:
        ends = {text for text in texts if text.startswith(begun)}
        assert 0 < language.least_texts(language.run(begun.encode())) <= len(ends)
        assert all(re.fullmatch(pattern, text) for text in ends)


def test_many_texts_are_counted_without_a_search() -> None:
    language = full_language("[a-z]{1,40}")
    assert isinstance(language, CodePointLanguage)
    assert language.least_texts(language.start) >= 1 << 60
    assert language.least_texts(language.run(b"a" * 38)) == 26**2


def test_nothing_and_anything() -> None:
    words = literal_set(("a", "ab"))
    assert isinstance(words, CodePointLanguage)
    a = words.run(b"a")
    assert residual([], []) == ANYTHING == (FREE_TEXT, FREE_TEXT.start)
    assert residual([(words, 0)], []) is None
    assert residual([(words, a)], [(words, a)]) is None
    assert residual([(words, a)], [(words, 0)]) == (words, a)
    assert residual([], [ANYTHING]) is None


@pytest.mark.parametrize(
    ("pattern", "begun", "members", "most"),
    [
        ("^[a-c]{0,9}d", "", "abc", 9),
        ("^[a-c]{0,9}d", "ab", "abc", 7),
        ("^a[a-c]{2}(?:[b-e]{3}|f)$", "", "a", 1),
        ("^a[a-c]{2}(?:[b-e]{3}|f)$", "a", "bc", 5),
        ("^[ab]([-ab]{0,6}[ab])?$", "", "ab", 7),
        ("^[ab]+$", "a", "ab", None),
        ("^(?:[ab]c)*$", "", "ab", 1),
        ("^$", "", None, 0),
    ],
)
def test_leading_repeats(pattern: str, begun: str, members: str | None, most: int | None) -> None:
    language = search_language(pattern)
    assert isinstance(language, CodePointLanguage)
    state = language.run(begun.encode())
    found = language.leading_repeat(state)
    if members is None:
        assert found is None
        return
    assert found is not None
    assert ("".join(chr(c) for first, last in found[0].ranges for c in range(first, last + 1)), found[1]) == (
        members,
        most,
    )
    for text in itertools.product(members, repeat=4 if most is None else min(most, 4)):
        assert language.run("".join(text).encode(), state)
    assert most is None or all(language.run(c.encode() * most, state) for c in members)
