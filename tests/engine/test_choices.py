"""Choices between many kinds of objects that a member tells apart: what is accepted is what two validators call valid,
with members in any order; walks end; distances hold; and what is not chosen costs next to nothing."""

from __future__ import annotations

import itertools
import json
import pickle
import random
from typing import Any

import pytest

import constrain
from constrain.grammars.json_schema import loader
from tests.oracles import FULL, VOCABULARIES, Walker, accepts, allowed, compiled, validators, vocabulary

VALUES: list[Any] = ["text", "", 3, 12, -1, True, None, ["a", "b"], [], {"x": "é"}, {"x": 1}, "high", 2.5]
MEMBERS: list[tuple[Any, bool]] = [  # and whether reading it can wait
    ({"type": "string"}, True),
    ({"type": "integer", "description": "a number"}, True),
    ({"type": "boolean"}, True),
    ({"enum": ["low", "high"]}, True),
    ({"type": "string", "const": "text"}, True),
    ({"type": "array", "items": {"type": "string"}}, True),
    ({"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}, True),
    ({"type": "object", "properties": {"x": {"enum": ["é"]}}, "additionalProperties": False}, True),
    ({"type": "integer", "minimum": 4}, False),
    ({"$ref": "#/$defs/shared"}, False),
    ({"type": "string", "pattern": "^te"}, False),
    (False, False),
]


def _branch(rng: random.Random, number: int, plain: bool) -> dict[str, Any]:
    chosen = rng.sample([m for m, simple in MEMBERS if simple or not plain], rng.randrange(0, 4))
    members = {f"m{rng.randrange(6)}": m for m in chosen}
    tag: dict[str, Any] = {"const": f"kind{number}"}
    if number % 5 == 1:
        tag = {"enum": [f"kind{number}", f'k"\\é{number}'], "type": "string"}
    branch: dict[str, Any] = {"type": "object", "properties": {**members, "kind": tag}}
    branch["required"] = ["kind", *(m for m in members if rng.random() < 0.4)]
    rng.shuffle(branch["required"])
    if rng.random() < 0.7:
        branch["additionalProperties"] = rng.random() < 0.2
    return branch


def _schema(seed: int) -> dict[str, Any]:
    rng = random.Random(seed)
    plain = rng.random() < 0.5
    branches = [_branch(rng, n, plain or rng.random() < 0.7) for n in range(rng.randrange(16, 22))]
    choice: dict[str, Any] = {rng.choice(["anyOf", "oneOf"]): branches}
    if rng.random() < 0.3:
        choice["type"] = "object"
    shape = seed % 6
    if shape == 1:
        choice = {"type": "array", "items": choice}
    elif shape == 2:
        choice = {"type": "object", "properties": {"call": choice}, "required": ["call"], "additionalProperties": False}
    elif shape == 3:
        choice = {"anyOf": [choice, {"type": "null"}]}
    elif shape == 4:  # followed side by side with another object
        other = {"type": "object", "properties": {"kind": {"type": "string", "maxLength": 5}}, "maxProperties": 2}
        choice = {"anyOf": [choice, other]}
    return {**choice, "$defs": {"shared": {"type": "array", "items": {"type": "integer"}, "maxItems": 1}}}


def _instances(rng: random.Random, schema: dict[str, Any], count: int) -> list[Any]:
    """Objects made of the branches' names, about half of them valid, as the schema places them."""
    inner = schema
    wrap = []
    while "kind" not in str(inner.get("anyOf", inner.get("oneOf"))):
        step = "items" if "items" in inner else "call"
        wrap.append(step)
        inner = inner["items"] if step == "items" else inner["properties"]["call"]
    branches = inner.get("anyOf", inner.get("oneOf"))
    branches = branches[0].get("anyOf", branches[0].get("oneOf")) if len(branches) == 2 else branches
    out = []
    for _ in range(count):
        branch = rng.choice(branches)
        tag = branch["properties"]["kind"]
        value = {"kind": rng.choice(tag.get("enum", [tag.get("const")]))}
        for name in {*branch["required"], *rng.sample(list(branch["properties"]), 1)} - {"kind"}:
            value[name] = rng.choice(VALUES)
        if rng.random() < 0.2:
            value[rng.choice(["m1", "more", "kinds"])] = rng.choice(VALUES)
        if rng.random() < 0.1:
            value["kind"] = rng.choice(["kind", "kind99", 1, "kind1x"])
        if rng.random() < 0.05:
            del value["kind"]
        members = list(value.items())
        rng.shuffle(members)
        made: Any = dict(members)
        for step in reversed(wrap):
            made = [made] * rng.randrange(1, 3) if step == "items" else {"call": made}
        out.append(made)
    return out


@pytest.mark.parametrize("seed", range(60 if FULL else 18))
def test_accepts_what_validators_call_valid(seed: int) -> None:
    schema = _schema(seed)
    grammar = compiled(schema)
    pure, rust = validators(schema)
    rng = random.Random(seed)
    seen = set()
    for instance in _instances(rng, schema, 40):
        valid = rust(instance)
        assert pure(instance) == valid
        seen.add(valid)
        assert accepts(grammar, json.dumps(instance, ensure_ascii=rng.random() < 0.5)) == valid, instance
    assert seen == {True, False}


@pytest.mark.parametrize("seed", range(60 if FULL else 12))
def test_walks_end_within_their_distance_and_are_valid(seed: int) -> None:
    schema = _schema(seed)
    name = ["mixed", "bytes", "tekken"][seed % 3]
    tokens = VOCABULARIES[name]()
    rng = random.Random(seed)
    walker = Walker(tokens, rng)
    _, rust = validators(schema)
    for length in (0, 2, 5, 9, 14, 20, 40):
        matcher = compiled(schema, name).matcher()
        text = bytearray()
        for _ in range(length):
            chosen = walker.choose(allowed(matcher, walker.size))
            if chosen is None:
                break
            assert matcher.accept_token(chosen)
            text += tokens.bytes_of[chosen] or b""
        distance = matcher.min_tokens_to_end
        rest = walker.finish(matcher)
        assert len(rest) <= distance, (bytes(text), rest)
        assert rust(json.loads(bytes(text) + rest)), bytes(text) + rest


def test_what_is_wrong_in_a_branch_is_said_at_once() -> None:
    branches = [_branch(random.Random(n), n, True) for n in range(20)]
    for wrong, error in (
        ({"type": "strin"}, constrain.InvalidSchemaError),
        ({"type": "string", "enum": ["a", "a\ud800"]}, constrain.InvalidSchemaError),
        ({"type": "string", "format": 3}, constrain.InvalidSchemaError),
        ({"$ref": "#/$defs/none"}, constrain.InvalidSchemaError),
        ({"type": "object", "properties": {3: {}}}, constrain.InvalidSchemaError),
        ({"type": "object", "required": ["a", "a"], "properties": {"a": {}}}, constrain.InvalidSchemaError),
        ({"type": "string", "pattern": "(a)\\1"}, constrain.UnsupportedSchemaError),
    ):
        last = {**branches[-1], "properties": {**branches[-1]["properties"], "deep": {"type": "array", "items": wrong}}}
        with pytest.raises(error) as caught:
            constrain.json_schema({"anyOf": [*branches[:-1], last]})
        assert caught.value.pointer.startswith("/anyOf/19/properties/deep/items")


def test_no_branch_can_be_satisfied() -> None:
    branches = [
        {"type": "object", "properties": {"kind": {"const": f"k{n}"}, "x": False}, "required": ["kind", "x"]}
        for n in range(20)
    ]
    with pytest.raises(constrain.UnsatisfiableSchemaError):
        constrain.json_schema({"oneOf": branches})


def test_a_branch_is_read_when_it_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what the caller does to the dict in between changes nothing."""
    read = []
    original = loader.read_fragment
    monkeypatch.setattr(loader, "read_fragment", lambda node, *rest: (read.append(node.pointer), original(node, *rest)))
    branches = [
        {
            "type": "object",
            "properties": {"kind": {"const": f"k{n}"}, "x": {"enum": [f"v{n}"]}},
            "required": ["kind", "x"],
        }
        for n in range(30)
    ]
    matcher = constrain.json_schema({"anyOf": branches}).compile(vocabulary("bytes")).matcher()
    branches[7]["properties"]["x"] = {"enum": ["changed"]}
    allowed(matcher, 257)
    assert matcher.accept_bytes(b'{"kind": "k7')
    assert read == []
    assert matcher.accept_bytes(b'", "x": "')
    assert read == ["/anyOf/7"]
    assert not matcher.accept_bytes(b"c")
    assert matcher.accept_bytes(b'v7"}')
    assert matcher.is_accepting


def test_members_in_any_order_up_to_a_limit() -> None:
    """Beyond so many alternatives as can be followed side by side, the telling member comes first, which is listed."""
    for count, any_order in ((100, True), (5_000, False)):
        grammar = constrain.json_schema(
            {
                "anyOf": [
                    {
                        "type": "object",
                        "properties": {"kind": {"const": f"k{n}"}, "x": {"enum": [f"v{n}"]}},
                        "required": ["kind", "x"],
                        "additionalProperties": False,
                    }
                    for n in range(count)
                ]
            }
        )
        ours = grammar.compile(vocabulary("bytes"))
        assert accepts(ours, '{"kind":"k77","x":"v77"}')
        assert not accepts(ours, '{"kind":"k77","x":"v78"}')
        assert accepts(ours, '{"x":"v77","kind":"k77"}') == any_order
        assert not accepts(ours, '{"x":"v77","kind":"k78"}')
        assert any("kind" in n.reason for n in grammar.narrowings) != any_order


def test_a_grammar_with_deferred_branches_can_be_kept() -> None:
    schema = {"oneOf": [_branch(random.Random(n), n, True) for n in range(20)]}
    grammar = constrain.json_schema(schema)
    again = pickle.loads(pickle.dumps(grammar))
    assert again == grammar
    assert hash(again) == hash(constrain.json_schema(json.dumps(schema)))
    _, rust = validators(schema)
    ours = again.compile(vocabulary("bytes"))
    for instance in _instances(random.Random(1), schema, 30):
        assert accepts(ours, json.dumps(instance)) == rust(instance)


def test_closed_objects() -> None:
    """Absent `additionalProperties` means false in each branch, read now or later."""
    schema = {
        "anyOf": [
            {
                "type": "object",
                "properties": {"kind": {"const": f"k{n}"}, "x": {"type": "object", "properties": {"y": extra}}},
                "required": ["kind"],
            }
            for n, extra in zip(range(20), itertools.cycle([{"type": "string"}, {"type": "string", "minLength": 1}]))
        ]
    }
    for closed in (False, True):
        ours = constrain.json_schema(schema, closed_objects=closed).compile(vocabulary("bytes"))
        for kind in ("k4", "k5"):
            for text in (
                f'{{"kind":"{kind}","z":1}}',
                f'{{"z":1,"kind":"{kind}"}}',
                f'{{"kind":"{kind}","x":{{"z":1}}}}',
            ):
                assert accepts(ours, text) != closed
            assert accepts(ours, f'{{"x":{{"y":"a"}},"kind":"{kind}"}}')


def test_sixteen_thousand_tools() -> None:
    """A second is many times what it takes; followed side by side they took minutes."""
    names = [f"argument_{k}" for k in range(10)]
    members: list[Any] = [{"type": "string"}, {"type": "integer"}, {"enum": ["low", "high"]}]
    schema = {
        "oneOf": [
            {
                "type": "object",
                "properties": {
                    "name": {"const": f"tool_{i}"},
                    "arguments": {
                        "type": "object",
                        "properties": {name: members[(i + k) % 3] for k, name in enumerate(names)},
                        "required": names[:5],
                        "additionalProperties": False,
                    },
                },
                "required": ["name", "arguments"],
                "additionalProperties": False,
            }
            for i in range(16_000)
        ]
    }
    voc = vocabulary("bytes")
    matcher = constrain.json_schema(schema).compile(voc).matcher()
    allowed(matcher, 257)
    assert matcher.accept_bytes(b'{"name": "tool_12')
    assert matcher.min_tokens_to_end < 200
    assert {chr(b) for b in allowed(matcher, 257).nonzero()[0]} == {*'0123456789"', "\\"}


def test_choices_within_choices_have_a_named_limit() -> None:
    schema: Any = {"type": "integer"}
    for length in range(600):
        schema = {"oneOf": [schema, {"type": "string", "maxLength": length}]}
    with pytest.raises(constrain.ResourceLimitError):
        constrain.json_schema(schema)
