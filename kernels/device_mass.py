"""The mass that a mask kept, on a device: the same difference of logarithms as in `kernels.mass`, in torch operations.

The masked scores say what is allowed, so neither the packed masks nor their unpacking are needed again. Nothing is read
by the host.
"""

from __future__ import annotations

import torch


def log_masses_on_device(scores: torch.Tensor, masked: torch.Tensor) -> torch.Tensor:
    """log Z of every row, shape (rows,), float32 (float64 for float64 scores), on the device of `scores`.

    Args:
        scores: before masking, floating point, shape (rows, width).
        masked: after it: minus infinity where a token is not allowed, anything else where it is.

    Minus infinity where all allowed scores are, NaN where the scores are no distribution.
    """
    wide = scores if scores.dtype == torch.float64 else scores.float()
    everything = torch.logsumexp(wide, dim=-1)
    allowed = torch.logsumexp(wide.masked_fill(masked == -torch.inf, -torch.inf), dim=-1)
    return torch.where(everything.isfinite(), (allowed - everything).clamp(max=0.0), torch.nan)
