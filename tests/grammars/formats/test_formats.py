"""All formats against the official suite and against jsonschema-rs, and the contract of a text language."""

from __future__ import annotations

import pickle
import random
import threading
import unicodedata

import jsonschema_rs
import pytest

from constrain.grammars.formats import KNOWN_FORMATS, NARROWINGS, format_language, format_superset
from constrain.grammars.languages.base import TextLanguage
from constrain.grammars.languages.text import FREE_TEXT, difference

from ...oracles import FULL
from .texts import DRAFTS, has, mutated, narrowed, suite, words

COUNT = 1500 if FULL else 250


def language_of(name: str, draft: int = 2020) -> TextLanguage:
    found = format_language(name, draft)
    assert found is not None
    return found


@pytest.mark.parametrize("draft", DRAFTS.values())
def test_official_suite(draft: int) -> None:
    count = 0
    for case in suite():
        if case.draft != draft:
            continue
        language = format_language(case.format, draft)
        if language is None:
            assert case.valid, "formats that nobody knows are annotations"
            continue
        if has(language, case.text) != case.valid:
            assert case.valid, f"{case} is accepted"
            assert narrowed(case.format, case.text), f"{case} is refused"
        superset = format_superset(case.format, draft)
        assert superset is not None
        assert not case.valid or has(superset, case.text), f"{case} is not in the superset"
        count += 1
    assert count > 100


def test_names() -> None:
    assert format_language("int32") is None
    assert format_superset("color") is None
    assert set(NARROWINGS) <= KNOWN_FORMATS
    in_suite = {case.format for case in suite()}
    assert in_suite & KNOWN_FORMATS == KNOWN_FORMATS


# Verdicts of jsonschema-rs that are not those of the specification.


def expected_difference(name: str, text: str) -> bool:
    """Whether the specification, or a narrowing, sides against jsonschema-rs where that accepts a text."""
    text = text.replace("XN--", "xn--")
    if name == "hostname":
        return "xn--" in text
    if name == "email":
        # Display names; a tab in a quoted string.
        return "<" in text or "\t" in text or "@xn--" in text or ".xn--" in text
    if name == "idn-email":
        local, _, domain = text.rpartition("@")
        if len(local.encode()) > 64 or "<" in text or "\\" in local or not local.isprintable():
            return True
        return expected_difference("idn-hostname", domain)
    if name == "idn-hostname":
        # Capitals in Unicode labels, what maps to other characters, what is not in normal form or not assigned here.
        return not text.isascii() or "xn--" in text
    if name == "regex":
        # The numbers and names of NARROWINGS, and escapes and properties that ECMA-262 does not have.
        return any(sign in text for sign in ("{", "(?<", "\\", "(?i", "(?m", "(?s", "(?-"))
    if name == "uri-template":
        # Only what RFC 6570 lists: no C1 controls, noncharacters or private ones outside of their planes.
        return any(ord(c) > 126 and unicodedata.category(c) in ("Cc", "Cn", "Co") for c in text)
    return False


@pytest.mark.parametrize("name", sorted(KNOWN_FORMATS))
def test_agreement(name: str) -> None:
    rng = random.Random(f"agreement {name}")
    language = language_of(name)
    superset = format_superset(name)
    assert superset is not None
    validator = jsonschema_rs.Draft202012Validator({"format": name}, validate_formats=True)
    count = COUNT // 4 if name.startswith("idn") else COUNT
    good = list(words(language, rng, count))
    pool = [case.text for case in suite() if case.format == name and len(case.text) < 200] + good
    both = neither = 0
    for text in [*pool, *(mutated(rng.choice(pool), rng, pool) for _ in range(2 * count))]:
        if any("\ud800" <= c <= "\udfff" for c in text):
            continue
        ours, theirs = has(language, text), validator.is_valid(text)
        assert theirs or not ours, f"{text!r} is accepted"
        assert ours or not theirs or expected_difference(name, text), f"{text!r} is refused"
        assert has(superset, text) or not ours, f"{text!r} is not in the superset"
        both += ours and theirs
        neither += not ours and not theirs
    assert both >= count
    assert neither >= count // 4


@pytest.mark.parametrize("name", ["email", "hostname", "ipv4", "relative-json-pointer", "regex", "uuid"])
def test_complements(name: str) -> None:
    rng = random.Random(f"complement {name}")
    superset = format_superset(name)
    assert superset is not None
    validator = jsonschema_rs.Draft202012Validator({"not": {"format": name}}, validate_formats=True)
    texts = list(words(difference(FREE_TEXT, superset), rng, 60))
    assert all(validator.is_valid(text) for text in texts)


@pytest.mark.parametrize("name", sorted(KNOWN_FORMATS))
def test_contract(name: str) -> None:
    """Boundaries, dead ends and distances along words."""
    rng = random.Random(f"contract {name}")
    language = language_of(name)
    for text in words(language, rng, 25):
        state, rest = language.start, text.encode()
        for index, character in enumerate(text):
            assert language.boundary(state)
            assert len(text) - index in language.lengths(state)
            assert language.shortest(state) <= len(rest)
            assert language.accepting(state) == (language.shortest(state) == 0) == (0 in language.lengths(state))
            for byte in character.encode():
                assert rest[0] == byte
                rest = rest[1:]
                state = language.next(state, byte)
                assert state != 0
                assert language.shortest(state) <= len(rest)
        assert language.accepting(state)
        for byte in (0x80, 0xC0, 0xFF):
            assert language.next(state, byte) == 0


def test_shared_and_picklable() -> None:
    found: list[TextLanguage | None] = []
    threads = [threading.Thread(target=lambda: found.append(format_language("date-time"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(language) for language in found}) == 1
    for name in KNOWN_FORMATS:
        for draft in (4, 2020):
            language = language_of(name, draft)
            copy = pickle.loads(pickle.dumps(language))
            # What other tests made may have pushed its pattern out of what the process keeps.
            assert copy is language or copy is pickle.loads(pickle.dumps(language))
    assert language_of("hostname", 4) is not language_of("hostname")


def test_threads_build_one_automaton() -> None:
    texts = [f"a{n}.example{n}.com" for n in range(200)]
    language = language_of("hostname")
    verdicts: list[bool] = []

    def run() -> None:
        verdicts.extend(has(language, text) for text in texts)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(verdicts) == 800
    assert all(verdicts)
