"""ECMA-262 patterns for Python's `re`, by rewriting.

Python reads many patterns differently: `$` before a final line feed, `\\d` and `\\w` beyond ASCII, `\\s` and `.` with
other members. The rewriting spells out every set, so that the pattern means the same by code points. What has no
faithful rewriting (`\\p{...}`, backreferences, lookbehinds of varying width) is refused rather than approximated.
"""

from __future__ import annotations

import re
from functools import lru_cache

_DIGITS = "0-9"
_WORD = "A-Za-z0-9_"
_SPACES = r"\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_NOT_DIGITS = r"\x00-/:-\U0010ffff"
_NOT_WORD = r"\x00-/:-@\[-^`{-\U0010ffff"
_NOT_SPACES = (
    r"\x00-\x08\x0e-\x1f!-\u009f\u00a1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff"
    r"\u3001-\ufefe\uff00-\U0010ffff"
)
_SETS = {"d": _DIGITS, "w": _WORD, "s": _SPACES, "D": _NOT_DIGITS, "W": _NOT_WORD, "S": _NOT_SPACES}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "v": "\v", "f": "\f"}
_QUANTIFIER = re.compile(r"[*+?]|\{\d+(?:,\d*)?\}")


class Untranslatable(ValueError):
    """A pattern that is not ECMA-262 or has no faithful form in Python's `re`."""


def _escaped(char: str) -> str:
    return f"\\x{ord(char):02x}" if char < " " else re.escape(char)


class _Rewriter:
    def __init__(self, pattern: str) -> None:
        self.pattern, self.at = pattern, 0

    def rewrite(self) -> str:
        out: list[str] = []
        while self.at < len(self.pattern):
            out.append(self._term())
        return "".join(out)

    def _take(self) -> str:
        char = self.pattern[self.at]
        self.at += 1
        return char

    def _match(self, regex: str) -> re.Match[str] | None:
        found = re.compile(regex).match(self.pattern, self.at)
        if found:
            self.at = found.end()
        return found

    def _term(self) -> str:
        quantifier = _QUANTIFIER.match(self.pattern, self.at)
        if quantifier:
            self.at = quantifier.end()
            lazy = self.pattern[self.at : self.at + 1] == "?"
            self.at += lazy
            if _QUANTIFIER.match(self.pattern, self.at):
                raise Untranslatable("nothing to repeat")
            return quantifier[0] + "?" * lazy
        char = self._take()
        if char == "\\":
            return self._escape()
        if char == "[":
            return self._class()
        if char == "(":
            return self._open()
        simple = {".": r"[^\n\r\u2028\u2029]", "$": r"\Z", "^": "^", "|": "|", ")": ")"}
        return simple.get(char) or _escaped(char)

    def _open(self) -> str:
        if self.pattern[self.at : self.at + 1] != "?":
            return "("
        if self._match(r"\?<[A-Za-z_$][\w$]*>"):
            return "("
        found = self._match(r"\?(?:[:=!]|<[=!])")
        if not found:
            raise Untranslatable("a group that ECMA-262 lacks")
        return "(" + found[0]

    def _code_point(self) -> str | None:
        """The character of an escape whose letter comes next; None where it is no escape of one character."""
        found = self._match(r"u\{([0-9A-Fa-f]+)\}")
        if found and int(found[1], 16) <= 0x10FFFF:
            return chr(int(found[1], 16))
        found = self._match(r"u([dD][89abAB][0-9A-Fa-f]{2})\\u([dD][c-fC-F][0-9A-Fa-f]{2})")
        if found:
            return chr(0x10000 + ((int(found[1], 16) - 0xD800) << 10) + int(found[2], 16) - 0xDC00)
        found = self._match(r"u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})")
        if found:
            return chr(int(found[1] or found[2], 16))
        found = self._match(r"c([A-Za-z])")
        if found:
            return chr(ord(found[1]) % 32)
        if self._match(r"0(?!\d)"):
            return "\0"
        if self._match(r"[1-9kpPcux0]"):
            raise Untranslatable("a backreference, a property or an escape of old")
        if self.at == len(self.pattern):
            raise Untranslatable("a backslash at the end")
        char = self.pattern[self.at]
        if char in "dDwWsSbB":
            return None
        self.at += 1
        return _CONTROLS.get(char, char)

    def _escape(self) -> str:
        char = self._code_point()
        if char is not None:
            return _escaped(char)
        letter = self._take()
        return f"\\{letter}" if letter in "bB" else f"[{_SETS[letter]}]"

    def _class(self) -> str:
        negated = bool(self._match(r"\^"))
        members: list[tuple[str, str]] = []  # text, and what it is: "set", "char" or "dash" (a bare hyphen)
        while True:
            if self.at == len(self.pattern):
                raise Untranslatable("a class without an end")
            char = self._take()
            if char == "]":
                break
            if char == "\\":
                found = self._code_point()
                if found is None:
                    letter = self._take()
                    if letter == "B":
                        raise Untranslatable("\\B in a class")
                    members.append(("\b", "char") if letter == "b" else (_SETS[letter], "set"))
                    continue
                members.append((found, "char"))
            else:
                members.append((char, "dash" if char == "-" else "char"))
        if not members:
            return r"[\x00-\U0010ffff]" if negated else "(?!)"
        return f"[{'^' * negated}{_class_body(members, self.pattern)}]"


def _class_body(members: list[tuple[str, str]], pattern: str) -> str:
    out: list[str] = []
    at = 0
    while at < len(members):
        text, kind = members[at]
        is_range = at + 2 < len(members) and members[at + 1][1] == "dash"
        if is_range and kind != "set" and members[at + 2][1] != "set":
            last = members[at + 2][0]
            if last < text:
                raise Untranslatable(f"a range out of order in {pattern!r}")
            out.append(f"{_escaped(text)}-{_escaped(last)}")
            at += 3
        else:
            out.append(text if kind == "set" else _escaped(text))
            at += 1
    return "".join(out)


@lru_cache(maxsize=2048)
def compile_ecma(pattern: str) -> re.Pattern[str]:
    """A Python pattern whose `search` finds what ECMA-262's would, by code points. Raises `Untranslatable`."""
    try:
        return re.compile(_Rewriter(pattern).rewrite(), re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise Untranslatable(str(error)) from None
