"""Bitmasks and what is done with them: one bit per token, packed into 32-bit words."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.engine.worker_threads import spread, thread_count
from constrain.kernels.apply import KINDS, LEAVE, apply_rows, cut_rows

_PART_BYTES = 1 << 21  # logits that are worth a thread
_FLOAT, _WORD, _UNSIGNED = np.dtype(np.float32), np.dtype(np.int32), np.dtype(np.uint32)

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
    is_usual = indices is None and out is None and _is_usual(logits, bitmask)
    if is_usual and cut_rows()(logits, bitmask, MINUS_INFINITY["float32"]):
        return logits
    if not isinstance(logits, np.ndarray) and not _is_tensor(logits):
        raise TypeError(f"logits are an array of numpy or a tensor of torch, not {type(logits).__name__}")
    if logits.ndim not in (1, 2) or bitmask.ndim not in (1, 2):
        raise ValueError("logits and bitmask have one or two dimensions")
    target = logits
    if out is not None:
        if type(out) is not type(logits) or out.dtype != logits.dtype or out.shape != logits.shape:
            raise ValueError("out has the kind, dtype and shape of logits")
        target = out
    count = logits.shape[0] if logits.ndim == 2 else 1
    masks = bitmask.shape[0] if bitmask.ndim == 2 else 1
    if masks not in (1, count):
        raise ValueError(f"the bitmask has {masks} rows, the logits {count}")
    rows = None
    if indices is not None:
        rows = np.full(count, LEAVE, dtype=np.int32)
        chosen = list(indices)
        rows[chosen] = np.arange(count, dtype=np.int32)[chosen] if masks == count else 0
    if isinstance(logits, np.ndarray) or logits.is_cpu:
        apply_on_host(logits, bitmask, rows, target)
    else:
        _apply_on_device(logits, bitmask, rows, target)
    return target


def _is_usual(logits: Any, bitmask: Any) -> bool:
    """Whether these are arrays in the layout that takes no more than one call, and one thread."""
    return (
        type(logits) is np.ndarray
        and type(bitmask) is np.ndarray
        and logits.ndim == bitmask.ndim == 2
        and logits.dtype == _FLOAT
        and (bitmask.dtype == _WORD or bitmask.dtype == _UNSIGNED)
        and logits.flags.carray
        and bitmask.flags.c_contiguous
        and bitmask.flags.aligned
        and logits.nbytes < 2 * _PART_BYTES
    )


def apply_on_host(
    logits: Any,
    bitmask: Any,
    rows: NDArray[np.int32] | None,
    target: Any,
    *,
    over: tuple[int, int] = (0, 0),
    found: NDArray[np.uint8] | None = None,
) -> None:
    """Write masked rows of logits in the memory of the host, in place where `target` is `logits`.

    `rows` (rows,) names rows of `bitmask`, or what `constrain.kernels.apply` defines beside them; None stands for row i
    for row i, or for the only row. `over` is that kernel's pair of bit patterns, for tokens whose bit is 1 and for the
    others; `found` (rows,) tells where a score is left.
    """
    mask, masks, mask_rows, mask_row, words = _words(bitmask)  # `mask` keeps the memory alive
    x, count, width, x_row, x_step, itemsize, cut = _memory(logits)
    if target is logits:
        y, y_row, y_step = x, x_row, x_step
    else:
        y, _, _, y_row, y_step, _, _ = _memory(target)
    if count == 0 or width == 0:
        return
    if y_row == 0 or y_step == 0:
        raise ValueError("several of the logits to be written share one place in memory")
    if isinstance(target, np.ndarray) and not target.flags.writeable:
        raise ValueError("the logits to be written are read-only")
    if rows is None and mask_rows == 1:
        mask_row = 0
    codes = 0 if rows is None else rows.ctypes.data
    flags = 0 if found is None else found.ctypes.data

    job = (
        KINDS[itemsize],
        x,
        x_row,
        x_step,
        y,
        y_row,
        y_step,
        count,
        width,
        masks,
        mask_row,
        words,
        codes,
        flags,
        cut,
        *over,
    )
    parts = count * width * itemsize // _PART_BYTES
    if parts < 2 or count == 1:
        apply_rows(*job)
    else:
        spread(functools.partial(_apply_part, job), count, min(parts, thread_count()))
    del mask


def _apply_part(job: tuple[Any, ...], first: int, stop: int) -> None:
    """What `apply_rows` is told by `job`, for rows `first` to `stop` only."""
    kind, x, x_row, x_step, y, y_row, y_step, _, width, masks, mask_row, words, codes, flags, *values = job
    if codes:
        codes += 4 * first
    else:
        masks += mask_row * first
    if flags:
        flags += first
    x, y = x + x_row * first, y + y_row * first
    apply_rows(
        kind, x, x_row, x_step, y, y_row, y_step, stop - first, width, masks, mask_row, words, codes, flags, *values
    )


def _is_tensor(thing: Any) -> bool:
    """Whether it is a tensor of torch; torch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, torch.Tensor)


_kinds: dict[Any, tuple[int, int]] = {}  # dtypes of numpy and torch that were met: bytes, bits of minus infinity


def _kind(dtype: Any) -> tuple[int, int]:
    # bfloat16 comes from packages that add dtypes to numpy. A foreign byte order shows in the text, not in the name.
    name = dtype.name if isinstance(dtype, np.dtype) and dtype.isnative else str(dtype).removeprefix("torch.")
    if name not in MINUS_INFINITY:
        raise TypeError(f"logits are float16, bfloat16, float32 or float64, not {name}")
    _kinds[dtype] = kind = dtype.itemsize, MINUS_INFINITY[name]
    return kind


def _memory(logits: Any) -> tuple[int, int, int, int, int, int, int]:
    """Address, rows, width, bytes from row to row and from element to element, bytes of one, bits of minus infinity."""
    dtype, shape = logits.dtype, logits.shape
    itemsize, cut = _kinds.get(dtype) or _kind(dtype)
    # A distance never gone has no meaning, and numpy and torch put anything there.
    rows, width = shape if len(shape) == 2 else (1, shape[0])
    if isinstance(logits, np.ndarray):
        address, strides = logits.ctypes.data, logits.strides
        row_bytes, step_bytes = strides[0], strides[-1]
    else:
        address, strides = logits.data_ptr(), logits.stride()
        row_bytes, step_bytes = strides[0] * itemsize, strides[-1] * itemsize
    if width < 2:
        step_bytes = itemsize
    if rows < 2:
        row_bytes = width * itemsize
    return address, rows, width, row_bytes, step_bytes, itemsize, cut


_word_kinds: set[Any] = set()  # dtypes of bitmasks that were met


def _words(bitmask: Any) -> tuple[Any, int, int, int, int]:
    """A bitmask in the memory of the host: what holds it, address, rows, bytes from row to row, words of a row."""
    if bitmask.dtype not in _word_kinds:
        if str(bitmask.dtype).removeprefix("torch.") not in ("int32", "uint32"):
            raise TypeError(f"the bitmask must be int32 or uint32, not {bitmask.dtype}")
        _word_kinds.add(bitmask.dtype)
    shape = bitmask.shape
    rows = shape[0] if len(shape) == 2 else 1
    if not isinstance(bitmask, np.ndarray):
        if bitmask.is_cpu and bitmask.stride(-1) == 1:
            return bitmask, bitmask.data_ptr(), rows, 4 * bitmask.stride(0), shape[-1]
        bitmask = bitmask.cpu().numpy()
    if bitmask.strides[-1] != 4:
        bitmask = np.ascontiguousarray(bitmask)
    return bitmask, bitmask.ctypes.data, rows, bitmask.strides[0], shape[-1]


def _apply_on_device(logits: Any, bitmask: Any, rows: NDArray[np.int32] | None, target: Any) -> None:
    import torch

    from constrain.kernels.device import apply_rows_on_device

    words = torch.from_numpy(np.ascontiguousarray(bitmask)) if isinstance(bitmask, np.ndarray) else bitmask
    if words.dtype not in (torch.int32, torch.uint32):
        raise TypeError(f"the bitmask must be int32 or uint32, not {words.dtype}")
    table = (words if words.ndim == 2 else words[None]).view(torch.int32).to(logits.device, non_blocking=True)
    x, y = (t if t.ndim == 2 else t[None] for t in (logits, target))
    if rows is not None:
        numbers = torch.from_numpy(rows).to(logits.device, non_blocking=True)
    elif table.shape[0] == 1:
        numbers = torch.zeros(x.shape[0], dtype=torch.int32, device=logits.device)  # nothing crosses to the device
    else:
        numbers = torch.arange(x.shape[0], dtype=torch.int32, device=logits.device)
    apply_rows_on_device(x, table, numbers, out=None if target is logits else y)
