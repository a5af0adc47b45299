"""Law 1 on real schemas: over a MaskBench-format corpus no verdict of the engine is wrong, and nothing crashes.

A random sample by default, all schemas with `CONSTRAIN_FULL=1`. A schema is refused by name or decided right; a label
that two validators contradict does not count.
"""

from __future__ import annotations

import pytest

from constrain.bench import corpus, maskbench
from tests.oracles import FULL, shared

SAMPLE = 150


@pytest.mark.parametrize("seed", [20, 21])
def test_no_verdict_is_wrong(seed: int) -> None:
    path = shared("data", "maskbench-dev.jsonl.xz")
    if FULL and seed != 20:
        pytest.skip("the first seed runs everything")
    lines = corpus.select(path, limit=None if FULL else SAMPLE, seed=seed)
    setup = maskbench.Setup("constrain", "tekken" if FULL else "bytes", 20 if FULL else 90)
    report = maskbench.run(lines, setup, here=maskbench.set_up(setup))
    faults = [(item.id, fault) for item in report.items for fault in item.faults]
    failed = [
        (item.id, item.outcome, item.reason) for item in report.items if item.outcome not in ("compiled", "refused")
    ]
    assert not faults, faults[:10]
    assert not failed, failed[:10]
    for item in report.items:  # that no value is valid may be due to several keywords together
        if item.outcome == "refused":
            assert item.reason, item.id
            assert item.keyword or item.kind == "unsatisfiable", item.id
    assert report.summary()["outcomes"]["compiled"] > 0.6 * len(lines)
