"""`check_matcher_laws`: what holds for every matcher over every vocabulary, whatever its grammar.

    mask == brute force     a token is in the mask exactly when a copy of the matcher accepts it
    split invariance        how tokens cut a text changes neither what it is nor what may follow
    rollback and fork       taking tokens back restores the state; a copy and its original do not see each other
    refusal                 a refused token changes nothing
    end                     an end id is accepted exactly where the text is complete, and nothing comes after it
    no dead end             no mask is empty before the end

The checks ask a matcher only for the methods of `MatcherLike`, so other engines' matchers can be put to them too; where
it has `accept_bytes`, `reset`, `forced_bytes` or `min_tokens_to_end`, what these promise is checked as well.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from constrain.testing.choices import Choices, SeededChoices
from constrain.testing.masks import MaskError, MatcherLike, Tokens, finish, read_mask


@dataclass
class LawsReport:
    """What `check_matcher_laws` did: positions visited, tokens tried one by one, texts cut in other ways."""

    positions: int = 0
    tokens_tried: int = 0
    cuts: int = 0


@dataclass(frozen=True)
class _State:
    """What can be seen of a matcher's state."""

    mask: NDArray[np.bool_]
    accepting: bool
    terminated: bool

    def same(self, other: _State) -> bool:
        return (
            self.accepting == other.accepting
            and self.terminated == other.terminated
            and bool((self.mask == other.mask).all())
        )


def check_matcher_laws(
    compiled: Any,
    *,
    max_examples: int = 30,
    seed: int | None = None,
    tokens_tried: int = 2000,
    tokens: Sequence[bytes | None] | None = None,
    eos_token_ids: Sequence[int] | None = None,
    texts: Sequence[bytes] = (),
) -> LawsReport:
    """Check the laws at random positions of a compiled grammar's matchers.

    Args:
        compiled: an object with `matcher()`, which gives a new `MatcherLike`, such as a `CompiledGrammar`.
        max_examples: how many random walks to take; the laws are checked at two positions of each.
        seed: of the random choices; by default a new one each time, named in the message of a failure.
        tokens_tried: how many ids are tried one by one at a position; a random part where there are more.
        tokens: the bytes of each id; by default those of `compiled.vocabulary`.
        eos_token_ids: the end ids; by default those of `compiled.vocabulary`.
        texts: texts that are accepted; positions are taken in their middle too, which random walks seldom reach.

    Raises:
        AssertionError: a law does not hold. The message names it, the text before the position, and the token.
    """
    if tokens is None:
        tokens = compiled.vocabulary.token_bytes
    if eos_token_ids is None:
        eos_token_ids = compiled.vocabulary.eos_token_ids
    seed = random.randrange(1 << 32) if seed is None else seed
    laws = _Laws(compiled.matcher, Tokens(tokens, eos_token_ids), SeededChoices(seed), seed, tokens_tried)
    for number in range(max_examples):
        text = texts[number % len(texts)] if texts and number % 2 else None
        laws.check_walk(text)
    return laws.report


class _Laws:
    def __init__(
        self, new: Callable[[], MatcherLike], tokens: Tokens, choices: Choices, seed: int, tokens_tried: int
    ) -> None:
        self._new, self._tokens, self._choices, self._seed = new, tokens, choices, seed
        self._tokens_tried = tokens_tried
        self.report = LawsReport()

    def _fail(self, law: str, path: list[int], what: str) -> NoReturn:
        raise AssertionError(f"{law}: {what}\n  after:  {self._text(path)!r} (ids {path})\n  seed:   {self._seed}")

    def _text(self, path: list[int]) -> bytes:
        return b"".join(self._tokens.texts[i] or b"" for i in path)

    def _state(self, matcher: MatcherLike) -> _State:
        return _State(read_mask(matcher, self._tokens.size), matcher.is_accepting, matcher.is_terminated)

    def check_walk(self, text: bytes | None) -> None:
        """Walk to a random position, check there, go on for some tokens, check that the way back is right."""
        choices = self._choices
        matcher, path = self._new(), list[int]()
        try:
            planned = self._tokens.cut(text, choices) if text else None
            if planned:
                planned = planned[: choices.integer(0, len(planned))]
                for token in planned:
                    if not matcher.accept_token(token):
                        self._fail("split invariance", path, f"a part of an accepted text is refused: {token}")
                    path.append(token)
            else:
                self._advance(matcher, path, choices.integer(0, 15))
            self._check_position(matcher, path)
            self._check_ways_back(matcher, path)
            self._check_end(matcher, path)
        except MaskError as error:
            self._fail("mask", path, str(error))

    def _advance(self, matcher: MatcherLike, path: list[int], steps: int) -> None:
        for _ in range(steps):
            chosen = self._tokens.choose(read_mask(matcher, self._tokens.size), self._choices)
            if chosen is None:
                return
            if not matcher.accept_token(chosen):
                self._fail("mask == brute force", path, f"the mask allows id {chosen}, accept_token refuses it")
            path.append(chosen)

    def _check_position(self, matcher: MatcherLike, path: list[int]) -> None:
        self.report.positions += 1
        before = self._state(matcher)
        if not before.mask.any() and not before.terminated:
            self._fail("no dead end", path, "the mask is empty")
        self._check_brute_force(matcher, path, before)
        if not self._state(matcher).same(before):
            self._fail("fork", path, "trying tokens on copies changed the original")
        self._check_split(matcher, path, before)
        self._check_forced(matcher, path, before)

    def _check_brute_force(self, matcher: MatcherLike, path: list[int], before: _State) -> None:
        size, tokens = self._tokens.size, self._tokens
        ids: Sequence[int] = range(size)
        if size > self._tokens_tried:
            allowed = np.flatnonzero(before.mask)
            ids = sorted(
                {self._choices.integer(0, size - 1) for _ in range(self._tokens_tried)}
                | {int(allowed[self._choices.integer(0, len(allowed) - 1)]) for _ in range(200) if len(allowed)}
            )
        probe = matcher.fork()
        for token in ids:
            self.report.tokens_tried += 1
            if token in tokens.end_ids:
                expected = before.accepting
            else:
                expected = bool(tokens.texts[token]) and probe.accept_token(token)
                if expected:
                    probe = matcher.fork()
                elif tokens.texts[token] and token % 97 == 0 and not self._state(probe).same(before):
                    self._fail("refusal", path, f"id {token} was refused, but changed the state")
            if bool(before.mask[token]) != expected:
                verb = "allows" if before.mask[token] else "lacks"
                self._fail("mask == brute force", path, f"the mask {verb} id {token}, {tokens.texts[token]!r}")

    def _check_split(self, matcher: MatcherLike, path: list[int], before: _State) -> None:
        text = self._text(path)
        for _ in range(2):
            cut = self._tokens.cut(text, self._choices)
            if cut is None:
                return
            self.report.cuts += 1
            other = self._new()
            for at, token in enumerate(cut):
                if not other.accept_token(token):
                    self._fail(
                        "split invariance", cut[:at], f"id {token} is refused, but {text!r} is accepted as {path}"
                    )
            if not self._state(other).same(before):
                self._fail("split invariance", path, f"cut as {cut} it is followed by other tokens")
        if hasattr(matcher, "accept_bytes"):
            other = self._new()
            whole: Any = other
            if not whole.accept_bytes(text):
                self._fail("split invariance", path, "accept_bytes refuses what tokens spell")
            if not self._state(other).same(before):
                self._fail("split invariance", path, "accept_bytes leads to another state than the tokens")

    def _check_forced(self, matcher: Any, path: list[int], before: _State) -> None:
        if not hasattr(matcher, "forced_bytes"):
            return
        forced = matcher.forced_bytes()
        if not forced:
            return
        for token in np.flatnonzero(before.mask):
            text = self._tokens.texts[token]
            if text and not (text.startswith(forced) or forced.startswith(text)):
                self._fail("forced bytes", path, f"{forced!r} is said to be forced, but {text!r} is allowed")

    def _check_ways_back(self, matcher: MatcherLike, path: list[int]) -> None:
        choices = self._choices
        before = self._state(matcher)
        fork, onward = matcher.fork(), list(path)
        self._advance(fork, onward, choices.integer(1, 6))
        if not self._state(matcher).same(before):
            self._fail("fork", path, "moving a copy on moved the original")
        states, counts = [before], len(path)
        trail = list(path)
        for _ in range(choices.integer(1, 6)):
            self._advance(matcher, trail, 1)
            if len(trail) - counts < len(states):
                break
            states.append(self._state(matcher))
        taken = len(states) - 1
        back = choices.integer(0, taken)
        matcher.rollback(back)
        if not self._state(matcher).same(states[taken - back]):
            self._fail("rollback", trail, f"taking back {back} of {taken} tokens leads to another state")
        matcher.rollback(taken - back)
        if not self._state(matcher).same(before):
            self._fail("rollback", path, f"taking back {taken} tokens leads to another state")

    def _check_end(self, matcher: Any, path: list[int]) -> None:
        tokens = self._tokens
        if hasattr(matcher, "min_tokens_to_end"):
            distance = matcher.min_tokens_to_end
            ending = matcher.fork()
            rest = finish(ending, tokens)
            if rest is None:
                self._fail("no dead end", path, "no byte leads nearer to the end (min_tokens_to_end)")
            if len(rest) > distance:
                self._fail("no dead end", path, f"min_tokens_to_end is {distance}, but {rest!r} was needed")
            matcher, path = ending, [*path, *(tokens.by_text[bytes([b])] for b in rest)]
        if not tokens.end_ids:
            return
        before = self._state(matcher)
        end = self._choices.pick(tokens.end_ids)
        if matcher.accept_token(end) != before.accepting:
            self._fail("end", path, f"end id {end} is {'refused' if before.accepting else 'accepted'}")
        if not before.accepting:
            return
        after = self._state(matcher)
        if not after.terminated or after.mask.any():
            self._fail("end", path, "after the end id the matcher is not terminated, or allows more")
        if matcher.accept_token(next(iter(tokens.by_text.values()))):
            self._fail("end", path, "a token is accepted after the end id")
        matcher.rollback(1)
        if not self._state(matcher).same(before):
            self._fail("rollback", path, "taking back the end id leads to another state")
        if hasattr(matcher, "reset"):
            matcher.reset()
            if not self._state(matcher).same(self._state(self._new())):
                self._fail("rollback", path, "reset does not lead to the beginning")
