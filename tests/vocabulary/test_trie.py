"""The trie against the plain list of tokens."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.kernels.trie import Trie, build_trie

short_alphabet = st.binary(max_size=6).map(lambda b: bytes(x % 3 for x in b))
token_lists = st.lists(st.one_of(st.none(), st.binary(max_size=8), short_alphabet), max_size=120)


def paths(trie: Trie) -> list[bytes]:
    """The byte string of every node, rebuilt from `byte` and `depth`."""
    found: list[bytes] = []
    current = b""
    for byte, depth in zip(trie.byte.tolist(), trie.depth.tolist(), strict=True):
        current = current[: depth - 1] + bytes([byte]) if depth else b""
        found.append(current)
    return found


def assert_is_trie_of(trie: Trie, tokens: list[bytes | None]) -> None:
    nodes = paths(trie)
    # The nodes are the prefixes of all tokens, each once, in lexicographic order: that is preorder, children sorted.
    prefixes = {b""} | {t[:k] for t in tokens if t for k in range(1, len(t) + 1)}
    assert nodes == sorted(prefixes)
    offsets, ids, end = trie.token_offset.tolist(), trie.token_ids.tolist(), trie.end.tolist()
    ending: dict[bytes, list[int]] = {}
    for token_id, token in enumerate(tokens):
        if token:
            ending.setdefault(token, []).append(token_id)
    for i, path in enumerate(nodes):
        assert ids[offsets[i] : offsets[i + 1]] == ending.get(path, [])
        assert nodes[i : end[i]] == [n for n in nodes if n.startswith(path)]
        below = sorted(t for p, ts in ending.items() if p.startswith(path) for t in ts)
        assert sorted(ids[offsets[i] : offsets[end[i]]]) == below
    assert offsets[0] == 0
    assert offsets[-1] == len(ids) == sum(bool(t) for t in tokens)


@given(token_lists)
@settings(max_examples=150, deadline=None)
def test_matches_brute_force(tokens: list[bytes | None]) -> None:
    assert_is_trie_of(build_trie(tokens), tokens)


@pytest.mark.parametrize(
    "tokens",
    [
        [],
        [None, b""],
        [b"a"],
        [b"abc"] * 30,  # more equal tokens than an insertion sort takes
        [bytes([b]) for b in reversed(range(256))],
        [bytes([b, c]) for b in range(0, 256, 17) for c in range(255, -1, -40)] + [b"\0", b"\xff"],
        [b"x" * 300, b"x" * 299 + b"y", b"x"],
    ],
    ids=["empty", "nothing spelled", "one", "equal", "all bytes", "wide", "long"],
)
def test_shapes(tokens: list[bytes | None]) -> None:
    assert_is_trie_of(build_trie(tokens), tokens)


def test_arrays_are_what_kernels_expect() -> None:
    trie = build_trie([b"ab", None, b"b", b"ab"])
    assert [a.dtype for a in trie] == [np.uint8, np.int32, np.int32, np.int32, np.int32]
    for array in trie:
        assert array.flags.c_contiguous
        assert not array.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        trie.end[0] = 0
