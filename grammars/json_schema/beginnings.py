"""How the texts of a pattern begin, read off the pattern.

Alternatives for a text are often told apart by their first letters: `^u?int(8|16)$` and `^bool(\\[\\])?$` have no text
in common. To see that takes no automaton.
"""

from __future__ import annotations

import functools
import re

MAX_BEGINNINGS = 8
"""Beginnings that are told apart, which letters that may be missing double."""

_LETTER = re.compile(r"([\w @/:;,=-])(?:(\?)(?!\?)|(?![?*{]))", re.ASCII)
_ESCAPES = re.compile(r"\\.", re.DOTALL)
_CLASSES = re.compile(r"\[[^\]]*\]")
_GROUPS = re.compile(r"\([^()]*\)")


@functools.lru_cache(maxsize=1024)
def beginnings(pattern: str) -> tuple[str, ...]:
    """Texts with one of which every text begins in which a pattern is found; just "" where that is not plain."""
    out = [""]
    if pattern.startswith("^") and not _has_alternatives(pattern):
        at = 1
        while found := _LETTER.match(pattern, at):
            more = [text + found[1] for text in out]
            out = [*out, *more] if found[2] else more
            if len(out) > MAX_BEGINNINGS:
                return ("",)
            at = found.end()
    return tuple(out)


def begin_apart(first: str, second: str) -> bool:
    """Whether plainly no text is found by both of two patterns."""
    return not any(a.startswith(b) or b.startswith(a) for a in beginnings(first) for b in beginnings(second))


def _has_alternatives(pattern: str) -> bool:
    """Whether a pattern may be one of several as a whole."""
    if "|" not in pattern:
        return False
    rest = _CLASSES.sub("", _ESCAPES.sub("", pattern))
    count = 1
    while count:
        rest, count = _GROUPS.subn("", rest)
    return "|" in rest
