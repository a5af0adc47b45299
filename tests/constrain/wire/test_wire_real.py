"""Real tokenizers and chat templates: what they write is accepted token by token, and masks are exact over them."""

import json
import os
import random
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from constrain import ToolCall, Vocabulary, chat_turn, tool_calls
from constrain.cli import models
from constrain.grammars.tool_formats import FORMATS, detect_format, get_format, start_state
from constrain.testing.masks import read_mask
from constrain.tools import ToolResult
from constrain.tools.parser import parse_message
from constrain.tools.render import render_calls, render_message
from tests.constrain.demo_model import needs_demo_model
from tests.constrain.tools.test_wire_templates import CALLED, DECLARED, QUESTION, rendered, template_of
from tests.constrain.tools.wire_cases import CHECKER, TOOLS, said
from tests.constrain.wire.wire_vocabularies import check_mask, may_end, spelled
from tests.vocabulary.tokenizers_by_hand import mistral_data

RESULTS = [ToolResult(call.id, "done") for call in CALLED]
REASONING = {"begin": "may begin", "in_reasoning": "open", "after_reasoning": "ended"}
SAMPLED = 300


def take(compiled, ids, every=9, seed=0):
    """Feed the ids, with masks checked on samples of the vocabulary; the matcher at the end."""
    rng, matcher = random.Random(seed), compiled.matcher()
    size = compiled.vocabulary.size
    for k, token in enumerate(ids):
        if k % every == 0:
            check_mask(matcher, rng.sample(range(size), SAMPLED))
        assert matcher.accept_token(token), (
            spelled(compiled.vocabulary, ids[:k]),
            spelled(compiled.vocabulary, [token]),
        )
    return matcher


@lru_cache(maxsize=2)
def tokenizer_in(folder):
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    return tokenizer, Vocabulary.from_tokenizer(tokenizer)


def tokenizer_of(name):
    """A tokenizer under CONSTRAIN_TOKENIZERS, a folder of packages as an npm client unpacks them."""
    folder = Path(os.environ.get("CONSTRAIN_TOKENIZERS", "")) / name / "package" / "models"
    if not os.environ.get("CONSTRAIN_TOKENIZERS") or not (folder / "tokenizer.json").exists():
        pytest.skip(f"CONSTRAIN_TOKENIZERS names no folder with {name}")
    return tokenizer_in(str(folder))


def test_what_qwen3s_template_writes_is_accepted_and_read_back():
    template = template_of("CONSTRAIN_QWEN3_TOKENIZER")
    tokenizer, vocabulary = tokenizer_in(os.environ["CONSTRAIN_QWEN3_TOKENIZER"])
    format = get_format(detect_format(template))
    for text, reasoning, thinking in (("", None, True), ("Let me see.", None, False), ("", "Hm.\nYes.", True)):
        options = {"tools": DECLARED, "add_generation_prompt": True, "enable_thinking": thinking}
        prompt = rendered(template, QUESTION, **options)
        whole = rendered(template, chat_turn(QUESTION, CALLED, RESULTS, text=text, reasoning=reasoning), tools=DECLARED)
        answer = whole[len(rendered(template, QUESTION, tools=DECLARED, add_generation_prompt=True)) :]
        ids = tokenizer(answer.partition("<|im_end|>")[0], add_special_tokens=False)["input_ids"]
        start = start_state(format, prompt)
        grammar = tool_calls(TOOLS, format=format, tool_choice="required", reasoning=REASONING[start.state.value])
        compiled = grammar.compile(vocabulary)
        matcher = take(compiled, ids)
        assert matcher.is_accepting
        assert matcher.accept_token(vocabulary.eos_token_ids[0])
        message = parse_message(ids, format, CHECKER, vocabulary=vocabulary, start=start)
        assert said(message.calls) == said(CALLED)


@pytest.mark.parametrize(
    ("package", "format"),
    [("qwen3", "qwen3_coder"), ("llama3_1", "llama3_json"), ("llama3_1", "llama3_builtin"), ("llama3_1", "pythonic"),
     ("deepseek_v3", "deepseek_v3"), ("deepseek_v3", "deepseek_v3_1"), ("gptoss", "harmony"), ("gemma3", "plain_json"),
     ("gemma3", "hermes"), ("gemma3", "gemma_4"), ("llama2", "hermes")],
)  # fmt: skip
def test_calls_in_the_tokens_of_real_tokenizers(package, format):
    tokenizer, vocabulary = tokenizer_of(package)
    calls = [ToolCall(None, call.name, call.arguments) for call in CALLED][: FORMATS[format].most_calls]
    text = render_calls(format, calls, TOOLS)
    compiled = tool_calls(TOOLS, format=format, tool_choice="required").compile(vocabulary)
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    if tokenizer.decode(ids, clean_up_tokenization_spaces=False) != text:
        ids = ids_by_bytes(vocabulary, text)  # the tokenizer puts a blank before every text
    assert may_end(take(compiled, ids, every=13))
    assert said(parse_message(ids, format, CHECKER, vocabulary=vocabulary).calls) == said(calls)
    matcher, out, rng = compiled.matcher(), [], random.Random(package)
    for _ in range(25):
        open_ = np.flatnonzero(read_mask(matcher, vocabulary.size))
        assert len(open_)
        out.append(int(open_[rng.randrange(len(open_))]))
        assert matcher.accept_token(out[-1])
        if matcher.is_terminated:
            break
    kinds = {
        p.error.kind for p in parse_message(out, format, CHECKER, vocabulary=vocabulary, errors="collect").problems
    }
    assert kinds <= {"truncated", "malformed"}  # a character may be cut off


def ids_by_bytes(vocabulary, text):
    known = {data: i for i, data in reversed(list(enumerate(vocabulary.token_bytes))) if data}
    return [known[bytes((byte,))] for byte in text.encode()]


def test_what_deepseek_v3s_template_writes_is_accepted():
    tokenizer, vocabulary = tokenizer_of("deepseek_v3")
    template = tokenizer.chat_template
    answer = rendered(template, chat_turn(QUESTION, CALLED, arguments="text", empty_content=None))
    answer = answer.rpartition("<｜Assistant｜>")[2].removesuffix("<｜end▁of▁sentence｜>")
    compiled = tool_calls(TOOLS, format=detect_format(template), tool_choice="required").compile(vocabulary)
    ids = tokenizer(answer, add_special_tokens=False)["input_ids"]
    assert take(compiled, ids).is_accepting
    assert said(parse_message(ids, "deepseek_v3", CHECKER, vocabulary=vocabulary).calls) == said(CALLED)


@needs_demo_model
def test_what_smollm2s_template_writes_is_accepted():
    tokenizer, vocabulary = tokenizer_in(str(models.demo_model_folder()))
    turn = chat_turn(QUESTION, CALLED, RESULTS, render=lambda calls: render_calls("smollm2", calls))
    prompt = rendered(tokenizer.chat_template, QUESTION, add_generation_prompt=True)
    answer = rendered(tokenizer.chat_template, turn).removeprefix(prompt).partition("<|im_end|>")[0]
    ids = tokenizer(answer, add_special_tokens=False)["input_ids"]
    for choice in ("auto", "required"):
        assert take(tool_calls(TOOLS, format="smollm2", tool_choice=choice).compile(vocabulary), ids).is_accepting
    assert said(parse_message(ids, "smollm2", CHECKER, vocabulary=vocabulary).calls) == said(CALLED)


def mistral_tokenizer(version):
    """Mistral's own encoder; the newer ones on the tokens of an older file, with the special tokens that they need."""
    mistral = pytest.importorskip("mistral_common.tokens.tokenizers.mistral")
    if version in ("v3", "v7"):
        name = {"v3": "tekken_240718.json", "v7": "mistral_instruct_tokenizer_241114.model.v7"}[version]
        return mistral.MistralTokenizer.from_file(str(mistral_data(name)))
    from mistral_common.protocol.instruct.normalize import get_normalizer
    from mistral_common.protocol.instruct.validator import ValidationMode, get_validator
    from mistral_common.tokens.tokenizers import instruct
    from mistral_common.tokens.tokenizers.base import TokenizerVersion
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    data = json.loads(mistral_data("tekken_240911.json").read_text(encoding="utf-8"))
    special = list(Tekkenizer.DEPRECATED_SPECIAL_TOKENS)
    names = {"[CALL_ID]": 1, "[ARGS]": 2, "[THINK]": 3, "[/THINK]": 4, "[TOOL_CONTENT]": 5}
    known = {token["token_str"] for token in special}
    for text in names:
        if text not in known:
            special.append({"rank": len(special), "token_str": text, "is_control": True})
    config = data["config"]
    tekken = Tekkenizer(
        data["vocab"],
        special,
        config["pattern"],
        config["default_vocab_size"],
        config["default_num_special_tokens"],
        TokenizerVersion(version),
    )
    encoder = {"v11": instruct.InstructTokenizerV11, "v13": instruct.InstructTokenizerV13}[version](tekken)
    return mistral.MistralTokenizer(
        encoder,
        validator=get_validator(TokenizerVersion(version), ValidationMode.test),
        request_normalizer=get_normalizer(TokenizerVersion(version), None),
    )


@pytest.mark.parametrize("version", ["v3", "v7", "v11", "v13"])
def test_what_mistrals_encoders_write_is_accepted(version):
    tokenizer = mistral_tokenizer(version)
    from mistral_common.protocol.instruct.messages import AssistantMessage, ToolMessage, UserMessage
    from mistral_common.protocol.instruct.request import ChatCompletionRequest
    from mistral_common.protocol.instruct.tool_calls import FunctionCall
    from mistral_common.protocol.instruct.tool_calls import ToolCall as Theirs

    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    theirs = [Theirs(id=c.id, function=FunctionCall(name=c.name, arguments=c.arguments_json)) for c in CALLED]
    answers = [ToolMessage(content="done", tool_call_id=call.id) for call in CALLED]
    messages = [UserMessage(content="A table."), AssistantMessage(tool_calls=theirs), *answers]
    ids = tokenizer.encode_chat_completion(ChatCompletionRequest(messages=messages)).tokens
    ids = ids[
        ids.index(vocabulary.special_tokens["[TOOL_CALLS]"]) : ids.index(vocabulary.special_tokens["[TOOL_RESULTS]"])
    ]
    name = {"v3": "mistral_v3", "v7": "mistral_v3", "v11": "mistral_v11", "v13": "mistral_v13"}[version]
    compiled = tool_calls(TOOLS, format=name, tool_choice="required").compile(vocabulary)
    matcher = take(compiled, ids)
    assert matcher.is_terminated or matcher.is_accepting
    message = parse_message(ids, name, CHECKER, vocabulary=vocabulary)
    assert said(message.calls) == said(CALLED)


def test_masks_over_tekken():
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    vocabulary = Vocabulary.from_tokenizer(MistralTokenizer.from_file(str(mistral_data("tekken_240718.json"))))
    for name in ("mistral_v3", "qwen3", "qwen3_coder", "gemma_4", "pythonic"):
        compiled = tool_calls(TOOLS, format=name, tool_choice="auto").compile(vocabulary)
        calls = [ToolCall(None, call.name, call.arguments) for call in CALLED]
        text = "" if FORMATS[name].text == "instead" else render_message(name, (), text="Sure, é. ")
        matcher, rng = compiled.matcher(), random.Random(name)
        data = (text + render_calls(name, calls, TOOLS)).encode()
        at = 0
        symbols = {s.encode(): vocabulary.special_tokens.get(s) for s in compiled._symbols}
        while at < len(data):
            if at % 11 == 0:
                check_mask(matcher, rng.sample(range(vocabulary.size), SAMPLED))
            marker = next((s for s in symbols if data.startswith(s, at)), None)
            if marker:
                assert matcher.accept_token(symbols[marker])
            else:
                assert matcher.accept_bytes(data[at : at + 1]), data[:at]
            at += len(marker or b"x")
        check_mask(matcher, rng.sample(range(vocabulary.size), SAMPLED))
