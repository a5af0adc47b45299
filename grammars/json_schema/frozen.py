"""Copies of schemas that plainly describe objects.

Most schemas of most tools are plain: types, members, items and lists of texts. Of such a one a quick look tells that it
is well-formed, that every keyword in it is enforced, and that it has a value; so reading it can wait. A schema that is
in any way out of the ordinary is not taken, so that nothing that can fail is left for later.

A copy is bytes, which the caller cannot change, made faster than any other. Many are looked at as copies, where someone
offered to do that: see `look_at_many_with`.
"""

from __future__ import annotations

import marshal
import re
from collections.abc import Callable, Sequence
from typing import Any

MAX_DEPTH = 40
"""How deep a plain schema may nest."""

WITHOUT_MEANING = frozenset(
    ("title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly")
)
"""Keywords that ask nothing in any draft."""

MANY = 200
"""From so many on the look may be at the copies. For fewer, getting ready for that would take longer."""

_SIMPLE = frozenset(("string", "integer", "number", "boolean", "null"))
_OF_SCALARS = WITHOUT_MEANING | {"type"}
_OF_ENUMS = WITHOUT_MEANING | {"type", "enum", "const"}
_OF_OBJECTS = WITHOUT_MEANING | {"type", "properties", "required", "additionalProperties"}
_OF_ARRAYS = WITHOUT_MEANING | {"type", "items"}

_SURROGATE = re.compile(rb"\xed[\xa0-\xbf]")

_look_at_many: Callable[[list[bytes]], Sequence[object]] | None = None


def look_at_many_with(look: Callable[[list[bytes]], Sequence[object]]) -> None:
    """Have `frozen_all` look at many copies with a function that says of each whether it surely is of a plain schema.

    An empty copy stands for what cannot be copied.
    """
    global _look_at_many
    _look_at_many = look


def frozen(schema: Any) -> bytes | None:
    """A copy of a schema that plainly describes objects: well-formed, enforced, and with a value; None of any other.

    It is taken as it would be read from draft 06 on.
    """
    return _if_plain(schema, _copy(schema))


def frozen_all(schemas: Sequence[Any]) -> list[bytes | None]:
    """What `frozen` makes of each."""
    try:
        copies = [marshal.dumps(schema, 4) for schema in schemas]
    except ValueError:
        copies = [_copy(schema) for schema in schemas]
    if len(schemas) < MANY or _look_at_many is None:
        return [_if_plain(schema, data) for schema, data in zip(schemas, copies, strict=True)]
    plain = _look_at_many(copies)
    if all(plain):
        return [*copies]
    return [
        data if is_plain else _if_plain(schema, data)
        for schema, data, is_plain in zip(schemas, copies, plain, strict=True)
    ]


def thawed(data: bytes) -> Any:
    """The schema that `frozen` copied."""
    return marshal.loads(data)


def _copy(schema: Any) -> bytes:
    try:
        return marshal.dumps(schema, 4)  # of the types that JSON has as they are, and of nothing made from them
    except ValueError:
        return b""


def _if_plain(schema: Any, data: bytes) -> bytes | None:
    if not data or (b"\xed" in data and _SURROGATE.search(data)):
        return None
    try:
        return data if _is_plain_object(schema, 0, [len(data)]) else None
    except (AttributeError, TypeError, ValueError):  # something is not what it should be; to be said where it is read
        return None


def _is_plain_object(schema: Any, depth: int, left: list[int]) -> bool:
    """Whether a schema plainly describes objects. `left` holds how many members may still be looked at."""
    if depth > MAX_DEPTH or not schema.keys() <= _OF_OBJECTS or schema.get("type") != "object":
        return False
    members = schema.get("properties", _NONE)
    left[0] -= len(members)
    if left[0] < 0:  # more than there are bytes: objects that stand in many places each
        return False
    "".join(members)  # they are texts
    for member in members.values():
        kind = member.get("type")
        if kind in _SIMPLE and (len(member) == 1 or member.keys() <= _OF_SCALARS):
            continue
        if not _is_plain(member, kind, depth, left):
            return False
    if "required" in schema:
        required = schema["required"]
        names = {*required}
        if type(required) is not list or len(names) != len(required) or not members.keys() >= names:
            return False
    return "additionalProperties" not in schema or type(schema["additionalProperties"]) is bool


_NONE: dict[str, Any] = {}


def _is_plain(schema: Any, kind: object, depth: int, left: list[int]) -> bool:
    """Whether a schema of this `type` is plain, one of a simple type alone aside."""
    if kind == "array":
        if depth > MAX_DEPTH or not schema.keys() <= _OF_ARRAYS:
            return False
        if "items" not in schema:
            return True
        items = schema["items"]
        kind = items.get("type")
        if kind in _SIMPLE and (len(items) == 1 or items.keys() <= _OF_SCALARS):
            return True
        return _is_plain(items, kind, depth + 1, left)
    if kind == "object":
        return _is_plain_object(schema, depth + 1, left)
    if kind != "string" and "type" in schema:
        return False
    if "enum" in schema:
        values = schema["enum"]
        "".join(values)
        return bool(values) and type(values) is list and "const" not in schema and schema.keys() <= _OF_ENUMS
    return "const" in schema and type(schema["const"]) is str and bool(schema.keys() <= _OF_ENUMS)
