"""From five sums to every figure of a report.

With w = p / q on finished sequences, all figures but total variation follow from
    Z = sum p,  Q = sum q,  sum q log w,  sum p log w,  sum p w.
q here is the law of the masked sampler's *finished* draws, q(y) / Q: a draw that dies or is cut off is no sample. Where
nothing dies and nothing is cut, Q = 1 and the formulas are the usual ones. The target is p*(y) = p(y) / Z.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from constrain.distortion.numerics import Floats, safe_log


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums over finished sequences.

    Attributes:
        z: sum of p, the model's probability of being valid.
        finished: sum of q, the sampler's probability of finishing.
        q_log_w: sum of q log w, at most 0.
        p_log_w: sum of p log w, at most 0.
        p_w: sum of p w, which is the mean of w squared under q.
    """

    z: float
    finished: float
    q_log_w: float
    p_log_w: float
    p_w: float

    @classmethod
    def of(cls, log_p: Floats, log_w: Floats) -> Sums:
        """Sums over sequences with these logs."""
        p, q = np.exp(log_p), np.exp(log_p - log_w)
        sums = (p, q, q * log_w, p * log_w, p * np.exp(log_w))
        return cls(*(float(x.sum()) for x in sums))

    def scaled(self, factor: float) -> Sums:
        """Every sum times `factor`."""
        return Sums(*(factor * x for x in (self.z, self.finished, self.q_log_w, self.p_log_w, self.p_w)))

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.z + other.z,
            self.finished + other.finished,
            self.q_log_w + other.q_log_w,
            self.p_log_w + other.p_log_w,
            self.p_w + other.p_w,
        )

    @property
    def log_z(self) -> float:
        """log Z, nats."""
        return safe_log(self.z)

    @property
    def kl_masked_to_exact(self) -> float:
        """KL(q || p*), nats: how odd the samples are."""
        return self.log_z - math.log(self.finished) - self.q_log_w / self.finished

    @property
    def kl_exact_to_masked(self) -> float:
        """KL(p* || q), nats: what is missing from the samples."""
        return self.p_log_w / self.z - self.log_z + math.log(self.finished)

    @property
    def chi2(self) -> float:
        """chi-square divergence of p* from q."""
        return self.finished * self.p_w / self.z**2 - 1.0

    @property
    def tax(self) -> float:
        """KL(q || p) = E_q[-log w] - log Q, nats: distortion and unavoidable price together."""
        return -math.log(self.finished) - self.q_log_w / self.finished


def total_variation(log_p: Floats, log_w: Floats, z: float, finished: float) -> float:
    """Half the sum of |q / Q - p / Z| over these sequences."""
    p, q = np.exp(log_p), np.exp(log_p - log_w)
    return 0.5 * float(np.abs(q / finished - p / z).sum())


def kl_of_masses(q: Floats, p: Floats) -> float:
    """KL(q || p) of two lists of masses, each normalised first; plus infinity where q has mass and p has none."""
    q, p = q / q.sum(), p / p.sum()
    some = q > 0
    if (p[some] <= 0).any():
        return math.inf
    return float((q[some] * (np.log(q[some]) - np.log(p[some]))).sum())
