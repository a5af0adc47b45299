"""The examples of the README run as they are printed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import numpy
import pytest

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()
LIBRARY, LOOP = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
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
