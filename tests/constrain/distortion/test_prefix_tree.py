"""Rows read from a tree of prefixes are those of plain forward passes, one prefix at a time."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from constrain.distortion import HFModel
from constrain.distortion.prefix_tree import PrefixTree, supports

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

WIDTH = 40


def llama(**options: Any) -> Any:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=WIDTH, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=64, initializer_range=0.5, **options,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).eval()


def plain(network: Any, tokens: list[int]) -> np.ndarray:
    with torch.no_grad():
        return torch.log_softmax(network(torch.tensor([tokens])).logits[0, -1].float(), -1).numpy()


def random_prefixes(rng: random.Random, count: int) -> list[tuple[int, ...]]:
    """Many that share beginnings, of all lengths, in any order."""
    return [tuple(rng.randrange(3) for _ in range(rng.randrange(9))) for _ in range(count)]


@pytest.mark.parametrize("prompt", [[5], [5, 6, 7]])
@pytest.mark.parametrize("cache_bytes", [1, 2000, 1 << 20])  # room for one token, for a few, for all
def test_rows_are_those_of_plain_passes(prompt: list[int], cache_bytes: int) -> None:
    network = llama()
    model = HFModel(network, prompt, batch_size=7, cache_bytes=cache_bytes)
    assert model.shares_prefixes
    rng = random.Random(1)
    for _ in range(6):
        prefixes = random_prefixes(rng, 12)
        for prefix, row in zip(prefixes, model.log_probs(prefixes), strict=True):
            assert row == pytest.approx(plain(network, [*prompt, *prefix]), abs=2e-5)
    assert model.shares_prefixes


def test_a_prefix_costs_one_token_when_its_parent_was_read() -> None:
    network = llama()
    widths: list[int] = []
    forward = network.model.forward

    def counted(input_ids: Any = None, **keywords: Any) -> Any:
        widths.append(int(input_ids.numel()))
        return forward(input_ids=input_ids, **keywords)

    network.model.forward = counted
    tree = PrefixTree(network, [1, 2, 3], HFModel(network, [1])._past_name, 1 << 20)
    with torch.inference_mode():
        tree.logits([()])
        tree.logits([(4,), (5,)])
        tree.logits([(4, 6), (5, 6), (4, 7)])
        tree.logits([(9, 9, 9)])  # whose ancestors nobody asked for
        tree.logits([(9, 9, 8)])
    assert widths == [3, 2, 3, 3, 1]


def test_many_unrelated_prefixes_are_split_over_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    from constrain.distortion import prefix_tree

    monkeypatch.setattr(prefix_tree, "MOST_ANCESTORS", 6)
    network = llama()
    rng = random.Random(2)
    prefixes = list(dict.fromkeys(tuple(rng.randrange(WIDTH) for _ in range(8)) for _ in range(5)))
    for prefix, row in zip(prefixes, HFModel(network, [1]).log_probs(prefixes), strict=True):
        assert row == pytest.approx(plain(network, [1, *prefix]), abs=2e-5)


def test_networks_that_do_not_attend_fully_are_read_the_plain_way() -> None:
    torch.manual_seed(0)
    config = transformers.MistralConfig(
        vocab_size=WIDTH, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, sliding_window=4, initializer_range=0.5,
    )  # fmt: skip
    network = transformers.MistralForCausalLM(config).eval()
    assert not supports(network)
    assert not supports(object())
    model = HFModel(network, [1, 2])
    assert not model.shares_prefixes
    prefix = (3, 4, 5, 6, 7)
    assert model.log_probs([prefix])[0] == pytest.approx(plain(network, [1, 2, *prefix]), abs=2e-5)


def test_a_network_that_ignores_the_mask_is_found_out() -> None:
    """It says that it takes masks, and attends to all that stands before; rows are right all the same."""
    network = llama()
    inner = network.model.forward

    def deaf(attention_mask: Any = None, **keywords: Any) -> Any:
        if attention_mask is not None and attention_mask.dim() == 4:
            attention_mask = torch.zeros_like(attention_mask)
        return inner(attention_mask=attention_mask, **keywords)

    network.model.forward = deaf
    model = HFModel(network, [1, 2])
    prefixes = [(3,), (4,), (3, 5), (4, 5)]
    rows = model.log_probs(prefixes)
    assert not model.shares_prefixes
    for prefix, row in zip(prefixes, rows, strict=True):
        assert row == pytest.approx(plain(network, [1, 2, *prefix]), abs=2e-5)


def test_warpers_see_the_whole_text() -> None:
    network = llama()
    seen: list[list[int]] = []

    def watching(ids: Any, scores: Any) -> Any:
        seen.extend(ids.tolist())
        return scores

    HFModel(network, [1, 2], warpers=[watching]).log_probs([(), (3,), (3, 4)])
    assert [1, 2] in seen
    assert [1, 2, 3] in seen
    assert [1, 2, 3, 4] in seen
