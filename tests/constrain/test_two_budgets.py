"""A budget of reasoning and a budget of tokens together: both hold, in the processor as in the matcher."""

import random

import pytest
import torch

import constrain
from constrain import ConstrainedLogitsProcessor, Tool

MARKERS = ["<tool_call>", "</tool_call>", "<think>", "</think>"]
TOKENS = [*(bytes([b]) for b in range(256)), None, *(None for _ in MARKERS)]
VOCABULARY = constrain.Vocabulary.from_tokens(
    TOKENS, eos_token_ids=[256], special_tokens={"<end>": 256, **{m: 257 + i for i, m in enumerate(MARKERS)}}
)
TOOL = Tool("clock", parameters={"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]})


@pytest.mark.parametrize("seed", range(4))
def test_calls_are_complete_in_time_after_bounded_reasoning(seed: int) -> None:
    grammar = constrain.tool_calls([TOOL], format="qwen3", tool_choice="required", reasoning="open", reasoning_budget=5)
    compiled = grammar.compile(VOCABULARY)
    needed = compiled.matcher().tokens_to_end
    assert needed is not None
    room = needed + 20
    processor = ConstrainedLogitsProcessor(compiled, max_new_tokens=room)
    rng, row = random.Random(seed), [0]
    for _ in range(room + 1):
        scores = processor(torch.tensor([row]), torch.zeros(1, len(TOKENS)))
        allowed = torch.nonzero(scores[0] == 0).flatten().tolist()
        token = rng.choice(allowed)
        row.append(token)
        if token == 256:
            break
    assert processor.completed(torch.tensor([row])) == [True]
    assert row[-1] == 256
    assert "</think>" in [MARKERS[t - 257] for t in row[1:8] if t > 256]
