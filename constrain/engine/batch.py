"""All sequences of a batch in one call, as a serving engine steps them.

A mask that was computed before is copied; so long as all of them were, one call of a kernel serves the whole batch, on
several threads where it is large. Sequences may follow different grammars over the same vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from constrain.engine.matcher import Matcher
from constrain.engine.worker_threads import spread, thread_count
from constrain.kernels.batch import accept_tokens as _accept
from constrain.kernels.batch import copy_rows
from constrain.kernels.layout import OK
from constrain.kernels.mask import REFUSED

_ROWS_PER_THREAD = 64


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
    places = range(len(matchers)) if indices is None else list(indices)
    rows = _as_numpy(bitmask)
    if len(places) != len(matchers) or (len(places) and max(places) >= bitmask.shape[0]):
        raise ValueError(f"{len(matchers)} sequences do not fit {len(places)} rows of a bitmask of {bitmask.shape[0]}")
    words = max((m._words for m in matchers), default=0)
    if bitmask.shape[1] < words:
        raise ValueError(f"the bitmask has {bitmask.shape[1]} words, the vocabulary needs {words}")
    if rows is None:
        for matcher, place, limit in zip(matchers, places, max_tokens or [None] * len(matchers), strict=True):
            matcher.fill_next_token_bitmask(bitmask, place, max_tokens=limit)
        return
    with _locked(matchers):
        live, positions, addresses = [], [], []
        for i, m in enumerate(matchers):
            if m._terminated:
                rows[places[i]] = 0
                continue
            automaton = m._automaton
            live.append(i)
            positions.append(m._positions[-1] if automaton is m._compiled._automaton else m._position())
            addresses.append(m._automaton.address)
        at, contexts = np.array(positions, dtype=np.int64), np.array(addresses, dtype=np.int64)
        to = np.array(places if len(live) == len(places) else [places[i] for i in live], dtype=np.int64)
        codes = np.zeros(len(live), dtype=np.int8)
        parts = min(threads or thread_count(), len(live) // _ROWS_PER_THREAD)

        def copy(first: int, stop: int) -> None:
            copy_rows(contexts, at, to, rows, first, stop, codes)

        spread(copy, len(live), parts)
    for k in np.flatnonzero(codes != OK).tolist():
        matchers[live[k]].fill_next_token_bitmask(rows, int(to[k]))
    if max_tokens is not None:
        for matcher, place, limit in zip(matchers, places, max_tokens, strict=True):
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
    out = [False] * len(matchers)
    with _locked(matchers):
        ids = tokens.tolist()
        plain, positions, addresses, rest = [], [], [], []
        for i, m in enumerate(matchers):
            alone = m._terminated or m.steps_alone or not 0 <= ids[i] < m._size
            if alone or ids[i] in m._eos or ids[i] in m._stops:
                rest.append(i)
                continue
            automaton = m._automaton
            plain.append(i)
            positions.append(m._positions[-1] if automaton is m._compiled._automaton else m._position())
            addresses.append(m._automaton.address)
        results = np.empty(len(plain), dtype=np.int64)
        wanted = tokens if len(plain) == len(ids) else tokens[plain]
        _accept(np.array(addresses, dtype=np.int64), np.array(positions, dtype=np.int64), wanted, results)
        for i, to in zip(plain, results.tolist(), strict=True):
            m = matchers[i]
            if (to < 0 and to != REFUSED) or m._automaton.shapes.tracks:
                rest.append(i)
            elif to >= 0:
                m._positions.append(to)
                m._accepted.append(ids[i])
                out[i] = True
    for i in rest:
        out[i] = matchers[i].accept_token(ids[i])
    return out


def _as_numpy(bitmask: Any) -> np.ndarray[Any, np.dtype[np.int32]] | None:
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
