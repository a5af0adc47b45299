"""`constrain generate`: one JSON value from any model, valid under a schema."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from constrain.cli import models
from constrain.cli.console import errors, progress
from constrain.errors import InvalidSchemaError


def run(
    model_name: str,
    schema_path: Path,
    prompt: str,
    max_new_tokens: int,
    temperature: float,
    seed: int,
    raw: bool,
    device: str,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> int:
    """Print the value; `options` are those of `constrain.json_schema`.

    Returns 0 when it is complete, 1 when it was cut off.
    """
    import constrain

    try:
        schema = json.loads(schema_path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidSchemaError("", "", f"{schema_path} is not JSON: {error}") from None
    grammar = constrain.json_schema(
        schema, **options
    )  # before the model is loaded: an error here should not take a minute
    model, tokenizer = models.load(model_name, device)
    with progress("compiling the schema"):
        compiled = grammar.compile(
            constrain.Vocabulary.from_tokenizer(tokenizer, generation_config=model.generation_config)
        )
    answer = ask(
        model,
        tokenizer,
        encode(tokenizer, prompt, raw).to(model.device),
        compiled,
        max_new_tokens=max_new_tokens,
        temperature=temperature,
        seed=seed,
    )
    print(answer["text"])
    if not answer["complete"]:
        errors().print(
            f"constrain: the output was cut off after {max_new_tokens} tokens; give more with --max-new-tokens",
            style="red",
            soft_wrap=True,
        )
    return 0 if answer["complete"] else 1


def encode(tokenizer: Any, prompt: str, raw: bool = False, system: str = "") -> Any:
    """The prompt's token ids, shape (1, length): as a chat turn where the tokenizer has a template."""
    if raw or not getattr(tokenizer, "chat_template", None):
        return tokenizer("\n".join(filter(None, (system, prompt))), return_tensors="pt")["input_ids"]
    messages = [{"role": "system", "content": system}] if system else []
    messages.append({"role": "user", "content": prompt})
    return tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt", return_dict=True)[
        "input_ids"
    ]


class _Timed:
    """A logits processor that notes the time another one takes."""

    def __init__(self, processor: Any) -> None:
        self.processor = processor
        self.seconds: list[float] = []

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        start = time.perf_counter()
        result = self.processor(input_ids, scores)
        self.seconds.append(time.perf_counter() - start)
        return result


def ask(
    model: Any,
    tokenizer: Any,
    input_ids: Any,
    compiled: Any = None,
    *,
    max_new_tokens: int,
    temperature: float = 0.0,
    seed: int = 0,
) -> dict[str, Any]:
    """Generate once, under `compiled` if given.

    Returns:
        text; complete (None without a constraint); tokens, their number; seconds; mask_seconds, what
        the processor took at each step.
    """
    import torch

    import constrain

    processor = None if compiled is None else constrain.ConstrainedLogitsProcessor(compiled)
    timed = None if processor is None else _Timed(processor)
    torch.manual_seed(seed)
    start = time.perf_counter()
    output = model.generate(
        input_ids,
        attention_mask=torch.ones_like(input_ids),
        logits_processor=[] if timed is None else [timed],
        max_new_tokens=max_new_tokens,
        do_sample=temperature > 0,
        temperature=temperature or None,
        top_p=None,
        top_k=None,
        pad_token_id=_pad(tokenizer, model),
    )
    seconds = time.perf_counter() - start
    new = output[0, input_ids.shape[1] :]
    return {
        "text": tokenizer.decode(new, skip_special_tokens=True),
        "complete": None if processor is None else processor.completed(output)[0],
        "tokens": int(new.shape[0]),
        "seconds": seconds,
        "mask_seconds": [] if timed is None else timed.seconds,
    }


def _pad(tokenizer: Any, model: Any) -> int | None:
    if tokenizer.pad_token_id is not None:
        return int(tokenizer.pad_token_id)
    ends = model.generation_config.eos_token_id
    first = ends[0] if isinstance(ends, list) else ends
    return None if first is None else int(first)
