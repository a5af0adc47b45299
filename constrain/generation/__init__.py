"""From a conversation and tools to calls that are right, and to their results: the whole job with Hugging Face models.

    result = generate_tool_calls(model, tokenizer, messages, [get_weather], executor=True)
    result.message.calls, result.finish_reason, result.messages

Needs torch and transformers.
"""

from constrain.generation.formats import tool_format_of
from constrain.generation.generate import generate_tool_calls
from constrain.generation.result import GenerationStatistics, ToolCallResult, Turn

__all__ = ["GenerationStatistics", "ToolCallResult", "Turn", "generate_tool_calls", "tool_format_of"]
