"""Figures of results, with all engines in each: matplotlib, drawn without a display.

An engine has the same colour everywhere; this library is drawn last and thicker. Axes of times are logarithmic, as the
engines are orders of magnitude apart, and their ticks are written as times. The ends of lines are labelled where that
is legible, so that a figure can be read without its legend.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from constrain.bench.batch import best_of
from constrain.bench.engines import is_ours
from constrain.bench.generate import UNCONSTRAINED
from constrain.bench.masks import VERDICTS
from constrain.bench.results import BenchError, Result
from constrain.bench.scale import SERIES
from constrain.bench.startup import PHASES
from constrain.bench.toolcalls import RATES

COLOURS = {
    "constrain": "#0b6bcb",
    "constrain-core": "#5aa9e6",
    "xgrammar": "#e07b00",
    "xgrammar-loose": "#b3541e",
    "llguidance": "#2a9d5c",
    "grid": "#8e4ec6",
    "outlines-core": "#d6336c",
    "lm-format-enforcer": "#7a7f87",
    UNCONSTRAINED: "#b9bec5",
    "copy of the logits": "#b9bec5",
    "torch masked_fill_": "#7a7f87",
}
_OTHERS = ("#00a2ae", "#a37b00", "#525960", "#c2255c")
_VERDICT_COLOURS = {
    "passed": "#2a9d5c",
    "refused": "#b9bec5",
    "accepted invalid": "#d6336c",
    "refused valid": "#e07b00",
    "timeout": "#6b4fa0",
    "crash": "#222222",
    "error": "#222222",
}


@dataclass(frozen=True)
class Figure:
    """A drawn figure: a name for its file, a title, and what draws it in a format ("png" or "svg")."""

    name: str
    title: str
    draw: Callable[[str], bytes]


def figures(result: Result) -> list[Figure]:
    """The figures of a result; none where there is nothing to show. Raises `BenchError` without matplotlib."""
    _pyplot()
    makers: dict[str, Callable[[Result], Iterator[tuple[str, str, Callable[[], Any]]]]] = {
        "masks": _masks,
        "batch": _batch,
        "apply": _apply,
        "mass": lambda _: iter(()),  # a table says it
        "startup": _startup,
        "generate": _generate,
        "scale": _scale,
        "toolcalls": _toolcalls,
    }
    return [Figure(f"{result.kind}-{name}", title, _Drawing(make)) for name, title, make in makers[result.kind](result)]


class _Drawing:
    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def __call__(self, form: str) -> bytes:
        pyplot = _pyplot()
        drawn = self.make()
        buffer = io.BytesIO()
        metadata = {"Date": None} if form == "svg" else None
        drawn.savefig(buffer, format=form, dpi=160, bbox_inches="tight", facecolor="white", metadata=metadata)
        pyplot.close(drawn)
        return buffer.getvalue()


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise BenchError(
            "matplotlib is not installed; install the extra: pip install 'constrain-decode[bench]'"
        ) from None
    matplotlib.use("Agg", force=False)
    import matplotlib.pyplot as pyplot

    matplotlib.rcParams.update(
        {
            "font.family": "sans-serif",
            "font.size": 10.5,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": "#8a9097",
            "axes.labelcolor": "#33383d",
            "axes.titlesize": 13,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.titlepad": 14,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": "#e4e7ea",
            "grid.linewidth": 0.8,
            "xtick.color": "#555b61",
            "ytick.color": "#555b61",
            "legend.frameon": False,
            "svg.fonttype": "path",
            "svg.hashsalt": "constrain",
        }
    )
    return pyplot


def colour(name: str) -> str:
    """The colour of an engine."""
    return COLOURS.get(name) or _OTHERS[sum(map(ord, name)) % len(_OTHERS)]


def _last_ours(names: Sequence[str]) -> list[str]:
    return sorted(names, key=is_ours)


def _line(name: str) -> dict[str, Any]:
    ours = is_ours(name)
    return {"color": colour(name), "linewidth": 2.8 if ours else 1.7, "zorder": 5 if ours else 3, "label": name}


def _legend(axes: Any, order: Sequence[str], owner: Any = None, **place: Any) -> None:
    """A legend in the order of the tables, whatever the order of drawing."""
    handles, labels = axes.get_legend_handles_labels()
    found = dict(zip(labels, handles, strict=True))
    names = [n for n in order if n in found]
    (owner or axes).legend([found[n] for n in names], names, **place)


def _time_ticks(axis: Any) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    def written(us: float, _: Any) -> str:
        for unit, size in (("s", 1e6), ("ms", 1e3), ("µs", 1.0)):
            if us >= size * 0.999:
                return f"{us / size:,.6g} {unit}"
        return f"{us * 1000:.6g} ns"

    axis.set_major_locator(LogLocator(10, numticks=12))
    axis.set_major_formatter(FuncFormatter(written))
    axis.set_minor_formatter(NullFormatter())


def _counts(axis: Any) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    def written(value: float, _: Any) -> str:
        for unit, size in (("M", 1e6), ("k", 1e3)):
            if value >= size * 0.999:
                return f"{value / size:,.6g}{unit}"
        return f"{value:,.6g}"

    axis.set_major_locator(LogLocator(10, numticks=12))
    axis.set_major_formatter(FuncFormatter(written))
    axis.set_minor_formatter(NullFormatter())


def _end_labels(axes: Any, ends: list[tuple[str, float, float]], *, log: bool = True) -> None:
    """Names at the ends of lines, moved apart where they would overlap. In place of a legend."""
    import numpy as np

    if not ends:
        return
    low, high = axes.get_ylim()
    scale = (lambda v: float(np.log10(v))) if log else float
    span = scale(high) - scale(low)
    gap = 0.058 * span
    ordered = sorted(ends, key=lambda e: e[2])
    places = [scale(e[2]) for e in ordered]
    for _ in range(60):
        for i in range(len(places) - 1):
            lack = gap - (places[i + 1] - places[i])
            if lack > 0:
                places[i] -= lack / 2
                places[i + 1] += lack / 2
    right = max(e[1] for e in ends)
    for (name, _x, _y), place in zip(ordered, places, strict=True):
        y = 10**place if log else place
        axes.annotate(
            name,
            (right, y),
            xytext=(9, 0),
            textcoords="offset points",
            va="center",
            color=colour(name),
            fontsize=10,
            fontweight="bold" if is_ours(name) else "normal",
            annotation_clip=False,
        )


# --- masks


def _masks(result: Result) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    engines = result.data["engines"]
    if any(e["curves"]["tbm_us"] for e in engines.values()):
        yield "tbm", "Time between masks", lambda: _curves(result, "tbm_us", "Time between masks", "masks")
        yield "ttfm", "Time to the first mask", lambda: _curves(result, "ttfm_us", "Time to the first mask", "schemas")
        yield "percentiles", "Time between masks, percentiles", lambda: _percentile_bars(result)
    yield "verdicts", "Verdicts", lambda: _verdict_bars(result)


def _subtitle(result: Result) -> str:
    tokenizer = result.meta.get("tokenizer")
    parts = [f"{tokenizer['name']} ({tokenizer['size']:,} tokens)"] if tokenizer else []
    return ", ".join([*parts, result.meta.get("cpu", ""), result.meta.get("date", "")[:10]])


def _footer(drawn: Any, result: Result) -> None:
    axes = drawn.axes[0]
    axes.annotate(
        _subtitle(result),
        (0, 0),
        xycoords="axes fraction",
        xytext=(0, -34 - (10 if axes.get_xlabel() else 0)),
        textcoords="offset points",
        fontsize=8.5,
        color="#8a9097",
        va="top",
        annotation_clip=False,
    )


def _curves(result: Result, key: str, title: str, what: str) -> Any:
    pyplot = _pyplot()
    drawn, axes = pyplot.subplots(figsize=(9.2, 5.2))
    names = [n for n in _last_ours(list(result.data["engines"])) if result.data["engines"][n]["curves"][key]]
    lowest = 1.0
    for name in names:
        points = result.data["engines"][name]["curves"][key]
        shares, values = [p[0] for p in points], [max(p[1], 0.01) for p in points]
        lowest = min(lowest, shares[-1])
        axes.plot(values, shares, solid_capstyle="round", **_line(name))
        axes.plot(values[-1:], shares[-1:], "o", color=colour(name), markersize=4, zorder=6)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(max(lowest, 1e-6) * 0.7, 1.25)
    _time_ticks(axes.xaxis)
    shares = [s for s in (1.0, 0.5, 0.1, 0.01, 0.001, 0.0001, 0.00001) if s >= lowest * 0.7]
    axes.set_yticks(shares, [_percent(s) for s in shares])
    axes.minorticks_off()
    axes.set_xlabel(f"{title.lower()}, log scale")
    axes.set_ylabel(f"share of {what} that take longer")
    axes.set_title(f"{title}: the whole distribution, further left is faster")
    _legend(axes, list(result.data["engines"]), loc="center left", bbox_to_anchor=(1.01, 0.5))
    _footer(drawn, result)
    return drawn


def _percent(share: float) -> str:
    return f"{share * 100:g} %"


def _percentile_bars(result: Result) -> Any:
    pyplot = _pyplot()
    statistics = ["mean", "p50", "p90", "p99", "p99.9", "max"]
    engines = result.data["engines"]
    names = [n for n in sorted(engines, key=lambda n: not is_ours(n)) if engines[n]["tbm_us"]]
    drawn, axes = pyplot.subplots(figsize=(9.2, 4.6))
    width = 0.84 / max(1, len(names))
    for i, name in enumerate(names):
        values = [engines[name]["tbm_us"][s] for s in statistics]
        places = [x - 0.42 + width * (i + 0.5) for x in range(len(statistics))]
        axes.bar(places, values, width * 0.9, color=colour(name), label=name, zorder=3)
    axes.set_yscale("log")
    _time_ticks(axes.yaxis)
    axes.set_xticks(range(len(statistics)), ["worst" if s == "max" else s for s in statistics])
    axes.grid(axis="x", visible=False)
    axes.tick_params(axis="x", length=0)
    axes.set_title("Time between masks by percentile, lower is better")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    _footer(drawn, result)
    return drawn


def _verdict_bars(result: Result) -> Any:
    pyplot = _pyplot()
    engines = result.data["engines"]
    names = sorted(engines, key=lambda n: engines[n]["verdicts"]["passed"])
    drawn, axes = pyplot.subplots(figsize=(9.2, 0.9 + 0.46 * len(names)))
    total = max(1, result.data["schemas"])
    left = [0.0] * len(names)
    for key, label in VERDICTS.items():
        counts = [engines[n]["verdicts"][key] for n in names]
        if not any(counts):
            continue
        shares = [100 * c / total for c in counts]
        axes.barh(names, shares, left=left, color=_VERDICT_COLOURS[key], label=label, height=0.68, zorder=3)
        for i, (count, share) in enumerate(zip(counts, shares, strict=True)):
            if share >= 4:
                text = "#33383d" if key == "refused" else "white"
                axes.text(left[i] + share / 2, i, f"{count:,}", ha="center", va="center", color=text, fontsize=9.5)
        left = [a + b for a, b in zip(left, shares, strict=True)]
    for label in axes.get_yticklabels():
        label.set_fontweight("bold" if is_ours(label.get_text()) else "normal")
    axes.set_xlim(0, 100)
    axes.xaxis.set_major_formatter(lambda v, _: f"{v:g} %")
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_title(f"Verdicts on {result.data['schemas']:,} schemas")
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.55 / (0.9 + 0.46 * len(names))), ncols=3)
    return drawn


# --- batch


def _batch(result: Result) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    if not any(result.data["engines"].values()):
        return
    cores = result.data["cores"]
    yield "one-core", "Masks per second, one core", lambda: _batch_lines(result, one=True)
    if cores > 1:
        yield "all-cores", f"Masks per second, {cores} cores", lambda: _batch_lines(result, one=False)


def _batch_lines(result: Result, *, one: bool) -> Any:
    pyplot = _pyplot()
    drawn, axes = pyplot.subplots(figsize=(8.4, 5.0))
    engines = result.data["engines"]
    ends = []
    rows = sorted({r["rows"] for records in engines.values() for r in records})
    for name in _last_ours(list(engines)):
        found = [best_of(engines[name], n, (lambda r: r["threads"] == 1) if one else None) for n in rows]
        points = [(r["rows"], r["masks_per_s"]) for r in found if r]
        if points:
            axes.plot(*zip(*points, strict=True), marker="o", markersize=4.5, **_line(name))
            ends.append((name, *points[-1]))
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(rows, [str(r) for r in rows])
    axes.minorticks_off()
    _counts(axes.yaxis)
    axes.set_xlabel("rows that advance together")
    axes.set_ylabel("masks per second")
    cores = result.data["cores"]
    axes.set_title("Masks per second on one core" if one else f"Masks per second on up to {cores} cores")
    _end_labels(axes, ends)
    _footer(drawn, result)
    return drawn


# --- apply


def _apply(result: Result) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    for device, records in result.data["devices"].items():
        if records:
            yield device, f"Bitmask to logits, {device}", lambda d=device: _apply_bars(result, d)  # type: ignore[misc]


def _apply_bars(result: Result, device: str) -> Any:
    pyplot = _pyplot()
    records = result.data["devices"][device]
    width = max(r["width"] for r in records)
    rows = sorted({r["rows"] for r in records})
    densities = list(dict.fromkeys(r["density"] for r in records))
    labels = {"few": "40 allowed", "most": "98 % allowed", "half": "half, random"}
    names = list(dict.fromkeys(r["name"] for r in records))
    drawn, panels = pyplot.subplots(1, len(rows), figsize=(3.4 * len(rows) + 2.2, 4.0), sharey=True, squeeze=False)
    for axes, count in zip(panels[0], rows, strict=True):
        for i, name in enumerate(names):
            found = {
                r["density"]: r["us"]["p50"]
                for r in records
                if r["name"] == name and r["rows"] == count and r["width"] == width and "us" in r
            }
            step = 0.84 / len(names)
            places = [x - 0.42 + step * (i + 0.5) for x, d in enumerate(densities) if d in found]
            axes.bar(
                places,
                [found[d] for d in densities if d in found],
                step * 0.9,
                color=colour(name),
                label=name,
                zorder=3,
            )
        axes.set_yscale("log")
        _time_ticks(axes.yaxis)
        axes.set_xticks(range(len(densities)), [labels.get(d, d) for d in densities], fontsize=9)
        axes.grid(axis="x", visible=False)
        axes.tick_params(axis="x", length=0)
        axes.set_title(f"{count} row{'s' if count > 1 else ''}", fontsize=11)
    handles, legend = panels[0][0].get_legend_handles_labels()
    drawn.legend(handles, legend, loc="center left", bbox_to_anchor=(0.91, 0.5))
    place = "the CPU" if device == "cpu" else result.meta.get("device", device)
    drawn.suptitle(
        f"Bitmask to {width:,} logits a row on {place}, lower is better", x=0.125, y=1.05, ha="left", fontweight="bold"
    )
    _footer(drawn, result)
    return drawn


# --- startup


def _startup(result: Result) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    if result.data["engines"]:
        yield "phases", "From import to the first mask", lambda: _startup_bars(result)


def _startup_bars(result: Result) -> Any:
    pyplot = _pyplot()
    states = {
        (f"{name}, {label}" if len(found) > 1 else name): state
        for name, found in result.data["engines"].items()
        for label, state in found.items()
    }
    names = sorted(states, key=lambda n: -states[n]["total_us"])
    drawn, axes = pyplot.subplots(figsize=(9.2, 1.1 + 0.46 * len(names)))
    left = [0.0] * len(names)
    for phase, shade in (("import_us", "#9fb3c8"), ("vocabulary_us", "#4f83b5"), ("first_us", "#e0a100")):
        values = [states[n][phase] / 1e6 for n in names]
        axes.barh(names, values, left=left, color=shade, label=PHASES[phase], height=0.66, zorder=3)
        left = [a + b for a, b in zip(left, values, strict=True)]
    # One bar that dwarfs the others (kernels compiled for the first time) runs out of the figure, its end in words.
    others = sorted(left)[:-1]
    cut = 1.6 * others[-1] if others and max(left) > 4 * others[-1] else max(left)
    for i, total in enumerate(left):
        inside = total <= cut
        axes.text(
            total if inside else cut,
            i,
            f"  {total:,.2f} s" if inside else f"{total:,.1f} s, out of the figure  ▸ ",
            va="center",
            ha="left" if inside else "right",
            fontsize=9.5,
            color="#33383d",
            fontweight="normal" if inside else "bold",
        )
    for label in axes.get_yticklabels():
        label.set_fontweight("bold" if is_ours(label.get_text()) else "normal")
    axes.set_xlim(0, cut * (1.13 if cut == max(left) else 1.0))
    axes.set_xlabel("seconds")
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_title("A fresh process, from import to its first mask")
    axes.legend(loc="upper right")
    _footer(drawn, result)
    return drawn


# --- generate


def _generate(result: Result) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    if result.data["engines"]:
        yield "speed", "Generation", lambda: _generate_bars(result)


def _generate_bars(result: Result) -> Any:
    pyplot = _pyplot()
    engines = result.data["engines"]
    order = sorted(engines, key=lambda n: (n == UNCONSTRAINED, engines[n]["tokens_per_s"]))
    drawn, (speed, cost) = pyplot.subplots(1, 2, figsize=(10.6, 1.2 + 0.46 * len(order)), sharey=True)
    speed.barh(
        order, [engines[n]["tokens_per_s"] for n in order], color=[colour(n) for n in order], height=0.66, zorder=3
    )
    for i, name in enumerate(order):
        speed.text(
            engines[name]["tokens_per_s"], i, f" {engines[name]['tokens_per_s']:,.1f}", va="center", fontsize=9.5
        )
        spent = engines[name]["processor_us"]
        if spent:
            cost.barh([i], [spent["mean"]], color=colour(name), height=0.66, zorder=3)
            cost.text(spent["mean"], i, f" {spent['mean']:,.0f} µs", va="center", fontsize=9.5)
    speed.set_xlim(0, max(e["tokens_per_s"] for e in engines.values()) * 1.15)
    speed.set_title("Tokens per second")
    cost.set_title("Processor, mean of a step")
    cost.set_xscale("log")
    means = [e["processor_us"]["mean"] for e in engines.values() if e["processor_us"]]
    if means:
        cost.set_xlim(min(means) / 3, max(means) * 6)
    _time_ticks(cost.xaxis)
    speed.set_yticks(range(len(order)), ["no constraint" if n == UNCONSTRAINED else n for n in order])
    for label in speed.get_yticklabels():
        label.set_fontweight("bold" if is_ours(label.get_text()) else "normal")
    for axes in (speed, cost):
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
    drawn.subplots_adjust(wspace=0.08)
    _footer(drawn, result)
    return drawn


# --- toolcalls


def _toolcalls(result: Result) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    if result.data["ways"]:
        yield "rates", "Tool calls", lambda: _toolcall_bars(result)


def _toolcall_bars(result: Result) -> Any:
    pyplot = _pyplot()
    ways = result.data["ways"]
    names = sorted(ways, key=lambda n: n != "free")
    rates = [rate for rate in RATES if any(ways[n][rate[2]] for n in names)]
    drawn, axes = pyplot.subplots(figsize=(8.6, 1.4 + 0.62 * len(rates)))
    height = 0.8 / len(names)
    for k, name in enumerate(names):
        shares = [100 * ways[name][key] / max(1, ways[name][of]) for key, _, of in rates]
        places = [i + (k - (len(names) - 1) / 2) * height for i in range(len(rates))]
        label = "without the constraint" if name == "free" else "with the constraint"
        fill = colour(UNCONSTRAINED if name == "free" else "constrain")
        axes.barh(places, shares, height=height * 0.92, color=fill, label=label, zorder=3)
        for place, share in zip(places, shares, strict=True):
            axes.text(share, place, f" {share:.0f} %", va="center", fontsize=9.5)
    axes.set_yticks(range(len(rates)), [label for _, label, _ in rates])
    axes.invert_yaxis()
    axes.set_xlim(0, 112)
    axes.set_xticks(range(0, 101, 20), [f"{n} %" for n in range(0, 101, 20)])
    axes.set_title(f"Tool calls of {result.meta['options']['model']}, {ways[names[0]]['questions']:,} questions")
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncol=2)
    _footer(drawn, result)
    return drawn


# --- scale


def _scale(result: Result) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    for name, engines in result.data["series"].items():
        if name in SERIES and any(engines.values()):
            yield name, SERIES[name].title, lambda n=name: _scale_lines(result, n)  # type: ignore[misc]


def _scale_lines(result: Result, series: str) -> Any:
    pyplot = _pyplot()
    engines = result.data["series"][series]
    drawn, panels = pyplot.subplots(1, 2, figsize=(11.6, 4.3))
    for axes, key, title in zip(
        panels, ("ttfm_us", "tbm_us"), ("compile and first mask", "mean of a mask"), strict=True
    ):
        for name in _last_ours(list(engines)):
            records = engines[name]
            points = [(r["n"], r[key]) for r in records if r["verdict"] == "passed" and key in r]
            if points:
                axes.plot(*zip(*points, strict=True), marker="o", markersize=4.5, **_line(name))
            if points and records[-1]["verdict"] != "passed":
                axes.plot(*points[-1], "x", color=colour(name), markersize=11, markeredgewidth=2.2, zorder=7)
        axes.set_xscale("log")
        axes.set_yscale("log")
        _time_ticks(axes.yaxis)
        _counts(axes.xaxis)
        axes.minorticks_off()
        axes.set_xlabel(SERIES[series].axis)
        axes.set_title(title, fontsize=11)
    _legend(panels[0], list(engines), drawn, loc="center left", bbox_to_anchor=(0.905, 0.5))
    drawn.suptitle(SERIES[series].title, x=0.125, y=1.03, ha="left", fontweight="bold")
    if any(r and r[-1]["verdict"] != "passed" for r in engines.values()):
        drawn.text(
            0.905, 0.1, "× refused, wrong, or over\n   the time limit beyond", fontsize=9, color="#555b61", ha="left"
        )
    drawn.subplots_adjust(wspace=0.25)
    _footer(drawn, result)
    return drawn
