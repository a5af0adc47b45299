"""Inhabitation: whether a variable has any value, and how many bytes its shortest text has.

The shortest text is a least fixpoint: a variable is inhabited when some alternative can be written with inhabited
variables only. Only what a value *must* contain is looked at (required members, items up to `minItems`), so optional
parts of a schema cost nothing here. Recursion is solved by relaxation over the variables met, from infinity downwards;
what stays infinite has no finite value. The same number serves two laws: no dead end is ever offered, and a position
knows a bound on its distance to the end.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from heapq import nsmallest

from constrain.grammars.errors import UnsatisfiableSchemaError
from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.distinct import Distinct
from constrain.grammars.json_schema.items import Items, is_tracked
from constrain.grammars.json_schema.members import Members, Variant, as_names
from constrain.grammars.json_schema.normal import ANYTHING, ArrayAlternative, NormalForm, StringAlternative, Variable
from constrain.grammars.json_schema.text_distance import PLAIN_SPELLING, Spelling, plain_characters, text_distance
from constrain.grammars.json_schema.texts import text_language
from constrain.grammars.languages.number import number_language
from constrain.grammars.languages.number_constraint import NumberConstraint

INFINITE = math.inf
Cost = Callable[[Variable], float]


def free_names(taken: Iterable[bytes], count: int, spelling: Spelling, prefix: bytes = b"") -> list[int]:
    """Bytes to add to `prefix` for each of the `count` shortest names that are not taken; fewest first.

    Names are counted over the printable characters of ASCII that are written as they are. `taken` may hold a name
    twice, which uses up two of its length.
    """
    lengths = Counter(len(t) - len(prefix) for t in taken if t.startswith(prefix))
    out: list[int] = []
    plain = max(2, plain_characters(spelling))
    length, room = 0, 1
    while len(out) < count:
        available = max(0, room - lengths[length])
        out += [length] * min(available, count - len(out))
        length, room = length + 1, room * plain
    return out


def key_bytes(name: str, spelling: Spelling) -> int:
    """Bytes of the shortest spelling of a member's name, with its quotes."""
    return 2 + sum(spelling[b] for b in name.encode("utf-8", "surrogatepass"))


class Inhabitation:
    """Shortest texts of the variables of one document, computed on demand and kept."""

    def __init__(self, forms: NormalForm, spelling: Spelling = PLAIN_SPELLING) -> None:
        self._forms = forms
        self.spelling = spelling
        self._shortest: dict[Variable, float] = {ANYTHING: 1}
        self._quick: dict[Variable, bool] = {ANYTHING: True}
        self._settled: dict[Variable, list[tuple[Members, Variant]]] = {}
        self.distinct = Distinct(forms)

    def shortest(self, variable: Variable) -> float:
        """Bytes of the shortest text of the variable; infinite when it has no value."""
        found = self._shortest.get(variable)
        if found is not None:
            return found
        # All variables that the answer can depend on.
        needs: dict[Variable, set[Variable]] = {}
        todo = [variable]
        while todo:
            v = todo.pop()
            if v in needs or v in self._shortest:
                continue
            needs[v] = self._must_contain(v)
            todo.extend(needs[v])
        estimate: dict[Variable, float] = dict.fromkeys(needs, INFINITE)
        users: dict[Variable, list[Variable]] = {}
        for v, parts in needs.items():
            for part in parts:
                users.setdefault(part, []).append(v)
        pending = dict.fromkeys(needs)
        while pending:
            v, _ = pending.popitem()
            better = self._evaluate(v, estimate)
            if better < estimate[v]:
                estimate[v] = better
                pending.update(dict.fromkeys(users.get(v, ())))
        self._shortest.update(estimate)
        return self._shortest[variable]

    def inhabited(self, variable: Variable) -> bool:
        """Whether the variable has a value, by the cheapest sufficient look."""
        found = self._quick.get(variable)
        if found is None:
            found = self._obviously(variable) or self.shortest(variable) < INFINITE
            self._quick[variable] = found
        return found

    def _obviously(self, variable: Variable) -> bool:
        """Whether one of the simple types plainly has a value, without looking at languages."""
        forms = self._forms
        types = forms.types(variable)
        if types & ir.STRING:
            for s in forms.strings(variable):
                if s.values is not None or _is_plain(s):
                    return True
        if types & (ir.NULL | ir.BOOLEAN):
            atoms = forms.atoms(variable)
            return atoms.null or bool(atoms.booleans)
        return False

    def required_length(self, alternative: ArrayAlternative) -> int:
        """The largest number of items the array can have before an uninhabited position, or its maximum."""
        for k, part in enumerate(alternative.prefix):
            if alternative.maximum is not None and k >= alternative.maximum:
                return alternative.maximum
            if not self.inhabited(part):
                return k
        if alternative.items is None or not self.inhabited(alternative.items):
            length = len(alternative.prefix)
            return length if alternative.maximum is None else min(length, alternative.maximum)
        return 1 << 60 if alternative.maximum is None else alternative.maximum

    def _must_contain(self, variable: Variable) -> set[Variable]:
        parts: set[Variable] = set()
        types = self._forms.types(variable)
        if types & ir.OBJECT:
            for members, v in self._variants(variable):
                o = v.alternative
                parts.update(p for p in (self._forms.member(o, r) for r in o.required) if p is not None)
                for some in v.some:
                    for c in some.classes:
                        base = members.free_value(o, c)
                        if base is not None:
                            parts.add(base | some.value)
                if o.minimum > len(o.required):
                    parts.update(p for p in (self._forms.member(o, n) for n in members.names) if p is not None)
                    parts.update(p for p in (members.free_value(o, c.members) for c in members.free) if p is not None)
        if types & ir.ARRAY:
            for a in self._forms.arrays(variable):
                if a.contains or (a.unique and as_names(self._forms, a) is None and not is_tracked(self._forms, a)):
                    parts.update(Items(self._forms, a).parts())
                parts.update(a.prefix[: a.minimum])
                if a.minimum > len(a.prefix) and a.items is not None:
                    parts.add(a.items)
        return parts

    def _variants(self, variable: Variable) -> list[tuple[Members, Variant]]:
        found = self._settled.get(variable)
        if found is None:
            found = []
            for a in self._forms.objects(variable):
                members = Members(self._forms, [a])
                found += [(members, v) for v in members.variants(a)]
            self._settled[variable] = found
        return found

    def _evaluate(self, variable: Variable, estimate: dict[Variable, float]) -> float:
        def cost(part: Variable) -> float:
            known = self._shortest.get(part)
            return estimate.get(part, INFINITE) if known is None else known

        best = INFINITE
        forms = self._forms
        types = forms.types(variable)
        if types & (ir.NULL | ir.BOOLEAN | ir.NUMBER):
            atoms = forms.atoms(variable)
            if atoms.null:
                best = min(best, 4)
            for b in atoms.booleans:
                best = min(best, 4 if b else 5)
            for number in atoms.numbers:
                best = min(best, number_bytes(number))
        if types & ir.STRING:
            for s in forms.strings(variable):
                best = min(best, 2 + text_distance(text_language(s), None, s.minimum, s.maximum, self.spelling))
        if types & ir.OBJECT:
            for members, v in self._variants(variable):
                best = min(best, self._object_cost(members, v, cost))
        if types & ir.ARRAY:
            for a in forms.arrays(variable):
                best = min(best, self._array_cost(a, cost))
        return best

    def _object_cost(self, members: Members, variant: Variant, cost: Cost) -> float:
        o = variant.alternative
        count = len(o.required) + len(variant.some)
        if o.maximum is not None and o.maximum < max(o.minimum, count):
            return INFINITE
        total = 2.0
        for name in o.required:
            part = self._forms.member(o, name)
            if part is None:
                return INFINITE
            total += key_bytes(name, self.spelling) + 1 + cost(part)
        free = {}
        for c in members.free:
            value = members.free_value(o, c.members)
            if value is not None:
                free[c.members] = (c.shortest, value)
        for k, some in enumerate(variant.some):
            total += min(
                (
                    self.free_lengths(members, shortest, k + 1)[k] + 3 + cost(value | some.value)
                    for c, (shortest, value) in free.items()
                    if c in some.classes
                ),
                default=INFINITE,
            )
        extra = o.minimum - count
        if extra > 0:
            options = []
            for name in members.names:
                part = None if name in o.required else self._forms.member(o, name)
                if part is not None:
                    options.append(key_bytes(name, self.spelling) + 1 + cost(part))
            for shortest, value in free.values():
                lengths = self.free_lengths(members, shortest, len(variant.some) + extra)[len(variant.some) :]
                options += [n + 3 + cost(value) for n in lengths]
            chosen = [c for c in nsmallest(extra, options) if c < INFINITE]
            if len(chosen) < extra:
                return INFINITE
            total += sum(chosen)
        return total + max(0, max(o.minimum, count) - 1)

    def free_lengths(self, members: Members, shortest: int, count: int) -> list[int]:
        """Bytes that suffice for each of `count` different free names of a class."""
        if not members.components:
            return free_names((n.encode() for n in members.names), count, self.spelling)
        return [shortest + 2 * i for i in range(count)]

    def _array_cost(self, a: ArrayAlternative, cost: Cost) -> float:
        names = as_names(self._forms, a) if a.unique else None
        if names is not None:
            # As a member's name each has a colon and a value of one byte besides.
            return self._object_cost(Members(self._forms, [names]), Variant(names, ()), cost) - 2 * a.minimum
        tracked = is_tracked(self._forms, a)
        if a.unique and tracked and not self.distinct.feasible(a):
            return INFINITE
        if a.contains or (a.unique and not tracked):
            return Items(self._forms, a).cost(cost)
        if a.maximum is not None and a.maximum < a.minimum:
            return INFINITE
        total = 2.0 + max(0, a.minimum - 1)
        for part in a.prefix[: a.minimum]:
            total += cost(part)
        rest = a.minimum - len(a.prefix)
        if rest > 0:
            total += INFINITE if a.items is None else rest * cost(a.items)
        return total

    # ---- explanation -------------------------------------------------------------------------------------------------

    def require(self, variable: Variable) -> None:
        """Raise `UnsatisfiableSchemaError`, naming the innermost culprit, where the variable has no value."""
        if self.inhabited(variable):
            return
        seen: set[Variable] = set()
        while True:
            seen.add(variable)
            empty = [p for p in self._must_contain(variable) if p not in seen and not self.inhabited(p)]
            if len(empty) != 1:
                break
            variable = empty[0]
        raise UnsatisfiableSchemaError(
            self._forms.pointer(variable), "", "no value is valid here, and the value cannot be left out"
        )


def number_bytes(constraint: NumberConstraint) -> float:
    """Bytes of the shortest text of a number under the constraint; infinite when there is none."""
    language = number_language(constraint)
    return language.shortest(language.start) if language.start else INFINITE


def _is_plain(s: StringAlternative) -> bool:
    """Whether only the number of code points of a string is bounded."""
    return not (s.patterns or s.formats or s.not_patterns or s.not_formats or s.not_values)
