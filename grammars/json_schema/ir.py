"""What loading a JSON Schema yields: a flat list of subschemas that name each other by index.

References are resolved and dialects are gone: a `$ref` is one more conjunct in `all_of`, a tuple is `prefix_items`
whatever keyword wrote it, draft 04's boolean bounds are numbers. What stays is one record per subschema with one field
per constraint, each absent by default, so that a later stage reads fields and never looks at JSON. Recursion needs no
special case, as an index may point anywhere in the list.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from constrain.grammars.json_schema.choice import Choice

# The atoms of a JSON value's type, as bits. `number` is INTEGER | FRACTION.
NULL = 1
BOOLEAN = 2
INTEGER = 4
FRACTION = 8  # a number that is not an integer
STRING = 16
ARRAY = 32
OBJECT = 64
NUMBER = INTEGER | FRACTION
ANY_TYPE = 127


def _refuse(*_: object) -> NoReturn:
    raise TypeError("the empty list or dict that subschemas begin with is shared; assign a new one to the field")


class _NoList(list[Any]):
    append = extend = insert = remove = pop = clear = sort = reverse = _refuse  # type: ignore[assignment]
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    __hash__ = object.__hash__  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return list, ()


class _NoDict(dict[Any, Any]):
    pop = popitem = clear = update = setdefault = _refuse  # type: ignore[assignment]
    __setitem__ = __delitem__ = __ior__ = _refuse  # type: ignore[assignment]
    __hash__ = object.__hash__  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, ()


# Most fields of most subschemas stay empty, and making a list for each would take most of the time of loading.
_NO_LIST: list[Any] = _NoList()
_NO_DICT: dict[Any, Any] = _NoDict()


@dataclass(slots=True)
class Subschema:
    """The constraints of one subschema; all of them apply together (each only to values of its own type).

    Attributes:
        pointer: JSON pointer (RFC 6901) of the subschema in its document, "" for the root. A subschema of another
            document, such as a meta-schema, is named by that document's URI, "#" and the pointer.
        types: mask of the type atoms admitted; 0 for the schema `false`.
        values: the JSON values admitted by `enum` and `const`, or None where neither is present. Pairwise different
            as JSON values. Exact: numbers are int or `Fraction`, and integral ones are int.
        minimum, exclusive_minimum, maximum, exclusive_maximum: numeric bounds, independent of each other.
        multiple_of: positive divisor.
        min_length, max_length: bounds on the number of code points of a string.
        pattern: ECMA-262 regular expression that a string must contain, as written.
        prefix_items: schemas of the first positions of an array, where present.
        items: schema of all later positions; None admits anything and evaluates nothing.
        min_items, max_items: bounds on the number of items.
        properties: schema of a member by its name, where present, in the order of the schema.
        additional: schema of the members that neither `properties` nor `pattern_properties` names; None admits anything
            and evaluates nothing.
        required: names that must be present, each once, in the order of the schema.
        min_properties, max_properties: bounds on the number of members.
        all_of: subschemas that must all hold in place; targets of references are among them.
        any_of: groups of subschemas; of each group at least one must hold in place.
        one_of: groups of subschemas; of each group exactly one must hold in place.
        none_of: subschemas that must not hold in place (`not`).
        conditions: triples (if, then, else) of subschemas in place; None where there is no such keyword.
        pattern_properties: pairs of a pattern to be found in a member's name and the schema of its value; such a member
            is not additional.
        property_names: schema of every member's name, as a string.
        dependent_required: names that must be present when the name they belong to is.
        dependent_schemas: subschemas that must hold in place when the name they belong to is present.
        contains, min_contains, max_contains: schema of some items, and bounds on how many items are valid under it.
        unique_items: whether all items must differ as JSON values.
        unevaluated_properties, unevaluated_items: schema of the members and items that no successful in-place
            subschema, and no other keyword here, has evaluated.
        format: name of a format that a string must have; None for none and for those that no specification defines.
        integral_fraction: whether `1.0` is an integer (by value; from draft 06) or not (by spelling; draft 04).
        written: in a document with `declared_order`, subschemas that describe the same value, in the order in which the
            schema writes them; those that only test it (`if`, `not`) are not among them.
        names_at: how many of `written` come before `properties`.
        choice: what tells the branches of the one group in `any_of` or `one_of` apart, where a member does.
        source: of a subschema that is yet to be read, what it is read from.

    An empty list or dict is one that all subschemas share; it is replaced, or `add`ed to, and never changed.
    """

    pointer: str
    types: int = ANY_TYPE
    values: list[object] | None = None
    minimum: Fraction | None = None
    exclusive_minimum: Fraction | None = None
    maximum: Fraction | None = None
    exclusive_maximum: Fraction | None = None
    multiple_of: Fraction | None = None
    min_length: int = 0
    max_length: int | None = None
    pattern: str | None = None
    prefix_items: list[int] = _NO_LIST
    items: int | None = None
    min_items: int = 0
    max_items: int | None = None
    properties: dict[str, int] = _NO_DICT
    additional: int | None = None
    required: tuple[str, ...] = ()
    min_properties: int = 0
    max_properties: int | None = None
    all_of: list[int] = _NO_LIST
    any_of: list[list[int]] = _NO_LIST
    integral_fraction: bool = True
    one_of: list[list[int]] = _NO_LIST
    none_of: list[int] = _NO_LIST
    conditions: list[tuple[int, int | None, int | None]] = _NO_LIST
    pattern_properties: list[tuple[str, int]] = _NO_LIST
    property_names: int | None = None
    dependent_required: dict[str, tuple[str, ...]] = _NO_DICT
    dependent_schemas: dict[str, int] = _NO_DICT
    contains: int | None = None
    min_contains: int = 1
    max_contains: int | None = None
    unique_items: bool = False
    unevaluated_properties: int | None = None
    unevaluated_items: int | None = None
    format: str | None = None
    written: list[int] = _NO_LIST
    names_at: int = 0
    choice: Choice | None = None
    source: Any = field(default=None, compare=False, repr=False)

    def add(self, name: str, item: object) -> None:
        """Add to one of the lists."""
        found = getattr(self, name)
        if found:
            found.append(item)
        else:
            setattr(self, name, [item])

    def moved(self, offset: int) -> Subschema:
        """The same subschema in a list that has `offset` others before those of its own."""

        def one(number: int | None) -> int | None:
            return None if number is None else number + offset

        def several(numbers: list[int]) -> list[int]:
            return [number + offset for number in numbers]

        return replace(
            self,
            prefix_items=several(self.prefix_items),
            items=one(self.items),
            properties={name: number + offset for name, number in self.properties.items()},
            additional=one(self.additional),
            all_of=several(self.all_of),
            any_of=[several(group) for group in self.any_of],
            one_of=[several(group) for group in self.one_of],
            none_of=several(self.none_of),
            conditions=[(a + offset, one(b), one(c)) for a, b, c in self.conditions],
            pattern_properties=[(pattern, number + offset) for pattern, number in self.pattern_properties],
            property_names=one(self.property_names),
            dependent_schemas={name: number + offset for name, number in self.dependent_schemas.items()},
            contains=one(self.contains),
            unevaluated_properties=one(self.unevaluated_properties),
            unevaluated_items=one(self.unevaluated_items),
            written=several(self.written),
            choice=None if self.choice is None else self.choice.moved(offset),
        )

    def in_place(self) -> list[int]:
        """The subschemas that are applied to the same value, whether or not they must hold."""
        if not (self.any_of or self.one_of or self.none_of or self.conditions or self.dependent_schemas):
            return [*self.all_of]
        found = [*self.all_of, *self.none_of, *self.dependent_schemas.values()]
        for group in self.any_of:
            found += group
        for group in self.one_of:
            found += group
        for condition in self.conditions:
            found += [number for number in condition if number is not None]
        return found

    def of_members_and_items(self) -> list[int]:
        """The subschemas that are applied to members, their names, and items."""
        found = [*self.prefix_items, *self.properties.values()]
        if self.pattern_properties:
            found += [number for _, number in self.pattern_properties]
        rests = _rests(self)
        if rests != _NO_RESTS:
            found += [number for number in rests if number is not None]
        return found

    def leads_nowhere(self) -> bool:
        """Whether no other subschema is applied, in place or to members and items."""
        return bool(_links(self) == _NO_LINKS)


_links = attrgetter(
    "all_of", "any_of", "one_of", "none_of", "conditions", "dependent_schemas", "prefix_items", "properties",
    "pattern_properties", "items", "additional", "property_names", "contains", "unevaluated_properties",
    "unevaluated_items",
)  # fmt: skip
_rests = attrgetter("items", "additional", "property_names", "contains", "unevaluated_properties", "unevaluated_items")
_NO_RESTS = (None,) * 6
_NO_LINKS = _links(Subschema(pointer=""))


@dataclass(slots=True)
class Unenforced:
    """A keyword that was left out: its subschema's JSON pointer, its name, and why."""

    pointer: str
    keyword: str
    reason: str


@dataclass(slots=True)
class SchemaDocument:
    """A loaded schema: indices in `subschemas` and `root` are positions in `subschemas`.

    `unenforced` lists the keywords that were left out because the caller asked for that, and the formats nobody knows.
    `declared_order` says that members are to come in the order in which they are declared.
    """

    subschemas: list[Subschema]
    root: int
    unenforced: list[Unenforced] = field(default_factory=list)
    declared_order: bool = False
