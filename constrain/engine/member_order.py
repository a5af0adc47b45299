"""Declared order of members, at one object.

Members that the schema declares come in its order, each or not; all others come after them, in any order. While an
object is read, how far it has got in the declared names (a *cursor*) says what may come next: a member takes the
cursor behind itself, and the names that it passes over never come. Whether a branch can afford that, as it demands none
of them and can still meet what it does demand, is found where the branch is lowered; see `Shapes`. So the kernels know
nothing of an order: the names that a branch admits are those that may come next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemberOrder:
    """The ranks of an object's names.

    Attributes:
        ranks: by number of name its place among the declared names; all others have the rank `end`.
        end: the number of declared names, and the cursor once a member has come that is not declared.
        before: by cursor, bit mask of the names of lower ranks.
    """

    ranks: tuple[int, ...]
    end: int
    before: tuple[int, ...]

    @staticmethod
    def of(names: Sequence[str], declared: Sequence[str]) -> MemberOrder:
        """The order of `names`, of which `declared` lists some, and perhaps others, in order."""
        known = set(names)
        rank = {name: r for r, name in enumerate(n for n in declared if n in known)}
        end = len(rank)
        number = {name: i for i, name in enumerate(names)}
        before = [0]
        for name in rank:
            before.append(before[-1] | 1 << number[name])
        return MemberOrder(tuple(rank.get(name, end) for name in names), end, tuple(before))

    def passed(self, start: int, stop: int) -> int:
        """Bit mask of the names passed over on the way from one cursor to another."""
        return self.before[stop] & ~self.before[start]

    def up_to_first(self, names: int, wanted: int) -> tuple[int, bool]:
        """Those of a set of names that are not behind the first declared one of `wanted`, and whether there is one."""
        first = wanted & self.before[self.end]
        if not first:
            return names, False
        low = 0
        high = self.end
        while high - low > 1:  # the least cursor behind a wanted name
            middle = (low + high) // 2
            if first & self.before[middle]:
                high = middle
            else:
                low = middle
        return names & self.before[high], True
