"""Importance weights below the frontier of a trie, with intervals that say what they are worth.

The trie's finished sequences are known and add no variance; draws go only where it has not looked: a frontier prefix
with probability in proportion to its q-mass, then the masked sampler from there. With an unexpanded trie this is plain
importance sampling of the whole.

What is valid when: Z has a finite-sample interval, since weights lie in [0, B] with B the largest weight of the
frontier. KL(q || p*) has one only with a floor on one-step mass and a limit of tokens; everything else is a bootstrap,
which cannot know what was never drawn, and is called heuristic. Weights need about exp(KL(p* || q)) draws (Chatterjee &
Diaconis 2018); the estimate of that divergence from n draws saturates at log n. So point estimates are withheld when it
comes near, when the tail of the weights is too heavy, or when one draw carries the sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from constrain.distortion.betting import betting_interval
from constrain.distortion.bounds import NOTHING_KNOWN, Certified
from constrain.distortion.divergences import Sums
from constrain.distortion.draws import COMPLETE, DEAD, TRUNCATED, Draws, draw_masked
from constrain.distortion.estimate import Estimate
from constrain.distortion.model import Prefix
from constrain.distortion.numerics import Floats, safe_log
from constrain.distortion.pareto import UNRELIABLE, pareto_k
from constrain.distortion.trie import Trie

NEGLIGIBLE = 0.02
"""Share of Z below which the drawn part cannot spoil the rest."""
LARGEST_SHARE = 0.05
"""Share of Z that one draw may carry."""
CEILING_GAP = 2.0
"""Nats that the forward divergence must stay below log n, its ceiling."""
FEWEST = 50
"""Draws below which nothing is said."""


@dataclass(frozen=True, slots=True)
class Importance:
    """Estimates from draws below a trie's frontier. Fields as in `Report`; `refused` is why points are withheld."""

    log_z: Estimate
    kl_masked_to_exact: Estimate
    kl_exact_to_masked: Estimate
    tv: Estimate
    chi2: Estimate
    tax: Estimate
    dead: Estimate
    truncated: Estimate
    k_hat: float
    refused: str
    draws: Draws
    step_tax: tuple[float, ...]
    step_reach: tuple[float, ...]


def draw_below(
    trie: Trie, n: int, rng: np.random.Generator, watch: Callable[[float, int], None] | None = None
) -> Draws:
    """`n` draws of the masked sampler, given that they pass the trie's frontier."""
    nodes, mass, log_r = trie.frontier()
    if not nodes.size or nodes[0] < 0:
        return draw_masked(trie.process, n, rng, max_tokens=trie.max_tokens, batch_size=trie.batch_size, watch=watch)
    q = mass * np.exp(-log_r)
    counts = rng.multinomial(n, q / q.sum())
    starts: dict[Prefix, tuple[int, float, float]] = {}
    chosen = np.flatnonzero(counts)
    for first in range(0, chosen.size, trie.batch_size):
        part = chosen[first : first + trie.batch_size]
        prefixes = [trie.prefix(node) for node in nodes[part].tolist()]
        for i, prefix, step in zip(part.tolist(), prefixes, trie.process.steps(prefixes), strict=True):
            node = int(nodes[i])
            gone = np.array([*trie.process.eos, *trie.waiting_children(node)])
            rest = ~np.isin(step.ids, gone)
            ids, log_probs = step.ids[rest], step.log_probs[rest]
            probabilities = np.exp(log_probs - log_probs.max())
            split = rng.multinomial(counts[i], probabilities / probabilities.sum())
            for j in np.flatnonzero(split):
                log_p = trie.node_log_p[node] + float(log_probs[j])
                longer = (*prefix, int(ids[j]))
                starts[longer] = (int(split[j]), log_p, float(log_r[i]))
    return draw_masked(
        trie.process, n, rng, max_tokens=trie.max_tokens, batch_size=trie.batch_size, starts=starts, watch=watch
    )


@dataclass(frozen=True, slots=True)
class Known:
    """What is known before any draw; by default nothing, so that draws speak for the whole.

    Attributes:
        log_p, log_w: of finished sequences that draws leave out, float64.
        tail_q: probability under q of what draws speak for.
        bound: the largest weight among them.
        bounds: intervals that hold the truth in any case.
        lossless: every draw finishes.
        largest_tax: a bound on -log w of a draw, or None.
        floor: the one-step mass that the bound comes from, for words.
        dead_q, truncated_q: probability under q, outside of draws, to die and to be cut.
    """

    log_p: Floats = field(default_factory=lambda: np.empty(0))
    log_w: Floats = field(default_factory=lambda: np.empty(0))
    tail_q: float = 1.0
    bound: float = 1.0
    bounds: Certified = NOTHING_KNOWN
    lossless: bool = False
    largest_tax: float | None = None
    floor: float | None = None
    dead_q: float = 0.0
    truncated_q: float = 0.0

    @classmethod
    def of(cls, trie: Trie) -> Known:
        """What a trie knows; draws go below its frontier."""
        _, mass, log_r = trie.frontier()
        limited = trie.floor is not None and trie.max_tokens is not None
        return cls(
            trie.log_p,
            trie.log_w,
            float((mass * np.exp(-log_r)).sum()),
            math.exp(float(log_r.max())) if log_r.size else 1.0,
            trie.certified(),
            trie.lossless,
            -math.log(trie.floor) * trie.max_tokens if limited and trie.floor and trie.max_tokens else None,
            trie.floor,
            trie.dead_q,
            trie.truncated_q,
        )


def importance(
    trie: Trie,
    n: int,
    rng: np.random.Generator,
    *,
    alpha: float = 0.05,
    replicates: int = 400,
    watch: Callable[[float, int], None] | None = None,
) -> Importance:
    """Estimates from the trie and `n` draws below its frontier.

    Args:
        trie: the enumerated part. When it is exhausted nothing is drawn.
        n: draws.
        rng: source of randomness.
        alpha: probability of missing, at most, per interval.
        replicates: bootstrap replicates.
        watch: as for `draw_masked`.
    """
    known = Known.of(trie)
    return estimate(draw_below(trie, n, rng, watch), rng, known, alpha=alpha, replicates=replicates)


def estimate(
    draws: Draws,
    rng: np.random.Generator,
    known: Known | None = None,
    *,
    alpha: float = 0.05,
    replicates: int = 400,
) -> Importance:
    """Estimates from independent draws of the masked sampler, wherever they come from.

    Args:
        draws: in random order.
        rng: source of the bootstrap's randomness.
        known: what they leave out; by default they are draws of the whole.
        alpha: probability of missing, at most, per interval.
        replicates: bootstrap replicates.
    """
    known = Known() if known is None else known
    n, tail_q, bound, bounds = len(draws), known.tail_q, known.bound, known.bounds
    head = Sums.of(known.log_p, known.log_w)
    ok = draws.status == COMPLETE
    w = np.where(ok, np.exp(draws.log_w), 0.0)
    log_w = np.where(ok, draws.log_w, 0.0)
    columns = np.stack([w, ok.astype(float), log_w, w * log_w, w * w], axis=1)

    def sums_of(counts: Floats) -> Sums:
        return head + Sums(*(counts @ columns / n).tolist()).scaled(tail_q)

    counts = draws.counts.astype(np.float64)
    total = sums_of(counts)
    head_p, head_q = np.exp(known.log_p), np.exp(known.log_p - known.log_w)

    def tv_of(counts: Floats, s: Sums) -> float:
        enumerated = float(np.abs(head_q / s.finished - head_p / s.z).sum())
        drawn = float((counts * ok * np.abs(1.0 / s.finished - w / s.z)).sum()) / n * tail_q
        return 0.5 * (enumerated + drawn)

    # Valid at every n.
    each_w = w[draws.index]
    low, high = betting_interval(each_w, bound, alpha)
    z_low = max(head.z + tail_q * low, bounds.z[0])
    z_high = min(head.z + tail_q * high, bounds.z[1])
    refused = _why_not(head, total, draws, w, tail_q, n)
    valid = (f"{n:,} independent draws from the masked sampler", f"weights lie in [0, {bound:.3g}]")
    bias = tail_q**2 * float((counts * (w - each_w.mean()) ** 2).sum()) / n / (2.0 * n * total.z**2) if total.z else 0.0
    log_z = Estimate(
        total.log_z + bias if total.z > 0 else None,
        safe_log(z_low),
        safe_log(z_high),
        "95% confidence",
        (*valid, f"the logarithm's bias of {bias:.2g} nats is corrected"),
    )
    heuristic = (*valid, "bootstrap: it cannot show what was never drawn")
    names = ("kl_masked_to_exact", "kl_exact_to_masked", "chi2", "tax")
    found: dict[str, Estimate] = {}
    if refused:
        # A bootstrap of such a sample would be as wrong as its points: only what the trie certifies is left.
        for name in (*names, "tv"):
            least, most = getattr(bounds, name)
            found[name] = Estimate(None, least, most, "certified", valid[:1], refused)
        log_z = log_z.withheld(refused)
    else:
        boot: dict[str, list[float]] = {name: [] for name in (*names, "tv")}
        for _ in range(replicates):
            again = rng.multinomial(n, counts / n).astype(np.float64)
            s = sums_of(again)
            if s.z <= 0 or s.finished <= 0:
                continue
            for name in names:
                boot[name].append(getattr(s, name))
            boot["tv"].append(tv_of(again, s))
        points = {name: float(getattr(total, name)) for name in names} | {"tv": tv_of(counts, total)}
        for name, point in points.items():
            ends = np.quantile(boot[name], [alpha / 2, 1 - alpha / 2]) if boot[name] else (0.0, math.inf)
            low_end, high_end = min(float(ends[0]), point), max(float(ends[1]), point)
            known_low, known_high = getattr(bounds, name)
            low_end, high_end = max(low_end, known_low), min(high_end, known_high)
            point = min(max(point, known_low), known_high)
            found[name] = Estimate(
                max(point, 0.0), max(min(low_end, point), 0.0), max(high_end, point), "heuristic", heuristic
            )
        if known.largest_tax is not None:
            found["kl_masked_to_exact"] = _bounded_kl(
                found["kl_masked_to_exact"],
                head,
                tail_q,
                each_w,
                bound,
                ok[draws.index],
                log_w[draws.index],
                known.largest_tax,
                alpha,
                (*valid, f"every step keeps at least {known.floor:.3g} of the mass"),
                known.lossless,
            )
    steps = tuple(float(-x / n * tail_q) for x in draws.step_log_z)
    return Importance(
        log_z,
        found["kl_masked_to_exact"],
        found["kl_exact_to_masked"],
        found["tv"],
        found["chi2"],
        found["tax"],
        _share(draws, DEAD, known.dead_q, tail_q, alpha, valid[:1]),
        _share(draws, TRUNCATED, known.truncated_q, tail_q, alpha, valid[:1]),
        pareto_k(np.where(ok, draws.log_w, -np.inf)[draws.index]),
        refused,
        draws,
        steps,
        tuple(float(x / n * tail_q) for x in draws.step_counts),
    )


def _share(draws: Draws, status: int, known: float, tail_q: float, alpha: float, why: tuple[str, ...]) -> Estimate:
    hits = (draws.status == status)[draws.index].astype(np.float64)
    low, high = betting_interval(hits, 1.0, alpha)
    value = known + tail_q * float(hits.mean())
    return Estimate(value, known + tail_q * low, known + tail_q * high, "95% confidence", why)


def _why_not(head: Sums, total: Sums, draws: Draws, w: Floats, tail_q: float, n: int) -> str:
    """Why the sample cannot carry the figures, or ""."""
    if total.z <= 0:
        return "no draw finished"
    share = 1.0 - head.z / total.z
    if share < NEGLIGIBLE and n >= FEWEST:
        return ""
    if n < FEWEST:
        return f"{n} draws are fewer than {FEWEST}"
    reasons = []
    largest = tail_q * float(w.max()) / n / total.z
    if largest > LARGEST_SHARE:
        reasons.append(f"one draw carries {largest:.0%} of the weight")
    each = w[draws.index]
    mean = each.mean()
    ratio = each[each > 0] / mean
    forward = float((ratio * np.log(ratio)).sum()) / n
    if forward > math.log(n) - CEILING_GAP:
        reasons.append(
            f"KL(p* || q) is estimated as {forward:.2f}, within {CEILING_GAP:g} nats of log n = {math.log(n):.2f}, "
            f"which it cannot exceed; about exp(KL) draws are needed"
        )
    with np.errstate(divide="ignore"):
        k_hat = pareto_k(np.log(each))
    if k_hat > UNRELIABLE:
        reasons.append(f"the weights' tail is too heavy (Pareto k = {k_hat:.2f} > {UNRELIABLE})")
    return "; ".join(reasons)


def _bounded_kl(
    heuristic: Estimate,
    head: Sums,
    tail_q: float,
    w: Floats,
    bound: float,
    ok: Floats,
    log_w: Floats,
    largest: float,
    alpha: float,
    why: tuple[str, ...],
    lossless: bool,
) -> Estimate:
    """KL(q || p*) with a finite-sample interval: three means of bounded numbers, alpha shared among them."""
    each = alpha / (2 if lossless else 3)
    z = [head.z + tail_q * x for x in betting_interval(w, bound, each)]
    cost = [-head.q_log_w + tail_q * x for x in betting_interval(-log_w, max(largest, 1e-12), each)]
    done = [head.finished + tail_q * x for x in ((1.0, 1.0) if lossless else betting_interval(ok * 1.0, 1.0, each))]
    low = safe_log(z[0]) - math.log(done[1]) + cost[0] / done[1]
    high = math.log(z[1]) - safe_log(done[0]) + cost[1] / done[0] if done[0] > 0 else math.inf
    return Estimate(heuristic.value, max(low, 0.0), high, "95% confidence", why)
