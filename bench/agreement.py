"""Agreement of the engine's verdicts with two validators, over random schemas and values.

    python -m constrain.bench.agreement --pairs 100000 --near-misses 20000 --seed 0

Draws satisfiable schemas over all keywords and all drafts (`constrain.testing`), and for each a handful of values that
follow the schema and a few values one edit away from valid ones. Each value is written in a random spelling that every
grammar promises to take, and the engine's verdict on that text is compared with jsonschema-rs (formats asserted) and
with Python's `jsonschema` (its known faults put right). Every disagreement is reduced to a small schema and text; those
that reduce to the same are listed once, with their number. A seed gives the same draws each time.
"""

from __future__ import annotations

import collections
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

PAIRS_PER_SCHEMA = 8
_DRAFTS = ("2020-12", "2020-12", "2020-12", "07", "2019-09", "06", "04")


@dataclass
class Tally:
    """What a sweep found.

    Attributes:
        schemas: schemas drawn and compiled.
        refused: schemas that the engine refuses, by error and keyword.
        pairs: values compared, near misses not counted; near_misses: those one edit away and invalid.
        valid: how many of the pairs are valid.
        undecided: values that neither validator could judge.
        single: values that only one validator could judge.
        validators_differ: values on which the validators differ from each other.
        disagreements: where the engine differs from a validator that the other one does not contradict, reduced.
        split: where the validators differ and the engine sides with Python's, reduced.
    """

    schemas: int = 0
    refused: collections.Counter[str] = field(default_factory=collections.Counter)
    pairs: int = 0
    near_misses: int = 0
    valid: int = 0
    undecided: int = 0
    single: int = 0
    validators_differ: int = 0
    disagreements: dict[str, dict[str, Any]] = field(default_factory=dict)
    split: dict[str, dict[str, Any]] = field(default_factory=dict)
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON data; disagreements most frequent first."""
        order = {"key": lambda entry: -entry["count"]}
        per_second = (self.pairs + self.near_misses) / self.seconds if self.seconds else 0.0
        return {
            "schemas": self.schemas,
            "refused": dict(self.refused.most_common()),
            "pairs": self.pairs,
            "valid": self.valid,
            "near_misses": self.near_misses,
            "undecided": self.undecided,
            "judged_by_one_validator": self.single,
            "validators_differ": self.validators_differ,
            "wrong": sum(entry["count"] for entry in self.disagreements.values()),
            "disagreements": sorted(self.disagreements.values(), **order),
            "split": sorted(self.split.values(), **order),
            "seconds": round(self.seconds, 1),
            "pairs_per_second": round(per_second),
        }


class Sweep:
    """Draws schemas and values, and compares verdicts.

    Args:
        seed: of all draws.
        draft: one draft; by default all take turns.
        keywords: the keywords to draw; by default all.
        max_reductions: how many disagreements are reduced; later ones are counted under the schema they came with.
    """

    def __init__(
        self, seed: int, *, draft: str | None = None, keywords: list[str] | None = None, max_reductions: int = 200
    ) -> None:
        from constrain.testing import default_vocabulary

        self._seed, self._draft, self._keywords = seed, draft, keywords
        self._vocabulary = default_vocabulary()
        self._reductions_left = max_reductions
        self._number = 0
        self.tally = Tally()

    def run(self, pairs: int, near_misses: int, progress: Progress | None = None) -> Tally:
        """Go on until so many pairs and near misses are compared, or twenty times as many schemas as needed drawn."""
        begin = time.perf_counter()
        task = progress.add_task("pairs", total=pairs + near_misses) if progress else None
        most = 20 * (max(pairs, near_misses) // PAIRS_PER_SCHEMA + 10)
        tally = self.tally
        while (tally.pairs < pairs or tally.near_misses < near_misses) and self._number < most:
            self._schema(pairs, near_misses)
            if progress and task is not None:
                progress.update(task, completed=min(tally.pairs, pairs) + min(tally.near_misses, near_misses))
        tally.seconds += time.perf_counter() - begin
        return tally

    def _schema(self, pairs: int, near_misses: int) -> None:
        import constrain
        from constrain.testing.choices import SeededChoices
        from constrain.testing.schema_generator import SchemaGenerator

        self._number += 1
        choices = SeededChoices(self._seed * 1_000_003 + self._number)
        draft = self._draft or _DRAFTS[self._number % len(_DRAFTS)]
        schema, witness = SchemaGenerator(choices, draft=draft, keywords=self._keywords).schema_with_witness()
        try:
            start = constrain.json_schema(schema).compile(self._vocabulary).matcher()
        except constrain.UnsatisfiableSchemaError:
            start = None  # it has a witness: every valid value is a disagreement
        except constrain.ConstrainError as error:
            self.tally.refused[f"{type(error).__name__} {getattr(error, 'keyword', '')}".strip()] += 1
            return
        except Exception as error:
            self._record(self.tally.disagreements, schema, "", None, f"raised {type(error).__name__}: {error}")
            return
        self.tally.schemas += 1
        self._values(schema, witness, start, choices, pairs, near_misses)

    def _values(
        self, schema: Any, witness: Any, start: Any, choices: Any, pairs: int, near_misses: int
    ) -> None:
        from constrain.testing.edits import edited
        from constrain.testing.instance_generator import DeadEnd, InstanceGenerator
        from constrain.testing.json_values import spellable

        judge = _Judge(schema)
        generator = InstanceGenerator(schema, choices)
        values = [witness]
        while len(values) < PAIRS_PER_SCHEMA:
            try:
                values.append(generator.value())
            except DeadEnd:
                values.append(edited(witness, choices, schema))
        ratio = near_misses / max(1, pairs)
        owed = ratio * PAIRS_PER_SCHEMA if pairs else PAIRS_PER_SCHEMA
        for value in values:
            if self.tally.pairs < pairs and spellable(value):
                self._compare(schema, start, judge, value, choices, near=False)
        for _ in range(int(owed * 3)):
            if owed <= 0 or self.tally.near_misses >= near_misses:
                break
            near = edited(choices.pick(values), choices, schema)
            if spellable(near) and judge.verdict(near) is False:
                owed -= 1
                self._compare(schema, start, judge, near, choices, near=True)

    def _compare(self, schema: Any, start: Any, judge: _Judge, value: Any, choices: Any, *, near: bool) -> None:
        from constrain.testing.json_values import plain_text, read_exactly
        from constrain.testing.spelling import random_style, spell

        draft_4 = str(schema.get("$schema", "")).find("draft-04") >= 0 if isinstance(schema, dict) else False
        if choices.chance(0.5):
            text = plain_text(value)
        else:
            text = spell(value, choices, random_style(choices, zeros=not draft_4))
        if draft_4:
            value = read_exactly(text)  # 1.0 is another value than 1 there
        rust, pure = judge.verdicts(value)
        tally = self.tally
        if near:
            tally.near_misses += 1
        else:
            tally.pairs += 1
        if rust is None and pure is None:
            tally.undecided += 1
            return
        tally.single += rust is None or pure is None
        expected = rust if rust is not None else pure
        tally.valid += bool(expected) and not near
        differ = rust is not None and pure is not None and rust != pure
        tally.validators_differ += differ
        try:
            accepted = False
            if start is not None:
                matcher = start.fork()
                accepted = bool(matcher.accept_bytes(text.encode()) and matcher.is_accepting)
        except Exception as error:
            self._record(tally.disagreements, schema, text, None, f"raised {type(error).__name__}: {error}")
            return
        if accepted != expected:
            backend = "jsonschema-rs" if rust is not None else "jsonschema"
            self._record(tally.split if differ else tally.disagreements, schema, text, backend, "")

    def _record(
        self, entries: dict[str, dict[str, Any]], schema: Any, text: str, backend: Any, problem: str
    ) -> None:
        from constrain.testing.disagreement import reduce

        entry: dict[str, Any] = {"schema": schema, "text": text}
        if problem:
            entry["problem"] = problem
        elif self._reductions_left > 0:
            self._reductions_left -= 1
            reduced = reduce(schema, text, backend, tries=400)
            if reduced is None:
                entry["problem"] = "not shown again by a new matcher"
            else:
                verdict = "accepts invalid" if reduced.accepted else "refuses valid"
                entry |= {"schema": reduced.schema, "text": reduced.text, "problem": verdict}
        else:
            entry["problem"] = "not reduced"
        key = problem or json.dumps([entry["schema"], entry["text"]], ensure_ascii=False)
        known = entries.setdefault(key, {"count": 0, **entry})
        known["count"] += 1


class _Judge:
    """Both validators' verdicts under a schema; None where one cannot judge."""

    def __init__(self, schema: Any) -> None:
        from constrain.testing.validator import BACKENDS, CannotJudge, Validator

        self._refusal = CannotJudge
        self._validators: dict[str, Any] = {}
        for backend in BACKENDS:
            try:
                self._validators[backend] = Validator(schema, backend=backend)
            except CannotJudge:
                continue

    def _ask(self, backend: str, value: Any) -> bool | None:
        validator = self._validators.get(backend)
        if validator is None:
            return None
        try:
            return bool(validator.is_valid(value))
        except self._refusal:
            return None

    def verdicts(self, value: Any) -> tuple[bool | None, bool | None]:
        """Of jsonschema-rs and of Python's jsonschema."""
        return self._ask("jsonschema-rs", value), self._ask("jsonschema", value)

    def verdict(self, value: Any) -> bool | None:
        """Of the preferred validator."""
        rust = self._ask("jsonschema-rs", value)
        return self._ask("jsonschema", value) if rust is None else rust


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
    refused = sum(results["refused"].values())
    console.print(
        f"{results['pairs']:,} pairs ({results['valid']:,} valid) and {results['near_misses']:,} near misses under "
        f"{results['schemas']:,} schemas, {results['pairs_per_second']:,} a second"
    )
    if refused:
        listed = ", ".join(f"{name} {count}" for name, count in results["refused"].items())
        console.print(f"{refused:,} schemas refused: {listed}")
    console.print(
        f"the validators differ on {results['validators_differ']:,}; {results['judged_by_one_validator']:,} judged by "
        f"one of them, {results['undecided']:,} by none"
    )
    console.print(Text(f"{results['wrong']:,} wrong verdicts of the engine", "red" if results["wrong"] else "green"))
    for title, entries in (("", results["disagreements"]), ("validators differ: ", results["split"])):
        for entry in entries:
            schema = json.dumps(entry["schema"], ensure_ascii=False)
            line = f"  {title}{entry['problem']}, {entry['count']} times: {schema[:600]}  {entry['text'][:300]}"
            console.print(Text(line), soft_wrap=True)


if __name__ == "__main__":
    app()
