"""What the automaton cannot follow, found before generation begins.

A schema is lowered when generation gets to its parts. Most parts cannot turn out to be impossible or too large, which
bounds tell at once (see `outlook`); what they do not tell it of is brought to normal form before generation begins.
"""

from __future__ import annotations

from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.deferred import at_hand
from constrain.grammars.json_schema.demands import FreeSome
from constrain.grammars.json_schema.distinct import Distinct
from constrain.grammars.json_schema.ir import SchemaDocument, Subschema
from constrain.grammars.json_schema.items import MAX_COUNTED, Items, is_tracked
from constrain.grammars.json_schema.members import Members
from constrain.grammars.json_schema.narrowing import reaching
from constrain.grammars.json_schema.normal import Has, NormalForm, Variable
from constrain.grammars.json_schema.outlook import Outlook
from constrain.grammars.json_schema.repetition import all_parts, goes_on
from constrain.grammars.json_schema.texts import is_combined, texts_of

MAX_VARIABLES = 5_000
"""Parts of a schema that are looked at; the rest is left until generation gets there."""


def check_enforceable(document: SchemaDocument, forms: NormalForm) -> None:
    """Raise what lowering the whole schema would raise: `UnsupportedSchemaError` or `ResourceLimitError`."""
    known = at_hand(document.subschemas)
    for index, s in known:
        if not s.all_of and ((s.pattern is None and s.format is None) or not _asks_of_strings([s])):
            continue
        variable = forms.variable((index,))
        if _asks_of_strings([document.subschemas[i] for i in variable if i >= 0]):
            try:
                for text in forms.strings(variable):
                    texts_of(text)
            except ResourceLimitError as error:
                raise ResourceLimitError(error.pointer or s.pointer, error.keyword, error.reason, error.limit) from None
    special = {index for index, s in known if _is_special(s)}
    if not special:
        return
    outlook = Outlook(forms, document.subschemas, reaching(document.subschemas, special))
    todo: list[Variable] = [forms.root]
    seen = set(todo)
    distinct = Distinct(forms)
    while todo and len(seen) <= MAX_VARIABLES:
        variable = todo.pop()
        if outlook.is_fair(variable):
            continue
        node = next(iter(variable)) if len(variable) == 1 else len(document.subschemas)
        choice = forms.choice(variable)
        try:
            if choice is not None:
                parts = {forms.variable((i,)) for i in choice.branches.values() if not forms.is_deferred(i)}
            elif node < len(document.subschemas) and outlook.is_plain_itself(node):
                parts = outlook.parts(node)
            else:
                parts = _parts(forms, variable, distinct)
        except ResourceLimitError as error:
            if error.pointer:
                raise
            raise ResourceLimitError(forms.pointer(variable), error.keyword, error.reason, error.limit) from None
        todo += parts - seen
        seen |= parts


def _is_special(s: Subschema) -> bool:
    """Whether a subschema has keywords that may make normal forms large, or ask for languages of names."""
    return bool(
        s.one_of
        or s.pattern_properties
        or s.none_of
        or s.conditions
        or s.unique_items
        or s.property_names is not None
        or s.contains is not None
        or s.unevaluated_properties is not None
        or s.unevaluated_items is not None
    )


def _asks_of_strings(members: list[Subschema]) -> bool:
    """Whether more than one thing is asked of a string, its language among them."""
    languages = sum((s.pattern is not None) + (s.format is not None) for s in members)
    bounds = sum((s.min_length > 0) + (s.max_length is not None) for s in members)
    return languages > 0 and languages + bounds > 1


def _parts(forms: NormalForm, variable: Variable, distinct: Distinct) -> set[Variable]:
    """The variables of all members and items, the whole variable brought to normal form on the way."""
    out: set[Variable] = set()
    types = forms.types(variable)
    if types & ir.STRING:
        for text in forms.strings(variable):
            if is_combined(text):
                texts_of(text)
    if types & (ir.NUMBER | ir.NULL | ir.BOOLEAN):
        forms.atoms(variable)
    alternatives = forms.objects(variable) if types & ir.OBJECT else ()
    if alternatives:
        members = Members(forms, alternatives)
        for alternative in alternatives:
            values = {n: part for n in members.names if (part := forms.member(alternative, n)) is not None}
            free = {}
            for c in members.free:
                part = members.free_value(alternative, c.members)
                if part is not None:
                    free[c.members] = part
            out.update((*values.values(), *free.values()))
            for clause in members.clauses(alternative, values, free, lambda _: True) or ():
                for o in clause:
                    if isinstance(o, Has):
                        out.add(values[o.name] | o.value)
                    elif isinstance(o, FreeSome):
                        out.update(free[c] | o.value for c in o.classes)
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
        if tracked and array.unique:
            distinct.feasible(array)
            for part in (*array.prefix, *(() if array.items is None else (array.items,))):
                distinct.is_endless(part)
        if array.repeated and not goes_on(array, lambda part: distinct.values(part, 1) is None):
            out |= all_parts(forms, array)
        elif array.contains:
            out |= Items(forms, array).parts()
        else:
            out.update((*array.prefix, *(() if array.items is None else (array.items,))))
    return out
