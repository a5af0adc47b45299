"""Memory for mask rows, handed on from one automaton to the next.

The system gives a page when it is first written to, which takes longer than to fill the rows on it. So memory that was
in use is kept for the next automaton of the same vocabulary; rows are cleared as they are begun.
"""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

_KEPT = 2  # pieces kept for later


class RowMemory:
    """Pieces of memory for rows. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free: list[NDArray[np.int32]] = []

    def take(self, size: int) -> NDArray[np.int32]:
        """A piece of `size` words (int32) with any content. New memory is taken by the system as it is written to."""
        with self._lock:
            for i in reversed(range(len(self._free))):
                if self._free[i].size == size:
                    return self._free.pop(i)
        return np.zeros(size, dtype=np.int32)

    def give_back(self, piece: NDArray[np.int32]) -> None:
        """Take back a piece that nothing refers to any more."""
        with self._lock:
            self._free.append(piece)
            del self._free[:-_KEPT]
