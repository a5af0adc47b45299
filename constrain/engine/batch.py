"""All sequences of a batch in one call, as a serving engine steps them.

A mask that was computed before is copied; so long as all of them were, one call of a kernel serves the whole batch, on
several threads where it is large. Sequences may follow different grammars over the same vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.engine.matcher import Matcher
from constrain.engine.worker_threads import spread, thread_count
from constrain.kernels.batch import copy_rows, follow_all, write_rows
from constrain.kernels.layout import OK

_BYTES_PER_THREAD = 8 << 20  # of masks; fewer are written in the time that threads and locks take


def fill_next_token_bitmasks(
    matchers: Sequence[Matcher],
    bitmask: Any,
    indices: Iterable[int] | None = None,
    *,
    threads: int | None = None,
    max_tokens: Sequence[int | None] | None = None,
) -> None:
    """Write which tokens may come next in each of several sequences into rows of `bitmask`.

    `bitmask` is as for `Matcher.fill_next_token_bitmask`, with shape (rows, words). The mask of sequence i goes into
    row `indices[i]`, by default row i. Large batches use at most `threads` threads, by default
    `CONSTRAIN_THREADS` or one for each core. `max_tokens` has the tokens left of each sequence, None where there is no
    limit. Raises ValueError when there are too few rows or words.
    """
    if max_tokens is not None and len(max_tokens) != len(matchers):
        raise ValueError(f"{len(matchers)} sequences need as many limits, not {len(max_tokens)}")
    count = len(matchers)
    to = np.arange(count) if indices is None else np.fromiter(indices, dtype=np.int64)
    rows = as_numpy(bitmask)
    if to.size != count or (count and not 0 <= to.min() <= to.max() < bitmask.shape[0]):
        raise ValueError(f"{count} sequences do not fit {to.size} rows of a bitmask of {bitmask.shape[0]}")
    words = matchers[0]._words if count else 0  # what other vocabularies need is looked at row by row
    if bitmask.shape[1] < words:
        raise ValueError(f"the bitmask has {bitmask.shape[1]} words, the vocabulary needs {words}")
    if rows is None:
        for matcher, place, limit in zip(matchers, to.tolist(), max_tokens or [None] * count, strict=True):
            matcher.fill_next_token_bitmask(bitmask, place, max_tokens=limit)
        return
    codes = np.empty(count, dtype=np.int8)
    parts = parts_of(rows, threads)
    if parts <= 1 and rows.flags.c_contiguous:
        write_rows(_addresses(matchers), _positions(matchers), to, rows, codes)
    else:
        with _locked(matchers):
            for m in matchers:
                m._position()  # which may be one of a new automaton
                if m._words > words:
                    raise ValueError(f"the bitmask has {bitmask.shape[1]} words, the vocabulary needs {m._words}")
            addresses, positions = _addresses(matchers), _positions(matchers)

            def copy(first: int, stop: int) -> None:
                copy_rows(addresses, positions, to, rows, first, stop, codes)

            spread(copy, count, parts)
    for i in np.flatnonzero(codes != OK).tolist():
        matchers[i].fill_next_token_bitmask(rows, int(to[i]))
    if max_tokens is not None:
        for matcher, place, limit in zip(matchers, to.tolist(), max_tokens, strict=True):
            if limit is not None and not matcher._terminated:
                with matcher._lock:
                    matcher._restrict(rows[place], limit)


def accept_tokens(matchers: Sequence[Matcher], token_ids: Iterable[int]) -> list[bool]:
    """Advance each sequence by its token; which of them took it. A sequence that refuses its token stays as it is.

    `token_ids` are integers or a one-dimensional array, one for each sequence.
    """
    tokens = np.asarray(token_ids if isinstance(token_ids, np.ndarray) else list(token_ids), dtype=np.int64)
    if tokens.shape != (len(matchers),):
        raise ValueError(f"{len(matchers)} sequences need as many tokens, not {tokens.shape}")
    ids = tokens.tolist()
    results = np.empty(len(matchers), dtype=np.int64)
    addresses = np.array([0 if m.steps_alone or m._stops else m._address for m in matchers], dtype=np.int64)
    follow_all(addresses, _positions(matchers), tokens, results)
    out = [True] * len(matchers)
    left = np.flatnonzero(results < 0).tolist()
    for m, to, token in zip(matchers, results.tolist(), ids, strict=True):
        m._positions.append(to)
        m._accepted.append(token)
    for i in left:
        del matchers[i]._positions[-1], matchers[i]._accepted[-1]
    for i in left:  # refused, or the end, or what takes help, which may raise
        out[i] = matchers[i].accept_token(ids[i])
    return out


def parts_of(rows: NDArray[np.int32], threads: int | None) -> int:
    """How many threads are worth it to write these masks, of those that may be used."""
    return min(threads or thread_count(), rows.nbytes // _BYTES_PER_THREAD)


def _addresses(matchers: Sequence[Matcher]) -> NDArray[np.int64]:
    return np.array([m._address for m in matchers], dtype=np.int64)


def _positions(matchers: Sequence[Matcher]) -> NDArray[np.int64]:
    return np.array([m._positions[-1] for m in matchers], dtype=np.int64)


def as_numpy(bitmask: Any) -> np.ndarray[Any, np.dtype[np.int32]] | None:
    """The memory of a bitmask as int32, or None where it is on a device or not written row by row."""
    if type(bitmask) is not np.ndarray:
        if str(bitmask.dtype) not in ("torch.int32", "torch.uint32"):
            raise TypeError(f"the bitmask must be int32 or uint32, numpy or torch, not {bitmask.dtype}")
        if bitmask.device.type != "cpu":
            return None
        bitmask = bitmask.numpy()
    if bitmask.dtype not in (np.int32, np.uint32):
        raise TypeError(f"the bitmask must be int32 or uint32, not {bitmask.dtype}")
    if not bitmask.flags.writeable:  # its memory is written to without numpy
        raise ValueError("the bitmask is read-only")
    return bitmask.view(np.int32) if bitmask.strides[1] == bitmask.itemsize else None


@contextmanager
def _locked(matchers: Sequence[Matcher]) -> Iterator[None]:
    """Hold the locks of all grammars, always in the same order."""
    held = []
    try:
        for lock in sorted({m._lock for m in matchers}, key=id):
            lock.__enter__()
            held.append(lock)
        yield
    finally:
        for lock in reversed(held):
            lock.__exit__(None, None, None)
