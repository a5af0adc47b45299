"""Operations of OpenAPI documents as tools; what is accepted is judged by `jsonschema` and by the compiler."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

import constrain
from constrain.tools import Tool, ToolError, read_tools

PETS: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Pets", "version": "1"},
    "paths": {
        "/pets/{petId}": {
            "parameters": [
                {"name": "petId", "in": "path", "required": True, "schema": {"type": "integer"}},
                {"name": "trace", "in": "header", "schema": {"type": "string"}},
            ],
            "get": {
                "operationId": "getPet",
                "summary": "One pet.",
                "description": "All about it.",
                "parameters": [
                    {"$ref": "#/components/parameters/Fields"},
                    {"name": "Authorization", "in": "header", "schema": {"type": "string"}},
                    {"name": "session", "in": "cookie", "required": True, "schema": {"type": "string"}},
                    {"name": "trace", "in": "header", "required": True, "schema": {"type": "integer"}},
                ],
            },
            "put": {
                "description": "Change a pet.",
                "requestBody": {
                    "required": True,
                    "description": "The pet",
                    "content": {
                        "text/plain": {"schema": {"type": "string"}},
                        "application/json; charset=utf-8": {"schema": {"$ref": "#/components/schemas/Pet"}},
                    },
                },
            },
        },
        "/upload": {
            "post": {
                "operationId": "upload",
                "parameters": [
                    {"name": "id", "in": "query", "schema": {"type": "string"}},
                    {"name": "id", "in": "header", "schema": {"type": "integer"}},
                    {"name": "body", "in": "query", "schema": {"type": "string"}},
                    {"name": "filter", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}},
                ],
                "requestBody": {"content": {"application/octet-stream": {}}},
            }
        },
    },
    "components": {
        "parameters": {
            "Fields": {
                "name": "fields",
                "in": "query",
                "description": "Which fields",
                "schema": {"type": "array", "items": {"$ref": "#/components/schemas/Field"}},
            }
        },
        "schemas": {
            "Field": {"type": "string", "enum": ["name", "age"]},
            "Pet": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "owner": {"type": "string", "nullable": True},
                    "age": {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
                    "mother": {"$ref": "#/components/schemas/Pet"},
                },
                "required": ["name"],
            },
            "Unused": {"type": "object"},
        },
    },
}


def tools() -> dict[str, Tool]:
    return {tool.name: tool for tool in read_tools(PETS)}


def accepts(tool: Tool, arguments: Any) -> bool:
    judged = jsonschema.Draft4Validator(tool.parameters)
    return bool(judged.is_valid(arguments))


def test_names_texts_and_locations() -> None:
    found = tools()
    assert list(found) == ["getPet", "put_pets_petId", "upload"]
    assert found["getPet"].description == "One pet.\n\nAll about it."
    assert found["put_pets_petId"].description == "Change a pet."
    assert found["getPet"].annotations == {
        "method": "GET",
        "path": "/pets/{petId}",
        "locations": {
            "petId": ["path", "petId"],
            "trace": ["header", "trace"],
            "fields": ["query", "fields"],
            "session": ["cookie", "session"],
        },
    }


def test_parameters_of_path_and_operation() -> None:
    tool = tools()["getPet"]
    assert sorted(tool.parameters["required"]) == ["petId", "session", "trace"]
    right = {"petId": 1, "session": "s", "trace": 2, "fields": ["name"]}
    assert accepts(tool, right)
    for wrong in (
        {**right, "petId": "1"},
        {**right, "fields": ["colour"]},
        {**right, "trace": "2"},  # the operation's own parameter replaces that of the path
        {**right, "Authorization": "x"},
        {"petId": 1, "trace": 2},
    ):
        assert not accepts(tool, wrong), wrong
    assert tool.parameters["properties"]["fields"]["description"] == "Which fields"
    assert list(tool.parameters["components"]) == ["schemas"]
    assert list(tool.parameters["components"]["schemas"]) == ["Field"]


def test_bodies_references_and_nullable() -> None:
    tool = tools()["put_pets_petId"]
    body = {"name": "Rex", "owner": None, "mother": {"name": "Lassie", "owner": None}}
    assert accepts(tool, {"petId": 1, "body": body})
    assert not accepts(tool, {"petId": 1})
    assert not accepts(tool, {"petId": 1, "body": {"name": None}})
    assert not accepts(tool, {"petId": 1, "body": {"name": "Rex", "age": 0}})
    assert not accepts(tool, {"petId": 1, "body": {"name": "Rex", "mother": {}}})
    assert tool.annotations["locations"]["body"] == ["body", "application/json; charset=utf-8"]
    assert list(tool.parameters["components"]["schemas"]) == ["Pet"]


def test_names_that_collide_are_told_apart_by_location() -> None:
    tool = tools()["upload"]
    assert list(tool.parameters["properties"]) == ["id_query", "id_header", "body_query", "filter", "body"]
    assert tool.annotations["locations"]["id_header"] == ["header", "id"]
    assert tool.parameters["properties"]["body"] == {"type": "string"}
    assert tool.parameters["properties"]["filter"]["type"] == "object"


def test_schemas_of_3_1_are_those_of_2020_12() -> None:
    document = {
        "openapi": "3.1.0",
        "paths": {
            "/x": {
                "$ref": "#/components/pathItems/X",
            }
        },
        "components": {
            "pathItems": {
                "X": {
                    "post": {
                        "requestBody": {"$ref": "#/components/requestBodies/B"},
                    }
                }
            },
            "requestBodies": {
                "B": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/a~1b%20c"}}}}
            },
            "schemas": {"a/b c": {"type": ["object", "null"], "properties": {"k": {"const": 1}}}},
        },
    }
    (tool,) = read_tools(document)
    judged = jsonschema.Draft202012Validator(tool.parameters)
    assert tool.name == "post_x"
    assert judged.is_valid({"body": {"k": 1}})
    assert judged.is_valid({"body": None})
    assert not judged.is_valid({"body": {"k": 2}})


def test_every_operation_compiles() -> None:
    tools = read_tools(PETS)
    assert tools
    for tool in tools:
        assert not constrain.json_schema(tool.parameters, closed_objects=True).unenforced


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ([{"$ref": "#/components/parameters/None"}], "leads nowhere"),
        ([{"$ref": "other.yaml#/x"}], "out of the document"),
        ([{"name": "x", "in": "body", "schema": {}}], "location"),
    ],
)
def test_parameters_that_cannot_be_read_are_refused(parameters: Any, message: str) -> None:
    document = {"openapi": "3.0.0", "paths": {"/x": {"get": {"parameters": parameters}}}}
    with pytest.raises(ToolError, match=message):
        read_tools(document)
