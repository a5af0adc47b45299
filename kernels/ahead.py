"""The kernels that are first called in the middle of a text, compiled or loaded ahead of it.

Each takes a tenth of a second to compile and milliseconds to load, once in a process, which would fall on one token.
"""

from __future__ import annotations

from typing import Any

from numba.core import types

from .batch import copy_rows
from .intern import memo_value, new_memos, rehash_memo, rehash_records
from .loops import find_key_loop, find_loop
from .mask import accept_byte, accept_token
from .plain_schemas import look_at_all
from .query import only_byte, position_may_end
from .settle import settle_atom


def compile_ahead() -> None:
    """Compile them all, for the arguments that the engine calls them with."""
    number, numbers = types.int64, types.Array(types.int64, 1, "C")
    of_records: Any = rehash_records
    of_records.compile((numbers, number, number, number, types.Array(types.int32, 1, "C")))
    of_memo: Any = rehash_memo
    of_memo.compile((numbers, numbers, numbers, numbers))
    of_values: Any = new_memos
    of_values.compile((number, number, number, number, numbers))
    copy: Any = copy_rows
    copy.compile((numbers,) * 3 + (types.Array(types.int32, 2, "C"), number, number, types.Array(types.int8, 1, "C")))
    kernels: tuple[tuple[Any, int], ...] = (
        (accept_byte, 3),
        (accept_token, 3),
        (memo_value, 2),
        (find_key_loop, 3),
        (find_loop, 2),
        (only_byte, 2),
        (position_may_end, 2),
        (settle_atom, 2),
        (look_at_all, 8),
    )
    for kernel, count in kernels:
        kernel.compile((number,) * count)
