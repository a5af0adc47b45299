"""What all samplers share: one interface, and a count of what a draw costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from constrain.distortion.language import Language
from constrain.distortion.matcher_language import as_language
from constrain.distortion.model import CountingModel, Model, Prefix, as_model
from constrain.distortion.numerics import Floats
from constrain.distortion.process import MaskedProcess, Step


@dataclass(frozen=True, slots=True)
class Sample:
    """A finished sequence.

    Attributes:
        tokens: its ids, the end included.
        log_p: its log-probability under the model; NaN where the sampler does not know it.
        log_w: log p - log q of the masked sampler; NaN where the sampler does not know it.
    """

    tokens: Prefix
    log_p: float
    log_w: float


class Sampler(ABC):
    """Draws finished, valid sequences.

    Args:
        model: p.
        language: a language or compiled grammar.
        rng: source of randomness, or a seed.
        max_tokens: the longest sequence, its end included; the target is p(. | valid, within the limit).
        max_attempts: attempts for one sample after which RuntimeError is raised.

    Attributes:
        converges_to: the law of a draw, in words.
        model, language: as given.
        attempts: sequences begun so far.
    """

    converges_to: ClassVar[str]

    def __init__(
        self,
        model: Any,
        language: Any,
        rng: np.random.Generator | int = 0,
        *,
        max_tokens: int | None = None,
        max_attempts: int = 100_000,
    ) -> None:
        self.model: Model = as_model(model)
        self._counting = CountingModel(self.model)
        self.language: Language = as_language(language)
        self.process = MaskedProcess(self._counting, self.language)
        self.rng = np.random.default_rng(rng)
        self.max_tokens, self.max_attempts = max_tokens, max_attempts
        self.attempts = 0

    @property
    def forward_passes(self) -> int:
        """Rows that the model computed; prefixes met again are not computed again."""
        return self._counting.forward_passes

    @property
    def batches(self) -> int:
        """Calls of the model; the rows of one call can be computed together."""
        return self._counting.batches

    @abstractmethod
    def draw(self) -> Sample:
        """One sample. Raises RuntimeError when `max_attempts` are used up."""

    def draw_many(self, n: int) -> list[Sample]:
        """`n` samples, one after the other."""
        return [self.draw() for _ in range(n)]

    def is_cut(self, prefix: Prefix) -> bool:
        """Whether the limit is reached, so that an unfinished prefix is given up."""
        return self.max_tokens is not None and len(prefix) >= self.max_tokens

    def step(self, prefix: Prefix) -> Step:
        """The masked step at a prefix."""
        return self.process.steps([prefix])[0]

    def choose(self, weights: Floats) -> int:
        """An index with probability in proportion to its weight."""
        cumulative = np.cumsum(weights)
        return int(min(np.searchsorted(cumulative, self.rng.random() * cumulative[-1], side="right"), weights.size - 1))

    def masked_draw(self) -> Sample | None:
        """One draw of plain masking; None when it dies or is cut."""
        self.attempts += 1
        prefix: Prefix = ()
        log_p = log_w = 0.0
        while True:
            step = self.step(prefix)
            if not step.ids.size:
                return None
            i = self.choose(np.exp(step.log_probs - step.log_z))
            prefix = (*prefix, int(step.ids[i]))
            log_p += float(step.log_probs[i])
            log_w += step.log_z
            if prefix[-1] in self.process.eos:
                return Sample(prefix, log_p, log_w)
            if self.is_cut(prefix):
                return None

    def finished_masked_draw(self) -> Sample:
        """Plain masking until a draw finishes."""
        for _ in range(self.max_attempts):
            sample = self.masked_draw()
            if sample is not None:
                return sample
        raise RuntimeError(f"no masked draw finished in {self.max_attempts:,} attempts")
