"""This library."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import constrain
from constrain.bench.engines.base import Batch, BitSequence, Refused
from constrain.bench.tokenizers import Tokenizer
from constrain.grammars.json_schema.load import load


class ConstrainCompiled:
    """A compiled grammar."""

    def __init__(self, compiled: Any, engine: ConstrainEngine) -> None:
        self.compiled, self.engine = compiled, engine

    def start(self) -> BitSequence:
        matcher = self.compiled.matcher()
        row = np.zeros((1, self.engine.words), dtype=np.int32)
        mask = functools.partial(matcher.fill_next_token_bitmask, row, 0)
        return BitSequence(mask, matcher.accept_token, row, self.engine.eos, matcher)


class ConstrainBatch:
    """All sequences in one call; the library spreads the rows over threads by itself."""

    def __init__(self, sequences: list[Any], words: int, threads: int) -> None:
        self.matchers = constrain.MatcherBatch(s.matcher for s in sequences)
        self.bitmask = np.zeros((len(sequences), words), dtype=np.int32)
        self.threads = max(1, min(threads, len(sequences)))

    def step(self, tokens: list[int]) -> None:
        self.matchers.accept_tokens(tokens)
        self.matchers.fill_next_token_bitmasks(self.bitmask, threads=self.threads)

    def replace(self, row: int, sequence: Any) -> None:
        self.matchers.replace(row, sequence.matcher)

    def close(self) -> None:
        pass


class ConstrainEngine:
    """This library with its defaults."""

    name = "constrain"

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.vocabulary = tokenizer.vocabulary()
        self.eos = tokenizer.eos
        self.words = (tokenizer.size + 31) // 32

    def warm_up(self) -> None:
        """Load all kernels, compiled where they have not been yet on this machine."""
        constrain.warm_up(quiet=True)

    def compile(self, schema: Any) -> ConstrainCompiled:
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
        return ConstrainCompiled(compiled, self)

    def batch(self, sequences: list[Any], threads: int) -> Batch:
        return ConstrainBatch(sequences, self.words, threads)


class ConstrainCoreEngine(ConstrainEngine):
    """This library on schemas without formats, patterns for names, negation, conditions and their like.

    What those keywords cost is seen by comparing it with the whole.
    """

    name = "constrain-core"

    def compile(self, schema: Any) -> ConstrainCompiled:
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
