"""The on-disk cache of compiled kernels, in fresh processes: hits, staleness, bounds checks, and nowhere to write."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

KERNEL = """
import sys
from constrain.kernels.jit import njit
from constrain.kernels.helper import helper
import numpy as np

@njit
def total(a):
    s = 0
    for i in range(a.size):
        s += helper(a[i])
    return s

@njit
def beyond(a, k):
    return a[k]

if __name__ == "__main__":
    a = np.arange(4)
    print(total(a), sum(total.stats.cache_hits.values()), total.stats.cache_path)
    if "beyond" in sys.argv:
        try:
            beyond(a, 4)
            print("unchecked")
        except IndexError:
            print("checked")
"""
HELPER = """
from constrain.kernels.jit import njit

@njit
def helper(x):
    return x + {0}
"""


@pytest.fixture
def install(tmp_path: Path) -> Path:
    """A small installation: the package root, the real `jit.py`, and two kernels, one calling the other."""
    place = tmp_path / "site"
    kernels = place / "constrain" / "kernels"
    kernels.mkdir(parents=True)
    (place / "constrain" / "__init__.py").write_text("")
    (kernels / "__init__.py").write_text("")
    shutil.copy(ROOT / "kernels" / "jit.py", kernels / "jit.py")
    (kernels / "helper.py").write_text(HELPER.format(1))
    (kernels / "main.py").write_text(KERNEL)
    return place


def run(place: Path, *arguments: str, **environment: str) -> list[str]:
    clean = {k: v for k, v in os.environ.items() if k not in ("CONSTRAIN_CACHE_DIR", "NUMBA_CACHE_DIR")}
    done = subprocess.run(
        [sys.executable, str(place / "constrain" / "kernels" / "main.py"), *arguments],
        env=clean | {"PYTHONPATH": str(place), "PYTHONSAFEPATH": "1"} | environment,
        cwd=place.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_second_process_hits_and_a_changed_helper_misses(install: Path, tmp_path: Path) -> None:
    own = str(tmp_path / "own")
    assert run(install, CONSTRAIN_CACHE_DIR=own)[:2] == ["10", "0"]
    result, hits, folder = run(install, CONSTRAIN_CACHE_DIR=own)
    assert (result, hits) == ("10", "1")
    assert folder.startswith(own)
    # Only the file of the helper changes; numba's own cache would go on adding 1.
    (install / "constrain" / "kernels" / "helper.py").write_text(HELPER.format(100))
    assert run(install, CONSTRAIN_CACHE_DIR=own)[:2] == ["406", "0"]


def test_bounds_checked_code_is_not_mixed_up(install: Path) -> None:
    assert run(install, "beyond")[-1] == "unchecked"
    assert run(install, "beyond", NUMBA_BOUNDSCHECK="1")[-1] == "checked"
    assert run(install, "beyond", NUMBA_BOUNDSCHECK="1")[-1] == "checked"


def test_damaged_cache_files_are_recompiled(install: Path) -> None:
    folder = Path(run(install)[2])
    assert folder == install / "constrain" / "kernels" / "__pycache__"
    for pattern in ("*.nbc", "*.nbi"):
        found = list(folder.glob(pattern))
        assert found
        for file in found:
            file.write_bytes(file.read_bytes()[:20])
        assert run(install)[:2] == ["10", "0"]
        assert run(install)[:2] == ["10", "1"]


def test_nowhere_to_write(install: Path, tmp_path: Path) -> None:
    """A read-only install without a home: permissions do not stop root, so files stand where folders would go."""
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    (install / "constrain" / "kernels" / "__pycache__").write_text("")
    own = tmp_path / "own"
    arguments = {"PYTHONDONTWRITEBYTECODE": "1", "XDG_CACHE_HOME": str(blocked), "HOME": str(blocked)}
    for _ in range(2):
        assert run(install, **arguments)[:2] == ["10", "0"]
    # With a folder of one's own, the same install is cached there.
    run(install, **arguments, CONSTRAIN_CACHE_DIR=str(own))
    assert run(install, **arguments, CONSTRAIN_CACHE_DIR=str(own))[1] == "1"
    assert list(own.rglob("*.nbc"))


def test_runs_without_compilation(install: Path) -> None:
    code = "from constrain.kernels.helper import helper; print(helper(1))"
    environment = os.environ | {"PYTHONPATH": str(install), "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=install, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "2"
