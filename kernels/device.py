"""Masking logits on a device: one kernel that reads row numbers and a table of packed rows kept there.

The semantics are those of `kernels.apply`, and so is the idea: scores are moved as the integers that their bits are, so
that no dtype needs a kernel of its own and no score that stays is touched by arithmetic. In place, the kernel only
writes; elsewhere, it reads and writes each score once. Whether a row is left without a score is found on the way, and
a second, nearly empty launch repairs such rows: nothing has to be read by the host in between.

Without Triton, and on devices that it does not know, the same is done by a handful of torch operations.

This file alone among the kernels needs torch; import it where a tensor is at hand.
"""

from __future__ import annotations

import contextlib
import functools
import os
from typing import Any

import torch

_INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

OVER_SCORE = -1e30
"""What a row that is over gets; finfo.min would overflow to -inf when divided by a temperature below 1."""
OVER_EOS_SCORE = -1e29


@functools.cache
def bits_of(value: float, dtype: torch.dtype) -> int:
    """The bits of a number as a signed integer of the dtype's size; finite numbers stay within its range."""
    if value not in (float("-inf"), float("inf")):
        value = max(value, torch.finfo(dtype).min)
    return int(torch.tensor(value, dtype=dtype).view(_INTEGERS[dtype.itemsize]))


@functools.cache
def over_bits(dtype: torch.dtype) -> tuple[int, int]:
    """What a row that is over gets, as bits: for its end-of-sequence ids, and for all other tokens."""
    return bits_of(max(OVER_EOS_SCORE, torch.finfo(dtype).min / 2), dtype), bits_of(OVER_SCORE, dtype)


@functools.cache
def has_triton() -> bool:
    """Whether Triton can be imported."""
    try:
        import triton
        import triton.language  # noqa: F401
    except Exception:  # a package for another system may fail in any way
        return False
    return True


def uses_triton(device: torch.device) -> bool:
    """Whether logits on `device` are masked by the Triton kernel rather than by torch operations."""
    if device.type == "cpu":
        return os.environ.get("TRITON_INTERPRET") == "1" and has_triton()
    return device.type in ("cuda", "xpu") and has_triton()


def apply_rows_on_device(
    logits: torch.Tensor,
    table: torch.Tensor,
    rows: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
    repair: bool = False,
) -> torch.Tensor | None:
    """Write masked rows of logits, in place or to `out`. Launches work on the current stream; waits for nothing.

    Args:
        logits: float16, bfloat16, float32 or float64, shape (n, width), any strides.
        table: packed rows, int32 (m, words) on the same device, the words of a row next to each other. Tokens beyond
            the words are not allowed.
        rows: int32 (n,) on the same device: a row of the table, or `LEAVE` or `over(row)` of `kernels.apply`. The
            scores of a row that is over become -1e29 where the bit is 1, else -1e30 (more, where the dtype needs it).
        out: where to write, in memory of its own; `logits` by default.
        repair: give rows whose allowed scores are all -inf a score of 0 for each allowed token.

    Returns:
        With `repair`, whether a row had to be repaired: int32, shape (), on the device. Otherwise None.

    Raises:
        TypeError: the dtypes do not fit.
        ValueError: the shapes or devices do not fit.
    """
    if logits.dtype not in _FLOATS or table.dtype != torch.int32 or rows.dtype != torch.int32:
        raise TypeError(
            "expected floating point logits and int32 table and rows, "
            f"got {logits.dtype}, {table.dtype} and {rows.dtype}"
        )
    target = logits if out is None else out
    if logits.ndim != 2 or table.ndim != 2 or rows.shape != logits.shape[:1]:
        raise ValueError(
            f"logits of shape {tuple(logits.shape)}, table {tuple(table.shape)} and rows {tuple(rows.shape)} do not fit"
        )
    if target.dtype != logits.dtype or target.shape != logits.shape:
        raise ValueError("out has the dtype and shape of logits")
    if not logits.device == target.device == table.device == rows.device:
        raise ValueError(
            f"logits on {logits.device}, out on {target.device}, table on {table.device}, rows on {rows.device}"
        )
    if logits.numel() == 0:
        return torch.zeros((), dtype=torch.int32, device=logits.device) if repair else None
    if table.stride(1) != 1 and table.shape[1] > 1:
        table = table.contiguous()
    integers = _INTEGERS[logits.dtype.itemsize]
    x = logits.detach().view(integers)
    y = x if target is logits else target.detach().view(integers)
    apply = _apply_with_triton if uses_triton(logits.device) else _apply_with_torch
    return apply(x, table, rows, y, logits.dtype, repair)


# ---- torch -----------------------------------------------------------------------------------------------------------


def _unpack(words: torch.Tensor, width: int) -> torch.Tensor:
    """Packed rows as booleans, shape (rows, width)."""
    shifts = torch.arange(32, dtype=torch.int32, device=words.device)
    bits = words.unsqueeze(2).bitwise_right_shift(shifts).bitwise_and(1).flatten(1)[:, :width].bool()
    return torch.nn.functional.pad(bits, (0, width - bits.shape[1])) if bits.shape[1] < width else bits


def _apply_with_torch(
    x: torch.Tensor, table: torch.Tensor, rows: torch.Tensor, y: torch.Tensor, dtype: torch.dtype, repair: bool
) -> torch.Tensor | None:
    cut, (over_set, over_clear) = bits_of(float("-inf"), dtype), over_bits(dtype)
    row = torch.where(rows < -1, -2 - rows, rows).clamp_min(0)
    allowed = _unpack(table.index_select(0, row), x.shape[1])
    kind = rows.unsqueeze(1)
    masked = torch.where(allowed | (kind == -1), x, cut)
    over = torch.where(allowed, over_set, over_clear).to(x.dtype)
    masked = torch.where(kind < -1, over, masked)
    emptied = None
    if repair:
        empty = (kind >= 0) & ~((masked != cut) & allowed).any(dim=1, keepdim=True)
        masked = masked.masked_fill_(empty & allowed, 0)
        emptied = (empty & allowed).any().to(torch.int32)
    y.copy_(masked)
    return emptied


# ---- Triton ----------------------------------------------------------------------------------------------------------


def _apply_with_triton(
    x: torch.Tensor, table: torch.Tensor, rows: torch.Tensor, y: torch.Tensor, dtype: torch.dtype, repair: bool
) -> torch.Tensor | None:
    from .device_triton import repair_rows, write_rows

    count, width = x.shape
    # Few rows need small blocks, to occupy the device; with many, large ones spare the start of programs.
    block = 1024 if count < 8 else 4096
    grid = (-(-width // block), count)
    over_set, over_clear = over_bits(dtype)
    with _on(x.device):
        found = torch.zeros(count + 1, dtype=torch.int32, device=x.device) if repair else rows
        write_rows[grid](
            x,
            y,
            table,
            rows,
            found,
            width,
            table.shape[1],
            *x.stride(),
            *y.stride(),
            table.stride(0),
            CUT=bits_of(float("-inf"), dtype),
            OVER_SET=over_set,
            OVER_CLEAR=over_clear,
            IN_PLACE=x is y,
            REPAIR=repair,
            BLOCK=block,
            num_warps=4 if block == 1024 else 8,
        )
        if not repair:
            return None
        repair_rows[grid](
            y,
            table,
            rows,
            found,
            count,
            width,
            table.shape[1],
            *y.stride(),
            table.stride(0),
            BLOCK=block,
            num_warps=4 if block == 1024 else 8,
        )
        return found[count]


def _on(device: torch.device) -> contextlib.AbstractContextManager[Any]:
    """Launches go to the current device, which need not be that of the tensors."""
    return torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext()
