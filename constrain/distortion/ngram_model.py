"""An n-gram model fitted on token ids: small enough for exact answers, real enough to have habits.

Counts of each order are smoothed towards the order below with a Dirichlet prior, down to uniform (MacKay & Peto 1995,
"A hierarchical Dirichlet language model"), so every token keeps some probability everywhere and no interval is exact
for the wrong reason.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

import numpy as np

from constrain.distortion.model import Prefix
from constrain.distortion.numerics import Floats


class NGramModel:
    """Next-token probabilities that depend on the last `order - 1` tokens.

    Args:
        sequences: token ids of each text, or texts, when `encode` turns one into ids.
        width: number of token ids.
        order: 1 for no memory, 2 for a bigram model, ...
        eos_token_id: appended to each sequence, so that the model knows how texts end.
        strength: weight of the prior, in observations, towards the next lower order. Above 0.
        encode: text to ids.
        prompt: ids that stand before every prefix.

    Raises ValueError for ids out of range or a bad order or strength.
    """

    def __init__(
        self,
        sequences: Iterable[Sequence[int]] | Iterable[str],
        width: int,
        *,
        order: int = 2,
        eos_token_id: int,
        strength: float = 1.0,
        encode: Callable[[str], Sequence[int]] | None = None,
        prompt: Sequence[int] = (),
    ) -> None:
        if order < 1 or strength <= 0 or not 0 <= eos_token_id < width:
            raise ValueError("order is 1 or more, strength above 0, eos_token_id within the width")
        self.width, self.order, self.strength = width, order, strength
        self.description = f"{order}-gram model, Dirichlet prior of strength {strength:g}, before any warper"
        self._prompt = tuple(prompt)
        self._counts: list[dict[Prefix, dict[int, int]]] = [{} for _ in range(order)]
        self._cache: dict[Prefix, Floats] = {}
        for sequence in sequences:
            if isinstance(sequence, str):
                if encode is None:
                    raise ValueError("texts need an encode function")
                sequence = encode(sequence)
            self._count((*(int(t) for t in sequence), eos_token_id))

    def _count(self, ids: Prefix) -> None:
        if ids and not (min(ids) >= 0 and max(ids) < self.width):
            raise ValueError(f"a token id is outside 0..{self.width - 1}")
        for i, token in enumerate(ids):
            for n in range(min(self.order, i + 1)):
                row = self._counts[n].setdefault(ids[i - n : i], {})
                row[token] = row.get(token, 0) + 1

    def _row(self, context: Prefix) -> Floats:
        known = self._cache.get(context)
        if known is not None:
            return known
        below = self._row(context[1:]) if context else np.full(self.width, 1.0 / self.width)
        counts = self._counts[len(context)].get(context, {})
        row = below * self.strength
        for token, count in counts.items():
            row[token] += count
        row /= row.sum()
        self._cache[context] = row
        return row

    def context(self, prefix: Prefix) -> Hashable | None:
        """The last `order - 1` tokens, the prompt's included."""
        tokens = self._prompt + prefix
        return tokens[len(tokens) - min(self.order - 1, len(tokens)) :]

    def log_probs(self, prefixes: Sequence[Prefix]) -> Floats:
        """float64, shape (len(prefixes), width)."""
        rows = []
        for prefix in prefixes:
            context = self.context(prefix)
            assert isinstance(context, tuple)
            rows.append(np.log(self._row(context)))
        return np.stack(rows)
