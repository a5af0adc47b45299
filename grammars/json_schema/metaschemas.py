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
from constrain.grammars.json_schema.dialect import DIALECTS, LATEST, Dialect, find_dialect

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
_VOCABULARIES_OF = {
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

    def __init__(self, lookup: Callable[[str], object] = {}.get) -> None:
        self._lookup = lookup
        self._found: dict[str, Dialect | None] = {}

    def find(self, uri: str) -> Dialect | None:
        """The dialect of schemas with this `$schema`; None where it is unknown.

        Raises `InvalidSchemaError` where `$vocabulary` of the meta-schema is malformed.
        """
        dialect = find_dialect(uri)
        if dialect is not None:
            return dialect
        uri = uri.removesuffix("#")
        if uri not in self._found:
            self._found[uri] = None  # a meta-schema that describes itself tells no draft so
            metaschema = self._lookup(uri)
            if isinstance(metaschema, dict):
                self._found[uri] = self._described(metaschema, uri)
        return self._found[uri]

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

    def _described(self, metaschema: dict[object, object], uri: str) -> Dialect | None:
        """The dialect that a meta-schema describes."""
        own = metaschema.get("$schema")
        draft = LATEST if own is None else self.find(own) if isinstance(own, str) else None
        listed = metaschema.get("$vocabulary")
        if draft is None and isinstance(listed, dict):
            cores = {prefix + "core": number for number, (prefix, _) in _VOCABULARIES_OF.items()}
            number = next((cores[name] for name in listed if name in cores), None)
            draft = next((dialect for dialect in DIALECTS if dialect.draft == number), None)
        if draft is None:
            return None
        # The vocabularies of the meta-schema's own dialect are about the meta-schema.
        dialect = next(dialect for dialect in DIALECTS if dialect.draft == draft.draft)
        if listed is None or dialect.draft not in _VOCABULARIES_OF:
            return dialect
        if not isinstance(listed, dict) or not all(isinstance(needed, bool) for needed in listed.values()):
            raise InvalidSchemaError(f"{uri}#", "$vocabulary", "must be an object whose members are booleans")
        prefix, vocabularies = _VOCABULARIES_OF[dialect.draft]
        known = {prefix + name: keywords for name, keywords in vocabularies.items()}
        unknown = [name for name, needed in listed.items() if needed and name not in known]
        meant = frozenset[str]().union(*(known[name] for name in listed if name in known))
        reason = f"the meta-schema {uri!r} requires the vocabulary {unknown[0]!r}, which is unknown" if unknown else ""
        everything = frozenset[str]().union(*known.values())
        return replace(dialect, annotations=everything - meant, problem=reason)
