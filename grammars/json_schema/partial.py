"""What a search for conjunctions has chosen so far, and which options that leaves."""

from __future__ import annotations

from typing import cast

from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.closures import Closures
from constrain.grammars.json_schema.dual import Atom, Option
from constrain.grammars.json_schema.emptiness import Emptiness

_EMPTY: frozenset[int] = frozenset()
_Stamp = tuple[int, int, int, frozenset[object] | None]
_NEVER: _Stamp = (-1, -1, 0, None)


class Partial:
    """What has been chosen so far."""

    __slots__ = (
        "absent", "atoms", "groups", "has", "holds", "listed", "present", "reduced", "speaking", "stamp", "tracked",
        "types", "values",
    )  # fmt: skip

    def __init__(self, types: int) -> None:
        self.types = types
        self.holds: set[int] = set()  # signed
        self.atoms: set[Atom] = set()
        self.groups: list[list[Option]] = []
        self.listed: frozenset[object] | None = None  # identities of the values that remain, where they are listed
        self.tracked: set[int] = set()  # subschemas of which it will matter which of their branches hold
        self.present: set[str] = set()  # members that are required
        self.absent: set[str] = set()
        self.speaking: list[int] = []  # those of `holds` that may say something of members
        self.has: dict[str, frozenset[int]] = {}  # what atoms ask of members
        self.values: dict[str, tuple[int, frozenset[int]]] = {}  # what members must be by the first of `speaking`
        self.stamp = _NEVER  # what was known when the first groups, `reduced` of them, were looked at
        self.reduced = 0

    def copy(self) -> Partial:
        other = Partial(self.types)
        other.holds, other.atoms, other.groups = self.holds.copy(), self.atoms.copy(), self.groups.copy()
        other.tracked, other.listed = self.tracked.copy(), self.listed
        other.present, other.absent = self.present.copy(), self.absent.copy()
        other.speaking, other.has, other.values = self.speaking.copy(), self.has.copy(), self.values.copy()
        other.stamp, other.reduced = self.stamp, self.reduced
        return other

    def known(self) -> _Stamp:
        """What changes with all that options are judged by, as that only grows."""
        return len(self.holds), len(self.atoms), self.types, self.listed


def possible(subschemas: Closures, partial: Partial, choice: Option) -> bool:
    """Whether a choice does not contradict what has been chosen, as far as is evident."""
    signed, atoms = choice
    if any(~i in partial.holds for i in signed):
        return False
    for i in signed:
        if i >= 0 and not subschemas.types(i) & partial.types:
            return False
        if i >= 0 and partial.listed is not None:
            listed = subschemas.listed_identities(i, partial.types)
            if listed is not None and partial.listed.isdisjoint(listed):
                return False
    for atom in atoms:
        if atom[0] == "absent":
            if atom[1] in partial.present:
                return False
        elif atom[0] == "has":
            if atom[1] in partial.absent:
                return False
        elif atom[0] == "types" and not partial.types & atom[1]:  # type: ignore[operator]
            return False
    return True


class Known:
    """What a partial choice says of objects' members, to tell options that are met and those that cannot be."""

    def __init__(self, known: Emptiness, partial: Partial) -> None:
        self._known, self._partial = known, partial
        self._about_objects = partial.types == ir.OBJECT

    def left(self, group: list[Option]) -> list[Option] | None:
        """The options of a group that remain, reduced to what they add; None where one adds nothing."""
        partial = self._partial
        out: dict[Option, None] = {}
        for o in group:
            if not possible(self._known, partial, o):
                continue
            if o[0] <= partial.holds and o[1] <= partial.atoms:
                return None
            if self._about_objects and o[1]:
                atoms = self._reduced(o[1])
                if atoms is None:
                    continue
                if not atoms and o[0] <= partial.holds:
                    return None
                if atoms is not o[1]:
                    o = o[0], atoms
            out[o] = None
        return list(out)

    def _reduced(self, atoms: frozenset[Atom]) -> frozenset[Atom] | None:
        """Atoms without what is known to hold; None where one cannot."""
        partial, known = self._partial, self._known
        out: list[Atom] = []
        for atom in atoms:
            if atom[0] == "absent":
                name = cast(str, atom[1])
                if name in partial.present:
                    return None
                if name not in partial.absent and not known.plainly_empty(self._value(name)):
                    out.append(atom)
            elif atom[0] == "has":
                name = cast(str, atom[1])
                if name in partial.absent:
                    return None
                left = known.left_of_value(self._value(name), cast("frozenset[int]", atom[2]))
                if left is None:
                    return None
                if left or name not in partial.present:
                    out.append(atom if left == atom[2] else ("has", name, left))
            else:
                out.append(atom)
        found = frozenset(out)
        return atoms if found == atoms else found

    def _value(self, name: str) -> frozenset[int]:
        """What the value of a member must be."""
        partial = self._partial
        count, found = partial.values.get(name, (0, _EMPTY))
        if count < len(partial.speaking):
            for i in partial.speaking[count:]:
                asked = self._known.member_value(i, name)
                if asked:
                    found = found | asked if found else asked
            partial.values[name] = len(partial.speaking), found
        asked = partial.has.get(name, _EMPTY)
        return found | asked if asked else found


FOLLOWED = {ir.OBJECT: ("absent", "has", "some"), ir.STRING: ("pattern", "not pattern")}
"""Atoms of which alternatives keep disjunctions, by type."""


def is_simple(o: Option, types: int) -> bool:
    """Whether an option is one atom, about one member of an object or one pattern of a string."""
    return not o[0] and len(o[1]) == 1 and next(iter(o[1]))[0] in FOLLOWED.get(types, ())
