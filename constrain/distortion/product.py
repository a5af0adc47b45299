"""Exact answers for a model with finite memory and a language with finitely many states, infinite languages included.

In the product of contexts and states, the probability h of finishing validly is the least solution of a linear system,
and so are the sums of p log w, q log w and p w over all finished sequences: five solves instead of an enumeration. The
exact law p*(a|s) = p(a|s) h(sa) / h(s) is Doob's h-transform, which gives exact draws and the place of every nat.

A product that is larger than allowed (or infinite, as with unbounded nesting) is cut: states beyond the limit are
*open*. Solving with h = 0 and with h = 1 there brackets Z and the rest; the one number that cannot be bracketed from
above is KL(q || p*), which may truly be infinite.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from constrain.distortion.divergences import Sums
from constrain.distortion.language import Language
from constrain.distortion.linear_solve import components, expected_visits, solve
from constrain.distortion.localisation import Contribution
from constrain.distortion.model import CountingModel, Model, Prefix
from constrain.distortion.numerics import Floats
from constrain.distortion.process import MaskedProcess, Step


class NotFinitelyMany(ValueError):
    """The model or the language does not say which prefixes have the same future."""


@dataclass(frozen=True, slots=True)
class ProductSums:
    """Sums over finished sequences, as intervals' ends; equal when nothing is open."""

    low: Sums
    high: Sums


class Product:
    """The product of a model and a language, solved.

    Args:
        model: with a `context`.
        language: with a `key`.
        max_tokens: limit of length, the end included; the step number then becomes part of a state.
        max_states: states that are expanded; the rest stay open.

    Attributes:
        sums: Sums with open states worth nothing (`low`) and, for z, finished and p_w, all they could (`high`).
        is_closed: no state is open, so `sums.low` is exact.
        states: number of expanded states.
        dead_q, truncated_q: probability that a masked draw dies, or is cut.
        order: the strongly connected components.

    Raises NotFinitelyMany when the model has no `context` or the language no `key`.
    """

    def __init__(
        self, model: Model, language: Language, *, max_tokens: int | None = None, max_states: int = 4000
    ) -> None:
        self.process = MaskedProcess(CountingModel(model), language)
        self._model, self._language, self._max_tokens = model, language, max_tokens
        self._eos = self.process.eos
        self._prefixes: list[Prefix] = []
        self._steps: list[Step | None] = []
        self._next: list[NDArray[np.int64]] = []
        self._p: list[Floats] = []
        self._end_p: list[float] = []
        self._cut_p: list[float] = []
        self._build(max_states)
        self._solve()

    def _key(self, prefix: Prefix, state: object) -> Hashable:
        context, key = self._model.context(prefix), self._language.key(state)
        if context is None or key is None:
            raise NotFinitelyMany("the exact method needs a model with finite memory and a language with named states")
        return context, key, (len(prefix) if self._max_tokens is not None else 0)

    def _build(self, max_states: int) -> None:
        language = self._language
        start = language.start()
        numbers: dict[Hashable, int] = {self._key((), start): 0}
        self._prefixes.append(())
        states = [start]
        todo = deque([0])
        while todo and len(self._steps) < max_states:
            part = [todo.popleft() for _ in range(min(len(todo), 64, max_states - len(self._steps)))]
            for number, step in zip(part, self.process.steps([self._prefixes[n] for n in part]), strict=True):
                prefix = self._prefixes[number]
                probabilities = np.exp(step.log_probs)
                successors: list[int] = []
                weights: list[float] = []
                end = cut = 0.0
                for token, p in zip(step.ids.tolist(), probabilities.tolist(), strict=True):
                    if token in self._eos:
                        end += p
                        continue
                    if self._max_tokens is not None and len(prefix) + 1 >= self._max_tokens:
                        cut += p
                        continue
                    longer = (*prefix, token)
                    state = language.advance(states[number], token)
                    key = self._key(longer, state)
                    to = numbers.get(key)
                    if to is None:
                        to = numbers[key] = len(self._prefixes)
                        self._prefixes.append(longer)
                        states.append(state)
                        todo.append(to)
                    successors.append(to)
                    weights.append(p)
                self._steps.append(step)
                self._next.append(np.array(successors, dtype=np.int64))
                self._p.append(np.array(weights))
                self._end_p.append(end)
                self._cut_p.append(cut)
        self.states = len(self._steps)
        self.is_closed = not todo
        for _ in range(len(self._prefixes) - self.states):
            self._steps.append(None)
            self._next.append(np.empty(0, dtype=np.int64))
            self._p.append(np.empty(0))
            self._end_p.append(0.0)
            self._cut_p.append(0.0)

    def _live(self) -> NDArray[np.bool_]:
        """States from which an end, or an open state, can be reached."""
        before: list[list[int]] = [[] for _ in self._next]
        for state, successors in enumerate(self._next):
            for to in successors:
                before[int(to)].append(state)
        live = np.array([e > 0.0 for e in self._end_p])
        live[self.states :] = True
        todo = np.flatnonzero(live).tolist()
        while todo:
            for state in before[todo.pop()]:
                if not live[state]:
                    live[state] = True
                    todo.append(state)
        return live

    def _solve(self) -> None:
        count = len(self._next)
        live = self._live()
        all_next, all_p = self._next, self._p
        graph, p = [], []
        for successors, weights in zip(all_next, all_p, strict=True):
            keep = live[successors]
            graph.append(successors[keep])
            p.append(weights[keep])
        self._graph, self._live_p = graph, p
        self.order = components(graph)
        closed = np.zeros(count, dtype=bool)
        closed[: self.states] = True
        z_step = np.array([math.exp(s.log_z) if s is not None else 1.0 for s in self._steps])
        self._z_step = z_step
        log_z = np.array([s.log_z if s is not None and s.ids.size else 0.0 for s in self._steps])
        self._log_z = log_z
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = np.where(z_step > 0, 1.0 / z_step, 0.0)
        self._q = q = [w * inverse[i] for i, w in enumerate(p)]
        end = np.array(self._end_p)
        opened = (~closed).astype(np.float64)
        order = self.order

        self.h = h = solve(graph, p, end, order)
        self.finishing = finishing = solve(graph, q, end * inverse, order)
        # Sums below a state: each pays for its own step, weighted by what finishes.
        q_log_w = solve(graph, q, finishing * log_z, order)
        p_log_w = solve(graph, p, h * log_z, order)
        p_w = solve(graph, p, end * z_step, order, z_step)
        low = Sums(h[0], finishing[0], q_log_w[0], p_log_w[0], p_w[0])
        high = low
        if not self.is_closed:
            h_high = solve(graph, p, end + opened, order)
            finishing_high = solve(graph, q, end * inverse + opened, order)
            # Here every draw that leaves the expanded part is charged for the steps up to there.
            charged = solve(graph, q, finishing_high * log_z * closed, order)
            p_w_high = solve(graph, p, end * z_step + opened, order, z_step)
            high = Sums(h_high[0], finishing_high[0], charged[0], p_log_w[0], p_w_high[0])
        self.sums = ProductSums(low, high)
        dead = np.array([float((all_p[s][~live[all_next[s]]] * inverse[s]).sum()) for s in range(count)])
        cut = np.array(self._cut_p) * inverse
        self.dead_q = 1.0 if not live[0] else float(solve(graph, q, dead, order)[0])
        self.truncated_q = float(solve(graph, q, cut, order)[0])
        if self._max_tokens is not None and not live[0]:
            self.truncated_q, self.dead_q = self._split_lost(inverse)
        elif self._max_tokens is not None and dead.any():
            # Below a state that cannot finish in time, draws are cut or die: tell them apart on the whole graph.
            self.truncated_q, self.dead_q = self._split_lost(inverse)

    def _split_lost(self, inverse: Floats) -> tuple[float, float]:
        order = components(self._next)
        q = [w * inverse[i] for i, w in enumerate(self._p)]
        cut = solve(self._next, q, np.array(self._cut_p) * inverse, order)
        stuck = np.array([1.0 if s is not None and not s.ids.size else 0.0 for s in self._steps])
        return float(cut[0]), float(solve(self._next, q, stuck, order)[0])

    def contributions(self) -> list[Contribution]:
        """Distortion and tax by state, the largest distortion first. Raises ValueError when states are open."""
        if not self.is_closed:
            raise ValueError("distortion is localised only in a closed product")
        h, finishing = self.h, self.finishing
        masked, exact = [], []
        for s, successors in enumerate(self._graph):
            f, g = finishing[s], h[s]
            masked.append(self._q[s] * finishing[successors] / f if f > 0 else np.zeros(successors.size))
            exact.append(self._live_p[s] * h[successors] / g if g > 0 else np.zeros(successors.size))
        visits = expected_visits(self._graph, masked, 0, self.order)
        out = []
        for s in range(self.states):
            if visits[s] <= 0 or finishing[s] <= 0:
                continue
            end_p = self._end_p[s]
            q_row = np.append(masked[s], end_p / self._z_step[s] / finishing[s])
            p_row = np.append(exact[s], end_p / h[s])
            some = q_row > 0
            d = float((q_row[some] * (np.log(q_row[some]) - np.log(p_row[some]))).sum())
            prefix = self._prefixes[s]
            text = self._language.text(prefix)
            out.append(Contribution(prefix, text, visits[s], visits[s] * max(d, 0.0), -visits[s] * self._log_z[s]))
        return sorted(out, key=lambda c: -c.distortion)

    def draw_exact(self, n: int, rng: np.random.Generator) -> list[Prefix]:
        """`n` independent exact draws from p*, by the h-transform. Raises ValueError when states are open."""
        if not self.is_closed or self.h[0] <= 0:
            raise ValueError("exact draws need a closed product and a language of positive probability")
        out = []
        for _ in range(n):
            prefix: list[int] = []
            state = 0
            while True:
                step = self._steps[state]
                assert step is not None
                row = self._exact_row(state, step)
                choice = int(rng.choice(row.size, p=row))
                prefix.append(int(step.ids[choice]))
                if prefix[-1] in self._eos:
                    break
                state = int(self._next[state][choice - self._ends_before(step, choice)])
            out.append(tuple(prefix))
        return out

    def _ends_before(self, step: Step, choice: int) -> int:
        return sum(int(t) in self._eos for t in step.ids[:choice])

    def _exact_row(self, state: int, step: Step) -> Floats:
        future: list[float] = []
        at = 0
        successors: Sequence[int] = self._next[state].tolist()
        last = self._max_tokens is not None and len(self._prefixes[state]) + 1 >= self._max_tokens
        for token in step.ids.tolist():
            if token in self._eos:
                future.append(1.0)
            elif last:
                future.append(0.0)
            else:
                future.append(float(self.h[successors[at]]))
                at += 1
        row = np.exp(step.log_probs) * np.array(future)
        return row / row.sum()
