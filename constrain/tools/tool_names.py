"""Which names a tool may have, by who reads them. A wire format picks the rule that it needs.

The rules are data. A name is checked, never changed: a call must come back under the name that the caller knows.
"""

from __future__ import annotations

from collections.abc import Iterable

from constrain.grammars.tool_formats.names import NameRule
from constrain.tools.problems import ToolError
from constrain.tools.tool import Tool

NAME_RULES: dict[str, NameRule] = {
    "openai": NameRule(r"[a-zA-Z0-9_-]{1,64}", "1 to 64 letters a-z and A-Z, digits, _ and -"),
    "anthropic": NameRule(r"[a-zA-Z0-9_-]{1,128}", "1 to 128 letters a-z and A-Z, digits, _ and -"),
    "gemini": NameRule(
        r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}", "1 to 64 letters a-z and A-Z, digits, _ . : and -, first a letter or _"
    ),
    "mcp": NameRule(r"[A-Za-z0-9_.-]{1,128}", "1 to 128 letters a-z and A-Z, digits, _ . and -"),
    "mistral": NameRule(r"[a-zA-Z0-9_-]{1,64}", "1 to 64 letters a-z and A-Z, digits, _ and -"),
    "python": NameRule(
        r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*", "a Python name of ASCII letters, or several with dots"
    ),
    "any": NameRule(r"(?s:.)+", "any text"),
}
"""By API or kind of format."""


def check_names(tools: Iterable[Tool], rule: NameRule | str) -> None:
    """Check that the names of tools follow a rule, given itself or by its key in `NAME_RULES`.

    Raises:
        ToolError: one does not; it names the tool, the rule and, where characters are the reason, those.
    """
    if isinstance(rule, str):
        rule = NAME_RULES[rule]
    for tool in tools:
        if not rule.allows(tool.name):
            bad = sorted({c for c in tool.name if not rule.allows("a" + c) and not rule.allows(c)})
            why = f"; {', '.join(map(repr, bad))} cannot be part of it" if bad and tool.name != "." else ""
            raise ToolError(repr(tool.name), f"the name must be {rule.words}{why}; rename the tool")


def check_unique(tools: Iterable[tuple[str, Tool]]) -> None:
    """Check that no two tools have the same name. `tools` are pairs of a place, for the message, and a tool.

    Raises:
        ToolError: two do.
    """
    places: dict[str, str] = {}
    for place, tool in tools:
        if tool.name in places:
            raise ToolError(repr(tool.name), f"the name is given twice, by {places[tool.name]} and by {place}")
        places[tool.name] = place
