"""Masks over a MaskBench-format corpus: verdicts, time to the first mask (TTFM) and time between masks (TBM).

    python -m constrain.bench.maskbench --limit 2000 --tokenizer tekken

For each schema: compile it and compute the first mask (TTFM); then drive every instance, tokenised by the tokenizer,
through "compute the mask, look whether the token is in it, accept the token". TBM is the time of one mask and one
accepted token, with the overhead of the two Python calls, the bit test not counted; the very first mask of a schema is
in TTFM only. A valid instance must be accepted to its last token and may then end; an invalid one must be refused.

Schemas run one after the other in a worker process, so that a crash or a hang costs one schema: the worker raises an
alarm after the time limit, and the parent ends a worker that does not answer even so. After either, a new worker is
started, which warms up on one small schema first; compiling the kernels is not counted.
"""

from __future__ import annotations

import contextlib
import cProfile
import functools
import gc
import json
import multiprocessing
import platform
import pstats
import resource
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from constrain.bench import corpus
from constrain.bench.collector import COLLECTOR
from constrain.bench.engines import ENGINES, Compiled, Engine, Refused, Sequence, Unavailable, load_engine
from constrain.bench.isolated import quiet
from constrain.bench.report import ItemResult, Report, show
from constrain.bench.tokenizers import Tokenizer, load_tokenizer
from constrain.bench.verdicts import cause

WARM_UP = {"type": "object", "properties": {"a": {"type": ["string", "number"]}, "b": {"items": {"enum": ["x", 1]}}}}
"""Touches the usual kernels, so that their loading is not the first schema's time."""


@dataclass(frozen=True)
class Setup:
    """What a worker needs to begin."""

    engine: str
    tokenizer: str
    limit_s: float


class TimeLimit(BaseException):
    """A schema ran past its time. No `Exception`, so that no handler on the way swallows it."""


def _on_alarm(_signal: int, _frame: object) -> None:
    raise TimeLimit


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeLimit` in the main thread after `seconds`; code that never returns to Python is not interrupted."""
    previous = signal.signal(signal.SIGALRM, _on_alarm)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def drive(sequence: Sequence, ids: list[int], times: list[int], collected: list[int]) -> int:
    """Drive tokens through a sequence.

    Returns:
        the position of the first refused token; `len(ids)` where only the end is refused; -1 where all is accepted.
        Nanoseconds of each mask and accepted token go to `times`, and those of them that were the garbage collector's
        to `collected`.

    Raises:
        AssertionError: a token is in the mask, but is not accepted.
    """
    clock = time.perf_counter_ns
    for position, token in enumerate(ids):
        before = COLLECTOR.nanoseconds
        begin = clock()
        sequence.mask()
        middle = clock()
        if not sequence.allows(token):
            return position
        resumed = clock()
        accepted = sequence.accept(token)
        end = clock()
        if not accepted:
            raise AssertionError(f"token {token} at position {position} is in the mask, but is not accepted")
        times.append(middle - begin + end - resumed)
        collected.append(COLLECTOR.nanoseconds - before)
    sequence.mask()
    return -1 if sequence.may_end() else len(ids)


def _accepts(compiled: Compiled, tokenizer: Tokenizer, text: str) -> bool:
    return drive(compiled.start(), tokenizer.encode(text), [], []) < 0


def run_item(item: corpus.Item, engine: Engine, tokenizer: Tokenizer) -> ItemResult:
    """Compile one schema and drive its instances. Raises what the engine raises, other than refusals by name."""
    begin = time.perf_counter_ns()
    try:
        compiled = engine.compile(item.schema)
    except Refused as refused:
        result = ItemResult(item.id, "refused", refused.kind, refused.keyword, refused.pointer, refused.reason)
        if refused.kind == "unsatisfiable":
            for instance in item.instances:
                if instance.valid:
                    why = cause(item.schema, instance.data, accepted=False, accepts=lambda _: False)
                    result.wrong.append({"cause": why, "at": 0, "label": True, "text": instance.text[:2000]})
        return result
    middle = time.perf_counter_ns()
    sequence = compiled.start()
    sequence.mask()
    first_mask = time.perf_counter_ns()
    result = ItemResult(item.id, "compiled", ttfm_us=(first_mask - begin) / 1000, compile_us=(middle - begin) / 1000)
    times: list[int] = []
    collected: list[int] = []
    longest = 0
    for number, instance in enumerate(item.instances):
        text = instance.text
        try:
            ids = tokenizer.encode(text)
        except UnicodeEncodeError:
            continue  # a lone surrogate: no text of it exists
        result.instances += 1
        before = len(times)
        try:
            stopped = drive(sequence if number == 0 else compiled.start(), ids, times, collected)
        except Exception as error:
            result.wrong.append(
                {
                    "cause": f"raised {type(error).__name__}",
                    "at": -1,
                    "label": instance.valid,
                    "text": f"{error} | {text[:2000]}",
                }
            )
            continue
        if number == 0 and len(times) > before:
            times.pop(before)  # its mask was computed for TTFM already
            collected.pop(before)
        if len(times) > before and max(times[before:]) > longest:
            longest = max(times[before:])
            result.longest_at = (number, times.index(longest, before) - before + (number == 0))
        accepted = stopped < 0
        if accepted != instance.valid:
            why = cause(
                item.schema,
                instance.data,
                accepted=accepted,
                accepts=functools.partial(_accepts, compiled, tokenizer),
            )
            result.wrong.append({"cause": why, "at": stopped, "label": instance.valid, "text": text[:2000]})
    result.tbm_us = np.array(times, dtype=np.float32) / np.float32(1000)
    result.longest_apart_us = max((t - c for t, c in zip(times, collected, strict=True)), default=0) / 1000
    result.collected = sum(c > 0 for c in collected)
    return result


def _resident_mib() -> float:
    """Memory that this process holds now; 0 where the system has no `/proc`."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return pages * resource.getpagesize() / (1 << 20)


def _peak_memory_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def guarded(line: str, engine: Engine, tokenizer: Tokenizer, limit_s: float) -> ItemResult:
    """`run_item` on a corpus line, with every ending turned into a result."""
    item = corpus.parse_item(line)
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        with time_limit(limit_s):
            result = run_item(item, engine, tokenizer)
    except TimeLimit:
        result = ItemResult(item.id, "timeout", reason=f"over {limit_s:g} s")
    except Exception as error:
        frame = error.__traceback__
        while frame and frame.tb_next:
            frame = frame.tb_next
        place = f" ({Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno})" if frame else ""
        result = ItemResult(item.id, "error", reason=f"{type(error).__name__}: {error}{place}")
    result.wall_s, result.cpu_s = time.perf_counter() - wall, time.process_time() - cpu
    result.memory_mib, result.resident_mib = _peak_memory_mib(), _resident_mib()
    return result


def set_up(setup: Setup) -> tuple[Engine, Tokenizer]:
    """Load the tokenizer and the engine, and warm both up."""
    tokenizer = load_tokenizer(setup.tokenizer)
    engine = load_engine(setup.engine, tokenizer)
    getattr(engine, "warm_up", lambda: None)()
    warm = corpus.Item("warm-up", WARM_UP, (corpus.Instance({"a": "b\n", "b": ["x", 1], "c": -1.5}, True),))
    run_item(warm, engine, tokenizer)
    COLLECTOR.watch()
    gc.collect()
    gc.freeze()
    return engine, tokenizer


def _serve(connection: Any, setup: Setup) -> None:
    """A worker: answers each corpus line with its result until the connection closes."""
    quiet()
    try:
        engine, tokenizer = set_up(setup)
    except Exception as error:
        connection.send(error)
        return
    connection.send(None)
    while True:
        try:
            line = connection.recv()
        except EOFError:
            return
        connection.send(guarded(line, engine, tokenizer, setup.limit_s))


class Worker:
    """A worker process and the pipe to it; started again by itself after a crash or a hang."""

    def __init__(self, setup: Setup, grace_s: float) -> None:
        self.setup, self.grace_s = setup, grace_s
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, far_end = context.Pipe()
        self.process = context.Process(target=_serve, args=(far_end, self.setup), daemon=True)
        self.process.start()
        far_end.close()
        try:
            problem = self.connection.recv()
        except EOFError:
            self.process.join()
            raise RuntimeError(f"the worker died while it was set up, exit code {self.process.exitcode}") from None
        if problem is not None:
            self.close()
            raise problem

    def close(self) -> None:
        """End the process."""
        self.connection.close()
        self.process.join(1)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()

    def run(self, line: str) -> ItemResult:
        """The result of a corpus line."""
        name = str(json.loads(line)["id"])
        try:
            self.connection.send(line)
            if self.connection.poll(self.setup.limit_s + self.grace_s):
                result: ItemResult = self.connection.recv()
                if result.outcome != "timeout":
                    return result
                # The alarm may have cut the engine in the middle of an update, so this process is not used again.
            else:
                result = ItemResult(name, "timeout", reason="did not return to Python")
        except (EOFError, OSError):
            self.process.join()
            result = ItemResult(name, "crash", reason=f"the process ended with exit code {self.process.exitcode}")
        self.close()
        self._start()
        return result


def run(
    lines: list[str],
    setup: Setup,
    *,
    here: tuple[Engine, Tokenizer] | None = None,
    grace_s: float = 20.0,
    progress: Progress | None = None,
) -> Report:
    """Run corpus lines and collect their results.

    Args:
        lines: from `corpus.select`.
        setup: engine, tokenizer and time limit.
        here: from `set_up`, to run in this process, which a crash then ends; None uses a worker process.
        grace_s: how long after the time limit a worker may take to answer before it is ended.
        progress: where to show how far it is.
    """
    meta = {
        "engine": setup.engine,
        "tokenizer": setup.tokenizer,
        "limit_s": setup.limit_s,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "date": time.strftime("%Y-%m-%d %H:%M:%S"),
    }
    report = Report(meta)
    task = progress.add_task("schemas", total=len(lines)) if progress else None
    worker = None if here else Worker(setup, grace_s)
    try:
        for line in lines:
            if worker:
                report.items.append(worker.run(line))
            elif here:
                report.items.append(guarded(line, *here, setup.limit_s))
            if progress and task is not None:
                progress.advance(task)
    finally:
        if worker:
            worker.close()
    return report


app = typer.Typer(add_completion=False)


@app.command()
def main(
    corpus_file: Annotated[
        Path | None, typer.Option("--corpus", help="MaskBench-format .jsonl, .xz or .gz file")
    ] = None,
    engine: Annotated[str, typer.Option(help=f"{', '.join(ENGINES)} or module:factory")] = "constrain",
    tokenizer: Annotated[
        str, typer.Option(help="tekken, sentencepiece, bytes or a local Hugging Face tokenizer")
    ] = "tekken",
    limit: Annotated[int | None, typer.Option(help="how many schemas")] = None,
    offset: Annotated[int, typer.Option(help="how many schemas to leave out first")] = 0,
    seed: Annotated[int | None, typer.Option(help="take a random sample by this seed")] = None,
    ids: Annotated[str, typer.Option(help="only these ids, with commas between; a trailing * matches the rest")] = "",
    time_limit_s: Annotated[float, typer.Option("--time-limit", help="seconds per schema")] = 20.0,
    output: Annotated[Path | None, typer.Option(help="write all results to this JSON file")] = None,
    profile: Annotated[
        bool, typer.Option(help="run in this process under cProfile, and print the top functions")
    ] = False,
    memory: Annotated[bool, typer.Option(help="show the memory that the process holds as schemas go by")] = False,
    in_process: Annotated[bool, typer.Option(help="no worker process; a crash ends the run")] = False,
    strict: Annotated[bool, typer.Option(help="exit with 1 where a verdict of the engine is wrong")] = False,
) -> None:
    """Run the mask benchmark and print its tables."""
    console = Console(width=None if sys.stdout.isatty() else 140)
    if engine not in ENGINES and ":" not in engine:
        raise typer.BadParameter(f"unknown engine {engine!r}; there are {', '.join(ENGINES)}")
    try:
        path = corpus_file or corpus.default_corpus()
        names = [name.strip() for name in ids.split(",") if name.strip()]
        lines = corpus.select(path, ids=names, offset=offset, limit=limit, seed=seed)
    except (OSError, ValueError) as error:
        raise typer.BadParameter(str(error)) from error
    setup = Setup(engine, tokenizer, time_limit_s)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    profiler = cProfile.Profile() if profile else None
    try:
        here = set_up(setup) if in_process or profile else None
        with bar, profiler or contextlib.nullcontext():
            report = run(lines, setup, here=here, progress=bar)
    except Unavailable as unavailable:
        raise typer.BadParameter(str(unavailable)) from unavailable
    report.meta |= {"corpus": path.name, "limit": limit, "offset": offset, "seed": seed}
    if output:
        output.write_text(json.dumps(report.as_json(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    if profiler:
        pstats.Stats(profiler, stream=sys.stdout).sort_stats("tottime").print_stats(40)
    show(report, console, memory=memory)
    if strict and any(item.faults or item.outcome in ("crash", "error") for item in report.items):
        raise typer.Exit(1)


if __name__ == "__main__":
    app()
