"""The second process that compiles a share of the kernels: what it writes is loaded, and nothing depends on it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no helper")

SHARE = """
import os, sys, time
from . import helping
from .jit import cache_of, njit, saving

@njit
def one(x):
    return x + 1

@njit
def two(x):
    return x + 2

def compile_one():
    if "HELPER_PID" in os.environ:
        with open(os.environ["HELPER_PID"], "w") as file:
            file.write(str(os.getpid()))
    what = os.environ.get("HELPER", "")
    print("noise on standard output")
    print("noise on standard error", file=sys.stderr)
    if what == "dies":
        os._exit(3)
    if what == "raises":
        raise RuntimeError("as it may")
    if what == "hangs":
        time.sleep(600)
    one(0)

def main():
    helping.serve(lambda: {helping.name_of(one): compile_one}, saving)
"""
MAIN = """
import os, sys, time
from constrain.kernels import helping, share
from constrain.kernels.share import one, two
exec(os.environ.get("FIRST", ""))
folder, present = share.cache_of(one.py_func)
if folder is not None:
    helping.start(folder, share.__name__)
if helping._helper is not None:
    helper = helping._helper
    with helper._news:  # it imports numba first; a test is to see what comes after
        helper._news.wait_for(lambda: helper._over or helper._told[b"begun"], 60)
    exec(os.environ.get("THEN", ""))
print(one(1), two(1), sum(one.stats.cache_hits.values()), sum(two.stats.cache_hits.values()), present)
print(helping._helper is not None, "torch" in sys.modules)
"""


@pytest.fixture
def install(tmp_path: Path) -> Path:
    """A small installation with two kernels, one of which a helper compiles."""
    place = tmp_path / "site"
    kernels = place / "constrain" / "kernels"
    kernels.mkdir(parents=True)
    (place / "constrain" / "__init__.py").write_text("")
    (kernels / "__init__.py").write_text("")
    for name in ("jit.py", "helping.py", "linking.py", "lowering.py", "passes.py"):
        shutil.copy(ROOT / "kernels" / name, kernels / name)
    (kernels / "share.py").write_text(SHARE)
    (place / "main.py").write_text(MAIN)
    return place


TWO_CORES = "helping._cores = lambda: 2\n"


def begin(place: Path, first: str = "", **environment: str) -> subprocess.Popen[str]:
    clean = {k: v for k, v in os.environ.items() if k not in ("CONSTRAIN_CACHE_DIR", "NUMBA_CACHE_DIR")}
    clean |= {"PYTHONPATH": str(place), "CONSTRAIN_CACHE_DIR": str(place.parent / "cache")}
    clean |= {"FIRST": TWO_CORES + first} | environment
    return subprocess.Popen(
        [sys.executable, str(place / "main.py")],
        env=clean, cwd=place.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def run(place: Path, first: str = "", **environment: str) -> list[str]:
    process = begin(place, first, **environment)
    out, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    assert error == ""
    return out.split()


def is_gone(pid: int, seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        stat = Path(f"/proc/{pid}/stat")
        if stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


def test_what_the_helper_wrote_is_loaded(install: Path) -> None:
    assert run(install) == ["2", "3", "1", "0", "False", "True", "False"]
    assert run(install)[:5] == ["2", "3", "1", "1", "True"]


@pytest.mark.parametrize("what", ["dies", "raises"])
def test_a_helper_that_ends_early_is_not_missed(install: Path, what: str) -> None:
    assert run(install, HELPER=what) == ["2", "3", "0", "0", "False", "True", "False"]
    assert run(install)[:4] == ["2", "3", "1", "1"]


def test_a_helper_that_is_killed_is_not_missed(install: Path) -> None:
    kill = "import signal; os.kill(helper._process.pid, signal.SIGKILL)"
    assert run(install, HELPER="hangs", THEN=kill)[:4] == ["2", "3", "0", "0"]


def test_a_helper_that_hangs_is_waited_for_once(install: Path, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    answers = run(install, "helping._PATIENCE_SECONDS = 0.1\n", HELPER="hangs", HELPER_PID=str(note))
    assert answers[:4] == ["2", "3", "0", "0"]
    assert is_gone(int(note.read_text())), "it ends with the process that started it"


def test_a_helper_does_not_outlive_a_killed_process(install: Path, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    process = begin(install, HELPER="hangs", HELPER_PID=str(note))
    end = time.monotonic() + 60
    while not (note.exists() and note.read_text()) and time.monotonic() < end:
        time.sleep(0.05)
    process.kill()
    process.communicate()
    assert is_gone(int(note.read_text()))


@pytest.mark.parametrize(
    "first",
    [
        "helping._cores = lambda: 1",
        "sys.executable = ''",
        "sys.executable = '/usr/sbin/uwsgi'",
        "sys.executable = '/nowhere/python3'",
        "sys.frozen = True",
        "sys.modules['fcntl'] = None",
        "helping.subprocess.Popen = None",
        "import threading; threading.Thread.start = None",
    ],
)
def test_none_is_started_where_it_may_not_work(install: Path, first: str) -> None:
    assert run(install, first) == ["2", "3", "0", "0", "False", "False", "False"]


def test_nowhere_to_write(install: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    (install / "constrain" / "kernels" / "__pycache__").write_text("")
    where = {"CONSTRAIN_CACHE_DIR": str(blocked), "HOME": str(blocked), "PYTHONDONTWRITEBYTECODE": "1"}
    assert run(install, **where) == ["2", "3", "0", "0", "False", "False", "False"]


def test_a_fork_does_not_wait_for_the_helper_of_its_parent(install: Path) -> None:
    fork = "child = os.fork()\nif child:\n    _, status = os.waitpid(child, 0)\n    assert status == 0\n"
    fork += "helper._owner = 0 if child else helper._owner"  # the parent compiles for itself as well
    answers = run(install, HELPER="hangs", THEN=fork)
    assert answers[:7] == ["2", "3", "0", "0", "False", "True", "False"]
    assert answers[7:11] == ["2", "3", "1", "1"]


def test_several_processes_have_one_helper(install: Path, tmp_path: Path) -> None:
    def start(number: int) -> subprocess.Popen[str]:
        wait = "open(os.environ['READY'], 'w').close()\nwhile not os.path.exists(os.environ['GO']): time.sleep(0.01)\n"
        ready, go = str(tmp_path / f"ready{number}"), str(tmp_path / "go")
        return begin(install, wait, READY=ready, GO=go, THEN="time.sleep(1)")

    workers = [start(number) for number in range(6)]
    end = time.monotonic() + 120
    while len(list(tmp_path.glob("ready*"))) < 6 and time.monotonic() < end:
        time.sleep(0.05)
    (tmp_path / "go").write_text("")
    answers = [worker.communicate(timeout=120) for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * 6, answers
    assert all(out.split()[:2] == ["2", "3"] for out, _ in answers)
    assert [out.split()[5] for out, _ in answers].count("True") == 1
    assert not [p for p in (tmp_path / "cache").rglob("*") if ".tmp" in p.name]


def test_the_real_share_is_known_by_name() -> None:
    from constrain.kernels import apply, entries, helping, loops, share

    kernels = entries.text_entry, entries.key_entry, loops.find_loop, loops.find_key_loop, apply.apply_rows
    assert {helping.name_of(kernel) for kernel in kernels} == set(share._tasks())
