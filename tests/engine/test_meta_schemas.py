"""The official meta-schemas as schemas: what they say of schemas is what jsonschema-rs says."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest

import constrain
from tests.oracles import accepts, vocabulary

META = {
    "http://json-schema.org/draft-06/schema#": jsonschema_rs.Draft6Validator,
    "http://json-schema.org/draft-07/schema#": jsonschema_rs.Draft7Validator,
    "https://json-schema.org/draft/2019-09/schema": jsonschema_rs.Draft201909Validator,
    "https://json-schema.org/draft/2020-12/schema": jsonschema_rs.Draft202012Validator,
}

SCHEMAS: list[Any] = [
    True,
    5,
    {},
    {"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "pattern": "^a(b|c)$"}}},
    {"type": "thing"},
    {"type": ["string", "null"], "minLength": 3, "format": "email"},
    {"minLength": -1},
    {"pattern": "("},
    {"patternProperties": {"^x-": {"minimum": 1}}},
    {"patternProperties": {"(": {}}},
    {"patternProperties": {"^a": 5}},
    {"properties": {"a": {"items": {"maximum": "1"}}}},
    {"definitions": {"a": {"not": {}}}, "allOf": [{"$ref": "#/definitions/a"}]},
    {"allOf": []},
    {"enum": [1, "a", None]},
    {"$id": "http://example.org/a b"},
]


@pytest.mark.parametrize("uri", META)
def test_meta_schemas(uri: str) -> None:
    engine = constrain.json_schema({"$ref": uri}).compile(vocabulary("bytes"))
    judge = META[uri]({"$ref": uri}, validate_formats=True)
    for schema in SCHEMAS:
        assert accepts(engine, json.dumps(schema)) == judge.is_valid(schema), schema
