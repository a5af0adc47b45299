"""SentencePiece models: a bare processor, mistral-common's tokenizer, and transformers' slow tokenizers.

The model file types its pieces, so nothing has to be read from their spelling: a byte piece is a byte, whatever another
piece looks like; control, unknown and unused pieces have no bytes; all others are text with `▁` for a space.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from constrain.grammars.errors import VocabularyError
from constrain.vocabulary.source import Encoded, TokenSource, TokenTable, id_list

_SPACE = "\u2581"


class SentencePieceSource(TokenSource):
    """A `sentencepiece.SentencePieceProcessor`."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._unknown: int = model.unk_id()

    def content_key(self) -> bytes:
        return hashlib.blake2b(b"sentencepiece" + self._model.serialized_model_proto(), digest_size=32).digest()

    def eos_token_ids(self) -> Iterable[int]:
        eos = self._model.eos_id()
        return [] if eos < 0 else [eos]

    def read(self) -> TokenTable:
        model = self._model
        tokens: list[bytes | None] = []
        special: dict[str, int] = {}
        for token_id in range(model.get_piece_size()):
            piece: str = model.id_to_piece(token_id)
            token: bytes | None = None
            if model.is_control(token_id) or model.is_unknown(token_id):
                special[piece] = token_id
            elif model.is_byte(token_id):
                token = bytes([int(piece[3:5], 16)])
            elif not model.is_unused(token_id):
                token = piece.replace(_SPACE, " ").encode() or None
            tokens.append(token)
        return TokenTable(tokens, special)

    def encode(self, text: str) -> Encoded:
        ids = list(self._model.encode(text))
        return Encoded(ids, self._unknown in ids)

    def spellings(self, text: str) -> set[bytes]:
        found = {text.encode()}
        if hasattr(self._model, "normalize"):
            found.add(self._model.normalize(text).replace(_SPACE, " ").encode())
        else:
            found.add(b" " + text.encode())
        return found


class SlowTokenizerSource(SentencePieceSource):
    """A transformers tokenizer written in Python over a SentencePiece model, its added tokens laid over the pieces."""

    def __init__(self, tokenizer: Any) -> None:
        super().__init__(tokenizer.sp_model)
        self._tokenizer = tokenizer
        self._added: dict[int, Any] = dict(tokenizer.added_tokens_decoder)
        self._special_ids = set(id_list(getattr(tokenizer, "all_special_ids", None), "all_special_ids"))

    def content_key(self) -> bytes:
        digest = hashlib.blake2b(super().content_key(), digest_size=32)
        added = [(i, str(t), t.special, t.normalized) for i, t in sorted(self._added.items())]
        digest.update(repr((type(self._tokenizer).__qualname__, added, sorted(self._special_ids))).encode())
        return digest.digest()

    def eos_token_ids(self) -> Iterable[int]:
        return id_list(getattr(self._tokenizer, "eos_token_id", None), "tokenizer.eos_token_id")

    def read(self) -> TokenTable:
        tokens, special = super().read()
        # Some of these tokenizers shift or reorder the ids of the model below them.
        ids = [i for i in range(len(tokens)) if i not in self._added]
        pieces = [self._model.id_to_piece(i) for i in ids]
        for token_id, piece, shown in zip(ids, pieces, self._tokenizer.convert_ids_to_tokens(ids), strict=True):
            if piece != shown:
                raise VocabularyError(
                    "piece ids", f"id {token_id} is {shown!r} to the tokenizer, {piece!r} to its SentencePiece model"
                )
        size = max([len(tokens), *(i + 1 for i in self._added)])
        tokens += [None] * (size - len(tokens))
        for token_id, added in self._added.items():
            content = str(added)
            if added.special or token_id in self._special_ids:
                tokens[token_id] = None
                special[content] = token_id
            elif self._piece(token_id) != content:
                tokens[token_id] = content.encode() or None
        for token_id in self._special_ids:
            if 0 <= token_id < size and tokens[token_id] is not None:
                tokens[token_id] = None
                special[self._tokenizer.convert_ids_to_tokens(token_id)] = token_id
        return TokenTable(tokens, special)

    def _piece(self, token_id: int) -> str | None:
        return self._model.id_to_piece(token_id) if token_id < self._model.get_piece_size() else None

    def encode(self, text: str) -> Encoded:
        ids = list(self._tokenizer.encode(text, add_special_tokens=False))
        return Encoded(ids, self._unknown in ids or getattr(self._tokenizer, "unk_token_id", None) in ids)

    def spellings(self, text: str) -> set[bytes]:
        return super().spellings(text) | {b" " + text.encode()}

    def interferes(self, text: str) -> bool:
        return any(str(token) in text for token in self._added.values())
