"""Messages as token ids: the same as their text, whatever the tokens."""

import pytest

from constrain.grammars.tool_formats import FORMATS, CountedCallIds
from constrain.tools import ToolCall
from constrain.tools.parser import ToolCallParser, parse_message
from constrain.tools.render import render_message
from constrain.tools.token_text import TokenText, marker_tokens
from constrain.vocabulary import Vocabulary
from tests.constrain.tools.wire_cases import CALL_A, CALL_B, CHECKER, TOOLS, said

BYTES = [bytes([byte]) for byte in range(256)]


def vocabulary(markers, special):
    """All bytes, an end, and markers: special tokens, or tokens like any other."""
    tokens = [*BYTES, None, *(None if special else marker.encode() for marker in markers)]
    ids = {marker: 257 + i for i, marker in enumerate(markers)}
    made = Vocabulary.from_tokens(tokens, eos_token_ids=[256], special_tokens=ids if special else {})
    return made, ids


def encoded(text, ids):
    out = []
    while text:
        marker = next((m for m in sorted(ids, key=len, reverse=True) if text.startswith(m)), None)
        out.extend([ids[marker]] if marker else text[0].encode())
        text = text[len(marker or "x") :]
    return out


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_ids_read_as_their_text(name, special):
    format = FORMATS[name]
    calls = [CALL_A, CALL_B][: format.most_calls]
    if isinstance(format.ids, CountedCallIds):
        calls = [ToolCall(None, call.name, call.arguments) for call in calls]
    text = render_message(format, calls, TOOLS)
    vocab, ids = vocabulary(format.forbidden, special)
    tokens = [*encoded(text, ids), 256, 65, 66]  # what follows the end is left out
    message = parse_message(tokens, format, CHECKER, vocabulary=vocab)
    assert said(message.calls) == said(calls)
    parser = ToolCallParser(format, CHECKER, vocabulary=vocab)
    for token in tokens:
        parser.feed(token)
    assert said(parser.finish().calls) == said(calls)
    assert marker_tokens(vocab) >= set(format.markers)


def test_characters_that_several_tokens_make():
    vocab, _ = vocabulary((), special=True)
    parser = ToolCallParser("qwen3", TOOLS, vocabulary=vocab)
    data = "aé😀".encode()
    events = [event.text for byte in data for event in parser.feed(byte)]
    assert events == ["a", "é", "😀"]
    parser.feed("😀".encode()[:2])
    cut = parser.finish()
    assert cut.text == "aé😀"
    assert cut.truncated
    ended = parse_message([*"aé".encode(), 0xC3, 256], "qwen3", TOOLS, vocabulary=vocab, errors="collect")
    assert (ended.text, ended.problems) == ("aé\ufffd", ())  # no more could have come


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_ids_that_run_out_within_a_character_are_cut_off_not_malformed(name, special):
    format = FORMATS[name]
    call = ToolCall(None, CALL_A.name, {"city": "é😀", "days": 3})
    vocab, ids = vocabulary(format.forbidden, special)
    tokens = encoded(render_message(format, [call], TOOLS), ids)
    within = [i for i in range(1, len(tokens)) if tokens[i] < 256 and tokens[i] & 0xC0 == 0x80]
    assert len(within) >= 4
    for size in within:
        whole = parse_message(tokens[:size], format, CHECKER, "required", vocabulary=vocab, errors="collect")
        assert [p.error.kind for p in whole.problems] == ["truncated"]
        parser = ToolCallParser(format, CHECKER, "required", vocabulary=vocab)
        for token in tokens[:size]:
            parser.feed(token)
        streamed = parser.finish()
        assert str(streamed.problems[0].error) == str(whole.problems[0].error)
        assert (streamed.text, streamed.reasoning) == (whole.text, whole.reasoning)


def test_the_beginning_of_a_character_where_nothing_may_follow_is_malformed():
    vocab, ids = vocabulary(FORMATS["qwen3"].forbidden, special=True)
    tokens = encoded(render_message("qwen3", [CALL_A], TOOLS), ids)
    message = parse_message([*tokens, 0xC3], "qwen3", CHECKER, vocabulary=vocab, errors="collect")
    assert [p.error.kind for p in message.problems] == ["malformed"]
    assert said(message.calls) == said([CALL_A])


def test_bytes_that_are_no_text_spoil_a_call_but_not_a_text():
    vocab, _ = vocabulary((), special=True)
    assert parse_message(b"a\xffb", "qwen3", TOOLS, vocabulary=vocab).text == "a\ufffdb"
    call = b'<tool_call>\n{"name": "clock", "arguments": {"zone": "\xff"}}\n</tool_call>'
    message = parse_message(call, "qwen3", TOOLS, vocabulary=vocab, errors="collect")
    assert [p.error.kind for p in message.problems] == ["malformed"]
    assert "UTF-8" in message.problems[0].error.reason


def test_ids_without_a_text():
    vocab = Vocabulary.from_tokens([b"a", None, None], eos_token_ids=[2])
    with pytest.raises(ValueError, match="token id 1 has no text"):
        TokenText(vocab).feed([0, 1])
    with pytest.raises(ValueError, match="token id 9"):
        TokenText(vocab).feed([9])
    with pytest.raises(ValueError, match="need a vocabulary"):
        ToolCallParser("qwen3", TOOLS).feed([1])
