"""Calls and results as the messages that `apply_chat_template` takes.

These look like OpenAI's, but templates differ in what they bear: most want arguments as an object and write it as JSON
themselves (a text would be written with quotes around it, or twice), some want the text; most take an empty text as the
content of a message that only calls, some look for none. A template that knows nothing of calls writes only the
content, and the calls would vanish: there the calls must stand in the content, written as the model's format has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from constrain.tools.call import ToolCall
from constrain.tools.messages import Results, matched


def chat_turn(
    messages: Sequence[Mapping[str, Any]],
    calls: Sequence[ToolCall],
    results: Results | None = None,
    *,
    text: str = "",
    reasoning: str | None = None,
    arguments: Literal["object", "text"] = "object",
    empty_content: str | None = "",
    render: Callable[[Sequence[ToolCall]], str] | None = None,
) -> list[dict[str, Any]]:
    """The conversation with a turn more: the assistant's calls, then their results.

    Args:
        messages: the conversation so far; it is not changed.
        calls: the calls. Without any, the turn is `text` alone.
        results: in one of the forms of `match_results`; None where there are none yet.
        text: what the assistant said before the calls.
        reasoning: what it thought, as `reasoning_content`.
        arguments: "object" for most templates; "text" for those that join it to other text (DeepSeek V3, R1).
        empty_content: the content where there is no text; None for templates that ask whether there is any (DeepSeek).
        render: writes calls as text. For templates that do not know `tool_calls` (see `template_knows_calls`): the
            calls stand in the content.

    Raises:
        ValueError: calls and results do not match.
    """
    content = text if text else empty_content
    if render is not None and calls:
        content = text + render(calls)
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if reasoning is not None:
        message["reasoning_content"] = reasoning
    if calls and render is None:
        message["tool_calls"] = [_call(call, arguments) for call in calls]
    out = [*map(dict, messages), message]
    for call, result in matched(calls, results):
        answer = {"role": "tool", "name": call.name, "content": result.text}
        if call.id is not None:
            answer["tool_call_id"] = call.id
        out.append(answer)
    return out


def template_knows_calls(chat_template: str) -> bool:
    """Whether a chat template writes the `tool_calls` of messages."""
    return "tool_calls" in chat_template


def _call(call: ToolCall, arguments: str) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments if arguments == "object" else call.arguments_json}
    spelled: dict[str, Any] = {"type": "function", "function": function}
    if call.id is not None:
        spelled["id"] = call.id
    return spelled
