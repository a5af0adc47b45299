"""Texts to try formats on: the official suite's, walks through a language, and mutations of both."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from constrain.grammars.languages.base import DEAD, TextLanguage

SUITE = Path(__file__).resolve().parents[3] / ".." / "shared" / "data" / "json-schema-test-suite"
DRAFTS = {"draft4": 4, "draft6": 6, "draft7": 7, "draft2019-09": 2019, "draft2020-12": 2020}

SIGNS = (
    "abzAZ019.-_~:/?#[]@!$&'()*+,;=%\\\"<>^`{|} Ttz\nPYMDWHSxXn"
    "\u0080\u00a0\u00e9\u00b7\u0301\u0375\u03b1\u05d0\u0628\u0660\u06f0\u0915\u094d\u200c\u200d\u3002\u3041\u30fb\u4e00"
    "\uff21\ue000\ufdd0\U0001f600"
)
"""Characters that matter to some format."""


@dataclass(frozen=True)
class Case:
    """A text of the official suite, its format and whether it has that in a draft."""

    draft: int
    format: str
    text: str
    valid: bool
    description: str


@lru_cache(maxsize=1)
def suite() -> tuple[Case, ...]:
    """All of the suite's cases about formats of texts; skips where the suite is absent."""
    if not SUITE.is_dir():
        pytest.skip("needs ../shared/data/json-schema-test-suite beside the checkout", allow_module_level=True)
    found = []
    for folder, draft in DRAFTS.items():
        for path in sorted((SUITE / folder / "optional" / "format").glob("*.json")):
            for group in json.loads(path.read_text(encoding="utf-8")):
                name = group["schema"]["format"]
                found += [
                    Case(draft, name, test["data"], test["valid"], test["description"])
                    for test in group["tests"]
                    if isinstance(test["data"], str)
                ]
    return tuple(found)


def narrowed(name: str, text: str) -> bool:
    """Whether a text of the suite falls under a narrowing of host names."""
    labels = text.translate({0x3002: ".", 0xFF0E: ".", 0xFF61: "."}).split(".")
    if any(label.startswith("xn--") for label in labels):
        return name in ("hostname", "idn-hostname")
    return name == "idn-hostname" and any(len(label) > 17 and not label.isascii() for label in labels)


def has(language: TextLanguage, text: str) -> bool:
    """Whether a language has a text; never one with a lone surrogate."""
    return language.matches(text.encode("utf-8", "surrogatepass"))


def word(language: TextLanguage, rng: random.Random, size: int) -> bytes:
    """A word found by a random walk of at least `size` bytes where possible, then straight to the nearest end."""
    state, out = language.start, bytearray()
    while True:
        done = language.accepting(state)
        if done and (len(out) >= size or rng.random() < 0.05):
            return bytes(out)
        row = language.row(state)
        live = np.flatnonzero(row)
        if len(live) == 0:
            assert done, f"a live state without successors, after {bytes(out)!r}"
            return bytes(out)
        if len(out) >= size:
            left = language.shortest(state)
            nearer = [b for b in live if language.shortest(int(row[b])) < left]
            assert nearer, f"no byte leads nearer to the end after {bytes(out)!r}"
            byte = rng.choice(nearer)
        elif rng.random() < 0.5:
            target = rng.choice(np.unique(row[live]))  # every successor alike, however few bytes lead there
            byte = rng.choice(np.flatnonzero(row == target))
        else:
            byte = rng.choice(live)
        out.append(int(byte))
        state = int(row[byte])
        assert state != DEAD


def words(language: TextLanguage, rng: random.Random, count: int) -> Iterator[str]:
    """Random words of assorted sizes."""
    for _ in range(count):
        yield word(language, rng, rng.choice((0, 2, 5, 10, 20, 40))).decode()


def mutated(text: str, rng: random.Random, pool: list[str]) -> str:
    """`text` with one to three changes."""
    out = list(text)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.randrange(len(out) + 1)
        sign = rng.choice(out) if out and rng.random() < 0.4 else rng.choice(SIGNS)
        kind = rng.randrange(4)
        if kind == 0:
            out.insert(at, sign)
        elif kind == 1 and out:
            out.pop(rng.randrange(len(out)))
        elif kind == 2 and out:
            out[rng.randrange(len(out))] = sign
        else:
            other = rng.choice(pool)
            start = rng.randrange(len(other) + 1)
            out[at : at + rng.randrange(4)] = other[start : start + rng.randrange(6)]
    return "".join(out)
