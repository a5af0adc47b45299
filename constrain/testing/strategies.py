"""Hypothesis strategies over schemas, their instances, near misses and JSON texts."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from hypothesis import reject
from hypothesis import strategies as st

from constrain.grammars.errors import ConstrainError
from constrain.testing.choices import DrawnChoices
from constrain.testing.default_vocabulary import default_vocabulary
from constrain.testing.edits import edited
from constrain.testing.instance_generator import DeadEnd, InstanceGenerator
from constrain.testing.json_values import NotJson, plain_text, read_exactly, spellable
from constrain.testing.masks import Tokens, finish, walk
from constrain.testing.schema_generator import SchemaGenerator
from constrain.testing.spelling import random_style, spell
from constrain.testing.validator import CannotJudge, Validator

Draw = Callable[[st.SearchStrategy[Any]], Any]


def json_schemas(
    *, draft: str = "2020-12", max_depth: int = 4, keywords: Collection[str] | None = None
) -> st.SearchStrategy[Any]:
    """Satisfiable schemas: dicts, now and then a boolean.

    Each is built around a value that is valid under it by an independent validator. Recursion by `$ref` included.

    Args:
        draft: "04", "06", "07", "2019-09" or "2020-12"; older drafts come with `$schema`.
        max_depth: levels of subschemas.
        keywords: the keywords to use, by their names in 2020-12; all that the draft has by default.

    Raises:
        ValueError: an unknown draft, or a keyword that the draft does not have.
    """
    return schemas_with_instances(draft=draft, max_depth=max_depth, keywords=keywords).map(lambda pair: pair[0])


def schemas_with_instances(
    *, draft: str = "2020-12", max_depth: int = 4, keywords: Collection[str] | None = None
) -> st.SearchStrategy[tuple[Any, Any]]:
    """Pairs of a satisfiable schema and a value that is valid under it. Arguments as of `json_schemas`."""
    SchemaGenerator(_Nothing(), draft=draft, max_depth=max_depth, keywords=keywords)  # checks the arguments at once

    @st.composite
    def pairs(draw: Draw) -> tuple[Any, Any]:
        generator = SchemaGenerator(DrawnChoices(draw), draft=draft, max_depth=max_depth, keywords=keywords)
        return generator.schema_with_witness(tries=6)

    return pairs()


class _Nothing(DrawnChoices):
    """Choices without chance: always the simplest."""

    def __init__(self) -> None:
        super().__init__(lambda _: 0)

    def integer(self, low: int, high: int) -> int:  # noqa: ARG002
        return low


def instances(schema: Any) -> st.SearchStrategy[Any]:
    """Values that are valid under a schema, judged by an independent validator.

    They follow the schema; where that does not lead to a valid value soon, the masks of the compiled schema do.
    A schema without instances, or one that neither way leads to, gives Hypothesis's `Unsatisfiable`.

    Raises:
        CannotJudge: no installed validator can build the schema.
    """
    validator = Validator(schema)

    @st.composite
    def valid(draw: Draw) -> Any:
        return _instance(schema, validator, DrawnChoices(draw))

    return valid()


def _instance(schema: Any, validator: Validator, choices: DrawnChoices) -> Any:
    generator = InstanceGenerator(schema, choices)
    for _ in range(5):
        try:
            value = generator.value()
            if spellable(value) and validator.is_valid(value):
                return value
        except (DeadEnd, CannotJudge):
            continue
    value = _walked(schema, choices)
    try:
        valid = validator.is_valid(value)
    except CannotJudge:
        valid = False
    return value if valid else reject()


def _walked(schema: Any, choices: DrawnChoices) -> Any:
    """A value that a random walk through the schema's masks writes."""
    import constrain

    vocabulary = default_vocabulary()
    try:
        matcher = constrain.json_schema(schema).compile(vocabulary).matcher()
    except ConstrainError:
        reject()
    tokens = Tokens(vocabulary.token_bytes, vocabulary.eos_token_ids)
    text = walk(matcher, tokens, choices, choices.integer(0, 20))
    rest = finish(matcher, tokens)
    try:
        return read_exactly(text + (rest or b""))
    except NotJson:
        reject()


def near_misses(schema: Any) -> st.SearchStrategy[Any]:
    """Values that are invalid under a schema, one edit away from a valid one, judged by an independent validator.

    Under a schema that every value satisfies there are none, which gives Hypothesis's `Unsatisfiable`.

    Raises:
        CannotJudge: no installed validator can build the schema.
    """
    validator = Validator(schema)

    @st.composite
    def invalid(draw: Draw) -> Any:
        choices = DrawnChoices(draw)
        value = _instance(schema, validator, choices)
        for _ in range(10):
            near = edited(value, choices, schema)
            try:
                if spellable(near) and not validator.is_valid(near):
                    return near
            except CannotJudge:
                continue
        return reject()

    return invalid()


def spellings(
    value: Any, *, whitespace: bool = True, zeros: bool = True, exponents: bool = False
) -> st.SearchStrategy[str]:
    """JSON texts of a value: orders of members, whitespace, escapes, forms of numbers.

    With the defaults every grammar takes all of them (those of draft 04 aside, where 1.0 is no integer).

    Args:
        value: a JSON value; numbers may be int, float or `Decimal`.
        whitespace: also write whitespace, within the bounds that grammars document.
        zeros: also write zeros after the point (1.0, 2.50).
        exponents: also write exponents, of which a grammar may take a part only (see its `narrowings`).
    """
    if not spellable(value):
        raise ValueError(f"{value!r} has no JSON text")

    @st.composite
    def texts(draw: Draw) -> str:
        choices = DrawnChoices(draw)
        style = random_style(choices, whitespace=whitespace, zeros=zeros, exponents=exponents)
        return spell(value, choices, style)

    return st.just(plain_text(value)) | texts()
