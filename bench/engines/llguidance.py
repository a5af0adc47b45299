"""llguidance: an Earley parser over regex derivatives, in Rust, without work ahead of time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.bench.engines.base import Batch, BitSequence, Refused, mask_words, refusal, writing
from constrain.bench.tokenizers import Tokenizer


class _Wrapped:
    """What `TokenizerWrapper` asks of a tokenizer."""

    bos_token_id = None

    def __init__(self, tokenizer: Tokenizer) -> None:
        rows = tokenizer.tokens()
        self.tokens = [token or b"" for token in rows]
        self.eos_token_id = tokenizer.eos[0]
        self.special_token_ids = [i for i, token in enumerate(rows) if token is None]
        self.encode = tokenizer.encode

    def __call__(self, text: str) -> list[int]:
        if not isinstance(text, str):
            raise TypeError("text is expected")
        return self.encode(text)


class LlguidanceCompiled:
    """A grammar, parsed and ready; further sequences are copies of it."""

    def __init__(self, matcher: Any, engine: LlguidanceEngine) -> None:
        self.matcher, self.engine = matcher, engine

    def start(self) -> BitSequence:
        matcher = self.matcher.deep_copy()
        row = np.zeros((1, self.engine.words), dtype=np.int32)
        # What llguidance.numpy.fill_next_token_bitmask calls, without that function's checks of the array.
        mask = writing(row, matcher.unsafe_compute_mask_ptr, row.ctypes.data, row.nbytes)
        return BitSequence(mask, matcher.consume_token, row, self.engine.eos, matcher)


class LlguidanceBatch:
    """The library's own executor."""

    def __init__(self, sequences: list[Any], threads: int, words: int) -> None:
        from llguidance import LLExecutor

        self.threads = max(1, threads)
        self.matchers = [sequence.matcher for sequence in sequences]
        self.bitmask: NDArray[np.int32] = np.zeros((len(sequences), words), dtype=np.int32)
        self.executor = LLExecutor(num_threads=self.threads)

    def step(self, tokens: list[int]) -> None:
        self.executor.consume_token_par(list(zip(self.matchers, tokens, strict=True)))
        rows, words = self.bitmask.shape
        indexed = list(zip(self.matchers, range(rows), strict=True))
        self.executor.unsafe_compute_mask_ptr(indexed, self.bitmask.ctypes.data, words * 4, rows)

    def replace(self, row: int, sequence: Any) -> None:
        self.matchers[row] = sequence.matcher

    def close(self) -> None:
        pass


class LlguidanceEngine:
    """llguidance with its defaults."""

    name = "llguidance"

    def __init__(self, tokenizer: Tokenizer) -> None:
        from llguidance import LLTokenizer, TokenizerWrapper

        self.eos, self.words = tokenizer.eos, mask_words(tokenizer.size)
        wrapped: Any = TokenizerWrapper(_Wrapped(tokenizer))
        self.tokenizer = LLTokenizer(wrapped, n_vocab=tokenizer.size, eos_token=list(tokenizer.eos))

    def compile(self, schema: Any) -> LlguidanceCompiled:
        import json

        from llguidance import LLMatcher

        try:
            matcher = LLMatcher(
                self.tokenizer, LLMatcher.grammar_from_json_schema(json.dumps(schema, ensure_ascii=False)), log_level=0
            )
        except Exception as error:
            raise refusal(error) from error
        if matcher.is_error():
            raise Refused("unsupported", "", "", " ".join(matcher.get_error().split())[:500])
        return LlguidanceCompiled(matcher, self)

    def batch(self, sequences: list[Any], threads: int) -> Batch:
        return LlguidanceBatch(sequences, threads, self.words)
