"""A grammar bound to a vocabulary, shared by all sequences that are generated under it."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

from constrain.engine.automaton import Automaton
from constrain.engine.terminals import Terminals

if TYPE_CHECKING:
    from constrain.engine.grammar import Grammar
    from constrain.engine.matcher import Matcher
    from constrain.vocabulary import Vocabulary

_terminals: weakref.WeakKeyDictionary[Vocabulary, Terminals] = weakref.WeakKeyDictionary()
_terminals_lock = threading.Lock()


def terminals_of(vocabulary: Vocabulary) -> Terminals:
    """The shared tables of a vocabulary, made at first use."""
    with _terminals_lock:
        found = _terminals.get(vocabulary)
        if found is None:
            found = _terminals[vocabulary] = Terminals(vocabulary)
        return found


class CompiledGrammar:
    """A grammar over a vocabulary. Thread-safe; sequences get their own `matcher()`.

    Attributes:
        grammar: the grammar.
        vocabulary: the vocabulary.
        cache_bytes: bound on the memory of what was computed so far. It is checked between steps, so one step may
            exceed it for a moment.
    """

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, *, cache_bytes: int) -> None:
        self.grammar = grammar
        self.vocabulary = vocabulary
        self.cache_bytes = cache_bytes
        self._lock = threading.RLock()
        self._forms, self._inhabitation = grammar._normal_form()
        self._terminals = terminals_of(vocabulary)
        self._automaton = self._new_automaton()

    def _new_automaton(self) -> Automaton:
        return Automaton(
            self._terminals,
            self._forms,
            self._inhabitation,
            raw=self.grammar._language(),
            whitespace=self.grammar._whitespace,
        )

    def matcher(self) -> Matcher:
        """A matcher at the beginning of a text."""
        from constrain.engine.matcher import Matcher

        return Matcher(self)

    @property
    def bitmask_words(self) -> int:
        """Words of one mask row: 32 tokens each."""
        return self._terminals.words

    @property
    def cache_nbytes(self) -> int:
        """Bytes of what has been computed so far, tables shared with other grammars not counted."""
        return self._automaton.nbytes

    def clear_cache(self) -> None:
        """Drop everything that can be computed again. Matchers stay valid and resume where they are."""
        with self._lock:
            self._automaton = self._new_automaton()

    def _trim(self) -> None:
        if self._automaton.nbytes > self.cache_bytes:
            self.clear_cache()

    def __repr__(self) -> str:
        return f"<CompiledGrammar {self.grammar.fingerprint[:12]} over {self.vocabulary.size} tokens>"
