"""`constrain coverage`: finding schemas, judging keywords, testing verdicts, surviving what goes wrong, reporting."""

from __future__ import annotations

import gzip
import html.parser
import json
import lzma
import os
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import referencing.jsonschema

import constrain
from constrain.cli import app
from constrain.cli.coverage import status
from constrain.coverage import Options, SchemaInput, SchemaReport, TestReport, examine, pool, read, run
from constrain.coverage.heat_map import MAX_COLUMNS
from constrain.coverage.html import page
from constrain.coverage.inspection import byte_vocabulary, inspect
from constrain.coverage.keywords import KEYWORDS, uses
from constrain.coverage.openapi import openapi_schemas
from constrain.coverage.report import KeywordUse, Place, general, summarise, worst_first
from constrain.coverage.tool_lists import NO_ARGUMENTS, json_schema_of_gemini, tool_schemas
from constrain.coverage.verification import accepts, verify, verify_unsatisfiable, without_nullable
from tests.oracles import resolve_pointer, shared

ELSEWHERE = {"$ref": "http://example.com/elsewhere"}
"""A keyword that can never be enforced, as nothing is fetched."""

DRAFT_04 = {"$schema": "http://json-schema.org/draft-04/schema#"}
DRAFT_07 = {"$schema": "http://json-schema.org/draft-07/schema#"}

CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


def write(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def report_on(schema: Any) -> SchemaReport:
    report = SchemaReport("s", "s.json", "", "s.json")
    inspect(json.loads(json.dumps(schema)), report)
    return report


# Finding schemas


@pytest.mark.parametrize(
    ("document", "pointers"),
    [
        ([{"type": "function", "function": {"name": "t", "parameters": CITY}}], ["/0/function/parameters"]),
        ([{"type": "function", "name": "t", "parameters": CITY, "strict": True}], ["/0/parameters"]),
        ([{"name": "t", "description": "d", "input_schema": CITY}], ["/0/input_schema"]),
        (
            {"tools": [{"name": "t", "inputSchema": CITY}, {"name": "t", "inputSchema": CITY}]},
            ["/tools/0/inputSchema", "/tools/1/inputSchema"],
        ),
        (
            {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "t", "inputSchema": CITY}]}},
            ["/result/tools/0/inputSchema"],
        ),
        (
            {"functionDeclarations": [{"name": "t", "parametersJsonSchema": CITY}]},
            ["/functionDeclarations/0/parametersJsonSchema"],
        ),
        (
            {"tools": [{"functionDeclarations": [{"name": "t", "parameters": CITY}]}]},
            ["/tools/0/functionDeclarations/0/parameters"],
        ),
        (
            {"model": "m", "response_format": {"type": "json_schema", "json_schema": {"name": "t", "schema": CITY}}},
            ["/response_format/json_schema/schema"],
        ),
        ({"name": "t", "input_schema": CITY}, ["/input_schema"]),
    ],
)
def test_tool_lists_of_every_provider(document: Any, pointers: list[str], tmp_path: Path) -> None:
    found = list(tool_schemas(document))
    assert [(name, pointer) for name, pointer, _ in found] == [("t", pointer) for pointer in pointers]
    assert all(resolve_pointer(document, pointer) == schema == CITY for _, pointer, schema in found)
    entries = read([write(tmp_path / "tools.json", document)]).schemas
    assert [(e.name, e.pointer, json.loads(e.text)) for e in entries] == found


def test_tools_without_arguments_and_tools_of_the_provider() -> None:
    tools = [{"type": "function", "function": {"name": "now"}}, {"type": "web_search"}, {"type": "code_interpreter"}]
    assert list(tool_schemas(tools)) == [("now", "/0/function", NO_ARGUMENTS)]


@pytest.mark.parametrize("schema", [CITY, {"type": "string"}, {"title": "name", "enum": [1]}, True])
def test_a_schema_is_no_tool(schema: Any, tmp_path: Path) -> None:
    assert list(tool_schemas(schema)) == []
    (entry,) = read([write(tmp_path / "s.json", schema)]).schemas
    assert (entry.name, entry.pointer, json.loads(entry.text)) == ("s.json", "", schema)


def test_gemini_types_become_those_of_json_schema() -> None:
    schema = {
        "type": "OBJECT",
        "properties": {
            "type": {"type": "STRING", "format": "enum", "enum": ["STRING"], "nullable": True},
            "n": {"type": "ARRAY", "minItems": "2", "items": {"anyOf": [{"type": "INTEGER"}, {"type": "NUMBER"}]}},
        },
    }
    assert json_schema_of_gemini(schema) == {
        "type": "object",
        "properties": {
            "type": {"type": "string", "enum": ["STRING"], "nullable": True},
            "n": {"type": "array", "minItems": 2, "items": {"anyOf": [{"type": "integer"}, {"type": "number"}]}},
        },
    }


def openapi(version: str) -> dict[str, Any]:
    pet = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string"},
            "tags": {"type": "array", "items": {"$ref": "#/components/schemas/Tag~1Name"}},
            "parent": {"$ref": "#/components/schemas/Pet"},
        },
        "additionalProperties": False,
    }
    if version.startswith("3.0"):
        pet["properties"]["age"] = {"type": "integer", "minimum": 0, "exclusiveMinimum": True, "nullable": True}
    else:
        pet["properties"]["age"] = {"type": ["integer", "null"], "exclusiveMinimum": 0}
    return {
        "openapi": version,
        "info": {"title": "t", "version": "1"},
        "paths": {
            "/pets/{id}": {
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
                "post": {
                    "parameters": [{"$ref": "#/components/parameters/Limit"}],
                    "requestBody": {
                        "content": {
                            "application/json; charset=utf-8": {"schema": {"$ref": "#/components/schemas/Pet"}},
                            "text/plain": {"schema": {"type": "string"}},
                        }
                    },
                },
                "put": {"requestBody": {"$ref": "#/components/requestBodies/Update"}},
            }
        },
        "components": {
            "parameters": {"Limit": {"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 9}}},
            "requestBodies": {
                "Update": {
                    "content": {
                        "application/merge-patch+json": {
                            "schema": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}, "maxItems": 1}
                        }
                    }
                }
            },
            "schemas": {"Pet": pet, "Tag/Name": {"type": "string", "minLength": 1}, "Unused": {"type": "null"}},
        },
    }


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_openapi_documents(version: str) -> None:
    document = openapi(version)
    found = {located.pointer: (located, schema) for located, schema in openapi_schemas(document)}
    update = "/components/requestBodies/Update/content/application~1merge-patch+json/schema"
    assert set(found) == {
        "/components/schemas/Pet",
        "/components/schemas/Tag~1Name",
        "/components/schemas/Unused",
        "/paths/~1pets~1{id}/parameters/0/schema",
        "/components/parameters/Limit/schema",
        update,
    }
    assert found["/components/schemas/Pet"][0].used_by == ["POST /pets/{id}"]
    assert found["/paths/~1pets~1{id}/parameters/0/schema"][0].used_by == ["PUT /pets/{id}", "POST /pets/{id}"]
    assert found[update][0].name == "PUT /pets/{id} body"

    pointers = {use.pointer for use in uses(found[update][1])} - {""}
    assert "/components/schemas/Tag~1Name" in pointers
    assert not any("Unused" in pointer for pointer in pointers)
    for pointer in pointers:
        assert isinstance(resolve_pointer(document, pointer), dict)

    compiled = constrain.json_schema(found[update][1]).compile(byte_vocabulary())
    for value, valid in [
        ([], True),
        ([{"name": "Rex", "tags": ["a"], "parent": {"name": "Old", "age": None}}], True),
        ([{"name": "Rex", "age": 0}], False),
        ([{"name": "Rex", "parent": {"name": "Old", "tags": [""]}}], False),
        ([{"name": "Rex"}, {"name": "Rex"}], False),
        ([{}], False),
    ]:
        assert accepts(compiled, json.dumps(value)) is valid, value
        checker = jsonschema.validators.validator_for(found[update][1])(without_nullable(found[update][1]))
        assert checker.is_valid(value) is valid, value


def test_a_broken_reference_in_an_api_is_a_refusal_with_its_place() -> None:
    document = openapi("3.1.0")
    document["components"]["schemas"]["Pet"]["properties"]["parent"]["$ref"] = "#/components/schemas/Gone"
    schema = next(s for located, s in openapi_schemas(document) if located.name == "Pet")
    report = report_on(schema)
    assert report.verdict == "refused"
    assert [(p.pointer, p.keyword) for p in report.problems] == [("/components/schemas/Pet/properties/parent", "$ref")]


def test_keywords_of_an_api_are_counted_without_the_reference_that_leads_to_the_schema(tmp_path: Path) -> None:
    entries = read([write(tmp_path / "api.json", openapi("3.0.3"))]).schemas
    (tag,) = [e for e in entries if e.name == "Tag/Name"]
    (report,) = examine(tag, Options(test=False))
    assert {keyword: use.places for keyword, use in report.keywords.items()} == {
        "type": [("/components/schemas/Tag~1Name", "exact")],
        "minLength": [("/components/schemas/Tag~1Name", "exact")],
    }


def test_other_api_versions_are_a_problem_of_the_input(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / "a.json", {"swagger": "2.0"}),
        write(tmp_path / "b.json", {"openapi": "4.0", "paths": {}}),
    ]
    found = read(paths)
    assert found.schemas == []
    assert ["OpenAPI 3" in found.problems[0].reason, "4.0" in found.problems[1].reason] == [True, True]


RECORDS = [
    {"id": "first", "schema": CITY, "tests": [{"valid": True, "data": {"city": "Oslo"}, "description": "d"}]},
    {"id": "second", "schema": {"type": "integer"}, "accept": ["1", "1.0"], "reject": ['"x"', "1.5"]},
]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.xz", "a.jsonl.gz", "a.json"])
def test_records_with_instances(name: str, tmp_path: Path) -> None:
    text = json.dumps(RECORDS) if name == "a.json" else "\n".join(map(json.dumps, RECORDS)) + "\n\n"
    opener: Callable[..., Any] = {"xz": lzma.open, "gz": gzip.open}.get(name.rpartition(".")[2], open)
    with opener(tmp_path / name, "wt", encoding="utf-8") as file:
        file.write(text)
    found = read([tmp_path / name])
    assert not found.problems
    assert [e.name for e in found.schemas] == ["first", "second"]
    assert [e.line for e in found.schemas] == ([0, 0] if name == "a.json" else [1, 2])
    assert found.schemas[0].tests == (('{"city": "Oslo"}', True),)
    assert found.schemas[1].tests == (("1", True), ("1.0", True), ('"x"', False), ("1.5", False))
    assert [e.name for e in read([tmp_path / name], limit=1).schemas] == ["first"]


def test_lines_that_are_plain_schemas_and_lines_that_are_not_json(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"type": "null"}\n{\n[5]\ntrue\n')
    found = read([path])
    assert [(e.name, e.line) for e in found.schemas] == [("line 1", 1), ("line 4", 4)]
    assert [p.file for p in found.problems] == [f"{path}:2", f"{path}:3"]


def test_folders_are_searched_and_what_is_no_schema_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    write(tmp_path / "sub" / "deep.json", CITY)
    write(tmp_path / "package.json", {"dependencies_": {}, "main": "index.js"})
    write(tmp_path / "readme.txt", "no")
    found = read([tmp_path])
    assert [Path(e.file).name for e in found.schemas] == ["deep.json"]
    assert [Path(p).name for p in found.passed_over] == ["package.json"]
    assert not found.problems
    named = read([tmp_path / "package.json", tmp_path / "absent.json", write(tmp_path / "broken.json", "{")])
    assert not named.schemas
    assert [Path(p.file).name for p in named.problems] == ["package.json", "absent.json", "broken.json"]


def test_json_arrays_that_nest_too_deeply_are_a_problem_and_no_crash(tmp_path: Path) -> None:
    found = read([write(tmp_path / "deep.json", "[" * 200_000)])
    assert len(found.problems) == 1


# Keywords


def subschemas(resource: Any) -> Iterator[Any]:
    yield resource.contents
    for inner in resource.subresources():
        yield from subschemas(inner)


SHAPES: tuple[Callable[[Callable[[], Any]], dict[str, Any]], ...] = (
    lambda s: {"properties": {"a": s(), "b/~": s()}, "required": ["a"]},
    lambda s: {"items": s(), "prefixItems": [s(), s()], "minItems": 1},
    lambda s: {"anyOf": [s(), s()], "not": s()},
    lambda s: {"allOf": [s()], "if": s(), "then": s(), "else": s()},
    lambda s: {"patternProperties": {"^x": s()}, "additionalProperties": s(), "propertyNames": s()},
    lambda s: {"contains": s(), "minContains": 2, "unevaluatedItems": s()},
    lambda s: {"dependentSchemas": {"a": s()}, "unevaluatedProperties": s(), "oneOf": [s()]},
    lambda _: {"type": "string", "minLength": 2, "enum": [{"properties": {"type": 1}}]},
    lambda _: {"const": {"minimum": 3}, "title": "type", "default": {"type": 5}},
    lambda _: {},
)


def random_schema(rng: random.Random, depth: int) -> Any:
    if depth == 0:
        return rng.choice([True, {"minimum": 1}, {"type": "null", "maxItems": 3}])
    return rng.choice(SHAPES)(lambda: random_schema(rng, depth - 1))


@pytest.mark.parametrize("seed", range(40))
def test_the_walk_finds_what_the_referencing_library_finds(seed: int) -> None:
    schema = random_schema(random.Random(seed), 4)
    found = list(uses(schema))
    assert len({(use.pointer, use.keyword) for use in found}) == len(found)
    for use in found:
        assert use.keyword in resolve_pointer(schema, use.pointer)
        assert not use.ignored
    expected = Counter(
        keyword
        for part in subschemas(referencing.jsonschema.DRAFT202012.create_resource(schema))
        if isinstance(part, dict)
        for keyword in part
        if keyword in KEYWORDS
    )
    assert Counter(use.keyword for use in found) == expected


def test_the_walk_follows_references_and_leaves_out_what_nothing_refers_to() -> None:
    schema = {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}, "b": {"$anchor": "there", "type": "null"}, "c": {"enum": [1]}},
        "properties": {"x": {"$ref": "#there"}, "y": {"$ref": "#/nowhere"}, "z": ELSEWHERE},
    }
    assert {(use.pointer, use.keyword) for use in uses(schema)} == {
        ("", "$ref"),
        ("", "properties"),
        ("/$defs/a", "items"),
        ("/$defs/a/items", "$ref"),
        ("/properties/x", "$ref"),
        ("/$defs/b", "type"),
        ("/properties/y", "$ref"),
        ("/properties/z", "$ref"),
    }


@pytest.mark.parametrize(
    ("schema", "pointer", "keyword", "says"),
    [
        ({"additonalProperties": False}, "", "additonalProperties", "'additionalProperties' is one"),
        ({"items": {"maxlength": 3}}, "/items", "maxlength", "'maxLength' is one"),
        ({**DRAFT_07, "prefixItems": [{}]}, "", "prefixItems", "draft 07 has no"),
        ({**DRAFT_04, "properties": {"k": {"const": 1}}}, "/properties/k", "const", "draft 04 has no"),
        (
            {**DRAFT_07, "$ref": "#/definitions/a", "maxItems": 3, "definitions": {"a": {}}},
            "",
            "maxItems",
            "beside $ref",
        ),
    ],
)
def test_what_looks_like_a_constraint_and_is_none(schema: Any, pointer: str, keyword: str, says: str) -> None:
    report = report_on(schema)
    assert report.verdict == "annotation"
    assert [(p.pointer, p.keyword) for p in report.annotations] == [(pointer, keyword)]
    assert says in report.annotations[0].reason
    assert report.keywords[keyword if keyword in KEYWORDS else "(misspelt)"].states == {"annotation": 1}


@pytest.mark.parametrize("name", ["example", "x-items", "_format", "markdownDescription", "enumNames", "order", "unit"])
def test_custom_names_are_no_misspelt_keywords(name: str) -> None:
    assert report_on({"type": "boolean", name: 1}).verdict == "exact"


# Verdicts


def test_verdicts_that_are_enforced() -> None:
    assert report_on({"type": "boolean"}).verdict == "exact"
    narrowed = report_on({"properties": {"n": {"type": "integer", "minimum": 3}, "s": {"type": "string"}}})
    assert narrowed.verdict == "narrowed"
    assert {p.pointer for p in narrowed.narrowings} == {"/properties/n"}
    assert narrowed.keywords["minimum"].states == {"narrowed": 1}
    assert narrowed.keywords["type"].states == {"narrowed": 1, "exact": 1}
    assert narrowed.keywords["properties"].states == {"exact": 1}
    unknown = report_on({"items": {"format": "phone-number"}})
    assert unknown.verdict == "annotation"
    assert [(p.pointer, p.keyword) for p in unknown.annotations] == [("/items", "format")]


def test_everything_that_is_left_out_is_listed_and_takes_along_what_is_in_it() -> None:
    schema = {**DRAFT_07, "properties": {"a": ELSEWHERE, "b": {"items": ELSEWHERE}, "c": {"type": "string"}}}
    report = report_on(schema)
    assert (report.verdict, report.error) == ("unenforced", "UnsupportedSchemaError")
    assert [(p.pointer, p.keyword) for p in report.problems] == [
        ("/properties/a", "$ref"),
        ("/properties/b/items", "$ref"),
    ]
    assert report.keywords["$ref"].states == {"unenforced": 2}
    assert report.keywords["type"].states == {"exact": 1}


def test_keywords_below_and_beside_one_that_is_left_out_are_not_called_exact() -> None:
    from constrain.coverage.inspection import _leave_out_what_is_below

    places = [("", "if"), ("", "then"), ("/if", "type"), ("/then/items", "type"), ("/iffy", "type"), ("/a/if", "type")]
    states = dict.fromkeys(places, "exact")
    _leave_out_what_is_below([Place("", "if", "")], states)
    assert {place for place, state in states.items() if state == "unreached"} == {
        ("", "then"),
        ("/if", "type"),
        ("/then/items", "type"),
    }


@pytest.mark.parametrize(
    ("schema", "error", "pointer", "keyword"),
    [
        ({"properties": {"a/b": {"type": "objekt"}}, "required": []}, "InvalidSchemaError", "/properties/a~1b", "type"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "UnsatisfiableSchemaError", "", None),
        (False, "UnsatisfiableSchemaError", "", None),
    ],
)
def test_refusals(schema: Any, error: str, pointer: str, keyword: str | None) -> None:
    report = report_on(schema)
    assert (report.verdict, report.error, report.problems[0].pointer) == ("refused", error, pointer)
    assert keyword is None or report.problems[0].keyword == keyword
    marked = {state for use in report.keywords.values() for state in use.states}
    assert "refused" in marked
    assert not {"exact", "narrowed"} & marked


# Property tests


def grammar_of(schema: Any) -> Any:
    return constrain.json_schema(schema).compile(byte_vocabulary())


def test_an_automaton_that_accepts_too_much_or_too_little_is_found_out() -> None:
    wide, tight = {"type": "integer"}, {"type": "integer", "minimum": 0}
    given = [("5", True), ("-5", False)]
    right = verify(tight, grammar_of(tight), given, max_examples=0, seed=0)
    assert (right.outcome, right.verdicts) == ("agreed", 2)
    too_wide = verify(tight, grammar_of(wide), given, max_examples=0, seed=0)
    assert too_wide.outcome == "disagreed"
    assert "-5" in too_wide.message
    too_tight = verify(wide, grammar_of(tight), [("5", True), ("-5", True)], max_examples=0, seed=0)
    assert too_tight.outcome == "disagreed"


def test_an_instance_that_its_giver_and_the_validator_judge_differently_is_disputed() -> None:
    schema = {"type": "integer"}
    report = verify(schema, grammar_of(schema), [('"x"', True), ("1", False)], max_examples=0, seed=0)
    assert report.outcome == "agreed"
    assert len(report.disputed) == 2


def test_a_spelling_that_is_never_written_is_no_disagreement() -> None:
    schema = {"type": "integer", "minimum": 1}
    compiled = grammar_of(schema)
    text = "123e-0"
    assert not accepts(compiled, text)
    assert verify(schema, compiled, [(text, True)], max_examples=0, seed=0).outcome == "agreed"


def test_generated_examples_are_compared() -> None:
    report = verify(CITY, grammar_of(CITY), [], max_examples=12, seed=1)
    assert report.outcome == "agreed", report.message
    assert report.verdicts > 12
    assert report.counts["valid"] > 0
    assert report.counts["near_misses"] > 0
    assert report.counts["walks"] > 0


def test_a_failure_of_check_schema_is_a_disagreement_and_another_error_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    import constrain.testing

    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("accepts 5")

    monkeypatch.setattr(constrain.testing, "check_schema", fail)
    report = verify(CITY, grammar_of(CITY), [], max_examples=1, seed=1)
    assert (report.outcome, report.message) == ("disagreed", "accepts 5")

    def break_down(*_: Any, **__: Any) -> None:
        raise KeyError("x")

    monkeypatch.setattr(constrain.testing, "check_schema", break_down)
    report = verify(CITY, grammar_of(CITY), [], max_examples=1, seed=1)
    assert (report.outcome, report.message) == ("undecided", "KeyError: 'x'")


def test_a_schema_that_is_called_unsatisfiable_is_tested_too() -> None:
    wrong = verify_unsatisfiable({"type": "integer"}, [("7", True)], max_examples=0, seed=0)
    assert wrong.outcome == "disagreed"
    right = verify_unsatisfiable({"enum": [1], "type": "string"}, [("1", False)], max_examples=5, seed=0)
    assert right.outcome == "agreed"


@pytest.mark.parametrize(
    ("schema", "null", "other"),
    [
        ({"type": "string", "nullable": True}, True, False),
        ({"type": ["string"], "nullable": True}, True, False),
        ({"anyOf": [{"type": "string"}], "nullable": True}, True, False),
        ({"type": "string", "nullable": False}, False, False),
        ({"type": "string", "enum": ["a"], "nullable": True}, False, False),
        ({"const": {"type": "string", "nullable": True}}, False, False),
        ({"nullable": True}, True, True),
    ],
)
def test_nullable_means_to_the_validator_what_it_means_to_the_engine(schema: Any, null: bool, other: bool) -> None:
    plain = without_nullable(schema)
    for holder in (schema, {"properties": {"p": schema}, "required": ["p"]}):
        wrap = (lambda v: v) if holder is schema else (lambda v: {"p": v})
        compiled = grammar_of(holder)
        for value, valid in ((None, null), (5, other)):
            assert accepts(compiled, json.dumps(wrap(value))) is valid
            assert jsonschema.Draft202012Validator(without_nullable(holder)).is_valid(wrap(value)) is valid
    if "const" in schema:
        assert plain is schema


# Crash isolation


def entry(name: str, schema: Any) -> SchemaInput:
    return SchemaInput(name, "f.json", "", json.dumps(schema))


class Deadly(SchemaInput):
    """Ends the worker that unpickles it, as a crash of native code would."""

    __slots__ = ()

    def __reduce__(self) -> Any:
        return os._exit, (3,)


class Endless(SchemaInput):
    """Keeps the worker that unpickles it busy."""

    __slots__ = ()

    def __reduce__(self) -> Any:
        return time.sleep, (600,)


def test_an_exception_becomes_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("constrain.coverage.inspection.inspect", fail)
    (report,) = examine(entry("a", CITY), Options())
    assert (report.verdict, report.error) == ("crashed", "ZeroDivisionError")
    assert "by zero" in report.problems[0].reason
    assert report.keywords["(schema)"].state == "crashed"


class Greedy(SchemaInput):
    """Takes memory without end in the worker that unpickles it."""

    __slots__ = ()

    def __reduce__(self) -> Any:
        return bytearray, (1 << 40,)


def test_dead_and_endless_workers_cost_one_schema_each() -> None:
    entries = [
        entry("a", CITY),
        Deadly("deadly", "f.json", "", "true"),
        entry("b", {"type": "objekt"}),
        Endless("endless", "f.json", "", "true"),
        Greedy("greedy", "f.json", "", "true"),
        entry("c", {"type": "null"}),
    ]
    seen: list[str] = []
    reports = run(entries, Options(test=False), timeout=4, on_done=lambda report: seen.append(report.name))
    assert [report.name for report in reports] == [e.name for e in entries]
    assert [report.verdict for report in reports] == ["exact", "crashed", "refused", "crashed", "crashed", "exact"]
    assert sorted(seen) == sorted(e.name for e in entries)
    assert (reports[1].error, reports[3].error) == ("WorkerDied", "Timeout")
    assert "status 3" in reports[1].problems[0].reason
    assert "4 seconds" in reports[3].problems[0].reason


def test_two_workers_give_the_reports_of_one() -> None:
    entries = [entry(str(i), {"type": "string", "maxLength": i}) for i in range(5)] + [entry("bad", {"type": 5})]
    two = run(entries, Options(max_examples=2), jobs=2)
    assert [r.name for r in two] == [e.name for e in entries]
    for report, one in zip(two, entries, strict=True):
        *_, alone = examine(one, Options(max_examples=2))
        report.seconds = alone.seconds = report.test.seconds = alone.test.seconds = 0.0
        assert report == alone


def test_a_worker_that_does_not_start_is_an_error_and_no_endless_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_START_SECONDS", 0.0)
    with pytest.raises(RuntimeError, match="did not start"):
        run([entry("a", CITY)], Options(test=False))


# Totals


def made(name: str, verdict: str, keywords: dict[str, str], problems: list[Place] | None = None) -> SchemaReport:
    return SchemaReport(
        name,
        "f.json",
        "",
        f"f.json#{name}",
        verdict=verdict,
        problems=problems or [],
        keywords={keyword: KeywordUse(1, {state: 1}, [("", state)]) for keyword, state in keywords.items()},
    )


def some_reports() -> list[SchemaReport]:
    wrong = made("wrong", "exact", {"type": "exact"})
    wrong.test = TestReport("disagreed", 7, {"valid": 7}, "accepts 5")
    here, there = Place("/a", "$ref", "'x' is elsewhere"), Place("/b", "$ref", "'y' is elsewhere")
    more = {"$ref": "unenforced", "not": "unenforced"}
    return [
        made("good", "exact", {"type": "exact"}),
        wrong,
        made("spelling", "narrowed", {"type": "narrowed"}),
        made("left", "unenforced", {"$ref": "unenforced"}, [here]),
        made("more", "unenforced", more, [there, Place("", "not", "no")]),
    ]


def test_totals() -> None:
    reports = some_reports()
    summary = summarise(reports, 1.0)
    assert (summary.schemas, summary.enforced, summary.percent) == (5, 2, 40.0)
    assert summary.verdicts == Counter(exact=2, narrowed=1, unenforced=2)
    assert [(o.keyword, o.schemas, o.alone) for o in summary.obstacles] == [("$ref", 2, 1), ("not", 1, 0)]
    assert list(summary.keywords)[:2] == ["$ref", "not"]
    assert [r.name for r in worst_first(reports)] == ["wrong", "left", "more", "spelling", "good"]
    assert general("'a' has 3 items, \"b\" has 10") == general("'it\\'s' has 1 items, \"\" has 2")


def test_exit_statuses_of_a_run() -> None:
    good, wrong, spelling, left, _ = some_reports()

    def of(*reports: SchemaReport, fail_under: float = 100.0, strict: bool = False) -> int:
        return status(list(reports), summarise(list(reports), 0.0), fail_under=fail_under, strict=strict)

    assert of(good, spelling) == 0
    assert of(good, spelling, strict=True) == 1
    assert of(good, left) == 1
    assert of(good, left, fail_under=50) == 0
    assert of(good, left, left, fail_under=34) == 1
    assert of(*[good] * 9, wrong, fail_under=10) == 1
    undecided = made("u", "exact", {})
    undecided.test = TestReport("undecided")
    assert of(undecided) == 0
    assert of(undecided, strict=True) == 1


# The page


class Checker(html.parser.HTMLParser):
    """Notes the ids, links and resources of a page, and elements that are not closed in order."""

    VOID = frozenset({"meta", "br", "input", "wbr", "rect", "path", "img", "link"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.resources: list[str] = []
        self.tags: Counter[str] = Counter()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            if name == "href" and value:
                self.links.add(value)
            if name in ("src", "data", "srcset") or tag == "link":
                self.resources.append(f"{tag} {name}={value}")
            assert not name.startswith("on"), "scripts come from the page's own script only"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


def check_page(reports: list[SchemaReport]) -> tuple[str, Checker]:
    text = page(reports, summarise(reports, 1.0), ["f.json"])
    checker = Checker(text)
    assert checker.open == []
    assert checker.resources == []
    assert all(link.startswith("#") for link in checker.links)
    assert {link[1:] for link in checker.links} <= checker.ids
    assert not re.search(r"https?://|@import|url\(", text.replace("http://www.w3.org/2000/svg", ""))
    return text, checker


def test_a_page_of_some_schemas() -> None:
    text, checker = check_page(some_reports())
    assert "accepts 5" in text
    assert checker.ids >= {f"s{i}" for i in range(5)}
    for state in ("exact", "narrowed", "unenforced", "disagreed"):
        assert f'<rect class="{state}"' in text, state


def test_a_page_of_one_schema() -> None:
    text, _ = check_page([made("only", "exact", {})])
    assert "100 %" in text


def test_names_and_reasons_are_text_and_not_markup() -> None:
    evil = '</script><script>alert("1")</script><img src=x>'
    report = made(evil, "refused", {evil: "refused"}, [Place(f"/{evil}", evil, evil)])
    report.location = report.test.message = evil
    report.test.outcome = "disagreed"
    report.used_by = (evil,)
    report.annotations = report.narrowings = report.problems
    text, checker = check_page([report])
    assert checker.tags["script"] == 1
    assert checker.tags["img"] == 0
    assert evil not in text


def test_a_page_of_nine_thousand_schemas_stays_small() -> None:
    rng = random.Random(1)
    names = list(KEYWORDS)
    reports = []
    for number in range(9000):
        verdict = rng.choice(["exact", "narrowed", "annotation", "unenforced", "refused"])
        keywords = dict.fromkeys(rng.sample(names, 8), verdict)
        problems = [Place("/a", rng.choice(names), "why")] if verdict in ("unenforced", "refused") else []
        reports.append(made(f"schema {number}", verdict, keywords, problems))
    text, _ = check_page(reports)
    assert len(text) < 4_000_000
    columns = set(re.findall(r'<rect class="(?:exact|narrowed|annotation|unenforced|refused)" x="([\d.]+)"', text))
    assert len(columns) == MAX_COLUMNS
    shares = Counter(re.findall(r"<title>verdict in (\d+) of \1 schemas", text))
    assert sum(int(size) * count for size, count in shares.items()) == 9000
    assert "more schemas, none of them worse" in text


# The command


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    def call(*arguments: Any) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["constrain", "coverage", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            app.main()
        out, err = capsys.readouterr()
        return int(exit_.value.code or 0), out, err

    return call


def test_the_command_on_good_schemas(command: Any, tmp_path: Path) -> None:
    write(tmp_path / "a.json", CITY)
    write(tmp_path / "b.json", RECORDS)
    code, out, err = command(tmp_path, "--max-examples", 4, "--html", tmp_path / "r.html")
    assert (code, err) == (0, ""), out
    assert "3 of 3 schemas enforced (100.0 %)" in out
    assert "3 agreed" in out
    assert Checker((tmp_path / "r.html").read_text()).ids >= {"s0", "s1", "s2"}


def test_the_command_on_bad_schemas_as_json(command: Any, tmp_path: Path) -> None:
    path = write(
        tmp_path / "tools.json",
        [{"name": "good", "input_schema": CITY}, {"name": "bad", "input_schema": {"items": ELSEWHERE}}],
    )
    code, out, err = command(path, "--json", "-", "--no-test")
    assert (code, err) == (1, "")
    document = json.loads(out)
    assert document["summary"]["enforced"] == 1
    bad = document["schemas"][1]
    assert (bad["name"], bad["verdict"], bad["pointer"]) == ("bad", "unenforced", "/1/input_schema")
    assert bad["problems"][0]["pointer"] == "/items"
    assert bad["keywords"]["$ref"]["places"] == [{"pointer": "/items", "state": "unenforced"}]
    code, out, _ = command(path, "--no-test", "--fail-under", 50, "--json", tmp_path / "r.json")
    assert code == 0
    assert "at /items, '$ref'" in out
    assert json.loads((tmp_path / "r.json").read_text())["summary"]["percent"] == 50.0


def test_the_table_is_cut_with_a_count(command: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "many.jsonl", "\n".join(['{"type": "null"}'] * 60 + ['{"type": "objekt"}']))
    code, out, _ = command(path, "--no-test")
    assert code == 1
    assert "… and 21 more schemas" in out
    assert out.splitlines()[1].startswith("line 61"), "the worst comes first"


def test_usage_and_input_errors(command: Any, tmp_path: Path) -> None:
    assert command()[0] == 2
    code, out, err = command(tmp_path / "absent.json")
    assert (code, out) == (2, "")
    assert "absent.json" in err
    good = write(tmp_path / "a.json", {"type": "null"})
    code, out, err = command(good, write(tmp_path / "b.json", "{"), "--no-test")
    assert code == 2
    assert "1 of 1 schemas enforced" in out, "what can be read is reported on"
    assert "b.json" in err
    assert command(good, "--html", tmp_path / "no" / "r.html")[0] == 2
    (tmp_path / "empty").mkdir()
    assert command(tmp_path / "empty")[0] == 2


def test_missing_packages_of_the_tests_are_named(command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "constrain.testing", None)
    code, _, err = command(write(tmp_path / "a.json", CITY))
    assert code == 2
    assert "--no-test" in err


def test_the_shared_cases(command: Any) -> None:
    path = shared("cases", "schema-cases.json")
    cases = json.loads(path.read_text())
    _, out, _ = command(path, "--json", "-", "--max-examples", 3)
    document = json.loads(out)
    assert [s["name"] for s in document["schemas"]] == [case["id"] for case in cases]
    for report, case in zip(document["schemas"], cases, strict=True):
        if report["verdict"] in ("exact", "narrowed", "annotation"):
            given = len(case.get("accept", [])) + len(case.get("reject", []))
            assert report["test"]["counts"].get("given", 0) == given
            assert not report["test"]["disputed"]
