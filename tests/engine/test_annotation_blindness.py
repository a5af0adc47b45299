"""Law 6: annotations never reach the automaton.

Every subschema of every case gets annotations, some of them schema-like and some plainly malicious; the decorated and
the plain grammar must give the same masks along the same walks. Inside `enum`, `const` and as property *names* the same
words are data, and there they must keep their meaning.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.engine.schemas import CASES
from tests.oracles import (
    FULL,
    SCHEMA_LISTS,
    SCHEMA_MAPS,
    SUBSCHEMAS,
    VOCABULARIES,
    Walker,
    accepts,
    allowed,
    compiled,
)

NOISE: dict[str, Any] = {
    "title": 'a "title" with } and \\',
    "description": "must be a number\n" * 50,
    "default": {"type": "integer", "enum": [], "$ref": "#/nowhere"},
    "examples": [{"not": {}}, None, "x" * 500],
    "$comment": "{}",
    "deprecated": True,
    "readOnly": True,
    "x-order": 7,
    "unheardOf": {"properties": {"a": False}},
}


def decorate(schema: Any) -> Any:
    """The schema with annotations on every object-valued subschema."""
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key in SCHEMA_MAPS:
            out[key] = {k: decorate(v) for k, v in value.items()}
        elif key in SCHEMA_LISTS and isinstance(value, list):
            out[key] = [decorate(v) for v in value]
        elif key in SUBSCHEMAS:
            out[key] = decorate(value)
        else:
            out[key] = value
    return NOISE | out


@pytest.mark.parametrize("name", list(CASES) if FULL else list(CASES)[::3])
def test_same_masks_with_and_without_annotations(name: str) -> None:
    tokens = VOCABULARIES["mixed"]()
    plain = compiled(CASES[name].schema, "mixed")
    noisy = compiled(decorate(CASES[name].schema), "mixed")
    walker = Walker(tokens, random.Random(6))
    for _ in range(4):
        one, two = plain.matcher(), noisy.matcher()
        for _ in range(25):
            mask = allowed(one, walker.size)
            assert (mask == allowed(two, walker.size)).all()
            assert one.is_accepting == two.is_accepting
            assert one.min_tokens_to_end == two.min_tokens_to_end
            chosen = walker.choose(mask)
            if chosen is None:
                break
            assert one.accept_token(chosen)
            assert two.accept_token(chosen)


def test_annotation_words_as_property_names_are_not_annotations() -> None:
    schema = {
        "type": "object",
        "properties": {"title": {"type": "integer"}, "default": {"type": "null"}, "$comment": {"const": "c"}},
        "required": ["title", "description"],
        "additionalProperties": {"type": "boolean"},
    }
    grammar = compiled(schema)
    assert accepts(grammar, '{"title":1,"description":true,"default":null,"$comment":"c"}')
    assert not accepts(grammar, '{"title":"x","description":true}')
    assert not accepts(grammar, '{"title":1}')
    assert not accepts(grammar, '{"title":1,"description":"d"}')


def test_annotation_words_inside_enum_and_const_are_data() -> None:
    grammar = compiled({"enum": [{"title": "t", "default": 1}, {"const": 2}]})
    assert accepts(grammar, '{"title":"t","default":1}')
    assert accepts(grammar, '{"const":2}')
    assert not accepts(grammar, '{"default":1}')
    assert not accepts(grammar, "2")
