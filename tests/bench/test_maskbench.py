"""The mask benchmark's own verdicts, on an engine simple enough to be right by inspection.

The engine knows a finite set of texts per schema, so each of its masks can be written down; planted faults must be
reported as what they are.
"""

from __future__ import annotations

import gc
import io
import json
import lzma
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from constrain.bench import corpus, maskbench
from constrain.bench.collector import COLLECTOR
from constrain.bench.engines import Refused
from constrain.bench.report import ItemResult, Report, percentiles, show
from constrain.bench.tokenizers import Tokenizer

BYTES = Tokenizer("bytes", 257, lambda: None, lambda text: list(text.encode()), (256,))


class _Sequence:
    def __init__(self, texts: list[bytes], lies: bool, collects: bool) -> None:
        self.texts, self.lies, self.collects, self.written = texts, lies, collects, b""

    def mask(self) -> None:
        at = len(self.written)
        if self.collects and at == 2:
            gc.collect()
        self.bits = {t[at] if at < len(t) else 256 for t in self.texts if t.startswith(self.written)}

    def allows(self, token: int) -> bool:
        return token in self.bits

    def may_end(self) -> bool:
        return 256 in self.bits

    def accept(self, token: int) -> bool:
        if self.lies and len(self.written) == 2:
            return False
        self.written += bytes([token])
        return True


class _Compiled:
    def __init__(self, schema: Any) -> None:
        self.texts = [t.encode() for t in schema["x-texts"]]
        self.lies, self.collects = "x-lies" in schema, "x-collects" in schema

    def start(self) -> _Sequence:
        return _Sequence(self.texts, self.lies, self.collects)


def finite_engine(_: Tokenizer) -> FiniteEngine:
    """For workers, which find their engine by name."""
    return FiniteEngine()


class FiniteEngine:
    """Accepts the texts under `x-texts`, whatever the rest of the schema says."""

    name = "finite"

    def compile(self, schema: Any) -> _Compiled:
        if schema is maskbench.WARM_UP:
            return _Compiled({"x-texts": ['{"a": "b\\n", "b": ["x", 1], "c": -1.5}']})
        if "x-refuse" in schema:
            raise Refused(schema["x-refuse"], "not", "/not", "on purpose")
        if "x-hang" in schema:
            while True:
                pass
        if "x-die" in schema:
            os._exit(11)
        if "x-deaf" in schema:
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
            time.sleep(60)
        if "x-raise" in schema:
            raise RecursionError("on purpose")
        return _Compiled(schema)


def item(schema: Any, *tests: tuple[Any, bool]) -> str:
    return json.dumps({"id": "s", "schema": schema, "tests": [{"data": d, "valid": v} for d, v in tests]})


def outcome(line: str, limit_s: float = 5) -> Any:
    return maskbench.guarded(line, FiniteEngine(), BYTES, limit_s)


def test_right_verdicts_pass_and_are_timed() -> None:
    result = outcome(item({"type": "integer", "x-texts": ["12", "15", "3"]}, (12, True), (3, True), ("x", False)))
    assert result.passes
    assert result.instances == 3
    assert len(result.tbm_us) == 2, "three accepted tokens, the first of which belongs to TTFM"
    assert result.ttfm_us > 0


def test_an_accepted_invalid_instance_is_the_engines_fault() -> None:
    result = outcome(item({"type": "integer", "x-texts": ['"x"']}, ("x", False)))
    assert [w["cause"] for w in result.faults] == ["engine accepts invalid"]
    assert not result.passes


def test_a_refused_valid_instance_is_the_engines_fault() -> None:
    result = outcome(item({"type": "integer", "x-texts": ["12"]}, (13, True), (123, True), (1, True)))
    assert [(w["cause"], w["at"]) for w in result.faults] == [
        ("engine refuses valid", 1),
        ("engine refuses valid", 2),
        ("engine refuses valid", 1),
    ]


def test_a_wrong_label_is_not_the_engines_fault() -> None:
    result = outcome(item({"type": "integer", "x-texts": ["12", '"x"']}, (12, False), (13, True)))
    assert [w["cause"] for w in result.wrong] == ["label", "engine refuses valid"]


def test_a_narrowed_spelling_is_told_apart() -> None:
    result = outcome(item({"type": "integer", "x-texts": ["12"]}, (12.0, True)))
    assert [w["cause"] for w in result.wrong] == ["spelling"]
    assert not result.faults


def test_refusals_carry_their_keyword() -> None:
    result = outcome(item({"x-refuse": "unsupported"}, (1, True)))
    assert (result.outcome, result.kind, result.keyword, result.pointer) == ("refused", "unsupported", "not", "/not")
    assert not result.wrong


def test_refusing_a_satisfiable_schema_as_empty_is_a_fault() -> None:
    result = outcome(item({"type": "integer", "x-refuse": "unsatisfiable"}, (1, True), ("x", False)))
    assert [w["cause"] for w in result.faults] == ["engine refuses valid"]


def test_hangs_and_errors_cost_one_schema() -> None:
    assert outcome(item({"x-hang": True}), limit_s=0.2).outcome == "timeout"
    result = outcome(item({"x-raise": True}))
    assert (result.outcome, result.reason.split(":")[0]) == ("error", "RecursionError")


def test_a_worker_survives_crashes_and_hangs() -> None:
    """Schemas that kill their process, hang, or hang beyond reach of the alarm cost only themselves."""
    fine = item({"type": "integer", "x-texts": ["12"]}, (12, True))
    lines = [fine, item({"x-die": 1}), fine, item({"x-hang": 1}), fine, item({"x-deaf": 1}), fine]
    setup = maskbench.Setup("tests.bench.test_maskbench:finite_engine", "bytes", 0.3)
    report = maskbench.run(lines, setup, grace_s=0.5)
    outcomes = [i.outcome for i in report.items]
    assert outcomes == ["compiled", "crash", "compiled", "timeout", "compiled", "timeout", "compiled"]
    assert "11" in report.items[1].reason
    assert sum(i.passes for i in report.items) == 4


def test_an_unknown_engine_is_named() -> None:
    with pytest.raises(ValueError, match="nothing"):
        maskbench.run([], maskbench.Setup("nothing", "bytes", 1))


def test_a_mask_that_disagrees_with_accept_is_reported() -> None:
    result = outcome(item({"x-lies": True, "x-texts": ["1234"]}, (1234, True)))
    assert "is in the mask, but is not accepted" in result.wrong[0]["text"]


def test_passes_of_the_garbage_collector_are_told_apart() -> None:
    COLLECTOR.watch()
    gc.disable()
    try:
        with_pass = outcome(item({"x-collects": True, "x-texts": ["123456"]}, (123456, True)))
        without = outcome(item({"x-texts": ["123456"]}, (123456, True)))
    finally:
        gc.enable()
    assert (with_pass.collected, without.collected) == (1, 0)
    assert with_pass.longest_at == (0, 2)
    assert with_pass.longest_apart_us < with_pass.tbm_us.max()
    assert without.longest_apart_us == pytest.approx(without.tbm_us.max(), rel=1e-5)


def test_report_adds_up() -> None:
    report = Report({"engine": "finite"})
    report.items = [
        outcome(item({"type": "integer", "x-texts": ["12"]}, (12, True))),
        outcome(item({"x-refuse": "unsupported"})),
        outcome(item({"type": "integer", "x-texts": ['"x"']}, ("x", False))),
    ]
    figures = report.summary()
    assert figures["outcomes"] == {"compiled": 2, "refused": 1}
    assert figures["passing"] == 1
    assert figures["refusals by keyword"] == {"not": 1}
    assert figures["wrong verdicts by cause"] == {"engine accepts invalid": 1}
    assert json.loads(json.dumps(report.as_json()))["summary"]["schemas"] == 3
    console = Console(record=True, width=120, file=io.StringIO())
    show(report, console)
    text = console.export_text()
    assert "engine accepts invalid" in text
    assert "unsupported" not in text


def test_percentiles_of_known_values() -> None:
    import numpy as np

    figures = percentiles(np.arange(1, 1002, dtype=np.float64))
    assert figures["p50"] == 501
    assert figures["p99"] == 991
    assert figures["max"] == 1001
    assert percentiles(np.zeros(0)) == {}


def test_selection(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl.xz"
    with lzma.open(path, "wt") as file:
        for i in range(20):
            file.write(json.dumps({"id": f"k{i}", "schema": True, "tests": []}) + "\n\n")

    def names(**options: Any) -> list[str]:
        return [corpus.parse_item(line).id for line in corpus.select(path, **options)]

    assert names(limit=2) == ["k0", "k1"]
    assert names(offset=18) == ["k18", "k19"]
    assert names(ids=["k3", "k1*"]) == ["k1", "k3", *(f"k{i}" for i in range(10, 20))]
    assert names(seed=1, limit=5) == names(seed=1, limit=5)
    assert sorted(names(seed=1)) == sorted(names())
    assert names(seed=1) != names()
    with pytest.raises(ValueError, match="nowhere"):
        names(ids=["nowhere"])


def test_memory_is_told_as_schemas_go_by() -> None:
    items = [ItemResult(str(k), "compiled", resident_mib=100.0 + k) for k in range(16)]
    points = Report({}, items).memory_growth(4)
    assert points == [(1, 100.0), (4, 103.0), (8, 107.0), (12, 111.0), (16, 115.0)]
    assert Report({}, []).memory_growth() == []
    assert Report({}, [ItemResult("a", "compiled")]).memory_growth() == []
