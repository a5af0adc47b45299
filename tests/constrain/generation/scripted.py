"""A tiny random model that says what a test wants it to say, as far as the constraint lets it."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from tests.vocabulary.tokenizers_by_hand import byte_level

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TEMPLATE = (
    "{%- if tools %}<|im_start|>system\nTools:\n"
    "{%- for tool in tools %}\n{{ tool | tojson }}{% endfor %}\nCall in <tool_call>\n"
    '{"name": ..., "arguments": ...}\n</tool_call><|im_end|>\n{% endif -%}'
    "{%- for message in messages %}<|im_start|>{{ message.role }}\n"
    "{%- if message.content %}{{ message.content }}{% endif %}"
    "{%- for call in message.tool_calls or [] %}\n<tool_call>\n"
    '{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}\n</tool_call>'
    "{% endfor %}<|im_end|>\n{% endfor -%}"
    "{%- if add_generation_prompt %}<|im_start|>assistant\n{% if think %}<think>\n{% endif %}{% endif %}"
)
"""Knows tools and calls, in the manner of Qwen."""

PLAIN = (
    "{%- for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor -%}"
    "{%- if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""Knows nothing of tools."""


@functools.lru_cache(maxsize=4)
def tokenizer(template: str | None = TEMPLATE, markers: bool = True) -> Any:
    backend = byte_level(400)
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token="<|im_end|>", pad_token="<|im_end|>", clean_up_tokenization_spaces=False
    )
    made.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})
    if markers:
        made.add_tokens(["<tool_call>", "</tool_call>", "<think>", "</think>"])
    made.chat_template = template
    return made


class Scripted(transformers.LlamaForCausalLM):  # type: ignore[misc]
    """Begins each answer with the next of `scripts`, where it may, and ends it after that."""

    scripts: list[str]
    prompts: list[list[int]]

    def generate(self, *args: Any, **kwargs: Any) -> Any:
        ids = kwargs["input_ids"]
        self.prompts.append(ids[0].tolist())
        script = self.scripts.pop(0) if self.scripts else ""
        end = self.tokenizer.eos_token_id
        wanted = [*self.tokenizer(script, add_special_tokens=False)["input_ids"], end]
        length = ids.shape[1]

        def prefer(row: Any, scores: Any) -> Any:
            said = row[0, length:].tolist()
            if said == wanted[: len(said)] and len(said) < len(wanted):
                scores = scores.clone()
                scores[0, wanted[len(said)]] += 1000
            return scores

        return super().generate(*args, **{**kwargs, "logits_processor": [prefer, *kwargs["logits_processor"]]})


def model(*scripts: str, template: str | None = TEMPLATE, markers: bool = True) -> tuple[Any, Any]:
    """A model with these answers, and its tokenizer."""
    torch.manual_seed(0)
    words = tokenizer(template, markers)
    config = transformers.LlamaConfig(
        vocab_size=len(words) + 3,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        bos_token_id=None,
        eos_token_id=words.eos_token_id,
        pad_token_id=words.eos_token_id,
    )
    made = Scripted(config).eval()
    made.tokenizer, made.scripts, made.prompts = words, list(scripts), []
    return made, words
