"""What is made for the first members when a grammar is compiled changes no mask, and need not be made again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import constrain
from constrain.engine import first_members
from constrain.engine.automaton import Automaton
from constrain.engine.first_members import FirstMembers
from constrain.grammars.errors import ResourceLimitError
from constrain.kernels.intern import M_LOOP, M_SLOT
from tests.oracles import allowed, vocabulary

_CASES: list[tuple[Any, str]] = [
    (
        {"properties": {"id": {"type": "string", "pattern": "^[a-z]{4}-[0-9]+$"}}, "required": ["id"]},
        '{"id": "abcd-12"}',
    ),
    ({"properties": {"a": {"anyOf": [{"type": "integer"}, {"items": {"const": "x"}}]}}}, '{"a":["x","x"]}'),
    ({"properties": {"n": {"type": "array", "items": {"pattern": "^b+$", "type": "string"}}}}, '{"n": ["bbb"]}'),
    ({"patternProperties": {"^x[0-9]": {"type": "null"}}, "additionalProperties": False}, '{"x12": null}'),
    ({"properties": {"o": {"properties": {"p": {"pattern": "[.]$"}}, "type": "object"}}}, '{"o": {"p": "q."}}'),
    ({"type": "array", "items": {"type": "number", "minimum": 3, "maximum": 40}}, "[3, 17.5]"),
    ({"anyOf": [{"properties": {"a": {"pattern": "^a"}}}, {"properties": {"a": {"pattern": "b$"}}}]}, '{"a": "xb"}'),
    ({"properties": {"f": {"type": "string", "format": "date-time"}}}, '{"f": "2024-02-29T10:00:00Z"}'),
]


def _masks(compiled: Any, text: str) -> list[np.ndarray[Any, Any]]:
    size = compiled.vocabulary.size
    matcher = compiled.matcher()
    masks = [allowed(matcher, size)]
    for byte in text.encode():
        assert matcher.accept_bytes(bytes((byte,))), text
        masks.append(allowed(matcher, size))
    assert matcher.is_accepting
    return masks


@pytest.mark.parametrize("vocabulary_name", ["bytes", "smollm2"])
@pytest.mark.parametrize(("schema", "text"), _CASES)
def test_masks_are_the_same(schema: Any, text: str, vocabulary_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    vocab = vocabulary(vocabulary_name)
    monkeypatch.setattr(first_members, "TIME", 1 << 40)
    made = _masks(constrain.json_schema(schema).compile(vocab), text)
    monkeypatch.setattr(FirstMembers, "supply", lambda _: None)
    left = _masks(constrain.json_schema(schema).compile(vocab), text)
    for with_first, without in zip(made, left, strict=True):
        assert np.array_equal(with_first, without)


def test_what_was_made_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    supply = Automaton._supply

    def noted(self: Automaton, kind: int, a: int, b: int) -> None:
        asked.append(kind)
        supply(self, kind, a, b)

    def asked_for(schema: Any) -> list[int]:
        compiled = constrain.json_schema(schema).compile(vocabulary("bytes"))
        matcher = compiled.matcher()
        assert matcher.accept_bytes(b'{"')
        asked.clear()
        monkeypatch.setattr(Automaton, "_supply", noted)
        allowed(matcher, compiled.vocabulary.size)
        assert matcher.accept_bytes(b'id":"')
        allowed(matcher, compiled.vocabulary.size)
        monkeypatch.setattr(Automaton, "_supply", supply)
        return [kind for kind in asked if kind in (M_SLOT, M_LOOP)]

    # A pattern that no other test has: what is known of one is kept for as long as it is in use.
    schema = {"properties": {"id": {"type": "string", "pattern": "^[a-q]+[r-z]+$"}}}
    monkeypatch.setattr(first_members, "TIME", 0)
    assert {M_SLOT, M_LOOP} <= set(asked_for(schema))
    monkeypatch.setattr(first_members, "TIME", 1 << 40)
    assert not asked_for(schema)


def test_a_limit_met_at_compile_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def refused(*key: object) -> None:
        asked.append(key)
        raise ResourceLimitError("", "pattern", "too much", "states 1")

    monkeypatch.setattr(first_members, "TIME", 1 << 40)
    monkeypatch.setattr(FirstMembers, "_supply_automata", refused)
    schema, text = _CASES[0]
    compiled = constrain.json_schema(schema).compile(vocabulary("bytes"))
    assert asked
    assert len(_masks(compiled, text)) == len(text) + 1


def test_a_long_search_is_left_and_taken_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock runs out in the middle of the search for a loop, which looks at many states."""
    schema = {"properties": {"s": {"type": "string", "pattern": r"^[^\s.]{1,20}(\.[^\s.]{1,20})?$"}}}
    text = '{"s": "ab.cd"}'
    asked = 0

    def few(_: FirstMembers) -> bool:
        nonlocal asked
        asked += 1
        return asked < 6

    monkeypatch.setattr(FirstMembers, "_has_time", few)
    left = _masks(constrain.json_schema(schema).compile(vocabulary("smollm2")), text)
    assert asked >= 6
    monkeypatch.setattr(FirstMembers, "_has_time", lambda _: True)
    made = _masks(constrain.json_schema(schema).compile(vocabulary("smollm2")), text)
    assert all(np.array_equal(one, other) for one, other in zip(left, made, strict=True))
