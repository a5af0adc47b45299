"""Searches for ways to acceptance, against breadth-first search over the whole of small random graphs."""

from __future__ import annotations

import random
from collections import deque

import pytest

from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.regex.nearest import GREEDY_SEARCH, Nearest

Graph = dict[int, list[tuple[int, int]]]


def graph_of(random_source: random.Random, count: int) -> tuple[Graph, set[int]]:
    """Edges with their costs of 1 to 4, and the nodes that accept."""
    edges = {
        node: [(random_source.randrange(count), random_source.randint(1, 4)) for _ in range(random_source.randrange(4))]
        for node in range(count)
    }
    return edges, set(random_source.sample(range(count), random_source.randint(0, max(1, count // 8))))


def distances(edges: Graph, accepting: set[int]) -> dict[int, int]:
    """The cost of a cheapest way from each node that has one (Bellman and Ford)."""
    found = dict.fromkeys(accepting, 0)
    changed = True
    while changed:
        changed = False
        for node, onward in edges.items():
            for target, cost in onward:
                if target in found and found[target] + cost < found.get(node, 1 << 30):
                    found[node] = found[target] + cost
                    changed = True
    return found


def steps(edges: Graph, accepting: set[int]) -> dict[int, int]:
    """The fewest edges to acceptance: a bound, as each costs one at least."""
    above: dict[int, list[int]] = {node: [] for node in edges}
    for node, onward in edges.items():
        for target, _ in onward:
            above[target].append(node)
    found = dict.fromkeys(accepting, 0)
    queue = deque(accepting)
    while queue:
        at = queue.popleft()
        for node in above[at]:
            if node not in found:
                found[node] = found[at] + 1
                queue.append(node)
    return found


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_every_question_in_any_order_has_the_answer_of_the_whole_graph(seed: int, bounded: bool) -> None:
    source = random.Random(seed)
    edges, accepting = graph_of(source, source.choice((3, 8, 30, 90)))
    expected = distances(edges, accepting)
    bound = steps(edges, accepting) if bounded else {}
    nearest: Nearest[int] = Nearest(
        lambda node: edges[node], accepting.__contains__, lambda node: bound.get(node, 0), "it ends"
    )
    for node in source.choices(range(len(edges)), k=2 * len(edges)):
        if source.random() < 0.5:
            assert nearest.lives(node) == (node in expected)
        else:
            assert nearest.distance(node) == expected.get(node)


def test_a_way_that_is_not_found_greedily_is_found_all_the_same() -> None:
    # One edge leads astray, to where the bound promises the most and nothing ever ends.
    trap = 4 * GREEDY_SEARCH

    def edges(node: int) -> list[tuple[int, int]]:
        return [(trap, 1), (1, 1)] if node == 0 else [(node + 1, 1)] if node > 0 else []

    nearest: Nearest[int] = Nearest(edges, lambda node: node == 3, lambda node: 0 if node >= trap else 2, "it ends")
    assert nearest.lives(0)
    assert nearest.distance(0) == 3


def test_a_search_that_meets_too_much_says_so() -> None:
    nearest: Nearest[int] = Nearest(lambda node: [(node + 1, 1)], lambda _: False, lambda _: 0, "it ends")
    nearest.limit = 2 * GREEDY_SEARCH
    with pytest.raises(ResourceLimitError, match="it ends"):
        nearest.lives(0)
