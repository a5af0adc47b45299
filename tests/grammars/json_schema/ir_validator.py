"""A validator over loaded subschemas: the plainest reading of `ir`, as an oracle for the stages around it."""

from __future__ import annotations

import re
from fractions import Fraction

from constrain.grammars.json_schema.ir import (
    ARRAY,
    BOOLEAN,
    FRACTION,
    INTEGER,
    NULL,
    OBJECT,
    STRING,
    SchemaDocument,
    Subschema,
)


def same(left: object, right: object) -> bool:
    """Equality of JSON values."""
    if isinstance(left, bool) or isinstance(right, bool) or left is None or right is None:
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return isinstance(left, str) == isinstance(right, str) and left == right


def atom_of(value: object, integral_fraction: bool) -> int:
    """The type atom of a value whose numbers are int when written as integers and `Fraction` otherwise."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int):
        return INTEGER
    if isinstance(value, Fraction):
        return INTEGER if integral_fraction and value.denominator == 1 else FRACTION
    return STRING if isinstance(value, str) else ARRAY if isinstance(value, list) else OBJECT


def is_valid(document: SchemaDocument, value: object, number: int | None = None) -> bool:
    """Whether `value` is valid under a subschema, the root by default."""
    node = document.subschemas[document.root if number is None else number]
    atom = atom_of(value, node.integral_fraction)
    if not atom & node.types:
        return False
    if node.values is not None and not any(same(value, member) for member in node.values):
        return False
    if atom & (INTEGER | FRACTION):
        valid = _number_is_valid(node, value)
    elif atom == STRING:
        high = node.max_length
        valid = (
            node.min_length <= len(value)
            and (high is None or len(value) <= high)
            and (node.pattern is None or re.search(node.pattern, value) is not None)
        )
    elif atom == ARRAY:
        rest = value[len(node.prefix_items) :]
        valid = (
            node.min_items <= len(value)
            and (node.max_items is None or len(value) <= node.max_items)
            and all(is_valid(document, item, schema) for schema, item in zip(node.prefix_items, value, strict=False))
            and (node.items is None or all(is_valid(document, item, node.items) for item in rest))
        )
    elif atom == OBJECT:
        valid = (
            node.min_properties <= len(value)
            and (node.max_properties is None or len(value) <= node.max_properties)
            and all(name in value for name in node.required)
            and all(
                (schema := node.properties.get(name, node.additional)) is None or is_valid(document, member, schema)
                for name, member in value.items()
            )
        )
    else:
        valid = True
    return (
        valid
        and all(is_valid(document, value, part) for part in node.all_of)
        and all(any(is_valid(document, value, part) for part in group) for group in node.any_of)
    )


def _number_is_valid(node: Subschema, value: object) -> bool:
    assert isinstance(value, int | Fraction)
    return (
        (node.minimum is None or value >= node.minimum)
        and (node.exclusive_minimum is None or value > node.exclusive_minimum)
        and (node.maximum is None or value <= node.maximum)
        and (node.exclusive_maximum is None or value < node.exclusive_maximum)
        and (node.multiple_of is None or Fraction(value) % node.multiple_of == 0)
    )
