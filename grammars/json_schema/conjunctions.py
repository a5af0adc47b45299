"""What an expansion finds: conjunctions, of which those that only add to another one can be left out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from constrain.grammars.json_schema.dual import Atom


@dataclass(frozen=True, slots=True)
class Conjunction:
    """One conjunction of an expansion.

    Attributes:
        members: subschemas that hold, with all but their in-place applicators to be merged.
        atoms: dual assertions that hold besides.
        excluded: subschemas none of whose `values` is admitted.
        types: type atoms that remain.
        tracked: the members with an `unevaluated…` keyword.
        negated: subschemas that do not hold, told where members have `values` to be tested.
        clauses: sets of atoms about single members of objects, or patterns of strings; of each at least one holds.
    """

    members: frozenset[int]
    atoms: frozenset[Atom]
    excluded: frozenset[int]
    types: int
    tracked: tuple[int, ...] = ()
    negated: frozenset[int] = frozenset()
    clauses: frozenset[frozenset[Atom]] = frozenset()


def without_implied(conjunctions: list[Conjunction]) -> list[Conjunction]:
    """Without those that imply another one, which add nothing.

    What implies a conjunction shares all that it says, so it is looked for where the rarest of that is said.
    """
    said = [(*c.members, *c.atoms, *(("clause", clause) for clause in c.clauses)) for c in conjunctions]
    frequency = Counter(part for parts in said for part in parts)
    by_rarest: dict[object, list[Conjunction]] = {}
    for c, parts in zip(conjunctions, said, strict=True):
        by_rarest.setdefault(min(parts, key=frequency.__getitem__, default=None), []).append(c)
    return [
        c
        for c, parts in zip(conjunctions, said, strict=True)
        if not any(_implies(c, other) for part in (None, *parts) for other in by_rarest.get(part, ()))
    ]


def _implies(a: Conjunction, b: Conjunction) -> bool:
    """Whether conjunction `a` only adds to what `b` demands."""
    return (
        a.types & ~b.types == 0
        and b.members <= a.members
        and b.atoms <= a.atoms
        and b.excluded <= a.excluded
        and b.negated <= a.negated
        and b.clauses <= a.clauses
        and not b.tracked
        and not a.tracked
        and a != b
    )
