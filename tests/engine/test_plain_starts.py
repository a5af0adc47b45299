"""Members that one plain subschema describes are lowered straight from its fields; equal ones are lowered once.

The languages are checked against jsonschema-rs, the masks against every token tried alone, and both against the general
way, which is taken where `NormalForm.single` finds nothing plain.
"""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import constrain
from constrain.engine import first_members
from constrain.engine.plain_starts import PlainStarts
from constrain.engine.shapes import Shapes
from constrain.grammars.json_schema.evident import Evidence
from constrain.grammars.json_schema.expansion import Expansion
from constrain.grammars.json_schema.inhabit import Inhabitation
from constrain.grammars.json_schema.load import load
from constrain.grammars.json_schema.normal import NormalForm
from constrain.kernels.layout import V_STRING
from tests.engine.each_token import each_token
from tests.engine.test_random_schemas import matching, near_misses
from tests.oracles import FULL, Walker, accepts, allowed, attempt, mixed_tokens, validators, vocabulary

SETTINGS = settings(
    max_examples=400 if FULL else 40, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)

_scalars = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "description": "a text"},
        {"type": "string", "minLength": 1},
        {"type": "string", "maxLength": 2},
        {"type": "string", "minLength": 2, "maxLength": 1},
        {"type": "string", "enum": ["a", "ab", "é", 'q"']},
        {"type": "string", "enum": ["b"]},
        {"type": "string", "pattern": "^a"},
        {"enum": ["a", 1, None, True, {"a": 1}, [1]]},
        {"const": "ab"},
        {"type": "integer"},
        {"type": "number"},
        {"type": "integer", "minimum": 3},
        {"type": "integer", "minimum": 3, "maximum": 3},
        {"type": "number", "minimum": 0.5, "exclusiveMaximum": 0.75},
        {"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2},
        {"type": "boolean"},
        {"type": "null"},
        {"type": ["null", "string"]},
        {"type": ["integer", "array", "object"]},
        {"type": ["boolean", "number"]},
        {},
        True,
        False,
    ]
)


def _inner(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.sampled_from(["a", "b", "ab", "é"])
    objects = st.fixed_dictionaries(
        {"type": st.sampled_from(["object", ["object", "null"]])},
        optional={
            "properties": st.dictionaries(names, inner, max_size=4),
            "required": st.lists(names, max_size=2, unique=True),
            "additionalProperties": inner,
            "minProperties": st.integers(0, 2),
            "maxProperties": st.integers(0, 3),
        },
    )
    arrays = st.fixed_dictionaries(
        {"type": st.just("array")},
        optional={"items": inner, "minItems": st.integers(0, 2), "maxItems": st.integers(0, 3)},
    )
    either = st.lists(inner, min_size=1, max_size=3)
    return objects | arrays | either.map(lambda b: {"anyOf": b}) | either.map(lambda b: {"oneOf": b})


_schemas = st.recursive(_scalars, _inner, max_leaves=6)
_roots = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(st.sampled_from("abcdefg"), _schemas, max_size=7)},
    optional={"additionalProperties": _schemas, "required": st.lists(st.sampled_from("abc"), unique=True)},
)


def _general_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NormalForm, "single", lambda *_: None)
    monkeypatch.setattr(Expansion, "_first_equal", lambda _self, index, _s: index)
    monkeypatch.setattr(Evidence, "has_value", lambda *_: False)
    monkeypatch.setattr(PlainStarts, "of", lambda *_: None)
    monkeypatch.setattr(PlainStarts, "is_simple", lambda *_: False)


@SETTINGS
@given(schema=_roots, seed=st.integers(0, 2**20))
def test_both_ways_to_lower_a_schema_agree_with_a_validator(schema: Any, seed: int) -> None:
    rng = random.Random(seed)
    made_up = [matching(schema, rng) for _ in range(4)]
    instances = [*made_up, *(v for value in made_up for v in near_misses(value, rng))]
    _, is_valid = validators(schema)
    made = attempt(schema)
    with pytest.MonkeyPatch.context() as monkeypatch:
        _general_way(monkeypatch)
        general = attempt(schema)
        verdicts = general.error is None and [accepts(general.compiled, json.dumps(v)) for v in instances]
    assert (made.error is None) == (general.error is None), (made.error, general.error)
    if made.error is not None:
        assert made.error.pointer == general.error.pointer
        assert not any(map(is_valid, instances))
        return
    wanted = [bool(is_valid(v)) for v in instances]
    assert [accepts(made.compiled, json.dumps(v)) for v in instances] == wanted
    assert verdicts == wanted


_bounds = st.sampled_from([-1, 0, 0.5, 1, 2])


@SETTINGS
@given(
    schema=st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "number", ["number", "null"], ["integer", "boolean", "string"]])},
        optional={
            "minimum": _bounds,
            "exclusiveMinimum": _bounds,
            "maximum": _bounds,
            "exclusiveMaximum": _bounds,
            "multipleOf": st.sampled_from([0.5, 2]),
        },
    )
)
def test_bounds_on_numbers_are_those_of_the_general_way(schema: Any) -> None:
    document = load(schema)
    forms = NormalForm(document)
    made = forms.atoms(forms.variable((document.root,)))
    with pytest.MonkeyPatch.context() as monkeypatch:
        _general_way(monkeypatch)
        forms = NormalForm(document)
        assert made == forms.atoms(forms.variable((document.root,)))


@SETTINGS
@given(schema=_roots, seed=st.integers(0, 2**20))
def test_masks_are_those_of_the_general_way_and_of_every_token_alone(schema: Any, seed: int) -> None:
    made = attempt(schema, "mixed")
    if made.error is not None:
        return
    tokens = mixed_tokens()
    size = len(tokens.bytes_of)
    walker = Walker(tokens, random.Random(seed))
    matcher = made.compiled.matcher()
    written: list[int] = []
    masks = []
    for _ in range(25):
        mask = allowed(matcher, size)
        assert (mask == each_token(matcher, size)).all()
        masks.append(mask)
        chosen = walker.choose(mask)
        if chosen is None:
            break
        assert matcher.accept_token(chosen)
        written.append(chosen)
    with pytest.MonkeyPatch.context() as monkeypatch:
        _general_way(monkeypatch)
        other = attempt(schema, "mixed").compiled.matcher()
        for mask, token in zip(masks, [*written, None], strict=False):
            assert np.array_equal(allowed(other, size), mask)
            assert token is None or other.accept_token(token)


@SETTINGS
@given(schema=_schemas)
def test_what_evidently_has_a_value_has_a_shortest_one(schema: Any) -> None:
    document = load({"properties": {"a": schema}})
    forms = NormalForm(document)
    evidence = Evidence(forms._subschemas, forms._expansion)
    for index in range(len(document.subschemas)):
        if evidence.has_value(index):
            assert Inhabitation(forms).shortest(forms.variable((index,))) < float("inf")


@pytest.mark.parametrize(
    ("schema", "evident"),
    [
        ({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}, True),
        ({"type": "object", "required": ["a"], "properties": {"a": False}}, False),
        ({"type": "object", "required": ["a"], "maxProperties": 0}, False),
        ({"type": "object", "required": ["a"], "additionalProperties": False}, False),
        ({"type": "integer", "minimum": 1, "maximum": 3}, True),
        ({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2}, False),
        ({"type": "string", "minLength": 2, "maxLength": 1}, False),
        ({"type": "array", "items": {"type": "null"}, "minItems": 2}, True),
        ({"type": "array", "items": False, "minItems": 1}, False),
        ({"type": "array", "items": {"type": "null"}, "minItems": 1, "uniqueItems": True}, True),
        ({"type": "array", "items": {"type": "null"}, "minItems": 2, "uniqueItems": True}, False),
        ({"type": "array", "items": False, "minItems": 1, "uniqueItems": True}, False),
        ({"type": "array", "minItems": 2, "maxItems": 1}, False),
        ({"anyOf": [{"type": "string", "pattern": "a"}, {"type": "null"}]}, True),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, True),
        ({"oneOf": [{"type": "null"}, {"type": "null"}]}, False),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, False),
    ],
)
def test_what_is_evident(schema: Any, evident: bool) -> None:
    document = load(schema)
    forms = NormalForm(document)
    assert Evidence(forms._subschemas, forms._expansion).has_value(document.root) == evident


def test_equal_simple_subschemas_are_one_variable() -> None:
    def variables(*schemas: Any) -> int:
        document = load({"properties": {str(k): s for k, s in enumerate(schemas)}})
        forms = NormalForm(document)
        return len({forms.variable((i,)) for i in document.subschemas[document.root].properties.values()})

    same = {"type": "array", "items": {"type": "string", "minLength": 1}}
    assert variables(same, same | {"title": "other"}) == 1
    assert variables({"enum": ["a", "b"]}, {"enum": ["a", "b"]}) == 1
    assert variables({"enum": ["a", "b"]}, {"enum": ["a", "c"]}) == 2
    assert variables({"minLength": 1}, {"type": "string", "minLength": 1}) == 2
    assert variables({"minimum": 1}, {"exclusiveMinimum": 1}, {"maximum": 1}, {"maxItems": 1}, {"maxLength": 1}) == 5
    assert variables({"items": {"type": "string"}}, {"items": {"type": "null"}}) == 2
    assert variables({"items": {"type": "string"}, "uniqueItems": True}, {"items": {"type": "string"}}) == 2


def test_a_place_without_a_value_is_named_by_its_own_pointer() -> None:
    empty = {"type": "string", "minLength": 2, "maxLength": 1}
    with pytest.raises(constrain.UnsatisfiableSchemaError) as error:
        constrain.json_schema({"properties": {"a": {**empty}, "b": {**empty}}, "required": ["b"], "type": "object"})
    assert error.value.pointer == "/properties/b"


_ONE_OF_TWO = {"enum": ["x", "y"]}
_NESTED = {
    "type": "object",
    "properties": {
        "a": _ONE_OF_TWO,
        "b": {
            "type": "object",
            "properties": {
                "c": {"enum": ["z"]},
                "d": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"e": {"type": "integer", "minimum": 1}}},
                },
            },
        },
        "f": {"type": "string", "pattern": "^u"},
    },
}


@pytest.mark.parametrize("time", [0, 1 << 40])
def test_what_comes_soon_is_stored_when_a_grammar_is_compiled(time: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_members, "TIME", time)
    asked: list[int] = []
    made = Shapes.slot
    monkeypatch.setattr(Shapes, "slot", lambda self, *key: asked.append(key[1]) or made(self, *key))
    matcher = constrain.json_schema(_NESTED).compile(vocabulary("bytes")).matcher()
    asked.clear()
    assert matcher.accept_bytes(b'{"a":"x"')
    assert not asked
    assert matcher.accept_bytes(b',"b":{"c":"z","d":[{"e":3},{"e":4}]}')
    assert not asked
    assert matcher.accept_bytes(b',"f":"u"}')  # the language of a pattern is made if there is time, or when reached
    assert len(asked) == (time == 0)
    assert matcher.is_accepting


def test_a_limit_met_ahead_is_said_where_it_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    start = Shapes.start

    def limited(self: Shapes, vset: int, kind: int) -> int:
        (variable,) = self.vsets[vset]
        if kind == V_STRING and self._forms.pointer(variable) == "/properties/b/properties/c":
            raise constrain.ResourceLimitError("", "enum", "it is too much")
        return start(self, vset, kind)

    monkeypatch.setattr(Shapes, "start", limited)
    matcher = constrain.json_schema(_NESTED).compile(vocabulary("bytes")).matcher()
    assert matcher.accept_bytes(b'{"a":"x","b":{"d":[{"e":3}]')
    other = matcher.fork()
    for _ in range(2):
        with pytest.raises(constrain.ResourceLimitError):
            matcher.accept_bytes(b',"c":"z"')
    assert other.accept_bytes(b"}}")
    assert other.is_accepting
