"""Thousands of tools: made soon, kept small, and as lawful as a few."""

import resource
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from constrain import Grammar, Tool, ToolCall, tool_calls
from constrain.errors import ConstrainError, InvalidSchemaError, UnsatisfiableSchemaError
from constrain.tools.render import render_calls
from tests.constrain.wire.wire_vocabularies import NAMES, accepts, cut, vocabulary_of

TYPES = ["string", "integer", "number", "boolean"]


def tool(number):
    members = {
        f"p{j}_{number % 97}": {"type": TYPES[(number + j) % 4], "description": "what it is for"} for j in range(9)
    }
    members["kind"] = {"type": "string", "enum": ["a", "b", f"c{number}"]}
    return Tool(
        f"tool_{number:05d}", f"Number {number}", {"type": "object", "properties": members, "required": ["kind"]}
    )


@pytest.mark.parametrize("name", ["qwen3", "qwen3_coder", "mistral_v13"])
def test_sixteen_thousand_tools(name):
    vocabulary = vocabulary_of(name, "special")
    few = tool_calls([tool(0)], format=name).compile(vocabulary)
    assert accepts(few, "Hi.") is True
    tools = [tool(i) for i in range(16_000)]
    unit = 1 << (20 if sys.platform == "darwin" else 10)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    grammar = tool_calls(tools, format=name, tool_choice="required")
    compiled = grammar.compile(vocabulary)
    mask = np.zeros(compiled.bitmask_words, dtype=np.int32)
    compiled.matcher().fill_next_token_bitmask(mask)
    for number in (0, 15_999, 8_000, *range(100, 700, 20)):
        called = ToolCall(None, tools[number].name, {"kind": f"c{number}"})
        text = render_calls(name, [called], [tools[number]])
        assert accepts(compiled, text) is True
        other = render_calls(name, [ToolCall(None, called.name, {"kind": f"c{number + 1}"})], [tools[number]])
        matcher = compiled.matcher()
        assert not all(matcher.accept_token(token) for token in cut(compiled, other))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit - before < 500


def test_a_wrong_schema_among_many_is_found_when_the_grammar_is_made():
    tools = [tool(i) for i in range(300)]
    for schema, kind in (
        ({"type": "object", "properties": {"a": {"type": "text"}}}, InvalidSchemaError),
        ({"type": "object", "properties": {"a": {"enum": []}}, "required": ["a"]}, ConstrainError),
        ({"type": "object", "properties": {"a": {}}, "required": ["b"]}, UnsatisfiableSchemaError),
        ({"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}, InvalidSchemaError),
    ):
        with pytest.raises(kind, match="bad_one#"):
            tool_calls([*tools, Tool("bad_one", parameters=schema)], format="qwen3")


NAME = st.sampled_from(["a", "b_1", "zwölf", "class", "a b", "x" * 30, '"', "", "<"])
LEAVES = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from([*TYPES, "null", "array", "object", "text", ["string"], 5]),
        "description": st.just("d"),
        "enum": st.lists(st.sampled_from(["a", "b", "<tool_call>", "é", 1, None, "null", "</parameter>"]), max_size=3),
        "default": st.just(None),
        "pattern": st.just("a"),
    },
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"type": st.just("array")}, optional={"items": st.one_of(inner, st.just(True))}),
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(NAME, inner, max_size=3)},
            optional={
                "required": st.lists(NAME, max_size=2),
                "additionalProperties": st.one_of(st.booleans(), inner),
                "$schema": st.sampled_from(["http://json-schema.org/draft-07/schema#", "x"]),
            },
        ),
    ),
    max_leaves=5,
)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.dictionaries(NAME, SCHEMAS, max_size=3), st.lists(NAME, max_size=2), st.sampled_from(NAMES), st.booleans())
def test_what_passes_at_a_glance_passes_the_full_check(members, required, name, closed):
    try:
        made = Tool("x", parameters={"type": "object", "properties": members, "required": required})
        grammar = tool_calls([made], format=name, closed_objects=closed)
    except ConstrainError:
        return
    assert isinstance(grammar.arguments(0), Grammar)  # made now at the latest, and not refused


def test_what_the_caller_does_to_a_schema_later_changes_nothing():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    tools = [Tool("f", parameters=schema), Tool("g", parameters={**schema, "minProperties": 1})]
    grammar = tool_calls(tools, format="qwen3")
    schema["properties"]["a"] = {"type": "text"}
    compiled = grammar.compile(vocabulary_of("qwen3", "special"))
    for tool in tools:
        for a, fits in ((1, True), ("1", False)):
            text = render_calls("qwen3", [ToolCall(None, tool.name, {"a": a})], tools)
            assert (accepts(compiled, text) is True) is fits


@pytest.mark.parametrize("name", ["qwen3", "qwen3_coder"])
def test_what_is_left_out_is_told_by_tool(name):
    odd = {"type": "object", "properties": {"when": {"type": "string", "format": "my-own"}}}
    grammar = tool_calls([tool(1), Tool("odd", parameters=odd)], format=name)
    assert [(u.pointer.partition("#")[0], u.keyword) for u in grammar.unenforced] == [("odd", "format")]
    assert isinstance(grammar.narrowings, tuple)


def test_arguments_before_the_name_of_hundreds_of_tools():
    tools = [tool(i) for i in range(400)]
    compiled = tool_calls(tools, format="hermes", tool_choice="required").compile(vocabulary_of("hermes", "special"))
    mask = np.zeros(compiled.bitmask_words, dtype=np.int32)
    for number in (0, 5, 399, 137):
        declared = tools[number].argument_schema["properties"]
        sample = {"string": "ab", "integer": 12, "number": 1.5, "boolean": True}
        arguments = {name: sample[s["type"]] for name, s in declared.items() if name != "kind"}
        arguments["kind"] = f"c{number}"
        text = render_calls("hermes", [ToolCall(None, tools[number].name, arguments)], tools)
        matcher = compiled.matcher()
        for token in cut(compiled, text):
            matcher.fill_next_token_bitmask(mask)
            assert matcher.accept_token(token)
        assert matcher.is_accepting
        other = render_calls("hermes", [ToolCall(None, tools[number - 1].name, arguments)], tools)
        assert accepts(compiled, other) is not True
