"""How long passes of Python's garbage collector take, which fall on whatever is being measured.

A pass over all objects takes milliseconds and comes once in a hundred schemas or so, on some token of some schema. It
is part of what a user sees, and is measured as such; beside it, figures say what was measured apart from it.
"""

from __future__ import annotations

import gc
import time


class Collector:
    """Adds up the time of the collector's passes from `watch` on.

    Attributes:
        nanoseconds: of all passes that have ended.
    """

    def __init__(self) -> None:
        self.nanoseconds = 0
        self._begun = 0

    def watch(self) -> None:
        """Begin to add up; a second call changes nothing."""
        if self._called not in gc.callbacks:
            gc.callbacks.append(self._called)

    def _called(self, phase: str, _info: dict[str, int]) -> None:
        if phase == "start":
            self._begun = time.perf_counter_ns()
        else:
            self.nanoseconds += time.perf_counter_ns() - self._begun


COLLECTOR = Collector()
"""That of this process."""
