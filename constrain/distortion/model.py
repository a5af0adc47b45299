"""What the comparator asks of a language model: log-probabilities of the next token, and no more.

A model is any object with `width`, `description`, `log_probs` and `context`. `as_model` makes one of a plain function,
`CountingModel` adds up what a measurement costs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from constrain.distortion.numerics import Floats

Prefix = tuple[int, ...]
"""Token ids generated so far, the prompt not counted."""


@runtime_checkable
class Model(Protocol):
    """A distribution over token sequences, given by its next-token probabilities."""

    @property
    def width(self) -> int:
        """Number of token ids: the length of a row of log-probabilities."""
        ...

    @property
    def description(self) -> str:
        """Which distribution this is, in words: before or after which warpers."""
        ...

    def log_probs(self, prefixes: Sequence[Prefix]) -> Floats:
        """Natural logs of next-token probabilities, float64, shape (len(prefixes), width).

        They are normalised over the whole vocabulary, before any mask.
        """
        ...

    def context(self, prefix: Prefix) -> Hashable | None:
        """What of a prefix the future depends on, or None where that is all of it (no finite memory).

        Equal contexts must have equal next-token probabilities, and equal contexts after every same next token.
        """
        ...


class CallableModel:
    """A model from a function of one prefix.

    Args:
        function: prefix (tuple of ids) to log-probabilities, shape (width,).
        width: number of token ids.
        memory: the future depends on the last `memory` tokens only; None when it depends on all.
        description: which distribution this is.
    """

    def __init__(
        self,
        function: Callable[[Prefix], Any],
        width: int,
        *,
        memory: int | None = None,
        description: str = "a function's next-token probabilities",
    ) -> None:
        self._function, self._memory = function, memory
        self.width, self.description = width, description

    def log_probs(self, prefixes: Sequence[Prefix]) -> Floats:
        """One call of the function per prefix. Raises ValueError for a row of another width."""
        rows = [np.asarray(self._function(prefix), dtype=np.float64) for prefix in prefixes]
        for row in rows:
            if row.shape != (self.width,):
                raise ValueError(f"the function gave shape {row.shape}, not ({self.width},)")
        return np.stack(rows) if rows else np.empty((0, self.width))

    def context(self, prefix: Prefix) -> Hashable | None:
        """The last `memory` tokens."""
        if self._memory is None:
            return None
        return (
            prefix[len(prefix) - self._memory :]
            if self._memory and len(prefix) > self._memory
            else (prefix if self._memory else ())
        )


def as_model(model: Any, width: int | None = None) -> Model:
    """`model` itself, or a `CallableModel` around a function of a prefix.

    Raises TypeError when it is neither, or a function without a `width`.
    """
    if isinstance(model, Model):
        return model
    if callable(model) and width is not None:
        return CallableModel(model, width)
    raise TypeError(f"{type(model).__name__} is no model: log_probs, width, context and description are needed")


class CountingModel:
    """A model that counts the rows it computes.

    Attributes:
        forward_passes: prefixes evaluated so far, the unit of cost of all methods.
        batches: calls so far.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.width, self.description = model.width, model.description
        self.forward_passes = self.batches = 0

    def log_probs(self, prefixes: Sequence[Prefix]) -> Floats:
        """As the model's own."""
        self.forward_passes += len(prefixes)
        self.batches += 1
        return self._model.log_probs(prefixes)

    def context(self, prefix: Prefix) -> Hashable | None:
        """As the model's own."""
        return self._model.context(prefix)
