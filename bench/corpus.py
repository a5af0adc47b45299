"""MaskBench-format corpora: one JSON object a line, `{"id", "schema", "tests": [{"valid", "data", "description"}]}`.

A corpus is read lazily, as one of 9,000 schemas is 60 MB of text; files may be compressed with xz or gzip. MaskBench
itself is a folder with one `.json` file per schema, named after it; that is read as well, and so is a file with a list.
"""

from __future__ import annotations

import gzip
import json
import lzma
import random
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO


@dataclass(frozen=True, slots=True)
class Instance:
    """A value and whether the corpus calls it valid."""

    data: Any
    valid: bool
    description: str = ""

    @property
    def text(self) -> str:
        """The text that is tokenised: Python's default style, other scripts as themselves."""
        return json.dumps(self.data, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Item:
    """A schema with its instances."""

    id: str
    schema: Any
    instances: tuple[Instance, ...]


def default_corpus() -> Path:
    """The development corpus beside a checkout. Raises FileNotFoundError where there is none."""
    path = Path(__file__).resolve().parents[1] / ".." / "shared" / "data" / "maskbench-dev.jsonl.xz"
    if not path.exists():
        raise FileNotFoundError("no corpus beside the checkout; name a MaskBench-format .jsonl file with --corpus")
    return path.resolve()


def _open(path: Path) -> TextIO:
    if path.suffix == ".xz":
        return lzma.open(path, "rt", encoding="utf-8")
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")


def parse_item(line: str) -> Item:
    """An item from its line. Raises ValueError or KeyError where the line is not in the format."""
    record = json.loads(line)
    tests = record.get("tests", ())
    instances = tuple(Instance(t["data"], bool(t["valid"]), t.get("description", "")) for t in tests)
    return Item(str(record["id"]), record["schema"], instances)


BUILT_IN = "builtin"
"""The name of the schemas that come with the benchmark."""


def read_named(name: str | Path) -> Iterator[str]:
    """The items of the built-in set, of the development corpus ("dev"), or of a file or folder.

    Raises FileNotFoundError where there is no such file, ValueError where a file is not in the format.
    """
    if name == BUILT_IN:
        from constrain.bench import tool_schemas

        yield from tool_schemas.lines()
    else:
        yield from read_lines(default_corpus() if name == "dev" else Path(name))


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a corpus that hold an item; a folder is read in the order of its names."""
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.name.endswith((".json", ".jsonl", ".jsonl.xz", ".jsonl.gz")))
        if not files:
            raise FileNotFoundError(f"{path} holds no .json or .jsonl file")
        for file_path in files:
            yield from read_lines(file_path)
        return
    if path.suffix == ".json":
        yield from _read_json(path)
        return
    with _open(path) as file:
        for line in file:
            if line.strip():
                yield line


def _read_json(path: Path) -> Iterator[str]:
    """The items of a JSON file: one, or a list of them; an item without a name has that of the file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not JSON: {error}") from None
    records = content if isinstance(content, list) else [content]
    for number, record in enumerate(records):
        if not isinstance(record, dict) or "schema" not in record:
            raise ValueError(f"{path}: no item of a corpus, which has 'schema' and 'tests'")
        name = path.stem if len(records) == 1 else f"{path.stem}-{number}"
        yield json.dumps({"id": record.get("id", name), **record}, ensure_ascii=False)


def check(lines: Iterable[str], source: str) -> None:
    """Raises ValueError with the number of the first line that holds no item."""
    for number, line in enumerate(lines, 1):
        try:
            parse_item(line)
        except (ValueError, KeyError, TypeError) as error:
            what = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise ValueError(f"{source}, item {number}: not in MaskBench's format: {what}") from None


def select(
    path: Path | str,
    *,
    ids: Collection[str] = (),
    offset: int = 0,
    limit: int | None = None,
    seed: int | None = None,
) -> list[str]:
    """Lines of the corpus, unparsed.

    Args:
        path: a `.jsonl` file, plain or with `.xz` or `.gz` behind, or another source of `read_named`.
        ids: only items with these ids; a name that ends in `*` stands for all ids that begin so.
        offset: how many items to leave out at the beginning (after shuffling).
        limit: how many items to take; all where None.
        seed: take a random sample by this seed; the order of the file where None.

    Raises:
        ValueError: an id names no item.
    """
    lines: Iterator[str] | list[str] = read_named(path)
    if ids:
        exact = {i for i in ids if not i.endswith("*")}
        starts = tuple(i[:-1] for i in ids if i.endswith("*"))
        kept, found = [], set()
        for line in lines:
            name = str(json.loads(line)["id"])
            if name in exact or (starts and name.startswith(starts)):
                kept.append(line)
                found.add(name)
        missing = exact - found
        missing |= {f"{s}*" for s in starts if not any(name.startswith(s) for name in found)}
        if missing:
            raise ValueError(f"not in {Path(path).name}: {', '.join(sorted(missing))}")
        lines = kept
    if seed is not None:
        lines = list(lines)
        random.Random(seed).shuffle(lines)
    taken: list[str] = []
    for number, line in enumerate(lines):
        if limit is not None and len(taken) >= limit:
            break
        if number >= offset:
            taken.append(line)
    return taken
