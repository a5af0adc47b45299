"""Formats that write every argument between tags, strings as they are.

A string cannot hold the tag that ends it. What a bare text means is said in `readings`.

Those without `verified` are unverified against a template: none was to hand.
"""

from __future__ import annotations

from constrain.grammars.tool_formats.dialects import TaggedArguments
from constrain.grammars.tool_formats.format import Format, Reasoning
from constrain.grammars.tool_formats.names import WORD_NAME

_THINK_TAGS = ("<think>", "</think>")
_TOOL_CALL = ("<tool_call>", "</tool_call>")
_GLM_TAGS = ("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>")

QWEN3_CODER = Format(
    "qwen3_coder",
    call="<tool_call>⏎<function=⟨name⟩>\n⟨arguments⟩·</function>⏎</tool_call>",
    models="Qwen3-Coder, Qwen3.5 and 3.6",
    arguments=TaggedArguments("<parameter=⟨key⟩>\n⟨value⟩\n</parameter>\n"),
    between="⏎",
    after_text="\n",
    reasoning=Reasoning("<think>", "</think>", begin="\n", end="\n", after="\n\n"),
    markers=(*_TOOL_CALL, *_THINK_TAGS),
    banned=("<function=", "<parameter="),
    names=WORD_NAME,
)

GLM_4_5 = Format(
    "glm_4_5",
    call="<tool_call>⟨name⟩\n⟨arguments⟩·</tool_call>",
    models="GLM-4.5 and 4.6",
    arguments=TaggedArguments("<arg_key>⟨key⟩</arg_key>\n<arg_value>⟨value⟩</arg_value>\n"),
    between="⏎",
    after_text="\n",
    reasoning=Reasoning("<think>", "</think>", after="\n"),
    markers=(*_TOOL_CALL, *_GLM_TAGS, *_THINK_TAGS),
    call_stops=("<|observation|>",),
    text_stops=("<|user|>",),
    names=WORD_NAME,
)

GLM_4_7 = Format(
    "glm_4_7",
    call="<tool_call>⟨name⟩⟨arguments⟩</tool_call>",
    models="GLM-4.7 and 5",
    arguments=TaggedArguments("<arg_key>⟨key⟩</arg_key><arg_value>⟨value⟩</arg_value>"),
    between="·",
    reasoning=Reasoning("<think>", "</think>"),
    markers=(*_TOOL_CALL, *_GLM_TAGS, *_THINK_TAGS),
    call_stops=("<|observation|>",),
    text_stops=("<|user|>",),
    names=WORD_NAME,
)

MINIMAX_M2 = Format(
    "minimax_m2",
    first="⏎<minimax:tool_call>\n",
    call='<invoke name="⟨name⟩">\n⟨arguments⟩·</invoke>',
    models="MiniMax M2 and M2.5",
    arguments=TaggedArguments('<parameter name="⟨key⟩">⟨value⟩</parameter>\n'),
    between="⏎",
    last="⏎</minimax:tool_call>",
    reasoning=Reasoning("<think>", "</think>", begin="\n", end="\n", after="\n\n"),
    markers=("<minimax:tool_call>", "</minimax:tool_call>", *_THINK_TAGS),
    banned=("<invoke ",),
    names=WORD_NAME,
)

DEEPSEEK_V3_2 = Format(
    "deepseek_v3_2",
    first="¶<｜DSML｜function_calls>\n",
    call='<｜DSML｜invoke name="⟨name⟩">\n⟨arguments⟩·</｜DSML｜invoke>',
    models="DeepSeek V3.2",
    arguments=TaggedArguments(
        '<｜DSML｜parameter name="⟨key⟩" string="⟨string⟩">⟨value⟩</｜DSML｜parameter>\n',
    ),
    between="⏎",
    last="⏎</｜DSML｜function_calls>",
    reasoning=Reasoning("<think>", "</think>"),
    markers=("｜DSML｜", *_THINK_TAGS),
    names=WORD_NAME,
)

ALL = (QWEN3_CODER, GLM_4_5, GLM_4_7, MINIMAX_M2, DEEPSEEK_V3_2)
