"""The syntax tree of a pattern, and the error for a pattern that is refused.

Groups leave no trace: they only matter to backreferences, which are not regular. Laziness leaves none either: it
decides which match is found, not whether there is one.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from .classes import CodePoints


class PatternError(ValueError):
    """A pattern that is not ECMA-262, or that is but cannot be matched by an automaton here.

    Attributes:
        kind: "invalid" when ECMA-262 (with Annex B) does not allow it, "unsupported" when it does.
        position: index into the pattern.
        reason: what is wrong.
    """

    def __init__(self, kind: Literal["invalid", "unsupported"], position: int, reason: str) -> None:
        self.kind, self.position, self.reason = kind, position, reason
        super().__init__(f"{reason} (at offset {position})")

    def __reduce__(self) -> tuple[type, tuple[str, int, str]]:
        return type(self), (self.kind, self.position, self.reason)


class Characters(NamedTuple):
    """One code point out of a set."""

    members: CodePoints


class Sequence(NamedTuple):
    """Its parts in order; the empty text when there are none."""

    parts: tuple[Node, ...]


class Alternatives(NamedTuple):
    """Any one of its options."""

    options: tuple[Node, ...]


class Words(NamedTuple):
    """Any one of several words, none of which is empty."""

    words: tuple[str, ...]


class Repetition(NamedTuple):
    """`low` to `high` times the body; no upper limit when `high` is None."""

    body: Node
    low: int
    high: int | None


class Condition(NamedTuple):
    """A condition on a place between two code points."""

    kind: Literal["start", "end", "boundary", "not boundary"]


class Look(NamedTuple):
    """A lookahead or lookbehind."""

    body: Node
    ahead: bool
    negated: bool


Node = Characters | Sequence | Alternatives | Words | Repetition | Condition | Look

EMPTY_TEXT = Sequence(())
