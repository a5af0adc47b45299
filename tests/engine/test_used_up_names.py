"""Free names that share their beginning with declared ones: a name that can only become one in use is never begun."""

import numpy as np
import pytest

import constrain

TOKENS = [*(bytes([b]) for b in range(256)), None, b'a"', b'"a', b'"a"', b"ab", b'b"', b'{"a']
VOCABULARY = constrain.Vocabulary.from_tokens(TOKENS, eos_token_ids=[256])
SHORT = {"type": "object", "properties": {"a": True}, "propertyNames": {"maxLength": 1}}
TWO = {"type": "object", "properties": {"a": True, "ab": True}, "propertyNames": {"maxLength": 2, "pattern": "^a"}}


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (SHORT, b'{"a":1,"a'),
        (SHORT, b'{"a":1,"\\u0061'),
        ({**SHORT, "properties": {"a": False}}, b'{"a'),
        ({"type": "object", "properties": {"ab": True}, "propertyNames": {"pattern": "^ab?$"}}, b'{"a":1,"ab":1,"a'),
    ],
)
def test_a_name_that_is_used_up_is_not_begun(schema, text):
    matcher = constrain.json_schema(schema).compile(VOCABULARY).matcher()
    assert not matcher.accept_bytes(text)


@pytest.mark.parametrize("schema", [SHORT, {**SHORT, "properties": {"a": False}}, TWO])
@pytest.mark.parametrize(
    "text", [b'{"', b'{"a', b'{"a":1,"', b'{"a":1,"a', b'{"ab":1,"a', b'{"a":1,"\\u006', b'{"a":1,"\\']
)
def test_masks_are_those_of_brute_force_and_never_empty(schema, text):
    matcher = constrain.json_schema(schema).compile(VOCABULARY).matcher()
    if not matcher.accept_bytes(text):
        return
    mask = np.zeros((1, VOCABULARY.bitmask_words), dtype=np.int32)
    matcher.fill_next_token_bitmask(mask)
    allowed = np.unpackbits(mask.view(np.uint8), bitorder="little")[: VOCABULARY.size].astype(bool)
    assert allowed.any()
    assert allowed.tolist() == [matcher.fork().accept_token(i) for i in range(VOCABULARY.size)]
