"""The sequences of a server's batch, kept together from step to step.

`fill_next_token_bitmasks` and `accept_tokens` take any matchers, and so ask each of them where it is; for a large batch
that takes longer than the kernels do. Here the positions stay in an array between the steps. What was accepted is noted
by step, and told to a matcher when somebody asks for it, or in its turn: a few rows at each step, so that a step never
waits for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.engine.batch import as_numpy, fill_next_token_bitmasks, parts_of
from constrain.engine.matcher import Matcher
from constrain.kernels.batch import follow_all, write_rows
from constrain.kernels.layout import OK

_REMEMBERED = 64  # steps after which each matcher is told of them


class MatcherBatch:
    """Sequences that advance together, in any number of grammars over one vocabulary. Not for concurrent use.

    While a matcher is part of a batch, it is moved by the batch alone.
    """

    def __init__(self, matchers: Iterable[Matcher]) -> None:
        self._matchers: list[Matcher] = list(matchers)
        count = len(self._matchers)
        self._rows = np.arange(count)
        self._positions = np.zeros(count, dtype=np.int64)
        self._addresses = np.zeros(count, dtype=np.int64)
        self._stepped = np.zeros(count, dtype=np.int64)  # as `_addresses`, but 0 where a step is more than theirs
        self._codes = np.empty(count, dtype=np.int8)
        self._steps = 0
        self._told = [0] * count  # by row, how many steps its matcher knows of
        # By step (the last ones, in turns) and row: the positions after it, negative where the matcher itself took it;
        # and the tokens.
        self._after = np.empty((_REMEMBERED, count), dtype=np.int64)
        self._tokens = np.empty((_REMEMBERED, count), dtype=np.int64)
        for row in range(count):
            self._read(row)

    def __len__(self) -> int:
        return len(self._matchers)

    def matcher(self, row: int) -> Matcher:
        """The matcher of a row, up to date. One that is then moved by itself is to be given back by `replace`."""
        self._tell(row)
        return self._matchers[row]

    def replace(self, row: int, matcher: Matcher) -> None:
        """Have another sequence, or the same one moved by itself, go on in a row."""
        self._tell(row)
        self._matchers[row] = matcher
        self._read(row)

    def accept_tokens(self, token_ids: Sequence[int] | NDArray[np.integer]) -> NDArray[np.bool_]:
        """Advance each sequence by its token; shape (rows,), which of them took it. One that refuses stays as it is.

        `token_ids` has an integer for each row. Raises ValueError where it has another number of them.
        """
        turn = self._steps % _REMEMBERED
        tokens, to = self._tokens[turn], self._after[turn]
        given = np.asarray(token_ids, dtype=np.int64)
        if given.shape != tokens.shape:
            raise ValueError(f"{len(self)} sequences need as many tokens, not {given.shape}")
        tokens[:] = given
        follow_all(self._stepped, self._positions, tokens, to)
        self._steps += 1
        for row in range(turn, len(self._told), _REMEMBERED):
            self._tell(row)
        taken = to >= 0
        if taken.all():
            self._positions[:] = to
        else:
            np.copyto(self._positions, to, where=taken)
            for row in np.flatnonzero(~taken).tolist():  # refused, or the end, or what takes help
                self._tell(row)
                taken[row] = self._matchers[row].accept_token(int(tokens[row]))
                self._read(row)
        return taken

    def fill_next_token_bitmasks(self, bitmask: Any, *, threads: int | None = None) -> None:
        """Write which tokens may come next in each sequence into its row of `bitmask`, as the function of this name.

        Raises ValueError when there are too few rows or words.
        """
        rows = as_numpy(bitmask)
        words = self._matchers[0]._words if self._matchers else 0
        if bitmask.shape[0] < len(self) or bitmask.shape[1] < words:
            raise ValueError(f"{len(self)} rows of {words} words do not fit into a bitmask of {tuple(bitmask.shape)}")
        if rows is None or not rows.flags.c_contiguous or parts_of(rows, threads) > 1:
            for row in range(len(self)):
                self._tell(row)
            fill_next_token_bitmasks(self._matchers, bitmask, threads=threads)
            for row in range(len(self)):
                self._read(row)
            return
        codes = self._codes
        write_rows(self._addresses, self._positions, self._rows, rows, codes)
        for row in np.flatnonzero(codes != OK).tolist():
            self._tell(row)
            self._matchers[row].fill_next_token_bitmask(rows, row)
            self._read(row)

    def _read(self, row: int) -> None:
        """Take over where a matcher is."""
        m = self._matchers[row]
        self._positions[row], self._addresses[row] = m._positions[-1], m._address
        self._stepped[row] = 0 if m.steps_alone or m._stops else m._address
        self._told[row] = self._steps

    def _tell(self, row: int) -> None:
        """Bring a matcher up to date."""
        left = self._steps - self._told[row]
        if not left:
            return
        first = self._told[row] % _REMEMBERED
        stop = first + left
        positions, tokens = self._after[first:stop, row].tolist(), self._tokens[first:stop, row].tolist()
        if stop > _REMEMBERED:
            positions += self._after[: stop - _REMEMBERED, row].tolist()
            tokens += self._tokens[: stop - _REMEMBERED, row].tolist()
        m = self._matchers[row]
        if min(positions) < 0:
            kept = [i for i, position in enumerate(positions) if position >= 0]
            positions, tokens = [positions[i] for i in kept], [tokens[i] for i in kept]
        m._positions += positions
        m._accepted += tokens
        self._told[row] = self._steps
