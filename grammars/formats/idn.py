"""`idn-hostname`: labels of RFC 5890 to 5893, written in Unicode.

A machine decides, character by character, what may follow what: the contextual rules, hyphens, capitals, combining
marks, and the direction of labels, which binds all labels of a name once one of them runs from right to left. What
the name costs in ASCII is bounded from above: the length of Punycode depends on the label as a whole, but is never
more than a fixed price for each character. A label that might cost more than 63 is left out, and so is one already
written in Punycode (see `hosts`).
"""

from __future__ import annotations

from typing import NamedTuple

from ..languages.base import LengthSet
from ..regex import lengths as length_sets
from .hosts import MAX_LABEL, MAX_NAME
from .idna_classes import CharClass, classes
from .machine import Machine, Move, between

DOTS = (0x2E, 0x3002, 0xFF0E, 0xFF61)

SURCHARGE = 12
"""Price of a label with characters beyond ASCII: `xn--`, a hyphen, and digits, of which longer labels need more."""
PRICES = {1: 1, 2: 3, 3: 4, 4: 5}
"""Price of a character by the size of its UTF-8 encoding."""
ROUNDING = 16
"""What a label and its dot cost in a name is rounded up to a multiple of this, so that states recur."""

# Directions of a label: nothing read yet; left to right; against the rules for either; right to left.
_EMPTY, _LEFT_TO_RIGHT, _NEITHER, _RIGHT_TO_LEFT = range(4)

_IN_LEFT_TO_RIGHT = frozenset(("L", "EN", "ES", "CS", "ET", "ON", "BN", "NSM"))
_IN_RIGHT_TO_LEFT = frozenset(("R", "AN", "EN", "ES", "CS", "ET", "ON", "BN", "NSM"))

# What must follow.
_FOLLOWER = {"middle dot": "l", "keraia": "Greek", "non-joiner": "join"}


class Label(NamedTuple):
    """What is remembered of a label.

    Attributes:
        size: characters so far, 4 for more.
        price: what they cost at most in ASCII.
        script: 0 while all are small letters, digits and hyphens of ASCII; 1 with a capital; 2 beyond ASCII.
        direction: see above.
        ended: whether the direction lets the label end here.
        digits: "EN" or "AN", which a right-to-left label has only one of.
        last: kind of the last character.
        joined: whether the last character but transparent ones joins with what follows.
        wanted: what has to follow: "l", "Greek", "join", or "".
        kana: 1 after a katakana middle dot with neither kana nor Han so far, 2 with, else 0.
        combining: canonical combining class of the last character; marks stand in canonical order.
    """

    size: int = 0
    price: int = 0
    script: int = 0
    direction: int = _EMPTY
    ended: bool = False
    digits: str = ""
    last: str = ""
    joined: bool = False
    wanted: str = ""
    kana: int = 0
    combining: int = 0


class NameKey(NamedTuple):
    """A name so far: its label, the price of the labels before with their dots, and their directions.

    `bidi` says that some label runs from right to left, `mixed` that an earlier label does not allow that.
    """

    label: Label = Label()
    price: int = 0
    bidi: bool = False
    mixed: bool = False


class UnicodeHostName(Machine[NameKey]):
    """Internationalised host names.

    With `composed`, labels are in Unicode normalisation form C; else what they compose to is what the rules are for.
    """

    start = NameKey()

    def __init__(self, composed: bool) -> None:
        self.composed = composed
        self._ranges: list[tuple[int, int, int]] = []
        self._classes: list[CharClass] = []
        self._known: dict[NameKey, bool] = {}

    def _load(self) -> None:
        numbers: dict[CharClass, int] = {}
        for first, last, found in classes():
            self._ranges.append((first, last, numbers.setdefault(found, len(numbers))))
        self._classes = list(numbers)
        # One member of each class that may be needed to finish a label; the cheapest in bytes suffices.
        wanted = [c for c in self._classes if c.kind in ("l", "Greek", "kana or Han") and not c.mark]
        wanted += [c for c in self._classes if c.joins in ("R", "D")]
        wanted += [c for c in self._classes if not c.kind and not c.mark and c.bidi in ("L", "EN", "AN", "R")]
        cheapest: dict[tuple[str, str, bool, int], CharClass] = {}
        for each in sorted(wanted, key=lambda c: c.size):
            cheapest.setdefault((each.kind, each.bidi, bool(each.joins), PRICES[each.size]), each)
        self._finishers = list(cheapest.values())

    def _step(self, name: NameKey, char: CharClass) -> NameKey | None:
        """The name after one more character of `char`, which may be impossible to finish; None when not allowed."""
        label = name.label
        kind, bidi = char.kind, char.bidi
        script = 2 if char.size > 1 else 1 if kind == "upper" else 0
        if label.script and script and label.script != script:
            return None
        script = max(script, label.script)
        # With Arabic digits in it a label can take nothing cheaper than a letter, hence no cheaper hyphen either.
        price = label.price + PRICES[2 if label.digits == "AN" and char.size == 1 else char.size]
        price += SURCHARGE if script == 2 and label.script != 2 else 0
        if price > MAX_LABEL or name.price + price > MAX_NAME:
            return None
        # Hyphens and marks
        if kind == "hyphen" and (label.size == 0 or (label.size == 3 and label.last == "hyphen")):
            return None
        if char.mark and label.size == 0:
            return None
        if char.composes and (self.composed or label.last == "l after dot"):
            return None
        if char.combining and char.combining < label.combining:
            return None
        # Context
        if label.wanted == "l" or label.wanted == "Greek":
            if kind != label.wanted and (label.wanted, kind) != ("Greek", "keraia"):  # which is Greek itself
                return None
            wanted = ""
        elif label.wanted == "join" and char.joins != "T":
            if char.joins not in ("R", "D"):
                return None
            wanted = ""
        else:
            wanted = label.wanted
        if kind == "middle dot" and label.last not in ("l", "l after dot"):
            return None
        if kind == "geresh" and label.last not in ("Hebrew", "geresh"):
            return None
        if kind == "joiner" and label.last != "virama":
            return None
        if kind == "non-joiner" and label.last != "virama":
            if not label.joined or wanted:
                return None
            wanted = "join"
        elif kind in ("middle dot", "keraia"):
            wanted = _FOLLOWER[kind]
        kana = 2 if label.kana == 2 or kind == "kana or Han" else 1 if kind == "katakana dot" else label.kana
        # Direction
        direction, digits, all_bidi = label.direction, label.digits, name.bidi
        if direction == _EMPTY:
            direction = _LEFT_TO_RIGHT if bidi == "L" else _RIGHT_TO_LEFT if bidi == "R" else _NEITHER
            if direction == _RIGHT_TO_LEFT:
                all_bidi = True
                if name.mixed:
                    return None
        if direction == _RIGHT_TO_LEFT:
            if bidi not in _IN_RIGHT_TO_LEFT:
                return None
            if bidi in ("EN", "AN"):
                if digits and digits != bidi:
                    return None
                digits = bidi
            ended = label.ended if bidi == "NSM" else bidi in ("R", "EN", "AN")
        else:
            if bidi not in _IN_LEFT_TO_RIGHT or (all_bidi and direction == _NEITHER):
                return None
            ended = label.ended if bidi == "NSM" else bidi in ("L", "EN")
        last = "l after dot" if kind == "l" and label.wanted == "l" else kind
        joined = label.joined if char.joins == "T" else char.joins == "D"
        size, combining = min(label.size + 1, 4), char.combining
        after = Label(size, price, script, direction, ended, digits, last, joined, wanted, kana, combining)
        return NameKey(after, name.price, all_bidi, name.mixed)

    def accepts(self, state: NameKey) -> bool:
        label = state.label
        if not label.size or label.wanted or label.last == "hyphen" or label.kana == 1:
            return False
        return label.ended or not state.bidi

    def _endings(self, state: NameKey, more: int = 0) -> list[tuple[int, int, NameKey]]:
        """The ways to finish the label with the fewest characters, and with up to `more` more than these.

        Each as characters added, bytes added, and the name then. Empty when there is no way.
        """
        found: list[tuple[int, int, NameKey]] = []
        layer = {(state, 0)}
        for characters in range(5):
            found += [(characters, size, name) for name, size in layer if self.accepts(name)]
            if found and found[0][0] + more == characters:
                break
            layer = {
                (after, size + char.size)
                for name, size in layer
                for char in self._finishers
                if (after := self._step(name, char)) is not None
            }
        return found

    def moves(self, state: NameKey) -> list[Move[NameKey]]:
        if not self._ranges:
            self._load()
        targets = []
        for char in self._classes:
            after = self._step(state, char)
            targets.append(after if after is not None and self._live(after) else None)
        moves = [(first, last, target) for first, last, index in self._ranges if (target := targets[index]) is not None]
        after = self._next_label(state)
        if after is not None:
            moves += [(dot, dot, after) for dot in DOTS]
        return moves

    def _next_label(self, state: NameKey) -> NameKey | None:
        """The state after a dot."""
        price = state.price + _rounded(state.label.price)
        if not self.accepts(state) or price >= MAX_NAME:
            return None
        mixed = state.mixed or state.label.direction == _NEITHER or not state.label.ended
        return NameKey(Label(), price, state.bidi, mixed and not state.bidi)

    def _live(self, state: NameKey) -> bool:
        if self.accepts(state):
            return True
        found = self._known.get(state)
        if found is None:
            found = self._known[state] = bool(self._endings(state))
        return found

    def shortest(self, state: NameKey) -> int:
        if self.accepts(state):
            return 0
        if not self._ranges:
            self._load()
        return min(size for _, size, _ in self._endings(state))

    def lengths(self, state: NameKey) -> LengthSet:
        if not self._ranges:
            self._load()
        found = length_sets.NO_LENGTHS
        for characters, _, name in self._endings(state, more=1):
            found = length_sets.union(found, length_sets.shift(self._more(name), characters))
        return found

    def _more(self, name: NameKey) -> LengthSet:
        """The numbers of characters that can still follow a finished label."""
        # A digit or letter of ASCII goes in any label; only Arabic digits keep the European ones out.
        label = name.label
        each = PRICES[2] if label.direction == _RIGHT_TO_LEFT and label.digits == "AN" else 1
        most = min(MAX_LABEL - label.price, MAX_NAME - name.price - label.price) // each
        reached = most
        for added in range(most + 1):
            price = name.price + _rounded(label.price + each * added)
            room = _room(MAX_NAME - price)
            reached = max(reached, added + 1 + room if room else 0)
        # What more than the label takes is a dot, and labels of letters.
        return length_sets.union(between(0, most), between(2, reached))


def _rounded(price: int) -> int:
    """What a label of `price` and its dot add to the price of a name."""
    return -(-(price + 1) // ROUNDING) * ROUNDING


def _room(price: int) -> int:
    """The most characters of labels of letters, and dots between them, for at most `price`."""
    return max(price if price % (MAX_LABEL + 1) else price - 1, 0)
