"""Every adapter against the labels of the built-in schemas, on the schemas that its engine is known to get right.

A vocabulary of single bytes makes that quick and leaves nothing to how a text is cut. Engines that are not installed
are skipped. The labels themselves are held to two validators.
"""

from __future__ import annotations

import functools
from typing import Any

import jsonschema
import numpy as np
import pytest

from constrain.bench import corpus, engines, maskbench, tool_schemas
from constrain.bench.engines import ENGINES, LoopBatch, Refused, Unavailable
from constrain.bench.masks import verdict
from constrain.bench.report import ItemResult
from constrain.bench.tokenizers import Tokenizer, load_tokenizer

EVERYWHERE = (
    "any-of-types", "bounded-array", "deep-nesting", "many-properties", "matrix", "nested-objects", "no-parameters",
    "nullable", "one-of", "optional-parameters", "pattern-anchored", "recursive-tree", "shared-definitions",
    "string-array", "string-lengths", "string-map", "tool-choice",
)  # fmt: skip
FEWEST = {"xgrammar": 32, "xgrammar-loose": 33, "llguidance": 36, "grid": 36, "outlines-core": 24}
"""How many of the built-in schemas an engine passes in the version that the adapter was written against."""


@functools.cache
def tokenizer() -> Tokenizer:
    return load_tokenizer("bytes")


@functools.cache
def engine(name: str) -> Any:
    try:
        return engines.load_engine(name, tokenizer())
    except Unavailable as unavailable:
        pytest.skip(str(unavailable))


@functools.cache
def results(name: str) -> dict[str, ItemResult]:
    return {
        item.id: item
        for line in corpus.select(corpus.BUILT_IN)
        for item in [maskbench.guarded(line, engine(name), tokenizer(), 30)]
    }


every_engine = pytest.mark.parametrize("name", engines.DEFAULT)
every_peer = pytest.mark.parametrize("name", [n for n in engines.DEFAULT if not engines.is_ours(n)])


def test_the_built_in_labels_are_those_of_two_validators() -> None:
    jsonschema_rs = pytest.importorskip("jsonschema_rs")
    assert len(tool_schemas.CASES) >= 40
    assert len({case[0] for case in tool_schemas.CASES}) == len(tool_schemas.CASES)
    for name, schema, accepted, refused in tool_schemas.CASES:
        assert accepted, name
        assert refused, name
        fast = jsonschema_rs.validator_for(schema, validate_formats=True)
        slow = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
        for value in accepted:
            assert fast.is_valid(value), (name, value)
            assert slow.is_valid(value), (name, value)
        for value in refused:
            assert not fast.is_valid(value), (name, value)
            if "format" not in str(schema):  # Python's checks only the formats that further packages know
                assert not slow.is_valid(value), (name, value)


def test_this_library_passes_all_built_in_schemas() -> None:
    assert {name: verdict(r) for name, r in results("constrain").items() if verdict(r) != "passed"} == {}


@every_peer
def test_peers_pass_what_they_are_known_to_pass(name: str) -> None:
    found = {key: verdict(r) for key, r in results(name).items()}
    assert {key: found[key] for key in EVERYWHERE if found[key] != "passed"} == {}
    assert sum(v == "passed" for v in found.values()) >= FEWEST.get(name, len(EVERYWHERE))


@every_peer
def test_peers_meet_no_error_or_crash(name: str) -> None:
    outcomes = {key: (r.outcome, r.reason) for key, r in results(name).items()}
    assert {k: v for k, v in outcomes.items() if v[0] not in ("compiled", "refused")} == {}


def test_refusals_are_reported_as_such() -> None:
    found = results("llguidance")["not-empty-name"]
    assert (found.outcome, found.kind) == ("refused", "unsupported")
    assert "not" in found.reason
    with pytest.raises(Refused):
        engine("llguidance").compile({"not": {"type": "string"}})


@every_engine
def test_words_are_what_allows_says(name: str) -> None:
    sequence = engine(name).compile({"enum": [120, 130, 7]}).start()
    for text, following in (("", "17"), ("1", "23"), ("2", "0")):
        for byte in text.encode():
            assert sequence.accept(byte)
        sequence.mask()
        bits = np.unpackbits(sequence.words().view(np.uint8), axis=1, bitorder="little")[0][:257]
        allowed = set(np.flatnonzero(bits).tolist()) - set(b" \t\r\n")
        assert allowed == set(following.encode())
        assert all(sequence.allows(i) == bool(bits[i]) for i in range(257))
        assert not sequence.may_end()
    sequence.accept(ord("0"))
    sequence.mask()
    assert sequence.may_end()


@every_engine
@pytest.mark.parametrize("threads", [1, 2])
def test_a_batch_makes_the_masks_of_its_rows(name: str, threads: int) -> None:
    """Different schemas and texts in one batch, one row replaced on the way; against sequences on their own."""
    found = engine(name)
    schemas: list[Any] = [
        {"type": "array", "items": {"type": "integer"}},
        {"enum": ["abc", "abd"]},
        {"type": "object", "properties": {"k": {"type": "boolean"}}, "required": ["k"], "additionalProperties": False},
    ]
    texts = [b"[10, 20, 3", b'"abd"', b'{"k": true']
    compiled = [found.compile(schema) for schema in schemas]
    batch = found.batch([c.start() for c in compiled], threads)
    alone = [c.start() for c in compiled]
    try:
        for position in range(4):
            if position == 2:
                again, twin = compiled[1].start(), compiled[1].start()
                batch.replace(1, again)
                alone[1] = twin
            tokens = [text[position - 2 if position >= 2 and row == 1 else position] for row, text in enumerate(texts)]
            batch.step(tokens)
            for row, (sequence, token) in enumerate(zip(alone, tokens, strict=True)):
                assert sequence.accept(token)
                sequence.mask()
                if isinstance(batch, LoopBatch):
                    made = batch.sequences[row].words()[0]
                else:
                    made = np.asarray(batch.bitmask)[row]
                assert made.tolist() == sequence.words()[0].tolist(), (position, row)
    finally:
        batch.close()


def test_an_engine_that_is_not_installed_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        ENGINES, "imagined", engines.Entry("imagined:Engine", ("no_such_module_at_all",), ("imagined",))
    )
    found, missing = engines.choose(["constrain", "imagined"])
    assert found == ["constrain"]
    assert missing[0].engine == "imagined"
    assert "no_such_module_at_all is not installed" in str(missing[0])
    assert "pip install" in missing[0].remedy
    with pytest.raises(ValueError, match="unknown engine 'nothing'"):
        engines.choose(["nothing"])


def test_an_engine_that_does_not_take_the_tokenizer_says_so() -> None:
    pytest.importorskip("outlines_core")
    broken = Tokenizer("broken", 3, lambda: None, lambda _: [], (2,), lambda: [b"a", b"b"] + 5 * [b"c"])
    no_end = Tokenizer("no-end", 3, lambda: None, lambda _: [], (), lambda: [b"a", b"b", None])
    assert broken.size == 3
    with pytest.raises(Unavailable, match="does not take the tokenizer no-end"):
        engines.load_engine("outlines-core", no_end)
