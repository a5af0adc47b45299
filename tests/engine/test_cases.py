"""Verdicts on schemas with known answers: this folder's own cases and the shared list of other engines' faults."""

from __future__ import annotations

import json
from typing import Any

import pytest
from constrain.grammars.errors import InvalidSchemaError, UnsatisfiableSchemaError, UnsupportedSchemaError

import constrain
from tests.engine.schemas import CASES
from tests.oracles import (
    ANNOTATIONS,
    SHARED,
    SUPPORTED_KEYWORDS,
    accepts,
    attempt,
    compiled,
    engine_agrees,
    plain_numbers,
    resolve_pointer,
    validators,
)

FAULTS: list[dict[str, Any]] = []
if (SHARED / "cases" / "schema-cases.json").exists():
    FAULTS = json.loads((SHARED / "cases" / "schema-cases.json").read_text())


def used_keywords(schema: Any) -> set[str]:
    """The keywords at all subschema positions, followed through keywords that hold subschemas."""
    if not isinstance(schema, dict):
        return set()
    found = set(schema)
    for key, value in schema.items():
        if key in ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"):
            found |= set().union(*map(used_keywords, value.values()))
        elif key in ("anyOf", "allOf", "oneOf", "prefixItems") or (key == "items" and isinstance(value, list)):
            found |= set().union(*map(used_keywords, value))
        elif key in ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"):
            found |= used_keywords(value)
    return found


@pytest.mark.parametrize("name", CASES)
def test_own_cases(name: str) -> None:
    """Valid values in three styles, invalid ones refused; the stated verdicts are those of jsonschema-rs."""
    case = CASES[name]
    grammar = constrain.json_schema(case.schema)
    engine = compiled(case.schema)
    _, rust = validators(case.schema)
    for value, valid in [(v, True) for v in case.valid] + [(v, False) for v in case.invalid]:
        assert rust(value) == valid, f"the case itself is wrong: {value!r}"
        texts = [
            json.dumps(value),
            json.dumps(value, ensure_ascii=False, separators=(",", ":")),
            json.dumps(value, indent=2),
        ]
        for text in [*texts, json.dumps(value, ensure_ascii=False, indent=4)]:
            assert engine_agrees(grammar, engine, value, valid, text), f"{text}: expected {valid}"
        assert accepts(engine, plain_numbers(value)) == valid


@pytest.mark.skipif(not FAULTS, reason="needs ../shared/cases beside the checkout")
@pytest.mark.parametrize("case", FAULTS, ids=[c["id"] for c in FAULTS])
def test_faults_of_other_engines(case: dict[str, Any]) -> None:
    schema, expectation = case["schema"], case.get("compile", "")
    made = attempt(schema)
    error = made.error
    if isinstance(error, UnsupportedSchemaError):
        beyond = used_keywords(schema) - SUPPORTED_KEYWORDS - ANNOTATIONS
        assert beyond, f"uses only supported keywords, but is refused: {error}"
        assert error.keyword in beyond
        assert error.keyword in resolve_pointer(schema, error.pointer)
        return
    if isinstance(error, UnsatisfiableSchemaError):
        assert "unsatisfiable" in expectation
        return
    if isinstance(error, InvalidSchemaError):
        assert "bad regex" in expectation, error
        assert error.keyword == "pattern"
        assert error.pointer in ("", "/pattern")
        return
    assert error is None, repr(error)
    engine = made.compiled
    assert not expectation.startswith("error"), f"should be refused: {expectation}"
    for text in case["accept"]:
        assert accepts(engine, text), f"refused: {text}"
    for text in case["reject"]:
        assert not accepts(engine, text), f"accepted: {text}"


def test_number_spellings_under_a_bound() -> None:
    """Leading zeros, plus signs and values in another spelling."""
    engine = compiled({"type": "integer", "minimum": -12, "maximum": 105})
    for text in (
        "01",
        "-0012",
        "+5",
        "1000",
        "106",
        "-13",
        "1e3",
        "0x10",
        "1.5",
        "-",
        "",
        "1.",
        ".5",
        "1e",
        "--1",
        "1 2",
    ):
        assert not accepts(engine, text), text
    exact = compiled({"type": "integer", "minimum": 9007199254740993})
    assert accepts(exact, "9007199254740993")
    assert not accepts(exact, "9007199254740992")


def test_escapes_and_control_characters() -> None:
    engine = compiled({"type": "string"})
    assert accepts(engine, r'"\" \\ \/ \b \f \n \r \t \u00e9 \uD83D\uDE00 \ud83d\ude00"')
    for text in (
        r'"\q"',
        r'"\x41"',
        r'"\u12"',
        r'"\'"',
        '"a\nb"',
        '"\t"',
        '"\x00"',
        '"',
        "''",
        '"a""b"',
        r'"\ud800"',
        r'"\ude00"',
        r'"\ud83dx"',
        r'"\ud83d\u0041"',
        r'"\ud83d\ud83d"',
    ):
        assert not accepts(engine, text), text


def test_json_syntax() -> None:
    engine = compiled(True)
    for text in (
        "[1,]",
        "[,1]",
        "{,}",
        '{"a"}',
        '{"a":}',
        '{"a":1,}',
        "{a:1}",
        "[1 2]",
        "nul",
        "Null",
        "NaN",
        "Infinity",
        "-",
        "[",
        "]",
        "01",
        "1.",
        "-01",
        "1e+",
        "tru",
        '{"a":1]',
        "[1}",
        "",
        "/**/1",
    ):
        assert not accepts(engine, text), text
    for text in (
        "0",
        "-0",
        "1e5",
        "1E+5",
        "1.0e-5",
        "[]",
        "{}",
        "[[[]]]",
        '{"a":{"b":[{}]}}',
        '""',
        "true",
        "false",
        "null",
    ):
        assert accepts(engine, text), text


def test_no_key_twice_whatever_its_spelling() -> None:
    engine = compiled({"type": "object", "properties": {"a": {"type": "integer"}}})
    assert accepts(engine, '{"a":1,"b":2}')
    for text in (
        '{"a":1,"a":1}',
        '{"a":1,"\\u0061":2}',
        '{"x":1,"x":2}',
        '{"x":1,"y":2,"\\u0078":3}',
        '{"é":1,"\\u00e9":1}',
    ):
        assert not accepts(engine, text), text
    assert accepts(engine, '{"a":1,"\\u0062":2}')
    assert not accepts(engine, '{"\\u0061":"x"}')
    closed = compiled({"type": "object", "properties": {"a": {}, "ab": {}}, "additionalProperties": False})
    assert accepts(closed, '{"\\u0061":1,"a\\u0062":2}')
    assert not accepts(closed, '{"a":1,"\\u0061":2}')
