"""Random schemas over the supported keywords, random values and near misses, against two validators.

Where jsonschema and jsonschema-rs agree on a value, the engine must agree with them; where it refuses a schema as
unsatisfiable, no value tried may be valid.
"""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from constrain.grammars.errors import UnsatisfiableSchemaError
from tests.oracles import (
    FULL,
    Walker,
    accepts,
    allowed,
    attempt,
    byte_tokens,
    engine_agrees,
    has_narrowable_number,
    validators,
)

NAMES = ["a", "b", "ab", "abc", "", "é", 'q"', "c\\d"]
STRINGS = ["", "a", "b", "ab", "aab", "ba", "é", "😀", "a\n", '"', "\\", "abab", "zzzzz", "0", "12"]
PATTERNS = [
    "^a",
    "b$",
    "^a*b?$",
    "^(ab)*$",
    "a",
    "^.{2}$",
    "^[^a]+$",
    "^(a|é|😀)+$",
    "\\d",
    "^$",
    "",
    "^\\S*$",
    "^a{2,3}b*$",
]

SETTINGS = settings(
    max_examples=3000 if FULL else 120, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)

numbers = st.one_of(st.integers(-12, 12), st.sampled_from([0.5, -0.5, 1.5, 2.25, 100, -100, 0.1, 12.75, 1000]))
scalars = st.one_of(st.none(), st.booleans(), numbers, st.sampled_from(STRINGS))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)),
    max_leaves=8,
)
types = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])


def _some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Dictionaries with a random part of the fields."""
    return st.fixed_dictionaries({}, optional=fields)


numeric = _some(
    minimum=numbers, maximum=numbers, exclusiveMinimum=numbers, exclusiveMaximum=numbers,
    multipleOf=st.sampled_from([1, 2, 3, 5, 7, 0.5, 0.25, 10]),
)  # fmt: skip
textual = _some(minLength=st.integers(0, 4), maxLength=st.integers(0, 5), pattern=st.sampled_from(PATTERNS))


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return _some(
        properties=st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
        required=st.lists(st.sampled_from(NAMES), max_size=3, unique=True),
        additionalProperties=inner | st.booleans(),
        minProperties=st.integers(0, 3),
        maxProperties=st.integers(0, 5),
    )


def _arrays(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return _some(
        items=inner,
        prefixItems=st.lists(inner, min_size=1, max_size=3),
        minItems=st.integers(0, 3),
        maxItems=st.integers(0, 4),
    )


def _with_type(
    keywords: st.SearchStrategy[dict[str, Any]], type_: st.SearchStrategy[Any]
) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda k, t: {"type": t} | k, keywords, type_)


def _merged(parts: list[dict[str, Any]]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for part in parts:
        merged |= part
    return merged


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    objects, arrays = _objects(inner), _arrays(inner)
    branches = st.lists(inner, min_size=1, max_size=3).map(lambda b: {"anyOf": b})
    return st.one_of(
        _with_type(objects, st.just("object")),
        _with_type(arrays, st.just("array")),
        objects,
        arrays,
        branches,
        st.tuples(objects, branches).map(lambda p: p[0] | p[1]),
        st.tuples(_with_type(objects, st.just("object")), st.lists(objects, min_size=1, max_size=3)).map(
            lambda p: p[0] | {"anyOf": p[1]}
        ),
        st.lists(st.one_of(numeric, textual, objects, arrays, branches), min_size=2, max_size=3).map(_merged),
    )


leaves = st.one_of(
    st.booleans(),
    st.just({}),
    _with_type(numeric, st.sampled_from(["integer", "number", ["integer", "null"]])),
    _with_type(textual, st.sampled_from(["string", ["string", "null"], ["string", "integer"]])),
    textual,
    numeric,
    st.lists(types, min_size=1, max_size=3, unique=True).map(lambda t: {"type": t}),
    types.map(lambda t: {"type": t}),
    st.lists(values, min_size=1, max_size=4).map(lambda v: {"enum": v}),
    values.map(lambda v: {"const": v}),
    st.sampled_from([{"$ref": "#/$defs/list"}, {"$ref": "#/$defs/text"}, {"$ref": "#/$defs/tree"}]),
)
DEFINITIONS = {
    "list": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/list"}, {"type": "boolean"}]}, "maxItems": 3},
    "text": {"type": "string", "pattern": "^a", "maxLength": 3},
    "tree": {"type": "object", "properties": {"a": {"$ref": "#/$defs/tree"}}, "required": ["b"], "maxProperties": 2},
}
schemas = st.recursive(leaves, _schemas, max_leaves=6)


def matching(schema: Any, rng: random.Random, depth: int = 0) -> Any:
    """A value that tries to be valid under the schema (and often is)."""
    if not isinstance(schema, dict) or depth > 5:
        return rng.choice([None, 0, "a", [], {}])
    if "$ref" in schema:
        return matching(DEFINITIONS[schema["$ref"].split("/")[-1]], rng, depth + 1)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    if "anyOf" in schema:
        branch = rng.choice(schema["anyOf"])
        if isinstance(branch, dict):
            merged = {k: v for k, v in schema.items() if k != "anyOf"} | branch
            if "properties" in schema and "properties" in branch:
                merged["properties"] = schema["properties"] | branch["properties"]
            if "required" in schema and "required" in branch:
                merged["required"] = schema["required"] + branch["required"]
            return matching(merged, rng, depth + 1)
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = rng.choice(kind)
    if kind is None:
        hints: dict[str, tuple[str, ...]] = {
            "object": ("properties", "required", "additionalProperties", "minProperties", "maxProperties")
        }
        hints |= {
            "array": ("items", "prefixItems", "minItems", "maxItems"),
            "string": ("pattern", "minLength", "maxLength"),
        }
        hints |= {"number": ("minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum")}
        kind = rng.choice([k for k, words in hints.items() if any(w in schema for w in words)] or ["null", "string"])
    if kind == "object":
        named = schema.get("properties", {})
        names = list(dict.fromkeys([*schema.get("required", []), *(n for n in named if rng.random() < 0.6)]))
        while len(names) < schema.get("minProperties", 0) or rng.random() < 0.2:
            names.append(rng.choice([*NAMES, "x", "y"]))
        rng.shuffle(names)
        rest = schema.get("additionalProperties", True)
        return {n: matching(named.get(n, rest), rng, depth + 1) for n in names}
    if kind == "array":
        low = schema.get("minItems", 0)
        count = rng.randint(low, max(low, min(schema.get("maxItems", low + 2), low + 2)))
        prefix = schema.get("prefixItems", [])
        return [
            matching(prefix[i] if i < len(prefix) else schema.get("items", True), rng, depth + 1) for i in range(count)
        ]
    if kind in ("integer", "number"):
        base = schema.get(
            "minimum", schema.get("exclusiveMinimum", schema.get("maximum", schema.get("exclusiveMaximum", 0)))
        )
        step = schema.get("multipleOf", 1 if kind == "integer" else rng.choice([1, 0.5]))
        return (base // step + rng.randint(-1, 2)) * step if rng.random() < 0.8 else base
    return (
        {"null": None, "boolean": rng.random() < 0.5}.get(kind, rng.choice(STRINGS))
        if kind != "string"
        else rng.choice(STRINGS)
    )


def near_misses(value: Any, rng: random.Random) -> list[Any]:
    """The value with one small change."""
    changed: list[Any]
    if isinstance(value, dict) and value:
        key = rng.choice(list(value))
        less = {k: v for k, v in value.items() if k != key}
        changed = [value | {key: v} for v in near_misses(value[key], rng)[:2]]
        backwards = dict(reversed(value.items()))
        return [less, value | {rng.choice([*NAMES, "x"]): 1}, backwards, *changed]
    if isinstance(value, list) and value:
        at = rng.randrange(len(value))
        changed = [[*value[:at], v, *value[at + 1 :]] for v in near_misses(value[at], rng)[:2]]
        return [value[:at] + value[at + 1 :], [*value, value[at]], *changed]
    if isinstance(value, str):
        return [value + "a", value[:-1], value + "é", None]
    if isinstance(value, bool) or value is None:
        return [0, "", not value]
    if isinstance(value, int | float):
        return [value + 1, value - 0.5, -value, str(value)]
    return [None, [None], {"a": None}]


@SETTINGS
@given(schema=schemas, free=st.lists(values, max_size=3), seed=st.integers(0, 2**20))
def test_verdicts_agree_with_both_validators(schema: Any, free: list[Any], seed: int) -> None:
    if isinstance(schema, dict):
        schema = schema | {"$defs": DEFINITIONS}
    rng = random.Random(seed)
    instances = list(free)
    for _ in range(4):
        value = matching(schema, rng)
        instances += [value, *near_misses(value, rng)]
    pure, rust = validators(schema)
    judged = [(v, rust(v)) for v in instances if pure(v) == rust(v)]
    made = attempt(schema)
    if made.error is not None:
        assert isinstance(made.error, UnsatisfiableSchemaError), f"{made.error!r} for {json.dumps(schema)}"
        for value, valid in judged:
            assert not valid, f"refused ({made.error}), but {value!r} is valid under {json.dumps(schema)}"
        return
    for value, valid in judged:
        note(json.dumps(value, ensure_ascii=False))
        for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, separators=(",", ":"))):
            assert engine_agrees(made.grammar, made.compiled, value, valid, text), (
                f"{text}: expected {valid} under {json.dumps(schema)}"
            )


@SETTINGS
@given(schema=schemas, seed=st.integers(0, 2**20))
def test_generated_texts_are_valid(schema: Any, seed: int) -> None:
    """Walks through the masks of random schemas end, and both validators agree with what they wrote."""
    if isinstance(schema, dict):
        schema = schema | {"$defs": DEFINITIONS}
    made = attempt(schema)
    if made.error is not None:
        return
    engine = made.compiled
    pure, rust = validators(schema)
    walker = Walker(byte_tokens(), random.Random(seed))
    for matcher in walker.positions(engine, 3):
        probe = matcher.fork()
        rest = walker.finish(probe)
        assert len(rest) <= matcher.min_tokens_to_end
    for _ in range(3):
        matcher, text = engine.matcher(), bytearray()
        for _ in range(walker.rng.randint(0, 25)):
            chosen = walker.choose(allowed(matcher, walker.size))
            if chosen is None:
                break
            assert matcher.accept_token(chosen)
            text.append(chosen)
        text += walker.finish(matcher)
        value = json.loads(text.decode())
        assert accepts(engine, bytes(text))
        if not has_narrowable_number(text.decode()):
            assert rust(value), (bytes(text), json.dumps(schema))
            assert pure(value), (bytes(text), json.dumps(schema))
