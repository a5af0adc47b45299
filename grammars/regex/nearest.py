"""Distance to acceptance in an automaton that is built while it is searched.

Whether a state is live, and how far acceptance is, comes from one A* search per question. Every answer is kept: a way
found settles all nodes along it, a search that ends without one settles all it met, so the searches of a lifetime
together cost about as much as the nodes they meet.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from ..errors import ResourceLimitError

MAX_SEARCH = 10_000
"""Most nodes that a search looks at whose answer decides whether a language can be used at all."""
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

    def settle(self, node: Node, distance: int | None) -> None:
        """Tell the distance of a node that is known without a search."""
        self._known[node] = distance

    def known(self, node: Node) -> int | None:
        """The distance of a node where it was found already and there is a way; None else."""
        return self._known.get(node)

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
        ticket = 0
        while queue:
            _, _, _, so_far, at = heapq.heappop(queue)
            if at is None:
                node: Node | None = None
                while node != start:
                    node = came_from[node]
                    known[node] = so_far - cost[node]
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
                        onward.append((target, reached, reached + self._bound(target)))
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
