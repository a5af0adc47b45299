"""Rejection: sample from the model, keep what is valid."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from constrain.distortion.model import Prefix
from constrain.distortion.samplers.sampler import Sample, Sampler


class Rejection(Sampler):
    """Draw from p without a mask, give an attempt up at its first refused token, begin again.

    Every accepted draw is independent and exactly from p*. Cost: 1 / Z attempts for one sample.
    """

    converges_to: ClassVar[str] = "p* exactly, from the first draw, independent draws"

    def draw(self) -> Sample:
        """One exact draw."""
        for _ in range(self.max_attempts):
            self.attempts += 1
            prefix: Prefix = ()
            log_p = log_w = 0.0
            while not self.is_cut(prefix):
                step = self.step(prefix)
                token = self.choose(np.exp(step.row))
                at = np.flatnonzero(step.ids == token)
                if not at.size:
                    break
                prefix = (*prefix, token)
                log_p += float(step.log_probs[at[0]])
                log_w += step.log_z
                if token in self.process.eos:
                    return Sample(prefix, log_p, log_w)
        raise RuntimeError(f"no attempt was valid in {self.max_attempts:,}")
