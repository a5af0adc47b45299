"""Which format a model writes, from its chat template and its tokens.

A template that knows tools shows how its model writes calls: it renders those of the conversation, and mostly tells the
model how to. Each format is known by texts that no other has; tokens decide where a template says nothing, if they
belong to one format alone. What is not certain is an error: a wrong guess is a grammar that the model cannot speak.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from dataclasses import dataclass

from constrain.grammars.errors import ToolFormatError
from constrain.grammars.tool_formats.registry import FORMATS

_ARGUMENTS_FIRST = re.compile(r"""\{\\?["']arguments\\?["']: ?<""")
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class _Sign:
    """A format is meant where a template holds all of `has` and none of `lacks`."""

    format: str
    has: tuple[str, ...]
    lacks: tuple[str, ...] = ()
    also: Callable[[str], object] | None = None

    def shows(self, template: str) -> bool:
        return (
            all(text in template for text in self.has)
            and not any(text in template for text in self.lacks)
            and (self.also is None or bool(self.also(template)))
        )


# The first that shows is taken: those that hold more come before those that hold less.
_SIGNS = (
    _Sign("deepseek_v3_2", ("DSML", "function_calls")),
    _Sign("deepseek_v3", ("<｜tool▁call▁begin｜>", "```json")),
    _Sign("deepseek_v3_1", ("<｜tool▁call▁begin｜>",)),
    _Sign("kimi_k2", ("<|tool_calls_section_begin|>",)),
    _Sign("harmony", ("<|channel|>", "<|message|>", "functions.")),
    _Sign("gemma_4", ("<|tool_call>call:",)),
    _Sign("function_gemma", ("<start_function_call>",)),
    _Sign("minimax_m2", ("minimax:tool_call", "<invoke ")),
    _Sign("qwen3_coder", ("<function=", "<parameter=", "<tool_call>")),
    _Sign("glm_4_7", ("<arg_key>", "</arg_key><arg_value>")),
    _Sign("glm_4_5", ("<arg_key>", "<arg_value>")),
    _Sign("command_a", ("<|START_ACTION|>", "tool_call_id")),
    _Sign("mistral_v11", ("[TOOL_CALLS]", "[CALL_ID]", "[ARGS]")),
    _Sign("mistral_v13", ("[TOOL_CALLS]", "[ARGS]")),
    _Sign("mistral_v3", ("[TOOL_CALLS]",)),
    _Sign("jamba", ("<tool_calls>",)),
    _Sign("lfm2", ("<|tool_call_start|>",)),
    _Sign("lfm2", ("<|tool_list_start|>",)),
    _Sign("phi_4_mini", ("<|tool_call|>", "<|/tool_call|>")),
    _Sign("granite_3", ("<|tool_call|>", "<|start_of_role|>")),
    _Sign("granite_3_1", ("<tool_call>", "<|start_of_role|>"), ("</tool_call>",)),
    _Sign("granite_4", ("<tool_call>", "</tool_call>", "<|start_of_role|>")),
    _Sign("exaone_4", ("<tool_call>", "[|assistant|]")),
    _Sign("smollm3", ("<tool_call>", "xml_tools", "python_tools")),
    _Sign("smollm2", ("<tool_call>[",)),
    _Sign("hermes", ("<tool_call>",), also=_ARGUMENTS_FIRST.search),
    _Sign("qwen3", ("<tool_call>", "</tool_call>", "arguments", "name")),
    _Sign("pythonic", ("func_name1(params_name1=params_value1",)),
    _Sign("llama3_json", ("<|start_header_id|>", '"name": ', '"parameters": '), ("<TOOLCALL>",)),
)

# Tokens that belong to the models of one format.
_TOKENS = (
    ("kimi_k2", ("<|tool_calls_section_begin|>",)),
    ("harmony", ("<|channel|>", "<|message|>", "<|call|>")),
    ("gemma_4", ("<|tool_call>", "<tool_call|>")),
    ("function_gemma", ("<start_function_call>",)),
    ("minimax_m2", ("<minimax:tool_call>",)),
    ("command_a", ("<|START_ACTION|>",)),
    ("jamba", ("<tool_calls>", "</tool_calls>")),
    ("lfm2", ("<|tool_call_start|>",)),
    ("phi_4_mini", ("<|tool_call|>", "<|/tool_call|>")),
)

_SEVERAL = (
    (("<tool_call>",), ("qwen3", "qwen3_coder", "hermes", "glm_4_5", "glm_4_7", "granite_4")),
    (("<｜tool▁call▁begin｜>",), ("deepseek_v3", "deepseek_v3_1")),
    (("[TOOL_CALLS]",), ("mistral_v3", "mistral_v11", "mistral_v13")),
    (("<|python_tag|>",), ("llama3_json", "llama3_builtin", "pythonic")),
)


def takes_tools(chat_template: str | None) -> bool:
    """Whether a chat template shows a model the tools that are handed to it."""
    return chat_template is not None and "tools" in chat_template


def detect_format(chat_template: str | None, tokens: Container[str] = ()) -> str:
    """The name of the format that a model writes.

    Args:
        chat_template: the template of its tokenizer; None if it has none.
        tokens: the texts of its tokens, as far as they are known: at least those of the markers.

    Raises:
        ToolFormatError: neither tells; it says what was seen, and lists the formats there are.
    """
    template = chat_template or ""
    for sign in _SIGNS:
        if sign.shows(template):
            return sign.format
    for name, texts in _TOKENS:
        if all(text in tokens for text in texts):
            return name
    raise ToolFormatError("auto", "format", _seen(chat_template, tokens))


def _seen(chat_template: str | None, tokens: Container[str]) -> str:
    if chat_template is None:
        template = "there is no chat template"
    elif "tool" in chat_template:
        template = "the chat template speaks of tools, but in no format that is known"
    else:
        template = "the chat template knows nothing of tools"
    known = dict.fromkeys(text for format in FORMATS.values() for text in format.markers if text in tokens)
    shown = ", ".join(list(known)[:_SHOWN]) or "none that calls are written with"
    several = [name for texts, names in _SEVERAL if all(text in tokens for text in texts) for name in names]
    maybe = f"; perhaps one of {', '.join(several)}" if several else ""
    if chat_template is None or takes_tools(chat_template):
        way_out = f"Name the format: {', '.join(FORMATS)}"
    else:
        others = ", ".join(name for name in FORMATS if name != "plain_json")
        way_out = (
            'Name the format "plain_json", which generate_tool_calls takes here (its system prompt tells the model of '
            f"the tools and how to call them); or another: {others}"
        )
    return (
        f"it cannot be told which format the model writes: {template}, and of its tokens there are {shown}{maybe}. "
        f"{way_out}"
    )
