"""Arrays that count: bounds on the items that are valid under a schema (`contains`), and items that must differ.

Such an array is followed through *states*: how many items each bound has counted so far, and which values have been
used where all items come from a small set. An item may be read in several ways, each with the variable that its value
must then be in and the state that follows; reading all of them side by side is exact. A state is entered only if the
array can still be finished from it. Where items that must differ come from larger sets, states leave that aside: it is
for others to remember the values (see `distinct`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import inf

from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.normal import ANYTHING, ArrayAlternative, Contains, NormalForm, Variable
from constrain.grammars.json_schema.plain import admits_any_text_alone

MAX_DISTINCT = 10
"""Values of a finite set of items that must differ, up to which the sets of those used are states."""
MAX_COUNTED = 1_000
"""Items that are counted one by one."""


@dataclass(frozen=True, slots=True)
class State:
    """How many items each bound has counted, and the numbers of the values used, as bits."""

    counts: tuple[int, ...]
    used: int = 0


class Items:
    """The states of one array alternative. With `listed`, they hold the values used where the set of items is small."""

    def __init__(self, forms: NormalForm, alternative: ArrayAlternative, *, listed: bool = True) -> None:
        self._forms, self.alternative = forms, alternative
        self.start = State((0,) * len(alternative.contains))
        a = alternative
        longest = max(len(a.prefix), a.minimum, a.maximum or 0, *(c.start + c.low for c in a.contains), 0)
        if longest > MAX_COUNTED and (a.minimum > MAX_COUNTED or any(c.low > MAX_COUNTED for c in a.contains)):
            raise ResourceLimitError(
                "", "contains", f"counts more than {MAX_COUNTED} items", f"MAX_COUNTED = {MAX_COUNTED}"
            )
        self.bound = min(longest, MAX_COUNTED)  # positions from here on are alike, but for the maximum
        self._domain = small_domain(forms, a) if a.unique and listed else None

    def may_close(self, state: State, count: int) -> bool:
        """Whether the array may end after `count` items."""
        a = self.alternative
        return (
            a.minimum <= count
            and (a.maximum is None or count <= a.maximum)
            and all(c.low <= n for c, n in zip(a.contains, state.counts, strict=True))
        )

    def moves(self, state: State, count: int) -> Iterator[tuple[State, Variable]]:
        """The ways to read the item at position `count`: the state that follows, and what the value must be."""
        a = self.alternative
        if a.maximum is not None and count >= a.maximum:
            return
        part = a.prefix[count] if count < len(a.prefix) else a.items
        if part is None:
            return
        for counts, extra in _ways(a.contains, state.counts, count):
            if self._domain is None:
                yield State(counts), part | extra
                continue
            for i, value in enumerate(self._domain):
                if not state.used >> i & 1 and self._forms.admits(part | extra, value):
                    yield State(counts, state.used | 1 << i), self._forms.literal(value)

    def parts(self) -> set[Variable]:
        """All variables that items can have to be in."""
        out: set[Variable] = set()
        a = self.alternative
        # From there on positions are alike, but for how many there may be.
        last = max(len(a.prefix), *(c.start for c in a.contains), 0) if self._domain is None else self.bound
        todo, seen = [(self.start, 0)], {(self.start, 0)}
        while todo:
            state, count = todo.pop()
            for to, part in self.moves(state, count):
                out.add(part)
                at = (to, min(count + 1, last))
                if at not in seen:
                    seen.add(at)
                    todo.append(at)
            if len(seen) > 20_000:
                raise ResourceLimitError(
                    self._forms.pointer(next(iter(out), ANYTHING)), "uniqueItems", "too many combinations of items", ""
                )
        return out

    def finish(self, state: State, count: int, cost: Callable[[Variable], float], gap: int = 0) -> float:
        """The fewest bytes of further items, each with its comma and the gap after it, until the array may end.

        Infinite if it never may.
        """
        best: dict[tuple[State, int], float] = {}
        found = inf
        layer = {(state, count): 0.0}
        while layer:
            following: dict[tuple[State, int], float] = {}
            for (at, n), spent in layer.items():
                if spent >= min(found, best.get((at, n), inf)):
                    continue
                best[at, n] = spent
                if self.may_close(at, n):
                    found = min(found, spent)
                    continue
                for to, part in self.moves(at, n):
                    key = (to, n + 1 if self.alternative.maximum is not None else min(n + 1, self.bound))
                    total = spent + 1 + gap + cost(part)
                    if total < min(following.get(key, inf), best.get(key, inf), found):
                        following[key] = total
            layer = following
        return found

    def cost(self, cost: Callable[[Variable], float], gap: int) -> float:
        """Bytes of the shortest array."""
        rest = self.finish(self.start, 0, cost, gap)
        return 2 + max(0.0, rest - 1 - gap)


def _ways(
    contains: tuple[Contains, ...], counts: tuple[int, ...], position: int
) -> Iterator[tuple[tuple[int, ...], Variable]]:
    """The ways in which an item at a position counts for each bound."""
    ways: list[tuple[tuple[int, ...], Variable]] = [((), ANYTHING)]
    for c, n in zip(contains, counts, strict=True):
        options: list[tuple[int, Variable]] = []
        if position < c.start or (c.high is None and n >= c.low):
            options.append((n, ANYTHING))
        elif c.high is None:
            options += [(n + 1, c.value), (n, ANYTHING)]
        else:
            if n < c.high:
                options.append((n + 1, c.value))
            options.append((n, c.against))
        ways = [((*done, m), extra | more) for done, extra in ways for m, more in options]
    yield from ways


def small_domain(forms: NormalForm, array: ArrayAlternative) -> list[object] | None:
    """The values that items can have at all, where they are few scalars; None otherwise."""
    found: dict[Variable, object] = {}
    for part in (*array.prefix, *(() if array.items is None else (array.items,))):
        values = finite_values(forms, part)
        if values is None:
            return None
        for v in values:
            found[forms.literal(v)] = v
        if len(found) > MAX_DISTINCT:
            return None
    return list(found.values())


def is_tracked(forms: NormalForm, array: ArrayAlternative) -> bool:
    """Whether the items of an array must differ, or must not, and are too many to be told apart by states."""
    return array.repeated or (array.unique and small_domain(forms, array) is None)


def has_any_texts(forms: NormalForm, array: ArrayAlternative) -> bool:
    """Whether all that is asked of the items of an array, but that they differ, is to be texts."""
    if array.prefix or array.contains or array.repeated or array.items is None:
        return False
    items = forms.single(array.items)
    return items is not None and admits_any_text_alone(items)


def finite_values(forms: NormalForm, variable: Variable) -> list[object] | None:
    """All values of a variable where they are finitely many scalars; None otherwise."""
    types = forms.types(variable)
    out: list[object] = []
    if types & ir.OBJECT and forms.objects(variable):
        return None
    if types & ir.ARRAY and forms.arrays(variable):
        return None
    if types & ir.STRING:
        for s in forms.strings(variable):
            if s.values is None:
                return None
            out += s.values
    atoms = forms.atoms(variable)
    out += [None] if atoms.null else []
    out += atoms.booleans
    for number in atoms.numbers:
        values = number.values
        if values is None and number.integer and number.minimum is not None and number.maximum is not None:
            low, high = -(-number.minimum // 1), number.maximum // 1
            values = frozenset(Fraction(v) for v in range(low, min(high, low + MAX_DISTINCT) + 1))
        if values is None:
            return None
        out += [v for v in sorted(values) if forms.admits(variable, int(v) if v.denominator == 1 else v)]
    return list({forms.literal(v): v for v in out}.values())
