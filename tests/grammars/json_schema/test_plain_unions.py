"""The alternatives of a union of plain branches are those that a search would find."""

from __future__ import annotations

import contextlib
from typing import Any
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.expansion import Expansion
from constrain.grammars.json_schema.load import load
from constrain.grammars.json_schema.normal import NormalForm

_TYPES = ["object", "array", "string", "integer", "number", "boolean", "null"]
_MEMBERS = st.dictionaries(
    st.sampled_from("abc"),
    st.sampled_from([True, {"type": "string"}, {"type": "integer"}, {"const": "x"}, {"const": "y"}, {"enum": [1, 2]}]),
    max_size=2,
)
_BRANCHES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "type": st.one_of(
            st.sampled_from(_TYPES), st.lists(st.sampled_from(_TYPES), min_size=1, max_size=3, unique=True)
        ),
        "properties": _MEMBERS,
        "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
        "additionalProperties": st.booleans(),
        "minimum": st.integers(-2, 2),
        "maxLength": st.integers(0, 3),
        "enum": st.lists(
            st.sampled_from(["x", 1, 2.5, None, True, {"a": "x"}]), min_size=1, max_size=3, unique_by=repr
        ),
    },
)


def _alternatives(schema: Any, *, at_hand: bool) -> list[Any]:
    """The conjunctions for each type; where the search has to find them, no branches are at hand."""
    forms = NormalForm(load(schema))
    with contextlib.nullcontext() if at_hand else mock.patch.object(Expansion, "_plain_ways", return_value=None):
        return [forms._expansion.conjunctions(forms.root, 1 << bit) for bit in range(7)]


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(["anyOf", "oneOf"]),
    st.lists(_BRANCHES, min_size=1, max_size=4),
    st.sampled_from([{}, {"type": "object"}, {"title": "a union"}, {"minimum": 1}]),
)
def test_branches_are_what_a_search_finds(keyword: str, branches: list[Any], beside: dict[str, Any]) -> None:
    schema = {keyword: branches, **beside}
    quick, searched = _alternatives(schema, at_hand=True), _alternatives(schema, at_hand=False)
    for found, expected in zip(quick, searched, strict=True):
        assert {*found} == {*expected}
        assert len(found) == len(expected)


def test_some_unions_are_taken_so() -> None:
    branches = [
        {"type": "object", "properties": {"a": {"const": "x"}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"const": "y"}}, "required": ["a"]},
    ]
    for keyword in ("anyOf", "oneOf"):
        forms = NormalForm(load({keyword: branches}))
        ways = forms._expansion._plain_ways(forms.root, ir.OBJECT)
        assert ways is not None
        assert len(ways) == 2
