"""Results as one HTML page: every table and figure inside it, no scripts, no external resources, light and dark."""

from __future__ import annotations

import base64
import importlib
from collections.abc import Iterable, Sequence
from html import escape
from types import ModuleType

from constrain.bench.engines import is_ours
from constrain.bench.plots import figures
from constrain.bench.results import KINDS, Result
from constrain.bench.tables import Table, duration, figure

TITLES = {
    "masks": "Masks: verdicts and times",
    "batch": "Batches",
    "apply": "Bitmask to logits",
    "mass": "Keeping the mass of each mask",
    "startup": "Start-up",
    "generate": "Generation",
    "scale": "Scale",
    "toolcalls": "Tool calls",
}


_MOST_TABLES = 8
"""More tables than that are folded away below the figures."""


def module_of(kind: str) -> ModuleType:
    """The module that makes and shows results of a kind."""
    return importlib.import_module(f"constrain.bench.{kind}")


def page(results: Sequence[Result], title: str = "Constrained decoding, measured") -> str:
    """The whole document, results in the order of `KINDS`."""
    ordered = sorted(results, key=lambda r: KINDS.index(r.kind))
    sections = [_section(result, number) for number, result in enumerate(ordered)]
    links = "".join(f'<a href="#s{n}">{escape(_title(r))}</a>' for n, r in enumerate(ordered))
    dates = sorted({str(r.meta.get("date", ""))[:10] for r in ordered})
    when = dates[0] if len(set(dates)) == 1 else f"{dates[0]} to {dates[-1]}" if dates else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body><main>\n"
        f'<header><h1>{escape(title)}</h1><p class="sub">{escape(when)}</p><nav>{links}</nav></header>\n'
        f"{_highlights(ordered)}{''.join(sections)}\n</main></body></html>\n"
    )


def _title(result: Result) -> str:
    detail = {
        "masks": lambda: str(result.meta["options"].get("corpus", "")).replace("builtin", "built-in schemas"),
        "generate": lambda: str(result.meta["options"].get("model", "")),
        "toolcalls": lambda: str(result.meta["options"].get("model", "")),
    }.get(result.kind, lambda: "")()
    tokenizer = result.meta.get("tokenizer")
    return ", ".join(filter(None, (TITLES[result.kind], detail, tokenizer["name"] if tokenizer else "")))


def _section(result: Result, number: int) -> str:
    tables = module_of(result.kind).tables(result)
    drawn = figures(result)
    pictures = "".join(
        f'<figure><img alt="{escape(f.title)}" src="data:image/svg+xml;base64,'
        f'{base64.b64encode(f.draw("svg")).decode()}"></figure>'
        for f in drawn
    )
    shown = "".join(map(html_table, tables))
    if len(tables) > _MOST_TABLES:
        shown = f"<details><summary>All figures as tables</summary>{shown}</details>"
    return (
        f'<section id="s{number}"><h2>{escape(_title(result))}</h2>{_meta(result)}'
        f'<div class="figures">{pictures}</div>{shown}{_skipped(result)}</section>\n'
    )


def _meta(result: Result) -> str:
    meta = result.meta
    versions = ", ".join(
        f"{name} {entry['version']}".strip() + (f" ({entry['note']})" if entry.get("note") else "")
        for name, entry in meta.get("engines", {}).items()
    )
    tokenizer = meta.get("tokenizer")
    pairs = [
        ("machine", f"{meta.get('cpu', '')}, {meta.get('cores', '')} cores, {meta.get('memory_gib', '')} GiB"),
        ("device", meta.get("device", "")),
        (
            "software",
            f"Python {meta.get('python', '')}, " + ", ".join(f"{n} {v}" for n, v in meta["libraries"].items()),
        ),
        ("engines", versions),
        ("tokenizer", f"{tokenizer['name']}, {tokenizer['size']:,} tokens" if tokenizer else ""),
        ("options", ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in meta.get("options", {}).items())),
        ("measured", f"{meta.get('date', '')}" + (f", commit {meta['commit']}" if meta.get("commit") else "")),
    ]
    rows = "".join(f"<dt>{k}</dt><dd>{escape(str(v))}</dd>" for k, v in pairs if v)
    return f"<details><summary>How it was measured</summary><dl>{rows}</dl></details>"


def _skipped(result: Result) -> str:
    if not result.skipped:
        return ""
    items = "".join(
        f"<li><b>{escape(s['engine'])}</b>: {escape(s['reason'])}"
        + (f" <code>{escape(s['remedy'])}</code>" if s.get("remedy") else "")
        + "</li>"
        for s in result.skipped
    )
    return f'<h3>Did not take part, or not to the end</h3><ul class="skipped">{items}</ul>'


def html_table(table: Table) -> str:
    """A table with its title."""
    head = "".join(f"<th{_class(i, table)}>{escape(c)}</th>" for i, c in enumerate(table.columns))
    body = "".join(
        "<tr>"
        + "".join(f"<td{_class(i, table, cell.mark)}>{escape(cell.text)}</td>" for i, cell in enumerate(row))
        + "</tr>"
        for row in table.rows
    )
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    return (
        f'<h3>{escape(table.title)}</h3><div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>{note}"
    )


def _class(column: int, table: Table, mark: str = "") -> str:
    classes = [] if column == 0 or column in table.text_columns else ["n"]
    if mark:
        classes.append(mark)
    return f' class="{" ".join(classes)}"' if classes else ""


def _highlights(results: Iterable[Result]) -> str:
    """The figures that sum up: a tile each, with the best peer beside this library's own."""
    tiles: list[tuple[str, str, str]] = []
    for result in results:
        engines = result.data.get("engines", {})
        ours = next((n for n in engines if is_ours(n)), None)
        if ours is None:
            continue
        peers = [n for n in engines if not is_ours(n)]
        if result.kind == "masks":
            total = result.data["schemas"]
            passed = {n: engines[n]["verdicts"]["passed"] for n in engines}
            tiles.append(
                (
                    f"{100 * passed[ours] / max(1, total):.1f} %",
                    f"of {total:,} schemas passed",
                    _best(passed, peers, False),
                )
            )
            for label, key, statistic in (
                ("to the first mask, median", "ttfm_us", "p50"),
                ("a mask, mean", "tbm_us", "mean"),
                ("a mask, p99.9", "tbm_us", "p99.9"),
            ):
                values = {n: engines[n][key].get(statistic) for n in engines}
                if values[ours] is not None:
                    tiles.append((duration(values[ours]), label, _best(values, peers, True)))
        if result.kind == "batch":
            best = {n: max(r["masks_per_s"] for r in engines[n]) for n in engines if engines[n]}
            tiles.append((figure(best[ours]), "masks per second, at most", _best(best, peers, False)))
        if result.kind == "generate":
            spent = {n: e["processor_us"]["mean"] for n, e in engines.items() if e["processor_us"]}
            if ours in spent:
                tiles.append((duration(spent[ours]), "logits processor, mean of a step", _best(spent, peers, True)))
    cells = "".join(
        f'<div class="tile"><b>{escape(value)}</b><span>{escape(label)}</span><small>{escape(note)}</small></div>'
        for value, label, note in tiles
    )
    return f'<div class="tiles">{cells}</div>' if tiles else ""


def _best(values: dict[str, float | None], peers: Sequence[str], low: bool) -> str:
    known = [(v, n) for n in peers if (v := values.get(n)) is not None]
    if not known:
        return "no peer measured"
    value, name = min(known) if low else max(known)
    shown = duration(value) if low else f"{value:,.0f}"
    return f"best peer: {name}, {shown}"


_STYLE = """
:root{--bg:#f6f7f8;--card:#fff;--fg:#1d2428;--dim:#646c73;--line:#dfe3e6;--link:#0b6bcb;--best:#e7f5ec;--good:#1d7a45;
--bad:#c2255c}
@media(prefers-color-scheme:dark){:root{--bg:#14181b;--card:#1c2125;--fg:#e4e8ea;--dim:#98a1a8;--line:#31383e;
--link:#6cb2ff;--best:#173626;--good:#63cf93;--bad:#ff7aa5}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,-apple-system,
"Segoe UI",Roboto,sans-serif}main{max-width:1240px;margin:0 auto;padding:28px 20px 60px}
h1{font-size:27px;margin:0}h2{font-size:20px;margin:0 0 8px}h3{font-size:15px;margin:22px 0 6px}
.sub,.note,small{color:var(--dim);font-size:13px}.sub{margin:2px 0 8px}.note{margin:6px 0 0}
nav{display:flex;flex-wrap:wrap;gap:4px 18px}a{color:var(--link);text-decoration:none}a:hover{text-decoration:underline}
section{margin-top:40px;border-top:1px solid var(--line);padding-top:22px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(200px,1fr));gap:12px;margin-top:22px}
.tile{background:var(--card);border:1px solid var(--line);border-left:4px solid var(--link);border-radius:8px;
padding:12px 14px;display:flex;flex-direction:column}.tile b{font-size:25px;line-height:1.25}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(560px,100%),1fr));gap:14px;margin:14px 0}
figure{margin:0;background:#fff;border:1px solid var(--line);border-radius:8px;padding:14px;display:flex;
align-items:center;justify-content:center}figure img{width:100%;max-width:900px;height:auto;display:block}
.scroll{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:8px 12px}
table{border-collapse:collapse;font-size:13.5px;width:100%}
th{text-align:left;color:var(--dim);font-weight:600;border-bottom:1px solid var(--line);padding:3px 0 5px 14px}
td{padding:3px 0 3px 14px;border-bottom:1px solid var(--line)}th:first-child,td:first-child{padding-left:2px}
tbody tr:last-child td{border-bottom:0}td:first-child{white-space:nowrap}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
th.n{white-space:normal}td.best{font-weight:700;color:var(--good)}td.good{color:var(--good)}td.bad{color:var(--bad)}
td.dim{color:var(--dim)}tbody tr:hover td{background:color-mix(in srgb,var(--link) 7%,transparent)}
details{margin:8px 0}summary{cursor:pointer;color:var(--dim);font-size:13.5px}
dl{display:grid;grid-template-columns:max-content 1fr;gap:3px 16px;font-size:13.5px;margin:8px 0}dt{color:var(--dim)}
dd{margin:0;overflow-wrap:anywhere}code{font:12.5px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
ul.skipped{font-size:13.5px;padding-left:20px;margin:4px 0}
@media print{body{background:#fff}.scroll{overflow:visible}section{break-inside:auto}}
""".strip()
