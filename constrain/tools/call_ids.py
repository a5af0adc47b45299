"""Ids for calls: random ones that look like a provider's, and counts that go on through a conversation.

Where a model writes the id itself, the grammar must know which ids may come: `pattern` says so for random ids, and
`expected` gives the very id for counted ones.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from constrain.grammars.tool_formats.format import Format
from constrain.grammars.tool_formats.ids import CountedCallIds, RandomCallIds
from constrain.tools.call import ToolCall

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


@dataclass(frozen=True, slots=True)
class RandomIds:
    """A prefix and so many letters and digits, random.

    Attributes:
        prefix: what every id begins with.
        length: how many random characters follow.
        pick: chooses a character; by default from the system's source of randomness.
    """

    prefix: str
    length: int
    pick: Callable[[str], str] = secrets.choice

    @property
    def pattern(self) -> str:
        """Regular expression that every id matches as a whole."""
        return f"{re.escape(self.prefix)}[a-zA-Z0-9]{{{self.length}}}"

    def assign(self, calls: Sequence[ToolCall], messages: Sequence[Mapping[str, Any]] = ()) -> tuple[ToolCall, ...]:
        """The calls, each with an id. Ids that are there are kept; no id occurs twice in the calls and `messages`.

        Raises:
            ValueError: two of the calls have the same id.
        """
        taken = _taken(calls, messages)
        out = []
        for call in calls:
            if call.id is None:
                new = self._new(taken)
                taken.add(new)
                call = replace(call, id=new)
            out.append(call)
        return tuple(out)

    def _new(self, taken: set[str]) -> str:
        while True:
            new = self.prefix + "".join(self.pick(_LETTERS) for _ in range(self.length))
            if new not in taken:
                return new


@dataclass(frozen=True, slots=True)
class CountedIds:
    """Ids that hold a count of the calls of the whole conversation.

    Attributes:
        template: the id, with {name} and {count} in it.
    """

    template: str

    @property
    def pattern(self) -> str:
        """Regular expression that every id matches as a whole."""
        parts = re.split(r"(\{name\}|\{count\})", self.template)
        return "".join({"{name}": r".+", "{count}": r"(?:0|[1-9][0-9]*)"}.get(part, re.escape(part)) for part in parts)

    def start(self, messages: Sequence[Mapping[str, Any]] = ()) -> int:
        """The count of the next call: how many there were, or one more than the highest count among their ids."""
        counts = [-1]
        number = 0
        spelled = re.escape(self.template).replace(r"\{name\}", "(?:.+)").replace(r"\{count\}", "([0-9]+)")
        for call_id, _ in calls_of(messages):
            number += 1
            found = re.fullmatch(spelled, call_id or "")
            if found:
                counts.append(int(found.group(1)))
        return max(number, max(counts) + 1)

    def count_of(self, call_id: str, name: str) -> int | None:
        """The count in the id of a call; None where it is no id of this kind."""
        before, _, after = self.template.replace("{name}", name).partition("{count}")
        digits = call_id[len(before) : len(call_id) - len(after)]
        spelled = re.fullmatch("0|[1-9][0-9]*", digits) is not None
        return int(digits) if spelled and call_id == before + digits + after else None

    def expected(self, name: str, count: int) -> str:
        """The id of a call."""
        return self.template.replace("{count}", str(count)).replace("{name}", name)

    def assign(self, calls: Sequence[ToolCall], messages: Sequence[Mapping[str, Any]] = ()) -> tuple[ToolCall, ...]:
        """The calls, each with an id; counts go on from the conversation. Ids that are there are kept.

        Raises:
            ValueError: two of the calls have the same id.
        """
        taken = _taken(calls, messages)
        count = self.start(messages)
        out = []
        for call in calls:
            if call.id is None:
                while self.expected(call.name, count) in taken:
                    count += 1
                call = replace(call, id=self.expected(call.name, count))
            count += 1
            out.append(call)
        return tuple(out)


CALL_IDS: dict[str, RandomIds | CountedIds] = {
    "openai": RandomIds("call_", 24),
    "anthropic": RandomIds("toolu_", 24),
    "mistral": RandomIds("", 9),
    "kimi": CountedIds("functions.{name}:{count}"),
    "cohere": CountedIds("{count}"),
}
"""By API or model family."""


def call_ids_of(format: Format) -> RandomIds | CountedIds:
    """The ids of a wire format; those of OpenAI where it knows none."""
    if isinstance(format.ids, RandomCallIds):
        return RandomIds(format.ids.prefix, format.ids.length)
    if isinstance(format.ids, CountedCallIds):
        return CountedIds(format.ids.template)
    return CALL_IDS["openai"]


def calls_of(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str | None, str]]:
    """Id and name of every call in a conversation, in the shape of OpenAI, Anthropic or Gemini."""
    for message in messages:
        for call in message.get("tool_calls") or ():
            function = call.get("function", call)
            yield call.get("id"), function.get("name", "")
        if message.get("type") == "function_call":
            yield message.get("call_id"), message.get("name", "")
        blocks = message.get("content")
        for block in blocks if isinstance(blocks, list) else ():
            if isinstance(block, Mapping) and block.get("type") == "tool_use":
                yield block.get("id"), block.get("name", "")
        for part in message.get("parts") or ():
            call = part.get("functionCall", part.get("function_call")) if isinstance(part, Mapping) else None
            if isinstance(call, Mapping):
                yield call.get("id"), call.get("name", "")


def _taken(calls: Sequence[ToolCall], messages: Sequence[Mapping[str, Any]]) -> set[str]:
    own = [call.id for call in calls if call.id is not None]
    if len(set(own)) != len(own):
        twice = next(call_id for call_id in own if own.count(call_id) > 1)
        raise ValueError(f"two calls of one message have the id {twice!r}")
    return {*own, *(call_id for call_id, _ in calls_of(messages) if call_id is not None)}
