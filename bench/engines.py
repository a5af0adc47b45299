"""The engines that the mask benchmark can drive, each behind the same three calls: compile, mask, accept.

An adapter adds no work between the benchmark's clock and the engine: `mask` and `accept` are the engine's own calls,
and whatever only the benchmark needs (reading a bit) is outside the clock.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

import constrain
from constrain.bench.tokenizers import Tokenizer
from constrain.grammars.json_schema.load import load


class Refused(Exception):
    """An engine declined a schema. `kind` says how: "unsupported", "unsatisfiable", "invalid", "limit" or "error"."""

    def __init__(self, kind: str, keyword: str, pointer: str, reason: str) -> None:
        self.kind, self.keyword, self.pointer, self.reason = kind, keyword, pointer, reason
        super().__init__(f"{kind}, {keyword!r} at {pointer or '(root)'}: {reason}")


class Sequence(Protocol):
    """One text being written."""

    def mask(self) -> None:
        """Compute the mask of the next token into the engine's own buffer. Timed."""

    def accept(self, token: int) -> bool:
        """Take a token; False where it is refused. Timed."""

    def allows(self, token: int) -> bool:
        """Whether the last mask has the token's bit. Not timed."""

    def may_end(self) -> bool:
        """Whether the last mask allows an end token. Not timed."""


class Compiled(Protocol):
    """A compiled schema."""

    def start(self) -> Sequence: ...


class Engine(Protocol):
    """An engine set up for one tokenizer."""

    name: str

    def compile(self, schema: Any) -> Compiled:
        """Compile a schema. Timed. Raises `Refused` where the engine declines it by name."""


class _BitmaskSequence:
    """A matcher with the interface that serving engines share; one packed row of 32-bit words."""

    def __init__(self, matcher: Any, row: NDArray[np.int32], eos: tuple[int, ...]) -> None:
        self.matcher, self.row, self.eos = matcher, row, eos
        self.accept: Callable[[int], bool] = matcher.accept_token

    def mask(self) -> None:
        self.matcher.fill_next_token_bitmask(self.row, 0)

    def allows(self, token: int) -> bool:
        return bool(self.row[0, token >> 5] >> (token & 31) & 1)

    def may_end(self) -> bool:
        return any(map(self.allows, self.eos))


class _ConstrainCompiled:
    def __init__(self, compiled: Any, row: NDArray[np.int32], eos: tuple[int, ...]) -> None:
        self.compiled, self.row, self.eos = compiled, row, eos

    def start(self) -> _BitmaskSequence:
        return _BitmaskSequence(self.compiled.matcher(), self.row, self.eos)


class ConstrainEngine:
    """This library."""

    name = "constrain"

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.vocabulary = tokenizer.vocabulary()
        self.eos = tokenizer.eos
        self.row = np.zeros((1, (tokenizer.size + 31) // 32), dtype=np.int32)

    def compile(self, schema: Any) -> _ConstrainCompiled:
        try:
            compiled = constrain.json_schema(schema).compile(self.vocabulary)
        except constrain.ConstrainError as error:
            kinds = {
                constrain.UnsupportedSchemaError: "unsupported",
                constrain.UnsatisfiableSchemaError: "unsatisfiable",
                constrain.InvalidSchemaError: "invalid",
                constrain.ResourceLimitError: "limit",
            }
            kind = next((kind for type_, kind in kinds.items() if isinstance(error, type_)), "error")
            raise Refused(
                kind, getattr(error, "keyword", ""), getattr(error, "pointer", ""), getattr(error, "reason", str(error))
            ) from error
        return _ConstrainCompiled(compiled, self.row, self.eos)


class ConstrainCoreEngine(ConstrainEngine):
    """This library on schemas without formats, patterns for names, negation, conditions and their like.

    What those keywords cost is seen by comparing it with the whole.
    """

    name = "constrain-core"

    def compile(self, schema: Any) -> _ConstrainCompiled:
        try:
            load(schema, not_yet=_BEYOND_CORE)
        except constrain.UnsupportedSchemaError as error:
            raise Refused("unsupported", error.keyword, error.pointer, error.reason) from error
        except constrain.ConstrainError:
            pass  # reported by the compiler
        return super().compile(schema)


_BEYOND_CORE = frozenset(
    (
        "contains", "dependencies", "dependentRequired", "dependentSchemas", "format", "if", "not", "oneOf",
        "patternProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "uniqueItems",
    )
)  # fmt: skip

ENGINES: dict[str, Callable[[Tokenizer], Engine]] = {
    "constrain": ConstrainEngine,
    "constrain-core": ConstrainCoreEngine,
}
"""Engines by the name that the command line takes."""


def load_engine(name: str, tokenizer: Tokenizer) -> Engine:
    """Set up an engine by its name in `ENGINES`, or by `module:factory` for one defined elsewhere.

    Raises:
        ValueError: there is no such engine.
    """
    factory = ENGINES.get(name)
    if factory is None:
        module, colon, attribute = name.partition(":")
        if not colon:
            raise ValueError(f"unknown engine {name!r}; there are {', '.join(ENGINES)}, or module:factory")
        factory = getattr(importlib.import_module(module), attribute)
    return factory(tokenizer)
