"""What a second process compiles where no kernels are in the cache yet, so that two cores are used.

Chosen to take as long as what is left: first what a first mask needs and has few parts in common with the rest, then
what a process comes to late.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from numba.core import types

from . import helping
from .jit import cache_of, config, saving


@functools.cache
def share_out() -> None:
    """Have a helper compile its share from here on, if the cache has none of it; once in a process."""
    from . import entries

    if config.DISABLE_JIT:
        return
    folder, present = cache_of(entries.text_entry)
    if folder is not None and not present:
        helping.start(folder, __name__)


def _tasks() -> dict[str, Callable[[], object]]:
    from . import entries
    from .apply import KINDS, apply_rows
    from .loops import find_key_loop, find_loop
    from .memory import ENTER_TEXT, RESUME_KEY

    number = types.int64
    key_loop: Any = find_key_loop
    loop: Any = find_loop
    return {
        helping.name_of(entries.text_entry): functools.partial(entries.entry, ENTER_TEXT),
        helping.name_of(entries.key_entry): functools.partial(entries.entry, RESUME_KEY),
        helping.name_of(find_loop): lambda: loop.compile((number,) * 2),
        helping.name_of(apply_rows): lambda: apply_rows(KINDS[4], *(0,) * 16),  # no rows, as `warm_up` has them
        helping.name_of(find_key_loop): lambda: key_loop.compile((number,) * 3),
    }


def main() -> None:
    """Be the helper."""
    helping.serve(_tasks, saving)
