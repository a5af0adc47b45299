"""What the comparator asks of a language: which tokens may come next, and what the tokens spell.

A language's states are values that belong to it: nobody else looks inside. `allowed` is the mask of the engine that is
measured. Where it is exact, each allowed token can still lead to the end; where it is not, the measurement shows dead
ends, or support that is missing.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from constrain.distortion.model import Prefix

TokenIds = NDArray[np.int64]


@runtime_checkable
class Language(Protocol):
    """A set of token sequences that end in an end-of-sequence id, read from left to right."""

    @property
    def eos_token_ids(self) -> tuple[int, ...]:
        """Ids that end a sequence; no state follows them."""
        ...

    def start(self) -> Any:
        """The state before the first token."""
        ...

    def allowed(self, state: Any) -> TokenIds:
        """Ids that may come next, int64, ascending; end-of-sequence ids among them where the text is complete."""
        ...

    def advance(self, state: Any, token: int) -> Any:
        """The state after one more allowed token that is not an end; `state` itself stays usable."""
        ...

    def key(self, state: Any) -> Hashable | None:
        """Equal for states with the same future, where the language can tell; else None."""
        ...

    def text(self, tokens: Prefix) -> bytes:
        """What the tokens spell, an end-of-sequence id left out."""
        ...


def contains(language: Language, tokens: Prefix) -> bool:
    """Whether a whole sequence, its end included, belongs to the language."""
    if not tokens or tokens[-1] not in language.eos_token_ids:
        return False
    state = language.start()
    for token in tokens[:-1]:
        if token in language.eos_token_ids or token not in language.allowed(state):
            return False
        state = language.advance(state, token)
    return bool(np.isin(tokens[-1], language.allowed(state)))


def first_refused(language: Language, tokens: Prefix) -> int | None:
    """Index of the first token that the language does not allow, or None when it takes them all."""
    state = language.start()
    for i, token in enumerate(tokens):
        if token not in language.allowed(state):
            return i
        if token in language.eos_token_ids:
            return None if i == len(tokens) - 1 else i + 1
        state = language.advance(state, token)
    return None
