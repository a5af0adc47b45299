"""Plans for the members that clauses demand: what is told at a glance agrees with the search."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from constrain.grammars.json_schema.demands import (
    Clause,
    FreeSome,
    Option,
    Room,
    after_member,
    cheapest,
    plain_plan,
    served_beside,
    with_member,
)
from constrain.grammars.json_schema.normal import Has, Lacks, Variable

NAMES = "abcd"
VALUES: list[Variable] = [frozenset((1,)), frozenset((2,)), frozenset((3,))]
FREE = frozenset((frozenset[int](),))


def _is_inhabited(value: Variable) -> bool:
    return not value >= {1, 2} and 9 not in value


def _can_be_met(clauses: tuple[Clause, ...], declared: dict[str, Variable]) -> bool:
    room = Room(declared, {}, (), 0, None, lambda value: 0 if _is_inhabited(value) else math.inf)
    return cheapest(room, clauses, any_plan=True) < math.inf


def _is_served(clause: Clause, name: str, value: Variable) -> bool:
    return any(isinstance(o, Has) and o.name == name and o.value <= value for o in clause)


def _random_case(rng: random.Random) -> tuple[tuple[Clause, ...], dict[str, Variable]]:
    options: list[Option] = [Lacks(n) for n in NAMES] + [Has(n, v) for n in NAMES for v in VALUES]
    options.append(FreeSome(FREE, VALUES[0]))
    clauses = [frozenset(rng.sample(options, rng.choice([1, 2, 2, 3]))) for _ in range(rng.randint(1, 5))]
    declared: dict[str, Variable] = {n: rng.choice([frozenset(), *VALUES]) for n in NAMES if rng.random() < 0.8}
    return tuple(clauses), declared


@pytest.mark.parametrize("seed", range(20))
def test_what_is_plainly_possible_has_a_plan(seed: int) -> None:
    rng = random.Random(seed)
    plainly = 0
    for _ in range(200):
        clauses, declared = _random_case(rng)
        if plain_plan(clauses, declared.get, _is_inhabited) is not None:
            plainly += 1
            assert _can_be_met(clauses, declared), (clauses, declared)
    assert plainly


@pytest.mark.parametrize("seed", range(20))
def test_what_a_member_must_serve(seed: int) -> None:
    """Where the rest can be met without it, a member may come just if its value can serve what it must."""
    rng = random.Random(seed)
    told = beside = 0
    for _ in range(200):
        clauses, declared = _random_case(rng)
        name = rng.choice([*declared, "e"])
        if name not in declared:
            continue
        others = {n: v for n, v in declared.items() if n != name}
        plan = plain_plan(clauses, declared.get, _is_inhabited)
        spoken_of = [c for c in clauses if any(not isinstance(o, FreeSome) and o.name == name for o in c)]
        forced = None if plan is None else served_beside(plan, spoken_of, name)
        if forced is None:
            found = with_member(clauses, name)
            if found is None or plain_plan(found[1], others.get, _is_inhabited) is None:
                continue
            forced, _ = found
        else:
            beside += 1
        told += 1
        may_come = False
        for some in itertools.chain.from_iterable(itertools.combinations(VALUES, k) for k in range(4)):
            value = declared[name].union(*some)
            served = frozenset(k for k, c in enumerate(clauses) if _is_served(c, name, value))
            left = after_member(clauses, name, served)
            may_come |= _is_inhabited(value) and left is not None and _can_be_met(left, others)
        assert may_come == _is_inhabited(declared[name].union(*forced)), (clauses, declared, name)
    assert told > beside > 0
