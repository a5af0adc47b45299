"""GRID (`grid-guardrail`): LALR(1) tables built in Python, masks by Rust kernels from `grid_core`.

Default mode: what its masks do not enforce is recorded rather than refused. As its own benchmark does, a conflict in
the tables is retried once with the values of overlapping branches unified.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np

from constrain.bench.engines.base import Batch, BitSequence, LoopBatch, mask_words, refusal
from constrain.bench.tokenizers import Tokenizer


class _Adapter:
    """What GRID asks of a tokenizer."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.rows = tokenizer.tokens()
        self.vocabulary = {str(i): i for i in range(tokenizer.size)}
        self.eos_token_id = self.pad_token_id = tokenizer.eos[0]
        self.special_token_ids = frozenset([*(i for i, t in enumerate(self.rows) if t is None), *tokenizer.eos])

    def token_bytes(self, token_id: int) -> bytes:
        return b"" if token_id in self.special_token_ids else self.rows[token_id] or b""


class GridCompiled:
    """Tables, scanner and mask producer of a schema."""

    def __init__(self, guide: Any, engine: GridEngine) -> None:
        self.guide, self.engine = guide, engine

    def start(self) -> BitSequence:
        from grid.models.vllm_structured import GridGrammarSession

        session = GridGrammarSession(self.guide.copy())
        row = np.zeros((1, self.engine.words), dtype=np.int32)
        mask = functools.partial(session.fill_bitmask, row, 0)
        return BitSequence(mask, lambda token: session.accept_tokens("", [token]), row, self.engine.eos, session)


class GridEngine:
    """GRID with its defaults."""

    name = "grid"

    def __init__(self, tokenizer: Tokenizer) -> None:
        import grid_core  # noqa: F401 - without its kernels GRID runs in pure Python, which is not what is compared
        from grid.serving.artifact_store import load_or_build_trie

        warnings.filterwarnings("ignore", module=r"grid\.")  # it advises on the grammars that it made itself
        self.eos, self.words = tokenizer.eos[:1], mask_words(tokenizer.size)
        self.adapter = _Adapter(tokenizer)
        self.trie = load_or_build_trie(self.adapter)

    def compile(self, schema: Any) -> GridCompiled:
        from grid.errors import LALRConflictError

        try:
            try:
                guide = self._guide(schema, unify=False)
            except LALRConflictError:
                guide = self._guide(schema, unify=True)
        except Exception as error:
            raise refusal(error) from error
        return GridCompiled(guide, self)

    def _guide(self, schema: Any, *, unify: bool) -> Any:
        from grid.grammar.projection import RoleProjection
        from grid.guide import GridGuide
        from grid.jsonschema import compile_json_schema_grammar
        from grid.serving.artifact_store import load_or_build_scanner, load_or_compile_tables

        grammar, _recorded = compile_json_schema_grammar(schema, unify_string_values=unify)
        tables = load_or_compile_tables(RoleProjection.full(grammar).build(), frozenset())
        return GridGuide(tables=tables, dfa=load_or_build_scanner(grammar), trie=self.trie, adapter=self.adapter)

    def batch(self, sequences: list[Any], threads: int) -> Batch:
        del threads  # a step holds the GIL
        return LoopBatch(sequences)
