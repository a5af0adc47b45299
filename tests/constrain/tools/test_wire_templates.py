"""What real chat templates and encoders write is read back."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings

from constrain.cli import models
from constrain.grammars.tool_formats import detect_format, get_format, start_state
from constrain.tools import Tool, ToolCall, ToolResult, chat_turn
from constrain.tools.parser import parse_message
from constrain.tools.problems import RenderError
from constrain.tools.render import render_calls, render_message
from constrain.vocabulary import Vocabulary
from tests.constrain.demo_model import needs_demo_model
from tests.constrain.tools.wire_cases import CALL_A, CALL_B, CALLS, CHECKER, TOOLS, said
from tests.vocabulary.tokenizers_by_hand import mistral_data

QUESTION = [{"role": "user", "content": "A table, please."}]
CALLED = [CALL_A, CALL_B]
RESULTS = [ToolResult(call.id, "done") for call in CALLED]
DECLARED = [tool.to_openai() for tool in TOOLS]
FEW = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


def template_of(variable):
    folder = os.environ.get(variable, "")
    if not folder:
        pytest.skip(f"{variable} names no folder with a tokenizer_config.json")
    return json.loads((Path(folder) / "tokenizer_config.json").read_text(encoding="utf-8"))["chat_template"]


def rendered(template, messages, **more):
    utils = pytest.importorskip("transformers.utils.chat_template_utils")
    texts, _ = utils.render_jinja_template(
        conversations=[messages], chat_template=template, bos_token="<s>", eos_token="</s>", **more
    )
    return texts[0]


def test_qwen3s_template_and_where_it_lets_the_model_begin():
    template = template_of("CONSTRAIN_QWEN3_TOKENIZER")
    format = get_format(detect_format(template))
    prompt = rendered(template, QUESTION, tools=DECLARED, add_generation_prompt=True)
    for text, reasoning in (("", None), ("Let me see.", None), ("", "Hm.\nYes."), ("Well.", "Hm.")):
        turn = chat_turn(QUESTION, CALLED, RESULTS, text=text, reasoning=reasoning)
        whole = rendered(template, turn, tools=DECLARED)
        answer = whole.removeprefix(prompt).partition("<|im_end|>")[0]
        start = start_state(format, prompt)
        message = parse_message(answer, format, CHECKER, start=start)
        assert said(message.calls) == said(CALLED)
        assert (message.text, message.reasoning) == (text, reasoning)
        assert render_message(format, CALLED, TOOLS, text=text, reasoning=reasoning) == answer
    quiet = rendered(template, QUESTION, tools=DECLARED, add_generation_prompt=True, enable_thinking=False)
    assert start_state(format, quiet).state.value == "after_reasoning"
    assert parse_message("Hi.", format, CHECKER, start=start_state(format, quiet)).text == "Hi."


@FEW
@given(CALLS)
def test_any_calls_in_qwen3s_template(calls):
    template = template_of("CONSTRAIN_QWEN3_TOKENIZER")
    try:
        expected = render_calls("qwen3", calls)
    except RenderError:
        return
    assume("\\u" not in expected)  # the template writes markers in strings as they are, which no parser can read
    whole = rendered(template, chat_turn(QUESTION, calls), tools=DECLARED)
    answer = whole[whole.rindex("<|im_start|>assistant\n") :].removeprefix("<|im_start|>assistant\n")
    message = parse_message(answer, "qwen3", CHECKER, end_texts=["<|im_end|>"])
    assert said(message.calls) == said(calls)


def test_deepseek_v3s_template():
    template = template_of("CONSTRAIN_DEEPSEEK_V3_TOKENIZER")
    turn = chat_turn(QUESTION, CALLED, arguments="text", empty_content=None)
    answer = rendered(template, turn).rpartition("<｜Assistant｜>")[2]
    message = parse_message(answer, detect_format(template), CHECKER, end_texts=["<｜end▁of▁sentence｜>"])
    assert said(message.calls) == said(CALLED)
    assert render_calls("deepseek_v3", CALLED) == answer.removesuffix("<｜end▁of▁sentence｜>")
    # After a single call the template leaves the last marker out; models do not.
    answer = rendered(template, chat_turn(QUESTION, [CALL_A], arguments="text", empty_content=None))
    answer = answer.rpartition("<｜Assistant｜>")[2]
    assert parse_message(answer, "deepseek_v3", CHECKER, errors="collect").truncated
    assert render_calls("deepseek_v3", [CALL_A]) == answer + "<｜tool▁calls▁end｜>"


@pytest.mark.parametrize(
    "name",
    [
        "tekken_240718.json",
        "mistral_instruct_tokenizer_240323.model.v3",
        "mistral_instruct_tokenizer_241114.model.v7",
    ],
)
def test_mistrals_encoders(name):
    path = mistral_data(name)
    from mistral_common.protocol.instruct.messages import AssistantMessage, ToolMessage, UserMessage
    from mistral_common.protocol.instruct.request import ChatCompletionRequest
    from mistral_common.protocol.instruct.tool_calls import FunctionCall
    from mistral_common.protocol.instruct.tool_calls import ToolCall as Theirs
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    tokenizer = MistralTokenizer.from_file(str(path))
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    theirs = [Theirs(id=c.id, function=FunctionCall(name=c.name, arguments=c.arguments_json)) for c in CALLED]
    answers = [ToolMessage(content="done", tool_call_id=call.id) for call in CALLED]
    conversation = [UserMessage(content="A table, please."), AssistantMessage(tool_calls=theirs), *answers]
    ids = tokenizer.encode_chat_completion(ChatCompletionRequest(messages=conversation)).tokens
    ids = ids[ids.index(vocabulary.special_tokens["[TOOL_CALLS]"]) :]
    assert parse_message(ids, "mistral_v3", CHECKER, vocabulary=vocabulary).calls == tuple(CALLED)


@pytest.mark.parametrize("version", ["v3", "v7", "v11", "v13"])
def test_mistrals_templates(version):
    templates = pytest.importorskip("mistral_common.integrations.chat_templates.chat_templates")
    from mistral_common.tokens.tokenizers.base import TokenizerVersion

    template = templates.generate_chat_template(
        spm=False,
        tokenizer_version=TokenizerVersion(version),
        image_support=False,
        audio_support=False,
        thinking_support=version == "v13",
        default_system_prompt=None,
        plain_thinking_support=False,
        use_special_token_variables=False,
        model_settings_fields=None,
        reasoning_effort_values=None,
        reasoning_effort_default=None,
    )
    format = detect_format(template)
    for text in ("",) if version == "v3" else ("", "Let me see."):
        turn = chat_turn(QUESTION, CALLED, RESULTS, text=text)
        answer = rendered(template, turn).partition("[/INST]")[2].partition("</s>")[0]
        message = parse_message(answer, format, CHECKER)
        assert said(message.calls) == said(CALLED)
        assert message.text == text
        assert render_message(format, CALLED, TOOLS, text=text) == answer


@needs_demo_model
def test_smollm2s_calls_stand_in_the_content():
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(models.demo_model_folder())
    turn = chat_turn(QUESTION, CALLED, RESULTS, render=lambda calls: render_calls("smollm2", calls))
    whole = rendered(tokenizer.chat_template, turn)
    prompt = rendered(tokenizer.chat_template, QUESTION, add_generation_prompt=True)
    assert whole.startswith(prompt)
    ids = tokenizer(whole[len(prompt) :], add_special_tokens=False)["input_ids"]
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    message = parse_message(ids, "smollm2", CHECKER, vocabulary=vocabulary, end_texts=["<|im_end|>"])
    assert said(message.calls) == said(CALLED)
    assert start_state(get_format("smollm2"), prompt).state.value == "begin"


def test_a_conversation_of_ones_own_goes_on():
    tools = [Tool("clock", parameters={"type": "object", "properties": {"zone": {"type": "string"}}})]
    messages = list(QUESTION)
    for turn in range(3):
        text = render_calls("kimi_k2", [ToolCall(None, "clock", {"zone": "CET"})], tools, messages=messages)
        assert f"functions.clock:{turn}" in text
        calls = parse_message(text, "kimi_k2", tools, messages=messages).calls
        messages = chat_turn(messages, calls, ["12:00"])
