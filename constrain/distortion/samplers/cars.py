"""Constrained adaptive rejection sampling (Parys et al. 2026, arXiv 2510.01902): exact draws that get cheaper."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from constrain.distortion.model import Prefix
from constrain.distortion.process import Step
from constrain.distortion.samplers.invalid_mass import InvalidMass
from constrain.distortion.samplers.sampler import Sample, Sampler


class CARS(Sampler):
    """Rejection sampling that never proposes the same invalid prefix twice.

    Every accepted draw is independent and exactly from p*, the first one too. A rejected attempt removes all tokens
    that the mask refuses at every prefix it visited. Acceptance Z / c(root) never falls, but where Z is tiny it takes
    long to rise. Cost: one forward pass per new prefix; attempts are few once the invalid mass is known.

    Attributes:
        invalid: the tree of invalid mass; may be passed on to a later sampler of the same model and language.
    """

    converges_to: ClassVar[str] = "p* exactly, from the first draw, independent draws"

    def __init__(self, *args: Any, invalid: InvalidMass | None = None, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self.invalid = InvalidMass() if invalid is None else invalid

    @property
    def z_upper(self) -> float:
        """A certified upper bound on Z."""
        return self.invalid.bound(())

    def draw(self) -> Sample:
        """One exact draw."""
        for _ in range(self.max_attempts):
            sample = self._attempt()
            if sample is not None:
                return sample
            if self.z_upper <= 0.0:
                raise RuntimeError("all of the model's probability is proven invalid")
        raise RuntimeError(f"no attempt was accepted in {self.max_attempts:,}")

    def _attempt(self) -> Sample | None:
        self.attempts += 1
        eos = self.process.eos
        prefix: Prefix = ()
        path: list[tuple[Prefix, Step]] = []
        log_p = log_w = 0.0
        result: Sample | None = None
        while True:
            step = self.step(prefix)
            path.append((prefix, step))
            if prefix in self.invalid:
                weights = self.invalid.weights(prefix, step, eos)
                if not weights.any():
                    break
                token = int(step.ids[self.choose(weights)])
            else:
                token = self.choose(np.exp(step.row))
            at = np.flatnonzero(step.ids == token)
            if not at.size:
                break
            prefix = (*prefix, token)
            log_p += float(step.log_probs[at[0]])
            log_w += step.log_z
            if token in eos:
                result = Sample(prefix, log_p, log_w)
                break
            if self.is_cut(prefix):
                self.invalid.exclude(prefix)
                break
        self.invalid.update(path, eos)
        return result
