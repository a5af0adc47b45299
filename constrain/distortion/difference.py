"""Where two masks differ: the likeliest prefix at which one engine allows what another does not.

Two engines for one grammar are two samplers. They often agree on which texts are valid and differ on how text may be
cut into tokens, which a test of texts never shows.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from constrain.distortion.matcher_language import as_language
from constrain.distortion.model import Prefix, as_model
from constrain.distortion.process import MaskedProcess


@dataclass(frozen=True, slots=True)
class MaskDifference:
    """Two masks at one prefix.

    Attributes:
        prefix: the tokens before; text: what they spell.
        only_first, only_second: ids that only one of the masks allows.
        mass_first, mass_second: the model's mass on those.
        reach: probability that the first engine's masked sampler comes here.
    """

    prefix: Prefix
    text: bytes
    only_first: tuple[int, ...]
    only_second: tuple[int, ...]
    mass_first: float
    mass_second: float
    reach: float


def first_difference(model: Any, first: Any, second: Any, *, budget: int = 1000) -> MaskDifference | None:
    """The first prefix, in order of the first engine's probability, at which the masks differ; None if none is found.

    Args:
        model: p, which also supplies the mass of the differing tokens.
        first, second: languages or compiled grammars over the same token ids.
        budget: prefixes looked at.
    """
    process = MaskedProcess(as_model(model), as_language(first))
    other = as_language(second)
    heap: list[tuple[float, int, Prefix, Any]] = [(0.0, 0, (), other.start())]
    pushed = 0
    for _ in range(budget):
        if not heap:
            break
        cost, _, prefix, other_state = heapq.heappop(heap)
        step = process.steps([prefix])[0]
        mine, theirs = process.language.allowed(step.state), other.allowed(other_state)
        only_first, only_second = np.setdiff1d(mine, theirs), np.setdiff1d(theirs, mine)
        if only_first.size or only_second.size:
            mass = [float(np.exp(step.row[ids[ids < step.row.size]]).sum()) for ids in (only_first, only_second)]
            return MaskDifference(
                prefix,
                process.language.text(prefix),
                tuple(only_first.tolist()),
                tuple(only_second.tolist()),
                mass[0],
                mass[1],
                math.exp(-cost),
            )
        for token, log_p in zip(step.ids.tolist(), step.log_probs.tolist(), strict=True):
            if token not in process.eos:
                pushed += 1
                state = other.advance(other_state, token)
                heapq.heappush(heap, (cost - (log_p - step.log_z), pushed, (*prefix, token), state))
    return None
