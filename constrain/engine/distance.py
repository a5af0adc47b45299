"""How far a position is from the end: the bytes of a short completion.

The stack is walked from the bottom up. For each frame the cost of everything after the value now being read is known
per variable that the value may satisfy; the state inside the value adds what the value itself still needs. Each step
is the fewest bytes possible, or, where a bounded search settles for less, an achievable number above it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from constrain.engine.branches import ArrayBranch, ObjectBranch, Shape
from constrain.engine.escapes import Ends, escape_ends
from constrain.grammars.json_schema.demands import Room, cheapest
from constrain.grammars.json_schema.inhabit import free_names, key_bytes
from constrain.grammars.json_schema.normal import Variable
from constrain.grammars.json_schema.text_distance import Spelling, text_distance
from constrain.kernels import layout as s
from constrain.kernels import memory as m
from constrain.kernels.intern import FRAME_WIDTH, POS_WIDTH

if TYPE_CHECKING:
    from constrain.engine.automaton import Automaton

_20 = (1 << 20) - 1
_24 = (1 << 24) - 1
_30 = (1 << 30) - 1
_LONG = 12  # bytes of the longest spelling of one character
_NOT_YET = 10_000
_IN_VALUE = (s.VALUE, s.COLON, s.STRING, s.ATOM, s.LITERAL, s.RAW, s.END)  # a frame has a slot then
_Key = int | bytes | None


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


class Measure:
    """Distances of one automaton. What is after a frame's value is kept, so one object serves many positions."""

    def __init__(self, automaton: Automaton) -> None:
        self._a = automaton
        self._shapes = automaton.shapes
        inhabitation = automaton.shapes.inhabitation
        self._shortest = inhabitation.shortest
        self._spelling, self._gap = inhabitation.spelling, inhabitation.gap
        self._comma = 1 + self._gap
        self._rests: dict[int, list[float]] = {}
        self._plain = int(automaton.C[m.PLAIN_ESCAPES])

    def _escape_ends(self, x: int) -> Ends:
        """How the escape that register x holds can end; empty where it holds none."""
        return escape_ends(x, self._plain)

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
        owner, vset, ways = self._shapes.slots[frame.state]
        shape, _ = self._shapes.sets[owner]
        out = [math.inf] * len(self._shapes.vsets[vset])
        if shape.kind == s.ROOT_KIND:
            if frame.count and self._a.around is not None:
                return self._a.around.rests(frame.count, len(out))
            return [0.0] * len(out)
        if shape.undecided is not None:
            return [min(after for _, after in self._told(frame, shape))]
        for variable, i in ways:
            out[variable] = min(out[variable], self.finish(frame, shape, shape.branches[i], None, after_value=True))
        return out

    def _told(self, frame: _Frame, shape: Shape, values: Iterable[int] = ()) -> Iterator[tuple[bytes, float]]:
        """Some values of the member that decides a choice, out of those of these numbers; and the bytes after each."""
        assert shape.undecided is not None
        for index, known, branch in self._shapes.weighed(shape, values):
            yield shape.undecided.values[index], self.finish(frame, known, branch, None, after_value=True)

    def _branches(self, shape: Shape, live: tuple[int, ...]) -> Iterator[tuple[Shape, ObjectBranch | ArrayBranch]]:
        """The live branches; of a choice some of the alternatives."""
        if shape.undecided is not None:
            yield from ((known, branch) for _, known, branch in self._shapes.weighed(shape))
        else:
            yield from ((shape, shape.branches[i]) for i in live)

    def finish(
        self, frame: _Frame, shape: Shape, branch: ObjectBranch | ArrayBranch, key: _Key, *, after_value: bool
    ) -> float:
        """Bytes that close a container under one branch, and everything after it.

        `key` is a name taken as written already, a declared one by its number; `after_value` says that a comma comes
        before a new part.
        """
        above = self.rest(frame.parent)[branch.variable]
        if isinstance(branch, ArrayBranch):
            if branch.repeats:  # other alternatives are nearer: this one may not end yet
                above += _NOT_YET
            if branch.items is not None:
                rest = branch.items.finish(branch.state, frame.count, self._shortest, self._gap)
                return rest - (0 if after_value or not rest else self._comma) + 1 + above
            parts = [self._shortest(self._item(branch, k)) for k in range(frame.count, branch.alternative.minimum)]
        else:
            total = self._missing(frame, shape, branch, key)
            return total - (0 if after_value or not total else self._comma) + 1 + above
        commas = len(parts) if after_value else max(0, len(parts) - 1)
        return sum(parts) + commas * self._comma + 1 + above

    @staticmethod
    def _item(branch: ArrayBranch, position: int) -> Variable:
        a = branch.alternative
        part = a.prefix[position] if position < len(a.prefix) else a.items
        assert part is not None
        return part

    def _missing(self, frame: _Frame, shape: Shape, branch: ObjectBranch, key: _Key) -> float:
        """Bytes of the members that the object still needs, with a comma each; the one named `key` is there."""
        a = branch.alternative
        count = frame.count + (key is not None)
        unseen = [i for i in range(len(shape.names)) if i != key and not frame.has_seen(shape, i)]
        required = [i for i in unseen if branch.required >> i & 1]
        bare = not branch.clauses and a.minimum - count <= len(required)  # nothing but what is required matters
        to_come, free = self._shapes.to_come(shape, branch)
        wanted = required if bare else [i for i in unseen if to_come >> i & 1]
        declared = {shape.names[i]: part for i in wanted if (part := branch.values[i]) is not None}
        names: dict[frozenset[int], list[int]] = {}

        def free_cost(members: frozenset[int], k: int) -> float:
            known = names.get(members, [])
            if len(known) <= k:
                known = names[members] = self._new_names(frame, shape, members, key, k + 1)
            return known[k] + 2 if k < len(known) else math.inf

        room = Room(
            declared,
            {} if bare else free,
            [shape.names[i] for i in required],
            a.minimum - count,
            None if a.maximum is None else a.maximum - count,
            lambda part: self._gap + self._value_bytes(shape, part),
            lambda name: key_bytes(name, self._spelling),
            free_cost,
        )
        return cheapest(room, branch.clauses)

    def _new_names(self, frame: _Frame, shape: Shape, members: frozenset[int], key: _Key, count: int) -> list[int]:
        """Bytes of the shortest free names of a class that are not in use."""
        taken = self._taken(frame, shape) + ([key] if isinstance(key, bytes) else [])
        assert shape.members is not None
        if not shape.members.components:
            return free_names(taken, count, self._spelling)
        first = self._shapes.shortest_name(shape.keys, members)
        if first is None:
            return []
        if count == 1 and first not in taken:
            return [sum(self._spelling[b] for b in first)]
        used = set(taken)
        texts = self._shapes.short_names(shape.keys, members)
        found = list(islice((sum(self._spelling[b] for b in t) for t in texts if t not in used), count))
        return found + [_LONG * (len(first) + i + 1) for i in range(count - len(found))]

    def _value_bytes(self, shape: Shape, value: Variable) -> float:
        """Bytes of a colon and a value; none for the strings of an array, which are read as names are."""
        return 0 if shape.kind == s.UNIQUE_KIND else self._comma + self._shortest(value)

    def _taken(self, frame: _Frame, shape: Shape) -> list[bytes]:
        """Names that a new free member cannot have: the declared ones, and the free ones in use."""
        return [n.encode() for n in shape.names] + self._a.free_names(frame.free)

    def value(self, stack: int) -> float:
        """Bytes of a value and everything after it, before its first byte."""
        frame = _Frame(self._a, stack)
        owner, vset, _ = self._shapes.slots[frame.state]
        shape, _ = self._shapes.sets[owner]
        if shape.undecided is not None:
            return min(_spell(value, 0, [], self._spelling) + 2 + r for value, r in self._told(frame, shape))
        rest = self.rest(stack)
        return min(self._shortest(v) + r for v, r in zip(self._shapes.vsets[vset], rest, strict=True))

    def string(self, stack: int, q: int, x: int, n: int) -> float:
        """Inside a string that an automaton describes."""
        if x != s.X_NONE:
            scanners = self._shapes.scanners
            counted = int(self._a.store.tables[m.STATE][q * s.STATE_WIDTH]) & s.COUNTED
            return min(
                (
                    cost + self.string(stack, to, s.X_NONE, n + 1 if counted else 0)
                    for cost, ranges in self._escape_ends(x)
                    for to in scanners.successors(q, ranges)
                ),
                default=math.inf,
            )
        rest = self.rest(stack)
        best = math.inf
        for language, state, entries in self._shapes.scanners.text_parts(q):
            for e in entries:
                high = None if e.high >= 1 << 60 else e.high - n
                cost = text_distance(language, state, e.low - n, high, self._spelling)
                best = min(best, cost + 1 + rest[e.variable])
        return best

    def literal(self, stack: int, q: int, x: int, first: int) -> float:
        """Inside one of a set of strings."""
        low, high, depth = q & _20, q >> 20 & _20, q >> 40
        best = math.inf
        frame = _Frame(self._a, stack)
        shape, _ = self._shapes.sets[self._shapes.slots[frame.state][0]]
        if shape.undecided is not None:
            ends, spelling = self._escape_ends(x), self._spelling
            left = self._shapes.weighed_within(
                shape, low, high, lambda value: _spell(value, depth, ends, spelling) < math.inf
            )
            return min(_spell(v, depth, ends, spelling) + 1 + r for v, r in self._told(frame, shape, left))
        rest = self.rest(stack)
        literals = self._shapes.scanners.literals[first]
        for text, variables in zip(literals.texts[low:high], literals.variables[low:high], strict=True):
            cost = _spell(text, depth, self._escape_ends(x), self._spelling) + 1
            best = min(best, cost + min(r for v, r in enumerate(rest) if variables >> v & 1))
        return best

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
        for owner, branch in self._branches(shape, live):
            if mode == s.OBJECT_NEXT:
                assert isinstance(branch, ObjectBranch)
                best = min(best, self._next_member(frame, owner, branch))
            else:
                best = min(best, self.finish(frame, owner, branch, None, after_value=mode == s.AFTER))
        return best

    def _next_member(self, frame: _Frame, shape: Shape, branch: ObjectBranch) -> float:
        if self._missing(frame, shape, branch, None):
            return self.finish(frame, shape, branch, None, after_value=False)
        maximum = branch.alternative.maximum
        if maximum is not None and frame.count >= maximum:
            return math.inf
        best = math.inf
        for i in range(len(shape.names)):
            if branch.allowed >> i & 1 and not frame.has_seen(shape, i) and self._fits(frame, shape, branch, i):
                name = key_bytes(shape.names[i], self._spelling)
                best = min(best, name + self._after_name(frame, shape, branch, i + 1, i))
        for members in branch.free if self._fits(frame, shape, branch, b"") else ():
            which = s.FREE_BIT | self._shapes.class_outcome(members)
            for length in self._new_names(frame, shape, members, None, 1):
                best = min(best, length + 2 + self._after_name(frame, shape, branch, which, b"\0" * length))
        return best

    def _after_name(self, frame: _Frame, shape: Shape, branch: ObjectBranch, which: int, key: _Key) -> float:
        """Bytes after a member's name: its value, which may serve what is demanded, and the rest."""
        return min(
            (
                self._value_bytes(shape, part) + self.finish(frame, shape, target, key, after_value=True)
                for part, target in self._shapes.successors(shape, branch, which)
            ),
            default=math.inf,
        )

    def key(self, stack: int, q: int, x: int, n: int) -> float:
        """Inside a member's name."""
        frame = _Frame(self._a, stack)
        shape, live = self._shapes.sets[frame.state]
        best = self._key(frame, self._branches(shape, live), q, x, n)
        if best == math.inf and shape.undecided is not None:  # a name that only others have
            every = self._shapes.side_by_side(shape)
            best = self._key(frame, ((every, branch) for branch in every.branches), q, x, n)
        return best

    def _key(
        self, frame: _Frame, branches: Iterable[tuple[Shape, ObjectBranch | ArrayBranch]], q: int, x: int, n: int
    ) -> float:
        low, high, depth = q & _20, q >> 20 & _20, q >> 40
        best = math.inf
        for shape, branch in branches:
            assert isinstance(branch, ObjectBranch)
            for name in range(low, high):
                if not branch.allowed >> name & 1 or frame.has_seen(shape, name):
                    continue
                if self._fits(frame, shape, branch, name):
                    cost = _spell(shape.names[name].encode(), depth, self._escape_ends(x), self._spelling) + 1
                    best = min(best, cost + self._after_name(frame, shape, branch, name + 1, name))
            if n >> 60 and branch.free and self._fits(frame, shape, branch, b""):
                best = min(best, self._free_key(frame, shape, branch, x, n))
        return best

    def _fits(self, frame: _Frame, shape: Shape, branch: ObjectBranch, key: _Key) -> bool:
        """Whether a member of that name leaves room for those that are required."""
        maximum = branch.alternative.maximum
        if maximum is None:
            return True
        required = sum(
            branch.required >> i & 1 for i in range(len(shape.names)) if i != key and not frame.has_seen(shape, i)
        )
        return frame.count + 1 + required <= maximum

    def _free_key(self, frame: _Frame, shape: Shape, branch: ObjectBranch, x: int, n: int) -> float:
        """Inside a name that may become a free one."""
        prefix = self._a.name(n & _24)
        state = n >> 24 & _30
        scanners = self._shapes.scanners
        assert shape.members is not None
        if shape.members.components:
            return self._classed_key(frame, shape, branch, x, state, prefix)
        begun = scanners.free_text_distance[state - scanners.free_text_start]
        if x != s.X_NONE:
            begun, prefix = min(cost for cost, _ in self._escape_ends(x)), prefix + b"\0"
        elif begun:
            prefix += b"\0" * begun
        added = free_names(self._taken(frame, shape), 1, self._spelling, prefix)[0]
        name = prefix + b"\0" * added
        return begun + added + 1 + self._after_free_name(frame, shape, branch, frozenset(), name)

    def _classed_key(
        self, frame: _Frame, shape: Shape, branch: ObjectBranch, x: int, state: int, prefix: bytes
    ) -> float:
        scanners = self._shapes.scanners
        used = set(self._taken(frame, shape))
        starts = [(0, state, prefix)]
        if x != s.X_NONE:
            # A character with which a name in use goes on is told apart from the others.
            nexts = {t[len(prefix) :].decode()[0] for t in used if len(t) > len(prefix) and t.startswith(prefix)}
            starts = []
            for cost, ranges in self._escape_ends(x):
                rest_of = ranges
                for point in map(ord, nexts):
                    if any(a <= point <= b for a, b in ranges):
                        rest_of = [r for a, b in rest_of for r in ((a, min(b, point - 1)), (max(a, point + 1), b))]
                        rest_of = [(a, b) for a, b in rest_of if a <= b]
                        text = prefix + chr(point).encode()
                        starts += [(cost, to, text) for to in scanners.successors(state, [(point, point)])]
                starts += [(cost, to, prefix + b"\0") for to in scanners.successors(state, rest_of)]
        best = math.inf
        for members in branch.free:
            for cost, at, text in starts:
                rest = self._shapes.shortest_name(at, members)
                if rest is None:
                    continue
                name: bytes | None = text + rest
                if name in used:
                    texts = self._shapes.short_names(at, members, text)
                    name = next((t for t in texts if t not in used), None)
                if name is not None:
                    added = sum(self._spelling[b] for b in name[len(text) :])
                    after = self._after_free_name(frame, shape, branch, members, name)
                    best = min(best, cost + added + 1 + after)
        return best

    def _after_free_name(
        self, frame: _Frame, shape: Shape, branch: ObjectBranch, members: frozenset[int], name: bytes
    ) -> float:
        """After a free name: its value, which may serve what is still demanded, and the rest."""
        if members not in branch.free:
            return math.inf
        which = s.FREE_BIT | self._shapes.class_outcome(members)
        return self._after_name(frame, shape, branch, which, name)


def _spell(text: bytes, depth: int, ends_of: Ends, spelling: Spelling) -> float:
    """Bytes that spell the rest of a text after `depth` bytes of it, inside an escape that can end so, if any."""
    rest = text[depth:]
    cost = 0
    if ends_of:
        size = 1
        while size < len(rest) and rest[size] & 0xC0 == 0x80:
            size += 1
        point = ord(rest[:size].decode()) if rest else -1
        ends = [c for c, ranges in ends_of if any(a <= point <= b for a, b in ranges)]
        if not ends:
            return math.inf
        cost, rest = min(ends), rest[size:]
    return cost + sum(spelling[b] for b in rest)


def distance(automaton: Automaton, position: int, measure: Measure | None = None) -> int:
    """Bytes of a short completion from a position that is not complete.

    `measure` is one of the automaton's, for callers with many positions.
    """
    at = position * POS_WIDTH
    stack, mode, q, x, n = automaton.store.tables[m.POS][at : at + 5].tolist()
    x &= (1 << s.MARK_SHIFT) - 1
    measure = measure or Measure(automaton)
    gap = automaton.shapes.inhabitation.gap
    if mode == s.VALUE:
        cost = max(0, gap - x) + measure.value(stack)
    elif mode == s.COLON:
        cost = 1 + gap + measure.value(stack)
    elif mode == s.STRING:
        cost = measure.string(stack, q, x, n)
    elif mode in (s.ATOM, s.RAW):
        cost = measure.atom(stack, q)
    elif mode == s.LITERAL:
        cost = measure.literal(stack, q, x, n)
    elif mode == s.KEY:
        cost = measure.key(stack, q, x, n)
    elif mode == s.END:
        cost = 0
    else:
        cost = measure.container(stack, mode)
        if mode == s.OBJECT_NEXT:
            cost += max(0, gap - x)
    return int(cost)


def next_name_bytes(automaton: Automaton, position: int) -> list[int]:
    """Inside a member's name, or one of a set of strings: bytes with which those go on that may still be meant."""
    at = position * POS_WIDTH
    stack, mode, q, x, n = automaton.store.tables[m.POS][at : at + 5].tolist()
    low, high, depth = q & _20, q >> 20 & _20, q >> 40
    if x & ((1 << s.MARK_SHIFT) - 1) != s.X_NONE:
        return []
    if mode == s.LITERAL:
        names = automaton.shapes.scanners.literals[n].texts[low:high]
    elif mode == s.KEY:
        shape, _ = automaton.shapes.sets[_Frame(automaton, stack).state]
        names = [name.encode() for name in shape.names[low:high]]
    else:
        return []
    return list(dict.fromkeys(name[depth] for name in names if len(name) > depth))


def name_slack(automaton: Automaton, stack: int, mode: int, n: int) -> float:
    """Bytes by which two positions may differ in their distance if only the text of a free name differs.

    The others are those of one of the positions. A name that is in use, or nearly so, takes the next ones in length.
    """
    shapes = automaton.shapes
    spelling = shapes.inhabitation.spelling
    total = 0
    at = stack
    while at >= 0:
        frame = _Frame(automaton, at)
        shape, live = shapes.sets[shapes.slots[frame.state][0] if at != stack or mode in _IN_VALUE else frame.state]
        at = frame.parent
        if shape.members is None:
            continue
        taken = len(shape.names) + len(automaton.free_names(frame.free)) + 2
        if not shape.members.components:
            total += 2 * taken.bit_length() + 2
            continue
        longest = 0
        for i in live:
            branch = shape.branches[i]
            for members in branch.free if isinstance(branch, ObjectBranch) else ():
                texts = list(islice(shapes.short_names(shape.keys, members), taken))
                if mode == s.KEY and (rest := shapes.shortest_name(n >> 24 & _30, members)) is not None:
                    texts.append(rest)
                longest = max(longest, *(sum(spelling[b] for b in text) for text in texts), 0)
        total += 2 * longest + 2
    return total
