"""Subschemas that are read when something asks for their members.

A *fragment* that is plain (see `frozen`) cannot fail, so reading it can wait until generation gets there, and for the
tools that a model does not call it never happens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from constrain.grammars.json_schema.dialect import Dialect
from constrain.grammars.json_schema.frozen import thawed
from constrain.grammars.json_schema.ir import OBJECT, Subschema


@dataclass(frozen=True, slots=True)
class Fragments:
    """Plain schemas that are yet to be read, the branches of one group: copies, and how they are to be read.

    Attributes:
        data: by position in the group; None for those that are read.
        positions: those of the others.
        first: the number of the subschema of the first of these; those of the others follow.
        pointer: what comes before the position in its pointer.
    """

    data: Sequence[bytes | None]
    positions: Sequence[int]
    first: int
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
            return f"{fragments.pointer}{fragments.positions[number - fragments.first]}"
        try:
            return _DEFAULTS[name]
        except KeyError:
            raise AttributeError(name) from None

    def _read(self) -> None:
        from constrain.grammars.json_schema.loader import read_fragment

        fragments, number, subschemas = self.source
        Subschema.__init__(self, self.pointer, OBJECT)
        self.__class__ = Subschema  # type: ignore[assignment]
        data = fragments.data[fragments.positions[number - fragments.first]]
        read_fragment(self, thawed(data), fragments, subschemas)

    def leads_nowhere(self) -> bool:
        return True

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


class _Subschemas(list[Subschema]):
    """Subschemas of which those that are deferred are made ready to be read when they are asked for by number.

    In all other ways it is the list that it looks like: whoever goes through it sees what stands for the deferred ones.
    """

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        s = list.__getitem__(self, index)
        if type(s) is Deferred and type(s.source) is Fragments:
            fragments = s.source
            s = self[index] = object.__new__(Deferred)
            s.source = (fragments, index if index >= 0 else len(self) + index, self)
        return s


def bound(subschemas: list[Subschema]) -> list[Subschema]:
    """A list of the same subschemas, to which more can be added, with those that are deferred ready to be read.

    What is read below them is added to the list.
    """
    return _Subschemas(subschemas) if Deferred in map(type, subschemas) else [*subschemas]


def add_bound(out: list[Subschema], subschemas: list[Subschema]) -> None:
    """Adds the subschemas of another list, with their references, in the same way."""
    offset = len(out)
    out += [s if type(s) is Deferred else s.moved(offset) for s in subschemas]
    for number, s in enumerate(subschemas):
        if type(s) is Deferred:
            one: Subschema = object.__new__(Deferred)
            one.source = (s.source, number, out)
            out[offset + number] = one


def is_deferred(subschemas: list[Subschema], number: int) -> bool:
    """Whether a subschema is yet to be read. It has a value then."""
    return type(list.__getitem__(subschemas, number)) is Deferred


def at_hand(subschemas: list[Subschema]) -> list[tuple[int, Subschema]]:
    """Those that are not deferred, with their numbers."""
    if Deferred not in map(type, subschemas):
        return [*enumerate(subschemas)]
    return [(number, s) for number, s in enumerate(subschemas) if type(s) is not Deferred]


def read_all(subschemas: list[Subschema]) -> list[Subschema]:
    """A list of the same subschemas with none that is deferred; what those contain follows at the end."""
    out = bound(subschemas)
    number = 0
    while number < len(out):  # which grows
        _ = out[number].properties
        number += 1
    return [*out]
