"""What the automaton cannot follow, found before generation begins.

A schema is lowered when generation gets to its parts. Parts that could then turn out to be impossible or too large are
possible only with some keywords; where one of those occurs, everything reachable is brought to normal form at once.
"""

from __future__ import annotations

from constrain.grammars.errors import ResourceLimitError, UnsupportedSchemaError
from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.distinct import Distinct
from constrain.grammars.json_schema.ir import SchemaDocument, Subschema
from constrain.grammars.json_schema.items import MAX_COUNTED, Items, is_tracked
from constrain.grammars.json_schema.members import Members, Variant
from constrain.grammars.json_schema.normal import NormalForm, Variable
from constrain.grammars.json_schema.texts import text_language

MAX_VARIABLES = 5_000
"""Parts of a schema that are looked at; the rest is left until generation gets there."""


def _is_delicate(s: Subschema) -> bool:
    return bool(
        s.unique_items
        or s.contains is not None
        or s.unevaluated_properties is not None
        or s.unevaluated_items is not None
        or s.one_of
        or s.none_of
        or s.conditions
        or s.pattern_properties
        or s.property_names is not None
    )


def check_enforceable(document: SchemaDocument, forms: NormalForm) -> None:
    """Raise what lowering the whole schema would raise: `UnsupportedSchemaError` or `ResourceLimitError`."""
    for index, s in enumerate(document.subschemas):
        if (s.pattern is not None or s.format is not None) and (s.min_length or s.max_length is not None):
            try:
                for text in forms.strings(forms.variable((index,))):
                    language = text_language(text)
                    if language.start:
                        language.lengths(language.start)
            except ResourceLimitError as error:
                keyword = "pattern" if s.pattern is not None else "format"
                raise ResourceLimitError(s.pointer, keyword, error.reason, error.limit) from None
    if not any(map(_is_delicate, document.subschemas)):
        return
    todo: list[Variable] = [forms.root]
    seen = set(todo)
    distinct = Distinct(forms)
    while todo and len(seen) <= MAX_VARIABLES:
        for part in _parts(forms, todo.pop(), distinct):
            if part not in seen:
                seen.add(part)
                todo.append(part)


def _check_room(forms: NormalForm, variable: Variable, variant: Variant) -> None:
    """Members that are demanded without a name need room for any others, or leave none."""
    a = variant.alternative
    if variant.some and a.maximum is not None and a.maximum > len(a.required) + len(variant.some):
        raise UnsupportedSchemaError(
            forms.pointer(variable), "maxProperties", "cannot be enforced beside a demand for some further member"
        )


def _parts(forms: NormalForm, variable: Variable, distinct: Distinct) -> set[Variable]:
    """The variables of all members and items, the whole variable brought to normal form on the way."""
    out: set[Variable] = set()
    types = forms.types(variable)
    if types & ir.STRING:
        forms.strings(variable)
    if types & (ir.NUMBER | ir.NULL | ir.BOOLEAN):
        forms.atoms(variable)
    alternatives = forms.objects(variable) if types & ir.OBJECT else ()
    if alternatives:
        members = Members(forms, alternatives)
        for alternative in alternatives:
            for variant in members.variants(alternative):
                _check_room(forms, variable, variant)
                found = [forms.member(variant.alternative, name) for name in members.names]
                free = {c.members: members.free_value(variant.alternative, c.members) for c in members.free}
                out.update(part for part in (*found, *free.values()) if part is not None)
                for some in variant.some:
                    out.update(base | some.value for c in some.classes if (base := free[c]) is not None)
    arrays = forms.arrays(variable) if types & ir.ARRAY else ()
    for array in arrays:
        tracked = is_tracked(forms, array)
        if tracked and array.minimum > MAX_COUNTED:
            raise ResourceLimitError(
                forms.pointer(variable),
                "uniqueItems",
                f"more than {MAX_COUNTED} items must differ",
                f"MAX_COUNTED = {MAX_COUNTED}",
            )
        if array.repeated and array.items is not None and distinct.values(array.items, 1) is not None:
            raise UnsupportedSchemaError(
                forms.pointer(variable),
                "uniqueItems",
                "cannot be enforced under a negation where the number of items is limited",
            )
        if tracked and array.unique:
            distinct.feasible(array)
            for part in (*array.prefix, *(() if array.items is None else (array.items,))):
                distinct.is_endless(part)
        if array.contains or (array.unique and not tracked):
            out |= Items(forms, array).parts()
        else:
            out.update((*array.prefix, *(() if array.items is None else (array.items,))))
    return out
