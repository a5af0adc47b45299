"""The declared order of an object's members, read from the schema as JSON: an oracle that knows no engine."""

from __future__ import annotations

from typing import Any


def declared(schema: Any, root: Any = None) -> list[str]:
    """The names that a schema declares for the object it describes, each once, in order."""
    root = schema if root is None else root
    names: dict[str, None] = {}
    last: list[Any] = []
    if not isinstance(schema, dict):
        return []
    for keyword, value in schema.items():
        if keyword == "properties":
            names.update(dict.fromkeys(value))
        elif keyword in ("allOf", "anyOf", "oneOf"):
            for part in value:
                names.update(dict.fromkeys(declared(part, root)))
        elif keyword == "dependentSchemas":
            for part in value.values():
                names.update(dict.fromkeys(declared(part, root)))
        elif keyword == "$ref":
            target = root
            for part in value.split("/")[1:]:
                target = target[part]
            names.update(dict.fromkeys(declared(target, root)))
        elif keyword == "const" and isinstance(value, dict):
            names.update(dict.fromkeys(value))
        elif keyword == "if":
            branches = [schema[k] for k in ("then", "else") if schema.get(k, True) not in (True, {})]
            for part in branches:
                names.update(dict.fromkeys(declared(part, root)))
            last += [value] if branches else []
        elif keyword == "not":
            last.insert(0, value)
    for part in last:
        names.update(dict.fromkeys(declared(part, root)))
    return list(names)


def in_order(names: list[str], order: list[str]) -> bool:
    """Whether members written so come in order, those that are not declared at the end."""
    ranks = [order.index(n) if n in order else len(order) for n in names]
    return ranks == sorted(ranks)
