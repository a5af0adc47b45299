"""Importance resampling: draw many with the mask, keep one by its weight (Rubin 1987)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from constrain.distortion.samplers.sampler import Sample, Sampler


class ImportanceResampling(Sampler):
    """Of `candidates` masked draws, one is picked with probability in proportion to w = p / q.

    The law tends to p* as candidates grow, with an error of about chi2(p* || q) / candidates. Cost: `candidates`
    masked draws for one sample.
    """

    converges_to: ClassVar[str] = "p* as the number of candidates grows"

    def __init__(self, *args: Any, candidates: int = 32, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        if candidates < 1:
            raise ValueError("at least one candidate is needed")
        self.candidates = candidates

    def draw(self) -> Sample:
        """One of the candidates."""
        drawn = [self.finished_masked_draw() for _ in range(self.candidates)]
        logs = np.array([s.log_w for s in drawn])
        return drawn[self.choose(np.exp(logs - logs.max()))]
