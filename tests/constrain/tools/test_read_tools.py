"""Reading tools. The spellings are those of the APIs' documentation; validity is judged by `jsonschema`."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from constrain.tools import NAME_RULES, Tool, ToolError, check_names, read_tools
from constrain.tools.nullable import without_nullable

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "unit": {"enum": ["c", "f"]}},
    "required": ["city"],
}
EMPTY = {"type": "object", "properties": {}, "additionalProperties": False}
OPENAI_CHAT = {"type": "function", "function": {"name": "a", "description": "A", "parameters": SCHEMA, "strict": True}}
OPENAI_RESPONSES = {"type": "function", "name": "b", "description": "B", "parameters": SCHEMA, "strict": False}
OPENAI_OLD = {"name": "old", "parameters": SCHEMA}
ANTHROPIC = {"name": "c", "description": "C", "input_schema": SCHEMA}
GEMINI = {
    "functionDeclarations": [
        {
            "name": "d",
            "description": "D",
            "parameters": {
                "type": "OBJECT",
                "properties": {
                    "city": {"type": "STRING", "nullable": True},
                    "tags": {"type": "ARRAY", "items": {"type": "STRING"}, "minItems": "1"},
                    "kind": {"type": "STRING", "format": "enum", "enum": ["X", "Y"]},
                    "type": {"type": "INTEGER"},
                },
                "required": ["city"],
                "propertyOrdering": ["city", "tags"],
            },
        },
        {"name": "d2", "parametersJsonSchema": SCHEMA},
        {"name": "d3"},
    ]
}
MCP_TOOL = {
    "name": "e.x",
    "title": "E",
    "description": "E!",
    "inputSchema": SCHEMA,
    "annotations": {"readOnlyHint": True},
}


def only(value: Any) -> Tool:
    (tool,) = read_tools(value)
    return tool


@pytest.mark.parametrize(
    ("spelled", "name", "description", "strict", "source"),
    [
        (OPENAI_CHAT, "a", "A", True, "openai"),
        (OPENAI_RESPONSES, "b", "B", False, "openai"),
        (OPENAI_OLD, "old", "", None, "openai"),
        (ANTHROPIC, "c", "C", None, "anthropic"),
        ({**ANTHROPIC, "type": "custom", "strict": True}, "c", "C", True, "anthropic"),
        (MCP_TOOL, "e.x", "E!", None, "mcp"),
        ({"name": "n", "schema": SCHEMA}, "n", "", None, "json_schema"),
        (("n", SCHEMA), "n", "", None, "json_schema"),
        (("n", json.dumps(SCHEMA)), "n", "", None, "json_schema"),
        ({**SCHEMA, "title": "n", "description": "N"}, "n", "N", None, "json_schema"),
        (json.dumps([OPENAI_CHAT]), "a", "A", True, "openai"),
    ],
)
def test_every_spelling_of_one_tool(
    spelled: Any, name: str, description: str, strict: bool | None, source: str
) -> None:
    tool = only(spelled)
    assert (tool.name, tool.description, tool.strict, tool.source) == (name, description, strict, source)
    assert {key: tool.parameters[key] for key in SCHEMA} == SCHEMA


def test_lists_mix_spellings_and_keep_the_order() -> None:
    mixed = [OPENAI_CHAT, ANTHROPIC, GEMINI, {"tools": [MCP_TOOL]}, OPENAI_RESPONSES, Tool("z")]
    assert [tool.name for tool in read_tools(mixed)] == ["a", "c", "d", "d2", "d3", "e.x", "b", "z"]
    assert read_tools(None) == read_tools([]) == ()


def test_gemini_types_counts_and_nullable() -> None:
    d, d2, d3 = read_tools(GEMINI)
    assert d.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": ["string", "null"]},
            "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "kind": {"type": "string", "enum": ["X", "Y"]},
            "type": {"type": "integer"},
        },
        "required": ["city"],
    }
    assert d2.parameters == SCHEMA
    assert d3.parameters == EMPTY
    alone = only({"name": "g", "parameters": {"type": "OBJECT", "properties": {"x": {"type": "NUMBER"}}}})
    assert (alone.source, alone.parameters["properties"]) == ("gemini", {"x": {"type": "number"}})


@pytest.mark.parametrize(
    "parameters",
    [
        None,
        {},
        {"type": "object"},
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {}, "required": []},
    ],
)
@pytest.mark.parametrize("key", ["parameters", "input_schema", "inputSchema", "parametersJsonSchema"])
def test_empty_parameters_are_the_closed_empty_object(key: str, parameters: Any) -> None:
    assert only([{"name": "t", key: parameters}]).parameters == EMPTY


def test_missing_parameters_are_the_closed_empty_object() -> None:
    assert only({"type": "function", "function": {"name": "t"}}).parameters == EMPTY
    assert only({"name": "t"}).parameters == EMPTY
    assert Tool("t").parameters == EMPTY
    jsonschema.validate({}, Tool("t").parameters)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"a": 1}, Tool("t").parameters)


def test_maps_and_lenient_tools_stay_open() -> None:
    open_map = {"type": "object", "additionalProperties": {"type": "string"}}
    assert only(("t", open_map)).parameters == open_map
    assert only(OPENAI_RESPONSES).argument_schema == {"type": "object"}
    assert only(OPENAI_CHAT).argument_schema == SCHEMA


def test_arguments_are_objects_whatever_the_schema_leaves_open() -> None:
    by_reference = {"$ref": "#/definitions/a", "definitions": {"a": {"properties": {"x": {"type": "integer"}}}}}
    for dialect in ("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"):
        parameters = only(("t", {"$schema": dialect, **by_reference})).parameters
        jsonschema.validate({"x": 1}, parameters)
        for wrong in ([], "x", {"x": "1"}):
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(wrong, parameters)
    assert only(("t", {"type": ["object", "null"], "properties": {"x": {}}})).parameters["type"] == "object"
    with pytest.raises(ToolError, match=r"'t'.*object.*'string'"):
        read_tools([("t", {"type": "string"})])
    with pytest.raises(ToolError, match=r"'t'.*dict, not bool"):
        read_tools([("t", True)])


def test_pages_of_a_tool_list() -> None:
    first = {"jsonrpc": "2.0", "id": 1, "result": {"tools": [MCP_TOOL], "nextCursor": "p2"}}
    second = {"jsonrpc": "2.0", "id": 2, "result": {"tools": [{"name": "f", "inputSchema": {"type": "object"}}]}}
    tools = read_tools([first, second])
    assert [tool.name for tool in tools] == ["e.x", "f"]
    assert tools[0].annotations == {"title": "E", "annotations": {"readOnlyHint": True}}
    assert tools[1].parameters == EMPTY
    assert read_tools([first["result"], second["result"]]) == tools
    with pytest.raises(ToolError, match=r"nextCursor 'p2'"):
        read_tools([first])
    assert len(read_tools([first], complete=False)) == 1
    with pytest.raises(ToolError, match=r"JSON-RPC error.*no such method"):
        read_tools({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no such method"}})


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ([OPENAI_CHAT, 3], r"tools\[1\].*int 3.*Understood are OpenAI"),
        ([{"what": 1, "is": 2}], r"tools\[0\].*keys 'what', 'is'.*Understood are OpenAI"),
        ([{}], r"tools\[0\].*empty object"),
        ([SCHEMA], r"tools\[0\].*needs a title.*pair"),
        ([{"type": "function", "function": {"parameters": {}}}], r"tools\[0\].*no name"),
        (
            [{"functionDeclarations": [{"name": "x"}, {"description": "y"}]}],
            r"tools\[0\].functionDeclarations\[1\].*no name",
        ),
        ([{"type": "web_search_20250305", "name": "web_search"}], r"tools\[0\].*'web_search_20250305'.*provider"),
        ([{"type": "code_interpreter"}], r"tools\[0\].*'code_interpreter'.*provider"),
        (["not json"], r"tools\[0\].*not JSON"),
        ([OPENAI_CHAT, {**ANTHROPIC, "name": "a"}], r"'a'.*twice.*tools\[0\] and by tools\[1\]"),
        ([{"name": "s", "parameters": {}, "strict": "yes"}], r"'s'.*strict.*'yes'"),
        ({"swagger": "2.0", "paths": {}}, r"OpenAPI 2.0 is not understood"),
    ],
)
def test_errors_name_the_element_and_what_is_accepted(tools: Any, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        read_tools(tools)


def search(query: str, limit: int = 10, lang: str | None = None, kinds: list[str] | None = None) -> list[str]:
    """Search the archive.

    Args:
        query: What to look for
        limit: How many results
        lang: Language
        kinds: Kinds of documents
    """
    return [query, str(lang), *(kinds or [])][:limit]


def test_functions_are_read_by_transformers() -> None:
    utilities = pytest.importorskip("transformers.utils")
    described = utilities.get_json_schema(search)["function"]
    tool = only(search)
    assert (tool.name, tool.description, tool.source) == ("search", described["description"], "python")
    assert tool.parameters["required"] == described["parameters"]["required"] == ["query"]
    assert list(tool.parameters["properties"]) == list(described["parameters"]["properties"])
    jsonschema.Draft202012Validator.check_schema(tool.parameters)
    for arguments in ({"query": "x"}, {"query": "x", "lang": None, "kinds": None}, {"query": "x", "kinds": ["a"]}):
        jsonschema.validate(arguments, tool.parameters)
    for arguments in ({}, {"query": None}, {"query": "x", "limit": "1"}, {"query": "x", "kinds": [None]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(arguments, tool.parameters)
    # What get_json_schema writes for itself is the same tool.
    (again,) = read_tools([utilities.get_json_schema(search)])
    assert again.parameters == tool.parameters


def test_functions_that_cannot_be_called_by_name_are_refused() -> None:
    pytest.importorskip("transformers")

    def starred(*args: int) -> None:
        """Do.

        Args:
            args: numbers
        """

    def undocumented(x: int) -> None:
        pass

    with pytest.raises(ToolError, match=r"tools\[0\] \(function 'starred'\).*by name"):
        read_tools([starred])
    with pytest.raises(ToolError, match=r"tools\[1\] \(function 'undocumented'\).*docstring"):
        read_tools([search, undocumented])


def test_methods_are_read_without_self() -> None:
    pytest.importorskip("transformers")

    class Shop:
        def buy(self, what: str) -> None:
            """Buy.

            Args:
                what: The thing
            """

    assert list(only(Shop().buy).parameters["properties"]) == ["what"]


def test_pydantic_models_and_sdk_objects() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Inner(pydantic.BaseModel):
        x: int

    class Move(pydantic.BaseModel):
        """Move it."""

        to: Inner
        fast: bool = False

    tool = only(Move)
    assert (tool.name, tool.description, tool.source) == ("Move", "Move it.", "pydantic")
    jsonschema.validate({"to": {"x": 1}}, tool.parameters)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"to": {"x": "1"}}, tool.parameters)
    assert only(("go", Move)).parameters == tool.parameters

    class SdkTool(pydantic.BaseModel):  # as the MCP SDK has it
        name: str
        inputSchema: dict[str, Any]

    assert only(SdkTool(name="m", inputSchema=SCHEMA)).source == "mcp"


def test_nullable_as_openapi_reads_it_and_as_it_is_meant() -> None:
    enum = {"type": "string", "enum": ["a"], "nullable": True}
    assert without_nullable(enum, only_types=True) == {"type": ["string", "null"], "enum": ["a"]}
    assert without_nullable(enum, only_types=False) == {"type": ["string", "null"], "enum": ["a", None]}
    union = {"anyOf": [{"type": "string"}, {"type": "array"}], "nullable": True}
    meant = without_nullable(union, only_types=False)
    for value in ("x", [], None):
        jsonschema.validate(value, meant)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(None, without_nullable(union, only_types=True))
    named = {"properties": {"nullable": {"type": "integer"}}}
    assert without_nullable(named, only_types=False) == named


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        ("openai", ["get_x-1", "a" * 64], ["a.b", "a" * 65, "é", ""]),
        ("anthropic", ["a" * 128], ["a" * 129, "a b"]),
        ("gemini", ["a.b:c-d"], ["1a", "a/b"]),
        ("mcp", ["a.b-c_d", "a" * 128], ["a:b", "a" * 129]),
        ("mistral", ["a" * 64], ["a.b"]),
        ("python", ["a.b_1", "_x"], ["a-b", "1a", "a..b"]),
        ("any", ['a"b\n'], [""]),
    ],
)
def test_rules_of_names(rule: str, good: list[str], bad: list[str]) -> None:
    for name in good:
        assert NAME_RULES[rule].allows(name), name
        check_names([Tool(name)], rule)
    for name in bad:
        assert not NAME_RULES[rule].allows(name), name
    assert not NAME_RULES[rule].allows(good[0] + "\n") or rule == "any"


def test_a_name_that_breaks_a_rule_is_named() -> None:
    with pytest.raises(ToolError, match=r"'repos/get'.*digits, _ and -; '/' cannot be part"):
        check_names([Tool("fine"), Tool("repos/get")], "openai")
    for name in ("", None, 3):
        with pytest.raises(ToolError, match="name"):
            Tool(name)  # type: ignore[arg-type]


def test_the_shape_for_chat_templates_is_read_back() -> None:
    for tool in read_tools([OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC]):
        again = only(tool.to_openai())
        assert (again.name, again.parameters, again.strict) == (tool.name, tool.parameters, tool.strict)
