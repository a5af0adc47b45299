"""Sums of probabilities kept as logarithms, and the checks that a number can be a probability at all."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PROBABILITY_SLACK = 1e-4
"""How far a sum of probabilities may exceed one before it is an error: float32 log-softmax over 262,144 tokens."""


def log_sum_exp(values: Floats) -> float:
    """log of the sum of exp(values); minus infinity for none."""
    if values.size == 0:
        return -math.inf
    top = float(values.max())
    if top == -math.inf:
        return -math.inf
    return top + math.log(float(np.exp(values - top).sum()))


def x_log_x_over(x: float, y: float) -> float:
    """x log(x / y) with 0 log 0 = 0; plus infinity where y = 0 < x."""
    if x <= 0.0:
        return 0.0
    return math.inf if y <= 0.0 else x * (math.log(x) - math.log(y))


def binary_divergence(a: float, b: float) -> float:
    """KL of Bernoulli(a) from Bernoulli(b), nats."""
    return x_log_x_over(a, b) + x_log_x_over(1.0 - a, 1.0 - b)


def safe_log(x: float) -> float:
    """log x, minus infinity at (and, for rounding, below) zero."""
    return math.log(x) if x > 0.0 else -math.inf


def checked_log_mass(log_mass: float, what: str) -> float:
    """`log_mass`, cut at 0. Raises ValueError when it says a probability above one beyond rounding, or NaN."""
    if math.isnan(log_mass) or log_mass > PROBABILITY_SLACK:
        raise ValueError(f"{what} is {math.exp(min(log_mass, 700.0)):.6g}, which is no probability")
    return min(log_mass, 0.0)
