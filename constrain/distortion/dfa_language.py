"""A language given by a finite automaton over token ids, or by the list of its sequences."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np

from constrain.distortion.language import TokenIds
from constrain.distortion.model import Prefix


class DFALanguage:
    """An explicit deterministic automaton.

    Args:
        transitions: (state, token id) to state.
        start: the first state.
        accepting: states in which the text is complete.
        eos_token_ids: ids that end it there.
        tokens: what each id spells, for comparisons of texts; by default each id is a text of its own.
        trim: leave out transitions from which no accepting state can be reached. Without it masks have dead ends.

    Raises ValueError when a transition reads an end-of-sequence id, or the language is empty and trimmed.
    """

    def __init__(
        self,
        transitions: Mapping[tuple[Hashable, int], Hashable],
        start: Hashable,
        accepting: Iterable[Hashable],
        eos_token_ids: int | Sequence[int],
        *,
        tokens: Sequence[str | bytes] | None = None,
        trim: bool = True,
    ) -> None:
        self.eos_token_ids = (eos_token_ids,) if isinstance(eos_token_ids, int) else tuple(eos_token_ids)
        self._start, self._accepting = start, set(accepting)
        self._tokens = None if tokens is None else [t.encode() if isinstance(t, str) else t for t in tokens]
        edges = dict(transitions)
        if any(token in self.eos_token_ids for _, token in edges):
            raise ValueError("a transition reads an end-of-sequence id")
        if trim:
            live = self._live(edges)
            if start not in live:
                raise ValueError("the language is empty")
            edges = {edge: to for edge, to in edges.items() if to in live}
        self._edges = edges
        allowed: dict[Hashable, list[int]] = {}
        for state, token in edges:
            allowed.setdefault(state, []).append(token)
        for state in self._accepting:
            allowed.setdefault(state, []).extend(self.eos_token_ids)
        self._allowed = {state: np.array(sorted(ids), dtype=np.int64) for state, ids in allowed.items()}

    def _live(self, edges: Mapping[tuple[Hashable, int], Hashable]) -> set[Hashable]:
        before: dict[Hashable, list[Hashable]] = {}
        for (state, _), to in edges.items():
            before.setdefault(to, []).append(state)
        live, todo = set(self._accepting), list(self._accepting)
        while todo:
            for state in before.get(todo.pop(), ()):
                if state not in live:
                    live.add(state)
                    todo.append(state)
        return live

    def start(self) -> Hashable:
        """The first state."""
        return self._start

    def allowed(self, state: Hashable) -> TokenIds:
        """Ids that may come next."""
        return self._allowed.get(state, np.empty(0, dtype=np.int64))

    def advance(self, state: Hashable, token: int) -> Hashable:
        """The state after `token`. Raises KeyError when it is not allowed."""
        return self._edges[state, token]

    def key(self, state: Hashable) -> Hashable | None:
        """The state itself."""
        return ("state", state)

    def text(self, tokens: Prefix) -> bytes:
        """The tokens' bytes; without a list of tokens, their ids, which keeps every tokenisation apart."""
        body = [t for t in tokens if t not in self.eos_token_ids]
        if self._tokens is None:
            return b" ".join(b"%d" % t for t in body)
        return b"".join(self._tokens[t] for t in body)


def finite_language(
    sequences: Iterable[Sequence[int]],
    eos_token_ids: int | Sequence[int],
    *,
    tokens: Sequence[str | bytes] | None = None,
) -> DFALanguage:
    """The language of these sequences of ids, each followed by an end-of-sequence id."""
    edges: dict[tuple[Hashable, int], Hashable] = {}
    accepting: set[Hashable] = set()
    for sequence in sequences:
        ids = tuple(int(t) for t in sequence)
        for i, token in enumerate(ids):
            edges[ids[:i], token] = ids[: i + 1]
        accepting.add(ids)
    return DFALanguage(edges, (), accepting, eos_token_ids, tokens=tokens)
