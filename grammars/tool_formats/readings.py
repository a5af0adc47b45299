"""What a bare text between tags means: the one reading that the grammar, the renderer and the parser share.

For an argument whose schema admits the JSON types T:

1. T without string: the text is JSON.
2. A text that begins with `{` where T has object, or with `[` where T has array, is JSON.
3. A text that is JSON's spelling of null, true, false or a number of a type that is in T is that scalar. Where T has
   integer but not number, only digits spell it, with a sign at most.
4. Every other text is the string, as it stands between the tags.

So some strings cannot be written: those that read otherwise, and those that hold the end tag. Where a format says
itself which values are strings (DSML), that decides and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal
from urllib.parse import unquote

TYPES = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
"""The JSON types, with the numbers parted in two."""

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_WORDS = {"null": "null", "true": "boolean", "false": "boolean"}
_OLD_DRAFTS = ("draft-04", "draft-06", "draft-07")
_MOST, _DEEPEST = 1000, 50
"""Subschemas looked at for one question: references can lead in circles, and double at every step."""


def argument_types(key: str, parameters: Any) -> frozenset[str]:
    """The JSON types that an argument may have under the schema of a tool's parameters; see `admitted_types`."""
    return _Types(parameters).of_member(key, parameters)


def admitted_types(schema: Any, root: Any) -> frozenset[str]:
    """The JSON types that a schema admits: from type, const and enum, allOf, anyOf, oneOf and local references.

    A superset where the schema is not seen through: no type that it admits is left out. "integer" stands for the whole
    numbers and "number" for all others, so the type number admits both.

    Args:
        schema: a schema, or true or false.
        root: the schema that references beginning with # lead into.
    """
    return _Types(root).of_schema(schema)


def reading(text: str, types: frozenset[str]) -> Literal["json", "string"]:
    """How a bare text is read where a value may have these types."""
    if "string" not in types:
        return "json"
    if (text.startswith("{") and "object" in types) or (text.startswith("[") and "array" in types):
        return "json"
    if text in _WORDS:
        return "json" if _WORDS[text] in types else "string"
    if _INTEGER.fullmatch(text):
        return "json" if types & {"integer", "number"} else "string"
    return "json" if "number" in types and _NUMBER.fullmatch(text) else "string"


class _Types:
    """Looks for types in one schema."""

    def __init__(self, root: Any) -> None:
        self.root, self.left, self.depth = root, _MOST, 0
        dialect = str(root.get("$schema")) if isinstance(root, Mapping) else ""
        # There what stands beside a reference is not seen.
        self.references_alone = any(draft in dialect for draft in _OLD_DRAFTS)

    def of_schema(self, schema: Any) -> frozenset[str]:
        if schema is False:
            return frozenset()
        if not isinstance(schema, Mapping) or ("$ref" in schema and self.references_alone):
            return self.of_parts(schema, self.of_schema)
        found = TYPES
        if "type" in schema:
            named = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            kinds = frozenset(name for name in named if isinstance(name, str)) & TYPES
            found = kinds | {"integer"} if "number" in kinds else kinds
        if "const" in schema:
            found &= _types_of(schema["const"])
        if isinstance(schema.get("enum"), list):
            found &= frozenset[str]().union(*map(_types_of, schema["enum"]))
        return found & self.of_parts(schema, self.of_schema)

    def of_member(self, key: str, schema: Any) -> frozenset[str]:
        found = TYPES
        if isinstance(schema, Mapping) and not ("$ref" in schema and self.references_alone):
            properties = schema.get("properties")
            if isinstance(properties, Mapping) and key in properties:
                found = self.of_schema(properties[key])
            elif "additionalProperties" in schema and not schema.get("patternProperties"):
                found = self.of_schema(schema["additionalProperties"])
        return found & self.of_parts(schema, lambda part: self.of_member(key, part))

    def of_parts(self, schema: Any, of: Callable[[Any], frozenset[str]]) -> frozenset[str]:
        """What is left of all types by the reference, by all of allOf, and by any of anyOf and of oneOf."""
        self.left -= 1
        if not isinstance(schema, Mapping) or self.left < 0 or self.depth >= _DEEPEST:
            return TYPES
        self.depth += 1
        found = of(local_target(schema["$ref"], self.root)) if "$ref" in schema else TYPES
        if not ("$ref" in schema and self.references_alone):
            for part in _list(schema.get("allOf")):
                found &= of(part)
            for key in ("anyOf", "oneOf"):
                if _list(schema.get(key)):
                    found &= frozenset[str]().union(*map(of, schema[key]))
        self.depth -= 1
        return found


def local_target(reference: Any, root: Any) -> Any:
    """What a local JSON pointer leads to; None where it is another kind of reference, or leads nowhere."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    if reference == "#":
        return root
    at = root
    for step in unquote(reference[1:]).split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(at, Mapping) and step in at:
            at = at[step]
        elif isinstance(at, list) and step.isdigit() and int(step) < len(at):
            at = at[int(step)]
        else:
            return None
    return at


def _types_of(value: Any) -> frozenset[str]:
    if isinstance(value, bool):
        return frozenset({"boolean"})
    if isinstance(value, int):
        return frozenset({"integer"})
    if isinstance(value, str):
        return frozenset({"string"})
    if isinstance(value, list | tuple):
        return frozenset({"array"})
    if isinstance(value, Mapping):
        return frozenset({"object"})
    return frozenset({"null"}) if value is None else frozenset({"integer", "number"})


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
