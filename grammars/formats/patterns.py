"""`regex`: the patterns of ECMA-262, as a machine with the open groups in its state.

The grammar is the strict one, of the `u` flag, as JSON Schema asks for, with one allowance that every engine and many
schemas make: any ASCII character other than a letter or digit may be escaped (`\\-`, `\\/`). Patterns nest, so no
automaton of bounded size takes them all; groups are open to a fixed depth. What else would need a memory without
bounds, or tables that differ from engine to engine, is left out too: see `NARROWINGS`.

The text of a pattern is forgotten but for what later parts refer to: how many groups there are, short group names,
the lower count of a quantifier, the first end of a range in a class.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from ..languages.base import LengthSet
from ..regex.classes import DIGIT, LAST, NONE, CodePoints
from .machine import Arranged, Layout, Machine, Move, Ranges, at_least, on, ranges_of

MAX_DEPTH = 20
"""Most groups open at a time."""
MAX_COUNT_DIGITS = 4
"""Most digits of a number in a quantifier."""
MAX_SHORT_NAMES = 3
"""Most groups with a name of one letter."""
_COUNTED_GROUPS = 9

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_DIGITS = "0123456789"
_PUNCTUATION = "".join(chr(c) for c in range(128) if chr(c) not in _LETTERS + _DIGITS)
_SPECIAL = "^$\\.*+?()[]{}|"
_NAME_STARTS = _LETTERS + "_$"
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}

_CATEGORY_NAMES = """
C Cc Cf Cn Co Cs L LC Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs
Other Control Format Unassigned Private_Use Surrogate Letter Cased_Letter Lowercase_Letter Modifier_Letter Other_Letter
Titlecase_Letter Uppercase_Letter Mark Spacing_Mark Enclosing_Mark Nonspacing_Mark Number Decimal_Number Letter_Number
Other_Number Punctuation Connector_Punctuation Dash_Punctuation Close_Punctuation Final_Punctuation Initial_Punctuation
Other_Punctuation Open_Punctuation Symbol Currency_Symbol Modifier_Symbol Math_Symbol Other_Symbol Separator
Line_Separator Paragraph_Separator Space_Separator
"""
_CATEGORIES = tuple(_CATEGORY_NAMES.split())
PROPERTIES = frozenset(
    (*_CATEGORIES, *(f"{kind}={name}" for kind in ("gc", "General_Category") for name in _CATEGORIES), "ASCII", "Any")
)
"""What may stand in the braces of `\\p{…}`."""

_PREFIXES: dict[str, str] = {}
"""For each beginning of a property, the characters that can come next."""
for _property in sorted(PROPERTIES):
    for _at, _character in enumerate(_property):
        _known = _PREFIXES.setdefault(_property[:_at], "")
        if _character not in _known:
            _PREFIXES[_property[:_at]] = _known + _character


def _except(excluded: str) -> Ranges:
    """All code points but some ASCII ones."""
    inside = ranges_of("".join(chr(c) for c in range(128) if chr(c) not in excluded))
    return (*inside[:-1], (inside[-1][0], LAST)) if inside[-1][1] == 127 else (*inside, (128, LAST))


_LITERALS = _except(_SPECIAL)
_LITERALS_NO_DIGIT = _except(_SPECIAL + _DIGITS)

# What a term allows after it.
_NOTHING = 0
_QUANTIFIER = 1
_LAZINESS = 2
_QUANTIFIER_NO_DIGIT = 3


class _Place(NamedTuple):
    """What is remembered throughout: open groups, whether each takes a quantifier; groups so far; their names."""

    stack: tuple[bool, ...] = ()
    groups: int = 0
    names: frozenset[str] = frozenset()
    long_name: bool = False


class PatternKey(NamedTuple):
    """A stage, the place, and numbers and texts that the stage needs."""

    stage: str
    place: _Place
    value: int = 0
    least: int = 0
    text: str = ""


_PLACES = 64  # of which steps are kept


class Pattern(Machine[PatternKey]):
    """ECMA-262 patterns.

    Stages: "term" (value: what may follow), "group", "group ?", "group ?<", "name" (text: one letter), "long name",
    "count", "counts" (value: the lower number), "escape", "reference", "property", "hex" and "hex {", and those of a
    class. In a class `value` is a possible first end of a range, or one of the negative numbers below, and `least` is
    the first end that an escape after a hyphen must not be below, or -1.
    """

    start = PatternKey("term", _Place())

    def __init__(self) -> None:
        self._of_place: dict[_Place, list[PatternKey]] = {}

    def moves(self, state: PatternKey) -> list[Move[PatternKey]]:
        stage = state.stage
        if stage == "term":
            return self._term_moves(state.place, state.value)
        if stage.startswith("class"):
            return self._class(state)
        if stage.startswith(("group", "name", "long name")):
            return self._group(state)
        if stage.startswith("count"):
            return self._count(state)
        if stage == "escape":
            return self._escape(state.place)
        if stage == "reference":
            return self._reference(state)
        if stage == "property":
            return self._property(state)
        return self._hex(state)

    def arranged(self, state: PatternKey) -> Arranged[PatternKey] | None:
        if state.stage == "class":
            return self._members(state.place, state.value)
        if state.stage == "class -":
            return self._after_hyphen(state.place, state.value)
        return self._term(state.place, state.value) if state.stage == "term" else None

    def variant(self, state: PatternKey) -> tuple[PatternKey, list[tuple[str, PatternKey]]] | None:
        stage, place, value, _, _ = state
        if stage != "class" or not 0 <= value < 0x80 or value == _USUAL_MEMBER:
            return None
        return PatternKey("class", place, _USUAL_MEMBER), [("-", PatternKey("class -", place, value))]

    def alike(self, state: PatternKey) -> list[PatternKey]:
        if self.variant(state) is None:
            return []
        return [other for other in self._plain_members(state.place) if other.value not in (state.value, _USUAL_MEMBER)]

    def endless(self, state: PatternKey) -> CodePoints | None:
        if state.stage.startswith(("count", "hex", "class hex")):
            return NONE
        if state.stage == "term":
            return _ENDLESS_TERM & ~DIGIT if state.value == _QUANTIFIER_NO_DIGIT else _ENDLESS_TERM
        if state.stage == "class start":
            return _ENDLESS
        if state.stage == "class -":
            return _ENDLESS & CodePoints(((state.value, LAST),)) if state.value >= 0 else NONE
        if state.stage == "escape":
            return _ENDLESS_ESCAPED
        if state.stage != "class":
            return None
        return _ENDLESS & ~DIGIT if state.value in (_FRESH_NO_DIGIT, _ZERO) else _ENDLESS

    def accepts(self, state: PatternKey) -> bool:
        return state.stage == "term" and not state.place.stack

    def shortest(self, state: PatternKey) -> int:
        return _to_term(state) + len(state.place.stack)

    def lengths(self, state: PatternKey) -> LengthSet:
        return at_least(self.shortest(state))  # once at a term, literals add any number

    # Outside of classes

    def _term(self, place: _Place, after: int) -> Arranged[PatternKey]:
        deeper, inside = len(place.stack) < MAX_DEPTH, bool(place.stack)
        targets = [
            PatternKey("term", place, _QUANTIFIER),
            PatternKey("term", place, _NOTHING),
            PatternKey("class start", place),
            PatternKey("escape", place),
        ]
        if after in (_QUANTIFIER, _QUANTIFIER_NO_DIGIT):
            targets += (PatternKey("term", place, _LAZINESS), PatternKey("count", place))
        if deeper:
            targets.append(PatternKey("group", place))
        if inside:
            closed = place._replace(stack=place.stack[:-1])
            targets.append(PatternKey("term", closed, _QUANTIFIER if place.stack[-1] else _NOTHING))
        return _term_layout(after, deeper, inside), targets

    def _term_moves(self, place: _Place, after: int) -> list[Move[PatternKey]]:
        layout, targets = self._term(place, after)
        return [(first, last, targets[index]) for first, last, index in layout.ranges]

    def _group(self, state: PatternKey) -> list[Move[PatternKey]]:
        stage, place = state.stage, state.place
        if stage == "group":
            return self._term_moves(_opened(place, captures=True), _NOTHING) + on("?", PatternKey("group ?", place))
        looking = PatternKey("term", place._replace(stack=(*place.stack, False)), _NOTHING)
        if stage == "group ?":
            plain = PatternKey("term", _opened(place, captures=False), _NOTHING)
            return on(":", plain) + on("=!", looking) + on("<", PatternKey("group ?<", place))
        if stage == "group ?<":
            moves = on("=!", looking)
            for letter in _NAME_STARTS:
                if _may_be_name(place, letter) or not place.long_name:
                    moves += on(letter, PatternKey("name", place, text=letter))
            return moves
        moves = []
        if stage == "long name" or not place.long_name:
            moves += on(_NAME_STARTS + _DIGITS, PatternKey("long name", place))
        if stage == "long name":
            named = place._replace(long_name=True)
            moves += on(">", PatternKey("term", _opened(named, captures=True), _NOTHING))
        elif _may_be_name(place, state.text):
            named = place._replace(names=place.names | {state.text})
            moves += on(">", PatternKey("term", _opened(named, captures=True), _NOTHING))
        return moves

    def _count(self, state: PatternKey) -> list[Move[PatternKey]]:
        _, place, low, _, text = state
        done = on("}", PatternKey("term", place, _LAZINESS))
        more = _DIGITS if len(text) < MAX_COUNT_DIGITS and text != "0" else ""
        if state.stage == "count":
            moves = [(ord(d), ord(d), PatternKey("count", place, text=text + d)) for d in more]
            if text:
                moves += done + on(",", PatternKey("counts", place, int(text)))
            return moves
        moves = done if not text or int(text) >= low else []
        for digit in more:
            if _digits_to(text + digit, low) is not None:
                moves += on(digit, PatternKey("counts", place, low, text=text + digit))
        return moves

    def _escape(self, place: _Place) -> list[Move[PatternKey]]:
        atom = PatternKey("term", place, _QUANTIFIER)
        moves = on(_PUNCTUATION + "dDsSwW" + "".join(_CONTROLS), atom) + on("bB", PatternKey("term", place, _NOTHING))
        moves += on("0" + _DIGITS[1 : place.groups + 1], PatternKey("term", place, _QUANTIFIER_NO_DIGIT))
        moves += on("c", PatternKey("reference", place, text="c")) + on("pP", PatternKey("reference", place, text="p"))
        if place.names:
            moves += on("k", PatternKey("reference", place, text="k"))
        return moves + on("x", PatternKey("hex", place, 0, 2)) + on("u", PatternKey("hex", place, 0, 4, "u"))

    def _reference(self, state: PatternKey) -> list[Move[PatternKey]]:
        """After `\\c`, `\\p` and `\\k`."""
        place, read = state.place, state.text
        atom = PatternKey("term", place, _QUANTIFIER)
        if read == "c":
            return on(_LETTERS, atom)
        if read == "p":
            return on("{", PatternKey("property", place))
        if read == "k":
            return on("<", state._replace(text="k<"))
        if read == "k<":
            return on("".join(place.names), state._replace(text="k<n"))
        return on(">", atom)

    def _property(self, state: PatternKey) -> list[Move[PatternKey]]:
        text = state.text
        moves = [(ord(c), ord(c), state._replace(text=text + c)) for c in _PREFIXES.get(text, "")]
        if text in PROPERTIES:
            done = (
                PatternKey("class", state.place, _SET) if state.value else PatternKey("term", state.place, _QUANTIFIER)
            )
            moves += on("}", done)
        return moves

    def _hex(self, state: PatternKey) -> list[Move[PatternKey]]:
        """Outside of classes, where the value matters only as a limit; `least` counts the digits to come."""
        stage, place, value, left, text = state
        atom = PatternKey("term", place, _QUANTIFIER)
        moves: list[Move[PatternKey]] = []
        if stage == "hex {":
            for digit in range(16):
                if 16 * value + digit <= LAST:
                    moves += on(_hex_digit(digit), PatternKey("hex {", place, 16 * value + digit, text="0"))
            return moves + (on("}", atom) if text else [])
        moves += on(_HEX, PatternKey("hex", place, 0, left - 1) if left > 1 else atom)
        return moves + (on("{", PatternKey("hex {", place)) if text == "u" else [])

    # Classes

    def _class(self, state: PatternKey) -> list[Move[PatternKey]]:
        stage, place, value, least, _ = state
        if stage == "class start":
            fresh = PatternKey("class", place, _FRESH)
            return [move for move in self._class(fresh) if move[0] != 0x5E] + on("^", fresh)
        if stage in ("class", "class -"):
            layout, targets = self._members(place, value) if stage == "class" else self._after_hyphen(place, value)
            return [(first, last, targets[index]) for first, last, index in layout.ranges]
        if stage == "class escape":
            return self._class_escape(place, least)
        if stage == "class control":
            return [(ord(c), ord(c), _class_after(place, ord(c) % 32, least)) for c in _LETTERS if ord(c) % 32 >= least]
        if stage == "class property":
            return on("{", PatternKey("property", place, 1))
        return self._class_hex(state)

    def _plain_members(self, place: _Place) -> list[PatternKey]:
        """The states inside a class after characters that stand for themselves, in the order of `_PLAIN_MEMBERS`; kept,
        as most states there have them."""
        targets = self._of_place.get(place)
        if targets is None:
            targets = [PatternKey("class", place, code) for code in _PLAIN_MEMBERS]
            targets.append(PatternKey("class", place, _SET))
            if len(self._of_place) >= _PLACES:
                self._of_place.clear()
            self._of_place[place] = targets
        return targets

    def _members(self, place: _Place, value: int) -> Arranged[PatternKey]:
        """Steps inside a class, after what `value` says."""
        if value in (_FRESH, _FRESH_NO_DIGIT, _FRESH_NO_ESCAPE):
            hyphen = PatternKey("class", place, 0x2D)
        else:
            hyphen = PatternKey("class -", place, value if value < 0x110000 else 0)
        digits = value not in (_FRESH_NO_DIGIT, _ZERO)
        escape = value != _FRESH_NO_ESCAPE and not 0xD800 <= value <= 0xDBFF
        targets = [PatternKey("term", place, _QUANTIFIER), hyphen]
        if escape:
            targets.append(PatternKey("class escape", place, least=-1))
        plain = self._plain_members(place)
        targets += plain if digits else plain[:_FIRST_DIGIT] + plain[_FIRST_DIGIT + 10 :]
        return _member_layout(digits, escape), targets

    def _after_hyphen(self, place: _Place, value: int) -> Arranged[PatternKey]:
        """Steps inside a class after a hyphen: to its end, and to that of a range which `value` begins.

        After a set or a character beyond ASCII a hyphen stands for itself, and last.
        """
        targets = [PatternKey("term", place, _QUANTIFIER)]
        if value >= 0:
            targets += (PatternKey("class", place, _FRESH), PatternKey("class escape", place, least=value))
        return _hyphen_layout(max(value, -1)), targets

    def _class_escape(self, place: _Place, least: int) -> list[Move[PatternKey]]:
        moves: list[Move[PatternKey]] = []
        for character in _PUNCTUATION:
            if ord(character) >= least:
                moves += on(character, _class_after(place, ord(character), least))
        for character, code in (*_CONTROLS.items(), ("b", 8)):
            if code >= least:
                moves += on(character, _class_after(place, code, least))
        if least <= 0:
            zero = PatternKey("class", place, _ZERO if least < 0 else _FRESH_NO_DIGIT)
            moves += on("0", zero)
        if least <= 26:
            moves += on("c", PatternKey("class control", place, least=least))
        if least < 0:
            moves += on("dDsSwW", PatternKey("class", place, _SET)) + on("pP", PatternKey("class property", place))
        if least <= 0xFF:
            moves += on("x", PatternKey("class hex", place, 0, least, "00"))
        return moves + on("u", PatternKey("class hex", place, 0, least, "0000{"))

    def _class_hex(self, state: PatternKey) -> list[Move[PatternKey]]:
        """`text` holds a zero for each digit to come, and a brace where one may open."""
        stage, place, value, least, text = state
        moves: list[Move[PatternKey]] = []
        if stage == "class hex {":
            for digit in range(16):
                after = 16 * value + digit
                if _braced_digits_to(after, least) is not None:
                    moves += on(_hex_digit(digit), PatternKey("class hex {", place, after, least, "0"))
            if text and value >= least and not 0xD800 <= value <= 0xDFFF:
                moves += on("}", _class_after(place, value, least))
            return moves
        left = text.count("0") - 1
        for digit in range(16):
            after = 16 * value + digit
            if after << 4 * left | (1 << 4 * left) - 1 < least:
                continue
            target = (
                PatternKey("class hex", place, after, least, "0" * left) if left else _class_after(place, after, least)
            )
            moves += on(_hex_digit(digit), target)
        return moves + (on("{", PatternKey("class hex {", place, 0, least)) if text.endswith("{") else [])


_FRESH = -1
"""Nothing that could begin a range: the start of a class, or the end of a range."""
_SET = -2
"""After a set, or after a character that is not taken as the beginning of a range."""
_FRESH_NO_DIGIT = -3
"""As fresh, after `\\0`."""
_FRESH_NO_ESCAPE = -4
"""As fresh, after half a surrogate pair."""
_ZERO = 0x110000
"""After `\\0`: no digit may follow, and a range may begin at 0."""

_MEMBERS = ((0, 0x2C), (0x2E, 0x5B), (0x5E, 0x5E), (0x5F, LAST))
"""What stands for itself in a class: not the hyphen, backslash and closing bracket."""

_ENDLESS = CodePoints.of(_MEMBERS)
_ENDLESS_TERM = CodePoints.of((*_LITERALS, *ranges_of(".^$|")))
_ENDLESS_ESCAPED = _ENDLESS_TERM & CodePoints.of(ranges_of(_PUNCTUATION + "dDsSwWbB" + "".join(_CONTROLS)))
_USUAL_MEMBER = 0x61
"""The member of a class that stands for all that differ from it in what a range after them begins with."""
_PLAIN_MEMBERS = [code for first, last in _MEMBERS for code in range(first, min(last, 127) + 1)]
_FIRST_DIGIT = _PLAIN_MEMBERS.index(0x30)


@functools.cache
def _term_layout(after: int, deeper: bool, inside: bool) -> Layout:
    """At a term: literals, what takes no quantifier, the beginnings of a class and of an escape, quantifiers as far as
    `after` says, and parentheses that open and close where they may."""
    ranges = [(first, last, 0) for first, last in (_LITERALS_NO_DIGIT if after == _QUANTIFIER_NO_DIGIT else _LITERALS)]
    parts = [".", "^$|" + "?" * (after == _LAZINESS), "[", "\\"]
    if after in (_QUANTIFIER, _QUANTIFIER_NO_DIGIT):
        parts += ["*+?", "{"]
    parts += ["("] * deeper + [")"] * inside
    ranges += [(first, last, i) for i, part in enumerate(parts) for first, last in ranges_of(part)]
    return Layout(ranges)


@functools.cache
def _member_layout(digits: bool, escape: bool) -> Layout:
    """Inside a class: its end, a hyphen, an escape where one may come, characters that stand for themselves."""
    ranges = [(0x5D, 0x5D, 0), (0x2D, 0x2D, 1)]
    if escape:
        ranges.append((0x5C, 0x5C, 2))
    plain = [code for code in _PLAIN_MEMBERS if digits or not 0x30 <= code <= 0x39]
    ranges += [(code, code, index) for index, code in enumerate(plain, start=len(ranges))]
    return Layout([*ranges, (0x80, LAST, len(ranges))])


@functools.lru_cache(maxsize=256)
def _hyphen_layout(value: int) -> Layout:
    """After a hyphen inside a class: its end; from `value` on, unless it is negative, members; an escape."""
    ranges = [(0x5D, 0x5D, 0)]
    if value >= 0:
        ranges += [(max(first, value), last, 1) for first, last in _MEMBERS if last >= value]
        ranges += [(0x2D, 0x2D, 1)] * (value <= 0x2D) + [(0x5C, 0x5C, 2)]
    return Layout(ranges)


_HEX = "0123456789abcdefABCDEF"


def _hex_digit(value: int) -> str:
    return f"{value:x}{value:X}" if value > 9 else str(value)


def _class_after(place: _Place, code: int, least: int) -> PatternKey:
    """After an escape for one character in a class, which ends a range when `least` is not negative."""
    if least < 0:
        return PatternKey("class", place, code)
    return PatternKey("class", place, _FRESH_NO_ESCAPE if 0xD800 <= code <= 0xDBFF else _FRESH)


def _opened(place: _Place, captures: bool) -> _Place:
    groups = min(place.groups + 1, _COUNTED_GROUPS) if captures else place.groups
    return place._replace(stack=(*place.stack, True), groups=groups)


def _may_be_name(place: _Place, letter: str) -> bool:
    return letter not in place.names and len(place.names) < MAX_SHORT_NAMES


def _digits_to(text: str, low: int) -> int | None:
    """How many digits more make the number in `text` at least `low`; None when none do."""
    if text == "0":
        return 0 if low == 0 else None
    for more in range(MAX_COUNT_DIGITS + 1 - len(text)):
        if int(text + "9" * more) >= low:
            return more
    return None


def _braced_digits_to(value: int, least: int) -> int | None:
    """How many hexadecimal digits more give a code point from `least` on, no surrogate; None when none do."""
    for more in range(7):
        low, high = value << 4 * more, value + 1 << 4 * more
        low, high = max(low, least), min(high - 1, LAST)
        if low <= high and not 0xD800 <= low <= high <= 0xDFFF:
            return more
    return None


def _to_term(state: PatternKey) -> int:
    """Fewest bytes from `state` to a term at the same depth as the place, or, for an open group, past its end."""
    stage, place, value, least, text = state
    if stage == "term":
        return 0
    if stage == "group":
        return 1
    if stage == "group ?":
        return 2
    if stage == "group ?<":
        return 2
    if stage == "name":
        return 2 if _may_be_name(place, text) else 3
    if stage == "long name":
        return 2
    if stage == "count":
        return 1 if text else 2
    if stage == "counts":
        return 1 + (_digits_to(text, value) or 0) if text else 1
    if stage == "escape":
        return 1
    if stage == "reference":
        return {"c": 1, "p": 3, "k": 3, "k<": 2, "k<n": 1}[text]
    if stage == "property":
        shortest = min(len(name) for name in PROPERTIES if name.startswith(text))
        return shortest - len(text) + 1 + value
    if stage == "hex":
        return min(least, 3) if text == "u" else least
    if stage == "hex {":
        return 1 if text else 2
    if stage in ("class start", "class", "class -"):
        return 1
    return 1 + _to_member(state)


def _to_member(state: PatternKey) -> int:
    """Fewest bytes from inside an escape in a class to its end."""
    stage, place, value, least, text = state
    if stage == "class escape":
        if least <= 0x7E:
            return 1
        if least == 0x7F:
            return 1
        shortest = _to_member(PatternKey("class hex", place, 0, least, "0000{")) + 1
        return min(3, shortest) if least <= 0xFF else shortest
    if stage == "class control":
        return 1
    if stage == "class property":
        return 3
    braced = 99
    if stage == "class hex {" or text.endswith("{"):
        more = _braced_digits_to(value, least)
        if stage == "class hex {" and not text:
            more = max(more or 0, 1)
        braced = 99 if more is None else more + 1 + (stage == "class hex")
    if stage == "class hex {":
        return braced
    left = text.count("0")
    return min(left, braced) if value << 4 * left | (1 << 4 * left) - 1 >= least else braced
