"""A coverage report as one HTML file: no external resources, light and dark, useful without scripts."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from html import escape

import constrain
from constrain.coverage.heat_map import heat_map
from constrain.coverage.report import (
    AGREED,
    DISAGREED,
    STATES,
    UNDECIDED,
    UNTESTED,
    VERDICTS,
    Place,
    SchemaReport,
    Summary,
    worst_first,
)

MAX_DETAILS = 500
"""How many schemas have details of their own, the worst first; examples of obstacles have them in any case."""

MAX_PROBLEMS = 1000
MAX_OBSTACLES = 50
MAX_LISTED = 30

MEANINGS = {
    "exact": "enforced: accepted means valid, and every valid value is accepted",
    "narrowed": "as exact, except that some spellings of valid values are never written",
    "annotation": "looks like a constraint, but no specification gives it a meaning here",
    "unreached": "inside a keyword that is left out, or in a schema that is refused for another reason",
    "unenforced": 'refused by default; left out and listed with on_unsupported="warn"',
    "refused": "refused in any case: malformed, unsatisfiable, or beyond a limit",
    "crashed": "an unexpected error, or no answer in time",
    "disagreed": "the automaton and the independent validator differ",
    "undecided": "the property test came to no verdict",
}


def page(reports: Sequence[SchemaReport], summary: Summary, inputs: Sequence[str]) -> str:
    """The whole document."""
    ordered = worst_first(reports)
    place = {id(report): number for number, report in enumerate(ordered)}
    examples = [place[id(reports[o.example])] for o in summary.obstacles[:MAX_OBSTACLES]]
    detailed = frozenset([*range(min(len(ordered), MAX_DETAILS)), *examples])
    named = ", ".join(inputs[:4]) + (f" and {len(inputs) - 4} more" if len(inputs) > 4 else "")
    today = datetime.date.today().isoformat()
    body = "\n".join(
        part
        for part in (
            f'<header><h1>Schema coverage</h1><p class="sub">{escape(named)} · constrain {constrain.__version__} · '
            f"{today} · {summary.seconds:.1f} s</p></header>",
            _tiles(summary),
            _verdict_bar(summary),
            _disagreements(ordered),
            _obstacles(summary, examples, ordered),
            f'<section><h2>Keywords by schema</h2>{_legend(ordered)}<div class="scroll">'
            f"{heat_map(ordered, summary)}</div></section>",
            _keywords(summary),
            _problems(ordered, detailed),
            _details(ordered, detailed),
        )
        if part
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Schema coverage: {escape(named)}</title><style>{_STYLE}</style></head>\n"
        f"<body><main>\n{body}\n</main><script>{_SCRIPT}</script></body></html>\n"
    )


# --- totals


def _tiles(summary: Summary) -> str:
    refused = summary.schemas - sum(summary.verdicts[v] for v in ("exact", "narrowed", "annotation"))
    uses = sum(sum(total.uses.values()) for total in summary.keywords.values())
    good = sum(total.uses["exact"] + total.uses["narrowed"] for total in summary.keywords.values())
    wrong, agreed, undecided = summary.tests[DISAGREED], summary.tests[AGREED], summary.tests[UNDECIDED]
    tested = agreed + wrong + undecided
    tiles = [
        (
            _percent(summary.enforced, summary.schemas),
            "of schemas enforced",
            f"{summary.enforced:,} of {summary.schemas:,}",
            "good" if summary.enforced == summary.schemas else "",
        ),
        (
            f"{refused:,}",
            "not enforced" if refused != 1 else "is not enforced",
            f"{summary.verdicts['unenforced']:,} unenforced, {summary.verdicts['refused']:,} refused"
            + (f", {summary.verdicts['crashed']:,} crashed" if summary.verdicts["crashed"] else ""),
            "bad" if refused else "good",
        ),
        (
            _percent(good, uses),
            "of keyword uses enforced",
            f"{good:,} of {uses:,}, {len(summary.keywords)} different keywords",
            "",
        ),
    ]
    if tested:
        tiles.append(
            (
                f"{wrong:,}",
                "property tests disagree",
                f"{agreed:,} agree" + (f", {undecided:,} undecided" if undecided else ""),
                "wrong" if wrong else "good",
            )
        )
        tiles.append((_compact(summary.compared), "verdicts compared", "with an independent validator", ""))
    else:
        tiles.append(("–", "property tests", "not run", ""))
    cells = "".join(
        f'<div class="tile {kind}"><b>{escape(value)}</b><span>{escape(label)}</span><small>{escape(note)}</small>'
        "</div>"
        for value, label, note, kind in tiles
    )
    return f'<section class="tiles">{cells}</section>'


def _percent(part: int, whole: int) -> str:
    """A percentage that says 100 only when it is all."""
    if not whole:
        return "–"
    value = 100 * part / whole
    if part < whole:
        value = min(value, 99.9)
    return f"{value:.0f} %" if value in (0.0, 100.0) else f"{value:.1f} %"


def _compact(number: int) -> str:
    for unit, size in (("M", 1_000_000), ("k", 10_000)):
        if number >= size:
            return f"{number / (1_000_000 if unit == 'M' else 1000):.1f} {unit}"
    return f"{number:,}"


def _verdict_bar(summary: Summary) -> str:
    parts = [(v, summary.verdicts[v]) for v in VERDICTS if summary.verdicts[v]]
    bar = "".join(
        f'<i class="{v}" style="flex-grow:{n}" title="{n:,} {v}: {escape(MEANINGS[v], quote=True)}"></i>'
        for v, n in parts
    )
    labels = "".join(f'<span><i class="{v}"></i>{n:,} {v}</span>' for v, n in parts)
    return f'<section><div class="bar">{bar}</div><div class="legend">{labels}</div></section>'


def _legend(reports: Iterable[SchemaReport]) -> str:
    present = {use.state for report in reports for use in report.keywords.values()}
    present |= {report.verdict for report in reports}
    present |= {report.test.outcome for report in reports if report.test.outcome in (DISAGREED, UNDECIDED)}
    entries = "".join(
        f'<span title="{escape(meaning, quote=True)}"><i class="{state}"></i>'
        f"{'test disagreed' if state == DISAGREED else 'test undecided' if state == UNDECIDED else state}</span>"
        for state, meaning in MEANINGS.items()
        if state in present
    )
    return f'<div class="legend">{entries}</div>'


def _disagreements(ordered: Sequence[SchemaReport]) -> str:
    wrong = [(number, report) for number, report in enumerate(ordered) if report.disagrees]
    if not wrong:
        return ""
    items = "".join(
        f"<details{' open' if position < 2 else ''}><summary>{_link(number, report)} "
        f"<small>{escape(report.location)}</small></summary><pre>{escape(report.test.message)}</pre></details>"
        for position, (number, report) in enumerate(wrong[:MAX_LISTED])
    )
    more = f"<p>… and {len(wrong) - MAX_LISTED} more.</p>" if len(wrong) > MAX_LISTED else ""
    return f'<section class="wrong"><h2>Property tests that disagree</h2>{items}{more}</section>'


def _obstacles(summary: Summary, examples: Sequence[int], ordered: Sequence[SchemaReport]) -> str:
    if not summary.obstacles:
        return ""
    most = summary.obstacles[0].schemas
    rows = "".join(
        f"<tr><td class=n>{o.schemas:,}</td>"
        f'<td><i class="meter" style="width:{max(2, 120 * o.schemas / most):.0f}px"></i></td>'
        f"<td class=n>{o.alone:,}</td><td><code>{escape(o.keyword or '(schema)')}</code></td>"
        f"<td>{escape(o.reason)}</td><td>{_link(example, ordered[example])}</td></tr>"
        for o, example in zip(summary.obstacles, examples, strict=False)
    )
    left = len(summary.obstacles) - MAX_OBSTACLES
    more = f"<p>… and {left} rarer ones.</p>" if left > 0 else ""
    return (
        "<section><h2>What is in the way</h2><div class=scroll><table><thead><tr><th class=n>schemas</th><th></th>"
        '<th class="n" title="schemas for which this is the only obstacle">alone</th><th>keyword</th><th>reason</th>'
        f"<th>example</th></tr></thead><tbody>{rows}</tbody></table></div>{more}</section>"
    )


def _keywords(summary: Summary) -> str:
    rows = []
    for name, total in summary.keywords.items():
        uses = sum(total.uses.values())
        bar = "".join(
            f'<i class="{s}" style="flex-grow:{total.uses[s]}" title="{total.uses[s]:,} {s}"></i>'
            for s in STATES
            if total.uses[s]
        )
        bad = sum(total.uses[s] for s in ("unenforced", "refused", "crashed"))
        rows.append(
            f"<tr><td><code>{escape(name)}</code></td><td class=n>{sum(total.schemas.values()):,}</td>"
            f'<td class=n>{uses:,}</td><td><div class="bar small">{bar}</div></td>'
            f"<td class=n>{f'{bad:,}' if bad else ''}</td></tr>"
        )
    return (
        "<section><h2>Totals by keyword</h2><div class=scroll><table><thead><tr>"
        "<th>keyword</th><th class=n>schemas</th><th class=n>uses</th><th>states</th>"
        "<th class=n>in the way</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div></section>"
    )


# --- single schemas


def _problems(ordered: Sequence[SchemaReport], detailed: frozenset[int]) -> str:
    rows: list[str] = []
    total = 0
    for number, report in enumerate(ordered):
        total += len(report.problems)
        for problem in report.problems[: MAX_PROBLEMS - len(rows)]:
            state = "crashed" if report.verdict == "crashed" else report.verdict
            rows.append(
                f'<tr><td>{_link(number, report, detailed)}</td><td><span class="tag {state}">{state}</span></td>'
                f"<td><code>{escape(problem.keyword or '(schema)')}</code></td>"
                f"<td><code class=pointer>{_pointer(problem.pointer)}</code></td><td>{escape(problem.reason)}</td></tr>"
            )
    if not rows:
        return ""
    more = f"<p>The first {len(rows):,} of {total:,}; the JSON report has all.</p>" if total > len(rows) else ""
    return (
        f'<section><h2>Problems</h2><input type="search" placeholder="Filter by schema, keyword, pointer or reason" '
        f'data-filter="problems" aria-label="Filter problems"><div class=scroll><table id="problems"><thead><tr>'
        f"<th>schema</th><th>verdict</th><th>keyword</th><th>pointer</th><th>reason</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>{more}</section>"
    )


def _details(ordered: Sequence[SchemaReport], detailed: frozenset[int]) -> str:
    parts = [_one(number, ordered[number]) for number in sorted(detailed)]
    left = len(ordered) - len(parts)
    more = (
        f"<p>{left:,} more schemas, none of them worse than most of these, are in the JSON report.</p>"
        if left > 0
        else ""
    )
    return (
        '<section><h2>Schemas</h2><input type="search" placeholder="Filter schemas" data-filter="schemas" '
        f'aria-label="Filter schemas"><div id="schemas">{"".join(parts)}</div>{more}</section>'
    )


def _one(number: int, report: SchemaReport) -> str:
    uses = sum(use.count for use in report.keywords.values())
    test = report.test
    tag = f'<span class="tag {report.verdict}">{report.verdict}</span>'
    if test.outcome in (DISAGREED, UNDECIDED):
        tag += f' <span class="tag {test.outcome}">test {test.outcome}</span>'
    tested = f"{test.verdicts:,} verdicts" if test.outcome != UNTESTED else "not tested"
    blocks = "".join(
        (
            _list("In the way", report.problems),
            _list("Means nothing here", report.annotations),
            _list("Spellings never written", report.narrowings),
            _test_block(report),
            _keyword_block(report),
        )
    )
    error = f" · {escape(report.error)}" if report.error else ""
    users = f"<p class=sub>Used by {escape(', '.join(report.used_by[:20]))}</p>" if report.used_by else ""
    return (
        f'<details id="s{number}" class="schema"><summary><b>{escape(report.name)}</b> {tag}'
        f"<small>{uses:,} keywords · {tested}</small></summary>"
        f'<p class="sub"><code>{escape(report.location)}</code>{error} · {1000 * report.seconds:.0f} ms to compile</p>'
        f"{users}{blocks}</details>"
    )


def _list(title: str, places: Sequence[Place]) -> str:
    if not places:
        return ""
    items = "".join(
        f"<li><code class=pointer>{_pointer(p.pointer)}</code> "
        f"{f'<code>{escape(p.keyword)}</code> ' if p.keyword else ''}{escape(p.reason)}</li>"
        for p in places[:MAX_LISTED]
    )
    if len(places) > MAX_LISTED:
        items += f"<li>… and {len(places) - MAX_LISTED} more</li>"
    return f"<h4>{title}</h4><ul>{items}</ul>"


def _test_block(report: SchemaReport) -> str:
    test = report.test
    if test.outcome == UNTESTED:
        return ""
    counts = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in test.counts.items())
    text = f"<p>{escape(test.outcome)}{f': {escape(counts)}' if counts else ''} · {test.seconds:.2f} s</p>"
    if test.message:
        text += f"<pre>{escape(test.message)}</pre>"
    if test.disputed:
        text += f"<ul>{''.join(f'<li>disputed: {escape(line)}</li>' for line in test.disputed)}</ul>"
    return f"<h4>Property test</h4>{text}"


def _keyword_block(report: SchemaReport) -> str:
    rows = "".join(
        f'<tr><td><code>{escape(name)}</code></td><td class=n>{use.count:,}</td><td><span class="tag {use.state}">'
        f"{use.state}</span></td><td>{'<br>'.join(_placed(use.places[:6]))}"
        f"{f'<br>… and {use.count - 6} more' if use.count > 6 else ''}</td></tr>"
        for name, use in report.keywords.items()
    )
    if not rows:
        return "<p class=sub>No keyword constrains anything.</p>"
    return (
        "<h4>Keywords</h4><table><thead><tr><th>keyword</th><th class=n>uses</th><th>state</th><th>places</th></tr>"
        f"</thead><tbody>{rows}</tbody></table>"
    )


def _placed(places: Iterable[tuple[str, str]]) -> Iterator[str]:
    for pointer, state in places:
        yield f'<code class="pointer"><i class="{state}"></i>{_pointer(pointer)}</code>'


def _pointer(pointer: str) -> str:
    return escape(pointer).replace("/", "<wbr>/") if pointer else "(root)"


def _link(number: int, report: SchemaReport, detailed: frozenset[int] | None = None) -> str:
    name = escape(report.name if len(report.name) <= 40 else report.name[:39] + "…")
    return f'<a href="#s{number}">{name}</a>' if detailed is None or number in detailed else name


_STYLE = """
:root{color-scheme:light dark;--bg:#fbfbfa;--card:#fff;--fg:#1d2428;--dim:#667079;--line:#e2e5e7;--link:#1f5fa8;
--exact:#2f9e78;--narrowed:#8fd0b4;--annotation:#8aa9cf;--unreached:#d3d7da;--unenforced:#efb03a;--refused:#d6493b;
--crashed:#7c1d16;--disagreed:#8b35b5;--undecided:#b9a7c9;--meter:#efb03a}
@media(prefers-color-scheme:dark){:root{--bg:#14181b;--card:#1c2226;--fg:#e4e8ea;--dim:#939da5;--line:#30383e;
--link:#7db4f0;--exact:#35a980;--narrowed:#1f6b54;--annotation:#4f74a3;--unreached:#3d464c;--unenforced:#d99b2b;
--refused:#de5647;--crashed:#ff9d92;--disagreed:#b566dd;--undecided:#75628a;--meter:#d99b2b}}
*{box-sizing:border-box}html{scroll-padding-top:1rem}
body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1240px;margin:0 auto;padding:28px 24px 80px}
h1{font-size:26px;margin:0}h2{font-size:18px;margin:0 0 10px}h4{margin:14px 0 4px;font-size:13px;color:var(--dim)}
.sub,small{color:var(--dim)}.sub{margin:2px 0 0;font-size:13px;overflow-wrap:anywhere}
section{margin-top:26px}a{color:var(--link);text-decoration:none}a:hover{text-decoration:underline}
code,pre{font:12.5px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}code{overflow-wrap:anywhere}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--bg);border:1px solid var(--line);border-radius:6px;
padding:8px 10px;margin:6px 0;max-height:420px;overflow:auto}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(190px,1fr));gap:12px}
.tile{background:var(--card);border:1px solid var(--line);border-left:4px solid var(--unreached);border-radius:8px;
padding:12px 14px;display:flex;flex-direction:column}
.tile b{font-size:27px;line-height:1.2;font-variant-numeric:tabular-nums}.tile.good{border-left-color:var(--exact)}
.tile.bad{border-left-color:var(--refused)}.tile.wrong{border-left-color:var(--disagreed)}
.bar{display:flex;height:18px;border-radius:5px;overflow:hidden;gap:1px}.bar i{min-width:2px;flex-basis:0}
.bar.small{height:11px;width:300px;max-width:40vw;border-radius:3px;margin-top:6px}td code{overflow-wrap:normal}
td code.pointer{overflow-wrap:anywhere}svg .band{fill:var(--bg)}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;margin:8px 0;font-size:13px;color:var(--dim)}
.legend i,.pointer i{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:6px;vertical-align:-1px}
.pointer i{width:7px;height:7px;border-radius:50%;vertical-align:1px}
.scroll{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 12px}
table{border-collapse:collapse;font-size:13.5px;width:100%}
th{text-align:left;color:var(--dim);font-weight:600;border-bottom:1px solid var(--line);padding:3px 14px 5px 0}
td{padding:4px 14px 4px 0;border-bottom:1px solid var(--line);vertical-align:top}tbody tr:last-child td{border-bottom:0}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.meter{display:block;height:9px;margin-top:6px;border-radius:3px;background:var(--meter)}
.tag{display:inline-block;font-size:12px;line-height:1.5;padding:0 8px;border-radius:9px;color:#fff;white-space:nowrap}
.tag.narrowed,.tag.annotation,.tag.unreached,.tag.unenforced,.tag.undecided{color:#1d2428}
input[type=search]{font:inherit;width:min(420px,100%);padding:5px 10px;margin:0 0 10px;border:1px solid var(--line);
border-radius:6px;background:var(--card);color:var(--fg)}
details{background:var(--card);border:1px solid var(--line);border-radius:8px;margin:6px 0;padding:0 14px}
details[open]{padding-bottom:12px}.schema ul,.schema p{font-size:13.5px;margin:4px 0}
summary{cursor:pointer;padding:8px 0;overflow-wrap:anywhere}
summary small{float:right;margin-left:12px}.wrong summary small{float:none}
summary .tag{margin-left:6px}details:target{border-color:var(--link)}
ul{margin:4px 0;padding-left:20px}li{margin:2px 0;overflow-wrap:anywhere}
.wrong details{border-left:4px solid var(--disagreed)}
svg.heat{display:block}svg text{fill:var(--fg);font:12px system-ui,sans-serif}svg .row{text-anchor:end}
svg .whole{font-weight:600}svg .axis{fill:var(--dim)}svg .col{fill:var(--link)}
svg .cross{stroke:#fff;stroke-width:1.6;fill:none}svg g:hover rect{stroke:var(--fg);stroke-width:1}
.exact{background:var(--exact);fill:var(--exact)}.narrowed{background:var(--narrowed);fill:var(--narrowed)}
.annotation{background:var(--annotation);fill:var(--annotation)}
.unreached{background:var(--unreached);fill:var(--unreached)}
.unenforced{background:var(--unenforced);fill:var(--unenforced)}.refused{background:var(--refused);fill:var(--refused)}
.crashed{background:var(--crashed);fill:var(--crashed)}.disagreed{background:var(--disagreed);fill:var(--disagreed)}
.undecided{background:var(--undecided);fill:var(--undecided)}
@media(prefers-color-scheme:dark){.tag.narrowed,.tag.annotation,.tag.unreached,.tag.undecided{color:#e4e8ea}
.tag.crashed{color:#14181b}}
@media(max-width:640px){summary small{float:none;display:block;margin:0}}
@media print{.scroll{overflow:visible}input{display:none}}
""".strip()

_SCRIPT = """
for(const box of document.querySelectorAll('[data-filter]')){
const target=document.getElementById(box.dataset.filter);
const items=target.tBodies?[...target.tBodies[0].rows]:[...target.children];
const texts=items.map(item=>item.textContent.toLowerCase());
box.addEventListener('input',()=>{const wanted=box.value.toLowerCase();
items.forEach((item,i)=>{item.hidden=!texts[i].includes(wanted)})})}
function reveal(){const item=document.getElementById(location.hash.slice(1));
if(item&&item.tagName==='DETAILS'){item.hidden=false;item.open=true;item.scrollIntoView()}}
addEventListener('hashchange',reveal);reveal();
""".strip()
