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


@dataclass(slots=True)
class Told:
    """How some schemas can be told apart, as far as it is known before they are read.

    Attributes:
        tag: the member that tells.
        positions: of the schema that lists it, by value.
        names, is_open: the names that those of them speak of which are plain, and whether one of those says that it
            admits others.
    """

    tag: str
    positions: dict[str, int]
    names: set[str]
    is_open: bool


def tags(schema: object) -> list[str]:
    """The members that may tell a schema from others."""
    if type(schema) is not dict:
        return []
    required, members = schema.get("required"), schema.get("properties")
    if type(required) is not list or type(members) is not dict:
        return []
    return [
        name
        for name in required
        if type(name) is str and type(members.get(name)) is dict and ({"const", "enum"} & members[name].keys())
    ]


def tell_apart(schemas: Sequence[object], copies: Sequence[bytes | None], *, is_open: bool) -> Told | None:
    """How these schemas can be told apart; None where no member tells.

    Args:
        copies: what `frozen_all` made of them, or None for those that are to be taken as if not plain.
        is_open: whether a schema that does not say so admits other members than it names.
    """
    for tag in tags(schemas[0]):
        found = _told(schemas, copies, Told(tag, {}, set(), False), is_open)
        if found is not None:
            return found
    return None


def _told(schemas: Sequence[Any], copies: Sequence[bytes | None], out: Told, is_open: bool) -> Told | None:
    tag, positions, names = out.tag, out.positions, out.names
    count = position = 0
    values: Sequence[str] | None
    try:
        for schema, data in zip(schemas, copies, strict=True):
            if data is None:
                values = _listed(schema, tag)
                if values is None:
                    return None
            else:  # it is plain, so that what it says of a member is known to be sound
                members = schema["properties"]
                member = members[tag]
                if tag not in schema["required"]:
                    return None
                names.update(members)
                out.is_open = out.is_open or schema.get("additionalProperties", is_open)
                values = member["enum"] if "enum" in member else (member["const"],)
            for value in values:
                positions[value] = position
                count += 1
            position += 1
    except KeyError:
        return None
    # Values that one branch lists twice make it seem that two do; then the branches are compared in other ways.
    return out if len(positions) == count else None


def _listed(schema: Any, tag: str) -> list[str] | None:
    """The texts that a schema of objects lists for a member that it requires; None of any other."""
    try:
        if schema["type"] != "object" or tag not in schema["required"] or not schema.keys() <= _OF_BRANCHES:
            return None
        member = schema["properties"][tag]
        values = [member["const"]] if "const" in member else member["enum"]
        if not member.keys() <= _OF_TAGS or ("const" in member and "enum" in member):
            return None
        if type(values) is not list or member.get("type", "string") != "string":
            return None
    except (KeyError, TypeError, AttributeError):
        return None
    return values if all(type(value) is str for value in values) else None


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
