"""`constrain chat`: what it prints, runs and refuses; the model is scripted."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from constrain.cli import app, models

TOOLS = '''
import json


def get_weather(city: str):
    """The weather.

    Args:
        city: Where.
    """
    if city == "Atlantis":
        raise LookupError("no such city")
    return {"city": city, "degrees": 21}


def _helper(x):
    return x
'''
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "CITY"}}\n</tool_call>'
MCP = {
    "result": {
        "tools": [
            {
                "name": "get_weather",
                "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
            }
        ]
    }
}


def call(city: str) -> str:
    return CALL.replace("CITY", city)


@pytest.fixture
def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    from tests.constrain.generation.scripted import model

    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "mcp.json").write_text(json.dumps(MCP))

    def run(scripts: list[str], *arguments: Any, tools: str = "tools.py", lines: str = "") -> tuple[int, str, str, Any]:
        made = model(*scripts)
        monkeypatch.setattr(models, "load", lambda *_: made)
        monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
        given = ["--tools", str(tmp_path / tools), "--max-new-tokens", "60", *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", ["constrain", "chat", *given])
        with pytest.raises(SystemExit) as exit_:
            app.main()
        out, err = capsys.readouterr()
        return int(exit_.value.code or 0), out, err, made[0]  # type: ignore[call-overload]

    return run


@pytest.mark.parametrize("tools", ["tools.py", "mcp.json"])
def test_one_message_and_calls_that_are_not_run(chat: Any, tools: str) -> None:
    status, out, err, _ = chat(["Let me see.\n" + call("Oslo")], "--message", "Weather?", tools=tools)
    assert (status, err) == (0, "")
    assert out == 'Let me see.\nget_weather({"city": "Oslo"})\n'


def test_functions_run_only_when_told(chat: Any) -> None:
    status, out, _, _ = chat([call("Oslo"), "21 degrees."], "--message", "Weather?", "--execute")
    assert status == 0
    assert out == 'get_weather({"city": "Oslo"})\n  -> {"city": "Oslo", "degrees": 21}\n21 degrees.\n'
    _, out, _, _ = chat([call("Atlantis"), "Nowhere."], "--message", "Weather?", "--execute")
    assert out.splitlines()[1:] == ["  failed: LookupError: no such city", "Nowhere."]
    status, out, err, _ = chat(["A."], "--message", "Weather?", "--execute", tools="mcp.json")
    assert status == 1
    assert "--execute runs those of Python files" in err


def test_json(chat: Any) -> None:
    _, out, _, _ = chat([call("Oslo"), "21."], "--message", "Weather?", "--execute", "--json")
    first, second = map(json.loads, out.splitlines())
    assert first["calls"][0] == {"id": first["results"][0]["id"], "name": "get_weather", "arguments": {"city": "Oslo"}}
    assert first["results"][0]["content"] == {"city": "Oslo", "degrees": 21}
    assert second == {"text": "21.", "calls": [], "finish_reason": "stop"}


def test_a_terminal_shows_an_answer_as_it_is_written(chat: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    written: list[str] = []
    kept = Console.print

    def noted(self: Console, *things: Any, **options: Any) -> None:
        written.append("".join(map(str, things)) + options.get("end", "\n"))
        kept(self, *things, **options)

    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(Console, "print", noted)
    answers = ["Let me see.\n" + call("Oslo"), "21 degrees, and sun."]
    status, _, _, _ = chat(answers, "--message", "Weather?", "--execute")
    assert status == 0
    assert "".join(written) == (
        'Let me see.\nget_weather({"city": "Oslo"})\n  -> {"city": "Oslo", "degrees": 21}\n21 degrees, and sun.\n'
    )
    assert len(written) > 12  # piece by piece


def test_lines_are_messages_of_one_conversation(chat: Any) -> None:
    status, out, _, model = chat([call("Oslo"), "B."], "--system", "Be brief.", lines="Weather?\n\nAnd now?\n")
    assert status == 0
    assert out.splitlines() == ['get_weather({"city": "Oslo"})', "B."]
    second = model.tokenizer.decode(model.prompts[1])
    assert all(part in second for part in ("Be brief.", "Weather?", '"city": "Oslo"', "was not run", "And now?"))


def test_choices_and_limits(chat: Any) -> None:
    status, out, _, _ = chat(["Hi."], "--message", "A?", "--tool-choice", "none")
    assert (status, out) == (0, "Hi.\n")
    status, out, err, _ = chat(["A very long text " * 9], "--message", "A?", "--max-new-tokens", 5)
    assert status == 1
    assert "cut off after 5 tokens" in err
    status, _, err, _ = chat(["A."], "--message", "A?", "--tool-choice", "get_wether")
    assert status == 1
    assert "did you mean 'get_weather'" in err
    status, _, err, _ = chat(["A."], "--message", "A?", "--format", "qwen99")
    assert status == 1
    assert "there is no such format" in err


def test_files_without_tools(chat: Any, tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("x = 1\n")
    (tmp_path / "bad.json").write_text("{")
    for name, reason in (("empty.py", "no public function"), ("bad.json", "not JSON"), ("none.json", "none.json")):
        status, out, err, _ = chat(["A."], "--message", "A?", tools=name)
        assert (status, out) == (1, "")
        assert reason in err
        assert len(err.splitlines()) == 1
