"""A second process that compiles some kernels into the cache on disk while this one compiles others.

It is told where to import from on its standard input, and tells on its standard output which kernels it has begun and
which are written. It ends by itself when its input does, so with the process that started it. Whatever goes wrong with
it, at its start or later, costs only the help: a kernel that it does not write is compiled here.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

_PATIENCE_SECONDS = 60.0
"""For a kernel that has been begun; more than any takes, also where many processes share two cores."""
_PYTHON = re.compile(r"python(w|[\d.]*t?)?(\.exe)?$", re.IGNORECASE)


def name_of(function: Callable[..., Any]) -> str:
    """What this process and its helper call a kernel."""
    return f"{function.__module__}.{function.__qualname__}"


class _Helper:
    def __init__(self, process: subprocess.Popen[bytes], lock: int) -> None:
        self._process, self._lock = process, lock
        self._owner = os.getpid()
        self._news = threading.Condition()
        self._told: dict[bytes, set[str]] = {b"begun": set(), b"written": set()}
        self._over = False
        threading.Thread(target=self._listen, name="constrain-kernels", daemon=True).start()

    def _listen(self) -> None:
        told, asked = self._process.stdout, self._process.stdin
        assert told is not None
        assert asked is not None
        for line in told:
            word, _, name = line.strip().partition(b" ")
            if word in self._told:
                with self._news:
                    self._told[word].add(os.fsdecode(name))
                    self._news.notify_all()
        with self._news:
            self._over = True
            self._news.notify_all()
        with contextlib.suppress(OSError):
            asked.close()
        self._process.wait()
        os.close(self._lock)

    def has_written(self, name: str) -> bool:
        """Whether a kernel is in the cache by the helper's doing; waits for one that has been begun."""
        if os.getpid() != self._owner:  # a fork has no thread that listens
            return False
        with self._news:
            if name not in self._told[b"begun"]:
                return False
            settled = self._news.wait_for(lambda: self._over or name in self._told[b"written"], _PATIENCE_SECONDS)
            self._over = self._over or not settled  # whoever hangs is not waited for again
            return name in self._told[b"written"]


_helper: _Helper | None = None


def has_written(function: Callable[..., Any]) -> bool:
    """Whether a helper, if there is one, has put a kernel into the cache; waits for one that it has begun."""
    return _helper is not None and _helper.has_written(name_of(function))


@functools.cache
def start(folder: Path, module: str) -> None:
    """Start a helper that runs `main` of a module, if this process may have one; once in a process and folder.

    There is none on a single core, where no Python can be started (in a program with Python built in, say), where the
    folder's lock cannot be had, or while another process has a helper for the same folder.
    """
    global _helper
    if _cores() < 2 or not _is_python():
        return
    lock = _take_lock(folder / "helper.lock")
    if lock is None:
        return
    paths = b"\0".join(os.fsencode(p) for p in sys.path if isinstance(p, str))
    code = "import sys, os; sys.path[:] = map(os.fsdecode, sys.stdin.buffer.readline()[:-1].split(b'\\0')); "
    code += f"from {module} import main; main()"
    try:
        process = subprocess.Popen(
            [sys.executable, *_flags(), "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdin
        process.stdin.write(paths + b"\n")
        process.stdin.flush()
        _helper = _Helper(process, lock)
    except Exception:  # no process, no thread, an end before its beginning: there are many ways, and no need
        os.close(lock)


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # not on every system
        return os.cpu_count() or 1


def _is_python() -> bool:
    """Whether `sys.executable` is an interpreter that takes a program as its argument."""
    return bool(sys.executable) and not getattr(sys, "frozen", False) and bool(_PYTHON.match(Path(sys.executable).name))


def _flags() -> list[str]:
    told = {"-I": sys.flags.isolated, "-E": sys.flags.ignore_environment, "-s": sys.flags.no_user_site}
    return [flag for flag, given in told.items() if given]


def _take_lock(path: Path) -> int | None:
    """A file held by this process until it ends or closes it; None where that is not possible now."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return None
    return file


def serve(tasks: Callable[[], dict[str, Callable[[], object]]], saving: Any) -> None:
    """What a helper does: compile in order what `tasks` gives; `saving` is the lock that is held to write files.

    Tasks are looked up after the watch over the input has begun, as importing kernels takes a while.
    """

    def watch() -> None:
        sys.stdin.buffer.read()
        with saving:
            os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
    for name, task in tasks().items():
        print("begun", name, flush=True)
        task()
        print("written", name, flush=True)
