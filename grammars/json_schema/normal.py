"""Normal form: what a conjunction of subschemas means for one JSON type, as a union of alternatives.

A *variable* is a set of signed subschemas that must all hold: index i, or ~i for "not i". It is what a property, an
item or the root asks of its value, and is closed under the in-place conjunctions (`all_of`). For one JSON type it is a
union of alternatives, found by `expansion`; here the assertions of each alternative are merged into one record that the
automaton can be built from. Nothing is done before it is asked for, and alternatives are kept apart, to be tracked in
lock-step at run time, so overlapping branches need no disjointness.

The construction follows the guarded disjunctive normal form of the witness-generation algorithm of Attouche, Baazizi,
Colazzo, Ghelli, Sartiani and Scherzinger (PVLDB 2022).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeVar, cast

from constrain.grammars.formats import format_language, format_superset
from constrain.grammars.json_schema import ir, plain
from constrain.grammars.json_schema.alternatives import (
    ANYTHING,
    ArrayAlternative,
    AtomAlternatives,
    Contains,
    Demand,
    Has,
    Lacks,
    ObjectAlternative,
    Rule,
    Some,
    StringAlternative,
    Variable,
)
from constrain.grammars.json_schema.beginnings import begin_apart
from constrain.grammars.json_schema.choice import Choice
from constrain.grammars.json_schema.closures import NOTHING_BESIDE, beside_groups
from constrain.grammars.json_schema.conjunctions import Conjunction
from constrain.grammars.json_schema.declared_order import declared_names
from constrain.grammars.json_schema.deferred import add_bound, at_hand, bound, is_deferred
from constrain.grammars.json_schema.dual import Atom
from constrain.grammars.json_schema.evident import Evidence, only_lists
from constrain.grammars.json_schema.expansion import Expansion
from constrain.grammars.json_schema.ir import SchemaDocument, Subschema
from constrain.grammars.json_schema.literals import has_surrogate, says_nothing, type_of
from constrain.grammars.json_schema.values import identity
from constrain.grammars.languages.number_constraint import NumberConstraint
from constrain.grammars.regex import is_found, search_language

__all__ = [
    "ANYTHING",
    "ArrayAlternative",
    "AtomAlternatives",
    "Contains",
    "Demand",
    "Has",
    "Lacks",
    "NormalForm",
    "ObjectAlternative",
    "Rule",
    "Some",
    "StringAlternative",
    "Variable",
]


_T = TypeVar("_T")


@dataclass(slots=True)
class _Bounds:
    """A window on a count, narrowed step by step."""

    low: int = 0
    high: int | None = None

    def narrow(self, low: int, high: int | None) -> None:
        self.low = max(self.low, low)
        if high is not None:
            self.high = high if self.high is None else min(self.high, high)

    @property
    def empty(self) -> bool:
        return self.high is not None and self.high < self.low


@dataclass(slots=True)
class _Memo:
    objects: dict[Variable, tuple[ObjectAlternative, ...]] = field(default_factory=dict)
    arrays: dict[Variable, tuple[ArrayAlternative, ...]] = field(default_factory=dict)
    strings: dict[Variable, tuple[StringAlternative, ...]] = field(default_factory=dict)
    atoms: dict[Variable, AtomAlternatives] = field(default_factory=dict)
    types: dict[Variable, int] = field(default_factory=dict)


class NormalForm:
    """Variables of one document and their alternatives, computed on demand and kept."""

    def __init__(self, document: SchemaDocument) -> None:
        self._subschemas: list[Subschema] = bound(document.subschemas)
        self._expansion = Expansion(self._subschemas, ordered=document.declared_order)
        self.declared_order = document.declared_order
        self._value_sets: dict[int, frozenset[Hashable]] = {}
        self._memo = _Memo()
        self._differs = any(s.unique_items for _, s in at_hand(document.subschemas))
        self._choices: dict[Variable, Choice | None] = {}
        self._evidence = Evidence(self._subschemas, self._expansion)
        self.lists = 0  # how many variables were made for values that texts had
        self.has_few: Callable[[Variable], bool] | None = None  # whether a variable is known to have few alternatives
        self.has_repeated = False  # whether an alternative was met in which two items must be equal
        self.root = self.variable((document.root,))

    @property
    def size(self) -> int:
        """The number of subschemas there are."""
        return len(self._subschemas)

    def choice(self, variable: Variable) -> Choice | None:
        """What tells the alternatives for objects apart, where each is a branch of one group and nothing more."""
        if len(variable) != 1 or self._differs:
            return None
        if variable not in self._choices:
            (index,) = variable
            self._choices[variable] = None if index < 0 else self._find_choice(self._subschemas[index])
        return self._choices[variable]

    def _find_choice(self, s: Subschema) -> Choice | None:
        if s.choice is None or not s.types & ir.OBJECT:
            return None
        if beside_groups(s) != NOTHING_BESIDE or len(s.any_of) + len(s.one_of) != 1:
            return None
        return s.choice if all(map(self.is_plain, self.branches_at_hand(s.choice))) else None

    def branches_at_hand(self, choice: Choice) -> list[int]:
        """The branches of a choice that are not yet to be read. The others have a value each."""
        known = {number for number, _ in at_hand(self._subschemas)}
        return sorted(known.intersection(choice.branches.values()))

    def evidently_has_value(self, variable: Variable) -> bool:
        """Whether the fields of a variable's only subschema show that it has a value, with nothing looked into."""
        if len(variable) != 1:
            return False
        (index,) = variable
        return index >= 0 and self._evidence.has_value(index)

    def is_evident(self, index: int) -> bool:
        """Whether the fields of a subschema show that it has a value, with nothing looked into."""
        variable = self.closure(index)
        return not variable or self.evidently_has_value(variable)

    def is_deferred(self, index: int) -> bool:
        """Whether a subschema is yet to be read; it has a value then."""
        return is_deferred(self._subschemas, index)

    def names_of(self, index: int) -> tuple[Iterable[str], bool]:
        """The names that a plain subschema without patterns speaks of, and whether it admits others."""
        s = self._subschemas[index]
        return (*s.properties, *s.required), s.additional is None or self.types(self.variable((s.additional,))) != 0

    def texts(self, values: Iterable[str]) -> Variable:
        """The variable whose values are these texts."""
        return self._expansion.closure(self._expansion.texts([*values]))

    def add(self, document: SchemaDocument) -> Variable:
        """Take in another document; the variable of its root."""
        offset = len(self._subschemas)
        add_bound(self._subschemas, document.subschemas)
        self._expansion.note_added(offset)
        self._differs = self._differs or any(s.unique_items for _, s in at_hand(document.subschemas))
        return self.variable((document.root + offset,))

    def demands_several_that_differ(self) -> bool:
        """Whether some array may have to have several items that differ, or two that are equal."""
        if not self._differs:
            return False
        return self.has_repeated or any(s.min_items > 1 or s.contains is not None for _, s in at_hand(self._subschemas))

    # ---- variables ---------------------------------------------------------------------------------------------------

    def variable(self, signed: Iterable[int]) -> Variable:
        """The variable in which all these signed subschemas hold."""
        out: Variable = ANYTHING
        for i in signed:
            found = self._expansion.closure(i)
            out = out | found if out else found
        return out

    def is_plain(self, index: int) -> bool:
        """Whether a subschema only asserts things of the value itself, its members and its items."""
        return self._expansion.is_plain(index)

    def closure(self, index: int) -> Variable:
        """The variable in which a subschema holds."""
        return self._expansion.closure(index)

    def single(self, variable: Variable) -> Subschema | None:
        """The subschema that is all of a variable, where it is plain and nothing has to be looked into but its fields.

        One that asks nothing for `ANYTHING`.
        """
        if len(variable) != 1:
            return None if variable else _ANYTHING
        (index,) = variable
        return self._subschemas[index] if index >= 0 and self._expansion.is_plain(index) else None

    def overlapping(self, group: list[int]) -> list[tuple[int, int, int]] | None:
        """The pairs of these subschemas that may have values in common, and of which types.

        None where they are too many to be compared.
        """
        return self._expansion.overlapping(group)

    def twin(self, signed: int) -> int:
        """The first signed subschema met that asks the same, where groups are all that both ask."""
        (first,) = self._expansion.twin(frozenset((signed,)))
        return first

    def literal(self, value: object) -> Variable:
        """The variable whose only value is `value`."""
        return self._expansion.closure(self._expansion.literal(value))

    def declared(self, variables: Iterable[Variable]) -> tuple[str, ...]:
        """The names of members that are declared for values of these variables, in the order of the schema."""
        return declared_names(self._subschemas, frozenset().union(*variables))

    def listed(self, values: Iterable[object]) -> Variable:
        """The variable that has these values, at least one, and no others."""
        self.lists += 1
        return self._expansion.closure(self._expansion.listed(list(values)))

    def pointer(self, variable: Variable) -> str:
        """The JSON pointer of a subschema of the variable, for messages."""
        pointers = [self._subschemas[i if i >= 0 else ~i].pointer for i in sorted(variable, key=abs)]
        return next((p for p in pointers if p), "")

    def types(self, variable: Variable) -> int:
        """The type atoms that the variable's own members admit; branches may admit fewer."""
        found = self._memo.types.get(variable)
        if found is None:
            found = ir.ANY_TYPE
            for i in variable:
                if i >= 0:
                    found &= self._expansion.types(i)
                elif says_nothing(self._subschemas[~i]) and not self._subschemas[~i].all_of:
                    found = 0
            self._memo.types[variable] = found
        return found

    def _conjunctions(self, variable: Variable, types: int) -> list[Conjunction]:
        return self._expansion.conjunctions(variable, types) if self.types(variable) & types else []

    def _values(self, conjunction: Conjunction) -> list[object] | None:
        """The finite set of values of a conjunction's types, where an `enum` or `const` makes it finite."""
        members = [self._subschemas[i] for i in conjunction.members]
        lists = [m.values for m in members if m.values is not None]
        if not lists:
            return None
        if len(members) == 1 and not conjunction.excluded and not conjunction.negated and only_lists(members[0]):
            return [v for v in lists[0] if type_of(v) & conjunction.types]
        return [
            v
            for v in min(lists, key=len)
            if type_of(v) & conjunction.types
            and all(self._admits(m, v, in_place=False) for m in members)
            and all(identity(v) not in self._identities(self._subschemas[i]) for i in conjunction.excluded)
            and all(not self._admits(self._subschemas[i], v) for i in conjunction.negated)
        ]

    def _of_twin(self, memo: dict[Variable, _T], variable: Variable) -> _T | None:
        """What is known of a variable that asks the same, which is then known of this one."""
        found = memo.get(self._expansion.twin(variable))
        if found is not None:
            memo[variable] = found
        return found

    # ---- objects -----------------------------------------------------------------------------------------------------

    def objects(self, variable: Variable) -> tuple[ObjectAlternative, ...]:
        """The alternatives for objects."""
        found = self._memo.objects.get(variable)
        if found is None and (single := self.single(variable)) is not None:
            found = plain.objects(single, single.types if single.values is None else self.types(variable))
            if found is not None:
                self._memo.objects[variable] = found
        if found is None:
            found = self._of_twin(self._memo.objects, variable)
        if found is None:
            out: list[ObjectAlternative] = []
            literals: dict[Hashable, None] = {}
            for conjunction in self._conjunctions(variable, ir.OBJECT):
                values = self._values(conjunction)
                if values is None:
                    merged = self._merge_objects(conjunction)
                    if merged is not None:
                        out.append(merged)
                    continue
                for value in values:
                    assert isinstance(value, dict)
                    if not self._satisfies_demands(value, conjunction):
                        continue
                    if identity(value) not in literals:
                        literals[identity(value)] = None
                        present = {k: self.literal(v) for k, v in value.items()}
                        size = len(value)
                        out.append(
                            ObjectAlternative((), present, frozenset(), (), tuple(value), size, size, closed=True)
                        )
            found = self._memo.objects[variable] = tuple(out)
        return found

    def first_objects(self, variable: Variable) -> Iterator[ObjectAlternative]:
        """Some of the alternatives for objects, found in a few steps; none where all should be found at once.

        That is so where they may be too many, which is to be told as soon as they are asked for.
        """
        if variable in self._memo.objects or self.single(variable) is not None:
            return
        if self.has_few is None or not self.has_few(variable):
            return
        for conjunction in self._expansion.first_conjunctions(variable, ir.OBJECT, _FIRST_STEPS):
            if self._values(conjunction) is None:
                merged = self._merge_objects(conjunction)
                if merged is not None:
                    yield merged

    def _merge_objects(self, conjunction: Conjunction) -> ObjectAlternative | None:
        members = [self._subschemas[i] for i in conjunction.members]
        rules = [
            Rule(cast(dict[str, int | None], m.properties), tuple(m.pattern_properties), m.additional)
            for m in members
            if m.properties or m.pattern_properties or m.additional is not None
        ]
        for i in conjunction.tracked:
            rule = self._unevaluated_rule(conjunction, i)
            if rule is not None:
                rules.append(rule)
        required: dict[str, None] = {}
        bounds = _Bounds()
        for m in members:
            required.update(dict.fromkeys(m.required))
            bounds.narrow(m.min_properties, m.max_properties)
        present: dict[str, Variable] = {}
        absent: set[str] = set()
        clauses: list[tuple[Demand, ...]] = []
        for atom in conjunction.atoms:
            match atom:
                case ("absent", str(name)):
                    absent.add(name)
                case ("has", str(name), value):
                    present[name] = present.get(name, ANYTHING) | self.variable(cast(Any, value))
                case ("members", int(low), high):
                    bounds.narrow(low, cast(Any, high))
                case ("some", ("unevaluated", int(i)), value):
                    left = self._left_over(conjunction, i)
                    if left is None:
                        return None
                    clauses.append((Some(self.variable(cast(Any, value)), rule=Rule(*left, 0)),))
                case ("some", where, value):
                    clauses.append((self._some(cast(Any, where), self.variable(cast(Any, value))),))
        clauses += [tuple(map(self._demand, clause)) for clause in conjunction.clauses]
        required.update(dict.fromkeys(present))
        bounds.narrow(len(required), None)
        if bounds.empty or not absent.isdisjoint(required):
            return None
        names = tuple(
            dict.fromkeys(self.variable((m.property_names,)) for m in members if m.property_names is not None)
        )
        return ObjectAlternative(
            tuple(rules), present, frozenset(absent), names, tuple(required), bounds.low, bounds.high, tuple(clauses)
        )

    def _demand(self, atom: Atom) -> Demand:
        match atom:
            case ("absent", str(name)):
                return Lacks(name)
            case ("has", str(name), value):
                return Has(name, self.variable(cast(Any, value)))
            case _:
                return self._some(cast(Any, atom[1]), self.variable(cast(Any, atom[2])))

    def _satisfies_demands(self, value: dict[str, object], conjunction: Conjunction) -> bool:
        """Whether a literal object is what the atoms and clauses of a conjunction say."""

        def holds(atom: Atom) -> bool:
            match atom:
                case ("absent", str(name)):
                    return name not in value
                case ("has", str(name), variable):
                    return name in value and self.admits(cast(Any, variable), value[name])
                case ("members", int(low), high):
                    return low <= len(value) <= _or_infinite(cast(Any, high))
                case ("some", where, variable):
                    some = self._some(cast(Any, where), self.variable(cast(Any, variable)))
                    return any(self.serves(some, n) and self.admits(some.value, v) for n, v in value.items())
            return True

        return all(map(holds, conjunction.atoms)) and all(any(map(holds, c)) for c in conjunction.clauses)

    def serves(self, some: Some, name: str) -> bool:
        """Whether a demand for some member can be met by one of this name."""
        if some.pattern is not None:
            return is_found(some.pattern, name)
        if some.name is not None:
            return self.admits(some.name, name)
        rule = some.rule
        assert rule is not None
        return name not in rule.properties and not any(is_found(p, name) for p, _ in rule.patterns)

    def _some(self, where: tuple[str, Any], value: Variable) -> Some:
        kind, what = where
        if kind == "pattern":
            return Some(value, pattern=what)
        if kind == "name":
            return Some(value, name=self.variable((~what,)))
        s = self._subschemas[what]
        return Some(value, rule=Rule(dict.fromkeys(s.properties), tuple((p, None) for p, _ in s.pattern_properties), 0))

    def _unevaluated_rule(self, conjunction: Conjunction, index: int) -> Rule | None:
        """The rule for members that nothing under subschema `index` evaluates; None where all are evaluated."""
        left = self._left_over(conjunction, index)
        unevaluated = self._subschemas[index].unevaluated_properties
        return None if unevaluated is None or left is None else Rule(*left, unevaluated)

    def _left_over(
        self, conjunction: Conjunction, index: int
    ) -> tuple[dict[str, int | None], tuple[tuple[str, int | None], ...]] | None:
        """The names and patterns that are evaluated under subschema `index`; None where all members are."""
        names: dict[str, int | None] = {}
        patterns: dict[str, int | None] = {}
        for i in self._expansion.applied(conjunction, index):
            s = self._subschemas[i]
            if s.additional is not None or (i != index and s.unevaluated_properties is not None):
                return None
            names.update(dict.fromkeys(s.properties))
            patterns.update({p: None for p, _ in s.pattern_properties})
        return names, tuple(patterns.items())

    def member(self, alternative: ObjectAlternative, name: str) -> Variable | None:
        """What the value of a member must be; None where the member is not admitted."""
        if len(alternative.rules) == 1 and not (alternative.names or alternative.absent or alternative.present):
            (rule,) = alternative.rules
            if not rule.patterns and not alternative.closed:
                index = rule.properties.get(name, rule.additional)
                return ANYTHING if index is None else self._expansion.closure(index)
        if name in alternative.absent or (alternative.closed and name not in alternative.present):
            return None
        if any(not self.admits(v, name) for v in alternative.names):
            return None
        asked: list[int] = []
        for rule in alternative.rules:
            found = [i for p, i in rule.patterns if is_found(p, name)]
            if name in rule.properties:
                found.append(rule.properties[name])
            asked += [i for i in (found or [rule.additional]) if i is not None]
        return self.variable(asked) | alternative.present.get(name, ANYTHING)

    def members(self, alternative: ObjectAlternative, names: Iterable[str]) -> list[Variable | None]:
        """What the values of members of these names must be; see `member`."""
        rules, present = alternative.rules, alternative.present
        if alternative.names or alternative.absent or alternative.closed or any(rule.patterns for rule in rules):
            return [self.member(alternative, name) for name in names]
        asked = [(rule.properties, rule.additional) for rule in rules]
        closure = self._expansion.closure
        out: list[Variable | None] = []
        for name in names:
            part = present.get(name, ANYTHING)
            for properties, additional in asked:
                index = properties.get(name, additional)
                if index is not None:
                    found = closure(index)
                    part = part | found if part else found
            out.append(part)
        return out

    def free_member(self, alternative: ObjectAlternative, matched: frozenset[str]) -> Variable | None:
        """What the value of a member must be whose name no rule has and in which exactly these patterns are found."""
        if alternative.closed:
            return None
        asked: list[int] = []
        for rule in alternative.rules:
            found = [i for p, i in rule.patterns if p in matched]
            asked += [i for i in (found or [rule.additional]) if i is not None]
        return self.variable(asked)

    # ---- arrays ------------------------------------------------------------------------------------------------------

    def arrays(self, variable: Variable) -> tuple[ArrayAlternative, ...]:
        """The alternatives for arrays."""
        found = self._memo.arrays.get(variable)
        if found is None and (single := self.single(variable)) is not None:
            item = ANYTHING if single.items is None else self._expansion.closure(single.items)
            types = single.types if single.values is None else self.types(variable)
            found = plain.arrays(single, types, item if self.types(item) else None)
            if found is not None:
                self._memo.arrays[variable] = found
        if found is None:
            found = self._of_twin(self._memo.arrays, variable)
        if found is None:
            out: list[ArrayAlternative] = []
            literals: dict[Hashable, None] = {}
            for conjunction in self._conjunctions(variable, ir.ARRAY):
                values = self._values(conjunction)
                if values is None:
                    out += self._merge_arrays(conjunction)
                    continue
                for value in values:
                    assert isinstance(value, list)
                    if identity(value) not in literals:
                        literals[identity(value)] = None
                        items = tuple(self.literal(v) for v in value)
                        out.append(ArrayAlternative(items, None, len(value), len(value)))
            found = self._memo.arrays[variable] = tuple(out)
        return found

    def _merge_arrays(self, conjunction: Conjunction) -> list[ArrayAlternative]:
        members = [self._subschemas[i] for i in conjunction.members]
        bounds = _Bounds()
        contains: list[Contains] = []
        unique = repeated = False
        for m in members:
            bounds.narrow(m.min_items, m.max_items)
            unique = unique or m.unique_items
            if m.contains is not None and (m.min_contains > 0 or m.max_contains is not None):
                contains.append(self._contains(m.contains, m.min_contains, m.max_contains))
        extra: dict[int, Variable] = {}
        for atom in conjunction.atoms:
            match atom:
                case ("items", int(low), high):
                    bounds.narrow(low, cast(Any, high))
                case ("item", int(k), value):
                    extra[k] = extra.get(k, ANYTHING) | self.variable(cast(Any, value))
                    bounds.narrow(k + 1, None)
                case ("some item", int(k), value):
                    contains.append(Contains(self.variable(cast(Any, value)), 1, None, k))
                case ("unevaluated item", int(i), value):
                    evaluated, found = self._evaluated_items(conjunction, i)
                    if evaluated is None:
                        return []
                    part = self.variable(cast(Any, value)) | self.variable(~c for c in found)
                    contains.append(Contains(part, 1, None, evaluated))
                case ("contains", int(i), int(low), high):
                    contains.append(self._contains(i, low, cast(Any, high)))
                case ("repeated",):
                    repeated = self.has_repeated = True
                    bounds.narrow(2, None)
        if bounds.empty:
            return []
        length = max([len(m.prefix_items) for m in members] + [k + 1 for k in extra], default=0)
        rest = [m.items for m in members if m.items is not None]
        tails: list[int] = []
        for i in conjunction.tracked:
            evaluated, tail = self._unevaluated_items(conjunction, i)
            if tail is not None:
                length = max(length, evaluated)
                tails.append(evaluated)
                rest.append(tail)
        prefix = []
        for k in range(length):
            asked = [m.prefix_items[k] if k < len(m.prefix_items) else m.items for m in members]
            part = self.variable(i for i in asked if i is not None) | extra.get(k, ANYTHING)
            for evaluated, tail in zip(tails, rest[len(rest) - len(tails) :], strict=True):
                if k >= evaluated:
                    part |= self.variable((tail,))
            prefix.append(part)
        items: Variable | None = self.variable(rest)
        if self.types(cast(Variable, items)) == 0:
            items = None
        unique = unique and (bounds.high is None or bounds.high > 1)
        if repeated and unique:
            return []
        return [ArrayAlternative(tuple(prefix), items, bounds.low, bounds.high, tuple(contains), unique, repeated)]

    def _contains(self, index: int, low: int, high: int | None) -> Contains:
        return Contains(self.variable((index,)), low, high, 0, self.variable((~index,)))

    def _unevaluated_items(self, conjunction: Conjunction, index: int) -> tuple[int, int | None]:
        """How many first items are evaluated under subschema `index`, and the schema of the others, if any."""
        evaluated, found = self._evaluated_items(conjunction, index)
        unevaluated = self._subschemas[index].unevaluated_items
        if evaluated is None:
            return 0, None
        if unevaluated is None or not found:
            return evaluated, unevaluated
        return evaluated, self._expansion.either((*found, unevaluated))

    def _evaluated_items(self, conjunction: Conjunction, index: int) -> tuple[int | None, list[int]]:
        """How many first items are evaluated under subschema `index` (None: all), and `contains` that evaluate more."""
        evaluated = 0
        found: list[int] = []
        for i in self._expansion.applied(conjunction, index):
            s = self._subschemas[i]
            if s.items is not None or (i != index and s.unevaluated_items is not None):
                return None, []
            evaluated = max(evaluated, len(s.prefix_items))
            if s.contains is not None:
                found.append(s.contains)
        return evaluated, found

    # ---- scalars -----------------------------------------------------------------------------------------------------

    def strings(self, variable: Variable) -> tuple[StringAlternative, ...]:
        """The alternatives for strings."""
        found = self._memo.strings.get(variable)
        if found is None and (single := self.single(variable)) is not None:
            found = plain.strings(single, single.types if single.values is None else self.types(variable))
            if found is not None:
                self._memo.strings[variable] = found
        if found is None:
            found = self._of_twin(self._memo.strings, variable)
        if found is None:
            out: dict[StringAlternative, None] = {}
            for conjunction in self._conjunctions(variable, ir.STRING):
                values = self._values(conjunction)
                if values is None:
                    merged = self._merge_strings(conjunction)
                    if merged is not None:
                        out[merged] = None
                    continue
                texts = [v for v in values if isinstance(v, str) and not has_surrogate(v)]
                if conjunction.atoms or conjunction.clauses:
                    texts = [t for t in texts if self._satisfies_atoms(t, conjunction)]
                if texts:
                    out[StringAlternative(tuple(sorted(texts)))] = None
            found = self._memo.strings[variable] = tuple(out)
        return found

    def _merge_strings(self, conjunction: Conjunction) -> StringAlternative | None:
        members = [self._subschemas[i] for i in conjunction.members]
        bounds = _Bounds()
        for m in members:
            bounds.narrow(m.min_length, m.max_length)
        patterns = {m.pattern for m in members if m.pattern is not None}
        not_patterns, not_formats = set(), set()
        not_values: set[str] = set()
        for atom in conjunction.atoms:
            match atom:
                case ("length", int(low), high):
                    bounds.narrow(low, cast(Any, high))
                case ("pattern", str(p)):
                    patterns.add(p)
                case ("not pattern", str(p)):
                    not_patterns.add(p)
                case ("not format", str(f)):
                    not_formats.add(f)
        for i in conjunction.excluded:
            not_values |= {v for v in self._subschemas[i].values or () if isinstance(v, str) and not has_surrogate(v)}
        if bounds.empty:
            return None
        clauses = conjunction.clauses
        if patterns:
            # Of texts that begin in one way nothing needs to be asked that is about others.
            if any(_is_apart(p, patterns) for p in patterns):
                return None
            not_patterns = {p for p in not_patterns if not _is_apart(p, patterns)}
            clauses = frozenset(
                frozenset(a for a in clause if a[0] != "pattern" or not _is_apart(cast(str, a[1]), patterns))
                for clause in clauses
                if not any(a[0] == "not pattern" and _is_apart(cast(str, a[1]), patterns) for a in clause)
            )
            if frozenset() in clauses:
                return None
        return StringAlternative(
            None,
            tuple(sorted(patterns)),
            tuple(sorted({m.format for m in members if m.format is not None})),
            tuple(sorted(not_patterns)),
            tuple(sorted(not_formats)),
            tuple(sorted(not_values)),
            tuple(sorted(map(_either, clauses))),
            bounds.low,
            bounds.high,
        )

    @staticmethod
    def _satisfies_atoms(text: str, conjunction: Conjunction) -> bool:
        def holds(atom: Atom) -> bool:
            match atom:
                case ("length", int(low), high):
                    return low <= len(text) <= _or_infinite(cast(Any, high))
                case ("pattern", str(p)):
                    return search_language(p).matches(text.encode())
                case ("not pattern", str(p)):
                    return not search_language(p).matches(text.encode())
                case ("not format", str(f)):
                    language = format_superset(f)
                    return language is None or not language.matches(text.encode())
            return True

        return all(map(holds, conjunction.atoms)) and all(any(map(holds, c)) for c in conjunction.clauses)

    def atoms(self, variable: Variable) -> AtomAlternatives:
        """The alternatives for null, booleans and numbers."""
        found = self._memo.atoms.get(variable)
        if found is None and (single := self.single(variable)) is not None:
            found = plain.atoms(single, single.types if single.values is None else self.types(variable))
            if found is not None:
                self._memo.atoms[variable] = found
        if found is None:
            null, booleans = False, set()
            numbers: dict[NumberConstraint, None] = {}
            for kind in (ir.NULL, ir.BOOLEAN, ir.NUMBER):
                for conjunction in self._conjunctions(variable, kind):
                    values = self._values(conjunction)
                    if kind == ir.NUMBER:
                        merged = self._merge_numbers(conjunction, values)
                        if merged is not None:
                            numbers[merged] = None
                        continue
                    candidates = {None} if kind == ir.NULL else {False, True}
                    if values is not None:
                        candidates &= set(cast(Any, values))
                    for i in conjunction.excluded:
                        candidates -= {v for v in self._subschemas[i].values or () if type_of(v) == kind}
                    null |= None in candidates
                    booleans |= {v for v in candidates if v is not None}
            found = AtomAlternatives(null, tuple(sorted(booleans)), tuple(numbers))
            self._memo.atoms[variable] = found
        return found

    def _merge_numbers(self, conjunction: Conjunction, values: list[object] | None) -> NumberConstraint | None:
        members = [self._subschemas[i] for i in conjunction.members]
        lows = [(m.minimum, False) for m in members] + [(m.exclusive_minimum, True) for m in members]
        highs = [(m.maximum, False) for m in members] + [(m.exclusive_maximum, True) for m in members]
        not_multiples = []
        types = conjunction.types
        for atom in conjunction.atoms:
            match atom:
                case ("below", bound, bool(strict)):
                    highs.append((cast(Any, bound), strict))
                case ("above", bound, bool(strict)):
                    lows.append((cast(Any, bound), strict))
                case ("not multiple", q):
                    not_multiples.append(cast(Any, q))
        low = max(((b, s) for b, s in lows if b is not None), default=None)
        high = min(((b, not s) for b, s in highs if b is not None), default=None)
        excluded = {
            Fraction(cast(Any, v))
            for i in conjunction.excluded
            for v in self._subschemas[i].values or ()
            if _is_number(v)
        }
        finite = None if values is None else frozenset(Fraction(cast(Any, v)) for v in values) - excluded
        if finite is not None and not finite:
            return None
        return NumberConstraint(
            integer=not types & ir.FRACTION,
            integral_fraction=all(m.integral_fraction or m.types & ir.FRACTION for m in members),
            minimum=None if low is None else low[0],
            exclusive_minimum=low is not None and low[1],
            maximum=None if high is None else high[0],
            exclusive_maximum=high is not None and not high[1],
            multiples=tuple(sorted({m.multiple_of for m in members if m.multiple_of is not None})),
            values=finite,
            non_integer=not types & ir.INTEGER,
            not_multiples=tuple(sorted(set(not_multiples))),
            not_values=frozenset(excluded) if finite is None else frozenset(),
        )

    # ---- validation of literals --------------------------------------------------------------------------------------

    def admits(self, variable: Variable, value: object) -> bool:
        """Whether a JSON value is valid under the variable."""
        return all(
            self._admits(self._subschemas[i], value) if i >= 0 else not self._admits(self._subschemas[~i], value)
            for i in variable
        )

    def _identities(self, s: Subschema) -> frozenset[Hashable]:
        found = self._value_sets.get(id(s))
        if found is None:
            found = self._value_sets[id(s)] = frozenset(map(identity, s.values or ()))
        return found

    def _holds(self, index: int | None, value: object) -> bool:
        return index is None or self._admits(self._subschemas[index], value)

    def _admits(self, s: Subschema, value: object, *, in_place: bool = True) -> bool:
        kind = type_of(value)
        if not s.types & kind or (s.values is not None and identity(value) not in self._identities(s)):
            return False
        if in_place and not self._admits_in_place(s, value):
            return False
        if isinstance(value, str):
            return (
                s.min_length <= len(value) <= _or_infinite(s.max_length)
                and (s.pattern is None or is_found(s.pattern, value))
                and (s.format is None or _has_format(value, s.format))
            )
        if isinstance(value, dict):
            return self._admits_object(s, value)
        if isinstance(value, list):
            return self._admits_array(s, value)
        return not kind & ir.NUMBER or _admits_number(s, cast(Fraction, value))

    def _admits_in_place(self, s: Subschema, value: object) -> bool:
        return (
            all(self._holds(i, value) for i in s.all_of)
            and all(any(self._holds(b, value) for b in group) for group in s.any_of)
            and all(sum(self._holds(b, value) for b in group) == 1 for group in s.one_of)
            and not any(self._holds(i, value) for i in s.none_of)
            and all(self._holds(b if self._holds(a, value) else c, value) for a, b, c in s.conditions)
        )

    def _admits_object(self, s: Subschema, value: dict[str, object]) -> bool:
        if not s.min_properties <= len(value) <= _or_infinite(s.max_properties):
            return False
        if any(name not in value for name in s.required):
            return False
        for name, others in s.dependent_required.items():
            if name in value and any(o not in value for o in others):
                return False
        if any(name in value and not self._holds(i, value) for name, i in s.dependent_schemas.items()):
            return False
        for name, member in value.items():
            if s.property_names is not None and not self._holds(s.property_names, name):
                return False
            asked: list[int | None] = [i for p, i in s.pattern_properties if is_found(p, name)]
            if name in s.properties:
                asked.append(s.properties[name])
            if not all(self._holds(i, member) for i in asked or [s.additional]):
                return False
        if s.unevaluated_properties is None:
            return True
        evaluated = self._evaluated_names(s, value)
        return all(name in evaluated or self._holds(s.unevaluated_properties, value[name]) for name in value)

    def _admits_array(self, s: Subschema, value: list[object]) -> bool:
        if not s.min_items <= len(value) <= _or_infinite(s.max_items):
            return False
        if s.unique_items and len(set(map(identity, value))) < len(value):
            return False
        if s.contains is not None:
            count = sum(self._holds(s.contains, item) for item in value)
            if not s.min_contains <= count <= _or_infinite(s.max_contains):
                return False
        places = [s.prefix_items[k] if k < len(s.prefix_items) else s.items for k in range(len(value))]
        if not all(map(self._holds, places, value)):
            return False
        if s.unevaluated_items is None:
            return True
        evaluated = self._evaluated_places(s, value)
        return all(k in evaluated or self._holds(s.unevaluated_items, item) for k, item in enumerate(value))

    def _applied(self, s: Subschema, value: object) -> Iterator[Subschema]:
        """The subschemas in place under which a valid value is valid, so that what they evaluate counts."""
        candidates = [*s.all_of, *(b for group in (*s.any_of, *s.one_of) for b in group)]
        for condition, then, otherwise in s.conditions:
            if self._holds(condition, value):
                candidates.append(condition)
                otherwise = then
            candidates += [] if otherwise is None else [otherwise]
        if isinstance(value, dict):
            candidates += [i for name, i in s.dependent_schemas.items() if name in value]
        return (self._subschemas[i] for i in candidates if self._holds(i, value))

    def _evaluated_names(self, s: Subschema, value: dict[str, object]) -> set[str]:
        """The members of a valid object that a subschema evaluates, its own `unevaluatedProperties` left aside."""
        if s.additional is not None:
            return set(value)
        patterns = [search_language(p) for p, _ in s.pattern_properties]
        out = {
            name
            for name in value
            if name in s.properties or any(p.matches(name.encode("utf-8", "surrogatepass")) for p in patterns)
        }
        for part in self._applied(s, value):
            if part.unevaluated_properties is not None:
                return set(value)
            out |= self._evaluated_names(part, value)
        return out

    def _evaluated_places(self, s: Subschema, value: list[object]) -> set[int]:
        """The positions of a valid array that a subschema evaluates, its own `unevaluatedItems` left aside."""
        if s.items is not None:
            return set(range(len(value)))
        out = set(range(min(len(s.prefix_items), len(value))))
        if s.contains is not None:
            out |= {k for k, item in enumerate(value) if self._holds(s.contains, item)}
        for part in self._applied(s, value):
            if part.unevaluated_items is not None:
                return set(range(len(value)))
            out |= self._evaluated_places(part, value)
        return out


_ANYTHING = Subschema(pointer="")
_FIRST_STEPS = 2  # choices that have led to an alternative, or to none


def _admits_number(s: Subschema, value: Fraction) -> bool:
    return not (
        (s.minimum is not None and value < s.minimum)
        or (s.maximum is not None and value > s.maximum)
        or (s.exclusive_minimum is not None and value <= s.exclusive_minimum)
        or (s.exclusive_maximum is not None and value >= s.exclusive_maximum)
        or (s.multiple_of is not None and Fraction(value / s.multiple_of).denominator != 1)
    )


def _either(clause: frozenset[Atom]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The patterns of a clause, by whether they are to be found or not."""
    found, not_found = (sorted(cast(str, a[1]) for a in clause if a[0] == kind) for kind in ("pattern", "not pattern"))
    return tuple(found), tuple(not_found)


def _is_apart(pattern: str, others: set[str]) -> bool:
    """Whether plainly no text in which a pattern is found is one of the others' too."""
    return any(begin_apart(pattern, other) for other in others)


def _is_number(value: object) -> bool:
    return isinstance(value, int | Fraction) and not isinstance(value, bool)


def _or_infinite(bound: int | None) -> float:
    return float("inf") if bound is None else bound


def _has_format(text: str, name: str) -> bool:
    language = format_language(name)
    return language is None or language.matches(text.encode("utf-8", "surrogatepass"))
