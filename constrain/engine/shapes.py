"""Lock-step frames: sets of alternatives for objects and arrays, and the moves between them.

While an object or array is read, all alternatives that could still hold are tracked together. What the text itself
decides (which names were seen, how many items there are) is kept once, in the frame; an alternative is only alive or
not. So the state of a frame is a set of alternatives, a member's value is read for the set of variables that they ask
of it (a *slot*), and its outcome, the subset that it satisfied, says which of them survive. This is the determinisation
of visibly pushdown automata (Alur and Madhusudan, 2004), done when a set is met for the first time.

An alternative may read the same value in several ways, each leading to another alternative: a member that may serve a
demand for some member or not, an item that may count or not. Then all of them go on side by side.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, islice

from constrain.engine.ahead import Ahead
from constrain.engine.branches import START, UNBOUNDED, ArrayBranch, ObjectBranch, Shape
from constrain.engine.choices import Undecided, undecided
from constrain.engine.member_order import MemberOrder
from constrain.engine.plain_starts import PlainStarts, Starts
from constrain.engine.scanners import Scanners, add_names
from constrain.engine.store import Store
from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.choice import shortest_values
from constrain.grammars.json_schema.demands import (
    Clause,
    FreeSome,
    Room,
    after_member,
    cheapest,
    never_with,
    plain_plan,
    served_beside,
    value_in_plan,
    with_member,
    without_implied,
)
from constrain.grammars.json_schema.inhabit import MAX_WEIGHED, Inhabitation, key_bytes
from constrain.grammars.json_schema.items import Items, State, has_any_texts, is_tracked
from constrain.grammars.json_schema.members import Members, as_names
from constrain.grammars.json_schema.normal import (
    ANYTHING,
    ArrayAlternative,
    Has,
    Lacks,
    NormalForm,
    ObjectAlternative,
    Variable,
)
from constrain.grammars.json_schema.repetition import Repetition, Way, goes_on
from constrain.kernels import memory as m
from constrain.kernels.layout import (
    ALT_WIDTH,
    ARRAY_KIND,
    CLOSED,
    FREE_BIT,
    FST_WIDTH,
    OBJECT_KIND,
    OPEN_ALL,
    OPEN_SOME,
    ROOT_KIND,
    SLOT_WIDTH,
    UNIQUE_KIND,
    V_ARRAY,
    V_ATOM,
    V_OBJECT,
    V_STRING,
    VIEWED,
    VSET_WIDTH,
)

MAX_CHOICES = 12
"""Demands on the value of one member of which it is not plain which have to be met."""


Served = frozenset[int]  # numbers of the clauses of a branch that a member serves


@dataclass(frozen=True, slots=True)
class _Joint:
    """The ways of a branch to read a member, of which a value may take several: (position in the set, served)."""

    branch: ObjectBranch
    which: int
    ways: list[tuple[int, Served]]


class _Outcomes:
    """Sets of variables, as bit masks, and their numbers."""

    def __init__(self) -> None:
        self.bits: list[int] = [0, 1]
        self._numbers: dict[int, int] = {0: 0, 1: 1}

    def number(self, bits: int) -> int:
        """The number of an outcome."""
        found = self._numbers.get(bits)
        if found is None:
            found = self._numbers[bits] = len(self.bits)
            self.bits.append(bits)
        return found

    def reserve(self, count: int) -> int:
        """The first of so many numbers for values of the only variable, which tell more than that it is satisfied."""
        first = len(self.bits)
        self.bits += [1] * count
        return first


class Shapes:
    """The sets of alternatives, slots and variable sets of one automaton, and their records for the kernels."""

    def __init__(self, store: Store, forms: NormalForm, inhabitation: Inhabitation) -> None:
        self._store, self._forms, self.inhabitation = store, forms, inhabitation
        self._outcomes = _Outcomes()
        self.outcomes = self._outcomes.bits  # number -> bit mask over the variables of a set
        self.outcome = self._outcomes.number
        self.scanners = Scanners(store, self.outcome)
        self.vsets: list[tuple[Variable, ...]] = []
        self.vset_numbers: dict[tuple[Variable, ...], int] = {}
        self.sets: list[tuple[Shape, tuple[int, ...]]] = []  # number -> shape and its live branches
        self._set_numbers: dict[tuple[int, tuple[int, ...]], int] = {}
        self._shortest_names: dict[tuple[int, frozenset[int]], bytes | None] = {}
        self._short_names: dict[tuple[int, frozenset[int], bytes], tuple[list[bytes], Iterator[bytes]]] = {}
        self.tracks = False  # whether an array was met whose items must differ and have to be remembered
        self.only_texts_differ = True  # whether the items of all those arrays are texts, of which any may come
        self.repeats = False  # whether an array was met of which two items must be equal
        self.demands_several = forms.demands_several_that_differ()
        self._narrowed: dict[tuple[int, frozenset[tuple[int, int]]], int] = {}  # slots with some ways left out
        self._told: dict[int, Undecided] = {}  # the choice that a set of variables, read for one slot, decides
        self._planned: dict[
            tuple[int, frozenset[tuple[int, Variable]]], int
        ] = {}  # slots with the ways of a repetition
        self._rows: list[tuple[Shape, int]] = []  # number of an ALT record -> shape and branch
        # set, number of variable set, and the ways to go on: (position in the set, branch)
        self.slots: list[tuple[int, int, tuple[tuple[int, int], ...]]] = []
        self.plain_slots: dict[tuple[int, int], int] = {}  # with one way: (set, set of variables) -> slot
        # by slot: the ways that stand for themselves; and those of a branch that one value can go together
        self._joint: dict[int, tuple[list[tuple[int, int]], list[_Joint]]] = {}
        self._origins: list[ObjectBranch] = []  # kept, as they are told apart by their addresses
        self._live: dict[tuple[int, tuple[Clause, ...], int | None, int, int], bool] = {}
        self._passed: dict[tuple[int, int], ObjectBranch | None] = {}  # by address of the branch, and new cursor
        self._started: set[int] = set()  # sets of variables of which it is known where their values start
        self.ahead = Ahead(self, store, forms)
        self.plain_starts = PlainStarts(self, store, forms)
        root_shape = Shape(ROOT_KIND)
        self._add_set(root_shape, ())  # number 0 is "none"
        root = self._add_set(root_shape, (0,))
        assert root == 1
        self._add_slot(0, self.vset((forms.root,)), ())
        self.root_slot = self._add_slot(root, self.vset((forms.root,)), ((0, 0),))
        self.plain_starts.add_anything()

    def note_added_documents(self) -> None:
        """Take notice of documents that were added to the normal form."""
        self.demands_several = self._forms.demands_several_that_differ()

    def outermost_slot(self, variables: tuple[Variable, ...]) -> int:
        """A slot for a value by itself that is read for these variables."""
        return self._add_slot(1, self.vset(variables), tuple((v, 0) for v in range(len(variables))))

    # ---- numbering ---------------------------------------------------------------------------------------------------

    def vset(self, variables: tuple[Variable, ...]) -> int:
        """The number of a set of variables that a value is read for."""
        found = self.vset_numbers.get(variables)
        if found is None:
            found = self.vset_numbers[variables] = len(self.vsets)
            self.vsets.append(variables)
            self._store.append_blank(m.VSET, VSET_WIDTH, -1)
        return found

    def _add_slot(self, owner: int, vset: int, ways: tuple[tuple[int, int], ...]) -> int:
        number = len(self.slots)
        direct = -1
        if owner and all(v == 0 for v, _ in ways):  # one variable to satisfy: a valid value takes all ways
            shape, _ = self.sets[owner]
            direct = owner if shape.kind == ROOT_KIND else self._set(shape, tuple(sorted({b for _, b in ways})))
        self._store.append(m.SLOT, (owner, vset, direct))
        assert self._store.used(m.SLOT) == (number + 1) * SLOT_WIDTH
        self.slots.append((owner, vset, ways))
        return number

    def add_shape(self, shape: Shape) -> int:
        """Add the set of the only branch of a new shape; its number."""
        number = self._set_numbers[id(shape), _FIRST] = self._add_set(shape, _FIRST)
        return number

    def add_object(self, shape: Shape, branch: ObjectBranch) -> int:
        """As `add_shape` for an object whose members are told by their names alone."""
        store, sets = self._store, self.sets
        number = self._set_numbers[id(shape), _FIRST] = len(sets)
        sets.append((shape, _FIRST))
        self._rows.append((shape, 0))
        a, allowed, required = branch.alternative, branch.allowed, branch.required
        names = len(shape.names)
        words = _words(names)
        masks = (allowed, required) if words == 1 else _split(allowed, words) + _split(required, words)
        at = store.append(m.WORDS, masks)
        maximum = UNBOUNDED if a.maximum is None else min(a.maximum, UNBOUNDED)
        is_open = OPEN_ALL if branch.free else CLOSED
        alt = store.append(m.ALT, (min(a.minimum, UNBOUNDED), maximum, is_open, at, at + words, required.bit_count()))
        record = (
            OBJECT_KIND, alt, 1, _ONLY, shape.first_name, names, words, shape.saturation, 0, shape.keys,
        )  # fmt: skip
        store.append(m.FST, record)
        return number

    def _set(self, shape: Shape, live: tuple[int, ...]) -> int:
        key = (id(shape), live)
        found = self._set_numbers.get(key)
        if found is None:
            found = self._set_numbers[key] = self._add_set(shape, live)
        return found

    def _add_set(self, shape: Shape, live: tuple[int, ...]) -> int:
        number = len(self.sets)
        self.sets.append((shape, live))
        bits = 0
        for i in live:
            if shape.branches:
                bits |= 1 << shape.branches[i].variable
        alt = self._alternatives(shape, live)
        names = len(shape.names)
        record = (
            shape.kind, alt, len(live), self.outcome(bits), shape.first_name, names, _words(names), shape.saturation,
            shape.prefix, shape.keys,
        )  # fmt: skip
        assert len(record) == FST_WIDTH
        self._store.append(m.FST, record)
        return number

    def _alternatives(self, shape: Shape, live: tuple[int, ...]) -> int:
        store = self._store
        records: list[int] = []
        words = _words(len(shape.names))
        for i in live if shape.branches else ():
            branch = shape.branches[i]
            self._rows.append((shape, i))
            if isinstance(branch, ObjectBranch):
                a = branch.alternative
                maximum = UNBOUNDED if a.maximum is None else min(a.maximum, UNBOUNDED)
                masks = store.append(m.WORDS, _split(branch.allowed, words) + _split(branch.required, words))
                told_apart = shape.members is not None and shape.members.components
                is_open = CLOSED if not branch.free else OPEN_SOME if told_apart else OPEN_ALL
                may_close = not branch.clauses or all(
                    any(isinstance(o, Lacks) for o in clause) for clause in branch.clauses
                )
                records += [
                    min(a.minimum, UNBOUNDED) if may_close else UNBOUNDED, maximum, is_open,
                    masks, masks + words, branch.required.bit_count(),
                ]  # fmt: skip
            elif branch.items is None:
                minimum = UNBOUNDED if branch.repeats else branch.alternative.minimum
                records += [minimum, branch.longest, 0, 0, 0, 0]
            else:
                records += [0, UNBOUNDED, VIEWED, 0, 0, 0]
        return store.append(m.ALT, records)

    # ---- moves -------------------------------------------------------------------------------------------------------

    def drop(self, number: int, dropped: Iterable[int]) -> int:
        """The set without some of its live branches, by their places among them; 0 when none is left."""
        shape, live = self.sets[number]
        gone = set(dropped)
        rest = tuple(b for place, b in enumerate(live) if place not in gone)
        return self._set(shape, rest) if rest else 0

    def after(self, slot: int, outcome: int) -> int:
        """The set after a value with this outcome; 0 when no branch survives."""
        owner, _, ways = self.slots[slot]
        shape, _ = self.sets[owner]
        if shape.undecided is not None:
            return self._set(self.decided(shape, outcome - shape.undecided.outcomes), (0,))
        bits = self.outcomes[outcome]
        alone, joint = self._joint.get(slot, (ways, ()))
        rest = {b for v, b in alone if bits >> v & 1}
        for together in joint:
            held = [served for v, served in together.ways if bits >> v & 1]
            if held:  # the value serves what any of its ways serves
                target = self._read(shape, together.branch, together.which, frozenset().union(*held))
                assert target is not None
                rest.add(target)
        return self._set(shape, tuple(sorted(rest))) if rest else 0

    def slot(self, number: int, which: int) -> int:
        """The slot for a member or item of a set; 0 where no branch can go on.

        `which` is 1 + the number of a declared name, `FREE_BIT` and the outcome of a free one, or an item's position.
        """
        shape, live = self.sets[number]
        if len(live) == 1 and shape.order is None:
            (index,) = live
            part = self.only_part(shape, shape.branches[index], which)
            if part is not None:
                return self.plain_slot(number, index, part)
        if shape.undecided is not None:
            return self._undecided_slot(number, which)
        asked: dict[Variable, int] = {}
        alone: list[tuple[int, int]] = []
        joint: list[_Joint] = []
        ways: list[tuple[int, int]] = []
        for i in live:
            branch = shape.branches[i]
            if isinstance(branch, ArrayBranch):
                alone += [
                    (asked.setdefault(part, len(asked)), b) for b, part in self._item_ways(shape, i, branch, which)
                ]
                continue
            at = self._at_member(shape, branch, which)
            if at is None:
                continue
            if self._concerns(shape, at, which):
                served = [(asked.setdefault(part, len(asked)), s) for part, s in self._member_ways(shape, at, which)]
                joint.append(_Joint(at, which, served))
                for v, s in served:
                    target = self._read(shape, at, which, s)
                    assert target is not None
                    ways.append((v, target))
                continue
            after = i if shape.order is None else self._read(shape, at, which, frozenset())
            if after is not None:
                alone.append((asked.setdefault(self._part(at, which), len(asked)), after))
        if not asked:
            return 0
        slot = self._add_slot(number, self.vset(tuple(asked)), (*alone, *ways))
        if joint:
            self._joint[slot] = alone, joint
        return slot

    def supply_starts(self, vset: int) -> None:
        """Store where values of all types start. A mask before a value asks for every one of them."""
        if vset not in self._started:
            self._started.add(vset)
            try:
                starts = self.starts(vset)
            except BaseException:
                self._started.discard(vset)
                raise
            self._store.write(m.VSET, VSET_WIDTH * vset, starts)

    def only_part(self, shape: Shape, branch: ObjectBranch | ArrayBranch, which: int) -> Variable | None:
        """What the value of a member or item must be, where it changes nothing; None elsewhere."""
        if isinstance(branch, ObjectBranch):
            if branch.clauses or branch.seen is not None or shape.undecided is not None:
                return None
            return self._part(branch, which)
        if branch.items is not None or branch.repetition is not None:
            return None
        prefix = branch.alternative.prefix
        return prefix[which] if which < len(prefix) else branch.alternative.items

    def plain_slot(self, number: int, index: int, part: Variable) -> int:
        """The slot of a set whose only branch asks this of a value and goes on as it is."""
        vset = self.vset((part,))
        slot = self.plain_slots.get((number, vset))
        if slot is None:
            slot = self.plain_slots[number, vset] = len(self.slots)
            self._store.append(m.SLOT, (number, vset, number))
            self.slots.append((number, vset, ((0, index),)))
        return slot

    def _part(self, branch: ObjectBranch, which: int) -> Variable:
        """What the value of a member must be."""
        if which & FREE_BIT:
            return branch.free[self.key_class(which ^ FREE_BIT)]
        part = branch.values[which - 1]
        assert part is not None
        return part

    # ---- declared order ----------------------------------------------------------------------------------------------

    def to_come(self, shape: Shape, branch: ObjectBranch) -> tuple[int, dict[frozenset[int], Variable]]:
        """What may come at some time, written or not: a bit mask of declared names, and the classes of free ones."""
        if shape.order is None:
            return branch.allowed, branch.free
        origin = branch.origin or branch
        return origin.allowed & ~shape.order.before[branch.cursor], origin.free

    def _at_member(self, shape: Shape, branch: ObjectBranch, which: int) -> ObjectBranch | None:
        """The branch once the names that are declared before a member never come; None where it demands one of them."""
        order = shape.order
        if order is None:
            return branch
        cursor = order.end if which & FREE_BIT else order.ranks[which - 1]
        if cursor <= branch.cursor:
            return branch
        key = (id(branch), cursor)
        if key not in self._passed:
            passed = order.passed(branch.cursor, cursor)
            clauses = None
            if not passed & branch.required:
                clauses = never_with(branch.clauses, {name for i, name in enumerate(shape.names) if passed >> i & 1})
            found = None if clauses is None else replace(branch, clauses=without_implied(clauses), cursor=cursor)
            self._passed[key] = found
            self._origins.append(branch)
        return self._passed[key]

    def _counts(self, shape: Shape, origin: ObjectBranch) -> bool:
        """Whether passing names over may leave too few members."""
        minimum = origin.alternative.minimum
        return shape.order is not None and not origin.free and minimum > origin.required.bit_count()

    def _offered(self, shape: Shape, order: MemberOrder, branch: ObjectBranch) -> ObjectBranch:
        """The branch with what may come next: nothing behind a required name, and nothing that makes it impossible."""
        origin = branch.origin or branch
        later, free = self.to_come(shape, branch)
        allowed, demanded = order.up_to_first(later, branch.required & ~order.before[branch.cursor])
        if demanded:
            free = {}
        branch = replace(branch, allowed=allowed, free=free)
        if not branch.clauses and not self._counts(shape, origin):
            return branch
        for i in range(len(shape.names)):
            if allowed >> i & 1 and ((branch.seen or 0) >> i & 1 or not self._is_possible(shape, branch, i + 1)):
                allowed ^= 1 << i
        free = {
            c: part for c, part in free.items() if self._is_possible(shape, branch, FREE_BIT | self.class_outcome(c))
        }
        return replace(branch, allowed=allowed, free=free)

    def _is_possible(self, shape: Shape, branch: ObjectBranch, which: int) -> bool:
        """Whether a member leaves what the branch demands within reach."""
        at = self._at_member(shape, branch, which)
        return at is not None and bool(self._member_ways(shape, at, which, first=True))

    # ---- demands -----------------------------------------------------------------------------------------------------

    def successors(self, shape: Shape, branch: ObjectBranch, which: int) -> list[tuple[Variable, ObjectBranch]]:
        """What the value of a member can be, and the branch that follows."""
        if shape.order is None and not self._concerns(shape, branch, which):
            return [(self._part(branch, which), branch)]
        key = (id(branch), which)
        out = shape.successors.get(key)
        if out is not None:
            return out
        out = shape.successors[key] = []
        at = self._at_member(shape, branch, which)
        if at is None:
            return out
        for part, served in self._member_ways(shape, at, which):
            target = self._read(shape, at, which, served)
            assert target is not None
            found = shape.branches[target]
            assert isinstance(found, ObjectBranch)
            out.append((part, found))
        return out

    def _concerns(self, shape: Shape, branch: ObjectBranch, which: int) -> bool:
        """Whether a member changes what the branch demands."""
        if branch.seen is not None:
            return True
        if not branch.clauses:
            return False
        if which & FREE_BIT:
            members = self.key_class(which ^ FREE_BIT)
            return any(members in o.classes for c in branch.clauses for o in c if isinstance(o, FreeSome))
        return shape.names[which - 1] in _names_of(branch.clauses)

    def _serving(self, shape: Shape, branch: ObjectBranch, which: int) -> list[tuple[int, Variable]]:
        """The clauses that a member can serve, and what its value must be for that."""
        if which & FREE_BIT:
            members = self.key_class(which ^ FREE_BIT)
            return [
                (k, o.value)
                for k, clause in enumerate(branch.clauses)
                for o in clause
                if isinstance(o, FreeSome) and members in o.classes
            ]
        name = shape.names[which - 1]
        return [
            (k, o.value)
            for k, clause in enumerate(branch.clauses)
            for o in clause
            if isinstance(o, Has) and o.name == name
        ]

    def _member_ways(
        self, shape: Shape, branch: ObjectBranch, which: int, *, first: bool = False
    ) -> list[tuple[Variable, Served]]:
        """The variables that tell apart what the value of a member serves, each with the clauses that it then serves.

        First come the least that have to be served for the rest to remain possible, then each of these and one more,
        last what the member serves on the shortest way to the end, which no other one may tell apart.
        """
        part = self._part(branch, which)
        inhabited = self.inhabitation.inhabited
        by_value: dict[Variable, set[int]] = {}
        for k, value in self._serving(shape, branch, which):
            by_value.setdefault(value, set()).add(k)
        name = None if which & FREE_BIT else shape.names[which - 1]
        forced: set[Variable] = set()
        for clause in branch.clauses:
            if name is not None and all(not isinstance(o, FreeSome) and o.name == name for o in clause):
                last = {o.value for o in clause if isinstance(o, Has)}
                if not last:
                    return []
                if len(last) == 1:
                    forced |= last
        others = [value for value in by_value if value not in forced]

        def served_by(variable: Variable) -> Served:
            return frozenset(k for value, clauses in by_value.items() if value <= variable for k in clauses)

        known: dict[frozenset[Variable], bool] = {}

        def is_live(values: Iterable[Variable]) -> bool:
            key = frozenset(values)
            found = known.get(key)
            if found is None:
                found = known[key] = self._read_is_live(shape, branch, which, served_by(part.union(*key)))
            return found

        least: list[frozenset[Variable]] = []
        if not is_live(forced):
            if not is_live(forced.union(others)):
                return []
            forced |= {v for v in others if not is_live(forced.union(others) - {v})}
            others = [v for v in others if v not in forced]
        optional = [] if is_live(forced) else others
        if len(optional) > MAX_CHOICES:
            raise ResourceLimitError(
                "", "maxProperties", f"a member can serve more than {MAX_CHOICES} demands in many ways",
                f"MAX_CHOICES = {MAX_CHOICES}",
            )  # fmt: skip
        for size in range(len(optional) + 1):
            for more in combinations(optional, size):
                chosen = forced.union(more)
                if any(found <= chosen for found in least):
                    continue
                variable = part.union(*chosen)
                if inhabited(variable) and is_live(chosen):
                    least.append(frozenset(chosen))
                    if first:
                        return [(variable, served_by(variable))]
        wanted = list(least)
        for found in least:
            wanted += [found | {value} for value in others if value not in found]
        variables = [part.union(*values) for values in wanted]
        if len(others) > 1 and variables:
            room = self._room(
                shape, branch, lambda part: 1 + 2 * self.inhabitation.gap + self.inhabitation.shortest(part)
            )
            room.name_cost = lambda text: key_bytes(text, self.inhabitation.spelling)
            room.free_cost = lambda members, k: self._free_cost(shape, members, k)
            member = self.key_class(which ^ FREE_BIT) if name is None else name
            variables.append(part | value_in_plan(room, branch.clauses, member))
        out: dict[Variable, Served] = {}
        for variable in dict.fromkeys(variables):
            if inhabited(variable):
                out[variable] = served_by(variable)
        return list(out.items())

    def _left(
        self, shape: Shape, branch: ObjectBranch, which: int, served: Served
    ) -> tuple[tuple[Clause, ...], int | None, int, int] | None:
        """Clauses, members, their number, and the cursor after a member that serves some clauses.

        None where one of the clauses cannot be met.
        """
        if which & FREE_BIT:
            clauses: tuple[Clause, ...] | None = tuple(c for k, c in enumerate(branch.clauses) if k not in served)
        else:
            clauses = after_member(branch.clauses, shape.names[which - 1], served)
        if clauses is None:
            return None
        cursor, count = branch.cursor, 0
        if shape.order is not None:
            cursor = max(
                cursor, shape.order.end if which & FREE_BIT else min(shape.order.ranks[which - 1] + 1, shape.order.end)
            )
            if self._counts(shape, branch.origin or branch):
                count = min(branch.count + 1, branch.alternative.minimum)
        if not clauses or branch.seen is None:
            return clauses, None, count, cursor
        bit = 0 if which & FREE_BIT else 1 << which - 1
        return clauses, branch.seen | bit, branch.count + 1, cursor

    def _read_is_live(self, shape: Shape, branch: ObjectBranch, which: int, served: Served) -> bool:
        left = self._left(shape, branch, which, served)
        return left is not None and self._is_live(shape, branch.origin or branch, *left)

    def _read(self, shape: Shape, branch: ObjectBranch, which: int, served: Served) -> int | None:
        """The branch after a member that serves some clauses; None where what is left cannot be met."""
        left = self._left(shape, branch, which, served)
        return None if left is None else self._branch(shape, branch.origin or branch, *left)

    def _branch(
        self,
        shape: Shape,
        origin: ObjectBranch,
        clauses: tuple[Clause, ...],
        seen: int | None,
        count: int,
        cursor: int = 0,
    ) -> int | None:
        """The branch that stands for what is left of another one; None where it cannot be met."""
        if not self._is_live(shape, origin, clauses, seen, count, cursor):
            return None
        key = (origin.variable, id(origin), clauses, seen, count, cursor)
        found = shape.numbers.get(key)
        if found is not None:
            return found
        allowed, free = origin.allowed, origin.free
        branch = replace(origin, clauses=clauses, seen=seen, count=count, cursor=cursor, origin=origin)
        if shape.order is not None:
            return shape.number(key, self._offered(shape, shape.order, branch))
        plan = self._plain_plan(shape, branch, allowed, clauses) if seen is None else None
        spoken_of: dict[str, list[Clause]] = {}
        for clause in clauses:
            for name in _names_of((clause,)):
                spoken_of.setdefault(name, []).append(clause)
        for i, name in enumerate(shape.names):
            if not allowed >> i & 1 or (seen is None and name not in spoken_of):
                continue
            if (seen or 0) >> i & 1:
                allowed ^= 1 << i
                continue
            may_come = None
            if seen is None:
                may_come = self._plainly_may_come(shape, branch, i, plan, spoken_of[name])
            if may_come is None:
                may_come = bool(self._member_ways(shape, branch, i + 1, first=True))
            if not may_come:
                allowed ^= 1 << i
        if seen is not None:
            free = {}
            for members, part in origin.free.items():
                which = FREE_BIT | self.class_outcome(members)
                if self._member_ways(shape, branch, which, first=True):
                    free[members] = part
        branch.allowed, branch.free = allowed, free  # nobody else has it yet
        return shape.number(key, branch)

    def _plainly_may_come(
        self, shape: Shape, branch: ObjectBranch, index: int, plan: dict[str, Variable] | None, spoken_of: list[Clause]
    ) -> bool | None:
        """Whether a declared member may come next, where members are neither counted nor in order.

        `plan` is one for all that the branch demands, if one is at hand; `spoken_of` are the clauses that speak of the
        member. None where it is not plain that all that its value does not have to serve can be met without it.
        """
        part, name = branch.values[index], shape.names[index]
        assert part is not None
        forced = None if plan is None else served_beside(plan, spoken_of, name)
        if forced is None:
            found = with_member(branch.clauses, name)
            if found is None or self._plain_plan(shape, branch, branch.allowed, found[1]) is None:
                return None
            forced, _ = found
        return self.inhabitation.inhabited(part.union(*forced))

    def _plain_plan(
        self, shape: Shape, branch: ObjectBranch, to_come: int, clauses: Iterable[Clause]
    ) -> dict[str, Variable] | None:
        def value_of(name: str) -> Variable | None:
            i = shape.names.index(name)
            return branch.values[i] if to_come >> i & 1 else None

        return plain_plan(clauses, value_of, self.inhabitation.inhabited)

    def _is_live(
        self,
        shape: Shape,
        origin: ObjectBranch,
        clauses: tuple[Clause, ...],
        seen: int | None,
        count: int,
        cursor: int,
    ) -> bool:
        """Whether what is left can be met."""
        if not clauses:
            if shape.order is None or not self._counts(shape, origin):
                return True
            left = origin.allowed & ~shape.order.before[cursor]
            return count + left.bit_count() >= origin.alternative.minimum
        key = (id(origin), clauses, seen, count, cursor)
        found = self._live.get(key)
        if found is None:
            found = self._live[key] = self._find_plan(shape, origin, clauses, seen, count, cursor)
        return found

    def _find_plan(
        self,
        shape: Shape,
        origin: ObjectBranch,
        clauses: tuple[Clause, ...],
        seen: int | None,
        count: int,
        cursor: int,
    ) -> bool:
        if seen is None:
            to_come = origin.allowed if shape.order is None else origin.allowed & ~shape.order.before[cursor]
            if self._plain_plan(shape, origin, to_come, clauses) is not None:
                return True
        branch = replace(origin, seen=seen, count=count, cursor=cursor, origin=origin)
        room = self._room(shape, branch, lambda part: 0 if self.inhabitation.inhabited(part) else _INFINITE)
        return cheapest(room, clauses, any_plan=True) < _INFINITE

    def _free_cost(self, shape: Shape, members: frozenset[int], count: int) -> float:
        """Bytes of a free name of a class beside `count` others, as far as is known without those in use."""
        assert shape.members is not None
        if members not in shape.lengths:
            shape.lengths.update((c.members, c.shortest) for c in shape.members.free)
        return 2 + self.inhabitation.free_lengths(shape.members, members, shape.lengths[members], count + 1)[count]

    def _room(self, shape: Shape, branch: ObjectBranch, value_cost: Callable[[Variable], float]) -> Room:
        """What a branch can yet have, as far as it knows what there is; names cost nothing."""
        a, seen = branch.alternative, branch.seen
        gone = (seen or 0) | (0 if shape.order is None else shape.order.before[branch.cursor])
        declared = {
            name: part
            for i, name in enumerate(shape.names)
            if (part := branch.values[i]) is not None and not gone >> i & 1
        }
        _, free = self.to_come(shape, branch)
        return Room(
            declared,
            free,
            [n for n in a.required if n in declared] if seen is not None else (),
            0 if seen is None else a.minimum - branch.count,
            None if seen is None or a.maximum is None else a.maximum - branch.count,
            value_cost,
        )

    def _item_ways(self, shape: Shape, index: int, branch: ArrayBranch, position: int) -> list[tuple[int, Variable]]:
        a = branch.alternative
        if branch.repetition is not None:
            # Beyond the first item the ways depend on what was written: `uniqueness` puts them in the place of these.
            plans = (
                branch.repetition.ways(branch.state, 0, ())
                if position == 0
                else branch.repetition.any_ways(branch.state, position)
            )
            return [(self.after_way(shape, branch, plan), plan.part) for plan in plans]
        if branch.items is None:
            part = a.prefix[position] if position < len(a.prefix) else a.items
            assert part is not None
            return [(index, part)]
        ways = []
        for state, part in branch.items.moves(branch.state, position):
            if self.inhabitation.inhabited(part) and self._can_finish(branch.items, state, position + 1):
                other = ArrayBranch(branch.variable, a, branch.longest, branch.items, state, branch.tracked)
                ways.append((shape.number((branch.variable, id(a), state), other), part))
        return ways

    def after_way(self, shape: Shape, branch: ArrayBranch, way: Way) -> int:
        """The number of the branch that follows where a branch reads an item in one of the ways of its repetition."""
        if way.done:
            return self._without_repetition(shape, branch, way.state)
        key = (branch.variable, id(branch.alternative), way.state, "planned")
        return shape.number(key, replace(branch, state=way.state))

    @staticmethod
    def _without_repetition(shape: Shape, branch: ArrayBranch, state: State) -> int:
        """The number of the branch that follows where two items are equal."""
        a = branch.alternative
        items = branch.items if a.contains else None
        plain = ArrayBranch(branch.variable, a, branch.longest, items, state if items is not None else START)
        return shape.number((branch.variable, id(a), plain.state), plain)

    def _can_finish(self, items: Items, state: State, count: int) -> bool:
        return (
            items.finish(state, count, lambda part: 0 if self.inhabitation.inhabited(part) else _INFINITE) < _INFINITE
        )

    def view(self, row: int, count: int) -> int:
        """What an array branch with counted items may do after `count` of them: 1 to end, plus 2 to go on."""
        shape, index = self._rows[row]
        branch = shape.branches[index]
        assert isinstance(branch, ArrayBranch)
        assert branch.items is not None
        closes = not branch.repeats and branch.items.may_close(branch.state, count)
        return int(closes) + 2 * bool(self._item_ways(shape, index, branch, count))

    # ---- free names --------------------------------------------------------------------------------------------------

    def class_outcome(self, members: frozenset[int]) -> int:
        """The outcome with which the scanner ends at a free name of a class."""
        return self.outcome(1 | sum(2 << i for i in members))

    def key_class(self, outcome: int) -> frozenset[int]:
        """The class of a free name whose scanner ends with this outcome."""
        bits = self.outcomes[outcome] >> 1
        return frozenset(i for i in range(bits.bit_length()) if bits >> i & 1)

    def admits_class(self, row: int, outcome: int) -> int:
        """Whether an object branch admits free names of a class: 1 or 0."""
        shape, index = self._rows[row]
        branch = shape.branches[index]
        assert isinstance(branch, ObjectBranch)
        return int(self.key_class(outcome) in branch.free)

    def reach(self, row: int, state: int) -> int:
        """Whether a free name can be completed from a scanner state under an object branch.

        0: it cannot; 1: in infinitely many ways; 2: in finitely many, all of which may be in use.
        """
        shape, index = self._rows[row]
        branch = shape.branches[index]
        assert isinstance(branch, ObjectBranch)
        return self.scanners.free_names.reach(state, branch.free)

    def shortest_name(self, state: int, members: frozenset[int]) -> bytes | None:
        """A shortest continuation of a free name from a scanner state to one of a class; None where there is none."""
        key = (state, members)
        if key not in self._shortest_names:
            self._shortest_names[key] = self.scanners.free_names.shortest_name(state, members)
        return self._shortest_names[key]

    def short_names(self, state: int, members: frozenset[int], prefix: bytes = b"") -> Iterator[bytes]:
        """The names of a class, shortest first, with `prefix` read to get to a scanner state, as far as looked for."""
        key = (state, members, prefix)
        if key not in self._short_names:
            if len(self._short_names) > _MAX_SEARCHES:
                self._short_names.clear()
            texts = self.scanners.free_names.names(state, (members,), prefix, _NAMES)
            self._short_names[key] = [], texts
        known, more = self._short_names[key]
        at = 0
        while True:
            if at == len(known):
                text = next(more, None)
                if text is None:
                    return
                known.append(text)
            yield known[at]
            at += 1

    # ---- starts ------------------------------------------------------------------------------------------------------

    def starts(self, vset: int) -> Starts:
        """Where values of all types start for a set of variables; 0 for those that none of them admits."""
        variables = self.vsets[vset]
        found = self.plain_starts.of(vset, variables[0]) if len(variables) == 1 and vset not in self._told else None
        if found is None:
            of_object, of_array, text, atom = map(self.start, (vset,) * VSET_WIDTH, range(VSET_WIDTH))
            found = of_object, of_array, text, atom
        return found

    def start(self, vset: int, kind: int) -> int:
        """Where a value of one type starts for a set of variables; 0 when none of them admits the type."""
        variables = self.vsets[vset]
        forms = self._forms
        if vset in self._told:
            told = self._told[vset]
            return self.scanners.telling_literals(told.values, told.outcomes) if kind == V_STRING else 0
        if kind == V_STRING:
            return self.scanners.text_start((i, a) for i, v in enumerate(variables) for a in forms.strings(v))
        if kind == V_ATOM:
            return self.scanners.atom_start((i, forms.atoms(v)) for i, v in enumerate(variables))
        if kind == V_OBJECT:
            choice = self._undecided(variables)
            if choice is not None:
                return self._set(choice, (0,)) if choice.branches else 0
            objects = [(i, a) for i, v in enumerate(variables) for a in forms.objects(v)]
            if not objects:
                return 0
            declared = forms.declared(variables) if forms.declared_order else None
            shape = self._object_shape(objects, declared=declared)
        else:
            assert kind == V_ARRAY
            arrays = [(i, a) for i, v in enumerate(variables) for a in forms.arrays(v)]
            if not arrays:
                return 0
            distinct = [(i, o) for i, a in arrays if a.unique and (o := as_names(forms, a)) is not None]
            if distinct and len(distinct) == len(arrays):
                shape = self._object_shape(distinct, UNIQUE_KIND)
            else:
                shape = self._array_shape(arrays)
        return self._set(shape, tuple(range(len(shape.branches)))) if shape.branches else 0

    # ---- choices -----------------------------------------------------------------------------------------------------

    def _undecided(self, variables: tuple[Variable, ...]) -> Shape | None:
        """The shape of a set of variables of which one admits objects, and that one is a choice."""
        forms = self._forms
        about_objects = [i for i, v in enumerate(variables) if forms.types(v) & ir.OBJECT]
        if len(about_objects) != 1:
            return None
        (i,) = about_objects
        found = undecided(forms, self.inhabitation, i, variables[i], self._outcomes.reserve)
        if found is None:
            return None
        members = Members(forms, [found.together])
        names = members.names
        first = add_names(self._store, [n.encode() for n in names])
        keys = self.scanners.free_names.start()
        shape = Shape(OBJECT_KIND, names, first, members=members, undecided=found, keys=keys)
        tag = 1 << names.index(found.tag)
        free: dict[frozenset[int], Variable] = {}
        allowed = tag
        if found.in_any_order:
            allowed = (1 << len(names)) - 1
            free = {} if found.together.closed else {c.members: ANYTHING for c in members.free}
        if found.values:
            shape.branches.append(ObjectBranch(i, found.together, (ANYTHING,) * len(names), free, allowed, tag))
        return shape

    def _undecided_slot(self, number: int, which: int) -> int:
        shape, _ = self.sets[number]
        found = shape.undecided
        assert found is not None
        if which & FREE_BIT or shape.names[which - 1] != found.tag:
            every = self.side_by_side(shape)
            live = tuple(i for i, branch in enumerate(every.branches) if self._admits(branch, which))
            return self.slot(self._set(every, live), which) if live else 0
        # A set of its own: its values tell more than that they are valid.
        vset = len(self.vsets)
        self.vsets.append((found.texts,))
        self._store.append_blank(m.VSET, VSET_WIDTH, -1)
        self._told[vset] = found
        slot = len(self.slots)
        self._store.append(m.SLOT, (number, vset, -1))
        self.slots.append((number, vset, ()))
        return slot

    def _admits(self, branch: ObjectBranch | ArrayBranch, which: int) -> bool:
        assert isinstance(branch, ObjectBranch)
        if which & FREE_BIT:
            return self.key_class(which ^ FREE_BIT) in branch.free
        return bool(branch.allowed >> which - 1 & 1)

    def side_by_side(self, shape: Shape) -> Shape:
        """All alternatives of a choice, with the same names."""
        found = shape.undecided
        assert found is not None
        if found.side_by_side is None:
            forms = self._forms
            alternatives = [
                (found.variable, a) for b in dict.fromkeys(found.targets) for a in forms.objects(forms.variable((b,)))
            ]
            found.side_by_side = self._object_shape(alternatives, beside=shape)
        return found.side_by_side

    def decided(self, shape: Shape, index: int) -> Shape:
        """The alternative to which the telling value number `index` leads, with the same names."""
        found = shape.undecided
        assert found is not None
        branch = found.targets[index]
        known = found.decided.get(branch)
        if known is None:
            forms = self._forms
            alternatives = [(found.variable, a) for a in forms.objects(forms.variable((branch,)))]
            known = found.decided[branch] = self._object_shape(alternatives, beside=shape)
            assert len(known.branches) == 1
        return known

    def weighed(self, shape: Shape, values: Iterable[int] = ()) -> Iterator[tuple[int, Shape, ObjectBranch]]:
        """Some alternatives of a choice: number of a telling value, shape and branch.

        Without numbers of telling values to choose from they are the first ones of all, each by its shortest value; so
        those which are left as more of the value is read remain among them.
        """
        found = shape.undecided
        assert found is not None
        if found.shortest is None:
            pairs = list(zip(found.values, found.targets, strict=True))
            found.shortest = shortest_values(pairs, self.inhabitation.spelled)
        for index in islice(values or found.shortest, MAX_WEIGHED):
            known = self.decided(shape, index)
            (branch,) = known.branches
            assert isinstance(branch, ObjectBranch)
            yield index, known, branch

    def weighed_within(self, shape: Shape, low: int, high: int, fits: Callable[[bytes], bool]) -> list[int]:
        """The numbers of the telling values from `low` to `high` that fit and are to be weighed."""
        found = shape.undecided
        assert found is not None
        next(self.weighed(shape))
        assert found.shortest is not None
        shortest = found.shortest[bisect_left(found.shortest, low) : bisect_left(found.shortest, high)]
        for some in (shortest, range(low, high)):
            left = list(islice((i for i in some if fits(found.values[i])), MAX_WEIGHED))
            if left:
                return left
        return []

    def _object_shape(
        self,
        alternatives: list[tuple[int, ObjectAlternative]],
        kind: int = OBJECT_KIND,
        declared: tuple[str, ...] | None = None,
        beside: Shape | None = None,
    ) -> Shape:
        """The shape of these alternatives; with the names of another one that has them all, where one is given."""
        inhabited = self.inhabitation.inhabited
        together = beside.undecided.together if beside is not None and beside.undecided is not None else None
        every = [*(a for _, a in alternatives), *(() if together is None else (together,))]
        members = Members(self._forms, every, declared or ())
        names = members.names
        if beside is None:
            first = add_names(self._store, [n.encode() for n in names])
        else:
            assert names == beside.names
            first = beside.first_name
        keys = self.scanners.free_names.start(members)
        order = None if declared is None else MemberOrder.of(names, declared)
        shape = Shape(kind, names, first, members=members, order=order, keys=keys)
        for variable, a in alternatives:
            free = {}
            for c in members.free:
                value = members.free_value(a, c.members)
                if value is not None and inhabited(value):
                    free[c.members] = value
            values = [None if part is None or not inhabited(part) else part for part in self._forms.members(a, names)]
            allowed = sum(1 << i for i, part in enumerate(values) if part is not None)
            needed = set(a.required)
            required = sum(1 << i for i, name in enumerate(names) if name in needed)
            if required & ~allowed or len(needed) > required.bit_count():
                continue
            if not free and allowed.bit_count() < a.minimum:
                continue
            if a.maximum is not None and a.maximum < max(a.minimum, len(needed)):
                continue
            branch = ObjectBranch(variable, a, tuple(values), free, allowed, required)
            if not a.clauses and order is None:
                shape.branches.append(branch)
                continue
            admitted = {name: part for name, part in zip(names, values, strict=True) if part is not None}
            clauses = members.clauses(a, admitted, free, inhabited) if a.clauses else ()
            if clauses is not None:
                self._origins.append(branch)
                bounded = a.maximum is not None or (not free and a.minimum > len(needed))
                self._branch(shape, branch, clauses, 0 if bounded and clauses else None, 0)
        bounds = [b.alternative.minimum for b in shape.branches]
        bounds += [b.alternative.maximum for b in shape.branches if b.alternative.maximum is not None]
        shape.saturation = max([1, *bounds])
        return shape

    def _planned_branch(self, variable: int, a: ArrayAlternative) -> ArrayBranch | None:
        """The branch of an array of which two items must be equal and whose places may run out, if it has any value."""
        items = Items(self._forms, a)
        repetition = Repetition(self._forms, items, self.inhabitation.inhabited)
        if not repetition.pairs(items.start, 0):
            return None
        longest = self.inhabitation.required_length(a)
        return ArrayBranch(variable, a, longest, items, items.start, tracked=True, repeats=True, repetition=repetition)

    def without(self, number: int, dropped: Iterable[int], repeated: Iterable[int] = ()) -> int:
        """The set without some live branches, those `repeated` with two equal items; 0 when none is left."""
        shape, live = self.sets[number]
        rest = set(live) - set(dropped)
        for i in repeated:
            branch = shape.branches[i]
            assert isinstance(branch, ArrayBranch)
            rest = rest - {i} | {self._without_repetition(shape, branch, branch.state)}
        return self._set(shape, tuple(sorted(rest))) if rest else 0

    def slot_without(self, number: int, dropped: Iterable[tuple[int, int]]) -> int:
        """The slot without some of its ways; 0 when none is left."""
        gone = frozenset(dropped)
        key = (number, gone)
        found = self._narrowed.get(key)
        if found is None:
            owner, vset, ways = self.slots[number]
            variables = self.vsets[vset]
            asked: dict[Variable, list[int]] = {}
            for v, b in ways:
                if (v, b) not in gone:
                    asked.setdefault(variables[v], []).append(b)
            rest = tuple((v, b) for v, branches in enumerate(asked.values()) for b in branches)
            found = self._narrowed[key] = self._add_slot(owner, self.vset(tuple(asked)), rest) if rest else 0
        return found

    def slot_with(self, number: int, parts: Iterable[tuple[int, Variable]]) -> int:
        """The slot of a set in which an item is read in these ways: (branch that follows, what the value must be)."""
        key = (number, frozenset(parts))
        found = self._planned.get(key)
        if found is None:
            asked: dict[Variable, int] = {}
            ways = tuple((asked.setdefault(part, len(asked)), b) for b, part in dict.fromkeys(parts))
            found = self._planned[key] = self._add_slot(number, self.vset(tuple(asked)), ways) if ways else 0
        return found

    def is_tracked(self, number: int) -> bool:
        """Whether items must differ in some live branch of a set, and their values have to be remembered."""
        shape, live = self.sets[number]
        return bool(shape.branches) and any(isinstance(b := shape.branches[i], ArrayBranch) and b.tracked for i in live)

    def _array_shape(self, alternatives: list[tuple[int, ArrayAlternative]]) -> Shape:
        branches: list[ObjectBranch | ArrayBranch] = []
        prefix = 0
        bounds = [1]
        for variable, a in alternatives:
            tracked = is_tracked(self._forms, a)
            if tracked and a.unique and not self.inhabitation.distinct.feasible(a):
                continue
            if tracked:
                self.tracks = True
                self.only_texts_differ = self.only_texts_differ and has_any_texts(self._forms, a)
                self._store.array[m.LAYERED] = 1
            self.repeats = self.repeats or a.repeated
            if a.repeated and not goes_on(a, self.inhabitation.inhabited):
                branch = self._planned_branch(variable, a)
                if branch is not None:
                    branches.append(branch)
                    bounds.append(UNBOUNDED if a.maximum is not None else Items(self._forms, a).bound + 1)
                    prefix = max(prefix, bounds[-1])
                continue
            if a.contains or (a.unique and not tracked):
                items = Items(self._forms, a)
                if self._can_finish(items, items.start, 0):
                    branches.append(ArrayBranch(variable, a, 0, items, items.start, tracked))
                    prefix = max(prefix, UNBOUNDED if a.maximum is not None else items.bound + 1)
                    bounds.append(UNBOUNDED if a.maximum is not None else items.bound + 1)
                continue
            longest = self.inhabitation.required_length(a)
            if a.minimum <= longest:
                branches.append(ArrayBranch(variable, a, longest, tracked=tracked, repeats=a.repeated))
                prefix = max(prefix, len(a.prefix))
                bounds += [a.minimum, len(a.prefix), *([longest] if longest < UNBOUNDED else [])]
        return Shape(ARRAY_KIND, prefix=min(prefix, UNBOUNDED), saturation=max(bounds), branches=branches)


_FIRST = (0,)  # the live branches of a shape that has one
_ONLY = 1  # the outcome of the only variable of a set
_INFINITE = float("inf")
_NAMES = 5_000  # names of a class looked at to find some that are not in use
_MAX_SEARCHES = 1_000  # searches for names that are kept


def _names_of(clauses: tuple[Clause, ...]) -> set[str]:
    """The declared names that clauses speak of."""
    return {o.name for clause in clauses for o in clause if not isinstance(o, FreeSome)}


def _words(names: int) -> int:
    """Words of a bit mask over declared names; one word holds 62, so that a frame can carry it as a number."""
    return 1 if names <= 62 else max(2, (names + 63) // 64)


def _split(mask: int, words: int) -> list[int]:
    """A bit mask as signed 64-bit words, least significant first."""
    if words == 1:
        return [mask]
    out = []
    for i in range(words):
        word = mask >> (64 * i) & 0xFFFFFFFFFFFFFFFF
        out.append(word - (1 << 64) if word >> 63 else word)
    return out


assert ALT_WIDTH == 6
