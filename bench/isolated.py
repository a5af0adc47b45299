"""Measurements in a process of their own, which may crash or hang without taking the benchmark with it."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any


class Failed(Exception):
    """A measuring process crashed, raised, or ran past its time; the text says which."""


@contextlib.contextmanager
def environment(changes: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for the processes that are started inside."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def single_threaded() -> contextlib.AbstractContextManager[None]:
    """One thread for the numeric libraries and thread pools of processes that are started inside."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS", "NUMBA_NUM_THREADS")
    return environment(dict.fromkeys(names, "1") | {"TOKENIZERS_PARALLELISM": "false"})


def quiet() -> None:
    """Send what libraries write to standard error nowhere, for the rest of this process: peers' C++ prints warnings
    there, in the middle of a progress bar. `CONSTRAIN_DEBUG` keeps it."""
    if os.environ.get("CONSTRAIN_DEBUG", "") in ("", "0"):
        sys.stderr.flush()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)


def _serve(connection: Any, function: Callable[..., Iterator[Any]], arguments: tuple[Any, ...]) -> None:
    quiet()
    try:
        for value in function(*arguments):
            connection.send(("value", value))
        connection.send(("end", None))
    except Exception as error:
        try:
            connection.send(("error", error))
        except Exception:  # it cannot be pickled
            connection.send(("error", RuntimeError(f"{type(error).__name__}: {error}")))


def stream(function: Callable[..., Iterator[Any]], *arguments: Any, limit_s: float) -> Iterator[Any]:
    """What a generator function of some module yields when it runs in a new process.

    Args:
        function: importable by its name.
        arguments: picklable.
        limit_s: seconds from one value to the next.

    Raises:
        Failed: the process crashed, or a value took too long.
        Exception: what the function raises.
    """
    context = multiprocessing.get_context("spawn")
    connection, far_end = context.Pipe()
    process = context.Process(target=_serve, args=(far_end, function, arguments), daemon=True)
    process.start()
    far_end.close()
    try:
        while True:
            if not connection.poll(limit_s):
                raise Failed(f"over {limit_s:g} s")
            try:
                kind, value = connection.recv()
            except (EOFError, OSError):
                process.join(5)
                raise Failed(f"the process ended with exit code {process.exitcode}") from None
            if kind == "end":
                return
            if kind == "error":
                raise value
            yield value
    finally:
        connection.close()
        process.join(0.2 if process.exitcode is None else 1)
        if process.is_alive():
            process.kill()
            process.join()
