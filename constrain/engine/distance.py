"""How far a position is from the end: the bytes of a short completion.

The stack is walked from the bottom up. For each frame the cost of everything after the value now being read is known
per variable that the value may satisfy; the state inside the value adds what the value itself still needs. Each step
is the fewest bytes possible, except where free names or bounded searches settle for an achievable number above it.
"""

from __future__ import annotations

import math
from heapq import nsmallest

from constrain.engine.automaton import Automaton
from constrain.engine.shapes import ArrayBranch, ObjectBranch, Shape
from constrain.grammars.json_schema.inhabit import free_name_bytes, key_bytes
from constrain.grammars.json_schema.normal import Variable
from constrain.grammars.json_schema.text_distance import text_distance
from constrain.kernels import memory as m
from constrain.kernels import step as s
from constrain.kernels.intern import FRAME_WIDTH, POS_WIDTH

_20 = (1 << 20) - 1
_ESCAPE = 11  # bytes that surely finish an escape: the rest of a surrogate pair


class _Frame:
    """A frame's fields in Python."""

    def __init__(self, automaton: Automaton, number: int) -> None:
        store = automaton.store
        at = number * FRAME_WIDTH
        self.parent, self.state, self.count, self._seen, self.free, _ = store.tables[m.FRAMES][at : at + 6].tolist()
        self._seen_words = store.tables[m.SEEN]

    def has_seen(self, shape: Shape, name: int) -> bool:
        """Whether declared name number `name` was written."""
        if len(shape.names) <= 62:
            return bool(self._seen >> name & 1)
        return bool(self._seen and int(self._seen_words[self._seen + (name >> 6)]) >> (name & 63) & 1)


class _Measure:
    def __init__(self, automaton: Automaton) -> None:
        self._a = automaton
        self._shapes = automaton.shapes
        self._shortest = automaton.shapes._inhabitation.shortest
        self._rests: dict[int, list[float]] = {}

    def rest(self, number: int) -> list[float]:
        """Bytes from after the value of a frame's slot to the end, for each variable of the slot's set."""
        chain = []
        at = number
        while at not in self._rests:
            chain.append(at)
            parent = _Frame(self._a, at).parent
            if parent < 0:
                break
            at = parent
        for at in reversed(chain):
            self._rests[at] = self._rest_of(at)
        return self._rests[number]

    def _rest_of(self, number: int) -> list[float]:
        frame = _Frame(self._a, number)
        owner, vset, mapping = self._shapes.slots[frame.state]
        shape, live = self._shapes.sets[owner]
        out = [math.inf] * len(self._shapes.vsets[vset])
        if shape.kind == s.ROOT_KIND:
            return [0.0] * len(out)
        for i, variable in zip(live, mapping, strict=True):
            out[variable] = min(out[variable], self.finish(frame, shape, i, None, after_value=True))
        return out

    def finish(self, frame: _Frame, shape: Shape, index: int, key: int | None, *, after_value: bool) -> float:
        """Bytes that close a container under one branch, and everything after it.

        `key` is a declared name taken as written already; `after_value` says that a comma comes before a new part.
        """
        branch = shape.branches[index]
        above = self.rest(frame.parent)[branch.variable]
        if isinstance(branch, ArrayBranch):
            parts = [
                self._shortest(self._item(branch, k)) for k in range(frame.count, branch.alternative.minimum)
            ]
        else:
            parts = self._missing(frame, shape, branch, key)
        commas = len(parts) if after_value else max(0, len(parts) - 1)
        return sum(parts) + commas + 1 + above

    @staticmethod
    def _item(branch: ArrayBranch, position: int) -> Variable:
        a = branch.alternative
        part = a.prefix[position] if position < len(a.prefix) else a.items
        assert part is not None
        return part

    def _missing(self, frame: _Frame, shape: Shape, branch: ObjectBranch, key: int | None) -> list[float]:
        """Bytes of each member that the object still needs."""
        def member(i: int) -> float:
            part = branch.values[i]
            return math.inf if part is None else key_bytes(shape.names[i]) + 1 + self._shortest(part)

        unseen = [i for i in range(len(shape.names)) if i != key and not frame.has_seen(shape, i)]
        parts = [member(i) for i in unseen if branch.required >> i & 1]
        count = frame.count + (key is not None)
        extra = branch.alternative.minimum - count - len(parts)
        if extra > 0:
            options = [member(i) for i in unseen if branch.allowed >> i & 1 and not branch.required >> i & 1]
            chosen = nsmallest(extra, options)
            if branch.additional is not None:
                free = self.free_member(frame, branch)
                chosen = [c for c in chosen if c <= free]
                chosen += [free] * (extra - len(chosen))
            parts += chosen
        return parts

    def free_member(self, frame: _Frame, branch: ObjectBranch) -> float:
        """Bytes that surely write one more member with a free name."""
        assert branch.additional is not None
        return free_name_bytes(frame.count + branch.alternative.minimum) + 3 + self._shortest(branch.additional)

    def value(self, stack: int) -> float:
        """Bytes of a value and everything after it, before its first byte."""
        _, vset, _ = self._shapes.slots[_Frame(self._a, stack).state]
        rest = self.rest(stack)
        return min(self._shortest(v) + r for v, r in zip(self._shapes.vsets[vset], rest, strict=True))

    def string(self, stack: int, q: int, x: int, n: int) -> float:
        """Inside a string."""
        rest = self.rest(stack)
        if x != s.X_NONE:
            return _ESCAPE + self._after_escape(stack, q, x, n)
        best = math.inf
        for language, state, entries in self._shapes.scanners.text_parts(q):
            for e in entries:
                high = None if e.high >= 1 << 60 else e.high - n
                cost = text_distance(language, state, e.low - n, high)
                best = min(best, cost + 1 + rest[e.variable])
        return best

    def _after_escape(self, stack: int, q: int, x: int, n: int) -> float:
        kind = x & 15
        digits, value = (x >> 20 & 7, x >> 24 & 0xFFFF) if kind in (s.X_HEX, s.X_LOW) else (0, 0)
        high = x >> 8 & 1023 if kind in (s.X_HIGH, s.X_HIGH_BACKSLASH, s.X_LOW) else -1
        at = self._a._escape_successors(q, digits | value << 3 | (high + 1) << 19)
        words = self._a.store.tables[m.WORDS]
        states = words[at + 1 : at + 1 + int(words[at])].tolist() if at else []
        counted = int(self._a.store.tables[m.STATE][q * s.STATE_WIDTH]) & s.COUNTED
        return min((self.string(stack, to, 0, n + 1 if counted else 0) for to in states), default=math.inf)

    def atom(self, stack: int, q: int) -> float:
        """Inside a number or a literal."""
        rest = self.rest(stack)
        return min(
            language.shortest(state) + rest[v]
            for language, state, variables in self._shapes.scanners.atom_parts(q)
            for v in variables
        )

    def container(self, stack: int, mode: int) -> float:
        """Between the members or items of a container."""
        frame = _Frame(self._a, stack)
        shape, live = self._shapes.sets[frame.state]
        best = math.inf
        for i in live:
            branch = shape.branches[i]
            if mode == s.OBJECT_NEXT:
                assert isinstance(branch, ObjectBranch)
                best = min(best, self._next_member(frame, shape, i, branch))
            else:
                best = min(best, self.finish(frame, shape, i, None, after_value=mode == s.AFTER))
        return best

    def _next_member(self, frame: _Frame, shape: Shape, index: int, branch: ObjectBranch) -> float:
        missing = self._missing(frame, shape, branch, None)
        if missing:
            return self.finish(frame, shape, index, None, after_value=False)
        maximum = branch.alternative.maximum
        if maximum is not None and frame.count >= maximum:
            return math.inf
        best = math.inf
        for i, part in enumerate(branch.values):
            if part is not None and not frame.has_seen(shape, i):
                cost = key_bytes(shape.names[i]) + 1 + self._shortest(part)
                best = min(best, cost + self.finish(frame, shape, index, i, after_value=True))
        if branch.additional is not None:
            best = min(best, self.free_member(frame, branch) + self.finish(frame, shape, index, None, after_value=True))
        return best

    def key(self, stack: int, q: int, x: int, n: int) -> float:
        """Inside a member's name."""
        frame = _Frame(self._a, stack)
        shape, live = self._shapes.sets[frame.state]
        low, high, depth = q & _20, q >> 20 & _20, q >> 40
        extra = 0 if x == s.X_NONE else _ESCAPE
        best = math.inf
        for i in live:
            branch = shape.branches[i]
            assert isinstance(branch, ObjectBranch)
            for name in range(low, high):
                part = branch.values[name]
                if part is None or frame.has_seen(shape, name):
                    continue
                needed = len(self._missing(frame, shape, branch, name))
                maximum = branch.alternative.maximum
                if maximum is not None and frame.count + 1 + needed > maximum:
                    continue
                text = shape.names[name].encode()[depth:]
                cost = extra + sum(_spelling(b) for b in text) + 2 + self._shortest(part)
                best = min(best, cost + self.finish(frame, shape, i, name, after_value=True))
            if n >> 60 and branch.additional is not None:
                continued = 3 + free_name_bytes(frame.count + branch.alternative.minimum)
                cost = extra + continued + 2 + self._shortest(branch.additional)
                best = min(best, cost + self.finish(frame, shape, i, None, after_value=True))
        return best


def _spelling(byte: int) -> int:
    if byte >= 0x20:
        return 2 if byte in (0x22, 0x5C) else 1
    return 2 if byte in (8, 9, 10, 12, 13) else 6


def distance(automaton: Automaton, position: int) -> int:
    """Bytes of a short completion from a position that is not complete."""
    at = position * POS_WIDTH
    stack, mode, q, x, n = automaton.store.tables[m.POS][at : at + 5].tolist()
    measure = _Measure(automaton)
    if mode == s.VALUE:
        cost = measure.value(stack)
    elif mode == s.COLON:
        cost = 1 + measure.value(stack)
    elif mode == s.STRING:
        cost = measure.string(stack, q, x, n)
    elif mode in (s.ATOM, s.RAW):
        cost = measure.atom(stack, q)
    elif mode == s.KEY:
        cost = measure.key(stack, q, x, n)
    elif mode == s.END:
        cost = 0
    else:
        cost = measure.container(stack, mode)
    return int(cost)
