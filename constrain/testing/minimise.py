"""Smaller values and schemas that still show a disagreement, by greedy reduction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from constrain.testing.json_values import is_number, paths, replaced


def minimise(
    value: Any, shows: Callable[[Any], bool], candidates: Callable[[Any], Iterator[Any]], tries: int = 2000
) -> Any:
    """The smallest value found by replacing it with a candidate as long as one still `shows` what is sought.

    An exception of `shows` counts as no. At most `tries` candidates are tried.
    """
    left = tries
    found = True
    while found and left > 0:
        found = False
        for candidate in candidates(value):
            left -= 1
            if left <= 0:
                break
            try:
                found = shows(candidate)
            except Exception:
                found = False
            if found:
                value = candidate
                break
    return value


def smaller_values(value: Any) -> Iterator[Any]:
    """Simpler values: with a part left out, put in the place of the whole, or made plainer."""
    for path, part in list(paths(value)):
        if path:
            yield part
        for simple in _simpler(part):
            yield replaced(value, path, simple)


def _simpler(part: Any) -> Iterator[Any]:
    if isinstance(part, dict):
        for name in part:
            yield {n: m for n, m in part.items() if n != name}
    elif isinstance(part, list):
        for at in range(len(part)):
            yield part[:at] + part[at + 1 :]
    elif isinstance(part, str):
        if len(part) > 3:
            yield part[: len(part) // 2]
            yield part[len(part) // 2 :]
        for at in range(min(len(part), 40)):
            yield part[:at] + part[at + 1 :]
    elif is_number(part) and part not in (0, 1):
        yield 0
        yield 1
        if abs(part) > 2 and abs(part) < 1e15:
            yield int(part / 2)
            yield int(part)


_SCHEMAS = ("items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else",
            "additionalItems", "unevaluatedProperties", "unevaluatedItems")  # fmt: skip
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems", "items", "required", "enum", "type")
_MAPS = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions", "dependencies",
         "dependentRequired")  # fmt: skip


def smaller_schemas(schema: Any) -> Iterator[Any]:
    """Schemas with a keyword, branch or member left out, a subschema put in the place of the whole, or made trivial."""
    if not isinstance(schema, dict):
        return
    definitions = {k: v for k, v in schema.items() if k in ("$schema", "$defs", "definitions")}
    for sub in _children(schema):
        if isinstance(sub, dict):
            yield {**definitions, **sub}
    yield from _reduced(schema)


def _children(schema: dict[str, Any]) -> Iterator[Any]:
    for keyword, value in schema.items():
        if keyword in _MAPS and isinstance(value, dict):
            yield from value.values()
        elif keyword in _LISTS and isinstance(value, list) and keyword not in ("required", "enum", "type"):
            yield from value
        elif keyword in _SCHEMAS:
            yield value


def _reduced(schema: Any) -> Iterator[Any]:
    if schema is True or schema == {}:
        return
    if not isinstance(schema, dict):
        return
    for keyword in schema:
        if keyword != "$schema":
            yield {k: v for k, v in schema.items() if k != keyword}
    for keyword, value in schema.items():
        if keyword in _MAPS and isinstance(value, dict):
            for name, member in value.items():
                yield {**schema, keyword: {n: m for n, m in value.items() if n != name}}
                if member is not True:
                    yield {**schema, keyword: {**value, name: True}}
                for smaller in _reduced(member):
                    yield {**schema, keyword: {**value, name: smaller}}
        elif keyword in _LISTS and isinstance(value, list):
            for at, member in enumerate(value):
                if len(value) > 1:
                    yield {**schema, keyword: value[:at] + value[at + 1 :]}
                for smaller in _reduced(member) if keyword not in ("required", "enum", "type") else ():
                    yield {**schema, keyword: [*value[:at], smaller, *value[at + 1 :]]}
                if keyword == "enum":
                    for simpler in smaller_values(member):
                        yield {**schema, keyword: [*value[:at], simpler, *value[at + 1 :]]}
        elif keyword in _SCHEMAS:
            if value is not True:
                yield {**schema, keyword: True}
            for smaller in _reduced(value):
                yield {**schema, keyword: smaller}
        elif keyword == "const":
            for simpler in smaller_values(value):
                yield {**schema, keyword: simpler}
