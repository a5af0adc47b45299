"""Memory for mask rows, handed on from one automaton to the next.

The system gives a page when it is first written to, which takes far longer than to fill the rows on it: for a huge page
of 2 MiB, which holds 128 rows of a vocabulary of 131,072 tokens, up to 4 ms. So memory that was in use is kept for the
next automaton of the same vocabulary; rows are cleared as they are begun. And new memory is asked for ahead, by a
thread of the pool and without the interpreter's lock: what is ahead is at most `_AHEAD`, so a process that needs few
rows has few.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
import threading
from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from constrain.engine.worker_threads import in_background

_KEPT = 2  # pieces kept for later
_AHEAD = 4 << 20  # bytes asked for ahead
_POPULATE_WRITE = 23  # MADV_POPULATE_WRITE, Linux 5.14: as if written to, with the content left alone


class RowPiece:
    """Memory for the rows of one automaton: words (int32) with any content, of which more and more is ready."""

    def __init__(self, words: int, row_words: int) -> None:
        self.data: NDArray[np.int32] = np.zeros(words, dtype=np.int32)
        self._row_words = row_words
        self._asked = 0  # words asked for ahead
        self.limit = 0  # words that may be used
        self.extend()

    def extend(self) -> bool:
        """Let more rows be used, and ask for the memory of those after them; False where there are no more."""
        if self.limit == self.data.size:
            return False
        rows = max(1, (_AHEAD >> 3) // self._row_words)
        self.limit = min(self.data.size, self.limit + rows * self._row_words)
        ahead = min(self.data.size, self.limit + (_AHEAD >> 3))
        if ahead > self._asked:
            populate(self.data[self._asked : ahead])
            self._asked = ahead
        return True


class RowMemory:
    """Pieces of memory for rows. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free: list[RowPiece] = []
        self._back: deque[RowPiece] = deque()  # pieces given back since the last was taken

    def take(self, words: int, row_words: int) -> RowPiece:
        """A piece of `words` words for rows of `row_words` each."""
        with self._lock:
            while self._back:
                self._free.append(self._back.popleft())
            del self._free[:-_KEPT]
            found = None
            for i in reversed(range(len(self._free))):
                if self._free[i].data.size == words:
                    found = self._free.pop(i)
                    break
            if found is None:
                found = RowPiece(words, row_words)
                if len(self._free) < _KEPT:  # the next grammar is likely to come while this one is in use
                    self._free.append(RowPiece(words, row_words))
            return found

    def give_back(self, piece: RowPiece) -> None:
        """Take back a piece that nothing refers to any more.

        Takes no lock: the garbage collector calls it, at any time, also in the midst of `take`.
        """
        if len(self._back) < _KEPT:
            self._back.append(piece)


def _advice() -> Callable[..., int] | None:
    if not sys.platform.startswith("linux"):
        return None
    try:
        found = ctypes.CDLL(None).madvise
    except (OSError, AttributeError):
        return None
    found.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    found.restype = ctypes.c_int
    return found  # type: ignore[no-any-return]


_madvise = _advice()


def populate(data: NDArray[np.int32]) -> None:
    """Have a thread ask the system for the pages of an array, where it knows how to; the content stays."""
    if _madvise is None or not data.size:
        return
    page = mmap.PAGESIZE
    first = -(-data.ctypes.data // page) * page
    size = data.ctypes.data + data.nbytes - first
    if size > 0:
        in_background(_Populate(data, first, size))


class _Populate:
    """The request, which keeps the array alive until it is done."""

    def __init__(self, data: NDArray[np.int32], first: int, size: int) -> None:
        self._data, self._first, self._size = data, first, size

    def __call__(self) -> None:
        assert _madvise is not None
        _madvise(self._first, self._size, _POPULATE_WRITE)  # refused by older systems: pages come as they are used
