"""Finding schemas: in files, folders, line-delimited files, tool lists, OpenAPI documents and lists of test cases.

A schema travels as JSON text: small in memory when there are thousands, cheap to send to another process, and parsed
there. What looks like no schema at all is a problem when it was named, and passed over when it was only in a folder:
an arbitrary JSON object read as a schema would constrain nothing and be reported as exact.
"""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from constrain.coverage.keywords import is_schema_like
from constrain.coverage.openapi import openapi_schemas
from constrain.coverage.tool_lists import tool_schemas
from constrain.files import file_problem


@dataclass(frozen=True, slots=True)
class SchemaInput:
    """A schema and where it was found.

    Attributes:
        name: what to call it.
        file: the file, as it was named.
        pointer: JSON pointer of the schema in the file or line; "" for all of it.
        text: the schema as JSON text.
        tests: instances that came with it: JSON text and whether it is said to be valid.
        absolute: whether pointers of places in the schema are pointers into the file.
        used_by: the operations of an API that use it.
        line: line of the file, from 1; 0 where the file is not read line by line.
    """

    name: str
    file: str
    pointer: str
    text: str
    tests: tuple[tuple[str, bool], ...] = ()
    absolute: bool = False
    used_by: tuple[str, ...] = ()
    line: int = 0

    @property
    def location(self) -> str:
        """File, line and pointer in one text."""
        place = self.file + (f":{self.line}" if self.line else "")
        return f"{place}#{self.pointer}" if self.pointer else place


@dataclass(frozen=True, slots=True)
class InputProblem:
    """Something that was named as input and could not be read, or holds no schema."""

    file: str
    reason: str


@dataclass(slots=True)
class Inputs:
    """What was found. `passed_over` lists files of folders that hold no schema."""

    schemas: list[SchemaInput]
    problems: list[InputProblem]
    passed_over: list[str]


class _NoSchema(ValueError):
    pass


def read(paths: Iterable[Path], limit: int | None = None) -> Inputs:
    """Everything that the paths hold, in order; a folder stands for its `*.json` files, those of subfolders included.

    Args:
        paths: files and folders.
        limit: how many schemas to take; all where None.
    """
    found = Inputs([], [], [])
    for path in paths:
        if path.is_dir():
            files = sorted(p for p in path.rglob("*.json") if p.is_file())
            if not files:
                found.problems.append(InputProblem(str(path), "the folder holds no .json file"))
        else:
            files = [path]
        for file in files:
            if limit is not None and len(found.schemas) >= limit:
                return found
            _read_file(file, found, limit, named=file is path)
    return found


def _read_file(path: Path, found: Inputs, limit: int | None, *, named: bool) -> None:
    before = len(found.schemas)
    room = None if limit is None else limit - before
    try:
        for entry in _entries(path, found.problems):
            if room is not None and len(found.schemas) - before >= room:
                return
            found.schemas.append(entry)
        if len(found.schemas) == before and not any(p.file == str(path) for p in found.problems):
            raise _NoSchema("there is no schema in it")
    except _NoSchema as error:
        if named:
            found.problems.append(InputProblem(str(path), str(error)))
        else:
            found.passed_over.append(str(path))
    except OSError as error:
        found.problems.append(InputProblem(str(path), file_problem(error)))
    except (ValueError, EOFError, lzma.LZMAError) as error:
        found.problems.append(InputProblem(str(path), f"cannot be read as JSON: {error}"))
    except RecursionError:
        found.problems.append(InputProblem(str(path), "nests too deeply for Python's JSON parser"))


def _entries(path: Path, problems: list[InputProblem]) -> Iterator[SchemaInput]:
    names = path.name.lower().split(".")
    if any(extension in names[-2:] for extension in ("jsonl", "ndjson")):
        yield from _lines(path, problems)
        return
    with _open(path) as file:
        value = json.loads(file.read())
    yield from _of_value(value, str(path), path.name)


def _lines(path: Path, problems: list[InputProblem]) -> Iterator[SchemaInput]:
    with _open(path) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                yield from _of_value(json.loads(line), str(path), f"line {number}", number)
            except _NoSchema as error:
                problems.append(InputProblem(f"{path}:{number}", str(error)))
            except (ValueError, RecursionError) as error:
                problems.append(InputProblem(f"{path}:{number}", f"cannot be read as JSON: {error}"))


def _open(path: Path) -> Any:
    if path.suffix == ".xz":
        return lzma.open(path, "rt", encoding="utf-8")
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8-sig")


def _of_value(value: Any, file: str, name: str, line: int = 0) -> Iterator[SchemaInput]:
    """The schemas of one JSON document."""
    if isinstance(value, dict) and "openapi" in value:
        for located, schema in openapi_schemas(value):
            yield SchemaInput(
                located.name,
                file,
                located.pointer,
                json.dumps(schema),
                absolute=True,
                used_by=tuple(dict.fromkeys(located.used_by)),
                line=line,
            )
        return
    if isinstance(value, dict) and "swagger" in value:
        raise _NoSchema("Swagger 2.0 is not understood; convert it to OpenAPI 3")
    if _is_record(value):
        yield _of_record(value, file, name, "", line)
        return
    tools = list(tool_schemas(value))
    if tools:
        for tool, pointer, schema in tools:
            yield SchemaInput(tool, file, pointer, json.dumps(schema), line=line)
        return
    if isinstance(value, list):
        for position, member in enumerate(value):
            label = f"{name}[{position}]"
            if _is_record(member):
                yield _of_record(member, file, label, f"/{position}", line)
            elif is_schema_like(member) and isinstance(member, dict):
                yield SchemaInput(label, file, f"/{position}", json.dumps(member), line=line)
            else:
                raise _NoSchema(f"the member {position} of the list is no schema, tool or test case")
        return
    if not is_schema_like(value):
        raise _NoSchema("it is no schema, tool list, OpenAPI document or list of these")
    yield SchemaInput(name, file, "", json.dumps(value), line=line)


def _is_record(value: Any) -> bool:
    """Whether a value is an object around a schema, such as a line of MaskBench or a case of a test suite."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("schema"), dict | bool)
        and not any(name in value for name in ("$schema", "type", "properties", "$ref", "allOf", "anyOf", "oneOf"))
    )


def _of_record(record: dict[str, Any], file: str, name: str, pointer: str, line: int) -> SchemaInput:
    for key in ("id", "name", "description", "title"):
        if isinstance(record.get(key), str | int) and not isinstance(record.get(key), bool):
            name = str(record[key])
            break
    schema = json.dumps(record["schema"])
    return SchemaInput(name, file, pointer + "/schema", schema, tuple(_tests(record)), line=line)


def _tests(record: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Instances of a record: `tests` with values, `accept` and `reject` with texts (or values)."""
    tests = record.get("tests")
    for test in tests if isinstance(tests, list) else ():
        if isinstance(test, dict) and isinstance(test.get("valid"), bool) and "data" in test:
            yield json.dumps(test["data"], ensure_ascii=False), test["valid"]
    for key, valid in (("accept", True), ("reject", False)):
        instances = record.get(key)
        for instance in instances if isinstance(instances, list) else ():
            yield (instance if isinstance(instance, str) else json.dumps(instance, ensure_ascii=False)), valid
