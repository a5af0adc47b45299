"""Small schemas whose meaning is easily mistaken. Draft 2020-12 unless `$schema` says otherwise."""

from __future__ import annotations

import json
from typing import Any

import pytest

import constrain
from constrain.grammars.errors import UnsatisfiableSchemaError
from tests.oracles import accepts, attempt, compiled, finite, validators, verdict, vocabulary

D4 = "http://json-schema.org/draft-04/schema#"
D7 = "http://json-schema.org/draft-07/schema#"
D19 = "https://json-schema.org/draft/2019-09/schema"

# (name, schema, valid texts, invalid texts)
TRICKY: list[tuple[str, Any, list[str], list[str]]] = [
    (
        "closed conjuncts meet",
        {
            "allOf": [
                {"properties": {"a": {}}, "additionalProperties": False},
                {"properties": {"b": {}}, "additionalProperties": False},
            ]
        },
        ["{}", "5"],
        ['{"a":1}', '{"b":1}'],
    ),
    (
        "untyped branches admit other types",
        {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        ["5", '"x"', '{"a":1}', '{"a":1,"b":2}', "[]"],
        ["{}", '{"c":1}'],
    ),
    (
        "least fixpoint with a base case",
        {
            "$defs": {
                "t": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#/$defs/t"}, "minItems": 1}]}
            },
            "$ref": "#/$defs/t",
        },
        ["null", "[null]", "[[null],null]"],
        ["[[]]", "[]", "[null,[]]"],
    ),
    (
        "additionalProperties sees only its siblings",
        {"allOf": [{"properties": {"a": {}}}], "additionalProperties": False},
        ["{}"],
        ['{"a":1}'],
    ),
    ("enum equality by value", {"enum": [1, {"a": [2.0]}]}, ["1", '{"a":[2]}'], ["true", "2", '{"a":[3]}']),
    ("draft 04 integers are a spelling", {"$schema": D4, "type": "integer"}, ["1", "-7", "0"], ["1.0", "1e2", "1.5"]),
    (
        "decimals divide exactly",
        {"multipleOf": 0.01},
        ["0.07", "4.35", "17.99", "3", "-0.5", "0", '"x"'],
        ["0.075", "0.001", "17.995"],
    ),
    ("dollar is the very end", {"pattern": "^a$"}, ['"a"', "5"], ['"a\\n"', '"b"', '"ba"']),
    (
        "ECMA white space",
        {"pattern": "^\\s$"},
        ['"\ufeff"', '" "', '"\\t"', '"\\u00a0"'],
        ['"\\u0085"', '"a"', '"\\u001c"'],
    ),
    (
        "dot excludes line ends only",
        {"pattern": "^.$"},
        ['"a"', '"\\t"', '"\U0001f600"'],
        ['"\\n"', '"\\r"', '"\\u2028"', '""'],
    ),
    ("digits are ASCII", {"pattern": "^\\d$"}, ['"7"'], ['"\\u0665"', '"x"']),
    ("words are ASCII", {"pattern": "^\\w$"}, ['"_"', '"Z"'], ['"\u00e9"']),
    (
        "ref siblings ignored before 2019-09",
        {
            "$schema": D7,
            "definitions": {"s": {"type": "string"}},
            "properties": {"a": {"$ref": "#/definitions/s", "maxLength": 1}},
        },
        ['{"a":"long"}'],
        ['{"a":1}'],
    ),
    (
        "ref siblings apply from 2019-09",
        {
            "$schema": D19,
            "$defs": {"s": {"type": "string"}},
            "properties": {"a": {"$ref": "#/$defs/s", "maxLength": 1}},
        },
        ['{"a":"l"}', "{}"],
        ['{"a":"long"}', '{"a":1}'],
    ),
    (
        "a surrogate pair is one character",
        {"type": "string", "minLength": 2, "maxLength": 2},
        ['"\\ud83d\\ude00\\ud83d\\ude00"', '"\\u00e9\u00e9"', '"e\u0301"'],
        ['"\\ud83d\\ude00"', '"abc"'],
    ),
    (
        "false caps a tuple",
        {"type": "array", "prefixItems": [{"type": "string"}, False]},
        ["[]", '["a"]'],
        ['["a",1]', "[1]"],
    ),
    (
        "prefixItems does not force a length",
        {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
        ["[]", '["a"]', '["a",1,null]'],
        ["[1]", '["a","b"]'],
    ),
    (
        "array-valued items in draft 07",
        {
            "$schema": D7,
            "type": "array",
            "items": [{"type": "string"}, {"type": "integer"}],
            "additionalItems": {"type": "null"},
        },
        ["[]", '["a",1,null]'],
        ['["a",1,2]', "[1]"],
    ),
    (
        "additionalItems without a tuple is nothing",
        {"$schema": D7, "type": "array", "items": {"type": "integer"}, "additionalItems": False},
        ["[1,2,3]", "[]"],
        ['["a"]'],
    ),
    (
        "boolean exclusive bounds of draft 04",
        {
            "$schema": D4,
            "type": "integer",
            "minimum": 3,
            "exclusiveMinimum": True,
            "maximum": 9,
            "exclusiveMaximum": False,
        },
        ["4", "9"],
        ["3", "10"],
    ),
    ("const is unknown to draft 04", {"$schema": D4, "type": "integer", "const": 5}, ["4", "5"], ['"x"']),
    ("properties do not require", {"properties": {"a": {"type": "integer"}}}, ["{}", "[]", '{"b":"x"}'], ['{"a":"x"}']),
    (
        "required does not declare",
        {"type": "object", "required": ["a"], "additionalProperties": {"type": "integer"}},
        ['{"a":1}'],
        ['{"a":"x"}', "{}"],
    ),
    (
        "keywords of another type",
        {"type": "integer", "minLength": 3, "required": ["a"], "items": False},
        ["1"],
        ['"abc"'],
    ),
    (
        "true is not one, even inside",
        {"enum": [[False], {"k": 1}]},
        ["[false]", '{"k":1}'],
        ["[0]", '{"k":true}', "[null]"],
    ),
    ("zero has signs", {"const": 0}, ["0"], ["1", "false", '""']),
    (
        "an alternative is anchored on its own",
        {"type": "string", "pattern": "^cat|dog$"},
        ['"catalog"', '"hotdog"'],
        ['"cow"', '"a cat"', '"dogs"'],
    ),
    (
        "members after unescaping",
        {"type": "object", "properties": {"a/b~c": {"type": "integer"}}, "additionalProperties": False},
        ['{"a/b~c":1}', '{"a\\/b~c":1}', '{"\\u0061/b~c":1}'],
        ['{"a/b":1}'],
    ),
    (
        "pointer escapes in a reference",
        {"$defs": {"a/b~c d": {"type": "integer"}}, "items": {"$ref": "#/$defs/a~1b~0c%20d"}, "type": "array"},
        ["[1]", "[]"],
        ['["x"]'],
    ),
    (
        "a reference into properties",
        {
            "type": "object",
            "properties": {
                "x": {"type": "array", "prefixItems": [{"type": "null"}]},
                "y": {"$ref": "#/properties/x/prefixItems/0"},
            },
            "required": ["y"],
        },
        ['{"y":null}', '{"y":null,"x":[null,1]}'],
        ['{"y":1}', '{"y":null,"x":[1]}'],
    ),
    (
        "a property named $ref",
        {"type": "object", "properties": {"$ref": {"type": "string"}, "type": {"type": "null"}}, "required": ["$ref"]},
        ['{"$ref":"#/nowhere"}', '{"type":null,"$ref":""}'],
        ['{"$ref":1}', "{}"],
    ),
    ("empty pattern", {"type": "string", "pattern": ""}, ['""', '"x"'], ["1"]),
    ("beginning after the end", {"type": "string", "pattern": "^$[a-z]*$"}, ['""'], ['"a"']),
    (
        "astral class",
        {"type": "string", "pattern": "^[\U0001f600-\U0001f64f]$"},
        ['"\U0001f600"', '"\\ud83d\\ude00"'],
        ['"a"', '"\\ud83d"', '"\U0001f600\U0001f600"'],
    ),
    (
        "minProperties on an open object",
        {"type": "object", "properties": {"a": {}}, "minProperties": 1},
        ['{"a":1}', '{"z":1}'],
        ["{}"],
    ),
    (
        "big integers stay apart",
        {"type": "integer", "minimum": 9007199254740993, "maximum": 9007199254740993},
        ["9007199254740993"],
        ["9007199254740992", "9007199254740994"],
    ),
    (
        "nested base of references",
        {
            "$id": "http://x/a.json",
            "properties": {"p": {"$id": "b.json", "$defs": {"s": {"type": "string"}}, "$ref": "#/$defs/s"}},
            "$defs": {"s": {"type": "integer"}},
        },
        ['{"p":"x"}'],
        ['{"p":1}'],
    ),
    (
        "untyped branches of oneOf",
        {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        ['{"a":1}', '{"c":0,"b":1}'],
        ["5", "[]", '{"a":1,"b":2}', "{}"],
    ),
    ("a branch within another", {"oneOf": [{"type": "integer"}, {"type": "number"}]}, ["1.5", "-0.25"], ["1", "1.0"]),
    (
        "oneOf is a difference",
        {"oneOf": [{"type": "string"}, {"type": "string", "maxLength": 3}]},
        ['"abcd"'],
        ['"abc"', '""', "1"],
    ),
    (
        "other types satisfy every branch",
        {"oneOf": [{"multipleOf": 3}, {"multipleOf": 5}]},
        ["3", "10", "-9"],
        ["15", "7", '"x"', "0", "null"],
    ),
    (
        "a branch must be violated",
        {
            "type": "object",
            "oneOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {"type": "integer"}}}],
        },
        ['{"a":1}', '{"b":"x"}'],
        ["{}", '{"a":"x"}', '{"a":1,"b":"x"}'],
    ),
    (
        "a discriminator that may be absent",
        {
            "type": "object",
            "oneOf": [
                {"properties": {"k": {"const": "a"}, "x": {"type": "integer"}}},
                {"properties": {"k": {"const": "b"}, "x": {"type": "string"}}},
            ],
        },
        ['{"k":"a"}', '{"x":1}', '{"x":"s","k":"b"}'],
        ["{}", '{"x":null}', '{"k":"a","x":"s"}'],
    ),
    (
        "an absent property satisfies if",
        {"type": "object", "if": {"properties": {"k": {"const": "a"}}}, "then": {"required": ["x"]}},
        ['{"k":"b"}', '{"x":1}', '{"k":"a","x":1}'],
        ["{}", '{"k":"a"}'],
    ),
    (
        "if holds for other types",
        {"if": {"minLength": 5}, "then": {"maxLength": 3}},
        ['"abc"', '"abcd"', "7", "{}"],
        ['"abcdef"', '"abcde"'],
    ),
    (
        "then and else without if",
        {"then": False, "else": False},
        ["1", "{}"],
        [],
    ),
    (
        "the opposite of properties",
        {"not": {"properties": {"a": {"type": "string"}}}},
        ['{"a":1}', '{"b":"","a":null}'],
        ["{}", "3", '{"a":"s"}', '{"b":1}'],
    ),
    (
        "the opposite of items",
        {"type": "array", "not": {"items": {"type": "integer"}}},
        ['[1,"a"]', "[null]"],
        ["[]", "[1]", "[1,2]"],
    ),
    (
        "the opposite of closed",
        {"type": "object", "not": {"properties": {"a": {}}, "additionalProperties": False}},
        ['{"b":1}', '{"a":1,"b":1}'],
        ["{}", '{"a":1}'],
    ),
    (
        "contains what no item is",
        {"items": {"type": "integer"}, "contains": {"type": "string"}},
        ["5", "{}"],
        ["[]", "[1]", '["a"]'],
    ),
    (
        "a name both declared and matched",
        {
            "properties": {"foo": {"type": "string"}},
            "patternProperties": {"^f": {"maxLength": 2}},
            "additionalProperties": {"type": "integer"},
        },
        ['{"fx":1}', '{"g":1}', '{"foo":"ab"}', '{"fx":"ab"}'],
        ['{"foo":"abc"}', '{"foo":1}', '{"g":"a"}', '{"fx":"abc"}'],
    ),
    (
        "unevaluatedProperties sees through allOf",
        {"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False},
        ["{}", '{"a":1}'],
        ['{"b":1}', '{"a":1,"b":1}'],
    ),
    (
        "cousins are invisible",
        {"allOf": [{"properties": {"a": {}}}, {"unevaluatedProperties": False}]},
        ["{}", "1"],
        ['{"a":1}'],
    ),
    (
        "a branch evaluates where it holds",
        {
            "anyOf": [
                {"properties": {"a": {"const": 1}}, "required": ["a"]},
                {"properties": {"b": {"const": 2}}, "required": ["b"]},
            ],
            "unevaluatedProperties": False,
        },
        ['{"a":1,"b":2}', '{"b":2}'],
        ['{"a":1,"b":3}', '{"a":2,"b":2}', "{}"],
    ),
    (
        "if alone evaluates",
        {"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "unevaluatedProperties": False},
        ['{"a":1}', "{}"],
        ['{"a":2}', '{"b":1}', '{"a":1,"b":1}'],
    ),
    (
        "contains evaluates",
        {"contains": {"type": "string"}, "unevaluatedItems": False},
        ['["a"]', '["a","b"]', "5"],
        ['["a",1]', "[]", "[1]"],
    ),
    (
        "not evaluates nothing",
        {"not": {"not": {"properties": {"a": {}}}}, "unevaluatedProperties": False},
        ["{}"],
        ['{"a":1}'],
    ),
    (
        "an opened name obliges",
        {"dependentRequired": {"a": ["b"], "b": ["a"]}},
        ["{}", '{"a":1,"b":1}', '{"c":1}'],
        ['{"a":1}', '{"b":1}'],
    ),
    (
        "a name that cannot be opened",
        {"properties": {"a": {}}, "additionalProperties": False, "dependentSchemas": {"a": {"required": ["b"]}}},
        ["{}"],
        ['{"a":1}', '{"b":1}'],
    ),
    (
        "a number that is no integer",
        {"type": "number", "not": {"type": "integer"}},
        ["1.5", "-0.5"],
        ["1.0", "10e-1", "1", "0"],
    ),
    (
        "the empty pattern matches every name",
        {"patternProperties": {"": {"type": "integer"}}, "additionalProperties": False},
        ["{}", '{"a":1}', '{"":1}'],
        ['{"a":"x"}'],
    ),
    (
        "dependencies beyond its drafts",
        {"dependencies": {"a": ["b"]}},
        ["{}", '{"a":1,"b":2}', '{"b":1}'],
        [],
    ),
    (
        "names that are no strings",
        {"type": "object", "propertyNames": {"type": "integer"}},
        ["{}"],
        ['{"a":1}', '{"1":1}'],
    ),
    (
        "equality by value among items",
        {"items": {"enum": [1, 1.0, True, "1"]}, "uniqueItems": True},
        ["[1,true]", '["1",1,true]', "5", "[]"],
        ["[1,1]", "[1,1.0]", "[true,true]", "[1,2]"],
    ),
    (
        "equality by value among items of any kind",
        {"uniqueItems": True},
        ['[1,"1",[1],{"1":1},true]', '[{"a":1,"b":2},{"a":2,"b":1}]', '["a","A","\\u00e9"]', "[1e2,1e3]"],
        [
            "[1,1.0]",
            "[100,1e2]",
            "[0,-0]",
            '["a","\\u0061"]',
            '["\\ud83d\\ude00","😀"]',
            '[{"a":1,"b":2}, { "b" : 2.0, "a":1 }]',
            '[{"\\u0061":[]},1,{"a":[ ]}]',
        ],
    ),
]

UNSATISFIABLE: dict[str, Any] = {
    "closed and required": {
        "type": "object",
        "properties": {"a": {}},
        "required": ["b"],
        "additionalProperties": False,
    },
    "least fixpoint": {"type": "array", "items": {"$ref": "#"}, "minItems": 1},
    "parity": {"type": "string", "pattern": "^(ab)*$", "minLength": 3, "maxLength": 3},
    "no multiple": {"type": "integer", "minimum": 4, "maximum": 5, "multipleOf": 3},
    "contains what no item is": {"type": "array", "items": {"type": "integer"}, "contains": {"type": "string"}},
    "too few values that differ": {
        "type": "array",
        "items": {"type": "boolean"},
        "uniqueItems": True,
        "minItems": 3,
    },
    "too few objects that differ": {
        "type": "array",
        "items": {"type": "object", "properties": {"a": {"type": "boolean"}}, "additionalProperties": False},
        "uniqueItems": True,
        "minItems": 4,
    },
    "three places for two values": {
        "type": "array",
        "prefixItems": [{"enum": [1, 2]}, {"enum": [[1], 2, 1]}, {"enum": [1, 2]}, {"enum": [1, 2]}],
        "minItems": 4,
        "uniqueItems": True,
    },
    "the same value twice": {"type": "array", "contains": {"const": [5]}, "minContains": 2, "uniqueItems": True},
    "too few names": {"type": "object", "propertyNames": {"enum": ["a", "b"]}, "minProperties": 3},
    "required and forbidden by pattern": {"type": "object", "patternProperties": {"^x": False}, "required": ["x1"]},
    "the opposite of everything": {"not": {}},
    "contradiction": {"allOf": [{"type": "string"}, {"not": {"type": "string"}}]},
    "twice the same branch": {"oneOf": [{"type": "string"}, {"type": "string"}]},
    "if and else": {"if": {"minimum": 3}, "then": False, "else": False},
    "all unevaluated": {"type": "object", "required": ["a"], "unevaluatedProperties": False},
    "contains too often": {
        "type": "array",
        "contains": {"type": "null"},
        "minContains": 2,
        "maxContains": 1,
    },
    "infinite through oneOf": {"oneOf": [{"type": "array", "items": {"$ref": "#"}, "minItems": 1}]},
}


@pytest.mark.parametrize(("schema", "valid", "invalid"), [c[1:] for c in TRICKY], ids=[c[0] for c in TRICKY])
def test_tricky(schema: Any, valid: list[str], invalid: list[str]) -> None:
    """The stated verdicts, which never contradict both validators at once."""
    engine = constrain.json_schema(schema).compile(vocabulary("bytes"))
    for text in valid:
        assert accepts(engine, text), f"refused: {text}"
    for text in invalid:
        assert not accepts(engine, text), f"accepted: {text}"
    for text in valid + invalid:
        if finite(value := json.loads(text)):
            assert verdict(schema, value) in (text in valid, None), f"both validators say otherwise: {text}"


@pytest.mark.parametrize(
    "other",
    [
        {"type": "array", "maxItems": 1},
        {"type": "array", "items": {"type": "boolean"}, "uniqueItems": True},
        {"type": "array", "contains": {"type": "null"}, "maxItems": 2},
        {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "maxItems": 2},
    ],
)
def test_what_compiles_never_fails_later(other: Any) -> None:
    """Strings that must differ, beside other arrays."""
    made = attempt({"anyOf": [other, {"type": "array", "items": {"type": "string"}, "uniqueItems": True}]})
    assert made.error is None
    assert accepts(made.compiled, '["a","b","c"]')
    assert accepts(made.compiled, "[]")
    assert not accepts(made.compiled, '["a","b","a"]')
    assert not accepts(made.compiled, "[1,2,3]")


@pytest.mark.parametrize("name", UNSATISFIABLE)
def test_empty_schemas_are_refused(name: str) -> None:
    with pytest.raises(UnsatisfiableSchemaError):
        constrain.json_schema(UNSATISFIABLE[name]).compile(vocabulary("bytes"))


EQUIVALENT: dict[str, tuple[Any, Any]] = {
    "anyOf with false": ({"type": "integer"}, {"anyOf": [{"type": "integer"}, False]}),
    "single anyOf": ({"type": "string", "maxLength": 2}, {"anyOf": [{"type": "string", "maxLength": 2}]}),
    "reference inlined": (
        {"type": "array", "items": {"enum": ["a", "ab"]}},
        {"type": "array", "items": {"$ref": "#/$defs/x"}, "$defs": {"x": {"enum": ["a", "ab"]}}},
    ),
    "order of keywords": (
        {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]},
        {"required": ["a"], "properties": {"a": {"type": "null"}}, "type": "object"},
    ),
    "type list": ({"type": ["null", "boolean"]}, {"anyOf": [{"type": "boolean"}, {"type": "null"}]}),
    "const and enum": ({"const": "x"}, {"enum": ["x"]}),
    "single allOf": ({"type": "string", "maxLength": 2}, {"allOf": [{"type": "string", "maxLength": 2}]}),
    "oneOf with false": (
        {"type": "array", "items": {"type": "null"}},
        {"oneOf": [False, {"type": "array", "items": {"type": "null"}}]},
    ),
    "twice negated": (
        {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"], "maxProperties": 2},
        {
            "not": {
                "not": {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"], "maxProperties": 2}
            }
        },
    ),
    "De Morgan": (
        {"type": "string", "not": {"anyOf": [{"pattern": "^a"}, {"maxLength": 1}]}},
        {"type": "string", "allOf": [{"not": {"pattern": "^a"}}, {"minLength": 2}]},
    ),
    "if as alternatives": (
        {"type": "object", "if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"maxProperties": 1}},
        {
            "type": "object",
            "anyOf": [{"required": ["a", "b"]}, {"maxProperties": 1, "not": {"required": ["a"]}}],
        },
    ),
    "dependencies of two kinds": (
        {"type": "object", "dependentRequired": {"a": ["b"]}},
        {"type": "object", "dependentSchemas": {"a": {"required": ["b"]}}},
    ),
    "all names by pattern": (
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "object", "patternProperties": {"": {"type": "integer"}}},
    ),
    "everything evaluated": (
        {"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": False},
        {"type": "object", "properties": {"a": {"type": "null"}}, "unevaluatedProperties": False},
    ),
}


@pytest.mark.parametrize("name", EQUIVALENT)
def test_equivalent_schemas_give_the_same_masks(name: str) -> None:
    import random

    from tests.oracles import VOCABULARIES, Walker, allowed, compiled

    walker = Walker(VOCABULARIES["mixed"](), random.Random(2))
    first, second = (compiled(schema, "mixed") for schema in EQUIVALENT[name])
    for _ in range(6):
        one, two = first.matcher(), second.matcher()
        for _ in range(15):
            mask = allowed(one, walker.size)
            assert (mask == allowed(two, walker.size)).all()
            chosen = walker.choose(mask)
            if chosen is None:
                break
            assert one.accept_token(chosen)
            assert two.accept_token(chosen)


def test_an_enumerated_object_is_tested_against_every_keyword_beside_it() -> None:
    """Also where the keyword says nothing but what becomes of other names."""
    grammar = constrain.json_schema({"dependentRequired": {"b": ["a"]}, "anyOf": [{"enum": [{"b": 1}, {"c": 1}]}]})
    compiled = grammar.compile(vocabulary("bytes"))
    assert not compiled.matcher().accept_bytes(b'{"b":1')
    assert compiled.matcher().accept_bytes(b'{"c":1}')


@pytest.mark.parametrize(
    ("schema", "valid"),
    [
        (
            {"enum": [{"a": 1, "b": 2}, {"a": 1}, {"c": 3}], "properties": {"a": True}, "unevaluatedProperties": False},
            [{"a": 1}],
        ),
        (
            {
                "enum": [{"a": 1, "b": 2}, {"a": 2, "b": "x"}, {"b": 3, "c": "x"}],
                "anyOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"b": {"const": 3}}}],
                "unevaluatedProperties": {"type": "integer"},
            },
            [{"a": 1, "b": 2}],
        ),
        ({"enum": [[1, 2], [1], ["x", 2]], "prefixItems": [True], "unevaluatedItems": False}, [[1]]),
        (
            {"enum": [[1, 2], ["x", 2], ["x"]], "contains": {"type": "string"}, "unevaluatedItems": {"const": 2}},
            [["x", 2], ["x"]],
        ),
        (
            {
                "enum": [{"a": 1, "b": 2}, {"a": 1}, {"b": 2}],
                "if": {"required": ["b"]},
                "then": {"properties": {"a": True, "b": True}},
                "else": True,
                "unevaluatedProperties": False,
            },
            [{"a": 1, "b": 2}, {"b": 2}],
        ),
        (
            {
                "enum": [{"a": 1}, {"a": 1, "b": 2}, {"b": 2}],
                "not": {"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False},
            },
            [{"a": 1, "b": 2}, {"b": 2}],
        ),
    ],
)
def test_what_is_left_unevaluated_of_enumerated_values(schema: Any, valid: list[Any]) -> None:
    is_valid, is_valid_too = validators(schema)
    grammar = compiled(schema)
    for value in schema["enum"]:
        assert is_valid(value) == is_valid_too(value) == (value in valid)
        assert accepts(grammar, json.dumps(value)) == (value in valid), value
