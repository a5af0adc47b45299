"""A trie on disk, to go on with another day.

What is kept are numbers: tokens, logs of probabilities, the frontier. States of the language are found again by reading
the tokens, so the file does not depend on how a language represents them. A digest of the model's row and the mask at
the root guards against going on with another model, prompt or grammar.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from constrain.distortion.language import Language
from constrain.distortion.model import Model
from constrain.distortion.process import MaskedProcess
from constrain.distortion.trie import Trie, tails

_FORMAT = 1
_FLOATS = ("node_log_p", "node_log_w", "log_z", "_front_p", "_settled_p", "end_log_p", "end_log_w")
_INTEGERS = ("parents", "tokens", "depths", "_next_child", "end_nodes", "end_tokens")
_SCALARS = ("dead_q", "dead_p", "truncated_q", "truncated_p", "forward_passes", "_root_waits")
_SETTINGS = ("max_tokens", "max_children", "batch_size", "floor", "_assumed_lossless")


def _digest(process: MaskedProcess) -> str:
    step = process.steps([()])[0]
    digest = hashlib.sha256()
    digest.update(np.round(step.row, 3).astype(np.float32).tobytes())
    digest.update(step.ids.astype(np.int64).tobytes())
    return digest.hexdigest()


def save_trie(trie: Trie, path: str | Path) -> None:
    """Write a trie as .npz; an existing file is replaced only when the new one is complete."""
    sizes = np.array([c.shape[0] for c in trie._child_ids], dtype=np.int64)
    arrays: dict[str, Any] = {name: np.array(getattr(trie, name), dtype=np.float64) for name in _FLOATS}
    arrays |= {name: np.array(getattr(trie, name), dtype=np.int64) for name in _INTEGERS}
    arrays["sizes"] = sizes
    arrays["child_ids"] = np.concatenate([np.empty(0, dtype=np.int32), *trie._child_ids])
    arrays["child_log_p"] = np.concatenate([np.empty(0), *trie._child_log_p])
    meta = {name: getattr(trie, name) for name in (*_SCALARS, *_SETTINGS)}
    meta |= {"format": _FORMAT, "digest": _digest(trie.process)}
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    target = Path(path)
    beside = target.with_name(target.name + ".part")
    with beside.open("wb") as file:
        np.savez_compressed(file, **arrays)
    os.replace(beside, target)


def load_trie(path: str | Path, model: Model, language: Language) -> Trie:
    """Read a trie and bind it to its model and language.

    Raises ValueError when the file is of another format, or the first step of model or language differs.
    """
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    meta = json.loads(arrays["meta"].tobytes())
    if meta["format"] != _FORMAT:
        raise ValueError(f"{path} has format {meta['format']}, this is format {_FORMAT}")
    trie = Trie(
        model,
        language,
        max_tokens=meta["max_tokens"],
        lossless=meta["_assumed_lossless"],
        max_children=meta["max_children"],
        batch_size=meta["batch_size"],
        floor=meta["floor"],
    )
    if _digest(trie.process) != meta["digest"]:
        raise ValueError(f"{path} was made with another model, prompt or language")
    for name in _FLOATS + _INTEGERS:
        setattr(trie, name, arrays[name].tolist())
    for name in _SCALARS:
        setattr(trie, name, meta[name])
    ends = np.cumsum(arrays["sizes"])[:-1]
    if len(trie):
        trie._child_ids = np.split(arrays["child_ids"], ends)
        trie._child_log_p = np.split(arrays["child_log_p"], ends)
        trie._child_tails = [tails(row) for row in trie._child_log_p]
    for node in range(len(trie)):
        trie._offer(node)
    return trie
