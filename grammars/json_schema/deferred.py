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


def frozen(schema: Any) -> bytes | None:
    """A copy of a schema that plainly describes objects: well-formed, enforced, and with a value; None of any other.

    It is taken as it would be read from draft 06 on.
    """
    try:
        data = marshal.dumps(schema, 4)  # of the types that JSON has as they are, and of nothing made from them
        if b"\xed" in data:  # the first byte of surrogates, and of a few letters
            return None
        return data if _is_plain_object(schema, 0) else None
    except (AttributeError, TypeError, ValueError):  # something is not what it should be; to be said where it is read
        return None


def thawed(data: bytes) -> Any:
    """The schema that `frozen` copied."""
    return marshal.loads(data)


def _is_plain_object(schema: Any, depth: int) -> bool:
    if depth > MAX_DEPTH or not schema.keys() <= _OF_OBJECTS or schema["type"] != "object":
        return False
    members = schema.get("properties", _NONE)
    "".join(members)  # they are texts
    for member in members.values():
        kind = member.get("type")
        if kind in _SIMPLE and (len(member) == 1 or member.keys() <= _OF_SCALARS):
            continue
        if not _is_plain(member, kind, depth):
            return False
    if "required" in schema:
        required = schema["required"]
        names = {*required}
        if type(required) is not list or len(names) != len(required) or not members.keys() >= names:
            return False
    return "additionalProperties" not in schema or type(schema["additionalProperties"]) is bool


_NONE: dict[str, Any] = {}


def _is_plain(schema: Any, kind: object, depth: int) -> bool:
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
        return _is_plain(items, kind, depth + 1)
    if kind == "object":
        return _is_plain_object(schema, depth + 1)
    if kind is not None and kind != "string":
        return False
    if "enum" in schema:
        values = schema["enum"]
        "".join(values)
        return bool(values) and type(values) is list and "const" not in schema and schema.keys() <= _OF_ENUMS
    return "const" in schema and type(schema["const"]) is str and bool(schema.keys() <= _OF_ENUMS)


@dataclass(frozen=True, slots=True)
class Fragments:
    """Plain schemas that are yet to be read, the branches of one group: copies, and how they are to be read.

    Attributes:
        data: each by the number of its subschema.
        positions: of each in the group.
        pointer: what comes before the position in its pointer.
    """

    data: dict[int, bytes]
    positions: dict[int, int]
    pointer: str
    dialect: Dialect
    mode: int
    closed_objects: bool


class Deferred(Subschema):
    """A subschema that is yet to be read. It becomes an ordinary one when its members are asked for.

    Until then it is known to be about objects, to have a value, and to apply nothing in place. In a `SchemaDocument`
    one stands for all of a group, at each of their numbers; `bound` makes those that can be read.
    """

    __slots__ = ()

    @classmethod
    def of(cls, fragments: Fragments) -> Deferred:
        """One that stands for all of these."""
        self: Deferred = object.__new__(cls)
        self.source = fragments
        return self

    def __getattr__(self, name: str) -> Any:
        if name in _READ:
            self._read()
            return getattr(self, name)
        if name == "pointer":
            fragments, number, _ = self.source
            return f"{fragments.pointer}{fragments.positions[number]}"
        try:
            return _DEFAULTS[name]
        except KeyError:
            raise AttributeError(name) from None

    def _read(self) -> None:
        from constrain.grammars.json_schema.loader import read_fragment

        fragments, number, subschemas = self.source
        Subschema.__init__(self, self.pointer, OBJECT)
        self.__class__ = Subschema  # type: ignore[assignment]
        read_fragment(self, thawed(fragments.data[number]), fragments, subschemas)

    def in_place(self) -> list[int]:
        return []

    def of_members_and_items(self) -> list[int]:
        return []

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return Deferred.of, (self.source,)


_READ = frozenset(("properties", "required", "additional"))
_blank = Subschema("", OBJECT)
_DEFAULTS = {n: getattr(_blank, n) for n in Subschema.__dataclass_fields__ if n not in (*_READ, "pointer", "source")}


def bound(subschemas: list[Subschema]) -> list[Subschema]:
    """A list of the same subschemas, to which more can be added, with those that are deferred ready to be read.

    What is read below them is added to the list.
    """
    out = list(subschemas)
    for number, s in enumerate(subschemas):
        if type(s) is Deferred:
            out[number] = _bound(s, number, out)
    return out


def add_bound(out: list[Subschema], subschemas: list[Subschema]) -> None:
    """Adds the subschemas of another list, with their references, in the same way."""
    offset = len(out)
    out += [s if type(s) is Deferred else s.moved(offset) for s in subschemas]
    for number, s in enumerate(subschemas):
        if type(s) is Deferred:
            out[offset + number] = _bound(s, number, out)


def _bound(s: Subschema, number: int, out: list[Subschema]) -> Subschema:
    one: Subschema = object.__new__(Deferred)
    one.source = (s.source, number, out)
    return one


def at_hand(subschemas: list[Subschema]) -> list[tuple[int, Subschema]]:
    """Those that are not deferred, with their numbers."""
    return [(number, s) for number, s in enumerate(subschemas) if type(s) is not Deferred]


def read_all(subschemas: list[Subschema]) -> list[Subschema]:
    """A list of the same subschemas with none that is deferred; what those contain follows at the end."""
    out = bound(subschemas)
    for s in out:  # which grows
        _ = s.properties
    return out
