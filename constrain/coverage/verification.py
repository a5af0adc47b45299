"""The property test of one schema: the automaton against an independent validator.

First the instances that came with the schema, then those that `constrain.testing` makes: valid ones, near misses, and
random walks through the automaton. Every verdict is compared, in both directions.

A given instance has two judges, the one who gave it and the validator. Where they differ it is disputed, which is
reported and is no failure: validators have known faults, and so have collections of instances.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from constrain.coverage.report import AGREED, DISAGREED, UNDECIDED, TestReport, clean
from constrain.errors import UnsatisfiableSchemaError

if TYPE_CHECKING:
    from constrain.engine import CompiledGrammar

MAX_MESSAGE = 4000
MAX_DISPUTED = 20


def verify(
    schema: Any,
    compiled: CompiledGrammar,
    given: Iterable[tuple[str, bool]],
    *,
    max_examples: int,
    seed: int | None,
) -> TestReport:
    """Run the property test of a schema that is enforced.

    Args:
        schema: the schema, as Python containers.
        compiled: its grammar over a vocabulary that has every byte.
        given: instances as JSON text, and whether they are said to be valid.
        max_examples: how many examples to generate; none where 0.
        seed: seed of the generators.
    """
    begun = time.perf_counter()
    report = TestReport(AGREED)
    plain = without_nullable(schema)
    try:
        _given(plain, compiled, given, report)
        if report.outcome == AGREED and max_examples:
            _generated(plain, report, max_examples, seed)
    except Exception as error:  # of a generator or validator: no verdict on the schema, and not the end of the run
        report.outcome = UNDECIDED
        report.message = shorten(f"{type(error).__name__}: {error}")
    report.seconds = time.perf_counter() - begun
    return report


def _given(schema: Any, compiled: CompiledGrammar, given: Iterable[tuple[str, bool]], report: TestReport) -> None:
    judge: Callable[[str], bool | None] | None = None
    for text, label in given:
        judge = judge or _judge(schema)
        report.counts["given"] = report.counts.get("given", 0) + 1
        report.verdicts += 1
        validator = judge(text)
        got = accepts(compiled, text)
        if not got and (label or validator) and _accepts_otherwise(compiled, text):
            got = True  # the spelling is one of those that are not written, the value is admitted
        verdicts = {label} if validator is None else {label, validator}
        if len(verdicts) == 2:
            if len(report.disputed) < MAX_DISPUTED:
                said = "valid" if label else "invalid"
                report.disputed.append(shorten(f"given as {said}, the validator differs: {clean(text)}", 400))
        elif got not in verdicts:
            report.outcome = DISAGREED
            report.message = shorten(
                f"the given instance is {'valid' if label else 'invalid'} and is "
                f"{'accepted' if got else 'refused'}: {clean(text)}"
            )
            return


def _judge(schema: Any) -> Callable[[str], bool | None]:
    """The independent validator as a function of JSON text: None where it cannot tell, False for what is no JSON."""
    from constrain.testing.json_values import NotJson, read_exactly
    from constrain.testing.validator import CannotJudge, Validator

    try:
        validator = Validator(schema)
    except CannotJudge:
        return lambda _text: None

    def judge(text: str) -> bool | None:
        try:
            return validator.is_valid(read_exactly(text))
        except NotJson:
            return False
        except CannotJudge:
            return None

    return judge


def accepts(compiled: CompiledGrammar, text: str) -> bool:
    """Whether the automaton accepts a text from beginning to end."""
    matcher = compiled.matcher()
    return matcher.accept_bytes(text.encode("utf-8", "surrogatepass")) and matcher.is_accepting


def _accepts_otherwise(compiled: CompiledGrammar, text: str) -> bool:
    """Whether the automaton accepts the value of a text as Python writes it, or with plain numbers."""
    from constrain.testing.json_values import NotJson, plain_text, read_exactly

    try:
        value = read_exactly(text)
        spellings = [plain_text(value), json.dumps(json.loads(text), ensure_ascii=False)]
    except (NotJson, ValueError):
        return False
    return any(accepts(compiled, spelling) for spelling in spellings)


def _generated(schema: Any, report: TestReport, max_examples: int, seed: int | None) -> None:
    from constrain.testing import check_schema

    try:
        result = check_schema(schema, max_examples=max_examples, seed=seed)
    except AssertionError as error:
        report.outcome = DISAGREED
        report.message = shorten(str(error) or "check_schema failed")
        return
    for name in ("valid", "near_misses", "broken", "walks", "narrowed", "undecided"):
        if count := getattr(result, name, 0):
            report.counts[name] = count
    report.verdicts += result.texts + result.walks - result.undecided
    if not result.valid and not any(report.counts.get(name) for name in ("given", "walks")):
        report.message = "no valid instance was found; only refusals were compared"


def verify_unsatisfiable(
    schema: Any, given: Iterable[tuple[str, bool]], *, max_examples: int, seed: int | None
) -> TestReport:
    """Look for a value that is valid under a schema that was refused as unsatisfiable."""
    from constrain.testing import check_schema

    begun = time.perf_counter()
    report = TestReport(AGREED, counts={"examples": max_examples})
    plain = without_nullable(schema)
    try:
        judge = _judge(plain)
        for text, label in given:
            report.verdicts += 1
            if label and judge(text):
                report.outcome = DISAGREED
                report.message = shorten(f"called unsatisfiable, but the given instance is valid: {clean(text)}")
                return report
        if max_examples:
            check_schema(plain, max_examples=max_examples, seed=seed)
    except UnsatisfiableSchemaError:
        report.verdicts += max_examples
    except AssertionError as error:
        report.outcome = DISAGREED
        report.message = shorten(str(error))
    except Exception as error:
        report.outcome = UNDECIDED
        report.message = shorten(f"{type(error).__name__}: {error}")
    report.seconds = time.perf_counter() - begun
    return report


def shorten(text: str, limit: int = MAX_MESSAGE) -> str:
    text = clean(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def without_nullable(schema: Any) -> Any:
    """The schema with OpenAPI's `nullable` in words that every validator knows; the schema itself where it has none.

    With a `type`, null is one more type; without one, it is one more alternative of `anyOf`; else it means nothing.
    """
    if isinstance(schema, list):
        members = [without_nullable(member) for member in schema]
        return members if any(new is not old for new, old in zip(members, schema, strict=True)) else schema
    if not isinstance(schema, dict):
        return schema
    out = {
        key: value if key in ("enum", "const", "default", "example", "examples") else without_nullable(value)
        for key, value in schema.items()
    }
    if out.get("nullable") is True:
        if isinstance(out.get("type"), str):
            out["type"] = [out["type"], "null"] if out["type"] != "null" else "null"
        elif isinstance(out.get("type"), list):
            out["type"] = [*out["type"], *(["null"] if "null" not in out["type"] else [])]
        elif isinstance(out.get("anyOf"), list):
            out["anyOf"] = [*out["anyOf"], {"type": "null"}]
        del out["nullable"]
        return out
    return out if any(out[key] is not schema[key] for key in schema) else schema
