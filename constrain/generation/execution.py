"""Running the functions that a model calls.

Calls of one answer run at the same time, each in a thread. What a function raises is a result too: it goes back to the
model as an error, which may call again. Nothing but functions that were handed over is ever run.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from constrain.tools import Tool, ToolCall, ToolError, ToolResult, from_mcp

Executor = Mapping[str, Callable[..., Any]] | Callable[[str, dict[str, Any]], Any]
"""Functions by the names of tools, called with the arguments; or one for all, called with name and arguments.

They may be asynchronous, if they need no event loop of their own. For a tool of MCP the answer of its server to
`tools/call` is understood too.
"""

_MOST_AT_ONCE = 16
_ANSWERS = frozenset({"content", "structuredContent", "jsonrpc"})


def runner(executor: Any, given: Any, tools: Sequence[Tool]) -> Callable[[ToolCall], Any] | None:
    """What runs one call.

    Args:
        executor: an `Executor`; True for the Python functions among the tools as they were given; None for nothing.
        given: the tools as they were given.
        tools: the tools as they were read.

    Raises:
        ToolError: there is no function for a tool, or no tool for a function.
    """
    if executor is None or executor is False:
        return None
    if executor is True:
        executor = _functions(given)
    if isinstance(executor, Mapping):
        names = [tool.name for tool in tools]
        for name, function in executor.items():
            if name not in names:
                raise ToolError(repr(name), f"the executor has a function for it, and there is no such tool: {names}")
            if not callable(function):
                raise ToolError(repr(name), f"the executor cannot call {function!r}")
        for name in names:
            if name not in executor:
                raise ToolError(repr(name), "the executor has no function for this tool")
        functions = dict(executor)
        return _reading_mcp(tools, lambda call: _awaited(functions[call.name](**call.arguments)))
    if not callable(executor):
        raise TypeError(f"executor is True, a mapping from names to functions, or a function; not {executor!r}")
    function = executor
    return _reading_mcp(tools, lambda call: _awaited(function(call.name, call.arguments)))


def _reading_mcp(tools: Sequence[Tool], run: Callable[[ToolCall], Any]) -> Callable[[ToolCall], Any]:
    """With answers of MCP servers read."""
    of_servers = {tool.name for tool in tools if tool.source == "mcp"}

    def read(call: ToolCall) -> Any:
        value = run(call)
        if call.name in of_servers:
            if callable(getattr(value, "model_dump", None)):
                value = value.model_dump(mode="json", by_alias=True, exclude_none=True)
            if isinstance(value, Mapping) and not value.keys().isdisjoint(_ANSWERS):
                return from_mcp(call, value)
        return value

    return read


def _functions(given: Any) -> dict[str, Callable[..., Any]]:
    elements = given if isinstance(given, list | tuple | set | frozenset) else [given]
    return {e.__name__: e for e in elements if callable(e) and not isinstance(e, type) and hasattr(e, "__name__")}


def run_calls(run: Callable[[ToolCall], Any], calls: Sequence[ToolCall]) -> tuple[ToolResult, ...]:
    """The results of calls, in their order; what a function raises is a result that is an error."""
    if len(calls) == 1:
        return (_result(run, calls[0]),)
    with ThreadPoolExecutor(max_workers=min(len(calls), _MOST_AT_ONCE)) as pool:
        return tuple(pool.map(lambda call: _result(run, call), calls))


def _result(run: Callable[[ToolCall], Any], call: ToolCall) -> ToolResult:
    try:
        value = run(call)
    except Exception as error:
        return ToolResult(call.id, f"{type(error).__name__}: {error}", is_error=True)
    if isinstance(value, ToolResult):
        return ToolResult(call.id, value.content, value.is_error)
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        value = str(value)
    return ToolResult(call.id, value)


def _awaited(value: Any) -> Any:
    return asyncio.run(_wait(value)) if inspect.isawaitable(value) else value


async def _wait(value: Any) -> Any:
    return await value
