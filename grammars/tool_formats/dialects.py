"""The notations in which formats write arguments.

JSON is one of them. The others have no escapes or no types of their own, so what they can write depends on the schema;
see `readings` for how a bare text is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from constrain.grammars.tool_formats.parts import Key, Literal, Marker, Part, StringFlag, Value, parts_of


@dataclass(frozen=True, slots=True)
class JsonArguments:
    """One JSON object, braces included."""


@dataclass(frozen=True, slots=True)
class TaggedArguments:
    """Every argument between tags: strings bare up to the exact end tag, all else JSON.

    Attributes:
        member: template of one argument, with ⟨key⟩, ⟨value⟩, and ⟨string⟩ where the format says which values are bare
            strings. The members follow each other with nothing between them.
    """

    member: str

    def parts(self, markers: Iterable[str]) -> tuple[Part, ...]:
        """The parts of `member`."""
        return parts_of(self.member, markers)

    @property
    def flagged(self) -> bool:
        """Whether the format says itself which values are bare strings."""
        return "⟨string⟩" in self.member

    @property
    def value_end(self) -> str:
        """The text after a value up to the end of the member."""
        return self.member.partition("⟨value⟩")[2]

    @property
    def end_tag(self) -> str:
        """The text that no value may hold: `value_end` without whitespace around it."""
        return self.value_end.strip()

    def problem(self) -> str:
        """What is wrong with the template; "" if nothing."""
        try:
            parts = parts_of(self.member)
        except ValueError as error:
            return str(error)
        kinds = [type(part) for part in parts]
        if kinds.count(Key) != 1 or kinds.count(Value) != 1 or kinds.count(StringFlag) > 1:
            return "the member has ⟨key⟩ and ⟨value⟩ once each, and ⟨string⟩ at most once"
        if kinds.index(Key) > kinds.index(Value) or StringFlag in kinds[kinds.index(Value) :]:
            return "⟨key⟩ and ⟨string⟩ come before ⟨value⟩"
        if any(kind not in (Key, Value, StringFlag, Literal, Marker) for kind in kinds):
            return "the member has no placeholders but ⟨key⟩, ⟨value⟩ and ⟨string⟩"
        if not isinstance(parts[0], Literal) or not self.end_tag:
            return "the member begins and ends with a tag"
        if any(a != Literal and b != Literal for a, b in pairwise(kinds)):
            return "text must stand between two placeholders of the member"
        return ""


@dataclass(frozen=True, slots=True)
class PythonArguments:
    """Keyword arguments with Python literals: `city="x", days=3, flag=True, none=None`. The call has the parentheses.

    Nested lists and dicts are Python literals too. Without arguments the text is empty.
    """


@dataclass(frozen=True, slots=True)
class BareArguments:
    """`{key:<quote>text<quote>,n:3}` with bare keys, at every level, and no whitespace; braces included.

    Attributes:
        quote: the marker before and after a string, which no string can hold.
    """

    quote: str


BARE_NAME = re.compile(r"[^\x00-\x20\x7f{}\[\]:,\"'<>|]+")
"""A key as `BareArguments` write it. Blanks beyond ASCII may be part of it, as of the key of a JSON object."""

Dialect = JsonArguments | TaggedArguments | PythonArguments | BareArguments
