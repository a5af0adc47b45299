"""A tree of prefixes, explored best first, that turns forward passes into certified intervals.

Expanding a prefix costs one row of the model and settles three things: the sequences that end there, the mass that dies
there, and how much mass the mask keeps. Children wait in a frontier that is searched by p(u) and by q(u) in turn: p
alone shrinks the interval of Z fastest, but the divergences need q's mass too, and where valid text is unlikely the two
are so far apart that their sum would follow q alone. A batch takes the best that wait, so a large batch is less choosy.
All children of one prefix share the weight p(u)/q(u), so the frontier is one line per expanded prefix, however large
the vocabulary.

Any time the search stops, `certified()` holds. When the frontier is empty everything is exact, and TV, texts and
localisation are there too. A search can be saved, loaded and continued; states of the language are found again by
reading the tokens.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from constrain.distortion.bounds import Certified, Explored, certify, intersection
from constrain.distortion.language import Language
from constrain.distortion.model import CountingModel, Model, Prefix
from constrain.distortion.numerics import Floats
from constrain.distortion.process import MaskedProcess


def tails(log_p: Floats) -> Floats:
    """For each place the sum of exp(log_p) from there on, shape (n + 1,)."""
    return np.append(np.cumsum(np.exp(log_p)[::-1])[::-1], 0.0)


class Trie:
    """The search.

    Args:
        model: p.
        language: the masks.
        max_tokens: the target is p(. | valid, at most so many tokens, the end included). None for no limit.
        lossless: every masked draw surely finishes. None: assumed when there is no `max_tokens`.
        max_children: children of one prefix that may be expanded; the less likely rest stays in the frontier for good.
        batch_size: prefixes of one call of the model.

    Attributes:
        forward_passes: prefixes expanded so far.
        dead_q: q-mass that died, dead_p: the p-mass of those prefixes.
        truncated_q, truncated_p: the same of prefixes cut at `max_tokens`.
    """

    def __init__(
        self,
        model: Model,
        language: Language,
        *,
        max_tokens: int | None = None,
        lossless: bool | None = None,
        max_children: int = 4096,
        batch_size: int = 32,
        floor: float | None = None,
    ) -> None:
        if floor is not None and not 0.0 < floor <= 1.0:
            raise ValueError("the floor of one-step mass lies in (0, 1]")
        self.process = MaskedProcess(CountingModel(model), language)
        self.max_tokens, self.max_children, self.batch_size = max_tokens, max_children, batch_size
        self.floor = floor
        self._assumed_lossless = max_tokens is None if lossless is None else lossless
        # One entry per expanded prefix.
        self.parents: list[int] = []
        self.tokens: list[int] = []
        self.depths: list[int] = []
        self.node_log_p: list[float] = []
        self.node_log_w: list[float] = []
        self.log_z: list[float] = []
        self._front_p: list[float] = []
        self._settled_p: list[float] = []
        self._child_ids: list[NDArray[np.int32]] = []
        self._child_log_p: list[Floats] = []
        self._child_tails: list[Floats] = []
        self._next_child: list[int] = []
        # One entry per finished sequence.
        self.end_nodes: list[int] = []
        self.end_tokens: list[int] = []
        self.end_log_p: list[float] = []
        self.end_log_w: list[float] = []
        self.dead_q = self.dead_p = self.truncated_q = self.truncated_p = 0.0
        self.forward_passes = 0
        self._by_p: list[tuple[float, int, int]] = []
        self._by_q: list[tuple[float, int, int]] = []
        self._turn = False
        self._root_waits = True
        self._last: tuple[bool, Certified] | None = None

    # ---- shape -------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.parents)

    def prefix(self, node: int) -> Prefix:
        """The tokens that lead to an expanded node."""
        out: list[int] = []
        while node > 0:
            out.append(self.tokens[node])
            node = self.parents[node]
        return tuple(reversed(out))

    def sequence(self, end: int) -> Prefix:
        """The tokens of a finished sequence, its end included."""
        return (*self.prefix(self.end_nodes[end]), self.end_tokens[end])

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing is left to expand and nothing was set aside."""
        return not self._root_waits and not any(p > 0.0 for p in self._front_p)

    @property
    def lossless(self) -> bool:
        """Whether every masked draw finishes, as assumed and as seen so far."""
        return self._assumed_lossless and self.dead_q == 0.0 and self.truncated_q == 0.0

    # ---- search ------------------------------------------------------------------------------------------------------

    def expand(self, count: int = 1) -> int:
        """Expand the `count` most likely prefixes, in one batch. Returns how many there were to expand."""
        chosen: list[tuple[int, int, float]] = []  # parent, token, log p
        if self._root_waits and count > 0:
            self._root_waits = False
            chosen.append((-1, -1, 0.0))
        else:
            while len(chosen) < count:
                found = self._pop()
                if found is None:
                    break
                node, at = found
                chosen.append((node, int(self._child_ids[node][at]), float(self._child_log_p[node][at])))
                self._next_child[node] = at + 1
                self._offer(node)
        if not chosen:
            return 0
        prefixes = [() if parent < 0 else (*self.prefix(parent), token) for parent, token, _ in chosen]
        for (parent, token, log_p), step in zip(chosen, self.process.steps(prefixes), strict=True):
            log_w = 0.0 if parent < 0 else self.node_log_w[parent] + self.log_z[parent]
            if parent >= 0:
                self._front_p[parent] = self._waiting(parent)
            self._add(parent, token, log_p, log_w, step.ids, step.log_probs, step.log_z)
        self.forward_passes += len(chosen)
        return len(chosen)

    def run(self, budget: int, *, progress: Callable[[Trie], bool | None] | None = None) -> Trie:
        """Expand up to `budget` more prefixes, batch by batch.

        `progress` is called after each batch; the search stops when it returns True.
        """
        while budget > 0:
            done = self.expand(min(budget, self.batch_size))
            if not done:
                break
            budget -= done
            if progress is not None and progress(self):
                break
        return self

    def limit(self, max_tokens: int) -> None:
        """Condition on at most so many tokens from now on, the end included, as if it had been so from the start.

        Raises ValueError where a limit is set, or a prefix was expanded that cannot be gone on with under this one.
        """
        if self.max_tokens is not None:
            raise ValueError(f"the limit is {self.max_tokens} tokens")
        if max(self.depths, default=-1) + 1 >= max_tokens:
            raise ValueError(f"a prefix of {max(self.depths)} tokens was expanded, too long for {max_tokens}")
        self.max_tokens, self._assumed_lossless = max_tokens, False
        self._last = None  # intervals for another target

    def _offer(self, node: int) -> None:
        """Put the most likely waiting child of a node on both heaps."""
        at = self._next_child[node]
        if at < self._child_ids[node].shape[0]:
            log_p = float(self._child_log_p[node][at])
            heapq.heappush(self._by_p, (-log_p, node, at))
            heapq.heappush(self._by_q, (self.node_log_w[node] + self.log_z[node] - log_p, node, at))

    def _pop(self) -> tuple[int, int] | None:
        """The next parent and place among its children: by p and by q in turn. None when nothing waits."""
        self._turn = not self._turn
        heap = self._by_p if self._turn else self._by_q
        while heap:
            _, node, at = heapq.heappop(heap)
            if at == self._next_child[node]:  # else it was taken by way of the other heap
                return node, at
        return None

    def _waiting(self, node: int) -> float:
        """p-mass of a node's unexpanded children, from sums of the small ones first: what is left of it stays exact."""
        return float(self._child_tails[node][self._next_child[node]]) + self._settled_p[node]

    def _add(
        self,
        parent: int,
        token: int,
        log_p: float,
        log_w: float,
        ids: NDArray[np.int64],
        log_probs: Floats,
        log_z: float,
    ) -> None:
        node, depth = len(self.parents), 0 if parent < 0 else self.depths[parent] + 1
        self.parents.append(parent)
        self.tokens.append(token)
        self.depths.append(depth)
        self.node_log_p.append(log_p)
        self.node_log_w.append(log_w)
        self.log_z.append(log_z)
        q = math.exp(log_p - log_w)
        if log_p < -700.0 and q > 1e-12:
            raise ValueError("the mask reaches a prefix that has probability 1e-304 under the model: limit the tokens")
        empty = np.empty(0, dtype=np.int32)
        children, child_log_p, left = empty, np.empty(0), 0.0
        if not ids.size:
            self.dead_q += q
            self.dead_p += math.exp(log_p)
        ends = np.isin(ids, list(self.process.eos)) if ids.size else np.empty(0, dtype=bool)
        for i in np.flatnonzero(ends):
            self.end_nodes.append(node)
            self.end_tokens.append(int(ids[i]))
            self.end_log_p.append(log_p + float(log_probs[i]))
            self.end_log_w.append(log_w + log_z)
        others = ~ends
        if others.any():
            ids, log_probs = ids[others], log_probs[others]
            p_children = math.exp(log_p) * float(np.exp(log_probs).sum())
            if self.max_tokens is not None and depth + 1 >= self.max_tokens:
                self.truncated_p += p_children
                self.truncated_q += p_children * math.exp(-(log_w + log_z)) if log_w + log_z > -700 else q
            else:
                order = np.argsort(-log_probs, kind="stable")
                if order.size > self.max_children:
                    order, rest = order[: self.max_children], order[self.max_children :]
                    left = math.exp(log_p) * float(np.exp(log_probs[rest]).sum())
                children, child_log_p = ids[order].astype(np.int32), log_p + log_probs[order]
        self._settled_p.append(left)
        self._child_ids.append(children)
        self._child_log_p.append(child_log_p)
        self._child_tails.append(tails(child_log_p))
        self._next_child.append(0)
        self._front_p.append(self._waiting(node))
        self._offer(node)

    # ---- results -----------------------------------------------------------------------------------------------------

    @property
    def log_p(self) -> Floats:
        """Log-probabilities of the finished sequences, shape (finished,)."""
        return np.array(self.end_log_p)

    @property
    def log_w(self) -> Floats:
        """Log-weights of the finished sequences, shape (finished,)."""
        return np.array(self.end_log_w)

    def frontier(self) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Expanded nodes with unexpanded children: their numbers, the children's p-mass, log of the common weight."""
        if self._root_waits:
            return np.array([-1]), np.ones(1), np.zeros(1)
        mass = np.array(self._front_p)
        nodes = np.flatnonzero(mass > 0.0)
        log_r = np.array(self.node_log_w)[nodes] + np.array(self.log_z)[nodes]
        return nodes, mass[nodes], log_r

    def explored(self) -> Explored:
        """What is known, for `certify`."""
        nodes, mass, log_r = self.frontier()
        if self.max_tokens is None:
            steps = np.full(nodes.shape, -1.0)
        else:
            depths = np.array([0 if n < 0 else self.depths[n] + 1 for n in nodes], dtype=np.float64)
            steps = self.max_tokens - depths
        return Explored(
            self.log_p,
            self.log_w,
            mass,
            log_r,
            steps,
            self.dead_q + self.truncated_q,
            self.lossless,
            None if self.floor is None else math.log(self.floor),
        )

    def certified(self) -> Certified:
        """Intervals that hold the truth; each lies inside those of earlier calls."""
        known = self.explored()
        found = certify(known)
        if self._last is not None and self._last[0] == known.lossless:
            found = intersection(self._last[1], found)
        self._last = known.lossless, found
        return found

    def waiting_children(self, node: int) -> Iterator[int]:
        """Children of a node that were expanded or are on their way: those the frontier no longer holds."""
        yield from (int(t) for t in self._child_ids[node][: self._next_child[node]])
