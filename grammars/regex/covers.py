"""Terms seen by the characters that can come at all.

Beside `[a-z]{3,40}`, the term `.{1,9}` only asks for a length and `.*--` cannot match: over the alphabet of the one,
every set of the other has all characters or none. The lengths of the common texts then follow from the lengths of both,
without stepping through the product.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..languages.base import LengthSet
from . import lengths as length_sets
from .classes import FIRST_SURROGATE, LAST_SURROGATE, NONE, CodePoints
from .terms import Chars, Concat, Epsilon, Repeat, Term, Terms, Union, chain

MOST_TEXTS = 1 << 64
"""Beyond that, texts are not counted."""


def _size(members: CodePoints) -> int:
    """How many code points there are, surrogates left out."""
    gap = CodePoints(((FIRST_SURROGATE, LAST_SURROGATE),)) & members
    return sum(last - first + 1 for first, last in members.ranges) - sum(b - a + 1 for a, b in gap.ranges)


class Covers:
    """Alphabets of the terms of one pattern, and lengths of terms over an alphabet. Not thread-safe."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._alphabets: dict[Term, CodePoints] = {}
        self._texts: dict[Term, int] = {}
        self._lengths: dict[tuple[Term, CodePoints], LengthSet | None] = {}

    def alphabet(self, term: Term) -> CodePoints:
        """The code points that occur in texts of `term`, and perhaps some more."""
        found = self._alphabets.get(term)
        if found is None:
            if type(term) is Chars:
                found = term.members
            elif type(term) is Repeat:
                found = self.alphabet(term.body)
            else:
                parts = chain(term) if type(term) is Concat else term.options if type(term) is Union else ()
                found = self.alphabet_of(parts)
            self._alphabets[term] = found
        return found

    def alphabet_of(self, terms: Iterable[Term]) -> CodePoints:
        """The code points that occur in texts of any of `terms`, and perhaps some more."""
        sets = {self.alphabet(term) for term in terms}
        return sets.pop() if len(sets) == 1 else CodePoints.of(r for s in sets for r in s.ranges)

    def needs(self, term: Term, members: CodePoints) -> bool:
        """Whether every text of `term` has one of these code points, as far as is evident."""
        if term.conditional:
            return False
        if type(term) is Chars:
            return term.members <= members
        if type(term) is Repeat:
            return term.low > 0 and self.needs(term.body, members)
        if type(term) is Concat:
            return any(self.needs(part, members) for part in chain(term))
        return type(term) is Union and all(self.needs(option, members) for option in term.options)

    def most_leading(self, term: Term, members: CodePoints) -> int | None:
        """No text of `term` begins with more of these code points; None where any number may, or it is not evident."""
        if term.conditional:
            return None
        if type(term) is Chars:
            return int(bool(term.members & members))
        if type(term) is Repeat:
            most = self.most_leading(term.body, members)
            if most and (term.body.nullable or self._has_text_of(term.body, members)):
                return None if term.high is None else most * term.high
            return most if term.high != 0 else 0
        if type(term) is Union:
            each = [self.most_leading(option, members) for option in term.options]
            return None if None in each else max((n for n in each if n is not None), default=0)
        most = 0
        for part in chain(term) if type(term) is Concat else ():
            more = self.most_leading(part, members)
            if more is None:
                return None
            most += more
            if not part.nullable and not self._has_text_of(part, members):
                break
        return most

    def _has_text_of(self, term: Term, members: CodePoints) -> bool:
        """Whether a term, no condition, may have a text of these code points alone that is not empty."""
        if type(term) is Chars:
            return bool(term.members & members)
        if type(term) is Repeat:
            return self._has_text_of(term.body, members)
        if type(term) is Union:
            return any(self._has_text_of(option, members) for option in term.options)
        parts = chain(term) if type(term) is Concat else []
        return all(part.nullable or self._has_text_of(part, members) for part in parts)

    def texts(self, term: Term) -> int:
        """No more texts than `term` has: those of one of its parts, a class of characters repeated being counted."""
        found = self._texts.get(term)
        if found is None:
            if term.conditional:
                found = 0
            elif type(term) is Chars:
                found = _size(term.members)
            elif type(term) is Repeat:
                most = MOST_TEXTS.bit_length() if term.high is None else min(term.high, MOST_TEXTS.bit_length())
                body = self.texts(term.body)
                found = body**most if type(term.body) is Chars else body if most else 1
            elif type(term) is Concat:
                parts = [self.texts(part) for part in chain(term)]
                found = max(parts) if all(parts) else 0
            elif type(term) is Union:
                found = max(self.texts(option) for option in term.options)
            else:
                found = int(type(term) is Epsilon)
            found = self._texts[term] = min(found, MOST_TEXTS)
        return found

    def lengths(self, term: Term, alphabet: CodePoints) -> LengthSet | None:
        """The lengths whose texts over `alphabet` match, all of a length alike; None when a length does not tell."""
        if term.conditional:
            return None
        if term is self._terms.ANY_STAR:
            return length_sets.ALL_LENGTHS
        key = (term, alphabet)
        if key not in self._lengths:
            self._lengths[key] = self._find_lengths(term, alphabet)
        return self._lengths[key]

    def _find_lengths(self, term: Term, alphabet: CodePoints) -> LengthSet | None:
        if type(term) is Chars:
            common = term.members & alphabet
            return length_sets.ONE_ONLY if common == alphabet else None if common != NONE else length_sets.NO_LENGTHS
        if type(term) is Repeat:
            body = self.lengths(term.body, alphabet)
            return None if body is None else length_sets.times(body, term.low, term.high)
        if type(term) is Union:
            total: LengthSet | None = length_sets.NO_LENGTHS
            for option in term.options:
                part = self.lengths(option, alphabet)
                total = None if part is None or total is None else length_sets.union(total, part)
            return total
        if type(term) is Concat:
            parts = [self.lengths(part, alphabet) for part in chain(term)]
            if length_sets.NO_LENGTHS in parts:
                return length_sets.NO_LENGTHS
            total = length_sets.ZERO_ONLY
            for part in parts:
                total = None if part is None or total is None else length_sets.add(total, part)
            return total
        return length_sets.ZERO_ONLY if type(term) is Epsilon else length_sets.NO_LENGTHS
