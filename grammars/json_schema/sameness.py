"""Whether two subschemas plainly ask the same: they are written alike, and so is all that they lead to.

Schemas repeat themselves: the versions of an object in a `oneOf` differ in a member or two and have all the others in
common, as copies. What holds under one copy and fails under the other does not exist, which is hard to see from the
ways in which an object can fail and easy to see from the copies.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

from constrain.grammars.json_schema.ir import Subschema
from constrain.grammars.json_schema.literals import says_nothing
from constrain.grammars.json_schema.values import identity

MAX_DEPTH = 60
"""Subschemas within subschemas that are compared."""

_LEADING = (
    "prefix_items", "items", "properties", "additional", "all_of", "any_of", "one_of", "none_of", "conditions",
    "pattern_properties", "property_names", "dependent_schemas", "contains", "unevaluated_properties",
    "unevaluated_items",
)  # fmt: skip
"""The fields that lead to other subschemas."""
_UNASKED = ("pointer", "values", "source", "written", "names_at", "choice")
_own = attrgetter(*(n for n in Subschema.__dataclass_fields__ if n not in (*_LEADING, *_UNASKED)))


class Sameness:
    """What is known of the subschemas of one list, to which more may be added."""

    def __init__(self, subschemas: list[Subschema]) -> None:
        self._subschemas = subschemas
        self._known: dict[tuple[int, int], bool] = {}

    def same(self, first: int, second: int, depth: int = MAX_DEPTH) -> bool:
        """Whether two subschemas plainly have the same values."""
        first, second = self._referred(first), self._referred(second)
        if first == second:
            return True
        a, b = self._subschemas[first], self._subschemas[second]
        # What is yet to be read stays so.
        if type(a) is not Subschema or type(b) is not Subschema or a.types != b.types:
            return False
        if a.properties.keys() != b.properties.keys() or _own(a) != _own(b) or not _same_values(a, b):
            return False
        key = (first, second) if first < second else (second, first)
        found = self._known.get(key)
        if found is None:
            self._known[key] = False  # where they lead to themselves
            found = self._known[key] = depth > 0 and self._same_parts(a, b, depth - 1)
        return found

    def _same_parts(self, a: Subschema, b: Subschema, depth: int) -> bool:
        ours, theirs = [*_parts(a)], [*_parts(b)]
        return len(ours) == len(theirs) and all(
            place == other and self.same(first, second, depth)
            for (place, first), (other, second) in zip(ours, theirs, strict=True)
        )

    def _referred(self, index: int) -> int:
        """What a plain reference leads to."""
        for _ in range(MAX_DEPTH):
            s = self._subschemas[index]
            if len(s.all_of) != 1 or not says_nothing(s):
                break
            index = s.all_of[0]
        return index


def _same_values(a: Subschema, b: Subschema) -> bool:
    if a.values is None or b.values is None:
        return a.values is b.values
    return len(a.values) == len(b.values) and set(map(identity, a.values)) == set(map(identity, b.values))


def _parts(s: Subschema) -> Iterator[tuple[object, int]]:
    """The subschemas that one leads to, each with its place."""
    for name in ("items", "additional", "property_names", "contains", "unevaluated_properties", "unevaluated_items"):
        number = getattr(s, name)
        if number is not None:
            yield name, number
    for name in sorted(s.properties) if s.properties else ():
        yield ("member", name), s.properties[name]
    for place, number in enumerate(s.prefix_items):
        yield place, number
    for pattern, number in s.pattern_properties:
        yield ("pattern", pattern), number
    for name, number in sorted(s.dependent_schemas.items()) if s.dependent_schemas else ():
        yield ("dependent", name), number
    for number in s.all_of:
        yield "allOf", number
    for number in s.none_of:
        yield "not", number
    for place, group in enumerate(s.any_of):
        for number in group:
            yield ("anyOf", place), number
    for place, group in enumerate(s.one_of):
        for number in group:
            yield ("oneOf", place), number
    for place, condition in enumerate(s.conditions):
        for step, number in enumerate(condition):
            if number is not None:
                yield ("if", place, step), number
