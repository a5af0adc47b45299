"""Patterns as languages, against other engines and against brute force."""

from __future__ import annotations

import itertools
import os
import pickle
import random
import re
import threading

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.languages.base import TextLanguage
from constrain.grammars.regex import PatternError, full_language, search_language, utf8

from . import oracles

FULL = os.environ.get("CONSTRAIN_FULL") == "1"
EXAMPLES = 3000 if FULL else 250
SHORT_TEXTS = ["".join(t) for n in range(4) for t in itertools.product("ab-", repeat=n)]
texts = st.one_of(st.sampled_from(SHORT_TEXTS), st.text(oracles.ALPHABET, max_size=8), st.text(max_size=4))


@settings(max_examples=EXAMPLES, deadline=None)
@given(oracles.patterns(conditions=True), st.lists(texts, min_size=5, max_size=20), st.booleans())
def test_agrees_with_python(pair: oracles.Pair, subjects: list[str], whole: bool) -> None:
    pattern, python = pair
    language = full_language(pattern) if whole else search_language(pattern)
    for text in subjects:
        if text == "" and "\\B" in pattern:  # Python's \B fails on the empty text before 3.14
            continue
        assert language.matches(text.encode()) == oracles.python_finds(python, text, whole), text


@settings(max_examples=EXAMPLES // 2, deadline=None)
@given(oracles.patterns(conditions=True), st.lists(texts, min_size=5, max_size=20))
def test_agrees_with_jsonschema_rs(pair: oracles.Pair, subjects: list[str]) -> None:
    pattern = pair[0]
    if "[]" in pattern or "[^]" in pattern:  # refused there
        return
    try:
        oracles.rust_finds(pattern, "")
    except jsonschema_rs.ValidationError:
        return
    language = search_language(pattern)
    boundaries = "\\b" in pattern or "\\B" in pattern
    for text in subjects:
        if boundaries and not text.isascii():  # its word boundaries are Unicode's
            continue
        assert language.matches(text.encode()) == oracles.rust_finds(pattern, text), text


@settings(max_examples=EXAMPLES, deadline=None)
@given(oracles.patterns(conditions=True), st.booleans(), st.lists(texts, min_size=1, max_size=3))
def test_the_automaton_keeps_its_contract(pair: oracles.Pair, whole: bool, subjects: list[str]) -> None:
    language = full_language(pair[0]) if whole else search_language(pair[0])
    check_contract(language, subjects)


def check_contract(language: TextLanguage, subjects: list[str], depth: int = 5) -> None:
    """Trimmed, `shortest` exact, `lengths` exact by brute force, `universal` true, row 0 dead."""
    assert not language.row(0).any()
    assert not language.accepting(0)
    states = {language.start}
    for text in subjects:
        state = language.start
        for byte in text.encode():
            state = int(language.row(state)[byte]) if state else 0
            states.add(state)
    for state in states - {0}:
        # Walking by least distance must arrive after exactly that many bytes; so the state is live.
        distance, at = language.shortest(state), state
        for left in range(distance, 0, -1):
            assert not language.accepting(at)
            onward = {int(t) for t in language.row(at)} - {0}
            assert min(language.shortest(t) for t in onward) == left - 1
            at = min(onward, key=language.shortest)
        assert language.accepting(at)
        assert language.boundary(at)
        lengths = language.lengths(state)
        layer = {state} if language.boundary(state) else _characters_on(language, {state})
        for k in range(depth):
            assert (k in lengths) == any(language.accepting(s) for s in layer), k
            layer = _characters_on(language, layer)
        if language.universal(state):
            row = language.row(state)
            assert language.accepting(state)
            assert all(int(row[b]) == state for b in range(0x80))
            assert _characters_on(language, {state}) == {state}


def _characters_on(language: TextLanguage, layer: set[int]) -> set[int]:
    """The states at which the next character ends."""
    out: set[int] = set()
    pending, seen = list(layer), set(layer)
    while pending:
        for target in {int(t) for t in language.row(pending.pop())} - {0}:
            if language.boundary(target):
                out.add(target)
            elif target not in seen:
                seen.add(target)
                pending.append(target)
    return out


def test_anchors_hold_where_they_stand() -> None:
    for pattern in ("^a|b$", "a^b", "$a", "^$[a-z$_]*$", "(^a|b$|c)*d", "^^a$$", "(?:a|^)b", "b(?:a|$)", "(^|,)a(,|$)"):
        language = search_language(pattern)
        python = pattern.replace("[a-z$_]", "[a-z\\x24_]").replace("^", "\\A").replace("$", "\\Z")
        for text in ("".join(t) for n in range(6) for t in itertools.product("ab,d", repeat=n)):
            assert language.matches(text.encode()) == oracles.python_finds(python, text), (pattern, text)


@pytest.mark.parametrize(
    "pattern",
    [
        # Rounds that match nothing, where a condition lets them.
        *("(?:\\b|a){2}a", "(?:\\B|a){2}-", "(?:\\b|-){3}a", "(?:a|\\b-){2,3}", "(?:(?:\\B|b)a?){3}"),
        # Counts that touch and counts that do not, side by side and nested.
        *(
            "(?:ba{1,2}|ba{4,5})-",
            "(?:ba{1,2}|ba{3,5})-",
            "(?:a{3,4}){1,2}",
            "(?:a{2,3}){2,3}",
            "(?:a{2})*a{3}",
            "a?a{2}a*",
        ),
    ],
)
def test_counts(pattern: str) -> None:
    language = full_language(pattern)
    for text in ("".join(t) for n in range(1, 8) for t in itertools.product("ab-", repeat=n)):
        assert language.matches(text.encode()) == oracles.python_finds(pattern, text, whole=True), text


def test_dead_branches_are_never_entered() -> None:
    language = search_language("^(?:xa\\bb|yxa\\bb|z\\b)$")
    assert [chr(byte) for byte in range(256) if language.row(language.start)[byte]] == ["z"]


@pytest.mark.parametrize(
    "pattern", ["[]", "a^b", "$a", "a$b", "a\\bb", "x^", "^a^", "(?:a$b|c^)d", "\\b(?:\\B|[])\\b", "-\\b-"]
)
def test_an_empty_language_starts_dead(pattern: str) -> None:
    assert full_language(pattern).start == 0
    assert search_language(pattern).start == 0


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("a", "xa"),
        ("^a", "a"),
        ("^a.*", "a"),
        ("^(a|bc)+", "a"),
        ("", ""),
        (".*", ""),
        ("^[^]*$", ""),
        ("^(.|\\s)*$", ""),
        ("^(?:x|a$|a)", "x"),
        ("\\ba\\b", "a "),
    ],
)
def test_once_matched_everything_follows(pattern: str, text: str) -> None:
    language = search_language(pattern)
    state = language.run(text.encode())
    assert language.universal(state)
    for more in (b"\n", "é".encode(), "😀".encode(), b"\0"):
        assert language.run(more, state) == state


def test_a_text_that_must_end_is_not_universal() -> None:
    for pattern in ("a$", "^.*$", "a\\b", "^a(.|\\s)?$"):
        language = search_language(pattern)
        assert not language.universal(language.run(b"a"))


def test_only_well_formed_utf8() -> None:
    language = search_language("^[^a]$")
    malformed = [
        b"\x80",
        b"\xc0\x80",
        b"\xc1\xbf",
        b"\xe0\x9f\xbf",
        b"\xed\xa0\x80",
        b"\xed\xbf\xbf",
        b"\xf0\x8f\xbf\xbf",
    ]
    for text in [*malformed, b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xff", b"\xc3a", b"\xe2\x82a"]:
        assert language.run(text) == 0, text


@pytest.mark.parametrize(
    "pattern", ["[^\\w\\-é]", "[\\u0100-\\u{12345}]", "\\S", ".", "[\\u07ff\\u0800\\uffff\\u{10000}]"]
)
def test_every_code_point(pattern: str) -> None:
    """One-character words are exactly those that the class, read by Python, has."""
    python = pattern.replace("\\u{12345}", "\U00012345").replace("\\u{10000}", "\U00010000")
    python = python.replace("\\S", f"[^{oracles.SPACES}]")
    python = "[^\\n\\r\\u2028\\u2029]" if pattern == "." else python
    language = full_language(pattern)
    every = [chr(c) for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
    for char in every if FULL else every[:0x3000] + every[0x3000::97]:
        assert language.matches(char.encode()) == oracles.python_finds(python, char, whole=True), hex(ord(char))


def test_states_come_only_when_visited() -> None:
    """Patterns whose automata have from 65,000 to millions of states, walked for fifty bytes."""
    for pattern, text in [
        ("[ab]*a[ab]{20}$", "ab" * 25 + "a"),
        ("^.{1,65535}$", "x" * 50),
        ("([a-z]{1,63}\\.){1,127}$", "abc.defghi." * 5),
        ("^(\\S+\\s+){0,199}\\S+$", "word  and " * 5 + "x"),
        ("^(a{2,65535}b{3,65535}){1,10}$", "aaabbb" * 8),
    ]:
        language = search_language(pattern)
        state = language.run(text.encode())
        assert state != 0, pattern
        assert language.accepting(state), pattern
        assert language._built <= 60  # type: ignore[attr-defined]


def test_the_limit_on_states_is_met_when_visited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utf8, "MAX_STATES", 500)
    language = full_language("(?:x[ab]*a[ab]{20}y|.)*")
    rng = random.Random(0)
    text = bytes(ord(rng.choice("ab" * 20 + "xy")) for _ in range(10_000))
    with pytest.raises(ResourceLimitError) as caught:
        language.run(text)
    assert "500" in caught.value.limit
    assert language.matches(text[:40])


def test_rows_are_dropped_and_built_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A language that visits more states than it keeps rows for goes on, and answers as before."""
    pattern = "x[ab]*a[ab]{12}y"
    texts = ["".join(t) for t in itertools.product("ab", repeat=7)]
    words = [f"x{first}{second}y".encode() for first, second in zip(texts, reversed(texts), strict=True)]
    expected = [re.fullmatch(pattern, word.decode()) is not None for word in words]
    assert True in expected
    assert False in expected
    monkeypatch.setattr(utf8, "MAX_ROWS", 50)
    language = full_language(pattern)
    for _ in range(2):
        assert [language.matches(word) for word in words] == expected


def test_counts_beyond_memory() -> None:
    language = full_language("(?:ab){99999999999}")
    assert language.shortest(language.start) == 2 * 99999999999
    with pytest.raises(ResourceLimitError):
        language.lengths(language.start)


def test_languages_are_shared_and_pickled_by_pattern() -> None:
    language = search_language("^a+$")
    assert search_language("^a+$") is language
    assert full_language("^a+$") is not language
    assert pickle.loads(pickle.dumps(language)) is language


def test_threads_see_one_automaton() -> None:
    pattern = "^(a[ab]{1,8}é|b+[^c]{2,5})*$"
    reference = {t: oracles.python_finds(pattern, t) for t in ("".join(p) for p in itertools.product("abé", repeat=7))}
    search_language.__globals__["_search_language"].cache_clear()
    language = search_language(pattern)
    wrong: list[str] = []

    def work(seed: int) -> None:
        mine = list(reference)
        random.Random(seed).shuffle(mine)
        wrong.extend(t for t in mine[:800] if language.matches(t.encode()) != reference[t])

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not oracles.CORPUS.exists(), reason="the corpus of real schemas is not next to the checkout")
def test_real_patterns() -> None:
    """Patterns of real schemas: refused only for backreferences, else read as others do."""
    rng = random.Random(7)
    patterns = oracles.corpus_patterns()
    assert len(patterns) > 1500
    if not FULL:
        patterns = rng.sample(patterns, 300)
    cases: list[tuple[str, list[str]]] = []
    for pattern in patterns:
        refused: PatternError | None = None
        try:
            language = search_language(pattern)
        except PatternError as error:
            refused = error
        if refused is not None:
            if refused.kind == "invalid":
                assert oracles.NODE is None or oracles.node_finds([(pattern, [])]) == [None], pattern
            else:
                assert "backreference" in refused.reason, (pattern, refused)
            continue
        subjects = oracles.texts_near(language, rng, 6)
        lengths = language.lengths(language.start)
        assert all(len(t) in lengths for t in subjects if language.matches(t.encode())), pattern
        cases.append((pattern, subjects))
    answers = oracles.node_finds(cases) if oracles.NODE is not None else [None] * len(cases)
    answers = [a or _by_rust(*case) for a, case in zip(answers, cases, strict=True)]
    asked = 0
    for (pattern, subjects), answer in zip(cases, answers, strict=True):
        if answer is None:  # jsonschema-rs refuses some
            continue
        language = search_language(pattern)
        for text, expected in zip(subjects, answer, strict=True):
            asked += 1
            assert language.matches(text.encode()) == expected, (pattern, text)
    assert asked > 10 * len(patterns)


def _by_rust(pattern: str, subjects: list[str]) -> list[bool] | None:
    try:
        return [oracles.rust_finds(pattern, text) for text in subjects]
    except jsonschema_rs.ValidationError:
        return None


@pytest.mark.skipif(oracles.NODE is None, reason="node is not installed")
def test_agrees_with_an_ecmascript_engine() -> None:
    cases: list[tuple[str, list[str]]] = []

    @settings(max_examples=EXAMPLES, deadline=None, database=None)
    @given(oracles.patterns(conditions=True), st.lists(texts, min_size=10, max_size=10))
    def collect(pair: oracles.Pair, subjects: list[str]) -> None:
        cases.append((pair[0], subjects))

    collect()
    asked = {True: 0, False: 0}
    for (pattern, subjects), answer in zip(cases, oracles.node_finds(cases), strict=True):
        if answer is None:
            continue
        for text, expected in zip(subjects, answer, strict=True):
            try:
                raw = text.encode()
            except UnicodeEncodeError:
                continue
            if "\\-" in pattern and ("\\u{" in pattern or any(ord(c) > 0xFFFF for c in text + pattern)):
                continue  # read there without the u flag, by UTF-16 units
            asked[expected] += 1
            assert search_language(pattern).matches(raw) == expected, (pattern, text)
    assert min(asked.values()) > 100
