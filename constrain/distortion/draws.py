"""Many independent draws from the masked sampler, for the price of their distinct prefixes.

Draws that share a prefix share its forward pass: how many of them go on with which token is one multinomial split. So
a thousand draws from a short, confident language cost dozens of rows, not thousands. The result is shuffled, since
intervals that bet on one draw after another need them in random order.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from constrain.distortion.model import Prefix
from constrain.distortion.numerics import Floats
from constrain.distortion.process import MaskedProcess

COMPLETE, DEAD, TRUNCATED = 0, 1, 2
"""How a draw ended: with an end of sequence; where no token is allowed; at the limit of tokens."""


@dataclass(frozen=True, slots=True)
class Draws:
    """n draws, as distinct sequences and an index into them.

    Attributes:
        sequences: the distinct token sequences, their ends included.
        log_p: log-probability of each under the model, shape (distinct,).
        log_w: log of p(y) / q(y), the sum of log Z_t, shape (distinct,).
        status: COMPLETE, DEAD or TRUNCATED, shape (distinct,).
        index: which sequence each draw is, shape (n,), in random order.
        step_log_z: sum over draws of log Z_t by step t, shape (longest,): the mass kept, step by step.
        step_counts: draws that came to step t, shape (longest,).
    """

    sequences: list[Prefix]
    log_p: Floats
    log_w: Floats
    status: NDArray[np.int64]
    index: NDArray[np.int64]
    step_log_z: Floats
    step_counts: Floats

    def __len__(self) -> int:
        return int(self.index.shape[0])

    @property
    def counts(self) -> NDArray[np.int64]:
        """How often each distinct sequence was drawn."""
        return np.bincount(self.index, minlength=len(self.sequences))


def draw_masked(
    process: MaskedProcess,
    n: int,
    rng: np.random.Generator,
    *,
    max_tokens: int | None = None,
    batch_size: int = 64,
    starts: Mapping[Prefix, tuple[int, float, float]] | None = None,
    watch: Callable[[float, int], None] | None = None,
) -> Draws:
    """`n` independent draws y ~ q.

    Args:
        process: model and language.
        n: how many.
        rng: source of randomness.
        max_tokens: longest sequence, its end included; a draw that has not ended by then is TRUNCATED. None for no
            limit, which is safe only where q surely ends.
        batch_size: prefixes of one call of the model.
        starts: instead of n draws from the beginning: prefix to (count, log p, log w) of draws already there.
        watch: called after each batch with the draws that are done and their number. With a limit of tokens a draw that
            is being written counts as the part of the limit that it has.
    """
    level: dict[Prefix, tuple[int, float, float]] = dict(starts) if starts is not None else {(): (n, 0.0, 0.0)}
    sequences: list[Prefix] = []
    log_p: list[float] = []
    log_w: list[float] = []
    status: list[int] = []
    counts: list[int] = []
    step_log_z: list[float] = []
    step_counts: list[float] = []

    def finish(prefix: Prefix, count: int, p: float, w: float, how: int) -> None:
        sequences.append(prefix)
        log_p.append(p)
        log_w.append(w)
        status.append(how)
        counts.append(count)

    total = sum(count for count, _, _ in level.values())
    while level:
        # What was written last goes on first: its rows, keys and values are still at hand, and draws finish one after
        # the other.
        prefixes = [*itertools.islice(reversed(level), batch_size)][::-1]
        for prefix, step in zip(prefixes, process.steps(prefixes), strict=True):
            count, p, w = level.pop(prefix)
            if not step.ids.size:
                finish(prefix, count, p, w, DEAD)
                continue
            while len(step_log_z) <= len(prefix):
                step_log_z.append(0.0)
                step_counts.append(0.0)
            step_log_z[len(prefix)] += count * step.log_z
            step_counts[len(prefix)] += count
            probabilities = np.exp(step.log_probs - step.log_z)
            split = rng.multinomial(count, probabilities / probabilities.sum())
            for j in np.flatnonzero(split):
                token = int(step.ids[j])
                longer = (*prefix, token)
                reached = (int(split[j]), p + float(step.log_probs[j]), w + step.log_z)
                if token in process.eos:
                    finish(longer, *reached, COMPLETE)
                elif max_tokens is not None and len(longer) >= max_tokens:
                    finish(longer, *reached, TRUNCATED)
                else:
                    level[longer] = reached
        if watch is not None:
            written = sum(count * len(prefix) for prefix, (count, _, _) in level.items()) if max_tokens else 0
            watch(sum(counts) + written / (max_tokens or 1), total)
    index = np.repeat(np.arange(len(counts)), counts)
    rng.shuffle(index)
    return Draws(
        sequences,
        np.array(log_p),
        np.array(log_w),
        np.array(status, dtype=np.int64),
        index,
        np.array(step_log_z),
        np.array(step_counts),
    )
