"""Small vocabularies for the grammars of wire formats, and how to go through a grammar with them.

Every byte is a token. Besides, there are pieces that lie across the borders at which a grammar could leak: halves of
markers, markers with what stands beside them, JSON with the beginning of a closer.
"""

from functools import cache, lru_cache

import numpy as np

from constrain import Vocabulary, tool_calls
from constrain.grammars.tool_formats import FORMATS
from constrain.testing.masks import read_mask
from tests.constrain.tools.wire_cases import TOOLS

NAMES = sorted(FORMATS)
KINDS = ("special", "added", "text")
"""How markers are in a vocabulary: as special tokens without bytes, as plain added tokens, as text only."""
EOS = 256
_PIECES = [
    b"</",
    b'"}',
    b'{"',
    b"})",
    b"}}",
    b'":',
    b"ab",
    b"get",
    b"_x",
    b"123",
    b"null",
    "é".encode(),
    b'"arguments"',
]
_PIECES += [b'"name":"', b"</tool_c", b'", "', b'": ', b"\n</par", b"}}\n", b"e>\n", b"\n\n", b"  ", b"\t\t", b"\xc3("]


def stops_of(format):
    return tuple(dict.fromkeys((*format.call_stops, *format.text_stops)))


@cache
def vocabulary_of(name, kind):
    """The vocabulary of a format, markers as `kind` says."""
    format = FORMATS[name]
    markers = [text for text in dict.fromkeys((*format.forbidden, *stops_of(format))) if text not in format.banned]
    tokens, special = [bytes([b]) for b in range(256)] + [None], {"<|eos|>": EOS}
    pieces = dict.fromkeys(_PIECES)
    for text in markers:
        data = text.encode()
        middle = len(data) // 2
        pieces.update(dict.fromkeys((data[:middle], data[middle:], data[:-1], data[-1:] + b"\n", b"\n" + data[:2])))
        if kind == "text":
            pieces.update(dict.fromkeys((data + b"{", b" " + data)))
    tokens += [piece for piece in pieces if len(piece) > 1]
    ends = [EOS]
    for text in markers if kind != "text" else ():
        if kind == "special":
            special[text] = len(tokens)
        if text in stops_of(format):
            ends.append(len(tokens))
        tokens.append(None if kind == "special" else text.encode())
    return Vocabulary.from_tokens(tokens, eos_token_ids=ends, special_tokens=special)


@lru_cache(maxsize=64)
def compiled_of(name, kind, choice="required"):
    """The grammar of the tools that all tests share, over a small vocabulary."""
    return tool_calls(TOOLS, format=name, tool_choice=choice).compile(vocabulary_of(name, kind))


def cut(compiled, text, rng=None):
    """The text as token ids: markers that are tokens as these, the rest as bytes, or as any of the pieces by `rng`."""
    derived = compiled._derived
    symbols = {s: vocabulary_id(compiled.vocabulary, s) for s in compiled._symbols}
    known = compiled.vocabulary.token_bytes
    by_text = {data: i for i, data in enumerate(known) if data and derived.token_bytes[i] == data}
    longest = max(map(len, by_text))
    ids, at = [], 0
    while at < len(text):
        found = next((s for s in sorted(symbols, key=len, reverse=True) if text.startswith(s, at)), None)
        if found:
            ids.append(symbols[found])
            at += len(found)
            continue
        nearest = min((n for s in symbols if (n := text.find(s, at)) >= 0), default=len(text))
        data = text[at:nearest].encode("utf-8", "surrogateescape")
        while data:
            sizes = [n for n in range(1, min(longest, len(data)) + 1) if data[:n] in by_text]
            size = rng.choice(sizes) if rng and rng.random() < 0.5 else sizes[0] if len(by_text) < 1000 else sizes[-1]
            ids.append(by_text[data[:size]])
            data = data[size:]
        at = nearest
    return ids


def vocabulary_id(vocabulary, text):
    found = vocabulary.special_tokens.get(text)
    return vocabulary.token_bytes.index(text.encode()) if found is None else found


def spelled(vocabulary, ids):
    """Token ids as text, for messages of failed tests."""
    names = {i: text for text, i in vocabulary.special_tokens.items()}
    return "".join(names.get(i) or (vocabulary.token_bytes[i] or b"?").decode("latin-1") for i in ids)


def accepts(compiled, text, rng=None):
    """Whether a grammar takes a text as a whole message; otherwise at which token it stops."""
    matcher = compiled.matcher()
    for k, token in enumerate(cut(compiled, text, rng)):
        if matcher.is_terminated or not matcher.accept_token(token):
            return k
    return True if may_end(matcher) else "not complete"


def may_end(matcher):
    """Whether a message may end here: by any end of sequence, or by a token of the branch's own."""
    if matcher.is_terminated or matcher.is_accepting:
        return True
    return any(allowed(matcher, stop) for stop in matcher.compiled.stop_token_ids)


def allowed(matcher, token):
    mask = read_mask(matcher, matcher.compiled.vocabulary.size)
    return bool(mask[token])


def check_mask(matcher, sample=None):
    """The mask is what the matcher takes, token by token. `sample`: ids to try besides some that are set."""
    mask = read_mask(matcher, matcher.compiled.vocabulary.size)
    some = np.flatnonzero(mask)[:: max(1, int(mask.sum()) // 300)].tolist()
    ids = range(mask.size) if sample is None else {*sample, *some}
    wrong = []
    for token in ids:
        taken = matcher.accept_token(int(token))
        if taken:
            matcher.rollback(1)
        if taken != mask[token]:
            wrong.append((token, taken))
    assert not wrong, f"tokens that are {'refused' if mask[wrong[0][0]] else 'taken'} against the mask: {wrong[:9]}"
    return np.flatnonzero(mask)


class Ways:
    """The tokens that led down to the end from where an automaton has been, so that no way is looked for twice."""

    def __init__(self):
        self._automaton, self._tokens = None, {}

    def tokens(self, matcher):
        if self._automaton is not matcher._automaton:
            self._automaton, self._tokens = matcher._automaton, {}
        return self._tokens


def close(matcher, limit=6000, ways=None):
    """Go down `min_tokens_to_end` until the message ends; the tokens taken. It must fall with every one of them."""
    out = []
    known_ways = Ways() if ways is None else ways
    vocabulary = matcher.compiled.vocabulary
    bound = matcher.min_tokens_to_end
    known = matcher.compiled._derived.token_bytes
    singles = [i for i, data in enumerate(known) if data and (len(data) == 1 or data[0] == 0xFF)]
    while not matcher.is_terminated:
        if matcher.is_accepting:
            out.append(matcher.compiled.end_token_ids[0])
            assert matcher.accept_token(out[-1])
            break
        tokens, position = known_ways.tokens(matcher), matcher._positions[-1]
        if position in tokens:
            out.append(tokens[position])
            assert matcher.accept_token(out[-1])
            continue
        before = matcher.min_tokens_to_end
        mask = read_mask(matcher, vocabulary.size)
        for token in singles:
            if mask[token] and matcher.accept_token(token):
                if matcher.is_terminated or matcher.is_accepting or matcher.min_tokens_to_end < before:
                    out.append(token)
                    if known_ways.tokens(matcher) is tokens:
                        tokens[position] = token
                    break
                matcher.rollback(1)
        else:
            open_ = [spelled(vocabulary, [i]) for i in np.flatnonzero(mask)[:8]]
            raise AssertionError(f"no token lowers the distance {before}; allowed are {open_}")
        assert len(out) < limit
    assert len(out) <= bound + 1, f"the distance said {bound} tokens at most, the way took {len(out)}"
    return out


def walk(compiled, rng, steps, checks=0.0):
    """A random message: random tokens, then the short way to the end. Masks are checked at some of them."""
    matcher, ids = compiled.matcher(), []
    for _ in range(steps):
        if matcher.is_terminated:
            break
        if rng.random() < checks:
            open_ = check_mask(matcher)
        else:
            open_ = np.flatnonzero(read_mask(matcher, compiled.vocabulary.size))
        assert len(open_), f"a dead end after {spelled(compiled.vocabulary, ids)!r}"
        token = int(rng.choice(open_.tolist()))
        assert matcher.accept_token(token)
        ids.append(token)
    return ids + close(matcher)
