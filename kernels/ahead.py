"""The kernels that are first called in the middle of a text, compiled or loaded ahead of it.

Each takes a tenth of a second to compile and milliseconds to load, once in a process, which would fall on one token.
"""

from __future__ import annotations

from numba.core import types

from .intern import rehash_memo, rehash_records
from .loops import find_key_loop, find_loop
from .mask import accept_byte, accept_token
from .query import only_byte, position_may_end
from .settle import settle_atom


def compile_ahead() -> None:
    """Compile them all, for the arguments that the engine calls them with."""
    number, numbers = types.int64, types.Array(types.int64, 1, "C")
    rehash_records.compile((numbers, number, number, number, types.Array(types.int32, 1, "C")))  # type: ignore[attr-defined]
    rehash_memo.compile((numbers, numbers, numbers, numbers))  # type: ignore[attr-defined]
    for kernel, count in (
        (accept_byte, 3),
        (accept_token, 3),
        (find_key_loop, 3),
        (find_loop, 2),
        (only_byte, 2),
        (position_may_end, 2),
        (settle_atom, 2),
    ):
        kernel.compile((number,) * count)  # type: ignore[attr-defined]
