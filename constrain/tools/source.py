"""A text that comes in pieces, read by generators.

A reader is written as if the whole text were there, and yields where it needs more to go on. No reader decides before
it has seen all that its decision depends on, so what is read does not depend on where the pieces are cut.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from typing import NoReturn, TypeVar

from constrain.grammars.errors import ToolCallParseError

T = TypeVar("T")
Reading = Generator[None, None, T]
"""A reader: yields when it needs more text, returns what it read."""

_BLANKS = re.compile(r"[ \t\n\r]*")
_TOKEN = re.compile(r"<[^<>\s]{0,60}>?")
_KEPT = 4096


class Stops:
    """Texts that end a free text."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = tuple(sorted(dict.fromkeys(texts), key=lambda text: (-len(text), text)))
        self._longest = max(map(len, self.texts), default=1)
        self._first = frozenset(text[0] for text in self.texts)
        self._search = re.compile("|".join(map(re.escape, self.texts)) if self.texts else r"(?!)")

    def search(self, text: str, start: int, *, closed: bool) -> tuple[str | None, int]:
        """The first stop at or after `start`, and where it is; without one, None and up to where there is none.

        A stop that is within another, which the end of a closed text cuts off, is none: more text would have shown the
        other.
        """
        found = self._search.search(text, start)
        begun = self._begun(text, start)
        if found is not None and (found.start() < begun or (closed and found.start() == begun)):
            return found.group(), found.start()
        return None, len(text) if closed and found is None else begun

    def _begun(self, text: str, start: int) -> int:
        """Where the first stop begins that the end of the text may cut."""
        for at in range(max(start, len(text) - self._longest + 1), len(text)):
            if text[at] in self._first:
                rest = text[at:]
                if any(len(stop) > len(rest) and stop.startswith(rest) for stop in self.texts):
                    return at
        return len(text)


class Source:
    """The text so far, and the place where it is read.

    Attributes:
        text: what is there of the text; what was read may be gone.
        at: where in `text` it is read.
        closed: whether nothing more will come.
        cut: whether it is closed within a character, of which nothing is in `text`.
    """

    def __init__(self, prefix: str = "") -> None:
        self.text, self.at, self.closed, self.cut = prefix, 0, False, False
        self._gone = -len(prefix)

    @property
    def position(self) -> int:
        """Offset of `at` in the whole text; what stood in the prompt counts below zero."""
        return self.position_of(self.at)

    def position_of(self, at: int) -> int:
        return self._gone + at

    def add(self, piece: str) -> None:
        self.text += piece

    def forget(self) -> None:
        """Drop what was read. Offsets in `text` that are kept elsewhere lose their meaning."""
        if self.at > _KEPT:
            self._gone += self.at
            self.text, self.at = self.text[self.at :], 0

    @property
    def at_end(self) -> bool:
        """Whether all is read that is there."""
        return self.at >= len(self.text)

    def malformed(self, reason: str, at: int | None = None, *, hint: str = "") -> NoReturn:
        raise ToolCallParseError("malformed", self.position_of(self.at if at is None else at), reason, hint)

    def truncated(self, reason: str) -> NoReturn:
        raise ToolCallParseError("truncated", self.position_of(len(self.text)), reason)

    def need(self, number: int) -> Reading[bool]:
        """Whether so many characters follow."""
        while len(self.text) - self.at < number:
            if self.closed:
                return False
            yield
        return True

    def blanks(self) -> Reading[None]:
        """Go past whitespace."""
        yield from self.run(_BLANKS)

    def run(self, pattern: re.Pattern[str]) -> Reading[str]:
        """Read what a pattern matches that can match nothing, and always more if more fits."""
        start = self.at
        while True:
            found = pattern.match(self.text, self.at)
            self.at = found.end() if found else self.at
            if not self.at_end or self.closed:
                return self.text[start : self.at]
            yield

    def spelled_token(self) -> Reading[str | None]:
        """What follows, if it looks like a special token's name; nothing is read."""
        while True:
            found = _TOKEN.match(self.text, self.at)
            if found is not None and found.group().endswith(">"):
                return found.group()
            if self.closed or found is None or found.end() < len(self.text):
                return None
            yield

    def ahead(self, options: Sequence[str], *, blanks: bool = False) -> Reading[tuple[str | None, int]]:
        """Which of some texts follows, the longest if several do, and where it begins. Nothing is read.

        Args:
            options: the texts.
            blanks: whether whitespace may stand before them.
        """
        while True:
            found = _BLANKS.match(self.text, self.at) if blanks else None
            start = found.end() if found else self.at
            matched = max((o for o in options if self.text.startswith(o, start)), key=len, default=None)
            rest = len(self.text) - start
            more = any(
                len(option) > max(rest, len(matched or "")) and option.startswith(self.text[start:])
                for option in options
            )
            if self.closed or not more:
                return matched, start
            yield

    def cuts(self, text: str, at: int | None = None) -> bool:
        """Whether the text is over, and what is left of it is where this one begins, or nothing."""
        return self.closed and text.startswith(self.text[self.at if at is None else at :])

    def unexpected(self, options: Sequence[str], at: int) -> NoReturn:
        """Raise for a place where one of some texts must follow, and none does."""
        if any(self.cuts(option, at) for option in options):
            self.truncated(f"the text ends where {_either(options)} should follow")
        same = {option: _shared(option, self.text[at : at + len(option)]) for option in options}
        most = max(same.values())
        expected = [option for option in options if same[option] == most]
        got = self.text[at : at + most + 1]
        self.malformed(f"expected {_either(expected)}, got {got!r}", at + most)

    def literal(self, text: str) -> Reading[None]:
        """Read exactly this text."""
        while not self.text.startswith(text, self.at):
            if self.closed or not text.startswith(self.text[self.at :]):
                self.unexpected((text,), self.at)
            yield
        self.at += len(text)

    def optional(self, text: str) -> Reading[bool]:
        """Read this text if it follows."""
        found, _ = yield from self.ahead((text,))
        if found is None and not self.at_end and self.cuts(text):
            self.truncated(f"the text ends within {text!r}")
        self.at += len(text) if found else 0
        return found is not None


def _either(options: Sequence[str]) -> str:
    return " or ".join(map(repr, dict.fromkeys(options)))


def _shared(a: str, b: str) -> int:
    """Length of the common beginning."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
