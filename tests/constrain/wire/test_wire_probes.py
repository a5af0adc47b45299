"""Where other libraries leak: each of the ways, tried on every format for which it has a meaning."""

import contextlib
import json
import os

import pytest

from constrain import Tool, ToolCall, ToolChoice, Vocabulary, tool_calls
from constrain.errors import UnsupportedSchemaError
from constrain.grammars.tool_formats import FORMATS, BareArguments, JsonArguments, TaggedArguments
from constrain.tools import ArgumentChecker
from constrain.tools.parser import parse_message
from constrain.tools.problems import RenderError, ToolError
from constrain.tools.render import render_calls, render_message
from tests.constrain.tools.wire_cases import BOOK, CALL_A, CALL_B, CLOCK, TOOLS, said
from tests.constrain.wire.wire_vocabularies import (
    KINDS,
    NAMES,
    accepts,
    allowed,
    cut,
    may_end,
    spelled,
    stops_of,
    vocabulary_of,
)

FREE = [name for name in NAMES if FORMATS[name].text in ("before", "around") and not FORMATS[name].answer_open]
EITHER = [name for name in NAMES if FORMATS[name].text == "instead" and not FORMATS[name].answer_open]
JSON = [name for name in NAMES if isinstance(FORMATS[name].arguments, JsonArguments)]
TAGGED = [name for name in NAMES if isinstance(FORMATS[name].arguments, TaggedArguments)]
SEVERAL = [name for name in NAMES if FORMATS[name].most_calls is None]
FULL = os.environ.get("CONSTRAIN_FULL") == "1"
every_kind = pytest.mark.parametrize("kind", KINDS if FULL else ["special", "text"])


def grammar(name, kind, choice, tools=(BOOK, CLOCK), **more):
    return tool_calls(list(tools), format=name, tool_choice=choice, **more).compile(vocabulary_of(name, kind))


def call_text(name, *calls, tools=(BOOK, CLOCK), **more):
    calls = [ToolCall(None, call.name, call.arguments) for call in calls or (CALL_A,)]
    return render_calls(name, calls, tools, **more)


def bytes_of(text):
    return list(text.encode())


def takes(compiled, ids):
    """How many of the tokens are taken, and the matcher after them."""
    matcher = compiled.matcher()
    for k, token in enumerate(ids):
        if not matcher.accept_token(token):
            return k, matcher
    return len(ids), matcher


@every_kind
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("choice", ["required", "book_table"])
def test_no_message_ends_before_a_call_that_is_demanded(name, kind, choice):
    compiled = grammar(name, kind, choice)
    format = FORMATS[name]
    beginnings = ["", "Well. "]
    if format.reasoning:
        block = format.reasoning.open + "Hm." + format.reasoning.close
        beginnings += [block, block + format.reasoning.after]
    if format.answer_open:
        beginnings += [format.answer_open, format.answer_open + "Hi." + format.answer_close]
    if format.may_be_empty:
        beginnings += [render_calls(name, [], ()) or "<tool_call>[]</tool_call>", "<tool_call>[\n\n]</tool_call>"]
    for text in beginnings:
        matcher = compiled.matcher()
        for token in cut(compiled, text):
            assert not may_end(matcher)
            if not matcher.accept_token(token):
                break
        assert not may_end(matcher), text
    assert accepts(compiled, call_text(name)) is True
    if choice == "book_table" and format.most_calls is None:
        assert accepts(compiled, call_text(name, CALL_A, CALL_A)) is not True


@every_kind
@pytest.mark.parametrize("spacing", [" <|constrain|>json", " json", " <|constrain|>json<|message|>"])
def test_harmony_as_it_is_documented_and_as_it_is_rendered(kind, spacing):
    compiled = grammar("harmony", kind, "auto")
    head = "<|channel|>commentary to=functions.book_table" + spacing.removesuffix("<|message|>") + "<|message|>"
    assert accepts(compiled, head + '{"guest":"Ada"}') is True
    assert (
        accepts(compiled, "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant" + head + '{"guest":"A"}') is True
    )
    swapped = " to=functions.book_table<|channel|>commentary <|constrain|>json<|message|>"
    assert accepts(compiled, swapped + '{"guest":"Ada"}') is True


@every_kind
@pytest.mark.parametrize("name", NAMES)
def test_none_is_no_call_however_it_is_written(name, kind):
    compiled = grammar(name, kind, "none")
    for calls in ((CALL_A,), (CALL_A, CALL_B) if name in SEVERAL else (CALL_B,)):
        text = call_text(name, *calls)
        for before in ("", "\n", "Sure. ", FORMATS[name].answer_open):
            for ids in (cut(compiled, before + text), cut(compiled, before) + bytes_of(text), bytes_of(before + text)):
                count, matcher = takes(compiled, ids)
                if count < len(ids) or not may_end(matcher):
                    continue
                read = parse_message(ids, name, [BOOK, CLOCK], "auto", vocabulary=compiled.vocabulary, errors="collect")
                assert (read.calls, read.problems) == ((), ())
                assert name in EITHER and before.strip(), "a text that begins as a call"  # noqa: PT018


@pytest.mark.parametrize("name", NAMES)
def test_a_marker_that_is_a_token_is_written_by_that_token_alone(name):
    format = FORMATS[name]
    for kind in ("special", "added"):
        compiled = grammar(name, kind, "auto")
        text = call_text(name)
        assert accepts(compiled, text) is True
        if compiled._symbols and any(s in text for s in compiled._symbols):
            spelled_out = bytes_of(text)
            count, matcher = takes(compiled, spelled_out)
            assert count < len(spelled_out) or not may_end(matcher)
        for marker in format.forbidden:
            ids = bytes_of("Hi. " + marker)
            assert takes(compiled, ids)[0] < len(ids), marker


@every_kind
def test_no_call_of_qwen3_coder_goes_by_another_layout(kind):
    compiled = grammar("qwen3_coder", kind, "auto")
    for text in (
        "<tool_call> <function=evil>\n</function>\n</tool_call>",
        "<function=evil>\n</function>",
        "<tool_call>\n<function=book_table >\n</function>\n</tool_call>",
        "<tool_call>\n<function=evil>\n</function>\n</tool_call>",
    ):
        for ids in (cut(compiled, text), bytes_of(text)):
            assert takes(compiled, ids)[0] < len(ids), text
    call = call_text("qwen3_coder")
    assert accepts(compiled, call.replace("<tool_call>\n", "<tool_call> ")) is True  # with the schema


@every_kind
def test_no_call_of_llama_goes_by_another_layout(kind):
    compiled = grammar("llama3_json", kind, "auto")
    for text in (
        '{"name":"evil","parameters":{}}',
        '{"name": "evil", "parameters": {}}',
        ' \n{"name":"evil"',
        "<|python_tag|>evil",
        '<|python_tag|>{"name": "evil"',
        'Sure: {"name": "evil", "parameters": {}}',
    ):
        for ids in (cut(compiled, text), bytes_of(text)):
            assert takes(compiled, ids)[0] < len(ids), text
    for text in ('{"name":"clock","parameters":{}}', '<|python_tag|>{ "name":\n"clock", "parameters": {} }'):
        assert accepts(compiled, text) is True


@every_kind
@pytest.mark.parametrize("name", NAMES)
def test_stray_markers_and_text_behind_the_last_call(name, kind):
    format = FORMATS[name]
    compiled = grammar(name, kind, "auto")
    block = format.reasoning
    begin = (*format.triggers, *format.openers, block.open if block else "", format.answer_open, format.preamble_open)
    for marker in format.forbidden:
        if any(text.strip().startswith(marker) for text in begin):
            continue
        for before in ("", "Hi. "):
            count, _ = takes(compiled, cut(compiled, before) + cut(compiled, marker))
            assert count < len(cut(compiled, before) + cut(compiled, marker)), marker
    text = call_text(name)
    assert (accepts(compiled, text + "\nBye.") is True) is (format.text == "around")
    if format.text == "around":
        count, _ = takes(compiled, cut(compiled, text + " And" + text))
        assert count < len(cut(compiled, text + " And" + text))


@every_kind
@pytest.mark.parametrize("name", NAMES)
def test_strings_hold_no_marker_as_it_is_written(name, kind):
    format = FORMATS[name]
    compiled = grammar(name, kind, "required")
    text = call_text(name, ToolCall(None, "book_table", {"guest": "@@"}))
    head = text[: text.index("@@")]
    texts = list(format.forbidden)
    if isinstance(format.arguments, TaggedArguments):
        texts.append(format.arguments.end_tag)
    for marker in texts:
        for ids in (bytes_of(marker), cut(compiled, marker)):
            # The end of a string may be written; then no text can follow.
            count, _ = takes(compiled, [*cut(compiled, head + "x"), *ids, *bytes_of("yy")])
            assert count < len(cut(compiled, head + "x")) + len(ids) + 2, marker
    if name in JSON:
        for marker in texts:
            escaped = call_text(name, ToolCall(None, "book_table", {"guest": f"x{marker}y"}))
            assert accepts(compiled, escaped) is True
            read = parse_message(cut(compiled, escaped), name, [BOOK, CLOCK], vocabulary=compiled.vocabulary)
            assert read.calls[0].arguments == {"guest": f"x{marker}y"}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("called", ['a"b', "a\\b", "mit Leer", "é", "</tool_call>", "a.b", "x\ny", "a:b", "a(b"])
def test_names_are_escaped_or_refused_by_name(name, called):
    tool = Tool(called, parameters=CLOCK.parameters)
    if not FORMATS[name].names.allows(called):
        with pytest.raises(ToolError) as caught:
            tool_calls([tool], format=name)
        assert repr(called) in str(caught.value)
        assert name in str(caught.value)
        return
    for kind in KINDS:
        compiled = grammar(name, kind, "required", [tool])
        text = render_calls(name, [ToolCall(None, called, {"zone": "x"})], [tool])
        assert accepts(compiled, text) is True, text
        read = parse_message(cut(compiled, text), name, [tool], vocabulary=compiled.vocabulary)
        assert read.calls[0].name == called


@pytest.mark.parametrize("name", NAMES)
def test_a_member_that_is_not_declared_is_up_to_the_caller(name):
    text = call_text(name, ToolCall(None, "book_table", {"guest": "Ada", "extra": True}))
    assert accepts(grammar(name, "special", "auto"), text) is not True
    assert accepts(grammar(name, "special", "auto", closed_objects=False), text) is True
    loose = Tool("book_table", parameters=BOOK.parameters, strict=False)
    assert accepts(grammar(name, "special", "auto", [loose]), text) is True
    stated = Tool("book_table", parameters={**BOOK.parameters, "additionalProperties": True})
    assert accepts(grammar(name, "special", "auto", [stated]), text) is True


@every_kind
@pytest.mark.parametrize("name", NAMES)
def test_at_least_one_call_after_optional_text(name, kind):
    compiled = grammar(name, kind, "required")
    try:
        text = render_message(name, [ToolCall(None, CALL_A.name, CALL_A.arguments)], [BOOK, CLOCK], text="Sure.")
    except RenderError:
        assert FORMATS[name].text in ("instead", "never")
        assert accepts(compiled, "Sure. " + call_text(name)) is not True
        return
    assert accepts(compiled, text) is True
    _, matcher = takes(compiled, cut(compiled, text[: text.index("Sure.") + 5]))
    assert not may_end(matcher)


@pytest.mark.parametrize("name", NAMES)
def test_members_may_come_in_any_order(name):
    text = call_text(name, ToolCall(None, "book_table", {"seats": 4, "guest": "Ada"}))
    assert accepts(grammar(name, "special", "auto"), text) is True


@every_kind
def test_arguments_before_the_name_are_those_of_the_tool_that_is_named(kind):
    compiled = grammar("hermes", kind, "required")
    assert accepts(compiled, '<tool_call>\n{"arguments": {"guest": "Ada"}, "name": "book_table"}\n</tool_call>') is True
    assert accepts(compiled, '<tool_call>\n{"arguments": {"zone": "CET"}, "name": "clock"}\n</tool_call>') is True
    assert accepts(compiled, '<tool_call>\n{"arguments": {}, "name": "clock"}\n</tool_call>') is True
    for text in (
        '<tool_call>\n{"arguments": {"zone": "CET"}, "name": "b',
        '<tool_call>\n{"arguments": {}, "name": "book_table"',
        '<tool_call>\n{"arguments": {"zone": "CET", "guest"',
    ):
        ids = cut(compiled, text)
        assert takes(compiled, ids)[0] < len(ids), text


@every_kind
@pytest.mark.parametrize("name", ["kimi_k2", "command_a"])
def test_counters_go_on_where_the_caller_says(name, kind):
    history = [{"role": "user", "content": "?"}]
    ids = ["functions.clock:0", "functions.clock:1"] if name == "kimi_k2" else ["0", "1"]
    for call_id in ids:
        asked = {"id": call_id, "type": "function", "function": {"name": "clock", "arguments": "{}"}}
        history += [
            {"role": "assistant", "content": "", "tool_calls": [asked]},
            {"role": "tool", "tool_call_id": call_id, "content": "12:00"},
        ]
    fresh, later = (call_text(name, CALL_A, CALL_B, messages=m) for m in ((), history))
    assert fresh != later
    first, after = grammar(name, kind, "auto"), grammar(name, kind, "auto", counted=2)
    assert [accepts(first, fresh), accepts(after, later)] == [True, True]
    assert accepts(first, later) is not True
    assert accepts(after, fresh) is not True
    read = parse_message(cut(after, later), name, [BOOK, CLOCK], vocabulary=after.vocabulary, messages=history)
    assert said(read.calls) == said([CALL_A, CALL_B])


@pytest.mark.parametrize("name", ["mistral_v3", "mistral_v11"])
def test_no_id_comes_twice(name):
    compiled = grammar(name, "special", "auto")
    text = render_calls(name, [CALL_A, CALL_B], [BOOK, CLOCK])
    assert accepts(compiled, text) is True
    twice = text.replace(CALL_B.id, CALL_A.id)
    stopped = accepts(compiled, twice)
    assert cut(compiled, twice)[: stopped + 1] == cut(compiled, twice[: twice.rindex(CALL_A.id) + 9])


@every_kind
@pytest.mark.parametrize("name", TAGGED)
def test_a_bare_string_ends_at_its_tag(name, kind):
    compiled = grammar(name, kind, "required")
    tag = FORMATS[name].arguments.end_tag
    text = call_text(name, ToolCall(None, "book_table", {"guest": "@@"}))
    for value in (f"a{tag}b", f"{tag}b", f"a{tag[:-1]} {tag}b"):
        assert accepts(compiled, text.replace("@@", value)) is not True
    near = f"a{tag[:2]}\n<{tag[:1]}é" if any(m in tag for m in FORMATS[name].markers) else f"a{tag[:-1]}\n{tag[:3]}<é"
    assert accepts(compiled, text.replace("@@", near)) is True
    read = parse_message(cut(compiled, text.replace("@@", near)), name, [BOOK, CLOCK], vocabulary=compiled.vocabulary)
    assert read.calls[0].arguments == {"guest": near}
    listed = {"type": "object", "properties": {"guest": {"enum": ["a", f"b{tag}"]}}}
    with pytest.raises(UnsupportedSchemaError, match="x_table#/properties/guest"):
        tool_calls([Tool("x_table", parameters=listed)], format=name)


@every_kind
@pytest.mark.parametrize("name", NAMES)
def test_tools_whose_names_begin_alike(name, kind):
    get = Tool("get", parameters={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
    longer = Tool("get_x", parameters={"type": "object", "properties": {"s": {"type": "string"}}, "required": ["s"]})
    tools = [longer, get]
    right = [ToolCall(None, "get", {"n": 1}), ToolCall(None, "get_x", {"s": "a"})]
    wrong = [ToolCall(None, "get", {"s": "a"}), ToolCall(None, "get_x", {"n": 1})]
    compiled = grammar(name, kind, "required", tools)
    for call in right:
        assert accepts(compiled, call_text(name, call, tools=tools)) is True
    for call in wrong:
        assert accepts(compiled, call_text(name, call, tools=tools)) is not True
    only = grammar(name, kind, ToolChoice("required", ("get",)), tools)
    assert accepts(only, call_text(name, right[0], tools=tools)) is True
    assert accepts(only, call_text(name, right[1], tools=tools)) is not True


@pytest.mark.parametrize("name", [name for name in NAMES if stops_of(FORMATS[name])])
def test_what_ends_a_message_is_up_to_its_branch(name):
    format = FORMATS[name]
    compiled = grammar(name, "special", "auto")
    ids = compiled.vocabulary.special_tokens
    _, matcher = takes(compiled, cut(compiled, call_text(name)))
    stops = {stop for stop in stops_of(format) if allowed(matcher, ids[stop])}
    assert stops == set(format.call_stops)
    for stop in stops:
        fork = matcher.fork()
        assert fork.accept_token(ids[stop])
        assert fork.is_terminated
    answer = render_message(name, (), text="Hi.")
    _, matcher = takes(compiled, cut(compiled, answer))
    assert {stop for stop in stops_of(format) if allowed(matcher, ids[stop])} == set(format.text_stops)


@pytest.mark.parametrize("name", [name for name in NAMES if stops_of(FORMATS[name])])
def test_a_vocabulary_that_knows_one_end_only_can_end_every_message(name):
    format = FORMATS[name]
    for stop in stops_of(format):
        tokens = [bytes([b]) for b in range(256)] + [None]
        vocabulary = Vocabulary.from_tokens(tokens, eos_token_ids=[256], special_tokens={stop: 256})
        compiled = tool_calls([BOOK, CLOCK], format=name).compile(vocabulary)
        for text in (call_text(name), render_message(name, (), text="Hi.")):
            _, matcher = takes(compiled, cut(compiled, text))
            assert matcher.accept_token(256), (text, stop)
            assert matcher.is_terminated


def test_a_name_of_a_bare_format_cannot_hold_what_its_notation_uses():
    for name in NAMES:
        if isinstance(FORMATS[name].arguments, BareArguments):
            bad = Tool("x", parameters={"type": "object", "properties": {"a:b": {}}})
            with pytest.raises(UnsupportedSchemaError, match="x#/properties/a:b"):
                tool_calls([bad], format=name)


@pytest.mark.parametrize("key", ["a\u3000", "\u2000", "\x85b", "é", "\U0001f600"])
def test_a_name_of_a_bare_format_may_hold_blanks_beyond_ascii(key):
    """Grammar, parser and renderer agree on what a name is made of."""
    for name in NAMES:
        if isinstance(FORMATS[name].arguments, BareArguments):
            tool = Tool("any_thing", parameters={"type": "object", "additionalProperties": {"type": "integer"}})
            call = ToolCall(None, "any_thing", {key: 3})
            text = render_calls(name, [call], [tool])
            compiled = tool_calls([tool], format=name, tool_choice="required").compile(vocabulary_of(name, "special"))
            assert accepts(compiled, text) is True
            (found,) = compiled.grammar.parse(text).calls
            assert found.arguments == {key: 3}


@pytest.mark.parametrize("name", NAMES)
def test_what_all_tools_share_is_one_grammar_for_three_calls(name):
    if name in SEVERAL:
        calls = [CALL_A, CALL_B, ToolCall(None, "any_thing", {"free": json.loads('{"a": [1, null]}')})]
        compiled = grammar(name, "special", "auto", TOOLS)
        text = call_text(name, *calls, tools=TOOLS)
        assert accepts(compiled, text) is True, spelled(compiled.vocabulary, cut(compiled, text))
        assert (
            accepts(
                grammar(
                    name,
                    "special",
                    "auto",
                    TOOLS,
                ),
                text,
            )
            is True
        )
        for parallel, fits in ((True, True), (3, True), (2, False), (False, False)):
            assert (accepts(grammar(name, "special", "auto", TOOLS, parallel=parallel), text) is True) is fits


@pytest.mark.parametrize("name", NAMES)
def test_a_message_that_is_cut_anywhere_is_cut_not_malformed(name):
    call = ToolCall(None, CALL_A.name, CALL_A.arguments)
    wholes = [render_calls(name, [call], [BOOK, CLOCK])]
    wholes += ["<tool_call>[ \n]</tool_call>"] if name == "phi_4_mini" else []  # no call at all
    for extra in ({"text": "Sure."}, {"reasoning": "Think."}, {"text": "Sure.", "reasoning": "Think."}):
        for calls in ((), (call,)):
            with contextlib.suppress(RenderError):
                wholes.append(render_message(name, calls, [BOOK, CLOCK], **extra))
    for whole in wholes:
        for end in range(len(whole)):
            found = parse_message(whole[:end], name, ArgumentChecker([BOOK, CLOCK]), "auto", errors="collect")
            kinds = {problem.error.kind for problem in found.problems}
            assert kinds <= {"truncated"}, (whole[:end], found.problems)
