"""Questions about a position that need no mask."""

from __future__ import annotations

from .call import step
from .intern import P_MODE, P_N, P_Q, P_STACK, P_X, POS_WIDTH
from .jit import njit
from .layout import DEAD, OK
from .memory import POS, context, view
from .step import may_end


@njit
def position_may_end(address: int, position: int) -> bool:
    """Whether the document is complete at a position."""
    C = context(address)
    records = view(C, POS)
    at = position * POS_WIDTH
    return may_end(C, records[at + P_MODE], records[at + P_Q], records[at + P_STACK])


@njit
def only_byte(address: int, position: int) -> int:
    """The one byte that can follow: 0 .. 255; 256 when there are several or the document may end; or MISS, FULL."""
    C = context(address)
    records = view(C, POS)
    at = position * POS_WIDTH
    if may_end(C, records[at + P_MODE], records[at + P_Q], records[at + P_STACK]):
        return 256
    found = 256
    for byte in range(256):
        code = step(
            C,
            records[at + P_STACK],
            records[at + P_MODE],
            records[at + P_Q],
            records[at + P_X],
            records[at + P_N],
            byte,
        )
        if code == OK:
            if found != 256:
                return 256
            found = byte
        elif code != DEAD:
            return code
    return found
