"""Parts, formats and what is wrong with them."""

import pickle
from dataclasses import replace

import pytest

from constrain.errors import ToolFormatError
from constrain.grammars.tool_formats import (
    FORMATS,
    Arguments,
    BareArguments,
    Blank,
    CallId,
    CountedCallIds,
    Format,
    Literal,
    Marker,
    Name,
    PythonArguments,
    RandomCallIds,
    Reasoning,
    TaggedArguments,
    get_format,
    parts_of,
    register_format,
)
from constrain.grammars.tool_formats.names import NAME_DELIMITERS, WORD_NAME
from constrain.grammars.tool_formats.parts import leading_text


def test_a_template_is_cut_into_parts():
    assert parts_of('<a>⏎x⟨json_name⟩"·⟨arguments⟩␣⟨?<b>⟩⟨!<c>⟩⟨id⟩⟨count⟩</a>', ("<a>", "</a>")) == (
        Marker("<a>"),
        Blank("\n"),
        Literal("x"),
        Name(json=True),
        Literal('"'),
        Blank(""),
        Arguments(),
        Blank(" "),
        Marker("<b>", optional=True, written=False),
        Marker("<c>", optional=True, written=True),
        CallId(),
        CallId(count=True),
        Marker("</a>"),
    )


def test_the_longer_of_two_markers_is_cut_out():
    assert parts_of("<a><ab>c", ("<a", "<ab>", "<a>")) == (Marker("<a>"), Marker("<ab>"), Literal("c"))


@pytest.mark.parametrize("template", ["⟨nmae⟩", "⟨name", "name⟩", "⟨?⟩"])
def test_a_wrong_placeholder_is_refused(template):
    with pytest.raises(ValueError, match=r"placeholder|partner"):
        parts_of(template)


def test_leading_text_ends_where_the_text_is_not_fixed():
    assert leading_text(parts_of("⏎<a>x·y", ("<a>",))) == "<a>x"
    assert leading_text(parts_of("⟨?<a>⟩{·", ("<a>",))) == "{"
    assert leading_text(parts_of("⟨name⟩(")) == ""


def test_the_templates_of_a_format_are_put_together_again_from_its_parts():
    blanks = {"": "·", " ": "␣", "\n": "⏎", "\n\n": "¶", "\n    ": "⇥"}

    def spelled(part):
        match part:
            case Literal(text) | Marker(text, False):
                return text
            case Marker(text, True, written):
                return f"⟨{'!' if written else '?'}{text}⟩"
            case Blank(canonical):
                return blanks[canonical]
            case Name(json):
                return "⟨json_name⟩" if json else "⟨name⟩"
            case CallId(count):
                return "⟨count⟩" if count else "⟨id⟩"
        return "⟨arguments⟩"

    for format in FORMATS.values():
        calls = (format.call,) if isinstance(format.call, str) else format.call
        for template, parts in zip(calls, format.call_parts, strict=True):
            assert "".join(map(spelled, parts)) == template
        for template, parts in ((format.first, format.first_parts), (format.last, format.last_parts)):
            assert "".join(map(spelled, parts)) == template


def test_formats_are_values():
    assert pickle.loads(pickle.dumps(FORMATS)) == FORMATS
    assert len({hash(format) for format in FORMATS.values()}) == len(FORMATS)


def test_what_begins_a_call():
    assert get_format("qwen3").triggers == ("<tool_call>",)
    assert get_format("pythonic").triggers == ("<|python_start|>", "[")
    assert get_format("llama3_json").triggers == ("<|python_tag|>", "{")
    assert get_format("deepseek_v3_2").triggers == ("<｜DSML｜",)
    assert get_format("harmony").openers == ("<|channel|>commentary to=functions.", " to=functions.")


def test_an_unknown_name_is_refused_with_those_that_look_like_it():
    with pytest.raises(ToolFormatError, match="did you mean qwen3") as refused:
        get_format("quen3")
    assert refused.value.field == "name"
    assert pickle.loads(pickle.dumps(refused.value)).reason == refused.value.reason


def test_a_format_of_ones_own(monkeypatch):
    monkeypatch.setattr("constrain.grammars.tool_formats.registry.FORMATS", dict(FORMATS))
    own = register_format(Format("own", call="CALL ⟨name⟩ ⟨arguments⟩", names=WORD_NAME))
    assert get_format("own") is own
    assert get_format(own) is own
    assert register_format(own) is own
    with pytest.raises(ToolFormatError, match="taken"):
        register_format(replace(own, call="RUN ⟨name⟩ ⟨arguments⟩"))
    register_format(replace(own, call="RUN ⟨name⟩ ⟨arguments⟩"), replace=True)
    assert get_format("own").triggers == ("RUN ",)


CALL = 'CALL{"n": "⟨json_name⟩", "a": ⟨arguments⟩}'
BAD = [
    ("name", {"name": "a b"}),
    ("name", {"name": 3}),
    ("call", {"call": ()}),
    ("call", {"call": "CALL ⟨nmae⟩"}),
    ("call", {"call": "CALL ⟨arguments⟩"}),
    ("call", {"call": 'CALL "⟨json_name⟩" "⟨json_name⟩" ⟨arguments⟩'}),
    ("call", {"call": "CALL ⟨json_name⟩ ⟨arguments⟩"}),
    ("call", {"call": CALL + "⟨key⟩"}),
    ("call", {"call": "CALL ⟨arguments⟩ ⟨name⟩", "names": WORD_NAME}),
    ("call", {"call": "⟨name⟩ ⟨arguments⟩", "names": WORD_NAME, "text": "instead"}),
    ("call", {"call": 'CALL ⟨arguments⟩ "⟨json_name⟩"', "arguments": PythonArguments()}),
    ("names", {"call": "CALL ⟨name⟩ ⟨arguments⟩"}),
    ("first", {"first": "⟨name⟩"}),
    ("last", {"last": "⟨wrong⟩"}),
    ("text", {"text": "everywhere"}),
    ("text", {"call": '{·"n": "⟨json_name⟩", "a": ⟨arguments⟩}'}),
    ("most_calls", {"most_calls": 0}),
    ("markers", {"markers": ("",)}),
    ("markers", {"markers": "<a>"}),
    ("banned", {"banned": (1,)}),
    ("ids", {"call": CALL + "⟨id⟩"}),
    ("ids", {"call": CALL + "⟨id⟩", "ids": CountedCallIds()}),
    ("ids", {"call": CALL + "⟨count⟩", "ids": RandomCallIds()}),
    ("reasoning", {"reasoning": Reasoning("<think>", "")}),
    ("answer_open", {"answer_close": "</a>"}),
    ("preamble_open", {"preamble_open": "<p>"}),
    ("after_text", {"after_text": "x"}),
    ("may_be_empty", {"may_be_empty": True}),
    ("arguments", {"arguments": TaggedArguments("<a>⟨value⟩</a>")}),
    ("arguments", {"arguments": TaggedArguments("<a>⟨value⟩<b>⟨key⟩</b>")}),
    ("arguments", {"arguments": TaggedArguments("<a>⟨key⟩⟨value⟩</b>")}),
    ("arguments", {"arguments": TaggedArguments("<a>⟨key⟩:⟨value⟩\n")}),
    ("arguments", {"arguments": TaggedArguments("<a>⟨key⟩:⟨value⟩</b>⟨name⟩")}),
    ("arguments", {"arguments": BareArguments("")}),
]


@pytest.mark.parametrize(("field", "change"), BAD)
def test_what_is_wrong_with_a_format_names_format_and_field(field, change):
    with pytest.raises(ToolFormatError) as refused:
        Format(**{"name": "mine", "call": CALL, **change})
    assert refused.value.field == field
    assert "name" in change or refused.value.format == "mine"


def test_no_rule_for_bare_names_allows_a_delimiter():
    for format in FORMATS.values():
        if Name() in [part for parts in format.call_parts for part in parts]:
            assert not any(format.names.allows(f"a{c}b") for c in NAME_DELIMITERS)
