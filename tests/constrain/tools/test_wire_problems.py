"""What can be wrong with a message, told apart; and what is no problem."""

import pickle

import pytest

from constrain.errors import ToolCallParseError
from constrain.grammars.tool_formats import StartState, get_format, start_state
from constrain.tools import Tool, ToolCall, ToolChoice, UnknownToolError, WrongArgumentsError
from constrain.tools.parsed import CallFinished, CallProblem, CallStarted, ParsedMessage, ReasoningDelta, TextDelta
from constrain.tools.parser import ToolCallParser, parse_message
from tests.constrain.tools.wire_cases import CALL_A, CHECKER, TOOLS, said

QWEN = '<tool_call>\n{{"name": "{}", "arguments": {}}}\n</tool_call>'
ZONE = "<arg_key>zone</arg_key><arg_value>"
GOOD = QWEN.format("book_table", '{"guest": "Ada", "seats": 4}')


def problem(text, format="qwen3", choice=None, **more):
    message = parse_message(text, format, CHECKER, choice, errors="collect", **more)
    assert len(message.problems) == 1
    with pytest.raises(type(message.problems[0].error)):
        parse_message(text, format, CHECKER, choice, **more)
    return message.problems[0]


def test_a_tool_that_is_not_there():
    found = problem(QWEN.format("book_tabel", "{}") + "\n" + GOOD)
    assert isinstance(found.error, UnknownToolError)
    assert found.error.suggestions == ("book_table",)
    assert found.error.position == len('<tool_call>\n{"name": "')
    assert found.index == 0
    assert found.call is not None
    assert found.call.id is not None
    assert "did you mean 'book_table'" in found.error.feedback
    message = parse_message(QWEN.format("book_tabel", "{}") + "\n" + GOOD, "qwen3", CHECKER, errors="collect")
    assert said(message.calls) == said([CALL_A])


def test_arguments_that_the_tool_does_not_take():
    text = QWEN.format("book_table", '{"guest": "Ada", "seats": "four"}')
    found = problem("Yes.\n" + text + "\n" + GOOD)
    assert isinstance(found.error, WrongArgumentsError)
    assert found.error.path == ("seats",)
    assert found.error.position == len("Yes.\n") + text.index('{"guest"')
    assert found.call == ToolCall(found.call.id, "book_table", {"guest": "Ada", "seats": "four"})
    found = problem(QWEN.format("book_table", '{"seats": 4}'))
    assert isinstance(found.error, WrongArgumentsError)


def test_a_bare_text_where_no_string_may_stand_is_a_wrong_argument():
    text = "<tool_call>\n<function=book_table>\n<parameter=seats>\n{}\n</parameter>\n</function>\n</tool_call>"
    message = parse_message(text.format("four") + "\n" + text.format("True"), "qwen3_coder", CHECKER, errors="collect")
    assert [type(found.error) for found in message.problems] == [WrongArgumentsError] * 2
    assert [found.call.arguments for found in message.problems] == [{"seats": "four"}, {"seats": "True"}]
    found = problem(text.format('1, "guest": "Ada"'), "qwen3_coder")
    assert found.call.arguments == {"seats": '1, "guest": "Ada"'}


@pytest.mark.parametrize(
    ("format", "text", "at", "says"),
    [
        ("qwen3", GOOD + " and more", len(GOOD) + 1, "end of the message"),
        ("qwen3", "</tool_call>", 0, "out of place"),
        ("qwen3", "Let me </think> see", 7, "out of place"),
        ("qwen3", GOOD.replace("}\n<", "\n<"), None, "expected"),
        ("qwen3", GOOD.replace('"name"', '"nome"'), 15, "expected '\"name\":'"),
        ("qwen3", "<tool_call> <function=x>", 12, "expected '{'"),
        ("qwen3", GOOD.replace("Ada", "</tool_call>"), None, r"\u003c"),
        ("qwen3", GOOD.replace('"seats"', '"guest"'), None, "twice"),
        ("qwen3", GOOD.replace("4", "NaN"), None, "JSON value"),
        ("qwen3", "<tool_call>\n[]\n</tool_call>", 12, "expected '{'"),
        ("hermes", GOOD, 14, "arguments"),
        ("smollm2", "<tool_call>[{}]</tool_call>", 13, "name"),
        ("smollm2", "Well. <tool_call>[]</tool_call>", 6, "out of place"),
        ("llama3_json", '{"name": "clock", "parameters": {}}; {"name": "clock", "parameters": {}}', 35, "end of"),
        ("llama3_json", 'So: {"name": "clock", "parameters": {}}', 22, "out of place"),
        ("pythonic", "[clock(zone=CET)]", 12, "Python literal"),
        ("pythonic", '[clock("CET")]', 7, "must have a name"),
        ("pythonic", '[clock(zone="a", zone="b")]', 22, "twice"),
        ("pythonic", "[clock(zone=true)]", 12, "write True"),
        ("pythonic", "[1, 2]", 2, "expected '('"),
        ("qwen3_coder", "<function=clock>\n</function>", 0, "out of place"),
        ("qwen3_coder", "<tool_call>\n<function=clock>\n<parameter=zone>\nA</parameter>\n", 47, "before"),
        (
            "glm_4_5",
            "<tool_call>clock\n<arg_key>zone</arg_key>\n<arg_value><tool_call></arg_value>\n</tool_call>",
            52,
            "hold",
        ),
        (
            "glm_4_5",
            "<tool_call>any_thing\n<arg_key>either</arg_key>\n<arg_value>{a}</arg_value>\n</tool_call>",
            59,
            "JSON",
        ),
        (
            "deepseek_v3_2",
            '<｜DSML｜function_calls>\n<｜DSML｜invoke name="clock">\n<｜DSML｜parameter name="zone" string="false">CET'
            "</｜DSML｜parameter>\n",
            95,
            "JSON",
        ),
        ("glm_4_7", f"<tool_call>clock{ZONE}A</arg_value>{ZONE}B</arg_value></tool_call>", 63, "twice"),
        ("gemma_4", '<|tool_call>call:clock{zone:"CET"}<tool_call|>', 28, "two"),
        ("gemma_4", '<|tool_call>call:clock{"zone":3}<tool_call|>', 23, "without quotes"),
        ("gemma_4", "<|tool_call>call:clock{zone:3,zone:4}<tool_call|>", 30, "twice"),
        ("deepseek_v3", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>clock", 39, "function"),
        (
            "kimi_k2",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.clock:01<|tool_call_argument",
            63,
            "count",
        ),
        ("mistral_v11", "[TOOL_CALLS]clock[CALL_ID]ab-defgh1[ARGS]{}", 26, "id"),
        ("harmony", "Hello", 0, "expected"),
        ("harmony", "<|channel|>commentary to=browser.open <|message|>", 25, "functions"),
        ("command_a", "<|START_RESPONSE|>x<|START_ACTION|>", 19, "out of place"),
    ],
)
def test_what_is_malformed(format, text, at, says):
    found = problem(text, format)
    assert found.error.kind == "malformed"
    assert says in found.error.reason
    if at is not None:
        assert found.error.position == at
    assert "could not be read" in found.error.feedback
    assert pickle.loads(pickle.dumps(found)).error.reason == found.error.reason


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("qwen3", GOOD[:-3]),
        ("qwen3", GOOD[:40]),
        ("qwen3", "<think>\nhmm"),
        ("deepseek_v3_1", "<｜tool▁calls▁begin｜>"),
        ("pythonic", '[clock(zone="C'),
        ("gemma_4", "<|tool_call>call:clock{zone"),
        ("command_a", "<|START_RESPONSE|>It is"),
        ("harmony", "<|channel|>analysis<|message|>x<|end|><|start|>"),
    ],
)
def test_what_is_cut_off(format, text):
    found = problem(text, format)
    assert found.error.kind == "truncated"
    assert found.error.position == len(text)
    assert "cut off" in found.error.feedback


def test_ids_that_are_taken():
    call = '{"tool_call_id": "%s", "tool_name": "clock", "parameters": {}}'
    text = f"<|START_ACTION|>[{call % 0}, {call % 0}]<|END_ACTION|>"
    assert problem(text, "command_a").error.position == text.rindex("{", 0, text.rindex("{"))
    before = [{"role": "assistant", "tool_calls": [{"id": "0", "function": {"name": "clock"}}]}]
    assert "'0'" in problem(f"<|START_ACTION|>[{call % 0}]<|END_ACTION|>", "command_a", messages=before).error.reason


def test_choices():
    assert "no call" in problem(GOOD, choice="none").error.reason
    assert parse_message("Hi.", "qwen3", CHECKER, "none").text == "Hi."
    found = problem("Hi.", choice="required")
    assert found.error.kind == "truncated"
    assert "demanded" in found.error.reason
    assert isinstance(problem(GOOD, choice={"type": "function", "function": {"name": "clock"}}).error, UnknownToolError)
    two = GOOD + "\n" + GOOD
    assert len(parse_message(two, "qwen3", CHECKER).calls) == 2
    found = problem(two, choice=ToolChoice("auto", parallel=False))
    assert found.error.kind == "malformed"
    assert found.error.position == len(GOOD) + 1
    # A call with wrong arguments is a call.
    assert isinstance(problem(QWEN.format("clock", "[]")[:-13], choice="required").error, ToolCallParseError)


def test_events_come_as_soon_as_they_are_certain():
    parser = ToolCallParser("qwen3", TOOLS)
    assert parser.feed("<think>\nhm") == [ReasoningDelta("hm")]
    assert parser.feed("m\n") == [ReasoningDelta("m")]
    assert parser.feed("</thi") == []
    assert parser.feed("nk>\n\nYes") == [TextDelta("Yes")]
    assert parser.feed(".\n<tool") == [TextDelta(".")]
    assert parser.feed('_call>\n{"name": "clo') == []
    assert parser.feed('ck"') == [CallStarted(0, "clock")]
    assert parser.feed(', "arguments": {}}\n</tool_cal') == []
    (finished,) = parser.feed("l>")
    assert isinstance(finished, CallFinished)
    assert parser.feed('\n<tool_call>\n{"name": "clack"') == [CallStarted(1, "clack")]
    (wrong,) = parser.feed(', "arguments": {}}\n</tool_call>')
    assert isinstance(wrong, CallProblem)
    assert wrong.index == 1
    message = parser.finish()
    assert message == ParsedMessage("Yes.", "hmm", (finished.call,), (wrong,))
    assert parser.finish() is message
    with pytest.raises(ValueError, match="finished"):
        parser.feed("x")


def test_line_breaks_are_layout_only_beside_reasoning_and_calls():
    assert parse_message("\n a \n\n", "qwen3", CHECKER).text == "\n a \n\n"
    assert parse_message("\n a \n\n" + GOOD, "qwen3", CHECKER).text == "\n a "
    assert parse_message("<think></think>\n\na\n", "qwen3", CHECKER).text == "a\n"
    assert parse_message("<think></think>\n\na\n", "qwen3", CHECKER).reasoning == ""
    assert parse_message("", "qwen3", CHECKER) == ParsedMessage()


def test_text_that_only_looks_like_a_call():
    assert parse_message("a <tool_cal b", "qwen3", CHECKER).text == "a <tool_cal b"
    assert parse_message("It is {x}", "llama3_json", CHECKER).text == "It is {x}"
    assert parse_message("See [1].", "pythonic", CHECKER).text == "See [1]."
    assert parse_message("<think>No <tool_call> yet.</think>ok", "qwen3", CHECKER).reasoning == "No <tool_call> yet."


def test_text_after_calls_where_a_format_has_it():
    text = "a<|tool_call_start|>[clock()]<|tool_call_end|>\nb"
    message = parse_message(text, "lfm2", CHECKER)
    assert (message.text, message.text_after, len(message.calls)) == ("a", "b", 1)
    assert "out of place" in problem(f"{text}<|tool_call_end|>", "lfm2").error.reason


def test_ends_of_turns():
    assert parse_message(GOOD + "<|im_end|>\n", "qwen3", CHECKER, end_texts=["<|im_end|>"]).calls
    assert parse_message("Hi<|im_end|>", "qwen3", CHECKER, end_texts=["<|im_end|>"]).text == "Hi"
    assert parse_message("<|channel|>final<|message|>Hi<|return|>", "harmony", CHECKER).text == "Hi"
    assert "end of the message" in problem("Hi<|im_end|>x", end_texts=["<|im_end|>"]).error.reason


def test_an_end_of_turn_that_was_not_named_is_told_from_what_is_wrong_otherwise():
    text = GOOD + "<|im_end|>"
    (found,) = parse_message(text, "qwen3", CHECKER, errors="collect").problems
    assert (found.error.kind, found.error.position) == ("malformed", len(GOOD))
    assert found.error.reason == "expected the end of the message, got '<|im_end|>'"
    assert "end_texts=['<|im_end|>'], or parse token ids" in str(found.error)
    assert "end_texts" not in found.error.feedback  # which the model gets
    assert str(pickle.loads(pickle.dumps(found.error))) == str(found.error)
    for cut in range(len(GOOD), len(text) + 1):  # where the pieces are cut changes nothing
        parser = ToolCallParser("qwen3", CHECKER)
        parser.feed(text[:cut])
        parser.feed(text[cut:])
        assert str(parser.finish().problems[0].error) == str(found.error)
    assert parse_message(text + " \n", "qwen3", CHECKER, end_texts=["<|im_end|>"]).calls
    assert "end_texts" in str(problem('{"name": "clock", "arguments": {}}<|im_end|>', "plain_json").error)
    for wrong in ("x", "<", "<|im_end", "< |im_end|>", "</tool_call>", "<" + "x" * 99 + ">"):
        assert "end_texts" not in str(problem(GOOD + wrong).error)


def test_harmonys_messages():
    call = "<|channel|>commentary to=functions.clock <|constrain|>json<|message|>{}<|call|>"
    think = "<|channel|>analysis<|message|>{}<|end|><|start|>assistant"
    message = parse_message(think.format("a") + think.format("b") + call, "harmony", CHECKER)
    assert (message.reasoning, len(message.calls)) == ("a\nb", 1)
    preamble = "<|channel|>commentary<|message|>First.<|end|><|start|>assistant"
    message = parse_message(think.format("a") + preamble + call, "harmony", CHECKER)
    assert (message.reasoning, message.text, len(message.calls)) == ("a", "First.", 1)
    message = parse_message(think.format("a") + "<|channel|>final<|message|>42", "harmony", CHECKER)
    assert (message.reasoning, message.text, message.calls) == ("a", "42", ())


def test_what_the_prompt_began_is_gone_on_with():
    def parsed(format, prompt, text):
        return parse_message(text, format, CHECKER, start=start_state(get_format(format), prompt))

    message = parsed("deepseek_v3_1", "<think>", "hm</think>ok")
    assert (message.reasoning, message.text) == ("hm", "ok")
    message = parsed("qwen3", "<think>\n\n</think>\n\n", "ok")
    assert (message.reasoning, message.text) == (None, "ok")
    message = parsed(
        "harmony",
        "<|start|>assistant<|channel|>analysis<|message|>",
        "hm<|end|><|start|>assistant<|channel|>final<|message|>ok<|return|>",
    )
    assert (message.reasoning, message.text) == ("hm", "ok")
    message = parsed("harmony", "<|start|>assistant<|channel|>commentary to=functions.cl", "ock json<|message|>{}")
    assert said(message.calls) == said([ToolCall(None, "clock", {})])
    message = parsed("command_a", "<|START_RESPONSE|>", "ok<|END_RESPONSE|>")
    assert message.text == "ok"
    with pytest.raises(ToolCallParseError, match=r"at 3: .*out of place"):
        parse_message("ok <think>", "qwen3", CHECKER, start=StartState.AFTER_REASONING)


def test_tools_may_be_given_without_a_checker():
    assert parse_message(GOOD, "qwen3", [Tool("book_table", parameters={"type": "object"}, strict=False)]).calls


def test_a_start_that_the_format_does_not_have():
    with pytest.raises(ValueError, match="no reasoning"):
        ToolCallParser("smollm2", TOOLS, start=StartState.IN_REASONING)
