"""Calls and their results as messages of the APIs: OpenAI (chat and responses), Anthropic, Gemini, MCP.

Each writer gives the message in which the model calls, then what answers it. Ids are matched by `match_results`, so a
call without a result, or a result without a call, is an error here and not at the API.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from constrain.tools.call import ToolCall, ToolResult, match_results

Results = Iterable[Any] | Mapping[str, Any]
"""In one of the forms of `match_results`."""


def to_openai(calls: Sequence[ToolCall], results: Results | None = None, *, text: str = "") -> list[dict[str, Any]]:
    """An assistant message with `tool_calls`, and for every result a message of the role `tool`.

    Raises:
        ValueError: a call has no id, or `match_results` refuses.
    """
    out: list[dict[str, Any]] = [{"role": "assistant", "content": text or None}]
    if calls:
        out[0]["tool_calls"] = [
            {
                "id": _id(call, "OpenAI"),
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments_json},
            }
            for call in calls
        ]
    for call, result in matched(calls, results):
        out.append({"role": "tool", "tool_call_id": call.id, "content": result.text})
    return out


def to_openai_responses(
    calls: Sequence[ToolCall], results: Results | None = None, *, text: str = ""
) -> list[dict[str, Any]]:
    """Items of the responses API: a message if there is text, `function_call`s, `function_call_output`s."""
    out: list[dict[str, Any]] = []
    if text:
        out.append({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
    for call in calls:
        arguments = call.arguments_json
        out.append({"type": "function_call", "call_id": _id(call, "OpenAI"), "name": call.name, "arguments": arguments})
    for call, result in matched(calls, results):
        out.append({"type": "function_call_output", "call_id": call.id, "output": result.text})
    return out


def to_anthropic(calls: Sequence[ToolCall], results: Results | None = None, *, text: str = "") -> list[dict[str, Any]]:
    """An assistant message with `tool_use` blocks, and a user message with a `tool_result` for each of them."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    for call in calls:
        blocks.append({"type": "tool_use", "id": _id(call, "Anthropic"), "name": call.name, "input": call.arguments})
    out = [{"role": "assistant", "content": blocks}]
    answers = []
    for call, result in matched(calls, results):
        answer: dict[str, Any] = {"type": "tool_result", "tool_use_id": call.id, "content": result.text}
        if result.is_error:
            answer["is_error"] = True
        answers.append(answer)
    if answers:
        out.append({"role": "user", "content": answers})
    return out


def to_gemini(calls: Sequence[ToolCall], results: Results | None = None, *, text: str = "") -> list[dict[str, Any]]:
    """Content of the role `model` with `functionCall` parts, then of `user` with `functionResponse` parts in order.

    A response is an object: a dict is passed as it is, anything else under `output`, errors under `error`.
    """
    parts: list[dict[str, Any]] = [{"text": text}] if text else []
    for call in calls:
        parts.append({"functionCall": {**_optional_id(call), "name": call.name, "args": call.arguments}})
    out = [{"role": "model", "parts": parts}]
    answers = []
    for call, result in matched(calls, results):
        if result.is_error:
            response = {"error": result.content}
        else:
            response = result.content if isinstance(result.content, dict) else {"output": result.content}
        answers.append({"functionResponse": {**_optional_id(call), "name": call.name, "response": response}})
    if answers:
        out.append({"role": "user", "parts": answers})
    return out


def to_mcp(calls: Sequence[ToolCall], results: Results | None = None) -> list[dict[str, Any]]:
    """JSON-RPC messages: a `tools/call` request for every call, then the response to each that a server would give.

    The id of a request is that of the call, or its position where it has none. Content that is a dict is given as
    `structuredContent` too.
    """
    ids = {id(call): call.id if call.id is not None else position for position, call in enumerate(calls)}
    out: list[dict[str, Any]] = [
        {
            "jsonrpc": "2.0",
            "id": ids[id(call)],
            "method": "tools/call",
            "params": {"name": call.name, "arguments": call.arguments},
        }
        for call in calls
    ]
    for call, result in matched(calls, results):
        answer: dict[str, Any] = {"content": [{"type": "text", "text": result.text}], "isError": result.is_error}
        if isinstance(result.content, dict):
            answer["structuredContent"] = result.content
        out.append({"jsonrpc": "2.0", "id": ids[id(call)], "result": answer})
    return out


def from_mcp(call: ToolCall, result: Mapping[str, Any]) -> ToolResult:
    """The result of a call from what an MCP server answered, with or without the JSON-RPC envelope.

    `structuredContent` where it is there; otherwise the texts of `content`, one a line; other content as it is, in a
    list. A JSON-RPC error is the result of a call that failed.
    """
    if isinstance(result.get("error"), Mapping):
        return ToolResult(call.id, str(result["error"].get("message", result["error"])), True)
    if isinstance(result.get("result"), Mapping):
        result = result["result"]
    failed = result.get("isError") is True
    if result.get("structuredContent") is not None and not failed:
        return ToolResult(call.id, result["structuredContent"])
    content = result.get("content") or []
    if all(isinstance(part, Mapping) and part.get("type") == "text" for part in content):
        return ToolResult(call.id, "\n".join(part["text"] for part in content), failed)
    return ToolResult(call.id, list(content), failed)


def matched(calls: Sequence[ToolCall], results: Results | None) -> list[tuple[ToolCall, ToolResult]]:
    """Each call with its result; nothing where there are no results yet."""
    return [] if results is None else match_results(calls, results)


def _id(call: ToolCall, api: str) -> str:
    if call.id is None:
        raise ValueError(f"the call of {call.name!r} has no id, which {api} needs; see constrain.tools.call_ids")
    return call.id


def _optional_id(call: ToolCall) -> dict[str, str]:
    return {} if call.id is None else {"id": call.id}
