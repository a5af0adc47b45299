"""The whole job in one call: prompt, grammar, generation, calls, results, and the model's answer to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, overload

from constrain.engine.text_style import Escapes, PropertyOrder, Whitespace
from constrain.generation.execution import run_calls, runner
from constrain.generation.formats import chat_template_of, tool_format_of
from constrain.generation.prepared import compiled_of, vocabulary_of
from constrain.generation.prompts import PromptWriter
from constrain.generation.result import ToolCallResult, Turn
from constrain.generation.turn import check_options, run_turns
from constrain.grammars.errors import ToolFormatError
from constrain.grammars.tool_formats import Format, get_format, start_state, takes_tools
from constrain.tools import CountedIds, Event, ToolCall, ToolChoice, chat_turn, read_tool_choice, read_tools
from constrain.tools.call_ids import call_ids_of
from constrain.vocabulary.source import id_list
from constrain.wire.grammar import tool_calls

Conversation = str | Sequence[Mapping[str, Any]]


@overload
def generate_tool_calls(
    model: Any, tokenizer: Any, messages: Conversation, tools: Any, **options: Any
) -> ToolCallResult: ...


@overload
def generate_tool_calls(
    model: Any, tokenizer: Any, messages: list[str] | list[list[dict[str, Any]]], tools: Any, **options: Any
) -> list[ToolCallResult]: ...


def generate_tool_calls(
    model: Any,
    tokenizer: Any,
    messages: Any,
    tools: Any,
    *,
    tool_choice: Any = "auto",
    parallel: bool | int = True,
    format: str | Format = "auto",
    max_new_tokens: int = 512,
    executor: Any = None,
    max_rounds: int = 8,
    reasoning_budget: int | None = None,
    close_in_time: bool = False,
    closed_objects: bool = True,
    whitespace: Whitespace = "bounded",
    property_order: PropertyOrder = "any",
    escapes: Escapes = "any",
    jump: bool | None = None,
    template_options: Mapping[str, Any] | None = None,
    sanitize: bool = True,
    on_event: Callable[[Event | Turn], None] | None = None,
    **generation: Any,
) -> ToolCallResult | list[ToolCallResult]:
    """Have a model answer with tools: every call that it makes is one of the tools, with arguments that it takes.

    Several conversations are answered in one batch, each as if it were alone, and give a list of results.

    Args:
        model: a causal language model of transformers.
        tokenizer: its tokenizer, with a chat template. Where the template shows no tools, the system prompt tells the
            model of them.
        messages: the conversation, as `apply_chat_template` takes it; arguments of earlier calls may be text. A text is
            the message of a user. A list of conversations is a batch of them, with the same tools.
        tools: one tool or several, as `read_tools` takes them: Python functions, tools of OpenAI, Anthropic, Gemini or
            MCP, Pydantic models, and more.
        tool_choice: which may or must be called, as `read_tool_choice` takes it. With "none" the model is not told of
            the tools either. What is demanded is demanded of the first answer only.
        parallel: whether one answer may hold several calls; a number is the most it may hold.
        format: the wire format; "auto" tells it from the template and the tokens, and takes "plain_json" where the
            template shows no tools and neither tells.
        max_new_tokens: most tokens of one answer.
        executor: what runs the calls: a mapping from names to functions; one function that takes a name and the
            arguments; True for the tools that are Python functions. Calls of one answer run at the same time, and what
            a function raises goes back to the model. Without one nothing is run.
        max_rounds: most answers; with an executor the model answers again when it has the results. The calls of the
            last answer are run too.
        reasoning_budget: most tokens of reasoning in one answer; None for any number.
        close_in_time: whether calls that were begun are brought to their end within `max_new_tokens`, with shorter
            values than the model may have wanted. The answer still counts as cut off, and its calls are not run.
        closed_objects, whitespace, property_order, escapes: as for `tool_calls`.
        jump: whether forced tokens are written without asking the model (`jump_generate`); by default wherever nothing
            else depends on it: greedy search and sampling with the usual settings.
        template_options: further arguments of `apply_chat_template`, such as `enable_thinking`.
        sanitize: encode control tokens in the texts of messages and tools as text, so that nobody can write the turn of
            another; where transformers can do that.
        on_event: told, while an answer is written, what comes to light of it: an `Event` of the parser, such as
            `TextDelta`; and each answer, with the results of its calls, when it is over. Greedy search and sampling of
            one conversation only.
        generation: further arguments of `generate`, such as `do_sample`.

    Raises:
        ToolError, ToolChoiceError: as for `tool_calls`; or the executor does not fit the tools.
        ToolFormatError: the format is not known, cannot be told, or cannot honour a choice of spelling.
        InvalidSchemaError, UnsupportedSchemaError, UnsatisfiableSchemaError, ResourceLimitError: about the parameters
            of a tool.
        ValueError: the tokenizer has no template, or it does not take the conversation; an argument of `generate`
            under which there is no single, constrained answer.
        TokenBudgetError: with `close_in_time`: no answer is known for which `max_new_tokens` are enough.
        GenerationError: the constraint was not heard.

    Example:
        >>> result = generate_tool_calls(model, tokenizer, "Weather in Oslo?", [get_weather])  # doctest: +SKIP
        >>> result.message.calls[0].arguments  # doctest: +SKIP
        {'city': 'Oslo'}
    """
    if max_rounds < 1:
        raise ValueError(f"max_rounds is at least 1, not {max_rounds}")
    check_options(generation)
    several = _is_batch(messages)
    talks = [_Talk(_conversation(one)) for one in (messages if several else [messages])]
    read = read_tools(tools)
    run = runner(executor, tools, read)
    choice = read_tool_choice(tool_choice, read, parallel=None if parallel is True else parallel)
    wire_format = format_of(format, tokenizer)
    configured = generation.get("generation_config") or model.generation_config
    ends = id_list([generation.pop("eos_token_id", None), configured.eos_token_id], "eos_token_id")
    vocabulary = vocabulary_of(tokenizer, tuple(sorted(set(ends))))
    shown = () if choice.mode == "none" else read
    writer = PromptWriter(tokenizer, wire_format, shown, template_options or {}, sanitize=sanitize)

    for _ in range(max_rounds):
        going_on = [talk for talk in talks if not talk.over]
        prompts = [writer.write(talk.messages, choice) for talk in going_on]
        grammars = [
            tool_calls(
                read,
                format=wire_format,
                tool_choice=choice,
                start=start_state(wire_format, prompt.text),
                reasoning_budget=reasoning_budget,
                counted=_counted(wire_format, talk.messages),
                closed_objects=closed_objects,
                whitespace=whitespace,
                property_order=property_order,
                escapes=escapes,
            )
            for talk, prompt in zip(going_on, prompts, strict=True)
        ]
        turns = run_turns(
            model,
            tokenizer,
            prompts,
            [compiled_of(grammar, vocabulary) for grammar in grammars],
            [talk.messages for talk in going_on],
            max_new_tokens,
            generation,
            jump=jump,
            close_in_time=close_in_time,
            on_event=on_event,
        )
        for talk, turn in zip(going_on, _with_results(turns, run), strict=True):
            if on_event is not None:
                on_event(turn)
            talk.take(turn, goes_on=run is not None and turn.finish_reason == "tool_calls")
        if all(talk.over for talk in talks):
            break
        # Demanded again and again, calls would never end.
        if choice.mode in ("required", "named"):
            choice = ToolChoice("auto", choice.names if choice.mode == "required" else None, choice.parallel)
    results = [ToolCallResult(tuple(talk.turns), talk.messages, wire_format.name) for talk in talks]
    return results if several else results[0]


class _Talk:
    """One conversation, and the model's answers in it."""

    def __init__(self, messages: list[dict[str, Any]]) -> None:
        self.messages, self.turns, self.over = messages, list[Turn](), False

    def take(self, turn: Turn, *, goes_on: bool) -> None:
        """Take an answer in; the model answers again where it `goes_on`."""
        self.turns.append(turn)
        self.over = not goes_on
        message = turn.message
        self.messages = chat_turn(
            self.messages,
            message.calls,
            turn.results if goes_on else None,
            text=message.text,
            reasoning=message.reasoning,
        )


def _with_results(turns: Sequence[Turn], run: Callable[[ToolCall], Any] | None) -> list[Turn]:
    """The answers with the results of their calls, which are all run at the same time."""
    if run is None:
        return list(turns)
    calls = [turn.message.calls if turn.finish_reason == "tool_calls" else () for turn in turns]
    every = [call for some in calls for call in some]
    results = iter(run_calls(run, every) if every else ())
    return [replace(turn, results=tuple(islice(results, len(some)))) for turn, some in zip(turns, calls, strict=True)]


def _is_batch(messages: Any) -> bool:
    """Whether these are several conversations: texts, or lists of messages."""
    return (
        isinstance(messages, list | tuple)
        and bool(messages)
        and all(isinstance(one, str | list | tuple) for one in messages)
    )


def _conversation(messages: Any) -> list[dict[str, Any]]:
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    listed = list(messages) if isinstance(messages, Sequence) else None
    if not listed or not all(isinstance(message, Mapping) for message in listed):
        raise TypeError(
            f"messages is one conversation: a text, or a list of dicts with a role and a content; not {messages!r:.80}"
        )
    return [dict(message) for message in listed]


def format_of(format: str | Format, tokenizer: Any) -> Format:
    """The format of a name; for "auto", that of the tokenizer's model, or the one that a model without is told of."""
    if format != "auto":
        return get_format(format)
    try:
        return get_format(tool_format_of(tokenizer))
    except ToolFormatError:
        if takes_tools(chat_template_of(tokenizer)):
            raise
        return get_format("plain_json")  # the model is told how to call, so it is told this


def _counted(format: Format, messages: Sequence[Mapping[str, Any]]) -> int:
    """From which number on the model counts its calls, where ids hold a count."""
    ids = call_ids_of(format)
    return ids.start(messages) if isinstance(ids, CountedIds) else 0
