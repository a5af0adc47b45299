"""Keyword arguments as Python writes them, read strictly: literals of JSON's types and nothing else.

Python's own parser finds the structure. Its literals are more than a call needs (tuples, sets, bytes, 0x10, 1_000,
several strings in a row), so the text is first cut into the tokens that are allowed.
"""

from __future__ import annotations

import ast
import re
from itertools import accumulate
from typing import Any, NoReturn

from constrain.grammars.errors import ToolCallParseError

_ESCAPE = r"\\(?:[\\'\"bfnrt]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
_TOKEN = re.compile(
    rf"""
      (?P<blank>[ \t\r\n]+)
    | (?P<string>"(?:[^"\\\n\r]|{_ESCAPE})*"|'(?:[^'\\\n\r]|{_ESCAPE})*')
    | (?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.]))
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<sign>[][{{}}:,=])
    """,
    re.VERBOSE,
)
_CUT = re.compile(r"""(?:"(?:[^"\\\n\r]|\\.)*|'(?:[^'\\\n\r]|\\.)*)\\?\Z|-?[0-9.eE+-]*\Z""")
_BRACKETS = re.compile(r"[\"'()\[\]{}]")
_IN_STRING = {'"': re.compile(r'["\\]'), "'": re.compile(r"['\\]")}


class Extent:
    """Finds, as text comes, the bracket that closes what was open before: where the arguments end."""

    def __init__(self, start: int) -> None:
        self._at, self._depth, self._quote = start, 0, ""

    def end(self, text: str) -> int | None:
        """Where that bracket is; None if it is not there yet."""
        while True:
            pattern = _IN_STRING[self._quote] if self._quote else _BRACKETS
            found = pattern.search(text, self._at)
            if found is None:
                self._at = len(text)
                return None
            sign = found.group()
            if sign == "\\":
                if found.end() == len(text):
                    self._at = found.start()
                    return None
                self._at = found.end() + 1
                continue
            self._at = found.end()
            if self._quote:
                self._quote = ""
            elif sign in "\"'":
                self._quote = sign
            elif sign in "([{":
                self._depth += 1
            elif self._depth == 0:
                self._at = found.start()
                return self._at
            else:
                self._depth -= 1


def read_keywords(text: str, offset: int = 0, *, cut: bool = False) -> dict[str, Any]:
    """The keyword arguments that a text between parentheses is.

    Args:
        text: the text.
        offset: where it begins in the whole output; added to the positions of errors.
        cut: whether the text ends before the closing parenthesis, so that it is truncated if not malformed.

    Raises:
        ToolCallParseError: of the kind "truncated" or "malformed".
    """
    _check_tokens(text, offset, cut)
    if cut:
        raise ToolCallParseError("truncated", offset + len(text), "the text ends within the arguments")
    try:
        tree = ast.parse(f"f({text}\n)", mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = getattr(error, "offset", None) if getattr(error, "lineno", None) == 1 else None
        at = offset + max(0, min(len(text), (where or 3) - 3))
        reason = getattr(error, "msg", None) or "they are too deeply nested"
        raise ToolCallParseError("malformed", at, f"the arguments are no Python: {reason}") from None
    call = tree.body
    if not isinstance(call, ast.Call) or call.args or any(word.arg is None for word in call.keywords):
        raise ToolCallParseError("malformed", offset, "every argument must have a name: name=value")
    reader = _Reader(text, offset)
    out: dict[str, Any] = {}
    try:
        for word in call.keywords:
            name = str(word.arg)
            if name in out:
                reader.malformed(word.value, f"the argument {name!r} is given twice; expected every argument once")
            out[name] = reader.value(word.value)
    except RecursionError:
        raise ToolCallParseError("malformed", offset, "the arguments are too deeply nested") from None
    return out


def _check_tokens(text: str, offset: int, cut: bool) -> None:
    at, last = 0, ""
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            if cut and _CUT.match(text, at):
                return
            raise ToolCallParseError("malformed", offset + at, f"{text[at]!r} begins nothing that arguments may hold")
        kind = found.lastgroup or ""
        if kind == "string" and last in ("string", "word"):
            raise ToolCallParseError("malformed", offset + at, "a string must stand alone, without another or a prefix")
        if last == "," and found.group() in ("]", "}"):
            raise ToolCallParseError("malformed", offset + at, f"expected a value after the comma, got {text[at]!r}")
        at = found.end()
        last = last if kind == "blank" else found.group() if kind == "sign" else kind
    if last == "," and not cut:
        raise ToolCallParseError("malformed", offset + at, "expected an argument after the comma")


class _Reader:
    def __init__(self, text: str, offset: int) -> None:
        self.offset = offset
        self.lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", text)
        self.starts = [0, *accumulate(map(len, self.lines))]

    def value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if any("\ud800" <= c <= "\udfff" for c in node.value):
                self.malformed(node, "half of a surrogate pair is no character; write the character itself")
            return node.value
        if isinstance(node, ast.Constant) and (node.value is None or type(node.value) in (bool, int, float)):
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            value = node.operand.value
            if isinstance(value, int | float) and not isinstance(value, bool):
                return -value
        if isinstance(node, ast.List):
            return [self.value(item) for item in node.elts]
        if isinstance(node, ast.Dict):
            return self.members(node)
        if isinstance(node, ast.Name) and node.id in ("true", "false", "null"):
            written = {"true": "True", "false": "False", "null": "None"}[node.id]
            self.malformed(node, f"{node.id} is no Python literal; write {written}")
        return self.malformed(node, "expected a Python literal: a string, number, True, False, None, list or dict")

    def members(self, node: ast.Dict) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                self.malformed(key or item, "the names in a dict must be strings")
            name = self.value(key)
            if name in out:
                self.malformed(key, f"the name {name!r} is given twice in one dict; expected every name once")
            out[name] = self.value(item)
        return out

    def malformed(self, node: ast.expr, reason: str) -> NoReturn:
        raise ToolCallParseError("malformed", self.offset + self.place(node), reason)

    def place(self, node: ast.expr) -> int:
        """Offset of a node in the text: Python counts bytes in a line, and the first line has `f(` before it."""
        line = self.lines[node.lineno - 1] if node.lineno <= len(self.lines) else ""
        column = node.col_offset - (2 if node.lineno == 1 else 0)
        return self.starts[node.lineno - 1] + len(line.encode()[: max(0, column)].decode(errors="ignore"))
