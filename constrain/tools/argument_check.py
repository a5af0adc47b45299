"""Are the arguments of a call what its tool takes? The same automaton that constrains generation answers.

Nothing is repaired: not a number in quotes, not a missing bracket, not a name in other case. What is wrong is an error
that says where, what was expected and what came, so that the model can put it right.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Literal

from constrain.tools.call import ToolCall
from constrain.tools.candidates import Candidates
from constrain.tools.explanation import explain
from constrain.tools.json_text import read_object
from constrain.tools.problems import UnknownToolError, WrongArgumentsError
from constrain.tools.spelled import spell
from constrain.tools.tool import Tool

if TYPE_CHECKING:
    from constrain.engine import CompiledGrammar
    from constrain.vocabulary import Vocabulary


class ArgumentChecker:
    """Checks calls against tools. Grammars are compiled when a tool is called, and the last `keep` of them are kept.

    May be used from several threads.

    Args:
        tools: the tools, with distinct names.
        closed_objects: whether an absent `additionalProperties` means false; see `closing`.
        on_unsupported: as for `constrain.json_schema`; "warn" checks arguments without the keywords left out.
        keep: how many compiled tools to keep.
    """

    def __init__(
        self,
        tools: Sequence[Tool],
        *,
        closed_objects: bool = True,
        on_unsupported: Literal["error", "warn"] = "error",
        keep: int = 256,
    ) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self._closed = closed_objects
        self._on_unsupported: Literal["error", "warn"] = on_unsupported
        self._keep = keep
        self._compiled: OrderedDict[str, tuple[CompiledGrammar, Candidates]] = OrderedDict()
        self._lock = Lock()

    def parse(self, name: str, arguments: str, *, id: str | None = None, position: int = 0) -> ToolCall:
        """The call of a tool with arguments as JSON text. `position` is where that text begins, for errors.

        Raises:
            UnknownToolError: there is no such tool.
            ToolCallParseError: the text is truncated or malformed.
            WrongArgumentsError: the arguments are not what the tool takes.
        """
        self.tool(name, position)
        call = ToolCall(id, name, read_object(arguments, position))
        self.check(call, position=position)
        return call

    def check(self, call: ToolCall, *, position: int = 0) -> None:
        """Return if the call is right.

        Raises:
            UnknownToolError, WrongArgumentsError: it is not.
        """
        tool = self.tool(call.name, position)
        try:
            text, spans = spell(call.arguments)
        except (ValueError, RecursionError) as error:
            raise WrongArgumentsError(
                tool.name, (), "a JSON object", f"what JSON cannot spell: {error}", None, position
            ) from None
        compiled, candidates = self._grammar(tool)
        matcher = compiled.matcher()
        data = text.encode("ascii")
        if matcher.accept_bytes(data) and matcher.is_accepting:
            return
        matcher.reset()
        walker = matcher.fork()
        at = next((i for i in range(len(data)) if not walker.accept_bytes(data[i : i + 1])), len(data) - 1)
        path, expected, came, allowed = explain(matcher, candidates, call.arguments, text, spans, at)
        raise WrongArgumentsError(tool.name, path, expected, came, allowed, position)

    def tool(self, name: str, position: int = 0) -> Tool:
        """The tool of that name. Raises UnknownToolError, which suggests similar names."""
        tool = self.tools.get(name)
        if tool is None:
            raise UnknownToolError(name, self.tools, position)
        return tool

    def _grammar(self, tool: Tool) -> tuple[CompiledGrammar, Candidates]:
        with self._lock:
            kept = self._compiled.get(tool.name)
            if kept is not None:
                self._compiled.move_to_end(tool.name)
                return kept
        from constrain.engine import json_schema

        schema = tool.argument_schema
        grammar = json_schema(
            schema, whitespace="none", closed_objects=self._closed, on_unsupported=self._on_unsupported
        )
        made = grammar.compile(_bytes()), Candidates(schema)
        with self._lock:
            self._compiled[tool.name] = made
            while len(self._compiled) > self._keep:
                self._compiled.popitem(last=False)
        return made


def check_call(call: ToolCall, tools: Sequence[Tool]) -> None:
    """Check one call; for many, keep an `ArgumentChecker`.

    Raises:
        UnknownToolError, WrongArgumentsError: it is not right.
    """
    ArgumentChecker(tools).check(call)


@lru_cache(maxsize=1)
def _bytes() -> Vocabulary:
    from constrain.vocabulary import Vocabulary

    return Vocabulary.from_tokens([None, *(bytes([byte]) for byte in range(256))], eos_token_ids=[0])
