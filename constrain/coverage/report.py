"""What is found out about a schema, and what many of them add up to.

Verdicts and the states of keywords share one scale, from best to worst:

    exact       every valid value can be written in every spelling that the limits of all grammars leave
    narrowed    every valid value can be written, some spellings of it not
    annotation  something that looks like a constraint means nothing, such as a format that no specification defines
    unenforced  refused, unless the caller asks for the keyword to be left out (`on_unsupported="warn"`)
    refused     refused in any case: malformed, unsatisfiable, beyond a limit
    crashed     an error that is nobody's fault but the library's, or no answer in time

The first three are enforced: what the automaton accepts is valid, and every valid value is accepted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

EXACT, NARROWED, ANNOTATION, UNENFORCED, REFUSED, CRASHED = (
    "exact",
    "narrowed",
    "annotation",
    "unenforced",
    "refused",
    "crashed",
)
VERDICTS = (EXACT, NARROWED, ANNOTATION, UNENFORCED, REFUSED, CRASHED)
ENFORCED = (EXACT, NARROWED, ANNOTATION)
UNREACHED = "unreached"
"""State of a keyword without fault in a schema that is refused for another."""

STATES = (EXACT, NARROWED, ANNOTATION, UNREACHED, UNENFORCED, REFUSED, CRASHED)

AGREED, DISAGREED, UNTESTED, UNDECIDED = "agreed", "disagreed", "not run", "undecided"
"""Outcomes of a property test; undecided is one that ended in an error, out of time, or without a validator."""


def clean(text: str) -> str:
    """The text with lone surrogates spelled as escapes, so that it can be written anywhere."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


@dataclass(frozen=True, slots=True)
class Place:
    """A keyword of a schema and something about it. Pointer "" is the root; keyword "" means the schema as a whole."""

    pointer: str
    keyword: str
    reason: str


@dataclass(slots=True)
class KeywordUse:
    """A keyword in one schema: how often it occurs, how often in which state, and where (`MAX_PLACES` places, worst
    first)."""

    count: int = 0
    states: dict[str, int] = field(default_factory=dict)
    places: list[tuple[str, str]] = field(default_factory=list)

    @property
    def state(self) -> str:
        """The worst state."""
        return max(self.states, key=STATES.index)


@dataclass(slots=True)
class TestReport:
    """A property test of one schema.

    Attributes:
        outcome: agreed, disagreed, undecided, or not run.
        verdicts: how many verdicts were compared.
        counts: how many, by where the text came from.
        message: what disagreed, or why there is no outcome.
        disputed: given instances on whose validity the validator and the one who gave them differ; no failures.
        seconds: time taken.
    """

    __test__ = False  # no test class for pytest

    outcome: str = UNTESTED
    verdicts: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    message: str = ""
    disputed: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(slots=True)
class SchemaReport:
    """All about one schema.

    Attributes:
        name, file, line, pointer, location: where it was found.
        verdict: one of `VERDICTS`.
        error: class of the error that it was refused with, "" if it was not.
        problems: what is in the way, all of it where that can be told.
        annotations: what looks like a constraint and is none.
        narrowings: spellings that are not written, apart from those that no grammar writes.
        keywords: the keywords that occur, in the order of the schema.
        test: the property test.
        seconds: time to compile.
        used_by: operations of an API that use it.
        absolute: whether the pointers are pointers into the file, not into the schema.
    """

    name: str
    file: str
    pointer: str
    location: str
    line: int = 0
    verdict: str = EXACT
    error: str = ""
    problems: list[Place] = field(default_factory=list)
    annotations: list[Place] = field(default_factory=list)
    narrowings: list[Place] = field(default_factory=list)
    keywords: dict[str, KeywordUse] = field(default_factory=dict)
    test: TestReport = field(default_factory=TestReport)
    seconds: float = 0.0
    used_by: tuple[str, ...] = ()
    absolute: bool = False

    @property
    def enforced(self) -> bool:
        return self.verdict in ENFORCED

    @property
    def disagrees(self) -> bool:
        return self.test.outcome == DISAGREED

    @property
    def severity(self) -> tuple[int, int, int]:
        """Sorts the worst last: wrong verdicts, then errors, then refusals, then what is enforced."""
        undecided = self.test.outcome == UNDECIDED
        return (int(self.disagrees), VERDICTS.index(self.verdict), int(undecided))

    def as_json(self) -> dict[str, Any]:
        out = asdict(self)
        out["keywords"] = {
            name: {
                "state": use.state,
                "count": use.count,
                "states": use.states,
                "places": [{"pointer": pointer, "state": state} for pointer, state in use.places],
            }
            for name, use in self.keywords.items()
        }
        return out


@dataclass(slots=True)
class KeywordTotal:
    """A keyword over all schemas: how often it occurs by state, and in how many schemas by worst state."""

    uses: Counter[str] = field(default_factory=Counter)
    schemas: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Obstacle:
    """A reason why schemas are not enforced: of how many it is one, and of how many the only one; an example."""

    keyword: str
    reason: str
    schemas: int = 0
    alone: int = 0
    example: int = 0


@dataclass(slots=True)
class Summary:
    """Totals. `enforced` counts the schemas that are enforced and on which no test disagreed; `keywords` is sorted by
    trouble, then by frequency."""

    schemas: int
    verdicts: Counter[str]
    tests: Counter[str]
    compared: int
    keywords: dict[str, KeywordTotal]
    obstacles: list[Obstacle]
    seconds: float
    enforced: int

    @property
    def percent(self) -> float:
        """`enforced` in percent of all."""
        return 100.0 * self.enforced / self.schemas if self.schemas else 0.0

    def as_json(self) -> dict[str, Any]:
        return {
            "schemas": self.schemas,
            "enforced": self.enforced,
            "percent": round(self.percent, 3),
            "verdicts": {verdict: self.verdicts[verdict] for verdict in VERDICTS},
            "tests": {outcome: self.tests[outcome] for outcome in (AGREED, DISAGREED, UNDECIDED, UNTESTED)},
            "verdicts_compared": self.compared,
            "seconds": round(self.seconds, 3),
            "obstacles": [
                {"keyword": o.keyword, "reason": o.reason, "schemas": o.schemas, "only_obstacle_of": o.alone}
                for o in self.obstacles
            ],
            "keywords": {
                name: {"uses": dict(total.uses), "schemas": dict(total.schemas)}
                for name, total in self.keywords.items()
            },
        }


def summarise(reports: list[SchemaReport], seconds: float) -> Summary:
    """Totals of many reports; `seconds` is the time all of it took."""
    keywords: dict[str, KeywordTotal] = {}
    obstacles: dict[tuple[str, str], Obstacle] = {}
    for number, report in enumerate(reports):
        for name, use in report.keywords.items():
            total = keywords.setdefault(name, KeywordTotal())
            total.uses.update(use.states)
            total.schemas[use.state] += 1
        kinds = {(p.keyword, general(p.reason)) for p in report.problems}
        for keyword, reason in kinds:
            obstacle = obstacles.setdefault((keyword, reason), Obstacle(keyword, reason, example=number))
            obstacle.schemas += 1
            obstacle.alone += len(kinds) == 1
    return Summary(
        schemas=len(reports),
        verdicts=Counter(report.verdict for report in reports),
        tests=Counter(report.test.outcome for report in reports),
        compared=sum(report.test.verdicts for report in reports),
        keywords=dict(sorted(keywords.items(), key=_trouble)),
        obstacles=sorted(obstacles.values(), key=lambda o: (-o.schemas, o.keyword, o.reason)),
        seconds=seconds,
        enforced=sum(report.enforced and not report.disagrees for report in reports),
    )


def _trouble(item: tuple[str, KeywordTotal]) -> tuple[int, int, str]:
    name, total = item
    bad = sum(total.schemas[state] for state in (UNENFORCED, REFUSED, CRASHED))
    return -bad, -sum(total.schemas.values()), name


_DETAILS = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\b\d+\b")


def general(reason: str) -> str:
    """A reason without the names and numbers of the schema at hand, so that equal ones can be counted."""
    return _DETAILS.sub("…", reason)


def worst_first(reports: Iterable[SchemaReport]) -> list[SchemaReport]:
    """The reports, worst verdict first, those with the same obstacle together."""

    def key(report: SchemaReport) -> tuple[Any, ...]:
        first = report.problems[0].keyword if report.problems else ""
        return tuple(-part for part in report.severity), first, report.name, report.location

    return sorted(reports, key=key)
