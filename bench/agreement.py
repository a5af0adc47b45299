"""Agreement of the engine's verdicts with two validators, over random schemas and values.

    python -m constrain.bench.agreement --pairs 100000 --near-misses 20000 --seed 0

Draws satisfiable schemas over all keywords and all drafts (`constrain.testing`), and for each a handful of values that
follow the schema and a few values one edit away from valid ones. Each value is written in a random spelling that every
grammar promises to take, and the engine's verdict on that text is compared with jsonschema-rs (formats asserted) and
with Python's `jsonschema` (its known faults put right). Every disagreement is reduced to a small schema and text; those
that reduce to the same are listed once, with their number. A seed gives the same draws each time.

A schema that takes too long is left and listed. The alarm may cut the engine in the middle of an update of a table that
schemas share, so a disagreement found after one counts only if it shows again in a run of its own.
"""

from __future__ import annotations

import collections
import contextlib
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

import constrain
from constrain.bench.maskbench import TimeLimit, time_limit
from constrain.testing import default_vocabulary
from constrain.testing.choices import Choices, SeededChoices
from constrain.testing.disagreement import reduce
from constrain.testing.edits import edited
from constrain.testing.excuses import Excuses
from constrain.testing.instance_generator import DeadEnd, InstanceGenerator
from constrain.testing.json_values import plain_text, read_exactly, spellable
from constrain.testing.schema_generator import SchemaGenerator
from constrain.testing.spelling import random_style, spell
from constrain.testing.validator import BACKENDS, Backend, CannotJudge, Validator, draft_of

PAIRS_PER_SCHEMA = 12
_DIFFERENCES = 50  # of the validators from each other, kept
_DRAFTS = ("2020-12", "2020-12", "2020-12", "07", "2019-09", "06", "04")


@dataclass
class Tally:
    """What a sweep found.

    Attributes:
        schemas: schemas drawn and compiled.
        refused: schemas that the engine refuses, by error and keyword.
        timeouts: schemas that took longer than the limit.
        pairs: values compared, near misses not counted; near_misses: those one edit away and invalid.
        valid: how many of the pairs are valid.
        undecided: values that neither validator could judge.
        single: values that only one validator could judge.
        validators_differ: values on which the validators differ from each other; the first of them are kept as
            `differences`.
        narrowed: valid texts that documented narrowings leave out.
        stopped: texts on which the engine raised one of its named errors, by error and keyword.
        disagreements: where the engine differs from a validator that the other one does not contradict, reduced.
        split: where the validators differ and the engine sides with Python's, reduced.
    """

    schemas: int = 0
    refused: collections.Counter[str] = field(default_factory=collections.Counter)
    timeouts: list[Any] = field(default_factory=list)
    pairs: int = 0
    near_misses: int = 0
    valid: int = 0
    undecided: int = 0
    single: int = 0
    validators_differ: int = 0
    differences: list[dict[str, Any]] = field(default_factory=list)
    narrowed: int = 0
    stopped: collections.Counter[str] = field(default_factory=collections.Counter)
    disagreements: dict[str, dict[str, Any]] = field(default_factory=dict)
    split: dict[str, dict[str, Any]] = field(default_factory=dict)
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON data; disagreements most frequent first."""
        per_second = (self.pairs + self.near_misses) / self.seconds if self.seconds else 0.0
        return {
            "schemas": self.schemas,
            "refused": dict(self.refused.most_common()),
            "timeouts": self.timeouts,
            "pairs": self.pairs,
            "valid": self.valid,
            "near_misses": self.near_misses,
            "undecided": self.undecided,
            "judged_by_one_validator": self.single,
            "narrowed": self.narrowed,
            "stopped": dict(self.stopped.most_common()),
            "validators_differ": self.validators_differ,
            "differences": self.differences,
            "wrong": sum(entry["count"] for entry in self.disagreements.values()),
            "disagreements": _most_frequent_first(self.disagreements),
            "split": _most_frequent_first(self.split),
            "seconds": round(self.seconds, 1),
            "pairs_per_second": round(per_second),
        }


def _most_frequent_first(entries: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(entries.values(), key=lambda entry: -entry["count"])


class Sweep:
    """Draws schemas and values, and compares verdicts.

    Args:
        seed: of all draws.
        draft: one draft; by default all take turns.
        keywords: the keywords to draw; by default all.
        max_reductions: how many disagreements are reduced; later ones are listed as they came.
        limit_s: seconds for one schema with its values, and for one reduction.
    """

    def __init__(
        self,
        seed: int,
        *,
        draft: str | None = None,
        keywords: list[str] | None = None,
        max_reductions: int = 200,
        limit_s: float = 10.0,
    ) -> None:
        self._seed, self._draft, self._keywords = seed, draft, keywords
        self._vocabulary = default_vocabulary()
        constrain.json_schema(True).compile(self._vocabulary)  # loads the kernels
        self._reductions_left, self._limit_s = max_reductions, limit_s
        self._number = 0
        self.tally = Tally()

    def run(self, pairs: int, near_misses: int, progress: Progress | None = None) -> Tally:
        """Go on until so many pairs and near misses are compared, or twenty times as many schemas as needed drawn."""
        begin = time.perf_counter()
        task = progress.add_task("pairs", total=pairs + near_misses) if progress else None
        most = 20 * (max(pairs, near_misses) // PAIRS_PER_SCHEMA + 10)
        tally = self.tally
        while (tally.pairs < pairs or tally.near_misses < near_misses) and self._number < most:
            self.step(pairs, near_misses)
            if progress and task is not None:
                progress.update(task, completed=min(tally.pairs, pairs) + min(tally.near_misses, near_misses))
        tally.seconds += time.perf_counter() - begin
        return tally

    def step(self, pairs: int, near_misses: int) -> Any:
        """Draw the next schema and compare verdicts under it, up to these totals. Returns the schema."""
        self._number += 1
        choices = SeededChoices(self._seed * 1_000_003 + self._number)
        draft = self._draft or _DRAFTS[self._number % len(_DRAFTS)]
        schema, witness = SchemaGenerator(choices, draft=draft, keywords=self._keywords).schema_with_witness()
        found: list[_Found] = []
        try:
            with time_limit(self._limit_s):
                self._compare_all(schema, witness, choices, (pairs, near_misses), found)
        except TimeLimit:
            self.tally.timeouts.append(schema)
        for each in found:
            self._record(schema, each)
        return schema

    def _compare_all(
        self, schema: Any, witness: Any, choices: Choices, wanted: tuple[int, int], found: list[_Found]
    ) -> None:
        try:
            grammar = constrain.json_schema(schema)
            engine = _Engine(schema, grammar, grammar.compile(self._vocabulary))
        except constrain.UnsatisfiableSchemaError:
            engine = None  # it has a witness: every valid value is a disagreement
        except constrain.ConstrainError as error:
            self.tally.refused[_named(error)] += 1
            return
        except Exception as error:
            found.append(_Found("", problem=f"raised {type(error).__name__}: {error}"))
            return
        tally, judge = self.tally, _Judge(schema)
        tally.schemas += 1
        generator = InstanceGenerator(schema, choices)
        values = [witness]
        while len(values) < PAIRS_PER_SCHEMA:
            try:
                values.append(generator.value())
            except DeadEnd:
                values.append(edited(witness, choices, schema))
        pairs, near_misses = wanted
        for value in values:
            if tally.pairs < pairs and spellable(value):
                tally.pairs += 1
                tally.valid += self._compare(engine, judge, value, choices, found)
        owed = PAIRS_PER_SCHEMA * near_misses / pairs if pairs else PAIRS_PER_SCHEMA
        for _ in range(int(owed * 4) + 1):
            if owed <= 0 or tally.near_misses >= near_misses:
                break
            near = edited(choices.pick(values), choices, schema)
            if spellable(near) and judge.verdict(near) is False:
                owed -= 1
                tally.near_misses += 1
                self._compare(engine, judge, near, choices, found)

    def _compare(
        self, engine: _Engine | None, judge: _Judge, value: Any, choices: Choices, found: list[_Found]
    ) -> bool:
        """Compare the verdicts on a value in some spelling; whether it is valid."""
        style = random_style(choices, zeros=not judge.draft_4)
        text = plain_text(value) if choices.chance(0.5) else spell(value, choices, style)
        rust, pure = judge.verdicts(value)
        tally = self.tally
        if rust is None and pure is None:
            tally.undecided += 1
            return False
        tally.single += rust is None or pure is None
        differ = rust is not None and pure is not None and rust != pure
        tally.validators_differ += differ
        if differ and len(tally.differences) < _DIFFERENCES:
            tally.differences.append({"schema": judge.schema, "text": text, "jsonschema-rs": rust, "jsonschema": pure})
        expected = bool(pure if rust is None else rust)
        try:
            accepted = engine is not None and engine.accepts(text)
            if expected and not accepted and engine is not None and engine.excuses(text):
                tally.narrowed += 1
                return True
        except constrain.ConstrainError as error:
            tally.stopped[_named(error)] += 1
            return expected
        except Exception as error:
            found.append(_Found(text, problem=f"raised {type(error).__name__}: {error}"))
            return expected
        if accepted != expected:
            found.append(_Found(text, "jsonschema" if rust is None else "jsonschema-rs", differ))
        return expected

    def _record(self, schema: Any, found: _Found) -> None:
        entry: dict[str, Any] = {"schema": schema, "text": found.text, "problem": found.problem or "not reduced"}
        if not found.problem and self._reductions_left > 0:
            self._reductions_left -= 1
            try:
                with time_limit(self._limit_s):
                    reduced = reduce(schema, found.text, found.backend, tries=400)
                if reduced is None:
                    entry["problem"] = "not shown again by a new matcher"
                else:
                    verdict = "accepts invalid" if reduced.accepted else "refuses valid"
                    entry |= {"schema": reduced.schema, "text": reduced.text, "problem": verdict}
            except TimeLimit:
                pass
        key = found.problem or json.dumps([entry["schema"], entry["text"]], ensure_ascii=False)
        entries = self.tally.split if found.validators_differ else self.tally.disagreements
        entries.setdefault(key, {"count": 0, **entry})["count"] += 1


def _named(error: Exception) -> str:
    return f"{type(error).__name__} {getattr(error, 'keyword', '')}".strip()


@dataclass(frozen=True)
class _Found:
    """A wrong verdict on a text, by a validator's word, or a problem: an exception of the engine."""

    text: str
    backend: Backend | None = None
    validators_differ: bool = False
    problem: str = ""


class _Engine:
    """A compiled schema's verdicts."""

    def __init__(self, schema: Any, grammar: constrain.Grammar, compiled: constrain.CompiledGrammar) -> None:
        self._schema, self._grammar, self._start = schema, grammar, compiled.matcher()

    def accepts(self, text: str) -> bool:
        matcher = self._start.fork()
        return bool(matcher.accept_bytes(text.encode()) and matcher.is_accepting)

    def excuses(self, text: str) -> bool:
        """Whether a documented narrowing leaves out a valid text."""
        return Excuses(self._schema, self._grammar, self.accepts).excuse(text)


class _Judge:
    """Both validators' verdicts under a schema; None where one cannot judge."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.draft_4 = draft_of(schema) == 4
        self._validators: dict[Backend, Validator] = {}
        for backend in BACKENDS:
            with contextlib.suppress(CannotJudge):
                self._validators[backend] = Validator(schema, backend=backend)

    def _ask(self, backend: Backend, value: Any) -> bool | None:
        validator = self._validators.get(backend)
        if validator is not None:
            with contextlib.suppress(CannotJudge):
                return validator.is_valid(value)
        return None

    def verdicts(self, value: Any) -> tuple[bool | None, bool | None]:
        """Of jsonschema-rs and of Python's jsonschema."""
        if self.draft_4:
            value = read_exactly(plain_text(value))  # the text is judged: 1.0 is another value than 1 there
        return self._ask("jsonschema-rs", value), self._ask("jsonschema", value)

    def verdict(self, value: Any) -> bool | None:
        """Of the preferred validator."""
        rust, pure = self.verdicts(value)
        return pure if rust is None else rust


app = typer.Typer(add_completion=False)


@app.command()
def main(
    pairs: Annotated[int, typer.Option(min=0, help="how many (schema, value) pairs")] = 100_000,
    near_misses: Annotated[int, typer.Option(min=0, help="how many values one edit away from valid ones")] = 20_000,
    seed: Annotated[int, typer.Option(help="of all draws")] = 0,
    draft: Annotated[str, typer.Option(help="one draft, such as 2020-12; all by default")] = "",
    keywords: Annotated[str, typer.Option(help="the keywords to draw, with commas between; all by default")] = "",
    output: Annotated[Path | None, typer.Option(help="write all results to this JSON file")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print all results as JSON")] = False,
    strict: Annotated[bool, typer.Option(help="exit with 1 where a verdict of the engine is wrong")] = False,
) -> None:
    """Compare the engine's verdicts with two validators over random schemas and values."""
    try:
        chosen = [name.strip() for name in keywords.split(",") if name.strip()] or None
        sweep = Sweep(seed, draft=draft or None, keywords=chosen)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        bar = Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
        with bar:
            tally = sweep.run(pairs, near_misses, bar)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    results = tally.as_json()
    results["seed"] = seed
    if output:
        output.write_text(json.dumps(results, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    if as_json:
        print(json.dumps(results, ensure_ascii=False))
    else:
        _show(results, Console(width=None if sys.stdout.isatty() else 140, highlight=False))
    if strict and results["disagreements"]:
        raise typer.Exit(1)


def _show(results: dict[str, Any], console: Console) -> None:
    refused, timeouts = sum(results["refused"].values()), results["timeouts"]
    console.print(
        f"{results['pairs']:,} pairs ({results['valid']:,} valid) and {results['near_misses']:,} near misses under "
        f"{results['schemas']:,} schemas, {results['pairs_per_second']:,} a second"
    )
    if refused:
        listed = ", ".join(f"{name} {count}" for name, count in results["refused"].items())
        console.print(f"{refused:,} schemas refused: {listed}")
    for schema in timeouts:
        console.print(Text(f"  too slow: {json.dumps(schema, ensure_ascii=False)[:600]}"), soft_wrap=True)
    if results["stopped"]:
        listed = ", ".join(f"{name} {count}" for name, count in results["stopped"].items())
        console.print(f"{sum(results['stopped'].values()):,} texts stopped by a named limit: {listed}")
    console.print(
        f"the validators differ on {results['validators_differ']:,}; {results['judged_by_one_validator']:,} judged by "
        f"one of them, {results['undecided']:,} by none; {results['narrowed']:,} left out by documented narrowings"
    )
    console.print(Text(f"{results['wrong']:,} wrong verdicts of the engine", "red" if results["wrong"] else "green"))
    for title, entries in (("", results["disagreements"]), ("validators differ: ", results["split"])):
        for entry in entries:
            schema = json.dumps(entry["schema"], ensure_ascii=False)
            line = f"  {title}{entry['problem']}, {entry['count']} times: {schema[:600]}  {entry['text'][:300]}"
            console.print(Text(line), soft_wrap=True)


if __name__ == "__main__":
    app()
