"""`constrain check`: is a schema enforced exactly, and if not, what is in the way?"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rich.text import Text

from constrain.cli.console import one_line, results
from constrain.errors import (
    ConstrainError,
    InvalidSchemaError,
    ResourceLimitError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
)
from constrain.files import file_problem

_VERDICTS = [
    (UnsupportedSchemaError, "unsupported"),
    (UnsatisfiableSchemaError, "unsatisfiable"),
    (InvalidSchemaError, "invalid"),
    (ResourceLimitError, "too large"),
    (ConstrainError, "refused"),
]
UNREADABLE = "unreadable"

_NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


def run(paths: Iterable[Path], as_json: bool, show_narrowings: bool, options: Mapping[str, Any] = _NO_OPTIONS) -> int:
    """Print a verdict for every file; `options` are those of `constrain.json_schema`.

    Returns 0 when all are enforced exactly, else 1.
    """
    console = results()
    status = unsupported = 0
    for path in paths:
        report = {"file": str(path), **inspect(path, options)}
        status |= report["verdict"] != "exact"
        unsupported |= report["verdict"] == "unsupported"
        if as_json:
            print(json.dumps(report, ensure_ascii=False))
            continue
        if report["verdict"] == UNREADABLE:
            console.print(Text.assemble(f"{path}: ", (report["problems"][0]["reason"], "red")), soft_wrap=True)
            continue
        style = "green" if report["verdict"] == "exact" else "red"
        console.print(Text.assemble(f"{path}: ", (report["verdict"], style)), soft_wrap=True)
        lists = [("", report["problems"]), ("not an assertion, ignored: ", report["ignored"])]
        if show_narrowings:
            lists.append(("spelling limited: ", report["narrowings"]))
        for label, entries in lists:
            for entry in entries:
                keyword = f", {entry['keyword']!r}" if entry["keyword"] else ""
                line = f"  {label}at {entry['pointer'] or '(root)'}{keyword}: {entry['reason']}"
                console.print(Text(line), soft_wrap=True)
    if unsupported and not as_json:
        console.print(
            Text('Unsupported keywords stop every command. In Python, on_unsupported="warn" leaves them out.', "dim"),
            soft_wrap=True,
        )
    return status


def inspect(path: Path, options: Mapping[str, Any] = _NO_OPTIONS) -> dict[str, Any]:
    """The verdict on one file, and lists of places (pointer, keyword, reason).

    Returns:
        verdict: "exact", or why the schema was refused.
        problems: what is in the way; empty when exact.
        ignored: keywords without a defined meaning, such as formats that no specification knows.
        narrowings: spellings of valid values that are never written.
    """
    import constrain

    try:
        schema = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        return _report(UNREADABLE, [_place("", "", file_problem(error))])
    except ValueError as error:
        return _report(UNREADABLE, [_place("", "", f"is not JSON: {error}")])
    try:
        grammar = constrain.json_schema(schema, **options)
        grammar.compile(_byte_vocabulary())
    except ConstrainError as error:
        verdict = next(name for kind, name in _VERDICTS if isinstance(error, kind))
        return _report(verdict, _problems(error, schema, options))
    return _report("exact", [], _places(grammar.unenforced), _places(grammar.narrowings))


def _problems(error: ConstrainError, schema: Any, options: Mapping[str, Any]) -> list[dict[str, str]]:
    """All that is unsupported, not only the first, where the rest of the schema compiles without it."""
    import constrain

    problems = []
    if isinstance(error, UnsupportedSchemaError):
        with contextlib.suppress(ConstrainError):
            problems = _places(constrain.json_schema(schema, on_unsupported="warn", **options).unenforced)
    first = _places([error])[0]
    if all((first["pointer"], first["keyword"]) != (p["pointer"], p["keyword"]) for p in problems):
        problems.insert(0, first)
    return problems


def _places(entries: Iterable[Any]) -> list[dict[str, str]]:
    return [_place(getattr(e, "pointer", ""), getattr(e, "keyword", ""), getattr(e, "reason", str(e))) for e in entries]


def _place(pointer: str, keyword: str, reason: str) -> dict[str, str]:
    return {"pointer": pointer, "keyword": keyword, "reason": one_line(reason)}


def _report(
    verdict: str,
    problems: list[dict[str, str]],
    ignored: list[dict[str, str]] | None = None,
    narrowings: list[dict[str, str]] | None = None,
) -> dict[str, Any]:
    return {"verdict": verdict, "problems": problems, "ignored": ignored or [], "narrowings": narrowings or []}


def _byte_vocabulary() -> Any:
    """256 single bytes and an end: enough to compile, and no tokenizer needed."""
    import constrain

    return constrain.Vocabulary.from_tokens([*(bytes([b]) for b in range(256)), None], eos_token_ids=[256])
