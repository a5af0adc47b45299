"""The 32 choices of a word of a mask are a few vector instructions: one by one they take thirty times as long."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COUNT = """
from constrain.kernels.apply import KINDS, apply_rows
apply_rows(KINDS[4], *(0,) * 16)
(compiled,) = apply_rows.overloads.values()
print(compiled.library.get_llvm_str().count("<i32 1, i32 2, i32 4, i32 8"))
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_the_bits_of_a_word_are_tested_together(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "NUMBA_BOUNDSCHECK")}
    environment |= {"CONSTRAIN_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run(
        [sys.executable, "-c", COUNT], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    assert found.returncode == 0, found.stderr
    assert int(found.stdout) >= 4  # two loops in place, one from row to row, one that spreads two values
