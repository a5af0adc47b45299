"""The spellings that a grammar never writes although JSON would allow them, by place."""

from __future__ import annotations

from constrain.engine.automaton import DIGIT_LIMIT
from constrain.engine.grammar import Narrowing
from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.ir import SchemaDocument
from constrain.grammars.json_schema.normal import NormalForm
from constrain.grammars.languages.number import spelling_narrowings


def narrowings(document: SchemaDocument, whitespace: bool) -> tuple[Narrowing, ...]:
    """All narrowings of a schema's grammar; those without a keyword hold everywhere."""
    allowed = (
        "a run of whitespace is one blank, or a line break and at most eight blanks or tabs per level"
        if whitespace
        else "no whitespace"
    )
    out = [
        Narrowing("", "", f"{allowed}; nothing follows the value"),
        Narrowing("", "", f"a number has at most {DIGIT_LIMIT} characters, give or take its end"),
        Narrowing("", "", "escapes never spell a surrogate on its own"),
        Narrowing("", "", "no member name is written twice in one object"),
    ]
    forms = NormalForm(document)
    for index, subschema in enumerate(document.subschemas):
        if subschema.types & ir.NUMBER:
            for constraint in forms.atoms(forms.variable((index,))).numbers:
                for reason in spelling_narrowings(constraint):
                    entry = Narrowing(subschema.pointer, "type", reason)
                    if entry not in out:
                        out.append(entry)
    return tuple(out)
