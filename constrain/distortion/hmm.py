"""Hidden Markov models and regular languages: survival, Z and exact draws by dynamic programming.

A hidden Markov model's next-token law depends on the whole prefix, by way of a belief over hidden states, so its
product with an automaton has no finite set of *observed* states and KL(q || p*) no closed form: enumerate, or bound.
But the chance of finishing validly is linear in the belief,

    h(u) = sum over hidden z of belief(z | u) H[z, state(u)],
    H[z, s] = sum over allowed a of E[z, a] (1 if a ends the text, else sum over z' of T[z, z'] H[z', s a]),

and H is one linear system over (hidden state, automaton state). From it come Z = h of the empty prefix, the exact law
p*(a | u) = p(a | u) h(ua) / h(u) and exact draws, in infinite languages too (GeLaTo, Zhang et al. 2023, for lengths
that are given).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from constrain.distortion.language import Language
from constrain.distortion.linear_solve import components, solve
from constrain.distortion.matcher_language import as_language
from constrain.distortion.model import Prefix
from constrain.distortion.numerics import Floats, safe_log


class HMMModel:
    """A hidden Markov model over tokens, the end of sequence among them.

    Args:
        initial: probability of each hidden state at the first token, shape (hidden,).
        transition: from a hidden state (rows) to the next, shape (hidden, hidden).
        emission: of tokens (columns) by hidden states, shape (hidden, width).

    Raises ValueError for shapes that do not fit, or rows that are no probabilities.
    """

    def __init__(self, initial: ArrayLike, transition: ArrayLike, emission: ArrayLike) -> None:
        self.initial, self.transition, self.emission = (
            np.asarray(x, dtype=np.float64) for x in (initial, transition, emission)
        )
        hidden = self.initial.shape[0]
        if self.transition.shape != (hidden, hidden) or self.emission.shape[:1] != (hidden,) or self.emission.ndim != 2:
            raise ValueError(
                f"shapes (hidden,), (hidden, hidden), (hidden, width) do not fit: {self.initial.shape}, "
                f"{self.transition.shape}, {self.emission.shape}"
            )
        for name, table in (("initial", self.initial), ("transition", self.transition), ("emission", self.emission)):
            if table.min() < 0.0 or np.abs(table.sum(axis=-1) - 1.0).max() > 1e-9:
                raise ValueError(f"a row of {name} does not add up to 1")
        self.width = self.emission.shape[1]
        self.description = f"hidden Markov model with {hidden} states, before any warper"
        self._beliefs: dict[Prefix, Floats] = {(): self.initial}

    def belief(self, prefix: Prefix) -> Floats:
        """Law of the hidden state that emits the next token, given the tokens so far; shape (hidden,).

        Uniform where the model gives the prefix no probability.
        """
        at = len(prefix)
        while prefix[:at] not in self._beliefs:
            at -= 1
        belief = self._beliefs[prefix[:at]]
        for i in range(at, len(prefix)):
            after = (belief * self.emission[:, prefix[i]]) @ self.transition
            total = after.sum()
            belief = after / total if total > 0.0 else np.full(after.shape, 1.0 / after.size)
            self._beliefs[prefix[: i + 1]] = belief
        if len(self._beliefs) > 100_000:
            self._beliefs = {(): self.initial}
        return belief

    def log_probs(self, prefixes: Sequence[Prefix]) -> Floats:
        """float64, shape (len(prefixes), width)."""
        with np.errstate(divide="ignore"):
            return np.log(np.stack([self.belief(p) for p in prefixes]) @ self.emission)

    def context(self, prefix: Prefix) -> Hashable | None:  # noqa: ARG002
        """None: the belief depends on all of the prefix."""
        return None


class HMMProduct:
    """A hidden Markov model given that its text is valid, solved.

    Args:
        model: p.
        language: with a `key`, such as `DFALanguage` or a compiled grammar; finitely many of its states are met.
        max_states: states of the language after which ValueError is raised.

    Attributes:
        log_z: log of the probability that the model's text is valid, nats.
        states: states of the language that were met.
    """

    def __init__(self, model: HMMModel, language: Any, *, max_states: int = 10_000) -> None:
        self._model, self._language = model, as_language(language)
        self._numbers: dict[Hashable, int] = {}
        self._survival = self._solve(max_states)  # (states, hidden)
        self.states = len(self._numbers)
        self.log_z = safe_log(float(model.initial @ self._survival[0]))

    def _number(self, state: Any) -> int:
        key = self._language.key(state)
        if key is None:
            raise ValueError("the language does not say which of its states are the same")
        return self._numbers.setdefault(key, len(self._numbers))

    def _solve(self, max_states: int) -> Floats:
        language: Language = self._language
        model, hidden = self._model, self._model.initial.size
        start = language.start()
        self._number(start)
        todo: deque[Any] = deque([start])
        edges: list[list[tuple[int, int]]] = []  # by state: (next state, token)
        ends: list[Floats] = []
        while todo:
            state = todo.popleft()
            ids = language.allowed(state)
            ids = ids[ids < model.width]
            out: list[tuple[int, int]] = []
            end = np.zeros(hidden)
            for token in ids.tolist():
                if token in language.eos_token_ids:
                    end += model.emission[:, token]
                elif model.emission[:, token].any():
                    after = language.advance(state, token)
                    met = len(self._numbers)
                    number = self._number(after)
                    if number == met:
                        todo.append(after)
                        if met >= max_states:
                            raise ValueError(f"the language has more than {max_states:,} states")
                    out.append((number, token))
            edges.append(out)
            ends.append(end)
        graph: list[NDArray[np.int64]] = []
        weights: list[Floats] = []
        for out in edges:
            # One emission vector per next state: parallel tokens go together.
            merged: dict[int, Floats] = {}
            for number, token in out:
                merged[number] = merged.get(number, np.zeros(hidden)) + model.emission[:, token]
            for z in range(hidden):
                to = [number * hidden + k for number in merged for k in range(hidden)]
                w = [e[z] * model.transition[z, k] for e in merged.values() for k in range(hidden)]
                some = [i for i, x in enumerate(w) if x > 0.0]
                graph.append(np.array([to[i] for i in some], dtype=np.int64))
                weights.append(np.array([w[i] for i in some]))
        right = np.concatenate(ends)
        useful = _reaches(graph, right > 0.0)
        for at, targets in enumerate(graph):
            # What never finishes has h = 0, and may leak no mass, which no solver likes.
            keep = useful[targets] & useful[at]
            graph[at], weights[at] = targets[keep], weights[at][keep]
        return solve(graph, weights, right, components(graph)).reshape(len(edges), hidden)

    def survival(self, prefix: Prefix) -> float:
        """h(prefix): the model's probability of finishing validly after it."""
        return self._survival_at(prefix, self._state(prefix))

    def _state(self, prefix: Prefix) -> Any:
        state = self._language.start()
        for token in prefix:
            state = self._language.advance(state, token)
        return state

    def _survival_at(self, prefix: Prefix, state: Any) -> float:
        return float(self._model.belief(prefix) @ self._survival[self._numbers[self._language.key(state)]])

    def exact_step(self, prefix: Prefix, state: Any = None) -> tuple[NDArray[np.int64], Floats]:
        """Tokens that may follow a valid prefix, and p*(token | prefix), Doob's h-transform.

        `state` is the language's state after the prefix, where it is at hand. Raises ValueError where nothing follows.
        """
        language = self._language
        state = self._state(prefix) if state is None else state
        ids = language.allowed(state)
        ids = ids[ids < self._model.width]
        p = (self._model.belief(prefix) @ self._model.emission)[ids]
        ids, p = ids[p > 0.0], p[p > 0.0]
        h = [
            1.0 if t in language.eos_token_ids else self._survival_at((*prefix, t), language.advance(state, t))
            for t in ids.tolist()
        ]
        exact = p * np.array(h)
        total = exact.sum() if exact.size else 0.0
        if total <= 0.0:
            raise ValueError(f"nothing valid follows {prefix}")
        return ids, np.asarray(exact / total)

    def draw_exact(self, n: int, rng: np.random.Generator) -> list[Prefix]:
        """`n` independent draws from p*, without an attempt that fails.

        Raises ValueError when the model gives the language no probability.
        """
        if self.log_z == -math.inf:
            raise ValueError("the model gives the language probability 0")
        drawn: list[Prefix] = []
        for _ in range(n):
            prefix: Prefix = ()
            state = self._language.start()
            while True:
                ids, exact = self.exact_step(prefix, state)
                token = int(rng.choice(ids, p=exact))
                prefix = (*prefix, token)
                if token in self._language.eos_token_ids:
                    break
                state = self._language.advance(state, token)
            drawn.append(prefix)
        return drawn


def _reaches(graph: Sequence[NDArray[np.int64]], ends: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """From which states an end can be reached."""
    before: list[list[int]] = [[] for _ in graph]
    for state, to in enumerate(graph):
        for t in to.tolist():
            before[t].append(state)
    found = ends.copy()
    todo = np.flatnonzero(ends).tolist()
    while todo:
        for state in before[todo.pop()]:
            if not found[state]:
                found[state] = True
                todo.append(state)
    return found
