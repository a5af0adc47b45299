"""Forced bytes as tokens: the cut that the tokenizer makes of them, as far as nothing to come can change it.

Some bytes must come next whatever the model wants. To write them without asking it, they must be cut as the model would
have seen them cut in training: as its tokenizer cuts the whole text. That cut depends on what follows. After
`{"name` comes `":`, but the tokenizer may have a token for `":"` or for `": `, and which one it is remains the model's
choice. So the last tokens are left to the model, and the question is how many.

It is answered by trying. The text so far and the forced bytes are encoded together with continuations that the grammar
allows, and the tokens common to all are the answer. Two things can move a cut before the end of the forced bytes:

- a token that reaches over that end. Every token of the vocabulary that can, by its bytes and by the grammar, is tried,
  until one is met that the tokenizer really places there. Where there are too many to try, none of the bytes such a
  token would take are given away.
- a pre-tokenizer that looks ahead (`\\s+(?!\\S)`, contractions, groups of digits). It sees kinds of characters, so
  continuations of one and two characters of every kind are tried, three of a kind, and all contractions.

For byte-pair encodings, whose tokens up to a cut are the encoding of the text up to it, that is all there is. For
others (Unigram) it is a good sample, and not a proof.

JSON lets every character of a string be written as an escape too, so within strings no byte is forced in the strict
sense. Where the escapes that may come all spell the one character that may come, there is no choice of a value, only of
its spelling; such a character counts as forced, and is written plainly, unless escapes are to count. In the same way
an escape is no continuation to be tried where every character that may come can be written plainly.

A marker that is one token ends a text as tokenizers see it: they cut what lies between such tokens by itself. So bytes
before a marker that must come are cut for good, and the marker is forced too where it is the only one.

The trade-off: some tens of encodings of a short text, a millisecond or so, for each run of forced bytes. They are
remembered per state of the grammar and last bytes of the text.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from constrain.engine.markers import MARKER, NO_MARKERS, Markers
from constrain.grammars.errors import VocabularyError

if TYPE_CHECKING:
    from constrain.engine.automaton import Automaton
    from constrain.kernels.trie import Trie
    from constrain.vocabulary import Vocabulary

WHOLE_TEXT = 4096
"""Bytes of the text so far, counted from its end, that the tokenizer is shown."""

_NEAR_TEXT = 64  # bytes shown for each continuation, where they are cut as they are in the whole text
_NODES = 600  # trie nodes visited per cut in search of tokens that reach over the end
_TRIES = 40  # such tokens tried per cut
_MEMO = 1024
_SECOND = ("a", "s", "l", "e", "A", "0", " ", "\n", "\r", '"', "'", ".", "_", "é", "漢")
_FIRST = (*map(chr, [*range(0x20, 0x7F), 9, 10, 13]), "é", "É", "漢", "\u0301", "٣", "\u00a0", "—", "😀", "ก")
_CONTRACTIONS = tuple(
    quote + end
    for quote in (b"", b"'")
    for end in (b"s", b"t", b"re", b"ve", b"m", b"ll", b"d", b"S", b"T", b"RE", b"VE", b"M", b"LL", b"D")
)
_BEGINNINGS = bytes({*range(0x20, 0x80), *range(0xC2, 0xF5)} - {0x5C})  # of a character in a JSON string, plainly
_CONTINUATIONS = bytes(range(0x80, 0xC0))
_SHORT_ESCAPES = tuple(bytes([byte]) for byte in b'"\\bfnrt')
_ALIKE = frozenset("bcdfghijknopquwxyzBCDFGHIJKLMNOPQRSTUVWXYZ2345678")  # as good as a, A and 0 to a pre-tokenizer


class Cut(NamedTuple):
    """A token and where it ends, in bytes from the beginning of what was encoded."""

    token: int
    end: int


class _Tree:
    """The trie of a vocabulary by children, for the few nodes that are ever visited."""

    def __init__(self, trie: Trie) -> None:
        self._trie = trie
        self._children: dict[int, dict[int, int]] = {}

    def children(self, node: int) -> dict[int, int]:
        found = self._children.get(node)
        if found is None:
            if len(self._children) > 1 << 16:
                self._children.clear()
            byte, end = self._trie.byte, self._trie.end
            found, child, last = {}, node + 1, int(end[node])
            while child < last:
                found[int(byte[child])] = child
                child = int(end[child])
            self._children[node] = found
        return found

    def find(self, data: bytes) -> int | None:
        node = 0
        for byte in data:
            child = self.children(node).get(byte)
            if child is None:
                return None
            node = child
        return node

    def is_token(self, node: int) -> bool:
        return bool(self._trie.token_offset[node + 1] > self._trie.token_offset[node])


_trees: weakref.WeakKeyDictionary[Vocabulary, _Tree] = weakref.WeakKeyDictionary()
_memos: weakref.WeakKeyDictionary[Automaton, dict[tuple[bytes, bytes, int, bool], list[int]]] = (
    weakref.WeakKeyDictionary()
)


_characters: weakref.WeakKeyDictionary[Automaton, dict[int, bytes]] = weakref.WeakKeyDictionary()


def forced_tokens(
    automaton: Automaton,
    vocabulary: Vocabulary,
    position: int,
    text: bytes,
    markers: Markers = NO_MARKERS,
    *,
    plain: bool,
    limit: int,
    ends: tuple[int, ...],
) -> list[int]:
    """The forced tokens after `text`, whose end is at `position`. The caller holds the automaton's lock.

    With `plain`, a character that may also be written as an escape is forced none the less. `ends` are the ids that end
    a sequence.

    Raises VocabularyError where the vocabulary does not know how its tokenizer encodes.
    """
    if vocabulary.encode is None:
        raise VocabularyError(
            "encode",
            "forced tokens need the tokenizer: use Vocabulary.from_tokenizer(...), or from_tokens(..., encode=...); a "
            "vocabulary that was pickled has lost it",
        )
    out: list[int] = []
    while True:
        tokens, at, whole = _forced_text(automaton, vocabulary, position, text, markers, plain=plain, limit=limit)
        out += tokens
        if not whole:
            return out
        if automaton.only_byte(at) != MARKER:
            return [*out, ends[0]] if len(ends) == 1 and _only_the_end(automaton, at) else out
        token, position = _marker(automaton, at, markers)
        if token < 0:
            return out
        out.append(token)
        text = markers.context(token)
        if token in markers.stops and automaton.may_end(position):
            return out


def _forced_text(
    automaton: Automaton,
    vocabulary: Vocabulary,
    position: int,
    text: bytes,
    markers: Markers,
    *,
    plain: bool,
    limit: int,
) -> tuple[list[int], int, bool]:
    """The forced tokens up to the next marker, where the forced bytes end, and whether the tokens are all of them."""
    forced = bytearray()
    at = position
    while len(forced) < limit:
        byte = automaton.only_byte(at)
        found = bytes([byte]) if byte < MARKER else _only_character(automaton, at) if plain and byte > MARKER else b""
        if not found:
            break
        forced += found
        at = _run(automaton, at, found)
    if not forced:
        return [], at, True
    search = _Search(
        automaton, vocabulary, at, text, bytes(forced), plain and not _needs_escape(automaton, at), markers
    )
    tokens = search.run_to_marker() if automaton.only_byte(at) == MARKER else search.run()
    taken = position
    for count, token in enumerate(tokens):
        taken = automaton.accept_token(taken, token)
        if taken < 0:
            return tokens[:count], at, False
    written = b"".join(vocabulary.token_bytes[token] or b"" for token in tokens)
    return tokens, at, taken == at and written == forced


def _marker(automaton: Automaton, position: int, markers: Markers) -> tuple[int, int]:
    """The token of the only marker that may come, and the position after it; negative where there are several."""
    spelled = bytearray()
    while len(spelled) < 2 or spelled[-1] != MARKER:
        byte = automaton.only_byte(position)
        if byte > MARKER:
            return -1, -1
        spelled.append(byte)
        position = automaton.accept_byte(position, byte)
    return markers.tokens.get(bytes(spelled), -1), position


def _run(automaton: Automaton, position: int, data: bytes) -> int:
    """The position after some bytes; negative where they are refused."""
    for byte in data:
        if position < 0:
            break
        position = automaton.accept_byte(position, byte)
    return position


def _only_character(automaton: Automaton, position: int) -> bytes:
    """The one character of a JSON string that may come next, plainly or as an escape; empty where there are others."""
    memo = _characters.setdefault(automaton, {})
    found = memo.get(position)
    if found is None:
        found = memo[position] = _find_only_character(automaton, position)
    return found


def _find_only_character(automaton: Automaton, position: int) -> bytes:
    # Any character may be written as \uXXXX, so its digits tell whether there is one, and which.
    escape = automaton.accept_byte(position, 0x5C)
    if escape < 0 or automaton.may_end(position):
        return b""
    at, value = automaton.accept_byte(escape, ord("u")), 0
    for _ in range(4):
        if at < 0:
            return b""
        digits = [(d, to) for d in range(16) if (to := automaton.accept_byte(at, ord(f"{d:x}"))) >= 0]
        if len(digits) != 1:
            return b""
        value, at = 16 * value + digits[0][0], digits[0][1]
    if 0xD800 <= value <= 0xDFFF:
        return b""
    character = chr(value).encode()
    after = _run(automaton, position, character)
    if after < 0 or after != at:
        return b""
    for byte in b'"\\/bfnrt':
        other = automaton.accept_byte(escape, byte)
        if other >= 0 and other != after:
            return b""
    # Nothing but this character and its escapes, at any of its bytes.
    for index, byte in enumerate(character):
        candidates = _BEGINNINGS if index == 0 else _CONTINUATIONS
        if any(other != byte and automaton.accept_byte(position, other) >= 0 for other in candidates):
            return b""
        position = automaton.accept_byte(position, byte)
    return character


def _needs_escape(automaton: Automaton, position: int) -> bool:
    """Whether something may come next that only an escape can write: a quote, a backslash, a control character."""
    escape = automaton.accept_byte(position, 0x5C)
    if escape < 0:
        return False
    return any(_run(automaton, escape, data) >= 0 for data in (*_SHORT_ESCAPES, b"u000", b"u001"))


def _only_the_end(automaton: Automaton, position: int) -> bool:
    return automaton.may_end(position) and not any(automaton.accept_byte(position, byte) >= 0 for byte in range(256))


class _Search:
    """One run of forced bytes."""

    def __init__(
        self,
        automaton: Automaton,
        vocabulary: Vocabulary,
        at: int,
        text: bytes,
        forced: bytes,
        unescaped: bool,
        markers: Markers,
    ) -> None:
        assert vocabulary.encode is not None
        self._automaton, self._at = automaton, at
        self._bytes_of, self._encode = markers.spelled(vocabulary), vocabulary.encode
        self._longest = vocabulary.longest
        tree = _trees.get(vocabulary)
        if tree is None:
            tree = _trees[vocabulary] = _Tree(vocabulary.trie)
        self._tree = tree
        self._forced, self._unescaped = forced, unescaped
        self._whole = _from_character(text, WHOLE_TEXT)
        self._text = _from_character(text, max(_NEAR_TEXT, self._longest))

    def run(self) -> list[int]:
        whole = self._cuts(self._whole, self._complete(self._whole))
        if whole is None:
            return []
        if len(self._text) < len(self._whole):
            near = self._cuts(self._text, self._complete(self._text))
            shift = len(self._whole) - len(self._text)
            if near is None or [(c.token, c.end + shift) for c in near] != whole:
                self._text = self._whole
        memo = _memos.setdefault(self._automaton, {})
        key = self._text, self._forced, self._at, self._unescaped
        found = memo.get(key)
        if found is None:
            found = self._search()
            if len(memo) >= _MEMO:
                memo.clear()
            memo[key] = found
        return found.copy()

    def run_to_marker(self) -> list[int]:
        """As `run`, where a marker must follow: nothing that does can move a cut."""
        data = self._whole + self._forced
        cuts = self._cuts(self._whole, data)
        return [cut.token for cut in cuts] if cuts and cuts[-1].end == len(data) else []

    def _complete(self, text: bytes) -> bytes:
        """The text and the forced bytes, less the beginning of a character at the end."""
        data = text + self._forced
        return data[: len(data) - _begun(data)]

    def _cuts(self, text: bytes, data: bytes) -> list[Cut] | None:
        """The tokens of `data` after `text`, with which it begins, as far as they are known to be forced bytes.

        None where the tokenizer makes something else of it, or no token ends where the text does.
        """
        try:
            ids = self._encode(data.decode())
        except UnicodeDecodeError:
            return None
        parts = [self._bytes_of[i] if 0 <= i < len(self._bytes_of) else None for i in ids]
        joined = b"".join(part or b"" for part in parts)
        # A tokenizer may put a space of its own before a text.
        end = 0 if joined == data else -1
        if None in parts or (end and joined != b" " + data):
            return None
        begin, stop = len(text), len(text) + len(self._forced)
        found: list[Cut] | None = [] if end == begin else None
        for token, part in zip(ids, parts, strict=True):
            end += len(part or b"")
            if end > stop:
                break
            if found is not None:
                found.append(Cut(token, end))
            elif end == begin:
                found = []
        return found

    def _search(self) -> list[int]:
        data = self._text + self._forced
        common: list[Cut] | None = None

        def narrow(continuation: bytes) -> bool:
            """Try a continuation. False when nothing is left."""
            nonlocal common
            cuts = self._cuts(self._text, data + continuation)
            if cuts is None:
                # No tokens for such a text, or it spells a special token: not a text the model can write.
                if self._writes(data + continuation):
                    common = []
            elif common is None:
                common = cuts
            else:
                common = _common(common, cuts)
            return common != []

        for continuation in self._continuations():
            if not narrow(continuation):
                return []
        for start in range(max(0, len(data) - self._longest), len(data)):
            if not self._try_cut(data, start, narrow):
                before = self._cuts(self._text, data[:start]) if start > len(self._text) else []
                common = _common(common or [], before or [])
            if common == []:
                return []
        return [cut.token for cut in common or []]

    def _try_cut(self, data: bytes, start: int, narrow: Callable[[bytes], bool]) -> bool:
        """Try the tokens that begin at `start` and reach over the end. False when there were too many."""
        node = self._tree.find(data[start:])
        if node is None:
            return True
        tries = 0
        for suffix in self._suffixes(node):
            if suffix is None or tries >= _TRIES:
                return False
            continuation = self._to_character(data, suffix)
            if continuation is None:
                continue
            tries += 1
            if not narrow(continuation) or self._placed(data, start, continuation, len(suffix)):
                return True
        return True

    def _placed(self, data: bytes, start: int, continuation: bytes, reach: int) -> bool:
        """Whether the tokenizer cuts at `start`, and next after `reach` bytes of the continuation."""
        end = 0
        ends = {0}
        ids = self._encode((data + continuation).decode())
        parts = [self._bytes_of[i] or b"" for i in ids]
        end = len(data) + len(continuation) - sum(map(len, parts))
        for part in parts:
            end += len(part)
            ends.add(end)
        stop = len(data) + reach
        return start in ends and stop in ends and not any(start < other < stop for other in ends)

    def _writes(self, data: bytes) -> bool:
        """Whether the tokenizer has tokens for a text that add up to it."""
        ids = self._encode(data.decode())
        parts = [self._bytes_of[i] if 0 <= i < len(self._bytes_of) else None for i in ids]
        return None not in parts and b"".join(part or b"" for part in parts) in (data, b" " + data)

    # ---- continuations that the grammar allows -----------------------------------------------------------------------

    def _run(self, position: int, data: bytes) -> int:
        return _run(self._automaton, position, data)

    def _continuations(self) -> Iterator[bytes]:
        """The end, and one, two and three characters of every kind."""
        automaton = self._automaton
        begun = _begun(self._text + self._forced)
        if not begun and (automaton.may_end(self._at) or automaton.accept_byte(self._at, MARKER) >= 0):
            yield b""
        if begun:  # within a character: its possible ends, few of them
            for byte in range(0x80, 0xC0):
                rest = self._to_character(self._text + self._forced, bytes([byte]))
                if automaton.accept_byte(self._at, byte) >= 0 and rest is not None:
                    yield rest
            return
        for contraction in _CONTRACTIONS:
            if self._run(self._at, contraction) >= 0:
                yield contraction
        found = False
        alike: dict[int, int] = {}
        for character in _FIRST:
            first = character.encode()
            after = self._run(self._at, first)
            if after < 0 or (self._unescaped and character == "\\"):
                continue
            found = True
            if character in _ALIKE:
                kind = ord(character) >> 5
                alike[kind] = alike.get(kind, 0) + 1
                if alike[kind] > 2:
                    continue
            yield first
            if character not in _SECOND:
                continue
            for other in _SECOND:
                second = other.encode()
                last = self._run(after, second)
                if last >= 0:
                    yield first + second
                    if other == character and self._run(last, second) >= 0:
                        yield first + second + second
        if not found:  # only rarer characters: a few of them, whatever they are
            for byte in range(0xC2, 0xF5):
                continuation = self._to_character(b"", bytes([byte]))
                if automaton.accept_byte(self._at, byte) >= 0 and continuation is not None:
                    yield continuation

    def _suffixes(self, node: int) -> Iterator[bytes | None]:
        """What the tokens below a node write after it, as far as the grammar allows it; None when that is too much."""
        visited = 0
        waiting = [(node, self._at, b"")]
        while waiting:
            node, position, suffix = waiting.pop()
            for byte, child in self._tree.children(node).items():
                if byte == MARKER:  # in no text
                    continue
                visited += 1
                if visited > _NODES:
                    yield None
                    return
                to = self._automaton.accept_byte(position, byte)
                if to >= 0 and not (self._unescaped and byte == 0x5C and not suffix):
                    longer = suffix + bytes([byte])
                    if self._tree.is_token(child):
                        yield longer
                    waiting.append((child, to, longer))

    def _to_character(self, data: bytes, continuation: bytes) -> bytes | None:
        """A continuation brought to the end of its last character; None where the grammar does not lead there."""
        position = self._run(self._at, continuation)
        if position < 0:
            return None
        for _ in range(_missing(data + continuation)):
            for byte in range(0x80, 0xC0):
                to = self._automaton.accept_byte(position, byte)
                if to >= 0:
                    continuation, position = continuation + bytes([byte]), to
                    break
            else:
                return None
        return continuation


def _common(one: list[Cut], other: list[Cut]) -> list[Cut]:
    for count, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return one[:count]
    return one[: len(other)]


def _from_character(text: bytes, size: int) -> bytes:
    """The last `size` bytes of a text or a few less, from the beginning of a character."""
    if len(text) <= size:
        return text
    start = len(text) - size
    while start < len(text) and 0x80 <= text[start] < 0xC0:
        start += 1
    return text[start:]


def _last_character(data: bytes) -> tuple[int, int]:
    """Bytes of the last character that are there, and bytes it should have."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            return 1, 1
        if byte >= 0xC0:
            return back, 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
    return 0, 0


def _begun(data: bytes) -> int:
    """Bytes at the end that only begin a character."""
    there, whole = _last_character(data)
    return there if there < whole else 0


def _missing(data: bytes) -> int:
    """Bytes lacking to the last character."""
    there, whole = _last_character(data)
    return whole - there
