"""One measurement with everything that a picture of it needs.

`compare` gives figures; a reader also wants to see how the intervals closed as forward passes were spent, at which step
the mask takes mass away, on which words of a text, and which values come out more or less often than the model means.
All of it is read off the trie that the figures rest on, without further forward passes; only where no sequence of the
trie is finished, one greedy text is written to have something to show.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from constrain.distortion.bounds import Certified
from constrain.distortion.compare import Method, compare
from constrain.distortion.matcher_language import as_language
from constrain.distortion.model import Model, Prefix
from constrain.distortion.report import Report
from constrain.distortion.trie import Trie

GREEDY_TOKENS = 120
"""Most tokens of a text that is written only to be shown."""


@dataclass(frozen=True, slots=True)
class StepCost:
    """What happens at one step of generation, on average over masked draws.

    Attributes:
        reach: probability that a draw comes to this step (of a trie that is not exhausted, the part known).
        tax: E_q[-log Z_t], nats: mass that the mask takes away.
        distortion: the share of KL(q || p*) that arises here, nats; None where that is not known exactly.
    """

    reach: float
    tax: float
    distortion: float | None

    @property
    def kept(self) -> float:
        """Mass that the mask keeps, the geometric mean over draws that come here."""
        return math.exp(-self.tax / self.reach) if self.reach > 0 else 1.0


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a text that is shown.

    Attributes:
        text: what it spells.
        kept: Z_u, the model's mass on allowed tokens where it stands.
        distortion: d(u) = KL(q(. | u) || p*(. | u)), nats; None where it is not known.
    """

    text: str
    kept: float
    distortion: float | None


@dataclass(frozen=True, slots=True)
class Example:
    """A text with its tokens.

    Attributes:
        label: why it is shown.
        tokens: its tokens, the end included.
        q: its probability under the mask; None where it was cut.
        p: its probability in the model; None where it was cut.
        p_valid: that probability given validity; None where log Z has no point.
    """

    label: str
    tokens: tuple[Token, ...]
    q: float | None
    p: float | None
    p_valid: float | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """A comparison and what pictures need.

    Attributes:
        name: of the grammar's settings, or of an engine.
        report: the figures.
        history: (forward passes, intervals) as the trie grew.
        steps: by step of generation.
        examples: texts, the likeliest first.
        values: value, as JSON text, to (q, p) of the enumerated sequences that spell it; p is not given validity.
    """

    name: str
    report: Report
    history: tuple[tuple[int, Certified], ...] = ()
    steps: tuple[StepCost, ...] = ()
    examples: tuple[Example, ...] = ()
    values: dict[str, tuple[float, float]] = field(default_factory=dict)


def measure(
    name: str,
    model: Model,
    language: Any,
    method: Method = "auto",
    *,
    budget: int = 1000,
    max_tokens: int | None = None,
    batch_size: int = 32,
    watch: Callable[[int], None] | None = None,
    draw_tokens: int | None = None,
    on_draws: Callable[[float, int], None] | None = None,
    examples: int = 2,
    **options: Any,
) -> Measured:
    """`compare`, and what pictures need.

    Args:
        name: of the result.
        model, language, method, budget, max_tokens, batch_size, draw_tokens, on_draws: as for `compare`.
        watch: called with the forward passes of the trie so far.
        examples: texts likely under q and under p*, so many of each.
        options: further ones of `compare`.
    """
    valid = as_language(language)
    options |= {"draw_tokens": draw_tokens, "on_draws": on_draws}
    if method == "two_sided":
        report = compare(model, valid, method, max_tokens=max_tokens, batch_size=batch_size, **options)
        return Measured(name, report)
    trie = Trie(model, valid, max_tokens=max_tokens, batch_size=batch_size)
    history: list[tuple[int, Certified]] = []
    following = 1.0

    def grown(trie: Trie) -> None:
        nonlocal following
        if trie.forward_passes >= following:
            history.append((trie.forward_passes, trie.certified()))
            following = trie.forward_passes * 1.15
        if watch is not None:
            watch(trie.forward_passes)

    report = compare(model, valid, method, budget=budget, trie=trie, progress=grown, **options)
    if trie.max_tokens != max_tokens:
        history.clear()  # it was about sequences of any length
    if not history or history[-1][0] != trie.forward_passes:
        history.append((trie.forward_passes, trie.certified()))
    return Measured(
        name, report, tuple(history), steps_of(trie, report), _examples(trie, report, examples), values_of(trie)
    )


def steps_of(trie: Trie, report: Report) -> tuple[StepCost, ...]:
    """Costs by step: the trie's expanded prefixes, and below them what was drawn."""
    q = np.exp(np.array(trie.node_log_p, dtype=np.float64) - np.array(trie.node_log_w, dtype=np.float64))
    log_z = np.array(trie.log_z, dtype=np.float64)
    alive = np.isfinite(log_z)
    count = max([depth + 1 for depth in trie.depths] + [len(report.step_tax)])
    reach, tax = np.zeros(count), np.zeros(count)
    depths = np.array(trie.depths, dtype=np.int64)
    np.add.at(reach, depths[alive], q[alive])
    np.add.at(tax, depths[alive], -(q * log_z)[alive])
    reach[: len(report.step_reach)] += report.step_reach
    tax[: len(report.step_tax)] += report.step_tax
    distortion: list[float | None] = [None] * count
    if report.contributions:
        sums = np.zeros(count)
        for c in report.contributions:
            sums[len(c.prefix)] += c.distortion
        distortion = [float(x) for x in sums]
    return tuple(StepCost(float(r), float(t), d) for r, t, d in zip(reach, tax, distortion, strict=True) if r > 0)


def values_of(trie: Trie) -> dict[str, tuple[float, float]]:
    """JSON values that the trie's finished sequences spell, with their q and p; texts that are no JSON stay texts."""
    found: dict[str, list[float]] = {}
    ends = zip(trie.end_log_p, trie.end_log_w, strict=True)
    for i, (log_p, log_w) in enumerate(ends):
        pair = found.setdefault(value_text(trie.process.language.text(trie.sequence(i))), [0.0, 0.0])
        pair[0] += math.exp(log_p - log_w)
        pair[1] += math.exp(log_p)
    return {k: (q, p) for k, (q, p) in sorted(found.items(), key=lambda item: -item[1][0])}


def value_text(text: bytes) -> str:
    """One text per JSON value, members sorted; what is no JSON stays as it is."""
    shown = text.decode("utf-8", "backslashreplace")
    try:
        return json.dumps(json.loads(shown), ensure_ascii=False, sort_keys=True)
    except ValueError:
        return shown


def values_distance(a: Measured, b: Measured) -> tuple[float, float]:
    """Bounds on the total variation between two masked samplers' laws of values, from the values enumerated.

    Probability that was not enumerated may lie anywhere, so it widens both ends.
    """
    known = [{k: q for k, (q, _) in m.values.items()} for m in (a, b)]
    apart = 0.5 * sum(abs(known[0].get(k, 0.0) - known[1].get(k, 0.0)) for k in {*known[0], *known[1]})
    open_q = 0.5 * sum(max(0.0, 1.0 - sum(k.values())) for k in known)
    return max(0.0, apart - open_q), min(1.0, apart + open_q)


def _examples(trie: Trie, report: Report, count: int) -> tuple[Example, ...]:
    local = {c.prefix: c.distortion / c.visits for c in report.contributions if c.visits > 0}
    nodes = {trie.prefix(node): node for node in range(len(trie))} if trie.end_nodes else {}

    def token(prefix: Prefix, following: int, log_z: float) -> Token:
        text = trie.process.language.text((following,)).decode("utf-8", "backslashreplace")
        return Token(text or "<end>", math.exp(log_z), local.get(prefix) if report.contributions else None)

    log_p, log_w = trie.log_p, trie.log_w
    if not log_p.size:
        return _greedy(trie, token)
    chosen: dict[int, str] = {}
    for label, order in (("likely under the mask", log_w - log_p), ("likely in the model", -log_p)):
        for i in np.argsort(order, kind="stable")[:count].tolist():
            chosen[i] = f"{chosen[i]} and {label.removeprefix('likely ')}" if i in chosen else label
    found = []
    for i, label in chosen.items():
        y = trie.sequence(i)
        tokens = tuple(token(y[:n], y[n], trie.log_z[nodes[y[:n]]]) for n in range(len(y)))
        given = None if report.log_z.value is None else math.exp(log_p[i] - report.log_z.value)
        found.append(Example(label, tokens, math.exp(log_p[i] - log_w[i]), math.exp(log_p[i]), given))
    return tuple(found)


def _greedy(trie: Trie, token: Callable[[Prefix, int, float], Token]) -> tuple[Example, ...]:
    """The likeliest allowed token again and again."""
    prefix: Prefix = ()
    tokens: list[Token] = []
    log_p = log_w = 0.0
    while len(prefix) < min(GREEDY_TOKENS, trie.max_tokens or GREEDY_TOKENS):
        step = trie.process.steps([prefix])[0]
        if not step.ids.size:
            break
        best = int(np.argmax(step.log_probs))
        tokens.append(token(prefix, int(step.ids[best]), step.log_z))
        log_p, log_w = log_p + float(step.log_probs[best]), log_w + step.log_z
        prefix = (*prefix, int(step.ids[best]))
        if prefix[-1] in trie.process.eos:
            return (Example("greedy", tuple(tokens), math.exp(log_p - log_w), math.exp(log_p)),)
    return (Example("greedy, cut", tuple(tokens), None, None),)
