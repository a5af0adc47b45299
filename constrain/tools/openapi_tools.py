"""The operations of an OpenAPI 3.0 or 3.1 document as tools.

Path, query, header and cookie parameters become members of one object, and a request body its member `body`. Schemas
stand in it as they are; what they refer to is carried along at the place that it has in the document, so that
references lead where they led. In 3.0, schemas are those of draft 04 with `nullable` spelled out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from constrain.tools.nullable import without_nullable
from constrain.tools.problems import ToolError
from constrain.tools.tool import Tool

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
BODY = "body"
_LOCATIONS = ("path", "query", "header", "cookie")
_NOT_PARAMETERS = frozenset({"accept", "content-type", "authorization"})
"""Headers that OpenAPI describes elsewhere; as parameters it ignores them."""
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_DRAFT_04 = "http://json-schema.org/draft-04/schema#"
_LATEST = "https://json-schema.org/draft/2020-12/schema"
_FOLLOWED = 16


def openapi_tools(document: dict[str, Any], place: str = "tools") -> Iterator[Tool]:
    """One tool for every operation of `paths`.

    The name is `operationId`, or else method and path, such as get_pets_petId. Two parameters of one name, or one that
    is called "body", are told apart by their location: id_path, id_query.

    Raises:
        ToolError: the version is not 3.0 or 3.1, or an operation's parameters cannot be read.
    """
    version = str(document.get("openapi", document.get("swagger")))
    if not version.startswith(("3.0", "3.1")):
        raise ToolError(place, f"OpenAPI {version} is not understood; 3.0 and 3.1 are")
    paths = document.get("paths")
    if not isinstance(paths, dict):
        return
    reader = _Reader(document, place, old=version.startswith("3.0"))
    for path, item in paths.items():
        item = reader.followed(item)
        for method in METHODS:
            if isinstance(item, dict) and isinstance(item.get(method), dict):
                yield reader.tool(path, method, item, item[method])


class _Reader:
    def __init__(self, document: dict[str, Any], place: str, *, old: bool) -> None:
        self.document, self.place, self.old = document, place, old
        dialect = document.get("jsonSchemaDialect")
        named = isinstance(dialect, str) and "spec.openapis.org/oas/3.1" not in dialect
        self.dialect = _DRAFT_04 if old else dialect if named else _LATEST

    def tool(self, path: str, method: str, item: dict[str, Any], operation: dict[str, Any]) -> Tool:
        identifier = operation.get("operationId")
        name = identifier if isinstance(identifier, str) and identifier else _name(method, path)
        where = f"{self.place} ({method.upper()} {path})"
        properties: dict[str, Any] = {}
        required: list[str] = []
        locations: dict[str, list[str]] = {}
        parameters = self._parameters(item, operation, where)
        names = [parameter["name"] for parameter in parameters] + [BODY]
        for parameter in parameters:
            plain, location = parameter["name"], parameter["in"]
            key = plain if names.count(plain) == 1 else f"{plain}_{location}"
            if key in properties:
                raise ToolError(where, f"two parameters would both be called {key!r}")
            properties[key] = self._parameter_schema(parameter)
            locations[key] = [location, plain]
            if parameter.get("required") is True or location == "path":
                required.append(key)
        body = self.followed(operation.get("requestBody"))
        if isinstance(body, dict) and isinstance(body.get("content"), dict) and body["content"]:
            properties[BODY], media_type = self._body(body)
            locations[BODY] = ["body", media_type]
            if body.get("required") is True:
                required.append(BODY)
        schema: dict[str, Any] = {"$schema": self.dialect, "type": "object", "properties": properties}
        if required:
            schema["required"] = required
        schema["additionalProperties"] = False
        self._carry(schema)
        annotations = {"method": method.upper(), "path": path, "locations": locations}
        return Tool(name, _description(operation, item), schema, None, "openapi", annotations)

    def _parameters(self, item: dict[str, Any], operation: dict[str, Any], where: str) -> list[dict[str, Any]]:
        """Those of the path and of the operation, which replace the former where name and location are the same."""
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for owner in (item, operation):
            for parameter in owner.get("parameters") or ():
                parameter = self.followed(parameter)
                name, location = (
                    (parameter.get("name"), parameter.get("in")) if isinstance(parameter, dict) else (None, None)
                )
                if not isinstance(name, str) or location not in _LOCATIONS:
                    raise ToolError(where, f"a parameter lacks a name or a location of {', '.join(_LOCATIONS)}")
                if location == "header" and name.lower() in _NOT_PARAMETERS:
                    continue
                found[name, location] = parameter
        return list(found.values())

    def _parameter_schema(self, parameter: dict[str, Any]) -> Any:
        schema = parameter.get("schema")
        if schema is None and isinstance(parameter.get("content"), dict):
            schema = next(
                (e["schema"] for e in parameter["content"].values() if isinstance(e, dict) and "schema" in e), {}
            )
        return self._described({} if schema is None else schema, parameter)

    def _body(self, body: dict[str, Any]) -> tuple[Any, str]:
        """Schema and media type: of JSON, else of a form, else a text."""
        content: dict[str, Any] = body["content"]
        by_rank = sorted(content, key=lambda media_type: _rank(media_type))
        media_type = by_rank[0]
        entry = content[media_type]
        if _rank(media_type) > 1:
            return self._described({"type": "string"}, body), media_type
        return self._described(entry.get("schema", {}) if isinstance(entry, dict) else {}, body), media_type

    def _described(self, schema: Any, owner: dict[str, Any]) -> Any:
        schema = self._schema(schema)
        text = owner.get("description")
        if isinstance(schema, dict) and isinstance(text, str) and text and "description" not in schema:
            return {**schema, "description": text}
        return schema

    def _schema(self, schema: Any) -> Any:
        return without_nullable(schema, only_types=True) if self.old else schema

    def followed(self, value: Any) -> Any:
        """What stands where a chain of references within the document leads."""
        for _ in range(_FOLLOWED):
            reference = value.get("$ref") if isinstance(value, dict) else None
            if not isinstance(reference, str):
                return value
            if not reference.startswith("#/"):
                raise ToolError(
                    self.place, f"the reference {reference!r} leads out of the document; bundle it into one"
                )
            target = value_at(self.document, unquote(reference[1:]))
            if target is None:
                raise ToolError(self.place, f"the reference {reference!r} leads nowhere")
            value = target
        raise ToolError(self.place, f"the reference {reference!r} leads in a circle")

    def _carry(self, root: dict[str, Any]) -> None:
        """Put what the schemas refer to into `root`, at the places of the document."""
        wanted: dict[str, Any] = {}
        pending = list(_references(root))
        while pending:
            pointer = pending.pop()
            value = None if pointer in wanted else value_at(self.document, pointer)
            if value is not None:  # a reference that leads nowhere is reported where the schema is compiled
                wanted[pointer] = value = self._schema(value)
                pending.extend(_references(value))
        made: dict[int, None] = {id(root): None}
        for pointer in sorted(wanted):  # what contains comes before what is contained
            *above, last = [_plain(part) for part in pointer.split("/")[1:]]
            here: Any = root
            for part in above:
                if id(here) not in made:
                    break  # inside something that is there as a whole
                if part not in here:
                    here[part] = {}
                    made[id(here[part])] = None
                here = here[part]
            if id(here) in made and last not in here:
                here[last] = wanted[pointer]


def _rank(media_type: str) -> int:
    plain = media_type.partition(";")[0].strip().lower()
    if plain in ("application/json", "text/json", "*/*", "application/*") or plain.endswith("+json"):
        return 0
    return 1 if plain in _FORMS else 2


def value_at(document: Any, pointer: str) -> Any:
    """The value at a JSON pointer, or None where there is none."""
    value = document
    for part in map(_plain, pointer.split("/")[1:]):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def _plain(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")


def _references(value: Any) -> Iterator[str]:
    """The pointers of all references within the document; those of discriminators are no schemas and left out."""
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            reference = part.get("$ref")
            if isinstance(reference, str) and reference.startswith("#/"):
                yield unquote(reference[1:])
            stack.extend(member for key, member in part.items() if key != "discriminator")
        elif isinstance(part, list):
            stack.extend(part)


def _name(method: str, path: str) -> str:
    return "_".join([method, *re.findall(r"[A-Za-z0-9]+", path)])


def _description(operation: dict[str, Any], item: dict[str, Any]) -> str:
    texts = [owner.get(key) for owner in (operation, item) for key in ("summary", "description")]
    own = [text for text in texts[:2] if isinstance(text, str) and text] or [
        text for text in texts[2:] if isinstance(text, str) and text
    ]
    return "\n\n".join(dict.fromkeys(own))
