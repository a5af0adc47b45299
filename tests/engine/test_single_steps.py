"""The single steps of a sequence, which take no lock: what they accept, what they write, and what they run beside."""

from __future__ import annotations

import random
import threading
from typing import Any

import numpy as np
import pytest

import constrain
from constrain.engine.row_memory import RowMemory, RowPiece, populate
from constrain.kernels.distinct import distinct
from constrain.kernels.trie import build_trie, children
from tests.engine.each_token import each_token
from tests.oracles import VOCABULARIES, Walker, allowed, compiled, vocabulary

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 9}, "n": {"type": "integer"}, "b": {"type": "boolean"}},
    "required": ["name"],
    "additionalProperties": {"type": ["number", "null"]},
}


def _words(compiled_grammar: Any) -> int:
    return compiled_grammar.bitmask_words  # type: ignore[no-any-return]


def test_tokens_are_whole_numbers_of_the_vocabulary() -> None:
    grammar = compiled(SCHEMA, "mixed")
    size = grammar.vocabulary.size
    matcher = grammar.matcher()
    (brace,) = [i for i, t in enumerate(grammar.vocabulary.token_bytes) if t == b"{"][:1]
    for refused in (-1, -(1 << 40), size, size + 5, 1 << 40, grammar.vocabulary.eos_token_ids[0]):
        assert matcher.accept_token(refused) is False
    for wrong in (float(brace), "1", None):
        with pytest.raises(TypeError):
            matcher.accept_token(wrong)
    assert matcher.num_accepted == 0
    assert matcher.accept_token(np.int64(brace)) is True
    assert matcher.num_accepted == 1


def test_rows_of_every_kind_of_bitmask() -> None:
    grammar = compiled(SCHEMA, "mixed")
    words = _words(grammar)
    matcher = grammar.matcher()
    expected = np.zeros(words, dtype=np.int32)
    matcher.fill_next_token_bitmask(expected)
    assert expected.any()
    wide = np.full((3, words + 2), -1, dtype=np.int32)
    kinds = {
        "rows": np.full((3, words), -1, dtype=np.int32),
        "wide": wide,
        "part": np.full((3, words + 2), -1, dtype=np.int32)[:, 1 : words + 1],
        "columns first": np.asfortranarray(np.full((3, words), -1, dtype=np.int32)),
        "unsigned": np.full((3, words), 0xFFFFFFFF, dtype=np.uint32),
    }
    for name, bitmask in kinds.items():
        for index in (1, -1, np.int64(0)):
            for _ in range(2):  # the second time the bitmask is known
                bitmask[index] = 7
                matcher.fill_next_token_bitmask(bitmask, index)
                assert (bitmask[index].view(np.int32)[:words] == expected).all(), (name, index)
                assert not bitmask[index][words:].any()
        with pytest.raises(IndexError):
            matcher.fill_next_token_bitmask(bitmask, 3)
        with pytest.raises((IndexError, TypeError)):
            matcher.fill_next_token_bitmask(bitmask, 0.5)
    for bitmask in (np.zeros((2, words - 1), np.int32), np.zeros(words - 1, np.int32)):
        with pytest.raises(ValueError, match="words"):
            matcher.fill_next_token_bitmask(bitmask)
    for bitmask in (np.zeros((2, words), np.int64), np.zeros((2, words), np.float32)):
        with pytest.raises(TypeError, match="int32 or uint32"):
            matcher.fill_next_token_bitmask(bitmask)
    sealed = np.zeros((1, words), dtype=np.int32)
    sealed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        matcher.fill_next_token_bitmask(sealed)
    assert not sealed.any()


def test_nothing_comes_after_the_end() -> None:
    grammar = compiled({"const": 1}, "mixed")
    eos = grammar.vocabulary.eos_token_ids[0]
    bitmask = np.full((1, _words(grammar)), -1, dtype=np.int32)
    matcher = grammar.matcher()
    matcher.fill_next_token_bitmask(bitmask)
    assert matcher.accept_bytes(b"1")
    matcher.fill_next_token_bitmask(bitmask)
    before = bitmask.copy()
    assert matcher.accept_token(eos)
    fork = matcher.fork()
    for ended in (matcher, fork):
        assert ended.is_terminated
        assert not ended.accept_token(eos)
        for _ in range(2):
            bitmask[:] = -1
            ended.fill_next_token_bitmask(bitmask)
            assert not bitmask.any()
    grammar.clear_cache()
    assert not fork.accept_token(eos)
    matcher.rollback(1)
    matcher.fill_next_token_bitmask(bitmask)
    assert (bitmask == before).all()


def test_a_step_waits_for_who_works_on_the_tables() -> None:
    grammar = constrain.json_schema(SCHEMA).compile(vocabulary("mixed"))
    bitmask = np.zeros((1, _words(grammar)), dtype=np.int32)
    matcher = grammar.matcher()
    matcher.fill_next_token_bitmask(bitmask)
    matcher.fill_next_token_bitmask(bitmask)  # ready, and copied without a lock
    done = threading.Event()

    def step() -> None:
        matcher.fill_next_token_bitmask(bitmask)
        done.set()

    with grammar._lock:
        thread = threading.Thread(target=step)
        thread.start()
        assert not done.wait(0.1)
    assert done.wait(20)
    thread.join()


def test_threads_step_while_the_cache_is_cleared() -> None:
    grammar = constrain.json_schema(SCHEMA).compile(vocabulary("mixed"))
    tokens = VOCABULARIES["mixed"]()
    size = len(tokens.bytes_of)
    walker = Walker(tokens, random.Random(5))
    reference = compiled(SCHEMA, "mixed").matcher()
    steps: list[tuple[Any, int]] = []
    for _ in range(25):
        mask = allowed(reference, size)
        chosen = walker.choose(mask)
        if chosen is None:
            break
        steps.append((mask, chosen))
        assert reference.accept_token(chosen)
    wrong: list[Any] = []

    def run() -> None:
        try:
            for _ in range(30):
                matcher = grammar.matcher()
                for mask, token in steps:
                    if not (allowed(matcher, size) == mask).all() or not matcher.accept_token(token):
                        wrong.append(matcher.num_accepted)
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        grammar.clear_cache()
        threads[0].join(0.01)
    assert wrong == []


@pytest.mark.parametrize("pattern", ["^[ab]{1,2}$", "^(a|ab|abc)$", "^[0-9a-f]{1,9}$"])
def test_names_that_may_be_used_up(pattern: str) -> None:
    """Of a pattern with few names some are in use; every token is tried alone."""
    schema = {"type": "object", "patternProperties": {pattern: {"const": 1}}, "additionalProperties": False}
    tokens = VOCABULARIES["mixed"]()
    size = len(tokens.bytes_of)
    for seed in range(4):
        walker = Walker(tokens, random.Random(seed))
        matcher = compiled(schema, "mixed").matcher()
        for _ in range(24):
            mask = allowed(matcher, size)
            assert (mask == each_token(matcher, size)).all()
            chosen = walker.choose(mask)
            if chosen is None:
                break
            assert matcher.accept_token(chosen)


def test_distinct_values_and_their_places() -> None:
    rng = np.random.default_rng(3)
    for dtype in (np.int32, np.int64):
        for kinds in (1, 2, 9, 1000):
            row = rng.integers(0, kinds, 256).astype(dtype)
            values, column = distinct(row)
            assert values[0] == 0
            assert sorted(values[1:]) == [v for v in np.unique(row).tolist() if v]
            assert (np.array(values)[column] == row).all()
    with pytest.raises(ValueError, match="256"):
        distinct(np.zeros(255, dtype=np.int32))


def test_children_lie_side_by_side() -> None:
    trie = build_trie([b"a", b"ab", b"abc", b"b", b"ba", b"\xff", b"ac", None])
    nodes = trie.byte.size
    first, child = np.zeros(nodes + 1, dtype=np.int32), np.zeros(nodes, dtype=np.int32)
    children(trie.depth, trie.end, first, child)
    for node in range(nodes):
        below = [i for i in range(node + 1, trie.end[node]) if trie.depth[i] == trie.depth[node] + 1]
        assert child[first[node] : first[node + 1]].tolist() == below


def test_memory_of_rows_is_kept_and_grows_by_pieces() -> None:
    memory = RowMemory()
    piece = memory.take(1 << 20, 4096)
    assert 0 < piece.limit <= piece.data.size
    before = piece.limit
    piece.data[:] = 5
    populate(piece.data)
    while piece.extend():
        assert piece.limit > before
        before = piece.limit
    assert piece.limit == piece.data.size
    assert (piece.data == 5).all()
    memory.give_back(piece)
    assert memory.take(1 << 20, 4096) is piece
    small = RowPiece(16 * 3, 3)
    assert small.limit == small.data.size
