"""The alternatives of one plain subschema, read straight from its fields.

Most variables are a single subschema without applicators: a type, members, items, a list of texts. There is nothing to
combine then, so the search of `expansion` and the merging of `normal` would find one alternative that says what the
fields say. Each function here gives that alternative, for one type, or None where the general way has to be taken. They
are on the path of the first mask at every member, where most of the time would go into looking for what is not there.
"""

from __future__ import annotations

import functools

from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.alternatives import (
    ArrayAlternative,
    AtomAlternatives,
    ObjectAlternative,
    Rule,
    StringAlternative,
    Variable,
)
from constrain.grammars.json_schema.ir import Subschema
from constrain.grammars.json_schema.literals import has_surrogate
from constrain.grammars.languages.number_constraint import NumberConstraint

_NO_NAMES: frozenset[str] = frozenset()


def objects(s: Subschema, types: int) -> tuple[ObjectAlternative, ...] | None:
    """The alternatives for objects; `types` are the type atoms that the subschema admits."""
    if not types & ir.OBJECT:
        return ()
    if not names_members_alone(s):
        return None
    rules = (Rule(s.properties, (), s.additional),) if s.properties or s.additional is not None else ()  # type: ignore[arg-type]
    minimum, maximum = max(s.min_properties, len(s.required)), s.max_properties
    if maximum is not None and maximum < minimum:
        return ()
    return (ObjectAlternative(rules, {}, _NO_NAMES, (), s.required, minimum, maximum),)


def names_members_alone(s: Subschema) -> bool:
    """Whether nothing but its name decides whether an object may have a member, and what its value must be."""
    return s.values is None and s.property_names is None and not s.pattern_properties


def arrays(s: Subschema, types: int, items: Variable | None) -> tuple[ArrayAlternative, ...] | None:
    """The alternatives for arrays; `items` is what its `items` ask of an item, None where no item has a value."""
    if not types & ir.ARRAY:
        return ()
    if s.values is not None or s.prefix_items or s.contains is not None:
        return None
    minimum, maximum = s.min_items, s.max_items
    if maximum is not None and maximum < minimum:
        return ()
    return (ArrayAlternative((), items, minimum, maximum, (), s.unique_items and (maximum is None or maximum > 1)),)


def strings(s: Subschema, types: int) -> tuple[StringAlternative, ...] | None:
    """The alternatives for strings."""
    if not types & ir.STRING:
        return ()
    if not asks_of_texts(s):
        return _FREE if s.values is None else _listed(s.values)
    if s.values is not None:
        return None
    low, high = s.min_length, s.max_length
    if high is not None and high < low:
        return ()
    patterns = () if s.pattern is None else (s.pattern,)
    return (StringAlternative(None, patterns, () if s.format is None else (s.format,), minimum=low, maximum=high),)


def _listed(values: list[object]) -> tuple[StringAlternative, ...]:
    texts = sorted(v for v in values if type(v) is str and (v.isascii() or not has_surrogate(v)))
    return (StringAlternative(tuple(texts)),) if texts else ()


_FREE = (StringAlternative(),)


def asks_of_texts(s: Subschema) -> bool:
    """Whether a subschema says of texts what they are, or how long."""
    return s.pattern is not None or s.format is not None or s.max_length is not None or s.min_length > 0


def admits_any_text_alone(s: Subschema) -> bool:
    """Whether a subschema admits all strings and nothing else."""
    return s.types == ir.STRING and s.values is None and not asks_of_texts(s)


def asks_of_numbers(s: Subschema) -> bool:
    """Whether a subschema says more of numbers than their types."""
    return not (s.minimum is s.maximum is s.exclusive_minimum is s.exclusive_maximum is s.multiple_of is None)


def atoms(s: Subschema, types: int) -> AtomAlternatives | None:
    """The alternatives for null, booleans and numbers."""
    types &= ir.NULL | ir.BOOLEAN | ir.NUMBER
    if not types:
        return _NO_ATOMS
    if s.values is not None:
        return None
    if not types & ir.NUMBER or not asks_of_numbers(s):
        return _atoms(types, s.integral_fraction)
    low, high = s.exclusive_minimum, s.exclusive_maximum
    low_excluded = low is not None and (s.minimum is None or low >= s.minimum)
    high_excluded = high is not None and (s.maximum is None or high <= s.maximum)
    number = NumberConstraint(
        integer=not types & ir.FRACTION,
        integral_fraction=bool(s.integral_fraction or types & ir.FRACTION),
        minimum=low if low_excluded else s.minimum,
        exclusive_minimum=low_excluded,
        maximum=high if high_excluded else s.maximum,
        exclusive_maximum=high_excluded,
        multiples=() if s.multiple_of is None else (s.multiple_of,),
        non_integer=not types & ir.INTEGER,
    )
    return AtomAlternatives(bool(types & ir.NULL), (False, True) if types & ir.BOOLEAN else (), (number,))


@functools.cache
def _atoms(types: int, integral_fraction: bool) -> AtomAlternatives:
    numbers = NumberConstraint(
        integer=not types & ir.FRACTION,
        integral_fraction=bool(integral_fraction or types & ir.FRACTION),
        non_integer=not types & ir.INTEGER,
    )
    return AtomAlternatives(
        bool(types & ir.NULL),
        (False, True) if types & ir.BOOLEAN else (),
        (numbers,) if types & ir.NUMBER else (),
    )


_NO_ATOMS = AtomAlternatives(False, (), ())
