"""The kernels that others call by address, compiled on first use in a process."""

from __future__ import annotations

import functools
from typing import Any

from .call import signature
from .jit import callback
from .key_walk import resume_key
from .mask import enter_text, new_row, walk_below
from .memory import ENTER_TEXT, NEW_ROW, RESUME_KEY, STEP, WALK_BELOW, context
from .step import step


@functools.lru_cache(maxsize=1)
def entries() -> dict[int, Any]:
    """By field of the context: the compiled kernel whose `address` belongs there."""

    @callback(signature(7))
    def step_entry(address: int, stack: int, mode: int, q: int, x: int, n: int, byte: int) -> int:
        return step(context(address), stack, mode, q, x, n, byte)

    @callback(signature(8))
    def text_entry(address: int, node: int, base: int, stack: int, mode: int, q: int, x: int, n: int) -> int:
        return enter_text(context(address), node, base, stack, mode, q, x, n)

    @callback(signature(8))
    def walk_entry(address: int, node: int, base: int, stack: int, mode: int, q: int, x: int, n: int) -> int:
        return walk_below(context(address), node, base, stack, mode, q, x, n)

    @callback(signature(10))
    def key_entry(
        address: int, kind: int, node: int, base: int, stack: int, skip: int, names: int, state: int, n: int, q: int
    ) -> int:
        return resume_key(context(address), kind, node, base, stack, skip, names, state, n, q)

    @callback(signature(2))
    def row_entry(address: int, position: int) -> int:
        return new_row(context(address), position)

    return {
        STEP: step_entry,
        ENTER_TEXT: text_entry,
        WALK_BELOW: walk_entry,
        RESUME_KEY: key_entry,
        NEW_ROW: row_entry,
    }
