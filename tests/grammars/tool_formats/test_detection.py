"""Formats told from chat templates and tokens. The templates are those of real tokenizers where there are any."""

import json
import os
import pickle
from pathlib import Path

import pytest

from constrain.errors import ToolFormatError
from constrain.grammars.tool_formats import FORMATS, detect_format

TOKENIZERS = {
    "CONSTRAIN_QWEN3_TOKENIZER": "qwen3",
    "CONSTRAIN_DEEPSEEK_V3_TOKENIZER": "deepseek_v3",
    "CONSTRAIN_GPT_OSS_TOKENIZER": "harmony",
    "CONSTRAIN_LLAMA3_1_TOKENIZER": None,
    "CONSTRAIN_GEMMA3_TOKENIZER": None,
}


@pytest.mark.parametrize(("variable", "format"), TOKENIZERS.items())
def test_real_tokenizers(variable, format):
    folder = os.environ.get(variable, "")
    if not folder:
        pytest.skip(f"{variable} names no folder with a tokenizer")
    template = json.loads((Path(folder) / "tokenizer_config.json").read_text()).get("chat_template")
    added = json.loads((Path(folder) / "tokenizer.json").read_text())["added_tokens"]
    tokens = {token["content"] for token in added}
    if format is None:  # their templates know nothing of tools
        with pytest.raises(ToolFormatError, match="knows nothing of tools"):
            detect_format(template, tokens)
        return
    assert detect_format(template, tokens) == format
    if template is not None:
        assert detect_format(template) == format


@pytest.mark.parametrize(
    ("version", "format"),
    [("v3", "mistral_v3"), ("v7", "mistral_v3"), ("v11", "mistral_v11"), ("v13", "mistral_v13")],
)
def test_mistrals_own_templates(version, format):
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
    assert detect_format(template) == format


# How templates write a call, in the fewest words.
WRITTEN = {
    "hermes": '<tool_call>\\n{"arguments": <dict>, "name": <text>}\\n</tool_call>',
    "qwen3_coder": "<tool_call>\n<function={{ name }}>\n<parameter={{ key }}>",
    "llama3_json": "<|start_header_id|> {{- '{\"name\": \"' + name + '\", ' }} {{- '\"parameters\": ' }}",
    "pythonic": "[func_name1(params_name1=params_value1, params_name2=params_value2...)]",
    "deepseek_v3_1": "<｜tool▁call▁begin｜>{{ name }}<｜tool▁sep｜>{{ arguments }}",
    "deepseek_v3_2": "{% set d = '｜DSML｜' %}<{{ d }}function_calls>",
    "kimi_k2": "<|tool_calls_section_begin|><|tool_call_begin|>",
    "glm_4_5": "<tool_call>{{ name }}\n<arg_key>{{ k }}</arg_key>\n<arg_value>{{ v }}</arg_value>",
    "glm_4_7": "<tool_call>{{ name }}<arg_key>{{ k }}</arg_key><arg_value>{{ v }}</arg_value>",
    "minimax_m2": "{% set begin = '<minimax:tool_call>' %}<invoke name=",
    "harmony": "<|channel|>commentary to=functions.x <|message|>",
    "function_gemma": "<start_function_call>call:",
    "gemma_4": "<|tool_call>call:",
    "phi_4_mini": "<|tool_call|>[...]<|/tool_call|>",
    "granite_3": "<|start_of_role|>assistant<|end_of_role|><|tool_call|>",
    "granite_4": "<|start_of_role|>assistant<|end_of_role|><tool_call>\n</tool_call>",
    "command_a": '<|START_ACTION|>[{"tool_call_id": 0}]',
    "smollm2": '<tool_call>[{"name": "f", "arguments": {}}]</tool_call>',
    "smollm3": "{% if xml_tools %}<tool_call></tool_call>{% elif python_tools %}<code>{% endif %}",
    "jamba": "<tool_calls>[]</tool_calls>",
    "exaone_4": "[|assistant|]<tool_call>{}</tool_call>",
    "lfm2": "<|tool_list_start|>[]<|tool_list_end|>",
}


@pytest.mark.parametrize(("format", "template"), WRITTEN.items())
def test_templates_by_what_they_write(format, template):
    assert detect_format(template) == format


@pytest.mark.parametrize(
    ("template", "tokens", "says"),
    [
        (None, (), "no chat template"),
        ("{{ messages }}", (), "knows nothing of tools"),
        ("{{ tools }} <seed:tool_call>", (), "no format that is known"),
        (None, ("<tool_call>", "</tool_call>"), "qwen3, qwen3_coder"),
        (None, ("[TOOL_CALLS]",), "mistral_v3, mistral_v11"),
    ],
)
def test_what_is_not_certain_is_an_error_that_lists_the_formats(template, tokens, says):
    with pytest.raises(ToolFormatError, match=says) as refused:
        detect_format(template, tokens)
    assert all(name in str(refused.value) for name in FORMATS)
    assert (refused.value.format, refused.value.field) == ("auto", "format")
    assert str(refused.value) == str(pickle.loads(pickle.dumps(refused.value))) == refused.value.reason
    assert refused.value.reason.startswith("it cannot be told which format")


def test_tokens_decide_where_no_template_does():
    assert detect_format(None, {"<|tool_calls_section_begin|>"}) == "kimi_k2"
    assert detect_format("{{ messages }}", {"<start_function_call>"}) == "function_gemma"
