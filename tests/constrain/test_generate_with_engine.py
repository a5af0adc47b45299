"""The whole way: schema, engine, processor, `generate`. The oracles are two JSON Schema validators and a replay."""

from __future__ import annotations

import functools
import itertools
import json
import random
from typing import Any

import jsonschema
import jsonschema_rs
import pytest

import constrain
from tests.oracles import mixed_tokens

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 1, "maxLength": 5},
        "days": {"type": "integer", "minimum": 1, "maximum": 10},
        "unit": {"enum": ["celsius", "fahrenheit"]},
        "tags": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2},
    },
    "required": ["city", "days"],
    "additionalProperties": False,
}
NUMBER_LIST: dict[str, Any] = {"type": "array", "items": {"enum": [1, 22, 333]}, "minItems": 1, "maxItems": 3}

TOKENS = mixed_tokens()
WIDTH = 1024  # wider than the vocabulary
PROMPT_LENGTH = 3


@functools.lru_cache(maxsize=1)
def vocabulary() -> Any:
    return constrain.Vocabulary.from_tokens(list(TOKENS.bytes_of), eos_token_ids=list(TOKENS.eos))


@functools.lru_cache(maxsize=8)
def _compiled(text: str, whitespace: str) -> Any:
    return constrain.json_schema(json.loads(text), whitespace=whitespace).compile(vocabulary())


def compiled(schema: Any, whitespace: str = "none") -> Any:
    return _compiled(json.dumps(schema), whitespace)


@functools.lru_cache(maxsize=2)
def model(seed: int = 0) -> Any:
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=WIDTH,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        initializer_range=0.4,
        bos_token_id=None,
        eos_token_id=list(TOKENS.eos),
        pad_token_id=TOKENS.eos[0],
    )
    return transformers.LlamaForCausalLM(config).eval()


def prompts(rows: int = 1) -> dict[str, Any]:
    ids = torch.tensor([[50 + row, 60, 70] for row in range(rows)])
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def text_of(row: Any) -> str:
    """The output as text, from the oracle's own bytes; the padding after the end has none."""
    return b"".join(TOKENS.bytes_of[i] or b"" for i in row[PROMPT_LENGTH:].tolist()).decode()


def validate(text: str, schema: Any) -> None:
    value = json.loads(text)
    jsonschema.Draft202012Validator(schema).validate(value)
    assert jsonschema_rs.validator_for(schema).is_valid(value)


def replay(row: Any, grammar: Any) -> None:
    matcher = grammar.matcher()
    for token in row[PROMPT_LENGTH:].tolist():
        assert matcher.accept_token(token)
        if matcher.is_terminated:
            return
    raise AssertionError("the output does not end")


MODES: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampling": {"do_sample": True},
    "return sequences": {"do_sample": True, "num_return_sequences": 4},
    "beams": {"num_beams": 3, "num_return_sequences": 3},
    "sampled beams": {"num_beams": 3, "do_sample": True},
}


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("mode", MODES)
def test_every_output_is_valid_and_equals_a_replay(mode: str, rows: int) -> None:
    grammar = compiled(SCHEMA)
    torch.manual_seed(1)
    processor = constrain.ConstrainedLogitsProcessor(grammar)
    output = model().generate(**prompts(rows), logits_processor=[processor], max_new_tokens=900, **MODES[mode])
    assert output.shape[0] == rows * MODES[mode].get("num_return_sequences", 1)
    assert processor.completed(output) == [True] * output.shape[0]
    for row in output:
        validate(text_of(row), SCHEMA)
        replay(row, grammar)


def test_a_schema_per_prompt() -> None:
    schemas = [SCHEMA, NUMBER_LIST]
    torch.manual_seed(2)
    output = model().generate(
        **prompts(2),
        logits_processor=[constrain.ConstrainedLogitsProcessor([compiled(s) for s in schemas])],
        do_sample=True,
        num_return_sequences=3,
        max_new_tokens=120,
    )
    for row, schema in zip(output, itertools.chain(*([s] * 3 for s in schemas)), strict=True):
        validate(text_of(row), schema)


def test_assisted_decoding_equals_greedy() -> None:
    grammar = compiled(SCHEMA)
    outputs = [
        model().generate(
            **prompts(),
            logits_processor=[constrain.ConstrainedLogitsProcessor(grammar)],
            max_new_tokens=60,
            do_sample=False,
            **extra,
        )
        for extra in ({}, {"assistant_model": model(1)}, {"prompt_lookup_num_tokens": 3})
    ]
    assert torch.equal(outputs[0], outputs[1])
    assert torch.equal(outputs[0], outputs[2])


def letters_tokenizer(letters: str) -> Any:
    """A tokenizer with one token per letter; the same letters in another order are another tokenizer."""
    import tokenizers

    tokens = {"</s>": 0, **{letter: i + 1 for i, letter in enumerate(letters)}}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=tokens, merges=[]))
    tokenizer.decoder = tokenizers.decoders.Fuse()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>", pad_token="</s>")


def letters_model(tokenizer: Any, seed: int) -> Any:
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        initializer_range=0.4,
        bos_token_id=None,
        eos_token_id=0,
        pad_token_id=0,
    )
    return transformers.LlamaForCausalLM(config).eval()


class Spy:
    """Passes calls on, and notes the widths of the logits."""

    def __init__(self, processor: Any, widths: set[int]) -> None:
        self.processor, self.widths = processor, widths

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        self.widths.add(scores.shape[1])
        return self.processor(input_ids, scores)


@pytest.mark.parametrize("do_sample", [False, True])
def test_a_draft_model_with_another_tokenizer(do_sample: bool) -> None:
    """Its calls reach the same processor with other ids and another width; the output is constrained all the same."""
    ours, theirs = letters_tokenizer("abcdefgh[],"), letters_tokenizer(",hgfedcba][xyz")
    main_model, draft = letters_model(ours, 0), letters_model(theirs, 1)
    vocabulary = constrain.Vocabulary.from_tokens([None, *(bytes([b]) for b in b"abcdefgh[],")], eos_token_ids=0)
    grammar = constrain.regex(r"\[[abc]{2,4}(,[def]{1,3}){2,6}\]").compile(vocabulary)
    ids = ours("habe", return_tensors="pt")["input_ids"]
    arguments: dict[str, Any] = {"attention_mask": torch.ones_like(ids), "max_new_tokens": 40, "do_sample": do_sample}
    for seed in range(3):
        torch.manual_seed(seed)
        processor = constrain.ConstrainedLogitsProcessor(grammar)
        widths: set[int] = set()
        output = main_model.generate(
            ids,
            logits_processor=[Spy(processor, widths)],
            assistant_model=draft,
            tokenizer=ours,
            assistant_tokenizer=theirs,
            **arguments,
        )
        assert processor.completed(output) == [True]
        assert do_sample or widths == {len(ours), len(theirs)}
        if not do_sample:
            fresh = constrain.ConstrainedLogitsProcessor(grammar)
            assert torch.equal(output, main_model.generate(ids, logits_processor=[fresh], **arguments))


def test_runs_are_reproducible() -> None:
    runs = []
    for _ in range(2):
        torch.manual_seed(9)
        fresh = constrain.json_schema(SCHEMA).compile(vocabulary())
        processor = constrain.ConstrainedLogitsProcessor(fresh)
        runs.append(model().generate(**prompts(2), logits_processor=[processor], do_sample=True, max_new_tokens=150))
    assert torch.equal(runs[0], runs[1])


def test_masks_in_generate_are_the_matchers_and_allowed_scores_are_untouched() -> None:
    grammar = compiled(SCHEMA)
    output = model().generate(
        **prompts(),
        logits_processor=[constrain.ConstrainedLogitsProcessor(grammar)],
        max_new_tokens=60,
        do_sample=False,
        return_dict_in_generate=True,
        output_scores=True,
        output_logits=True,
    )
    matcher = grammar.matcher()
    size = len(TOKENS.bytes_of)
    for token, scores, logits in zip(
        output.sequences[0, PROMPT_LENGTH:].tolist(), output.scores, output.logits, strict=True
    ):
        for i in [*random.Random(token).sample(range(size), 60), token]:
            allowed = matcher.fork().accept_token(i)
            assert allowed == bool(torch.isfinite(scores[0, i]))
            assert not allowed or scores[0, i].view(torch.int32) == logits[0, i].view(torch.int32)
        assert (scores[0, size:] == -torch.inf).all()
        assert matcher.accept_token(token)


class Prefer(transformers.LogitsProcessor):
    """A model with one thing on its mind: the same scores at every step, the wanted texts highest, in their order."""

    def __init__(self, *texts: bytes) -> None:
        self.scores = torch.zeros(1, WIDTH)
        for rank, text in enumerate(texts):
            self.scores[0, TOKENS.ids[text]] = 100.0 - rank

    def __call__(self, _input_ids: Any, scores: Any) -> Any:
        return self.scores.expand_as(scores)


@pytest.mark.parametrize(
    "wanted", [(b" ",), (b"\n", b" "), (b"\t",), (b"    ", b"  ", b"\n"), (b"\n  ", b"\t")], ids=repr
)
def test_a_model_that_loves_whitespace_comes_to_an_end(wanted: tuple[bytes, ...]) -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    preferences = Prefer(*wanted, *(t for t in (b"}", b"1,", b"1", b'"', b"n") if t in TOKENS.ids))
    output = model().generate(
        **prompts(),
        logits_processor=[preferences, constrain.ConstrainedLogitsProcessor(compiled(schema, "bounded"))],
        max_new_tokens=128,
        do_sample=False,
    )
    validate(text_of(output[0]), schema)


def test_whitespace_can_be_forbidden() -> None:
    torch.manual_seed(0)
    output = model().generate(
        **prompts(),
        logits_processor=[
            Prefer(b" ", b"\n", b"\t"),
            constrain.ConstrainedLogitsProcessor(compiled(NUMBER_LIST, "none")),
        ],
        max_new_tokens=128,
        do_sample=True,
        num_return_sequences=4,
    )
    for row in output:
        assert not set(text_of(row)) & set(" \n\t\r")
        validate(text_of(row), NUMBER_LIST)


def test_an_object_without_members_is_two_braces() -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    output = model().generate(
        **prompts(),
        logits_processor=[Prefer(b"\t", b" "), constrain.ConstrainedLogitsProcessor(compiled(schema))],
        max_new_tokens=10,
        do_sample=False,
    )
    assert text_of(output[0]) == "{}"


def test_nothing_follows_the_end_of_a_number_that_may_stop_or_go_on() -> None:
    schema = {"type": "integer", "minimum": 1, "maximum": 99}
    grammar = compiled(schema)
    torch.manual_seed(0)
    processor = constrain.ConstrainedLogitsProcessor(grammar)
    output = model().generate(
        **prompts(), logits_processor=[processor], do_sample=True, num_return_sequences=8, max_new_tokens=12
    )
    assert all(processor.completed(output))
    for row in output:
        validate(text_of(row), schema)
        replay(row, grammar)


def test_a_regex() -> None:
    import re

    grammar = constrain.regex(r"[a-z]{2,5}@example\.(com|org)").compile(vocabulary())
    torch.manual_seed(0)
    output = model().generate(
        **prompts(),
        logits_processor=[constrain.ConstrainedLogitsProcessor(grammar)],
        do_sample=True,
        num_return_sequences=5,
        max_new_tokens=60,
    )
    assert all(re.fullmatch(r"[a-z]{2,5}@example\.(com|org)", text_of(row)) for row in output)
