"""Choices at run time: objects of which one member tells what the others are.

As long as that member is not written, one branch stands for all. Its value then names the alternative, which is
lowered only now, and the object goes on as that. Should another member come first, all alternatives are followed side
by side, as those of any union are; where they are too many for that, the telling member has to come first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from constrain.grammars.json_schema.expansion import MAX_ALTERNATIVES
from constrain.grammars.json_schema.inhabit import Inhabitation
from constrain.grammars.json_schema.normal import NormalForm, ObjectAlternative, Rule, Variable

if TYPE_CHECKING:
    from constrain.engine.branches import Shape


@dataclass(eq=False, slots=True)
class Undecided:
    """A choice as one variable of a set asks for it.

    Attributes:
        variable: position in the set.
        whole: the variable.
        tag: the member that tells its alternatives apart.
        values: the values that lead to one, as UTF-8, in order.
        targets: the subschema that each leads to.
        texts: the variable of the values.
        together: stands for all alternatives in what members there may be.
        shortest: numbers of the shortest value of each alternative, in order; None before they are asked for.
        outcomes: the number of the outcome of the first value; those of the others follow.
    """

    variable: int
    whole: Variable
    tag: str
    values: list[bytes]
    targets: list[int]
    texts: Variable
    together: ObjectAlternative
    outcomes: int
    shortest: list[int] | None = None
    decided: dict[int, Shape] = field(default_factory=dict)  # by subschema
    side_by_side: Shape | None = None  # all alternatives, once they are asked for

    @property
    def in_any_order(self) -> bool:
        """Whether other members may come before the telling one."""
        return len(self.targets) <= MAX_ALTERNATIVES


def undecided(
    forms: NormalForm, inhabitation: Inhabitation, variable: int, whole: Variable, reserve: Callable[[int], int]
) -> Undecided | None:
    """The choice of a variable of a set, where it is one; `reserve` gives so many outcomes."""
    choice = forms.choice(whole)
    if choice is None:
        return None
    branches = choice.branches
    names = dict.fromkeys(choice.names)
    is_open = choice.is_open
    impossible: set[int] = set()
    for branch in forms.branches_at_hand(choice):
        if not inhabitation.inhabited(forms.variable((branch,))):
            impossible.add(branch)
            continue
        spoken_of, admits_others = forms.names_of(branch)
        names.update(dict.fromkeys(spoken_of))
        is_open = is_open or admits_others
    values = sorted(branches)  # by code points, which is the order of UTF-8
    if impossible:
        values = [value for value in values if branches[value] not in impossible]
    rule = Rule(dict.fromkeys(names), (), None)
    together = ObjectAlternative((rule,), {}, frozenset(), (), (choice.tag,), 1, None, closed=not is_open)
    return Undecided(
        variable,
        whole,
        choice.tag,
        [value.encode() for value in values],
        [branches[value] for value in values],
        forms.texts(values),
        together,
        reserve(len(values)),
    )
