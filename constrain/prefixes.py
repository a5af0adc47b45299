"""The state of an output as a function of its tokens.

Decoding loops reorder rows, go back to shorter prefixes and repeat calls, and tell nobody. A state that is kept per row
goes wrong at each of these; a state that is looked up by the tokens themselves cannot. The trade-off: every lookup
hashes the whole output (about a microsecond per thousand tokens), and only the latest states are kept, so a prefix that
comes back after a long time is replayed token by token.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from constrain.engine import CompiledGrammar, Matcher

TOKEN_BYTES = 4
"""Bytes of one token id in a key: a key is the output's token ids, int32 in native byte order."""


@dataclass(frozen=True, slots=True)
class PrefixState:
    """Where a prefix leads.

    Attributes:
        status: "live" while the grammar goes on; "ended" once it accepted an end-of-sequence token; "dead" once it
            refused a token. What follows an end or a refusal changes nothing.
        matcher: the matcher after the prefix when live, else None. To be read, not advanced: fork it first.
        accepted: number of tokens accepted before the first refused one, the end token included.
    """

    status: Literal["live", "ended", "dead"]
    matcher: Matcher | None
    accepted: int


class PrefixStates:
    """The states of prefixes under one compiled grammar, the latest `capacity` of them kept. Not thread-safe."""

    def __init__(self, compiled: CompiledGrammar) -> None:
        self.compiled = compiled
        self._root = PrefixState("live", compiled.matcher(), 0)
        self._latest: OrderedDict[bytes, PrefixState] = OrderedDict()

    def state(self, key: bytes, capacity: int = 256) -> PrefixState:
        """The state after the tokens of `key`, advanced from the longest prefix at hand."""
        known = self._latest.get(key)
        if known is not None:
            self._latest.move_to_end(key)
            return known
        if not key:
            return self._root
        state, end = self._root, len(key) - TOKEN_BYTES
        while end > 0:
            known = self._latest.get(key[:end])
            if known is not None:
                state = known
                break
            end -= TOKEN_BYTES
        for token in np.frombuffer(key, dtype=np.int32)[end // TOKEN_BYTES :].tolist():
            state = _after(state, token)
        self._latest[key] = state
        while len(self._latest) > max(capacity, 1):
            self._latest.popitem(last=False)
        return state


def _after(state: PrefixState, token: int) -> PrefixState:
    if state.matcher is None:
        return state
    matcher = state.matcher.fork()
    if not matcher.accept_token(token):
        return PrefixState("dead", None, state.accepted)
    if matcher.is_terminated:
        return PrefixState("ended", None, state.accepted + 1)
    return PrefixState("live", matcher, state.accepted + 1)
