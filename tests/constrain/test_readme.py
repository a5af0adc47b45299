"""The examples of the README run as they are printed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import numpy
import pytest

import constrain

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()
LIBRARY, FUNCTION, SERVER, PARTS, LOOP, STYLE = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
SCHEMA = {
    "type": "object",
    "properties": {"city": {"enum": ["Oslo", "Bergen"]}, "days": {"enum": [1, 2, 3]}},
    "required": ["city", "days"],
    "additionalProperties": False,
}


def test_the_examples(tiny_model_folder: Path) -> None:
    torch = pytest.importorskip("torch")
    names: dict[str, Any] = {"name": tiny_model_folder, "schema": SCHEMA, "numpy": numpy}
    exec(LIBRARY, names)
    assert names["processor"].completed(names["output"]) == [True]
    new = names["output"][0, names["inputs"]["input_ids"].shape[1] :]
    jsonschema.validate(json.loads(names["tokenizer"].decode(new, skip_special_tokens=True)), SCHEMA)

    first = names["vocabulary"].token_bytes.index(b"{")
    names |= {"logits": torch.zeros(1, names["vocabulary"].size), "token": first}
    exec(LOOP, names)
    assert torch.isfinite(names["logits"][0, first])
    assert names["logits"][0].isinf().sum() > 200


def test_the_examples_of_tools(capsys: pytest.CaptureFixture[str]) -> None:
    from tests.constrain.generation.scripted import model

    weather = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2}}\n</tool_call>'
    made, tokenizer = model(weather, "21 degrees on both days.", weather)
    names: dict[str, Any] = {"constrain": constrain, "model": made, "tokenizer": tokenizer}
    exec(FUNCTION, names)
    assert sum(bool(line.strip()) for line in FUNCTION.splitlines()) <= 10
    assert names["result"].results[0].content == {"city": "Oslo", "degrees": [21, 21]}
    assert "21 degrees on both days." in capsys.readouterr().out

    schema = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
    server = {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "get_weather", "inputSchema": schema}]}}
    answer = {"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "Sunny."}], "isError": False}}
    names |= {"tools": server, "call_tool": lambda *_: answer}
    exec(SERVER, names)
    assert names["result"].results[0].content == "Sunny."
    assert [m["role"] for m in names["messages"]] == ["user", "assistant", "tool"]

    names |= {"vocabulary": constrain.Vocabulary.from_tokenizer(tokenizer), "text": weather}
    exec(PARTS, names)
    assert names["message"].calls[0].arguments == {"city": "Oslo", "days": 2}
    assert names["compiled"].grammar is names["grammar"]


def test_the_example_of_a_strict_style(tiny_model_folder: Path) -> None:
    """What the README says of it: a value has one text, that of `json.dumps`."""
    transformers = pytest.importorskip("transformers")
    names: dict[str, Any] = {"constrain": constrain, "schema": SCHEMA}
    exec(STYLE, names)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_model_folder)
    compiled = names["strict"].compile(constrain.Vocabulary.from_tokenizer(tokenizer))
    text = json.dumps({"city": "Oslo", "days": 2}, ensure_ascii=False)
    for other in (
        text,
        json.dumps({"days": 2, "city": "Oslo"}),
        json.dumps({"city": "Oslo", "days": 2}, indent=2),
        json.dumps({"city": "Oslo", "days": 2}, separators=(",", ":")),
        text.replace("Oslo", "\\u004fslo"),
    ):
        assert json.loads(other) == json.loads(text)
        matcher = compiled.matcher()
        assert (matcher.accept_bytes(other.encode()) and matcher.is_accepting) == (other == text)
