"""Expansion: a variable, for one JSON type, as a union of conjunctions without in-place applicators.

A conjunction is a set of subschemas whose own assertions all hold, and the atoms that negations add (see `dual`). It is
found by depth-first search: applicators become groups of options, of every group one option is chosen, the group with
the fewest options first, and a choice that contradicts what is known is given up at once. `oneOf` chooses the branch
that holds and negates those others that are not plainly disjoint from it; `if` chooses whether it holds.

Where an `unevaluated…` keyword looks on, it matters not only which branches were chosen but which hold, so there the
search decides every branch one way or the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import cast

from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.closures import NOTHING_BESIDE, beside_groups
from constrain.grammars.json_schema.conjunctions import Conjunction, without_implied
from constrain.grammars.json_schema.dual import ALWAYS, Atom, Option, duals, option
from constrain.grammars.json_schema.emptiness import Emptiness
from constrain.grammars.json_schema.ir import Subschema
from constrain.grammars.json_schema.literals import says_nothing
from constrain.grammars.json_schema.partial import FOLLOWED, Known, Partial, is_simple, possible

MAX_ALTERNATIVES = 4096
"""Alternatives of one variable for one type."""
MAX_STEPS = 20_000
"""Choices tried to find them."""
MAX_COMPARED = 1_024
"""Alternatives that are compared with each other."""

_NOTHING: frozenset[Atom] = frozenset()
_EMPTY: frozenset[int] = frozenset()


class Expansion(Emptiness):
    """Expansions over one list of subschemas, to which literals and unions are added as they are met."""

    def __init__(self, subschemas: list[Subschema], *, ordered: bool = False) -> None:
        super().__init__(subschemas, ordered=ordered)
        self._options: dict[tuple[int, int], list[Option]] = {}
        self._groups_of: dict[tuple[int, int], list[list[Option]]] = {}

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
        return without_implied(out) if 1 < len(out) <= MAX_COMPARED else out

    def first_conjunctions(self, variable: frozenset[int], types: int, count: int) -> Iterator[Conjunction]:
        """Some conjunctions of which each is enough for a value, out of what is found in so many steps."""
        if all(i >= 0 and self.is_plain(i) for i in variable):
            return iter(self._plain_conjunction(variable, types))
        return (result for result in islice(self._found(variable, types), count) if result is not None)

    def _found(self, variable: frozenset[int], types: int) -> Iterator[Conjunction | None]:
        partial = Partial(types)
        if all(self._add_signed(partial, i, False) for i in sorted(variable)):
            yield from self._search(partial)

    def _plain_conjunction(self, members: frozenset[int], types: int) -> list[Conjunction]:
        """What a search would find where there is nothing to choose."""
        listed: frozenset[object] | None = None
        for i in members:
            types &= self.types(i)
        if not types:
            return []
        for i in members:
            found = self.listed_identities(i, types)
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
            if self.plain_types(branch) & types:
                if len(closed) == 1 and self._inlined(next(iter(closed)), types):
                    return None  # it may be followed side by side with others, as one alternative
                out.append(closed)
        if s.one_of and s.choice is None and len(out) > 1:
            possible = [b for b in group if self.plain_types(b) & types]
            if len(self.told_apart(possible, types)) < len(possible):
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

    def _search(self, partial: Partial) -> Iterator[Conjunction | None]:
        while True:
            known = Known(self, partial)
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
                simple = sum(is_simple(o, partial.types) for o in options)
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
            simple_ones = [o for o in best if is_simple(o, partial.types)]
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

    def _conjunction(self, partial: Partial) -> Conjunction:
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

    def _add_option(self, partial: Partial, choice: Option) -> bool:
        if not possible(self, partial, choice):
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

    def _add_signed(self, partial: Partial, signed: int, tracking: bool) -> bool:
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
        known = self.listed_identities(signed, partial.types)
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

    def _add_all(self, partial: Partial, signed: int) -> bool:
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

    def _add_groups(self, partial: Partial, signed: int, tracking: bool) -> None:
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
        if types not in FOLLOWED:
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
            if not options or not all(is_simple(o, types) for o in options):
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
        possible = [b for b in group if self.plain_types(b) & types]
        alone = self.told_apart(possible, types)
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
                if j != k and not (chosen in alone and o in alone) and not self.are_disjoint(chosen, o, types)
            )
            out.append(option(chosen, *others))
        return out

    def _admits_all(self, index: int, types: int) -> bool:
        """Whether all values of these types plainly are valid under a subschema."""
        return all(
            self.is_plain(i) and not types & ~self._subschemas[i].types and not self._matters(i, types)
            for i in self.closure(index)
        )

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
        if len(s.one_of) == 1 and len(s.one_of[0]) > 2 and len(self.told_apart(s.one_of[0], types)) == len(s.one_of[0]):
            s = replace(s, one_of=[], any_of=[*s.any_of, *s.one_of])
        for o in duals(index, s, types, self.literal, self.but_unevaluated):
            if len(o[0]) == 2 and not o[1]:
                first, second = sorted(o[0])
                if first >= 0 and self.are_disjoint(first, second, types):
                    continue
            out.append(o)
        return out

    # ---- unevaluated -------------------------------------------------------------------------------------------------

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


def _given(index: int | None) -> tuple[int, ...]:
    return () if index is None else (index,)


def _leaves_over(atom: Atom) -> bool:
    """Whether an atom is about what a subschema does not evaluate."""
    return atom[0] == "unevaluated item" or (
        atom[0] == "some" and cast("tuple[str, object]", atom[1])[0] == "unevaluated"
    )
