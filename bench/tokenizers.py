"""The tokenizers of the benchmarks, by name: the tokens' bytes, the end ids, and an `encode` without special tokens.

Built from files that packages ship, so that a benchmark needs no model hub. Any other name is taken as a Hugging Face
tokenizer, a folder or a name in the local cache.
"""

from __future__ import annotations

import base64
import importlib.util
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import constrain


@dataclass(frozen=True)
class Tokenizer:
    """A tokenizer ready for a benchmark."""

    name: str
    size: int
    vocabulary: Callable[[], Any]
    encode: Callable[[str], list[int]]
    eos: tuple[int, ...]


def _data_file(package: str, pattern: str) -> Path:
    spec = importlib.util.find_spec(package)
    folders = spec.submodule_search_locations if spec else None
    found = sorted(Path(folders[0]).glob(pattern)) if folders else []
    if not found:
        raise FileNotFoundError(
            f"the tokenizer comes with the package {package!r} (file {pattern}), which is not installed"
        )
    return found[-1]


def _tekken() -> Tokenizer:
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    path = _data_file("mistral_common", "data/tekken_240911.json")
    data = json.loads(path.read_bytes())
    special, size = data["config"]["default_num_special_tokens"], data["config"]["default_vocab_size"]
    rows: list[bytes | None] = [None] * size
    for entry in data["vocab"][: size - special]:
        rows[special + entry["rank"]] = base64.b64decode(entry["token_bytes"])
    model = Tekkenizer.from_file(path)
    eos = (int(model.eos_id),)
    return Tokenizer(
        "tekken",
        size,
        lambda: constrain.Vocabulary.from_tokens(rows, eos_token_ids=list(eos)),
        lambda text: list(model.encode(text, bos=False, eos=False)),
        eos,
    )


def _sentencepiece() -> Tokenizer:
    import sentencepiece

    model = sentencepiece.SentencePieceProcessor(str(_data_file("mistral_common", "data/tokenizer.model.v1")))
    size = model.vocab_size()
    rows: list[bytes | None] = []
    for i in range(size):
        piece = model.id_to_piece(i)
        if model.is_control(i) or model.is_unknown(i) or model.is_unused(i):
            rows.append(None)
        else:
            rows.append(bytes([int(piece[3:5], 16)]) if model.is_byte(i) else piece.replace("\u2581", " ").encode())

    def encode(text: str) -> list[int]:
        # SentencePiece puts a space before the text; after a line end it does not, so one is put first and cut off.
        ids = model.encode("\n" + text)
        start = next(k for k, i in enumerate(ids) if (rows[i] or b"").endswith(b"\n"))
        return list(ids[start + 1 :])

    eos = (int(model.eos_id()),)
    return Tokenizer(
        "sentencepiece",
        size,
        lambda: constrain.Vocabulary.from_tokens(rows, eos_token_ids=list(eos)),
        encode,
        eos,
    )


def _bytes() -> Tokenizer:
    rows: list[bytes | None] = [*(bytes([b]) for b in range(256)), None]
    return Tokenizer(
        "bytes",
        257,
        lambda: constrain.Vocabulary.from_tokens(rows, eos_token_ids=[256]),
        lambda text: list(text.encode()),
        (256,),
    )


def _hugging_face(name: str) -> Tokenizer:
    from transformers import AutoTokenizer

    model = AutoTokenizer.from_pretrained(name, local_files_only=True)
    return Tokenizer(
        name,
        len(model),
        lambda: constrain.Vocabulary.from_tokenizer(model),
        lambda text: list(model.encode(text, add_special_tokens=False)),
        (int(model.eos_token_id),),
    )


BUILT_IN: dict[str, Callable[[], Tokenizer]] = {"tekken": _tekken, "sentencepiece": _sentencepiece, "bytes": _bytes}
"""Tekken has 131,072 tokens (Mistral), sentencepiece 32,000 (Mistral 7B), bytes 257."""


def load_tokenizer(name: str) -> Tokenizer:
    """The tokenizer of that name. Raises FileNotFoundError or OSError where its files are missing."""
    return BUILT_IN[name]() if name in BUILT_IN else _hugging_face(name)
