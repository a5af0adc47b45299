"""Laws 8 and 9: bad input gives a named error that says where, large input gives a result, and nothing hangs."""

from __future__ import annotations

import contextlib
import pickle
import time
from typing import Any

import pytest

import constrain
from constrain.grammars.errors import (
    ConstrainError,
    InvalidSchemaError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
    VocabularyError,
)
from tests.oracles import accepts, attempt, compiled, vocabulary


def build(schema: Any) -> Any:
    return constrain.json_schema(schema).compile(vocabulary("bytes"))


INVALID: dict[str, tuple[Any, str]] = {
    "a list": ([], ""),
    "a number": (5, ""),
    "None": (None, ""),
    "type that does not exist": ({"type": "strnig"}, "type"),
    "type of the wrong type": ({"type": 3}, "type"),
    "properties is a list": ({"properties": []}, "properties"),
    "property is a number": ({"properties": {"a": 3}}, ""),
    "required is a string": ({"required": "a"}, "required"),
    "required holds a number": ({"required": [1]}, "required"),
    "minLength negative": ({"minLength": -1}, "minLength"),
    "maxLength fractional": ({"maxLength": 1.5}, "maxLength"),
    "maxItems a string": ({"maxItems": "3"}, "maxItems"),
    "minimum a string": ({"minimum": "0"}, "minimum"),
    "multipleOf zero": ({"multipleOf": 0}, "multipleOf"),
    "enum is no list": ({"enum": "abc"}, "enum"),
    "anyOf empty": ({"anyOf": []}, "anyOf"),
    "anyOf is an object": ({"anyOf": {}}, "anyOf"),
    "pattern is a number": ({"pattern": 1}, "pattern"),
    "pattern unbalanced": ({"pattern": "^a(b$"}, "pattern"),
    "pattern with nothing to repeat": ({"pattern": "*a"}, "pattern"),
    "pattern with a class reversed": ({"pattern": "[z-a]"}, "pattern"),
    "ref is a number": ({"$ref": 5}, "$ref"),
    "ref to nowhere": ({"$ref": "#/$defs/missing"}, "$ref"),
    "ref cycle without content": (
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        "$ref",
    ),
    "ref to itself": ({"$ref": "#"}, "$ref"),
    "cycle through anyOf": ({"anyOf": [{"$ref": "#"}, {"type": "null"}]}, ""),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_schemas(name: str) -> None:
    schema, keyword = INVALID[name]
    with pytest.raises(ConstrainError) as caught:
        build(schema)
    error = caught.value
    assert isinstance(error, InvalidSchemaError | UnsupportedSchemaError), repr(error)
    if keyword:
        assert error.keyword == keyword or error.pointer.endswith("/" + keyword), (error.pointer, error.keyword)
    assert error.reason
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_errors_name_the_place() -> None:
    schema = {"properties": {"a/b": {"items": {"anyOf": [{"type": "null"}, {"minLength": "x"}]}}}}
    with pytest.raises(InvalidSchemaError) as caught:
        build(schema)
    assert caught.value.pointer.startswith("/properties/a~1b/items/anyOf/1")


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "",
        "{'type': 'null'}",
        '{"type": "null",}',
        '{"type": "null"} x',
        "\x00",
        b"\xff\xfe\x00",
        b'{"type": "\xc3"}',
        "nul",
    ],
)
def test_malformed_json_text(text: str | bytes) -> None:
    with pytest.raises(InvalidSchemaError):
        build(text)


@pytest.mark.parametrize(
    "schema", [{"minimum": float("nan")}, {"maximum": float("inf")}, {"enum": [float("nan")]}, {"const": {1, 2}}]
)
def test_values_that_are_not_json(schema: Any) -> None:
    with pytest.raises(InvalidSchemaError):
        build(schema)


def test_json_text_is_a_schema_too() -> None:
    text = '{"type": "integer", "minimum": 9007199254740993, "maximum": 9007199254740993}'
    for form in (text, text.encode()):
        assert accepts(build(form), "9007199254740993")
        assert not accepts(build(form), "9007199254740992")


def test_deeply_nested_json_text() -> None:
    text = '{"items":' * 50_000 + "true" + "}" * 50_000
    with pytest.raises(ConstrainError):
        build(text)


UNSUPPORTED: dict[str, tuple[Any, str, str]] = {
    "not": ({"properties": {"a": {"not": {"type": "null"}}}}, "/properties/a", "not"),
    "uniqueItems": ({"type": "array", "uniqueItems": True}, "", "uniqueItems"),
    "patternProperties": ({"patternProperties": {"^x": {"type": "null"}}}, "", "patternProperties"),
    "oneOf": ({"oneOf": [{"minimum": 1}, {"maximum": 5}]}, "", "oneOf"),
    "if": ({"if": {"minimum": 3}, "then": {"maximum": 5}}, "", "if"),
    "contains": ({"items": {"contains": {"type": "null"}}}, "/items", "contains"),
    "propertyNames": ({"propertyNames": {"maxLength": 3}}, "", "propertyNames"),
    "dependentRequired": ({"dependentRequired": {"a": ["b"]}}, "", "dependentRequired"),
    "unevaluatedProperties": ({"unevaluatedProperties": False}, "", "unevaluatedProperties"),
    "format": ({"type": "string", "format": "date-time"}, "", "format"),
    "pattern": ({"items": {"pattern": r"^(a|b)\1$"}}, "/items", "pattern"),
    "a pattern of names": (
        {"patternProperties": {r"^(a|b)\1$": {"type": "null"}}, "additionalProperties": False},
        "",
        "patternProperties",
    ),
    "pattern under a negation": ({"not": {"type": "string", "pattern": r"^(a|b)\1$"}}, "/not", "pattern"),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_a_keyword_is_enforced_or_refused_by_name(name: str) -> None:
    """Never silently ignored: where it compiles, the witness that only this keyword excludes must be refused."""
    schema, pointer, keyword = UNSUPPORTED[name]
    witness = {
        "not": '{"a":null}',
        "uniqueItems": "[1,1]",
        "patternProperties": '{"xa":1}',
        "oneOf": "3",
        "if": "7",
        "contains": "[[]]",
        "propertyNames": '{"long":1}',
        "dependentRequired": '{"a":1}',
        "unevaluatedProperties": '{"a":1}',
        "format": '"yesterday"',
        "pattern": '["ab"]',
        "a pattern of names": '{"aa":1}',
        "pattern under a negation": '"aa"',
    }[name]
    made = attempt(schema)
    if made.error is None:
        assert not accepts(made.compiled, witness)
        return
    assert isinstance(made.error, UnsupportedSchemaError)
    assert made.error.pointer == pointer
    assert made.error.keyword == keyword
    relaxed = constrain.json_schema(schema, on_unsupported="warn")
    assert relaxed.unenforced, "left out, so it must be listed"
    assert keyword in str(relaxed.unenforced)
    assert accepts(relaxed.compile(vocabulary("bytes")), witness)


def test_unknown_policies_are_refused() -> None:
    options: Any
    for options in ({"on_unsupported": "whatever"}, {"whitespace": "some"}):
        with pytest.raises(ValueError, match=r"whatever|some"):
            constrain.json_schema(True, **options)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "minItems": 3, "maxItems": 2},
        {"type": "object", "minProperties": 3, "maxProperties": 2},
        {"type": "string", "minLength": 3, "maxLength": 2},
        {"type": "number", "minimum": 3, "maximum": 2},
    ],
)
def test_bounds_the_wrong_way_round_are_unsatisfiable(schema: Any) -> None:
    with pytest.raises(UnsatisfiableSchemaError):
        build(schema)


def test_wrong_bounds_of_another_type_do_not_matter() -> None:
    grammar = build({"minItems": 3, "maxItems": 2})
    assert accepts(grammar, "5")
    assert not accepts(grammar, "[]")
    assert not accepts(grammar, "[1,2,3]")
    assert not grammar.matcher().accept_bytes(b"[")


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string", "maxLength": 10**12}, '"x"'),
        ({"type": "array", "maxItems": 10**12}, "[1]"),
        ({"type": "object", "maxProperties": 10**12}, '{"a":1}'),
        ({"type": "integer", "maximum": 10**400}, "12"),
        ({"type": "integer", "minimum": -(10**400)}, "-12"),
        ({"type": "string", "pattern": "^[a-z]{1,5000}$"}, '"abc"'),
        ({"enum": [f"value {i}" for i in range(5000)]}, '"value 4999"'),
        ({"type": "object", "properties": {f"p{i}": {"type": "integer"} for i in range(2000)}}, '{"p7":1,"p1999":2}'),
        (
            {"type": "object", "required": [f"p{i}" for i in range(300)]},
            "{" + ",".join(f'"p{i}":0' for i in range(300)) + "}",
        ),
        ({"const": "x" * 100_000}, '"' + "x" * 100_000 + '"'),
    ],
    ids=[
        "maxLength",
        "maxItems",
        "maxProperties",
        "maximum",
        "minimum",
        "pattern",
        "enum",
        "properties",
        "required",
        "const",
    ],
)
def test_large_numbers_and_lists(schema: Any, text: str) -> None:
    """A named error or a working grammar, in seconds."""
    started = time.monotonic()
    made = attempt(schema)
    if made.error is not None:
        assert isinstance(made.error, constrain.ResourceLimitError | UnsupportedSchemaError), repr(made.error)
    else:
        assert accepts(made.compiled, text)
        assert not accepts(made.compiled, text[:-1] + "x")
    assert time.monotonic() - started < 20


def test_a_large_minimum_length_is_not_unrolled() -> None:
    started = time.monotonic()
    made = attempt({"type": "string", "minLength": 10**9})
    if made.error is not None:
        assert isinstance(made.error, constrain.ResourceLimitError), repr(made.error)
    else:
        matcher = made.compiled.matcher()
        assert matcher.accept_bytes(b'"' + b"x" * 1000)
        assert not matcher.accept_bytes(b'"')
        assert matcher.min_tokens_to_end >= 10**9 - 1000
    assert time.monotonic() - started < 20


def test_deep_schema() -> None:
    """2,000 levels of nesting: a named error or a working grammar, never a RecursionError or a crash."""
    schema: Any = {"type": "null"}
    for _ in range(2000):
        schema = {"type": "array", "items": schema, "minItems": 1}
    made = attempt(schema)
    if made.error is not None:
        assert isinstance(made.error, constrain.ResourceLimitError | UnsupportedSchemaError), repr(made.error)
    else:
        assert accepts(made.compiled, "[" * 2000 + "null" + "]" * 2000)
        assert not accepts(made.compiled, "[" * 1999 + "null" + "]" * 1999)


def test_deep_text() -> None:
    """Free JSON nested deeply: accepted whole, or refused at a documented depth before which all is well."""
    matcher = compiled(True).matcher()
    depth = 0
    while depth < 3000 and matcher.accept_bytes(b"["):
        depth += 1
    assert depth >= 64
    assert matcher.accept_bytes(b"]" * depth)
    assert matcher.is_accepting


def test_deep_recursion_of_a_schema() -> None:
    schema = {"type": "object", "properties": {"n": {"$ref": "#"}}, "additionalProperties": False}
    matcher = compiled(schema).matcher()
    depth = 0
    while depth < 1000 and matcher.accept_bytes(b'{"n":'):
        depth += 1
    assert depth >= 64
    assert matcher.accept_bytes(b"{}" + b"}" * depth)
    assert matcher.is_accepting


def test_the_schema_is_copied() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    grammar = constrain.json_schema(schema)
    schema["properties"]["a"]["type"] = "string"
    schema["required"].append("b")
    assert accepts(grammar.compile(vocabulary("bytes")), '{"a":1}')


def test_grammars_are_values() -> None:
    one = constrain.json_schema({"type": "object", "properties": {"a": {"pattern": "^x+$"}}})
    two = pickle.loads(pickle.dumps(one))
    assert one == two
    assert hash(one) == hash(two)
    assert one != constrain.json_schema({"type": "object"})
    grammar = two.compile(vocabulary("bytes"))
    assert accepts(grammar, '{"a":"xx"}')
    assert not accepts(grammar, '{"a":"y"}')


def test_tokens_out_of_range_are_refused_or_an_error() -> None:
    matcher = compiled(True).matcher()
    for token in (-1, 257, 10**9, 2**40):
        with contextlib.suppress(ConstrainError, IndexError, ValueError, OverflowError):
            assert matcher.accept_token(token) is False
    assert matcher.accept_bytes(b"1")


def test_rollback_further_than_the_start_is_an_error() -> None:
    matcher = compiled(True).matcher()
    assert matcher.accept_token(ord("["))
    with pytest.raises((ConstrainError, ValueError)):
        matcher.rollback(2)
    with pytest.raises((ConstrainError, ValueError)):
        matcher.rollback(-1)
    assert matcher.accept_bytes(b"]")


def test_bitmasks_of_the_wrong_shape_or_type_are_errors() -> None:
    import numpy as np

    matcher = compiled(True).matcher()
    for bad in (
        np.zeros((1, 3), dtype=np.int32),
        np.zeros((1, 9), dtype=np.float32),
        np.zeros((1, 9), dtype=np.int64),
    ):
        with pytest.raises((ConstrainError, ValueError, TypeError)):
            matcher.fill_next_token_bitmask(bad, 0)
    strided = np.zeros((2, 18), dtype=np.int32)[:, ::2]
    matcher.fill_next_token_bitmask(strided, 1)
    assert strided[1, ord("{") >> 5] >> (ord("{") & 31) & 1, "rows with gaps work or are refused"
    assert not strided[0].any()
    for index in (1, 5, -2):
        with pytest.raises((ConstrainError, ValueError, IndexError)):
            matcher.fill_next_token_bitmask(np.zeros((1, 9), dtype=np.int32), index)


def test_vocabularies_that_cannot_be_trusted() -> None:
    with pytest.raises((VocabularyError, ValueError)):
        constrain.Vocabulary.from_tokens([b"a", b"b"], eos_token_ids=[7])
    rows: Any = ["text", b"b"]
    with pytest.raises((VocabularyError, ValueError)):
        constrain.Vocabulary.from_tokens(rows, eos_token_ids=[1])
    with pytest.raises(ConstrainError):
        constrain.json_schema(True).compile(constrain.Vocabulary.from_tokens([], eos_token_ids=[]))


def test_a_tokenizer_that_fails_its_own_check() -> None:
    """Its tokens decode to something else than their pieces say; using it would mask nonsense."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    words = {"<unk>": 0, "</s>": 1} | {chr(c): c for c in range(33, 127)}
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    model.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    broken = transformers.PreTrainedTokenizerFast(tokenizer_object=model, unk_token="<unk>", eos_token="</s>")
    with pytest.raises(VocabularyError) as caught:
        constrain.Vocabulary.from_tokenizer(broken)
    assert caught.value.check


def test_whitespace_none_writes_none() -> None:
    grammar = constrain.json_schema(True, whitespace="none").compile(vocabulary("bytes"))
    assert accepts(grammar, '{"a":[1,{"b c":null}]}')
    for text in ('{"a": 1}', "[1, 2]", " 1", "1 ", '{ "a":1}', "[\n]", '{"a":1\n}'):
        assert not accepts(grammar, text), text


def test_bounded_whitespace_covers_the_usual_styles_and_is_bounded() -> None:
    import json

    grammar = compiled(True)
    value = {"a": [1, {"b": [[], {}]}], "c": "d"}
    for style in ({}, {"indent": 1}, {"indent": 2}, {"indent": 4}, {"indent": "\t"}, {"separators": (",", ":")}):
        assert accepts(grammar, json.dumps(value, **style)), style
    assert not grammar.matcher().accept_bytes(b" " * 10_000)
    matcher = grammar.matcher()
    assert matcher.accept_bytes(b'{"a":')
    assert not matcher.accept_bytes(b"\n" * 10_000)
    assert any(
        "whitespace" in n.reason.lower() or "white" in n.reason.lower() for n in constrain.json_schema(True).narrowings
    )
