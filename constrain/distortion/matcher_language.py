"""A compiled grammar as a language, by way of its matchers: the masks measured are the masks served.

Any object with a matcher's methods will do: `fill_next_token_bitmask(bitmask, index)`, `accept_token(id)` and, to go
more than one way from a state, `fork()`. Where there is no `fork`, the tokens are read again by a new matcher.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from constrain.distortion.language import TokenIds
from constrain.distortion.model import Prefix
from constrain.engine.matcher import Matcher


class _State:
    """A matcher that is never advanced, and the tokens it has read."""

    __slots__ = ("ids", "matcher", "tokens")

    def __init__(self, tokens: Prefix, matcher: Any) -> None:
        self.tokens, self.matcher = tokens, matcher
        self.ids: TokenIds | None = None


class MatcherLanguage:
    """What a matcher's masks allow.

    Args:
        new_matcher: makes a matcher at the beginning, such as `compiled.matcher`.
        eos_token_ids: ids that end a sequence.
        token_bytes: bytes by token id, None for ids without, for comparisons of texts.
        width: number of token ids of the masks.

    Raises RuntimeError from `advance` when a matcher refuses a token that its own mask allowed.
    """

    def __init__(
        self,
        new_matcher: Callable[[], Any],
        *,
        eos_token_ids: Sequence[int],
        token_bytes: Sequence[bytes | None],
        width: int | None = None,
    ) -> None:
        self._new = new_matcher
        self.eos_token_ids = tuple(int(t) for t in eos_token_ids)
        self._token_bytes = token_bytes
        self._width = len(token_bytes) if width is None else width
        self._automata: list[Any] = []

    @classmethod
    def of(cls, compiled: Any) -> MatcherLanguage:
        """The language of a `CompiledGrammar`."""
        vocabulary = compiled.vocabulary
        return cls(compiled.matcher, eos_token_ids=vocabulary.eos_token_ids, token_bytes=vocabulary.token_bytes)

    def start(self) -> _State:
        """A new matcher."""
        return _State((), self._new())

    def allowed(self, state: _State) -> TokenIds:
        """The set bits of the mask."""
        if state.ids is None:
            mask = np.zeros((1, (self._width + 31) // 32), dtype=np.int32)
            state.matcher.fill_next_token_bitmask(mask, 0)
            bits = np.unpackbits(mask[0].view(np.uint8), bitorder="little")[: self._width]
            state.ids = np.flatnonzero(bits).astype(np.int64)
        return state.ids

    def advance(self, state: _State, token: int) -> _State:
        """A fork, one token on."""
        fork = getattr(state.matcher, "fork", None)
        if fork is not None:
            matcher = fork()
        else:
            matcher = self._new()
            for earlier in state.tokens:
                matcher.accept_token(earlier)
        if not matcher.accept_token(int(token)):
            raise RuntimeError(f"the matcher refuses token {token}, which its mask allowed, after {state.tokens}")
        return _State((*state.tokens, int(token)), matcher)

    def key(self, state: _State) -> Hashable | None:
        """The position of a matcher of this library, a number that stands for the state; None for others."""
        matcher = state.matcher
        if not isinstance(matcher, Matcher):
            return None
        with matcher._lock:
            position = matcher._position()
        # Positions are numbers of one automaton; a cleared cache starts another.
        for i, automaton in enumerate(self._automata):
            if automaton is matcher._automaton:
                return i, position
        self._automata.append(matcher._automaton)
        return len(self._automata) - 1, position

    def text(self, tokens: Prefix) -> bytes:
        """The tokens' bytes; ids without bytes spell nothing."""
        return b"".join(self._token_bytes[t] or b"" for t in tokens if t not in self.eos_token_ids)


def as_language(language: Any) -> Any:
    """`language` itself when it is one, or the language of a compiled grammar. Raises TypeError otherwise."""
    if all(hasattr(language, name) for name in ("start", "allowed", "advance", "key", "text", "eos_token_ids")):
        return language
    if hasattr(language, "matcher") and hasattr(language, "vocabulary"):
        return MatcherLanguage.of(language)
    raise TypeError(f"{type(language).__name__} is no language: pass a compiled grammar, or wrap its matcher")
