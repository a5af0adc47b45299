"""Conversations with tools as prompts.

A chat template is a program that answers no questions: one that knows nothing of tools says nothing, one that wants
arguments as text writes a Python dict instead. So what it made is looked at. Of the shapes in which templates expect
tools and calls, the first is taken that it renders with all names in it. Where it shows no tools, the system prompt
tells the model of them and how to call; where it writes no calls, they stand in the content of messages.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from constrain.generation.formats import chat_template_of
from constrain.grammars.tool_formats import Format, takes_tools
from constrain.tools import Tool, ToolCall, ToolChoice, render_calls, template_knows_calls

Messages = Sequence[Mapping[str, Any]]
AUTO = ToolChoice("auto")
_MESSAGE_SHAPES = (("object", ""), ("object", None), ("text", ""), ("text", None))
"""How arguments are spelled, and the content of a message that only calls."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt: its text, and `inputs` for `generate`, tensors of shape (1, tokens)."""

    text: str
    inputs: dict[str, Any]


class PromptWriter:
    """Writes prompts for one tokenizer, format and list of tools.

    Args:
        tokenizer: of transformers, with a chat template.
        format: the wire format, in which calls are written where the template knows none.
        tools: the tools to tell the model of.
        options: further arguments of `apply_chat_template`.
        sanitize: whether control tokens in the texts of messages and tools are encoded as text.

    Raises:
        ValueError: the tokenizer has no chat template.
    """

    def __init__(
        self, tokenizer: Any, format: Format, tools: Sequence[Tool], options: Mapping[str, Any], *, sanitize: bool
    ) -> None:
        template = options.get("chat_template") or chat_template_of(tokenizer)
        if template is None:
            raise ValueError(
                "the tokenizer has no chat template, so it is not known how a conversation is written for its model; "
                "set tokenizer.chat_template, or generate with constrain.tool_calls and ConstrainedLogitsProcessor"
            )
        self._tokenizer, self._format, self._tools, self._options = tokenizer, format, tuple(tools), dict(options)
        self._knows_calls = template_knows_calls(template)
        self._shows_tools = takes_tools(template)
        known = inspect.signature(tokenizer.apply_chat_template).parameters
        self._sanitize = sanitize and "sanitize_control_tokens" in known

    def write(self, messages: Messages, choice: ToolChoice = AUTO) -> Prompt:
        """The prompt after which the model answers, which a system prompt tells of the choice as well as of the tools.

        Raises:
            ValueError: the template takes the conversation in none of the shapes that are known.
        """
        first: Exception | None = None
        for spelled, tools, written in self._shapes(messages, choice):
            try:
                text = self._render(spelled, tools, tokenize=False)
                fits = self._fits(text, spelled, tools)
            except Exception as error:  # templates raise whatever they like
                first = first or error
                continue
            if fits:
                inputs = self._render(spelled, tools, tokenize=True, return_dict=True, return_tensors="pt", **(
                    {"sanitize_control_tokens": True} if self._sanitize and not written else {}
                ))  # fmt: skip
                return Prompt(text, {key: inputs[key] for key in ("input_ids", "attention_mask") if key in inputs})
        raise ValueError(
            f"the chat template does not take the conversation: {first or 'the tools are not in what it writes'}"
        )

    def _render(self, messages: Messages, tools: list[dict[str, Any]] | None, **options: Any) -> Any:
        return self._tokenizer.apply_chat_template(
            [dict(message) for message in messages],
            **{"add_generation_prompt": True, **self._options, "tools": tools, **options},
        )

    def _shapes(
        self, messages: Messages, choice: ToolChoice
    ) -> Iterator[tuple[Messages, list[dict[str, Any]] | None, bool]]:
        """The conversation and the tools in one shape after the other, and whether calls were written as text."""
        nested = [tool.to_openai() for tool in self._tools]
        shapes = [nested, [tool["function"] for tool in nested]] if nested and self._shows_tools else []
        called = any(message.get("tool_calls") or message.get("role") == "tool" for message in messages)
        conversations: list[tuple[Messages, bool]] = []
        if not called:
            conversations = [(messages, False)]
        elif self._knows_calls:
            conversations = [(_spelled(messages, *shape), False) for shape in _MESSAGE_SHAPES]
        written = self._written(messages) if called else messages
        if called:
            conversations.append((written, True))
        for tools in shapes:
            for conversation, as_text in conversations:
                yield conversation, tools, as_text
        for conversation, as_text in conversations:
            if not nested:
                yield conversation, None, as_text
                continue
            told = instructions(self._format, self._tools, choice)
            yield _with_system(conversation, told), None, as_text
            yield _with_user(conversation, told), None, as_text

    def _fits(self, text: str, messages: Messages, tools: list[dict[str, Any]] | None) -> bool:
        """Whether a prompt shows all tools and calls, and arguments as JSON."""
        calls = [call["function"] for message in messages for call in message.get("tool_calls") or ()]
        for arguments in (call["arguments"] for call in calls):
            python = str(arguments)
            if isinstance(arguments, dict) and python != json.dumps(arguments, ensure_ascii=False) and python in text:
                return False
        if not all(name in text or json.dumps(name)[1:-1] in text for name in map(_name, tools or ())):
            return False
        return not calls or self._shows_calls(messages, tools)

    def _shows_calls(self, messages: Messages, tools: list[dict[str, Any]] | None) -> bool:
        """Whether names that stand nowhere else come out of the template."""
        probes: list[str] = []
        probed = []
        for message in messages:
            calls = []
            for call in message.get("tool_calls") or ():
                probes.append(f"probe_{len(probes)}_of_calls")
                calls.append({**call, "function": {**call["function"], "name": probes[-1]}})
            probed.append({**message, "tool_calls": calls} if calls else message)
        text = self._render(probed, tools, tokenize=False)
        return all(probe in text for probe in probes)

    def _written(self, messages: Messages) -> list[dict[str, Any]]:
        """The conversation with calls and results in the contents of its messages."""
        out: list[dict[str, Any]] = []
        names: dict[Any, str] = {}
        results: list[str] = []
        for i, message in enumerate(messages):
            if message.get("role") == "tool":
                name = message.get("name") or names.get(message.get("tool_call_id"), "the tool")
                results.append(f"Result of {name}:\n{message.get('content')}")
                continue
            if results:
                out.append({"role": "user", "content": "\n\n".join(results)})
                results = []
            calls = [_call(call) for call in message.get("tool_calls") or ()]
            names.update((call.id, call.name) for call in calls)
            kept = {key: value for key, value in message.items() if key != "tool_calls"}
            if calls:
                text = render_calls(self._format, calls, self._tools, messages=messages[:i])
                kept["content"] = f"{kept.get('content') or ''}{text}"
            out.append(kept)
        if results:
            out.append({"role": "user", "content": "\n\n".join(results)})
        return out


def instructions(format: Format, tools: Sequence[Tool], choice: ToolChoice = AUTO) -> str:
    """What tells a model of tools, how to call them, and whether it must, whose chat template does not."""
    listed = "\n".join(json.dumps(tool.to_openai()["function"], ensure_ascii=False) for tool in tools)
    example = ToolCall(None, "tool_name", {"argument": "value"})
    parameters = {"type": "object", "properties": {"argument": {"type": "string"}}}
    shown = render_calls(format, [example], [Tool("tool_name", parameters=parameters)])
    resolved = choice.resolve(tools)
    names = [tool.name for tool in resolved.tools]
    if not resolved.least:
        some = "these tools" if len(names) == len(tools) else " or ".join(names) + ", of these tools"
        first, how = f"You can call {some}:", "To call a tool, answer with its name and its arguments"
    elif len(names) == 1:
        first, how = "These are the tools:", f"Call {names[0]}: answer with its name and its arguments"
    else:
        some = "one of them" if len(names) == len(tools) else "one of " + ", ".join(names)
        some += "" if resolved.most == 1 else " or several"
        first, how = "These are the tools:", f"Call {some}: answer with the name and the arguments"
    return f"{first}\n{listed}\n{how} in this form and nothing else:\n{shown}"


def _with_system(messages: Messages, text: str) -> list[dict[str, Any]]:
    if messages and messages[0].get("role") == "system":
        first = {**messages[0], "content": f"{messages[0]['content']}\n\n{text}"}
        return [first, *map(dict, messages[1:])]
    return [{"role": "system", "content": text}, *map(dict, messages)]


def _with_user(messages: Messages, text: str) -> list[dict[str, Any]]:
    """For templates that take no system prompt: in the first message of the user."""
    out = [dict(message) for message in messages]
    if out and out[0].get("role") == "system":
        text = f"{out.pop(0)['content']}\n\n{text}"
    for message in out:
        if message.get("role") == "user":
            message["content"] = f"{text}\n\n{message['content']}"
            break
    return out


def _spelled(messages: Messages, arguments: str, empty: str | None) -> list[dict[str, Any]]:
    out = []
    for message in messages:
        message = dict(message)
        if message.get("tool_calls"):
            message["tool_calls"] = [_call_message(call, arguments) for call in message["tool_calls"]]
            message["content"] = message.get("content") or empty
        out.append(message)
    return out


def _call_message(spelled: Mapping[str, Any], arguments: str) -> dict[str, Any]:
    call = _call(spelled)
    function = {"name": call.name, "arguments": call.arguments if arguments == "object" else call.arguments_json}
    return {**spelled, "type": "function", "function": function}


def _call(spelled: Mapping[str, Any]) -> ToolCall:
    function = spelled.get("function", spelled)
    arguments = function.get("arguments") or {}
    return ToolCall(
        spelled.get("id"), function["name"], json.loads(arguments) if isinstance(arguments, str) else dict(arguments)
    )


def _name(tool: Mapping[str, Any]) -> str:
    name: str = tool.get("function", tool)["name"]
    return name
