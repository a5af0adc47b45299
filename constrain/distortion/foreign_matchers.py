"""Matchers of other engines as languages, so that engines can be compared on one model.

Each adapter gives a foreign matcher this library's three methods. Engines differ in what they do with forced text:
llguidance offers only the tokenizer's own token there, others every split of it, and that alone changes q.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from constrain.distortion.matcher_language import MatcherLanguage


class _XGrammarMatcher:
    """An xgrammar `GrammarMatcher`; forks by reading the tokens again where the version has no fork."""

    def __init__(self, compiled: Any, tokens: tuple[int, ...] = (), matcher: Any = None) -> None:
        xgrammar = importlib.import_module("xgrammar")

        self._compiled, self._tokens = compiled, tokens
        self._matcher = xgrammar.GrammarMatcher(compiled) if matcher is None else matcher
        if matcher is None:
            for token in tokens:
                self._matcher.accept_token(token)

    def fill_next_token_bitmask(self, bitmask: Any, index: int = 0) -> None:
        import torch

        self._matcher.fill_next_token_bitmask(torch.from_numpy(bitmask), index)

    def accept_token(self, token: int) -> bool:
        accepted = bool(self._matcher.accept_token(token))
        if accepted:
            self._tokens = (*self._tokens, token)
        return accepted

    def fork(self) -> _XGrammarMatcher:
        copy = getattr(self._matcher, "fork", None)
        return _XGrammarMatcher(self._compiled, self._tokens, copy() if copy is not None else None)


def xgrammar_language(
    compiled: Any, *, eos_token_ids: Sequence[int], token_bytes: Sequence[bytes | None]
) -> MatcherLanguage:
    """The masks of an xgrammar `CompiledGrammar`.

    Args:
        compiled: as `xgrammar.GrammarCompiler` gives it.
        eos_token_ids: the stop tokens it was compiled with.
        token_bytes: bytes by token id, such as `Vocabulary.token_bytes`.

    Raises ImportError from `start` where xgrammar is not installed.
    """
    return MatcherLanguage(
        lambda: _XGrammarMatcher(compiled), eos_token_ids=eos_token_ids, token_bytes=token_bytes, width=len(token_bytes)
    )


class _LLGuidanceMatcher:
    """An llguidance `LLMatcher`."""

    def __init__(self, matcher: Any) -> None:
        self._matcher = matcher

    def fill_next_token_bitmask(self, bitmask: Any, index: int = 0) -> None:
        importlib.import_module("llguidance.numpy").fill_next_token_bitmask(self._matcher, bitmask, index)

    def accept_token(self, token: int) -> bool:
        return bool(self._matcher.consume_token(token))

    def fork(self) -> _LLGuidanceMatcher:
        return _LLGuidanceMatcher(self._matcher.deep_copy())


def llguidance_language(
    tokenizer: Any, grammar: str, *, eos_token_ids: Sequence[int], token_bytes: Sequence[bytes | None]
) -> MatcherLanguage:
    """The masks of llguidance.

    Args:
        tokenizer: an `llguidance.LLTokenizer`.
        grammar: as `llguidance.LLMatcher.grammar_from_json_schema` and its like give it.
        eos_token_ids: ids that end a sequence for this tokenizer.
        token_bytes: bytes by token id.

    Raises ImportError from `start` where llguidance is not installed.
    """

    def new() -> _LLGuidanceMatcher:
        llguidance = importlib.import_module("llguidance")
        return _LLGuidanceMatcher(llguidance.LLMatcher(tokenizer, grammar))

    return MatcherLanguage(new, eos_token_ids=eos_token_ids, token_bytes=token_bytes, width=len(token_bytes))
