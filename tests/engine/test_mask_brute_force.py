"""Law 3, second half: the mask equals brute force over the vocabulary, every id tried alone, on real vocabularies.

By default a stratified sample of the ids is tried at each position, as many allowed as refused ones, and all ids on
SmolLM2 at a few positions. `CONSTRAIN_FULL=1` tries all ids of all vocabularies at 300 positions per schema.
"""

from __future__ import annotations

import itertools
import random
import zlib
from typing import Any

import numpy as np
import pytest

from constrain.kernels.batch import TRACKED
from tests.engine.each_token import each_token
from tests.engine.schemas import CASES
from tests.oracles import FULL, VOCABULARIES, Walker, allowed, brute_force, compiled, vocabulary

COMBINED_CASES = [
    "oneOf open objects, discriminator late",
    "patternProperties overlap",
    "names of a finite pattern run out",
    "unevaluatedProperties through references",
    "contains with bounds",
    "unique strings",
    "unique anything",
    "unique objects",
    "formats of one object",
    "lookaround",
    "recursion through not",
]
QUICK_CASES = [
    "anything",
    "open object",
    "required undeclared",
    "names with a common start",
    "names that need escapes",
    "property counts",
    "tuple",
    "enum of everything",
    "number bounds",
    "pattern and length",
    "anyOf open objects, discriminator late",
    "recursion through alternatives",
    *COMBINED_CASES,
]
ALL_CASES = list(CASES)
POSITIONS = {"mixed": 300, "smollm2": 300, "sentencepiece": 300, "tekken": 300} if FULL else {"mixed": 12, "smollm2": 6}
DEFAULT_POSITIONS = 6
SAMPLE = 1500
VOCABULARY_OF_CASE = ["smollm2", "tekken", "sentencepiece"]
"""By default every case is tried on the mixed vocabulary; the combined ones on one of the real ones in turn."""


def _difference(matcher: Any, tokens: Any, ids: Any) -> list[tuple[int, bytes | None, bool]]:
    """Ids where mask and brute force differ, with the token and whether the mask allows it."""
    mask = allowed(matcher, len(tokens.bytes_of))
    wrong = np.flatnonzero(mask[ids] != brute_force(matcher, tokens, ids))
    return [(int(ids[k]), tokens.bytes_of[int(ids[k])], bool(mask[ids[k]])) for k in wrong[:20]]


def _pairs() -> list[tuple[str, str]]:
    real = VOCABULARY_OF_CASE
    if FULL:
        return [(v, name) for v in ["mixed", *real] for name in ALL_CASES]
    turns = [(real[i % len(real)], name) for i, name in enumerate(COMBINED_CASES)]
    basic = QUICK_CASES[: -len(COMBINED_CASES)]
    return [("mixed", name) for name in ALL_CASES] + [(v, name) for v in real for name in basic] + turns


@pytest.mark.parametrize(("vocabulary_name", "name"), _pairs())
def test_mask_equals_brute_force(vocabulary_name: str, name: str) -> None:
    tokens = VOCABULARIES[vocabulary_name]()
    rng = random.Random(zlib.crc32(f"{vocabulary_name} {name}".encode()))
    walker = Walker(tokens, rng)
    every = np.arange(len(tokens.bytes_of))
    grammar = compiled(CASES[name].schema, vocabulary_name)
    for count, matcher in enumerate(walker.positions(grammar, POSITIONS.get(vocabulary_name, DEFAULT_POSITIONS))):
        if FULL and vocabulary_name != "mixed" and matcher._position() < TRACKED:
            wrong_ids = np.flatnonzero(allowed(matcher, walker.size) != each_token(matcher, walker.size)[: walker.size])
            assert not wrong_ids.size, f"{name} on {vocabulary_name}: {wrong_ids[:20]}"
            continue
        if vocabulary_name == "mixed" or (vocabulary_name == "smollm2" and count < 1):
            ids = every
        else:
            mask = allowed(matcher, walker.size)
            ids = np.concatenate(
                [
                    rng.sample(list(group), min(len(group), SAMPLE))
                    for group in (np.flatnonzero(mask), np.flatnonzero(~mask))
                    if len(group)
                ]
            ).astype(np.int64)
        assert not (wrong := _difference(matcher, tokens, ids)), f"{name} on {vocabulary_name}: {wrong}"


@pytest.mark.parametrize("name", QUICK_CASES[1:9:2])
def test_accept_token_agrees_with_the_mask(name: str) -> None:
    """A token is accepted exactly when its bit is set; a refused one leaves the mask as it was."""
    tokens = VOCABULARIES["mixed"]()
    walker = Walker(tokens, random.Random(11))
    for matcher in walker.positions(compiled(CASES[name].schema, "mixed"), 6):
        mask = allowed(matcher, walker.size)
        for i in range(walker.size):
            probe = matcher.fork()
            assert probe.accept_token(i) == bool(mask[i]), (i, tokens.bytes_of[i])
            if not mask[i]:
                assert not probe.is_terminated
                if i % 50 == 0:
                    assert (allowed(probe, walker.size) == mask).all(), (i, tokens.bytes_of[i])
        assert (allowed(matcher, walker.size) == mask).all()


@pytest.mark.parametrize("name", ["open object", "integer bounds"])
def test_end_ids_are_allowed_exactly_when_the_text_is_complete(name: str) -> None:
    tokens = VOCABULARIES["mixed"]()
    assert len(tokens.eos) == 2
    seen = set()
    walker = Walker(tokens, random.Random(3))
    grammar = compiled(CASES[name].schema, "mixed")
    for count, matcher in enumerate(itertools.chain([grammar.matcher()], walker.positions(grammar, 60))):
        if count % 3 == 1:
            matcher = matcher.fork()
            walker.finish(matcher)
        mask = allowed(matcher, len(tokens.bytes_of))
        assert [bool(mask[i]) for i in tokens.eos] == [matcher.is_accepting] * 2
        seen.add(matcher.is_accepting)
        if matcher.is_accepting:
            assert not matcher.is_terminated
            ended = matcher.fork()
            assert ended.accept_token(tokens.eos[1])
            assert ended.is_terminated
            assert not matcher.is_terminated
    assert seen == {True, False}


def test_torch_rows_are_filled_like_numpy_rows() -> None:
    torch = pytest.importorskip("torch")
    tokens = VOCABULARIES["mixed"]()
    words = (len(tokens.bytes_of) + 31) // 32
    for matcher in Walker(tokens, random.Random(4)).positions(compiled(CASES["weather tool"].schema, "mixed"), 20):
        row = torch.full((2, words), 7, dtype=torch.int32)
        matcher.fill_next_token_bitmask(row, 1)
        bits = np.unpackbits(row[1].numpy().view(np.uint8), bitorder="little").astype(bool)[: len(tokens.bytes_of)]
        assert (bits == allowed(matcher, len(tokens.bytes_of))).all()
        assert (row[0] == 7).all()


def test_tokens_without_text_are_never_allowed() -> None:
    tokens = VOCABULARIES["mixed"]()
    silent = [i for i, t in enumerate(tokens.bytes_of) if not t and i not in tokens.eos]
    assert silent
    for name in QUICK_CASES:
        for matcher in Walker(tokens, random.Random(5)).positions(compiled(CASES[name].schema, "mixed"), 5):
            assert not allowed(matcher, len(tokens.bytes_of))[silent].any()


def test_vocabularies_are_the_real_ones() -> None:
    sizes = {name: len(VOCABULARIES[name]().bytes_of) for name in ("smollm2", "tekken", "sentencepiece")}
    assert sizes == {"smollm2": 49152, "tekken": 131072, "sentencepiece": 32000}
    for name, size in sizes.items():
        assert vocabulary(name) is not None
        assert size > 0
