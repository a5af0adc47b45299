"""Messages of the APIs, as their documentation shows them, and conversations through real chat templates."""

from __future__ import annotations

import json
import os
import random
import re
from pathlib import Path
from typing import Any

import pytest

from constrain.cli import models
from constrain.tools import (
    CALL_IDS,
    CountedIds,
    RandomIds,
    Tool,
    ToolCall,
    ToolResult,
    chat_turn,
    from_mcp,
    match_results,
    template_knows_calls,
    to_anthropic,
    to_gemini,
    to_mcp,
    to_openai,
    to_openai_responses,
)
from tests.constrain.demo_model import needs_demo_model

QWEN3 = os.environ.get("CONSTRAIN_QWEN3_TOKENIZER", "")
needs_qwen3 = pytest.mark.skipif(
    not QWEN3, reason="needs Qwen3's tokenizer_config.json: CONSTRAIN_QWEN3_TOKENIZER names its folder"
)
A = ToolCall("c1", "get_weather", {"city": "Zürich", "days": 3})
B = ToolCall("c2", "get_time", {"tz": "UTC"})
RESULTS = [ToolResult("c2", "no such zone", True), ToolResult("c1", {"degrees": 21})]


def test_openai_chat() -> None:
    assert to_openai([A, B], RESULTS, text="Let me see.") == [
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"city": "Zürich", "days": 3}'},
                },
                {"id": "c2", "type": "function", "function": {"name": "get_time", "arguments": '{"tz": "UTC"}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": '{"degrees": 21}'},
        {"role": "tool", "tool_call_id": "c2", "content": "no such zone"},
    ]
    assert to_openai([A])[0]["content"] is None


def test_openai_responses() -> None:
    assert to_openai_responses([B], ["12:00"]) == [
        {"type": "function_call", "call_id": "c2", "name": "get_time", "arguments": '{"tz": "UTC"}'},
        {"type": "function_call_output", "call_id": "c2", "output": "12:00"},
    ]


def test_anthropic() -> None:
    assert to_anthropic([A, B], RESULTS, text="Let me see.") == [
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"city": "Zürich", "days": 3}},
                {"type": "tool_use", "id": "c2", "name": "get_time", "input": {"tz": "UTC"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": '{"degrees": 21}'},
                {"type": "tool_result", "tool_use_id": "c2", "content": "no such zone", "is_error": True},
            ],
        },
    ]


def test_gemini() -> None:
    assert to_gemini(
        [ToolCall(None, "f", {"x": 1}), ToolCall(None, "g"), ToolCall(None, "h")],
        [{"y": 2}, 5, ToolResult(None, "no", True)],
    ) == [
        {
            "role": "model",
            "parts": [
                {"functionCall": {"name": "f", "args": {"x": 1}}},
                {"functionCall": {"name": "g", "args": {}}},
                {"functionCall": {"name": "h", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "f", "response": {"y": 2}}},
                {"functionResponse": {"name": "g", "response": {"output": 5}}},
                {"functionResponse": {"name": "h", "response": {"error": "no"}}},
            ],
        },
    ]
    assert to_gemini([A])[0]["parts"][0]["functionCall"]["id"] == "c1"


def test_mcp_and_back() -> None:
    request_a, _, answer_a, answer_b = to_mcp([A, B], RESULTS)
    assert request_a == {
        "jsonrpc": "2.0",
        "id": "c1",
        "method": "tools/call",
        "params": {"name": "get_weather", "arguments": {"city": "Zürich", "days": 3}},
    }
    assert answer_a["id"] == request_a["id"]
    assert answer_a["result"]["content"] == [{"type": "text", "text": '{"degrees": 21}'}]
    assert answer_a["result"]["structuredContent"] == {"degrees": 21}
    assert answer_b["result"]["isError"] is True
    assert from_mcp(A, answer_a) == RESULTS[1]
    assert from_mcp(B, answer_b) == RESULTS[0]
    assert from_mcp(B, {"error": {"code": 1, "message": "gone"}}) == ToolResult("c2", "gone", True)
    image = {"type": "image", "data": "", "mimeType": "image/png"}
    assert from_mcp(B, {"content": [image]}).content == [image]
    assert [m["id"] for m in to_mcp([ToolCall(None, "a"), ToolCall(None, "b")])] == [0, 1]


@pytest.mark.parametrize(
    ("results", "message"),
    [
        (["one"], "2 calls and 1 results"),
        ({"c1": 1}, "'c2' have no result"),
        ({"c1": 1, "c2": 2, "c3": 3}, "no call has the id 'c3'"),
        ([ToolResult("c1", 1), ToolResult("c1", 2)], "two results"),
        ([ToolResult("c1", 1), 2], "some results"),
        ({"c1": ToolResult("c2", 1), "c2": 1}, "'c1' says that it is for 'c2'"),
    ],
)
def test_calls_and_results_must_match(results: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        match_results([A, B], results)


def test_ids_are_needed_and_distinct() -> None:
    for write in (to_openai, to_openai_responses, to_anthropic):
        with pytest.raises(ValueError, match="'f' has no id"):
            write([ToolCall(None, "f")])
    with pytest.raises(ValueError, match="same id"):
        match_results([A, A], [1, 2])
    assert match_results([A, B], {"c2": 2, "c1": 1})[0] == (A, ToolResult("c1", 1))


# ---- ids -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scheme", "pattern"),
    [
        ("openai", r"call_[a-zA-Z0-9]{24}"),
        ("anthropic", r"toolu_[a-zA-Z0-9]{24}"),
        ("mistral", r"[a-zA-Z0-9]{9}"),  # mistral_common refuses others
    ],
)
def test_random_ids(scheme: str, pattern: str) -> None:
    ids = [call.id for call in CALL_IDS[scheme].assign([ToolCall(None, "f")] * 200)]
    assert len(set(ids)) == 200
    for call_id in ids:
        assert re.fullmatch(pattern, call_id or "")
        assert re.fullmatch(CALL_IDS[scheme].pattern, call_id or "")


def test_an_id_that_is_taken_is_not_given_again() -> None:
    pick = random.Random(0).choice
    few = RandomIds("", 1, lambda letters: pick(letters[:4]))
    history = chat_turn([], [ToolCall("A", "f")])
    ids = {call.id for call in few.assign([ToolCall("B", "f"), ToolCall(None, "f"), ToolCall(None, "f")], history)}
    assert ids == {"B", "C", "D"}
    with pytest.raises(ValueError, match="'x'"):
        few.assign([ToolCall("x", "f"), ToolCall("x", "f")])


def test_counts_go_on_through_the_conversation() -> None:
    kimi, cohere = CALL_IDS["kimi"], CALL_IDS["cohere"]
    calls = [ToolCall(None, "get"), ToolCall(None, "put")]
    first = kimi.assign(calls)
    assert [call.id for call in first] == ["functions.get:0", "functions.put:1"]
    history = chat_turn([{"role": "user", "content": "x"}], first, [1, 2])
    assert [call.id for call in kimi.assign(calls, history)] == ["functions.get:2", "functions.put:3"]
    assert [call.id for call in cohere.assign(calls, history)] == ["2", "3"]
    # Ids that stand in the conversation are looked at, whoever's messages they are; a gap is never filled.
    assert isinstance(kimi, CountedIds)
    assert kimi.start([{"role": "assistant", "tool_calls": [{"id": "functions.a:7", "function": {"name": "a"}}]}]) == 8
    for write in (to_openai, to_anthropic, to_gemini, to_openai_responses):
        assert kimi.start(write(first)) == 2
    assert re.fullmatch(kimi.pattern, "functions.a.b:10")
    assert not re.fullmatch(kimi.pattern, "functions.a:01")


# ---- chat templates --------------------------------------------------------------------------------------------------


def rendered(template: str, messages: list[dict[str, Any]], tools: Any = None) -> str:
    utilities = pytest.importorskip("transformers.utils.chat_template_utils")
    texts, _ = utilities.render_jinja_template([messages], tools=tools, chat_template=template)
    return str(texts[0])


QUESTION = [{"role": "user", "content": "Weather?"}]


@needs_qwen3
def test_qwen3_writes_calls_and_results() -> None:
    template = json.loads((Path(QWEN3) / "tokenizer_config.json").read_text(encoding="utf-8"))["chat_template"]
    assert template_knows_calls(template)
    messages = chat_turn(QUESTION, [A, B], [{"degrees": 21}, "12:00"], text="Let me see.")
    assert QUESTION == [{"role": "user", "content": "Weather?"}]
    tools = [Tool("get_weather").to_openai(), Tool("get_time").to_openai()]
    text = rendered(template, messages, tools)
    assert text.endswith(
        "<|im_start|>assistant\nLet me see.\n"
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich", "days": 3}}\n</tool_call>\n'
        '<tool_call>\n{"name": "get_time", "arguments": {"tz": "UTC"}}\n</tool_call><|im_end|>\n'
        '<|im_start|>user\n<tool_response>\n{"degrees": 21}\n</tool_response>\n'
        "<tool_response>\n12:00\n</tool_response><|im_end|>\n"
    )
    assert text.count('"name": "get_time"') == 2
    # Without text the content is "", which the template needs; with thoughts they stand first.
    text = rendered(template, chat_turn(QUESTION, [B], reasoning="Hm."))
    assert "<think>\nHm.\n</think>\n\n<tool_call>\n" in text


@needs_demo_model
def test_smollm2_knows_no_calls_and_gets_them_as_text() -> None:
    transformers = pytest.importorskip("transformers")
    template = transformers.AutoTokenizer.from_pretrained(models.demo_model_folder()).chat_template
    assert not template_knows_calls(template)
    messages = chat_turn(
        QUESTION,
        [B],
        ["12:00"],
        render=lambda calls: (
            f"<tool_call>{json.dumps([{'name': c.name, 'arguments': c.arguments} for c in calls])}</tool_call>"
        ),
    )
    assert rendered(template, messages).endswith(
        '<|im_start|>assistant\n<tool_call>[{"name": "get_time", "arguments": {"tz": "UTC"}}]</tool_call><|im_end|>\n'
        "<|im_start|>tool\n12:00<|im_end|>\n"
    )


def test_templates_that_want_text_and_no_content() -> None:
    # As DeepSeek V3's has it: calls only where there is no content, arguments joined to text.
    template = (
        "{% for m in messages %}{% if m['role'] == 'assistant' and m['content'] is none %}"
        "{% for t in m['tool_calls'] %}{{ t['type'] + ' ' + t['function']['name'] + ' ' + t['function']['arguments'] }}"
        "{% endfor %}{% endif %}{% endfor %}"
    )
    messages = chat_turn(QUESTION, [B], ["x"], arguments="text", empty_content=None)
    assert rendered(template, messages) == 'function get_time {"tz": "UTC"}'


def test_a_turn_without_calls_is_text() -> None:
    assert chat_turn(QUESTION, [], text="Hello.")[1:] == [{"role": "assistant", "content": "Hello."}]
