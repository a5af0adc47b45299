"""Questions from files of the Berkeley Function Calling Leaderboard (BFCL), where the user has them.

A file of questions has one JSON object a line: `{"id", "question": [[messages]], "function": [declarations]}`. The
answers, `{"id", "ground_truth": [{name: {argument: [accepted]}}]}`, lie in a file of the same name in the folder
`possible_answer` beside it; questions without one count for format and schema alone.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from constrain.bench.results import BenchError
from constrain.files import file_problem
from constrain.tools import Tool

_TYPES = {
    "dict": "object",
    "hashmap": "object",
    "tuple": "array",
    "arraylist": "array",
    "float": "number",
    "double": "number",
    "long": "integer",
    "char": "string",
}
_NO_TYPE = ("any", "")


class _NoQuestions(BenchError):
    """A file is not in the form of questions."""


@dataclass(frozen=True, slots=True)
class Case:
    """A conversation with tools, and the calls that answer it; None where no answer is known."""

    id: str
    messages: Sequence[Mapping[str, Any]]
    tools: tuple[Tool, ...]
    expected: Sequence[Mapping[str, Mapping[str, Sequence[Any]]]] | None


def read_cases(path: Path) -> list[Case]:
    """The cases of one file, or of all files of a folder that hold questions of one turn with their functions.

    Raises:
        BenchError: there is no such file, or it is not in this form.
    """
    if not path.is_dir():
        cases = list(_cases(path))
    else:
        cases = []
        for file in sorted(path.glob("*.json")):
            with contextlib.suppress(_NoQuestions):  # such as turns whose functions are elsewhere
                cases += _cases(file)
    if not cases:
        raise BenchError(f"{path} holds no questions of BFCL")
    return cases


def _cases(path: Path) -> Iterator[Case]:
    answers_at = path.parent / "possible_answer" / path.name
    answers = {line["id"]: line.get("ground_truth") for line in _lines(answers_at)} if answers_at.exists() else {}
    for number, line in enumerate(_lines(path), 1):
        try:
            question, declared = line["question"], line["function"]
            messages = question[0] if isinstance(question[0], list) else question
            tools = tuple(_tool(f) for f in (declared if isinstance(declared, list) else [declared]))
            expected = answers.get(line["id"])
            if expected is not None:
                expected = [{_name(n): arguments for n, arguments in call.items()} for call in expected]
            elif "irrelevance" in path.stem:
                expected = []
            yield Case(str(line["id"]), [dict(m) for m in messages], tools, expected)
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            reason = f"{type(error).__name__} {error}"
            raise _NoQuestions(f"{path}, line {number}, is no question of BFCL: {reason}") from None


def _lines(path: Path) -> list[dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BenchError(f"{path}: {file_problem(error)}") from None
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise _NoQuestions(f"{path} is not JSON, one object a line: {error}") from None


def _tool(function: Mapping[str, Any]) -> Tool:
    return Tool(_name(function["name"]), function.get("description") or "", _schema(function.get("parameters") or {}))


def _name(name: str) -> str:
    """As the leaderboard hands names to models whose APIs take no dots."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def _schema(schema: Any) -> Any:
    """BFCL names types as Python does."""
    if isinstance(schema, list):
        return [_schema(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "type" and isinstance(value, str):
            if value not in _NO_TYPE:
                out[key] = _TYPES.get(value.lower(), value.lower())
        elif key == "properties" and isinstance(value, Mapping):
            out[key] = {name: _schema(part) for name, part in value.items()}
        elif key in ("items", "anyOf", "allOf", "oneOf", "additionalProperties"):
            out[key] = _schema(value)
        elif key != "optional":
            out[key] = value
    return out
