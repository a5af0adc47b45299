"""The script that checks masks on a device: it finds what is wrong, and does without a device."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from constrain.bench import device_check  # noqa: E402

CPU = torch.device("cpu")


def test_nothing_is_wrong() -> None:
    assert device_check.check(CPU, quick=True) == {"shapes": 16, "wrong": {}}
    assert device_check.check_table(CPU, quick=True).startswith("right")


def _off_by_one(logits: Any, table: Any, rows: Any, **more: Any) -> Any:
    """Masks moved by one token."""
    return device_check_apply(logits, torch.roll(table, 1, dims=1), rows, **more)


def _in_place_only(logits: Any, table: Any, rows: Any, *, out: Any = None, repair: bool = False) -> Any:
    """Writes to the scores also where it should write elsewhere."""
    result = device_check_apply(logits, table, rows, repair=repair)
    if out is not None:
        out.copy_(logits)
    return result


def _without_repair(logits: Any, table: Any, rows: Any, *, out: Any = None, repair: bool = False) -> Any:
    device_check_apply(logits, table, rows, out=out)
    return torch.ones((), dtype=torch.int32) if repair else None


def _by_arithmetic(logits: Any, table: Any, rows: Any, *, out: Any = None, repair: bool = False) -> Any:
    """Adds 0 to what stays, which turns -0.0 into 0.0."""
    result = device_check_apply(logits, table, rows, out=out, repair=repair)
    (logits if out is None else out).add_(0.0)
    return result


device_check_apply = device_check.apply_rows_on_device


@pytest.mark.parametrize("broken", [_off_by_one, _in_place_only, _without_repair, _by_arithmetic])
def test_what_is_wrong_is_found(broken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_check, "apply_rows_on_device", broken)
    wrong = device_check.check(CPU, quick=True)["wrong"]
    assert len(wrong) > 12


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a device")
@pytest.mark.parametrize("right", [True, False])
def test_without_a_device(
    right: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["device_check", "--out", str(tmp_path / "o.json")])
    monkeypatch.setattr(device_check, "without_device", lambda: right)
    assert device_check.main() == (0 if right else 1)
    assert "no device was found" in capsys.readouterr().out
    report = json.loads((tmp_path / "o.json").read_text())
    assert (report["device"], report["right"]) == (None, right)
    assert report["versions"]["torch"] == torch.__version__


class _Event:
    """An event of a device that is the host."""

    def __init__(self, *, enable_timing: bool) -> None:
        assert enable_timing
        self.at = 0.0

    def record(self) -> None:
        self.at = time.perf_counter()

    def synchronize(self) -> None:
        assert self.at > 0

    def elapsed_time(self, other: _Event) -> float:
        return 1e3 * (other.at - self.at)


def test_times_are_taken_of_everything(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The script has no other rehearsal before a device can be had."""
    monkeypatch.setattr(torch.cuda, "Event", _Event)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "_sleep", lambda _: None)
    monkeypatch.setattr(device_check, "VOCABULARIES", (300, 400, 517, 600, 700))
    notes: list[str] = []
    timings = device_check.time_all(CPU, quick=True, notes=notes)
    device_check.show(timings)
    ours = [t for t in timings if t.what.startswith("constrain")]
    assert len(ours) == 2 * 3 * 4  # numbers of rows; ways; masks of float32 and the one of bfloat16
    assert all(0 < t.device_us < 1e6 for t in timings)
    assert all("constrain" not in note for note in notes)
    assert "constrain, elsewhere with repair" in capsys.readouterr().out
    assert set(device_check.time_steps(CPU, 2, 517)) == {"row numbers sent", "masks sent"}
