"""Classes of member names: which patterns are found in a name, and what names of each class there are.

The names that an object's rules do not list fall into classes by the languages (patterns, demands on names) they belong
to. The product of those languages is explored once; it tells which classes have names, how long the shortest one is,
and whether there are infinitely many, in which case a new name is always at hand.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.languages.base import TextLanguage
from constrain.grammars.languages.text import FREE_TEXT

MAX_STATES = 4_000
"""States of the product of an object's key languages."""
MAX_LISTED = 256
"""Names of a finite class up to this number are treated like declared ones."""

_State = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KeyClass:
    """The names that belong to exactly the languages `members`: bytes of the shortest one, and how many there are.

    `names` lists them all where they are few; None where there are more, infinitely many if `infinite`.
    """

    members: frozenset[int]
    shortest: int
    infinite: bool
    names: tuple[str, ...] | None


@functools.lru_cache(maxsize=512)
def key_classes(languages: tuple[TextLanguage, ...]) -> tuple[KeyClass, ...]:
    """The classes into which all texts fall by the languages they belong to."""
    if not languages:
        return (KeyClass(frozenset(), 0, True, None),)
    return _Product(languages).classes()


class _Product:
    def __init__(self, languages: tuple[TextLanguage, ...]) -> None:
        self._languages = (FREE_TEXT, *languages)
        start: _State = tuple(language.start for language in self._languages)
        self._order: list[_State] = [start]
        self._edges: dict[_State, dict[_State, list[int]]] = {}
        depth = {start: 0}
        self._outcomes: dict[_State, frozenset[int]] = {}
        for state in self._order:
            self._edges[state] = self._successors(state)
            if FREE_TEXT.boundary(state[0]):
                self._outcomes[state] = frozenset(
                    j for j, (g, q) in enumerate(zip(languages, state[1:], strict=True)) if q and g.accepting(q)
                )
            for to in self._edges[state]:
                if to not in depth:
                    depth[to] = depth[state] + 1
                    self._order.append(to)
            if len(self._order) > MAX_STATES:
                raise ResourceLimitError(
                    "", "patternProperties", "the patterns of its names combine to too many states",
                    f"MAX_STATES = {MAX_STATES}",
                )  # fmt: skip
        self._depth = depth

    def _successors(self, state: _State) -> dict[_State, list[int]]:
        dead = np.zeros(256, dtype=np.int32)
        rows = np.stack([g.row(q) if q else dead for g, q in zip(self._languages, state, strict=True)], axis=1)
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        inverse = inverse.reshape(-1)
        out: dict[_State, list[int]] = {}
        for k, row in enumerate(map(tuple, distinct.tolist())):
            if row[0]:
                out.setdefault(self._settle(row), []).extend(np.nonzero(inverse == k)[0].tolist())
        return out

    def _settle(self, state: _State) -> _State:
        """All states of a language from which everything is accepted are one."""
        return tuple(
            g.start if q and g is FREE_TEXT and g.universal(q) else q
            for g, q in zip(self._languages, state, strict=True)
        )

    def classes(self) -> tuple[KeyClass, ...]:
        back: dict[_State, list[_State]] = {}
        for state, edges in self._edges.items():
            for to in edges:
                back.setdefault(to, []).append(state)
        out = []
        by_class: dict[frozenset[int], list[_State]] = {}
        for state in self._order:
            if state in self._outcomes:
                by_class.setdefault(self._outcomes[state], []).append(state)
        for members, finals in by_class.items():
            useful = set(finals)
            todo = list(finals)
            while todo:
                for source in back.get(todo.pop(), ()):
                    if source not in useful:
                        useful.add(source)
                        todo.append(source)
            infinite = self._has_cycle(useful)
            names = None if infinite else self._names(useful, members)
            out.append(KeyClass(members, min(self._depth[f] for f in finals), infinite, names))
        return tuple(out)

    def _has_cycle(self, states: set[_State]) -> bool:
        waiting = {s: sum(to in states for to in self._edges[s]) for s in states}
        ready = [s for s, n in waiting.items() if n == 0]
        back: dict[_State, list[_State]] = {}
        for s in states:
            for to in self._edges[s]:
                if to in states:
                    back.setdefault(to, []).append(s)
        done = 0
        while ready:
            s = ready.pop()
            done += 1
            for source in back.get(s, ()):
                waiting[source] -= 1
                if waiting[source] == 0:
                    ready.append(source)
        return done < len(states)

    def _names(self, useful: set[_State], members: frozenset[int]) -> tuple[str, ...] | None:
        """All names of a finite class, or None where they are many."""
        found: list[str] = []
        todo: list[tuple[_State, bytes]] = [(self._order[0], b"")]
        while todo:
            state, text = todo.pop()
            if self._outcomes.get(state) == members:
                found.append(text.decode())
            for to, data in self._edges[state].items():
                if to in useful:
                    todo += [(to, text + bytes((b,))) for b in data]
            if len(found) > MAX_LISTED or len(todo) > 50 * MAX_LISTED:
                return None
        return tuple(found)
