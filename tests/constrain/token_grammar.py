"""A compiled grammar that is a table over token ids: no engine, no bytes.

The processor's duties (rows, prompts, widths, ends) do not depend on what the grammar is. With a table of tokens the
tests know every mask by looking at it, and can count how the matchers were used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class TokenVocabulary:
    """What the processor reads of a vocabulary."""

    size: int
    eos_token_ids: tuple[int, ...]


class TokenGrammar:
    """A deterministic automaton over token ids, with the methods of a `CompiledGrammar`.

    Args:
        table: state -> {token id -> state}; the first state is the start.
        accepting: states where an end-of-sequence token is allowed.
    """

    def __init__(
        self,
        table: Mapping[Any, Mapping[int, Any]],
        accepting: Iterable[Any],
        *,
        width: int,
        eos: tuple[int, ...] = (2,),
    ) -> None:
        self.table = table
        self.start = next(iter(table))
        self.accepting = frozenset(accepting)
        self.vocabulary = TokenVocabulary(width, eos)
        self.accepts = 0  # calls of accept_token by all matchers

    def matcher(self) -> TokenMatcher:
        return TokenMatcher(self, self.start)

    def valid(self, tokens: Iterable[int]) -> bool:
        """Whether the tokens (without the end) are a word of the grammar."""
        state = self.start
        for token in tokens:
            if token not in self.table[state]:
                return False
            state = self.table[state][token]
        return state in self.accepting

    def allowed(self, tokens: Iterable[int]) -> set[int]:
        """The ids allowed after the tokens, ends included."""
        state = self.start
        for token in tokens:
            state = self.table[state][token]
        return set(self.table[state]) | (set(self.vocabulary.eos_token_ids) if state in self.accepting else set())


class TokenMatcher:
    def __init__(self, grammar: TokenGrammar, state: Any, terminated: bool = False) -> None:
        self.grammar, self.state, self.is_terminated = grammar, state, terminated

    @property
    def is_accepting(self) -> bool:
        return self.state in self.grammar.accepting

    def fork(self) -> TokenMatcher:
        return TokenMatcher(self.grammar, self.state, self.is_terminated)

    def accept_token(self, token_id: int) -> bool:
        self.grammar.accepts += 1
        if self.is_terminated:
            return False
        if token_id in self.grammar.vocabulary.eos_token_ids:
            self.is_terminated = self.is_accepting
            return self.is_terminated
        following = self.grammar.table[self.state].get(token_id)
        if following is None:
            return False
        self.state = following
        return True

    def fill_next_token_bitmask(self, bitmask: np.ndarray, index: int = 0) -> None:
        assert bitmask.dtype == np.int32
        assert bitmask.shape[1] == -(-self.grammar.vocabulary.size // 32)
        bits = np.zeros(bitmask.shape[1] * 32, dtype=np.uint8)
        if not self.is_terminated:
            bits[list(self.grammar.table[self.state])] = 1
            if self.is_accepting:
                bits[list(self.grammar.vocabulary.eos_token_ids)] = 1
        bitmask[index] = np.packbits(bits, bitorder="little").view(np.int32)
