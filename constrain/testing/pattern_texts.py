"""Texts that match an ECMA-262 pattern, by a walk through its syntax tree.

Anchors and lookarounds are walked past, so a text is a candidate: the caller keeps those that a validator takes.
"""

from __future__ import annotations

from functools import lru_cache

from constrain.grammars.errors import ConstrainError
from constrain.grammars.regex import PatternError, parse
from constrain.grammars.regex import ast as tree
from constrain.testing.choices import Choices

_LIMIT = 400  # characters, so that nested repetitions stay small
_PADDING = ("", "a", "b ", "é", "\n", "0")


@lru_cache(maxsize=1024)
def _parsed(pattern: str) -> tree.Node | None:
    try:
        return parse(pattern)
    except (PatternError, ConstrainError):
        return None


def text_for(pattern: str, choices: Choices, *, length: int = 0) -> str | None:
    """A text that the pattern probably finds something in, of about `length` code points if it can stretch.

    None where the pattern cannot be read.
    """
    node = _parsed(pattern)
    if node is None:
        return None
    out: list[str] = []
    _walk(node, choices, out, length)
    text = "".join(out)
    if "^" not in pattern and choices.chance(0.3):
        text = choices.pick(_PADDING) + text
    if "$" not in pattern and choices.chance(0.3):
        text = text + choices.pick(_PADDING)
    return text


def _walk(node: tree.Node, choices: Choices, out: list[str], length: int) -> None:
    if len(out) > _LIMIT:
        return
    if isinstance(node, tree.Characters):
        if node.members:
            out.append(_character(node.members.ranges, choices))
    elif isinstance(node, tree.Sequence):
        for part in node.parts:
            _walk(part, choices, out, length)
    elif isinstance(node, tree.Alternatives):
        _walk(choices.pick(node.options), choices, out, length)
    elif isinstance(node, tree.Repetition):
        high = node.low + 3 if node.high is None else min(node.high, node.low + 3)
        if length > high and (node.high is None or node.high > high):
            high = length if node.high is None else min(node.high, length)
        count = choices.integer(node.low, high)
        if length and choices.chance(0.5):
            count = max(node.low, min(length, high))
        for _ in range(count):
            _walk(node.body, choices, out, 0)


def _character(ranges: tuple[tuple[int, int], ...], choices: Choices) -> str:
    for _ in range(4):
        low, high = choices.pick(ranges)
        if low <= 0x61 <= high and choices.chance(0.6):  # mostly letters where many characters may come
            return chr(min(high, 0x61 + choices.integer(0, 25)))
        code = choices.pick((low, high, min(high, low + choices.integer(0, 40))))
        if not 0xD800 <= code <= 0xDFFF:
            return chr(code)
    return chr(ranges[0][0])
