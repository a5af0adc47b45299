"""Choices of spelling within arguments: `json.dumps` and the schema are the oracles."""

import json
import pickle
import random

import pytest

from constrain import Tool, ToolCall, tool_calls
from constrain.errors import ConstrainError, ToolFormatError
from constrain.grammars.tool_formats import FORMATS, BareArguments, JsonArguments
from constrain.tools.render import render_calls
from tests.constrain.wire.wire_vocabularies import NAMES, accepts, vocabulary_of, walk

JSON_FORMATS = [name for name in NAMES if isinstance(FORMATS[name].arguments, JsonArguments)]
OTHERS = [name for name in NAMES if name not in JSON_FORMATS]
NESTED = {"type": "object", "properties": {"y": {"type": "boolean"}, "x": {"type": "string"}}, "required": ["x"]}
TOOL = Tool(
    "get_it",
    parameters={
        "type": "object",
        "properties": {
            "zeta": {"type": "string", "maxLength": 6},
            "alpha": {"type": "array", "items": {"enum": ["p", "qé", True]}, "maxItems": 3},
            "mid": {**NESTED, "additionalProperties": False},
            "beta": {"type": "boolean"},
        },
        "required": ["zeta", "beta"],
    },
)
ORDER, INNER = list(TOOL.argument_schema["properties"]), ["y", "x"]


def messages(name, count, **options):
    """Messages at random, and the arguments that are read back."""
    grammar = tool_calls([TOOL], format=name, tool_choice="required", parallel=False, **options)
    compiled = grammar.compile(vocabulary_of(name, "special"))
    rng = random.Random(f"{name}{options}")
    for _ in range(count):
        ids = walk(compiled, rng, 70, checks=0.03)
        message = grammar.parse(ids, compiled.vocabulary)
        written = b"".join(compiled.vocabulary.token_bytes[i] or b"" for i in ids).decode()
        yield written, message.calls[0].arguments


@pytest.mark.parametrize("name", JSON_FORMATS)
def test_arguments_as_json_dumps_writes_them(name):
    for text, arguments in messages(name, 6, whitespace="spaced", escapes="plain"):
        assert json.dumps(arguments, ensure_ascii=False) in text
    for text, arguments in messages(name, 6, whitespace="none", escapes="plain"):
        assert json.dumps(arguments, ensure_ascii=False, separators=(",", ":")) in text


@pytest.mark.parametrize("name", NAMES)
def test_members_in_the_declared_order(name):
    for _, arguments in messages(name, 6, property_order="declared"):
        assert list(arguments) == [key for key in ORDER if key in arguments]
        inner = arguments.get("mid", {})
        assert list(inner) == [key for key in INNER if key in inner]


@pytest.mark.parametrize("name", [n for n in NAMES if not isinstance(FORMATS[n].arguments, BareArguments)])
def test_what_the_renderer_writes_fits_the_options_that_the_format_honours(name):
    arguments = {"zeta": "ab", "alpha": ["p", True], "mid": {"y": True, "x": "é"}, "beta": False}
    text = render_calls(name, [ToolCall(None, TOOL.name, arguments)], [TOOL])
    mixed = {key: arguments[key] for key in sorted(arguments)}
    other = render_calls(name, [ToolCall(None, TOOL.name, mixed)], [TOOL])
    options = {"property_order": "declared", "escapes": "plain"}
    options |= {"whitespace": "spaced"} if name in JSON_FORMATS else {}
    compiled = tool_calls([TOOL], format=name, **options).compile(vocabulary_of(name, "special"))
    assert accepts(compiled, text) is True
    assert accepts(compiled, other) is not True
    any_order = tool_calls([TOOL], format=name).compile(vocabulary_of(name, "special"))
    assert accepts(any_order, text) is accepts(any_order, other) is True


@pytest.mark.parametrize("name", OTHERS)
def test_spacing_that_a_format_cannot_have_is_refused(name):
    with pytest.raises(ToolFormatError, match=f"{name}.*spaced"):
        tool_calls([TOOL], format=name, whitespace="spaced")


def test_an_order_that_no_tool_has_declared_yet_is_refused():
    two = [TOOL, Tool("other", parameters={"type": "object", "properties": {"beta": {}, "zeta": {}}})]
    with pytest.raises(ToolFormatError, match=r"hermes.*property_order.*before the name"):
        tool_calls(two, format="hermes", property_order="declared")
    tool_calls(two, format="qwen3", property_order="declared")
    tool_calls(two, format="hermes", tool_choice={"type": "function", "name": "other"}, property_order="declared")


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": ["a", "</tool_call>"]},
        {"const": {"k": ["<tool_call>"]}},
        {"type": "string", "pattern": "^<[/]tool_call>$"},
        {"type": "object", "properties": {"x<tool_call>": {"type": "string"}}},
        {"type": "object", "patternProperties": {"^.tool_call>$": {}}},
    ],
)
def test_texts_that_need_an_escape_are_refused_where_escapes_are_plain(schema):
    tool = Tool("f", parameters={"type": "object", "properties": {"a": schema}})
    with pytest.raises(ConstrainError, match=r"f#.*tool_call.*escapes"):
        tool_calls([tool], format="qwen3", escapes="plain")
    tool_calls([tool], format="qwen3")
    described = Tool("f", parameters={"type": "object", "properties": {"a": {"description": "no <tool_call>"}}})
    tool_calls([described], format="qwen3", escapes="plain")


def test_options_are_part_of_the_grammar():
    plain = tool_calls([TOOL], format="qwen3")
    for options in ({"whitespace": "spaced"}, {"property_order": "declared"}, {"escapes": "plain"}):
        other = tool_calls([TOOL], format="qwen3", **options)
        assert other != plain
        assert pickle.loads(pickle.dumps(other)) == other
    for option in ("whitespace", "property_order", "escapes"):
        with pytest.raises(ValueError, match=option):
            tool_calls([TOOL], format="qwen3", **{option: "odd"})
