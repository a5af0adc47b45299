"""Two masks, or two engines, on the same draws: how much further from the model one of them bends its outputs.

Both engines draw with common random numbers: the noise of token a at step t of draw i is the same for both (the Gumbel
trick: the largest log p(a) + noise wins, which is a draw from p restricted to the allowed tokens). Where the masks
agree so do the draws, and what is left is their difference. Two properties make this sharper than two reports:

- Engines for one language share the target p* and its log Z, which cancels: the difference of their KL(q || p*) is the
  difference of two means of log w, without an estimate of log Z and its troubles.
- Where the draws agree, the difference is exactly 0 and adds no variance.

Noise is a hash of (seed, draw, step, token), so only allowed tokens are ever given any.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.distortion.betting import betting_interval
from constrain.distortion.difference import MaskDifference, first_difference
from constrain.distortion.draws import COMPLETE, DEAD, TRUNCATED
from constrain.distortion.estimate import Estimate
from constrain.distortion.matcher_language import as_language
from constrain.distortion.model import CountingModel, Model, Prefix, as_model
from constrain.distortion.numerics import Floats
from constrain.distortion.process import MaskedProcess

_U64 = np.uint64


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64: every bit of the result depends on every bit of `x`."""
    x = (x ^ (x >> _U64(30))) * _U64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> _U64(27))) * _U64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> _U64(31)))


def gumbel_noise(seed: int, draw: int, step: int, ids: NDArray[np.int64]) -> Floats:
    """Standard Gumbel noise of tokens at a step of a draw, a function of these numbers alone; shape of `ids`."""
    key = _mixed(np.array([seed & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64) ^ _U64(0xD1B54A32D192ED03))
    for number in (draw, step):
        key = _mixed(key + _U64(0x9E3779B97F4A7C15) + _U64(number))
    bits = _mixed(_mixed(ids.astype(np.uint64) * _U64(0x9E3779B97F4A7C15) + key) + key)
    uniform = ((bits >> _U64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return np.asarray(-np.log(-np.log(uniform)))


class _Shared:
    """A model whose latest rows are kept, so that two engines at one prefix pay for one."""

    def __init__(self, model: CountingModel) -> None:
        self._model, self._rows = model, dict[Prefix, Floats]()
        self.width, self.description = model.width, model.description

    def prepare(self, prefixes: list[Prefix]) -> None:
        rows = self._model.log_probs(prefixes)
        self._rows = dict(zip(prefixes, rows, strict=True))

    def log_probs(self, prefixes: Any) -> Floats:
        return np.stack([self._rows[p] for p in prefixes])

    def context(self, prefix: Prefix) -> Any:
        return self._model.context(prefix)


@dataclass(frozen=True, slots=True)
class PairedDraws:
    """Draws of one of the engines; arrays of shape (n,): log w, and COMPLETE, DEAD or TRUNCATED."""

    sequences: list[Prefix]
    log_w: Floats
    status: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """Two engines on the same draws; all differences are the first less the second.

    Attributes:
        n: pairs of draws.
        same: share of pairs in which both wrote the same tokens.
        kl: difference of KL(q || p*), nats, for engines of one language: the log Z of their target cancels. It is also
            the difference of the taxes, KL(q || p), for any two masks.
        z: difference of the probability that each mask can reach under the model, E[w]; 0 for two masks of one language
            without missing support. Its interval is valid at any n.
        variance_saved: share of the variance of `kl` that pairing removed, against independent draws of each; NaN
            where there is none.
        first, second: the draws.
        divergence: the likeliest prefix where the masks differ, None where none was found.
        forward_passes: rows that the model computed.
    """

    n: int
    same: float
    kl: Estimate
    z: Estimate
    variance_saved: float
    first: PairedDraws
    second: PairedDraws
    divergence: MaskDifference | None
    forward_passes: int

    @property
    def verdict(self) -> str:
        """Which engine bends more, as far as the interval tells."""
        if self.kl.value is None:
            return f"not told: {self.kl.refused}"
        if self.kl.low > 0.0:
            return "the first is further from the model"
        if self.kl.high < 0.0:
            return "the second is further from the model"
        return "no difference was found"

    def __str__(self) -> str:
        lines = [
            f"{self.n:,} paired draws, {self.same:.1%} the same in both; {self.forward_passes:,} forward passes",
            f"  difference of KL(q || p*), first - second: {self.kl}",
            f"  difference of the probability reached:     {self.z}",
            f"  {self.verdict}",
        ]
        if self.divergence is not None:
            d = self.divergence
            lines.append(
                f"  the masks differ after {d.text!r}: only the first allows {len(d.only_first)} tokens of mass "
                f"{d.mass_first:.3g}, only the second {len(d.only_second)} of mass {d.mass_second:.3g}"
            )
        return "\n".join(lines)


def compare_paired(
    model: Any,
    first: Any,
    second: Any,
    *,
    n: int = 1000,
    seed: int = 0,
    max_tokens: int | None = None,
    batch_size: int = 64,
    alpha: float = 0.05,
    replicates: int = 1000,
    budget: int = 200,
) -> PairedComparison:
    """Draw from two masked samplers with common random numbers and compare them.

    Args:
        model: p.
        first, second: languages or compiled grammars over the same token ids; the engines' masks.
        n: pairs of draws.
        seed: of the noise and the bootstrap.
        max_tokens: longest sequence, its end included; needed where a draw may go on for ever.
        batch_size: prefixes of one call of the model.
        alpha: probability that an interval misses, at most.
        replicates: bootstrap replicates for `kl`.
        budget: prefixes looked at for the first difference of the masks; 0 for none.

    `kl` is of draws that finish. It is a bootstrap over pairs (log w has no bound), and withheld where fewer than 50
    pairs finished in both engines.
    """
    p: Model = as_model(model)
    counting = CountingModel(p)
    shared = _Shared(counting)
    languages = [as_language(first), as_language(second)]
    processes = [MaskedProcess(shared, language) for language in languages]
    drawn = _draw(shared, processes, n, seed, max_tokens, batch_size)
    a, b = drawn
    rng = np.random.default_rng(seed)
    weights = [np.where(d.status == COMPLETE, np.exp(d.log_w), 0.0) for d in drawn]
    low, high = betting_interval((weights[0] - weights[1] + 1.0) / 2.0, 1.0, alpha)
    z = Estimate(
        float((weights[0] - weights[1]).mean()),
        2.0 * low - 1.0,
        2.0 * high - 1.0,
        "95% confidence",
        (f"{n:,} paired draws", "differences of weights lie in [-1, 1]"),
    )
    kl, saved = _kl_difference(a, b, rng, alpha, replicates)
    divergence = first_difference(p, *languages, budget=budget) if budget else None
    same = sum(x == y for x, y in zip(a.sequences, b.sequences, strict=True)) / n
    return PairedComparison(n, same, kl, z, saved, a, b, divergence, counting.forward_passes)


def _draw(
    shared: _Shared,
    processes: list[MaskedProcess],
    n: int,
    seed: int,
    max_tokens: int | None,
    batch_size: int,
) -> list[PairedDraws]:
    prefixes: list[list[Prefix]] = [[()] * n for _ in processes]
    log_w = [np.zeros(n) for _ in processes]
    status = [np.full(n, -1, dtype=np.int64) for _ in processes]
    step_number = 0
    while True:
        growing = [np.flatnonzero(s < 0).tolist() for s in status]
        wanted = list(dict.fromkeys(prefixes[e][i] for e in range(len(processes)) for i in growing[e]))
        if not wanted:
            break
        for k in range(0, len(wanted), batch_size):
            part = wanted[k : k + batch_size]
            here = set(part)
            shared.prepare(part)
            for engine, process in enumerate(processes):
                for i in growing[engine]:
                    prefix = prefixes[engine][i]
                    if prefix not in here or len(prefix) != step_number:
                        continue
                    step = process.steps([prefix])[0]
                    if not step.ids.size:
                        status[engine][i] = DEAD
                        continue
                    noisy = step.log_probs + gumbel_noise(seed, i, step_number, step.ids)
                    token = int(step.ids[int(noisy.argmax())])
                    prefixes[engine][i] = (*prefix, token)
                    log_w[engine][i] += step.log_z
                    if token in process.eos:
                        status[engine][i] = COMPLETE
                    elif max_tokens is not None and step_number + 1 >= max_tokens:
                        status[engine][i] = TRUNCATED
        step_number += 1
    return [PairedDraws(prefixes[e], log_w[e], status[e]) for e in range(len(processes))]


def _kl_difference(
    a: PairedDraws, b: PairedDraws, rng: np.random.Generator, alpha: float, replicates: int
) -> tuple[Estimate, float]:
    """KL(q1 || p) - KL(q2 || p) of draws that finish, and the share of variance that pairing saved."""
    n = len(a.sequences)
    done = [d.status == COMPLETE for d in (a, b)]
    why = (f"{n:,} paired draws", "bootstrap over pairs: it cannot show what was never drawn")
    both = int((done[0] & done[1]).sum())
    if both < 50:
        nothing = Estimate(None, -math.inf, math.inf, "heuristic", why, f"only {both} pairs finished in both engines")
        return nothing, math.nan
    columns = np.stack(
        [done[0], np.where(done[0], a.log_w, 0.0), done[1], np.where(done[1], b.log_w, 0.0)], axis=1
    ).astype(np.float64)

    def value(sums: Floats) -> Floats:
        """From sums (..., 4) over n draws: -log Q - E[log w | finished], first less second."""
        tax = [-np.log(sums[..., k] / n) - sums[..., k + 1] / sums[..., k] for k in (0, 2)]
        return np.asarray(tax[0] - tax[1])

    point = float(value(columns.sum(axis=0)))
    spread = []
    for _ in range(replicates):
        sums = rng.multinomial(n, np.full(n, 1.0 / n)) @ columns
        if sums[0] > 0 and sums[2] > 0:
            spread.append(float(value(sums)))
    low, high = np.quantile(spread, [alpha / 2, 1 - alpha / 2])
    w = [np.where(d, x.log_w, 0.0)[done[0] & done[1]] for d, x in zip(done, (a, b), strict=True)]
    apart = float(w[0].var() + w[1].var())
    saved = 1.0 - float((w[0] - w[1]).var()) / apart if apart > 0.0 else math.nan
    return Estimate(point, min(float(low), point), max(float(high), point), "heuristic", why), saved
