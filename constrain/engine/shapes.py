"""Lock-step frames: sets of alternatives for objects and arrays, and the moves between them.

While an object or array is read, all alternatives that could still hold are tracked together. What the text itself
decides (which names were seen, how many items there are) is kept once, in the frame; an alternative is only alive or
not. So the state of a frame is a set of alternatives, a member's value is read for the set of variables that they ask
of it (a *slot*), and its outcome, the subset that it satisfied, says which of them survive. This is the determinisation
of visibly pushdown automata (Alur and Madhusudan, 2004), done when a set is met for the first time.
"""

from __future__ import annotations

from dataclasses import dataclass

from constrain.engine.scanners import Scanners, add_names
from constrain.engine.store import Store
from constrain.grammars.json_schema.inhabit import Inhabitation
from constrain.grammars.json_schema.normal import ArrayAlternative, NormalForm, ObjectAlternative, Variable
from constrain.kernels import memory as m
from constrain.kernels.step import (
    ARRAY_KIND,
    FST_WIDTH,
    OBJECT_KIND,
    ROOT_KIND,
    SLOT_WIDTH,
    V_ARRAY,
    V_ATOM,
    V_OBJECT,
    V_STRING,
    VSET_WIDTH,
)

_UNBOUNDED = 1 << 60


@dataclass(frozen=True, slots=True)
class ObjectBranch:
    """An object alternative on behalf of one variable of the set; only names and values that can exist remain."""

    variable: int
    alternative: ObjectAlternative
    values: tuple[Variable | None, ...]  # by number of declared name; None: not admitted
    additional: Variable | None
    allowed: int  # bit masks over declared names
    required: int


@dataclass(frozen=True, slots=True)
class ArrayBranch:
    """An array alternative on behalf of one variable of the set, with the largest length that can be reached."""

    variable: int
    alternative: ArrayAlternative
    longest: int


@dataclass(frozen=True, slots=True)
class Shape:
    """All alternatives of a set of variables for objects or for arrays."""

    kind: int
    names: tuple[str, ...]
    first_name: int
    prefix: int
    saturation: int
    branches: tuple[ObjectBranch, ...] | tuple[ArrayBranch, ...]


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
        self.slots: list[tuple[int, int, tuple[int, ...]]] = []  # set, number of variable set, variable by live branch
        self._root_shape = Shape(ROOT_KIND, (), 0, 0, 0, ())
        self._add_set(self._root_shape, ())  # number 0 is "none"
        root = self._set_numbers[id(self._root_shape), (0,)] = self._add_set(self._root_shape, (0,))
        self._add_slot(0, self.vset((forms.root,)), ())
        self.root_slot = self._add_slot(root, self.vset((forms.root,)), (0,))

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

    def _add_slot(self, owner: int, vset: int, mapping: tuple[int, ...]) -> int:
        number = len(self.slots)
        # With one variable to satisfy, a valid value keeps every branch alive.
        direct = owner if owner and all(v == 0 for v in mapping) else -1
        self._store.append(m.SLOT, (owner, vset, direct))
        assert self._store.used(m.SLOT) == (number + 1) * SLOT_WIDTH
        self.slots.append((owner, vset, mapping))
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
        words = _words(len(shape.names))
        alt = self._alternatives(shape, live)
        record = (
            shape.kind, alt, len(live), self.outcome(bits), shape.first_name, len(shape.names), words,
            shape.saturation, shape.prefix, 0,
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
            if isinstance(branch, ObjectBranch):
                a = branch.alternative
                maximum = _UNBOUNDED if a.maximum is None else min(a.maximum, _UNBOUNDED)
                masks = store.append(m.WORDS, _split(branch.allowed, words) + _split(branch.required, words))
                records += [
                    min(a.minimum, _UNBOUNDED), maximum, int(branch.additional is not None), masks, masks + words,
                    branch.required.bit_count(),
                ]  # fmt: skip
            else:
                records += [branch.alternative.minimum, branch.longest, 0, 0, 0, 0]
        return store.append(m.ALT, records)

    # ---- moves -------------------------------------------------------------------------------------------------------

    def drop(self, number: int, index: int) -> int:
        """The set without its `index`-th live branch; 0 when none is left."""
        shape, live = self.sets[number]
        rest = live[:index] + live[index + 1 :]
        return self._set(shape, rest) if rest else 0

    def after(self, slot: int, outcome: int) -> int:
        """The set after a value with this outcome; 0 when no branch survives."""
        owner, _, mapping = self.slots[slot]
        bits = self.outcomes[outcome]
        shape, live = self.sets[owner]
        rest = tuple(b for b, v in zip(live, mapping, strict=True) if bits >> v & 1)
        return self._set(shape, rest) if rest else 0

    def slot(self, number: int, which: int) -> int:
        """The slot for a member (1 + number of its declared name, 0 for a free one) or item (position) of a set."""
        shape, live = self.sets[number]
        asked: list[Variable] = []
        for i in live:
            branch = shape.branches[i]
            if isinstance(branch, ObjectBranch):
                part = branch.values[which - 1] if which else branch.additional
            else:
                a = branch.alternative
                part = a.prefix[which] if which < len(a.prefix) else a.items
            assert part is not None
            asked.append(part)
        variables = tuple(dict.fromkeys(asked))
        return self._add_slot(number, self.vset(variables), tuple(variables.index(v) for v in asked))

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
            shape = self._array_shape([(i, a) for i, v in enumerate(variables) for a in forms.arrays(v)])
        return self._set(shape, tuple(range(len(shape.branches)))) if shape.branches else 0

    def _object_shape(self, alternatives: list[tuple[int, ObjectAlternative]]) -> Shape:
        inhabited = self.inhabitation.inhabited
        declared: dict[str, None] = {}
        for _, a in alternatives:
            declared.update(dict.fromkeys(a.properties))
            declared.update(dict.fromkeys(a.required))
        names = sorted((n for n in declared if _writable(n)), key=lambda n: n.encode())
        branches: list[ObjectBranch] = []
        for variable, a in alternatives:
            additional = a.additional if a.additional is not None and inhabited(a.additional) else None
            values: list[Variable | None] = []
            allowed = required = 0
            needed = set(a.required)
            for i, name in enumerate(names):
                part = a.properties.get(name, additional)
                if part is not None and part is not additional and not inhabited(part):
                    part = None
                values.append(part)
                if part is not None:
                    allowed |= 1 << i
                if name in needed:
                    required |= 1 << i
            missing = required & ~allowed or len(needed) > required.bit_count()
            too_few = additional is None and allowed.bit_count() < a.minimum
            if missing or too_few or (a.maximum is not None and a.maximum < a.minimum):
                continue
            branches.append(ObjectBranch(variable, a, tuple(values), additional, allowed, required))
        bounds = [b.alternative.minimum for b in branches]
        bounds += [b.alternative.maximum for b in branches if b.alternative.maximum is not None]
        return Shape(OBJECT_KIND, tuple(names), add_names(self._store, [n.encode() for n in names], [0] * len(names)), 0, max([1, *bounds]), tuple(branches))

    def _array_shape(self, alternatives: list[tuple[int, ArrayAlternative]]) -> Shape:
        branches = []
        for variable, a in alternatives:
            longest = self.inhabitation.required_length(a)
            if a.minimum <= longest:
                branches.append(ArrayBranch(variable, a, longest))
        prefix = max((len(b.alternative.prefix) for b in branches), default=0)
        bounds = [b.alternative.minimum for b in branches]
        bounds += [b.longest for b in branches if b.longest < _UNBOUNDED]
        return Shape(ARRAY_KIND, (), 0, prefix, max([1, prefix, *bounds]), tuple(branches))


def _writable(name: str) -> bool:
    """Names with a lone surrogate have no UTF-8 form and are never written."""
    return not any("\ud800" <= c <= "\udfff" for c in name)


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
