"""What `constrain distortion` says: tables on a terminal, and the JSON document."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from constrain.cli.distortion import FORMAT, Request
from constrain.distortion import wording
from constrain.distortion.baseline import Change
from constrain.distortion.difference import MaskDifference
from constrain.distortion.page import difference_text
from constrain.distortion.pictures import heading, probability, shown
from constrain.distortion.study import Example, Measured

_VERDICTS = {"worse": "bold red", "better": "green", "no worse": "green", "unknown": "yellow"}
_SHADES = ("", "on #5c3a12", "on #8a4a10", "on #c44f00")
"""Grounds of tokens by cost, for terminals of any colour: text stays white on the three darker ones."""


def about(request: Request, schema: Any) -> dict[str, str]:
    """What was measured, label to text."""
    return {
        "model": request.model + (f", temperature {request.temperature:g}" if request.temperature != 1.0 else ""),
        "prompt": request.prompt,
        "schema": str(request.schema or "") or f"one call of the tools in {request.tools}",
        "encodings": "the tokenizer's own only" if request.encodings == "canonical" else "",
        "limit": f"{request.max_tokens} tokens" if request.max_tokens else "",
        "text of the schema": one_line_json(schema, 600),
    }


def one_line_json(value: Any, limit: int) -> str:
    """Compact JSON, shortened."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def document(
    request: Request, measured: Sequence[Measured], differences: Mapping[str, MaskDifference | None]
) -> dict[str, Any]:
    """Everything, for JSON; also what a baseline is."""
    return {
        "format": FORMAT,
        "model": request.model,
        "prompt": request.prompt,
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "encodings": request.encodings,
        "seed": request.seed,
        "measurements": [_measurement(m) for m in measured],
        "first_differences": {name: _difference(d) for name, d in differences.items()},
    }


def _measurement(m: Measured) -> dict[str, Any]:
    return {
        "name": m.name,
        "report": m.report.to_dict(),
        "steps": [{"reach": s.reach, "kept": s.kept, "tax": s.tax, "distortion": s.distortion} for s in m.steps],
        "history": [
            {
                "forward_passes": passes,
                **{
                    name: [x if math.isfinite(x) else None for x in getattr(c, name)]
                    for name in ("z", "kl_masked_to_exact", "kl_exact_to_masked", "tv")
                },
            }
            for passes, c in m.history
        ],
        "examples": [
            {
                "label": e.label,
                "q": e.q,
                "p": e.p,
                "tokens": [{"text": t.text, "kept": t.kept, "distortion": t.distortion} for t in e.tokens],
            }
            for e in m.examples
        ],
        "values": [{"value": v, "q": q, "p": p} for v, (q, p) in list(m.values.items())[:100]],
    }


def _difference(d: MaskDifference | None) -> dict[str, Any] | None:
    if d is None:
        return None
    return {
        "prefix": list(d.prefix),
        "text": d.text.decode("utf-8", "backslashreplace"),
        "reach": d.reach,
        "only_first": len(d.only_first),
        "only_second": len(d.only_second),
        "mass_first": d.mass_first,
        "mass_second": d.mass_second,
    }


def show(
    console: Console,
    measured: Sequence[Measured],
    differences: Mapping[str, MaskDifference | None],
    changes: Sequence[Change],
) -> None:
    """Print all of it."""
    if not console.is_terminal:
        console.width = 160
    first = measured[0]
    console.print(Text(wording.headline(first), "bold"), soft_wrap=True)
    if verdict := wording.verdict(first):
        console.print(Text(verdict), soft_wrap=True)
    console.print(_table(measured))
    for name, d in differences.items():
        console.print(Text.assemble((f"{name}: ", "bold"), difference_text(d)), soft_wrap=True)
    places = wording.places(first.report.contributions)
    if places:
        table = _listing()
        table.add_column("place in the JSON text", overflow="fold")
        table.add_column("distortion", justify="right")
        table.add_column("mass taken away", justify="right")
        for place, arising, taken in places:
            table.add_row(Text(place), wording.number(arising), wording.number(taken))
        _titled(console, "Where it arises, nats", table)
    _show_values(console, measured)
    for example in first.examples:
        _show_example(console, example)
    if changes:
        _show_changes(console, changes)
    for m in measured:
        for w in m.report.witnesses[:3]:
            console.print(Text(f"{m.name}: the mask refuses the valid sequence {list(w)}", "red"), soft_wrap=True)
    console.print()
    notes = dict.fromkeys(note for m in measured for note in wording.notes(m.report))
    if differences:
        notes[wording.OWN_TARGET] = None
    for note in notes:
        console.print(Text(f"note: {note}", "dim"), soft_wrap=True)


def _listing() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))


def _titled(console: Console, title: str, table: Table) -> None:
    console.print()
    console.print(Text(title, "bold"))
    console.print(table)


def _table(measured: Sequence[Measured]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("")
    for m in measured:
        table.add_column(m.name if len(measured) > 1 else "", justify="right", overflow="fold")
    if len(measured) == 1:
        table.add_column("", style="dim", overflow="fold")
    for name, label, meaning in wording.rows([m.report for m in measured]):
        estimates = [m.report.figures()[name] for m in measured]
        cells = [Text(wording.estimate_text(e), "bold" if name == "kl_masked_to_exact" else "") for e in estimates]
        table.add_row(label, *cells, *([meaning] if len(measured) == 1 else []))
    if len(measured) > 1 and measured[0].report.method != "two_sided":
        first = measured[0]
        changed = [
            wording.difference(first.report.kl_masked_to_exact, m.report.kl_masked_to_exact) for m in measured[1:]
        ]
        table.add_row("distortion, from the first", "", *(_signed(*ends) for ends in changed))
        if any(m.values for m in measured):
            table.add_row(
                "what is said, from the first", "", *(wording.value_difference(first, m) for m in measured[1:])
            )
    split = [m.report.spellings for m in measured]
    if all(s is not None for s in split):
        within = [wording.number(s.kl_within) for s in split if s is not None]
        table.add_row(
            "of it by tokenisation",
            *within,
            *(["nats that are about tokens only, not about the text"] if len(measured) == 1 else []),
        )
    passes = [f"{m.report.forward_passes:,} ({m.report.method})" for m in measured]
    table.add_row("forward passes", *passes, *([""] if len(measured) == 1 else []))
    return table


def _signed(low: float, high: float) -> str:
    if low == high:
        return ("+" if low > 0 else "") + wording.number(low)
    return "unknown" if math.isinf(low) and math.isinf(high) else wording.ends(low, high)


def _show_values(console: Console, measured: Sequence[Measured], most: int = 6) -> None:
    names = list(dict.fromkeys(v for m in measured for v in list(m.values)[:most]))[:most]
    if not names:
        return
    table = _listing()
    table.add_column("value", overflow="fold", max_width=70)
    for m in measured:
        table.add_column(f"q, {m.name}" if len(measured) > 1 else "q", justify="right")
        table.add_column("p*", justify="right")
    for value in names:
        cells: list[str] = []
        for m in measured:
            q, p = m.values.get(value, (0.0, 0.0))
            z = math.exp(m.report.log_z.value) if m.report.log_z.value is not None else 0.0
            cells += [probability(q) if q else "–", probability(p / z) if p and z else "–"]
        table.add_row(Text(value), *cells)
    _titled(console, "What is said: q under the mask, p* given validity", table)


def _show_example(console: Console, example: Example) -> None:
    exact = all(t.distortion is not None for t in example.tokens)
    line = Text()
    for t in example.tokens:
        cost = t.distortion if exact and t.distortion is not None else -math.log(max(t.kept, 1e-300))
        shade = _SHADES[0 if cost < 0.1 else 1 if cost < 0.5 else 2 if cost < 2.0 else 3]
        line.append(shown(t.text), f"white {shade}" if shade else "")
        line.append(" ")
    console.print()
    what = "distortion" if exact else "mass taken away"
    console.print(Text(f"{heading(example)} (ground: {what} of 0.1, 0.5, 2 nats and more before the token)", "dim"))
    console.print(line)


def _show_changes(console: Console, changes: Sequence[Change]) -> None:
    table = _listing()
    for column in ("measurement", "figure", "before", "now", "verdict"):
        table.add_column(column, justify="right" if column in ("before", "now") else "left", overflow="fold")
    for c in changes:
        table.add_row(
            c.name, c.figure, wording.ends(*c.before), wording.ends(*c.after), Text(c.verdict, _VERDICTS[c.verdict])
        )
    _titled(console, "Against the baseline", table)
    if any(c.verdict == "unknown" for c in changes):
        console.print(Text("unknown: the intervals are too wide to tell; a larger --budget makes them shorter", "dim"))
