"""The caches of a compiled grammar can be cleared under live matchers without changing a single mask."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest

import constrain
from tests.engine.schemas import CASES
from tests.oracles import VOCABULARIES, Walker, allowed, compiled, vocabulary

NAMES = [
    "open object",
    "anyOf open objects, discriminator late",
    "pattern and length",
    "recursive tree",
    "oneOf open objects, discriminator late",
    "patternProperties overlap",
    "unevaluatedProperties with if",
    "unique items of a tuple",
    "formats of one object",
    "recursion through not",
]


@pytest.mark.parametrize("name", NAMES)
def test_clearing_changes_no_mask_of_a_live_matcher(name: str) -> None:
    tokens = VOCABULARIES["mixed"]()
    cleared = constrain.json_schema(CASES[name].schema).compile(vocabulary("mixed"))
    kept = compiled(CASES[name].schema, "mixed")
    walker = Walker(tokens, random.Random(12))
    one, two = cleared.matcher(), kept.matcher()
    forks = []
    taken = 0
    for step in range(40):
        mask = allowed(two, walker.size)
        if step % 3 == 0:
            cleared.clear_cache()
        assert (allowed(one, walker.size) == mask).all(), step
        forks.append((one.fork(), mask, one.is_accepting, one.min_tokens_to_end))
        chosen = walker.choose(mask)
        if chosen is None:
            break
        assert one.accept_token(chosen)
        taken += 1
        if step % 5 == 0:
            cleared.clear_cache()
        assert two.accept_token(chosen)
    cleared.clear_cache()
    for matcher, mask, accepting, distance in forks:
        assert (allowed(matcher, walker.size) == mask).all()
        assert (matcher.is_accepting, matcher.min_tokens_to_end) == (accepting, distance)
    while len(forks) > taken:
        forks.pop()
    for _, mask, _, _ in reversed(forks):
        one.rollback(1)
        cleared.clear_cache()
        assert (allowed(one, walker.size) == mask).all()


def test_rollback_after_clearing() -> None:
    grammar = constrain.json_schema(CASES["closed address"].schema).compile(vocabulary("bytes"))
    matcher = grammar.matcher()
    masks = []
    text = b'{"street":"a\\n\xc3\xa9","zip":"123'
    for byte in text:
        masks.append(allowed(matcher, 257))
        assert matcher.accept_token(byte)
    grammar.clear_cache()
    for mask in reversed(masks):
        matcher.rollback(1)
        assert (allowed(matcher, 257) == mask).all()
        grammar.clear_cache()


def test_clearing_while_other_threads_walk() -> None:
    """Threads share one compiled grammar; one of them keeps clearing. Every walk must see the masks of a quiet run."""
    tokens = VOCABULARIES["mixed"]()
    schema = CASES["weather tool"].schema
    quiet = compiled(schema, "mixed")
    busy = constrain.json_schema(schema).compile(vocabulary("mixed"))
    paths = []
    for seed in range(4):
        walker = Walker(tokens, random.Random(seed))
        matcher, path = quiet.matcher(), []
        for _ in range(30):
            mask = allowed(matcher, walker.size)
            chosen = walker.choose(mask)
            if chosen is None:
                break
            path.append((mask, chosen))
            assert matcher.accept_token(chosen)
        paths.append(path)
    failures: list[str] = []
    stop = threading.Event()

    def walk(path: list[tuple[Any, int]]) -> None:
        try:
            for _ in range(5):
                matcher = busy.matcher()
                for step, (mask, chosen) in enumerate(path):
                    if not (allowed(matcher, len(tokens.bytes_of)) == mask).all():
                        failures.append(f"mask differs at step {step}")
                    if not matcher.accept_token(chosen):
                        failures.append(f"refused at step {step}")
                        return
        except Exception as error:
            failures.append(repr(error))

    def clear() -> None:
        try:
            while not stop.wait(0.001):
                busy.clear_cache()
        except Exception as error:
            failures.append(repr(error))

    clearer = threading.Thread(target=clear)
    walkers = [threading.Thread(target=walk, args=(path,)) for path in paths]
    clearer.start()
    for thread in walkers:
        thread.start()
    for thread in walkers:
        thread.join(60)
    stop.set()
    clearer.join(10)
    assert not failures, failures[:5]
    assert not any(t.is_alive() for t in [*walkers, clearer])


@pytest.mark.parametrize("cache_bytes", [1, 200_000])
def test_a_tiny_cache_changes_no_mask(cache_bytes: int) -> None:
    """The cache is dropped again and again by itself, between any two calls."""
    tokens = VOCABULARIES["mixed"]()
    for name in NAMES:
        bounded = constrain.json_schema(CASES[name].schema).compile(vocabulary("mixed"), cache_bytes=cache_bytes)
        free = compiled(CASES[name].schema, "mixed")
        walker = Walker(tokens, random.Random(13))
        one, two = bounded.matcher(), free.matcher()
        for _ in range(25):
            mask = allowed(two, walker.size)
            assert (allowed(one, walker.size) == mask).all()
            assert one.min_tokens_to_end == two.min_tokens_to_end
            assert one.forced_bytes() == two.forced_bytes()
            chosen = walker.choose(mask)
            if chosen is None:
                break
            assert one.accept_token(chosen)
            assert two.accept_token(chosen)


def test_the_cache_stays_near_its_bound() -> None:
    """Thousands of different positions are visited; what is kept stays within the bound and one step's worth."""
    bound = 4 << 20
    schema = {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "integer"}}}
    grammar = constrain.json_schema(schema).compile(vocabulary("mixed"), cache_bytes=bound)
    tokens = VOCABULARIES["mixed"]()
    peak = 0
    matcher = grammar.matcher()
    for byte in b"[{" + b",".join(b'"key %d":%d' % (i, i) for i in range(1500)):
        assert matcher.accept_token(tokens.single[byte])
        if byte in b',:"':
            allowed(matcher, len(tokens.bytes_of))
        peak = max(peak, grammar.cache_nbytes)
    assert peak <= 2 * bound, f"{peak:,} bytes for a bound of {bound:,}"
    assert not matcher.fork().accept_bytes(b',"key 7":1'), "still knows every key"
    assert matcher.accept_bytes(b',"key 1500":1}]')
