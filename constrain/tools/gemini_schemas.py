"""Gemini's subset of OpenAPI as JSON Schema: its type names are capitals, its 64-bit counts are texts (protobuf)."""

from __future__ import annotations

from typing import Any

from constrain.tools.nullable import without_nullable

_TYPES = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})
_COUNTS = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"})
_SNAKE = {
    "any_of": "anyOf",
    "min_items": "minItems",
    "max_items": "maxItems",
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_properties": "minProperties",
    "max_properties": "maxProperties",
    "additional_properties": "additionalProperties",
    "prefix_items": "prefixItems",
    "property_ordering": "propertyOrdering",
    "ref": "$ref",
    "defs": "$defs",
}
_DROPPED = frozenset({"propertyOrdering", "example"})


def is_gemini_schema(schema: Any) -> bool:
    """Whether a schema, or a part of it, names its type in capitals."""
    if isinstance(schema, list):
        return any(map(is_gemini_schema, schema))
    if not isinstance(schema, dict):
        return False
    if isinstance(schema.get("type"), str) and schema["type"] in _TYPES:
        return True
    return any(is_gemini_schema(value) for key, value in schema.items() if key not in ("enum", "default", "example"))


def from_gemini(schema: Any) -> Any:
    """A schema in Gemini's dialect as JSON Schema; one in JSON Schema's own words passes unchanged."""
    return without_nullable(_renamed(schema), only_types=False)


def _renamed(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    for key, value in schema.items():
        key = _SNAKE.get(key, key)
        if key in _DROPPED:
            continue
        if key == "type" and isinstance(value, str):
            if value.upper() == "TYPE_UNSPECIFIED":
                continue
            value = value.lower() if value in _TYPES else value
        elif key in _COUNTS and isinstance(value, str) and value.isascii() and value.isdigit():
            value = int(value)
        elif key in ("items", "additionalProperties"):
            value = _renamed(value)
        elif key in ("properties", "$defs") and isinstance(value, dict):
            value = {name: _renamed(member) for name, member in value.items()}
        elif key in ("anyOf", "prefixItems") and isinstance(value, list):
            value = [_renamed(member) for member in value]
        elif key == "format" and value == "enum":
            continue  # says that `enum` is there
        out[key] = value
    return out
