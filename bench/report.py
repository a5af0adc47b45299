"""Figures and tables of a mask benchmark: shares, refusals by keyword, wrong verdicts, and times by percentile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

PERCENTILES = (25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9)


@dataclass
class ItemResult:
    """What one schema gave.

    Attributes:
        id: the corpus's name of it.
        outcome: "compiled", "refused", "timeout", "crash" or "error".
        keyword, pointer, reason: of a refusal (its kind first in `reason`), or the message of an error.
        ttfm_us: microseconds to compile and compute the first mask; None where it did not come to that.
        compile_us: the part of it that is compilation.
        tbm_us: microseconds of each mask and accepted token, over all instances.
        longest_at: instance and token position of the longest of them.
        longest_apart_us: the longest of them without the passes of Python's garbage collector.
        collected: in how many of them there was such a pass.
        wrong: a record for every instance whose verdict differs from its label.
        instances: how many instances were driven.
        memory_mib: peak memory of the process so far, in MiB.
        resident_mib: memory that the process holds after it, in MiB; 0 where the system does not say.
        wall_s, cpu_s: seconds that the whole item took, and of all threads.
    """

    id: str
    outcome: str
    kind: str = ""
    keyword: str = ""
    pointer: str = ""
    reason: str = ""
    ttfm_us: float | None = None
    compile_us: float | None = None
    longest_at: tuple[int, int] = (0, 0)
    longest_apart_us: float = 0.0
    collected: int = 0
    tbm_us: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    wrong: list[dict[str, Any]] = field(default_factory=list)
    instances: int = 0
    memory_mib: float = 0.0
    resident_mib: float = 0.0
    wall_s: float = 0.0
    cpu_s: float = 0.0

    @property
    def faults(self) -> list[dict[str, Any]]:
        """The wrong verdicts that are the engine's own."""
        return [w for w in self.wrong if w["cause"] not in ("label", "spelling")]

    @property
    def passes(self) -> bool:
        """Whether it compiled and every verdict is that of the label."""
        return self.outcome == "compiled" and not self.wrong

    def as_json(self) -> dict[str, Any]:
        """A record of JSON values; times of single masks are condensed."""
        record: dict[str, Any] = {"id": self.id, "outcome": self.outcome, "instances": self.instances}
        if self.outcome != "compiled":
            record |= {"kind": self.kind, "keyword": self.keyword, "pointer": self.pointer, "reason": self.reason}
        if self.ttfm_us is not None:
            record["ttfm_us"] = round(self.ttfm_us, 1)
            record["compile_us"] = round(self.compile_us or 0.0, 1)
        if len(self.tbm_us):
            record["tokens"] = len(self.tbm_us)
            record["tbm_us"] = {"mean": round(float(self.tbm_us.mean()), 2), "max": round(float(self.tbm_us.max()), 1)}
            record["longest_at"] = list(self.longest_at)
        if self.wrong:
            record["wrong"] = self.wrong
        if self.resident_mib:
            record["resident_mib"] = round(self.resident_mib, 1)
        return record


def percentiles(values: NDArray[np.floating[Any]]) -> dict[str, float]:
    """Mean, percentiles and maximum, by name; empty where there are no values."""
    if not len(values):
        return {}
    figures = {"mean": float(values.mean())}
    figures |= {f"p{p:g}": float(v) for p, v in zip(PERCENTILES, np.percentile(values, PERCENTILES), strict=True)}
    return figures | {"max": float(values.max())}


@dataclass
class Report:
    """All results of one run, with what was measured and where."""

    meta: dict[str, Any]
    items: list[ItemResult] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        """The figures, as JSON values."""
        ttfm = np.array([i.ttfm_us for i in self.items if i.ttfm_us is not None])
        compiling = np.array([i.compile_us for i in self.items if i.compile_us is not None])
        tbm = np.concatenate([i.tbm_us for i in self.items]) if self.items else np.zeros(0, np.float32)
        causes = Counter(w["cause"] for i in self.items for w in i.wrong)
        return {
            "schemas": len(self.items),
            "outcomes": dict(Counter(i.outcome for i in self.items).most_common()),
            "passing": sum(i.passes for i in self.items),
            "schemas with engine faults": sum(bool(i.faults) for i in self.items),
            "wrong verdicts by cause": dict(causes.most_common()),
            "instances": sum(i.instances for i in self.items),
            "tokens": len(tbm),
            "refusals by kind": dict(Counter(i.kind for i in self.items if i.outcome == "refused").most_common()),
            "refusals by keyword": dict(
                Counter(i.keyword or f"({i.kind})" for i in self.items if i.outcome == "refused").most_common()
            ),
            "ttfm_us": percentiles(ttfm),
            "compile_us": percentiles(compiling),
            "tbm_us": percentiles(tbm),
            "peak_memory_mib": max((i.memory_mib for i in self.items), default=0.0),
        }

    def memory_growth(self, parts: int = 8) -> list[tuple[int, float]]:
        """Resident memory in MiB after so many schemas: the first, then the end of each of `parts` equal parts.

        What the schemas leave behind is the growth between two of them; the first has the tables of the vocabulary.
        """
        known = [i.resident_mib for i in self.items]
        if not any(known):
            return []
        places = sorted({1, *(len(known) * k // parts for k in range(1, parts + 1))} - {0})
        return [(place, known[place - 1]) for place in places]

    def as_json(self) -> dict[str, Any]:
        return {"meta": self.meta, "summary": self.summary(), "items": [i.as_json() for i in self.items]}

    def slowest(self, count: int) -> list[tuple[ItemResult, float]]:
        """The items with the longest single mask, and that time in microseconds."""
        timed = ((i, float(i.tbm_us.max())) for i in self.items if len(i.tbm_us))
        return sorted(timed, key=lambda pair: -pair[1])[:count]


def _table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> Table:
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        numeric = number > 0 and column not in ("cause", "text", "where")
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(
            *(f"{v:,.1f}" if isinstance(v, float) else f"{v:,}" if isinstance(v, int) else str(v) for v in row)
        )
    return table


def show(report: Report, console: Console, *, wrong_shown: int = 40, memory: bool = False) -> None:
    """Print the tables of a report; with `memory`, how much of it the process holds as schemas go by."""
    figures = report.summary()
    total = max(1, figures["schemas"])
    shares = [(name, count, 100 * count / total) for name, count in figures["outcomes"].items()]
    shares.append(("passing (all verdicts as labelled)", figures["passing"], 100 * figures["passing"] / total))
    faults = figures["schemas with engine faults"]
    shares.append(("with a wrong verdict of the engine", faults, 100 * faults / total))
    console.print(_table(f"{report.meta['engine']}, {figures['schemas']:,} schemas", ("", "schemas", "%"), shares))
    if figures["refusals by keyword"]:
        rows = figures["refusals by keyword"].items()
        console.print(_table("Refused, by keyword", ("keyword", "schemas"), rows))
    if figures["wrong verdicts by cause"]:
        rows = figures["wrong verdicts by cause"].items()
        console.print(_table("Verdicts unlike the label", ("cause", "instances"), rows))
        listed = [(i.id, w) for i in report.items for w in i.faults]
        details = [(name, w["cause"], w["at"], w["text"][:160]) for name, w in listed[:wrong_shown]]
        if details:
            console.print(_table("The engine's faults", ("schema", "cause", "at token", "text"), details))
        if len(listed) > wrong_shown:
            console.print(f"… and {len(listed) - wrong_shown} more; --output has them all")
    for item in report.items:
        if item.outcome in ("timeout", "crash", "error"):
            console.print(f"{item.outcome}: {item.id}: {item.reason[:300]}", markup=False)
    times = {
        "compile alone": figures["compile_us"],
        "TTFM, compile + first mask": figures["ttfm_us"],
        "TBM, mask + token": figures["tbm_us"],
    }
    names = ["mean", *(f"p{p:g}" for p in PERCENTILES), "max"]
    rows_of_times = [(name, *(values[n] for n in names)) for name, values in times.items() if values]
    console.print(_table("Microseconds", ("", *names), rows_of_times))
    slowest = [(i.id, us, "instance {}, token {}".format(*i.longest_at)) for i, us in report.slowest(5)]
    console.print(_table("Longest masks", ("schema", "µs", "where"), slowest))
    slow_compiles = sorted((i for i in report.items if i.ttfm_us is not None), key=lambda i: -(i.ttfm_us or 0))[:5]
    console.print(_table("Longest to the first mask", ("schema", "µs"), [(i.id, i.ttfm_us) for i in slow_compiles]))
    counts = f"{figures['instances']:,} instances, {figures['tokens']:,} tokens"
    console.print(f"{counts}, peak memory {figures['peak_memory_mib']:,.0f} MiB")
    if memory:
        points = report.memory_growth()
        first = points[0][1] if points else 0.0
        rows_of_memory = [(f"{place:,}", mib, mib - first) for place, mib in points]
        console.print(_table("Resident memory", ("schemas", "MiB", "since the first"), rows_of_memory))
