"""Whether a measurement is worse than an earlier one, for a check before a change is taken in.

A figure is *worse* only when its whole interval lies above the earlier one, beyond a tolerance: chance and small
budgets then never fail a build. Where the intervals overlap although they are wider than the tolerance, nothing is
known, and that is said: more budget is the remedy. A baseline of another model or prompt is no baseline.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

FIGURES = {
    "kl_masked_to_exact": "KL(q || p*), the distortion",
    "tv": "total variation",
    "kl_exact_to_masked": "KL(p* || q), what samples miss",
    "unavoidable": "-log Z, the unavoidable price",
}
"""What is compared: figures of which less is better."""

Verdict = Literal["worse", "better", "no worse", "unknown"]


@dataclass(frozen=True, slots=True)
class Change:
    """One figure of one measurement against the baseline. Intervals are (low, high), plus infinity where unbounded."""

    name: str
    figure: str
    before: tuple[float, float]
    after: tuple[float, float]
    verdict: Verdict


def changes(before: Mapping[str, Any], after: Mapping[str, Any], tolerance: float) -> list[Change]:
    """Figures of all measurements that both documents have, by name.

    Args:
        before, after: as `constrain distortion --json` writes them.
        tolerance: how much worse a figure may get, in its own unit (nats, or a share for total variation).

    Raises ValueError when the baseline is of another model, prompt or target, or has no measurement of the same name.
    """
    if before.get("format") != after["format"]:
        raise ValueError("the baseline is not a file of this version of `constrain distortion --json`")
    for key in ("model", "prompt", "temperature", "max_tokens"):
        if before.get(key) != after[key]:
            raise ValueError(
                f"the baseline was measured with another {key.replace('_', ' ')}: "
                f"{str(before.get(key))[:80]!r}, now {str(after[key])[:80]!r}"
            )
    targets = {m["name"]: m["report"].get("target") for m in before["measurements"]}
    for m in after["measurements"]:
        target = m["report"].get("target")
        if targets.get(m["name"], target) != target:
            raise ValueError(
                f"the baseline was measured with another target: {targets[m['name']]!r}, now {target!r}; "
                "--max-new-tokens gives both the same"
            )
    old = {m["name"]: m["report"]["figures"] for m in before["measurements"]}
    new = {m["name"]: m["report"]["figures"] for m in after["measurements"]}
    shared = [name for name in new if name in old]
    if not shared:
        raise ValueError(f"the baseline has {', '.join(old)}; this measurement has {', '.join(new)}")
    return [
        Change(name, label, a := _ends(old[name][figure]), b := _ends(new[name][figure]), _verdict(a, b, tolerance))
        for name in shared
        for figure, label in FIGURES.items()
    ]


def _ends(figure: Mapping[str, Any]) -> tuple[float, float]:
    low, high = figure["low"], figure["high"]
    return (-math.inf if low is None else float(low), math.inf if high is None else float(high))


def _verdict(before: tuple[float, float], after: tuple[float, float], tolerance: float) -> Verdict:
    if after[0] > before[1] + tolerance:
        return "worse"
    if after[1] < before[0] - tolerance:
        return "better"
    return "no worse" if after[1] <= before[0] + tolerance else "unknown"
