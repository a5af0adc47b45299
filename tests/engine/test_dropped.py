"""A grammar that is dropped is gone at once: nothing waits for the collector of reference cycles, whose pauses would
fall on some token of another text."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import constrain

VOCABULARY = constrain.Vocabulary.from_tokens([*(bytes([b]) for b in range(256)), b'":', b"<end>"], eos_token_ids=257)
SCHEMAS: dict[str, tuple[Any, str]] = {
    "object": ({"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]}, '{"a":"x"}'),
    "array": ({"items": {"type": "number", "minimum": 3}, "minItems": 1, "maxItems": 9}, "[3.5,4]"),
    "values that differ": ({"type": "array", "items": {"type": "object"}, "uniqueItems": True}, '[{"a":1},{}]'),
    "strings that differ": ({"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True}, '["b","a"]'),
    "pattern": ({"type": "string", "pattern": "^a+b?$", "maxLength": 9}, '"aab"'),
    "names": ({"type": "object", "patternProperties": {"^x": {"type": "integer"}}, "minProperties": 1}, '{"xa":1}'),
    "choice": ({"oneOf": [{"type": "string", "format": "date"}, {"type": "integer", "multipleOf": 3}]}, "9"),
    "recursion": ({"$defs": {"n": {"properties": {"k": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"}, '{"k":{}}'),
}
TOOL = {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}


@pytest.fixture
def collector_off() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def used(grammar: Any, text: str) -> list[weakref.ref[Any]]:
    """References to all that a grammar is made of, after it has been compiled, read, measured and dropped."""
    compiled = grammar.compile(VOCABULARY)
    matcher = compiled.matcher()
    row = np.zeros((1, VOCABULARY.bitmask_words), dtype=np.int32)
    for byte in text.encode():
        matcher.fill_next_token_bitmask(row)
        assert matcher.accept_token(byte)
    matcher.fill_next_token_bitmask(row, max_tokens=2)
    matcher.fork().forced_bytes()
    matcher.rollback(1)
    assert matcher.tokens_to_end >= 1
    automaton = compiled._automaton
    parts = [grammar, compiled, automaton, automaton.shapes, automaton.shapes.scanners, compiled._forms]
    return [weakref.ref(part) for part in parts]


@pytest.mark.usefixtures("collector_off")
@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas(name: str) -> None:
    schema, text = SCHEMAS[name]
    assert [part() for part in used(constrain.json_schema(schema), text)] == [None] * 6


@pytest.mark.usefixtures("collector_off")
def test_regular_expressions() -> None:
    assert [part() for part in used(constrain.regex("[a-z]+@example[.]com"), "ab@example.com")] == [None] * 6


CALLS = {
    "qwen3": '<tool_call>\n{"name": "weather", "arguments": {"city": "x"}}\n</tool_call>',
    "qwen3_coder": "<tool_call>\n<function=weather>\n<parameter=city>\nx",
}


@pytest.mark.usefixtures("collector_off")
@pytest.mark.parametrize("format_", CALLS)
def test_tool_calls(format_: str) -> None:
    references = used(constrain.tool_calls([TOOL], format=format_, tool_choice="required"), CALLS[format_])
    assert [part() for part in references] == [None] * 6
