"""Items that must differ, of any kind.

The automaton admits what a schema admits `uniqueItems` aside. This layer lies above it: inside an array whose items
must differ a position is a pair, the automaton's position and the *trail* of what was written since the array began
(see `json_trail`). Such pairs are numbered from `TRACKED` on; positions outside those arrays are the automaton's own,
and cost what they cost without this layer.

An item that equals an earlier one ends the alternatives that demand otherwise. So does an item that leaves too few
values for those that must follow. And a byte is refused when from then on every completion would do so. Whether one is
left is mostly evident: the current item can no longer become a value that matters, or something in it has endlessly
many values. Otherwise completions are tried, each value in one spelling, until one gets to where it is evident; there
are at most as many to try as values that matter.

A mask is the automaton's, less the tokens that are refused. Those lie along the texts of values that matter, which are
followed through the trie, or get as far as another item, which few tokens do; these are tried one by one.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from constrain.engine.branches import ArrayBranch, ObjectBranch, Shape
from constrain.engine.crossing import crossing_of
from constrain.engine.distance import Measure, distance, next_name_bytes
from constrain.engine.json_trail import (
    ATOM,
    AWAITED,
    NAME,
    STRING,
    Level,
    Scalar,
    Trail,
    Values,
    feed_string,
    with_open,
)
from constrain.engine.json_trail import number_value as _number_value
from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.json_schema.distinct import part_at
from constrain.grammars.json_schema.normal import Variable
from constrain.grammars.json_schema.text_counts import has_many_texts
from constrain.kernels import layout as s
from constrain.kernels import memory as m
from constrain.kernels.batch import TRACKED
from constrain.kernels.intern import FRAME_WIDTH, POS_WIDTH, new_frame, new_position
from constrain.kernels.mask import accept_byte, accept_token, copy_row
from constrain.kernels.query import position_may_end
from constrain.kernels.settle import settle_atom

if TYPE_CHECKING:
    from constrain.engine.automaton import Automaton

_REFUSED = -3
_SPACES = frozenset(b" \t\r\n")
_ENDS_ATOM = frozenset(b",]} \t\r\n")
_FIRST_BYTES = {"string": b'"', "number": b"-0123456789", "constant": b"tfnTFN", "array": b"[", "object": b"{"}
_OUTSIDE_STRINGS = frozenset(b' \t\r\n"[]{},:+-.0123456789eEtrufalsnTFNo')  # of values, however they are spelled
_IN_STRING = (s.STRING, s.KEY, s.LITERAL)
_20 = (1 << 20) - 1
_30 = (1 << 30) - 1
_LONG_NUMBER = 24
_SAME, _FINE, _ENDLESS = 0, 1, 2  # an alternative: nothing known, can be completed, in endlessly many ways

_ANY_VALUE = frozenset((-1,))  # in the place of values that an item can still become

State = tuple[int, Trail | None]


class Uniqueness:
    """The layer above one automaton. Not safe for concurrent use; the automaton's owner holds a lock."""

    def __init__(self, automaton: Automaton) -> None:
        self._a: Automaton = weakref.proxy(automaton)  # which owns this
        self._shapes = automaton.shapes
        self._distinct = automaton.shapes.inhabitation.distinct
        self._gap = automaton.shapes.inhabitation.gap
        self.values = Values()
        self.states: list[tuple[int, Trail]] = []
        self._numbers: dict[tuple[int, Trail], int] = {}
        self._steps: dict[tuple[int, int], int] = {}
        self._viable: dict[State, bool] = {}
        self._evident: dict[tuple[int, int], bool] = {}  # by twin and number of levels
        self._rows: dict[int, NDArray[np.int32]] = {}
        self._distances: dict[int, int] = {}
        self._plain: dict[int, int] = {}
        self._measure = Measure(self._a)
        self._finish: dict[tuple[int, int, int, tuple[int, ...]], bool] = {}
        self._endless: dict[Variable, bool] = {}
        self._planned: dict[tuple[int, tuple[tuple[int, int], ...], frozenset[int]], int] = {}
        self._items: dict[tuple[Variable, int], frozenset[int] | None] = {}
        self._crossing = crossing_of(automaton.terminals)

    @property
    def nbytes(self) -> int:
        """Bytes in use, roughly."""
        words = self._a.terminals.words
        plans = 4000 * len(self._planned)
        return (
            plans
            + 4 * words * len(self._rows)
            + 400 * len(self._steps)
            + 600 * len(self.states)
            + 400 * len(self._viable)
            + 100 * (len(self._plain) + len(self._evident))
        )

    # ---- records of the automaton ------------------------------------------------------------------------------------

    def _record(self, position: int) -> list[int]:
        at = position * POS_WIDTH
        return self._a.store.tables[m.POS][at : at + 5].tolist()  # type: ignore[no-any-return]

    def _frame(self, number: int) -> list[int]:
        at = number * FRAME_WIDTH
        return self._a.store.tables[m.FRAMES][at : at + FRAME_WIDTH].tolist()  # type: ignore[no-any-return]

    def _call(self, kernel: Callable[..., int], *args: Any) -> int:
        code = int(kernel(self._a.address, *args))
        return code if code >= 0 or code == _REFUSED else self._a.call(kernel, *args)

    def _new_frame(self, *fields: int) -> int:
        while (number := int(new_frame(self._a.address, *fields))) < 0:
            self._a.store.grow(m.FRAMES)
        return number

    def _new_position(self, stack: int, mode: int) -> int:
        while (number := int(new_position(self._a.address, stack, mode, 0, 0, 0))) < 0:
            self._a.store.grow(m.POS)
        return number

    # ---- positions ---------------------------------------------------------------------------------------------------

    def twin(self, position: int) -> int:
        """The automaton's position."""
        return self.states[position - TRACKED][0] if position >= TRACKED else position

    def state(self, position: int) -> State:
        """The automaton's position and the trail, if any."""
        return self.states[position - TRACKED] if position >= TRACKED else (position, None)

    def _number(self, state: State) -> int:
        twin, trail = state
        if trail is None:
            return twin
        found = self._numbers.get((twin, trail))
        if found is None:
            found = self._numbers[twin, trail] = TRACKED + len(self.states)
            self.states.append((twin, trail))
        return found

    def may_end(self, position: int) -> bool:
        """Whether the document is complete at a position."""
        return position < TRACKED and bool(position_may_end(self._a.address, position))

    def accept_byte(self, position: int, byte: int) -> int:
        """The position after a byte, negative where it is refused."""
        key = (position, byte)
        found = self._steps.get(key)
        if found is None:
            after = self._step(self.state(position), byte)
            found = _REFUSED if after is None or not self.is_viable(after) else self._number(after)
            if position >= TRACKED:
                self._steps[key] = found
        return found

    def accept_token(self, position: int, token: int) -> int:
        """The position after a token, negative where it is refused."""
        if position < TRACKED:
            to = self._call(accept_token, position, token)
            if 0x5B not in self._crossing.text(token) or (to < 0 and not self._shapes.repeats):
                return to
        text = self._crossing.text(token)
        return self.accept_bytes(position, text) if text else _REFUSED

    def accept_bytes(self, position: int, text: bytes) -> int:
        """The position after some bytes, negative where they are refused."""
        for byte in text:
            position = self.accept_byte(position, byte)
            if position < 0:
                break
        return position

    def only_byte(self, position: int) -> int:
        """The one byte that can follow; 256 where there are several or the document may end."""
        if self.may_end(position):
            return 256
        found = 256
        for byte in range(256):
            if self.accept_byte(position, byte) >= 0:
                if found != 256:
                    return 256
                found = byte
        return found

    # ---- one byte ----------------------------------------------------------------------------------------------------

    def _step(self, state: State, byte: int) -> State | None:
        """The state after a byte, whether or not it can be completed; None where it is refused."""
        twin, trail = state
        if trail is None:
            to = self._call(accept_byte, twin, byte)
            if to < 0:
                return None
            opens = byte == 0x5B and self._record(to)[1] == s.ARRAY_FIRST
            return self._enter(to, None, ()) if opens else (to, None)
        scalar = trail.scalar
        if scalar is not None and scalar.kind == ATOM:
            if byte not in _ENDS_ATOM:
                to = self._call(accept_byte, twin, byte)
                grown = scalar._replace(text=scalar.text + bytes((byte,)))
                return None if to < 0 else (to, self._trail(to, trail, trail.levels, grown))
            settled = self._settle(state)
            if settled is None:
                return None
            twin, left = settled
            if left is None:
                to = self._call(accept_byte, twin, byte)
                return None if to < 0 else (to, None)
            trail, scalar = left, None
        to = self._call(accept_byte, twin, byte)
        if to < 0:
            return None
        levels = trail.levels
        if scalar is not None and scalar.kind in (STRING, NAME):
            if byte != 0x22 or scalar.escape:
                return to, self._trail(to, trail, levels, feed_string(scalar, byte))
            if scalar.kind == STRING:
                return self._complete(to, trail, levels, self.values.string(scalar.text))
            named = levels[-1]._replace(name=scalar.text.decode("utf-8", "surrogatepass"))
            return to, self._trail(to, trail, (*levels[:-1], named), None)
        if byte in _SPACES:
            return to, trail
        if byte == 0x5B:
            return self._enter(to, trail, levels)
        if byte == 0x7B:
            return to, self._trail(to, trail, (*levels, Level(False, False)), None)
        if byte == 0x5D or byte == 0x7D:
            value = self.values.complete(levels[-1])
            if len(levels) == 1:
                return to, None
            return self._complete(to, trail, levels[:-1], value)
        if byte == 0x22:
            is_name = not levels[-1].is_array and levels[-1].name is None
            return to, self._trail(to, trail, levels, Scalar(NAME if is_name else STRING))
        if byte == 0x3A:
            return to, self._trail(to, trail, levels, Scalar(AWAITED))
        if byte == 0x2C:
            if not levels[-1].is_array:
                return to, trail
            narrowed = self._narrow(to, levels[-1]) if levels[-1].tracked else to
            # Strings that must differ are read as names are: nothing is awaited but a quote.
            if not narrowed:
                return None
            awaited = Scalar(AWAITED) if self._record(narrowed)[1] == s.VALUE else None
            return narrowed, self._trail(narrowed, trail, levels, awaited)
        return to, self._trail(to, trail, levels, Scalar(ATOM, bytes((byte,))))

    def _trail(self, twin: int, before: Trail | None, levels: tuple[Level, ...], scalar: Scalar | None) -> Trail:
        return with_open(self.values, before, levels, scalar, lambda k: self._matter(twin, levels, k))

    def _enter(self, twin: int, trail: Trail | None, levels: tuple[Level, ...]) -> State:
        """After the bracket that opens an array."""
        stack = self._record(twin)[0]
        tracked = self._shapes.is_tracked(self._frame(stack)[1])
        if trail is None and not tracked:
            return twin, None
        return twin, self._trail(twin, trail, (*levels, Level(True, tracked)), None)

    def _settle(self, state: State) -> State | None:
        """The state after the number or literal that ends here."""
        twin, trail = state
        assert trail is not None
        assert trail.scalar is not None
        to = self._call(settle_atom, twin)
        return None if to < 0 else self._complete(to, trail, trail.levels, self.values.atom(trail.scalar.text))

    def _complete(self, twin: int, trail: Trail, levels: tuple[Level, ...], value: int) -> State | None:
        """After a value, `levels` without its own, and the automaton after it; None where no alternative is left."""
        level = levels[-1]
        if not level.is_array:
            assert level.name is not None
            level = level._replace(members=level.members | {(level.name, value)}, name=None)
            levels = (*levels[:-1], level)
            return twin, self._trail(twin, trail, levels, None)
        items = (*level.items, value)
        tracked = level.tracked
        if tracked:
            stack = self._record(twin)[0]
            frame = self._frame(stack)
            shape, live = self._shapes.sets[frame[1]]
            dropped, repeated = [], []
            remaining = False
            for i in live:
                branch = shape.branches[i]
                assert isinstance(branch, ArrayBranch)
                if not branch.tracked:
                    continue
                if branch.repeats and value in level.items:
                    repeated.append(i)
                elif branch.repeats:
                    remaining = True
                elif value in level.items or not self._can_finish(shape, i, len(items), items):
                    dropped.append(i)
                else:
                    remaining = True
            if dropped or repeated:
                to = self._shapes.without(frame[1], dropped, repeated)
                if not to:
                    return None
                twin = self._new_position(self._new_frame(frame[0], to, *frame[2:]), s.AFTER)
            tracked = remaining
        levels = (*levels[:-1], Level(True, tracked, items))
        first = next((k for k, known in enumerate(levels) if known.tracked), None)
        if first is None:
            return twin, None
        if first:
            levels = levels[first:]
            trail = Trail(trail.levels[first:], trail.scalar, trail.open[first:])
        return twin, self._trail(twin, trail, levels, None)

    def _narrow(self, twin: int, level: Level) -> int:
        """After a comma: the position without the ways to read the next item after which the array cannot end."""
        stack, mode, _, _, _ = self._record(twin)
        frame = self._frame(stack)
        owner, _, ways = self._shapes.slots[frame[1]]
        shape, _ = self._shapes.sets[owner]
        dropped = [
            (v, i)
            for v, i in ways
            if isinstance(b := shape.branches[i], ArrayBranch)
            and b.tracked
            and not b.repeats
            and b.items is not None
            and not self._can_finish(shape, i, len(level.items) + 1, level.items)
        ]
        slot = self._plan(frame[1], level, dropped)
        if slot is None:
            if not dropped:
                return twin
            slot = self._shapes.slot_without(frame[1], dropped)
        return self._new_position(self._new_frame(frame[0], slot, *frame[2:]), mode) if slot else 0

    def _plan(self, number: int, level: Level, dropped: list[tuple[int, int]]) -> int | None:
        """The slot in which an array whose places may run out gets to two equal items; None where it does in any.

        It is without the ways in `dropped`, and 0 where no way is left.
        """
        owner, vset, ways = self._shapes.slots[number]
        shape, live = self._shapes.sets[owner]
        count = len(level.items)
        plans = [
            b
            for i in live
            if isinstance(b := shape.branches[i], ArrayBranch)
            and b.repetition is not None
            and not b.repetition.is_free(b.state, count)
        ]
        if not plans:
            return None
        key = (number, tuple(dropped), frozenset(level.items))
        found = self._planned.get(key)
        if found is None:
            variables = self._shapes.vsets[vset]
            parts = [
                (i, variables[v])
                for v, i in ways
                if (v, i) not in dropped
                and not (
                    isinstance(b := shape.branches[i], ArrayBranch) and b.repetition in [p.repetition for p in plans]
                )
            ]
            used = [self.values.value(n) for n in sorted(set(level.items))]
            for b in plans:
                assert b.repetition is not None
                for way in b.repetition.ways(b.state, count, used):
                    parts.append((self._shapes.after_way(shape, b, way), way.part))
            found = self._planned[key] = self._shapes.slot_with(owner, parts)
        return found

    def _can_finish(self, shape: Shape, index: int, count: int, used: tuple[int, ...]) -> bool:
        """Whether an array branch can end after `count` items with the values `used`."""
        branch = shape.branches[index]
        assert isinstance(branch, ArrayBranch)
        a = branch.alternative
        if branch.items is None and count >= a.minimum:
            return True
        key = (id(shape), index, count, used)
        found = self._finish.get(key)
        if found is None:
            identities = set(map(self._identity, used))
            counted = None if branch.items is None else (branch.items, branch.state)
            found = self._finish[key] = self._distinct.can_finish(a, count, identities, counted)
        return found

    # ---- values ------------------------------------------------------------------------------------------------------

    def _identity(self, number: int) -> Any:
        """What `identity` makes of a value, by its number."""
        return self.values.identity(number)

    def _is_endless(self, variable: Variable) -> bool:
        found = self._endless.get(variable)
        if found is None:
            try:
                found = self._distinct.is_endless(variable)
            except ResourceLimitError:  # not endless, but too many to list
                found = False
            self._endless[variable] = found
        return found

    def _matter(self, twin: int, levels: tuple[Level, ...], k: int) -> Iterable[int]:
        """The values that matter to the item that begins at level k: those used, and those others may need."""
        level = levels[k]
        stack = self._record(twin)[0]
        for _ in range(len(levels) - 1 - k):
            stack = self._frame(stack)[0]
        owner, _, ways = self._shapes.slots[self._frame(stack)[1]]
        shape, _ = self._shapes.sets[owner]
        out = set(level.items)
        for i in {i for _, i in ways}:
            branch = shape.branches[i]
            if isinstance(branch, ArrayBranch) and branch.tracked and not branch.repeats:
                a = branch.alternative
                count = len(level.items)
                if a.contains or count + 1 < a.minimum:
                    out.update(map(self.values.of, self._distinct.small_values(a, count, count)))
        return out

    # ---- whether it can be completed ---------------------------------------------------------------------------------

    def is_viable(self, state: State) -> bool:
        """Whether a state can be completed."""
        twin, trail = state
        if trail is None or not trail.may_repeat:
            return True
        # Mostly it is plain whatever the current items may still become, and so for all trails at once.
        key = twin, len(trail.levels)
        plain = self._evident.get(key)
        if plain is None:
            plain = self._evident[key] = self._is_evident((twin, trail._replace(open=(_ANY_VALUE,) * key[1])))
        if plain or self._is_evident(state):
            return True
        found = self._viable.get(state)
        if found is None:
            found = self._viable[state] = self._search(state)
        return found

    def _search(self, start: State) -> bool:
        """Whether some completion gets to where it is evident that one exists."""
        seen = {self._likeness(start)}
        todo = [self._moves(start)]
        while todo:
            state = next(todo[-1], None)
            if state is None:
                todo.pop()
                continue
            trail = state[1]
            if trail is None or not trail.may_repeat or self._is_evident(state):
                return True
            key = self._likeness(state)
            if key not in seen:
                seen.add(key)
                todo.append(self._moves(state))
        return False

    def _likeness(self, state: State) -> Any:
        """A key that states share only if they have the same completions, spelling of values aside."""
        twin, trail = state
        stack, mode, q, x, n = self._record(twin)
        assert trail is not None
        if mode == s.ATOM:
            assert trail.scalar is not None
            text = trail.scalar.text
            return stack, mode, q, text if text.isalpha() else (_number_value(text), _phase(text)), trail.levels
        return (stack, mode, q, 0 if mode == s.AFTER else x, n, trail)

    def _moves(self, state: State) -> Iterator[State]:
        """What can follow, each value in one spelling; the end first."""
        twin, trail = state
        assert trail is not None
        stack, mode, q, x, n = self._record(twin)
        options: Iterable[bytes]
        if mode == s.ATOM:
            settled = self._settle(state)
            if settled is not None:
                yield settled
            options = (_PLAIN[b] for b in np.flatnonzero(self._shapes.scanners.row(q)).tolist())
        elif mode in _IN_STRING:
            options = _ESCAPED if x else (b'"', *(_PLAIN[b] for b in self._content(stack, mode, q, n)))
        elif mode in (s.VALUE, s.ARRAY_FIRST):
            options = [bytes((b,)) for b in b'"]{[0123456789-tfn']
        else:
            options = [bytes((b,)) for b in b'}],:"']
        if self._gap and mode in (s.VALUE, s.OBJECT_NEXT) and not x:
            options = [b" "]
        for text in options:
            at: State | None = state
            for byte in text:
                assert at is not None
                at = self._step(at, byte)
                if at is None:
                    break
            if at is not None:
                yield at

    def _content(self, stack: int, mode: int, q: int, n: int) -> list[int]:
        """The bytes that can follow in a string or name, escapes aside."""
        scanners = self._shapes.scanners
        if mode == s.STRING:
            return np.flatnonzero(scanners.row(q)).tolist()  # type: ignore[no-any-return]
        low, high, depth = q & _20, q >> 20 & _20, q >> 40
        if mode == s.LITERAL:
            names = scanners.literals[n].texts[low:high]
        else:
            shape, _ = self._shapes.sets[self._frame(stack)[1]]
            names = [name.encode() for name in shape.names[low:high]]
        out = {name[depth] for name in names if len(name) > depth}
        if mode == s.KEY and n >> 60:
            out.update(np.flatnonzero(scanners.row(n >> 24 & _30)).tolist())
        return sorted(out)

    def _is_evident(self, state: State) -> bool:
        """Whether it is plain that the state can be completed; see the module's text."""
        twin, trail = state
        assert trail is not None
        stack, mode, q, x, n = self._record(twin)
        levels, is_open = trail.levels, trail.open
        by_variable: dict[int, int] | None = None
        by_branch: dict[int, int] = {}
        frame = self._frame(stack)
        if mode in (s.STRING, s.LITERAL, s.ATOM, s.VALUE, s.COLON):
            by_variable = self._in_value(frame, mode, q, x, n)
        else:
            shape, live = self._shapes.sets[frame[1]]
            for i in live:
                if mode == s.KEY:
                    by_branch[i] = self._in_name(frame, shape, i, q, x, n)
                else:
                    by_branch[i] = _ENDLESS if self._grows(frame, shape, i) else _FINE
        for k in range(len(levels) - 1, -1, -1):
            if by_variable is not None:
                owner, _, ways = self._shapes.slots[frame[1]]
                shape, _ = self._shapes.sets[owner]
                by_branch = {}
                for v, i in ways:
                    known = by_variable.get(v, _SAME)
                    branch = shape.branches[i]
                    differs = isinstance(branch, ArrayBranch) and branch.tracked and not branch.repeats
                    if known == _FINE and is_open[k] and differs:
                        known = _SAME
                    if known == _FINE and self._grows(frame, shape, i):
                        known = _ENDLESS
                    by_branch[i] = max(by_branch.get(i, _SAME), known)
            if k == 0:
                return any(by_branch.values())
            by_variable = {}
            for i, known in by_branch.items():
                v = shape.branches[i].variable
                by_variable[v] = max(by_variable.get(v, _SAME), known)
            frame = self._frame(frame[0])
        raise AssertionError

    def _in_value(self, frame: list[int], mode: int, q: int, x: int, n: int) -> dict[int, int]:
        """For each variable of the slot, what is known of the value that is being read."""
        _, vset, _ = self._shapes.slots[frame[1]]
        variables = self._shapes.vsets[vset]
        if mode in (s.VALUE, s.COLON):
            return {v: _ENDLESS if self._is_endless(part) else _FINE for v, part in enumerate(variables)}
        if mode == s.ATOM:
            scanners = self._shapes.scanners
            return {v: _FINE for _, _, found in scanners.atom_parts(q) for v in found}
        if mode == s.LITERAL:
            bits = reduce(or_, self._shapes.scanners.literals[n].variables[q & _20 : q >> 20 & _20], 0)
            return {v: _FINE for v in range(len(variables)) if bits >> v & 1}
        out: dict[int, int] = {}
        for language, at, entries in self._shapes.scanners.text_parts(q):
            for e in entries:
                low = max(0, e.low - n)
                high = None if e.high >= 1 << 60 else e.high - n
                if x:  # what the escape will spell is open
                    known = _ENDLESS if high is None and language.universal(at) else _SAME
                elif has_many_texts(language, at, low, high):
                    known = _ENDLESS
                elif (low == 0 and high is None) or language.lengths(at).first_in(low, high) is not None:
                    known = _FINE
                else:
                    continue
                out[e.variable] = max(out.get(e.variable, _SAME), known)
        return out

    def _grows(self, frame: list[int], shape: Shape, index: int) -> bool:
        """Whether what may still be added to a container has endlessly many values."""
        branch = shape.branches[index]
        if isinstance(branch, ArrayBranch):
            a = branch.alternative
            if branch.items is not None or branch.repeats:
                return branch.repeats and branch.items is None
            position = frame[2]
            if not branch.tracked and branch.longest >= 1 << 60:
                return True
            if position >= branch.longest:
                return False
            for k in range(position, min(branch.longest, max(len(a.prefix) + 1, position + 1))):
                part = part_at(a, k)
                if part is not None and self._is_endless(part):
                    # Beyond what is demanded, the items before it must have values that differ.
                    return k <= max(position, a.minimum) or not branch.tracked
            return False
        if branch.clauses:
            return False
        room = self._room(frame, shape, branch)
        to_come, free = self._shapes.to_come(shape, branch)
        if room > 0 and free:
            return True
        for i, part in enumerate(branch.values):
            if (
                part is None
                or not to_come >> i & 1
                or self._has_seen(frame, shape, i)
                or not (room > 0 or branch.required >> i & 1)
            ):
                continue
            if self._is_endless(part):
                return True
        return False

    def _room(self, frame: list[int], shape: Shape, branch: ObjectBranch) -> float:
        """How many members an object branch admits besides those that are still demanded."""
        maximum = branch.alternative.maximum
        if maximum is None:
            return float("inf")
        missing = sum(branch.required >> i & 1 for i in range(len(shape.names)) if not self._has_seen(frame, shape, i))
        return maximum - frame[2] - missing

    def _has_seen(self, frame: list[int], shape: Shape, name: int) -> bool:
        seen = frame[3]
        if len(shape.names) <= 62:
            return bool(seen >> name & 1)
        return bool(seen and int(self._a.store.tables[m.SEEN][seen + (name >> 6)]) >> (name & 63) & 1)

    def _in_name(self, frame: list[int], shape: Shape, index: int, q: int, x: int, n: int) -> int:
        """What is known of an object branch while a name is read."""
        branch = shape.branches[index]
        assert isinstance(branch, ObjectBranch)
        assert shape.members is not None
        room = self._room(frame, shape, branch)
        if branch.clauses:  # whether they can be met is not looked into here
            return _SAME
        if n >> 60 and branch.free and room > 0:
            if not shape.members.components:
                return _ENDLESS
            if not x and self._shapes.scanners.free_names.reach(n >> 24 & _30, branch.free) == 1:
                return _ENDLESS
        known = _SAME
        for i in range(q & _20, q >> 20 & _20) if not x else ():
            part = branch.values[i]
            if part is None or not branch.allowed >> i & 1 or self._has_seen(frame, shape, i):
                continue
            if not (room > 0 or branch.required >> i & 1):
                continue
            if shape.kind == s.OBJECT_KIND and self._is_endless(part):
                return _ENDLESS
            known = _FINE
        return known

    # ---- masks -------------------------------------------------------------------------------------------------------

    def copy_row(self, position: int, out: NDArray[np.int32]) -> None:
        """Write the mask of a position into `out` (int32; extra words are cleared)."""
        row = self._rows.get(position)
        if row is None:
            row = self._rows[position] = self._row(position)
        shared = min(row.size, out.size)
        out[:shared] = row[:shared]
        out[shared:] = 0

    def _row(self, position: int) -> NDArray[np.int32]:
        twin, trail = self.state(position)
        row = np.zeros(self._a.terminals.words, dtype=np.int32)
        self._call(copy_row, twin, row)
        _, mode, _, x, _ = self._record(twin)
        in_string = mode in _IN_STRING
        crossing = self._crossing
        only_texts = self._shapes.only_texts_differ and not self._shapes.repeats
        if trail is None:
            self._try(position, row, (crossing.opening_texts if only_texts else crossing.opening)[in_string])
            return row
        if only_texts and not x and len(trail.levels) == 1 and mode in (s.STRING, s.VALUE, s.ARRAY_FIRST, s.AFTER):
            self._try(position, row, crossing.opening_texts[in_string])
            self._try(position, row, crossing.further_texts[in_string])
            for way in self._ways_to_repeat(trail):
                self._end_text(position, way, row)
            return row
        lists = crossing.commas if self._runs_out(twin, trail) else crossing.further
        self._try(position, row, lists[in_string])
        self._try(position, row, crossing.opening[in_string])
        if self._is_interesting(self.state(position)):
            self._walk(position, 0, row)
        return row

    def _try(self, position: int, row: NDArray[np.int32], among: NDArray[np.int32]) -> None:
        """Try the tokens of a list one by one: those that the automaton admits, or all that a repetition may allow."""
        tokens = self._crossing.candidates(among, among if self._shapes.repeats else row)
        for token in tokens:
            self._crossing.mark(row, token, self.accept_bytes(position, self._crossing.text(token)) >= 0)

    def _ways_to_repeat(self, trail: Trail) -> Iterable[bytes]:
        """How tokens begin that end the current item as an earlier one, up to its quote, where items are texts.

        A text can go on in endlessly many ways before its quote, so that no other byte of it is ever refused.
        """
        scalar, (candidates, *_) = trail.scalar, trail.open
        for value in candidates or ():
            kind, content = self.values.parts[value]
            if kind == "string":
                assert isinstance(content, bytes)
                assert scalar is not None
                if scalar.kind == STRING:
                    yield from self._crossing.ways_to_end(content[len(scalar.text) :])
                else:
                    yield from self._crossing.ways_to_write(content)

    def _end_text(self, position: int, way: bytes, row: NDArray[np.int32]) -> None:
        """Correct the tokens that begin with `way`, by which an item comes to equal an earlier one."""
        before = self.accept_bytes(position, way[:-1])
        if before < 0:  # as the automaton knows
            return
        to = self.accept_byte(before, way[-1])
        node = self._crossing.node(way)
        if to < 0:
            self._crossing.clear_below(row, node)
        elif self._call(accept_byte, self.twin(before), way[-1]) != self.twin(to):
            self._walk_anew(to, node, row)

    def _is_interesting(self, state: State) -> bool:
        """Whether a byte may be refused here, other than by the automaton, before another item begins."""
        trail = state[1]
        return trail is not None and (trail.may_repeat or (trail.scalar is None and trail.levels[-1].is_array))

    def _runs_out(self, twin: int, trail: Trail) -> bool:
        """Whether the item after the current one may have no value left."""
        for level, branches in zip(trail.levels, self._branches_of(twin, trail), strict=True):
            at = len(level.items)
            for branch in branches if level.tracked else ():
                for k in (at, at + 1):
                    part = part_at(branch.alternative, k) if branch.tracked else None
                    if part is not None and not self._is_endless(part):
                        return True
        return False

    def _branches(self, twin: int, stack: int) -> list[ArrayBranch]:
        """The branches of an array's frame."""
        top, mode, _, _, _ = self._record(twin)
        number = self._frame(stack)[1]
        # A frame has a slot while a value is read, a set of alternatives else; the mode tells only of the top.
        if stack != top or mode in (s.VALUE, s.STRING, s.LITERAL, s.ATOM, s.COLON):
            owner, _, ways = self._shapes.slots[number]
            shape, _ = self._shapes.sets[owner]
            live: Iterable[int] = {i for _, i in ways}
        else:
            shape, live = self._shapes.sets[number]
        return [b for i in live if isinstance(b := shape.branches[i], ArrayBranch)]

    def _walk(self, position: int, node: int, row: NDArray[np.int32]) -> None:
        """Correct the tokens below a node of the trie on the way of values that matter."""
        crossing = self._crossing
        state = self.state(position)
        wanted, twin, repeats = self._next_bytes(state), state[0], self._shapes.repeats
        i, stop = node + 1, crossing.end[node]
        while i < stop:
            byte = crossing.byte[i]
            if (wanted is None or byte in wanted) and (repeats or crossing.any_below(row, i)):
                known = self._call(accept_byte, twin, byte)
                to = self.accept_byte(position, byte) if known >= 0 or repeats else known
                if to < 0:
                    if known >= 0 or repeats:  # else no token below is marked
                        crossing.clear_below(row, i)
                elif known != self.twin(to):
                    # The alternatives are others than the automaton knows, so what follows is another mask.
                    self._walk_anew(to, i, row)
                elif self._is_interesting(self.state(to)):
                    self._walk(to, i, row)
            i = crossing.end[i]

    def _walk_anew(self, position: int, node: int, row: NDArray[np.int32]) -> None:
        """Mark the tokens at a node of the trie, which leads to a position, and those below it that can follow."""
        crossing = self._crossing
        for token in crossing.at(node):
            crossing.mark(row, token, True)
        i, stop = node + 1, crossing.end[node]
        while i < stop:
            # Other tokens than the automaton's are possible only where two items are equal now.
            if self._shapes.repeats or crossing.any_below(row, i):
                to = self.accept_byte(position, crossing.byte[i])
                if to < 0:
                    crossing.clear_below(row, i)
                else:
                    self._walk_anew(to, i, row)
            i = crossing.end[i]

    def _next_bytes(self, state: State) -> Collection[int] | None:
        """The bytes after which the current item may still become a value that matters; None for any.

        There may be others, which nothing begins with here.
        """
        twin, trail = state
        assert trail is not None
        _, mode, _, x, _ = self._record(twin)
        scalar = trail.scalar
        if mode == s.VALUE and scalar is not None and scalar.kind == AWAITED and len(trail.levels) == 1:
            kinds = {self.values.parts[value][0] for value in trail.open[0] or ()}
            return None if self._shapes.repeats else {*_SPACES, *b"".join(_FIRST_BYTES[kind] for kind in kinds)}
        if mode not in _IN_STRING:
            return _OUTSIDE_STRINGS
        if x or scalar is None:
            return None
        out = {0x22, 0x5C}
        for k, candidates in enumerate(trail.open):
            for value in candidates or ():
                out.update(self.values.following(value, trail.levels, k + 1, scalar))
        return out

    # ---- distance ----------------------------------------------------------------------------------------------------

    def distance(self, position: int) -> int:
        """Bytes of a short completion from a position that is not complete."""
        path: list[int] = []
        at = position
        while at not in self._distances:
            if self.may_end(at):
                self._distances[at] = 0
                break
            known = self._plain_distance(at)
            if known is not None:
                self._distances[at] = known
                break
            path.append(at)
            at = self._towards_the_end(at)
        total = self._distances[at]
        for at in reversed(path):
            total += 1
            self._distances[at] = total
        return total

    def _from(self, twin: int) -> int:
        """The automaton's distance."""
        found = self._plain.get(twin)
        if found is None:
            found = self._plain[twin] = distance(self._a, twin, self._measure)
        return found

    def next_to_end(self, position: int) -> int | None:
        """The position after the first byte of the completion that `distance` measures; None where that is left to the
        automaton, or nothing is needed."""
        if self.may_end(position) or self._plain_distance(position) is not None:
            return None
        return self._towards_the_end(position)

    def _plain_distance(self, position: int) -> int | None:
        """The automaton's distance where no items that must differ are ahead; None elsewhere."""
        twin, trail = self.state(position)
        if self._shapes.demands_several or self._shapes.repeats or (trail is not None and trail.may_repeat):
            return None
        return self._from(twin)

    def _towards_the_end(self, position: int) -> int:
        """The position after the byte that leads nearest to the end, as far as the automaton can tell.

        Preferably to an item that can no longer become a value that it must differ from, or, where two items must be
        equal, still can become one that was written. Where none of those can be written again, the shortest item comes
        twice in the end, for it is looked for in the same way each time.
        """
        here = self._from(self.twin(position))
        _, rank = self._prospects(position)
        best, nearest = -1, (True, 3, 0)
        in_string = self._record(self.twin(position))[1] in _IN_STRING
        hints = self._repeating_bytes(position) if self._shapes.repeats else ()
        names = () if self._shapes.repeats else next_name_bytes(self._a, self.twin(position))
        for byte in (*hints, *names, *_NEAREST_FIRST):
            if byte in _SPACES and not in_string and not self._gap:
                continue
            to = self.accept_byte(position, byte)
            if to < 0:
                continue
            if self.may_end(to):
                return to
            avoided, after = self._prospects(to)
            if best >= 0 and (avoided, after) > nearest[:2]:
                continue
            there = (avoided, after, self._from(self.twin(to)))
            if best < 0 or there < nearest:
                best, nearest = to, there
                if not avoided and (after < rank or (after == rank and there[2] < here)):
                    break
        assert best >= 0
        return best

    def _prospects(self, position: int) -> tuple[bool, int]:
        """Whether an item that has begun can still become a value that it must differ from; and of two equal items
        whether they are there or demanded by the way that the current one is read (0), the current one can still become
        equal to an earlier one (1), or neither (2)."""
        twin, trail = self.state(position)
        if trail is None:
            return False, 0
        awaited = trail.scalar is not None and trail.scalar.kind == AWAITED
        if not self._shapes.repeats:
            return trail.may_repeat and not awaited, 0
        differ = wanted = hoped = False
        for k, branches in enumerate(self._branches_of(twin, trail)):
            is_open = trail.open[k]
            if any(b.tracked and not b.repeats for b in branches):
                differ = differ or (bool(is_open) and not awaited)
            elif branches and all(b.repeats for b in branches):
                wanted = True
                hoped = hoped or (bool(is_open) and self._is_near(trail, k))
        return differ, 0 if not wanted else 1 if hoped else 2

    def _is_near(self, trail: Trail, k: int) -> bool:
        """Whether the number that is being read, if it is one, can become what it has to be as numbers are written.

        By an exponent any digits can.
        """
        scalar = trail.scalar
        if scalar is None or scalar.kind != ATOM:
            return True
        if k < len(trail.levels) - 1:
            return len(scalar.text) < _LONG_NUMBER
        return any(self.values.plain_text(v).startswith(scalar.text) for v in trail.open[k] or ())

    def _branches_of(self, twin: int, trail: Trail) -> list[list[ArrayBranch]]:
        """The array branches of each level of a trail."""
        stack = self._record(twin)[0]
        out = []
        for _ in trail.levels:
            out.append(self._branches(twin, stack))
            stack = self._frame(stack)[0]
        return out[::-1]

    def _repeating_bytes(self, position: int) -> list[int]:
        """Bytes with which an item goes on to equal an earlier one, where nothing asks it to differ."""
        twin, trail = self.state(position)
        if trail is None or trail.scalar is None or not trail.may_repeat:
            return []
        out: dict[int, None] = {}
        scalar, levels = trail.scalar, trail.levels
        for k, branches in enumerate(self._branches_of(twin, trail)):
            if trail.open[k] and not any(b.tracked and not b.repeats for b in branches):
                for value in sorted(trail.open[k] or ()):
                    if scalar.kind in (STRING, NAME):
                        found = [*self.values.following(value, levels, k + 1, scalar)]
                        out.update(dict.fromkeys(found or b'"'))
                    elif k == len(levels) - 1:
                        text = self.values.plain_text(value)
                        begun = len(scalar.text)
                        out.update(dict.fromkeys(text[begun : begun + 1] if text.startswith(scalar.text) else ()))
        return list(out)


_NEAREST_FIRST = (*b'"}]:,', *(b for b in range(0x21, 256) if b not in b'"}]:,'), *range(0x21))
_ESCAPED = [bytes((b,)) for b in b'0123456789abcdefnrtu"\\/']
_PLAIN = [json.dumps(chr(b))[1:-1].encode() if b < 0x80 else bytes((b,)) for b in range(256)]


def _phase(text: bytes) -> tuple[bool, ...]:
    """What of a number's text has been read, as far as it bears on the value of what follows."""
    lower = text.lower()
    return b"." in lower, b"e" in lower, lower.startswith(b"-"), text[-1:].isdigit()
