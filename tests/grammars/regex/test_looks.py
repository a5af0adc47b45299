"""Lookarounds, against engines that backtrack and against laws that need no engine."""

from __future__ import annotations

import itertools
import os
import pickle
import random
import re

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.languages.base import TextLanguage
from constrain.grammars.languages.text import FREE_TEXT, difference, intersection
from constrain.grammars.regex import full_language, nearest, search_language

from . import oracles
from .test_languages import SHORT_TEXTS, check_contract, texts

FULL = os.environ.get("CONSTRAIN_FULL") == "1"
EXAMPLES = 4000 if FULL else 300
LOOKS = re.compile(r"\(\?<?[=!]")
needs_node = pytest.mark.skipif(oracles.NODE is None, reason="node is not installed")

# Pattern, texts in which it is found, texts in which it is not.
MEANINGS: list[tuple[str, list[str], list[str]]] = [
    ("^(?!@@)[@a-z]+$", ["@", "a@@", "@a"], ["@@", "@@a", "", "A"]),
    ("^(?=[^=]+$)(?!\\s+$)(.|\\n)+$", ["a b", " a", "\na"], ["", " ", "a=b", " \n"]),
    ("^((?!mode)(?!Mode).)*$", ["", "mod", "MODE", "demo"], ["mode", "xModex", "mo\nmode"]),
    ("^[a-z](?!.*--)[a-z0-9-]*$", ["a", "a-b-c", "a-"], ["a--b", "ab--", "-a"]),
    ("^(?!.*\\/)^(.*[^.]+.*)$", ["a", "..a"], ["a/b", "...", ""]),
    (
        "^(https?://|/?.?-?(?!\\w+://)\\w).+\\.ya?ml$",
        ["https://a.yaml", "a/b.yml", ".ab.yml"],
        ["ftp://a.yml", "a.yam", "./a.yml"],
    ),
    ("^(?!interactive|name|style).+$", ["inter", "a name"], ["name", "names", "style", ""]),
    ("^(?!(as|def|del)$)[a-z_]\\w*$", ["a", "asd", "dele", "_"], ["as", "def", "del", "1"]),
    ("^(?=.*[A-Z])(?=.*\\d).{4,6}$", ["aB3d", "3Bxxxx", "BBB4"], ["aB3", "abcd", "AB12345", "ABCD"]),
    ("foo(?=bar)", ["foobar", "xfoobarx"], ["foo", "foo bar"]),
    ("foo(?!bar)", ["foo", "foobafoo"], ["foobar", "fo"]),
    ("(?<=foo)bar", ["foobar", "xfoobarx"], ["bar", "foo bar"]),
    ("(?<!foo)bar", ["bar", "fobar", "foobarbar"], ["foobar", "ba"]),
    ("^\\w+(?<!_)$", ["a", "_a"], ["a_", "_", ""]),
    ("^.*(?<=[a-z]{2,}\\d+)x$", ["ab1x", "?abc123x"], ["a1x", "abx", "ab1"]),
    ("(?<=^|,)a(?=,|$)", ["a", "b,a", "a,b", "b,a,c"], ["ab", "ba", "b,ab"]),
    ("(?<=a(?=b))b", ["ab"], ["b", "aa", "ba"]),
    ("(?<=(?<!x)a)b", ["ab", "yab"], ["xab", "b"]),
    ("(?<!a(?!b))c", ["c", "bc"], ["ac"]),
    ("^(?:(?=ab)a|b)+$", ["ab", "bab", "bb"], ["a", "aab", "ba"]),
    ("(?:(?=a)|b){2}a", ["a", "ba", "bba"], ["b", ""]),
    ("(?<=(?=ab)a)[bc]", ["ab", "xab"], ["ac", "b", "bc"]),
    ("^a(?<!(?=a.d)a)..$", ["abc", "adb"], ["abd", "add", "bcd"]),
    ("^(?:(?=b)|b){3}$", ["b", "bb", "bbb"], ["", "bbbb", "a"]),
    ("^(?:a|(?=b)|(?<=b)b){2}[ab]$", ["aab", "ab", "b", "aaa"], ["a", "ba", "abb"]),
    ("^(?=a)*b$", ["b"], ["a", "ab"]),
    ("^(?!a){2}[ab]$", ["b"], ["a"]),
    ("(?=a)b", [], ["ab", "b", "a"]),
    ("(?!)|(?<!)", [], ["", "a"]),
    ("(?=)(?<=)", ["", "a"], []),
    ("^(?!$)(?!\\n)", ["a", "\ra"], ["", "\n"]),
    ("(?<=é)😀(?!\\b)", ["é😀", "é😀é"], ["é😀a", "e😀"]),
    ("(?<=\\b)a(?=\\b)", ["a", "-a-"], ["aa", "ba"]),
    ("^(?:(?=c)[^]*)c", ["c", "cxc"], ["xc", ""]),
    ("(?<!^)a(?!$)", ["bab"], ["ab", "ba", "a"]),
    ("^(?!a$|b+$)[ab]{1,3}$", ["aa", "ab", "bba"], ["a", "b", "bb", "bbb"]),
]


@pytest.mark.parametrize(("pattern", "inside", "outside"), MEANINGS)
def test_meaning(pattern: str, inside: list[str], outside: list[str]) -> None:
    language = search_language(pattern)
    for text in inside:
        assert language.matches(text.encode()), text
    for text in outside:
        assert not language.matches(text.encode()), text
    check_contract(language, inside[:2] + outside[:1])


@needs_node
def test_the_engine_agrees_on_meanings() -> None:
    """The table above was written from the standard; this holds it against an engine."""
    answers = oracles.node_finds([(pattern, inside + outside) for pattern, inside, outside in MEANINGS])
    for (pattern, inside, outside), answer in zip(MEANINGS, answers, strict=True):
        assert answer == [True] * len(inside) + [False] * len(outside), pattern


@needs_node
def test_agrees_with_an_ecmascript_engine() -> None:
    """Searches, and matches of the whole, on every short text."""
    cases: list[tuple[str, list[str]]] = []
    more = [*SHORT_TEXTS, *("".join(t) for t in itertools.product("ab", repeat=5)), "é", "aé-b", "\n", "a\nb", " a b "]

    @settings(max_examples=EXAMPLES, deadline=None, database=None)
    @given(oracles.patterns(conditions=True, looks=True).filter(lambda pair: LOOKS.search(pair[0]) is not None))
    def collect(pair: oracles.Pair) -> None:
        cases.append((pair[0], more))

    collect()
    for make, form in ((search_language, "{}"), (full_language, "^(?:{})$")):
        asked = {True: 0, False: 0}
        answers = oracles.node_finds([(form.format(pattern), subjects) for pattern, subjects in cases])
        for (pattern, subjects), answer in zip(cases, answers, strict=True):
            if answer is None or ("\\-" in pattern and any(ord(c) > 0xFFFF or c in "{}" for c in pattern)):
                continue  # read there without the u flag, by UTF-16 units
            language = make(pattern)
            for text, expected in zip(subjects, answer, strict=True):
                asked[expected] += 1
                assert language.matches(text.encode()) == expected, (make.__name__, pattern, text)
        assert min(asked.values()) > 0


@settings(max_examples=EXAMPLES, deadline=None)
@given(oracles.patterns(conditions=True, looks=True), st.lists(texts, min_size=5, max_size=20), st.booleans())
def test_agrees_with_python(pair: oracles.Pair, subjects: list[str], whole: bool) -> None:
    pattern, python = pair
    try:
        re.compile(python)
    except re.error:  # lookbehinds of several widths
        return
    language = full_language(pattern) if whole else search_language(pattern)
    for text in subjects:
        if text == "" and "\\B" in pattern:  # Python's \B fails on the empty text before 3.14
            continue
        assert language.matches(text.encode()) == oracles.python_finds(python, text, whole), text


@settings(max_examples=EXAMPLES // 2, deadline=None)
@given(oracles.patterns(conditions=False, looks=True), st.lists(texts, min_size=5, max_size=20))
def test_agrees_with_jsonschema_rs(pair: oracles.Pair, subjects: list[str]) -> None:
    pattern = pair[0]
    if "[]" in pattern or "[^]" in pattern:  # refused there
        return
    try:
        oracles.rust_finds(pattern, "")
    except jsonschema_rs.ValidationError:
        return
    language = search_language(pattern)
    for text in subjects:
        if not text.isascii() and re.search(r"\\[dDsSwW]", pattern):  # `(?=\w)` finds any letter there, `\w` only ASCII
            continue
        if "." in pattern and re.search("[\r\u2028\u2029]", text):  # `(?=.)` finds them there
            continue
        assert language.matches(text.encode()) == oracles.rust_finds(pattern, text), text


@settings(max_examples=EXAMPLES // 2, deadline=None)
@given(oracles.patterns(conditions=True, looks=True), st.booleans(), st.lists(texts, min_size=1, max_size=3))
def test_the_automaton_keeps_its_contract(pair: oracles.Pair, whole: bool, subjects: list[str]) -> None:
    check_contract(full_language(pair[0]) if whole else search_language(pair[0]), subjects, depth=4)


@settings(max_examples=EXAMPLES // 3, deadline=None)
@given(oracles.patterns(conditions=True, looks=True), oracles.patterns(conditions=True), st.lists(texts, max_size=20))
def test_lookarounds_are_the_operations_on_languages(
    first: oracles.Pair, second: oracles.Pair, subjects: list[str]
) -> None:
    """Without an engine: what a lookaround at an end of the text means, by products of languages."""
    x, y = (f"(?:{pair[0]})" for pair in (first, second))
    at_start, at_end = search_language(f"^{x}"), search_language(f"{x}$")
    other = search_language(y)
    equal: list[tuple[str, TextLanguage]] = [
        (f"^(?={x})", at_start),
        (f"^(?!{x})", difference(FREE_TEXT, at_start)),
        (f"(?<={x})$", at_end),
        (f"(?<!{x})$", difference(FREE_TEXT, at_end)),
        (f"^(?=[^]*{y})(?={x})", intersection(at_start, other)),
        (f"^(?![^]*{y})(?={x})", difference(at_start, other)),
        (f"(?<!{y}[^]*)(?<={x})$", difference(at_end, other)),
    ]
    for pattern, expected in equal:
        language = search_language(pattern)
        assert (language.start == 0) == (expected.start == 0), pattern
        for text in subjects:
            assert language.matches(text.encode()) == expected.matches(text.encode()), (pattern, text)


@pytest.mark.parametrize(
    "pattern",
    ["^(?=a)b", "^(?!a)a", "^(?!.*a).*a$", "^(?=a+$)(?=b*$).", "a(?<!a)", "(?<=b)(?<=a)", "^(?=.{5})a{2,4}$", "x(?!)"],
)
def test_an_empty_language_starts_dead(pattern: str) -> None:
    assert search_language(pattern).start == 0


def test_dead_ends_are_never_entered() -> None:
    """The lookahead leaves one way; so does the lookbehind, long before it is met."""
    language = search_language("^(?=.*z$)(?:a|b|[xyz])$")
    assert [chr(b) for b in range(256) if language.row(language.start)[b]] == ["z"]
    language = search_language("^(?:ab|cd|ef)-{3}(?<=c[^]*)$")
    assert [chr(b) for b in range(256) if language.row(language.start)[b]] == ["c"]


@pytest.mark.parametrize(
    ("pattern", "text"), [("^(?!abc)", "ax"), ("a(?!b)", "aa-"), ("(?<!a)b", "b"), ("^(?=a)", "a"), ("(?=a)", "xa")]
)
def test_once_decided_everything_follows(pattern: str, text: str) -> None:
    language = search_language(pattern)
    state = language.run(text.encode())
    assert language.universal(state)
    assert language.run("\né😀".encode(), state) == state


@pytest.mark.parametrize(
    ("pattern", "least", "most"),
    [
        ("^(?!.*--)[a-z]{1,65535}$", 1, 65535),
        ("^(?=.{3,253}$)([a-z]{1,63}\\.){1,127}$", 3, 253),
        ("^(?!.{254})[a-z]{2,}$", 2, 253),
        ("^(?=.*[A-Z])(?=.*[a-z])(?=.*\\d)(?=.*[^\\w]).{8,64}$", 8, 64),
        ("^(?!.*--)[a-z][a-z-]{0,61}[a-z]$", 2, 63),
        ("^(?!(?:..)*$).{2,9}$", 3, 9),
    ],
)
def test_lengths(pattern: str, least: int, most: int) -> None:
    language = search_language(pattern)
    lengths = language.lengths(language.start)
    assert (lengths.first_in(0, None), lengths.first_in(most, None), lengths.first_in(most + 1, None)) == (
        least,
        most,
        None,
    )
    after = language.run(b"aA1-"[: least - 1])
    if after:
        assert most - (least - 1) in language.lengths(after)


def test_states_come_only_when_visited() -> None:
    for pattern, text in [
        ("^(?!.*--)[a-z-]{1,65535}$", "ab-cd" * 5),
        ("^(?:(?!.{30}a)[ab])*$", "b" * 40),
        ("^(?:[ab](?<!a[ab]{12}))*$", "b" * 40),
    ]:
        language = search_language(pattern)
        assert language.accepting(language.run(text.encode())), pattern
        assert len(language._rows) < 400, pattern  # type: ignore[attr-defined]


def test_deciding_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two counters with coprime periods: nothing short of their product tells that they never meet."""
    monkeypatch.setattr(nearest, "MAX_SEARCH", 1000)
    with pytest.raises(ResourceLimitError, match="lookarounds"):
        search_language("^(?=(?:a{131})*b$)(?:a{137})*bb$")


def test_languages_are_shared_and_pickled_by_pattern() -> None:
    language = search_language("^(?!a)b*$")
    assert search_language("^(?!a)b*$") is language
    assert pickle.loads(pickle.dumps(language)) is language
    assert repr(language) == "search_language('^(?!a)b*$')"


@needs_node
@pytest.mark.skipif(not oracles.CORPUS.exists(), reason="the corpus of real schemas is not next to the checkout")
def test_real_patterns() -> None:
    rng = random.Random(11)
    cases = []
    for pattern in oracles.corpus_patterns():
        if LOOKS.search(pattern):
            cases.append((pattern, oracles.texts_near(search_language(pattern), rng, 12)))
            # Texts of the pattern without its lookarounds are near misses.
            bare = re.sub(r"\(\?[=!][^()]*\)", "", pattern)
            if not LOOKS.search(bare):
                cases.append((pattern, oracles.texts_near(search_language(bare), rng, 12)))
    assert len(cases) > 15
    said = {True: 0, False: 0}
    for (pattern, subjects), answer in zip(cases, oracles.node_finds(cases), strict=True):
        assert answer is not None
        language = search_language(pattern)
        for text, expected in zip(subjects, answer, strict=True):
            said[expected] += 1
            assert language.matches(text.encode()) == expected, (pattern, text)
    assert min(said.values()) > 100
