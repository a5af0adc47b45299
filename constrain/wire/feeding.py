"""Texts that are fed to an automaton together, each as if it came alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray


class Texts:
    """Some texts, and the same in one array: text i is `joined[offsets[i]:offsets[i + 1]]`."""

    def __init__(self, data: Sequence[bytes]) -> None:
        self.data = tuple(data)
        self.joined = np.frombuffer(b"".join(self.data) or b"\0", dtype=np.uint8)
        self.offsets = np.cumsum([0, *map(len, self.data)], dtype=np.int64)


BYTES = Texts([bytes((byte,)) for byte in range(256)])


def groups(positions: NDArray[np.int64], of: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """The positions that these of the indices lead to, none below 0, each with the indices that lead there."""
    to = positions[of]
    while of.size:
        position = int(to[0])
        same = to == position
        if position >= 0:
            yield position, of[same]
        to, of = to[~same], of[~same]
