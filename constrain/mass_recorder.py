"""The part of the logits processor that keeps masses: reads them off the scores, and makes records of them.

On the CPU a step's masses are computed on another thread some steps later where its scores can be kept that long
(`constrain.deferred_masses`), else when it is masked. On a device they stay there until many have come together, so
that no step waits for them.

This module needs torch.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from constrain.deferred_masses import MOST_BYTES, MOST_STEPS, Batch, Kept, as_array, keep, sum_kept
from constrain.engine.worker_threads import spread, thread_count
from constrain.kernels.device_mass import log_masses_on_device
from constrain.kernels.mass import log_masses
from constrain.mass import Ledger, MassRecord, labelled, prompt_digest
from constrain.prefixes import TOKEN_BYTES

_MOST_UNREAD = 256  # steps
_PART_SCORES = 1 << 18  # scores that are worth a thread


class Ended(NamedTuple):
    """An output as far as its grammar took it (a key of prefixes), and how it ended."""

    key: bytes
    completed: bool
    truncated: bool


class RecordedRows(NamedTuple):
    """The rows of a step.

    Attributes:
        first: number of the first of them.
        total: rows of the whole batch, by which they are shared out among the grammars.
        outputs: what each has put out so far.
        skip: bool (len(outputs),), rows that are over.
    """

    first: int
    total: int
    outputs: list[bytes]
    skip: NDArray[np.bool_]


class MassRecorder:
    """The masses of one generation.

    Args:
        prompt: ids, shape (rows, length).
        given: tokens after the prompt that each row had from the beginning.
        grammars: how many there are.
        defer: whether steps on the CPU may be summed later.
    """

    def __init__(self, prompt: torch.Tensor, given: int, *, grammars: int = 1, defer: bool = True) -> None:
        self._length, self._given, self._grammars, self.defers = prompt.shape[1], given, grammars, defer
        self._ledger = Ledger(_bytes_of(prompt))
        self._unread: list[tuple[RecordedRows, torch.Tensor]] = []  # on a device
        self._kept: list[tuple[RecordedRows, Kept]] = []
        self._kept_bytes = 0
        self._away: Batch | None = None  # at another thread
        self._changed = False

    def note(self, rows: RecordedRows, scores: torch.Tensor, masked: torch.Tensor) -> None:
        """Keep the masses of one step on a device.

        Args:
            rows: those of `scores`.
            scores, masked: before and after masking, floating point, shape (rows, width).
        """
        if rows.skip.all():
            return
        self._unread.append((rows, log_masses_on_device(scores.detach(), masked.detach())))
        if len(self._unread) >= _MOST_UNREAD:
            self._read()

    def note_on_host(self, rows: RecordedRows, scores: torch.Tensor, bitmask: NDArray[np.int32]) -> None:
        """Keep the masses of one step on the CPU.

        Args:
            rows: those of `scores`.
            scores: before masking, floating point, shape (rows, width).
            bitmask: int32 (rows, words), not written to afterwards.
        """
        kept = self._kept
        if kept and kept[-1][1].scores._version != kept[-1][1].version:
            self._warn_changed()  # at the first chance: a loop that changes scores does so at every step
        if self.defers and (step := keep(scores, bitmask, rows.skip)) is not None:
            kept.append((rows, step))
            self._kept_bytes += scores.nbytes
            if len(kept) >= MOST_STEPS or self._kept_bytes >= MOST_BYTES:
                self._take_back()
                self._away = Batch(functools.partial(self._sum, kept))
                self._kept, self._kept_bytes = [], 0
            return
        if kept or self._away is not None:
            self._read()  # of two masses of one prefix the later counts
        if not rows.skip.all():
            self._enter(rows, log_masses_on_host(scores, bitmask, rows.skip).tolist())

    def _sum(self, kept: list[tuple[RecordedRows, Kept]]) -> None:
        """Enter kept steps; in another thread while nobody else touches the ledger, or in this one."""
        for rows, step in kept:
            values = sum_kept(step)
            self._changed |= values is None
            self._enter(rows, [math.nan] * len(rows.outputs) if values is None else values)

    def _take_back(self) -> None:
        batch, self._away = self._away, None
        if batch is not None:
            batch.wait()
            if self._changed:
                self._warn_changed()

    def _warn_changed(self) -> None:
        if self.defers:
            self.defers = False
            warnings.warn(
                "scores were changed in place after ConstrainedLogitsProcessor had returned, before their mass was "
                "summed: those steps have no mass (None in their records). From now on masses are computed at once; "
                "make the processor with record_mass='at once', or leave the scores that it is given as they are",
                RuntimeWarning,
                stacklevel=5,
            )

    def _enter(self, rows: RecordedRows, values: list[float]) -> None:
        over = rows.skip.tolist()
        for i, value in enumerate(values):
            if not over[i]:
                number = rows.first + i
                self._ledger.note(number, number * self._grammars // rows.total, rows.outputs[i], value)

    def _read(self) -> None:
        """Bring masses from the device, all in one transfer, and from the other thread; sum those that wait."""
        if self._unread:
            values = torch.cat([values.double() for _, values in self._unread]).cpu().tolist()
            for rows, _ in self._unread:
                self._enter(rows, values[: len(rows.outputs)])
                del values[: len(rows.outputs)]
            self._unread = []
        self._take_back()
        kept, self._kept, self._kept_bytes = self._kept, [], 0
        self._sum(kept)
        if self._changed:
            self._warn_changed()

    def records(
        self,
        sequences: torch.Tensor,
        ends: Sequence[Ended],
        grammars: Sequence[int],
        token_bytes: Sequence[bytes | None] | None,
        labels: Sequence[str] | None,
    ) -> list[MassRecord]:
        """A record for each row of `sequences`, prompts included; see `ConstrainedLogitsProcessor.records`."""
        from constrain.distortion.places import places_of

        self._read()
        prompts = _bytes_of(sequences[:, : self._length])
        if self._length and not self._ledger.knows(prompts):
            raise ValueError("these sequences do not begin with the prompts of the last generate call")
        found = []
        for row, (end, prompt) in enumerate(zip(ends, prompts, strict=True)):
            tokens = tuple(np.frombuffer(end.key, dtype=np.int32).tolist())
            prefixes = [end.key[: i * TOKEN_BYTES] for i in range(self._given, len(tokens))]
            masses = self._ledger.masses(row, len(ends), grammars[row], prompt, prefixes)
            given: list[float | None] = [0.0] * min(self._given, len(tokens))
            places = None if token_bytes is None else places_of(token_bytes[t] or b"" for t in tokens)
            found.append(
                MassRecord(tokens, tuple(given + masses), end.completed, end.truncated, prompt_digest(prompt), places)
            )
        return labelled(found, labels)


def _bytes_of(ids: torch.Tensor) -> list[bytes]:
    return [row.tobytes() for row in ids.to("cpu", torch.int64).contiguous().numpy()]


def log_masses_on_host(
    scores: torch.Tensor, bitmask: NDArray[np.int32], skip: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """log Z of every row, NaN for those to skip; many rows are spread over threads."""
    before = as_array(scores)
    rows, width = before.shape
    out = np.empty(rows, dtype=np.float64)
    parts = rows * width // _PART_SCORES
    if parts < 2 or rows == 1:
        log_masses(before, bitmask, skip, 0, rows, out)
    else:
        spread(
            lambda first, stop: log_masses(before, bitmask, skip, first, stop, out), rows, min(parts, thread_count())
        )
    return out
