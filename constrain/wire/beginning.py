"""Where a message begins whose beginning the prompt holds already.

`start_state` reads that off the prompt. An automaton begins in the state that it names, and is led over what the prompt
holds beyond it, so that no one ever has to know how much of a message was written by whom.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from constrain.grammars.tool_formats import Format, GenerationStart, StartState
from constrain.wire.symbols import symbol

Reasoning = Literal["may begin", "open", "ended"]

_STATES: dict[str, StartState] = {
    "may begin": StartState.BEGIN,
    "open": StartState.IN_REASONING,
    "ended": StartState.AFTER_REASONING,
}


def start_of(format: Format, reasoning: str, start: GenerationStart | StartState | None) -> GenerationStart:
    """The start that arguments of `tool_calls` say: `start`, or without it what `reasoning` says.

    Raises:
        ValueError: `reasoning` is none of its values, or contradicts `start`.
    """
    if reasoning not in _STATES:
        raise ValueError(f"reasoning is one of {', '.join(map(repr, _STATES))}, not {reasoning!r}")
    if start is None:
        start = GenerationStart(_STATES[reasoning])
    elif reasoning != "may begin":
        raise ValueError("start says where generation begins; leave reasoning out")
    elif isinstance(start, StartState):
        start = GenerationStart(start)
    if format.reasoning is None and start.state in (StartState.IN_REASONING, StartState.AFTER_REASONING):
        start = GenerationStart(StartState.BEGIN, start.prefix)  # there is nothing to be within
    return start


def way_in(format: Format, start: GenerationStart) -> tuple[Reasoning, str]:
    """What the automaton of a message is built for, and the text that it is led over before generation."""
    if start.state is StartState.IN_REASONING:
        return "open", start.prefix
    if start.state is StartState.AFTER_REASONING:
        return "ended", start.prefix
    if start.state is StartState.IN_ANSWER:
        return "ended", format.answer_open + start.prefix
    return "may begin", start.prefix


def spelled(text: str, symbols: Iterable[str]) -> bytes:
    """The bytes of a text, those of these markers in it as symbols."""
    longest_first = sorted(symbols, key=len, reverse=True)
    if not longest_first:
        return text.encode()
    parts = re.split("(" + "|".join(map(re.escape, longest_first)) + ")", text)
    return b"".join(symbol(part) if i % 2 else part.encode() for i, part in enumerate(parts))
