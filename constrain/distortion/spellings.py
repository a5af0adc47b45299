"""How much of the distortion is about tokens only: token level, string level, canonical encodings only.

One text has many tokenisations. Masked sampling may pick odd ones, which distorts the law of token sequences without
touching the law of texts:

    KL of tokens = KL of texts + E_q[ KL( q(tokens | text) || p*(tokens | text) ) ].

Three targets, three numbers; none stands for another. Needs all sequences, so an exhausted trie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from constrain.distortion.divergences import Sums, kl_of_masses
from constrain.distortion.model import Prefix
from constrain.distortion.trie import Trie


@dataclass(frozen=True, slots=True)
class Spellings:
    """The split, nats.

    Attributes:
        kl_tokens: KL(q || p*) of token sequences.
        kl_texts: the same of texts.
        kl_within: the difference, E_q of the divergence between tokenisations of one text.
        texts: number of distinct texts.
        canonical_q, canonical_p: share of q and of p* on canonical encodings; None without a tokenizer.
        kl_canonical: KL(q || p*), both given that the encoding is canonical; None without a tokenizer or where no
            canonical sequence exists.
    """

    kl_tokens: float
    kl_texts: float
    kl_within: float
    texts: int
    canonical_q: float | None = None
    canonical_p: float | None = None
    kl_canonical: float | None = None


def split_spellings(trie: Trie, canonical: Callable[[bytes], Sequence[int]] | None = None) -> Spellings:
    """The split, from an exhausted trie.

    Args:
        trie: exhausted; ValueError otherwise.
        canonical: text to the token ids that the tokenizer gives it, no end included.
    """
    if not trie.is_exhausted:
        raise ValueError("texts are compared exactly only once the trie is exhausted")
    sequences: list[Prefix] = [trie.sequence(i) for i in range(len(trie.end_nodes))]
    texts = [trie.process.language.text(s) for s in sequences]
    numbers = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    index = np.array([numbers[t] for t in texts])
    p, q = np.exp(trie.log_p), np.exp(trie.log_p - trie.log_w)
    text_p, text_q = np.zeros(len(numbers)), np.zeros(len(numbers))
    np.add.at(text_p, index, p)
    np.add.at(text_q, index, q)
    tokens = Sums.of(trie.log_p, trie.log_w).kl_masked_to_exact
    strings = kl_of_masses(text_q, text_p)
    within = sum(
        text_q[i] / q.sum() * kl_of_masses(q[index == i], p[index == i]) for i in np.flatnonzero(np.bincount(index) > 1)
    )
    if canonical is None:
        return Spellings(tokens, strings, float(within), len(numbers))
    known = {text: tuple(canonical(text)) for text in numbers}
    good = np.array([s[:-1] == known[t] for s, t in zip(sequences, texts, strict=True)])
    share_q, share_p = float(q[good].sum() / q.sum()), float(p[good].sum() / p.sum())
    inside = kl_of_masses(q[good], p[good]) if good.any() else None
    return Spellings(tokens, strings, float(within), len(numbers), share_q, share_p, inside)
