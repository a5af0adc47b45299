"""Number languages against exact rational arithmetic, exhaustive short texts and two JSON Schema validators."""

from __future__ import annotations

import itertools
import json
import re
import threading
from dataclasses import replace
from fractions import Fraction
from random import Random

import jsonschema
import jsonschema_rs
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from constrain.grammars.languages.base import DEAD, Language
from constrain.grammars.languages.number import (
    INTEGER,
    NUMBER,
    NumberConstraint,
    number_language,
    satisfies,
    spelling_narrowings,
)
from constrain.grammars.languages.number_constraint import decimal_places
from constrain.grammars.languages.number_interval import IntervalLanguage
from constrain.grammars.languages.number_values import plain_decimal

F = Fraction
TEXT = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?)([0-9]+))?")


# ---- the oracle: a decision on a whole text, by rational arithmetic


def value_ok(c: NumberConstraint, v: Fraction) -> bool:
    """The meaning of a constraint, written independently of `satisfies`."""

    def multiple(of: Fraction) -> bool:
        return v % of == 0

    return (
        (c.minimum is None or v > c.minimum or (v == c.minimum and not c.exclusive_minimum))
        and (c.maximum is None or v < c.maximum or (v == c.maximum and not c.exclusive_maximum))
        and all(map(multiple, c.multiples))
        and not any(map(multiple, c.not_multiples))
        and (multiple(F(1)) or not c.integer)
        and not (multiple(F(1)) and c.non_integer)
        and (c.values is None or v in c.values)
        and v not in c.not_values
    )


def counted_multiple(numbers: list[Fraction]) -> Fraction:
    """The least common multiple, counted out."""
    largest = max(numbers)
    return next(k * largest for k in itertools.count(1) if all(k * largest % m == 0 for m in numbers))


def admitted(c: NumberConstraint, text: str) -> bool:
    """Whether the documented language of `c` holds `text`."""
    match = TEXT.fullmatch(text)
    if match is None:
        return False
    sign, whole_part, fraction, exponent_sign, exponent_digits = match.groups()
    if c.integer and not c.integral_fraction and (fraction or exponent_digits):
        return False
    if exponent_digits is None:
        return value_ok(c, F(text))
    exponent = int((exponent_sign or "") + exponent_digits)
    if len(exponent_digits) > 3 or abs(exponent) > 307 or not value_ok(c, F(text)):
        return False
    value = F(text)
    if c.values is not None:
        python = repr(float(value))
        return text in (python, re.sub(r"e([+-])0", r"e\1", python))
    multiples = [*c.multiples, *([F(1)] if c.integer else [])]
    # Exponents need the multiples to demand nothing, or exactly an integer.
    if multiples and (any(F(1) % m for m in multiples) or counted_multiple(multiples) != 1):
        return False
    integral = bool(multiples)
    written = len(fraction or "")
    if integral and (exponent_sign == "-" or exponent < written or written > 17):
        return False
    # Mirror a negative text, so that what follows speaks of magnitudes.
    if sign:
        c = replace(
            c,
            minimum=None if c.maximum is None else -c.maximum,
            exclusive_minimum=c.exclusive_maximum,
            maximum=None if c.minimum is None else -c.minimum,
            exclusive_maximum=c.exclusive_minimum,
            not_values=frozenset(-v for v in c.not_values),
        )
    open_minded = replace(c, not_values=frozenset())
    banned = [v for v in c.not_values if v > 0 and value_ok(open_minded, v)]
    avoided = [*c.not_multiples, *([F(1)] if c.non_integer else [])]
    least = F(1) if integral else F(1, 10**400)
    if c.maximum is None and not banned and not avoided and value_ok(open_minded, least):
        zero_ok = value_ok(c, F(0))
        if whole_part == "0" and integral and not zero_ok:
            return False
        return len(whole_part) == 1 or exponent <= 199
    if len(whole_part) > 1 or whole_part == "0":
        return False
    low, high = F(10) ** exponent, F(10) ** (exponent + 1)
    above = NumberConstraint(minimum=c.minimum, exclusive_minimum=c.exclusive_minimum)
    below = NumberConstraint(maximum=c.maximum, exclusive_maximum=c.exclusive_maximum)
    return (
        value_ok(above, low)
        and (value_ok(below, high - 1) if integral else c.maximum is None or high <= c.maximum)
        and all(high <= a for a in avoided)
        and not any(low <= b < high for b in banned)
    )


# ---- strategies

small = st.builds(lambda n, s: F(n, 10**s), st.integers(-320, 320), st.sampled_from([0, 0, 0, 1, 2, 3]))
large = st.builds(
    lambda n, e: n * F(10) ** e,
    st.sampled_from([1, -1, 5, 9007199254740993, -99, 123456789]),
    st.sampled_from([0, 3, 16, 300, -2, -7, -20]),
)
numbers = st.one_of(small, small, small, large)
moduli = st.one_of(
    st.sampled_from(
        [F(1), F(2), F(3), F(5), F(7), F(16), F("0.01"), F("0.1"), F("0.25"), F("1.5"), F(10**9), F("2.4")]
    ),
    st.builds(lambda n, s: F(n, 10**s), st.integers(1, 60), st.integers(0, 2)),
)


@st.composite
def constraints(draw: st.DrawFn, enumerations: bool = True) -> NumberConstraint:
    def maybe(strategy: st.SearchStrategy[Fraction]) -> Fraction | None:
        return draw(st.one_of(st.none(), strategy))

    minimum, maximum = maybe(numbers), maybe(numbers)
    if minimum is not None and maximum is not None and minimum > maximum and draw(st.integers(0, 9)):
        minimum, maximum = maximum, minimum
    rare = st.sampled_from([0, 0, 0, 1])
    return NumberConstraint(
        integer=draw(st.booleans()),
        integral_fraction=draw(st.sampled_from([True, True, False])),
        minimum=minimum,
        exclusive_minimum=draw(st.booleans()),
        maximum=maximum,
        exclusive_maximum=draw(st.booleans()),
        multiples=tuple(draw(st.lists(moduli, max_size=2))) if draw(rare) else (),
        values=frozenset(draw(st.lists(numbers, max_size=6))) if enumerations and draw(rare) else None,
        non_integer=not draw(st.integers(0, 7)),
        not_multiples=tuple(draw(st.lists(moduli, max_size=2))) if draw(rare) else (),
        not_values=frozenset(draw(st.lists(small, max_size=4))) if draw(rare) else frozenset(),
    )


@st.composite
def texts(draw: st.DrawFn, c: NumberConstraint) -> str:
    """Texts that have a chance to lie at the edge of what `c` admits."""
    anchors = [F(0), *(v for v in (c.minimum, c.maximum) if v is not None), *c.multiples, *c.not_multiples]
    anchors += [*sorted(c.values or ()), *sorted(c.not_values)]
    kind = draw(st.integers(0, 3))
    if kind == 0:
        anchor = draw(st.sampled_from(anchors))
        delta = draw(st.sampled_from([F(0), F(1), F(-1), F("0.1"), F("-0.1"), F("0.001"), F("-0.001"), F(10), F(-5)]))
        text = plain_decimal(anchor + delta * draw(st.sampled_from([1, 1, 3, 10])))
        zeros = draw(st.integers(0, 3))
        return text + (("" if "." in text else ".") + "0" * zeros if zeros else "")
    if kind == 1:
        modulus = draw(st.sampled_from([*c.multiples, F(1), F("0.5")]))
        return plain_decimal(modulus * draw(st.integers(-500, 500)))
    if kind == 2:
        return draw(st.from_regex(r"\A-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,4})?\Z"))
    mantissa = draw(st.from_regex(r"\A-?[0-9](\.[0-9]{1,3})?\Z"))
    return mantissa + draw(st.sampled_from(["e", "E", "e+", "e-", "e+0", "e-0"])) + str(draw(st.integers(0, 20)))


relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


# ---- whole texts


@given(st.data(), constraints())
@settings(relaxed, max_examples=500)
def test_texts_are_admitted_exactly_as_documented(data: st.DataObject, c: NumberConstraint) -> None:
    language = number_language(c)
    for text in data.draw(st.lists(texts(c), min_size=1, max_size=8)):
        assert language.matches(text.encode()) == admitted(c, text), (text, c)


@given(constraints(), numbers)
@settings(relaxed, max_examples=300)
def test_every_satisfying_value_keeps_its_plain_spelling(c: NumberConstraint, value: Fraction) -> None:
    assert satisfies(c, value) == value_ok(c, value)
    language = number_language(c)
    plain = plain_decimal(value)
    assert F(plain) == value
    spellings = [plain]
    if not (c.integer and not c.integral_fraction):
        point = "" if "." in plain else "."
        spellings += [plain + point + "0", plain + point + "000"]
    if value == 0:
        spellings += ["-" + s for s in spellings]
    for text in spellings:
        assert language.matches(text.encode()) == value_ok(c, value), (text, c)


@given(constraints(), st.binary(max_size=6))
@settings(relaxed, max_examples=100)
def test_nothing_but_json_numbers(c: NumberConstraint, text: bytes) -> None:
    if number_language(c).matches(text):
        assert TEXT.fullmatch(text.decode("ascii"))
        json.loads(text)


@given(constraints(), st.floats(allow_nan=False, allow_infinity=False), st.integers(-(10**30), 10**30))
@settings(relaxed, max_examples=200)
@example(NumberConstraint(), 1e-07, 0)
@example(NumberConstraint(), 1e16, 0)
@example(NumberConstraint(minimum=F(0), maximum=F(1)), 1.5e-09, 0)
def test_python_spelling_of_free_numbers(c: NumberConstraint, x: float, n: int) -> None:
    """What `json.dumps` writes is admitted wherever bounds leave the decade, or the sign, alone."""
    if 1e-307 <= abs(x) < 1e308:
        assert NUMBER.matches(json.dumps(x).encode())
        if x == int(x):
            assert INTEGER.matches(json.dumps(x).encode())
    assert NUMBER.matches(str(n).encode())
    assert INTEGER.matches(str(n).encode())
    finite = replace(c, values=frozenset({F(x), F(n)}) if decimal_places(F(x)) < 400 else frozenset({F(n)}))
    language = number_language(finite)
    # repr names the nearest double, whose exact value is usually another rational.
    if F(repr(x)) == F(x):
        assert language.matches(repr(x).encode()) == (
            F(x) in (finite.values or ()) and value_ok(finite, F(x)) and admitted(finite, repr(x))
        )


# ---- short texts, all of them

DIGITS = "0159"


def short_texts(limit: int) -> list[str]:
    tails = ["".join(t) for k in range(limit + 1) for t in itertools.product(DIGITS + "-.e+", repeat=k)]
    return [t for t in tails if TEXT.fullmatch(t)]


SHORT = short_texts(5)


@given(constraints())
@settings(relaxed, max_examples=30)
@example(NumberConstraint())
@example(NumberConstraint(integer=True))
@example(NumberConstraint(minimum=F(0), exclusive_minimum=True))
@example(NumberConstraint(integer=True, minimum=F(1)))
@example(NumberConstraint(minimum=F("0.5"), maximum=F("1.05"), exclusive_maximum=True))
@example(NumberConstraint(minimum=F(-1), maximum=F(100), not_values=frozenset({F(0), F(5)})))
@example(NumberConstraint(non_integer=True, minimum=F(0), maximum=F(1)))
@example(NumberConstraint(non_integer=True, multiples=(F("0.5"),)))
def test_all_short_texts_and_their_prefixes(c: NumberConstraint) -> None:
    language = number_language(c)
    prefixes = {""}
    for text in SHORT:
        expected = admitted(c, text)
        state = language.run(text.encode())
        assert (state != DEAD and language.accepting(state)) == expected, text
        if expected:
            prefixes.update(text[:k] for k in range(len(text) + 1))
    if language.start == DEAD:
        assert prefixes == {""}
        return
    # Among texts of four digits, a live prefix whose shortest completion is short and uses them has been seen above.
    for prefix in prefixes - {""}:
        assert language.run(prefix.encode()) != DEAD


# ---- trimmed states and distances


def reachable(language: Language, random: Random, limit: int) -> list[int]:
    """Up to `limit` distinct states, found by random order search."""
    seen, frontier = {language.start} - {DEAD}, [language.start]
    while frontier and len(seen) < limit and language.start != DEAD:
        state = frontier.pop(random.randrange(len(frontier)))
        for following in sorted({int(s) for s in language.row(state)} - {DEAD} - seen):
            seen.add(following)
            frontier.append(following)
    return sorted(seen)


def check_distances(language: Language, states: list[int]) -> None:
    """Every state completes in exactly `shortest` bytes: the distances solve the shortest path equations."""
    for state in states:
        row = language.row(state)
        assert row.dtype == "int32"
        assert row.shape == (256,)
        assert not row.flags.writeable
        distance = language.shortest(state)
        following = {int(s) for s in row} - {DEAD}
        if language.accepting(state):
            assert distance == 0
        else:
            assert following, "a state that is neither accepting nor extensible"
            assert distance == 1 + min(map(language.shortest, following))


@given(constraints(), st.integers(0, 2**32))
@settings(relaxed, max_examples=120)
@example(NumberConstraint(integer=True, minimum=F(4), maximum=F(5), multiples=(F(3),)), 0)
@example(NumberConstraint(minimum=F("0.3333"), maximum=F("0.3334"), exclusive_minimum=True, exclusive_maximum=True), 0)
@example(NumberConstraint(multiples=(F(10**9 + 7),), minimum=F(10**9 + 8), maximum=F(10**12)), 0)
@example(NumberConstraint(multiples=(F(7), F(11), F("0.13"))), 0)
@example(NumberConstraint(non_integer=True, not_multiples=(F("0.5"), F("0.3")), multiples=(F("0.1"),)), 0)
@example(NumberConstraint(minimum=F("9.95"), maximum=F(10**300), integer=True), 0)
def test_every_state_is_live_and_knows_its_distance(c: NumberConstraint, seed: int) -> None:
    language = number_language(c)
    check_distances(language, reachable(language, Random(seed), 60))


@given(st.data(), constraints(enumerations=False))
@settings(relaxed, max_examples=150)
def test_dead_prefixes_have_no_completion(data: st.DataObject, c: NumberConstraint) -> None:
    """No admitted text passes through the dead state; texts are made by completing prefixes by brute force."""
    language = number_language(c)
    prefix = data.draw(texts(c))
    prefix = prefix[: data.draw(st.integers(0, len(prefix)))]
    if language.run(prefix.encode()) == DEAD and re.fullmatch(r"-?(0|[1-9][0-9]*)?\.?[0-9]*", prefix):
        for tail in [
            "",
            *map(str, range(0, 1000, 3)),
            *(f"{a}.{b}" for a in ("", 0, 5, 99) for b in (0, 5, 99, "001")),
        ]:
            assert not admitted(c, prefix + tail), prefix + tail


@pytest.mark.parametrize(
    "c",
    [
        NumberConstraint(integer=True, minimum=F(4), maximum=F(5), multiples=(F(3),)),
        NumberConstraint(minimum=F(1), maximum=F(1), exclusive_maximum=True),
        NumberConstraint(minimum=F(2), maximum=F(1)),
        NumberConstraint(integer=True, minimum=F("0.1"), maximum=F("0.9")),
        NumberConstraint(integer=True, non_integer=True),
        NumberConstraint(multiples=(F(6),), not_multiples=(F(3),)),
        NumberConstraint(integer=True, minimum=F(1), maximum=F(3), not_values=frozenset({F(1), F(2), F(3)})),
        NumberConstraint(values=frozenset()),
        NumberConstraint(values=frozenset({F("1.5"), F(7)}), integer=True, maximum=F(6)),
        NumberConstraint(minimum=F(0), maximum=F(0), not_values=frozenset({F(0)})),
        NumberConstraint(multiples=(F(10**9), F(7)), minimum=F(1), maximum=F(7 * 10**9 - 1)),
    ],
)
def test_unsatisfiable_constraints_start_dead(c: NumberConstraint) -> None:
    assert number_language(c).start == DEAD
    with pytest.raises(ValueError, match="dead"):
        number_language(c).shortest(DEAD)


# ---- named examples


@pytest.mark.parametrize(
    ("c", "yes", "no"),
    [
        (
            NumberConstraint(),
            "0 -0 1 -1.50 1e5 1E+05 1e-07 1.7e-300 1e307 12e199 0e5 1e0",
            "01 1. .5 +1 1e 1e400 1e308 12e300 1e0005 - 1e+ 0x1 1_0 NaN Infinity",
        ),
        (
            NumberConstraint(integer=True),
            "0 -0 10 1.0 -3.000 1e+16 1.5e+300 1E2 1.50e2 123456789012345678901234567890 0.0",
            "1.5 15e-1 1.55e1 1e400 01 1e-1 0.5",
        ),
        (NumberConstraint(integer=True, integral_fraction=False), "0 -0 10 -77", "1.0 1e2 1E2 1. 0.0 00"),
        (NumberConstraint(minimum=F(0)), "0 -0 -0.0 5 0.1 1e-07 12.5e3", "-1 -0.1 -1e5 -0.01"),
        (NumberConstraint(minimum=F(0), exclusive_minimum=True), "0.1 1e-07 0.001e5", "0 -0 0.0 0e5 0.00e3"),
        (NumberConstraint(minimum=F(0), maximum=F(1)), "0 1 1.0 0.5 1e-07 9.99e-5 -0", "1.01 2 1e0 10e-1 1e1 -0.1"),
        (
            NumberConstraint(integer=True, minimum=F(1), maximum=F(65535)),
            "1 65535 65535.0 9999 1e3 9.99e3",
            "0 65536 1e4 -1 99999",
        ),
        (
            NumberConstraint(minimum=F(9007199254740993)),
            "9007199254740993 9007199254740993.0 1e16",
            "9007199254740992 9007199254740992.9",
        ),
        (
            NumberConstraint(maximum=F(10**308)),
            f"1{'0' * 308} {'9' * 308} 9.9e307 -1e307",
            f"1{'0' * 307}1 1{'0' * 309} 1{'0' * 308}.1",
        ),
        (NumberConstraint(multiples=(F("0.01"),)), "0.07 4.35 17.99 0 -0 17.9900 3", "0.075 0.001 7e-2"),
        (NumberConstraint(multiples=(F("0.1"),)), "0.3 1.1 7 -0.30", "0.31 0.05"),
        (NumberConstraint(integer=True, multiples=(F("0.5"),)), "1 -7.0 1e5", "0.5 1.5"),
        (NumberConstraint(multiples=(F("0.5"), F("0.2"))), "1 -7.0 1e5", "0.5 0.2"),
        (NumberConstraint(non_integer=True), "1.5 -0.5 1.05 1.5e-3", "1 1.0 0 -0.0 10e-1 1e5"),
        (
            NumberConstraint(values=frozenset({F(1), F("1e-7"), F(10**16), F("2.50")})),
            "1 1.00 2.5 2.500 1e-07 1e-7 0.0000001 1e+16 10000000000000000",
            "2 1e0 10e-1 2.51 1E-07",
        ),
        (NumberConstraint(not_values=frozenset({F(5)})), "4 50 5.5 55 0.5 5e1 4e5", "5 5.0 5.000 5e0 50e-1"),
        (
            NumberConstraint(multiples=(F(10**9),), maximum=F(10**12)),
            "0 1000000000 1000000000000 -5000000000.0",
            "1 1000000000001 1001000000000 10",
        ),
    ],
)
def test_named_examples(c: NumberConstraint, yes: str, no: str) -> None:
    language = number_language(c)
    assert [t for t in yes.split() if not language.matches(t.encode())] == []
    assert [t for t in no.split() if language.matches(t.encode())] == []


@pytest.mark.parametrize(
    ("c", "limit"),
    [
        (NumberConstraint(), 25),
        (NumberConstraint(minimum=F(0)), 25),
        (NumberConstraint(minimum=F(0), exclusive_minimum=True), 25),
        (NumberConstraint(minimum=F(0), maximum=F(1)), 28),
        (NumberConstraint(integer=True, minimum=F(0), maximum=F(100)), 24),
        (NumberConstraint(integer=True, integral_fraction=False), 4),
        (NumberConstraint(integer=True, integral_fraction=False, minimum=F(0), maximum=F(100)), 9),
        (NumberConstraint(integer=True, integral_fraction=False, minimum=F(1), maximum=F(65535)), 11),
        (NumberConstraint(multiples=(F("0.01"),)), 8),
        (NumberConstraint(multiples=(F(10**9),)), 28),
        (NumberConstraint(values=frozenset(map(F, range(1, 101)))), 9),
        (NumberConstraint(non_integer=True), 26),
    ],
)
def test_states_merge(c: NumberConstraint, limit: int) -> None:
    language = number_language(c)
    states = reachable(language, Random(0), 10_000)
    assert len(states) <= limit
    check_distances(language, states)


def test_huge_moduli_stay_lazy() -> None:
    product = (10**9 + 7) * (10**9 + 9)
    language = number_language(NumberConstraint(multiples=(F(10**9 + 7), F(10**9 + 9)), maximum=F(10**40)))
    for factor in (0, 1, 3, 10**20 + 39):
        assert language.matches(str(product * factor).encode())
        assert not language.matches(str(product * factor + 1).encode())
    assert not language.matches(str(product * (10**40 // product + 1)).encode())
    start = language.run(b"1")
    assert language.shortest(start) == min(k for k in range(30) if -(-(10**k) // product) * product < 2 * 10**k)


def test_threads_share_a_language() -> None:
    c = NumberConstraint(multiples=(F(7), F("0.25")), minimum=F(-1000), maximum=F(12345), not_values=frozenset({F(7)}))
    language = IntervalLanguage(c)
    values = [F(7 * k, 1) for k in range(-200, 1800)] + [F(k, 4) for k in range(-50, 400)]
    wrong: list[Fraction] = []

    def work(seed: int) -> None:
        mine = values[:]
        Random(seed).shuffle(mine)
        wrong.extend(v for v in mine if language.matches(plain_decimal(v).encode()) != value_ok(c, v))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_equal_constraints_share_one_language() -> None:
    assert number_language(NumberConstraint(minimum=F(3))) is number_language(NumberConstraint(minimum=F("3.0")))
    assert number_language(NumberConstraint()) is NUMBER


def test_malformed_constraints_are_refused() -> None:
    with pytest.raises(ValueError, match="multiple"):
        number_language(NumberConstraint(multiples=(F(0),)))
    with pytest.raises(ValueError, match="decimal"):
        number_language(NumberConstraint(minimum=F(1, 3)))


@given(constraints())
@settings(relaxed, max_examples=100)
def test_narrowings_are_named_where_an_exponent_is_refused(c: NumberConstraint) -> None:
    narrowings = spelling_narrowings(c)
    assert all(s.endswith(".") and len(s) < 250 for s in narrowings)
    if not narrowings:
        assert c.integer
        assert not c.integral_fraction


# ---- validators


@given(
    st.integers(-50, 50),
    st.integers(-50, 50),
    st.sampled_from([None, 1, 2, 3, 7]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
@settings(relaxed, max_examples=60)
def test_agreement_with_validators_on_integers(
    low: int, high: int, multiple: int | None, open_low: bool, open_high: bool, integer: bool
) -> None:
    schema: dict[str, object] = {
        "type": "integer" if integer else "number",
        "exclusiveMinimum" if open_low else "minimum": low,
        "exclusiveMaximum" if open_high else "maximum": high,
    }
    if multiple:
        schema["multipleOf"] = multiple
    c = NumberConstraint(
        integer=integer,
        minimum=F(low),
        exclusive_minimum=open_low,
        maximum=F(high),
        exclusive_maximum=open_high,
        multiples=(F(multiple),) if multiple else (),
    )
    language = number_language(c)
    python, rust = jsonschema.Draft202012Validator(schema), jsonschema_rs.Draft202012Validator(schema)
    for value in [*range(-60, 61), 0.5, -0.5, 1.0, 7.0, 14.5, -49.5]:
        text = json.dumps(value).encode()
        assert language.matches(text) == python.is_valid(value) == rust.is_valid(value), (schema, text)


@pytest.mark.parametrize("multiple", ["0.01", "0.1", "0.25", "0.5", "1.0", "16"])
def test_agreement_with_jsonschema_rs_on_decimals(multiple: str) -> None:
    """Python's jsonschema divides doubles and errs here (0.07 by 0.01)."""
    schema = {"type": "number", "multipleOf": json.loads(multiple), "minimum": -3.5, "exclusiveMaximum": 17.99}
    validator = jsonschema_rs.Draft202012Validator(schema)
    language = number_language(
        NumberConstraint(multiples=(F(multiple),), minimum=F("-3.5"), maximum=F("17.99"), exclusive_maximum=True)
    )
    for hundredths in range(-400, 1900, 3):
        text = plain_decimal(F(hundredths, 100))
        assert language.matches(text.encode()) == validator.is_valid(json.loads(text)), text
