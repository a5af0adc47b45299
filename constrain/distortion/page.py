"""Measurements as one HTML file: nothing is loaded from elsewhere, no scripts, light and dark.

The texts with their costs are plain HTML and always there; charts are SVG by matplotlib, and where it is not installed
the page says so in their place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from html import escape

from constrain.distortion import pictures, wording
from constrain.distortion.baseline import Change
from constrain.distortion.difference import MaskDifference
from constrain.distortion.study import Example, Measured

_CAPTIONS = {
    "steps": "Mass that the mask keeps at each step, and what that costs. Mass may be taken away without distortion: "
    "where every continuation keeps the same chance of a valid end, nothing is bent.",
    "budget": "Every interval holds the truth, whatever the model; more forward passes make it shorter.",
}


def page(
    measured: Sequence[Measured],
    about: Mapping[str, str],
    differences: Mapping[str, MaskDifference | None] | None = None,
    changes: Sequence[Change] = (),
) -> str:
    """The whole document.

    Args:
        measured: the first is the one that the others are compared with.
        about: what was measured, label to text.
        differences: by engine, where its masks first differ.
        changes: against a baseline.
    """
    first = measured[0]
    parts = [
        f'<header><h1>Distortion of masked sampling</h1><p class="sub">{escape(wording.headline(first))}</p></header>',
        _tiles(first),
        f"<p>{escape(wording.verdict(first))} {escape(wording.NOT_QUALITY)}</p>",
        _about(about),
        _compared(measured) if len(measured) > 1 else "",
        _changes(changes),
        _differences(differences or {}),
        _texts(first),
        _charts(measured),
        *(_figures(m, len(measured) > 1) for m in measured),
    ]
    body = "\n".join(part for part in parts if part)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Distortion of masked sampling</title><style>{_STYLE}</style></head>\n"
        f"<body><main>\n{body}\n</main></body></html>\n"
    )


def _tiles(m: Measured) -> str:
    report = m.report
    chosen = (
        ("distortion", report.kl_masked_to_exact, "KL(q‖p*), nats", "bend"),
        ("unavoidable price", report.unavoidable, "−log Z, nats", "price"),
        ("total variation", report.tv, "0 to 1", ""),
        ("effective share", report.ess_fraction, "of reweighted samples", ""),
    )
    tiles = []
    for label, estimate, unit, kind in chosen:
        if estimate.refused.startswith("not measured"):
            continue
        value = estimate.value
        shown = wording.ends(estimate.low, estimate.high) if value is None else wording.number(value)
        if value is None and estimate.high == math.inf:
            shown = f"≥ {wording.number(estimate.low)}" if math.isfinite(estimate.low) else "?"
        note = wording.KINDS[estimate.kind]
        if value is not None and estimate.low != estimate.high:
            note = f"{wording.ends(estimate.low, estimate.high)} {note}"
        tiles.append(
            f'<div class="tile {kind}"><b>{escape(shown)}</b><span>{label}</span>'
            f"<small>{unit}; {escape(note)}</small></div>"
        )
    return f'<section class="tiles">{"".join(tiles)}</section>'


def _about(about: Mapping[str, str]) -> str:
    rows = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in about.items() if v)
    return f"<details open><summary>What was measured</summary><dl>{rows}</dl></details>" if rows else ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1, last: bool = False) -> str:
    """The first `words` columns are words, and with `last` the last one; the others are numbers."""

    def cells(row: Sequence[str], tag: str) -> str:
        return "".join(
            f"<{tag}{'' if i < words or (last and i == len(row) - 1) else ' class=n'}>{escape(c)}</{tag}>"
            for i, c in enumerate(row)
        )

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{cells(head, "th")}</tr></thead><tbody>{body}</tbody></table></div>'


def _compared(measured: Sequence[Measured]) -> str:
    first = measured[0]
    rows = []
    for name, label, _ in wording.rows([m.report for m in measured]):
        row = [label]
        for m in measured:
            row.append(wording.estimate_text(m.report.figures()[name], kind=False))
        rows.append(row)
    if any(m.values for m in measured):
        rows.append(
            [
                "values apart from the first (total variation)",
                "",
                *(wording.value_difference(first, m) for m in measured[1:]),
            ]
        )
    rows.append(["how", *(m.report.method for m in measured)])
    values = _values(measured)
    table = _table(["", *(m.name for m in measured)], rows)
    return f"<section><h2>Side by side, on the same prompt</h2>{table}{values}</section>"


def _values(measured: Sequence[Measured], most: int = 8) -> str:
    names = list(dict.fromkeys(v for m in measured for v in list(m.values)[:most]))[:most]
    if not names:
        return ""
    head = ["value"]
    for m in measured:
        head += [f"q, {m.name}", "p*"]
    rows = []
    for value in names:
        row = [value if len(value) <= 90 else value[:89] + "…"]
        for m in measured:
            q, p = m.values.get(value, (0.0, 0.0))
            z = math.exp(m.report.log_z.value) if m.report.log_z.value is not None else 0.0
            row += [pictures.probability(q) if q else "–", pictures.probability(p / z) if p and z else "–"]
        rows.append(row)
    return "<h3>What is said: probability under the mask (q) and given validity (p*)</h3>" + _table(head, rows)


def _changes(changes: Sequence[Change]) -> str:
    if not changes:
        return ""
    rows = [[c.name, c.figure, wording.ends(*c.before), wording.ends(*c.after), c.verdict] for c in changes]
    return (
        "<section><h2>Against the baseline</h2>"
        + _table(["measurement", "figure", "before", "now", "verdict"], rows, words=2, last=True)
        + "</section>"
    )


def _differences(differences: Mapping[str, MaskDifference | None]) -> str:
    if not differences:
        return ""
    items = "".join(f"<li><b>{escape(name)}</b>: {escape(difference_text(d))}</li>" for name, d in differences.items())
    note = f"<p class=note>{escape(wording.OWN_TARGET)}</p>"
    return f"<section><h2>Where other engines' masks first differ</h2><ul>{items}</ul>{note}</section>"


def difference_text(d: MaskDifference | None) -> str:
    """A first difference in a sentence."""
    if d is None:
        return "no difference among the prefixes looked at"
    text = d.text.decode("utf-8", "backslashreplace")
    return (
        f"after {text!r}, reached with probability {pictures.probability(d.reach)}, it allows {len(d.only_second):,} "
        f"tokens more (mass {pictures.probability(d.mass_second)}) and {len(d.only_first):,} fewer "
        f"(mass {pictures.probability(d.mass_first)})"
    )


def _texts(m: Measured) -> str:
    if not m.examples:
        return ""
    exact = all(t.distortion is not None for e in m.examples for t in e.tokens)
    top = max((_cost(t.distortion, t.kept, exact) for e in m.examples for t in e.tokens), default=0.0) or 1.0
    what = "distortion that arises before the token" if exact else "mass that the mask takes away before the token"
    shown = "".join(_text(e, exact, top) for e in m.examples)
    return (
        f"<section><h2>On the text</h2><p class=note>The darker, the more {what} (white 0, darkest "
        f"{wording.number(top)} nats). Point at a token for its figures.</p>{shown}</section>"
    )


def _cost(distortion: float | None, kept: float, exact: bool) -> float:
    return distortion if exact and distortion is not None else -math.log(kept) if kept > 0 else 0.0


def _text(example: Example, exact: bool, top: float) -> str:
    tokens = []
    for t in example.tokens:
        cost = _cost(t.distortion, t.kept, exact)
        figures = f"mass kept {pictures.probability(t.kept)}"
        if t.distortion is not None:
            figures += f", distortion {wording.number(t.distortion)} nats"
        tokens.append(
            f'<span class="t{" dark" if cost > 0.75 * top else ""}" style="--c:{100 * cost / top:.0f}%" '
            f'title="{escape(figures)}">{escape(pictures.shown(t.text))}</span>'
        )
    return f'<p class=label>{escape(pictures.heading(example))}</p><p class="text">{"".join(tokens)}</p>'


def _charts(measured: Sequence[Measured]) -> str:
    try:
        drawn = {name: f for name, f in pictures.pictures(measured).items() if name != "text"}
    except pictures.MissingPlots as error:
        return f"<section><h2>Charts</h2><p class=note>Not drawn: {escape(str(error))}</p></section>"
    found = []
    for name, figure in drawn.items():
        svg = pictures.rendered(figure, "svg").decode("utf-8")
        svg = re.sub(r"^.*?(?=<svg)", "", svg, flags=re.DOTALL)
        svg = _own_ids(svg, name)
        found.append(f"<figure>{svg}<figcaption>{escape(_CAPTIONS.get(name, ''))}</figcaption></figure>")
    return f"<section><h2>Charts</h2>{''.join(found)}</section>" if found else ""


def _own_ids(svg: str, name: str) -> str:
    """Ids of several drawings in one page must not meet."""
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'href="#', f'href="#{name}-', svg)
    return re.sub(r"url\(#", f"url(#{name}-", svg)


def _figures(m: Measured, named: bool) -> str:
    report = m.report
    figures = report.figures()
    rows = [[label, wording.estimate_text(figures[name]), meaning] for name, label, meaning in wording.rows([report])]
    rows += [[name, wording.estimate_text(e), ""] for name, e in report.extra.items()]
    title = f"Figures: {m.name}" if named else "Figures"
    out = [f"<section><h2>{escape(title)}</h2>", _table(["", "", "meaning"], rows, last=True)]
    if report.spellings is not None:
        s = report.spellings
        canonical = ""
        if s.canonical_q is not None and s.canonical_p is not None:
            canonical = (
                f" The tokenizer's own encodings carry {pictures.probability(s.canonical_q)} of masked samples and "
                f"{pictures.probability(s.canonical_p)} of exact ones."
            )
        out.append(
            f"<p>Of {wording.number(s.kl_tokens)} nats at token level, {wording.number(s.kl_texts)} are about what the "
            f"text says and {wording.number(s.kl_within)} about how it is cut into tokens.{canonical}</p>"
        )
    places = wording.places(report.contributions)
    if places:
        rows = [[name, wording.number(d), wording.number(t)] for name, d, t in places]
        out += ["<h3>Where it arises in the JSON text</h3>", _table(["place", "distortion", "mass taken away"], rows)]
    if not named:
        out.append(_values([m]))
    assumptions = list(
        dict.fromkeys(
            a for e in figures.values() for a in (*e.assumptions, *(["refused: " + e.refused] if e.refused else []))
        )
    )
    notes = [*wording.notes(report), *assumptions]
    out.append("<ul class=note>" + "".join(f"<li>{escape(n)}</li>" for n in notes) + "</ul></section>")
    return "".join(out)


_STYLE = """
:root{--ink:#1d2125;--soft:#6b7177;--line:#dfe3e7;--ground:#fff;--panel:#f6f7f9;--bend:#c25e00;--price:#2f6fab;
--hot:#c44f00;--mid:#f9a24b}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8ea;--soft:#9aa1a8;--line:#363b41;--ground:#15181b;--panel:#1e2226;
--bend:#f29b4b;--price:#7fb2e5;--hot:#e06a10;--mid:#8a4a10}}
*{box-sizing:border-box}body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:1100px;margin:0 auto;padding:28px 20px 60px}h1{font-size:26px;margin:0 0 4px}
h2{font-size:19px;margin:34px 0 10px}
h3{font-size:15px;margin:22px 0 8px}.sub,.note,small,figcaption{color:var(--soft)}.note,figcaption{font-size:14px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(210px,1fr));gap:12px;margin:20px 0}
.tile{background:var(--panel);border-radius:8px;padding:14px 16px;display:flex;flex-direction:column}
.tile b{font-size:25px;font-variant-numeric:tabular-nums}.tile.bend b{color:var(--bend)}
.tile.price b{color:var(--price)}
.tile small{font-size:12.5px}dl{display:grid;grid-template-columns:max-content 1fr;gap:4px 16px;margin:8px 0}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere;white-space:pre-wrap}summary{cursor:pointer;color:var(--soft)}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:14.5px;width:100%}
th{text-align:left;color:var(--soft);font-weight:600}
th,td{padding:6px 12px 6px 0;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:anywhere}
th.n,td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.label{margin:14px 0 4px;color:var(--soft);font-size:14px}
.text{margin:0;line-height:2.1;font-family:ui-monospace,monospace;font-size:15px}
.t{border:1px solid var(--line);border-radius:3px;padding:2px 3px;margin-right:1px;white-space:pre;
background:color-mix(in srgb,var(--hot) var(--c),var(--ground))}
.t.dark{color:#fff}figure{margin:18px 0;background:#fff;border:1px solid var(--line);border-radius:8px;padding:12px}
figure svg{display:block;width:100%;height:auto;max-height:640px}figcaption{margin-top:8px}
@media(prefers-color-scheme:dark){figcaption{color:#6b7177}}
"""
