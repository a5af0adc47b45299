"""Adaptive weighted rejection sampling (Lipkin et al. 2025, arXiv 2504.05410): tokens without a full mask.

Where checking one token is cheap and a mask over the vocabulary is not: tokens are drawn without replacement until one
is allowed. The product of what was left after each refusal, and one more check, give an unbiased estimate of the mass
that the full mask would keep.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from constrain.distortion.numerics import Floats
from constrain.distortion.samplers.smc import SMC, Particle


def weighted_rejection(
    log_probs: Floats, is_allowed: Callable[[int], bool], rng: np.random.Generator
) -> tuple[int | None, float, int]:
    """One allowed token from p restricted to the allowed ones, and an unbiased estimate of their mass.

    Args:
        log_probs: natural logs of next-token probabilities, shape (width,).
        is_allowed: the check.
        rng: source of randomness.

    Returns:
        token (None when none is allowed), log of the estimate, number of checks. The mass that is left is summed over
        the tokens that are left, never as one minus what was refused, so it is as exact at 1e-12 as at one half.
    """
    some = np.flatnonzero(log_probs > -np.inf)
    order = some[np.argsort(-(log_probs[some] + rng.gumbel(size=some.size)), kind="stable")]
    p = np.exp(log_probs[order])
    left = np.cumsum(p[::-1])[::-1]  # mass of this token and all that come after
    log_estimate, checks = math.log(left[0]) if left.size else -math.inf, 0
    for i, token in enumerate(order.tolist()):
        checks += 1
        after = float(left[i + 1]) if i + 1 < order.size else 0.0
        if is_allowed(token):
            if after <= 0.0:
                return token, log_estimate, checks
            checks += 1
            if is_allowed(int(order[i + 1])):
                return token, log_estimate, checks
            return token, log_estimate + math.log(p[i] / left[i]), checks
        if after <= 0.0:
            break
        log_estimate += math.log(after / float(left[i]))
    return None, -math.inf, checks


class AWRS(SMC):
    """SMC whose tokens come from adaptive weighted rejection.

    The law tends to p* as particles grow; the mean weight stays an unbiased estimate of Z. There is no cut-off below
    which a step counts as impossible. Cost: as SMC in forward passes, with a few checks a token in place of a mask.

    Attributes:
        checks: tokens checked so far.
    """

    converges_to: ClassVar[str] = "p* as the number of particles grows"
    checks = 0

    def extend(self, growing: list[Particle]) -> None:
        """One more token for each particle."""
        steps = self.process.steps([p.tokens for p in growing])
        for particle, step in zip(growing, steps, strict=True):
            allowed = set(step.ids.tolist())
            token, log_estimate, checks = weighted_rejection(step.row, allowed.__contains__, self.rng)
            self.checks += checks
            if token is None:
                particle.log_weight = -math.inf
                continue
            self.grow(particle, token, float(step.row[token]), math.nan, log_estimate)
