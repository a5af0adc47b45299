"""`constrain.regex`: the raw text is matched whole; verdicts against Python's `re`, masks against brute force."""

from __future__ import annotations

import itertools
import random
import re

import numpy as np
import pytest

import constrain
from constrain.grammars.errors import (
    ConstrainError,
    InvalidSchemaError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
)
from tests.oracles import VOCABULARIES, Walker, accepts, allowed, brute_force, vocabulary

# Patterns that mean the same to ECMA-262 and to Python on texts over the alphabet below.
PATTERNS = [
    "[a-z]+@example\\.com",
    "a|b|ab",
    "(a|ab)(c|bcd)?",
    "(?:ab)*",
    "a{2,3}b?",
    "[^a]b*",
    "",
    "(a*)*b",
    "x?y?z?",
    "é+a",
    '\\{"a":\\[\\]\\}',
    "a.c",
    "^ab$",
]
LOOKAHEADS = ["(?=ab)a.*", "(?!ab)[ab]{2}", "a(?!b)."]
TEXTS = ["".join(t) for n in range(5) for t in itertools.product("abc", repeat=n)] + [
    "é",
    "éa",
    "ééa",
    "xyz",
    "xz",
    "x",
    "q@example.com",
    "@example.com",
    "q@exampleXcom",
    '{"a":[]}',
    "a\nc",
    "aéc",
    "abcd",
    "abbcd",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_whole_texts_match_as_in_python(pattern: str) -> None:
    grammar = constrain.regex(pattern).compile(vocabulary("bytes"))
    for text in TEXTS:
        assert accepts(grammar, text) == bool(re.fullmatch(pattern, text)), text


@pytest.mark.parametrize("pattern", LOOKAHEADS)
def test_lookaheads_are_enforced_or_refused_by_name(pattern: str) -> None:
    try:
        grammar = constrain.regex(pattern)
    except UnsupportedSchemaError as error:
        assert "lookahead" in error.reason  # noqa: PT017
        return
    engine = grammar.compile(vocabulary("bytes"))
    for text in TEXTS:
        assert accepts(engine, text) == bool(re.fullmatch(pattern, text)), text


@pytest.mark.parametrize("pattern", ["[a-z]+@example\\.com", "(é|😀|n){3,40}", "\\d{3}-\\d{4}", '[^"]*"end'])
@pytest.mark.parametrize("vocabulary_name", ["mixed", "smollm2"])
def test_masks_equal_brute_force(vocabulary_name: str, pattern: str) -> None:
    tokens = VOCABULARIES[vocabulary_name]()
    grammar = constrain.regex(pattern).compile(vocabulary(vocabulary_name))
    every = np.arange(len(tokens.bytes_of))
    for matcher in Walker(tokens, random.Random(1)).positions(grammar, 6):
        assert (allowed(matcher, len(every)) == brute_force(matcher, tokens, every)).all()


def test_walks_end_in_matching_texts() -> None:
    walker = Walker(VOCABULARIES["bytes"](), random.Random(2))
    for pattern in PATTERNS:
        grammar = constrain.regex(pattern).compile(vocabulary("bytes"))
        for _ in range(5):
            matcher, text = grammar.matcher(), bytearray()
            for _ in range(walker.rng.randint(0, 8)):
                chosen = walker.choose(allowed(matcher, walker.size))
                if chosen is None:
                    break
                assert matcher.accept_token(chosen)
                text.append(chosen)
            distance = matcher.min_tokens_to_end
            rest = walker.finish(matcher)
            assert len(rest) <= distance
            # The ends of lines that ECMA's dot excludes, Python's does not, so only this direction holds.
            assert re.fullmatch(pattern, (bytes(text) + rest).decode())


def test_bad_patterns() -> None:
    for pattern in ("(", "*", "[z-a]", "a{3,2}", "\\", "(?<n>a)(?<n>b)", "(?P<n>a)"):
        with pytest.raises(ConstrainError) as caught:
            constrain.regex(pattern)
        assert isinstance(caught.value, InvalidSchemaError | NotImplementedError), repr(caught.value)


@pytest.mark.parametrize("pattern", ["[]", "b^a", "$a"])
def test_patterns_that_nothing_matches(pattern: str) -> None:
    with pytest.raises(UnsatisfiableSchemaError):
        constrain.regex(pattern).compile(vocabulary("bytes"))


def test_regex_grammars_are_values() -> None:
    assert constrain.regex("a+") == constrain.regex("a+")
    assert constrain.regex("a+") != constrain.regex("a*")
    assert len({constrain.regex("a"), constrain.regex("a"), constrain.regex("b")}) == 2
