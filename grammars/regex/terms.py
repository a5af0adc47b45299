"""Expressions and their partial derivatives: the automaton of a pattern, one step at a time.

A state of the nondeterministic automaton is a *term*, what remains to be matched. Reading a code point turns it into
other terms (Antimirov's partial derivatives); `linear` lists them with the set of code points for each. A counted
repeat is one term, `X{20,65535}`, whose derivative is `X{19,65534}` after what is left of X, so nothing is unrolled
that is not visited. Terms are unique (hash-consed) and simplified as they are built, which keeps the number of
different ones small and makes emptiness evident: a term without conditions is dead only when it is `EMPTY`.

Conditions (`^`, `$`, `\\b`) are terms too. Whether they hold depends on both neighbours of a place. Derivatives are
taken for a kind of neighbour on the left (`before`), and `gaps` tells for which neighbours on the right a term can
match nothing. `resolve` removes the anchors that the place of a term decides, which in practice is nearly all.

Lookarounds are conditions that ask for more than the neighbours; terms that hold one are not for the derivatives of
this module but for those of `guards`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from ..languages.base import LengthSet
from . import ast, classes
from . import lengths as length_sets
from .classes import CodePoints
from .words import term_of_words

START, OTHER, AFTER_WORD, AFTER_OTHER = range(4)
"""What stands before a place: nothing, a character (of whatever kind), a word character, a character that is none."""

WORD_NEXT, OTHER_NEXT, END_NEXT = 1, 2, 4
"""What stands after a place, as bits: a word character, another one, nothing."""

CHARACTER_NEXT = WORD_NEXT | OTHER_NEXT
ANYTHING_NEXT = CHARACTER_NEXT | END_NEXT

UNKNOWN, AT, NOT_AT = range(3)
"""What is known of one side of a term: whether the text starts (or ends) there."""


class Term:
    """An expression. Compare by identity; make them through `Terms`.

    Attributes:
        nullable: matches the empty text wherever it stands.
        maybe_empty: matches the empty text somewhere.
        conditional: contains a condition.
        anchored: contains `^` or `$`.
        bounded: contains a word boundary.
        looks: the lookarounds in it, those inside lookarounds too.
        least_bytes: length in UTF-8 of a shortest text; a lower bound when conditional.
    """

    __slots__ = (
        "anchored",
        "bounded",
        "conditional",
        "form",
        "known_lengths",
        "least_bytes",
        "looks",
        "maybe_empty",
        "nullable",
        "serial",
    )
    serial: int
    nullable: bool
    maybe_empty: bool
    conditional: bool
    anchored: bool
    bounded: bool
    least_bytes: int
    looks: frozenset[Look]
    form: Form | None
    known_lengths: LengthSet | None

    def __init__(self, serial: int, nullable: bool, maybe_empty: bool, least_bytes: int) -> None:
        self.serial = serial
        self.nullable = nullable
        self.maybe_empty = maybe_empty
        self.least_bytes = least_bytes
        self.conditional = self.anchored = self.bounded = False
        self.looks = _NO_LOOKS
        self.form = None
        self.known_lengths = None

    def _inherit(self, part: Term) -> None:
        self.conditional = True
        self.anchored |= part.anchored
        self.bounded |= part.bounded
        if part.looks:
            self.looks |= part.looks


class Nothing(Term):
    """No text at all."""

    __slots__ = ()


class Epsilon(Term):
    """The empty text."""

    __slots__ = ()


class Chars(Term):
    """One code point out of a set that is not empty."""

    __slots__ = ("members",)

    def __init__(self, serial: int, members: CodePoints) -> None:
        super().__init__(serial, False, False, classes.least_bytes(members.ranges))
        self.members = members


class Assertion(Term):
    """A condition on a place."""

    __slots__ = ("kind",)

    def __init__(self, serial: int, kind: Literal["start", "end", "boundary", "not boundary"]) -> None:
        super().__init__(serial, False, True, 0)
        self.kind = kind
        self.conditional = True
        self.anchored = kind in ("start", "end")
        self.bounded = not self.anchored


class Look(Term):
    """A lookaround. What is read on its account is the rest of the text (ahead) or all before the place (behind).

    Attributes:
        body: what that has to match as a whole: the body as written, with any text beyond it.
    """

    __slots__ = ("ahead", "body", "negated")

    def __init__(self, serial: int, body: Term, ahead: bool, negated: bool) -> None:
        super().__init__(serial, False, True, 0)
        self.body, self.ahead, self.negated = body, ahead, negated
        self.conditional = True
        self.bounded = body.bounded
        self.looks = body.looks | {self}


class Concat(Term):
    """`head`, which is no `Concat`, then `tail`."""

    __slots__ = ("head", "tail")

    def __init__(self, serial: int, head: Term, tail: Term) -> None:
        # Term.__init__ and _inherit, spelled out: half of all terms are made here.
        self.serial = serial
        self.head, self.tail = head, tail
        self.nullable = head.nullable and tail.nullable
        self.maybe_empty = head.maybe_empty and tail.maybe_empty
        self.least_bytes = head.least_bytes + tail.least_bytes
        self.conditional = head.conditional or tail.conditional
        self.anchored = head.anchored or tail.anchored
        self.bounded = head.bounded or tail.bounded
        self.looks = head.looks | tail.looks if self.conditional else _NO_LOOKS
        self.form = self.known_lengths = None


class Union(Term):
    """Any of its options, of which there are at least two, and none of which is a `Union`."""

    __slots__ = ("options",)

    def __init__(self, serial: int, options: tuple[Term, ...]) -> None:
        super().__init__(
            serial,
            any(o.nullable for o in options),
            any(o.maybe_empty for o in options),
            min(o.least_bytes for o in options),
        )
        self.options = options
        for part in options:
            if part.conditional:
                self._inherit(part)


class Repeat(Term):
    """`low` to `high` times the body; no upper limit when `high` is None."""

    __slots__ = ("body", "high", "low")

    def __init__(self, serial: int, body: Term, low: int, high: int | None) -> None:
        super().__init__(serial, low == 0, low == 0 or body.maybe_empty, body.least_bytes * low)
        self.body, self.low, self.high = body, low, high
        if body.conditional:
            self._inherit(body)


_NO_LOOKS: frozenset[Look] = frozenset()

Form = tuple[tuple[Chars, Term], ...]
"""A linear form: after a code point out of the first, the second remains. Sets may overlap."""


class Terms:
    """The terms of one pattern, each existing once. Not thread-safe."""

    def __init__(self) -> None:
        self._serial = 0
        self._known: dict[tuple[object, ...], Term] = {}
        self._characters: dict[str, Term] = {}
        self._concats: dict[tuple[Term, Term], Term] = {}
        self._forms: dict[tuple[Term, int], Form] = {}
        self._resolved: dict[tuple[Term, int, int], Term] = {}
        self.EMPTY: Term = Nothing(self._next(), False, False, 0)
        self.EPSILON: Term = Epsilon(self._next(), True, True, 0)
        self.ANY = self.chars(classes.EVERY)
        self.ANY_STAR = self.repeat(self.ANY, 0, None)
        self.EPSILON.known_lengths = length_sets.ZERO_ONLY
        self.EMPTY.known_lengths = length_sets.NO_LENGTHS
        self.ANY_STAR.known_lengths = length_sets.ALL_LENGTHS

    def _next(self) -> int:
        self._serial += 1
        return self._serial

    # Construction

    def chars(self, members: CodePoints) -> Term:
        if not members.ranges:
            return self.EMPTY
        key = (members,)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Chars(self._next(), members)
        return found

    def literal(self, text: str, tail: Term) -> Term:
        """A text, then `tail`."""
        characters, known, epsilon = self._characters, self._known, self.EPSILON
        for char in reversed(text):
            head = characters.get(char)
            if head is None:
                head = characters[char] = self.chars(CodePoints.single(ord(char)))
            if tail is epsilon:
                tail = head
                continue
            key = (Concat, head, tail)
            found = known.get(key)
            if found is None:
                found = known[key] = self._new_concat(head, tail)
            tail = found
        return tail

    def assertion(self, kind: Literal["start", "end", "boundary", "not boundary"]) -> Term:
        key = (kind,)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Assertion(self._next(), kind)
        return found

    def look(self, body: Term, ahead: bool, negated: bool) -> Term:
        """A lookaround; `body` as written."""
        body = self.then_any_text(body) if ahead else self.concat(self.ANY_STAR, body)
        if body is self.EMPTY or body is self.ANY_STAR:
            return self.EPSILON if (body is self.EMPTY) == negated else self.EMPTY
        key = (Look, body, ahead, negated)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Look(self._next(), body, ahead, negated)
        return found

    def concat(self, head: Term, tail: Term) -> Term:
        """`head` then `tail`."""
        if head is self.EPSILON:
            return tail
        if tail is self.EPSILON:
            return head
        if type(head) is not Concat:
            return self._cons(head, tail)
        # The chain of a head seen before ends in a tail seen before: stop at the first link that is known.
        concats, chain = self._concats, []
        link: Term = head
        while type(link) is Concat:
            done = concats.get((link, tail))
            if done is not None:
                break
            chain.append(link)
            link = link.tail
        else:
            done = self._cons(link, tail)
        for link in reversed(chain):
            done = concats[link, tail] = self._cons(link.head, done)
        return done

    def _cons(self, head: Term, tail: Term) -> Term:
        """`concat` for a head that is no `Concat`."""
        empty = self.EMPTY
        if head is empty or tail is empty:
            return empty
        if tail is self.EPSILON:
            return head
        if head is self.EPSILON:
            return tail
        key = (Concat, head, tail)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._new_concat(head, tail)
        return found

    def _new_concat(self, head: Term, tail: Term) -> Term:
        first, rest = (tail.head, tail.tail) if type(tail) is Concat else (tail, self.EPSILON)
        any_star = self.ANY_STAR
        if first is any_star and head.nullable:
            return tail
        if head is any_star and first.nullable:
            return self._cons(head, rest)
        # X{a,b}X{c,d} is X{a+c,b+d}, where X is X{1,1}.
        if type(head) is Repeat or type(first) is Repeat:
            body, low, high = (head.body, head.low, head.high) if type(head) is Repeat else (head, 1, 1)
            also, more, most = (first.body, first.low, first.high) if type(first) is Repeat else (first, 1, 1)
            if body is also:
                total = None if high is None or most is None else high + most
                return self._cons(self.repeat(body, low + more, total), rest)
        return Concat(self._next(), head, tail)

    def union(self, options: list[Term]) -> Term:
        """Any of `options`, in any number."""
        flat: dict[Term, None] = {}
        sets: list[CodePoints] = []
        optional = False
        for option in options:
            for part in option.options if type(option) is Union else (option,):
                if type(part) is Chars:
                    sets.append(part.members)
                elif part is self.EPSILON:
                    optional = True
                elif part is self.ANY_STAR:
                    return part
                elif part is not self.EMPTY:
                    flat[part] = None
        if sets:
            members = sets[0] if len(sets) == 1 else CodePoints.of(r for s in sets for r in s.ranges)
            flat[self.chars(members)] = None
        if len(flat) > 1:
            parts = tuple(sorted(flat, key=_serial))
            key = (Union, parts)
            found = self._known.get(key)
            if found is None:
                found = self._known[key] = Union(self._next(), parts)
        elif flat:
            found = next(iter(flat))
        else:
            return self.EPSILON if optional else self.EMPTY
        return self.repeat(found, 0, 1) if optional and not found.nullable else found

    def repeat(self, body: Term, low: int, high: int | None) -> Term:
        """`low` to `high` times `body`."""
        if high == 0 or body is self.EPSILON:
            return self.EPSILON
        if body is self.EMPTY:
            return self.EPSILON if low == 0 else body
        if body.nullable:
            low = 0
        if type(body) is Look:
            return body if low else self.EPSILON
        if type(body) is Repeat:
            # Nested counts are one interval when those of k and of k + 1 rounds touch, from k = low on if at all, or
            # when there is only one number of rounds.
            touching = low > 0 if body.high is None else low * (body.high - body.low) + 1 >= body.low
            if touching or body.low <= 1 or low == high:
                high = None if high is None or body.high is None else body.high * high
                low, body = body.low * low, body.body
        if low == 1 and high == 1:
            return body
        key = (Repeat, body, low, high)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Repeat(self._next(), body, low, high)
        return found

    def of(self, node: ast.Node) -> Term:
        """The term of a syntax tree."""
        if isinstance(node, ast.Characters):
            return self.chars(node.members)
        if isinstance(node, ast.Sequence):
            term = self.EPSILON
            for part in reversed(node.parts):
                if type(part) is ast.Characters:
                    term = self._cons(self.chars(part.members), term)
                else:
                    term = self.concat(self.of(part), term)
            return term
        if isinstance(node, ast.Repetition):
            return self.repeat(self.of(node.body), node.low, node.high)
        if isinstance(node, ast.Alternatives):
            return self.union([self.of(option) for option in node.options])
        if isinstance(node, ast.Words):
            return term_of_words(self, node.words)
        if isinstance(node, ast.Condition):
            return self.assertion(node.kind)
        return self.look(self.of(node.body), node.ahead, node.negated)

    def searched(self, term: Term) -> Term:
        """`term` somewhere in a text."""
        if type(term) is Union and term.anchored:
            apart = [self.searched(option) for option in term.options if option.anchored]
            together = self.union([option for option in term.options if not option.anchored])
            return self.union(apart if together is self.EMPTY else [*apart, self.searched(together)])
        at_start, at_end, middle = self._anchors(term)
        if not middle.anchored:
            found = middle if at_end else self.then_any_text(middle)
            return found if at_start else self.concat(self.ANY_STAR, found)
        some_text = self.repeat(self.ANY, 1, None)
        by_left = []
        for left in (AT, NOT_AT):
            last, inner = self.resolve(term, left, AT), self.resolve(term, left, NOT_AT)
            if last is inner:
                by_left.append(self.then_any_text(last))
            else:
                by_left.append(self.union([last, self.concat(inner, some_text)]))
        first, later = by_left
        if first is later:
            return self.concat(self.ANY_STAR, first)
        return self.union([first, self.concat(some_text, later)])

    def _anchors(self, term: Term) -> tuple[bool, bool, Term]:
        """Whether `term` begins with `^` and ends with `$`, and what is between."""
        if not term.anchored:
            return False, False, term
        parts = chain(term)
        start, stop = 0, len(parts)
        while start < stop and parts[start] is self.assertion("start"):
            start += 1
        while stop > start and parts[stop - 1] is self.assertion("end"):
            stop -= 1
        middle = self.EPSILON
        for part in reversed(parts[start:stop]):
            middle = self._cons(part, middle)
        return start > 0, stop < len(parts), middle

    def then_any_text(self, term: Term) -> Term:
        """`term`, then whatever else up to the end of the text: a lookahead that comes last is part of the match."""
        parts = chain(term)
        last = parts.pop()
        if type(last) is Look and last.ahead and not last.negated:
            found = last.body
        elif type(last) is Union and last.looks:
            found = self.union([self.then_any_text(option) for option in last.options])
        else:
            return self.concat(term, self.ANY_STAR)
        for part in reversed(parts):
            found = self.concat(part, found)
        return found

    # Conditions

    def resolve(self, term: Term, left: int, right: int) -> Term:
        """An equal term where the text starts (AT) or does not (NOT_AT) on the left, and ends or does not on the right.

        With NOT_AT no anchor of that side is left; with AT some may be.
        """
        if not term.anchored:  # a lookaround is resolved when it is met: its far side is not the term's
            return term
        key = (term, left, right)
        found = self._resolved.get(key)
        if found is None:
            found = self._resolve(term, left, right)
            if found is not term:
                found = self.resolve(found, left, right)
            self._resolved[key] = found
        return found

    def _resolve(self, term: Term, left: int, right: int) -> Term:
        if type(term) is Assertion:
            known = left if term.kind == "start" else right
            return self.EPSILON if known == AT else self.EMPTY if known == NOT_AT else term
        if type(term) is Union:
            return self.union([self.resolve(option, left, right) for option in term.options])
        if type(term) is Repeat:
            if term.high != 1:
                left, right = (side if side == NOT_AT else UNKNOWN for side in (left, right))
            return self.repeat(self.resolve(term.body, left, right), term.low, term.high)
        heads = chain(term)
        # Nothing can be read after `$` nor before `^`: what has to be is a contradiction, what may be is not.
        for kind in ("end", "start"):
            after = False
            for index in range(len(heads)) if kind == "end" else range(len(heads) - 1, -1, -1):
                head = heads[index]
                if after and not head.conditional:
                    if not head.nullable:
                        return self.EMPTY
                    heads[index] = self.EPSILON
                after |= type(head) is Assertion and head.kind == kind
        lefts, rights = _sides(heads, left), _sides(heads[::-1], right)[::-1]
        result = self.EPSILON
        for head, before, after_it in zip(reversed(heads), reversed(lefts), reversed(rights), strict=True):
            result = self.concat(self.resolve(head, before, after_it), result)
        return result

    def gaps(self, term: Term, before: int) -> int:
        """Which neighbours on the right, as bits, let `term` match the empty text after `before`."""
        if term.nullable:
            return ANYTHING_NEXT
        if not term.maybe_empty:
            return 0
        if type(term) is Assertion:
            if term.kind == "start":
                return ANYTHING_NEXT if before == START else 0
            if term.kind == "end":
                return END_NEXT
            across = OTHER_NEXT | END_NEXT if before == AFTER_WORD else WORD_NEXT
            return across if term.kind == "boundary" else ANYTHING_NEXT ^ across
        if type(term) is Concat:
            found = ANYTHING_NEXT
            for head in chain(term):
                found &= self.gaps(head, before)
            return found
        if type(term) is Union:
            found = 0
            for option in term.options:
                found |= self.gaps(option, before)
            return found
        assert type(term) is Repeat
        return self.gaps(term.body, before)

    def narrowed(self, chars: Chars, following: int) -> Chars | None:
        """The part of `chars` of the kinds in `following`."""
        if following & CHARACTER_NEXT == CHARACTER_NEXT:
            return chars
        found = self.chars(chars.members & (classes.WORD if following & WORD_NEXT else classes.NOT_WORD))
        return found if type(found) is Chars else None

    # Derivatives

    def linear(self, term: Term, before: int) -> Form:
        """What remains of `term` after one code point, when `before` stands on its left."""
        if term.conditional:
            key = (term, before)
            form = self._forms.get(key)
            if form is None:
                form = self._forms[key] = self._derive(term, before)
            return form
        form = term.form
        if form is None:
            form = term.form = self._derive(term, before)
        return form

    def _derive(self, term: Term, before: int) -> Form:
        out: list[tuple[Chars, Term]] = []
        if type(term) is Chars:
            return ((term, self.EPSILON),)
        if type(term) is Union:
            for option in term.options:
                out += self.linear(option, before)
        elif type(term) is Repeat:
            body, low, high = term.body, term.low, None if term.high is None else term.high - 1
            form = self.linear(body, before)
            rest = self.repeat(body, max(low - 1, 0), high)
            out = [(chars, self.concat(after, rest)) for chars, after in form]
            if low > 1 and body.maybe_empty:
                # Rounds that match nothing here use up the lower limit, where the conditions in them hold.
                gaps = self.gaps(body, before) & CHARACTER_NEXT
                rest = self.repeat(body, 0, high)
                for chars, after in form if gaps else ():
                    part = self.narrowed(chars, gaps)
                    if part is not None:
                        out.append((part, self.concat(after, rest)))
        elif type(term) is Concat:
            following = CHARACTER_NEXT
            at: Term = term
            while True:
                head, rest = (at.head, at.tail) if type(at) is Concat else (at, self.EPSILON)
                for chars, after in self.linear(head, before):
                    part = self.narrowed(chars, following)
                    if part is not None:
                        out.append((part, self.concat(after, rest)))
                if not head.nullable:
                    following &= self.gaps(head, before)
                if not following or rest is self.EPSILON:
                    break
                at = rest
        return tuple(out)

    # Lengths

    def lengths(self, term: Term) -> LengthSet:
        """The numbers of code points of the texts of a term without conditions."""
        assert not term.conditional
        found = term.known_lengths
        if found is not None:
            return found
        if type(term) is Concat:
            links: list[Concat] = []
            at: Term = term
            while type(at) is Concat and at.known_lengths is None:
                links.append(at)
                at = at.tail
            found = self.lengths(at)
            for link in reversed(links):
                found = link.known_lengths = length_sets.add(self.lengths(link.head), found)
        elif type(term) is Union:
            found = length_sets.NO_LENGTHS
            for option in term.options:
                found = length_sets.union(found, self.lengths(option))
        elif type(term) is Repeat:
            found = length_sets.times(self.lengths(term.body), term.low, term.high)
        else:
            found = length_sets.ONE_ONLY
        term.known_lengths = found
        return found

    # Sets of terms

    def merged(self, terms: set[Term]) -> set[Term]:
        """An equivalent, often smaller set: `X{1,3}Y` and `X{4,9}Y` become `X{1,9}Y`."""
        counted: dict[tuple[Term, Term], list[Repeat]] = {}
        for term in terms:
            head, rest = (term.head, term.tail) if type(term) is Concat else (term, self.EPSILON)
            if type(head) is Repeat:
                counted.setdefault((head.body, rest), []).append(head)
        for (body, rest), repeats in counted.items():
            if len(repeats) < 2:
                continue
            repeats.sort(key=lambda r: r.low)
            intervals: list[tuple[int, int | None]] = []
            for each in repeats:
                if intervals:
                    low, high = intervals[-1]
                    if high is None or each.low <= high + 1:
                        top = None if high is None or each.high is None else max(high, each.high)
                        intervals[-1] = (low, top)
                        continue
                intervals.append((each.low, each.high))
            if len(intervals) < len(repeats):
                terms = terms.difference(self._cons(each, rest) for each in repeats)
                terms.update(self._cons(self.repeat(body, low, high), rest) for low, high in intervals)
        return terms


def class_repeat(term: Term) -> tuple[CodePoints, int, int | None] | None:
    """A class, and how many of its members, when that is all there is to `term`."""
    if type(term) is Repeat and type(term.body) is Chars:
        return term.body.members, term.low, term.high
    if type(term) is Chars:
        return term.members, 1, 1
    return (classes.EVERY, 0, 0) if type(term) is Epsilon else None


Lead = tuple[CodePoints, int | None]
"""A class, and how many of its members can come first; None for any number."""


def leading_repeat(term: Term) -> Lead | None:
    """A class of which so many members can begin a text of `term`; None where that is not evident."""
    if term.conditional:
        return None
    if type(term) is Union:
        return longest_lead(map(leading_repeat, term.options))
    head = term.head if type(term) is Concat else term
    if type(head) is Repeat and type(head.body) is not Chars:
        return leading_repeat(head.body)
    repeat = class_repeat(head)
    if repeat is None or not repeat[0] or repeat[2] == 0:
        return None
    members, _, high = repeat
    then = leading_repeat(term.tail) if type(term) is Concat and high is not None and high < _LONG_LEAD else None
    if then is None or high is None or not members & then[0]:
        return members, high
    return members & then[0], None if then[1] is None else high + then[1]


_LONG_LEAD = 4  # members of a class, after which it does not matter what follows


def longest_lead(leads: Iterable[Lead | None]) -> Lead | None:
    """The one of these with the most members."""
    best: Lead | None = None
    for lead in leads:
        if lead is None or (best is not None and best[1] is None):
            continue
        if best is None or lead[1] is None or (best[1] is not None and lead[1] > best[1]):
            best = lead
    return best


def _serial(term: Term) -> int:
    return term.serial


def chain(term: Term) -> list[Term]:
    """The parts of a chain of `Concat`s."""
    parts = []
    while type(term) is Concat:
        parts.append(term.head)
        term = term.tail
    parts.append(term)
    return parts


def padding(terms: Terms, term: Term) -> int | None:
    """So many code points suffice to complete `term`, whatever text comes before them, if it begins with free text."""
    head = term.head if type(term) is Concat else term
    if type(head) is not Repeat or head.body is not terms.ANY or head.high is not None or term.conditional:
        return None
    return terms.lengths(term).first_in(0, None)


def _sides(heads: list[Term], known: int) -> list[int]:
    """What is known of the near side of each part of a chain, walking away from a side of which `known` is."""
    out = []
    for head in heads:
        out.append(known)
        if known != NOT_AT:
            if not head.maybe_empty:
                known = NOT_AT
            elif type(head) not in (Assertion, Look, Epsilon):
                known = UNKNOWN
    return out
