"""What a simple subschema asks, as a key: equal subschemas of one document are made one variable by it.

Schemas say the same small thing in many places: a string that is not empty, one of three words, an array of strings.
Taken for one, it is brought to normal form and lowered once. Only subschemas that plainly have a value are: what a
message says of a place without one then names that place and no other. Objects with members are not, as looking for
their equal would cost about what it saves.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.ir import Subschema

MAX_TEXTS = 64
"""Texts in a list that is compared with others."""

_KEY = (
    "types",
    "integral_fraction",
    "min_length",
    "max_length",
    "minimum",
    "exclusive_minimum",
    "maximum",
    "exclusive_maximum",
    "max_items",
    "additional",
)
_UNSEEN = {*_KEY, "pointer", "source", "written", "names_at", "values", "items"}
_key = attrgetter(*_KEY)
_others = attrgetter(*(name for name in Subschema.__dataclass_fields__ if name not in _UNSEEN))
_NO_OTHERS = _others(Subschema(pointer=""))
_SCALARS = ir.NULL | ir.BOOLEAN | ir.NUMBER | ir.STRING


def content(s: Subschema, item: Callable[[int], object]) -> tuple[Any, ...] | None:
    """A key that equal subschemas have in common, where they can be one; `item` tells that of an array's items."""
    if _others(s) != _NO_OTHERS or not s.types:
        return None
    key: tuple[Any, ...] = _key(s)
    if s.values is not None:
        if len(s.values) > MAX_TEXTS or not s.types & ir.STRING or key[2:] != _UNBOUNDED or s.items is not None:
            return None
        if not s.values or not all(type(v) is str and v.isascii() for v in s.values):
            return None
        return (*key, *s.values)
    if s.max_length is not None and s.max_length < s.min_length:
        return None
    if not s.minimum is s.exclusive_minimum is None and not s.maximum is s.exclusive_maximum is None:
        return None
    return key if s.items is None else (*key, None, item(s.items))


_UNBOUNDED = _key(Subschema(pointer=""))[2:]
