"""The wire formats in which models write tool calls, as data.

A `Format` says how a message with calls is spelled; the grammar that constrains generation, the parser, the renderer
and the stop tokens all follow from it. `FORMATS` holds those known; a format of one's own is one `Format(...)` more.

format = get_format("qwen3")
format.call_parts[0]    # (Marker('<tool_call>'), Blank('\\n'), Literal('{'), ...)
"""

from constrain.grammars.tool_formats.detection import detect_format, takes_tools
from constrain.grammars.tool_formats.dialects import (
    BARE_NAME,
    BareArguments,
    Dialect,
    JsonArguments,
    PythonArguments,
    TaggedArguments,
)
from constrain.grammars.tool_formats.format import Format, Reasoning
from constrain.grammars.tool_formats.ids import CountedCallIds, RandomCallIds
from constrain.grammars.tool_formats.names import NameRule
from constrain.grammars.tool_formats.parts import (
    Arguments,
    Blank,
    CallId,
    Key,
    Literal,
    Marker,
    Name,
    Part,
    StringFlag,
    Value,
    parts_of,
)
from constrain.grammars.tool_formats.readings import admitted_types, argument_types, reading
from constrain.grammars.tool_formats.registry import FORMATS, get_format, register_format
from constrain.grammars.tool_formats.start import GenerationStart, StartState, start_state

__all__ = [
    "BARE_NAME",
    "FORMATS",
    "Arguments",
    "BareArguments",
    "Blank",
    "CallId",
    "CountedCallIds",
    "Dialect",
    "Format",
    "GenerationStart",
    "JsonArguments",
    "Key",
    "Literal",
    "Marker",
    "Name",
    "NameRule",
    "Part",
    "PythonArguments",
    "RandomCallIds",
    "Reasoning",
    "StartState",
    "StringFlag",
    "TaggedArguments",
    "Value",
    "admitted_types",
    "argument_types",
    "detect_format",
    "get_format",
    "parts_of",
    "reading",
    "register_format",
    "start_state",
    "takes_tools",
]
