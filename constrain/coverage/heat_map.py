"""The heat map of a coverage report as SVG: a row for each keyword, a column for each schema.

Beyond `MAX_COLUMNS` schemas a column stands for a run of neighbours, and its cells are stacked bars: which share of the
schemas that use the keyword is in which state, paler the fewer they are. Columns are sorted worst first and by
obstacle, so that neighbours look alike and little is lost.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from html import escape
from itertools import pairwise

from constrain.coverage.report import AGREED, DISAGREED, UNTESTED, SchemaReport, Summary

MAX_COLUMNS = 120
MAX_LABELS = 40
MAX_ROWS = 60

ORDER = ("disagreed", "crashed", "refused", "unenforced", "undecided", "unreached", "annotation", "narrowed", "exact")
"""States from worst to best: bottom to top in a stacked cell."""

_LEFT, _ROW, _GAP, _WIDTH, _LABEL = 168, 19, 2, 980, 22  # the last in characters, the others in pixels


def heat_map(reports: Sequence[SchemaReport], summary: Summary) -> str:
    """SVG of reports that are sorted worst first."""
    columns = _columns(reports)
    whole = _whole_rows(reports)
    rows = whole + [(name, _state_of(name)) for name in list(summary.keywords)[:MAX_ROWS]]
    step = max(7.0, min(30.0, _WIDTH / max(1, len(columns))))
    labelled = len(columns) <= MAX_LABELS and len(columns) == len(reports)
    longest = max((len(column[0].name) for column in columns), default=0)
    top = 22 + 5 * min(longest, _LABEL) if labelled else 26
    width = _LEFT + step * len(columns) + (70 if labelled else 12)
    height = top + len(rows) * _ROW + _GAP * 3 + 8
    out = [
        f'<svg class="heat" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
        'role="img" aria-label="States of keywords by schema">'
    ]
    if labelled:
        for position, column in enumerate(columns):
            x = _LEFT + step * (position + 0.5)
            name = _short(column[0].name, _LABEL)
            out.append(
                f'<a href="#s{position}"><text class="col" transform="translate({x:.1f} {top - 6}) rotate(-50)">'
                f"{escape(name)}<title>{escape(column[0].name)}</title></text></a>"
            )
    else:
        out.append(f'<text class="axis" x="{_LEFT}" y="14">{escape(_axis(len(reports), len(columns)))}</text>')
    y = float(top)
    for number, (label, state_of) in enumerate(rows):
        if number == len(whole):
            y += _GAP * 3
        if number % 2 == 0:
            out.append(
                f'<rect class="band" x="{_LEFT}" y="{y - 1:.0f}" width="{step * len(columns):.0f}" height="{_ROW}"/>'
            )
        kind = "row whole" if number < len(whole) else "row"
        out.append(f'<text class="{kind}" x="{_LEFT - 8}" y="{y + 13:.0f}">{escape(label)}</text>')
        for position, column in enumerate(columns):
            states = Counter(state for report in column if (state := state_of(report)))
            if states:
                x = _LEFT + step * position
                out.append(_cell(x, y, step, states, label, column, position))
        y += _ROW
    out.append("</svg>")
    return "".join(out)


def _columns(reports: Sequence[SchemaReport]) -> list[Sequence[SchemaReport]]:
    count = min(len(reports), MAX_COLUMNS)
    edges = [round(i * len(reports) / count) for i in range(count + 1)] if count else [0]
    return [reports[start:end] for start, end in pairwise(edges)]


_Row = tuple[str, Callable[[SchemaReport], str]]


def _whole_rows(reports: Sequence[SchemaReport]) -> list[_Row]:
    """The rows about schemas as a whole."""
    rows: list[_Row] = [("verdict", lambda report: report.verdict)]
    if any(report.test.outcome != UNTESTED for report in reports):
        rows.append(("property test", _test_state))
    return rows


def _state_of(keyword: str) -> Callable[[SchemaReport], str]:
    return lambda report: report.keywords[keyword].state if keyword in report.keywords else ""


def _test_state(report: SchemaReport) -> str:
    return {DISAGREED: "disagreed", AGREED: "exact", UNTESTED: ""}.get(report.test.outcome, "undecided")


def _axis(schemas: int, columns: int) -> str:
    if schemas == columns:
        return f"{schemas} schemas, worst first"
    size = schemas / columns
    return f"{schemas:,} schemas, worst first, about {size:.0f} to a column; bars show shares, paler ones few schemas"


def _cell(
    x: float, y: float, step: float, states: Counter[str], label: str, column: Sequence[SchemaReport], position: int
) -> str:
    total = sum(states.values())
    width, height = step - (1 if step < 12 else 2), _ROW - 2.0
    if len(column) == 1:
        state = next(iter(states))
        use = column[0].keywords.get(label)
        count = f" ×{use.count}" if use and use.count > 1 else ""
        title = f"{label}{count}: {_word(label, state)}, {column[0].name}"
    else:
        parts = ", ".join(f"{states[s]} {_word(label, s)}" for s in ORDER if states[s])
        title = f"{label} in {total} of {len(column)} schemas: {parts}"
    faint = "" if total == len(column) else f' opacity="{0.35 + 0.65 * math.sqrt(total / len(column)):.2f}"'
    out = [f"<g{faint}><title>{escape(title)}</title>"]
    bottom = y + height
    for state in ORDER:
        if states[state]:
            part = height * states[state] / total
            bottom -= part
            out.append(f'<rect class="{state}" x="{x:.1f}" y="{bottom:.1f}" width="{width:.1f}" height="{part:.1f}"/>')
    if states["disagreed"] and width >= 6:
        a, b = x + width / 2 - 3, y + height / 2 - 3
        out.append(f'<path class="cross" d="M{a:.1f} {b:.1f}l6 6m0-6l-6 6"/>')
    out.append("</g>")
    cell = "".join(out)
    return f'<a href="#s{position}">{cell}</a>' if len(column) == 1 else cell


def _word(label: str, state: str) -> str:
    return "agreed" if label == "property test" and state == "exact" else state


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
