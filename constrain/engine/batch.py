"""All sequences of a batch in one call, as a serving engine steps them.

A mask that was computed before is copied; so long as all of them were, one call of a kernel serves the whole batch, on
several threads where it is large. Sequences may follow different grammars over the same vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from constrain.engine.matcher import Matcher
from constrain.engine.worker_threads import spread, thread_count
from constrain.kernels.batch import accept_tokens as _accept
from constrain.kernels.batch import copy_rows
from constrain.kernels.mask import REFUSED
from constrain.kernels.step import OK

_ROWS_PER_THREAD = 64


def fill_next_token_bitmasks(
    matchers: Sequence[Matcher], bitmask: Any, indices: Iterable[int] | None = None, *, threads: int | None = None
) -> None:
    """Write which tokens may come next in each of several sequences into rows of `bitmask`.

    `bitmask` is as for `Matcher.fill_next_token_bitmask`, with shape (rows, words). The mask of sequence i goes into
    row `indices[i]`, by default row i. Large batches use at most `threads` threads, by default
    `CONSTRAIN_THREADS` or one for each core. Raises ValueError when there are too few rows or words.
    """
    places = range(len(matchers)) if indices is None else list(indices)
    rows = _as_numpy(bitmask)
    if len(places) != len(matchers) or (len(places) and max(places) >= bitmask.shape[0]):
        raise ValueError(f"{len(matchers)} sequences do not fit {len(places)} rows of a bitmask of {bitmask.shape[0]}")
    words = max((m._words for m in matchers), default=0)
    if bitmask.shape[1] < words:
        raise ValueError(f"the bitmask has {bitmask.shape[1]} words, the vocabulary needs {words}")
    if rows is None:
        for matcher, place in zip(matchers, places, strict=True):
            matcher.fill_next_token_bitmask(bitmask, place)
        return
    with _locked(matchers):
        live = [i for i, m in enumerate(matchers) if not m._terminated]
        for i, m in enumerate(matchers):
            if m._terminated:
                rows[places[i]] = 0
        positions = np.fromiter((matchers[i]._position() for i in live), dtype=np.int64, count=len(live))
        addresses = np.fromiter((matchers[i]._automaton.address for i in live), dtype=np.int64, count=len(live))
        to = np.fromiter((places[i] for i in live), dtype=np.int64, count=len(live))
        codes = np.zeros(len(live), dtype=np.int8)
        parts = min(threads or thread_count(), len(live) // _ROWS_PER_THREAD)

        def copy(first: int, stop: int) -> None:
            copy_rows(addresses, positions, to, rows, first, stop, codes)

        spread(copy, len(live), parts)
    for k in np.flatnonzero(codes != OK).tolist():
        matchers[live[k]].fill_next_token_bitmask(rows, int(to[k]))


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
        plain = [
            i
            for i, (m, t) in enumerate(zip(matchers, ids, strict=True))
            if not (m._terminated or m.steps_alone)
            and t not in m._eos
            and t not in m._stops
            and 0 <= t < m._compiled.vocabulary.size
        ]
        positions = np.fromiter((matchers[i]._position() for i in plain), dtype=np.int64, count=len(plain))
        addresses = np.fromiter((matchers[i]._automaton.address for i in plain), dtype=np.int64, count=len(plain))
        results = np.empty(len(plain), dtype=np.int64)
        _accept(addresses, positions, tokens[plain], results)
        rest = set(range(len(matchers)))
        for i, to in zip(plain, results.tolist(), strict=True):
            matcher = matchers[i]
            if to >= 0 and not matcher._automaton.shapes.tracks:
                matcher._positions.append(to)
                matcher._accepted.append(ids[i])
                out[i] = True
                rest.discard(i)
            elif to == REFUSED and not matcher._automaton.shapes.tracks:
                rest.discard(i)
    for i in rest:
        out[i] = matchers[i].accept_token(ids[i])
    return out


def _as_numpy(bitmask: Any) -> np.ndarray[Any, np.dtype[np.int32]] | None:
    """The memory of a bitmask as int32, or None where it is on a device."""
    if type(bitmask) is not np.ndarray:
        if str(bitmask.dtype) not in ("torch.int32", "torch.uint32"):
            raise TypeError(f"the bitmask must be int32 or uint32, numpy or torch, not {bitmask.dtype}")
        if bitmask.device.type != "cpu":
            return None
        bitmask = bitmask.numpy()
    if bitmask.dtype not in (np.int32, np.uint32):
        raise TypeError(f"the bitmask must be int32 or uint32, not {bitmask.dtype}")
    return bitmask.view(np.int32)


def _locked(matchers: Sequence[Matcher]) -> ExitStack:
    """Hold the locks of all grammars, always in the same order."""
    stack = ExitStack()
    for lock in sorted({m._lock for m in matchers}, key=id):
        stack.enter_context(lock)
    return stack
