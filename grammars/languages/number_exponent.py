"""The digits of a decimal exponent as a minimal automaton.

The admitted exponents of one sign are a bit set (bit e for the exponent e). A state holds, for each number of digits
still to come, the set of digit strings that may come: exactly its residual language, so that states with the same
future are the same state.
"""

from __future__ import annotations

EXPONENT_DIGITS = 3
EXPONENT_LIMIT = 307
"""Largest exponent of either sign: a mantissa below 10 then stays below 1e308, which every parser keeps finite."""

_WIDTHS = tuple(10**t for t in range(EXPONENT_DIGITS + 1))
_MASKS = tuple((1 << width) - 1 for width in _WIDTHS)

Residual = tuple[int, ...]
"""Element t: bit set of the numbers that may be written next with exactly t digits, leading zeros included."""


def exponent_range(low: int, high: int) -> int:
    """The bit set of the exponents low .. high, cut to 0 .. EXPONENT_LIMIT."""
    low, high = max(low, 0), min(high, EXPONENT_LIMIT)
    return (1 << high + 1) - (1 << low) if low <= high else 0


def before_digits(exponents: int) -> Residual:
    """The state before the first digit of an exponent out of the bit set `exponents`."""
    return (0, *(exponents & mask for mask in _MASKS[1:]))


def after_digit(state: Residual, digit: int) -> Residual:
    """The state after one more digit; without a set bit when dead."""
    return tuple(state[t] >> digit * _WIDTHS[t - 1] & _MASKS[t - 1] for t in range(1, len(state)))


def digits_needed(state: Residual) -> int | None:
    """Fewest further digits to an admitted exponent, None when there is none."""
    return next((t for t, strings in enumerate(state) if strings), None)
