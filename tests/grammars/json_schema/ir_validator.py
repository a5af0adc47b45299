"""A validator over loaded subschemas: the plainest reading of `ir`, as an oracle for the stages around it.

Evaluation yields the names and positions that were evaluated, or None where the value is not valid, as the later drafts
describe it. Formats are judged by jsonschema-rs, which passes every format test of the official suite, and hold where
it is not installed. Patterns are Python's, with the anchors and character classes of ECMAScript.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

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

try:
    import jsonschema_rs
except ImportError:  # pragma: no cover
    jsonschema_rs = None


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


def is_valid(document: SchemaDocument, value: object, number: int | None = None, *, formats: bool = True) -> bool:
    """Whether `value` is valid under a subschema, the root by default; without `formats`, whatever its formats."""
    return _Evaluation(document, formats).evaluate(document.root if number is None else number, value) is not None


@dataclass
class _Marks:
    """What has been evaluated: names of members and positions of items."""

    names: set[str] = field(default_factory=set)
    positions: set[int] = field(default_factory=set)


@dataclass
class _Evaluation:
    document: SchemaDocument
    formats: bool

    def holds(self, number: int, value: object) -> bool:
        return self.evaluate(number, value) is not None

    def evaluate(self, number: int, value: Any) -> _Marks | None:
        node = self.document.subschemas[number]
        atom = atom_of(value, node.integral_fraction)
        if not atom & node.types:
            return None
        if node.values is not None and not any(same(value, member) for member in node.values):
            return None
        if atom & (INTEGER | FRACTION) and not _number_is_valid(node, value):
            return None
        if atom == STRING and not self._string_is_valid(node, value):
            return None
        marks = _Marks()
        if atom == ARRAY and not self._array_is_valid(node, value, marks):
            return None
        if atom == OBJECT and not self._object_is_valid(node, value, marks):
            return None
        for part in self._in_place(node, value):
            if part is None:
                return None
            marks.names |= part.names
            marks.positions |= part.positions
        if atom == OBJECT and node.unevaluated_properties is not None:
            for name in value.keys() - marks.names:
                if not self.holds(node.unevaluated_properties, value[name]):
                    return None
                marks.names.add(name)
        if atom == ARRAY and node.unevaluated_items is not None:
            for position in set(range(len(value))) - marks.positions:
                if not self.holds(node.unevaluated_items, value[position]):
                    return None
                marks.positions.add(position)
        return marks

    def _in_place(self, node: Subschema, value: Any) -> Iterator[_Marks | None]:
        """The outcomes of everything that must hold in place."""
        for number in node.all_of:
            yield self.evaluate(number, value)
        for group in node.any_of:
            passed = [marks for number in group if (marks := self.evaluate(number, value)) is not None]
            yield from passed or [None]
        for group in node.one_of:
            passed = [marks for number in group if (marks := self.evaluate(number, value)) is not None]
            yield passed[0] if len(passed) == 1 else None
        for number in node.none_of:
            yield None if self.holds(number, value) else _Marks()
        for condition, consequence, alternative in node.conditions:
            marks = self.evaluate(condition, value)
            if marks is not None:
                yield marks
            branch = alternative if marks is None else consequence
            if branch is not None:
                yield self.evaluate(branch, value)
        if isinstance(value, dict):
            for name, number in node.dependent_schemas.items():
                if name in value:
                    yield self.evaluate(number, value)

    def _string_is_valid(self, node: Subschema, value: str) -> bool:
        return (
            node.min_length <= len(value)
            and (node.max_length is None or len(value) <= node.max_length)
            and (node.pattern is None or contains_match(node.pattern, value))
            and (node.format is None or not self.formats or has_format(node.format.split()[0], value))
        )

    def _array_is_valid(self, node: Subschema, value: list[Any], marks: _Marks) -> bool:
        for position, item in enumerate(value):
            number = node.prefix_items[position] if position < len(node.prefix_items) else node.items
            if number is not None:
                if not self.holds(number, item):
                    return False
                marks.positions.add(position)
        if node.contains is not None:
            found = {position for position, item in enumerate(value) if self.holds(node.contains, item)}
            if len(found) < node.min_contains or (node.max_contains is not None and len(found) > node.max_contains):
                return False
            marks.positions |= found
        if node.unique_items and any(same(a, b) for position, a in enumerate(value) for b in value[:position]):
            return False
        return node.min_items <= len(value) and (node.max_items is None or len(value) <= node.max_items)

    def _object_is_valid(self, node: Subschema, value: dict[str, Any], marks: _Marks) -> bool:
        for name, member in value.items():
            numbers = [number for pattern, number in node.pattern_properties if contains_match(pattern, name)]
            if name in node.properties:
                numbers.append(node.properties[name])
            if not numbers and node.additional is not None:
                numbers = [node.additional]
            if not all(self.holds(number, member) for number in numbers):
                return False
            if numbers:
                marks.names.add(name)
        return (
            node.min_properties <= len(value)
            and (node.max_properties is None or len(value) <= node.max_properties)
            and all(name in value for name in node.required)
            and all(other in value for name in value for other in node.dependent_required.get(name, ()))
            and (node.property_names is None or all(self.holds(node.property_names, name) for name in value))
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


def has_format(name: str, value: str) -> bool:
    """Whether a string has a format; always where there is no judge."""
    return jsonschema_rs is None or bool(_format_validator(name).is_valid(value))


@lru_cache(None)
def _format_validator(name: str) -> Any:
    return jsonschema_rs.Draft202012Validator({"format": name}, validate_formats=True)


def contains_match(pattern: str, value: str) -> bool:
    """Whether an ECMA-262 pattern is found in a string. Raises `re.error` for what Python does not know."""
    return _compiled(pattern).search(value) is not None


_TOKEN = re.compile(r"\\.|\[|\]|\$|.", re.DOTALL)
_SPACES = "\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"


@lru_cache(None)
def _compiled(pattern: str) -> re.Pattern[str]:
    translated = []
    in_class = False
    for token in _TOKEN.findall(pattern):
        if token == "[":
            token = "\\[" if in_class else "["
            in_class = True
        elif token == "]":
            in_class = False
        elif token == "$" and not in_class:
            token = r"\Z"
        elif token == "." and not in_class:
            token = "[^\n\r\u2028\u2029]"
        elif token == r"\s":
            token = _SPACES if in_class else f"[{_SPACES}]"
        elif token == r"\S" and not in_class:
            token = f"[^{_SPACES}]"
        elif token == r"\Z" or token == r"\A" or token == r"\a":
            token = token[1]
        translated.append(token)
    return re.compile("".join(translated), re.ASCII)
