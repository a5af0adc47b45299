"""Messages under a budget of tokens: in every format, whatever is written, they are complete in time."""

import random

import numpy as np
import pytest

from constrain import Tool, tool_calls
from constrain.grammars.tool_formats import FORMATS, PythonArguments, TaggedArguments
from constrain.tools.argument_check import ArgumentChecker
from constrain.tools.parser import parse_message
from tests.constrain.tools.wire_cases import CHECKER
from tests.constrain.wire.wire_vocabularies import KINDS, NAMES, close, compiled_of, cut, spelled, vocabulary_of

OPEN = Tool("f", parameters={"type": "object", "properties": {"in_use": {}, "x": {}}, "additionalProperties": {}})


def within(compiled, room, rng):
    """A message of at most so many tokens, all of them at random."""
    matcher, ids = compiled.matcher(), []
    mask = np.zeros(compiled.bitmask_words, dtype=np.int32)
    while len(ids) < room and not matcher.is_terminated:
        matcher.fill_next_token_bitmask(mask, max_tokens=room - len(ids))
        open_ = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
        assert len(open_), f"a dead end after {spelled(compiled.vocabulary, ids)!r}"
        ids.append(int(rng.choice(open_.tolist())))
        assert matcher.accept_token(ids[-1])
        needed = matcher.tokens_to_end
        assert needed is not None
        assert needed <= matcher.min_tokens_to_end
        assert needed <= room - len(ids), f"{needed} more are needed after {spelled(compiled.vocabulary, ids)!r}"
    assert matcher.is_accepting or matcher.is_terminated, spelled(compiled.vocabulary, ids)
    return ids


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_at_random_is_complete_in_time(name, kind):
    compiled = compiled_of(name, kind)
    needed = compiled.matcher().tokens_to_end
    assert needed is not None
    rng = random.Random(f"{name} {kind}")
    for more in (0, rng.randrange(1, 9), rng.randrange(20, 70)):
        ids = within(compiled, needed + more, rng)
        message = parse_message(ids, name, CHECKER, "required", vocabulary=compiled.vocabulary)
        assert message.calls


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [n for n in NAMES if isinstance(FORMATS[n].arguments, PythonArguments)])
@pytest.mark.parametrize("word", ["Fals", "False", "None", "in", "in_use", "x", "class"])
def test_the_way_to_the_end_from_within_names_that_may_not_end_there(name, kind, word):
    call = FORMATS[name].call
    assert isinstance(call, str)
    compiled = tool_calls([OPEN], format=name, tool_choice="required").compile(vocabulary_of(name, kind))
    first = FORMATS[name].first.replace("⟨?<|python_start|>⟩", "").replace("·", "")
    begun = first + call.replace("⟨name⟩", "f").partition("⟨arguments⟩")[0] + f"in_use=1,x=2,{word}"
    matcher = compiled.matcher()
    for token in cut(compiled, begun):
        assert matcher.accept_token(token)
    ids = [*cut(compiled, begun), *close(matcher)]
    read = parse_message(ids, name, ArgumentChecker([OPEN], closed_objects=True), vocabulary=compiled.vocabulary)
    assert read.calls[0].arguments.keys() > {"in_use", "x"}
    within_it = compiled.matcher()
    for token in cut(compiled, begun):
        assert within_it.accept_token(token)
    assert within_it.tokens_to_end <= within_it.min_tokens_to_end


@pytest.mark.parametrize("name", [n for n in NAMES if isinstance(FORMATS[n].arguments, TaggedArguments)])
def test_names_of_members_that_only_differ_in_what_is_spelled(name):
    compiled = tool_calls([OPEN], format=name, tool_choice="required").compile(vocabulary_of(name, "special"))
    needed = compiled.matcher().tokens_to_end
    rng = random.Random(name)
    for more in range(0, 60, 6):
        within(compiled, needed + more, rng)
