"""`constrain bench masks`: verdicts, time to the first mask and time between masks, engines side by side.

Every engine has a process of its own and one thread. They take turns schema by schema, each in turn going first, so
that whatever else the machine does falls on all of them alike. What is timed, and how crashes and hangs are contained,
is `maskbench`'s business.

A schema counts once: as passed where every valid instance was accepted token by token and could end, and every invalid
one was refused; else by the worst that happened. Times are of all schemas that an engine compiled, so an engine that
refuses the hard ones looks fast: the tables on common schemas compare like with like.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.bench import corpus
from constrain.bench.engines import Unavailable, choose, is_ours
from constrain.bench.isolated import single_threaded
from constrain.bench.maskbench import Setup, Worker
from constrain.bench.report import PERCENTILES, ItemResult, percentiles
from constrain.bench.results import Result, describe
from constrain.bench.tables import Cell, Table, figure, ranked, ratio
from constrain.bench.tokenizers import load_tokenizer

VERDICTS = {
    "passed": "passed",
    "refused": "refused to compile",
    "accepted invalid": "accepted an invalid instance",
    "refused valid": "refused a valid instance, or raised",
    "timeout": "over the time limit",
    "crash": "crashed",
    "error": "failed with an error",
}
STATISTICS = {
    "mean": "mean",
    **{f"p{p:g}": f"p{p:g}" for p in PERCENTILES},
    "max": "worst",
    "max_apart": "worst, collector apart",
}
"""The rows of a table of times. A pass of Python's garbage collector may make the worst one what it is."""
_CURVE_POINTS = 160


def verdict(item: ItemResult) -> str:
    """What a schema counts as: a key of `VERDICTS`. An accepted invalid instance weighs more than a refused one."""
    if item.outcome != "compiled":
        return item.outcome
    if any(not w["label"] and not w["cause"].startswith("raised") for w in item.wrong):
        return "accepted invalid"
    return "refused valid" if item.wrong else "passed"


def run(
    lines: Sequence[str],
    engines: Sequence[str],
    *,
    tokenizer: str,
    limit_s: float,
    source: str,
    advance: Callable[[str], None] = lambda _: None,
) -> Result:
    """Drive all engines over the lines of a corpus.

    Args:
        lines: from `corpus.select`.
        engines: names of engines; those that are missing are named in the result.
        tokenizer: its name.
        limit_s: seconds that an engine has for a schema with its instances.
        source: what to call the corpus.
        advance: called with the name of each schema that is done.
    """
    model = load_tokenizer(tokenizer)
    present, missing = choose(engines)
    workers: dict[str, Worker] = {}
    items: dict[str, list[ItemResult]] = {}
    result = Result("masks", {})
    for unavailable in missing:
        result.skip(unavailable)
    with single_threaded():
        try:
            for name in present:
                try:
                    workers[name] = Worker(Setup(name, tokenizer, limit_s), grace_s=5.0)
                    items[name] = []
                except Unavailable as unavailable:
                    result.skip(unavailable)
                except RuntimeError as error:
                    result.skip(Unavailable(name, str(error)))
            for number, line in enumerate(lines):
                order = list(workers)
                order = order[number % max(1, len(order)) :] + order[: number % max(1, len(order))]
                for name in order:
                    try:
                        items[name].append(workers[name].run(line))
                    except (RuntimeError, Unavailable) as error:  # it could not be started again
                        result.skip(Unavailable(name, f"gave up after {len(items[name])} schemas: {error}"))
                        del workers[name]
                advance(corpus.parse_item(line).id)
        finally:
            for worker in workers.values():
                worker.close()
    result.meta = describe(items, model, corpus=source, schemas=len(lines), limit_s=limit_s)
    result.data = summarise(items, len(lines))
    return result


def summarise(items: dict[str, list[ItemResult]], schemas: int) -> dict[str, Any]:
    """The figures of all engines, of the schemas that all of them pass, and of those that each peer shares with us."""
    passed = {name: {i.id for i in found if verdict(i) == "passed"} for name, found in items.items()}
    common = set.intersection(*passed.values()) if passed else set()
    pairs = {}
    ours = next((name for name in items if is_ours(name)), None)
    for name in items:
        if ours is not None and not is_ours(name) and (both := passed[ours] & passed[name]):
            pairs[name] = {"schemas": len(both), "ours": _times(items[ours], both), "peer": _times(items[name], both)}
    return {
        "schemas": schemas,
        "engines": {name: _summary(found) for name, found in items.items()},
        "common": {"schemas": len(common), "engines": {n: _times(found, common) for n, found in items.items()}}
        if common and len(items) > 1
        else None,
        "pairs": {"of": ours, "peers": pairs},
    }


def _all_tbm(items: Sequence[ItemResult]) -> NDArray[np.float32]:
    return np.concatenate([i.tbm_us for i in items]) if items else np.zeros(0, np.float32)


def _times(items: Sequence[ItemResult], ids: set[str]) -> dict[str, Any]:
    chosen = [i for i in items if i.id in ids]
    ttfm = np.array([i.ttfm_us for i in chosen if i.ttfm_us is not None])
    return {
        "tokens": sum(len(i.tbm_us) for i in chosen),
        "ttfm_us": _rounded(percentiles(ttfm)),
        "tbm_us": _tbm_figures(chosen),
    }


def _tbm_figures(items: Sequence[ItemResult]) -> dict[str, float]:
    """As `percentiles`, and the longest time apart from the passes of Python's garbage collector."""
    figures = percentiles(_all_tbm(items))
    if figures:
        figures["max_apart"] = max(i.longest_apart_us for i in items)
    return _rounded(figures)


def _summary(items: Sequence[ItemResult]) -> dict[str, Any]:
    tbm = _all_tbm(items)
    ttfm = np.array([i.ttfm_us for i in items if i.ttfm_us is not None])
    compiling = np.array([i.compile_us for i in items if i.compile_us is not None])
    wall, cpu = sum(i.wall_s for i in items), sum(i.cpu_s for i in items)
    counts = Counter(verdict(i) for i in items)
    return {
        "verdicts": {name: counts[name] for name in VERDICTS},
        "causes": dict(Counter(w["cause"] for i in items for w in i.wrong).most_common()),
        "instances": sum(i.instances for i in items),
        "tokens": len(tbm),
        "ttfm_us": _rounded(percentiles(ttfm)),
        "compile_us": _rounded(percentiles(compiling)),
        "tbm_us": _tbm_figures(items),
        "collected": sum(i.collected for i in items),
        "cpu_per_wall": round(cpu / wall, 3) if wall else None,
        "peak_memory_mib": round(max((i.memory_mib for i in items), default=0.0), 1),
        "curves": {"ttfm_us": curve(ttfm), "tbm_us": curve(tbm)},
        "items": [i.as_json() | {"verdict": verdict(i)} for i in items],
    }


def _rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 2) for name, value in figures.items()}


def curve(values: NDArray[np.floating[Any]]) -> list[list[float]]:
    """Points (share of values that are larger, value), close together in the tail, for a distribution on log axes."""
    if not len(values):
        return []
    shares = np.geomspace(1.0, 1.0 / len(values), min(_CURVE_POINTS, len(values)))
    shares[0] = 1.0
    found = np.quantile(values, 1.0 - shares)
    found[-1] = values.max()
    return [[float(f"{s:.4g}"), round(float(v), 2)] for s, v in zip(shares, found, strict=True)]


def tables(result: Result) -> list[Table]:
    """Verdicts and times of all engines; times on common schemas; this library against each peer."""
    engines = result.data["engines"]
    names = list(engines)
    peers = [n for n in names if not is_ours(n)]
    ours = next((n for n in names if is_ours(n)), None)
    found = [_verdict_table(result, names)]
    for title, key in (
        ("Time to the first mask (TTFM): compile and first mask, µs", "ttfm_us"),
        ("Time between masks (TBM): one mask and one accepted token, µs", "tbm_us"),
    ):
        values = {n: engines[n][key] for n in names}
        found.append(_time_table(title, values, names, ours, peers, "Of the schemas that each engine compiled."))
    common = result.data.get("common")
    if common:
        note = f"Of the {common['schemas']} schemas that all of these engines pass."
        for title, key in (("TTFM on common schemas, µs", "ttfm_us"), ("TBM on common schemas, µs", "tbm_us")):
            values = {n: common["engines"][n][key] for n in names}
            found.append(_time_table(title, values, names, ours, peers, note))
    if result.data["pairs"]["peers"]:
        found.append(_pair_table(result))
    return found


def _verdict_table(result: Result, names: list[str]) -> Table:
    table = Table(f"Verdicts on {result.data['schemas']:,} schemas", ["", *names])
    for key, label in VERDICTS.items():
        counts = [result.data["engines"][n]["verdicts"][key] for n in names]
        if any(counts) or key == "passed":
            cells = ranked(counts, [f"{c:,}" for c in counts], low=False) if key == "passed" else None
            table.add(label, *(cells or [Cell(f"{c:,}", "" if c else "dim") for c in counts]))
    contradicted = [result.data["engines"][n]["causes"].get("label", 0) for n in names]
    if any(contradicted):
        table.add("labels missed that a validator contradicts", *(Cell(f"{c:,}", "dim") for c in contradicted))
    for label, key in (("instances driven", "instances"), ("tokens timed", "tokens")):
        table.add(label, *(Cell(f"{result.data['engines'][n][key]:,}", "dim") for n in names))
    shares = [result.data["engines"][n]["cpu_per_wall"] for n in names]
    table.add("CPU time per time", *(Cell(figure(s, 2), "bad" if s and s > 1.2 else "dim") for s in shares))
    memory = [result.data["engines"][n]["peak_memory_mib"] for n in names]
    table.add("peak memory, MiB", *(Cell(f"{m:,.0f}", "dim") for m in memory))
    table.note = "CPU time above 1 would betray more than one thread."
    return table


def _time_table(
    title: str,
    values: dict[str, dict[str, float]],
    names: list[str],
    ours: str | None,
    peers: list[str],
    note: str,
) -> Table:
    compared = ours is not None and bool(peers)
    table = Table(title, ["", *names, *(["vs best peer"] if compared else [])], note=note)
    for statistic, label in STATISTICS.items():
        row = [values[n].get(statistic) for n in names]
        if not any(value is not None for value in row):
            continue
        cells = ranked(row, [figure(v) for v in row])
        if compared and ours is not None:
            cells.append(ratio(values[ours].get(statistic), [values[p].get(statistic) for p in peers]))
        table.add(label, *cells)
    return table


def _pair_table(result: Result) -> Table:
    pairs = result.data["pairs"]
    wanted = [
        ("TTFM p50", "ttfm_us", "p50"),
        ("TTFM p99", "ttfm_us", "p99"),
        ("TBM mean", "tbm_us", "mean"),
        ("TBM p50", "tbm_us", "p50"),
        ("TBM p99", "tbm_us", "p99"),
        ("TBM worst", "tbm_us", "max"),
    ]
    table = Table(
        f"How many times faster {pairs['of']} is than each peer, on the schemas that both pass",
        ["", "schemas", *(w[0] for w in wanted)],
    )
    for name, pair in pairs["peers"].items():
        cells = [ratio(pair["ours"][key].get(s), [pair["peer"][key].get(s)]) for _, key, s in wanted]
        table.add(name, f"{pair['schemas']:,}", *cells)
    return table
