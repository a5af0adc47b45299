"""What a vocabulary needs to know of a tokenizer, whatever library it comes from, and how one is recognised.

No tokenizer library is imported: a tokenizer is recognised by the methods its library documents, so that nothing has to
be installed beside the one library that the tokenizer came from. Recognition never settles the bytes: those come from
the tokenizer's own tables, and are then proven by the self-check.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from constrain.grammars.errors import VocabularyError

ACCEPTED = (
    "a transformers tokenizer (fast, SentencePiece or mistral-common), tokenizers.Tokenizer, "
    "mistral_common's MistralTokenizer, Tekkenizer or SentencePieceTokenizer, tiktoken.Encoding, "
    "or sentencepiece.SentencePieceProcessor"
)


class TokenTable(NamedTuple):
    """The tokens of a tokenizer.

    Attributes:
        tokens: per id, its exact bytes; None for special tokens, holes and ids whose bytes are not known for certain.
        special_tokens: text to id of the special (control) tokens.
    """

    tokens: list[bytes | None]
    special_tokens: dict[str, int]


class Encoded(NamedTuple):
    """A text as token ids. `lossy` says that the tokenizer has no tokens for part of the text, by its own tables."""

    ids: list[int]
    lossy: bool


class TokenSource(ABC):
    """A tokenizer, seen as the source of a vocabulary."""

    @abstractmethod
    def content_key(self) -> bytes:
        """A digest of all that `read`, `encode` and `spellings` depend on; cheap next to `read`."""

    @abstractmethod
    def eos_token_ids(self) -> Iterable[int]:
        """The ids that the tokenizer itself calls end of sequence."""

    @abstractmethod
    def read(self) -> TokenTable:
        """The tokens. Raises `VocabularyError` where bytes cannot be told from the configuration."""

    @abstractmethod
    def encode(self, text: str) -> Encoded:
        """The ids of a text, without tokens that a template would add."""

    def encoder(self) -> Callable[[str], list[int]]:
        """`encode` by itself, quick, and without what only reading the vocabulary needs."""
        return lambda text: self.encode(text).ids

    @abstractmethod
    def spellings(self, text: str) -> set[bytes]:
        """What the tokens of `text` may add up to: the text, or what the tokenizer's own normalisation makes of it."""

    def interferes(self, text: str) -> bool:  # noqa: ARG002
        """Whether `text` holds a token with no bytes or with rules of its own, so that its encoding proves nothing."""
        return False


def id_list(value: Any, where: str) -> list[int]:
    """The token ids in an int, a sequence of ints, an array or None."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if value is None:
        return []
    if isinstance(value, int) and not isinstance(value, bool):
        return [value]
    if isinstance(value, bool | str | bytes) or not isinstance(value, Iterable):
        raise VocabularyError("eos", f"{where}: expected a token id or several, not {value!r}")
    return [token_id for item in value for token_id in id_list(item, where)]


def source_of(tokenizer: Any) -> TokenSource:
    """The tokenizer as a `TokenSource`. Raises `VocabularyError` for anything that is not recognised."""
    from constrain.vocabulary.hugging_face import TokenizersSource
    from constrain.vocabulary.sentence_piece import SentencePieceSource, SlowTokenizerSource
    from constrain.vocabulary.tiktoken_ranks import TekkenSource, TiktokenSource

    if isinstance(tokenizer, type):
        raise VocabularyError("tokenizer kind", f"{tokenizer!r} is a class; pass an instance")
    outer = tokenizer
    # transformers' wrapper of mistral-common holds a MistralTokenizer, which holds the tokenizer proper.
    if hasattr(getattr(tokenizer, "tokenizer", None), "instruct_tokenizer"):
        tokenizer = tokenizer.tokenizer
    if hasattr(tokenizer, "instruct_tokenizer"):
        tokenizer = tokenizer.instruct_tokenizer.tokenizer

    if _has(tokenizer, "n_words", "id_to_piece"):  # mistral-common's two kinds
        model = getattr(tokenizer, "_model", None)
        if _has(model, "serialized_model_proto", "id_to_piece"):
            return SentencePieceSource(model)
        if _has(tokenizer, "id_to_byte_piece", "num_special_tokens"):
            return TekkenSource(tokenizer)
    if _has(tokenizer, "serialized_model_proto", "id_to_piece"):
        return SentencePieceSource(tokenizer)
    if _has(tokenizer, "decode_single_token_bytes", "encode_ordinary"):
        return TiktokenSource(tokenizer)
    if _has(tokenizer, "to_str", "get_added_tokens_decoder"):
        return TokenizersSource(tokenizer)
    for name in ("backend_tokenizer", "_tokenizer"):
        backend = getattr(tokenizer, name, None)
        if _has(backend, "to_str", "get_added_tokens_decoder"):
            return TokenizersSource(backend, tokenizer)
    if _has(getattr(tokenizer, "sp_model", None), "serialized_model_proto"):
        return SlowTokenizerSource(tokenizer)
    name = f"{type(outer).__module__}.{type(outer).__qualname__}"
    raise VocabularyError("tokenizer kind", f"{name} is not a tokenizer whose bytes are known; pass {ACCEPTED}")


def _has(thing: Any, *names: str) -> bool:
    return thing is not None and all(hasattr(thing, name) for name in names)
