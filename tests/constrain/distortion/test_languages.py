"""Languages: automata, compiled grammars, and any object with a matcher's methods."""

from __future__ import annotations

import importlib.util
import json
import math
from typing import Any

import numpy as np
import pytest

import constrain
from constrain.distortion import (
    CallableModel,
    DFALanguage,
    MatcherLanguage,
    NGramModel,
    Trie,
    compare,
    finite_language,
    grouped,
    json_location,
)
from constrain.distortion.language import contains, first_refused
from constrain.distortion.matcher_language import as_language
from tests.constrain.distortion.cases import enumerate_all

PIECES = [bytes([b]) for b in range(32, 127)] + [b'{"', b'":', b"ab"]
EOS = len(PIECES)
FINITE = r'\{"u":("ab"|"c"),"d":(1|10)\}'
ENUMS = {"enum": [{"u": "ab"}, {"u": "c"}, {"d": True}]}


def vocabulary() -> constrain.Vocabulary:
    return constrain.Vocabulary.from_tokens([*PIECES, None], eos_token_ids=EOS)


@pytest.fixture(scope="module")
def compiled() -> Any:
    return constrain.regex(FINITE).compile(vocabulary())


def bigram() -> NGramModel:
    numbers = {p: i for i, p in enumerate(PIECES)}
    texts = ['{"u":"ab","d":10}', '{"d":1,"u":"c"}', '{"u":"k"}']
    return NGramModel([[numbers[c.encode()] for c in t] for t in texts], EOS + 1, eos_token_id=EOS, strength=0.5)


def test_a_compiled_grammar_is_measured_exactly(compiled: Any) -> None:
    model = bigram()
    report = compare(model, compiled, budget=5000)
    assert report.method == "exact"
    truth = enumerate_all(model, as_language(compiled))
    values = [json.loads(as_language(compiled).text(y)) for y in truth.sequences]
    assert all(v in values for v in ({"u": "ab", "d": 1}, {"u": "c", "d": 10}))
    assert {json.dumps(v) for v in values} == {json.dumps({"u": u, "d": d}) for u in ("ab", "c") for d in (1, 10)}
    for name in ("kl_masked_to_exact", "kl_exact_to_masked", "tv", "chi2", "tax"):
        assert getattr(report, name).value == pytest.approx(getattr(truth, name), rel=1e-9, abs=1e-10)
    assert report.spellings is not None
    assert report.spellings.texts == 4
    assert report.spellings.kl_texts < report.spellings.kl_tokens
    places = grouped(report.contributions, json_location)
    assert {"/u", "/d"} <= set(places)
    assert sum(d for d, _ in places.values()) == pytest.approx(truth.kl_masked_to_exact, abs=1e-9)
    solved = compare(model, compiled, "exact", budget=5)
    assert "linear systems" in solved.log_z.assumptions[0]
    assert solved.log_z.value == pytest.approx(math.log(truth.z), abs=1e-10)
    assert solved.kl_masked_to_exact.value == pytest.approx(truth.kl_masked_to_exact, abs=1e-9)
    assert solved.tv.contains(truth.tv)


def test_a_schema_solved_and_bounded() -> None:
    """Escapes give even an enum thousands of spellings; the linear systems and the certified bounds must agree."""
    model, compiled = bigram(), constrain.json_schema(ENUMS, whitespace="none").compile(vocabulary())
    solved = compare(model, compiled, "exact", budget=1)
    bounded = compare(model, compiled, "trie", budget=150)
    assert solved.kl_masked_to_exact.kind == "exact"
    assert bounded.log_z.width < 0.5
    for name in ("log_z", "kl_masked_to_exact", "kl_exact_to_masked", "chi2", "tax"):
        assert getattr(bounded, name).contains(getattr(solved, name).value), name
    assert sum(c.distortion for c in solved.contributions) == pytest.approx(solved.kl_masked_to_exact.value, abs=1e-9)


def test_an_infinite_grammar_on_a_bigram() -> None:
    small = constrain.Vocabulary.from_tokens([b"a", b"b", b"ab", None], eos_token_ids=3)
    compiled = constrain.regex("(ab)*").compile(small)
    rows = np.log(np.array([[0.1, 0.6, 0.1, 0.2], [0.5, 0.1, 0.1, 0.3], [0.3, 0.1, 0.4, 0.2], [0.4, 0.1, 0.3, 0.2]]))
    model = CallableModel(lambda u: rows[u[-1] if u else 3], 4, memory=1)
    by_grammar = compare(model, compiled, "exact", budget=100)
    by_hand = compare(model, DFALanguage({(0, 0): 1, (1, 1): 0, (0, 2): 0}, 0, [0], 3), "exact", budget=100)
    assert by_grammar.kl_masked_to_exact.kind == "exact"
    assert by_grammar.kl_masked_to_exact.value == pytest.approx(by_hand.kl_masked_to_exact.value, abs=1e-12)
    assert by_grammar.log_z.value == pytest.approx(by_hand.log_z.value, abs=1e-12)


class NoFork:
    """A matcher of an engine that cannot fork."""

    def __init__(self, compiled: Any) -> None:
        self._matcher = compiled.matcher()

    def fill_next_token_bitmask(self, bitmask: Any, index: int) -> None:
        self._matcher.fill_next_token_bitmask(bitmask, index)

    def accept_token(self, token: int) -> bool:
        return bool(self._matcher.accept_token(token))


def test_any_object_with_the_methods_of_a_matcher(compiled: Any) -> None:
    language = MatcherLanguage(lambda: NoFork(compiled), eos_token_ids=[EOS], token_bytes=[*PIECES, None])
    assert language.key(language.start()) is None
    theirs, ours = compare(bigram(), language, budget=5000), compare(bigram(), compiled, budget=5000)
    assert theirs.log_z.value == pytest.approx(ours.log_z.value, abs=1e-12)
    assert theirs.tv.value == pytest.approx(ours.tv.value, abs=1e-12)


def test_a_state_is_not_moved_by_those_after_it(compiled: Any) -> None:
    language = as_language(compiled)
    start = language.start()
    before = language.allowed(start).tolist()
    on = language.advance(start, before[0])
    language.advance(on, int(language.allowed(on)[0]))
    assert language.allowed(start).tolist() == before
    with pytest.raises(RuntimeError, match="refuses"):
        language.advance(start, PIECES.index(b"x"))


def test_keys_survive_a_cleared_cache(compiled: Any) -> None:
    language = as_language(compiled)
    start = language.start()
    assert language.key(start) == language.key(language.start())
    compiled.clear_cache()
    again = language.start()
    assert language.allowed(again).tolist() == language.allowed(start).tolist()
    assert language.key(language.start()) == language.key(again)


def test_automata() -> None:
    edges = {(0, 0): 1, (0, 1): 2, (1, 0): 1}
    trimmed = DFALanguage(edges, 0, [2], 5, tokens=["x", "y"])
    assert trimmed.allowed(0).tolist() == [1]
    assert trimmed.text((1, 5)) == b"y"
    assert DFALanguage(edges, 0, [2], 5, trim=False).allowed(0).tolist() == [0, 1]
    with pytest.raises(ValueError, match="empty"):
        DFALanguage(edges, 0, [], 5)
    with pytest.raises(ValueError, match="end-of-sequence"):
        DFALanguage({(0, 5): 1}, 0, [0], 5)
    language = finite_language([[0, 1], [0]], (5, 6))
    assert language.allowed((0,)).tolist() == [1, 5, 6]
    assert contains(language, (0, 1, 5))
    assert contains(language, (0, 6))
    assert not contains(language, (0, 1))
    assert not contains(language, (1, 5))
    assert not contains(language, (0, 5, 5))
    assert first_refused(language, (0, 1, 1, 5)) == 2
    assert first_refused(language, (0, 1, 5)) is None
    with pytest.raises(TypeError, match="no language"):
        as_language(object())


def test_masks_wider_than_the_model(compiled: Any) -> None:
    """Ids that the mask knows and the model does not cannot be drawn."""
    model = CallableModel(lambda _: np.log(np.full(10, 0.1)), 10)
    assert Trie(model, compiled_language := as_language(compiled)).expand(1) == 1
    assert compiled_language.allowed(compiled_language.start()).max() >= 10


@pytest.mark.skipif(importlib.util.find_spec("llguidance") is None, reason="needs llguidance")
def test_llguidance_masks() -> None:
    import llguidance

    from constrain.distortion import llguidance_language

    tokens = [bytes([b]) for b in range(256)] + [b"ab", b"<eos>"]

    class Wrapper:
        eos_token_id, bos_token_id, special_token_ids = 257, None, [257]

        def __init__(self) -> None:
            self.tokens = tokens

        def __call__(self, text: Any) -> list[int]:
            return list(text if isinstance(text, bytes) else text.encode())

    tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Wrapper()))
    grammar = llguidance.LLMatcher.grammar_from_regex("ab|c")
    token_bytes: list[bytes | None] = [*tokens[:-1], None]
    language = llguidance_language(tokenizer, grammar, eos_token_ids=[257], token_bytes=token_bytes)
    model = CallableModel(lambda _: np.log(np.full(258, 1 / 258)), 258)
    report = compare(model, language)
    assert report.method == "exact"
    ours = constrain.regex("ab|c").compile(constrain.Vocabulary.from_tokens(token_bytes, eos_token_ids=257))
    assert report.log_z.value == pytest.approx(compare(model, ours).log_z.value, abs=1e-12)


@pytest.mark.skipif(importlib.util.find_spec("xgrammar") is None, reason="needs xgrammar")
def test_xgrammar_masks() -> None:
    import xgrammar

    from constrain.distortion import xgrammar_language

    tokens = [bytes([b]) for b in range(256)] + [b"ab", b"<eos>"]
    info = xgrammar.TokenizerInfo(tokens, vocab_type=xgrammar.VocabType.RAW, vocab_size=258, stop_token_ids=[257])
    grammar = xgrammar.GrammarCompiler(info).compile_regex("ab|c")
    token_bytes: list[bytes | None] = [*tokens[:-1], None]
    language = xgrammar_language(grammar, eos_token_ids=[257], token_bytes=token_bytes)
    model = CallableModel(lambda _: np.log(np.full(258, 1 / 258)), 258)
    ours = constrain.regex("ab|c").compile(constrain.Vocabulary.from_tokens(token_bytes, eos_token_ids=257))
    assert compare(model, language).log_z.value == pytest.approx(compare(model, ours).log_z.value, abs=1e-12)
