"""Masses that are computed after their step, on another thread, while the model computes the next ones.

A sum over the scores costs a masking call more than may be noticed (`constrain.kernels.mass`), but nobody waits for
it: a step only keeps its scores, its packed mask, and what tells later whether the scores are still the same. When a
few steps have come together, a thread is given all of them.

What must not happen is a mass of scores that were changed in the meantime. `generate` hands over a copy of its own at
each step, except with a draft model, where it writes the masked scores back into the slice that it handed over. A loop
of one's own may do anything. So:

- only tensors that own their memory alone are kept: no views (which would also keep what they are views of), no memory
  shared with numpy or another library (which changes it unseen), no tensors of inference mode (they do not count
  changes). All others are computed at once;
- torch counts changes: the count is compared before and after the sum, and so is a digest of some scores, for what
  torch does not see (`tensor.data`, memory shared later). A step that fails either has no mass; no number is made up.

What is left is a change of a few single scores behind torch's back, which neither sees.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from constrain.engine.worker_threads import in_background
from constrain.kernels.mass import log_masses, samples_digest

MOST_STEPS = 32
"""Steps that are handed over together: to hand over takes some tens of microseconds, so once in a while."""
MOST_BYTES = 8 << 20
"""Scores that are kept before they are handed over, however few the steps. As many again may be at the thread."""


class Kept(NamedTuple):
    """The scores of a step, as they must still be when they are summed."""

    scores: torch.Tensor
    bitmask: NDArray[np.int32]
    skip: NDArray[np.bool_]
    version: int
    digest: int


def keep(scores: torch.Tensor, bitmask: NDArray[np.int32], skip: NDArray[np.bool_]) -> Kept | None:
    """Take what is needed to sum a step later; None where it has to be done at once. `bitmask` is kept, not copied.

    Args:
        scores: floating point on the CPU, shape (rows, width).
        bitmask: int32 (rows, words), not written to afterwards.
        skip: bool (rows,), rows without a mass.
    """
    if type(scores) is not torch.Tensor or scores._is_view() or scores.is_inference():
        return None
    if not scores.untyped_storage().resizable():  # torch's word for memory that is not its own, or no longer alone
        return None
    return Kept(scores, bitmask, skip, scores._version, _digest(scores))


def is_unchanged(step: Kept) -> bool:
    """Whether the scores are those that were kept, as far as can be seen."""
    return step.scores._version == step.version and _digest(step.scores) == step.digest


def sum_kept(step: Kept) -> list[float] | None:
    """log Z of each row, NaN for those to skip; None where the scores were changed."""
    if not is_unchanged(step):
        return None
    values = sum_now(step.scores, step.bitmask, step.skip)
    return values if is_unchanged(step) else None


def sum_now(scores: torch.Tensor, bitmask: NDArray[np.int32], skip: NDArray[np.bool_]) -> list[float]:
    """log Z of each row in this thread, NaN for those to skip."""
    out = np.empty(len(skip), dtype=np.float64)
    log_masses(as_array(scores), bitmask, skip, 0, len(skip), out)
    return out.tolist()


def as_array(scores: torch.Tensor) -> NDArray[Any]:
    """Scores for the kernel: float32 or float64, rows without gaps; a view where they are."""
    plain = scores.detach() if scores.dtype in (torch.float32, torch.float64) else scores.detach().float()
    return plain.contiguous().numpy()


def _digest(scores: torch.Tensor) -> int:
    rows, width = scores.shape
    row, step = scores.stride()
    size = scores.itemsize
    return int(samples_digest(scores.data_ptr(), row * size, step * size, size, rows, width))


class Batch:
    """Work on kept steps in the hands of another thread."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work, self._process = work, os.getpid()
        self._future: Future[None] | None = in_background(work)

    def wait(self) -> None:
        """Return when the work is done; it is done here where no thread does it. Raises what the work raised."""
        if self._future is not None and os.getpid() == self._process:
            self._future.result()
        else:  # no thread, or one that was left behind by a fork
            self._work()
