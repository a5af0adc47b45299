"""ASAp, adaptive sampling with approximate expected futures (Park et al. 2024, arXiv 2405.21047)."""

from __future__ import annotations

from typing import Any, ClassVar

from constrain.distortion.model import Prefix
from constrain.distortion.process import Step
from constrain.distortion.samplers.invalid_mass import InvalidMass
from constrain.distortion.samplers.sampler import Sample, Sampler


class ASAp(Sampler):
    """Masking with each token weighted by the bound c on what can still become valid below it.

    The first draw is plain masking; as prefixes are visited c falls to the true chance of finishing, and the law of the
    n-th draw tends to p*. Early draws are distorted, and draws are not independent. Cost: one forward pass per new
    prefix, no attempt is wasted where the language has no dead ends.

    Attributes:
        invalid: the tree of invalid mass.
    """

    converges_to: ClassVar[str] = "p* as the number of draws grows; the first draw is from q"

    def __init__(self, *args: Any, invalid: InvalidMass | None = None, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self.invalid = InvalidMass() if invalid is None else invalid

    @property
    def z_upper(self) -> float:
        """A certified upper bound on Z."""
        return self.invalid.bound(())

    def draw(self) -> Sample:
        """The next draw."""
        eos = self.process.eos
        for _ in range(self.max_attempts):
            self.attempts += 1
            prefix: Prefix = ()
            path: list[tuple[Prefix, Step]] = []
            log_p = log_w = 0.0
            result: Sample | None = None
            while True:
                step = self.step(prefix)
                path.append((prefix, step))
                weights = self.invalid.weights(prefix, step, eos)
                if not weights.any():
                    break
                i = self.choose(weights)
                prefix = (*prefix, int(step.ids[i]))
                log_p += float(step.log_probs[i])
                log_w += step.log_z
                if prefix[-1] in eos:
                    result = Sample(prefix, log_p, log_w)
                    break
                if self.is_cut(prefix):
                    self.invalid.exclude(prefix)
                    break
            self.invalid.update(path, eos)
            if result is not None:
                return result
            if self.z_upper <= 0.0:
                break
        raise RuntimeError("no draw finished: all of the model's probability is proven invalid, or attempts ran out")
