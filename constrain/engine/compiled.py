"""A grammar bound to a vocabulary, shared by all sequences that are generated under it."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

from constrain.engine.automaton import Automaton
from constrain.engine.automaton_lock import AutomatonLock
from constrain.engine.crossing import crossing_of
from constrain.engine.first_members import FirstMembers
from constrain.engine.markers import NO_MARKERS, Markers
from constrain.engine.terminals import Terminals
from constrain.grammars.errors import VocabularyError
from constrain.grammars.json_schema.inhabit import Inhabitation
from constrain.grammars.json_schema.ir import SchemaDocument, Subschema
from constrain.grammars.json_schema.normal import NormalForm

if TYPE_CHECKING:
    from constrain.engine.grammar import Grammar
    from constrain.engine.matcher import Matcher
    from constrain.vocabulary import Vocabulary

_STRUCTURE = b'{}[]:,"\\-.0123456789abcdefulnrst'
"""Bytes that JSON needs as tokens of their own: with them, every value has a spelling."""

_TEXT = frozenset((*range(0x20, 0xC0), *range(0xC2, 0xF1)))
"""Bytes of the characters of planes 0 to 3 where they stand for themselves in a JSON string."""

_terminals: weakref.WeakKeyDictionary[Vocabulary, Terminals] = weakref.WeakKeyDictionary()
_terminals_lock = threading.Lock()


def terminals_of(vocabulary: Vocabulary) -> Terminals:
    """The shared tables of a vocabulary, made at first use."""
    with _terminals_lock:
        found = _terminals.get(vocabulary)
        if found is None:
            found = Terminals(vocabulary)
            _prepare(found)
            _terminals[vocabulary] = found
        return found


def _prepare(terminals: Terminals) -> None:
    """Build the tables that the whole vocabulary takes part in, which any grammar with a string needs."""
    document = SchemaDocument([Subschema(pointer="")], 0)
    forms = NormalForm(document)
    store = Automaton(terminals, forms, Inhabitation(forms), row_bytes=0).store
    for node, key in terminals.first_tables:
        terminals.table(store, node, key)
    for limit in range(_SHORT_LIMITS):
        terminals.limited_row(store, 0, limit)
        terminals.with_points_up_to(limit)
    crossing_of(terminals)


def _check_completeness(grammar: Grammar, vocabulary: Vocabulary, terminals: Terminals) -> None:
    """Refuse a vocabulary under which some text could be begun and never be finished."""
    if not vocabulary.eos_token_ids:
        raise VocabularyError("end of sequence", "no end-of-sequence id is known; pass eos_token_ids")
    if grammar._pattern is None:
        missing = bytes(b for b in _STRUCTURE if b not in terminals.single_bytes)
        if missing:
            raise VocabularyError("completeness", f"no token is just one of {missing.decode()!r}, which JSON needs")
        if grammar._style.escapes == "plain" and (lacking := _TEXT - terminals.single_bytes):
            reason = f"no token is just the byte 0x{min(lacking):02X}, without which some characters need escapes"
            raise VocabularyError("completeness", f'{reason}; use escapes="any"')


_MAX_LISTS = 1_000  # lists of written values in a normal form that is kept
_SHORT_LIMITS = 33  # numbers of code points left for which rows are made ahead


class CompiledGrammar:
    """A grammar over a vocabulary. Thread-safe; sequences get their own `matcher()`.

    Attributes:
        grammar: the grammar.
        vocabulary: the vocabulary.
        end_token_ids: the ids that end a sequence where its text is complete.
        stop_token_ids: the ids of tokens that are part of the text and complete it.
        markers: the tokens that stand for themselves, beside those of text.
        cache_bytes: bound on the memory of what was computed so far. It is checked between steps, so one step may
            exceed it for a moment.
    """

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, *, cache_bytes: int) -> None:
        self.grammar = grammar
        self.vocabulary = vocabulary
        self.cache_bytes = cache_bytes
        self.end_token_ids: tuple[int, ...] = vocabulary.eos_token_ids
        self.stop_token_ids: frozenset[int] = frozenset()
        self.markers: Markers = NO_MARKERS
        self._lock = AutomatonLock()
        self._terminals = terminals_of(self._tables_of(vocabulary))
        _check_completeness(grammar, vocabulary, self._terminals)
        self._forms, self._inhabitation = self._new_forms()
        self._automaton = self._new_automaton()
        self._lock.guard(self._automaton.store)
        if self._automaton.around is None and grammar._pattern is None:
            self._automaton.shapes.ahead.supply_first()
            FirstMembers(self._automaton).supply()

    def _tables_of(self, vocabulary: Vocabulary) -> Vocabulary:
        """The vocabulary whose tokens the automaton reads."""
        return vocabulary

    def _new_forms(self) -> tuple[NormalForm, Inhabitation]:
        forms, inhabitation = self.grammar._normal_form()
        if self._terminals.spelling != inhabitation.spelling:
            inhabitation = Inhabitation(forms, self._terminals.spelling, inhabitation.gap)
        return forms, inhabitation

    def _new_automaton(self) -> Automaton:
        return Automaton(
            self._terminals,
            self._forms,
            self._inhabitation,
            raw=self.grammar._language(),
            style=self.grammar._style,
            row_bytes=self.cache_bytes // 4,
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
            if self._forms.lists > _MAX_LISTS:  # it grows with the values that were written
                self._forms, self._inhabitation = self._new_forms()
            self._automaton = self._new_automaton()
            self._lock.guard(self._automaton.store)

    def _trim(self) -> None:
        if self._automaton.nbytes > self.cache_bytes:
            self.clear_cache()

    def __repr__(self) -> str:
        return f"<CompiledGrammar {self.grammar.fingerprint[:12]} over {self.vocabulary.size} tokens>"
