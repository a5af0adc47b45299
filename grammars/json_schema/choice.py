"""Choices between many kinds of objects that one of their members tells apart, as a list of tools is.

Where all branches of an `anyOf` or `oneOf` require the same member and list texts for it that no other branch lists, an
object follows at most one of them, and the member's value says which. So no two need be compared, and a branch need not
be looked into before it is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from constrain.grammars.json_schema.frozen import WITHOUT_MEANING

MIN_BRANCHES = 16
"""Fewer branches are followed side by side, which costs little then."""

_OF_BRANCHES = WITHOUT_MEANING | {"type", "properties", "required", "additionalProperties"}
_OF_TAGS = WITHOUT_MEANING | {"type", "const", "enum"}


@dataclass(frozen=True, slots=True)
class Choice:
    """How the branches of one group are told apart.

    Attributes:
        tag: the member that tells.
        branches: the subschema of each of its values.
        names: the names that the branches which are yet to be read speak of.
        is_open: whether one of those admits other names.
    """

    tag: str
    branches: dict[str, int]
    names: tuple[str, ...] = ()
    is_open: bool = False

    def moved(self, offset: int) -> Choice:
        """The same, with other numbers of subschemas."""
        return replace(self, branches={value: number + offset for value, number in self.branches.items()})


def find_tag(schemas: Sequence[object]) -> tuple[str, dict[str, int]] | None:
    """The member that tells these schemas apart, and by value for it the position of the schema that lists it.

    None where there is none.
    """
    first = schemas[0]
    if type(first) is not dict:
        return None
    required, members = first.get("required"), first.get("properties")
    if type(required) is not list or type(members) is not dict:
        return None
    for name in required:
        if type(name) is str and type(members.get(name)) is dict and ({"const", "enum"} & members[name].keys()):
            values = _values(schemas, name)
            if values is not None:
                return name, values
    return None


def _values(schemas: Sequence[Any], tag: str) -> dict[str, int] | None:
    out: dict[str, int] = {}
    count = 0
    for position, schema in enumerate(schemas):
        try:
            member = schema["properties"][tag]
            if schema["type"] != "object" or tag not in schema["required"] or not schema.keys() <= _OF_BRANCHES:
                return None
            if len(member) > 1:
                if not member.keys() <= _OF_TAGS or member.get("type", "string") != "string":
                    return None
            value = member.get("const")
            if type(value) is str and "enum" not in member:
                out[value] = position
                count += 1
                continue
            values = member["enum"]
        except (KeyError, TypeError, AttributeError):
            return None
        if type(values) is not list or "const" in member:
            return None
        for value in values:
            if type(value) is not str:
                return None
            out[value] = position
        count += len(values)
    # Values that one branch lists twice make it seem that two do; then the branches are compared in other ways.
    return out if len(out) == count else None


def shortest_values(values: Sequence[tuple[bytes, int]], cost: Callable[[bytes], int]) -> list[int]:
    """The positions of one value for each branch, the cheapest, in the order of `values`: pairs of value and branch."""
    best: dict[int, int] = {}
    twice: set[int] = set()
    for position, (_, branch) in enumerate(values):
        if best.setdefault(branch, position) != position:
            twice.add(branch)
    if twice:
        costs: dict[int, int] = {}
        for position, (value, branch) in enumerate(values):
            if branch in twice:
                spent = cost(value)
                if spent < costs.get(branch, spent + 1):
                    best[branch], costs[branch] = position, spent
    return sorted(best.values())
