"""Schemas that a glance shows to be supported and to have instances.

Checking a schema in full takes about a millisecond, which thousands of tools cannot have before the first of them is
called. Most of their schemas are plain: objects of strings, numbers, booleans, lists and enums, without any bound. What
is proven here in a microsecond or two per member needs no check before the tool is called; whatever goes beyond it is
checked in full. So the answer False says nothing.
"""

from __future__ import annotations

import keyword
import re
from typing import Any

_SCALARS = frozenset({"string", "integer", "number", "boolean", "null"})
_TYPES = _SCALARS | {"array", "object"}
_NOTES = frozenset({"type", "description", "title", "default", "examples"})
_LEAF = _NOTES | {"enum", "items"}
_OBJECT = _NOTES | {"properties", "required", "additionalProperties", "$schema"}
_DIALECTS = frozenset(
    {
        "http://json-schema.org/draft-07/schema",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    }
)
_DEEPEST, _MOST, _LONGEST = 8, 256, 1024
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_plain(parameters: Any, *, names: bool = False, forbidden: tuple[str, ...] = ()) -> bool:
    """Whether the schema of a tool's arguments is evidently supported and satisfiable.

    Args:
        parameters: the schema.
        names: whether the names of members must be such as every notation can write without quotes.
        forbidden: texts that no string of an `enum` may hold.
    """
    return _Plain(names, forbidden).object(parameters, 0)


class _Plain:
    def __init__(self, names: bool, forbidden: tuple[str, ...]) -> None:
        self._names, self._forbidden = names, forbidden

    def object(self, schema: Any, depth: int) -> bool:
        if type(schema) is not dict or not schema.keys() <= _OBJECT or schema.get("type") != "object":
            return False
        if "$schema" in schema and (depth or schema["$schema"] not in _DIALECTS):
            return False
        members = schema.get("properties", {})
        if type(members) is not dict or len(members) > _MOST or depth > _DEEPEST:
            return False
        for name, member in members.items():
            if type(name) is not str or not self._is_name(name):
                return False
            # By far the most members are no more than a type, with notes.
            if type(member) is dict and member.keys() <= _NOTES and type(kind := member.get("type")) is str:
                if kind not in _TYPES:
                    return False
            elif not self._any(member, depth + 1):
                return False
        required = schema.get("required", [])
        if type(required) is not list or len(required) > len(members):
            return False
        if not all(type(name) is str and name in members for name in required) or len(set(required)) < len(required):
            return False
        others = schema.get("additionalProperties", True)
        return type(others) is bool or (type(others) is dict and self._any(others, depth + 1))

    def _any(self, schema: Any, depth: int) -> bool:
        if type(schema) is not dict or depth > _DEEPEST:
            return False
        kind = schema.get("type")
        if kind == "object":
            return self.object(schema, depth)
        if not schema.keys() <= _LEAF or type(kind) is not str or kind not in _TYPES:
            return False
        if "enum" in schema and not self._enum(schema["enum"], kind):
            return False
        return "items" not in schema or (kind == "array" and self._any(schema["items"], depth + 1))

    def _enum(self, values: Any, kind: str) -> bool:
        if kind != "string" or type(values) is not list or not 0 < len(values) <= _MOST:
            return False
        return len(set(values)) == len(values) if all(map(self._is_value, values)) else False

    def _is_value(self, value: Any) -> bool:
        return (
            type(value) is str
            and len(value) <= _LONGEST
            and value.isascii()
            and not any(text in value for text in self._forbidden)
        )

    def _is_name(self, name: str) -> bool:
        if len(name) > _LONGEST:
            return False
        return bool(_NAME.fullmatch(name)) and not keyword.iskeyword(name) if self._names else name.isascii()
