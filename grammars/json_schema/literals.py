"""Small questions about one subschema or value."""

from __future__ import annotations

from fractions import Fraction
from operator import attrgetter

from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.ir import Subschema

_SAYS_NOTHING = (
    "pointer", "all_of", "integral_fraction", "min_contains", "max_contains", "written", "names_at", "source"
)  # fmt: skip
_asked = attrgetter(*(name for name in Subschema.__dataclass_fields__ if name not in _SAYS_NOTHING))
_NOTHING = _asked(Subschema(pointer=""))


_TYPES = {
    str: ir.STRING, int: ir.INTEGER, bool: ir.BOOLEAN, type(None): ir.NULL, list: ir.ARRAY, dict: ir.OBJECT,
}  # fmt: skip


def type_of(value: object) -> int:
    """The type atom of an exact JSON value."""
    found = _TYPES.get(type(value))
    if found is not None:
        return found
    if isinstance(value, Fraction):
        return ir.INTEGER if value.denominator == 1 else ir.FRACTION
    if isinstance(value, str):
        return ir.STRING
    if isinstance(value, int):
        return ir.INTEGER
    return ir.ARRAY if isinstance(value, list) else ir.OBJECT


def says_nothing(s: Subschema) -> bool:
    """Whether a subschema constrains nothing by itself; the subschemas of its `all_of` may."""
    if s.types != ir.ANY_TYPE or s.values is not None:  # the two commonest ways to say something
        return False
    return bool(_asked(s) == _NOTHING)


def has_surrogate(text: str) -> bool:
    """Whether a text holds a lone surrogate, which has no UTF-8 form and is never written."""
    return not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text)
