"""The rooms: what is packaged, what may import what, and what `import constrain` costs."""

from __future__ import annotations

import ast
import configparser
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import constrain

ROOT = Path(__file__).resolve().parents[1]
ROOMS = {
    "constrain": "constrain",
    "constrain.grammars": "grammars",
    "constrain.kernels": "kernels",
    "constrain.bench": "bench",
}

STANDARD = set(sys.stdlib_module_names)
MAY_IMPORT = {
    "grammars": {"numpy", "interegular", "referencing", "jsonschema_specifications", "constrain.grammars"},
    "kernels": {"numpy", "numba", "llvmlite", "constrain.kernels"},
}
"""What a room may import besides the standard library. The other rooms may import these and third parties freely."""

DEVICE_FILES = {"kernels": {"torch", "triton"}}
"""What files named device*.py may import in addition."""


def packages_on_disk() -> set[str]:
    found = set()
    for name, folder in ROOMS.items():
        for init in (ROOT / folder).rglob("__init__.py"):
            parts = init.parent.relative_to(ROOT / folder).parts
            found.add(".".join((name, *parts)))
    return found


def imports_of(path: Path, package: str) -> Iterator[tuple[int, str]]:
    """Line and absolute module name of every import, also those inside functions and `TYPE_CHECKING`."""
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            if module == "constrain":  # `from constrain import kernels` names a room
                for alias in node.names:
                    yield node.lineno, f"constrain.{alias.name}"
            else:
                yield node.lineno, module


def sources() -> Iterator[tuple[str, Path, str]]:
    """Room folder, file and package of every source file."""
    for name, folder in ROOMS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield folder, path, ".".join((name, *path.parent.relative_to(ROOT / folder).parts))


def test_the_packages_listed_are_those_on_disk() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    listed = config["options"]["packages"].split()
    assert len(listed) == len(set(listed))
    assert set(listed) == packages_on_disk()
    folders = dict(line.split(" = ") for line in config["options"]["package_dir"].strip().splitlines())
    assert folders == ROOMS


def test_every_folder_of_sources_is_a_package() -> None:
    for folder in ROOMS.values():
        for path in (ROOT / folder).rglob("*.py"):
            assert (path.parent / "__init__.py").exists(), f"{path.parent} has no __init__.py and would not be packaged"


def test_rooms_import_only_what_they_may() -> None:
    for folder, path, package in sources():
        if folder not in MAY_IMPORT:
            continue
        allowed = MAY_IMPORT[folder] | (DEVICE_FILES.get(folder, set()) if path.name.startswith("device") else set())
        for line, module in imports_of(path, package):
            top = module.split(".")[0]
            name = ".".join(module.split(".")[:2]) if top == "constrain" else top
            assert top in STANDARD or name in allowed, f"{path.relative_to(ROOT)}:{line} imports {module}"


def test_rooms_are_imported_under_their_own_names_and_bench_by_nobody() -> None:
    for folder, path, package in sources():
        for line, module in imports_of(path, package):
            place = f"{path.relative_to(ROOT)}:{line} imports {module}"
            assert module.split(".")[0] not in {"grammars", "kernels", "bench", "tests"}, place
            assert folder == "bench" or not module.startswith("constrain.bench"), place


def run(code: str, cwd: Path = ROOT) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_import_constrain_is_light() -> None:
    report = json.loads(
        run(
            "import sys, time, json; before = set(sys.modules); t = time.perf_counter(); import constrain; "
            "t = time.perf_counter() - t; "
            "print(json.dumps([t, sorted({m.split('.')[0] for m in set(sys.modules) - before})]))"
        )
    )
    seconds, modules = report
    assert seconds < 0.5
    assert not {"numba", "numpy", "torch", "transformers", "typer", "rich"} & set(modules)


def test_every_public_name_is_there() -> None:
    pytest.importorskip("torch")
    run("import constrain\nfor name in constrain.__all__: assert getattr(constrain, name) is not None, name")
    run("from constrain import *")
    with pytest.raises(AttributeError, match="nonsense"):
        constrain.nonsense  # noqa: B018


def test_importing_the_processor_does_not_import_transformers() -> None:
    pytest.importorskip("torch")
    run("import constrain.logits_processor, sys; assert 'transformers' not in sys.modules")
