"""Token ids as text, special tokens under their names, for parsing.

Bytes that are no UTF-8 become halves of surrogate pairs, as Python's "surrogateescape" has it: a call that holds any is
malformed, and free text shows U+FFFD in their place. A character that was begun when the ids ran out is no text yet:
the message is cut off within it.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from typing import TYPE_CHECKING

from constrain.grammars.tool_formats import FORMATS

if TYPE_CHECKING:
    from constrain.vocabulary import Vocabulary


class TokenText:
    """Turns ids into text as they come. Whatever follows an end-of-sequence id is left out.

    Attributes:
        ended: whether an end-of-sequence id has come.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._bytes = vocabulary.token_bytes
        self._special = {token: text for text, token in vocabulary.special_tokens.items()}
        self._eos = frozenset(vocabulary.eos_token_ids)
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self.ended = False

    def feed(self, ids: Iterable[int]) -> str:
        """The text of more ids, as far as its characters are complete.

        Raises:
            ValueError: an id has no text: it is not in the vocabulary, or stands for nothing.
        """
        out = []
        for token in map(int, ids):
            if token in self._eos:
                self.ended = True
            if self.ended:
                break
            data = self._bytes[token] if 0 <= token < len(self._bytes) else None
            if data is not None:
                out.append(self._decoder.decode(data))
            elif token in self._special:
                out.append(self._decoder.decode(b"", final=True) + self._special[token])
                self._decoder.reset()
            else:
                raise ValueError(f"the token id {token} has no text in this vocabulary")
        return "".join(out)

    def finish(self) -> tuple[str, bool]:
        """The text that is left, and whether the ids ran out within a character.

        A character that an end-of-sequence id cuts off is none, and never will be: its bytes are text.
        """
        pending, _ = self._decoder.getstate()
        if pending and not self.ended:
            return "", True
        return self._decoder.decode(b"", final=True), False


def marker_tokens(vocabulary: Vocabulary) -> frozenset[str]:
    """The special tokens of a vocabulary, and the markers of known formats that are tokens in it."""
    markers = {text.encode(): text for format in FORMATS.values() for text in format.markers}
    found = {markers[data] for data in vocabulary.token_bytes if data in markers}
    return frozenset({*vocabulary.special_tokens, *found})
