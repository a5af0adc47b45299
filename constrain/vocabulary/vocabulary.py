"""`Vocabulary`: token ids to exact bytes, and the trie of those bytes.

Bytes are read from the tokenizer's own tables, never from `decode()`, which turns part of a character into U+FFFD,
strips spaces at the ends and cannot tell a control token from its spelling. What was read is proven by a self-check
before it is used. A vocabulary is immutable, and all that follows from it depends on its content alone, so the finished
tables are kept on disk under a digest of the tokenizer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from constrain.grammars.errors import VocabularyError
from constrain.kernels import trie as trie_kernels
from constrain.kernels.trie import Trie, build_trie, freeze
from constrain.vocabulary import disk_cache, self_check
from constrain.vocabulary.source import TokenTable, id_list, source_of

_KIND = "vocabulary"


class Vocabulary:
    """The tokens of a model. Immutable; equal and hashed by content; picklable; shared freely between threads.

    The width of a model's logits is not part of it: heads are often padded beyond `size`, with ids that have no bytes.

    Attributes:
        token_bytes: per id, the exact bytes. None for special tokens, end-of-sequence ids, holes and empty tokens,
            which no grammar over bytes ever allows.
        size: `len(token_bytes)`, the highest id plus one.
        eos_token_ids: every id that ends generation; sorted, unique.
        special_tokens: text to id of the special (control) tokens.
        fingerprint: hexadecimal digest of the three above.
        trie: the tokens with bytes, as a `Trie`.
        longest: bytes of the longest token, 0 if there is none.
        bitmask_words: 32-bit words of one mask row, `ceil(size / 32)`.
        encode: the tokenizer's own way to cut a text into ids, without special tokens that a template would add; None
            where it is not known. No part of the content: not compared, and not pickled.

    Example:
        >>> vocabulary = Vocabulary.from_tokens([b"{", b"}", None], eos_token_ids=2)
        >>> vocabulary.token_bytes, vocabulary.eos_token_ids, vocabulary.longest
        ((b'{', b'}', None), (2,), 1)
    """

    __slots__ = (
        "__weakref__",
        "bitmask_words",
        "encode",
        "eos_token_ids",
        "fingerprint",
        "longest",
        "size",
        "special_tokens",
        "token_bytes",
        "trie",
    )

    token_bytes: Sequence[bytes | None]
    size: int
    eos_token_ids: tuple[int, ...]
    special_tokens: Mapping[str, int]
    fingerprint: str
    trie: Trie
    longest: int
    bitmask_words: int
    encode: Callable[[str], list[int]] | None

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError("use Vocabulary.from_tokenizer(...) or Vocabulary.from_tokens(...)")

    @classmethod
    def from_tokenizer(
        cls,
        tokenizer: Any,
        *,
        eos_token_ids: Iterable[int] | int | None = None,
        generation_config: Any = None,
        cache: bool = True,
    ) -> Vocabulary:
        """The vocabulary of a tokenizer.

        Args:
            tokenizer: a transformers tokenizer (fast, SentencePiece or mistral-common), `tokenizers.Tokenizer`,
                mistral_common's `MistralTokenizer`, `Tekkenizer` or `SentencePieceTokenizer`, `tiktoken.Encoding`, or
                `sentencepiece.SentencePieceProcessor`.
            eos_token_ids: end-of-sequence ids, added to those of the tokenizer and of `generation_config`.
            generation_config: a transformers `GenerationConfig` (or a dict) whose `eos_token_id` is added as well.
            cache: keep the tables on disk, in `CONSTRAIN_CACHE_DIR` or the user's cache folder.

        Raises:
            VocabularyError: the tokenizer is not one of these, its tokens have no exact bytes, the self-check failed,
                no end-of-sequence id is known, or one lies outside the vocabulary. `check` says which.
        """
        source = source_of(tokenizer)
        configured = (
            generation_config.get("eos_token_id")
            if isinstance(generation_config, Mapping)
            else getattr(generation_config, "eos_token_id", None)
        )
        eos = _sorted_ids(
            [
                *source.eos_token_ids(),
                *id_list(configured, "generation_config.eos_token_id"),
                *id_list(eos_token_ids, "eos_token_ids"),
            ]
        )
        if not eos:
            raise VocabularyError(
                "eos", "neither the tokenizer nor generation_config names an end-of-sequence id; pass eos_token_ids"
            )
        key = hashlib.blake2b(source.content_key() + repr(eos).encode(), digest_size=32).hexdigest()
        vocabulary = _load(key) if cache else None
        if vocabulary is None:
            table = source.read()
            _check_range(eos, len(table.tokens))
            self_check.check(table, source)
            vocabulary = _finish(table, eos)
            if cache:
                _store(key, vocabulary)
        object.__setattr__(vocabulary, "encode", source.encoder())
        return vocabulary

    @classmethod
    def from_tokens(
        cls,
        tokens: Sequence[bytes | None],
        *,
        eos_token_ids: Iterable[int] | int = (),
        special_tokens: Mapping[str, int] | None = None,
        encode: Callable[[str], list[int]] | None = None,
        cache: bool = False,
    ) -> Vocabulary:
        """The vocabulary of a list of tokens.

        Args:
            tokens: the bytes of each id; None for ids without bytes.
            eos_token_ids: end-of-sequence ids. Their bytes, if given, are dropped: emitting one ends the generation.
            special_tokens: text to id of special tokens. Their bytes, if given, are dropped.
            encode: how the tokenizer cuts a text into ids, needed for `Matcher.forced_tokens`.
            cache: keep the tables on disk.

        Raises:
            VocabularyError: a token is not bytes, an id lies outside the list, or `encode` gives tokens that do not
                add up to the text.
        """
        listed: list[bytes | None] = list(tokens)
        if not {bytes, type(None)}.issuperset(map(type, listed)):
            for token_id, token in enumerate(listed):
                if token is not None and not isinstance(token, bytes):
                    raise VocabularyError("tokens", f"token {token_id} is {type(token).__name__}, not bytes: {token!r}")
        special = dict(special_tokens or {})
        eos = _sorted_ids(id_list(eos_token_ids, "eos_token_ids"))
        _check_range(eos, len(listed))
        for text, token_id in special.items():
            if not 0 <= token_id < len(listed):
                raise VocabularyError("special tokens", f"{text!r} has id {token_id}, outside the {len(listed)} tokens")
            listed[token_id] = None
        table = TokenTable(listed, special)
        if encode is not None:
            self_check.check_encode(listed, encode)
        key = _fingerprint(_without_eos(table.tokens, eos), eos, special) if cache else ""
        vocabulary = _load(key) if cache else None
        if vocabulary is None:
            vocabulary = _finish(table, eos)
            if cache:
                _store(key, vocabulary)
        object.__setattr__(vocabulary, "encode", encode)
        return vocabulary

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"Vocabulary is immutable: {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Vocabulary is immutable: {name}")

    def __len__(self) -> int:
        return self.size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __copy__(self) -> Vocabulary:
        return self

    def __deepcopy__(self, memo: Any) -> Vocabulary:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        state = (self.token_bytes, self.eos_token_ids, dict(self.special_tokens), self.fingerprint, tuple(self.trie))
        return _restore, state

    def __repr__(self) -> str:
        return (
            f"<Vocabulary of {self.size} ids, {self.trie.token_ids.size} with bytes, "
            f"eos {list(self.eos_token_ids)}, {self.fingerprint[:8]}>"
        )


def _finish(table: TokenTable, eos: tuple[int, ...]) -> Vocabulary:
    tokens = _without_eos(table.tokens, eos)
    return _assemble(
        tokens, eos, table.special_tokens, _fingerprint(tokens, eos, table.special_tokens), build_trie(tokens)
    )


def _assemble(
    tokens: Sequence[bytes | None], eos: tuple[int, ...], special: Mapping[str, int], fingerprint: str, trie: Trie
) -> Vocabulary:
    vocabulary = object.__new__(Vocabulary)
    fields: dict[str, Any] = {
        "token_bytes": tuple(tokens),
        "size": len(tokens),
        "eos_token_ids": eos,
        "special_tokens": MappingProxyType(dict(special)),
        "fingerprint": fingerprint,
        "trie": freeze(trie),
        "longest": int(trie.depth.max()),
        "bitmask_words": -(-len(tokens) // 32),
        "encode": None,
    }
    for name, value in fields.items():
        object.__setattr__(vocabulary, name, value)
    return vocabulary


def _restore(
    tokens: tuple[bytes | None, ...],
    eos: tuple[int, ...],
    special: dict[str, int],
    fingerprint: str,
    arrays: tuple[npt.NDArray[Any], ...],
) -> Vocabulary:
    return _assemble(tokens, eos, special, fingerprint, Trie(*arrays))


def _without_eos(tokens: Sequence[bytes | None], eos: tuple[int, ...]) -> list[bytes | None]:
    """Emitting an end-of-sequence id ends the text, so it is never part of one. Empty tokens would never end it."""
    kept = [token or None for token in tokens]
    for token_id in eos:
        kept[token_id] = None
    return kept


def _sorted_ids(ids: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(ids)))


def _check_range(eos: tuple[int, ...], size: int) -> None:
    for token_id in eos:
        if not 0 <= token_id < size:
            raise VocabularyError("eos", f"end-of-sequence id {token_id} is outside the vocabulary of {size} ids")


def _lengths(tokens: Sequence[bytes | None]) -> npt.NDArray[np.int32]:
    return np.array([-1 if token is None else len(token) for token in tokens], dtype=np.int32)


def _fingerprint(tokens: Sequence[bytes | None], eos: tuple[int, ...], special: Mapping[str, int]) -> str:
    digest = hashlib.blake2b(json.dumps([eos, sorted(special.items())]).encode(), digest_size=32)
    digest.update(_lengths(tokens).astype("<i4").tobytes())
    digest.update(b"".join(filter(None, tokens)))
    return digest.hexdigest()


@lru_cache(maxsize=1)
def _stamp() -> str:
    """Digest of the code that makes the tables: no release, and no edit, reads what another one wrote."""
    digest = hashlib.blake2b(digest_size=16)
    for path in [*sorted(Path(__file__).parent.glob("*.py")), Path(trie_kernels.__file__)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _store(key: str, vocabulary: Vocabulary) -> None:
    meta = {
        "eos": vocabulary.eos_token_ids,
        "special": dict(vocabulary.special_tokens),
        "fingerprint": vocabulary.fingerprint,
    }
    text = np.frombuffer(b"".join(filter(None, vocabulary.token_bytes)), dtype=np.uint8)
    arrays = {"text": text, "lengths": _lengths(vocabulary.token_bytes), **vocabulary.trie._asdict()}
    disk_cache.store(_KIND, key, _stamp(), meta, arrays)


def _load(key: str) -> Vocabulary | None:
    found = disk_cache.load(_KIND, key, _stamp())
    if found is None:
        return None
    meta, arrays = found
    text = arrays["text"].tobytes()
    lengths: list[int] = arrays["lengths"].tolist()
    stops: list[int] = np.cumsum(np.maximum(arrays["lengths"], 0)).tolist()
    tokens = [None if n < 0 else text[stop - n : stop] for n, stop in zip(lengths, stops, strict=True)]
    trie = Trie(*(arrays[name] for name in Trie._fields))
    return _assemble(tokens, tuple(meta["eos"]), meta["special"], meta["fingerprint"], trie)
