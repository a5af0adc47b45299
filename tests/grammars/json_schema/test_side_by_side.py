"""Languages read side by side: the groups that are met are those that a search for each of them finds."""

from __future__ import annotations

import itertools
import random

import pytest

from constrain.grammars.json_schema import keys
from constrain.grammars.json_schema.side_by_side import groups_of
from constrain.grammars.languages.text import literal_set
from constrain.grammars.regex import search_language

PATTERNS = (
    "^a", "b$", "a", "^.{1,3}$", "^x-", "^[a-z]+$", "^[A-Z_]{2,4}$", "^(ab|cd|ef)$", "[0-9]", "^$", "^a.*b$", "é",
    "^[^a]*$", ".", "^.{2}$", "c|d", "^(a|b){1,2}$", "^[\\ud83d\\ude00-\\ud83d\\ude05]?$", "", "^(a|bb)*$",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(30))
def test_classes_are_those_of_a_search(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    source = random.Random(seed)
    languages = tuple(map(search_language, source.sample(PATTERNS, source.randint(3, 5))))
    walked = keys._Split(languages).classes()
    monkeypatch.setattr(keys._Split, "_side_by_side", lambda _: None)
    searched = keys._Split(languages).classes()
    assert [c.members for c in walked] == [c.members for c in searched]
    for one, other in zip(walked, searched, strict=True):
        assert (one.names is None) == (other.names is None)
        assert one.names is None or sorted(one.names) == sorted(other.names or ())


def test_names_are_listed_where_they_are_few() -> None:
    languages = (search_language("^[ab]{0,2}$"), search_language("a"), literal_set(("ab", "c")))
    found = groups_of(languages, 3, 100)
    assert found is not None
    assert {group: names and sorted(names) for group, names in found.items()} == {
        (True, True, True): ["ab"],
        (True, True, False): ["a", "aa", "ba"],
        (True, False, False): ["", "b", "bb"],
        (False, False, True): ["c"],
        (False, True, False): None,
        (False, False, False): None,
    }
    fewer = groups_of(languages, 2, 100)
    assert fewer is not None
    assert fewer[True, True, False] is None


def test_texts_fall_into_the_groups_they_belong_to() -> None:
    languages = tuple(map(search_language, ("^(a|bb)*$", "ab", "b$")))
    found = groups_of(languages, 10, 100)
    assert found is not None
    met = {
        tuple(language.matches(bytes(text)) for language in languages)
        for n in range(6)
        for text in itertools.product(b"abc", repeat=n)
    }
    assert met == found.keys()


def test_too_many_states_are_given_up() -> None:
    assert groups_of((search_language("^.{1,40}$"), search_language("a")), 10, 20) is None
