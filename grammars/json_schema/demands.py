"""Demands on an object's members: disjunctions that are followed while the object is read.

That a value is not valid under some branch becomes, for objects, a *clause*: a member has a value that the branch
forbids, or a member is missing, or there is one with a name that it does not know. Multiplied out, the clauses of a
`oneOf` with many branches are more alternatives than anyone can list. So an alternative keeps its clauses: each member
that is read settles those that it serves and takes its own name from the others, which is deterministic. What then has
to be decided is whether all that is left can still be met together, and how cheaply: a search for a *plan*, which says
what members are yet to come and which never will.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import nsmallest

from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.json_schema.normal import ANYTHING, Has, Lacks, Variable

MAX_STEPS = 50_000
"""Steps of a search for a plan."""
MAX_IMPROVEMENTS = 2_000
"""Steps after which a plan is taken as it is, although a cheaper one may exist."""


@dataclass(frozen=True, slots=True)
class FreeSome:
    """There is a member with a free name of one of these classes, its value in a variable."""

    classes: frozenset[frozenset[int]]
    value: Variable


Option = Lacks | Has | FreeSome
Clause = frozenset[Option]


def without_implied(clauses: Iterable[Clause]) -> tuple[Clause, ...]:
    """The clauses that no other one implies."""
    out: list[Clause] = []
    for clause in sorted(set(clauses), key=len):
        if not any(kept <= clause for kept in out):
            out.append(clause)
    return tuple(out)


def after_member(clauses: tuple[Clause, ...], name: str, served: frozenset[int]) -> tuple[Clause, ...] | None:
    """What is left of clauses once a member of this declared name is read that serves those numbered in `served`.

    None where one of them can no longer be met. Where no clause implies another one, so it is with those left.
    """
    out: list[Clause] = []
    shorter: list[Clause] = []
    for k, clause in enumerate(clauses):
        if k in served:
            continue
        if name in _names_of(clause):
            clause = _without_name(clause, name)
            if not clause:
                return None
            shorter.append(clause)
        out.append(clause)
    if not shorter:
        return tuple(out)
    # Only a clause that has become shorter can imply another one now.
    kept = without_implied(shorter)
    rest = [c for c in out if not any(k <= c for k in kept)]
    return tuple(sorted((*rest, *kept), key=len))


@functools.lru_cache(maxsize=50_000)
def _names_of(clause: Clause) -> frozenset[str]:
    """The declared names that a clause speaks of."""
    return frozenset(o.name for o in clause if not isinstance(o, FreeSome))


@functools.lru_cache(maxsize=50_000)
def _without_name(clause: Clause, name: str) -> Clause:
    return frozenset(o for o in clause if isinstance(o, FreeSome) or o.name != name)


def never_with(clauses: tuple[Clause, ...], names: Collection[str]) -> tuple[Clause, ...] | None:
    """What is left of clauses once members of these names can no longer come; None where one cannot be met then."""
    out = []
    for clause in clauses:
        if any(isinstance(o, Lacks) and o.name in names for o in clause):
            continue
        rest = frozenset(o for o in clause if isinstance(o, FreeSome) or o.name not in names)
        if not rest:
            return None
        out.append(rest)
    return tuple(out)


def with_member(clauses: tuple[Clause, ...], name: str) -> tuple[list[Variable], list[Clause]] | None:
    """What the value of a member of this declared name has to serve if it comes, as nothing else can, and what is left
    of the other clauses if it serves none of them; of those none where in each some other member may be lacking.

    None where it cannot come, or has to serve one of several demands.
    """
    forced: list[Variable] = []
    is_more = False
    for clause in clauses:
        values: list[Variable] = []
        others = False
        for o in clause:
            if isinstance(o, FreeSome) or o.name != name:
                others = True
                if isinstance(o, Lacks):
                    break
            elif isinstance(o, Has):
                values.append(o.value)
        else:
            if others:
                is_more = True
            elif len(values) == 1:
                forced += values
            else:
                return None
    if not is_more:
        return forced, []
    rest = (_without_name(clause, name) if name in _names_of(clause) else clause for clause in clauses)
    return forced, [clause for clause in rest if clause]


def plain_plan(
    clauses: Iterable[Clause],
    value_of: Callable[[str], Variable | None],
    inhabited: Callable[[Variable], bool],
) -> dict[str, Variable] | None:
    """The first plan at hand that meets all clauses, where members are not counted: what comes, and what it serves.

    In it no member comes but for each clause that names none that may be lacking the first one that has a value. None
    says nothing: there may be others.
    """
    present: dict[str, Variable] = {}
    for clause in clauses:
        if any(isinstance(o, Lacks) for o in clause):
            continue
        for o in clause:
            if isinstance(o, Has) and o.name not in present:
                part = value_of(o.name)
                if part is not None and inhabited(part | o.value):
                    present[o.name] = o.value
                    break
        else:
            return None
    return present if not present or all(_is_met_by(present, clause) for clause in clauses) else None


def _is_met_by(present: dict[str, Variable], clause: Clause) -> bool:
    for o in clause:
        if isinstance(o, Lacks):
            if o.name not in present:
                return True
        elif isinstance(o, Has) and present.get(o.name) == o.value:
            return True
    return False


def served_beside(plan: dict[str, Variable], spoken_of: Iterable[Clause], name: str) -> list[Variable] | None:
    """What the value of a member has to serve if it comes beside a plan for all clauses, of which these speak of it.

    None where one of them is then not met by the plan, and has not just one demand for the value.
    """
    if name in plan:
        return None
    forced: list[Variable] = []
    for clause in spoken_of:
        left = _without_name(clause, name)
        if not left:
            values = [o.value for o in clause if isinstance(o, Has)]
            if len(values) != 1:
                return None
            forced += values
        elif not _is_met_by(plan, left):
            return None
    return forced


@dataclass(slots=True)
class Room:
    """What members an object can yet have.

    Attributes:
        declared: names that may be added, with what their values must be.
        free: what the values under free names must be, by class of names.
        required: names that must be added; all are in `declared`.
        minimum, maximum: bounds on the number of members to add.
        value_cost: cost of a value in a variable; infinite where there is none.
        name_cost: cost of a declared name.
        free_cost: cost of the k-th new free name of a class.
    """

    declared: Mapping[str, Variable]
    free: Mapping[frozenset[int], Variable]
    required: Iterable[str]
    minimum: int
    maximum: int | None
    value_cost: Callable[[Variable], float]
    name_cost: Callable[[str], float] = lambda _name: 0
    free_cost: Callable[[frozenset[int], int], float] = lambda _members, _k: 0


@dataclass(slots=True)
class _Plan:
    present: dict[str, Variable]
    absent: frozenset[str]
    free: tuple[FreeSome, ...]
    cost: float
    free_total: float


def cheapest(room: Room, clauses: tuple[Clause, ...], *, any_plan: bool = False) -> float:
    """Cost of a cheapest plan, or of the first that is found, with 1 for each member; infinite where there is none."""
    return _Search(room, any_plan).run(clauses)


def value_in_plan(room: Room, clauses: tuple[Clause, ...], member: str | frozenset[int]) -> Variable:
    """What the value of a member, of this name or a free name of this class, is to be in a cheapest plan with it."""
    search = _Search(room, any_plan=False)
    if isinstance(member, str):
        room.required = [*room.required, *(() if member in room.required else (member,))]
        search.run(clauses)
        return ANYTHING if search.plan is None else search.plan.present[member]
    search.run(clauses, (FreeSome(frozenset((member,)), ANYTHING),))
    return ANYTHING if search.plan is None else search.plan.free[0].value


def cost_with_name(room: Room, clauses: tuple[Clause, ...], members: frozenset[int]) -> float:
    """Cost of some plan with a free name of a class; infinite where there is none."""
    return _Search(room, any_plan=True).run(clauses, (FreeSome(frozenset((members,)), ANYTHING),))


class _Search:
    def __init__(self, room: Room, any_plan: bool) -> None:
        self._room, self._any_plan = room, any_plan
        self._best = math.inf
        self.plan: _Plan | None = None
        self._steps = 0
        self._name_costs: dict[str, float] = {}

    def run(self, clauses: tuple[Clause, ...], free: tuple[FreeSome, ...] = ()) -> float:
        """The cost of a cheapest plan with these free members."""
        room = self._room
        present: dict[str, Variable] = {}
        total = 0.0
        for name in room.required:
            part = room.declared.get(name)
            if part is None:
                return self._best
            total += self._member(name, part)
            present[name] = ANYTHING
        if total < math.inf:
            free_total = self._free_total(free)
            self._extend(_Plan(present, frozenset(), free, total + free_total, free_total), clauses)
        return self._best

    def _member(self, name: str, value: Variable) -> float:
        known = self._name_costs.get(name)
        if known is None:
            known = self._name_costs[name] = 1 + self._room.name_cost(name)
        return known + self._room.value_cost(value)

    def _extend(self, plan: _Plan, clauses: tuple[Clause, ...]) -> bool:
        """Complete a plan in all ways that may be better than the best one; True to stop."""
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise ResourceLimitError(
                "", "not", f"whether its members can be had together takes more than {MAX_STEPS} steps to find",
                f"MAX_STEPS = {MAX_STEPS}",
            )  # fmt: skip
        if self._steps > MAX_IMPROVEMENTS and self._best < math.inf:
            return True
        count = len(plan.present) + len(plan.free)
        if plan.cost >= self._best or (self._room.maximum is not None and count > self._room.maximum):
            return False
        if self._room.minimum <= count and all(
            any(isinstance(o, Lacks) and o.name not in plan.present for o in c) or self._is_met(plan, c)
            for c in clauses
        ):
            self._best, self.plan = plan.cost, plan  # nothing more is needed
            return self._any_plan
        left: list[Clause] = []
        chosen: list[_Plan] | None = None
        for clause in clauses:
            if self._is_met(plan, clause):
                continue
            left.append(clause)
            if chosen is not None and len(clause) > 2 * len(chosen):  # not the one to go on with, if it has any way
                if len(chosen) > 1 and not any(True for o in clause for _ in self._with(plan, o)):
                    return False
            elif chosen is None or len(chosen) > 1:
                ways = [way for o in clause for way in self._with(plan, o)]
                if not ways:
                    return False
                if chosen is None or len(ways) < len(chosen):
                    chosen = ways
        if chosen is None:
            return self._finish(plan)
        chosen.sort(key=lambda way: way.cost)
        rest = tuple(left)
        return any(self._extend(way, rest) for way in chosen)

    @staticmethod
    def _is_met(plan: _Plan, clause: Clause) -> bool:
        for o in clause:
            if isinstance(o, Lacks):
                if o.name in plan.absent:
                    return True
            elif isinstance(o, Has):
                if o.name in plan.present and o.value <= plan.present[o.name]:
                    return True
            elif any(f.classes <= o.classes and o.value <= f.value for f in plan.free):
                return True
        return False

    def _with(self, plan: _Plan, o: Option) -> Iterator[_Plan]:
        """The plans with one more option met that can still be better than the best one."""
        room = self._room
        if isinstance(o, Lacks):
            if o.name not in plan.present:
                yield _Plan(plan.present, plan.absent | {o.name}, plan.free, plan.cost, plan.free_total)
            return
        if isinstance(o, Has):
            part = room.declared.get(o.name)
            if part is None or o.name in plan.absent:
                return
            before = plan.present.get(o.name)
            value = o.value if before is None else before | o.value
            cost = plan.cost + self._member(o.name, part | value)
            if before is not None:
                cost -= self._member(o.name, part | before)
            if cost < self._best:
                yield _Plan({**plan.present, o.name: value}, plan.absent, plan.free, cost, plan.free_total)
            return
        for k in range(len(plan.free) + 1):
            if k == len(plan.free):
                free = (*plan.free, o)
            else:
                other = plan.free[k]
                both = FreeSome(other.classes & o.classes, other.value | o.value)
                free = (*plan.free[:k], both, *plan.free[k + 1 :])
            total = self._free_total(free)
            cost = plan.cost - plan.free_total + total
            if cost < self._best:
                yield _Plan(plan.present, plan.absent, free, cost, total)

    def _free_total(self, free: tuple[FreeSome, ...]) -> float:
        room = self._room
        used: dict[frozenset[int], int] = {}
        total = 0.0
        for some in free:
            best, where = math.inf, None
            for members in some.classes:
                if members in room.free:
                    cost = room.free_cost(members, used.get(members, 0)) + room.value_cost(
                        room.free[members] | some.value
                    )
                    if cost < best:
                        best, where = cost, members
            if where is None:
                return math.inf
            used[where] = used.get(where, 0) + 1
            total += 1 + best
        return total

    def _finish(self, plan: _Plan) -> bool:
        room = self._room
        count = len(plan.present) + len(plan.free)
        total = plan.cost
        extra = room.minimum - count
        if extra > 0:
            options: list[float] = []
            for name, part in room.declared.items():
                if name not in plan.present and name not in plan.absent:
                    options.append(self._member(name, part))
            for members, part in room.free.items():
                value = room.value_cost(part)
                if value < math.inf:
                    first = len(plan.free)
                    options += [1 + room.free_cost(members, first + k) + value for k in range(extra)]
            added = [c for c in nsmallest(extra, options) if c < math.inf]
            if len(added) < extra:
                return False
            total += sum(added)
        if total < self._best:
            self._best, self.plan = total, plan
        return self._any_plan and total < math.inf
