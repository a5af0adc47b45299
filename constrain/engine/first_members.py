"""What the first members' values ask for, made when a grammar is compiled.

A third of the masks that wait long wait for a member of the outermost object, or of what that holds: for where a value
of several alternatives starts, the automaton of a pattern, the names that patterns tell apart. Compiling takes longer
than most of these masks, so a little time more is spent on them then. It is bounded by the clock, as what a pattern
takes cannot be told beforehand; masks do not depend on what was made.
"""

from __future__ import annotations

from collections import deque
from time import perf_counter_ns
from typing import TYPE_CHECKING

import numpy as np

from constrain.grammars.errors import ResourceLimitError
from constrain.kernels import memory as m
from constrain.kernels.intern import M_SLOT, memo_value, packed_key
from constrain.kernels.layout import (
    LITERAL_BIT,
    Q_FREE,
    STATE_WIDTH,
    V_ARRAY,
    V_ATOM,
    V_OBJECT,
    V_STRING,
    VSET_WIDTH,
)

if TYPE_CHECKING:
    from constrain.engine.automaton import Automaton
    from constrain.grammars.json_schema.normal import Variable

TIME = 700_000
"""Nanoseconds after which nothing more is begun."""
MEMBERS = 8
"""Members and items that are made, of those that take a while."""
DEPTH = 2
"""So many containers may stand around a member, beside the outermost one."""
LIGHT = 3
"""What takes no more, as `PlainStarts.load` counts it, is made when it is asked for."""


class FirstMembers:
    """The first members of one automaton, which reads JSON and nothing around it."""

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        self._shapes, self._store = automaton.shapes, automaton.store
        self._left = MEMBERS
        self._until = 0

    def supply(self) -> None:
        """Make what fits into the time: of each object the required members first, the outer objects before the inner.

        The slots of light members are to be there.
        """
        self._until = perf_counter_ns() + TIME
        root = self._shapes.slots[self._shapes.root_slot][1]
        todo = deque([(root, 0)])  # sets of variables, and how many containers stand around their values
        try:
            self._supply_name(root)
            while todo and self._goes_on():
                vset, depth = todo.popleft()
                of_object, of_array, *_ = self._starts(vset)
                for number, which, part in (*self._items(of_array), *self._members(of_object)):
                    if not self._goes_on():
                        break
                    inner = self._supply_value(number, which, part)
                    if inner is not None and depth < DEPTH:
                        todo.append((inner, depth + 1))
        except ResourceLimitError:  # to be said where it is reached
            return

    def _goes_on(self) -> bool:
        return self._left > 0 and self._has_time()

    def _has_time(self) -> bool:
        return perf_counter_ns() < self._until

    def _starts(self, vset: int) -> tuple[int, int, int, int]:
        """Where objects, arrays, strings and other values start for a set of variables; 0 also where it is not told."""
        record = self._store.tables[m.VSET][VSET_WIDTH * vset :][:VSET_WIDTH].tolist()
        of_object, of_array, text, atom = (max(0, record[kind]) for kind in (V_OBJECT, V_ARRAY, V_STRING, V_ATOM))
        return of_object, of_array, text, atom

    def _supply_name(self, root: int) -> None:
        """Make the mask behind the outermost object's first quote, where patterns tell names apart."""
        automaton, number = self._automaton, self._starts(root)[0]
        found = self._shapes.ahead.only_object(number)
        if found is None or not found[1].free or found[0].keys == self._store.array[m.FREE_TEXT_STATE]:
            return
        position = automaton.start
        for byte in b'{"':
            position = automaton.accept_byte(position, byte)
        if position >= 0 and not self._shapes.tracks:
            automaton.copy_row(position, np.empty(automaton.terminals.words, dtype=np.int32))

    def _members(self, number: int) -> list[tuple[int, int, Variable]]:
        """The members of a set of alternatives: the set, member as `Shapes.slot` counts, and what its value must be."""
        found = self._shapes.ahead.only_object(number)
        if found is None:
            return []
        branch = found[1]
        members = [(number, i, part) for i, part in enumerate(branch.values, 1) if part is not None]
        return sorted(members, key=lambda member: not branch.required >> member[1] - 1 & 1)

    def _items(self, number: int) -> list[tuple[int, int, Variable]]:
        """As `_members`, for the items of an array that are all alike."""
        part = self._shapes.ahead.only_item(number)
        return [] if part is None else [(number, 0, part)]

    def _supply_value(self, number: int, which: int, part: Variable) -> int | None:
        """Make what a value asks for; the set of variables it is read for, None where that is yet to be told."""
        shapes, store = self._shapes, self._store
        load = shapes.plain_starts.load(part)
        is_light = load is not None and load <= LIGHT
        key = packed_key(M_SLOT, number, which)
        slot = int(memo_value(store.address, key))
        if slot < 0:
            if is_light:
                return None
            slot = shapes.slot(number, which)
            store.memo(key, slot)
        if not slot:
            return None
        vset = shapes.slots[slot][1]
        if not is_light:
            self._left -= 1
            shapes.supply_starts(vset)
            self._supply_automata(vset)
        return vset

    def _supply_automata(self, vset: int) -> None:
        """Make the first rows of the automata of a value's text, and the loop in which a string begins."""
        *_, text, atom = self._starts(vset)
        tables, scanners = self._store.tables, self._shapes.scanners
        if text > 0 and not text & LITERAL_BIT and not tables[m.STATE][text * STATE_WIDTH + Q_FREE]:
            scanners.supply_row(text)
            self._automaton.supply_loop(text, goes_on=self._has_time)
        if atom > 0:
            scanners.supply_row(atom)
