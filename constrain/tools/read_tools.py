"""Reading tools, whoever's spelling they are in. Lists may mix spellings; each element is recognised by itself.

Recognition goes by the key that only one spelling has (`input_schema`, `inputSchema`, `functionDeclarations`, ...), so
that nothing is guessed. What is not recognised is an error that names the element, what it holds and what is accepted.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping
from typing import Any

from constrain.tools.gemini_schemas import from_gemini, is_gemini_schema
from constrain.tools.nullable import without_nullable
from constrain.tools.openapi_tools import openapi_tools
from constrain.tools.problems import ToolError
from constrain.tools.python_tools import tool_of_function, tool_of_model
from constrain.tools.tool import Source, Tool
from constrain.tools.tool_names import check_unique

ACCEPTED = (
    "OpenAI tools (chat or responses shape), Anthropic tools (input_schema), Gemini functionDeclarations, "
    "MCP tools (inputSchema, or an answer to tools/list), OpenAPI 3.0 and 3.1 documents, Python functions, "
    "Pydantic models, JSON Schemas of objects with a title, pairs (name, JSON Schema), and constrain.Tool"
)
_LISTS = ("tools", "functions", "functionDeclarations", "function_declarations")


def read_tools(tools: Any, *, complete: bool = True) -> tuple[Tool, ...]:
    """The tools in a list, or in one element of such a list.

    Args:
        tools: tools in any of these spellings, mixed at will: OpenAI's (chat, responses, and the older `functions`),
            Anthropic's, Gemini's, MCP's (a tool, a page of `tools/list` with or without its JSON-RPC envelope), OpenAPI
            3.0 and 3.1 documents (each operation is a tool), Python functions (see `tool_of_function`), Pydantic
            models, JSON Schemas of objects with a `title`, pairs (name, JSON Schema), `Tool`s. Objects of the vendors'
            SDKs are read through their `model_dump`. JSON text, as str or bytes, is parsed. None is no tools.
        complete: refuse pages of `tools/list` that end with a cursor for more. The pages of one list stand one after
            the other; only the last one is looked at.

    Raises:
        ToolError: an element is not understood or cannot be a tool, or two tools have the same name.
    """
    reader = _Reader()
    found = [] if tools is None else list(reader.read(tools, "tools"))
    if complete and reader.cursor is not None:
        place, cursor = reader.cursor
        raise ToolError(
            place,
            f"the list goes on: it ends with nextCursor {cursor!r}. Fetch the pages that follow and pass all, or pass "
            "complete=False",
        )
    check_unique(found)
    return tuple(tool for _, tool in found)


class _Reader:
    """Attributes: cursor: place and value of the cursor at the end of the page read last; None where there is none."""

    def __init__(self) -> None:
        self.cursor: tuple[str, str] | None = None

    def read(self, value: Any, place: str) -> Iterator[tuple[str, Tool]]:
        """Place and tool of every tool in a value."""
        if isinstance(value, Tool):
            yield place, value
        elif isinstance(value, str | bytes | bytearray):
            yield from self.read(_parsed(value, place), place)
        elif isinstance(value, Mapping):
            yield from self._mapping(dict(value), place)
        elif isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
            yield place, self._named_schema(value[0], value[1], place)
        elif isinstance(value, list | tuple | set | frozenset) or inspect.isgenerator(value):
            for position, element in enumerate(value):
                yield from self.read(element, f"{place}[{position}]")
        elif isinstance(value, type) and callable(getattr(value, "model_json_schema", None)):
            yield place, tool_of_model(value, place)
        elif callable(getattr(value, "model_dump", None)) and not isinstance(value, type):
            yield from self.read(value.model_dump(mode="json", by_alias=True, exclude_none=True), place)
        elif callable(value):
            yield place, tool_of_function(value, place)
        else:
            raise ToolError(place, f"cannot read {_described(value)} as a tool. Understood are {ACCEPTED}")

    def _mapping(self, value: dict[str, Any], place: str) -> Iterator[tuple[str, Tool]]:
        if "jsonrpc" in value or (isinstance(value.get("result"), dict) and "tools" in value["result"]):
            yield from self._answer(value, place)
            return
        if "openapi" in value or "swagger" in value:
            for tool in openapi_tools(value, place):
                yield f"{place} ({tool.annotations['method']} {tool.annotations['path']})", tool
            return
        groups = [key for key in _LISTS if isinstance(value.get(key), list | tuple)]
        if groups and "name" not in value and "type" not in value:
            for key in groups:
                for position, element in enumerate(value[key]):
                    where = f"{place}.{key}[{position}]"
                    if key in ("functionDeclarations", "function_declarations"):
                        yield where, self._gemini(element, where)
                    else:
                        yield from self.read(element, where)
            self._page(value, place)
            return
        yield place, self._one(value, place)

    def _answer(self, value: dict[str, Any], place: str) -> Iterator[tuple[str, Tool]]:
        if "error" in value:
            raise ToolError(place, f"this is a JSON-RPC error, not a list of tools: {value['error']!r}")
        result = value.get("result")
        if not isinstance(result, dict) or not isinstance(result.get("tools"), list):
            raise ToolError(place, f"this is a JSON-RPC message, but not an answer to tools/list: {_described(value)}")
        yield from self._mapping(result, f"{place}.result")
        self._page(result, f"{place}.result")

    def _page(self, page: dict[str, Any], place: str) -> None:
        cursor = page.get("nextCursor")
        self.cursor = (place, cursor) if isinstance(cursor, str) else None

    def _one(self, value: dict[str, Any], place: str) -> Tool:
        function = value.get("function")
        kind = value.get("type")
        if kind == "function" and isinstance(function, Mapping):
            return self._made(dict(function), place, "openai", "parameters")
        if "input_schema" in value and kind in (None, "custom"):
            return self._made(value, place, "anthropic", "input_schema")
        if "inputSchema" in value:
            return self._made(value, place, "mcp", "inputSchema")
        if any(key in value for key in ("parametersJsonSchema", "parameters_json_schema")):
            return self._gemini(value, place)
        if "name" in value and kind in (None, "function"):
            if "schema" in value and "parameters" not in value:
                return self._made(value, place, "json_schema", "schema")
            if kind is None and is_gemini_schema(value.get("parameters")):
                return self._gemini(value, place)
            return self._made(value, place, "openai", "parameters")
        if isinstance(value.get("title"), str) and (kind == "object" or "properties" in value or "$ref" in value):
            return self._named_schema(value["title"], value, place)
        if isinstance(kind, str) and kind != "object" and ("name" in value or not set(value) - {"type"} or "_" in kind):
            raise ToolError(
                place, f"a tool of type {kind!r} is run by the provider; it has no arguments that could be constrained"
            )
        hint = ""
        if kind == "object" or "properties" in value:
            hint = ". A JSON Schema needs a title as its name, or pass the pair (name, schema)"
        raise ToolError(place, f"cannot read {_described(value)} as a tool{hint}. Understood are {ACCEPTED}")

    def _made(self, value: dict[str, Any], place: str, source: Source, key: str) -> Tool:
        name = value.get("name")
        if not isinstance(name, str) or not name:
            raise ToolError(place, f"the tool has no name: {_described(value)}")
        annotations: dict[str, Any] = {}
        if source == "mcp":
            annotations = {k: value[k] for k in ("title", "outputSchema", "annotations", "_meta") if k in value}
        return Tool(
            name,
            value.get("description") or "",
            _plain(value.get(key)),
            value.get("strict"),
            source,
            annotations,
        )

    def _gemini(self, value: Any, place: str) -> Tool:
        if not isinstance(value, Mapping):
            raise ToolError(place, f"a function declaration is an object, not {_described(value)}")
        name = value.get("name")
        if not isinstance(name, str) or not name:
            raise ToolError(place, f"the function declaration has no name: {_described(value)}")
        for key in ("parametersJsonSchema", "parameters_json_schema"):
            if value.get(key) is not None:
                return Tool(name, value.get("description") or "", value[key], None, "gemini")
        return Tool(name, value.get("description") or "", from_gemini(value.get("parameters")), None, "gemini")

    def _named_schema(self, name: str, schema: Any, place: str) -> Tool:
        if callable(getattr(schema, "model_json_schema", None)):
            schema = schema.model_json_schema()
        if isinstance(schema, str | bytes | bytearray):
            schema = _parsed(schema, place)
        description = schema.get("description") if isinstance(schema, dict) else ""
        return Tool(name, description if isinstance(description, str) else "", schema, None, "json_schema")


def _plain(schema: Any) -> Any:
    """The schema without `nullable`, which transformers' `get_json_schema` writes into OpenAI's shape."""
    return without_nullable(schema, only_types=False)


def _parsed(text: str | bytes | bytearray, place: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ToolError(place, f"the text is not JSON: {error}. Understood are {ACCEPTED}") from None


def _described(value: Any) -> str:
    if isinstance(value, Mapping):
        keys = ", ".join(map(repr, list(value)[:8]))
        return f"an object with the keys {keys}{', ...' if len(value) > 8 else ''}" if value else "an empty object"
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"
