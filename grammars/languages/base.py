"""The contract of a regular language that is determinised on demand.

A `Language` is a deterministic automaton over bytes whose states come into being when they are asked for. States are
integers; state 0 is dead. The automaton is *trimmed*: every state other than 0 can still reach acceptance, so "can this
prefix be completed?" is the test `state != 0`.

A `TextLanguage` is a language of Unicode texts. Its bytes are the UTF-8 encoding of the decoded text: JSON escapes are
resolved before a byte gets here, so one automaton serves every spelling of a string.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

DEAD = 0


class LengthSet(NamedTuple):
    """An ultimately periodic set of natural numbers.

    `bits` holds membership of 0 .. preperiod+period-1, bit i for the number i. A number n >= preperiod is a member when
    `preperiod + (n - preperiod) % period` is. `period` is at least 1.
    """

    bits: int
    preperiod: int
    period: int

    def __contains__(self, n: object) -> bool:
        if not isinstance(n, int) or n < 0:
            return False
        if n >= self.preperiod:
            n = self.preperiod + (n - self.preperiod) % self.period
        return bool(self.bits >> n & 1)

    def first_in(self, low: int, high: int | None) -> int | None:
        """The smallest member n with low <= n <= high (no upper limit when `high` is None), or None."""
        low = max(low, 0)
        stop = max(low, self.preperiod) + self.period - 1
        if high is not None:
            stop = min(stop, high)
        if stop < low:
            return None
        if low < self.preperiod:
            window = self.bits >> low & (1 << max(0, min(stop, self.preperiod + self.period - 1) - low + 1)) - 1
            if window:
                return low + (window & -window).bit_length() - 1
            low = self.preperiod + self.period
        for n in range(low, stop + 1):
            if n in self:
                return n
        return None


ALL_LENGTHS = LengthSet(1, 0, 1)


class Role(Enum):
    """What a state of a text is for in which JSON values stand.

    CALL: a JSON value begins. COLLECT: the byte read belongs to a word that is kept. DIFFER: it is the last one of a
    word that no earlier word may equal. COLLECTED: it follows a word, which says how the text goes on.
    """

    PLAIN = "plain"
    CALL = "call"
    COLLECT = "collect"
    DIFFER = "differ"
    COLLECTED = "collected"


class Block(NamedTuple):
    """Rows of several states: the successor of `states[i]` under a byte is `targets[i, column[byte]]`.

    `targets` is int32, shape (states, any number), and `column` int64, shape (256,). `after` has all states in
    `targets`, each once.
    """

    states: list[int]
    targets: NDArray[np.int32]
    column: NDArray[np.int64]
    after: list[int]


class Language(ABC):
    """A trimmed, lazily determinised automaton over bytes. Safe to share between threads."""

    start: int
    """The initial state; `DEAD` when the language is empty."""

    @abstractmethod
    def row(self, state: int) -> NDArray[np.int32]:
        """Successors of `state` for the 256 bytes: int32, shape (256,), read-only; `DEAD` without completion."""

    def branches(self, state: int) -> tuple[list[int], NDArray[np.int64]] | None:  # noqa: ARG002
        """The same as `row`, where it is quick to have: the states after `state`, each once, the dead one first, and
        by byte the index of one (int64, shape (256,), read-only); None elsewhere."""
        return None

    def variant(self, state: int) -> tuple[int, list[tuple[int, int]]] | None:  # noqa: ARG002
        """Another state whose row is that of `state` but at some bytes, and these with their successors; None where no
        such state is evident. That other state is no variant itself."""
        return None

    def block(self, state: int) -> Block | None:  # noqa: ARG002
        """The rows of `state` and of others that are likely to be asked for with it; None where they are not had at
        once."""
        return None

    around_values = False
    """Whether JSON values stand in the text, and `shortest` is not cheap."""

    def role(self, state: int) -> Role:  # noqa: ARG002
        """What `state` is for where JSON values stand in the text; PLAIN elsewhere."""
        return Role.PLAIN

    @abstractmethod
    def accepting(self, state: int) -> bool:
        """Whether the bytes read so far are a word of the language."""

    @abstractmethod
    def shortest(self, state: int) -> int:
        """Fewest further bytes to acceptance, 0 when `state` accepts."""

    def next(self, state: int, byte: int) -> int:
        """The successor of `state` under one byte."""
        return int(self.row(state)[byte]) if state else DEAD

    def run(self, text: bytes, state: int | None = None) -> int:
        """The state after `text`, from `state` or from the start."""
        at = self.start if state is None else state
        row = self.row
        for byte in text:
            if at == DEAD:
                break
            at = row(at).item(byte)
        return at

    def matches(self, text: bytes) -> bool:
        """Whether `text` is a word of the language."""
        at = self.run(text)
        return at != DEAD and self.accepting(at)


class TextLanguage(Language):
    """A language of UTF-8 encoded texts. Never leads outside well-formed UTF-8."""

    @abstractmethod
    def boundary(self, state: int) -> bool:
        """Whether the bytes read so far end between two code points."""

    @abstractmethod
    def universal(self, state: int) -> bool:
        """True when `state` is at a boundary and every continuation by whole code points is accepted.

        May be False for a state that has the property without it being evident.
        """

    def padding(self, state: int) -> int | None:  # noqa: ARG002
        """So many code points suffice to complete the text, whatever comes before them; None where it is not known.

        A state with a padding takes every continuation, and so does every state that follows.
        """
        return None

    @abstractmethod
    def lengths(self, state: int) -> LengthSet:
        """The numbers of further code points after which a word can be complete.

        A code point counts with its first byte: inside one, only those after it are counted.
        """
