"""A benchmark's result as a document: what was measured, on what, with which versions, and who could not take part.

Every benchmark writes the same outer form, so that a report can be made of any number of files, from any machine:
`{"format": "constrain-bench", "version": 1, "kind": ..., "meta": ..., "skipped": [...], "data": ...}`.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from constrain.bench.engines import ENGINES, Unavailable, cores, version
from constrain.files import file_problem

FORMAT = "constrain-bench"
VERSION = 1
KINDS = ("masks", "batch", "apply", "mass", "startup", "generate", "scale", "toolcalls")


class BenchError(Exception):
    """Something that the person at the keyboard can put right; shown as one line."""


@dataclass
class Result:
    """What one benchmark found.

    Attributes:
        kind: one of `KINDS`.
        meta: machine, versions, date, tokenizer, options.
        skipped: engines that did not take part, as `{"engine", "reason", "remedy"}`.
        data: the figures; the module of the kind says how.
    """

    kind: str
    meta: dict[str, Any]
    skipped: list[dict[str, str]] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)

    def skip(self, unavailable: Unavailable) -> None:
        """Note that an engine does not take part."""
        entry = {"engine": unavailable.engine, "reason": unavailable.reason, "remedy": unavailable.remedy}
        if entry not in self.skipped:
            self.skipped.append(entry)

    def as_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "meta": self.meta,
            "skipped": self.skipped,
            "data": self.data,
        }

    def write(self, path: Path) -> None:
        """Write the document. Raises `BenchError` where that cannot be done."""
        text = json.dumps(self.as_json(), ensure_ascii=False, allow_nan=False, indent=1) + "\n"
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise BenchError(f"{path}: {file_problem(error)}") from None


def read(path: Path) -> Result:
    """A document from its file. Raises `BenchError` where there is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BenchError(f"{path}: {file_problem(error)}") from None
    except ValueError as error:
        raise BenchError(f"{path} is not JSON: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise BenchError(f"{path} is no result of `constrain bench`")
    if content.get("version") != VERSION or content.get("kind") not in KINDS:
        raise BenchError(f"{path} was written by another version of `constrain bench`")
    missing = [k for k in ("meta", "skipped", "data") if k not in content]
    if missing:
        raise BenchError(f"{path} has no {missing[0]!r}")
    return Result(content["kind"], content["meta"], content["skipped"], content["data"])


def describe(engines: Iterable[str], tokenizer: Any = None, **options: Any) -> dict[str, Any]:
    """The `meta` of a result.

    Args:
        engines: those that take part.
        tokenizer: a `Tokenizer`; None where none is used.
        options: whatever else tells how it was measured.
    """
    meta: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "commit": _commit(),
        "cpu": _cpu(),
        "cores": cores(),
        "memory_gib": _memory_gib(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "engines": {
            name: {"version": version(name), "note": ENGINES[name].note if name in ENGINES else ""} for name in engines
        },
        "libraries": _libraries(),
    }
    if tokenizer is not None:
        meta["tokenizer"] = {"name": tokenizer.name, "size": tokenizer.size}
    return meta | {"options": options}


def _libraries() -> dict[str, str]:
    import importlib.metadata

    found = {}
    for name in ("numpy", "numba", "torch", "transformers", "tokenizers"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _commit() -> str:
    """The commit of the checkout that this runs from; "" where it is no checkout."""
    folder = Path(__file__).resolve().parent
    try:
        command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"]
        shown = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
        tracked = subprocess.run(
            ["git", "-C", str(folder), "ls-files", "--error-unmatch", Path(__file__).name],
            capture_output=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return shown.stdout.strip() if not shown.returncode and not tracked.returncode else ""


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory_gib() -> float:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (ValueError, OSError):
        return 0.0
