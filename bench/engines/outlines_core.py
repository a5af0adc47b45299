"""outlines-core: the schema as one regular expression, its automaton intersected with the vocabulary ahead of time."""

from __future__ import annotations

from typing import Any

import numpy as np

from constrain.bench.engines.base import Batch, BitSequence, LoopBatch, mask_words, refusal, writing
from constrain.bench.tokenizers import Tokenizer


class OutlinesCoreCompiled:
    """An index of states by tokens."""

    def __init__(self, index: Any, engine: OutlinesCoreEngine) -> None:
        self.index, self.engine = index, engine

    def start(self) -> BitSequence:
        from outlines_core import Guide

        guide = Guide(self.index)
        row = np.zeros((1, self.engine.words), dtype=np.int32)
        advance = guide.advance

        def accept(token: int) -> bool:
            try:
                advance(token, False)
            except ValueError:
                return False
            return True

        mask = writing(row, guide.write_mask_into, row.ctypes.data, row.size, row.itemsize)
        return BitSequence(mask, accept, row, self.engine.eos, guide)


class OutlinesCoreEngine:
    """outlines-core with its defaults."""

    name = "outlines-core"

    def __init__(self, tokenizer: Tokenizer) -> None:
        from outlines_core import Vocabulary

        self.eos, self.words = tokenizer.eos[:1], mask_words(tokenizer.size)
        ids: dict[bytes, list[int]] = {}
        for i, token in enumerate(tokenizer.tokens()):
            if token and i not in tokenizer.eos:
                ids.setdefault(token, []).append(i)
        self.vocabulary = Vocabulary(tokenizer.eos[0], ids)

    def compile(self, schema: Any) -> OutlinesCoreCompiled:
        import json

        from outlines_core import Index
        from outlines_core.json_schema import build_regex_from_schema

        try:
            return OutlinesCoreCompiled(Index(build_regex_from_schema(json.dumps(schema)), self.vocabulary), self)
        except Exception as error:
            raise refusal(error) from error

    def batch(self, sequences: list[Any], threads: int) -> Batch:
        del threads  # a step holds the GIL
        return LoopBatch(sequences)
