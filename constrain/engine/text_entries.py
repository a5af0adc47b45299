"""What a part of a string state stands for: alternatives, each with bounds on the length."""

from __future__ import annotations

from dataclasses import dataclass

from constrain.grammars.languages.base import TextLanguage

UNBOUNDED_LENGTH = 1 << 60


@dataclass(frozen=True, slots=True)
class Entry:
    """One string alternative of a scanner: bounds on the code points, and the variable that it makes valid."""

    low: int
    high: int
    variable: int


ANY_NAME = Entry(0, UNBOUNDED_LENGTH, 0)

TextPart = tuple[TextLanguage, int, tuple[Entry, ...]]
"""A language, its state, and the alternatives that its texts belong to."""
