"""The subschemas that speak of one place of a value, for explanations.

What may come where is decided by the automaton alone. These subschemas only lend it words and lists: names to try,
values to try, bounds to mention. So it does no harm that an alternative is among them that the value has left already,
or that a reference is not followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote

from constrain.tools.openapi_tools import value_at

_LISTS = ("allOf", "anyOf", "oneOf")
_LIMIT = 2000


class Candidates:
    """The subschemas for the places of values under one schema."""

    def __init__(self, schema: Any) -> None:
        self._root = schema

    def at(self, path: Sequence[str | int]) -> list[dict[str, Any]]:
        """Those for the value at a path."""
        found = list(self._in_place([self._root]))
        for part in path:
            below = [child for schema in found for child in _children(schema, part)]
            found = list(self._in_place(below))
        return found

    def _in_place(self, schemas: Sequence[Any]) -> Iterator[dict[str, Any]]:
        seen: dict[int, Any] = {}  # the schemas are kept, so that no id is given twice
        pending = list(reversed(schemas))
        while pending and len(seen) < _LIMIT:
            schema = pending.pop()
            if not isinstance(schema, dict) or id(schema) in seen:
                continue
            seen[id(schema)] = schema
            yield schema
            reference = schema.get("$ref")
            more: list[Any] = []
            if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
                more.append(value_at(self._root, unquote(reference[1:])))
            for key in _LISTS:
                if isinstance(schema.get(key), list):
                    more.extend(schema[key])
            more.extend(schema[key] for key in ("if", "then", "else") if key in schema)
            for key in ("dependentSchemas", "dependencies"):
                if isinstance(schema.get(key), dict):
                    more.extend(schema[key].values())
            pending.extend(reversed(more))


def whole_values(schema: dict[str, Any]) -> list[Any]:
    """The values that a schema gives as a whole."""
    values = schema["enum"] if isinstance(schema.get("enum"), list) else []
    return [*values, schema["const"]] if "const" in schema else values


def _children(schema: dict[str, Any], part: str | int) -> Iterator[Any]:
    for value in whole_values(schema):
        there = part in value if isinstance(value, dict) else isinstance(value, list) and part in range(len(value))
        if there:
            yield {"const": value[part]}
    if isinstance(part, str):
        named = False
        if isinstance(schema.get("properties"), dict) and part in schema["properties"]:
            named = True
            yield schema["properties"][part]
        for pattern, member in (schema.get("patternProperties") or {}).items():
            try:
                matches = re.search(pattern, part) is not None
            except re.error:
                matches = False
            if matches:
                named = True
                yield member
        if not named:
            yield schema.get("additionalProperties")
            yield schema.get("unevaluatedProperties")
        return
    first = schema.get("prefixItems", schema.get("items"))
    if isinstance(first, list):
        if part < len(first):
            yield first[part]
            return
        yield schema.get("items") if "prefixItems" in schema else schema.get("additionalItems")
        return
    yield schema.get("items")
    yield schema.get("contains")
