"""Vocabularies and compiled grammars that one call makes and the next can use.

Conversations come back with the same tools turn after turn, and what a compiled grammar has computed makes the next
answer quicker. Grammars are kept by content, the last few of them, as each may hold as much memory as its
`cache_bytes`.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from typing import Any

from constrain.engine import CompiledGrammar
from constrain.vocabulary import Vocabulary
from constrain.wire.grammar import ToolCallGrammar

_KEPT = 8
_CACHE_BYTES = 64 << 20

_lock = threading.Lock()
_vocabularies: weakref.WeakKeyDictionary[Any, dict[Any, Vocabulary]] = weakref.WeakKeyDictionary()
_compiled: OrderedDict[tuple[str, int], CompiledGrammar] = OrderedDict()


def vocabulary_of(tokenizer: Any, ends: tuple[int, ...]) -> Vocabulary:
    """The vocabulary of a tokenizer in which these ids end a sequence too."""
    key = len(tokenizer), ends
    with _lock:
        known = _vocabularies.setdefault(tokenizer, {})
        found = known.get(key)
    if found is None:
        found = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=ends)
        with _lock:
            known[key] = found
    return found


def compiled_of(grammar: ToolCallGrammar, vocabulary: Vocabulary) -> CompiledGrammar:
    """The grammar over the vocabulary, the same object for the same content as long as it is kept."""
    key = grammar.fingerprint, id(vocabulary)  # by identity: only one that knows its tokenizer forces tokens
    with _lock:
        found = _compiled.get(key)
        if found is not None and found.vocabulary is vocabulary:
            _compiled.move_to_end(key)
            return found
    found = grammar.compile(vocabulary, cache_bytes=_CACHE_BYTES)
    with _lock:
        _compiled[key] = found
        while len(_compiled) > _KEPT:
            _compiled.popitem(last=False)
    return found
