"""Pareto k-hat: whether importance weights have a mean and a variance that a sample can show.

The largest weights are fitted with a generalised Pareto distribution (Zhang & Stephens 2009); above k = 0.7 averages
of the weights are unreliable at any practical sample size (Vehtari et al. 2024, "Pareto smoothed importance sampling").
"""

from __future__ import annotations

import math

import numpy as np

from constrain.distortion.numerics import Floats

UNRELIABLE = 0.7


def pareto_k(log_weights: Floats) -> float:
    """Shape of the upper tail of exp(log_weights); NaN where fewer than five distinct weights are in it.

    Args:
        log_weights: float64, shape (n,); minus infinity for weight 0.
    """
    n = log_weights.size
    count = int(min(0.2 * n, 3.0 * math.sqrt(n)))
    if count < 5:
        return math.nan
    ordered = np.sort(log_weights)
    cut, top = ordered[-count - 1], ordered[-count:]
    if not math.isfinite(top[-1]):
        return math.nan
    excess = np.exp(top - top[-1]) - math.exp(cut - top[-1])
    excess = excess[excess > 1e-300]
    if np.unique(excess).size < 5:
        return math.nan
    return _fit(excess)


def _fit(x: Floats) -> float:
    """Zhang & Stephens' estimate of the shape, with the weak prior of PSIS towards 0.5. `x` ascending, positive."""
    n = x.size
    grid = 30 + int(math.sqrt(n))
    b = 1.0 - np.sqrt(grid / (np.arange(1, grid + 1) - 0.5))
    b = b / (3.0 * x[int(n / 4 + 0.5) - 1]) + 1.0 / x[-1]
    k = np.log1p(-b[:, None] * x).mean(axis=1)
    likelihood = n * (np.log(-(b / k)) - k - 1.0)
    with np.errstate(over="ignore"):
        weights = 1.0 / np.exp(likelihood[None, :] - likelihood[:, None]).sum(axis=1)
    best = float((b * weights).sum() / weights.sum())
    shape = float(np.log1p(-best * x).mean())
    return (n * shape + 5.0) / (n + 10.0)
