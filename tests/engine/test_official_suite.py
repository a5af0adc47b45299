"""The official JSON Schema Test Suite, required and optional parts: every schema compiles, and every verdict is right.

Instances are driven as the text that `json.dumps` writes; the suite's remote documents are passed as `resources`. Two
choices of the suite are not this library's, which asserts the formats it knows in every draft and never the content of
strings: `ANOTHER_CHOICE`. Texts of a format that a grammar lists as narrowed may be refused.
`CONSTRAIN_REPORT=1` prints the counts.
"""

from __future__ import annotations

import collections
import copy
import fnmatch
import functools
import json
import os
import warnings
from pathlib import Path
from typing import Any

import pytest

import constrain
from constrain.grammars.errors import ConstrainError, UnsatisfiableSchemaError
from tests.grammars.formats.texts import narrowed
from tests.oracles import SHARED, engine_agrees, finite, vocabulary

SUITE = SHARED / "data" / "json-schema-test-suite"
DRAFTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
HOST = "http://localhost:1234/"

ANOTHER_CHOICE = ("*/format.json: * is only an annotation by default", "optional/content.json: *")
"""Tests that are left out, by folder, file and description."""

pytestmark = pytest.mark.skipif(
    not SUITE.exists(), reason="needs ../shared/data/json-schema-test-suite beside the checkout"
)


@functools.lru_cache(maxsize=1)
def remotes() -> dict[str, str]:
    """The documents that the suite's schemas refer to, as text by URI."""
    folder = SUITE / "remotes"
    return {HOST + path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*.json"))}


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
                grammar = constrain.json_schema(schema, resources=remotes())
                engine = grammar.compile(vocabulary("bytes"))
        except UnsatisfiableSchemaError as error:
            counts["unsatisfiable"] += 1
            faults += [
                f"{place}: refused as unsatisfiable ({error}), but valid: {t['data']!r}"
                for t in group["tests"]
                if t["valid"]
            ]
            continue
        except ConstrainError as error:
            faults.append(f"{place}: refused: {error!r} {json.dumps(schema)[:300]}")
            continue
        except Exception as error:
            faults.append(f"{place}: not a named error: {error!r} {json.dumps(schema)[:300]}")
            continue
        for test in group["tests"]:
            title = f"{path.parent.name}/{path.name}: {test['description']}"
            if not finite(test["data"]) or any(fnmatch.fnmatch(title, pattern) for pattern in ANOTHER_CHOICE):
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


@pytest.mark.parametrize("part", ["required", "optional"])
@pytest.mark.parametrize("draft", DRAFTS)
def test_suite(draft: str, part: str) -> None:
    total: collections.Counter[str] = collections.Counter()
    faults: list[str] = []
    folder = SUITE / draft
    for path in sorted(folder.glob("*.json") if part == "required" else (folder / "optional").rglob("*.json")):
        counts, found = run_file(path, DRAFTS[draft])
        total += counts
        faults += found
    if os.environ.get("CONSTRAIN_REPORT"):
        print(draft, part, dict(total))
    assert not faults, f"{len(faults)} of {total['tests']} tests:\n" + "\n".join(faults[:40])
    assert total["tests"] > (500 if part == "required" else 150), f"only {total['tests']} tests ran: {dict(total)}"
