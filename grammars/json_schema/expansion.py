"""Expansion: a variable, for one JSON type, as a union of conjunctions without in-place applicators.

A conjunction is a set of subschemas whose own assertions all hold, and the atoms that negations add (see `dual`). It is
found by depth-first search: applicators become groups of options, of every group one option is chosen, the group with
the fewest options first, and a choice that contradicts what is known is given up at once. `oneOf` chooses the branch
that holds and negates those others that are not plainly disjoint from it; `if` chooses whether it holds.

Where an `unevaluated…` keyword looks on, it matters not only which branches were chosen but which hold, so there the
search decides every branch one way or the other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from operator import attrgetter
from typing import NamedTuple, cast

from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.beginnings import begin_apart
from constrain.grammars.json_schema.deferred import at_hand, is_deferred
from constrain.grammars.json_schema.dual import ALWAYS, Atom, Option, duals, option
from constrain.grammars.json_schema.equal import content
from constrain.grammars.json_schema.ir import Subschema
from constrain.grammars.json_schema.literals import says_nothing, type_of
from constrain.grammars.json_schema.sameness import Sameness
from constrain.grammars.json_schema.values import identity
from constrain.grammars.regex import is_found

MAX_ALTERNATIVES = 4096
"""Alternatives of one variable for one type."""
MAX_STEPS = 20_000
"""Choices tried to find them."""
MAX_COMPARED = 1_024
"""Alternatives that are compared with each other."""
MAX_DEPTH = 60
"""Choices within choices that are looked into to tell which types the outermost admits."""
MAX_PAIRED = 32
"""Branches that are compared two by two for a quick look."""
MAX_TESTED = 64
"""Values of an `enum` that are tested one by one for a quick look."""
MAX_TAGS = 4
"""Members that are tried to tell branches apart."""
_LITERALS = re.compile(r"\^(?:([\w @/:;,=-]+)|\(([\w @/:;,=-]+(?:\|[\w @/:;,=-]+)*)\))\$", re.ASCII)
"""Patterns that list texts."""


@dataclass(frozen=True, slots=True)
class Conjunction:
    """One conjunction of an expansion.

    Attributes:
        members: subschemas that hold, with all but their in-place applicators to be merged.
        atoms: dual assertions that hold besides.
        excluded: subschemas none of whose `values` is admitted.
        types: type atoms that remain.
        tracked: the members with an `unevaluated…` keyword.
        negated: subschemas that do not hold, told where members have `values` to be tested.
        clauses: sets of atoms about single members of objects, or patterns of strings; of each at least one holds.
    """

    members: frozenset[int]
    atoms: frozenset[Atom]
    excluded: frozenset[int]
    types: int
    tracked: tuple[int, ...] = ()
    negated: frozenset[int] = frozenset()
    clauses: frozenset[frozenset[Atom]] = frozenset()


_KINDS = (ir.NULL, ir.BOOLEAN, ir.NUMBER, ir.STRING, ir.ARRAY, ir.OBJECT)
_NOTHING: frozenset[Atom] = frozenset()
_EMPTY: frozenset[int] = frozenset()


_Stamp = tuple[int, int, int, frozenset[object] | None]
_NEVER: _Stamp = (-1, -1, 0, None)


class _Partial:
    """What has been chosen so far."""

    __slots__ = (
        "absent", "atoms", "groups", "has", "holds", "listed", "present", "reduced", "speaking", "stamp", "tracked",
        "types", "values",
    )  # fmt: skip

    def __init__(self, types: int) -> None:
        self.types = types
        self.holds: set[int] = set()  # signed
        self.atoms: set[Atom] = set()
        self.groups: list[list[Option]] = []
        self.listed: frozenset[object] | None = None  # identities of the values that remain, where they are listed
        self.tracked: set[int] = set()  # subschemas of which it will matter which of their branches hold
        self.present: set[str] = set()  # members that are required
        self.absent: set[str] = set()
        self.speaking: list[int] = []  # those of `holds` that may say something of members
        self.has: dict[str, frozenset[int]] = {}  # what atoms ask of members
        self.values: dict[str, tuple[int, frozenset[int]]] = {}  # what members must be by the first of `speaking`
        self.stamp = _NEVER  # what was known when the first groups, `reduced` of them, were looked at
        self.reduced = 0

    def copy(self) -> _Partial:
        other = _Partial(self.types)
        other.holds, other.atoms, other.groups = self.holds.copy(), self.atoms.copy(), self.groups.copy()
        other.tracked, other.listed = self.tracked.copy(), self.listed
        other.present, other.absent = self.present.copy(), self.absent.copy()
        other.speaking, other.has, other.values = self.speaking.copy(), self.has.copy(), self.values.copy()
        other.stamp, other.reduced = self.stamp, self.reduced
        return other

    def known(self) -> _Stamp:
        """What changes with all that options are judged by, as that only grows."""
        return len(self.holds), len(self.atoms), self.types, self.listed


class _Known:
    """What a partial choice says of objects' members, to tell options that are met and those that cannot be."""

    def __init__(self, expansion: Expansion, partial: _Partial) -> None:
        self._expansion, self._partial = expansion, partial
        self._about_objects = partial.types == ir.OBJECT

    def left(self, group: list[Option]) -> list[Option] | None:
        """The options of a group that remain, reduced to what they add; None where one adds nothing."""
        partial = self._partial
        out: dict[Option, None] = {}
        for o in group:
            if not self._expansion.possible(partial, o):
                continue
            if o[0] <= partial.holds and o[1] <= partial.atoms:
                return None
            if self._about_objects and o[1]:
                atoms = self._reduced(o[1])
                if atoms is None:
                    continue
                if not atoms and o[0] <= partial.holds:
                    return None
                if atoms is not o[1]:
                    o = o[0], atoms
            out[o] = None
        return list(out)

    def _reduced(self, atoms: frozenset[Atom]) -> frozenset[Atom] | None:
        """Atoms without what is known to hold; None where one cannot."""
        partial, expansion = self._partial, self._expansion
        out: list[Atom] = []
        for atom in atoms:
            if atom[0] == "absent":
                name = cast(str, atom[1])
                if name in partial.present:
                    return None
                if name not in partial.absent and not expansion.plainly_empty(self._value(name)):
                    out.append(atom)
            elif atom[0] == "has":
                name = cast(str, atom[1])
                if name in partial.absent:
                    return None
                left = expansion.left_of_value(self._value(name), cast("frozenset[int]", atom[2]))
                if left is None:
                    return None
                if left or name not in partial.present:
                    out.append(atom if left == atom[2] else ("has", name, left))
            else:
                out.append(atom)
        found = frozenset(out)
        return atoms if found == atoms else found

    def _value(self, name: str) -> frozenset[int]:
        """What the value of a member must be."""
        partial = self._partial
        count, found = partial.values.get(name, (0, _EMPTY))
        if count < len(partial.speaking):
            for i in partial.speaking[count:]:
                asked = self._expansion.member_value(i, name)
                if asked:
                    found = found | asked if found else asked
            partial.values[name] = len(partial.speaking), found
        asked = partial.has.get(name, _EMPTY)
        return found | asked if asked else found


_FOLLOWED = {ir.OBJECT: ("absent", "has", "some"), ir.STRING: ("pattern", "not pattern")}
"""Atoms of which alternatives keep disjunctions, by type."""


def _is_simple(o: Option, types: int) -> bool:
    """Whether an option is one atom, about one member of an object or one pattern of a string."""
    return not o[0] and len(o[1]) == 1 and next(iter(o[1]))[0] in _FOLLOWED.get(types, ())


class _Refusal(NamedTuple):
    """What plainly follows where a subschema does not hold: the types left, or which values, if of some types, are not.

    Of its values it is known only what tells them apart; None where more than those is asked.
    """

    types: int
    values: frozenset[object] | None
    value_types: int


class _Summary(NamedTuple):
    """What signed subschemas ask of a value: its types, none where they contradict each other; those that hold; the
    values that are plainly refused, by the types that values of must be for that; and the others that do not hold."""

    types: int
    positive: list[int]
    refused: dict[int, frozenset[object]]
    others: list[int]


_NO_REFUSAL = _Refusal(ir.ANY_TYPE, None, 0)
_NO_VALUES: frozenset[object] = frozenset()
_Refusing = tuple[list[tuple[int, frozenset[object]]], list[int]]
"""Values that are refused if of some types, and signed subschemas that may refuse others."""
_NO_SUMMARY = _Summary(ir.ANY_TYPE, [], {}, [])


class Expansion:
    """Expansions over one list of subschemas, to which literals and unions are added as they are met."""

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
        self._options: dict[tuple[int, int], list[Option]] = {}
        self._rests: dict[int, int] = {}  # of subschemas with `unevaluated…` keywords, those without
        self._tracked_rests: set[int] = set()
        self._groups_of: dict[tuple[int, int], list[list[Option]]] = {}
        self._disjoint: dict[tuple[int, int, int], bool] = {}
        self._overlaps: dict[tuple[int, ...], list[tuple[int, int, int]] | None] = {}
        self._apart: dict[tuple[int, ...], frozenset[int]] = {}
        self._member_values: dict[tuple[int, str], frozenset[int]] = {}
        self._empty: dict[frozenset[int], bool] = {}
        self._left: dict[tuple[frozenset[int], frozenset[int]], frozenset[int] | None] = {}
        self._identities: dict[tuple[int, int], frozenset[object] | None] = {}
        self._plain: dict[int, bool] = {}
        self._asks: dict[int, bool] = {}
        self._refusals: dict[int, _Refusal] = {}  # by the signed number of what must not hold
        self._few_values: dict[frozenset[int], frozenset[object] | None] = {}
        self._summaries: dict[frozenset[int], _Summary] = {}
        self._sameness = Sameness(subschemas)
        # Whether it may matter what is evaluated.
        self._marks = any(_marking(s) != _NO_MARKING for _, s in at_hand(subschemas))

    # ---- subschemas --------------------------------------------------------------------------------------------------

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

    def _listed_identities(self, index: int, types: int) -> frozenset[object] | None:
        """What tells apart the values that a subschema lists; None where it lists none."""
        s = self._subschemas[index]
        if s.values is None and (types != ir.STRING or s.pattern is None):
            return None
        key = index, types
        if key not in self._identities:
            values = self._listed(index, types)
            self._identities[key] = None if values is None else frozenset(map(identity, values))
        return self._identities[key]

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
                            mask |= self._plain_types(b)
                    found &= mask
                self._depth -= 1
                self._types[index] = found
        return found

    # ---- conjunctions ------------------------------------------------------------------------------------------------

    def conjunctions(self, variable: frozenset[int], types: int) -> list[Conjunction]:
        """The variable, for one type, as a union of conjunctions."""
        if all(i >= 0 and self.is_plain(i) for i in variable):
            return self._plain_conjunction(variable, types)
        found: dict[Conjunction, None] = {}
        ways = self._plain_ways(variable, types)
        if ways is not None:
            for way in ways:
                found.update(dict.fromkeys(self._plain_conjunction(way | variable, types)))
            return self._all_found(variable, found)
        for steps, result in enumerate(self._found(variable, types), 1):
            if result is not None:
                found[result] = None
            if len(found) > MAX_ALTERNATIVES or steps > MAX_STEPS:
                raise self._too_many(variable)
        return self._all_found(variable, found)

    def _all_found(self, variable: frozenset[int], found: dict[Conjunction, None]) -> list[Conjunction]:
        if len(found) > MAX_ALTERNATIVES:
            raise self._too_many(variable)
        out = list(found)
        return _without_implied(out) if 1 < len(out) <= MAX_COMPARED else out

    def first_conjunctions(self, variable: frozenset[int], types: int, count: int) -> Iterator[Conjunction]:
        """Some conjunctions of which each is enough for a value, out of what is found in so many steps."""
        if all(i >= 0 and self.is_plain(i) for i in variable):
            return iter(self._plain_conjunction(variable, types))
        return (result for result in islice(self._found(variable, types), count) if result is not None)

    def _found(self, variable: frozenset[int], types: int) -> Iterator[Conjunction | None]:
        partial = _Partial(types)
        if all(self._add_signed(partial, i, False) for i in sorted(variable)):
            yield from self._search(partial)

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

    def _plain_conjunction(self, members: frozenset[int], types: int) -> list[Conjunction]:
        """What a search would find where there is nothing to choose."""
        listed: frozenset[object] | None = None
        for i in members:
            types &= self.types(i)
        if not types:
            return []
        for i in members:
            found = self._listed_identities(i, types)
            if found is not None:
                listed = found if listed is None else listed & found
                if not listed:
                    return []
        kept = members
        if all(self._subschemas[i].values is None for i in members):
            kept = frozenset(i for i in members if self._matters(i, types))
        return [Conjunction(kept, _NOTHING, frozenset(), types)]

    def _plain_ways(self, variable: frozenset[int], types: int) -> list[frozenset[int]] | None:
        """The sets of plain subschemas of which one has to hold, where a subschema asks nothing but that by one group.

        Most unions are such. For one type a search would just try their branches one after the other.
        """
        if len(variable) != 1 or self._marks:
            return None
        (index,) = variable
        s = self._subschemas[~index if index < 0 else index]
        if index < 0 or len(s.any_of) + len(s.one_of) != 1 or beside_groups(s) != NOTHING_BESIDE:
            return None
        (group,) = s.any_of or s.one_of
        types &= self.types(index)
        out: list[frozenset[int]] = []
        for branch in group:
            closed = self.closure(branch)
            if not closed or not all(i >= 0 and self.is_plain(i) for i in closed):
                return None
            if self._plain_types(branch) & types:
                if len(closed) == 1 and self._inlined(next(iter(closed)), types):
                    return None  # it may be followed side by side with others, as one alternative
                out.append(closed)
        if s.one_of and s.choice is None and len(out) > 1:
            possible = [b for b in group if self._plain_types(b) & types]
            if len(self._told_apart(possible, types)) < len(possible):
                return None
        return out

    def _too_many(self, variable: frozenset[int]) -> ResourceLimitError:
        def applicators(i: int) -> int:
            s = self._subschemas[i if i >= 0 else ~i]
            return sum(map(len, s.any_of)) + sum(map(len, s.one_of)) + len(s.none_of) + len(s.conditions)

        culprit = self._subschemas[max(variable, key=applicators)] if variable else None
        keyword = "oneOf" if culprit is not None and culprit.one_of else "anyOf"
        return ResourceLimitError(
            culprit.pointer if culprit is not None else "",
            keyword,
            f"its branches combine to more than {MAX_ALTERNATIVES} alternatives",
            f"MAX_ALTERNATIVES = {MAX_ALTERNATIVES}",
        )

    def _search(self, partial: _Partial) -> Iterator[Conjunction | None]:
        while True:
            known = _Known(self, partial)
            best: list[Option] | None = None
            least = 1 << 30
            remaining: list[list[Option]] = []
            stamp = partial.known()
            reduced = partial.reduced if stamp == partial.stamp else 0
            for k, group in enumerate(partial.groups):
                options = group if k < reduced else known.left(group)
                if options is None:
                    continue
                if not options:
                    yield None
                    return
                remaining.append(options)
                simple = sum(_is_simple(o, partial.types) for o in options)
                width = len(options) - simple + (simple > 0)
                if len(options) == simple > 1:  # left to be followed while the object is read
                    continue
                if width < least:
                    best, least = options, width
            partial.groups = remaining
            if best is None:
                break
            partial.groups.remove(best)
            partial.stamp, partial.reduced = stamp, len(partial.groups)
            if len(best) == 1:
                if not self._add_option(partial, best[0]):
                    yield None
                    return
                continue
            simple_ones = [o for o in best if _is_simple(o, partial.types)]
            if len(simple_ones) > 1:
                branch = partial.copy()
                branch.groups.append(simple_ones)
                yield from self._search(branch)
                best = [o for o in best if o not in simple_ones]
            for choice in best:
                branch = partial.copy()
                if self._add_option(branch, choice):
                    yield from self._search(branch)
                else:
                    yield None
            return
        yield self._conjunction(partial)

    def _conjunction(self, partial: _Partial) -> Conjunction:
        members = frozenset(i for i in partial.holds if i >= 0)
        excluded = frozenset(cast(int, a[1]) for a in partial.atoms if a[0] == "not in")
        atoms = frozenset(a for a in partial.atoms if a[0] not in ("not in", "types"))
        wanted = partial.types
        tracked = tuple(
            i
            for i in sorted(members)
            if (wanted & ir.OBJECT and self._subschemas[i].unevaluated_properties is not None)
            or (wanted & ir.ARRAY and self._subschemas[i].unevaluated_items is not None)
        )
        kept = members
        # Members that say nothing about this type do not tell alternatives apart, unless it matters what they evaluate.
        if not tracked and not any(i in self._tracked_rests for i in members) and not any(map(_leaves_over, atoms)):
            kept = frozenset(i for i in members if self._matters(i, wanted))
        negated: frozenset[int] = frozenset()
        if any(self._subschemas[i].values is not None for i in kept):  # values are tested against all that holds
            kept, negated = members, frozenset(~i for i in partial.holds if i < 0)
        clauses = [frozenset(a for _, atoms_ in group for a in atoms_) for group in partial.groups]
        clauses = [c for c in clauses if not any(other < c for other in clauses)]
        return Conjunction(kept, atoms, excluded, wanted, tracked, negated, frozenset(clauses))

    def _matters(self, index: int, types: int) -> bool:
        s = self._subschemas[index]
        if s.values is not None or (types & ir.NUMBER and types & ~s.types) or not s.integral_fraction:
            return True
        if types & ir.STRING:
            return bool(s.min_length or s.pattern is not None or s.format is not None) or s.max_length is not None
        if types & ir.OBJECT:
            return (
                bool(s.properties or s.pattern_properties or s.required or s.min_properties)
                or not s.additional is s.property_names is s.max_properties is None
            )
        if types & ir.ARRAY:
            return (
                bool(s.prefix_items or s.min_items or s.unique_items)
                or not s.items is s.contains is s.max_items is None
            )
        if types & ir.NUMBER:
            return not (s.minimum is s.maximum is s.exclusive_minimum is s.exclusive_maximum is s.multiple_of is None)
        return False

    # ---- steps of the search -----------------------------------------------------------------------------------------

    def possible(self, partial: _Partial, choice: Option) -> bool:
        signed, atoms = choice
        if any(~i in partial.holds for i in signed):
            return False
        for i in signed:
            if i >= 0 and not self.types(i) & partial.types:
                return False
            if i >= 0 and partial.listed is not None:
                listed = self._listed_identities(i, partial.types)
                if listed is not None and partial.listed.isdisjoint(listed):
                    return False
        for atom in atoms:
            if atom[0] == "absent":
                if atom[1] in partial.present:
                    return False
            elif atom[0] == "has":
                if atom[1] in partial.absent:
                    return False
            elif atom[0] == "types" and not partial.types & atom[1]:  # type: ignore[operator]
                return False
        return True

    def _add_option(self, partial: _Partial, choice: Option) -> bool:
        if not self.possible(partial, choice):
            return False
        for atom in choice[1]:
            if atom in partial.atoms:
                continue
            partial.atoms.add(atom)
            if atom[0] == "types":
                partial.types &= atom[1]  # type: ignore[operator]
            elif atom[0] == "absent":
                partial.absent.add(cast(str, atom[1]))
            elif atom[0] == "has":
                name, asked = cast(str, atom[1]), cast("frozenset[int]", atom[2])
                partial.present.add(name)
                partial.has[name] = partial.has.get(name, _EMPTY).union(*map(self.closure, asked))
        return all(self._add_signed(partial, i, False) for i in sorted(choice[0]))

    def _add_signed(self, partial: _Partial, signed: int, tracking: bool) -> bool:
        """Have a signed subschema hold; False on a contradiction."""
        if signed in partial.holds:
            return True
        if ~signed in partial.holds:
            return False
        if signed < 0:
            partial.holds.add(signed)
            options = self._failures(~signed, partial.types)
            if not options:
                return False
            if ALWAYS not in options:
                partial.groups.append(options)
            return True
        s = self._subschemas[signed]
        partial.types &= self.types(signed)
        if not partial.types:
            return False
        partial.holds.add(signed)
        known = self._listed_identities(signed, partial.types)
        if known is not None:
            partial.listed = known if partial.listed is None else partial.listed & known
            if not partial.listed:
                return False
        if s.required:
            if not partial.absent.isdisjoint(s.required):
                return False
            partial.present.update(s.required)
        if s.properties or s.pattern_properties or s.additional is not None:
            partial.speaking.append(signed)
        tracking = tracking or self._tracks(signed) or signed in partial.tracked
        for i in sorted(self.closure(signed) - {signed}) if s.all_of else ():
            if not self._add_signed(partial, i, tracking):
                return False
        self._add_groups(partial, signed, tracking)
        return all(self._add_all(partial, ~i) for i in s.none_of)

    def _add_all(self, partial: _Partial, signed: int) -> bool:
        closure = self.closure(signed)
        if signed < 0 and says_nothing(self._subschemas[~signed]) and not self._subschemas[~signed].all_of:
            return False
        return all(self._add_signed(partial, i, False) for i in sorted(closure))

    def _groups(self, index: int, types: int) -> list[list[Option]]:
        """The groups of a subschema for values of these types, of each of which one option has to hold."""
        key = (index, types)
        found = self._groups_of.get(key)
        if found is None:
            found = self._groups_of[key] = []
            s = self._subschemas[index]
            for group in s.any_of:
                self._add_group(found, [option(b) for b in group], types)
            for group in s.one_of:
                told_apart = s.choice is not None and not s.any_of and len(s.one_of) == 1
                options = [option(b) for b in group] if told_apart else self._exactly_one(group, types)
                self._add_group(found, options, types)
        return found

    def _add_groups(self, partial: _Partial, signed: int, tracking: bool) -> None:
        s = self._subschemas[signed]
        groups, types = partial.groups, partial.types
        if s.any_of or s.one_of:
            groups += self._groups(signed, types)
        for test, then, otherwise in s.conditions:
            if then is otherwise is None and not tracking:
                continue
            self._add_group(groups, [option(test, *_given(then)), option(~test, *_given(otherwise))], types)
        if partial.types & ir.OBJECT:
            for name, others in s.dependent_required.items():
                for other in others:
                    has: Option = option(atoms=(("has", other, frozenset()),))
                    self._add_group(groups, [option(atoms=(("absent", name),)), has], types)
            for name, i in s.dependent_schemas.items():
                closed = self.closure(i)
                inlined = self._inlined(next(iter(closed)), types) if len(closed) == 1 and not tracking else []
                applied = inlined or [option(i, atoms=(("has", name, frozenset()),))]
                self._add_group(groups, [option(atoms=(("absent", name),)), *applied], types)
        if tracking:
            branches = [b for group in (*s.any_of, *s.one_of) for b in group] + [c[0] for c in s.conditions]
            for b in branches:
                self._add_group(groups, [option(b), option(~b)], 0)  # it is to be known which
            parts = (
                branches + [i for c in s.conditions for i in c[1:] if i is not None] + [*s.dependent_schemas.values()]
            )
            for b in parts:
                partial.tracked |= self.closure(b)

    def _inlined(self, signed: int, types: int) -> list[Option]:
        """The ways in which a value meets a signed subschema, where they are simple; none otherwise."""
        if types not in _FOLLOWED:
            return []
        if signed < 0:
            return self._failures(~signed, types)
        s = self._subschemas[signed]
        if not s.types & types or s.values is not None:
            return []
        if len(s.any_of) == 1 and not self._marks and s == Subschema(s.pointer, s.types, any_of=s.any_of):
            return self._all_inlined([self.closure(b) for b in s.any_of[0]], types)
        if len(s.none_of) == 1 and s == Subschema(s.pointer, s.types, none_of=s.none_of):
            return self._all_inlined([self.closure(~s.none_of[0])], types)
        if types == ir.STRING:
            if s.pattern is not None and s == Subschema(s.pointer, s.types, pattern=s.pattern):
                return [option(atoms=(("pattern", s.pattern),))]
            return []
        if len(s.required) == 1 and s == Subschema(s.pointer, types=s.types, required=s.required):
            return [option(atoms=(("has", s.required[0], frozenset()),))]
        if len(s.properties) == 1 and not self._marks and s == Subschema(s.pointer, s.types, properties=s.properties):
            ((name, i),) = s.properties.items()
            return [option(atoms=(("absent", name),)), option(atoms=(("has", name, frozenset((i,))),))]
        return []

    def _all_inlined(self, ways: list[frozenset[int]], types: int) -> list[Option]:
        """The simple ways to meet one of these sets of signed subschemas; none if there are others."""
        out: list[Option] = []
        for signed in ways:
            options = self._inlined(next(iter(signed)), types) if len(signed) == 1 else []
            if not options or not all(_is_simple(o, types) for o in options):
                return []
            out += options
        return out

    def _add_group(self, groups: list[list[Option]], options: list[Option], types: int) -> None:
        """Add a group, its signed subschemas replaced by their closures and impossible options left out.

        `types` are those of the values that it is about.
        """
        out: dict[Option, None] = {}
        for signed, atoms in options:
            closed: set[int] = set()
            possible = True
            for i in signed:
                if i < 0 and says_nothing(self._subschemas[~i]) and not self._subschemas[~i].all_of:
                    possible = False
                closed |= self.closure(i)
            if possible and not any(~i in closed for i in closed):
                inlined = self._inlined(next(iter(closed)), types) if len(closed) == 1 and not atoms else []
                out.update(dict.fromkeys(inlined or [(frozenset(closed), atoms)]))
        if ALWAYS not in out:
            groups.append(list(out))

    def _exactly_one(self, group: list[int], types: int) -> list[Option]:
        possible = [b for b in group if self._plain_types(b) & types]
        alone = self._told_apart(possible, types)
        if len(alone) == len(possible):
            return [option(b) for b in possible]
        certain = [b for b in possible if self._admits_all(b, types)]
        if len(certain) > 1:
            return []
        out = []
        for k, chosen in enumerate(possible):
            if certain and chosen not in certain:
                continue
            others = (
                ~o
                for j, o in enumerate(possible)
                if j != k and not (chosen in alone and o in alone) and not self._are_disjoint(chosen, o, types)
            )
            out.append(option(chosen, *others))
        return out

    def _admits_all(self, index: int, types: int) -> bool:
        """Whether all values of these types plainly are valid under a subschema."""
        return all(
            self.is_plain(i) and not types & ~self._subschemas[i].types and not self._matters(i, types)
            for i in self.closure(index)
        )

    def _plain_types(self, index: int) -> int:
        found = self._all_types.get(index)
        if found is None:
            found = ir.ANY_TYPE
            for i in self.closure(index):
                found &= self.types(i)
            self._all_types[index] = found
        return found

    def _failures(self, index: int, types: int) -> list[Option]:
        key = (index, types)
        found = self._options.get(key)
        if found is None:
            groups: list[list[Option]] = []
            self._add_group(groups, self._duals(index, types), types)
            found = self._options[key] = groups[0] if groups else [ALWAYS]
        return found

    def _duals(self, index: int, types: int) -> list[Option]:
        """The ways to fail under a subschema; two branches that are plainly disjoint do not hold together."""
        out = []
        s = self._subschemas[index]
        if (
            len(s.one_of) == 1
            and len(s.one_of[0]) > 2
            and len(self._told_apart(s.one_of[0], types)) == len(s.one_of[0])
        ):
            s = replace(s, one_of=[], any_of=[*s.any_of, *s.one_of])
        for o in duals(index, s, types, self.literal, self.but_unevaluated):
            if len(o[0]) == 2 and not o[1]:
                first, second = sorted(o[0])
                if first >= 0 and self._are_disjoint(first, second, types):
                    continue
            out.append(o)
        return out

    # ---- what is known ---------------------------------------------------------------------------------------------

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

    def left_of_value(self, known: frozenset[int], asked: frozenset[int]) -> frozenset[int] | None:
        """What some signed subschemas add to what is `known` of a value; None where it plainly has no value then."""
        key = known, asked
        if key not in self._left:
            self._left[key] = self._find_left(known, asked)
        return self._left[key]

    def _find_left(self, known: frozenset[int], asked: frozenset[int]) -> frozenset[int] | None:
        added = _EMPTY.union(*map(self.closure, asked))
        if len(added) == 1:
            (signed,) = added
            refusal = self._refusal_of(signed) if signed < 0 else _NO_REFUSAL
            if refusal.values is not None and not self._summary(known).types & ~refusal.value_types:
                values = self._values_of(known)
                if values is not None:  # one of a few values is not to be one of others
                    if values <= refusal.values:
                        return None
                    return _EMPTY if values.isdisjoint(refusal.values) else added - known
        if self.plainly_empty(known | added, known):
            return None
        return frozenset(i for i in added if i not in known and not self._is_implied(known, i))

    def _is_implied(self, known: frozenset[int], signed: int) -> bool:
        return signed < 0 and self.plainly_empty(known | self.closure(~signed), known)

    def plainly_empty(self, signed: frozenset[int], known: frozenset[int] = _EMPTY) -> bool:
        """Whether no value can have all these signed subschemas hold, as far as a quick look tells.

        `known` are some of them that are asked about time and again, with others.
        """
        found = self._empty.get(signed)
        if found is None:
            self._empty[signed] = False  # where it depends on itself
            found = self._empty[signed] = self._looks_empty(signed, known)
        return found

    def _looks_empty(self, signed: frozenset[int], known: frozenset[int]) -> bool:
        summary = self._summary(known)
        if len(signed) > len(known):
            summary = self._joined(summary, signed - known, signed)
        types, positive = summary.types, summary.positive
        if not types:
            return True
        if any(self._listed(i, types) is not None for i in positive):
            return self._lists_nothing(summary)
        if any(self._sameness.same(a, ~b) for b in summary.others for a in positive):
            return True
        return len(positive) > 1 and any(
            self._disjoint_sets(frozenset((a,)), frozenset((b,)), types, 2)
            for k, a in enumerate(positive)
            for b in positive[k + 1 :]
        )

    def _summary(self, signed: frozenset[int]) -> _Summary:
        found = self._summaries.get(signed)
        if found is None:
            found = self._summaries[signed] = self._joined(_NO_SUMMARY, signed, signed)
        return found

    def _joined(self, summary: _Summary, added: frozenset[int], signed: frozenset[int]) -> _Summary:
        """A summary with some more signed subschemas, so that it is one of `signed`."""
        types, positive, others = summary.types, [*summary.positive], [*summary.others]
        refused = summary.refused
        for i in added:
            if ~i in signed:
                types = 0
            if i >= 0:
                types &= self.types(i)
                positive.append(i)
                continue
            refusal = self._refusal_of(i)
            types &= refusal.types
            if refusal.values is not None:
                before = refused.get(refusal.value_types, _NO_VALUES)
                refused = {**refused, refusal.value_types: before | refusal.values}
            elif refusal.types == ir.ANY_TYPE:
                others.append(i)
        return _Summary(types, positive, refused, others)

    def _refusal_of(self, signed: int) -> _Refusal:
        found = self._refusals.get(signed)
        if found is None:
            found = self._refusals[signed] = self._refusal(~signed)
        return found

    def _refusal(self, index: int) -> _Refusal:
        s = self._subschemas[index]
        if says_nothing(s) and not s.all_of:
            return _Refusal(0, None, 0)
        if self._asks_only(index, values=False):
            return _Refusal(~s.types if s.integral_fraction else ~(s.types & ~ir.NUMBER), None, 0)
        if s.values is None or not s.integral_fraction or not self._asks_only(index, values=True):
            return _Refusal(ir.ANY_TYPE, None, 0)
        return _Refusal(ir.ANY_TYPE, frozenset(map(identity, s.values)), s.types)

    def _lists_nothing(self, summary: _Summary) -> bool:
        """Whether no value is left of those that some list and that the others plainly do not refuse."""
        left, shortest, refusing = self._listed_by(summary)
        if not left or len(shortest) > MAX_TESTED:
            return not left
        return not any(self._is_left(v, left, summary.types, refusing) for v in shortest)

    def _values_of(self, known: frozenset[int]) -> frozenset[object] | None:
        """What tells apart the few values that are left where some are listed; None where there may be others."""
        if known not in self._few_values:
            self._few_values[known] = self._find_values_of(self._summary(known))
        return self._few_values[known]

    def _find_values_of(self, summary: _Summary) -> frozenset[object] | None:
        types = summary.types
        if not types:
            return _NO_VALUES
        if not any(self._listed(i, types) is not None for i in summary.positive):
            return None
        left, shortest, refusing = self._listed_by(summary)
        if not left or len(shortest) > MAX_TESTED:
            return None if left else _NO_VALUES
        return frozenset(identity(v) for v in shortest if self._is_left(v, left, types, refusing))

    def _listed_by(self, summary: _Summary) -> tuple[frozenset[object], list[object], _Refusing]:
        """What tells apart the values that all list, the shortest of the lists, and what else may refuse them."""
        types, others = summary.types, [*summary.others]
        left: frozenset[object] | None = None
        shortest: list[object] = []
        for i in summary.positive:
            listed = self._listed_identities(i, types)
            if listed is None:
                others.append(i)
                continue
            if self._subschemas[i].pattern is not None:
                others.append(i)
            values = self._listed(i, types) or []
            if left is None or len(values) < len(shortest):
                shortest = values
            left = listed if left is None else left & listed
        partly = []  # refused only if of types that are not all there is
        for value_types, refused in summary.refused.items() if left else ():
            if types & ~value_types:
                partly.append((value_types, refused))
            else:
                left = (left or _NO_VALUES) - refused
        return left or _NO_VALUES, shortest, (partly, others)

    def _is_left(self, value: object, left: frozenset[object], types: int, refusing: _Refusing) -> bool:
        kind, key = type_of(value), identity(value)
        if not kind & types or key not in left:
            return False
        partly, others = refusing
        is_refused = any(kind & t and key in refused for t, refused in partly)
        return not is_refused and all(self._may_hold(i, value) for i in others)

    def _asks_only(self, index: int, *, values: bool) -> bool:
        """Whether all that a subschema asks for is a type, or with `values` one of those that it lists."""
        found = self._asks.get(index)
        if found is None:
            found = self._asks[index] = _asked_beside(self._subschemas[index]) == _NONE_BESIDE
        return found and (values or self._subschemas[index].values is None)

    def _may_hold(self, signed: int, value: object) -> bool:
        """Whether a value can be valid under a signed subschema, decided by its own plain assertions where possible."""
        index = signed if signed >= 0 else ~signed
        s = self._subschemas[index]
        if not s.types & type_of(value):
            return signed < 0
        if s.values is not None and not any(identity(v) == identity(value) for v in s.values):
            return signed < 0
        if signed < 0:
            return not s.integral_fraction or not self._asks_only(index, values=True)
        if isinstance(value, str) and s.pattern is not None:
            return is_found(s.pattern, value)
        return True

    # ---- disjointness ------------------------------------------------------------------------------------------------

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
        types = [self._plain_types(index) for index in group]
        seen = shared = 0
        for mask in types:
            shared |= seen & mask
            seen |= mask
        apart = {kind: self._told_apart(group, kind) for kind in _KINDS if shared & kind}
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
                    if both and not self._are_disjoint(a, b, kind):
                        overlap |= kind
                if overlap:
                    out.append((b, a, overlap))
        return out

    def _told_apart(self, group: list[int], types: int) -> frozenset[int]:
        """Branches no two of which admit the same value of one type, as they list values, or those of one member.

        Those that admit none of the type are among them.
        """
        key = (*group, types)
        found = self._apart.get(key)
        if found is None:
            empty = [b for b in group if not self._plain_types(b) & types]
            others = {b: self.closure(b) for b in group if self._plain_types(b) & types}
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
            listed = self._finite(members, mask)
            if listed is not None:
                if not seen.isdisjoint(listed):
                    return []
                seen |= listed
                out.append(branch)
        return out

    def _are_disjoint(self, a: int, b: int, types: int) -> bool:
        """Whether two branches plainly have no value of these types in common."""
        key = (min(a, b), max(a, b), types)
        found = self._disjoint.get(key)
        if found is None:
            found = self._disjoint[key] = self._disjoint_sets(self.closure(a), self.closure(b), types, 3)
        return found

    def _disjoint_sets(self, a: frozenset[int], b: frozenset[int], types: int, depth: int) -> bool:
        mask = types
        for i in a | b:
            mask &= self.types(i)
        if not mask:
            return True
        first, second = self._finite(a, mask), self._finite(b, mask)
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
            if values[0] and values[1] and self._disjoint_sets(values[0], values[1], ir.ANY_TYPE, depth - 1):
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
                    type_of(v) & types and all(self._may_hold(j, v) for j in others) for v in values
                )
        return False

    def _finite(self, members: frozenset[int], types: int) -> frozenset[object] | None:
        for i in members:
            listed = self._listed_identities(i, types)
            if listed is not None:
                return listed
        return None

    def _listed(self, index: int, types: int) -> list[object] | None:
        """The values of these types that a subschema lists, by `enum`, `const` or a pattern of literal texts."""
        s = self._subschemas[index]
        if s.values is not None or types != ir.STRING or s.pattern is None:
            return s.values
        found = _LITERALS.fullmatch(s.pattern)
        return None if found is None else [*(found[1] or found[2]).split("|")]

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

    # ---- unevaluated -------------------------------------------------------------------------------------------------

    def _tracks(self, index: int) -> bool:
        s = self._subschemas[index]
        return s.unevaluated_properties is not None or s.unevaluated_items is not None or index in self._tracked_rests

    def applied(self, conjunction: Conjunction, index: int) -> list[int]:
        """The subschemas whose keywords count as applied in place under subschema `index`, itself included."""
        out: list[int] = []
        todo = [index]
        seen: set[int] = set()
        while todo:
            i = todo.pop()
            if i in seen:
                continue
            seen.add(i)
            out.append(i)
            s = self._subschemas[i]
            todo += s.all_of
            todo += [b for group in (*s.any_of, *s.one_of) for b in group if self._held(conjunction, b)]
            for test, then, otherwise in s.conditions:
                if self._held(conjunction, test):
                    todo += [test, *_given(then)]
                else:
                    todo += _given(otherwise)
            todo += [d for name, d in s.dependent_schemas.items() if self._present(conjunction, name)]
        return out

    def _present(self, conjunction: Conjunction, name: str) -> bool:
        return any(name in self._subschemas[i].required for i in conjunction.members) or any(
            a[0] == "has" and a[1] == name for a in conjunction.atoms
        )

    def _held(self, conjunction: Conjunction, index: int) -> bool:
        return self.closure(index) <= conjunction.members


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


def _given(index: int | None) -> tuple[int, ...]:
    return () if index is None else (index,)


def _leaves_over(atom: Atom) -> bool:
    """Whether an atom is about what a subschema does not evaluate."""
    return atom[0] == "unevaluated item" or (
        atom[0] == "some" and cast("tuple[str, object]", atom[1])[0] == "unevaluated"
    )


def _without_implied(conjunctions: list[Conjunction]) -> list[Conjunction]:
    """Without those that imply another one, which add nothing.

    What implies a conjunction shares all that it says, so it is looked for where the rarest of that is said.
    """
    said = [(*c.members, *c.atoms, *(("clause", clause) for clause in c.clauses)) for c in conjunctions]
    frequency = Counter(part for parts in said for part in parts)
    by_rarest: dict[object, list[Conjunction]] = {}
    for c, parts in zip(conjunctions, said, strict=True):
        by_rarest.setdefault(min(parts, key=frequency.__getitem__, default=None), []).append(c)
    return [
        c
        for c, parts in zip(conjunctions, said, strict=True)
        if not any(_implies(c, other) for part in (None, *parts) for other in by_rarest.get(part, ()))
    ]


def _implies(a: Conjunction, b: Conjunction) -> bool:
    """Whether conjunction `a` only adds to what `b` demands."""
    return (
        a.types & ~b.types == 0
        and b.members <= a.members
        and b.atoms <= a.atoms
        and b.excluded <= a.excluded
        and b.negated <= a.negated
        and b.clauses <= a.clauses
        and not b.tracked
        and not a.tracked
        and a != b
    )
