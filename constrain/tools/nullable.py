"""`nullable`, the word of OpenAPI 3.0, Gemini and transformers, as plain JSON Schema.

With a `type`, null joins the types. What else it means differs: OpenAPI says that it acts on the `type` beside it and
on nothing else, so that an `enum` must list null itself; Gemini and transformers mean that null is allowed, whatever
stands beside it.
"""

from __future__ import annotations

import marshal
from typing import Any

_SCHEMAS = (
    "items",
    "additionalProperties",
    "not",
    "additionalItems",
    "contains",
    "propertyNames",
    "if",
    "then",
    "else",
)
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")


def without_nullable(schema: Any, *, only_types: bool) -> Any:
    """The schema with `nullable` spelled out, at every depth.

    Args:
        schema: a JSON Schema; it is not changed.
        only_types: OpenAPI's reading: without a `type` beside it `nullable` does nothing, and it does not reach `enum`.
    """
    try:
        data = marshal.dumps(schema, 4)
    except ValueError:  # not what JSON is read as
        pass
    else:
        if b"nullable" not in data:  # a copy all the same
            return marshal.loads(data)
    return _spelled_out(schema, only_types=only_types)


def _spelled_out(schema: Any, *, only_types: bool) -> Any:
    if isinstance(schema, list):
        return [_spelled_out(member, only_types=only_types) for member in schema]
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _LISTS and isinstance(value, list):
            out[key] = [_spelled_out(member, only_types=only_types) for member in value]
        elif key in _SCHEMAS:
            out[key] = _spelled_out(value, only_types=only_types)
        elif key in _MAPS and isinstance(value, dict):
            out[key] = {name: _spelled_out(member, only_types=only_types) for name, member in value.items()}
        else:
            out[key] = value
    if not isinstance(out.get("nullable"), bool):
        return out
    nullable = out.pop("nullable")
    if not nullable:
        return out
    if "type" in out:
        types = out["type"] if isinstance(out["type"], list) else [out["type"]]
        out["type"] = types if "null" in types else [*types, "null"]
    if only_types:
        return out
    if isinstance(out.get("enum"), list) and None not in out["enum"]:
        out["enum"] = [*out["enum"], None]
    if "type" not in out and "enum" not in out:
        return {"anyOf": [out, {"type": "null"}]}
    return out
