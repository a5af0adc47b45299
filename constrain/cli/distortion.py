"""`constrain distortion`: how far does the constraint bend what a model says, on this prompt?"""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from constrain.cli.console import errors, results
from constrain.errors import ConstrainError, InvalidSchemaError

FORMAT = 1
WHITESPACE = {"compact": "none", "flexible": "bounded", "none": "none", "spaced": "spaced", "bounded": "bounded"}
"""Names of whitespace settings; two read better than those of `constrain.json_schema` and mean the same."""

DRAW_TOKENS = 64
"""Limit of a draw where none is given. A masked draw of free text may go on for thousands of tokens, minutes each."""

METHODS = ("auto", "exact", "trie", "sampling", "two_sided")


class UsageError(ConstrainError):
    """The arguments do not fit together."""


@dataclass(frozen=True)
class Setting:
    """How a grammar is made of the schema, or which engine makes one."""

    name: str
    whitespace: str
    property_order: str
    escapes: str
    engine: str = ""


def distortion(
    model: Annotated[
        str, typer.Option("--model", "-m", help="A folder, .gguf file or hub name, or 'smollm2' for the demo's model.")
    ],
    prompt: Annotated[str, typer.Option("--prompt", "-p", help="The request; '-' reads standard input.")],
    schema: Annotated[
        Optional[Path],  # noqa: UP045 - typer reads the annotation at run time
        typer.Option("--schema", "-s", help="File with a JSON Schema."),
    ] = None,
    tools: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--tools", "-t", help="File with tools (OpenAI, Anthropic, MCP, ...); one call is written."),
    ] = None,
    tool_format: Annotated[
        str,
        typer.Option(
            "--tool-format", metavar="NAME", help="With --tools: a model's wire format instead of plain JSON."
        ),
    ] = "",
    method: Annotated[
        str, typer.Option(help="auto, exact, trie (certain intervals), sampling, or two_sided (finds missing support).")
    ] = "auto",
    budget: Annotated[int, typer.Option(min=0, help="Prefixes that are searched first, one forward pass each.")] = 1000,
    samples: Annotated[
        int,
        typer.Option(
            min=1,
            help="Draws, where the search does not see all: of 'auto' and 'sampling', and of each kind of 'two_sided'. "
            "Each costs a forward pass a token; where points are refused, more may allow them.",
        ),
    ] = 100,
    max_new_tokens: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            min=1,
            show_default=False,
            help="Condition on at most so many tokens, the end included. By default only draws are limited, to "
            f"{DRAW_TOKENS} tokens, or to twice the longest prefix that was searched.",
        ),
    ] = None,
    encodings: Annotated[
        str, typer.Option(help="all, or canonical: only the tokenizer's own encoding of each text (a finite grammar).")
    ] = "all",
    property_order: Annotated[
        str, typer.Option("--property-order", metavar="any,declared", help="One, or several to compare.")
    ] = "any",
    whitespace: Annotated[
        str,
        typer.Option("--whitespace", metavar="compact,spaced,flexible", help="One, or several to compare."),
    ] = "flexible",
    escapes: Annotated[str, typer.Option("--escapes", metavar="any,plain", help="One, or several to compare.")] = "any",
    compare_engines: Annotated[
        str, typer.Option("--compare-engines", metavar="xgrammar,llguidance", help="Measure these engines' masks too.")
    ] = "",
    temperature: Annotated[float, typer.Option(min=0.01, help="The model's law at this temperature.")] = 1.0,
    raw: Annotated[bool, typer.Option("--raw", help="Give the prompt to the model as it is.")] = False,
    json_to: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--json", metavar="FILE", help="Write everything as JSON; '-' is standard output."),
    ] = None,
    html_to: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--html", metavar="FILE", help="Write a report for a browser."),
    ] = None,
    plots_to: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--plots", metavar="DIR", help="Write the pictures to this folder."),
    ] = None,
    plot_format: Annotated[str, typer.Option("--plot-format", help="svg or png.")] = "svg",
    baseline: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            "--baseline", metavar="FILE", help="An earlier --json file; exit status 1 when a figure is worse."
        ),
    ] = None,
    tolerance: Annotated[float, typer.Option(min=0.0, help="How much worse than the baseline is still good.")] = 0.01,
    seed: Annotated[int, typer.Option(help="Seed of the sampling.")] = 0,
    batch_size: Annotated[int, typer.Option(min=1, help="Prefixes of one forward pass.")] = 32,
    device: Annotated[str, typer.Option(help="Where the model runs: cpu, cuda, cuda:1, …")] = "",
) -> None:
    """Measure how far the constraint bends a model's distribution on a prompt, and where.

    Exit status 0 when measured, 1 when a figure is worse than the baseline's, 2 when it could not be measured.
    """
    try:
        status = _run(
            Request(
                model, sys.stdin.read() if prompt == "-" else prompt, schema, tools, tool_format, method, budget,
                samples, max_new_tokens, encodings, temperature, raw, seed, batch_size, device,
            ),
            settings(property_order, whitespace, escapes, compare_engines, encodings),
            json_to=json_to, html_to=html_to, plots_to=plots_to, plot_format=plot_format, baseline=baseline,
            tolerance=tolerance,
        )  # fmt: skip
    except Exception as error:  # status 1 is a verdict, so nothing else may end with it
        if os.environ.get("CONSTRAIN_DEBUG", "") not in ("", "0"):
            raise
        from constrain.cli.app import describe

        errors().print(f"constrain: {describe(error)}", style="red", soft_wrap=True, highlight=False, markup=False)
        raise typer.Exit(2) from None
    raise typer.Exit(status)


@dataclass(frozen=True)
class Request:
    """What is measured, and how."""

    model: str
    prompt: str
    schema: Path | None
    tools: Path | None
    tool_format: str
    method: str
    budget: int
    samples: int
    max_tokens: int | None
    encodings: str
    temperature: float
    raw: bool
    seed: int
    batch_size: int
    device: str


def settings(property_order: str, whitespace: str, escapes: str, engines: str, encodings: str) -> list[Setting]:
    """Every combination of the grammar settings named, then the engines. Raises `UsageError` for unknown names."""
    if encodings not in ("all", "canonical"):
        raise UsageError(f"--encodings is all or canonical, not {encodings!r}")
    orders = _names(property_order, ("any", "declared"), "--property-order")
    spaces = _names(whitespace, tuple(WHITESPACE), "--whitespace")
    spellings = _names(escapes, ("any", "plain"), "--escapes")
    if encodings == "canonical":
        spellings = ["plain"]
        spaces = ["compact" if s == "flexible" and whitespace == "flexible" else s for s in spaces]
    varied = [len(x) > 1 for x in (spaces, orders, spellings)]
    found = []
    for space, order, spelling in itertools.product(spaces, orders, spellings):
        words = (space, f"{order} order", f"{spelling} escapes")
        name = ", ".join(word for word, shown in zip(words, varied, strict=True) if shown)
        found.append(Setting(name or "constrain", WHITESPACE[space], order, spelling))
    for engine in _names(engines, (), "--compare-engines") if engines else []:
        found.append(Setting(engine, WHITESPACE[spaces[0]], orders[0], spellings[0], engine))
    return found


def _names(text: str, known: tuple[str, ...], option: str) -> list[str]:
    names = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    for name in names:
        if known and name not in known:
            raise UsageError(f"{option} takes {', '.join(known)} with commas between, not {name!r}")
    if not names:
        raise UsageError(f"{option} is empty")
    return names


def _run(
    request: Request,
    chosen: list[Setting],
    *,
    json_to: str | None,
    html_to: Path | None,
    plots_to: Path | None,
    plot_format: str,
    baseline: Path | None,
    tolerance: float,
) -> int:
    from constrain.cli import distortion_output as output
    from constrain.distortion.baseline import changes

    if request.method not in METHODS:
        raise UsageError(f"--method is one of {', '.join(METHODS)}, not {request.method!r}")
    if plot_format not in ("svg", "png"):
        raise UsageError(f"--plot-format is svg or png, not {plot_format!r}")
    for target in (json_to, html_to, plots_to):
        if target not in (None, "-") and not Path(str(target)).absolute().parent.is_dir():
            raise UsageError(f"{target}: there is no such folder to write to")
    if plots_to is not None:
        from constrain.distortion.pictures import pyplot

        pyplot()  # says that matplotlib is missing before minutes are spent
    earlier = None
    if baseline is not None:
        try:
            earlier = json.loads(baseline.read_text(encoding="utf-8"))
        except ValueError as error:
            raise UsageError(f"{baseline} is no file of `constrain distortion --json`: {error}") from None
    subject = read(request, chosen)
    measured, differences = measure_all(request, chosen, subject)
    document = output.document(request, measured, differences)
    found = changes(earlier, document, tolerance) if earlier is not None else []
    if json_to is not None:
        text = json.dumps(document, ensure_ascii=False, indent=1)
        if json_to == "-":
            print(text)
        else:
            Path(json_to).write_text(text + "\n", encoding="utf-8")
    if html_to is not None:
        from constrain.distortion.page import page

        html_to.write_text(page(measured, output.about(request, subject.schema), differences, found), encoding="utf-8")
    if plots_to is not None:
        from constrain.distortion.pictures import write

        write(measured, plots_to, plot_format)
    if json_to != "-":
        output.show(results(), measured, differences, found)
    return 1 if any(change.verdict == "worse" for change in found) else 0


@dataclass(frozen=True)
class Subject:
    """What is to be written: a value of a schema, or a call of a tool in a wire format.

    Attributes:
        schema: of the value, or of a call written as plain JSON.
        system: instructions before the prompt, "" for none.
        tools: as chat templates take them; empty where calls are plain JSON.
    """

    schema: Any
    system: str = ""
    tools: tuple[dict[str, Any], ...] = ()


def read(request: Request, chosen: list[Setting]) -> Subject:
    """The schema or tools. Raises `UsageError` when not exactly one source is given, or settings do not fit it."""
    if (request.schema is None) == (request.tools is None):
        raise UsageError("give either --schema or --tools")
    path = request.schema or request.tools
    assert path is not None
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidSchemaError("", "", f"{path} is not JSON: {error}") from None
    if request.tools is None:
        if request.tool_format:
            raise UsageError("--tool-format needs --tools")
        return Subject(document)
    from constrain.cli.demo import call_schema, system_prompt
    from constrain.tools import close_objects, read_tools

    listed = [
        {"name": t.name, "description": t.description or "", "parameters": close_objects(t.parameters)}
        for t in read_tools(document)
    ]
    if not request.tool_format:
        return Subject(call_schema(listed), system_prompt(listed))
    if any(setting.engine for setting in chosen):
        raise UsageError("other engines know no --tool-format; compare them on --schema, or on --tools without it")
    if request.encodings == "canonical":
        raise UsageError("--encodings canonical is for texts of a schema, not for a --tool-format")
    return Subject(call_schema(listed), "", tuple({"type": "function", "function": tool} for tool in listed))


def measure_all(request: Request, chosen: list[Setting], subject: Subject) -> tuple[list[Any], dict[str, Any]]:
    """A `Measured` for each setting, and for each engine where its masks first differ from the first setting's."""
    import constrain
    from constrain.cli import models
    from constrain.distortion import HFModel, first_difference
    from constrain.distortion.study import measure

    # Errors of a schema come before the model is loaded.
    grammars = {s: grammar_of(subject, s, request.tool_format) for s in chosen if not s.engine}
    network, tokenizer = models.load(request.model, request.device)
    vocabulary = constrain.Vocabulary.from_tokenizer(tokenizer, generation_config=network.generation_config)
    warpers = []
    if request.temperature != 1.0:
        import transformers

        warpers = [transformers.TemperatureLogitsWarper(request.temperature)]
    model = HFModel(network, _prompt(tokenizer, request, subject), warpers=warpers, batch_size=request.batch_size)

    def own_encoding(text: str) -> list[int]:
        return [int(t) for t in tokenizer.encode(text, add_special_tokens=False)]

    languages = {
        s: _language(s, grammars.get(s), subject.schema, vocabulary, own_encoding, request.encodings) for s in chosen
    }
    measured, differences = [], {}
    two_sided = request.method == "two_sided"
    for setting in chosen:
        options: dict[str, Any] = {"seed": request.seed, "samples": request.samples}
        language = languages[setting]
        if not two_sided:
            options["canonical"] = lambda text: own_encoding(text.decode("utf-8", "replace"))
        elif setting.engine:
            options["mask"], language = language, languages[chosen[0]]  # an engine's masks against our language
        with _progress(setting.name, request.budget) as (searched, drawn):
            measured.append(
                measure(
                    setting.name,
                    model,
                    language,
                    request.method,  # type: ignore[arg-type]
                    budget=request.budget,
                    max_tokens=request.max_tokens,
                    batch_size=request.batch_size,
                    watch=searched,
                    draw_tokens=DRAW_TOKENS,
                    on_draws=drawn,
                    **options,
                )
            )
            if setting.engine:
                differences[setting.name] = first_difference(
                    model, languages[chosen[0]], languages[setting], budget=max(1, min(200, request.budget))
                )
    return measured, differences


def _prompt(tokenizer: Any, request: Request, subject: Subject) -> list[int]:
    """Token ids; tools are named by the chat template, or in plain words where it does not know them."""
    from constrain.cli.demo import system_prompt
    from constrain.cli.generate import encode

    if not subject.tools or request.raw:
        return encode(tokenizer, request.prompt, request.raw, subject.system)[0].tolist()
    if "tools" in str(getattr(tokenizer, "chat_template", None) or ""):
        messages = [{"role": "user", "content": request.prompt}]
        return tokenizer.apply_chat_template(
            messages, tools=list(subject.tools), add_generation_prompt=True, return_dict=False
        )
    return encode(tokenizer, request.prompt, False, system_prompt([t["function"] for t in subject.tools]))[0].tolist()


def grammar_of(subject: Subject, setting: Setting, tool_format: str) -> Any:
    """The grammar as a setting wants it."""
    import constrain

    options: dict[str, Any] = {
        "whitespace": setting.whitespace,
        "property_order": setting.property_order,
        "escapes": setting.escapes,
    }
    if subject.tools:
        return constrain.tool_calls(
            list(subject.tools), format=tool_format, tool_choice="required", parallel=False, **options
        )
    return constrain.json_schema(subject.schema, **options)


def _language(
    setting: Setting,
    grammar: Any,
    schema: Any,
    vocabulary: Any,
    encode: Callable[[str], list[int]],
    encodings: str,
) -> Any:
    if setting.engine:
        from constrain.distortion.engines import engine_language

        return engine_language(setting.engine, schema, vocabulary, encode, setting.whitespace)
    if encodings == "canonical":
        from constrain.distortion.texts import canonical_language

        return canonical_language(
            grammar, encode, eos_token_ids=vocabulary.eos_token_ids, token_bytes=vocabulary.token_bytes
        )
    return grammar.compile(vocabulary)


@contextmanager
def _progress(
    name: str, budget: int
) -> Iterator[tuple[Callable[[int], None] | None, Callable[[float, int], None] | None]]:
    """What tells a bar on standard error of prefixes searched, and of draws done; None and None in a pipe."""
    console = errors()
    if not console.is_terminal:
        yield None, None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} {task.fields[unit]}"),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        search = bar.add_task(f"searching, {name}", total=budget, unit="prefixes at most")
        draws = bar.add_task(f"drawing, {name}", total=1, unit="draws", visible=False, start=False)

        def drawn(done: float, total: int) -> None:
            if not bar.tasks[draws].started:
                bar.update(search, visible=False)
                bar.start_task(draws)
            bar.update(draws, completed=done, total=total, visible=True)

        yield lambda passes: bar.update(search, completed=passes), drawn
