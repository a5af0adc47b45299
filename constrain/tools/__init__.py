"""Tools and calls: independent of any model, and as the wire formats of models write them.

tools = read_tools([my_function, {"type": "function", "function": {...}}, mcp_tool_list])
choice = read_tool_choice("required", tools, parallel=False)
call = ArgumentChecker(tools).parse("get_weather", '{"city": "Paris"}', id="call_1")
messages = chat_turn(messages, [call], [{"degrees": 21}])

message = parse_message(output, "qwen3", tools)   # text, reasoning and calls, or an error fit for the model
text = render_calls("qwen3", message.calls, tools)
"""

from constrain.grammars.tool_formats.names import NameRule
from constrain.tools.argument_check import ArgumentChecker, check_call
from constrain.tools.call import ToolCall, ToolResult, match_results
from constrain.tools.call_ids import CALL_IDS, CountedIds, RandomIds
from constrain.tools.chat_turns import chat_turn, template_knows_calls
from constrain.tools.choice import ResolvedChoice, ToolChoice
from constrain.tools.closing import close_objects
from constrain.tools.comparison import Comparison, compare_arguments, compare_calls
from constrain.tools.messages import from_mcp, to_anthropic, to_gemini, to_mcp, to_openai, to_openai_responses
from constrain.tools.parsed import (
    CallFinished,
    CallProblem,
    CallStarted,
    Event,
    ParsedMessage,
    ReasoningDelta,
    TextDelta,
)
from constrain.tools.parser import ToolCallParser, parse_message
from constrain.tools.problems import RenderError, ToolChoiceError, ToolError, UnknownToolError, WrongArgumentsError
from constrain.tools.read_choice import read_tool_choice
from constrain.tools.read_tools import read_tools
from constrain.tools.render import render_calls, render_message
from constrain.tools.token_text import marker_tokens
from constrain.tools.tool import Tool
from constrain.tools.tool_names import NAME_RULES, check_names

__all__ = [
    "CALL_IDS",
    "NAME_RULES",
    "ArgumentChecker",
    "CallFinished",
    "CallProblem",
    "CallStarted",
    "Comparison",
    "CountedIds",
    "Event",
    "NameRule",
    "ParsedMessage",
    "RandomIds",
    "ReasoningDelta",
    "RenderError",
    "ResolvedChoice",
    "TextDelta",
    "Tool",
    "ToolCall",
    "ToolCallParser",
    "ToolChoice",
    "ToolChoiceError",
    "ToolError",
    "ToolResult",
    "UnknownToolError",
    "WrongArgumentsError",
    "chat_turn",
    "check_call",
    "check_names",
    "close_objects",
    "compare_arguments",
    "compare_calls",
    "from_mcp",
    "marker_tokens",
    "match_results",
    "parse_message",
    "read_tool_choice",
    "read_tools",
    "render_calls",
    "render_message",
    "template_knows_calls",
    "to_anthropic",
    "to_gemini",
    "to_mcp",
    "to_openai",
    "to_openai_responses",
]
