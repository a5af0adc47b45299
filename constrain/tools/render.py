"""Calls, and messages with calls, as a model's chat template writes them.

What is rendered here is read back by the parser as the same calls, or refused: a name that the format does not allow, a
bare string that holds the tag which ends it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from constrain.grammars.tool_formats import (
    Arguments,
    Blank,
    CallId,
    Format,
    Literal,
    Marker,
    Name,
    Part,
    TaggedArguments,
    get_format,
)
from constrain.tools.argument_writers import escaped, write_arguments
from constrain.tools.call import ToolCall
from constrain.tools.call_ids import CountedIds, call_ids_of
from constrain.tools.problems import RenderError
from constrain.tools.tool import Tool


def render_calls(
    format: str | Format,
    calls: Sequence[ToolCall],
    tools: Iterable[Tool] = (),
    *,
    messages: Sequence[Mapping[str, Any]] = (),
) -> str:
    """The run of calls of one message, from the first marker to the last; "" without calls.

    Args:
        format: a format or its name.
        calls: the calls. Where the format writes ids, those without one are given one.
        tools: the tools; needed only where the format does not say what is a string (Qwen3-Coder, GLM, MiniMax).
        messages: the conversation, from which counted ids go on.

    Raises:
        RenderError: something cannot be written; it names the format, the tool and the argument.
    """
    format = get_format(format)
    if not calls:
        return ""
    if format.most_calls is not None and len(calls) > format.most_calls:
        raise RenderError(
            format.name, "", (), f"{len(calls)} calls in one message; it holds {format.most_calls} at most"
        )
    by_name = {tool.name: tool for tool in tools}
    if format.writes_ids:
        calls = call_ids_of(format).assign(calls, messages)
    parts = [_call(format, call, by_name) for call in calls]
    return _text(format.first_parts) + _text(format.between_parts).join(parts) + _text(format.last_parts)


def render_message(
    format: str | Format,
    calls: Sequence[ToolCall] = (),
    tools: Iterable[Tool] = (),
    *,
    text: str = "",
    reasoning: str | None = None,
    messages: Sequence[Mapping[str, Any]] = (),
) -> str:
    """A message of the assistant: reasoning, text and calls, without the token that ends the turn.

    Raises:
        RenderError: as `render_calls`; or the format has no place for the text or the reasoning, or they hold a text
            that would be taken for something else.
    """
    format = get_format(format)
    out = "" if reasoning is None else _reasoning(format, reasoning)
    if calls:
        return out + (_preamble(format, text) if text else "") + render_calls(format, calls, tools, messages=messages)
    if format.text == "never" and text:
        raise RenderError(format.name, "", (), "there is no place for text")
    if format.text == "instead" and not format.answer_open:
        begun = next((trigger for trigger in format.triggers if text.lstrip().startswith(trigger)), None)
        if begun is not None:
            raise RenderError(format.name, "", (), f"a text that begins with {begun!r} would be taken for a call")
    return out + format.answer_open + _plain(format, text, format.answer_close) + format.answer_close


def _call(format: Format, call: ToolCall, tools: Mapping[str, Tool]) -> str:
    if not format.names.allows(call.name):
        raise RenderError(format.name, call.name, (), f"the name must be {format.names.words}; rename the tool")
    tool = tools.get(call.name)
    if tool is None and isinstance(format.arguments, TaggedArguments) and not format.arguments.flagged:
        raise RenderError(format.name, call.name, (), "its schema says how a value is read; give the tool")
    parameters = {} if tool is None else tool.argument_schema
    out = []
    for part in format.call_parts[0]:
        if isinstance(part, Name):
            out.append(escaped(call.name, format.forbidden) if part.json else call.name)
        elif isinstance(part, Arguments):
            out.append(write_arguments(format, call.name, call.arguments, parameters))
        elif isinstance(part, CallId):
            out.append(_id(format, call, part))
        else:
            out.append(_text((part,)))
    return "".join(out)


def _id(format: Format, call: ToolCall, part: CallId) -> str:
    style = call_ids_of(format)
    call_id = call.id or ""
    if part.count and isinstance(style, CountedIds):
        count = style.count_of(call_id, call.name)
        if count is not None:
            return str(count)
    elif re.fullmatch(style.pattern, call_id):
        return call_id
    raise RenderError(format.name, call.name, (), f"the id {call_id!r} does not match {style.pattern}")


def _text(parts: Sequence[Part]) -> str:
    out = ""
    for part in parts:
        if isinstance(part, Literal) or (isinstance(part, Marker) and part.written):
            out += part.text
        elif isinstance(part, Blank):
            out += part.canonical
    return out


def _reasoning(format: Format, reasoning: str) -> str:
    block = format.reasoning
    if block is None:
        raise RenderError(format.name, "", (), "it has no place for reasoning")
    if (reasoning + block.close).find(block.close) != len(reasoning):
        raise RenderError(format.name, "", (), f"reasoning cannot hold {block.close!r}, which ends it")
    return block.open + block.begin + reasoning + block.end + block.close + block.after


def _preamble(format: Format, text: str) -> str:
    if format.text not in ("before", "around") or (format.answer_open and not format.preamble_open):
        raise RenderError(format.name, "", (), "a message is text or calls, not both")
    opened = format.preamble_open + _plain(format, text, format.preamble_close) + format.preamble_close
    return opened + format.after_text


def _plain(format: Format, text: str, close: str) -> str:
    opened = bool(format.answer_open or format.text == "instead")
    for banned in (*format.forbidden, *(() if opened else format.triggers)):
        if banned in text:
            raise RenderError(format.name, "", (), f"text cannot hold {banned!r}, which would be taken for a marker")
    if close and (text + close).find(close) != len(text):
        raise RenderError(format.name, "", (), f"text cannot hold {close!r}, which ends it")
    return text
