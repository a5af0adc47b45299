"""What can be wrong with tools, with choices among them, and with the calls a model makes.

Errors about definitions speak to the person who wrote them. Errors about calls are `ToolCallParseError`s of four kinds
and speak to the model too: `feedback` is a text to send back as the result of the call.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

from constrain.grammars.errors import ConstrainError, ToolCallParseError

_SUGGESTIONS = 3
_LISTED = 20


class ToolError(ConstrainError, ValueError):
    """A tool definition, or a list of them, cannot be used. `tool` names the tool, or the element of the list."""

    def __init__(self, tool: str, reason: str) -> None:
        self.tool, self.reason = tool, reason
        super().__init__(f"{tool}: {reason}")

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (self.tool, self.reason)


class ToolChoiceError(ConstrainError, ValueError):
    """A choice among tools is not understood, contradicts itself, or names a tool that is not there."""


class RenderError(ConstrainError, ValueError):
    """A call, or a message with calls, cannot be written in a format.

    Attributes:
        format: name of the format.
        tool: name of the tool, "" where it is not about one call.
        path: keys and indices that lead to the argument concerned; () for none.
        reason: why, and what to do about it.
    """

    def __init__(self, format: str, tool: str, path: Sequence[str | int], reason: str) -> None:
        self.format, self.tool, self.path, self.reason = format, tool, tuple(path), reason
        where = f", tool {tool!r}" if tool else ""
        where += f", argument {dotted(self.path)}" if self.path else ""
        super().__init__(f"format {format!r}{where}: {reason}")

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self.format, self.tool, self.path, self.reason)


class UnknownToolError(ToolCallParseError):
    """A call names a tool that is not there.

    Attributes:
        name: the name that was called.
        known: the names of the tools there are.
        suggestions: those of them that look like it, the nearest first.
    """

    def __init__(self, name: str, known: Iterable[str], position: int = 0) -> None:
        self.name, self.known = name, tuple(known)
        self.suggestions = nearest(name, self.known)
        hint = f"; did you mean {listing(self.suggestions, 'or')}?" if self.suggestions else ""
        there = f"the tools are {listing(self.known, 'and')}" if self.known else "there are no tools"
        super().__init__("unknown_tool", position, f"there is no tool {name!r}{hint or '.'} {_capital(there)}.")

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self.name, self.known, self.position)

    @property
    def feedback(self) -> str:
        return _capital(self.reason)


class WrongArgumentsError(ToolCallParseError):
    """The arguments of a call are JSON, but not what the tool takes.

    Attributes:
        tool: name of the tool.
        path: keys and indices that lead to the place; () for the arguments as a whole.
        expected: what is expected there, in words.
        came: what came, as JSON text, shortened where it is long.
        allowed: the values, or for a name the names, that are allowed there, where they can be listed.
    """

    def __init__(
        self,
        tool: str,
        path: Sequence[str | int],
        expected: str,
        came: str,
        allowed: Sequence[Any] | None = None,
        position: int = 0,
    ) -> None:
        self.tool, self.path, self.expected, self.came = tool, tuple(path), expected, came
        self.allowed = None if allowed is None else tuple(allowed)
        where = f"argument {dotted(self.path)}" if self.path else "the arguments"
        reason = f"wrong arguments for the tool {tool!r}: {where}: expected {expected}; got {came}"
        super().__init__("wrong_arguments", position, reason)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self.tool, self.path, self.expected, self.came, self.allowed, self.position)

    @property
    def pointer(self) -> str:
        """The place as a JSON pointer."""
        return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in self.path)

    @property
    def feedback(self) -> str:
        return _capital(self.reason) + ". Correct the arguments and call the tool again."


def dotted(path: Sequence[str | int]) -> str:
    """A path as people write it: filters[0].city."""
    out = ""
    for part in path:
        if isinstance(part, int):
            out += f"[{part}]"
        elif part.isidentifier():
            out += f".{part}" if out else part
        else:
            out += f"[{part!r}]"
    return out


def nearest(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """The known names that look most like a name, whatever their case."""
    by_case: dict[str, str] = {}
    for other in known:
        by_case.setdefault(other.lower(), other)
    found = difflib.get_close_matches(name.lower(), list(by_case), n=_SUGGESTIONS, cutoff=0.6)
    return tuple(by_case[other] for other in found)


def listing(names: Sequence[str], last: str) -> str:
    """Names in quotes, with "and" or "or" before the last one; the first twenty of many."""
    if len(names) > _LISTED:
        return ", ".join(repr(name) for name in names[:_LISTED]) + f" and {len(names) - _LISTED} more"
    quoted = [repr(name) for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} {last} {quoted[-1]}" if quoted else "none"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
