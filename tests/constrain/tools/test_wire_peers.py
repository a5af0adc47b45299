"""What is rendered is also what another engine's grammars for the same models take."""

import pytest

from constrain.grammars.tool_formats import get_format
from constrain.tools import ToolCall
from constrain.tools.render import render_calls
from tests.constrain.tools.wire_cases import CALL_A, CALL_B, TOOLS

xgrammar = pytest.importorskip("xgrammar")

# The name there, the name here, and the choice: there "required" allows no text before calls, and for Cohere no calls.
PAIRS = [
    ("llama", "llama3_json", "required"),
    ("kimi", "kimi_k2", "required"),
    ("deepseek_r1", "deepseek_v3", "required"),
    ("deepseek_v3_1", "deepseek_v3_1", "required"),
    ("deepseek_v3_2", "deepseek_v3_2", "required"),
    ("qwen_3", "qwen3", "required"),
    ("qwen_3_5", "qwen3_coder", "required"),
    ("qwen_3_coder", "qwen3_coder", "required"),
    ("harmony", "harmony", "required"),
    ("minimax", "minimax_m2", "required"),
    ("glm_4_7", "glm_4_7", "required"),
    ("gemma_4", "gemma_4", "required"),
    ("exaone", "exaone_4", "required"),
    ("cohere", "command_a", "auto"),
]


@pytest.fixture(scope="module")
def compiler():
    tokens = [*(bytes([byte]) for byte in range(256)), b"</s>"]
    info = xgrammar.TokenizerInfo(tokens, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[256])
    return xgrammar.GrammarCompiler(info)


@pytest.mark.parametrize(("theirs", "ours", "choice"), PAIRS)
def test_rendered_calls_are_accepted(compiler, theirs, ours, choice):
    tools = [tool.to_openai() for tool in TOOLS]
    reasoning = "enabled" if ours == "minimax_m2" else "disabled"  # MiniMax M2 always thinks
    tag = xgrammar.get_model_structural_tag(theirs, tools, choice, reasoning=reasoning)
    grammar = compiler.compile_structural_tag(tag)
    format = get_format(ours)
    for number in range(1, 1 + (format.most_calls or 2)):
        calls = [ToolCall(None, call.name, call.arguments) for call in (CALL_A, CALL_B)[:number]]
        text = render_calls(format, calls, TOOLS)
        if ours == "harmony":  # theirs has no blank before the marker, which models write
            text = text.replace(" <|constrain|>", "<|constrain|>") + format.call_stops[0]
        if reasoning == "enabled":  # the prompt has opened the block
            text = "Hm.\n</think>\n\n" + text
        matcher = xgrammar.GrammarMatcher(grammar)
        assert matcher.accept_string(text)
        assert matcher.accept_token(256)
        if choice == "required":
            damaged = xgrammar.GrammarMatcher(grammar)
            assert not damaged.accept_string(text.replace(CALL_A.name, "book_chair", 1))
