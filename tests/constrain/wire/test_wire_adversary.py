"""Whatever a model wants, its message is valid under the choice, or was honestly cut off."""

import codecs
import os
import random

import pytest

from constrain.testing import Validator
from constrain.tools import ArgumentChecker
from constrain.tools.parser import parse_message
from tests.constrain.wire.adversary import CHOICES, TOOLS, attack, grammar_under_attack
from tests.constrain.wire.wire_vocabularies import KINDS, NAMES

RUNS = int(os.environ.get("CONSTRAIN_ATTACKS", 5000 if os.environ.get("CONSTRAIN_FULL") == "1" else 2))
VALIDATORS = {tool.name: Validator(tool.argument_schema) for tool in TOOLS}
CHECKER = ArgumentChecker(TOOLS)


def whole_characters(ids, vocabulary):
    """The tokens up to where the last character is whole."""
    decoder, kept = codecs.getincrementaldecoder("utf-8")(), 0
    for count, token in enumerate(ids, 1):
        decoder.decode(vocabulary.token_bytes[token] or b"")
        if not decoder.getstate()[0]:
            kept = count
    return ids[:kept]


def check(found, name, choice, vocabulary):
    """Parse a message that was written under attack; what it calls must be what the choice allows."""
    resolved = CHOICES[choice].resolve(TOOLS)
    # Under "none" the parser is told that tools may be called, so that it would see a call that slipped through.
    told = "auto" if choice == "none" else CHOICES[choice]
    ids = found.ids if found.ended else whole_characters(found.ids, vocabulary)
    message = parse_message(ids, name, CHECKER, told, vocabulary=vocabulary, errors="collect")
    kinds = [problem.error.kind for problem in message.problems]
    assert kinds == [] if found.ended else set(kinds) <= {"truncated"}, (found, message.problems)
    assert len(message.calls) <= (len(found.ids) if resolved.most is None else resolved.most), found
    if found.ended:
        assert len(message.calls) >= resolved.least, found
    assert {call.name for call in message.calls} <= {tool.name for tool in resolved.tools}, found
    ids = [call.id for call in message.calls if call.id is not None]
    assert len(set(ids)) == len(ids), found
    for call in message.calls:
        assert VALIDATORS[call.name].is_valid(call.arguments), (found, call)


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("name", NAMES)
def test_no_wish_leads_out_of_a_format(name, choice):
    rng = random.Random(f"{name} {choice}")
    kinds = KINDS if RUNS > 20 else [rng.choice(KINDS)]
    for kind in kinds:
        compiled = grammar_under_attack(name, kind, choice)
        for _ in range(-(-RUNS // len(kinds))):
            check(attack(compiled, rng), name, choice, compiled.vocabulary)
