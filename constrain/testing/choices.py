"""Where random decisions come from: a seeded generator, or Hypothesis.

The generators of schemas, values and texts are written once, against `Choices`. A seeded `random.Random` makes them
fast enough for sweeps of 100,000 pairs; drawing from Hypothesis makes the same generators shrink. Every choice is
written so that the smaller one, the earlier one and "no" are the simpler ones.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Choices(ABC):
    """A source of decisions."""

    @abstractmethod
    def integer(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included."""

    @abstractmethod
    def chance(self, probability: float) -> bool:
        """True with about this probability."""

    def pick(self, options: Sequence[T]) -> T:
        """One of `options`."""
        return options[self.integer(0, len(options) - 1)]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """All items in a random order."""
        left, out = list(items), []
        while left:
            out.append(left.pop(self.integer(0, len(left) - 1)))
        return out

    def some(self, items: Sequence[T], probability: float = 0.5) -> list[T]:
        """A random part of the items, in order."""
        return [item for item in items if self.chance(probability)]


class SeededChoices(Choices):
    """Decisions of a `random.Random`."""

    def __init__(self, seed: int | random.Random | None = None) -> None:
        self.random = seed if isinstance(seed, random.Random) else random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        if high - low < 1 << 40:
            return low + int(self.random.random() * (high - low + 1))
        return self.random.randint(low, high)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability


class DrawnChoices(Choices):
    """Decisions drawn from Hypothesis, by the `draw` of a composite strategy."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        if low == high:
            return low
        value: int = self._draw(st.integers(low, high))
        return value

    def chance(self, probability: float) -> bool:
        if probability <= 0 or probability >= 1:
            return probability >= 1
        return self.integer(0, 99) >= 100 - round(100 * probability)
