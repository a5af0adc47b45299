"""Several conversations in one batch: each is answered as if it were alone."""

from __future__ import annotations

from typing import Any

import pytest

import constrain
from constrain.tools import Tool
from tests.constrain.demo_model import needs_demo_model
from tests.constrain.generation.scripted import PLAIN, TEMPLATE, tokenizer

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

CHAT = [
    "Weather in Oslo?",
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "And in the longest-named of all towns?"}],
    [{"role": "user", "content": "No weather, please: only tell me of something else altogether."}],
]


def weather(city: str, days: int = 1) -> dict[str, Any]:
    """The weather.

    Args:
        city: where.
        days: how many.
    """
    return {"city": city, "days": days}


def fails(reason: str) -> None:
    raise RuntimeError(reason)


FAILS = Tool(
    "fails",
    parameters={"type": "object", "properties": {"reason": {"enum": ["a", "b", "c"]}}, "required": ["reason"]},
)


def random_model(template: str) -> tuple[Any, Any]:
    torch.manual_seed(3)
    words = tokenizer(template)
    config = transformers.LlamaConfig(
        vocab_size=len(words),
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        bos_token_id=None,
        eos_token_id=words.eos_token_id,
        pad_token_id=words.eos_token_id,
    )
    return transformers.LlamaForCausalLM(config).eval(), words


def compare(made: tuple[Any, Any], tools: list[Any], **options: Any) -> list[Any]:
    """The results of the batch, after they were found to be those of the conversations alone."""
    together = constrain.generate_tool_calls(*made, CHAT, tools, do_sample=False, **options)
    assert len(together) == len(CHAT)
    for chat, result in zip(CHAT, together, strict=True):
        alone = constrain.generate_tool_calls(*made, chat, tools, do_sample=False, jump=False, **options)
        assert [turn.text for turn in result.turns] == [turn.text for turn in alone.turns]
        assert [turn.prompt for turn in result.turns] == [turn.prompt for turn in alone.turns]
        assert [turn.finish_reason for turn in result.turns] == [turn.finish_reason for turn in alone.turns]
        assert len(result.results) == len(alone.results)
        assert [r.content for r in result.results] == [r.content for r in alone.results]
        assert result.statistics.prompt_tokens == alone.statistics.prompt_tokens
        assert result.statistics.tokens == alone.statistics.tokens
        assert len(result.messages) == len(alone.messages)
    return together


@pytest.mark.parametrize("template", [TEMPLATE, PLAIN])
@pytest.mark.parametrize("choice", ["auto", "required", "none"])
def test_rows_are_answered_as_if_they_were_alone(template: str, choice: str) -> None:
    made = random_model(template)
    results = compare(made, [weather, FAILS], tool_choice=choice, max_new_tokens=60, close_in_time=True)
    lengths = {result.turns[0].statistics.prompt_tokens for result in results}
    assert len(lengths) == len(CHAT)  # so there was something to pad


def test_calls_are_run_row_by_row_and_answered_in_rounds() -> None:
    made = random_model(TEMPLATE)
    options: dict[str, Any] = {"format": "plain_json", "tool_choice": "required", "parallel": False, "max_rounds": 3}
    results = compare(made, [FAILS], max_new_tokens=200, executor={"fails": fails}, **options)
    assert all(result.results for result in results)
    for result in results:
        for turn in result.turns:
            assert len(turn.results) == (len(turn.message.calls) if turn.finish_reason == "tool_calls" else 0)
            for call, given in zip(turn.message.calls, turn.results, strict=False):
                assert (given.call_id, given.is_error) == (call.id, True)
                assert call.arguments["reason"] in given.content


def test_what_a_batch_cannot_have() -> None:
    made = random_model(TEMPLATE)
    with pytest.raises(ValueError, match="jump=True"):
        constrain.generate_tool_calls(*made, CHAT, [weather], jump=True, max_new_tokens=5)
    with pytest.raises(TypeError, match="one conversation"):
        constrain.generate_tool_calls(*made, [*CHAT, []], [weather])
    (one,) = constrain.generate_tool_calls(*made, ["Hello"], [weather], max_new_tokens=5, do_sample=False)
    assert one.messages[0] == {"role": "user", "content": "Hello"}


@needs_demo_model
def test_a_real_model() -> None:
    from constrain.cli import models

    made = models.load("smollm2")
    results = compare(made, [weather], tool_choice="required", parallel=False, max_new_tokens=40)
    assert results[0].calls[0].arguments["city"] == "Oslo"
