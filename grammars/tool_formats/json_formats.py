"""Formats whose calls are JSON objects, alone, in lists or in tags.

The layout in the templates is what the models' chat templates write; within the JSON and around it any whitespace is
taken.

Those without `verified` are unverified against a template: none was to hand.
"""

from __future__ import annotations

from constrain.grammars.tool_formats.format import Format, Reasoning
from constrain.grammars.tool_formats.ids import CountedCallIds, RandomCallIds
from constrain.grammars.tool_formats.names import SHORT_NAME

_NAME_FIRST = '{·"name":␣"⟨json_name⟩"·,␣"arguments":␣⟨arguments⟩·}'
_TOOL_CALL = ("<tool_call>", "</tool_call>")
_THINK_TAGS = ("<think>", "</think>")
_THINK = Reasoning("<think>", "</think>", begin="\n", end="\n", after="\n\n")
_LLAMA_STOPS = ("<|eot_id|>", "<|eom_id|>")
_MISTRAL_IDS = RandomCallIds("", 9)

QWEN3 = Format(
    "qwen3",
    call=f"<tool_call>⏎{_NAME_FIRST}⏎</tool_call>",
    models="Qwen2.5, Qwen3, Qwen3-Next and models trained on their layout",
    verified="chat template of Qwen3",
    between="⏎",
    after_text="\n",
    reasoning=_THINK,
    markers=(*_TOOL_CALL, *_THINK_TAGS),
)

HERMES = Format(
    "hermes",
    call='<tool_call>⏎{·"arguments":␣⟨arguments⟩·,␣"name":␣"⟨json_name⟩"·}⏎</tool_call>',
    models="Hermes 2 Pro, 3 and Theta, whose prompt teaches arguments before the name",
    between="⏎",
    after_text="\n",
    markers=_TOOL_CALL,
)

GRANITE_4 = Format(
    "granite_4",
    call=f"<tool_call>⏎{_NAME_FIRST}⏎</tool_call>",
    models="Granite 4",
    between="⏎",
    after_text="\n",
    markers=_TOOL_CALL,
)

SMOLLM3 = Format(
    "smollm3",
    call=f"<tool_call>⏎{_NAME_FIRST}⏎</tool_call>",
    models="SmolLM3 with xml_tools",
    between="⏎",
    after_text="\n",
    reasoning=_THINK,
    markers=(*_TOOL_CALL, *_THINK_TAGS),
)

EXAONE_4 = Format(
    "exaone_4",
    call=f"<tool_call>·{_NAME_FIRST}·</tool_call>",
    models="EXAONE 4",
    between="⏎",
    after_text="\n",
    reasoning=_THINK,
    markers=(*_TOOL_CALL, *_THINK_TAGS),
)

SMOLLM2 = Format(
    "smollm2",
    first="<tool_call>·[⏎",
    call=_NAME_FIRST,
    models="SmolLM2 Instruct (1.7B); [] says that nothing is called",
    verified="chat template of SmolLM2, which has calls in the content",
    between="·,⏎",
    last="⏎]</tool_call>",
    text="instead",
    markers=_TOOL_CALL,
    may_be_empty=True,
)

JAMBA = Format(
    "jamba",
    first="<tool_calls>·[⇥",
    call=_NAME_FIRST,
    models="Jamba 1.5 and 1.6",
    between="·,⇥",
    last="⏎]</tool_calls>",
    after_text="\n",
    markers=("<tool_calls>", "</tool_calls>"),
)

GRANITE_3 = Format(
    "granite_3",
    # What the prompts of 3.0 to 3.3 teach. Some models write the other marker; see granite_3_1.
    first="<|tool_call|>·[·",
    call=_NAME_FIRST,
    models="Granite 3.0 to 3.3",
    between="·,␣",
    last="·]",
    text="instead",
    markers=("<|tool_call|>", "<tool_call>"),
)

GRANITE_3_1 = Format(
    "granite_3_1",
    first="<tool_call>·[·",
    call=_NAME_FIRST,
    models="Granite 3.1 where it writes <tool_call>",
    between="·,␣",
    last="·]",
    text="instead",
    markers=("<tool_call>", "<|tool_call|>"),
)

PHI_4_MINI = Format(
    "phi_4_mini",
    # As llguidance documents it. Microsoft's prompt for other servers teaches functools[...] instead.
    first="<|tool_call|>·[·",
    call=_NAME_FIRST,
    models="Phi-4-mini",
    between="·,␣",
    last="·]·<|/tool_call|>",
    text="instead",
    markers=("<|tool_call|>", "<|/tool_call|>"),
    banned=("functools[",),
)

LLAMA3_JSON = Format(
    "llama3_json",
    # Prompt and template speak of one call. Objects joined by "; " occur in outputs of models, but in no training data.
    call='⟨?<|python_tag|>⟩{·"name":␣"⟨json_name⟩"·,␣"parameters":␣⟨arguments⟩·}',
    models="Llama 3.1, 3.2 and 3.3",
    text="instead",
    markers=("<|python_tag|>",),
    # An object in the midst of a text is a call to some parsers, if it has one of these members.
    banned=('"parameters"', '"arguments"'),
    call_stops=_LLAMA_STOPS,
    text_stops=("<|eot_id|>",),
    most_calls=1,
)

PLAIN_JSON = Format(
    "plain_json",
    call=_NAME_FIRST,
    models="any model that was told so in its prompt; one object a line",
    between="⏎",
    text="instead",
)

MISTRAL_V3 = Format(
    "mistral_v3",
    first="[TOOL_CALLS]·[·",
    call='{·"name":␣"⟨json_name⟩"·,␣"arguments":␣⟨arguments⟩·,␣"id":␣"⟨id⟩"·}',
    models="Mistral 7B v0.3, Nemo (v3), Large 2411 and Small 3 (v7)",
    verified="encoders and templates of mistral-common, versions 3 and 7",
    between="·,␣",
    last="·]",
    markers=("[TOOL_CALLS]",),
    ids=_MISTRAL_IDS,
    names=SHORT_NAME,
)

MISTRAL_V11 = Format(
    "mistral_v11",
    call="[TOOL_CALLS]·⟨name⟩[CALL_ID]⟨id⟩[ARGS]·⟨arguments⟩·",
    models="Mistral with tokenizer version 11",
    verified="encoder and template of mistral-common, version 11",
    markers=("[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"),
    ids=_MISTRAL_IDS,
    names=SHORT_NAME,
)

MISTRAL_V13 = Format(
    "mistral_v13",
    # Nothing is written between text and calls, nor an id; the API wants ids of nine characters all the same.
    call="[TOOL_CALLS]·⟨name⟩[ARGS]·⟨arguments⟩·",
    models="Mistral with tokenizer versions 13 and 15",
    verified="encoder and template of mistral-common, version 13",
    reasoning=Reasoning("[THINK]", "[/THINK]"),
    markers=("[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]"),
    ids=_MISTRAL_IDS,
    names=SHORT_NAME,
)

COMMAND_A = Format(
    "command_a",
    first="<|START_ACTION|>·[⇥",
    call='{·"tool_call_id":␣"⟨count⟩"·,␣"tool_name":␣"⟨json_name⟩"·,␣"parameters":␣⟨arguments⟩·}',
    models="Command R7B and Command A",
    between="·,⇥",
    last="⏎]·<|END_ACTION|>",
    text="instead",
    answer_open="<|START_RESPONSE|>",
    answer_close="<|END_RESPONSE|>",
    reasoning=Reasoning("<|START_THINKING|>", "<|END_THINKING|>"),
    markers=(
        "<|START_ACTION|>",
        "<|END_ACTION|>",
        "<|START_THINKING|>",
        "<|END_THINKING|>",
        "<|START_RESPONSE|>",
        "<|END_RESPONSE|>",
    ),
    ids=CountedCallIds("{count}"),
)

ALL = (
    QWEN3,
    HERMES,
    LLAMA3_JSON,
    MISTRAL_V3,
    MISTRAL_V11,
    MISTRAL_V13,
    PHI_4_MINI,
    GRANITE_3,
    GRANITE_3_1,
    GRANITE_4,
    COMMAND_A,
    SMOLLM2,
    SMOLLM3,
    JAMBA,
    EXAONE_4,
    PLAIN_JSON,
)
