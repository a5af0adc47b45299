"""The logits processor inside `generate`, mode by mode, with tiny random models and a grammar that is a table."""

from __future__ import annotations

import gc
import inspect
import itertools
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import constrain
from constrain.errors import GenerationError, LogitsWidthError, NoAllowedTokenError, ProcessorReuseError
from tests.constrain.token_grammar import TokenGrammar

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from constrain.kernels.device import _unpack  # noqa: E402
from constrain.logits_processor import (  # noqa: E402
    ConstrainedLogitsProcessor,
    _inside_candidate_generator,
)

pytestmark = pytest.mark.filterwarnings("error:other logits processors")

VOCABULARY = 60
WIDTH = 64  # the model's logits are wider than the vocabulary, as in many real models
EOS, PAD = 2, 0


def loop_grammar() -> TokenGrammar:
    """(10 | 11) then any number of (20..39), then 12, then the end; at least four tokens."""
    middle = dict.fromkeys(range(20, 40), "middle")
    return TokenGrammar(
        {
            "start": {10: "first", 11: "first"},
            "first": dict.fromkeys(range(20, 40), "middle"),
            "middle": middle | {12: "end"},
            "end": {},
        },
        {"end"},
        width=VOCABULARY,
    )


def word_grammar(*words: tuple[int, ...], width: int = VOCABULARY) -> TokenGrammar:
    """Exactly these token sequences."""
    table: dict[Any, dict[int, Any]] = {(): {}}
    for word in words:
        for i in range(len(word)):
            table.setdefault(word[:i], {})[word[i]] = word[: i + 1]
            table.setdefault(word[: i + 1], {})
    return TokenGrammar(table, words, width=width)


def anything_grammar() -> TokenGrammar:
    return TokenGrammar({0: {t: 0 for t in range(VOCABULARY) if t != EOS}}, {0}, width=VOCABULARY)


def tiny_model(seed: int = 0, width: int = WIDTH, eos: int | None = EOS) -> Any:
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=width,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        initializer_range=0.6,
        bos_token_id=1,
        eos_token_id=eos,
        pad_token_id=PAD,
    )
    return transformers.LlamaForCausalLM(config).eval()


@pytest.fixture(scope="module")
def model() -> Any:
    return tiny_model()


@pytest.fixture(autouse=True)
def _quiet_transformers() -> Iterator[None]:
    transformers.logging.set_verbosity_error()
    yield
    transformers.logging.set_verbosity_warning()


PROMPT = [[1, 7, 30, 9]]
TWO_PROMPTS = {
    "input_ids": torch.tensor([[PAD, PAD, 1, 5], [1, 8, 30, 33]]),
    "attention_mask": torch.tensor([[0, 0, 1, 1], [1, 1, 1, 1]]),
}


def prompt() -> dict[str, Any]:
    ids = torch.tensor(PROMPT)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def until_end(row: Any) -> list[int]:
    tokens = row.tolist()
    return tokens[: tokens.index(EOS)] if EOS in tokens else tokens


def words_of(output: Any, length: int = 4) -> list[list[int]]:
    return [until_end(row) for row in output[:, length:]]


# The contract with transformers


def test_exactly_two_call_parameters() -> None:
    """transformers raises when a third parameter, even an optional one, is not among generate's arguments."""
    processor = ConstrainedLogitsProcessor(loop_grammar())
    assert list(inspect.signature(processor.__call__).parameters) == ["input_ids", "scores"]
    processor(torch.tensor(PROMPT), torch.zeros(1, WIDTH))


def test_is_dropped_loudly_by_continuous_batching() -> None:
    assert ConstrainedLogitsProcessor.supports_continuous_batching is False


def test_scores_are_not_written_to_and_allowed_ones_are_bitwise_the_same(model: Any) -> None:
    grammar = loop_grammar()
    output = model.generate(
        **prompt(),
        logits_processor=[ConstrainedLogitsProcessor(grammar)],
        max_new_tokens=12,
        do_sample=False,
        return_dict_in_generate=True,
        output_scores=True,
        output_logits=True,
    )
    tokens = output.sequences[0, 4:].tolist()
    for step, (scores, logits) in enumerate(zip(output.scores, output.logits, strict=True)):
        assert torch.isfinite(logits).all()
        allowed = sorted(grammar.allowed(tokens[:step]))
        assert torch.equal(scores[0, allowed].view(torch.int32), logits[0, allowed].view(torch.int32))
        others = [i for i in range(WIDTH) if i not in allowed]
        assert (scores[0, others] == -torch.inf).all()


def test_no_interference_where_unconstrained_output_is_valid(model: Any) -> None:
    plain = model.generate(
        **prompt(), max_new_tokens=16, do_sample=False, suppress_tokens=list(range(VOCABULARY, WIDTH))
    )
    constrained = model.generate(
        **prompt(),
        max_new_tokens=16,
        do_sample=False,
        logits_processor=[ConstrainedLogitsProcessor(anything_grammar())],
    )
    assert torch.equal(plain, constrained)


# Modes


def test_greedy_equals_a_loop_written_by_hand(model: Any) -> None:
    grammar = loop_grammar()
    output = model.generate(
        **prompt(), logits_processor=[ConstrainedLogitsProcessor(grammar)], max_new_tokens=14, do_sample=False
    )
    ids, expected = list(PROMPT[0]), []
    for _ in range(14):
        with torch.no_grad():
            logits = model(torch.tensor([ids + expected])).logits[0, -1]
        allowed = sorted(grammar.allowed(expected))
        expected.append(allowed[int(logits[allowed].argmax())])
        if expected[-1] == EOS:
            break
    assert output[0, 4:].tolist() == expected


def test_sampling_with_return_sequences_is_valid_and_reproducible(model: Any) -> None:
    grammar = loop_grammar()
    runs = []
    for _ in range(2):
        torch.manual_seed(11)
        processor = ConstrainedLogitsProcessor(grammar)
        output = model.generate(
            **prompt(),
            logits_processor=[processor],
            do_sample=True,
            num_return_sequences=6,
            temperature=0.7,
            top_k=5,
            top_p=0.9,
            max_new_tokens=40,
        )
        assert processor.completed(output) == [grammar.valid(word) for word in words_of(output)]
        assert all(grammar.valid(until_end(row)) for row in output[:, 4:] if EOS in row)
        runs.append(output)
    assert torch.equal(runs[0], runs[1])
    assert len({tuple(w) for w in words_of(runs[0])}) > 1
    assert len({len(w) for w in words_of(runs[0])}) > 1, "rows should end at different steps"


def test_left_padded_batch_shares_one_grammar(model: Any) -> None:
    grammar = loop_grammar()
    torch.manual_seed(3)
    output = model.generate(
        **TWO_PROMPTS,
        logits_processor=[ConstrainedLogitsProcessor(grammar)],
        do_sample=True,
        max_new_tokens=200,
    )
    assert all(grammar.valid(word) for word in words_of(output))


@pytest.mark.parametrize(
    "mode", [{}, {"do_sample": True, "num_return_sequences": 3}, {"num_beams": 3, "num_return_sequences": 3}]
)
def test_one_grammar_per_prompt(model: Any, mode: dict[str, Any]) -> None:
    grammars = [
        word_grammar((10, 20), (10, 21), (10, 22, 23), (11, 20)),
        word_grammar((40, 50, 51), (41, 50), (42,), (43, 44)),
    ]
    output = model.generate(
        **TWO_PROMPTS, logits_processor=[ConstrainedLogitsProcessor(grammars)], max_new_tokens=8, **mode
    )
    words = words_of(output)
    half = len(words) // 2
    assert half == mode.get("num_return_sequences", 1)
    assert all(grammars[0].valid(word) for word in words[:half])
    assert all(grammars[1].valid(word) for word in words[half:])


def test_beam_search_returns_valid_beams_with_their_true_scores(model: Any) -> None:
    words = [(10, 20), (10, 21), (11, 20), (11, 33), (12, 24)]
    grammar = word_grammar(*words)
    output = model.generate(
        **prompt(),
        logits_processor=[ConstrainedLogitsProcessor(grammar)],
        num_beams=5,
        num_return_sequences=5,
        max_new_tokens=6,
        length_penalty=0.0,
        return_dict_in_generate=True,
        output_scores=True,
    )
    found = [tuple(word) for word in words_of(output.sequences)]
    assert set(found) == set(words)
    with torch.no_grad():
        for word, score in zip(found, output.sequences_scores.tolist(), strict=True):
            ids = torch.tensor([[*PROMPT[0], *word, EOS]])
            logprobs = torch.log_softmax(model(ids).logits[0].float(), dim=-1)
            expected = sum(float(logprobs[3 + i, token]) for i, token in enumerate([*word, EOS]))
            assert score == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize("do_sample", [False, True])
def test_beams_with_fewer_legal_tokens_than_beams(model: Any, do_sample: bool, early_stopping: bool) -> None:
    """Beam search then takes illegal continuations along; none may come out ahead of a legal one, or crash sampling."""
    grammar = word_grammar((10, 20, 30), (10, 21, 31, 32))
    torch.manual_seed(5)
    for _ in range(5 if do_sample else 1):
        processor = ConstrainedLogitsProcessor(grammar)
        output = model.generate(
            **prompt(),
            logits_processor=[processor],
            num_beams=4,
            do_sample=do_sample,
            early_stopping=early_stopping,
            temperature=0.5 if do_sample else None,
            max_new_tokens=8,
        )
        assert grammar.valid(words_of(output)[0])
        assert processor.completed(output) == [True]


def test_assisted_decoding_equals_greedy(model: Any) -> None:
    grammar = loop_grammar()
    arguments: dict[str, Any] = {**prompt(), "max_new_tokens": 30, "do_sample": False}
    plain = model.generate(**arguments, logits_processor=[ConstrainedLogitsProcessor(grammar)])
    for seed in (0, 1):  # the model itself as its own draft, and a draft that is mostly wrong
        processor = ConstrainedLogitsProcessor(grammar)
        assisted = model.generate(**arguments, logits_processor=[processor], assistant_model=tiny_model(seed))
        assert torch.equal(plain, assisted)
        assert processor.completed(assisted) == [grammar.valid(words_of(plain)[0])]


def test_assisted_sampling_is_valid(model: Any) -> None:
    grammar = loop_grammar()
    draft = tiny_model(1)
    for seed in range(6):
        torch.manual_seed(seed)
        output = model.generate(
            **prompt(),
            logits_processor=[ConstrainedLogitsProcessor(grammar)],
            assistant_model=draft,
            do_sample=True,
            max_new_tokens=200,
        )
        assert grammar.valid(words_of(output)[0])


def test_prompt_lookup_equals_greedy_and_crops_no_legal_draft(model: Any) -> None:
    grammar = loop_grammar()
    ids = torch.tensor([[1, 10, 25, 26, 27, 25, 26, 27, 25, 26, 10]])
    arguments: dict[str, Any] = {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "max_new_tokens": 24,
        "do_sample": False,
    }
    plain = model.generate(**arguments, logits_processor=[ConstrainedLogitsProcessor(grammar)])
    looked_up = model.generate(
        **arguments, logits_processor=[ConstrainedLogitsProcessor(grammar)], prompt_lookup_num_tokens=4
    )
    assert torch.equal(plain, looked_up)


def test_inputs_embeds_without_input_ids(model: Any) -> None:
    grammar = loop_grammar()
    embeds = model.get_input_embeddings()(torch.tensor(PROMPT)).detach()
    output = model.generate(
        inputs_embeds=embeds,
        attention_mask=torch.ones(1, 4, dtype=torch.long),
        logits_processor=[ConstrainedLogitsProcessor(grammar)],
        max_new_tokens=14,
        do_sample=False,
    )
    expected = model.generate(
        **prompt(), logits_processor=[ConstrainedLogitsProcessor(grammar)], max_new_tokens=14, do_sample=False
    )
    assert output[0].tolist() == expected[0, 4:].tolist()


def test_encoder_decoder() -> None:
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=WIDTH,
        d_model=16,
        d_kv=8,
        d_ff=16,
        num_layers=1,
        num_heads=2,
        decoder_start_token_id=0,
        eos_token_id=EOS,
    )
    grammar = loop_grammar()
    torch.manual_seed(1)
    output = (
        transformers.T5ForConditionalGeneration(config)
        .eval()
        .generate(
            torch.tensor(PROMPT),
            logits_processor=[ConstrainedLogitsProcessor(grammar)],
            do_sample=True,
            num_return_sequences=2,
            max_new_tokens=300,
        )
    )
    assert all(grammar.valid(word) for word in words_of(output, 1))


# Rows that are over


class StopAfter(transformers.StoppingCriteria):
    """Ends the first row after some tokens, as a stop string or a time limit would."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __call__(self, input_ids: Any, _scores: Any, **_: Any) -> Any:
        done = torch.zeros(input_ids.shape[0], dtype=torch.bool)
        done[0] = input_ids.shape[1] >= self.length
        return done


@pytest.mark.parametrize("do_sample", [False, True])
def test_rows_stopped_by_other_criteria_are_padded_without_harm(model: Any, do_sample: bool) -> None:
    grammar = loop_grammar()
    torch.manual_seed(4)
    processor = ConstrainedLogitsProcessor(grammar)
    output = model.generate(
        **TWO_PROMPTS,
        logits_processor=[processor],
        stopping_criteria=[StopAfter(6)],
        do_sample=do_sample,
        max_new_tokens=40,
    )
    first, second = (row.tolist() for row in output[:, 4:])
    assert first[2:] == [PAD] * (len(first) - 2)
    assert len(first) > 3
    assert processor.completed(output) == [False, grammar.valid(until_end(output[1, 4:]))]
    if EOS in second:
        assert grammar.valid(second[: second.index(EOS)])


def test_end_of_sequence_as_padding() -> None:
    model = tiny_model()
    model.generation_config.pad_token_id = EOS
    grammars = [word_grammar((10, 20)), word_grammar((10, 20, 21, 22, 23))]
    processor = ConstrainedLogitsProcessor(grammars)
    output = model.generate(**TWO_PROMPTS, logits_processor=[processor], max_new_tokens=8)
    assert output[:, 4:].tolist() == [[10, 20, EOS, EOS, EOS, EOS], [10, 20, 21, 22, 23, EOS]]
    assert processor.completed(output) == [True, True]


@pytest.mark.parametrize("do_sample", [False, True])
def test_nothing_but_the_end_follows_the_end_when_generate_does_not_know_it(do_sample: bool) -> None:
    """A model without an end-of-sequence id goes on; the rest of the row must not be free text."""
    model = tiny_model(eos=None)
    model.generation_config.eos_token_id = None
    output = model.generate(
        **prompt(),
        logits_processor=[ConstrainedLogitsProcessor(word_grammar((10, 20)))],
        max_new_tokens=7,
        do_sample=do_sample,
    )
    assert output[0, 4:].tolist() == [10, 20, EOS, EOS, EOS, EOS, EOS]


def test_over_rows_are_finite_and_worse_than_any_beam() -> None:
    processor = ConstrainedLogitsProcessor(word_grammar((10, 20)))
    processor(torch.tensor([[1], [1]]), torch.zeros(2, WIDTH))
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        scores = torch.randn(2, WIDTH, dtype=dtype)
        result = processor(torch.tensor([[1, 10], [1, 33]]), scores)
        assert result.dtype == dtype
        assert result[0, 20] == scores[0, 20]
        assert torch.isfinite(result[1]).all()
        assert result[1].argmax() == EOS
        assert result[1].max() < -1e4
        if dtype != torch.float16:  # whose range is too small
            assert torch.isfinite(result[1].float() / 0.1).all(), "a low temperature must not overflow"


# Other processors


@pytest.mark.parametrize("do_sample", [False, True])
def test_grammar_wins_where_others_left_nothing(model: Any, do_sample: bool) -> None:
    grammar = word_grammar((10, 20), (10, 21))
    with pytest.warns(RuntimeWarning, match="the grammar was followed") as caught:
        output = model.generate(
            **prompt(),
            logits_processor=[ConstrainedLogitsProcessor(grammar)],
            min_new_tokens=6,
            suppress_tokens=[10, 20, 21],
            do_sample=do_sample,
            max_new_tokens=8,
        )
    assert len([w for w in caught if "the grammar was followed" in str(w.message)]) == 1
    assert grammar.valid(words_of(output)[0])


def test_emptied_rows_are_scored_alike_and_others_are_left_alone() -> None:
    processor = ConstrainedLogitsProcessor(word_grammar((10,), (11,)))
    scores = torch.randn(2, WIDTH)
    scores[0, [10, 11]] = -torch.inf
    with pytest.warns(RuntimeWarning):
        result = processor(torch.tensor([[1], [1]]), scores)
    assert result[0, [10, 11]].tolist() == [0.0, 0.0]
    assert torch.equal(result[1, [10, 11]], scores[1, [10, 11]])
    assert (result == -torch.inf).sum() == 2 * (WIDTH - 2)


def test_nan_is_passed_on_rather_than_hidden() -> None:
    result = ConstrainedLogitsProcessor(word_grammar((10,)))(torch.tensor([[1]]), torch.full((1, WIDTH), torch.nan))
    assert result[0, 10].isnan()


# Widths


def test_padded_logits_are_masked_and_narrow_logits_drop_ids() -> None:
    grammar = word_grammar((10,), (50,), (59,))
    for width, expected in (
        (51, [10, 50]),
        (59, [10, 50]),
        (60, [10, 50, 59]),
        (64, [10, 50, 59]),
        (200, [10, 50, 59]),
    ):
        result = ConstrainedLogitsProcessor(grammar)(torch.tensor([[1]]), torch.zeros(1, width))
        assert result.shape == (1, width)
        assert torch.isfinite(result[0]).nonzero().flatten().tolist() == expected


def test_logits_too_narrow_for_any_allowed_token_raise() -> None:
    with pytest.raises(NoAllowedTokenError, match="among the model's 50 logits"):
        ConstrainedLogitsProcessor(word_grammar((50,)))(torch.tensor([[1]]), torch.zeros(1, 50))


def test_grammar_without_a_first_token_raises() -> None:
    with pytest.raises(NoAllowedTokenError, match="no token continues the output") as caught:
        ConstrainedLogitsProcessor([word_grammar((10,)), TokenGrammar({0: {}}, (), width=VOCABULARY)])(
            torch.tensor([[1], [1]]), torch.zeros(2, WIDTH)
        )
    assert caught.value.row == 1


def test_another_width_raises_instead_of_going_unconstrained() -> None:
    processor = ConstrainedLogitsProcessor(loop_grammar())
    processor(torch.tensor([[1]]), torch.zeros(1, WIDTH))
    with pytest.raises(LogitsWidthError):
        processor(torch.tensor([[1, 10]]), torch.zeros(1, WIDTH + 32))


def numbered_tokens(texts: int, specials: int = 0) -> Any:
    """A grammar over a vocabulary of an end id, so many tokens of text, `0`, `1`, …, and so many special ids."""
    special = {f"<{i}>": 1 + texts + i for i in range(specials)}
    tokens = [None, *(b"%d" % i for i in range(texts)), *[None] * specials]
    vocabulary = constrain.Vocabulary.from_tokens(tokens, eos_token_ids=0, special_tokens=special)
    return constrain.regex("7|19|1999").compile(vocabulary)


def allowed_first(compiled: Any, width: int) -> list[int]:
    result = ConstrainedLogitsProcessor(compiled)(torch.tensor([[1, 5]]), torch.zeros(1, width))
    return torch.isfinite(result[0]).nonzero().flatten().tolist()


SEVEN, NINETEEN = [2, 8, 20, 200, 2000], [2, 8, 20, 200]  # ids of 1, 7, 19, 199 and 1999


def test_a_vocabulary_with_text_beyond_the_logits_is_that_of_another_model() -> None:
    processor = ConstrainedLogitsProcessor(numbered_tokens(60_256))
    with pytest.raises(LogitsWidthError, match="from_tokenizer") as refused:
        processor(torch.tensor([[1, 5]]), torch.zeros(1, 49_152))
    assert all(number in str(refused.value) for number in ("60,257", "49,152", "11,105 tokens of text"))
    with pytest.raises(LogitsWidthError):  # and nothing was bound by it
        processor(torch.tensor([[1, 5]]), torch.zeros(1, 49_152))
    foreign = torch.zeros(1, 49_152)
    assert from_a_draft(processor, torch.tensor([[1, 5]]), foreign) is foreign
    processor(torch.tensor([[1, 5]]), torch.zeros(1, 60_288))
    with pytest.raises(LogitsWidthError):
        processor.begin(torch.tensor([[1, 5]]), 49_152)


def test_special_ids_and_a_few_added_tokens_may_lie_beyond_the_logits() -> None:
    assert allowed_first(numbered_tokens(2000, specials=500), 2001) == SEVEN
    assert allowed_first(numbered_tokens(2000), 1981) == NINETEEN  # twenty texts beyond: a hundredth
    with pytest.raises(LogitsWidthError, match="21 tokens of text"):
        allowed_first(numbered_tokens(2000), 1980)


def test_a_vocabulary_far_smaller_than_the_logits_is_warned_of_once_by_each_processor() -> None:
    compiled = numbered_tokens(256)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(2):
            processor = ConstrainedLogitsProcessor(compiled)
            for prompt in ([1, 5], [1, 6], [1, 7]):
                processor.reset()
                result = processor(torch.tensor([prompt]), torch.zeros(1, 49_152))
                assert torch.isfinite(result[0]).nonzero().flatten().tolist() == [2, 8, 20, 200]
    texts = [str(w.message) for w in caught if w.category is RuntimeWarning]
    assert len(texts) == 2
    assert all("257 ids" in text and "49,152 logits" in text and "from_tokenizer" in text for text in texts)


@pytest.mark.parametrize(("texts", "width"), [(258, 384), (300, 4_300), (32_000, 32_064), (100_000, 151_936)])
def test_padded_logits_are_not_warned_of(texts: int, width: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert 8 in allowed_first(numbered_tokens(texts), width)


def from_a_draft(processor: Any, input_ids: Any, scores: Any) -> Any:
    """Call the processor as transformers' draft models do: from that file."""
    scope: dict[str, Any] = {}
    exec(compile("def call(p, i, s): return p(i, s)", "/x/generation/candidate_generator.py", "exec"), scope)
    return scope["call"](processor, input_ids, scores)


def test_draft_models_with_another_vocabulary_pass_through_and_bind_nothing() -> None:
    processor = ConstrainedLogitsProcessor(loop_grammar())
    foreign = torch.randn(1, 99)
    assert from_a_draft(processor, torch.tensor([[88, 89, 90, 91, 92]]), foreign) is foreign  # before the model's call
    result = processor(torch.tensor([[1, 5]]), torch.zeros(1, WIDTH))
    assert torch.isfinite(result[0]).nonzero().flatten().tolist() == [10, 11]
    assert from_a_draft(processor, torch.tensor([[88, 89]]), foreign) is foreign
    same_width = torch.zeros(1, WIDTH)  # but its rows do not hold the prompt
    assert from_a_draft(processor, torch.tensor([[33, 34]]), same_width) is same_width
    assert from_a_draft(processor, torch.tensor([[33]]), same_width) is same_width
    assert from_a_draft(processor, torch.tensor([[1, 5, 10, 20, 21]]), same_width) is same_width
    result = from_a_draft(processor, torch.tensor([[1, 5, 10]]), same_width)  # a draft with the model's own vocabulary
    assert torch.isfinite(result[0]).nonzero().flatten().tolist() == list(range(20, 40))
    assert not _inside_candidate_generator()


def test_the_file_that_drafts_are_recognised_by_exists() -> None:
    from transformers.generation import candidate_generator

    assert candidate_generator.__file__.endswith("candidate_generator.py")


# One processor, several generate calls


def test_same_prompt_again_and_a_new_prompt_are_recognised(model: Any) -> None:
    grammar = loop_grammar()
    processor = ConstrainedLogitsProcessor(grammar)
    other = torch.tensor([[1, 40, 41, 42, 43, 44]])
    for ids in (PROMPT, PROMPT, other, [[1, 3]], PROMPT, [*PROMPT, [1, 6, 6, 6]], PROMPT):
        inputs = torch.as_tensor(ids)
        arguments: dict[str, Any] = {
            "attention_mask": torch.ones_like(inputs),
            "max_new_tokens": 12,
            "do_sample": False,
        }
        if inputs.shape[0] == 2 or (processor._prompt is not None and processor._prompt.shape[0] == 2):
            processor.reset()
        again = model.generate(inputs, logits_processor=[processor], **arguments)
        fresh = model.generate(inputs, logits_processor=[ConstrainedLogitsProcessor(grammar)], **arguments)
        assert torch.equal(again, fresh)


def test_second_turn_of_a_conversation_raises_instead_of_continuing_the_first(model: Any) -> None:
    processor = ConstrainedLogitsProcessor(loop_grammar())
    first = model.generate(**prompt(), logits_processor=[processor], max_new_tokens=30, do_sample=False)
    turn = torch.cat([first, torch.tensor([[5, 6, 7]])], dim=1)
    with pytest.raises(ProcessorReuseError):
        model.generate(turn, attention_mask=torch.ones_like(turn), logits_processor=[processor], max_new_tokens=30)
    processor.reset()
    model.generate(turn, attention_mask=torch.ones_like(turn), logits_processor=[processor], max_new_tokens=30)


@pytest.mark.parametrize("rows", [[[1, 5, 9], [1, 5, 9]], [[9]], [[1, 5, 10, 20]]])
def test_rows_that_fit_nothing_raise(rows: list[list[int]]) -> None:
    processor = ConstrainedLogitsProcessor(loop_grammar())
    processor(torch.tensor([[1, 5]]), torch.zeros(1, WIDTH))
    with pytest.raises(ProcessorReuseError):
        processor(torch.tensor(rows), torch.zeros(len(rows), WIDTH))


def test_batches_that_grammars_cannot_share_raise() -> None:
    with pytest.raises(ValueError, match="3 rows cannot be shared out among 2 grammars"):
        ConstrainedLogitsProcessor([loop_grammar(), loop_grammar()])(
            torch.ones(3, 2, dtype=torch.long), torch.zeros(3, WIDTH)
        )
    with pytest.raises(ValueError, match="at least one"):
        ConstrainedLogitsProcessor([])
    with pytest.raises(TypeError, match="compile"):
        ConstrainedLogitsProcessor(object())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="same vocabulary"):
        ConstrainedLogitsProcessor([word_grammar((1,)), word_grammar((1,), width=61)])


def test_continuous_batching_shapes_raise() -> None:
    with pytest.raises(ValueError, match="continuous batching"):
        ConstrainedLogitsProcessor(loop_grammar())(torch.tensor([1, 2]), torch.zeros(2, WIDTH))


# An output that was begun in the prompt


def test_prompt_length_given(model: Any) -> None:
    grammar = word_grammar((10, 20, 21), (11, 20, 22))
    ids = torch.tensor([[1, 7, 11, 20]])
    processor = ConstrainedLogitsProcessor(grammar, prompt_length=2)
    output = model.generate(ids, attention_mask=torch.ones_like(ids), logits_processor=[processor], max_new_tokens=5)
    assert output[0, 2:].tolist() == [11, 20, 22, EOS]
    assert processor.completed(output) == [True]
    other = torch.tensor([[1, 8, 11, 20]])
    with pytest.raises(ProcessorReuseError):
        model.generate(other, attention_mask=torch.ones_like(other), logits_processor=[processor], max_new_tokens=5)


def test_refused_beginning_raises() -> None:
    processor = ConstrainedLogitsProcessor(word_grammar((10, 20, 21)), prompt_length=1)
    with pytest.raises(NoAllowedTokenError, match="token 1 of the output given in advance is refused"):
        processor(torch.tensor([[1, 10, 21]]), torch.zeros(1, WIDTH))
    with pytest.raises(ValueError, match="prompt_length"):
        ConstrainedLogitsProcessor(loop_grammar(), prompt_length=3)(torch.tensor([[1, 10]]), torch.zeros(1, WIDTH))


# Never called


def test_a_processor_that_was_never_called_is_not_silent() -> None:
    processor = ConstrainedLogitsProcessor(loop_grammar())
    with pytest.raises(GenerationError, match="ran without its constraint"):
        processor.completed(torch.tensor([[1, 2, 3]]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        del processor
        gc.collect()
    assert any("WITHOUT its constraint" in str(w.message) for w in caught)


DROPS = """
import constrain
compiled = constrain.regex("a").compile(constrain.Vocabulary.from_tokens([b"a", None], eos_token_ids=1))
for _ in range(3):
    constrain.ConstrainedLogitsProcessor(compiled)
last = constrain.ConstrainedLogitsProcessor(compiled)  # dropped when Python ends
"""


@pytest.mark.parametrize(
    ("filters", "warned", "raised"),
    [
        ([], 4, 0),
        (["-W", "ignore"], 0, 0),
        (["-W", "once::RuntimeWarning"], 1, 0),
        (["-W", "error::RuntimeWarning"], 0, 4),
    ],
    ids=str,
)
def test_each_processor_that_is_dropped_uncalled_warns(filters: list[str], warned: int, raised: int) -> None:
    """In a process of its own: its filters are Python's own ones and those of the command line."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    ran = subprocess.run(
        [sys.executable, *filters, "-c", DROPS], capture_output=True, text=True, check=True, env=environment
    )
    assert ran.stderr.count("RuntimeWarning: a ConstrainedLogitsProcessor was dropped") == warned + raised, ran.stderr
    assert ran.stderr.count("Traceback") == raised, ran.stderr  # what a finalizer raises is printed, no more


def test_a_processor_that_was_called_is_dropped_in_silence() -> None:
    processor = ConstrainedLogitsProcessor(loop_grammar())
    processor(torch.tensor([[1]]), torch.zeros(1, WIDTH))
    with warnings.catch_warnings(record=True) as caught:  # an error in a finalizer would go unnoticed
        warnings.simplefilter("always")
        del processor
        gc.collect()
    assert not any("WITHOUT its constraint" in str(w.message) for w in caught)


# State is a function of the prefix

BRANCHES = word_grammar(*itertools.product((10, 11), (20, 21, 22), (30, 31)))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_state_is_a_function_of_the_prefix(data: st.DataObject) -> None:
    """Rows reordered, duplicated, dropped and cut back at will: every mask is that of the row's own tokens."""
    rows = data.draw(st.integers(1, 4), label="rows")
    processor = ConstrainedLogitsProcessor(BRANCHES)
    processor(torch.ones(rows, 3, dtype=torch.long), torch.zeros(rows, WIDTH))
    known: dict[int, set[tuple[int, ...]]] = {0: {()}}
    length = 0
    for _ in range(data.draw(st.integers(1, 8), label="steps")):
        length = data.draw(st.integers(max(0, length - 2), min(length + 1, max(known) + 1)), label="length")
        batch = []
        for _ in range(rows):
            if length == 0:
                batch.append(())
                continue
            parent = data.draw(st.sampled_from(sorted(known[length - 1])))
            token = data.draw(st.sampled_from([10, 11, 20, 21, 22, 30, 31, EOS, PAD]))
            batch.append((*parent, token))
        known.setdefault(length, set()).update(batch)
        scores = torch.randn(rows, WIDTH)
        result = processor(torch.tensor([[1, 1, 1, *row] for row in batch]), scores)
        for row, before, after in zip(batch, scores, result, strict=True):
            matcher = BRANCHES.matcher()
            if not all(matcher.accept_token(token) for token in row) or matcher.is_terminated:
                assert (after < -1e28).all()
                assert torch.isfinite(after).all()
                continue
            allowed = sorted(BRANCHES.allowed(row))
            assert torch.isfinite(after).nonzero().flatten().tolist() == allowed
            assert torch.equal(before[allowed], after[allowed])


def test_a_step_costs_one_accepted_token_per_new_row(model: Any) -> None:
    grammar = loop_grammar()
    torch.manual_seed(0)
    output = model.generate(
        **prompt(),
        logits_processor=[ConstrainedLogitsProcessor(grammar)],
        do_sample=True,
        num_return_sequences=8,
        max_new_tokens=120,
    )
    assert grammar.accepts <= 8 * (output.shape[1] - 4)


# Other devices


@pytest.fixture
def _as_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the way that is taken on a GPU: nothing is read on the host but one transfer a step."""
    monkeypatch.setattr("constrain.logits_processor._on_host", lambda _: False)


@pytest.mark.usefixtures("_as_on_a_device")
@pytest.mark.parametrize(
    "mode", [{}, {"do_sample": True, "num_return_sequences": 3}, {"num_beams": 3, "num_return_sequences": 2}], ids=str
)
def test_the_way_taken_on_a_device_gives_the_same_output(
    model: Any, mode: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    grammars = [loop_grammar(), word_grammar((40, 50, 51), (41, 50), (42, 43), (44, 45))]
    outputs = []
    for _ in range(2):
        torch.manual_seed(6)
        processor = ConstrainedLogitsProcessor(grammars)
        outputs.append(model.generate(**TWO_PROMPTS, logits_processor=[processor], max_new_tokens=30, **mode))
        monkeypatch.setattr("constrain.logits_processor._on_host", lambda _: True)
    assert torch.equal(*outputs)


@pytest.mark.usefixtures("_as_on_a_device")
def test_emptied_rows_on_a_device_are_reported_at_the_next_call() -> None:
    processor = ConstrainedLogitsProcessor(word_grammar((10, 20), (11, 20)))
    scores = torch.zeros(2, WIDTH)
    scores[0, [10, 11]] = -torch.inf
    result = processor(torch.tensor([[1], [1]]), scores)
    assert torch.isfinite(result).nonzero().tolist() == [[0, 10], [0, 11], [1, 10], [1, 11]]
    with pytest.warns(RuntimeWarning, match="the grammar was followed"):
        processor(torch.tensor([[1, 10], [1, 33]]), torch.zeros(2, WIDTH))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        processor.completed(torch.tensor([[1, 10, 20], [1, 11, 20]]))


@pytest.mark.usefixtures("_as_on_a_device")
def test_emptied_rows_of_the_last_step_are_reported_by_completed() -> None:
    processor = ConstrainedLogitsProcessor(word_grammar((10,)))
    processor(torch.tensor([[1]]), torch.full((1, WIDTH), -torch.inf))
    with pytest.warns(RuntimeWarning, match="the grammar was followed"):
        assert processor.completed(torch.tensor([[1, 10]])) == [True]


# Packed masks


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 200), st.integers(1, 3), st.randoms(use_true_random=False))
def test_unpacking_in_torch_equals_the_bits_packed_by_numpy(width: int, rows: int, random: Any) -> None:
    bits = np.array([[random.random() < 0.5 for _ in range(width)] for _ in range(rows)])
    words = np.zeros((rows, -(-width // 32) * 32), dtype=np.uint8)
    words[:, :width] = bits
    packed = np.packbits(words, axis=1, bitorder="little").view(np.int32)
    assert (_unpack(torch.from_numpy(packed), width).numpy() == bits).all()
