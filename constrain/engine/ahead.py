"""What is supplied before a kernel misses it: slots that will soon be asked for.

While a mask is made, the first piece that Python makes takes longer than several more, so what is likely to be asked
for next is made along with it: the slots of the members beside one, and of what its value holds. That is done only for
what is soon told, and only for so much at once, as one token's mask waits for all of it: what is left is made when it
is reached, or along with something else.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

from constrain.engine.branches import ArrayBranch, ObjectBranch, Shape
from constrain.grammars.errors import ResourceLimitError
from constrain.kernels import memory as m
from constrain.kernels.intern import M_SLOT, packed_key
from constrain.kernels.layout import ARRAY_KIND, FREE_BIT, OBJECT_KIND, V_ARRAY, V_OBJECT, VSET_WIDTH

if TYPE_CHECKING:
    from constrain.engine.shapes import Shapes
    from constrain.engine.store import Store
    from constrain.grammars.json_schema.normal import NormalForm, Variable

LOAD_FIRST = 60
"""How much may be told of where values start when a small grammar is compiled, as `PlainStarts.load` counts it."""
LOAD_AHEAD = 3
"""How much of that may be told before it is asked for, each time something is."""
SUBSCHEMAS = 4
"""So many subschemas take about as long to read as a load of one: the larger a grammar, the less is left for this."""
MEMBERS_AT_ONCE = 64
"""Members of an object whose slots are stored together."""
FIRST_MEMBERS = 24
"""Members whose slots may be stored together with the shape of their object."""


class Ahead:
    """The slots that are stored ahead in one automaton."""

    def __init__(self, shapes: Shapes, store: Store, forms: NormalForm) -> None:
        # Shapes own this, and nothing may hold them but an automaton.
        self._shapes: Shapes = weakref.proxy(shapes)
        self._store, self._forms = store, forms
        self._blocks: set[tuple[int, int]] = set()  # blocks of members of sets that were looked at

    def supply(self, number: int, which: int, slot: int) -> None:
        """Store what will soon be asked for, now that a slot is: those of members beside it, and what its value holds.

        What is not plain may take long and is left for when it is reached. So is everything where the slot itself took
        long: the mask has waited enough.
        """
        _, outermost = self._start_of_containers(0)
        if number == outermost:  # the first mask looks into an array, and nothing may hold that up
            return
        vset = self._shapes.slots[slot][1]
        variables = self._shapes.vsets[vset]
        load = self._shapes.plain_starts.load(variables[0]) if len(variables) == 1 else None
        if load is None or load > LOAD_AHEAD:
            return
        started = _Started(LOAD_AHEAD)
        self._supply_members(number, which, started)
        self._supply_within(vset, started)

    def supply_first(self) -> None:
        """Store what the first tokens will ask for: the slots of the members of the outermost object, and so on."""
        vset = self._shapes.slots[self._shapes.root_slot][1]
        try:
            self._shapes.supply_starts(vset)
        except ResourceLimitError:  # to be said where it is reached
            return
        self._supply_within(vset, _Started(max(LOAD_AHEAD, LOAD_FIRST - self._forms.size // SUBSCHEMAS)))

    def supply_first_slots(self, number: int) -> None:
        """Store the slots of the first members of a new set of one branch that take no time to be told."""
        shape, _ = self._shapes.sets[number]
        (branch,) = shape.branches
        assert isinstance(branch, ObjectBranch)
        known, is_text = self._shapes.vset_numbers, self._shapes.plain_starts.is_text
        self._supply_slots(number, 0, branch, 0, FIRST_MEMBERS, lambda part: (part,) in known or is_text(part))

    def supply_only_slot(self, number: int, which: int, part: Variable) -> None:
        """Store the slot of a member or item of a set of one branch, which asks this of the value, if it is at hand."""
        if self._is_at_hand(part):
            self._store.memo(packed_key(M_SLOT, number, which), self._shapes.plain_slot(number, 0, part))

    def only_object(self, number: int) -> tuple[Shape, ObjectBranch, int] | None:
        """Shape, branch and its index of a set of one alternative for objects whose members change nothing; else None.

        So it is for no set, number 0.
        """
        shape, live = self._shapes.sets[number]
        if shape.kind != OBJECT_KIND or len(live) != 1 or shape.order is not None or shape.undecided is not None:
            return None
        (index,) = live
        branch = shape.branches[index]
        if not isinstance(branch, ObjectBranch) or branch.clauses or branch.seen is not None:
            return None
        return shape, branch, index

    def only_item(self, number: int) -> Variable | None:
        """What all items must be in a set of one alternative for arrays, where they change nothing; else None.

        So it is for no set, number 0.
        """
        shape, live = self._shapes.sets[number]
        if shape.kind != ARRAY_KIND or shape.prefix or len(live) != 1:
            return None
        branch = shape.branches[live[0]]
        assert isinstance(branch, ArrayBranch)
        return self._shapes.only_part(shape, branch, 0) if branch.longest else None

    def _supply_within(self, vset: int, started: _Started) -> None:
        """Store the slots of what the containers that are read for these variables hold, as far as it is soon told."""
        of_object, of_array = self._start_of_containers(vset)
        at = 0
        while True:
            if of_array > 0:
                self._supply_items(of_array, started)
            if of_object > 0:
                self._supply_members(of_object, 1, started)
            if at == len(started.vsets) or started.left <= 0:
                return
            of_object, of_array = self._start_of_containers(started.vsets[at])
            at += 1

    def _start_of_containers(self, vset: int) -> tuple[int, int]:
        starts = self._store.tables[m.VSET]
        return int(starts[VSET_WIDTH * vset + V_OBJECT]), int(starts[VSET_WIDTH * vset + V_ARRAY])

    def _supply_members(self, number: int, which: int, started: _Started) -> None:
        """Store the slots of the members beside one, of those that are soon told, where a live branch is alone."""
        block = 0 if which & FREE_BIT else (which - 1) // MEMBERS_AT_ONCE
        if (number, block) in self._blocks:
            return
        found = self.only_object(number)
        if found is None:
            return
        _, branch, index = found
        self._supply_slots(
            number, index, branch, block * MEMBERS_AT_ONCE, MEMBERS_AT_ONCE, lambda p: self._is_soon_told(started, p)
        )
        if started.left > 0:
            self._blocks.add((number, block))

    def _supply_items(self, number: int, started: _Started) -> None:
        """Store the slot of the items of an array, if it is soon told."""
        part = self.only_item(number)
        if part is not None and self._is_soon_told(started, part):
            (index,) = self._shapes.sets[number][1]
            self._store.memo(packed_key(M_SLOT, number, 0), self._shapes.plain_slot(number, index, part))

    def _supply_slots(
        self, number: int, index: int, branch: ObjectBranch, first: int, count: int, is_told: Callable[[Variable], bool]
    ) -> None:
        values = branch.values
        if len(values) > count:
            values = values[first : first + count]
        told = [part if part is not None and is_told(part) else None for part in values]
        vsets, known, slots = self._shapes.vset_numbers, self._shapes.plain_slots, self._shapes.slots
        ways = ((0, index),)
        found: list[int] = []
        added: list[int] = []
        for part in told:
            if part is None:
                found.append(0)
                continue
            key = number, vsets[part,]
            slot = known.get(key)
            if slot is None:
                slot = known[key] = len(slots)
                slots.append((*key, ways))
                added += (*key, number)
            found.append(slot)
        if added:
            self._store.append(m.SLOT, added)
        if any(found):
            self._store.memos(M_SLOT, number, first + 1, found)

    def _is_soon_told(self, started: _Started, part: Variable) -> bool:
        """Whether it is known where values of a variable start; that of a light one is found out, if few were yet."""
        if self._is_at_hand(part):
            return True
        load = self._shapes.plain_starts.load(part) if started.left > 0 else None
        if load is None or load > started.left:
            return False
        vset = self._shapes.vset((part,))
        try:
            self._shapes.supply_starts(vset)
        except ResourceLimitError:  # to be said where it is reached
            return False
        started.vsets.append(vset)
        started.left -= load
        return True

    def _is_at_hand(self, part: Variable) -> bool:
        """Whether it is known, or soon will be, where values of a variable start; it is stored in the latter case."""
        if (part,) not in self._shapes.vset_numbers:
            if not self._shapes.plain_starts.is_simple(part):
                return False
            self._shapes.supply_starts(self._shapes.vset((part,)))
        return True


class _Started:
    """Sets of variables of which it was told where their values start, and how much of that may yet be done."""

    __slots__ = ("left", "vsets")

    def __init__(self, left: int) -> None:
        self.left = left
        self.vsets: list[int] = []
