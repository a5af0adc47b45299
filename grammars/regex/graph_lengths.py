"""Lengths of the paths of an automaton, one answer per node.

Where the automaton cannot come back to a node, its lengths are those of its successors and one more. Where it can, the
lengths follow from walking the strongly connected component by layers. So a counted repeat of n costs n nodes once, and
not once for every node.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from ..errors import ResourceLimitError
from ..languages.base import LengthSet
from . import lengths as length_sets

MAX_NODES = 20_000
"""Most nodes that one question looks at."""

Node = TypeVar("Node", bound=Hashable)


class GraphLengths(Generic[Node]):
    """The numbers of steps to acceptance. Not thread-safe.

    Args:
        onward: live nodes one step further.
        ends: lengths contributed at a node itself: `ZERO_ONLY` where a word ends, or those of whatever is not followed
            by `onward`.

    Attributes:
        limit: most nodes that one question looks at; None for `MAX_NODES`.
    """

    def __init__(self, onward: Callable[[Node], Iterable[Node]], ends: Callable[[Node], LengthSet]) -> None:
        self._onward, self._ends = onward, ends
        self.limit: int | None = None
        self._known: dict[Node, LengthSet] = {}
        self._edges: dict[Node, list[Node]] = {}
        self._component: dict[Node, frozenset[Node]] = {}

    def lengths(self, start: Node) -> LengthSet:
        """The lengths from `start`.

        Raises:
            ResourceLimitError: more than `MAX_NODES` nodes, or a component that takes more than `layered` allows.
        """
        known = self._known
        if start in known:
            return known[start]
        if start not in self._component:
            self._find_components(start)
        pending = [start]
        while pending:
            node = pending[-1]
            if node in known:
                pending.pop()
                continue
            component = self._component[node]
            missing = [t for n in component for t in self._edges[n] if t not in known and t not in component]
            if missing:
                pending += missing
            else:
                known[node] = self._solve(node, component)
                pending.pop()
        return known[start]

    def _beyond(self, node: Node, component: frozenset[Node]) -> LengthSet:
        """Lengths by ending at `node` or by leaving the component from there."""
        found = length_sets.NO_LENGTHS
        for target in self._edges[node]:
            if target not in component:
                found = length_sets.union(found, self._known[target])
        return length_sets.union(self._ends(node), length_sets.shift(found, 1))

    def _solve(self, node: Node, component: frozenset[Node]) -> LengthSet:
        if len(component) == 1:
            found = self._beyond(node, component)
            return length_sets.add(length_sets.ALL_LENGTHS, found) if node in self._edges[node] else found
        return length_sets.layered(
            [node],
            lambda at: [target for target in self._edges[at] if target in component],
            lambda at: self._beyond(at, component),
        )

    def _find_components(self, start: Node) -> None:
        """Tarjan's algorithm, for what is reachable from `start` and not known yet."""
        limit = MAX_NODES if self.limit is None else self.limit
        order: dict[Node, int] = {}
        low: dict[Node, int] = {}
        open_nodes: list[Node] = []
        path: list[tuple[Node, int]] = [(start, 0)]
        while path:
            node, at = path.pop()
            if at == 0:
                if len(order) >= limit:
                    reason = f"its lengths take more than {limit} states to find"
                    raise ResourceLimitError("", "pattern", reason, f"states {limit}")
                order[node] = low[node] = len(order)
                open_nodes.append(node)
                self._edges[node] = list(self._onward(node))
            edges = self._edges[node]
            if at:
                low[node] = min(low[node], low[edges[at - 1]])
            for index in range(at, len(edges)):
                target = edges[index]
                if target in self._component:
                    continue
                if target not in order:
                    path += ((node, index + 1), (target, 0))
                    break
                low[node] = min(low[node], order[target])
            else:
                if low[node] == order[node]:
                    members = {open_nodes.pop()}
                    while node not in members:
                        members.add(open_nodes.pop())
                    component = frozenset(members)
                    self._component.update(dict.fromkeys(members, component))
