"""MaskBench-format corpora: one JSON object a line, `{"id", "schema", "tests": [{"valid", "data", "description"}]}`.

A corpus is read lazily, as one of 9,000 schemas is 60 MB of text; files may be compressed with xz or gzip.
"""

from __future__ import annotations

import gzip
import json
import lzma
import random
from collections.abc import Collection, Iterator
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


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a corpus that hold an item."""
    with _open(path) as file:
        for line in file:
            if line.strip():
                yield line


def select(
    path: Path,
    *,
    ids: Collection[str] = (),
    offset: int = 0,
    limit: int | None = None,
    seed: int | None = None,
) -> list[str]:
    """Lines of the corpus, unparsed.

    Args:
        path: a `.jsonl` file, plain or with `.xz` or `.gz` behind.
        ids: only items with these ids; a name that ends in `*` stands for all ids that begin so.
        offset: how many items to leave out at the beginning (after shuffling).
        limit: how many items to take; all where None.
        seed: take a random sample by this seed; the order of the file where None.

    Raises:
        ValueError: an id names no item.
    """
    lines: Iterator[str] | list[str] = read_lines(path)
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
            raise ValueError(f"not in {path.name}: {', '.join(sorted(missing))}")
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
