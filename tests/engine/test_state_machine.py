"""Law 4: a matcher's state is a function of the tokens it has taken.

A random program of accept, refuse, rollback, fork, reset and byte steps is run on several matchers of one compiled
grammar; after each step a fresh matcher replays the tokens that should be there, and everything visible must agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.engine.schemas import CASES
from tests.oracles import FULL, VOCABULARIES, allowed, compiled

NAMES = [
    "anything",
    "open object",
    "property counts",
    "anyOf open objects, discriminator late",
    "pattern and length",
    "recursive tree",
    "enum of everything",
    "multiple of decimal",
    "oneOf open objects, discriminator late",
    "names of a finite pattern run out",
    "two contains",
    "unique items of a tuple",
    "formats of one object",
    "recursion through dependencies and items",
]


class MatcherMachine(RuleBasedStateMachine):
    """The model of a matcher is the list of tokens it has taken."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = VOCABULARIES["mixed"]()
        self.size = len(self.tokens.bytes_of)
        self.pairs: list[tuple[Any, list[int]]] = []
        self.current = 0

    def compile(self, name: str) -> Any:
        """The grammar of a test schema."""
        return compiled(CASES[name].schema, "mixed")

    @initialize(name=st.sampled_from(NAMES))
    def start(self, name: str) -> None:
        self.grammar = self.compile(name)
        self.pairs = [(self.grammar.matcher(), [])]

    def _replay(self, history: list[int]) -> Any:
        fresh = self.grammar.matcher()
        for token in history:
            assert fresh.accept_token(token), (token, history)
        return fresh

    @rule(which=st.integers(0, 5))
    def switch(self, which: int) -> None:
        self.current = which % len(self.pairs)

    @rule(pick=st.integers(0, 2**30), structural=st.booleans())
    def accept_allowed(self, pick: int, structural: bool) -> None:
        matcher, history = self.pairs[self.current]
        assume(not matcher.is_terminated and len(history) < 60)
        ids = np.flatnonzero(allowed(matcher, self.size)).tolist()
        assert ids
        if structural:
            narrow = [i for i in ids if (self.tokens.bytes_of[i] or b"\0")[:1] in b'"}],:']
            ids = narrow or ids
        token = int(ids[pick % len(ids)])
        assert matcher.accept_token(token), (token, self.tokens.bytes_of[token])
        history.append(token)

    @rule(pick=st.integers(0, 2**30))
    def refuse(self, pick: int) -> None:
        matcher, _ = self.pairs[self.current]
        assume(not matcher.is_terminated)
        ids = np.flatnonzero(~allowed(matcher, self.size))
        assume(len(ids))
        assert not matcher.accept_token(int(ids[pick % len(ids)]))

    @rule(data=st.binary(min_size=1, max_size=4))
    def refuse_bytes_or_take_them_back(self, data: bytes) -> None:
        """Bytes are no part of the token history here: tried on a fork, which is then thrown away."""
        matcher, _ = self.pairs[self.current]
        assume(not matcher.is_terminated)
        matcher.fork().accept_bytes(data)

    @rule(n=st.integers(0, 8))
    def rollback(self, n: int) -> None:
        matcher, history = self.pairs[self.current]
        n = min(n, len(history))
        matcher.rollback(n)
        del history[len(history) - n :]

    @precondition(lambda self: 0 < len(self.pairs) < 4)
    @rule()
    def fork(self) -> None:
        matcher, history = self.pairs[self.current]
        self.pairs.append((matcher.fork(), list(history)))

    @rule(really=st.integers(0, 4))
    def reset(self, really: int) -> None:
        assume(really == 0)
        matcher, history = self.pairs[self.current]
        matcher.reset()
        history.clear()

    @invariant()
    def everything_visible_is_that_of_a_fresh_matcher(self) -> None:
        if not self.pairs:
            return
        matcher, history = self.pairs[self.current]
        fresh = self._replay(history)
        assert matcher.is_accepting == fresh.is_accepting
        assert matcher.is_terminated == fresh.is_terminated
        if not matcher.is_terminated:
            assert matcher.min_tokens_to_end == fresh.min_tokens_to_end
            assert (allowed(matcher, self.size) == allowed(fresh, self.size)).all()
            assert matcher.forced_bytes() == fresh.forced_bytes()

    @invariant()
    def others_are_untouched(self) -> None:
        for matcher, history in self.pairs:
            if not matcher.is_terminated:
                assert matcher.is_accepting == self._replay(history).is_accepting


MatcherMachine.TestCase.settings = settings(
    max_examples=400 if FULL else 70,
    stateful_step_count=60 if FULL else 25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestMatcherMachine = MatcherMachine.TestCase


def test_forced_bytes_are_exactly_the_bytes_without_a_choice() -> None:
    """While exactly one byte can follow and the text is not complete, that byte is forced; found by trying all 256."""
    for name in CASES:
        grammar = compiled(CASES[name].schema)
        for prefix in (b"", b"{", b'{"', b'{"k', b'{"st', b"[", b'"', b"n", b"t", b"-"):
            matcher = grammar.matcher()
            if not matcher.accept_bytes(prefix):
                continue
            forced = matcher.forced_bytes()
            probe = matcher.fork()
            expected = bytearray()
            while not probe.is_accepting and len(expected) < len(forced) + 1:
                following = [b for b in range(256) if probe.fork().accept_bytes(bytes([b]))]
                if len(following) != 1:
                    break
                expected.append(following[0])
                assert probe.accept_bytes(bytes(following))
            assert bytes(expected) == bytes(forced), (name, prefix)


def test_rollback_crosses_the_end_token() -> None:
    tokens = VOCABULARIES["mixed"]()
    matcher = compiled(True, "mixed").matcher()
    for byte in b"null":
        assert matcher.accept_token(tokens.single[byte])
    before = allowed(matcher, len(tokens.bytes_of))
    assert matcher.accept_token(tokens.eos[0])
    assert matcher.is_terminated
    assert not matcher.accept_token(tokens.single[ord(" ")])
    matcher.rollback(1)
    assert not matcher.is_terminated
    assert (allowed(matcher, len(tokens.bytes_of)) == before).all()
    matcher.rollback(4)
    assert (
        allowed(matcher, len(tokens.bytes_of)) == allowed(compiled(True, "mixed").matcher(), len(tokens.bytes_of))
    ).all()
