"""Pictures of measurements: mass kept per step, where distortion arises on the text, intervals against the budget.

Drawn by matplotlib without a display, one file or string per picture, white ground, fonts as paths in SVG so that a
picture looks the same everywhere. Colours say the same in every picture: blue is the exact law and its price, orange
the distortion. What is unbounded runs out of its axes with an arrow, never at an invented value.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from constrain.distortion.study import Example, Measured, StepCost
from constrain.errors import ConstrainError

PRICE = "#2f6fab"
DISTORTION = "#d9730d"
RARE = 1e-3
"""Steps that fewer draws reach are not drawn: an average over next to nothing looks like a finding."""
SERIES = (PRICE, DISTORTION, "#2a8f5c", "#8e4ec6", "#c2255c", "#6b7280", "#00879e", "#8a6d00")
_INK, _SOFT = "#33383d", "#6b7177"


class MissingPlots(ConstrainError):
    """matplotlib is not installed."""

    def __init__(self) -> None:
        super().__init__("matplotlib is not installed; pictures need the extra: pip install 'constrain-decode[plots]'")


def pyplot() -> Any:
    """matplotlib's pyplot in this file's style. Raises `MissingPlots` without it."""
    try:
        import matplotlib
    except ImportError:
        raise MissingPlots from None
    matplotlib.use("Agg", force=False)
    import matplotlib.pyplot as plt

    matplotlib.rcParams.update(
        {
            "font.family": "sans-serif",
            "font.size": 10.5,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": "#8a9097",
            "axes.labelcolor": _INK,
            "axes.titlesize": 12,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.titlepad": 10,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": "#e4e7ea",
            "grid.linewidth": 0.8,
            "xtick.color": _SOFT,
            "ytick.color": _SOFT,
            "legend.frameon": False,
            "svg.fonttype": "path",
            "svg.hashsalt": "constrain",
        }
    )
    return plt


def rendered(figure: Any, form: str) -> bytes:
    """A matplotlib figure as "svg" or "png", and closed."""
    buffer = io.BytesIO()
    metadata = {"Date": None} if form == "svg" else None
    figure.savefig(buffer, format=form, dpi=160, bbox_inches="tight", facecolor="white", metadata=metadata)
    pyplot().close(figure)
    return buffer.getvalue()


def pictures(measured: Sequence[Measured]) -> dict[str, Any]:
    """Figures by name, as far as there is something to show: "steps", "text", "budget". They have to be closed."""
    found: dict[str, Any] = {}
    if any(m.steps for m in measured):
        found["steps"] = steps([m for m in measured if m.steps])
    if measured and measured[0].examples:
        found["text"] = text(measured[0].examples)
    if any(len(m.history) > 1 for m in measured):
        found["budget"] = budget([m for m in measured if len(m.history) > 1])
    return found


def write(measured: Sequence[Measured], folder: Path, form: str) -> list[Path]:
    """Every picture as a file `distortion-NAME.FORM`. Raises `MissingPlots` without matplotlib."""
    pyplot()
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, figure in pictures(measured).items():
        path = folder / f"distortion-{name}.{form}"
        path.write_bytes(rendered(figure, form))
        paths.append(path)
    return paths


# --- mass kept per step


def steps(measured: Sequence[Measured]) -> Any:
    """Mass kept, above; what each step adds to the cost, below."""
    plt = pyplot()
    costs = [_common(m.steps) for m in measured]
    longest = max(map(len, costs))
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(min(12.0, 6.4 + 0.12 * longest), 5.6), sharex=True, height_ratios=[1, 1]
    )
    for i, (m, row) in enumerate(zip(measured, costs, strict=True)):
        colour = SERIES[i % len(SERIES)]
        where = range(1, len(row) + 1)
        above.plot(where, [s.kept for s in row], marker="o", markersize=4, linewidth=1.8, color=colour, label=m.name)
    above.set_yscale("log")
    low = min(s.kept for row in costs for s in row)
    above.set_ylim(min(10 ** math.floor(math.log10(max(low, 1e-30))), 0.1), 1.6)
    above.set_ylabel("mass kept")
    above.set_title("Mass that the mask keeps, step by step")
    if len(measured) > 1:
        above.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        exact = all(s.distortion is not None for row in costs for s in row)
        width = 0.8 / len(measured)
        for i, row in enumerate(costs):
            heights = [s.distortion if exact and s.distortion is not None else s.tax for s in row]
            at = [t + 1 - 0.4 + width * (i + 0.5) for t in range(len(heights))]
            below.bar(at, heights, width=width, color=SERIES[i % len(SERIES)])
        below.set_title("Distortion that arises, step by step" if exact else "Price of each step (mass taken away)")
    else:
        _one_cost(below, costs[0])
    below.set_xlim(0.3, longest + 0.7)
    below.set_xlabel("step of generation (token)")
    below.set_ylabel("nats, on average")
    below.axhline(0, color="#8a9097", linewidth=0.8)
    below.xaxis.get_major_locator().set_params(integer=True)
    figure.align_ylabels()
    figure.subplots_adjust(hspace=0.34)
    return figure


def _common(costs: Sequence[StepCost]) -> list[StepCost]:
    """The steps up to the last that is not rare."""
    last = max((i for i, s in enumerate(costs) if s.reach >= RARE), default=0)
    return list(costs[: last + 1])


def _one_cost(axes: Any, costs: Sequence[StepCost]) -> None:
    exact = costs[0].distortion is not None
    width = 0.4 if exact else 0.7
    at = [t + 1 - (width / 2 if exact else 0) for t in range(len(costs))]
    axes.bar(at, [s.tax for s in costs], width=width, color=PRICE, label="mass taken away, −log Z")
    if exact:
        axes.bar(
            [x + width for x in at], [s.distortion for s in costs], width=width, color=DISTORTION, label="distortion"
        )
        axes.legend(loc="upper right")
    axes.set_title("What each step costs" if exact else "Price of each step (mass taken away)")


# --- where it arises on the text


def text(examples: Sequence[Example]) -> Any:
    """Texts as rows of tokens, each on a ground that says how much arises where it stands."""
    plt = pyplot()
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    exact = all(t.distortion is not None for e in examples for t in e.tokens)
    costs = [[_cost(t.distortion, t.kept, exact) for t in e.tokens] for e in examples]
    top = max((c for row in costs for c in row), default=0.0) or 1.0
    shades = LinearSegmentedColormap.from_list("cost", ["#ffffff", "#ffe3c2", "#f9a24b", "#c44f00"])
    scale = Normalize(0.0, top)
    per_line = 78
    lines = [_lines([shown(t.text) for t in e.tokens], per_line) for e in examples]
    rows = sum(len(part) + 1.1 for part in lines)
    figure, axes = plt.subplots(figsize=(9.6, 0.55 + 0.34 * rows))
    axes.set_axis_off()
    y = 0.0
    for example, row, part in zip(examples, costs, lines, strict=True):
        axes.text(0, y, heading(example), fontsize=9.5, color=_SOFT, va="center")
        y -= 1.0
        for line in part:
            x = 0.0
            for i, word in line:
                cost = row[i]
                width = len(word) + 0.6
                axes.add_patch(
                    plt.Rectangle(
                        (x, y - 0.42), width, 0.84, facecolor=shades(scale(cost)), edgecolor="#d5d9dd", lw=0.7
                    )
                )
                dark = cost > 0.75 * top
                axes.text(
                    x + width / 2, y, word, family="monospace", fontsize=9.5, ha="center", va="center",
                    color="white" if dark else "#1d2125", parse_math=False,
                )  # fmt: skip
                x += width
            y -= 1.0
        y -= 0.1
    widest = max(sum(len(word) + 0.6 for _, word in line) for part in lines for line in part)
    axes.set_xlim(0, max(widest, 60.0) + 0.5)
    axes.set_ylim(y + 0.3, 0.7)
    label = "distortion arising before the token, nats" if exact else "mass taken away before the token, nats"
    inches = figure.get_figheight()
    place = figure.add_axes((0.125, -0.02 / inches, 0.3, 0.12 / inches))
    bar = figure.colorbar(ScalarMappable(scale, shades), cax=place, orientation="horizontal")
    bar.set_label(label, fontsize=9.5, color=_SOFT)
    bar.outline.set_edgecolor("#d5d9dd")
    axes.set_title("Where distortion arises on the text" if exact else "Where the mask takes mass away on the text")
    return figure


def heading(example: Example) -> str:
    """Over a text: what it is and how likely."""
    if example.q is None or example.p is None:
        return example.label
    given = f"p* = {probability(example.p_valid)}" if example.p_valid is not None else f"p = {probability(example.p)}"
    return f"{example.label}:  q = {probability(example.q)},  {given}"


def probability(x: float) -> str:
    """0.934, or 3.1e-07 where it is small."""
    if x == 0:
        return "0"
    return f"{x:.3f}" if x >= 0.001 else f"{x:.1e}"


def shown(token: str) -> str:
    """A token with its blanks and line breaks made visible."""
    return token.replace(" ", "␣").replace("\n", "⏎").replace("\t", "⇥").replace("\r", "␍")


def _cost(distortion: float | None, kept: float, exact: bool) -> float:
    return distortion if exact and distortion is not None else -math.log(kept) if kept > 0 else 0.0


def _lines(words: list[str], per_line: int) -> list[list[tuple[int, str]]]:
    lines: list[list[tuple[int, str]]] = [[]]
    used = 0.0
    for i, word in enumerate(words):
        word = word if len(word) <= 40 else word[:39] + "…"
        if lines[-1] and used + len(word) + 0.6 > per_line + 12:
            lines.append([])
            used = 0.0
        lines[-1].append((i, word))
        used += len(word) + 0.6
    return lines


# --- intervals against the budget


def budget(measured: Sequence[Measured]) -> Any:
    """Certified intervals as forward passes were spent: four figures, one band for each measurement."""
    plt = pyplot()
    figure, panels = plt.subplots(2, 2, figsize=(10.4, 6.2), sharex=True)
    chosen = (
        ("log Z, nats", lambda c: tuple(math.log(x) if x > 0 else -math.inf for x in c.z), None),
        ("total variation", lambda c: c.tv, (0.0, 1.0)),
        ("KL(q || p*), the distortion, nats", lambda c: c.kl_masked_to_exact, None),
        ("KL(p* || q), what samples miss, nats", lambda c: c.kl_exact_to_masked, None),
    )
    unbounded = False
    for axes, (title, ends, limits) in zip(panels.flat, chosen, strict=True):
        unbounded |= _bands(axes, measured, ends, limits)
        axes.set_title(title, fontsize=11)
        axes.set_xscale("log")
    for axes in panels[1]:
        axes.set_xlabel("forward passes")
    if len(measured) > 1:
        handles, labels = panels[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower left", bbox_to_anchor=(0.12, -0.07), ncols=min(4, len(measured)))
    if unbounded:
        figure.text(0.9, -0.03, "▲ ▼  unbounded on that side", ha="right", fontsize=9.5, color=_SOFT)
    figure.suptitle("Certified intervals, shrinking with the budget", x=0.125, y=0.97, ha="left", fontweight="bold")
    figure.subplots_adjust(hspace=0.28, wspace=0.16, top=0.87)
    return figure


def _bands(axes: Any, measured: Sequence[Measured], ends: Any, limits: tuple[float, float] | None) -> bool:
    """Draw one panel. Returns whether an end is unbounded."""
    low, high = limits if limits is not None else _window(measured, ends)
    unbounded = False
    for i, m in enumerate(measured):
        colour = SERIES[i % len(SERIES)]
        passes = [n for n, _ in m.history]
        bottoms = [_clipped(ends(c)[0], low, high) for _, c in m.history]
        tops = [_clipped(ends(c)[1], low, high) for _, c in m.history]
        axes.fill_between(passes, bottoms, tops, color=colour, alpha=0.18, linewidth=0, step="post")
        for line in (bottoms, tops):
            axes.plot(
                passes,
                line,
                color=colour,
                linewidth=1.5,
                drawstyle="steps-post",
                label=m.name if line is tops else None,
            )
        last = ends(m.history[-1][1])
        for end, edge, mark in ((last[1], high, "^"), (last[0], low, "v")):
            if not math.isfinite(end):
                unbounded = True
                axes.plot([passes[-1]], [edge], mark, color=colour, markersize=8, clip_on=False, zorder=6)
        if math.isfinite(last[0]) and math.isfinite(last[1]) and last[1] - last[0] < 0.01 * (high - low):
            axes.plot([passes[-1]], [0.5 * (last[0] + last[1])], "o", color=colour, markersize=6, zorder=6)
    axes.set_ylim(low, high)
    axes.ticklabel_format(axis="y", useOffset=False)
    return unbounded


def _window(measured: Sequence[Measured], ends: Any) -> tuple[float, float]:
    """A range around the last intervals, wide enough to see them close, not so wide that nothing is seen."""
    last = [x for m in measured for x in ends(m.history[-1][1]) if math.isfinite(x)]
    ever = [x for m in measured for _, c in m.history for x in ends(c) if math.isfinite(x)]
    if not last:
        return 0.0, 1.0
    room = 0.35 * max(1.0, *map(abs, last))
    low, high = max(min(last) - room, min(ever)), min(max(last) + room, max(ever))
    edge = 0.08 * ((high - low) or 1.0)
    return low - edge, high + edge


def _clipped(x: float, low: float, high: float) -> float:
    return min(max(x, low - (high - low)), high + (high - low))


__all__ = [
    "MissingPlots",
    "budget",
    "heading",
    "pictures",
    "probability",
    "pyplot",
    "rendered",
    "shown",
    "steps",
    "text",
    "write",
]
