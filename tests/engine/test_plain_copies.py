"""The kernel's look at copied schemas agrees with the look at the schemas themselves, and many tools cost little."""

from __future__ import annotations

import copy
import gc
import json
import marshal
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import constrain
from constrain.engine.plain_copies import are_plain
from constrain.grammars.json_schema.frozen import MANY, MAX_DEPTH, frozen, frozen_all
from constrain.kernels.plain_schemas import MAX_NESTING
from tests.grammars.json_schema.test_deferred import SCHEMAS
from tests.oracles import FULL, vocabulary


def looks_plain(schema: Any) -> bool:
    return bool(are_plain([marshal.dumps(schema, 4)])[0])


@settings(max_examples=20_000 if FULL else 1_000, deadline=None)
@given(SCHEMAS)
def test_what_the_kernel_takes_for_plain_is_plain(schema: Any) -> None:
    if looks_plain(schema):
        assert frozen(schema) is not None


@settings(max_examples=20_000 if FULL else 1_000, deadline=None)
@given(SCHEMAS)
def test_of_what_json_texts_hold_both_looks_say_the_same(schema: Any) -> None:
    try:
        read = json.loads(json.dumps(schema))
    except TypeError:  # bytes, which no text holds
        return
    assert looks_plain(read) == (frozen(read) is not None)


CITY: dict[str, Any] = {"type": "string", "description": "a city"}


def tool(number: int, **members: Any) -> dict[str, Any]:
    arguments = {"type": "object", "properties": {"city": CITY, **members}, "required": ["city"]}
    return {
        "type": "object",
        "properties": {"name": {"const": f"tool_{number}"}, "arguments": arguments},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


ANNOTATIONS: list[Any] = [
    None, True, 0, -1, 1 << 31, 10**40, -(10**40), 1.5, "", "x" * 255, "x" * 256, "é" * 300, "한국어", [], {}, [[]],
    [{}], [[], [1, [2, {}]], {"a": [], "b": {"c": [None]}}], {"": {"": ""}, "a": [1]}, {"type": "text"},
    ["required"] * 3,
]  # fmt: skip


@pytest.mark.parametrize("value", ANNOTATIONS, ids=lambda v: repr(v)[:20])
def test_what_has_no_meaning_is_passed_over(value: Any) -> None:
    for shared in (value, copy.deepcopy(value)):
        schema = {"description": value, **tool(1, more={"type": "array", "default": shared, "items": CITY})}
        schema["examples"] = [shared, value]
        assert looks_plain(schema)
        assert frozen(schema) is not None
        schema["properties"]["arguments"]["properties"]["last"] = {"type": "strin"}
        assert not looks_plain(schema)


def test_objects_may_stand_in_several_places() -> None:
    listed = ["a", "b"]
    leaf = {"enum": listed, "description": listed}
    inner = {"type": "object", "properties": {"a": leaf, "b": {"type": "array", "items": leaf}}, "required": listed}
    members = {"x": inner, "y": {"type": "array", "items": inner}, "z": {"enum": listed}, "a": leaf, "b": CITY}
    schema: dict[str, Any] = {"type": "object", "properties": members, "required": listed}
    both = {"type": "object", "properties": {"first": schema, "second": schema, "third": {**schema}}}
    assert looks_plain(both)
    listed.append("c")  # which is declared nowhere
    assert not looks_plain(both)
    leaf["type"] = "integer"
    listed.pop()
    assert not looks_plain(both)


def test_a_schema_that_holds_itself_is_not_plain() -> None:
    held: dict[str, Any] = {"type": "object", "properties": {}}
    held["properties"]["self"] = {"type": "array", "items": held}
    assert not looks_plain(held)
    assert frozen(held) is None


def test_shared_objects_are_not_followed_for_ever() -> None:
    """Each level stands twice in the one above: thirty of them would be looked at a thousand million times."""
    schema: dict[str, Any] = {"type": "object", "properties": {"a": CITY}}
    for _ in range(30):
        schema = {"type": "object", "properties": {"a": schema, "b": schema}}
    assert not looks_plain(schema)
    assert frozen(schema) is None
    branches = [tool(n, more=schema) for n in range(20)]
    matcher = constrain.json_schema({"anyOf": branches}).compile(vocabulary("bytes")).matcher()
    assert matcher.accept_bytes(b'{"name":"tool_3","arguments":{"city":"","more":{"a":{"b":{')


def test_nesting_is_limited() -> None:
    schema: dict[str, Any] = {"type": "object"}
    for depth in range(1, MAX_DEPTH + 3):
        assert looks_plain(schema) == (depth <= MAX_NESTING)
        assert frozen(schema) is not None or depth > MAX_DEPTH
        schema = {"type": "object", "properties": {"more": schema}}


def test_names_that_are_required() -> None:
    names = [f"name_{n}" for n in range(300)]
    schema = {"type": "object", "properties": dict.fromkeys(names, CITY), "required": names}
    assert looks_plain(schema)
    for required in (names[::-1], names[::7], names[250:] + names[:20], []):
        assert looks_plain({**schema, "required": required})
    for required in ([*names, "more"], [*names[:5], names[0]], ["name_"], ["name_1", "name_1"], [1], [None], "name_1"):
        assert not looks_plain({**schema, "required": required})


def test_damaged_copies_are_not_plain() -> None:
    schema = tool(1, more={"type": "array", "default": [1, {"a": "é"}], "items": {"enum": ["x", "y" * 300]}})
    data = marshal.dumps(schema, 4)
    assert are_plain([data]) == [True]
    assert not any(are_plain([data[:end] for end in range(len(data))]))
    rng = random.Random(1)
    damaged = []
    for _ in range(20_000 if FULL else 2_000):
        some = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            some[rng.randrange(len(some))] = rng.randrange(256)
        damaged.append(bytes(some))
    assert len(are_plain(damaged)) == len(damaged)  # and nothing beyond the copies is read


def test_many_are_looked_at_as_each_alone() -> None:
    rng = random.Random(2)
    odd: list[Any] = [{"type": "text"}, {"enum": []}, {"type": "string", "title": b"x"}, {"const": "\ud800"}, {"a": 1}]
    schemas: list[Any] = [tool(n, **({"odd": rng.choice(odd)} if n % 5 == 0 else {})) for n in range(3000)]
    schemas[7] = {"type": "object", "title": object()}
    schemas[8] = None
    assert frozen_all(schemas) == [frozen(schema) for schema in schemas]
    assert frozen_all(schemas[: MANY - 1]) == [frozen(schema) for schema in schemas[: MANY - 1]]


class Odd(dict[Any, Any]):
    pass


BAD: list[Any] = [
    {"type": "text"}, {"type": None, "enum": ["a"]}, {"type": None, "const": "a"}, {"enum": []}, {"enum": "ab"},
    {"type": "object", "required": ["b", "b"]}, {"type": "object", "properties": {"a": {}}, "required": "a"},
    {"type": "array", "items": {"type": "object", "properties": {"a": {"type": 5}}}}, {"type": "string", 7: 1},
    {"const": "\ud800"}, {"type": "number", "minimum": float("nan")}, Odd(type="text"), 5, None,
    {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}},
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD, ids=lambda b: repr(b)[:30])
def test_a_bad_tool_is_refused_as_it_is_among_few(bad: Any) -> None:
    def refusal(count: int) -> str:
        schema = {"anyOf": [tool(n, **({"odd": bad} if n == 13 else {})) for n in range(count)]}
        try:
            constrain.json_schema(schema)
        except constrain.ConstrainError as error:
            return str(error)
        return ""

    among_few = refusal(15)
    assert refusal(20) == refusal(MANY + 50) == among_few
    assert not among_few or "/anyOf/13/properties/arguments/properties/odd" in among_few
    assert among_few or bad == {"enum": []}, "only what can be left out is not refused"


def test_what_the_caller_does_later_changes_nothing() -> None:
    schema = {"anyOf": [tool(n, when={"type": "string"}) for n in range(MANY + 50)]}
    grammar = constrain.json_schema(schema)
    for branch in schema["anyOf"]:
        branch["properties"]["arguments"]["properties"]["when"]["type"] = "integer"
        branch["properties"]["name"]["const"] += "!"
    matcher = grammar.compile(vocabulary("bytes")).matcher()
    assert matcher.accept_bytes(b'{"name":"tool_37","arguments":{"city":"","when":"now"}}')


def test_a_grammar_of_many_tools_is_few_objects() -> None:
    """Each object that can hold others is one more for Python's collector, which goes through the caller's too."""
    constrain.warm_up(quiet=True)  # compiling kernels makes objects, too
    schema = {"anyOf": [tool(n) for n in range(4_000)]}
    make: Callable[[], Any] = lambda: constrain.json_schema(schema).compile(vocabulary("bytes"))  # noqa: E731
    make()
    gc.collect()
    before = len(gc.get_objects())
    compiled = make()
    matcher = compiled.matcher()
    matcher.fill_next_token_bitmask(np.zeros(compiled.bitmask_words, dtype=np.int32))
    assert len(gc.get_objects()) - before < 2_000
    assert matcher.accept_bytes(b'{"name":"tool_3999","arguments":{"city":""}}')
