"""Properties of characters that Python's own data does not know, against that data and known sizes and members."""

import unicodedata

import pytest

import constrain
from constrain.engine import unicode_data
from constrain.errors import UnsupportedSchemaError

pytest.importorskip("regex")

VOCABULARY = constrain.Vocabulary.from_tokens([*(bytes([b]) for b in range(256)), None], eos_token_ids=[256])


def is_full_match(pattern: str, text: str) -> bool:
    matcher = constrain.regex(pattern).compile(VOCABULARY).matcher()
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        (r"\p{Script=Greek}+", "αβγΩ", "a"),
        (r"\p{sc=Grek}", "λ", "l"),
        (r"[^\p{Script=Latin}]+", "αб", "é"),
        (r"\P{sc=Cyrillic}", "a", "б"),
        (r"\p{scx=Deva}", "।", "a"),
        (r"\p{Alphabetic}+", "aéя", "1"),
        (r"\p{Emoji_Presentation}", "😀", "a"),
        (r"\p{Emoji}", "3", "a"),
        (r"\p{RI}{2}", "🇳🇴", "NO"),
        (r"\p{IDS}\p{IDC}*", "x1", "1x"),
    ],
)
def test_members(pattern: str, inside: str, outside: str) -> None:
    assert is_full_match(pattern, inside)
    assert not is_full_match(pattern, outside)


@pytest.mark.parametrize("prefix", ["GREEK SMALL LETTER ", "CYRILLIC SMALL LETTER ", "THAI CHARACTER "])
def test_scripts_agree_with_the_names_of_characters(prefix: str) -> None:
    script = prefix.split()[0].title()
    ranges = unicode_data.ranges(f"Script={script}")
    assert ranges is not None
    named = [c for c in range(0x110000) if unicodedata.name(chr(c), "").startswith(prefix)]
    assert named
    assert all(any(first <= c <= last for first, last in ranges) for c in named)


def test_ranges_beyond_the_surrogates_are_where_they_belong() -> None:
    assert unicode_data.ranges("Regional_Indicator") == [(0x1F1E6, 0x1F1FF)]
    assert unicode_data.ranges("Script=SignWriting") == [(0x1D800, 0x1DA8B), (0x1DA9B, 0x1DA9F), (0x1DAA1, 0x1DAAF)]


@pytest.mark.parametrize("expression", ["Script=greek", "script=Greek", "Script=Nowhere", "alphabetic", "Scx=Greek"])
def test_other_spellings_are_refused(expression: str) -> None:
    with pytest.raises(UnsupportedSchemaError):
        constrain.regex(rf"\p{{{expression}}}")
