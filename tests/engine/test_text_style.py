"""The styles of a grammar's texts: plain escapes, the spacing of `json.dumps`, declared order, alone and together.

What is accepted is told by Python's `json`: with plain escapes a string has one spelling, that of `json.dumps` with
`ensure_ascii=False`; with its spacing, too, so has a value, numbers aside.
"""

from __future__ import annotations

import itertools
import json
import random
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import constrain
from constrain.testing import spellings
from tests.engine.each_token import each_token
from tests.engine.schemas import CASES
from tests.engine.test_state_machine import MatcherMachine
from tests.oracles import FULL, VOCABULARIES, Walker, accepts, allowed, brute_force, compiled, validators, vocabulary

PLAIN = {"escapes": "plain"}
SPACED = {"whitespace": "spaced"}
ALL = {"escapes": "plain", "whitespace": "spaced", "property_order": "declared"}
STYLES = {"plain": PLAIN, "spaced": SPACED, "declared": {"property_order": "declared"}, "all": ALL}
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


_kept: dict[str, Any] = {}


def styled(schema: Any, options: dict[str, Any], name: str = "bytes") -> Any:
    key = json.dumps([schema, options, name])
    if key not in _kept:
        _kept[key] = constrain.json_schema(schema, **options).compile(vocabulary(name))
    return _kept[key]


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


STRINGS: dict[str, Any] = {
    "any value": True,
    "string": {"type": "string"},
    "length": {"type": "string", "maxLength": 6},
    "pattern": {"type": "string", "pattern": r'^[\u0000-\u001fa-c"\\/é-ü\u{1F600}]*$'},
    "value of a member": {"type": "object", "additionalProperties": {"type": "string"}},
}
CHARACTERS = 'ab/"\\\n\t\b\f\r\x00\x01\x0b\x0e\x1f\x7f é€\u2028\ue000😀'


def escaped(text: str, rng: random.Random) -> str:
    """A string with some characters escaped in any of the ways that JSON has."""
    out = []
    for c in text:
        units = c.encode("utf-16-be")
        long = "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
        ways = [dumps(c)[1:-1], dumps(c)[1:-1], dumps(c)[1:-1], long, long.upper().replace("\\U", "\\u")]
        out.append(rng.choice([*ways, "\\/"] if c == "/" else ways))
    return '"' + "".join(out) + '"'


@pytest.mark.parametrize("name", STRINGS)
@given(text=st.text(CHARACTERS, max_size=6), seed=st.integers(0, 1 << 30))
@settings(max_examples=400 if FULL else 60, deadline=None)
def test_a_string_has_one_spelling(name: str, text: str, seed: int) -> None:
    grammar, free = styled(STRINGS[name], PLAIN), compiled(STRINGS[name])
    begin, end = ('{"k": ', "}") if name == "value of a member" else ("", "")
    plain, other = dumps(text), escaped(text, random.Random(seed))
    assert accepts(grammar, begin + plain + end) == accepts(free, begin + plain + end)
    assert accepts(grammar, begin + other + end) == (other == plain and accepts(free, begin + other + end))


@given(text=st.text(CHARACTERS, max_size=4), seed=st.integers(0, 1 << 30))
@settings(max_examples=400 if FULL else 60, deadline=None)
def test_names_and_listed_strings_have_one_spelling(text: str, seed: int) -> None:
    plain, other = dumps(text), escaped(text, random.Random(seed))
    listed = {"enum": [text, text + "x", "y"]}
    named = {"type": "object", "properties": {text: {"type": "null"}}, "required": [text]}
    closed = {**named, "additionalProperties": False}
    patterned = {
        "type": "object",
        "patternProperties": {"x$": {"type": "string"}},
        "additionalProperties": {"type": "null"},
    }
    for schema, begin, end in (
        (listed, "", ""),
        ({"const": text}, "", ""),
        (named, "{", ":null}"),
        (closed, "{", ":null}"),
        (patterned, "{", ":null}"),
    ):
        grammar = constrain.json_schema(schema, escapes="plain").compile(vocabulary("bytes"))
        assert accepts(grammar, begin + plain + end), schema
        assert accepts(grammar, begin + other + end) == (other == plain), (schema, other)


@given(data=st.data())
@settings(max_examples=300 if FULL else 60, deadline=None)
def test_a_value_has_the_one_spelling_of_json_dumps(data: st.DataObject) -> None:
    """Of all the texts of a value without unusual numbers, in one order of its members."""
    leaves = st.one_of(st.none(), st.booleans(), st.integers(-99, 99), st.text(CHARACTERS, max_size=3))
    names = st.sampled_from(["a", "b", "é", "\n", "/"])
    value = data.draw(st.recursive(leaves, lambda v: st.lists(v, max_size=3) | st.dictionaries(names, v, max_size=3)))
    grammar = styled(True, {**PLAIN, **SPACED})
    assert accepts(grammar, dumps(value))
    text = data.draw(spellings(value, zeros=False))
    rewritten = dumps(json.loads(text))  # the members in the order of the text
    assert accepts(grammar, text) == (text == rewritten)


@pytest.mark.parametrize("name", STYLES)
def test_every_valid_value_has_a_text(name: str) -> None:
    """Those of all test schemas, in the order that their schema declares where it matters."""
    count = 0
    for case in CASES.values():
        grammar = constrain.json_schema(case.schema, **STYLES[name]).compile(vocabulary("bytes"))
        for value in case.valid:
            if not accepts(compiled(case.schema), dumps(value)):
                continue  # written in a way that numbers are not
            count += 1
            assert any(accepts(grammar, dumps(v)) for v in reordered(value)), (case.schema, value)
        for value in case.invalid:
            assert not accepts(grammar, dumps(value)), (case.schema, value)
    assert count > 200


def reordered(value: Any, most: int = 3_000) -> Any:
    """The value with the members of its objects in all orders, as far as they are few."""

    def ways(v: Any) -> Any:
        if isinstance(v, dict):
            for items in itertools.permutations(v.items()):
                for values in itertools.product(*(list(itertools.islice(ways(x), 50)) for _, x in items)):
                    yield dict(zip([k for k, _ in items], values, strict=True))
        elif isinstance(v, list):
            for items in itertools.product(*(list(itertools.islice(ways(x), 50)) for x in v)):
                yield list(items)
        else:
            yield v

    return itertools.islice(ways(value), most)


WALKED = [
    "anything",
    "open object",
    "anyOf open objects, discriminator late",
    "pattern and length",
    "enum of everything",
    "names of a finite pattern run out",
    "two contains",
    "unique items of a tuple",
    "property counts",
    "recursion through dependencies and items",
]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", WALKED)
def test_masks_are_those_of_brute_force_and_walks_end_in_style(name: str, style: str) -> None:
    schema, options = CASES[name].schema, STYLES[style]
    rng = random.Random(name + style)
    tokens = VOCABULARIES["mixed"]()
    grammar = styled(schema, options, "mixed")
    valid = validators(schema)[1]
    walker = Walker(tokens, rng)
    size = len(tokens.bytes_of)
    for state in walker.positions(grammar, 30 if FULL else 6):
        expected = brute_force(state, tokens, range(size))
        wrong = np.flatnonzero(allowed(state, size) != expected)
        assert not len(wrong), [tokens.bytes_of[i] for i in wrong]
    for _ in range(20 if FULL else 3):
        matcher, text = grammar.matcher(), b""
        for _ in range(rng.randint(0, 25)):
            chosen = walker.choose(allowed(matcher, size))
            if chosen is None:
                break
            assert matcher.accept_token(chosen)
            text += tokens.bytes_of[chosen] or b""
        left = matcher.min_tokens_to_end
        rest = b"" if matcher.is_accepting else walker.finish(matcher)
        assert len(rest) <= left
        written = (text + rest).decode()
        assert valid(json.loads(written)), written
        if options.get("escapes") == "plain":
            for found in STRING.findall(written):
                assert found == dumps(json.loads(found))
        if options.get("whitespace") == "spaced":
            bare = STRING.sub('""', written)
            assert re.sub(r"[^\s]", "", bare) == " " * (len(re.findall(r"[,:]", bare)))
            assert len(re.findall(r"[,:] \S", bare)) == bare.count(" ")


@pytest.mark.parametrize("style", ["plain", "all"])
@pytest.mark.parametrize("name", ["smollm2", "sentencepiece"])
def test_masks_on_real_vocabularies(name: str, style: str) -> None:
    schema = {
        "type": "object",
        "properties": {
            "città": {"type": "string", "maxLength": 12},
            "enum": {"enum": ["a\nb", 'say "hi"', "x/y"]},
            "free": {"type": "string"},
            "code": {"type": "string", "pattern": r"^[^\x00-\x09]+$"},
        },
        "required": ["enum"],
    }
    tokens = VOCABULARIES[name]()
    walker = Walker(tokens, random.Random(3))
    grammar = styled(schema, STYLES[style], name)
    for begin in (
        '{"',
        '{"cit',
        '{"enum": "',
        '{"enum": "a\\',
        '{"enum": "a\\nb", "free": "x\\',
        '{"enum": "x/y", "free": "\\u0',
    ):
        matcher = grammar.matcher()
        assert matcher.accept_bytes(begin.encode()), begin
        assert (allowed(matcher, walker.size) == each_token(matcher, walker.size)).all(), begin
    for state in walker.positions(grammar, 60 if FULL else 8):
        assert (allowed(state, walker.size) == each_token(state, walker.size)).all()


@pytest.mark.parametrize("limit", [None, 3])
def test_inside_an_escape_the_rest_is_counted_right(limit: int | None) -> None:
    """In every state of every escape: the way to the end is the shortest that JSON has."""
    schema = {"type": "string"} if limit is None else {"type": "string", "maxLength": limit}
    grammar = styled(schema, PLAIN)
    rest = {"\\": 2, "\\u": 5, "\\u0": 4, "\\u00": 3, "\\u000": 2, "\\u001": 2, "\\n": 1, "": 1}
    for begun, bytes_left in rest.items():
        matcher = grammar.matcher()
        assert matcher.accept_bytes(b'"' + begun.encode())
        assert matcher.min_tokens_to_end == bytes_left, begun
    wanted = styled({"type": "object", "properties": {"a\x01": {"const": "\x0b\x0c"}}, "required": ["a\x01"]}, PLAIN)
    text = '{"a\\u0001":"\\u000b\\f"}'
    matcher = wanted.matcher()
    for i, c in enumerate(text):
        assert matcher.min_tokens_to_end == len(text) - i, text[:i]
        assert matcher.accept_bytes(c.encode())


def test_needless_escapes_are_never_offered() -> None:
    """Where no character needs an escape the backslash is not."""
    for schema, begin in (
        ({"type": "object", "properties": {"current": {}}, "additionalProperties": False}, '{"curr'),
        ({"enum": ["celsius", "fahrenheit"]}, '"cel'),
        ({"type": "string", "pattern": "^[a-z]*$"}, '"cel'),
    ):
        matcher = styled(schema, PLAIN).matcher()
        assert matcher.accept_bytes(begin.encode())
        assert matcher.fork().accept_bytes(b"s") or matcher.fork().accept_bytes(b"e")
        assert not matcher.fork().accept_bytes(b"\\")
        free = compiled(schema).matcher()
        assert free.accept_bytes(begin.encode() + b"\\")
        assert matcher.forced_bytes() == (b'ent"' if "curr" in begin else b'sius"' if "enum" in schema else b"")


def test_a_vocabulary_that_lacks_characters_needs_escapes() -> None:
    tokens = [bytes([b]) for b in range(0x80)]
    poor = constrain.Vocabulary.from_tokens([*tokens, None], eos_token_ids=[0x80])
    constrain.json_schema(True).compile(poor)
    with pytest.raises(constrain.VocabularyError, match=r'0x80.*escapes="any"'):
        constrain.json_schema(True, escapes="plain").compile(poor)


@pytest.mark.parametrize("option", ["whitespace", "property_order", "escapes"])
def test_choices_that_there_are_not(option: str) -> None:
    with pytest.raises(ValueError, match=rf"{option} must be .* or .*, not 'some'"):
        constrain.json_schema(True, **{option: "some"})


def test_every_choice_is_listed() -> None:
    """Grammars that take different texts are different, and say so."""
    free = constrain.json_schema(True)
    for options in STYLES.values():
        other = constrain.json_schema(True, **options)
        assert other != free
        assert {n.reason for n in other.narrowings} - {n.reason for n in free.narrowings}


class StyledMachine(MatcherMachine):
    """The state machine of matchers, over grammars in all styles."""

    def compile(self, name: str) -> Any:
        return styled(CASES[name].schema, ALL, "mixed")


TestStyledState = StyledMachine.TestCase
TestStyledState.settings = settings(MatcherMachine.TestCase.settings, max_examples=60 if FULL else 6)


UNIQUE: dict[str, tuple[Any, list[Any]]] = {
    "objects": (
        {
            "type": "array",
            "items": {
                "properties": {"b": {"enum": [1, 2]}, "a": {"const": 1}},
                "type": "object",
                "additionalProperties": False,
            },
            "uniqueItems": True,
        },
        [{}, {"b": 1}, {"b": 2}, {"a": 1}, {"b": 1, "a": 1}, {"b": 2, "a": 1}, {"a": 1, "b": 1}],
    ),
    "objects and a number of them": (
        {
            "type": "array",
            "items": {"properties": {"b": {"enum": [1, 2]}, "a": {"const": 1}}, "additionalProperties": False},
            "prefixItems": [{"type": "object", "required": ["a"], "properties": {"b": {}}}],
            "uniqueItems": True,
            "minItems": 3,
            "maxItems": 3,
        },
        [{"b": 1}, {"b": 1, "a": 1}, {"a": 1}, {"a": 1, "b": 1}],
    ),
    "strings with controls": (
        {"type": "array", "items": {"enum": ["\n", "\x01", "n"]}, "uniqueItems": True},
        ["\n", "\x01", "n"],
    ),
    "short strings": (
        {"type": "array", "items": {"pattern": "^[\\n\\x01n]$", "type": "string"}, "uniqueItems": True, "minItems": 2},
        ["\n", "\x01", "n"],
    ),
    "short strings or null": (
        {"type": "array", "items": {"pattern": "^[\\n\\x01n]$", "type": ["string", "null"]}, "uniqueItems": True},
        ["\n", "\x01", "n", None],
    ),
}


@pytest.mark.parametrize("name", UNIQUE)
def test_items_that_differ(name: str) -> None:
    """The layer above the automaton sees what the style leaves: all arrays in all orders of members, and all walks."""
    schema, items = UNIQUE[name]
    grammar = styled(schema, ALL)
    valid = validators(schema)[1]
    count = 0
    for size in range(4):
        for value in itertools.product(items, repeat=size):
            in_style = not any(isinstance(v, dict) and list(v) == ["a", "b"] for v in value)
            assert accepts(grammar, dumps(list(value))) == (valid(list(value)) and in_style), value
            count += 1
    assert count > 30
    walker = Walker(VOCABULARIES["bytes"](), random.Random(name))
    for state in walker.positions(grammar, 60 if FULL else 12):
        if state.is_accepting:
            continue
        left = state.min_tokens_to_end
        expected = brute_force(state, walker.tokens, range(walker.size))
        assert (allowed(state, walker.size) == expected).all()
        assert expected.any()
        assert len(walker.finish(state.fork())) <= left


def test_characters_that_a_vocabulary_has_no_bytes_for_are_escaped() -> None:
    """As with SmolLM2, whose tokens lack two bytes that only planes without characters begin with."""
    lacking = (0xF1, 0xF4)
    tokens = [bytes([b]) for b in range(256) if b not in lacking]
    poor = constrain.Vocabulary.from_tokens([*tokens, None], eos_token_ids=[len(tokens)])
    schema = {"type": "object", "patternProperties": {"^[\U00040000-\U0010ffff]$": {"const": "\U00050000"}}}
    for wanted in (True, {"type": "string"}, {"pattern": "^.?$"}, {"pattern": "^[\\ud83d\U00050000é\U00080000]*$"}):
        grammar = constrain.json_schema(wanted, escapes="plain").compile(poor)
        for point in (0xE9, 0xE000, 0x1F600, 0x3FFFF, 0x40000, 0x50000, 0x7FFFF, 0x80000, 0xBFFFF, 0x100000, 0x10FFFF):
            text, written = dumps(chr(point)), json.dumps(chr(point))
            expected = accepts(compiled(wanted), text) and 0xF0 + (point >> 18) in lacking and point >= 0x40000
            assert accepts(grammar, written) == expected, hex(point)
            assert not accepts(grammar, written.upper().replace("\\U", "\\u")) or written.upper() == written
    grammar = constrain.json_schema(schema, escapes="plain").compile(poor)
    for name, value in (("\U00050000", "\U00050000"), ("\U00100000", "\U00050000"), ("\U00080000", "\U00050000")):
        written = dumps(name) if name == "\U00080000" else json.dumps(name)
        text = "{" + written + ":" + json.dumps(value) + "}"
        assert accepts(grammar, text), text
        matcher = grammar.matcher()
        for c in text.encode():
            if c in lacking:
                assert matcher.accept_bytes(bytes([c]))
                continue
            mask = allowed(matcher, len(tokens) + 1)
            ids = {t: k for k, t in enumerate(tokens)}
            expected = [matcher.fork().accept_bytes(t) for t in tokens]
            assert mask[:-1].tolist() == expected
            assert mask[ids[bytes([c])]]
            assert matcher.accept_bytes(bytes([c]))
