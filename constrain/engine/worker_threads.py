"""Threads of our own for kernels over many rows.

The kernels run without the GIL, so plain threads spread rows over cores. numba's own parallel loops are not used: their
thread layer aborts the process when two Python threads reach it. Handing a part to a thread costs some ten
microseconds, so callers ask for threads only where each gets far more work than that; the calling thread takes a part.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

_MOST = 16  # memory is saturated long before

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None


def thread_count() -> int:
    """Threads that work on one call: `CONSTRAIN_THREADS`, else the cores this process may use, at most 16."""
    if text := os.environ.get("CONSTRAIN_THREADS", "").strip():
        if not text.isdecimal() or int(text) == 0:
            raise ValueError(f"CONSTRAIN_THREADS must be a positive number, not {text!r}")
        return int(text)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _MOST)


def spread(work: Callable[[int, int], None], count: int, parts: int) -> None:
    """Call `work(first, stop)` for `parts` ranges that make up `range(count)`, at once; returns when all are done."""
    parts = max(1, min(parts, count))
    bounds = [count * k // parts for k in range(parts + 1)]
    waiting: list[Future[None]] = []
    for first, stop in itertools.pairwise(bounds[1:]):
        future = _submit(work, first, stop)
        if future is None:
            work(first, stop)
        else:
            waiting.append(future)
    try:
        work(0, bounds[1])
    finally:
        errors = [future.exception() for future in waiting]
    for error in errors:
        if error is not None:
            raise error


def in_background(work: Callable[[], None]) -> Future[None] | None:
    """Have a thread call `work` some time; None where there is no thread to do so.

    Its errors are told by what is returned only. In a forked child, what the parent had begun never ends.
    """
    return _submit(lambda _first, _stop: work(), 0, 0)


def _submit(work: Callable[[int, int], None], first: int, stop: int) -> Future[None] | None:
    global _pool
    try:
        with _lock:
            if _pool is None:
                _pool = ThreadPoolExecutor(max_workers=_MOST, thread_name_prefix="constrain")
            return _pool.submit(work, first, stop)
    except RuntimeError:  # the interpreter is shutting down, or no thread can be started
        return None


def _forget() -> None:
    """A forked child has none of the threads, and maybe a lock that one of them held."""
    global _pool, _lock
    _pool, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
