"""Different values: how many a variable has, as far as arrays of items that must differ need to know.

A variable has either more values than any array uses up (`Distinct.values` answers None), or few enough to list. The
lists are a least fixpoint: starting from nothing, the alternatives of each variable are evaluated with what is known of
their parts until no list grows. Evaluation of a variable ends as soon as one part, that it has or may have, turns out
to be inexhaustible, so most schemas are hardly looked into.

An array of items that must differ can be completed when its further items can be given different values that are not in
use: a matching of positions and values, in which inexhaustible positions take part without being looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.demands import Clause, Room, cheapest, cost_with_name, value_in_plan
from constrain.grammars.json_schema.items import Items, State
from constrain.grammars.json_schema.members import Members
from constrain.grammars.json_schema.normal import (
    ANYTHING,
    ArrayAlternative,
    NormalForm,
    ObjectAlternative,
    StringAlternative,
    Variable,
)
from constrain.grammars.json_schema.repetition import Repetition, goes_on
from constrain.grammars.json_schema.text_counts import MANY, has_many_texts, listed_texts
from constrain.grammars.json_schema.texts import texts_of
from constrain.grammars.json_schema.values import identity
from constrain.grammars.languages.number import number_language
from constrain.grammars.languages.number_constraint import NumberConstraint, common_multiple, satisfies

MAX_NODES = 20_000
"""Combinations of counted items that must differ which are looked at when a schema is compiled."""
_FIRST_LIST = 64
_TRIES = 100_000  # numbers looked at in a range out of which others are excluded

Values = dict[Hashable, object]
"""Values by their identity."""
_Lookup = Callable[[Variable, int], Values | None]


@dataclass(frozen=True, slots=True)
class _Found:
    values: Values | None  # None: inexhaustible
    complete: bool  # whether these are all


_NONE = _Found({}, True)
_ENDLESS = _Found(None, True)


class Distinct:
    """The different values of the variables of one document, computed on demand and kept."""

    def __init__(self, forms: NormalForm) -> None:
        self._forms = forms
        self._final: dict[Variable, _Found] = {}
        self._round: dict[Variable, _Found] = {}
        self._visited: set[Variable] = set()
        self._changed = False
        self._cap = _FIRST_LIST
        self._members: dict[int, tuple[ObjectAlternative, Members]] = {}  # by address of the alternative
        self._feasible: dict[int, tuple[ArrayAlternative, bool]] = {}

    def values(self, variable: Variable, wanted: int) -> Values | None:
        """All values of a variable, where they are fewer than `wanted`; None where it has that many."""
        found = self._final.get(variable)
        if found is None or (found.values is not None and not found.complete and len(found.values) < wanted):
            self._solve(variable, max(_FIRST_LIST, 2 * wanted))
            found = self._final[variable]
        return None if found.values is None or len(found.values) >= wanted else found.values

    def is_endless(self, variable: Variable) -> bool:
        """Whether a variable has more values than any array uses up."""
        self.values(variable, 1)
        return self._final[variable].values is None

    def can_finish(
        self,
        array: ArrayAlternative,
        count: int = 0,
        used: Collection[Hashable] = (),
        counted: tuple[Items, State] | None = None,
        nodes: int | None = None,
    ) -> bool:
        """Whether an array of items that must differ can end from `count` items on, whose values are `used`.

        `counted` tells where the bounds of `contains` stand. With `nodes`, more combinations of items raise
        `ResourceLimitError`.
        """
        if counted is not None:
            return self._counted_path(*counted, count, used, self.values, nodes) > 0
        if not _is_long_enough(array):
            return False
        parts = [part_at(array, k) for k in range(count, array.minimum)]
        return self._differ(parts, used, self.values)

    def feasible(self, array: ArrayAlternative) -> bool:
        """Whether an array of items that must differ has any value."""
        found = self._feasible.get(id(array))
        if found is None:
            counted = None
            if array.contains:
                items = Items(self._forms, array)
                counted = (items, items.start)
            found = self._feasible[id(array)] = (array, self.can_finish(array, 0, (), counted, MAX_NODES))
        return found[1]

    def small_values(self, array: ArrayAlternative, count: int, used: int) -> list[object]:
        """The values of those items still to come that have few, so that using one up may matter later."""
        parts: dict[Variable, None] = {}
        for k in range(count, max(array.minimum, len(array.prefix) + 1 if array.contains else 0)):
            part = part_at(array, k)
            if part is not None:
                parts[part] = None
        wanted = used + max(0, array.minimum - count) + 2
        if array.contains:
            wanted += sum(c.low for c in array.contains)
            for part in list(parts) or [p for p in (array.items,) if p is not None]:
                parts.update(dict.fromkeys(part | c.value for c in array.contains))
        out: Values = {}
        for part in parts:
            out |= self.values(part, wanted) or {}
        return list(out.values())

    # ---- matching ----------------------------------------------------------------------------------------------------

    def _differ(self, parts: Sequence[Variable | None], used: Collection[Hashable], values: _Lookup) -> bool:
        """Whether items in these variables can have different values, none of them used."""
        wanted = len(used) + len(parts)
        known: dict[Variable, list[Hashable] | None] = {}
        scarce: list[list[Hashable]] = []
        for part in parts:
            if part is None:
                return False
            if part not in known:
                found = values(part, wanted)
                known[part] = None if found is None else [v for v in found if v not in used]
            options = known[part]
            if options is not None:
                if not options:
                    return False
                scarce.append(options)
        return _can_match(scarce)

    def _counted_path(
        self, items: Items, state: State, count: int, used: Collection[Hashable], values: _Lookup, nodes: int | None
    ) -> int:
        """Whether the array can end: 0 if not, 2 if with an inexhaustible item on the way, else 1."""
        a = items.alternative
        best = 0
        start: tuple[State, int, tuple[Variable, ...], bool] = (state, count, (), False)
        todo, seen = [start], {start}
        demanded = max(0, a.minimum - count) + sum(c.low for c in a.contains)
        while todo:
            at, n, scarce, endless = todo.pop()
            if items.may_close(at, n):
                if endless:
                    return 2
                best = 1
                if nodes is None:
                    return best
            for to, part in items.moves(at, n):
                found = values(part, len(used) + demanded + len(scarce) + 1)
                chosen = scarce
                if found is not None:
                    chosen = tuple(sorted((*scarce, part), key=sorted))
                    if not self._differ(chosen, used, values):
                        continue
                following = n + 1 if a.maximum is not None else min(n + 1, items.bound)
                node = (to, following, chosen, endless or found is None)
                if node not in seen:
                    seen.add(node)
                    todo.append(node)
            if nodes is not None and len(seen) > nodes:
                raise ResourceLimitError(
                    self._forms.pointer(a.items or frozenset()),
                    "uniqueItems",
                    "too many combinations of items that are counted and must differ",
                    f"MAX_NODES = {nodes}",
                )
        return best

    # ---- the fixpoint ------------------------------------------------------------------------------------------------

    def _solve(self, variable: Variable, cap: int) -> None:
        self._cap = cap
        self._round = {}
        while True:
            self._visited, self._changed = set(), False
            try:
                self._look(variable)
            except _ShortListError as error:
                self._solve(variable, max(error.wanted, 2 * cap))
                return
            if not self._changed:
                break
        self._final.update({v: self._round[v] for v in self._visited if v in self._round})

    def _look(self, variable: Variable) -> _Found:
        known = self._final.get(variable)
        if known is not None and (known.values is None or known.complete or len(known.values) >= self._cap):
            return known
        if variable in self._visited:
            return self._round.get(variable, _NONE)
        self._visited.add(variable)
        before = self._round.get(variable, _NONE)
        self._round[variable] = before
        found = self._evaluate(variable)
        if found.values is None or before.values is None:
            found = _ENDLESS
            self._final[variable] = found
        if (found.values is None) != (before.values is None) or len(found.values or ()) != len(before.values or ()):
            self._changed = True
        self._round[variable] = found
        return found

    def _lookup(self, variable: Variable, wanted: int) -> Values | None:
        """As `values`, from what this round knows."""
        found = self._look(variable)
        if found.values is None or len(found.values) >= wanted:
            return None
        if not found.complete:
            raise _ShortListError(wanted)
        return found.values

    def _evaluate(self, variable: Variable) -> _Found:
        forms = self._forms
        types = forms.types(variable)
        out: Values = {}
        for found in self._parts(variable, types):
            if found is None:
                return _ENDLESS
            for value in found:
                if len(out) >= self._cap:
                    break
                out[identity(value)] = value
        return _Found(out, len(out) < self._cap)

    def _parts(self, variable: Variable, types: int) -> Iterator[Iterator[object] | None]:
        """The values of each alternative; None for an inexhaustible one."""
        forms = self._forms
        if types & ir.STRING:
            for s in forms.strings(variable):
                yield _texts(s)
        if types & (ir.NULL | ir.BOOLEAN | ir.NUMBER):
            atoms = forms.atoms(variable)
            yield iter([None] * atoms.null)
            yield iter(atoms.booleans)
            for number in atoms.numbers:
                yield _numbers(number, self._cap)
        if types & ir.OBJECT:
            for o in forms.objects(variable):
                yield self._objects(variable, o)
        if types & ir.ARRAY:
            for a in forms.arrays(variable):
                yield self._arrays(a)

    def _objects(self, variable: Variable, o: ObjectAlternative) -> Iterator[object] | None:
        nothing: Iterator[object] = iter(())
        known = self._members.get(id(o))
        if known is None:
            known = self._members[id(o)] = o, Members(self._forms, [o])
        members = known[1]
        values = {n: part for n in members.names if (part := self._forms.member(o, n)) is not None}
        values = {n: part for n, part in values.items() if self._has_value(part)}
        free = {c.members: part for c in members.free if (part := members.free_value(o, c.members)) is not None}
        free = {c: part for c, part in free.items() if self._has_value(part)}
        clauses = members.clauses(o, values, free, self._has_value)
        if clauses is None:
            return nothing
        room = Room(
            values, free, o.required, o.minimum, o.maximum, lambda part: 0 if self._has_value(part) else math.inf
        )
        if cheapest(room, clauses, any_plan=True) == math.inf:
            return nothing
        if self._is_endless_object(room, clauses):
            return None
        listed = {n: found.values for n, part in values.items() if (found := self._look(part)).values is not None}
        if len(listed) < len(values):
            if clauses:
                raise ResourceLimitError(
                    self._forms.pointer(variable), "uniqueItems", "the values of its items are too many to list", ""
                )
            # There is no room for those that are endless.
            listed = {n: found for n, found in listed.items() if n in o.required}
        fixed = [(n, list(listed[n].values())) for n in o.required]
        loose = [(n, list(found.values())) for n, found in listed.items() if n not in o.required]
        objects = _combine(fixed, loose, o.minimum, o.maximum)
        return (x for x in objects if self._forms.admits(variable, x)) if clauses else objects

    def _is_endless_object(self, room: Room, clauses: tuple[Clause, ...]) -> bool:
        """Whether a member can have endlessly many values, or names that are not listed."""
        for name, part in room.declared.items():
            if self._look(part).values is not None:
                continue
            with_it = replace(room, required=tuple(dict.fromkeys((*room.required, name))))
            if cheapest(with_it, clauses, any_plan=True) < math.inf:
                value = value_in_plan(replace(room), clauses, name) if clauses else ANYTHING
                if self._look(part | value).values is None:
                    return True
        # The names of a free class are too many to be listed.
        return any(cost_with_name(room, clauses, c) < math.inf for c in room.free)

    def _has_value(self, variable: Variable) -> bool:
        found = self._look(variable)
        return found.values is None or bool(found.values)

    def _arrays(self, a: ArrayAlternative) -> Iterator[object] | None:
        if a.repeated:
            if goes_on(a, self._has_value):
                return None
            items = Items(self._forms, a)
            repetition = Repetition(self._forms, items, self._has_value, careful=False)
            return repetition.arrays(lambda part: self._look(part).values)
        if a.contains or a.unique:
            items = Items(self._forms, a, listed=False)
            return self._counted_arrays(items) if a.contains else self._different_arrays(a)
        if not _is_long_enough(a):
            return iter(())
        parts: list[list[object]] = []
        ways: float = 1  # to write the items so far
        while a.maximum is None or len(parts) < a.maximum:
            part = part_at(a, len(parts))
            found = _NONE if part is None else self._look(part)
            if found.values is not None and not found.values:
                break
            if len(parts) >= len(a.prefix) and a.maximum is None:
                return None  # of any length
            ways = ways * _INFINITE if found.values is None else min(ways * len(found.values), MANY)
            parts.append(list((found.values or {}).values()))
            if ways >= MANY and len(parts) >= a.minimum:
                return None
            if len(parts) > len(a.prefix) + self._cap and len(parts) >= a.minimum:
                break
        return iter(()) if len(parts) < a.minimum else _sequences(parts, a.minimum, unique=False)

    def _different_arrays(self, a: ArrayAlternative) -> Iterator[object] | None:
        if not _is_long_enough(a):
            return iter(())
        needed = [part_at(a, k) for k in range(a.minimum)]
        if not self._differ(needed, (), self._lookup):
            return iter(())
        if any(part is not None and self._look(part).values is None for part in dict.fromkeys(needed)):
            return None
        parts: list[list[object]] = []
        k = 0
        while a.maximum is None or k < a.maximum:
            part = part_at(a, k)
            found = _NONE if part is None else self._look(part)
            if found.values is None:
                # The items before it have values that differ: can this one be reached?
                before = [part_at(a, i) for i in range(k)]
                return None if self._differ(before, (), self._lookup) else _sequences(parts, a.minimum, unique=True)
            if not found.values:
                break
            parts.append(list(found.values.values()))
            k += 1
            if k > len(a.prefix) and k > len(parts[-1]) + len(a.prefix):
                break
        return _sequences(parts, a.minimum, unique=True)

    def _counted_arrays(self, items: Items) -> Iterator[object] | None:
        a = items.alternative
        if a.unique:
            path = self._counted_path(items, items.start, 0, (), self._lookup, MAX_NODES)
            if path != 1:
                return iter(()) if path == 0 else None
        elif self._repeats(items):
            return None
        return self._counted_sequences(items)

    def _repeats(self, items: Items) -> bool:
        """Whether there are endlessly many arrays: by an inexhaustible item, or by their length."""
        a = items.alternative

        def cost(part: Variable) -> float:
            return 1 if self._has_value(part) else _INFINITE

        todo, seen = [(items.start, 0)], {(items.start, 0)}
        while todo:
            state, n = todo.pop()
            for to, part in items.moves(state, n):
                if not self._has_value(part) or items.finish(to, n + 1, cost) == _INFINITE:
                    continue
                if self._look(part).values is None:
                    return True
                if a.maximum is None and n >= items.bound and to == state:
                    return True
                node = (to, n + 1 if a.maximum is not None else min(n + 1, items.bound))
                if node not in seen:
                    seen.add(node)
                    todo.append(node)
        return False

    def _counted_sequences(self, items: Items) -> Iterator[object]:
        unique = items.alternative.unique
        todo: list[tuple[State, int, tuple[object, ...]]] = [(items.start, 0, ())]
        while todo:
            state, n, written = todo.pop()
            if items.may_close(state, n):
                yield list(written)
            taken = set(map(identity, written)) if unique else ()
            for to, part in items.moves(state, n):
                for key, value in (self._look(part).values or {}).items():
                    if key not in taken:
                        todo.append((to, n + 1, (*written, value)))


class _ShortListError(Exception):
    """A list of values was cut too short for a question; `wanted` would do."""

    def __init__(self, wanted: int) -> None:
        super().__init__()
        self.wanted = wanted


_INFINITE = float("inf")


def part_at(array: ArrayAlternative, position: int) -> Variable | None:
    """What the item at a position must be; None where there can be none."""
    if array.maximum is not None and position >= array.maximum:
        return None
    return array.prefix[position] if position < len(array.prefix) else array.items


def _is_long_enough(array: ArrayAlternative) -> bool:
    return array.maximum is None or array.minimum <= array.maximum


def _can_match(options: list[list[Hashable]]) -> bool:
    """Whether each list can be given a value of its own (augmenting paths)."""
    if len(options) > len(set().union(*options)):
        return False
    owner: dict[Hashable, int] = {}

    def assign(k: int, tried: set[Hashable]) -> bool:
        for value in options[k]:
            if value not in owner:
                owner[value] = k
                return True
        for value in options[k]:
            if value not in tried:
                tried.add(value)
                if assign(owner[value], tried):
                    owner[value] = k
                    return True
        return False

    return all(assign(k, set()) for k in range(len(options)))


def _texts(s: StringAlternative) -> Iterator[object] | None:
    if s.values is not None:
        return iter(s.values)
    found = texts_of(s)
    if has_many_texts(found.language, found.language.start, found.low, found.high):
        return None
    return listed_texts(found.language, found.low, found.high)


def _numbers(c: NumberConstraint, wanted: int) -> Iterator[object] | None:
    def plain(values: Iterator[Fraction]) -> Iterator[object]:
        return (v.numerator if v.denominator == 1 else v for v in values if satisfies(c, v))

    if c.values is not None:
        return plain(iter(sorted(c.values)))
    if not number_language(c).start:
        return iter(())
    if c.minimum is None or c.maximum is None:
        return None
    step = common_multiple(c)
    if c.minimum == c.maximum:
        return plain(iter((c.minimum,)))
    if step is None:
        return None
    first, last = -(-c.minimum // step), c.maximum // step
    if last - first >= MANY:
        some = plain(Fraction(k) * step for k in range(first, first + _TRIES))
        if sum(1 for _, _ in zip(range(wanted), some, strict=False)) == wanted:
            return None
    return plain(Fraction(k) * step for k in range(first, last + 1))


def _combine(
    fixed: list[tuple[str, list[object]]], loose: list[tuple[str, list[object]]], low: int, high: int | None
) -> Iterator[object]:
    """All objects with the fixed members and some of the loose ones, of low..high members."""
    members = fixed + loose
    top = len(members) if high is None else high

    def go(k: int, chosen: dict[str, object]) -> Iterator[object]:
        if len(chosen) > top or len(chosen) + len(members) - k < low:
            return
        if k == len(members):
            yield dict(chosen)
            return
        name, values = members[k]
        if k >= len(fixed):
            yield from go(k + 1, chosen)
        for value in values:
            yield from go(k + 1, {**chosen, name: value})

    return go(0, {})


def _sequences(parts: list[list[object]], low: int, *, unique: bool) -> Iterator[object]:
    """All arrays of low or more items, the item at a position out of its list, the shortest first."""

    def go(items: list[object], length: int) -> Iterator[object]:
        if len(items) == length:
            yield list(items)
            return
        used = set(map(identity, items)) if unique else ()
        for value in parts[len(items)]:
            if identity(value) not in used:
                yield from go([*items, value], length)

    for length in range(low, len(parts) + 1):
        yield from go([], length)
