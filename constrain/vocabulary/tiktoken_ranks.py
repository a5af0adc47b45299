"""Vocabularies that hold bytes outright: tiktoken encodings, and mistral-common's Tekken on top of one.

Nothing is decoded here. The digest of the tokens themselves is the cache key: reading them is as cheap as any other.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterable
from itertools import chain
from typing import Any

from constrain.vocabulary.source import Encoded, TokenSource, TokenTable


class _RankSource(TokenSource):
    def __init__(self) -> None:
        self._table: TokenTable | None = None

    @abstractmethod
    def _read(self) -> TokenTable: ...

    def read(self) -> TokenTable:
        if self._table is None:
            self._table = self._read()
        return self._table

    def content_key(self) -> bytes:
        tokens, special = self.read()
        lengths = [-1 if token is None else len(token) for token in tokens]
        digest = hashlib.blake2b(repr((type(self).__name__, lengths, sorted(special.items()))).encode(), digest_size=32)
        digest.update(b"".join(filter(None, tokens)))
        return digest.digest()

    def spellings(self, text: str) -> set[bytes]:
        return {text.encode()}


class TiktokenSource(_RankSource):
    """A `tiktoken.Encoding`."""

    def __init__(self, encoding: Any) -> None:
        super().__init__()
        self._encoding = encoding

    def _read(self) -> TokenTable:
        encoding = self._encoding
        special = {text: encoding.encode_single_token(text) for text in sorted(encoding.special_tokens_set)}
        tokens: list[bytes | None] = [None] * (encoding.max_token_value + 1)
        ranks = getattr(encoding, "_mergeable_ranks", None)
        if ranks is not None:
            for token, token_id in ranks.items():
                tokens[token_id] = token
        else:
            for token_id in range(len(tokens)):
                try:
                    tokens[token_id] = encoding.decode_single_token_bytes(token_id)
                except KeyError:  # a hole
                    continue
        for token_id in special.values():
            tokens[token_id] = None
        return TokenTable(tokens, special)

    def eos_token_ids(self) -> Iterable[int]:
        try:
            return [self._encoding.eot_token]
        except KeyError:  # no <|endoftext|>
            return []

    def encode(self, text: str) -> Encoded:
        return Encoded(self._encoding.encode_ordinary(text), False)


class TekkenSource(_RankSource):
    """A `mistral_common` `Tekkenizer`: special tokens first, then the tokens of a tiktoken encoding."""

    def __init__(self, tokenizer: Any) -> None:
        super().__init__()
        self._tokenizer = tokenizer

    def _read(self) -> TokenTable:
        tokenizer = self._tokenizer
        first, size = tokenizer.num_special_tokens, tokenizer.n_words
        special = {tokenizer.id_to_piece(token_id): token_id for token_id in range(first)}
        ranks = getattr(getattr(tokenizer, "_model", None), "_mergeable_ranks", None)
        if ranks is not None:
            tokens: list[bytes | None] = [None] * size
            for token, rank in ranks.items():
                tokens[first + rank] = token
        else:
            tokens = list(chain([None] * first, map(tokenizer.id_to_byte_piece, range(first, size))))
        return TokenTable(tokens, special)

    def eos_token_ids(self) -> Iterable[int]:
        return [self._tokenizer.eos_id]

    def encode(self, text: str) -> Encoded:
        return Encoded(self._tokenizer.encode(text, bos=False, eos=False), False)
