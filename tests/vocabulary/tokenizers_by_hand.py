"""Small tokenizers of every family, made on the spot, for tests that need no download."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CORPUS = [
    "The quick brown fox jumps over the lazy dog, 1234567890 times.",
    '{"name": "get_weather", "arguments": {"city": "São Paulo", "days": [1, 2, 3]}}',
    "  indented\n    text\twith\r\n\r\nspaces   and  more ",
    "漢字かな交じり文 한국어 中文 日本語 😀 👍🏽 naïve café",
    "def f(x): return x + 1  # comment",
] * 4

# How GPT-2 writes bytes as characters, from its published encoder: printable Latin-1 stays, the rest moves up.
_KEPT = [*range(33, 127), *range(161, 173), *range(174, 256)]
BYTE_CHARACTERS = {b: chr(b) for b in _KEPT} | {
    b: chr(256 + k) for k, b in enumerate(b for b in range(256) if b not in _KEPT)
}


def byte_level(size: int = 400, normalizer: Any = None, prefix_space: bool = False) -> Any:
    """Byte-level BPE in the manner of GPT-2, trained on the corpus."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|end|>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def space_marked_bpe(extra: tuple[str, ...] = (), byte_fallback: bool = True) -> Any:
    """BPE in the manner of Llama 2: `▁` for spaces, one put before the text, bytes for what has no piece."""
    from tokenizers import Tokenizer, decoders, models, normalizers

    pieces = ["<unk>", "<s>", "</s>"]
    pieces += [f"<0x{b:02X}>" for b in range(256)]
    merges = [("▁", "t"), ("h", "e"), ("▁t", "he"), ("▁", "▁"), ("a", "b"), ("l", "l")]
    pieces += ["▁", *(chr(c) for c in range(0x21, 0x7F)), "é", "漢", *(a + b for a, b in merges), *extra]
    tokenizer = Tokenizer(
        models.BPE({piece: i for i, piece in enumerate(pieces)}, merges, unk_token="<unk>", byte_fallback=byte_fallback)
    )
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    return tokenizer


def metaspace_unigram() -> Any:
    """Unigram with byte fallback, `▁` put in by the pre-tokenizer."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    pieces = [("<unk>", 0.0), ("</s>", 0.0)] + [(f"<0x{b:02X}>", -20.0) for b in range(256)]
    pieces += [("▁", -2.0), ("▁the", -3.0), ("he", -4.0), ("漢字", -5.0), ("<0xZZ>", -9.0)]
    pieces += [(chr(c), -6.0) for c in range(0x21, 0x7F)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="first")
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace("▁", prepend_scheme="first")])
    tokenizer.add_special_tokens(["</s>"])
    return tokenizer


def sentencepiece_model(kind: str, **options: Any) -> Any:
    """A SentencePiece processor trained on the corpus."""
    sentencepiece = pytest.importorskip("sentencepiece")
    model = io.BytesIO()
    settings = {
        "vocab_size": 420,
        "byte_fallback": True,
        "character_coverage": 0.98,
        "user_defined_symbols": ["<tool>"],
        "hard_vocab_limit": False,
        "minloglevel": 2,
    }
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS), model_writer=model, model_type=kind, **(settings | options)
    )
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def tiktoken_encoding(special: dict[str, int] | None = None) -> Any:
    """A tiktoken encoding: 256 bytes and a few merges, ids shifted so that there are holes."""
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([b]): b for b in range(256)}
    for k, token in enumerate([b"th", b"the", b" the", b"\xc3\xa9", b"\xe6\xbc", b"  "]):
        ranks[token] = 260 + 2 * k
    return tiktoken.Encoding(
        "by-hand",
        pat_str=r"\s?\S+|\s+",
        mergeable_ranks=ranks,
        special_tokens={"<|endoftext|>": 300, "<|tool|>": 305} if special is None else special,
    )


def mistral_data(name: str) -> Path:
    """A tokenizer file that comes with mistral-common."""
    mistral_common = pytest.importorskip("mistral_common")
    path = Path(next(iter(mistral_common.__path__))) / "data" / name
    if not path.exists():
        pytest.skip(f"this version of mistral-common does not ship {name}")
    return path


def smollm2_tokenizer() -> Any:
    """The tokenizer of SmolLM2-135M-Instruct, from a GGUF file; see `CONSTRAIN_SMOLLM2_DIR`."""
    transformers = pytest.importorskip("transformers")
    from constrain.kernels.jit import user_cache_folder

    folder = user_cache_folder()
    places = [Path(named)] if (named := os.environ.get("CONSTRAIN_SMOLLM2_DIR")) else []
    places += [folder / "models"] if folder is not None else []
    for place in places:
        for file in sorted(place.rglob("SmolLM2-135M-Instruct*.gguf")):
            return transformers.AutoTokenizer.from_pretrained(str(file.parent), gguf_file=file.name)
    pytest.skip("no SmolLM2-135M-Instruct*.gguf in CONSTRAIN_SMOLLM2_DIR or the model cache folder")


_AS_LLAMA = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}

FAMILIES: dict[str, Callable[[], Any]] = {
    "byte-level BPE": byte_level,
    "BPE with byte fallback": space_marked_bpe,
    "Unigram with byte fallback": metaspace_unigram,
    "SentencePiece BPE": lambda: sentencepiece_model("bpe", **_AS_LLAMA),
    "SentencePiece Unigram": lambda: sentencepiece_model("unigram", **_AS_LLAMA),
    "tiktoken": tiktoken_encoding,
}
