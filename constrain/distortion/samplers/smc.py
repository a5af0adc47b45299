"""Sequential Monte Carlo with masks as proposal (Loula et al. 2025, arXiv 2504.13139).

Particles grow token by token under the mask; a particle's weight is multiplied by the mass Z_t that the mask kept, and
when the weights become uneven the particles are resampled. The mean weight is an unbiased estimate of Z.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from constrain.distortion.model import Prefix
from constrain.distortion.numerics import Floats, log_sum_exp
from constrain.distortion.samplers.sampler import Sample, Sampler


@dataclass(slots=True)
class Particle:
    """One growing sequence. `log_weight` is minus infinity once it died or was cut; log_w is NaN where not known."""

    tokens: Prefix = ()
    log_p: float = 0.0
    log_w: float = 0.0
    log_weight: float = 0.0
    finished: bool = False


class SMC(Sampler):
    """One draw is one finished particle of a run, picked by its weight.

    The law tends to p* as particles grow. Cost: `particles` masked draws for one sample, and one batch of rows a step.

    Attributes:
        log_ml: log of the last run's estimate of Z; the estimate is unbiased, its logarithm is biased down.
        ancestors: of the last run, how many first particles the finished ones descend from; few mean that the final
            weights look better than the paths are.
    """

    converges_to: ClassVar[str] = "p* as the number of particles grows"

    def __init__(self, *args: Any, particles: int = 32, ess_threshold: float = 0.5, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        if particles < 1 or not 0.0 <= ess_threshold <= 1.0:
            raise ValueError("at least one particle, and a threshold in [0, 1]")
        self.particles, self.ess_threshold = particles, ess_threshold
        self.log_ml = math.nan
        self.ancestors = 0

    def draw(self) -> Sample:
        """A particle of a new run."""
        for _ in range(self.max_attempts):
            population = self.run()
            logs = np.array([p.log_weight for p in population])
            if logs.max() > -math.inf:
                chosen = population[self.choose(np.exp(logs - logs.max()))]
                return Sample(chosen.tokens, chosen.log_p, chosen.log_w)
        raise RuntimeError("no particle finished")

    def run(self) -> list[Particle]:
        """One run; the finished particles with their weights."""
        population = [Particle() for _ in range(self.particles)]
        self.attempts += self.particles
        roots = np.arange(self.particles)
        while True:
            growing = [p for p in population if not p.finished and p.log_weight > -math.inf]
            if not growing:
                break
            self.extend(growing)
            for p in growing:
                if not p.finished and self.is_cut(p.tokens):
                    p.log_weight = -math.inf
            logs = np.array([p.log_weight for p in population])
            if logs.max() == -math.inf:
                break
            weights = np.exp(logs - logs.max())
            ess = weights.sum() ** 2 / (weights**2).sum()
            if ess < self.ess_threshold * self.particles and any(not p.finished for p in population):
                mean = log_sum_exp(logs) - math.log(self.particles)
                picked = self._systematic(weights / weights.sum())
                roots = roots[picked]
                population = [replace(population[i], log_weight=mean) for i in picked]
        self.log_ml = log_sum_exp(np.array([p.log_weight for p in population])) - math.log(self.particles)
        self.ancestors = len({int(r) for r, p in zip(roots, population, strict=True) if p.log_weight > -math.inf})
        return population

    def extend(self, growing: list[Particle]) -> None:
        """One more token for each particle."""
        steps = self.process.steps([p.tokens for p in growing])
        for particle, step in zip(growing, steps, strict=True):
            if not step.ids.size:
                particle.log_weight = -math.inf
                continue
            i = self.choose(np.exp(step.log_probs - step.log_z))
            self.grow(particle, int(step.ids[i]), float(step.log_probs[i]), step.log_z, step.log_z)

    def grow(self, particle: Particle, token: int, log_p: float, log_z: float, log_factor: float) -> None:
        """Append a token. `log_factor` goes into the weight, `log_z` into log_w."""
        particle.tokens = (*particle.tokens, token)
        particle.log_p += log_p
        particle.log_w += log_z
        particle.log_weight += log_factor
        particle.finished = token in self.process.eos

    def _systematic(self, probabilities: Floats) -> np.ndarray:
        points = (self.rng.random() + np.arange(self.particles)) / self.particles
        return np.minimum(np.searchsorted(np.cumsum(probabilities), points), self.particles - 1)
