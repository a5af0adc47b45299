"""Bitmasks and what is done with them: one bit per token, packed into 32-bit words."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.engine.worker_threads import spread, thread_count
from constrain.kernels.apply import LEAVE, apply_rows

_PART_BYTES = 1 << 21  # logits that are worth a thread

MINUS_INFINITY = {
    "float16": 0xFC00,
    "bfloat16": 0xFF80,
    "float32": 0xFF800000,
    "float64": 0xFFF0000000000000 - (1 << 64),
}
"""The bits of minus infinity as an integer (float64: int64), by the names of dtypes."""


def allocate_token_bitmask(rows: int, width: int) -> NDArray[np.int32]:
    """A bitmask that allows nothing: int32, shape (rows, ceil(width / 32))."""
    return np.zeros((rows, (width + 31) // 32), dtype=np.int32)


def apply_token_bitmask(
    logits: Any, bitmask: Any, *, indices: Sequence[int] | None = None, out: Any | None = None
) -> Any:
    """Set the logits of tokens that the bitmask does not allow to minus infinity, in place unless `out` is given.

    The other logits stay bit for bit. On the CPU, many rows are spread over threads (`CONSTRAIN_THREADS`, by default
    one for each core).

    Args:
        logits: float16, bfloat16, float32 or float64; numpy, or torch on any device; any strides. Shape (rows, width)
            or (width,); the width need not be that of the bitmask.
        bitmask: int32 or uint32, numpy or torch, shape (rows, words) or (words,); one row serves all rows of logits.
            Tokens beyond its words are not allowed.
        indices: rows of logits to mask, all by default. Row i of the bitmask belongs to row i of logits.
        out: where to write instead, of the kind, dtype and shape of `logits`, in memory of its own. Rows that are not
            to be masked are copied.

    Returns:
        What was written to: `logits` or `out`.

    Raises:
        ValueError: the shapes do not fit, or what is to be written cannot be.
        TypeError: the dtypes do not fit.
    """
    if logits.ndim not in (1, 2) or bitmask.ndim not in (1, 2):
        raise ValueError("logits and bitmask have one or two dimensions")
    target = logits if out is None else out
    if target.shape != logits.shape or target.dtype != logits.dtype or type(target) is not type(logits):
        raise ValueError("out has the kind, dtype and shape of logits")
    count = logits.shape[0] if logits.ndim == 2 else 1
    masks = bitmask.shape[0] if bitmask.ndim == 2 else 1
    if masks not in (1, count):
        raise ValueError(f"the bitmask has {masks} rows, the logits {count}")
    rows = np.arange(count, dtype=np.int32) if masks == count else np.zeros(count, dtype=np.int32)
    if indices is not None:
        left_out = np.ones(count, dtype=bool)
        left_out[list(indices)] = False
        rows[left_out] = LEAVE
    if type(logits) is not np.ndarray and not _is_on_host(logits):
        _apply_on_device(logits, bitmask, rows, target, all_rows=indices is None)
    else:
        apply_on_host(logits, _as_words(bitmask), rows, target)
    return target


def apply_on_host(
    logits: Any,
    words: NDArray[np.int32],
    rows: NDArray[np.int32],
    target: Any,
    *,
    over: tuple[int, int] = (0, 0),
    found: NDArray[np.uint8] | None = None,
) -> None:
    """Write masked rows of logits in the memory of the host, in place where `target` is `logits`.

    `rows` (rows,) names rows of `words` (masks, words), or what `constrain.kernels.apply` defines beside them; `over`
    is its pair of bit patterns, for tokens whose bit is 1 and for the others; `found` (rows,) tells where a score is
    left.
    """
    x, y = _Memory.of(logits), _Memory.of(target)
    y.check_writable(target)
    if x.rows == 0 or x.width == 0:
        return
    masks, mask_row, width = words.ctypes.data, words.strides[0], words.shape[1]
    codes, flags = rows.ctypes.data, 0 if found is None else found.ctypes.data

    def work(first: int, stop: int) -> None:
        apply_rows(
            x.address + first * x.row_bytes,
            x.row_bytes,
            x.step_bytes,
            y.address + first * y.row_bytes,
            y.row_bytes,
            y.step_bytes,
            x.itemsize,
            stop - first,
            x.width,
            masks,
            mask_row,
            width,
            codes + 4 * first,
            flags + first if flags else 0,
            MINUS_INFINITY[x.kind],
            over[0],
            over[1],
        )

    parts = x.rows * x.width * x.itemsize // _PART_BYTES
    if parts < 2:
        work(0, x.rows)
    else:
        spread(work, x.rows, min(parts, thread_count()))


@dataclass(frozen=True, slots=True)
class _Memory:
    """Where the logits of an array or tensor are. Distances are in bytes."""

    kind: str
    address: int
    rows: int
    width: int
    row_bytes: int
    step_bytes: int
    itemsize: int

    @classmethod
    def of(cls, logits: Any) -> _Memory:
        if isinstance(logits, np.ndarray):
            # bfloat16 comes from packages that add dtypes to numpy; a foreign byte order has another name.
            kind, address, strides, itemsize = logits.dtype.name, logits.ctypes.data, logits.strides, logits.itemsize
            if not logits.dtype.isnative:
                kind = str(logits.dtype)
        else:
            kind, itemsize = str(logits.dtype).removeprefix("torch."), logits.element_size()
            address, strides = logits.data_ptr(), tuple(s * itemsize for s in logits.stride())
        if kind not in MINUS_INFINITY:
            raise TypeError(f"logits are float16, bfloat16, float32 or float64, not {kind}")
        rows = logits.shape[0] if len(strides) == 2 else 1
        width = int(logits.shape[-1])
        # A distance never gone has no meaning, and numpy and torch put anything there.
        row_bytes = strides[0] if rows > 1 else width * itemsize
        step_bytes = strides[-1] if width > 1 else itemsize
        return cls(kind, address, rows, width, row_bytes, step_bytes, itemsize)

    def check_writable(self, target: Any) -> None:
        if isinstance(target, np.ndarray) and not target.flags.writeable:
            raise ValueError("the logits to be written are read-only")
        if self.rows * self.width and (self.row_bytes == 0 or self.step_bytes == 0):
            raise ValueError("several of the logits to be written share one place in memory")


def _is_on_host(logits: Any) -> bool:
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(logits, torch.Tensor):
        raise TypeError(f"logits are an array of numpy or a tensor of torch, not {type(logits).__name__}")
    return bool(logits.device.type == "cpu")


def _as_words(mask: Any) -> NDArray[np.int32]:
    """A bitmask as int32 (rows, words) in the memory of the host, the words of a row next to each other."""
    words = mask if isinstance(mask, np.ndarray) else mask.cpu().numpy()
    if words.dtype not in (np.int32, np.uint32):
        raise TypeError(f"the bitmask must be int32 or uint32, not {words.dtype}")
    words = words.view(np.int32) if words.ndim == 2 else words.view(np.int32)[None]
    if words.strides[1] != 4 and words.shape[1] > 1:
        words = np.ascontiguousarray(words)
    return words


def _apply_on_device(logits: Any, bitmask: Any, rows: NDArray[np.int32], target: Any, *, all_rows: bool) -> None:
    import torch

    from constrain.kernels.device import apply_rows_on_device

    words = torch.from_numpy(bitmask) if isinstance(bitmask, np.ndarray) else bitmask
    if words.dtype not in (torch.int32, torch.uint32):
        raise TypeError(f"the bitmask must be int32 or uint32, not {words.dtype}")
    words = words.view(torch.int32)
    table = (words if words.ndim == 2 else words[None]).to(logits.device, non_blocking=True)
    if all_rows and table.shape[0] == len(rows):
        numbers = torch.arange(len(rows), dtype=torch.int32, device=logits.device)  # nothing crosses to the device
    else:
        numbers = torch.from_numpy(rows).to(logits.device, non_blocking=True)
    x, y = (t if t.ndim == 2 else t[None] for t in (logits, target))
    apply_rows_on_device(x, table, numbers, out=y)
