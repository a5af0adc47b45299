"""Bringing a number to its end before the byte that ends it is known."""

from __future__ import annotations

from .intern import P_Q, P_STACK, POS_WIDTH, intern_position
from .jit import njit
from .layout import DEAD, FULL, OK, Q_OUTCOME, STATE_WIDTH
from .mask import REFUSED
from .memory import OUT, POS, STATE, context, view
from .values import complete


@njit
def settle_atom(address: int, position: int) -> int:
    """The position after the number or literal that ends at `position`; REFUSED where it cannot, or MISS, FULL."""
    C = context(address)
    records = view(C, POS)
    at = position * POS_WIDTH
    outcome = view(C, STATE)[records[at + P_Q] * STATE_WIDTH + Q_OUTCOME]
    code = complete(C, records[at + P_STACK], outcome)
    if code == DEAD:
        return REFUSED
    if code != OK:
        return code
    to = intern_position(C, C[OUT], C[OUT + 1], C[OUT + 2], C[OUT + 3], C[OUT + 4])
    return to if to >= 0 else FULL
