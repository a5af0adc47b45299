"""Reading the JSON object that a model wrote as arguments, strictly, and telling cut-off text from malformed text.

`json.loads` alone will not do: it takes NaN, keeps the last of two members with one name, and its error says nothing of
whether more text could have helped. So a text that it refuses is read once more, token by token: cut off is what ends
where some JSON text could go on.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from constrain.grammars.errors import ToolCallParseError

_BLANKS = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_CUT_NUMBER = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*|(?:\.[0-9]+)?[eE][+-]?[0-9]*)?)?\Z")
_LITERALS = ("true", "false", "null")
_SHOWN = 30


class _Twice(Exception):
    pass


def read_object(text: str, offset: int = 0) -> dict[str, Any]:
    """The JSON object that a text is, with blanks around it at most.

    Args:
        text: the text.
        offset: where it begins in the whole output; added to the positions of errors.

    Raises:
        ToolCallParseError: of the kind "truncated" or "malformed".
    """
    start = _BLANKS.match(text)
    at = start.end() if start else 0
    if at < len(text) and text[at] != "{":
        reason = f"expected a JSON object of arguments, got {_shown(text[at:])}"
        raise ToolCallParseError("malformed", offset + at, reason)
    try:
        value: dict[str, Any] = json.loads(text, object_pairs_hook=_members, parse_constant=_no_constant)
    except (ValueError, RecursionError, _Twice) as error:
        _Scanner(text, offset).run()
        reason = "too deeply nested" if isinstance(error, RecursionError) else str(error)
        raise ToolCallParseError("malformed", offset, f"the arguments are not readable JSON: {reason}") from None
    return value


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Twice
    return members


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


class _Scanner:
    """Finds the first place that is wrong, and raises for it."""

    def __init__(self, text: str, offset: int) -> None:
        self.text, self.offset, self.at = text, offset, 0

    def run(self) -> None:
        stack: list[tuple[str, set[str]]] = []
        expects = "value"
        while True:
            found = _BLANKS.match(self.text, self.at)
            self.at = found.end() if found else self.at
            if expects == "end":
                if self.at < len(self.text):
                    self.malformed("expected nothing after the arguments")
                return
            if self.at == len(self.text):
                self.truncated(f"the text ends where {_IN_WORDS[expects]} should follow")
            c = self.text[self.at]
            if expects in ("value", "item or ]"):
                if c == "]" and expects == "item or ]":
                    stack.pop()
                    self.at += 1
                elif c in "{[":
                    stack.append((c, set()))
                    self.at += 1
                    expects = "name or }" if c == "{" else "item or ]"
                    continue
                else:
                    self.scalar(c)
            elif expects in ("name", "name or }"):
                if c == "}" and expects == "name or }":
                    stack.pop()
                    self.at += 1
                else:
                    self.name(c, stack[-1][1])
                    expects = "colon"
                    continue
            elif expects == "colon":
                if c != ":":
                    self.malformed("expected a colon after the name")
                self.at += 1
                expects = "value"
                continue
            else:  # after a member or item
                closer = "}" if stack[-1][0] == "{" else "]"
                if c == ",":
                    expects = "name" if closer == "}" else "value"
                    self.at += 1
                    continue
                if c != closer:
                    self.malformed(f"expected a comma or {closer}")
                stack.pop()
                self.at += 1
            expects = "comma or end" if stack else "end"

    def name(self, c: str, names: set[str]) -> None:
        start = self.at
        if c != '"':
            self.malformed("expected a name in double quotes")
        self.string()
        name = json.loads(self.text[start : self.at])
        if name in names:
            self.at = start
            self.malformed(f"the name {name!r} is given twice in one object; expected every name once")
        names.add(name)

    def scalar(self, c: str) -> None:
        rest = self.text[self.at :]
        if c == '"':
            self.string()
        elif c == "-" or (c.isascii() and c.isdigit()):
            found = _NUMBER.match(self.text, self.at)
            end = found.end() if found else self.at
            if found is None or self.text[end : end + 1] in (".", "e", "E"):
                if _CUT_NUMBER.match(self.text, self.at):
                    self.truncated("the text ends within a number")
                self.malformed("expected a number as JSON has them")
            self.at = end
        else:
            for literal in _LITERALS:
                if rest.startswith(literal):
                    self.at += len(literal)
                    return
                if literal.startswith(rest):
                    self.truncated(f"the text ends within {literal!r}")
            self.malformed("expected a JSON value")

    def string(self) -> None:
        found = _STRING.match(self.text, self.at)
        end = found.end() if found else self.at
        if self.text[end : end + 1] == '"':
            self.at = end + 1
            return
        if end == len(self.text) or _CUT_ESCAPE.match(self.text, end):
            self.truncated("the text ends within a string")
        self.at = end
        if self.text[end] == "\\":
            self.malformed('expected an escape that JSON has (\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX)')
        self.malformed("a control character in a string must be written as an escape")

    def truncated(self, reason: str) -> NoReturn:
        raise ToolCallParseError("truncated", self.offset + len(self.text), reason)

    def malformed(self, reason: str) -> NoReturn:
        raise ToolCallParseError("malformed", self.offset + self.at, f"{reason}; got {_shown(self.text[self.at :])}")


_IN_WORDS = {
    "value": "a value",
    "item or ]": "an item or ]",
    "name": "a name",
    "name or }": "a name or }",
    "colon": "a colon",
    "comma or end": "a comma or the end of the object or array",
}


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…") if text else "nothing"
