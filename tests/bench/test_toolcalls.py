"""Rates of tool calls: what counts as valid and right, BFCL's files, and both ways with a scripted model."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from constrain.bench import page, toolcalls
from constrain.bench.bfcl import read_cases
from constrain.bench.results import BenchError, read
from constrain.cli import models
from constrain.tools import Tool, ToolCall, compare_calls


@pytest.mark.parametrize("name", toolcalls.SETS)
def test_the_answers_of_all_questions_are_valid_and_right(name: str) -> None:
    """Oracle: another validator, and the comparison with the first of the accepted values."""
    cases = toolcalls.built_in(name)
    assert len({case.messages[0]["content"] for case in cases}) == len(cases)
    for case in cases:
        schemas = {tool.name: tool.parameters for tool in case.tools}
        calls = []
        for expected in case.expected or ():
            for tool, accepted in expected.items():
                arguments = {key: values[0] for key, values in accepted.items() if values[0] != ""}
                arguments = {k: _plain(v) for k, v in arguments.items()}
                jsonschema.validate(arguments, schemas[tool])
                calls.append(ToolCall(None, tool, arguments))
        assert compare_calls(calls, case.expected or ()).matches


def _plain(value: Any) -> Any:
    """Members of objects within a value have lists of accepted values."""
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return {k: v[0] for k, v in value.items()} if isinstance(value, dict) else value


def test_a_hundred_questions_to_five_tools() -> None:
    cases = toolcalls.built_in("varied")
    assert (len(cases), len(cases[0].tools)) == (100, 5)
    assert [case.id for case in toolcalls.only(cases, 4)] == [f"varied-{i}" for i in (0, 25, 50, 75)]
    with pytest.raises(BenchError, match="no question set"):
        toolcalls.built_in("large")


def test_reading_leniently() -> None:
    tools = [Tool("f", parameters={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})]
    right = '{"name": "f", "arguments": {"n": 1}}'
    for text, fine in (
        (right, True),
        (f"Sure:\n```json\n{right}\n```", True),
        (right.replace("arguments", "parameters"), True),
        (f"[{right}, {right}]", True),
        (right.replace("1", '"1"'), False),
        (right.replace('"f"', '"g"'), False),
        (right + right.replace("1", "{}"), False),
        ("{} {", False),
        ("no", False),
    ):
        assert toolcalls.read_leniently(text, tools) == fine, text


def bfcl_file(folder: Path) -> Path:
    question = {
        "id": "simple_0",
        "question": [[{"role": "user", "content": "Area of a triangle?"}]],
        "function": [
            {
                "name": "geo.area",
                "description": "Area.",
                "parameters": {
                    "type": "dict",
                    "properties": {
                        "base": {"type": "float"},
                        "type": {"type": "string"},
                        "side": {"type": "any"},
                        "at": {"type": "tuple", "items": {"type": "dict", "properties": {"x": {"type": "float"}}}},
                    },
                    "required": ["base"],
                },
            }
        ],
    }
    (folder / "possible_answer").mkdir()
    path = folder / "BFCL_v3_simple.json"
    path.write_text(json.dumps(question) + "\n")
    answer = {"id": "simple_0", "ground_truth": [{"geo.area": {"base": [10], "type": ["", "a"]}}]}
    (folder / "possible_answer" / path.name).write_text(json.dumps(answer) + "\n")
    return path


def test_files_of_bfcl(tmp_path: Path) -> None:
    path = bfcl_file(tmp_path)
    (case,) = read_cases(path)
    assert (case.id, case.expected) == ("simple_0", [{"geo_area": {"base": [10], "type": ["", "a"]}}])
    (tool,) = case.tools
    assert tool.name == "geo_area"
    properties = tool.parameters["properties"]
    assert properties["base"] == {"type": "number"}
    assert properties["type"] == {"type": "string"}
    assert properties["side"] == {}
    assert properties["at"] == {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "number"}}}}
    assert read_cases(tmp_path)[0].id == "simple_0"
    path.with_name("BFCL_v3_irrelevance.json").write_text(path.read_text())
    assert read_cases(path.with_name("BFCL_v3_irrelevance.json"))[0].expected == []
    line = json.loads(path.read_text())
    of_java = {"m": {"type": "HashMap"}, "l": {"type": "ArrayList"}, "c": {"type": "char"}, "n": {"type": ""}}
    line["function"][0]["parameters"]["properties"] = of_java
    path.write_text(json.dumps(line) + "\n")
    read = read_cases(path)[0].tools[0].parameters["properties"]
    assert read == {"m": {"type": "object"}, "l": {"type": "array"}, "c": {"type": "string"}, "n": {}}
    turns = {"id": "multi_turn_0", "question": [[{"role": "user", "content": "A."}]], "involved_classes": ["B"]}
    path.with_name("BFCL_v3_multi_turn.json").write_text(json.dumps(turns) + "\n")
    assert len(read_cases(tmp_path)) == 2  # a folder may hold other files
    path.write_text("{}\n")
    with pytest.raises(BenchError, match="line 1, is no question"):
        read_cases(path)
    path.write_text("{\n")
    with pytest.raises(BenchError, match="not JSON"):
        read_cases(path)
    with pytest.raises(BenchError, match="no such file"):
        read_cases(tmp_path / "none.json")


def test_both_ways(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from tests.constrain.generation.scripted import model

    def call(**arguments: Any) -> str:
        return f"<tool_call>\n{json.dumps({'name': 'get_weather', 'arguments': arguments})}\n</tool_call>"

    cases = toolcalls.built_in("varied")[:4]
    free = [call(city="Paris"), call(town="Paris"), "I do not know.", call(city="Rome")]
    made = model(*free, *free)
    answers = made[0].generate
    monkeypatch.setattr(made[0], "generate", lambda **kw: answers(**{"logits_processor": [], **kw}))
    monkeypatch.setattr(models, "load", lambda *_: made)
    result = toolcalls.run(cases, model="scripted", source="varied", max_new_tokens=90)
    ways = result.data["ways"]
    expected = {"questions": 4, "format": 3, "schema": 2, "name": 2, "match": 1, "lenient": 2, "completed": 4}
    assert {key: ways["free"][key] for key in expected} == expected
    assert ways["free"]["completed_calls_valid"] < ways["free"]["completed_calls"] == 3
    assert ways["constrained"]["completed_calls_valid"] == ways["constrained"]["completed_calls"] >= 2
    assert result.data["items"][1]["free"]["problem"].startswith("wrong_arguments")
    first = result.data["items"][0]
    assert first["free"]["text"] == first["constrained"]["text"]  # nothing interferes with what is valid

    result.write(tmp_path / "out.json")
    again = read(tmp_path / "out.json")
    (table,) = toolcalls.tables(again)
    cells = {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}
    assert cells["schema-valid"][0] == "50 % (2 of 4)"
    assert cells["right arguments too"][0] == "25 % (1 of 4)"
    if importlib.util.find_spec("matplotlib"):
        assert "Tool calls" in page.page([again])
