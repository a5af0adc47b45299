"""What an engine must offer to be measured, and nothing more.

An adapter adds no work between the benchmark's clock and the engine: `mask` and `accept` are the engine's own calls
where its signatures allow it, and whatever only the benchmark needs (reading a bit, reporting a refusal) is outside the
clock. Adapters give an engine its fastest documented way, so that what is compared is the engines.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Refused(Exception):
    """An engine declined a schema. `kind` says how: "unsupported", "unsatisfiable", "invalid", "limit" or "error"."""

    def __init__(self, kind: str, keyword: str, pointer: str, reason: str) -> None:
        self.kind, self.keyword, self.pointer, self.reason = kind, keyword, pointer, reason
        super().__init__(f"{kind}, {keyword!r} at {pointer or '(root)'}: {reason}")


class Unavailable(Exception):
    """An engine that cannot take part: it is not installed, or cannot take the tokenizer.

    Attributes:
        engine: its name.
        reason: what is in the way.
        remedy: the command that installs it; empty where that would not help.
    """

    def __init__(self, engine: str, reason: str, remedy: str = "") -> None:
        super().__init__(engine, reason, remedy)
        self.engine, self.reason, self.remedy = engine, reason, remedy

    def __str__(self) -> str:
        return f"{self.engine}: {self.reason}" + (f"; {self.remedy}" if self.remedy else "")


class Sequence(Protocol):
    """One text being written."""

    def mask(self) -> None:
        """Compute the mask of the next token into the engine's own buffer. Timed."""

    def accept(self, token: int) -> bool:
        """Take a token; False where it is refused. Timed."""

    def allows(self, token: int) -> bool:
        """Whether the last mask has the token's bit. Not timed."""

    def may_end(self) -> bool:
        """Whether the last mask allows an end token. Not timed."""


class WordSequence(Sequence, Protocol):
    """A sequence whose mask can be read as a whole."""

    def words(self) -> NDArray[np.int32]:
        """The last mask, int32, shape (1, words): bit i % 32 of word i // 32 is token i. Valid until the next mask."""


class Compiled(Protocol):
    """A compiled schema."""

    def start(self) -> WordSequence: ...


class Batch(Protocol):
    """Sequences that advance together."""

    threads: int

    def step(self, tokens: list[int]) -> None:
        """Every row takes its token, then all masks are computed. Timed."""

    def replace(self, row: int, sequence: Any) -> None:
        """Put another sequence into a row. Not timed."""

    def close(self) -> None:
        """Let go of threads."""


class Engine(Protocol):
    """An engine set up for one tokenizer."""

    name: str

    def compile(self, schema: Any) -> Compiled:
        """Compile a schema. Timed. Raises `Refused` where the engine declines it by name."""

    def batch(self, sequences: list[Any], threads: int) -> Batch:
        """Sequences from `start`, to advance together on so many threads, or on fewer where it cannot use them."""


def writing(row: NDArray[np.int32], call: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """A call that writes to the memory of `row` by its address, and keeps that memory alive as long as it lives."""
    bound: Any = functools.partial(call, *arguments)
    bound.row = row
    found: Callable[[], Any] = bound
    return found


class BitSequence:
    """A sequence whose mask is one packed row; the two timed calls are the engine's own, without a frame between."""

    def __init__(
        self,
        mask: Callable[[], Any],
        accept: Callable[[int], Any],
        row: NDArray[np.int32],
        eos: tuple[int, ...],
        matcher: Any,
    ) -> None:
        self.mask, self.accept, self.row, self.eos, self.matcher = mask, accept, row, eos, matcher

    def allows(self, token: int) -> bool:
        return bool(self.row[0, token >> 5] >> (token & 31) & 1)

    def may_end(self) -> bool:
        return any(map(self.allows, self.eos))

    def words(self) -> NDArray[np.int32]:
        return self.row


class LoopBatch:
    """Sequences one after the other, or in as many parts as there are threads where the engine lets go of the GIL."""

    def __init__(self, sequences: list[Any], threads: int = 1) -> None:
        self.sequences = list(sequences)
        self.threads = max(1, min(threads, len(self.sequences)))
        self.pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None
        bounds = [len(self.sequences) * k // self.threads for k in range(self.threads + 1)]
        self.parts = list(itertools.pairwise(bounds))

    def step(self, tokens: list[int]) -> None:
        if self.pool is None:
            self._part(tokens, 0, len(self.sequences))
        else:
            for done in [self.pool.submit(self._part, tokens, *part) for part in self.parts]:
                done.result()

    def _part(self, tokens: list[int], begin: int, end: int) -> None:
        for sequence, token in zip(self.sequences[begin:end], tokens[begin:end], strict=True):
            sequence.accept(token)
            sequence.mask()

    def replace(self, row: int, sequence: Any) -> None:
        self.sequences[row] = sequence

    def close(self) -> None:
        if self.pool is not None:
            self.pool.shutdown()


def mask_words(size: int) -> int:
    """32-bit words of a mask over so many tokens."""
    return (size + 31) // 32


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def refusal(error: Exception) -> Refused:
    """A peer's exception at compile time as a refusal: it declined, whatever class of error it says so with."""
    text = " ".join(str(error).split()) or type(error).__name__
    return Refused("unsupported", "", "", text[:500])
