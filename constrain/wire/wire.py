"""A wire format as a lazy deterministic automaton over bytes and symbols, with states that call for JSON values.

States are sets of items (see `nodes.py`), numbered when they are met. Where a JSON value begins nothing else can go on,
so a state that calls is one item; a format for which that does not hold is refused when it gets there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from constrain.grammars.errors import UnsupportedSchemaError
from constrain.grammars.languages.base import Language, Role
from constrain.wire.nodes import ArgumentsOf, Characters, Item, Items, Node, Numbers, Progress
from constrain.wire.typing_nodes import NOWHERE, Owner, TypedArguments

_ROLES = {"call": Role.CALL, "word": Role.COLLECT, "named": Role.COLLECTED}


class Wire(Language):
    """The automaton of one format, its tools and how often they may be called."""

    around_values = True

    def __init__(self, start: Node, progress: Progress, reasoning: Node | None = None, end: Node | None = None) -> None:
        """`reasoning` is the node of the text of reasoning, and `end` leads out of it, into no other."""
        self._reasoning, self._end = reasoning, end
        self._numbers: dict[frozenset[Item], int] = {frozenset(): 0}
        self._states: list[Items] = [()]
        self._rows: dict[int, NDArray[np.int32]] = {}
        self._rests: dict[int, float] = {}
        self.start = self.number(start.enter(progress))

    def number(self, items: Items) -> int:
        """The number of a set of items."""
        key = frozenset(items)
        found = self._numbers.get(key)
        if found is None:
            if len(key) > 1 and any(_calls(i) for i in key):
                raise UnsupportedSchemaError("", "format", "the format leaves open whether the arguments have begun")
            found = self._numbers[key] = len(self._states)
            self._states.append(tuple(key))
        return found

    def items(self, state: int) -> Items:
        """The items of a state."""
        return self._states[state]

    def row(self, state: int) -> NDArray[np.int32]:
        row = self._rows.get(state)
        if row is None:
            row = self._rows[state] = self._new_row(self._states[state])
        return row

    def _new_row(self, items: Items) -> NDArray[np.int32]:
        row = np.zeros(256, dtype=np.int32)
        if len(items) == 1:
            for bytes_, after in items[0].node.step(items[0]):
                row[list(bytes_)] = self.number(after)
            return row
        by_byte: dict[int, dict[Item, None]] = {}
        for item in items:
            for bytes_, after in item.node.step(item):
                for byte in bytes_:
                    by_byte.setdefault(byte, {}).update(dict.fromkeys(after))
        numbers: dict[tuple[Item, ...], int] = {}
        for byte, found in by_byte.items():
            key = tuple(found)
            number = numbers.get(key)
            if number is None:
                number = numbers[key] = self.number(key)
            row[byte] = number
        return row

    def accepting(self, state: int) -> bool:
        return any(i.node.accepting(i) for i in self._states[state])

    def shortest(self, state: int) -> int:
        rest = self._rests.get(state)
        if rest is None:
            rest = self._rests[state] = min((i.node.rest(i) for i in self._states[state]), default=math.inf)
        return int(rest)

    def way_out(self, state: int) -> int | None:
        """The state that leads out of reasoning in place of one within it, or the same one within a character.

        None where no reasoning is open.
        """
        items = self._states[state]
        if self._end is None or not any(i.node is self._reasoning for i in items):
            return None
        return state if len(items) == 1 else self.number(self._end.enter(Progress()))

    def role(self, state: int) -> Role:
        for item in self._states[state]:
            if isinstance(item.node, ArgumentsOf):
                return Role.CALL
            if isinstance(item.node, TypedArguments):
                assert isinstance(item.at, tuple)
                return _ROLES.get(item.at[0], Role.PLAIN)
            if isinstance(item.node, Characters) and item.at:
                return Role.DIFFER if item.at == item.node.length else Role.COLLECT
        return Role.PLAIN

    def position(self, state: int) -> int:
        """Where the automaton goes on in a state that calls for a value within typed arguments; NOWHERE elsewhere."""
        (item,) = self._states[state]
        if not isinstance(item.node, TypedArguments):
            return NOWHERE
        assert isinstance(item.at, tuple)
        return int(item.at[1])

    def after_member(self, owner: Owner, position: int) -> int:
        """The state after a member of typed arguments that the automaton has read."""
        node, progress = owner
        return self.number(node.after_member(position, progress))

    def after_word(self, state: int, word: bytes) -> int:
        """The state after a word that was read as a whole, and the byte after it."""
        (item,) = self._states[state]
        assert isinstance(item.node, TypedArguments)
        return self.number(item.node.after_word(item, word))

    def rest_of_word(self, state: int, word: bytes) -> float:
        """Bytes of a short way to the end of the message from within a word that is read as a whole."""
        items = self._states[state]
        if len(items) == 1 and isinstance(items[0].node, TypedArguments):
            return items[0].node.rest_of_word(items[0], word)
        return self.shortest(state)

    def most_rest_of_word(self, state: int) -> float | None:
        """What `rest_of_word` is at most; None in a state in which words are of other kinds."""
        items = self._states[state]
        if len(items) == 1 and isinstance(items[0].node, TypedArguments):
            return items[0].node.most_rest_of_word(items[0])
        return None

    def rest_after(self, owner: Owner) -> float:
        """Bytes of a short way to the end of the message from after typed arguments."""
        node, progress = owner
        return node.following.cost(progress)

    def calls_for(self, state: int) -> Numbers:
        """The tools whose arguments begin in a state; none where no JSON value begins."""
        items = self._states[state]
        return items[0].progress.tools if len(items) == 1 and isinstance(items[0].node, ArgumentsOf) else ()

    def after_value(self, state: int, valid: Sequence[bool]) -> int:
        """The state after arguments that are valid for these of the tools that the state has called for."""
        (item,) = self._states[state]
        assert isinstance(item.node, ArgumentsOf)
        return self.number(item.node.after(item, valid))

    def after_value_for(self, state: int, place: int) -> int:
        """The state after arguments that are valid for one alone of the tools that the state has called for."""
        (item,) = self._states[state]
        assert isinstance(item.node, ArgumentsOf)
        progress = item.progress._replace(tools=(item.progress.tools[place],))
        return self.number(item.node.following.enter(progress))


def _calls(item: Item) -> bool:
    typed = isinstance(item.node, TypedArguments) and isinstance(item.at, tuple) and item.at[0] in _ROLES
    return typed or isinstance(item.node, ArgumentsOf)
