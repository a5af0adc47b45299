"""The jumping loop against a loop without any cache, batch or padding, and against plain `generate`."""

from __future__ import annotations

import functools
import json
from typing import Any

import jsonschema
import pytest

import constrain
from constrain.errors import LogitsWidthError, VocabularyError
from tests.constrain.demo_model import needs_demo_model
from tests.vocabulary.tokenizers_by_hand import byte_level

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "arguments": {"type": "object", "properties": {"days": {"enum": [1, 2, 30]}}, "required": ["days"]},
        "name": {"enum": ["get_weather", "get_weekday"]},
        "city_of_birth": {"type": "string", "maxLength": 3},
    },
    "required": ["arguments", "name", "city_of_birth"],
    "additionalProperties": False,
}
LINES = r"(?:the quick brown fox|the lazy dog) jumps (?:over|under) [0-9]{2} times"
PROMPTS = ["def f(x)", "The quick brown fox jumps", "[1, 2"]


@functools.lru_cache(maxsize=1)
def tokenizer() -> Any:
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=byte_level(500), eos_token="<|end|>", pad_token="<|end|>", padding_side="left"
    )


@functools.lru_cache(maxsize=1)
def vocabulary() -> Any:
    return constrain.Vocabulary.from_tokenizer(tokenizer(), cache=False)


@functools.lru_cache(maxsize=8)
def compiled(kind: str) -> Any:
    grammar = constrain.regex(LINES) if kind == "regex" else constrain.json_schema(SCHEMA, closed_objects=True)
    return grammar.compile(vocabulary())


@functools.lru_cache(maxsize=4)
def model(kind: str = "llama", seed: int = 0) -> Any:
    torch.manual_seed(seed)
    settings: dict[str, Any] = {
        "vocab_size": 512,
        "hidden_size": 16,
        "intermediate_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "initializer_range": 0.5,
        "bos_token_id": None,
        "eos_token_id": tokenizer().eos_token_id,
        "pad_token_id": tokenizer().eos_token_id,
    }
    if kind == "sliding":
        config = transformers.MistralConfig(**settings, sliding_window=6)
        made = transformers.MistralForCausalLM(config)
    else:
        made = transformers.LlamaForCausalLM(transformers.LlamaConfig(**settings))
    # Double precision: how a batch is laid out must not decide which of two scores is higher.
    return made.double().eval()


def generate(texts: list[str], grammar: Any, which: Any = None, jump: bool = True, **options: Any) -> Any:
    inputs = tokenizer()(texts, return_tensors="pt", padding=True, return_token_type_ids=False)
    processor = constrain.ConstrainedLogitsProcessor(grammar)
    if jump:
        options["custom_generate"] = constrain.jump_generate
    settings = {"max_new_tokens": 120, "do_sample": False, "logits_processor": [processor]} | options
    output = (which or model()).generate(**inputs, **settings)
    return output, inputs["input_ids"].shape[1], processor


def without_padding(row: Any) -> list[int]:
    ids: list[int] = row.tolist()
    end = tokenizer().eos_token_id
    return ids[: ids.index(end)] if end in ids else ids


def reference(text: str, grammar: Any, which: Any, length: int = 120) -> list[int]:
    """Greedy search with forced tokens: the whole text through the model at every step, one row, no cache."""
    ids = tokenizer()(text)["input_ids"]
    out: list[int] = []
    matcher = grammar.matcher()
    while len(out) < length:
        tokens = matcher.forced_tokens()
        if not tokens:
            logits = which(input_ids=torch.tensor([ids + out]), use_cache=False).logits[0, -1].float()
            for i in logits.argsort(descending=True).tolist():
                if matcher.fork().accept_token(i):
                    tokens = [i]
                    break
        for token in tokens[: length - len(out)]:
            assert matcher.accept_token(token)
            if matcher.is_terminated:
                return out
            out.append(token)
    return out


def count_calls(which: Any, run: Any) -> tuple[Any, int]:
    calls = []
    hook = which.register_forward_hook(lambda *_: calls.append(1))
    try:
        return run(), len(calls)
    finally:
        hook.remove()


@pytest.mark.parametrize("kind", ["regex", "schema"])
@pytest.mark.parametrize("which", ["llama", "sliding"])
@pytest.mark.parametrize("rows", [1, 3])
def test_greedy_equals_a_loop_without_cache_batch_and_padding(kind: str, which: str, rows: int) -> None:
    grammar, chosen = compiled(kind), model(which)
    (output, start, processor), calls = count_calls(chosen, lambda: generate(PROMPTS[:rows], grammar, chosen))
    assert processor.completed(output) == [True] * rows
    written = [without_padding(row[start:]) for row in output]
    assert written == [reference(text, grammar, chosen) for text in PROMPTS[:rows]]
    in_lockstep = which == "sliding" and rows > 1
    assert calls < max(map(len, written)) * (1.01 if in_lockstep else 0.9)
    for ids in written:
        if kind == "schema":
            jsonschema.validate(json.loads(tokenizer().decode(ids)), SCHEMA)


def test_lockstep_and_ragged_rows_write_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    ragged, _, _ = generate(PROMPTS, compiled("schema"))
    monkeypatch.setattr("constrain.jump._can_be_ragged", lambda *_: False)
    assert torch.equal(generate(PROMPTS, compiled("schema"))[0], ragged)


@pytest.mark.parametrize("options", [{"use_cache": False}, {"cache_implementation": "static"}], ids=str)
@pytest.mark.parametrize("rows", [1, 2])
def test_other_caches(options: dict[str, Any], rows: int) -> None:
    output, start, _ = generate(PROMPTS[:rows], compiled("regex"), **options)
    expected = [reference(text, compiled("regex"), model()) for text in PROMPTS[:rows]]
    assert [without_padding(row[start:]) for row in output] == expected


def test_a_grammar_per_row_and_several_rows_per_prompt() -> None:
    grammars = [compiled("regex"), compiled("schema")]
    torch.manual_seed(3)
    output, start, processor = generate(PROMPTS[:2], grammars, do_sample=True, num_return_sequences=2)
    assert processor.completed(output) == [True] * 4
    texts = [tokenizer().decode(without_padding(row[start:])) for row in output]
    for k, text in enumerate(texts):
        if k < 2:
            assert constrain.regex(LINES).compile(vocabulary()).matcher().accept_bytes(text.encode())
        else:
            jsonschema.validate(json.loads(text), SCHEMA)


def test_sampling_is_valid_and_reproducible() -> None:
    runs = []
    for _ in range(2):
        torch.manual_seed(5)
        output, start, processor = generate(PROMPTS, compiled("schema"), do_sample=True, temperature=0.8, top_k=20)
        assert processor.completed(output) == [True] * 3
        runs.append(output)
        for row in output:
            jsonschema.validate(json.loads(tokenizer().decode(without_padding(row[start:]))), SCHEMA)
    assert torch.equal(*runs)


def test_where_every_cut_is_the_tokenizers_the_ids_are_those_of_plain_generate() -> None:
    """Without merges there is one way to cut a text, so jumping must not change anything."""
    import tokenizers

    alphabet = {c: i + 1 for i, c in enumerate(sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()))}
    backend = tokenizers.Tokenizer(tokenizers.models.BPE({"<|end|>": 0, **alphabet}, []))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    wrapped = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|end|>")
    grammar = constrain.regex(LINES).compile(constrain.Vocabulary.from_tokenizer(wrapped, cache=False))
    ids = torch.tensor([wrapped("prompt")["input_ids"]] * 2)
    ids[1, 0] += 1
    outputs, calls = [], []
    for extra in ({}, {"custom_generate": constrain.jump_generate}):
        processor = constrain.ConstrainedLogitsProcessor(grammar)
        arguments = {"logits_processor": [processor], "max_new_tokens": 80, "do_sample": False, **extra}
        mask = torch.ones_like(ids)
        output, count = count_calls(
            model(), lambda a=arguments, m=mask: model().generate(ids, attention_mask=m, eos_token_id=0, **a)
        )
        outputs.append(output)
        calls.append(count)
    assert torch.equal(*outputs)
    assert calls[1] < calls[0] / 3


def test_a_text_without_any_choice_needs_no_model() -> None:
    grammar = constrain.json_schema({"const": {"name": "get_weather"}}, whitespace="none").compile(vocabulary())
    (output, start, processor), calls = count_calls(model(), lambda: generate(PROMPTS[:2], grammar))
    assert calls == 0
    assert processor.completed(output) == [True, True]
    assert tokenizer().decode(without_padding(output[0, start:])) == '{"name":"get_weather"}'


@pytest.mark.parametrize("length", [1, 3, 4, 7])
def test_max_new_tokens_cuts_within_forced_tokens(length: int) -> None:
    output, start, processor = generate(PROMPTS, compiled("regex"), max_new_tokens=length)
    assert output.shape[1] == start + length
    assert processor.completed(output) == [False] * 3
    whole, _, _ = generate(PROMPTS, compiled("regex"))
    assert torch.equal(output, whole[:, : start + length])


def test_stop_strings_stop_within_forced_tokens() -> None:
    stop = transformers.StopStringCriteria(tokenizer(), ["ju"])
    output, start, _ = generate(PROMPTS[:1], compiled("regex"), stopping_criteria=[stop])
    text = tokenizer().decode(output[0, start:])
    assert "ju" in text
    assert "over" not in text
    assert "under" not in text


def test_the_prompt_may_end_with_a_beginning_of_the_output() -> None:
    length = len(tokenizer()("fox? ")["input_ids"])
    begun = tokenizer()("the quick")["input_ids"]
    prompt = torch.tensor([tokenizer()("fox? ")["input_ids"] + begun])
    processor = constrain.ConstrainedLogitsProcessor(compiled("regex"), prompt_length=length)
    output = model().generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        logits_processor=[processor],
        custom_generate=constrain.jump_generate,
        max_new_tokens=60,
    )
    assert processor.completed(output) == [True]
    assert tokenizer().decode(without_padding(output[0, length:])).startswith("the quick brown fox jumps ")


def test_other_processors_see_every_row_as_it_is() -> None:
    seen = []

    class Spy(transformers.LogitsProcessor):
        def __call__(self, input_ids: Any, scores: Any) -> Any:
            seen.append(input_ids.tolist())
            return scores

    inputs = tokenizer()(PROMPTS, return_tensors="pt", padding=True, return_token_type_ids=False)
    processor = constrain.ConstrainedLogitsProcessor(compiled("schema"))
    output = model().generate(
        **inputs, logits_processor=[Spy(), processor], custom_generate=constrain.jump_generate, max_new_tokens=60
    )
    rows = output.tolist()
    assert seen
    assert all(len(one) == 1 and any(row[: len(one[0])] == one[0] for row in rows) for one in seen)


def test_dictionaries_and_streamers() -> None:
    class Streamer(transformers.generation.streamers.BaseStreamer):
        def __init__(self) -> None:
            self.tokens: list[int] = []
            self.ended = False

        def put(self, value: Any) -> None:
            self.tokens += value.flatten().tolist()

        def end(self) -> None:
            self.ended = True

    streamer = Streamer()
    output, _, _ = generate(PROMPTS[:1], compiled("regex"), return_dict_in_generate=True, streamer=streamer)
    plain, _, _ = generate(PROMPTS[:1], compiled("regex"))
    assert torch.equal(output.sequences, plain)
    assert streamer.ended
    assert streamer.tokens == plain[0].tolist()
    assert 0 < output.cache.get_seq_length() < plain.shape[1]


def test_the_cache_can_be_used_again() -> None:
    first, _, _ = generate(PROMPTS[:1], compiled("regex"), return_dict_in_generate=True)
    ids = first.sequences
    mask = torch.ones_like(ids)
    outputs = [
        model().generate(
            ids,
            attention_mask=mask,
            logits_processor=[constrain.ConstrainedLogitsProcessor(compiled("regex"))],
            custom_generate=constrain.jump_generate,
            max_new_tokens=40,
            do_sample=False,
            **extra,
        )
        for extra in ({}, {"cache": first.cache})
    ]
    assert torch.equal(*outputs)


def test_one_processor_serves_call_after_call() -> None:
    inputs = tokenizer()(PROMPTS, return_tensors="pt", padding=True, return_token_type_ids=False)
    processor = constrain.ConstrainedLogitsProcessor(compiled("regex"))
    arguments = {"logits_processor": [processor], "max_new_tokens": 40, "do_sample": False}
    plain = model().generate(**inputs, **arguments)
    jumped = [model().generate(**inputs, **arguments, custom_generate=constrain.jump_generate) for _ in range(2)]
    assert torch.equal(*jumped)
    assert torch.equal(model().generate(**inputs, **arguments), plain)


@needs_demo_model
def test_a_real_model_writes_the_same_ids_in_far_fewer_passes() -> None:
    """Names as in the prompt's examples: the model's own cut of them is the tokenizer's."""
    from constrain.cli import models

    names = ["current_temperature_in_degrees_celsius", "is_precipitation_expected_tomorrow"]
    schema = {
        "type": "object",
        "properties": {names[0]: {"type": "integer", "minimum": -50, "maximum": 50}, names[1]: {"type": "boolean"}},
        "required": names,
        "additionalProperties": False,
    }
    real, wrapped = models.load(models.DEMO_MODEL, "cpu")
    known = constrain.Vocabulary.from_tokenizer(wrapped, generation_config=real.generation_config)
    grammar = constrain.json_schema(schema, whitespace="none").compile(known)
    examples = [
        json.dumps(dict(zip(names, values, strict=True)), separators=(",", ":")) for values in ((21, False), (8, True))
    ]
    prompts = wrapped(
        [f"Rome: {examples[0]}\nOslo: {examples[1]}\nBergen:", f"Oslo: {examples[1]}\nRome:"],
        padding=True,
        padding_side="left",
        return_tensors="pt",
    )
    outputs, passes = [], []
    for extra in ({}, {"custom_generate": constrain.jump_generate}):
        processor = constrain.ConstrainedLogitsProcessor(grammar)
        arguments = {**prompts, "logits_processor": [processor], "max_new_tokens": 40, "do_sample": False, **extra}
        output, calls = count_calls(real, lambda a=arguments: real.generate(**a))
        assert processor.completed(output) == [True, True]
        outputs.append(output)
        passes.append(calls)
    assert torch.equal(*outputs)
    assert passes[1] < passes[0] / 2.5


@pytest.mark.filterwarnings("ignore:a ConstrainedLogitsProcessor was dropped")
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"num_beams": 2}, ValueError, "beam"),
        ({"prompt_lookup_num_tokens": 2}, ValueError, "assisted"),
        ({"assistant_model": True}, ValueError, "assisted"),
        ({"logits_processor": []}, ValueError, "ConstrainedLogitsProcessor"),
        ({"return_dict_in_generate": True, "output_scores": True}, ValueError, "output_scores"),
        ({"guidance_scale": 1.5}, ValueError, "guidance_scale"),
        ({"prefix_allowed_tokens_fn": lambda *_: [1]}, ValueError, "prefix_allowed_tokens_fn"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    if "assistant_model" in options:
        options = {"assistant_model": model(seed=1)}
    with pytest.raises(error, match=message):
        generate(PROMPTS[:2] if "prefix_allowed_tokens_fn" in options else PROMPTS[:1], compiled("regex"), **options)


@pytest.mark.filterwarnings("ignore:a ConstrainedLogitsProcessor was dropped")
def test_a_vocabulary_of_another_tokenizer_is_refused() -> None:
    tokens = list(vocabulary().token_bytes)
    lost = constrain.Vocabulary.from_tokens(tokens, eos_token_ids=vocabulary().eos_token_ids)
    with pytest.raises(VocabularyError, match="from_tokenizer"):
        generate(PROMPTS[:1], constrain.regex("abc").compile(lost))
    shifted = [None] * 512 + tokens
    theirs = constrain.Vocabulary.from_tokens(
        shifted, eos_token_ids=512, encode=lambda text: [i + 512 for i in vocabulary().encode(text)]
    )
    with pytest.raises(VocabularyError, match="512"):
        generate(PROMPTS[:1], constrain.regex("abc").compile(theirs))


def test_a_vocabulary_with_text_beyond_the_logits_is_refused() -> None:
    """Also where a vocabulary begins as the model's own does, so that no forced token tells."""
    more = [*vocabulary().token_bytes, *(b"more %d" % i for i in range(100))]
    longer = constrain.Vocabulary.from_tokens(
        more, eos_token_ids=vocabulary().eos_token_ids, encode=vocabulary().encode
    )
    with pytest.raises(LogitsWidthError, match=f"{len(more)} ids and the model 512 logits"):
        generate(PROMPTS[:1], constrain.regex(LINES).compile(longer))


@pytest.mark.filterwarnings("ignore:a ConstrainedLogitsProcessor was dropped")
def test_a_smaller_limit_of_generate_is_warned_of() -> None:
    processor = constrain.ConstrainedLogitsProcessor(compiled("schema"), max_new_tokens=200)
    output, start, _ = generate(PROMPTS[:1], compiled("schema"), logits_processor=[processor], max_new_tokens=6)
    assert output.shape[1] == start + 6
    with pytest.warns(RuntimeWarning, match=r"write 6 tokens at most.*max_new_tokens=200"):
        assert processor.completed(output) == [False]


def test_masses_are_known_where_the_model_was_asked_and_nowhere_else() -> None:
    inputs = tokenizer()(PROMPTS[:2], return_tensors="pt", padding=True, return_token_type_ids=False)
    processor = constrain.ConstrainedLogitsProcessor(compiled("regex"), record_mass=True)
    torch.manual_seed(2)
    output = model().generate(
        **inputs,
        logits_processor=[processor],
        custom_generate=constrain.jump_generate,
        do_sample=True,
        max_new_tokens=120,
    )
    for record, text in zip(processor.records(output), PROMPTS, strict=False):
        ids, matcher, asked = tokenizer()(text)["input_ids"], compiled("regex").matcher(), 0
        waiting: list[int] = []
        for i, token in enumerate(record.tokens):
            waiting = waiting or list(matcher.forced_tokens())
            if waiting:
                assert record.log_z[i] is None
                assert waiting.pop(0) == token
            else:
                asked += 1
                logits = model()(input_ids=torch.tensor([[*ids, *record.tokens[:i]]])).logits[0, -1].float()
                allowed = [t for t in range(512) if matcher.fork().accept_token(t)]
                wanted = torch.log_softmax(logits, -1)[allowed].logsumexp(0)
                assert record.log_z[i] == pytest.approx(float(wanted.detach()), abs=1e-5)
            assert matcher.accept_token(token)
        assert 1 <= asked < len(record.tokens)
        assert record.completed
        assert record.log_weight is None
        assert constrain.MassRecord.from_json(record.to_json()) == record
