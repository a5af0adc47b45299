"""A bound on the tokens of reasoning: when they are spent, only the end of the block may come.

The automaton knows nothing of tokens, so the matcher counts those that were accepted within the block. When the budget
is spent it moves to the state that lies on the way out of the block alone, at the first border between characters. That
is a state of the same automaton, with a mask, a distance to the end and forced tokens of its own, so nothing else has
to know of budgets.

The trade-off: which state a text leads to then depends on how it was cut into tokens, in reasoning and nowhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constrain.engine.matcher import Matcher

if TYPE_CHECKING:
    from constrain.wire.grammar import CompiledToolCalls


class BudgetedMatcher(Matcher):
    """A matcher that ends reasoning after `budget` tokens of it. The markers around the block do not count."""

    __slots__ = ("_budget", "_spent")

    steps_alone = True

    def __init__(self, compiled: CompiledToolCalls, budget: int) -> None:
        super().__init__(compiled)
        self._budget = budget
        self._spent = [0]  # tokens of reasoning among those accepted so far, by their number
        self._positions[0] = self._settled(self._positions[0], 0)

    def accept_token(self, token_id: int) -> bool:
        with self._lock:
            inside = self._closing(self._position()) != self._NOT_INSIDE
            if not super().accept_token(token_id):
                return False
            self._count(int(inside))
            return True

    def accept_bytes(self, data: bytes) -> bool:
        with self._lock:
            if not super().accept_bytes(data):
                return False
            self._count(0)
            return True

    def _count(self, tokens: int) -> None:
        self._spent.append(self._spent[-1] + tokens)
        self._positions[-1] = self._settled(self._positions[-1], len(self._accepted))

    def rollback(self, n: int = 1) -> None:
        super().rollback(n)
        if n:
            del self._spent[-n:]

    def fork(self) -> Matcher:
        other = super().fork()
        assert isinstance(other, BudgetedMatcher)
        other._budget, other._spent = self._budget, self._spent.copy()
        return other

    _NOT_INSIDE = -1

    def _closing(self, position: int) -> int:
        around = self._automaton.around
        assert around is not None
        return around.closing(position) if position >= 0 else self._NOT_INSIDE

    def _settled(self, position: int, count: int) -> int:
        if self._spent[count] < self._budget:
            return position
        closing = self._closing(position)
        return position if closing == self._NOT_INSIDE else closing
