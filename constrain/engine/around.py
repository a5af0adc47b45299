"""JSON values within other text: what the kernels ask for where one begins and ends.

The text around is a language whose states may call for a value. There the kernels push a frame for it, without a
parent, that says which call it belongs to; after the value they go on in the state that the call and the value's
outcome lead to. So tokens may lie across both borders, and masks need no special care.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from constrain.grammars.json_schema.normal import Variable
from constrain.grammars.languages.base import Language
from constrain.kernels import intern
from constrain.kernels import memory as m
from constrain.kernels.intern import new_frame, new_position
from constrain.kernels.marked import completing_tokens
from constrain.kernels.step import RAW, VALUE
from constrain.wire.texts import search_table

if TYPE_CHECKING:
    from constrain.engine.automaton import Automaton


class Calling(Protocol):
    """A language that calls for values; see `constrain.wire.wire.Wire`."""

    def calls_for(self, state: int) -> Sequence[int]: ...
    def after_value(self, state: int, valid: Sequence[bool]) -> int: ...
    def shortest(self, state: int) -> int: ...


class Around:
    """What one automaton keeps of the text around its values.

    Args:
        language: the text, a `Language` that is `Calling`.
        variable: the variable of a tool's arguments, by its number, in the automaton's normal form.
        forbidden: texts that no string of a value may hold as they are.
    """

    def __init__(self, language: Language, variable: Callable[[int], Variable], forbidden: Sequence[bytes]) -> None:
        self._language = language
        self._variable = variable
        self._marks = search_table(forbidden) if forbidden else np.zeros((1, 256), dtype=np.int32)
        self._calls: list[int] = [0]  # number of a call, from 1 on -> state of the language

    @property
    def _calling(self) -> Calling:
        return self._language  # type: ignore[return-value]

    def begin(self, automaton: Automaton) -> int:
        """Prepare a new automaton; its first position."""
        automaton.C[m.WIRE] = 1
        automaton.store.bind(m.MARKS, self._marks.reshape(-1))
        return self._raw(automaton, self._language.start)

    def _raw(self, automaton: Automaton, state: int) -> int:
        number = automaton.shapes.scanners.raw_state(self._language, state)
        return _grown(automaton, m.POS, new_position, 0, RAW, number, 0, 0)

    def supply(self, automaton: Automaton, kind: int, a: int, b: int) -> int:
        """The value of a memo entry that a kernel misses."""
        if kind == intern.M_CALL:
            return self._call(automaton, a)
        if kind == intern.M_RETURN:
            bits = automaton.shapes.outcomes[b]
            state = self._calls[a]
            tools = self._calling.calls_for(state)
            after = self._calling.after_value(state, [bool(bits >> i & 1) for i in range(len(tools))])
            return automaton.shapes.scanners.raw_state(self._language, after) if after else 0
        assert kind == intern.M_MARKED
        return self._completing(automaton, a)

    def _call(self, automaton: Automaton, number: int) -> int:
        """The position in which the value that a state calls for begins."""
        ((_, state, _),) = automaton.shapes.scanners.atom_parts(number)
        variables = tuple(self._variable(tool) for tool in self._calling.calls_for(state))
        slot = automaton.shapes.outermost_slot(variables)
        call = len(self._calls)
        self._calls.append(state)
        frame = _grown(automaton, m.FRAMES, new_frame, -1, slot, call, 0, 0, 0)
        return _grown(automaton, m.POS, new_position, frame, VALUE, 0, 0, 0)

    def _completing(self, automaton: Automaton, mark: int) -> int:
        """The tokens that complete a forbidden text: offset in WORDS of their number and ids; 0 for none."""
        count = automaton.store.tables[m.TOKEN_OFF].size - 1
        found = np.empty(count, dtype=np.int32)
        total = int(completing_tokens(automaton.address, mark, count, found))
        return automaton.store.append(m.WORDS, [total, *found[:total].tolist()]) if total else 0

    def rests(self, call: int, count: int) -> list[float]:
        """Bytes from after a value to the end, for each of the `count` variables it is read for."""
        out = []
        for i in range(count):
            after = self._calling.after_value(self._calls[call], [i == j for j in range(count)])
            out.append(float(self._calling.shortest(after)) if after else math.inf)
        return out


def _grown(automaton: Automaton, table: int, kernel: Callable[..., int], *fields: int) -> int:
    """What a kernel that interns a record answers, the table grown where it is full."""
    while (number := int(kernel(automaton.address, *fields))) < 0:
        automaton.store.grow(table)
    return number
