"""The grammar of every format: what is rendered is accepted, what is accepted is parsed, masks are what is accepted."""

import os
import random

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from constrain.grammars.tool_formats import FORMATS
from constrain.testing import Validator
from constrain.tools import ToolCall
from constrain.tools.parser import ToolCallParser, parse_message
from constrain.tools.problems import RenderError
from constrain.tools.render import render_calls
from tests.constrain.tools.wire_cases import CALLS, TOOLS, said
from tests.constrain.wire.wire_vocabularies import KINDS, NAMES, accepts, check_mask, compiled_of, cut, spelled, walk

FULL = os.environ.get("CONSTRAIN_FULL") == "1"
VALIDATORS = {tool.name: Validator(tool.argument_schema) for tool in TOOLS}


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=300 if FULL else 5, deadline=None, derandomize=not FULL, suppress_health_check=list(HealthCheck))
@given(CALLS, st.sampled_from(KINDS), st.randoms(use_true_random=False))
def test_what_is_rendered_is_accepted_and_read_back(name, calls, kind, rng):
    calls = [ToolCall(None, call.name, call.arguments) for call in calls[: FORMATS[name].most_calls]]
    try:
        text = render_calls(name, calls, TOOLS)
    except RenderError:
        assume(False)
    compiled = compiled_of(name, kind)
    assert accepts(compiled, text, rng) is True, text
    message = parse_message(cut(compiled, text, rng), name, TOOLS, "required", vocabulary=compiled.vocabulary)
    assert said(message.calls) == said(calls)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_random_messages_are_valid_and_masks_are_exact(name, kind):
    compiled = compiled_of(name, kind)
    vocabulary = compiled.vocabulary
    rng = random.Random(f"{name} {kind}")
    for run in range(100 if FULL else 1):
        ids = walk(compiled, rng, rng.randint(5, 70), checks=0.05)
        message = parse_message(ids, name, TOOLS, "required", vocabulary=vocabulary)
        assert message.calls, spelled(vocabulary, ids)
        for call in message.calls:
            assert VALIDATORS[call.name].is_valid(call.arguments), call
        if run == 0:
            parser = ToolCallParser(name, TOOLS, "required", vocabulary=vocabulary)
            for token in ids:
                parser.feed(token)
            pieces = parser.finish()
            assert (said(pieces.calls), pieces.text, pieces.problems) == (said(message.calls), message.text, ())


@pytest.mark.parametrize("name", NAMES)
def test_masks_are_exact_all_the_way_through_a_message(name):
    calls = [ToolCall(None, "any_thing", {"text": "é<", "either": 5, "free": [None, {"a": True}], "more": "x"}),
             ToolCall(None, "clock", {})]  # fmt: skip
    text = render_calls(name, calls[: FORMATS[name].most_calls], TOOLS)
    for kind in KINDS:
        compiled = compiled_of(name, kind)
        matcher = compiled.matcher()
        for k, token in enumerate(cut(compiled, text)):
            if k % (1 if FULL else 11) == 0:
                check_mask(matcher)
            assert matcher.accept_token(token)
        check_mask(matcher)
