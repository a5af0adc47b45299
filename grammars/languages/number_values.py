"""The texts of finitely many numbers.

Each value contributes a few *patterns*: literal bytes and a tail that says what may follow them. A state is the sorted
tuple of what remains of the patterns still possible, which is its residual language: the automaton is close to minimal,
and an enumeration costs one sort until its states are asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from constrain.grammars.languages.base import DEAD, Language
from constrain.grammars.languages.number_constraint import decimal_places

# Tails, one letter each so that a pattern stays a plain string: the end; an integer, which may go on with ".0"; zeros
# of which one is still missing; zeros at will.
_END, _INTEGER, _POINT_READ, _ZEROS = "$", "I", "P", "Z"
_ACCEPTING_TAILS = frozenset({_END, _INTEGER, _ZEROS})
_TAIL_STEPS = {(_INTEGER, "."): _POINT_READ, (_POINT_READ, "0"): _ZEROS, (_ZEROS, "0"): _ZEROS}
_TAIL_BYTES = {_END: "", _INTEGER: ".", _POINT_READ: "0", _ZEROS: "0"}


def plain_decimal(value: Fraction) -> str:
    """The shortest spelling of `value` without an exponent."""
    places = decimal_places(value)
    digits = abs(value.numerator) * (10**places // value.denominator)
    # `Decimal` writes integers of any length, which `str(int)` refuses.
    text = f"{Decimal(digits):f}".rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{text[:-places]}.{text[-places:]}" if places else sign + text


def exponent_spellings(value: Fraction) -> tuple[str, ...]:
    """How Python and JavaScript write the double that equals `value`, where they use an exponent."""
    try:
        text = repr(float(value))
    except OverflowError:
        return ()
    if "e" not in text or Fraction(text) != value:
        return ()
    mantissa, _, exponent = text.partition("e")
    short = f"{mantissa}e{exponent[0]}{exponent[1:].lstrip('0')}"
    return (text,) if short == text else (text, short)


class ValuesLanguage(Language):
    """The texts that denote one of `values`: plain decimals with any further zeros, and `exponent_spellings`.

    With `integer_literals_only` there is neither a fraction nor an exponent. Safe to share between threads.
    """

    def __init__(self, values: Iterable[Fraction], integer_literals_only: bool = False) -> None:
        patterns: set[str] = set()
        for value in values:
            text = plain_decimal(value)
            tail = _END if integer_literals_only else _ZEROS if "." in text else _INTEGER
            patterns.add(text + tail)
            if value == 0:
                patterns.add("-" + text + tail)
            if not integer_literals_only:
                patterns.update(spelling + _END for spelling in exponent_spellings(value))
        self._lock = threading.RLock()
        self._ids: dict[tuple[str, ...], int] = {(): DEAD}
        self._patterns: list[tuple[str, ...]] = [()]
        self._accepting = [False]
        self._shortest = [0]
        dead = np.zeros(256, dtype=np.int32)
        dead.setflags(write=False)
        self._rows: list[NDArray[np.int32] | None] = [dead]
        self.start = self._intern(tuple(sorted(patterns)))

    def row(self, state: int) -> NDArray[np.int32]:
        row = self._rows[state]
        if row is None:
            with self._lock:
                row = self._rows[state]
                if row is None:
                    row = self._rows[state] = self._make_row(state)
        return row

    def accepting(self, state: int) -> bool:
        return self._accepting[state]

    def shortest(self, state: int) -> int:
        if state == DEAD:
            raise ValueError("the dead state has no completion")
        return self._shortest[state]

    def _intern(self, patterns: tuple[str, ...]) -> int:
        known = self._ids.get(patterns)
        if known is None:
            known = len(self._patterns)
            self._patterns.append(patterns)
            self._accepting.append(not _ACCEPTING_TAILS.isdisjoint(patterns))
            self._shortest.append(min(len(p) - 1 + (p[-1] == _POINT_READ) for p in patterns))
            self._rows.append(None)
            self._ids[patterns] = known
        return known

    def _make_row(self, state: int) -> NDArray[np.int32]:
        following: dict[str, set[str]] = {}
        for pattern in self._patterns[state]:
            if len(pattern) > 1:
                following.setdefault(pattern[0], set()).add(pattern[1:])
            elif byte := _TAIL_BYTES[pattern]:
                following.setdefault(byte, set()).add(_TAIL_STEPS[pattern, byte])
        row = np.zeros(256, dtype=np.int32)
        for byte, patterns in following.items():
            row[ord(byte)] = self._intern(tuple(sorted(patterns)))
        row.setflags(write=False)
        return row
