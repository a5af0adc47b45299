"""Which names of tools a format can write."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NameRule:
    """A pattern that names match as a whole, and the same in words."""

    pattern: str
    words: str

    def allows(self, name: str) -> bool:
        return re.fullmatch(self.pattern, name) is not None


ANY_NAME = NameRule(r"(?s:.)+", "any text")
"""Within JSON quotes every name can be written."""

WORD_NAME = NameRule(r"[A-Za-z0-9_.-]{1,128}", "1 to 128 letters a-z and A-Z, digits, _ . and -")
"""What is read up to a delimiter."""

SHORT_NAME = NameRule(r"[a-zA-Z0-9_-]{1,64}", "1 to 64 letters a-z and A-Z, digits, _ and -")
"""Where a dot or a colon has a meaning."""

PYTHON_NAME = NameRule(
    r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*", "a Python name of ASCII letters, or several with dots"
)
IDENTIFIER = NameRule(r"[A-Za-z_][A-Za-z0-9_]*", "a Python name of ASCII letters, without dots")

NAME_DELIMITERS = " \t\n\r<>[](){}\"'=,:|"
"""Characters that end a name which is not in JSON quotes; no rule for such names allows any of them."""
