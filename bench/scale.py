"""`constrain bench scale`: how compile and masks grow with what a schema asks for.

Each series varies one thing and keeps the rest: a length, a count, an enumeration, depth, shared definitions, tools,
the text's own length. A point is compile plus first mask, and the mean time of a mask along an instance of that
schema. An engine that refuses a point, gets its verdict wrong, or runs past the time limit is marked there; the larger
points of that series are then not tried with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from constrain.bench.engines import Unavailable, choose, is_ours
from constrain.bench.isolated import single_threaded
from constrain.bench.maskbench import Setup, Worker
from constrain.bench.masks import verdict
from constrain.bench.results import BenchError, Result, describe
from constrain.bench.tables import Cell, Table, duration, ranked, ratio
from constrain.bench.tokenizers import load_tokenizer
from constrain.bench.tool_schemas import closed


@dataclass(frozen=True)
class Series:
    """One thing that is varied.

    Attributes:
        title: for tables and plots.
        axis: what its numbers are.
        points: in growing order; those beyond `quick` are left out of a quick run.
        make: schema and a valid instance for a number.
    """

    title: str
    axis: str
    points: tuple[int, ...]
    make: Callable[[int], tuple[Any, Any]]
    quick: int = 1000


_TEXT = "The quick brown fox jumps over the lazy dog. "


def _max_length(n: int) -> tuple[Any, Any]:
    return closed(text={"type": "string", "maxLength": n}), {"text": (_TEXT * 10)[: min(n, 300)]}


def _max_items(n: int) -> tuple[Any, Any]:
    return closed(values={"type": "array", "items": {"type": "integer"}, "maxItems": n}), {
        "values": list(range(min(n, 60)))
    }


def _properties(n: int) -> tuple[Any, Any]:
    kinds: list[Any] = [{"type": "string"}, {"type": "integer"}, {"type": "boolean"}]
    names = [f"property_{i:05}" for i in range(n)]
    values: list[Any] = ["text", 42, True]
    return closed([], **{name: kinds[i % 3] for i, name in enumerate(names)}), {
        name: values[i % 3] for i, name in enumerate(names) if i % max(1, n // 20) == 0
    }


def _enum(n: int) -> tuple[Any, Any]:
    return closed(code={"enum": [f"{(i * 7919) % 1_000_003:06}-item" for i in range(n)]}), {
        "code": f"{((n // 2) * 7919) % 1_000_003:06}-item"
    }


def _nesting(n: int) -> tuple[Any, Any]:
    schema: Any = {"type": "integer"}
    value: Any = 1
    for _ in range(n):
        schema, value = closed(a=schema, b={"type": "string"}), {"a": value, "b": "x"}
    return schema, value


def _definitions(n: int) -> tuple[Any, Any]:
    shared = closed(**{f"field_{i}": {"type": "string", "maxLength": 20} for i in range(10)})
    names = [f"part_{i:04}" for i in range(n)]
    schema = {"$defs": {"shared": shared}, **closed([], **{name: {"$ref": "#/$defs/shared"} for name in names})}
    return schema, {names[n // 2]: {f"field_{i}": "value" for i in range(10)}}


def tools(n: int) -> dict[str, Any]:
    """A choice between calls of so many tools, each of ten parameters."""
    kinds: list[Any] = [
        {"type": "string"},
        {"type": "integer"},
        {"type": "boolean"},
        {"enum": ["low", "high"]},
        {"type": "array", "items": {"type": "string"}},
    ]
    return {
        "anyOf": [
            closed(
                name={"const": f"tool_{i:05}"},
                arguments=closed(
                    [f"argument_{k}" for k in range(5)], **{f"argument_{k}": kinds[(i + k) % 5] for k in range(10)}
                ),
            )
            for i in range(n)
        ]
    }


def _tools(n: int) -> tuple[Any, Any]:
    values: list[Any] = ["text", 42, True, "high", ["a", "b"]]
    which = n // 2
    arguments = {f"argument_{k}": values[(which + k) % 5] for k in range(10)}
    return tools(n), {"name": f"tool_{which:05}", "arguments": arguments}


def _output(n: int) -> tuple[Any, Any]:
    item = closed(id={"type": "integer"}, name={"type": "string"}, done={"type": "boolean"})
    return {"type": "array", "items": item}, [{"id": i, "name": f"entry {i}", "done": i % 2 == 0} for i in range(n)]


def _powers(base: int, last: int) -> tuple[int, ...]:
    """1, base, base², … as far as `last`."""
    found = [1]
    while found[-1] * base <= last:
        found.append(found[-1] * base)
    return tuple(found)


SERIES: dict[str, Series] = {
    "max-length": Series("maxLength of a string", "maxLength", _powers(10, 1_000_000)[1:], _max_length),
    "max-items": Series("maxItems of an array", "maxItems", _powers(10, 100_000)[1:], _max_items),
    "properties": Series("Optional properties of an object", "properties", _powers(4, 4_096)[1:], _properties, 64),
    "enum": Series("Values of an enumeration", "values", _powers(10, 100_000)[1:], _enum),
    "nesting": Series("Depth of nested objects", "depth", _powers(2, 128)[1:], _nesting, 16),
    "definitions": Series("Uses of one definition", "uses", _powers(4, 1_024), _definitions, 16),
    "tools": Series("Tools of ten parameters", "tools", (*_powers(4, 4_096), 16_000), _tools, 64),
    "output": Series("Length of the output", "array items", _powers(10, 1_000), _output, 100),
}


def choose_series(names: Sequence[str]) -> list[str]:
    """Check names of series. Raises `BenchError` where there is none of that name."""
    for name in names:
        if name not in SERIES:
            raise BenchError(f"unknown series {name!r}; there are {', '.join(SERIES)}")
    return list(names) or list(SERIES)


def points_of(name: str, *, quick: bool) -> list[int]:
    """The numbers of a series."""
    series = SERIES[name]
    return [n for n in series.points if not quick or n <= series.quick]


def run(
    engines: Sequence[str],
    *,
    tokenizer: str,
    series: Sequence[str],
    limit_s: float,
    quick: bool = False,
    advance: Callable[[str], None] = lambda _: None,
) -> Result:
    """Measure all points with all engines, engine by engine at each point.

    Args:
        engines: names of engines.
        tokenizer: its name.
        series: names in `SERIES`.
        limit_s: seconds that an engine has for one point.
        quick: leave out the large points.
        advance: called for each point.
    """
    model = load_tokenizer(tokenizer)
    present, missing = choose(engines)
    result = Result("scale", {})
    for unavailable in missing:
        result.skip(unavailable)
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    workers: dict[str, Worker] = {}
    with single_threaded():
        try:
            for name in present:
                try:
                    workers[name] = Worker(Setup(name, tokenizer, limit_s), grace_s=3.0)
                except (RuntimeError, Unavailable) as error:
                    reason = error.reason if isinstance(error, Unavailable) else str(error)
                    result.skip(Unavailable(name, reason))
            for title in series:
                over: set[str] = set()
                found[title] = {name: [] for name in workers}
                for number in points_of(title, quick=quick):
                    schema, value = SERIES[title].make(number)
                    item = {"id": f"{title} {number}", "schema": schema, "tests": [{"valid": True, "data": value}]}
                    line = json.dumps(item)
                    for name in [n for n in workers if n not in over]:
                        try:
                            record = _point(number, workers[name].run(line))
                        except (RuntimeError, Unavailable) as error:
                            result.skip(Unavailable(name, f"gave up at {title} {number}: {error}"))
                            del workers[name]
                            continue
                        found[title][name].append(record)
                        if record["verdict"] != "passed":
                            over.add(name)
                    advance(f"{title} {number:,}")
        finally:
            for worker in workers.values():
                worker.close()
    result.meta = describe(next(iter(found.values()), {}), model, limit_s=limit_s, quick=quick)
    result.data = {"series": found}
    return result


def _point(number: int, item: Any) -> dict[str, Any]:
    record: dict[str, Any] = {"n": number, "verdict": verdict(item)}
    if item.reason:
        record["reason"] = item.reason[:200]
    if item.ttfm_us is not None:
        record["ttfm_us"] = round(item.ttfm_us, 1)
    if len(item.tbm_us):
        record["tbm_us"] = round(float(item.tbm_us.mean()), 2)
        record["worst_us"] = round(float(item.tbm_us.max()), 2)
        record["tokens"] = len(item.tbm_us)
    return record


def tables(result: Result) -> list[Table]:
    """Two tables for each series: time to the first mask, and mean time of a mask."""
    found = []
    for title, engines in result.data["series"].items():
        if title not in SERIES:
            continue
        for what, key in (("compile and first mask", "ttfm_us"), ("mean of a mask", "tbm_us")):
            found.append(_table(f"{SERIES[title].title}: {what}", SERIES[title].axis, engines, key))
    return found


def _table(title: str, axis: str, engines: dict[str, list[dict[str, Any]]], key: str) -> Table:
    names = list(engines)
    ours = next((n for n in names if is_ours(n)), None)
    peers = [n for n in names if not is_ours(n)]
    compared = ours is not None and bool(peers)
    table = Table(title, [axis, *names, *(["vs best peer"] if compared else [])])
    for number in sorted({r["n"] for records in engines.values() for r in records}):
        values: list[float | None] = []
        shown: list[str] = []
        for name in names:
            record = next((r for r in engines[name] if r["n"] == number), None)
            passed = record is not None and record["verdict"] == "passed"
            values.append(record.get(key) if record and passed else None)
            shown.append("–" if record is None else duration(record.get(key)) if passed else record["verdict"])
        cells = ranked(values, shown)
        cells = [c if v is not None else Cell(c.text, "dim") for c, v in zip(cells, values, strict=True)]
        if compared and ours is not None:
            by_name = dict(zip(names, values, strict=True))
            cells.append(ratio(by_name[ours], [by_name[p] for p in peers]))
        table.add(f"{number:,}", *cells)
    return table
