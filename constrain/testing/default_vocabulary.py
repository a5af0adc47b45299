"""A small vocabulary that has what makes masks hard: every byte, and tokens that cross several levels of JSON."""

from __future__ import annotations

from functools import lru_cache

from constrain.vocabulary import Vocabulary

_FRAGMENTS = (
    '{"', '":', '": ', '": "', '":"', '", "', '","', '",\n', '"},', '"}', '"]', "]}", "}}", "]]", '":{"', '":[', "[[",
    "[{", "{}", "[]", '""', "],", "},", "},{", '}, {"', ", ", ', "', ": ", ",\n", "\n", "\r\n", "\n  ", '\n    "', "  ",
    "    ", "        ", "\t", "\n}", "null", "true", "false", "nul", "fal", ":null", "rue}", "se,", "0.", ".5", ".0",
    "e1", "E+", "e-", "-1", "1,", "12", "00", "10", "100", "]]]]", '\\"', "\\\\", "\\n", "\\u", "\\u00", "\\ud83d",
    "\\ude00", "e9", '\\""', 'a"', '":1', "1}", '"a":', '"a": ', '{"a":1', "ab", "aab", "abc", "abab", "x-", "a b",
    "2024", "-02-29", "T23", ":59", "Z", "://", "http", "@", ".com", "::", "é", "😀", "名",
)  # fmt: skip
_PIECES = (b"\xf0\x9f", b"\x98\x80", b'\xa9"', b"\xc3\xa9\xc3", b"\xff")


@lru_cache(maxsize=1)
def default_vocabulary() -> Vocabulary:
    """All 256 bytes, JSON fragments that cross levels, UTF-8 cut within a character, a duplicate; two end ids."""
    tokens: list[bytes | None] = [None, *(bytes([b]) for b in range(256))]
    tokens += [fragment.encode() for fragment in _FRAGMENTS]
    tokens += [*_PIECES, b'"', None, None]
    return Vocabulary.from_tokens(tokens, eos_token_ids=[0, len(tokens) - 1])
