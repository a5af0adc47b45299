"""Loading a JSON Schema: from a dict, JSON text or a Pydantic model to subschemas with resolved references.

This stage knows everything about how schemas are written and nothing about automata. It chooses the dialect, follows
references, drops what cannot constrain, and refuses by JSON pointer what is malformed, what leads outside the documents
at hand, and what a later stage could not enforce exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from constrain.grammars.errors import InvalidSchemaError
from constrain.grammars.json_schema.deferred import Deferred, at_hand
from constrain.grammars.json_schema.dialect import LATEST
from constrain.grammars.json_schema.ir import SchemaDocument, Subschema
from constrain.grammars.json_schema.loader import Loader
from constrain.grammars.json_schema.narrowing import keep_from_narrowing
from constrain.grammars.json_schema.references import References
from constrain.grammars.json_schema.resources import Resources
from constrain.grammars.json_schema.source import read_source, refuse_cycles

OnUnsupported = Literal["error", "warn"]

NOT_YET: frozenset[str] = frozenset()
"""The keywords that later stages cannot enforce yet."""


def load(
    schema: object,
    *,
    on_unsupported: OnUnsupported = "error",
    closed_objects: bool = False,
    not_yet: frozenset[str] = NOT_YET,
    resources: Mapping[str, object] | None = None,
    declared_order: bool = False,
) -> SchemaDocument:
    """Reads a JSON Schema of draft 04, 06, 07, 2019-09 or 2020-12 (the default where `$schema` is absent).

    Args:
        schema: a dict, a boolean, JSON text as str or bytes, or a Pydantic v2 model (anything that has
            `model_json_schema()`). A dict is not changed and not kept.
        on_unsupported: "error" raises for the first keyword that cannot be enforced exactly; "warn" leaves such
            keywords out and lists them in `unenforced` of the result.
        closed_objects: reads an absent `additionalProperties` beside `properties` as false.
        not_yet: the keywords that cannot be enforced.
        resources: the other documents that may be referred to, by URI, each in one of the forms of `schema`. Pointers
            into them start with the URI and "#". Their meta-schemas may be among them.
        declared_order: notes the order in which members are declared, which matters nowhere else.

    Raises:
        InvalidSchemaError: the schema is malformed, or a reference leads nowhere or in a circle.
        UnsupportedSchemaError: a keyword or dialect cannot be enforced, or a reference leads to a document that is
            not in `resources`.
        ResourceLimitError: the schema is nested too deeply or holds a number with too many digits.
    """
    if on_unsupported not in ("error", "warn"):
        raise ValueError(f"on_unsupported must be 'error' or 'warn', not {on_unsupported!r}")
    root = read_source(schema)
    references = References(root, LATEST, Resources(resources))
    loader = Loader(references, warn=on_unsupported == "warn", closed_objects=closed_objects, not_yet=not_yet)
    loader.notes_order = declared_order
    number = loader.run()
    if loader.shared:
        refuse_cycles(root)
    _refuse_circles(loader.subschemas)
    if loader.left_out:
        loader.unenforced += keep_from_narrowing(loader.subschemas, loader.left_out)
    return SchemaDocument(loader.subschemas, number, loader.unenforced, declared_order)


def _refuse_circles(subschemas: list[Subschema]) -> None:
    """Raises `InvalidSchemaError` for a subschema that contains itself in place, so that validation would not end."""
    done: set[int] = set()
    for start, subschema in at_hand(subschemas):
        if start in done or subschema.leads_nowhere() or not subschema.in_place():
            continue
        path: dict[int, None] = {}  # from `start` to where we are, in order
        stack = [start]
        while stack:
            number = stack[-1]
            if number in path or number in done:
                stack.pop()
                if number not in done:
                    del path[number]
                    done.add(number)
                continue
            path[number] = None
            for target in subschemas[number].in_place():
                if target in path:
                    _raise_circle(subschemas, list(path), target)
                if target not in done and type(subschemas[target]) is not Deferred:  # which applies nothing
                    stack.append(target)


def _raise_circle(subschemas: list[Subschema], path: list[int], target: int) -> None:
    circle = [*path[path.index(target) :], target]
    names = " -> ".join(subschemas[number].pointer or "(root)" for number in circle)
    raise InvalidSchemaError(
        subschemas[target].pointer, "$ref", f"a $ref cycle without content: {names}; no value can be checked against it"
    )
