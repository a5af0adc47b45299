"""Where the commands write. Progress is for people: shown on a terminal, absent in a pipe."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from rich.console import Console


def results() -> Console:
    """Standard output."""
    return Console(highlight=False)


def errors() -> Console:
    """Standard error as it is now, even where it is redirected later."""
    return Console(file=sys.stderr, highlight=False)


@contextlib.contextmanager
def progress(what: str) -> Iterator[None]:
    """Show that `what` is going on, while it is."""
    console = errors()
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield


def one_line(text: str, limit: int = 400) -> str:
    """The text on one line, shortened to `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
