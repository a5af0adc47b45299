"""A tree of probability that is proven invalid, by prefix.

c(u) is an upper bound on the probability of finishing validly from u: 1 where nothing is known, 0 where the language
says no, and the average of the children's at a visited prefix. c of the empty prefix is a certified upper bound on Z,
and only ever falls. ASAp (Park et al. 2024) and CARS (Parys et al. 2026) are two ways to sample from it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from constrain.distortion.model import Prefix
from constrain.distortion.numerics import Floats
from constrain.distortion.process import Step


class InvalidMass:
    """The bounds c(u), 1 for prefixes never visited."""

    def __init__(self) -> None:
        self._bounds: dict[Prefix, float] = {}

    def __len__(self) -> int:
        return len(self._bounds)

    def __contains__(self, prefix: Prefix) -> bool:
        return prefix in self._bounds

    def bound(self, prefix: Prefix) -> float:
        """c(prefix)."""
        return self._bounds.get(prefix, 1.0)

    def weights(self, prefix: Prefix, step: Step, eos: frozenset[int]) -> Floats:
        """p(a | u) c(ua) over the step's allowed tokens, shape of `step.ids`."""
        known = [1.0 if t in eos else self.bound((*prefix, t)) for t in step.ids.tolist()]
        return np.exp(step.log_probs) * np.array(known)

    def update(self, path: Sequence[tuple[Prefix, Step]], eos: frozenset[int]) -> None:
        """Set the bounds of the visited prefixes of one attempt, from the last to the first."""
        for prefix, step in reversed(path):
            self._bounds[prefix] = min(float(self.weights(prefix, step, eos).sum()), self.bound(prefix))

    def exclude(self, prefix: Prefix) -> None:
        """Nothing below counts as valid: c = 0."""
        self._bounds[prefix] = 0.0

    def save(self, path: str | Path) -> None:
        """Write the bounds as JSON."""
        Path(path).write_text(json.dumps([[list(u), c] for u, c in self._bounds.items()]))

    @classmethod
    def load(cls, path: str | Path) -> InvalidMass:
        """Read what `save` wrote."""
        out = cls()
        out._bounds = {tuple(u): float(c) for u, c in json.loads(Path(path).read_text())}
        return out
