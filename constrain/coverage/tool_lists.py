"""The argument schemas of tool lists, as OpenAI, Anthropic, MCP and Gemini write them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

NO_ARGUMENTS: dict[str, Any] = {"type": "object", "additionalProperties": False}
"""What a tool without parameters takes."""

_GEMINI_TYPES = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})
_GEMINI_COUNTS = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"})


def tool_schemas(value: Any) -> Iterator[tuple[str, str, Any]]:
    """(tool name, JSON pointer of the schema in `value`, schema) of every tool; nothing where `value` is no tool list.

    Understood are single tools, lists of tools, and objects that hold such a list as requests and answers do
    (`tools`, `result.tools`, `functionDeclarations`); a request's `response_format` too.
    """
    yield from _tools(value, "")


def _tools(value: Any, pointer: str) -> Iterator[tuple[str, str, Any]]:
    if isinstance(value, list):
        for position, tool in enumerate(value):
            yield from _tools(tool, f"{pointer}/{position}")
        return
    if not isinstance(value, dict) or "$schema" in value:
        return
    if isinstance(value.get("result"), dict):  # the answer to MCP's tools/list as JSON-RPC
        yield from _tools(value["result"], pointer + "/result")
        return
    found = False
    for key in ("tools", "functions", "functionDeclarations", "function_declarations"):
        if isinstance(value.get(key), list):
            gemini = key.startswith("function") and key != "functions"
            for position, tool in enumerate(value[key]):
                place = f"{pointer}/{key}/{position}"
                for name, where, schema in _gemini(tool, place) if gemini else _tools(tool, place):
                    found = True
                    yield name, where, schema
    for holder, inner in (("response_format", "json_schema"), ("text", "format")):
        answer = value.get(holder)
        answer = answer.get(inner) if isinstance(answer, dict) else None
        if isinstance(answer, dict) and isinstance(answer.get("schema"), dict):
            found = True
            yield str(answer.get("name", holder)), f"{pointer}/{holder}/{inner}/schema", answer["schema"]
    if not found:
        yield from _one(value, pointer)


def _one(tool: dict[str, Any], pointer: str) -> Iterator[tuple[str, str, Any]]:
    function = tool.get("function")
    if tool.get("type") == "function" and isinstance(function, dict):
        tool, pointer = function, pointer + "/function"
    elif tool.get("type") not in (None, "function", "custom"):
        return  # a schema, or a tool that the provider runs itself
    name = tool.get("name")
    if not isinstance(name, str):
        return
    for key in ("parameters", "input_schema", "inputSchema"):
        if isinstance(tool.get(key), dict | bool):
            schema = tool[key]
            yield name, f"{pointer}/{key}", schema
            return
    if isinstance(function, dict) or tool.get("type") == "function":
        yield name, pointer, NO_ARGUMENTS


def _gemini(tool: Any, pointer: str) -> Iterator[tuple[str, str, Any]]:
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
        return
    for key in ("parametersJsonSchema", "parameters_json_schema"):
        if isinstance(tool.get(key), dict):
            yield tool["name"], f"{pointer}/{key}", tool[key]
            return
    if isinstance(tool.get("parameters"), dict):
        yield tool["name"], f"{pointer}/parameters", json_schema_of_gemini(tool["parameters"])
    else:
        yield tool["name"], pointer, NO_ARGUMENTS


def json_schema_of_gemini(schema: Any) -> Any:
    """Gemini's dialect as JSON Schema, place by place: its type names are capitals, its counts strings (protobuf)."""
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "type" and isinstance(value, str) and value in _GEMINI_TYPES:
            value = value.lower()
        elif key in _GEMINI_COUNTS and isinstance(value, str) and value.isascii() and value.isdigit():
            value = int(value)
        elif key in ("items", "additionalProperties"):
            value = json_schema_of_gemini(value)
        elif key in ("properties", "$defs", "defs") and isinstance(value, dict):
            value = {name: json_schema_of_gemini(member) for name, member in value.items()}
        elif key in ("anyOf", "prefixItems") and isinstance(value, list):
            value = [json_schema_of_gemini(member) for member in value]
        elif key == "format" and value == "enum":
            continue  # says that `enum` is there
        out[key] = value
    return out
