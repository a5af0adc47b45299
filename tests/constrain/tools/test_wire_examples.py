"""Every format by literal examples: what a model writes, and what is read."""

import pytest

from constrain.grammars.tool_formats import FORMATS
from constrain.tools import ToolCall
from constrain.tools.parser import ToolCallParser, parse_message
from constrain.tools.render import render_calls
from tests.constrain.tools.wire_cases import CALL_A, CALL_B, CHECKER, TOOLS, said

A = '{"guest": "Ada", "seats": 4}'
B = '{"zone": "CET"}'
NAME_FIRST = ['{"name": "book_table", "arguments": ' + A + "}", '{"name": "clock", "arguments": ' + B + "}"]


def tags(a, b):
    return [f"<tool_call>{a}</tool_call>", f"<tool_call>{a}</tool_call>\n<tool_call>{b}</tool_call>"]


HERMES = tags(*(f"\n{call}\n" for call in NAME_FIRST))
DEEPSEEK = (
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁sep｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁calls▁end｜>",
)
BEGIN, CALL, SEP, END, LAST = DEEPSEEK
V3 = [
    f"{CALL}function{SEP}{name}\n```json\n{arguments}\n```{END}"
    for name, arguments in (("book_table", A), ("clock", B))
]
V3_1 = [f"{CALL}{name}{SEP}{arguments}{END}" for name, arguments in (("book_table", A), ("clock", B))]
KIMI = [
    f"<|tool_call_begin|>functions.{name}:{i}<|tool_call_argument_begin|>{arguments}<|tool_call_end|>"
    for i, (name, arguments) in enumerate((("book_table", A), ("clock", B)))
]
DSML = [
    '<｜DSML｜invoke name="book_table">\n<｜DSML｜parameter name="guest" string="true">Ada</｜DSML｜parameter>\n'
    '<｜DSML｜parameter name="seats" string="false">4</｜DSML｜parameter>\n</｜DSML｜invoke>',
    '<｜DSML｜invoke name="clock">\n<｜DSML｜parameter name="zone" string="true">CET</｜DSML｜parameter>\n'
    "</｜DSML｜invoke>",
]
MINIMAX = [
    '<invoke name="book_table">\n<parameter name="guest">Ada</parameter>\n'
    '<parameter name="seats">4</parameter>\n</invoke>',
    '<invoke name="clock">\n<parameter name="zone">CET</parameter>\n</invoke>',
]
GEMMA = ["call:book_table{guest:<q>Ada<q>,seats:4}", "call:clock{zone:<q>CET<q>}"]
COMMAND = [
    '{"tool_call_id": "0", "tool_name": "book_table", "parameters": ' + A + "}",
    '{"tool_call_id": "1", "tool_name": "clock", "parameters": ' + B + "}",
]


def listed(begin, calls, between, end):
    return [begin + calls[0] + end, begin + between.join(calls) + end]


EXAMPLES = {
    "qwen3": HERMES,
    "granite_4": HERMES,
    "smollm3": HERMES,
    "hermes": tags(
        '\n{"arguments": ' + A + ', "name": "book_table"}\n', '\n{"arguments": ' + B + ', "name": "clock"}\n'
    ),
    "exaone_4": tags(*NAME_FIRST),
    "qwen3_coder": tags(
        "\n<function=book_table>\n<parameter=guest>\nAda\n</parameter>\n<parameter=seats>\n4\n</parameter>\n</function>\n",
        "\n<function=clock>\n<parameter=zone>\nCET\n</parameter>\n</function>\n",
    ),
    "llama3_json": ['{"name": "book_table", "parameters": ' + A + "}"],
    "llama3_builtin": ['<|python_tag|>book_table.call(guest="Ada", seats=4)'],
    "pythonic": ['[book_table(guest="Ada", seats=4)]', '[book_table(guest="Ada", seats=4), clock(zone="CET")]'],
    "lfm2": listed(
        "<|tool_call_start|>[", ['book_table(guest="Ada", seats=4)', 'clock(zone="CET")'], ", ", "]<|tool_call_end|>"
    ),
    "mistral_v3": listed(
        "[TOOL_CALLS][",
        [f'{call[:-1]}, "id": "{id}"}}' for call, id in zip(NAME_FIRST, (CALL_A.id, CALL_B.id), strict=True)],
        ", ",
        "]",
    ),
    "mistral_v11": listed(
        "",
        [f"[TOOL_CALLS]book_table[CALL_ID]{CALL_A.id}[ARGS]{A}", f"[TOOL_CALLS]clock[CALL_ID]{CALL_B.id}[ARGS]{B}"],
        "",
        "",
    ),
    "mistral_v13": listed("", [f"[TOOL_CALLS]book_table[ARGS]{A}", f"[TOOL_CALLS]clock[ARGS]{B}"], "", ""),
    "deepseek_v3": listed(BEGIN, V3, "\n", LAST),
    "deepseek_v3_1": listed(BEGIN, V3_1, "", LAST),
    "deepseek_v3_2": listed("\n\n<｜DSML｜function_calls>\n", DSML, "\n", "\n</｜DSML｜function_calls>"),
    "kimi_k2": listed("<|tool_calls_section_begin|>", KIMI, "", "<|tool_calls_section_end|>"),
    "glm_4_5": tags(
        "book_table\n<arg_key>guest</arg_key>\n<arg_value>Ada</arg_value>\n"
        "<arg_key>seats</arg_key>\n<arg_value>4</arg_value>\n",
        "clock\n<arg_key>zone</arg_key>\n<arg_value>CET</arg_value>\n",
    ),
    "glm_4_7": [
        "".join(calls)
        for calls in listed(
            "",
            [
                "<tool_call>book_table<arg_key>guest</arg_key><arg_value>Ada</arg_value>"
                "<arg_key>seats</arg_key><arg_value>4</arg_value></tool_call>",
                "<tool_call>clock<arg_key>zone</arg_key><arg_value>CET</arg_value></tool_call>",
            ],
            "",
            "",
        )
    ],
    "minimax_m2": listed("\n<minimax:tool_call>\n", MINIMAX, "\n", "\n</minimax:tool_call>"),
    "harmony": ["<|channel|>commentary to=functions.book_table <|constrain|>json<|message|>" + A],
    "function_gemma": [
        text.replace("<q>", "<escape>")
        for text in listed("", [f"<start_function_call>{call}<end_function_call>" for call in GEMMA], "", "")
    ],
    "gemma_4": [
        text.replace("<q>", '<|"|>')
        for text in listed("", [f"<|tool_call>{call}<tool_call|>" for call in GEMMA], "", "")
    ],
    "phi_4_mini": listed("<|tool_call|>[", NAME_FIRST, ", ", "]<|/tool_call|>"),
    "granite_3": listed("<|tool_call|>[", NAME_FIRST, ", ", "]"),
    "granite_3_1": listed("<tool_call>[", NAME_FIRST, ", ", "]"),
    "command_a": listed("<|START_ACTION|>[\n    ", COMMAND, ",\n    ", "\n]<|END_ACTION|>"),
    "smollm2": listed("<tool_call>[\n", NAME_FIRST, ",\n", "\n]</tool_call>"),
    "jamba": listed("<tool_calls>[\n    ", NAME_FIRST, ",\n    ", "\n]</tool_calls>"),
    "plain_json": listed("", NAME_FIRST, "\n", ""),
}


def test_there_is_an_example_of_every_format():
    assert set(EXAMPLES) == set(FORMATS)


@pytest.mark.parametrize(
    ("format", "number", "text"), [(f, n + 1, t) for f, ts in EXAMPLES.items() for n, t in enumerate(ts)]
)
def test_examples_are_read_and_written(format, number, text):
    calls = [CALL_A, CALL_B][:number]
    message = parse_message(text, format, CHECKER)
    assert said(message.calls) == said(calls)
    assert (message.text, message.reasoning) == ("", None)
    if FORMATS[format].writes_ids:
        given = calls if "mistral" in format else [ToolCall(None, c.name, c.arguments) for c in calls]
        if "mistral" in format:
            assert message.calls == tuple(calls)
    else:
        given = calls
    assert render_calls(format, given, TOOLS) == text


@pytest.mark.parametrize(("format", "text"), [(f, t) for f, ts in EXAMPLES.items() for t in ts])
def test_any_cut_into_pieces_reads_the_same(format, text):
    whole = parse_message(text, format, CHECKER)
    for cut in range(len(text) + 1):
        parser = ToolCallParser(format, CHECKER)
        parser.feed(text[:cut])
        parser.feed(text[cut:])
        assert said(parser.finish().calls) == said(whole.calls)
    parser = ToolCallParser(format, CHECKER)
    for c in text:
        parser.feed(c)
    assert said(parser.finish().calls) == said(whole.calls)


@pytest.mark.parametrize(("format", "text"), [(f, ts[-1]) for f, ts in EXAMPLES.items()])
def test_whatever_is_cut_off_is_truncated_or_a_message_that_could_end_there(format, text):
    whole = said(parse_message(text, format, CHECKER).calls)
    for cut in range(len(text)):
        message = parse_message(text[:cut], format, CHECKER, errors="collect")
        assert said(message.calls) == whole[: len(message.calls)]
        assert [problem.error.kind for problem in message.problems] in ([], ["truncated"])
        if not message.problems:
            assert not message.text.strip() or FORMATS[format].text != "never"
            assert not any(trigger in message.text for trigger in FORMATS[format].triggers)


VARIANTS = [
    ("qwen3", "<tool_call>" + NAME_FIRST[0] + "</tool_call>"),
    (
        "qwen3",
        '<tool_call>\n\n { "name" :"book_table"}'.replace(' :"', ':"').replace(
            "}", f', "arguments":\t{A} }} </tool_call>\n'
        ),
    ),
    ("harmony", "<|channel|>commentary to=functions.book_table json<|message|>" + A + "<|call|>"),
    ("harmony", " to=functions.book_table<|channel|>commentary <|constrain|>json<|message|>" + A),
    ("harmony", " to=functions.book_table<|channel|>commentary json<|message|>" + A + "<|call|>"),
    ("harmony", "\n  to=functions.book_table<|channel|>commentary json<|message|>" + A),
    ("llama3_json", "<|python_tag|>" + '{"name":"book_table","parameters":' + A + "}<|eom_id|>"),
    ("pythonic", "<|python_start|>[book_table(guest='Ada', seats=4)]<|python_end|>"),
    ("pythonic", '[ book_table( guest = "Ada",\n seats = 4 ) ]'),
    ("glm_4_5", EXAMPLES["glm_4_5"][0] + "<|observation|>"),
    ("deepseek_v3_2", EXAMPLES["deepseek_v3_2"][0].lstrip("\n")),
    ("mistral_v13", f"[TOOL_CALLS] book_table[ARGS] {A} "),
]


@pytest.mark.parametrize(("format", "text"), VARIANTS)
def test_layouts_that_a_format_leaves_open(format, text):
    assert said(parse_message(text, format, CHECKER).calls) == said([CALL_A])


def test_calls_have_ids_that_go_on_from_the_conversation():
    before = [{"role": "assistant", "tool_calls": [{"id": "functions.clock:6", "function": {"name": "clock"}}]}]
    text = EXAMPLES["kimi_k2"][1].replace(":0<", ":7<").replace(":1<", ":8<")
    message = parse_message(text, "kimi_k2", CHECKER, messages=before)
    assert [call.id for call in message.calls] == ["functions.book_table:7", "functions.clock:8"]
    calls = [ToolCall(None, call.name, call.arguments) for call in message.calls]
    assert render_calls("kimi_k2", calls, messages=before) == text
    assert render_calls("kimi_k2", message.calls) == text
    ids = [call.id for call in parse_message(EXAMPLES["qwen3"][1], "qwen3", CHECKER).calls]
    assert len(set(ids)) == 2
    assert all(call_id.startswith("call_") for call_id in ids)
    ids = [call.id for call in parse_message(EXAMPLES["mistral_v13"][1], "mistral_v13", CHECKER).calls]
    assert len(set(ids)) == 2
    assert all(len(call_id) == 9 for call_id in ids)
    command = [{"role": "assistant", "tool_calls": [{"id": "0", "function": {"name": "clock"}}]}]
    text = EXAMPLES["command_a"][0].replace('"0"', '"1"')
    assert parse_message(text, "command_a", CHECKER, messages=command).calls[0].id == "1"


def test_an_empty_list_says_that_nothing_is_called():
    assert parse_message("<tool_call>[]</tool_call>", "smollm2", CHECKER).calls == ()
    assert parse_message("<tool_call>[\n]</tool_call>", "smollm2", CHECKER).calls == ()
