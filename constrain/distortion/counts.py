"""What counts of samples say about a sampler's law, and what they cannot.

The plug-in divergence of n samples from a known law is never 0, not even for samples of that very law: it is biased up
by about (outcomes - 1) / 2n and more where outcomes are rare. So a figure from counts stands here beside its floor, the
same figure of simulated exact samples of the same size. Two samplers are compared on equal footing: same law, same n,
and a permutation test that is valid at any n, since samples of equal laws may be exchanged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from constrain.distortion.estimate import Estimate
from constrain.distortion.model import Prefix
from constrain.distortion.numerics import Floats

Law = Mapping[Prefix, float]
"""Probabilities of all finished sequences."""


class _Outcomes:
    """Sequences as numbers; those outside the law share the last, of probability 0."""

    def __init__(self, law: Law) -> None:
        if not law:
            raise ValueError("the law has no outcomes")
        self.number = {y: i for i, y in enumerate(law)}
        self.p = np.array([*law.values(), 0.0])
        if abs(self.p.sum() - 1.0) > 1e-9 or self.p.min() < 0.0:
            raise ValueError(f"the law's probabilities add up to {self.p.sum():.9g}")
        with np.errstate(divide="ignore"):
            self.log_p = np.log(self.p)

    def index(self, samples: Iterable[Prefix]) -> NDArray[np.int64]:
        return np.array([self.number.get(tuple(y), len(self.number)) for y in samples], dtype=np.int64)

    def kl(self, counts: NDArray[Any]) -> Floats:
        """Plug-in KL of rows of counts, shape (..., outcomes + 1)."""
        share = counts / counts.sum(axis=-1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = np.where(share > 0.0, share * (np.log(share) - self.log_p), 0.0)
        return np.asarray(parts.sum(axis=-1))

    def tv(self, counts: NDArray[Any]) -> Floats:
        share = counts / counts.sum(axis=-1, keepdims=True)
        return np.asarray(0.5 * np.abs(share - self.p).sum(axis=-1))


@dataclass(frozen=True, slots=True)
class CountFigures:
    """Divergences of counts from a law, beside what exact samples of the same size show.

    Attributes:
        n: samples.
        kl: plug-in KL(counts || law), nats; infinite where a sample lies outside the law.
        kl_floor: mean of the same over simulated exact samples; `kl_floor_high` their 95% quantile.
        tv, tv_floor, tv_floor_high: the same of the total variation.
        outside: share of samples that the law excludes.
        p_value: how often an exact sample of this size shows a KL as large, at least 1 / (simulations + 1).
    """

    n: int
    kl: float
    kl_floor: float
    kl_floor_high: float
    tv: float
    tv_floor: float
    tv_floor_high: float
    outside: float
    p_value: float

    @property
    def kl_above_floor(self) -> float:
        """The plug-in KL less its floor: an estimate of the divergence, roughly without bias; at least 0."""
        return max(self.kl - self.kl_floor, 0.0)

    @property
    def tv_differs(self) -> bool:
        """Whether chance does not explain the total variation, at the 5% level."""
        return self.tv > self.tv_floor_high

    @property
    def is_at_floor(self) -> bool:
        """Whether so few samples cannot be told from exact ones, at the 5% level."""
        return self.p_value > 0.05


def count_figures(samples: Sequence[Prefix], law: Law, *, seed: int = 0, simulations: int = 1000) -> CountFigures:
    """Figures of samples from counts, with their floors.

    Args:
        samples: independent finished sequences, at least one.
        law: the law they are measured against, such as that of `exact_law`.
        seed: of the simulated samples.
        simulations: how many.
    """
    if not samples:
        raise ValueError("there are no samples")
    outcomes, n = _Outcomes(law), len(samples)
    index = outcomes.index(samples)
    counts = np.bincount(index, minlength=outcomes.p.size)
    simulated = np.random.default_rng(seed).multinomial(n, outcomes.p, size=simulations)
    kls, tvs, kl = outcomes.kl(simulated), outcomes.tv(simulated), float(outcomes.kl(counts))
    return CountFigures(
        n,
        kl,
        float(kls.mean()),
        float(np.quantile(kls, 0.95)),
        float(outcomes.tv(counts)),
        float(tvs.mean()),
        float(np.quantile(tvs, 0.95)),
        float(counts[-1] / n),
        float((1 + (kls >= kl - 1e-12).sum()) / (simulations + 1)),
    )


@dataclass(frozen=True, slots=True)
class SampleComparison:
    """Two samples against one law.

    Attributes:
        first, second: the figures of each.
        difference: plug-in KL of the first less that of the second, nats. Both have the same floor, which cancels as
            far as the laws are alike; the interval is a bootstrap over pairs.
        p_value: of the hypothesis that the two laws are equal, by exchanging samples within pairs; valid at any n.
        verdict: at level `alpha`.
    """

    first: CountFigures
    second: CountFigures
    difference: Estimate
    p_value: float
    verdict: Literal["no difference", "the first is worse", "the second is worse"]


def compare_samples(
    first: Sequence[Prefix],
    second: Sequence[Prefix],
    law: Law,
    *,
    seed: int = 0,
    alpha: float = 0.05,
    replicates: int = 500,
) -> SampleComparison:
    """Which of two samplers is further from a law, by samples of the same size.

    Args:
        first, second: samples, as many of each; the i-th of both belong together where they share randomness.
        law: what both should follow.
        seed: of simulations, permutations and the bootstrap.
        alpha: level of the verdict.
        replicates: permutations, and bootstrap replicates.

    Raises ValueError for samples of different sizes.
    """
    if len(first) != len(second) or not first:
        raise ValueError(f"samples of one size are compared, not {len(first)} with {len(second)}")
    outcomes, n, rng = _Outcomes(law), len(first), np.random.default_rng(seed)
    a, b = outcomes.index(first), outcomes.index(second)
    width = outcomes.p.size

    def counted(index: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts of each row of (replicates, n) numbers."""
        shifted = index + width * np.arange(len(index))[:, None]
        return np.bincount(shifted.ravel(), minlength=len(index) * width).reshape(len(index), width)

    def statistic(x: NDArray[np.int64], y: NDArray[np.int64]) -> Floats:
        """The difference, samples outside the law counting before all else."""
        cx, cy = counted(x), counted(y)
        outside = (cx[:, -1] - cy[:, -1]).astype(np.float64)
        cx[:, -1] = cy[:, -1] = 0
        with np.errstate(invalid="ignore"):
            inside = np.nan_to_num(outcomes.kl(cx)) - np.nan_to_num(outcomes.kl(cy))
        return 1e6 * outside + inside

    swap = rng.random((replicates, n)) < 0.5
    found = float(statistic(a[None], b[None])[0])
    exchanged = statistic(np.where(swap, b, a), np.where(swap, a, b))
    p_value = float((1 + (np.abs(exchanged) >= abs(found) - 1e-9).sum()) / (replicates + 1))
    again = rng.integers(n, size=(replicates, n))
    with np.errstate(invalid="ignore"):
        spread = outcomes.kl(counted(a[again])) - outcomes.kl(counted(b[again]))
    figures = [count_figures(s, law, seed=seed) for s in (first, second)]
    point = figures[0].kl - figures[1].kl
    why = (f"{n:,} samples of each", "bootstrap over pairs")
    if math.isfinite(point) and np.isfinite(spread).all():
        low, high = np.quantile(spread, [alpha / 2, 1 - alpha / 2])
        difference = Estimate(point, min(float(low), point), max(float(high), point), "heuristic", why)
    else:
        difference = Estimate(None, -math.inf, math.inf, "heuristic", why, "samples lie outside the law")
    verdict: Literal["no difference", "the first is worse", "the second is worse"] = "no difference"
    if p_value <= alpha and found:
        verdict = "the first is worse" if found > 0 else "the second is worse"
    return SampleComparison(figures[0], figures[1], difference, p_value, verdict)
