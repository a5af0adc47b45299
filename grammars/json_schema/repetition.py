"""Arrays of which two items must be equal (`uniqueItems` under a negation).

With no limit on their length such arrays can always go on to an item that equals an earlier one, so nothing restricts
an item. Elsewhere the places may run out: where there are few of them, where items are counted (`contains`), or where
what one place admits no other one does. Then the pair is planned for. An item may be read

- as any value of its place, while some later pair of places can still share a value, or a later place admits a value
  that was written;
- as the first of a pair: a value of its place that a later one admits too;
- as the second: a value that was written.

These ways side by side are exact, and none leads to where the array cannot end. All that a plan needs to know of a
later place is what it admits, so plans are paths through the states of `Items`: an unfinished one holds the variable of
the first item of its pair.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from math import inf
from typing import NamedTuple

from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.json_schema.items import MAX_COUNTED, Items, State
from constrain.grammars.json_schema.normal import ANYTHING, ArrayAlternative, NormalForm, Variable
from constrain.grammars.json_schema.values import identity

MAX_PAIRS = 20_000
"""Pairs of places, told apart by what they admit, of one array."""

_DONE = None  # a plan whose pair is complete
_NO_PAIR: Variable = frozenset({-(1 << 62)})  # one whose pair has not begun; no variable

Values = dict[Hashable, object]


class Way(NamedTuple):
    """A way to read an item: whether it completes the pair, the state that follows, and what the value must be."""

    done: bool
    state: State
    part: Variable


def goes_on(array: ArrayAlternative, inhabited: Callable[[Variable], bool]) -> bool:
    """Whether an array can always get another item that equals an earlier one, so that no item needs to be planned."""
    return (
        array.maximum is None
        and not array.contains
        and array.items is not None
        and inhabited(array.items)
        and all(map(inhabited, array.prefix))
    )


class Repetition:
    """The plans for one array alternative of which two items must be equal. `inhabited` tells which parts have values.

    With `careful`, that a part admits a value is not believed before the part has been joined with it.
    """

    def __init__(
        self, forms: NormalForm, items: Items, inhabited: Callable[[Variable], bool], *, careful: bool = True
    ) -> None:
        self._forms, self._items, self._inhabited, self._careful = forms, items, inhabited, careful
        a = self.alternative = items.alternative
        # Positions from here on are alike, but for the maximum.
        self.alike = max(len(a.prefix), a.minimum, *(c.start for c in a.contains), 0)
        if self.alike > MAX_COUNTED:
            raise ResourceLimitError(
                "", "uniqueItems", f"counts more than {MAX_COUNTED} items", f"MAX_COUNTED = {MAX_COUNTED}"
            )
        self._closing: dict[tuple[State, int], bool] = {}
        self._moving: dict[tuple[State, int], tuple[tuple[State, Variable], ...]] = {}
        self._following: dict[tuple[State, int], tuple[Variable, ...]] = {}
        self._pairing: dict[tuple[State, int], bool] = {}
        self._admitting: dict[tuple[Variable, Hashable], bool] = {}

    def _at(self, count: int) -> int:
        """A number of items that stands for all that are like it."""
        return min(count, self.alike) if self.alternative.maximum is None else count

    def closes(self, state: State, count: int) -> bool:
        """Whether the array can end from here, equal items aside."""
        key = (state, self._at(count))
        found = self._closing.get(key)
        if found is None:
            rest = self._items.finish(*key, lambda part: 0 if self._inhabited(part) else inf)
            found = self._closing[key] = rest < inf
        return found

    def moves(self, state: State, count: int) -> tuple[tuple[State, Variable], ...]:
        """The ways to read the item at position `count` after which the array can end, equal items aside."""
        key = (state, self._at(count))
        found = self._moving.get(key)
        if found is None:
            ways = dict.fromkeys(self._items.moves(*key))
            found = self._moving[key] = tuple(
                (to, part) for to, part in ways if self._inhabited(part) and self.closes(to, key[1] + 1)
            )
        return found

    def later(self, state: State, count: int) -> tuple[Variable, ...]:
        """What the items from here on can be, each with a way on which the array ends."""
        key = (state, self._at(count))
        found = self._following.get(key)
        if found is None:
            out: dict[Variable, None] = {}
            seen = {(state, min(count, self.alike))}
            layer = [key]
            while layer:
                following = []
                for at, n in layer:
                    for to, part in self.moves(at, n):
                        out[part] = None
                        # Who gets to a position first has the most room left.
                        node = (to, min(n + 1, self.alike))
                        if node not in seen:
                            seen.add(node)
                            following.append((to, self._at(n + 1)))
                layer = following
            found = self._following[key] = tuple(out)
        return found

    def pairs(self, state: State, count: int) -> bool:
        """Whether two items from here on can be equal, whatever was written before."""
        key = (state, self._at(count))
        found = self._pairing.get(key)
        if found is None:
            found = self._pairing[key] = self._find_pair(*key)
        return found

    def _find_pair(self, state: State, count: int) -> bool:
        seen = {(state, min(count, self.alike))}
        layer = [(state, count)]
        while layer:
            following = []
            for at, n in layer:
                for to, part in self.moves(at, n):
                    if any(self._inhabited(part | other) for other in self.later(to, n + 1)):
                        return True
                    node = (to, min(n + 1, self.alike))
                    if node not in seen:
                        seen.add(node)
                        following.append((to, self._at(n + 1)))
            layer = following
        return False

    def is_free(self, state: State, count: int) -> bool:
        """Whether no plan restricts the item at position `count`, whatever was written before."""
        return all(self.pairs(to, count + 1) for to, _ in self.moves(state, count))

    def _admits(self, part: Variable, value: object) -> bool:
        key = (part, identity(value))
        found = self._admitting.get(key)
        if found is None:
            forms = self._forms
            found = forms.admits(part, value)
            if found and self._careful:
                found = self._inhabited(part | forms.literal(value))
            self._admitting[key] = found
        return found

    def can_end(self, state: State, count: int, used: Sequence[object]) -> bool:
        """Whether the array can end from here, with two equal items, after items of these values that all differ."""
        return self.pairs(state, count) or any(
            self._admits(part, value) for part in self.later(state, count) for value in used
        )

    def ways(self, state: State, count: int, used: Sequence[object]) -> list[Way]:
        """The ways to read the item at position `count`, after items of these values that all differ."""
        out: dict[Way, None] = {}
        for to, part in self.moves(state, count):
            if self.can_end(to, count + 1, used):
                out[Way(False, to, part)] = None
            else:
                for other in self.later(to, count + 1):
                    if self._inhabited(part | other):
                        out[Way(False, to, part | other)] = None
            again = [value for value in used if self._admits(part, value)]
            if again:
                out[Way(True, to, part | self._forms.listed(again))] = None
        return list(out)

    def any_ways(self, state: State, count: int) -> list[Way]:
        """The ways to read the item at position `count` that do not complete the pair, whatever was written before."""
        return [Way(False, to, part) for to, part in self.moves(state, count)]

    # ---- as a whole --------------------------------------------------------------------------------------------------

    def cost(self, cost: Callable[[Variable], float]) -> float:
        """Bytes of the shortest array; infinite where there is none."""
        best: dict[tuple[State, int, Variable | None], float] = {}
        found = inf
        layer: dict[tuple[State, int, Variable | None], float] = {(self._items.start, 0, _NO_PAIR): 0.0}
        while layer:
            following: dict[tuple[State, int, Variable | None], float] = {}
            for (at, n, plan), spent in layer.items():
                if spent >= min(found, best.get((at, min(n, self.alike), plan), inf)):
                    continue
                best[at, min(n, self.alike), plan] = spent
                if plan is _DONE and self._items.may_close(at, n):
                    found = min(found, spent)
                    continue
                for to, part in self._items.moves(at, n):
                    own = cost(part)
                    if own == inf:
                        continue
                    options: list[tuple[Variable | None, float]] = [(plan, own)]
                    if plan is _NO_PAIR:
                        options.append((part, 0.0))  # what it costs is known once the second one is
                    elif plan is not _DONE:
                        options.append((_DONE, 2 * cost(plan | part)))
                    for after, more in options:
                        key = (to, self._at(n + 1), after)
                        total = spent + 1 + more
                        known = best.get((to, min(n + 1, self.alike), after), inf)
                        if total < min(following.get(key, inf), known, found):
                            following[key] = total
            layer = following
        return 2 + max(0.0, found - 1)

    def arrays(self, values: Callable[[Variable], Values | None]) -> Iterator[object] | None:
        """All the arrays, out of the values of each part, as far as they are known; None where they are endless.

        `values` answers None for a part that has endlessly many.
        """
        return None if self._is_endless(values) else self._listed(values)

    def _is_endless(self, values: Callable[[Variable], Values | None]) -> bool:
        """Whether there are endlessly many arrays: by the values of an item, or by their length."""
        unlimited = self.alternative.maximum is None
        start: tuple[State, int, Variable | None, bool] = (self._items.start, 0, _NO_PAIR, False)
        todo, seen = [start], {start}
        while todo:
            at, n, plan, endless = todo.pop()
            if endless and plan is _DONE and self._items.may_close(at, n):
                return True
            for to, part in self.moves(at, n):
                more = endless or values(part) is None or (unlimited and n >= self.alike and to == at)
                options: list[tuple[Variable | None, bool]] = [(plan, more)]
                if plan is _NO_PAIR:
                    options.append((part, endless))
                elif plan is not _DONE:
                    both = values(plan | part)
                    if both is None or both:
                        options.append((_DONE, endless or both is None))
                for after, is_endless in options:
                    node = (to, self._at(n + 1), after, is_endless)
                    if node not in seen:
                        seen.add(node)
                        todo.append(node)
        return False

    def _listed(self, values: Callable[[Variable], Values | None]) -> Iterator[object]:
        todo: list[tuple[State, int, tuple[object, ...], bool]] = [(self._items.start, 0, (), False)]
        while todo:
            state, n, written, done = todo.pop()
            if done and self._items.may_close(state, n):
                yield list(written)
            if not done and not self.can_end(state, n, written):
                continue
            taken = set(map(identity, written))
            for to, part in self.moves(state, n):
                for key, value in (values(part) or {}).items():
                    todo.append((to, n + 1, (*written, value), done or key in taken))


def all_parts(forms: NormalForm, array: ArrayAlternative) -> set[Variable]:
    """All variables that the items of an array can have to be in, those that pairs share included, listed values aside.

    Raises `ResourceLimitError` where there are too many.
    """
    parts = list(Items(forms, array).parts())
    if len(parts) * (len(parts) + 1) // 2 > MAX_PAIRS:
        raise ResourceLimitError(
            forms.pointer(array.items or ANYTHING),
            "uniqueItems",
            "too many pairs of items may be the equal ones",
            f"MAX_PAIRS = {MAX_PAIRS}",
        )
    return {a | b for k, a in enumerate(parts) for b in parts[k:]}
