"""The law of what a sampler puts out, against an exact one, with the floor that chance alone sets.

Counts of n draws are never exactly the law they come from: even an exact sampler shows a total variation of about
sqrt(outcomes / n). So every distance from counts stands beside the distances of simulated exact samples of the same
size; only beyond those it means something. To draw from a real network's law thousands of times without asking the
network thousands of times, `frozen` turns an exhausted trie into a table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from constrain.distortion.dfa_language import DFALanguage, finite_language
from constrain.distortion.model import CallableModel, Prefix
from constrain.distortion.numerics import Floats
from constrain.distortion.trie import Trie


@dataclass(frozen=True, slots=True)
class Law:
    """How far counts are from an exact law.

    Attributes:
        draws: how many there were.
        tv: total variation between the frequencies and the exact law.
        floor: what exact samples of that size show, on average.
        floor_high: what they exceed in 5% of cases only.
        outside: share of draws that the exact law gives no probability.
    """

    draws: int
    tv: float
    floor: float
    floor_high: float
    outside: float

    @property
    def differs(self) -> bool:
        """Whether chance does not explain the distance (at the 5% level)."""
        return self.tv > self.floor_high


def law_of(
    draws: Iterable[Prefix], exact: Mapping[Prefix, float], rng: np.random.Generator, *, replicates: int = 1000
) -> Law:
    """Counts against a law.

    Args:
        draws: outcomes, independent of each other.
        exact: outcome to probability; sums to 1.
        rng: of the simulated exact samples.
        replicates: how many of those.
    """
    counts = Counter(draws)
    n = sum(counts.values())
    outcomes = list(exact)
    p = np.array([exact[y] for y in outcomes])
    seen = np.array([counts[y] for y in outcomes]) / n
    outside = 1.0 - float(seen.sum())
    simulated = rng.multinomial(n, p / p.sum(), size=replicates) / n
    distances = 0.5 * np.abs(simulated - p).sum(axis=1)
    return Law(
        n,
        0.5 * (float(np.abs(seen - p).sum()) + outside),
        float(distances.mean()),
        float(np.quantile(distances, 0.95)),
        outside,
    )


def frozen(trie: Trie) -> tuple[CallableModel, DFALanguage, dict[Prefix, float], dict[Prefix, float]]:
    """An exhausted trie as a model and a language over few token ids, and its two laws.

    Tokens are numbered anew; the last number stands for all that is not allowed. Samplers behave on the table exactly
    as on the network: each row holds the network's own probabilities.

    Returns:
        model, language, the exact law p* and the masked law q of finished sequences.

    Raises ValueError when the trie is not exhausted.
    """
    if not trie.is_exhausted:
        raise ValueError("only an exhausted trie can be frozen")
    sequences = [trie.sequence(i) for i in range(len(trie.end_nodes))]
    ids = {token: i for i, token in enumerate(sorted({t for y in sequences for t in y}))}
    width = len(ids) + 1
    rows: dict[Prefix, Floats] = {}
    for node in range(len(trie)):
        prefix = trie.prefix(node)
        step = trie.process.steps([prefix])[0]
        row = np.full(width, -np.inf)
        for token, log_p in zip(step.ids.tolist(), step.log_probs.tolist(), strict=True):
            if token in ids:
                row[ids[token]] = log_p
        rest = 1.0 - float(np.exp(row).sum())
        row[-1] = np.log(rest) if rest > 0 else -np.inf
        rows[tuple(ids[t] for t in prefix)] = row
    renamed = [tuple(ids[t] for t in y) for y in sequences]
    eos = sorted({y[-1] for y in renamed})
    tokens = [b""] * width
    for token, i in ids.items():
        tokens[i] = trie.process.language.text((token,))
    language = finite_language([y[:-1] for y in renamed], eos, tokens=tokens)
    model = CallableModel(rows.__getitem__, width, description=f"a table of {trie.process.model.description}")
    log_q = trie.log_p - trie.log_w
    return model, language, _law(renamed, trie.log_p), _law(renamed, log_q)


def _law(sequences: list[Prefix], logs: Floats) -> dict[Prefix, float]:
    p = np.exp(logs - np.logaddexp.reduce(logs))
    return dict(zip(sequences, p.tolist(), strict=True))
