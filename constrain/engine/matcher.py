"""A matcher follows one sequence through a compiled grammar.

Its state is a number, the position, so a fork is a copy of two lists and a rollback is a cut. What was accepted is kept
too: when the shared cache is dropped, the position is found again by reading it once more.
"""

from __future__ import annotations

import math
from operator import index as as_int
from typing import TYPE_CHECKING, Any

import numpy as np

from constrain.engine.forced_tokens import WHOLE_TEXT, forced_tokens
from constrain.engine.markers import MARKER
from constrain.kernels.batch import ENDED
from constrain.kernels.layout import OK
from constrain.kernels.mask import REFUSED
from constrain.kernels.sequence import entry_points

if TYPE_CHECKING:
    from constrain.engine.automaton import Automaton
    from constrain.engine.compiled import CompiledGrammar

_FORCED_LIMIT = 4096
assert ENDED != REFUSED


class Matcher:
    """One sequence under a compiled grammar. Not for concurrent use, but any number of matchers may run in parallel.

    A new matcher stands before the first token. Names and layouts are those that serving engines use.
    """

    steps_alone = False
    """Whether a step is more than a step of the automaton, so that batches are not stepped as a whole."""

    __slots__ = (
        "_accepted",
        "_address",
        "_automaton",
        "_checked",
        "_compiled",
        "_eos",
        "_fill",
        "_follow",
        "_lock",
        "_positions",
        "_size",
        "_stops",
        "_terminated",
        "_words",
        "_write",
    )

    def __init__(self, compiled: CompiledGrammar) -> None:
        self._compiled = compiled
        self._lock = compiled._lock
        self._automaton: Automaton = compiled._automaton
        self._address = self._automaton.address
        self._follow, self._write, self._fill = entry_points()
        self._checked: Any = None  # the last bitmask that `_write` can write to
        self._positions: list[int] = [self._automaton.start]  # negative after the end
        self._accepted: list[int | bytes] = []
        self._terminated = False
        self._eos = compiled.end_token_ids
        self._stops = compiled.stop_token_ids
        self._size = compiled.vocabulary.size
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
        if type(token_id) is not int:
            token_id = as_int(token_id)
        to = self._follow(self._address, self._positions[-1], token_id)
        if to < 0:
            to = self._accept(token_id, refused=to == REFUSED)
            if to == REFUSED:
                return False
        self._positions.append(to)
        self._accepted.append(token_id)
        if self._stops and token_id in self._stops:
            self._stop(to)
        return True

    def _stop(self, position: int) -> None:
        """End the sequence after a token that completes the text, if it does."""
        with self._lock:
            if self._automaton.may_end(position):
                self._terminated = True
                self._positions[-1] = ENDED

    def _accept(self, token_id: int, *, refused: bool) -> int:
        """The position after a token that the kernel alone did not take, negative after the end; or REFUSED."""
        if self._terminated or (refused and token_id not in self._eos):
            return REFUSED
        with self._lock:
            position = self._position()
            if token_id in self._eos:
                if not self._automaton.may_end(position):
                    return REFUSED
                self._terminated = True
                return ENDED
            if not 0 <= token_id < self._size:
                return REFUSED
            to = self._automaton.accept_token(position, token_id)
            self._compiled._trim()
            return to if to >= 0 else REFUSED

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
        other._address, other._checked = self._address, None
        other._follow, other._write, other._fill = self._follow, self._write, self._fill
        other._positions, other._accepted = self._positions.copy(), self._accepted.copy()
        other._terminated, other._eos, other._stops = self._terminated, self._eos, self._stops
        other._size, other._words = self._size, self._words
        return other

    def reset(self) -> None:
        """Go back to the beginning."""
        self.rollback(len(self._accepted))

    def _position(self) -> int:
        """The current position in the current automaton."""
        if self._automaton is not self._compiled._automaton:
            self._automaton = automaton = self._compiled._automaton
            self._address = automaton.address
            position = self._settled(automaton.start, 0)
            self._positions = [position]
            for count, step in enumerate(self._accepted, 1):
                if isinstance(step, bytes):
                    position = self._run(position, step)
                elif step in self._eos:
                    position = ENDED
                else:
                    position = automaton.accept_token(position, step)
                position = self._settled(position, count)
                self._positions.append(position)
            if self._terminated:
                self._positions[-1] = ENDED
        return self._positions[-1]

    def _settled(self, position: int, count: int) -> int:  # noqa: ARG002
        """The position in place of the one after the first `count` steps, for matchers that know more than it."""
        return position

    # ---- looking -----------------------------------------------------------------------------------------------------

    def fill_next_token_bitmask(self, bitmask: Any, index: int = 0, *, max_tokens: int | None = None) -> None:
        """Write which tokens may come next into row `index` of `bitmask`.

        `bitmask` is int32 or uint32, shape (rows, words) or (words,), numpy or torch; token i is bit i % 32 of word
        i // 32. It has `ceil(width / 32)` words or more; those beyond the vocabulary are cleared. An end-of-sequence id
        is allowed where the text is complete. After the end nothing is. Raises ValueError when the row is too short.

        With `max_tokens`, the number of tokens that may still come (this one included, an end-of-sequence id not
        counted), only those are allowed after which the text can be completed in time. Where `tokens_to_end` is at most
        `max_tokens`, and the number falls by one at each step, the text is complete in time whatever is chosen. So long
        as every allowed token leaves room enough, the mask is the one without a limit. Where the end is out of reach,
        the tokens that lead nearest to it are allowed.
        """
        if max_tokens is None and bitmask is self._checked and type(index) is int:
            if self._write(self._address, self._positions[-1], bitmask, index) == OK:
                return
            with self._lock:
                position = self._position()
                if self._automaton.fill(self._fill, position, bitmask, index):
                    self._compiled._trim()
                    return
        self._fill_any(bitmask, index, max_tokens)

    def _fill_any(self, bitmask: Any, index: int, max_tokens: int | None) -> None:
        """Fill a row of any kind of bitmask, with any help that it takes."""
        row = bitmask if bitmask.ndim == 1 else bitmask[index]
        if row.shape[0] < self._words:
            raise ValueError(f"the bitmask has {row.shape[0]} words, the vocabulary needs {self._words}")
        if type(row) is not np.ndarray:
            self._fill_foreign(row, max_tokens)
            return
        if row.dtype != np.int32:
            if row.dtype != np.uint32:
                raise TypeError(f"the bitmask must be int32 or uint32, not {row.dtype}")
            row = row.view(np.int32)
        if bitmask.ndim == 2 and bitmask.dtype == np.int32 and bitmask.flags.carray and type(bitmask) is np.ndarray:
            self._checked = bitmask  # kept, as objects are told apart by their addresses
        if self._terminated:
            row[:] = 0
            return
        if not row.flags.writeable:
            raise ValueError("the bitmask is read-only")
        out = row if row.flags.carray else np.empty(row.shape, dtype=np.int32)
        with self._lock:
            position = self._position()  # first: it may change the automaton
            self._automaton.copy_row(position, out)
            self._compiled._trim()
            if max_tokens is not None:
                self._restrict(out, max_tokens)
        if out is not row:
            row[:] = out

    def _restrict(self, row: np.ndarray[Any, np.dtype[np.int32]], max_tokens: int) -> None:
        """Take out of the mask of this position what leads too far; the lock is held, the sequence is not over."""
        position = self._position()
        self._automaton.budget.restrict(position, max_tokens, row[: self._words])
        self._compiled._trim()

    def _fill_foreign(self, row: Any, max_tokens: int | None) -> None:
        """Fill a row that is a torch tensor, on any device."""
        if str(row.dtype) not in ("torch.int32", "torch.uint32"):
            raise TypeError(f"the bitmask must be int32 or uint32, numpy or torch, not {row.dtype}")
        if row.device.type == "cpu":
            self.fill_next_token_bitmask(row.numpy(), max_tokens=max_tokens)
            return
        import torch

        host = np.zeros(row.shape[0], dtype=np.int32)
        self.fill_next_token_bitmask(host, max_tokens=max_tokens)
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

    @property
    def tokens_to_end(self) -> int | None:
        """Tokens of this vocabulary that are enough to complete the text, an end-of-sequence id not counted.

        At most `min_tokens_to_end`: the fewest tokens that spell one short completion, 0 where the text is complete.
        Another completion may take fewer still. None where the vocabulary is known to spell no completion byte by byte,
        which happens with regular expressions only.
        """
        if self._terminated:
            return 0
        with self._lock:
            need = self._automaton.budget.need(self._position())
            self._compiled._trim()
            return None if need == math.inf else int(need)
