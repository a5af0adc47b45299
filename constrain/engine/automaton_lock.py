"""The lock of an automaton, which the usual step of a sequence does without.

Kernels let go of the interpreter's lock, so another thread may run while one of them changes the automaton's tables;
that is what this lock is for. But to accept a token along ready transitions, or to copy a ready mask, takes less time
than to take a lock. The kernels for those two (`kernels/sequence.py`) keep the interpreter's lock instead, which no
other thread can then have, and look at one number, `LOCKED`: so long as it is not 0, someone is at work on the tables,
and they leave the job to a caller who waits for the lock.
"""

from __future__ import annotations

import sys
import threading

from constrain.kernels import memory as m

_HAS_GIL: bool = getattr(sys, "_is_gil_enabled", lambda: True)()


class AutomatonLock:
    """A reentrant lock that tells the kernels of an automaton when it is held. Use as a context manager."""

    __slots__ = ("_depth", "_flags", "_lock")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0
        self._flags: memoryview | None = None

    def guard(self, context: m.Context) -> None:
        """From now on guard this automaton instead of the one before, which single steps no longer follow."""
        with self._lock:
            if self._flags is not None:
                self._flags[m.LOCKED] = 1
            self._flags = memoryview(context.array)  # type: ignore[arg-type]
            self._flags[m.LOCKED] = int(self._depth > 0 or not _HAS_GIL)

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth += 1
        if self._depth == 1 and self._flags is not None:
            self._flags[m.LOCKED] = 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0 and self._flags is not None and _HAS_GIL:
            self._flags[m.LOCKED] = 0
        self._lock.release()
