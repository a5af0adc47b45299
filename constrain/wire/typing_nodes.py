"""Arguments that are not written as JSON, as nodes that type the JSON of the same value into the automaton.

Where such arguments stand is told by where the automaton stands after the JSON that the text so far means, and by a few
characters of which it is not known yet what they mean. A way is open where the automaton can go on.
"""

from __future__ import annotations

import keyword
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence, Set
from itertools import islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from constrain.grammars.languages.text import FREE_TEXT
from constrain.kernels.layout import ARRAY_FIRST, ATOM, KEY, OBJECT_FIRST, OBJECT_NEXT, RAW, VALUE
from constrain.wire.feeding import BYTES, Texts, groups
from constrain.wire.nodes import Item, Items, Node, Progress

NOWHERE = -1


class Typist(Protocol):
    """What types; see `constrain.engine.around.Around`."""

    def open(self, owner: Owner, tool: int) -> int: ...
    def feed(self, position: int, data: bytes, *, marked: bool = True) -> int: ...
    def feed_each(self, position: int, texts: Texts, *, marked: bool = True) -> NDArray[np.int64]: ...
    def settle(self, position: int) -> int: ...
    def mode(self, position: int) -> int: ...
    def distance(self, position: int) -> float: ...
    def is_own(self, position: int) -> bool: ...
    def is_open(self, position: int) -> bool: ...
    def is_list(self, position: int) -> bool: ...
    def names_of(self, position: int) -> tuple[Sequence[bytes], Set[bytes]]: ...


Owner = tuple["TypedArguments", Progress]


class TypedArguments(Node):
    """Arguments of one notation. The first element of `at` names what is being read, the second is a position."""

    def __init__(self, typist: Callable[[], Typist], following: Node) -> None:
        self._typist, self.following = typist, following
        self._starts: dict[Progress, int] = {}
        self._rests: dict[tuple[int, Progress, bytes], float] = {}

    @property
    def typist(self) -> Typist:
        return self._typist()

    def start(self, progress: Progress) -> int:
        """The position before the arguments' JSON."""
        found = self._starts.get(progress)
        if found is None:
            (tool,) = progress.tools
            found = self._starts[progress] = self.typist.open((self, progress), tool)
        return found

    @abstractmethod
    def after_member(self, position: int, progress: Progress) -> Items:
        """The items after a member whose value the automaton has read by itself."""

    @abstractmethod
    def after_word(self, item: Item, word: bytes) -> Items:
        """The items after a word that was read as a whole: the name of a member that is not declared, or any."""

    def rest_of_word(self, item: Item, word: bytes) -> float:
        """Bytes of a short way from within a word, of which this much has been read, to the end of the message.

        It is that of a declared name which begins so, or of any other, after which the way is taken to be as after the
        shortest one: that leaves the fewest short names, should more be needed.
        """
        _, position, state = item.at
        declared, taken = self.typist.names_of(position)
        best = math.inf
        for name in islice((name for name in declared if name.startswith(word)), _LOOKED_AT):
            best = min(best, len(name) - len(word) + 1 + self._rest_after(item, name))
        added = FREE_TEXT.shortest(state)
        if not added:
            while not self._is_free(word + b"x" * added, taken):
                added += 1
        return min(best, added + 1 + self._rest_after(item, self._first_free(taken)))

    def most_rest_of_word(self, item: Item) -> float:
        """What `rest_of_word` is at most, whatever has been read of the word."""
        _, position, state = item.at
        _, taken = self.typist.names_of(position)
        # One letter more leads past a name that is in use, and past a word that is none.
        added = FREE_TEXT.shortest(state) or len(taken) + 2
        return added + 1 + self._rest_after(item, self._first_free(taken))

    def _rest_after(self, item: Item, name: bytes) -> float:
        """Bytes of a short way to the end of the message from after a name."""
        key = (item.at[1], item.progress, name)
        found = self._rests.get(key)
        if found is None:
            items = self.after_word(item, name)
            found = self._rests[key] = min((i.node.rest(i) for i in items), default=math.inf)
        return found

    def _first_free(self, taken: Set[bytes]) -> bytes:
        word = b"x"
        while not self._is_free(word, taken):
            word += b"x"
        return word

    def _is_free(self, word: bytes, taken: Set[bytes]) -> bool:
        """Whether a word is the name of a member that is neither declared nor in use."""
        return bool(word) and word not in taken and self.is_name(word)

    def is_name(self, word: bytes) -> bool:  # noqa: ARG002
        """Whether the notation has a name that is this word."""
        return True

    def _word(self, item: Item, name: bytes, end: bytes) -> Iterator[tuple[Sequence[int], Items]]:
        """How a word goes on: with whole characters of `name`, up to `end`. An item is ("word", position, state)."""
        _, position, state = item.at
        row, groups = FREE_TEXT.row(state).tolist(), dict[int, list[int]]()
        for byte in name:
            if row[byte]:
                groups.setdefault(row[byte], []).append(byte)
        for to, found in groups.items():
            yield found, (Item(self, ("word", position, to), item.progress),)
        if FREE_TEXT.boundary(state):
            yield end, (Item(self, ("named", position), item.progress),)

    def _first_of_word(self, position: int, name: bytes, progress: Progress) -> Iterator[tuple[Sequence[int], Items]]:
        for found, items in self._word(Item(self, ("word", position, FREE_TEXT.start), progress), name, b""):
            if found:
                yield found, items

    def cost(self, progress: Progress) -> float:
        return self.typist.distance(self.start(progress))


def json_spelling(byte: int) -> bytes:
    """How a byte of a string's UTF-8 is spelled within a JSON string, with an escape only where there must be one."""
    if byte == 0x22:
        return b'\\"'
    if byte == 0x5C:
        return b"\\\\"
    if byte < 0x20:
        return _SHORT.get(byte) or b"\\u%04x" % byte
    return bytes((byte,))


_SHORT = {8: b"\\b", 9: b"\\t", 10: b"\\n", 12: b"\\f", 13: b"\\r"}
SPELLINGS = tuple(json_spelling(b) for b in range(256))
SPELLED = Texts(SPELLINGS)


class PythonKeywords(TypedArguments):
    """`a="x", b=[1, None]`: keyword arguments, their values JSON but for the three words."""

    def enter(self, progress: Progress) -> Items:
        position = self.typist.feed(self.start(progress), b"{")
        return self._member(position, b'"', progress, first=True)

    def _member(self, position: int, opening: bytes, progress: Progress, *, first: bool) -> Items:
        items: list[Item] = []
        if self.typist.feed(position, opening) != NOWHERE:
            items.append(Item(self, ("key" if first else "comma", position, b""), progress))
        if self.typist.feed(position, b"}") != NOWHERE:
            items += self.following.enter(progress)
        return tuple(items)

    def after_member(self, position: int, progress: Progress) -> Items:
        return self._member(position, b',"', progress, first=False)

    def step(self, item: Item) -> Iterator[tuple[Sequence[int], Items]]:
        kind, position, *more = item.at
        read: bytes = more[0] if more else b""
        if kind == "comma":
            after = self.typist.feed(position, b",")
            yield b",", (Item(self, ("blank", after, b""), item.progress),)
            return
        if kind == "blank":  # after a comma: at most one blank, or a line break and blanks
            if len(read) < _MOST_BLANKS:
                if not read:
                    yield b" \t", (Item(self, ("blank", position, b" "), item.progress),)
                    yield b"\n", (Item(self, ("blank", position, b"\n"), item.progress),)
                elif read[0] == 0x0A:
                    yield b" \t", (Item(self, ("blank", position, read + b" "), item.progress),)
            kind, read = "key", b""
        if kind == "word":
            yield from self._word(item, _NAME, b"=")
            return
        if kind == "key" and not read and self.typist.is_open(self.typist.feed(position, b'"')):
            yield from self._first_of_word(self.typist.feed(position, b'"'), _NAME_START, item.progress)
            return
        if kind == "key":
            for byte in _NAME if read else _NAME_START:
                text = read + bytes((byte,))
                if self._typed(position, text) != NOWHERE:
                    yield (byte,), (Item(self, ("key", position, text), item.progress),)
            if read and read.decode() not in _KEYWORDS:
                value = self.typist.feed(self._typed(position, read), b'":')
                if value != NOWHERE:
                    yield b"=", (Item(self, ("call", value), item.progress),)

    def _typed(self, position: int, key: bytes) -> int:
        return self.typist.feed(position, b'"' + key)

    def is_name(self, word: bytes) -> bool:
        return word.decode() not in _KEYWORDS

    def after_word(self, item: Item, word: bytes) -> Items:
        position = item.at[1]
        value = self.typist.feed(position, word + b'":') if self.is_name(word) else NOWHERE
        return (Item(self, ("call", value), item.progress),) if value != NOWHERE else ()

    def rest(self, item: Item) -> float:
        kind, position, *more = item.at
        if kind == "call":
            return self.typist.distance(position)
        if kind == "key" and more[0]:
            return self.typist.distance(self._typed(position, more[0]))
        return self.typist.distance(position)


_NAME_START = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
_NAME = _NAME_START + b"0123456789"
_MOST_BLANKS = 33
_LOOKED_AT = 64  # declared names of which one may be the shortest way on
_KEYWORDS = frozenset(keyword.kwlist)


class Ended:
    """Where a text may be its own end: how much of `end` has been read that may be part of the text as well."""

    def __init__(self, end: bytes) -> None:
        self.end = end
        self._next: list[list[tuple[int, int]]] = []  # by characters of the end read, by byte: the same, and how many
        # characters that were held back belong to the text after all (without the byte itself)
        for read in range(len(end)):
            row = []
            for byte in range(256):
                text = end[:read] + bytes((byte,))
                keep = next(k for k in range(min(len(text), len(end)), -1, -1) if text.endswith(end[:k]))
                row.append((keep, len(text) - keep))
            self._next.append(row)
        # By characters read: the bytes with which these and the byte belong to the text, and all others.
        self.apart = [
            (np.array([b for b in range(256) if not row[b][0]]), [b for b in range(256) if row[b][0]])
            for row in self._next
        ]

    def step(self, read: int, byte: int) -> tuple[int, bytes]:
        """How much of the end has been read after a byte, and what now is known to be text."""
        keep, released = self._next[read][byte]
        return keep, (self.end[:read] + bytes((byte,)))[:released]


class Bare(TypedArguments):
    """`{a:<quote>text<quote>,b:[1,null]}`: JSON without whitespace, with bare names and quotes of its own."""

    def __init__(self, typist: Callable[[], Typist], following: Node, quote: bytes, name: bytes) -> None:
        """`quote` is before and after a string; `name` has the bytes that a member's name may have."""
        super().__init__(typist, following)
        self.quote, self.name = quote, name
        self._name_bytes = np.array(list(name))
        self._ended = Ended(quote)

    def enter(self, progress: Progress) -> Items:
        return (Item(self, ("begin", self.start(progress)), progress),)

    def after_member(self, position: int, progress: Progress) -> Items:  # noqa: ARG002
        raise AssertionError("all values are typed")

    def _land(self, position: int, progress: Progress) -> Items:
        if position == NOWHERE:
            return ()
        if self.typist.mode(position) == RAW:
            return self.following.enter(progress)
        return (Item(self, ("at", position), progress),)

    def step(self, item: Item) -> Iterator[tuple[Sequence[int], Items]]:
        kind, position, *more = item.at
        typist, progress = self.typist, item.progress
        if kind == "begin":
            yield b"{", self._land(typist.feed(position, b"{"), progress)
            return
        if kind == "open":  # within an opening quote, already typed
            (read,) = more
            done = read + 1 == len(self.quote)
            after = ("string", position, 0) if done else ("open", position, read + 1)
            yield self.quote[read : read + 1], (Item(self, after, progress),)
            return
        if kind == "string":
            yield from self._string(position, more[0], progress)
            return
        if kind == "word":
            yield from self._word(item, self.name, b":")
            return
        mode = typist.mode(position)
        if mode in (OBJECT_FIRST, OBJECT_NEXT) and typist.is_list(position):
            mode = VALUE
        if mode in (VALUE, ARRAY_FIRST):
            opened = typist.feed(position, b'"')
            if opened != NOWHERE:
                after = ("open", opened, 1) if len(self.quote) > 1 else ("string", opened, 0)
                yield self.quote[:1], (Item(self, after, progress),)
            plain = b"{[-0123456789tfn]"
        elif mode in (OBJECT_FIRST, OBJECT_NEXT):
            named = typist.feed(position, b'"')
            is_open = named != NOWHERE and typist.is_open(named)
            if is_open:
                yield from self._first_of_word(named, self.name, progress)
            if named != NOWHERE and not is_open:
                yield from self._landing(typist.feed_each(named, SPELLED), self._name_bytes, progress)
            plain = b"}" if mode == OBJECT_FIRST else b""
        elif mode == KEY:
            yield from self._landing(typist.feed_each(position, SPELLED), self._name_bytes, progress)
            if items := self._land(typist.feed(position, b'":'), progress):
                yield b":", items
            plain = b""
        else:
            plain = b",}]" if mode != ATOM else b",}]0123456789+-.eEtruefalsn"
        if plain:
            bytes_ = np.array([b for b in dict.fromkeys(plain) if b != self.quote[0]])
            yield from self._landing(typist.feed_each(position, BYTES), bytes_, progress)

    def _landing(
        self, positions: NDArray[np.int64], bytes_: NDArray[np.int64], progress: Progress
    ) -> Iterator[tuple[Sequence[int], Items]]:
        for position, found in groups(positions, bytes_):
            yield found.tolist(), self._land(position, progress)

    def after_word(self, item: Item, word: bytes) -> Items:
        position = item.at[1]
        typed = self.typist.feed(position, b"".join(SPELLINGS[b] for b in word) + b'":')
        return self._land(typed, item.progress)

    def _string(self, position: int, held: int, progress: Progress) -> Iterator[tuple[Sequence[int], Items]]:
        before = self._fed(position, self.quote[:held])
        alone, others = self._ended.apart[held]
        if before != NOWHERE:
            for after, found in groups(self.typist.feed_each(before, SPELLED), alone):
                yield found.tolist(), (Item(self, ("string", after, 0), progress),)
        for byte in others:
            read, text = self._ended.step(held, byte)
            if items := self._in_string(position, read, text, progress):
                yield (byte,), items

    def _fed(self, position: int, text: bytes) -> int:
        return self.typist.feed(position, b"".join(SPELLINGS[b] for b in text)) if text else position

    def _in_string(self, position: int, read: int, text: bytes, progress: Progress) -> Items:
        position = self._fed(position, text)
        if position == NOWHERE:
            return ()
        if read == len(self.quote):
            return self._land(self.typist.feed(position, b'"'), progress)
        if read and self._end(position) == NOWHERE:
            held = b"".join(SPELLINGS[b] for b in self.quote[:read])
            if self.typist.feed(position, held) == NOWHERE:
                return ()
        return (Item(self, ("string", position, read), progress),)

    def _end(self, position: int) -> int:
        return self.typist.feed(position, b'"')

    def rest(self, item: Item) -> float:
        kind, position, *more = item.at
        if kind == "open":
            return len(self.quote) - more[0] + self.typist.distance(position)
        if kind == "string" and more[0]:
            ended = self._end(position)
            ways = [len(self.quote) - more[0] + self.typist.distance(ended)] if ended != NOWHERE else []
            held = self.typist.feed(position, b"".join(SPELLINGS[b] for b in self.quote[: more[0]]))
            ways += [self.typist.distance(held)] if held != NOWHERE else []
            return min(ways, default=math.inf)
        return self.typist.distance(position)
