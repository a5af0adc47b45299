"""`constrain coverage`: which of many schemas are enforced exactly, keyword by keyword, and are the verdicts right?"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from constrain.cli.console import errors, one_line, results

if TYPE_CHECKING:
    from constrain.coverage import SchemaReport, Summary

MAX_ROWS = 40
MAX_KEYWORD_ROWS = 25
MAX_OBSTACLES = 12
MAX_INPUT_PROBLEMS = 20

STYLES = {
    "exact": "green",
    "narrowed": "green",
    "annotation": "cyan",
    "unreached": "dim",
    "unenforced": "yellow",
    "refused": "red",
    "crashed": "bold red",
    "agreed": "green",
    "disagreed": "bold magenta",
    "undecided": "yellow",
    "not run": "dim",
}


def coverage(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="Schemas, tool lists (OpenAI, Anthropic, MCP, Gemini), OpenAPI 3 documents, lists of test cases; "
            "folders of them; .jsonl, also .xz or .gz.",
        ),
    ],
    test: Annotated[
        bool,
        typer.Option("--test/--no-test", help="Compare the automaton of each schema with an independent validator."),
    ] = True,
    json_to: Annotated[
        Optional[str],  # noqa: UP045 - typer reads the annotation at run time
        typer.Option("--json", metavar="FILE", help="Write all results as JSON; '-' is standard output."),
    ] = None,
    html_to: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--html", metavar="FILE", help="Write a report for a browser, with a heat map."),
    ] = None,
    fail_under: Annotated[
        float,
        typer.Option(
            min=0,
            max=100,
            metavar="PERCENT",
            help="Exit with 1 when fewer schemas are enforced. Wrong verdicts always do.",
        ),
    ] = 100.0,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Count schemas with narrowed spellings or meaningless keywords as not enforced."),
    ] = False,
    limit: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, help="Take only so many schemas."),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="How many processes.")] = 1,
    max_examples: Annotated[int, typer.Option(min=0, help="How many examples to generate for a schema.")] = 100,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for one schema.")] = 60.0,
    seed: Annotated[int, typer.Option(help="Seed of the generated examples.")] = 0,
) -> None:
    """Say of many schemas which are enforced exactly, keyword by keyword, and test that the verdicts are right.

    Exit status 0 when all schemas are enforced and no verdict is wrong, 1 when not, 2 when an input cannot be read.
    """
    raise typer.Exit(
        run(
            paths,
            test=test,
            json_to=json_to,
            html_to=html_to,
            fail_under=fail_under,
            strict=strict,
            limit=limit,
            jobs=jobs,
            max_examples=max_examples,
            timeout=timeout,
            seed=seed,
        )
    )


def run(
    paths: list[Path],
    *,
    test: bool,
    json_to: str | None,
    html_to: Path | None,
    fail_under: float,
    strict: bool,
    limit: int | None,
    jobs: int,
    max_examples: int,
    timeout: float,
    seed: int,
) -> int:
    """Print the report.

    Returns:
        0 when all schemas (or `fail_under` percent of them) are enforced and no verdict was wrong; 1 when not; 2 when
        some input could not be read, or there was none.
    """
    from constrain import coverage
    from constrain.coverage.report import summarise

    for target in (json_to, html_to):
        if target not in (None, "-") and not Path(target).absolute().parent.is_dir():
            _complain(f"{target}: there is no such folder to write to")
            return 2
    if test and (missing := _missing_for_tests()):
        _complain(f"{missing} Or leave the tests out with --no-test.")
        return 2
    found = coverage.read(paths, limit)
    for problem in found.problems[:MAX_INPUT_PROBLEMS]:
        _complain(f"{problem.file}: {one_line(problem.reason)}")
    if len(found.problems) > MAX_INPUT_PROBLEMS:
        _complain(f"… and {len(found.problems) - MAX_INPUT_PROBLEMS} more problems with the input")
    if not found.schemas:
        if not found.problems:
            _complain("no schema was found")
        return 2

    begun = time.perf_counter()
    options = coverage.Options(test=test, max_examples=max_examples, seed=seed)
    with _progress(len(found.schemas)) as advance:
        reports = coverage.run(found.schemas, options, jobs=jobs, timeout=timeout, on_done=advance)
    summary = summarise(reports, time.perf_counter() - begun)

    if json_to is not None:
        _write_json(json_to, reports, summary, found, options)
    if html_to is not None:
        from constrain.coverage.html import page

        html_to.write_text(page(reports, summary, [str(path) for path in paths]), encoding="utf-8")
    if json_to != "-":
        _print(results(), reports, summary, passed_over=len(found.passed_over))
    return 2 if found.problems else status(reports, summary, fail_under=fail_under, strict=strict)


def status(reports: list[SchemaReport], summary: Summary, *, fail_under: float, strict: bool) -> int:
    """The exit status as far as it is about schemas.

    A wrong verdict always fails. With `strict`, narrowings and annotations count as not enforced, and a test without a
    verdict fails.
    """
    good = sum(r.verdict == "exact" if strict else r.enforced for r in reports if not r.disagrees)
    if summary.tests["disagreed"] or (strict and summary.tests["undecided"]):
        return 1
    return int(100.0 * good < fail_under * len(reports))


def _missing_for_tests() -> str:
    """What the property tests lack, "" where nothing."""
    try:
        import constrain.testing  # noqa: F401
    except ImportError as error:
        return f"{error}."
    return ""


def _complain(line: str) -> None:
    errors().print(f"constrain: {line}", style="red", soft_wrap=True, highlight=False, markup=False)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[Any], None]]:
    console = errors()
    if not console.is_terminal:
        yield lambda _report: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[latest]}"), console=console, transient=True) as bar:
        task = bar.add_task("checking schemas", total=total, latest="")

        def advance(report: SchemaReport) -> None:
            bar.update(task, advance=1, latest=Text(one_line(report.name, 40)).markup)

        yield advance


def _write_json(target: str, reports: list[SchemaReport], summary: Summary, found: Any, options: Any) -> None:
    from constrain import __version__

    document = {
        "constrain": __version__,
        "options": {"test": options.test, "max_examples": options.max_examples, "seed": options.seed},
        "summary": summary.as_json(),
        "input_problems": [{"file": p.file, "reason": p.reason} for p in found.problems],
        "passed_over": found.passed_over,
        "schemas": [report.as_json() for report in reports],
    }
    text = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
    if target == "-":
        sys.stdout.write(text)
    else:
        Path(target).write_text(text, encoding="utf-8")


# --- the report on a terminal


def _print(console: Console, reports: list[SchemaReport], summary: Summary, *, passed_over: int) -> None:
    if not console.is_terminal:
        console.width = 160
    console.print(_schema_table(reports, console.width))
    if len(reports) > MAX_ROWS:
        console.print(
            f"… and {len(reports) - MAX_ROWS} more schemas, none of them worse (--json or --html lists them)\n"
        )
    if summary.obstacles:
        console.print(_obstacle_table(summary, console.width))
    console.print(_keyword_table(summary))
    _print_disagreements(console, reports)
    console.print(_conclusion(summary, passed_over), soft_wrap=True)


def _schema_table(reports: list[SchemaReport], width: int) -> Table:
    from constrain.coverage.report import worst_first

    shown = worst_first(reports)[:MAX_ROWS]
    table = Table(box=None, pad_edge=False, header_style="bold")
    names = [one_line(report.name, 40) for report in shown]
    for heading, right in (("schema", False), ("verdict", False), ("keywords", True), ("test", False), ("what", False)):
        table.add_column(heading, no_wrap=True, justify="right" if right else "left")
    left = max(20, width - max(map(len, ["schema", *names])) - 42)  # the others take at most so much
    for report, name in zip(shown, names, strict=True):
        uses = sum(use.count for use in report.keywords.values())
        good = sum(n for use in report.keywords.values() for state, n in use.states.items() if _is_enforced(state))
        table.add_row(
            Text(name),
            Text(report.verdict, STYLES[report.verdict]),
            f"{good}/{uses}",
            Text(
                f"{report.test.verdicts} agree" if report.test.outcome == "agreed" else report.test.outcome,
                STYLES[report.test.outcome],
            ),
            Text(one_line(what(report), left)),
        )
    return table


def what(report: SchemaReport) -> str:
    """The most important thing about a schema in one line."""
    if report.disagrees or report.test.outcome == "undecided":
        return one_line(report.test.message, 300)
    for entries, label in ((report.problems, ""), (report.annotations, "ignored: "), (report.narrowings, "spelling: ")):
        if entries:
            first = entries[0]
            keyword = f", {first.keyword!r}" if first.keyword else ""
            more = f" (+{len(entries) - 1})" if len(entries) > 1 else ""
            return f"{label}at {first.pointer or '(root)'}{keyword}{more}: {one_line(first.reason, 300)}"
    return ""


def _is_enforced(state: str) -> bool:
    return state in ("exact", "narrowed")


def _obstacle_table(summary: Summary, width: int) -> Table:
    table = Table(
        box=None, pad_edge=False, header_style="bold", title="\nIn the way", title_justify="left", title_style="bold"
    )
    table.add_column("schemas", justify="right")
    table.add_column("alone", justify="right")
    table.add_column("keyword", no_wrap=True)
    table.add_column("reason", no_wrap=True)
    shown = summary.obstacles[:MAX_OBSTACLES]
    left = max(20, width - max(len(o.keyword) for o in shown) - 24)
    for obstacle in shown:
        keyword = obstacle.keyword or "(schema)"
        table.add_row(str(obstacle.schemas), str(obstacle.alone), Text(keyword), Text(one_line(obstacle.reason, left)))
    if (left := len(summary.obstacles) - MAX_OBSTACLES) > 0:
        table.add_row("", "", f"… {left} more", "")
    return table


def _keyword_table(summary: Summary) -> Table:
    table = Table(
        box=None, pad_edge=False, header_style="bold", title="\nKeywords, uses by state", title_justify="left"
    )
    table.add_column("keyword", no_wrap=True)
    table.add_column("schemas", justify="right")
    states = ("exact", "narrowed", "annotation", "unreached", "unenforced", "refused", "crashed")
    seen = [s for s in states if any(total.uses[s] for total in summary.keywords.values())]
    for state in seen:
        table.add_column(state, justify="right")
    for name, total in list(summary.keywords.items())[:MAX_KEYWORD_ROWS]:
        cells = [Text(str(total.uses[s] or ""), STYLES[s]) for s in seen]
        table.add_row(Text(name), str(sum(total.schemas.values())), *cells)
    if (left := len(summary.keywords) - MAX_KEYWORD_ROWS) > 0:
        table.add_row(f"… {left} more", "", *("" for _ in seen))
    return table


def _print_disagreements(console: Console, reports: list[SchemaReport], most: int = 5) -> None:
    wrong = [report for report in reports if report.disagrees]
    for report in wrong[:most]:
        console.print(Text(f"\n✗ {report.location} ({report.name}): the property test disagrees", "bold magenta"))
        for line in report.test.message.splitlines()[:30]:
            console.print(Text("  " + line), soft_wrap=True)
    if len(wrong) > most:
        console.print(f"\n… and {len(wrong) - most} more disagreements")


def _conclusion(summary: Summary, passed_over: int) -> Text:
    text = Text("\n")
    good = summary.enforced == summary.schemas
    text.append(
        f"{summary.enforced} of {summary.schemas} schemas enforced ({summary.percent:.1f} %)",
        "green" if good else "yellow",
    )
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(summary.verdicts.items(), key=_by_scale))
    text.append(f": {verdicts}.")
    if summary.verdicts.get("narrowed"):
        text.append(
            " Narrowed is exact in values, with spellings that are never written; `constrain check` says exact."
        )
    if summary.compared or any(summary.tests[o] for o in ("agreed", "disagreed", "undecided")):
        text.append(f" {summary.compared:,} verdicts compared; tests: ")
        outcomes = [(o, summary.tests[o]) for o in ("agreed", "disagreed", "undecided") if summary.tests[o]]
        for position, (outcome, count) in enumerate(outcomes):
            text.append(", " if position else "")
            text.append(f"{count} {outcome}", STYLES[outcome])
        text.append(".")
    if passed_over:
        text.append(f" {passed_over} files of folders held no schema.")
    text.append(f" {summary.seconds:.1f} s.")
    return text


def _by_scale(item: tuple[str, int]) -> int:
    from constrain.coverage.report import VERDICTS

    return VERDICTS.index(item[0])
