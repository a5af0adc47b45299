"""Token budgets in `generate`: every output is complete within `max_new_tokens`, in every decoding mode."""

from __future__ import annotations

import json
import warnings
from typing import Any

import jsonschema
import pytest

import constrain
from tests.constrain.test_generate_with_engine import (
    NUMBER_LIST,
    PROMPT_LENGTH,
    SCHEMA,
    compiled,
    model,
    prompts,
    text_of,
)

torch = pytest.importorskip("torch")

NEEDED = compiled(SCHEMA).matcher().tokens_to_end
MODES: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampling": {"do_sample": True},
    "beams": {"num_beams": 3},
    "return sequences": {"do_sample": True, "num_return_sequences": 4},
    "prompt lookup": {"prompt_lookup_num_tokens": 3},
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("more", [0, 2, 9])
def test_every_output_is_complete(mode: str, more: int) -> None:
    torch.manual_seed(more)
    limit = NEEDED + more
    processor = constrain.ConstrainedLogitsProcessor(compiled(SCHEMA), max_new_tokens=limit)
    output = model().generate(**prompts(), max_new_tokens=limit, logits_processor=[processor], **MODES[mode])
    assert processor.completed(output) == [True] * len(output)
    for row in output:
        jsonschema.validate(json.loads(text_of(row)), SCHEMA)


def test_rows_of_a_batch_with_a_grammar_each() -> None:
    limit = NEEDED + 1
    processor = constrain.ConstrainedLogitsProcessor([compiled(SCHEMA), compiled(NUMBER_LIST)], max_new_tokens=limit)
    output = model(1).generate(**prompts(2), max_new_tokens=limit, logits_processor=[processor])
    assert processor.completed(output) == [True, True]
    jsonschema.validate(json.loads(text_of(output[0])), SCHEMA)
    jsonschema.validate(json.loads(text_of(output[1])), NUMBER_LIST)


def test_a_draft_model_within_a_budget() -> None:
    limit = NEEDED + 3
    processor = constrain.ConstrainedLogitsProcessor(compiled(SCHEMA), max_new_tokens=limit)
    output = model().generate(**prompts(), max_new_tokens=limit, logits_processor=[processor], assistant_model=model(1))
    assert processor.completed(output) == [True]


def test_output_given_in_advance_counts_for_the_grammar_alone() -> None:
    ids = torch.cat([prompts()["input_ids"], torch.tensor([[1 + ord("[")]])], dim=1)
    processor = constrain.ConstrainedLogitsProcessor(
        compiled(NUMBER_LIST), prompt_length=PROMPT_LENGTH, max_new_tokens=2
    )
    output = model().generate(
        input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=2, logits_processor=[processor]
    )
    assert processor.completed(output) == [True]


def test_a_budget_that_is_too_small_is_an_error_with_the_number() -> None:
    processor = constrain.ConstrainedLogitsProcessor(compiled(SCHEMA), max_new_tokens=NEEDED - 1)
    with pytest.raises(constrain.TokenBudgetError, match=f"{NEEDED} are known to be enough") as caught:
        model().generate(**prompts(), max_new_tokens=NEEDED - 1, logits_processor=[processor])
    assert (caught.value.row, caught.value.left, caught.value.needed) == (0, NEEDED - 1, NEEDED)
    with pytest.raises(ValueError, match="must not be negative"):
        constrain.ConstrainedLogitsProcessor(compiled(SCHEMA), max_new_tokens=-1)


def test_without_a_budget_the_output_is_cut_off() -> None:
    """The same run, to show that the budget is what completes it."""
    processor = constrain.ConstrainedLogitsProcessor(compiled(SCHEMA))
    output = model().generate(**prompts(), max_new_tokens=NEEDED - 1, logits_processor=[processor])
    assert processor.completed(output) == [False]


@pytest.mark.parametrize("mode", MODES)
def test_a_smaller_limit_of_generate_cuts_off_and_is_warned_of(mode: str) -> None:
    torch.manual_seed(0)
    processor = constrain.ConstrainedLogitsProcessor(compiled(SCHEMA), max_new_tokens=NEEDED + 50)
    output = model().generate(**prompts(), max_new_tokens=5, logits_processor=[processor], **MODES[mode])
    with pytest.warns(RuntimeWarning, match=f"write 5 tokens at most.*max_new_tokens={NEEDED + 50}") as caught:
        assert processor.completed(output) == [False] * len(output)
    assert len(caught) == 1


def test_only_what_a_smaller_limit_cut_off_is_warned_of() -> None:
    def stopped(_ids: Any, _scores: Any, **_: Any) -> Any:
        return torch.ones(1, dtype=torch.bool)

    short = constrain.regex("[ab]").compile(compiled(SCHEMA).vocabulary)
    cases: list[tuple[Any, dict[str, Any], bool]] = [
        (short, {"max_new_tokens": 5}, True),
        (compiled(SCHEMA), {"max_new_tokens": NEEDED + 50}, True),
        (compiled(SCHEMA), {"max_new_tokens": 5, "stopping_criteria": [stopped]}, False),
    ]
    for grammar, options, completed in cases:
        processor = constrain.ConstrainedLogitsProcessor(grammar, max_new_tokens=NEEDED + 50)
        output = model().generate(**prompts(), logits_processor=[processor], **options)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert processor.completed(output) == [completed]


def test_a_smaller_limit_is_told_from_the_output_that_was_given_in_advance() -> None:
    ids = prompts()["input_ids"]
    processor = constrain.ConstrainedLogitsProcessor(
        compiled(SCHEMA), prompt_length=ids.shape[1] - 1, max_new_tokens=NEEDED + 50
    )
    begun = torch.cat([ids[:, :-1], torch.tensor([[compiled(SCHEMA).vocabulary.token_bytes.index(b"{")]])], dim=1)
    output = model().generate(
        begun, attention_mask=torch.ones_like(begun), max_new_tokens=4, logits_processor=[processor]
    )
    with pytest.warns(RuntimeWarning, match=f"write 4 tokens at most.*max_new_tokens={NEEDED + 50}"):
        assert processor.completed(output) == [False]
