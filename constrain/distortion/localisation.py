"""Where the distortion arises: KL(q || p*) as a sum over prefixes, by the chain rule.

    KL(q || p*) = sum over u of q(u) d(u),   d(u) = KL( q(. | u) || p*(. | u) ) >= 0.

d(u) is 0 where the constraint asks the same of every continuation, however much mass the mask removes there: the
removed mass is the tax, q(u) (-log Z_u), and the two are listed side by side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from constrain.distortion.model import Prefix
from constrain.distortion.places import JSONPlace
from constrain.distortion.trie import Trie


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one prefix (or one state of a model and automaton) adds.

    Attributes:
        prefix: the tokens before the step; of a state, those of a shortest way there.
        text: what they spell.
        visits: expected number of visits by a finished draw; for a prefix, its probability.
        distortion: visits times d, nats. All of them add up to KL(q || p*).
        tax: visits times -log Z_u, nats.
    """

    prefix: Prefix
    text: bytes
    visits: float
    distortion: float
    tax: float


def of_trie(trie: Trie) -> list[Contribution]:
    """Contributions of every prefix of an exhausted trie, the largest distortion first.

    Raises ValueError when the trie is not exhausted or nothing finishes.
    """
    if not trie.is_exhausted or not trie.end_nodes:
        raise ValueError("distortion is localised exactly only in an exhausted trie with at least one sequence")
    count = len(trie)
    log_q = trie.log_p - trie.log_w
    # Sums of p and q below each node, as logs: an endless run of digits has a p that no float holds.
    node_p, node_q = np.full(count, -np.inf), np.full(count, -np.inf)
    np.logaddexp.at(node_p, trie.end_nodes, trie.log_p)
    np.logaddexp.at(node_q, trie.end_nodes, log_q)
    for node in range(count - 1, 0, -1):
        parent = trie.parents[node]
        node_p[parent] = np.logaddexp(node_p[parent], node_p[node])
        node_q[parent] = np.logaddexp(node_q[parent], node_q[node])
    q = np.exp(node_q)
    total = q[0]

    def surprise(log_q: Any, log_p: Any) -> Any:
        with np.errstate(invalid="ignore"):
            return np.where(log_q > -np.inf, np.exp(log_q) * (log_q - log_p), 0.0)

    own = surprise(node_q, node_p)
    below = np.zeros(count)
    np.add.at(below, trie.end_nodes, surprise(log_q, trie.log_p))
    np.add.at(below, trie.parents[1:], own[1:])
    distortion = np.maximum((below - own) / total, 0.0)
    visits = q / total
    out = [
        Contribution(
            prefix := trie.prefix(node),
            trie.process.language.text(prefix),
            float(visits[node]),
            float(distortion[node]),
            float(-visits[node] * trie.log_z[node]) if visits[node] > 0 else 0.0,
        )
        for node in range(count)
    ]
    return sorted(out, key=lambda c: -c.distortion)


def grouped(
    contributions: Iterable[Contribution], key: Callable[[Contribution], Any]
) -> dict[Any, tuple[float, float]]:
    """Sums of (distortion, tax) by `key`, say the step `lambda c: len(c.prefix)`; the largest distortion first."""
    sums: dict[Any, tuple[list[float], list[float]]] = {}
    for c in contributions:
        pair = sums.setdefault(key(c), ([], []))
        pair[0].append(c.distortion)
        pair[1].append(c.tax)
    both = {k: (math.fsum(d), math.fsum(t)) for k, (d, t) in sums.items()}
    return dict(sorted(both.items(), key=lambda item: -item[1][0]))


def json_location(contribution: Contribution) -> str:
    """Where in a JSON text the prefix stands: a JSON pointer, with `*` for array items and `~key` inside a key.

    Texts that are not JSON give whatever the brackets and strings in them look like.
    """
    place = JSONPlace()
    place.read(contribution.text)
    return str(place)
