"""The spellings that a grammar never writes although JSON would allow them, by place."""

from __future__ import annotations

from fractions import Fraction

from constrain.engine.automaton import DIGIT_LIMIT
from constrain.engine.grammar import Narrowing
from constrain.engine.text_style import TextStyle
from constrain.grammars.formats import NARROWINGS
from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.deferred import read_all
from constrain.grammars.json_schema.expansion import MAX_ALTERNATIVES
from constrain.grammars.json_schema.ir import SchemaDocument
from constrain.grammars.json_schema.normal import NormalForm
from constrain.grammars.languages.number import spelling_narrowings

_WHITESPACE = {
    "bounded": "a run of whitespace is one blank, or a line break and at most eight blanks or tabs per level",
    "spaced": "one blank after each comma and colon between members, items and values, no other whitespace",
    "none": "no whitespace",
}


def narrowings(document: SchemaDocument, style: TextStyle, has_repeated: bool) -> tuple[Narrowing, ...]:
    """All narrowings of a schema's grammar; those without a keyword hold everywhere.

    `has_repeated` tells whether two items of some array may have to be equal.
    """
    out = [
        Narrowing("", "", f"{_WHITESPACE[style.whitespace]}; nothing follows the value"),
        Narrowing("", "", f"a number has at most {DIGIT_LIMIT} characters, give or take its end"),
        Narrowing("", "", "escapes never spell a surrogate on its own"),
        Narrowing("", "", "no member name is written twice in one object"),
    ]
    if style.escapes == "plain":
        reason = "only quotes, backslashes and control characters are escaped, each in its shortest way, in lower case"
        out.append(Narrowing("", "", reason))
    if style.property_order == "declared":
        reason = "members come in the order in which the schema declares them, others after them"
        out.append(Narrowing("", "properties", reason))
    subschemas = read_all(document.subschemas)
    forms = NormalForm(SchemaDocument(subschemas, document.root))
    for index, subschema in enumerate(subschemas):
        choice = subschema.choice
        if choice is not None and len(choice.branches) > MAX_ALTERNATIVES:
            reason = (
                f"the member {choice.tag!r}, which tells more than {MAX_ALTERNATIVES} alternatives apart, comes first"
            )
            out.append(Narrowing(subschema.pointer, "oneOf" if subschema.one_of else "anyOf", reason))
        if any(_holds_number(v) for v in subschema.values or () if isinstance(v, list | dict)):
            reason = "numbers inside an array or object that is given as a whole are written as plain decimals"
            out.append(Narrowing(subschema.pointer, "enum", reason))
        if subschema.unique_items and has_repeated:
            reason = "an item that must equal an earlier one, for want of other places, is written with plain decimals"
            out.append(Narrowing(subschema.pointer, "uniqueItems", reason))
        if subschema.format is not None:
            out += [Narrowing(subschema.pointer, "format", r) for r in NARROWINGS.get(subschema.format, ())]
        if subschema.types & ir.NUMBER:
            for constraint in forms.atoms(forms.variable((index,))).numbers:
                for reason in spelling_narrowings(constraint):
                    entry = Narrowing(subschema.pointer, "type", reason)
                    if entry not in out:
                        out.append(entry)
    return tuple(out)


def _holds_number(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_number, value.values()))
    if isinstance(value, list):
        return any(map(_holds_number, value))
    return isinstance(value, int | Fraction) and not isinstance(value, bool)
