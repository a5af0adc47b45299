"""Internationalised names against the `idna` package, which has tables of its own, and Python's Punycode."""

from __future__ import annotations

import random
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.grammars.formats import format_language
from constrain.grammars.formats.hosts import MAX_LABEL
from constrain.grammars.formats.idn import PRICES, SURCHARGE
from constrain.grammars.formats.idna_classes import classes

from ...oracles import FULL
from .texts import has, words

idna = pytest.importorskip("idna")
HOST = format_language("idn-hostname")
assert HOST is not None


def is_host(text: str) -> bool:
    try:
        idna.encode(text, uts46=False, strict=True)
    except (idna.IDNAError, UnicodeError):
        return False
    return len(idna.encode(text)) <= 253 and not text.endswith(".")  # the package allows the dot of the root


def test_allowed_characters() -> None:
    """Those that `idna` calls valid, less what is newer than this interpreter's Unicode; and capitals of ASCII."""
    theirs: set[int] = set()
    for kind in ("PVALID", "CONTEXTJ", "CONTEXTO"):
        for packed in idna.idnadata.codepoint_classes[kind]:
            theirs.update(range(packed >> 32, packed & 0xFFFFFFFF))
    ours: set[int] = set()
    for first, last, _ in classes():
        assert not ours.intersection((first, last))
        ours.update(range(first, last + 1))
    assert ours - theirs == set(range(0x41, 0x5B))
    assert [hex(c) for c in theirs - ours if unicodedata.category(chr(c)) != "Cn"] == []


def test_words_are_names() -> None:
    """Also what `idna` says of names whose capitals of ASCII it would want in small letters."""
    for text in words(HOST, random.Random(5), 400 if FULL else 80):
        labels = [label.lower() if label.isascii() else label for label in _labels(text)]
        assert is_host(".".join(labels)), text
        assert all(unicodedata.is_normalized("NFC", label) for label in labels)


def _labels(text: str) -> list[str]:
    return text.translate({0x3002: ".", 0xFF0E: ".", 0xFF61: "."}).split(".")


letters = st.sampled_from(
    "abl01-\u00b7\u00e9\u0375\u03b1\u03c9\u05d0\u05f3\u0627\u0628\u0660\u06f0\u0915\u094d\u200c\u200d\u30a2\u30fb\u4e00\u0300."
)


@settings(max_examples=2000 if FULL else 400, deadline=None)
@given(st.text(letters, min_size=1, max_size=8))
def test_short_names(text: str) -> None:
    composed = all(c != "\u0300" for c in text)  # narrowed: a mark that may compose
    if has(HOST, text):
        assert is_host(text)
        assert composed
    elif is_host(text) and composed:
        # Joining letters are all that is narrowed here. The package looks at directions label by label.
        directions = {unicodedata.bidirectional(c) for c in text}
        assert "\u200c" in text or ("." in text and directions & {"R", "AL", "AN"})


def test_signs_that_want_a_script_are_of_it() -> None:
    for text in ("\u0375\u0375α", "α\u0375\u0375α", "א\u05f3\u05f3", "א\u05f3\u05f4א"):
        assert is_host(text)
        assert has(HOST, text)
    for text in ("\u0375\u0375", "\u0375\u0375a", "\u05f3\u05f3א"):
        assert not is_host(text)
        assert not has(HOST, text)


def price(text: str) -> int:
    return SURCHARGE + sum(PRICES[len(c.encode())] for c in text)


def random_letter(rng: random.Random, size: int) -> str:
    first, last = {1: (0x61, 0x7A), 2: (0x80, 0x7FF), 3: (0x800, 0xD7FF), 4: (0x10000, 0x323AF)}[size]
    return chr(rng.randint(first, last))


def test_prices_bound_punycode() -> None:
    """Labels made as long as possible in Punycode by hill climbing stay within what they are priced at."""
    rng = random.Random(11)
    for _ in range(300 if FULL else 25):
        sizes = rng.choice(([1, 2], [2], [3], [4], [1, 3], [1, 4], [1, 1, 2, 3, 4], [1, 1, 1, 1, 2, 3]))
        label = random_letter(rng, sizes[-1])
        while price(label) < MAX_LABEL:
            more = label + random_letter(rng, rng.choice(sizes) if price(label) < MAX_LABEL - 5 else 1)
            label = more if price(more) <= MAX_LABEL else label + "a"
        for _ in range(400):
            other = list(label)
            if rng.random() < 0.5:
                at = rng.randrange(len(other))
                other[at] = random_letter(rng, len(other[at].encode()))
            else:
                other.insert(rng.randrange(len(other)), other.pop(rng.randrange(len(other))))
            if len("".join(other).encode("punycode")) >= len(label.encode("punycode")):
                label = "".join(other)
        assert len("xn--" + label.encode("punycode").decode()) <= MAX_LABEL
