"""What a JSON Schema can demand of a number, and the test whether an exact value meets it.

Values are `fractions.Fraction`: a JSON number text denotes exactly one, and bounds such as 9007199254740993 or
multiples such as 0.01 have no faithful float. Everything downstream computes with integers scaled by a power of ten.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm


@dataclass(frozen=True)
class NumberConstraint:
    """The conjunction of demands on one number. The default admits every number.

    Attributes:
        integer: the value must be an integer.
        integral_fraction: whether the texts `1.0` and `1e2` count as integers. False (draft 04) leaves
            `-?(0|[1-9][0-9]*)` where `integer` is set, and means nothing elsewhere.
        minimum, exclusive_minimum: lower bound, and whether the bound itself is excluded.
        maximum, exclusive_maximum: upper bound, and whether the bound itself is excluded.
        multiples: positive numbers of each of which the value must be a multiple.
        values: the only values admitted, or None for no such limit.
        non_integer: the value must not be an integer (by value: `1.0` is one).
        not_multiples: positive numbers of none of which the value may be a multiple.
        not_values: values that are excluded.
    """

    integer: bool = False
    integral_fraction: bool = True
    minimum: Fraction | None = None
    exclusive_minimum: bool = False
    maximum: Fraction | None = None
    exclusive_maximum: bool = False
    multiples: tuple[Fraction, ...] = ()
    values: frozenset[Fraction] | None = None
    non_integer: bool = False
    not_multiples: tuple[Fraction, ...] = ()
    not_values: frozenset[Fraction] = frozenset()

    @property
    def integer_literals_only(self) -> bool:
        """Whether fractions and exponents are excluded from the text, not merely from the value."""
        return self.integer and not self.integral_fraction


def satisfies(constraint: NumberConstraint, value: Fraction) -> bool:
    """Whether the exact `value` meets every demand of `constraint` (spelling aside)."""
    c = constraint
    if c.values is not None and value not in c.values:
        return False
    if c.minimum is not None and (value < c.minimum or (c.exclusive_minimum and value == c.minimum)):
        return False
    if c.maximum is not None and (value > c.maximum or (c.exclusive_maximum and value == c.maximum)):
        return False
    whole = value.denominator == 1
    if (c.integer and not whole) or (c.non_integer and whole) or value in c.not_values:
        return False
    return all((value / m).denominator == 1 for m in c.multiples) and all(
        (value / m).denominator != 1 for m in c.not_multiples
    )


def common_multiple(constraint: NumberConstraint) -> Fraction | None:
    """The number whose multiples are the values that `integer` and `multiples` admit; None where those demand nothing.

    Raises ValueError when a multiple is not greater than 0.
    """
    multiples = [*constraint.multiples, Fraction(1)] if constraint.integer else constraint.multiples
    if any(m <= 0 for m in multiples):
        raise ValueError("a multiple must be greater than 0")
    if not multiples:
        return None
    unit = lcm(*(m.denominator for m in multiples))
    return Fraction(lcm(*(m.numerator * (unit // m.denominator) for m in multiples)), unit)


def decimal_places(value: Fraction) -> int:
    """Digits after the point of the shortest decimal that equals `value`.

    Raises ValueError when there is none, which no JSON number can cause.
    """
    rest = value.denominator
    if rest == 1:
        return 0
    twos = (rest & -rest).bit_length() - 1
    rest >>= twos
    # 5**k has floor(k * log2(5)) + 1 bits, so this k is the only candidate.
    fives = round((rest.bit_length() - 0.5) / 2.321928094887362) if rest > 1 else 0
    if 5**fives != rest:
        raise ValueError(f"{value} is not a finite decimal")
    return max(twos, fives)
