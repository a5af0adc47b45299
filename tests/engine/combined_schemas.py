"""Schemas that combine, negate and condition: `allOf`, `oneOf`, `not`, `if`, dependencies, names by pattern, counted,
distinct and unevaluated members, formats.

What is hard about each is a thing that is decided late or by counting: a discriminator after the members it governs, a
branch that must be violated before the closing brace, a finite stock of names or items that runs out. Draft 2020-12
unless `$schema` says otherwise.
"""

from __future__ import annotations

from tests.engine.case import Case

D7 = "http://json-schema.org/draft-07/schema#"
D19 = "https://json-schema.org/draft/2019-09/schema"

COMBINED: dict[str, Case] = {
    # oneOf
    "oneOf open objects, discriminator late": Case(
        {
            "type": "object",
            "oneOf": [
                {"properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}, "required": ["kind"]},
                {"properties": {"kind": {"const": "b"}, "x": {"type": "string"}}, "required": ["kind", "x"]},
                {"properties": {"kind": {"enum": ["b", "c"]}, "x": {"type": "null"}}, "required": ["kind"]},
            ],
        },
        [
            {"x": 1, "kind": "a"},
            {"x": "s", "kind": "b"},
            {"kind": "c"},
            {"x": None, "kind": "b"},
            {"y": [], "kind": "b"},
        ],
        [{}, {"x": "s", "kind": "a"}, {"x": 1, "kind": "b"}, {"kind": "d"}, {"x": None}, {"kind": "c", "x": 0}],
    ),
    "oneOf discriminator not required": Case(
        {
            "type": "object",
            "oneOf": [
                {"properties": {"k": {"const": "a"}, "x": {"type": "integer"}}},
                {"properties": {"k": {"const": "b"}, "x": {"type": "string"}}},
            ],
        },
        [{"k": "a"}, {"x": 1}, {"x": "s"}, {"x": 1, "k": "a"}, {"k": "b", "x": "s"}],
        [{}, {"x": None}, {"k": "c"}, {"k": "a", "x": "s"}, {"y": 1}],
    ),
    "oneOf closed objects": Case(
        {
            "oneOf": [
                {"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": False},
                {"type": "object", "properties": {"b": {}, "c": {}}, "additionalProperties": False},
            ]
        },
        [{"a": 1}, {"a": 1, "b": 2}, {"c": 1}, {"b": 0, "c": 1}],
        [{}, {"b": 1}, {"a": 1, "c": 1}, {"d": 1}, 5],
    ),
    "oneOf overlapping scalars": Case(
        {
            "oneOf": [
                {"type": "string", "maxLength": 3},
                {"type": "string", "minLength": 2},
                {"type": "integer", "multipleOf": 3},
                {"type": "integer", "multipleOf": 5},
                {"type": "number", "maximum": -10},
            ]
        },
        ["", "a", "abcd", 3, 5, 6, -10.5, -11],
        ["ab", "abc", 0, 15, -12, -15, 7, 0.5, None],
    ),
    "oneOf with siblings and null": Case(
        {
            "maxLength": 4,
            "minimum": 0,
            "oneOf": [
                {"type": ["string", "null"]},
                {"type": ["null", "integer"], "enum": [None, 1, 2, -1]},
                {"const": "abc"},
            ],
        },
        ["", "abcd", 1, 2],
        [None, "abc", "abcde", -1, 3, []],
    ),
    "oneOf arrays": Case(
        {
            "type": "array",
            "oneOf": [
                {"items": {"type": "integer"}, "maxItems": 2},
                {"prefixItems": [{"minimum": 5}], "minItems": 2},
                {"contains": {"const": "x"}},
            ],
        },
        [[], [1], [1, 2], ["x"], [4, "x"], ["a", "b"], [1, 2, "x"]],
        [[5, 6], ["a"], ["a", "x"], [4, 6, 7], [1, 2, 3], {}],
    ),
    "oneOf that a member must break": Case(
        {
            "type": "object",
            "oneOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {"type": "integer"}}}],
        },
        [{"a": 1}, {"b": "x"}, {"a": 1, "b": 2}, {"a": "x", "b": "y", "c": 0}],
        [{}, {"a": "x"}, {"a": 1, "b": "x"}, {"c": 1}],
    ),
    # allOf
    "allOf of objects": Case(
        {
            "allOf": [
                {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
                {"properties": {"a": {"minimum": 3}, "b": {"type": "string"}}, "minProperties": 2},
                {"properties": {"a": {"maximum": 7}}, "maxProperties": 3},
            ]
        },
        [{"a": 3, "b": ""}, {"x": 1, "a": 7}, {"x": 1, "y": 2, "a": 5}],
        [{"a": 3}, {"a": 8, "b": ""}, {"b": "", "c": 1}, {"a": 3, "b": 1}, {"a": 3, "x": 1, "y": 2, "z": 3}, 4],
    ),
    "allOf of anyOf": Case(
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}, "c": {"type": "integer"}},
            "additionalProperties": False,
            "allOf": [
                {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
                {"anyOf": [{"required": ["c"]}, {"properties": {"b": {"minimum": 5}}}]},
            ],
        },
        [{"a": 1}, {"b": 5}, {"b": 1, "c": 2}, {"c": 1, "a": 0}],
        [{}, {"c": 1}, {"b": 1}, {"a": 1, "b": 4}],
    ),
    "allOf of strings and numbers": Case(
        {
            "allOf": [
                {"type": ["string", "number"]},
                {"pattern": "^[a-c]+$", "multipleOf": 2},
                {"pattern": "c$", "minLength": 2, "multipleOf": 3, "exclusiveMaximum": 19},
            ]
        },
        ["ac", "cc", "abbac", 0, 6, 18, -12],
        ["c", "ab", "dc", 2, 3, 20, 24, None],
    ),
    # not
    "not string keywords": Case(
        {"type": "string", "not": {"pattern": "^a", "minLength": 3}},
        ["", "a", "ab", "bcd", "😀😀😀"],
        ["abc", "aaaa", 1],
    ),
    "not lengths": Case(
        {"type": "string", "not": {"minLength": 2, "maxLength": 4}}, ["", "é", "abcde"], ["ab", "abcd"]
    ),
    "not const and enum": Case(
        {
            "type": ["string", "integer", "null", "array"],
            "not": {"enum": ["a", "ab", 3, None, [1]]},
            "maxItems": 1,
            "items": {"enum": [1, 2]},
        },
        ["", "abc", "b", 4, -3, 33, [], [2]],
        ["a", "ab", 3, None, [1], [3], {}],
    ),
    "not number keywords": Case(
        {"type": "integer", "not": {"anyOf": [{"multipleOf": 3}, {"minimum": 10, "exclusiveMaximum": 20}]}},
        [1, 2, 20, 22, -4, 8],
        [0, 3, 10, 11, 19, 21, 0.5],
    ),
    "number that is no integer": Case(
        {"type": "number", "not": {"type": "integer"}}, [0.5, -1.25, 10.01], [0, 1, -7, "x"]
    ),
    "not types": Case({"not": {"type": ["object", "array", "string"]}}, [1, None, True, 0.5], [{}, [], "", "x"]),
    "not object keywords": Case(
        {"type": "object", "not": {"properties": {"a": {"type": "integer"}}, "required": ["a"], "maxProperties": 2}},
        [{}, {"a": "x"}, {"b": 1}, {"a": 1, "b": 2, "c": 3}, {"b": None, "a": None}],
        [{"a": 1}, {"b": 1, "a": 2}, []],
    ),
    "not properties": Case(
        {"not": {"properties": {"a": {"type": "string"}, "b": {"minimum": 2}}}},
        [{"a": 1}, {"b": 1}, {"a": "x", "b": 0}, {"c": 1, "a": None}],
        [{}, {"a": "x"}, {"b": "x"}, {"a": "", "b": 2}, 3, [], "s"],
    ),
    "not closed": Case(
        {"type": "object", "not": {"properties": {"a": {}}, "additionalProperties": {"type": "null"}}},
        [{"b": 1}, {"a": 1, "b": {}}, {"a": 0, "c": None, "d": 0}],
        [{}, {"a": 1}, {"b": None}, {"a": 1, "b": None}],
    ),
    "not array keywords": Case(
        {"type": "array", "not": {"items": {"type": "integer"}, "maxItems": 2}},
        [["a"], [1, "a"], [1, 2, 3], [None]],
        [[], [1], [1, 2], {}],
    ),
    "not tuple or contains": Case(
        {"type": "array", "not": {"anyOf": [{"prefixItems": [{"const": 1}]}, {"contains": {"type": "null"}}]}},
        [[2], ["a", 1], [0, 1, 2, 3]],
        [[], [1], [1, 2], [None], [2, None]],
    ),
    "not required both": Case(
        {"type": "object", "not": {"required": ["a", "b"]}, "properties": {"a": {"type": "integer"}}},
        [{}, {"a": 1}, {"b": 1}, {"c": 1, "b": None}],
        [{"a": 1, "b": 2}, {"a": "x"}, {"b": 1, "a": 1, "c": 1}],
    ),
    "not not": Case(
        {"not": {"not": {"type": "array", "items": {"type": "boolean"}, "minItems": 1}}},
        [[True], [False, True]],
        [[], [1], {}, None],
    ),
    # if
    "if without required": Case(
        {
            "type": "object",
            "properties": {"k": {"enum": ["a", "b"]}, "v": {}},
            "additionalProperties": False,
            "if": {"properties": {"k": {"const": "a"}}},
            "then": {"required": ["v"]},
            "else": {"properties": {"v": {"type": "null"}}},
        },
        [{"v": 1}, {"k": "a", "v": {}}, {"k": "b"}, {"v": None, "k": "b"}],
        [{}, {"k": "a"}, {"k": "b", "v": 1}, {"k": "c"}],
    ),
    "chain of if": Case(
        {
            "type": "object",
            "properties": {"t": {"type": "string"}, "v": {}},
            "required": ["t", "v"],
            "if": {"properties": {"t": {"const": "int"}}},
            "then": {"properties": {"v": {"type": "integer"}}},
            "else": {
                "if": {"properties": {"t": {"const": "text"}}},
                "then": {"properties": {"v": {"type": "string", "minLength": 1}}},
                "else": {"properties": {"v": {"type": "null"}, "t": {"maxLength": 3}}},
            },
        },
        [{"t": "int", "v": 3}, {"v": "x", "t": "text"}, {"v": None, "t": "abc"}, {"t": "", "v": None}],
        [{"t": "int", "v": ""}, {"t": "text", "v": ""}, {"t": "abcd", "v": None}, {"t": "abc", "v": 1}, {"t": "int"}],
    ),
    "several if": Case(
        {
            "type": "object",
            "allOf": [
                {"if": {"required": ["a"]}, "then": {"required": ["b"]}},
                {"if": {"required": ["b"]}, "then": {"required": ["c"]}},
                {
                    "if": {"required": ["c"]},
                    "then": {"properties": {"a": {"type": "integer"}}},
                    "else": {"maxProperties": 1},
                },
            ],
        },
        [{}, {"x": 1}, {"c": 1}, {"b": 1, "c": 2}, {"a": 1, "b": 2, "c": 3}, {"c": 0, "x": 1, "y": 2}],
        [{"a": 1}, {"b": 1}, {"a": 1, "b": 2}, {"a": "s", "b": 2, "c": 3}, {"x": 1, "y": 2}],
    ),
    "if on scalars": Case(
        {
            "type": ["string", "integer", "null"],
            "if": {"minLength": 3, "minimum": 10},
            "then": {"pattern": "z$", "multipleOf": 5},
            "else": {"maxLength": 1, "minimum": -1},
        },
        ["abz", "a", "", 10, 15, 9, -1, None],
        ["abc", "ab", "az", 11, -2],
    ),
    # dependencies
    "dependentRequired": Case(
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}},
            "dependentRequired": {"a": ["b"], "b": ["a"], "c": ["d", "e"], "f": []},
            "maxProperties": 3,
        },
        [{}, {"b": 1, "a": 2}, {"d": 1}, {"e": 1, "c": 2, "d": 3}, {"f": 1}],
        [{"a": 1}, {"b": 1}, {"c": 1, "d": 1}, {"a": 1, "b": 1, "c": 1, "d": 1, "e": 1}, {"a": "x", "b": 1}],
    ),
    "dependentSchemas closes a name": Case(
        {
            "properties": {"a": {}, "c": {"type": "integer"}},
            "additionalProperties": False,
            "dependentSchemas": {"a": {"required": ["b"]}, "c": {"properties": {"c": {"minimum": 2}}}},
        },
        [{}, {"c": 2}, {"c": 3}, 7, []],
        [{"a": 1}, {"c": 1}, {"a": 1, "c": 2}, {"b": 1}],
    ),
    "dependencies of draft 07": Case(
        {
            "$schema": D7,
            "type": "object",
            "dependencies": {
                "a": ["b"],
                "b": {"properties": {"c": {"type": "string"}}, "minProperties": 2},
                "z": False,
            },
        },
        [{}, {"a": 1, "b": 2}, {"b": 1, "c": ""}, {"c": 1}],
        [{"a": 1}, {"b": 1}, {"b": 1, "c": 1}, {"z": 1}],
    ),
    "tuples and definitions of draft 07": Case(
        {
            "$schema": D7,
            "definitions": {"flag": {"type": "boolean"}},
            "type": "array",
            "items": [{"type": "integer"}, {"$ref": "#/definitions/flag"}],
            "additionalItems": {"oneOf": [{"$ref": "#/definitions/flag"}, {"enum": [None, True]}]},
        },
        [[], [1], [1, True], [1, False, False, None]],
        [[True], [1, None], [1, True, True], [1, True, 1], {}],
    ),
    # names by pattern
    "patternProperties overlap": Case(
        {
            "type": "object",
            "properties": {"foo": {"type": "string"}, "bar": {"type": "integer"}},
            "patternProperties": {"^f": {"maxLength": 2}, "o$": {"minLength": 1, "maximum": 9}, "r": {"minimum": 5}},
            "additionalProperties": {"type": "boolean"},
        },
        [{"foo": "ab"}, {"fx": 1}, {"fo": 9}, {"g": True}, {"bar": 5, "ro": 7}, {"f": "", "o": "abc"}],
        [{"foo": "abc"}, {"foo": ""}, {"fo": 10}, {"g": 1}, {"bar": 4}, {"ro": 4}, {"fx": "abc"}, {"xo": ""}],
    ),
    "patternProperties closed": Case(
        {
            "type": "object",
            "patternProperties": {"^x-": {"type": "string"}, "^[0-9]+$": {"type": "integer"}},
            "additionalProperties": False,
            "minProperties": 1,
            "maxProperties": 2,
        },
        [{"x-a": ""}, {"7": 1}, {"x-": "b", "007": 0}],
        [{}, {"x": ""}, {"7": ""}, {"7a": 1}, {"1": 1, "2": 2, "3": 3}],
    ),
    "patternProperties false": Case(
        {"type": "object", "patternProperties": {"^x": False, "": {"type": "integer"}}, "required": ["y"]},
        [{"y": 1}, {"y": 1, "": 2, "ax": 3}],
        [{}, {"y": 1, "x": 1}, {"y": None}, {"y": 1, "a": "b"}],
    ),
    "propertyNames": Case(
        {
            "type": "object",
            "propertyNames": {"pattern": "^[a-z]+$", "minLength": 2, "maxLength": 4},
            "properties": {"ab": {"type": "integer"}, "a": {}, "abcde": {}},
            "required": ["ab"],
        },
        [{"ab": 1}, {"zzzz": None, "ab": 0}],
        [{}, {"ab": 1, "a": 1}, {"ab": 1, "abcde": 1}, {"ab": 1, "AB": 2}, {"ab": ""}],
    ),
    "names run out": Case(
        {
            "type": "object",
            "propertyNames": {"enum": ["a", "ab", "b\n"]},
            "additionalProperties": {"type": "integer"},
            "minProperties": 2,
        },
        [{"a": 1, "ab": 2}, {"b\n": 0, "a": 1}, {"ab": 1, "b\n": 2, "a": 3}],
        [{}, {"a": 1}, {"a": 1, "c": 2}, {"a": 1, "ab": ""}],
    ),
    "names of a finite pattern run out": Case(
        {
            "type": "object",
            "patternProperties": {"^[pq][01]?$": {"type": "null"}},
            "additionalProperties": False,
            "properties": {"p": {"type": "boolean"}},
            "not": {"required": ["q"]},
            "minProperties": 4,
        },
        [{"p0": None, "p1": None, "q0": None, "q1": None}],
        [{}, {"p0": None, "p1": None, "q0": None, "q": None}, {"p": None, "p0": None, "p1": None, "q0": None}],
    ),
    "a member of any other name": Case(
        {"type": "object", "properties": {"a": {}}, "not": {"additionalProperties": False}, "minProperties": 3},
        [{"a": 1, "b": 2, "c": 3}, {"": 1, "x": None, "y": []}],
        [{}, {"a": 1}, {"b": 1, "c": 2}],
    ),
    "names of a branch or any": Case(
        {"oneOf": [{"type": "object", "maxProperties": 3, "propertyNames": {"minLength": 3}}, {}]},
        [1, [], {"a": 1}, {"abc": 1, "ab": 2}, {"abc": 1, "bcd": 2, "cde": 3, "def": 4}],
        [{}, {"abc": 1}, {"abc": 1, "bcd": 2, "cde": 3}],
    ),
    "long names only": Case(
        {
            "type": "object",
            "propertyNames": {"not": {"enum": ["id", "name"]}, "maxLength": 5},
            "additionalProperties": {"type": ["integer", "string"], "maxLength": 1},
        },
        [{}, {"i": 1}, {"ids": "", "nam": 2}, {"names": 3}],
        [{"id": 1}, {"name": 1}, {"named1": 1}, {"x": None}],
    ),
    # unevaluated
    "unevaluatedProperties with anyOf": Case(
        {
            "type": "object",
            "anyOf": [
                {"properties": {"a": {"const": 1}}, "required": ["a"]},
                {"properties": {"b": {"const": 2}}, "required": ["b"]},
            ],
            "unevaluatedProperties": False,
        },
        [{"a": 1}, {"b": 2}, {"b": 2, "a": 1}],
        [{}, {"a": 1, "b": 3}, {"a": 1, "c": 1}, {"b": 2, "a": 2}],
    ),
    "unevaluatedProperties with if": Case(
        {
            "type": "object",
            "if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
            "then": {"properties": {"b": {"type": "integer"}}},
            "else": {"properties": {"c": {"type": "string"}}},
            "unevaluatedProperties": {"type": "null"},
        },
        [{"a": 1, "b": 2}, {"c": "x"}, {"a": None}, {"b": None, "c": ""}, {"a": 1, "c": None}, {}],
        [{"a": 2}, {"a": 1, "b": ""}, {"b": 2}, {"a": 1, "c": "x"}, {"c": 1}],
    ),
    "unevaluatedProperties through references": Case(
        {
            "$ref": "#/$defs/base",
            "properties": {"b": {"type": "integer"}},
            "unevaluatedProperties": False,
            "$defs": {
                "base": {
                    "type": "object",
                    "properties": {"a": {"type": "string"}},
                    "patternProperties": {"^x": {}},
                    "dependentSchemas": {"a": {"properties": {"c": {}}}},
                }
            },
        },
        [{}, {"a": "", "b": 1}, {"x1": 1}, {"a": "", "c": 1}, {"c": 1, "a": ""}],
        [{"c": 1}, {"d": 1}, {"a": 1}, {"b": ""}, []],
    ),
    "unevaluatedItems": Case(
        {
            "type": "array",
            "prefixItems": [{"type": "string"}],
            "anyOf": [{"prefixItems": [True, {"type": "integer"}]}, {"minItems": 3}],
            "unevaluatedItems": {"type": "null"},
        },
        [[], ["a"], ["a", 1], ["a", None, None], ["a", 1, None]],
        [[1], ["a", "b"], ["a", "b", None], ["a", 1, 2]],
    ),
    "unevaluatedItems and contains": Case(
        {"type": "array", "contains": {"type": "string"}, "unevaluatedItems": False},
        [["a"], ["a", "b"]],
        [[], [1], ["a", 1], [1, "a"]],
    ),
    "tuple of draft 2019-09": Case(
        {
            "$schema": D19,
            "type": "array",
            "items": [{"type": "integer"}, {"type": "boolean"}],
            "allOf": [{"items": [True, True, {"type": "string"}]}],
            "unevaluatedItems": False,
        },
        [[], [1], [1, True], [1, True, "x"]],
        [["x"], [1, True, 2], [1, True, "x", None]],
    ),
    # contains
    "contains": Case(
        {"type": "array", "items": {"type": ["integer", "string"]}, "contains": {"type": "string", "maxLength": 2}},
        [["a"], [1, "ab"], ["abc", "a"]],
        [[], [1], ["abc"], [None, "a"]],
    ),
    "contains with bounds": Case(
        {"type": "array", "contains": {"minimum": 5}, "minContains": 2, "maxContains": 3, "maxItems": 5},
        [[5, 6], ["x", 5, 1], [1, 5, 6, 7, 2], [None, True]],
        [[5], [1, 2], [5, 5, 5, 5], [1, 1, 1, 1, 5, 5]],
    ),
    "contains none": Case(
        {"type": "array", "contains": {"const": 0}, "minContains": 0, "maxContains": 1, "minItems": 1},
        [[0], [1], [1, 0, 2]],
        [[], [0, 0], [0, 1, 0]],
    ),
    "two contains": Case(
        {
            "type": "array",
            "allOf": [{"contains": {"type": "integer"}}, {"contains": {"multipleOf": 2, "type": "number"}}],
            "maxItems": 2,
            "prefixItems": [{"type": ["number", "null"]}],
        },
        [[2], [1, 4], [None, 0], [2, "x"]],
        [[], [1], [1, 3], [None, "x"], [2, 3, 4]],
    ),
    # uniqueItems
    "unique strings": Case(
        {"type": "array", "items": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 3}, "uniqueItems": True},
        [[], ["a"], ["a", "ab", "abc", "b"]],
        [["a", "a"], ["a", "b", "a"], ["A"], ["abcd"]],
    ),
    "unique enum": Case(
        {"type": "array", "items": {"enum": ["x", "xy", 1, None, True]}, "uniqueItems": True, "minItems": 3},
        [["x", "xy", 1], [None, True, 1, "x", "xy"]],
        [[], ["x", "xy"], ["x", "xy", "x"], [1, 1, None], ["x", "xy", 1, 2]],
    ),
    "unique booleans": Case(
        {"type": "array", "items": {"type": "boolean"}, "uniqueItems": True, "minItems": 1},
        [[True], [False, True]],
        [[], [True, True], [False, True, False]],
    ),
    "unique items of a tuple": Case(
        {
            "type": "array",
            "prefixItems": [{"enum": ["a", "b"]}, {"enum": ["b", "c", 1]}],
            "items": {"type": "integer", "minimum": 0, "maximum": 3},
            "uniqueItems": True,
            "contains": {"type": "integer"},
            "minContains": 2,
        },
        [["a", 1, 2], ["b", "c", 3, 0], ["a", "b", 1, 0, 2, 3]],
        [[], ["a", "b", 1], ["b", "b", 1, 2], ["a", 1, 1], ["a", 1, 2, 4], ["b", "c", 2, 2]],
    ),
    "unique anything": Case(
        {"type": "array", "uniqueItems": True},
        [[], [1, True, "1", [1], {"1": 1}], [[], {}, [[]]], [0, -1, 10, 1]],
        [[1, 1.0], [{"a": 1, "b": [2]}, 0, {"b": [2.0], "a": 1}], [[], 1, []], ["é", "é"], [0, -0.0]],
    ),
    "unique objects": Case(
        {
            "type": "array",
            "items": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
            "uniqueItems": True,
            "minItems": 2,
        },
        [[{"id": 1}, {"id": 2}], [{"id": 1}, {"id": 1, "x": None}, {"id": 1, "x": 0}]],
        [[{"id": 1}], [{"id": 1}, {"id": 1}], [{"id": 1, "x": 2}, {"x": 2, "id": 1}], [{"id": 1}, {}]],
    ),
    "unique objects of which there are four": Case(
        {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"a": {"type": "boolean"}, "b": {"const": 0}},
                "required": ["a"],
                "additionalProperties": False,
            },
            "uniqueItems": True,
            "minItems": 3,
        },
        [
            [{"a": True}, {"a": False}, {"b": 0, "a": True}],
            [{"a": x, **y} for x in (True, False) for y in ({}, {"b": 0})],
        ],
        [[{"a": True}, {"a": False}], [{"a": True}, {"a": False}, {"a": True}], [{"a": 0}] * 3],
    ),
    "unique numbers of a range": Case(
        {
            "type": "array",
            "items": {"type": "integer", "minimum": 0, "maximum": 11},
            "uniqueItems": True,
            "minItems": 10,
        },
        [list(range(12)), list(range(11, 1, -1))],
        [list(range(9)), [*range(10), 3], [*range(12), 12]],
    ),
    "unique in unique": Case(
        {
            "type": "array",
            "items": {"type": "array", "items": {"type": ["integer", "string"]}, "uniqueItems": True, "maxItems": 2},
            "uniqueItems": True,
        },
        [[[], [1], [1, 2], [2, 1]], [["a", "b"], ["b", "a"], ["a"]]],
        [[[1, 1]], [[1, 2], [], [1, 2]], [[], []], [["a"], ["a"]]],
    ),
    "unique or of one type": Case(
        {"anyOf": [{"type": "array", "uniqueItems": True}, {"type": "array", "items": {"type": "integer"}}]},
        [[1, 1, 1], ["a", 1, "b"], [], [2, 2]],
        [["a", "a"], ["a", 1, 1], [1, 1, "a"]],
    ),
    "unique and counted": Case(
        {
            "type": "array",
            "items": {"type": ["integer", "array"], "maxItems": 1, "items": {"type": "null"}},
            "contains": {"enum": [1, 2, []]},
            "minContains": 3,
            "maxItems": 4,
            "uniqueItems": True,
        },
        [[1, 2, []], [[], 7, 2, 1], [1, [None], 2, []]],
        [[1, 2], [1, 2, 2], [1, 2, [], []], [1, 3, 4, []], []],
    ),
    "unique tuple that keeps a value back": Case(
        {
            "type": "array",
            "prefixItems": [{"type": ["integer", "array"]}, {"type": "integer"}, {"const": 1}],
            "minItems": 3,
            "uniqueItems": True,
        },
        [[2, 3, 1], [[], 0, 1, "x"]],
        [[1, 2, 1], [2, 1, 1], [2, 2, 1], [2, 3]],
    ),
    # formats
    "format date-time": Case(
        {"type": "string", "format": "date-time"},
        ["2024-02-29T23:59:59Z", "1999-12-31t00:00:00.125+05:30", "2016-12-31T23:59:60Z"],
        ["2023-02-29T00:00:00Z", "2024-01-01", "2024-01-01T24:00:00Z", "2024-01-01T00:00:00", ""],
    ),
    "formats of one object": Case(
        {
            "type": "object",
            "properties": {
                "day": {"type": "string", "format": "date"},
                "mail": {"type": "string", "format": "email", "maxLength": 12},
                "host": {"format": "hostname"},
                "ip": {"format": "ipv4"},
                "id": {"type": "string", "format": "uuid"},
                "at": {"anyOf": [{"type": "string", "format": "uri"}, {"type": "null"}]},
            },
            "additionalProperties": {"format": "no-such-format", "type": "string"},
        },
        [
            {},
            {"day": "2000-02-29", "mail": "a.b@c.de", "host": "a-b.example", "ip": "10.0.255.1"},
            {"id": "123e4567-E89b-12d3-a456-426614174000", "at": "https://a.example/x?y#z", "zz": "any"},
            {"host": 5, "ip": None, "at": None},
        ],
        [
            {"day": "1900-02-29"},
            {"mail": "a.b@example.de"},
            {"mail": "a"},
            {"host": "-a"},
            {"ip": "1.2.3.04"},
            {"ip": "1.2.3.256"},
            {"id": "123e4567e89b12d3a456426614174000"},
            {"at": "/relative"},
            {"zz": 1},
        ],
    ),
    "format beside pattern": Case(
        {"type": "string", "format": "date", "pattern": "^20[0-9]{2}-0?2"},
        ["2024-02-29", "2000-02-01"],
        ["2023-02-29", "2024-03-01", "1999-02-01", "2024-2-01"],
    ),
    "no format": Case(
        {"type": "string", "maxLength": 8, "not": {"format": "ipv4"}},
        ["", "1.2.3", "01.2.3.4"],
        ["1.2.3.4", "0.0.0.0", 5],
    ),
    # patterns that look around
    "lookaround": Case(
        {"type": "string", "pattern": "^(?!.*--)(?=.*[0-9])[a-z0-9-]{3,8}(?<!-)$"},
        ["ab1", "a-1-b", "0000"],
        ["abc", "a1", "a--1", "ab1-", "A11"],
    ),
    # nullable, recursion
    "nullable through anyOf": Case(
        {
            "type": "object",
            "properties": {
                "a": {"anyOf": [{"$ref": "#/$defs/t"}, {"type": "null"}]},
                "b": {"oneOf": [{"$ref": "#/$defs/t"}, {"type": "null"}]},
            },
            "required": ["a"],
            "$defs": {
                "t": {
                    "type": "object",
                    "properties": {"n": {"type": ["integer", "null"]}},
                    "required": ["n"],
                    "additionalProperties": False,
                }
            },
        },
        [{"a": None}, {"a": {"n": None}, "b": None}, {"b": {"n": 1}, "a": {"n": 2}}],
        [{}, {"a": {}}, {"a": None, "b": 0}, {"a": {"n": ""}}],
    ),
    "recursion through allOf": Case(
        {
            "$defs": {
                "node": {
                    "allOf": [
                        {"type": "object", "required": ["v"], "properties": {"v": {"type": "integer"}}},
                        {
                            "properties": {
                                "next": {"allOf": [{"$ref": "#/$defs/node"}, {"properties": {"v": {"minimum": 2}}}]}
                            }
                        },
                    ]
                }
            },
            "$ref": "#/$defs/node",
        },
        [{"v": 0}, {"v": 0, "next": {"v": 2}}, {"next": {"next": {"v": 3}, "v": 2}, "v": -1, "w": {}}],
        [{}, {"v": 0, "next": {"v": 1}}, {"v": 0, "next": {}}, {"v": 0, "next": {"v": 2, "next": {"v": 1}}}],
    ),
    "recursion through oneOf": Case(
        {
            "$defs": {
                "e": {
                    "oneOf": [
                        {"type": "integer"},
                        {
                            "type": "object",
                            "properties": {"l": {"$ref": "#/$defs/e"}, "op": {"const": "-"}},
                            "required": ["op", "l"],
                            "maxProperties": 2,
                        },
                        {
                            "type": "object",
                            "properties": {"l": {"$ref": "#/$defs/e"}, "r": {"$ref": "#/$defs/e"}},
                            "required": ["l", "r"],
                        },
                    ]
                }
            },
            "$ref": "#/$defs/e",
        },
        [1, {"op": "-", "l": 1}, {"l": {"op": "-", "l": 2}, "r": 3}, {"r": 0, "op": "+", "l": {"l": 1, "r": 1}}],
        [None, {}, {"l": 1}, {"op": "+", "l": 1}, {"l": 1, "r": None}, {"l": {"l": 0}, "r": 1}],
    ),
    "recursion through not": Case(
        {
            "type": "object",
            "properties": {"c": {"type": ["object", "integer"], "not": {"$ref": "#"}}},
            "additionalProperties": False,
            "required": ["c"],
        },
        [{"c": 1}, {"c": {}}, {"c": {"d": 1}}, {"c": {"c": None}}, {"c": {"c": {"c": 0}}}],
        [{}, {"c": {"c": 1}}, {"c": None}, {"c": {"c": {}}}, {"c": 1, "d": 1}],
    ),
    "recursion through dependencies and items": Case(
        {
            "type": "object",
            "properties": {"kids": {"type": "array", "items": {"$ref": "#"}, "contains": {"required": ["leaf"]}}},
            "patternProperties": {"^leaf$": {"const": True}},
            "dependentSchemas": {"kids": {"not": {"required": ["leaf"]}}},
            "minProperties": 1,
            "unevaluatedProperties": False,
        },
        [{"leaf": True}, {"kids": [{"leaf": True}]}, {"kids": [{"kids": [{"leaf": True}]}, {"leaf": True}]}],
        [{}, {"leaf": False}, {"kids": []}, {"kids": [{"leaf": True}], "leaf": True}, {"kids": [{}]}, {"x": 1}],
    ),
}
"""The cases by name."""
