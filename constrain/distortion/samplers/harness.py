"""Samplers on one bench: the same law, the same number of draws, and what each draw cost.

On languages that can be enumerated p* is a table, so how far a sampler's output is from it is counted, beside the floor
that exact samples of the same size show (`constrain.distortion.counts`). A sampler whose draws depend on each other
(ASAp) is shown as it is used: early draws and late ones together.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from constrain.distortion.counts import CountFigures, Law, count_figures
from constrain.distortion.laws import exact_law
from constrain.distortion.samplers.sampler import Sampler


@dataclass(frozen=True, slots=True)
class Score:
    """What a sampler gave, and for what.

    Attributes:
        name: of the sampler.
        converges_to: the law of its draws, in words.
        figures: its draws against p*.
        forward_passes: rows that the model computed for all draws; a prefix met again is not computed again.
        batches: calls of the model.
        attempts: sequences begun.
        seconds: wall time.
    """

    name: str
    converges_to: str
    figures: CountFigures
    forward_passes: int
    batches: int
    attempts: int
    seconds: float

    def __str__(self) -> str:
        f = self.figures
        mark = "as exact samples" if f.is_at_floor else "above the floor"
        return (
            f"{self.name}: KL {f.kl:.4g} (floor {f.kl_floor:.4g}, {mark}), TV {f.tv:.4g} (floor {f.tv_floor:.4g}); "
            f"{self.forward_passes:,} forward passes in {self.batches:,} batches, {self.attempts:,} attempts, "
            f"{self.seconds:.3g} s for {f.n:,} draws; converges to {self.converges_to}"
        )


def score(sampler: Sampler, n: int, *, law: Law | None = None, seed: int = 0, name: str | None = None) -> Score:
    """Draw `n` samples and measure them.

    Args:
        sampler: any of `constrain.distortion.samplers`.
        n: draws.
        law: p*; by default it is enumerated, which needs a language that can be.
        seed: of the floor's simulations; the sampler has its own.
        name: by default its class's.

    Raises ValueError when the language cannot be enumerated.
    """
    if law is None:
        law = exact_law(sampler.model, sampler.language, max_tokens=sampler.max_tokens)
    passes, batches, attempts = sampler.forward_passes, sampler.batches, sampler.attempts
    begin = time.perf_counter()
    drawn = [sample.tokens for sample in sampler.draw_many(n)]
    spent = time.perf_counter() - begin
    return Score(
        name or type(sampler).__name__,
        sampler.converges_to,
        count_figures(drawn, law, seed=seed),
        sampler.forward_passes - passes,
        sampler.batches - batches,
        sampler.attempts - attempts,
        spent,
    )


def score_all(
    model: Any,
    language: Any,
    samplers: Mapping[type[Sampler], Mapping[str, Any]] | None = None,
    *,
    n: int = 500,
    seed: int = 0,
    max_tokens: int | None = None,
) -> list[Score]:
    """All samplers on one model and language, each from a fresh start.

    Args:
        model, language: as for `compare`; the language must be one that can be enumerated.
        samplers: classes and their own arguments; by default all eight.
        n: draws of each.
        seed: of each sampler, and of the floors.
        max_tokens: limit of length.
    """
    from constrain.distortion import samplers as every

    if samplers is None:
        samplers = {
            kind: {}
            for kind in (
                every.Masking,
                every.Rejection,
                every.CARS,
                every.ASAp,
                every.ImportanceResampling,
                every.IndependenceMH,
                every.SMC,
                every.AWRS,
            )
        }
    law = exact_law(model, language, max_tokens=max_tokens)
    return [
        score(kind(model, language, seed, max_tokens=max_tokens, **arguments), n, law=law, seed=seed)
        for kind, arguments in samplers.items()
    ]
