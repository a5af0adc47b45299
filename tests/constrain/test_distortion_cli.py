"""`constrain distortion`: what it prints and writes, the gate against a baseline, and its errors."""

from __future__ import annotations

import io
import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from constrain.cli import app
from constrain.cli.distortion import UsageError, settings
from tests.constrain.demo_model import needs_demo_model

SCHEMA: dict[str, Any] = {"enum": [False, True]}


@pytest.fixture
def command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tiny_model_folder: Path, tmp_path: Path
) -> Any:
    """Runs the command on the tiny model; gives exit status, standard output and standard error."""
    monkeypatch.delenv("CONSTRAIN_DEBUG", raising=False)
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(SCHEMA))

    def run(
        *arguments: Any, source: tuple[str, Any] = ("--schema", schema), prompt: str = "Hello"
    ) -> tuple[int, str, str]:
        words = ["constrain", "distortion", "-m", tiny_model_folder, "-p", prompt, *source, *arguments]
        monkeypatch.setattr(sys, "argv", [str(w) for w in words])
        with pytest.raises(SystemExit) as exit_:
            app.main()
        out, err = capsys.readouterr()
        assert isinstance(exit_.value.code, int)
        return exit_.value.code, out, err

    return run


COMPACT = ("--whitespace", "compact")


def test_a_finite_schema_is_measured_exactly(command: Any, tmp_path: Path) -> None:
    html = tmp_path / "report.html"
    status, out, err = command("--json", "-", "--html", html, "--budget", 100, *COMPACT)
    assert (status, err) == (0, "")
    (measurement,) = json.loads(out)["measurements"]
    figures = measurement["report"]["figures"]
    assert measurement["report"]["method"] == "exact"
    assert all(figures[name]["kind"] == "exact" for name in ("log_z", "kl_masked_to_exact", "tv"))
    tax = figures["kl_masked_to_exact"]["value"] + figures["unavoidable"]["value"]
    assert figures["tax"]["value"] == pytest.approx(tax, abs=1e-9)
    said = {v["value"]: v["p"] for v in measurement["values"]}
    assert set(said) == {"false", "true"}
    assert math.log(sum(said.values())) == pytest.approx(figures["log_z"]["value"], abs=1e-9)
    assert "<svg" in html.read_text() or "constrain-decode[plots]" in html.read_text()


def test_the_table_says_what_it_measured(command: Any) -> None:
    status, out, err = command("--budget", 100, *COMPACT)
    assert (status, err) == (0, "")
    assert out.startswith("distortion ")
    target = "the target is p given validity\n"
    for words in ("unavoidable price", "what samples miss", "true", "not task quality", "q = ", target):
        assert words in out


def test_the_tokenizers_own_encodings_in_both_orders(command: Any, tmp_path: Path) -> None:
    """One byte a token: all texts of the grammar, and nothing else."""
    schema = tmp_path / "object.json"
    member = {"enum": ["u", "v"]}
    schema.write_text(
        json.dumps(
            {
                "type": "object",
                "properties": {"a": member, "b": member},
                "required": ["a", "b"],
                "additionalProperties": False,
            }
        )
    )
    status, out, err = command(
        "--encodings", "canonical", "--property-order", "declared,any", "--whitespace", "spaced", "--json", "-",
        "--budget", 500, source=("--schema", schema),
    )  # fmt: skip
    assert (status, err) == (0, "")
    declared, free = json.loads(out)["measurements"]
    assert (declared["name"], free["name"]) == ("declared order", "any order")
    assert len(declared["values"]) == len(free["values"]) == 4
    assert declared["report"]["method"] == free["report"]["method"] == "exact"
    assert {"".join(t["text"] for t in e["tokens"]) for e in declared["examples"]} <= {
        f'{{"a": "{x}", "b": "{y}"}}<end>' for x in "uv" for y in "uv"
    }
    figures = [m["report"]["figures"]["log_z"]["value"] for m in (declared, free)]
    assert figures[0] < figures[1]  # the same values, in more ways


def test_grammar_choices_side_by_side(command: Any) -> None:
    status, out, _ = command("--json", "-", "--whitespace", "compact,flexible", "--budget", 60, "--samples", 60)
    assert status == 0
    compact, flexible = json.loads(out)["measurements"]
    assert (compact["name"], flexible["name"]) == ("compact", "flexible")
    ends = [m["report"]["figures"]["log_z"] for m in (compact, flexible)]
    assert ends[0]["low"] <= ends[1]["high"]  # a looser grammar is never less likely
    status, out, _ = command("--whitespace", "compact,flexible", "--budget", 60, "--samples", 60)
    assert "distortion, from the first" in out


def test_the_gate(command: Any, tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    assert command("--json", old, "--budget", 100, *COMPACT)[0] == 0
    status, out, _ = command("--baseline", old, "--budget", 100, *COMPACT)
    assert status == 0
    assert "no worse" in out
    document = json.loads(old.read_text())
    for figure in document["measurements"][0]["report"]["figures"].values():
        if figure["high"]:
            figure["low"] = figure["high"] = figure["high"] - 0.1
    old.write_text(json.dumps(document))
    status, out, _ = command("--baseline", old, "--budget", 100, *COMPACT)
    assert status == 1
    assert "worse" in out
    assert command("--baseline", old, "--budget", 100, "--tolerance", 0.2, *COMPACT)[0] == 0
    status, _, err = command("--baseline", old, *COMPACT, prompt="Something else")
    assert status == 2
    assert "another prompt" in err


def test_sampling_and_a_trie(command: Any) -> None:
    status, out, _ = command(
        "--method", "sampling", "--budget", 0, "--samples", 200, "--max-new-tokens", 9, "--json", "-", *COMPACT
    )
    assert status == 0
    figures = json.loads(out)["measurements"][0]["report"]["figures"]
    assert figures["log_z"]["kind"] == "95% confidence"
    status, out, _ = command(
        "--method", "trie", "--budget", 40, "--max-new-tokens", 9, "--temperature", 0.5, "--json", "-", *COMPACT
    )
    assert status == 0
    assert json.loads(out)["measurements"][0]["report"]["model"].endswith("after TemperatureLogitsWarper")


def test_endless_grammars_are_limited_where_they_are_drawn(
    command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = tmp_path / "text.json"
    schema.write_text('{"type": "string"}')
    shown = io.StringIO()
    bar = Console(file=shown, force_terminal=True, width=120)
    monkeypatch.setattr("constrain.cli.distortion.errors", lambda: bar)
    document = tmp_path / "now.json"
    arguments = ("--budget", 20, "--samples", 60)
    assert command("--json", document, *arguments, source=("--schema", schema))[0] == 0
    (measurement,) = json.loads(document.read_text())["measurements"]
    assert measurement["report"]["target"].endswith("within 64 tokens, end included")
    assert len(measurement["history"]) == 1
    for words in ("prefixes at most", "of 60 draws", "left:"):
        assert words in shown.getvalue()
    status, _, _ = command("--baseline", document, *arguments, "--max-new-tokens", 9, source=("--schema", schema))
    assert status == 2
    assert "another max tokens" in shown.getvalue()
    status, _, _ = command("--baseline", document, *arguments, "--method", "trie", source=("--schema", schema))
    assert status == 2
    assert "another target" in shown.getvalue()


def test_both_sides(command: Any, tmp_path: Path) -> None:
    schema = tmp_path / "short.json"
    schema.write_text('{"enum": [1, 2]}')
    html = tmp_path / "report.html"
    status, out, err = command(
        "--method", "two_sided", "--samples", 60, "--max-new-tokens", 2, "--html", html, *COMPACT,
        source=("--schema", schema),
    )  # fmt: skip
    assert (status, err) == (0, "")
    assert out.startswith("log Z ")
    assert "no proof of it" in out
    assert "what samples miss" not in out
    assert "<h1>" in html.read_text()


def test_whatever_goes_wrong_is_no_verdict(command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from constrain.distortion import study

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(study, "measure", broken)
    status, out, err = command(*COMPACT)
    assert (status, out) == (2, "")
    assert "out of memory" in err


def test_tools(command: Any, tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"name": "f", "parameters": {"type": "object", "properties": {"x": {"enum": [1]}}}}]))
    status, out, err = command("--json", "-", "--method", "trie", "--budget", 50, *COMPACT, source=("--tools", tools))
    assert (status, err) == (0, "")
    (example,) = json.loads(out)["measurements"][0]["examples"]
    assert "".join(t["text"] for t in example["tokens"]).startswith('{"')


def test_tools_in_a_wire_format(command: Any, tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    names = ["x", "y"]
    parameters = {"type": "object", "properties": {n: {"enum": [1]} for n in names}, "required": names}
    tools.write_text(json.dumps([{"name": "f", "parameters": parameters}]))
    source = ("--tools", tools, "--tool-format", "plain_json")
    status, out, err = command("--json", "-", "--method", "trie", "--budget", 50, *COMPACT, source=source)
    assert (status, err) == (0, "")
    (example,) = json.loads(out)["measurements"][0]["examples"]
    call = json.loads("".join(t["text"] for t in example["tokens"]).removesuffix("<end>"))
    assert call["name"] == "f"
    assert call["arguments"] == {"x": 1, "y": 1}
    # In the order of the schema and without blanks the arguments have one text.
    one = ("--property-order", "declared", "--escapes", "plain", *COMPACT)
    status, out, err = command("--json", "-", "--method", "trie", "--budget", 200, *one, source=source)
    assert (status, err) == (0, "")
    (example,) = json.loads(out)["measurements"][0]["examples"]
    assert '"arguments":{"x":1,"y":1}' in "".join(t["text"] for t in example["tokens"])
    status, _, err = command("--whitespace", "spaced", source=("--tools", tools, "--tool-format", "glm_4_5"))
    assert status == 2
    assert "glm_4_5" in err
    assert "spaced" in err
    assert "know no --tool-format" in command("--compare-engines", "xgrammar", source=source)[2]
    assert "needs --tools" in command("--tool-format", "plain_json")[2]


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--method", "guess"), "--method is one of"),
        (("--whitespace", "tabs"), "--whitespace takes compact"),
        (("--property-order", ","), "--property-order is empty"),
        (("--encodings", "some"), "--encodings is all or canonical"),
        (("--plot-format", "gif"), "--plot-format is svg or png"),
        (("--json", "/nowhere/at/all.json"), "there is no such folder"),
        (("--compare-engines", "nobody"), "there is no engine 'nobody'"),
        (("--baseline", "/nowhere.json"), "/nowhere.json: no such file"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(command: Any, arguments: tuple[str, ...], what: str) -> None:
    status, out, err = command(*arguments)
    assert (status, out) == (2, "")
    assert what in err
    assert len(err.splitlines()) == 1


def test_sources(command: Any, tmp_path: Path) -> None:
    assert "either --schema or --tools" in command(source=())[2]
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    status, _, err = command(source=("--schema", broken))
    assert status == 2
    assert "is not JSON" in err


def test_without_matplotlib_pictures_name_the_extra(
    command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.constrain.distortion.test_study import without_matplotlib

    without_matplotlib(monkeypatch)
    status, _, err = command("--plots", tmp_path / "plots", *COMPACT)
    assert status == 2
    assert "constrain-decode[plots]" in err
    html = tmp_path / "x.html"
    assert command("--html", html, "--budget", 50, "--method", "trie", *COMPACT)[0] == 0
    assert "constrain-decode[plots]" in html.read_text()


def test_settings_are_every_combination() -> None:
    found = settings("any,declared", "compact,flexible", "any", "xgrammar", "all")
    assert [s.name for s in found] == [
        "compact, any order", "compact, declared order", "flexible, any order", "flexible, declared order", "xgrammar",
    ]  # fmt: skip
    assert (found[0].whitespace, found[0].property_order, found[2].whitespace) == ("none", "any", "bounded")
    assert (found[-1].engine, found[-1].whitespace) == ("xgrammar", "none")
    assert [s.name for s in settings("any", "flexible", "any", "", "all")] == ["constrain"]
    (canonical,) = settings("any", "flexible", "any", "", "canonical")
    assert (canonical.whitespace, canonical.escapes) == ("none", "plain")
    with pytest.raises(UsageError, match="--escapes takes any, plain"):
        settings("any", "compact", "none", "", "all")


@pytest.mark.parametrize("engine", ["xgrammar", "llguidance"])
def test_other_engines(command: Any, engine: str) -> None:
    pytest.importorskip(engine)
    status, out, err = command("--compare-engines", engine, "--budget", 100, "--json", "-", *COMPACT)
    assert (status, err) == (0, "")
    document = json.loads(out)
    ours, theirs = document["measurements"]
    assert theirs["name"] == engine
    assert {v["value"] for v in theirs["values"]} <= {v["value"] for v in ours["values"]}
    assert engine in document["first_differences"]


@needs_demo_model
@pytest.mark.skipif(os.environ.get("CONSTRAIN_FULL") != "1", reason="CONSTRAIN_FULL=1 runs it: a minute")
def test_on_a_real_model(command: Any, tmp_path: Path) -> None:
    schema = tmp_path / "on.json"
    schema.write_text(
        '{"type":"object","properties":{"on":{"enum":[true,false]}},"required":["on"],"additionalProperties":false}'
    )
    prompt = "Turn the light on. Answer with a JSON object that has one member, on, which is true or false."
    status, out, _ = command(
        "-m", "smollm2", "--budget", 4000, "--json", "-", *COMPACT, source=("--schema", schema), prompt=prompt
    )
    assert status == 0
    report = json.loads(out)["measurements"][0]["report"]
    assert report["method"] == "exact"
    assert report["spellings"]["kl_within"] > report["spellings"]["kl_texts"]
