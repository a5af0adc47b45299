"""The official JSON Schema Test Suite, required parts: every schema compiles to right verdicts or is refused by name.

Instances are driven as the text that `json.dumps` writes. `format.json` is left out: it says that formats are
annotations, while this library asserts those it knows, as the suite's optional part does; that part is run too, without
the texts that a grammar lists as narrowed.
`CONSTRAIN_REPORT=1` prints the counts.
"""

from __future__ import annotations

import collections
import copy
import json
import os
import warnings
from pathlib import Path
from typing import Any

import pytest

import constrain
from constrain.grammars.errors import (
    ConstrainError,
    InvalidSchemaError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
)
from tests.grammars.formats.texts import narrowed
from tests.oracles import SHARED, SUPPORTED_KEYWORDS, engine_agrees, finite, subschemas, used_keywords, vocabulary

SUITE = SHARED / "data" / "json-schema-test-suite"
DRAFTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
OPTIONAL = [
    "ecmascript-regex.json",
    "bignum.json",
    "non-bmp-regex.json",
    "id.json",
    "unknownKeyword.json",
    "format/*.json",
]

pytestmark = pytest.mark.skipif(
    not SUITE.exists(), reason="needs ../shared/data/json-schema-test-suite beside the checkout"
)


ANNOTATIONS = frozenset(
    (
        *("$schema", "$comment", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"),
        *("contentEncoding", "contentMediaType", "contentSchema"),
    )
)
"""Keywords without any effect on validity."""


def must_compile(schema: Any) -> bool:
    """Whether a schema stays within the supported keywords, refers by local pointers and sets no base of its own.

    Items that must differ can be followed only where they come from a finite set, and what is left unevaluated not
    under a negation.
    """
    if isinstance(schema, bool):
        return True
    used = used_keywords(schema)
    if not used <= SUPPORTED_KEYWORDS | ANNOTATIONS or "uniqueItems" in used:
        return False
    if used & {"unevaluatedProperties", "unevaluatedItems"} and used & {"not", "if", "oneOf", "contains"}:
        return False
    return all(
        part.get("$schema", DRAFTS["draft7"]) in DRAFTS.values() and part.get("$ref", "#").partition("/")[0] == "#"
        for part in subschemas(schema)
    )


def _is_narrowed(grammar: constrain.Grammar, text: Any) -> bool:
    """Whether the grammar says that it leaves out such texts of a format, though they have it."""
    listed = {(entry.pointer, entry.keyword) for entry in grammar.narrowings}
    return ("", "format") in listed and any(narrowed(name, text) for name in ("hostname", "idn-hostname"))


def run_file(path: Path, dialect: str) -> tuple[collections.Counter[str], list[str]]:
    """Counts of groups and tests by outcome, and a line for every fault."""
    counts: collections.Counter[str] = collections.Counter()
    faults: list[str] = []
    for group in json.loads(path.read_text(encoding="utf-8")):
        schema = copy.deepcopy(group["schema"])
        if isinstance(schema, dict) and "$schema" not in schema:
            schema = {"$schema": dialect, **schema}
        place = f"{path.parent.name}/{path.name}: {group['description']}"
        counts["groups"] += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                grammar = constrain.json_schema(schema)
                engine = grammar.compile(vocabulary("bytes"))
        except UnsatisfiableSchemaError as error:
            counts["unsatisfiable"] += 1
            faults += [
                f"{place}: refused as unsatisfiable ({error}), but valid: {t['data']!r}"
                for t in group["tests"]
                if t["valid"]
            ]
            continue
        except (UnsupportedSchemaError, InvalidSchemaError, constrain.ResourceLimitError) as error:
            counts[f"refused {type(error).__name__} {error.keyword}"] += 1
            counts["refused"] += 1
            if must_compile(group["schema"]) or not error.reason:
                faults.append(f"{place}: refused: {error!r} {json.dumps(schema)[:300]}")
            continue
        except ConstrainError as error:
            faults.append(f"{place}: {error!r}")
            continue
        except Exception as error:
            faults.append(f"{place}: not a named error: {error!r} {json.dumps(schema)[:300]}")
            continue
        for test in group["tests"]:
            if not finite(test["data"]):
                continue
            counts["tests"] += 1
            try:
                right = engine_agrees(grammar, engine, test["data"], test["valid"])
            except Exception as error:
                faults.append(f"{place}: {test['description']}: raised {error!r}")
                continue
            if not right and test["valid"] and _is_narrowed(grammar, test["data"]):
                counts["narrowed"] += 1
            elif not right:
                faults.append(
                    f"{place}: {test['description']}: {json.dumps(test['data'], ensure_ascii=False)[:200]} should be "
                    f"{'valid' if test['valid'] else 'invalid'} under {json.dumps(schema)[:300]}"
                )
    return counts, faults


@pytest.mark.parametrize("draft", DRAFTS)
def test_required(draft: str) -> None:
    total: collections.Counter[str] = collections.Counter()
    faults: list[str] = []
    for path in sorted((SUITE / draft).glob("*.json")):
        if path.name != "format.json":
            counts, found = run_file(path, DRAFTS[draft])
            total += counts
            faults += found
    if os.environ.get("CONSTRAIN_REPORT"):
        print(draft, dict(total))
    assert not faults, f"{len(faults)} of {total['tests']} tests:\n" + "\n".join(faults[:40])
    assert total["tests"] > 300, f"only {total['tests']} tests ran: {dict(total)}"


@pytest.mark.parametrize("draft", ["draft7", "draft2020-12"])
def test_optional(draft: str) -> None:
    total: collections.Counter[str] = collections.Counter()
    faults: list[str] = []
    for pattern in OPTIONAL:
        for path in sorted((SUITE / draft / "optional").glob(pattern)):
            counts, found = run_file(path, DRAFTS[draft])
            total += counts
            faults += found
    if os.environ.get("CONSTRAIN_REPORT"):
        print(draft, "optional", dict(total))
    assert not faults, f"{len(faults)} of {total['tests']} tests:\n" + "\n".join(faults[:40])
