"""What is read later cannot fail: what a quick look takes for plain, a whole reading finds well-formed, enforced and
satisfiable."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import constrain
from constrain.grammars.json_schema.frozen import MAX_DEPTH, frozen, thawed
from tests.oracles import FULL, vocabulary

NAMES = st.sampled_from(["a", "b", "type", "é", "required", "\ud800", "\ud7ff"])
ODD: Any = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        3,
        -1,
        "x",
        "",
        "string",
        [],
        ["string"],
        ["a"],
        ["a", "a"],
        [1],
        {},
        {"type": "string"},
        (),
        b"x",
    ]
)
TYPES = st.sampled_from(
    ["string", "integer", "number", "boolean", "null", "object", "array", "strin", ["string", "null"], None]
)


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    usual = st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(NAMES, inner, max_size=3)},
        optional={
            "required": st.lists(NAMES, max_size=2),
            "additionalProperties": st.booleans() | ODD,
            "description": ODD,
        },
    )
    any_keyword = st.sampled_from(
        [
            "type", "enum", "const", "properties", "required", "items", "additionalProperties", "pattern", "format",
            "minimum", "minLength", "maxItems", "$ref", "anyOf", "not", "title", "nullable", "x-more", "$schema", "$id",
        ]
    )  # fmt: skip
    odd = st.tuples(usual, st.dictionaries(any_keyword, ODD | inner, max_size=1)).map(lambda two: {**two[0], **two[1]})
    arrays = st.fixed_dictionaries({"type": st.just("array")}, optional={"items": inner | ODD, "title": ODD})
    return usual | odd | arrays


LEAVES = (
    st.fixed_dictionaries({"type": TYPES}, optional={"description": ODD, "enum": ODD, "const": ODD})
    | st.fixed_dictionaries({"enum": st.lists(NAMES, max_size=3)})
    | ODD
)
SCHEMAS = _objects(st.recursive(LEAVES, _objects, max_leaves=6))


@settings(max_examples=20_000 if FULL else 1_000, deadline=None)
@given(SCHEMAS)
def test_what_looks_plain_is_plain(schema: Any) -> None:
    data = frozen(schema)
    if data is None:
        return
    assert thawed(data) == schema
    grammar = constrain.json_schema(schema)
    assert grammar.unenforced == ()
    grammar.compile(vocabulary("bytes"))


def test_plain_schemas_of_tools_are_seen_as_such() -> None:
    city = {"type": "string", "description": "a city", "title": "City", "examples": ["Paris"], "default": "Oslo"}
    schema = {
        "type": "object",
        "description": "where to look",
        "properties": {
            "city": city,
            "unit": {"type": "string", "enum": ["c", "f"]},
            "days": {"type": "array", "items": {"type": "object", "properties": {"day": {"type": "integer"}}}},
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    assert frozen(schema) is not None
    deep = schema
    for _ in range(MAX_DEPTH + 3):
        deep = {"type": "object", "properties": {"more": deep}}
    assert frozen(deep) is None
    held: dict[str, Any] = {"type": "object", "properties": {}}
    held["properties"]["self"] = held
    assert frozen(held) is None
