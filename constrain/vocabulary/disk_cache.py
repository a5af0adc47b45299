"""Tables of arrays on disk, keyed by content, safe with many processes.

A file is written beside its place under a temporary name and moved there in one step, so a reader sees the old file,
the new one or none. It ends with a digest of everything before it: half a file, a damaged one and one of another kind
are all recognised, count as absent, and are replaced by the next writer. Two processes that miss at once both build and
both write the same content; that costs time once and needs no lock, which a killed process could leave behind.

Nothing here raises for the state of the disk: without a writable folder the library works without a cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from constrain.kernels.jit import user_cache_folder

_MAGIC = b"constrain table 1\n"
_DIGEST_BYTES = 32
_ALIGNMENT = 64

Arrays = dict[str, npt.NDArray[Any]]


def load(kind: str, key: str, stamp: str) -> tuple[dict[str, Any], Arrays] | None:
    """The stored `(meta, arrays)`, or None where there is no sound file of this kind, key and stamp.

    Args:
        kind: a folder name for tables of one sort.
        key: hexadecimal digest of what the table was made from.
        stamp: version of the code that makes the table; a file with another stamp counts as absent.

    Returns:
        JSON-like meta data, and read-only arrays.
    """
    path = _path(kind, key)
    if path is None:
        return None
    try:
        data = path.read_bytes()
    except OSError:
        return None
    body = len(data) - _DIGEST_BYTES
    if body < len(_MAGIC) + 8 or data[: len(_MAGIC)] != _MAGIC:
        return None
    view = memoryview(data)
    if _digest(view[:body]) != view[body:]:
        return None
    header_start = len(_MAGIC) + 8
    header_end = header_start + int.from_bytes(data[len(_MAGIC) : header_start], "little")
    header = json.loads(data[header_start:header_end])
    if (header["kind"], header["key"], header["stamp"]) != (kind, key, stamp):
        return None
    arrays = {}
    for name, dtype, shape, offset in header["arrays"]:
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(data, np.dtype(dtype), count, offset).reshape(shape)
    return header["meta"], arrays


def store(kind: str, key: str, stamp: str, meta: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> bool:
    """Keep a table for `load`. Returns whether it was written; a full or read-only disk is not an error."""
    path = _path(kind, key)
    if path is None:
        return False
    names = list(arrays)
    contents = [np.ascontiguousarray(arrays[name]) for name in names]

    def header(offsets: list[int]) -> bytes:
        rows = [[n, a.dtype.str, list(a.shape), o] for n, a, o in zip(names, contents, offsets, strict=True)]
        return json.dumps({"kind": kind, "key": key, "stamp": stamp, "meta": dict(meta), "arrays": rows}).encode()

    # Offsets are part of the header and depend on its length: leave room for the longest they may be.
    room = len(header([2**40] * len(names)))
    offset = len(_MAGIC) + 8 + room
    offsets = []
    for array in contents:
        offset = -(-offset // _ALIGNMENT) * _ALIGNMENT
        offsets.append(offset)
        offset += array.nbytes
    parts = bytearray(_MAGIC + room.to_bytes(8, "little") + header(offsets).ljust(room))
    for array, start in zip(contents, offsets, strict=True):
        parts += b"\0" * (start - len(parts)) + array.tobytes()
    parts += _digest(parts)

    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=f".{key[:16]}-", suffix=".tmp", dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(parts)
        os.replace(temporary, path)
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        return False
    return True


def _path(kind: str, key: str) -> Path | None:
    folder = user_cache_folder()
    return None if folder is None else folder / kind / f"{key}.table"


def _digest(data: bytes | bytearray | memoryview) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()
