"""What may be passed as a schema, and how exactly it is read."""

from __future__ import annotations

import json
from decimal import Decimal
from enum import Enum
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constrain.grammars.errors import InvalidSchemaError, ResourceLimitError
from constrain.grammars.json_schema.load import load
from constrain.grammars.json_schema.values import exact_number, exact_value, identity
from tests.grammars.json_schema.ir_validator import is_valid, same

SCHEMA = {"type": "object", "properties": {"é": {"enum": ["ü", 1.25, None]}}, "required": ["é"]}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_text_bytes_and_dicts_are_the_same_schema(encoding: str) -> None:
    text = json.dumps(SCHEMA, ensure_ascii=False)
    assert load(text) == load(text.encode(encoding)) == load(json.dumps(SCHEMA)) == load(SCHEMA)
    assert load("true") == load(True)
    assert load(b" false ") == load(False)


@pytest.mark.parametrize("value", [None, 1, 1.5, [], [{}], (), {1}, object(), int, str, lambda: None])
def test_other_objects_are_refused(value: object) -> None:
    with pytest.raises(InvalidSchemaError, match="a schema is") as caught:
        load(value)
    assert (caught.value.pointer, caught.value.keyword) == ("", "")


@pytest.mark.parametrize("text", ["null", "1", '"string"', "[]", "[{}]"])
def test_text_of_other_values_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchemaError, match="object or a boolean"):
        load(text)


def test_malformed_text_names_the_place() -> None:
    with pytest.raises(InvalidSchemaError, match="line 2, column 10"):
        load('{"type":\n  "null" "x"}')
    with pytest.raises(InvalidSchemaError, match="not JSON"):
        load("")
    with pytest.raises(InvalidSchemaError, match="path"):
        load("schemas/user.json")
    with pytest.raises(InvalidSchemaError, match="not UTF-8"):
        load(b'{"title": "\xff"}')


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_what_python_adds_to_json_is_refused(constant: str) -> None:
    with pytest.raises(InvalidSchemaError, match=constant):
        load('{"const": ' + constant + "}")


def test_deep_text_does_not_crash() -> None:
    depth = 100_000
    with pytest.raises(ResourceLimitError):
        load('{"items":' * depth + "{}" + "}" * depth)


def test_the_last_of_repeated_names_counts() -> None:
    assert load('{"type": "null", "type": "string"}') == load({"type": "string"})


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30, places=12))
def test_numbers_in_text_are_exact(number: Decimal) -> None:
    document = load('{"minimum": ' + f"{number:f}" + ', "const": ' + f"{number:E}" + "}")
    root = document.subschemas[document.root]
    assert root.minimum == Fraction(number)
    assert root.values == [Fraction(number)]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_are_read_as_json_writes_them(number: float) -> None:
    assert exact_number(number) == Fraction(Decimal(json.dumps(number)))


scalars = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, -0.0, 1.0, 0.5, "", "a", "True", "1"])
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
)


@given(values, values)
def test_identity_is_equality_of_json_values(left: object, right: object) -> None:
    left, right = exact_value(left), exact_value(right)
    assert (identity(left) == identity(right)) == same(left, right)
    assert identity(left) == identity(exact_value(json.loads(json.dumps(left, default=float))))


def test_subclasses_of_plain_types_are_read_as_json_writes_them() -> None:
    class Color(str, Enum):  # noqa: UP042 - a subclass of `str` whose `str` is another
        RED = "red"

    class Names(dict):  # type: ignore[type-arg]
        pass

    document = load(Names(enum=(Color.RED, True), properties=Names({Color.RED: {"const": Color.RED}})))
    root = document.subschemas[document.root]
    assert root.values == ["red", True]
    assert [type(value) for value in root.values] == [str, bool]
    assert load({"type": "object", "properties": Names({Color.RED: {}})}).subschemas[0].properties == {"red": 1}


def test_pydantic_models() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Node(pydantic.BaseModel):  # type: ignore[misc,name-defined]
        name: str
        weight: float | None = pydantic.Field(None, ge=0.1)
        children: list[Node] = pydantic.Field(default_factory=list)

    Node.model_rebuild(_types_namespace={"Node": Node})
    document = load(Node)
    good = {"name": "a", "weight": Fraction(1, 10), "children": [{"name": "b", "children": []}]}
    assert is_valid(document, good)
    assert is_valid(document, {"name": "a", "weight": None})
    assert not is_valid(document, {"name": "a", "weight": Fraction(1, 100)})
    assert not is_valid(document, {"name": "a", "children": [{}]})
    assert load(Node(name="x")) == document


def test_pydantic_errors_are_told() -> None:
    pydantic = pytest.importorskip("pydantic")
    from collections.abc import Callable

    class Odd(pydantic.BaseModel):  # type: ignore[misc,name-defined]
        call: Callable[[], int]

    Odd.model_rebuild(_types_namespace={"Callable": Callable})
    with pytest.raises(InvalidSchemaError, match="model_json_schema"):
        load(Odd)


def test_transformers_tool_schemas() -> None:
    utilities = pytest.importorskip("transformers.utils")

    def search(query, limit=None, where=None):  # type: ignore[no-untyped-def]
        """
        Searches.

        Args:
            query: what for
            limit: how many
            where: filter
        """
        return query, limit, where

    search.__annotations__ = {"query": str, "limit": int | None, "where": list[str] | dict[str, int] | None}
    document = load(utilities.get_json_schema(search)["function"]["parameters"], closed_objects=True)
    assert is_valid(document, {"query": "a", "limit": None, "where": None})
    assert is_valid(document, {"query": "a", "limit": 1, "where": {"a": 1}})
    assert not is_valid(document, {"query": None})
    assert not is_valid(document, {"query": "a", "where": {"a": "b"}})
    assert not is_valid(document, {"query": "a", "other": 1})
