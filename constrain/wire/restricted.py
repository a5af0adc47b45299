"""What tagged arguments can say: a tool's schema, less the strings that would be read as something else.

Where a format writes strings as they are, a string cannot hold the tag that ends it, nor read like another value that
the argument may have. Told to the schema, this costs nothing while text is read, and no way that is begun is a dead
end.
A member of an `enum` or a `const` that cannot be written is an error, as no other spelling says it.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping
from typing import Any

from constrain.grammars.errors import UnsupportedSchemaError
from constrain.grammars.tool_formats.dialects import BARE_NAME, BareArguments, PythonArguments
from constrain.grammars.tool_formats.readings import argument_types, local_target, reading

_WORDS = {"null": ("null",), "boolean": ("true", "false")}
_INTEGER = r"-?(?:0|[1-9][0-9]*)"
_NUMBER = _INTEGER + r"(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_IN_PLACE = ("allOf", "anyOf", "oneOf")
_MOST = 1000
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def restricted(
    parameters: Mapping[str, Any], read_by: Mapping[str, Any], forbidden: tuple[str, ...], *, flagged: bool
) -> dict[str, Any]:
    """The schema of arguments that the format can write.

    Args:
        parameters: the schema of a tool's arguments, closed or not.
        read_by: the same as the tool has it, by which bare texts are read.
        forbidden: texts that no string of an argument can hold, the end tag among them.
        flagged: whether the format says which values are strings, so that none reads as anything else.

    Raises:
        UnsupportedSchemaError: a name, or a member of an `enum` or a `const`, cannot be written.
    """
    names = dict.fromkeys(_names(parameters, parameters, [_MOST]))
    for name in names:
        if not name or any(c in name for c in '<>"\n'):
            raise UnsupportedSchemaError(
                f"/properties/{name}", "properties", f"the format cannot write the argument name {name!r}: it has no "
                "quotes, and tags end at < > \" and line breaks"
            )  # fmt: skip
    members = {}
    for name in names:
        types = frozenset({"string"}) if flagged else argument_types(name, read_by)
        if "string" in types:
            members[name] = _unwritable(types, forbidden)
            _check_listed(parameters, name, types, forbidden)
    others = frozenset({"string"}) if flagged else argument_types("\0", read_by)
    also: dict[str, Any] = {"properties": members}
    if "string" in others and not _evaluates(parameters):
        also["additionalProperties"] = _unwritable(others, forbidden)
        also["properties"] = {**{name: {} for name in names}, **members}
    if not members and "additionalProperties" not in also:
        return dict(parameters)
    return {**parameters, "allOf": [*parameters.get("allOf", []), also]}


def check_names(parameters: Mapping[str, Any], dialect: PythonArguments | BareArguments) -> None:
    """Refuse arguments whose names a format without quotes around names cannot write.

    Raises:
        UnsupportedSchemaError: it names the argument.
    """
    python = isinstance(dialect, PythonArguments)
    for name in dict.fromkeys(_names(parameters, parameters, [_MOST])):
        plain = name.isascii() and name.isidentifier() and not keyword.iskeyword(name)
        fine = plain if python else BARE_NAME.fullmatch(name)
        if not fine:
            kind = "a Python name of ASCII letters" if python else "without spaces and any of {}[]:,\"'<>|"
            raise UnsupportedSchemaError(
                f"/properties/{name}", "properties", f"the format writes names without quotes; {name!r} is not {kind}"
            )


def has_plain_names(parameters: Mapping[str, Any]) -> bool:
    """Whether the arguments have names that every notation can write."""
    return all(_PLAIN.fullmatch(name) and not keyword.iskeyword(name) for name in parameters.get("properties", ()))


def _unwritable(types: frozenset[str], forbidden: tuple[str, ...]) -> dict[str, Any]:
    ways = [re.sub(r"[\\^$.*+?()\[\]{}|/-]", lambda found: "\\" + found.group(), text) for text in forbidden]
    ways = [way.replace("\\-", "-") for way in ways]
    for kind, words in _WORDS.items():
        if kind in types:
            ways += [f"^{word}$" for word in words]
    if "number" in types:
        ways.append(f"^{_NUMBER}$")
    elif "integer" in types:
        ways.append(f"^{_INTEGER}$")
    ways += [f"^\\{sign}" for sign, kind in (("{", "object"), ("[", "array")) if kind in types]
    return {"not": {"type": "string", "pattern": "|".join(f"(?:{way})" for way in ways)}}


def _names(schema: Any, root: Any, left: list[int]) -> Iterator[str]:
    """The names of arguments that a schema speaks of."""
    left[0] -= 1
    if not isinstance(schema, Mapping) or left[0] < 0:
        return
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        yield from properties
    for part in _parts(schema, root):
        yield from _names(part, root, left)


def _parts(schema: Mapping[str, Any], root: Any) -> Iterator[Any]:
    if "$ref" in schema:
        yield local_target(schema["$ref"], root)
    for key in _IN_PLACE:
        if isinstance(schema.get(key), list):
            yield from schema[key]
    for key in ("then", "else"):
        if key in schema:
            yield schema[key]


def _evaluates(schema: Any) -> bool:
    """Whether it matters to a schema which members others have looked at."""
    return "unevaluatedProperties" in str(schema)


def _check_listed(parameters: Mapping[str, Any], name: str, types: frozenset[str], forbidden: tuple[str, ...]) -> None:
    for value in _listed(parameters, parameters, name, [_MOST], at=False):
        if isinstance(value, str) and (
            any(text in value for text in forbidden) or (types - {"string"} and reading(value, types) != "string")
        ):
            raise UnsupportedSchemaError(
                f"/properties/{name}", "enum", f"the format cannot write the string {value!r}: it has no escapes, and "
                "the text would be read as something else"
            )  # fmt: skip


def _listed(schema: Any, root: Any, name: str, left: list[int], *, at: bool) -> Iterator[Any]:
    """The values that `enum` and `const` list for an argument; `at` its own schema."""
    left[0] -= 1
    if not isinstance(schema, Mapping) or left[0] < 0:
        return
    if at:
        yield from schema.get("enum", ()) if isinstance(schema.get("enum"), list) else ()
        if "const" in schema:
            yield schema["const"]
    else:
        properties = schema.get("properties")
        if isinstance(properties, Mapping) and name in properties:
            yield from _listed(properties[name], root, name, left, at=True)
    for part in _parts(schema, root):
        yield from _listed(part, root, name, left, at=at)
