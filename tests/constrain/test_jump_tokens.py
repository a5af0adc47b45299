"""Forced tokens against brute force: in the tokenizer's own encoding of every text that may still be written, the
tokens are there. The encodings are those of the `tokenizers` library and of real tokenizers."""

from __future__ import annotations

import functools
import json
import pickle
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import constrain
from constrain.errors import ConstrainError, VocabularyError
from constrain.testing.strategies import schemas_with_instances
from tests.oracles import FULL
from tests.vocabulary.tokenizers_by_hand import BYTE_CHARACTERS, mistral_data, smollm2_tokenizer

tokenizers = pytest.importorskip("tokenizers")

ALPHABETS = ["ab", "ab1 \n'.", " \n1", "'aresl "]


@st.composite
def merges(draw: st.DrawFn, letters: str) -> list[tuple[str, str]]:
    """Merges of byte pairs, the way training finds them: of letters, and of what earlier merges made."""
    parts, found = list(letters), []
    for _ in range(draw(st.integers(0, 7))):
        pair = draw(st.sampled_from(parts)), draw(st.sampled_from(parts))
        if pair not in found and "".join(pair) not in parts:
            found.append(pair)
            parts.append("".join(pair))
    return found


def byte_pair_tokenizer(pairs: list[tuple[str, str]], pre_tokenize: bool) -> Any:
    """Byte-level BPE with the given merges; words are split as GPT-2 does, or not at all."""
    pieces = ["<end>", *BYTE_CHARACTERS.values(), *("".join(pair) for pair in pairs)]
    model = tokenizers.models.BPE({piece: i for i, piece in enumerate(pieces)}, pairs)
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pre_tokenize)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.add_special_tokens(["<end>"])
    return tokenizer


def vocabulary_of(tokenizer: Any) -> Any:
    bytes_of = {c: bytes([b]) for b, c in BYTE_CHARACTERS.items()}
    tokens: list[bytes | None] = [None] * tokenizer.get_vocab_size()
    for piece, i in tokenizer.get_vocab().items():
        if piece != "<end>":
            tokens[i] = b"".join(bytes_of[c] for c in piece)
    encode = lambda text: tokenizer.encode(text, add_special_tokens=False).ids  # noqa: E731
    return constrain.Vocabulary.from_tokens(tokens, eos_token_ids=tokens.index(None), encode=encode)


def written(vocabulary: Any, ids: list[int]) -> bytes:
    return b"".join(vocabulary.token_bytes[i] or b"" for i in ids)


def check_every_prefix(vocabulary: Any, words: set[str], start: list[int], forced: list[int]) -> None:
    """All words that begin with the tokens of `start` have a cut there, and then the forced tokens."""
    (end,) = vocabulary.eos_token_ids
    text = written(vocabulary, start)
    for word in words:
        if not word.encode().startswith(text):
            continue
        ids = [*vocabulary.encode(word), end]
        cuts = [len(written(vocabulary, ids[:k])) for k in range(len(ids))]
        assert len(text) in cuts, (word, start, forced)
        k = cuts.index(len(text))
        assert ids[k : k + len(forced)] == forced, (word, start, forced)


@settings(max_examples=1500 if FULL else 150, deadline=None)
@given(st.data())
def test_every_continuation_keeps_the_forced_tokens(data: st.DataObject) -> None:
    alphabet = data.draw(st.sampled_from(ALPHABETS))
    letters = "".join(BYTE_CHARACTERS[b] for b in alphabet.encode())
    vocabulary = vocabulary_of(byte_pair_tokenizer(data.draw(merges(letters)), data.draw(st.booleans())))
    beginning = data.draw(st.text(alphabet, max_size=3))  # shared, so that something is forced
    ends = data.draw(st.sets(st.text(alphabet, min_size=1, max_size=7), min_size=1, max_size=4))
    words = {beginning + end for end in ends}
    pattern = "|".join(word.replace(".", r"\.").replace("\n", r"\n") for word in sorted(words))
    compiled = constrain.regex(f"(?:{pattern})").compile(vocabulary)
    matcher = compiled.matcher()
    start: list[int] = []
    for token in [*data.draw(st.sampled_from([vocabulary.encode(word) for word in sorted(words)])), None]:
        forced = matcher.forced_tokens()
        if forced:
            check_every_prefix(vocabulary, words, start, forced)
            ahead = matcher.fork()
            assert all(ahead.accept_token(i) for i in forced)
        if token is not None:
            start.append(token)
            assert matcher.accept_token(token)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_text_without_any_choice_is_forced_to_its_end(data: st.DataObject) -> None:
    alphabet = data.draw(st.sampled_from(ALPHABETS))
    letters = "".join(BYTE_CHARACTERS[b] for b in alphabet.encode())
    vocabulary = vocabulary_of(byte_pair_tokenizer(data.draw(merges(letters)), data.draw(st.booleans())))
    word = data.draw(st.text(alphabet, min_size=1, max_size=12))
    compiled = constrain.regex(word.replace(".", r"\.").replace("\n", r"\n")).compile(vocabulary)
    assert compiled.matcher().forced_tokens() == [*vocabulary.encode(word), *vocabulary.eos_token_ids]


def test_the_last_token_is_left_where_a_longer_one_may_take_its_place() -> None:
    vocabulary = vocabulary_of(byte_pair_tokenizer([("a", "b"), ("ab", "1")], pre_tokenize=False))
    (a, b, one, ab, ab1) = (vocabulary.encode(text)[0] for text in ("a", "b", "1", "ab", "ab1"))
    compiled = constrain.regex("bab1?|1abab").compile(vocabulary)
    matcher = compiled.matcher()
    assert matcher.forced_tokens() == []
    assert matcher.accept_token(b)
    assert matcher.forced_bytes() == b"ab"
    assert matcher.forced_tokens() == []  # `ab` or `ab1`
    matcher.reset()
    assert matcher.accept_token(one)
    assert matcher.forced_tokens() == [ab, ab, *vocabulary.eos_token_ids]
    assert matcher.accept_token(a)  # not the tokenizer's cut: nothing is known until the cuts meet again
    assert matcher.forced_tokens() == []
    assert matcher.accept_token(b)
    assert matcher.forced_tokens() == [ab, *vocabulary.eos_token_ids]
    assert ab1 != ab


LONG_MERGES = [("b", "a"), ("ba", "b"), ("y", "bab"), ("x", "ybab")]  # xybab is a token, xy and xyb are not
SPACES = [("\u0120", "\u0120")]  # two blanks


@pytest.mark.parametrize(
    ("pairs", "words", "forced"),
    [
        (LONG_MERGES, ["axybab", "axz"], "a"),
        (LONG_MERGES, ["axybb", "axz"], "ax"),
        (SPACES, ["a  1", "a  b"], "a  "),  # GPT-2: the second blank belongs to what follows
        (SPACES, ["a  1", "a   1"], "a"),
        ([("'", "r")], ["a'r1", "a're"], "a"),  # 're is a contraction, 'r1 is not
        ([("'", "r")], ["a're", "a'b"], "a"),
        ([("'", "r")], ["a'r1", "a'rs"], "a'r"),
        ([("b", "c"), ("a", "bc")], ["abc", "abd"], ""),
        ([("é".encode().decode("latin-1")[0], "©")], ["éa", "éb"], "é"),
        ([("é".encode().decode("latin-1")[0], "©"), ("Ã©", "a")], ["éa", "éb"], ""),
    ],
    ids=repr,
)
def test_how_far_what_follows_reaches_back(pairs: list[tuple[str, str]], words: list[str], forced: str) -> None:
    vocabulary = vocabulary_of(byte_pair_tokenizer(pairs, pre_tokenize=True))
    found = constrain.regex("|".join(words)).compile(vocabulary).matcher().forced_tokens()
    check_every_prefix(vocabulary, set(words), [], found)
    assert written(vocabulary, found) == forced.encode()


def test_a_character_is_forced_to_its_last_byte_or_not_at_all() -> None:
    vocabulary = vocabulary_of(byte_pair_tokenizer([], pre_tokenize=True))
    same = constrain.regex("[ab]é漢1").compile(vocabulary).matcher()
    assert same.accept_token(vocabulary.encode("a")[0])
    assert written(vocabulary, same.forced_tokens()) == "é漢1".encode()
    other = constrain.regex("[ab]1[éè]").compile(vocabulary).matcher()  # C3 A9 or C3 A8
    assert other.accept_token(vocabulary.encode("a")[0])
    assert other.forced_bytes() == b"1\xc3"
    assert written(vocabulary, other.forced_tokens()) in (b"1", b"1\xc3")


def test_escapes_are_a_choice_only_when_asked_for() -> None:
    vocabulary = vocabulary_of(byte_pair_tokenizer([], pre_tokenize=True))
    schema = {"enum": ["same/é", "samé"]}
    matcher = constrain.json_schema(schema, whitespace="none").compile(vocabulary).matcher()
    assert written(vocabulary, matcher.forced_tokens()) == b'"sam'
    assert written(vocabulary, matcher.forced_tokens(escapes=True)) == matcher.forced_bytes() == b'"'
    assert matcher.accept_bytes(b'"same')
    assert written(vocabulary, matcher.forced_tokens()) == '/é"'.encode()
    needed = constrain.json_schema({"enum": ["a\nb", "acb"]}, whitespace="none").compile(vocabulary).matcher()
    assert written(vocabulary, needed.forced_tokens()) == b'"a'  # a line break can only be an escape


def test_a_backslash_in_a_regex_is_a_backslash() -> None:
    vocabulary = vocabulary_of(byte_pair_tokenizer([], pre_tokenize=True))
    matcher = constrain.regex(r"(?:e|\\u0065)1").compile(vocabulary).matcher()
    assert matcher.forced_tokens() == []


def test_the_tokenizer_must_be_known_and_be_the_right_one() -> None:
    known = vocabulary_of(byte_pair_tokenizer([("a", "b")], pre_tokenize=False))
    tokens = list(known.token_bytes)
    unknown = constrain.Vocabulary.from_tokens(tokens, eos_token_ids=known.eos_token_ids)
    assert unknown == known
    for lost in (unknown, pickle.loads(pickle.dumps(known))):
        with pytest.raises(VocabularyError, match="from_tokenizer"):
            constrain.regex("ab").compile(lost).matcher().forced_tokens()
    with pytest.raises(VocabularyError, match="encode"):
        constrain.Vocabulary.from_tokens(tokens[1:] + tokens[:1], eos_token_ids=256, encode=known.encode)


# ---- real tokenizers -------------------------------------------------------------------------------------------------

NAMES = ["current_temperature_celsius", "name", "names", "Über-uns", "don't", "x", "id", "user id", "10", "漢字", "a/b"]
WORDS = ["north", "northwest", "don't know", " leading", "trailing ", "it's", "", "2024-01-01", "naïve", "日本", "A.B"]


@functools.lru_cache(maxsize=2)
def real_vocabulary(name: str) -> Any:
    if name == "smollm2":
        return constrain.Vocabulary.from_tokenizer(smollm2_tokenizer())
    if name == "sentencepiece":
        sentencepiece = pytest.importorskip("sentencepiece")
        return constrain.Vocabulary.from_tokenizer(
            sentencepiece.SentencePieceProcessor(str(mistral_data("tokenizer.model.v1")))
        )
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    return constrain.Vocabulary.from_tokenizer(Tekkenizer.from_file(str(mistral_data("tekken_240718.json"))))


def random_schema(rng: random.Random, depth: int = 2) -> dict[str, Any]:
    kind = rng.choice(
        ["object", "object", "array", "enum", "const", "scalar"] if depth else ["enum", "const", "scalar"]
    )
    if kind == "object":
        names = rng.sample(NAMES, rng.randint(1, 3))
        return {
            "type": "object",
            "properties": {name: random_schema(rng, depth - 1) for name in names},
            "required": rng.sample(names, rng.randint(0, len(names))),
            "additionalProperties": False,
        }
    if kind == "array":
        return {"type": "array", "items": random_schema(rng, depth - 1), "minItems": rng.randint(0, 1), "maxItems": 2}
    if kind == "enum":
        return {"enum": rng.sample([*WORDS, 1, 12, True, None], rng.randint(1, 3))}
    if kind == "const":
        return {"const": rng.choice(WORDS)}
    return {"type": rng.choice(["string", "integer", "boolean", "null"])}


def random_value(schema: dict[str, Any], rng: random.Random) -> Any:
    if "enum" in schema:
        return rng.choice(schema["enum"])
    if "const" in schema:
        return schema["const"]
    if schema["type"] == "object":
        names = [n for n in schema["properties"] if n in schema["required"] or rng.random() < 0.5]
        rng.shuffle(names)
        return {n: random_value(schema["properties"][n], rng) for n in names}
    if schema["type"] == "array":
        return [random_value(schema["items"], rng) for _ in range(rng.randint(schema["minItems"], 2))]
    makers: dict[str, Callable[[], Any]] = {
        "string": lambda: rng.choice(WORDS),
        "integer": lambda: rng.randint(-20, 2000),
        "boolean": lambda: rng.random() < 0.5,
        "null": lambda: None,
    }
    return makers[schema["type"]]()


@pytest.mark.parametrize("name", ["smollm2", "tekken", "sentencepiece"])
def test_valid_texts_keep_the_forced_tokens(name: str) -> None:
    """At every cut of the tokenizer's encoding of a valid text, what is forced is what the encoding has next."""
    vocabulary = real_vocabulary(name)
    (end,) = vocabulary.eos_token_ids
    rng = random.Random(7)
    jumped = total = 0
    for _ in range(12):
        schema = random_schema(rng)
        # SentencePiece puts a blank before a text.
        whitespace = "bounded" if name == "sentencepiece" else rng.choice(["none", "bounded"])
        compiled = constrain.json_schema(schema, whitespace=whitespace).compile(vocabulary)
        for style in ({"separators": (",", ":")}, {}, {"indent": 2}):
            if whitespace == "none" and "separators" not in style:
                continue
            text = json.dumps(random_value(schema, rng), ensure_ascii=False, **style)
            ids = [*vocabulary.encode(text), end]
            matcher = compiled.matcher()
            for k, token in enumerate(ids):
                forced = matcher.forced_tokens()
                assert ids[k : k + len(forced)] == forced, (schema, text, ids[:k], forced)
                jumped += bool(forced)
                assert matcher.accept_token(token), (schema, text, k)
            total += len(ids)
    assert jumped > total / 4  # it is of some use, too


@settings(max_examples=200 if FULL else 30, deadline=None, suppress_health_check=list(HealthCheck))
@given(schemas_with_instances(max_depth=3), st.sampled_from([None, 1, 2]), st.booleans())
def test_valid_texts_of_any_schema_keep_the_forced_tokens(
    pair: tuple[Any, Any], indent: int | None, dense: bool
) -> None:
    vocabulary = real_vocabulary("tekken")
    (end,) = vocabulary.eos_token_ids
    schema, value = pair
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=(",", ":") if dense else None)
    try:
        compiled = constrain.json_schema(schema).compile(vocabulary)
    except ConstrainError:
        reject()
    matcher = compiled.matcher()
    ids = vocabulary.encode(text)
    if not all(map(matcher.accept_token, ids)) or not matcher.is_accepting:
        reject()  # a spelling that is left out, such as a number of more digits than are written
    matcher.reset()
    ids.append(end)
    for k, token in enumerate(ids):
        forced = matcher.forced_tokens()
        assert ids[k : k + len(forced)] == forced, (text, ids[:k], forced)
        strict = matcher.forced_tokens(escapes=True)
        assert ids[k : k + len(strict)] == strict
        assert matcher.accept_token(token)


def test_most_of_a_long_name_is_forced() -> None:
    vocabulary = real_vocabulary("smollm2")
    schema = {
        "type": "object",
        "properties": {"current_temperature_celsius": {"type": "integer"}, "wind": {"type": "string"}},
        "required": ["current_temperature_celsius", "wind"],
        "additionalProperties": False,
    }
    matcher = constrain.json_schema(schema, whitespace="none").compile(vocabulary).matcher()
    for token in vocabulary.encode('{"current'):
        assert matcher.accept_token(token)
    assert written(vocabulary, matcher.forced_tokens()) == b'_temperature_celsius":'
    spaced = constrain.json_schema(schema).compile(vocabulary).matcher()
    for token in vocabulary.encode('{"current'):
        assert spaced.accept_token(token)
    assert written(vocabulary, spaced.forced_tokens()) == b"_temperature_celsius"  # then `":`, `" :` or `"\n`
