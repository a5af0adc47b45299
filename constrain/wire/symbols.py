"""Tokens that stand for themselves: markers as symbols beside the 256 bytes.

A marker that the vocabulary holds as one token is written by that token alone. It is given bytes that no text has:
0xFF, which UTF-8 never uses, the marker's own bytes, and 0xFF again. Tokens that hold 0xFF otherwise can be part of no
text, and lose their bytes; so what follows a first 0xFF can only be the rest of a symbol.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable

from constrain.vocabulary import Vocabulary

EDGE = b"\xff"

_known: weakref.WeakKeyDictionary[Vocabulary, dict[frozenset[str], Vocabulary]] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def symbol(text: str) -> bytes:
    """The bytes that stand for a marker's token."""
    return EDGE + text.encode() + EDGE


def token_of(vocabulary: Vocabulary, text: str) -> int | None:
    """The id of the token that is this text, special ones first; None where there is none."""
    found = vocabulary.special_tokens.get(text)
    if found is not None:
        return found
    node = _node(vocabulary, text.encode())
    if node is None:
        return None
    trie = vocabulary.trie
    first, stop = int(trie.token_offset[node]), int(trie.token_offset[node + 1])
    return int(trie.token_ids[first]) if stop > first else None


def _node(vocabulary: Vocabulary, data: bytes) -> int | None:
    """The node of the trie at which a text ends."""
    trie = vocabulary.trie
    node = 0
    for byte in data:
        child, stop = node + 1, int(trie.end[node])
        while child < stop and int(trie.byte[child]) != byte:
            child = int(trie.end[child])
        if child >= stop:
            return None
        node = child
    return node


def with_symbols(vocabulary: Vocabulary, texts: Iterable[str]) -> Vocabulary:
    """The vocabulary in which these texts are symbols, as far as it has them as tokens.

    An end-of-sequence id whose text is one of them is no longer an end of sequence, but a symbol.
    """
    key = frozenset(texts)
    with _lock:
        known = _known.setdefault(vocabulary, {})
        found = known.get(key)
        if found is None:
            found = known[key] = _derived(vocabulary, key)
        return found


def _derived(vocabulary: Vocabulary, texts: frozenset[str]) -> Vocabulary:
    ids = {text: token for text in texts if (token := token_of(vocabulary, text)) is not None}
    tokens = [None if token is not None and EDGE in token else token for token in vocabulary.token_bytes]
    for text, token in ids.items():
        tokens[token] = symbol(text)
    eos = set(vocabulary.eos_token_ids) - set(ids.values())
    special = {text: token for text, token in vocabulary.special_tokens.items() if token not in ids.values()}
    return Vocabulary.from_tokens(tokens, eos_token_ids=eos, special_tokens=special, cache=len(tokens) > 4096)
