"""The proof, at load, that token bytes are right: texts are encoded, and their tokens' bytes must add up to the text.

Samples cover every byte that UTF-8 can hold, spaces in all places, CJK, emoji, JSON, and the very characters that byte
alphabets are written in, which a misread vocabulary gets wrong. A spread of the vocabulary's own tokens is tried as
well, so that a small vocabulary is proven by what it can spell.

Characters that the tokenizer has no tokens for are left out of a text (SmolLM2, for one, has none for byte 13); what
remains must match, and something must have matched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from constrain.grammars.errors import VocabularyError
from constrain.vocabulary.source import TokenSource, TokenTable

_OWN_TOKENS = 256
_CHUNK = 16


def _by_leading_byte(leads: range, tail_bits: int) -> str:
    """One character or two per leading byte of a UTF-8 sequence; all continuation bytes 80 to BF occur at the end."""
    characters = []
    for k, lead in enumerate(leads):
        for last in (k * 2 % 64, (k * 2 + 33) % 64):
            payload_bits = {6: 0x1F, 12: 0x0F, 18: 0x07}[tail_bits]
            middle = {0xE0: 0x20, 0xF0: 0x10}.get(lead, 0x08) << (tail_bits - 6) if tail_bits > 6 else 0
            characters.append(chr((lead & payload_bits) << tail_bits | middle | last))
    return "".join(characters)


def _samples() -> Iterator[tuple[str, str]]:
    """Names and texts. Texts are short: a tokenizer may have truncation switched on."""
    groups = {
        "ASCII": "".join(map(chr, range(0x80))),
        "bytes C2 to DF": _by_leading_byte(range(0xC2, 0xE0), 6),
        "bytes E0 to EF": _by_leading_byte(range(0xE0, 0xF0), 12),
        "bytes F0 to F4": _by_leading_byte(range(0xF0, 0xF5), 18),
    }
    for name, text in groups.items():
        for start in range(0, len(text), _CHUNK):
            yield name, text[start : start + _CHUNK]
    yield "spaces", "a b  c   d    e"
    yield "spaces", " leading"
    yield "spaces", "trailing "
    yield "spaces", "   "
    yield "spaces", "x\n\n  y\r\n\tz \n"
    yield "JSON", '{"key": [1, -2.5e3, true, null],'
    yield "JSON", '\n  "text": "a\\u00e9\\n\\"", "k":{}}'
    yield "CJK", "漢字かな交じり文、"
    yield "CJK", "한국어 텍스트。中文"
    yield "emoji", "😀 👩‍👩‍👧 🏳️‍🌈"
    yield "emoji", "ok 👍🏽!"
    yield "combining characters", "e\u0301 n\u0303 é ñ"
    yield "characters of the byte alphabets", "Ġa ĊĉĀł ▁b"


SAMPLES = tuple(_samples())


def check(table: TokenTable, source: TokenSource) -> None:
    """Raises `VocabularyError` naming the first check that failed."""
    proven = 0
    for name, sample in (*SAMPLES, *_own_tokens(table)):
        text = sample
        ids, lossy = source.encode(text)
        if lossy:
            text = "".join(character for character in text if not source.encode(character).lossy)
            ids, lossy = source.encode(text)
        if not text:
            continue
        parts = [table.tokens[token_id] if 0 <= token_id < len(table.tokens) else None for token_id in ids]
        joined = b"".join(part for part in parts if part is not None)
        if None not in parts and joined in source.spellings(text):
            proven += 1
        elif not lossy and not source.interferes(text):
            raise VocabularyError(f"self-check ({name})", _difference(text, ids, parts))
    if not proven:
        raise VocabularyError(
            "self-check", "the tokenizer has no tokens for any of the sample texts: nothing can be proven"
        )


def check_encode(tokens: Sequence[bytes | None], encode: Callable[[str], list[int]]) -> None:
    """Raises `VocabularyError` where `encode` belongs to other tokens: every token's own text must come back."""
    ordinary = [token for token in tokens if token]
    for token in ordinary[:: -(-len(ordinary) // _OWN_TOKENS) or 1]:
        try:
            text = token.decode()
        except UnicodeDecodeError:
            continue
        ids = encode(text)
        parts = [tokens[token_id] if 0 <= token_id < len(tokens) else None for token_id in ids]
        if None in parts or b"".join(filter(None, parts)) not in (token, b" " + token):
            raise VocabularyError("encode", _difference(text, ids, parts))


def _own_tokens(table: TokenTable) -> Iterator[tuple[str, str]]:
    ordinary = [token_id for token_id, token in enumerate(table.tokens) if token]
    for token_id in ordinary[:: -(-len(ordinary) // _OWN_TOKENS) or 1]:
        try:
            text = (table.tokens[token_id] or b"").decode()
        except UnicodeDecodeError:
            continue  # part of a character, not a text
        yield f"token {token_id}", text


def _difference(text: str, ids: list[int], parts: list[bytes | None]) -> str:
    shown = ", ".join(f"{i}: {'no bytes' if part is None else part!r}" for i, part in zip(ids, parts, strict=True))
    return f"the tokens of {text!r} must add up to it, but are {{{shown}}}"
