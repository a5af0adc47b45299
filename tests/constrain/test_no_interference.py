"""Law 5: where the free greedy output is already valid, the constrained run returns the same ids. With a real model."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

import constrain
from constrain.cli import models
from tests.constrain.demo_model import needs_demo_model

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

pytestmark = needs_demo_model


@pytest.fixture(scope="module")
def loaded() -> tuple[Any, Any, Any]:
    model, tokenizer = models.load(models.DEMO_MODEL, "cpu")
    vocabulary = constrain.Vocabulary.from_tokenizer(tokenizer, generation_config=model.generation_config)
    return model, tokenizer, vocabulary


def generate(model: Any, ids: Any, processors: list[Any], tokens: int) -> list[int]:
    output = model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        logits_processor=processors,
        max_new_tokens=tokens,
        do_sample=False,
        pad_token_id=2,
    )
    return output[0, ids.shape[1] :].tolist()


def test_a_grammar_of_all_texts_changes_no_answer(loaded: tuple[Any, Any, Any]) -> None:
    model, tokenizer, vocabulary = loaded
    everything = constrain.regex(r"[\s\S]*").compile(vocabulary)
    for prompt in ("What is the capital of France?", "Schreibe ein Gedicht über Äpfel und 🍎.", "Count: 1, 2, 3,"):
        messages = [{"role": "user", "content": prompt}]
        ids = tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
        )["input_ids"]
        free = generate(model, ids, [], 24)
        processor = constrain.ConstrainedLogitsProcessor(everything)
        assert generate(model, ids, [processor], 24) == free


def test_valid_json_that_the_model_writes_by_itself_stays_as_it_is(loaded: tuple[Any, Any, Any]) -> None:
    """The model follows the pattern of its prompt; what it writes up to the closing brace is then a valid answer."""
    model, tokenizer, vocabulary = loaded
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 20}, "days": {"type": "integer", "minimum": 1}},
        "required": ["city", "days"],
        "additionalProperties": False,
    }
    compiled = constrain.json_schema(schema).compile(vocabulary)
    trips = {"Paris": 3, "Rome": 5, "Oslo": 2, "Madrid": 4, "Berlin": 7, "Vienna": 1}
    lines = [json.dumps({"city": city, "days": days}) for city, days in trips.items()]
    pairs = [f"{city}, {days} days => {line}" for (city, days), line in zip(trips.items(), lines, strict=True)]
    for prompt in ("\n".join(["JSON: " + line for line in lines] + ["JSON:"]), "\n".join([*pairs, "Lima, 6 days =>"])):
        ids = tokenizer(prompt, return_tensors="pt")["input_ids"]
        free = generate(model, ids, [], 24)
        ends = [n for n in range(1, len(free) + 1) if tokenizer.decode(free[:n]).endswith("}")]
        assert ends, "the model wrote no object; the test needs another prompt"
        answer = free[: ends[0]]
        jsonschema.validate(json.loads(tokenizer.decode(answer)), schema)
        constrained = generate(model, ids, [constrain.ConstrainedLogitsProcessor(compiled)], 24)
        assert constrained == [*answer, vocabulary.eos_token_ids[0]]
