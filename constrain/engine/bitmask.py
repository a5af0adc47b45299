"""Bitmasks and what is done with them: one bit per token, packed into 32-bit words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.kernels.apply import apply_rows


def allocate_token_bitmask(rows: int, width: int) -> NDArray[np.int32]:
    """A bitmask that allows nothing: int32, shape (rows, ceil(width / 32))."""
    return np.zeros((rows, (width + 31) // 32), dtype=np.int32)


def apply_token_bitmask(logits: Any, bitmask: Any, *, indices: Sequence[int] | None = None) -> Any:
    """Set the logits of tokens that the bitmask does not allow to minus infinity, in place; returns `logits`.

    Args:
        logits: floats, numpy or torch on any device, shape (rows, width) or (width,).
        bitmask: int32 or uint32, numpy or torch, shape (rows, words) or (words,); one row serves all rows of logits.
            Tokens beyond its words are not allowed.
        indices: rows of logits to mask, all by default. Row i of the bitmask belongs to row i of logits.

    Raises:
        ValueError: the shapes do not fit.
        TypeError: the dtypes do not fit.
    """
    if logits.ndim not in (1, 2) or bitmask.ndim not in (1, 2):
        raise ValueError("logits and bitmask have one or two dimensions")
    values = logits if logits.ndim == 2 else logits[None]
    mask = bitmask if bitmask.ndim == 2 else bitmask[None]
    count = values.shape[0]
    if mask.shape[0] not in (1, count):
        raise ValueError(f"the bitmask has {mask.shape[0]} rows, the logits {count}")
    rows = np.arange(count, dtype=np.int64) if mask.shape[0] == count else np.zeros(count, dtype=np.int64)
    if indices is not None:
        left_out = np.ones(count, dtype=bool)
        left_out[list(indices)] = False
        rows[left_out] = -1
    if isinstance(values, np.ndarray):
        if values.dtype not in (np.float32, np.float64):
            raise TypeError(f"numpy logits are float32 or float64, not {values.dtype}")
        apply_rows(values, _as_words(mask), rows, -np.inf)
        return logits
    import torch

    if not isinstance(values, torch.Tensor) or not values.is_floating_point():
        raise TypeError(f"logits are floating point numbers in numpy or torch, not {type(logits).__name__}")
    if values.device.type == "cpu" and values.dtype in (torch.float32, torch.float64):
        apply_rows(values.detach().numpy(), _as_words(mask), rows, -np.inf)
        return logits
    values.masked_fill_(~_unpack(mask, values, rows), float("-inf"))
    return logits


def _as_words(mask: Any) -> NDArray[np.int32]:
    words = mask if isinstance(mask, np.ndarray) else mask.cpu().numpy()
    if words.dtype not in (np.int32, np.uint32):
        raise TypeError(f"the bitmask must be int32 or uint32, not {words.dtype}")
    return np.ascontiguousarray(words).view(np.int32)


def _unpack(mask: Any, values: Any, rows: NDArray[np.int64]) -> Any:
    """Allowed tokens as booleans on the device of the logits, shape of `values`."""
    import torch

    words = torch.from_numpy(mask) if isinstance(mask, np.ndarray) else mask
    words = words.view(torch.int32).to(values.device, non_blocking=True)
    shifts = torch.arange(32, device=values.device, dtype=torch.int32)
    bits = ((words.unsqueeze(-1) >> shifts) & 1).bool().flatten(1)
    width = values.shape[1]
    if bits.shape[1] < width:
        bits = torch.nn.functional.pad(bits, (0, width - bits.shape[1]))
    picked = torch.from_numpy(np.maximum(rows, 0)).to(values.device)
    allowed = bits[:, :width].index_select(0, picked)
    return allowed | torch.from_numpy(rows < 0).to(values.device).unsqueeze(-1)
