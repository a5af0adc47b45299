"""The dialects that `$schema` can name, those of the caller's own meta-schemas among them.

A meta-schema makes a dialect of the draft that it is written in. Its `$vocabulary` says which groups of keywords mean
something; the others are annotations. Whether an entry is true or false matters only for vocabularies that are unknown
here. Formats are assertions whatever the vocabularies say, as they are in every draft. Schemas are not validated
against their meta-schema, as what is malformed is reported anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from constrain.grammars.errors import InvalidSchemaError
from constrain.grammars.json_schema.dialect import DIALECTS, Dialect, find_dialect

_IN_PLACE = ("if", "then", "else", "allOf", "anyOf", "oneOf", "not", "dependentSchemas", "dependencies")
_MEMBERS = ("properties", "patternProperties", "additionalProperties", "propertyNames")
_APPLICATOR = frozenset((*_IN_PLACE, *_MEMBERS, "items", "prefixItems", "additionalItems", "contains"))
_UNEVALUATED = frozenset(("unevaluatedItems", "unevaluatedProperties"))
_VALIDATION = frozenset(
    (
        *("type", "enum", "const"),
        *("multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        *("minLength", "maxLength", "pattern"),
        *("minItems", "maxItems", "uniqueItems", "minContains", "maxContains"),
        *("minProperties", "maxProperties", "required", "dependentRequired"),
    )
)
_SILENT: frozenset[str] = frozenset()
"""Stands for the keywords of vocabularies that are annotations, or are read whatever a meta-schema says."""
_VOCABULARIES = {
    2019: (
        "https://json-schema.org/draft/2019-09/vocab/",
        {
            "core": _SILENT,
            "applicator": _APPLICATOR | _UNEVALUATED,
            "validation": _VALIDATION,
            **dict.fromkeys(("meta-data", "format", "content", "hyper-schema"), _SILENT),
        },
    ),
    2020: (
        "https://json-schema.org/draft/2020-12/vocab/",
        {
            "core": _SILENT,
            "applicator": _APPLICATOR,
            "unevaluated": _UNEVALUATED,
            "validation": _VALIDATION,
            **dict.fromkeys(("meta-data", "format-annotation", "format-assertion", "content", "hyper-schema"), _SILENT),
        },
    ),
}


class Dialects:
    """The dialects that `$schema` can name. `lookup` gives the document with a URI, where the caller supplied one."""

    def __init__(self, lookup: Callable[[str], object]) -> None:
        self._lookup = lookup
        self._found: dict[str, Dialect | None] = {}

    def find(self, uri: str) -> Dialect | None:
        """The dialect of schemas with this `$schema`; None where it is unknown.

        Raises `InvalidSchemaError` where `$vocabulary` of a meta-schema is malformed.
        """
        chain: list[tuple[str, dict[object, object]]] = []  # meta-schemas, each written in the dialect of the next
        dialect = find_dialect(uri)
        while dialect is None:
            uri = uri.removesuffix("#")
            if uri in self._found:
                dialect = self._found[uri]
                break
            self._found[uri] = None  # a meta-schema that is written in its own dialect tells no draft so
            metaschema = self._lookup(uri)
            if not isinstance(metaschema, dict):
                break
            chain.append((uri, metaschema))
            uri = metaschema.get("$schema", "https://json-schema.org/schema")
            if not isinstance(uri, str):
                raise InvalidSchemaError(f"{chain[-1][0]}#", "$schema", f"must be a URI, is {type(uri).__name__}")
            dialect = find_dialect(uri)
        for uri, metaschema in reversed(chain):
            dialect = self._found[uri] = _described(metaschema, uri, dialect)
        return dialect

    def of(self, schema: object, default: Dialect, pointer: str) -> Dialect:
        """The dialect of a document: what its `$schema` says, or `default` where it has none."""
        if not isinstance(schema, dict) or "$schema" not in schema:
            return default
        uri = schema["$schema"]
        if not isinstance(uri, str):
            raise InvalidSchemaError(pointer, "$schema", f"must be a URI, is {type(uri).__name__}")
        dialect = self.find(uri)
        if dialect is None:
            known = ", ".join(dialect.name for dialect in DIALECTS)
            reason = f"the dialect {uri!r} is unknown; known are {known}, and those whose meta-schema is in resources="
            return replace(default, problem=f"{reason}; without $schema it is read as {default.name}")
        return dialect


def _described(metaschema: dict[object, object], uri: str, own: Dialect | None) -> Dialect | None:
    """The dialect that a meta-schema describes; `own` is the one that it is written in."""
    listed = metaschema.get("$vocabulary")
    draft = None if own is None else own.draft
    if draft is None and isinstance(listed, dict):
        draft = next((number for number, (prefix, _) in _VOCABULARIES.items() if prefix + "core" in listed), None)
    # The vocabularies of the meta-schema's own dialect are about the meta-schema, so all that counts is the draft.
    dialect = next((dialect for dialect in DIALECTS if dialect.draft == draft), None)
    if dialect is None or listed is None or dialect.draft not in _VOCABULARIES:
        return dialect
    if not isinstance(listed, dict) or not all(isinstance(needed, bool) for needed in listed.values()):
        raise InvalidSchemaError(f"{uri}#", "$vocabulary", "must be an object whose members are booleans")
    prefix, vocabularies = _VOCABULARIES[dialect.draft]
    known = {prefix + name: keywords for name, keywords in vocabularies.items()}
    unknown = next((name for name, needed in listed.items() if needed and name not in known), None)
    problem = (
        "" if unknown is None else f"its meta-schema {uri!r} requires the vocabulary {unknown!r}, which is unknown"
    )
    everything = frozenset[str]().union(*known.values())
    meant = frozenset[str]().union(*(known[name] for name in listed if name in known))
    return replace(dialect, annotations=everything - meant, problem=problem)
