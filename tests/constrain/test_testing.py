"""`constrain.testing`: its generators against independent validators, and its checks against engines that are wrong."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import constrain
from constrain.bench.agreement import Sweep
from constrain.bench.maskbench import TimeLimit, time_limit
from constrain.testing import (
    DRAFTS,
    KEYWORDS,
    CannotJudge,
    Validator,
    check_matcher_laws,
    check_schema,
    default_vocabulary,
    instances,
    is_valid,
    json_schemas,
    keywords_of,
    near_misses,
    schemas_with_instances,
    spellings,
)
from constrain.testing.choices import SeededChoices
from constrain.testing.disagreement import accepts, find, reduce
from constrain.testing.ecma_regex import Untranslatable, compile_ecma
from constrain.testing.edits import broken_text, edited
from constrain.testing.format_samples import NEAR_MISSES, SAMPLES
from constrain.testing.instance_generator import DeadEnd, InstanceGenerator
from constrain.testing.json_values import NotJson, identity, plain_text, read_exactly, spellable
from constrain.testing.random_values import random_value
from constrain.testing.schema_generator import SchemaGenerator
from constrain.testing.spelling import random_style, spell
from constrain.testing.validator import BACKENDS

ROOT = Path(__file__).resolve().parents[2]
FULL = os.environ.get("CONSTRAIN_FULL", "") not in ("", "0")
QUICK = settings(max_examples=400 if FULL else 40, deadline=None, suppress_health_check=list(HealthCheck))

META = {
    "04": jsonschema.Draft4Validator,
    "06": jsonschema.Draft6Validator,
    "07": jsonschema.Draft7Validator,
    "2019-09": jsonschema.Draft201909Validator,
    "2020-12": jsonschema.Draft202012Validator,
}

EXAMPLES = [
    True,
    {"type": "integer", "minimum": 3, "multipleOf": 2},
    {"type": "string", "minLength": 2, "maxLength": 3},
    {"pattern": "^a+b?$"},
    {"type": "string", "format": "date"},
    {"enum": [1, "a", None, [1.5], {"a": 1}]},
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "null"}}, "required": ["a"]},
    {"type": "object", "properties": {"a": True}, "additionalProperties": False, "maxProperties": 1},
    {"type": "object", "patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": {"type": "null"}},
    {"type": "object", "propertyNames": {"maxLength": 1}, "minProperties": 1},
    {"type": "object", "dependentRequired": {"a": ["b"]}},
    {"type": "object", "dependentSchemas": {"a": {"properties": {"b": {"type": "integer"}}}}},
    {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"}, "maxItems": 3},
    {"type": "array", "contains": {"type": "string"}, "maxContains": 2},
    {"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "minItems": 2},
    {"anyOf": [{"type": "object", "required": ["a"]}, {"type": "integer"}]},
    {"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object"},
    {"allOf": [{"minimum": 3}, {"maximum": 9}], "type": "number"},
    {"not": {"type": "string"}},
    {"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}, "type": "object"},
    {"type": "object", "allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False},
    {"type": "array", "prefixItems": [True], "unevaluatedItems": {"type": "integer"}},
    {"$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}, "maxItems": 2}}, "$ref": "#/$defs/t"},
    {"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"},
    {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "null"}], "additionalItems": False},
]
"""One small schema for each keyword."""


def supported(schema: Any) -> bool:
    """Whether the engine enforces a schema; what it refuses by name is another test's business."""
    try:
        constrain.json_schema(schema).compile(default_vocabulary())
    except constrain.UnsupportedSchemaError:
        return False
    return True


# --- the validator

LEFT_OUT = ("refRemote", "vocabulary", "cross-draft", "dependencies-compatibility", "content", "format-assertion")


def official_suite() -> Iterator[tuple[str, Any, list[dict[str, Any]]]]:
    """Name, schema and tests of every group of the official suite, its optional parts included."""
    folder = ROOT / ".." / "shared" / "data" / "json-schema-test-suite"
    if not folder.exists():
        pytest.skip("needs ../shared/data/json-schema-test-suite beside the checkout")
    uris = {f"draft{n}": f"http://json-schema.org/draft-0{n}/schema#" for n in (4, 6, 7)}
    uris |= {f"draft{n}": f"https://json-schema.org/draft/{n}/schema" for n in ("2019-09", "2020-12")}
    for draft, uri in uris.items():
        for path in sorted((folder / draft).rglob("*.json")):
            # what depends on options, reads other files, or has `format` and `content` mean something else
            if path.stem in LEFT_OUT or (path.parent.name == draft and path.stem == "format"):
                continue
            for group in json.loads(path.read_text(encoding="utf-8")):
                schema = group["schema"]
                if isinstance(schema, dict) and "$schema" not in schema:
                    schema = {"$schema": uri, **schema}
                elif not isinstance(schema, dict):
                    schema = {"$schema": uri, "allOf": [schema]} if draft != "draft4" else {}
                yield f"{draft}/{path.stem}: {group['description']}", schema, group["tests"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_validators_pass_the_official_suite(backend: Any) -> None:
    judged = refused = 0
    wrong = []
    for name, schema, tests in official_suite():
        try:
            validator = Validator(schema, backend=backend)
        except CannotJudge:
            refused += len(tests)
            continue
        for test in tests:
            try:
                got = validator.is_valid(test["data"])
            except CannotJudge:
                refused += 1
                continue
            judged += 1
            if got != test["valid"]:
                wrong.append((name, test["description"]))
    assert not wrong
    assert judged > 4000
    assert refused < judged / (50 if backend == "jsonschema-rs" else 2)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("schema", "instance", "valid"),
    [
        ({"multipleOf": 0.01}, 4.35, True),
        ({"multipleOf": 0.01}, 17.99, True),
        ({"multipleOf": 0.01}, 0.075, False),
        ({"pattern": "^a$"}, "a\n", False),
        ({"pattern": "^\\s$"}, "\ufeff", True),
        ({"pattern": "^\\s$"}, "\x85", False),
        ({"pattern": "\\d"}, "٥", False),
        ({"pattern": "^\\w"}, "é", False),
        ({"pattern": "^.$"}, "\u2028", False),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#", "pattern": "^\\S*$", "items": {"$ref": "#"}},
            ["\x1f"],
            True,
        ),
        ({"patternProperties": {"": {"type": "integer"}}, "additionalProperties": False}, {"a": 1}, True),
        ({"uniqueItems": True}, [1, True, 1], False),
        ({"uniqueItems": True}, [[1], [True]], True),
        ({"uniqueItems": True}, [{"a": 1, "b": 2}, {"b": 2.0, "a": 1}], False),
        ({"enum": [1]}, True, False),
        ({"const": {"a": [False]}}, {"a": [0]}, False),
        ({"minimum": 9007199254740993}, 9007199254740992, False),
        ({"minimum": 1e300}, 10**300, True),
        ({"exclusiveMinimum": 1e300}, 10**300, False),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True}, 1, False),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"}, 1.0, False),
        ({"type": "integer"}, 1.0, True),
        ({"format": "date-time"}, "1990-12-31T22:59:60Z", False),
        ({"format": "duration"}, "P1Y2D", False),
        ({"format": "ipv4"}, "01.2.3.4", False),
        ({"format": "date"}, "2023-02-29", False),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "format": "uuid"}, "x", False),
        ({"format": "no-such-format"}, "x", True),
    ],
)
def test_known_faults_of_validators_are_put_right(backend: Any, schema: Any, instance: Any, valid: bool) -> None:
    assert Validator(schema, backend=backend).is_valid(instance) is valid
    assert is_valid(schema, instance) is valid


def test_word_boundaries_are_ascii() -> None:
    for schema in ({"pattern": "\\bé"}, {"patternProperties": {"\\bé": False}}):
        assert is_valid(schema, {"é": 1} if "patternProperties" in schema else 1)
    assert not is_valid({"pattern": "\\bé"}, "é")
    assert is_valid({"pattern": "\\bé|\\Bé"}, "é")


def test_what_cannot_be_judged_is_said() -> None:
    with pytest.raises(CannotJudge, match="pattern"):
        Validator({"pattern": "\\p{L}"}, backend="jsonschema").is_valid("a")
    with pytest.raises(CannotJudge, match="uri"):
        Validator({"format": "uri"}, backend="jsonschema").is_valid("a")
    with pytest.raises(CannotJudge):
        Validator({"minLength": 1}).is_valid("\ud800")
    with pytest.raises(CannotJudge):
        Validator({"$ref": "#/nowhere"}).is_valid(1)


def test_faults_name_the_place_in_the_schema() -> None:
    for backend in BACKENDS:
        faults = Validator({"properties": {"a/b": {"type": "null"}}}, backend=backend).faults({"a/b": 1})
        assert [pointer for pointer, _ in faults] == ["/properties/a~1b/type"]


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_samples_of_formats_are_what_they_say(name: str) -> None:
    rust = pytest.importorskip("jsonschema_rs").validator_for({"format": name}, validate_formats=True)
    assert [text for text in SAMPLES[name] if not rust.is_valid(text)] == []
    assert [text for text in NEAR_MISSES[name] if rust.is_valid(text)] == []


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^a$", "a\n", False),
        ("\\w", "é", False),
        ("\\bé", "é", False),
        ("^[\\s\\S]$", "\n", True),
        ("^[^]$", "x", True),
        ("[]", "x", False),
        ("^[\\w-.]$", "-", True),
        ("^[a\\-z]$", "m", False),
        ("^[a-z]$", "m", True),
        ("^\\-\\/\\_$", "-/_", True),
        ("^\\u{1F600}$", "😀", True),
        ("^\\ud83d\\ude00$", "😀", True),
        ("^.$", "😀", True),
        ("^\\cA\\0$", "\x01\x00", True),
        ("^a{,2}$", "a{,2}", True),
        ("^}]$", "}]", True),
        ("^(?<n>a)+$", "aa", True),
        ("^[\\D]$", "5", False),
        ("^[^\\W]$", "_", True),
        ("^a|b$", "ax", True),
        ("^(?!b)", "b", False),
        ("^a{2,3}?$", "aaa", True),
    ],
)
def test_patterns_mean_in_python_what_ecma_262_says(pattern: str, text: str, found: bool) -> None:
    assert (compile_ecma(pattern).search(text) is not None) is found


@pytest.mark.parametrize("pattern", ["\\p{L}", "(a)\\1", "(?i)a", "(?P<n>a)", "a++", "a**", "(", "[b-a]", "a\\"])
def test_patterns_without_a_faithful_form_are_refused(pattern: str) -> None:
    with pytest.raises(Untranslatable):
        compile_ecma(pattern)


def test_random_patterns_agree_with_the_other_engine() -> None:
    rust = pytest.importorskip("jsonschema_rs")
    choices = SeededChoices(3)
    atoms = [
        "a",
        "é",
        ".",
        "\\d",
        "\\w",
        "\\s",
        "\\S",
        "[a-c]",
        "[^a\\s]",
        "[\\d-]",
        "(?:ab|b)",
        "(a)",
        "^",
        "$",
        "\\b",
    ]
    atoms += ["\\t", "\\u0061", "😀"]
    for _ in range(3000 if FULL else 600):
        parts = []
        for _ in range(choices.integer(1, 5)):
            atom = choices.pick(atoms)
            quantified = atom not in ("^", "$", "\\b") and choices.chance(0.4)
            parts.append(atom + (choices.pick(["*", "+", "?", "{2}", "{0,1}"]) if quantified else ""))
        pattern = "|".join(["".join(parts), *(["b"] if choices.chance(0.2) else [])])
        validator = rust.validator_for({"pattern": pattern})
        characters = "ab c0\n\t_-" if "\\b" in pattern else "ab c0é😀\n\t\u2028\u00a0_-"  # it reads \b beyond ASCII
        for _ in range(4):
            text = "".join(choices.pick(characters) for _ in range(choices.integer(0, 5)))
            assert (compile_ecma(pattern).search(text) is not None) == validator.is_valid(text), (pattern, text)


# --- schemas


def subschemas(schema: Any) -> Iterator[dict[str, Any]]:
    """All schema objects in a generated schema."""
    if not isinstance(schema, dict):
        return
    yield schema
    for keyword, value in schema.items():
        if keyword in ("properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"):
            for member in value.values():
                yield from subschemas(member)
        elif keyword in ("allOf", "anyOf", "oneOf", "prefixItems") or (keyword == "items" and isinstance(value, list)):
            for member in value:
                yield from subschemas(member)
        elif keyword not in ("const", "enum", "dependentRequired", "required", "type"):
            yield from subschemas(value)


@pytest.mark.parametrize("draft", sorted(DRAFTS))
def test_random_schemas_are_well_formed_and_satisfiable_in_every_draft(draft: str) -> None:
    choices = SeededChoices(11)
    for _ in range(1000 if FULL else 150):
        schema, witness = SchemaGenerator(choices, draft=draft).schema_with_witness()
        META[draft].check_schema(schema)
        assert isinstance(schema, bool) or draft == "2020-12" or draft in schema["$schema"]
        for backend in BACKENDS:
            try:
                assert Validator(schema, backend=backend).is_valid(witness), (schema, witness)
            except CannotJudge:
                assert backend == "jsonschema"


def test_random_schemas_use_every_keyword_and_recursion() -> None:
    choices = SeededChoices(12)
    used: dict[str, int] = {}
    recursive = booleans = 0
    for _ in range(700):
        schema, _ = SchemaGenerator(choices).schema_with_witness()
        booleans += isinstance(schema, bool)
        for sub in subschemas(schema):
            for keyword in sub:
                used[keyword] = used.get(keyword, 0) + 1
        for name, definition in (schema.get("$defs", {}) if isinstance(schema, dict) else {}).items():
            recursive += any(sub.get("$ref") == f"#/$defs/{name}" for sub in subschemas(definition))
    assert set(used) >= KEYWORDS
    assert min(used[keyword] for keyword in KEYWORDS) >= 10
    assert recursive >= 30
    assert booleans >= 5


@QUICK
@given(st.data())
def test_keywords_restrict_random_schemas(data: st.DataObject) -> None:
    draft = data.draw(st.sampled_from(sorted(DRAFTS)))
    keywords = data.draw(st.sets(st.sampled_from(sorted(keywords_of(draft))), min_size=1))
    schema = data.draw(json_schemas(draft=draft, keywords=keywords, max_depth=3))
    later = {"dependencies": {"dependentRequired", "dependentSchemas"}, "additionalItems": {"prefixItems"}}
    later |= {"items": {"items", "prefixItems"}, "minimum": {"minimum", "exclusiveMinimum"}}
    later |= {"maximum": {"maximum", "exclusiveMaximum"}, "allOf": {"allOf", "$ref"}, "definitions": {"$ref"}}
    later["$defs"] = {"$ref"}
    if draft == "04":
        later |= {"not": keywords, "enum": {"enum", "const"}}  # how draft 04 writes false, and const
    for sub in subschemas(schema):
        for keyword in set(sub) - {"$schema", "description"}:
            assert later.get(keyword, {keyword}) & keywords, (keyword, schema)


def test_unknown_drafts_and_keywords_are_errors() -> None:
    with pytest.raises(ValueError, match="draft must be one of"):
        json_schemas(draft="2018")
    with pytest.raises(ValueError, match="no keyword if"):
        json_schemas(draft="04", keywords={"if"})


@QUICK
@given(schemas_with_instances())
def test_drawn_pairs_are_valid(pair: tuple[Any, Any]) -> None:
    schema, instance = pair
    META["2020-12"].check_schema(schema)
    assert is_valid(schema, instance)


# --- instances and near misses


@pytest.mark.parametrize("schema", EXAMPLES, ids=lambda s: json.dumps(s)[:60])
def test_most_generated_values_are_valid(schema: Any) -> None:
    choices, validator = SeededChoices(5), Validator(schema)
    generator = InstanceGenerator(schema, choices)
    valid = set()
    count = 0
    for _ in range(200):
        try:
            value = generator.value()
        except DeadEnd:
            continue
        if validator.is_valid(value):
            count += 1
            valid.add(plain_text(value))
    assert count > 100
    assert len(valid) >= (1 if schema == {} else 4)


@QUICK
@given(st.data())
def test_instances_are_valid_and_near_misses_are_not(data: st.DataObject) -> None:
    schema = data.draw(st.sampled_from(EXAMPLES))
    for backend in BACKENDS:
        validator = Validator(schema, backend=backend)
        assert validator.is_valid(data.draw(instances(schema)))
        if schema is not True:
            assert not validator.is_valid(data.draw(near_misses(schema)))


@QUICK
@given(st.data())
def test_instances_come_from_the_masks_where_the_schema_does_not_lead_to_them(data: st.DataObject) -> None:
    """Sixteen booleans of which the schema allows one sequence: no guess finds it, the masks do."""
    wanted = [bool(0x5A3C >> i & 1) for i in range(16)]
    schema = {
        "type": "array",
        "items": {"type": "boolean"},
        "minItems": 16,
        "maxItems": 16,
        "allOf": [{"prefixItems": [{"not": {"const": not bit}} for bit in wanted]}],
    }
    if supported(schema):
        assert data.draw(instances(schema)) == wanted


def test_edits_change_values_of_every_type_in_many_ways() -> None:
    choices = SeededChoices(8)
    for value in ({"a": 1, "b": [True]}, [1, "a", None], "abc", 5, 2.5, True, None, {}, []):
        before = plain_text(value)
        results = {plain_text(edited(value, choices, {"minLength": 7, "minimum": 30})) for _ in range(100)}
        assert len(results - {before}) >= 4
        assert plain_text(value) == before, "the value itself was changed"


# --- spellings

WHITESPACE = re.compile(r'"(?:[^"\\]|\\.)*"|([ \t\r\n]+)')


def nesting(text: str) -> Iterator[tuple[int, str]]:
    """Every run of whitespace outside strings, with how many containers are open where it stands."""
    depth = 0
    for piece in re.finditer(r'"(?:[^"\\]|\\.)*"|[ \t\r\n]+|[\[{]|[\]}]|[^\s"\[\]{}]+', text):
        depth += piece[0] in "[{"
        depth -= piece[0] in "]}"
        if piece[0].isspace():
            yield depth, piece[0]


@QUICK
@given(st.data())
def test_spellings_mean_the_value_and_keep_the_bounds(data: st.DataObject) -> None:
    value = random_value(SeededChoices(data.draw(st.integers(0, 10**6))), 3)
    text = data.draw(spellings(value, exponents=True))
    assert identity(read_exactly(text)) == identity(value)
    for depth, run in nesting(text):
        assert run == " " or re.fullmatch(r"\r?\n[ \t]*", run), repr(run)
        assert len(run.lstrip("\r\n")) <= 8 * max(1, depth)
    assert not text or not text[-1].isspace()


def test_spellings_have_all_forms() -> None:
    choices = SeededChoices(1)
    value = {"é": ["😀/", 1, 2.5, 0.05, "\n"], "b": {}}
    texts = [spell(value, choices, random_style(choices, exponents=True)) for _ in range(400)]
    for form in (
        "\\u00e9",
        "\\u00E9",
        "\\ud83d\\ude00",
        "😀",
        "\\/",
        "\\n",
        "\\u000a",
        "1.0",
        "2.5e0",
        "5e-2",
        "1E",
        "e+0",
    ):
        assert any(form in text for text in texts), form
    for form in ("\n", "\r\n", "\t", '": ', '" :', '{"b"', '"b": {}}'):
        assert any(form in text for text in texts), form
    with pytest.raises(ValueError, match="no JSON text"):
        spellings("\ud800")


def test_every_spelling_is_taken_by_the_grammar_of_all_values() -> None:
    compiled = constrain.json_schema(True).compile(default_vocabulary())
    choices = SeededChoices(2)
    for _ in range(300):
        value = random_value(choices, 3)
        text = spell(value, choices, random_style(choices))
        matcher = compiled.matcher()
        assert matcher.accept_bytes(text.encode()), text
        assert matcher.is_accepting, text


def test_broken_texts_are_not_json() -> None:
    choices = SeededChoices(4)
    seen = set()
    for _ in range(1500):
        text = broken_text(random_value(choices, 2), choices)
        try:
            value = read_exactly(text)
        except NotJson as error:
            seen.add(str(error).split(":")[0])
        else:
            assert not spellable(value), text
    assert "a member name is written twice" in seen


# --- check_schema


@pytest.mark.parametrize("schema", EXAMPLES, ids=lambda s: json.dumps(s)[:60])
def test_examples_are_enforced_exactly(schema: Any) -> None:
    if not supported(schema):
        with pytest.raises(constrain.UnsupportedSchemaError):
            check_schema(schema, max_examples=1)
        pytest.skip("refused by name")
    report = check_schema(schema, max_examples=200 if FULL else 30, seed=7)
    assert report.valid >= 4
    assert report.near_misses >= (0 if schema is True else 5)
    assert report.walks >= 7
    assert report.broken >= 20
    assert report.texts > 200
    assert report.backend == BACKENDS[0]


@QUICK
@given(json_schemas(), st.integers(0, 2**20))
def test_random_schemas_are_enforced_exactly(schema: Any, seed: int) -> None:
    # What is refused by name, by a limit too, is another test's business; so is what takes long.
    with (
        contextlib.suppress(constrain.UnsupportedSchemaError, constrain.ResourceLimitError, TimeLimit),
        time_limit(10 if FULL else 2),
    ):
        check_schema(schema, max_examples=6, seed=seed)


def test_unsatisfiable_and_unsupported_schemas_raise_the_engines_errors() -> None:
    with pytest.raises(constrain.UnsatisfiableSchemaError):
        check_schema({"type": "integer", "minimum": 4, "maximum": 3})
    with pytest.raises(constrain.UnsupportedSchemaError):
        check_schema({"pattern": "(a)\\1"})


@pytest.fixture
def wrong_engine(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Any], Any]], None]:
    """Makes the engine compile another schema than it is given."""
    real = constrain.json_schema

    def install(change: Callable[[Any], Any]) -> None:
        monkeypatch.setattr(constrain, "json_schema", lambda schema, **options: real(change(schema), **options))

    return install


def without(keyword: str) -> Callable[[Any], Any]:
    """Removes a keyword at the root and in properties."""

    def change(schema: Any) -> Any:
        if not isinstance(schema, dict):
            return schema
        kept = {k: v for k, v in schema.items() if k != keyword}
        if "properties" in kept:
            kept["properties"] = {name: change(sub) for name, sub in kept["properties"].items()}
        return kept

    return change


@pytest.mark.parametrize(
    ("keyword", "schema"),
    [
        ("maximum", {"type": "object", "properties": {"a": {"type": "integer", "maximum": 5}}, "required": ["a"]}),
        ("maxLength", {"type": "string", "maxLength": 4}),
        ("required", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}),
        ("additionalProperties", {"properties": {"a": True}, "additionalProperties": False}),
        ("maxItems", {"type": "array", "maxItems": 2}),
        ("pattern", {"type": "string", "pattern": "^[a-c]+$"}),
        ("multipleOf", {"type": "number", "multipleOf": 0.01}),
        ("minProperties", {"type": "object", "minProperties": 2}),
    ],
)
def test_a_keyword_left_out_is_found(keyword: str, schema: Any, wrong_engine: Any) -> None:
    wrong_engine(without(keyword))
    with pytest.raises(AssertionError, match="expected: refused") as failure:
        check_schema(schema, seed=1)
    assert keyword in str(failure.value)
    text = re.search(r"text: +(.*)", str(failure.value))
    assert text is not None
    assert len(text[1]) < 40, "the text is not reduced"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "integer", "minimum": 3}}},
        {"type": "array", "items": {"type": "string"}},
        {"enum": [1, "a", None]},
        {"anyOf": [{"type": "integer"}, {"type": "object", "required": ["a"]}]},
    ],
)
def test_a_schema_made_narrower_is_found(schema: Any, wrong_engine: Any) -> None:
    wrong_engine(
        lambda given: {"allOf": [given, {"type": ["object", "null", "array"], "maxProperties": 1, "maxItems": 1}]}
    )
    with pytest.raises(AssertionError, match="refuses a valid text") as failure:
        check_schema(schema, seed=1)
    assert "got:      refused at byte" in str(failure.value)


def test_a_schema_wrongly_called_unsatisfiable_is_found(wrong_engine: Any) -> None:
    wrong_engine(lambda _: False)
    with pytest.raises(AssertionError, match="unsatisfiable"):
        check_schema({"type": "integer"}, seed=1)


def test_a_spelling_that_is_refused_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = constrain.json_schema
    monkeypatch.setattr(constrain, "json_schema", lambda schema: real(schema, whitespace="none"))
    with pytest.raises(AssertionError, match="refuses a valid text"):
        check_schema({"type": "array"}, seed=1)


def test_disagreements_are_reduced_to_what_matters(wrong_engine: Any) -> None:
    wrong_engine(without("maximum"))
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 5}, "b": {"enum": ["x", "y"]}},
        "required": ["a"],
        "anyOf": [{"minProperties": 1}, {"type": "null"}],
    }
    found = reduce(schema, '{"a": 17, "b": "x", "c": [1, 2, {"d": null}]}')
    assert found is not None
    assert found.accepted
    assert len(json.dumps(found.schema)) <= len('{"properties": {"a": {"maximum": 5}}}')
    assert len(found.text) <= len('{"a":17}')
    assert reduce(schema, '{"a": 3}') is None


def test_only_documented_narrowings_are_excused(monkeypatch: pytest.MonkeyPatch) -> None:
    punycode = ({"type": "string", "format": "hostname"}, '"xn--wdl"')
    exponent = ({"type": "array", "items": {"type": "integer", "minimum": 3}}, "[50e-1]")
    for schema, text in (punycode, exponent):
        assert is_valid(schema, read_exactly(text))
        assert find(schema, text) is None, "documented"
    monkeypatch.setattr(constrain.Grammar, "narrowings", ())
    for schema, text in (punycode, exponent):
        found = find(schema, text)
        assert found is None or not found.accepted
        assert (found is None) == accepts(schema, text), "not documented"
    assert not all(accepts(*case) for case in (punycode, exponent)), "neither is narrowed: this test shows nothing"


def test_a_seed_gives_the_same_run() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "number", "minimum": 0}}}
    assert check_schema(schema, max_examples=20, seed=3) == check_schema(schema, max_examples=20, seed=3)


# --- check_matcher_laws

LAWFUL = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}, "b": {"type": "integer"}}}


def test_the_laws_hold_for_schemas_and_patterns() -> None:
    for grammar in (constrain.json_schema(LAWFUL), constrain.json_schema(True), constrain.regex("(ab|é){1,3}c?")):
        texts = [b'{"a": "abc", "b": 12}'] if grammar == constrain.json_schema(LAWFUL) else []
        report = check_matcher_laws(grammar.compile(default_vocabulary()), max_examples=15, seed=2, texts=texts)
        assert report.positions == 15
        assert report.tokens_tried > 1000
        assert report.cuts > 5


class Faulty:
    """A matcher with one fault. Passes the rest on to a real one."""

    def __init__(self, inner: Any, fault: str) -> None:
        self.inner, self.fault = inner, fault
        self.taken = 0

    @property
    def is_accepting(self) -> bool:
        return bool(self.inner.is_accepting)

    @property
    def is_terminated(self) -> bool:
        return bool(self.inner.is_terminated) and self.fault != "termination"

    def fill_next_token_bitmask(self, bitmask: Any, index: int = 0) -> None:
        self.inner.fill_next_token_bitmask(bitmask, index)
        row = bitmask[index]
        if self.fault == "one bit missing" and self.inner.num_accepted == 2:
            allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
            if len(allowed):
                row[allowed[-1] // 32] &= ~np.int32(np.uint32(1 << (int(allowed[-1]) % 32)).astype(np.int32))
        if self.fault == "one bit too many" and not self.inner.is_terminated:
            row[300 // 32] |= np.int32(1 << 300 % 32)
        if self.fault == "empty mask" and self.inner.num_accepted == 3:
            row[:] = 0
        if self.fault == "neighbour written":
            bitmask[index - 1][0] = 0
        if self.fault == "word left alone":
            row[1] = 0x5A5A5A5A

    def accept_token(self, token_id: int) -> bool:
        if self.fault == "end anywhere" and token_id == 0:
            return True
        accepted = bool(self.inner.accept_token(token_id))
        if self.fault == "depends on the cut" and accepted:
            self.taken += 1
            if self.taken == 3:
                return False
        return accepted

    def rollback(self, n: int = 1) -> None:
        if self.fault == "rollback one short":
            n = max(0, n - 1)
        self.inner.rollback(n)

    def fork(self) -> Any:
        if self.fault == "shared fork":
            return self
        return Faulty(self.inner.fork(), self.fault)


FAULTS = {
    "none": None,
    "one bit missing": "mask == brute force",
    "one bit too many": "mask == brute force",
    "empty mask": "mask == brute force|no dead end|split",
    "neighbour written": "outside the row",
    "word left alone": "mask|beyond",
    "end anywhere": "mask == brute force|end",
    "depends on the cut": "mask == brute force|split",
    "rollback one short": "rollback",
    "shared fork": "fork|brute force",
    "termination": "end",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faulty_matchers_are_found(fault: str) -> None:
    inner = constrain.json_schema(LAWFUL).compile(default_vocabulary())

    class Compiled:
        vocabulary = inner.vocabulary

        def matcher(self) -> Faulty:
            return Faulty(inner.matcher(), fault)

    law = FAULTS[fault]
    if law is None:
        check_matcher_laws(Compiled(), max_examples=10, seed=1)
        return
    with pytest.raises(AssertionError, match=law):
        check_matcher_laws(Compiled(), max_examples=60, seed=1)


class WordMatcher:
    """A matcher of another make: the texts of a list, over tokens of its own."""

    words = (b"stop", b"step", b"go", b"gone")
    tokens = (b"s", b"t", b"o", b"p", b"e", b"st", b"go", b"ne", b"n", b"g", b"op", None)
    end = 11

    def __init__(self) -> None:
        self.path: list[int] = []

    def _text(self) -> bytes:
        return b"".join(self.tokens[i] or b"" for i in self.path)

    @property
    def is_terminated(self) -> bool:
        return self.end in self.path

    @property
    def is_accepting(self) -> bool:
        return not self.is_terminated and self._text() in self.words

    def _allows(self, token: int) -> bool:
        if self.is_terminated:
            return False
        if token == self.end:
            return self.is_accepting
        text = self._text() + (self.tokens[token] or b"")
        return any(word.startswith(text) for word in self.words)

    def accept_token(self, token: int) -> bool:
        if not self._allows(token):
            return False
        self.path.append(token)
        return True

    def fill_next_token_bitmask(self, bitmask: Any, index: int = 0) -> None:
        bitmask[index] = 0
        for token in range(len(self.tokens)):
            bitmask[index][0] |= self._allows(token) << token

    def rollback(self, n: int = 1) -> None:
        del self.path[len(self.path) - n :]

    def fork(self) -> WordMatcher:
        other = WordMatcher()
        other.path = list(self.path)
        return other


def test_matchers_of_another_make_can_be_checked() -> None:
    class Compiled:
        matcher = WordMatcher

    report = check_matcher_laws(
        Compiled(), tokens=WordMatcher.tokens, eos_token_ids=[WordMatcher.end], texts=WordMatcher.words, seed=1
    )
    assert report.cuts > 10


# --- packaging


@pytest.mark.parametrize("package", ["hypothesis", "jsonschema"])
def test_a_missing_package_is_an_error_that_names_the_extra(package: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; import constrain.testing"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert f"ImportError: constrain.testing needs {package}" in result.stderr
    assert "constrain-decode[testing]" in result.stderr


def test_without_the_preferred_validator_the_other_one_is_used() -> None:
    code = (
        "import sys; sys.modules['jsonschema_rs'] = None; from constrain.testing import check_schema; "
        "print(check_schema({'type': 'object', 'required': ['a']}, max_examples=10, seed=1).backend)"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "jsonschema"


# --- the sweep


def test_a_small_sweep_finds_no_wrong_verdict() -> None:
    pairs = 20_000 if FULL else 800
    results = Sweep(5, limit_s=10 if FULL else 3).run(pairs, pairs // 5).as_json()
    assert results["pairs"] >= pairs
    assert results["near_misses"] >= pairs // 5
    assert results["valid"] > pairs // 2
    assert results["disagreements"] == []


def test_the_sweep_finds_and_reduces_wrong_verdicts(wrong_engine: Any) -> None:
    wrong_engine(without("required"))
    results = Sweep(5, keywords=["type", "properties", "required"]).run(300, 100).as_json()
    assert results["wrong"] > 0
    smallest = min(results["disagreements"], key=lambda entry: len(json.dumps(entry["schema"])))
    assert set(smallest["schema"]) <= {"type", "required", "$schema", "properties"}
    assert smallest["problem"] == "accepts invalid"


def test_the_sweep_writes_json(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    command = [sys.executable, "-m", "constrain.bench.agreement", "--pairs", "40", "--near-misses", "10", "--json"]
    result = subprocess.run([*command, "--output", str(out)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    printed = json.loads(result.stdout)
    assert printed == json.loads(out.read_text(encoding="utf-8"))
    assert printed["pairs"] == 40


def test_large_integral_decimals_are_compared_exactly() -> None:
    schema = {"minimum": 9007199254740993}
    for text, valid in [("9007199254740993.00", True), ("9007199254740992.0", False), ("90071992547409930e-1", True)]:
        assert Validator(schema).is_valid(Decimal(text)) == valid
        assert Validator({"items": schema}).is_valid([Decimal(text)]) == valid
    assert not Validator({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"}).is_valid(
        Decimal("9007199254740993.0")
    )
