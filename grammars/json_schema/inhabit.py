"""Inhabitation: whether a variable has any value, and how many bytes its shortest text has.

The shortest text is a least fixpoint: a variable is inhabited when some alternative can be written with inhabited
variables only. Only what a value *must* contain is looked at (required members, items up to `minItems`), so optional
parts of a schema cost nothing here. Recursion is solved by relaxation over the variables met, from infinity downwards;
what stays infinite has no finite value. The same number serves two laws: no dead end is ever offered, and a position
knows a bound on its distance to the end.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from constrain.grammars.errors import ResourceLimitError, UnsatisfiableSchemaError
from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.choice import Choice, shortest_values
from constrain.grammars.json_schema.demands import Clause, Room, cheapest
from constrain.grammars.json_schema.distinct import Distinct
from constrain.grammars.json_schema.items import Items, is_tracked
from constrain.grammars.json_schema.keys import KeyClass
from constrain.grammars.json_schema.members import Members, as_names
from constrain.grammars.json_schema.normal import (
    ANYTHING,
    ArrayAlternative,
    Lacks,
    NormalForm,
    ObjectAlternative,
    StringAlternative,
    Variable,
)
from constrain.grammars.json_schema.repetition import Repetition
from constrain.grammars.json_schema.text_distance import PLAIN_SPELLING, Spelling, plain_characters, text_distance
from constrain.grammars.json_schema.texts import texts_of
from constrain.grammars.languages.base import TextLanguage
from constrain.grammars.languages.number import number_language
from constrain.grammars.languages.number_constraint import NumberConstraint

INFINITE = math.inf
MAX_NAMES = 500
"""Beginnings of names looked at to find one that is not declared."""
MAX_WEIGHED = 8
"""Branches of a choice that are weighed to find a short one."""
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


@dataclass(slots=True)
class _Parts:
    """What an object alternative, which is kept with it, asks of its members."""

    alternative: ObjectAlternative
    members: Members
    declared: dict[str, Variable]
    free: dict[frozenset[int], Variable]
    classes: dict[frozenset[int], KeyClass]
    clauses: tuple[Clause, ...] | None


class Inhabitation:
    """Shortest texts of the variables of one document, computed on demand and kept.

    `gap` is the number of blanks that have to follow each comma and colon.
    """

    def __init__(self, forms: NormalForm, spelling: Spelling = PLAIN_SPELLING, gap: int = 0) -> None:
        self._forms = forms
        self.spelling, self.gap = spelling, gap
        self._shortest: dict[Variable, float] = {ANYTHING: 1}
        self._quick: dict[Variable, float] = {ANYTHING: 0}  # 0: it has a value, infinite: none
        self._inhabited_parts: dict[int | None, Variable | None] = {None: ANYTHING}  # by subschema; None: no value
        self._lacking: dict[Variable, set[Variable]] = {}  # of variables without a value, the parts that have none
        self._new_names: dict[tuple[int, frozenset[int]], tuple[Members, int]] = {}  # bytes of the shortest one
        self._parts: dict[int, _Parts] = {}  # by address of the alternative
        self.distinct = Distinct(forms)

    def shortest(self, variable: Variable) -> float:
        """Bytes of the shortest text of the variable; infinite when it has no value."""
        found = self._shortest.get(variable)
        if found is None:
            self._shortest.update(self._relax(variable, self._shortest, any_value=False))
            found = self._shortest[variable]
        return found

    def inhabited(self, variable: Variable) -> bool:
        """Whether the variable has a value, by the cheapest sufficient look."""
        found = self._quick.get(variable)
        if found is None:
            if self._forms.evidently_has_value(variable):
                found = 0
            elif not self._forms.types(variable):
                found = INFINITE
            else:
                found = 0 if self._obviously(variable) else self._exists(variable)
            self._quick[variable] = found
        return found == 0

    def parts(self, indices: Iterable[int | None]) -> list[Variable | None]:
        """The variables of these subschemas, None where there is no value; a subschema None stands for any value."""
        known = self._inhabited_parts
        return [known[i] if i in known else self._part(i) for i in indices]

    def count_sought(self, indices: Iterable[int]) -> int:
        """Of how many of these subschemas `parts` would have to look for a value."""
        known, evident = self._inhabited_parts, self._forms.is_evident
        return sum(i not in known and not evident(i) for i in indices)

    def _part(self, index: int | None) -> Variable | None:
        assert index is not None
        variable = self._forms.closure(index)
        part = self._inhabited_parts[index] = variable if self.inhabited(variable) else None
        return part

    def _exists(self, variable: Variable) -> float:
        estimate = self._relax(variable, self._quick, any_value=True)
        has_value = estimate[variable] == 0
        # Where there is a value it was not looked further, so what is infinite then may not be settled.
        self._quick.update((v, cost) for v, cost in estimate.items() if cost == 0 or not has_value)
        return estimate[variable]

    def _relax(self, variable: Variable, known: dict[Variable, float], *, any_value: bool) -> dict[Variable, float]:
        """Costs of a variable and all that they depend on, from infinity downwards.

        With `any_value` every value costs nothing, and the search ends once the variable has one.
        """
        forms = self._forms
        estimate: dict[Variable, float] = {}
        users: dict[Variable, set[Variable]] = {}
        pending: deque[Variable] = deque()
        waiting: set[Variable] = set()

        def meet(v: Variable) -> None:
            """Estimate a variable by what needs no other one; what is left to look at waits."""
            if any_value:
                estimate[v] = 0 if self._obviously(v) or self._scalar_cost(v, True) < INFINITE else INFINITE
            else:
                estimate[v] = self._scalar_cost(v, False)
            if forms.types(v) & (ir.OBJECT | ir.ARRAY) and not (any_value and estimate[v] == 0):
                pending.append(v)
                waiting.add(v)

        meet(variable)
        while pending:
            v = pending.pop()
            waiting.discard(v)

            def cost(part: Variable, user: Variable = v) -> float:
                found = known.get(part)
                if found is not None:
                    return found
                users.setdefault(part, set()).add(user)
                if part not in estimate:
                    meet(part)
                return estimate[part]

            better = self._container_cost(v, cost, any_value)
            if any_value and better < INFINITE:
                better = 0
            if better < estimate[v]:
                estimate[v] = better
                if any_value and v == variable:
                    return estimate
                again = [u for u in users.get(v, ()) if u not in waiting]
                pending.extendleft(again)  # after the parts that are yet to be looked at
                waiting.update(again)
        for part, asking in users.items():
            for v in asking if estimate[part] == INFINITE else ():
                if estimate[v] == INFINITE:
                    self._lacking.setdefault(v, set()).add(part)
        return estimate

    def _obviously(self, variable: Variable, depth: int = 3) -> bool:
        """Whether a simple value plainly is valid, without looking at languages."""
        forms = self._forms
        types = forms.types(variable)
        if types & ir.STRING:
            for s in forms.strings(variable):
                if s.values is not None or _is_plain(s):
                    return True
        if types & (ir.NULL | ir.BOOLEAN):
            atoms = forms.atoms(variable)
            if atoms.null or atoms.booleans:
                return True
        if types & ir.ARRAY and any(a.minimum == 0 and not a.contains for a in forms.arrays(variable)):
            return True
        if not types & ir.OBJECT:
            return False
        choice = forms.choice(variable)
        if choice is not None and any(map(forms.is_deferred, choice.branches.values())):
            return True
        # A value shows in the first alternatives mostly, and who asks may not need the others.
        return any(self._plainly_written(o, depth) for o in forms.first_objects(variable)) or any(
            self._plainly_written(o, depth) for o in forms.objects(variable)
        )

    def _plainly_written(self, o: ObjectAlternative, depth: int) -> bool:
        """Whether an object of just the required members plainly is valid."""
        if o.minimum > len(o.required) or (o.required and depth == 0):
            return False
        for clause in o.clauses:
            if not any(isinstance(demand, Lacks) and demand.name not in o.required for demand in clause):
                return False
        for name in o.required:
            part = self._forms.member(o, name)
            if part is None:
                return False
            if self._quick.get(part) != 0:
                if not (self._forms.evidently_has_value(part) or self._obviously(part, depth - 1)):
                    return False
                self._quick[part] = 0  # many members are alike
        return True

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

    def _scalar_cost(self, variable: Variable, any_value: bool) -> float:
        """Bytes of the shortest value that is no container, or of the first that is found."""
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
                if any_value and number_language(number).start:
                    return 0
                best = min(best, number_bytes(number))
        if types & ir.STRING and not (any_value and best < INFINITE):
            for s in forms.strings(variable):
                try:
                    texts = texts_of(s)
                except ResourceLimitError as error:
                    place = error.pointer or forms.pointer(variable)
                    raise ResourceLimitError(place, error.keyword, error.reason, error.limit) from None
                if any_value:
                    if not texts.empty:
                        return 0
                    continue
                best = min(best, 2 + text_distance(texts.language, None, texts.low, texts.high, self.spelling))
        return best

    def _container_cost(self, variable: Variable, cost: Cost, any_value: bool) -> float:
        """Cost of the cheapest array or object, or of the first that is found."""
        best = INFINITE
        forms = self._forms
        types = forms.types(variable)
        if types & ir.ARRAY:
            for a in forms.arrays(variable):
                best = min(best, self._array_cost(a, cost, any_value))
                if any_value and best < INFINITE:
                    return best
        choice = forms.choice(variable) if types & ir.OBJECT else None
        if choice is not None:
            best = min(best, self._choice_cost(choice, cost, any_value))
        elif types & ir.OBJECT and not (any_value and best < INFINITE):
            for o in forms.objects(variable):
                best = min(best, self._object_cost(o, cost, any_value))
                if any_value and best < INFINITE:
                    return best
        return best

    def spelled(self, text: bytes) -> int:
        """Bytes of the shortest spelling of a text."""
        return sum(self.spelling[b] for b in text)

    def _choice_cost(self, choice: Choice, cost: Cost, any_value: bool) -> float:
        """The cheapest of those alternatives of a choice that are weighed, or the first that has a value."""
        values = sorted((value.encode("utf-8", "surrogatepass"), branch) for value, branch in choice.branches.items())
        best, weighed = INFINITE, 0
        for position in shortest_values(values, self.spelled):
            part = self._forms.variable((values[position][1],))
            if any_value:
                best = cost(part)
                if best < INFINITE:
                    break
            elif self.inhabited(part):
                best = min(best, cost(part))
                weighed += 1
                if weighed == MAX_WEIGHED:
                    break
        return best

    def _object_cost(self, o: ObjectAlternative, cost: Cost, any_value: bool, *, as_items: bool = False) -> float:
        """Bytes of the shortest object; with `as_items`, of the array whose items are the names."""
        if o.maximum is not None and o.maximum < o.minimum:
            return INFINITE
        parts = self._parts.get(id(o))
        if parts is None:
            parts = self._parts[id(o)] = self._new_parts(o)
        if parts.clauses is None:
            return INFINITE
        room = Room(
            parts.declared,
            parts.free,
            o.required,
            o.minimum,
            o.maximum,
            # The gap after a comma is counted with the value.
            (lambda _: self.gap) if as_items else lambda part: 1 + 2 * self.gap + cost(part),
            lambda name: key_bytes(name, self.spelling),
            # How long a free name is takes a search; to tell that there is one it does not matter.
            (lambda _, k: 2 + k)
            if any_value
            else lambda c, k: 2 + self.free_lengths(parts.members, c, parts.classes[c].shortest, k + 1)[k],
        )
        total = cheapest(room, parts.clauses, any_plan=any_value)
        return 2 + max(0.0, total - 1 - self.gap)

    def _new_parts(self, o: ObjectAlternative) -> _Parts:
        members = Members(self._forms, [o])
        bare = not o.clauses and o.minimum <= len(o.required)  # nothing but what is required matters
        names = o.required if bare else members.names
        declared = {n: part for n in names if (part := self._forms.member(o, n)) is not None}
        parts = _Parts(o, members, declared, {}, {}, ())
        for c in () if bare else members.free:
            value = members.free_value(o, c.members)
            if value is not None:
                parts.free[c.members], parts.classes[c.members] = value, c
        parts.clauses = members.clauses(o, declared, parts.free, lambda _: True) if o.clauses else ()
        return parts

    def free_lengths(self, members: Members, key_class: frozenset[int], shortest: int, count: int) -> list[int]:
        """Bytes that suffice for each of `count` different free names of a class."""
        if not members.components:
            return free_names((n.encode() for n in members.names), count, self.spelling)
        key = (id(members), key_class)
        if key not in self._new_names:
            first = shortest
            taken = {n.encode() for n in members.names}
            language = next(c.language for c in members.classes if c.members == key_class)
            if any(len(name) == shortest and language.matches(name) for name in taken):
                first = self._new_name(language, taken, shortest)
            self._new_names[key] = members, first
        first = self._new_names[key][1]
        return [first + 2 * i for i in range(count)]

    def _new_name(self, language: TextLanguage, taken: set[bytes], shortest: int) -> int:
        """Bytes of a name of a class that is not declared, by a bounded search."""
        queue = deque([(language.start, b"")])
        for _ in range(MAX_NAMES):
            if not queue:
                break
            state, text = queue.popleft()
            if language.accepting(state) and text not in taken:
                return sum(self.spelling[b] for b in text)
            seen = set()
            leads = any(t.startswith(text) for t in taken)
            row = language.row(state).tolist()
            for byte in range(0x23, 0x7F):
                to = row[byte]
                if to and byte != 0x5C and (to not in seen or leads):
                    seen.add(to)
                    queue.append((to, text + bytes((byte,))))
        return 12 * (shortest + 1 + len(taken))

    def _array_cost(self, a: ArrayAlternative, cost: Cost, any_value: bool) -> float:
        names = as_names(self._forms, a) if a.unique else None
        if names is not None:
            return self._object_cost(names, cost, any_value, as_items=True)
        if a.repeated:
            items = Items(self._forms, a)
            return Repetition(self._forms, items, lambda part: cost(part) < INFINITE).cost(cost)
        tracked = is_tracked(self._forms, a)
        if a.unique and tracked and not self.distinct.feasible(a):
            return INFINITE
        if a.contains or (a.unique and not tracked):
            return Items(self._forms, a).cost(cost, self.gap)
        if a.maximum is not None and a.maximum < a.minimum:
            return INFINITE
        total = 2.0 + max(0, a.minimum - 1) * (1 + self.gap)
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
            empty = [p for p in self._lacking.get(variable, ()) if p not in seen and not self.inhabited(p)]
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
    return not (s.patterns or s.formats or s.not_patterns or s.not_formats or s.not_values or s.either)
