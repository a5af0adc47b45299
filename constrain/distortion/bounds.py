"""Certified intervals from a partly explored tree of prefixes.

Known are E, the finished sequences met so far, and F, the frontier: sets of unexplored prefixes that share one weight
r = p(u) / q(u). Whatever lies below a frontier prefix has w <= r, since every further step keeps at most all of the
mass. From that alone follow bounds on every figure; no sampling, no model of the model. The tree with its bound on Z is
that of ASAp, CARS and BEAVER (Park et al. 2024, Parys et al. 2026, arXiv 2512.05439); bounds on the divergences are
derived here.

Two situations. *Lossless*: every draw surely finishes, so all of q's frontier mass ends in finished sequences. *Lossy*:
some unknown part of it dies or is cut at the limit of tokens, and bounds hold for every such part.

Lower bounds use that merging outcomes never raises a divergence, minimised over what the merged cells can weigh. The
upper bound on KL(q || p*) needs a floor on one-step mass and a limit of length: without both, q may put weight where p
has almost none, forever, and the bound is infinite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from constrain.distortion.numerics import Floats, binary_divergence, safe_log

Interval = tuple[float, float]

_SMALLEST = -700.0
"""Log-probabilities below this are treated as not seen: their mass counts as lost."""


@dataclass(frozen=True, slots=True)
class Explored:
    """What is known.

    Attributes:
        log_p, log_w: of the finished sequences, shape (finished,).
        frontier_p: p-mass of each group of frontier prefixes, shape (groups,).
        frontier_log_r: log of their common weight, shape (groups,).
        frontier_steps: the most steps after which a sequence of the group has ended; -1 for no limit.
        lost_q: q-mass known to be dead or cut off.
        lossless: nothing below the frontier dies or is cut off.
        log_floor: log of a floor on one-step mass everywhere below the frontier, or None.
    """

    log_p: Floats
    log_w: Floats
    frontier_p: Floats
    frontier_log_r: Floats
    frontier_steps: Floats
    lost_q: float
    lossless: bool
    log_floor: float | None = None


@dataclass(frozen=True, slots=True)
class Certified:
    """Intervals; each holds the truth."""

    z: Interval
    finished: Interval
    kl_masked_to_exact: Interval
    kl_exact_to_masked: Interval
    tv: Interval
    chi2: Interval
    tax: Interval


NOTHING_KNOWN = Certified(
    (0.0, 1.0), (0.0, 1.0), (0.0, math.inf), (0.0, math.inf), (0.0, 1.0), (0.0, math.inf), (0.0, math.inf)
)


def intersection(earlier: Certified, later: Certified) -> Certified:
    """What both say. Where they miss each other by rounding, the later one's word."""

    def both(a: Interval, b: Interval) -> Interval:
        low, high = max(a[0], b[0]), min(a[1], b[1])
        return (low, high) if low <= high else b

    return Certified(
        both(earlier.z, later.z),
        both(earlier.finished, later.finished),
        both(earlier.kl_masked_to_exact, later.kl_masked_to_exact),
        both(earlier.kl_exact_to_masked, later.kl_exact_to_masked),
        both(earlier.tv, later.tv),
        both(earlier.chi2, later.chi2),
        both(earlier.tax, later.tax),
    )


def certify(known: Explored) -> Certified:
    """The intervals that follow from what is known. Ends are moved outwards by a slack for rounding."""
    seen = known.log_p > _SMALLEST
    log_p, log_w = known.log_p[seen], known.log_w[seen]
    p, q = np.exp(log_p), np.exp(log_p - log_w)
    lost = float(np.exp(known.log_p[~seen] - known.log_w[~seen]).sum())  # q-mass of sequences too rare for a float
    lossless = known.lossless and lost == 0.0
    z_low, q_low = float(p.sum()), float(q.sum())
    some = known.frontier_p > 0
    tail_p, log_r, steps = known.frontier_p[some], known.frontier_log_r[some], known.frontier_steps[some]
    tail_q = tail_p * np.exp(-log_r)
    tail = float(tail_q.sum())
    z_high = min(z_low + float(tail_p.sum()), 1.0)
    q_high = q_low + tail + lost
    q_low_total = q_high if lossless else q_low
    slack = 1e-13 * (10 + p.size + tail_p.size)
    # Sums of positive numbers: their rounding is relative, however small they are.
    z = (z_low * (1.0 - slack), z_high * (1.0 + slack))
    finished = (q_low_total * (1.0 - slack), q_high * (1.0 + slack))
    if z_low <= 0.0:
        nothing = (0.0, math.inf)
        return Certified(z, finished, nothing, nothing, (0.0, 1.0), nothing, (0.0, math.inf))
    s_q, s_p, p_w = float((q * log_w).sum()), float((p * log_w).sum()), float((p * np.exp(log_w)).sum())
    a_low, a_high = q_low / q_high, (q_low / q_high if lossless else 1.0)
    b_low = z_low / z_high
    inside_q = safe_log(z_low) - safe_log(q_low) - s_q / q_low
    inside_p = s_p / z_low - safe_log(z_low) + safe_log(q_low)

    tax_low = _tax_low(q_low, -s_q, tail_q, -log_r, lossless)
    kl_low = max(0.0, tax_low + safe_log(z_low), _two_cells(inside_q, a_low, a_high, b_low, 1.0))
    if lossless:
        kl_low = max(kl_low, _water_filling(z_low, q_high, s_q, tail_q, log_r))
    tax_high = math.inf
    if not tail_q.size:
        tax_high = -math.log(q_low) - s_q / q_low
    elif known.log_floor is not None and (steps >= 0).all():
        tax_high = _tax_high(q_low, -s_q, tail_q, -(log_r + steps * known.log_floor), lossless)
    kl_high = tax_high + math.log(z_high)

    # Below the frontier p log w <= p max(log r), so sum p log w <= s_p + (z - z_low) top for every z.
    top = float(log_r.max()) if log_r.size else 0.0
    constant = s_p - z_low * top
    at = min(max(-constant, z_low), z_high)
    forward_high = constant / at + top - math.log(at) + math.log(q_high)
    forward_low = max(0.0, _two_cells(inside_p, b_low, 1.0, a_low, a_high))

    chi_low = _chi2_low(p_w * q_low / z_low**2, b_low, a_low, a_high)
    chi_high = _chi2_high(p_w, z_low, z_high, math.exp(top), float((tail_p * np.exp(log_r)).sum()), q_high)
    tv = _total_variation(p, q, z_low, z_high, q_low, q_low_total, q_high)
    rounding = slack * (1.0 + abs(safe_log(z_low)) + float(np.abs(log_w).max(initial=0.0)))
    return Certified(
        z,
        finished,
        (max(0.0, _down(kl_low, rounding)), _up(max(kl_high, kl_low), rounding)),
        (max(0.0, _down(forward_low, rounding)), _up(max(forward_high, forward_low), rounding)),
        (max(0.0, tv[0] - rounding), min(1.0, tv[1] + rounding)),
        (max(0.0, _down(chi_low, rounding)), _up(max(chi_high, chi_low), rounding)),
        (_down(tax_low, rounding), _up(max(tax_high, tax_low), rounding)),
    )


def _down(x: float, slack: float) -> float:
    """Lower by a slack that is relative for large numbers and absolute for differences of them."""
    return x - slack * max(abs(x), 1.0)


def _up(x: float, slack: float) -> float:
    return x + slack * max(abs(x), 1.0)


def _tax_low(q_known: float, cost: float, tail_q: Floats, tail_cost: Floats, lossless: bool) -> float:
    """Least of -log Q + (cost + sum m_u c_u) / Q over masses m_u <= q(u) with Q = q_known + sum m_u.

    Where nothing is lost m_u = q(u), and there is nothing to choose.

    For a given Q the cheapest groups fill first. Between the points where one group is full and the next begins, the
    function of Q has at most a maximum, so its least value is at one of those points.
    """
    if lossless:
        total = q_known + float(tail_q.sum())
        return -math.log(total) + (cost + float((tail_q * tail_cost).sum())) / total
    order = np.argsort(tail_cost)
    totals = q_known + np.concatenate([[0.0], np.cumsum(tail_q[order])])
    costs = cost + np.concatenate([[0.0], np.cumsum((tail_q * tail_cost)[order])])
    return float((-np.log(totals) + costs / totals).min())


def _tax_high(q_known: float, cost: float, tail_q: Floats, tail_cost: Floats, lossless: bool) -> float:
    """Greatest of the same expression: the dearest groups fill first, and a maximum may lie between two points."""
    if lossless:
        total = q_known + float(tail_q.sum())
        return -math.log(total) + (cost + float((tail_q * tail_cost).sum())) / total
    order = np.argsort(-tail_cost)
    total, best = q_known, -math.log(q_known) + cost / q_known
    for i in order:
        mass, rate = float(tail_q[i]), float(tail_cost[i])
        base = cost - rate * total  # on this piece the expression is -log Q + base / Q + rate
        if total < -base < total + mass:
            best = max(best, -math.log(-base) - 1.0 + rate)
        total, cost = total + mass, cost + mass * rate
        best = max(best, -math.log(total) + cost / total)
    return best


def _water_filling(z_known: float, total: float, s_q: float, tail_q: Floats, log_r: Floats) -> float:
    """Lower bound on KL(q || p*) when nothing is lost.

    Each frontier group is one cell of q-mass m and unknown p-mass x <= r m. The least divergence over all x is convex
    in log x; at its optimum x = min(r, t) m for one level t with t total = Z.
    """
    if not tail_q.size:
        return math.log(z_known / total) - s_q / total
    order = np.argsort(log_r)
    r, m = np.exp(log_r[order]), tail_q[order]
    full = np.concatenate([[0.0], np.cumsum(r * m)])  # p-mass of the groups that are full
    open_mass = tail_q.sum() - np.concatenate([[0.0], np.cumsum(m)])
    level = math.inf
    for i in range(r.size + 1):
        room = total - float(open_mass[i])
        if room > 0:
            level = (z_known + float(full[i])) / room
            if i == r.size or level <= r[i]:
                break
    x = np.minimum(r, level)  # per unit of q-mass
    z = z_known + float((x * m).sum())
    return math.log(z) - math.log(total) - (s_q + float((m * np.log(x)).sum())) / total


def _two_cells(inside: float, a_low: float, a_high: float, b_low: float, b_high: float) -> float:
    """Least of kl(a, b) + a inside over a in [a_low, a_high], b in [b_low, b_high].

    The chain rule for "known or not": kl of the two cells, plus a times the divergence inside the known cell. Jointly
    convex; for a given a the best b is the nearest to a.
    """

    def best(a: float) -> float:
        return binary_divergence(a, min(max(a, b_low), b_high)) + a * inside

    candidates = [a_low, a_high, min(max(b_low, a_low), a_high), min(max(b_high, a_low), a_high)]
    for b in (b_low, b_high):
        if 0.0 < b < 1.0:
            shrunk = b * math.exp(-inside)
            candidates.append(min(max(shrunk / (1.0 - b + shrunk), a_low), a_high))
    return min(best(a) for a in candidates)


def _chi2_low(inside: float, b_low: float, a_low: float, a_high: float) -> float:
    """Least chi-square over two cells: p* has mass b >= b_low in the known one, q mass a in [a_low, a_high].

    `inside` is 1 + chi-square within the known cell. Minimises inside b^2 / a + (1 - b)^2 / (1 - a) - 1.
    """
    root = math.sqrt(max(inside, 1.0))

    def value(a: float, b: float) -> float:
        known = inside * b * b / a if a > 0 else math.inf
        rest = 1.0 - b
        return known + (0.0 if rest <= 0 else (rest * rest / (1.0 - a) if a < 1.0 else math.inf)) - 1.0

    free = b_low * root / (b_low * root + 1.0 - b_low)
    a = min(max(free, a_low), a_high)
    if a == free and a_low < a_high:
        return max(0.0, value(a, b_low))
    if a >= 1.0:
        return max(0.0, value(1.0, 1.0))
    first, second = inside / a, 1.0 / (1.0 - a)
    return max(0.0, value(a, min(max(second / (first + second), b_low), 1.0)))


def _chi2_high(p_w: float, z_low: float, z_high: float, r: float, tail_p_w: float, q_high: float) -> float:
    """Greatest of q_high M(z) / z^2 - 1, where M(z) = p_w + min((z - z_low) r, tail_p_w)."""
    constant = p_w - z_low * r
    points = [z_low, z_high]
    if r > 0:
        points += [z_low + tail_p_w / r, -2.0 * constant / r]
    best = 0.0
    for z in points:
        at = min(max(z, z_low), z_high)
        best = max(best, q_high * (p_w + min((at - z_low) * r, tail_p_w)) / at**2 - 1.0)
    return best


def _total_variation(
    p: Floats, q: Floats, z_low: float, z_high: float, q_known: float, q_low: float, q_high: float
) -> Interval:
    """Bounds on 1/2 sum |q / Q - p / Z|, with s = 1 / Q and t = 1 / Z free in their ranges.

    The sum over the known part is convex in (s, t). Above: the unknown parts do not meet, and a convex function is
    greatest at a corner. Below: the unknown parts are one cell; the function is s times a function of t / s that is
    convex and piecewise linear, so its least value is at a kink or at an end.
    """
    s_low, s_high, t_low, t_high = 1.0 / q_high, 1.0 / q_low, 1.0 / z_high, 1.0 / z_low

    def above(s: float, t: float) -> float:
        known = float(np.abs(q * s - p * t).sum())
        return 0.5 * (known + max(0.0, 1.0 - q_known * s) + max(0.0, 1.0 - z_low * t))

    def below(s: float, t: float) -> float:
        return 0.5 * (float(np.abs(q * s - p * t).sum()) + abs((1.0 - q_known * s) - (1.0 - z_low * t)))

    high = max(above(s, t) for s in (s_low, s_high) for t in (t_low, t_high))
    if q_low == q_high:
        kinks = np.concatenate([q * s_low / p, [q_known * s_low / z_low, t_low, t_high]])
        t = np.unique(np.clip(kinks, t_low, t_high))
        return _least(p, q, np.full_like(t, s_low), t, q_known, z_low), min(high, 1.0)
    ratios = np.unique(
        np.clip(
            np.concatenate([q / p, [q_known / z_low, t_low / s_low, t_low / s_high, t_high / s_low]]),
            t_low / s_high,
            t_high / s_low,
        )
    )
    s = np.maximum(s_low, t_low / ratios)
    return _least(p, q, s, s * ratios, q_known, z_low), min(high, 1.0)


def _least(p: Floats, q: Floats, s: Floats, t: Floats, q_known: float, z_low: float) -> float:
    """Least of 1/2 (sum |q s - p t| + |z_low t - q_known s|) over pairs (s, t), by sorting instead of a table."""
    order = np.argsort(q / p)
    ratio, ps, qs = (q / p)[order], p[order], q[order]
    cum_p, cum_q = np.concatenate([[0.0], np.cumsum(ps)]), np.concatenate([[0.0], np.cumsum(qs)])
    i = np.searchsorted(ratio, t / s)  # before i, q s <= p t
    known = (cum_p[i] * t - cum_q[i] * s) + ((cum_q[-1] - cum_q[i]) * s - (cum_p[-1] - cum_p[i]) * t)
    return max(0.0, 0.5 * float((known + np.abs(z_low * t - q_known * s)).min()))
