"""Finding one of several texts in a stream of bytes: the automaton of Aho and Corasick (1975)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

FOUND = -1


def search_table(texts: Iterable[bytes]) -> NDArray[np.int32]:
    """The transitions, states x 256; state 0 is the start. FOUND stands where a byte completes one of the texts.

    Raises ValueError for an empty text, which is found everywhere.
    """
    children: list[dict[int, int]] = [{}]
    ends = [False]
    for text in set(texts):
        if not text:
            raise ValueError("an empty text cannot be looked for")
        at = 0
        for byte in text:
            if byte not in children[at]:
                children[at][byte] = len(children)
                children.append({})
                ends.append(False)
            at = children[at][byte]
        ends[at] = True
    table = np.zeros((len(children), 256), dtype=np.int32)
    suffix = [0] * len(children)
    queue = deque([0])
    while queue:
        at = queue.popleft()
        if at:
            table[at] = table[suffix[at]]
        for byte, child in children[at].items():
            suffix[child] = int(table[suffix[at]][byte]) if at else 0
            ends[child] = ends[child] or ends[suffix[child]]
            table[at][byte] = child
            queue.append(child)
    # A row is made from that of its suffix, which is shorter and so complete; ends are marked last.
    final = table.copy()
    final[np.array(ends)[table]] = FOUND
    return final
