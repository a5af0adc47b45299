"""Formats that put each call, or each part of one, between markers of their own: DeepSeek, Kimi, harmony; and those
that write a call as Python does or as Gemma does.

Those without `verified` are unverified against a template: none was to hand.
"""

from __future__ import annotations

from constrain.grammars.tool_formats.dialects import BareArguments, PythonArguments
from constrain.grammars.tool_formats.format import Format, Reasoning
from constrain.grammars.tool_formats.ids import CountedCallIds
from constrain.grammars.tool_formats.names import IDENTIFIER, PYTHON_NAME, SHORT_NAME, WORD_NAME

_THINK_TAGS = ("<think>", "</think>")
_DEEPSEEK = (
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁sep｜>",
)

DEEPSEEK_V3 = Format(
    "deepseek_v3",
    # The chat template leaves the closing marker out after a single call; the models write it.
    first="<｜tool▁calls▁begin｜>",
    call="<｜tool▁call▁begin｜>function<｜tool▁sep｜>⟨name⟩\n```json\n·⟨arguments⟩⏎```<｜tool▁call▁end｜>",
    models="DeepSeek V3, R1 and R1-0528",
    verified="chat template of DeepSeek V3",
    between="⏎",
    last="<｜tool▁calls▁end｜>",
    reasoning=Reasoning("<think>", "</think>", begin="\n", end="\n", after="\n\n"),
    markers=(*_DEEPSEEK, *_THINK_TAGS),
    names=SHORT_NAME,
)

DEEPSEEK_V3_1 = Format(
    "deepseek_v3_1",
    first="<｜tool▁calls▁begin｜>",
    call="<｜tool▁call▁begin｜>⟨name⟩<｜tool▁sep｜>·⟨arguments⟩·<｜tool▁call▁end｜>",
    models="DeepSeek V3.1 and V3.2-Exp",
    last="<｜tool▁calls▁end｜>",
    reasoning=Reasoning("<think>", "</think>"),
    markers=(*_DEEPSEEK, *_THINK_TAGS),
    names=SHORT_NAME,
)

KIMI_K2 = Format(
    "kimi_k2",
    first="<|tool_calls_section_begin|>",
    # The id is functions.NAME:COUNT as a whole.
    call="<|tool_call_begin|>functions.⟨name⟩:⟨count⟩<|tool_call_argument_begin|>·⟨arguments⟩·<|tool_call_end|>",
    models="Kimi K2 and K2.5",
    last="<|tool_calls_section_end|>",
    reasoning=Reasoning("<think>", "</think>"),
    markers=(
        "<|tool_calls_section_begin|>",
        "<|tool_calls_section_end|>",
        "<|tool_call_begin|>",
        "<|tool_call_argument_begin|>",
        "<|tool_call_end|>",
        *_THINK_TAGS,
    ),
    ids=CountedCallIds("functions.{name}:{count}"),
    names=SHORT_NAME,
)

HARMONY = Format(
    "harmony",
    call=(
        "<|channel|>commentary to=functions.⟨name⟩ ⟨!<|constrain|>⟩json<|message|>·⟨arguments⟩·",
        " to=functions.⟨name⟩<|channel|>commentary ⟨!<|constrain|>⟩json<|message|>·⟨arguments⟩·",
    ),
    models="gpt-oss",
    text="before",
    answer_open="<|channel|>final<|message|>",
    preamble_open="<|channel|>commentary<|message|>",
    preamble_close="<|end|><|start|>assistant",
    reasoning=Reasoning("<|channel|>analysis<|message|>", "<|end|>", after="<|start|>assistant", many=True),
    markers=("<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|constrain|>", "<|return|>", "<|call|>"),
    header="<|start|>assistant",
    call_stops=("<|call|>",),
    text_stops=("<|return|>",),
    most_calls=1,
    names=SHORT_NAME,
)

LLAMA3_BUILTIN = Format(
    "llama3_builtin",
    # Code after the tag, for the interpreter, is no call of a tool and not part of this format.
    call="<|python_tag|>⟨name⟩.call(⟨arguments⟩)",
    models="Llama 3.1 with tools from its own list (brave_search, wolfram_alpha)",
    arguments=PythonArguments(),
    text="instead",
    markers=("<|python_tag|>",),
    call_stops=("<|eom_id|>",),
    text_stops=("<|eot_id|>",),
    most_calls=1,
    names=IDENTIFIER,
)

PYTHONIC = Format(
    "pythonic",
    first="⟨?<|python_start|>⟩[·",
    call="⟨name⟩(⟨arguments⟩)",
    models="Llama 3.2 and 4, ToolACE, Olmo 3",
    arguments=PythonArguments(),
    between="·,␣",
    last="·]⟨?<|python_end|>⟩",
    text="instead",
    markers=("<|python_start|>", "<|python_end|>", "<|python_tag|>"),
    names=PYTHON_NAME,
)

LFM2 = Format(
    "lfm2",
    # Text after the calls is unverified. Some templates write JSON between the same markers.
    first="<|tool_call_start|>·[·",
    call="⟨name⟩(⟨arguments⟩)",
    models="LFM2",
    arguments=PythonArguments(),
    between="·,␣",
    last="·]·<|tool_call_end|>",
    text="around",
    markers=("<|tool_call_start|>", "<|tool_call_end|>"),
    names=PYTHON_NAME,
)

FUNCTION_GEMMA = Format(
    "function_gemma",
    call="<start_function_call>call:⟨name⟩⟨arguments⟩<end_function_call>",
    models="FunctionGemma 270M",
    arguments=BareArguments("<escape>"),
    markers=("<start_function_call>", "<end_function_call>", "<escape>"),
    call_stops=("<start_function_response>", "<end_of_turn>"),
    text_stops=("<end_of_turn>",),
    names=WORD_NAME,
)

GEMMA_4 = Format(
    "gemma_4",
    call="<|tool_call>call:⟨name⟩⟨arguments⟩<tool_call|>",
    models="Gemma 4",
    arguments=BareArguments('<|"|>'),
    reasoning=Reasoning("<|channel>thought\n", "<channel|>"),
    markers=("<|tool_call>", "<tool_call|>", '<|"|>', "<|channel>", "<channel|>"),
    call_stops=("<|tool_response>", "<turn|>"),
    text_stops=("<turn|>",),
    names=WORD_NAME,
)

ALL = (
    DEEPSEEK_V3,
    DEEPSEEK_V3_1,
    KIMI_K2,
    HARMONY,
    LLAMA3_BUILTIN,
    PYTHONIC,
    LFM2,
    FUNCTION_GEMMA,
    GEMMA_4,
)
