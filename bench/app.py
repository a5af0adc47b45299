"""The commands of `constrain bench`. What they do is in the modules named after them, imported when they run.

Standard output has the tables, standard error the progress (on a terminal only) and what is in the way. Exit status 2
where the command cannot be carried out: an unknown engine, a file that is missing or not in its format.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from constrain.bench.results import Result

app = typer.Typer(
    name="bench",
    help="Measure masks, batches, start-up, generation and scale, side by side with the other engines.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Engines = Annotated[
    str,
    typer.Option(
        "--engines", "-e", metavar="NAMES", help="Engines with commas between; 'constrain bench engines' lists them."
    ),
]
TokenizerName = Annotated[
    str,
    typer.Option(
        "--tokenizer",
        "-t",
        metavar="NAME",
        help="tekken, sentencepiece, smollm2, llama3.1, qwen3, bytes, npm:PACKAGE, a tokenizer.json or its folder, or "
        "a Hugging Face name in the local cache.",
    ),
]
Corpus = Annotated[
    str,
    typer.Option(
        "--corpus",
        "-c",
        metavar="FILE",
        help="MaskBench-format .jsonl (.xz, .gz), .json or folder; 'builtin' is the set that comes with this.",
    ),
]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="How many schemas.")]
Seed = Annotated[int | None, typer.Option("--seed", help="Take a random sample by this seed.")]
JsonFile = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write all figures to this JSON file.")]
Plots = Annotated[Path | None, typer.Option("--plots", metavar="DIR", help="Write plots as PNG to this folder.")]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page with tables and plots.")]
TimeLimit = Annotated[float, typer.Option("--time-limit", min=0.1, help="Seconds for one schema or point.")]


def one_line_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Turn what the person can put right into one line on standard error and exit status 2."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        from constrain.bench.engines import Unavailable
        from constrain.bench.results import BenchError
        from constrain.cli.console import errors, one_line
        from constrain.files import file_error

        try:
            command(*args, **kwargs)
        except (BenchError, Unavailable, OSError, ValueError) as error:
            text = file_error(error) if isinstance(error, OSError) else str(error)
            errors().print(f"constrain: {one_line(text)}", style="red", soft_wrap=True, highlight=False, markup=False)
            raise typer.Exit(2) from None
        except ImportError as error:
            text = f"{error.name or error} is not installed; install the extra: pip install 'constrain-decode[bench]'"
            errors().print(f"constrain: {text}", style="red", soft_wrap=True, highlight=False, markup=False)
            raise typer.Exit(2) from None

    return wrapped


@contextlib.contextmanager
def _progress(what: str, total: int) -> Iterator[Callable[[str], None]]:
    """A bar on standard error, quiet in a pipe."""
    from constrain.cli.console import errors, one_line

    console = errors()
    if not console.is_terminal:
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[latest]}", markup=False), console=console, transient=True) as bar:
        task = bar.add_task(what, total=total, latest="")
        yield lambda latest: bar.update(task, advance=1, latest=one_line(latest, 40))


def _names(engines: str) -> list[str]:
    from constrain.bench.engines import DEFAULT, check_named

    names = [name.strip() for name in engines.split(",") if name.strip()] or list(DEFAULT)
    for name in names:
        check_named(name)
    return names


def _numbers(text: str, option: str) -> list[int]:
    from constrain.bench.results import BenchError

    try:
        found = [int(part.strip().replace("_", "")) for part in text.split(",") if part.strip()]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise BenchError(f"{option} takes whole numbers from 1 with commas between, not {text!r}")
    return found


def _lines(source: str, limit: int | None, seed: int | None) -> list[str]:
    from constrain.bench import corpus
    from constrain.bench.results import BenchError
    from constrain.files import file_problem

    try:
        lines = corpus.select(source, limit=limit, seed=seed)
        corpus.check(lines, source)
    except FileNotFoundError as error:
        raise BenchError(str(error) if error.errno is None else f"there is no corpus at {source}") from None
    except OSError as error:
        raise BenchError(f"{source}: {file_problem(error)}") from None
    except UnicodeDecodeError as error:
        raise BenchError(f"{source}: {error}") from None
    if not lines:
        raise BenchError(f"{source} holds no schema")
    return lines


def _check_targets(*targets: Path | None) -> None:
    """What is to be written at the end should not fail after an hour."""
    from constrain.bench.results import BenchError

    for target in targets:
        if target is not None and not target.absolute().parent.is_dir():
            raise BenchError(f"{target}: there is no such folder to write to")


def _check_drawing(*targets: Path | None) -> None:
    from constrain.bench.plots import figures
    from constrain.bench.results import Result

    if any(target is not None for target in targets):
        figures(Result("startup", {}, [], {"engines": {}}))  # says where matplotlib is missing


def show(result: Result) -> None:
    """Print a result: who did not take part, and the tables."""
    from constrain.bench.page import module_of
    from constrain.bench.tables import on_terminal
    from constrain.cli.console import results

    console = results()
    if not console.is_terminal:
        console.width = 200
    meta = result.meta
    tokenizer = meta.get("tokenizer")
    parts = [str(meta.get("cpu", "")), f"{meta.get('cores', '')} cores", f"Python {meta.get('python', '')}"]
    if tokenizer:
        parts.append(f"{tokenizer['name']} ({tokenizer['size']:,} tokens)")
    console.print(", ".join([*parts, str(meta.get("date", ""))]), style="dim", markup=False, soft_wrap=True)
    versions = [f"{n} {e['version']}".strip() for n, e in meta.get("engines", {}).items()]
    if versions:
        console.print(", ".join(versions), style="dim", markup=False, soft_wrap=True)
    for entry in result.skipped:
        remedy = f" ({entry['remedy']})" if entry.get("remedy") else ""
        console.print(
            f"skipped {entry['engine']}: {entry['reason']}{remedy}", style="yellow", markup=False, soft_wrap=True
        )
    on_terminal(module_of(result.kind).tables(result), console)


def _finish(result: Result, json_to: Path | None, plots: Path | None, html: Path | None) -> None:
    if json_to is not None:
        result.write(json_to)
    show(result)
    if plots is not None:
        _draw(result, plots)
    if html is not None:
        from constrain.bench.page import page

        html.write_text(page([result]), encoding="utf-8")


def _draw(result: Result, folder: Path) -> None:
    from constrain.bench.plots import figures

    folder.mkdir(parents=True, exist_ok=True)
    for figure in figures(result):
        (folder / f"{figure.name}.png").write_bytes(figure.draw("png"))


@app.command()
@one_line_errors
def engines() -> None:
    """List the engines, their versions, and how to install those that are missing."""
    from constrain.bench.engines import ENGINES, Unavailable, check_installed, version
    from constrain.bench.tables import Cell, Table, on_terminal
    from constrain.cli.console import results

    table = Table("Engines", ["", "version", "settings", ""], text_columns=(1, 2, 3))
    for name, entry in ENGINES.items():
        try:
            check_installed(name)
            table.add(name, version(name), entry.note, "")
        except Unavailable as unavailable:
            table.add(name, "–", entry.note, Cell(unavailable.reason, "bad"))
            table.note = f"Missing engines: {unavailable.remedy}"
    console = results()
    if not console.is_terminal:
        console.width = 160
    on_terminal([table], console)


@app.command()
@one_line_errors
def masks(
    engines: Engines = "",
    tokenizer: TokenizerName = "tekken",
    corpus: Corpus = "builtin",
    limit: Limit = None,
    seed: Seed = None,
    time_limit: TimeLimit = 30.0,
    json_to: JsonFile = None,
    plots: Plots = None,
    html: Html = None,
) -> None:
    """Verdicts, time to the first mask and time between masks, schema by schema in turns, one thread each."""
    from constrain.bench import masks as module

    names, lines = _names(engines), _lines(corpus, limit, seed)
    _check_targets(json_to, plots, html)
    _check_drawing(plots, html)
    with _progress("schemas", len(lines)) as advance:
        result = module.run(
            lines, names, tokenizer=tokenizer, limit_s=time_limit, source=Path(corpus).name, advance=advance
        )
    _finish(result, json_to, plots, html)


@app.command()
@one_line_errors
def batch(
    engines: Engines = "",
    tokenizer: TokenizerName = "tekken",
    corpus: Corpus = "builtin",
    limit: Limit = None,
    seed: Seed = None,
    rows: Annotated[str, typer.Option(help="Numbers of rows, with commas between.")] = "1,2,4,8,16,32,64,128,256,512",
    seconds: Annotated[float, typer.Option(min=0.001, help="How long each number of rows runs at least.")] = 1.0,
    time_limit: TimeLimit = 120.0,
    json_to: JsonFile = None,
    plots: Plots = None,
    html: Html = None,
) -> None:
    """Masks per second when many rows advance together, on one core and on all."""
    from constrain.bench import batch as module

    names, lines, counts = _names(engines), _lines(corpus, limit, seed), _numbers(rows, "--rows")
    _check_targets(json_to, plots, html)
    _check_drawing(plots, html)
    with _progress("engines", 2 * len(names)) as advance:
        result = module.run(
            lines,
            names,
            tokenizer=tokenizer,
            rows=counts,
            seconds=seconds,
            limit_s=time_limit,
            source=Path(corpus).name,
            advance=advance,
        )
    _finish(result, json_to, plots, html)


@app.command()
@one_line_errors
def apply(
    widths: Annotated[
        str, typer.Option(help="Vocabulary sizes, with commas between.", show_default="32000,128256,262144")
    ] = "",
    rows: Annotated[str, typer.Option(help="Numbers of rows, with commas between.", show_default="1,8,64")] = "",
    seconds: Annotated[float, typer.Option(min=0.001, help="How long each case is repeated at least.")] = 0.2,
    record_mass: Annotated[
        bool,
        typer.Option("--record-mass", help="What keeping the mass of each mask adds; widths 49152,131072, rows 1,8."),
    ] = False,
    json_to: JsonFile = None,
    plots: Plots = None,
    html: Html = None,
) -> None:
    """Bitmask to logits, rows by vocabulary, on the CPU and on a GPU where there is one."""
    from constrain.bench import apply as module
    from constrain.bench import mass

    chosen = mass if record_mass else module
    sizes = _numbers(widths or ",".join(map(str, chosen.WIDTHS)), "--widths")
    counts = _numbers(rows or ",".join(map(str, chosen.ROWS)), "--rows")
    _check_targets(json_to, plots, html)
    _check_drawing(plots, html)
    if record_mass:
        with _progress("cases", len(sizes) * len(counts) * len(mass.PLACES)) as advance:
            result = mass.run(widths=sizes, rows=counts, seconds=seconds, advance=advance)
        _finish(result, json_to, plots, html)
        return
    with _progress("cases", len(sizes) * len(counts) * 3 * 4) as advance:
        result = module.run(widths=sizes, rows=counts, seconds=seconds, advance=advance)
    _finish(result, json_to, plots, html)


@app.command()
@one_line_errors
def startup(
    engines: Engines = "",
    tokenizer: TokenizerName = "tekken",
    repeats: Annotated[int, typer.Option(min=1, help="How many processes for each figure.")] = 3,
    time_limit: TimeLimit = 300.0,
    json_to: JsonFile = None,
    plots: Plots = None,
    html: Html = None,
) -> None:
    """Import, vocabulary set-up and first mask of fresh processes; for this library with empty caches too."""
    from constrain.bench import startup as module

    names = _names(engines)
    _check_targets(json_to, plots, html)
    _check_drawing(plots, html)
    with _progress("engines", len(names)) as advance:
        result = module.run(names, tokenizer=tokenizer, repeats=repeats, limit_s=time_limit, advance=advance)
    _finish(result, json_to, plots, html)


@app.command()
@one_line_errors
def generate(
    engines: Engines = "",
    model: Annotated[
        str, typer.Option("--model", "-m", help="A folder or hub name, or 'smollm2' for the demo's model.")
    ] = "smollm2",
    work: Annotated[
        str, typer.Option(help="tools: calls of three tools; record: an object with long names.")
    ] = "tools",
    max_new_tokens: Annotated[int, typer.Option(min=1, help="Most tokens of one answer.")] = 96,
    repeats: Annotated[int, typer.Option(min=1, help="How often each prompt is answered.")] = 3,
    time_limit: TimeLimit = 600.0,
    json_to: JsonFile = None,
    plots: Plots = None,
    html: Html = None,
) -> None:
    """Tokens per second of a real model, without a constraint and under each engine."""
    from constrain.bench import generate as module

    names = _names(engines)
    _check_targets(json_to, plots, html)
    _check_drawing(plots, html)
    with _progress("engines", len(names) + 1) as advance:
        result = module.run(
            names,
            model=model,
            work=work,
            max_new_tokens=max_new_tokens,
            repeats=repeats,
            limit_s=time_limit,
            advance=advance,
        )
    _finish(result, json_to, plots, html)


@app.command()
@one_line_errors
def scale(
    engines: Engines = "",
    tokenizer: TokenizerName = "tekken",
    series: Annotated[str, typer.Option(help="Series with commas between, such as tools,enum; all by default.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="Leave out the large points.")] = False,
    time_limit: TimeLimit = 30.0,
    json_to: JsonFile = None,
    plots: Plots = None,
    html: Html = None,
) -> None:
    """How compile and masks grow with lengths, counts, enumerations, depth, definitions and tools."""
    from constrain.bench import scale as module

    names = _names(engines)
    chosen = module.choose_series([s.strip() for s in series.split(",") if s.strip()])
    _check_targets(json_to, plots, html)
    _check_drawing(plots, html)
    total = sum(len(module.points_of(s, quick=quick)) for s in chosen)
    with _progress("points", total) as advance:
        result = module.run(names, tokenizer=tokenizer, series=chosen, limit_s=time_limit, quick=quick, advance=advance)
    _finish(result, json_to, plots, html)


@app.command()
@one_line_errors
def toolcalls(
    model: Annotated[
        str, typer.Option("--model", "-m", help="A folder or hub name, or 'smollm2' for the demo's model.")
    ] = "smollm2",
    questions: Annotated[
        str,
        typer.Option("--questions", "-q", metavar="varied|small", help="A hundred to five tools, or thirty to eight."),
    ] = "varied",
    bfcl: Annotated[
        Path | None,
        typer.Option(
            "--bfcl", metavar="PATH", help="File or folder of BFCL questions in their place, with answers beside."
        ),
    ] = None,
    format: Annotated[str, typer.Option("--format", help="Wire format; 'auto' tells it from the tokenizer.")] = "auto",
    max_new_tokens: Annotated[int, typer.Option(min=1, help="Most tokens of one answer.")] = 128,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="How many questions.")] = None,
    json_to: JsonFile = None,
    plots: Plots = None,
    html: Html = None,
) -> None:
    """How many tool calls of a model are valid and right, without the constraint and with it."""
    from constrain.bench import toolcalls as module
    from constrain.bench.bfcl import read_cases

    cases = module.only(module.built_in(questions) if bfcl is None else read_cases(bfcl), limit)
    _check_targets(json_to, plots, html)
    _check_drawing(plots, html)
    with _progress("answers", len(cases) * len(module.WAYS)) as advance:
        result = module.run(
            cases,
            model=model,
            source=questions if bfcl is None else bfcl.name,
            format=format,
            max_new_tokens=max_new_tokens,
            advance=advance,
        )
    _finish(result, json_to, plots, html)


@app.command()
@one_line_errors
def report(
    files: Annotated[list[Path], typer.Argument(metavar="FILE.json...", help="Written by the other commands.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write a page for a browser.")
    ] = None,
    plots: Plots = None,
) -> None:
    """Show results from their files: tables here, or one self-contained page, or plots."""
    from constrain.bench.page import module_of
    from constrain.bench.results import BenchError, read

    found = []
    for path in files:
        result = read(path)
        try:
            module_of(result.kind).tables(result)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise BenchError(f"{path} is damaged: {type(error).__name__} {error}") from None
        found.append(result)
    _check_targets(output, plots)
    _check_drawing(output, plots)
    if output is not None:
        from constrain.bench.page import page

        output.write_text(page(found), encoding="utf-8")
    for result in found:
        if plots is not None:
            _draw(result, plots)
        if output is None and plots is None:
            show(result)


def main() -> None:
    """Run the commands by themselves."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
