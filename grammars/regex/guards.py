"""Derivatives of terms with lookarounds.

A lookaround costs nothing where it stands, it lays a duty on the whole text around the place. So what `terms` answers
with neighbours alone is answered here with neighbours and lookarounds: a term matches the empty text, or goes on after
a code point, *provided that* certain lookarounds hold at the place. What they amount to there is not decided here.
"""

from __future__ import annotations

from itertools import product

from .terms import ANYTHING_NEXT, CHARACTER_NEXT, Chars, Concat, Look, Repeat, Term, Terms, Union

Guard = tuple[int, frozenset[Look]]
"""Neighbours on the right, as bits, and lookarounds: a condition met when both are."""

GuardedForm = tuple[tuple[Chars, Term, frozenset[Look]], ...]
"""After a code point out of the first, the second remains, where the lookarounds hold before it."""

_NO_LOOKS: frozenset[Look] = frozenset()
_ALWAYS: tuple[Guard, ...] = ((ANYTHING_NEXT, _NO_LOOKS),)


class Guards:
    """`gaps` and `linear` for the terms of one pattern, lookarounds included. Not thread-safe."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._gaps: dict[tuple[Term, int], tuple[Guard, ...]] = {}
        self._forms: dict[tuple[Term, int], GuardedForm] = {}

    def gaps(self, term: Term, before: int) -> tuple[Guard, ...]:
        """The conditions, any one of which lets `term` match the empty text after `before`."""
        if term.nullable:
            return _ALWAYS
        if not term.maybe_empty:
            return ()
        key = (term, before)
        found = self._gaps.get(key)
        if found is None:
            found = self._gaps[key] = self._find_gaps(term, before)
        return found

    def _find_gaps(self, term: Term, before: int) -> tuple[Guard, ...]:
        if not term.looks:
            bits = self._terms.gaps(term, before)
            return ((bits, _NO_LOOKS),) if bits else ()
        if type(term) is Look:
            return ((ANYTHING_NEXT, frozenset((term,))),)
        if type(term) is Union:
            return _weakest([guard for option in term.options for guard in self.gaps(option, before)])
        if type(term) is Repeat:  # rounds that match nothing may all do so in one way
            return self.gaps(term.body, before)
        assert type(term) is Concat
        return _both(self.gaps(term.head, before), self.gaps(term.tail, before))

    def linear(self, term: Term, before: int) -> GuardedForm:
        """What remains of `term` after one code point, when `before` stands on its left."""
        key = (term, before)
        form = self._forms.get(key)
        if form is None:
            if term.looks:
                form = tuple(dict.fromkeys(self._derive(term, before)))
            else:
                form = tuple((chars, after, _NO_LOOKS) for chars, after in self._terms.linear(term, before))
            self._forms[key] = form
        return form

    def _derive(self, term: Term, before: int) -> list[tuple[Chars, Term, frozenset[Look]]]:
        terms = self._terms
        out: list[tuple[Chars, Term, frozenset[Look]]] = []
        if type(term) is Union:
            for option in term.options:
                out += self.linear(option, before)
        elif type(term) is Repeat:
            body, low, high = term.body, term.low, None if term.high is None else term.high - 1
            form = self.linear(body, before)
            rest = terms.repeat(body, max(low - 1, 0), high)
            out = [(chars, terms.concat(after, rest), looks) for chars, after, looks in form]
            if low > 1:
                # Rounds that match nothing here use up the lower limit, where the conditions in them hold.
                rest = terms.repeat(body, 0, high)
                out += self._guarded(form, self.gaps(body, before), rest)
        elif type(term) is Concat:
            guards: tuple[Guard, ...] = _ALWAYS
            at: Term = term
            while guards:
                head, rest = (at.head, at.tail) if type(at) is Concat else (at, terms.EPSILON)
                out += self._guarded(self.linear(head, before), guards, rest)
                if not head.nullable:
                    guards = _both(guards, self.gaps(head, before))
                if rest is terms.EPSILON:
                    break
                at = rest
        return out

    def _guarded(
        self, form: GuardedForm, guards: tuple[Guard, ...], rest: Term
    ) -> list[tuple[Chars, Term, frozenset[Look]]]:
        """`form`, where one of `guards` is met, then `rest`."""
        terms = self._terms
        out: list[tuple[Chars, Term, frozenset[Look]]] = []
        for (chars, after, looks), (bits, more) in product(form, guards):
            part = terms.narrowed(chars, bits) if bits & CHARACTER_NEXT else None
            if part is not None:
                out.append((part, terms.concat(after, rest), looks | more))
        return out


def _both(some: tuple[Guard, ...], others: tuple[Guard, ...]) -> tuple[Guard, ...]:
    if some is _ALWAYS:
        return others
    if others is _ALWAYS:
        return some
    return _weakest([(a & b, looks | more) for (a, looks), (b, more) in product(some, others) if a & b])


def _weakest(guards: list[Guard]) -> tuple[Guard, ...]:
    """Without those that another one covers."""
    kept: list[Guard] = []
    for bits, looks in sorted(dict.fromkeys(guards), key=lambda guard: len(guard[1])):
        if not any(bits & wider == bits and fewer <= looks for wider, fewer in kept):
            kept = [g for g in kept if not (g[0] & bits == g[0] and looks <= g[1])]
            kept.append((bits, looks))
    return tuple(kept)
