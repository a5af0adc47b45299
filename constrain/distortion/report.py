"""What a comparison found."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from constrain.distortion.estimate import Estimate
from constrain.distortion.localisation import Contribution
from constrain.distortion.model import Prefix
from constrain.distortion.spellings import Spellings

_LABELS = {
    "log_z": "log Z, log of the probability of being valid",
    "unavoidable": "-log Z, the unavoidable price",
    "kl_masked_to_exact": "KL(q || p*), the distortion",
    "tax": "E_q[-log w], distortion + unavoidable",
    "kl_exact_to_masked": "KL(p* || q), what samples miss",
    "tv": "total variation",
    "chi2": "chi-square of p* from q",
    "ess_fraction": "effective share of samples, ESS/n",
    "dead_mass": "draws that die",
    "truncated_mass": "draws cut at the limit of tokens",
}


@dataclass(frozen=True, slots=True)
class Report:
    """How far the masked sampler q is from p*, the model given validity. Logarithms are natural.

    q is the law of draws that finish; the share of those that die or are cut is reported beside it. Low distortion is
    not task quality: p* itself may be a poor answer, for instance when there is no room to reason.

    Attributes:
        method: "exact", "trie", "sampling" or "two_sided".
        model: which distribution p is, in words.
        target: what p* is conditioned on, in words.
        log_z: log of the model's probability of being valid.
        kl_masked_to_exact: KL(q || p*), nats.
        kl_exact_to_masked: KL(p* || q), nats.
        tv: total variation, in [0, 1].
        chi2: chi-square divergence of p* from q.
        ess_fraction: limit of ESS / n of importance weights, 1 / (1 + chi2).
        tax: KL(q || p) = distortion + unavoidable, nats; E_q[-log w] where every draw finishes.
        dead_mass, truncated_mass: share of masked draws that die, that are cut at the limit of tokens.
        spellings: token level against string level, where all sequences are known.
        contributions: where the distortion arises, the largest first; empty where that is not known exactly.
        step_tax: E_q[-log Z_t] by step t of what was drawn, below the enumerated part; empty otherwise.
        step_reach: q-mass of those draws that come to step t.
        forward_passes: rows the model computed.
        warnings: what a reader must know, one sentence each.
        witnesses: exact draws that the mask refuses: proof of missing support.
        k_hat: Pareto shape of the weights, NaN where it was not fitted.
    """

    method: str
    model: str
    target: str
    log_z: Estimate
    kl_masked_to_exact: Estimate
    kl_exact_to_masked: Estimate
    tv: Estimate
    chi2: Estimate
    tax: Estimate
    dead_mass: Estimate
    truncated_mass: Estimate
    forward_passes: int
    spellings: Spellings | None = None
    contributions: tuple[Contribution, ...] = ()
    step_tax: tuple[float, ...] = ()
    step_reach: tuple[float, ...] = ()
    warnings: tuple[str, ...] = ()
    witnesses: tuple[Prefix, ...] = ()
    k_hat: float = math.nan
    extra: dict[str, Estimate] = field(default_factory=dict)

    @property
    def ess_fraction(self) -> Estimate:
        """Limit of ESS / n: 1 / (1 + chi2)."""
        return self.chi2.mapped(lambda x: 1.0 / (1.0 + x) if x != math.inf else 0.0)

    @property
    def unavoidable(self) -> Estimate:
        """-log Z: what the constraint costs whoever samples."""
        return self.log_z.mapped(lambda x: -x)

    @property
    def identity_error(self) -> float | None:
        """tax - (distortion + unavoidable), zero up to rounding; None where one of them has no point."""
        tax, kl, log_z = self.tax.value, self.kl_masked_to_exact.value, self.log_z.value
        return None if tax is None or kl is None or log_z is None else tax - (kl - log_z)

    def figures(self) -> dict[str, Estimate]:
        """All estimates by name."""
        return {name: getattr(self, name) for name in _LABELS} | self.extra

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "method": self.method,
            "model": self.model,
            "target": self.target,
            "forward_passes": self.forward_passes,
            "figures": {name: estimate.to_dict() for name, estimate in self.figures().items()},
            "warnings": list(self.warnings),
            "witnesses": [list(w) for w in self.witnesses],
            "spellings": None if self.spellings is None else asdict(self.spellings),
            "contributions": [
                {
                    "prefix": list(c.prefix),
                    "text": c.text.decode("utf-8", "backslashreplace"),
                    "visits": c.visits,
                    "distortion": c.distortion,
                    "tax": c.tax,
                }
                for c in self.contributions[:100]
            ],
        }

    def __str__(self) -> str:
        lines = [
            f"{self.method}: {self.model}",
            f"target: {self.target}; {self.forward_passes:,} forward passes; logarithms are natural",
        ]
        width = max(len(label) for label in _LABELS.values())
        lines += [f"  {_LABELS.get(name, name):{width}}  {estimate}" for name, estimate in self.figures().items()]
        if self.spellings is not None:
            s = self.spellings
            lines.append(
                f"  token level {s.kl_tokens:.6g} = string level {s.kl_texts:.6g} + tokenisation {s.kl_within:.6g}"
            )
            if s.canonical_q is not None:
                lines.append(f"  on canonical encodings: q {s.canonical_q:.4g}, p* {s.canonical_p:.4g}")
        for c in self.contributions[:5]:
            lines.append(f"  {c.distortion:.4g} nats arise after {c.text!r}")
        lines += [f"  the mask refuses the valid sequence {w}" for w in self.witnesses[:5]]
        lines += [f"  note: {w}" for w in self.warnings]
        return "\n".join(lines)
