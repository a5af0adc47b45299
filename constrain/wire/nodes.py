"""The parts that the text around JSON values is made of, as a nondeterministic automaton whose nodes are objects.

An *item* is a node, where in it the text stands, and what is known of the message so far: a `Progress`. A node says
which items follow on which bytes, and which items are entered without any. Deterministic states, made in `wire.py` when
they are met, are sets of items; mostly of one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.grammars.languages.text import FREE_TEXT
from constrain.wire.texts import FOUND, search_table

_FEW = 16  # names up to this number are all looked at for the shortest way to the end
_WHITESPACE = b" \t\n\r"
_INDENTATION = 32  # blanks after a line break at most


Numbers = tuple[int, ...] | range
"""Numbers of tools. A range says "all" without listing them."""


class Progress(NamedTuple):
    """What is known of the message so far.

    Attributes:
        calls: calls written, up to where the number no longer matters.
        tools: numbers of the tools that the current call may be of.
    """

    calls: int = 0
    tools: Numbers = ()


class Item(NamedTuple):
    """A node, where in it the text stands, and the progress."""

    node: Node
    at: Any  # hashable; its shape is the node's own
    progress: Progress


Items = tuple[Item, ...]


class Node(ABC):
    """One part of a wire format. Told apart by identity."""

    @abstractmethod
    def enter(self, progress: Progress) -> Items:
        """The items in which the part begins, those of what follows included where the part may be empty."""

    @abstractmethod
    def step(self, item: Item) -> Iterator[tuple[Sequence[int], Items]]:
        """Bytes that may follow, disjoint sets of them, each with the items that they lead to."""

    @abstractmethod
    def rest(self, item: Item) -> float:
        """Bytes of a short way from an item to the end of the message."""

    def accepting(self, item: Item) -> bool:  # noqa: ARG002
        """Whether the message is complete at an item."""
        return False

    @abstractmethod
    def cost(self, progress: Progress) -> float:
        """Bytes of a short way from before the part to the end of the message."""


class End(Node):
    """The end of the message."""

    def enter(self, progress: Progress) -> Items:  # noqa: ARG002
        return (Item(self, 0, Progress()),)

    def step(self, item: Item) -> Iterator[tuple[Sequence[int], Items]]:  # noqa: ARG002
        return iter(())

    def rest(self, item: Item) -> float:  # noqa: ARG002
        return 0

    def cost(self, progress: Progress) -> float:  # noqa: ARG002
        return 0

    def accepting(self, item: Item) -> bool:  # noqa: ARG002
        return True


class Exactly(Node):
    """One text."""

    def __init__(self, data: bytes, following: Node) -> None:
        self.data, self.following = data, following

    def enter(self, progress: Progress) -> Items:
        return (Item(self, 0, progress),) if self.data else self.following.enter(progress)

    def step(self, item: Item) -> Iterator[tuple[Sequence[int], Items]]:
        at = item.at
        assert isinstance(at, int)
        done = at + 1 == len(self.data)
        yield (
            self.data[at : at + 1],
            self.following.enter(item.progress) if done else (item._replace(at=at + 1),),
        )

    def rest(self, item: Item) -> float:
        assert isinstance(item.at, int)
        return len(self.data) - item.at + self.following.cost(item.progress)

    def cost(self, progress: Progress) -> float:
        return len(self.data) + self.following.cost(progress)


class Whitespace(Node):
    """JSON's whitespace, as bounded as it is between JSON's tokens: nothing, a blank, or a line break and blanks."""

    def __init__(self, following: Node) -> None:
        self.following = following

    def enter(self, progress: Progress) -> Items:
        return (Item(self, 0, progress), *self.following.enter(progress))

    def step(self, item: Item) -> Iterator[tuple[Sequence[int], Items]]:
        read = item.at
        assert isinstance(read, int)
        after = self.following.enter(item.progress)
        if read <= 2:
            yield b"\n", (item._replace(at=3), *after)
        if read <= 1:
            yield b"\r", (item._replace(at=2), *after)
        if read == 0:
            yield b" \t", (item._replace(at=1), *after)
        elif 3 <= read < 3 + _INDENTATION:
            yield b" \t", (item._replace(at=read + 1), *after)

    def rest(self, item: Item) -> float:
        return self.following.cost(item.progress)

    def cost(self, progress: Progress) -> float:
        return self.following.cost(progress)


class OneOf(Node):
    """Alternatives. Which are open may depend on the progress."""

    def __init__(self, choose: Callable[[Progress], Sequence[tuple[Node, Progress]]], *, loops: bool = False) -> None:
        """Where it `loops`, the last alternative is the short one if there are several."""
        self._choose, self._loops = choose, loops

    def enter(self, progress: Progress) -> Items:
        items: dict[Item, None] = {}
        for node, after in self._choose(progress):
            items.update(dict.fromkeys(node.enter(after)))
        return tuple(items)

    def step(self, item: Item) -> Iterator[tuple[Sequence[int], Items]]:  # noqa: ARG002
        return iter(())

    def rest(self, item: Item) -> float:  # noqa: ARG002
        return math.inf

    def cost(self, progress: Progress) -> float:
        options = self._choose(progress)
        return min((node.cost(after) for node, after in (options[-1:] if self._loops else options)), default=math.inf)


class NameOf(Node):
    """The name of a tool, as it is spelled on the wire; it settles which tool is called."""

    def __init__(self, names: Sequence[bytes], following: Node) -> None:
        """`names` are by the number of the tool; those of different tools differ."""
        self.following = following
        self._by_number = names
        self._sorted: dict[Numbers, tuple[list[bytes], list[int]]] = {}

    def _of(self, tools: Numbers) -> tuple[list[bytes], list[int]]:
        found = self._sorted.get(tools)
        if found is None:
            pairs = sorted((self._by_number[t], t) for t in tools)
            found = self._sorted[tools] = [name for name, _ in pairs], [t for _, t in pairs]
        return found

    def enter(self, progress: Progress) -> Items:
        return (Item(self, (0, len(progress.tools), 0), progress),) if progress.tools else ()

    def step(self, item: Item) -> Iterator[tuple[Sequence[int], Items]]:
        low, high, depth = _three(item)
        names, numbers = self._of(item.progress.tools)
        i = low
        while i < high and len(names[i]) == depth:
            i += 1
        while i < high:
            byte = names[i][depth]
            prefix = names[i][:depth] + bytes((byte + 1,)) if byte < 255 else None
            j = high if prefix is None else bisect_left(names, prefix, i, high)
            items: list[Item] = [item._replace(at=(i, j, depth + 1))]
            if len(names[i]) == depth + 1:
                items += self.following.enter(item.progress._replace(tools=(numbers[i],)))
                if j == i + 1:
                    del items[0]
            yield (byte,), tuple(items)
            i = j

    def rest(self, item: Item) -> float:
        low, high, depth = _three(item)
        names, numbers = self._of(item.progress.tools)
        # The first of many is as good as any, and stays the first of those with which it shares a beginning.
        looked_at = range(low, high) if high - low <= _FEW else range(low, low + 1)
        return min(
            len(names[i]) - depth + self.following.cost(item.progress._replace(tools=(numbers[i],)))
            for i in looked_at
            if len(names[i]) > depth or high - low > 1
        )

    def cost(self, progress: Progress) -> float:
        return min((self.rest(item) for item in self.enter(progress)), default=math.inf)


def _three(item: Item) -> tuple[int, int, int]:
    at = item.at
    assert isinstance(at, tuple)
    low, high, depth = at
    return low, high, depth


class Values(ABC):
    """What the automaton has to know of the arguments of tools."""

    @abstractmethod
    def shortest(self, tool: int) -> float:
        """Bytes of the shortest arguments of a tool."""

    @abstractmethod
    def parameters(self, tool: int) -> Any:
        """The schema of a tool's arguments, as it was given."""

    @property
    @abstractmethod
    def typist(self) -> Any:
        """What types arguments that are not written as JSON; see `typing_nodes`."""


class ArgumentsOf(Node):
    """The arguments as JSON text, which the automaton reads itself."""

    def __init__(self, values: Values, following: Node) -> None:
        self.values, self.following = values, following

    def enter(self, progress: Progress) -> Items:
        return (Item(self, 0, progress),)

    def step(self, item: Item) -> Iterator[tuple[Sequence[int], Items]]:  # noqa: ARG002
        return iter(())

    def after(self, item: Item, valid: Sequence[bool]) -> Items:
        """The items after arguments that are valid for these of the call's tools."""
        tools = tuple(t for t, fine in zip(item.progress.tools, valid, strict=True) if fine)
        return self.following.enter(item.progress._replace(tools=tools))

    def rest(self, item: Item) -> float:
        tools = item.progress.tools
        looked_at = tools if len(tools) <= _FEW else tools[:1]
        return min(self.values.shortest(t) + self.following.cost(item.progress._replace(tools=(t,))) for t in looked_at)

    def cost(self, progress: Progress) -> float:
        return self.rest(Item(self, 0, progress))


class FreeText(Node):
    """Any text that holds none of some texts; what follows may begin between any two characters of it.

    With `not_first` the text must not begin, after whitespace, with one of those.
    """

    def __init__(self, banned: Sequence[bytes], following: Node, not_first: Sequence[bytes] = ()) -> None:
        self.following = following
        self._table: NDArray[np.int32] = search_table(banned) if banned else np.zeros((1, 256), dtype=np.int32)
        self._not_first = tuple(not_first)
        self._rows: dict[tuple[int, int, bytes | None], list[tuple[list[int], tuple[int, int, bytes | None]]]] = {}

    def enter(self, progress: Progress) -> Items:
        return self._items((0, FREE_TEXT.start, b"" if self._not_first else None), progress)

    def _items(self, at: tuple[int, int, bytes | None], progress: Progress) -> Items:
        here = Item(self, at, progress)
        return (here, *self.following.enter(progress)) if FREE_TEXT.boundary(at[1]) else (here,)

    def step(self, item: Item) -> Iterator[tuple[Sequence[int], Items]]:
        at: tuple[int, int, bytes | None] = item.at
        found = self._rows.get(at)
        if found is None:
            groups: dict[tuple[int, int, bytes | None], list[int]] = {}
            marks, points = self._table[at[0]].tolist(), FREE_TEXT.row(at[1]).tolist()
            for byte in range(256):
                begun = self._begun(at[2], byte)
                if points[byte] and marks[byte] != FOUND and begun not in self._not_first:
                    groups.setdefault((marks[byte], points[byte], begun), []).append(byte)
            found = self._rows[at] = [(bytes_, to) for to, bytes_ in groups.items()]
        for bytes_, to in found:
            yield bytes_, self._items(to, item.progress)

    def _begun(self, begun: bytes | None, byte: int) -> bytes | None:
        """How much of the texts with which it must not begin the text has, and None once it has begun otherwise."""
        if begun is None or (not begun and byte in _WHITESPACE):
            return begun
        begun += bytes((byte,))
        return begun if any(text.startswith(begun) for text in self._not_first) else None

    def rest(self, item: Item) -> float:
        at: tuple[int, int, bytes | None] = item.at
        return FREE_TEXT.shortest(at[1]) + self.following.cost(item.progress)

    def cost(self, progress: Progress) -> float:
        return self.following.cost(progress)


class Computed(Node):
    """A text that the progress settles, such as a count."""

    def __init__(self, text: Callable[[Progress], bytes], following: Node) -> None:
        self.text, self.following = text, following

    def enter(self, progress: Progress) -> Items:
        return (Item(self, 0, progress),) if self.text(progress) else self.following.enter(progress)

    def step(self, item: Item) -> Iterator[tuple[Sequence[int], Items]]:
        data, at = self.text(item.progress), item.at
        assert isinstance(at, int)
        done = at + 1 == len(data)
        yield data[at : at + 1], self.following.enter(item.progress) if done else (item._replace(at=at + 1),)

    def rest(self, item: Item) -> float:
        assert isinstance(item.at, int)
        return len(self.text(item.progress)) - item.at + self.following.cost(item.progress)

    def cost(self, progress: Progress) -> float:
        return len(self.text(progress)) + self.following.cost(progress)


class Characters(Node):
    """So many characters of an ASCII alphabet, such as a random id; no two words of them in a message are equal."""

    def __init__(self, alphabet: bytes, length: int, following: Node) -> None:
        self.alphabet, self.length, self.following = alphabet, length, following

    def enter(self, progress: Progress) -> Items:
        return (Item(self, 0, progress),)

    def step(self, item: Item) -> Iterator[tuple[Sequence[int], Items]]:
        assert isinstance(item.at, int)
        if item.at < self.length:
            after: Items = (item._replace(at=item.at + 1),)
            if item.at + 1 == self.length:
                after += self.following.enter(item.progress)
            yield self.alphabet, after

    def rest(self, item: Item) -> float:
        assert isinstance(item.at, int)
        return self.length - item.at + self.following.cost(item.progress)

    def cost(self, progress: Progress) -> float:
        return self.length + self.following.cost(progress)
