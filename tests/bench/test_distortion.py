"""The page about distortion: its worked example by hand, its tables, and that it can be written anew."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from constrain.bench import distortion
from constrain.bench.reasoning import Way
from constrain.distortion import compare, summarize
from constrain.distortion.counts import CountFigures
from constrain.distortion.study import measure
from constrain.mass import MassRecord

PAGE = Path(__file__).resolve().parents[2] / "docs" / "distortion.md"


def test_three_letters_by_hand() -> None:
    model, language = distortion.three_letters()
    report = compare(model, language)
    q = {"aa": Fraction(1, 4), "ab": Fraction(1, 4), "bc": Fraction(1, 2)}
    w = {"aa": Fraction(4, 9), "ab": Fraction(4, 9), "bc": Fraction(2, 9)}
    assert all(q[y] * w[y] == Fraction(1, 9) for y in q)
    mean, square = sum(q[y] * w[y] for y in q), sum(q[y] * w[y] ** 2 for y in q)
    assert (mean, mean**2 / square) == (Fraction(1, 3), Fraction(9, 10))
    by_hand = {
        "unavoidable": math.log(3),
        "tax": 0.5 * math.log(81 / 8),
        "kl_masked_to_exact": 0.5 * math.log(9 / 8),
        "kl_exact_to_masked": math.log(32 / 27) / 3,
        "tv": 1 / 6,
        "ess_fraction": 9 / 10,
    }
    for name, value in by_hand.items():
        assert report.figures()[name].value == pytest.approx(value, abs=1e-12), name
    first, *others = report.contributions
    assert (first.prefix, first.distortion) == ((), pytest.approx(0.5 * math.log(9 / 8), abs=1e-12))
    assert all(c.distortion < 1e-12 for c in others)
    assert {v: pytest.approx(p) for v, p in ((v, q) for v, (q, _) in measure("x", model, language).values.items())} == {
        k: float(v) for k, v in q.items()
    }


def test_the_page_says_these_numbers() -> None:
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"−log Z = log 3 = {math.log(3):.4f} nats" in text
    assert f"½ log(9/8) = {0.5 * math.log(9 / 8):.4f} nats" in text
    assert f"½ log(81/8) = {0.5 * math.log(81 / 8):.4f}" in text
    assert "Low distortion is not task quality" in text
    rows = dict(re.findall(r"\| ([^|]*) \| [^|]* \| (\d\.\d{4}) \|", text))
    assert rows["KL(p*‖q)"] == f"{math.log(32 / 27) / 3:.4f}"
    assert rows["ESS/n"] == "0.9000"


def test_the_example_on_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(code, {})
    assert "0.0588915 (exact)" in capsys.readouterr().out


def test_every_part_has_its_place_and_every_picture_is_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    marks = re.findall(r"<!-- begin ([\w-]+) -->\n(.*?)<!-- end \1 -->", text, re.DOTALL)
    assert {name for name, _ in marks} >= set(distortion.PARTS)
    assert all(body.strip() for _, body in marks), "a table is empty: python -m constrain.bench.distortion"
    for picture in re.findall(r"\]\((figures/[^)]*)\)", text):
        assert (PAGE.parent / picture).read_bytes().startswith(b"<?xml"), picture


def test_writing_one_part_leaves_the_rest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- begin letters -->\nold\n<!-- end letters -->\nafter\n")
    distortion.main(["--document", str(page), "--only", "letters"])
    assert capsys.readouterr().out.startswith("letters: ")
    text = page.read_text()
    assert text.startswith("before\n<!-- begin letters -->\n| figure |")
    assert text.endswith("<!-- end letters -->\nafter\n")
    assert "old" not in text
    assert (tmp_path / "figures" / "letters.svg").exists()
    with pytest.raises(ValueError, match="no place for 'switch'"):
        distortion.replaced(text, {"switch": ""})
    for arguments, what in (
        (["--only", "nothing"], "--only takes"),
        (["--document", "nowhere.md"], "no page nowhere.md"),
    ):
        with pytest.raises(SystemExit):
            distortion.main(arguments)
        assert what in capsys.readouterr().err


def test_tables_of_samplers() -> None:
    table = distortion.sampler_table(
        {
            "a": (CountFigures(100, 0.3, 0.1, 0.2, 0.3, 0.1, 0.2, 0.0, 0.01), 1.0),
            "b": (CountFigures(100, 0.1, 0.1, 0.2, 0.1, 0.1, 0.2, 0.0, 0.5), 2.5),
        }
    )
    assert "| a | 100 | 0.300 | 0.100 (0.200) | **differs** | 1.0 |" in table
    assert "| b | 100 | 0.100 | 0.100 (0.200) | not told apart | 2.5 |" in table


def test_the_lower_bound_on_the_distortion_is_one() -> None:
    """20 traps in a row: each halves the draws, and keeps a tenth of the mass of one half. KL is 20 * 0.553456."""
    rng, bounds = np.random.default_rng(0), []
    for _ in range(200):
        traps = rng.binomial(20, 0.5, size=500)
        records = tuple(MassRecord((0,), (float(k) * math.log(0.1),), True, False) for k in traps)
        bounds.append(Way("", summarize(records), records).least_distortion())
    assert max(bounds) <= 20 * 0.553456  # missed in 10 of 200 at most; the bound is far from tight
    assert np.median(bounds) > 4.0
    fair = tuple(MassRecord((0,), (math.log(0.3),), True, False) for _ in range(500))
    assert Way("", summarize(fair), fair).least_distortion() == 0.0
