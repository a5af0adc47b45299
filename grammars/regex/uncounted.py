"""Counts that the length of the whole text tells: `[a-z][a-z0-9]{0,62}` is `[a-z][a-z0-9]*` of 1 to 63 characters.

Where all that stands around a counted class has one length, so many characters of the class are so many characters in
all. Then the count can be left to whoever counts the text, and the automaton has a state or two instead of 63.
"""

from __future__ import annotations

from typing import NamedTuple

from . import lengths as length_sets
from .terms import Chars, Concat, Repeat, Term, Terms, Union, chain


class Uncounted(NamedTuple):
    """A term that has the meaning of another one for texts of `low` to `high` characters, which has no others."""

    term: Term
    low: int
    high: int | None


def without_count(terms: Terms, term: Term, small: int) -> Uncounted | None:
    """The term without its counts beyond `small`, and bounds on the length; with the term itself if it has none.

    None where the length of a text does not tell the count. The term has no conditions.
    """
    if type(term) is Repeat:
        if type(term.body) is Chars and max(term.low, term.high or 0) > small:
            return Uncounted(terms.repeat(term.body, 0, None), term.low, term.high)
        if term.low == 0 and term.high == 1:
            return _any_of(terms, term, [terms.EPSILON, term.body], small)
    elif type(term) is Union:
        return _any_of(terms, term, list(term.options), small)
    elif type(term) is Concat:
        return _in_order(terms, term, small)
    return Uncounted(term, 0, None)


def _in_order(terms: Terms, term: Term, small: int) -> Uncounted | None:
    parts: list[Term] = []
    counted: Uncounted | None = None
    around = 0
    fixed = True
    for part in chain(term):
        found = without_count(terms, part, small)
        if found is None:
            return None
        parts.append(found.term)
        if found.term is not part:
            if counted is not None:
                return None
            counted = found
            continue
        lengths = terms.lengths(part)
        length = lengths.first_in(0, None)
        fixed = fixed and length is not None and lengths.first_in(length + 1, None) is None
        around += length or 0
    if counted is None:
        return Uncounted(term, 0, None)
    if not fixed:
        return None
    result = terms.EPSILON
    for part in reversed(parts):
        result = terms.concat(part, result)
    return Uncounted(result, counted.low + around, None if counted.high is None else counted.high + around)


def _any_of(terms: Terms, term: Term, options: list[Term], small: int) -> Uncounted | None:
    found = [without_count(terms, option, small) for option in options]
    counted = [each for each, option in zip(found, options, strict=True) if each is None or each.term is not option]
    if not counted:
        return Uncounted(term, 0, None)
    kept = [each for each in found if each is not None]
    if len(kept) < len(found):
        return None
    # One pair of bounds has to say for each option what its own say.
    lengths = [terms.lengths(each.term) for each in kept]
    allowed = [
        length_sets.intersection(all_of_it, length_sets.interval(each.low, each.high))
        for all_of_it, each in zip(lengths, kept, strict=True)
    ]
    total = length_sets.NO_LENGTHS
    for part in allowed:
        total = length_sets.union(total, part)
    low = total.first_in(0, None)
    if low is None:
        return None
    high = None if total.bits >> total.preperiod else total.bits.bit_length() - 1
    window = length_sets.interval(low, high)
    if any(length_sets.intersection(a, window) != b for a, b in zip(lengths, allowed, strict=True)):
        return None
    return Uncounted(terms.union([each.term for each in kept]), low, high)
