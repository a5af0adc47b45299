"""Patterns of ECMA-262 to syntax trees.

The grammar is the lenient one of Annex B (identity escapes, lone braces and brackets, octal escapes), as patterns in
real schemas need it; the meaning is by code points, as with the `u` flag, since that is how JSON Schema counts
characters: `\\u{…}`, `\\p{…}` and surrogate pairs mean what they mean there.

Groups are kept on an explicit stack, and nesting is bounded, so that later passes may recurse.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NoReturn

from ..errors import ResourceLimitError
from . import classes
from .ast import EMPTY_TEXT, Alternatives, Characters, Condition, Look, Node, PatternError, Repetition, Sequence, Words
from .classes import CodePoints
from .properties import property_members
from .words import LITERALS, WORDS

MAX_NESTING = 50
"""Deepest nesting of groups; what keeps the recursive passes within Python's stack."""

_SETS = {
    "d": classes.DIGIT,
    "D": classes.NOT_DIGIT,
    "w": classes.WORD,
    "W": classes.NOT_WORD,
    "s": classes.SPACE,
    "S": classes.NOT_SPACE,
}
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
INSTEAD = r"which no automaton can follow; where few texts may repeat, list them: (a|b)\1 is aa|bb"
_KEPT = 64
"""A pattern is looked at where it is read, and again where it is lowered; of so many the tree is kept until then."""
_BRACES = re.compile(r"\{([0-9]+)(?:(,)([0-9]*))?\}")
_HEX2 = re.compile(r"[0-9a-fA-F]{2}")
_HEX4 = re.compile(r"[0-9a-fA-F]{4}")
_HEX_BRACED = re.compile(r"\{([0-9a-fA-F]+)\}")
_LOW_SURROGATE = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_OCTAL = re.compile(r"[0-3][0-7]{0,2}|[4-7][0-7]?")
_DECIMAL = re.compile(r"[0-9]+")
_FLAGS = re.compile(r"\(\?([a-zA-Z]*(?:-[a-zA-Z]*)?)([:)])")
_NAME_ESCAPE = re.compile(r"\\u(?:\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{4}))")
_DOT = Characters(classes.DOT)
_ASCII = tuple(Characters(CodePoints.single(c)) for c in range(128))


@lru_cache(maxsize=_KEPT)
def parse(pattern: str) -> Node:
    """The syntax tree of `pattern`.

    Raises:
        PatternError: kind "invalid" for what is not ECMA-262, "unsupported" for backreferences, modifiers and Unicode
            properties that cannot be decided here.
        ResourceLimitError: groups nested deeper than `MAX_NESTING`.
    """
    return _Parser(pattern).parse()


class _Parser:
    def __init__(self, pattern: str) -> None:
        if not pattern.isascii() and any("\ud800" <= c <= "\udfff" for c in pattern):
            pattern = pattern.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        self.text = pattern
        self.at = 0
        self.refused: PatternError | None = None
        self.groups: tuple[int, set[str]] | None = None
        self.references: list[tuple[int, str]] = []

    def parse(self) -> Node:
        """One pass; what is unsupported is reported only when the rest turns out well-formed."""
        text, size = self.text, len(self.text)
        items: list[Node] = []
        options: list[Node] = []
        # Names may be used twice only in different options of one group: those of this option, and of all options.
        names: set[str] = set()
        all_names: set[str] = set()
        stack: list[tuple[list[Node], list[Node], set[str], set[str], str, int]] = []
        while self.at < size:
            char = text[self.at]
            if char == "(":
                opened = self.at
                if len(stack) >= MAX_NESTING:
                    raise ResourceLimitError(
                        "", "pattern", f"groups are nested deeper than {MAX_NESTING}", f"nesting {MAX_NESTING}"
                    )
                kind = self._group_start(names)
                stack.append((items, options, names, all_names, kind, opened))
                items, options, names, all_names = [], [], set(), set()
                continue
            if char == "|":
                options.append(_sequence(items))
                items = []
                all_names |= names
                names = set()
                self.at += 1
                continue
            if char == ")":
                if not stack:
                    self._invalid("unmatched ')'")
                options.append(_sequence(items))
                inner = all_names | names
                atom = _alternatives(options)
                items, options, names, all_names, kind, opened = stack.pop()
                if names & inner:
                    self._invalid(f"duplicate group name {min(names & inner)!r}")
                names |= inner
                self.at += 1
                if kind:
                    atom = Look(atom, ahead="<" not in kind, negated="!" in kind)
                    if not atom.ahead:
                        items.append(atom)
                        continue
            elif char == "^" or char == "$":
                items.append(Condition("start" if char == "^" else "end"))
                self.at += 1
                continue
            elif char == ".":
                atom = _DOT
                self.at += 1
            elif char == "\\":
                escaped = self._escape()
                if isinstance(escaped, Condition):
                    items.append(escaped)
                    continue
                atom = escaped
            elif char == "[":
                atom = self._class()
            elif char in "*+?" or (char == "{" and _BRACES.match(text, self.at)):
                self._invalid("nothing to repeat")
            else:
                words = None if items else WORDS.match(text, self.at)
                if words is not None:
                    items.append(Words(tuple(words[0].split("|"))))
                    self.at = words.end()
                    continue
                run = LITERALS.match(text, self.at)
                if run is not None:  # but for the last one, which may be repeated
                    last = run.end() - 1
                    items += map(_character, text[self.at : last])
                    self.at, char = last, text[last]
                atom = _character(char)
                self.at += 1
            if self.at < size and text[self.at] in "*+?{":
                atom = self._quantified(atom)
            items.append(atom)
        if stack:
            self._invalid("unterminated group", stack[-1][-1])
        options.append(_sequence(items))
        for position, name in self.references:
            if name not in self._groups()[1]:
                self._invalid(f"reference to group {name!r}, which does not exist", position)
        if self.refused is not None:
            raise self.refused
        return _alternatives(options)

    # Errors

    def _invalid(self, reason: str, position: int | None = None) -> NoReturn:
        raise PatternError("invalid", self.at if position is None else position, reason)

    def _unsupported(self, reason: str, position: int) -> None:
        if self.refused is None:
            self.refused = PatternError("unsupported", position, reason)

    # Groups and quantifiers

    def _group_start(self, names: set[str]) -> str:
        """Step over what opens a group; the kind of lookaround ("=", "!", "<=", "<!"), or "" for other groups."""
        text, opened = self.text, self.at
        if not text.startswith("(?", opened):
            self.at += 1
            return ""
        if text.startswith("(?:", opened):
            self.at += 3
            return ""
        for kind in ("=", "!", "<=", "<!"):
            if text.startswith(kind, opened + 2):
                self.at += 2 + len(kind)
                return kind
        if text.startswith("<", opened + 2):
            self.at += 2
            name = self._group_name()
            if name in names:
                self._invalid(f"duplicate group name {name!r}", opened)
            names.add(name)
            return ""
        if text.startswith("P", opened + 2):
            self._invalid("(?P…) is Python syntax, not ECMA-262; a named group is (?<name>…)")
        if text.startswith(">", opened + 2):
            self._invalid("atomic groups (?>…) are not part of ECMA-262")
        if text.startswith("#", opened + 2):
            self._invalid("comments (?#…) are not part of ECMA-262")
        flags = _FLAGS.match(text, opened)
        if flags is None or flags[2] == ")":
            self._invalid("inline flags are not part of ECMA-262" if flags and flags[1] else "invalid group")
        letters = flags[1].replace("-", "", 1)
        if not letters or len(set(letters)) != len(letters) or not set(letters) <= set("ims"):
            self._invalid(f"invalid flags in (?{flags[1]}:…)")
        self.at = flags.end()
        self._unsupported(f"modifiers (?{flags[1]}:…)", opened)
        return ""

    def _group_name(self) -> str:
        """The name in `<name>` at the current place."""
        closing = self.text.find(">", self.at)
        if self.text[self.at : self.at + 1] != "<" or closing < 0:
            self._invalid("invalid group name")
        raw = self.text[self.at + 1 : closing]

        def unescaped(found: re.Match[str]) -> str:
            code = int(found[1] or found[2], 16)
            return chr(code) if code <= classes.LAST else "\\"

        name = _NAME_ESCAPE.sub(unescaped, raw)
        plain = name.replace("$", "_").replace("\u200c", "").replace("\u200d", "")
        if not plain.isidentifier() or name[:1] in "\u200c\u200d":
            self._invalid(f"invalid group name {raw!r}")
        self.at = closing + 1
        return name

    def _quantified(self, atom: Node) -> Node:
        char = self.text[self.at]
        low: int
        high: int | None
        if char == "{":
            braces = _BRACES.match(self.text, self.at)
            if braces is None:
                return atom
            low = int(braces[1])
            high = (int(braces[3]) if braces[3] else None) if braces[2] else low
            if high is not None and high < low:
                self._invalid(f"numbers out of order in {braces[0]}")
            self.at = braces.end()
        else:
            low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
            self.at += 1
        after = self.text[self.at : self.at + 1]
        if after == "?":
            self.at += 1
        elif after == "+":
            self._invalid("possessive quantifiers are not part of ECMA-262")
        return Repetition(atom, low, high)

    # Escapes

    def _escape(self) -> Characters | Condition:
        """What an escape outside a class stands for."""
        text, start = self.text, self.at
        char = text[start + 1 : start + 2]
        if char == "b" or char == "B":
            self.at += 2
            return Condition("boundary" if char == "b" else "not boundary")
        if char and char in "123456789":
            digits = _DECIMAL.match(text, start + 1)
            assert digits is not None
            if int(digits[0]) <= self._groups()[0]:
                self.at = digits.end()
                self._unsupported(f"backreference \\{digits[0]}, {INSTEAD}", start)
                return Characters(classes.NONE)
        elif char == "k" and self._groups()[1]:
            self.at += 2
            name = self._group_name()
            self.references.append((start, name))
            self._unsupported(f"backreference \\k<{name}>, {INSTEAD}", start)
            return Characters(classes.NONE)
        meaning = self._character_escape()
        if isinstance(meaning, CodePoints):
            return Characters(meaning)
        return Characters(CodePoints.single(meaning))

    def _character_escape(self) -> CodePoints | int:
        """The set or the code point that an escape means both inside and outside of classes."""
        text, start = self.text, self.at
        char = text[start + 1 : start + 2]
        if not char:
            self._invalid("\\ at end of pattern")
        self.at += 2
        if char in _SETS:
            return _SETS[char]
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char in "pP" and text[self.at : self.at + 1] == "{":
            return self._property(negated=char == "P", start=start)
        if char == "c":
            letter = text[self.at : self.at + 1]
            if letter and (("a" <= letter <= "z") or ("A" <= letter <= "Z")):
                self.at += 1
                return ord(letter) % 32
            self.at -= 1  # the backslash stands for itself, and the c is read again
            return ord("\\")
        if char == "x" and (hex2 := _HEX2.match(text, self.at)):
            self.at += 2
            return int(hex2[0], 16)
        if char == "u":
            return self._unicode_escape()
        if "0" <= char <= "7" and (octal := _OCTAL.match(text, start + 1)):
            self.at = octal.end()
            return int(octal[0], 8)
        return ord(char)

    def _unicode_escape(self) -> int:
        """A code point written `\\u{…}`, `\\uXXXX` or as a pair of surrogates; else the letter u."""
        if braced := _HEX_BRACED.match(self.text, self.at):
            code = int(braced[1], 16)
            if code > classes.LAST:
                self._invalid(f"\\u{braced[0]} is beyond U+10FFFF", self.at - 2)
            self.at = braced.end()
            return code
        if hex4 := _HEX4.match(self.text, self.at):
            code = int(hex4[0], 16)
            self.at += 4
            if 0xD800 <= code < 0xDC00 and (low := _LOW_SURROGATE.match(self.text, self.at)):
                self.at = low.end()
                return 0x10000 + (code - 0xD800 << 10) + int(low[1], 16) - 0xDC00
            return code
        return ord("u")

    def _property(self, negated: bool, start: int) -> CodePoints:
        closing = self.text.find("}", self.at)
        if closing < 0:
            self._invalid("unterminated \\p{…}", start)
        expression = self.text[self.at + 1 : closing]
        self.at = closing + 1
        members = property_members(expression)
        if members is None:
            reason = f"Unicode property {expression!r} is not known to Python's Unicode data"
            self._unsupported(f"{reason}, nor to the package regex, if that is installed", start)
            return classes.NONE
        return ~members if negated else members

    # Classes

    def _class(self) -> Characters:
        text, opened = self.text, self.at
        self.at += 1
        negated = text.startswith("^", self.at)
        if negated:
            self.at += 1
        ranges: list[tuple[int, int]] = []
        size = len(text)
        while True:
            if self.at >= size:
                self._invalid("unterminated character class", opened)
            if text[self.at] == "]":
                self.at += 1
                break
            start = self.at
            first = self._class_atom()
            if text[self.at : self.at + 1] == "-" and self.at + 1 < size and text[self.at + 1] != "]":
                self.at += 1
                last = self._class_atom()
                if isinstance(first, int) and isinstance(last, int):
                    if first > last:
                        self._invalid("range out of order in character class", start)
                    ranges.append((first, last))
                    continue
                # Annex B: with a set at either end the hyphen stands for itself.
                for end in (first, ord("-"), last):
                    ranges.extend(((end, end),) if isinstance(end, int) else end.ranges)
            elif isinstance(first, int):
                ranges.append((first, first))
            else:
                ranges.extend(first.ranges)
        members = CodePoints.of(ranges)
        return Characters(~members if negated else members)

    def _class_atom(self) -> CodePoints | int:
        text = self.text
        char = text[self.at]
        if char != "\\":
            self.at += 1
            return ord(char)
        after = text[self.at + 1 : self.at + 2]
        if after == "b":
            self.at += 2
            return 8
        if after == "c" and (digit := text[self.at + 2 : self.at + 3]) and (digit == "_" or "0" <= digit <= "9"):
            self.at += 3
            return ord(digit) % 32
        if after == "k" and self._groups()[1]:
            self._invalid("\\k in a character class of a pattern with named groups")
        return self._character_escape()

    def _groups(self) -> tuple[int, set[str]]:
        """How many capturing groups the whole pattern has, and the names among them."""
        if self.groups is None:
            count, names, text, at, in_class = 0, set(), self.text, 0, False
            while at < len(text):
                char = text[at]
                if char == "\\":
                    at += 1
                elif in_class:
                    in_class = char != "]"
                elif char == "[":
                    in_class = True
                elif char == "(":
                    named = text.startswith("(?<", at) and text[at + 3 : at + 4] not in ("=", "!")
                    if named:
                        saved, self.at = self.at, at + 2
                        names.add(self._group_name())
                        self.at = saved
                    count += named or not text.startswith("(?", at)
                at += 1
            self.groups = count, names
        return self.groups


def _character(char: str) -> Characters:
    code = ord(char)
    return _ASCII[code] if code < 128 else Characters(CodePoints.single(code))


def _sequence(items: list[Node]) -> Node:
    if len(items) == 1:
        return items[0]
    return Sequence(tuple(items)) if items else EMPTY_TEXT


def _alternatives(options: list[Node]) -> Node:
    return options[0] if len(options) == 1 else Alternatives(tuple(options))
