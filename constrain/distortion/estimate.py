"""One measured number, with what is known about its error.

A value without its interval invites belief, and an interval without its kind invites too much of it. So every figure of
a report is an `Estimate`: a point, an interval, the kind of the interval and the assumptions it stands on. Where theory
says that the sample cannot carry the number, the point is withheld and the reason given in its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

Kind = Literal["exact", "certified", "95% confidence", "heuristic"]
"""What an interval promises.

"exact": the value up to rounding. "certified": the truth is inside, without probability. "95% confidence": the
procedure covers the truth in at least 95% of runs at any sample size. "heuristic": asymptotic (a bootstrap, say).
"""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval.

    Attributes:
        value: the point estimate; None where there is none (`refused` then says why, or only bounds are known).
        low: lower end of the interval; minus infinity where unbounded.
        high: upper end of the interval; plus infinity where unbounded.
        kind: what the interval promises.
        assumptions: what it stands on, one sentence each.
        refused: why no point estimate is given, or "".
    """

    value: float | None
    low: float
    high: float
    kind: Kind
    assumptions: tuple[str, ...] = ()
    refused: str = ""

    @classmethod
    def exact(cls, value: float, *assumptions: str) -> Estimate:
        """A value known up to rounding."""
        return cls(value, value, value, "exact", assumptions)

    @classmethod
    def certified(cls, low: float, high: float, *assumptions: str, value: float | None = None) -> Estimate:
        """An interval that holds the truth. Without a `value` the middle is taken if the ends are close."""
        if (
            value is None
            and math.isfinite(low)
            and math.isfinite(high)
            and high - low <= 0.1 * max(abs(low), abs(high))
        ):
            value = 0.5 * (low + high)
        return cls(value, low, high, "certified", assumptions)

    @property
    def width(self) -> float:
        """Length of the interval."""
        return self.high - self.low if self.high != self.low else 0.0

    @property
    def is_unbounded_above(self) -> bool:
        """Whether nothing is known about how large the number may be."""
        return self.high == math.inf

    def contains(self, truth: float, slack: float = 0.0) -> bool:
        """Whether `truth` lies in the interval, widened by `slack`."""
        return self.low - slack <= truth <= self.high + slack

    def withheld(self, reason: str) -> Estimate:
        """The same interval without a point estimate."""
        return replace(self, value=None, refused=reason)

    def mapped(self, function: Callable[[float], float]) -> Estimate:
        """Through a monotone function of either direction."""
        low, high = sorted((function(self.low), function(self.high)))
        return replace(self, value=None if self.value is None else function(self.value), low=low, high=high)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: infinite ends become None."""
        return {
            "value": self.value if self.value is not None and math.isfinite(self.value) else None,
            "low": self.low if math.isfinite(self.low) else None,
            "high": self.high if math.isfinite(self.high) else None,
            "kind": self.kind,
            "assumptions": list(self.assumptions),
            "refused": self.refused,
        }

    def __str__(self) -> str:
        if self.kind == "exact":
            return f"{self.value:.6g} (exact)"
        above = "unbounded above" if self.is_unbounded_above else f"{self.high:.6g}"
        interval = f"[{self.low:.6g}, {above}] ({self.kind})"
        if self.refused:
            return f"not given: {self.refused}; {interval}"
        return interval if self.value is None else f"{self.value:.6g} {interval}"
