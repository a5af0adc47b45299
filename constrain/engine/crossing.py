"""Which tokens of a vocabulary get from one value to another: its trie in Python, and lists of such tokens.

Where items must differ, few tokens can write one that is refused. Most stay within one value, and what they write can
still become another. Lists of those that do not are made here from what the tokens look like alone; they may hold more
tokens than matter, never fewer.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from constrain.kernels import memory as m

if TYPE_CHECKING:
    from constrain.engine.terminals import Terminals


class Crossing:
    """The vocabulary's trie in Python, and the tokens that get to another item."""

    def __init__(self, fixed: dict[int, Any], words: int) -> None:
        nodes = fixed[m.T_NODE].reshape(-1, m.NODE_WIDTH)
        self.byte = memoryview(nodes[:, 0] & 0xFF)
        self.end = memoryview(nodes[:, 1].copy())
        self._first = memoryview(nodes[:, 2].copy())
        self._ids = fixed[m.T_TID]
        self._tokens = memoryview(self._ids)
        self._offsets = memoryview(fixed[m.TOKEN_OFF])
        self._data = fixed[m.TOKEN_BYTES].tobytes()
        self._words = words
        offsets = fixed[m.TOKEN_OFF]

        def with_byte(byte: int) -> list[int]:
            places = np.flatnonzero(fixed[m.TOKEN_BYTES] == byte)
            return np.unique(np.searchsorted(offsets, places, side="right") - 1).tolist()  # type: ignore[no-any-return]

        comma, bracket = with_byte(0x2C), with_byte(0x5B)
        self.commas = (self._as_row(comma), self._as_row(t for t in comma if _follows(self.text(t), b",", quoted=True)))
        self.further = tuple(
            self._as_row(t for t in comma if _follows(self.text(t), b",", quoted=quoted, more=True))
            for quoted in (False, True)
        )
        self.opening = tuple(
            self._as_row(t for t in bracket if _follows(self.text(t), b"[", quoted=quoted, more=True))
            for quoted in (False, True)
        )
        # Of those the ones that may write two strings in the array that they open, or another one after a comma.
        self.opening_texts = tuple(
            self._as_row(t for t in bracket if _quotes_after(self.text(t), b"[", quoted=quoted) >= 4)
            for quoted in (False, True)
        )
        quotes = with_byte(0x22)
        pairs = [t for t in quotes if _SURROGATE.search(self.text(t))]  # not told what they spell
        self.further_texts = tuple(
            self._as_row((*pairs, *(t for t in comma if _quotes_after(self.text(t), b",", quoted=quoted) >= 2)))
            for quoted in (False, True)
        )
        self._rests: dict[bytes, set[bytes]] = {}
        self._texts: dict[bytes, set[bytes]] = {}
        for t in quotes:
            for pattern, out in ((_REST, self._rests), (_TEXT, self._texts)):
                found = pattern.match(self.text(t))
                if found is not None:
                    out.setdefault(_unescaped(found[1]), set()).add(found[0])

    def text(self, token: int) -> bytes:
        """The bytes of a token."""
        return self._data[self._offsets[token] : self._offsets[token + 1]]

    def ways_to_end(self, text: bytes) -> Iterable[bytes]:
        """How tokens begin that write just this and the quote that ends a string in which it is the rest."""
        return self._rests.get(text, ())

    def ways_to_write(self, text: bytes) -> Iterable[bytes]:
        """How tokens begin that write this string with both quotes."""
        return self._texts.get(text, ())

    def node(self, prefix: bytes) -> int:
        """The node of the trie to which the beginning of a token leads."""
        node = 0
        for byte in prefix:
            node += 1
            while self.byte[node] != byte:
                node = self.end[node]
        return node

    def _as_row(self, tokens: Iterable[int]) -> NDArray[np.int32]:
        bits = np.zeros(32 * self._words, dtype=bool)
        for t in tokens:
            bits[t] = True
        return np.packbits(bits, bitorder="little").view(np.int32)

    def candidates(self, row: NDArray[np.int32], among: NDArray[np.int32]) -> list[int]:
        """The tokens marked in both rows."""
        both = row & among
        out: list[int] = []
        for word in np.flatnonzero(both).tolist():
            bits = int(both[word]) & 0xFFFFFFFF
            while bits:
                low = bits & -bits
                out.append(32 * word + low.bit_length() - 1)
                bits ^= low
        return out

    def mark(self, row: NDArray[np.int32], token: int, allowed: bool) -> None:
        """Mark a token, or unmark it."""
        bits = int(row[token >> 5]) & 0xFFFFFFFF
        bits = bits | 1 << (token & 31) if allowed else bits & ~(1 << (token & 31))
        row[token >> 5] = bits - (1 << 32) if bits >> 31 else bits

    def at(self, node: int) -> list[int]:
        """The tokens at a node."""
        return self._ids[self._first[node] : self._first[node + 1]].tolist()  # type: ignore[no-any-return]

    def below(self, row: NDArray[np.int32], node: int) -> list[int]:
        """The marked tokens at and below a node."""
        ids = self._ids[self._first[node] : self._first[self.end[node]]]
        return ids[(row[ids >> 5] >> (ids & 31)) & 1 != 0].tolist()  # type: ignore[no-any-return]

    def any_below(self, row: NDArray[np.int32], node: int) -> bool:
        """Whether a token at or below a node is marked."""
        first, stop = self._first[node], self._first[self.end[node]]
        if stop - first > 64:
            return True
        words = memoryview(row.data)
        return any(words[t >> 5] >> (t & 31) & 1 for t in self._tokens[first:stop])

    def clear_below(self, row: NDArray[np.int32], node: int) -> None:
        """Unmark the tokens at and below a node."""
        for token in self.below(row, node):
            self.mark(row, token, False)


_CONTENT = rb'((?:[^"\\]|\\["\\/bfnrt]|\\u(?:[0-9a-ce-fA-CE-F][0-9a-fA-F]|[dD][0-7])[0-9a-fA-F]{2})*)"'
_REST = re.compile(_CONTENT)
_TEXT = re.compile(rb'[ \t\r\n]*"' + _CONTENT)
_SURROGATE = re.compile(rb'(?s)\\u[dD][89a-fA-F].*"')
_ESCAPE = re.compile(rb"\\(?:u(.{4})|(.))")
_SHORT = dict(zip(b'"\\/bfnrt', b'"\\/\b\f\n\r\t', strict=True))


def _unescaped(content: bytes) -> bytes:
    """The text that the content of a string spells, with no escape but of single code points in it."""
    return _ESCAPE.sub(lambda e: chr(int(e[1], 16)).encode() if e[1] else bytes((_SHORT[e[2][0]],)), content)


_known: weakref.WeakKeyDictionary[Terminals, Crossing] = weakref.WeakKeyDictionary()


def crossing_of(terminals: Terminals) -> Crossing:
    """The trie of a vocabulary in Python, made at first use."""
    found = _known.get(terminals)
    if found is None:
        found = _known[terminals] = Crossing(terminals.fixed, terminals.words)
    return found


def _follows(text: bytes, mark: bytes, *, quoted: bool, more: bool = False) -> bool:
    """Whether a token has the mark, after a quote where `quoted`, and with `more` goes on after it."""
    at = text.find(b'"') + 1 if quoted else 0
    if quoted and at == 0:
        return False
    found = text.find(mark, at)
    return found >= 0 and (not more or bool(text[found + 1 :].strip(b" \t\r\n")))


def _quotes_after(text: bytes, mark: bytes, *, quoted: bool) -> int:
    """How many quotes a token has after the mark, which comes after a quote where `quoted`; 0 where it has no mark."""
    at = text.find(b'"') + 1 if quoted else 0
    found = -1 if quoted and at == 0 else text.find(mark, at)
    return 0 if found < 0 else text.count(b'"', found)
