"""`constrain demo`: what the constraint does to a small real model that is asked to call tools."""

from __future__ import annotations

import json
import statistics
import time
from typing import Any

from rich.console import Console
from rich.table import Table

from constrain.cli import models
from constrain.cli.console import one_line, progress, results
from constrain.cli.generate import ask, encode

TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_weather",
        "description": "Weather forecast for a city.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "minLength": 1, "maxLength": 40},
                "days": {"type": "integer", "minimum": 1, "maximum": 10},
                "unit": {"enum": ["celsius", "fahrenheit"]},
            },
            "required": ["city", "days", "unit"],
            "additionalProperties": False,
        },
    },
    {
        "name": "set_alarm",
        "description": "Ring at a time of day.",
        "parameters": {
            "type": "object",
            "properties": {
                "time": {"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"},
                "label": {"type": "string", "maxLength": 40},
            },
            "required": ["time"],
            "additionalProperties": False,
        },
    },
    {
        "name": "send_message",
        "description": "Send a text message to some people.",
        "parameters": {
            "type": "object",
            "properties": {
                "to": {"type": "array", "items": {"type": "string", "maxLength": 30}, "minItems": 1, "maxItems": 3},
                "text": {"type": "string", "minLength": 1, "maxLength": 120},
                "urgent": {"type": "boolean"},
            },
            "required": ["to", "text", "urgent"],
            "additionalProperties": False,
        },
    },
]

PROMPTS = [
    "What will the weather be like in Reykjavik over the next three days? Please use celsius.",
    "Set an alarm for 06:30 with the label 'catch the train'.",
    "Send a message to Alice and Bob: the meeting has moved to four o'clock. It is urgent!",
]


def call_schema(tools: list[dict[str, Any]]) -> dict[str, Any]:
    """The schema of one call of one of the tools."""
    return {
        "anyOf": [
            {
                "type": "object",
                "properties": {"name": {"const": tool["name"]}, "arguments": tool["parameters"]},
                "required": ["name", "arguments"],
                "additionalProperties": False,
            }
            for tool in tools
        ]
    }


def system_prompt(tools: list[dict[str, Any]]) -> str:
    """Instructions as one would write them for a model without a template for tools."""
    listed = "\n".join(json.dumps(tool) for tool in tools)
    return (
        "You answer by calling one of these tools:\n"
        f"{listed}\n"
        'Answer with one JSON object and nothing else: {"name": <tool name>, "arguments": {<its arguments>}}'
    )


def problem(text: str, schema: Any) -> str:
    """Why the text is no valid call, or "" when it is one."""
    try:
        call = json.loads(text)
    except ValueError as error:
        return f"not JSON: {error}"
    try:
        import jsonschema
    except ImportError:
        names = {tool["name"] for tool in TOOLS}
        valid = isinstance(call, dict) and call.keys() == {"name", "arguments"} and call["name"] in names
        return "" if valid else "not a call of one of the tools"
    best = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(call))
    return "" if best is None else f"not a valid call: {best.message}"


def run(model_name: str | None, max_new_tokens: int) -> int:
    """Print the comparison. Returns 0 when every constrained answer is a valid call, else 1."""
    import constrain

    console = results()
    model, tokenizer = models.load(model_name or models.DEMO_MODEL)
    with progress("reading the vocabulary"):
        vocabulary = constrain.Vocabulary.from_tokenizer(tokenizer, generation_config=model.generation_config)
        constrain.warm_up()
    schema = call_schema(TOOLS)
    start = time.perf_counter()
    compiled = constrain.json_schema(schema).compile(vocabulary)
    compile_seconds = time.perf_counter() - start

    answers: dict[bool, list[dict[str, Any]]] = {False: [], True: []}
    for prompt in PROMPTS:
        console.print(f"\n[bold]{prompt}[/]", soft_wrap=True)
        input_ids = encode(tokenizer, prompt, system=system_prompt(TOOLS)).to(model.device)
        for constrained in (False, True):
            with progress("generating"):
                answer = ask(
                    model, tokenizer, input_ids, compiled if constrained else None, max_new_tokens=max_new_tokens
                )
            cut_off = answer["complete"] is False
            answer["problem"] = f"cut off after {max_new_tokens} tokens" if cut_off else problem(answer["text"], schema)
            answers[constrained].append(answer)
            _show(console, constrained, answer)
    _summary(console, answers, compile_seconds)
    return 0 if all(not answer["problem"] for answer in answers[True]) else 1


def _show(console: Console, constrained: bool, answer: dict[str, Any]) -> None:
    console.print("constrained:" if constrained else "free:", style="cyan")
    console.print(f"  {one_line(answer['text'], 300)}", markup=False, soft_wrap=True)
    if answer["problem"]:
        console.print(f"  ✗ {one_line(answer['problem'], 160)}", style="red", markup=False, soft_wrap=True)
    else:
        call = json.loads(answer["text"])
        arguments = ", ".join(f"{name}={value!r}" for name, value in call["arguments"].items())
        console.print(f"  ✓ {call['name']}({arguments})", style="green", markup=False, soft_wrap=True)


def _summary(console: Console, answers: dict[bool, list[dict[str, Any]]], compile_seconds: float) -> None:
    table = Table(title="\nSummary", title_justify="left")
    table.add_column("")
    table.add_column("valid calls", justify="right")
    table.add_column("tokens", justify="right")
    table.add_column("tokens/s", justify="right")
    table.add_column("mask, median", justify="right")
    table.add_column("mask, slowest", justify="right")
    for constrained, rows in answers.items():
        tokens = sum(row["tokens"] for row in rows)
        masks = [seconds for row in rows for seconds in row["mask_seconds"]]
        table.add_row(
            "constrained" if constrained else "free",
            f"{sum(not row['problem'] for row in rows)} of {len(rows)}",
            str(tokens),
            f"{tokens / sum(row['seconds'] for row in rows):.1f}",
            f"{statistics.median(masks) * 1e6:.0f} µs" if masks else "",
            f"{max(masks) * 1e6:.0f} µs" if masks else "",
        )
    console.print(table)
    console.print(f"The three tools were compiled in {compile_seconds * 1e3:.1f} ms.")
