"""The part of the logits processor that keeps masses: reads them off the scores, and makes records of them.

On the CPU a step's masses are computed when it is masked, while its scores are in the cache. On a device they stay
there until many have come together, so that no step waits for them.

This module needs torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

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


class RecordedRow(NamedTuple):
    """A row of a step: its number, the number of its grammar, its output so far."""

    number: int
    grammar: int
    output: bytes


class MassRecorder:
    """The masses of one generation.

    Args:
        prompt: ids, shape (rows, length).
        given: tokens after the prompt that each row had from the beginning.
    """

    def __init__(self, prompt: torch.Tensor, given: int) -> None:
        self._length, self._given = prompt.shape[1], given
        self._ledger = Ledger(_bytes_of(prompt))
        self._unread: list[tuple[list[RecordedRow | None], torch.Tensor]] = []

    def note(
        self, rows: list[RecordedRow | None], scores: torch.Tensor, masked: torch.Tensor, *, on_host: bool
    ) -> None:
        """Keep the masses of one step.

        Args:
            rows: one for each row of `scores`, None for those that are over.
            scores, masked: before and after masking, floating point, shape (len(rows), width).
            on_host: compute at once, on the CPU.
        """
        if not any(rows):
            return
        if not on_host:
            self._unread.append((rows, log_masses_on_device(scores.detach(), masked.detach())))
            if len(self._unread) >= _MOST_UNREAD:
                self._read()
            return
        self._enter(rows, _log_masses_on_host(scores, masked, np.array([row is None for row in rows])).tolist())

    def _enter(self, rows: list[RecordedRow | None], values: list[float]) -> None:
        for row, value in zip(rows, values, strict=True):
            if row is not None:
                self._ledger.note(row.number, row.grammar, row.output, value)

    def _read(self) -> None:
        """Bring masses from the device, all in one transfer."""
        if self._unread:
            values = torch.cat([values.double() for _, values in self._unread]).cpu().tolist()
            for rows, _ in self._unread:
                self._enter(rows, values[: len(rows)])
                del values[: len(rows)]
            self._unread = []

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


def _log_masses_on_host(scores: torch.Tensor, masked: torch.Tensor, skip: NDArray[np.bool_]) -> NDArray[np.float64]:
    """log Z of every row, NaN for those to skip."""
    before, after = _array(scores), _array(masked)
    rows, width = before.shape
    out = np.empty(rows, dtype=np.float64)
    parts = rows * width // _PART_SCORES
    if parts < 2 or rows == 1:
        log_masses(before, after, skip, 0, rows, out)
    else:
        spread(lambda first, stop: log_masses(before, after, skip, first, stop, out), rows, min(parts, thread_count()))
    return out


def _array(tensor: torch.Tensor) -> NDArray[Any]:
    plain = tensor.detach() if tensor.dtype in (torch.float32, torch.float64) else tensor.detach().float()
    return plain.contiguous().numpy()
