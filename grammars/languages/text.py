"""Languages of texts that are not patterns: free text, finite sets, and products of other languages.

A product runs its components side by side; a state is the tuple of theirs. Components are trimmed, but a tuple of
live states need not be live (`^a` and `b$` meet, `^a` and `^b` do not), so each new tuple is searched for a way to
acceptance, nearest first. Every answer is kept: a way found settles all tuples along it, a search that ends without
one settles all it met.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from ..errors import ResourceLimitError
from ..regex import lengths as length_sets
from ..regex import utf8
from ..regex.classes import EVERY, LAST, CodePoints
from ..regex.graph_lengths import GraphLengths
from ..regex.nearest import Nearest
from ..regex.shapes import texts_over
from ..regex.utf8 import ClassRepeat, CodePointLanguage, Segments
from .base import ALL_LENGTHS, DEAD, LengthSet, TextLanguage

_ZEROS = np.zeros(256, dtype=np.int32)
_ZEROS.setflags(write=False)


class _FreeText(CodePointLanguage):
    """All texts. State 1 is between characters, the others inside one."""

    def __init__(self) -> None:
        super().__init__()
        self.start = self._new_state()
        built = DEAD
        while built < len(self._rows) - 1:
            built += 1
            self.row(built)

    def __reduce__(self) -> str:
        return "FREE_TEXT"

    def __repr__(self) -> str:
        return "FREE_TEXT"

    def accepting(self, state: int) -> bool:
        return state == self.start

    def universal(self, state: int) -> bool:
        return state == self.start

    def _segments(self, state: int) -> Segments:
        return [(0, LAST, state)]

    def _shortest_between(self, state: int) -> int:  # noqa: ARG002
        return 0

    def _lengths_between(self, state: int) -> LengthSet:  # noqa: ARG002
        return ALL_LENGTHS


FREE_TEXT: TextLanguage = _FreeText()
"""The language of all texts: well-formed UTF-8, no surrogates, nothing beyond U+10FFFF."""


def literal_set(texts: Iterable[str]) -> TextLanguage:
    """The finite language of `texts`. A text with a lone surrogate has no UTF-8 form and is left out."""
    return _LiteralSet(texts)


class _LiteralSet(TextLanguage):
    """A trie over the sorted members. A state is the range of members that begin with the bytes read."""

    def __init__(self, texts: Iterable[str]) -> None:
        members = set()
        for text in texts:
            try:
                members.add(text.encode())
            except UnicodeEncodeError:
                continue
        self.members = sorted(members)
        self._lock = threading.RLock()
        self._ranges: list[tuple[int, int, int]] = [(0, 0, 0)]
        self._rows: list[NDArray[np.int32] | None] = [_ZEROS]
        self._known_shortest: dict[int, int] = {}
        self._known_lengths: dict[int, LengthSet] = {}
        self.start = self._new_state(0, len(self.members), 0) if self.members else DEAD

    def __reduce__(self) -> tuple[object, tuple[list[str]]]:
        return literal_set, ([member.decode() for member in self.members],)

    def _new_state(self, first: int, stop: int, depth: int) -> int:
        self._rows.append(None)
        self._ranges.append((first, stop, depth))
        return len(self._rows) - 1

    def row(self, state: int) -> NDArray[np.int32]:
        row = self._rows[state]
        return self._build(state) if row is None else row

    def _build(self, state: int) -> NDArray[np.int32]:
        with self._lock:
            row = self._rows[state]
            if row is not None:
                return row
            row = np.zeros(256, dtype=np.int32)
            members = self.members
            at, stop, depth = self._ranges[state]
            if len(members[at]) == depth:
                at += 1
            while at < stop:
                byte = members[at][depth]
                end = at + 1
                if end < stop and members[end][depth] == byte:
                    # All that begin as this member does up to `byte` sort before that prefix with a larger last byte.
                    beyond = members[at][:depth] + bytes((byte + 1,)) if byte < 255 else b""
                    end = bisect_left(members, beyond, end, stop) if beyond else stop
                row[byte] = self._new_state(at, end, depth + 1)
                at = end
            row.setflags(write=False)
            self._rows[state] = row
            return row

    def accepting(self, state: int) -> bool:
        first, stop, depth = self._ranges[state]
        return first < stop and len(self.members[first]) == depth

    def boundary(self, state: int) -> bool:
        first, stop, depth = self._ranges[state]
        if first == stop:
            return False
        member = self.members[first]
        return depth == len(member) or not 0x80 <= member[depth] < 0xC0

    def universal(self, state: int) -> bool:  # noqa: ARG002
        return False

    def shortest(self, state: int) -> int:
        found = self._known_shortest.get(state)
        if found is None:
            first, stop, depth = self._ranges[state]
            found = min((len(member) for member in self.members[first:stop]), default=depth) - depth
            self._known_shortest[state] = found
        return found

    def lengths(self, state: int) -> LengthSet:
        found = self._known_lengths.get(state)
        if found is None:
            first, stop, depth = self._ranges[state]
            found = length_sets.finite(_characters(member[depth:]) for member in self.members[first:stop])
            self._known_lengths[state] = found
        return found


def _characters(text: bytes) -> int:
    """How many code points begin in `text`."""
    return len(text) - sum(map(text.count, _CONTINUATIONS)) if len(text) > 200 else sum(b & 0xC0 != 0x80 for b in text)


_CONTINUATIONS = tuple(bytes((b,)) for b in range(0x80, 0xC0))


def intersection(*languages: TextLanguage) -> TextLanguage:
    """The texts in all of `languages`; all texts when there are none.

    A finite set is filtered by the others at once. Anything else is a product, built as it is visited.

    Raises:
        ResourceLimitError: whether any text is in all of them takes more than `nearest.MAX_SEARCH` states to decide.
    """
    parts: dict[TextLanguage, None] = {}
    for language in languages:
        for part in language.components if type(language) is _Product and language.required is None else (language,):
            parts[part] = None
    kept = [p for p in parts if not (p.start != DEAD and p.universal(p.start))]
    if len(kept) <= 1:
        return kept[0] if kept else FREE_TEXT
    for part in kept:
        if part.start == DEAD:
            return part
    kept = _without_redundant(kept)
    if len(kept) == 1:
        return kept[0]
    finite = [p for p in kept if isinstance(p, _LiteralSet)]
    if finite:
        smallest = min(finite, key=lambda p: len(p.members))
        others = [p for p in kept if p is not smallest]
        return _LiteralSet(m.decode() for m in smallest.members if all(p.matches(m) for p in others))
    return _Product(tuple(kept), None)


def _without_redundant(parts: list[TextLanguage]) -> list[TextLanguage]:
    """Without those that admit all texts over a class to which another one keeps anyway."""
    kept = list(parts)
    for part in parts:
        shape = part.class_repeat(part.start) if isinstance(part, CodePointLanguage) else None
        if shape is not None and shape[1:] == (0, None):
            others = [other for other in kept if other is not part and isinstance(other, CodePointLanguage)]
            if any(other.alphabet(other.start) <= shape[0] for other in others):
                kept.remove(part)
    return kept


def difference(language: TextLanguage, *excluded: TextLanguage) -> TextLanguage:
    """The texts in `language` and in none of `excluded`; with `FREE_TEXT` first, the complement of the others.

    Raises:
        ResourceLimitError: as for `intersection`.
    """
    parts = [p for p in excluded if p.start != DEAD]
    if not parts or language.start == DEAD:
        return language
    if any(p.universal(p.start) for p in parts):
        return literal_set(())
    if isinstance(language, _LiteralSet):
        return _LiteralSet(m.decode() for m in language.members if not any(p.matches(m) for p in parts))
    return _Product((language, *parts), 1)


_Tuple = tuple[int, ...]


class _Product(TextLanguage):
    """Components side by side.

    The first `required` components must accept and the others must not; with `required` None all must.
    """

    def __init__(self, components: tuple[TextLanguage, ...], required: int | None) -> None:
        self.components = components
        self.required = required
        self._needed = len(components) if required is None else required
        self._lock = threading.RLock()
        self._tuples: list[_Tuple] = [(DEAD,) * len(components)]
        self._states: dict[_Tuple, int] = {}
        self._rows: list[NDArray[np.int32] | None] = [_ZEROS]
        self._onward: dict[_Tuple, list[_Tuple]] = {}
        self._known_lengths: dict[int, LengthSet] = {}
        self._without_counts: dict[tuple[int, CodePoints], _Product] = {}
        self._built = 0
        self._nearest = Nearest(self._edges, self._accepts, self._bound, "a text meets all its conditions")
        self._graph = GraphLengths(self._onward_by_character, self._ends)
        self.start = self._state(tuple(c.start for c in components))

    def __reduce__(self) -> tuple[Callable[..., TextLanguage], tuple[TextLanguage, ...]]:
        return intersection if self.required is None else difference, self.components

    # Tuples of components' states

    def _viable(self, at: _Tuple) -> bool:
        """False when the tuple is evidently dead."""
        needed, components = self._needed, self.components
        if DEAD in at[:needed]:
            return False
        return not any(s != DEAD and c.universal(s) for c, s in zip(components[needed:], at[needed:], strict=True))

    def _accepts(self, at: _Tuple) -> bool:
        wanted = self._needed
        return all(
            (state != DEAD and component.accepting(state)) == (index < wanted)
            for index, (component, state) in enumerate(zip(self.components, at, strict=True))
        )

    def _fixed(self, at: _Tuple) -> bool:
        """Whether every continuation by whole characters is evidently accepted."""
        needed = self._needed
        return all(
            s != DEAD and c.universal(s) for c, s in zip(self.components, at[:needed], strict=False)
        ) and not any(at[needed:])

    def _by_byte(self, at: _Tuple) -> list[_Tuple]:
        """The successors for the 256 bytes."""
        rows = [c.row(s).tolist() if s else _NOWHERE for c, s in zip(self.components, at, strict=True)]
        return list(zip(*rows, strict=True))

    def _successors(self, at: _Tuple) -> list[_Tuple]:
        found = self._onward.get(at)
        if found is None:
            found = self._onward[at] = [t for t in dict.fromkeys(self._by_byte(at)) if self._viable(t)]
        return found

    def _edges(self, at: _Tuple) -> Iterable[tuple[_Tuple, int]]:
        return zip(self._successors(at), repeat(1), strict=False)

    def _bound(self, at: _Tuple) -> int:
        """No fewer bytes than this lead to acceptance."""
        return max(c.shortest(s) for c, s in zip(self.components, at[: self._needed], strict=False))

    def _distance(self, at: _Tuple) -> int | None:
        """Fewest bytes to acceptance; None when the tuple is dead."""
        return self._nearest.distance(at) if self._viable(at) else None

    # States

    def _state(self, at: _Tuple) -> int:
        state = self._states.get(at)
        if state is None:
            if self._distance(at) is None:
                state = DEAD
            else:
                state = len(self._rows)
                self._tuples.append(at)
                self._rows.append(None)
            self._states[at] = state
        return state

    def row(self, state: int) -> NDArray[np.int32]:
        row = self._rows[state]
        return self._build(state) if row is None else row

    def _build(self, state: int) -> NDArray[np.int32]:
        with self._lock:
            row = self._rows[state]
            if row is None:
                if len(self._rows) > utf8.MAX_STATES:
                    limit = utf8.MAX_STATES
                    reason = f"more than {limit} states of a combination were visited"
                    raise ResourceLimitError("", "pattern", reason, f"states {limit}")
                if self._built >= utf8.MAX_ROWS:  # built again when asked for
                    self._rows = [self._rows[0], *[None] * (len(self._rows) - 1)]
                    self._built = 0
                onward = self._by_byte(self._tuples[state])
                targets = {at: self._state(at) for at in dict.fromkeys(onward)}
                row = np.array([targets[at] for at in onward], dtype=np.int32)
                row.setflags(write=False)
                self._rows[state] = row
                self._built += 1
            return row

    def accepting(self, state: int) -> bool:
        return state != DEAD and self._accepts(self._tuples[state])

    def boundary(self, state: int) -> bool:
        return state != DEAD and self.components[0].boundary(self._tuples[state][0])

    def universal(self, state: int) -> bool:
        return state != DEAD and self._fixed(self._tuples[state])

    def shortest(self, state: int) -> int:
        with self._lock:
            return self._distance(self._tuples[state]) or 0

    def lengths(self, state: int) -> LengthSet:
        """See the contract. Found by stepping, but counted repeats of one class are taken apart.

        Raises:
            ResourceLimitError: more than `graph_lengths.MAX_NODES` states.
        """
        found = self._known_lengths.get(state)
        if found is None:
            with self._lock:
                at = self._tuples[state]
                found = length_sets.NO_LENGTHS
                for each in [at] if self.boundary(state) or state == DEAD else self._characters_from([at]):
                    found = length_sets.union(found, self._graph.lengths(each))
                self._known_lengths[state] = found
        return found

    def _onward_by_character(self, at: _Tuple) -> list[_Tuple]:
        if self._alone(at) is not None or self._counted(at) is not None:
            return []
        return self._characters_from([t for t in self._successors(at) if self._distance(t) is not None])

    def _ends(self, at: _Tuple) -> LengthSet:
        if DEAD in at[: self._needed]:
            return length_sets.NO_LENGTHS
        alone = self._alone(at)
        if alone is not None:
            return self.components[alone].lengths(at[alone])
        counted = self._counted(at)
        if counted is None:
            return length_sets.ZERO_ONLY if self._accepts(at) else length_sets.NO_LENGTHS
        # C{n,m} is C* of n to m characters.
        index, (members, low, high) = counted
        if index < self._needed and self._among(members, at, index):
            members = EVERY
        product = self._uncounted(index, members)
        found = product.lengths_from((*at[:index], product.components[index].start, *at[index + 1 :]))
        window = length_sets.interval(low, high)
        if index < self._needed:
            return length_sets.intersection(found, window)
        without = self.lengths_from((*at[:index], DEAD, *at[index + 1 :]))
        return length_sets.union(found, length_sets.intersection(without, length_sets.complement(window)))

    def lengths_from(self, at: _Tuple) -> LengthSet:
        """As `lengths`, for the components' states, each between two characters."""
        with self._lock:
            return length_sets.NO_LENGTHS if self._distance(at) is None else self._graph.lengths(at)

    def _counted(self, at: _Tuple) -> tuple[int, ClassRepeat] | None:
        """A component from which on so many characters of one class follow, unless any number of them does."""
        for index, (component, state) in enumerate(zip(self.components, at, strict=True)):
            if state != DEAD and isinstance(component, CodePointLanguage):
                shape = component.class_repeat(state)
                if shape is not None and shape[1:] != (0, None):
                    return index, shape
        return None

    def _among(self, members: CodePoints, at: _Tuple, index: int) -> bool:
        """Whether a required component other than that at `index` sees to it that only `members` come."""
        return any(
            i != index and isinstance(component, CodePointLanguage) and component.alphabet(state) <= members
            for i, (component, state) in enumerate(zip(self.components, at[: self._needed], strict=False))
        )

    def _uncounted(self, index: int, members: CodePoints) -> _Product:
        """This product with the texts over `members` in place of one component."""
        key = (index, members)
        found = self._without_counts.get(key)
        if found is None:
            components = (*self.components[:index], texts_over(members), *self.components[index + 1 :])
            found = self._without_counts[key] = _Product(components, self.required)
        return found

    def _characters_from(self, reached: Sequence[_Tuple]) -> list[_Tuple]:
        """The live tuples between characters that come first from `reached`."""
        out: dict[_Tuple, None] = {}
        seen = set(reached)
        pending = list(reached)
        first = self.components[0]
        while pending:
            at = pending.pop()
            if first.boundary(at[0]):
                out[at] = None
                continue
            for target in self._successors(at):
                if target not in seen and self._distance(target) is not None:
                    seen.add(target)
                    pending.append(target)
        return list(out)

    def _alone(self, at: _Tuple) -> int | None:
        """The component that alone decides from here on, the others being settled; None when there are several."""
        needed = self._needed
        if any(at[needed:]):
            return None
        open_ones = [i for i in range(needed) if not self.components[i].universal(at[i])]
        return None if len(open_ones) > 1 else open_ones[0] if open_ones else 0


_NOWHERE = [DEAD] * 256
