"""The vocabulary as a trie of bytes, flat and in preorder.

A walk that asks an automaton about every token visits each shared prefix once. Laid out in preorder the walk is a
plain loop with no stack: node `i + 1` is the first child of `i` if there is one, and a refused byte jumps to `end[i]`.
Since tokens are listed in the order of their nodes, all tokens below a node are one slice of `token_ids`.

The builder is a most-significant-byte radix sort whose recursion *is* the preorder: every range of tokens with a common
prefix is one node, sorting it by the next byte gives its children. Cost is proportional to the bytes of the
vocabulary: 14 ms for 131k tokens, and as much again to lay them out as arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from constrain.kernels.jit import njit
from constrain.kernels.share import share_out

Int32Array = npt.NDArray[np.int32]
Uint8Array = npt.NDArray[np.uint8]

_SMALL = 24  # ranges up to this size are sorted by insertion; clearing 257 counters would cost more


class Trie(NamedTuple):
    """N nodes in preorder, children in the order of their bytes; node 0 is the root (the empty string).

    All arrays are contiguous and read-only. Tokens that end at node `i` are
    `token_ids[token_offset[i]:token_offset[i + 1]]`, ascending; tokens in the whole subtree of `i` are
    `token_ids[token_offset[i]:token_offset[end[i]]]`.

    Attributes:
        byte: uint8[N], the byte on the edge into the node; 0 at the root.
        end: int32[N], the first node after the subtree.
        depth: int32[N], bytes from the root.
        token_offset: int32[N + 1], where the tokens of a node start.
        token_ids: int32[T], ids of the tokens.
    """

    byte: Uint8Array
    end: Int32Array
    depth: Int32Array
    token_offset: Int32Array
    token_ids: Int32Array


def build_trie(tokens: Sequence[bytes | None]) -> Trie:
    """The trie of all tokens that are neither None nor empty; ids are positions in `tokens`."""
    present = [*filter(None, tokens)]
    used = np.fromiter(map(bool, tokens), np.bool_, len(tokens))
    return trie_of(present, np.flatnonzero(used).astype(np.int32))


def trie_of(tokens: Sequence[bytes], ids: Int32Array) -> Trie:
    """The trie of tokens, none of them empty, with their ids (int32, ascending)."""
    share_out()  # of the kernels that are needed once there is a vocabulary
    sizes = np.fromiter(map(len, tokens), np.int64, len(tokens))
    starts = np.zeros(len(tokens) + 1, dtype=np.int64)
    np.cumsum(sizes, out=starts[1:])
    if starts[-1] >= np.iinfo(np.int32).max:
        raise ValueError("a vocabulary of 2 GiB or more is not supported")
    text = np.frombuffer(b"".join(tokens), dtype=np.uint8)
    longest = int(sizes.max(initial=0))
    limit = text.size + 1  # nodes at most: one a byte, and the root
    byte = np.zeros(limit, np.uint8)
    end, depth, token_offset = (np.zeros(limit + extra, np.int32) for extra in (0, 0, 1))
    token_ids = np.zeros(ids.size, np.int32)
    nodes = _build(text, starts, ids, longest, byte, end, depth, token_offset, token_ids)
    return freeze(
        Trie(byte[:nodes].copy(), end[:nodes].copy(), depth[:nodes].copy(), token_offset[: nodes + 1].copy(), token_ids)
    )


def freeze(trie: Trie) -> Trie:
    """The same trie with its arrays made read-only, so that kernels are compiled for one kind of array only."""
    for array in trie:
        array.flags.writeable = False
    return trie


@njit
def children(depth: Any, end: Any, first: Any, child: Any) -> None:
    """List the children of all N nodes together, parent by parent: int32[N + 1] where those of a node start, int32[N]
    the nodes, zeroed both.
    """
    nodes = depth.size
    path = np.zeros(nodes + 1, np.int64)
    for i in range(1, nodes):
        path[depth[i]] = i
        first[path[depth[i] - 1] + 1] += 1
    for i in range(nodes):
        first[i + 1] += first[i]
    for i in range(nodes):
        at = first[i]
        kid = i + 1
        while kid < end[i]:
            child[at] = kid
            at += 1
            kid = end[kid]


@njit
def _build(text, starts, ids, longest, byte, end, depth, token_offset, token_ids):  # type: ignore[no-untyped-def]
    """Fills the five arrays of the trie; returns the number of nodes."""
    count = ids.size
    order = np.arange(count)
    scratch = np.empty(count, np.int64)
    counters = np.empty(258, np.int64)
    # Pending ranges of `order` are disjoint and not empty, so there are never more than tokens (or the root alone).
    stack_low = np.empty(count + 1, np.int64)
    stack_high = np.empty(count + 1, np.int64)
    stack_depth = np.empty(count + 1, np.int64)
    path = np.empty(longest + 1, np.int64)  # the open node of each depth
    open_depth = -1
    nodes = 0
    placed = 0

    stack_low[0] = 0
    stack_high[0] = count
    stack_depth[0] = 0
    pending = 1
    while pending > 0:
        pending -= 1
        low = stack_low[pending]
        high = stack_high[pending]
        level = stack_depth[pending]

        while open_depth >= level:
            end[path[open_depth]] = nodes
            open_depth -= 1
        path[level] = nodes
        open_depth = level
        byte[nodes] = text[starts[order[low]] + level - 1] if level > 0 else 0
        depth[nodes] = level
        token_offset[nodes] = placed
        nodes += 1

        # Sort the range by the next byte; tokens that end here come first. Stable, so equal tokens stay ascending.
        if high - low > _SMALL:
            for b in range(258):
                counters[b] = 0
            for k in range(low, high):
                counters[_next_byte(text, starts, order[k], level) + 2] += 1
            for b in range(1, 258):
                counters[b] += counters[b - 1]
            for k in range(low, high):
                b = _next_byte(text, starts, order[k], level) + 1
                scratch[low + counters[b]] = order[k]
                counters[b] += 1
            for k in range(low, high):
                order[k] = scratch[k]
        else:
            for k in range(low + 1, high):
                token = order[k]
                b = _next_byte(text, starts, token, level)
                j = k
                while j > low and _next_byte(text, starts, order[j - 1], level) > b:
                    order[j] = order[j - 1]
                    j -= 1
                order[j] = token

        while low < high and starts[order[low] + 1] - starts[order[low]] == level:
            token_ids[placed] = ids[order[low]]
            placed += 1
            low += 1
        while low < high:  # from the last child to the first, so that the first is taken next
            b = _next_byte(text, starts, order[high - 1], level)
            first = high - 1
            while first > low and _next_byte(text, starts, order[first - 1], level) == b:
                first -= 1
            stack_low[pending] = first
            stack_high[pending] = high
            stack_depth[pending] = level + 1
            pending += 1
            high = first

    while open_depth >= 0:
        end[path[open_depth]] = nodes
        open_depth -= 1
    token_offset[nodes] = placed
    return nodes


@njit
def _next_byte(text, starts, token, level):  # type: ignore[no-untyped-def]
    """The byte of a token after its first `level` bytes, -1 where it has no more."""
    at = starts[token] + level
    return np.int64(text[at]) if at < starts[token + 1] else np.int64(-1)
