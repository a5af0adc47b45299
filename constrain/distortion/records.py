"""A day's log of constrained generations, turned into the figures of a report.

Each record is a draw from the masked sampler q with its weight, so records of one prompt are the draws that
`compare(..., "sampling")` would pay for, and the same estimators apply: the same intervals, the same refusals.

Records of many prompts are draws from the joint law of prompt and output. What is measured then is the distortion of
that law, by the chain rule

    KL(joint q || joint p*) = E[ KL(q || p*) of a prompt ] + KL(prompts || prompts given validity),

an upper bound on the mean distortion of a prompt: the second term is how uneven Z is among prompts. The tax splits with
no such rest. `by_prompt` measures each prompt on its own.

Which step costs most is exact: the tax of a draw is the sum of its steps'. Which step *distorts* cannot be read off
masses alone, since it depends on futures that were not drawn. But where log w is the same in every draw nothing is
distorted, and to second order KL(q || p*) is half the variance of log w; so each place's share of that variance is
given beside its tax, as the place to look at.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from constrain.distortion.draws import COMPLETE, DEAD, TRUNCATED, Draws
from constrain.distortion.importance import estimate
from constrain.distortion.report import Report
from constrain.mass import MassRecord

_ROUNDING = 1e-5  # nats a step: what a log-softmax in float32 may be off


@dataclass(frozen=True, slots=True)
class PlaceMass:
    """What one place of the text adds, in means over outputs that ended.

    Attributes:
        location: a JSON pointer, as in `MassRecord.locations`; "" is the top, and where locations are not known.
        steps: tokens drawn there per output.
        tax: mean of -log of the mass kept there, nats. Those of all places add up to the mean of -log w.
        variance_share: the place's part of the variance of log w, as its covariance with log w over that variance;
            all of them add up to 1. It may be negative. NaN where log w does not vary.
    """

    location: str
    steps: float
    tax: float
    variance_share: float


@dataclass(frozen=True, slots=True)
class RecordsReport(Report):
    """A report from records, method "records": fields as in `Report`, and those below. No forward pass was made for it.

    Attributes:
        records: how many.
        prompts: how many different prompts they are of.
        places: what each place of the text adds, the largest share of the variance of log w first.
    """

    records: int = 0
    prompts: int = 0
    places: tuple[PlaceMass, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        places = [
            {
                "location": p.location,
                "steps": p.steps,
                "tax": p.tax,
                "variance_share": None if math.isnan(p.variance_share) else p.variance_share,
            }
            for p in self.places
        ]
        more = {"records": self.records, "prompts": self.prompts, "places": places}
        return Report.to_dict(self) | more | {"k_hat": None if math.isnan(self.k_hat) else self.k_hat}

    def __str__(self) -> str:
        lines = [Report.__str__(self), f"  {self.records:,} records of {self.prompts:,} prompts"]
        if not math.isnan(self.k_hat):
            lines[1] += f"; tail of the weights: Pareto k = {self.k_hat:.2f} (above 0.7 they have no mean to speak of)"
        for p in self.places[:8]:
            share = "" if math.isnan(p.variance_share) else f", {p.variance_share:.0%} of the variance of log w"
            lines.append(f"  at {p.location or 'the top'}: {p.steps:.3g} steps, tax {p.tax:.4g} nats{share}")
        return "\n".join(lines)


def summarize(records: Iterable[MassRecord], *, seed: int = 0, alpha: float = 0.05) -> RecordsReport:
    """What the outputs of constrained generations say about p(valid) and the distortion.

    The records must be independent draws from q: sampled at temperature 1 without top-k, top-p, beams or a choice among
    outputs, all of them kept. An output without an end-of-sequence token counts as cut, and figures are of those that
    finish. Point estimates are withheld where theory says that so many draws of such weights cannot carry them.

    Args:
        records: of one prompt and grammar, or of many (see the module's text); at least one.
        seed: of the order and the bootstrap.
        alpha: probability that an interval misses, at most.

    Raises:
        ValueError: no records, or a record lacks the mass of a step.
    """
    found = list(records)
    if not found:
        raise ValueError("there are no records")
    for number, record in enumerate(found):
        if record.log_weight is None:
            step = next(i for i, x in enumerate(record.log_z) if x is None)
            raise ValueError(
                f"record {number} lacks the mass of step {step}: the model was not asked there (tokens written by "
                "jump_generate), its scores were no distribution, or they were changed before they were summed "
                "(record_mass='at once' sums in time); its weight is not known. Leaving such records out "
                "changes what is measured, unless which are affected has nothing to do with the outputs"
            )
    rng = np.random.default_rng(seed)
    prompts = len({r.prompt for r in found})
    draws = _draws(found, rng)
    result = estimate(draws, rng, alpha=alpha, replicates=400 if len(found) <= 20_000 else 100)
    target = "p given validity" if not _are_cut(found) else "p given validity and an end before the limit"
    return RecordsReport(
        "records",
        "the model after the processors before the mask, temperature 1, no top-k or top-p",
        target if prompts == 1 else f"{target}, of {prompts:,} prompts and their outputs together",
        result.log_z,
        result.kl_masked_to_exact,
        result.kl_exact_to_masked,
        result.tv,
        result.chi2,
        result.tax,
        result.dead,
        result.truncated,
        0,
        step_tax=result.step_tax,
        step_reach=result.step_reach,
        warnings=tuple(_warnings(found, prompts, result.refused)),
        k_hat=result.k_hat,
        records=len(found),
        prompts=prompts,
        places=tuple(_places([r for r in found if _status(r) == COMPLETE])),
    )


def by_prompt(records: Iterable[MassRecord], *, seed: int = 0, alpha: float = 0.05) -> dict[str, RecordsReport]:
    """`summarize` for the records of each prompt on their own, those with most records first."""
    groups: dict[str, list[MassRecord]] = {}
    for record in records:
        groups.setdefault(record.prompt, []).append(record)
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    return {prompt: summarize(group, seed=seed, alpha=alpha) for prompt, group in ordered}


def _are_cut(records: Iterable[MassRecord]) -> bool:
    """Whether some output ended without its end-of-sequence token."""
    return any(r.truncated for r in records)


def _status(record: MassRecord) -> int:
    if record.log_weight == -math.inf:
        return DEAD  # p is 0 there: other processors had forbidden all that the grammar allows
    return TRUNCATED if record.truncated else COMPLETE


def _draws(records: list[MassRecord], rng: np.random.Generator) -> Draws:
    weights = np.array([r.log_weight for r in records], dtype=np.float64)
    finite = np.where(np.isfinite(weights), weights, 0.0)
    steps, reached = np.zeros((2, max(len(r.log_z) for r in records)))
    for record in records:
        reached[: len(record.log_z)] += 1.0
        for step, value in enumerate(record.log_z):
            steps[step] += value if value is not None and value > -math.inf else 0.0
    index = np.arange(len(records))
    rng.shuffle(index)  # the hour of the day should not matter; bets on one draw after another need random order
    return Draws(
        [r.tokens for r in records],
        np.full(len(records), np.nan),
        finite,
        np.array([_status(r) for r in records], dtype=np.int64),
        index,
        steps,
        reached,
    )


def _warnings(records: list[MassRecord], prompts: int, refused: str) -> list[str]:
    out = ["low distortion is not task quality: the model's own law given validity may be a poor answer"]
    if prompts > 1:
        out.append(
            f"the records are of {prompts:,} prompts: the distortion is that of prompts and outputs together, an upper "
            "bound on the mean distortion of a prompt"
        )
    if refused:
        out.append(f"no point estimates: {refused}")
    cut = sum(_status(r) == TRUNCATED for r in records)
    if cut:
        out.append(f"{cut:,} of {len(records):,} outputs are cut; q is the law of the others")
    impossible = sum(_status(r) == DEAD for r in records)
    if impossible:
        out.append(
            f"in {impossible:,} outputs other processors left no allowed token at some step; they count as weight 0"
        )
    if len(records) > 1 and prompts < len(records) and len({(r.prompt, r.tokens) for r in records}) == prompts:
        out.append("all outputs of a prompt are the same: is this greedy search, which draws nothing?")
    longest = max(len(r.log_z) for r in records)
    out.append(f"masses are taken in float32, good to about {longest * _ROUNDING:.1g} nats an output")
    return out


def _places(records: list[MassRecord]) -> list[PlaceMass]:
    if not records:
        return []
    masses: dict[str, dict[int, float]] = {}
    steps: dict[str, int] = {}
    for number, record in enumerate(records):
        places = record.locations if record.locations is not None else ("",) * len(record.log_z)
        for place, value in zip(places, record.log_z, strict=True):
            at = masses.setdefault(place, {})
            at[number] = at.get(number, 0.0) + (value or 0.0)
            steps[place] = steps.get(place, 0) + 1
    n = len(records)
    total = np.array([r.log_weight for r in records], dtype=np.float64)
    centred = total - total.mean()
    variance = float((centred**2).sum())
    found = []
    for place, values in masses.items():
        which, sums = np.array(list(values)), np.array(list(values.values()))
        # The covariance with what is centred needs no mean of the sums.
        share = float((sums * centred[which]).sum()) / variance if variance > 1e-12 * n else math.nan
        found.append(PlaceMass(place, steps[place] / n, -float(sums.sum()) / n, share))
    return sorted(found, key=lambda p: (-p.variance_share if not math.isnan(p.variance_share) else 0.0, -p.tax))
