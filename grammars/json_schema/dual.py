"""Negation pushed inward: how a value of one type can fail to be valid under a subschema.

Every assertion has a dual, stated for the type it is about; a subschema fails when one of its assertions does. The
result is a list of *options*: each a set of signed subschemas (index i, or ~i for "not i") and a set of *atoms*, the
dual assertions that no subschema expresses. An option without either says that every value of the type fails.

| atom | holds for |
|---|---|
| ("types", mask) | values of these type atoms |
| ("not in", i) | scalars that are none of the `values` of subschema i |
| ("length", low, high), ("pattern", p), ("not pattern", p), ("not format", f) | strings |
| ("above", bound, strict), ("below", bound, strict), ("not multiple", q) | numbers |
| ("absent", name), ("has", name, variable) | objects without the member; with it, its value in the variable |
| ("members", low, high) | objects with so many members |
| ("some", where, variable) | objects with a member at `where` whose value is in the variable |
| ("items", low, high), ("item", k, variable) | arrays of that length; with an item k, in the variable |
| ("some item", k, variable) | arrays with an item at k or later in the variable |
| ("unevaluated item", i, variable) | arrays with an item in the variable that subschema i does not evaluate |
| ("contains", i, low, high) | arrays with so many items valid under subschema i |
| ("repeated",) | arrays with two equal items |

The table of duals is that of Attouche, Baazizi, Colazzo, Ghelli, Sartiani and Scherzinger (PVLDB 2022).
"""

from __future__ import annotations

from collections.abc import Callable

from constrain.grammars.errors import UnsupportedSchemaError
from constrain.grammars.formats import format_superset
from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.ir import Subschema
from constrain.grammars.json_schema.values import atoms_of

Atom = tuple[object, ...]
Option = tuple[frozenset[int], frozenset[Atom]]
ALWAYS: Option = (frozenset(), frozenset())


def option(*signed: int, atoms: tuple[Atom, ...] = ()) -> Option:
    """An option of these signed subschemas and atoms."""
    return frozenset(signed), frozenset(atoms)


def duals(
    index: int, s: Subschema, types: int, literal: Callable[[object], int], but_unevaluated: Callable[[int], int]
) -> list[Option]:
    """The ways in which a value of the given types fails under subschema `s`, which has number `index`.

    `types` is one JSON type (both atoms for numbers). `literal` gives the number of the subschema that admits one
    value, `but_unevaluated` that of a subschema without its `unevaluated…` keywords.
    """
    if not types & s.types:
        return [ALWAYS]
    out: list[Option] = []
    if types & ~s.types:
        out.append(option(atoms=(("types", types & ~s.types),)))
    if s.values is not None:
        values = [v for v in s.values if atoms_of([v]) & types]
        if not values:
            return [ALWAYS]
        if types & (ir.OBJECT | ir.ARRAY):
            out += _literal(values[0], literal) if len(values) == 1 else [option(*(~literal(v) for v in values))]
        else:
            out.append(option(atoms=(("not in", index),)))
    out += [option(~i) for i in s.all_of]
    out += [option(*(~b for b in group)) for group in s.any_of]
    for group in s.one_of:
        out.append(option(*(~b for b in group)))
        if s.choice is None or s.any_of:  # else no two hold together
            out += [option(a, b) for k, a in enumerate(group) for b in group[k + 1 :]]
    out += [option(i) for i in s.none_of]
    for test, then, otherwise in s.conditions:
        if then is not None:
            out.append(option(test, ~then))
        if otherwise is not None:
            out.append(option(~test, ~otherwise))
    if types & ir.STRING:
        out += _string(s)
    elif types & ir.NUMBER:
        out += _number(s)
    elif types & ir.OBJECT:
        out += _object(index, s)
        if s.unevaluated_properties is not None:  # all else holds, and a member that it leaves over fails
            rest = but_unevaluated(index)
            atom: Atom = ("some", ("unevaluated", rest), frozenset((~s.unevaluated_properties,)))
            out.append(option(rest, atoms=(atom,)))
    elif types & ir.ARRAY:
        out += _array(s)
        if s.unevaluated_items is not None:
            rest = but_unevaluated(index)
            out.append(option(rest, atoms=(("unevaluated item", rest, frozenset((~s.unevaluated_items,))),)))
    return out


def _literal(value: object, literal: Callable[[object], int]) -> list[Option]:
    """How an object or array differs from a given one."""
    if isinstance(value, dict):
        out = [option(atoms=(("absent", k),)) for k in value]
        out += [option(atoms=(("has", k, frozenset((~literal(v),))),)) for k, v in value.items()]
        return [*out, option(atoms=(("members", len(value) + 1, None),))]
    assert isinstance(value, list)
    out = [option(atoms=(("item", k, frozenset((~literal(v),))),)) for k, v in enumerate(value)]
    if value:
        out.append(option(atoms=(("items", 0, len(value) - 1),)))
    return [*out, option(atoms=(("items", len(value) + 1, None),))]


def _range(name: str, low: int, high: int | None) -> list[Option]:
    """Outside low .. high."""
    out = [option(atoms=((name, 0, low - 1),))] if low > 0 else []
    return out if high is None else [*out, option(atoms=((name, high + 1, None),))]


def _string(s: Subschema) -> list[Option]:
    out = _range("length", s.min_length, s.max_length)
    if s.pattern is not None:
        out.append(option(atoms=(("not pattern", s.pattern),)))
    if s.format is not None:
        superset = format_superset(s.format)
        if superset is not None and superset.universal(superset.start):
            raise UnsupportedSchemaError(s.pointer, "format", f"{s.format!r} cannot be enforced under a negation")
        out.append(option(atoms=(("not format", s.format),)))
    return out


def _number(s: Subschema) -> list[Option]:
    out = []
    for bound, strict in ((s.minimum, True), (s.exclusive_minimum, False)):
        if bound is not None:
            out.append(option(atoms=(("below", bound, strict),)))
    for bound, strict in ((s.maximum, True), (s.exclusive_maximum, False)):
        if bound is not None:
            out.append(option(atoms=(("above", bound, strict),)))
    if s.multiple_of is not None:
        out.append(option(atoms=(("not multiple", s.multiple_of),)))
    return out


def _object(index: int, s: Subschema) -> list[Option]:
    anything: frozenset[int] = frozenset()
    out = [option(atoms=(("absent", r),)) for r in s.required]
    out += [option(atoms=(("has", name, frozenset((~i,))),)) for name, i in s.properties.items()]
    out += [option(atoms=(("some", ("pattern", p), frozenset((~i,))),)) for p, i in s.pattern_properties]
    if s.additional is not None:
        out.append(option(atoms=(("some", ("rest", index), frozenset((~s.additional,))),)))
    if s.property_names is not None:
        out.append(option(atoms=(("some", ("name", s.property_names), anything),)))
    out += _range("members", s.min_properties, s.max_properties)
    for name, others in s.dependent_required.items():
        out += [option(atoms=(("has", name, anything), ("absent", o))) for o in others]
    for name, i in s.dependent_schemas.items():
        out.append(option(~i, atoms=(("has", name, anything),)))
    return out


def _array(s: Subschema) -> list[Option]:
    out = _range("items", s.min_items, s.max_items)
    out += [option(atoms=(("item", k, frozenset((~i,))),)) for k, i in enumerate(s.prefix_items)]
    if s.items is not None:
        out.append(option(atoms=(("some item", len(s.prefix_items), frozenset((~s.items,))),)))
    if s.contains is not None:
        if s.min_contains > 0:
            out.append(option(atoms=(("contains", s.contains, 0, s.min_contains - 1),)))
        if s.max_contains is not None:
            out.append(option(atoms=(("contains", s.contains, s.max_contains + 1, None),)))
    if s.unique_items:
        out.append(option(atoms=(("repeated",),)))
    return out
