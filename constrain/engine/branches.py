"""The alternatives of an object or array that are read in lock-step, and the shape that they share.

A branch is made once, for an alternative of one variable or for what is left of it, and never changed after that; what
tells branches apart is which one they are. (They are no frozen dataclasses, as these take three times as long to make,
and one is made at every member that is an object or array.)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from constrain.grammars.json_schema.items import Items, State

if TYPE_CHECKING:
    from constrain.engine.choices import Undecided
    from constrain.engine.member_order import MemberOrder
    from constrain.grammars.json_schema.demands import Clause
    from constrain.grammars.json_schema.members import Members
    from constrain.grammars.json_schema.normal import ArrayAlternative, ObjectAlternative, Variable
    from constrain.grammars.json_schema.repetition import Repetition

UNBOUNDED = 1 << 60


@dataclass(slots=True, eq=False)
class ObjectBranch:
    """An object alternative on behalf of one variable of the set; only names and values that can exist remain.

    One with `clauses` stands for where they are. Where the number of members matters to whether they can be met, it
    knows which members the object has. Where members come in the declared order, it knows how far the object has got,
    and admits what may come next.
    """

    variable: int
    alternative: ObjectAlternative
    values: tuple[Variable | None, ...]  # by number of declared name; None: not admitted
    free: dict[frozenset[int], Variable]  # by class of free names
    allowed: int  # bit masks over declared names
    required: int
    clauses: tuple[Clause, ...] = ()
    seen: int | None = None  # bit mask over declared names; None: it does not matter
    count: int = 0  # of members, where it matters
    cursor: int = 0  # in the declared names, where they come in order
    origin: ObjectBranch | None = None  # before the first member, with all names that it may ever have


START = State(())  # no item is written, and none is counted


@dataclass(slots=True, eq=False)
class ArrayBranch:
    """An array alternative on behalf of one variable of the set, with the largest length that can be reached.

    Where items are counted, or must differ and are few, `items` knows the moves and `state` is where they stand. Where
    items that must differ are not few, the branch is `tracked`: see `uniqueness`. So is one that must still get an item
    equal to another, which `repeats`; where its places may run out, `repetition` plans for the two.
    """

    variable: int
    alternative: ArrayAlternative
    longest: int
    items: Items | None = None
    state: State = START
    tracked: bool = False
    repeats: bool = False
    repetition: Repetition | None = None


@dataclass(slots=True)
class Shape:
    """All alternatives of a set of variables for objects or for arrays; more are added as their states are met."""

    kind: int
    names: tuple[str, ...] = ()
    first_name: int = 0
    prefix: int = 0
    saturation: int = 1
    branches: list[ObjectBranch | ArrayBranch] = field(default_factory=list)
    members: Members | None = None
    undecided: Undecided | None = None  # the choice that the one branch stands for
    order: MemberOrder | None = None  # of the names; None: any
    keys: int = 0  # state of the scanner in which a free name begins
    numbers: dict[object, int] = field(default_factory=dict)  # of branches, by what tells them apart
    successors: dict[tuple[int, int], list[tuple[Variable, ObjectBranch]]] = field(default_factory=dict)
    lengths: dict[frozenset[int], int] = field(default_factory=dict)  # of the shortest name of a class

    def number(self, key: object, branch: ObjectBranch | ArrayBranch) -> int:
        """The number of a branch, which is added under `key` if it is new."""
        found = self.numbers.get(key)
        if found is None:
            found = self.numbers[key] = len(self.branches)
            self.branches.append(branch)
        return found
