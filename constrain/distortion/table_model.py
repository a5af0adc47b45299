"""A model written out as a table: the ground truth of tests and worked examples."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from constrain.distortion.model import Prefix
from constrain.distortion.numerics import Floats

Row = Mapping[str, float]


class TableModel:
    """Explicit next-token probabilities by prefix.

    Probability that a row leaves out belongs to one more token, `other_token_id`, which stands for everything else.

    Args:
        table: prefix, as a tuple of token names or (one character a token) a string, to {token name: probability}.
        tokens: names of the token ids 0, 1, ...
        default: the row of prefixes that the table does not have. Without one they are an error.

    Raises ValueError for an unknown token, a negative probability, or a row that sums to more than one.

    Example:
        >>> model = TableModel({"": {"a": 0.9, "b": 0.1}, "a": {"$": 0.01}, "b": {"$": 1.0}}, ["a", "b", "$"])
        >>> float(np.exp(model.log_probs([(0,)]))[0, 2].round(6))
        0.01
    """

    def __init__(
        self, table: Mapping[str | tuple[str, ...], Row], tokens: Sequence[str], *, default: Row | None = None
    ) -> None:
        self.tokens = tuple(tokens)
        self.width = len(self.tokens) + 1
        self.other_token_id = len(self.tokens)
        self.description = "probabilities from a table"
        self._ids = {token: i for i, token in enumerate(self.tokens)}
        if len(self._ids) != len(self.tokens):
            raise ValueError("two tokens have the same name")
        self._rows = {tuple(self._id(t) for t in prefix): self._row(row) for prefix, row in table.items()}
        self._inner = {prefix[:n] for prefix in self._rows for n in range(len(prefix) + 1)}
        self._default = None if default is None else self._row(default)

    def _id(self, token: str) -> int:
        if token not in self._ids:
            raise ValueError(f"{token!r} is not among the tokens")
        return self._ids[token]

    def _row(self, row: Row) -> Floats:
        probabilities = np.zeros(self.width)
        for token, probability in row.items():
            if probability < 0:
                raise ValueError(f"the probability of {token!r} is {probability}")
            probabilities[self._id(token)] = probability
        rest = 1.0 - probabilities.sum()
        if rest < -1e-9:
            raise ValueError(f"a row sums to {1.0 - rest}")
        probabilities[-1] = rest if rest > 1e-12 else 0.0
        with np.errstate(divide="ignore"):
            return np.log(probabilities)

    def log_probs(self, prefixes: Sequence[Prefix]) -> Floats:
        """Rows of the table. Raises ValueError for a prefix that has none."""
        return np.stack([self._lookup(prefix) for prefix in prefixes])

    def _lookup(self, prefix: Prefix) -> Floats:
        row = self._rows.get(prefix, self._default)
        if row is None:
            raise ValueError(f"the table has no row for {[self.tokens[t] for t in prefix]}")
        return row

    def context(self, prefix: Prefix) -> Hashable | None:
        """The prefix while the table tells it apart, one common context after that."""
        return prefix if prefix in self._inner else "default"
