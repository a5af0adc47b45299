"""Least solutions of x = b + A x for a sparse non-negative A whose mass leaks away, component by component.

A graph of states is solved from its last strongly connected component to its first: what has no cycle costs one
pass, and only true cycles need a dense solve of their own size. Components are found with Tarjan's algorithm (1972),
without recursion.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from constrain.distortion.numerics import Floats

Graph = Sequence[NDArray[np.int64]]
"""Successors of each state, by state."""


def components(graph: Graph) -> list[list[int]]:
    """Strongly connected components; each comes after all components that it can reach."""
    count = len(graph)
    order = np.full(count, -1)
    low = np.zeros(count, dtype=np.int64)
    waiting = np.zeros(count, dtype=bool)
    stack: list[int] = []
    out: list[list[int]] = []
    clock = 0
    for root in range(count):
        if order[root] >= 0:
            continue
        work = [(root, 0)]
        while work:
            state, at = work.pop()
            if at == 0:
                order[state] = low[state] = clock
                clock += 1
                stack.append(state)
                waiting[state] = True
            successors = graph[state]
            if at and waiting[successors[at - 1]]:
                low[state] = min(low[state], low[successors[at - 1]])
            while at < len(successors):
                to = int(successors[at])
                at += 1
                if order[to] < 0:
                    work += [(state, at), (to, 0)]
                    break
                if waiting[to]:
                    low[state] = min(low[state], order[to])
            else:
                if low[state] == order[state]:
                    found = []
                    while True:
                        top = stack.pop()
                        waiting[top] = False
                        found.append(top)
                        if top == state:
                            break
                    out.append(found)
    return out


def solve(
    graph: Graph, weights: Sequence[Floats], right: Floats, order: list[list[int]], scale: Floats | None = None
) -> Floats:
    """x with x_s = right_s + scale_s sum over successors of weight x.

    Args:
        graph: successors of each state; one state may be listed twice.
        weights: weight of each edge, shapes as in `graph`.
        right: shape (states,).
        order: `components(graph)`.
        scale: factor of each state's weights, 1 by default.

    Raises numpy.linalg.LinAlgError for a component that leaks no mass.
    """
    x = np.zeros(len(graph))
    local = np.full(len(graph), -1)
    factor = np.ones(len(graph)) if scale is None else scale
    for members in order:
        local[members] = np.arange(len(members))
        b = right[members].copy()
        matrix = np.eye(len(members))
        for i, state in enumerate(members):
            successors, w = graph[state], weights[state] * factor[state]
            inside = local[successors] >= 0
            b[i] += float((w[~inside] * x[successors[~inside]]).sum())
            np.subtract.at(matrix[i], local[successors[inside]], w[inside])
        x[members] = np.linalg.solve(matrix, b) if len(members) > 1 else b / matrix[0, 0]
        local[members] = -1
    return x


def expected_visits(graph: Graph, weights: Sequence[Floats], start: int, order: list[list[int]]) -> Floats:
    """Expected visits of each state from `start`: the least n with n = e_start + A^T n."""
    visits = np.zeros(len(graph))
    visits[start] = 1.0
    local = np.full(len(graph), -1)
    for members in reversed(order):
        local[members] = np.arange(len(members))
        matrix = np.eye(len(members))
        for i, state in enumerate(members):
            inside = local[graph[state]] >= 0
            np.subtract.at(matrix[:, i], local[graph[state][inside]], weights[state][inside])
        found = np.linalg.solve(matrix, visits[members]) if len(members) > 1 else visits[members] / matrix[0, 0]
        visits[members] = found
        for i, state in enumerate(members):
            outside = local[graph[state]] < 0
            np.add.at(visits, graph[state][outside], weights[state][outside] * found[i])
        local[members] = -1
    return visits
