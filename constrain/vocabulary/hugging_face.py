"""Tokenizers of the `tokenizers` library, bare or inside a transformers tokenizer.

The serialised tokenizer (what tokenizer.json holds) is the source: the model's pieces go through the configured decoder
(`piece_bytes.py`). Serialising 128k tokens takes about 0.1 s, and its digest is the key of the disk cache, so every
change of the tokenizer, added tokens included, makes a new key.

Added tokens lie over the model's vocabulary. A special one is never bytes. An ordinary one is matched in plain text
before the model runs, so it stands for its content as UTF-8, whatever alphabet the model writes its pieces in. Where an
added token takes the id of a piece of the model with the same text, both readings meet:

- with `▁` for a space, the model's reading holds (Gemma adds its own runs of `▁` that way);
- byte-level, "Ġx" added over the piece for " x" stands for both, and the id is given no bytes: never allowed, rather
  than wrong half of the time. Where the piece is a single byte, texts could no longer be spelled without it, so the
  tokenizer is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from typing import Any

from constrain.grammars.errors import VocabularyError
from constrain.vocabulary.piece_bytes import BYTE_OF, Config, PieceDecoder, flatten
from constrain.vocabulary.source import Encoded, TokenSource, TokenTable, id_list


class TokenizersSource(TokenSource):
    """A `tokenizers.Tokenizer`, with the transformers tokenizer around it if there is one."""

    def __init__(self, backend: Any, wrapper: Any = None) -> None:
        self._backend, self._wrapper = backend, wrapper
        try:
            self._serialised: str = backend.to_str()
        except Exception as error:  # components written in Python cannot be serialised
            raise VocabularyError("tokenizer kind", f"the tokenizer cannot be serialised: {error}") from error
        self._special_ids = sorted(set(id_list(getattr(wrapper, "all_special_ids", None), "all_special_ids")))
        self._config: Config | None = None
        self._decoder: PieceDecoder | None = None
        self._unknown: int | None = None
        self._interfering: list[str] = []
        self._missing_bytes: set[int] = set()

    def content_key(self) -> bytes:
        digest = hashlib.blake2b(self._serialised.encode(), digest_size=32)
        digest.update(repr(("tokenizers", self._special_ids)).encode())
        return digest.digest()

    def eos_token_ids(self) -> Iterable[int]:
        return id_list(getattr(self._wrapper, "eos_token_id", None), "tokenizer.eos_token_id")

    def read(self) -> TokenTable:
        config = self._config = json.loads(self._serialised)
        decode = self._decoder = PieceDecoder(config)
        model = config["model"]
        vocab = model["vocab"]
        pieces: dict[int, str] = (
            {token_id: piece for piece, token_id in vocab.items()}
            if isinstance(vocab, dict)
            else {token_id: piece for token_id, (piece, _) in enumerate(vocab)}
        )
        added: dict[int, Config] = {token["id"]: token for token in config["added_tokens"]}
        special = {token_id for token_id, token in added.items() if token["special"]}
        special.update(self._special_ids)
        self._unknown = _unknown_id(model, vocab)
        if self._unknown is not None:
            special.add(self._unknown)

        tokens: list[bytes | None] = [None] * (max([*pieces, *added], default=-1) + 1)
        for token_id, piece in pieces.items():
            if token_id not in special:
                tokens[token_id] = decode(piece) or None
        for token_id, token in added.items():
            if token_id not in special:
                tokens[token_id] = _added_bytes(token, pieces.get(token_id), decode) or None
        self._interfering = [
            token["content"]
            for token_id, token in added.items()
            # Pieces around an added token may be given a `▁` of their own.
            if tokens[token_id] is None or token["lstrip"] or token["rstrip"] or not decode.byte_level
        ]
        if decode.byte_level:
            self._missing_bytes = {byte for character, byte in BYTE_OF.items() if character not in vocab}
        texts = {
            token_id: added[token_id]["content"] if token_id in added else pieces.get(token_id) for token_id in special
        }
        return TokenTable(tokens, {text: token_id for token_id, text in sorted(texts.items()) if text is not None})

    def encode(self, text: str) -> Encoded:
        encoding = self._backend.encode(text, add_special_tokens=False)
        ids = [i for i, real in zip(encoding.ids, encoding.attention_mask, strict=True) if real]  # no padding
        # What has no tokens is left out without a word where there is no unknown token.
        if self._decoder is not None and self._decoder.byte_level:
            dropped = not self._missing_bytes.isdisjoint(self._normalised(text).encode())
        else:
            covered = {k for start, stop in encoding.offsets for k in range(start, stop)}
            # A pre-tokenizer that throws spaces away is not lacking tokens.
            dropped = any(c not in " \t\n\r" and k not in covered for k, c in enumerate(text))
        return Encoded(ids, dropped or self._unknown in ids or bool(encoding.overflowing))

    def encoder(self) -> Callable[[str], list[int]]:
        backend = self._backend

        def encode(text: str) -> list[int]:
            # Padding and truncation are the tokenizer's state of the moment, left behind by its last call.
            encoding = backend.encode(text, add_special_tokens=False)
            if encoding.overflowing:
                return _untruncated(backend, text)
            ids: list[int] = encoding.ids
            if backend.padding is None:
                return ids
            return [i for i, real in zip(ids, encoding.attention_mask, strict=True) if real]

        return encode

    def _normalised(self, text: str) -> str:
        normalizer = self._backend.normalizer
        if normalizer is None:
            return text
        normalised: str = normalizer.normalize_str(text)
        return normalised

    def spellings(self, text: str) -> set[bytes]:
        if self._config is None or self._decoder is None:
            raise RuntimeError("read() comes first")
        normalised = self._normalised(text)
        found = {text.encode(), normalised.encode()}
        if not self._decoder.byte_level:
            found.add(self._decoder.spelled(normalised))
        elif any(part["type"] == "ByteLevel" for part in flatten(self._config.get("normalizer"))):
            found.add(self._decoder(normalised))
        if any(map(_puts_space_before, flatten(self._config.get("pre_tokenizer")))):
            found |= {b" " + spelling for spelling in found}
        return found

    def interferes(self, text: str) -> bool:
        return any(added in text for added in self._interfering if added)


def _untruncated(backend: Any, text: str) -> list[int]:
    """The ids of a text by a tokenizer with truncation switched on, which is left as it is."""
    copy = type(backend).from_str(backend.to_str())
    copy.no_truncation()
    copy.no_padding()
    ids: list[int] = copy.encode(text, add_special_tokens=False).ids
    return ids


def _puts_space_before(pre_tokenizer: Config) -> bool:
    if pre_tokenizer["type"] == "Metaspace":
        return bool(pre_tokenizer.get("prepend_scheme", "always") != "never")
    return bool(pre_tokenizer.get("add_prefix_space"))


def _unknown_id(model: Config, vocab: Any) -> int | None:
    if model["type"] == "Unigram":
        unknown: int | None = model.get("unk_id")
        return unknown
    name = model.get("unk_token")
    return vocab.get(name) if name is not None else None


def _added_bytes(token: Config, piece: str | None, decode: PieceDecoder) -> bytes | None:
    """The bytes of an added token that is not special; `piece` is what the model's vocabulary has under the same id."""
    content: str = token["content"]
    literal = content.encode()
    if decode.byte_level:
        if piece != content or (written := decode(piece)) == literal:
            return literal
        if len(written) == 1:
            raise VocabularyError(
                "added tokens",
                f"{content!r} was added over the piece for byte {written[0]:02X}: id {token['id']} stands for both",
            )
        return None
    if piece == content:
        return decode(content)
    # Matched in normalised text, where spaces are already written `▁`.
    return decode.spelled(content) if token.get("normalized") else literal
