"""`constrain bench batch`: masks per second when many sequences advance together, as in a server.

One step is what a server does between two forward passes: every row takes the token it was given, then the mask of
every row is computed. Rows follow different schemas with new values each time, and begin another when theirs is over
(which is not timed). All engines get the same work: instances of the schemas that all of them pass. Each is measured
on one thread and on all cores, through whatever it offers for batches; an engine that holds Python's lock has one
figure.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from constrain.bench import corpus
from constrain.bench.engines import Unavailable, choose, cores, is_ours, load_engine
from constrain.bench.isolated import Failed, single_threaded, stream
from constrain.bench.maskbench import drive, run_item
from constrain.bench.results import BenchError, Result, describe
from constrain.bench.tables import Cell, Table, figure, ranked, ratio
from constrain.bench.tokenizers import load_tokenizer
from constrain.bench.variants import variants

ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_FEWEST_COMMON = 5


def passing(name: str, tokenizer: str, lines: list[str]) -> Iterator[str]:
    """In a process of its own: the ids of the items that an engine passes."""
    model = load_tokenizer(tokenizer)
    engine = load_engine(name, model)
    for line in lines:
        item = corpus.parse_item(line)
        try:
            passed = run_item(item, engine, model).passes
        except Exception:
            passed = False
        yield item.id if passed else ""


def measure(
    name: str, tokenizer: str, lines: list[str], rows: Sequence[int], threads: Sequence[int], seconds: float
) -> Iterator[dict[str, Any]]:
    """In a process of its own: one record for each number of rows and threads."""
    model = load_tokenizer(tokenizer)
    engine = load_engine(name, model)
    streams: list[_Stream] = []
    for line in lines:
        item = corpus.parse_item(line)
        compiled = engine.compile(item.schema)
        for instance in item.instances:
            if instance.valid:
                texts = variants(item.schema, instance.data, len(streams))
                streams.append(_Stream(compiled, texts, model.encode))
    for stream_ in streams:  # a server has run for a while
        sequence, tokens = stream_.start()
        drive(sequence, tokens, [], [])
    yield {"streams": len(streams)}
    for count in rows:
        seen = set()
        for wanted in threads:
            record = _one(engine, streams, count, wanted, seconds)
            if record["threads"] not in seen:
                seen.add(record["threads"])
                yield record


class _Stream:
    """Sequences under one schema, each with new values."""

    def __init__(self, compiled: Any, values: Iterator[Any], encode: Callable[[str], list[int]]) -> None:
        self.compiled, self.values, self.encode = compiled, values, encode

    def start(self) -> tuple[Any, list[int]]:
        """A new sequence, and the tokens that it will be given."""
        text = json.dumps(next(self.values), ensure_ascii=False)
        return self.compiled.start(), self.encode(text)


def _one(engine: Any, streams: list[_Stream], count: int, threads: int, seconds: float) -> dict[str, Any]:
    at = [0] * count
    which = [row % len(streams) for row in range(count)]
    begun = [streams[which[row]].start() for row in range(count)]
    sequences = [sequence for sequence, _ in begun]
    ids = [tokens for _, tokens in begun]
    for sequence in sequences:
        sequence.mask()
    batch = engine.batch(sequences, threads)
    gc.collect()
    spent: list[int] = []
    cpu = 0.0
    begin = time.perf_counter()
    try:
        # The first steps of all rows are the same few tokens; they are left out along with what they warm up.
        for step in range(1_000_000):
            tokens = [ids[row][at[row]] for row in range(count)]
            cpu_before, before = time.process_time(), time.perf_counter_ns()
            batch.step(tokens)
            after = time.perf_counter_ns()
            if step >= 2:
                spent.append(after - before)
                cpu += time.process_time() - cpu_before
            for row in range(count):
                at[row] += 1
                if at[row] >= len(ids[row]):
                    which[row], at[row] = (which[row] + count) % len(streams), 0
                    sequence, ids[row] = streams[which[row]].start()
                    sequence.mask()
                    batch.replace(row, sequence)
            if len(spent) >= 3 and time.perf_counter() - begin >= seconds:
                break
        wall = sum(spent) / 1e9
        used = batch.threads
    finally:
        batch.close()
    ordered = sorted(spent)
    return {
        "rows": count,
        "threads": used,
        "steps": len(spent),
        "masks_per_s": round(count * len(spent) / wall, 1),
        "step_us": {
            "mean": round(wall / len(spent) * 1e6, 2),
            "p50": round(ordered[len(ordered) // 2] / 1e3, 2),
            "max": round(ordered[-1] / 1e3, 2),
        },
        "cpu_per_wall": round(cpu / wall, 2),
    }


def run(
    lines: Sequence[str],
    engines: Sequence[str],
    *,
    tokenizer: str,
    rows: Sequence[int],
    seconds: float,
    limit_s: float,
    source: str,
    advance: Callable[[str], None] = lambda _: None,
) -> Result:
    """Measure all engines.

    Args:
        lines: from `corpus.select`.
        engines: names of engines.
        tokenizer: its name.
        rows: numbers of sequences.
        seconds: how long each number of rows is run at least.
        limit_s: seconds until an engine must have answered, for each number of rows.
        source: what to call the corpus.
        advance: called for each engine that went through the corpus, and for each that was measured.
    """
    model = load_tokenizer(tokenizer)
    present, missing = choose(engines)
    result = Result("batch", {})
    for unavailable in missing:
        result.skip(unavailable)
    passed: dict[str, set[str]] = {}
    with single_threaded():
        for name in present:
            found: set[str] = set()
            try:
                found.update(filter(None, stream(passing, name, tokenizer, list(lines), limit_s=limit_s)))
                passed[name] = found
            except Unavailable as unavailable:
                result.skip(unavailable)
            except Failed as failed:
                if len(found) >= _FEWEST_COMMON:
                    passed[name] = found
                else:
                    result.skip(Unavailable(name, str(failed)))
            advance(name)
        common = _common(passed, result)
        chosen = [line for line in lines if corpus.parse_item(line).id in common]
        threads = sorted({1, cores()})
        records: dict[str, list[dict[str, Any]]] = {}
        work: dict[str, Any] = {"schemas": len(chosen)}
        for name in passed:
            records[name] = []
            try:
                for record in stream(measure, name, tokenizer, chosen, rows, threads, seconds, limit_s=limit_s):
                    if "streams" in record:
                        work |= record
                    else:
                        records[name].append(record)
            except Unavailable as unavailable:
                result.skip(unavailable)
            except Failed as failed:
                done = f" after {records[name][-1]['rows']} rows" if records[name] else ""
                result.skip(Unavailable(name, f"gave up{done}: {failed}"))
            advance(name)
    result.meta = describe(records, model, corpus=source, seconds=seconds, limit_s=limit_s)
    result.data = {"work": work, "cores": cores(), "engines": {n: r for n, r in records.items() if r}}
    return result


def _common(passed: dict[str, set[str]], result: Result) -> set[str]:
    """What all engines pass; those with which too little would be left do not take part."""
    while passed:
        common = set.intersection(*passed.values())
        if len(common) >= _FEWEST_COMMON:
            return common
        weakest = min(passed, key=lambda name: len(passed[name]))
        result.skip(Unavailable(weakest, f"passes too few of the schemas ({len(passed[weakest])})"))
        del passed[weakest]
    raise BenchError(f"no engine passes {_FEWEST_COMMON} schemas of this corpus")


def tables(result: Result) -> list[Table]:
    """Masks per second by rows, for one thread and for all cores, and per second of processor time."""
    engines = result.data["engines"]
    total = result.data["cores"]
    rows = sorted({r["rows"] for records in engines.values() for r in records})
    found = [
        _table(result, rows, f"Masks per second, one of {total} cores", lambda r: r["threads"] == 1, per_core=False)
    ]
    if total > 1:
        found.append(_table(result, rows, f"Masks per second, up to {total} cores", None, per_core=False))
    found.append(_table(result, rows, "Masks per second of processor time", None, per_core=True))
    work = result.data["work"]
    found[0].note = (
        f"A mask is one accepted token and one filled row. {work.get('streams', 0)} kinds of text, with new values "
        f"each time, under {work['schemas']} schemas that all of these engines pass."
    )
    return found


def best_of(
    records: list[dict[str, Any]],
    rows: int,
    which: Callable[[dict[str, Any]], bool] | None,
    *,
    per_core: bool = False,
) -> Any:
    """The record with the most masks per second among those of so many rows; None where there is none."""
    found = [r for r in records if r["rows"] == rows and (which is None or which(r))]
    return max(found, key=lambda r: _speed(r, per_core)) if found else None


def _speed(record: dict[str, Any], per_core: bool) -> float:
    """Masks per second, or per second of processor time: the same on a machine that others use at the same time."""
    speed: float = record["masks_per_s"]
    return speed / record["cpu_per_wall"] if per_core and record.get("cpu_per_wall") else speed


def _table(
    result: Result,
    rows: list[int],
    title: str,
    which: Callable[[dict[str, Any]], bool] | None,
    *,
    per_core: bool,
) -> Table:
    engines = result.data["engines"]
    names = list(engines)
    ours = next((n for n in names if is_ours(n)), None)
    peers = [n for n in names if not is_ours(n)]
    compared = ours is not None and bool(peers)
    table = Table(title, ["rows", *names, *(["vs best peer"] if compared else [])])
    for count in rows:
        values: list[float | None] = []
        for name in names:
            record = best_of(engines[name], count, which, per_core=per_core)
            values.append(_speed(record, per_core) if record else None)
        cells: list[Cell] = ranked(values, [figure(v) for v in values], low=False)
        if compared and ours is not None:
            by_name = dict(zip(names, values, strict=True))
            cells.append(ratio(by_name[ours], [by_name[p] for p in peers], low=False))
        table.add(str(count), *cells)
    return table
