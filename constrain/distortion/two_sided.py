"""log Z from both sides: masked draws from below, exact draws from above.

Masked draws give Z as the mean of w, but only of what the mask can reach: a mask that wrongly forbids part of the
language looks perfect from inside. Exact draws know better: under p*, the mean of q / p is q(L) / Z, whatever the mask
misses (the sandwich of Zhao et al. 2024, twisted SMC). When the two do not meet as draws increase, support is missing,
and any exact draw that the mask refuses is a proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from constrain.distortion.betting import betting_interval
from constrain.distortion.draws import COMPLETE, draw_masked
from constrain.distortion.language import Language, contains
from constrain.distortion.model import Model, Prefix
from constrain.distortion.numerics import safe_log
from constrain.distortion.process import MaskedProcess
from constrain.distortion.samplers.cars import CARS


@dataclass(frozen=True, slots=True)
class TwoSided:
    """Both sides.

    Attributes:
        from_masked: log of the mean weight of masked draws: log of the probability of what the mask reaches.
        from_exact: minus log of the mean of q / p over exact draws: log Z, whatever the mask reaches.
        low, high: an interval for log Z with the wanted confidence.
        gap: from_exact - from_masked; tends to 0, or to the log of the share of Z that the mask misses.
        refused: distinct exact draws that the mask does not allow.
        refused_share: share of exact draws that it does not allow.
        certified_high: log of the bound on Z that the exact sampler's tree of invalid mass holds.
        attempts: sequences the exact sampler began.
        forward_passes: rows computed by both.
    """

    from_masked: float
    from_exact: float
    low: float
    high: float
    gap: float
    refused: tuple[Prefix, ...]
    refused_share: float
    certified_high: float
    attempts: int
    forward_passes: int


def log_weight(process: MaskedProcess, tokens: Prefix) -> float | None:
    """log p - log q of a finished sequence, or None where the mask does not allow it."""
    total = 0.0
    for i, token in enumerate(tokens):
        step = process.steps([tokens[:i]])[0]
        if token not in step.ids:
            return None
        total += step.log_z
    return total


def two_sided(
    model: Model,
    language: Language,
    mask: Language,
    *,
    masked_draws: int,
    exact_draws: int,
    rng: np.random.Generator,
    max_tokens: int | None = None,
    alpha: float = 0.05,
    batch_size: int = 64,
    watch: Callable[[float, int], None] | None = None,
) -> TwoSided:
    """Bracket log Z.

    Args:
        model: p.
        language: L, the target.
        mask: the masks of the engine measured; they should allow exactly L's prefixes.
        masked_draws, exact_draws: how many of each.
        rng: source of randomness.
        max_tokens: limit of length for both.
        alpha: the interval misses with at most this probability, half on each side.
        batch_size: prefixes of one call of the model.
        watch: called with the draws of both kinds that are done, and their number.

    The lower end is a betting bound on the mean weight. The upper end is Markov's: the mean of q / p under p* is at
    most 1 / Z, so Z exceeds 2 / (alpha x mean) with probability alpha / 2 at most; the sampler's own certified bound is
    used where it is lower.
    """
    exact = CARS(model, language, rng, max_tokens=max_tokens)
    process = MaskedProcess(exact._counting, mask)

    def tell(done: float) -> None:
        if watch is not None:
            watch(done, masked_draws + exact_draws)

    draws = draw_masked(
        process, masked_draws, rng, max_tokens=max_tokens, batch_size=batch_size, watch=lambda done, _: tell(done)
    )
    valid = draws.status == COMPLETE
    if mask is not language:
        valid = valid & np.array([contains(language, s) for s in draws.sequences])
    w = np.where(valid, np.exp(draws.log_w), 0.0)[draws.index]
    samples = []
    for i in range(exact_draws):
        samples.append(exact.draw())
        tell(masked_draws + i + 1)
    known: dict[Prefix, float | None] = {}
    for s in samples:
        if s.tokens not in known:
            known[s.tokens] = log_weight(process, s.tokens)
    weights = [known[s.tokens] for s in samples]
    inverse = np.array([0.0 if x is None else math.exp(-x) for x in weights])
    refused = tuple(tokens for tokens, x in known.items() if x is None)
    from_masked = safe_log(float(w.mean()))
    mean_inverse = float(inverse.mean())
    from_exact = -math.log(mean_inverse) if mean_inverse > 0 else math.inf
    certified_high = safe_log(min(exact.z_upper, 1.0))
    low = safe_log(betting_interval(w, 1.0, alpha)[0])
    return TwoSided(
        from_masked,
        from_exact,
        low,
        min(from_exact + math.log(2.0 / alpha), certified_high),
        from_exact - from_masked,
        refused,
        sum(x is None for x in weights) / len(weights),
        certified_high,
        exact.attempts,
        exact.forward_passes,
    )
