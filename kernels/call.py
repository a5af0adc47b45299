"""Calling kernels by address.

Mask kernels call `step` and each other from many places. Compiled into each of them it would take minutes to build;
behind a pointer each is built once, for two nanoseconds a call. The addresses are made on first use in a process and
kept in the context (see `entries.py`).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from .memory import ENTER_TEXT, NEW_ROW, RESUME_KEY, STEP, WALK_BELOW


def signature(count: int) -> Any:
    """Of a kernel that takes `count` numbers, the first one the context's address, and returns one."""
    return types.int64(*(types.int64 for _ in range(count)))


def _through(field: int, count: int) -> Any:
    """What numba wants to know of a call with `count` numbers through the pointer in a field of the context."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        function = ir.FunctionType(word, [word] * (count + 1)).as_pointer()
        target = builder.inttoptr(builder.load(builder.gep(args[0], [ir.Constant(word, field)])), function)
        return builder.call(target, [builder.ptrtoint(args[0], word), *args[1:]])

    return types.int64(types.CPointer(types.int64), *[types.int64] * count), codegen


@intrinsic
def step(typingctx: Any, C: Any, stack: Any, mode: Any, q: Any, x: Any, n: Any, byte: Any) -> Any:
    """`step` of the module of that name."""
    return _through(STEP, 6)


@intrinsic
def enter_text(typingctx: Any, C: Any, node: Any, base: Any, stack: Any, mode: Any, q: Any, x: Any, n: Any) -> Any:
    """`enter_text` of `mask.py`."""
    return _through(ENTER_TEXT, 7)


@intrinsic
def walk_below(typingctx: Any, C: Any, node: Any, base: Any, stack: Any, mode: Any, q: Any, x: Any, n: Any) -> Any:
    """`walk_below` of `mask.py`."""
    return _through(WALK_BELOW, 7)


@intrinsic
def resume_key(
    typingctx: Any,
    C: Any,
    kind: Any,
    node: Any,
    base: Any,
    stack: Any,
    skip: Any,
    names: Any,
    state: Any,
    n: Any,
    q: Any,
) -> Any:
    """`resume_key` of `key_walk.py`."""
    return _through(RESUME_KEY, 9)


@intrinsic
def new_row(typingctx: Any, C: Any, position: Any) -> Any:
    """`new_row` of `mask.py`."""
    return _through(NEW_ROW, 1)
