"""Calls compared with accepted values. The verdicts are BFCL's, where its rules and ours are the same."""

from __future__ import annotations

import itertools
from typing import Any

import jsonschema
import pytest

from constrain.tools import ArgumentChecker, ToolCall, compare_arguments, compare_calls
from constrain.tools.questions import QUESTIONS, TOOLS


@pytest.mark.parametrize(
    ("arguments", "accepted", "equal"),
    [
        ({"a": "New York, NY"}, {"a": ["new york ny"]}, True),
        ({"a": "don't"}, {"a": ['don"t']}, True),
        ({"a": "Paris"}, {"a": ["London", "paris"]}, True),
        ({"a": "Paris"}, {"a": ["London"]}, False),
        ({"a": 3}, {"a": [3.0]}, True),
        ({"a": 3.5}, {"a": [3]}, False),
        ({"a": "3"}, {"a": [3]}, False),
        ({"a": 3}, {"a": ["3"]}, False),
        ({"a": True}, {"a": [1]}, False),
        ({"a": 1}, {"a": [True]}, False),
        ({"a": False}, {"a": [False]}, True),
        ({"a": None}, {"a": [None]}, True),
        ({}, {"a": ["x", ""]}, True),
        ({}, {"a": ["x"]}, False),
        ({"b": 1}, {"a": [""]}, False),
        ({"a": ["X.", "y"]}, {"a": [["x", "y"]]}, True),
        ({"a": ["y", "x"]}, {"a": [["x", "y"]]}, False),
        ({"a": ["x"]}, {"a": [["x", "x"]]}, False),
        ({"a": {"k": "V"}}, {"a": [{"k": ["v", "w"], "o": ["", 1]}]}, True),
        ({"a": {"k": "z"}}, {"a": [{"k": ["v"]}]}, False),
        ({"a": {"k": "v", "l": 1}}, {"a": [{"k": ["v"]}]}, False),
        ({"a": [{"k": 1}]}, {"a": [[{"k": [1]}]]}, True),
    ],
)
def test_arguments(arguments: Any, accepted: Any, equal: bool) -> None:
    assert (compare_arguments(arguments, accepted) == "") == equal


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(None, name, arguments)


def test_calls_in_any_order_and_as_many_as_expected() -> None:
    expected = [{"f": {"a": [1, 2]}}, {"f": {"a": [1]}}, {"g": {}}]
    for order in itertools.permutations([call("f", a=1), call("f", a=2), call("g")]):
        # Pairing greedily in this order would give the first expectation the only call that the second accepts.
        assert compare_calls(order, expected).matches
    verdict = compare_calls([call("f", a=2), call("f", a=2), call("g")], expected)
    assert (verdict.names_match, verdict.matches) == (True, False)
    assert verdict.reason == "f: the argument 'a' is 2, accepted is 1"
    for calls in ([], [call("f", a=1)], [call("f", a=1)] * 3, [call("f", a=1), call("f", a=2), call("g"), call("g")]):
        assert not compare_calls(calls, expected).names_match
    assert compare_calls([], []).matches
    assert not compare_calls([call("f")], []).matches


def test_the_questions_can_be_answered() -> None:
    """Every combination of accepted values is valid for its tool, by the library's checker and by `jsonschema`."""
    checker = ArgumentChecker(TOOLS)
    schemas = {tool.name: tool.parameters for tool in TOOLS}
    assert len(TOOLS) == 8
    assert 28 <= len(QUESTIONS) <= 35
    assert len({question.text for question in QUESTIONS}) == len(QUESTIONS)
    used = set()
    for question in QUESTIONS:
        calls = []
        for expected in question.expected:
            ((name, accepted),) = expected.items()
            used.add(name)
            choices = [_choices(values) for values in accepted.values()]
            for values in itertools.product(*choices):
                arguments = {k: v for k, v in zip(accepted, values, strict=True) if v != ""}
                checker.check(ToolCall(None, name, arguments))
                jsonschema.validate(arguments, schemas[name])
                assert compare_arguments(arguments, accepted) == "", question.text
            calls.append(ToolCall(None, name, arguments))
        assert compare_calls(calls[::-1], question.expected).matches
        if calls:
            assert not compare_calls(calls[1:], question.expected).matches
    assert used == set(schemas)


def _choices(values: Any) -> list[Any]:
    out: list[Any] = []
    for value in values:
        if isinstance(value, list) and value and isinstance(value[0], dict):
            out.append([{key: accepted[0] for key, accepted in member.items()} for member in value])
        else:
            out.append(value)
    return out
