"""Subschemas that are read when something asks for their members.

Most schemas of most tools are plain: types, members, items and lists of texts. Of such a *fragment* a quick look tells
that it is well-formed, that every keyword in it is enforced, and that it has a value; so reading it can wait until
generation gets there, and for the tools that a model does not call it never happens. A fragment that is in any way out
of the ordinary is not deferred but read at once, so that nothing that can fail is left for later.

A fragment is kept as bytes: a copy that the caller cannot change, made faster than any other.
"""

from __future__ import annotations

import marshal
from dataclasses import dataclass
from typing import Any

from constrain.grammars.json_schema.dialect import Dialect
from constrain.grammars.json_schema.ir import OBJECT, Subschema

MAX_DEPTH = 40
"""How deep a fragment may nest."""

WITHOUT_MEANING = frozenset(
    ("title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly")
)
"""Keywords that ask nothing in any draft."""

_SIMPLE = frozenset(("string", "integer", "number", "boolean", "null"))
_OF_SCALARS = WITHOUT_MEANING | {"type"}
_OF_ENUMS = WITHOUT_MEANING | {"type", "enum", "const"}
_OF_OBJECTS = WITHOUT_MEANING | {"type", "properties", "required", "additionalProperties"}
_OF_ARRAYS = WITHOUT_MEANING | {"type", "items"}


def is_plain_object(schema: Any, depth: int = 0) -> bool:
    """Whether a schema plainly describes objects: well-formed, enforced, and with a value.

    It is as it would be read from draft 06 on.
    """
    if depth > MAX_DEPTH or schema.get("type") != "object" or not schema.keys() <= _OF_OBJECTS:
        return False
    members = schema.get("properties", _NONE)
    if type(members) is not dict:
        return False
    for name, member in members.items():
        if type(name) is not str or type(member) is not dict:
            return False
        kind = member.get("type")
        if type(kind) is str:
            if kind in _SIMPLE:
                if len(member) == 1 or member.keys() <= _OF_SCALARS:
                    continue
            elif kind == "object":
                if is_plain_object(member, depth + 1):
                    continue
                return False
            elif kind == "array":
                if _is_plain_array(member, depth + 1):
                    continue
                return False
        elif kind is not None:
            return False
        if not _is_plain_list(member, kind):
            return False
    if "required" in schema:
        required = schema["required"]
        if type(required) is not list:
            return False
        for name in required:
            if type(name) is not str or name not in members:
                return False
    return type(schema.get("additionalProperties", True)) is bool


_NONE: dict[str, Any] = {}


def _is_plain_array(schema: dict[Any, Any], depth: int) -> bool:
    if not schema.keys() <= _OF_ARRAYS:
        return False
    items = schema.get("items", _NONE)
    return type(items) is dict and (not items or _is_plain(items, depth))


def _is_plain(schema: dict[Any, Any], depth: int) -> bool:
    kind = schema.get("type")
    if kind == "object":
        return is_plain_object(schema, depth)
    if kind == "array":
        return depth <= MAX_DEPTH and _is_plain_array(schema, depth + 1)
    if type(kind) is str and kind in _SIMPLE and schema.keys() <= _OF_SCALARS:
        return True
    return (kind is None or type(kind) is str) and _is_plain_list(schema, kind)


def _is_plain_list(schema: dict[Any, Any], kind: str | None) -> bool:
    """Whether a schema lists texts, one at least, and no more."""
    if kind not in (None, "string") or not schema.keys() <= _OF_ENUMS:
        return False
    if "const" in schema:
        return type(schema["const"]) is str and "enum" not in schema
    values = schema.get("enum")
    return type(values) is list and bool(values) and all([type(value) is str for value in values])


def frozen(schema: object) -> bytes | None:
    """A copy of a plain schema; None where it has strings that are no Unicode text, or parts that are not JSON's."""
    try:
        data = marshal.dumps(schema, 4)
    except ValueError:
        return None
    return None if b"\xed" in data else data  # the first byte of surrogates, and of a few letters


@dataclass(frozen=True, slots=True)
class Fragment:
    """A plain schema that is yet to be read: a copy of it, its members, and how it is to be read."""

    data: bytes
    names: tuple[str, ...]
    is_open: bool
    dialect: Dialect
    mode: int
    closed_objects: bool


class Deferred(Subschema):
    """A subschema that a `Fragment` describes. It becomes an ordinary one when its members are asked for.

    Until then it is known to be about objects, to have a value, and to apply nothing in place. One that stands in a
    `SchemaDocument` stays as it is; `bound` makes one that can be read.
    """

    __slots__ = ()

    @classmethod
    def of(cls, pointer: str, fragment: Fragment) -> Deferred:
        """One that is not bound."""
        self: Deferred = object.__new__(cls)
        self.pointer = pointer
        self.source = (fragment, None)
        return self

    def bound(self, subschemas: list[Subschema]) -> Deferred:
        """One that adds to `subschemas` when it is read, where it stands itself."""
        other: Deferred = object.__new__(Deferred)
        other.pointer = self.pointer
        other.source = (self.source[0], subschemas)
        return other

    def __getattr__(self, name: str) -> Any:
        if name in _READ:
            self._read()
            return getattr(self, name)
        try:
            return _DEFAULTS[name]
        except KeyError:
            raise AttributeError(name) from None

    def _read(self) -> None:
        from constrain.grammars.json_schema.loader import read_fragment

        fragment, subschemas = self.source
        if subschemas is None:
            raise TypeError("a subschema that is not bound cannot be read")
        Subschema.__init__(self, self.pointer, OBJECT)
        self.__class__ = Subschema  # type: ignore[assignment]
        read_fragment(self, marshal.loads(fragment.data), fragment, subschemas)

    def names(self) -> tuple[tuple[str, ...], bool]:
        """The names that it speaks of, and whether it admits others; without reading it."""
        fragment = self.source[0]
        return fragment.names, fragment.is_open

    def in_place(self) -> list[int]:
        return []

    def of_members_and_items(self) -> Any:
        return iter(())

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return Deferred.of, (self.pointer, self.source[0])


_READ = frozenset(("properties", "required", "additional"))
_blank = Subschema("", OBJECT)
_DEFAULTS = {n: getattr(_blank, n) for n in Subschema.__dataclass_fields__ if n not in (*_READ, "pointer", "source")}


def bound(subschemas: list[Subschema]) -> list[Subschema]:
    """A list of the same subschemas, to which more can be added, with those that are deferred ready to be read."""
    out = list(subschemas)
    for index, s in enumerate(subschemas):
        if type(s) is Deferred:
            out[index] = s.bound(out)
    return out


def read_all(subschemas: list[Subschema]) -> list[Subschema]:
    """A list of the same subschemas with none that is deferred; what those contain follows at the end."""
    out = bound(subschemas)
    for s in out:  # which grows
        s.properties  # noqa: B018
    return out
