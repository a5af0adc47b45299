"""Words listed in a pattern are brought together by how they begin; what the pattern means stays."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.grammars.regex import full_language, parse, search_any, search_language
from constrain.grammars.regex.terms import Concat, Repeat, Term, Terms, Union

words = st.lists(st.text("abé-1", min_size=1, max_size=6), min_size=1, max_size=30)
endings = st.sampled_from(["", "|", "|c*", "+", "{2}", "|(a|b)", "|[ab]c", "$", "|^a"])


@settings(max_examples=200, deadline=None)
@given(words, endings, st.lists(st.text("abcé-1", max_size=7), max_size=10))
def test_a_list_of_words_means_what_it_does_elsewhere(listed: list[str], ending: str, subjects: list[str]) -> None:
    pattern = "|".join(listed) + ending
    other = re.compile(pattern)
    whole, anywhere = full_language(f"x(?:{pattern})"), search_language(pattern)
    for text in (*subjects, *listed, *(w[:-1] for w in listed), *(w + "b" for w in listed)):
        assert anywhere.matches(text.encode()) == (other.search(text) is not None), text
        if not {"^", "$"} & set(ending):
            assert whole.matches(b"x" + text.encode()) == (other.fullmatch(text) is not None), text


@settings(max_examples=50, deadline=None)
@given(words, words)
def test_several_patterns_at_once(some: list[str], others: list[str]) -> None:
    patterns = (f"^(?:{'|'.join(some)})$", f"^(?:{'|'.join(others)})$", "^c")
    language = search_any(patterns)
    for text in (*some, *others, "c1", "ac", ""):
        assert language.matches(text.encode()) == any(re.search(p, text) for p in patterns), text
    assert search_any(patterns[:1]) is search_language(patterns[0])


def _branches(pattern: str) -> list[int]:
    """How many options there are wherever there are any."""

    def walk(term: Term) -> list[int]:
        if isinstance(term, Union):
            return [len(term.options), *(n for option in term.options for n in walk(option))]
        if isinstance(term, Repeat):
            return walk(term.body)
        return [*walk(term.head), *walk(term.tail)] if isinstance(term, Concat) else []

    return walk(Terms().of(parse(pattern)))


def test_words_that_begin_alike_are_one_option() -> None:
    assert _branches("abcc|abdd|xx|abee") == [2, 3]
    assert _branches("abc|abd|xx|abe") == [2]  # the last characters are one class
    assert _branches("ax|abx|abcx|abcdx") == [2, 2, 2]
    assert Terms().of(parse("ab|ab|ab|ab|ab")).least_bytes == 2
    assert _branches("ab|ac|ad*|ae") == [4]  # one of them is no word


@pytest.mark.parametrize("count", [40, 400])
def test_words_within_words_do_not_recurse_without_end(count: int) -> None:
    pattern = "|".join("a" * n for n in range(1, count))
    language = full_language(f"({pattern})")
    assert [n for n in range(count + 2) if language.matches(b"a" * n)] == list(range(1, count))
