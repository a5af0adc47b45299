"""lm-format-enforcer: a character-level parser in Python walked along a trie of the tokens' texts.

Its core only, since its integration with transformers does not import beside transformers 5. Tokens are texts here, so
one that ends inside a character is the replacement character, as in its own integration.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.bench.engines.base import Batch, LoopBatch, refusal
from constrain.bench.tokenizers import Tokenizer


class LmFormatEnforcerSequence:
    """The tokens so far; the enforcer keeps states by their tuple, and advances when it is asked for a mask."""

    def __init__(self, enforcer: Any, eos: tuple[int, ...]) -> None:
        self.enforcer, self.eos = enforcer, eos
        self.tokens: list[int] = []
        self.allowed: Any = None

    def mask(self) -> None:
        self.allowed = self.enforcer.get_allowed_tokens(self.tokens)

    def accept(self, token: int) -> bool:
        self.tokens.append(token)
        return True

    def allows(self, token: int) -> bool:
        return bool(self.words()[0, token >> 5] >> (token & 31) & 1)

    def may_end(self) -> bool:
        return any(map(self.allows, self.eos))

    def words(self) -> NDArray[np.int32]:
        words: NDArray[np.int32] = self.allowed.allowed_tokens.numpy()[None]
        return words


class LmFormatEnforcerCompiled:
    """A parser; every sequence has an enforcer of its own, as requests have."""

    def __init__(self, schema: Any, engine: LmFormatEnforcerEngine) -> None:
        from lmformatenforcer import JsonSchemaParser

        self.schema, self.engine = schema, engine
        self.parser: Any = JsonSchemaParser(schema)

    def start(self) -> LmFormatEnforcerSequence:
        from lmformatenforcer import JsonSchemaParser, TokenEnforcer

        parser = self.parser or JsonSchemaParser(self.schema)
        self.parser = None  # parsers carry state of the text; the first sequence takes the one already made
        return LmFormatEnforcerSequence(TokenEnforcer(self.engine.data, parser), self.engine.eos)


class LmFormatEnforcerEngine:
    """lm-format-enforcer with bitmasks and its defaults."""

    name = "lm-format-enforcer"

    def __init__(self, tokenizer: Tokenizer) -> None:
        from lmformatenforcer import TokenEnforcerTokenizerData

        logging.disable(logging.ERROR)  # it logs every text that its parser fails on
        self.eos = tokenizer.eos
        rows = tokenizer.tokens()
        regular = []
        for i, token in enumerate(rows):
            if token and i not in tokenizer.eos:
                text = token.decode("utf-8", "replace")
                regular.append((i, text, "\ufffd" not in text))  # a whole text needs no look at the tokens before it

        def decode(ids: list[int]) -> str:
            return b"".join(rows[i] or b"" for i in ids).decode("utf-8", "replace").rstrip("\ufffd")

        self.data = TokenEnforcerTokenizerData(regular, decode, list(tokenizer.eos), True, tokenizer.size)

    def compile(self, schema: Any) -> LmFormatEnforcerCompiled:
        if not isinstance(schema, dict):
            schema = {} if schema is True else {"not": {}}
        try:
            return LmFormatEnforcerCompiled(schema, self)
        except Exception as error:
            raise refusal(error) from error

    def batch(self, sequences: list[Any], threads: int) -> Batch:
        del threads  # pure Python
        return LoopBatch(sequences)
