"""Loading random schemas of every draft: verdicts like jsonschema-rs's, and what options may do to them."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.grammars.errors import InvalidSchemaError
from constrain.grammars.json_schema.load import load
from tests.grammars.json_schema.ir_validator import is_valid

DRAFTS = {
    4: "http://json-schema.org/draft-04/schema#",
    6: "http://json-schema.org/draft-06/schema#",
    7: "http://json-schema.org/draft-07/schema#",
    2019: "https://json-schema.org/draft/2019-09/schema",
    2020: "https://json-schema.org/draft/2020-12/schema",
}
FULL = os.environ.get("CONSTRAIN_FULL") == "1"
EXAMPLES = 2_000 if FULL else 100
NAMES = ("a", "b", "ab")
GATED = (
    "oneOf",
    "not",
    "if",
    "patternProperties",
    "propertyNames",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "contains",
    "uniqueItems",
    "unevaluatedProperties",
    "unevaluatedItems",
)

names = st.sampled_from(NAMES)
scalars = st.sampled_from([None, True, False, 0, 1, 2, "", "a", "ab", "b"])
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=6
)


def booleans_of(draft: int) -> st.SearchStrategy[Any]:
    return st.booleans() if draft > 4 else st.just({})


def assertions_of(draft: int) -> st.SearchStrategy[dict[str, Any]]:
    some_names = st.lists(names, min_size=1, max_size=2, unique=True)
    small = st.integers(0, 2)
    optional: dict[str, st.SearchStrategy[Any]] = {
        "type": st.sampled_from(["object", "array", "string", "integer", "null", ["object", "array"]]),
        "enum": st.lists(scalars, min_size=1, max_size=3),
        "minimum": small,
        "maxLength": small,
        "pattern": st.sampled_from(["a", "^b", "b$"]),
        "minItems": small,
        "maxProperties": small,
        "required": some_names,
        "uniqueItems": st.booleans(),
        "dependencies": st.dictionaries(names, some_names, min_size=1, max_size=2),
    }
    if draft >= 6:
        optional["const"] = values
    if draft >= 2019:
        optional["dependentRequired"] = st.dictionaries(names, some_names, max_size=2)
    return st.fixed_dictionaries({}, optional=optional).map(lambda drawn: dict(list(drawn.items())[:3]))


def schemas_of(draft: int) -> st.SearchStrategy[Any]:
    """Schemas of a draft, as the value of a keyword; references lead to the two definitions of the root."""

    def applied(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
        group = st.lists(inner, min_size=1, max_size=3)
        members = st.dictionaries(names, inner, min_size=1, max_size=2)
        patterns = st.dictionaries(st.sampled_from(["a", "^b", "b$"]), inner, min_size=1, max_size=2)
        rest = st.booleans() | inner
        optional = {
            "allOf": group,
            "anyOf": group,
            "oneOf": group,
            "not": inner,
            "properties": members,
            "patternProperties": patterns,
            "additionalProperties": rest,
            "dependencies": members,
            "items": inner if draft == 2020 else inner | group,
        }
        if draft < 2020:
            optional["additionalItems"] = rest
        if draft >= 6:
            optional |= {"contains": inner, "propertyNames": inner}
        if draft >= 7:
            optional |= {"if": inner, "then": inner, "else": inner}
        if draft >= 2019:
            optional |= {
                "dependentSchemas": members,
                "minContains": st.integers(0, 2),
                "maxContains": st.integers(0, 2),
                "unevaluatedProperties": inner,
                "unevaluatedItems": inner,
            }
        if draft == 2020:
            optional["prefixItems"] = group
        return st.lists(st.sampled_from(sorted(optional)), min_size=1, max_size=4, unique=True).flatmap(
            lambda chosen: st.fixed_dictionaries({keyword: optional[keyword] for keyword in chosen})
        )

    reference = st.sampled_from([{"$ref": "#/definitions/x"}, {"$ref": "#/definitions/y"}])
    leaf = assertions_of(draft) | booleans_of(draft) | reference
    return st.recursive(
        leaf,
        lambda inner: (
            st.builds(lambda first, second: {**first, **second}, assertions_of(draft), applied(inner)) | applied(inner)
        ),
        max_leaves=8,
    )


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    draft = draw(st.sampled_from(sorted(DRAFTS)))
    parts = schemas_of(draft)
    root = draw(parts)
    return {
        "$schema": DRAFTS[draft],
        "definitions": {"x": draw(parts), "y": draw(assertions_of(draft))},
        **(root if isinstance(root, dict) else {"allOf": [root]}),
    }


@settings(max_examples=EXAMPLES, deadline=None)
@given(documents(), st.lists(values, min_size=5, max_size=10))
def test_verdicts_are_those_of_a_validator(schema: dict[str, Any], instances: list[Any]) -> None:
    jsonschema_rs = pytest.importorskip("jsonschema_rs")
    try:
        document = load(schema, not_yet=frozenset())
    except InvalidSchemaError as error:
        assert "cycle" in error.reason  # noqa: PT017
        return
    validator = jsonschema_rs.validator_for(schema)
    for instance in instances:
        assert is_valid(document, instance) == validator.is_valid(instance), instance


@settings(max_examples=EXAMPLES, deadline=None)
@given(documents(), st.sets(st.sampled_from(GATED)), st.lists(values, min_size=5, max_size=10))
def test_leaving_out_never_narrows(schema: dict[str, Any], not_yet: set[str], instances: list[Any]) -> None:
    try:
        document = load(schema, not_yet=frozenset())
    except InvalidSchemaError:
        return
    wider = load(schema, not_yet=frozenset(not_yet), on_unsupported="warn")
    for instance in instances:
        assert is_valid(wider, instance) or not is_valid(document, instance), instance


@settings(max_examples=EXAMPLES, deadline=None)
@given(documents(), st.lists(values, min_size=5, max_size=10))
def test_closing_objects_only_narrows(schema: dict[str, Any], instances: list[Any]) -> None:
    if "oneOf" in repr(schema):
        return  # what two open branches fit, one closed branch may
    try:
        document = load(schema, not_yet=frozenset())
    except InvalidSchemaError:
        return
    closed = load(schema, not_yet=frozenset(), closed_objects=True)
    for instance in instances:
        assert is_valid(document, instance) or not is_valid(closed, instance), instance
