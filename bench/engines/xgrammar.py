"""xgrammar: byte-level pushdown automata in C++, with masks computed at compile time. One thread, as all engines here.

Two settings, since they answer different needs and neither contains the other. `strict` closes objects that do not say
`additionalProperties` and writes `json.dumps` spacing; `loose` takes any whitespace and leaves objects open, which is
nearer to JSON Schema's own meaning. Masks are computed while compiling, which is the default of the library.
"""

from __future__ import annotations

import functools
from typing import Any

from constrain.bench.engines.base import Batch, BitSequence, refusal
from constrain.bench.tokenizers import Tokenizer


class XgrammarCompiled:
    """A compiled grammar."""

    def __init__(self, compiled: Any, engine: XgrammarEngine) -> None:
        self.compiled, self.engine = compiled, engine

    def start(self) -> BitSequence:
        import xgrammar

        engine = self.engine
        matcher = xgrammar.GrammarMatcher(self.compiled)
        bitmask = xgrammar.allocate_token_bitmask(1, engine.size)
        mask = functools.partial(matcher.fill_next_token_bitmask, bitmask, 0)
        return BitSequence(mask, matcher.accept_token, bitmask.numpy(), engine.eos, matcher)


class XgrammarBatch:
    """The library's own batch matcher."""

    def __init__(self, sequences: list[Any], threads: int, size: int) -> None:
        import xgrammar

        self.threads = max(1, threads)
        self.matchers = [sequence.matcher for sequence in sequences]
        self.bitmask = xgrammar.allocate_token_bitmask(len(sequences), size)
        self.pool = xgrammar.BatchGrammarMatcher(max_threads=self.threads)

    def step(self, tokens: list[int]) -> None:
        self.pool.batch_accept_token(self.matchers, tokens)
        self.pool.batch_fill_next_token_bitmask(self.matchers, self.bitmask)

    def replace(self, row: int, sequence: Any) -> None:
        self.matchers[row] = sequence.matcher

    def close(self) -> None:
        pass


class XgrammarEngine:
    """xgrammar with some options of `compile_json_schema`."""

    def __init__(self, tokenizer: Tokenizer, name: str, options: dict[str, Any]) -> None:
        import torch
        import xgrammar

        torch.set_num_threads(1)
        self.name, self.options = name, options
        self.eos, self.size = tokenizer.eos, tokenizer.size
        info = xgrammar.TokenizerInfo(
            [token or b"" for token in tokenizer.tokens()],
            xgrammar.VocabType.RAW,
            vocab_size=tokenizer.size,
            stop_token_ids=list(tokenizer.eos),
        )
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1)

    def compile(self, schema: Any) -> XgrammarCompiled:
        import json

        try:
            return XgrammarCompiled(self.compiler.compile_json_schema(json.dumps(schema), **self.options), self)
        except Exception as error:
            raise refusal(error) from error

    def batch(self, sequences: list[Any], threads: int) -> Batch:
        return XgrammarBatch(sequences, threads, self.size)

    def apply(self, logits: Any, words: Any) -> None:
        """Mask torch logits of one row with the library's own kernel."""
        import torch
        import xgrammar

        xgrammar.apply_token_bitmask_inplace(logits, torch.from_numpy(words).to(logits.device))


def strict(tokenizer: Tokenizer) -> XgrammarEngine:
    """Closed objects, `json.dumps` spacing."""
    return XgrammarEngine(tokenizer, "xgrammar", {"any_whitespace": False, "strict_mode": True})


def loose(tokenizer: Tokenizer) -> XgrammarEngine:
    """Open objects, any whitespace."""
    return XgrammarEngine(tokenizer, "xgrammar-loose", {"any_whitespace": True, "strict_mode": False})
