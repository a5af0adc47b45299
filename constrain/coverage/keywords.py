"""Where keywords occur in a schema, as the specifications have it, told without the compiler's own tables.

The walk goes where a validator would go: from the root through applicators and references, never into a definition that
nothing refers to. On its way it notes what looks like a constraint but is none: a keyword of another draft, a
misspelling, the siblings of a `$ref` in drafts that ignore them.
"""

from __future__ import annotations

import difflib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from constrain.grammars.errors import ConstrainError
from constrain.grammars.json_schema.dialect import LATEST, Dialect, find_dialect
from constrain.grammars.json_schema.references import References, Remote, Scope, Unresolvable, escape


@dataclass(frozen=True, slots=True)
class Keyword:
    """A keyword that can make a value invalid: how its value holds subschemas, and the drafts that have it."""

    holds: str = ""  # "schema", "list", "map", or "" for none
    since: int = 4
    until: int = 9999


# fmt: off
KEYWORDS: dict[str, Keyword] = {
    "type": Keyword(), "enum": Keyword(), "const": Keyword(since=6), "nullable": Keyword(),
    "minimum": Keyword(), "maximum": Keyword(), "exclusiveMinimum": Keyword(), "exclusiveMaximum": Keyword(),
    "multipleOf": Keyword(),
    "minLength": Keyword(), "maxLength": Keyword(), "pattern": Keyword(), "format": Keyword(),
    "items": Keyword("schema or list"), "prefixItems": Keyword("list", since=2020),
    "additionalItems": Keyword("schema", until=2019), "unevaluatedItems": Keyword("schema", since=2019),
    "minItems": Keyword(), "maxItems": Keyword(), "uniqueItems": Keyword(),
    "contains": Keyword("schema", since=6), "minContains": Keyword(since=2019), "maxContains": Keyword(since=2019),
    "properties": Keyword("map"), "patternProperties": Keyword("map"), "additionalProperties": Keyword("schema"),
    "unevaluatedProperties": Keyword("schema", since=2019), "propertyNames": Keyword("schema", since=6),
    "required": Keyword(), "minProperties": Keyword(), "maxProperties": Keyword(),
    # Left to implementations after draft 07, which go on reading it.
    "dependencies": Keyword("map"),
    "dependentRequired": Keyword(since=2019), "dependentSchemas": Keyword("map", since=2019),
    "allOf": Keyword("list"), "anyOf": Keyword("list"), "oneOf": Keyword("list"), "not": Keyword("schema"),
    "if": Keyword("schema", since=7), "then": Keyword("schema", since=7), "else": Keyword("schema", since=7),
    "$ref": Keyword(), "$dynamicRef": Keyword(since=2020), "$recursiveRef": Keyword(since=2019, until=2019),
}

SILENT = frozenset({
    "$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary", "$comment", "$defs",
    "definitions", "title", "description", "default", "example", "examples", "deprecated", "readOnly", "writeOnly",
    "contentEncoding", "contentMediaType", "contentSchema", "discriminator", "xml", "externalDocs", "components",
    "paths", "extends", "links", "name", "options", "version", "notes", "note", "meta", "tags",
})
"""Names that say nothing about validity, and some that are near a keyword's name without being meant for it."""
# fmt: on

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


@dataclass(frozen=True, slots=True)
class Use:
    """A keyword at the place with the JSON pointer `pointer`. `ignored` says why it has no effect, "" if it has."""

    pointer: str
    keyword: str
    ignored: str = ""


def is_schema_like(value: object) -> bool:
    """Whether a JSON value can be meant as a schema: a boolean, `{}`, or an object with a name that schemas have."""
    if not isinstance(value, dict):
        return isinstance(value, bool)
    named = ("$schema", "$id", "$defs", "definitions", "title", "description", "default", "examples", "$comment")
    return not value or any(name in value for name in (*KEYWORDS, *named))


def uses(schema: Any) -> Iterator[Use]:
    """The keywords of a schema, each once, in the order in which the schema is read. References that lead out of it,
    and parts too malformed to follow, end there: compiling says what is wrong with them."""
    dialect = find_dialect(schema["$schema"]) if isinstance(schema, dict) and _text(schema.get("$schema")) else LATEST
    try:
        references = References(schema, dialect or LATEST)
    except ConstrainError:
        return
    queue: deque[tuple[Any, Scope, str]] = deque([(schema, references.root, "")])
    seen: set[tuple[int, int]] = set()
    while queue:
        node, scope, pointer = queue.popleft()
        if not isinstance(node, dict):
            continue
        try:
            scope = references.enter(node, scope, pointer)
        except ConstrainError:
            continue
        key = (id(node), scope.dialect.draft)
        if key in seen:
            continue
        seen.add(key)
        overridden = scope.dialect.reference_overrides and "$ref" in node
        for keyword, value in node.items():
            if not isinstance(keyword, str) or keyword in SILENT:
                continue
            known = KEYWORDS.get(keyword)
            if known is None or not known.since <= scope.dialect.draft <= known.until:
                if reason := _why_ignored(keyword, known, scope.dialect):
                    yield Use(pointer, keyword, reason)
                continue
            if overridden and keyword != "$ref":
                yield Use(pointer, keyword, f"{scope.dialect.name} ignores what stands beside $ref")
                continue
            yield Use(pointer, keyword)
            if keyword in REFERENCES and isinstance(value, str):
                try:
                    target = references.resolve(value, scope)
                except (ConstrainError, Remote, Unresolvable):
                    continue
                queue.append((target.schema, target.scope, target.pointer))
            else:
                queue.extend((child, scope, pointer + path) for child, path in _children(keyword, known.holds, value))


def _children(keyword: str, holds: str, value: Any) -> Iterator[tuple[Any, str]]:
    if isinstance(value, list):
        if "list" in holds:
            for position, child in enumerate(value):
                yield child, f"/{keyword}/{position}"
    elif isinstance(value, dict):
        if "schema" in holds:
            yield value, "/" + keyword
        elif holds == "map":
            for name, child in value.items():
                yield child, f"/{keyword}/{escape(name)}"


def _text(value: object) -> bool:
    return isinstance(value, str)


def _why_ignored(keyword: str, known: Keyword | None, dialect: Dialect) -> str:
    if known is not None:
        return f"{dialect.name} has no {keyword!r}; it is ignored there"
    return _misspelt(keyword)


@lru_cache(maxsize=4096)
def _misspelt(keyword: str) -> str:
    if keyword.startswith(("x-", "_", "$")) or len(keyword) > 40:  # an extension, or put out of use on purpose
        return ""
    folded = {name.lower(): name for name in KEYWORDS}
    near = difflib.get_close_matches(keyword.lower(), folded, n=1, cutoff=0.87)
    return f"{keyword!r} is no keyword and is ignored; {folded[near[0]]!r} is one" if near else ""
