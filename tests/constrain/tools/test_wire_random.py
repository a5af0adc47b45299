"""Random calls: rendered and parsed they are the same, at every cut; damaged they never pass for others unnoticed."""

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from constrain.grammars.tool_formats import FORMATS, get_format
from constrain.tools.parser import ToolCallParser, parse_message
from constrain.tools.problems import RenderError
from constrain.tools.render import render_calls, render_message
from tests.constrain.tools.wire_cases import CALL_A, CALLS, CHECKER, TEXTS, TOOLS, said

FEW = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)
NAMES = sorted(FORMATS)


def rendered(format, calls, **more):
    format = get_format(format)
    try:
        return render_message(format, calls[: format.most_calls], TOOLS, **more)
    except RenderError:
        return None


def summary(message):
    return (
        message.text,
        message.reasoning,
        message.text_after,
        said(message.calls),
        [(p.index, p.error.kind, p.error.position, p.error.reason) for p in message.problems],
    )


@pytest.mark.parametrize("format", NAMES)
@FEW
@given(CALLS, st.data())
def test_what_is_rendered_is_parsed_to_the_same_calls(format, calls, data):
    text = rendered(format, calls)
    assume(text is not None)
    message = parse_message(text, format, CHECKER)
    assert said(message.calls) == said(calls[: FORMATS[format].most_calls])
    assert message.text == ""
    cut = data.draw(st.lists(st.integers(0, len(text)), max_size=4).map(sorted))
    parser, pieces = ToolCallParser(format, CHECKER), []
    for start, end in zip([0, *cut], [*cut, len(text)], strict=True):
        pieces.extend(parser.feed(text[start:end]))
    assert summary(parser.finish()) == summary(message)


@pytest.mark.parametrize("format", [name for name in NAMES if FORMATS[name].text != "never"])
@FEW
@given(TEXTS, st.one_of(st.none(), TEXTS), st.booleans())
def test_text_and_reasoning_are_told_from_calls(format, text, reasoning, with_call):
    calls = [CALL_A] if with_call else []
    text = text.strip("\n")
    reasoning = None if reasoning is None or FORMATS[format].reasoning is None else reasoning.strip("\n")
    written = rendered(format, calls, text=text, reasoning=reasoning)
    if written is None:  # some formats have no text beside calls
        written = rendered(format, calls, reasoning=reasoning)
        text = ""
    assume(written is not None)
    message = parse_message(written, format, CHECKER)
    assert (message.text, message.reasoning) == (text, reasoning)
    assert said(message.calls) == said(calls)


@pytest.mark.parametrize("format", NAMES)
@FEW
@given(CALLS, st.data())
def test_a_damaged_message_is_read_the_same_at_every_cut_and_never_raises(format, calls, data):
    text = rendered(format, calls)
    assume(text)
    at = data.draw(st.integers(0, len(text)))
    width = data.draw(st.integers(0, 3))
    new = data.draw(st.sampled_from(["", "<", ">", "{", "}", '"', "]", "\\", " ", "x", "\n", ",", "<tool_call>", "[/"]))
    damaged = text[:at] + new + text[at + width :]
    whole = parse_message(damaged, format, CHECKER, errors="collect")
    for cut in {0, at, min(at + 1, len(damaged)), len(damaged) // 2, max(0, len(damaged) - 1)}:
        parser = ToolCallParser(format, CHECKER)
        parser.feed(damaged[:cut])
        parser.feed(damaged[cut:])
        assert summary(parser.finish()) == summary(whole)
    if not whole.problems and whole.calls and FORMATS[format].text == "never":
        assert render_calls(format, whole.calls, TOOLS)


@pytest.mark.parametrize("format", NAMES)
@FEW
@given(CALLS, st.data())
def test_a_message_that_is_cut_off_is_never_malformed(format, calls, data):
    text = rendered(format, calls)
    assume(text)
    cut = data.draw(st.integers(0, len(text) - 1))
    message = parse_message(text[:cut], format, CHECKER, errors="collect")
    assert all(problem.error.kind == "truncated" for problem in message.problems)
    assert said(message.calls) == said(calls)[: len(message.calls)]
