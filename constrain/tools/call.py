"""A call that a model made, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from constrain.tools.problems import listing


@dataclass(frozen=True)
class ToolCall:
    """One call.

    Attributes:
        id: ties the result to the call; None where the format has no ids and none was made. See `call_ids`.
        name: name of the tool.
        arguments: a JSON object, as Python containers.
    """

    id: str | None
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.id, self.name))

    @property
    def arguments_json(self) -> str:
        """The arguments as JSON text; letters of all scripts stand for themselves."""
        return as_json(self.arguments)


@dataclass(frozen=True)
class ToolResult:
    """What came of a call.

    Attributes:
        call_id: id of the call; None where calls have none, and results stand in the order of the calls.
        content: any JSON value. Where an API wants a text, a str is passed as it is and anything else as JSON text.
        is_error: whether the call failed; `content` then says why.
    """

    call_id: str | None
    content: Any = ""
    is_error: bool = False

    def __hash__(self) -> int:
        return hash((self.call_id, self.is_error))

    @property
    def text(self) -> str:
        return self.content if isinstance(self.content, str) else as_json(self.content)


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def match_results(
    calls: Sequence[ToolCall], results: Iterable[Any] | Mapping[str, Any]
) -> list[tuple[ToolCall, ToolResult]]:
    """Each call with its result, in the order of the calls.

    Args:
        calls: calls with distinct ids, or without any.
        results: one for each call: `ToolResult`s with ids in any order; or contents, or `ToolResult`s without ids, in
            the order of the calls; or a mapping from ids to contents or `ToolResult`s.

    Raises:
        ValueError: a call has no result, a result no call, or an id is there twice.
    """
    ids = [call.id for call in calls if call.id is not None]
    if len(set(ids)) != len(ids):
        raise ValueError(f"two calls have the same id: {listing(ids, 'and')}")
    if isinstance(results, Mapping):
        given = [_result(content, call_id) for call_id, content in results.items()]
    else:
        given = [_result(content, None) for content in results]
    if all(result.call_id is None for result in given):
        if len(given) != len(calls):
            raise ValueError(f"there are {len(calls)} calls and {len(given)} results")
        return [
            (call, ToolResult(call.id, result.content, result.is_error))
            for call, result in zip(calls, given, strict=True)
        ]
    by_id: dict[str, ToolResult] = {}
    for result in given:
        if result.call_id is None:
            raise ValueError("some results have an id and some have none")
        if result.call_id in by_id:
            raise ValueError(f"two results have the id {result.call_id!r}")
        by_id[result.call_id] = result
    strangers = [call_id for call_id in by_id if call_id not in ids]
    if strangers:
        raise ValueError(f"no call has the id {listing(strangers, 'or')}; the ids are {listing(ids, 'and')}")
    missing = [str(call.id) for call in calls if call.id not in by_id]
    if missing:
        raise ValueError(f"the calls {listing(missing, 'and')} have no result")
    return [(call, by_id[call.id]) for call in calls if call.id is not None]


def _result(content: Any, call_id: str | None) -> ToolResult:
    if isinstance(content, ToolResult):
        if call_id is not None and content.call_id not in (None, call_id):
            raise ValueError(f"the result for {call_id!r} says that it is for {content.call_id!r}")
        return content if call_id is None else ToolResult(call_id, content.content, content.is_error)
    return ToolResult(call_id, content)
