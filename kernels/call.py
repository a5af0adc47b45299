"""Calling the transition function by address.

Mask kernels call `step` from many places. Compiled into each of them it would take minutes to build; behind a pointer
it is built once, for two nanoseconds a call. The address is made on first use in a process and kept in the context.
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from .jit import callback
from .memory import STEP, context
from .step import step as _step

_SIGNATURE = types.int64(*(types.int64 for _ in range(7)))


@functools.lru_cache(maxsize=1)
def step_callback() -> Any:
    """The compiled transition function; its `address` belongs into the context's field `STEP`."""

    @callback(_SIGNATURE)
    def entry(address: int, stack: int, mode: int, q: int, x: int, n: int, byte: int) -> int:
        return _step(context(address), stack, mode, q, x, n, byte)

    return entry


@intrinsic
def step(
    typingctx: Any,
    C: Any,
    stack: Any,
    mode: Any,
    q: Any,
    x: Any,
    n: Any,
    byte: Any,
) -> Any:
    """`step` of the module of that name, through the pointer in the context."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        function = ir.FunctionType(word, [word] * 7).as_pointer()
        slot = builder.gep(args[0], [ir.Constant(word, STEP)])
        target = builder.inttoptr(builder.load(slot), function)
        values = [builder.ptrtoint(args[0], word)]
        return builder.call(target, values + list(args[1:]))

    integers = [types.int64] * 6
    return types.int64(types.CPointer(types.int64), *integers), codegen
