"""A matcher follows one sequence through a compiled grammar.

Its state is a number, the position, so a fork is a copy of two lists and a rollback is a cut. What was accepted is kept
too: when the shared cache is dropped, the position is found again by reading it once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from constrain.engine.forced_tokens import WHOLE_TEXT, forced_tokens
from constrain.engine.markers import MARKER
from constrain.kernels.mask import REFUSED, accept_token, copy_row
from constrain.kernels.step import MISS

if TYPE_CHECKING:
    from constrain.engine.automaton import Automaton
    from constrain.engine.compiled import CompiledGrammar

_FORCED_LIMIT = 4096


class Matcher:
    """One sequence under a compiled grammar. Not for concurrent use, but any number of matchers may run in parallel.

    A new matcher stands before the first token. Names and layouts are those that serving engines use.
    """

    steps_alone = False
    """Whether a step is more than a step of the automaton, so that batches are not stepped as a whole."""

    __slots__ = (
        "_accepted",
        "_automaton",
        "_compiled",
        "_eos",
        "_lock",
        "_positions",
        "_stops",
        "_terminated",
        "_words",
    )

    def __init__(self, compiled: CompiledGrammar) -> None:
        self._compiled = compiled
        self._lock = compiled._lock
        self._automaton: Automaton = compiled._automaton
        self._positions: list[int] = [self._automaton.start]
        self._accepted: list[int | bytes] = []
        self._terminated = False
        self._eos = compiled.end_token_ids
        self._stops = compiled.stop_token_ids
        self._words = compiled.bitmask_words

    @property
    def compiled(self) -> CompiledGrammar:
        """The grammar and vocabulary of this matcher."""
        return self._compiled

    # ---- moving ------------------------------------------------------------------------------------------------------

    def accept_token(self, token_id: int) -> bool:
        """Advance by one token. False when it may not come next; the state is then unchanged.

        An end-of-sequence id is accepted where the text is complete, and ends the sequence.
        """
        if self._terminated:
            return False
        with self._lock:
            position = self._position()
            if token_id in self._eos:
                if not self._automaton.may_end(position):
                    return False
                self._terminated = True
                self._positions.append(position)
                self._accepted.append(token_id)
                return True
            if not 0 <= token_id < self._compiled.vocabulary.size:
                return False
            automaton = self._automaton
            to = MISS if automaton.shapes.tracks else accept_token(automaton.address, position, token_id)
            if to < 0:
                if to == REFUSED:
                    return False
                to = automaton.accept_token(position, token_id)
                self._compiled._trim()
                if to < 0:
                    return False
            self._positions.append(to)
            self._accepted.append(token_id)
            if token_id in self._stops:
                self._terminated = self._automaton.may_end(to)
            return True

    def accept_bytes(self, data: bytes) -> bool:
        """Advance by bytes, however they would be tokenised; counts as one token for `rollback`.

        False when they may not come next; the state is then unchanged.
        """
        if self._terminated:
            return False
        with self._lock:
            to = self._run(self._position(), data)
            if to < 0:
                return False
            self._positions.append(to)
            self._accepted.append(bytes(data))
            return True

    def _run(self, position: int, data: bytes) -> int:
        for byte in data:
            position = self._automaton.accept_byte(position, byte)
            if position < 0:
                break
        return position

    def rollback(self, n: int = 1) -> None:
        """Take back the last `n` accepted tokens. Raises ValueError when fewer were accepted."""
        if not 0 <= n <= len(self._accepted):
            raise ValueError(f"cannot roll back {n} of {len(self._accepted)} tokens")
        if n:
            del self._positions[-n:]
            del self._accepted[-n:]
            self._terminated = False

    def fork(self) -> Matcher:
        """An independent matcher in the same state."""
        other = type(self).__new__(type(self))
        other._compiled, other._lock, other._automaton = self._compiled, self._lock, self._automaton
        other._positions, other._accepted = self._positions.copy(), self._accepted.copy()
        other._terminated, other._eos, other._words = self._terminated, self._eos, self._words
        other._stops = self._stops
        return other

    def reset(self) -> None:
        """Go back to the beginning."""
        self.rollback(len(self._accepted))

    def _position(self) -> int:
        """The current position in the current automaton."""
        if self._automaton is not self._compiled._automaton:
            self._automaton = automaton = self._compiled._automaton
            position = self._settled(automaton.start, 0)
            self._positions = [position]
            for count, step in enumerate(self._accepted, 1):
                if isinstance(step, bytes):
                    position = self._run(position, step)
                elif step not in self._eos:
                    position = automaton.accept_token(position, step)
                position = self._settled(position, count)
                self._positions.append(position)
        return self._positions[-1]

    def _settled(self, position: int, count: int) -> int:  # noqa: ARG002
        """The position in place of the one after the first `count` steps, for matchers that know more than it."""
        return position

    # ---- looking -----------------------------------------------------------------------------------------------------

    def fill_next_token_bitmask(self, bitmask: Any, index: int = 0) -> None:
        """Write which tokens may come next into row `index` of `bitmask`.

        `bitmask` is int32 or uint32, shape (rows, words) or (words,), numpy or torch; token i is bit i % 32 of word
        i // 32. It has `ceil(width / 32)` words or more; those beyond the vocabulary are cleared. An end-of-sequence id
        is allowed where the text is complete. After the end nothing is. Raises ValueError when the row is too short.
        """
        row = bitmask if bitmask.ndim == 1 else bitmask[index]
        if row.shape[0] < self._words:
            raise ValueError(f"the bitmask has {row.shape[0]} words, the vocabulary needs {self._words}")
        if type(row) is not np.ndarray:
            self._fill_foreign(row)
            return
        if row.dtype != np.int32:
            if row.dtype != np.uint32:
                raise TypeError(f"the bitmask must be int32 or uint32, not {row.dtype}")
            row = row.view(np.int32)
        if self._terminated:
            row[:] = 0
            return
        with self._lock:
            position = self._position()
            automaton = self._automaton
            if automaton.shapes.tracks or copy_row(automaton.address, position, row) < 0:
                automaton.copy_row(position, row)
                self._compiled._trim()

    def _fill_foreign(self, row: Any) -> None:
        """Fill a row that is a torch tensor, on any device."""
        if str(row.dtype) not in ("torch.int32", "torch.uint32"):
            raise TypeError(f"the bitmask must be int32 or uint32, numpy or torch, not {row.dtype}")
        if row.device.type == "cpu":
            self.fill_next_token_bitmask(row.numpy())
            return
        import torch

        host = np.zeros(row.shape[0], dtype=np.int32)
        self.fill_next_token_bitmask(host)
        row.copy_(torch.from_numpy(host).view(row.dtype))

    @property
    def is_accepting(self) -> bool:
        """Whether the text is complete, so that an end-of-sequence id may come next."""
        if self._terminated:
            return False
        with self._lock:
            return self._automaton.may_end(self._position())

    @property
    def is_terminated(self) -> bool:
        """Whether the end of the sequence was accepted."""
        return self._terminated

    @property
    def num_accepted(self) -> int:
        """How many tokens can be taken back."""
        return len(self._accepted)

    def forced_bytes(self) -> bytes:
        """The bytes that must come next, one after the other, as far as there is no choice (at most 4,096).

        They end before a marker that is one token: it has an id, and no bytes of its own.
        """
        out = bytearray()
        if self._terminated:
            return b""
        with self._lock:
            position = self._position()
            while len(out) < _FORCED_LIMIT:
                byte = self._automaton.only_byte(position)
                if byte >= MARKER:
                    break
                out.append(byte)
                position = self._automaton.accept_byte(position, byte)
        return bytes(out)

    def forced_tokens(self, *, escapes: bool = False) -> list[int]:
        """The ids of the tokens that must come next, cut as the tokenizer cuts them; [] where there is a choice.

        They spell the bytes that must come next, less the last ones where their cut depends on what the model writes
        after them. Accepting them takes no value away. A marker that is one token is forced as that token, and text
        before it is cut as if it ended there, as tokenizers do. At the end of the text an end-of-sequence id is forced
        where it is the only one.

        Args:
            escapes: whether a character of a JSON string and its escapes (`e` and `\\u0065`) are a choice. In names
                and constants they are often the only one; by default such a character is written plainly. With True
                no spelling is taken away either, and the tokens spell the beginning of `forced_bytes()`.

        What is guaranteed, for byte-pair encodings with pre-tokenizers that look ahead by at most two characters or a
        contraction: in the tokenizer's own encoding of every text that continues as the grammar allows (and writes
        those characters plainly), the output so far ends at the end of a token, and these tokens follow. Where the
        output so far ends within a token of that encoding, because it was cut in another way, nothing is forced until
        the cuts meet again.

        The output is taken for the whole text: the prompt's end is a cut, as it is for the model. Of a long output the
        last 4,096 bytes are read. Tokenizers that normalise a text in a way that changes its bytes force nothing there.
        For Unigram tokenizers the same is checked with many continuations, not proven for all.

        Raises VocabularyError where the vocabulary does not know its tokenizer: one from `from_tokens` without
        `encode`, or one that was pickled.
        """
        vocabulary = self._compiled.vocabulary
        with self._lock:
            if self._terminated:
                return []
            found = forced_tokens(
                self._automaton,
                vocabulary,
                self._position(),
                self._recent_text(),
                self._compiled.markers,
                plain=not escapes and self._compiled.grammar._pattern is None,
                limit=_FORCED_LIMIT,
                ends=self._eos,
            )
            self._compiled._trim()
            return found

    def _recent_text(self) -> bytes:
        """The end of the text so far, from its last marker if that is a token."""
        bytes_of, markers = self._compiled.vocabulary.token_bytes, self._compiled.markers
        text: list[bytes] = []
        size = 0
        for step in reversed(self._accepted):
            if isinstance(step, bytes):
                part = step[step.rfind(bytes([MARKER])) + 1 :]
                marked = len(part) < len(step)
            elif marked := step in markers.texts:
                part = markers.context(step)
            else:
                part = bytes_of[step] or b""
            text.append(part)
            size += len(part)
            if marked or size > WHOLE_TEXT:
                break
        return b"".join(reversed(text))

    @property
    def min_tokens_to_end(self) -> int:
        """An upper bound on the fewest tokens that complete the text, an end-of-sequence id not counted.

        It is the length in bytes of a short completion, 0 where the text is complete, so it holds for every vocabulary
        in which each of those bytes is a token.
        """
        if self._terminated:
            return 0
        with self._lock:
            position = self._position()
            if self._automaton.may_end(position):
                return 0
            return self._automaton.distance(position)
