"""Messages that the prompt begins, forced tokens around markers, and budgets of reasoning."""

from __future__ import annotations

import functools
import pickle
import random
from typing import Any

import numpy as np
import pytest

import constrain
from constrain.errors import ToolCallParseError, ToolFormatError, UnsupportedSchemaError
from constrain.grammars.tool_formats import (
    FORMATS,
    CountedCallIds,
    GenerationStart,
    JsonArguments,
    StartState,
    get_format,
)
from constrain.tools import Tool, ToolCall, render_message
from constrain.vocabulary import Vocabulary
from tests.vocabulary.tokenizers_by_hand import byte_level

BOOK = Tool(
    "book_table",
    parameters={
        "type": "object",
        "properties": {"guest": {"enum": ["Ada", "Zoë"]}, "seats": {"type": "integer", "maximum": 9}},
        "required": ["guest"],
    },
)
CLOCK = Tool("clock", parameters={"type": "object", "properties": {"zone": {"type": "string", "maxLength": 4}}})
TOOLS = [BOOK, CLOCK]
END = "<|eos|>"
CALLS = [ToolCall("aB3dE6gH9", "book_table", {"guest": "Ada", "seats": 4}), ToolCall("zY8xW5vU2", "clock", {})]
THINKING = sorted(name for name, format in FORMATS.items() if format.reasoning is not None)


@functools.lru_cache(maxsize=64)
def words(name: str, special: bool = True) -> tuple[Any, Vocabulary]:
    """A trained tokenizer with the markers and stops of a format as tokens."""
    from tokenizers import AddedToken

    format = get_format(name)
    texts = dict.fromkeys((*format.markers, *format.call_stops, *format.text_stops))
    tokenizer = byte_level(400)
    tokenizer.add_special_tokens([END])
    added = [AddedToken(text, normalized=False, special=special) for text in texts]
    (tokenizer.add_special_tokens if special else tokenizer.add_tokens)(added)
    end = tokenizer.token_to_id(END)
    return tokenizer, Vocabulary.from_tokenizer(tokenizer, eos_token_ids=[end], cache=False)


def calls_of(name: str, count: int = 2) -> list[ToolCall]:
    format = get_format(name)
    ids = not isinstance(format.ids, CountedCallIds)
    return [ToolCall(c.id if ids else None, c.name, c.arguments) for c in CALLS[: format.most_calls][:count]]


def grammar(name: str, **options: Any) -> Any:
    return constrain.tool_calls(TOOLS, format=name, **options)


def accepts(compiled: Any, ids: list[int]) -> bool:
    matcher = compiled.matcher()
    return all(matcher.accept_token(i) for i in ids) and (matcher.is_accepting or matcher.is_terminated)


# --- forced tokens


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_forced_tokens_are_those_of_the_tokenizers_own_encoding(name: str, special: bool) -> None:
    """Oracle: messages rendered as templates do, cut by the tokenizer as a whole."""
    format = get_format(name)
    tokenizer, vocabulary = words(name, special)
    compiled = constrain.tool_calls(TOOLS, format=name, tool_choice="required").compile(vocabulary)
    forced = 0
    for count in (1, 2):
        stop = format.call_stops[0] if format.call_stops else END
        text = render_message(format, calls_of(name, count), TOOLS) + stop
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        matcher = compiled.matcher()
        for i, token in enumerate(ids):
            found = matcher.forced_tokens()
            assert found == ids[i : i + len(found)], (text, i)
            assert b"\xff" not in matcher.forced_bytes()
            forced += len(found)
            assert matcher.accept_token(token), (text, i)
        assert matcher.is_terminated
        assert matcher.forced_tokens() == []
    if format.text != "instead" and format.markers:
        assert forced > 0


def test_a_marker_that_must_come_is_forced_as_its_token() -> None:
    tokenizer, vocabulary = words("deepseek_v3_1")
    compiled = grammar("deepseek_v3_1", tool_choice="clock", whitespace="none").compile(vocabulary)
    matcher = compiled.matcher()
    begin = tokenizer.token_to_id("<｜tool▁calls▁begin｜>")
    assert matcher.accept_token(begin)
    found = matcher.forced_tokens()
    text = "<｜tool▁call▁begin｜>clock<｜tool▁sep｜>"
    assert found[: found.index(tokenizer.token_to_id("<｜tool▁sep｜>")) + 1] == tokenizer.encode(text).ids
    assert matcher.forced_bytes() == b""  # a token comes next, not bytes
    for token in found:
        assert matcher.accept_token(token)


def test_the_end_of_a_branch_is_forced_and_nothing_after_it() -> None:
    tokenizer, vocabulary = words("llama3_builtin")
    one = Tool("stop", parameters={"type": "object", "properties": {"n": {"const": 1}}, "required": ["n"]})
    compiled = constrain.tool_calls([one], format="llama3_builtin", tool_choice="stop", whitespace="none").compile(
        vocabulary
    )
    matcher = compiled.matcher()
    begun, rest = "<|python_tag|>stop.call(n=1", ")<|eom_id|>"
    assert all(matcher.accept_token(t) for t in tokenizer.encode(begun).ids)
    assert matcher.accept_bytes(b")")
    assert matcher.forced_tokens() == tokenizer.encode(rest).ids[-1:]
    assert matcher.accept_token(matcher.forced_tokens()[0])
    assert matcher.is_terminated
    assert matcher.forced_tokens() == []


# --- where messages begin


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_message_goes_on_from_wherever_the_prompt_leaves_off(name: str) -> None:
    format = get_format(name)
    tokenizer, vocabulary = words(name)
    reasoning = "So." if format.reasoning else None
    text = render_message(format, calls_of(name), TOOLS, reasoning=reasoning)
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    end = [tokenizer.token_to_id(format.call_stops[0] if format.call_stops else END)]
    assert accepts(grammar(name).compile(vocabulary), ids + end)
    for cut in random.Random(0).sample(range(len(ids) + 1), min(5, len(ids) + 1)):
        prefix = tokenizer.decode(ids[:cut], skip_special_tokens=False)
        if not text.startswith(prefix):
            continue  # within a character
        g = grammar(name, start=GenerationStart(prefix=prefix))
        compiled = g.compile(vocabulary)
        assert accepts(compiled, ids[cut:] + end)
        if cut and ids[cut:]:
            assert not accepts(compiled, ids + end)
        if format.writes_ids or isinstance(format.ids, CountedCallIds):
            continue
        parsed = g.parse(ids[cut:] + end, vocabulary)
        assert [(c.name, c.arguments) for c in parsed.calls] == [(c.name, c.arguments) for c in calls_of(name)]


@pytest.mark.parametrize("name", THINKING)
def test_states_of_reasoning(name: str) -> None:
    format = get_format(name)
    block = format.reasoning
    assert block is not None
    tokenizer, vocabulary = words(name)
    stop = format.call_stops[0] if format.call_stops else END
    run = render_message(format, calls_of(name), TOOLS) + stop
    thought = f"So.{block.close}{block.after}{run}"
    whole, rest, after = (
        tokenizer.encode(t, add_special_tokens=False).ids for t in (block.open + thought, thought, run)
    )
    may_begin, within, ended = (
        grammar(name, start=state, tool_choice="required").compile(vocabulary)
        for state in (StartState.BEGIN, StartState.IN_REASONING, StartState.AFTER_REASONING)
    )
    assert [accepts(c, whole) for c in (may_begin, within, ended)] == [True, False, False]
    assert [accepts(c, rest) for c in (may_begin, within, ended)][1:] == [True, False]
    assert [accepts(c, after) for c in (may_begin, within, ended)] == [True, False, True]
    assert grammar(name, reasoning="open") == grammar(name, start=StartState.IN_REASONING)
    assert within.grammar.parse(rest, vocabulary).reasoning == "So."


def test_an_answer_that_the_prompt_opened() -> None:
    tokenizer, vocabulary = words("command_a")
    compiled = grammar("command_a", start=StartState.IN_ANSWER).compile(vocabulary)
    ids = tokenizer.encode("Hi.<|END_RESPONSE|>" + END).ids
    assert accepts(compiled, ids)
    assert compiled.grammar.parse(ids, vocabulary).text == "Hi."
    with pytest.raises(ToolFormatError, match="cannot go on as the tools and the choice demand"):
        grammar("command_a", start=StartState.IN_ANSWER, tool_choice="required").compile(vocabulary)


def test_arguments_that_contradict_each_other() -> None:
    with pytest.raises(ValueError, match="leave reasoning out"):
        grammar("qwen3", reasoning="open", start=StartState.BEGIN)
    with pytest.raises(ValueError, match="reasoning is one of"):
        grammar("qwen3", reasoning="perhaps")
    with pytest.raises(ValueError, match="reasoning_budget"):
        grammar("qwen3", reasoning_budget=-1)


def test_parse_and_pickle() -> None:
    _, vocabulary = words("qwen3")
    g = pickle.loads(pickle.dumps(grammar("qwen3", start=StartState.IN_REASONING, reasoning_budget=3)))
    assert (g, g.reasoning_budget) == (grammar("qwen3", start=StartState.IN_REASONING, reasoning_budget=3), 3)
    assert g != grammar("qwen3", start=StartState.IN_REASONING)
    text = render_message("qwen3", calls_of("qwen3"), TOOLS)
    with pytest.raises(ToolCallParseError):
        grammar("qwen3").parse(text[:-4])
    assert grammar("qwen3").parse(text[:-4], errors="collect").truncated
    assert grammar("qwen3", tool_choice="none").parse("Hi.").text == "Hi."
    with pytest.raises(ToolCallParseError, match="a call is demanded"):
        grammar("qwen3", tool_choice="required").parse("Hi.")
    assert len(grammar("qwen3").parse(words("qwen3")[0].encode(text).ids, vocabulary).calls) == 2


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_objects_are_closed_in_every_format(name: str) -> None:
    """Also where no argument is a string, so that tagged formats restrict none of them."""
    tool = Tool("seat", parameters={"type": "object", "properties": {"n": {"enum": [1, 2]}}})
    tokenizer, vocabulary = words(name)
    format = get_format(name)
    end = [tokenizer.token_to_id(format.call_stops[0] if format.call_stops else END)]
    open_tool = Tool("seat", parameters={**tool.parameters, "additionalProperties": True})
    ids = None if isinstance(format.ids, CountedCallIds) else "aB3dE6gH9"
    for arguments, fine in (({"n": 1}, True), ({"n": 1, "m": 2}, False)):
        text = render_message(format, [ToolCall(ids, "seat", arguments)], [open_tool])
        tokens = tokenizer.encode(text, add_special_tokens=False).ids + end
        for declared, right in ((tool, fine), (open_tool, True)):
            try:
                compiled = constrain.tool_calls([declared], format=name).compile(vocabulary)
            except UnsupportedSchemaError:
                continue
            assert accepts(compiled, tokens) == right, text


# --- budgets


def allowed(matcher: Any, vocabulary: Vocabulary) -> list[int]:
    row = np.zeros(vocabulary.bitmask_words, dtype=np.int32)
    matcher.fill_next_token_bitmask(row)
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("name", THINKING)
def test_a_budget_of_reasoning(name: str, special: bool) -> None:
    """Random walks: no more tokens of reasoning than the budget, but to complete a character; then the end of it."""
    format = get_format(name)
    block = format.reasoning
    assert block is not None
    tokenizer, vocabulary = words(name, special)
    close = tokenizer.encode(block.close, add_special_tokens=False).ids
    budget = 5
    g = grammar(name, start=StartState.IN_REASONING, reasoning_budget=budget, tool_choice="clock")
    compiled = g.compile(vocabulary)
    for seed in range(4):
        choose = random.Random(seed)
        matcher = compiled.matcher()
        tokens: list[int] = []
        for _ in range(40):
            forced = matcher.forced_tokens()
            tokens.append(forced[0] if forced else choose.choice(allowed(matcher, vocabulary)))
            assert matcher.accept_token(tokens[-1])
            if close[0] in tokens:
                break
        within = tokens[: tokens.index(close[0])]
        data = b"".join(vocabulary.token_bytes[t] or b"" for t in within[:budget])
        begun = len(data) - len(data.decode(errors="ignore").encode())  # a character is completed
        assert len(within) <= budget + (3 if begun else 0)
        # Forks, rollbacks and dropped caches change nothing.
        copy = matcher.fork()
        before = allowed(matcher, vocabulary)
        compiled.clear_cache()
        assert allowed(copy, vocabulary) == before
        copy.rollback(len(tokens))
        taken = [constrain.accept_tokens([copy], [token]) for token in tokens]
        assert taken == [[True]] * len(tokens)
        assert allowed(copy, vocabulary) == before
        copy.rollback(len(tokens))
        batch = constrain.MatcherBatch([copy])
        assert all(batch.accept_tokens([token]).all() for token in tokens)
        assert allowed(batch.matcher(0), vocabulary) == before


def test_a_spent_budget_leaves_no_way_to_reason_again() -> None:
    tokenizer, vocabulary = words("harmony")
    for budget, again in ((None, True), (9, True), (1, False)):
        compiled = grammar("harmony", reasoning_budget=budget).compile(vocabulary)
        thought = "<|channel|>analysis<|message|>S<|end|><|start|>assistant"
        matcher = compiled.matcher()
        assert all(matcher.accept_token(t) for t in tokenizer.encode(thought).ids)
        assert matcher.fork().accept_bytes(b"\xff<|channel|>\xffanalysis") == again
        assert matcher.accept_bytes(b"\xff<|channel|>\xfffinal")


def test_masks_of_a_budget_equal_brute_force() -> None:
    _, vocabulary = words("qwen3")
    compiled = grammar("qwen3", start=StartState.IN_REASONING, reasoning_budget=2).compile(vocabulary)
    matcher = compiled.matcher()
    for text in (b"So", b" so", b"\xff</think>\xff"):
        alone = [i for i in range(vocabulary.size) if matcher.fork().accept_token(i)]
        assert allowed(matcher, vocabulary) == alone
        assert matcher.accept_bytes(text)


# --- tokens left


@pytest.mark.parametrize("name", sorted(name for name, f in FORMATS.items() if isinstance(f.arguments, JsonArguments)))
def test_messages_with_markers_end_in_time(name: str) -> None:
    """Random walks under a budget: complete whatever is chosen, markers that are tokens included."""
    _, vocabulary = words(name)
    compiled = grammar(name, tool_choice="required").compile(vocabulary)
    for seed in range(3):
        choose = random.Random(seed)
        matcher = compiled.matcher()
        needed = matcher.tokens_to_end
        assert needed is not None
        for left in range(needed + 10, -1, -1):
            row = np.zeros(vocabulary.bitmask_words, dtype=np.int32)
            matcher.fill_next_token_bitmask(row, max_tokens=left)
            tokens = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()
            if not left:
                break
            assert matcher.accept_token(choose.choice(tokens))
            if matcher.is_terminated:
                break
        assert matcher.is_terminated or matcher.is_accepting
