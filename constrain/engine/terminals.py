"""Terminal tables of a vocabulary: built when a trie node is first met in free text, shared by all its grammars."""

from __future__ import annotations

import functools
import threading
import weakref
from bisect import bisect
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from constrain.engine.row_memory import RowMemory, populate
from constrain.grammars.json_schema.text_distance import spelling_with
from constrain.grammars.languages.base import Language
from constrain.grammars.languages.text import FREE_TEXT
from constrain.kernels import memory as m
from constrain.kernels.classes import (
    ASCII_CLASSES,
    CLASS_BY_FIRST,
    CLASS_BY_SECOND,
    NO_CLASS,
    class_rows,
    classify,
    loop_row,
    token_classes,
)
from constrain.kernels.layout import X_BACKSLASH, X_HEX, X_HIGH, X_HIGH_BACKSLASH, X_LOW, X_NONE
from constrain.kernels.marks import walk_size
from constrain.kernels.mask import TABLE_WIDTH
from constrain.kernels.memory import NODE_WIDTH, ROOT_WIDTH
from constrain.kernels.terminal import content_row, scan
from constrain.kernels.text_walk import NO_ROW
from constrain.kernels.trie import Trie, children, trie_of
from constrain.vocabulary import Vocabulary

_LOOP_ROWS = 2048  # rows of loops kept for one vocabulary
_KEPT_BYTES = 16 << 20  # of rows of states
_ROOM = 4096  # rows there is room for before all have to be copied
_AHEAD = 128  # rows whose memory is asked for before they are written
_WIDE = 64  # words with tokens from which on a row is worth keeping
_UNLIMITED = 1 << 30
_LISTED = 1024  # content lists up to this length are marked one by one, longer ones have a ready row


_BETWEEN = 1 << 16  # the state of free text between two characters


class Terminals:
    """Everything about one vocabulary that the kernels read and no grammar changes."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.lock = threading.Lock()
        trie = vocabulary.trie
        self.words = max(1, vocabulary.bitmask_words)
        self.rows = RowMemory()
        self.size = vocabulary.size
        self._tokens = [t or b"" for t in vocabulary.token_bytes]
        self.single_bytes = frozenset(t[0] for t in self._tokens if len(t) == 1)
        self.spelling = spelling_with(self.single_bytes)
        sizes = np.fromiter(map(len, self._tokens), dtype=np.int64, count=len(self._tokens))
        offsets = np.zeros(len(self._tokens) + 1, dtype=np.int32)
        np.cumsum(sizes, out=offsets[1:])
        self.longest = max(1, vocabulary.longest)
        self.fixed: dict[int, NDArray[np.generic]] = {
            m.T_NODE: _nodes(trie),
            m.T_TID: _copy(trie.token_ids, np.int32),
            m.TOKEN_OFF: offsets,
            m.TOKEN_BYTES: np.frombuffer(b"".join(self._tokens) or b"\0", dtype=np.uint8).copy(),
            m.EOS: np.array([e for e in vocabulary.eos_token_ids if 0 <= e < vocabulary.size], dtype=np.int32),
        }
        self._addresses: NDArray[np.int64] | None = None  # of `fixed`
        self._list_children(trie)
        self._classify(trie)
        self._add_special_trie()
        # Room that is likely to do: to make more means to copy, and what is not written to takes no memory.
        self._table = np.zeros(TABLE_WIDTH * 4096, dtype=np.int64)
        self._cross = np.zeros(1 << 21, dtype=np.int32)
        self._rows = np.zeros(self.words * _ROOM, dtype=np.int32)
        self._asked = 0  # words of it that were asked for ahead
        self._tables = self._cross_used = self._row_count = 0
        self._sizes = np.zeros(4, dtype=np.int64)  # by row: code points of its longest token, or more
        self._numbers: dict[tuple[int, int, int], int] = {}
        self._limited: dict[tuple[int, int], int] = {}  # by table and limit of code points
        self._limits: dict[int, list[tuple[int, int]]] = {}  # by table: the limits in order, with their rows
        self._loop_rows: dict[int, int] = {}
        self._limited_loops: dict[tuple[int, int], int] = {}  # by the row of a loop and a limit
        self._kept: weakref.WeakKeyDictionary[Language, dict[int, int]] = weakref.WeakKeyDictionary()
        self._kept_rows = 0
        count = self.fixed[m.T_TID].size + 1
        self._content = np.empty((count, 2), dtype=np.int32)
        self._leaving = np.empty((count, 4), dtype=np.int32)
        self._scratch = np.zeros((self.longest + 2, 4), dtype=np.int64)
        self._none = -1, self._new_row()  # a limit that no token keeps, and its row
        self._plain_row = self._new_row()
        plain = np.ones(32 * self.words, dtype=np.bool_)
        plain[self.fixed[m.X_TID]] = False
        self._rows[self._plain_row * self.words :][: self.words] = np.packbits(plain, bitorder="little").view("<i4")

    def _list_children(self, trie: Trie) -> None:
        """The children of every node side by side, so that a walk looks at bytes in a row and skips most nodes."""
        nodes = trie.byte.size
        first, child = np.zeros(nodes + 1, dtype=np.int32), np.zeros(nodes, dtype=np.int32)
        children(trie.depth, trie.end, first, child)
        self.fixed[m.T_KIDS], self.fixed[m.T_KID_NODE] = first, child
        self.fixed[m.T_KID_BYTE] = trie.byte[child]

    @functools.cached_property
    def spelled(self) -> dict[bytes, int]:
        """By its bytes, the id of a token of text; of several with the same bytes, the first."""
        ends = set(self.fixed[m.EOS].tolist())
        found: dict[bytes, int] = {}
        for token, text in enumerate(self._tokens):
            if text and token not in ends:
                found.setdefault(text, token)
        return found

    def _classify(self, trie: Trie) -> None:
        """Sort the characters of the vocabulary into classes, by node and by token."""
        nodes = trie.byte.size
        below = np.zeros(nodes, dtype=np.int64)
        own = np.zeros(nodes, dtype=np.uint8)
        height = np.zeros(nodes, dtype=np.int32)
        utf8 = _utf8_automaton()
        scratch = np.zeros((nodes, utf8.shape[0]), dtype=np.int64)
        classify(trie.byte, trie.end, CLASS_BY_FIRST, CLASS_BY_SECOND, utf8, scratch, below, own, height)
        self.fixed[m.T_CLASSES], self.fixed[m.T_OWN], self.fixed[m.T_HEIGHT] = below, own, height
        root = np.zeros((256, ROOT_WIDTH), dtype=np.int64)
        children = np.flatnonzero(trie.depth == 1)
        root[trie.byte[children], 0] = children
        root[trie.byte[children], 1] = below[children] | np.int64(1) << np.minimum(own[children], NO_CLASS)
        self.fixed[m.T_ROOT] = root.reshape(-1)
        token_classes_of = np.full(32 * self.words, 1 << NO_CLASS, dtype=np.int64)
        self._token_points = np.zeros(32 * self.words, dtype=np.int32)
        token_classes(
            trie.byte, trie.depth, own, trie.token_offset, trie.token_ids, self.longest,
            token_classes_of, self._token_points,
        )  # fmt: skip
        # By class, the tokens that hold it; and last those that hold any class beyond ASCII, or what is in no class.
        self._with_class = np.zeros((NO_CLASS + 2, self.words), dtype=np.int32)
        class_rows(token_classes_of, self._with_class[:-1])
        np.bitwise_or.reduce(self._with_class[ASCII_CLASSES:-1], axis=0, out=self._with_class[-1])
        self._longest_first = np.argsort((self.longest - self._token_points).astype(np.int16), kind="stable").astype(
            np.int32
        )
        self._up_to: dict[int, NDArray[np.int32]] = {}  # by number of code points: tokens that have no more

    def _add_special_trie(self) -> None:
        """The trie of the tokens that hold a quote or a backslash."""
        text = self.fixed[m.TOKEN_BYTES]
        at = np.flatnonzero((text == 0x22) | (text == 0x5C))
        ids = np.unique(np.searchsorted(self.fixed[m.TOKEN_OFF], at, side="right") - 1)
        special = trie_of([self._tokens[i] for i in ids.tolist()], ids.astype(np.int32))
        self.fixed[m.X_NODE] = _nodes(special)
        self.fixed[m.X_TID] = _copy(special.token_ids, np.int32)

    def bind(self, context: m.Context) -> None:
        """Point a context at the tables as they are now."""
        for table, data in (
            (m.TABLE, self._table), (m.CROSS, self._cross), (m.TABLE_ROWS, self._rows), (m.LOOP_SIZES, self._sizes),
        ):  # fmt: skip
            if context.tables.get(table) is not data:
                context.bind(table, data)

    def bind_fixed(self, context: m.Context) -> None:
        """Point a new context at everything."""
        if self._addresses is None:
            self._addresses = m.addresses_of(self.fixed)
        context.bind_all(self.fixed, self._addresses)
        context.array[m.ROW_WORDS] = self.words
        context.array[m.LONGEST] = self.longest
        context.array[m.PLAIN_ROW] = self._plain_row
        context.allocate(m.WALK, walk_size(self.longest))
        self.bind(context)

    def table(self, context: m.Context, node: int, key: int) -> int:
        """The number of the table for a trie node and a state of free text (1 + state << 16 | escape class).

        What may be escaped in the text is as the context says.
        """
        plain = int(context.array[m.PLAIN_ESCAPES])
        with self.lock:
            found = self._numbers.get((node, key, plain))
            if found is None:
                found = self._numbers[node, key, plain] = self._build(context, node, key)
            self.bind(context)
            return found

    @functools.cached_property
    def first_tables(self) -> list[tuple[int, int]]:
        """Node and key of the tables that any grammar with a string needs: within it, and behind its quote."""
        quotes = [node for node in map(self._node_of, (b'"', b' "')) if node]
        return [(0, _BETWEEN | X_BACKSLASH), *((node, _BETWEEN | X_NONE) for node in (0, *quotes))]

    def built_tables(self, context: m.Context) -> list[tuple[int, int, int]]:
        """Those of the first tables that are built: node, key and number of each."""
        plain = int(context.array[m.PLAIN_ESCAPES])
        found = [(node, key, self._numbers.get((node, key, plain))) for node, key in self.first_tables]
        return [(node, key, number) for node, key, number in found if number is not None]

    def _node_of(self, text: bytes) -> int:
        """The node of the trie that a text leads to; 0 where no token begins so."""
        kids, nodes, node = self.fixed[m.T_KIDS], self.fixed[m.T_KID_NODE], 0
        for byte in text:
            first, stop = int(kids[node]), int(kids[node + 1])
            found = np.flatnonzero(self.fixed[m.T_KID_BYTE][first:stop] == byte)
            if not found.size:
                return 0
            node = int(nodes[first + int(found[0])])
        return node

    def limited_row(self, context: m.Context, table: int, limit: int) -> int:
        """The number of the row of a table's tokens that need at most `limit` code points."""
        with self.lock:
            found = self._limited.get((table, limit))
            if found is None:
                at, count, row = self._table[table * TABLE_WIDTH : table * TABLE_WIDTH + 3].tolist()
                known = self._limits.setdefault(table, [self._none, *([] if row < 0 else [(_UNLIMITED, row)])])
                place = bisect(known, (limit, 0))
                more = known[place] if place < len(known) else self._none
                pairs = self._cross[at : at + 2 * count]
                found = self._limited[table, limit] = self._add_row(pairs, limit, known[place - 1], more)
                known.insert(place, (limit, found))
            self.bind(context)
            return found

    def loop_row(self, context: m.Context, loop: int) -> int:
        """The number of the row of the tokens that consist of characters of a loop; NO_ROW where there are too many."""
        with self.lock:
            found = self._new_loop_row(loop)
            self.bind(context)
            return found

    def limited_loop_row(self, context: m.Context, row: int, limit: int) -> int:
        """The row of those tokens of a loop's row that have at most `limit` code points."""
        with self.lock:
            found = self._limited_loops.get((row, limit))
            if found is None:
                if len(self._loop_rows) + len(self._limited_loops) >= _LOOP_ROWS:
                    return NO_ROW
                found = self._limited_loops[row, limit] = self._new_row()
                rows, words = self._rows, self.words
                some = self.with_points_up_to(limit)
                np.bitwise_and(rows[row * words :][:words], some, out=rows[found * words :][:words])
                self._sizes[found] = min(limit, self._sizes[row])
            self.bind(context)
            return found

    def has_between(self, row: int, low: int, high: int) -> bool:
        """Whether a loop's row has tokens of more than `low` and up to `high` code points."""
        with self.lock:
            tokens = self._rows[row * self.words :][: self.words]
            return bool((tokens & self.with_points_up_to(high) & ~self.with_points_up_to(low)).any())

    def _new_loop_row(self, loop: int) -> int:
        found = self._loop_rows.get(loop)
        if found is None:
            if len(self._loop_rows) + len(self._limited_loops) >= _LOOP_ROWS:
                return NO_ROW
            found = self._loop_rows[loop] = self._new_row()
            row = self._rows[found * self.words : (found + 1) * self.words]
            if loop >> ASCII_CLASSES:
                others = [c for c in range(NO_CLASS + 1) if not loop >> c & 1]
            else:
                others = [c for c in range(ASCII_CLASSES) if not loop >> c & 1] + [NO_CLASS + 1]
            numbers = np.array(others, dtype=np.int64)
            self._sizes[found] = loop_row(self._with_class, numbers, self._longest_first, self._token_points, row)
        return found

    def kept_content(self, context: m.Context, language: Language, state: int) -> int | None:
        """The row of the tokens that a string in a state of a language can go on with, quote and escapes apart."""
        with self.lock:
            found = self._kept.get(language, {}).get(state)
            if found is not None:
                self.bind(context)
            return found

    def keep_content(self, context: m.Context, language: Language, state: int, row: NDArray[np.int32]) -> None:
        """Keep such a row for other grammars, unless it is short or many are kept; `row` may have other tokens too."""
        if np.count_nonzero(row) < _WIDE:
            return
        with self.lock:
            known = self._kept.setdefault(language, {})
            if state not in known and self._kept_rows < _KEPT_BYTES // (4 * self.words):
                self._kept_rows += 1
                number = known[state] = self._new_row()
                self._rows[number * self.words : (number + 1) * self.words] = (
                    row & self._rows[self._plain_row * self.words :][: self.words]
                )
                self.bind(context)

    def with_points_up_to(self, limit: int) -> NDArray[np.int32]:
        """The tokens of at most `limit` code points, as a packed row; the caller holds the lock, or is alone."""
        limit = min(limit, self.longest)
        found = self._up_to.get(limit)
        if found is None:
            bits = np.packbits(self._token_points <= limit, bitorder="little")
            found = self._up_to[limit] = bits.view("<i4").astype(np.int32)
        return found

    def _build(self, context: m.Context, node: int, key: int) -> int:
        q = int(context.array[m.FREE_TEXT_STATE]) + (key >> 16) - 1
        around, context.array[m.WIRE] = int(context.array[m.WIRE]), 0  # what a string must not hold is no matter here
        inside, crossing = scan(
            context.address, node, q, _representative(key & 0xFFFF), self._content, self._leaving, self._scratch
        )
        context.array[m.WIRE] = around
        pairs = self._content[:inside]
        pairs = pairs[np.argsort(pairs[:, 1], kind="stable")].reshape(-1)
        content = self._add_cross(pairs)
        row = self._add_row(pairs, _UNLIMITED, self._none, self._none) if inside > _LISTED else -1
        ends: list[int] = []
        remainders: list[tuple[bytes, int, int]] = []
        escaped: list[int] = []
        for token, points, skip, escape in self._leaving[:crossing].tolist():
            rest = self._tokens[token][skip:]
            if rest:
                remainders.append((rest, token, points))
            else:
                ends += (token, points)
            if escape:
                escaped.append(token)
        nodes, node_count, tokens = _remainder_trie(remainders)
        record = (
            content, inside, row,
            self._add_cross(ends), len(ends) // 2,
            self._add_cross(nodes), node_count, self._add_cross(tokens),
            self._add_cross(escaped), len(escaped),
        )  # fmt: skip
        number = self._tables
        at = number * TABLE_WIDTH
        if at + TABLE_WIDTH > self._table.size:
            self._table = np.concatenate([self._table, np.zeros_like(self._table)])
        self._table[at : at + TABLE_WIDTH] = record
        self._tables += 1
        return number

    def _add_cross(self, values: list[int] | NDArray[np.int32]) -> int:
        at = self._cross_used
        end = at + len(values)
        if end > self._cross.size:
            grown = np.zeros(max(end, 2 * self._cross.size), dtype=np.int32)
            grown[:at] = self._cross[:at]
            self._cross = grown
        self._cross[at:end] = values
        self._cross_used = end
        return at

    def _new_row(self) -> int:
        number = self._row_count
        if (number + 1) * self.words > self._rows.size:
            self._asked = self._rows.size
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        if (number + _AHEAD) * self.words > self._asked:
            ahead = min(self._rows.size, self._asked + _AHEAD * self.words)
            populate(self._rows[self._asked : ahead])
            self._asked = ahead
        if number >= self._sizes.size:
            self._sizes = np.concatenate([self._sizes, np.zeros_like(self._sizes)])
        self._row_count += 1
        return number

    def _add_row(self, pairs: NDArray[np.int32], limit: int, fewer: tuple[int, int], more: tuple[int, int]) -> int:
        """Add the row of the tokens within a limit, made from those of a lower and a higher one: (limit, row) each."""
        number, words = self._new_row(), self.words
        row, of_fewer, of_more = (self._rows[n * words : (n + 1) * words] for n in (number, fewer[1], more[1]))
        content_row(pairs, limit, fewer[0], of_fewer, more[0], of_more, row)
        return number


def _utf8_automaton() -> NDArray[np.int32]:
    """Well-formed UTF-8 as a table, states x 256, numbered from 1 for "between two characters"; 0 is dead."""
    states = [FREE_TEXT.start]
    for state in states:
        states.extend(s for s in np.unique(FREE_TEXT.row(state)).tolist() if s and s not in states)
    number = {0: 0} | {s: i + 1 for i, s in enumerate(states)}
    table = np.zeros((len(states) + 1, 256), dtype=np.int32)
    for state in states:
        table[number[state]] = [number[t] for t in FREE_TEXT.row(state).tolist()]
    return table


def _nodes(trie: Trie) -> NDArray[np.int32]:
    """The nodes of a trie as the kernels read them, flat, and one more that bounds the tokens of the last."""
    count = trie.byte.size
    nodes = np.zeros((count + 1, NODE_WIDTH), dtype=np.int32)
    nodes[:count, 0] = trie.byte | trie.depth.astype(np.int32) << 8
    nodes[:count, 1] = trie.end
    nodes[:, 2], nodes[:count, 3] = trie.token_offset, trie.token_offset[1:]
    nodes[count, 1], nodes[count, 3] = count, trie.token_offset[-1]
    return nodes.reshape(-1)


def _copy(data: NDArray[np.generic], dtype: type[np.generic]) -> NDArray[np.generic]:
    """The data as a contiguous array of the dtype; shared with the caller where it is one already."""
    return np.ascontiguousarray(data, dtype=dtype)


def _representative(escape: int) -> int:
    """An escape register of the given class; see `escape_class` in the kernels."""
    kind, digits, group = escape & 15, escape >> 4 & 15, escape >> 8
    value = 0
    if kind == X_HEX and group == 1:
        value = 0xD
    elif kind == X_HEX and group == 2:
        value = 0xD8 << (4 * (digits - 2))
    elif kind == X_LOW and digits:
        value = 0xDC00 >> (4 * (4 - digits))
    assert kind <= max(X_HEX, X_HIGH, X_HIGH_BACKSLASH, X_LOW)
    return kind | digits << 20 | value << 24


@dataclass(slots=True)
class _Node:
    byte: int
    depth: int
    end: int
    first: int
    count: int


def _remainder_trie(remainders: list[tuple[bytes, int, int]]) -> tuple[list[int], int, list[int]]:
    """A preorder trie: (byte, end, first pair, pairs, depth) by node, the number of nodes, and the pairs."""
    nodes: list[_Node] = []
    pairs: list[int] = []
    path: list[int] = []
    previous = b""
    for text, token, points in sorted(remainders):
        common = 0
        while common < len(previous) and common < len(text) and previous[common] == text[common]:
            common += 1
        for at in path[common:]:
            nodes[at].end = len(nodes)
        del path[common:]
        for depth in range(common, len(text)):
            path.append(len(nodes))
            nodes.append(_Node(text[depth], depth + 1, 0, len(pairs) // 2, 0))
        nodes[path[-1]].count += 1
        pairs += (token, points)
        previous = text
    for at in path:
        nodes[at].end = len(nodes)
    flat = [x for n in nodes for x in (n.byte, n.end, n.first, n.count, n.depth)]
    return flat, len(nodes), pairs
