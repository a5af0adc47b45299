"""Worker processes, so that one schema can neither end the run nor hold it up.

An exception is caught in the worker and becomes that schema's verdict. What no `except` catches (a crash of native
code, memory running out, a loop without end) ends the worker, which is replaced. A worker sends its report twice, after
compiling and after testing: when testing takes too long, the verdict of compiling stays.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

from constrain.coverage.inputs import SchemaInput
from constrain.coverage.report import CRASHED, UNDECIDED, KeywordUse, Place, SchemaReport, TestReport, clean

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

_MEMORY_LIMIT = 8 << 30
"""Bytes of address space of a worker, where the system can limit it: one schema must not take the machine with it."""

_START_SECONDS = 300.0
"""How long a worker may take to start; the first one on a machine compiles the kernels."""


@dataclass(frozen=True, slots=True)
class Options:
    """What is done with a schema: whether it is property-tested, with how many examples and which seed."""

    test: bool = True
    max_examples: int = 100
    seed: int | None = 0


def examine(entry: SchemaInput, options: Options) -> Iterator[SchemaReport]:
    """The report on one schema: after compiling, and once more after testing. Never raises an `Exception`."""
    report = _blank(entry)
    begun = time.perf_counter()
    try:
        from constrain.coverage.inspection import inspect

        schema = json.loads(entry.text)
        compiled = inspect(schema, report)
        report.seconds = time.perf_counter() - begun
        yield report
        if not options.test:
            return
        from constrain.coverage import verification

        how: dict[str, Any] = {"max_examples": options.max_examples, "seed": options.seed}
        if compiled is not None:
            report.test = verification.verify(schema, compiled, entry.tests, **how)
            yield report
        elif report.error == "UnsatisfiableSchemaError":
            report.test = verification.verify_unsatisfiable(schema, entry.tests, **how)
            yield report
    except Exception as error:
        report.seconds = time.perf_counter() - begun
        where = traceback.extract_tb(error.__traceback__)[-1]
        _crash(report, type(error).__name__, f"{error} ({where.filename.rpartition('/')[2]}:{where.lineno})")
        yield report


def _blank(entry: SchemaInput) -> SchemaReport:
    return SchemaReport(
        clean(entry.name),
        clean(entry.file),
        clean(entry.pointer),
        clean(entry.location),
        line=entry.line,
        used_by=tuple(map(clean, entry.used_by)),
        absolute=entry.absolute,
    )


def _crash(report: SchemaReport, error: str, reason: str) -> None:
    report.verdict, report.error = CRASHED, error
    report.problems.append(Place("", "", clean(" ".join(f"{error}: {reason}".split()))[:400]))
    report.keywords["(schema)"] = KeywordUse(1, {CRASHED: 1}, [("", CRASHED)])


def _work(connection: Connection, options: Options) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers
    _limit_memory()
    _warm_up(options)
    connection.send(None)
    while (entry := connection.recv()) is not None:
        for report in examine(entry, options):
            connection.send(report)
        connection.send(None)


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # not on this system
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = _MEMORY_LIMIT if hard == resource.RLIM_INFINITY else min(_MEMORY_LIMIT, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def _warm_up(options: Options) -> None:
    """Compile all that is compiled once, before any schema's time runs."""
    import constrain

    constrain.warm_up(quiet=True)
    members = {"a": {"type": "string", "pattern": "^a+$", "maxLength": 9}, "b": {"type": "number", "maximum": 9}}
    schema = {"properties": {**members, "c": {"type": "array", "items": {"enum": [1, "x"]}}}, "required": ["a"]}
    for _ in examine(SchemaInput("", "", "", json.dumps(schema)), replace(options, max_examples=8)):
        pass


class _Worker:
    """A process and what it is busy with. `task` is the number of a schema, None while starting or idle."""

    def __init__(self, options: Options) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process: SpawnProcess = context.Process(target=_work, args=(theirs, options), daemon=True)
        self.process.start()
        theirs.close()
        self.task: int | None = None
        self.report: SchemaReport | None = None
        self.ready = False
        self.deadline = time.monotonic() + _START_SECONDS

    def give(self, task: int, entry: SchemaInput, timeout: float) -> None:
        self.task, self.report = task, None
        self.deadline = time.monotonic() + timeout
        self.connection.send(entry)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def run(
    entries: Sequence[SchemaInput],
    options: Options,
    *,
    jobs: int = 1,
    timeout: float = 60.0,
    on_done: Callable[[SchemaReport], Any] = lambda _report: None,
) -> list[SchemaReport]:
    """Examine schemas in `jobs` processes; reports come in the order of the schemas.

    Args:
        entries: the schemas.
        options: what to do with each.
        jobs: how many processes.
        timeout: seconds for one schema, compiling and testing together.
        on_done: called with each report as it comes, in any order.

    Raises:
        RuntimeError: a worker process does not start.
    """
    reports: list[SchemaReport | None] = [None] * len(entries)
    pending = iter(range(len(entries)))
    left = len(entries)
    workers = [_Worker(options) for _ in range(max(1, min(jobs, left)))]

    def finish(worker: _Worker, report: SchemaReport) -> None:
        nonlocal left
        assert worker.task is not None
        reports[worker.task] = report
        worker.task, left = None, left - 1
        on_done(report)

    def exchange(worker: _Worker, error: str, reason: str) -> None:
        """The worker is gone or has to go: what it was busy with is done, and another takes its place."""
        worker.end()
        workers.remove(worker)
        if not worker.ready:
            raise RuntimeError(f"a worker process did not start: {reason}")
        if worker.task is not None:
            report = worker.report
            if report is None:
                report = _blank(entries[worker.task])
                _crash(report, error, reason)
            else:
                report.test = TestReport(UNDECIDED, message=f"{error}: {reason}")
            finish(worker, report)
        if left > len(workers):
            workers.append(_Worker(options))

    try:
        while left:
            for worker in workers:
                if worker.ready and worker.task is None and (task := next(pending, None)) is not None:
                    worker.give(task, entries[task], timeout)
            busy = [worker for worker in workers if worker.task is not None or not worker.ready]
            soonest = min(worker.deadline for worker in busy)
            readable = wait([w.connection for w in busy], timeout=max(0.0, soonest - time.monotonic()))
            for worker in busy:
                if worker.connection in readable:
                    try:
                        message = worker.connection.recv()
                    except (EOFError, ConnectionError):
                        worker.process.join()
                        exchange(worker, "WorkerDied", _how_it_ended(worker.process.exitcode))
                        continue
                    if isinstance(message, SchemaReport):
                        worker.report = message
                    elif not worker.ready:
                        worker.ready = True
                    elif worker.report is not None:
                        finish(worker, worker.report)
                elif time.monotonic() > worker.deadline:
                    what = f"no answer within {timeout:g} seconds" if worker.ready else "it took too long"
                    exchange(worker, "Timeout", what)
    finally:
        for worker in workers:
            worker.end()
    return [report for report in reports if report is not None]


def _how_it_ended(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        try:
            name = signal.Signals(-exit_code).name
        except ValueError:
            name = str(-exit_code)
        return f"the worker process was ended by the signal {name}"
    return f"the worker process ended with status {exit_code}"
