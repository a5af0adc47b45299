"""Loading a JSON Schema: from a dict, JSON text or a Pydantic model to subschemas with resolved references.

This stage knows everything about how schemas are written and nothing about automata. It chooses the dialect, follows
references, drops what cannot constrain, and refuses by JSON pointer what is malformed, what leads outside the document,
and what a later stage could not enforce exactly.
"""

from __future__ import annotations

from typing import Literal

from constrain.grammars.errors import InvalidSchemaError, UnsupportedSchemaError
from constrain.grammars.json_schema.dialect import DIALECTS, LATEST, Dialect, find_dialect
from constrain.grammars.json_schema.ir import SchemaDocument, Subschema, Unenforced
from constrain.grammars.json_schema.loader import Loader
from constrain.grammars.json_schema.narrowing import keep_from_narrowing
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
) -> SchemaDocument:
    """Reads a JSON Schema of draft 04, 06, 07, 2019-09 or 2020-12 (the default where `$schema` is absent).

    Args:
        schema: a dict, a boolean, JSON text as str or bytes, or a Pydantic v2 model (anything that has
            `model_json_schema()`). A dict is not changed and not kept.
        on_unsupported: "error" raises for the first keyword that cannot be enforced exactly; "warn" leaves such
            keywords out and lists them in `unenforced` of the result.
        closed_objects: reads an absent `additionalProperties` beside `properties` as false.
        not_yet: the keywords that cannot be enforced.

    Raises:
        InvalidSchemaError: the schema is malformed, or a reference leads nowhere or in a circle.
        UnsupportedSchemaError: a keyword or dialect cannot be enforced, or a reference leads to another document.
        ResourceLimitError: the schema is nested too deeply or holds a number with too many digits.
    """
    if on_unsupported not in ("error", "warn"):
        raise ValueError(f"on_unsupported must be 'error' or 'warn', not {on_unsupported!r}")
    warn = on_unsupported == "warn"
    root = read_source(schema)
    unenforced: list[Unenforced] = []
    dialect = _dialect_of(root, unenforced if warn else None)
    loader = Loader(root, dialect, warn=warn, closed_objects=closed_objects, not_yet=not_yet)
    number = loader.run()
    if loader.shared:
        refuse_cycles(root)
    _refuse_circles(loader.subschemas)
    if loader.left_out:
        loader.unenforced += keep_from_narrowing(loader.subschemas, loader.left_out)
    return SchemaDocument(loader.subschemas, number, unenforced + loader.unenforced)


def _dialect_of(root: object, unenforced: list[Unenforced] | None) -> Dialect:
    if not isinstance(root, dict) or "$schema" not in root:
        return LATEST
    uri = root["$schema"]
    if not isinstance(uri, str):
        raise InvalidSchemaError("", "$schema", f"must be a URI, is {type(uri).__name__}")
    dialect = find_dialect(uri)
    if dialect is None:
        known = ", ".join(dialect.name for dialect in DIALECTS)
        reason = f"the dialect {uri!r} is unknown; known are {known}"
        if unenforced is None:
            raise UnsupportedSchemaError("", "$schema", reason + "; without $schema it is read as the latest")
        unenforced.append(Unenforced("", "$schema", reason))
        return LATEST
    return dialect


def _refuse_circles(subschemas: list[Subschema]) -> None:
    """Raises `InvalidSchemaError` for a subschema that contains itself in place, so that validation would not end."""
    done: set[int] = set()
    for start, subschema in enumerate(subschemas):
        if start in done or not (
            subschema.all_of
            or subschema.any_of
            or subschema.one_of
            or subschema.none_of
            or subschema.conditions
            or subschema.dependent_schemas
        ):
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
                if target not in done:
                    stack.append(target)


def _raise_circle(subschemas: list[Subschema], path: list[int], target: int) -> None:
    circle = [*path[path.index(target) :], target]
    names = " -> ".join(subschemas[number].pointer or "(root)" for number in circle)
    raise InvalidSchemaError(
        subschemas[target].pointer, "$ref", f"a $ref cycle without content: {names}; no value can be checked against it"
    )
