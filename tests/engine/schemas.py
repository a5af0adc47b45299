"""Schemas written for the engine's law tests, each with values that are valid and values that are not.

Here are single keywords and the combinations that have broken other engines: siblings of
`anyOf`, open alternatives told apart late, required names nobody declares, shared prefixes of enum members, lengths
beside patterns, names and strings that need escapes. The verdicts are checked against two validators in `test_cases`.
"""

from __future__ import annotations

from tests.engine.case import Case
from tests.engine.combined_schemas import COMBINED
from tests.engine.text_schemas import TEXTS

ADDRESS = {
    "type": "object",
    "properties": {
        "street": {"type": "string", "minLength": 1},
        "zip": {"type": "string", "pattern": "^[0-9]{5}$"},
        "country": {"enum": ["DE", "DK", "FR", "France"]},
    },
    "required": ["street", "zip"],
    "additionalProperties": False,
}

TREE = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "value": {"type": "integer", "minimum": -10, "maximum": 10},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 3},
            },
            "required": ["value"],
            "additionalProperties": False,
        }
    },
}

BASIC: dict[str, Case] = {
    "anything": Case(True, [None, {}, [], "x", 0, -1.5e-7, {"a": [{"": None}, [1, [2]]]}, "é😀\n"]),
    "empty schema": Case({}, [None, {"k": {"k": []}}, "\\", 1e22]),
    "null": Case({"type": "null"}, [None], [0, "null", {}]),
    "boolean": Case({"type": "boolean"}, [True, False], [0, None, "true"]),
    "integer": Case({"type": "integer"}, [0, -7, 10**30], [1.5, "1", None]),
    "number": Case({"type": "number"}, [0, -7, 0.25, -1.5e-9, 12345678901234567890], ["0", None, True]),
    "string": Case({"type": "string"}, ["", "a", '"\\/\b\f\n\r\t', "é", "😀", "\u0001\u007f"], [None, 1]),
    "nullable types": Case({"type": ["string", "null"]}, [None, "", "null"], [0, [], {}]),
    "scalar types": Case({"type": ["integer", "boolean"]}, [1, True], ["", None, 0.5]),
    "closed address": Case(
        ADDRESS,
        [{"street": "a", "zip": "12345"}, {"zip": "00000", "country": "France", "street": 'x"y'}],
        [{}, {"street": "", "zip": "12345"}, {"street": "a", "zip": "1234"}, {"street": "a", "zip": "12345", "q": 1}],
    ),
    "open object": Case(
        {
            "type": "object",
            "properties": {"id": {"type": "integer"}, "idx": {"type": "string"}, "i": {"type": "boolean"}},
            "required": ["id"],
        },
        [{"id": 1}, {"idx": "s", "other": [1, {}], "id": 0}, {"id": 3, "i": True, "ident": None, "": {}}],
        [{}, {"idx": "s"}, {"id": "1"}, {"id": 1, "i": 0}, []],
    ),
    "required undeclared": Case(
        {"type": "object", "required": ["ghost", "spook"], "properties": {"a": {"type": "integer"}}},
        [{"ghost": 1, "spook": None}, {"spook": [], "x": 1, "ghost": {}, "a": 3}],
        [{}, {"ghost": 1}, {"ghost": 1, "spook": 2, "a": "x"}],
    ),
    "required under additionalProperties": Case(
        {"type": "object", "required": ["b", "c"], "additionalProperties": {"type": "boolean"}},
        [{"b": True, "c": False}, {"c": True, "z": False, "b": True}],
        [{"b": True}, {"b": True, "c": 1}, {"b": True, "c": True, "d": None}],
    ),
    "string map": Case(
        {"type": "object", "additionalProperties": {"type": "string", "maxLength": 4}, "minProperties": 1},
        [{"a": ""}, {"a": "abcd", "é": "😀"}],
        [{}, {"a": "abcde"}, {"a": 1}],
    ),
    "property counts": Case(
        {
            "type": "object",
            "properties": {"a": {"type": "null"}, "b": {"type": "null"}, "c": {"type": "null"}},
            "minProperties": 2,
            "maxProperties": 3,
        },
        [{"a": None, "b": None}, {"c": None, "x": 1, "a": None}, {"x": 1, "y": 2}],
        [{}, {"a": None}, {"a": None, "b": None, "c": None, "d": 0}],
    ),
    "property counts and required": Case(
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}, "c": {"type": "integer"}},
            "required": ["c"],
            "maxProperties": 2,
            "additionalProperties": False,
        },
        [{"c": 1}, {"a": 1, "c": 1}, {"c": 1, "b": 2}],
        [{"a": 1, "b": 1}, {"a": 1, "b": 1, "c": 1}, {}],
    ),
    "names with a common start": Case(
        {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "names": {"type": "array", "items": {"type": "string"}},
                "name_": {"type": "null"},
                "n": {"type": "integer"},
            },
            "required": ["name", "names"],
            "additionalProperties": {"type": "integer"},
        },
        [{"names": ["a"], "name": "b"}, {"name": "", "names": [], "nam": 3, "namest": 4, "n": 0, "name_": None}],
        [{"name": "", "names": [], "nam": "x"}, {"name": [], "names": []}, {"names": []}],
    ),
    "names that need escapes": Case(
        {
            "type": "object",
            "properties": {
                'say "hi"': {"type": "integer"},
                "back\\slash": {"type": "integer"},
                "tab\there": {"type": "integer"},
                "": {"type": "integer"},
                "ключ": {"type": "integer"},
                "😀": {"type": "integer"},
                "a/b": {"type": "integer"},
            },
            "required": ["", "ключ"],
            "additionalProperties": False,
        },
        [{"": 1, "ключ": 2}, {"ключ": 2, 'say "hi"': 1, "back\\slash": 2, "tab\there": 3, "": 4, "😀": 5, "a/b": 6}],
        [{"": 1}, {"ключ": 1}, {"": 1, "ключ": 2, " ": 3}, {"": "", "ключ": 2}],
    ),
    "bounded array": Case(
        {"type": "array", "items": {"type": "string", "maxLength": 3}, "minItems": 2, "maxItems": 4},
        [["a", "b"], ["", "", "", "abc"]],
        [[], ["a"], ["a", "b", "c", "d", "e"], ["a", "abcd"], ["a", 1]],
    ),
    "array without items": Case(
        {"type": "array", "maxItems": 2}, [[], [1, {"a": 1}], [[], [[]]]], [[1, 2, 3], None, {}]
    ),
    "long array": Case(
        {"type": "array", "items": {"type": "integer"}, "minItems": 3, "maxItems": 5000},
        [[1, 2, 3], list(range(60))],
        [[], [1, 2], [1, 2, "3"]],
    ),
    "tuple": Case(
        {
            "type": "array",
            "prefixItems": [{"type": "string"}, {"type": "integer"}, {"type": "null"}],
            "items": {"type": "boolean"},
            "minItems": 1,
            "maxItems": 5,
        },
        [["a"], ["a", 1], ["a", 1, None, True, False]],
        [[], [1], ["a", "b"], ["a", 1, None, 3], ["a", 1, None, True, True, True]],
    ),
    "closed tuple": Case(
        {"type": "array", "prefixItems": [{"const": "x"}, {"enum": [1, 2, 12]}], "items": False, "minItems": 2},
        [["x", 1], ["x", 12]],
        [["x"], ["x", 3], ["x", 1, 1], ["y", 1]],
    ),
    "false in a tuple": Case(
        {"type": "array", "prefixItems": [{"type": "string"}, False]}, [[], ["a"]], [["a", 1], [1]]
    ),
    "enum of strings": Case(
        {"enum": ["in", "inch", "inches", "in\nch", "", "zoll", "Zöll", "日本", "日"]},
        ["in", "inch", "inches", "in\nch", "", "zoll", "Zöll", "日本", "日"],
        ["i", "inc", "zol", "日本語", None],
    ),
    "enum of everything": Case(
        {"enum": [1, 12, -3, 0.5, None, True, "1", "true", [1, "x", []], {"k": 2, "l": [None]}, {}]},
        [1, 12, -3, 0.5, None, True, "1", "true", [1, "x", []], {"l": [None], "k": 2}, {}],
        [2, 123, False, "null", [], [1, "x"], {"k": 2}, {"k": 2, "l": [None], "m": 1}],
    ),
    "enum under a type": Case(
        {"type": ["string", "null"], "enum": ["a", 1, None, True]}, ["a", None], [1, True, "b", False]
    ),
    "const object": Case(
        {"const": {"a": [1, {"b": None}], "é": "\\"}},
        [{"a": [1, {"b": None}], "é": "\\"}, {"é": "\\", "a": [1, {"b": None}]}],
        [{"a": [1, {"b": None}]}, {"a": [1, {}], "é": "\\"}],
    ),
    "const in properties": Case(
        {
            "type": "object",
            "properties": {"op": {"const": "add"}, "args": {"const": [1, 2]}},
            "required": ["op", "args"],
            "additionalProperties": False,
        },
        [{"op": "add", "args": [1, 2]}, {"args": [1, 2], "op": "add"}],
        [{"op": "add"}, {"op": "add", "args": [2, 1]}],
    ),
    "integer bounds": Case(
        {"type": "integer", "minimum": -12, "maximum": 105}, [-12, -1, 0, 9, 100, 105], [-13, 106, 1000, -105, 0.5]
    ),
    "integer exclusive bounds": Case(
        {"type": "integer", "exclusiveMinimum": 9, "exclusiveMaximum": 2000}, [10, 99, 1999], [9, 2000, 1, -10]
    ),
    "number bounds": Case(
        {"type": "number", "minimum": -2.5, "exclusiveMaximum": 10},
        [-2.5, 0, 9.99, -0.125, 9.999999],
        [-2.51, 10, 10.0, -3, 100],
    ),
    "multiple of integer": Case(
        {"type": "integer", "multipleOf": 7, "minimum": 0, "maximum": 200}, [0, 7, 14, 196], [1, 203, -7, 15]
    ),
    "multiple of decimal": Case(
        {"type": "number", "multipleOf": 0.01, "minimum": 0}, [0, 0.07, 4.35, 17.99, 3], [0.075, -0.01, 0.001]
    ),
    "pattern": Case({"type": "string", "pattern": "^[a-z]+(-[a-z]+)*$"}, ["a", "ab-cd-e"], ["", "-", "a-", "A", "a b"]),
    "pattern found anywhere": Case({"type": "string", "pattern": "[0-9]{2}"}, ["12", "x123y"], ["", "1", "1x2"]),
    "pattern and length": Case(
        {"type": "string", "pattern": "^(ab)*c?$", "minLength": 3, "maxLength": 6},
        ["abab", "abc", "ababc", "ababab"],
        ["", "ab", "abababc", "abcab"],
    ),
    "lengths in code points": Case(
        {"type": "string", "minLength": 2, "maxLength": 3}, ["ab", "é😀", "😀😀😀", "\n\t"], ["a", "😀", "abcd", "éééé"]
    ),
    "huge maxLength": Case(
        {"type": "string", "maxLength": 1_000_000, "minLength": 1}, ["x", "y" * 3000, "é" * 100], ["", None]
    ),
    "unicode pattern": Case(
        {"type": "string", "pattern": "^[α-ω]{1,3}[\\u00e9!]?$"}, ["α", "ωω", "αβγé", "α!"], ["", "a", "é", "αβγδ"]
    ),
    "anyOf scalars": Case(
        {"anyOf": [{"type": "integer", "minimum": 5}, {"type": "string", "maxLength": 2}, {"const": 3}]},
        [5, 3, "", "ab"],
        [4, "abc", None],
    ),
    "anyOf overlapping strings": Case(
        {"anyOf": [{"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "z$"}, {"enum": ["mid", "m"]}]},
        ["a", "abc", "z", "az", "xz", "mid", "m"],
        ["", "mi", "zb", "midd"],
    ),
    "anyOf with siblings": Case(
        {
            "type": "object",
            "properties": {"mode": {"enum": ["on", "off"]}, "level": {"type": "integer"}},
            "additionalProperties": False,
            "anyOf": [{"required": ["mode"]}, {"required": ["level"]}],
        },
        [{"mode": "on"}, {"level": 3}, {"mode": "off", "level": 1}],
        [{}, {"mode": "dim"}, {"mode": "on", "other": 1}, {"other": 1}],
    ),
    "anyOf open objects, discriminator late": Case(
        {
            "type": "object",
            "anyOf": [
                {
                    "properties": {"size": {"type": "integer"}, "kind": {"const": "box"}},
                    "required": ["size", "kind"],
                },
                {
                    "properties": {"size": {"type": "string"}, "kind": {"const": "bag"}},
                    "required": ["kind"],
                },
                {
                    "properties": {"size": {"type": ["integer", "null"]}, "kind": {"enum": ["bowl", "box"]}},
                    "required": ["kind", "depth"],
                },
            ],
        },
        [
            {"size": 1, "kind": "box"},
            {"kind": "bag", "size": "x"},
            {"kind": "bag"},
            {"size": None, "depth": 1, "kind": "box"},
            {"extra": {}, "kind": "bowl", "depth": []},
        ],
        [{"size": "x", "kind": "box"}, {"kind": "box"}, {"size": None, "kind": "box"}, {"kind": "bowl"}, {}],
    ),
    "anyOf closed objects": Case(
        {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {"a": {"type": "integer"}, "ab": {"type": "null"}},
                    "required": ["a"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "abc": {"type": "null"}},
                    "required": ["a", "abc"],
                    "additionalProperties": False,
                },
            ]
        },
        [{"a": 1}, {"ab": None, "a": 2}, {"abc": None, "a": ""}],
        [{"a": ""}, {"a": 1, "abc": None}, {"ab": None, "a": "", "abc": None}, {}],
    ),
    "anyOf arrays and object": Case(
        {
            "anyOf": [
                {"type": "array", "items": {"type": "integer"}, "minItems": 2},
                {"type": "array", "items": {"type": ["string", "integer"]}, "maxItems": 1},
                {"type": "object", "additionalProperties": {"type": "integer"}},
                {"type": "null"},
            ]
        },
        [[], ["a"], [1], [1, 2, 3], {}, {"a": 1}, None],
        [["a", "b"], [1, "b"], {"a": "1"}, 5],
    ),
    "nested anyOf": Case(
        {
            "type": "object",
            "properties": {
                "v": {
                    "anyOf": [
                        {"type": "null"},
                        {"anyOf": [{"type": "object", "required": ["x"]}, {"type": "object", "maxProperties": 0}]},
                    ]
                }
            },
            "required": ["v"],
        },
        [{"v": None}, {"v": {}}, {"v": {"y": 1, "x": 2}}, {"v": None, "w": 1}],
        [{"v": {"y": 1}}, {"v": 1}, {}],
    ),
    "untyped keywords": Case(
        {"properties": {"a": {"minimum": 3}}, "required": ["a"], "minLength": 2, "maxItems": 1, "multipleOf": 2},
        [{"a": 3}, {"a": "x"}, "ab", [1], 4, None, True],
        [{}, {"a": 2}, "a", [1, 2], 3],
    ),
    "recursive tree": Case(
        TREE,
        [{"value": 1}, {"children": [{"value": -10, "children": []}, {"value": 0}], "value": 10}],
        [{}, {"value": 11}, {"value": 1, "children": [{}]}, {"value": 1, "children": [{"value": 1}] * 4}],
    ),
    "recursive list": Case(
        {
            "type": "object",
            "properties": {"head": {"type": "boolean"}, "tail": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
            "required": ["head", "tail"],
            "additionalProperties": False,
        },
        [{"head": True, "tail": None}, {"tail": {"head": False, "tail": None}, "head": True}],
        [{"head": True}, {"head": True, "tail": {}}, {"head": 1, "tail": None}],
    ),
    "recursion through alternatives": Case(
        {
            "$defs": {
                "expr": {
                    "anyOf": [
                        {"type": "number"},
                        {
                            "type": "array",
                            "prefixItems": [{"enum": ["+", "*"]}, {"$ref": "#/$defs/expr"}, {"$ref": "#/$defs/expr"}],
                            "minItems": 3,
                            "items": False,
                        },
                        {
                            "type": "array",
                            "prefixItems": [{"const": "-"}, {"$ref": "#/$defs/expr"}],
                            "minItems": 2,
                            "maxItems": 2,
                        },
                    ]
                }
            },
            "$ref": "#/$defs/expr",
        },
        [1, ["+", 1, 2], ["*", ["-", 0.5], ["+", 1, 1]]],
        [[], ["+", 1], ["-", 1, 2], ["+", 1, "2"], "x"],
    ),
    "impossible optional parts": Case(
        {
            "type": "object",
            "properties": {
                "never": False,
                "none": {"enum": []},
                "gap": {"type": "integer", "minimum": 4, "maximum": 5, "multipleOf": 3},
                "ok": {
                    "type": "array",
                    "items": {"type": "string", "pattern": "^(ab)*$", "minLength": 3, "maxLength": 3},
                },
            },
            "additionalProperties": False,
        },
        [{}, {"ok": []}],
        [{"never": 1}, {"none": ""}, {"gap": 4}, {"ok": ["aba"]}],
    ),
    "weather tool": Case(
        {
            "type": "object",
            "properties": {
                "city": {"type": "string", "minLength": 1, "description": "where"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit", "kelvin"], "default": "celsius"},
                "days": {"type": "integer", "minimum": 1, "maximum": 14},
                "at": {
                    "anyOf": [
                        {"type": "null"},
                        {
                            "type": "object",
                            "properties": {
                                "lat": {"type": "number", "minimum": -90, "maximum": 90},
                                "lon": {"type": "number", "minimum": -180, "maximum": 180},
                            },
                            "required": ["lat", "lon"],
                            "additionalProperties": False,
                        },
                    ]
                },
                "tags": {"type": "array", "items": {"type": "string", "pattern": "^#\\w+$"}, "maxItems": 3},
            },
            "required": ["city"],
            "additionalProperties": False,
        },
        [
            {"city": "Köln"},
            {"city": "Oslo", "unit": "kelvin", "days": 14, "at": {"lat": -33.5, "lon": 151.25}, "tags": ["#a", "#b_1"]},
            {"at": None, "city": "x"},
        ],
        [
            {},
            {"city": ""},
            {"city": "x", "days": 15},
            {"city": "x", "at": {"lat": 91, "lon": 0}},
            {"city": "x", "tags": ["a"]},
        ],
    ),
}

CASES: dict[str, Case] = BASIC | COMBINED | TEXTS
"""The cases by name."""
