"""One step of the model under the mask, remembered by prefix.

Everything measured here is made of the same piece: at prefix u, the allowed tokens, their log-probabilities, and
log Z_u, the log of the mass that the mask keeps. This file is the only one that joins model and language.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from constrain.distortion.language import Language, TokenIds
from constrain.distortion.model import Model, Prefix
from constrain.distortion.numerics import Floats, checked_log_mass, log_sum_exp


@dataclass(frozen=True, slots=True)
class Step:
    """What may happen at a prefix.

    Attributes:
        ids: allowed tokens of positive probability, int64.
        log_probs: their log-probabilities under the model, float64, same shape.
        log_z: log of their sum; minus infinity at a dead end.
        row: log-probabilities of all tokens, shape (width,).
        state: the language's state.
    """

    ids: TokenIds
    log_probs: Floats
    log_z: float
    row: Floats
    state: Any


class MaskedProcess:
    """The model p, the language, and the masked sampler q that they make.

    Args:
        model: p.
        language: the masks.
        cache_bytes: bound on the steps kept.
    """

    def __init__(self, model: Model, language: Language, *, cache_bytes: int = 1 << 28) -> None:
        self.model, self.language = model, language
        self.eos = frozenset(language.eos_token_ids)
        self._steps: OrderedDict[Prefix, Step] = OrderedDict()
        self._capacity = max(64, cache_bytes // (24 * model.width))

    def state(self, prefix: Prefix) -> Any:
        """The language's state after `prefix`, from the longest prefix at hand."""
        at = len(prefix)
        while at and prefix[:at] not in self._steps:
            at -= 1
        state = self._steps[prefix[:at]].state if prefix[:at] in self._steps else self.language.start()
        for token in prefix[at:]:
            state = self.language.advance(state, token)
        return state

    def steps(self, prefixes: Sequence[Prefix]) -> list[Step]:
        """The steps at these prefixes, those not at hand in one batch of the model.

        Raises ValueError when the model's probabilities are none.
        """
        wanted = list(dict.fromkeys(prefixes))
        found = {p: self._steps[p] for p in wanted if p in self._steps}
        missing = [p for p in wanted if p not in found]
        if missing:
            rows = self.model.log_probs(missing)
            for prefix, row in zip(missing, rows, strict=True):
                found[prefix] = self._steps[prefix] = self._step(prefix, row)
        for prefix in wanted:
            self._steps.move_to_end(prefix)
        while len(self._steps) > self._capacity:
            self._steps.popitem(last=False)
        return [found[p] for p in prefixes]

    def _step(self, prefix: Prefix, row: Floats) -> Step:
        checked_log_mass(log_sum_exp(row), f"the model's total probability after {prefix}")
        state = self.state(prefix)
        ids = self.language.allowed(state)
        ids = ids[ids < row.shape[0]]
        log_probs = row[ids]
        positive = log_probs > -np.inf
        if not positive.all():
            ids, log_probs = ids[positive], log_probs[positive]
        log_z = checked_log_mass(log_sum_exp(log_probs), f"the allowed probability after {prefix}")
        return Step(ids, log_probs, log_z, row, state)
