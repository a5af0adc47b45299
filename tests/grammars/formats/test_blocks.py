"""Rows that a language hands out together are the rows that it hands out one by one."""

from __future__ import annotations

import numpy as np
import pytest

from constrain.grammars.formats import format_language
from constrain.grammars.regex.languages import search_language

_TEXTS = {
    "hostname": ["a", "ab-c", "example.co", "a" * 50, "a" * 60 + "-", "x.y-"],
    "email": ["a", "a.b", "ab@example", "a@b.co-m", "a" * 63, "me@" + "a" * 62],
    "regex": ["[b", "[^0", "([ab", "[!", "[\\x7f", "[_"],
}


@pytest.mark.parametrize("name", _TEXTS)
def test_blocks_are_rows(name: str) -> None:
    language = format_language(name)
    assert language is not None
    several = 0
    for text in _TEXTS[name]:
        state = language.run(text.encode())
        block = language.block(state)
        assert block is not None, text
        assert state == block.states[0]
        assert len(set(block.states)) == len(block.states)
        assert len(set(block.after)) == len(block.after)
        assert set(block.after) == {*block.targets.ravel().tolist()}
        several += len(block.states) > 1
        for each, targets in zip(block.states, block.targets, strict=True):
            assert np.array_equal(targets.take(block.column), language.row(each)), (text, each)
    assert several > 1


@pytest.mark.parametrize("name", ["date-time", "hostname", "regex"])
def test_no_block_where_few_states_are_alike(name: str) -> None:
    language = format_language(name)
    assert language is not None
    assert language.block(language.start) is None


@pytest.mark.parametrize("pattern", ["^[^/]{3}$", ".", "^[a-z\\u0100-\\u{10FFFF}]*$", "^(é|[^a]x)+$"])
def test_blocks_inside_characters_are_rows(pattern: str) -> None:
    language = search_language(pattern)
    todo = list(dict.fromkeys(language.row(language.start)[0xC2:0xF5].tolist()))
    found = 0
    for state in todo:
        block = language.block(state) if state else None
        if block is None:
            continue
        found += 1
        assert state in block.states
        assert set(block.after) == {*block.targets.ravel().tolist()}
        for each, targets in zip(block.states, block.targets, strict=True):
            assert np.array_equal(targets.take(block.column), language.row(each)), (pattern, each)
    assert found or pattern.startswith("^[a-z")


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("^[0-9a-f]{8}-[0-9a-f]{4}$", ["", "0a", "0a0a0a0a-"]),
        ("^([A-Z]){20}$", ["", "ABC"]),
        ("^(?:[a-c]{3}|x)y$", [""]),
        ("[a-z]{4}", ["", "ab"]),
        ("^[a-z]{3}([a-z]{3}1)*$", ["", "abc"]),
        ("^[^/]{5}$", [""]),
    ],
)
def test_blocks_of_runs_are_rows(pattern: str, texts: list[str]) -> None:
    language = search_language(pattern)
    for text in texts:
        block = language.block(state := language.run(text.encode()))
        if block is None:
            assert pattern not in ("^[0-9a-f]{8}-[0-9a-f]{4}$", "^([A-Z]){20}$") or text == "0a0a0a0a"
            continue
        assert state == block.states[0]
        assert len(set(block.states)) == len(block.states) > 2
        assert len(set(block.after)) == len(block.after)
        assert set(block.after) == {*block.targets.ravel().tolist()}
        for each, targets in zip(block.states, block.targets, strict=True):
            assert np.array_equal(targets.take(block.column), language.row(each)), (pattern, each)
