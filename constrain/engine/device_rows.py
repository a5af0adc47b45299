"""The mask rows of a vocabulary, kept on a device.

A step sends one number for each sequence, and only the rows that the device has not seen: sequences of one grammar, and
steps of one sequence, meet the same few rows again and again. Rows are told apart by their content, so grammars share
them and nobody has to name them; that costs about a microsecond a row on the host, less than the fill that made it,
where sending the row would cost the transfer of 16 kB (at 128k tokens). The table grows as it fills up, to a bound;
then the rows that were not used for longest make room.

Numbers, new rows and their places travel in one transfer, from pinned memory, and nothing waits for the device. That
uploads come before the launches that read them, and after those that read what they overwrite, is the order of the
stream; so there is one table for each stream.

This module needs torch.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from constrain.kernels.apply import over as over_code
from constrain.kernels.device import apply_rows_on_device
from constrain.kernels.row_content import equal_rows, hash_rows

LIMIT_BYTES = 64 << 20
"""Bound on the memory of one table, on the device and once more on the host; exceeded only where one step needs it."""

_FIRST_ROWS = 64
_MODULUS = 1 << 64


class DeviceRows:
    """The rows of one vocabulary on one device, for launches on one stream. Safe to share between threads.

    Args:
        words: words of a row.
        device: where the table is.
        limit_bytes: bound on its memory there.

    Attributes:
        uploaded: rows sent to the device so far.
    """

    def __init__(self, words: int, device: torch.device, *, limit_bytes: int = LIMIT_BYTES) -> None:
        self.uploaded = 0
        self._device = device
        self._limit = max(1, limit_bytes // (4 * max(1, words)))
        rows = min(_FIRST_ROWS, self._limit)
        self._host = np.zeros((rows, words), dtype=np.int32)
        self._table = torch.zeros((rows, words), dtype=torch.int32, device=device)
        # Least recently used first. A key is a row's hash, or the next free one after it.
        self._places: OrderedDict[int, int] = OrderedDict()
        self._keys = np.random.default_rng(0x6D61736B).integers(0, 1 << 63, words, dtype=np.uint64) * np.uint64(2)
        self._keys += np.uint64(1)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Rows kept now."""
        return len(self._places)

    @property
    def nbytes(self) -> int:
        """Bytes of the table on the device."""
        return self._table.numel() * 4

    def apply(
        self,
        logits: torch.Tensor,
        bitmask: NDArray[np.int32],
        over: NDArray[np.bool_],
        *,
        out: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Mask logits on the device, in place or into `out`.

        Args:
            logits: shape (n, width), any floating point dtype that `apply_token_bitmask` takes.
            bitmask: int32 (n, words), in the memory of the host: row i for row i of the logits.
            over: bool (n,): rows that are over; `bitmask` has their end-of-sequence ids.
            out: where to write, in memory of its own.

        Returns:
            Whether other processors had left a row without an allowed token, so that its allowed tokens were given a
            score of 0: int32, shape (), on the device.
        """
        with self._lock:  # until the launch: another thread's upload may overwrite rows not used now
            places, new = self._find(bitmask)
            codes = np.where(over, over_code(places), places)
            rows = self._send(codes, new)
            emptied = apply_rows_on_device(logits, self._table, rows, out=out, repair=True)
        assert emptied is not None
        return emptied

    def _find(self, bitmask: NDArray[np.int32]) -> tuple[NDArray[np.int64], list[int]]:
        """Places of the rows of a bitmask, and those places among them that the device does not have yet."""
        count = len(bitmask)
        hashes = np.empty(count, dtype=np.uint64)
        hash_rows(bitmask, self._keys, hashes)
        places = np.empty(count, dtype=np.int64)
        new: list[int] = []
        claimed: list[int] = []
        for i, key in enumerate(hashes.tolist()):
            place = self._places.get(key)
            if place is None:
                places[i] = self._add(key, bitmask[i], count, new)
            else:
                self._places.move_to_end(key)
                places[i] = place
                claimed.append(i)
        if claimed:
            which = np.array(claimed, dtype=np.int64)
            equal = np.empty(len(which), dtype=np.bool_)
            equal_rows(bitmask, which, self._host, places[which], equal)
            for i in which[~equal].tolist():  # another row has the same hash
                places[i] = self._probe(int(hashes[i]), bitmask[i], count, new)
        return places, new

    def _probe(self, key: int, row: NDArray[np.int32], count: int, new: list[int]) -> int:
        while True:
            key = (key + 1) % _MODULUS
            place = self._places.get(key)
            if place is None:
                return self._add(key, row, count, new)
            if np.array_equal(self._host[place], row):
                self._places.move_to_end(key)
                return place

    def _add(self, key: int, row: NDArray[np.int32], count: int, new: list[int]) -> int:
        place = len(self._places)
        if place >= max(self._limit, count):
            # At most `count` rows were used in this step, and those are the latest: this is none of them.
            place = self._places.popitem(last=False)[1]
        elif place >= len(self._host):
            self._grow(count)
        self._host[place] = row
        self._places[key] = place
        new.append(place)
        return place

    def _grow(self, count: int) -> None:
        held = len(self._host)
        rows = max(held + 1, min(2 * held, max(self._limit, count)))
        host = np.zeros((rows, self._host.shape[1]), dtype=np.int32)
        host[:held] = self._host
        table = torch.zeros((rows, self._host.shape[1]), dtype=torch.int32, device=self._device)
        table[:held].copy_(self._table)
        self._host, self._table = host, table

    def _send(self, codes: NDArray[np.int64], new: list[int]) -> torch.Tensor:
        """Bring new rows into the table; returns `codes` on the device, int32."""
        count, words = len(codes), self._host.shape[1]
        pinned = self._device.type == "cuda"
        packet = torch.empty(count + len(new) * (1 + words), dtype=torch.int32, pin_memory=pinned)
        view = packet.numpy()
        view[:count] = codes
        view[count : count + len(new)] = new
        np.take(self._host, new, axis=0, out=view[count + len(new) :].reshape(len(new), words), mode="clip")
        there = packet.to(self._device, non_blocking=True)
        if new:
            at = there[count : count + len(new)].to(torch.int64)
            self._table.index_copy_(0, at, there[count + len(new) :].view(len(new), words))
            self.uploaded += len(new)
        return there[:count]


_tables: weakref.WeakKeyDictionary[Any, dict[tuple[Any, ...], DeviceRows]] = weakref.WeakKeyDictionary()
_tables_lock = threading.Lock()


def device_rows_of(vocabulary: Any, device: torch.device) -> DeviceRows:
    """The table of a vocabulary on a device for the current stream, made at first use."""
    stream = torch.cuda.current_stream(device).cuda_stream if device.type == "cuda" else 0
    key = (device.type, device.index, stream)
    with _tables_lock:
        tables = _tables.setdefault(vocabulary, {})
        if key not in tables:
            tables[key] = DeviceRows(-(-int(vocabulary.size) // 32), device)
        return tables[key]
