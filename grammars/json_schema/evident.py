"""Whether a subschema evidently has a value: from a few fields, with nothing built and little looked into.

An object offers a member only where its value exists, so every member of every object that is reached asks this. Most
answers are plain: null is one of the types, the bounds on a number leave room, an array may be empty, an object needs
nothing but members of which the same holds. What is not evident is found by `inhabit`.
"""

from __future__ import annotations

from fractions import Fraction
from operator import attrgetter

from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.closures import NOTHING_BESIDE, beside_groups
from constrain.grammars.json_schema.deferred import Deferred
from constrain.grammars.json_schema.expansion import Expansion
from constrain.grammars.json_schema.ir import Subschema
from constrain.grammars.json_schema.literals import type_of

_DEPTH = 4
"""Members within members that are looked into."""
_SMALL = Fraction(10**15)
"""Numbers up to this one are written in few digits."""


class Evidence:
    """What is evident of the subschemas of a list, as far as it was asked for."""

    def __init__(self, subschemas: list[Subschema], expansion: Expansion) -> None:
        self._subschemas, self._expansion = subschemas, expansion
        self._known = expansion.evident

    def has_value(self, index: int, depth: int = _DEPTH) -> bool:
        """Whether a subschema evidently has a value."""
        found = self._known.get(index)
        if found is None:
            s = self._subschemas[index]
            found = type(s) is Deferred or self._finds_value(index, s, depth)
            if found or depth == _DEPTH:
                self._known[index] = found
        return found

    def _finds_value(self, index: int, s: Subschema, depth: int) -> bool:
        if s.all_of:
            return False
        if not self._expansion.is_plain(index):
            return depth > 0 and self._has_branch(s, depth - 1)
        types = s.types
        if s.values is not None:
            return only_lists(s) and any(type_of(v) & types and not _may_have_surrogates(v) for v in s.values)
        return bool(
            types & (ir.NULL | ir.BOOLEAN)
            or (types & ir.STRING and _has_text(s))
            or (types & ir.NUMBER and _has_number(s))
            or (types & ir.ARRAY and self._has_array(s, depth))
            or (types & ir.OBJECT and self._has_object(s, depth))
        )

    def _has_branch(self, s: Subschema, depth: int) -> bool:
        """Whether a branch of the only group has a value, and nothing else is asked of it."""
        if s.types != ir.ANY_TYPE or len(s.any_of) + len(s.one_of) != 1 or beside_groups(s) != NOTHING_BESIDE:
            return False
        for group in s.any_of:
            return any(self._of_member(branch, depth) for branch in group)
        (group,) = s.one_of
        every = [self._expansion.types(branch) for branch in group]
        for k, branch in enumerate(group):
            others = 0
            for types in every[:k] + every[k + 1 :]:
                others |= types
            if not every[k] & others and self._of_member(branch, depth):
                return True
        return False

    def _of_member(self, index: int | None, depth: int) -> bool:
        """Whether the value of a member, an item or a branch evidently exists."""
        if index is None:
            return True
        closure = self._expansion.closure(index)
        if len(closure) > 1:
            return False
        return all(i >= 0 and self.has_value(i, depth) for i in closure)

    def _has_object(self, s: Subschema, depth: int) -> bool:
        required = s.required
        if not _is_room(max(s.min_properties, len(required)), s.max_properties) or s.min_properties > len(required):
            return False
        if not required:
            return True
        if depth == 0 or s.pattern_properties or s.property_names is not None:
            return False
        return all(
            self._of_member(s.properties.get(name, s.additional), depth - 1) and name.isascii() for name in required
        )

    def _has_array(self, s: Subschema, depth: int) -> bool:
        if s.contains is not None and s.min_contains > 0:
            return False
        if s.min_items == 0:
            return True
        if depth == 0 or (s.unique_items and s.min_items > 1) or s.prefix_items or s.contains is not None:
            return False
        return _is_room(s.min_items, s.max_items) and self._of_member(s.items, depth - 1)


def _is_room(low: int, high: int | None) -> bool:
    return high is None or low <= high


def _has_text(s: Subschema) -> bool:
    if s.pattern is not None or not _is_room(s.min_length, s.max_length):
        return False
    return s.format is None or (s.min_length == 0 and s.max_length is None)  # every format has texts


def _has_number(s: Subschema) -> bool:
    if s.multiple_of is not None:
        return False
    bounds = (s.minimum, s.exclusive_minimum, s.maximum, s.exclusive_maximum)
    if any(b is not None and abs(b) > _SMALL for b in bounds):
        return False
    low = max((b for b in bounds[:2] if b is not None), default=None)
    high = min((b for b in bounds[2:] if b is not None), default=None)
    if low is None or high is None:
        return True
    return low + 1 < high  # there is an integer between them


def only_lists(s: Subschema) -> bool:
    """Whether all that a subschema asks of its values is their type."""
    return bool(_unasked(s) == _UNASKED)


_unasked = attrgetter(
    *(n for n in Subschema.__dataclass_fields__ if n not in ("pointer", "types", "values", "integral_fraction"))
)
_UNASKED = _unasked(Subschema(pointer=""))


def _may_have_surrogates(value: object) -> bool:
    if type(value) is str:
        return not value.isascii()
    return not isinstance(value, bool | int | Fraction | None) and not (isinstance(value, str) and value.isascii())
