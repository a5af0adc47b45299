"""Measurements in few words, the same on a terminal and on a page."""

from __future__ import annotations

import math
from collections.abc import Sequence

from constrain.distortion.estimate import Estimate
from constrain.distortion.localisation import Contribution, grouped, json_location
from constrain.distortion.report import Report
from constrain.distortion.study import Measured, StepCost, values_distance

NOT_QUALITY = (
    "Low distortion is not task quality: it says that samples follow the model's own law given validity, not that this "
    "law answers well."
)

OWN_TARGET = (
    "Each engine is measured against the model given what that engine's own masks allow; where they leave valid "
    "encodings out, its log Z is lower."
)

ROWS = (
    ("log_z", "log Z", "log of the probability that the model, left alone, writes something valid"),
    ("unavoidable", "unavoidable price", "−log Z, nats: what validity costs, whoever samples"),
    ("kl_masked_to_exact", "distortion", "KL(q‖p*), nats: how far masked samples are from the model given validity"),
    ("tax", "mask's whole price", "E_q[−log w], nats: distortion and unavoidable price together"),
    ("kl_exact_to_masked", "what samples miss", "KL(p*‖q), nats: rules how many samples a correction needs"),
    ("tv", "total variation", "largest difference in probability of any set of outcomes, 0 to 1"),
    ("ess_fraction", "effective share", "ESS/n: of n reweighted samples, so many are worth as much as exact ones"),
    ("dead_mass", "dead ends", "share of masked draws that cannot finish"),
    ("truncated_mass", "cut draws", "share of masked draws that reach the limit of tokens"),
)
"""Figures of a report that are shown: name, label, meaning."""

KINDS = {
    "exact": "exact",
    "certified": "certain",
    "95% confidence": "95 %",
    "heuristic": "bootstrap",
}


def number(x: float) -> str:
    """Four digits that count, and no negative zero."""
    if math.isinf(x):
        return "∞" if x > 0 else "−∞"
    if abs(x) < 5e-13:
        return "0"
    text = f"{x:.4g}" if abs(x) < 1e5 else f"{x:.3e}"
    return text.replace("-", "−", 1) if text.startswith("-") else text


def ends(low: float, high: float) -> str:
    """An interval, with enough digits to tell its ends apart."""
    digits = 4
    while digits < 12 and low != high and f"{low:.{digits}g}" == f"{high:.{digits}g}":
        digits += 2

    def end(x: float) -> str:
        return number(x) if math.isinf(x) or digits == 4 else f"{x:.{digits}g}".replace("-", "−", 1)

    left = "(" if low == -math.inf else "["
    right = ")" if high == math.inf else "]"
    return f"{left}{end(low)}, {end(high)}{right}"


def estimate_text(estimate: Estimate, *, kind: bool = True) -> str:
    """Value, interval and what the interval promises."""
    if estimate.kind == "exact" and estimate.value is not None:
        return number(estimate.value)
    if estimate.low == estimate.high:
        shown = number(estimate.low)
    elif estimate.value is None:
        shown = ends(estimate.low, estimate.high)
    else:
        shown = f"{number(estimate.value)} {ends(estimate.low, estimate.high)}"
    return f"{shown} {KINDS[estimate.kind]}" if kind else shown


def rows(reports: Sequence[Report]) -> list[tuple[str, str, str]]:
    """The rows of `ROWS` that some report has something about."""

    def told(name: str) -> bool:
        estimates = [r.figures()[name] for r in reports]
        if name in ("dead_mass", "truncated_mass") and all(e.high == 0.0 for e in estimates):
            return False
        return any(not e.refused.startswith("not measured") for e in estimates)

    return [row for row in ROWS if told(row[0])]


def notes(report: Report) -> tuple[str, ...]:
    """What figures are about, and what to mind."""
    return (f"the target is {report.target}", *report.warnings)


def headline(measured: Measured) -> str:
    """One line: what a reader should know first."""
    report = measured.report
    if report.method == "two_sided":
        gap = report.extra["gap between the two sides"].value or 0.0
        found = (
            f"{len(report.witnesses):,} valid sequences that the mask refuses" if report.witnesses else "no proof of it"
        )
        return f"log Z {estimate_text(report.log_z)}; support that the mask misses: gap {number(gap)} nats, {found}"
    parts = [
        f"distortion {estimate_text(report.kl_masked_to_exact)}",
        f"unavoidable price {estimate_text(report.unavoidable)}",
    ]
    kl, spellings = report.kl_masked_to_exact.value, report.spellings
    if spellings is not None and kl is not None and spellings.kl_within > 1e-9:
        parts.insert(1, f"of it {spellings.kl_within / kl:.0%} in how the text is cut into tokens")
    return "; ".join(parts) + " (nats)"


def verdict(measured: Measured) -> str:
    """What the distortion means for samples, in a sentence; "" where it is not known well enough."""
    kl = measured.report.kl_masked_to_exact
    tv = measured.report.tv
    if measured.report.method == "two_sided":
        return ""
    if kl.high < 0.05:
        return "Masked samples follow the model given validity closely: there is next to nothing to correct."
    if tv.low > 0.5 or kl.low > 1.0:
        return (
            "Masked samples are often not what the model would say given that it must be valid: let it reason first, "
            "loosen the grammar's spelling, or draw several and correct by their weights."
        )
    if kl.low > 0.05:
        return "Masked samples lean noticeably away from the model given validity."
    return ""


def places(contributions: Sequence[Contribution], most: int = 8) -> list[tuple[str, float, float]]:
    """Where in a JSON text distortion arises: (pointer, distortion, mass taken away), the largest first."""
    sums = grouped(contributions, json_location)
    found = [(name or "(start or end of the text)", d, t) for name, (d, t) in sums.items() if d > 1e-9 or t > 1e-9]
    return found[:most]


def worst_steps(steps: Sequence[StepCost], most: int = 5) -> list[tuple[int, StepCost]]:
    """The steps that cost most, with their numbers from 1."""
    numbered = list(enumerate(steps, 1))

    def cost(item: tuple[int, StepCost]) -> float:
        return -(item[1].distortion if item[1].distortion is not None else item[1].tax)

    return sorted(numbered, key=cost)[:most]


def difference(first: Estimate, second: Estimate) -> tuple[float, float]:
    """Bounds on second - first, from both intervals."""
    low = -math.inf if math.inf in (first.high, -second.low) else second.low - first.high
    high = math.inf if math.inf in (second.high, -first.low) else second.high - first.low
    return low, high


def value_difference(first: Measured, second: Measured) -> str:
    """How far apart two masked samplers are in what they say, as words."""
    low, high = values_distance(first, second)
    return "unknown" if low <= 0.0 and high >= 1.0 else number(low) if high - low < 1e-9 else ends(low, high)
