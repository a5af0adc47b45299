"""Loading against corpora: the official suite's verdicts, the `referencing` library's targets, real schemas."""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from constrain.grammars.errors import InvalidSchemaError, UnsupportedSchemaError
from constrain.grammars.json_schema.dialect import Dialect, find_dialect
from constrain.grammars.json_schema.load import load
from constrain.grammars.json_schema.references import References, Unresolvable
from tests.grammars.json_schema.ir_validator import is_valid

SHARED = Path(__file__).resolve().parents[3] / ".." / "shared"
SUITE = SHARED / "data" / "json-schema-test-suite"
REAL = SHARED / "data" / "maskbench-dev.jsonl.xz"
FULL = os.environ.get("CONSTRAIN_FULL") == "1"
DRAFTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
# Regular expressions are another matter than loading, and Python's differ from ECMAScript's; draft 07 lets
# validators check encoded content, and the suite expects it there.
ELSEWHERE = ("ecmascript-regex.json", "content.json")

UNENFORCED = frozenset(("oneOf", "not", "if", "patternProperties", "contains", "unevaluatedProperties", "format"))


def groups(draft: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if not SUITE.is_dir():
        pytest.skip("the JSON Schema test suite is not beside this checkout")
    for path in sorted([*(SUITE / draft).glob("*.json"), *(SUITE / draft / "optional").glob("*.json")]):
        for group in json.loads(path.read_text(), parse_float=Fraction):
            schema = group["schema"]
            if isinstance(schema, dict) and "$schema" not in schema:
                group["schema"] = {"$schema": DRAFTS[draft], **schema}
            yield path.name, group


def real_schemas(count: int) -> Iterator[dict[str, Any]]:
    if not REAL.is_file():
        pytest.skip("the MaskBench schemas are not beside this checkout")
    with lzma.open(REAL, "rt") as lines:
        for line in islice(lines, None if FULL else count):
            yield json.loads(line)


@pytest.mark.parametrize("draft", DRAFTS)
def test_official_suite(draft: str) -> None:
    """Every schema of the suite gives its verdicts. What leads to documents that are not there is refused.

    Formats are left aside: the suite has them hold for every string, or not, by the choice of the validator.
    """
    refused: list[str] = []
    checked = 0
    for name, group in groups(draft):
        try:
            document = load(group["schema"], not_yet=frozenset())
        except UnsupportedSchemaError as error:
            refused.append(error.keyword)
            continue
        if name in ELSEWHERE or "\\p{" in json.dumps(group["schema"], default=float):
            continue
        for test in group["tests"]:
            checked += 1
            verdict = is_valid(document, test["data"], formats=False)
            assert verdict == test["valid"], (name, group["description"], test["description"])
    assert set(refused) <= {"$ref", "$schema"}
    assert len(refused) <= 25
    assert checked > 500


def targets_by_referencing(schema: object, dialect: Dialect) -> Iterator[tuple[object, object, str]]:
    """(what `References` found, what `referencing` found, the reference) for each reference of a schema."""
    referencing = pytest.importorskip("referencing")
    jsonschema = pytest.importorskip("referencing.jsonschema")
    from referencing.exceptions import Unresolvable as NotFound

    specification = getattr(jsonschema, dialect.specification)
    resource = referencing.Resource(schema, specification)
    resolver = referencing.Registry().with_resource("", resource).resolver().in_subresource(resource)
    if resource.id() is not None:
        registry = referencing.Registry().with_resource(resource.id(), resource)
        resolver = registry.resolver(resource.id())
    references = References(schema, dialect)
    stack = [(resource, resolver, references.root)]
    while stack:
        resource, resolver, scope = stack.pop()
        contents = resource.contents
        if not isinstance(contents, dict):
            continue
        reference = contents.get("$ref")
        if isinstance(reference, str):
            found: object
            expected: object
            try:
                found = references.resolve(reference, scope).schema
            except Unresolvable:
                found = Unresolvable
            try:
                expected = resolver.lookup(reference).contents
            except NotFound:
                expected = Unresolvable
            # For an anchor that is dynamic too, the library follows the dynamic scope, which $ref must not.
            if not (isinstance(expected, dict) and "$dynamicAnchor" in expected):
                yield found, expected, reference
        for subresource in resource.subresources():
            inner = (
                references.enter(subresource.contents, scope, "") if isinstance(subresource.contents, dict) else scope
            )
            stack.append((subresource, resolver.in_subresource(subresource), inner))


@pytest.mark.parametrize("draft", DRAFTS)
def test_targets_agree_with_the_referencing_library(draft: str) -> None:
    dialect = find_dialect(DRAFTS[draft])
    assert dialect is not None
    resolved = 0
    for name, group in groups(draft):
        schema = group["schema"]
        if isinstance(schema, bool) or find_dialect(schema.get("$schema", "")) is not dialect:
            continue
        for found, expected, reference in targets_by_referencing(schema, dialect):
            if reference.startswith(("http://json-schema.org", "https://json-schema.org")):
                continue
            assert found is expected, (name, group["description"], reference)
            resolved += found is not Unresolvable
    assert resolved >= 30


def test_targets_in_real_schemas_agree_with_the_referencing_library() -> None:
    resolved = 0
    for entry in real_schemas(300):
        schema = entry["schema"]
        text = json.dumps(schema)
        # A dialect of an inner subschema: there the library lets that dialect's identifiers move the base.
        if text.count('"$schema": "http') > ('"$schema"' in text and isinstance(schema.get("$schema"), str)):
            continue
        dialect = find_dialect(schema.get("$schema", DRAFTS["draft2020-12"]))
        assert dialect is not None
        try:
            for found, expected, reference in targets_by_referencing(schema, dialect):
                if not reference.startswith("http://json-schema.org"):
                    assert found is expected, (entry["id"], reference)
                resolved += found is not Unresolvable
        except AttributeError:
            continue  # the library stops at malformed keywords
    assert resolved > 500


def test_real_schemas_give_the_verdicts_of_their_labels() -> None:
    pytest.importorskip("jsonschema_rs")  # judges formats
    checked = 0
    for entry in real_schemas(600):
        try:
            document = load(entry["schema"], not_yet=frozenset())
        except InvalidSchemaError:
            assert entry["id"] in ("JsonSchemaStore---cloudify", "JsonSchemaStore---config")  # a circle, a boolean
            continue
        for test in entry["tests"]:
            checked += 1
            data = json.loads(json.dumps(test["data"]), parse_float=Fraction)
            assert is_valid(document, data) == test["valid"], entry["id"]
    assert checked > 1500


def test_real_schemas_load_or_are_refused_by_name() -> None:
    refused = set()
    for entry in real_schemas(300):
        load(entry["schema"], on_unsupported="warn", not_yet=UNENFORCED)
        try:
            document = load(entry["schema"], not_yet=UNENFORCED)
        except UnsupportedSchemaError as error:
            refused.add(error.keyword)
            continue
        assert document == load(entry["schema"], not_yet=frozenset()), entry["id"]
    assert {"oneOf", "format"} <= refused <= UNENFORCED
