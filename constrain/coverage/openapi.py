"""The schemas of an OpenAPI 3.0 or 3.1 document: of components, of operations' parameters and of JSON bodies.

Each becomes one JSON Schema in which everything stands where it stood in the document: the parts that it refers to,
and nothing else, with a `$ref` at the root. So references resolve, and pointers in reports lead into the document.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from constrain.grammars.json_schema.references import escape

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_DRAFT_04 = "http://json-schema.org/draft-04/schema#"  # what OpenAPI 3.0 extends
_LATEST = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE_DEPTH = 16


@dataclass(slots=True)
class Located:
    """A schema of a document: its JSON pointer there, what to call it, and the operations that use it."""

    pointer: str
    name: str
    used_by: list[str] = field(default_factory=list)


def openapi_schemas(document: dict[str, Any]) -> Iterator[tuple[Located, Any]]:
    """Every schema of the document, each once, as a JSON Schema of its own; see above.

    Raises:
        ValueError: the version is not 3.0 or 3.1.
    """
    version = str(document.get("openapi"))
    if not version.startswith(("3.0", "3.1", "3.2")):
        raise ValueError(f"OpenAPI {version} is not understood; 3.0 and 3.1 are")
    old = version.startswith("3.0")
    dialect = _DRAFT_04 if old else _LATEST
    if not old and isinstance(document.get("jsonSchemaDialect"), str):
        dialect = document["jsonSchemaDialect"]
        if "spec.openapis.org/oas/3.1" in dialect:
            dialect = _LATEST  # 2020-12 and annotations
    for located in _locate(document).values():
        yield located, cut_out(document, located.pointer, dialect)


def _locate(document: dict[str, Any]) -> dict[str, Located]:
    found: dict[str, Located] = {}
    components = document.get("components")
    schemas = components.get("schemas") if isinstance(components, dict) else None
    for name in schemas if isinstance(schemas, dict) else ():
        pointer = f"/components/schemas/{escape(name)}"
        found[pointer] = Located(pointer, str(name))
    for pointer, name, operation in _operation_schemas(document):
        # A body that is a reference and nothing else is that component.
        pointer, schema = _dereference(document, pointer)
        if schema is not None:
            found.setdefault(pointer, Located(pointer, name)).used_by.append(operation)
    return found


def _operation_schemas(document: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(pointer, name, operation) of the schemas of all operations' parameters and JSON request bodies."""
    for holder in ("paths", "webhooks"):
        paths = document.get(holder)
        for path in paths if isinstance(paths, dict) else ():
            base, item = _dereference(document, f"/{holder}/{escape(path)}")
            if not isinstance(item, dict):
                continue
            for method in METHODS:
                operation = item.get(method)
                if not isinstance(operation, dict):
                    continue
                title = f"{method.upper()} {path}"
                for owner, where in ((item, base), (operation, f"{base}/{method}")):
                    yield from _parameters(document, owner, where, title)
                yield from _body(document, f"{base}/{method}/requestBody", title)


def _parameters(
    document: dict[str, Any], owner: dict[str, Any], where: str, title: str
) -> Iterator[tuple[str, str, str]]:
    parameters = owner.get("parameters")
    for position in range(len(parameters) if isinstance(parameters, list) else 0):
        pointer, parameter = _dereference(document, f"{where}/parameters/{position}")
        if not isinstance(parameter, dict):
            continue
        name = f"{title} {parameter.get('in', '')} {parameter.get('name', '')}"
        if "schema" in parameter:
            yield pointer + "/schema", name, title
        elif isinstance(parameter.get("content"), dict):
            yield from _content(parameter["content"], pointer, name, title)


def _body(document: dict[str, Any], where: str, title: str) -> Iterator[tuple[str, str, str]]:
    pointer, body = _dereference(document, where)
    if isinstance(body, dict) and isinstance(body.get("content"), dict):
        yield from _content(body["content"], pointer, f"{title} body", title)


def _content(content: dict[str, Any], pointer: str, name: str, title: str) -> Iterator[tuple[str, str, str]]:
    for media_type, entry in content.items():
        plain = str(media_type).partition(";")[0].strip().lower()
        json_like = plain in ("application/json", "text/json", "*/*", "application/*") or plain.endswith("+json")
        if json_like and isinstance(entry, dict) and "schema" in entry:
            yield f"{pointer}/content/{escape(media_type)}/schema", name, title


def value_at(document: Any, pointer: str) -> Any:
    """The value at a JSON pointer, or None where there is none."""
    value = document
    for part in pointer.split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def _dereference(document: dict[str, Any], pointer: str) -> tuple[str, Any]:
    """Where the value at `pointer` really stands, once references that have no siblings of weight are followed."""
    value = value_at(document, pointer)
    for _ in range(_REFERENCE_DEPTH):
        reference = value.get("$ref") if isinstance(value, dict) else None
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        if set(value) - {"$ref", "summary", "description"}:
            break
        target = value_at(document, unquote(reference[1:]))
        if target is None:
            break
        pointer, value = unquote(reference[1:]), target
    return pointer, value


def cut_out(document: dict[str, Any], pointer: str, dialect: str) -> dict[str, Any]:
    """A schema that is the one at `pointer`, with all that it refers to at the places of the document."""
    wanted: dict[str, Any] = {}
    pending = [pointer]
    while pending:
        place = pending.pop()
        if place in wanted:
            continue
        value = value_at(document, place)
        if value is None:
            continue  # a broken reference, which the compiler reports
        wanted[place] = value
        pending.extend(unquote(reference[1:]) for reference in _references(value))
    root: dict[str, Any] = {"$schema": dialect, "$ref": "#" + pointer.replace("%", "%25")}
    for place in sorted(wanted):  # what contains comes before what is contained
        _put(root, place, wanted[place])
    return root


def _references(value: Any) -> Iterator[str]:
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            reference = part.get("$ref")
            if isinstance(reference, str) and reference.startswith("#/"):
                yield reference
            mapping = part.get("discriminator")
            if isinstance(mapping, dict):
                part = {name: member for name, member in part.items() if name != "discriminator"}
            stack.extend(part.values())
        elif isinstance(part, list):
            stack.extend(part)


def _put(root: dict[str, Any], pointer: str, value: Any) -> None:
    """Set the value at a place, making objects on the way; nothing where a container of it was set before."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    here = root
    made = root.setdefault("\0made", {"\0": True})
    for part in parts[:-1]:
        if part not in made:
            if part in here:
                return  # inside something that was copied whole
            here[part], made[part] = {}, {}
        here, made = here[part], made[part]
    if parts[-1] not in here:
        here[parts[-1]] = value
