"""Alternatives by the hundred, told apart by bounds on one member: as exact as a few.

Sets of alternatives are kept in words of bits here and there; these have more than any word has.
"""

import json
import random

import jsonschema
import pytest

from constrain import Vocabulary, json_schema

VOCABULARY = Vocabulary.from_tokens([bytes([b]) for b in range(256)] + [None], eos_token_ids=[256])
VALUES = {
    "integer": lambda i: {"type": "integer", "minimum": i // 3, "maximum": i + 10},
    "number": lambda i: {"type": "number", "exclusiveMinimum": i / 8, "exclusiveMaximum": i + 10},
    "string": lambda i: {"type": "string", "minLength": i // 3, "maxLength": i + 10},
    "pattern": lambda i: {"type": "string", "pattern": f"^x{{0,{i + 10}}}$", "minLength": i // 3},
    "array": lambda i: {"type": "array", "items": {"const": 1}, "minItems": i // 3, "maxItems": i + 10},
}


def written(kind, size):
    if kind in ("string", "pattern"):
        return "x" * size
    return [1] * size if kind == "array" else size


def takes(compiled, value):
    matcher = compiled.matcher()
    text = json.dumps(value, separators=(",", ":")).encode()
    return all(matcher.accept_token(byte) for byte in text) and matcher.is_accepting


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("count", [15, 17, 33, 66, 140])
def test_values_that_tell_many_alternatives_apart(kind, count):
    alternatives = [
        {"type": "object", "properties": {"a": VALUES[kind](i), "b": {"const": i}}, "required": ["a", "b"]}
        for i in range(count)
    ]
    schema = {"anyOf": alternatives}
    compiled = json_schema(schema, property_order="declared").compile(VOCABULARY)
    validator = jsonschema.Draft202012Validator(schema)
    rng = random.Random(count)
    wrong = []
    for _ in range(40):
        value = {"a": written(kind, rng.randrange(count + 12)), "b": rng.randrange(count + 1)}
        if takes(compiled, value) is not validator.is_valid(value):
            wrong.append((value, validator.is_valid(value)))
    assert not wrong


def test_a_name_rules_out_all_but_one_of_many_alternatives():
    count = 600
    alternatives = [
        {
            "type": "object",
            "properties": {f"a{i}": {"type": "string"}, "n": {"type": "integer", "maximum": i}, "last": {"const": i}},
            "additionalProperties": False,
            "required": ["last"],
        }
        for i in range(count)
    ]
    validator = jsonschema.Draft202012Validator({"anyOf": alternatives})
    compiled = json_schema({"anyOf": alternatives}).compile(VOCABULARY)
    for last, n in ((count - 1, count - 2), (count - 1, count), (count - 2, 1), (7, 1)):
        value = {"n": n, f"a{count - 1}": "x", "last": last}
        assert takes(compiled, value) is validator.is_valid(value)
