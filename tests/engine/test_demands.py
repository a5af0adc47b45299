"""Demands on members: schemas whose branches say the opposite of each other, against a validator on all small objects.

Every object with some of five names and two values is tried, so that whatever a branch, its negation or a bound on the
number of members says is met and violated. Walks must end, and the distance must be that of the shortest object.
"""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import jsonschema_rs
import pytest

from constrain.grammars.errors import ResourceLimitError, UnsatisfiableSchemaError
from tests.oracles import FULL, VOCABULARIES, Walker, accepts, compiled

NAMES = ("a", "b", "c", "ax", "")
VALUES = (1, "x")
OBJECTS = [
    dict(zip(names, values, strict=True))
    for size in range(len(NAMES) + 1)
    for names in itertools.combinations(NAMES, size)
    for values in itertools.product(VALUES, repeat=size)
]


def _value(rng: random.Random) -> Any:
    return rng.choice([{"type": "string"}, {"type": "integer"}, {"const": 1}, {"enum": ["x", 2]}, True, False, {}])


def _object(rng: random.Random) -> dict[str, Any]:
    """Keywords about members."""
    schema: dict[str, Any] = {}
    if rng.random() < 0.7:
        schema["properties"] = {n: _value(rng) for n in rng.sample(NAMES, rng.randint(1, 3))}
    if rng.random() < 0.5:
        schema["required"] = rng.sample(NAMES, rng.randint(1, 2))
    if rng.random() < 0.35:
        schema["additionalProperties"] = rng.choice([False, False, _value(rng)])
    if rng.random() < 0.15:
        schema["patternProperties"] = {rng.choice(["^a", "x$", "^b?$"]): _value(rng)}
    if rng.random() < 0.15:
        schema["propertyNames"] = rng.choice([{"maxLength": 1}, {"minLength": 1}, {"enum": ["a", "b"]}])
    if rng.random() < 0.25:
        schema["maxProperties"] = rng.randint(0, 3)
    if rng.random() < 0.2:
        schema["minProperties"] = rng.randint(1, 3)
    if rng.random() < 0.15:
        schema["dependentRequired"] = {rng.choice(NAMES): [rng.choice(NAMES)]}
    return schema


def _schema(rng: random.Random, depth: int = 2) -> dict[str, Any]:
    schema = _object(rng) if depth == 0 or rng.random() < 0.6 else {}
    if depth == 0:
        return schema
    kind = rng.random()
    if kind < 0.35:
        schema["oneOf"] = [_schema(rng, depth - 1) for _ in range(rng.randint(2, 4))]
    elif kind < 0.6:
        schema["not"] = _schema(rng, depth - 1)
    elif kind < 0.75:
        schema["anyOf"] = [_schema(rng, depth - 1) for _ in range(rng.randint(2, 3))]
    elif kind < 0.9:
        schema |= {"if": _schema(rng, depth - 1), "then": _schema(rng, 0), "else": _schema(rng, depth - 1)}
    else:
        schema["dependentSchemas"] = {rng.choice(NAMES): _schema(rng, depth - 1)}
    return schema


def _with_unevaluated(schema: Any, rng: random.Random) -> Any:
    """The schema with `unevaluatedProperties` in some places, which `additionalProperties` gives way to."""
    inner = [b for key in ("oneOf", "anyOf") for b in schema.get(key, [])]
    inner += [schema[key] for key in ("not", "if", "then", "else") if key in schema]
    inner += schema.get("dependentSchemas", {}).values()
    for part in inner:
        _with_unevaluated(part, rng)
    if rng.random() < 0.4:
        schema["unevaluatedProperties"] = rng.choice([False, False, {"type": "integer"}])
        schema.pop("additionalProperties", None)
    return schema


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def check(schema: dict[str, Any], rng: random.Random, walks: int = 4) -> None:
    """Accepted are the valid objects in any order of their members, and no walk among them is lost."""
    valid = jsonschema_rs.Draft202012Validator(schema).is_valid
    try:
        grammar = compiled(schema)
    except UnsatisfiableSchemaError:
        assert not any(map(valid, OBJECTS)), schema
        return
    shortest = None
    for value in OBJECTS:
        items = list(value.items())
        rng.shuffle(items)
        text = _text(dict(items))
        assert accepts(grammar, text) == valid(value), (schema, text)
        if valid(value):
            shortest = min(len(text), shortest or len(text))
    matcher = grammar.matcher()
    at_end = compiled({"type": "null"}).matcher()
    assert at_end.accept_bytes(b"null")
    distance = matcher.min_tokens_to_end - at_end.min_tokens_to_end
    if shortest is not None:
        assert distance <= shortest, (schema, distance, shortest)
    walker = Walker(VOCABULARIES["bytes"](), rng)
    for _ in range(walks):
        for state in walker.positions(grammar, 2):
            left = state.min_tokens_to_end
            assert len(walker.finish(state.fork())) <= left, schema


@pytest.mark.parametrize("seed", range(2_000 if FULL else 60))
def test_random_schemas_agree_on_all_small_objects(seed: int) -> None:
    rng = random.Random(seed)
    check({"type": "object"} | _schema(rng), rng)


@pytest.mark.parametrize("seed", range(1_000 if FULL else 36))
def test_random_schemas_with_unevaluated_members(seed: int) -> None:
    """Under a negation, too: then some member has to be left over."""
    rng = random.Random(seed)
    try:
        check(_with_unevaluated({"type": "object"} | _schema(rng), rng), rng, 1)
    except ResourceLimitError:
        pytest.skip("combines to too many alternatives")


def test_unevaluated_items_under_a_negation() -> None:
    schema = {
        "type": "array",
        "not": {"prefixItems": [{}], "contains": {"const": "c"}, "unevaluatedItems": {"type": "integer"}},
    }
    good = ["[]", "[1]", '["a","b","c"]', '["c",true]', '[1,"x",1]']
    bad = ['["c"]', '["c",1]', '["a","c"]', '["a","c",1,"c"]', '[1,1,"c"]']
    valid = jsonschema_rs.Draft202012Validator(schema).is_valid
    assert [text for text in good + bad if valid(json.loads(text))] == good
    assert _accepted(schema, good + bad) == good


def _accepted(schema: Any, texts: list[str]) -> list[str]:
    grammar = compiled(schema)
    return [text for text in texts if accepts(grammar, text)]


def test_branches_with_an_optional_discriminator() -> None:
    """Exactly one of many branches: without the discriminator all hold, unless another member tells them apart."""
    branches = [{"properties": {"kind": {"enum": [f"k{i}"]}, "name": {"type": "string"}}} for i in range(40)]
    schema = {"type": "object", "oneOf": branches}
    good = ['{"kind":"k3"}', '{"kind":"k39","name":"x"}', '{"name":"x","kind":"k0"}']
    bad = ["{}", '{"kind":"k40"}', '{"name":"x"}', '{"kind":"k3","name":1}', '{"name":1}']
    assert _accepted(schema, good + bad) == good


def test_branches_that_differ_in_what_they_close() -> None:
    branches = [
        {"properties": {name: {} for name in names}, "additionalProperties": False}
        for names in itertools.combinations("abcdefgh", 4)
    ]
    schema = {"type": "object", "oneOf": branches}
    good = ['{"a":1,"b":1,"c":1,"d":1}', '{"h":1,"a":1,"c":1,"e":1}']
    bad = ["{}", '{"a":1}', '{"a":1,"b":1,"c":1}', '{"a":1,"b":1,"c":1,"d":1,"e":1}', '{"z":1}']
    assert _accepted(schema, good + bad) == good


def test_conditions_on_one_member() -> None:
    """Each condition holds where the member is missing, so then all that follow from them are asked for."""
    schema = {
        "type": "object",
        "allOf": [
            {"if": {"properties": {"kind": {"const": f"k{i}"}}}, "then": {"required": [f"r{i}"]}} for i in range(12)
        ],
    }
    everything = json.dumps({f"r{i}": 1 for i in range(12)})
    good = ['{"kind":"k2","r2":1}', '{"r2":1,"kind":"k2"}', '{"kind":"other"}', everything]
    bad = ["{}", '{"kind":"k2"}', '{"kind":"k2","r3":1}', '{"r1":1,"r2":1}']
    assert _accepted(schema, good + bad) == good


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (
            {"maxProperties": 2, "not": {"additionalProperties": False}},
            ['{"a":1}', '{"a":1,"b":2}'],
            ["{}", '{"a":1,"b":2,"c":3}'],
        ),
        (
            {"maxProperties": 1, "allOf": [{"not": {"additionalProperties": {"const": i}}} for i in range(20)]},
            ['{"a":20}', '{"b":"x"}'],
            ["{}", '{"a":3}', '{"a":20,"b":20}'],
        ),
        (
            {
                "maxProperties": 2,
                "required": ["a"],
                "not": {"properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "integer"}},
            },
            ['{"a":"x"}', '{"a":"x","b":1}', '{"a":1,"b":"x"}', '{"b":"x","a":1}'],
            ['{"a":1}', '{"b":"x"}', '{"a":1,"b":1}', '{"b":1,"c":"x"}'],
        ),
    ],
)
def test_demands_beside_a_largest_number_of_members(schema: Any, good: list[str], bad: list[str]) -> None:
    assert _accepted({"type": "object"} | schema, good + bad) == good


def test_names_that_are_declared_do_not_serve_a_demand_for_others() -> None:
    """The shortest object is `{"a":1}`: the empty name is one that the negated schema knows."""
    schema = {"type": "object", "not": {"properties": {"": {}}, "additionalProperties": False}}
    assert compiled(schema).matcher().min_tokens_to_end - 7 in (0, 1)
    assert _accepted(schema, ['{"":1}', '{"a":1}', '{"":1,"a":1}']) == ['{"a":1}', '{"":1,"a":1}']


def test_a_member_that_could_serve_all_its_demands_only_together_is_not_begun() -> None:
    """Where there is an `a` it must be a string, and must not: so no name that begins with `a` is offered."""
    is_text = {"type": "string"}
    no_text = {"not": {"required": ["a"], "properties": {"a": is_text}}}
    only_text = {"not": {"required": ["a"], "properties": {"a": {"not": is_text}}}}
    no_text_in_b = {"not": {"required": ["b"], "properties": {"b": is_text}}}
    schema = {
        "type": "object",
        "properties": {"a": {}, "b": {}},
        "additionalProperties": False,
        "allOf": [no_text, only_text, no_text_in_b],
    }
    matcher = compiled(schema).matcher()
    assert matcher.accept_bytes(b'{"')
    assert not matcher.accept_bytes(b"a")
    assert _accepted(schema, ["{}", '{"b":1}', '{"a":1}', '{"b":"x"}']) == ["{}", '{"b":1}']


def test_disjunctions_of_patterns() -> None:
    """Three groups of three: not one alternative for each choice, and the same texts."""
    groups = [["^a", "^b", "^[xy]"], ["1", "2", "3$"], ["a.*9", "b", "^(?:x.){2}"]]
    schema = {"type": "string", "allOf": [{"anyOf": [{"pattern": p} for p in group]} for group in groups]}
    good = ['"b1"', '"b3"', '"a19"', '"x1x2"', '"y2b"']
    bad = ['"a1"', '"c1b"', '"b"', '"x1"', '"b30"']
    assert _accepted(schema, good + bad) == good
    nothing = {"type": "string", "allOf": [{"not": {"anyOf": [{"pattern": "^a"}, {"not": {"pattern": "z$"}}]}}]}
    assert _accepted(nothing, ['"bz"', '"z"', '"az"', '"b"', '""']) == ['"bz"', '"z"']
