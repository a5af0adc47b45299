"""From a piece of a `tokenizers` vocabulary to bytes: the configured decoder, taken as a program for one piece.

A tokenizer.json says how pieces become text: a sequence of decoders. Those that treat every piece by itself are run
here on the piece; those that only act on the two ends of a text (a leading space stripped after `Fuse`) do not change
what a token stands for in the middle of it and are left out. Decoders that look at neighbours, or throw spaces away,
have no bytes per token: they are refused, by name.

Without a decoder, the pre-tokenizer and the normalizer say the same from the other side, if they name a byte-level or
`▁` alphabet. Nothing else is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from constrain.grammars.errors import VocabularyError

Config = dict[str, Any]
_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def _byte_alphabet() -> dict[str, int]:
    """How byte-level vocabularies write bytes: printable Latin-1 as itself, the others from U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    alphabet = {chr(byte): byte for byte in printable}
    others = (byte for byte in range(256) if byte not in set(printable))
    alphabet.update({chr(0x100 + k): byte for k, byte in enumerate(others)})
    return alphabet


BYTE_OF = _byte_alphabet()


def flatten(config: Config | None) -> Iterator[Config]:
    """The components of a normalizer, pre-tokenizer or decoder, sequences opened."""
    if config is None:
        return
    if config["type"] == "Sequence":
        for key in ("decoders", "pretokenizers", "normalizers"):
            for part in config.get(key) or ():
                yield from flatten(part)
    else:
        yield config


class PieceDecoder:
    """Pieces to bytes.

    Attributes:
        byte_level: pieces are written in the byte alphabet.
    """

    def __init__(self, tokenizer: Config) -> None:
        self.byte_level = False
        self._byte_fallback = False
        self._rewrites: list[Callable[[str], str]] = []
        model = tokenizer["model"]
        if model.get("type") == "WordPiece":
            raise VocabularyError(
                "model", "WordPiece does not record the spaces between words: tokens have no exact bytes"
            )
        for key in ("continuing_subword_prefix", "end_of_word_suffix"):
            if model.get(key):
                raise VocabularyError("model", f"{key}={model[key]!r} makes a token's bytes depend on its neighbours")
        preparation = [*flatten(tokenizer.get("normalizer")), *flatten(tokenizer.get("pre_tokenizer"))]
        if tokenizer.get("decoder") is None:
            self._infer(preparation, bool(model.get("byte_fallback")))
        else:
            self._follow(list(flatten(tokenizer["decoder"])))
        if self.byte_level and not any(part["type"] == "ByteLevel" for part in preparation):
            raise VocabularyError("decoder", "the decoder is byte-level, but nothing turns text into the byte alphabet")

    def __call__(self, piece: str) -> bytes:
        """The bytes of an ordinary piece of the model's vocabulary; empty where they cannot be told."""
        for rewrite in self._rewrites:
            piece = rewrite(piece)
        if self.byte_level:
            try:
                return bytes([BYTE_OF[character] for character in piece])
            except KeyError:
                return b""  # no text is ever cut into such a piece, so nothing says what it stands for
        if self._byte_fallback and (match := _BYTE_PIECE.fullmatch(piece)):
            return bytes([int(match[1], 16)])
        return piece.encode()

    def spelled(self, text: str) -> bytes:
        """The bytes of a text written in pieces, where every character is a piece."""
        for rewrite in self._rewrites:
            text = rewrite(text)
        return text.encode()

    def _follow(self, decoders: list[Config]) -> None:
        fused = False
        for decoder in decoders:
            kind = decoder["type"]
            if kind == "ByteLevel":
                self.byte_level = True
            elif kind == "ByteFallback":
                self._byte_fallback = True
            elif kind == "Fuse":
                fused = True
            elif kind == "Metaspace":
                self._replace(decoder["replacement"], " ")
            elif kind == "Replace" and "String" in decoder["pattern"]:
                self._replace(decoder["pattern"]["String"], decoder["content"])
            elif kind == "Strip":
                if not fused:
                    self._rewrites.append(_strip(decoder["content"], decoder["start"], decoder["stop"]))
            else:
                raise VocabularyError(
                    "decoder", f"the decoder {kind} gives tokens no exact bytes of their own: {decoder}"
                )
        if self.byte_level and (self._byte_fallback or self._rewrites):
            raise VocabularyError("decoder", f"byte-level and other pieces mixed in one decoder: {decoders}")

    def _infer(self, preparation: list[Config], byte_fallback: bool) -> None:
        if any(part["type"] == "ByteLevel" for part in preparation):
            self.byte_level = True
            return
        for part in preparation:
            if part["type"] == "Metaspace":
                self._replace(part["replacement"], " ")
            elif part["type"] == "Replace" and part["pattern"].get("String") == " ":
                self._replace(part["content"], " ")
        if not self._rewrites:
            raise VocabularyError(
                "decoder",
                "the tokenizer has no decoder, and neither its normalizer nor its pre-tokenizer names an alphabet",
            )
        self._byte_fallback = byte_fallback

    def _replace(self, old: str, new: str) -> None:
        self._rewrites.append(lambda piece: piece.replace(old, new))


def _strip(content: str, start: int, stop: int) -> Callable[[str], str]:
    def strip(piece: str) -> str:
        for _ in range(start):
            piece = piece.removeprefix(content)
        for _ in range(stop):
            piece = piece.removesuffix(content)
        return piece

    return strip
