"""Normal form: what a conjunction of subschemas means for one JSON type, as a union of alternatives.

A *variable* is a set of subschemas that must all hold, closed under the in-place conjunctions (`all_of`); it is what a
property, an item or the root asks of its value. For one JSON type a variable is a union of alternatives: one branch is
chosen from every `any_of` group and all assertions about that type are merged. Nothing is done before it is asked for,
and alternatives are kept apart, to be tracked in lock-step at run time, so overlapping branches need no disjointness.

The construction follows the guarded disjunctive normal form of the witness-generation algorithm of Attouche, Baazizi,
Colazzo, Ghelli, Sartiani and Scherzinger (PVLDB 2022).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.ir import SchemaDocument, Subschema
from constrain.grammars.json_schema.values import identity
from constrain.grammars.languages.number_constraint import NumberConstraint
from constrain.grammars.regex import search_language

Variable = frozenset[int]
ANYTHING: Variable = frozenset()

MAX_ALTERNATIVES = 4096
"""Alternatives of one variable for one type."""


@dataclass(frozen=True, slots=True)
class ObjectAlternative:
    """One way to be a valid object: values by declared name, the value of other members (None: closed), bounds."""

    properties: dict[str, Variable]
    additional: Variable | None
    required: tuple[str, ...]
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class ArrayAlternative:
    """One way to be a valid array: values of the first positions and of all later ones (None: no later ones)."""

    prefix: tuple[Variable, ...]
    items: Variable | None
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class StringAlternative:
    """One way to be a valid string: a finite set, or patterns to be found and a number of code points."""

    values: tuple[str, ...] | None
    patterns: tuple[str, ...]
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class AtomAlternatives:
    """The values of a variable that are neither strings nor containers."""

    null: bool
    booleans: tuple[bool, ...]
    numbers: tuple[NumberConstraint, ...]


class NormalForm:
    """Variables of one document and their alternatives, computed on demand and kept."""

    def __init__(self, document: SchemaDocument) -> None:
        self._subschemas: list[Subschema] = list(document.subschemas)
        self._literals: dict[object, Variable] = {}
        self._value_sets: dict[int, frozenset[Hashable]] = {}
        self._objects: dict[Variable, tuple[ObjectAlternative, ...]] = {}
        self._arrays: dict[Variable, tuple[ArrayAlternative, ...]] = {}
        self._strings: dict[Variable, tuple[StringAlternative, ...]] = {}
        self._atoms: dict[Variable, AtomAlternatives] = {}
        self._types: dict[Variable, int] = {}
        self._closures: dict[int, Variable] = {}
        self.root = self.variable((document.root,))

    # ---- variables ---------------------------------------------------------------------------------------------------

    def _closure(self, index: int) -> Variable:
        found = self._closures.get(index)
        if found is None:
            seen: set[int] = set()
            todo = [index]
            while todo:
                i = todo.pop()
                if i not in seen:
                    seen.add(i)
                    todo.extend(self._subschemas[i].all_of)
            # A reference and `true` say nothing themselves; leaving them out makes equal variables equal.
            found = frozenset(i for i in seen if not self._says_nothing(self._subschemas[i]))
            self._closures[index] = found
        return found

    @staticmethod
    def _says_nothing(s: Subschema) -> bool:
        return (
            s.types == ir.ANY_TYPE
            and s.values is None
            and not s.any_of
            and not s.properties
            and not s.required
            and s.additional is None
            and not s.prefix_items
            and s.items is None
            and s.pattern is None
            and s.minimum is s.maximum is s.exclusive_minimum is s.exclusive_maximum is s.multiple_of is None
            and s.max_length is s.max_items is s.max_properties is None
            and not s.min_length
            and not s.min_items
            and not s.min_properties
        )

    def variable(self, indices: Iterable[int]) -> Variable:
        """The variable in which all these subschemas hold."""
        out: Variable = ANYTHING
        for i in indices:
            out |= self._closure(i)
        return out

    def literal(self, value: object) -> Variable:
        """The variable whose only value is `value`."""
        key = identity(value)
        found = self._literals.get(key)
        if found is None:
            self._subschemas.append(Subschema(pointer="", values=[value]))
            found = self._literals[key] = frozenset((len(self._subschemas) - 1,))
        return found

    def pointer(self, variable: Variable) -> str:
        """The JSON pointer of a subschema of the variable, for messages."""
        pointers = [self._subschemas[i].pointer for i in sorted(variable)]
        return next((p for p in pointers if p), "")

    def types(self, variable: Variable) -> int:
        """The type atoms that the variable's own members admit; branches may admit fewer."""
        found = self._types.get(variable)
        if found is None:
            found = ir.ANY_TYPE
            for i in variable:
                s = self._subschemas[i]
                found &= s.types
                if s.values is not None:
                    found &= self._types_of(s.values)
            self._types[variable] = found
        return found

    @staticmethod
    def _types_of(values: list[object]) -> int:
        mask = 0
        for value in values:
            mask |= type_of(value)
        return mask

    # ---- alternatives ------------------------------------------------------------------------------------------------

    def _conjunctions(self, variable: Variable, types: int) -> list[Variable]:
        """The variable as a union of variables without `any_of`, those that admit none of `types` left out."""
        if not any(self._subschemas[i].any_of for i in variable):
            return [variable] if self.types(variable) & types else []
        found: dict[Variable, None] = {}
        for conjunction in self._expand(variable, frozenset(), types):
            found[conjunction] = None
            if len(found) > MAX_ALTERNATIVES:
                raise ResourceLimitError(
                    self.pointer(variable),
                    "anyOf",
                    f"its branches combine to more than {MAX_ALTERNATIVES} alternatives",
                    f"MAX_ALTERNATIVES = {MAX_ALTERNATIVES}",
                )
        out = list(found)
        if 1 < len(out) <= 256:  # an alternative that implies another one adds nothing
            out = [a for a in out if not any(b < a for b in out)]
        return out

    def _expand(self, members: Variable, chosen: frozenset[tuple[int, int]], types: int) -> Iterator[Variable]:
        types &= self.types(members)
        if not types:
            return
        for i in sorted(members):
            for g, group in enumerate(self._subschemas[i].any_of):
                if (i, g) in chosen:
                    continue
                chosen = chosen | {(i, g)}
                branches = [self._closure(b) for b in group]
                if any(b <= members for b in branches):
                    continue
                for branch in branches:
                    yield from self._expand(members | branch, chosen, types)
                return
        yield members

    def _members(self, conjunction: Variable) -> list[Subschema]:
        return [self._subschemas[i] for i in sorted(conjunction)]

    def _values(self, members: list[Subschema], types: int) -> list[object] | None:
        """The finite set of values of these types, where an `enum` or `const` makes it finite."""
        lists = [m.values for m in members if m.values is not None]
        if not lists:
            return None
        candidates = min(lists, key=len)
        return [
            v for v in candidates if type_of(v) & types and all(self._admits(m, v, in_place=False) for m in members)
        ]

    def objects(self, variable: Variable) -> tuple[ObjectAlternative, ...]:
        """The alternatives for objects."""
        found = self._objects.get(variable)
        if found is None:
            out: list[ObjectAlternative] = []
            for conjunction in self._conjunctions(variable, ir.OBJECT):
                members = self._members(conjunction)
                values = self._values(members, ir.OBJECT)
                if values is not None:
                    for value in values:
                        assert isinstance(value, dict)
                        named = {k: self.literal(v) for k, v in value.items()}
                        out.append(ObjectAlternative(named, None, tuple(value), len(value), len(value)))
                    continue
                out.append(self._merge_objects(members))
            found = self._objects[variable] = tuple(out)
        return found

    def _merge_objects(self, members: list[Subschema]) -> ObjectAlternative:
        relevant = [m for m in members if m.properties or m.additional is not None]
        properties: dict[str, Variable] = {}
        for m in relevant:
            for name in m.properties:
                if name not in properties:
                    asked = [o.properties.get(name, o.additional) for o in relevant]
                    properties[name] = self.variable(i for i in asked if i is not None)
        additional: Variable | None = self.variable(m.additional for m in relevant if m.additional is not None)
        if any(m.additional is not None and self._subschemas[m.additional].types == 0 for m in relevant):
            additional = None
        required: dict[str, None] = {}
        for m in members:
            required.update(dict.fromkeys(m.required))
        minimum = max([len(required), *(m.min_properties for m in members)])
        maxima = [m.max_properties for m in members if m.max_properties is not None]
        return ObjectAlternative(properties, additional, tuple(required), minimum, min(maxima, default=None))

    def arrays(self, variable: Variable) -> tuple[ArrayAlternative, ...]:
        """The alternatives for arrays."""
        found = self._arrays.get(variable)
        if found is None:
            out: list[ArrayAlternative] = []
            for conjunction in self._conjunctions(variable, ir.ARRAY):
                members = self._members(conjunction)
                values = self._values(members, ir.ARRAY)
                if values is not None:
                    for value in values:
                        assert isinstance(value, list)
                        items = tuple(self.literal(v) for v in value)
                        out.append(ArrayAlternative(items, None, len(value), len(value)))
                    continue
                out.append(self._merge_arrays(members))
            found = self._arrays[variable] = tuple(out)
        return found

    def _merge_arrays(self, members: list[Subschema]) -> ArrayAlternative:
        length = max((len(m.prefix_items) for m in members), default=0)
        prefix = []
        for k in range(length):
            asked = [m.prefix_items[k] if k < len(m.prefix_items) else m.items for m in members]
            prefix.append(self.variable(i for i in asked if i is not None))
        rest = [m.items for m in members if m.items is not None]
        items: Variable | None = self.variable(rest)
        if any(self._subschemas[i].types == 0 for i in rest):
            items = None
        maxima = [m.max_items for m in members if m.max_items is not None]
        minimum = max((m.min_items for m in members), default=0)
        return ArrayAlternative(tuple(prefix), items, minimum, min(maxima, default=None))

    def strings(self, variable: Variable) -> tuple[StringAlternative, ...]:
        """The alternatives for strings."""
        found = self._strings.get(variable)
        if found is None:
            out: dict[StringAlternative, None] = {}
            for conjunction in self._conjunctions(variable, ir.STRING):
                members = self._members(conjunction)
                values = self._values(members, ir.STRING)
                if values is not None:
                    texts = tuple(sorted(v for v in values if isinstance(v, str) and not _has_surrogate(v)))
                    if texts:
                        out[StringAlternative(texts, (), 0, None)] = None
                    continue
                patterns = tuple(sorted({m.pattern for m in members if m.pattern is not None}))
                maxima = [m.max_length for m in members if m.max_length is not None]
                minimum = max((m.min_length for m in members), default=0)
                out[StringAlternative(None, patterns, minimum, min(maxima, default=None))] = None
            found = self._strings[variable] = tuple(out)
        return found

    def atoms(self, variable: Variable) -> AtomAlternatives:
        """The alternatives for null, booleans and numbers."""
        found = self._atoms.get(variable)
        if found is None:
            null, booleans = False, set()
            numbers: dict[NumberConstraint, None] = {}
            atoms = ir.NULL | ir.BOOLEAN | ir.NUMBER
            for conjunction in self._conjunctions(variable, atoms):
                types = self.types(conjunction) & atoms
                members = self._members(conjunction)
                values = self._values(members, types)
                if values is not None:
                    null |= any(v is None for v in values)
                    booleans |= {v for v in values if isinstance(v, bool)}
                    finite = frozenset(
                        Fraction(v) for v in values if isinstance(v, int | Fraction) and not isinstance(v, bool)
                    )
                    if finite:
                        strict = any(not m.integral_fraction and not m.types & ir.FRACTION for m in members)
                        numbers[NumberConstraint(values=finite, integral_fraction=not strict, integer=strict)] = None
                    continue
                null |= bool(types & ir.NULL)
                if types & ir.BOOLEAN:
                    booleans |= {False, True}
                if types & ir.NUMBER:
                    numbers[self._merge_numbers(members, types)] = None
            found = AtomAlternatives(null, tuple(sorted(booleans)), tuple(numbers))
            self._atoms[variable] = found
        return found

    @staticmethod
    def _merge_numbers(members: list[Subschema], types: int) -> NumberConstraint:
        low: tuple[Fraction, bool] | None = None
        high: tuple[Fraction, bool] | None = None
        for m in members:
            for bound, strict in ((m.minimum, False), (m.exclusive_minimum, True)):
                if bound is not None and (low is None or (bound, strict) > low):
                    low = (bound, strict)
            for bound, strict in ((m.maximum, False), (m.exclusive_maximum, True)):
                if bound is not None and (high is None or (-bound, strict) > (-high[0], high[1])):
                    high = (bound, strict)
        return NumberConstraint(
            integer=not types & ir.FRACTION,
            integral_fraction=all(m.integral_fraction or m.types & ir.FRACTION for m in members),
            minimum=None if low is None else low[0],
            exclusive_minimum=low is not None and low[1],
            maximum=None if high is None else high[0],
            exclusive_maximum=high is not None and high[1],
            multiples=tuple(sorted({m.multiple_of for m in members if m.multiple_of is not None})),
        )

    # ---- validation of literals --------------------------------------------------------------------------------------

    def admits(self, variable: Variable, value: object) -> bool:
        """Whether a JSON value is valid under the variable."""
        return all(self._admits(self._subschemas[i], value) for i in variable)

    def _identities(self, s: Subschema) -> frozenset[Hashable]:
        found = self._value_sets.get(id(s))
        if found is None:
            found = self._value_sets[id(s)] = frozenset(map(identity, s.values or ()))
        return found

    def _admits(self, s: Subschema, value: object, *, in_place: bool = True) -> bool:
        kind = type_of(value)
        if not s.types & kind:
            return False
        if s.values is not None and identity(value) not in self._identities(s):
            return False
        if in_place:
            if not all(self._admits(self._subschemas[i], value) for i in s.all_of):
                return False
            if not all(any(self._admits(self._subschemas[b], value) for b in group) for group in s.any_of):
                return False
        if isinstance(value, str):
            return s.min_length <= len(value) <= _or_infinite(s.max_length) and (
                s.pattern is None or search_language(s.pattern).matches(value.encode("utf-8", "surrogatepass"))
            )
        if isinstance(value, dict):
            if not s.min_properties <= len(value) <= _or_infinite(s.max_properties):
                return False
            if any(name not in value for name in s.required):
                return False
            for name, member in value.items():
                index = s.properties.get(name, s.additional)
                if index is not None and not self._admits(self._subschemas[index], member):
                    return False
            return True
        if isinstance(value, list):
            if not s.min_items <= len(value) <= _or_infinite(s.max_items):
                return False
            for k, item in enumerate(value):
                index = s.prefix_items[k] if k < len(s.prefix_items) else s.items
                if index is not None and not self._admits(self._subschemas[index], item):
                    return False
            return True
        if kind & ir.NUMBER:
            assert isinstance(value, int | Fraction)
            return not (
                (s.minimum is not None and value < s.minimum)
                or (s.maximum is not None and value > s.maximum)
                or (s.exclusive_minimum is not None and value <= s.exclusive_minimum)
                or (s.exclusive_maximum is not None and value >= s.exclusive_maximum)
                or (s.multiple_of is not None and (value / s.multiple_of).denominator != 1)
            )
        return True


def type_of(value: object) -> int:
    """The type atom of an exact JSON value."""
    if value is None:
        return ir.NULL
    if isinstance(value, bool):
        return ir.BOOLEAN
    if isinstance(value, int):
        return ir.INTEGER
    if isinstance(value, Fraction):
        return ir.INTEGER if value.denominator == 1 else ir.FRACTION
    if isinstance(value, str):
        return ir.STRING
    return ir.ARRAY if isinstance(value, list) else ir.OBJECT


def _or_infinite(bound: int | None) -> float:
    return float("inf") if bound is None else bound


def _has_surrogate(text: str) -> bool:
    """Whether a text holds a lone surrogate, which has no UTF-8 form and is never written."""
    return any("\ud800" <= c <= "\udfff" for c in text)
