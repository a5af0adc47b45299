"""A disagreement between the engine and a validator, reduced to a small schema and a small text."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import partial
from typing import Any

from constrain.grammars.errors import UnsatisfiableSchemaError
from constrain.testing.default_vocabulary import default_vocabulary
from constrain.testing.excuses import Excuses
from constrain.testing.json_values import NotJson, plain_text, read_exactly, spellable
from constrain.testing.minimise import minimise, smaller_schemas, smaller_values
from constrain.testing.validator import Backend, CannotJudge, Validator


@dataclass(frozen=True)
class Disagreement:
    """A text on which the engine differs from a validator. `accepted` is the engine's verdict."""

    schema: Any
    text: str
    accepted: bool


def accepts(schema: Any, text: str | bytes, vocabulary: Any = None) -> bool:
    """The engine's verdict on a whole text; an unsatisfiable schema refuses all. Raises its other errors."""
    import constrain

    try:
        compiled = constrain.json_schema(schema).compile(vocabulary or default_vocabulary())
    except UnsatisfiableSchemaError:
        return False
    matcher = compiled.matcher()
    return bool(matcher.accept_bytes(text if isinstance(text, bytes) else text.encode()) and matcher.is_accepting)


def expected(schema: Any, text: str, backend: Backend | None = None) -> bool:
    """The validator's verdict on a text. Raises `CannotJudge`."""
    try:
        return Validator(schema, backend=backend).is_valid(read_exactly(text))
    except NotJson:
        return False


def find(schema: Any, text: str, backend: Backend | None = None) -> Disagreement | None:
    """The disagreement on a text, if there is one that no documented narrowing excuses.

    Raises the engine's errors and `CannotJudge`.
    """
    import constrain

    accepted = accepts(schema, text)
    if accepted == expected(schema, text, backend):
        return None
    if not accepted:
        with contextlib.suppress(UnsatisfiableSchemaError):
            grammar = constrain.json_schema(schema)
            if Excuses(schema, grammar, lambda other: accepts(schema, other)).excuse(text):
                return None
    return Disagreement(schema, text, accepted)


def reduce(schema: Any, text: str, backend: Backend | None = None, tries: int = 1000) -> Disagreement | None:
    """The disagreement on a text, with everything taken away from schema and value that it does not need.

    The direction stays: an invalid text that is accepted remains one. None where the verdicts agree.
    """
    try:
        first = find(schema, text, backend)
        value = read_exactly(text)
    except (NotJson, CannotJudge):
        return None
    if first is None:
        return None

    def shows(smaller: Any, written: str) -> bool:
        found = find(smaller, written, backend)
        return found is not None and found.accepted == first.accepted

    def shows_value(smaller: Any, candidate: Any) -> bool:
        return spellable(candidate) and shows(smaller, plain_text(candidate))

    plain = plain_text(value)
    keeps_text = not shows(schema, plain)
    if not keeps_text:
        text = plain
    before = None
    while before != (schema, text):  # a smaller schema may allow a smaller value, and the other way round
        before = (schema, text)
        schema = minimise(schema, partial(shows, written=text), smaller_schemas, tries)
        if keeps_text:
            break
        value = minimise(value, partial(shows_value, schema), smaller_values, tries)
        text = plain_text(value)
    return Disagreement(schema, text, first.accepted)
