"""So many code points as `padding` says complete any text, for combinations of patterns and of what is excluded."""

from __future__ import annotations

import itertools
import random
import re

import pytest

from constrain.grammars.json_schema.normal import StringAlternative
from constrain.grammars.json_schema.texts import texts_of
from constrain.grammars.regex.utf8 import CodePointLanguage

_ALPHABET = "abdet1_é日"


@pytest.mark.parametrize(
    ("patterns", "excluded", "known"),
    [
        (("ab|date",), ("ab", "date", "dab"), True),
        (("ab|^date",), ("ab",), True),
        (("ab",), (), True),
        ((), ("a", "tab"), True),
        (("^ab",), ("ab",), False),
        (("ab", "de"), ("ab",), False),
        (("a$",), ("a", "ba"), True),
        (("[ab]{2}1?$", "."), ("ab",), False),
    ],
)
def test_padding_completes_every_text(patterns: tuple[str, ...], excluded: tuple[str, ...], known: bool) -> None:
    language = texts_of(StringAlternative(patterns=patterns, not_values=excluded)).language
    assert isinstance(language, CodePointLanguage)
    padding = language.padding(language.start)
    assert (padding is not None) == known
    if padding is None:
        return
    rng = random.Random(1)
    every = ("".join(t) for n in range(3) for t in itertools.product(_ALPHABET, repeat=n))
    some = ("".join(rng.choices(_ALPHABET, k=rng.randint(3, 9))) for _ in range(100))
    for text in (*every, *excluded, *some):
        state = language.start
        for byte in text.encode():
            state = int(language.row(state)[byte])
        assert state, text
        shortest = language.lengths(state).first_in(0, None)
        assert shortest is not None
        assert shortest <= padding
        valid = all(re.search(p, text) for p in patterns) and text not in excluded
        assert language.accepting(state) == bool(valid)
