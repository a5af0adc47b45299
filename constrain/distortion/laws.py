"""Exact laws of finished sequences as tables, and whole tries as models.

To draw from a real network's law thousands of times without asking the network thousands of times, `frozen` turns an
exhausted trie into a table. What counts of draws say about such a law is in `constrain.distortion.counts`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from constrain.distortion.dfa_language import DFALanguage, finite_language
from constrain.distortion.matcher_language import as_language
from constrain.distortion.model import CallableModel, Prefix, as_model
from constrain.distortion.numerics import Floats
from constrain.distortion.trie import Trie


def exact_law(
    model: Any, language: Any, *, max_tokens: int | None = None, budget: int = 100_000
) -> dict[Prefix, float]:
    """p*, the model given validity, as a table.

    Args:
        model, language: as for `compare`.
        max_tokens: the target is p given validity within so many tokens, the end included.
        budget: prefixes looked at.

    Raises ValueError when there are more, or nothing is valid.
    """
    trie = Trie(as_model(model), as_language(language), max_tokens=max_tokens).run(budget)
    if not trie.is_exhausted:
        raise ValueError(f"the language has more than the {budget:,} prefixes of the budget: no table of its law")
    if not np.exp(trie.log_p).sum() > 0.0:
        raise ValueError("no sequence is valid")
    return _law([trie.sequence(i) for i in range(len(trie.end_nodes))], trie.log_p)


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
