"""Which branches plainly have no value in common, by types, listed values, required members and patterns."""

from __future__ import annotations

from collections import Counter

from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.beginnings import begin_apart
from constrain.grammars.json_schema.closures import Closures
from constrain.grammars.json_schema.ir import Subschema
from constrain.grammars.json_schema.literals import type_of

MAX_PAIRED = 32
"""Branches that are compared two by two for a quick look."""
MAX_TESTED = 64
"""Values of an `enum` that are tested one by one for a quick look."""
MAX_TAGS = 4
"""Members that are tried to tell branches apart."""
_KINDS = (ir.NULL, ir.BOOLEAN, ir.NUMBER, ir.STRING, ir.ARRAY, ir.OBJECT)


class Disjointness(Closures):
    """What is known of pairs and groups of subschemas."""

    def __init__(self, subschemas: list[Subschema], *, ordered: bool = False) -> None:
        super().__init__(subschemas, ordered=ordered)
        self._disjoint: dict[tuple[int, int, int], bool] = {}
        self._overlaps: dict[tuple[int, ...], list[tuple[int, int, int]] | None] = {}
        self._apart: dict[tuple[int, ...], frozenset[int]] = {}

    def overlapping(self, group: list[int]) -> list[tuple[int, int, int]] | None:
        """The pairs of branches that are not plainly disjoint, and the types of which both may have values.

        None where there are too many branches to compare them two by two.
        """
        key = tuple(group)
        if key not in self._overlaps:
            self._overlaps[key] = self._find_overlapping(group)
        return self._overlaps[key]

    def _find_overlapping(self, group: list[int]) -> list[tuple[int, int, int]] | None:
        out = []
        types = [self.plain_types(index) for index in group]
        seen = shared = 0
        for mask in types:
            shared |= seen & mask
            seen |= mask
        apart = {kind: self.told_apart(group, kind) for kind in _KINDS if shared & kind}
        apart = {kind: alone for kind, alone in apart.items() if len(alone) < len(group)}
        if not apart:
            return []
        if len(group) > MAX_PAIRED:
            return None
        all_alone = frozenset.intersection(*apart.values())
        for k, a in enumerate(group):
            for n, b in enumerate(group[:k]):
                if (a in all_alone and b in all_alone) or not types[k] & types[n] & shared:
                    continue
                overlap = 0
                for kind, alone in apart.items():
                    both = types[k] & types[n] & kind and not (a in alone and b in alone)
                    if both and not self.are_disjoint(a, b, kind):
                        overlap |= kind
                if overlap:
                    out.append((b, a, overlap))
        return out

    def told_apart(self, group: list[int], types: int) -> frozenset[int]:
        """Branches no two of which admit the same value of one type, as they list values, or those of one member.

        Those that admit none of the type are among them.
        """
        key = (*group, types)
        found = self._apart.get(key)
        if found is None:
            empty = [b for b in group if not self.plain_types(b) & types]
            others = {b: self.closure(b) for b in group if self.plain_types(b) & types}
            alone = self._list_apart(others, types)
            if not alone and types == ir.OBJECT:
                asked = Counter(r for members in others.values() for r in {*self._required(members)})
                for name, count in asked.most_common(MAX_TAGS):
                    if count > max(1, len(alone)):
                        values = {
                            b: self._value([self._subschemas[i] for i in members], name)
                            for b, members in others.items()
                            if name in self._required(members)
                        }
                        alone = max(alone, self._list_apart(values, ir.ANY_TYPE), key=len)
            found = self._apart[key] = frozenset((*empty, *(alone if len(others) > 1 else others)))
        return found

    def _required(self, members: frozenset[int]) -> list[str]:
        return [r for i in members for r in self._subschemas[i].required]

    def _list_apart(self, sets: dict[int, frozenset[int]], types: int) -> list[int]:
        """Those of the branches that list values of these types; none where two list the same."""
        seen: set[object] = set()
        out = []
        for branch, members in sets.items():
            mask = types
            for i in members:
                mask &= self.types(i)
            listed = self.finite(members, mask)
            if listed is not None:
                if not seen.isdisjoint(listed):
                    return []
                seen |= listed
                out.append(branch)
        return out

    def are_disjoint(self, a: int, b: int, types: int) -> bool:
        """Whether two branches plainly have no value of these types in common."""
        key = (min(a, b), max(a, b), types)
        found = self._disjoint.get(key)
        if found is None:
            found = self._disjoint[key] = self.disjoint_sets(self.closure(a), self.closure(b), types, 3)
        return found

    def disjoint_sets(self, a: frozenset[int], b: frozenset[int], types: int, depth: int) -> bool:
        mask = types
        for i in a | b:
            mask &= self.types(i)
        if not mask:
            return True
        first, second = self.finite(a, mask), self.finite(b, mask)
        if first is not None and second is not None:
            return first.isdisjoint(second)
        if (first is not None or second is not None) and mask == ir.STRING:
            return self._lists_none(a, b, mask) if first is not None else self._lists_none(b, a, mask)
        if mask == ir.STRING:
            return any(begin_apart(x, y) for x in self._patterns(a) for y in self._patterns(b))
        if mask != ir.OBJECT or depth == 0:
            return False
        ours, theirs = [self._subschemas[i] for i in a], [self._subschemas[i] for i in b]
        required = {r for s in ours for r in s.required}, {r for s in theirs for r in s.required}
        if any(self._forbids(theirs, r) for r in required[0]) or any(self._forbids(ours, r) for r in required[1]):
            return True
        for name in required[0] & required[1]:
            values = self._value(ours, name), self._value(theirs, name)
            if values[0] and values[1] and self.disjoint_sets(values[0], values[1], ir.ANY_TYPE, depth - 1):
                return True
        return False

    def _patterns(self, members: frozenset[int]) -> list[str]:
        return [pattern for i in members if (pattern := self._subschemas[i].pattern) is not None]

    def _lists_none(self, listing: frozenset[int], others: frozenset[int], types: int) -> bool:
        """Whether none of the few values that some subschemas list may be valid under others."""
        for i in listing:
            values = self._listed(i, types)
            if values is not None:
                return len(values) <= MAX_TESTED and not any(
                    type_of(v) & types and all(self.may_hold(j, v) for j in others) for v in values
                )
        return False

    def _forbids(self, members: list[Subschema], name: str) -> bool:
        """Whether an object with this member is plainly invalid under one of the members."""
        for s in members:
            index = s.properties.get(name, None if s.pattern_properties else s.additional)
            if index is not None and self._subschemas[index].types == 0:
                return True
            for i in s.none_of:
                other = self._subschemas[i]
                plain = Subschema(pointer=other.pointer, types=other.types, required=(name,))
                if other.types & ir.OBJECT and other == plain:
                    return True
        return False

    def _value(self, members: list[Subschema], name: str) -> frozenset[int]:
        out: frozenset[int] = frozenset()
        for s in members:
            if name in s.properties:
                out |= self.closure(s.properties[name])
        return out
