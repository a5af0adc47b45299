"""Where generation begins, read from the end of a prompt."""

import pytest

from constrain.errors import ToolFormatError
from constrain.grammars.tool_formats import GenerationStart, StartState, get_format, start_state

BEGIN, IN, AFTER = StartState.BEGIN, StartState.IN_REASONING, StartState.AFTER_REASONING


@pytest.mark.parametrize(
    ("format", "prompt", "state"),
    [
        ("qwen3", "<|im_start|>assistant\n", BEGIN),
        ("qwen3", "<|im_start|>assistant\n<think>\n\n</think>\n\n", AFTER),
        ("qwen3", "<|im_start|>assistant\n<think>\n", IN),
        (
            "qwen3",
            "<think>\nx\n</think>\n\nSo.<|im_end|>\n<|im_start|>user\n?<|im_end|>\n<|im_start|>assistant\n",
            BEGIN,
        ),
        ("deepseek_v3_1", "<｜Assistant｜><think>", IN),
        ("deepseek_v3_1", "<｜Assistant｜></think>", AFTER),
        ("glm_4_5", "<|assistant|>\n<think></think>", AFTER),
        ("minimax_m2", "]~b]ai\n<think>\n", IN),
        ("gemma_4", "<|turn>model\n", BEGIN),
        ("gemma_4", "<|turn>model\n<|channel>thought\n<channel|>", AFTER),
        ("mistral_v13", "[/INST]", BEGIN),
        ("llama3_json", "<|start_header_id|>assistant<|end_header_id|>\n\n", BEGIN),
        ("command_a", "<|CHATBOT_TOKEN|><|START_RESPONSE|>", StartState.IN_ANSWER),
        ("command_a", "<|CHATBOT_TOKEN|><|START_THINKING|>", IN),
    ],
)
def test_state(format, prompt, state):
    assert start_state(get_format(format), prompt) == GenerationStart(state)


@pytest.mark.parametrize(
    "prefix",
    ["", "<|channel|>analysis<|message|>", "<|channel|>final<|message|>It", "<|channel|>commentary to=functions.f "],
)
def test_what_follows_harmonys_header_is_part_of_the_message(prefix):
    prompt = f"<|start|>user<|message|>x<|end|><|start|>assistant{prefix}"
    assert start_state(get_format("harmony"), prompt) == GenerationStart(BEGIN, prefix)


@pytest.mark.parametrize(
    "prompt",
    [
        "<|start|>user<|message|>x<|end|>",
        "<|start|>assistant<|channel|>final<|message|>x<|return|>",
        "<|start|>assistant<|channel|>analysis<|message|>x<|end|>",
    ],
)
def test_a_prompt_that_ends_in_no_message_of_harmony_is_refused(prompt):
    with pytest.raises(ToolFormatError, match="generation prompt"):
        start_state(get_format("harmony"), prompt)
