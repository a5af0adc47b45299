"""`constrain chat`: a conversation with any model that may call tools, each call valid.

Tools come from Python files (their public functions), and from JSON files in any API's spelling, an answer to MCP's
`tools/list` among them. Functions are run only where that is asked for; otherwise the person says what a call gave.
"""

from __future__ import annotations

import contextlib
import json
import runpy
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

from rich.console import Console

from constrain.cli import models
from constrain.cli.console import errors, progress, results
from constrain.tools import (
    CallFinished,
    CallProblem,
    CallStarted,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolError,
    ToolResult,
    read_tools,
)


def run(
    model_name: str,
    tool_files: Sequence[Path],
    message: str | None,
    *,
    execute: bool,
    as_json: bool,
    system: str,
    device: str,
    temperature: float,
    seed: int,
    options: Mapping[str, Any],
) -> int:
    """Hold the conversation; `options` are those of `constrain.generate_tool_calls`.

    Returns 0, or 1 where the last answer was cut off.
    """
    import constrain

    given, functions = load_tools(tool_files)
    tools = read_tools(given)  # before the model is loaded: an error here should not take a minute
    if execute:
        lacking = [tool.name for tool in tools if tool.name not in functions]
        if lacking:
            raise ToolError(", ".join(lacking), "there is no function to run; --execute runs those of Python files")
    constrain.read_tool_choice(options.get("tool_choice"), tools)
    model, tokenizer = models.load(model_name, device)
    console = results()
    talk = _Talk(
        model,
        tokenizer,
        tools,
        {**options, "executor": {t.name: functions[t.name] for t in tools} if execute else None}
        | ({"do_sample": True, "temperature": temperature} if temperature > 0 else {"do_sample": False}),
        [{"role": "system", "content": system}] if system else [],
        _Printer(console, as_json),
    )
    import torch

    torch.manual_seed(seed)
    cut_off = False
    asks = message is None and console.is_terminal and sys.stdin.isatty()
    for text in [message] if message is not None else _lines(console if asks else None):
        cut_off = talk.say(text, ask=_ask(console) if asks else None)
    return int(cut_off)


def load_tools(files: Sequence[Path]) -> tuple[list[Any], dict[str, Callable[..., Any]]]:
    """The tools in some files, and the functions among them by name.

    Raises:
        ToolError: a file holds none.
        OSError: a file cannot be read.
    """
    tools: list[Any] = []
    functions: dict[str, Callable[..., Any]] = {}
    for file in files:
        if file.suffix == ".py":
            names = runpy.run_path(str(file), run_name="constrain_tools")
            found = {
                name: value
                for name, value in names.items()
                if isinstance(value, FunctionType)
                and value.__module__ == "constrain_tools"
                and not name.startswith("_")
            }
            if not found:
                raise ToolError(str(file), "it defines no public function")
            tools += found.values()
            functions |= found
        else:
            tools.append(file.read_text(encoding="utf-8"))
    return tools, functions


def _lines(console: Console | None) -> Iterator[str]:
    """What the person says: at a prompt, or the lines of standard input."""
    while True:
        try:
            text = console.input("[bold cyan]> [/]") if console else next(sys.stdin)
        except (EOFError, StopIteration):
            return
        if text.strip():
            yield text.strip()


def _ask(console: Console) -> Callable[[ToolCall], ToolResult]:
    def ask(call: ToolCall) -> ToolResult:
        text = console.input(f"[dim]result of {call.name}: [/]").strip()
        return ToolResult(call.id, text) if text else _not_run(call)

    return ask


def _not_run(call: ToolCall) -> ToolResult:
    return ToolResult(call.id, "The call was not run.", is_error=True)


class _Talk:
    """One conversation."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        tools: Sequence[Any],
        options: Mapping[str, Any],
        messages: list[dict[str, Any]],
        printer: _Printer,
    ) -> None:
        self._model, self._tokenizer, self._tools, self._options = model, tokenizer, tools, options
        self._messages, self._printer = messages, printer
        self._waiting: tuple[ToolCall, ...] = ()

    def say(self, text: str, ask: Callable[[ToolCall], ToolResult] | None) -> bool:
        """Answer a message. With `ask`, calls that are not run are answered by it. Whether the answer was cut off."""
        self._answer_waiting([_not_run(call) for call in self._waiting])
        self._messages.append({"role": "user", "content": text})
        while True:
            result = self._generate()
            self._waiting = () if self._options.get("executor") or result.truncated else result.calls
            if ask is None or not self._waiting:
                return bool(result.truncated)
            self._answer_waiting([ask(call) for call in self._waiting])

    def _generate(self) -> Any:
        import constrain

        streams = self._printer.streams
        options = {**self._options, "on_event": self._printer.tell} if streams else self._options
        with contextlib.nullcontext() if streams else progress("answering"):
            result = constrain.generate_tool_calls(self._model, self._tokenizer, self._messages, self._tools, **options)
        self._messages = result.messages
        for turn in () if streams else result.turns:
            self._printer.show(turn)
        if result.truncated:
            errors().print(
                f"constrain: the answer was cut off after {self._options['max_new_tokens']} tokens; give more with "
                "--max-new-tokens",
                style="red",
                soft_wrap=True,
            )
        return result

    def _answer_waiting(self, given: Sequence[ToolResult]) -> None:
        for call, result in zip(self._waiting, given, strict=True):
            answer = {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": result.text}
            self._messages.append(answer)
        self._waiting = ()


class _Printer:
    """Shows answers: in colour on a terminal, plain in a pipe, or as one JSON object a line.

    On a terminal they are shown as they are written.
    """

    def __init__(self, console: Console, as_json: bool) -> None:
        self._console, self._json = console, as_json
        self.streams = console.is_terminal and not as_json
        self._within: str | None = None  # style of the line that is being written

    def tell(self, event: Any) -> None:
        """Show what an answer that is being written goes on with, an event of the parser; or one that is over."""
        if isinstance(event, CallFinished):
            self._end_line()
            self._line(f"{event.call.name}({event.call.arguments_json})", "green")
        elif isinstance(event, TextDelta | ReasoningDelta):
            style = "dim italic" if isinstance(event, ReasoningDelta) else ""
            if self._within != style:
                self._end_line()
            self._within = style
            self._console.print(event.text, style=style, markup=False, soft_wrap=True, end="")
        elif not isinstance(event, CallStarted | CallProblem):
            self.show(event)

    def _end_line(self) -> None:
        if self._within is not None:
            self._console.print()
        self._within = None

    def show(self, turn: Any) -> None:
        """Show an answer; where it was shown as it was written, what came of its calls."""
        message = turn.message
        if self._json:
            print(json.dumps(as_record(turn), ensure_ascii=False), flush=True)
            return
        self._end_line()
        if not self.streams:
            self._line(message.reasoning, "dim italic")
            self._line(message.text)
        for number, call in enumerate(message.calls):
            if not self.streams or len(turn.results) > 1:
                self._line(f"{call.name}({call.arguments_json})", "green")
            if turn.results:
                result = turn.results[number]
                self._line(
                    f"  {'failed:' if result.is_error else '->'} {result.text}", "red" if result.is_error else "dim"
                )
        if not self.streams:
            self._line(message.text_after)

    def _line(self, text: str | None, style: str = "") -> None:
        if text:
            self._console.print(text, style=style, markup=False, soft_wrap=True)


def as_record(turn: Any) -> dict[str, Any]:
    """An answer as JSON values."""
    message = turn.message
    record: dict[str, Any] = {"text": message.text + message.text_after}
    if message.reasoning is not None:
        record["reasoning"] = message.reasoning
    record["calls"] = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in message.calls]
    if turn.results:
        record["results"] = [{"id": r.call_id, "content": r.content, "is_error": r.is_error} for r in turn.results]
    return record | {"finish_reason": turn.finish_reason}
