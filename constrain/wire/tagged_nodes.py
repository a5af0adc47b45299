"""Arguments between tags, strings as they are: `<parameter=city>Paris</parameter>`.

A string runs up to the exact tag that ends it. Where a value may be a string and something else, its text is typed both
ways at once; the readings of `readings` are exclusive, as the schema has been told (see `restricted.py`), so that at
the end one way is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from constrain.grammars.tool_formats.readings import argument_types
from constrain.wire.feeding import BYTES, groups
from constrain.wire.nodes import Item, Items, Node, Progress
from constrain.wire.typing_nodes import NOWHERE, SPELLED, SPELLINGS, Ended, TypedArguments, Typist

_NOT_IN_NAMES = b'<>"\n'
_WORDS = (b"true", b"false")
_FLAGGED = (frozenset({"string"}), frozenset({"object"}))  # what a value is taken for after these words
_JSON_STARTS = b'{["-0123456789tfn'
_NAME_BYTES = bytes(b for b in range(256) if b not in _NOT_IN_NAMES)


class Tagged(TypedArguments):
    """The arguments of one format.

    The parts of a member: `lead`, its name, `middle`, where the format says which values are strings `true` or `false`
    and `flag_end`, its value, `tail`. Of the tail the first `tag` bytes are what ends a string.
    """

    def __init__(
        self,
        typist: Callable[[], Typist],
        following: Node,
        parameters: Callable[[int], object],
        *,
        lead: bytes,
        middle: bytes,
        flag_end: bytes | None,
        tail: bytes,
        tag: int,
    ) -> None:
        super().__init__(typist, following)
        self._parameters = parameters
        self.lead, self.middle, self.flag_end, self.tail, self.tag = lead, middle, flag_end, tail, tag
        self._ended = Ended(tail[:tag])
        # As `apart`, where the value may be no string as well.
        self._apart = [
            (np.array([b for b in alone.tolist() if b not in _IN_OTHERS]), sorted({*others, *_IN_OTHERS}))
            for alone, others in self._ended.apart
        ]
        self._types: dict[tuple[int, bytes], frozenset[str]] = {}

    @property
    def overhead(self) -> int:
        """Bytes of a member besides its name and value."""
        return len(self.lead) + len(self.middle) + len(self.tail) + (5 + len(self.flag_end or b""))

    # ---- members -----------------------------------------------------------------------------------------------------

    def enter(self, progress: Progress) -> Items:
        return self._between(self.typist.feed(self.start(progress), b"{"), b'"', progress)

    def _between(self, position: int, opening: bytes, progress: Progress) -> Items:
        items: tuple[Item, ...] = ()
        if self.typist.feed(position, opening) != NOWHERE:
            items = (Item(self, ("lead", position, 0, opening), progress),)
        if self.typist.feed(position, b"}") != NOWHERE:
            items += self.following.enter(progress)
        return items

    def after_member(self, position: int, progress: Progress) -> Items:
        return (Item(self, ("tail", position, 0), progress),)

    def after_word(self, item: Item, word: bytes) -> Items:
        return self._named(item.at[1], word, item.progress)

    def _named(self, position: int, name: bytes, progress: Progress) -> Items:
        """After the name and the first byte that follows it."""
        typed = self.typist.feed(position, b"".join(SPELLINGS[b] for b in name) + b'":')
        return () if typed == NOWHERE else self._in_middle(typed, 1, self._types_of(name, progress), progress)

    def _types_of(self, name: bytes, progress: Progress) -> frozenset[str]:
        (tool,) = progress.tools
        found = self._types.get((tool, name))
        if found is None:
            found = self._types[tool, name] = argument_types(name.decode("utf-8", "replace"), self._parameters(tool))
        return found

    def _in_middle(self, position: int, read: int, types: frozenset[str], progress: Progress) -> Items:
        if read < len(self.middle):
            return (Item(self, ("middle", position, read, types), progress),)
        if self.flag_end is None:
            return self._value(position, types, progress)
        items = []
        if self.typist.feed(position, b'"') != NOWHERE:
            items.append(Item(self, ("flag", position, 0, 0), progress))
        if any(self.typist.feed(position, bytes((b,))) != NOWHERE for b in _JSON_STARTS if b != 0x22):
            items.append(Item(self, ("flag", position, 0, 1), progress))
        return tuple(items)

    def _value(self, position: int, types: frozenset[str], progress: Progress) -> Items:
        if "string" not in types:
            return (Item(self, ("call", position), progress),)
        text = self.typist.feed(position, b'"', marked=False)
        other = position if types - {"string"} else NOWHERE
        return (Item(self, ("text", text, other, 0, types), progress),)

    def step(self, item: Item) -> Iterator[tuple[Sequence[int], Items]]:
        kind, position, *more = item.at
        progress = item.progress
        if kind == "lead":
            read, opening = more
            after: Items = (Item(self, ("lead", position, read + 1, opening), progress),)
            if read + 1 == len(self.lead):
                named = self.typist.feed(position, opening)
                is_open = self.typist.is_open(named)
                after = (Item(self, ("first", named) if is_open else ("name", named, b""), progress),)
            yield self.lead[read : read + 1], after
        elif kind == "first":
            yield from self._first_of_word(position, _NAME_BYTES, progress)
        elif kind == "word":
            yield from self._word(item, _NAME_BYTES, self.middle[:1])
        elif kind == "name":
            yield from self._name(position, more[0], progress)
        elif kind == "middle":
            read, types = more
            yield self.middle[read : read + 1], self._in_middle(position, read + 1, types, progress)
        elif kind == "flag":
            read, which = more
            assert self.flag_end is not None
            data = _WORDS[which] + self.flag_end
            after = (Item(self, ("flag", position, read + 1, which), progress),)
            if read + 1 == len(data):
                after = self._value(position, _FLAGGED[which], progress)
            yield data[read : read + 1], after
        elif kind == "tail":
            (read,) = more
            yield self.tail[read : read + 1], self._in_tail(position, read + 1, progress)
        elif kind == "typed":
            yield from self._typed(position, progress)
        elif kind == "text":
            yield from self._text(position, more[0], more[1], more[2], progress)

    def _in_tail(self, position: int, read: int, progress: Progress) -> Items:
        if read < len(self.tail):
            return (Item(self, ("tail", position, read), progress),)
        return self._between(position, b',"', progress)

    def _name(self, position: int, read: bytes, progress: Progress) -> Iterator[tuple[Sequence[int], Items]]:
        typed = self.typist.feed(position, b"".join(SPELLINGS[b] for b in read))
        to = self.typist.feed_each(typed, SPELLED).tolist()
        for byte in _NAME_BYTES:
            if to[byte] != NOWHERE:
                yield (byte,), (Item(self, ("name", position, read + bytes((byte,))), progress),)
        if read and (items := self._named(position, read, progress)):
            yield self.middle[:1], items

    # ---- values ------------------------------------------------------------------------------------------------------

    def _text(
        self, text: int, other: int, held: int, types: frozenset[str], progress: Progress
    ) -> Iterator[tuple[Sequence[int], Items]]:
        first = held == 0 and other != NOWHERE and text == self.typist.feed(other, b'"', marked=False)
        # Nearly all bytes go on with the string alone: they are fed together.
        alone, others = self._ended.apart[held] if other == NOWHERE else self._apart[held]
        before = self._fed(text, b"".join(SPELLINGS[b] for b in self.tail[:held]), marked=False)
        if before != NOWHERE:
            for after, found in groups(self.typist.feed_each(before, SPELLED, marked=False), alone):
                yield found.tolist(), (Item(self, ("text", after, NOWHERE, 0, types), progress),)
        for byte in others:
            if items := self._after_byte(text, other, held, types, byte, progress, first=first):
                yield (byte,), items

    def _after_byte(
        self, text: int, other: int, held: int, types: frozenset[str], byte: int, progress: Progress, *, first: bool
    ) -> Items:
        if first and ((byte == 0x7B and "object" in types) or (byte == 0x5B and "array" in types)):
            opened = self.typist.feed(other, bytes((byte,)))
            if opened == NOWHERE:
                return ()
            return (Item(self, ("call" if self.typist.is_own(opened) else "typed", opened), progress),)
        read, released = self._ended.step(held, byte)
        if released:
            text = self._fed(text, b"".join(SPELLINGS[b] for b in released), marked=False)
            other = self._as_other(other, released, types)
        ends = self._ends(text, other)
        if read == self.tag:
            return () if ends == NOWHERE else self._in_tail(ends, read, progress)
        if text == other == NOWHERE:
            return ()
        if read and ends == NOWHERE and not self._can_hold(text, read):
            return ()
        return (Item(self, ("text", text, other, read, types), progress),)

    def _as_other(self, other: int, released: bytes, types: frozenset[str]) -> int:
        """The position of the reading that is no string, after more text."""
        if other == NOWHERE or released[0] not in _SCALARS:
            return NOWHERE
        if "number" not in types and released[0] in _NOT_IN_INTEGERS:
            in_number = self.typist.feed(other, b"0") != NOWHERE or self.typist.settle(other) != NOWHERE
            if in_number:  # digits alone spell an integer
                return NOWHERE
        return self._fed(other, released)

    def _fed(self, position: int, data: bytes, *, marked: bool = True) -> int:
        return NOWHERE if position == NOWHERE else self.typist.feed(position, data, marked=marked)

    def _ends(self, text: int, other: int) -> int:
        """The position after the value if it ends here; NOWHERE if it cannot."""
        ended = self._fed(text, b'"', marked=False)
        return ended if ended != NOWHERE or other == NOWHERE else self.typist.settle(other)

    def _can_hold(self, text: int, read: int) -> bool:
        """Whether what has been read of the tag may be part of the string as well."""
        held = b"".join(SPELLINGS[b] for b in self.tail[:read])
        return self._fed(text, held, marked=False) != NOWHERE

    def _typed(self, position: int, progress: Progress) -> Iterator[tuple[Sequence[int], Items]]:
        """JSON that the automaton cannot be left alone with."""
        for byte, after in enumerate(self.typist.feed_each(position, BYTES).tolist()):
            if after != NOWHERE:
                yield (byte,), (Item(self, ("typed", after), progress),)
        if self.typist.feed(position, b"}") != NOWHERE or self.typist.feed(position, b',"') != NOWHERE:
            yield self.tail[:1], self._in_tail(position, 1, progress)

    # ---- the way to the end ------------------------------------------------------------------------------------------

    def rest(self, item: Item) -> float:
        kind, position, *more = item.at
        away, progress = self.typist.distance, item.progress
        if kind == "lead":
            read, opening = more
            return len(self.lead) - read + away(self.typist.feed(position, opening))
        if kind == "name":
            return away(self.typist.feed(position, b"".join(SPELLINGS[b] for b in more[0])))
        if kind == "middle":
            read, types = more
            return len(self.middle) - read + _least(self._in_middle(position, len(self.middle), types, progress))
        if kind == "flag":
            read, which = more
            value = _least(self._value(position, _FLAGGED[which], progress))
            return len(_WORDS[which]) + len(self.flag_end or b"") - read + value
        if kind == "tail":
            return len(self.tail) - more[0] + self._after_tail(position, progress)
        if kind != "text":
            return away(position)
        other, held, _ = more
        ways = [away(p) for p in (position, other) if p != NOWHERE]
        if held:
            ends = self._ends(position, other)
            ways = [len(self.tail) - held + self._after_tail(ends, progress)] if ends != NOWHERE else []
            data = b"".join(SPELLINGS[b] for b in self.tail[:held])
            kept = self._fed(position, data, marked=False)
            ways += [away(kept)] if kept != NOWHERE else []
        return min(ways, default=math.inf)

    def _after_tail(self, position: int, progress: Progress) -> float:
        return _least(self._between(position, b',"', progress))


def _least(items: Items) -> float:
    return min((item.node.rest(item) for item in items), default=math.inf)


_NOT_IN_INTEGERS = b".eE+"
_SCALARS = b"-+.eE0123456789truefalsn"
_IN_OTHERS = frozenset(_SCALARS + b"{[")
