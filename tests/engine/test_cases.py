"""Verdicts on schemas with known answers: this folder's own cases and the shared list of other engines' faults."""

from __future__ import annotations

import json
from typing import Any

import pytest

import constrain
from constrain.grammars.errors import InvalidSchemaError, UnsatisfiableSchemaError
from tests.engine.schemas import CASES
from tests.oracles import (
    SHARED,
    SUPPORTED_KEYWORDS,
    accepts,
    attempt,
    compiled,
    engine_agrees,
    judged_by_both,
    plain_numbers,
    used_keywords,
    validators,
)

FAULTS: list[dict[str, Any]] = []
if (SHARED / "cases" / "schema-cases.json").exists():
    FAULTS = json.loads((SHARED / "cases" / "schema-cases.json").read_text())


def test_the_cases_use_every_keyword() -> None:
    assert set().union(*(used_keywords(case.schema) for case in CASES.values())) >= SUPPORTED_KEYWORDS


@pytest.mark.parametrize("name", CASES)
def test_own_cases(name: str) -> None:
    """Valid values in several styles, invalid ones refused; the stated verdicts are those of both validators."""
    case = CASES[name]
    grammar = constrain.json_schema(case.schema)
    engine = compiled(case.schema)
    pure, rust = validators(case.schema)
    judges = [rust, pure] if judged_by_both(case.schema) else [rust]
    for value, valid in [(v, True) for v in case.valid] + [(v, False) for v in case.invalid]:
        assert [judge(value) for judge in judges] == [valid] * len(judges), f"the case itself is wrong: {value!r}"
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
    expectation = case.get("compile", "")
    made = attempt(case["schema"])
    error = made.error
    if expectation.startswith("error"):
        if "bad regex" in expectation:
            assert isinstance(error, InvalidSchemaError), repr(error)
            assert (error.pointer, error.keyword) == ("", "pattern")
        else:
            assert isinstance(error, UnsatisfiableSchemaError), repr(error)
            assert "unsatisfiable" in expectation
        return
    assert error is None, repr(error)
    engine = made.compiled
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
