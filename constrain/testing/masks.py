"""Reading masks, and random walks through them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from constrain.testing.choices import Choices

_NOISE = 0x5A5A5A5A
_STRUCTURAL = frozenset(b'"}],:')


class MatcherLike(Protocol):
    """What a matcher can do. `accept_bytes` is not needed where every byte is a token."""

    @property
    def is_accepting(self) -> bool: ...
    @property
    def is_terminated(self) -> bool: ...
    def accept_token(self, token_id: int, /) -> bool: ...
    def fill_next_token_bitmask(self, bitmask: Any, index: int = 0, /) -> None: ...
    def rollback(self, n: int = 1, /) -> None: ...
    def fork(self) -> Any: ...


class MaskError(AssertionError):
    """A mask row was not written as the contract says."""


def read_mask(matcher: MatcherLike, size: int) -> NDArray[np.bool_]:
    """The matcher's mask, shape (size,). Raises `MaskError` where it writes outside its row or leaves words alone."""
    words = (size + 31) // 32
    rows = np.full((3, words), _NOISE, dtype=np.int32)
    matcher.fill_next_token_bitmask(rows, 1)
    if not ((rows[0] == _NOISE).all() and (rows[2] == _NOISE).all()):
        raise MaskError("fill_next_token_bitmask wrote outside the row it was given")
    bits = np.unpackbits(rows[1].view(np.uint8), bitorder="little").astype(bool)
    if bits[size:].any():
        raise MaskError("fill_next_token_bitmask set bits beyond the vocabulary")
    return bits[:size]


class Tokens:
    """A vocabulary as plain data, with what walks and cuts need.

    Args:
        texts: the bytes of each id, None for those without text.
        end_ids: the ids that end a text.
    """

    def __init__(self, texts: Sequence[bytes | None], end_ids: Sequence[int]) -> None:
        self.texts, self.end_ids = texts, tuple(end_ids)
        self.size = len(texts)
        self.by_text: dict[bytes, int] = {t: i for i, t in enumerate(texts) if t and i not in self.end_ids}
        self.longest = max(map(len, self.by_text), default=0)
        self._structural = np.array([bool(t) and t[0] in _STRUCTURAL for t in texts])  # type: ignore[index]
        self._end = np.zeros(self.size, dtype=bool)
        self._end[list(self.end_ids)] = True

    def cut(self, text: bytes, choices: Choices) -> list[int] | None:
        """A random cut of a text into tokens; None where the tokens at hand do not lead to its end."""
        ids, at = [], 0
        while at < len(text):
            most = min(self.longest, len(text) - at, 24)
            lengths = [n for n in range(1, most + 1) if text[at : at + n] in self.by_text]
            if not lengths:
                return None
            length = choices.pick(lengths)
            ids.append(self.by_text[text[at : at + length]])
            at += length
        return ids

    def choose(self, mask: NDArray[np.bool_], choices: Choices) -> int | None:
        """An allowed id that is no end id, with structural characters preferred so that containers close; or None."""
        inner = mask & ~self._end
        if choices.chance(0.5):
            narrow = inner & self._structural
            if narrow.any():
                inner = narrow
        candidates = np.flatnonzero(inner)
        return int(candidates[choices.integer(0, len(candidates) - 1)]) if len(candidates) else None


def finish(matcher: Any, tokens: Tokens, limit: int = 3000) -> bytes | None:
    """Drive a matcher to acceptance by single bytes that lower `min_tokens_to_end`; the bytes taken.

    None where no byte lowers it, which is a dead end for a budget, or after `limit` bytes.
    """
    taken = bytearray()
    single = [(text[0], token) for text, token in tokens.by_text.items() if len(text) == 1]
    while not matcher.is_accepting:
        before = matcher.min_tokens_to_end
        mask = read_mask(matcher, tokens.size)
        for byte, token in single:
            if mask[token]:
                probe = matcher.fork()
                if probe.accept_token(token) and probe.min_tokens_to_end < before:
                    matcher.accept_token(token)
                    taken.append(byte)
                    break
        else:
            return None
        if len(taken) > limit:
            return None
    return bytes(taken)


def walk(
    matcher: Any, tokens: Tokens, choices: Choices, steps: int, visit: Callable[[Any], None] | None = None
) -> bytes:
    """Take up to `steps` random allowed tokens; the bytes taken. `visit` sees the matcher before each step."""
    taken = bytearray()
    for _ in range(steps):
        if visit:
            visit(matcher)
        chosen = tokens.choose(read_mask(matcher, tokens.size), choices)
        if chosen is None:
            break
        if not matcher.accept_token(chosen):
            raise MaskError(f"after {bytes(taken)!r} the mask allows {tokens.texts[chosen]!r}, accept_token refuses it")
        taken += tokens.texts[chosen] or b""
    return bytes(taken)
