"""Calls of tools with schemas of every kind: rendered and accepted; walked, parsed and valid to another validator."""

import os
import random

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from constrain import Tool, ToolCall, tool_calls
from constrain.errors import ConstrainError, ResourceLimitError, UnsatisfiableSchemaError, UnsupportedSchemaError
from constrain.grammars.tool_formats import FORMATS
from constrain.testing import CannotJudge, Validator
from constrain.testing.strategies import schemas_with_instances
from constrain.tools import ArgumentChecker, close_objects
from constrain.tools.parser import ToolCallParser, parse_message
from constrain.tools.problems import RenderError
from constrain.tools.render import render_calls
from tests.constrain.tools.wire_cases import said
from tests.constrain.wire.wire_vocabularies import KINDS, NAMES, accepts, cut, spelled, vocabulary_of, walk

FULL = os.environ.get("CONSTRAIN_FULL") == "1"


def of(**members):
    return {"type": "object", "properties": members}


FIXED = {
    "enums": (
        of(unit={"enum": ["km", "mile", "m"]}, count={"enum": [1, 2.5, None, True]}, one={"const": "x"}),
        [{"unit": "mile", "count": 2.5, "one": "x"}, {"count": None}, {"count": True, "unit": "m"}, {}],
        [{"unit": "mi"}, {"count": 2}, {"one": "xx"}],
    ),
    "unions": (
        of(a={"type": ["integer", "null", "string"]}, b={"anyOf": [{"type": "boolean"}, of(c={"type": "number"})]}),
        [{"a": None, "b": True}, {"a": "nul", "b": {"c": 1.5}}, {"a": -5}, {"a": "", "b": {}}],
        [{"b": 1}, {"b": {"d": 1}}],
    ),
    "nested": (
        {**of(at=of(x={"type": "integer"}, y=of(z={"type": "string"}))), "required": ["at"]},
        [{"at": {}}, {"at": {"y": {"z": "</a>"}, "x": 0}}],
        [{}, {"at": {"y": {"z": 1}}}],
    ),
    "open": (
        {**of(id={"type": "integer"}), "additionalProperties": {"type": ["string", "integer"]}},
        [{"id": 1, "other": "text", "third": 3}, {"idd": "a"}, {}],
        [{"id": "x"}, {"other": [1]}],
    ),
    "texts": (
        of(
            code={"type": "string", "pattern": "^[A-Z]{2,3}-[0-9]+$"},
            note={"type": "string", "minLength": 2, "maxLength": 4},
            day={"type": "string", "format": "date"},
        ),
        [{"code": "AB-1", "note": "ab", "day": "2024-02-29"}, {"note": "é😀<>"}, {"code": "ABC-007"}],
        [{"code": "A-1"}, {"note": "a"}, {"note": "abcde"}, {"day": "2023-02-29"}],
    ),
    "numbers": (
        of(n={"type": "integer", "minimum": -3, "maximum": 12}, r={"type": "number", "multipleOf": 0.5}),
        [{"n": -3, "r": 2.5}, {"n": 12}, {"r": -1}],
        [{"n": 13}, {"r": 0.3}, {"n": -4}],
    ),
    "lists": (
        of(
            tags={"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True, "maxItems": 3},
            pair={"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
            rows={"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}, "minItems": 1},
        ),
        [{"tags": ["b", "a"], "pair": ["x", 1]}, {"tags": [], "rows": [[], [True, False]]}],
        [{"tags": ["a", "a"]}, {"pair": [1]}, {"rows": []}],
    ),
    "any of two": (
        {"anyOf": [{**of(a={"type": "integer"}), "required": ["a"]}, {**of(b={"type": "string"}), "required": ["b"]}]},
        [{"a": 1}, {"b": "x"}],
        [{}, {"a": "x"}, {"b": 1}],
    ),
    "references": (
        {
            **of(tree={"$ref": "#/$defs/node"}, unit={"$ref": "#/$defs/unit"}),
            "$defs": {
                "node": {
                    **of(value={"type": "string"}, next={"type": "array", "items": {"$ref": "#/$defs/node"}}),
                    "required": ["value"],
                },
                "unit": {"enum": ["km", "m"]},
            },
        },
        [{"tree": {"value": "a", "next": [{"value": "b"}, {"value": "c", "next": []}]}, "unit": "m"}, {}],
        [{"tree": {"next": []}}, {"unit": "cm"}],
    ),
}


@pytest.mark.parametrize("kind", KINDS if FULL else ["added"])
@pytest.mark.parametrize("what", FIXED)
@pytest.mark.parametrize("name", NAMES)
def test_what_a_schema_says_holds_in_every_notation(name, what, kind):
    schema, right, wrong = FIXED[what]
    tool, vocabulary = Tool("act", parameters=schema), vocabulary_of(name, kind)
    compiled = tool_calls([tool], format=name, tool_choice="required").compile(vocabulary)
    validator, rng = Validator(schema), random.Random(f"{name} {what}")
    for arguments in right:
        assert validator.is_valid(arguments)
        calls = [ToolCall(None, "act", arguments)]
        text = render_calls(name, calls, [tool])
        assert accepts(compiled, text, rng) is True, text
        read = parse_message(cut(compiled, text), name, [tool], "required", vocabulary=vocabulary)
        assert said(read.calls) == said(calls)
    for arguments in wrong:
        try:
            text = render_calls(name, [ToolCall(None, "act", arguments)], [tool])
        except RenderError:
            continue
        assert accepts(compiled, text) is not True, text
    for _ in range(10 if FULL else 1):
        walked(compiled, name, ArgumentChecker([tool]), validator, rng)


def walked(compiled, name, checker, validator, rng):
    ids = walk(compiled, rng, rng.randint(5, 60), checks=0.03)
    message = parse_message(ids, name, checker, "required", vocabulary=compiled.vocabulary)
    for call in message.calls:
        assert validator.is_valid(call.arguments), (call, spelled(compiled.vocabulary, ids))
    return ids, message


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=150 if FULL else 3, deadline=None, derandomize=not FULL, suppress_health_check=list(HealthCheck))
@given(
    st.dictionaries(
        st.sampled_from(["a", "b_1", "city"]),
        schemas_with_instances(
            max_depth=2,
            keywords={
                "type", "enum", "const", "properties", "required", "additionalProperties", "items", "prefixItems",
                "minItems", "maxItems", "uniqueItems", "minLength", "maxLength", "pattern", "minimum", "maximum",
                "anyOf", "oneOf", "allOf", "multipleOf", "minProperties", "patternProperties",
            },
        ),
        min_size=1,
        max_size=2,
    ),
    st.sampled_from(KINDS),
    st.booleans(),
    st.randoms(use_true_random=False),
)  # fmt: skip
def test_random_schemas(name, members, kind, closed, rng):
    schema = {"type": "object", "properties": {key: part for key, (part, _) in members.items()}}
    arguments = {key: value for key, (_, value) in members.items()}
    tool, vocabulary = Tool("act", parameters=schema), vocabulary_of(name, kind)
    try:
        grammar = tool_calls([tool], format=name, tool_choice="required", closed_objects=closed)
        fits = Validator(close_objects(schema) if closed else schema).is_valid(arguments)
        validator = Validator(schema)
    except (UnsupportedSchemaError, UnsatisfiableSchemaError, ResourceLimitError, CannotJudge):
        assume(False)
    compiled = grammar.compile(vocabulary)
    calls, checker = [ToolCall(None, "act", arguments)], ArgumentChecker([tool], closed_objects=closed)
    try:
        text = render_calls(name, calls, [tool])
    except (RenderError, ConstrainError):
        fits = False
    if fits and not any(n.keyword for n in grammar.narrowings):
        assert accepts(compiled, text, rng) is True, (text, schema)
        read = parse_message(cut(compiled, text), name, checker, "required", vocabulary=vocabulary)
        assert said(read.calls) == said(calls)
    try:
        walked(compiled, name, checker, validator, rng)
    except CannotJudge:
        assume(False)


@pytest.mark.parametrize("name", NAMES)
def test_a_message_is_read_the_same_in_any_two_pieces(name):
    schema, right, _ = FIXED["open"]
    tool = Tool("act", parameters=schema)
    calls = [ToolCall(None, "act", arguments) for arguments in right][: FORMATS[name].most_calls]
    text = render_calls(name, calls, [tool])
    compiled = tool_calls([tool], format=name).compile(vocabulary_of(name, "special"))
    assert accepts(compiled, text) is True
    whole = parse_message(text, name, [tool])
    assert said(whole.calls) == said(calls)
    for at in range(len(text) + 1):
        parser = ToolCallParser(name, [tool])
        parser.feed(text[:at])
        parser.feed(text[at:])
        assert said(parser.finish().calls) == said(calls)
