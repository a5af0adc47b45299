"""String alternatives as languages and bounds: against Python's `re` and brute force over short texts."""

from __future__ import annotations

import itertools
import pickle
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain import json_schema
from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.formats import OLD_HOSTNAME, format_language
from constrain.grammars.json_schema import texts as texts_module
from constrain.grammars.json_schema.bounded_text import BoundedText
from constrain.grammars.json_schema.keys import key_classes
from constrain.grammars.json_schema.normal import StringAlternative
from constrain.grammars.json_schema.text_distance import text_distance
from constrain.grammars.json_schema.texts import Texts, texts_of
from constrain.grammars.languages import product
from constrain.grammars.languages.extent import few_texts, has_many, shortest_text
from constrain.grammars.languages.text import FREE_TEXT, difference, intersection, literal_set
from constrain.grammars.regex import full_language, search_language
from constrain.grammars.regex.utf8 import CodePointLanguage
from tests.oracles import vocabulary

from ..regex import oracles
from ..regex.test_languages import check_contract

SHORT = ["".join(t) for n in range(4) for t in itertools.product("ab-é\n", repeat=n)]


def _has(texts: Texts, text: str) -> bool:
    return (
        texts.low <= len(text)
        and (texts.high is None or len(text) <= texts.high)
        and texts.language.matches(text.encode())
    )


@settings(max_examples=80, deadline=None)
@given(
    st.lists(oracles.patterns(conditions=False), min_size=1, max_size=3),
    st.lists(oracles.patterns(conditions=False), max_size=1),
    st.integers(0, 3),
    st.one_of(st.none(), st.integers(0, 3)),
    st.sampled_from([0, 64]),
)
def test_alternatives_mean_what_python_finds(
    wanted: list[oracles.Pair], unwanted: list[oracles.Pair], low: int, high: int | None, few: int
) -> None:
    """With lengths in a register, and (with `few` 0) in the state."""
    alternative = StringAlternative(
        patterns=tuple(dict.fromkeys(p for p, _ in wanted)),
        not_patterns=tuple(p for p, _ in unwanted),
        minimum=low,
        maximum=high,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(product, "FEW_LENGTH_NODES", few)
        texts = texts_of.__wrapped__(alternative)
    found = False
    for text in SHORT:
        expected = (
            low <= len(text)
            and (high is None or len(text) <= high)
            and all(oracles.python_finds(p, text) for _, p in wanted)
            and not any(oracles.python_finds(p, text) for _, p in unwanted)
        )
        assert _has(texts, text) == expected, text
        found |= expected
    assert not (found and texts.empty)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(oracles.patterns(conditions=True), min_size=1, max_size=2),
    st.integers(0, 3),
    st.one_of(st.none(), st.integers(0, 4)),
    st.lists(st.text("ab-_ é", max_size=4), min_size=2, max_size=3),
)
def test_counting_in_the_state_keeps_the_contract(
    pairs: list[oracles.Pair], low: int, high: int | None, subjects: list[str]
) -> None:
    inner = intersection(*(search_language(p) for p, _ in pairs))
    assert isinstance(inner, CodePointLanguage)
    language = BoundedText(inner, low, high)
    copy = pickle.loads(pickle.dumps(language))
    for text in SHORT:
        expected = low <= len(text) and (high is None or len(text) <= high) and inner.matches(text.encode())
        assert language.matches(text.encode()) == expected == copy.matches(text.encode())
    check_contract(language, subjects, depth=4)


@pytest.mark.parametrize(
    ("alternative", "low", "high"),
    [
        # Counted classes are classes and bounds; other counts stay where they are.
        (StringAlternative(patterns=("^[a-z]{2,63}$",)), 2, 63),
        (StringAlternative(patterns=("^[a-z]{2,63}$", "^[a-f]{3,}$"), maximum=50), 3, 50),
        (StringAlternative(patterns=("^x[a-z]{2,63}$",)), 3, 64),
        (StringAlternative(patterns=("^[a-z][a-z0-9_]{0,62}$", "^[a-z_]{0,80}$"), maximum=70), 0, 63),
        (StringAlternative(patterns=("^(ab|cd)[^]{20,}",)), 22, None),
        (StringAlternative(patterns=("^x[a-z]{2,5}$",)), 0, None),
        (StringAlternative(patterns=("^x?[a-z]{2,63}$",)), 0, None),
        # Bounds that every text keeps.
        (StringAlternative(formats=("email",), minimum=3, maximum=320), 0, None),
        (StringAlternative(formats=("uuid",), minimum=36, maximum=36), 0, None),
        (StringAlternative(formats=("uuid",), minimum=1, patterns=("^a",)), 0, None),
        (StringAlternative(formats=("date",), minimum=10, maximum=99), 0, None),
    ],
)
def test_bounds_are_where_they_cost_least(alternative: StringAlternative, low: int, high: int | None) -> None:
    texts = texts_of(alternative)
    assert (texts.low, texts.high) == (low, high)
    assert not texts.empty


@pytest.mark.parametrize(
    ("alternative", "valid", "invalid"),
    [
        (
            StringAlternative(patterns=("a|^$",), formats=("email",), minimum=21),
            ["a@bbbbbbbbbbbbbbbbbbb", "b@bbbbbbbbbbbbbbbbbbba", "a" * 64 + "@b"],
            ["a@b", "c@bbbbbbbbbbbbbbbbbbbbbbb", "", "a" * 65 + "@b"],
        ),
        (StringAlternative(patterns=("a|^$",), formats=("uri-template",), maximum=0), [""], ["a", "{a}"]),
        (
            StringAlternative(patterns=("x",), formats=("email",), minimum=300),
            ["a" * 60 + "@" + ".".join(["x" * 60] * 4)],
            ["x@b.c", "a" * 60 + "@" + ".".join(["b" * 60] * 4), "a" * 50 + "@" + ".".join(["x" * 60] * 4)],
        ),
        (
            StringAlternative(patterns=(r"\d\d\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ",), formats=("date-time",)),
            ["2020-02-29T12:00:00Z", "2016-12-31T23:59:60Z"],
            ["2020-02-29T12:00:00z", "2020-02-29T12:00:00+01:00", "2019-02-29T12:00:00Z", "2016-12-31T23:58:60Z"],
        ),
        (
            StringAlternative(patterns=("^.*?@.*.*$",), formats=("email",), minimum=3),
            ["a@b", "x.y@z.example"],
            ["a@", "@b", "ab"],
        ),
        (
            StringAlternative(formats=("date-time",), not_patterns=("Z$", "z$")),
            ["2020-02-29T12:00:00+01:00"],
            ["2020-02-29T12:00:00Z", "x"],
        ),
        (StringAlternative(not_formats=("date-time",)), ["", "2019-02-29T12:00:00Z"], ["2020-02-29T12:00:00Z"]),
    ],
)
def test_formats_beside_patterns_and_bounds(
    alternative: StringAlternative, valid: list[str], invalid: list[str]
) -> None:
    texts = texts_of(alternative)
    assert not texts.empty
    assert [t for t in valid if not _has(texts, t)] == []
    assert [t for t in invalid if _has(texts, t)] == []
    assert text_distance(texts.language, None, texts.low, texts.high) <= min(len(t.encode()) for t in valid)


@pytest.mark.parametrize(
    "alternative",
    [
        StringAlternative(formats=("date-time",), not_formats=("date-time",)),
        StringAlternative(formats=("email",), not_formats=("email",)),
        StringAlternative(formats=("date-time",), patterns=("T.*T",)),
        StringAlternative(formats=("email",), patterns=("^.{65,}@",)),
        StringAlternative(formats=("email",), patterns=("^[^@]*$",)),
        StringAlternative(formats=("hostname",), patterns=("^.{254,}$",)),
        StringAlternative(formats=("email", "uuid")),
        StringAlternative(formats=("email",), patterns=("x",), minimum=400),
        StringAlternative(formats=("date-time", "email"), minimum=3),
    ],
)
def test_what_no_text_meets(alternative: StringAlternative) -> None:
    assert texts_of(alternative).empty


@pytest.mark.parametrize("name", ["date-time", "time", "email", "hostname", OLD_HOSTNAME, "idn-email", "idn-hostname"])
def test_outlines_have_all_texts(name: str) -> None:
    """What guides a search must not leave anything out: random words of the format are in its outline."""
    language = format_language(name)
    assert isinstance(language, CodePointLanguage)
    outline = language.outline
    assert outline is not None
    generator = random.Random(7)
    for _ in range(20 if name.startswith("idn") else 200):
        state, beside = language.start, outline.start
        for _ in range(60):
            assert not language.accepting(state) or outline.accepting(beside)
            onward = np.flatnonzero(language.row(state))
            if not onward.size:
                break
            byte = int(generator.choice(onward))
            state, beside = language.next(state, byte), outline.next(beside, byte)
            assert beside


@settings(max_examples=60, deadline=None)
@given(st.lists(oracles.patterns(conditions=True), min_size=1, max_size=4))
def test_every_name_is_in_one_class(pairs: list[oracles.Pair]) -> None:
    languages = tuple(dict.fromkeys(search_language(p) for p, _ in pairs))
    classes = key_classes(languages)
    for name in SHORT:
        members = frozenset(i for i, language in enumerate(languages) if language.matches(name.encode()))
        (found,) = [c for c in classes if c.language.matches(name.encode())]
        assert found.members == members
        assert found.names is None or name in found.names
        assert found.shortest <= len(name.encode())
    for c in classes:
        assert c.language.start
        for listed in c.names or ():
            assert c.members == {i for i, language in enumerate(languages) if language.matches(listed.encode())}


@pytest.mark.parametrize("name", ["email", "regex", "hostname", "uri", "date-time", "ipv6", "uuid"])
def test_names_of_formats_fall_in_two_classes(name: str) -> None:
    language = format_language(name)
    assert language is not None
    classes = {c.members: c for c in key_classes((language,))}
    assert set(classes) == {frozenset(), frozenset((0,))}
    assert all(c.names is None for c in classes.values())


def test_few_names_are_listed() -> None:
    classes = {c.members: c.names for c in key_classes((search_language("^(ab|[cd]x?|é)$"), search_language("c")))}
    assert {k: None if v is None else sorted(v) for k, v in classes.items()} == {
        frozenset(): None,
        frozenset((1,)): None,
        frozenset((0,)): ["ab", "d", "dx", "é"],
        frozenset((0, 1)): ["c", "cx"],
    }


@pytest.mark.parametrize(
    ("pattern", "words", "many"),
    [
        ("[]", [], False),
        ("", [""], False),
        ("(a|bc)d?", ["a", "ad", "bc", "bcd"], False),
        ("[a-p][a-p]", None, False),  # 256 words: not more than the limit only if that is so many
        ("a*", None, True),
        ("x(ab)+y", None, True),
        ("[a-z]{4}", None, False),
        ("[a-z]{9}", None, True),  # 26 ** 9 is more than 2 ** 40
        ("[^]{2}", None, True),
        ("a{500}", ["a" * 500], False),
    ],
)
def test_extent(pattern: str, words: list[str] | None, many: bool) -> None:
    language = full_language(pattern)
    assert isinstance(language, CodePointLanguage)
    found = few_texts(language, 255)
    assert (None if found is None else sorted(found)) == words
    assert has_many(language, language.start) == many
    if pattern == "[a-p][a-p]":
        assert few_texts(language, 256) is not None


def test_shortest_texts_are_plain() -> None:
    for language, expected in [
        (search_language("b[^a]"), 2),
        (intersection(search_language("x.y"), search_language("é|z")), 3),
        (difference(FREE_TEXT, literal_set(["", "a"])), 1),
        (BoundedText(intersection(search_language("b"), search_language("c$")), 5, 9), 5),  # type: ignore[arg-type]
    ]:
        assert isinstance(language, CodePointLanguage)
        text = shortest_text(language, language.start)
        assert len(text) == expected == language.shortest(language.start)
        assert language.matches(text)
        assert all(0x20 <= b < 0x7F and b not in b'"\\' for b in text)


def test_alternatives_are_built_once() -> None:
    assert texts_of(StringAlternative(patterns=("^a",))) is texts_module.texts_of(StringAlternative(patterns=("^a",)))


def test_limits_name_the_keyword_and_the_place() -> None:
    """Counters with coprime periods meet after a product of theirs: what that takes to find out is refused."""
    far = [f"^(?:a{{{n}}})*b{{{k}}}$" for k, n in enumerate((331, 337), start=1)]
    closed = {"type": "object", "additionalProperties": False}
    both = {"allOf": [{"pattern": p} for p in far]}
    for schema, pointer, keyword in [
        ({"type": "string", **both}, "/properties/x", "pattern"),
        ({**closed, "patternProperties": {p: {} for p in far}}, "/properties/x", "patternProperties"),
        ({"propertyNames": both}, "/properties/x/propertyNames", "pattern"),
    ]:
        with pytest.raises(ResourceLimitError) as caught:
            json_schema({"properties": {"x": schema}}).compile(vocabulary("bytes"))
        assert caught.value.pointer == pointer
        assert caught.value.keyword == keyword
