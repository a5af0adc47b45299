"""The kernels that others call by address, compiled on first use in a process."""

from __future__ import annotations

import functools
from typing import Any

from .call import signature
from .jit import callback
from .key_walk import resume_key
from .mask import enter_text, new_row, walk_below
from .memory import ENTER_TEXT, NEW_ROW, RESUME_KEY, STEP, WALK_BELOW, context
from .share import share_out
from .step import step


def step_entry(address: int, stack: int, mode: int, q: int, x: int, n: int, byte: int) -> int:
    return step(context(address), stack, mode, q, x, n, byte)


def walk_entry(address: int, node: int, base: int, stack: int, mode: int, q: int, x: int, n: int) -> int:
    return walk_below(context(address), node, base, stack, mode, q, x, n)


def row_entry(address: int, position: int) -> int:
    return new_row(context(address), position)


def text_entry(address: int, node: int, base: int, stack: int, mode: int, q: int, x: int, n: int) -> int:
    return enter_text(context(address), node, base, stack, mode, q, x, n)


def key_entry(
    address: int, kind: int, node: int, base: int, stack: int, skip: int, names: int, state: int, n: int, q: int
) -> int:
    return resume_key(context(address), kind, node, base, stack, skip, names, state, n, q)


_ENTRIES: dict[int, tuple[Any, int]] = {
    STEP: (step_entry, 7),
    WALK_BELOW: (walk_entry, 8),
    NEW_ROW: (row_entry, 2),
    ENTER_TEXT: (text_entry, 8),  # these last, as a helper may be at them
    RESUME_KEY: (key_entry, 10),
}
"""By field of the context: the kernel, and how many numbers it takes."""


@functools.cache
def entry(field: int) -> Any:
    """The compiled kernel whose `address` belongs in a field of the context."""
    function, count = _ENTRIES[field]
    return callback(signature(count))(function)


@functools.cache
def entries() -> dict[int, Any]:
    """All of them, by field of the context."""
    share_out()
    return {field: entry(field) for field in _ENTRIES}
