"""Whether signed subschemas plainly leave a value nothing to be, and what some of them add to others."""

from __future__ import annotations

from typing import NamedTuple

from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.disjoint import MAX_TESTED, Disjointness
from constrain.grammars.json_schema.ir import Subschema
from constrain.grammars.json_schema.literals import says_nothing, type_of
from constrain.grammars.json_schema.sameness import Sameness
from constrain.grammars.json_schema.values import identity

_EMPTY: frozenset[int] = frozenset()


class _Refusal(NamedTuple):
    """What plainly follows where a subschema does not hold: the types left, or which values, if of some types, are not.

    Of its values it is known only what tells them apart; None where more than those is asked.
    """

    types: int
    values: frozenset[object] | None
    value_types: int


class _Summary(NamedTuple):
    """What signed subschemas ask of a value: its types, none where they contradict each other; those that hold; the
    values that are plainly refused, by the types that values of must be for that; and the others that do not hold."""

    types: int
    positive: list[int]
    refused: dict[int, frozenset[object]]
    others: list[int]


_NO_REFUSAL = _Refusal(ir.ANY_TYPE, None, 0)
_NO_VALUES: frozenset[object] = frozenset()
_Refusing = tuple[list[tuple[int, frozenset[object]]], list[int]]
"""Values that are refused if of some types, and signed subschemas that may refuse others."""
_NO_SUMMARY = _Summary(ir.ANY_TYPE, [], {}, [])


class Emptiness(Disjointness):
    """What is known of sets of signed subschemas that are to hold together."""

    def __init__(self, subschemas: list[Subschema], *, ordered: bool = False) -> None:
        super().__init__(subschemas, ordered=ordered)
        self._empty: dict[frozenset[int], bool] = {}
        self._left: dict[tuple[frozenset[int], frozenset[int]], frozenset[int] | None] = {}
        self._refusals: dict[int, _Refusal] = {}  # by the signed number of what must not hold
        self._few_values: dict[frozenset[int], frozenset[object] | None] = {}
        self._summaries: dict[frozenset[int], _Summary] = {}
        self._sameness = Sameness(subschemas)

    def left_of_value(self, known: frozenset[int], asked: frozenset[int]) -> frozenset[int] | None:
        """What some signed subschemas add to what is `known` of a value; None where it plainly has no value then."""
        key = known, asked
        if key not in self._left:
            self._left[key] = self._find_left(known, asked)
        return self._left[key]

    def _find_left(self, known: frozenset[int], asked: frozenset[int]) -> frozenset[int] | None:
        added = _EMPTY.union(*map(self.closure, asked))
        if len(added) == 1:
            (signed,) = added
            refusal = self._refusal_of(signed) if signed < 0 else _NO_REFUSAL
            if refusal.values is not None and not self._summary(known).types & ~refusal.value_types:
                values = self._values_of(known)
                if values is not None:  # one of a few values is not to be one of others
                    if values <= refusal.values:
                        return None
                    return _EMPTY if values.isdisjoint(refusal.values) else added - known
        if self.plainly_empty(known | added, known):
            return None
        return frozenset(i for i in added if i not in known and not self._is_implied(known, i))

    def _is_implied(self, known: frozenset[int], signed: int) -> bool:
        return signed < 0 and self.plainly_empty(known | self.closure(~signed), known)

    def plainly_empty(self, signed: frozenset[int], known: frozenset[int] = _EMPTY) -> bool:
        """Whether no value can have all these signed subschemas hold, as far as a quick look tells.

        `known` are some of them that are asked about time and again, with others.
        """
        found = self._empty.get(signed)
        if found is None:
            self._empty[signed] = False  # where it depends on itself
            found = self._empty[signed] = self._looks_empty(signed, known)
        return found

    def _looks_empty(self, signed: frozenset[int], known: frozenset[int]) -> bool:
        summary = self._summary(known)
        if len(signed) > len(known):
            summary = self._joined(summary, signed - known, signed)
        types, positive = summary.types, summary.positive
        if not types:
            return True
        if any(self._listed(i, types) is not None for i in positive):
            return self._lists_nothing(summary)
        if any(self._sameness.same(a, ~b) for b in summary.others for a in positive):
            return True
        return len(positive) > 1 and any(
            self.disjoint_sets(frozenset((a,)), frozenset((b,)), types, 2)
            for k, a in enumerate(positive)
            for b in positive[k + 1 :]
        )

    def _summary(self, signed: frozenset[int]) -> _Summary:
        found = self._summaries.get(signed)
        if found is None:
            found = self._summaries[signed] = self._joined(_NO_SUMMARY, signed, signed)
        return found

    def _joined(self, summary: _Summary, added: frozenset[int], signed: frozenset[int]) -> _Summary:
        """A summary with some more signed subschemas, so that it is one of `signed`."""
        types, positive, others = summary.types, [*summary.positive], [*summary.others]
        refused = summary.refused
        for i in added:
            if ~i in signed:
                types = 0
            if i >= 0:
                types &= self.types(i)
                positive.append(i)
                continue
            refusal = self._refusal_of(i)
            types &= refusal.types
            if refusal.values is not None:
                before = refused.get(refusal.value_types, _NO_VALUES)
                refused = {**refused, refusal.value_types: before | refusal.values}
            elif refusal.types == ir.ANY_TYPE:
                others.append(i)
        return _Summary(types, positive, refused, others)

    def _refusal_of(self, signed: int) -> _Refusal:
        found = self._refusals.get(signed)
        if found is None:
            found = self._refusals[signed] = self._refusal(~signed)
        return found

    def _refusal(self, index: int) -> _Refusal:
        s = self._subschemas[index]
        if says_nothing(s) and not s.all_of:
            return _Refusal(0, None, 0)
        if self.asks_only(index, values=False):
            return _Refusal(~s.types if s.integral_fraction else ~(s.types & ~ir.NUMBER), None, 0)
        if s.values is None or not s.integral_fraction or not self.asks_only(index, values=True):
            return _Refusal(ir.ANY_TYPE, None, 0)
        return _Refusal(ir.ANY_TYPE, frozenset(map(identity, s.values)), s.types)

    def _lists_nothing(self, summary: _Summary) -> bool:
        """Whether no value is left of those that some list and that the others plainly do not refuse."""
        left, shortest, refusing = self._listed_by(summary)
        if not left or len(shortest) > MAX_TESTED:
            return not left
        return not any(self._is_left(v, left, summary.types, refusing) for v in shortest)

    def _values_of(self, known: frozenset[int]) -> frozenset[object] | None:
        """What tells apart the few values that are left where some are listed; None where there may be others."""
        if known not in self._few_values:
            self._few_values[known] = self._find_values_of(self._summary(known))
        return self._few_values[known]

    def _find_values_of(self, summary: _Summary) -> frozenset[object] | None:
        types = summary.types
        if not types:
            return _NO_VALUES
        if not any(self._listed(i, types) is not None for i in summary.positive):
            return None
        left, shortest, refusing = self._listed_by(summary)
        if not left or len(shortest) > MAX_TESTED:
            return None if left else _NO_VALUES
        return frozenset(identity(v) for v in shortest if self._is_left(v, left, types, refusing))

    def _listed_by(self, summary: _Summary) -> tuple[frozenset[object], list[object], _Refusing]:
        """What tells apart the values that all list, the shortest of the lists, and what else may refuse them."""
        types, others = summary.types, [*summary.others]
        left: frozenset[object] | None = None
        shortest: list[object] = []
        for i in summary.positive:
            listed = self.listed_identities(i, types)
            if listed is None:
                others.append(i)
                continue
            if self._subschemas[i].pattern is not None:
                others.append(i)
            values = self._listed(i, types) or []
            if left is None or len(values) < len(shortest):
                shortest = values
            left = listed if left is None else left & listed
        partly = []  # refused only if of types that are not all there is
        for value_types, refused in summary.refused.items() if left else ():
            if types & ~value_types:
                partly.append((value_types, refused))
            else:
                left = (left or _NO_VALUES) - refused
        return left or _NO_VALUES, shortest, (partly, others)

    def _is_left(self, value: object, left: frozenset[object], types: int, refusing: _Refusing) -> bool:
        kind, key = type_of(value), identity(value)
        if not kind & types or key not in left:
            return False
        partly, others = refusing
        is_refused = any(kind & t and key in refused for t, refused in partly)
        return not is_refused and all(self.may_hold(i, value) for i in others)
