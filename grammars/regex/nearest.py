"""Distance to acceptance in an automaton that is built while it is searched.

How far acceptance is comes from one A* search per question. Every answer is kept: a way found settles all nodes along
it, a search that ends without one settles all it met, so the searches of a lifetime together cost about as much as the
nodes they meet. Of the other nodes that a search has left behind it tells that they are no nearer than the way it
found allows, which later searches start from (Koenig and Likhachev, "Adaptive A*", AAMAS 2005).

Whether there is any way at all is mostly found sooner by going where acceptance seems nearest, whatever the way so far.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from ..errors import ResourceLimitError

MAX_SEARCH = 10_000
"""Most nodes that a search looks at whose answer decides whether a language can be used at all."""
GREEDY_SEARCH = 256
"""Most nodes that are looked at for any way, before it is the nearest that is looked for."""
MAX_LATER_SEARCH = 1_000_000
"""Most nodes that a search looks at in a language in use: it should rather be slow than fail."""

Node = TypeVar("Node", bound=Hashable)


class Nearest(Generic[Node]):
    """Fewest bytes from a node to acceptance. Not thread-safe.

    Args:
        edges: nodes one step further, with the bytes the step takes.
        accepts: whether the bytes may end at a node.
        bound: no fewer bytes than this lead to acceptance; may not drop by more than an edge costs.
        subject: completes the message "whether … takes more than N states to decide".
        rank: among nodes that promise as much, those of the least rank come first.

    Attributes:
        limit: most nodes of one search; None for `MAX_SEARCH`.
    """

    def __init__(
        self,
        edges: Callable[[Node], Iterable[tuple[Node, int]]],
        accepts: Callable[[Node], bool],
        bound: Callable[[Node], int],
        subject: str,
        rank: Callable[[Node], int] | None = None,
    ) -> None:
        self._edges, self._accepts, self._bound, self._subject = edges, accepts, bound, subject
        self._rank = rank
        self.limit: int | None = None
        self._known: dict[Node, int | None] = {}
        self._alive: set[Node] = set()  # there is a way from these
        self._bounds: dict[Node, int] = {}

    def settle(self, node: Node, distance: int | None) -> None:
        """Tell the distance of a node that is known without a search."""
        self._known[node] = distance

    def known(self, node: Node) -> int | None:
        """The distance of a node where it was found already and there is a way; None else."""
        return self._known.get(node)

    def lives(self, start: Node) -> bool:
        """Whether there is a way to acceptance. Raises as `distance`."""
        known, alive = self._known, self._alive
        if start in known:
            return known[start] is not None
        if start in alive:
            return True
        came_from: dict[Node, Node | None] = {start: None}
        queue: list[tuple[int, int, int, Node]] = [(0, 0, 0, start)]
        rank = self._rank
        ticket = 0
        while queue:
            at = heapq.heappop(queue)[3]
            if self._accepts(at) or at in alive or known.get(at) is not None:
                node: Node | None = at
                while node is not None:
                    alive.add(node)
                    node = came_from[node]
                return True
            if len(came_from) > GREEDY_SEARCH:
                return self.distance(start) is not None
            for target, _ in self._edges(at):
                if target not in came_from and known.get(target, 0) is not None:
                    came_from[target] = at
                    ticket -= 1
                    heapq.heappush(queue, (self._least(target), 0 if rank is None else rank(target), ticket, target))
        for dead in came_from:
            known[dead] = None
        return False

    def _least(self, node: Node) -> int:
        found = self._bounds.get(node)
        if found is None:
            found = self._bounds[node] = self._bound(node)
        return found

    def distance(self, start: Node) -> int | None:
        """Fewest bytes to acceptance; None when there is no way.

        Raises:
            ResourceLimitError: the search met more than `MAX_SEARCH` nodes, or than `limit`.
        """
        known = self._known
        if start in known:
            return known[start]
        cost: dict[Node | None, int] = {start: 0}
        came_from: dict[Node | None, Node] = {}
        # Estimate, order among equals (the goal before all), the latest first among those, cost, node.
        queue: list[tuple[int, int, int, int, Node | None]] = [(0, 0, 0, 0, start)]
        limit = MAX_SEARCH if self.limit is None else self.limit
        rank = self._rank
        done: set[Node] = set()
        bounds = self._bounds
        ticket = 0
        while queue:
            _, _, _, so_far, at = heapq.heappop(queue)
            if at is None:
                node: Node | None = None
                while node != start:
                    node = came_from[node]
                    known[node] = so_far - cost[node]
                for left in done:
                    if so_far - cost[left] > bounds.get(left, 0):
                        bounds[left] = so_far - cost[left]
                return so_far
            if at in done:
                continue
            done.add(at)
            if len(done) > limit:
                reason = f"whether {self._subject} takes more than {limit} states to decide"
                raise ResourceLimitError("", "pattern", reason, f"search {limit}")
            onward: list[tuple[Node | None, int, int]] = []
            if self._accepts(at):
                onward.append((None, so_far, so_far))
            else:
                for target, step in self._edges(at):
                    reached = so_far + step
                    if target in known:
                        rest = known[target]
                        if rest is not None:
                            onward.append((None, reached + rest, reached + rest))
                    else:
                        onward.append((target, reached, reached + self._least(target)))
            for goal, reached, estimate in onward:
                if reached < cost.get(goal, reached + 1):
                    cost[goal] = reached
                    came_from[goal] = at
                    ticket -= 1
                    order = -1 if goal is None else 0 if rank is None else rank(goal)
                    heapq.heappush(queue, (estimate, order, ticket, reached, goal))
        for dead in done:
            known[dead] = None
        return None
