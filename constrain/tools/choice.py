"""Which tools a model may or must call, and how many times, independent of any API's spelling.

What a choice means in numbers of calls, and with which tools:

| mode     | in parallel | not in parallel |
|----------|-------------|-----------------|
| auto     | 0 to n      | 0 or 1          |
| required | 1 to n      | exactly 1       |
| named    | exactly 1   | exactly 1       |
| none     | 0           | 0               |

A subset of allowed names filters the tools first. A maximum in place of `parallel=True` is n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from constrain.tools.problems import ToolChoiceError, listing, nearest
from constrain.tools.tool import Tool

Mode = Literal["none", "auto", "required", "named"]
MODES: tuple[Mode, ...] = ("none", "auto", "required", "named")


@dataclass(frozen=True, slots=True)
class ResolvedChoice:
    """A choice applied to a list of tools: which may be called, and the least and the most calls (None: no limit)."""

    tools: tuple[Tool, ...]
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """A choice.

    Attributes:
        mode: "none", "auto", "required" or "named".
        names: with "named" the one tool; otherwise the allowed subset, or None for all tools.
        parallel: whether one answer may hold several calls; a number is the most it may hold.

    Raises:
        ToolChoiceError: the parts contradict each other.
    """

    mode: Mode = "auto"
    names: tuple[str, ...] | None = None
    parallel: bool | int = True

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ToolChoiceError(f"the mode of a tool choice is one of {', '.join(MODES)}, not {self.mode!r}")
        if self.names is not None:
            object.__setattr__(self, "names", tuple(dict.fromkeys(self.names)))
        if self.mode == "named" and (self.names is None or len(self.names) != 1):
            raise ToolChoiceError(f"a named tool choice names one tool, not {self.names!r}")
        if not isinstance(self.parallel, bool) and (not isinstance(self.parallel, int) or self.parallel < 1):
            raise ToolChoiceError(f"parallel is true, false or the most calls, at least 1; not {self.parallel!r}")

    def resolve(self, tools: Sequence[Tool]) -> ResolvedChoice:
        """Apply the choice to tools, whose order is kept.

        Raises:
            ToolChoiceError: it names a tool that is not among them, or demands a call where there is nothing to call.
        """
        known = [tool.name for tool in tools]
        there = set(known)
        for name in self.names or ():
            if name not in there:
                similar = nearest(name, known)
                hint = f"; did you mean {listing(similar, 'or')}?" if similar else "."
                raise ToolChoiceError(
                    f"the tool choice names {name!r}, which is not there{hint} "
                    + (f"The tools are {listing(known, 'and')}." if known else "There are no tools.")
                )
        wanted = None if self.names is None else set(self.names)
        allowed = tuple(tool for tool in tools if wanted is None or tool.name in wanted)
        if self.mode == "none":
            return ResolvedChoice((), 0, 0)
        if self.mode != "auto" and not allowed:
            raise ToolChoiceError(f"the tool choice {self.mode!r} demands a call, but there are no tools to call")
        most = None if self.parallel is True else int(self.parallel) or 1
        if self.mode == "named":
            most = 1
        if not allowed:
            most = 0
        return ResolvedChoice(allowed, 0 if self.mode == "auto" else 1, most)
