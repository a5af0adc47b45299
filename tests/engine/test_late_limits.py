"""What once met a limit only while a text was read: strings of many conditions beside others with bounds."""

from __future__ import annotations

from typing import Any

import pytest

import constrain
from tests.oracles import validators, vocabulary

REGEX = {"type": "string", "format": "regex", "pattern": "a|^$"}


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{"type": "string", "maxLength": 5}, REGEX]},
        {"anyOf": [{"type": "string", "minLength": 6, "pattern": "b"}, REGEX, REGEX | {"pattern": "\\s"}]},
        {"oneOf": [{"type": "string", "maxLength": 3}, REGEX]},
    ],
)
def test_bounds_ask_nothing_of_the_strings_beside_them(schema: Any) -> None:
    compiled = constrain.json_schema(schema).compile(vocabulary("bytes"))
    _, judge = validators(schema)
    for text in ("", "a", "[a", "[a-z]{2}", "bbb", "bbbbbbb", "bbbbbbba", "a(", "a b", "(?:a)\\d+ b"):
        matcher = compiled.matcher()
        accepted = matcher.accept_bytes(spelled(text)) and matcher.is_accepting
        assert accepted == judge(text), (schema, text)
        assert compiled.matcher().min_tokens_to_end >= 2


def spelled(text: str) -> bytes:
    return b'"' + text.replace("\\", "\\\\").encode() + b'"'
