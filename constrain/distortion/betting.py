"""A confidence interval for a mean of bounded numbers, valid at every sample size.

Hedged betting after Waudby-Smith & Ramdas (2024, "Estimating means of bounded random variables by betting"): a gambler
who may bet before each draw that the mean is above (or below) m cannot expect to grow rich if it is m. The interval is
the set of m against which neither gambler's wealth ever reached 2 / alpha. By Ville's inequality it covers with
probability 1 - alpha whatever the distribution, unlike a normal interval on importance weights, which are many small
ones and rarely a large one. Wealth is monotone in m, so both ends are found by bisection.
"""

from __future__ import annotations

import math

import numpy as np

from constrain.distortion.numerics import Floats

_TRUNCATION = 0.5


def betting_interval(values: Floats, upper: float = 1.0, alpha: float = 0.05) -> tuple[float, float]:
    """Interval for the mean of independent draws from [0, upper], in the order drawn.

    Args:
        values: float64, shape (n,), independent and identically distributed.
        upper: a bound on them that does not depend on them, above 0.
        alpha: probability of missing the mean, at most.

    Raises ValueError for a value outside [0, upper].
    """
    if values.size == 0:
        return 0.0, upper
    x = values / upper
    if x.min() < 0.0 or x.max() > 1.0 + 1e-9:
        raise ValueError(f"a value lies outside [0, {upper}]")
    x = np.minimum(x, 1.0)
    n = x.size
    i = np.arange(1, n + 1)
    mean = (0.5 + np.cumsum(x)) / (i + 1)
    variance = (0.25 + np.cumsum((x - mean) ** 2)) / (i + 1)
    before = np.concatenate([[0.25], variance[:-1]])  # a bet may use only what came before
    bets = np.sqrt(2.0 * math.log(2.0 / alpha) / (before * n))
    limit = math.log(2.0 / alpha)

    def rich_above(m: float) -> bool:
        stake = np.minimum(bets, _TRUNCATION / m) if m > 0 else bets
        return bool(np.cumsum(np.log1p(stake * (x - m))).max() >= limit)

    def rich_below(m: float) -> bool:
        stake = np.minimum(bets, _TRUNCATION / (1.0 - m)) if m < 1 else bets
        return bool(np.cumsum(np.log1p(-stake * (x - m))).max() >= limit)

    centre = float(x.mean())
    low = 0.0
    if rich_above(0.0):
        a, b = (0.0, centre) if not rich_above(centre) else (centre, 1.0)
        low = _bisect(rich_above, a, b)
    high = 1.0
    if rich_below(1.0):
        a, b = (centre, 1.0) if not rich_below(centre) else (0.0, centre)
        high = 1.0 - _bisect(lambda gap: rich_below(1.0 - gap), 1.0 - b, 1.0 - a)
    return low * upper, max(high, low) * upper


def _bisect(rich: object, a: float, b: float) -> float:
    """The largest point known to be refuted, between a refuted a and a b that is not; never too tight."""
    assert callable(rich)
    for _ in range(60):
        middle = 0.5 * (a + b)
        if middle in (a, b):
            break
        if rich(middle):
            a = middle
        else:
            b = middle
    return a
