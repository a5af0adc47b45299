"""What machines say about themselves, against searches through their steps."""

from __future__ import annotations

import heapq
import random
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from constrain.grammars.formats import format_language
from constrain.grammars.formats.machine import Machine, MachineLanguage
from constrain.grammars.regex import PatternError, parse

from ...oracles import FULL
from .texts import has, words

# Longest walk to a state, and how many characters to look ahead; names of drafts before 07 stand for themselves.
MACHINES = {
    "date": (12, 7),
    "date-time": (30, 7),
    "email": (330, 6),
    "hostname": (260, 6),
    "hostname 4": (260, 6),
    "idn-email": (150, 2),
    "idn-hostname": (120, 2),
    "regex": (40, 3),
    "time": (14, 7),
}


def machine_of(name: str) -> Machine[Any]:
    language = format_language(name.split()[0], 4 if name.endswith(" 4") else 2020)
    assert isinstance(language, MachineLanguage)
    return language._machine


def lengths_by_layers(machine: Machine[Any], state: Any, depth: int) -> list[bool]:
    out, layer = [], {state}
    for _ in range(depth + 1):
        out.append(any(map(machine.accepts, layer)))
        layer = {after for each in layer for _, _, after in machine.moves(each)}
        if len(layer) > 3000:
            break
    return out


def nearest(machine: Machine[Any], start: Any) -> int | None:
    """Fewest bytes to acceptance by Dijkstra; None when that takes too long."""
    queue: list[tuple[int, int, Any]] = [(0, 0, start)]
    done = set()
    ticket = 0
    while queue:
        so_far, _, state = heapq.heappop(queue)
        if machine.accepts(state):
            return so_far
        if state in done:
            continue
        done.add(state)
        if len(done) > 5000:
            return None
        for first, _, after in machine.moves(state):
            ticket += 1
            heapq.heappush(queue, (so_far + len(chr(first).encode()), ticket, after))
    raise AssertionError(f"dead state {start}")


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_distances(name: str) -> None:
    longest, depth = MACHINES[name]
    rng = random.Random(f"distances {name}")
    machine = machine_of(name)
    rounds = (10 if name.startswith("idn") else 40) * (5 if FULL else 1)
    for _ in range(rounds):
        state = machine.start
        for _ in range(rng.randrange(longest)):
            targets = list(dict.fromkeys(after for _, _, after in machine.moves(state)))
            if not targets:
                break
            state = rng.choice(targets)
        lengths = machine.lengths(state)
        for count, expected in enumerate(lengths_by_layers(machine, state, depth)):
            assert (count in lengths) == expected, (state, count)
        expected_bytes = nearest(machine, state)
        assert expected_bytes is None or machine.shortest(state) == expected_bytes, state


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_moves_are_disjoint(name: str) -> None:
    rng = random.Random(f"moves {name}")
    machine, state = machine_of(name), machine_of(name).start
    for _ in range(60):
        moves = sorted(machine.moves(state), key=lambda move: move[:2])
        assert all(before[1] < after[0] for before, after in pairwise(moves))
        state = rng.choice(moves)[2] if moves else machine.start


@pytest.mark.parametrize(("label", "name"), [(63, 253), (63, 254), (64, 200)])
def test_host_name_limits(label: int, name: int) -> None:
    text = ".".join(["a" * label] * 3)
    text += "." + "b" * (name - len(text) - 1)
    for language in map(format_language, ("hostname", "idn-hostname")):
        assert language is not None
        if label == 63 or "idn" not in repr(language):
            assert has(language, text) == (label <= 63 and name <= 253 and len(text.split(".")[-1]) <= 63)


def test_local_part_limit() -> None:
    email, idn_email = format_language("email"), format_language("idn-email")
    assert email is not None
    assert idn_email is not None
    for size in (63, 64, 65):
        for language in (email, idn_email):
            assert has(language, "a" * size + "@b") == (size <= 64)
            assert has(language, '"' + "a" * (size - 2) + '"@b') == (size <= 64)
        assert has(idn_email, "é" * (size // 2) + "a" * (size % 2) + "@b") == (size <= 64)


def test_patterns_parse() -> None:
    """What `regex` accepts, the parser of this library does not call invalid."""
    language = format_language("regex")
    assert language is not None
    kinds = set()
    for text in words(language, random.Random(7), 400):
        try:
            parse(text)
        except PatternError as error:
            kinds.add(error.kind)
    assert kinds <= {"unsupported"}


@pytest.mark.parametrize(
    ("pattern", "valid"),
    [
        ("^[a-z0-9]+(?:-[a-z0-9]+)*$", True),
        (r"^\d{3}-\d{4}$", True),
        (r"(?<y>\d{4})-(?<m>\d\d)", True),
        (r"(?<y>\d{4})-(?<year>\d\d)-\k<y>", True),
        (r"(?<y>\d{4})-(?<y>\d\d)", False),
        (r"\k<y>", False),
        (r"(a)\1", True),
        (r"(a)\2", False),
        (r"a{2,10}", True),
        (r"a{10,2}", False),
        (r"a{1,1}", True),
        (r"a{9,10}", True),
        (r"a{19,1}", False),
        (r"[z-a]", False),
        (r"[+--]", True),
        (r"[a-\d]", False),
        (r"[\x41-\u005A\u{61}-z]", True),
        (r"[\u005A-\x41]", False),
        (r"[\ud800-\udfff]", True),
        (r"[^]", True),
        (r"[^^]", True),
        (r"(?=a)*", False),
        (r"^*", False),
        (r"a**", False),
        (r"a*?", True),
        (r"a*??", False),
        (r"\p{Lu}\P{gc=L}", True),
        (r"\p{Nope}", False),
        (r"\u{10FFFF}", True),
        (r"\u{110000}", False),
        (r"\0", True),
        (r"\01", False),
        ("(" * 20 + ")" * 20, True),
        ("]", False),
        ("}", False),
        ("(", False),
        ("\\", False),
    ],
)
def test_patterns(pattern: str, valid: bool) -> None:
    language = format_language("regex")
    assert language is not None
    assert has(language, pattern) == valid


def _some_states(machine: Machine[Any], rng: random.Random, count: int) -> list[Any]:
    """States on random ways from the start."""
    found, state = [], machine.start
    for _ in range(count):
        found.append(state)
        moves = machine.moves(state)
        state = rng.choice(moves)[2] if moves and rng.random() < 0.97 else machine.start
    return found


def _by_code(moves: list[Any]) -> dict[int, Any]:
    """Where ASCII characters, and some others at the ends of ranges, lead."""
    codes = {*range(0x80), *(code for first, last, _ in moves for code in (first, last))}
    return {code: to for first, last, to in moves for code in codes if first <= code <= last}


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_quicker_ways_to_the_moves(name: str) -> None:
    rng = random.Random(f"arranged {name}")
    machine = machine_of(name)
    arranged = variants = endless = 0
    for state in _some_states(machine, rng, 400 * (5 if FULL else 1)):
        moves = machine.moves(state)
        found = machine.arranged(state)
        if found is not None:
            arranged += 1
            layout, targets = found
            assert len(set(targets)) == len(targets)
            assert _by_code([(a, b, targets[i]) for a, b, i in layout.ranges]) == _by_code(moves)
        variant = machine.variant(state)
        if variant is not None:
            variants += 1
            other, changes = variant
            assert machine.variant(other) is None
            expected = _by_code(machine.moves(other)) | {ord(character): to for character, to in changes}
            assert expected == _by_code(moves)
        members = machine.endless(state)
        if members:
            endless += 1
            at = state
            for _ in range(12):
                steps = machine.moves(at)
                for first, last in members.ranges:
                    assert all(any(a <= c <= b for a, b, _ in steps) for c in {first, min(last, 0x7F), last})
                first, last = rng.choice(members.ranges)
                code = rng.randint(first, min(last, 0x7F)) if first < 0x80 else last
                at = next(to for a, b, to in steps if a <= code <= b)
    assert (arranged > 0) == (name in ("email", "hostname", "regex", "hostname 4"))
    assert (variants > 0) == (endless > 0) == (name == "regex")


@pytest.mark.parametrize("name", ["date-time", "email", "hostname", "regex", "uri"])
def test_branches_are_the_row(name: str) -> None:
    rng = random.Random(f"branches {name}")
    language = format_language(name)
    assert language is not None
    state, quick = language.start, 0
    for _ in range(500 * (5 if FULL else 1)):
        row = language.row(state)
        branches = language.branches(state)
        if branches is not None:
            quick += 1
            states, column = branches
            assert states[0] == 0
            assert len(set(states)) == len(states)
            assert (np.array(states)[column] == row).all()
        variant = language.variant(state)
        if variant is not None:
            other, changes = variant
            expected = language.row(other).copy()
            for byte, to in changes:
                expected[byte] = to
            assert (expected == row).all()
        live = row[row > 0]
        state = int(rng.choice(live.tolist())) if len(live) and rng.random() < 0.97 else language.start
    assert (quick > 0) == (name in ("email", "hostname", "regex"))
