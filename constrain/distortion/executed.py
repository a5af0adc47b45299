"""Engines as they are run: what law the whole chain of mask, warpers and draw gives, not what the mask alone would.

Where the mask stands among temperature, top-k and top-p changes the law, and some servers do not mask at all unless
they have to: they draw first, keep a token that the grammar allows, and only otherwise mask and draw again (llama.cpp
does). With no truncation that is masking; with top-p it is a third law, p'(a) 1[allowed] + (1 - Z') q'(a).

An `Execution` says how one token is drawn, as a law over allowed tokens. `as_executed` enumerates the outputs of an
engine under it, and measures them against p*, the model given validity: the model *before* warpers, or after those
named as part of p.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from constrain.distortion.estimate import Estimate
from constrain.distortion.language import TokenIds, contains
from constrain.distortion.matcher_language import as_language
from constrain.distortion.model import CountingModel, Model, Prefix, as_model
from constrain.distortion.numerics import Floats, log_sum_exp
from constrain.distortion.report import Report
from constrain.distortion.trie import Trie


@dataclass(frozen=True, slots=True)
class Warpers:
    """Temperature, then top-k, then top-p, as transformers and most servers order them.

    Attributes:
        temperature: above 0.
        top_k: the most tokens kept, 0 for all; ties with the last one are kept.
        top_p: the smallest set of likeliest tokens with at least this mass is kept; 1 for all.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if not self.temperature > 0.0 or self.top_k < 0 or not 0.0 < self.top_p <= 1.0:
            raise ValueError(f"no such warpers: {self}")

    def __call__(self, log_probs: Floats) -> Floats:
        """Normalised logs of what is left, minus infinity elsewhere; of any logs, shape kept."""
        if not (log_probs > -np.inf).any():
            return log_probs
        x = log_probs / self.temperature
        if 0 < self.top_k < x.size:
            x = np.where(x >= np.partition(x, -self.top_k)[-self.top_k], x, -np.inf)
        x = x - log_sum_exp(x)
        if self.top_p < 1.0:
            order = np.argsort(-x, kind="stable")
            mass_before = np.concatenate([[0.0], np.cumsum(np.exp(x[order]))[:-1]])
            kept = np.full_like(x, -np.inf)
            some = order[mass_before < self.top_p]
            kept[some] = x[some]
            x = kept - log_sum_exp(kept)
        return x

    def __str__(self) -> str:
        parts = [
            f"temperature {self.temperature:g}" if self.temperature != 1.0 else "",
            f"top-k {self.top_k}" if self.top_k else "",
            f"top-p {self.top_p:g}" if self.top_p < 1.0 else "",
        ]
        return ", ".join(filter(None, parts)) or "no warpers"


class Execution(Protocol):
    """How an engine draws a token."""

    @property
    def description(self) -> str:
        """In words, in the order in which things happen."""
        ...

    def law(self, row: Floats, allowed: TokenIds) -> Floats:
        """Logs of the probability with which each allowed token is written.

        Args:
            row: the model's log-probabilities, shape (width,).
            allowed: ids that the mask allows.

        Returns shape of `allowed`; all minus infinity where the engine has nothing to write.
        """
        ...


@dataclass(frozen=True, slots=True)
class MaskThenWarp:
    """Mask, then warp what is left, then draw: transformers with a logits processor, most servers."""

    warpers: Warpers = field(default_factory=Warpers)

    @property
    def description(self) -> str:
        return f"mask, then {self.warpers}"

    def law(self, row: Floats, allowed: TokenIds) -> Floats:
        """As in `Execution`."""
        return self.warpers(row[allowed])


@dataclass(frozen=True, slots=True)
class WarpThenMask:
    """Warp, then mask, then draw: a mask behind the samplers. Where no allowed token survived warping, nothing can be
    written, unless `grammar_wins`: then the warped distribution of the allowed tokens alone is taken."""

    warpers: Warpers = field(default_factory=Warpers)
    grammar_wins: bool = False

    @property
    def description(self) -> str:
        return f"{self.warpers}, then mask"

    def law(self, row: Floats, allowed: TokenIds) -> Floats:
        """As in `Execution`."""
        left = self.warpers(row)[allowed]
        total = log_sum_exp(left)
        if total == -math.inf:
            return self.warpers(row[allowed]) if self.grammar_wins else left
        return np.asarray(left - total)


@dataclass(frozen=True, slots=True)
class SampleThenMask:
    """Draw from the warped model; keep the token if the mask allows it, else mask, warp and draw again."""

    warpers: Warpers = field(default_factory=Warpers)

    @property
    def description(self) -> str:
        return f"draw with {self.warpers}, and mask only a refused draw"

    def law(self, row: Floats, allowed: TokenIds) -> Floats:
        """As in `Execution`."""
        first = self.warpers(row)[allowed]
        refused = max(0.0, -math.expm1(min(log_sum_exp(first), 0.0)))
        again = self.warpers(row[allowed])
        with np.errstate(divide="ignore"):
            return np.logaddexp(first, again + (math.log(refused) if refused > 0.0 else -math.inf))


@dataclass(frozen=True, slots=True)
class ExecutedLaw:
    """Every output of an engine as it is run.

    Attributes:
        log_q: sequence to the log of the probability that the engine writes it; all that it can finish.
        dead_q, truncated_q: probability that it gets stuck, and that it is cut at the limit.
        report: against p*: method "executed".
    """

    log_q: dict[Prefix, float]
    dead_q: float
    truncated_q: float
    report: Report


def executed_law(
    model: Any,
    mask: Any,
    execution: Execution,
    *,
    max_tokens: int | None = None,
    budget: int = 100_000,
    batch_size: int = 64,
) -> tuple[dict[Prefix, float], float, float, int]:
    """Outputs with the logs of their probabilities, probabilities to be stuck and to be cut, and prefixes looked at.

    Raises ValueError where there are more prefixes than `budget`.
    """
    p, language = as_model(model), as_language(mask)
    found: dict[Prefix, float] = {}
    dead = cut = 0.0
    level: list[tuple[Prefix, Any, float]] = [((), language.start(), 0.0)]
    passes = 0
    while level:
        passes += len(level)
        if passes > budget:
            raise ValueError(f"the engine can write more than the {budget:,} prefixes of the budget")
        following: list[tuple[Prefix, Any, float]] = []
        for k in range(0, len(level), batch_size):
            part = level[k : k + batch_size]
            for (prefix, state, log_q), row in zip(part, p.log_probs([x[0] for x in part]), strict=True):
                ids = language.allowed(state)
                ids = ids[ids < row.size]
                logs = execution.law(row, ids) if ids.size else np.empty(0)
                if not (logs > -np.inf).any():
                    dead += math.exp(log_q)
                    continue
                for token, log in zip(ids.tolist(), logs.tolist(), strict=True):
                    if log == -math.inf:
                        continue
                    longer = (*prefix, token)
                    if token in language.eos_token_ids:
                        found[longer] = log_q + log
                    elif max_tokens is not None and len(longer) >= max_tokens:
                        cut += math.exp(log_q + log)
                    else:
                        following.append((longer, language.advance(state, token), log_q + log))
        level = following
    return found, dead, cut, passes


def as_executed(
    model: Any,
    mask: Any,
    execution: Execution,
    *,
    target: Any = None,
    max_tokens: int | None = None,
    budget: int = 100_000,
    batch_size: int = 64,
) -> ExecutedLaw:
    """Measure an engine as it is run against the model given validity, exactly, by enumeration.

    Args:
        model: p, before warpers.
        mask: the engine's masks, a language or compiled grammar; forced tokens are masks of one token.
        execution: `MaskThenWarp`, `WarpThenMask`, `SampleThenMask`, or another.
        target: the language that should be written; by default the mask's.
        max_tokens: the target is p given validity within so many tokens, the end included.
        budget: most prefixes of either language.
        batch_size: prefixes of one call of the model.

    An engine that cannot write part of the target has an infinite KL(p* || q) and chi-square; how much of p* it misses
    is among the report's `extra`, beside what it writes that is not in the target.

    Raises ValueError when a language is too large to enumerate.
    """
    counting = CountingModel(as_model(model))
    p: Model = counting
    language = as_language(mask if target is None else target)
    log_q, dead, cut, _ = executed_law(p, mask, execution, max_tokens=max_tokens, budget=budget, batch_size=batch_size)
    trie = Trie(p, language, max_tokens=max_tokens, batch_size=batch_size).run(budget)
    if not trie.is_exhausted:
        raise ValueError(f"the target has more than the {budget:,} prefixes of the budget")
    log_p = {trie.sequence(i): float(x) for i, x in enumerate(trie.log_p)}
    log_z = log_sum_exp(np.array(list(log_p.values())))
    log_done = log_sum_exp(np.array(list(log_q.values())))
    invalid = math.fsum(math.exp(q) for y, q in log_q.items() if y not in log_p and not contains(language, y))
    why = ("all outputs of the engine and of the target are enumerated",)
    if log_z == -math.inf or log_done == -math.inf:
        raise ValueError("nothing is valid" if log_z == -math.inf else "the engine finishes nothing")
    both = {y: (q - log_done, log_p.get(y, -math.inf) - log_z) for y, q in log_q.items()}
    missed = math.fsum(math.exp(x - log_z) for y, x in log_p.items() if y not in log_q)
    kl = math.fsum(math.exp(q) * (q - x) for q, x in both.values())
    tax = math.fsum(math.exp(q) * (q - x - log_z) for q, x in both.values())
    forward = math.inf if missed > 0.0 else math.fsum(math.exp(x) * (x - q) for q, x in both.values() if x > -math.inf)
    chi2 = math.inf if missed > 0.0 else math.fsum(math.exp(2 * x - q) for q, x in both.values()) - 1.0
    tv = 0.5 * (math.fsum(abs(math.exp(q) - math.exp(x)) for q, x in both.values()) + missed)

    def exact(value: float) -> Estimate:
        return Estimate.exact(value, *why)

    warnings = ["low distortion is not task quality: the model's own law given validity may be a poor answer"]
    if missed > 0.0:
        warnings.append(f"the engine never writes {missed:.3g} of the target's probability")
    if invalid > 0.0:
        warnings.append(f"{invalid:.3g} of what the engine writes is not in the target")
    if dead > 0.0:
        warnings.append(f"{dead:.3g} of the engine's draws get stuck")
    if cut > 0.0:
        warnings.append(f"{cut:.3g} of the engine's draws are cut; q is the law of the others")
    limit = "" if max_tokens is None else f" within {max_tokens} tokens, end included"
    report = Report(
        "executed",
        f"{p.description}; engine: {execution.description}",
        f"p given validity{limit}",
        exact(log_z),
        exact(max(kl, 0.0)),
        exact(max(forward, 0.0)),
        exact(tv),
        exact(max(chi2, 0.0)),
        exact(tax),
        exact(dead),
        exact(cut),
        counting.forward_passes,
        warnings=tuple(warnings),
        extra={
            "share of p* that the engine never writes": exact(missed),
            "share of q outside the target": exact(invalid),
        },
    )
    return ExecutedLaw(log_q, dead, cut, report)
