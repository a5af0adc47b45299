"""Where dynamic references lead: the resources that were entered on the way, as far as they matter.

A `$dynamicRef` leads to the outermost resource, among those entered on the way to it, that has the anchor. So all that
matters of a way is a map from the names of dynamic anchors to where they lead, to which entering a resource adds the
names that are new. There are few such maps, mostly one; a place of the schema is read once for each that reaches it.
The number is exponential in the worst case, hence a limit.
"""

from __future__ import annotations

from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.json_schema.references import References, Scope, Target

MAX_DYNAMIC_SCOPES = 64
"""How many meanings dynamic references may give one place of a schema."""


class DynamicScopes:
    """The dynamic scopes of one schema, numbered. 0 is the one in which only the root resource was entered."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._scopes: list[dict[str, Target]] = []  # empty until asked for: a schema without inner resources never asks
        self._numbers: dict[frozenset[tuple[str, int]], int] = {}
        self._entered: dict[tuple[Scope, int], int] = {}
        self._ways: dict[int, int] = {}

    def anchors(self, number: int) -> dict[str, Target]:
        """Where the dynamic anchors lead in a dynamic scope, by name."""
        if not self._scopes:
            self._number(self._references.dynamic_anchors(self._references.root))
        return self._scopes[number]

    def enter(self, scope: Scope, number: int) -> int:
        """The dynamic scope after entering the resource of `scope`."""
        if scope.dialect.draft < 2019:
            return number
        entered = self._entered.get((scope, number))
        if entered is None:
            outer = self.anchors(number)
            entered = self._number({**self._references.dynamic_anchors(scope), **outer})
            self._entered[scope, number] = entered
        return entered

    def count(self, schema: object, pointer: str) -> None:
        """Counts one more dynamic scope that reaches a place. Raises `ResourceLimitError` beyond the limit."""
        ways = self._ways[id(schema)] = self._ways.get(id(schema), 0) + 1
        if ways > MAX_DYNAMIC_SCOPES:
            raise ResourceLimitError(
                pointer,
                "$dynamicRef",
                "dynamic references lead to too many places by different ways",
                f"MAX_DYNAMIC_SCOPES = {MAX_DYNAMIC_SCOPES}",
            )

    def _number(self, anchors: dict[str, Target]) -> int:
        key = frozenset((name, id(target)) for name, target in anchors.items())
        number = self._numbers.setdefault(key, len(self._scopes))
        if number == len(self._scopes):
            self._scopes.append(anchors)
        return number
