"""Characters of internationalised labels, in classes of those that the rules do not tell apart.

RFC 5892 derives what is allowed from Unicode properties, RFC 5893 restricts directions. Both are computed here from
`unicodedata` when first asked for, so they follow the Unicode version of the interpreter. It has no scripts and no
joining types: scripts are read off character names, and Arabic joining off the presentation forms that a letter has.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import NamedTuple

_VALID = frozenset("\u00df\u03c2\u06fd\u06fe\u0f0b\u3007")
_DISALLOWED = frozenset("\u0640\u07fa\u302e\u302f\u3031\u3032\u3033\u3034\u3035\u303b")
_CONTEXTUAL = {
    "\u00b7": "middle dot",
    "\u0375": "keraia",
    "\u05f3": "geresh",
    "\u05f4": "geresh",
    "\u200c": "non-joiner",
    "\u200d": "joiner",
    "\u30fb": "katakana dot",
}

# Old Hangul jamo, default ignorable characters, and three blocks of symbols: letters or marks, yet not allowed.
_EXCLUDED = (
    *((0x034F, 0x034F), (0x1100, 0x11FF), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x20D0, 0x20FF), (0x3164, 0x3164)),
    *((0xA960, 0xA97F), (0xD7B0, 0xD7FF), (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0x1D100, 0x1D24F), (0xE0000, 0xE0FFF)),
)
_LETTERS_AND_DIGITS = frozenset(("Ll", "Lu", "Lo", "Nd", "Lm", "Mn", "Mc"))

# Where there are letters that fold to themselves, block by block; then blocks of ideographs and syllables, each one
# run of letters from its start to an end that depends on the version of Unicode.
_BLOCKS = (
    *((0x80, 0x33FF), (0xA000, 0xABFF), (0xF900, 0xFEFF), (0x10000, 0x16FFF), (0x18B00, 0x18CFF), (0x1AFF0, 0x1B2FF)),
    *((0x1BC00, 0x1BCFF), (0x1CF00, 0x1CFFF), (0x1DA00, 0x1E95F)),
)
_RUNS = (
    *((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x17000, 0x187FF), (0x18800, 0x18AFF), (0x18D00, 0x18D7F)),
    *((0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0x2CEB0, 0x2EBEF)),
    *((0x2EBF0, 0x2EE5F), (0x30000, 0x3134F), (0x31350, 0x323AF)),
)

# Where the scripts that rules name are, and what their characters' names say: the blocks that validators agree on.
_SCRIPTS = (
    (0x0370, 0x03FF, "GREEK ", "Greek"),
    (0x0590, 0x05FF, "HEBREW ", "Hebrew"),
    (0x3041, 0x309F, "HIRAGANA LETTER ", "kana or Han"),
    (0x30A0, 0x30FF, "KATAKANA LETTER ", "kana or Han"),
)


class CharClass(NamedTuple):
    """What the rules ask of a character.

    Attributes:
        kind: a contextual character's name, "Greek", "Hebrew" or "kana or Han", "l", "hyphen", "upper" for a capital
            of ASCII, "virama", or "" for none of them.
        bidi: bidirectional class, with AL as R.
        mark: whether it is a combining mark, with which no label begins.
        combining: canonical combining class.
        composes: whether it may combine with what stands before it into another character.
        joins: "D" joins on both sides, "R" with what stands before it, "T" is transparent, "" does not join.
        size: bytes of its UTF-8 encoding.
    """

    kind: str
    bidi: str
    mark: bool
    combining: int
    composes: bool
    joins: str
    size: int


@lru_cache(maxsize=1)
def classes() -> tuple[tuple[int, int, CharClass], ...]:
    """All characters that a label can have, as sorted ranges (first, last, class). Takes some 50 ms once."""
    known: dict[CharClass, CharClass] = {}
    ranges: list[tuple[int, int, CharClass]] = []

    def add(first: int, last: int, found: CharClass) -> None:
        found = known.setdefault(found, found)
        if ranges and ranges[-1][2] is found and ranges[-1][1] == first - 1:
            first = ranges.pop()[0]
        ranges.append((first, last, found))

    for text, kind in (("-", "hyphen"), ("09", ""), ("AZ", "upper"), ("ak", ""), ("l", "l"), ("mz", "")):
        bidi = unicodedata.bidirectional(text[0])
        add(ord(text[0]), ord(text[-1]), CharClass(kind, bidi, False, 0, False, "", 1))
    composing, joining = _composing(), _joining()
    runs = {start: (start, _last_letter(start, stop)) for start, stop in _RUNS}
    for start, stop in sorted((*_BLOCKS, *runs.values())):
        if start in runs:
            if unicodedata.category(chr(start)) == "Lo":
                add(start, stop, _classify(chr(start), composing, joining))
            continue
        for character in _allowed(start, stop):
            add(ord(character), ord(character), _classify(character, composing, joining))
    return tuple(ranges)


def _last_letter(low: int, high: int) -> int:
    """The last of the run of letters that begins at `low`, and ends at `high` at the latest."""
    while low < high:
        middle = (low + high + 1) // 2
        if unicodedata.category(chr(middle)) == "Lo":
            low = middle
        else:
            high = middle - 1
    return low


def _allowed(start: int, stop: int) -> list[str]:
    """The characters from `start` to `stop` that may stand in a label, if only in some contexts."""
    category = unicodedata.category
    candidates = [c for c in map(chr, range(start, stop + 1)) if category(c) in _LETTERS_AND_DIGITS]
    excluded = set(_DISALLOWED)
    for first, last in _EXCLUDED:
        excluded.update(map(chr, range(max(first, start), min(last, stop) + 1)))
    candidates = [c for c in candidates if c not in excluded]
    # Stable under case folding and compatibility composition; a NUL keeps neighbours apart.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", "\0".join(candidates)).casefold())
    found = {a for a, b in zip(candidates, folded.split("\0"), strict=True) if a == b}
    return sorted(found.union(c for c in (*_VALID, *_CONTEXTUAL) if start <= ord(c) <= stop))


def _classify(character: str, composing: frozenset[str], joining: dict[str, str]) -> CharClass:
    code, category = ord(character), unicodedata.category(character)
    combining = unicodedata.combining(character)
    kind = _CONTEXTUAL.get(character, "")
    if not kind and combining == 9:
        kind = "virama"
    elif not kind:
        kind = _script(character, code)
    bidi = unicodedata.bidirectional(character)
    joins = "T" if category == "Mn" else joining.get(character, "")
    size = 2 if code < 0x800 else 3 if code < 0x10000 else 4
    return CharClass(
        kind, "R" if bidi == "AL" else bidi, category[0] == "M", combining, character in composing, joins, size
    )


def _script(character: str, code: int) -> str:
    """The script, of those that a rule names."""
    if 0x4E00 <= code <= 0x9FFF:
        return "kana or Han"
    for first, last, name, script in _SCRIPTS:
        if first <= code <= last:
            return script if unicodedata.name(character, "").startswith(name) else ""
    return ""


def _composing() -> frozenset[str]:
    """Characters that some canonical composition has in second place."""
    found = set()
    for start, stop in ((0xC0, 0x33FF), (0x11000, 0x11FFF)):
        for code in range(start, stop + 1):
            parts = unicodedata.decomposition(chr(code)).split()
            if len(parts) == 2 and parts[0][0] != "<":
                found.add(chr(int(parts[1], 16)))
    return frozenset(found)


def _joining() -> dict[str, str]:
    """Arabic letters by how they join: those with a medial form on both sides, others with a final form on one."""
    found: dict[str, str] = {}
    for start, stop in ((0xFB50, 0xFDFF), (0xFE70, 0xFEFF)):
        for code in range(start, stop + 1):
            form, *letters = unicodedata.decomposition(chr(code)).split() or [""]
            if len(letters) == 1 and form in ("<medial>", "<final>"):
                letter = chr(int(letters[0], 16))
                found[letter] = "D" if form == "<medial>" else found.get(letter, "R")
    return found
