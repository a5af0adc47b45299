"""The on-disk cache of compiled kernels, in fresh processes: hits, staleness, bounds checks, and nowhere to write."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.oracles import FULL

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
    """A small installation: the package root, the files that compile, and two kernels, one calling the other."""
    place = tmp_path / "site"
    kernels = place / "constrain" / "kernels"
    kernels.mkdir(parents=True)
    (place / "constrain" / "__init__.py").write_text("")
    (kernels / "__init__.py").write_text("")
    for name in ("jit.py", "helping.py", "linking.py", "lowering.py", "passes.py"):
        shutil.copy(ROOT / "kernels" / name, kernels / name)
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


def test_only_what_python_calls_becomes_machine_code(install: Path) -> None:
    folder = Path(run(install)[2])
    assert {file.name.split("-")[0] for file in folder.glob("*.nbc")} == {"main.total"}
    code = "from constrain.kernels.helper import helper; from constrain.kernels.main import total; import numpy as np;"
    code += "print(helper(1), total(np.arange(4)), helper(2.5), total(np.arange(4.0)))"
    environment = os.environ | {"PYTHONPATH": str(install)}
    for name in ("CONSTRAIN_CACHE_DIR", "NUMBA_CACHE_DIR"):
        environment.pop(name, None)
    for _ in range(2):  # compiled, from the cache
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, cwd=install, capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == ["2", "10", "3.5", "10.0"]
    assert {file.name.split("-")[0] for file in folder.glob("*.nbc")} == {"main.total", "helper.helper"}


def test_functions_compiled_by_numba_itself_call_kernels(install: Path) -> None:
    (install / "plain.py").write_text(
        "import numba\nfrom constrain.kernels.jit import njit\nfrom constrain.kernels.helper import helper\n"
        "@njit\ndef twice(x):\n    return helper(helper(x)) if x else helper(x)\n"
        "@numba.njit\ndef plain(x):\n    return twice(x) + twice(x + 1)\n"
        "print(plain(5), plain(-1))\n"
    )
    environment = os.environ | {"PYTHONPATH": str(install)}
    done = subprocess.run(
        [sys.executable, "plain.py"], env=environment, cwd=install, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["15", "2"]


def test_runs_without_compilation(install: Path) -> None:
    code = "from constrain.kernels.helper import helper; print(helper(1))"
    environment = os.environ | {"PYTHONPATH": str(install), "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=install, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "2"


def test_files_of_older_sources_are_removed_in_time(install: Path) -> None:
    folder = Path(run(install)[2])
    first = {file.name for file in folder.glob("*.nb?")}
    (install / "constrain" / "kernels" / "helper.py").write_text(HELPER.format(100))
    assert run(install)[:2] == ["406", "0"]
    assert first < {file.name for file in folder.glob("*.nb?")}, "a process may still run the older code"
    old = time.time() - 7200
    left_over = folder / f"{sorted(first)[0]}.tmp.0123456789abcdef"
    left_over.write_bytes(b"half")
    other = folder / "jit.cpython-311.pyc.keep"
    other.write_bytes(b"")
    for file in folder.iterdir():
        os.utime(file, (old, old))
    second = {file.name for file in folder.glob("*.nb?")} - first
    assert run(install)[:2] == ["406", "1"]
    assert second | first == {file.name for file in folder.glob("*.nb?")}, "nothing was added, so nothing is removed"
    (install / "constrain" / "kernels" / "helper.py").write_text(HELPER.format(1000))
    assert run(install)[:2] == ["4006", "0"]
    names = {file.name for file in folder.glob("*.nb?")}
    assert not names & (first | second)
    assert names
    assert not left_over.exists()
    assert other.exists()


def test_an_entry_for_other_types_counts_as_absent(install: Path) -> None:
    """Two processes that add versions of one kernel at the same moment leave an entry that names the other's file."""
    code = (
        "import sys, numpy as np; from constrain.kernels.main import total;"
        "print(total(np.arange(4, dtype=sys.argv[1])), sum(total.stats.cache_hits.values()), total.stats.cache_path)"
    )

    def total(dtype: str) -> list[str]:
        clean = {k: v for k, v in os.environ.items() if k not in ("CONSTRAIN_CACHE_DIR", "NUMBA_CACHE_DIR")}
        environment = clean | {"PYTHONPATH": str(install)}
        command = [sys.executable, "-c", code, dtype]
        done = subprocess.run(command, env=environment, cwd=install, capture_output=True, text=True, check=True)
        return done.stdout.split()

    assert total("int64")[:2] == ["10", "0"]
    result, _, folder = total("float64")
    assert result == "10.0"
    one, two = sorted(Path(folder).glob("main.total-*.nbc"))
    two.write_bytes(one.read_bytes())
    assert total("float64")[0] == "10.0"
    assert total("int64")[0] == "10"


START = """
import sys, time
from pathlib import Path
ready, go = Path(sys.argv[1]), Path(sys.argv[2])
import numpy as np
import constrain
constrain.json_schema, constrain.Vocabulary
ready.write_text("")
while not go.exists():
    time.sleep(0.005)
words = sorted({f"{a}{b}{c}".encode() for a in "abcdefgh" for b in "ijklmnop" for c in "qrst"})
tokens = [bytes([b]) for b in range(256)] + words + [b'{"', b'":', b'"}', b"<end>"]
vocabulary = constrain.Vocabulary.from_tokens(tokens, eos_token_ids=len(tokens) - 1, cache=True)
schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]}
matcher = constrain.json_schema(schema).compile(vocabulary).matcher()
rows = np.zeros((2, vocabulary.bitmask_words), dtype=np.int32)
matcher.fill_next_token_bitmask(rows, 0)
assert matcher.accept_bytes(b'{"a": "')
matcher.fill_next_token_bitmask(rows, 1)
print(rows.tobytes().hex())
"""


def test_many_processes_start_at_once_on_an_empty_cache(tmp_path: Path) -> None:
    """Kernels, vocabulary and first masks: no process crashes, and all compute what one alone does from warm files."""
    count = 16 if FULL else 2
    program = tmp_path / "start.py"
    program.write_text(START)
    cache = tmp_path / "cache"
    environment = os.environ | {
        "PYTHONPATH": str(ROOT), "CONSTRAIN_CACHE_DIR": str(cache), "PYTHONFAULTHANDLER": "1", "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    environment.pop("NUMBA_CACHE_DIR", None)
    go = tmp_path / "go"

    def start(name: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(program), str(tmp_path / name), str(go)]
        return subprocess.Popen(
            command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    workers = [start(f"ready{i}") for i in range(count)]
    while any(w.poll() is None for w in workers) and len(list(tmp_path.glob("ready*"))) < count:
        time.sleep(0.05)
    go.write_text("")
    answers = [w.communicate(timeout=1500) for w in workers]
    assert [w.returncode for w in workers] == [0] * count, [error for _, error in answers if error]
    warm = start("last")
    answers.append(warm.communicate(timeout=300))
    assert warm.returncode == 0, answers[-1][1]
    assert len({out for out, _ in answers}) == 1
    assert answers[0][0].strip()
    assert not [p for p in cache.rglob("*") if ".tmp" in p.name]


def test_kernels_from_disk_need_no_compiler(install: Path) -> None:
    """Whoever loads them does not import what only compiling needs; and can still compile kernels of his own."""
    run(install)
    code = """
import sys
import numpy as np
from constrain.kernels.main import total
print(total(np.arange(4)), sum(total.stats.cache_hits.values()), "numba.np.linalg" in sys.modules)
import numba
own = numba.njit(lambda a: np.sort(a)[0] + np.cumsum(a)[-1])
print(own(np.array([2.0, 1.0])), "numba.np.linalg" in sys.modules)
"""
    environment = os.environ | {"PYTHONPATH": str(install), "PYTHONSAFEPATH": "1"}
    for name in ("CONSTRAIN_CACHE_DIR", "NUMBA_CACHE_DIR"):
        environment.pop(name, None)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["10", "1", "False", "4.0", "True"], done.stderr
