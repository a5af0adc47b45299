"""Languages of other engines from a JSON Schema, set up to write what this library's settings write.

Whitespace is set where the engine has a setting for it, since spacing changes q more than the engine does; other
differences (order of members, escapes, how forced text may be cut) are the engines' own, and what a comparison is for.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from constrain.distortion.foreign_matchers import llguidance_language, xgrammar_language
from constrain.distortion.matcher_language import MatcherLanguage
from constrain.errors import ConstrainError


class EngineError(ConstrainError):
    """An engine is unknown, not installed, or does not take the schema."""


def engine_language(
    name: str, schema: Any, vocabulary: Any, encode: Callable[[str], list[int]], whitespace: str
) -> Any:
    """The masks of the engine `name` for a schema.

    Args:
        name: one of `ENGINES`.
        schema: a JSON Schema.
        vocabulary: a `Vocabulary`.
        encode: text to the tokenizer's ids, nothing added.
        whitespace: "none", "spaced" (as `json.dumps` writes) or "bounded" (whatever the engine calls flexible).

    Raises `EngineError` when it cannot be had.
    """
    make = ENGINES.get(name)
    if make is None:
        raise EngineError(f"there is no engine {name!r} to compare with; choose from {', '.join(ENGINES)}")
    try:
        return make(schema, vocabulary, encode, whitespace)
    except ImportError as error:
        raise EngineError(
            f"{name} is not installed; install the extra: pip install 'constrain-decode[bench]'"
        ) from error
    except EngineError:
        raise
    except Exception as error:
        raise EngineError(f"{name} does not take the schema: {' '.join(str(error).split())[:300]}") from error


def _xgrammar(schema: Any, vocabulary: Any, encode: Callable[[str], list[int]], whitespace: str) -> MatcherLanguage:
    del encode
    import xgrammar

    tokens = vocabulary.token_bytes
    info = xgrammar.TokenizerInfo(
        [token or b"" for token in tokens],
        xgrammar.VocabType.RAW,
        vocab_size=len(tokens),
        stop_token_ids=list(vocabulary.eos_token_ids),
    )
    separators = (",", ":") if whitespace == "none" else (", ", ": ")
    compiled = xgrammar.GrammarCompiler(info, max_threads=1).compile_json_schema(
        json.dumps(schema, ensure_ascii=False),
        any_whitespace=whitespace == "bounded",
        separators=None if whitespace == "bounded" else separators,
        strict_mode=False,
    )
    return xgrammar_language(compiled, eos_token_ids=vocabulary.eos_token_ids, token_bytes=tokens)


class _Encoder:
    """What `llguidance.TokenizerWrapper` asks of a tokenizer."""

    bos_token_id = None

    def __init__(self, vocabulary: Any, encode: Callable[[str], list[int]]) -> None:
        self.tokens = [token or b"" for token in vocabulary.token_bytes]
        self.eos_token_id = vocabulary.eos_token_ids[0]
        self.special_token_ids = [i for i, token in enumerate(vocabulary.token_bytes) if token is None]
        self._encode = encode

    def __call__(self, text: str) -> list[int]:
        if not isinstance(text, str):
            raise TypeError("text is expected")
        return self._encode(text)


def _llguidance(schema: Any, vocabulary: Any, encode: Callable[[str], list[int]], whitespace: str) -> MatcherLanguage:
    from llguidance import LLMatcher, LLTokenizer, TokenizerWrapper

    wrapper: Any = TokenizerWrapper(_Encoder(vocabulary, encode))
    ends = list(vocabulary.eos_token_ids)
    tokenizer = LLTokenizer(wrapper, n_vocab=len(vocabulary.token_bytes), eos_token=ends)
    options: dict[str, Any] = {"whitespace_flexible": whitespace == "bounded"}
    if whitespace != "bounded":
        comma, colon = (",", ":") if whitespace == "none" else (", ", ": ")
        options |= {"item_separator": comma, "key_separator": colon}
    if not isinstance(schema, dict):
        schema = {"allOf": [schema]}
    grammar = LLMatcher.grammar_from_json_schema(json.dumps({**schema, "x-guidance": options}, ensure_ascii=False))
    matcher = LLMatcher(tokenizer, grammar, log_level=0)
    if matcher.is_error():
        raise EngineError(f"llguidance does not take the schema: {' '.join(matcher.get_error().split())[:300]}")
    return llguidance_language(tokenizer, grammar, eos_token_ids=ends, token_bytes=vocabulary.token_bytes)


ENGINES: dict[str, Callable[[Any, Any, Callable[[str], list[int]], str], MatcherLanguage]] = {
    "xgrammar": _xgrammar,
    "llguidance": _llguidance,
}
"""Engines by name: schema, vocabulary, encode and whitespace to a language."""
