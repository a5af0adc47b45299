"""Subschemas by themselves: what one says with all that it refers to, which types it admits, which values it lists.

The lowest of the layers that an `Expansion` is made of, each of which knows those below: what is plainly disjoint
(`disjoint`), what plainly has no value (`emptiness`), and the search itself.
"""

from __future__ import annotations

import re
from dataclasses import replace
from operator import attrgetter

from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.deferred import at_hand, is_deferred
from constrain.grammars.json_schema.equal import content
from constrain.grammars.json_schema.ir import Subschema
from constrain.grammars.json_schema.literals import says_nothing, type_of
from constrain.grammars.json_schema.values import identity
from constrain.grammars.regex import is_found

MAX_DEPTH = 60
"""Choices within choices that are looked into to tell which types the outermost admits."""
_LITERALS = re.compile(r"\^(?:([\w @/:;,=-]+)|\(([\w @/:;,=-]+(?:\|[\w @/:;,=-]+)*)\))\$", re.ASCII)
"""Patterns that list texts."""
_EMPTY: frozenset[int] = frozenset()


class Closures:
    """What is known of each of a list of subschemas, to which literals and unions are added as they are met."""

    def __init__(self, subschemas: list[Subschema], *, ordered: bool = False) -> None:
        self._subschemas = subschemas
        self._ordered = ordered
        self._closures: dict[int, frozenset[int]] = {}
        self._literals: dict[object, int] = {}
        self._equal: dict[tuple[object, ...], int] = {}  # by what they ask
        self._twins: dict[tuple[object, ...], frozenset[int]] = {}  # by what their groups ask
        self.evident: dict[int, bool] = {}  # whether a subschema evidently has a value
        self._unions: dict[tuple[int, ...], int] = {}
        self._types: dict[int, int] = {}
        self._depth = 0  # of choices within choices whose types are being told
        self._all_types: dict[int, int] = {}  # with those of the closure
        self._rests: dict[int, int] = {}  # of subschemas with `unevaluated…` keywords, those without
        self._tracked_rests: set[int] = set()
        self._member_values: dict[tuple[int, str], frozenset[int]] = {}
        self._identities: dict[tuple[int, int], frozenset[object] | None] = {}
        self._plain: dict[int, bool] = {}
        self._asks: dict[int, bool] = {}
        # Whether it may matter what is evaluated.
        self._marks = any(_marking(s) != _NO_MARKING for _, s in at_hand(subschemas))

    def note_added(self, first: int) -> None:
        """Take notice of subschemas that were added to the list from number `first` on."""
        self._marks = self._marks or any(
            self._tracks(i) for i in range(first, len(self._subschemas)) if not is_deferred(self._subschemas, i)
        )

    def closure(self, signed: int) -> frozenset[int]:
        """A signed subschema as a set of those that say something, `all_of` followed."""
        found = self._closures.get(signed)
        if found is None:
            found = self._closures[signed] = self._new_closure(signed)
        return found

    def _new_closure(self, signed: int) -> frozenset[int]:
        if signed < 0:
            s = self._subschemas[~signed]
            if s.types == 0:
                return frozenset()
            if says_nothing(s) and len(s.all_of) == 1:  # a plain reference
                return self.closure(~s.all_of[0])
            return frozenset((~self._first_equal(~signed, s),))
        s = self._subschemas[signed]
        if not s.all_of:
            return _EMPTY if says_nothing(s) else frozenset((self._first_equal(signed, s),))
        seen: set[int] = set()
        todo = [signed]
        while todo:
            i = todo.pop()
            if i not in seen:
                seen.add(i)
                todo.extend(self._subschemas[i].all_of)
        found = frozenset(
            self._first_equal(i, self._subschemas[i]) for i in seen if not says_nothing(self._subschemas[i])
        )
        if self._ordered and len(found) > 1:  # what joins several says in which order they declare members
            found |= {i for i in seen if len(self._subschemas[i].all_of) > 1}
        return found

    def _first_equal(self, index: int, s: Subschema) -> int:
        """The first subschema met that asks the same, where both are simple; often the subschema itself."""
        if type(s) is not Subschema or self._marks or self._ordered or s.properties or s.all_of:
            return index  # one that is yet to be read is not for this
        key = None if index in self._tracked_rests else content(s, self._item)
        if key is None:
            return index
        found = self._equal.setdefault(key, index)
        self.evident[found] = True
        return found

    def twin(self, variable: frozenset[int]) -> frozenset[int]:
        """The first variable met that asks the same, where groups are all that both ask; often the variable itself.

        What one of them comes to is what the other does, but a message about it names another place.
        """
        if len(variable) != 1 or self._marks or self._ordered:
            return variable
        (signed,) = variable
        s = self._subschemas[signed if signed >= 0 else ~signed]
        if not (s.any_of or s.one_of) or s.choice is not None or beside_groups(s) != NOTHING_BESIDE:
            return variable  # where a choice tells many branches apart, most of them are never looked at
        key = signed < 0, s.types, s.integral_fraction, self._closed(s.any_of), self._closed(s.one_of)
        return self._twins.setdefault(key, variable)

    def _closed(self, groups: list[list[int]]) -> tuple[tuple[frozenset[int], ...], ...]:
        return tuple([tuple(map(self.closure, group)) for group in groups])

    def _item(self, index: int) -> object:
        """What tells the items of an array from those of others: their number, or what scalars are asked."""
        s = self._subschemas[index]
        for _ in range(MAX_DEPTH):
            if len(s.all_of) != 1 or not says_nothing(s):
                break
            index = s.all_of[0]
            s = self._subschemas[index]
        return index if s.items is not None else self._first_equal(index, s)

    def literal(self, value: object) -> int:
        """The subschema whose only value is `value`."""
        key = identity(value)
        found = self._literals.get(key)
        if found is None:
            found = self._literals[key] = self._add(Subschema(pointer="", values=[value]))
        return found

    def texts(self, values: list[object]) -> int:
        """A new subschema whose only values are these texts."""
        return self._add(Subschema(pointer="", types=ir.STRING, values=values))

    def listed(self, values: list[object]) -> int:
        """The subschema that admits these values and no others."""
        if len(values) == 1:
            return self.literal(values[0])
        key = frozenset(map(identity, values))
        found = self._literals.get(key)
        if found is None:
            found = self._literals[key] = self._add(Subschema(pointer="", values=values))
        return found

    def either(self, indices: tuple[int, ...]) -> int:
        """The subschema under which one of these holds."""
        found = self._unions.get(indices)
        if found is None:
            found = self._unions[indices] = self._add(Subschema(pointer="", any_of=[list(indices)]))
        return found

    def but_unevaluated(self, index: int) -> int:
        """The subschema without its `unevaluated…` keywords, under which it matters what is evaluated."""
        found = self._rests.get(index)
        if found is None:
            s = replace(self._subschemas[index], unevaluated_properties=None, unevaluated_items=None)
            found = self._rests[index] = self._add(s)
            self._tracked_rests.add(found)
        return found

    def _add(self, s: Subschema) -> int:
        self._subschemas.append(s)
        return len(self._subschemas) - 1

    def _listed(self, index: int, types: int) -> list[object] | None:
        """The values of these types that a subschema lists, by `enum`, `const` or a pattern of literal texts."""
        s = self._subschemas[index]
        if s.values is not None or types != ir.STRING or s.pattern is None:
            return s.values
        found = _LITERALS.fullmatch(s.pattern)
        return None if found is None else [*(found[1] or found[2]).split("|")]

    def listed_identities(self, index: int, types: int) -> frozenset[object] | None:
        """What tells apart the values that a subschema lists; None where it lists none."""
        s = self._subschemas[index]
        if s.values is None and (types != ir.STRING or s.pattern is None):
            return None
        key = index, types
        if key not in self._identities:
            values = self._listed(index, types)
            self._identities[key] = None if values is None else frozenset(map(identity, values))
        return self._identities[key]

    def finite(self, members: frozenset[int], types: int) -> frozenset[object] | None:
        """What tells apart the values that the first of some subschemas lists which lists any; None where none does."""
        for i in members:
            listed = self.listed_identities(i, types)
            if listed is not None:
                return listed
        return None

    def types(self, index: int) -> int:
        """The type atoms that a subschema admits by `type`, by its values, and by the branches of its choices."""
        found = self._types.get(index)
        if found is None:
            s = self._subschemas[index]
            found = s.types
            if s.values is not None:
                mask = 0
                for value in s.values:
                    mask |= type_of(value)
                found &= mask
            self._types[index] = found
            if found and (s.any_of or s.one_of) and self._depth < MAX_DEPTH:
                self._depth += 1
                for group in (*s.any_of, *s.one_of):
                    mask = 0
                    for b in group:
                        if found & ~mask:
                            mask |= self.plain_types(b)
                    found &= mask
                self._depth -= 1
                self._types[index] = found
        return found

    def plain_types(self, index: int) -> int:
        """As `types`, with all that holds with the subschema."""
        found = self._all_types.get(index)
        if found is None:
            found = ir.ANY_TYPE
            for i in self.closure(index):
                found &= self.types(i)
            self._all_types[index] = found
        return found

    def is_plain(self, index: int) -> bool:
        """Whether a subschema is a conjunction of assertions about the value itself, its members and its items."""
        found = self._plain.get(index)
        if found is None:
            s = self._subschemas[index]
            found = self._plain[index] = index not in self._tracked_rests and not (
                s.any_of or s.one_of or s.none_of or s.conditions or s.dependent_required or s.dependent_schemas
                or s.unevaluated_properties is not None or s.unevaluated_items is not None
            )  # fmt: skip
        return found

    def member_value(self, index: int, name: str) -> frozenset[int]:
        """What a subschema says of the value of a member of that name."""
        key = (index, name)
        found = self._member_values.get(key)
        if found is None:
            s = self._subschemas[index]
            asked = [i for p, i in s.pattern_properties if is_found(p, name)]
            if name in s.properties:
                asked.append(s.properties[name])
            elif not asked and s.additional is not None:
                asked.append(s.additional)
            found = self._member_values[key] = frozenset().union(*map(self.closure, asked))
        return found

    def _tracks(self, index: int) -> bool:
        s = self._subschemas[index]
        return s.unevaluated_properties is not None or s.unevaluated_items is not None or index in self._tracked_rests

    def asks_only(self, index: int, *, values: bool) -> bool:
        """Whether all that a subschema asks for is a type, or with `values` one of those that it lists."""
        found = self._asks.get(index)
        if found is None:
            found = self._asks[index] = _asked_beside(self._subschemas[index]) == _NONE_BESIDE
        return found and (values or self._subschemas[index].values is None)

    def may_hold(self, signed: int, value: object) -> bool:
        """Whether a value can be valid under a signed subschema, decided by its own plain assertions where possible."""
        index = signed if signed >= 0 else ~signed
        s = self._subschemas[index]
        if not s.types & type_of(value):
            return signed < 0
        if s.values is not None and not any(identity(v) == identity(value) for v in s.values):
            return signed < 0
        if signed < 0:
            return not s.integral_fraction or not self.asks_only(index, values=True)
        if isinstance(value, str) and s.pattern is not None:
            return is_found(s.pattern, value)
        return True


beside_groups = attrgetter(
    *(
        name
        for name in Subschema.__dataclass_fields__
        if name
        not in (
            "pointer",
            "types",
            "any_of",
            "one_of",
            "choice",
            "source",
            "integral_fraction",
            "min_contains",
            "written",
            "names_at",
        )
    )
)
"""The fields of a subschema that ask something beside its groups."""
NOTHING_BESIDE = beside_groups(Subschema(pointer=""))

_marking = attrgetter("unevaluated_properties", "unevaluated_items")
_NO_MARKING = (None, None)

_BESIDE = ("pointer", "types", "values", "integral_fraction", "source", "written", "names_at")
_asked_beside = attrgetter(*(n for n in Subschema.__dataclass_fields__ if n not in _BESIDE))
_NONE_BESIDE = _asked_beside(Subschema(pointer=""))
