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

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations

from constrain.engine.scanners import Scanners, add_names
from constrain.engine.store import Store
from constrain.grammars.json_schema.inhabit import Inhabitation
from constrain.grammars.json_schema.items import Items, State, is_tracked
from constrain.grammars.json_schema.members import FreeSome, Members, as_names
from constrain.grammars.json_schema.normal import ArrayAlternative, NormalForm, ObjectAlternative, Variable
from constrain.kernels import memory as m
from constrain.kernels.step import (
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

_UNBOUNDED = 1 << 60


@dataclass(frozen=True, slots=True)
class ObjectBranch:
    """An object alternative on behalf of one variable of the set; only names and values that can exist remain."""

    variable: int
    alternative: ObjectAlternative
    values: tuple[Variable | None, ...]  # by number of declared name; None: not admitted
    free: dict[frozenset[int], Variable]  # by class of free names
    allowed: int  # bit masks over declared names
    required: int
    pending: tuple[FreeSome, ...] = ()


_START = State(())  # no item is written, and none is counted


@dataclass(frozen=True, slots=True)
class ArrayBranch:
    """An array alternative on behalf of one variable of the set, with the largest length that can be reached.

    Where items are counted, or must differ and are few, `items` knows the moves and `state` is where they stand. Where
    items that must differ are not few, the branch is `tracked`: see `uniqueness`. So is one that must still get an item
    equal to another, which `repeats`.
    """

    variable: int
    alternative: ArrayAlternative
    longest: int
    items: Items | None = None
    state: State = _START
    tracked: bool = False
    repeats: bool = False


@dataclass(slots=True)
class Shape:
    """All alternatives of a set of variables for objects or for arrays; more are added as their states are met."""

    kind: int
    names: tuple[str, ...] = ()
    first_name: int = 0
    prefix: int = 0
    saturation: int = 1
    branches: list[ObjectBranch | ArrayBranch] = field(default_factory=list)
    members: Members | None = None
    keys: int = 0  # state of the scanner in which a free name begins
    numbers: dict[object, int] = field(default_factory=dict)  # of branches, by what tells them apart
    reaches: dict[frozenset[frozenset[int]], dict[int, int]] = field(default_factory=dict)  # by classes admitted

    def number(self, key: object, branch: ObjectBranch | ArrayBranch) -> int:
        """The number of a branch, which is added under `key` if it is new."""
        found = self.numbers.get(key)
        if found is None:
            found = self.numbers[key] = len(self.branches)
            self.branches.append(branch)
        return found


class Shapes:
    """The sets of alternatives, slots and variable sets of one automaton, and their records for the kernels."""

    def __init__(self, store: Store, forms: NormalForm, inhabitation: Inhabitation) -> None:
        self._store, self._forms, self.inhabitation = store, forms, inhabitation
        self.outcomes: list[int] = [0, 1]  # number -> bit mask over the variables of a set
        self._outcome_numbers: dict[int, int] = {0: 0, 1: 1}
        self.scanners = Scanners(store, self.outcome)
        self.vsets: list[tuple[Variable, ...]] = []
        self._vset_numbers: dict[tuple[Variable, ...], int] = {}
        self.sets: list[tuple[Shape, tuple[int, ...]]] = []  # number -> shape and its live branches
        self._set_numbers: dict[tuple[int, tuple[int, ...]], int] = {}
        self._shortest_names: dict[tuple[int, frozenset[int]], bytes | None] = {}
        self.tracks = False  # whether an array was met whose items must differ and have to be remembered
        self.repeats = False  # whether an array was met of which two items must be equal
        self.demands_several = forms.demands_several_that_differ()
        self._narrowed: dict[tuple[int, frozenset[tuple[int, int]]], int] = {}  # slots with some ways left out
        self._rows: list[tuple[Shape, int]] = []  # number of an ALT record -> shape and branch
        # set, number of variable set, and the ways to go on: (position in the set, branch)
        self.slots: list[tuple[int, int, tuple[tuple[int, int], ...]]] = []
        root_shape = Shape(ROOT_KIND)
        self._add_set(root_shape, ())  # number 0 is "none"
        root = self._add_set(root_shape, (0,))
        self._add_slot(0, self.vset((forms.root,)), ())
        self.root_slot = self._add_slot(root, self.vset((forms.root,)), ((0, 0),))

    # ---- numbering ---------------------------------------------------------------------------------------------------

    def outcome(self, bits: int) -> int:
        """The number of an outcome."""
        found = self._outcome_numbers.get(bits)
        if found is None:
            found = self._outcome_numbers[bits] = len(self.outcomes)
            self.outcomes.append(bits)
        return found

    def vset(self, variables: tuple[Variable, ...]) -> int:
        """The number of a set of variables that a value is read for."""
        found = self._vset_numbers.get(variables)
        if found is None:
            found = self._vset_numbers[variables] = len(self.vsets)
            self.vsets.append(variables)
            self._store.append(m.VSET, (-1,) * VSET_WIDTH, fill=-1)
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
                maximum = _UNBOUNDED if a.maximum is None else min(a.maximum, _UNBOUNDED)
                masks = store.append(m.WORDS, _split(branch.allowed, words) + _split(branch.required, words))
                is_open = (
                    CLOSED if not branch.free else OPEN_SOME if shape.members and shape.members.components else OPEN_ALL
                )
                records += [
                    _UNBOUNDED if branch.pending else min(a.minimum, _UNBOUNDED), maximum, is_open,
                    masks, masks + words, branch.required.bit_count(), len(branch.pending),
                ]  # fmt: skip
            elif branch.items is None:
                minimum = _UNBOUNDED if branch.repeats else branch.alternative.minimum
                records += [minimum, branch.longest, 0, 0, 0, 0, 0]
            else:
                records += [0, _UNBOUNDED, VIEWED, 0, 0, 0, 0]
        return store.append(m.ALT, records)

    # ---- moves -------------------------------------------------------------------------------------------------------

    def drop(self, number: int, index: int) -> int:
        """The set without its `index`-th live branch; 0 when none is left."""
        shape, live = self.sets[number]
        rest = live[:index] + live[index + 1 :]
        return self._set(shape, rest) if rest else 0

    def after(self, slot: int, outcome: int) -> int:
        """The set after a value with this outcome; 0 when no branch survives."""
        owner, _, ways = self.slots[slot]
        bits = self.outcomes[outcome]
        shape, _ = self.sets[owner]
        rest = tuple(sorted({b for v, b in ways if bits >> v & 1}))
        return self._set(shape, rest) if rest else 0

    def slot(self, number: int, which: int) -> int:
        """The slot for a member or item of a set; 0 where no branch can go on.

        `which` is 1 + the number of a declared name, `FREE_BIT` and the outcome of a free one, or an item's position.
        """
        shape, live = self.sets[number]
        asked: dict[Variable, list[int]] = {}
        for i in live:
            for target, part in self._ways(shape, i, which):
                asked.setdefault(part, []).append(target)
        if not asked:
            return 0
        ways = tuple((v, b) for v, branches in enumerate(asked.values()) for b in branches)
        return self._add_slot(number, self.vset(tuple(asked)), ways)

    def _ways(self, shape: Shape, index: int, which: int) -> list[tuple[int, Variable]]:
        branch = shape.branches[index]
        if isinstance(branch, ArrayBranch):
            return self._item_ways(shape, index, branch, which)
        if not which & FREE_BIT:
            part = branch.values[which - 1]
            assert part is not None
            return [(index, part)]
        members = self.key_class(which ^ FREE_BIT)
        part = branch.free[members]
        # Where there is room for nothing but the members that are demanded, each has to be one of them.
        tight = branch.pending and branch.alternative.maximum is not None
        ways = [] if tight else [(index, part)]
        serving = [k for k, some in enumerate(branch.pending) if members in some.classes]
        for size in range(1, len(serving) + 1):
            for chosen in combinations(serving, size):
                left = tuple(some for k, some in enumerate(branch.pending) if k not in chosen)
                value = part
                for k in chosen:
                    value |= branch.pending[k].value
                if self.inhabitation.inhabited(value):
                    ways.append((self._settled(shape, branch, left), value))
        return ways

    def _settled(self, shape: Shape, branch: ObjectBranch, pending: tuple[FreeSome, ...]) -> int:
        other = ObjectBranch(
            branch.variable, branch.alternative, branch.values, branch.free, branch.allowed, branch.required, pending
        )
        return shape.number((branch.variable, id(branch.alternative), pending), other)

    def _item_ways(self, shape: Shape, index: int, branch: ArrayBranch, position: int) -> list[tuple[int, Variable]]:
        a = branch.alternative
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
        return int(branch.items.may_close(branch.state, count)) + 2 * bool(self._item_ways(shape, index, branch, count))

    # ---- free names --------------------------------------------------------------------------------------------------

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
        return self._reaches(shape, branch).get(state, 0)

    def _reaches(self, shape: Shape, branch: ObjectBranch) -> dict[int, int]:
        """`reach` for all states of a shape's scanner."""
        classes = frozenset(branch.free)
        found = shape.reaches.get(classes)
        if found is None:
            found = shape.reaches[classes] = self.scanners.reaches(shape.keys, lambda o: self.key_class(o) in classes)
        return found

    def shortest_name(self, state: int, members: frozenset[int]) -> bytes | None:
        """A shortest continuation of a free name from a scanner state to one of a class; None where there is none."""
        key = (state, members)
        if key not in self._shortest_names:
            self._shortest_names[key] = self.scanners.shortest_text(state, lambda o: self.key_class(o) == members)
        return self._shortest_names[key]

    def key_loop(self, number: int, state: int) -> int:
        """The classes of characters that can follow in a free name in any number and order, as bits."""
        shape, live = self.sets[number]
        reaches = [self._reaches(shape, b) for i in live if isinstance(b := shape.branches[i], ObjectBranch) and b.free]
        return self.scanners.closure(state, lambda to: any(r.get(to, 0) == 1 for r in reaches))

    # ---- starts ------------------------------------------------------------------------------------------------------

    def start(self, vset: int, kind: int) -> int:
        """Where a value of one type starts for a set of variables; 0 when none of them admits the type."""
        variables = self.vsets[vset]
        forms = self._forms
        if kind == V_STRING:
            return self.scanners.text_start((i, a) for i, v in enumerate(variables) for a in forms.strings(v))
        if kind == V_ATOM:
            return self.scanners.atom_start((i, forms.atoms(v)) for i, v in enumerate(variables))
        if kind == V_OBJECT:
            shape = self._object_shape([(i, a) for i, v in enumerate(variables) for a in forms.objects(v)])
        else:
            assert kind == V_ARRAY
            arrays = [(i, a) for i, v in enumerate(variables) for a in forms.arrays(v)]
            distinct = [(i, o) for i, a in arrays if a.unique and (o := as_names(forms, a)) is not None]
            if distinct and len(distinct) == len(arrays):
                shape = self._object_shape(distinct, UNIQUE_KIND)
            else:
                shape = self._array_shape(arrays)
        return self._set(shape, tuple(range(len(shape.branches)))) if shape.branches else 0

    def _object_shape(self, alternatives: list[tuple[int, ObjectAlternative]], kind: int = OBJECT_KIND) -> Shape:
        inhabited = self.inhabitation.inhabited
        members = Members(self._forms, [a for _, a in alternatives])
        names = members.names
        branches: list[ObjectBranch | ArrayBranch] = []
        for variable, alternative in alternatives:
            for v in members.variants(alternative):
                a = v.alternative
                free = {}
                for c in members.free:
                    value = members.free_value(a, c.members)
                    if value is not None and inhabited(value):
                        free[c.members] = value
                some = tuple(s for s in v.some if any(c in free and inhabited(free[c] | s.value) for c in s.classes))
                values = [self._forms.member(a, name) for name in names]
                values = [None if part is None or not inhabited(part) else part for part in values]
                allowed = sum(1 << i for i, part in enumerate(values) if part is not None)
                needed = set(a.required)
                required = sum(1 << i for i, name in enumerate(names) if name in needed)
                if len(some) < len(v.some) or required & ~allowed or len(needed) > required.bit_count():
                    continue
                if not free and allowed.bit_count() < a.minimum:
                    continue
                maximum = _UNBOUNDED if a.maximum is None else a.maximum
                if maximum < max(a.minimum, len(needed) + len(some)):
                    continue
                branches.append(ObjectBranch(variable, a, tuple(values), free, allowed, required, some))
        bounds = [b.alternative.minimum for b in branches]
        bounds += [b.alternative.maximum for b in branches if b.alternative.maximum is not None]
        first = add_names(self._store, [n.encode() for n in names], [0] * len(names))
        keys = self.scanners.key_start(members.languages)
        return Shape(kind, names, first, 0, max([1, *bounds]), branches, members, keys)

    def names_left(self, shape: Shape, branch: ObjectBranch, state: int) -> int:
        """As `reach`, of a shape's branch."""
        return self._reaches(shape, branch).get(state, 0)

    def without(self, number: int, dropped: Iterable[int], repeated: Iterable[int] = ()) -> int:
        """The set without some live branches, those `repeated` with two equal items; 0 when none is left."""
        shape, live = self.sets[number]
        rest = set(live) - set(dropped)
        for i in repeated:
            branch = shape.branches[i]
            assert isinstance(branch, ArrayBranch)
            plain = ArrayBranch(branch.variable, branch.alternative, branch.longest)
            rest = rest - {i} | {shape.number((branch.variable, id(branch.alternative), "repeated"), plain)}
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
            self.tracks = self.tracks or tracked
            self.repeats = self.repeats or a.repeated
            if a.contains or (a.unique and not tracked):
                items = Items(self._forms, a)
                if self._can_finish(items, items.start, 0):
                    branches.append(ArrayBranch(variable, a, 0, items, items.start, tracked))
                    prefix = max(prefix, _UNBOUNDED if a.maximum is not None else items.bound + 1)
                    bounds.append(_UNBOUNDED if a.maximum is not None else items.bound + 1)
                continue
            longest = self.inhabitation.required_length(a)
            if a.minimum <= longest:
                branches.append(ArrayBranch(variable, a, longest, tracked=tracked, repeats=a.repeated))
                prefix = max(prefix, len(a.prefix))
                bounds += [a.minimum, len(a.prefix), *([longest] if longest < _UNBOUNDED else [])]
        return Shape(ARRAY_KIND, prefix=min(prefix, _UNBOUNDED), saturation=max(bounds), branches=branches)


_INFINITE = float("inf")


def _words(names: int) -> int:
    """Words of a bit mask over declared names; one word holds 62, so that a frame can carry it as a number."""
    return 1 if names <= 62 else max(2, (names + 63) // 64)


def _split(mask: int, words: int) -> list[int]:
    """A bit mask as signed 64-bit words, least significant first."""
    out = []
    for i in range(words):
        word = mask >> (64 * i) & 0xFFFFFFFFFFFFFFFF
        out.append(word - (1 << 64) if word >> 63 else word)
    return out


assert ALT_WIDTH == 7
