"""The markers of a text that are tokens of their own, beside its bytes, as whoever cuts the text must know them.

In the automaton such a marker is the byte 0xFF, which no text has, its own bytes, and 0xFF again. No tokenizer may ever
be shown these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from constrain.vocabulary import Vocabulary

MARKER = 0xFF
"""The byte that stands before and after a marker."""


class Markers:
    """The markers of one grammar over one vocabulary.

    Attributes:
        tokens: ids by what stands for them in the automaton.
        texts: the texts of the markers, by id.
        stops: ids that complete the text.
    """

    def __init__(
        self,
        vocabulary: Vocabulary | None = None,
        tokens: Mapping[bytes, int] | None = None,
        stops: frozenset[int] = frozenset(),
    ) -> None:
        self.tokens = dict(tokens or {})
        self.texts = {token: spelled[1:-1] for spelled, token in self.tokens.items()}
        self.stops = stops
        self._vocabulary = vocabulary

    def context(self, token: int) -> bytes:
        """What a tokenizer is shown of a marker before the text that follows it.

        That is its text, if the tokenizer reads it as the marker; where it does not, each text is cut by itself.
        """
        return self.texts[token] if token in self._read else b""

    def spelled(self, vocabulary: Vocabulary) -> Sequence[bytes | None]:
        """The bytes of all tokens, markers included."""
        return self._spelled if self.texts else vocabulary.token_bytes

    @cached_property
    def _read(self) -> frozenset[int]:
        encode = None if self._vocabulary is None else self._vocabulary.encode
        if encode is None:
            return frozenset()
        return frozenset(token for token, text in self.texts.items() if list(encode(text.decode())) == [token])

    @cached_property
    def _spelled(self) -> Sequence[bytes | None]:
        assert self._vocabulary is not None
        out = list(self._vocabulary.token_bytes)
        for token, text in self.texts.items():
            out[token] = text
        return out


NO_MARKERS = Markers()
