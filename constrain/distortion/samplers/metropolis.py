"""Independence Metropolis-Hastings with masking as proposal (the "restart" move of Gonzalez et al. 2025)."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from constrain.distortion.samplers.sampler import Sample, Sampler


class IndependenceMH(Sampler):
    """A chain: a new masked draw replaces the current one with probability min(1, w' / w).

    Each sample is the state after `steps` proposals from a fresh start; its law tends to p* as steps grow, by a factor
    of 1 - 1 / max(w / Z) a step at worst. Cost: `steps + 1` masked draws for one sample.
    """

    converges_to: ClassVar[str] = "p* as the number of steps grows"

    def __init__(self, *args: Any, steps: int = 32, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        if steps < 0:
            raise ValueError("the number of steps is not negative")
        self.steps = steps

    def draw(self) -> Sample:
        """The state after `steps` proposals."""
        state = self.finished_masked_draw()
        for _ in range(self.steps):
            proposal = self.finished_masked_draw()
            if math.log(1.0 - self.rng.random()) < proposal.log_w - state.log_w:
                state = proposal
        return state
