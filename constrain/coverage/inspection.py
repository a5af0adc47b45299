"""One schema under the compiler: a verdict, and the state of every keyword that occurs in it.

A schema that is refused because of a keyword is compiled again with `on_unsupported="warn"`, which lists all such
keywords and not only the first. What that cannot compile either is refused for good.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import constrain
from constrain.coverage.keywords import KEYWORDS, uses
from constrain.coverage.report import (
    ANNOTATION,
    EXACT,
    NARROWED,
    REFUSED,
    STATES,
    UNENFORCED,
    UNREACHED,
    KeywordUse,
    Place,
    SchemaReport,
    clean,
)
from constrain.errors import ConstrainError, UnsupportedSchemaError

if TYPE_CHECKING:
    from constrain.engine import CompiledGrammar, Grammar

MAX_PLACES = 100
"""How many places of a keyword in one schema are listed; all are counted."""

MISSPELT = "(misspelt)"
"""Stands for all names that are near a keyword's and are none."""

_NUMERIC = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "enum", "const")


@lru_cache(maxsize=1)
def byte_vocabulary() -> constrain.Vocabulary:
    """256 single bytes and an end: what is accepted does not depend on tokens."""
    return constrain.Vocabulary.from_tokens([*(bytes([b]) for b in range(256)), None], eos_token_ids=[256])


@lru_cache(maxsize=1)
def _universal_narrowings() -> frozenset[str]:
    """The narrowings that a schema without any keyword has."""
    return frozenset(entry.reason for entry in constrain.json_schema(True).narrowings)


def inspect(schema: Any, report: SchemaReport) -> CompiledGrammar | None:
    """Fill in everything but the property test. Returns the compiled grammar where the schema is enforced."""
    compiled: CompiledGrammar | None = None
    grammar: Grammar | None = None
    try:
        grammar = constrain.json_schema(schema)
        compiled = grammar.compile(byte_vocabulary())
    except ConstrainError as error:
        report.error = type(error).__name__
        report.problems = [_place(error)]
        report.verdict = REFUSED
        grammar = None
        if isinstance(error, UnsupportedSchemaError):
            grammar = _leaving_out(schema, report)
    if grammar is not None:
        entries = _places(grammar.unenforced)
        report.annotations = [e for e in entries if e not in report.problems]
        report.narrowings = _places(n for n in grammar.narrowings if n.reason not in _universal_narrowings())
    _judge_keywords(schema, report)
    if report.verdict == EXACT:
        report.verdict = ANNOTATION if report.annotations else NARROWED if report.narrowings else EXACT
    return compiled


def _leaving_out(schema: Any, report: SchemaReport) -> Grammar | None:
    """The grammar without what is not supported, which becomes the report's problems; None where there is none."""
    try:
        grammar = constrain.json_schema(schema, on_unsupported="warn")
        grammar.compile(byte_vocabulary())
    except ConstrainError as error:
        if (place := _place(error)) not in report.problems:
            report.problems.append(place)
        return None
    first = report.problems[0]
    left_out = [e for e in _places(grammar.unenforced) if not _is_annotation(e)]
    if all((e.pointer, e.keyword) != (first.pointer, first.keyword) for e in left_out):
        left_out.insert(0, first)
    report.problems = left_out
    report.verdict = UNENFORCED
    return grammar


def _is_annotation(entry: Place) -> bool:
    return entry.keyword == "format" and entry.reason.startswith("unknown format")


def _judge_keywords(schema: Any, report: SchemaReport) -> None:
    states: dict[tuple[str, str], str] = {}
    default = UNREACHED if report.verdict == REFUSED else EXACT
    with contextlib.suppress(ConstrainError):
        for use in uses(schema):
            if report.absolute and not use.pointer:
                continue  # the reference that was put at the root of a schema cut out of a document
            states[clean(use.pointer), use.keyword] = ANNOTATION if use.ignored else default
            if use.ignored:
                report.annotations.append(Place(clean(use.pointer), use.keyword, clean(use.ignored)))

    _leave_out_what_is_below(report.problems, states)

    def mark(place: Place, state: str) -> None:
        key = (place.pointer, place.keyword)
        states[key] = max(states.get(key, state), state, key=STATES.index)

    for place in report.annotations:
        mark(place, ANNOTATION)
    for place in report.narrowings:
        # They are about the numbers at a place, whichever keyword it is that says so.
        keywords = [name for name in ("type", *_NUMERIC) if (place.pointer, name) in states]
        for keyword in keywords or [place.keyword]:
            mark(Place(place.pointer, keyword, ""), NARROWED)
    for place in report.problems:
        mark(place, REFUSED if report.verdict == REFUSED else UNENFORCED)

    for (pointer, keyword), state in states.items():
        name = keyword if keyword in KEYWORDS else MISSPELT if state == ANNOTATION else keyword or "(schema)"
        entry = report.keywords.setdefault(name, KeywordUse())
        entry.count += 1
        entry.states[state] = entry.states.get(state, 0) + 1
        entry.places.append((pointer, state))
    for entry in report.keywords.values():
        entry.places.sort(key=lambda place: -STATES.index(place[1]))
        del entry.places[MAX_PLACES:]


_WITH = {"if": ("then", "else"), "contains": ("minContains", "maxContains"), "items": ("additionalItems",)}
"""Keywords that mean nothing without another."""


def _leave_out_what_is_below(problems: Iterable[Place], states: dict[tuple[str, str], str]) -> None:
    """A keyword that is left out takes with it the subschemas in it, and the keywords that depend on it."""
    gone = {(place.pointer, keyword) for place in problems for keyword in _WITH.get(place.keyword, ())}
    above = {f"{place.pointer}/{place.keyword}" for place in problems} | {f"{at}/{keyword}" for at, keyword in gone}
    for key, state in states.items():
        pointer = key[0]
        if state == EXACT and (key in gone or any(pointer[:end] in above for end in _ends(pointer))):
            states[key] = UNREACHED


def _ends(pointer: str) -> list[int]:
    """The lengths of a JSON pointer and of all that lead to it."""
    return [end for end, char in enumerate(pointer) if end and char == "/"] + [len(pointer)]


def _places(entries: Iterable[Any]) -> list[Place]:
    return [_place(entry) for entry in entries]


def _place(entry: Any) -> Place:
    reason = str(getattr(entry, "reason", "") or entry)
    reason = reason.removesuffix(' (on_unsupported="warn" leaves it out and lists it)')
    return Place(clean(getattr(entry, "pointer", "")), getattr(entry, "keyword", ""), clean(" ".join(reason.split())))
