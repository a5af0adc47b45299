"""JSON numbers under constraints, as languages of their texts.

A text is admitted only when the exact value it denotes satisfies the constraint: decided on the digits, never on a
float. Every satisfying value keeps its plain decimal spelling, with any number of further zeros after the point.
Spellings with an exponent are admitted as far as a finite automaton can decide them; `spelling_narrowings` says what is
left out.
"""

from __future__ import annotations

from functools import lru_cache

from constrain.grammars.languages.base import Language
from constrain.grammars.languages.number_constraint import NumberConstraint, common_multiple, satisfies
from constrain.grammars.languages.number_exponent import EXPONENT_DIGITS, EXPONENT_LIMIT
from constrain.grammars.languages.number_interval import (
    INTEGER_FRACTION_LIMIT,
    LONG_MANTISSA_EXPONENT_LIMIT,
    IntervalLanguage,
)
from constrain.grammars.languages.number_values import ValuesLanguage

__all__ = ["INTEGER", "NUMBER", "NumberConstraint", "number_language", "satisfies", "spelling_narrowings"]


def number_language(constraint: NumberConstraint) -> Language:
    """The texts `-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?` whose value satisfies `constraint`.

    Its `start` is `DEAD` when no value does. Equal constraints share one language while it stays in the cache, which
    holds the 1,024 used last beside `NUMBER` and `INTEGER`.
    Raises ValueError for a multiple that is not positive, and for a number that is not a finite decimal.
    """
    return _PERMANENT.get(constraint) or _cached(constraint)


def _build(constraint: NumberConstraint) -> Language:
    if constraint.values is not None:
        admitted = [v for v in constraint.values if satisfies(constraint, v)]
        return ValuesLanguage(admitted, constraint.integer_literals_only)
    return IntervalLanguage(constraint)


_cached = lru_cache(maxsize=1024)(_build)


def spelling_narrowings(constraint: NumberConstraint) -> tuple[str, ...]:
    """Which spellings of admitted values the language leaves out, one sentence each; empty when it leaves out none."""
    c = constraint
    if c.integer_literals_only:
        return ()
    if c.values is not None:
        return ("An enumerated number has an exponent only as Python or JavaScript writes the double that equals it.",)
    multiple = common_multiple(c)
    if multiple not in (None, 1):
        return ("Under multipleOf, numbers are written without an exponent.",)
    sentences = [
        f"Exponents have at most {EXPONENT_DIGITS} digits and stay within ±{EXPONENT_LIMIT}, and up to "
        f"+{LONG_MANTISSA_EXPONENT_LIMIT} after an integer part of two or more digits."
    ]
    if multiple is not None:
        sentences.append(
            "An integer has an exponent only without a minus sign, at least as large as the number of fraction digits, "
            f"of which there are at most {INTEGER_FRACTION_LIMIT}; where zero is excluded, only after a first digit "
            "other than 0."
        )
    if c.minimum is not None or c.maximum is not None:
        sentences.append(
            "On a side of zero that bounds restrict, an exponent follows only one nonzero digit with an optional "
            "fraction, and only where all of the decade from 10**e up to 10**(e+1) lies within the bounds."
        )
    if c.non_integer or c.not_multiples or c.not_values:
        sentences.append(
            "Where numbers are excluded, an exponent follows only one nonzero digit with an optional fraction, and "
            "only where the decade from 10**e up to 10**(e+1) holds no excluded value and lies below every number "
            "whose multiples are excluded."
        )
    return tuple(sentences)


NUMBER: Language = IntervalLanguage(NumberConstraint())
"""Every number."""

INTEGER: Language = IntervalLanguage(NumberConstraint(integer=True))
"""Every integer, `1.0` and `1e2` included."""

_PERMANENT = {NumberConstraint(): NUMBER, NumberConstraint(integer=True): INTEGER}
