"""Free text, finite sets and products, against Python's own sets and decoders."""

from __future__ import annotations

import itertools
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.languages.base import ALL_LENGTHS, LengthSet, TextLanguage
from constrain.grammars.languages.text import FREE_TEXT, difference, intersection, literal_set
from constrain.grammars.regex import nearest, search_language

from ..regex import oracles
from ..regex.test_languages import check_contract

words = st.lists(st.text("abé😀", max_size=4), max_size=8)


def test_free_text_is_small_and_universal() -> None:
    assert FREE_TEXT.universal(FREE_TEXT.start)
    assert FREE_TEXT.lengths(FREE_TEXT.start) == ALL_LENGTHS
    reached, pending = {FREE_TEXT.start}, [FREE_TEXT.start]
    while pending:
        for state in {int(t) for t in FREE_TEXT.row(pending.pop())} - reached:
            reached.add(state)
            pending.append(state)
    assert len(reached) == 9
    assert pickle.loads(pickle.dumps(FREE_TEXT)) is FREE_TEXT
    check_contract(FREE_TEXT, ["aé漢😀\0"])


@settings(max_examples=300)
@given(st.one_of(st.binary(max_size=6), st.text(max_size=3).map(lambda t: t.encode("utf-8", "surrogatepass"))))
def test_free_text_is_what_decodes(raw: bytes) -> None:
    try:
        raw.decode()
        valid = True
    except UnicodeDecodeError:
        valid = False
    assert FREE_TEXT.matches(raw) == valid


@settings(max_examples=150, deadline=None)
@given(words, words)
def test_literal_sets(members: list[str], others: list[str]) -> None:
    language = literal_set(members)
    for text in members + others + [t[:-1] for t in members] + [t + "a" for t in members]:
        assert language.matches(text.encode()) == (text in members)
    assert (language.start == 0) == (not members)
    if members:
        found = language.lengths(language.start)
        assert {n for n in range(9) if n in found} == {len(t) for t in members}
        check_contract(language, members[:2])


def test_literal_sets_of_many() -> None:
    members = [f"{n * 7919 % 100003}-é{n}" for n in range(10_000)]
    language = literal_set(members)
    assert all(language.matches(t.encode()) for t in members[::37])
    assert not language.matches(members[5].encode()[:-1] + b"x")
    assert language.shortest(language.start) == min(len(t.encode()) for t in members)


def test_a_literal_with_a_surrogate_matches_nothing() -> None:
    assert literal_set(["\ud800"]).start == 0
    assert literal_set(["a", "\udfff"]).members == [b"a"]  # type: ignore[attr-defined]


@settings(max_examples=120, deadline=None)
@given(
    st.lists(oracles.patterns(conditions=True), min_size=2, max_size=3),
    st.lists(st.text(oracles.ALPHABET, max_size=6), min_size=5, max_size=15),
    st.booleans(),
)
def test_products_agree_with_python(pairs: list[oracles.Pair], subjects: list[str], excluding: bool) -> None:
    parts = [search_language(p) for p, _ in pairs]
    language = difference(*parts) if excluding else intersection(*parts)
    for text in subjects:
        if text == "" and any("\\B" in p for p, _ in pairs):
            continue
        found = [oracles.python_finds(python, text) for _, python in pairs]
        expected = found[0] and not any(found[1:]) if excluding else all(found)
        assert language.matches(text.encode()) == expected, text
    check_contract(language, subjects[:2], depth=4)


def test_meeting_in_nothing_starts_dead() -> None:
    for patterns in (
        ("^a", "^b"),
        ("^[a-f]+$", "^[g-z]+$"),
        ("^.{5,9}$", "^.{10,12}$"),
        ("^(..)*$", "^.(..)*$"),
        ("é$", "è$"),
    ):
        assert intersection(*map(search_language, patterns)).start == 0
    assert difference(search_language("^a+$"), search_language("^a")).start == 0
    assert difference(FREE_TEXT, search_language("^[^]*$")).start == 0


def test_products_reach_dead_ends_only_in_state_0() -> None:
    language = intersection(search_language("^(ab|ac)"), search_language("^(ac|ad)"))
    state = language.run(b"a")
    assert [language.next(state, b) != 0 for b in b"bcd"] == [False, True, False]


def test_products_simplify() -> None:
    digits = search_language("^\\d+$")
    assert intersection() is FREE_TEXT
    assert intersection(FREE_TEXT, digits, FREE_TEXT) is digits
    assert intersection(digits, digits) is digits
    assert intersection(digits, search_language("")) is digits
    assert intersection(FREE_TEXT, FREE_TEXT) is FREE_TEXT
    assert difference(digits, search_language("[]")) is digits
    chosen = intersection(literal_set(["1", "22", "x", "é"]), digits, search_language("^.{2}"))
    assert chosen.members == [b"22"]  # type: ignore[attr-defined]
    left = difference(literal_set(["1", "x"]), digits)
    assert left.members == [b"x"]  # type: ignore[attr-defined]
    flat = intersection(intersection(digits, search_language("1")), search_language("2"))
    assert len(flat.components) == 3  # type: ignore[attr-defined]


def test_products_become_universal() -> None:
    language = intersection(search_language("a"), search_language("b"))
    state = language.run(b"ab")
    assert language.universal(state)
    assert language.run("é".encode(), state) == state
    assert not language.universal(language.run(b"a"))
    without = difference(FREE_TEXT, search_language("^a"))
    assert without.universal(without.run(b"b"))


def test_product_lengths() -> None:
    language = intersection(search_language("^(..)+$"), search_language("^(...)+$"), search_language("^[a-z]*$"))
    assert language.lengths(language.start) == LengthSet(1 << 6, 1, 6)
    assert language.shortest(language.start) == 6
    counted = intersection(search_language("^.{3,300}$"), search_language("^[a-z]*$"))
    found = counted.lengths(counted.start)
    assert (found.first_in(0, None), found.first_in(300, None), found.first_in(301, None)) == (3, 300, None)
    apart = difference(FREE_TEXT, literal_set(["", "a", "bb"]))
    found = apart.lengths(apart.start)
    assert [n in found for n in range(4)] == [False, True, True, True]


def test_products_pickle() -> None:
    parts: list[TextLanguage] = [search_language("^a"), search_language("b$")]
    for language in (intersection(*parts), difference(*parts), literal_set(["x", "é"])):
        copy = pickle.loads(pickle.dumps(language))
        for text in ("".join(t) for n in range(4) for t in itertools.product("abxé", repeat=n)):
            assert copy.matches(text.encode()) == language.matches(text.encode())


def test_deciding_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two counters with coprime periods: nothing short of their product tells that they never meet."""
    monkeypatch.setattr(nearest, "MAX_SEARCH", 5000)
    rows = [search_language(f"^(?:a{{{n}}})*b{{{k}}}$") for k, n in enumerate((331, 337), start=1)]
    with pytest.raises(ResourceLimitError):
        intersection(*rows)
