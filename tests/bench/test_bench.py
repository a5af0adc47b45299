"""The benchmarks around the engines: figures against numpy, documents, plots, the page, the commands' answers."""

from __future__ import annotations

import dataclasses
import importlib.util
import io
import itertools
import json
import pickle
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from constrain.bench import apply, batch, corpus, generate, maskbench, masks, mass, scale, startup
from constrain.bench import results as documents
from constrain.bench.engines import Unavailable
from constrain.bench.isolated import Failed, stream
from constrain.bench.report import ItemResult
from constrain.bench.results import BenchError, Result, describe
from constrain.bench.tables import Table, duration, figure, on_terminal, ratio
from constrain.bench.tokenizers import load_tokenizer
from constrain.bench.variants import variants
from constrain.cli.app import app
from tests.oracles import FULL

RUNNER = CliRunner()
PNG = b"\x89PNG\r\n"


def run(*arguments: object) -> Any:
    return RUNNER.invoke(app, ["bench", *map(str, arguments)])


def item(name: str, times: list[float], ttfm: float = 100.0, **more: Any) -> ItemResult:
    return ItemResult(name, "compiled", ttfm_us=ttfm, compile_us=ttfm / 2, tbm_us=np.array(times, np.float32), **more)


def masks_result() -> Result:
    accepted = {"cause": "engine accepts invalid", "at": -1, "label": False, "text": "x"}
    refused = {"cause": "engine refuses valid", "at": 3, "label": True, "text": "x"}
    random = np.random.default_rng(0)
    found = {
        "constrain": [item("a", list(random.uniform(1, 9, 50))), item("b", [2.0, 4.0]), item("c", [1.0])],
        "xgrammar": [
            item("a", list(random.uniform(5, 50, 50)), 900.0),
            item("b", [9.0], wrong=[accepted]),
            item("c", [3.0]),
        ],
        "llguidance": [
            item("a", [20.0, 30.0]),
            ItemResult("b", "refused", reason="<b>no</b>"),
            item("c", [5.0], wrong=[refused]),
        ],
    }
    result = Result("masks", describe(found, load_tokenizer("bytes"), corpus="made & up", limit_s=1))
    result.skip(Unavailable("grid", "grid is not installed", "pip install 'constrain-decode[bench]'"))
    result.data = masks.summarise(found, 3)
    return result


def batch_result() -> Result:
    def record(rows: int, threads: int, per_s: float) -> dict[str, Any]:
        return {"rows": rows, "threads": threads, "masks_per_s": per_s, "steps": 3, "step_us": {}, "cpu_per_wall": 1.0}

    found = {
        "constrain": [record(1, 1, 2e5), record(64, 1, 3e5), record(64, 2, 5e5)],
        "xgrammar": [record(1, 1, 1e5), record(64, 1, 2e5), record(64, 2, 3e5)],
        "grid": [record(1, 1, 900.0), record(64, 1, 1500.0)],
    }
    return Result("batch", describe(found), [], {"work": {"schemas": 7, "streams": 9}, "cores": 2, "engines": found})


def startup_result() -> Result:
    def state(first: float) -> dict[str, float]:
        return dict.fromkeys(startup.PHASES, first) | {"total_us": 3 * first}

    found = {"constrain": {"cold": state(2e7), "warm": state(3e5)}, "xgrammar": {"warm": state(2e6)}}
    return Result("startup", describe(found), [], {"engines": found})


def generate_result() -> Result:
    def one(spent: float | None) -> dict[str, Any]:
        times = {"mean": spent, "p50": spent, "max": spent} if spent else None
        return {
            "tokens_per_s": 20.0, "token_us": 5e4, "processor_us": times, "processor_share": 0.01, "compile_us": 900.0,
            "valid": 3, "outputs": ["{}"] * 3,
        }  # fmt: skip

    found = {"none": one(None) | {"processor_share": 0.0}, "constrain": one(150.0), "llguidance": one(300.0)}
    return Result("generate", describe(["constrain", "llguidance"], model="tiny"), [], {"engines": found})


def scale_result() -> Result:
    def line(factor: float, last: str = "passed") -> list[dict[str, Any]]:
        points = [{"n": n, "verdict": "passed", "ttfm_us": n * factor, "tbm_us": factor} for n in (1, 4, 16)]
        return points if last == "passed" else [*points[:2], {"n": 16, "verdict": last, "reason": "on purpose"}]

    engines = {"constrain": line(10), "xgrammar": line(200, "timeout"), "llguidance": line(50, "refused")}
    return Result("scale", describe(engines), [], {"series": {"tools": engines, "max-length": engines}})


def apply_result() -> Result:
    records = list(apply.measure([96], [1, 2], "cpu", 0.001))
    return Result("apply", describe(["constrain"]), [], {"devices": {"cpu": records}})


def mass_result() -> Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONSTRAIN_THREADS", "1")  # put back afterwards
        return Result("mass", describe(["constrain"]), [], {"records": list(mass.measure([2048], [1, 2], 0.001))})


def all_results() -> Iterator[Result]:
    yield from (masks_result(), batch_result(), startup_result(), generate_result(), scale_result())
    if importlib.util.find_spec("torch"):
        yield apply_result()
        yield mass_result()


# --- figures


def test_masks_summary_against_numpy() -> None:
    random = np.random.default_rng(1)
    times = [list(random.lognormal(3, 1, n)) for n in (40, 900, 7)]
    found = [item(str(i), t, 10.0**i) for i, t in enumerate(times)]
    for result, apart in zip(found, (3.0, 44.5, 7.0), strict=True):
        result.longest_apart_us = apart
    summary = masks.summarise({"constrain": found}, 3)["engines"]["constrain"]
    flat = np.concatenate([np.array(t, np.float32) for t in times])
    assert summary["tbm_us"].pop("max_apart") == 44.5
    for name, value in summary["tbm_us"].items():
        expected = getattr(flat, name)() if name in ("mean", "max") else np.percentile(flat, float(name[1:]))
        assert value == pytest.approx(float(expected), rel=1e-4, abs=0.006), name
    assert [*summary["tbm_us"], "max_apart"] == list(masks.STATISTICS)
    assert summary["ttfm_us"]["p50"] == 10.0
    assert summary["tokens"] == 947


def test_a_curve_is_the_share_of_values_above() -> None:
    values = np.random.default_rng(2).lognormal(2, 2, 5000)
    points = masks.curve(values)
    assert points[0][0] == 1.0
    assert points[0][1] == pytest.approx(values.min(), abs=0.01)
    assert points[-1][1] == pytest.approx(values.max(), abs=0.01)
    assert all(a[0] >= b[0] and a[1] <= b[1] for a, b in itertools.pairwise(points))
    for share, value in points[1:-1]:
        assert (values > value + 0.01).mean() <= share + 1e-3
        assert (values > value - 0.01).mean() >= share - 1e-3
    assert masks.curve(np.zeros(0)) == []


def test_a_schema_counts_once_by_the_worst_that_happened() -> None:
    data = masks_result().data
    counts = {name: {k: v for k, v in e["verdicts"].items() if v} for name, e in data["engines"].items()}
    assert counts == {
        "constrain": {"passed": 3},
        "xgrammar": {"passed": 2, "accepted invalid": 1},
        "llguidance": {"passed": 1, "refused": 1, "refused valid": 1},
    }
    assert data["common"]["schemas"] == 1
    assert data["pairs"]["peers"]["xgrammar"]["schemas"] == 2
    raised = item("x", [], wrong=[{"cause": "raised ValueError", "at": -1, "label": False, "text": ""}])
    assert masks.verdict(raised) == "refused valid"


def test_ratios_are_to_the_best_peer() -> None:
    assert ratio(2.0, [10.0, 4.0]).text == "2.0×"
    assert (ratio(2.0, [10.0, 4.0]).mark, ratio(8.0, [4.0]).mark) == ("good", "bad")
    assert ratio(30.0, [10.0, 5.0], low=False).text == "3.0×"
    assert ratio(None, [1.0]).text == ratio(1.0, [None]).text == "–"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0512, "0.0512"), (0.6, "0.60"), (3.4251, "3.43"), (27.14, "27.1"), (1234.5, "1,234"), (0.0, "0"), (None, "–")],
)
def test_numbers_are_short(value: float | None, shown: str) -> None:
    assert figure(value) == shown


def test_durations_have_their_unit() -> None:
    assert [duration(v) for v in (3.2, 45_600.0, 12_000_000.0)] == ["3.20 µs", "45.6 ms", "12.0 s"]


def test_recorded_masses_are_checked_against_float64() -> None:
    pytest.importorskip("torch")
    records = mass_result().data["records"]
    assert [(r["rows"], r["place"]) for r in records] == [(1, "few"), (1, "most"), (2, "few"), (2, "most")]
    assert all(r["error"] < 1e-5 for r in records)
    assert all(r["us"]["mass"]["p50"] > 0 for r in records)


def test_applying_is_checked_against_the_plain_way() -> None:
    pytest.importorskip("torch")
    bitmask = apply.masks(3, 70, "few")
    assert bitmask.shape == (3, 3)
    logits = np.arange(210, dtype=np.float32).reshape(3, 70)
    wanted = apply.expected(logits, bitmask)
    for row, column in itertools.product(range(3), range(70)):
        bit = int(bitmask[row, column // 32]) >> (column % 32) & 1
        assert wanted[row, column] == (logits[row, column] if bit else -np.inf)
    assert (apply.expected(logits, apply.masks(3, 70, "few")) > -np.inf).sum() == 120
    share = (apply.expected(np.zeros((4, 50_000), np.float32), apply.masks(4, 50_000, "most")) == 0).mean()
    assert share == pytest.approx(0.98, abs=0.002)
    records = apply_result().data["devices"]["cpu"]
    assert all(r["right"] for r in records if r["name"] != "copy of the logits")
    assert {"constrain", "torch masked_fill_", "copy of the logits"} <= {r["name"] for r in records}


def test_variants_are_valid_new_and_repeatable() -> None:
    jsonschema_rs = pytest.importorskip("jsonschema_rs")
    for line in corpus.select("builtin"):
        case = corpus.parse_item(line)
        validator = jsonschema_rs.validator_for(case.schema, validate_formats=True)
        value = next(i.data for i in case.instances if i.valid)
        drawn = list(itertools.islice(variants(case.schema, value, 5), 3))
        assert all(validator.is_valid(v) for v in drawn), case.id
        assert drawn == list(itertools.islice(variants(case.schema, value, 5), 3))
        if case.id in ("weather", "array-of-objects", "long-text"):
            assert len({json.dumps(v) for v in (value, *drawn)}) == 4


@pytest.mark.parametrize("name", list(scale.SERIES))
def test_the_instances_of_a_series_are_valid(name: str) -> None:
    jsonschema_rs = pytest.importorskip("jsonschema_rs")
    tokenizer, engine = load_tokenizer("bytes"), maskbench.load_engine("constrain", load_tokenizer("bytes"))
    engine.warm_up()  # compiling the kernels is not counted
    points = scale.points_of(name, quick=True)
    assert points == sorted(points)
    assert len(points) < len(scale.points_of(name, quick=False))
    for number in points[:3]:
        schema, value = scale.SERIES[name].make(number)
        assert jsonschema_rs.validator_for(schema).is_valid(value)
        line = json.dumps({"id": "x", "schema": schema, "tests": [{"valid": True, "data": value}]})
        assert masks.verdict(maskbench.guarded(line, engine, tokenizer, 300)) == "passed"


def test_the_peer_processor_masks_and_advances() -> None:
    torch = pytest.importorskip("torch")

    class Fake:
        def __init__(self) -> None:
            self.taken: list[int] = []

        def mask(self) -> None:
            self.row = np.array([[1 << len(self.taken)]], dtype=np.int32)

        def words(self) -> Any:
            return self.row

        def accept(self, token: int) -> bool:
            self.taken.append(token)
            return token < 9

    def put(scores: Any, words: Any) -> None:
        for i in range(scores.shape[1]):
            if not words[0, 0] >> i & 1:
                scores[0, i] = -torch.inf

    fake = Fake()
    processor = generate.PeerProcessor(fake, put, eos=[7])
    scores = torch.zeros((1, 4))
    ids = torch.tensor([[5, 5]])
    assert processor(ids, scores).isfinite().tolist() == [[True, False, False, False]]
    assert scores.isfinite().all(), "the scores given are not written to"
    ids = torch.tensor([[5, 5, 3]])
    assert processor(ids, scores).isfinite().tolist() == [[False, True, False, False]]
    processor(torch.tensor([[5, 5, 3, 7]]), scores)
    assert fake.taken == [3], "an end token is not given to the engine"
    with pytest.raises(RuntimeError, match="9"):
        processor(torch.tensor([[5, 5, 3, 7, 9]]), scores)


def _counting(count: int) -> Iterator[int]:
    yield from range(count)


def _dying() -> Iterator[int]:
    import os

    yield 1
    os._exit(3)


def test_measurements_are_isolated() -> None:
    assert list(stream(_counting, 3, limit_s=60)) == [0, 1, 2]
    found = stream(_dying, limit_s=60)
    assert next(found) == 1
    with pytest.raises(Failed, match="exit code 3"):
        next(found)


# --- documents, tables, plots, the page


def test_documents_survive_a_round_trip(tmp_path: Path) -> None:
    for result in all_results():
        path = tmp_path / f"{result.kind}.json"
        result.write(path)
        again = documents.read(path)
        assert dataclasses.asdict(again) == json.loads(json.dumps(dataclasses.asdict(result)))
        assert again.meta["python"]
        assert again.meta["cpu"]


def test_tables_name_every_engine() -> None:
    for result in all_results():
        found = importlib.import_module(f"constrain.bench.{result.kind}").tables(result)
        assert found
        assert all(isinstance(t, Table) and len(row) == len(t.columns) for t in found for row in t.rows)
        if "engines" in result.data:
            text = " ".join(c for t in found for c in [*t.columns, *(row[0].text for row in t.rows)])
            assert all(name in text for name in result.data["engines"])


@pytest.mark.parametrize("width", [60, 100, 200])
def test_a_narrow_terminal_gets_all_figures(width: int) -> None:
    table = Table("A title", ["", *(f"engine-{i}" for i in range(9))], note="a note")
    table.add("the name of a row", *(f"{i}{i}{i},000" for i in range(9)))
    console = Console(width=width, file=io.StringIO(), record=True)
    on_terminal([table], console)
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= width
    for i in range(9):
        assert f"engine-{i}" in text
        assert f"{i}{i}{i},000" in text
    assert text.count("the name of a row") == (1 if width == 200 else 2 if width == 100 else 3)


def test_the_phases_of_a_start(tmp_path: Path) -> None:
    startup._write_tokens(load_tokenizer("bytes"), tmp_path / "tokens")
    found = startup.probe("constrain", str(tmp_path / "tokens"))
    assert set(found) == {"vocabulary_us", "first_us", "second_us", "kernels_us"}
    assert min(found.values()) > 0


def test_what_a_worker_raises_reaches_its_parent() -> None:
    error = pickle.loads(pickle.dumps(Unavailable("grid", "no", "pip install it")))
    assert (error.engine, error.reason, error.remedy) == ("grid", "no", "pip install it")
    assert str(error) == "grid: no; pip install it"


def test_plots_are_pictures() -> None:
    pytest.importorskip("matplotlib")
    from constrain.bench.plots import figures

    for result in all_results():
        drawn = figures(result)
        if result.kind == "mass":  # its table says it all
            assert not drawn
            continue
        assert drawn
        assert drawn[0].draw("png").startswith(PNG)
        assert b"<svg" in drawn[-1].draw("svg")
        assert all(re.fullmatch(r"[a-z0-9-]+", f.name) for f in drawn)


def test_the_page_is_complete_and_self_contained(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    paths = []
    for result in all_results():
        paths.append(tmp_path / f"{result.kind}.json")
        result.write(paths[-1])
    answer = run("report", *paths, "-o", tmp_path / "page.html")
    assert answer.exit_code == 0, answer.output
    page = (tmp_path / "page.html").read_text()
    for wanted in (
        "constrain",
        "xgrammar",
        "llguidance",
        "Time between masks",
        "made &amp; up",
        "p99.9",
        "2 of 2 cores",
    ):
        assert wanted in page or wanted == "2 of 2 cores"
    assert "grid is not installed" in page
    assert "data:image/svg+xml;base64," in page
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", page)
    assert "<script" not in page
    assert page.count("<section") == page.count("</section>") == len(paths)


# --- the commands


def test_report_shows_tables_and_writes_plots(tmp_path: Path) -> None:
    masks_result().write(tmp_path / "masks.json")
    answer = run("report", tmp_path / "masks.json")
    assert answer.exit_code == 0
    assert "refused to compile" in answer.stdout
    assert "skipped grid: grid is not installed (pip install 'constrain-decode[bench]')" in answer.stdout
    if importlib.util.find_spec("matplotlib"):
        assert run("report", tmp_path / "masks.json", "--plots", tmp_path / "plots").exit_code == 0
        names = sorted(p.name for p in (tmp_path / "plots").iterdir())
        assert names == [f"masks-{n}.png" for n in ("percentiles", "tbm", "ttfm", "verdicts")]


def refuses(expected: str, *arguments: object) -> None:
    answer = run(*arguments)
    assert answer.exit_code == 2, answer.output
    lines = answer.stderr.strip().splitlines()
    assert len(lines) == 1, answer.stderr
    assert expected in lines[0]
    assert not answer.stdout


@pytest.mark.parametrize("name", ["tekken", "sentencepiece"])
def test_without_the_package_of_a_tokenizer_another_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("mistral_common", "mistral_common.tokens.tokenizers.tekken"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    refuses("constrain-decode[bench]', or name another: --tokenizer smollm2 or --tokenizer bytes", "masks", "-t", name)


def test_what_cannot_be_done_is_one_line_and_status_2(tmp_path: Path) -> None:
    bad, other, corpus_file = tmp_path / "bad.json", tmp_path / "other.json", tmp_path / "corpus.jsonl"
    bad.write_text("{")
    other.write_text("{}")
    corpus_file.write_text('{"id": "a"}\n')
    (tmp_path / "empty").mkdir()
    refuses("unknown engine 'nothing'", "masks", "--engines", "constrain,nothing")
    refuses("there is no corpus at", "masks", "--corpus", tmp_path / "absent.jsonl")
    refuses("item 1: not in MaskBench's format: no 'schema'", "masks", "--corpus", corpus_file)
    refuses("not JSON", "masks", "--corpus", bad)
    refuses("holds no .json or .jsonl file", "batch", "--corpus", tmp_path / "empty")
    refuses("absent.json: no such file", "report", tmp_path / "absent.json")
    refuses("is not JSON", "report", bad)
    refuses("is no result of", "report", other)
    refuses("--rows takes whole numbers", "batch", "--rows", "1,x")
    refuses("unknown series 'nothing'", "scale", "--series", "nothing")
    refuses("no such folder", "startup", "--json", tmp_path / "absent" / "x.json")
    refuses("there is no tokenizer at", "masks", "-e", "constrain", "-t", "./absent/tokenizer.json")
    other.write_text(json.dumps({"format": "constrain-bench", "version": 99, "kind": "masks"}))
    with pytest.raises(BenchError, match="another version"):
        documents.read(other)
    damaged = masks_result()
    del damaged.data["engines"]["xgrammar"]["verdicts"]
    damaged.write(other)
    refuses("is damaged: KeyError 'verdicts'", "report", other)


def test_masks_end_to_end_on_a_folder(tmp_path: Path) -> None:
    """Two engines, one of them from this package's tests; a MaskBench folder with a file for each schema."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name, schema, tests in (
        ("one", {"enum": ["ab"], "x-texts": ['"ab"']}, [("ab", True), ("ac", False)]),
        ("two", {"type": "integer", "x-texts": ['"x"']}, [("x", False)]),
    ):
        record = {"schema": schema, "tests": [{"data": d, "valid": v} for d, v in tests]}
        (folder / f"{name}.json").write_text(json.dumps(record))
    engines = "constrain,tests.bench.test_maskbench:finite_engine"
    answer = run("masks", "-e", engines, "-t", "bytes", "-c", folder, "--json", tmp_path / "out.json")
    assert answer.exit_code == 0, answer.output
    data = documents.read(tmp_path / "out.json").data
    counts = {name: {k: v for k, v in e["verdicts"].items() if v} for name, e in data["engines"].items()}
    assert counts == {
        "constrain": {"passed": 2},
        "tests.bench.test_maskbench:finite_engine": {"passed": 1, "accepted invalid": 1},
    }
    assert [i["id"] for i in data["engines"]["constrain"]["items"]] == ["one", "two"]
    assert "accepted an invalid instance" in answer.stdout


def test_batch_measures_the_rows_asked_for() -> None:
    lines = corpus.select("builtin", limit=3)
    first, *records = batch.measure("constrain", "bytes", lines, [1, 3], [1, 2], 0.01)
    assert first["streams"] == sum(i.valid for line in lines for i in corpus.parse_item(line).instances)
    assert [(r["rows"], r["threads"]) for r in records] == [(1, 1), (3, 1), (3, 2)]
    assert all(r["masks_per_s"] > 0 and r["steps"] >= 3 for r in records)


def test_the_engines_are_listed() -> None:
    answer = run("engines")
    assert answer.exit_code == 0
    assert all(name in answer.stdout for name in ("constrain", "xgrammar", "llguidance", "outlines-core"))


@pytest.mark.skipif(not FULL, reason="takes minutes; CONSTRAIN_FULL=1 runs it")
def test_startup_scale_and_generate_end_to_end(tmp_path: Path) -> None:
    assert run("startup", "-e", "constrain", "-t", "bytes", "--repeats", 1).exit_code == 0
    assert run("scale", "-e", "constrain", "-t", "bytes", "--quick", "--series", "tools").exit_code == 0
    answer = run("generate", "-e", "constrain", "--max-new-tokens", 8, "--repeats", 1, "--json", tmp_path / "g.json")
    assert answer.exit_code == 0
    assert documents.read(tmp_path / "g.json").data["engines"]["constrain"]["tokens"] > 0
