"""Variables and their alternatives: the records that a normal form consists of. See `normal`."""

from __future__ import annotations

from dataclasses import dataclass

from constrain.grammars.languages.number_constraint import NumberConstraint

Variable = frozenset[int]
ANYTHING: Variable = frozenset()


@dataclass(slots=True)
class Rule:
    """How one subschema chooses the values of members: by name, by patterns of the name, and of all others.

    None stands for any value; `additional` is None where other members are not spoken of.
    """

    properties: dict[str, int | None]
    patterns: tuple[tuple[str, int | None], ...]
    additional: int | None


@dataclass(frozen=True, slots=True)
class Some:
    """A demand for a member that `rule` does not name, or does (by pattern), or whose name is not in `name`."""

    value: Variable
    rule: Rule | None = None
    pattern: str | None = None
    name: Variable | None = None


@dataclass(frozen=True, slots=True)
class Lacks:
    """A demand for no member of this name."""

    name: str


@dataclass(frozen=True, slots=True)
class Has:
    """A demand for a member of this name, its value in a variable."""

    name: str
    value: Variable


Demand = Lacks | Has | Some


@dataclass(slots=True)
class ObjectAlternative:
    """One way to be a valid object.

    Attributes:
        rules: what members' values are, all of them together.
        present: names that must be present with a value in a variable, beyond the rules.
        absent: names that must not be present.
        names: what every name must be, as a string.
        required: names that must be present, those of `present` included.
        minimum, maximum: bounds on the number of members; the minimum is no less than the number of required names.
        clauses: sets of demands; of each at least one is met.
        closed: whether the members are those of `present` and no others, as in a literal object.
    """

    rules: tuple[Rule, ...]
    present: dict[str, Variable]
    absent: frozenset[str]
    names: tuple[Variable, ...]
    required: tuple[str, ...]
    minimum: int
    maximum: int | None
    clauses: tuple[tuple[Demand, ...], ...] = ()
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Contains:
    """A bound on how many items from position `start` on are in `value`; with an upper one, others are `against`."""

    value: Variable
    low: int
    high: int | None
    start: int = 0
    against: Variable = ANYTHING


@dataclass(slots=True)
class ArrayAlternative:
    """One way to be a valid array: values of the first positions and of all later ones (None: no later ones).

    With `unique` all items differ; with `repeated` some two are equal.
    """

    prefix: tuple[Variable, ...]
    items: Variable | None
    minimum: int
    maximum: int | None
    contains: tuple[Contains, ...] = ()
    unique: bool = False
    repeated: bool = False


@dataclass(slots=True, unsafe_hash=True)
class StringAlternative:
    """One way to be a valid string: a finite set, or what is found in it, what is not, and a number of code points.

    Of each pair in `either`, some pattern of the first part is found or one of the second is not.
    """

    values: tuple[str, ...] | None = None
    patterns: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    not_patterns: tuple[str, ...] = ()
    not_formats: tuple[str, ...] = ()
    not_values: tuple[str, ...] = ()
    either: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
    minimum: int = 0
    maximum: int | None = None


@dataclass(frozen=True, slots=True)
class AtomAlternatives:
    """The values of a variable that are neither strings nor containers."""

    null: bool
    booleans: tuple[bool, ...]
    numbers: tuple[NumberConstraint, ...]
